/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Set-up, start, stop and reading of an engine; the work is in worker.c. */
#include "engine/engine_private.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

/* So often a cut is tried without the worker's help: it may be writing. */
#define CUT_TRIES 16

static void wake_ignore(int number)
{
	(void)number;
}

static unsigned worker_depth(const struct engine_job *job, unsigned index)
{
	return job->queue_depth / job->threads + (index < job->queue_depth % job->threads);
}

static int job_check(const struct engine_job *job, char *why)
{
	uint64_t blocks = job->block_bytes ? job->to_bytes / job->block_bytes : 0;

	if (job->fd_count == 0 || job->file_bytes == 0 || job->from_bytes > job->to_bytes ||
		job->to_bytes > job->file_bytes * job->fd_count) {
		(void)snprintf(why, ENGINE_WHY_MAX, "the job does not fit its files");
		return -EINVAL;
	}
	if (job->base_bytes % PAYLOAD_SECTOR_BYTES || (job->base_bytes && job->fd_count > 1)) {
		(void)snprintf(why, ENGINE_WHY_MAX,
			"a target of several files begins at their first byte, any "
			"other at a whole sector");
		return -EINVAL;
	}
	if (job->is_fill)
		return 0;
	if (job->workload == WORKLOAD_OBSERVE || job->read_percent > 100 ||
		(job->fsync_every && job->workload == WORKLOAD_RANDOM_READ)) {
		(void)snprintf(why, ENGINE_WHY_MAX, "the workload is not one of the engine's");
		return -EINVAL;
	}
	if (job->threads == 0 || job->queue_depth < job->threads || job->block_bytes % PAYLOAD_SECTOR_BYTES ||
		job->file_bytes % job->block_bytes) {
		(void)snprintf(why, ENGINE_WHY_MAX,
			"queue depth %u, threads %u or block size %u is not possible", job->queue_depth,
			job->threads, job->block_bytes);
		return -EINVAL;
	}
	/* Every worker must always find a block that is not in flight. */
	if (blocks < 2ULL * job->queue_depth + job->threads) {
		(void)snprintf(why, ENGINE_WHY_MAX,
			"%llu blocks are too few for a queue depth of %u: at least %llu are needed",
			(unsigned long long)blocks, job->queue_depth, 2ULL * job->queue_depth + job->threads);
		return -EINVAL;
	}
	return 0;
}

static void wake_signal_install(void)
{
	struct sigaction action = { .sa_handler = wake_ignore };

	(void)sigemptyset(&action.sa_mask);
	(void)sigaction(SIGRTMIN, &action, NULL);
}

