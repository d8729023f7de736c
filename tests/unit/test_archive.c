/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "archive/archive.h"
#include "archive/rrdfile.h"
#include "archive_fixture.h"
#include "base/clock.h"

#define QUEUE_MAX 4096
#define SOON_NS	  (30 * NS_PER_S)

static char *folder;
static char journal_path[300], view_path[320];
static struct run_record run;
static struct archive *archive;

static int set_up(void **state)
{
	(void)state;
	folder = fixture_folder_new();
	(void)snprintf(journal_path, sizeof(journal_path), "%s/journal.db", folder);
	fixture_run(&run, "evo", 10);
	(void)snprintf(view_path, sizeof(view_path), "%s/runs/%s.rrd", folder, run.id);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	(void)umount2(folder, MNT_DETACH); /* what a failed test left */
	fixture_folder_remove(folder);
	return 0;
}

static void start(void)
{
	char why[256] = "";

	if (archive_start(folder, &archive, why) != 0)
		fail_msg("%s", why);
}

static struct sample numbered(unsigned number)
{
	return fixture_sample(FIXTURE_START_MS + number * 10000LL, 10, number);
}

static void put_numbered(unsigned from, unsigned to)
{
	for (unsigned i = from; i < to; i++) {
		struct sample sample = numbered(i);

		run.written_bytes = i;
		assert_true(archive_put_sample(archive, &run, &sample));
	}
}

static int check_next(const struct sample *sample, void *arg)
{
	unsigned *next = arg;

	assert_int_equal(sample->write_bytes, *next);
	assert_int_equal(sample->t_ms, FIXTURE_START_MS + *next * 10000LL);
	++*next;
	return 0;
}

/* The journal holds samples @from..@to-1 of the run, in order and no other. */
static void check_journal(unsigned from, unsigned to)
{
	struct journal *journal;
	unsigned next = from;

	assert_int_equal(journal_open(journal_path, true, &journal), 0);
	assert_int_equal(
		journal_each_sample(journal, run.id, INT64_MIN, INT64_MAX, true, check_next, &next), 0);
	assert_int_equal(next, to);
	journal_close(journal);
}

/* Whether the view holds samples @from..@to-1. */
static bool view_holds(unsigned from, unsigned to)
{
	int64_t base_s = FIXTURE_START_MS / 1000;
	struct rrdfile_series series;
	char why[RRDFILE_WHY_MAX];
	bool holds = true;

	if (rrdfile_fetch(view_path, "write_bytes", "AVERAGE", base_s + (from - 1) * 10LL,
		    base_s + (to - 1) * 10LL, 10, &series, why) != 0)
		return false;
	for (unsigned i = from; i < to && holds; i++) {
		double value = series.values[(base_s + i * 10LL - series.from_s) / 10 - 1];

		holds = !isnan(value) && (unsigned)value == i;
	}
	free(series.values);
	return holds;
}

static void wait_for_view(unsigned from, unsigned to)
{
	for (unsigned i = 0; i < 600; i++) {
		if (view_holds(from, to))
			return;
		(void)usleep(50000);
	}
	fail_msg("the view never got samples %u to %u", from, to);
}

static struct archive_stats stats_of(void)
{
	struct archive_stats stats;

	archive_read_stats(archive, &stats);
	return stats;
}

static int count_event(const struct event_record *event, void *arg)
{
	assert_string_equal(event->text, "hello");
	++*(unsigned *)arg;
	return 0;
}

static void test_what_is_flushed_is_stored_and_shown(void **state)
{
	struct event_record event = fixture_event(FIXTURE_START_MS, run.id, "hello");
	struct archive_stats stats;
	struct run_record stored;
	struct journal *journal;
	unsigned events = 0;

	(void)state;
	start();
	assert_true(archive_open_run(archive, &run, 20000));
	assert_true(archive_put_event(archive, &event));
	put_numbered(1, 1001);
	assert_true(archive_flush(archive, SOON_NS));
	stats = stats_of();
	assert_int_equal(stats.queued, 0);
	assert_int_equal(stats.lost, 0);
	assert_int_equal(stats.committed, 1002);
	assert_int_equal(stats.journal_failures, 0);
	assert_int_equal(stats.rrd_failures, 0);
	assert_int_equal(stats.rrd_rebuilds, 0); /* a new run has nothing to rebuild */
	assert_string_equal(stats.last_error, "");
	check_journal(1, 1001);
	wait_for_view(1, 1001);
	assert_int_equal(journal_open(journal_path, true, &journal), 0);
	assert_int_equal(journal_get_run(journal, run.id, &stored), 0);
	assert_int_equal(stored.written_bytes, 1000);
	assert_string_equal(stored.host_json, run.host_json);
	assert_int_equal(journal_each_event(journal, run.id, 10, count_event, &events), 0);
	assert_int_equal(events, 1);
	journal_close(journal);
	assert_true(archive_stop(archive, SOON_NS));
	assert_true(archive_stop(NULL, 0));
}

