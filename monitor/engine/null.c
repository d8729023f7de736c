/* SPDX-License-Identifier: GPL-2.0-or-later */
/* No I/O at all: every request completes whole at the next reap. For tests of what lies above the kernel. */
#include "engine/ops.h"

#include <errno.h>
#include <stdlib.h>

struct ring {
	unsigned depth, queued;
	struct ring_completion done[];
};

static int null_open(const struct ring_setup *setup, struct ring **out, char *notes)
{
	struct ring *ring = calloc(1, sizeof(*ring) + setup->depth * sizeof(ring->done[0]));

	notes[0] = '\0';
	if (!ring)
		return -ENOMEM;
	ring->depth = setup->depth;
	*out = ring;
	return 0;
}

static void null_close(struct ring *ring)
{
	free(ring);
}

static void null_queue(struct ring *ring, const struct ring_request *request)
{
	ring->done[ring->queued].slot = request->slot;
	ring->done[ring->queued++].result = request->verb == RING_SYNC ? 0 : (int)request->bytes;
}

static int null_submit(struct ring *ring)
{
	(void)ring;
	return 0;
}

static int null_reap(
	struct ring *ring, unsigned least, uint64_t timeout_ns, struct ring_completion *out, unsigned most)
{
	unsigned count = ring->queued < most ? ring->queued : most;

	(void)least;
	(void)timeout_ns;
	for (unsigned i = 0; i < count; i++)
		out[i] = ring->done[ring->queued - count + i];
	ring->queued -= count;
	return (int)count;
}

const struct ring_ops null_ops = {
	.name = "null",
	.open = null_open,
	.close = null_close,
	.queue = null_queue,
	.submit = null_submit,
	.reap = null_reap,
};
