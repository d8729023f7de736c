/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The delivery thread and the file of its messages: full, locked, damaged, of before a kill, and what is given up. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "alert/delivery.h"
#include "alert/outbox.h"
#include "alert_fixture.h"
#include "base/clock.h"
#include "base/text.h"
#include "delivery_fixture.h"

#define PAGE_BYTES 4096

static void damage(int64_t from_page, int64_t pages)
{
	FILE *file = fopen(alert_path(OUTBOX_FILE), "r+");

	assert_non_null(file);
	assert_int_equal(fseek(file, (from_page - 1) * PAGE_BYTES, SEEK_SET), 0);
	for (int64_t i = 0; i < pages * PAGE_BYTES / 8; i++)
		(void)fputs("garbage ", file);
	assert_int_equal(fclose(file), 0);
}

static void fill_disk(const char *path)
{
	static const char zeros[4096];
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	while (write(fd, zeros, sizeof(zeros)) > 0)
		;
	(void)close(fd);
}

/* Who kills the process in the life of one message: itself, before it is put or after it is noted, or the program that
 * sends it, before and after it has done so. */
static const struct life {
	const char *killer; /* a step of the program; "": none */
	bool is_put;
	unsigned sent; /* in all, under one id */
	bool is_told;  /* the alert counts as told: exactly when its message is there */
} lives[] = {
	{ "", false, 0, false },
	{ "before-send", true, 1, true },
	{ "after-send", true, 2, true },
	{ "", true, 1, true },
};

static void live(const struct life *life)
{
	delivery_fixture_begin();
	if (life->is_put) {
		delivery_fixture_put("evo");
		while (*life->killer || delivery_fixture_status(0).last_ms == INT64_MIN)
			delivery_fixture_sleep_ms(1);
	}
	(void)kill(getpid(), SIGKILL);
}

static void check_ids(unsigned count)
{
	char ids[2][ALERT_MESSAGE_ID_MAX] = { "", "" };

	assert_int_equal(delivery_fixture_lines(), count);
	if (count && sscanf(delivery_fixture_log(), "%39s %39s", ids[0], ids[1]) == 2)
		assert_string_equal(ids[0], ids[1]);
}

static void test_what_waits_survives_the_end(void **state)
{
	(void)state;
	delivery_fixture_program("test -e \"$log.up\" || exit 7; echo \"$DRIVESOAK_DRIVE\" >>\"$log\"");
	delivery_rig.config.notify_count = 1;
	delivery_fixture_begin();
	delivery_fixture_put("evo");
	WAIT_FOR(delivery_fixture_status(0).is_failing);
	delivery_fixture_stop();
	assert_int_equal(close(creat(alert_path("log.up"), 0600)), 0);
	delivery_fixture_start();
	WAIT_FOR(delivery_fixture_lines() == 1);
	assert_string_equal(delivery_fixture_log(), "evo\n");
	WAIT_FOR(delivery_fixture_status(0).queued == 0);
}

static void test_a_damaged_file_is_put_aside(void **state)
{
	FILE *file = fopen(alert_path(OUTBOX_FILE), "w");

	(void)state;
	assert_non_null(file);
	for (int i = 0; i < 1000; i++)
		(void)fputs("garbage ", file);
	(void)fclose(file);
	delivery_fixture_program("echo \"$DRIVESOAK_DRIVE\" >>\"$log\"");
	delivery_rig.config.notify_count = 1;
	delivery_fixture_begin();
	delivery_fixture_put("evo");
	WAIT_FOR(delivery_fixture_lines() == 1);
	assert_int_equal(access(alert_path(OUTBOX_FILE ".damaged"), F_OK), 0);
}

