/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive_fixture.h"
#include "web/series.h"

#define T0 FIXTURE_START_MS

static struct series *series_of(
	int64_t from_ms, int64_t to_ms, uint32_t interval_s, size_t points, const char *fields)
{
	struct series *series = NULL;
	uint32_t mask;

	assert_int_equal(series_parse_fields(fields, &mask), 0);
	assert_int_equal(series_new(from_ms, to_ms, interval_s, points, mask, &series), 0);
	return series;
}

static void check_json(const struct series *series, const char *expected)
{
	struct text text = TEXT_INIT;
	struct json json;

	json_init(&json, &text);
	series_json(series, &json);
	assert_string_equal(text_string(&text), expected);
	text_fini(&text);
}

static void test_each_sample_its_own_bucket(void **state)
{
	struct series *series = series_of(T0, T0 + 40000, 10, 1000, "write_bytes_per_s");
	struct sample zero = fixture_sample(T0 + 20000, 10, 0), down = fixture_down(T0 + 30000, 10000000000);
	struct sample sample = fixture_sample(T0 + 10000, 10, 1000);

	(void)state;
	zero.state = SAMPLE_ZERO;
	series_add(series, &sample);
	series_add(series, &zero);
	series_add(series, &down);
	sample.t_ms = T0 + 40000;
	sample.elapsed_ns = 8000000000; /* short: 1000 bytes in 8 s */
	series_add(series, &sample);
	sample.elapsed_ns = 1000000000; /* a tenth: the service ended just behind a tick, that is no rate */
	series_add(series, &sample);
	check_json(series, "{\"from_s\":1796075400,\"to_s\":1796075440,\"bucket_s\":10,\"fields\":{\"write_"
			   "bytes_per_s\":{"
			   "\"t_s\":[1796075410,1796075420,1796075430,1796075440],"
			   "\"min\":[100,0,null,125],\"mean\":[100,0,null,125],\"max\":[100,0,null,125]}}}");
	series_free(series);
}

static void test_buckets_weigh_by_time_and_keep_the_lowest(void **state)
{
	/* Two buckets of 30 s for 60 s of samples: 300, 0, 600 bytes, then 100 bytes in 5 s and nothing known. */
	struct series *series = series_of(T0, T0 + 60000, 10, 2, "write_bytes_per_s,lat_p99_ns");
	const uint64_t bytes[] = { 300, 0, 600 };
	struct sample sample;

	(void)state;
	for (int i = 0; i < 3; i++) {
		sample = fixture_sample(T0 + (i + 1) * 10000, 10, bytes[i]);
		sample.lat_p99_ns = (uint64_t)(i + 1) * 1000;
		sample.elapsed_ns = i == 2 ? 20000000000 : 10000000000;
		series_add(series, &sample);
	}
	sample = fixture_sample(T0 + 40000, 10, 100);
	sample.elapsed_ns = 5000000000;
	sample.lat_p99_ns = SAMPLE_UNKNOWN;
	series_add(series, &sample);
	/* 900 bytes in 40 s; (1000 x 10 + 2000 x 10 + 3000 x 20) / 40 */
	check_json(series,
		"{\"from_s\":1796075400,\"to_s\":1796075460,\"bucket_s\":30,\"fields\":{\"write_bytes_per_"
		"s\":{"
		"\"t_s\":[1796075430,1796075460],\"min\":[0,20],\"mean\":[22.5,20],\"max\":[30,20]},"
		"\"lat_p99_ns\":{\"t_s\":[1796075430,1796075460],\"min\":[1000,null],\"mean\":[2250,null],"
		"\"max\":[3000,null]}}}");
	series_free(series);
}

