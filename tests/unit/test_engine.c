/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The engine on a real file with both kernel interfaces, and on scripted layers for what drives rarely do. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "engine/payload.h"
#include "engine_fixture.h"

struct fixture {
	char path[ENGINE_FIXTURE_FILES][64];
	int fds[ENGINE_FIXTURE_FILES];
};

static void files_open(struct fixture *fixture)
{
	for (int i = 0; i < ENGINE_FIXTURE_FILES; i++) {
		(void)snprintf(fixture->path[i], sizeof(fixture->path[i]), "engine-test-%d-%d.dat",
			(int)getpid(), i);
		fixture->fds[i] = open(
			fixture->path[i], O_RDWR | O_CREAT | O_TRUNC | O_DIRECT | O_CLOEXEC, 0600);
		assert_true(fixture->fds[i] >= 0);
	}
}

static void files_close(struct fixture *fixture)
{
	for (int i = 0; i < ENGINE_FIXTURE_FILES; i++) {
		(void)close(fixture->fds[i]);
		(void)unlink(fixture->path[i]);
	}
}

static void end_note(void *arg)
{
	atomic_store((_Atomic bool *)arg, true);
}

/* Every sector of the files: stamped for its place by the run. */
static void extent_check(const struct fixture *fixture, const struct engine_job *job)
{
	uint8_t *sector = aligned_alloc(4096, 4096);

	for (uint64_t at = 0; at < job->to_bytes; at += 4096) {
		struct payload_stamp stamp;

		assert_int_equal(pread(fixture->fds[at / ENGINE_FIXTURE_FILE_BYTES], sector, 4096,
					 (off_t)(at % ENGINE_FIXTURE_FILE_BYTES)),
			4096);
		assert_int_equal(payload_check(sector, &stamp), PAYLOAD_GOOD);
		assert_int_equal(stamp.sector, at / 4096);
		assert_true(stamp.run_tag == job->run_tag);
	}
	free(sector);
}

/* Each id is a thread of ours, and none twice. */
static void thread_ids_check(struct engine *engine, unsigned count)
{
	pid_t ids[8];
	char path[64];

	assert_int_equal(engine_thread_ids(engine, ids, 8), count);
	assert_int_equal(engine_thread_ids(engine, ids, 1), 1);
	for (unsigned i = 0; i < count; i++) {
		(void)snprintf(path, sizeof(path), "/proc/self/task/%d", (int)ids[i]);
		assert_int_equal(access(path, F_OK), 0);
		assert_true(ids[i] != gettid() && (i == 0 || ids[i] != ids[i - 1]));
	}
}

/* The sum must be what the histogram says within its error of 0.8 %. */
static void latency_sum_check(const struct engine_totals *totals)
{
	double sum = 0;

	for (unsigned i = 0; i < HIST_BUCKETS; i++)
		sum += (double)totals->lat.counts[i] * (double)hist_value_ns(i);
	assert_true((double)totals->lat_sum_ns > sum * 0.992 && (double)totals->lat_sum_ns < sum * 1.008);
}