static void test_a_file_that_cannot_be_written_holds_no_message(void **state)
{
	struct outbox_queue queue;
	char why[OUTBOX_WHY_MAX], first[ALERT_MESSAGE_ID_MAX], second[ALERT_MESSAGE_ID_MAX];
	struct outbox *outbox;
	sqlite3 *lock;

	(void)state;
	delivery_fixture_program("echo \"$DRIVESOAK_DRIVE $DRIVESOAK_MESSAGE_ID\" >>\"$log\"");
	delivery_rig.config.notify_count = 1;
	delivery_fixture_begin();
	delivery_fixture_lock(&lock);
	delivery_fixture_put("one");
	delivery_fixture_put("two");
	WAIT_FOR(delivery_fixture_lines() == 2);
	assert_int_equal(sscanf(delivery_fixture_log(), "one %39s\ntwo %39s\n", first, second), 2);
	assert_int_equal(strlen(first), 32);
	delivery_fixture_unlock(lock);
	/* Then it is stored, as delivered. */
	delivery_fixture_stop();
	assert_int_equal(outbox_open(alert_path(OUTBOX_FILE), true, &outbox, why), 0);
	assert_int_equal(outbox_get_queue(outbox, &(struct outbox_channel){ "ops", "command" }, &queue), 0);
	assert_int_equal(queue.queued, 0);
	assert_int_equal(outbox_get_message(outbox, 1, &delivery_rig.scratch), 0);
	assert_string_equal(delivery_rig.scratch.id, first);
	assert_int_equal(outbox_get_message(outbox, 2, &delivery_rig.scratch), 0);
	assert_string_equal(delivery_rig.scratch.id, second);
	outbox_close(outbox);
	assert_int_equal(delivery_fixture_lines(), 2);
}

static void test_however_many_are_told_while_the_file_cannot_be_written(void **state)
{
	sqlite3 *lock;
	char last[32];

	(void)state;
	delivery_fixture_program("echo \"$DRIVESOAK_DRIVE\" >>\"$log\"");
	delivery_rig.config.notify_count = 1;
	delivery_fixture_begin();
	delivery_fixture_lock(&lock);
	for (int i = 0; i < 3 * DELIVERY_QUEUE_MAX; i++) {
		(void)snprintf(last, sizeof(last), "drive%d", i);
		WAIT_FOR(delivery_has_room(delivery_rig.delivery));
		delivery_fixture_put(last);
	}
	WAIT_FOR(delivery_fixture_lines() == 3 * DELIVERY_QUEUE_MAX);
	delivery_fixture_unlock(lock);
	WAIT_FOR(delivery_fixture_status(0).queued == 0);
	delivery_fixture_stop();
	/* Of each the alert is kept. */
	{
		struct outbox *outbox;
		char why[OUTBOX_WHY_MAX];
		int count = 0;

		assert_int_equal(outbox_open(alert_path(OUTBOX_FILE), true, &outbox, why), 0);
		assert_int_equal(outbox_each_last(outbox, delivery_fixture_count, &count), 0);
		assert_int_equal(count, 3 * DELIVERY_QUEUE_MAX);
		outbox_close(outbox);
	}
}

static void test_a_result_that_cannot_be_written_is_no_second_message(void **state)
{
	sqlite3 *lock;

	(void)state;
	delivery_fixture_program(
		"echo \"$DRIVESOAK_DRIVE\" >>\"$log\"; until test -e \"$log.go\"; do sleep 0.02; done");
	delivery_rig.config.notify_count = 1;
	delivery_fixture_begin();
	delivery_fixture_put("one");
	WAIT_FOR(delivery_fixture_lines() == 1);
	delivery_fixture_lock(&lock);
	assert_int_equal(close(creat(alert_path("log.go"), 0600)), 0);
	WAIT_FOR(delivery_fixture_status(0).last_ms != INT64_MIN);
	delivery_fixture_sleep_ms(500); /* ten pauses */
	/* What comes meanwhile goes out, and what was delivered not again. */
	delivery_fixture_put("two");
	WAIT_FOR(delivery_fixture_lines() == 2);
	assert_string_equal(delivery_fixture_log(), "one\ntwo\n");
	delivery_fixture_unlock(lock);
	WAIT_FOR(delivery_fixture_status(0).queued == 0);
	delivery_fixture_sleep_ms(200);
	assert_int_equal(delivery_fixture_lines(), 2);
}

static void test_a_message_that_cannot_be_read_holds_no_other(void **state)
{
	(void)state;
	delivery_fixture_program("test -e \"$log.up\" || exit 7; echo \"$DRIVESOAK_DRIVE\" >>\"$log\"");
	delivery_rig.config.notify_count = 1;
	delivery_fixture_begin();
	for (int i = 0; i < 40; i++)
		delivery_fixture_put(i < 39 ? "evo" : "last");
	WAIT_FOR(delivery_fixture_status(0).queued == 40);
	delivery_fixture_stop();
	damage(delivery_fixture_number(
		       "SELECT min(pageno) FROM dbstat WHERE name = 'entries' AND pagetype = 'leaf'"),
		1);
	assert_int_equal(close(creat(alert_path("log.up"), 0600)), 0);
	delivery_fixture_start();
	WAIT_FOR(strstr(delivery_fixture_log(), "last\n") && delivery_fixture_status(0).queued == 0);
	assert_int_equal(delivery_fixture_number("SELECT count(*) FROM deliveries WHERE state = 'given-up'") +
				 delivery_fixture_lines(),
		40);
	assert_in_range(delivery_fixture_lines(), 5, 35);
}

