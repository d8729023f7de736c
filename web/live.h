/* SPDX-License-Identifier: GPL-2.0-or-later */
/* live.h - the drives as they are now, with a row for a drive that has not been heard of yet. Any thread. */
#ifndef DRIVESOAK_LIVE_H
#define DRIVESOAK_LIVE_H

#include <stdbool.h>
#include <stddef.h>

#include "measure/status.h"
#include "web/call.h"

size_t live_count(const struct call_site *site);
/* False when nothing was published for the drive yet: all but its name and label is unknown then. */
bool live_read(const struct call_site *site, size_t index, struct drive_status *out);
/* By name; SIZE_MAX when no drive of the config is called so. */
size_t live_find(const struct call_site *site, const char *name);

#endif
