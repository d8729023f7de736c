/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "archive_fixture.h"
#include "base/clock.h"
#include "engine/hist.h"
#include "measure/sample_columns.h"
#include "measure/status.h"
#include "measure/summary.h"

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

static void check_double(double value, double expected)
{
	if (isnan(expected))
		assert_true(isnan(value));
	else if (!(fabs(value - expected) <= 1e-9 * (1 + fabs(expected))))
		fail_msg("%.17g is not %.17g", value, expected);
}

static void test_states_and_flags_have_names(void **state)
{
	char text[SAMPLE_FLAGS_TEXT_MAX];
	enum sample_state parsed = SAMPLE_ABSENT;

	(void)state;
	assert_string_equal(sample_state_name(SAMPLE_FILLING), "filling");
	assert_string_equal(sample_state_name((enum sample_state)99), "unknown");
	for (int i = 0; i < SAMPLE_STATE_COUNT; i++) {
		assert_int_equal(sample_state_parse(sample_state_name((enum sample_state)i), &parsed), 0);
		assert_int_equal(parsed, i);
	}
	assert_int_equal(sample_state_parse("Down", &parsed), -EINVAL);
	assert_int_equal(parsed, SAMPLE_ABSENT); /* untouched on failure */
	sample_flags_print(0, text);
	assert_string_equal(text, "");
	sample_flags_print(SAMPLE_FLAG_CLOCK_STEP, text);
	assert_string_equal(text, "clock-step");
	sample_flags_print(0xffffffff, text);
	assert_string_equal(text, "health-poll|partial|clock-step|host-limit|flush");
}

static void test_columns_begin_as_documented(void **state)
{
	struct text text = TEXT_INIT;

	(void)state;
	sample_names_csv(&text);
	assert_string_equal(text_string(&text),
		"t_s,elapsed_s,state,flags,phase,write_bytes,write_ios,read_bytes,read_ios,errors,lat_p50_ns,"
		"lat_p90_ns,lat_p99_ns,lat_p999_ns,lat_max_ns,stall_ns,inflight_mean,temp_c,lat_p9999_ns,"
		"host_cpu_share,steal_share,run_delay_share,device_lat_mean_ns,lat_mean_ns,throttled_ns,"
		"commits,commit_p50_ns,commit_p99_ns\n");
	text_fini(&text);
}

/* The same sample as a CSV line and as a JSON row. */
static void check_row(const struct sample *sample, const char *csv, const char *json_row)
{
	struct text text = TEXT_INIT;
	struct json json;

	sample_row_csv(sample, &text);
	assert_string_equal(text_string(&text), csv);
	text_fini(&text);
	json_init(&json, &text);
	sample_row_json(sample, &json);
	assert_string_equal(text_string(&text), json_row);
	text_fini(&text);
}

static void test_rows_keep_every_digit(void **state)
{
	struct sample sample = fixture_sample(1796077200123, 10, 9007199254740993ULL);

	(void)state;
	sample.elapsed_ns = 10000000070;
	sample.flags = SAMPLE_FLAG_HEALTH_POLL | SAMPLE_FLAG_PARTIAL;
	sample.lat_max_ns = SAMPLE_UNKNOWN;
	sample.temp_c = NAN;
	sample.errors = 0;
	check_row(&sample,
		"1796077200.123,10.00000007,measured,health-poll|partial,soak,9007199254740993,549755813888,"
		"3,2,0,"
		"50000,90000,99000,99900,,7000,31.5,,99990,0.25,0.125,0.0625,48000,52000,9000,11,71000,"
		"72000\n",
		"[1796077200.123,10.00000007,\"measured\",\"health-poll|partial\",\"soak\",9007199254740993,"
		"549755813888,3,2,0,50000,90000,99000,99900,null,7000,31.5,null,99990,0.25,0.125,0.0625,"
		"48000,52000,9000,11,71000,72000]");
	sample.t_ms = 1796077200100;
	sample.elapsed_ns = 20000000000;
	sample.flags = 0;
	sample.state = SAMPLE_DOWN; /* counters are left over from somewhere: still unknown */
	check_row(&sample, "1796077200.1,20,down,,soak,,,,,,,,,,,,,,,,,,,,,,,\n",
		"[1796077200.1,20,\"down\",\"\",\"soak\",null,null,null,null,null,null,null,null,null,null,"
		"null,null,"
		"null,null,null,null,null,null,null,null,null,null,null]");
}

