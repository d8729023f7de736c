/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "archive_fixture.h"
#include "base/text.h"
#include "journal_fixture.h"

static void test_a_run_reads_back_as_it_was(void **state)
{
	struct journal *journal = journal_fixture_open(false);
	struct run_record run, read;

	(void)state;
	fixture_run(&run, "evo", 10);
	assert_int_equal(journal_get_run(journal, run.id, &read), -ENOENT);
	assert_int_equal(journal_put_run(journal, &run), 0);
	assert_int_equal(journal_get_run(journal, run.id, &read), 0);
	journal_fixture_check_run(&read, &run);
	/* Unknowns, changes, and strings that fill their room. */
	run.price_amount = NAN;
	run.capacity_bytes = run.written_bytes = UINT64_MAX;
	run.started_ms = INT64_MIN;
	run.seed = 0;
	run.progress.status = RUN_STALLED;
	run.progress.phase = PHASE_VERIFY;
	run.source = SOURCE_IMPORTED;
	run.label[0] = '\0';
	memset(run.model, 'm', sizeof(run.model) - 1);
	memset(run.host_json, 'h', sizeof(run.host_json) - 1);
	assert_int_equal(journal_put_run(journal, &run), 0);
	assert_int_equal(journal_get_run(journal, run.id, &read), 0);
	journal_fixture_check_run(&read, &run);
	journal_close(journal);
	journal_close(NULL);
}

static void test_what_cannot_be_stored_is_refused(void **state)
{
	struct journal *journal = journal_fixture_open(false);
	struct sample sample = fixture_sample(FIXTURE_START_MS, 10, INT64_MAX);
	struct run_record run;
	struct journal_sums sums = { .samples = 77 };

	(void)state;
	fixture_run(&run, "evo", 10);
	run.written_bytes = (uint64_t)INT64_MAX + 1;
	assert_int_equal(journal_put_run(journal, &run), -ERANGE);
	assert_string_equal(journal_error(journal),
		"written_bytes = 9223372036854775808 is beyond what the journal can hold");
	run.written_bytes = INT64_MAX;
	run.progress.phase = (enum run_phase)77;
	assert_int_equal(journal_put_run(journal, &run), -EINVAL);
	assert_string_equal(journal_error(journal), "phase = 77 has no name");
	run.progress.phase = PHASE_SOAK;
	assert_int_equal(journal_put_run(journal, &run), 0);
	assert_int_equal(journal_put_sample(journal, run.id, &sample), 0);
	sample.t_ms += 10000;
	sample.stall_ns = UINT64_MAX - 1;
	assert_int_equal(journal_put_sample(journal, run.id, &sample), -ERANGE);
	/* The exact sum would be 2^63: an error, not a wrapped or rounded number. */
	sample.stall_ns = 0;
	sample.write_bytes = 1;
	assert_int_equal(journal_put_sample(journal, run.id, &sample), 0);
	assert_int_equal(journal_get_sums(journal, run.id, &sums), -EIO);
	assert_int_equal(sums.samples, 77);
	journal_close(journal);
}

static void test_samples_read_back_in_order_and_exact(void **state)
{
	struct journal *journal = journal_fixture_open(false);
	struct sample put[3] = {
		fixture_sample(FIXTURE_START_MS, 10, 9007199254740993ULL), /* no double holds it */
		fixture_down(FIXTURE_START_MS + 12345, 2345000000),
		fixture_sample(FIXTURE_START_MS + 20000, 10, 5),
	};
	struct sample got[3], last, *next = got;
	struct journal_sums sums;
	struct run_record run;

	(void)state;
	put[0].flags = SAMPLE_FLAG_PARTIAL | SAMPLE_FLAG_HOST_LIMIT;
	put[2].hist_bytes = SAMPLE_HIST_MAX;
	memset(put[2].hist, 0xa5, SAMPLE_HIST_MAX);
	fixture_run(&run, "evo", 10);
	assert_int_equal(journal_put_sample(journal, run.id, &put[0]), -ENOENT);
	assert_int_equal(journal_put_run(journal, &run), 0);
	assert_int_equal(journal_get_last_sample(journal, run.id, &last), -ENOENT);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(journal_put_sample(journal, run.id, &put[i]), 0);
	assert_int_equal(journal_each_sample(journal, run.id, INT64_MIN, INT64_MAX, true,
				 journal_fixture_keep_sample, &next),
		0);
	assert_int_equal(next - got, 3);
	for (unsigned i = 0; i < 3; i++)
		journal_fixture_check_sample(&got[i], &put[i]);
	assert_int_equal(journal_get_last_sample(journal, run.id, &last), 0);
	journal_fixture_check_sample(&last, &put[2]);
	assert_int_equal(journal_get_sums(journal, run.id, &sums), 0);
	assert_int_equal(sums.write_bytes, 9007199254740998ULL);
	assert_int_equal(sums.read_bytes, 6);
	assert_int_equal(sums.read_ios, 4);
	assert_int_equal(sums.errors, 2);
	assert_int_equal(sums.write_ios, 9007199254740993ULL / 16384);
	assert_int_equal(sums.samples, 3);
	journal_close(journal);
}

