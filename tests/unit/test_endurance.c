/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The figures of endurance.h: single cases whose numbers are done by hand, then simulated drives whose truth is known.
 * DRIVESOAK_LONG=1 (make check-long): ten times the drives. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#include "endurance_fixture.h"
#include "simulated_drive.h"

static void check_unit(size_t count, uint64_t stated, uint64_t bytes, const char *words)
{
	struct endurance_unit unit;

	endurance_find_unit(points, count, 4096, stated, &unit);
	if (unit.bytes != bytes)
		fail_msg("%" PRIu64 " B, not %" PRIu64 ": %s", unit.bytes, bytes, unit.how);
	check_says(unit.how, words);
}

static void test_every_unit_is_found_by_its_slope(void **state)
{
	/* The bytes between two readings, and by how much the counter grows. */
	static const struct {
		uint64_t bytes, step, unit;
	} row[] = {
		{ 512 * 40000, 40000, 512 }, { 512000 * 300, 300, 512000 }, { MIB * 100, 100, MIB },
		{ 32 * MIB * 10, 10, 32 * MIB }, { GIB * 10, 10, GIB }, { 10000000000, 10, 1000000000 },
		{ 4096 * 10000, 10000, 4096 }, { 65536 * 10000, 10000, 65536 }, /* only where it is stated */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		line(30, row[i].bytes, row[i].step, 0);
		check_unit(30, row[i].unit, row[i].unit, ", as stated");
		check_unit(7, row[i].unit, 0, "too little data: 7 of 8 readings");
		if (i + 1 < ARRAY_LEN(row)) {
			check_unit(30, 0, row[i].unit, "found by measuring");
			check_unit(30, 2000, row[i].unit, "; 2000 B are stated, which is wrong");
		}
	}
}

static void test_a_gib_and_a_billion_bytes_take_time_to_tell(void **state)
{
	struct endurance_unit unit;

	(void)state;
	line(100, GIB, 1, 0);
	endurance_find_unit(points, 21, 512, GIB, &unit);
	assert_true(unit.bytes == 0 && !unit.foreign);
	assert_int_equal(unit.stated, ENDURANCE_UNCHECKED);
	/* 20 edges span 19 GiB; one unit and no scatter are 3 % of 33.3 GiB. */
	check_near("more", unit.more_bytes / (double)GIB, 100.0 / 3 - 19, 0.01);
	check_says(
		unit.how, "by 20; about 14.3 GiB more must be written; 1073741824 B are stated, not checked");
	endurance_find_unit(points, 36, 512, GIB, &unit);
	assert_true(unit.bytes == GIB && unit.more_bytes <= 0);
	assert_int_equal(unit.stated, ENDURANCE_CONFIRMED);
	endurance_find_unit(points, 36, 512, 1000000000, &unit);
	assert_true(unit.bytes == GIB);
	assert_int_equal(unit.stated, ENDURANCE_CONTRADICTED);
}

static void test_a_unit_that_is_not_there_is_not_found(void **state)
{
	struct endurance_unit unit;

	(void)state;
	line(50, 100 * 100 * MIB, 100, 0);
	endurance_find_unit(points, 50, 4096, 512, &unit);
	assert_true(unit.foreign && unit.bytes == 0);
	check_says(unit.how, "no unit fits: 100 MiB were written for each step of the counter");
	/* Another disk's, and that is idle. */
	line(200, GIB, 0, 0);
	endurance_find_unit(points, 200, 4096, 0, &unit);
	assert_true(unit.foreign && unit.bytes == 0);
	check_says(unit.how, "the counter stood still while 199 GiB were written");
	/* Or a drive that is slow to count. */
	endurance_find_unit(points, 180, 4096, 0, &unit);
	assert_true(!unit.foreign && unit.bytes == 0);
	check_says(unit.how, "too little data: the counter moved at 0 of 180 readings");
	/* Nothing was written, and little was. */
	line(50, 0, 0, 0);
	check_unit(50, 0, 0, "about 33.3 GiB more must be written");
	line(50, 100 * KIB, 200, 0);
	check_unit(50, 0, 0, "about 11.2 MiB more must be written");
}

