/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sweep: as many requests in flight as asked for, into twice as many buffers, so that the drive has its next
 * requests before the last ones are judged; they are judged by this thread and by its helpers. */
#include "engine/verify_private.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

#define DEPTH_DEFAULT 8

static void span_queue(struct verify *verify, unsigned index)
{
	struct span *span = &verify->spans[index];
	uint64_t at = span->offset_bytes + span->done_bytes;
	struct ring_request request = {
		.slot = index,
		.file = (unsigned)(at / verify->job.file_bytes),
		.verb = RING_READ,
		.buffer = span->buffer + span->done_bytes,
		.bytes = span->goal_bytes - span->done_bytes,
		.offset_bytes = verify->job.base_bytes + at % verify->job.file_bytes,
	};

	verify->ops->queue(verify->ring, &request);
	verify->inflight++;
}

/* The next request of the sweep; never across two files. */
static void span_issue(struct verify *verify, unsigned index)
{
	struct span *span = &verify->spans[index];
	uint64_t left = verify->job.file_bytes - verify->next_bytes % verify->job.file_bytes;

	if (left > verify->to_bytes - verify->next_bytes)
		left = verify->to_bytes - verify->next_bytes;
	*span = (struct span){
		.offset_bytes = verify->next_bytes,
		.bytes = left < verify->span_bytes ? (uint32_t)left : verify->span_bytes,
		.buffer = span->buffer,
	};
	span->goal_bytes = span->bytes;
	verify->next_bytes += span->bytes;
	span_queue(verify, index);
}

static void spans_issue(struct verify *verify)
{
	unsigned index;

	while (verify->inflight < verify->depth && verify->next_bytes < verify->to_bytes &&
		!atomic_load_explicit(&verify->stop, memory_order_relaxed) &&
		judges_take_idle(verify, &index))
		span_issue(verify, index);
}

static uint32_t block_end(const struct verify *verify, const struct span *span)
{
	uint32_t end = (span->done_bytes / verify->job.block_bytes + 1) * verify->job.block_bytes;

	return end < span->bytes ? end : span->bytes;
}

/* The block that could not be read counts as such, the sweep goes on behind it. */
static void block_give_up(struct verify *verify, struct span *span, int error)
{
	uint32_t block = span->done_bytes / verify->job.block_bytes;
	struct verify_finding finding = {
		.offset_bytes = span->offset_bytes + (uint64_t)block * verify->job.block_bytes,
		.verdict = VERIFY_UNREADABLE,
		.error = error,
	};

	finding.expected_sequence = judges_expect(
		verify, finding.offset_bytes, block_end(verify, span) - block * verify->job.block_bytes)
					    .sequence;
	span->bad[block / 64] |= 1ULL << block % 64;
	span->done_bytes = block_end(verify, span);
	judges_unreadable(verify, &finding);
}

static void span_fail(struct verify *verify, struct span *span, int error)
{
	bool is_one_block = block_end(verify, span) == span->goal_bytes;

	if (is_one_block)
		block_give_up(verify, span, error);
	else
		span->done_bytes = span->done_bytes / verify->job.block_bytes * verify->job.block_bytes;
	span->is_narrow = true;
}

/* Not the medium's answers: the next block would get the same. */
static bool is_fatal(int error)
{
	static const int errors[] = { ENODEV, ENXIO, EBADF, EINVAL, EFAULT, ENOMEM, EOPNOTSUPP, EPERM, EACCES,
		ESHUTDOWN };

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (error == errors[i])
			return true;
	return false;
}

/* Negative errno when the sweep can't go on. */
static int span_complete(struct verify *verify, unsigned index, int result)
{
	struct span *span = &verify->spans[index];
	uint32_t count = result > 0 ? (uint32_t)result / PAYLOAD_SECTOR_BYTES * PAYLOAD_SECTOR_BYTES : 0;

	verify->inflight--;
	if (result < 0 && is_fatal(-result))
		return result;
	if (count)
		span->done_bytes += count;
	else if (result >= 0)
		span_fail(verify, span, ENODATA);
	else if (result != -EAGAIN && result != -EINTR)
		span_fail(verify, span, -result);
	if (span->done_bytes < span->bytes) {
		span->goal_bytes = span->is_narrow ? block_end(verify, span) : span->bytes;
		span_queue(verify, index);
		return 0;
	}
	judges_give(verify, index);
	return 0;
}

static int sweep_submit(struct verify *verify)
{
	int rc = verify->ops->submit(verify->ring);

	/* A full kernel queue is no failure: what was not taken goes out with the next reap. */
	return rc == -EAGAIN || rc == -EBUSY ? 0 : rc;
}

