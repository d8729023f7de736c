/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A budget alone, and what engines write that are charged to it: never a byte more than the limit. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "engine/budget.h"
#include "engine/engine.h"
#include "engine/ops.h"

#define FOLDER "budget-test.dir"
#define PATH   FOLDER "/r1.budget"
#define TAG    0xfeedULL
#define KIB    1024ULL
#define MIB    (1024 * KIB)
#define UNIT   (16 * KIB)

static int folder_make(void **state)
{
	(void)state;
	(void)!system("rm -rf " FOLDER);
	return mkdir(FOLDER, 0700);
}

static int folder_remove(void **state)
{
	(void)state;
	return system("rm -rf " FOLDER);
}

static struct budget *budget_make(uint64_t limit_bytes, uint64_t spent_least_bytes)
{
	struct budget *budget = NULL;
	char why[BUDGET_WHY_MAX] = "";

	if (budget_open(PATH, TAG, limit_bytes, spent_least_bytes, &budget, why))
		fail_msg("%s", why);
	return budget;
}

static int open_fails(uint64_t run_tag)
{
	struct budget *budget = (struct budget *)1;
	char why[BUDGET_WHY_MAX] = "";
	int rc = budget_open(PATH, run_tag, MIB, 0, &budget, why);

	assert_ptr_equal(budget, 1);
	assert_non_null(strstr(why, PATH));
	return rc;
}

static uint64_t take_all(struct budget *budget, uint64_t unit_bytes)
{
	uint64_t sum = 0, got;

	while ((got = budget_take(budget, BUDGET_SHARE_BYTES, unit_bytes)) > 0)
		sum += got;
	return sum;
}

static void test_shares_are_whole_units_within_the_limit(void **state)
{
	static const uint64_t limits[] = { 0, 1, UNIT - 1, UNIT, UNIT + 1, 100 * UNIT, 3 * MIB + 5,
		1000 * MIB };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
		struct budget *budget = budget_make(limits[i], 0);
		uint64_t got = budget_take(budget, BUDGET_SHARE_BYTES, UNIT);

		assert_int_equal(got % UNIT, 0);
		assert_true(got <= BUDGET_SHARE_BYTES && (got > 0 || limits[i] < UNIT));
		assert_int_equal(budget_spent_bytes(budget), got);
		budget_return(budget, got);
		assert_int_equal(budget_spent_bytes(budget), 0);
		assert_int_equal(budget_take(budget, UNIT - 1, UNIT), 0); /* not one unit is wanted */
		assert_int_equal(budget_take(budget, MIB, 0), 0);
		assert_int_equal(take_all(budget, UNIT), limits[i] / UNIT * UNIT);
		assert_int_equal(budget_spent_bytes(budget), limits[i] / UNIT * UNIT);
		/* A smaller unit still fits. */
		assert_int_equal(take_all(budget, 1), limits[i] % UNIT);
		budget_close(budget);
		assert_int_equal(unlink(PATH), 0);
	}
	budget_close(NULL);
}

static void test_a_charge_is_all_or_nothing(void **state)
{
	struct budget *budget = budget_make(10 * MIB, 0);

	(void)state;
	assert_true(budget_charge(budget, 4 * MIB));
	assert_int_equal(budget_spent_bytes(budget), 4 * MIB);
	assert_false(budget_charge(budget, 6 * MIB + 1));
	assert_false(budget_charge(budget, UINT64_MAX));
	assert_int_equal(budget_spent_bytes(budget), 4 * MIB);
	assert_true(budget_charge(budget, 6 * MIB));
	assert_true(budget_charge(budget, 0));
	assert_false(budget_charge(budget, 1));
	budget_close(budget);
	budget = budget_make(5 * MIB, 0); /* lowered below what was spent */
	assert_false(budget_charge(budget, 0));
	assert_int_equal(budget_spent_bytes(budget), 10 * MIB);
	budget_close(budget);
}