static void test_counts_that_are_none_are_not_counted(void **state)
{
	static const uint64_t none[] = { UINT64_MAX, 0, 0xffff, 0xffffffff, 0xffffffffffff };

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(none); k++) {
		line(50, MIB * 100, 100, 0);
		for (size_t i = 0; i < 50; i++)
			points[i].host_raw = none[k];
		check_unit(50, 0, 0, "not known: the drive does not tell what the host wrote");
		/* Now and then, and two in a row. */
		line(50, MIB * 100, 100, 0);
		points[0].host_raw = points[7].host_raw = points[8].host_raw = points[49].host_raw = none[k];
		check_unit(50, 0, MIB, "over 4700 steps at 46 readings");
	}
	line(50, MIB * 100, 100, 0);
	for (size_t i = 0; i < 50; i++)
		points[i].disk_written_bytes = UINT64_MAX;
	check_unit(50, MIB, 0,
		"not known: what was written to the whole disk is unknown; 1048576 B are stated, not "
		"checked");
}

static void test_the_unit_outlives_resets_restarts_and_bad_readings(void **state)
{
	(void)state;
	line(60, GIB * 4, 4, 0);
	for (size_t i = 30; i < 60; i++)
		points[i].host_raw -= 1100;
	check_unit(60, 0, GIB, "over 232 steps at 60 readings");
	line(60, GIB * 4, 4, 0);
	for (size_t i = 20; i < 60; i++)
		points[i].disk_written_bytes -= 20 * 4 * GIB;
	check_unit(60, 0, GIB, "over 232 steps at 60 readings");
	/* Restarted, and already past what it was: ours says so. */
	line(60, GIB * 4, 4, 0);
	for (size_t i = 2; i < 60; i++)
		points[i].disk_written_bytes -= 6 * GIB;
	check_unit(60, 0, GIB, "over 232 steps at 60 readings");
	line(60, GIB * 4, 4, 0);
	points[11].host_raw = 77;
	points[33].host_raw = 1ULL << 40;
	check_unit(60, 0, GIB, "over 236 steps at 58 readings");
}

static void test_a_counter_that_moves_once_an_hour_is_waited_for(void **state)
{
	(void)state;
	line(60 * 40, GIB, 1, 0);
	for (size_t i = 0; i < 60 * 40; i++)
		points[i].host_raw = 1000 + (i + 13) / 60 * 60;
	check_unit(60 * 40, 0, GIB, "over 2400 steps at 2400 readings");
	check_unit(150, 0, 0, "the counter moved at 2 of 150 readings");
}

static void test_other_writers_are_told(void **state)
{
	struct endurance_unit unit;

	(void)state;
	line(50, GIB, 1024, 0);
	for (size_t i = 0; i < 50; i++)
		points[i].own_written_bytes = i * GIB / 1021 * 1000;
	endurance_find_unit(points, 50, 4096, 0, &unit);
	assert_true(unit.bytes == MIB && unit.other_writers);
	check_says(unit.how, "; others wrote 2 % of the disk's bytes");
	for (size_t i = 0; i < 50; i++)
		points[i].own_written_bytes = i * GIB / 1019 * 1000;
	endurance_find_unit(points, 50, 4096, 0, &unit);
	assert_true(unit.bytes == MIB && !unit.other_writers);
	for (size_t i = 0; i < 50; i++)
		points[i].own_written_bytes = UINT64_MAX;
	endurance_find_unit(points, 50, 4096, 0, &unit);
	assert_true(unit.bytes == MIB && !unit.other_writers);
}

static void check_waf(
	const char *name, enum run_phase phase, size_t count, double value, double half, const char *words)
{
	struct endurance_interval waf;

	endurance_waf(points, count, MIB, phase, &waf);
	if (isnan(value) != isnan(waf.value))
		fail_msg("%s: %g, not %g: %s", name, waf.value, value, waf.how);
	if (!isnan(value)) {
		check_near(name, waf.value, value, 1e-9);
		check_near(name, (waf.high - waf.low) / 2 / waf.value, half, half / 100);
	}
	check_says(waf.how, words);
}

