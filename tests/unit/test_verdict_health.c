/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "unit.h"

#include "measure/verdict_health.h"

#define UNKNOWN	  VERDICT_HEALTH_UNKNOWN
#define AT(field) offsetof(struct verdict_health_reading, field)

/* All that was found, as "F text; R text; I text". */
static const char *decided(const struct verdict_health_input *input)
{
	static char text[VERDICT_HEALTH_FINDINGS_MAX * (VERDICT_HEALTH_TEXT_MAX + 4)];
	struct verdict_health health;
	size_t length = 0;

	memset(&health, 0xa5, sizeof(health));
	verdict_health_decide(input, &health);
	text[0] = '\0';
	for (unsigned i = 0; i < health.count; i++)
		length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%c %s", i ? "; " : "",
			"FRI"[health.findings[i].weight], health.findings[i].text);
	return text;
}

static void check(const char *name, const struct verdict_health_input *input, const char *expected)
{
	const char *text = decided(input);

	if (strcmp(text, expected) != 0)
		fail_msg("%s: \"%s\", not \"%s\"", name, text, expected);
}

static struct verdict_health_input nothing(void)
{
	struct verdict_health_input input = { .written_bytes = UNKNOWN };

	verdict_health_reading_init(&input.first);
	verdict_health_reading_init(&input.last);
	return input;
}

static void test_what_is_unknown_says_nothing(void **state)
{
	struct verdict_health_input input = nothing();

	(void)state;
	check("unknown", &input, "");
	memset(&input.first, 0, offsetof(struct verdict_health_reading, percent_used));
	check("known at first", &input, "");
	input = nothing();
	memset(&input.last, 0, offsetof(struct verdict_health_reading, percent_used));
	check("known at last", &input, "");
	input.first = input.last;
	check("nothing ever", &input, "");
}