enum { TAKERS = 8, ROUNDS = 20000 };
#define CROWD_LIMIT (40 * MIB + 77)

struct crowd {
	struct budget *budget;
	_Atomic uint64_t held;
	_Atomic unsigned excesses;
};

static void *taker_main(void *arg)
{
	struct crowd *crowd = arg;
	unsigned seed = (unsigned)(uintptr_t)pthread_self();

	for (unsigned i = 0; i < ROUNDS; i++) {
		uint64_t got = budget_take(crowd->budget, MIB, 4 * KIB);

		if (atomic_fetch_add(&crowd->held, got) + got > CROWD_LIMIT)
			atomic_fetch_add(&crowd->excesses, 1);
		/* Mostly all of it, so that the crowd stands at the limit, not below it. */
		if (got && rand_r(&seed) % 8) {
			uint64_t back = rand_r(&seed) % 4 ? got : got / 2;

			atomic_fetch_sub(&crowd->held, back);
			budget_return(crowd->budget, back);
		}
	}
	return NULL;
}

static void test_a_crowd_never_holds_more_than_the_limit(void **state)
{
	struct crowd crowd = { .budget = budget_make(CROWD_LIMIT, 0) };
	pthread_t threads[TAKERS];
	uint64_t held;

	(void)state;
	for (unsigned i = 0; i < TAKERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, taker_main, &crowd), 0);
	for (unsigned i = 0; i < TAKERS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	held = atomic_load(&crowd.held);
	assert_int_equal(atomic_load(&crowd.excesses), 0);
	assert_int_equal(budget_spent_bytes(crowd.budget), held);
	assert_int_equal(held + take_all(crowd.budget, 1), CROWD_LIMIT);
	budget_close(crowd.budget);
}