static void test_what_was_not_asked_of_the_drive_is_unknown(void **state)
{
	static const struct {
		enum sample_state state;
		enum run_phase phase;
		const char *writes, *reads;
	} rows[] = {
		{ SAMPLE_MEASURED, PHASE_SOAK, "100", "0.3" },
		{ SAMPLE_ZERO, PHASE_SOAK, "100", "0.3" },
		{ SAMPLE_FILLING, PHASE_FILL, "100", "null" },
		{ SAMPLE_VERIFYING, PHASE_VERIFY, "null", "0.3" },
		{ SAMPLE_PAUSED, PHASE_SOAK, "null", "null" },
		{ SAMPLE_ABSENT, PHASE_SOAK, "null", "null" },
		{ SAMPLE_DOWN, PHASE_SOAK, "null", "null" },
		{ SAMPLE_MEASURED, PHASE_PREPARE, "null", "null" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct series *series = series_of(
			T0, T0 + 10000, 10, 10, "write_bytes_per_s,read_bytes_per_s");
		struct sample sample = fixture_sample(T0 + 10000, 10, 1000);
		char expected[512];

		sample.state = rows[i].state;
		sample.phase = rows[i].phase;
		series_add(series, &sample);
		(void)snprintf(expected, sizeof(expected),
			"{\"from_s\":1796075400,\"to_s\":1796075410,\"bucket_s\":10,\"fields\":{\"write_"
			"bytes_per_s\":{\"t_s\":["
			"1796075410],\"min\":[%s],\"mean\":[%s],\"max\":[%s]},\"read_bytes_per_s\":{\"t_s\":["
			"1796075410],"
			"\"min\":[%s],\"mean\":[%s],\"max\":[%s]}}}",
			rows[i].writes, rows[i].writes, rows[i].writes, rows[i].reads, rows[i].reads,
			rows[i].reads);
		check_json(series, expected);
		series_free(series);
	}
}

static void test_buckets_are_aligned_and_never_too_many(void **state)
{
	static const uint32_t intervals[] = { 1, 7, 10, 300 };
	static const size_t points[] = { 1, 2, 3, 100, 1000, 4000 };
	uint64_t seed = 42;

	(void)state;
	for (int i = 0; i < 2000; i++) {
		uint32_t interval_s = intervals[fixture_random(&seed, 4)], mask = 1;
		size_t most = points[fixture_random(&seed, 6)];
		int64_t from_ms = T0 + (int64_t)fixture_random(&seed, 100000000);
		int64_t to_ms = from_ms + 1 + (int64_t)fixture_random(&seed, 1000000000);
		struct series *series;
		int64_t width_ms;

		assert_int_equal(series_new(from_ms, to_ms, interval_s, most, mask, &series), 0);
		width_ms = series_to_ms(series) - series_from_ms(series);
		assert_true(series_from_ms(series) <= from_ms && series_to_ms(series) >= to_ms);
		assert_true(width_ms % (interval_s * 1000) == 0);
		/* Not more than a bucket too wide at either end, so not more buckets than needed by two. */
		assert_true(most == 1 || series_from_ms(series) % (interval_s * 1000) == 0);
		series_free(series);
	}
}

static void test_a_single_bad_sample_survives_every_width(void **state)
{
	(void)state;
	for (size_t points = 1; points <= 4000; points = points * 3 + 1) {
		struct series *series = series_of(T0, T0 + 86400000, 10, points, "write_bytes_per_s");
		struct text text = TEXT_INIT;
		struct json json;

		for (int i = 1; i <= 8640; i++) {
			struct sample sample = fixture_sample(T0 + i * 10000, 10, i == 5000 ? 70 : 1000000);

			series_add(series, &sample);
		}
		json_init(&json, &text);
		series_json(series, &json);
		assert_non_null(strstr(strstr(text_string(&text), "\"min\":["), points == 1 ? "[7]" : ",7,"));
		text_fini(&text);
		series_free(series);
	}
}

static void test_the_host_is_a_share_of_the_buckets_time(void **state)
{
	struct series *series = series_of(
		T0, T0 + 40000, 10, 2, "host_limited,throttled_ns,device_lat_mean_ns");
	struct sample sample = fixture_sample(T0 + 10000, 10, 1);

	(void)state;
	series_add(series, &sample);
	sample.t_ms = T0 + 20000;
	sample.flags = SAMPLE_FLAG_HOST_LIMIT;
	sample.throttled_ns = 1000;
	sample.device_lat_mean_ns = SAMPLE_UNKNOWN;
	series_add(series, &sample);
	/* In the fill nobody asks whose limit it is. */
	sample.t_ms = T0 + 30000;
	sample.state = SAMPLE_FILLING;
	sample.phase = PHASE_FILL;
	series_add(series, &sample);
	check_json(series, "{\"from_s\":1796075400,\"to_s\":1796075440,\"bucket_s\":20,\"fields\":{"
			   "\"host_limited\":{\"t_s\":[1796075420,1796075440],\"min\":[0,null],\"mean\":[0.5,"
			   "null],\"max\":[1,null]},"
			   "\"throttled_ns\":{\"t_s\":[1796075420,1796075440],\"min\":[1000,1000],\"mean\":["
			   "5000,1000],\"max\":[9000,1000]},"
			   "\"device_lat_mean_ns\":{\"t_s\":[1796075420,1796075440],\"min\":[48000,null],"
			   "\"mean\":[48000,null],"
			   "\"max\":[48000,null]}}}");
	series_free(series);
}

static void test_commits_phases_and_flushes_are_series(void **state)
{
	struct series *series = series_of(
		T0, T0 + 20000, 10, 2, "lat_p9999_ns,commits_per_s,commit_p99_ns,probing,verifying,flushed");
	struct sample sample = fixture_sample(T0 + 10000, 10, 1000);

	(void)state;
	sample.commits = 250;
	sample.flags = SAMPLE_FLAG_FLUSH;
	series_add(series, &sample);
	sample.t_ms = T0 + 20000;
	sample.phase = PHASE_PROBE;
	sample.flags = 0;
	sample.commits = sample.commit_p99_ns = SAMPLE_UNKNOWN; /* no commits here: no rate of 0 */
	series_add(series, &sample);
#define TIMES "{\"t_s\":[1796075410,1796075420],"
	check_json(series,
		"{\"from_s\":1796075400,\"to_s\":1796075420,\"bucket_s\":10,\"fields\":{"
		"\"lat_p9999_ns\":" TIMES
		"\"min\":[99990,99990],\"mean\":[99990,99990],\"max\":[99990,99990]},"
		"\"commits_per_s\":" TIMES "\"min\":[25,null],\"mean\":[25,null],\"max\":[25,null]},"
		"\"commit_p99_ns\":" TIMES "\"min\":[72000,null],\"mean\":[72000,null],\"max\":[72000,null]},"
		"\"probing\":" TIMES "\"min\":[0,1],\"mean\":[0,1],\"max\":[0,1]},"
		"\"verifying\":" TIMES "\"min\":[0,0],\"mean\":[0,0],\"max\":[0,0]},"
		"\"flushed\":" TIMES "\"min\":[1,0],\"mean\":[1,0],\"max\":[1,0]}}}");
#undef TIMES
	series_free(series);
}

static void test_fields_are_names_of_the_list(void **state)
{
	static const char *const wrong[] = { "", ",", "write_bytes_per_s,", "nosuch", "temp_c,temp_c",
		"temp_c ", "write_bytes" };
	uint32_t mask = 77;
	struct series *series = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(series_parse_fields(wrong[i], &mask), -EINVAL);
		assert_int_equal(mask, 77);
	}
	assert_int_equal(series_parse_fields("temp_c,write_bytes_per_s", &mask), 0);
	assert_int_equal(mask, 1u << 12 | 1);
	assert_int_equal(series_new(T0, T0, 10, 10, 1, &series), -EINVAL);
	assert_int_equal(series_new(T0, T0 + 1, 10, 4001, 1, &series), -EINVAL);
	assert_null(series);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_sample_its_own_bucket),
		cmocka_unit_test(test_buckets_weigh_by_time_and_keep_the_lowest),
		cmocka_unit_test(test_what_was_not_asked_of_the_drive_is_unknown),
		cmocka_unit_test(test_buckets_are_aligned_and_never_too_many),
		cmocka_unit_test(test_a_single_bad_sample_survives_every_width),
		cmocka_unit_test(test_the_host_is_a_share_of_the_buckets_time),
		cmocka_unit_test(test_commits_phases_and_flushes_are_series),
		cmocka_unit_test(test_fields_are_names_of_the_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
