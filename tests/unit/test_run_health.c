/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The readings of a run put together: from rows of the journal to unit, write amplification and findings. */
#include "unit.h"

#include "archive_fixture.h"

#include <errno.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "archive/health.h"
#include "base/text.h"

#define TB 1000000000000ULL

static char path[64];
static struct journal *journal;
static struct run_record run;

static int journal_setup(void **state)
{
	(void)state;
	(void)snprintf(path, sizeof(path), "run-health-%d.db", (int)getpid());
	(void)unlink(path);
	if (journal_open(path, false, &journal) < 0)
		return -1;
	fixture_run(&run, "evo", 10);
	return journal_put_run(journal, &run);
}

static int journal_teardown(void **state)
{
	(void)state;
	journal_close(journal);
	return unlink(path);
}

static void reading_put(int minute, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void reading_put(int minute, const char *format, ...)
{
	struct health_record health = { .t_ms = FIXTURE_START_MS + 60000LL * minute };
	char fields[2048];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(fields, sizeof(fields), format, args);
	va_end(args);
	health.fields = fields;
	text_copy(health.run, sizeof(health.run), run.id);
	assert_int_equal(journal_put_health(journal, &health), 0);
}

static void test_a_run_without_readings(void **state)
{
	struct health_endurance endurance;
	struct text json = TEXT_INIT;

	(void)state;
	assert_int_equal(health_endurance_read(journal, &run, &endurance), 0);
	assert_int_equal(endurance.readings, 0);
	assert_int_equal(endurance.unit.bytes, 0);
	assert_true(isnan(endurance.waf.value) && isnan(endurance.bytes_left.value));
	assert_int_equal(endurance.findings.count, 0);
	assert_int_equal(health_run_json(journal, &run, 0, &json), 0);
	assert_non_null(
		strstr(text_string(&json), "{\"readings\":[],\"unit\":{\"host_written_unit_bytes\":null,"));
	assert_non_null(strstr(text_string(&json), "\"findings\":[]}"));
	text_fini(&json);
}

/* A drive that counts 32 MiB, writes 1.5 times as much to its flash, and gets ill in the middle. */
static void test_unit_amplification_and_findings(void **state)
{
	const double unit = 32.0 * 1048576;
	struct health_endurance endurance;
	struct text json = TEXT_INIT;

	(void)state;
	for (int minute = 0; minute < 120; minute++) {
		double written = minute * 0.05 * (double)TB;

		reading_put(minute,
			"{\"phase\":\"soak\",\"own_written_bytes\":%.0f,\"disk_written_bytes\":%.0f,\"read_"
			"ms\":20,"
			"\"logical_block_bytes\":512,\"source\":\"ata: "
			"libatasmart\",\"host_written_raw\":%.0f,"
			"\"host_written_unit_bytes\":33554432,\"media_written_raw\":%.0f,"
			"\"media_written_unit_bytes\":33554432,\"percent_used\":%d,\"spare_pct\":100,"
			"\"spare_threshold_pct\":10,\"media_errors\":%d,\"crc_errors\":%s,\"critical_"
			"warning\":%d,"
			"\"unsafe_shutdowns\":7}",
			written, written + 4096, 1000 + floor(written / unit),
			5000 + floor(written * 1.5 / unit), 10 + minute / 60, minute < 60 ? 3 : 5,
			minute == 100 ? "null"
			: minute < 90 ? "1"
				      : "4",
			minute == 70 ? 4 : 0);
	}
	assert_int_equal(health_endurance_read(journal, &run, &endurance), 0);
	assert_int_equal(endurance.readings, 120);
	assert_int_equal(endurance.unit.bytes, 33554432);
	assert_false(endurance.unit.foreign || endurance.unit.other_writers);
	assert_true(endurance.waf.low <= 1.5 && 1.5 <= endurance.waf.high);
	assert_true(fabs(endurance.waf.value - 1.5) < 0.01);
	assert_true(fabs(endurance.phase_waf[PHASE_SOAK].value - 1.5) < 0.01);
	assert_true(isnan(endurance.phase_waf[PHASE_FILL].value));
	assert_true(endurance.first_percent_used == 10 && endurance.last_percent_used == 11);
	/* The errors that came, the warning that came and went, and the cable; what was there before is information. */
	assert_int_equal(endurance.findings.findings[0].weight, VERDICT_HEALTH_FAIL);
	{
		unsigned seen[VERDICT_HEALTH_WHAT_COUNT] = { 0 };

		for (unsigned i = 0; i < endurance.findings.count; i++)
			seen[endurance.findings.findings[i].what] += endurance.findings.findings[i].weight !=
								     VERDICT_HEALTH_INFORMATION;
		assert_int_equal(seen[VERDICT_HEALTH_MEDIA_ERRORS], 1);
		assert_int_equal(seen[VERDICT_HEALTH_UNRELIABLE], 1);
		assert_int_equal(seen[VERDICT_HEALTH_CRC], 1);
		assert_int_equal(seen[VERDICT_HEALTH_UNSAFE_SHUTDOWNS], 0);
		assert_int_equal(seen[VERDICT_HEALTH_SPARE], 0);
	}
	assert_int_equal(health_run_json(journal, &run, 0, &json), 0);
	assert_non_null(strstr(
		text_string(&json), "\"host_written_unit_bytes\":33554432,\"how\":\"found by measuring"));
	assert_non_null(strstr(text_string(&json), "\"findings\":[{\"weight\":\"fail\",\"text\":\""));
	text_fini(&json);
}

/* Micron's pages; half way the firmware is updated, and the counters go on in another way. */
static void test_a_new_firmware_is_a_new_base(void **state)
{
	static struct health_endurance endurance;
	struct text json = TEXT_INIT;

	(void)state;
	for (int minute = 0; minute < 160; minute++) {
		const bool is_new = minute >= 80;
		double written = minute * 0.01 * (double)TB, pages = written / 16384;

		reading_put(minute,
			"{\"phase\":\"%s\",\"own_written_bytes\":%.0f,\"disk_written_bytes\":%.0f,\"read_"
			"ms\":20,"
			"\"logical_block_bytes\":512,\"source\":\"ata: libatasmart\",\"serial\":\"S1\","
			"\"firmware\":\"%s\",\"host_written_raw\":%.0f,\"host_written_unit_bytes\":512,"
			"\"host_written_from\":\"attribute 246\",\"host_pages\":%.0f,\"media_pages\":%.0f,"
			"\"media_written_from\":\"attributes 247 and 248\",\"percent_used\":%d}",
			minute < 120 ? "fill" : "soak", written, written, is_new ? "F2" : "F1",
			1000 + written / 512, 500 + pages, 700 + floor(pages * (is_new ? 3 : 1.25)),
			10 + minute / 60);
		if (minute == 79) {
			assert_int_equal(health_endurance_read(journal, &run, &endurance), 0);
			assert_true(endurance.waf.low <= 1.25 && 1.25 <= endurance.waf.high);
			assert_true(fabs(endurance.waf.value - 1.25) < 0.001);
			assert_non_null(strstr(
				endurance.waf.how, " of the host, 80 readings; by attributes 247 and 248"));
			assert_non_null(strstr(endurance.waf.how, " pages to the flash for "));
			assert_null(strstr(endurance.waf.how, "counted since"));
			assert_int_equal(endurance.unit.bytes, 512);
		}
	}
	assert_int_equal(health_endurance_read(journal, &run, &endurance), 0);
	assert_int_equal(endurance.readings, 160);
	/* Not the mean of both, and no leap between them. */
	assert_true(fabs(endurance.waf.value - 3) < 0.001);
	assert_true(endurance.waf.low <= 3 && 3 <= endurance.waf.high && endurance.waf.high < 3.2);
	assert_true(fabs(endurance.phase_waf[PHASE_FILL].value - 3) < 0.001);
	assert_true(fabs(endurance.phase_waf[PHASE_SOAK].value - 3) < 0.001);
	assert_non_null(strstr(endurance.waf.how,
		"; by attributes 247 and 248; counted since reading 81, where the drive's firmware changed"));
	assert_non_null(strstr(endurance.unit.how, "; counted since reading 81, where"));
	assert_non_null(strstr(endurance.bytes_left.how, "; counted since reading 81, where"));
	assert_non_null(strstr(endurance.seconds_left.how, "; counted since reading 81, where"));
	/* Of the whole run is what it used up. */
	assert_true(endurance.first_percent_used == 10 && endurance.last_percent_used == 12);
	assert_int_equal(health_run_json(journal, &run, 0, &json), 0);
	assert_non_null(strstr(text_string(&json), "\"percent_used_delta\":2}"));
	text_fini(&json);
}

/* OCP counts bytes, page 02h 512 000 of them; the last reading lacks OCP's page. */
static void test_a_counter_that_is_missing_at_the_end_keeps_its_unit(void **state)
{
	static struct health_endurance endurance;

	(void)state;
	for (int minute = 0; minute < 100; minute++) {
		double written = minute * 0.02 * (double)TB;
		char media[160] = "\"media_written_raw\":null,\"media_written_unit_bytes\":null";

		if (minute < 99)
			(void)snprintf(media, sizeof(media),
				"\"media_written_raw\":%.0f,\"media_written_unit_bytes\":1,"
				"\"media_written_from\":\"page C0h (OCP)\"",
				9e12 + written * 1.75);
		reading_put(minute,
			"{\"phase\":\"soak\",\"own_written_bytes\":%.0f,\"disk_written_bytes\":%.0f,\"read_"
			"ms\":20,"
			"\"source\":\"nvme\",\"host_written_raw\":%.0f,\"host_written_unit_bytes\":512000,%"
			"s}",
			written, written, 1000 + floor(written / 512000), media);
	}
	assert_int_equal(health_endurance_read(journal, &run, &endurance), 0);
	assert_true(endurance.waf.low <= 1.75 && 1.75 <= endurance.waf.high);
	assert_true(fabs(endurance.waf.value - 1.75) < 0.001);
	assert_non_null(strstr(endurance.waf.how, "99 readings; by page C0h (OCP)"));
}

/* What is left, at the run's rate and at one that is asked for. */
static void test_life_left_at_a_rate(void **state)
{
	static struct health_endurance endurance;
	struct text json = TEXT_INIT;
	static const char wanted[] = "\"asked_bytes_per_s\":5000000,\"asked_seconds_left\":{\"value\":";
	const char *at;

	(void)state;
	for (int minute = 0; minute < 1000; minute++) {
		double written = minute * 0.06 * (double)TB; /* 10^9 a second */

		reading_put(minute,
			"{\"phase\":\"soak\",\"own_written_bytes\":%.0f,\"disk_written_bytes\":%.0f,"
			"\"percent_used\":%d,\"source\":\"nvme\"}",
			written, written, 40 + minute / 200);
	}
	assert_int_equal(health_endurance_read(journal, &run, &endurance), 0);
	assert_true(fabs(endurance.bytes_per_s - 1e9) < 1e3);
	/* 56 % of 12 TB each. */
	assert_true(fabs(endurance.bytes_left.value / (double)TB - 56 * 12) < 15);
	assert_true(fabs(endurance.seconds_left.value - endurance.bytes_left.value / 1e9) < 10);
	assert_int_equal(health_run_json(journal, &run, 5e6, &json), 0);
	at = strstr(text_string(&json), wanted);
	assert_non_null(at);
	assert_true(fabs(strtod(at + strlen(wanted), NULL) - endurance.bytes_left.value / 5e6) < 1);
	text_fini(&json);
}

static void test_of_no_run_there_is_nothing(void **state)
{
	struct health_endurance endurance;
	struct run_record other = run;

	(void)state;
	text_copy(other.id, sizeof(other.id), "nosuch");
	assert_int_equal(health_endurance_read(journal, &other, &endurance), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_run_without_readings, journal_setup, journal_teardown),
		cmocka_unit_test_setup_teardown(
			test_unit_amplification_and_findings, journal_setup, journal_teardown),
		cmocka_unit_test_setup_teardown(
			test_a_new_firmware_is_a_new_base, journal_setup, journal_teardown),
		cmocka_unit_test_setup_teardown(test_a_counter_that_is_missing_at_the_end_keeps_its_unit,
			journal_setup, journal_teardown),
		cmocka_unit_test_setup_teardown(test_life_left_at_a_rate, journal_setup, journal_teardown),
		cmocka_unit_test_setup_teardown(
			test_of_no_run_there_is_nothing, journal_setup, journal_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
