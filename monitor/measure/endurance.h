/* SPDX-License-Identifier: GPL-2.0-or-later */
/* endurance.h - what a run did to the drive, from its health readings: the unit of its host-write counter, the write
 * amplification, the life that was consumed and what is left. DESIGN.md section 7; a figure that the readings can't
 * carry is "not enough data", never a guess. Pure; one thread. */
#ifndef DRIVESOAK_ENDURANCE_H
#define DRIVESOAK_ENDURANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "run/run.h"

#define ENDURANCE_HOW_MAX 384
#define ENDURANCE_WHY_MAX 80

/* By what two readings are of the same counters. */
enum endurance_mark {
	ENDURANCE_MARK_DRIVE,
	ENDURANCE_MARK_FIRMWARE,
	ENDURANCE_MARK_HOST_UNIT, /* as stated */
	ENDURANCE_MARK_MEDIA_UNIT,
	ENDURANCE_MARK_HOST_SOURCE, /* which page or attribute it is */
	ENDURANCE_MARK_MEDIA_SOURCE,
	ENDURANCE_MARK_COUNT
};

/* One reading as far as it matters here; unknown is UINT64_MAX or NAN. */
struct endurance_point {
	int64_t t_ms;
	enum run_phase phase;
	uint64_t host_raw;	 /* the drive's counter, in a unit to be found */
	uint64_t media_raw;	 /* to the flash */
	double media_unit_bytes; /* NAN: as host_raw's, when media_shares_unit */
	bool media_shares_unit;
	/* Pages of the flash programmed for the host, and in all; of one size, which the drive does not tell. */
	uint64_t host_pages, media_pages;
	double percent_used;
	double workload_pct; /* of the rated life, since a timer was started; finer than percent_used */
	uint64_t disk_written_bytes; /* by all, of the block device's counters */
	uint64_t own_written_bytes;  /* by this run */
	double read_ms;		     /* how long the reading took: the counters are of a moment within it */
	uint64_t marks[ENDURANCE_MARK_COUNT]; /* a number for each value; 0: unknown */
};

struct endurance_interval {
	double value, low, high;     /* NAN: not enough data */
	char how[ENDURANCE_HOW_MAX]; /* in words: from what, or why not */
};

enum endurance_stated {
	ENDURANCE_NONE_STATED,
	ENDURANCE_UNCHECKED,
	ENDURANCE_CONFIRMED,
	ENDURANCE_CONTRADICTED
};

struct endurance_unit {
	uint64_t bytes;	    /* as measured; 0: not known, whatever is stated */
	bool other_writers; /* more than 2 % beside ours */
	bool foreign;	    /* no unit fits: the health may be another disk's */
	enum endurance_stated stated;
	double more_bytes; /* to be written before it can be told; 0: known, NAN: writing alone won't do */
	char how[ENDURANCE_HOW_MAX];
};

/* The first reading of the base that lasts: from there on no mark has changed. Readings before it are of other counters.
 * @why gets in words what changed there; "" when it is the first of all. */
size_t endurance_base(const struct endurance_point *points, size_t count, char why[ENDURANCE_WHY_MAX]);
/* The candidates: 512, 512000, 1 MiB, 32 MiB, 1 GiB, 10^9, @logical_block_bytes and what is stated (0: none). A count of
 * 0, 0xffff and the like is "not reported". */
void endurance_find_unit(const struct endurance_point *points, size_t count, uint32_t logical_block_bytes,
	uint64_t stated_unit_bytes, struct endurance_unit *out);
/* Of the run, or of one phase (PHASE_COUNT: all). A counter that goes backwards starts a new base. Without a counter of
 * bytes to the flash it is the ratio of its pages. */
void endurance_waf(const struct endurance_point *points, size_t count, uint64_t host_unit_bytes,
	enum run_phase phase, struct endurance_interval *out);
/* Percent of life a TB of writing takes, and bytes left until the drive says 100 % at that rate, from the moments
 * percent-used steps, or the wear of the timed workload where that tells it earlier. Bytes are the disk's own, where these
 * begin anew (a restart of the machine) the host-write counter's or ours. Means nothing for a drive whose unit is foreign. */
void endurance_life(const struct endurance_point *points, size_t count, uint64_t host_unit_bytes,
	struct endurance_interval *percent_per_tb, struct endurance_interval *bytes_left);
/* No figure, and why. */
void endurance_say_unknown(struct endurance_interval *out, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* @bytes_left at a rate: seconds. */
void endurance_life_at(
	const struct endurance_interval *bytes_left, double bytes_per_s, struct endurance_interval *seconds);

#endif