static void add_all(struct summary *summary, const struct sample *samples, size_t count)
{
	for (size_t i = 0; i < count; i++)
		assert_int_equal(summary_add(summary, &samples[i]), 0);
}

static void test_figures_are_nearest_rank_over_rates(void **state)
{
	struct summary *summary;
	struct summary_figures figures;
	struct sample sample;

	(void)state;
	assert_int_equal(summary_new(0, &summary), -EINVAL);
	assert_int_equal(summary_new(10, &summary), 0);
	/* 200 samples of 1..200 bytes a second, the order mixed; each really covered 5 s. */
	for (unsigned i = 0; i < 200; i++) {
		uint64_t rate = i * 77 % 200 + 1;

		sample = fixture_sample(FIXTURE_START_MS + (i + 1) * 10000, 10, rate * 5);
		sample.elapsed_ns = 5000000000;
		sample.read_bytes = 35;
		assert_int_equal(summary_add(summary, &sample), 0);
	}
	summary_read(summary, &figures);
	assert_int_equal(figures.window.samples, 200);
	check_double(figures.interval_s, 10);
	check_double(figures.window.write.median, 100);
	check_double(figures.window.write.p1, 2);
	check_double(figures.window.write.p5, 10);
	check_double(figures.window.write.min, 1);
	check_double(figures.window.write.max, 200);
	check_double(figures.window.write.mean, 100.5);
	check_double(figures.window.write.cv, sqrt((200.0 * 200 - 1) / 12) / 100.5);
	check_double(figures.window.read.median, 7);
	check_double(figures.window.read.cv, 0);
	check_double(figures.window.read.worst_minute, 7);
	assert_int_equal(figures.window.from_ms, FIXTURE_START_MS);
	assert_int_equal(figures.window.to_ms, FIXTURE_START_MS + 2000000);
	summary_free(summary);
}

static void test_only_clean_soak_samples_count(void **state)
{
	static const struct {
		enum sample_state state;
		uint32_t flags;
		enum run_phase phase;
		unsigned counts;
		double gap_pct, host_limited_pct;
	} row[] = {
		{ SAMPLE_MEASURED, 0, PHASE_SOAK, 1, 0, 0 },
		{ SAMPLE_ZERO, 0, PHASE_SOAK, 1, 0, 0 },
		{ SAMPLE_MEASURED, SAMPLE_FLAG_HEALTH_POLL | SAMPLE_FLAG_CLOCK_STEP, PHASE_SOAK, 1, 0, 0 },
		{ SAMPLE_MEASURED, SAMPLE_FLAG_PARTIAL, PHASE_SOAK, 0, 100, 0 },
		{ SAMPLE_MEASURED, SAMPLE_FLAG_HOST_LIMIT, PHASE_SOAK, 0, 0, 100 },
		{ SAMPLE_PAUSED, 0, PHASE_SOAK, 0, 0, 0 },
		{ SAMPLE_DOWN, 0, PHASE_SOAK, 0, 100, 0 },
		{ SAMPLE_ABSENT, 0, PHASE_SOAK, 0, 100, 0 },
		{ SAMPLE_FILLING, 0, PHASE_FILL, 0, NAN, NAN },
		{ SAMPLE_MEASURED, 0, PHASE_PROBE, 0, NAN, NAN },
		{ SAMPLE_VERIFYING, 0, PHASE_VERIFY, 0, NAN, NAN },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		struct sample sample = fixture_sample(FIXTURE_START_MS, 10, 1000);
		struct summary_figures figures;
		struct summary *summary;

		sample.state = row[i].state;
		sample.flags = row[i].flags;
		sample.phase = row[i].phase;
		assert_int_equal(summary_new(10, &summary), 0);
		assert_int_equal(summary_add(summary, &sample), 0);
		summary_read(summary, &figures);
		assert_int_equal(figures.window.samples, row[i].counts);
		check_double(figures.window.write.median, row[i].counts ? 100 : NAN);
		check_double(figures.gap_pct, row[i].gap_pct);
		check_double(figures.host_limited_pct, row[i].host_limited_pct);
		summary_free(summary);
	}
}