static void test_what_was_spent_is_kept_whatever_the_limit_is(void **state)
{
	static const struct {
		uint64_t limit_bytes, spent_least_bytes, spent_bytes, left_bytes;
	} row[] = {
		{ 10 * UNIT, 0, 0, 10 * UNIT },
		{ 30 * UNIT, 0, 10 * UNIT, 20 * UNIT },
		{ 5 * UNIT, 0, 30 * UNIT, 0 },
		{ 40 * UNIT, 30 * UNIT, 30 * UNIT, 10 * UNIT }, /* the journal knows as much */
		{ 60 * UNIT, 45 * UNIT, 45 * UNIT, 15 * UNIT }, /* an old file: the journal knows more */
		{ 60 * UNIT, 1 * UNIT, 60 * UNIT, 0 },
		{ 70 * UNIT, 99 * UNIT, 99 * UNIT, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		struct budget *budget = budget_make(row[i].limit_bytes, row[i].spent_least_bytes);

		assert_int_equal(budget_spent_bytes(budget), row[i].spent_bytes);
		assert_int_equal(take_all(budget, UNIT), row[i].left_bytes);
		budget_close(budget);
	}
}

static void test_a_kill_loses_nothing_and_at_most_the_shares(void **state)
{
	struct budget *budget;
	uint64_t spent = 0;

	(void)state;
	for (unsigned round = 1; round <= 5; round++) {
		pid_t child = fork();
		int status;

		if (child == 0) {
			budget = budget_make(1000 * MIB, 0);
			for (unsigned i = 0; i < 10; i++)
				(void)budget_take(budget, MIB, UNIT);
			budget_return(budget, 3 * UNIT);
			(void)raise(SIGKILL);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFSIGNALED(status));
		budget = budget_make(1000 * MIB, 0);
		spent += 10 * MIB - 3 * UNIT;
		assert_int_equal(budget_spent_bytes(budget), spent);
		budget_close(budget);
	}
}

static void test_a_budget_belongs_to_one_process_and_one_run(void **state)
{
	struct budget *budget = budget_make(MIB, 0);

	(void)state;
	assert_int_equal(open_fails(TAG), -EBUSY);
	budget_close(budget);
	assert_int_equal(open_fails(TAG + 1), -EBADMSG);
	budget_close(budget_make(MIB, 0));
}

static void byte_flip(off_t at)
{
	int fd = open(PATH, O_RDWR | O_CLOEXEC);
	uint8_t byte;

	assert_int_equal(pread(fd, &byte, 1, at), 1);
	byte ^= 1;
	assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	(void)close(fd);
}

static void test_a_damaged_file_is_refused_and_left_alone(void **state)
{
	struct budget *budget = budget_make(MIB, 0);
	struct stat before, after;

	(void)state;
	assert_int_equal(budget_take(budget, UNIT, UNIT), UNIT);
	budget_close(budget);
	for (off_t at = 0; at < 32; at++) {
		byte_flip(at);
		assert_int_equal(stat(PATH, &before), 0);
		assert_int_equal(open_fails(TAG), -EBADMSG);
		assert_int_equal(stat(PATH, &after), 0);
		assert_memory_equal(&before.st_mtim, &after.st_mtim, sizeof(before.st_mtim));
		byte_flip(at);
	}
	budget = budget_make(MIB, 0);
	assert_int_equal(budget_spent_bytes(budget), UNIT);
	budget_close(budget);
	assert_int_equal(truncate(PATH, 4095), 0);
	assert_int_equal(open_fails(TAG), -EBADMSG);
	assert_int_equal(truncate(PATH, 0), 0);
	assert_int_equal(open_fails(TAG), -EBADMSG);
	assert_int_equal(unlink(PATH), 0);
	assert_int_equal(mkdir(PATH, 0700), 0);
	assert_int_equal(open_fails(TAG), -EISDIR);
}

static int disk_fill(const char *path)
{
	static const uint8_t block[4096];
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	while (write(fd, block, sizeof(block)) > 0)
		;
	return close(fd);
}

/* In a process with a mount of its own: 0 as it should be, 77 when that is not allowed. */
static int full_disk_try(void)
{
	struct budget *budget = NULL;
	char why[BUDGET_WHY_MAX] = "";

	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		mount("none", FOLDER, "tmpfs", 0, "size=64k") || disk_fill(FOLDER "/junk"))
		return 77;
	if (budget_open(PATH, TAG, MIB, 0, &budget, why) != -ENOSPC || budget)
		return 1;
	if (strcmp(why, "the write budget can't be kept in " PATH ": No space left on device") != 0)
		return 2;
	if (access(PATH ".new", F_OK) == 0 || access(PATH, F_OK) == 0)
		return 3;
	/* What is there has its room. */
	if (unlink(FOLDER "/junk") || budget_open(PATH, TAG, MIB, 0, &budget, why) ||
		disk_fill(FOLDER "/junk"))
		return 4;
	if (budget_take(budget, UNIT, UNIT) != UNIT)
		return 5;
	budget_close(budget);
	if (budget_open(PATH, TAG, MIB, 0, &budget, why) || budget_spent_bytes(budget) != UNIT)
		return 6;
	return 0;
}