static void fill_and_soak(enum config_engine kind, const char *name)
{
	static struct engine_totals totals;
	_Atomic bool has_ended = false;
	struct engine_fill_end end;
	struct fixture fixture;
	struct engine_job job;
	struct engine *engine;

	files_open(&fixture);
	job = engine_fixture_job(fixture.fds, kind);
	job.is_fill = true;
	job.on_end = end_note;
	job.on_end_arg = &has_ended;
	engine = engine_fixture_start(&job);
	for (int i = 0; i < 5000 && !atomic_load(&has_ended); i++)
		engine_fixture_sleep_ms(1);
	assert_true(atomic_load(&has_ended));
	assert_true(engine_fill_ended(engine, &end));
	assert_int_equal(end.done_bytes, job.to_bytes);
	assert_int_equal(end.error, 0);
	assert_true(engine_stop(engine, NS_PER_S));
	engine_read(engine, &totals);
	assert_int_equal(totals.write_bytes, job.to_bytes);
	assert_int_equal(totals.write_ios, ENGINE_FIXTURE_FILES * 3); /* 1 + 1 + 0.5 MiB a file */
	assert_int_equal(totals.errors, 0);
	assert_string_equal(engine_name(engine), name);
	engine_free(engine);
	extent_check(&fixture, &job);

	job.is_fill = false;
	engine = engine_fixture_start(&job);
	engine_fixture_sleep_ms(200);
	thread_ids_check(engine, job.threads);
	assert_true(engine_stop(engine, NS_PER_S));
	assert_int_equal(engine_thread_ids(engine, (pid_t[2]){ 0 }, 2), 0);
	engine_read(engine, &totals);
	assert_true(totals.write_ios > 9);
	latency_sum_check(&totals);
	assert_int_equal(totals.write_bytes, totals.write_ios * ENGINE_FIXTURE_BLOCK_BYTES);
	assert_int_equal(hist_total(&totals.lat), totals.write_ios);
	assert_true(totals.cpu_ns > 0);
	assert_int_equal(totals.errors, 0);
	engine_free(engine);
	extent_check(&fixture, &job);
	files_close(&fixture);
}

static void test_io_uring_fills_and_soaks(void **state)
{
	(void)state;
	fill_and_soak(ENGINE_IO_URING, "io_uring");
}

static void test_libaio_fills_and_soaks(void **state)
{
	(void)state;
	fill_and_soak(ENGINE_LIBAIO, "libaio");
}

/* A target that begins behind a marker: what is before it stays, and everything is counted from its own start. */
static void test_a_target_behind_its_marker(void **state)
{
	static const uint64_t base = 12288;
	static struct engine_totals totals;
	uint8_t *sector = aligned_alloc(4096, 4096);
	struct fixture fixture;
	struct engine_job job;
	struct engine *engine;
	struct engine_fill_end end;

	(void)state;
	files_open(&fixture);
	memset(sector, 0x5a, 4096);
	for (uint64_t at = 0; at < base; at += 4096)
		assert_int_equal(pwrite(fixture.fds[0], sector, 4096, (off_t)at), 4096);
	job = engine_fixture_job(fixture.fds, ENGINE_AUTO);
	job.fd_count = 1;
	job.to_bytes = ENGINE_FIXTURE_FILE_BYTES;
	job.base_bytes = base;
	job.is_device = true;
	for (int is_soak = 0; is_soak < 2; is_soak++) {
		job.is_fill = !is_soak;
		engine = engine_fixture_start(&job);
		for (int i = 0; i < 5000 && !is_soak && !engine_fill_ended(engine, &end); i++)
			engine_fixture_sleep_ms(1);
		engine_fixture_sleep_ms(is_soak ? 100 : 0);
		assert_true(engine_stop(engine, NS_PER_S));
		engine_read(engine, &totals);
		assert_int_equal(totals.errors, 0);
		engine_free(engine);
		for (uint64_t at = 0; at < base + ENGINE_FIXTURE_FILE_BYTES; at += 4096) {
			struct payload_stamp stamp;

			assert_int_equal(pread(fixture.fds[0], sector, 4096, (off_t)at), 4096);
			if (at < base) {
				assert_int_equal(sector[0], 0x5a);
				assert_int_equal(sector[4095], 0x5a);
				continue;
			}
			assert_int_equal(payload_check(sector, &stamp), PAYLOAD_GOOD);
			assert_int_equal(stamp.sector, (at - base) / 4096);
		}
	}
	assert_int_equal(end.done_bytes, ENGINE_FIXTURE_FILE_BYTES);
	assert_int_equal(lseek(fixture.fds[0], 0, SEEK_END), base + ENGINE_FIXTURE_FILE_BYTES);
	free(sector);
	files_close(&fixture);
}

/* A layer that answers by script: most requests whole, the chosen ones short, refused or failed. Completions of
 * one round are kept until the next, so that several are under way. */
