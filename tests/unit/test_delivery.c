/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The delivery thread and its channels: retries, deadlines, that none holds another, and that who waits does not spin. */
#include "unit.h"

#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "alert/delivery.h"
#include "alert_fixture.h"
#include "base/clock.h"
#include "delivery_fixture.h"

/* Of all threads of this process. */
static uint64_t cpu_ns(void)
{
	struct timespec time;

	assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time), 0);
	return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec;
}

static void check_idle(void)
{
	const uint64_t from_ns = cpu_ns();

	delivery_fixture_sleep_ms(1200);
	assert_in_range((cpu_ns() - from_ns) / NS_PER_MS, 0, 200);
}

static void test_a_program_gets_the_message(void **state)
{
	(void)state;
	delivery_fixture_program(
		"echo \"$DRIVESOAK_DRIVE $DRIVESOAK_ALERT $(head -c 9)\" >>\"$log\"; echo fine");
	delivery_rig.config.notify_count = 1;
	delivery_fixture_begin();
	delivery_fixture_put("evo");
	WAIT_FOR(delivery_fixture_status(0).last_ms != INT64_MIN);
	assert_string_equal(delivery_fixture_log(), "evo collapse drivesoak\n");
	assert_string_equal(delivery_fixture_status(0).result, "exit 0: fine ");
	assert_int_equal(delivery_fixture_status(0).queued, 0);
	assert_false(delivery_fixture_status(0).is_failing);
}

static void test_a_program_gets_no_other_file(void **state)
{
	int fd = dup(STDIN_FILENO);

	(void)state;
	assert_true(fd > STDERR_FILENO);
	assert_int_equal(dup2(fd, 57), 57);
	delivery_fixture_program("test -e /proc/$$/fd/57 && echo open >>\"$log\" || echo closed >>\"$log\"");
	delivery_rig.config.notify_count = 1;
	delivery_fixture_begin();
	delivery_fixture_put("evo");
	WAIT_FOR(delivery_fixture_lines() == 1);
	assert_string_equal(delivery_fixture_log(), "closed\n");
	(void)close(57);
	(void)close(fd);
}

static void test_a_failure_is_tried_again_in_order_until_it_is_delivered(void **state)
{
	(void)state;
	delivery_fixture_program(
		"test -e \"$log.up\" || exit 7; echo \"$DRIVESOAK_DRIVE $DRIVESOAK_MESSAGE_ID\" >>\"$log\"");
	delivery_rig.config.notify_count = 1;
	delivery_fixture_begin();
	delivery_fixture_put("first");
	delivery_fixture_put("second");
	WAIT_FOR(delivery_fixture_status(0).is_failing && delivery_fixture_status(0).queued == 2);
	assert_string_equal(delivery_fixture_status(0).result, "exit 7");
	assert_int_equal(delivery_fixture_lines(), 0);
	assert_int_equal(close(creat(alert_path("log.up"), 0600)), 0);
	WAIT_FOR(delivery_fixture_lines() == 2 && delivery_fixture_status(0).queued == 0);
	assert_ptr_equal(strstr(delivery_fixture_log(), "first "), delivery_fixture_log());
	assert_non_null(strstr(delivery_fixture_log(), "\nsecond "));
	assert_false(delivery_fixture_status(0).is_failing);
	delivery_fixture_sleep_ms(300);
	assert_int_equal(delivery_fixture_lines(), 2);
}

static void test_a_program_that_does_not_end_is_killed_with_its_children(void **state)
{
	uint64_t from_ns = clock_mono_ns();

	(void)state;
	delivery_fixture_program("test -e \"$log\" && exit 0; sleep 600 & echo $! >\"$log\"; yes; ");
	delivery_rig.config.notify_count = 1;
	delivery_fixture_begin();
	delivery_fixture_put("evo");
	WAIT_FOR(delivery_fixture_status(0).last_ms != INT64_MIN);
	assert_in_range((clock_mono_ns() - from_ns) / NS_PER_MS, 900, 4000);
	assert_int_equal(
		strncmp(delivery_fixture_status(0).result, "did not end within 1 s: killed: y", 33), 0);
	{
		char path[64];

		(void)snprintf(path, sizeof(path), "/proc/%d/cmdline", atoi(delivery_fixture_log()));
		/* The child was in its group. */
		WAIT_FOR(access(path, F_OK) < 0 || ({
			FILE *file = fopen(path, "r");
			int first = file ? fgetc(file) : EOF;

			if (file)
				(void)fclose(file);
			first == EOF; /* a zombie has none */
		}));
	}
	WAIT_FOR(delivery_fixture_status(0).queued == 0); /* the next try ended well */
}