static void test_a_full_disk_is_said_at_once(void **state)
{
	int status = 0;
	pid_t child = fork();

	(void)state;
	if (child == 0)
		_exit(full_disk_try());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* Layers that count what is passed on, by themselves, beneath the engine's own account. */
static _Atomic uint64_t passed_bytes, answered;

static void request_count(const struct ring_request *request)
{
	if (request->verb == RING_WRITE)
		atomic_fetch_add(&passed_bytes, request->bytes);
}

static void null_queue_counted(struct ring *ring, const struct ring_request *request)
{
	request_count(request);
	null_ops.queue(ring, request);
}

static void uring_queue_counted(struct ring *ring, const struct ring_request *request)
{
	request_count(request);
	uring_ops.queue(ring, request);
}

static void libaio_queue_counted(struct ring *ring, const struct ring_request *request)
{
	request_count(request);
	libaio_ops.queue(ring, request);
}

/* Some answers are short or refused for now, some fail. */
static int null_reap_troubled(
	struct ring *ring, unsigned least, uint64_t timeout_ns, struct ring_completion *out, unsigned most)
{
	int count = null_ops.reap(ring, least, timeout_ns, out, most);

	for (int i = 0; i < count; i++) {
		uint64_t number = atomic_fetch_add(&answered, 1);

		if (number % 5 == 1 && out[i].result > 4096)
			out[i].result = 4096;
		else if (number % 7 == 2)
			out[i].result = -EAGAIN;
		else if (number % 11 == 3)
			out[i].result = -EIO;
	}
	return count;
}

enum { FILES = 4, THREADS = 3 };

struct stand {
	int fds[FILES];
	struct ring_ops ops;
	struct engine_job job;
	_Atomic unsigned ends;
	unsigned announced; /* files, by before_file */
};

static void end_count(void *arg)
{
	atomic_fetch_add(&((struct stand *)arg)->ends, 1);
}

static void file_count(void *arg, unsigned index)
{
	((struct stand *)arg)->announced = index + 1;
}

static void stand_init(struct stand *stand, const struct ring_ops *ops)
{
	*stand = (struct stand){ .ops = *ops };
	for (int i = 0; i < FILES; i++) {
		char path[64];

		(void)snprintf(path, sizeof(path), FOLDER "/%d.dat", i);
		stand->fds[i] = open(path, O_RDWR | O_CREAT | O_TRUNC | O_DIRECT | O_CLOEXEC, 0600);
		if (stand->fds[i] < 0)
			stand->fds[i] = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		assert_true(stand->fds[i] >= 0);
		assert_int_equal(ftruncate(stand->fds[i], 2 * MIB), 0);
	}
	stand->job = (struct engine_job){
		.fds = stand->fds,
		.fd_count = FILES,
		.file_bytes = 2 * MIB,
		.to_bytes = FILES * 2 * MIB,
		.block_bytes = UNIT,
		.threads = THREADS,
		.queue_depth = 16,
		.ops = &stand->ops,
		.run_tag = 1,
		.seed = 11,
		.before_file = file_count,
		.before_file_arg = stand,
		.on_end = end_count,
		.on_end_arg = stand,
	};
}

static void stand_fini(struct stand *stand)
{
	for (int i = 0; i < FILES; i++)
		(void)close(stand->fds[i]);
}

static struct engine *engine_make(const struct engine_job *job)
{
	struct engine *engine = NULL;
	char why[ENGINE_WHY_MAX] = "";

	if (engine_new(job, &engine, why) || engine_start(engine, why))
		fail_msg("%s", why);
	return engine;
}

/* Run the job until the budget ends it. */
static void spend(struct stand *stand, struct engine_totals *totals, struct engine_fill_end *end)
{
	struct engine *engine;

	atomic_store(&stand->ends, 0);
	engine = engine_make(&stand->job);
	for (unsigned i = 0; i < 20000 && !atomic_load(&stand->ends); i++)
		(void)usleep(500);
	assert_true(engine_budget_spent(engine));
	assert_true(engine_stop(engine, 5 * NS_PER_S));
	assert_int_equal(atomic_load(&stand->ends), 1);
	assert_int_equal(engine_failure(engine), 0);
	engine_read(engine, totals);
	(void)engine_fill_ended(engine, end);
	engine_free(engine);
}

/* Until an engine can write nothing at all; what they wrote together must be the limit in whole blocks. */
static void limit_check(struct stand *stand, uint64_t limit_bytes)
{
	static struct engine_totals totals;
	struct budget *budget = budget_make(limit_bytes, 0);
	uint64_t written = 0, failed = 0;
	struct engine_fill_end end;

	atomic_store(&passed_bytes, 0);
	do {
		stand->job.budget = budget;
		spend(stand, &totals, &end);
		written += totals.write_bytes;
		failed += totals.errors * UNIT;
		assert_int_equal(budget_spent_bytes(budget), written + failed);
		if (stand->ops.reap != null_reap_troubled)
			assert_int_equal(atomic_load(&passed_bytes), written);
		/* Between engines the file is closed and opened, as by a restart. */
		budget_close(budget);
		budget = budget_make(limit_bytes, 0);
	} while (totals.write_bytes || totals.errors);
	assert_int_equal(written + failed, limit_bytes / UNIT * UNIT);
	budget_close(budget);
	assert_int_equal(unlink(PATH), 0);
}

static void limits_check(struct stand *stand)
{
	static const uint64_t limits[] = { 0, UNIT - 1, UNIT, 5 * UNIT + 3, MIB, 17 * MIB + 5 };

	for (size_t i = 0; i < ARRAY_LEN(limits); i++)
		limit_check(stand, limits[i]);
}

static void workloads_check(struct stand *stand)
{
	static const struct {
		enum config_workload workload;
		unsigned read_percent, threads;
		uint64_t fsync_every;
		double requests_per_s;
	} row[] = {
		{ WORKLOAD_RANDOM_WRITE, 0, 1, 0, 0 },
		{ WORKLOAD_RANDOM_WRITE, 0, 8, 0, 0 },
		{ WORKLOAD_RANDOM_WRITE, 0, 3, 7, 0 },
		{ WORKLOAD_RANDOM_MIXED, 60, 4, 0, 0 },
		{ WORKLOAD_RANDOM_WRITE, 0, 2, 0, 20000 },
	};

	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		stand->job.workload = row[i].workload;
		stand->job.read_percent = row[i].read_percent;
		stand->job.threads = row[i].threads;
		stand->job.fsync_every = row[i].fsync_every;
		stand->job.requests_per_s = row[i].requests_per_s;
		limits_check(stand);
	}
}

