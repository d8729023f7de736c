/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rrdfile_fixture.h"

/* A run of every kind of row. Some of the time nobody was there: a down row, or none at all. */
static size_t make_history(struct sample *samples, size_t count, uint32_t step_s, uint64_t *seed)
{
	int64_t t_ms = FIXTURE_START_MS;
	size_t used = 0;

	while (used + 2 <= count) {
		uint64_t kind = fixture_random(seed, 100);

		t_ms += step_s * 1000LL;
		if (kind < 3 && used > 0)
			t_ms += (int64_t)(step_s * 1000 * (1 + fixture_random(seed, 4)));
		if (kind == 0 && used > 0)
			samples[used++] = fixture_down(t_ms - 1 - (int64_t)fixture_random(seed, 900), 0);
		samples[used] = fixture_sample(t_ms, step_s, fixture_random(seed, 12000000000ULL * step_s));
		samples[used].stall_ns = fixture_random(seed, 2000000000ULL * step_s);
		if (kind == 4)
			samples[used].state = SAMPLE_ZERO, samples[used].write_bytes = 0;
		if (kind == 5)
			samples[used].flags = SAMPLE_FLAG_PARTIAL;
		if (kind == 6)
			samples[used].write_bytes = samples[used].stall_ns = SAMPLE_UNKNOWN;
		if (kind == 7)
			samples[used].temp_c = NAN;
		used++;
	}
	return used;
}

#define HISTORY 6000

static void test_what_is_written_reads_back_exactly(void **state)
{
	static const uint32_t steps[] = { 1, 3, 7, 10, 60, 300 };
	struct sample *samples = malloc(HISTORY * sizeof(*samples));
	uint64_t seed = 0x9e3779b97f4a7c15;

	(void)state;
	assert_non_null(samples);
	for (size_t n = 0; n < sizeof(steps) / sizeof(steps[0]); n++) {
		size_t count = make_history(samples, HISTORY, steps[n], &seed), done = 0;
		struct rrdfile *file;
		char name[16];

		(void)snprintf(name, sizeof(name), "every-%u", steps[n]);
		fixture_run(&rrdfile_rig.run, name, steps[n]);
		(void)snprintf(rrdfile_rig.path, sizeof(rrdfile_rig.path), "%s/runs/%s.rrd",
			rrdfile_rig.folder, rrdfile_rig.run.id);
		assert_int_equal(journal_put_run(rrdfile_rig.journal, &rrdfile_rig.run), 0);
		file = rrdfile_fixture_new(steps[n]);
		assert_false(rrdfile_fixture_sync(
			file, 10000ULL * steps[n])); /* a new run has no history to write anew */
		rrdfile_fixture_to_journal(samples, count);
		while (done < count) {
			size_t batch = 1 + fixture_random(&seed, done % 7 ? 3 : 400);

			batch = batch < count - done ? batch : count - done;
			rrdfile_fixture_put(file, samples + done, batch);
			done += batch;
		}
		rrdfile_fixture_check(samples, count, steps[n]);
		rrdfile_free(file);
		file = rrdfile_fixture_new(steps[n]);
		assert_false(rrdfile_fixture_sync(file, 10000ULL * steps[n])); /* the comparison agrees */
		rrdfile_free(file);
		/* The same from the journal alone. */
		assert_int_equal(unlink(rrdfile_rig.path), 0);
		file = rrdfile_fixture_new(steps[n]);
		assert_true(rrdfile_fixture_sync(file, 10000ULL * steps[n]));
		rrdfile_fixture_check(samples, count, steps[n]);
		rrdfile_free(file);
	}
	free(samples);
}

