/* SPDX-License-Identifier: GPL-2.0-or-later */
/* endurance_private.h - what the figures of endurance.h share: which counts are to be believed, and bytes between two
 * readings. */
#ifndef DRIVESOAK_ENDURANCE_PRIVATE_H
#define DRIVESOAK_ENDURANCE_PRIVATE_H

#include "measure/endurance.h"

enum endurance_counter { ENDURANCE_HOST, ENDURANCE_MEDIA };

/* The readings of one question. */
struct endurance_set {
	const struct endurance_point *points;
	size_t count;
	uint64_t host_unit_bytes; /* 0: not known */
	bool by_pages;		  /* the two counters are those of pages */
};

uint64_t endurance_count(const struct endurance_set *set, size_t i, enum endurance_counter counter);
/* Reported at all, and no outlier between its neighbours. */
bool endurance_is_read(const struct endurance_set *set, size_t i, enum endurance_counter counter);
/* False when they are unknown, or the block device's counter began anew between the two. */
bool endurance_disk_bytes(
	const struct endurance_point *from, const struct endurance_point *to, double *out_bytes);
/* By the best source there is: the disk's, else the greater of ours and the host-write counter's. */
double endurance_bytes_between(const struct endurance_set *set, const struct endurance_point *from,
	const struct endurance_point *to);
/* Bytes written while @to was read, at the rate since @from. */
double endurance_skew_bytes(
	const struct endurance_point *from, const struct endurance_point *to, double bytes_between);

#endif