static void test_waf_is_flash_over_host_with_what_the_ends_are_off(void **state)
{
	(void)state;
	/* 100 gaps of 1000 MiB: a unit of each and one gap between the two ends. */
	line(101, 1000 * MIB, 1000, 2500);
	check_waf("2.5", PHASE_COUNT, 101, 2.5, 1001e-5 + 0.4e-5,
		"244 GiB to the flash for 97.7 GiB of the host");
	check_waf("soak", PHASE_SOAK, 101, 2.5, 1001e-5 + 0.4e-5, "101 readings");
	check_waf("fill", PHASE_FILL, 101, NAN, NAN, "not enough data: 0 readings");
	/* A twentieth of 21 gaps and a bit. */
	check_waf("twenty-one", PHASE_COUNT, 22, 2.5, 1001.4 / 21000, "22 readings");
	check_waf("twenty", PHASE_COUNT, 21, NAN, NAN,
		"not enough data: 19.5 GiB counted at 21 readings, about 28 MiB more");
	/* The flash counter has its own unit. */
	for (size_t i = 0; i < 101; i++) {
		points[i].media_shares_unit = false;
		points[i].media_unit_bytes = 32 * MIB;
	}
	check_waf("80", PHASE_COUNT, 101, 80, 1001e-5 + 0.4e-5, "to the flash");
	line(101, 1000 * MIB, 1000, 700);
	check_waf("0.7", PHASE_COUNT, 101, 0.7, 1001e-5 + 1 / 0.7 * 1e-5, "less than 1");
	line(101, 1000 * MIB, 1000, 200000);
	check_waf("200", PHASE_COUNT, 101, NAN, NAN, "200 can't be");
}

static void test_reading_slowly_widens_the_waf(void **state)
{
	(void)state;
	line(101, 1000 * MIB, 1000, 2500);
	for (size_t i = 0; i < 101; i++)
		points[i].read_ms = 6000; /* a tenth of the gap, at both ends */
	check_waf("6 s", PHASE_COUNT, 101, 2.5, 1201e-5 + 0.4e-5, "to the flash");
}

static void test_waf_sums_its_bases_and_keeps_phases_apart(void **state)
{
	(void)state;
	line(201, 1000 * MIB, 1000, 3000);
	for (size_t i = 100; i < 201; i++) {
		points[i].host_raw -= 99 * 1000 + 500;
		points[i].media_raw -= 99 * 3000 + 1500;
	}
	/* Of 200 gaps one is not seen, and the ends are four. */
	check_waf("reset", PHASE_COUNT, 201, 3, (2002 + 2 / 3.0) / 199000 + 0.8 / 200,
		"583 GiB to the flash for 194 GiB of the host, 201 readings, in 2 stretches between resets");
	line(201, 1000 * MIB, 1000, 1000);
	for (size_t i = 0; i < 201; i++) {
		points[i].phase = i < 100 ? PHASE_FILL : PHASE_SOAK;
		points[i].media_raw += i > 100 ? (i - 100) * 3000 : 0;
	}
	check_waf("fill", PHASE_FILL, 201, 1, 1002.0 / 99000, "100 readings");
	check_waf("soak", PHASE_SOAK, 201, 4, 1001.25 / 100000, "101 readings");
	check_waf("all", PHASE_COUNT, 201, 2.5, 1001.4 / 200000, "201 readings");
}

static void test_waf_says_what_is_missing(void **state)
{
	struct endurance_interval waf;

	(void)state;
	line(101, 1000 * MIB, 1000, 2500);
	endurance_waf(points, 101, 0, PHASE_COUNT, &waf);
	assert_true(isnan(waf.value) && isnan(waf.low) && isnan(waf.high));
	assert_string_equal(waf.how, "the unit of the host-write counter is not known");
	for (size_t i = 0; i < 101; i++)
		points[i].media_shares_unit = false;
	check_waf("unit", PHASE_COUNT, 101, NAN, NAN, "the unit of the flash-write counter is not known");
	for (size_t i = 0; i < 101; i++)
		points[i].media_raw = 0;
	check_waf("none", PHASE_COUNT, 101, NAN, NAN, "the drive does not tell what it writes to its flash");
	endurance_waf(points, 0, MIB, PHASE_COUNT, &waf);
	assert_true(isnan(waf.value));
	line(1, 1, 1, 1);
	check_waf("one", PHASE_COUNT, 1, NAN, NAN, "not enough data: 1 readings");
}

