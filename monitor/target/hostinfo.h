/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hostinfo.h - the host record of a run: what the figures were measured on. Reads files of the kernel only. */
#ifndef DRIVESOAK_HOSTINFO_H
#define DRIVESOAK_HOSTINFO_H

#include "base/text.h"
#include "target/target.h"

/* The "host" object of the HTTP API as JSON. @root as in blockdev.h. */
void hostinfo_json(const char *root, const struct target_facts *facts, struct text *out);

#endif