static void test_the_view_of_an_ended_run_is_closed(void **state)
{
	char marker[330];

	(void)state;
	(void)snprintf(marker, sizeof(marker), "%s.open", view_path);
	start();
	assert_true(archive_open_run(archive, &run, 3600));
	put_numbered(1, 3);
	assert_true(archive_flush(archive, SOON_NS));
	assert_int_equal(access(marker, F_OK), 0);
	run.ended_ms = FIXTURE_START_MS + 30000;
	run.progress.phase = PHASE_DONE;
	assert_true(archive_put_run(archive, &run));
	assert_true(archive_flush(archive, SOON_NS));
	assert_int_equal(access(marker, F_OK), -1);
	assert_true(view_holds(1, 3));
	/* Opened again it goes on where it was. */
	run.ended_ms = INT64_MIN;
	assert_true(archive_open_run(archive, &run, 3600));
	put_numbered(3, 5);
	assert_true(archive_flush(archive, SOON_NS));
	wait_for_view(1, 5);
	assert_int_equal(stats_of().rrd_rebuilds, 0);
	assert_true(archive_stop(archive, SOON_NS));
	assert_int_equal(access(marker, F_OK), -1);
}

static void test_a_record_that_cannot_be_is_counted_and_passed_over(void **state)
{
	struct sample sample = numbered(1);

	(void)state;
	start();
	put_numbered(1, 3);
	assert_true(archive_put_sample(archive, &run, &sample)); /* time goes back */
	sample = numbered(9);
	sample.write_bytes = UINT64_MAX - 5;
	assert_true(archive_put_sample(archive, &run, &sample));
	put_numbered(3, 5);
	assert_true(archive_flush(archive, SOON_NS));
	assert_int_equal(stats_of().lost, 2);
	assert_int_equal(stats_of().committed, 4);
	check_journal(1, 5);
	assert_true(archive_stop(archive, SOON_NS));
}

static void test_a_full_queue_counts_what_it_refuses(void **state)
{
	struct journal *blocker;
	struct sample sample;

	(void)state;
	start();
	assert_int_equal(journal_open(journal_path, false, &blocker), 0);
	assert_int_equal(journal_begin(blocker), 0); /* another program holds the journal */
	put_numbered(1, QUEUE_MAX + 1);
	sample = numbered(QUEUE_MAX + 1);
	assert_false(archive_put_sample(archive, &run, &sample));
	assert_false(archive_put_run(archive, &run));
	assert_false(archive_flush(archive, 50 * NS_PER_MS));
	assert_int_equal(stats_of().queued, QUEUE_MAX);
	assert_int_equal(stats_of().lost, 2);
	while (stats_of().journal_failures == 0)
		(void)usleep(10000);
	assert_string_equal(stats_of().last_error, "journal: database is locked");
	journal_rollback(blocker);
	journal_close(blocker);
	assert_true(archive_flush(archive, SOON_NS));
	assert_string_equal(stats_of().last_error, "");
	assert_int_equal(stats_of().lost, 2);
	check_journal(1, QUEUE_MAX + 1);
	put_numbered(QUEUE_MAX + 1, QUEUE_MAX + 10);
	assert_true(archive_stop(archive, SOON_NS));
	check_journal(1, QUEUE_MAX + 10);
}

static void test_a_stop_does_not_wait_for_ever(void **state)
{
	struct journal *blocker;
	uint64_t begin_ns = clock_mono_ns();

	(void)state;
	start();
	assert_int_equal(journal_open(journal_path, false, &blocker), 0);
	assert_int_equal(journal_begin(blocker), 0);
	put_numbered(1, 4);
	assert_false(archive_stop(archive, 200 * NS_PER_MS));
	assert_true(clock_mono_ns() - begin_ns < 8 * NS_PER_S);
	journal_rollback(blocker);
	journal_close(blocker);
}

static void fill_disk(const char *path)
{
	static char zeros[65536];
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	while (write(fd, zeros, sizeof(zeros)) > 0)
		;
	while (write(fd, zeros, 4096) > 0)
		;
	(void)close(fd);
}

