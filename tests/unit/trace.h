/* SPDX-License-Identifier: GPL-2.0-or-later */
/* trace.h - made-up soaks with the truth beside them: every profile is a seed away, and the same seed is the same
 * trace. A sample is what the detector gets, and the level it was made of. */
#ifndef DRIVESOAK_TRACE_H
#define DRIVESOAK_TRACE_H

#include <stdbool.h>
#include <stdint.h>

enum trace_profile {
	TRACE_STEADY,  /* nothing but noise */
	TRACE_CLIFF,   /* fresh plateau, then a step or a slide to the steady level */
	TRACE_CACHE,   /* bursts of a write cache */
	TRACE_SAW,     /* garbage collection: teeth below half, one finding */
	TRACE_THERMAL, /* throttled when it is hot, its temperature beside it */
	TRACE_STALLS,  /* of 10 to 120 s */
	TRACE_DECLINE, /* 0.1 to 0.5 % an hour */
	TRACE_HOST,    /* a starved host, and flagged as such */
	TRACE_GAPS,    /* pauses and restarts, after which the drive is fast for a while */
	TRACE_PROFILE_COUNT
};

struct trace_sample {
	int64_t t_ms;
	uint64_t elapsed_ns, bytes, stall_ns;
	double temp_c, level; /* level: 1 is the rate of the steady drive, without noise */
	bool counts;
};

/* Samples @first to @last are low for one reason. */
struct trace_fall {
	unsigned first, last;
	double level; /* of what it would be without */
	bool is_due;  /* a fall of 50 % or more for 30 s or more: has to be found */
	bool is_thermal;
};

struct trace_config {
	enum trace_profile profile;
	uint64_t seed;
	double noise; /* standard deviation of a sample, of its level */
	unsigned interval_s, hours;
	double falls_per_day; /* injected, of 50 to 100 % for 30 s to 10 min, from hour @quiet_h on */
	unsigned quiet_h;
	unsigned fall_least_s; /* 0: 30 s */
};

struct trace {
	struct trace_sample *samples;
	unsigned count;
	struct trace_fall *falls; /* in order; those of a saw-tooth are not told apart */
	unsigned fall_count;
	bool is_saw; /* one finding, and whatever overlaps it */
	uint64_t extent_bytes;
};

/* Numbers of a seed: evenly between two, and true in a share of cases. */
double trace_between(uint64_t *state, double low, double high);
bool trace_chance(uint64_t *state, double share);

const char *trace_profile_name(enum trace_profile profile);
/* NULL without memory. */
struct trace *trace_make(const struct trace_config *config);
void trace_free(struct trace *trace);

#endif
