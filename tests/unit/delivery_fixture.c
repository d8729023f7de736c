/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "delivery_fixture.h"

#include "unit.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "alert/outbox.h"
#include "alert_fixture.h"
#include "base/clock.h"
#include "base/text.h"

static char empty[] = "", ops[] = "ops", slow_name[] = "slow";
struct delivery_rig delivery_rig = { .config = { .notifies = delivery_rig.notifies },
	.argv = { delivery_rig.script } };

int delivery_fixture_set_up(void **state)
{
	assert_int_equal(alert_set_up(state), 0);
	for (size_t i = 0; i < 2; i++)
		delivery_rig.notifies[i] = (struct config_notify){ .name = i ? slow_name : ops,
			.webhook = empty,
			.mail_to = empty,
			.mail_from = empty,
			.smtp = empty,
			.ping = empty,
			.ping_interval_ns = 100 * NS_PER_MS };
	delivery_rig.config.notify_count = 0;
	delivery_rig.request_ns = NS_PER_S;
	delivery_rig.resend_ns = delivery_rig.give_up_ns = 0;
	delivery_rig.pause_first_ns = 50 * NS_PER_MS;
	delivery_rig.pause_most_ns = 400 * NS_PER_MS;
	text_copy(delivery_rig.script, sizeof(delivery_rig.script), alert_path("program"));
	text_copy(delivery_rig.log_path, sizeof(delivery_rig.log_path), alert_path("log"));
	return 0;
}

void delivery_fixture_open(void)
{
	static char folder[200];
	const struct delivery_options options = {
		.config = &delivery_rig.config,
		.state_directory = folder,
		.board = delivery_rig.board,
		.pause_first_ns = delivery_rig.pause_first_ns,
		.pause_most_ns = delivery_rig.pause_most_ns,
		.resend_ns = delivery_rig.resend_ns,
		.give_up_ns = delivery_rig.give_up_ns,
		.request_ns = delivery_rig.request_ns,
		.connect_ns = NS_PER_S,
		.command_ns = NS_PER_S,
	};
	char why[DELIVERY_WHY_MAX];

	text_copy(folder, sizeof(folder), alert_path(""));
	if (delivery_new(&options, &delivery_rig.delivery, why) < 0)
		fail_msg("%s", why);
}

void delivery_fixture_start(void)
{
	delivery_fixture_open();
	assert_int_equal(delivery_start(delivery_rig.delivery), 0);
}

void delivery_fixture_begin(void)
{
	assert_int_equal(
		alert_board_new(0, delivery_count_channels(&delivery_rig.config), &delivery_rig.board), 0);
	delivery_fixture_start();
}

void delivery_fixture_stop(void)
{
	assert_true(delivery_stop(delivery_rig.delivery, 5 * NS_PER_S));
	delivery_rig.delivery = NULL;
}

int delivery_fixture_tear_down(void **state)
{
	if (delivery_rig.delivery)
		delivery_fixture_stop();
	alert_board_free(delivery_rig.board);
	delivery_rig.board = NULL;
	return alert_tear_down(state);
}

/* A program of the config: @body runs in a shell of its own. */
void delivery_fixture_program(const char *body)
{
	FILE *file = fopen(delivery_rig.script, "w");

	assert_non_null(file);
	(void)fprintf(file, "#!/bin/sh\nlog='%s'\n%s\n", delivery_rig.log_path, body);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(delivery_rig.script, 0700), 0);
	delivery_rig.notifies[0].command = (struct config_strings){ delivery_rig.argv, 1 };
}

void delivery_fixture_lock(sqlite3 **lock)
{
	/* Another writer that does not end. */
	assert_int_equal(sqlite3_open(alert_path(OUTBOX_FILE), lock), SQLITE_OK);
	assert_int_equal(sqlite3_exec(*lock, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
}

void delivery_fixture_unlock(sqlite3 *lock)
{
	assert_int_equal(sqlite3_exec(lock, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
	(void)sqlite3_close(lock);
}

void delivery_fixture_change(const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(alert_path(OUTBOX_FILE), &db), SQLITE_OK);
	(void)sqlite3_busy_timeout(db, 5000);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	(void)sqlite3_close(db);
}

int64_t delivery_fixture_number(const char *sql)
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

void delivery_fixture_put(const char *drive)
{
	static struct alert_message message;
	struct alert alert = alert_fixture(drive, ALERT_COLLAPSE);

	alert.is_told = true;
	alert_fixture_message(&message, ALERT_RAISED, &alert);
	message.t_ms = clock_wall_ms();
	assert_true(delivery_put(delivery_rig.delivery, &alert, 1, &message));
}

void delivery_fixture_sleep_ms(unsigned ms)
{
	const struct timespec pause = { ms / 1000, (long)(ms % 1000) * 1000000 };

	(void)nanosleep(&pause, NULL);
}

const char *delivery_fixture_log(void)
{
	static char bytes[8192];
	FILE *file = fopen(delivery_rig.log_path, "r");
	size_t length = file ? fread(bytes, 1, sizeof(bytes) - 1, file) : 0;

	bytes[length] = '\0';
	if (file)
		(void)fclose(file);
	return bytes;
}

unsigned delivery_fixture_lines(void)
{
	unsigned count = 0;

	for (const char *c = delivery_fixture_log(); *c; c++)
		count += *c == '\n';
	return count;
}

struct channel_status delivery_fixture_status(size_t channel)
{
	struct channel_status status;

	alert_board_get_channel(delivery_rig.board, channel, &status);
	return status;
}

int delivery_fixture_count(const struct alert *alert, void *arg)
{
	(void)alert;
	++*(int *)arg;
	return 0;
}

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

void receiver_start(struct receiver *receiver, const char *answer)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(address);

	receiver->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(receiver->fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(receiver->fd, 16), 0);
	assert_int_equal(getsockname(receiver->fd, (struct sockaddr *)&address, &length), 0);
	(void)snprintf(delivery_rig.url, sizeof(delivery_rig.url), "http://127.0.0.1:%u/hook",
		ntohs(address.sin_port));
	atomic_store(&receiver->answer, answer);
	atomic_store(&receiver->requests, 0);
	atomic_store(&receiver->drives, 0);
	assert_int_equal(pthread_create(&receiver->thread, NULL, receive, receiver), 0);
}

void receiver_stop(struct receiver *receiver)
{
	(void)shutdown(receiver->fd, SHUT_RDWR);
	(void)pthread_join(receiver->thread, NULL);
	(void)close(receiver->fd);
}
