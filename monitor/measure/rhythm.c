/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "measure/rhythm.h"

#include <math.h>

#include "base/clock.h"

#define DISTANCES_AGREE 0.20 /* of the longer one */
#define LEVELS_AGREE	0.15
#define LENGTHS_AGREE	4
#define SAME_TOOTH	0.25 /* periods from the end of the last one */
#define SAME_FALL_MS	60000
#define OVER		3.5
#define OVER_UNSURE	1.5 /* while there are no more than 3 teeth */
#define OFF_BEAT	0.3 /* periods */
#define TEETH_MISSED	3
#define DEEPER		0.15
#define DEEPER_SHARE	0.5
#define LONGER		2
#define LONGER_MIN_NS	(30 * NS_PER_S)
#define PERIOD_MAX_MS	(2 * 3600 * 1000)
#define SMOOTH		0.2 /* weight of the newest distance */

static bool lengths_agree(uint64_t a, uint64_t b)
{
	uint64_t low = a < b ? a : b, high = a < b ? b : a;

	return high <= low * LENGTHS_AGREE;
}

static bool levels_agree(double a, double b)
{
	return fabs(a - b) <= LEVELS_AGREE;
}

static int64_t end_ms(const struct rhythm_fall *fall)
{
	return fall->from_ms + (int64_t)(fall->ns / NS_PER_MS);
}

static bool continues(const struct rhythm_fall *last, const struct rhythm_fall *fall)
{
	return fall->from_ms - end_ms(last) <= SAME_FALL_MS;
}

static bool agree(const struct rhythm_fall *a, const struct rhythm_fall *b, const struct rhythm_fall *fall)
{
	double first = (double)(b->from_ms - a->from_ms), second = (double)(fall->from_ms - b->from_ms);

	return fmax(first, second) <= PERIOD_MAX_MS &&
	       fabs(first - second) <= DISTANCES_AGREE * fmax(first, second) &&
	       levels_agree(a->level, b->level) && levels_agree(b->early, fall->early) &&
	       lengths_agree(a->ns, b->ns);
}

bool rhythm_begins(const struct rhythm *rhythm, const struct rhythm_fall *fall, unsigned *first)
{
	unsigned newest = RHYTHM_LAST - 1, needed = 2;

	if (rhythm->count && continues(&rhythm->last[newest], fall)) {
		newest--;
		needed++;
	}
	if (rhythm->is_on || rhythm->count < needed ||
		!agree(&rhythm->last[newest - 1], &rhythm->last[newest], fall))
		return false;
	*first = newest - 1;
	return true;
}

void rhythm_begin(struct rhythm *rhythm, const struct rhythm_fall *fall, unsigned first)
{
	const struct rhythm_fall *a = &rhythm->last[first], *b = &rhythm->last[first + 1];

	rhythm->is_on = true;
	rhythm->period_ms = (double)(fall->from_ms - a->from_ms) / 2;
	rhythm->level_min = fmin(a->level, b->level);
	rhythm->level_mean = (a->level + b->level) / 2;
	rhythm->longest_ns = a->ns > b->ns ? a->ns : b->ns;
	rhythm->last_from_ms = b->from_ms;
	rhythm->last_to_ms = b->from_ms + (int64_t)(b->ns / NS_PER_MS);
	rhythm->teeth = 2;
}

static double distance_of(const struct rhythm *rhythm, const struct rhythm_fall *fall)
{
	return (double)(fall->from_ms - rhythm->last_from_ms) / rhythm->period_ms;
}

/* Of what is left of the last tooth after a short recovery. */
static bool is_same_tooth(const struct rhythm *rhythm, const struct rhythm_fall *fall)
{
	return (double)(fall->from_ms - rhythm->last_to_ms) <= SAME_TOOTH * rhythm->period_ms;
}

/* A tooth that was too small to be seen is a distance of two periods, not a longer one. */
static bool is_on_beat(const struct rhythm *rhythm, const struct rhythm_fall *fall)
{
	double distance = distance_of(rhythm, fall), beats = round(distance);

	return rhythm->is_beat_lost ||
	       (beats >= 1 && beats <= TEETH_MISSED && fabs(distance - beats) <= OFF_BEAT);
}

bool rhythm_has(const struct rhythm *rhythm, const struct rhythm_fall *fall)
{
	double least = fmax(rhythm->level_min - DEEPER, rhythm->level_min * DEEPER_SHARE);

	return (is_on_beat(rhythm, fall) || is_same_tooth(rhythm, fall)) && fall->level >= least &&
	       fall->ns <= rhythm->longest_ns * LONGER + LONGER_MIN_NS;
}

/* Whether it is more of the last one. */
static bool tooth_add(struct rhythm *rhythm, const struct rhythm_fall *fall)
{
	double distance = distance_of(rhythm, fall), beats = fmax(round(distance), 1);

	rhythm->level_min = fmin(rhythm->level_min, fall->level);
	rhythm->last_to_ms = end_ms(fall);
	if (!is_on_beat(rhythm, fall))
		return true;
	if (!rhythm->is_beat_lost)
		rhythm->period_ms *= 1 + SMOOTH * (distance / beats - 1);
	rhythm->is_beat_lost = false;
	rhythm->level_mean += SMOOTH * (fall->level - rhythm->level_mean);
	if (fall->ns > rhythm->longest_ns)
		rhythm->longest_ns = fall->ns;
	rhythm->last_from_ms = fall->from_ms;
	rhythm->teeth++;
	return false;
}

bool rhythm_add(struct rhythm *rhythm, const struct rhythm_fall *fall, bool is_tooth)
{
	struct rhythm_fall *last = &rhythm->last[RHYTHM_LAST - 1];

	if (rhythm->is_on)
		return is_tooth && tooth_add(rhythm, fall);
	if (rhythm->count && continues(last, fall)) {
		last->ns = (uint64_t)(end_ms(fall) - last->from_ms) * NS_PER_MS;
		last->level = last->id ? fmin(last->level, fall->level) : fall->level;
		last->early = last->id ? last->early : fall->early;
		last->id = last->id ? last->id : fall->id;
		return true;
	}
	for (unsigned i = 0; i + 1 < RHYTHM_LAST; i++)
		rhythm->last[i] = rhythm->last[i + 1];
	*last = *fall;
	if (rhythm->count < RHYTHM_LAST)
		rhythm->count++;
	return false;
}

void rhythm_skip(struct rhythm *rhythm, int64_t t_ms)
{
	rhythm->last_from_ms = t_ms;
	rhythm->is_beat_lost = true;
}

bool rhythm_is_over(const struct rhythm *rhythm, int64_t t_ms)
{
	double over = rhythm->teeth <= 3 ? OVER_UNSURE : OVER;

	return rhythm->is_on && (double)(t_ms - rhythm->last_from_ms) > over * rhythm->period_ms &&
	       t_ms > rhythm->last_to_ms;
}

void rhythm_end(struct rhythm *rhythm)
{
	rhythm->is_on = rhythm->is_beat_lost = false;
	rhythm->count = 0;
}