static void test_a_window_is_open_on_the_left(void **state)
{
	struct journal *journal = journal_fixture_open(false);
	struct sample got[4], *next = got;
	struct run_record run;

	(void)state;
	fixture_run(&run, "evo", 10);
	assert_int_equal(journal_put_run(journal, &run), 0);
	for (unsigned i = 0; i < 4; i++) {
		struct sample sample = fixture_sample(FIXTURE_START_MS + i * 10000, 10, i);

		sample.hist_bytes = 4;
		assert_int_equal(journal_put_sample(journal, run.id, &sample), 0);
	}
	assert_int_equal(journal_each_sample(journal, run.id, FIXTURE_START_MS, FIXTURE_START_MS + 20000,
				 false, journal_fixture_keep_sample, &next),
		0);
	assert_int_equal(next - got, 2);
	assert_int_equal(got[0].write_bytes, 1);
	assert_int_equal(got[1].write_bytes, 2);
	assert_int_equal(got[1].hist_bytes, 0); /* not asked for */
	assert_int_equal(
		journal_each_sample(journal, "none", 0, INT64_MAX, false, journal_fixture_keep_sample, &next),
		-ENOENT);
	journal_close(journal);
}

static void test_time_only_grows_within_a_run(void **state)
{
	struct journal *journal = journal_fixture_open(false);
	struct sample sample = fixture_sample(FIXTURE_START_MS, 10, 1);
	struct run_record run, other;

	(void)state;
	fixture_run(&run, "evo", 10);
	fixture_run(&other, "pro", 10);
	assert_int_equal(journal_put_run(journal, &run), 0);
	assert_int_equal(journal_put_run(journal, &other), 0);
	assert_int_equal(journal_put_sample(journal, run.id, &sample), 0);
	assert_int_equal(journal_put_sample(journal, run.id, &sample), -EEXIST);
	sample.t_ms -= 1;
	assert_int_equal(journal_put_sample(journal, run.id, &sample), -EEXIST);
	assert_int_equal(journal_put_sample(journal, other.id, &sample), 0);
	/* A record of one drive never takes over the other's. */
	(void)snprintf(other.id, sizeof(other.id), "%s", run.id);
	assert_int_equal(journal_put_run(journal, &other), -EEXIST);
	journal_close(journal);
}

static int store_id(const struct run_record *run, void *arg)
{
	(void)snprintf((char *)arg + strlen(arg), 200 - strlen(arg), "%s ", run->drive);
	return 0;
}

static int stop_at_second(const struct run_record *run, void *arg)
{
	(void)run;
	return ++*(int *)arg == 2 ? 42 : 0;
}

