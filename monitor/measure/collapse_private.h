/* SPDX-License-Identifier: GPL-2.0-or-later */
/* collapse_private.h - what the files of collapse.h share: the state of the detector, and who does what with it. */
#ifndef DRIVESOAK_COLLAPSE_PRIVATE_H
#define DRIVESOAK_COLLAPSE_PRIVATE_H

#include "base/clock.h"
#include "measure/collapse.h"
#include "measure/decline.h"
#include "measure/level.h"
#include "measure/rhythm.h"
#include "measure/stretch.h"

#define COLLAPSE_BASELINE_MIN 60		    /* samples */
#define COLLAPSE_SHIFT_NS     (6 * 3600 * NS_PER_S) /* a fall that lasts so long is the level */

/* A fall that was raised, or is a tooth of a rhythm. */
struct fall {
	struct collapse_finding finding;
	struct stretch sum;
	double early;	      /* mean when it was raised, of the baseline */
	uint64_t very_low_ns; /* of the last samples on end */
	bool is_tooth;
};

struct collapse {
	struct collapse_config config;
	uint64_t ids;
	struct level normal, fallen; /* outside of falls; within the present one */
	struct level_noise noise;
	unsigned noise_age;
	double baseline; /* NAN: none */
	bool was_settled, had_cliff;
	unsigned settled_samples; /* outside of falls */
	struct stretch bad, lead, good, empty;
	bool is_fallen, is_watched;
	struct fall fall, cliff; /* the present one; the cliff that may yet come back */
	struct stretch back;
	int64_t cliff_to_ms;
	struct rhythm rhythm;
	struct collapse_finding periodic, last[RHYTHM_LAST]; /* last: of the falls that the rhythm looks at */
	struct collapse_finding teeth[3]; /* the first of the rhythm, as they were told before */
	struct decline decline;
	struct collapse_finding degraded;
	int64_t last_ms;
	struct collapse_answer *answer;
};

/* collapse.c: what is said of a sample, and the baseline. */
/* Intervals are some ms shorter or longer than they should be. */
bool collapse_is_time(uint64_t ns, uint64_t least_ns);
void collapse_turn(struct collapse *collapse, enum collapse_change change,
	const struct collapse_finding *finding, enum collapse_kind was, uint64_t into);
/* Of the kind that it is. */
void collapse_tell(
	struct collapse *collapse, enum collapse_change change, const struct collapse_finding *finding);
void collapse_relabel(struct collapse *collapse, struct collapse_finding *finding, enum collapse_kind kind);
/* @elapsed_ns: for how long it may have sunk. */
void collapse_move_baseline(struct collapse *collapse, uint64_t elapsed_ns);

/* collapse_begin.c: from what is low to a fall. */
void collapse_add_low(struct collapse *collapse, const struct collapse_sample *s);
/* Now that there is a baseline: what is low may have begun before. */
void collapse_recall_low(struct collapse *collapse, const struct collapse_sample *s);
void collapse_begin_stall(struct collapse *collapse, const struct collapse_sample *s, uint64_t stall_ns);
/* The present fall has a name of its own from here on. */
void collapse_raise(struct collapse *collapse, bool is_stall);

/* collapse_end.c: a fall while it lasts, its end, and what becomes of it: a cliff, a new level. */
void collapse_add_fallen(struct collapse *collapse, const struct collapse_sample *s, uint64_t stall_ns);
/* The run is settled from this sample on. */
void collapse_settle(struct collapse *collapse, int64_t t_ms);
/* A cliff that comes back was a collapse. */
void collapse_watch_cliff(struct collapse *collapse, const struct collapse_sample *s);

/* collapse_rhythm.c: falls that come again and again are teeth of one. */
/* Whether the fall that has just begun is a tooth: of the rhythm that is on, or the third of a new one. */
bool collapse_begin_tooth(struct collapse *collapse);
/* Of a tooth that lasts: it is none when it is too long for one. */
bool collapse_tooth_goes_on(const struct collapse *collapse);
/* What is over may be the first of a rhythm; @early: its mean when it was raised, of the baseline. */
void collapse_remember(
	struct collapse *collapse, const struct collapse_finding *finding, double early, bool is_tooth);
/* It was a tooth, and is remembered. */
void collapse_end_tooth(struct collapse *collapse);
/* What was too short to be raised. */
void collapse_end_dip(struct collapse *collapse, const struct collapse_finding *dip, uint64_t ns);
/* Whether the next tooth is overdue. */
void collapse_check_rhythm(struct collapse *collapse, int64_t t_ms);

#endif