static void test_a_file_changed_behind_our_back_wants_a_sync(void **state)
{
	struct sample samples[FIXTURE_FEW],
		next = fixture_sample(FIXTURE_START_MS + (FIXTURE_FEW + 1) * 10000, 10, 5);
	char why[RRDFILE_WHY_MAX] = "";
	struct rrdfile *file;

	(void)state;
	rrdfile_fixture_make_few(samples);
	file = rrdfile_fixture_new(10);
	assert_int_equal(rrdfile_put(file, &next, 1, why), -ESTALE); /* never synced */
	assert_false(rrdfile_fixture_sync(file, 0));
	rrdfile_fixture_put(file, samples, FIXTURE_FEW); /* all of them stored already */
	rrdfile_fixture_check(samples, FIXTURE_FEW, 10);
	assert_int_equal(unlink(rrdfile_rig.path), 0);
	rrdfile_fixture_to_journal(&next, 1);
	assert_int_equal(rrdfile_put(file, &next, 1, why), -ENOENT);
	assert_non_null(strstr(why, "No such file"));
	assert_true(rrdfile_fixture_sync(file, 0));
	rrdfile_fixture_put(file, &next, 1);
	rrdfile_fixture_check(samples, FIXTURE_FEW, 10);
	assert_int_equal(truncate(rrdfile_rig.path, 5000), 0);
	next.t_ms += 10000;
	assert_int_equal(rrdfile_put(file, &next, 1, why), -EBADMSG); /* and no crash */
	assert_int_equal(rrdfile_put(file, &next, 1, why), -ESTALE);
	next.t_ms += 1;
	assert_true(rrdfile_fixture_sync(file, 0));
	assert_int_equal(rrdfile_put(file, &next, 1, why), -EINVAL);
	rrdfile_free(file);
}

static void test_a_run_may_outgrow_its_plan(void **state)
{
	static struct sample samples[600];
	char why[RRDFILE_WHY_MAX];
	struct rrdfile *file = rrdfile_fixture_new(10);
	size_t stored = 0;

	(void)state;
	assert_false(rrdfile_fixture_sync(file, 60));
	for (unsigned i = 0; i < 600; i++)
		samples[i] = fixture_sample(FIXTURE_START_MS + (i + 1) * 10000, 10, i * 3);
	rrdfile_fixture_to_journal(samples, 600);
	while (stored < 600 && rrdfile_put(file, &samples[stored], 1, why) == 0)
		stored++;
	assert_in_range(stored, 300, 500);
	assert_int_equal(rrdfile_put(file, &samples[stored], 1, why), -ESTALE);
	assert_true(rrdfile_fixture_sync(file, 60));
	rrdfile_fixture_check(samples, 600, 10);
	rrdfile_free(file);
}

static void test_a_year_ahead_loses_nothing(void **state)
{
	struct sample samples[4];
	char why[RRDFILE_WHY_MAX];
	struct rrdfile *file = rrdfile_fixture_new(300);

	(void)state;
	for (unsigned i = 0; i < 4; i++)
		samples[i] = fixture_sample(
			FIXTURE_START_MS + (i + 1) * 300000 + (i > 1 ? 366LL * 86400000 : 0), 300, i + 5);
	assert_false(rrdfile_fixture_sync(file, 86400));
	rrdfile_fixture_to_journal(samples, 4);
	rrdfile_fixture_put(file, samples, 2);
	assert_int_equal(rrdfile_put(file, samples + 2, 2, why), -EOVERFLOW);
	assert_true(rrdfile_fixture_sync(file, 86400));
	rrdfile_fixture_check(samples, 4, 300);
	rrdfile_free(file);
}

static void test_extremes_survive_in_the_ladders(void **state)
{
	static struct sample samples[1000];
	static const struct {
		const char *cf;
		uint32_t step_s;
		double low, high;
	} row[] = {
		{ "MIN", 600, 0, 6000 },
		{ "MAX", 600, 6000, 90000 },
		{ "AVERAGE", 600, 5900, 7400 },
		{ "MIN", 7200, 0, 6000 },
		{ "MAX", 7200, 6000, 90000 },
	};
	struct rrdfile *file = rrdfile_fixture_new(10);

	(void)state;
	for (unsigned i = 0; i < 1000; i++)
		samples[i] = fixture_sample(FIXTURE_START_MS + (i + 1) * 10000, 10,
			i == 333   ? 0
			: i == 444 ? 90000
				   : 6000);
	rrdfile_fixture_to_journal(samples, 1000);
	(void)rrdfile_fixture_sync(file, 0);
	rrdfile_free(file);
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct rrdfile_series series;
		char why[RRDFILE_WHY_MAX];
		double low = INFINITY, high = 0;

		assert_int_equal(
			rrdfile_fetch(rrdfile_rig.path, "write_bytes", row[i].cf, FIXTURE_START_MS / 1000,
				samples[999].t_ms / 1000, row[i].step_s, &series, why),
			0);
		assert_int_equal(series.step_s, row[i].step_s);
		for (size_t n = 0; n < series.count; n++) {
			low = fmin(low, series.values[n]);
			high = fmax(high, series.values[n]);
		}
		assert_true(low >= row[i].low && low <= row[i].high);
		assert_true(high >= row[i].low && high <= row[i].high);
		assert_true(strcmp(row[i].cf, "MIN") != 0 || low <= 0);
		assert_true(strcmp(row[i].cf, "MAX") != 0 || high >= 90000);
		free(series.values);
	}
}

