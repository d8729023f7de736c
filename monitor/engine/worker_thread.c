/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The thread of one worker and what belongs to it: its buffers and slots, its ring, how it begins and ends. */
#include "engine/engine_private.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "engine/budget.h"

/* Requests passed to the kernel at a time while refilling: a quarter of the queue, so that the device does not idle
 * while a large batch is prepared, within bounds: a system call costs as much as the stamps of several writes. */
#define SUBMIT_DEPTH_SHARE 4u
#define SUBMIT_GROUP_LEAST 4u

/* The wake-up of an open loop's worker counts as the drive's latency, so it is up this much earlier and looks at the
 * clock for the rest, for a share of the time between two requests at most. Median of a drive of 100 us at 200 requests
 * a second: 220-300 us with the kernel's timer slack of 50 us, 171-224 us with 1 ns, 111-136 us with 1 ns and this. */
#define PACE_EARLY_NS	 60e3
#define PACE_EARLY_SHARE 8

/* engine_stop() interrupts a wait by this signal; everything else belongs to the control loop. */
static void signals_block(void)
{
	sigset_t set;

	(void)sigfillset(&set);
	(void)sigdelset(&set, SIGRTMIN);
	(void)pthread_sigmask(SIG_SETMASK, &set, NULL);
}

/* Wait until every worker has tried to open its ring; true when all have one. */
static bool gate_pass(struct engine *engine, int open_rc)
{
	bool is_open;

	(void)pthread_mutex_lock(&engine->gate_lock);
	engine->gate_arrived++;
	if (open_rc < 0)
		engine->gate_rc = open_rc;
	(void)pthread_cond_broadcast(&engine->gate_moved);
	while (engine->gate == GATE_SHUT)
		(void)pthread_cond_wait(&engine->gate_moved, &engine->gate_lock);
	is_open = engine->gate == GATE_OPEN;
	(void)pthread_mutex_unlock(&engine->gate_lock);
	return is_open;
}

static void fill_finish(struct worker *worker, int rc)
{
	struct engine *engine = worker->engine;
	int error = rc < 0 ? -rc : worker->fill_error;

	worker_note_fill(worker);
	if (!error && atomic_load(&engine->stop) &&
		atomic_load(&engine->fill_done_bytes) < engine->job.to_bytes)
		error = ECANCELED;
	atomic_store(&engine->fill_error, error);
	atomic_store(&engine->fill_ended, true);
}

/* The loop failed as such: not a bad block but no way to go on. */
static void worker_fail(struct worker *worker, int rc)
{
	atomic_store(&worker->engine->failure, rc);
	atomic_store(&worker->engine->stop, true);
}

static uint64_t thread_cpu_ns(clockid_t clock)
{
	struct timespec cpu = { 0 };

	(void)clock_gettime(clock, &cpu);
	return (uint64_t)cpu.tv_sec * NS_PER_S + (uint64_t)cpu.tv_nsec;
}

void *worker_main(void *arg)
{
	struct worker *worker = arg;
	struct engine *engine = worker->engine;
	struct ring_setup setup = {
		.fds = engine->fds,
		.fd_count = engine->job.fd_count,
		.depth = worker->depth,
		.arena = worker->arena.bytes,
		.arena_bytes = worker->arena.size_bytes,
	};
	clockid_t cpu_clock;
	int rc;

	signals_block();
	/* The kernel would let a paced worker sleep up to 50 us longer than asked for. */
	if (worker->pace_ns > 0)
		(void)prctl(PR_SET_TIMERSLACK, 1UL);
	atomic_store(&worker->thread_id, gettid());
	if (pthread_getcpuclockid(pthread_self(), &cpu_clock) == 0)
		atomic_store(&worker->cpu_clock, cpu_clock);
	rc = engine->ops->open(&setup, &worker->ring, worker->open_notes);
	if (!gate_pass(engine, rc)) {
		if (rc == 0)
			engine->ops->close(worker->ring);
		atomic_store(&worker->has_ended, true);
		return NULL;
	}
	rc = worker_loop(worker);
	if (rc < 0)
		worker_fail(worker, rc);
	if (engine->job.is_fill)
		fill_finish(worker, rc);
	if (engine->job.budget)
		budget_return(engine->job.budget, worker->share_bytes);
	engine->ops->close(worker->ring);
	atomic_store(&worker->cpu_end_ns, thread_cpu_ns(CLOCK_THREAD_CPUTIME_ID));
	if (atomic_fetch_sub(&engine->working, 1) == 1 && engine->job.on_end &&
		(!atomic_load(&engine->stop) || atomic_load(&engine->failure) ||
			atomic_load(&engine->budget_spent)))
		engine->job.on_end(engine->job.on_end_arg);
	atomic_store(&worker->has_ended, true);
	return NULL;
}