static void test_life_is_counted_between_the_steps(void **state)
{
	struct endurance_interval rate, left, at;
	double uneven;

	(void)state;
	/* 10^10 B a minute; steps at 250, 850, 1450 and 2050: 3 % in 18 TB, each known within 61 minutes. */
	line(2150, 10000000000, 10, 0);
	wear(2150, 250, 600, 20, 1);
	endurance_life(points, 2150, 1000000000, &rate, &left);
	check_near("rate", rate.value, 3 / 18.0, 1e-9);
	check_near("low", rate.low, 3 / 18.61, 1e-9);
	check_near("high", rate.high, 3 / 17.39, 1e-9);
	/* 24 % since 30.5 minutes before reading 2050, and 99 were since; the steps were even, which three spans prove
	 * only by half. */
	uneven = 0.22 * 0.76 + 1.7 * sqrt(2 * 0.2 * 0.2 / (2 + 3 - 1)) / sqrt(3);
	check_near("left", left.value / TB, 76 * 6 - 1.295, 1e-6);
	check_near("left low", left.low / TB, 76 * 6 / (1 + hypot(uneven, 0.61 / 18)) - 1.6, 1e-6);
	check_near("left high", left.high / TB, 76 * 6 * (1 + hypot(uneven, 0.61 / 18)) - 0.99, 1e-6);
	check_says(rate.how, "3 % over 18 TB between 4 steps");
	check_says(left.how, "24 % used, 0.167 % a TB by 4 steps; 31 % allowed for wear that is not even");
	endurance_life_at(&left, 1e8, &at);
	check_near("seconds", at.value, left.value / 1e8, 1);
	check_near("seconds low", at.low, left.low / 1e8, 1);
	check_near("seconds high", at.high, left.high / 1e8, 1);
	check_says(at.how, "at 95.4 MiB/s: 24 % used");
	endurance_life_at(&left, 0, &at);
	assert_true(isnan(at.value) && isnan(at.high));
	/* By the counter where nobody knows the disk's bytes. */
	for (size_t i = 0; i < 2150; i++)
		points[i].disk_written_bytes = points[i].own_written_bytes = UINT64_MAX;
	endurance_life(points, 2150, 1000000000, &rate, &left);
	check_near("by the counter", rate.value, 3 / 18.0, 1e-6);
}

static void test_life_takes_two_steps(void **state)
{
	struct endurance_interval rate, left, at;

	(void)state;
	line(2000, 10000000000, 10, 0);
	wear(2000, 300, 600, 20, 1);
	endurance_life(points, 900, 0, &rate, &left);
	assert_true(isnan(rate.value) && isnan(left.value) && isnan(left.low));
	check_says(left.how, "not enough data: percent-used stepped 1 times in 8.99 TB, it takes two steps");
	endurance_life_at(&left, 1e9, &at);
	assert_true(isnan(at.value));
	check_says(at.how, "it takes two steps");
	endurance_life(points, 901, 0, &rate, &left);
	check_near("two", rate.value, 1 / 6.0, 1e-9);
	/* Twice in an hour's update: the moments are as far apart as they are unknown. */
	wear(2000, 300, 45, 20, 1);
	endurance_life(points, 346, 0, &rate, &left);
	assert_true(isnan(rate.value));
	check_says(rate.how, "too near to each other to tell");
	wear(2000, 300, 600, NAN, 1);
	endurance_life(points, 2000, 0, &rate, &left);
	assert_true(isnan(rate.value));
	check_says(left.how, "the drive does not tell how worn it is");
	endurance_life(points, 0, 0, &rate, &left);
	assert_true(isnan(rate.value) && isnan(left.value));
}

static void test_steps_of_more_than_one_and_backwards(void **state)
{
	struct endurance_interval rate, left;

	(void)state;
	line(3000, 10000000000, 10, 0);
	wear(3000, 300, 600, 20, 5);
	endurance_life(points, 3000, 0, &rate, &left);
	check_near("fives", rate.value, 5 / 6.0, 1e-9);
	/* A reading that says less, and one that says more, for a moment. */
	wear(3000, 300, 600, 20, 1);
	points[1100].percent_used = points[1101].percent_used = 20;
	points[1700].percent_used = 24;
	endurance_life(points, 3000, 0, &rate, &left);
	check_near("flicker", rate.value, 1 / 6.0, 1e-9);
	check_says(rate.how, "4 % over 24 TB between 5 steps");
	/* For good: the drive thinks anew, and what it wore until then counts. */
	for (size_t i = 1600; i < 3000; i++)
		points[i].percent_used -= 7;
	endurance_life(points, 3000, 0, &rate, &left);
	check_says(rate.how, "3 % over 18 TB between 5 steps");
	check_near("anew", rate.value, 1 / 6.0, 1e-9);
	check_says(left.how, "18 % used");
}

