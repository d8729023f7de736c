/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/units.h"

#define ARRAY_LEN(array) (sizeof(array) / sizeof((array)[0]))
#define UNTOUCHED	 12345u

struct number_case {
	const char *text;
	int rc;
	uint64_t value; /* UNTOUCHED for a failing row */
};

static void check_rows(
	const struct number_case *row, size_t count, int (*parse)(const char *text, uint64_t *out))
{
	for (size_t i = 0; i < count; i++) {
		uint64_t value = UNTOUCHED;
		int rc = parse(row[i].text, &value);

		if (rc != row[i].rc || value != row[i].value)
			fail_msg("\"%s\": %d, %llu; expected %d, %llu", row[i].text, rc,
				(unsigned long long)value, row[i].rc, (unsigned long long)row[i].value);
	}
}

static void test_bytes_are_whole_and_fit(void **state)
{
	static const struct number_case row[] = {
		{ "0", 0, 0 },
		{ "0B", 0, 0 },
		{ "1", 0, 1 },
		{ "007", 0, 7 },
		{ "512B", 0, 512 },
		{ "512 B", 0, 512 },
		{ "16KiB", 0, 16384 },
		{ "16 KiB", 0, 16384 },
		{ "16kB", 0, 16000 },
		{ "4MiB", 0, 4194304 },
		{ "4MB", 0, 4000000 },
		{ "1.5GiB", 0, 1610612736 },
		{ "1.5 GiB", 0, 1610612736 },
		{ "0.5KiB", 0, 512 },
		{ "0.001kB", 0, 1 },
		{ "1.0", 0, 1 },
		{ "1.00000000000000000000000000B", 0, 1 },
		{ "2TiB", 0, 2199023255552 },
		{ "2TB", 0, 2000000000000 },
		{ "0.000000000001TB", 0, 1 },
		{ "18446744073709551615", 0, UINT64_MAX },
		{ "16777215TiB", 0, 18446742974197923840u },
		{ "16777215.5TiB", 0, 18446743523953737728u },
		{ "18446744073709551616", -ERANGE, UNTOUCHED },
		{ "16777216TiB", -ERANGE, UNTOUCHED },
		{ "18446744073709551615.5KiB", -ERANGE, UNTOUCHED },
		{ "99999999999999999999999999KiB", -ERANGE, UNTOUCHED },
		{ "99999999999999999999999999KiBx", -EINVAL, UNTOUCHED },
		{ "0.1KiB", -EINVAL, UNTOUCHED },
		{ "1.5", -EINVAL, UNTOUCHED },
		{ "1.5B", -EINVAL, UNTOUCHED },
		{ "0.0001kB", -EINVAL, UNTOUCHED },
		{ "0.1234567890123456789KiB", -EINVAL, UNTOUCHED },
		{ "", -EINVAL, UNTOUCHED },
		{ " ", -EINVAL, UNTOUCHED },
		{ "KiB", -EINVAL, UNTOUCHED },
		{ " 1", -EINVAL, UNTOUCHED },
		{ "1 ", -EINVAL, UNTOUCHED },
		{ "16KiB ", -EINVAL, UNTOUCHED },
		{ "16  KiB", -EINVAL, UNTOUCHED },
		{ "16\tKiB", -EINVAL, UNTOUCHED },
		{ "16k", -EINVAL, UNTOUCHED },
		{ "16K", -EINVAL, UNTOUCHED },
		{ "16M", -EINVAL, UNTOUCHED },
		{ "16KB", -EINVAL, UNTOUCHED },
		{ "16kib", -EINVAL, UNTOUCHED },
		{ "16kiB", -EINVAL, UNTOUCHED },
		{ "16PiB", -EINVAL, UNTOUCHED },
		{ "16KiBs", -EINVAL, UNTOUCHED },
		{ "16KiB/s", -EINVAL, UNTOUCHED },
		{ "16s", -EINVAL, UNTOUCHED },
		{ "+1", -EINVAL, UNTOUCHED },
		{ "-1", -EINVAL, UNTOUCHED },
		{ "1.", -EINVAL, UNTOUCHED },
		{ "1.KiB", -EINVAL, UNTOUCHED },
		{ ".5KiB", -EINVAL, UNTOUCHED },
		{ "1,5KiB", -EINVAL, UNTOUCHED },
		{ "1.5.0KiB", -EINVAL, UNTOUCHED },
		{ "1e3", -EINVAL, UNTOUCHED },
		{ "0x10", -EINVAL, UNTOUCHED },
		{ "1_000", -EINVAL, UNTOUCHED },
		{ "inf", -EINVAL, UNTOUCHED },
		{ "nan", -EINVAL, UNTOUCHED },
	};

	(void)state;
	check_rows(row, ARRAY_LEN(row), units_parse_bytes);
}

