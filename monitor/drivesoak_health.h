/* SPDX-License-Identifier: GPL-2.0-or-later */
/* drivesoak_health.h - the health of every disk of a list, for `drivesoak drives --health`: many are asked at once, so that
 * one that does not answer holds no other. */
#ifndef DRIVESOAK_DRIVESOAK_HEALTH_H
#define DRIVESOAK_DRIVESOAK_HEALTH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "probes/reading.h"
#include "target/inventory.h"

#define HEALTH_WHY_MAX (READING_NOTES_MAX + 64)

struct health {
	struct reading reading;
	int rc;			  /* of the reading */
	char why[HEALTH_WHY_MAX]; /* it was not read; "" */
};

#define HEALTH_AT_ONCE 64

/* Each disk has READING_DEADLINE_MS: so long it takes until HEALTH_AT_ONCE of them hang. An array of @count,
 * health_free() it. -ENOMEM. */
int health_read(const struct inventory_disk *disks, size_t count, struct health **out);
/* The same by @read, a test's own: it fills a reading that was initialised. */
typedef int (*health_reader)(const struct inventory_disk *disk, struct reading *out);
int health_read_by(health_reader read, const struct inventory_disk *disks, size_t count, struct health **out);
void health_free(struct health *healths, size_t count);

/* In lines below the disk's own. */
void health_text(const struct health *health, struct text *out);
/* The reading as an object of the interface; "" when it was not read. */
void health_json(const struct health *health, struct text *out);
/* Was it refused for want of rights? */
bool health_needs_root(const struct health *health);

#endif