static void test_a_program_that_is_not_there(void **state)
{
	(void)state;
	delivery_rig.notifies[0].command = (struct config_strings){ delivery_rig.argv, 1 };
	delivery_rig.config.notify_count = 1;
	delivery_fixture_begin();
	delivery_fixture_put("evo");
	WAIT_FOR(delivery_fixture_status(0).is_failing);
	assert_non_null(strstr(delivery_fixture_status(0).result, "No such file or directory"));
	assert_int_equal(delivery_fixture_status(0).queued, 1);
}

static void test_a_receiver_that_never_answers_holds_no_other_channel(void **state)
{
	static struct receiver receiver;

	(void)state;
	delivery_rig.request_ns = 4 * NS_PER_S;
	receiver_start(&receiver, "");
	delivery_fixture_program("echo \"$DRIVESOAK_DRIVE\" >>\"$log\"");
	delivery_rig.notifies[1].webhook = delivery_rig.url;
	delivery_rig.config.notify_count = 2;
	delivery_fixture_begin();
	for (int i = 0; i < 5; i++)
		delivery_fixture_put("evo");
	WAIT_FOR(delivery_fixture_lines() == 5);
	/* The one try that hangs is not over. */
	assert_true(delivery_fixture_status(1).last_ms == INT64_MIN);
	WAIT_FOR(delivery_fixture_status(1).is_failing);
	assert_int_equal(delivery_fixture_status(1).queued, 5);
	atomic_store(&receiver.answer, ANSWER("200 OK"));
	WAIT_FOR(delivery_fixture_status(1).queued == 0);
	assert_int_equal(atomic_load(&receiver.requests), 5);
	delivery_fixture_stop();
	receiver_stop(&receiver);
}

static void test_a_refused_message_lets_the_others_pass(void **state)
{
	static struct receiver receiver;

	(void)state;
	receiver_start(&receiver, ANSWER("400 Bad Request"));
	delivery_rig.notifies[0].webhook = delivery_rig.url;
	delivery_rig.config.notify_count = 1;
	delivery_fixture_begin();
	delivery_fixture_put("first");
	WAIT_FOR(atomic_load(&receiver.requests) >= 1);
	atomic_store(&receiver.answer, ANSWER("204 No Content"));
	delivery_fixture_put("second");
	WAIT_FOR(delivery_fixture_status(0).queued == 0);
	assert_false(delivery_fixture_status(0).is_failing); /* it was the message, not the channel */
	delivery_fixture_stop();
	receiver_stop(&receiver);
	assert_non_null(strstr(receiver.last, "POST /hook HTTP/1.1\r\n"));
	assert_non_null(strstr(receiver.last, "\r\nX-Drivesoak-Message: "));
	assert_non_null(strstr(receiver.last, "\r\nContent-Type: application/json\r\n"));
}

static void test_pings_only_while_samples_come(void **state)
{
	static struct receiver receiver;
	unsigned before;

	(void)state;
	receiver_start(&receiver, ANSWER("200 OK"));
	delivery_rig.notifies[0].ping = delivery_rig.url;
	delivery_rig.config.notify_count = 1;
	delivery_fixture_begin();
	delivery_fixture_sleep_ms(250);
	assert_int_equal(atomic_load(&receiver.requests), 0);
	delivery_note_alive(delivery_rig.delivery, 600 * NS_PER_MS);
	WAIT_FOR(atomic_load(&receiver.requests) >= 3);
	delivery_fixture_sleep_ms(800);
	before = atomic_load(&receiver.requests);
	assert_in_range(before, 3, 8);
	delivery_fixture_sleep_ms(300);
	assert_int_equal(atomic_load(&receiver.requests), before);
	delivery_fixture_stop();
	receiver_stop(&receiver);
	assert_ptr_equal(strstr(receiver.last, "GET /hook HTTP/1.1\r\n"), receiver.last);
}

