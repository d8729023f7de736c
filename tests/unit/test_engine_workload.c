/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the workloads ask of a drive: shares, commits, rates, seeds; on layers that count and complete at once. */
#include "unit.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "engine_fixture.h"

/* How many of each verb the layer saw. */
static _Atomic unsigned seen_writes, seen_reads, seen_syncs;

static int counted_reap(
	struct ring *opaque, unsigned least, uint64_t timeout_ns, struct ring_completion *out, unsigned most)
{
	struct engine_fixture_ring *ring = (struct engine_fixture_ring *)opaque;
	unsigned count = ring->count;

	(void)least;
	(void)most;
	if (timeout_ns > 200 * NS_PER_US)
		timeout_ns = 200 * NS_PER_US;
	(void)usleep((unsigned)(timeout_ns / NS_PER_US));
	for (unsigned i = 0; i < count; i++) {
		const struct ring_request *request = &ring->queue[i];

		atomic_fetch_add(request->verb == RING_WRITE  ? &seen_writes
				 : request->verb == RING_READ ? &seen_reads
							      : &seen_syncs,
			1);
		out[i].slot = request->slot;
		out[i].result = request->verb == RING_SYNC ? 0 : (int)request->bytes;
	}
	ring->count = 0;
	return (int)count;
}

static const struct ring_ops counted_ops = {
	.name = "counted",
	.open = engine_fixture_ring_open,
	.close = engine_fixture_ring_close,
	.queue = engine_fixture_ring_queue,
	.submit = engine_fixture_ring_submit,
	.reap = counted_reap,
};

/* Soak by @job over counted_ops for @ms, and on a busy machine until @least requests and commits have completed,
 * and read the totals. How long it ran, in seconds. */
static double counted_soak(struct engine_job *job, unsigned ms, uint64_t least, struct engine_totals *totals)
{
	struct engine *engine;
	uint64_t from_ns;
	double elapsed_s;

	atomic_store(&seen_writes, 0);
	atomic_store(&seen_reads, 0);
	atomic_store(&seen_syncs, 0);
	job->ops = &counted_ops;
	from_ns = clock_mono_ns();
	engine = engine_fixture_start(job);
	for (unsigned tries = 0; tries < 1000; tries++) {
		engine_fixture_sleep_ms(ms);
		engine_read(engine, totals);
		if (totals->write_ios + totals->read_ios + totals->commits >= least)
			break;
	}
	elapsed_s = (double)(clock_mono_ns() - from_ns) / 1e9;
	assert_true(engine_stop(engine, 60 * NS_PER_S));
	engine_read(engine, totals);
	engine_free(engine);
	assert_int_equal(totals->write_ios, atomic_load(&seen_writes));
	assert_int_equal(totals->read_ios, atomic_load(&seen_reads));
	assert_int_equal(totals->commits, atomic_load(&seen_syncs));
	assert_int_equal(totals->write_bytes, totals->write_ios * ENGINE_FIXTURE_BLOCK_BYTES);
	assert_int_equal(totals->read_bytes, totals->read_ios * ENGINE_FIXTURE_BLOCK_BYTES);
	assert_int_equal(hist_total(&totals->lat), totals->write_ios + totals->read_ios);
	assert_int_equal(hist_total(&totals->commit_lat), totals->commits);
	return elapsed_s;
}

/* The first offsets that a single worker asks for. */
enum { TRACED = 200 };
static uint64_t traced[TRACED];
static _Atomic unsigned traced_count;

static void tracing_queue(struct ring *opaque, const struct ring_request *request)
{
	unsigned at = atomic_load(&traced_count);

	if (at < TRACED) {
		traced[at] = request->file * (uint64_t)ENGINE_FIXTURE_FILE_BYTES + request->offset_bytes;
		atomic_store(&traced_count, at + 1);
	}
	engine_fixture_ring_queue(opaque, request);
}