static _Atomic unsigned scripted_seen, scripted_short, scripted_again;
static _Atomic uint64_t scripted_full_at = UINT64_MAX;
static _Atomic int scripted_full_error = ENOSPC;
static _Atomic unsigned scripted_fail_every;
static _Atomic bool scripted_hangs;

static int scripted_answer(const struct ring_request *request)
{
	unsigned seen = atomic_fetch_add(&scripted_seen, 1);
	unsigned every = atomic_load(&scripted_fail_every);

	if (request->file * (uint64_t)ENGINE_FIXTURE_FILE_BYTES + request->offset_bytes >=
		atomic_load(&scripted_full_at))
		return -atomic_load(&scripted_full_error);
	if (every && seen % every == every - 1)
		return -EIO;
	if (seen % 7 == 3 && request->bytes > 4096) {
		atomic_fetch_add(&scripted_short, 1);
		return 4096;
	}
	if (seen % 11 == 5) {
		atomic_fetch_add(&scripted_again, 1);
		return -EAGAIN;
	}
	return (int)request->bytes;
}

static int scripted_reap(
	struct ring *opaque, unsigned least, uint64_t timeout_ns, struct ring_completion *out, unsigned most)
{
	struct engine_fixture_ring *ring = (struct engine_fixture_ring *)opaque;
	unsigned count = ring->count > 1 ? ring->count / 2 : ring->count;

	(void)least;
	(void)timeout_ns;
	(void)most;
	engine_fixture_sleep_ms(1);
	if (atomic_load(&scripted_hangs))
		return -EINTR;
	/* Last first: completions never come in order. */
	for (unsigned i = 0; i < count; i++) {
		const struct ring_request *request = &ring->queue[--ring->count];

		out[i].slot = request->slot;
		out[i].result = scripted_answer(request);
	}
	return (int)count;
}

static const struct ring_ops scripted_ops = {
	.name = "scripted",
	.open = engine_fixture_ring_open,
	.close = engine_fixture_ring_close,
	.queue = engine_fixture_ring_queue,
	.submit = engine_fixture_ring_submit,
	.reap = scripted_reap,
};

static void scripted_reset(void)
{
	atomic_store(&scripted_seen, 0);
	atomic_store(&scripted_short, 0);
	atomic_store(&scripted_again, 0);
	atomic_store(&scripted_full_at, UINT64_MAX);
	atomic_store(&scripted_full_error, ENOSPC);
	atomic_store(&scripted_fail_every, 0);
	atomic_store(&scripted_hangs, false);
	(void)engine_fixture_take_overlap();
}

static struct engine *scripted_soak(unsigned ms)
{
	struct engine_job job = engine_fixture_job(NULL, ENGINE_AUTO);
	struct engine *engine;

	job.ops = &scripted_ops;
	engine = engine_fixture_start(&job);
	engine_fixture_sleep_ms(ms);
	return engine;
}

static void test_short_and_refused_writes_are_finished_and_counted_once(void **state)
{
	static struct engine_totals totals;
	struct engine *engine;

	(void)state;
	scripted_reset();
	engine = scripted_soak(200);
	assert_true(engine_stop(engine, NS_PER_S));
	engine_read(engine, &totals);
	assert_true(atomic_load(&scripted_short) > 5);
	assert_true(atomic_load(&scripted_again) > 5);
	assert_int_equal(totals.write_ios,
		atomic_load(&scripted_seen) - atomic_load(&scripted_short) - atomic_load(&scripted_again));
	assert_int_equal(totals.write_bytes, totals.write_ios * ENGINE_FIXTURE_BLOCK_BYTES);
	assert_int_equal(totals.errors, 0);
	assert_false(engine_fixture_take_overlap());
	engine_free(engine);
}

