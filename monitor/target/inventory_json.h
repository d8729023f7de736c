/* SPDX-License-Identifier: GPL-2.0-or-later */
/* inventory_json.h - the list of disks as an object of the interface, the same for `drivesoak drives --json` and
 * /api/v1/drives. Arithmetic on texts only. */
#ifndef DRIVESOAK_INVENTORY_JSON_H
#define DRIVESOAK_INVENTORY_JSON_H

#include <stddef.h>

#include "base/text.h"
#include "config/config.h"
#include "target/inventory.h"

/* The name that the configuration has for this disk; NULL without one. @config may be NULL. */
const char *inventory_config_name(const struct config *config, const struct inventory_disk *disk);

/* What is known of a disk's health: an object, or NULL with the reason. */
struct inventory_health {
	const char *json, *why;
};

/* {"drives":[...]} and a line end. @healths, one a disk, adds "health" and "health_error"; NULL: neither. */
void inventory_json(const struct inventory_disk *disks, size_t count, const struct config *config,
	const struct inventory_health *healths, struct text *out);

#endif