static void test_runs_come_newest_first(void **state)
{
	static const char *const drives[] = { "a", "b", "c" };
	static const int64_t started_s[] = { 2000, 3000, 1000 };
	struct journal *journal = journal_fixture_open(false);
	struct run_record run;
	char ids[200] = "";
	int calls = 0;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		fixture_run(&run, drives[i], 10);
		run.started_ms = started_s[i] * 1000;
		assert_int_equal(journal_put_run(journal, &run), 0);
	}
	fixture_run(&run, "a", 10);
	run_id_make("a", 9000000, run.id);
	run.started_ms = 9000000;
	assert_int_equal(journal_put_run(journal, &run), 0);
	assert_int_equal(journal_each_run(journal, store_id, ids), 0);
	assert_string_equal(ids, "a b a c ");
	assert_int_equal(journal_each_run(journal, stop_at_second, &calls), 42);
	assert_int_equal(calls, 2);
	assert_int_equal(journal_get_newest_run(journal, "a", &run), 0);
	assert_string_equal(run.id, "a-19700101T023000Z");
	assert_int_equal(journal_get_newest_run(journal, "d", &run), -ENOENT);
	/* An import is the last resort, however new it is. */
	fixture_run(&run, "a", 10);
	run_id_make("a", 9500000, run.id);
	run.started_ms = 9500000;
	run.source = SOURCE_IMPORTED;
	assert_int_equal(journal_put_run(journal, &run), 0);
	run_id_make("e", 1000, run.id);
	(void)strcpy(run.drive, "e");
	assert_int_equal(journal_put_run(journal, &run), 0);
	assert_int_equal(journal_get_newest_run(journal, "a", &run), 0);
	assert_string_equal(run.id, "a-19700101T023000Z");
	assert_int_equal(journal_get_newest_run(journal, "e", &run), 0);
	assert_int_equal(run.source, SOURCE_IMPORTED);
	journal_close(journal);
}

static int store_event(const struct event_record *event, void *arg)
{
	(void)snprintf((char *)arg + strlen(arg), 200 - strlen(arg), "%s ", event->text);
	assert_string_equal(event->kind, "phase");
	assert_int_equal(event->severity, EVENT_WARNING);
	assert_int_equal(event->until_ms, INT64_MIN);
	assert_string_equal(event->drive, "evo");
	assert_string_equal(event->cause, "host");
	assert_string_equal(event->evidence, "steal 4 %");
	return 0;
}

static void test_events_of_a_run_and_of_all(void **state)
{
	struct journal *journal = journal_fixture_open(false);
	struct event_record event;
	char texts[200] = "";

	(void)state;
	event = fixture_event(1000, "r1", "one");
	assert_int_equal(journal_put_event(journal, &event), 0);
	event = fixture_event(3000, "", "three"); /* of the service; no run need exist */
	assert_int_equal(journal_put_event(journal, &event), 0);
	event = fixture_event(2000, "r1", "two");
	assert_int_equal(journal_put_event(journal, &event), 0);
	assert_int_equal(journal_each_event(journal, NULL, SIZE_MAX, store_event, texts), 0);
	assert_string_equal(texts, "three two one ");
	texts[0] = '\0';
	assert_int_equal(journal_each_event(journal, "r1", 1, store_event, texts), 0);
	assert_string_equal(texts, "two ");
	event.kind[0] = '\0';
	assert_int_equal(journal_put_event(journal, &event), -EINVAL);
	journal_close(journal);
}

static int keep_event(const struct event_record *event, void *arg)
{
	struct event_record *last = arg;

	*last = *event;
	return 0;
}

static void test_an_event_with_a_key_takes_the_place_of_the_one_before(void **state)
{
	struct journal *journal = journal_fixture_open(false);
	struct event_record event = fixture_event(1000, "r1", "one"), last;
	char texts[200] = "";

	(void)state;
	memcpy(event.key, "fall-1", sizeof("fall-1"));
	event.count = 1;
	assert_int_equal(journal_put_event(journal, &event), 0);
	memcpy(event.run, "r2", sizeof("r2")); /* another run's */
	memcpy(event.text, "two", sizeof("two"));
	assert_int_equal(journal_put_event(journal, &event), 0);
	event = fixture_event(2000, "r1", "three");
	assert_int_equal(journal_put_event(journal, &event), 0);
	event = fixture_event(1000, "r1", "one, over");
	memcpy(event.key, "fall-1", sizeof("fall-1"));
	event.count = 7;
	assert_int_equal(journal_put_event(journal, &event), 0);
	assert_int_equal(journal_each_event(journal, NULL, SIZE_MAX, store_event, texts), 0);
	assert_string_equal(texts, "three two one, over ");
	assert_int_equal(journal_each_event(journal, "r1", SIZE_MAX, keep_event, &last), 0);
	assert_string_equal(last.key, "fall-1");
	assert_int_equal(last.count, 7);
	event.run[0] = '\0';
	assert_int_equal(journal_put_event(journal, &event), -EINVAL);
	journal_close(journal);
}

