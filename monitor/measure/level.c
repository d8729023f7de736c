/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "measure/level.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS_MAX	(LEVEL_MAX / LEVEL_BLOCK)
#define BLOCKS_MIN	2
#define CORRELATION_MAX 0.9
#define MEDIAN_OF_MAX	60
#define MAD_TO_SD	1.4826 /* of a normal distribution */

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void sort(double *values, unsigned count)
{
	qsort(values, count, sizeof(*values), compare_doubles);
}

double level_at(const struct level *level, unsigned age)
{
	return level->ring[(level->next + LEVEL_MAX - 1 - age) % LEVEL_MAX];
}

/* The first place whose value is not below @value. */
static unsigned place_of(const struct level *level, double value, unsigned count)
{
	unsigned low = 0, high = count;

	while (low < high) {
		unsigned middle = (low + high) / 2;

		if (level->sorted[middle] < value)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void sorted_remove(struct level *level, double value)
{
	unsigned place = place_of(level, value, level->count);

	memmove(&level->sorted[place], &level->sorted[place + 1],
		(level->count - place - 1) * sizeof(level->sorted[0]));
	level->count--;
}

void level_clear(struct level *level)
{
	level->count = level->next = 0;
}

void level_add(struct level *level, double value)
{
	unsigned place;

	if (level->count == LEVEL_MAX)
		sorted_remove(level, level->ring[level->next]);
	place = place_of(level, value, level->count);
	memmove(&level->sorted[place + 1], &level->sorted[place],
		(level->count - place) * sizeof(level->sorted[0]));
	level->sorted[place] = value;
	level->count++;
	level->ring[level->next] = value;
	level->next = (level->next + 1) % LEVEL_MAX;
}

void level_drop_newest(struct level *level, unsigned count)
{
	for (; count && level->count; count--) {
		level->next = (level->next + LEVEL_MAX - 1) % LEVEL_MAX;
		sorted_remove(level, level->ring[level->next]);
	}
}

void level_keep_newest(struct level *level, unsigned count)
{
	while (level->count > count)
		sorted_remove(level, level_at(level, level->count - 1));
}

double level_median(const struct level *level)
{
	return level->count ? level->sorted[(level->count - 1) / 2] : NAN;
}

double level_median_of(const struct level *level, unsigned skip, unsigned count)
{
	double values[MEDIAN_OF_MAX];

	if (count == 0 || count > MEDIAN_OF_MAX || skip + count > level->count)
		return NAN;
	for (unsigned i = 0; i < count; i++)
		values[i] = level_at(level, skip + i);
	sort(values, count);
	return values[(count - 1) / 2];
}

/* Of the block of consecutive values that begins @age back; @distances: of each from the block's median. */
static void block_figures(const struct level *level, unsigned age, double *distances, double *correlation)
{
	double mean = 0, squares = 0, products = 0, last = 0,
	       middle = level_median_of(level, age, LEVEL_BLOCK);

	for (unsigned i = 0; i < LEVEL_BLOCK; i++)
		mean += level_at(level, age + i);
	mean /= LEVEL_BLOCK;
	for (unsigned i = 0; i < LEVEL_BLOCK; i++) {
		double off = level_at(level, age + i) - mean;

		squares += off * off;
		products += off * last;
		last = off;
		distances[i] = fabs(level_at(level, age + i) - middle);
	}
	*correlation = squares > 0 ? products / squares : 0;
}

void level_noise(const struct level *level, struct level_noise *out)
{
	double distances[LEVEL_MAX], correlations[BLOCKS_MAX], median = level_median(level);
	unsigned blocks = level->count / LEVEL_BLOCK, count = blocks * LEVEL_BLOCK;

	*out = (struct level_noise){ 0, 0 };
	if (blocks < BLOCKS_MIN || !(median > 0))
		return;
	for (unsigned i = 0; i < blocks; i++)
		block_figures(level, i * LEVEL_BLOCK, &distances[i * LEVEL_BLOCK], &correlations[i]);
	sort(distances, count);
	sort(correlations, blocks);
	out->sd = MAD_TO_SD * distances[count / 2] / median;
	out->correlation = fmin(fmax(correlations[blocks / 2], 0), CORRELATION_MAX);
}

double level_noise_of_mean(const struct level_noise *noise, unsigned count)
{
	double c = noise->correlation, share = count ? (1 + c) / (1 - c) / count : 1;

	return noise->sd * sqrt(fmin(share, 1));
}
