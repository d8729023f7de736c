/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"

#define ARRAY_LEN(array) (sizeof(array) / sizeof((array)[0]))

static void test_text_grows_and_is_given_away(void **state)
{
	struct text text = TEXT_INIT;
	size_t length = 99;
	char *bytes;

	(void)state;
	assert_string_equal(text_string(&text), "");
	for (unsigned i = 0; i < 3000; i++)
		text_addf(&text, "%u,", i % 10);
	assert_int_equal(text.length, 6000);
	assert_memory_equal(text_string(&text) + 5990, "5,6,7,8,9,", 11);
	bytes = text_take(&text, &length);
	assert_int_equal(length, 6000);
	assert_int_equal(strlen(bytes), 6000);
	free(bytes);
	assert_string_equal(text_string(&text), "");
	text_add(&text, "again");
	assert_string_equal(text_string(&text), "again");
	text_fini(&text);
	bytes = text_take(&text, &length);
	assert_int_equal(length, 0);
	assert_string_equal(bytes, "");
	free(bytes);
}

/* Lengths around the capacities, by both ways of adding. */
static void test_text_holds_every_length(void **state)
{
	char block[600];

	(void)state;
	memset(block, 'x', sizeof(block));
	for (size_t length = 0; length < sizeof(block); length++) {
		struct text text = TEXT_INIT;

		text_add_bytes(&text, block, length);
		text_addf(&text, "%.*s", (int)length, block);
		assert_int_equal(text.length, 2 * length);
		assert_int_equal(strlen(text_string(&text)), 2 * length);
		text_fini(&text);
	}
}

static void test_text_remembers_that_memory_was_short(void **state)
{
	struct text text = TEXT_INIT;
	size_t length = 99;

	(void)state;
	text_add(&text, "before");
	text_add_bytes(&text, "x", SIZE_MAX / 2 + 1);
	assert_int_equal(text_error(&text), -ENOMEM);
	text_add(&text, "after");
	text_addf(&text, "%d", 1);
	assert_string_equal(text_string(&text), "");
	assert_null(text_take(&text, &length));
	assert_int_equal(length, 0);
	text_fini(&text);
	text_add_bytes(&text, "x", SIZE_MAX - 1);
	assert_int_equal(text_error(&text), -ENOMEM);
	text_fini(&text);
}

static void test_html_is_escaped(void **state)
{
	struct text text = TEXT_INIT;

	(void)state;
	text_add_html(&text, "<b a=\"1\" c='2'>&amp;</b> \xc3\xa9");
	assert_string_equal(
		text_string(&text), "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;amp;&lt;/b&gt; \xc3\xa9");
	text_fini(&text);
}

static void test_json_structure(void **state)
{
	struct text text = TEXT_INIT;
	struct json json;

	(void)state;
	json_init(&json, &text);
	json_object_open(&json);
	json_put_u64(&json, "a", 1);
	json_key(&json, "list");
	json_array_open(&json);
	json_array_close(&json);
	json_key(&json, "rows");
	json_array_open(&json);
	for (int i = 0; i < 2; i++) {
		json_array_open(&json);
		json_i64(&json, -i);
		json_bool(&json, i);
		json_array_close(&json);
	}
	json_object_open(&json);
	json_object_close(&json);
	json_array_close(&json);
	json_put_null(&json, "none");
	json_put_raw(&json, "raw", "{\"x\":1}");
	json_put_raw(&json, "empty", "");
	json_put_string(&json, "absent", NULL);
	json_put_bool(&json, "no", false);
	json_object_close(&json);
	assert_string_equal(text_string(&text),
		"{\"a\":1,\"list\":[],\"rows\":[[0,false],[-1,true],{}],\"none\":null,\"raw\":{\"x\":1},"
		"\"empty\":null,\"absent\":null,\"no\":false}");
	text_fini(&text);
}

static void check_double(double value, const char *expected)
{
	struct text text = TEXT_INIT;
	struct json json;

	json_init(&json, &text);
	json_double(&json, value);
	assert_string_equal(text_string(&text), expected);
	text_fini(&text);
}

