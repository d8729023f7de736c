/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The delivery thread with programs and a receiver of our own: retries, deadlines, and that no channel holds another. */
#include "unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "alert/delivery.h"
#include "alert/outbox.h"
#include "alert_fixture.h"
#include "base/clock.h"
#include "base/text.h"

static char empty[] = "", ops[] = "ops", slow_name[] = "slow";
static struct config_notify notifies[2];
static struct config config = { .notifies = notifies };
static struct alert_board *board;
static struct delivery *delivery;
static char script[200], log_path[200], url[64];
static struct alert_message scratch;
static uint64_t request_ns, resend_ns, give_up_ns, pause_first_ns, pause_most_ns;
static char *argv_ops[] = { script };

static int set_up(void **state)
{
	assert_int_equal(alert_set_up(state), 0);
	for (size_t i = 0; i < 2; i++)
		notifies[i] = (struct config_notify){ .name = i ? slow_name : ops,
			.webhook = empty,
			.mail_to = empty,
			.mail_from = empty,
			.smtp = empty,
			.ping = empty,
			.ping_interval_ns = 100 * NS_PER_MS };
	config.notify_count = 0;
	request_ns = NS_PER_S;
	resend_ns = give_up_ns = 0;
	pause_first_ns = 50 * NS_PER_MS;
	pause_most_ns = 400 * NS_PER_MS;
	text_copy(script, sizeof(script), alert_path("program"));
	text_copy(log_path, sizeof(log_path), alert_path("log"));
	return 0;
}

static void start(void)
{
	static char folder[200];
	const struct delivery_options options = {
		.config = &config,
		.state_directory = folder,
		.board = board,
		.pause_first_ns = pause_first_ns,
		.pause_most_ns = pause_most_ns,
		.resend_ns = resend_ns,
		.give_up_ns = give_up_ns,
		.request_ns = request_ns,
		.connect_ns = NS_PER_S,
		.command_ns = NS_PER_S,
	};
	char why[DELIVERY_WHY_MAX];

	text_copy(folder, sizeof(folder), alert_path(""));
	if (delivery_new(&options, &delivery, why) < 0)
		fail_msg("%s", why);
	assert_int_equal(delivery_start(delivery), 0);
}

static void begin(void)
{
	assert_int_equal(alert_board_new(0, delivery_count_channels(&config), &board), 0);
	start();
}

static void stop(void)
{
	assert_true(delivery_stop(delivery, 5 * NS_PER_S));
	delivery = NULL;
}

static int tear_down(void **state)
{
	if (delivery)
		stop();
	alert_board_free(board);
	board = NULL;
	return alert_tear_down(state);
}

/* A program of the config: @body runs in a shell of its own. */
static void make_program(const char *body)
{
	FILE *file = fopen(script, "w");

	assert_non_null(file);
	(void)fprintf(file, "#!/bin/sh\nlog='%s'\n%s\n", log_path, body);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(script, 0700), 0);
	notifies[0].command = (struct config_strings){ argv_ops, 1 };
}

