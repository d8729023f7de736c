/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "alert/board.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

struct cell {
	bool is_there;
	struct alert alert;
};

struct alert_board {
	pthread_mutex_t mutex;
	size_t drives, channels;
	struct channel_status *statuses;
	struct cell *cells;
	char past_error[BOARD_RESULT_MAX];
	size_t past_count;
	struct alert past[BOARD_PAST_MAX]; /* newest first */
};

int alert_board_new(size_t drives, size_t channels, struct alert_board **out)
{
	struct alert_board *board = calloc(1, sizeof(*board));

	if (!board)
		return -ENOMEM;
	board->drives = drives;
	board->channels = channels;
	board->statuses = calloc(channels + 1, sizeof(*board->statuses));
	board->cells = calloc((drives + 1) * ALERT_RULE_COUNT, sizeof(*board->cells));
	(void)pthread_mutex_init(&board->mutex, NULL); /* the default kind cannot fail on Linux */
	if (!board->statuses || !board->cells) {
		alert_board_free(board);
		return -ENOMEM;
	}
	*out = board;
	return 0;
}

void alert_board_free(struct alert_board *board)
{
	if (!board)
		return;
	(void)pthread_mutex_destroy(&board->mutex);
	free(board->statuses);
	free(board->cells);
	free(board);
}

size_t alert_board_drives(const struct alert_board *board)
{
	return board->drives;
}

size_t alert_board_channels(const struct alert_board *board)
{
	return board->channels;
}

void alert_board_put(struct alert_board *board, size_t drive, const struct alert *alert)
{
	struct cell *cell = &board->cells[drive * ALERT_RULE_COUNT + alert->rule];

	(void)pthread_mutex_lock(&board->mutex);
	cell->is_there = true;
	cell->alert = *alert;
	(void)pthread_mutex_unlock(&board->mutex);
}

bool alert_board_get(struct alert_board *board, size_t drive, enum alert_rule rule, struct alert *out)
{
	const struct cell *cell = &board->cells[drive * ALERT_RULE_COUNT + rule];
	bool is_there;

	(void)pthread_mutex_lock(&board->mutex);
	is_there = cell->is_there;
	if (is_there)
		*out = cell->alert;
	(void)pthread_mutex_unlock(&board->mutex);
	return is_there;
}

/* Below 0: @a comes before @b. In the order of outbox_each_episode(). */
static int past_compare(const struct alert *a, const struct alert *b)
{
	int order = strcmp(a->drive, b->drive);

	if (a->since_ms != b->since_ms)
		return a->since_ms > b->since_ms ? -1 : 1;
	return order ? order : strcmp(alert_rule_name(a->rule), alert_rule_name(b->rule));
}

static void past_insert(struct alert_board *board, const struct alert *alert)
{
	size_t at = 0, moved;
	int order = 1;

	while (at < board->past_count && (order = past_compare(alert, &board->past[at])) > 0)
		at++;
	if (at == BOARD_PAST_MAX)
		return;
	if (at == board->past_count || order != 0) {
		moved = board->past_count < BOARD_PAST_MAX ? board->past_count++ : BOARD_PAST_MAX - 1;
		memmove(&board->past[at + 1], &board->past[at], (moved - at) * sizeof(board->past[0]));
	}
	board->past[at] = *alert;
}

void alert_board_put_past(struct alert_board *board, const struct alert *alert)
{
	if (alert->since_ms == INT64_MIN)
		return;
	(void)pthread_mutex_lock(&board->mutex);
	past_insert(board, alert);
	(void)pthread_mutex_unlock(&board->mutex);
}

void alert_board_put_past_error(struct alert_board *board, const char *why)
{
	(void)pthread_mutex_lock(&board->mutex);
	text_copy(board->past_error, sizeof(board->past_error), why);
	(void)pthread_mutex_unlock(&board->mutex);
}

bool alert_board_get_past(struct alert_board *board, size_t index, struct alert *out)
{
	bool is_there;

	(void)pthread_mutex_lock(&board->mutex);
	is_there = index < board->past_count;
	if (is_there)
		*out = board->past[index];
	(void)pthread_mutex_unlock(&board->mutex);
	return is_there;
}

void alert_board_get_past_error(struct alert_board *board, char *why)
{
	(void)pthread_mutex_lock(&board->mutex);
	text_copy(why, BOARD_RESULT_MAX, board->past_error);
	(void)pthread_mutex_unlock(&board->mutex);
}

void alert_board_put_channel(struct alert_board *board, size_t channel, const struct channel_status *status)
{
	(void)pthread_mutex_lock(&board->mutex);
	board->statuses[channel] = *status;
	(void)pthread_mutex_unlock(&board->mutex);
}

void alert_board_get_channel(struct alert_board *board, size_t channel, struct channel_status *out)
{
	(void)pthread_mutex_lock(&board->mutex);
	*out = board->statuses[channel];
	(void)pthread_mutex_unlock(&board->mutex);
}
