/* SPDX-License-Identifier: GPL-2.0-or-later */
/* healthgate.h - may a run begin on a device with the wear it has? A drive above 80 % used, or with its spare within 5
 * points of a threshold that is not 0, or of which no wear can be read, only with an explicit write-budget; one that is
 * read-only by its own word not at all. Reads the drive: its own thread. Loop devices have no wear. */
#ifndef DRIVESOAK_HEALTHGATE_H
#define DRIVESOAK_HEALTHGATE_H

#include <stdbool.h>

#include "config/config.h"
#include "probes/reading.h"

#define HEALTHGATE_WHY_MAX 512

/* The judgement alone; @reading NULL: none could be made. 0 or -EPERM with @why. */
int healthgate_judge(const struct reading *reading, bool has_budget, char *why);
/* Find the drive, read its health, judge. A drive that is not there passes: opening it says more. */
int healthgate_check(const struct config_drive *drive, char *why);

#endif
