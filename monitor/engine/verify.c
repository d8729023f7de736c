/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sweep: as many requests in flight as asked for, into twice as many buffers, so that the drive has its next
 * requests before the last ones are judged. */
#include "engine/verify.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "engine/arena.h"
#include "engine/engine.h"
#include "engine/ops.h"
#include "engine/payload.h"

#define REQUEST_BYTES (1u << 20)
#define DEPTH_DEFAULT 8
#define BLOCKS_MOST   (REQUEST_BYTES / PAYLOAD_SECTOR_BYTES)

/* A run of whole blocks, read by one request; block by block after that request failed. */
struct span {
	uint64_t offset_bytes; /* in the target */
	uint32_t bytes;
	uint32_t done_bytes; /* read, or given up */
	uint32_t goal_bytes; /* end of the request under way */
	bool is_narrow;
	uint8_t *buffer;
	uint64_t bad[BLOCKS_MOST / 64]; /* blocks that can't be read */
};

struct progress {
	_Atomic uint64_t done_bytes, blocks, tracked_blocks, ahead_blocks;
	_Atomic uint64_t counts[VERIFY_VERDICT_COUNT];
	_Atomic int error;
	_Atomic bool is_over;
};

struct verify {
	struct verify_job job;
	int *fds;
	uint64_t to_bytes; /* whole sectors */
	uint32_t span_bytes;
	unsigned depth, span_count;
	pthread_t thread;
	bool is_started;
	_Atomic bool has_ended, stop;
	struct progress progress;

	/* Start only: the thread says how its ring came out. */
	pthread_mutex_t gate_lock;
	pthread_cond_t gate_moved;
	bool is_open;
	int open_rc;
	char notes[ENGINE_NOTES_MAX];

	/* The thread's own from here, but for ops, which is set once before the gate. */
	const struct ring_ops *ops;
	struct ring *ring;
	struct arena arena;
	struct span *spans;
	unsigned *idle, *ready; /* stack, queue of span indexes */
	unsigned idle_count, ready_from, ready_count, inflight;
	struct ring_completion *completions;
	uint64_t next_bytes;
};

static void counter_add(_Atomic uint64_t *counter, uint64_t value)
{
	atomic_store_explicit(
		counter, atomic_load_explicit(counter, memory_order_relaxed) + value, memory_order_relaxed);
}

static void finding_report(struct verify *verify, const struct verify_finding *finding)
{
	if (verify->job.on_finding)
		verify->job.on_finding(verify->job.on_finding_arg, finding);
}

static void block_count(struct verify *verify, enum verify_verdict verdict)
{
	counter_add(&verify->progress.blocks, 1);
	counter_add(&verify->progress.counts[verdict], 1);
}

static struct ledger_expectation block_expect(const struct verify *verify, uint64_t offset, uint32_t bytes)
{
	const struct ledger_expectation unknown = { .rule = LEDGER_UNTRACKED };

	if (!verify->job.ledger || bytes < verify->job.block_bytes)
		return unknown;
	return ledger_expect(verify->job.ledger, offset / verify->job.block_bytes);
}

static void block_judge(struct verify *verify, const uint8_t *data, uint64_t offset, uint32_t bytes)
{
	const struct verify_place place = {
		.run_tag = verify->job.run_tag,
		.first_sector = offset / PAYLOAD_SECTOR_BYTES,
		.block_bytes = bytes,
		.lba_bytes = verify->job.lba_bytes,
	};
	struct ledger_expectation expect = block_expect(verify, offset, bytes);
	struct verify_finding finding = { .offset_bytes = offset, .expected_sequence = expect.sequence };

	finding.verdict = verify_judge(data, &place, &expect, &finding.found_sequence);
	if (expect.rule == LEDGER_EXACT || expect.rule == LEDGER_AT_LEAST)
		counter_add(&verify->progress.tracked_blocks, 1);
	if (expect.rule == LEDGER_EXACT && finding.verdict == VERIFY_GOOD &&
		finding.found_sequence > expect.sequence)
		counter_add(&verify->progress.ahead_blocks, 1);
	block_count(verify, finding.verdict);
	if (finding.verdict != VERIFY_GOOD)
		finding_report(verify, &finding);
}

