/* SPDX-License-Identifier: GPL-2.0-or-later */
/* drivesoak_drives.h - `drivesoak drives`: every disk of this machine, and why it can or can't be used. Opens none,
 * unless their health is wanted. */
#ifndef DRIVESOAK_DRIVESOAK_DRIVES_H
#define DRIVESOAK_DRIVESOAK_DRIVES_H

#include <stdbool.h>

#include "config/config.h"

/* @config may be NULL. An exit code. */
int drivesoak_drives(
	const struct config *config, const char *state_directory, bool is_json, bool wants_health);

#endif