/* Worst minute of samples of 10 s: six in a row make one. A zero rate is a bad minute, a hole is none. */
static void test_worst_minute_is_a_window_of_consecutive_samples(void **state)
{
	struct sample samples[18];
	struct summary_figures figures;
	struct summary *summary;

	(void)state;
	for (unsigned i = 0; i < 18; i++)
		samples[i] = fixture_sample(
			FIXTURE_START_MS + (i + 1) * 10000, 10, i == 8 || i == 9 ? 0 : 6000);
	assert_int_equal(summary_new(10, &summary), 0);
	add_all(summary, samples, 5);
	summary_read(summary, &figures);
	check_double(figures.window.write.worst_minute, NAN); /* 50 s are no minute */
	add_all(summary, samples + 5, 13);
	summary_read(summary, &figures);
	check_double(figures.window.write.worst_minute, 400); /* 24000 bytes in 60 s */
	check_double(figures.window.write.median, 600);
	summary_free(summary);

	/* The two zeros on either side of a paused sample are never in one window. */
	samples[8].state = SAMPLE_PAUSED;
	assert_int_equal(summary_new(10, &summary), 0);
	add_all(summary, samples, 18);
	summary_read(summary, &figures);
	check_double(figures.window.write.worst_minute, 500);
	summary_free(summary);

	/* The same with the row missing altogether, which is a gap of the soak too. */
	assert_int_equal(summary_new(10, &summary), 0);
	add_all(summary, samples, 8);
	add_all(summary, samples + 9, 9);
	summary_read(summary, &figures);
	check_double(figures.window.write.worst_minute, 500);
	check_double(figures.gap_pct, 100 * 10 / 180.0);
	summary_free(summary);
}

