/* SPDX-License-Identifier: GPL-2.0-or-later */
/* io_uring with registered files, buffers and ring, each done without when the kernel refuses it. No IOPOLL (it
 * needs poll queues and changes what is measured), no SQPOLL (a busy core for days). */
#include "engine/ops.h"

#include <errno.h>
#include <liburing.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ring {
	struct io_uring uring;
	int *fds; /* NULL when registered */
	bool has_buffers, is_deferred;
	unsigned queued;
};

struct flag_set {
	unsigned flags;
	const char *without;
};

/* Best first. DEFER_TASKRUN (6.1) lets completions wait until we ask, COOP_TASKRUN (5.19) spares interrupts. */
static const struct flag_set flag_sets[] = {
	{ IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_SUBMIT_ALL, "" },
	{ IORING_SETUP_COOP_TASKRUN | IORING_SETUP_SUBMIT_ALL, "without DEFER_TASKRUN" },
	{ 0, "without DEFER_TASKRUN and COOP_TASKRUN" },
};

static void note_add(char *notes, const char *what, int error)
{
	size_t used = strlen(notes);

	if (used + 1 < OPS_NOTES_MAX)
		(void)snprintf(notes + used, OPS_NOTES_MAX - used, "%s%s%s%s", used ? ", " : "", what,
			error ? ": " : "", error ? strerror(error) : "");
}

static int queue_init(struct ring *ring, unsigned depth, char *notes)
{
	int rc = -EINVAL;

	for (size_t i = 0; i < sizeof(flag_sets) / sizeof(flag_sets[0]) && rc == -EINVAL; i++) {
		rc = io_uring_queue_init(depth, &ring->uring, flag_sets[i].flags);
		ring->is_deferred = flag_sets[i].flags & IORING_SETUP_DEFER_TASKRUN;
		if (rc == 0 && flag_sets[i].without[0])
			note_add(notes, flag_sets[i].without, 0);
	}
	return rc;
}

static int keep_fds(struct ring *ring, const struct ring_setup *setup)
{
	ring->fds = malloc(setup->fd_count * sizeof(*ring->fds));
	if (!ring->fds)
		return -ENOMEM;
	memcpy(ring->fds, setup->fds, setup->fd_count * sizeof(*ring->fds));
	return 0;
}

static void uring_close(struct ring *ring)
{
	if (!ring)
		return;
	io_uring_queue_exit(&ring->uring);
	free(ring->fds);
	free(ring);
}

static int uring_open(const struct ring_setup *setup, struct ring **out, char *notes)
{
	struct iovec arena = { .iov_base = setup->arena, .iov_len = setup->arena_bytes };
	struct ring *ring = calloc(1, sizeof(*ring));
	int rc;

	notes[0] = '\0';
	if (!ring)
		return -ENOMEM;
	rc = queue_init(ring, setup->depth, notes);
	if (rc < 0) {
		free(ring);
		return rc;
	}
	rc = io_uring_register_files(&ring->uring, setup->fds, setup->fd_count);
	if (rc < 0) {
		note_add(notes, "files not registered", -rc);
		rc = keep_fds(ring, setup);
		if (rc < 0)
			goto fail;
	}
	/* RLIMIT_MEMLOCK may refuse: then the kernel pins pages at each request. */
	rc = io_uring_register_buffers(&ring->uring, &arena, 1);
	ring->has_buffers = rc == 0;
	if (rc < 0)
		note_add(notes, "buffers not registered", -rc);
	(void)io_uring_register_ring_fd(&ring->uring);
	*out = ring;
	return 0;
fail:
	uring_close(ring);
	return rc;
}

static void uring_queue(struct ring *ring, const struct ring_request *request)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring->uring);
	int file = ring->fds ? ring->fds[request->file] : (int)request->file;

	if (request->verb == RING_SYNC)
		io_uring_prep_fsync(sqe, file, IORING_FSYNC_DATASYNC);
	else if (ring->has_buffers && request->verb == RING_WRITE)
		io_uring_prep_write_fixed(
			sqe, file, request->buffer, request->bytes, request->offset_bytes, 0);
	else if (ring->has_buffers)
		io_uring_prep_read_fixed(
			sqe, file, request->buffer, request->bytes, request->offset_bytes, 0);
	else if (request->verb == RING_WRITE)
		io_uring_prep_write(sqe, file, request->buffer, request->bytes, request->offset_bytes);
	else
		io_uring_prep_read(sqe, file, request->buffer, request->bytes, request->offset_bytes);
	if (!ring->fds)
		sqe->flags |= IOSQE_FIXED_FILE;
	io_uring_sqe_set_data64(sqe, request->slot);
	ring->queued++;
}

static int uring_submit(struct ring *ring)
{
	int rc;

	while (ring->queued) {
		rc = io_uring_submit(&ring->uring);
		if (rc == -EINTR)
			continue;
		if (rc < 0)
			return rc;
		ring->queued = io_uring_sq_ready(&ring->uring);
	}
	return 0;
}

/* One call submits, lets deferred completions in, and waits. */
static int uring_enter(struct ring *ring, unsigned least, uint64_t timeout_ns)
{
	struct __kernel_timespec timeout = {
		.tv_sec = (long long)(timeout_ns / 1000000000),
		.tv_nsec = (long long)(timeout_ns % 1000000000),
	};
	struct io_uring_cqe *first;
	int rc;

	if (timeout_ns == RING_FOREVER || least == 0)
		rc = io_uring_submit_and_wait(&ring->uring, least);
	else
		rc = io_uring_submit_and_wait_timeout(&ring->uring, &first, least, &timeout, NULL);
	/* The kernel took all that was queued, or says how many. */
	ring->queued = io_uring_sq_ready(&ring->uring);
	return rc < 0 && rc != -EAGAIN && rc != -EBUSY && rc != -ETIME ? rc : 0;
}

static int uring_reap(
	struct ring *ring, unsigned least, uint64_t timeout_ns, struct ring_completion *out, unsigned most)
{
	struct io_uring_cqe *cqe;
	unsigned head, count = 0;
	int rc;

	if (ring->queued || io_uring_cq_ready(&ring->uring) < least) {
		rc = uring_enter(ring, least, timeout_ns);
		if (rc < 0)
			return rc;
	} else if (ring->is_deferred && least == 0) {
		(void)io_uring_get_events(&ring->uring);
	}
	io_uring_for_each_cqe(&ring->uring, head, cqe)
	{
		if (count == most)
			break;
		out[count].slot = (unsigned)io_uring_cqe_get_data64(cqe);
		out[count++].result = cqe->res;
	}
	io_uring_cq_advance(&ring->uring, count);
	return (int)count;
}

const struct ring_ops uring_ops = {
	.name = "io_uring",
	.open = uring_open,
	.close = uring_close,
	.queue = uring_queue,
	.submit = uring_submit,
	.reap = uring_reap,
};
