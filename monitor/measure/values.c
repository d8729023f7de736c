/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "measure/values.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* More new values than these are not put in their places one by one. */
#define INSERTED_MAX 64

int values_make_room(struct values *values)
{
	size_t capacity = values->capacity ? values->capacity * 2 : 256;
	double *items;

	if (values->count < values->capacity)
		return 0;
	items = realloc(values->items, capacity * sizeof(*items));
	if (!items)
		return -ENOMEM;
	values->items = items;
	values->capacity = capacity;
	return 0;
}

void values_add(struct values *values, double value)
{
	values->items[values->count++] = value;
}

void values_fini(struct values *values)
{
	free(values->items);
	*values = (struct values){ 0 };
}

void values_clear(struct values *values)
{
	values->count = values->sorted = 0;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* A value more each time is the usual case: it is put in its place. */
static void insert(struct values *values)
{
	const double value = values->items[values->sorted];
	size_t low = 0, high = values->sorted;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (values->items[middle] <= value)
			low = middle + 1;
		else
			high = middle;
	}
	memmove(values->items + low + 1, values->items + low, (values->sorted - low) * sizeof(double));
	values->items[low] = value;
	values->sorted++;
}

void values_sort(struct values *values)
{
	if (values->count - values->sorted > INSERTED_MAX) {
		qsort(values->items, values->count, sizeof(double), compare_doubles);
		values->sorted = values->count;
	}
	while (values->sorted < values->count)
		insert(values);
}

size_t values_pair_count(struct values_pair pair)
{
	return pair.a->count + (pair.b ? pair.b->count : 0);
}

double values_pair_at(struct values_pair pair, size_t rank)
{
	size_t a = 0, b = 0;

	if (!pair.b || !pair.b->count)
		return pair.a->items[rank];
	for (;; rank--) {
		bool from_b = b < pair.b->count &&
			      (a == pair.a->count || pair.b->items[b] < pair.a->items[a]);
		double value = from_b ? pair.b->items[b++] : pair.a->items[a++];

		if (rank == 0)
			return value;
	}
}

double values_pair_rank(struct values_pair pair, unsigned pct)
{
	size_t count = values_pair_count(pair), rank = (count * pct + 99) / 100;

	return count ? values_pair_at(pair, rank ? rank - 1 : 0) : NAN;
}

static void add_squares(const struct values *values, double mean, double *sum)
{
	for (size_t i = 0; values && i < values->count; i++)
		*sum += (values->items[i] - mean) * (values->items[i] - mean);
}

static double sum_of(const struct values *values)
{
	double sum = 0;

	for (size_t i = 0; values && i < values->count; i++)
		sum += values->items[i];
	return sum;
}

double values_pair_variation(struct values_pair pair)
{
	double count = (double)values_pair_count(pair), mean = (sum_of(pair.a) + sum_of(pair.b)) / count,
	       squares = 0;

	add_squares(pair.a, mean, &squares);
	add_squares(pair.b, mean, &squares);
	return mean > 0 ? sqrt(squares / count) / mean : NAN;
}

double values_share_from(const struct values *sorted, double least)
{
	size_t below = 0;

	if (!sorted->count)
		return NAN;

	while (below < sorted->count && sorted->items[below] < least)
		below++;
	return (double)(sorted->count - below) / (double)sorted->count;
}

/* Of the @count values of @items by nearest rank: partitions a copy until the middle is in its place. */
double values_median(const double *items, size_t count, double *copy)
{
	size_t low = 0, high = count, rank = (count + 1) / 2 - 1;

	if (!count)
		return NAN;
	memcpy(copy, items, count * sizeof(double));
	while (high - low > 1) {
		const double pivot = copy[low + (high - low) / 2];
		size_t below = low, above = high, at = low;

		while (at < above) {
			double value = copy[at];

			if (value < pivot) {
				copy[at++] = copy[below];
				copy[below++] = value;
			} else if (value > pivot) {
				copy[at] = copy[--above];
				copy[above] = value;
			} else {
				at++;
			}
		}
		if (rank >= below && rank < above)
			return pivot;
		if (rank < below)
			high = below;
		else
			low = above;
	}
	return copy[rank];
}