static void trace(uint64_t seed, uint64_t *offsets)
{
	static struct engine_totals totals;
	struct engine_job job = engine_fixture_job(NULL, ENGINE_AUTO);
	struct ring_ops ops = counted_ops;
	struct engine *engine;

	ops.queue = tracing_queue;
	atomic_store(&traced_count, 0);
	job.ops = &ops;
	job.threads = 1;
	job.seed = seed;
	engine = engine_fixture_start(&job);
	while (atomic_load(&traced_count) < TRACED)
		engine_fixture_sleep_ms(1);
	assert_true(engine_stop(engine, NS_PER_S));
	engine_read(engine, &totals);
	engine_free(engine);
	memcpy(offsets, traced, sizeof(traced));
}

static void test_the_recorded_seed_repeats_the_blocks(void **state)
{
	static uint64_t first[TRACED], again[TRACED], other[TRACED];

	(void)state;
	trace(42, first);
	trace(42, again);
	trace(43, other);
	assert_memory_equal(first, again, sizeof(first));
	assert_memory_not_equal(first, other, sizeof(first));
}

static void test_reads_and_mixes_have_their_share(void **state)
{
	static struct engine_totals totals;
	struct engine_job job = engine_fixture_job(NULL, ENGINE_AUTO);

	(void)state;
	job.workload = WORKLOAD_RANDOM_READ;
	(void)counted_soak(&job, 100, 501, &totals);
	assert_true(totals.read_ios > 500);
	assert_int_equal(totals.write_ios, 0);
	job.workload = WORKLOAD_RANDOM_MIXED;
	job.read_percent = 70;
	(void)counted_soak(&job, 300, 1001, &totals);
	/* Six standard deviations of the share at a thousand requests and more. */
	assert_true(totals.read_ios + totals.write_ios > 1000);
	assert_in_range(totals.read_ios * 100 / (totals.read_ios + totals.write_ios), 61, 79);
}

static void test_a_client_commits_after_its_writes(void **state)
{
	static struct engine_totals totals;
	struct engine_job job = engine_fixture_job(NULL, ENGINE_AUTO);

	(void)state;
	job.fsync_every = 1;
	(void)counted_soak(&job, 100, 500, &totals);
	assert_true(totals.commits > 200);
	/* A stop leaves no write without its commit. */
	assert_int_equal(totals.commits, totals.write_ios);
	job.fsync_every = 5;
	(void)counted_soak(&job, 200, 400, &totals);
	assert_true(totals.commits > 50);
	assert_in_range(totals.write_ios - totals.commits * 5, 0, 9 * 4);
}

static void test_a_rate_is_kept(void **state)
{
	static struct engine_totals totals;
	struct engine_job job = engine_fixture_job(NULL, ENGINE_AUTO);
	double elapsed_s;

	(void)state;
	job.requests_per_s = 2000;
	elapsed_s = counted_soak(&job, 1000, 200, &totals);
	/* The layer could do ten times that; a busy machine may fall behind, and what it missed is not made up. */
	assert_in_range(totals.write_ios, 200, (uint64_t)(2000 * elapsed_s * 1.05) + 10);
	job.is_open_loop = true;
	elapsed_s = counted_soak(&job, 1000, 200, &totals);
	/* An open loop makes it up, but for what the end cuts off. */
	assert_in_range(totals.write_ios, (uint64_t)(2000 * (elapsed_s - 0.3)),
		(uint64_t)(2000 * elapsed_s * 1.05) + 10);
}

/* A layer that completes nothing for a while, then everything. */
static _Atomic bool is_paused;

static int pausing_reap(
	struct ring *opaque, unsigned least, uint64_t timeout_ns, struct ring_completion *out, unsigned most)
{
	if (atomic_load(&is_paused)) {
		engine_fixture_sleep_ms(1);
		return 0;
	}
	return counted_reap(opaque, least, timeout_ns, out, most);
}