static void test_soaks_write_the_limit_and_not_a_byte_more(void **state)
{
	const struct ring_ops *const inner[] = { &null_ops, &uring_ops, &libaio_ops };
	void (*const queue[])(struct ring *, const struct ring_request *) = { null_queue_counted,
		uring_queue_counted, libaio_queue_counted };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(inner); i++) {
		struct ring_ops ops = *inner[i];
		struct stand stand;

		ops.queue = queue[i];
		stand_init(&stand, &ops);
		workloads_check(&stand);
		stand_fini(&stand);
	}
}

static void test_what_is_submitted_again_is_charged_once_and_what_fails_is_charged(void **state)
{
	struct ring_ops ops = null_ops;
	struct stand stand;

	(void)state;
	ops.reap = null_reap_troubled;
	stand_init(&stand, &ops);
	limits_check(&stand);
	stand_fini(&stand);
}

static void test_a_stop_gives_the_shares_back(void **state)
{
	static struct engine_totals totals;
	struct budget *budget = budget_make(1ULL << 60, 0);
	struct engine *engine;
	struct stand stand;

	(void)state;
	stand_init(&stand, &null_ops);
	stand.job.budget = budget;
	engine = engine_make(&stand.job);
	(void)usleep(50000);
	assert_true(engine_stop(engine, 5 * NS_PER_S));
	assert_false(engine_budget_spent(engine));
	engine_read(engine, &totals);
	engine_free(engine);
	assert_true(totals.write_bytes > 0);
	assert_int_equal(budget_spent_bytes(budget), totals.write_bytes);
	assert_int_equal(atomic_load(&stand.ends), 0);
	budget_close(budget);
	stand_fini(&stand);
}

static void test_reads_cost_nothing(void **state)
{
	static struct engine_totals totals;
	struct budget *budget = budget_make(0, 0);
	struct engine *engine;
	struct stand stand;

	(void)state;
	stand_init(&stand, &null_ops);
	stand.job.budget = budget;
	stand.job.workload = WORKLOAD_RANDOM_READ;
	engine = engine_make(&stand.job);
	(void)usleep(20000);
	assert_true(engine_stop(engine, 5 * NS_PER_S));
	assert_false(engine_budget_spent(engine));
	engine_read(engine, &totals);
	engine_free(engine);
	assert_true(totals.read_bytes > 0);
	assert_int_equal(budget_spent_bytes(budget), 0);
	budget_close(budget);
	stand_fini(&stand);
}