static void test_durations_are_whole_and_fit(void **state)
{
	static const struct number_case row[] = {
		{ "0", 0, 0 },
		{ "0.0", 0, 0 },
		{ "0s", 0, 0 },
		{ "1ms", 0, NS_PER_MS },
		{ "0.5ms", 0, 500000 },
		{ "0.000001ms", 0, 1 },
		{ "10s", 0, 10 * NS_PER_S },
		{ "10 s", 0, 10 * NS_PER_S },
		{ "1.5s", 0, 1500 * NS_PER_MS },
		{ "90min", 0, 5400 * NS_PER_S },
		{ "1.5h", 0, 5400 * NS_PER_S },
		{ "50h", 0, 180000 * NS_PER_S },
		{ "2d", 0, 172800 * NS_PER_S },
		{ "0.1d", 0, 8640 * NS_PER_S },
		{ "18446744073s", 0, 18446744073000000000u },
		{ "18446744074s", -ERANGE, UNTOUCHED },
		{ "213504d", -ERANGE, UNTOUCHED },
		{ "999999999999999999999h", -ERANGE, UNTOUCHED },
		{ "0.0000001ms", -EINVAL, UNTOUCHED },
		{ "10", -EINVAL, UNTOUCHED },
		{ "0.5", -EINVAL, UNTOUCHED },
		{ "99999999999999999999", -EINVAL, UNTOUCHED },
		{ "10m", -EINVAL, UNTOUCHED },
		{ "10sec", -EINVAL, UNTOUCHED },
		{ "10S", -EINVAL, UNTOUCHED },
		{ "10us", -EINVAL, UNTOUCHED },
		{ "1h30min", -EINVAL, UNTOUCHED },
		{ "1h 30min", -EINVAL, UNTOUCHED },
		{ "10 s ", -EINVAL, UNTOUCHED },
		{ "10  s", -EINVAL, UNTOUCHED },
		{ "0 ", -EINVAL, UNTOUCHED },
		{ "-1s", -EINVAL, UNTOUCHED },
		{ "+1s", -EINVAL, UNTOUCHED },
		{ "s", -EINVAL, UNTOUCHED },
		{ "", -EINVAL, UNTOUCHED },
		{ "10KiB", -EINVAL, UNTOUCHED },
	};

	(void)state;
	check_rows(row, ARRAY_LEN(row), units_parse_duration);
}

static void test_counts_are_digits(void **state)
{
	static const struct number_case row[] = {
		{ "0", 0, 0 },
		{ "42", 0, 42 },
		{ "18446744073709551615", 0, UINT64_MAX },
		{ "18446744073709551616", -ERANGE, UNTOUCHED },
		{ "100000000000000000000", -ERANGE, UNTOUCHED },
		{ "100000000000000000000x", -EINVAL, UNTOUCHED },
		{ "", -EINVAL, UNTOUCHED },
		{ "1.0", -EINVAL, UNTOUCHED },
		{ "1k", -EINVAL, UNTOUCHED },
		{ "16k", -EINVAL, UNTOUCHED },
		{ " 1", -EINVAL, UNTOUCHED },
		{ "1 ", -EINVAL, UNTOUCHED },
		{ "+1", -EINVAL, UNTOUCHED },
		{ "-1", -EINVAL, UNTOUCHED },
		{ "0x50", -EINVAL, UNTOUCHED },
	};

	(void)state;
	check_rows(row, ARRAY_LEN(row), units_parse_count);
}

