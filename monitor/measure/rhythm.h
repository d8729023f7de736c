/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rhythm.h - decide whether falls of throughput come round like the teeth of a saw, so that a thousand of them are
 * told as one finding with its period and depth. Arithmetic only. One thread.
 *
 * Three falls have a rhythm when the two distances between their beginnings agree within 20 % and are 2 h or less, and
 * the falls are about as deep (15 points of the baseline) and about as long (a factor of 4). From then on a fall is a
 * tooth when it begins within 0.3 periods of the beat, or goes on with the last tooth, and is no deeper, nor twice as
 * long, as any before. The rhythm is over when no tooth came for 3.5 periods; for 1.5 when there were only 3, which may
 * be chance. */
#ifndef DRIVESOAK_RHYTHM_H
#define DRIVESOAK_RHYTHM_H

#include <stdbool.h>
#include <stdint.h>

#define RHYTHM_LAST 3

struct rhythm_fall {
	int64_t from_ms;
	uint64_t ns;  /* how long; 0: not over yet */
	double level; /* mean, of the baseline: 0..1 */
	double early; /* the same when it was raised: a tooth may slide on */
	uint64_t id;  /* of the finding that was made of it; 0: none */
};

/* All zero to begin. */
struct rhythm {
	struct rhythm_fall
		last[RHYTHM_LAST]; /* oldest first; the newest may be the beginning of the next one */
	unsigned count;
	bool is_on;
	double period_ms, level_min, level_mean;
	uint64_t longest_ns;
	int64_t last_from_ms, last_to_ms; /* of the newest tooth */
	unsigned teeth;
	bool is_beat_lost; /* time has passed in which no tooth could be seen: the next one sets the beat */
};

/* A fall has begun: whether it is the third of a rhythm, whose first two are last[*@first] and the next. */
bool rhythm_begins(const struct rhythm *rhythm, const struct rhythm_fall *fall, unsigned *first);
/* With that third fall. The first two are teeth already. */
void rhythm_begin(struct rhythm *rhythm, const struct rhythm_fall *fall, unsigned first);
/* While a rhythm is on: whether this fall, which may go on, can still be one of its teeth. */
bool rhythm_has(const struct rhythm *rhythm, const struct rhythm_fall *fall);
/* A fall is over; @is_tooth of the rhythm that is on. Whether it was only more of the one before: it began within
 * 60 s of its end. */
bool rhythm_add(struct rhythm *rhythm, const struct rhythm_fall *fall, bool is_tooth);
/* No tooth could be seen until @t_ms: it was another fall, or a hole. */
void rhythm_skip(struct rhythm *rhythm, int64_t t_ms);
bool rhythm_is_over(const struct rhythm *rhythm, int64_t t_ms);
void rhythm_end(struct rhythm *rhythm);

#endif