static void test_run_ids_fit_and_differ(void **state)
{
	char id[RUN_ID_MAX], other[RUN_ID_MAX];

	(void)state;
	run_id_make("evo840", 1796077320999, id);
	assert_string_equal(id, "evo840-20261130T222200Z");
	run_id_make("abcdefghijklmnopqrstuv", 1796077320000, id);
	assert_string_equal(id, "abcdefghijklmnopqrstuv-20261130T222200Z");
	run_id_make("nvme-of-the-second-shelf-left", 0, id);
	run_id_make("nvme-of-the-second-shelf-right", 0, other);
	assert_int_equal(strlen(id), RUN_ID_MAX - 1);
	assert_memory_equal(id, "nvme-of-the-sec.", 16);
	assert_string_equal(id + 22, "-19700101T000000Z");
	assert_string_not_equal(id, other);
}

static void test_a_rolled_back_batch_leaves_nothing(void **state)
{
	struct journal *journal = journal_fixture_open(false), *reader;
	struct sample sample = fixture_sample(FIXTURE_START_MS, 10, 1);
	struct journal_sums sums;
	struct run_record run;

	(void)state;
	fixture_run(&run, "evo", 10);
	assert_int_equal(journal_put_run(journal, &run), 0);
	assert_int_equal(journal_begin(journal), 0);
	assert_int_equal(journal_put_sample(journal, run.id, &sample), 0);
	/* A reader beside the open transaction sees what is committed, at once. */
	reader = journal_fixture_open(true);
	assert_int_equal(journal_get_sums(reader, run.id, &sums), 0);
	assert_int_equal(sums.samples, 0);
	journal_rollback(journal);
	journal_rollback(journal); /* nothing open: nothing happens */
	assert_int_equal(journal_get_sums(journal, run.id, &sums), 0);
	assert_int_equal(sums.samples, 0);
	assert_int_equal(journal_begin(journal), 0);
	assert_int_equal(journal_put_sample(journal, run.id, &sample), 0);
	assert_int_equal(journal_commit(journal), 0);
	assert_int_equal(journal_get_sums(reader, run.id, &sums), 0);
	assert_int_equal(sums.samples, 1);
	assert_int_equal(journal_put_run(reader, &run), -EROFS);
	journal_close(reader);
	journal_close(journal);
}

static void test_a_second_writer_is_busy(void **state)
{
	struct journal *journal = journal_fixture_open(false), *second = journal_fixture_open(false);

	(void)state;
	assert_int_equal(journal_begin(journal), 0);
	assert_int_equal(journal_begin(second), -EBUSY);
	assert_int_equal(journal_commit(journal), 0);
	assert_int_equal(journal_begin(second), 0);
	journal_rollback(second);
	journal_close(second);
	journal_close(journal);
}

/* In a child without privileges; answers journal_open()'s result, 0 only when the sample is there too. */
static int read_as_nobody(void)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		struct journal_sums sums = { 0 };
		struct run_record run;
		struct journal *journal;
		int rc;

		if (setgid(65534) < 0 || setuid(65534) < 0)
			_exit(99);
		rc = journal_open(journal_rig.path, true, &journal);
		if (rc == 0) {
			fixture_run(&run, "evo", 10);
			rc = journal_get_sums(journal, run.id, &sums);
			if (rc == 0 && sums.samples != 1)
				rc = -98;
			journal_close(journal);
		} else if (!journal_error(NULL)[0]) {
			rc = -97; /* failed without saying why */
		}
		_exit(-rc);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return -WEXITSTATUS(status);
}

static void test_reading_from_a_folder_that_cannot_be_written(void **state)
{
	char wal[300];
	struct journal *journal;

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(chmod(journal_rig.folder, 0755), 0);
	journal = journal_fixture_open(false);
	journal_fixture_put_one(journal);
	assert_int_equal(read_as_nobody(), 0); /* beside the writer */
	journal_close(journal);
	(void)snprintf(wal, sizeof(wal), "%s-wal", journal_rig.path);
	assert_int_equal(access(wal, F_OK), -1);
	assert_int_equal(read_as_nobody(), 0); /* nobody writes: not even the shared memory is there */
}