static void test_percents_have_their_sign(void **state)
{
	static const struct {
		const char *text;
		int rc;
		double pct;
	} row[] = {
		{ "75%", 0, 75 },
		{ "75 %", 0, 75 },
		{ "0%", 0, 0 },
		{ "0.125%", 0, 0.125 },
		{ "99.9%", 0, 99.9 },
		{ "1000%", 0, 1000 },
		{ "7.5000%", 0, 7.5 },
		{ "1000.001%", -ERANGE, -1 },
		{ "99999999999999999999%", -ERANGE, -1 },
		{ "0.1234%", -EINVAL, -1 },
		{ "75", -EINVAL, -1 },
		{ "75%%", -EINVAL, -1 },
		{ "75% ", -EINVAL, -1 },
		{ "75  %", -EINVAL, -1 },
		{ "-5%", -EINVAL, -1 },
		{ "+5%", -EINVAL, -1 },
		{ "%", -EINVAL, -1 },
		{ "", -EINVAL, -1 },
		{ "7,5%", -EINVAL, -1 },
		{ "75KiB", -EINVAL, -1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		double pct = -1;
		int rc = units_parse_percent(row[i].text, &pct);

		if (rc != row[i].rc || fabs(pct - row[i].pct) > 1e-12)
			fail_msg("\"%s\": %d, %g; expected %d, %g", row[i].text, rc, pct, row[i].rc,
				row[i].pct);
	}
}

static void test_exact_texts_use_the_largest_unit(void **state)
{
	static const struct {
		void (*print)(uint64_t value, char *text);
		uint64_t value;
		const char *text;
	} row[] = {
		{ units_print_bytes, 0, "0" },
		{ units_print_bytes, 1, "1B" },
		{ units_print_bytes, 512, "512B" },
		{ units_print_bytes, 1000, "1kB" },
		{ units_print_bytes, 1023, "1023B" },
		{ units_print_bytes, 16384, "16KiB" },
		{ units_print_bytes, 1610612736, "1536MiB" },
		{ units_print_bytes, 2000000000000, "2TB" },
		{ units_print_bytes, 1ULL << 40, "1TiB" },
		{ units_print_bytes, UINT64_MAX, "18446744073709551615B" },
		{ units_print_duration, 0, "0" },
		{ units_print_duration, 1, "0.000001ms" },
		{ units_print_duration, 1500, "0.0015ms" },
		{ units_print_duration, 250 * NS_PER_MS, "250ms" },
		{ units_print_duration, 10 * NS_PER_S, "10s" },
		{ units_print_duration, 5400 * NS_PER_S, "90min" },
		{ units_print_duration, 180000 * NS_PER_S, "50h" },
		{ units_print_duration, 86400 * NS_PER_S, "1d" },
		{ units_print_duration, UINT64_MAX, "18446744073709.551615ms" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		char text[UNITS_TEXT_MAX];

		row[i].print(row[i].value, text);
		assert_string_equal(text, row[i].text);
	}
}

/* Steps of a multiplicative generator: values of every magnitude, the same in every run. */
static void test_exact_texts_read_back(void **state)
{
	uint64_t random = 0x9e3779b97f4a7c15u;

	(void)state;
	for (unsigned i = 0; i < 20000; i++) {
		uint64_t value = random >> i % 64, back = ~value;
		char text[UNITS_TEXT_MAX];

		random = random * 6364136223846793005u + 1442695040888963407u;
		units_print_bytes(value, text);
		assert_int_equal(units_parse_bytes(text, &back), 0);
		assert_true(back == value);
		back = ~value;
		units_print_duration(value, text);
		assert_int_equal(units_parse_duration(text, &back), 0);
		assert_true(back == value);
	}
}

static void test_rounded_texts(void **state)
{
	static const struct {
		void (*print)(double value, char *text);
		double value;
		const char *text;
	} row[] = {
		{ units_print_bytes_rounded, 0, "0 B" },
		{ units_print_bytes_rounded, 512, "512 B" },
		{ units_print_bytes_rounded, 1023, "1023 B" },
		{ units_print_bytes_rounded, 1023.6, "1 KiB" },
		{ units_print_bytes_rounded, 1024, "1 KiB" },
		{ units_print_bytes_rounded, 1536, "1.5 KiB" },
		{ units_print_bytes_rounded, 1.46 * 1024 * 1024 * 1024, "1.46 GiB" },
		{ units_print_bytes_rounded, 14.66 * 1024 * 1024, "14.7 MiB" },
		{ units_print_bytes_rounded, 9.996 * 1024, "10 KiB" },
		{ units_print_bytes_rounded, 99.96 * 1024, "100 KiB" },
		{ units_print_bytes_rounded, 1.05 * 1024, "1.05 KiB" },
		{ units_print_bytes_rounded, 1023.7 * 1024 * 1024, "1 GiB" },
		{ units_print_bytes_rounded, -1536, "-1.5 KiB" },
		{ units_print_bytes_rounded, 580e12, "528 TiB" },
		{ units_print_bytes_rounded, 1e21, "867 EiB" },
		{ units_print_bytes_rounded, 1e300, "unknown" },
		{ units_print_bytes_rounded, NAN, "unknown" },
		{ units_print_bytes_rounded, -INFINITY, "unknown" },
		{ units_print_bytes_decimal, 0, "0 B" },
		{ units_print_bytes_decimal, 999, "999 B" },
		{ units_print_bytes_decimal, 999.6, "1 kB" },
		{ units_print_bytes_decimal, 1000204886016.0, "1 TB" },
		{ units_print_bytes_decimal, 1920383410176.0, "1.92 TB" },
		{ units_print_bytes_decimal, 512110190592.0, "512 GB" },
		{ units_print_bytes_decimal, 67108864, "67.1 MB" },
		{ units_print_bytes_decimal, 1e21, "1000 EB" },
		{ units_print_bytes_decimal, NAN, "unknown" },
		{ units_print_rate_rounded, 412.0 * 1024 * 1024, "412 MiB/s" },
		{ units_print_rate_rounded, 3.2 * 1024 * 1024 * 1024, "3.2 GiB/s" },
		{ units_print_rate_rounded, 0, "0 B/s" },
		{ units_print_rate_rounded, NAN, "unknown" },
		{ units_print_duration_rounded, 0, "0 ns" },
		{ units_print_duration_rounded, 850, "850 ns" },
		{ units_print_duration_rounded, 999.6, "1 \xc2\xb5s" },
		{ units_print_duration_rounded, 42130, "42.1 \xc2\xb5s" },
		{ units_print_duration_rounded, 4.2e6, "4.2 ms" },
		{ units_print_duration_rounded, 999.6e6, "1 s" },
		{ units_print_duration_rounded, 12.345e9, "12.3 s" },
		{ units_print_duration_rounded, 59.96e9, "1 min" },
		{ units_print_duration_rounded, 330e9, "5 min 30 s" },
		{ units_print_duration_rounded, 3599.7e9, "1 h" },
		{ units_print_duration_rounded, 11520e9, "3 h 12 min" },
		{ units_print_duration_rounded, 10800e9, "3 h" },
		{ units_print_duration_rounded, 86399e9, "1 d" },
		{ units_print_duration_rounded, 187200e9, "2 d 4 h" },
		{ units_print_duration_rounded, -330e9, "-5 min 30 s" },
		{ units_print_duration_rounded, 1e19, "115740 d 18 h" },
		{ units_print_duration_rounded, -1e19, "-115740 d 18 h" },
		{ units_print_duration_rounded, 1.1e19, "unknown" },
		{ units_print_duration_rounded, NAN, "unknown" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		char text[UNITS_TEXT_MAX];

		row[i].print(row[i].value, text);
		assert_string_equal(text, row[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes_are_whole_and_fit),
		cmocka_unit_test(test_durations_are_whole_and_fit),
		cmocka_unit_test(test_counts_are_digits),
		cmocka_unit_test(test_percents_have_their_sign),
		cmocka_unit_test(test_exact_texts_use_the_largest_unit),
		cmocka_unit_test(test_exact_texts_read_back),
		cmocka_unit_test(test_rounded_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