static void test_an_old_message_is_given_up_only_after_tries(void **state)
{
	(void)state;
	delivery_fixture_program("test -e \"$log.up\" || exit 7; echo \"$DRIVESOAK_DRIVE\" >>\"$log\"");
	delivery_rig.config.notify_count = 1;
	delivery_fixture_begin();
	delivery_fixture_put("evo");
	WAIT_FOR(delivery_fixture_status(0).is_failing);
	delivery_fixture_stop();
	/* Days without power. */
	delivery_fixture_change("UPDATE messages SET t_ms = t_ms - 10 * 86400000");
	delivery_fixture_start();
	delivery_fixture_sleep_ms(600);
	assert_int_equal(delivery_fixture_status(0).queued, 1);
	assert_int_equal(close(creat(alert_path("log.up"), 0600)), 0);
	WAIT_FOR(delivery_fixture_lines() == 1);
}

static void test_what_is_tried_for_long_is_given_up(void **state)
{
	(void)state;
	delivery_fixture_program("exit 7");
	delivery_rig.config.notify_count = 1;
	delivery_rig.give_up_ns = 900 * NS_PER_MS;
	delivery_fixture_begin();
	delivery_fixture_put("evo");
	WAIT_FOR(delivery_fixture_status(0).is_failing);
	assert_int_equal(delivery_fixture_status(0).queued, 1);
	WAIT_FOR(delivery_fixture_status(0).queued == 0);
}

/* Past its first pages, so that it opens. */
static void test_a_file_damaged_further_on_is_put_aside(void **state)
{
	(void)state;
	delivery_fixture_program("echo \"$DRIVESOAK_DRIVE\" >>\"$log\"");
	delivery_rig.config.notify_count = 1;
	delivery_fixture_begin();
	for (int i = 0; i < 40; i++)
		delivery_fixture_put("evo");
	WAIT_FOR(delivery_fixture_lines() == 40);
	delivery_fixture_stop();
	damage(2, delivery_fixture_number("PRAGMA page_count") - 1);
	delivery_fixture_start();
	delivery_fixture_put("pro");
	WAIT_FOR(delivery_fixture_lines() == 41);
	assert_int_equal(access(alert_path(OUTBOX_FILE ".damaged"), F_OK), 0);
}

/* What waits in the file is sent once there is room; what comes meanwhile need not wait for that. */
static void test_a_full_disk_at_the_start_holds_neither_it_nor_messages(void **state)
{
	char folder[200], up[220];

	(void)state;
	text_copy(folder, sizeof(folder), alert_path(""));
	if (geteuid() != 0 || mount("tmpfs", folder, "tmpfs", 0, "size=1M") != 0)
		skip();
	(void)snprintf(delivery_rig.log_path, sizeof(delivery_rig.log_path), "/tmp/drivesoak-delivery-%d.log",
		(int)getpid());
	delivery_fixture_program("test -e \"$log.up\" || exit 7; echo \"$DRIVESOAK_DRIVE\" >>\"$log\"");
	delivery_rig.config.notify_count = 1;
	delivery_fixture_begin();
	delivery_fixture_put("one");
	WAIT_FOR(delivery_fixture_status(0).is_failing);
	delivery_fixture_stop();
	fill_disk(alert_path("filler"));
	(void)snprintf(up, sizeof(up), "%s.up", delivery_rig.log_path);
	assert_int_equal(close(creat(up, 0600)), 0);
	delivery_fixture_start();
	delivery_fixture_put("two");
	WAIT_FOR(strcmp(delivery_fixture_log(), "two\n") == 0);
	assert_int_equal(unlink(alert_path("filler")), 0);
	WAIT_FOR(strcmp(delivery_fixture_log(), "two\none\n") == 0 && delivery_fixture_status(0).queued == 0);
	delivery_fixture_stop();
	(void)unlink(up);
	(void)unlink(delivery_rig.log_path);
	assert_int_equal(umount(folder), 0);
}

static void check_past(int rc, int count)
{
	int episodes = 0, last = 0;

	assert_int_equal(delivery_each_last(delivery_rig.delivery, delivery_fixture_count, &last), rc);
	assert_int_equal(
		delivery_each_episode(delivery_rig.delivery, 10, delivery_fixture_count, &episodes), rc);
	assert_int_equal(last, count);
	assert_int_equal(episodes, count);
}

