/* SPDX-License-Identifier: GPL-2.0-or-later */
/* health_points.h - the readings of a run as points of its endurance, from the journal. Reads it on the caller's thread. */
#ifndef DRIVESOAK_HEALTH_POINTS_H
#define DRIVESOAK_HEALTH_POINTS_H

#include "archive/journal.h"
#include "measure/endurance.h"

#define HEALTH_FROM_MAX 32

struct health_points {
	struct endurance_point *list;
	size_t count, room;
	/* Of the last reading that told it. */
	uint64_t stated_unit_bytes; /* 0: none did */
	uint32_t logical_block_bytes;
	char media_from[HEALTH_FROM_MAX]; /* which page or attribute counts what went to the flash; "" */
	bool is_nvme;			  /* whose unit the standard states */
};

/* @out is empty before; health_points_fini() in any case. 0, -ENOENT, -ENOMEM, or as journal.h. */
int health_points_read(struct journal *journal, const char *run, struct health_points *out);
void health_points_fini(struct health_points *points);

#endif