static void test_a_test_says_how_each_channel_took_it(void **state)
{
	static struct receiver receiver;
	uint64_t test;

	(void)state;
	receiver_start(&receiver, ANSWER("500 Oops"));
	delivery_fixture_program("test \"$DRIVESOAK_STATUS\" = test && echo well");
	delivery_rig.notifies[1].webhook = delivery_rig.url;
	delivery_rig.config.notify_count = 2;
	delivery_fixture_begin();
	assert_int_equal(delivery_test(delivery_rig.delivery, "nobody"), 0);
	test = delivery_test(delivery_rig.delivery, "");
	assert_int_not_equal(test, 0);
	WAIT_FOR(delivery_fixture_status(0).test == test && delivery_fixture_status(1).test == test);
	assert_true(delivery_fixture_status(0).is_test_ok);
	assert_string_equal(delivery_fixture_status(0).test_result, "exit 0: well ");
	assert_false(delivery_fixture_status(1).is_test_ok);
	assert_string_equal(delivery_fixture_status(1).test_result, "HTTP 500");
	/* Tried once, and nothing of it waits. */
	delivery_fixture_sleep_ms(200);
	assert_int_equal(atomic_load(&receiver.requests), 1);
	assert_int_equal(delivery_fixture_status(1).queued, 0);
	test = delivery_test(delivery_rig.delivery, "slow");
	WAIT_FOR(delivery_fixture_status(1).test == test);
	assert_true(delivery_fixture_status(0).test < test);
	delivery_fixture_stop();
	receiver_stop(&receiver);
}

static void test_who_waits_does_not_spin(void **state)
{
	static struct receiver receiver;
	sqlite3 *lock;

	(void)state;
	receiver_start(&receiver, ANSWER("500 Oops"));
	receiver_stop(&receiver); /* from now on nobody listens */
	delivery_rig.notifies[0].webhook = delivery_rig.url;
	delivery_rig.notifies[0].format = FORMAT_ALERTMANAGER_API;
	delivery_rig.config.notify_count = 1;
	delivery_fixture_begin();
	delivery_fixture_put("evo");
	WAIT_FOR(delivery_fixture_status(0).is_failing);
	check_idle();
	/* Nor with one in memory, nor when it is to end. */
	delivery_fixture_lock(&lock);
	delivery_fixture_put("pro");
	check_idle();
	delivery_fixture_unlock(lock);
}

static void test_a_long_send_from_memory_does_not_spin(void **state)
{
	static struct receiver receiver;
	sqlite3 *lock;

	(void)state;
	delivery_rig.request_ns = 5 * NS_PER_S;
	receiver_start(&receiver, "");
	delivery_rig.notifies[0].webhook = delivery_rig.url;
	delivery_rig.config.notify_count = 1;
	delivery_fixture_begin();
	delivery_fixture_lock(&lock);
	delivery_fixture_put("one");
	delivery_fixture_sleep_ms(3200); /* the file was tried once, and would be again */
	check_idle();
	delivery_fixture_unlock(lock);
	delivery_fixture_stop();
	receiver_stop(&receiver);
}

/* Alerts that fire go to an Alertmanager again and again, all of them, also beside a message that it does not take. */
static void test_what_fires_is_sent_again_beside_what_waits(void **state)
{
	static struct receiver receiver;
	enum { FIRING = ALERTS_MESSAGE_MAX + 8 };
	static struct alert alerts[FIRING];
	char name[16];

	(void)state;
	receiver_start(&receiver, ANSWER("400 Bad Request"));
	delivery_rig.notifies[0].webhook = delivery_rig.url;
	delivery_rig.notifies[0].format = FORMAT_ALERTMANAGER_API;
	delivery_rig.config.notify_count = 1;
	delivery_rig.resend_ns = 400 * NS_PER_MS;
	delivery_rig.pause_most_ns = delivery_rig.pause_first_ns = 60 * NS_PER_S;
	for (int i = 0; i < FIRING; i++) {
		(void)snprintf(name, sizeof(name), "drive%02d", i);
		alerts[i] = alert_fixture(name, ALERT_COLLAPSE);
		alerts[i].is_told = true;
	}
	delivery_fixture_begin();
	assert_true(delivery_put(delivery_rig.delivery, alerts, FIRING, NULL));
	delivery_fixture_put("refused");
	WAIT_FOR(delivery_fixture_status(0).queued == 1 &&
		 delivery_fixture_number(
			 "SELECT count(*) FROM deliveries WHERE refused AND state = 'waiting'") == 1);
	atomic_store(&receiver.answer, ANSWER("200 OK"));
	WAIT_FOR(atomic_load(&receiver.drives) == (1ULL << FIRING) - 1);
	assert_int_equal(delivery_fixture_status(0).queued, 1);
	delivery_fixture_stop();
	receiver_stop(&receiver);
}

