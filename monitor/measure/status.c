/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "measure/status.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

struct status_board {
	pthread_mutex_t mutex;
	size_t count;
	struct drive_status drives[];
};

int status_new(size_t count, struct status_board **out)
{
	struct status_board *board;

	if (count > (SIZE_MAX - sizeof(*board)) / sizeof(board->drives[0]))
		return -ENOMEM;
	board = calloc(1, sizeof(*board) + count * sizeof(board->drives[0]));
	if (!board)
		return -ENOMEM;
	(void)pthread_mutex_init(&board->mutex, NULL); /* the default kind cannot fail on Linux */
	board->count = count;
	*out = board;
	return 0;
}

void status_free(struct status_board *board)
{
	if (!board)
		return;
	(void)pthread_mutex_destroy(&board->mutex);
	free(board);
}

size_t status_count(const struct status_board *board)
{
	return board->count;
}

void status_publish(struct status_board *board, size_t drive, const struct drive_status *status)
{
	if (drive >= board->count)
		return;
	(void)pthread_mutex_lock(&board->mutex);
	board->drives[drive] = *status;
	(void)pthread_mutex_unlock(&board->mutex);
}

void status_read(struct status_board *board, size_t drive, struct drive_status *out)
{
	if (drive >= board->count)
		return;
	(void)pthread_mutex_lock(&board->mutex);
	*out = board->drives[drive];
	(void)pthread_mutex_unlock(&board->mutex);
}