/* There need not be room for the file beside it to read what fired before the start. */
static void test_a_full_disk_at_the_start_hides_nothing_of_before(void **state)
{
	char folder[200];

	(void)state;
	text_copy(folder, sizeof(folder), alert_path(""));
	if (geteuid() != 0 || mount("tmpfs", folder, "tmpfs", 0, "size=1M") != 0)
		skip();
	fill_disk(alert_path("filler"));
	delivery_rig.config.notify_count = 1;
	delivery_fixture_open(); /* nothing fired ever */
	check_past(0, 0);
	delivery_fixture_stop();
	assert_int_equal(unlink(alert_path("filler")), 0);
	delivery_fixture_begin();
	delivery_fixture_put("evo");
	delivery_fixture_stop();
	fill_disk(alert_path("filler"));
	delivery_fixture_open();
	check_past(0, 1);
	assert_int_equal(delivery_start(delivery_rig.delivery), 0);
	assert_int_equal(unlink(alert_path("filler")), 0);
	delivery_fixture_put("pro");
	WAIT_FOR(delivery_fixture_number("SELECT count(*) FROM alerts") == 2);
	delivery_fixture_stop();
	assert_int_equal(umount(folder), 0);
}

static void test_what_cannot_be_read_at_the_start_is_an_error(void **state)
{
	sqlite3 *lock;

	(void)state;
	delivery_fixture_open();
	check_past(0, 0);
	delivery_fixture_stop();
	assert_int_equal(sqlite3_open(alert_path(OUTBOX_FILE), &lock), SQLITE_OK);
	assert_int_equal(
		sqlite3_exec(lock, "PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE", NULL, NULL, NULL),
		SQLITE_OK);
	delivery_fixture_open();
	check_past(-EBUSY, 0);
	delivery_fixture_stop();
	delivery_fixture_unlock(lock);
}

static void test_a_kill_between_any_two_steps_loses_nothing(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lives); i++) {
		struct outbox *outbox;
		char why[OUTBOX_WHY_MAX];
		int status = 0, told = 0;
		pid_t child;

		delivery_fixture_program("die() { test -e \"$log.$1\" && rm \"$log.$1\" && kill -9 $PPID; }\n"
					 "die before-send && exit 1\n"
					 "echo \"$DRIVESOAK_MESSAGE_ID\" >>\"$log\"\n"
					 "die after-send; exit 0");
		delivery_rig.config.notify_count = 1;
		{
			char mark[256];

			(void)snprintf(mark, sizeof(mark), "%s.%s", delivery_rig.log_path, lives[i].killer);
			assert_int_equal(close(creat(mark, 0600)), 0);
		}
		child = fork();
		if (child == 0)
			live(&lives[i]);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		delivery_fixture_begin();
		WAIT_FOR(delivery_fixture_status(0).queued == 0);
		delivery_fixture_stop();
		check_ids(lives[i].sent);
		assert_int_equal(outbox_open(alert_path(OUTBOX_FILE), true, &outbox, why), 0);
		assert_int_equal(outbox_each_firing(outbox, delivery_fixture_count, &told), 0);
		assert_int_equal(told, lives[i].is_told);
		outbox_close(outbox);
		alert_board_free(delivery_rig.board);
		delivery_rig.board = NULL;
		assert_int_equal(alert_tear_down(state), 0);
		assert_int_equal(delivery_fixture_set_up(state), 0);
	}
}

int main(void)
{
#define CASE(function)                                                                                       \
	cmocka_unit_test_setup_teardown(function, delivery_fixture_set_up, delivery_fixture_tear_down)
	static const struct CMUnitTest tests[] = {
		CASE(test_what_waits_survives_the_end),
		CASE(test_a_damaged_file_is_put_aside),
		CASE(test_a_file_that_cannot_be_written_holds_no_message),
		CASE(test_however_many_are_told_while_the_file_cannot_be_written),
		CASE(test_a_result_that_cannot_be_written_is_no_second_message),
		CASE(test_a_message_that_cannot_be_read_holds_no_other),
		CASE(test_an_old_message_is_given_up_only_after_tries),
		CASE(test_what_is_tried_for_long_is_given_up),
		CASE(test_a_file_damaged_further_on_is_put_aside),
		CASE(test_a_full_disk_at_the_start_holds_neither_it_nor_messages),
		CASE(test_a_full_disk_at_the_start_hides_nothing_of_before),
		CASE(test_what_cannot_be_read_at_the_start_is_an_error),
		CASE(test_a_kill_between_any_two_steps_loses_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
