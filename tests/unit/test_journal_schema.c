/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is no journal of ours, and journals that older and newer programs wrote. */
#include "unit.h"

#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

#include "archive_fixture.h"
#include "journal_fixture.h"

static void test_a_file_that_is_none_is_refused_clearly(void **state)
{
	struct journal *journal = NULL;
	char junk[5000];
	sqlite3 *db;

	(void)state;
	memset(junk, 'x', sizeof(junk));
	assert_int_equal(journal_open(journal_rig.path, true, &journal), -ENOENT);
	assert_string_equal(journal_error(NULL), "No such file or directory");
	journal_fixture_write_at(0, junk, sizeof(junk));
	assert_int_equal(journal_open(journal_rig.path, true, &journal), -EBADMSG);
	assert_int_equal(journal_open(journal_rig.path, false, &journal), -EBADMSG);
	assert_string_equal(journal_error(NULL), "file is not a database");
	assert_int_equal(truncate(journal_rig.path, 0), 0);
	assert_int_equal(journal_open(journal_rig.path, true, &journal), -EBADMSG);
	assert_string_equal(journal_error(NULL), "the file is empty");
	assert_int_equal(sqlite3_open(journal_rig.path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "CREATE TABLE other (a)", NULL, NULL, NULL), SQLITE_OK);
	(void)sqlite3_close(db);
	assert_int_equal(journal_open(journal_rig.path, false, &journal), -EBADMSG);
	assert_string_equal(journal_error(NULL), "the file is a database of another program");
	assert_int_equal(journal_open("/nonexistent/journal.db", false, &journal), -ENOENT);
	assert_null(journal);
}

static void test_a_newer_schema_is_left_alone(void **state)
{
	struct journal *journal = journal_fixture_open(false);
	sqlite3 *db;

	(void)state;
	journal_close(journal);
	assert_int_equal(sqlite3_open(journal_rig.path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "PRAGMA user_version = 7", NULL, NULL, NULL), SQLITE_OK);
	(void)sqlite3_close(db);
	assert_int_equal(journal_open(journal_rig.path, false, &journal), -EPROTO);
	assert_string_equal(journal_error(NULL), "the file has schema 7, newer than this program's 5");
	assert_int_equal(journal_open(journal_rig.path, true, &journal), -EPROTO);
}

/* From each version back to the one before. */
static const char *const downgrades[] = {
	[4] = "DROP INDEX events_key; ALTER TABLE events DROP COLUMN key;"
	      "ALTER TABLE events DROP COLUMN count; PRAGMA user_version = 4",
	[3] = "DROP TABLE health; ALTER TABLE samples DROP COLUMN percent_used;"
	      "ALTER TABLE samples DROP COLUMN spare_pct; PRAGMA user_version = 3",
	[2] = "ALTER TABLE runs DROP COLUMN fill_durable_bytes; PRAGMA user_version = 2",
	[1] = "ALTER TABLE samples DROP COLUMN run_delay_share;"
	      "ALTER TABLE samples DROP COLUMN device_lat_mean_ns;"
	      "ALTER TABLE samples DROP COLUMN lat_mean_ns;"
	      "ALTER TABLE samples DROP COLUMN throttled_ns;"
	      "ALTER TABLE samples DROP COLUMN commits;"
	      "ALTER TABLE samples DROP COLUMN commit_p50_ns;"
	      "ALTER TABLE samples DROP COLUMN commit_p99_ns;"
	      "ALTER TABLE runs DROP COLUMN probe_step;"
	      "ALTER TABLE runs DROP COLUMN probe_ns;"
	      "ALTER TABLE runs DROP COLUMN boot_id;"
	      "ALTER TABLE runs DROP COLUMN probe_ios_per_s;"
	      "ALTER TABLE run_texts DROP COLUMN probe_json;"
	      "ALTER TABLE run_texts DROP COLUMN verify_json;"
	      "PRAGMA user_version = 1",
};

/* The journal of put_one() as the program wrote it at @version. */
static void make_old(unsigned version)
{
	struct journal *journal = journal_fixture_open(false);
	sqlite3 *db;

	journal_fixture_put_one(journal);
	journal_close(journal);
	assert_int_equal(sqlite3_open(journal_rig.path, &db), SQLITE_OK);
	for (unsigned at = (unsigned)(sizeof(downgrades) / sizeof(downgrades[0])) - 1; at >= version; at--)
		assert_int_equal(sqlite3_exec(db, downgrades[at], NULL, NULL, NULL), SQLITE_OK);
	(void)sqlite3_close(db);
}

static struct sample old_sample(void)
{
	struct sample sample = fixture_sample(FIXTURE_START_MS, 10, 1);

