/* SPDX-License-Identifier: GPL-2.0-or-later */
/* drivesoak_verify.h - `drivesoak verify DRIVE`: read the extent of the drive's newest run back while no service has it,
 * with progress, and name each bad block. */
#ifndef DRIVESOAK_DRIVESOAK_VERIFY_H
#define DRIVESOAK_DRIVESOAK_VERIFY_H

#include <stdbool.h>

#include "archive/journal.h"
#include "config/config.h"

/* An exit code: 0 nothing bad, 1 bad blocks, 74 the extent could not be read back, 75 the service has it, else as
 * sysexits; the reason is on standard error. */
int drivesoak_verify(const struct config *config, const struct config_drive *drive,
	const struct run_record *run, bool is_json);

#endif