static void test_failed_writes_are_counted_and_kept_and_the_run_goes_on(void **state)
{
	static struct engine_totals totals;
	struct engine_error error;
	struct engine *engine;
	uint64_t kept = 0;

	(void)state;
	scripted_reset();
	atomic_store(&scripted_fail_every, 10);
	engine = scripted_soak(200);
	assert_true(engine_stop(engine, NS_PER_S));
	engine_read(engine, &totals);
	assert_true(totals.errors > 5);
	assert_true(totals.write_ios > totals.errors);
	assert_int_equal(totals.write_bytes, totals.write_ios * ENGINE_FIXTURE_BLOCK_BYTES);
	while (engine_next_error(engine, &error)) {
		kept++;
		assert_int_equal(error.error, EIO);
		assert_string_equal(error.what, "write");
		assert_true(error.offset_bytes < (uint64_t)ENGINE_FIXTURE_FILES * ENGINE_FIXTURE_FILE_BYTES);
		assert_int_equal(error.offset_bytes % 4096, 0);
	}
	assert_int_equal(kept, totals.errors < 256 ? totals.errors : 256);
	engine_free(engine);
}

/* Everything fails at once, as on a filesystem that was shut down. */
static int failing_reap(
	struct ring *opaque, unsigned least, uint64_t timeout_ns, struct ring_completion *out, unsigned most)
{
	struct engine_fixture_ring *ring = (struct engine_fixture_ring *)opaque;
	unsigned count = ring->count;

	(void)least;
	(void)timeout_ns;
	(void)most;
	for (unsigned i = 0; i < count; i++) {
		out[i].slot = ring->queue[i].slot;
		out[i].result = -EROFS;
	}
	ring->count = 0;
	return (int)count;
}

static void test_a_target_that_refuses_everything_is_not_hammered(void **state)
{
	static struct engine_totals totals;
	struct engine_job job = engine_fixture_job(NULL, ENGINE_AUTO);
	struct ring_ops ops = scripted_ops;
	struct engine *engine;

	(void)state;
	ops.reap = failing_reap;
	job.ops = &ops;
	engine = engine_fixture_start(&job);
	engine_fixture_sleep_ms(300);
	assert_true(engine_stop(engine, NS_PER_S));
	engine_read(engine, &totals);
	engine_free(engine);
	/* Nine in flight every 10 ms, and one round more at each end. */
	assert_in_range(totals.errors, 9, 9 * 35);
	assert_int_equal(totals.write_ios, 0);
}

static void test_a_full_target_ends_the_fill_at_the_first_refused_byte(void **state)
{
	static struct engine_totals totals;
	const uint64_t room = (uint64_t)ENGINE_FIXTURE_FILE_BYTES + (1 << 20);
	_Atomic bool has_ended = false;
	struct engine_fill_end end;
	struct engine_job job = engine_fixture_job(NULL, ENGINE_AUTO);
	struct engine *engine;

	(void)state;
	scripted_reset();
	atomic_store(&scripted_full_at, room);
	job.is_fill = true;
	job.ops = &scripted_ops;
	job.on_end = end_note;
	job.on_end_arg = &has_ended;
	engine = engine_fixture_start(&job);
	for (int i = 0; i < 5000 && !atomic_load(&has_ended); i++)
		engine_fixture_sleep_ms(1);
	assert_true(engine_fill_ended(engine, &end));
	assert_int_equal(end.error, ENOSPC);
	assert_int_equal(end.done_bytes, room);
	assert_true(engine_stop(engine, NS_PER_S));
	engine_read(engine, &totals);
	assert_int_equal(totals.errors, 0);
	engine_free(engine);
}

