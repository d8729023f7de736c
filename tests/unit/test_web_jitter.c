/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "archive_fixture.h"
#include "base/flat.h"
#include "web/number.h"
#include "web/svg_jitter.h"

#define MIB   1048576.0
#define COUNT 2000

static int64_t times[COUNT];
static double rates[COUNT];

/* Around 100 MiB/s, every hundredth sample at 20, three real zeros. */
static struct svg_jitter_column make_column(const char *run, const char *name)
{
	uint64_t seed = 7;

	for (int i = 0; i < COUNT; i++) {
		times[i] = FIXTURE_START_MS + i * 10000;
		rates[i] = (95 + (double)fixture_random(&seed, 10)) * MIB;
		if (i % 100 == 50)
			rates[i] = 20 * MIB;
		if (i < 3)
			rates[i] = 0;
	}
	return (struct svg_jitter_column){ .run = run,
		.name = name,
		.colour = 2,
		.t_ms = times,
		.bytes_per_s = rates,
		.count = COUNT,
		.median = 99 * MIB,
		.p1 = 20 * MIB,
		.cv = 0.1234,
		.stalled_s = 30 };
}

static unsigned count(const char *text, const char *part)
{
	unsigned found = 0;

	for (; (text = strstr(text, part)); text++)
		found++;
	return found;
}

/* Dots of the path of a class: one "h0" each. */
static unsigned count_dots(const char *svg, const char *start)
{
	const char *path = strstr(svg, start), *end;
	unsigned dots = 0;

	if (!path)
		return 0;
	end = strstr(path, "/>");
	for (; path < end; path++)
		dots += strncmp(path, "h0", 2) == 0;
	return dots;
}

static void test_the_same_samples_give_the_same_bytes(void **state)
{
	struct svg_jitter_column column = make_column("evo-1", "evo");
	struct text first = TEXT_INIT, again = TEXT_INIT, other = TEXT_INIT;

	(void)state;
	svg_jitter_document(&column, 1, 1000, &first);
	svg_jitter_document(&column, 1, 1000, &again);
	column.run = "evo-2";
	svg_jitter_document(&column, 1, 1000, &other);
	assert_int_equal(first.length, again.length);
	assert_memory_equal(first.bytes, again.bytes, first.length);
	assert_string_not_equal(text_string(&first), text_string(&other));
	text_fini(&first);
	text_fini(&again);
	text_fini(&other);
}

static void test_every_sample_is_a_dot_and_zeros_are_red(void **state)
{
	struct svg_jitter_column column = make_column("evo-1", "evo");
	struct text svg = TEXT_INIT;

	(void)state;
	svg_jitter_inline(&column, 1, &svg);
	assert_int_equal(count_dots(text_string(&svg), "<path class=\"jit some s2\""), COUNT - 3);
	assert_int_equal(count_dots(text_string(&svg), "<path class=\"zero\""), 3);
	text_fini(&svg);
	/* A run of a minute: fewer dots, but large ones. */
	column.count = 60;
	svg_jitter_inline(&column, 1, &svg);
	assert_int_equal(count_dots(text_string(&svg), "<path class=\"jit few s2\""), 60 - 3);
	text_fini(&svg);
	column.count = COUNT;
	svg_jitter_inline(&column, 1, &svg);
	/* The numbers stand at the lines, n and CV below. */
	assert_non_null(strstr(text_string(&svg), ">99.0<"));
	assert_non_null(strstr(text_string(&svg), ">p1 20.0<"));
	assert_non_null(strstr(text_string(&svg), ">12.3<"));
	assert_non_null(strstr(text_string(&svg), ">30 s<"));
	assert_non_null(strstr(text_string(&svg), ">2\xe2\x80\xaf"
						  "000<"));
	/* Inline it lives under a policy without styles. */
	assert_null(strstr(text_string(&svg), "style"));
	text_fini(&svg);
	/* What a log does not tell. */
	column.stalled_s = column.cv = NAN;
	svg_jitter_inline(&column, 1, &svg);
	assert_int_equal(count(text_string(&svg), ">?<"), 2);
	assert_null(strstr(text_string(&svg), "> s<"));
	text_fini(&svg);
}

