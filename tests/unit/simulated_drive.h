/* SPDX-License-Identifier: GPL-2.0-or-later */
/* simulated_drive.h - a drive of which everything is known, as its health readings show it. The same options give the
 * same readings. */
#ifndef DRIVESOAK_SIMULATED_DRIVE_H
#define DRIVESOAK_SIMULATED_DRIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "measure/endurance.h"

struct simulated_drive_options {
	uint64_t seed;
	double hours, fill_hours; /* of it: one stream, nothing to amplify */
	double bytes_per_s;	  /* when neither collecting garbage nor idle */
	double noise;		  /* of the rate, 0..1 */
	double idle_share;	  /* of the time, in pauses */
	double other_share;	  /* of the bytes, by others */
	double unit_bytes, media_unit_bytes;
	bool rounds_up;
	uint64_t start_count; /* what it had counted before */
	/* how often the drive updates its records; 0: at once */
	double host_update_s, media_update_s, percent_update_s;
	double poll_s, poll_jitter_s, read_ms, missed_share;
	double waf_begin, waf_end; /* of the soak, drifting from one to the other */
	double waf_drift_s;
	unsigned resets;	/* of the drive's counters, and of nothing else */
	unsigned restarts;	/* of the machine: the disk's bytes begin anew */
	double percent_start;	/* worn so far */
	double percent_tb;	/* host TB a percent takes, at waf_end */
	double percent_uneven;	/* percents differ so much, as a standard deviation */
	double percent_trend;	/* the last percents cost so much less than the first */
	double percent_flicker; /* share of readings that show one less */
	bool media_unknown;
};

struct simulated_drive_truth {
	double waf[PHASE_COUNT + 1]; /* between the first and the last reading in each phase, and of all */
	double percent_per_tb;	     /* between the steps that show; NAN: fewer than two */
	double bytes_left;	     /* until it shows 100 */
	double host_bytes;
};

/* Sane ones, drawn from the seed. */
void simulated_drive_draw(uint64_t seed, struct simulated_drive_options *out);
/* 0..1, and the next of the seed. */
double simulated_drive_random(uint64_t *seed);
/* How many readings there were, at most @max. */
size_t simulated_drive_run(const struct simulated_drive_options *options, struct endurance_point *points,
	size_t max, struct simulated_drive_truth *truth);

#endif
