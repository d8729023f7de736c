/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reading_smartctl_private.h - the child behind readings by smartctl, replaceable for tests. */
#ifndef DRIVESOAK_READING_SMARTCTL_PRIVATE_H
#define DRIVESOAK_READING_SMARTCTL_PRIVATE_H

#include "probes/reading_private.h"

/* The program that is run instead; NULL: smartctl. Before threads exist. */
void reading_smartctl_replace(const char *path);
/* As reading_read_smartctl_known(), by another deadline. */
int reading_smartctl_run(const char *node, const char *type, bool wants_error_log, unsigned deadline_ms,
	struct reading_memory *memory, struct reading *out);

#endif