static void test_a_full_disk_delays_and_loses_nothing(void **state)
{
	char filler[300];

	(void)state;
	if (geteuid() != 0 || mount("tmpfs", folder, "tmpfs", 0, "size=24M") != 0)
		skip();
	(void)snprintf(filler, sizeof(filler), "%s/filler", folder);
	start();
	assert_true(archive_open_run(archive, &run, 40000));
	put_numbered(1, 51);
	assert_true(archive_flush(archive, SOON_NS));
	fill_disk(filler);
	for (unsigned i = 51; i < 3051; i++) {
		struct sample sample = numbered(i);

		sample.hist_bytes = 1000;
		memset(sample.hist, (int)i & 0xff, 1000);
		assert_true(archive_put_sample(archive, &run, &sample));
	}
	assert_false(archive_flush(archive, NS_PER_S));
	assert_string_equal(stats_of().last_error, "journal: database or disk is full");
	assert_true(stats_of().queued > 0);
	assert_int_equal(unlink(filler), 0);
	assert_true(archive_flush(archive, SOON_NS));
	assert_int_equal(stats_of().lost, 0);
	assert_int_equal(stats_of().queued, 0);
	check_journal(1, 3051);
	wait_for_view(1, 3051);
	assert_string_equal(stats_of().last_error, "");
	assert_true(archive_stop(archive, SOON_NS));
	assert_int_equal(umount(folder), 0);
}

static void test_a_view_without_room_never_holds_the_journal(void **state)
{
	(void)state;
	if (geteuid() != 0 || mount("tmpfs", folder, "tmpfs", 0, "size=16M") != 0)
		skip();
	start();
	assert_true(archive_open_run(archive, &run, 0)); /* 14 days: 23 MB */
	put_numbered(1, 51);
	assert_true(archive_flush(archive, SOON_NS));
	check_journal(1, 51);
	assert_int_not_equal(stats_of().rrd_failures, 0);
	assert_non_null(strstr(stats_of().last_error, " bytes free, the view needs "));
	assert_int_equal(access(view_path, F_OK), -1);
	assert_int_equal(mount("tmpfs", folder, "tmpfs", MS_REMOUNT, "size=64M"), 0);
	wait_for_view(1, 51);
	assert_true(archive_stop(archive, SOON_NS));
	assert_int_equal(umount(folder), 0);
}

static void test_a_view_lost_while_running_is_made_again(void **state)
{
	(void)state;
	start();
	assert_true(archive_open_run(archive, &run, 3600));
	put_numbered(1, 11);
	assert_true(archive_flush(archive, SOON_NS));
	wait_for_view(1, 11);
	assert_int_equal(unlink(view_path), 0);
	put_numbered(11, 12);
	assert_true(archive_flush(archive, SOON_NS));
	wait_for_view(1, 12);
	assert_int_equal(stats_of().rrd_rebuilds, 1);
	assert_int_equal(truncate(view_path, 1234), 0);
	put_numbered(12, 13);
	assert_true(archive_flush(archive, SOON_NS));
	wait_for_view(1, 13);
	assert_int_equal(stats_of().rrd_rebuilds, 2);
	assert_int_equal(stats_of().rrd_failures, 2);
	assert_true(archive_stop(archive, SOON_NS));
}

static int keep_text(const struct event_record *event, void *arg)
{
	(void)snprintf(arg, EVENT_TEXT_MAX, "%s %s %s", event->kind, event_severity_name(event->severity),
		event->text);
	return 0;
}

static void expect_event(const char *what)
{
	char text[EVENT_TEXT_MAX] = "", expected[EVENT_TEXT_MAX];
	struct journal *journal;

	assert_int_equal(journal_open(journal_path, true, &journal), 0);
	assert_int_equal(journal_each_event(journal, NULL, 1, keep_text, text), 0);
	journal_close(journal);
	(void)snprintf(expected, sizeof(expected), "error critical %s %s", journal_path, what);
	assert_string_equal(text, expected);
}

static void remove_journal(void)
{
	static const char *const endings[] = { "", "-wal", "-shm" };
	char path[320];

	for (size_t i = 0; i < 3; i++) {
		(void)snprintf(path, sizeof(path), "%s%s", journal_path, endings[i]);
		assert_int_equal(unlink(path), 0);
	}
}