static void test_beyond_the_rating_nothing_is_left(void **state)
{
	struct endurance_interval rate, left;

	(void)state;
	line(2000, 10000000000, 10, 0);
	wear(2000, 300, 600, 101, 1);
	endurance_life(points, 2000, 0, &rate, &left);
	check_near("rate", rate.value, 1 / 6.0, 1e-9);
	assert_true(left.value <= 0 && left.low <= 0 && left.high <= 0);
	check_says(left.how, "104 % of the rated life are used");
	endurance_life(points, 100, 0, &rate, &left);
	assert_true(isnan(rate.value) && left.value <= 0);
}

static void test_life_outlives_a_restart_of_the_machine(void **state)
{
	struct endurance_interval rate, left;

	(void)state;
	line(3000, 10000000000, 10, 0);
	wear(3000, 300, 600, 20, 1);
	for (size_t i = 1200; i < 3000; i++)
		points[i].disk_written_bytes -= 12000000000000;
	endurance_life(points, 3000, 0, &rate, &left);
	check_near("restart", rate.value, 1 / 6.0, 1e-9);
}

/* Of a campaign: all of it, or a part that takes seconds. */
static unsigned drives(unsigned quick)
{
	const char *value = getenv("DRIVESOAK_LONG");

	return value && strcmp(value, "1") == 0 ? quick * 10 : quick;
}

static void simulate(uint64_t seed, double unit_bytes, struct simulated_drive_options *options,
	struct simulated_drive_truth *truth, size_t *out_count)
{
	simulated_drive_draw(seed, options);
	if (unit_bytes > 0)
		options->unit_bytes = unit_bytes;
	*out_count = simulated_drive_run(options, points, POINTS_MAX, truth);
}

/* At every length of the run; whether it is found at its end. */
static bool is_found(uint64_t seed, uint64_t unit_bytes)
{
	struct simulated_drive_options options;
	struct simulated_drive_truth truth;
	struct endurance_unit unit;
	size_t count, part = 4;

	simulate(seed, (double)unit_bytes, &options, &truth, &count);
	for (;; part = part * 3 / 2 < count ? part * 3 / 2 : count) {
		endurance_find_unit(points, part, 4096, 0, &unit);
		if ((unit.bytes && unit.bytes != unit_bytes) || unit.foreign)
			fail_msg("seed %" PRIu64 ", %" PRIu64 " B: at %zu of %zu readings %s", seed,
				unit_bytes, part, count, unit.how);
		if (part >= count)
			return unit.bytes == unit_bytes;
	}
}

static void test_the_unit_of_simulated_drives_is_never_wrong(void **state)
{
	static const uint64_t units[] = { 512, 512000, MIB, 32 * MIB, GIB, 1000000000, 4096 };
	unsigned count = drives(40);

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(units); k++) {
		unsigned found = 0;

		for (uint64_t seed = 1; seed <= count; seed++)
			found += is_found(seed * 100 + k, units[k]);
		printf("unit of %" PRIu64 " B: found for %u of %u drives, never wrong\n", units[k], found,
			count);
		assert_true(found * 100 >= count * 85);
	}
}

struct tally {
	unsigned told, covered;
	double half_widths;
};

static void tally_add(struct tally *tally, const struct endurance_interval *interval, double truth)
{
	if (isnan(interval->value))
		return;
	tally->told++;
	tally->covered += interval->low <= truth && truth <= interval->high;
	tally->half_widths += (interval->high - interval->low) / 2 / interval->value;
}

/* Least share of the drives that are told a figure, of these that it is right, and most that it is wide; percent. */
static void tally_check(const struct tally *tally, const char *name, unsigned count, double told_min,
	double covered_min, double half_max)
{
	double told = 100.0 * tally->told / count, covered = 100.0 * tally->covered / tally->told;
	double half = 100 * tally->half_widths / tally->told;

	printf("%s: told for %.1f %% of %u drives, covers the truth for %.2f %% of these, +- %.1f %% wide\n",
		name, told, count, covered, half);
	assert_true(told >= told_min);
	assert_true(covered >= covered_min);
	assert_true(half <= half_max);
}