static void test_fetch_says_what_is_wrong(void **state)
{
	struct rrdfile_series series = { .count = 7 };
	struct sample samples[FIXTURE_FEW];
	char why[RRDFILE_WHY_MAX] = "";

	(void)state;
	rrdfile_fixture_make_few(samples);
	assert_int_equal(
		rrdfile_fetch(rrdfile_rig.path, "nosuch", "AVERAGE", 0, 1000, 10, &series, why), -ENOENT);
	assert_string_equal(why, "nosuch: No such file or directory");
	assert_int_equal(
		rrdfile_fetch("/nonexistent/x.rrd", "errors", "AVERAGE", 0, 1000, 10, &series, why), -ENOENT);
	assert_non_null(strstr(why, "/nonexistent/x.rrd"));
	assert_int_equal(series.count, 7);
}

/* A process that holds the file's lock, as rrdtool does while it reads; answers when it has it. */
static pid_t lock_in_child(unsigned hold_ms)
{
	int ready[2];
	pid_t child;
	char byte;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	child = fork();
	if (child == 0) {
		struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
		int fd = open(rrdfile_rig.path, O_RDWR | O_CLOEXEC);

		if (fcntl(fd, F_SETLK, &lock) < 0 || write(ready[1], "x", 1) != 1)
			_exit(1);
		(void)usleep(hold_ms * 1000);
		_exit(0);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	(void)close(ready[0]);
	(void)close(ready[1]);
	return child;
}

static void test_a_lock_of_another_process_is_waited_for(void **state)
{
	struct sample samples[FIXTURE_FEW + 2];
	char why[RRDFILE_WHY_MAX] = "";
	struct rrdfile *file;
	bool rebuilt;
	pid_t child;

	(void)state;
	rrdfile_fixture_make_few(samples);
	file = rrdfile_fixture_new(10);
	assert_false(rrdfile_fixture_sync(file, 0));
	for (unsigned i = FIXTURE_FEW; i < FIXTURE_FEW + 2; i++)
		samples[i] = fixture_sample(FIXTURE_START_MS + (i + 1) * 10000, 10, i);
	rrdfile_fixture_to_journal(samples + FIXTURE_FEW, 2);
	child = lock_in_child(60);
	rrdfile_fixture_put(file, &samples[FIXTURE_FEW], 1);
	assert_int_equal(waitpid(child, NULL, 0), child);
	child = lock_in_child(20000);
	assert_int_equal(rrdfile_put(file, &samples[FIXTURE_FEW + 1], 1, why), -EBUSY);
	assert_non_null(strstr(why, "could not lock"));
	assert_int_equal(rrdfile_sync(file, rrdfile_rig.journal, 0, &rebuilt, why), -EBUSY);
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_false(rrdfile_fixture_sync(file, 0));
	rrdfile_fixture_check(samples, FIXTURE_FEW + 2, 10);
	rrdfile_free(file);
}

static bool mount_small(const char *size)
{
	char name[300], options[32];

	(void)snprintf(name, sizeof(name), "%s/runs", rrdfile_rig.folder);
	(void)snprintf(options, sizeof(options), "size=%s", size);
	return geteuid() == 0 && mount("tmpfs", name, "tmpfs", 0, options) == 0;
}

static void unmount_small(void)
{
	char name[300];

	(void)snprintf(name, sizeof(name), "%s/runs", rrdfile_rig.folder);
	assert_int_equal(umount(name), 0);
}

static void test_no_room_is_said_before_anything_is_written(void **state)
{
	struct sample sample = fixture_sample(FIXTURE_START_MS, 10, 1);
	char why[RRDFILE_WHY_MAX] = "", temporary[310];
	struct rrdfile *file;
	bool rebuilt = true;

	(void)state;
	if (!mount_small("4M"))
		skip();
	rrdfile_fixture_to_journal(&sample, 1);
	file = rrdfile_fixture_new(10);
	assert_int_equal(rrdfile_sync(file, rrdfile_rig.journal, 0, &rebuilt, why), -ENOSPC);
	assert_non_null(strstr(why, "/runs has 41"));
	assert_non_null(strstr(why, " bytes free, the view needs "));
	assert_true(rebuilt);
	(void)snprintf(temporary, sizeof(temporary), "%s.new", rrdfile_rig.path);
	assert_int_equal(access(temporary, F_OK), -1);
	assert_int_equal(access(rrdfile_rig.path, F_OK), -1);
	rrdfile_free(file);
	unmount_small();
}

static void fill_disk(const char *name)
{
	static char zeros[65536];
	int fd = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	while (write(fd, zeros, sizeof(zeros)) > 0)
		;
	while (write(fd, zeros, 4096) > 0)
		;
	(void)close(fd);
}

static void punch_hole(void)
{
	int fd = open(rrdfile_rig.path, O_RDWR | O_CLOEXEC);

	assert_int_equal(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 409600, 8192), 0);
	(void)close(fd);
}

