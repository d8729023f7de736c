/* SPDX-License-Identifier: GPL-2.0-or-later */
/* drivesoak_arm.h - `drivesoak arm DRIVE`: show what a device holds, save its first and last MiB, ask for consent, and
 * write the claim that the service needs. Needs no service; never writes to the device. */
#ifndef DRIVESOAK_DRIVESOAK_ARM_H
#define DRIVESOAK_DRIVESOAK_ARM_H

#include "config/config.h"

/* An exit code as in sysexits: 77 refused, or no consent was given; 66 the drive is not there. @serial_tail: the last
 * characters of the serial as a script gives them; NULL: ask on the terminal. */
int drivesoak_arm(const struct config *config, const struct config_drive *drive, const char *serial_tail);

#endif