	sample.run_delay_share = NAN;
	sample.device_lat_mean_ns = sample.lat_mean_ns = sample.throttled_ns = SAMPLE_UNKNOWN;
	sample.percent_used = sample.spare_pct = NAN;
	sample.commits = sample.commit_p50_ns = sample.commit_p99_ns = SAMPLE_UNKNOWN;
	return sample;
}

static void check_last(struct journal *journal, const struct sample *expected)
{
	struct run_record run;
	struct sample last, got[2], *next = got;

	fixture_run(&run, "evo", 10);
	assert_int_equal(journal_get_last_sample(journal, run.id, &last), 0);
	journal_fixture_check_sample(&last, expected);
	assert_int_equal(journal_each_sample(journal, run.id, expected->t_ms - 1, INT64_MAX, true,
				 journal_fixture_keep_sample, &next),
		0);
	assert_int_equal(next - got, 1);
	journal_fixture_check_sample(&got[0], expected);
}

static void test_an_older_schema_is_read_as_it_is_and_brought_up_to_date_by_a_writer(void **state)
{
	struct sample old = old_sample(), fresh = fixture_sample(FIXTURE_START_MS + 10000, 10, 2);
	struct journal *reader, *journal;
	struct run_record run, read;

	(void)state;
	make_old(1);
	fixture_run(&run, "evo", 10);
	reader = journal_fixture_open(true);
	check_last(reader, &old);
	assert_int_equal(journal_get_run(reader, run.id, &read), 0);
	assert_int_equal(read.progress.fill_done_bytes, run.progress.fill_done_bytes);
	assert_int_equal(read.progress.fill_durable_bytes, 0);
	assert_int_equal(read.progress.probe_step, 0);
	journal = journal_fixture_open(false);
	check_last(journal, &old);
	assert_int_equal(journal_put_sample(journal, run.id, &fresh), 0);
	check_last(journal, &fresh);
	/* A reader from before the change goes on, and sees what there is now. */
	check_last(reader, &fresh);
	journal_close(reader);
	journal_close(journal);
	journal = journal_fixture_open(false); /* once is enough */
	check_last(journal, &fresh);
	journal_close(journal);
	reader = journal_fixture_open(true);
	check_last(reader, &fresh);
	journal_close(reader);
}

static void check_durable(struct journal *journal, uint64_t expected)
{
	struct run_record run, read;

	fixture_run(&run, "evo", 10);
	run.progress.fill_durable_bytes = expected;
	assert_int_equal(journal_get_run(journal, run.id, &read), 0);
	journal_fixture_check_run(&read, &run);
}

static void test_a_fill_of_an_older_schema_has_nothing_that_is_known_to_be_durable(void **state)
{
	struct sample sample = fixture_sample(FIXTURE_START_MS, 10, 1);
	struct journal *reader, *journal;
	struct run_record run;

	(void)state;
	sample.percent_used = sample.spare_pct = NAN;
	make_old(2);
	reader = journal_fixture_open(true);
	check_durable(reader, 0);
	check_last(reader, &sample);
	journal = journal_fixture_open(false);
	check_durable(journal, 0);
	check_last(journal, &sample);
	fixture_run(&run, "evo", 10);
	run.progress.fill_durable_bytes = 777;
	assert_int_equal(journal_put_run(journal, &run), 0);
	check_durable(journal, 777);
	journal_close(journal);
	check_durable(reader, 777); /* from before the change */
	journal_close(reader);
	reader = journal_fixture_open(true);
	check_durable(reader, 777);
	journal_close(reader);
}

static void test_an_older_schema_is_not_half_brought_up_to_date(void **state)
{
	struct journal *journal = NULL;
	sqlite3 *db;

	(void)state;
	make_old(1);
	/* The second of the columns is there already: no version ever wrote that. */
	assert_int_equal(sqlite3_open(journal_rig.path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "ALTER TABLE samples ADD COLUMN device_lat_mean_ns INTEGER", NULL,
				 NULL, NULL),
		SQLITE_OK);
	assert_int_equal(journal_open(journal_rig.path, false, &journal), -EIO);
	assert_string_equal(journal_error(NULL), "duplicate column name: device_lat_mean_ns");
	assert_int_equal(
		sqlite3_exec(db, "SELECT run_delay_share FROM samples", NULL, NULL, NULL), SQLITE_ERROR);
	(void)sqlite3_close(db);
}

int main(void)
{
#define CASE(function)                                                                                       \
	cmocka_unit_test_setup_teardown(function, journal_fixture_set_up, journal_fixture_tear_down)
	static const struct CMUnitTest tests[] = {
		CASE(test_a_file_that_is_none_is_refused_clearly),
		CASE(test_a_newer_schema_is_left_alone),
		CASE(test_an_older_schema_is_read_as_it_is_and_brought_up_to_date_by_a_writer),
		CASE(test_a_fill_of_an_older_schema_has_nothing_that_is_known_to_be_durable),
		CASE(test_an_older_schema_is_not_half_brought_up_to_date),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