static void test_a_journal_removed_while_running_is_written_again(void **state)
{
	(void)state;
	start();
	assert_true(archive_open_run(archive, &run, 3600));
	put_numbered(1, 51);
	assert_true(archive_flush(archive, SOON_NS));
	remove_journal();
	put_numbered(51, 52);
	assert_true(archive_flush(archive, SOON_NS));
	check_journal(1, 52);
	expect_event("was removed while in use: written again with all its records");
	/* Once more, and this time the end of the service is what meets it. */
	put_numbered(52, 53);
	assert_true(archive_flush(archive, SOON_NS));
	remove_journal();
	put_numbered(53, 54);
	assert_true(archive_stop(archive, SOON_NS));
	check_journal(1, 54);
}

static void test_a_journal_that_cannot_be_written_again_waits_for_its_folder(void **state)
{
	char away[320];

	(void)state;
	start();
	put_numbered(1, 11);
	assert_true(archive_flush(archive, SOON_NS));
	remove_journal();
	(void)snprintf(away, sizeof(away), "%s-away", folder);
	assert_int_equal(rename(folder, away), 0);
	put_numbered(11, 12);
	assert_false(archive_flush(archive, NS_PER_S));
	assert_non_null(
		strstr(stats_of().last_error, "was removed while in use, and can't be written again"));
	assert_int_equal(rename(away, folder), 0);
	assert_true(archive_flush(archive, SOON_NS));
	check_journal(1, 12);
	assert_int_equal(stats_of().lost, 0);
	assert_true(archive_stop(archive, SOON_NS));
}

static void test_a_journal_that_was_replaced_is_left_as_it_is(void **state)
{
	char other[320];
	struct journal *journal;

	(void)state;
	start();
	put_numbered(1, 11);
	assert_true(archive_flush(archive, SOON_NS));
	(void)snprintf(other, sizeof(other), "%s/other", folder);
	assert_int_equal(journal_open(other, false, &journal), 0);
	journal_close(journal);
	remove_journal();
	assert_int_equal(rename(other, journal_path), 0);
	put_numbered(11, 13);
	assert_true(archive_flush(archive, SOON_NS));
	check_journal(11, 13);
	expect_event("was replaced while in use: records go on in the new file");
	assert_true(archive_stop(archive, SOON_NS));
}

/* Holds the view's lock, as rrdtool does while it reads or writes. */
static pid_t lock_view_in_child(void)
{
	int ready[2];
	pid_t child;
	char byte;

	assert_int_equal(pipe(ready), 0);
	child = fork();
	if (child == 0) {
		struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
		int fd = open(view_path, O_RDWR | O_CLOEXEC);

		if (fcntl(fd, F_SETLK, &lock) < 0 || write(ready[1], "x", 1) != 1)
			_exit(1);
		(void)sleep(60);
		_exit(0);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	(void)close(ready[0]);
	(void)close(ready[1]);
	return child;
}

static void test_a_locked_view_gets_its_samples_later(void **state)
{
	pid_t child;

	(void)state;
	start();
	assert_true(archive_open_run(archive, &run, 3600));
	put_numbered(1, 11);
	assert_true(archive_flush(archive, SOON_NS));
	wait_for_view(1, 11);
	child = lock_view_in_child();
	put_numbered(11, 14);
	assert_true(archive_flush(archive, SOON_NS));
	check_journal(1, 14);
	assert_non_null(strstr(stats_of().last_error, "could not lock"));
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	wait_for_view(1, 14);
	assert_int_equal(stats_of().rrd_rebuilds, 0);
	assert_true(archive_stop(archive, SOON_NS));
}

#define PUTTERS	   4
#define PER_THREAD 150

static void *put_from_thread(void *arg)
{
	const struct run_record *mine = arg;
	struct event_record event = fixture_event(FIXTURE_START_MS, mine->id, "hello");

	for (unsigned i = 1; i <= PER_THREAD; i++) {
		struct sample sample = numbered(i);
		struct archive_stats stats;

		(void)archive_put_sample(archive, mine, &sample);
		(void)archive_put_event(archive, &event);
		archive_read_stats(archive, &stats);
	}
	return NULL;
}

static void test_threads_may_put_at_once(void **state)
{
	struct run_record *runs = calloc(PUTTERS, sizeof(*runs));
	pthread_t threads[PUTTERS];
	struct journal *journal;

	(void)state;
	assert_non_null(runs);
	start();
	for (unsigned i = 0; i < PUTTERS; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "drive-%u", i);
		fixture_run(&runs[i], name, 10);
		assert_true(archive_open_run(archive, &runs[i], 3600));
		assert_int_equal(pthread_create(&threads[i], NULL, put_from_thread, &runs[i]), 0);
	}
	for (unsigned i = 0; i < PUTTERS; i++)
		(void)pthread_join(threads[i], NULL);
	assert_true(archive_flush(archive, SOON_NS));
	assert_int_equal(stats_of().committed, PUTTERS * (2 * PER_THREAD + 1));
	assert_true(archive_stop(archive, SOON_NS));
	assert_int_equal(journal_open(journal_path, true, &journal), 0);
	for (unsigned i = 0; i < PUTTERS; i++) {
		unsigned next = 1, events = 0;

		assert_int_equal(journal_each_sample(
					 journal, runs[i].id, INT64_MIN, INT64_MAX, false, check_next, &next),
			0);
		assert_int_equal(next, PER_THREAD + 1);
		assert_int_equal(journal_each_event(journal, runs[i].id, SIZE_MAX, count_event, &events), 0);
		assert_int_equal(events, PER_THREAD);
		(void)snprintf(view_path, sizeof(view_path), "%s/runs/%s.rrd", folder, runs[i].id);
		assert_true(view_holds(1, PER_THREAD + 1));
	}
	journal_close(journal);
	free(runs);
}