/* Collect what has completed, pass on what comes next. Waits only when there is nothing to judge. */
static int sweep_turn(struct verify *verify)
{
	unsigned least = judges_have_ready(verify) ? 0 : 1;
	int rc = 0, count = 0;

	if (verify->inflight)
		count = verify->ops->reap(
			verify->ring, least, RING_FOREVER, verify->completions, verify->span_count);
	if (count < 0)
		return count == -EINTR ? 0 : count;
	for (int i = 0; i < count; i++) {
		int one = span_complete(verify, verify->completions[i].slot, verify->completions[i].result);

		if (rc == 0)
			rc = one;
	}
	if (rc < 0)
		return rc;
	spans_issue(verify);
	return sweep_submit(verify);
}

/* Nothing may be in flight when the ring closes. */
static void sweep_drain(struct verify *verify)
{
	int count;

	while (verify->inflight) {
		count = verify->ops->reap(
			verify->ring, 1, RING_FOREVER, verify->completions, verify->span_count);
		if (count < 0 && count != -EINTR)
			return;
		verify->inflight -= count > 0 ? (unsigned)count : 0;
	}
}

static int sweep_run(struct verify *verify)
{
	int rc;

	judges_start(verify);
	spans_issue(verify);
	rc = sweep_submit(verify);
	while (rc == 0 && (verify->inflight || judges_have_work(verify))) {
		rc = sweep_turn(verify);
		if (rc == 0 && !judges_judge_one(verify) && !verify->inflight)
			judges_wait(verify);
	}
	judges_stop(verify);
	sweep_drain(verify);
	return rc;
}

static int ring_try(struct verify *verify, const struct ring_ops *ops)
{
	const struct ring_setup setup = {
		.fds = verify->fds,
		.fd_count = verify->job.fd_count,
		.depth = verify->span_count,
		.arena = verify->arena.bytes,
		.arena_bytes = verify->arena.size_bytes,
	};
	char notes[OPS_NOTES_MAX] = "";
	size_t used = strlen(verify->notes);
	int rc = ops->open(&setup, &verify->ring, notes);

	verify->ops = ops;
	if (rc < 0)
		(void)snprintf(verify->notes + used, sizeof(verify->notes) - used, "%s%s: %s%s%s",
			used ? "; " : "", ops->name, strerror(-rc), notes[0] ? ", " : "", notes);
	return rc;
}

static int ring_open(struct verify *verify)
{
	static const struct ring_ops *const choice[][2] = {
		[ENGINE_AUTO] = { &uring_ops, &libaio_ops },
		[ENGINE_IO_URING] = { &uring_ops, NULL },
		[ENGINE_LIBAIO] = { &libaio_ops, NULL },
		[ENGINE_NULL] = { &null_ops, NULL },
	};
	const struct ring_ops *const given[2] = { verify->job.ops, NULL };
	const struct ring_ops *const *tried = verify->job.ops ? given : choice[verify->job.engine];
	int rc = -EINVAL;

	for (unsigned i = 0; i < 2 && tried[i] && rc < 0; i++)
		rc = ring_try(verify, tried[i]);
	return rc;
}

static void gate_open(struct verify *verify, int rc)
{
	(void)pthread_mutex_lock(&verify->gate_lock);
	verify->is_open = true;
	verify->open_rc = rc;
	(void)pthread_cond_signal(&verify->gate_moved);
	(void)pthread_mutex_unlock(&verify->gate_lock);
}

static int gate_wait(struct verify *verify)
{
	int rc;

	(void)pthread_mutex_lock(&verify->gate_lock);
	while (!verify->is_open)
		(void)pthread_cond_wait(&verify->gate_moved, &verify->gate_lock);
	rc = verify->open_rc;
	(void)pthread_mutex_unlock(&verify->gate_lock);
	return rc;
}

static void *verify_main(void *arg)
{
	struct verify *verify = arg;
	sigset_t all;
	int rc;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, NULL);
	rc = ring_open(verify);
	gate_open(verify, rc);
	if (rc == 0) {
		rc = sweep_run(verify);
		verify->ops->close(verify->ring);
		atomic_store(&verify->progress.error, rc);
		atomic_store(&verify->progress.is_over, true);
		if (verify->job.on_end &&
			(rc < 0 || atomic_load(&verify->progress.done_bytes) == verify->to_bytes))
			verify->job.on_end(verify->job.on_end_arg);
	}
	atomic_store(&verify->has_ended, true);
	return NULL;
}

static int job_check(const struct verify_job *job, char *why)
{
	if (job->fd_count && job->file_bytes && job->block_bytes &&
		job->block_bytes <= VERIFY_REQUEST_BYTES && job->block_bytes % PAYLOAD_SECTOR_BYTES == 0 &&
		(job->fd_count == 1 || (job->file_bytes % job->block_bytes == 0 && !job->base_bytes)) &&
		job->base_bytes % PAYLOAD_SECTOR_BYTES == 0 &&
		job->to_bytes / job->file_bytes + (job->to_bytes % job->file_bytes != 0) <= job->fd_count)
		return 0;
	(void)snprintf(why, ENGINE_WHY_MAX, "%llu bytes in blocks of %u do not fit %u files of %llu bytes",
		(unsigned long long)job->to_bytes, job->block_bytes, job->fd_count,
		(unsigned long long)job->file_bytes);
	return -EINVAL;
}

