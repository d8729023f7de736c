/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The figures of endurance.h for counters that wrap, begin anew, stand still, change their meaning, or are of pages. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "endurance_fixture.h"

#define GB 1000000000ULL

static void check_unit(size_t count, uint64_t stated, uint64_t bytes)
{
	struct endurance_unit unit;

	endurance_find_unit(points, count, 4096, stated, &unit);
	if (unit.bytes != bytes || unit.foreign)
		fail_msg("%" PRIu64 " B, not %" PRIu64 ": %s", unit.bytes, bytes, unit.how);
}

static void check_waf(size_t count, uint64_t unit_bytes, double value, double half_max, const char *words)
{
	struct endurance_interval waf;

	endurance_waf(points, count, unit_bytes, PHASE_COUNT, &waf);
	if (!(waf.low <= value && value <= waf.high && (waf.high - waf.low) / 2 / value <= half_max))
		fail_msg("%g (%g to %g), not %g: %s", waf.value, waf.low, waf.high, value, waf.how);
	check_says(waf.how, words);
}

/* Both counters modulo 2^@bits, the first time after reading @at, and again whenever they are full. */
static void wrap(size_t count, unsigned bits, size_t at, uint64_t host_step)
{
	const uint64_t mask = (UINT64_C(1) << bits) - 1, begin = mask - at * host_step;

	for (size_t i = 0; i < count; i++) {
		points[i].host_raw = (points[i].host_raw + begin) & mask;
		points[i].media_raw = (points[i].media_raw + begin / 3) & mask;
	}
}

static void test_counters_that_wrap_start_a_new_base(void **state)
{
	static const unsigned bits[] = { 32, 48 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bits); i++) {
		/* 3 GiB between two readings: 2^32 sectors of 512 bytes are full after 683 of them. */
		line(1000, 3 * GIB, 3 * GIB / 512, 6 * GIB / 512);
		wrap(1000, bits[i], 50, 3 * GIB / 512);
		check_unit(1000, 0, 512);
		check_waf(1000, 512, 2, 0.05, "to the flash");
	}
	/* Wrapped at every third reading there are too few that fit together. */
	line(400, 700 * GIB, 700 * GIB / 512, 1400 * GIB / 512);
	wrap(400, 32, 1, 700 * GIB / 512);
	{
		struct endurance_interval waf;
		struct endurance_unit unit;

		endurance_waf(points, 400, 512, PHASE_COUNT, &waf);
		endurance_find_unit(points, 400, 4096, 0, &unit);
		if (!isnan(waf.value) && !(waf.low <= 2 && 2 <= waf.high))
			fail_msg("%g: %s", waf.value, waf.how);
		assert_true(unit.bytes == 512 || unit.bytes == 0);
	}
}

static void test_counters_that_begin_at_0_start_a_new_base(void **state)
{
	(void)state;
	line(300, 10 * GIB, 10 * GIB / 512, 25 * GIB / 512);
	for (size_t i = 100; i < 300; i++) {
		points[i].host_raw = (i - 100) * (10 * GIB / 512);
		points[i].media_raw = (i - 100) * (25 * GIB / 512);
	}
	check_unit(300, 512, 512);
	check_waf(300, 512, 2.5, 0.05, "in 2 stretches between resets");
	/* The host's alone; the flash's goes on. */
	line(300, 10 * GIB, 10 * GIB / 512, 25 * GIB / 512);
	for (size_t i = 100; i < 300; i++)
		points[i].host_raw = (i - 100) * (10 * GIB / 512);
	check_waf(300, 512, 2.5, 0.05, "in 2 stretches between resets");
	/* Each night. */
	line(3000, 10 * GIB, 10 * GIB / 512, 25 * GIB / 512);
	for (size_t i = 0; i < 3000; i++) {
		points[i].host_raw = i % 300 * (10 * GIB / 512);
		points[i].media_raw = i % 300 * (25 * GIB / 512);
	}
	check_unit(3000, 0, 512);
	check_waf(3000, 512, 2.5, 0.05, "in 10 stretches between resets");
}

static void test_counters_that_move_once_an_hour(void **state)
{
	(void)state;
	line(60 * 40, 3 * GIB, 0, 0);
	for (size_t i = 0; i < 60 * 40; i++) {
		size_t hour = (i + 13) / 60 * 60;

		points[i].host_raw = 1000 + hour * (3 * GIB / 512);
		points[i].media_raw = 9000 + hour * (9 * GIB / 512);
	}
	check_unit(60 * 40, 0, 512);
	check_waf(60 * 40, 512, 3, 0.05, "to the flash");
	/* And within the first hours nothing is claimed. */
	{
		struct endurance_interval waf;

		endurance_waf(points, 100, 512, PHASE_COUNT, &waf);
		assert_true(isnan(waf.value));
		check_says(waf.how, "not enough data");
	}
}