/* A view with holes (copied sparse, say) on a full disk would kill the process with SIGBUS at an update. */
static void test_holes_on_a_full_disk_are_an_error(void **state)
{
	struct sample samples[2] = { fixture_sample(FIXTURE_START_MS, 10, 1),
		fixture_sample(FIXTURE_START_MS + 10000, 10, 2) };
	char why[RRDFILE_WHY_MAX] = "", filler[300];
	struct rrdfile *file;

	(void)state;
	if (!mount_small("24M"))
		skip();
	(void)snprintf(filler, sizeof(filler), "%s/runs/filler", rrdfile_rig.folder);
	file = rrdfile_fixture_new(10);
	(void)rrdfile_fixture_sync(file, 3600);
	rrdfile_fixture_to_journal(samples, 2);
	rrdfile_fixture_put(file, samples, 1);
	punch_hole();
	fill_disk(filler);
	assert_int_equal(rrdfile_put(file, &samples[1], 1, why), -ENOSPC);
	assert_non_null(strstr(why, "room for its holes"));
	assert_int_equal(unlink(filler), 0);
	(void)rrdfile_fixture_sync(file, 3600);
	rrdfile_fixture_check(samples, 2, 10);
	rrdfile_free(file);
	unmount_small();
}

static void update_until_killed(volatile uint64_t *done, const struct sample *samples, size_t count)
{
	char why[RRDFILE_WHY_MAX];
	struct rrdfile *file;
	bool rebuilt;

	if (rrdfile_new(rrdfile_rig.folder, rrdfile_rig.run.id, 1, &file) < 0 ||
		rrdfile_sync(file, rrdfile_rig.journal, 0, &rebuilt, why) < 0)
		_exit(1);
	for (size_t i = 0; i < count; i++) {
		if (rrdfile_put(file, &samples[i], 1, why) < 0)
			_exit(2);
		*done = i + 1;
	}
	_exit(0);
}