static void test_json_numbers(void **state)
{
	struct text text = TEXT_INIT;
	struct json json;

	(void)state;
	check_double(NAN, "null");
	check_double(INFINITY, "null");
	check_double(-INFINITY, "null");
	check_double(0.1, "0.1");
	check_double(-0.5, "-0.5");
	check_double(0.1 + 0.2, "0.30000000000000004");
	check_double(180000, "180000");
	check_double(1e300, "1e+300");
	check_double(1.5e-7, "1.5e-07");
	check_double(9007199254740993.0, "9007199254740992");
	json_init(&json, &text);
	json_array_open(&json);
	json_u64(&json, JSON_UNKNOWN_U64);
	json_u64(&json, UINT64_MAX - 1);
	json_u64(&json, 0);
	json_i64(&json, INT64_MIN);
	json_array_close(&json);
	assert_string_equal(text_string(&text), "[null,18446744073709551614,0,-9223372036854775808]");
	text_fini(&text);
}

/* Rows for any locale with another decimal sign that the machine has; none is no failure of ours. */
static void test_json_numbers_in_a_foreign_locale(void **state)
{
	static const char *const names[] = { "de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "ps_AF.UTF-8" };
	bool any = false;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (!setlocale(LC_NUMERIC, names[i]))
			continue;
		any = true;
		check_double(0.1, "0.1");
		check_double(-1234.5e-30, "-1.2345e-27");
		check_double(7, "7");
	}
	(void)setlocale(LC_NUMERIC, "C");
	if (!any)
		skip();
}

