/* SPDX-License-Identifier: GPL-2.0-or-later */
/* values.h - growing lists of numbers and their ranks: percentiles by nearest rank, variation. Arithmetic only; the list
 * is its holder's. All zero is an empty one. */
#ifndef DRIVESOAK_VALUES_H
#define DRIVESOAK_VALUES_H

#include <stddef.h>

struct values {
	double *items;
	size_t count, capacity;
	size_t sorted; /* the first of them that are in order */
};

void values_fini(struct values *values);
void values_clear(struct values *values); /* its room stays */
/* Room for one more, so that the next values_add() can't fail. 0 or -ENOMEM. */
int values_make_room(struct values *values);
void values_add(struct values *values, double value);
/* Bring them in order; quick where few are new. */
void values_sort(struct values *values);

/* One sorted list or, where @b is not NULL, two of them as one. */
struct values_pair {
	const struct values *a, *b;
};
size_t values_pair_count(struct values_pair pair);
double values_pair_at(struct values_pair pair, size_t rank);	/* 0 is the lowest; there must be one */
double values_pair_rank(struct values_pair pair, unsigned pct); /* NAN when there is none */
double values_pair_variation(
	struct values_pair pair); /* deviation of all over their mean; NAN at a mean of 0 */

/* The share of a sorted list at @least or above, 0..1; NAN for an empty one. */
double values_share_from(const struct values *sorted, double least);
/* Of @count values in any order; @copy has room for as many. NAN when there is none. */
double values_median(const double *items, size_t count, double *copy);

#endif