static void test_kill_in_an_update_leaves_a_right_view(void **state)
{
	volatile uint64_t *done = mmap(
		NULL, sizeof(*done), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	static struct sample samples[4000];
	uint64_t seed = 88172645463325252ULL;

	(void)state;
	assert_true(done != MAP_FAILED);
	for (unsigned i = 0; i < 4000; i++)
		samples[i] = fixture_sample(FIXTURE_START_MS + (i + 1) * 1000, 1, i);
	for (unsigned round = 0; round < 6; round++) {
		struct rrdfile *file;
		pid_t child;

		*done = 0;
		child = fork();
		if (child == 0)
			update_until_killed(done, samples, 4000);
		while (*done < 20 + fixture_random(&seed, 500))
			(void)usleep(100);
		(void)kill(child, SIGKILL);
		assert_int_equal(waitpid(child, NULL, 0), child);
		/* The journal holds what was put and some more. */
		assert_int_equal(journal_begin(rrdfile_rig.journal), 0);
		for (unsigned i = 0; i < 4000; i++)
			assert_int_equal(
				journal_put_sample(rrdfile_rig.journal, rrdfile_rig.run.id, &samples[i]), 0);
		assert_int_equal(journal_commit(rrdfile_rig.journal), 0);
		file = rrdfile_fixture_new(1);
		assert_true(rrdfile_fixture_sync(file, 0));
		rrdfile_fixture_check(samples, 4000, 1);
		rrdfile_free(file);
		/* The next round is another run. */
		(void)snprintf(rrdfile_rig.run.id, sizeof(rrdfile_rig.run.id), "round-%u", round);
		(void)snprintf(rrdfile_rig.path, sizeof(rrdfile_rig.path), "%s/runs/%s.rrd",
			rrdfile_rig.folder, rrdfile_rig.run.id);
		assert_int_equal(journal_put_run(rrdfile_rig.journal, &rrdfile_rig.run), 0);
	}
	(void)munmap((void *)(uintptr_t)done, sizeof(*done));
}

struct reader {
	volatile bool stop;
	unsigned rows;
	bool is_wrong;
};

static void *fetch_rows(void *arg)
{
	struct reader *reader = arg;

	while (!__atomic_load_n(&reader->stop, __ATOMIC_ACQUIRE)) {
		struct rrdfile_series series;
		char why[RRDFILE_WHY_MAX];
		int64_t first_s = FIXTURE_START_MS / 1000;

		if (rrdfile_fetch(rrdfile_rig.path, "write_bytes", "AVERAGE", first_s, first_s + 15000, 10,
			    &series, why) != 0)
			continue;
		for (size_t i = 0; i < series.count; i++) {
			int64_t t_s = series.from_s + (int64_t)(i + 1) * 10;

			if (isnan(series.values[i]))
				continue;
			reader->rows++;
			/* write_bytes is the sample's number */
			if ((int64_t)series.values[i] != (t_s - first_s) / 10)
				reader->is_wrong = true;
		}
		free(series.values);
	}
	return NULL;
}

/* librrd's lock is the process's: without the mutex rows come back shifted or mixed. */
static void test_readers_in_threads_see_whole_rows(void **state)
{
	struct reader readers[2] = { 0 };
	struct rrdfile *file = rrdfile_fixture_new(10);
	pthread_t threads[2];

	(void)state;
	(void)rrdfile_fixture_sync(file, 0);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, fetch_rows, &readers[i]), 0);
	for (unsigned i = 1; i <= 1500; i++) {
		struct sample sample = fixture_sample(FIXTURE_START_MS + i * 10000, 10, i);

		rrdfile_fixture_put(file, &sample, 1);
		if (i % 100 == 0) {
			assert_int_equal(rrdfile_lock_graph(rrdfile_rig.path), 0);
			rrdfile_unlock_graph(rrdfile_rig.path);
		}
	}
	for (unsigned i = 0; i < 2; i++) {
		__atomic_store_n(&readers[i].stop, true, __ATOMIC_RELEASE);
		(void)pthread_join(threads[i], NULL);
		assert_false(readers[i].is_wrong);
		assert_true(readers[i].rows > 0);
	}
	rrdfile_free(file);
}

static void test_a_bad_name_makes_no_handle(void **state)
{
	struct rrdfile *file = NULL;

	(void)state;
	assert_int_equal(rrdfile_new(rrdfile_rig.folder, "../evil", 10, &file), -EINVAL);
	assert_int_equal(rrdfile_new(rrdfile_rig.folder, "", 10, &file), -EINVAL);
	assert_int_equal(rrdfile_new(rrdfile_rig.folder, "evo", 0, &file), -EINVAL);
	assert_null(file);
	rrdfile_free(NULL);
}

int main(void)
{
#define CASE(function)                                                                                       \
	cmocka_unit_test_setup_teardown(function, rrdfile_fixture_set_up, rrdfile_fixture_tear_down)
	static const struct CMUnitTest tests[] = {
		CASE(test_what_is_written_reads_back_exactly),
		CASE(test_a_file_changed_behind_our_back_wants_a_sync),
		CASE(test_a_run_may_outgrow_its_plan),
		CASE(test_a_year_ahead_loses_nothing),
		CASE(test_extremes_survive_in_the_ladders),
		CASE(test_fetch_says_what_is_wrong),
		CASE(test_a_lock_of_another_process_is_waited_for),
		CASE(test_no_room_is_said_before_anything_is_written),
		CASE(test_holes_on_a_full_disk_are_an_error),
		CASE(test_kill_in_an_update_leaves_a_right_view),
		CASE(test_readers_in_threads_see_whole_rows),
		CASE(test_a_bad_name_makes_no_handle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