static void test_a_log_left_behind_is_not_overlooked(void **state)
{
	char command[1200];
	struct journal *journal;

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(chmod(journal_rig.folder, 0755), 0);
	journal = journal_fixture_open(false);
	journal_fixture_put_one(journal);
	/* As a copy taken while the writer was at work, without the shared memory. */
	(void)snprintf(command, sizeof(command), "mkdir %s/copy && cp %s %s-wal %s/copy/", journal_rig.folder,
		journal_rig.path, journal_rig.path, journal_rig.folder);
	assert_int_equal(system(command), 0);
	journal_close(journal);
	(void)snprintf(journal_rig.path, sizeof(journal_rig.path), "%s/copy/journal.db", journal_rig.folder);
	assert_int_not_equal(read_as_nobody(), 0);
	assert_int_not_equal(read_as_nobody(), -98); /* not silently without the sample */
	assert_int_not_equal(read_as_nobody(), -97);
	journal = journal_fixture_open(true); /* root may build the shared memory */
	journal_close(journal);
}

static void test_damage_inside_is_an_error_of_the_call(void **state)
{
	struct journal *journal = journal_fixture_open(false);
	struct run_record run;
	char junk[4096];
	struct stat file;

	(void)state;
	journal_fixture_put_one(journal);
	journal_close(journal);
	memset(junk, 0x5a, sizeof(junk));
	assert_int_equal(stat(journal_rig.path, &file), 0);
	for (off_t page = 2; page < file.st_size / 4096; page++) /* all pages but the schema's */
		journal_fixture_write_at(page * 4096, junk, sizeof(junk));
	journal = journal_fixture_open(true);
	fixture_run(&run, "evo", 10);
	assert_int_equal(journal_get_run(journal, run.id, &run), -EBADMSG);
	assert_string_equal(journal_error(journal), "database disk image is malformed");
	journal_close(journal);
}

static int keep_health(const struct health_record *health, void *arg)
{
	struct text *all = arg;

	text_addf(all, "%s %lld %s %.*s;", health->run, (long long)health->t_ms, health->fields,
		(int)health->pages_bytes, health->pages ? (const char *)health->pages : "");
	return 0;
}

static void test_readings_are_kept_with_their_pages(void **state)
{
	static char fields[] = "{\"temp_c\":41}", later[] = "{\"temp_c\":42}", pages[] = "raw";
	struct journal *journal = journal_fixture_open(false);
	struct health_record health = { .fields = fields, .pages = (uint8_t *)pages, .pages_bytes = 3 };
	struct text all = TEXT_INIT;
	struct run_record run;
	int64_t last_ms = 0;

	(void)state;
	journal_fixture_put_one(journal);
	fixture_run(&run, "evo", 10);
	assert_int_equal(journal_put_health(journal, &health), -ENOENT);
	assert_int_equal(journal_get_last_health_ms(journal, run.id, &last_ms), 0);
	assert_true(last_ms == INT64_MIN);
	assert_int_equal(journal_get_last_health_ms(journal, "nosuch", &last_ms), -ENOENT);
	text_copy(health.run, sizeof(health.run), run.id);
	health.t_ms = 2000;
	assert_int_equal(journal_put_health(journal, &health), 0);
	health = (struct health_record){ .t_ms = 1000, .fields = later };
	text_copy(health.run, sizeof(health.run), run.id);
	assert_int_equal(journal_put_health(journal, &health), 0);
	assert_int_equal(journal_get_last_health_ms(journal, run.id, &last_ms), 0);
	assert_int_equal(last_ms, 2000);
	assert_int_equal(journal_each_health(journal, run.id, INT64_MIN, true, keep_health, &all), 0);
	assert_int_equal(journal_each_health(journal, run.id, 1001, false, keep_health, &all), 0);
	assert_int_equal(journal_each_health(journal, "nosuch", 0, false, keep_health, &all), -ENOENT);
	journal_close(journal);
	{
		struct text expected = TEXT_INIT;

		text_addf(&expected,
			"%s 1000 {\"temp_c\":42} ;%s 2000 {\"temp_c\":41} raw;%s 2000 {\"temp_c\":41} ;",
			run.id, run.id, run.id);
		assert_string_equal(text_string(&all), text_string(&expected));
		text_fini(&expected);
	}
	text_fini(&all);
}