static void test_worst_minute_at_long_and_odd_intervals(void **state)
{
	static const struct {
		uint32_t interval_s;
		unsigned samples, low_at, needed;
	} row[] = { { 1, 90, 70, 60 }, { 7, 20, 15, 9 }, { 60, 5, 3, 1 }, { 300, 5, 0, 1 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		struct summary_figures figures;
		struct summary *summary;

		assert_int_equal(summary_new(row[i].interval_s, &summary), 0);
		for (unsigned n = 0; n < row[i].samples; n++) {
			struct sample sample = fixture_sample(
				FIXTURE_START_MS + (n + 1) * row[i].interval_s * 1000LL, row[i].interval_s,
				n == row[i].low_at ? 0 : row[i].interval_s * 900ULL);

			assert_int_equal(summary_add(summary, &sample), 0);
		}
		summary_read(summary, &figures);
		check_double(figures.window.write.worst_minute, 900.0 * (row[i].needed - 1) / row[i].needed);
		summary_free(summary);
	}
}

static void test_a_stall_over_several_samples_counts_once(void **state)
{
	static const struct {
		uint64_t stall_ms[4];
		double stalled_s;
	} row[] = {
		{ { 0, 999, 500, 0 }, 0 },	   /* below a second is jitter */
		{ { 1000, 0, 3000, 0 }, 4 },	   /* two stalls */
		{ { 7000, 17000, 25000, 0 }, 25 }, /* one from second 3 to second 28 */
		{ { 7000, 17000, 27000, 0 }, 27 }, /* still open at the end of the third */
		{ { 5000, 2000, 0, 0 }, 7 },	   /* a shorter one can't be the same */
		{ { 3000, 3000, 0, 0 }, 6 },	   /* nor one as long: it would have grown */
		{ { 600, 10600, 11000, 0 },
			10.4 },		    /* the part below a second was not told: the sample's own time */
		{ { 0, 0, 0, 40000 }, 10 }, /* reaches back into samples that did not say so */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		struct summary_figures figures;
		struct summary *summary;

		assert_int_equal(summary_new(10, &summary), 0);
		for (unsigned n = 0; n < 4; n++) {
			struct sample sample = fixture_sample(FIXTURE_START_MS + n * 10000, 10, 1000);

			sample.stall_ns = row[i].stall_ms[n] * 1000000;
			assert_int_equal(summary_add(summary, &sample), 0);
		}
		summary_read(summary, &figures);
		check_double(figures.window.stalled_s, row[i].stalled_s);
		summary_free(summary);
	}
}

/* A log of another tool may tell no reads, no stalls, and come a little late. */
static void test_a_direction_that_is_not_known_has_no_figures(void **state)
{
	struct summary_figures figures;
	struct summary *summary;

	(void)state;
	assert_int_equal(summary_new(10, &summary), 0);
	for (int n = 0; n < 8; n++) {
		struct sample sample = fixture_sample(FIXTURE_START_MS + n * 10070, 10, n == 6 ? 0 : 6000);

		sample.read_bytes = n == 7 ? 10 : SAMPLE_UNKNOWN;
		sample.stall_ns = SAMPLE_UNKNOWN;
		if (n == 0)
			sample.write_bytes = SAMPLE_UNKNOWN; /* of this one nothing is known */
		assert_int_equal(summary_add(summary, &sample), 0);
	}
	summary_read(summary, &figures);
	assert_int_equal(figures.window.samples, 7);
	check_double(figures.window.write.median, 600);
	check_double(figures.window.write.mean, 600.0 * 6 / 7);
	check_double(figures.window.write.worst_minute, 500);
	check_double(figures.window.read.median, 1);
	check_double(figures.window.read.worst_minute, NAN);
	check_double(figures.window.stalled_s, NAN);
	summary_free(summary);
}

static void test_columns_are_read_back(void **state)
{
	static const struct {
		const char *column, *text;
		int rc;
	} row[] = {
		{ "t_s", "1796075400.123", 0 },
		{ "t_s", "1796075400.1234", -EINVAL },
		{ "t_s", "-1", -EINVAL },
		{ "elapsed_s", "10.000000001", 0 },
		{ "state", "zero", 0 },
		{ "state", "", -EINVAL },
		{ "flags", "health-poll|partial", 0 },
		{ "flags", "health", -EINVAL },
		{ "phase", "soak", 0 },
		{ "write_bytes", "9007199254740993", 0 },
		{ "write_bytes", "18446744073709551616", -EINVAL },
		{ "write_bytes", "1.5", -EINVAL },
		{ "write_bytes", "1e3", -EINVAL },
		{ "temp_c", "-5.5", 0 },
		{ "temp_c", "nan", -EINVAL },
		{ "temp_c", "1e999", -EINVAL },
	};
	struct sample sample;

	(void)state;
	sample_init(&sample);
	for (size_t i = 0; i < ARRAY_LEN(row); i++)
		if (sample_column_parse(&sample, sample_column_find(row[i].column), row[i].text) != row[i].rc)
			fail_msg("%s: %s", row[i].column, row[i].text);
	assert_int_equal(sample_column_find("colour"), SIZE_MAX);
	assert_int_equal(sample.t_ms, 1796075400123);
	assert_int_equal(sample.elapsed_ns, 10000000001);
	assert_int_equal(sample.state, SAMPLE_ZERO);
	assert_int_equal(sample.flags, SAMPLE_FLAG_HEALTH_POLL | SAMPLE_FLAG_PARTIAL);
	assert_int_equal(sample.write_bytes, 9007199254740993);
	check_double(sample.temp_c, -5.5);
}

static void test_gaps_are_shares_of_the_soak(void **state)
{
	struct sample samples[5] = {
		fixture_sample(FIXTURE_START_MS, 10, 10),
		fixture_sample(FIXTURE_START_MS + 10000, 10, 10),
		fixture_down(FIXTURE_START_MS + 67500, 0),
		fixture_sample(FIXTURE_START_MS + 70000, 10, 10),
		fixture_sample(FIXTURE_START_MS + 80000, 10, 10),
	};
	struct summary_figures figures;
	struct summary *summary;

	(void)state;
	samples[3].flags = SAMPLE_FLAG_PARTIAL;
	samples[4].flags = SAMPLE_FLAG_HOST_LIMIT;
	assert_int_equal(summary_new(10, &summary), 0);
	add_all(summary, samples, 5);
	summary_read(summary, &figures);
	check_double(figures.gap_pct, 100 * 60.0 / 90);
	check_double(figures.host_limited_pct, 100 * 10.0 / 90);
	assert_int_equal(figures.window.samples, 2);
	summary_free(summary);
}

static void test_what_the_host_did_is_told_of_the_samples_it_limited(void **state)
{
	struct sample samples[4] = {
		fixture_sample(FIXTURE_START_MS, 10, 16384),
		fixture_sample(FIXTURE_START_MS + 10000, 10, 16384),
		fixture_sample(FIXTURE_START_MS + 20000, 10, 3 * 16384),
		fixture_sample(FIXTURE_START_MS + 30000, 10, 16384),
	};
	struct summary_figures figures;
	struct summary *summary;

	(void)state;
	assert_int_equal(summary_new(10, &summary), 0);
	add_all(summary, samples, 1);
	summary_read(summary, &figures);
	assert_true(isnan(figures.host.run_delay_share) && isnan(figures.host.lat_mean_ns));
	for (unsigned i = 1; i < 4; i++) {
		samples[i].flags = SAMPLE_FLAG_HOST_LIMIT;
		samples[i].read_ios = 0;
	}
	samples[1].run_delay_share = 0.3;
	samples[2].run_delay_share = 0.1;
	samples[2].elapsed_ns = 30000000000;
	samples[2].lat_mean_ns = 200000;
	samples[2].device_lat_mean_ns = 100000;
	samples[2].throttled_ns = 15000000000 - 9000;
	samples[3].phase = PHASE_PROBE; /* not of the soak */
	samples[3].steal_share = 0.9;
	add_all(summary, samples + 1, 3);
	summary_read(summary, &figures);
	check_double(figures.host.run_delay_share, (0.3 * 10 + 0.1 * 30) / 40);
	check_double(figures.host.steal_share, 0.125);
	check_double(figures.host.throttled_share, 15.0 / 40);
	check_double(figures.host.lat_mean_ns, (52000.0 + 3 * 200000) / 4);
	check_double(figures.host.device_lat_mean_ns, (48000.0 + 3 * 100000) / 4);
	/* Of a sample that knows one of both, neither is taken; nor is what is unknown. */
	samples[3].t_ms += 10000;
	samples[3].phase = PHASE_SOAK;
	samples[3].device_lat_mean_ns = samples[3].throttled_ns = SAMPLE_UNKNOWN;
	samples[3].run_delay_share = samples[3].steal_share = NAN;
	add_all(summary, samples + 3, 1);
	summary_read(summary, &figures);
	check_double(figures.host.run_delay_share, (0.3 * 10 + 0.1 * 30) / 40);
	check_double(figures.host.steal_share, 0.125);
	check_double(figures.host.throttled_share, 15.0 / 40);
	check_double(figures.host.lat_mean_ns, (52000.0 + 3 * 200000) / 4);
	assert_int_equal(figures.window.samples, 1);
	summary_free(summary);
}

static void test_latency_is_merged_over_samples_that_count(void **state)
{
	struct sample sample = fixture_sample(FIXTURE_START_MS, 10, 10);
	struct summary_figures figures;
	struct summary *summary;
	struct hist hist;

	(void)state;
	assert_int_equal(summary_new(10, &summary), 0);
	summary_read(summary, &figures);
	assert_true(figures.window.lat_p99_ns == SAMPLE_UNKNOWN);
	for (unsigned i = 0; i < 4; i++) {
		memset(&hist, 0, sizeof(hist));
		/* 988 fast, 12 slow over three samples; the fourth is the host's fault and all slow */
		hist.counts[hist_index(100000)] = i < 2 ? 494 : 0;
		hist.counts[hist_index(9000000)] = i < 3 ? 4 : 1000;
		sample.hist_bytes = (uint16_t)hist_encode(&hist, sample.hist);
		sample.flags = i == 3 ? SAMPLE_FLAG_HOST_LIMIT : 0;
		assert_int_equal(summary_add(summary, &sample), 0);
		sample.t_ms += 10000;
		summary_read(summary, &figures);
		assert_int_equal(
			figures.window.lat_p99_ns, hist_value_ns(hist_index(i < 2 ? 100000 : 9000000)));
	}
	summary_free(summary);
}

static void check_contains(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no %s in %s", part, text);
}

/* Ten samples of 100..1000 bytes a second and ten of 50..950 in which the host was the limit. */
static void test_the_whole_soak_counts_host_limited_samples_too(void **state)
{
	struct summary_figures figures;
	struct summary *summary;

	(void)state;
	assert_int_equal(summary_new(10, &summary), 0);
	for (unsigned i = 0; i < 20; i++) {
		bool is_limited = i % 2 == 0;
		uint64_t rate = (i / 2 + 1) * 100 - (is_limited ? 50 : 0);
		struct sample sample = fixture_sample(FIXTURE_START_MS + (i + 1) * 10000, 10, rate * 10);

		sample.flags = is_limited ? SAMPLE_FLAG_HOST_LIMIT : 0;
		sample.commits = is_limited ? SAMPLE_UNKNOWN : 10 * (i + 1);
		sample.stall_ns = i == 4 ? 3000000000 : 0;
		assert_int_equal(summary_add(summary, &sample), 0);
	}
	summary_read(summary, &figures);
	assert_false(summary_is_host_limited(&figures));
	assert_ptr_equal(summary_shown(&figures), &figures.window);
	assert_int_equal(figures.window.samples, 10);
	assert_int_equal(figures.whole.samples, 20);
	check_double(figures.window.write.median, 500);
	check_double(figures.whole.write.median, 500);
	check_double(figures.window.write.p5, 100);
	check_double(figures.whole.write.p5, 50);
	check_double(figures.window.write.mean, 550);
	check_double(figures.whole.write.mean, 525);
	check_double(figures.whole.write.min, 50);
	check_double(figures.whole.write.max, 1000);
	check_double(figures.whole.write.cv, 50 * sqrt((20.0 * 20 - 1) / 12) / 525);
	/* The window has a hole at every other sample, the whole soak none. */
	check_double(figures.window.write.worst_minute, NAN);
	check_double(figures.whole.write.worst_minute, (50 + 100 + 150 + 200 + 250 + 300) / 6.0);
	check_double(figures.window.stalled_s, 0);
	check_double(figures.whole.stalled_s, 3);
	check_double(figures.whole.median_commits_per_s, 10);
	check_double(figures.host_limited_pct, 50);
	summary_free(summary);
}

static void test_a_run_with_only_host_limited_samples_shows_the_whole_soak(void **state)
{
	struct summary_figures figures;
	struct summary *summary;
	struct text text = TEXT_INIT;
	struct json json;

	(void)state;
	assert_int_equal(summary_new(10, &summary), 0);
	for (unsigned i = 0; i < 8; i++) {
		struct sample sample = fixture_sample(FIXTURE_START_MS + (i + 1) * 10000, 10, (i + 1) * 1000);

		sample.flags = SAMPLE_FLAG_HOST_LIMIT | (i == 7 ? SAMPLE_FLAG_PARTIAL : 0);
		assert_int_equal(summary_add(summary, &sample), 0);
	}
	summary_read(summary, &figures);
	assert_true(summary_is_host_limited(&figures));
	assert_ptr_equal(summary_shown(&figures), &figures.whole);
	assert_int_equal(figures.window.samples, 0);
	check_double(figures.window.write.median, NAN);
	assert_int_equal(figures.whole.samples, 7);
	check_double(figures.whole.write.median, 400);
	check_double(figures.whole.write.worst_minute, 350);
	json_init(&json, &text);
	summary_json(&figures, &json);
	check_contains(
		text_string(&text), "{\"samples\":0,\"interval_s\":10,\"median_write_bytes_per_s\":null,");
	check_contains(text_string(&text),
		"\"whole_soak\":{\"samples\":7,\"interval_s\":10,\"median_write_bytes_per_s\":400,");
	text_fini(&text);
	summary_free(summary);
	/* Without any sample there is nothing to mark. */
	assert_int_equal(summary_new(10, &summary), 0);
	summary_read(summary, &figures);
	assert_false(summary_is_host_limited(&figures));
	check_double(figures.whole.write.median, NAN);
	assert_true(figures.whole.lat_p99_ns == SAMPLE_UNKNOWN);
	summary_free(summary);
}

static void test_summary_json_has_all_names(void **state)
{
	struct text text = TEXT_INIT;
	struct summary_figures figures;
	struct summary *summary;
	struct json json;

	(void)state;
	assert_int_equal(summary_new(10, &summary), 0);
	for (unsigned i = 0; i < 6; i++) {
		struct sample sample = fixture_sample(FIXTURE_START_MS + (i + 1) * 10000, 10, 1000 + i * 10);

		assert_int_equal(summary_add(summary, &sample), 0);
	}
	summary_read(summary, &figures);
	summary_free(summary);
	figures.gap_pct = 1.26;
	json_init(&json, &text);
	summary_json(&figures, &json);
	check_contains(text_string(&text),
		"{\"samples\":6,\"interval_s\":10,\"median_write_bytes_per_s\":102,\"mean_write_bytes_per_"
		"s\":102.5,"
		"\"p1_write_bytes_per_s\":100,\"p5_write_bytes_per_s\":100,\"min_write_bytes_per_s\":100,"
		"\"max_write_bytes_per_s\":105,\"worst_minute_write_bytes_per_s\":102.5,\"cv\":0.0166");
	check_contains(text_string(&text), "\"median_read_bytes_per_s\":0.3,\"mean_read_bytes_per_s\":0.3,");
	check_contains(text_string(&text),
		"\"median_commits_per_s\":1.1,\"median_commit_p50_ns\":71000,\"median_commit_p99_ns\":72000,"
		"\"stalled_s\":0,\"longest_stall_s\":7e-06,\"collapses_per_h\":null,\"lat_p99_ns\":null,"
		"\"lat_p9999_ns\":null,"
		"\"host_limited_pct\":0,\"gap_pct\":1.26,"
		"\"window\":{\"from_s\":1796075400,\"to_s\":1796075460,\"settled\":false}");
	check_contains(text_string(&text), ",\"whole_soak\":{\"samples\":6,\"interval_s\":10,");
	check_contains(text_string(&text),
		"\"verdict\":\"NO VERDICT\",\"verdict_reasons\":[],"
		"\"steady\":{\"reached\":false,\"from_s\":null,\"lost_s\":null,\"round_s\":null,\"range_"
		"pct\":null,"
		"\"drift_pct\":null,\"extents\":null,\"why_not\":null},"
		"\"waf\":null,\"percent_used_delta\":null,\"health_poll_cost_pct\":null}");
	text_fini(&text);
}

static void test_an_empty_run_has_unknown_figures(void **state)
{
	struct text text = TEXT_INIT;
	struct summary_figures figures;
	struct summary *summary;
	struct json json;

	(void)state;
	assert_int_equal(summary_new(10, &summary), 0);
	summary_read(summary, &figures);
	summary_free(summary);
	json_init(&json, &text);
	summary_json(&figures, &json);
	check_contains(
		text_string(&text), "{\"samples\":0,\"interval_s\":10,\"median_write_bytes_per_s\":null,");
	check_contains(text_string(&text), "\"window\":{\"from_s\":null,\"to_s\":null,\"settled\":false}");
	text_fini(&text);
}

static void *publish_pairs(void *board)
{
	struct drive_status status = { .status = RUN_RUNNING };

	for (uint64_t i = 1; i <= 20000; i++) {
		status.eta_ns = status.written_bytes = i;
		status_publish(board, 1, &status);
	}
	return NULL;
}

static void test_status_is_copied_whole(void **state)
{
	struct drive_status status = { .name = "evo" };
	struct status_board *board;
	pthread_t writer;

	(void)state;
	assert_int_equal(status_new(2, &board), 0);
	assert_int_equal(status_count(board), 2);
	status_publish(board, 0, &status);
	status_publish(board, 2, &status); /* beyond the board: nothing happens */
	assert_int_equal(pthread_create(&writer, NULL, publish_pairs, board), 0);
	do {
		status_read(board, 1, &status);
		assert_true(status.eta_ns == status.written_bytes);
	} while (status.eta_ns < 20000);
	(void)pthread_join(writer, NULL);
	status_read(board, 0, &status);
	assert_string_equal(status.name, "evo");
	status_free(board);
	status_free(NULL);
}

static void test_the_cost_of_reading_health(void **state)
{
	struct summary *summary;
	struct summary_figures figures;

	(void)state;
	assert_int_equal(summary_new(10, &summary), 0);
	for (int i = 0; i < 120; i++) {
		struct sample sample;

		sample_init(&sample);
		sample.state = SAMPLE_MEASURED;
		sample.phase = PHASE_SOAK;
		sample.t_ms = 1000000 + 10000 * (int64_t)i;
		sample.elapsed_ns = 10 * NS_PER_S;
		sample.flags = i % 6 == 3 ? SAMPLE_FLAG_HEALTH_POLL : 0;
		/* One of six samples has a reading and 6 % less. */
		sample.write_bytes = i % 6 == 3 ? 940000 : 1000000;
		sample.write_ios = 100;
		sample.read_bytes = sample.read_ios = 0;
		assert_int_equal(summary_add(summary, &sample), 0);
		summary_read(summary, &figures);
		/* The tenth reading is in sample 57. */
		assert_int_equal(isnan(figures.health_poll_cost_pct), i < 57);
	}
	assert_true(fabs(figures.health_poll_cost_pct - 1) < 0.001);
	summary_free(summary);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_cost_of_reading_health),
		cmocka_unit_test(test_states_and_flags_have_names),
		cmocka_unit_test(test_columns_begin_as_documented),
		cmocka_unit_test(test_rows_keep_every_digit),
		cmocka_unit_test(test_figures_are_nearest_rank_over_rates),
		cmocka_unit_test(test_only_clean_soak_samples_count),
		cmocka_unit_test(test_worst_minute_is_a_window_of_consecutive_samples),
		cmocka_unit_test(test_worst_minute_at_long_and_odd_intervals),
		cmocka_unit_test(test_a_stall_over_several_samples_counts_once),
		cmocka_unit_test(test_a_direction_that_is_not_known_has_no_figures),
		cmocka_unit_test(test_columns_are_read_back),
		cmocka_unit_test(test_gaps_are_shares_of_the_soak),
		cmocka_unit_test(test_what_the_host_did_is_told_of_the_samples_it_limited),
		cmocka_unit_test(test_latency_is_merged_over_samples_that_count),
		cmocka_unit_test(test_the_whole_soak_counts_host_limited_samples_too),
		cmocka_unit_test(test_a_run_with_only_host_limited_samples_shows_the_whole_soak),
		cmocka_unit_test(test_summary_json_has_all_names),
		cmocka_unit_test(test_an_empty_run_has_unknown_figures),
		cmocka_unit_test(test_status_is_copied_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