static void span_judge(struct verify *verify, unsigned index)
{
	struct span *span = &verify->spans[index];
	uint32_t block_bytes = verify->job.block_bytes;

	for (uint32_t at = 0, block = 0; at < span->bytes; at += block_bytes, block++) {
		uint32_t bytes = span->bytes - at < block_bytes ? span->bytes - at : block_bytes;

		if (!(span->bad[block / 64] >> block % 64 & 1))
			block_judge(verify, span->buffer + at, span->offset_bytes + at, bytes);
	}
	counter_add(&verify->progress.done_bytes, span->bytes);
	verify->idle[verify->idle_count++] = index;
}

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
static void span_issue(struct verify *verify)
{
	unsigned index = verify->idle[--verify->idle_count];
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
	while (verify->idle_count && verify->inflight < verify->depth &&
		verify->next_bytes < verify->to_bytes &&
		!atomic_load_explicit(&verify->stop, memory_order_relaxed))
		span_issue(verify);
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

	finding.expected_sequence = block_expect(
		verify, finding.offset_bytes, block_end(verify, span) - block * verify->job.block_bytes)
					    .sequence;
	span->bad[block / 64] |= 1ULL << block % 64;
	span->done_bytes = block_end(verify, span);
	block_count(verify, VERIFY_UNREADABLE);
	finding_report(verify, &finding);
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
		span_fail(verify, span, VERIFY_FILE_ENDS);
	else if (result != -EAGAIN && result != -EINTR)
		span_fail(verify, span, -result);
	if (span->done_bytes < span->bytes) {
		span->goal_bytes = span->is_narrow ? block_end(verify, span) : span->bytes;
		span_queue(verify, index);
		return 0;
	}
	verify->ready[(verify->ready_from + verify->ready_count++) % verify->span_count] = index;
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
	unsigned least = verify->ready_count ? 0 : 1;
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

	spans_issue(verify);
	rc = sweep_submit(verify);
	while (rc == 0 && (verify->inflight || verify->ready_count)) {
		rc = sweep_turn(verify);
		if (rc == 0 && verify->ready_count) {
			unsigned index = verify->ready[verify->ready_from];

			verify->ready_from = (verify->ready_from + 1) % verify->span_count;
			verify->ready_count--;
			span_judge(verify, index);
		}
	}
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
	if (job->fd_count && job->file_bytes && job->block_bytes && job->block_bytes <= REQUEST_BYTES &&
		job->block_bytes % PAYLOAD_SECTOR_BYTES == 0 &&
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
	verify->idle = calloc(count, sizeof(*verify->idle));
	verify->ready = calloc(count, sizeof(*verify->ready));
	verify->completions = calloc(count, sizeof(*verify->completions));
	if (arena_init(&verify->arena, (size_t)count * verify->span_bytes) || !verify->fds ||
		!verify->spans || !verify->idle || !verify->ready || !verify->completions)
		return -ENOMEM;
	memcpy(verify->fds, verify->job.fds, verify->job.fd_count * sizeof(*verify->fds));
	for (unsigned i = 0; i < count; i++) {
		verify->spans[i].buffer = verify->arena.bytes + (size_t)i * verify->span_bytes;
		verify->idle[verify->idle_count++] = count - 1 - i;
	}
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
		verify->span_bytes = REQUEST_BYTES / job->block_bytes * job->block_bytes;
		verify->to_bytes = job->to_bytes / PAYLOAD_SECTOR_BYTES * PAYLOAD_SECTOR_BYTES;
		(void)pthread_mutex_init(&verify->gate_lock, NULL);
		(void)pthread_cond_init(&verify->gate_moved, NULL);
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
	free(verify->idle);
	free(verify->ready);
	free(verify->completions);
	(void)pthread_mutex_destroy(&verify->gate_lock);
	(void)pthread_cond_destroy(&verify->gate_moved);
	free(verify);
}