static void test_json_times(void **state)
{
	static const struct {
		int64_t ms;
		const char *text;
	} row[] = {
		{ 0, "0" },
		{ 1000, "1" },
		{ 1500, "1.500" },
		{ 1, "0.001" },
		{ -1, "-0.001" },
		{ -1000, "-1" },
		{ -1500, "-1.500" },
		{ 1700000000123, "1700000000.123" },
		{ INT64_MIN, "null" },
		{ INT64_MIN + 1, "-9223372036854775.807" },
		{ INT64_MAX, "9223372036854775.807" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		struct text text = TEXT_INIT;
		struct json json;

		json_init(&json, &text);
		json_ms_as_s(&json, row[i].ms);
		assert_string_equal(text_string(&text), row[i].text);
		text_fini(&text);
	}
}

static void test_json_strings_are_escaped_and_repaired(void **state)
{
	static const struct {
		const char *value, *text;
	} row[] = {
		{ "", "\"\"" }, { "a\"b\\c/d", "\"a\\\"b\\\\c/d\"" },
		{ "\n\t\x01\x1f\x7f", "\"\\u000a\\u0009\\u0001\\u001f\\u007f\"" },
		{ "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80",
			"\"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"" },
		{ "\xff", "\"\xef\xbf\xbd\"" }, { "a\x80z", "\"a\xef\xbf\xbdz\"" },
		{ "\xc3", "\"\xef\xbf\xbd\"" }, { "\xe2\x82", "\"\xef\xbf\xbd\xef\xbf\xbd\"" },
		{ "\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\"" },			/* overlong / */
		{ "\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" }, /* surrogate */
		{ "\xf4\x90\x80\x80",
			"\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" }, /* above 10ffff */
		{ "\xc3\"x", "\"\xef\xbf\xbd\\\"x\"" }, /* a cut sequence must not swallow the quote */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		struct text text = TEXT_INIT;
		struct json json;

		json_init(&json, &text);
		json_string(&json, row[i].value);
		assert_string_equal(text_string(&text), row[i].text);
		text_fini(&text);
	}
}

static void test_complaint_pauses_double_from_10_s_to_1_h(void **state)
{
	static const uint64_t pause_s[] = { 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600, 3600 };
	struct log_complaint complaint = { 0 };
	uint64_t suppressed = 99, now_ns = 5 * NS_PER_S;

	(void)state;
	assert_false(log_complaint_clear(&complaint));
	assert_true(log_complaint_raise(&complaint, now_ns, &suppressed));
	assert_int_equal(suppressed, 0);
	for (size_t i = 0; i < ARRAY_LEN(pause_s); i++) {
		assert_false(log_complaint_raise(&complaint, now_ns + 1, &suppressed));
		assert_false(
			log_complaint_raise(&complaint, now_ns + pause_s[i] * NS_PER_S - 1, &suppressed));
		now_ns += pause_s[i] * NS_PER_S;
		suppressed = 99;
		assert_true(log_complaint_raise(&complaint, now_ns, &suppressed));
		assert_int_equal(suppressed, 2);
	}
	assert_true(log_complaint_clear(&complaint));
	assert_false(log_complaint_clear(&complaint));
	/* It starts anew with the short pause. */
	assert_true(log_complaint_raise(&complaint, now_ns, &suppressed));
	assert_int_equal(suppressed, 0);
	assert_true(log_complaint_raise(&complaint, now_ns + 10 * NS_PER_S, &suppressed));
}

/* What log_line() writes while standard error is a file of our own. */
static void log_capture(
	const char *journal_stream, enum log_level level, const char *message, char *out, size_t size)
{
	char stream[64];
	FILE *file = tmpfile();
	int saved = dup(STDERR_FILENO);
	struct stat st;
	ssize_t got;

	assert_non_null(file);
	assert_int_equal(fstat(fileno(file), &st), 0);
	(void)snprintf(stream, sizeof(stream), "%llu:%llu", (unsigned long long)st.st_dev,
		(unsigned long long)st.st_ino);
	(void)setenv("JOURNAL_STREAM", journal_stream ? journal_stream : stream, 1);
	(void)dup2(fileno(file), STDERR_FILENO);
	log_line(level, "%s", message);
	(void)dup2(saved, STDERR_FILENO);
	(void)close(saved);
	(void)unsetenv("JOURNAL_STREAM");
	got = pread(fileno(file), out, size - 1, 0);
	assert_true(got >= 0);
	out[got] = '\0';
	(void)fclose(file);
}

static void test_log_marks_lines_for_the_journal_only(void **state)
{
	char line[4096];

	(void)state;
	log_capture(NULL, LOG_LEVEL_ERROR, "disk full", line, sizeof(line));
	assert_string_equal(line, "<3>disk full\n");
	log_capture(NULL, LOG_LEVEL_INFO, "ready", line, sizeof(line));
	assert_string_equal(line, "<6>ready\n");
	/* The variable is inherited, but standard error went elsewhere. */
	log_capture("1:2", LOG_LEVEL_ERROR, "disk full", line, sizeof(line));
	assert_string_equal(line, "error: disk full\n");
	log_capture("", LOG_LEVEL_WARNING, "hot", line, sizeof(line));
	assert_string_equal(line, "warning: hot\n");
	log_capture("x", LOG_LEVEL_NOTICE, "ready", line, sizeof(line));
	assert_string_equal(line, "ready\n");
}

static void test_log_message_is_one_line(void **state)
{
	char line[4096], message[3000];

	(void)state;
	log_capture("", LOG_LEVEL_INFO, "model \"X\n<0>forged\x1b[2J\"", line, sizeof(line));
	assert_string_equal(line, "model \"X <0>forged [2J\"\n");
	memset(message, 'm', sizeof(message) - 1);
	message[sizeof(message) - 1] = '\0';
	log_capture("", LOG_LEVEL_ERROR, message, line, sizeof(line));
	assert_int_equal(strlen(line), 2047);
	assert_memory_equal(line, "error: mmm", 10);
	assert_memory_equal(line + 2044, "mm\n", 4);
}

static uint64_t fake_mono_ns(void)
{
	return 11;
}

static uint64_t fake_boot_ns(void)
{
	return 22;
}

static int64_t fake_wall_ns(void)
{
	return 1700000000123999999;
}

static void test_clock_can_be_replaced(void **state)
{
	static const struct clock_source fake = { fake_mono_ns, fake_boot_ns, fake_wall_ns };
	uint64_t mono_ns;

	(void)state;
	clock_replace(&fake);
	assert_int_equal(clock_mono_ns(), 11);
	assert_int_equal(clock_boot_ns(), 22);
	assert_int_equal(clock_wall_ns(), 1700000000123999999);
	assert_int_equal(clock_wall_ms(), 1700000000123);
	clock_replace(NULL);
	mono_ns = clock_mono_ns();
	assert_true(mono_ns > 11);
	assert_true(clock_mono_ns() >= mono_ns);
	assert_true(clock_boot_ns() >= mono_ns);
	assert_true(clock_wall_ms() > 1600000000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text_grows_and_is_given_away),
		cmocka_unit_test(test_text_holds_every_length),
		cmocka_unit_test(test_text_remembers_that_memory_was_short),
		cmocka_unit_test(test_html_is_escaped),
		cmocka_unit_test(test_json_structure),
		cmocka_unit_test(test_json_numbers),
		cmocka_unit_test(test_json_numbers_in_a_foreign_locale),
		cmocka_unit_test(test_json_times),
		cmocka_unit_test(test_json_strings_are_escaped_and_repaired),
		cmocka_unit_test(test_complaint_pauses_double_from_10_s_to_1_h),
		cmocka_unit_test(test_log_marks_lines_for_the_journal_only),
		cmocka_unit_test(test_log_message_is_one_line),
		cmocka_unit_test(test_clock_can_be_replaced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
