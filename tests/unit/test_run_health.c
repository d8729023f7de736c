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
	assert_int_equal(health_run_json(journal, &run, &json), 0);
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
	assert_int_equal(health_run_json(journal, &run, &json), 0);
	assert_non_null(strstr(
		text_string(&json), "\"host_written_unit_bytes\":33554432,\"how\":\"found by measuring"));
	assert_non_null(strstr(text_string(&json), "\"findings\":[{\"weight\":\"fail\",\"text\":\""));
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
			test_of_no_run_there_is_nothing, journal_setup, journal_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