/* -ENOMEM; what was allocated is freed by verify_free(). */
static int memory_take(struct verify *verify)
{
	unsigned count = verify->span_count;

	verify->fds = calloc(verify->job.fd_count, sizeof(*verify->fds));
	verify->spans = calloc(count, sizeof(*verify->spans));
	verify->completions = calloc(count, sizeof(*verify->completions));
	if (arena_init(&verify->arena, (size_t)count * verify->span_bytes) || !verify->fds ||
		!verify->spans || !verify->completions)
		return -ENOMEM;
	memcpy(verify->fds, verify->job.fds, verify->job.fd_count * sizeof(*verify->fds));
	for (unsigned i = 0; i < count; i++)
		verify->spans[i].buffer = verify->arena.bytes + (size_t)i * verify->span_bytes;
	return 0;
}

static int verify_new(const struct verify_job *job, struct verify **out, char *why)
{
	struct verify *verify;
	int rc = job_check(job, why);

	if (rc < 0)
		return rc;
	verify = calloc(1, sizeof(*verify));
	rc = -ENOMEM;
	if (verify) {
		verify->job = *job;
		verify->depth = job->queue_depth ? job->queue_depth : DEPTH_DEFAULT;
		verify->span_count = 2 * verify->depth;
		verify->span_bytes = VERIFY_REQUEST_BYTES / job->block_bytes * job->block_bytes;
		verify->to_bytes = job->to_bytes / PAYLOAD_SECTOR_BYTES * PAYLOAD_SECTOR_BYTES;
		(void)pthread_mutex_init(&verify->gate_lock, NULL);
		(void)pthread_cond_init(&verify->gate_moved, NULL);
		rc = judges_init(verify);
		if (rc == 0)
			rc = memory_take(verify);
	}
	if (rc < 0) {
		(void)snprintf(why, ENGINE_WHY_MAX, "out of memory for the buffers of a read-back");
		verify_free(verify);
		return rc;
	}
	*out = verify;
	return 0;
}

int verify_start(const struct verify_job *job, struct verify **out, char *why)
{
	struct verify *verify = NULL;
	int rc = verify_new(job, &verify, why);

	if (rc < 0)
		return rc;
	rc = -pthread_create(&verify->thread, NULL, verify_main, verify);
	if (rc < 0) {
		(void)snprintf(why, ENGINE_WHY_MAX, "no thread could be started: %s", strerror(-rc));
		goto fail;
	}
	verify->is_started = true;
	rc = gate_wait(verify);
	if (rc < 0) {
		(void)pthread_join(verify->thread, NULL);
		(void)snprintf(why, ENGINE_WHY_MAX, "no I/O engine could be started: %s", verify->notes);
		goto fail;
	}
	*out = verify;
	return 0;
fail:
	verify_free(verify);
	return rc;
}

void verify_read(struct verify *verify, struct verify_progress *out)
{
	struct progress *progress = &verify->progress;

	/* First: once it is over, all other figures are the last ones. */
	out->is_over = atomic_load(&progress->is_over);
	out->error = atomic_load(&progress->error);
	out->done_bytes = atomic_load_explicit(&progress->done_bytes, memory_order_relaxed);
	out->blocks = atomic_load_explicit(&progress->blocks, memory_order_relaxed);
	out->tracked_blocks = atomic_load_explicit(&progress->tracked_blocks, memory_order_relaxed);
	out->ahead_blocks = atomic_load_explicit(&progress->ahead_blocks, memory_order_relaxed);
	for (unsigned i = 0; i < VERIFY_VERDICT_COUNT; i++)
		out->counts[i] = atomic_load_explicit(&progress->counts[i], memory_order_relaxed);
}

const char *verify_engine_name(const struct verify *verify)
{
	return verify->ops->name;
}

bool verify_stop(struct verify *verify, uint64_t timeout_ns)
{
	const struct timespec pause = { .tv_nsec = (long)NS_PER_MS };
	uint64_t until_ns = clock_mono_ns() + timeout_ns;

	atomic_store(&verify->stop, true);
	while (!atomic_load(&verify->has_ended)) {
		if (clock_mono_ns() >= until_ns)
			return false;
		(void)nanosleep(&pause, NULL);
	}
	if (verify->is_started)
		(void)pthread_join(verify->thread, NULL);
	verify->is_started = false;
	return true;
}

void verify_free(struct verify *verify)
{
	if (!verify)
		return;
	free(verify->fds);
	arena_fini(&verify->arena);
	free(verify->spans);
	free(verify->completions);
	judges_fini(verify);
	(void)pthread_mutex_destroy(&verify->gate_lock);
	(void)pthread_cond_destroy(&verify->gate_moved);
	free(verify);
}
