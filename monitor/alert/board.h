/* SPDX-License-Identifier: GPL-2.0-or-later */
/* board.h - what fires, what fired of late and how each channel does, as last published: fixed-size copies under one mutex
 * that is held for one copy only. The conductor writes the alerts, the delivery thread the channels; the web and the control socket read. */
#ifndef DRIVESOAK_ALERT_BOARD_H
#define DRIVESOAK_ALERT_BOARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "alert/alerts.h"

#define BOARD_RESULT_MAX 256
#define BOARD_PAST_MAX	 50

struct channel_status {
	char name[72], kind[16]; /* command, webhook, mail, ping */
	int64_t last_ms;	 /* of the last try; INT64_MIN: none yet */
	bool is_failing;
	char result[BOARD_RESULT_MAX];
	uint64_t queued;
	/* Of the last test that was sent. */
	uint64_t test; /* its number; 0: none yet */
	bool is_test_ok;
	char test_result[BOARD_RESULT_MAX];
};

struct alert_board;

/* The service itself is drive number @drives. 0 or -ENOMEM. */
int alert_board_new(size_t drives, size_t channels, struct alert_board **out);
void alert_board_free(struct alert_board *board); /* NULL is fine */
size_t alert_board_drives(const struct alert_board *board);
size_t alert_board_channels(const struct alert_board *board);

void alert_board_put(struct alert_board *board, size_t drive, const struct alert *alert);
/* False, with *@out untouched, when nothing was published yet. */
bool alert_board_get(struct alert_board *board, size_t drive, enum alert_rule rule, struct alert *out);
/* An episode as it is or was, among the last ones; the same again takes the place of what it was. One that has not begun is
 * none. */
void alert_board_put_past(struct alert_board *board, const struct alert *alert);
/* Those of before the start could not be read. */
void alert_board_put_past_error(struct alert_board *board, const char *why);
/* Number @index of them, newest first; false, with *@out untouched, when there are no more. */
bool alert_board_get_past(struct alert_board *board, size_t index, struct alert *out);
/* @why has BOARD_RESULT_MAX; "": none. */
void alert_board_get_past_error(struct alert_board *board, char *why);
void alert_board_put_channel(struct alert_board *board, size_t channel, const struct channel_status *status);
void alert_board_get_channel(struct alert_board *board, size_t channel, struct channel_status *out);

#endif