static void test_an_open_loop_counts_latency_from_the_intended_time(void **state)
{
	static struct engine_totals totals;
	struct engine_job job = engine_fixture_job(NULL, ENGINE_AUTO);
	struct ring_ops ops = counted_ops;
	struct engine *engine;
	uint64_t from_ns, elapsed_ms;

	(void)state;
	ops.reap = pausing_reap;
	job.ops = &ops;
	job.requests_per_s = 1000;
	job.is_open_loop = true;
	from_ns = clock_mono_ns();
	engine = engine_fixture_start(&job);
	engine_fixture_sleep_ms(200);
	atomic_store(&is_paused, true);
	engine_fixture_sleep_ms(500);
	atomic_store(&is_paused, false);
	engine_fixture_sleep_ms(300);
	elapsed_ms = (clock_mono_ns() - from_ns) / NS_PER_MS;
	assert_true(engine_stop(engine, 60 * NS_PER_S));
	engine_read(engine, &totals);
	engine_free(engine);
	/* Nine requests were under way; the five hundred behind them waited too: half of all were late by up to 0.5 s,
	 * which a closed loop would not have told. */
	assert_in_range(hist_percentile_ns(&totals.lat, 100) / NS_PER_MS, 450, elapsed_ms + 100);
	assert_in_range(hist_percentile_ns(&totals.lat, 75) / NS_PER_MS, 150, elapsed_ms);
	assert_in_range(totals.write_ios, elapsed_ms - elapsed_ms / 5, elapsed_ms + elapsed_ms / 10);
}

/* When requests were passed on, whichever worker did it. */
enum { TIMED = 400, TIMED_THREADS = 8, TIMED_RATE = 400 };
static _Atomic uint64_t timed_last_ns;
static _Atomic unsigned timed_count, timed_close;

static void timing_queue(struct ring *opaque, const struct ring_request *request)
{
	uint64_t now_ns = clock_mono_ns(), last_ns = atomic_exchange(&timed_last_ns, now_ns);

	atomic_fetch_add(&timed_count, 1);
	if (now_ns - last_ns < NS_PER_S / TIMED_RATE / 4)
		atomic_fetch_add(&timed_close, 1);
	engine_fixture_ring_queue(opaque, request);
}

/* Few of the next requests come right behind another; in step all but one of a round would. */
static void even_check(void)
{
	atomic_store(&timed_count, 0);
	atomic_store(&timed_close, 0);
	while (atomic_load(&timed_count) < TIMED)
		engine_fixture_sleep_ms(5);
	assert_true(atomic_load(&timed_close) < TIMED / 2);
}

static void test_the_workers_of_a_rate_take_turns(void **state)
{
	struct engine_job job = engine_fixture_job(NULL, ENGINE_AUTO);
	struct ring_ops ops = counted_ops;
	struct engine *engine;

	(void)state;
	ops.queue = timing_queue;
	ops.reap = pausing_reap;
	job.ops = &ops;
	job.threads = TIMED_THREADS;
	job.queue_depth = 2 * TIMED_THREADS;
	job.requests_per_s = TIMED_RATE;
	for (int is_open_loop = 0; is_open_loop < 2; is_open_loop++) {
		job.is_open_loop = is_open_loop;
		engine = engine_fixture_start(&job);
		even_check();
		/* Also after all of them were late by many turns. */
		atomic_store(&is_paused, true);
		engine_fixture_sleep_ms(300);
		atomic_store(&is_paused, false);
		engine_fixture_sleep_ms(100);
		even_check();
		assert_true(engine_stop(engine, 60 * NS_PER_S));
		engine_free(engine);
	}
}

/* A drive that hangs: how often it is asked, and not left to say that it has something. */
static _Atomic bool hangs, hung_counts;
static _Atomic unsigned hung_polls;

static int hanging_reap(
	struct ring *opaque, unsigned least, uint64_t timeout_ns, struct ring_completion *out, unsigned most)
{
	if (!atomic_load(&hangs))
		return counted_reap(opaque, least, timeout_ns, out, most);
	if (timeout_ns != RING_FOREVER && atomic_load(&hung_counts))
		atomic_fetch_add(&hung_polls, 1);
	(void)usleep(timeout_ns < NS_PER_MS ? (unsigned)(timeout_ns / NS_PER_US) : 1000);
	return timeout_ns == RING_FOREVER ? -EINTR : 0;
}