static void put_until_killed(volatile unsigned *flushed)
{
	char why[256];

	if (archive_start(folder, &archive, why) < 0)
		_exit(1);
	(void)archive_open_run(archive, &run, 3600);
	for (unsigned i = *flushed + 1;; i++) {
		struct sample sample = numbered(i);

		run.written_bytes = i;
		(void)archive_put_sample(archive, &run, &sample);
		if (i % 3 == 0 && archive_flush(archive, SOON_NS))
			*flushed = i;
	}
}

static int last_number(const struct sample *sample, void *arg)
{
	*(unsigned *)arg = (unsigned)sample->write_bytes;
	return 0;
}

static void test_kill_loses_nothing_that_was_flushed(void **state)
{
	unsigned *flushed = mmap(
		NULL, sizeof(*flushed), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_true(flushed != MAP_FAILED);
	for (unsigned round = 0; round < 4; round++) {
		unsigned before = *flushed, last = 0;
		struct journal *journal;
		pid_t child = fork();

		if (child == 0)
			put_until_killed(flushed);
		while (*(volatile unsigned *)flushed < before + 30)
			(void)usleep(1000 + round * 777);
		assert_int_equal(kill(child, SIGKILL), 0);
		assert_int_equal(waitpid(child, NULL, 0), child);
		start();
		assert_true(archive_open_run(archive, &run, 3600));
		assert_true(archive_flush(archive, SOON_NS));
		assert_int_equal(journal_open(journal_path, true, &journal), 0);
		assert_int_equal(
			journal_each_sample(journal, run.id, INT64_MIN, INT64_MAX, false, last_number, &last),
			0);
		journal_close(journal);
		assert_true(last >= *flushed);
		check_journal(1, last + 1);
		wait_for_view(1, last + 1);
		assert_true(archive_stop(archive, SOON_NS));
		*flushed = last;
	}
	(void)munmap(flushed, sizeof(*flushed));
}

static void test_a_bad_state_directory_is_said(void **state)
{
	char why[256] = "", path[300];

	(void)state;
	archive = NULL;
	assert_int_equal(archive_start("/nonexistent/state", &archive, why), -ENOENT);
	assert_string_equal(why, "/nonexistent/state: No such file or directory");
	(void)close(open(journal_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	assert_int_equal(truncate(journal_path, 100), 0);
	assert_int_equal(archive_start(folder, &archive, why), -EBADMSG);
	(void)snprintf(path, sizeof(path), "%s: file is not a database", journal_path);
	assert_string_equal(why, path);
	assert_null(archive);
}

int main(void)
{
#define CASE(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
	static const struct CMUnitTest tests[] = {
		CASE(test_what_is_flushed_is_stored_and_shown),
		CASE(test_the_view_of_an_ended_run_is_closed),
		CASE(test_a_record_that_cannot_be_is_counted_and_passed_over),
		CASE(test_a_full_queue_counts_what_it_refuses),
		CASE(test_a_stop_does_not_wait_for_ever),
		CASE(test_a_full_disk_delays_and_loses_nothing),
		CASE(test_a_view_without_room_never_holds_the_journal),
		CASE(test_a_view_lost_while_running_is_made_again),
		CASE(test_a_journal_removed_while_running_is_written_again),
		CASE(test_a_journal_that_cannot_be_written_again_waits_for_its_folder),
		CASE(test_a_journal_that_was_replaced_is_left_as_it_is),
		CASE(test_a_locked_view_gets_its_samples_later),
		CASE(test_threads_may_put_at_once),
		CASE(test_kill_loses_nothing_that_was_flushed),
		CASE(test_a_bad_state_directory_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
