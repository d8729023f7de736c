/* SPDX-License-Identifier: GPL-2.0-or-later */
/* drivesoak_import.h - `drivesoak import FILE --name NAME`: the log of another tool becomes a run beside the others. It is
 * written in one transaction through a handle of its own, whether a service runs or not: a journal in WAL mode takes
 * turns, and a service that finds it busy keeps its samples and stores them a moment later. */
#ifndef DRIVESOAK_DRIVESOAK_IMPORT_H
#define DRIVESOAK_DRIVESOAK_IMPORT_H

#include <stdint.h>

#include "archive/foreign.h"
#include "config/config.h"

struct import_request {
	const char *state_directory;
	const struct config *config; /* NULL: not known */
	const char *file, *name;
	int64_t start_ms; /* of a log without a date; INT64_MIN: it ended when its file was last changed */
	struct foreign_options options;
};

/* An exit code; the reason is on standard error, the id of the run on standard output. */
int drivesoak_import(const struct import_request *request);

#endif