static void test_a_fill_that_runs_out_is_cancelled_where_it_stands(void **state)
{
	static const struct {
		uint64_t limit_bytes, done_bytes;
		unsigned files;
	} row[] = { { 0, 0, 0 }, { MIB - 1, 0, 0 }, { 2 * MIB + MIB / 2 + 7, 2 * MIB, 1 },
		{ 3 * MIB, 3 * MIB, 2 }, { 8 * MIB - 1, 7 * MIB, 4 } };
	static struct engine_totals totals;
	struct ring_ops ops = uring_ops;
	struct engine_fill_end end;
	struct stand stand;

	(void)state;
	ops.queue = uring_queue_counted;
	stand_init(&stand, &ops);
	stand.job.is_fill = true;
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		stand.job.budget = budget_make(row[i].limit_bytes, 0);
		stand.announced = 0;
		atomic_store(&passed_bytes, 0);
		spend(&stand, &totals, &end);
		assert_int_equal(end.error, ECANCELED);
		assert_int_equal(end.done_bytes, row[i].done_bytes);
		assert_int_equal(totals.write_bytes, row[i].done_bytes);
		assert_int_equal(totals.errors, 0);
		assert_int_equal(atomic_load(&passed_bytes), row[i].done_bytes);
		assert_int_equal(budget_spent_bytes(stand.job.budget), row[i].done_bytes);
		assert_int_equal(stand.announced, row[i].files);
		budget_close(stand.job.budget);
		assert_int_equal(unlink(PATH), 0);
	}
	stand_fini(&stand);
}

static void test_a_fill_that_just_fits_ends_as_any_other(void **state)
{
	struct engine_fill_end end;
	struct engine *engine;
	struct stand stand;

	(void)state;
	stand_init(&stand, &null_ops);
	stand.job.is_fill = true;
	stand.job.budget = budget_make(8 * MIB, 0);
	engine = engine_make(&stand.job);
	for (unsigned i = 0; i < 5000 && !atomic_load(&stand.ends); i++)
		(void)usleep(1000);
	assert_true(engine_stop(engine, 5 * NS_PER_S));
	assert_false(engine_budget_spent(engine));
	assert_true(engine_fill_ended(engine, &end));
	assert_int_equal(end.error, 0);
	assert_int_equal(end.done_bytes, 8 * MIB);
	engine_free(engine);
	assert_int_equal(budget_spent_bytes(stand.job.budget), 8 * MIB);
	budget_close(stand.job.budget);
	stand_fini(&stand);
}

/* The longest time that was to be waited for, but for ever; and so slow that requests are overdue. */
static _Atomic uint64_t longest_wait_ns;

static int null_reap_slow(
	struct ring *ring, unsigned least, uint64_t timeout_ns, struct ring_completion *out, unsigned most)
{
	if (timeout_ns != RING_FOREVER && timeout_ns > atomic_load(&longest_wait_ns))
		atomic_store(&longest_wait_ns, timeout_ns);
	(void)usleep(20000);
	return null_ops.reap(ring, least, timeout_ns, out, most);
}

static void test_overdue_writes_that_are_not_affordable_are_not_waited_for(void **state)
{
	static struct engine_totals totals;
	struct ring_ops ops = null_ops;
	struct engine_fill_end end;
	struct stand stand;

	(void)state;
	ops.reap = null_reap_slow;
	stand_init(&stand, &ops);
	stand.job.threads = 1;
	stand.job.queue_depth = 4;
	stand.job.requests_per_s = 1000;
	stand.job.is_open_loop = true;
	stand.job.budget = budget_make(6 * UNIT, 0);
	spend(&stand, &totals, &end);
	assert_int_equal(totals.write_bytes, 6 * UNIT);
	assert_true(atomic_load(&longest_wait_ns) <= NS_PER_S / 1000);
	budget_close(stand.job.budget);
	stand_fini(&stand);
}