static void test_the_file_is_kept_as_promised(void **state)
{
	static const struct {
		const char *pragma;
		const char *value;
	} row[] = {
		{ "PRAGMA journal_mode", "wal" },
		{ "PRAGMA user_version", "5" },
		{ "PRAGMA integrity_check", "ok" },
		{ "SELECT count(*) FROM pragma_table_list WHERE name IN"
		  " ('runs', 'run_texts', 'samples', 'histograms', 'events', 'health') AND strict",
			"6" },
	};
	struct journal *journal = journal_fixture_open(false);
	sqlite3 *db;

	(void)state;
	journal_fixture_put_one(journal);
	assert_int_equal(sqlite3_open(journal_rig.path, &db), SQLITE_OK);
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		sqlite3_stmt *statement;

		assert_int_equal(sqlite3_prepare_v2(db, row[i].pragma, -1, &statement, NULL), SQLITE_OK);
		assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
		assert_string_equal((const char *)sqlite3_column_text(statement, 0), row[i].value);
		(void)sqlite3_finalize(statement);
	}
	(void)sqlite3_close(db);
	journal_close(journal);
}

/* The child commits samples without end and tells the last one; it is killed wherever it happens to be. */
static void write_until_killed(volatile int64_t *committed)
{
	struct journal *journal;
	struct run_record run;

	fixture_run(&run, "evo", 10);
	if (journal_open(journal_rig.path, false, &journal) < 0)
		_exit(1);
	for (int64_t i = *committed + 1;; i++) {
		struct sample sample = fixture_sample(FIXTURE_START_MS + i * 10000, 10, (uint64_t)i);

		run.written_bytes = (uint64_t)i;
		if (journal_begin(journal) < 0 || journal_put_run(journal, &run) < 0 ||
			journal_put_sample(journal, run.id, &sample) < 0 || journal_commit(journal) < 0)
			_exit(1);
		*committed = i;
	}
}

static void test_kill_loses_nothing_that_was_committed(void **state)
{
	int64_t *committed = mmap(
		NULL, sizeof(*committed), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_true(committed != MAP_FAILED);
	for (unsigned round = 0; round < 8; round++) {
		struct journal_sums sums;
		struct journal *journal;
		struct run_record run;
		struct sample last;
		int64_t before = *committed;
		pid_t child = fork();
		int status;

		if (child == 0)
			write_until_killed(committed);
		while (*(volatile int64_t *)committed < before + 20)
			(void)usleep(1000 + round * 370);
		assert_int_equal(kill(child, SIGKILL), 0);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFSIGNALED(status));
		journal = journal_fixture_open(round % 2);
		fixture_run(&run, "evo", 10);
		assert_int_equal(journal_get_run(journal, run.id, &run), 0);
		assert_int_equal(journal_get_last_sample(journal, run.id, &last), 0);
		assert_int_equal(journal_get_sums(journal, run.id, &sums), 0);
		/* The one in flight may be there or not, but whole. */
		assert_in_range(last.write_bytes, (uint64_t)*committed, (uint64_t)*committed + 1);
		assert_int_equal(run.written_bytes, last.write_bytes);
		assert_int_equal(sums.samples, last.write_bytes);
		assert_int_equal(sums.write_bytes, last.write_bytes * (last.write_bytes + 1) / 2);
		*committed = (int64_t)last.write_bytes;
		journal_close(journal);
	}
	(void)munmap(committed, sizeof(*committed));
}

int main(void)
{
#define CASE(function)                                                                                       \
	cmocka_unit_test_setup_teardown(function, journal_fixture_set_up, journal_fixture_tear_down)
	static const struct CMUnitTest tests[] = {
		CASE(test_a_run_reads_back_as_it_was),
		CASE(test_what_cannot_be_stored_is_refused),
		CASE(test_samples_read_back_in_order_and_exact),
		CASE(test_a_window_is_open_on_the_left),
		CASE(test_time_only_grows_within_a_run),
		CASE(test_runs_come_newest_first),
		CASE(test_events_of_a_run_and_of_all),
		CASE(test_an_event_with_a_key_takes_the_place_of_the_one_before),
		CASE(test_run_ids_fit_and_differ),
		CASE(test_a_rolled_back_batch_leaves_nothing),
		CASE(test_a_second_writer_is_busy),
		CASE(test_reading_from_a_folder_that_cannot_be_written),
		CASE(test_a_log_left_behind_is_not_overlooked),
		CASE(test_damage_inside_is_an_error_of_the_call),
		CASE(test_readings_are_kept_with_their_pages),
		CASE(test_the_file_is_kept_as_promised),
		CASE(test_kill_loses_nothing_that_was_committed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