static void test_a_device_without_room_has_an_error_and_is_not_full(void **state)
{
	static const int errors[] = { ENOSPC, EFBIG, EDQUOT };
	static struct engine_totals totals;
	const uint64_t base = 8192, full_at = 2 << 20;
	struct engine_job job = engine_fixture_job(NULL, ENGINE_AUTO);
	struct engine_fill_end end = { 0 };
	struct engine_error error;
	struct engine *engine;

	(void)state;
	job.is_fill = true;
	job.is_device = true;
	job.fd_count = 1;
	job.to_bytes = ENGINE_FIXTURE_FILE_BYTES;
	job.base_bytes = base;
	job.ops = &scripted_ops;
	for (size_t i = 0; i < ARRAY_LEN(errors); i++) {
		scripted_reset();
		atomic_store(&scripted_full_at, base + full_at);
		atomic_store(&scripted_full_error, errors[i]);
		engine = engine_fixture_start(&job);
		for (int k = 0; k < 5000 && !engine_fill_ended(engine, &end); k++)
			engine_fixture_sleep_ms(1);
		assert_true(engine_stop(engine, NS_PER_S));
		assert_int_equal(end.error, 0);
		assert_int_equal(end.done_bytes, ENGINE_FIXTURE_FILE_BYTES); /* tried to the end */
		engine_read(engine, &totals);
		assert_int_equal(totals.errors, 1);
		assert_int_equal(totals.write_bytes, full_at);
		assert_true(engine_next_error(engine, &error));
		assert_int_equal(error.error, errors[i]);
		assert_int_equal(error.offset_bytes, full_at);
		engine_free(engine);
	}
}

static void test_a_stall_runs_the_clock_and_a_hung_engine_says_so(void **state)
{
	static struct engine_totals totals;
	struct engine *engine;
	uint64_t stall_ns;

	(void)state;
	scripted_reset();
	engine = scripted_soak(100);
	(void)engine_take_longest_stall_ns(engine);
	atomic_store(&scripted_hangs, true);
	engine_fixture_sleep_ms(300);
	engine_read(engine, &totals);
	stall_ns = totals.read_ns - totals.last_completion_ns;
	assert_in_range(stall_ns / NS_PER_MS, 290, 420);
	assert_false(engine_stop(engine, 50 * NS_PER_MS));
	/* Requests under way are in flight all the while: 9 x 0.3 s and more. */
	assert_in_range(totals.inflight_ns / NS_PER_MS, 9 * 380, 9 * 700);
	atomic_store(&scripted_hangs, false);
	assert_true(engine_stop(engine, NS_PER_S));
	stall_ns = engine_take_longest_stall_ns(engine);
	assert_in_range(stall_ns / NS_PER_MS, 340, 600);
	engine_free(engine);
}

static void test_impossible_jobs_are_refused_with_the_reason(void **state)
{
	struct engine_job job = engine_fixture_job(NULL, ENGINE_NULL);
	struct engine *engine = NULL;
	char why[ENGINE_WHY_MAX];

	(void)state;
	job.queue_depth = 1;
	assert_int_equal(engine_new(&job, &engine, why), -EINVAL);
	job.queue_depth = 512;
	assert_int_equal(engine_new(&job, &engine, why), -EINVAL);
	assert_non_null(strstr(why, "480 blocks are too few for a queue depth of 512"));
	job.queue_depth = 8;
	job.to_bytes = (uint64_t)ENGINE_FIXTURE_FILES * ENGINE_FIXTURE_FILE_BYTES + 1;
	assert_int_equal(engine_new(&job, &engine, why), -EINVAL);
	job.to_bytes = ENGINE_FIXTURE_FILE_BYTES;
	job.base_bytes = 4096; /* of which of the files? */
	assert_int_equal(engine_new(&job, &engine, why), -EINVAL);
	job.fd_count = 1;
	job.base_bytes = 512;
	assert_int_equal(engine_new(&job, &engine, why), -EINVAL);
	assert_null(engine);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_io_uring_fills_and_soaks),
		cmocka_unit_test(test_libaio_fills_and_soaks),
		cmocka_unit_test(test_a_target_behind_its_marker),
		cmocka_unit_test(test_short_and_refused_writes_are_finished_and_counted_once),
		cmocka_unit_test(test_failed_writes_are_counted_and_kept_and_the_run_goes_on),
		cmocka_unit_test(test_a_target_that_refuses_everything_is_not_hammered),
		cmocka_unit_test(test_a_full_target_ends_the_fill_at_the_first_refused_byte),
		cmocka_unit_test(test_a_device_without_room_has_an_error_and_is_not_full),
		cmocka_unit_test(test_a_stall_runs_the_clock_and_a_hung_engine_says_so),
		cmocka_unit_test(test_impossible_jobs_are_refused_with_the_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
