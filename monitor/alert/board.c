/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "alert/board.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

struct cell {
	bool is_there;
	struct alert alert;
};

struct alert_board {
	pthread_mutex_t mutex;
	size_t drives, channels;
	struct channel_status *statuses;
	struct cell *cells;
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
