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

/* A cut is tried again at once while the worker is at work in it, then after a turn for others: on a busy machine the
 * worker may have lost its processor there. In the end the cut is taken as it is; the sums stay exact. */
#define READ_TRIES	1100
#define READ_TRIES_SPIN 1000

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

/* One worker's counters as they were at one moment. */
static void worker_read(struct worker *worker, uint64_t now_ns, struct engine_totals *out)
{
	enum {
		WRITE_BYTES,
		WRITE_IOS,
		READ_BYTES,
		READ_IOS,
		ERRORS,
		INFLIGHT,
		INFLIGHT_NS,
		SINCE_NS,
		LAT_SUM_NS,
		COMMITS,
		COUNT
	};
	struct worker_counters *counters = &worker->counters;
	_Atomic uint64_t *const sources[COUNT] = {
		[WRITE_BYTES] = &counters->write_bytes,
		[WRITE_IOS] = &counters->write_ios,
		[READ_BYTES] = &counters->read_bytes,
		[READ_IOS] = &counters->read_ios,
		[ERRORS] = &counters->errors,
		[INFLIGHT] = &counters->inflight,
		[INFLIGHT_NS] = &counters->inflight_ns,
		[SINCE_NS] = &counters->since_ns,
		[LAT_SUM_NS] = &counters->lat_sum_ns,
		[COMMITS] = &counters->commits,
	};
	uint64_t now[COUNT], seq, lat[HIST_BUCKETS], commit_lat[HIST_BUCKETS];

	for (unsigned tries = 0; tries < READ_TRIES; tries++) {
		seq = atomic_load_explicit(&counters->seq, memory_order_acquire);
		for (unsigned i = 0; i < COUNT; i++)
			now[i] = atomic_load_explicit(sources[i], memory_order_relaxed);
		for (unsigned i = 0; i < HIST_BUCKETS; i++)
			lat[i] = atomic_load_explicit(&counters->lat[i], memory_order_relaxed);
		/* Nearly always without syncs: then there is nothing to copy. */
		for (unsigned i = 0; now[COMMITS] && i < HIST_BUCKETS; i++)
			commit_lat[i] = atomic_load_explicit(&counters->commit_lat[i], memory_order_relaxed);
		atomic_thread_fence(memory_order_acquire);
		if (!(seq & 1) && seq == atomic_load_explicit(&counters->seq, memory_order_relaxed))
			break;
		if (tries >= READ_TRIES_SPIN)
			(void)sched_yield();
	}
	out->write_bytes += now[WRITE_BYTES];
	out->write_ios += now[WRITE_IOS];
	out->read_bytes += now[READ_BYTES];
	out->read_ios += now[READ_IOS];
	out->errors += now[ERRORS];
	out->inflight_ns += now[INFLIGHT_NS];
	if (now_ns > now[SINCE_NS])
		out->inflight_ns += now[INFLIGHT] * (now_ns - now[SINCE_NS]);
	out->lat_sum_ns += now[LAT_SUM_NS];
	out->commits += now[COMMITS];
	for (unsigned i = 0; i < HIST_BUCKETS; i++)
		out->lat.counts[i] += lat[i];
	for (unsigned i = 0; now[COMMITS] && i < HIST_BUCKETS; i++)
		out->commit_lat.counts[i] += commit_lat[i];
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
