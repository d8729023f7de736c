/* SPDX-License-Identifier: GPL-2.0-or-later */
/* verdict.h - the verdict on a run and every reason for it, as sentences with their numbers. Arithmetic only: no I/O,
 * no clock, no logging. Any thread.
 *
 * The order is the design's: FAIL when any of its reasons holds, else NO VERDICT, else REMARKS, else PASS. Reasons of
 * the later classes are told as well, after those that decided: a drive that failed is also told to be host-limited.
 * Each unknown is NAN, a count VERDICT_UNKNOWN, and no reason for anything, but where ignorance is itself the reason
 * (direct I/O unproven, pre-state unknown). Figures of rate are those of the window W. */
#ifndef DRIVESOAK_VERDICT_H
#define DRIVESOAK_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

#include "measure/verdict_health.h"

#define VERDICT_UNKNOWN	    UINT64_MAX
#define VERDICT_TEXT_MAX    384
#define VERDICT_REASONS_MAX 64

enum verdict { VERDICT_FAIL, VERDICT_NONE, VERDICT_REMARKS, VERDICT_PASS };

/* Errors, resets and losses of the drive, by whose they were. */
struct verdict_troubles {
	uint64_t io_errors, resets, losses;			 /* all of the run */
	uint64_t io_errors_traced, resets_traced, losses_traced; /* to the host or the link */
};

struct verdict_verify {
	bool was_done;
	bool is_impossible;					/* the data is zeros, which carry no stamps */
	uint64_t corrupt, torn, misdirected, stale, unreadable; /* blocks */
	double coverage_pct; /* of the extent by the ledger; NAN: not known */
};

/* 0: not asked for. */
struct verdict_slo {
	double min_rate, p1_rate; /* bytes a second */
	uint64_t p99_latency_ns;
};

struct verdict_input {
	bool is_settled;
	const char *why_not_settled;	    /* of steady.h; may be NULL */
	double window_s;		    /* W */
	double median, p1, min, cv;	    /* bytes a second; cv: 0.2 is 20 % */
	double half_median_share;	    /* of samples at half the median or more, 0..1 */
	double first_quarter, last_quarter; /* medians of those quarters of W */
	uint64_t lat_p99_ns;
	double longest_stall_s, stalled_s; /* of the soak; within W */
	uint64_t collapses;		   /* findings that alert, since the run first settled */
	double host_limited_pct, gap_pct;  /* of the soak's time */
	bool is_host_limited;		   /* in every sample of the soak */
	bool is_direct_proven, is_pre_state_known;
	uint64_t aer_errors_grown, link_events;
	struct verdict_verify verify;
	const struct verdict_health *health; /* what changed in it, with its own sentences; NULL: not read */
	struct verdict_troubles troubles;
	struct verdict_slo slo;
};

struct verdict_reason {
	enum verdict class; /* FAIL, NONE or REMARKS */
	char text[VERDICT_TEXT_MAX];
};

struct verdict_answer {
	enum verdict verdict;
	unsigned count;
	struct verdict_reason reasons[VERDICT_REASONS_MAX]; /* FAIL first, then NONE, then REMARKS */
};

/* Nothing is known and nothing has happened: a start to fill in. */
void verdict_input_init(struct verdict_input *input);
void verdict_decide(const struct verdict_input *input, struct verdict_answer *out);
const char *verdict_name(enum verdict verdict); /* "FAIL", "NO VERDICT", "REMARKS", "PASS" */

#endif