/* Passed on, by all processes together. */
static _Atomic uint64_t *shared_bytes;

static void null_queue_shared(struct ring *ring, const struct ring_request *request)
{
	atomic_fetch_add(shared_bytes, request->bytes);
	null_ops.queue(ring, request);
}

static struct engine *engine_at_rate(
	struct stand *stand, const struct ring_ops *ops, uint64_t limit_bytes, double requests_per_s)
{
	stand_init(stand, ops);
	stand->job.requests_per_s = requests_per_s;
	stand->job.budget = budget_make(limit_bytes, atomic_load(shared_bytes));
	return engine_make(&stand->job);
}

static void test_twenty_kills_do_not_exceed_the_limit(void **state)
{
	const uint64_t limit = 500 * MIB;
	static struct engine_totals totals;
	struct ring_ops ops = null_ops;
	struct engine *engine;
	struct stand stand;
	uint64_t shares = 0;

	(void)state;
	shared_bytes = mmap(
		NULL, sizeof(*shared_bytes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(shared_bytes != MAP_FAILED);
	ops.queue = null_queue_shared;
	for (unsigned round = 0; round < 20; round++) {
		uint64_t before = atomic_load(shared_bytes);
		int status;
		pid_t child = fork();

		if (child == 0) {
			(void)engine_at_rate(&stand, &ops, limit, 5000);
			(void)pause();
		}
		for (unsigned i = 0; i < 20000 && atomic_load(shared_bytes) == before; i++)
			(void)usleep(100);
		assert_true(atomic_load(shared_bytes) > before);
		(void)usleep(round * 977 % 9000);
		assert_int_equal(kill(child, SIGKILL), 0);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFSIGNALED(status));
		shares += THREADS * BUDGET_SHARE_BYTES;
	}
	engine = engine_at_rate(&stand, &ops, limit, 0);
	assert_true(budget_spent_bytes(stand.job.budget) >= atomic_load(shared_bytes));
	for (unsigned i = 0; i < 20000 && !atomic_load(&stand.ends); i++)
		(void)usleep(1000);
	assert_true(engine_budget_spent(engine));
	assert_true(engine_stop(engine, 5 * NS_PER_S));
	engine_read(engine, &totals);
	engine_free(engine);
	assert_true(totals.write_bytes > 0);
	assert_in_range(atomic_load(shared_bytes), limit - shares - THREADS * BUDGET_SHARE_BYTES, limit);
	budget_close(stand.job.budget);
	stand_fini(&stand);
	(void)munmap(shared_bytes, sizeof(*shared_bytes));
}

int main(void)
{
#define CASE(function) cmocka_unit_test_setup_teardown(function, folder_make, folder_remove)
	static const struct CMUnitTest tests[] = {
		CASE(test_shares_are_whole_units_within_the_limit),
		CASE(test_a_charge_is_all_or_nothing),
		CASE(test_a_crowd_never_holds_more_than_the_limit),
		CASE(test_what_was_spent_is_kept_whatever_the_limit_is),
		CASE(test_a_kill_loses_nothing_and_at_most_the_shares),
		CASE(test_a_budget_belongs_to_one_process_and_one_run),
		CASE(test_a_damaged_file_is_refused_and_left_alone),
		CASE(test_a_full_disk_is_said_at_once),
		CASE(test_soaks_write_the_limit_and_not_a_byte_more),
		CASE(test_what_is_submitted_again_is_charged_once_and_what_fails_is_charged),
		CASE(test_a_stop_gives_the_shares_back),
		CASE(test_overdue_writes_that_are_not_affordable_are_not_waited_for),
		CASE(test_twenty_kills_do_not_exceed_the_limit),
		CASE(test_reads_cost_nothing),
		CASE(test_a_fill_that_runs_out_is_cancelled_where_it_stands),
		CASE(test_a_fill_that_just_fits_ends_as_any_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
