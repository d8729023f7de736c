/* SPDX-License-Identifier: GPL-2.0-or-later */
/* trace_cause.h - made-up soaks (trace.h) of which each fall has a cause, with what a host would show of it: signals that
 * may be weak or missing, and beside them what has nothing to do with it - busy moments, heat, errors, polls, writers and
 * neighbours that fall by chance. The same seed is the same record. */
#ifndef DRIVESOAK_TRACE_CAUSE_H
#define DRIVESOAK_TRACE_CAUSE_H

#include "measure/cause.h"
#include "trace.h"

struct trace_cause_line {
	int64_t t_ms;
	enum kernelline_word word;
};

struct trace_cause {
	struct trace *trace;
	enum cause *truth; /* of each of its falls; CAUSE_UNKNOWN: none of those that can be told */
	enum cause cliff;  /* of a first fall to a level that stays */
	uint64_t capacity_bytes;
	bool is_log_heard;
	struct cause_sample *samples;	    /* one for each of the trace's */
	struct evidence_counters *counters; /* likewise */
	struct cause_reading *readings;
	unsigned reading_count;
	struct trace_cause_line *lines;
	unsigned line_count;
	struct cause_fall *neighbour_falls; /* of the other drive */
	unsigned neighbour_fall_count;
	bool neighbour_shares_path;
};

/* NULL without memory. @profile: TRACE_STEADY with falls of every cause, TRACE_THERMAL, TRACE_SAW, TRACE_CLIFF, or
 * TRACE_CACHE for a fast cache that is used up once. */
struct trace_cause *trace_cause_make(enum trace_profile profile, uint64_t seed);
void trace_cause_free(struct trace_cause *made);

#endif