static void change(const char *drive, bool is_firing)
{
	struct alert alert = alert_fixture(drive, ALERT_COLLAPSE);

	alert.is_told = true;
	alert.is_firing = is_firing;
	if (!is_firing)
		alert.until_ms = T0 + 1;
	assert_true(delivery_put(delivery_rig.delivery, &alert, 1, NULL));
}

/* What a whole round of the receiver has. */
static void wait_for_round(struct receiver *receiver, uint64_t drives)
{
	for (int tries = 0; tries < 100; tries++) {
		const unsigned before = atomic_load(&receiver->requests);

		WAIT_FOR(atomic_load(&receiver->requests) > before);
		atomic_store(&receiver->drives, 0);
		WAIT_FOR(atomic_load(&receiver->requests) > before + 1);
		if (atomic_load(&receiver->drives) == drives)
			return;
	}
	fail_msg("no round with drives %llx", (unsigned long long)drives);
}

static void resend_begin(struct receiver *receiver)
{
	receiver_start(receiver, ANSWER("200 OK"));
	delivery_rig.notifies[0].webhook = delivery_rig.url;
	delivery_rig.notifies[0].format = FORMAT_ALERTMANAGER_API;
	delivery_rig.config.notify_count = 1;
	delivery_rig.resend_ns = 100 * NS_PER_MS;
	delivery_fixture_begin();
	change("drive01", true);
	change("drive02", true);
	wait_for_round(receiver, 1 << 1 | 1 << 2);
}

/* What fires is known also while it can't be written, or the file not even be read: what began is sent again, what ended is
 * not. */
static void test_what_fires_is_sent_again_from_memory(void **state)
{
	static struct receiver receiver;
	sqlite3 *lock;

	(void)state;
	resend_begin(&receiver);
	delivery_fixture_lock(&lock);
	change("drive02", false);
	change("drive03", true);
	wait_for_round(&receiver, 1 << 1 | 1 << 3);
	change("drive03", false);
	change("drive04", true);
	change("drive02", true);
	wait_for_round(&receiver, 1 << 1 | 1 << 2 | 1 << 4);
	delivery_fixture_unlock(lock);
	/* The same at the next start. */
	delivery_fixture_stop();
	delivery_fixture_start();
	wait_for_round(&receiver, 1 << 1 | 1 << 2 | 1 << 4);
	delivery_fixture_stop();
	receiver_stop(&receiver);
}

static void test_what_fires_is_sent_again_without_the_file(void **state)
{
	static struct receiver receiver;
	struct rlimit limit, none;

	(void)state;
	resend_begin(&receiver);
	/* Any write fails: the file is closed and can't be opened. */
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	none = (struct rlimit){ 1, limit.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
	change("drive02", false);
	change("drive03", true);
	wait_for_round(&receiver, 1 << 1 | 1 << 3);
	delivery_fixture_sleep_ms(100);
	wait_for_round(&receiver, 1 << 1 | 1 << 3);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	delivery_fixture_stop();
	receiver_stop(&receiver);
}

int main(void)
{
#define CASE(function)                                                                                       \
	cmocka_unit_test_setup_teardown(function, delivery_fixture_set_up, delivery_fixture_tear_down)
	static const struct CMUnitTest tests[] = {
		CASE(test_a_program_gets_the_message),
		CASE(test_a_program_gets_no_other_file),
		CASE(test_a_failure_is_tried_again_in_order_until_it_is_delivered),
		CASE(test_a_program_that_does_not_end_is_killed_with_its_children),
		CASE(test_a_program_that_is_not_there),
		CASE(test_a_receiver_that_never_answers_holds_no_other_channel),
		CASE(test_a_refused_message_lets_the_others_pass),
		CASE(test_pings_only_while_samples_come),
		CASE(test_a_test_says_how_each_channel_took_it),
		CASE(test_who_waits_does_not_spin),
		CASE(test_a_long_send_from_memory_does_not_spin),
		CASE(test_what_fires_is_sent_again_beside_what_waits),
		CASE(test_what_fires_is_sent_again_from_memory),
		CASE(test_what_fires_is_sent_again_without_the_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
