/* SPDX-License-Identifier: GPL-2.0-or-later */
/* steady.h - decide whether a run has settled, since when, and in words with the numbers why not yet.
 * Arithmetic only: no I/O, no clock, no logging. One thread; O(1) memory and time a sample.
 *
 * The rule is that of SNIA's Performance Test Specification (2.0.1, 2.1.24) over the last 5 rounds x = 0..4 with the
 * mean rates y: max(y) - min(y) <= 20 % of mean(y), and the least-squares line over them moves by no more than 10 % of
 * mean(y) from its first to its last point: |k| * 4, k = sum((x - 2) * y) / 10. It is judged at rounds of 1, 5 and
 * 30 min; each passes inside the fresh plateau of a drive, so none of them is called settled. *Settled*: at least 2
 * extents have been written in the soak and the rule holds over 5 rounds of max(5 min, time for 0.2 extent).
 *
 * A round is measured time: samples that do not count (paused, partial, host-limited) are left out, and a hole longer
 * than a round starts the rounds anew, because the drive rested. A round ends with the sample that brings it nearest
 * to its length. What is written in samples that do not count is written all the same: it counts for the extents.
 * The window W begins with those 5 rounds, but not before 2 extents were written, and ends with the newest sample. It
 * is revoked at the end of the first round with which the rule no longer holds, or when a round has taken twice the
 * mean of the last 5 without its 0.2 extent (the drive hangs); a later W begins anew. A hole alone
 * revokes nothing. Without a known extent (imports) there is no W; with the rule off, W is the soak from its start. */
#ifndef DRIVESOAK_STEADY_H
#define DRIVESOAK_STEADY_H

#include <stdbool.h>
#include <stdint.h>

#include "measure/sample.h"

#define STEADY_ROUNDS	     5
#define STEADY_RANGE_MAX_PCT 20
#define STEADY_DRIFT_MAX_PCT 10
#define STEADY_EXTENTS	     2
#define STEADY_WHY_MAX	     384
#define STEADY_NEVER	     INT64_MIN

struct steady;

struct steady_config {
	uint64_t extent_bytes; /* that is written over and over; 0: unknown */
	bool is_off;	       /* settle-rule = off */
	bool is_read;	       /* the workload only reads: extents are counted in bytes read */
};

/* Of the soak, in order of time. */
struct steady_sample {
	int64_t t_ms;			  /* end of the interval, epoch */
	uint64_t elapsed_ns;		  /* really covered */
	uint64_t write_bytes, read_bytes; /* completed; 0 where they are not known */
	bool counts;			  /* for rates */
};

enum steady_length { STEADY_1_MIN, STEADY_5_MIN, STEADY_30_MIN, STEADY_LENGTH_COUNT };

/* Over the last 5 rounds of one length. */
struct steady_rule {
	unsigned rounds;	     /* measured so far, 0..5 */
	double round_s;		     /* their mean length in measured time; NAN without one */
	double range_pct, drift_pct; /* of the mean, 0 or more; NAN until there are 5, or at a rate of 0 */
	bool is_falling;	     /* the line */
	bool holds;
};

struct steady_answer {
	bool reached;			      /* settled now */
	int64_t from_ms, lost_ms;	      /* of the newest W and the last loss, STEADY_NEVER: none */
	int64_t window_from_ms, window_to_ms; /* W; both STEADY_NEVER unless settled */
	unsigned losses;
	double extents; /* written in the soak; NAN: unknown */
	struct steady_rule settle, lengths[STEADY_LENGTH_COUNT];
	char why_not[STEADY_WHY_MAX]; /* "" when settled */
};

enum steady_turn { STEADY_STAYS, STEADY_SETTLES, STEADY_LOSES };

/* 0 and *@out owned by the caller, or -ENOMEM with *@out left as it was. */
int steady_new(const struct steady_config *config, struct steady **out);
void steady_free(struct steady *steady); /* NULL is fine */
enum steady_turn steady_add(struct steady *steady, const struct steady_sample *sample);
void steady_get(const struct steady *steady, struct steady_answer *out);

/* A sample of the soak as it counts here; false, with *@out untouched, for one of another phase. */
bool steady_sample_of(const struct sample *sample, struct steady_sample *out);

#endif