static void test_a_drive_that_hangs_is_not_asked_again_after_a_stop(void **state)
{
	struct engine_job job = engine_fixture_job(NULL, ENGINE_AUTO);
	struct ring_ops ops = counted_ops;
	struct engine *engine;

	(void)state;
	ops.reap = hanging_reap;
	job.ops = &ops;
	job.queue_depth = 64;
	job.requests_per_s = 1000;
	atomic_store(&hangs, true);
	engine = engine_fixture_start(&job);
	engine_fixture_sleep_ms(10);
	assert_false(engine_stop(engine, 50 * NS_PER_MS));
	atomic_store(&hung_counts, true);
	engine_fixture_sleep_ms(200);
	/* A look that began before the stop may still be under way. */
	assert_in_range(atomic_load(&hung_polls), 0, job.threads);
	atomic_store(&hangs, false);
	assert_true(engine_stop(engine, 60 * NS_PER_S));
	engine_free(engine);
}

/* The timer slack of the last worker that asked for a request. */
static _Atomic int worker_slack;

static void slack_queue(struct ring *opaque, const struct ring_request *request)
{
	atomic_store(&worker_slack, prctl(PR_GET_TIMERSLACK));
	engine_fixture_ring_queue(opaque, request);
}

static void test_only_a_rate_sleeps_without_slack(void **state)
{
	static struct engine_totals totals;
	struct engine_job job = engine_fixture_job(NULL, ENGINE_AUTO);
	struct ring_ops ops = counted_ops;
	struct engine *engine;

	(void)state;
	ops.queue = slack_queue;
	job.ops = &ops;
	for (int is_paced = 0; is_paced < 2; is_paced++) {
		job.requests_per_s = is_paced ? 1000 : 0;
		engine = engine_fixture_start(&job);
		do {
			engine_fixture_sleep_ms(1);
			engine_read(engine, &totals);
		} while (totals.write_ios == 0);
		assert_true(engine_stop(engine, 60 * NS_PER_S));
		engine_free(engine);
		assert_int_equal(atomic_load(&worker_slack), is_paced ? 1 : prctl(PR_GET_TIMERSLACK));
	}
}

/* Something is always under way, and no wait lasts: how many were none because the next request is due at once. */
static _Atomic unsigned waitless;

static int waitless_reap(
	struct ring *opaque, unsigned least, uint64_t timeout_ns, struct ring_completion *out, unsigned most)
{
	struct engine_fixture_ring *ring = (struct engine_fixture_ring *)opaque;

	if (timeout_ns == 0)
		atomic_fetch_add(&waitless, 1);
	return ring->count < 3 && timeout_ns != RING_FOREVER ? 0 : counted_reap(opaque, least, 0, out, most);
}

static unsigned waitless_of(struct engine_job *job)
{
	static struct engine_totals totals;
	struct engine *engine;

	atomic_store(&waitless, 0);
	engine = engine_fixture_start(job);
	do {
		engine_fixture_sleep_ms(10);
		engine_read(engine, &totals);
	} while (totals.write_ios < 200);
	assert_true(engine_stop(engine, 60 * NS_PER_S));
	engine_free(engine);
	return atomic_load(&waitless);
}

static void test_the_worker_of_an_open_loop_is_up_before_a_request_is_due(void **state)
{
	struct engine_job job = engine_fixture_job(NULL, ENGINE_AUTO);
	struct ring_ops ops = counted_ops;
	unsigned closed;

	(void)state;
	ops.reap = waitless_reap;
	job.ops = &ops;
	job.threads = 1;
	job.requests_per_s = 1000;
	closed = waitless_of(&job);
	job.is_open_loop = true;
	assert_true(waitless_of(&job) > 10 * closed + 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_recorded_seed_repeats_the_blocks),
		cmocka_unit_test(test_reads_and_mixes_have_their_share),
		cmocka_unit_test(test_a_client_commits_after_its_writes),
		cmocka_unit_test(test_a_rate_is_kept),
		cmocka_unit_test(test_an_open_loop_counts_latency_from_the_intended_time),
		cmocka_unit_test(test_the_workers_of_a_rate_take_turns),
		cmocka_unit_test(test_only_a_rate_sleeps_without_slack),
		cmocka_unit_test(test_the_worker_of_an_open_loop_is_up_before_a_request_is_due),
		cmocka_unit_test(test_a_drive_that_hangs_is_not_asked_again_after_a_stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
