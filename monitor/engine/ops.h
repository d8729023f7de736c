/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ops.h - the border between a worker and the kernel: queue a request, pass queued ones on, collect completions.
 * A ring belongs to the worker thread that opened it; nothing here allocates after open. All answers are negative
 * errno; a completion carries the kernel's result (bytes or negative errno) untouched. */
#ifndef DRIVESOAK_OPS_H
#define DRIVESOAK_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OPS_NOTES_MAX 256

#define RING_FOREVER UINT64_MAX

struct ring; /* private to each implementation */

struct ring_setup {
	const int *fds;
	unsigned fd_count;
	unsigned depth; /* most requests in flight */
	uint8_t *arena; /* buffers, one behind the other */
	size_t arena_bytes;
};

enum ring_verb { RING_WRITE, RING_READ, RING_SYNC /* fdatasync() of the file; no buffer */ };

struct ring_request {
	unsigned slot; /* 0..depth-1, returned by the completion */
	unsigned file; /* index into fds */
	enum ring_verb verb;
	uint8_t *buffer; /* inside the arena */
	uint32_t bytes;
	uint64_t offset_bytes; /* in the file */
};

struct ring_completion {
	unsigned slot;
	int result; /* bytes (0 for a sync) or negative errno */
};

struct ring_ops {
	const char *name;
	/* @notes (OPS_NOTES_MAX) gets what the kernel refused and was done without; "" when nothing. */
	int (*open)(const struct ring_setup *setup, struct ring **out, char *notes);
	void (*close)(struct ring *ring); /* NULL is fine; nothing may be in flight */
	/* Cannot fail while fewer than depth requests are queued or in flight. */
	void (*queue)(struct ring *ring, const struct ring_request *request);
	/* Pass all queued requests to the kernel. 0, or -errno: then what was not taken stays queued. */
	int (*submit)(struct ring *ring);
	/* Wait until @least completions are there (0: do not wait) or @timeout_ns have passed (RING_FOREVER: no limit)
	 * and collect up to @most. Count, or -EINTR. Also submits what is queued where that saves a call. */
	int (*reap)(struct ring *ring, unsigned least, uint64_t timeout_ns, struct ring_completion *out,
		unsigned most);
};

extern const struct ring_ops uring_ops, libaio_ops, null_ops;

#endif