static unsigned submit_group_of(unsigned depth)
{
	unsigned share = depth / SUBMIT_DEPTH_SHARE;

	if (share < SUBMIT_GROUP_LEAST)
		return SUBMIT_GROUP_LEAST;
	return share > SUBMIT_GROUP_MOST ? SUBMIT_GROUP_MOST : share;
}

int worker_init(struct worker *worker, struct engine *engine, unsigned index, unsigned depth)
{
	uint32_t request_bytes = engine->request_bytes;
	size_t hashes = request_bytes / PAYLOAD_SECTOR_BYTES;
	uint64_t seed = engine->job.seed + index;
	bool has_reads = !engine->job.is_fill && engine->job.workload != WORKLOAD_RANDOM_WRITE;

	worker->engine = engine;
	worker->index = index;
	worker->depth = depth;
	worker->wait_least = 1;
	worker->submit_group = submit_group_of(depth);
	worker->sequence = engine->job.first_sequence;
	worker->share_bytes = engine->job.budget ? 0 : UINT64_MAX;
	if (!engine->job.is_fill)
		worker->own_blocks = (engine->block_count - index - 1) / engine->worker_count + 1;
	if (engine->job.requests_per_s > 0)
		worker->pace_ns = (double)engine->worker_count * 1e9 / engine->job.requests_per_s;
	if (engine->job.is_open_loop)
		worker->early_ns = (uint64_t)fmin(PACE_EARLY_NS, worker->pace_ns / PACE_EARLY_SHARE);
	worker->fill_next_bytes = engine->job.from_bytes;
	worker->fill_limit_bytes = engine->job.to_bytes;
	worker->fill_file = (unsigned)(engine->job.from_bytes / engine->job.file_bytes);
	worker->slots = calloc(depth, sizeof(*worker->slots));
	worker->group = calloc(depth, sizeof(*worker->group));
	worker->completions = calloc(depth, sizeof(*worker->completions));
	worker->busy_offsets = calloc(depth, sizeof(*worker->busy_offsets));
	worker->idle = calloc(depth, sizeof(*worker->idle));
	worker->hashes = calloc(depth * hashes, sizeof(*worker->hashes));
	/* Reads go elsewhere: bodies and their hashes belong together. */
	if (arena_init(&worker->arena, (size_t)depth * request_bytes * (has_reads ? 2 : 1)) ||
		!worker->slots || !worker->group || !worker->completions || !worker->busy_offsets ||
		!worker->idle || !worker->hashes)
		return -ENOMEM;
	random_init(&worker->random, random_splitmix(&seed));
	for (unsigned i = 0; i < depth; i++) {
		struct slot *slot = &worker->slots[i];

		worker->busy_offsets[i] = OFFSET_NONE;
		slot->buffer = worker->arena.bytes + (size_t)i * request_bytes;
		slot->read_buffer = has_reads ? slot->buffer + (size_t)depth * request_bytes : NULL;
		slot->body_hashes = worker->hashes + i * hashes;
		if (engine->job.payload == PAYLOAD_RANDOM)
			payload_make_bodies(
				slot->buffer, request_bytes, random_next(&worker->random), slot->body_hashes);
	}
	return 0;
}

void worker_fini(struct worker *worker)
{
	arena_fini(&worker->arena);
	free(worker->slots);
	free(worker->group);
	free(worker->completions);
	free(worker->busy_offsets);
	free(worker->idle);
	free(worker->hashes);
}
