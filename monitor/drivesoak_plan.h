/* SPDX-License-Identifier: GPL-2.0-or-later */
/* drivesoak_plan.h - `drivesoak plan DRIVE`: what a run would write, how long it would take and what it would cost the
 * drive. Opens nothing for writing and sends no command to a drive. */
#ifndef DRIVESOAK_DRIVESOAK_PLAN_H
#define DRIVESOAK_DRIVESOAK_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"

/* @bytes_per_s: what the soak is said to write; 0: as measured by an earlier run, else as assumed for the kind of drive.
 * An exit code; the reason is on standard error. */
int drivesoak_plan(
	const struct config *config, const struct config_drive *drive, uint64_t bytes_per_s, bool is_json);

#endif
