/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Linux native AIO: what remains where io_uring is refused. Submission blocks when the device's queue is full. */
#include "engine/ops.h"

#include <errno.h>
#include <libaio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ring {
	io_context_t context;
	unsigned depth, queued_from, queued;
	int *fds;
	struct iocb *iocbs;  /* one a slot */
	struct iocb **queue; /* queued, not yet taken by the kernel: [queued_from, queued_from + queued) */
	struct io_event *events;
};

static void libaio_close(struct ring *ring)
{
	if (!ring)
		return;
	if (ring->context)
		(void)io_destroy(ring->context);
	free(ring->fds);
	free(ring->iocbs);
	free(ring->queue);
	free(ring->events);
	free(ring);
}

static int libaio_open(const struct ring_setup *setup, struct ring **out, char *notes)
{
	struct ring *ring = calloc(1, sizeof(*ring));
	int rc;

	notes[0] = '\0';
	if (!ring)
		return -ENOMEM;
	ring->depth = setup->depth;
	ring->fds = calloc(setup->fd_count, sizeof(*ring->fds));
	ring->iocbs = calloc(setup->depth, sizeof(*ring->iocbs));
	ring->queue = calloc(setup->depth, sizeof(struct iocb *));
	ring->events = calloc(setup->depth, sizeof(*ring->events));
	if (!ring->fds || !ring->iocbs || !ring->queue || !ring->events) {
		libaio_close(ring);
		return -ENOMEM;
	}
	memcpy(ring->fds, setup->fds, setup->fd_count * sizeof(*ring->fds));
	rc = io_setup((int)setup->depth, &ring->context);
	if (rc < 0) {
		ring->context = NULL;
		libaio_close(ring);
		if (rc == -EAGAIN)
			(void)snprintf(notes, OPS_NOTES_MAX, "libaio: /proc/sys/fs/aio-max-nr is used up");
		return rc;
	}
	*out = ring;
	return 0;
}

static void libaio_queue(struct ring *ring, const struct ring_request *request)
{
	struct iocb *iocb = &ring->iocbs[request->slot];
	int fd = ring->fds[request->file];

	if (request->verb == RING_SYNC)
		io_prep_fdsync(iocb, fd);
	else if (request->verb == RING_WRITE)
		io_prep_pwrite(iocb, fd, request->buffer, request->bytes, (long long)request->offset_bytes);
	else
		io_prep_pread(iocb, fd, request->buffer, request->bytes, (long long)request->offset_bytes);
	iocb->data = (void *)(uintptr_t)request->slot;
	if (ring->queued == 0)
		ring->queued_from = 0;
	if (ring->queued_from + ring->queued == ring->depth) {
		memmove(ring->queue, ring->queue + ring->queued_from, ring->queued * sizeof(struct iocb *));
		ring->queued_from = 0;
	}
	ring->queue[ring->queued_from + ring->queued++] = iocb;
}

static int libaio_submit(struct ring *ring)
{
	int rc;

	while (ring->queued) {
		rc = io_submit(ring->context, (long)ring->queued, ring->queue + ring->queued_from);
		if (rc == -EINTR)
			continue;
		if (rc < 0)
			return rc;
		ring->queued_from += (unsigned)rc;
		ring->queued -= (unsigned)rc;
	}
	return 0;
}

static int libaio_reap(
	struct ring *ring, unsigned least, uint64_t timeout_ns, struct ring_completion *out, unsigned most)
{
	struct timespec timeout = {
		.tv_sec = (time_t)(timeout_ns / 1000000000),
		.tv_nsec = (long)(timeout_ns % 1000000000),
	};
	int count, rc = libaio_submit(ring);

	if (rc < 0 && rc != -EAGAIN)
		return rc;
	if (most > ring->depth)
		most = ring->depth;
	count = io_getevents(ring->context, (long)least, (long)most, ring->events,
		timeout_ns == RING_FOREVER ? NULL : &timeout);
	for (int i = 0; i < count; i++) {
		out[i].slot = (unsigned)(uintptr_t)ring->events[i].data;
		out[i].result = (int)(long)ring->events[i].res;
	}
	return count;
}

const struct ring_ops libaio_ops = {
	.name = "libaio",
	.open = libaio_open,
	.close = libaio_close,
	.queue = libaio_queue,
	.submit = libaio_submit,
	.reap = libaio_reap,
};
