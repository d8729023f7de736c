/* SPDX-License-Identifier: GPL-2.0-or-later */
/* level.h - where a series of rates lies and how much it scatters, over its last 360 values: the median, exact, and
 * the noise. Fixed memory, no allocation; a value costs a search and a move within 360. One thread.
 *
 * Noise is measured as the distances of the values from the median of their block of 30 consecutive ones, so that a
 * step or a slow change of the level is not taken for it; sd is 1.4826 times the median distance (that of a normal
 * distribution), so that a tooth of a saw within a block is not either; correlation is the median of the blocks' lag-1
 * autocorrelations, 0 when negative. The mean of n values of such an AR(1) series scatters by
 * sd * sqrt((1 + c) / (1 - c) / n), and by no more than sd. */
#ifndef DRIVESOAK_LEVEL_H
#define DRIVESOAK_LEVEL_H

#define LEVEL_MAX   360
#define LEVEL_BLOCK 30

struct level {
	double ring[LEVEL_MAX], sorted[LEVEL_MAX];
	unsigned count, next;
};

struct level_noise {
	double sd;	    /* of the median, 0.01 is 1 % */
	double correlation; /* 0..0.9 */
};

void level_clear(struct level *level);
void level_add(struct level *level, double value);
void level_drop_newest(struct level *level, unsigned count); /* as many as there are, at most */
void level_keep_newest(struct level *level, unsigned count);
double level_at(const struct level *level, unsigned age); /* 0: the newest; below count */
double level_median(const struct level *level);		  /* lower of two; NAN when empty */
/* Of the @count values before the newest @skip, at most 60; NAN unless there are as many. */
double level_median_of(const struct level *level, unsigned skip, unsigned count);
/* All zero with fewer than two blocks, or at a median of 0. */
void level_noise(const struct level *level, struct level_noise *out);
double level_noise_of_mean(const struct level_noise *noise, unsigned count);

#endif