static void lock_file(sqlite3 **lock)
{
	/* Another writer that does not end. */
	assert_int_equal(sqlite3_open(alert_path(OUTBOX_FILE), lock), SQLITE_OK);
	assert_int_equal(sqlite3_exec(*lock, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
}

static void unlock_file(sqlite3 *lock)
{
	assert_int_equal(sqlite3_exec(lock, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
	(void)sqlite3_close(lock);
}

static void change_file(const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(alert_path(OUTBOX_FILE), &db), SQLITE_OK);
	(void)sqlite3_busy_timeout(db, 5000);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	(void)sqlite3_close(db);
}

static void put(const char *drive)
{
	static struct alert_message message;
	struct alert alert = alert_fixture(drive, ALERT_COLLAPSE);

	alert.is_told = true;
	alert_fixture_message(&message, ALERT_RAISED, &alert);
	message.t_ms = clock_wall_ms();
	assert_true(delivery_put(delivery, &alert, 1, &message));
}

static void sleep_ms(unsigned ms)
{
	const struct timespec pause = { ms / 1000, (long)(ms % 1000) * 1000000 };

	(void)nanosleep(&pause, NULL);
}

static const char *log_text(void)
{
	static char bytes[8192];
	FILE *file = fopen(log_path, "r");
	size_t length = file ? fread(bytes, 1, sizeof(bytes) - 1, file) : 0;

	bytes[length] = '\0';
	if (file)
		(void)fclose(file);
	return bytes;
}

static unsigned log_lines(void)
{
	unsigned count = 0;

	for (const char *c = log_text(); *c; c++)
		count += *c == '\n';
	return count;
}

static struct channel_status status_of(size_t channel)
{
	struct channel_status status;

	alert_board_get_channel(board, channel, &status);
	return status;
}

#define WAIT_FOR(condition)                                                                                  \
	do {                                                                                                 \
		for (int tries_ = 0; !(condition); tries_++) {                                               \
			if (tries_ == 1000)                                                                  \
				fail_msg("waited 10 s for %s", #condition);                                  \
			sleep_ms(10);                                                                        \
		}                                                                                            \
	} while (0)

static void test_a_program_gets_the_message(void **state)
{
	(void)state;
	make_program("echo \"$DRIVESOAK_DRIVE $DRIVESOAK_ALERT $(head -c 9)\" >>\"$log\"; echo fine");
	config.notify_count = 1;
	begin();
	put("evo");
	WAIT_FOR(status_of(0).last_ms != INT64_MIN);
	assert_string_equal(log_text(), "evo collapse drivesoak\n");
	assert_string_equal(status_of(0).result, "exit 0: fine ");
	assert_int_equal(status_of(0).queued, 0);
	assert_false(status_of(0).is_failing);
}

static void test_a_program_gets_no_other_file(void **state)
{
	int fd = dup(STDIN_FILENO);

	(void)state;
	assert_true(fd > STDERR_FILENO);
	assert_int_equal(dup2(fd, 57), 57);
	make_program("test -e /proc/$$/fd/57 && echo open >>\"$log\" || echo closed >>\"$log\"");
	config.notify_count = 1;
	begin();
	put("evo");
	WAIT_FOR(log_lines() == 1);
	assert_string_equal(log_text(), "closed\n");
	(void)close(57);
	(void)close(fd);
}

static void test_a_failure_is_tried_again_in_order_until_it_is_delivered(void **state)
{
	(void)state;
	make_program(
		"test -e \"$log.up\" || exit 7; echo \"$DRIVESOAK_DRIVE $DRIVESOAK_MESSAGE_ID\" >>\"$log\"");
	config.notify_count = 1;
	begin();
	put("first");
	put("second");
	WAIT_FOR(status_of(0).is_failing && status_of(0).queued == 2);
	assert_string_equal(status_of(0).result, "exit 7");
	assert_int_equal(log_lines(), 0);
	assert_int_equal(close(creat(alert_path("log.up"), 0600)), 0);
	WAIT_FOR(log_lines() == 2 && status_of(0).queued == 0);
	assert_ptr_equal(strstr(log_text(), "first "), log_text());
	assert_non_null(strstr(log_text(), "\nsecond "));
	assert_false(status_of(0).is_failing);
	sleep_ms(300);
	assert_int_equal(log_lines(), 2);
}

static void test_what_waits_survives_the_end(void **state)
{
	(void)state;
	make_program("test -e \"$log.up\" || exit 7; echo \"$DRIVESOAK_DRIVE\" >>\"$log\"");
	config.notify_count = 1;
	begin();
	put("evo");
	WAIT_FOR(status_of(0).is_failing);
	stop();
	assert_int_equal(close(creat(alert_path("log.up"), 0600)), 0);
	start();
	WAIT_FOR(log_lines() == 1);
	assert_string_equal(log_text(), "evo\n");
	WAIT_FOR(status_of(0).queued == 0);
}

static void test_a_program_that_does_not_end_is_killed_with_its_children(void **state)
{
	uint64_t from_ns = clock_mono_ns();

	(void)state;
	make_program("test -e \"$log\" && exit 0; sleep 600 & echo $! >\"$log\"; yes; ");
	config.notify_count = 1;
	begin();
	put("evo");
	WAIT_FOR(status_of(0).last_ms != INT64_MIN);
	assert_in_range((clock_mono_ns() - from_ns) / NS_PER_MS, 900, 4000);
	assert_int_equal(strncmp(status_of(0).result, "did not end within 1 s: killed: y", 33), 0);
	{
		char path[64];

		(void)snprintf(path, sizeof(path), "/proc/%d/cmdline", atoi(log_text()));
		/* The child was in its group. */
		WAIT_FOR(access(path, F_OK) < 0 || ({
			FILE *file = fopen(path, "r");
			int first = file ? fgetc(file) : EOF;

			if (file)
				(void)fclose(file);
			first == EOF; /* a zombie has none */
		}));
	}
	WAIT_FOR(status_of(0).queued == 0); /* the next try ended well */
}

static void test_a_program_that_is_not_there(void **state)
{
	(void)state;
	notifies[0].command = (struct config_strings){ argv_ops, 1 };
	config.notify_count = 1;
	begin();
	put("evo");
	WAIT_FOR(status_of(0).is_failing);
	assert_non_null(strstr(status_of(0).result, "No such file or directory"));
	assert_int_equal(status_of(0).queued, 1);
}

/* A receiver: it answers each connection with @answer; an empty one never. */
struct receiver {
	int fd;
	pthread_t thread;
	const char *_Atomic answer;
	atomic_uint requests;
	char last[131072];	 /* for the test once requests grew */
	_Atomic uint64_t drives; /* a bit for each driveNN that it took */
};

static size_t receive_all(int fd, char *bytes, size_t size)
{
	size_t length = 0, wanted = size;

	while (length < wanted) {
		ssize_t got = recv(fd, bytes + length, size - length, 0);
		const char *end, *body;

		if (got <= 0)
			break;
		length += (size_t)got;
		bytes[length] = '\0';
		end = strstr(bytes, "\r\n\r\n");
		body = strstr(bytes, "Content-Length: ");
		if (end)
			wanted = (size_t)(end + 4 - bytes) + (body ? strtoul(body + 16, NULL, 10) : 0);
	}
	return length;
}

static uint64_t drives_in(const char *bytes)
{
	uint64_t drives = 0;

	while ((bytes = strstr(bytes, "\"drive\":\"drive")) != NULL)
		drives |= 1ULL << strtoul(bytes += strlen("\"drive\":\"drive"), NULL, 10);
	return drives;
}

static void *receive(void *arg)
{
	struct receiver *receiver = arg;
	int held[64];
	size_t held_count = 0;

	for (;;) {
		int fd = accept(receiver->fd, NULL, NULL);
		const char *answer = atomic_load(&receiver->answer);
		size_t got;

		if (fd < 0)
			break;
		if (!*answer) {
			if (held_count < ARRAY_LEN(held))
				held[held_count++] = fd;
			continue;
		}
		got = receive_all(fd, receiver->last, sizeof(receiver->last) - 1);
		receiver->last[got] = '\0';
		(void)send(fd, answer, strlen(answer), MSG_NOSIGNAL);
		(void)close(fd);
		if (strncmp(answer, "HTTP/1.1 2", 10) == 0)
			atomic_fetch_or(&receiver->drives, drives_in(receiver->last));
		atomic_fetch_add(&receiver->requests, 1);
	}
	while (held_count)
		(void)close(held[--held_count]);
	return NULL;
}

static void receiver_start(struct receiver *receiver, const char *answer)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(address);

	receiver->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(receiver->fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(receiver->fd, 16), 0);
	assert_int_equal(getsockname(receiver->fd, (struct sockaddr *)&address, &length), 0);
	(void)snprintf(url, sizeof(url), "http://127.0.0.1:%u/hook", ntohs(address.sin_port));
	atomic_store(&receiver->answer, answer);
	atomic_store(&receiver->requests, 0);
	atomic_store(&receiver->drives, 0);
	assert_int_equal(pthread_create(&receiver->thread, NULL, receive, receiver), 0);
}

static void receiver_stop(struct receiver *receiver)
{
	(void)shutdown(receiver->fd, SHUT_RDWR);
	(void)pthread_join(receiver->thread, NULL);
	(void)close(receiver->fd);
}

#define ANSWER(status) "HTTP/1.1 " status "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

static void test_a_receiver_that_never_answers_holds_no_other_channel(void **state)
{
	static struct receiver receiver;

	(void)state;
	request_ns = 4 * NS_PER_S;
	receiver_start(&receiver, "");
	make_program("echo \"$DRIVESOAK_DRIVE\" >>\"$log\"");
	notifies[1].webhook = url;
	config.notify_count = 2;
	begin();
	for (int i = 0; i < 5; i++)
		put("evo");
	WAIT_FOR(log_lines() == 5);
	/* The one try that hangs is not over. */
	assert_true(status_of(1).last_ms == INT64_MIN);
	WAIT_FOR(status_of(1).is_failing);
	assert_int_equal(status_of(1).queued, 5);
	atomic_store(&receiver.answer, ANSWER("200 OK"));
	WAIT_FOR(status_of(1).queued == 0);
	assert_int_equal(atomic_load(&receiver.requests), 5);
	stop();
	receiver_stop(&receiver);
}

static void test_a_refused_message_lets_the_others_pass(void **state)
{
	static struct receiver receiver;

	(void)state;
	receiver_start(&receiver, ANSWER("400 Bad Request"));
	notifies[0].webhook = url;
	config.notify_count = 1;
	begin();
	put("first");
	WAIT_FOR(atomic_load(&receiver.requests) >= 1);
	atomic_store(&receiver.answer, ANSWER("204 No Content"));
	put("second");
	WAIT_FOR(status_of(0).queued == 0);
	assert_false(status_of(0).is_failing); /* it was the message, not the channel */
	stop();
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
	notifies[0].ping = url;
	config.notify_count = 1;
	begin();
	sleep_ms(250);
	assert_int_equal(atomic_load(&receiver.requests), 0);
	delivery_note_alive(delivery, 600 * NS_PER_MS);
	WAIT_FOR(atomic_load(&receiver.requests) >= 3);
	sleep_ms(800);
	before = atomic_load(&receiver.requests);
	assert_in_range(before, 3, 8);
	sleep_ms(300);
	assert_int_equal(atomic_load(&receiver.requests), before);
	stop();
	receiver_stop(&receiver);
	assert_ptr_equal(strstr(receiver.last, "GET /hook HTTP/1.1\r\n"), receiver.last);
}

static void test_a_test_says_how_each_channel_took_it(void **state)
{
	static struct receiver receiver;
	uint64_t test;

	(void)state;
	receiver_start(&receiver, ANSWER("500 Oops"));
	make_program("test \"$DRIVESOAK_STATUS\" = test && echo well");
	notifies[1].webhook = url;
	config.notify_count = 2;
	begin();
	assert_int_equal(delivery_test(delivery, "nobody"), 0);
	test = delivery_test(delivery, "");
	assert_int_not_equal(test, 0);
	WAIT_FOR(status_of(0).test == test && status_of(1).test == test);
	assert_true(status_of(0).is_test_ok);
	assert_string_equal(status_of(0).test_result, "exit 0: well ");
	assert_false(status_of(1).is_test_ok);
	assert_string_equal(status_of(1).test_result, "HTTP 500");
	/* Tried once, and nothing of it waits. */
	sleep_ms(200);
	assert_int_equal(atomic_load(&receiver.requests), 1);
	assert_int_equal(status_of(1).queued, 0);
	test = delivery_test(delivery, "slow");
	WAIT_FOR(status_of(1).test == test);
	assert_true(status_of(0).test < test);
	stop();
	receiver_stop(&receiver);
}

static void test_a_damaged_file_is_put_aside(void **state)
{
	FILE *file = fopen(alert_path(OUTBOX_FILE), "w");

	(void)state;
	assert_non_null(file);
	for (int i = 0; i < 1000; i++)
		(void)fputs("garbage ", file);
	(void)fclose(file);
	make_program("echo \"$DRIVESOAK_DRIVE\" >>\"$log\"");
	config.notify_count = 1;
	begin();
	put("evo");
	WAIT_FOR(log_lines() == 1);
	assert_int_equal(access(alert_path(OUTBOX_FILE ".damaged"), F_OK), 0);
}

static void test_a_file_that_cannot_be_written_holds_no_message(void **state)
{
	struct outbox_queue queue;
	char why[OUTBOX_WHY_MAX], first[ALERT_MESSAGE_ID_MAX], second[ALERT_MESSAGE_ID_MAX];
	struct outbox *outbox;
	sqlite3 *lock;

	(void)state;
	make_program("echo \"$DRIVESOAK_DRIVE $DRIVESOAK_MESSAGE_ID\" >>\"$log\"");
	config.notify_count = 1;
	begin();
	lock_file(&lock);
	put("one");
	put("two");
	WAIT_FOR(log_lines() == 2);
	assert_int_equal(sscanf(log_text(), "one %39s\ntwo %39s\n", first, second), 2);
	assert_int_equal(strlen(first), 32);
	unlock_file(lock);
	/* Then it is stored, as delivered. */
	stop();
	assert_int_equal(outbox_open(alert_path(OUTBOX_FILE), true, &outbox, why), 0);
	assert_int_equal(outbox_get_queue(outbox, &(struct outbox_channel){ "ops", "command" }, &queue), 0);
	assert_int_equal(queue.queued, 0);
	assert_int_equal(outbox_get_message(outbox, 1, &scratch), 0);
	assert_string_equal(scratch.id, first);
	assert_int_equal(outbox_get_message(outbox, 2, &scratch), 0);
	assert_string_equal(scratch.id, second);
	outbox_close(outbox);
	assert_int_equal(log_lines(), 2);
}

static int count_alert(const struct alert *alert, void *arg)
{
	(void)alert;
	++*(int *)arg;
	return 0;
}

static void test_however_many_are_told_while_the_file_cannot_be_written(void **state)
{
	sqlite3 *lock;
	char last[32];

	(void)state;
	make_program("echo \"$DRIVESOAK_DRIVE\" >>\"$log\"");
	config.notify_count = 1;
	begin();
	lock_file(&lock);
	for (int i = 0; i < 3 * DELIVERY_QUEUE_MAX; i++) {
		(void)snprintf(last, sizeof(last), "drive%d", i);
		WAIT_FOR(delivery_has_room(delivery));
		put(last);
	}
	WAIT_FOR(log_lines() == 3 * DELIVERY_QUEUE_MAX);
	unlock_file(lock);
	WAIT_FOR(status_of(0).queued == 0);
	stop();
	/* Of each the alert is kept. */
	{
		struct outbox *outbox;
		char why[OUTBOX_WHY_MAX];
		int count = 0;

		assert_int_equal(outbox_open(alert_path(OUTBOX_FILE), true, &outbox, why), 0);
		assert_int_equal(outbox_each_last(outbox, count_alert, &count), 0);
		assert_int_equal(count, 3 * DELIVERY_QUEUE_MAX);
		outbox_close(outbox);
	}
}

static void test_a_result_that_cannot_be_written_is_no_second_message(void **state)
{
	sqlite3 *lock;

	(void)state;
	make_program("echo \"$DRIVESOAK_DRIVE\" >>\"$log\"; until test -e \"$log.go\"; do sleep 0.02; done");
	config.notify_count = 1;
	begin();
	put("one");
	WAIT_FOR(log_lines() == 1);
	lock_file(&lock);
	assert_int_equal(close(creat(alert_path("log.go"), 0600)), 0);
	WAIT_FOR(status_of(0).last_ms != INT64_MIN);
	sleep_ms(500); /* ten pauses */
	/* What comes meanwhile goes out, and what was delivered not again. */
	put("two");
	WAIT_FOR(log_lines() == 2);
	assert_string_equal(log_text(), "one\ntwo\n");
	unlock_file(lock);
	WAIT_FOR(status_of(0).queued == 0);
	sleep_ms(200);
	assert_int_equal(log_lines(), 2);
}

static int64_t read_number(const char *sql)
{
	sqlite3_stmt *statement;
	int64_t number;
	sqlite3 *db;

	assert_int_equal(sqlite3_open(alert_path(OUTBOX_FILE), &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	number = sqlite3_column_int64(statement, 0);
	(void)sqlite3_finalize(statement);
	(void)sqlite3_close(db);
	return number;
}

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

static void test_a_message_that_cannot_be_read_holds_no_other(void **state)
{
	(void)state;
	make_program("test -e \"$log.up\" || exit 7; echo \"$DRIVESOAK_DRIVE\" >>\"$log\"");
	config.notify_count = 1;
	begin();
	for (int i = 0; i < 40; i++)
		put(i < 39 ? "evo" : "last");
	WAIT_FOR(status_of(0).queued == 40);
	stop();
	damage(read_number("SELECT min(pageno) FROM dbstat WHERE name = 'entries' AND pagetype = 'leaf'"), 1);
	assert_int_equal(close(creat(alert_path("log.up"), 0600)), 0);
	start();
	WAIT_FOR(strstr(log_text(), "last\n") && status_of(0).queued == 0);
	assert_int_equal(
		read_number("SELECT count(*) FROM deliveries WHERE state = 'given-up'") + log_lines(), 40);
	assert_in_range(log_lines(), 5, 35);
}

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

	sleep_ms(1200);
	assert_in_range((cpu_ns() - from_ns) / NS_PER_MS, 0, 200);
}

static void test_who_waits_does_not_spin(void **state)
{
	static struct receiver receiver;
	sqlite3 *lock;

	(void)state;
	receiver_start(&receiver, ANSWER("500 Oops"));
	receiver_stop(&receiver); /* from now on nobody listens */
	notifies[0].webhook = url;
	notifies[0].format = FORMAT_ALERTMANAGER_API;
	config.notify_count = 1;
	begin();
	put("evo");
	WAIT_FOR(status_of(0).is_failing);
	check_idle();
	/* Nor with one in memory, nor when it is to end. */
	lock_file(&lock);
	put("pro");
	check_idle();
	unlock_file(lock);
}

static void test_a_long_send_from_memory_does_not_spin(void **state)
{
	static struct receiver receiver;
	sqlite3 *lock;

	(void)state;
	request_ns = 5 * NS_PER_S;
	receiver_start(&receiver, "");
	notifies[0].webhook = url;
	config.notify_count = 1;
	begin();
	lock_file(&lock);
	put("one");
	sleep_ms(3200); /* the file was tried once, and would be again */
	check_idle();
	unlock_file(lock);
	stop();
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
	notifies[0].webhook = url;
	notifies[0].format = FORMAT_ALERTMANAGER_API;
	config.notify_count = 1;
	resend_ns = 400 * NS_PER_MS;
	pause_most_ns = pause_first_ns = 60 * NS_PER_S;
	for (int i = 0; i < FIRING; i++) {
		(void)snprintf(name, sizeof(name), "drive%02d", i);
		alerts[i] = alert_fixture(name, ALERT_COLLAPSE);
		alerts[i].is_told = true;
	}
	begin();
	assert_true(delivery_put(delivery, alerts, FIRING, NULL));
	put("refused");
	WAIT_FOR(status_of(0).queued == 1 &&
		 read_number("SELECT count(*) FROM deliveries WHERE refused AND state = 'waiting'") == 1);
	atomic_store(&receiver.answer, ANSWER("200 OK"));
	WAIT_FOR(atomic_load(&receiver.drives) == (1ULL << FIRING) - 1);
	assert_int_equal(status_of(0).queued, 1);
	stop();
	receiver_stop(&receiver);
}

static void test_an_old_message_is_given_up_only_after_tries(void **state)
{
	(void)state;
	make_program("test -e \"$log.up\" || exit 7; echo \"$DRIVESOAK_DRIVE\" >>\"$log\"");
	config.notify_count = 1;
	begin();
	put("evo");
	WAIT_FOR(status_of(0).is_failing);
	stop();
	/* Days without power. */
	change_file("UPDATE messages SET t_ms = t_ms - 10 * 86400000");
	start();
	sleep_ms(600);
	assert_int_equal(status_of(0).queued, 1);
	assert_int_equal(close(creat(alert_path("log.up"), 0600)), 0);
	WAIT_FOR(log_lines() == 1);
}

static void test_what_is_tried_for_long_is_given_up(void **state)
{
	(void)state;
	make_program("exit 7");
	config.notify_count = 1;
	give_up_ns = 900 * NS_PER_MS;
	begin();
	put("evo");
	WAIT_FOR(status_of(0).is_failing);
	assert_int_equal(status_of(0).queued, 1);
	WAIT_FOR(status_of(0).queued == 0);
}

/* Past its first pages, so that it opens. */
static void test_a_file_damaged_further_on_is_put_aside(void **state)
{
	(void)state;
	make_program("echo \"$DRIVESOAK_DRIVE\" >>\"$log\"");
	config.notify_count = 1;
	begin();
	for (int i = 0; i < 40; i++)
		put("evo");
	WAIT_FOR(log_lines() == 40);
	stop();
	damage(2, read_number("PRAGMA page_count") - 1);
	start();
	put("pro");
	WAIT_FOR(log_lines() == 41);
	assert_int_equal(access(alert_path(OUTBOX_FILE ".damaged"), F_OK), 0);
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

/* What waits in the file is sent once there is room; what comes meanwhile need not wait for that. */
static void test_a_full_disk_at_the_start_holds_neither_it_nor_messages(void **state)
{
	char folder[200], up[220];

	(void)state;
	text_copy(folder, sizeof(folder), alert_path(""));
	if (geteuid() != 0 || mount("tmpfs", folder, "tmpfs", 0, "size=1M") != 0)
		skip();
	(void)snprintf(log_path, sizeof(log_path), "/tmp/drivesoak-delivery-%d.log", (int)getpid());
	make_program("test -e \"$log.up\" || exit 7; echo \"$DRIVESOAK_DRIVE\" >>\"$log\"");
	config.notify_count = 1;
	begin();
	put("one");
	WAIT_FOR(status_of(0).is_failing);
	stop();
	fill_disk(alert_path("filler"));
	(void)snprintf(up, sizeof(up), "%s.up", log_path);
	assert_int_equal(close(creat(up, 0600)), 0);
	start();
	put("two");
	WAIT_FOR(strcmp(log_text(), "two\n") == 0);
	assert_int_equal(unlink(alert_path("filler")), 0);
	WAIT_FOR(strcmp(log_text(), "two\none\n") == 0 && status_of(0).queued == 0);
	stop();
	(void)unlink(up);
	(void)unlink(log_path);
	assert_int_equal(umount(folder), 0);
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
	begin();
	if (life->is_put) {
		put("evo");
		while (*life->killer || status_of(0).last_ms == INT64_MIN)
			sleep_ms(1);
	}
	(void)kill(getpid(), SIGKILL);
}

static void check_ids(unsigned count)
{
	char ids[2][ALERT_MESSAGE_ID_MAX] = { "", "" };

	assert_int_equal(log_lines(), count);
	if (count && sscanf(log_text(), "%39s %39s", ids[0], ids[1]) == 2)
		assert_string_equal(ids[0], ids[1]);
}

static void test_a_kill_between_any_two_steps_loses_nothing(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lives); i++) {
		struct outbox *outbox;
		char why[OUTBOX_WHY_MAX];
		int status = 0, told = 0;
		pid_t child;

		make_program("die() { test -e \"$log.$1\" && rm \"$log.$1\" && kill -9 $PPID; }\n"
			     "die before-send && exit 1\n"
			     "echo \"$DRIVESOAK_MESSAGE_ID\" >>\"$log\"\n"
			     "die after-send; exit 0");
		config.notify_count = 1;
		{
			char mark[256];

			(void)snprintf(mark, sizeof(mark), "%s.%s", log_path, lives[i].killer);
			assert_int_equal(close(creat(mark, 0600)), 0);
		}
		child = fork();
		if (child == 0)
			live(&lives[i]);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		begin();
		WAIT_FOR(status_of(0).queued == 0);
		stop();
		check_ids(lives[i].sent);
		assert_int_equal(outbox_open(alert_path(OUTBOX_FILE), true, &outbox, why), 0);
		assert_int_equal(outbox_each_firing(outbox, count_alert, &told), 0);
		assert_int_equal(told, lives[i].is_told);
		outbox_close(outbox);
		alert_board_free(board);
		board = NULL;
		assert_int_equal(alert_tear_down(state), 0);
		assert_int_equal(set_up(state), 0);
	}
}

int main(void)
{
#define CASE(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
	static const struct CMUnitTest tests[] = {
		CASE(test_a_program_gets_the_message),
		CASE(test_a_program_gets_no_other_file),
		CASE(test_a_failure_is_tried_again_in_order_until_it_is_delivered),
		CASE(test_what_waits_survives_the_end),
		CASE(test_a_program_that_does_not_end_is_killed_with_its_children),
		CASE(test_a_program_that_is_not_there),
		CASE(test_a_receiver_that_never_answers_holds_no_other_channel),
		CASE(test_a_refused_message_lets_the_others_pass),
		CASE(test_pings_only_while_samples_come),
		CASE(test_a_test_says_how_each_channel_took_it),
		CASE(test_a_damaged_file_is_put_aside),
		CASE(test_a_file_that_cannot_be_written_holds_no_message),
		CASE(test_however_many_are_told_while_the_file_cannot_be_written),
		CASE(test_a_result_that_cannot_be_written_is_no_second_message),
		CASE(test_a_message_that_cannot_be_read_holds_no_other),
		CASE(test_who_waits_does_not_spin),
		CASE(test_a_long_send_from_memory_does_not_spin),
		CASE(test_what_fires_is_sent_again_beside_what_waits),
		CASE(test_an_old_message_is_given_up_only_after_tries),
		CASE(test_what_is_tried_for_long_is_given_up),
		CASE(test_a_file_damaged_further_on_is_put_aside),
		CASE(test_a_full_disk_at_the_start_holds_neither_it_nor_messages),
		CASE(test_a_kill_between_any_two_steps_loses_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