static void test_growth_counts_and_what_was_before_does_not(void **state)
{
	static const struct {
		size_t at;
		const char *grown, *before, *back;
	} row[] = {
		{ AT(media_errors), "F media errors grew by 3 to 15",
			"I media errors of the drive's life: 15",
			"I media errors went back from 12 to 2, growth is unknown" },
		{ AT(reallocated), "R reallocated sectors grew by 3 to 15",
			"I reallocated sectors of the drive's life: 15",
			"I reallocated sectors went back from 12 to 2, growth is unknown" },
		{ AT(crc_errors), "R CRC errors grew by 3 to 15: the cable or the backplane",
			"I CRC errors of the drive's life: 15",
			"I CRC errors went back from 12 to 2, growth is unknown" },
		{ AT(unsafe_shutdowns), "R unsafe shutdowns grew by 3 to 15: the power supply, or a reset",
			"I unsafe shutdowns of the drive's life: 15",
			"I unsafe shutdowns went back from 12 to 2, growth is unknown" },
		{ AT(warning_temp_minutes), "R minutes above the warning temperature grew by 3 to 15",
			"I minutes above the warning temperature of the drive's life: 15",
			"I minutes above the warning temperature went back from 12 to 2, growth is unknown" },
		{ AT(critical_temp_minutes), "R minutes above the critical temperature grew by 3 to 15",
			"I minutes above the critical temperature of the drive's life: 15",
			"I minutes above the critical temperature went back from 12 to 2, growth is "
			"unknown" },
		{ AT(thermal1_count), "R light thermal throttlings grew by 3 to 15",
			"I light thermal throttlings of the drive's life: 15",
			"I light thermal throttlings went back from 12 to 2, growth is unknown" },
		{ AT(thermal2_count), "R heavy thermal throttlings grew by 3 to 15",
			"I heavy thermal throttlings of the drive's life: 15",
			"I heavy thermal throttlings went back from 12 to 2, growth is unknown" },
		{ AT(thermal1_s), "R seconds of light thermal throttling grew by 3 to 15",
			"I seconds of light thermal throttling of the drive's life: 15",
			"I seconds of light thermal throttling went back from 12 to 2, growth is unknown" },
		{ AT(thermal2_s), "R seconds of heavy thermal throttling grew by 3 to 15",
			"I seconds of heavy thermal throttling of the drive's life: 15",
			"I seconds of heavy thermal throttling went back from 12 to 2, growth is unknown" },
		{ AT(throttle_events), "R thermal throttling events grew by 3 to 15",
			"I thermal throttling events of the drive's life: 15",
			"I thermal throttling events went back from 12 to 2, growth is unknown" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		struct verdict_health_input input = nothing();
		uint64_t *first = (uint64_t *)((char *)&input.first + row[i].at);
		uint64_t *last = (uint64_t *)((char *)&input.last + row[i].at);

		*first = 12;
		*last = 15;
		check("grown", &input, row[i].grown);
		*first = 15;
		check("before", &input, row[i].before);
		*first = UNKNOWN;
		check("first unknown", &input, row[i].before);
		*first = 12;
		*last = 2;
		check("back", &input, row[i].back);
		*last = UNKNOWN;
		check("last unknown", &input, "");
	}
}

static void test_critical_warnings_count_when_they_are_new(void **state)
{
	static const struct {
		const char *name;
		uint64_t first, last;
		double used, spare, threshold;
		const char *expected;
	} row[] = {
		{ "unreliable", 0, 1 << 2, NAN, NAN, NAN,
			"F the drive calls itself unreliable (critical warning, bit 2)" },
		{ "read-only", 0, 1 << 3, NAN, NAN, NAN,
			"F the drive has become read-only (critical warning, bit 3)" },
		{ "backup, MZWLL", 0, 16, NAN, NAN, NAN,
			"F the drive's protection against power loss has failed (critical warning, bit 4)" },
		{ "memory region", 0, 1 << 5, NAN, NAN, NAN,
			"R the drive's persistent memory has become read-only (critical warning, bit 5)" },
		{ "temperature", 0, 1 << 1, NAN, NAN, NAN,
			"R the drive's temperature left its limits (critical warning, bit 1)" },
		{ "spare", 0, 1 << 0, NAN, NAN, NAN,
			"F spare has fallen below the drive's threshold (critical warning, bit 0)" },
		{ "beside an old one", 16, 16 | 8, NAN, NAN, NAN,
			"F the drive has become read-only (critical warning, bit 3); "
			"I the drive's protection against power loss has failed (critical warning, bit 4), "
			"since before the run" },
		{ "gone", 16, 0, NAN, NAN, NAN, "" },
		{ "first unknown", UNKNOWN, 8, NAN, NAN, NAN,
			"I the drive has become read-only (critical warning, bit 3), since before the run" },
		{ "worn by its rating", 0, 4, 100, 100, 10,
			"R worn by its rating: 100 % used (critical warning, bit 2); "
			"I 100 % of the drive's life are used" },
		{ "worn and warm", 0, 4 | 2, 203, NAN, NAN,
			"R worn by its rating: 203 % used (critical warning, bit 2); "
			"R the drive's temperature left its limits (critical warning, bit 1); "
			"I 203 % of the drive's life are used" },
		{ "nearly worn", 0, 4, 99, 100, 10,
			"F the drive calls itself unreliable (critical warning, bit 2); "
			"I 99 % of the drive's life are used" },
		{ "worn and read-only", 0, 4 | 8, 100, 100, 10,
			"F the drive calls itself unreliable (critical warning, bit 2); "
			"F the drive has become read-only (critical warning, bit 3); "
			"I 100 % of the drive's life are used" },
		{ "worn, no spare", 0, 4, 100, 9, 10,
			"F the drive calls itself unreliable (critical warning, bit 2); "
			"F spare is 9 %, below the drive's threshold of 10 %; "
			"I 100 % of the drive's life are used" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		struct verdict_health_input input = nothing();

		input.first.critical_warning = row[i].first;
		input.last.critical_warning = row[i].last;
		input.last.percent_used = row[i].used;
		input.last.spare_pct = row[i].spare;
		input.last.spare_threshold_pct = row[i].threshold;
		check(row[i].name, &input, row[i].expected);
	}
}

static void test_spare_fails_below_a_threshold_that_is_one(void **state)
{
	static const struct {
		const char *name;
		double first, spare, threshold;
		const char *expected;
	} row[] = {
		{ "at it", 100, 10, 10, "" },
		{ "below", 100, 9, 10, "F spare is 9 %, below the drive's threshold of 10 %" },
		{ "before as well", 8, 7, 10,
			"F spare is 7 %, below the drive's threshold of 10 %, since before the run" },
		{ "not reported", 0, 0, 0, "" },
		{ "no threshold", 100, 1, 0, "" },
		{ "threshold unknown", 100, 0, NAN, "" },
		{ "spare unknown", 100, NAN, 10, "" },
		{ "none left", 100, 0, 10, "F spare is 0 %, below the drive's threshold of 10 %" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		struct verdict_health_input input = nothing();

		input.first.spare_pct = row[i].first;
		input.last.spare_pct = row[i].spare;
		input.first.spare_threshold_pct = input.last.spare_threshold_pct = row[i].threshold;
		check(row[i].name, &input, row[i].expected);
	}
}

static void test_wear_is_held_against_the_rating(void **state)
{
	static const uint64_t tb = 1000000000000;
	static const struct {
		const char *name;
		double first, last;
		uint64_t written, rated;
		const char *expected;
	} row[] = {
		/* 10 % of the rating may take 15 %, and a reading is a whole percent. */
		{ "within", 3, 19, 60, 600, "I 19 % of the drive's life are used" },
		{ "beyond", 3, 20, 60, 600,
			"R 17 % of the drive's life for 60 TB, which are 10 % of the rated 600 TB; "
			"I 20 % of the drive's life are used" },
		{ "a single step", 3, 4, 0, 600, "I 4 % of the drive's life are used" },
		{ "no rating", 3, 90, 60, 0, "I 90 % of the drive's life are used" },
		{ "backwards", 20, 3, 60, 600, "I 3 % of the drive's life are used" },
		{ "first unknown", NAN, 20, 1, 600, "I 20 % of the drive's life are used" },
		{ "last unknown", 3, NAN, 1, 600, "" },
	};
	struct verdict_health_input input = nothing();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		input.first.percent_used = row[i].first;
		input.last.percent_used = row[i].last;
		input.written_bytes = row[i].written * tb;
		input.rated_bytes = row[i].rated * tb;
		check(row[i].name, &input, row[i].expected);
	}
	input.first.percent_used = 3;
	input.last.percent_used = 90;
	input.written_bytes = UNKNOWN;
	check("written unknown", &input, "I 90 % of the drive's life are used");
}

static void test_an_ata_drives_own_verdict_counts_when_it_turns(void **state)
{
	struct verdict_health_input input = nothing();

	(void)state;
	input.first.smart_failed = 0;
	input.last.smart_failed = 1;
	check("turned", &input, "F the drive says of itself that it is failing");
	input.first.smart_failed = 1;
	check("before", &input, "I the drive says of itself that it is failing, since before the run");
	input.last.smart_failed = 0;
	check("again well", &input, "");
	/* NVMe: of warm drives as well, which is for the bits to say. */
	input.first.smart_failed = input.first.critical_warning = 0;
	input.last.smart_failed = 1;
	input.last.critical_warning = 2;
	check("NVMe", &input, "R the drive's temperature left its limits (critical warning, bit 1)");
}

static void test_all_there_can_be_fits_and_is_ordered(void **state)
{
	struct verdict_health_input input = { .written_bytes = 1, .rated_bytes = 1000000000000 };
	struct verdict_health health;

	(void)state;
	memset(&input.last, 0x7f, offsetof(struct verdict_health_reading, percent_used));
	input.last.critical_warning = 0xff;
	input.last.percent_used = 255;
	input.last.spare_threshold_pct = 100;
	verdict_health_decide(&input, &health);
	/* 5 warnings, spare, wear twice, 11 counters. */
	assert_int_equal(health.count, 19);
	for (unsigned i = 1; i < health.count; i++)
		assert_true(health.findings[i].weight >= health.findings[i - 1].weight);
	for (unsigned i = 0; i < health.count; i++)
		assert_true(strlen(health.findings[i].text) < VERDICT_HEALTH_TEXT_MAX - 1);
	assert_int_equal(health.findings[4].what, VERDICT_HEALTH_MEDIA_ERRORS);
	assert_string_equal(
		health.findings[4].text, "media errors grew by 9187201950435737471 to 9187201950435737471");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_unknown_says_nothing),
		cmocka_unit_test(test_growth_counts_and_what_was_before_does_not),
		cmocka_unit_test(test_critical_warnings_count_when_they_are_new),
		cmocka_unit_test(test_spare_fails_below_a_threshold_that_is_one),
		cmocka_unit_test(test_wear_is_held_against_the_rating),
		cmocka_unit_test(test_an_ata_drives_own_verdict_counts_when_it_turns),
		cmocka_unit_test(test_all_there_can_be_fits_and_is_ordered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
