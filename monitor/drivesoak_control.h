/* SPDX-License-Identifier: GPL-2.0-or-later */
/* drivesoak_control.h - `drivesoak status|start|pause|resume|stop|note`: ask the running service, and show what it says.
 * Without a service only the files of a stopped run can be removed. */
#ifndef DRIVESOAK_DRIVESOAK_CONTROL_H
#define DRIVESOAK_DRIVESOAK_CONTROL_H

#include <stdbool.h>

#include "config/config.h"

/* @command: one of those names; @operands: as many as it takes. An exit code; the reason is on standard error. */
int drivesoak_control(
	const struct config *config, const char *command, char **operands, bool is_json, bool purges);

#endif
