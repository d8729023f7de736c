/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ranks of growing lists against a plain sort of the same numbers. */
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "archive_fixture.h"
#include "measure/values.h"

#define MOST 500

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Few different values, so that equals are frequent. */
static double draw(uint64_t *seed)
{
	return (double)fixture_random(seed, 40) - 10;
}

static void add(struct values *values, double value)
{
	assert_int_equal(values_make_room(values), 0);
	values_add(values, value);
}

static void test_a_list_that_grows_is_as_one_sorted_at_once(void **state)
{
	uint64_t seed = 4;

	(void)state;
	for (unsigned round = 0; round < 200; round++) {
		struct values values = { 0 };
		double truth[MOST], copy[MOST];
		size_t count = 0, goal = 1 + fixture_random(&seed, MOST - 1);

		while (count < goal) {
			/* In portions on either side of where they are put in one by one. */
			for (size_t more = 1 + fixture_random(&seed, 130); more && count < goal; more--) {
				truth[count] = draw(&seed);
				add(&values, truth[count++]);
			}
			assert_true(values_median(truth, count, copy) ==
				    values_median(values.items, count, copy));
			values_sort(&values);
			qsort(truth, count, sizeof(double), compare);
			assert_memory_equal(values.items, truth, count * sizeof(double));
			assert_true(values_median(truth, count, copy) == truth[(count + 1) / 2 - 1]);
			assert_true(values_pair_rank((struct values_pair){ &values, NULL }, 50) ==
				    truth[(count + 1) / 2 - 1]);
		}
		values_fini(&values);
	}
}

static void test_two_lists_are_one(void **state)
{
	uint64_t seed = 9;

	(void)state;
	for (unsigned round = 0; round < 100; round++) {
		struct values a = { 0 }, b = { 0 }, all = { 0 };
		const struct values_pair pair = { &a, &b }, one = { &all, NULL };

		for (size_t i = 1 + fixture_random(&seed, 99); i; i--) {
			double value = draw(&seed);

			add(fixture_random(&seed, 2) ? &a : &b, value);
			add(&all, value);
		}
		values_sort(&a);
		values_sort(&b);
		values_sort(&all);
		assert_int_equal(values_pair_count(pair), all.count);
		for (size_t i = 0; i < all.count; i++)
			assert_true(values_pair_at(pair, i) == all.items[i]);
		for (unsigned pct = 0; pct <= 100; pct += 5)
			assert_true(values_pair_rank(pair, pct) == values_pair_rank(one, pct));
		values_fini(&a);
		values_fini(&b);
		values_fini(&all);
	}
}

static void test_figures_of_a_small_list(void **state)
{
	static const double numbers[] = { 4, 1, 3, 2 };
	struct values values = { 0 };
	const struct values_pair pair = { &values, NULL };

	(void)state;
	assert_true(isnan(values_pair_rank(pair, 50)) && isnan(values_share_from(&values, 1)) &&
		    isnan(values_median(NULL, 0, NULL)));
	for (size_t i = 0; i < 4; i++)
		add(&values, numbers[i]);
	values_sort(&values);
	assert_true(values_pair_rank(pair, 1) == 1 && values_pair_rank(pair, 51) == 3);
	assert_true(fabs(values_pair_variation(pair) - sqrt(1.25) / 2.5) < 1e-12);
	assert_true(values_share_from(&values, 3) == 0.5 && values_share_from(&values, 2.5) == 0.5);
	assert_true(values_share_from(&values, 1) == 1 && values_share_from(&values, 5) == 0);
	values_clear(&values);
	assert_int_equal(values_pair_count(pair), 0);
	values_fini(&values);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_list_that_grows_is_as_one_sorted_at_once),
		cmocka_unit_test(test_two_lists_are_one),
		cmocka_unit_test(test_figures_of_a_small_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
