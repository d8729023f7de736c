/* SPDX-License-Identifier: GPL-2.0-or-later */
/* drivesoak_alerts.h - `drivesoak alerts|alert-test|mute|unmute`: ask the running service about its alerts. */
#ifndef DRIVESOAK_DRIVESOAK_ALERTS_H
#define DRIVESOAK_DRIVESOAK_ALERTS_H

#include <stdbool.h>

#include "config/config.h"

/* @command: one of those names. An exit code; alert-test: 0 only when every channel took the message, else 1. */
int drivesoak_alerts(
	const struct config *config, const char *command, char **operands, int operand_count, bool is_json);

#endif