static void test_the_axis_falls_on_round_values(void **state)
{
	static const struct {
		double max_mib;
		const char *top, *step;
	} rows[] = {
		{ 104, "120", "20" },
		{ 1, "1.0", "0.2" },
		{ 1000,
			"1\xe2\x80\xaf"
			"000",
			"200" },
		{ 3, "3.0", "0.5" },
		{ 8, "8", "1" },
		{ 0, "1.0", "0.2" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		double rate = rows[i].max_mib * MIB;
		int64_t t_ms = FIXTURE_START_MS;
		struct svg_jitter_column column = { .run = "r",
			.name = "n",
			.colour = 1,
			.t_ms = &t_ms,
			.bytes_per_s = &rate,
			.count = 1,
			.median = rate,
			.p1 = rate,
			.cv = 0 };
		struct text svg = TEXT_INIT, label = TEXT_INIT;

		svg_jitter_inline(&column, 1, &svg);
		text_addf(&label, "y=\"24.0\" text-anchor=\"end\">%s<", rows[i].top);
		assert_non_null(strstr(text_string(&svg), text_string(&label)));
		text_fini(&label);
		text_addf(&label, "text-anchor=\"end\">%s<", rows[i].step);
		assert_non_null(strstr(text_string(&svg), text_string(&label)));
		text_fini(&label);
		text_fini(&svg);
	}
}

static void test_names_are_text(void **state)
{
	struct svg_jitter_column column = make_column("evo-1", "<script>alert(1)</script>\"&'");
	struct text svg = TEXT_INIT;

	(void)state;
	svg_jitter_document(&column, 1, 1000, &svg);
	svg_jitter_inline(&column, 1, &svg);
	assert_null(strstr(text_string(&svg), "<script"));
	assert_int_equal(
		count(text_string(&svg), "&lt;script&gt;alert(1)&lt;/script&gt;&quot;&amp;&#39;"), 4);
	text_fini(&svg);
}

static void test_a_run_without_samples_has_its_column(void **state)
{
	struct svg_jitter_column columns[2] = { make_column("evo-1", "evo"),
		{ .run = "x", .name = "empty", .colour = 1, .median = NAN, .p1 = NAN, .cv = NAN } };
	struct text svg = TEXT_INIT;

	(void)state;
	svg_jitter_inline(columns, 2, &svg);
	assert_non_null(strstr(text_string(&svg), ">empty<"));
	assert_non_null(strstr(text_string(&svg), "empty no samples"));
	assert_null(strstr(text_string(&svg), "nan"));
	assert_int_equal(count(text_string(&svg), "class=\"med\""), 1);
	text_fini(&svg);
}

static void test_a_host_limited_column_is_grey_and_says_so(void **state)
{
	struct svg_jitter_column columns[2] = { make_column("evo-1", "evo"), make_column("pro-1", "pro") };
	struct text svg = TEXT_INIT;

	(void)state;
	svg_jitter_inline(columns, 2, &svg);
	assert_int_equal(count(text_string(&svg), "host-limited"), 0);
	assert_int_equal(count(text_string(&svg), "height=\"494\""), 3);
	text_fini(&svg);
	columns[1].is_host_limited = true;
	svg_jitter_inline(columns, 2, &svg);
	assert_int_equal(count(text_string(&svg), "<path class=\"jit some s2 lim\""), 1);
	assert_int_equal(count(text_string(&svg), "<path class=\"jit some s2\""), 1);
	assert_int_equal(count(text_string(&svg), ">host-limited<"), 1);
	assert_int_equal(count(text_string(&svg), "CV 12.3 %, host-limited"), 1);
	assert_int_equal(count(text_string(&svg), "height=\"509\""), 3); /* room for the words */
	text_fini(&svg);
}

static void test_many_samples_are_thinned_but_not_the_worst(void **state)
{
	enum { MANY = 30000 };
	static int64_t t_ms[MANY];
	static double rate[MANY];
	struct svg_jitter_column column = { .run = "r",
		.name = "n",
		.colour = 1,
		.t_ms = t_ms,
		.bytes_per_s = rate,
		.count = MANY,
		.median = 100 * MIB,
		.p1 = 10 * MIB,
		.cv = 0.1 };
	struct text svg = TEXT_INIT;
	unsigned dots, low = 0;

	(void)state;
	for (int i = 0; i < MANY; i++) {
		t_ms[i] = FIXTURE_START_MS + i * 1000;
		rate[i] = (i % 100 == 7 ? 10 : 100) * MIB;
		low += i % 100 == 7;
	}
	svg_jitter_inline(&column, 1, &svg);
	dots = count_dots(text_string(&svg), "<path class=\"jit s1\"");
	assert_in_range(dots, 8700 + low, 9300 + low);
	text_fini(&svg);
}

static void test_numbers_are_written_for_people(void **state)
{
	static const struct {
		double value;
		int decimals;
		const char *text;
	} rows[] = {
		{ 1234567.891, 2,
			"1\xe2\x80\xaf"
			"234\xe2\x80\xaf"
			"567.89" },
		{ 999, 0, "999" },
		{ 1000, 0,
			"1\xe2\x80\xaf"
			"000" },
		{ -1234, 0,
			"-1\xe2\x80\xaf"
			"234" },
		{ 0, 0, "0" },
		{ NAN, 1, "" },
		{ INFINITY, 0, "" },
	};
	char text[NUMBER_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		number_print(rows[i].value, rows[i].decimals, text);
		assert_string_equal(text, rows[i].text);
	}
	number_print_mib(99.96 * MIB, text);
	assert_string_equal(text, "100");
	number_print_mib(9.996 * MIB, text);
	assert_string_equal(text, "10.0");
	number_print_mib(0, text);
	assert_string_equal(text, "0");
	number_print_ms(UINT64_MAX, text);
	assert_string_equal(text, "");
	number_print_ms(1234567, text);
	assert_string_equal(text, "1.23");
	number_print_time(FIXTURE_START_MS, text);
	assert_string_equal(text, "2026-11-30 21:50:00");
	number_print_time(INT64_MIN, text);
	assert_string_equal(text, "");
}

static void collect(const char *key, const char *value, void *arg)
{
	text_addf(arg, "%s=%s;", key, value);
}

static void test_flat_objects(void **state)
{
	static const struct {
		const char *json, *members;
		int rc;
	} rows[] = {
		{ "{}", "", 0 },
		{ " { \"a\" : 1 , \"b\":\"x\\\"y\\u00e9\\n\" ,\"c\":null} ", "a=1;b=x\"y\xc3\xa9\n;c=;", 0 },
		{ "{\"n\":{\"x\":[1,\"}\\\"\"]},\"z\":true}", "n={\"x\":[1,\"}\\\"\"]};z=true;", 0 },
		{ "", "", -22 },
		{ "[1]", "", -22 },
		{ "{\"a\":1", "a=1;", -22 },
		{ "{\"a\":\"1", "", -22 },
		{ "{\"a\"}", "", -22 },
		{ "{\"a\":}", "", -22 },
		{ "{\"a\":1,}", "a=1;", 0 },
		{ "{\"a\":\"\\x\"}", "", -22 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct text members = TEXT_INIT;

		assert_int_equal(flat_each(rows[i].json, collect, &members), rows[i].rc);
		assert_string_equal(text_string(&members), rows[i].members);
		text_fini(&members);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_same_samples_give_the_same_bytes),
		cmocka_unit_test(test_every_sample_is_a_dot_and_zeros_are_red),
		cmocka_unit_test(test_the_axis_falls_on_round_values),
		cmocka_unit_test(test_names_are_text),
		cmocka_unit_test(test_a_run_without_samples_has_its_column),
		cmocka_unit_test(test_a_host_limited_column_is_grey_and_says_so),
		cmocka_unit_test(test_many_samples_are_thinned_but_not_the_worst),
		cmocka_unit_test(test_numbers_are_written_for_people),
		cmocka_unit_test(test_flat_objects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