int engine_new(const struct engine_job *job, struct engine **out, char *why)
{
	struct engine *engine;
	int rc = job_check(job, why);

	if (rc < 0)
		return rc;
	rc = -ENOMEM;
	(void)snprintf(why, ENGINE_WHY_MAX, "out of memory for the buffers of %u requests", job->queue_depth);
	engine = aligned_alloc(CACHE_LINE, (sizeof(*engine) + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE);
	if (!engine)
		return rc;
	memset(engine, 0, sizeof(*engine));
	engine->job = *job;
	engine->worker_count = job->is_fill ? 1 : job->threads;
	engine->request_bytes = job->is_fill ? ENGINE_FILL_BYTES : job->block_bytes;
	engine->block_count = job->is_fill ? 0 : job->to_bytes / job->block_bytes;
	atomic_store(&engine->fill_done_bytes, job->from_bytes);
	(void)pthread_mutex_init(&engine->error_lock, NULL);
	(void)pthread_mutex_init(&engine->gate_lock, NULL);
	(void)pthread_cond_init(&engine->gate_moved, NULL);
	engine->fds = calloc(job->fd_count, sizeof(*engine->fds));
	engine->workers = aligned_alloc(CACHE_LINE, engine->worker_count * sizeof(*engine->workers));
	if (!engine->fds || !engine->workers)
		goto fail;
	memcpy(engine->fds, job->fds, job->fd_count * sizeof(*engine->fds));
	memset(engine->workers, 0, engine->worker_count * sizeof(*engine->workers));
	for (unsigned i = 0; i < engine->worker_count; i++) {
		rc = worker_init(
			&engine->workers[i], engine, i, job->is_fill ? FILL_DEPTH : worker_depth(job, i));
		if (rc < 0)
			goto fail;
	}
	wake_signal_install();
	*out = engine;
	return 0;
fail:
	engine_free(engine);
	return rc;
}

void engine_free(struct engine *engine)
{
	if (!engine)
		return;
	for (unsigned i = 0; engine->workers && i < engine->worker_count; i++)
		worker_fini(&engine->workers[i]);
	free(engine->workers);
	free(engine->fds);
	(void)pthread_mutex_destroy(&engine->error_lock);
	(void)pthread_mutex_destroy(&engine->gate_lock);
	(void)pthread_cond_destroy(&engine->gate_moved);
	free(engine);
}

/* Wait for @started workers at the gate, then let all pass or none. */
static int gate_decide(struct engine *engine, unsigned started, int rc)
{
	(void)pthread_mutex_lock(&engine->gate_lock);
	while (engine->gate_arrived < started)
		(void)pthread_cond_wait(&engine->gate_moved, &engine->gate_lock);
	if (rc == 0)
		rc = engine->gate_rc;
	engine->gate = rc == 0 ? GATE_OPEN : GATE_CANCELLED;
	engine->gate_opened_ns = clock_mono_ns();
	(void)pthread_cond_broadcast(&engine->gate_moved);
	(void)pthread_mutex_unlock(&engine->gate_lock);
	return rc;
}

static int workers_start(struct engine *engine, const struct ring_ops *ops)
{
	unsigned started = 0;
	int rc = 0;

	engine->ops = ops;
	engine->gate = GATE_SHUT;
	engine->gate_arrived = 0;
	engine->gate_rc = 0;
	atomic_store(&engine->working, engine->worker_count);
	atomic_store(&engine->last_completion_ns, clock_mono_ns());
	while (started < engine->worker_count && rc == 0) {
		struct worker *worker = &engine->workers[started];

		atomic_store(&worker->has_ended, false);
		rc = -pthread_create(&worker->thread, NULL, worker_main, worker);
		worker->is_started = rc == 0;
		started += rc == 0;
	}
	return gate_decide(engine, started, rc);
}

static void workers_join(struct engine *engine)
{
	for (unsigned i = 0; i < engine->worker_count; i++) {
		if (engine->workers[i].is_started)
			(void)pthread_join(engine->workers[i].thread, NULL);
		engine->workers[i].is_started = false;
	}
}

static void notes_add(struct engine *engine, const char *name, const char *text)
{
	size_t used = strlen(engine->notes);

	if (text[0] && used + 1 < sizeof(engine->notes))
		(void)snprintf(engine->notes + used, sizeof(engine->notes) - used, "%s%s: %s",
			used ? "; " : "", name, text);
}

static const char *refusal_hint(int error)
{
	switch (error) {
	case EPERM:
		return "not permitted (kernel.io_uring_disabled or a seccomp profile)";
	case ENOSYS:
		return "not in this kernel";
	default:
		return strerror(error);
	}
}

int engine_start(struct engine *engine, char *why)
{
	static const struct ring_ops *const choice[][2] = {
		[ENGINE_AUTO] = { &uring_ops, &libaio_ops },
		[ENGINE_IO_URING] = { &uring_ops, NULL },
		[ENGINE_LIBAIO] = { &libaio_ops, NULL },
		[ENGINE_NULL] = { &null_ops, NULL },
	};
	const struct ring_ops *const given[2] = { engine->job.ops, NULL };
	const struct ring_ops *const *tried = engine->job.ops ? given : choice[engine->job.engine];
	int rc = -EINVAL;

	engine->notes[0] = '\0';
	for (unsigned i = 0; i < 2 && tried[i]; i++) {
		const struct ring_ops *ops = tried[i];

		rc = workers_start(engine, ops);
		for (unsigned k = 0; k < engine->worker_count; k++) {
			if (engine->workers[k].open_notes[0]) {
				notes_add(engine, ops->name, engine->workers[k].open_notes);
				break;
			}
		}
		if (rc == 0)
			return 0;
		workers_join(engine);
		notes_add(engine, ops->name, refusal_hint(-rc));
	}
	(void)snprintf(why, ENGINE_WHY_MAX, "no I/O engine could be started: %s", engine->notes);
	return rc;
}

bool engine_stop(struct engine *engine, uint64_t timeout_ns)
{
	uint64_t until_ns = clock_mono_ns() + timeout_ns;
	const struct timespec pause = { .tv_nsec = 2000000 };

	atomic_store(&engine->stop, true);
	for (;;) {
		unsigned alive = 0;

		for (unsigned i = 0; i < engine->worker_count; i++) {
			if (!engine->workers[i].is_started || atomic_load(&engine->workers[i].has_ended))
				continue;
			alive++;
			/* Again and again: one signal may fall between the look at stop and the wait. */
			(void)pthread_kill(engine->workers[i].thread, SIGRTMIN);
		}
		if (alive == 0)
			break;
		if (clock_mono_ns() >= until_ns)
			return false;
		(void)nanosleep(&pause, NULL);
	}
	workers_join(engine);
	return true;
}

static bool cut_try(struct worker *worker)
{
	struct worker_counters *counters = &worker->counters;
	uint64_t seq = atomic_load_explicit(&counters->seq, memory_order_acquire);

	if (seq & 1)
		return false;
	counters_copy(counters, &worker->cut);
	atomic_thread_fence(memory_order_acquire);
	return seq == atomic_load_explicit(&counters->seq, memory_order_relaxed);
}

/* A worker that has lost its processor in a section must get it back: whoever waits leaves it alone. */
static void cut_rest(void)
{
	const struct timespec rest = { .tv_nsec = 50000 };

	(void)nanosleep(&rest, NULL);
}

/* A worker whose counters do not move is read at once, so one that hangs needs no answer; one that moves them all the
 * time closes its section and makes the cut itself. Only one in the middle of a section is waited for: it waits for no
 * drive there. */
static void cut_await(struct worker *worker)
{
	struct worker_counters *counters = &worker->counters;

	for (unsigned tries = 0; tries < CUT_TRIES; tries++)
		if (cut_try(worker))
			return;
	for (;;) {
		enum cut_state wanted = CUT_WANTED;

		atomic_store(&counters->cut_state, CUT_WANTED);
		for (unsigned turns = 0; turns < CUT_TRIES; turns++) {
			if (atomic_load_explicit(&counters->cut_state, memory_order_acquire) == CUT_MADE)
				break;
			cut_rest();
		}
		/* What can't be withdrawn is made, or is being made. */
		if (!atomic_compare_exchange_strong(&counters->cut_state, &wanted, CUT_NONE)) {
			while (atomic_load_explicit(&counters->cut_state, memory_order_acquire) != CUT_MADE)
				cut_rest();
			atomic_store(&counters->cut_state, CUT_NONE);
			return;
		}
		if (cut_try(worker))
			return;
	}
}

static uint64_t get(_Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

/* One worker's counters as they were at one moment. */
static void worker_read(struct worker *worker, uint64_t now_ns, struct engine_totals *out)
{
	struct worker_counters *cut = &worker->cut;

	cut_await(worker);
	out->write_bytes += get(&cut->write_bytes);
	out->write_ios += get(&cut->write_ios);
	out->read_bytes += get(&cut->read_bytes);
	out->read_ios += get(&cut->read_ios);
	out->errors += get(&cut->errors);
	out->inflight_ns += get(&cut->inflight_ns);
	if (now_ns > get(&cut->since_ns))
		out->inflight_ns += get(&cut->inflight) * (now_ns - get(&cut->since_ns));
	out->lat_sum_ns += get(&cut->lat_sum_ns);
	out->commits += get(&cut->commits);
	for (unsigned i = 0; i < HIST_BUCKETS; i++)
		out->lat.counts[i] += get(&cut->lat[i]);
	for (unsigned i = 0; get(&cut->commits) && i < HIST_BUCKETS; i++)
		out->commit_lat.counts[i] += get(&cut->commit_lat[i]);
}

static uint64_t worker_cpu_ns(struct worker *worker)
{
	struct timespec cpu;

	/* The clock of a thread that is gone answers an error, never somebody else's time. */
	if (atomic_load(&worker->cpu_end_ns) || clock_gettime(atomic_load(&worker->cpu_clock), &cpu))
		return atomic_load(&worker->cpu_end_ns);
	return (uint64_t)cpu.tv_sec * NS_PER_S + (uint64_t)cpu.tv_nsec;
}

void engine_read(struct engine *engine, struct engine_totals *out)
{
	*out = (struct engine_totals){ .read_ns = clock_mono_ns() };
	for (unsigned i = 0; i < engine->worker_count; i++) {
		worker_read(&engine->workers[i], out->read_ns, out);
		out->cpu_ns += worker_cpu_ns(&engine->workers[i]);
	}
	out->last_completion_ns = atomic_load(&engine->last_completion_ns);
}

uint64_t engine_take_longest_stall_ns(struct engine *engine)
{
	return atomic_exchange(&engine->longest_stall_ns, 0);
}

unsigned engine_thread_ids(struct engine *engine, pid_t *ids, unsigned most)
{
	unsigned count = 0;

	for (unsigned i = 0; i < engine->worker_count && count < most; i++) {
		pid_t id = atomic_load(&engine->workers[i].thread_id);

		if (id && !atomic_load(&engine->workers[i].has_ended))
			ids[count++] = id;
	}
	return count;
}

bool engine_next_error(struct engine *engine, struct engine_error *out)
{
	bool has_one;

	(void)pthread_mutex_lock(&engine->error_lock);
	has_one = engine->error_count > 0;
	if (has_one) {
		*out = engine->errors[engine->error_first];
		engine->error_first = (engine->error_first + 1) % ENGINE_ERRORS;
		engine->error_count--;
	}
	(void)pthread_mutex_unlock(&engine->error_lock);
	return has_one;
}

bool engine_fill_ended(struct engine *engine, struct engine_fill_end *out)
{
	bool ended = atomic_load(&engine->fill_ended);

	out->done_bytes = atomic_load(&engine->fill_done_bytes);
	out->error = atomic_load(&engine->fill_error);
	return ended;
}

int engine_failure(struct engine *engine)
{
	return atomic_load(&engine->failure);
}

bool engine_budget_spent(const struct engine *engine)
{
	return atomic_load(&engine->budget_spent);
}

const char *engine_name(const struct engine *engine)
{
	return engine->ops ? engine->ops->name : "";
}

const char *engine_notes(const struct engine *engine)
{
	return engine->notes;
}
