/* SPDX-License-Identifier: GPL-2.0-or-later */
/* delivery_fixture.h - the delivery thread on a scratch folder, with a program and an HTTP receiver of our own. */
#ifndef TESTS_DELIVERY_FIXTURE_H
#define TESTS_DELIVERY_FIXTURE_H

#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdint.h>

#include "alert/delivery.h"

/* Of the test that runs. */
struct delivery_rig {
	struct config_notify notifies[2];
	struct config config; /* of the first of them that count */
	struct alert_board *board;
	struct delivery *delivery; /* NULL: stopped */
	char script[200], log_path[200], url[64];
	char *argv[1]; /* the script */
	struct alert_message scratch;
	uint64_t request_ns, resend_ns, give_up_ns, pause_first_ns, pause_most_ns; /* for the next start */
};
extern struct delivery_rig delivery_rig;

/* A folder, two channels that are not used yet, short pauses. */
int delivery_fixture_set_up(void **state);
int delivery_fixture_tear_down(void **state);
/* The delivery on what is in the folder; open: its thread does not run yet; begin: with a fresh board. */
void delivery_fixture_open(void);
void delivery_fixture_start(void);
void delivery_fixture_begin(void);
void delivery_fixture_stop(void);
/* A program of the first channel: @body runs in a shell of its own, $log names the file of log(). */
void delivery_fixture_program(const char *body);
/* Another writer of the file of messages, which does not end. */
void delivery_fixture_lock(sqlite3 **lock);
void delivery_fixture_unlock(sqlite3 *lock);
/* SQL on the file of messages. */
void delivery_fixture_change(const char *sql);
int64_t delivery_fixture_number(const char *sql);
/* A collapse of that drive, told now. */
void delivery_fixture_put(const char *drive);
void delivery_fixture_sleep_ms(unsigned ms);
/* What the program wrote. */
const char *delivery_fixture_log(void);
unsigned delivery_fixture_lines(void);
struct channel_status delivery_fixture_status(size_t channel);
/* For outbox_each_*(): @arg is an int. */
int delivery_fixture_count(const struct alert *alert, void *arg);

/* A receiver: it answers each connection with @answer; an empty one never. */
struct receiver {
	int fd;
	pthread_t thread;
	const char *_Atomic answer;
	atomic_uint requests;
	char last[131072];	 /* for the test once requests grew */
	_Atomic uint64_t drives; /* a bit for each driveNN that it took */
};
/* Sets the url of the rig. */
void receiver_start(struct receiver *receiver, const char *answer);
void receiver_stop(struct receiver *receiver);

#define ANSWER(status) "HTTP/1.1 " status "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

#define WAIT_FOR(condition)                                                                                  \
	do {                                                                                                 \
		for (int tries_ = 0; !(condition); tries_++) {                                               \
			if (tries_ == 1000)                                                                  \
				fail_msg("waited 10 s for %s", #condition);                                  \
			delivery_fixture_sleep_ms(10);                                                       \
		}                                                                                            \
	} while (0)

#endif
