/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/hist.h"
#include "engine/random.h"

static void test_bucket_edges(void **state)
{
	static const struct {
		uint64_t ns;
		unsigned index;
	} row[] = {
		{ 0, 0 },
		{ 15, 0 },
		{ 16, 1 },
		{ 1023, 63 },
		{ 1024, 64 },
		{ 1039, 64 },
		{ 1040, 65 },
		{ 2047, 127 },
		{ 2048, 128 },
		{ 2079, 128 },
		{ 2080, 129 },
		{ 1000000, 698 },
		{ (1ULL << 40) - 1, HIST_BUCKETS - 1 },
		{ UINT64_MAX, HIST_BUCKETS - 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(row); i++)
		assert_int_equal(hist_index(row[i].ns), row[i].index);
	assert_int_equal(hist_value_ns(0), 8);
	assert_int_equal(hist_value_ns(64), 1032);
	assert_int_equal(hist_value_ns(128), 2064);
}

static void test_every_bucket_is_its_values_own_and_within_one_percent(void **state)
{
	(void)state;
	for (unsigned i = 0; i < HIST_BUCKETS; i++)
		assert_int_equal(hist_index(hist_value_ns(i)), i);
	for (double v = 1024; v < 1e12; v *= 1.0007) {
		uint64_t ns = (uint64_t)v;
		double error = fabs((double)hist_value_ns(hist_index(ns)) - (double)ns) / (double)ns;

		assert_true(error <= 1.0 / 128);
	}
}

static int by_value(const void *a, const void *b)
{
	uint64_t x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return x < y ? -1 : x > y;
}

/* Latencies as drives have them: a body over two octaves, a tail over four decades. */
static uint64_t draw_latency(struct random *random)
{
	double u = (double)(random_next(random) >> 11) * 0x1p-53;

	if (random_below(random, 100) < 97)
		return (uint64_t)(50e3 + 150e3 * u);
	return (uint64_t)(200e3 * pow(10, 4 * u));
}

static void test_percentiles_equal_sorted_traces_within_one_percent(void **state)
{
	static const double pct[] = { 1, 50, 90, 99, 99.9, 99.99, 100 };
	static struct hist hist;
	enum { COUNT = 20001 };
	uint64_t *trace = calloc(COUNT, sizeof(*trace));

	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct random random;

		memset(&hist, 0, sizeof(hist));
		random_init(&random, seed);
		for (size_t i = 0; i < COUNT; i++) {
			trace[i] = draw_latency(&random);
			hist.counts[hist_index(trace[i])]++;
		}
		qsort(trace, COUNT, sizeof(*trace), by_value);
		for (size_t i = 0; i < ARRAY_LEN(pct); i++) {
			size_t rank = (size_t)ceil(COUNT * pct[i] / 100.0);
			double truth = (double)trace[rank - 1];

			assert_true(fabs((double)hist_percentile_ns(&hist, pct[i]) - truth) <= truth * 0.01);
		}
	}
	free(trace);
}

static void test_empty_has_no_percentile(void **state)
{
	static const struct hist empty;
	uint8_t bytes[HIST_ENCODED_MAX];

	(void)state;
	assert_true(hist_percentile_ns(&empty, 50) == UINT64_MAX);
	assert_int_equal(hist_encode(&empty, bytes), 0);
}

static void test_encoding_returns_the_same_counts(void **state)
{
	static struct hist hist, back;
	uint8_t bytes[HIST_ENCODED_MAX];
	struct random random;
	size_t used;

	(void)state;
	random_init(&random, 7);
	memset(&hist, 0, sizeof(hist));
	memset(&back, 0, sizeof(back));
	for (int i = 0; i < 300000; i++)
		hist.counts[hist_index(draw_latency(&random))]++;
	hist.counts[0] = 1;
	hist.counts[HIST_BUCKETS - 1] = UINT64_MAX / 4;
	used = hist_encode(&hist, bytes);
	assert_in_range(used, 100, HIST_ENCODED_MAX);
	assert_int_equal(hist_decode_add(bytes, used, &back), 0);
	assert_memory_equal(&hist, &back, sizeof(hist));
	assert_int_equal(hist_decode_add(bytes, used, &back), 0);
	assert_true(back.counts[HIST_BUCKETS - 1] == 2 * (UINT64_MAX / 4));
}

static void test_a_histogram_too_wide_is_joined_and_keeps_its_total(void **state)
{
	static struct hist hist, back;
	uint8_t bytes[HIST_ENCODED_MAX];
	size_t used;

	(void)state;
	memset(&back, 0, sizeof(back));
	for (unsigned i = 0; i < HIST_BUCKETS; i++)
		hist.counts[i] = 100000 + i;
	used = hist_encode(&hist, bytes);
	assert_in_range(used, 1, HIST_ENCODED_MAX);
	assert_int_equal(bytes[0], 2);
	assert_int_equal(hist_decode_add(bytes, used, &back), 0);
	assert_int_equal(hist_total(&back), hist_total(&hist));
	assert_true(fabs((double)hist_percentile_ns(&back, 50) / (double)hist_percentile_ns(&hist, 50) - 1) <
		    0.04);
}

static void test_foreign_bytes_are_refused_and_change_nothing(void **state)
{
	static struct hist into, before;
	static const uint8_t bad[][13] = {
		{ 7, 0, 1 },		       /* too many pairings */
		{ 0, 0x80 },		       /* number without end */
		{ 0, 5 },		       /* no count */
		{ 0, 0xff, 0xff, 0xff, 1, 1 }, /* beyond the last bucket */
		{ 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2 }, /* more than 64 bits */
	};
	static const size_t length[] = { 3, 2, 4, 6, 13 };

	(void)state;
	into.counts[3] = before.counts[3] = 9;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(hist_decode_add(bad[i], length[i], &into), -22);
	assert_int_equal(hist_decode_add(bad[0], 0, &into), -22);
	assert_memory_equal(&into, &before, sizeof(into));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bucket_edges),
		cmocka_unit_test(test_every_bucket_is_its_values_own_and_within_one_percent),
		cmocka_unit_test(test_percentiles_equal_sorted_traces_within_one_percent),
		cmocka_unit_test(test_empty_has_no_percentile),
		cmocka_unit_test(test_encoding_returns_the_same_counts),
		cmocka_unit_test(test_a_histogram_too_wide_is_joined_and_keeps_its_total),
		cmocka_unit_test(test_foreign_bytes_are_refused_and_change_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