static void test_the_intervals_of_simulated_drives_cover_the_truth(void **state)
{
	struct tally all = { 0 }, fill = { 0 }, soak = { 0 }, rates = { 0 }, lefts = { 0 };
	unsigned count = drives(1000);

	(void)state;
	for (uint64_t seed = 1; seed <= count; seed++) {
		struct simulated_drive_options options;
		struct simulated_drive_truth truth;
		struct endurance_interval interval, left;
		size_t n;

		simulate(seed, 0, &options, &truth, &n);
		endurance_waf(points, n, (uint64_t)options.unit_bytes, PHASE_COUNT, &interval);
		tally_add(&all, &interval, truth.waf[PHASE_COUNT]);
		endurance_waf(points, n, (uint64_t)options.unit_bytes, PHASE_FILL, &interval);
		tally_add(&fill, &interval, truth.waf[PHASE_FILL]);
		endurance_waf(points, n, (uint64_t)options.unit_bytes, PHASE_SOAK, &interval);
		tally_add(&soak, &interval, truth.waf[PHASE_SOAK]);
		endurance_life(points, n, (uint64_t)options.unit_bytes, &interval, &left);
		tally_add(&rates, &interval, truth.percent_per_tb);
		tally_add(&lefts, &left, truth.bytes_left);
	}
	tally_check(&all, "WAF of the run", count, 75, 93, 2);
	tally_check(&fill, "WAF of the fill", count, 40, 93, 3);
	tally_check(&soak, "WAF of the soak", count, 75, 93, 2);
	tally_check(&rates, "percent a TB", count, 75, 93, 20);
	tally_check(&lefts, "bytes left", count, 75, 88, 35);
}

/* Percents that differ by a fifth, and wear that slows down or hastens by as much: twice what drives are taken for. */
static void test_life_left_of_drives_that_wear_unevenly(void **state)
{
	struct tally lefts = { 0 };
	unsigned count = drives(1000);

	(void)state;
	for (uint64_t seed = 30001; seed <= 30000 + count; seed++) {
		struct simulated_drive_options options;
		struct simulated_drive_truth truth;
		struct endurance_interval rate, left;
		uint64_t dice = seed;
		size_t n;

		simulated_drive_draw(seed, &options);
		options.percent_uneven = 0.2;
		options.percent_trend = 0.8 * simulated_drive_random(&dice) - 0.4;
		n = simulated_drive_run(&options, points, POINTS_MAX, &truth);
		endurance_life(points, n, (uint64_t)options.unit_bytes, &rate, &left);
		tally_add(&lefts, &left, truth.bytes_left);
	}
	tally_check(&lefts, "bytes left, uneven", count, 75, 88, 40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_unit_is_found_by_its_slope),
		cmocka_unit_test(test_a_gib_and_a_billion_bytes_take_time_to_tell),
		cmocka_unit_test(test_a_unit_that_is_not_there_is_not_found),
		cmocka_unit_test(test_counts_that_are_none_are_not_counted),
		cmocka_unit_test(test_the_unit_outlives_resets_restarts_and_bad_readings),
		cmocka_unit_test(test_a_counter_that_moves_once_an_hour_is_waited_for),
		cmocka_unit_test(test_other_writers_are_told),
		cmocka_unit_test(test_waf_is_flash_over_host_with_what_the_ends_are_off),
		cmocka_unit_test(test_reading_slowly_widens_the_waf),
		cmocka_unit_test(test_waf_sums_its_bases_and_keeps_phases_apart),
		cmocka_unit_test(test_waf_says_what_is_missing),
		cmocka_unit_test(test_life_is_counted_between_the_steps),
		cmocka_unit_test(test_life_takes_two_steps),
		cmocka_unit_test(test_steps_of_more_than_one_and_backwards),
		cmocka_unit_test(test_beyond_the_rating_nothing_is_left),
		cmocka_unit_test(test_life_outlives_a_restart_of_the_machine),
		cmocka_unit_test(test_the_unit_of_simulated_drives_is_never_wrong),
		cmocka_unit_test(test_the_intervals_of_simulated_drives_cover_the_truth),
		cmocka_unit_test(test_life_left_of_drives_that_wear_unevenly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