static void test_a_mark_that_changes_is_a_new_base(void **state)
{
	static const struct {
		enum endurance_mark mark;
		const char *why;
	} row[] = {
		{ ENDURANCE_MARK_DRIVE, "the health is another drive's" },
		{ ENDURANCE_MARK_FIRMWARE, "the drive's firmware changed" },
		{ ENDURANCE_MARK_HOST_UNIT, "the stated unit of the host-write counter changed" },
		{ ENDURANCE_MARK_MEDIA_UNIT, "the stated unit of the flash-write counter changed" },
		{ ENDURANCE_MARK_HOST_SOURCE, "the host-write counter is another one" },
		{ ENDURANCE_MARK_MEDIA_SOURCE, "the flash-write counter is another one" },
	};
	char why[ENDURANCE_WHY_MAX];

	(void)state;
	assert_int_equal(ARRAY_LEN(row), ENDURANCE_MARK_COUNT);
	assert_int_equal(endurance_base(points, 0, why), 0);
	for (size_t k = 0; k < ARRAY_LEN(row); k++) {
		line(50, GIB, 1, 1);
		assert_int_equal(endurance_base(points, 50, why), 0);
		assert_string_equal(why, "");
		/* Unknown is no other one; known for the first time is none either. */
		for (size_t i = 10; i < 50; i++)
			points[i].marks[row[k].mark] = i < 30 ? 5 : i == 30 || i == 40 ? 0 : 7;
		assert_int_equal(endurance_base(points, 31, why), 0);
		assert_int_equal(endurance_base(points, 32, why), 31);
		assert_string_equal(why, row[k].why);
		assert_int_equal(endurance_base(points, 50, why), 31);
		/* Back again is a change as well. */
		points[49].marks[row[k].mark] = 5;
		assert_int_equal(endurance_base(points, 50, why), 49);
	}
	/* The gravest is told. */
	points[49].marks[ENDURANCE_MARK_FIRMWARE] = 2;
	points[48].marks[ENDURANCE_MARK_FIRMWARE] = 1;
	assert_int_equal(endurance_base(points, 50, why), 49);
	assert_string_equal(why, "the drive's firmware changed");
}

static void test_pages_tell_the_amplification(void **state)
{
	struct endurance_interval waf;

	(void)state;
	line(101, 1000 * MIB, 1000 * MIB / 512, 0);
	for (size_t i = 0; i < 101; i++) {
		points[i].media_raw = UINT64_MAX;
		points[i].host_pages = 77 + i * 64000;
		points[i].media_pages = 1000077 + i * 64000 * 2 + i * 6400;
	}
	check_waf(101, 512, 2.1, 0.0102, "13440000 pages to the flash for 6400000 of the host, 101 readings");
	/* Also when nobody knows the unit of the host's bytes. */
	check_waf(101, 0, 2.1, 0.0102, "of the host");
	/* Bytes to the flash are better. */
	for (size_t i = 0; i < 101; i++)
		points[i].media_raw = 500 + i * 1000 * MIB / 512 * 3;
	check_waf(101, 512, 3, 0.0102, "to the flash for 97.7 GiB of the host");
	/* Pages that the drive programs for nobody, and none at all. */
	for (size_t i = 0; i < 101; i++) {
		points[i].media_raw = UINT64_MAX;
		points[i].host_pages = 77;
	}
	endurance_waf(points, 101, 512, PHASE_COUNT, &waf);
	assert_true(isnan(waf.value));
	for (size_t i = 0; i < 101; i++)
		points[i].host_pages = UINT64_MAX;
	endurance_waf(points, 101, 512, PHASE_COUNT, &waf);
	assert_true(isnan(waf.value));
	check_says(waf.how, "the drive does not tell what it writes to its flash");
}

static void test_the_timed_workload_tells_life_early(void **state)
{
	struct endurance_interval rate, left;

	(void)state;
	/* 10 GB a minute, 1/1024 % each ten minutes: 102.4 TB a percent; and percent-used has not moved. */
	line(600, 10 * GB, 1, 0);
	for (size_t i = 0; i < 600; i++) {
		points[i].percent_used = 30;
		points[i].workload_pct = (1500.0 + (double)(i / 10)) / 1024;
	}
	endurance_life(points, 600, 512, &rate, &left);
	check_near("rate", rate.value, 1 / 102.4, 2e-5);
	check_says(rate.how, "59 steps of the timed workload's wear");
	/* From somewhere within the 31st percent. */
	check_near("left", left.value / TB, 69.5 * 102.4, 15);
	assert_true(left.low <= 69 * 102.4 * TB && left.high >= 70 * 102.4 * TB);
	/* Its owner starts the timer anew: nothing that was before is lost, and nothing is made of the step back. */
	for (size_t i = 300; i < 600; i++)
		points[i].workload_pct = i < 360 ? NAN : (double)((i - 360) / 10) / 1024;
	endurance_life(points, 600, 512, &rate, &left);
	assert_true(rate.low <= 1 / 102.4 && 1 / 102.4 <= rate.high && rate.high < 1.2 / 102.4);
	/* How worn it is only percent-used tells. */
	for (size_t i = 0; i < 600; i++)
		points[i].percent_used = NAN;
	endurance_life(points, 600, 512, &rate, &left);
	assert_true(rate.low <= 1 / 102.4 && 1 / 102.4 <= rate.high);
	assert_true(isnan(left.value) && isnan(left.low));
	check_says(left.how, "the drive does not tell how worn it is");
	/* A timer that does not run. */
	line(2150, 10 * GB, 10, 0);
	wear(2150, 250, 600, 20, 1);
	for (size_t i = 0; i < 2150; i++)
		points[i].workload_pct = 3;
	endurance_life(points, 2150, GB, &rate, &left);
	check_near("by percent-used", rate.value, 3 / 18.0, 1e-9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counters_that_wrap_start_a_new_base),
		cmocka_unit_test(test_counters_that_begin_at_0_start_a_new_base),
		cmocka_unit_test(test_counters_that_move_once_an_hour),
		cmocka_unit_test(test_a_mark_that_changes_is_a_new_base),
		cmocka_unit_test(test_pages_tell_the_amplification),
		cmocka_unit_test(test_the_timed_workload_tells_life_early),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
