/* SPDX-License-Identifier: GPL-2.0-or-later */
#define RRD_EXPORT_DEPRECATED
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <rrd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "archive/rrdfile.h"
#include "archive_fixture.h"

#define ARCHIVES 7

static char *folder;
static struct journal *journal;
static struct run_record run;
static char path[300], marker[310];

static int set_up(void **state)
{
	char name[300];

	(void)state;
	folder = fixture_folder_new();
	(void)snprintf(name, sizeof(name), "%s/runs", folder);
	if (mkdir(name, 0755) < 0)
		return -1;
	(void)snprintf(name, sizeof(name), "%s/journal.db", folder);
	fixture_run(&run, "evo", 10);
	(void)snprintf(path, sizeof(path), "%s/runs/%s.rrd", folder, run.id);
	(void)snprintf(marker, sizeof(marker), "%s.open", path);
	return journal_open(name, false, &journal) == 0 && journal_put_run(journal, &run) == 0 ? 0 : -1;
}

static int tear_down(void **state)
{
	char runs[300];

	(void)state;
	(void)snprintf(runs, sizeof(runs), "%s/runs", folder);
	(void)umount2(runs, MNT_DETACH); /* what a failed test left */
	journal_close(journal);
	fixture_folder_remove(folder);
	return 0;
}

static struct rrdfile *file_new(uint32_t interval_s)
{
	struct rrdfile *file = NULL;

	assert_int_equal(rrdfile_new(folder, run.id, interval_s, &file), 0);
	assert_string_equal(rrdfile_path(file), path);
	return file;
}

static bool sync_file(struct rrdfile *file, uint64_t planned_s)
{
	char why[RRDFILE_WHY_MAX] = "";
	bool rebuilt = false;
	int rc = rrdfile_sync(file, journal, planned_s, &rebuilt, why);

	if (rc != 0)
		fail_msg("rrdfile_sync: %d, %s", rc, why);
	return rebuilt;
}

static void put(struct rrdfile *file, const struct sample *samples, size_t count)
{
	char why[RRDFILE_WHY_MAX] = "";
	int rc = rrdfile_put(file, samples, count, why);

	if (rc != 0)
		fail_msg("rrdfile_put: %d, %s", rc, why);
}

static void to_journal(const struct sample *samples, size_t count)
{
	assert_int_equal(journal_begin(journal), 0);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(journal_put_sample(journal, run.id, &samples[i]), 0);
	assert_int_equal(journal_commit(journal), 0);
}

static double fetched(const struct rrdfile_series *series, int64_t t_s)
{
	int64_t row = (t_s - series->from_s) / series->step_s - 1;

	assert_in_range(row, 0, series->count - 1);
	return series->values[row];
}

static uint64_t level_of(double level)
{
	return isnan(level) ? SAMPLE_UNKNOWN : (uint64_t)level;
}

/* Every row from the first to the last sample, of five sources. */
static void check_against(const struct sample *samples, size_t count, uint32_t step_s)
{
	static const char *const names[] = { "write_bytes", "stall_ns", "temp_c", "used_pct", "spare_pct" };
	int64_t first_s = samples[0].t_ms / 1000, last_s = samples[count - 1].t_ms / 1000;

	for (size_t n = 0; n < 5; n++) {
		struct rrdfile_series series;
		char why[RRDFILE_WHY_MAX];
		size_t i = 0;

		assert_int_equal(rrdfile_fetch(path, names[n], "AVERAGE", first_s - step_s, last_s, step_s,
					 &series, why),
			0);
		assert_int_equal(series.step_s, step_s);
		for (int64_t t_s = first_s; t_s <= last_s; t_s += step_s) {
			double value = fetched(&series, t_s);
			uint64_t expected = SAMPLE_UNKNOWN;

			while (i < count && (samples[i].state == SAMPLE_DOWN || samples[i].t_ms < t_s * 1000))
				i++;
			if (i < count && samples[i].t_ms == t_s * 1000)
				expected = n == 0   ? samples[i].write_bytes
					   : n == 1 ? samples[i].stall_ns
					   : n == 2 ? level_of(samples[i].temp_c)
					   : n == 3 ? level_of(samples[i].percent_used)
						    : level_of(samples[i].spare_pct);
			if (expected == SAMPLE_UNKNOWN ? !isnan(value)
						       : (uint64_t)value != expected || isnan(value))
				fail_msg("%s at %lld: %.17g, not %llu", names[n], (long long)t_s, value,
					(unsigned long long)expected);
		}
		free(series.values);
	}
}

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
		fixture_run(&run, name, steps[n]);
		(void)snprintf(path, sizeof(path), "%s/runs/%s.rrd", folder, run.id);
		assert_int_equal(journal_put_run(journal, &run), 0);
		file = file_new(steps[n]);
		assert_false(
			sync_file(file, 10000ULL * steps[n])); /* a new run has no history to write anew */
		to_journal(samples, count);
		while (done < count) {
			size_t batch = 1 + fixture_random(&seed, done % 7 ? 3 : 400);

			batch = batch < count - done ? batch : count - done;
			put(file, samples + done, batch);
			done += batch;
		}
		check_against(samples, count, steps[n]);
		rrdfile_free(file);
		file = file_new(steps[n]);
		assert_false(sync_file(file, 10000ULL * steps[n])); /* the comparison agrees */
		rrdfile_free(file);
		/* The same from the journal alone. */
		assert_int_equal(unlink(path), 0);
		file = file_new(steps[n]);
		assert_true(sync_file(file, 10000ULL * steps[n]));
		check_against(samples, count, steps[n]);
		rrdfile_free(file);
	}
	free(samples);
}

#define FEW 300

/* A journal and an agreeing, closed view of FEW samples. */
static void make_few(struct sample *samples)
{
	struct rrdfile *file = file_new(10);

	for (unsigned i = 0; i < FEW; i++)
		samples[i] = fixture_sample(FIXTURE_START_MS + (i + 1) * 10000, 10, 1000 + i);
	to_journal(samples, FEW);
	assert_true(sync_file(file, 0));
	rrdfile_free(file);
	assert_int_equal(access(marker, F_OK), -1);
}

/* Sync with a new handle; what it then holds is right either way. */
static void check_resync(const struct sample *samples, bool expect_rebuilt, const char *after)
{
	struct rrdfile *file = file_new(10);

	if (sync_file(file, 0) != expect_rebuilt)
		fail_msg("%s: %s", after, expect_rebuilt ? "not rebuilt" : "rebuilt for nothing");
	check_against(samples, FEW, 10);
	rrdfile_free(file);
}

static void write_bytes_at(off_t offset, const void *bytes, size_t length)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes, length, offset), (ssize_t)length);
	(void)close(fd);
}

#define AFTER_SOURCES  (sizeof(stat_head_t) + RRDFILE_SOURCES * sizeof(ds_def_t))
#define AFTER_ARCHIVES (AFTER_SOURCES + ARCHIVES * sizeof(rra_def_t))
#define AFTER_LIVE     (AFTER_ARCHIVES + sizeof(live_head_t))
#define AFTER_PDP      (AFTER_LIVE + RRDFILE_SOURCES * sizeof(pdp_prep_t))
#define AFTER_CDP      (AFTER_PDP + RRDFILE_SOURCES * ARCHIVES * sizeof(cdp_prep_t))
#define AFTER_HEADER   (AFTER_CDP + ARCHIVES * sizeof(rra_ptr_t))

static void test_a_cut_file_is_rebuilt(void **state)
{
	static const size_t lengths[] = { 0, 1, sizeof(stat_head_t), sizeof(stat_head_t) + sizeof(ds_def_t),
		AFTER_SOURCES, AFTER_ARCHIVES, AFTER_LIVE, AFTER_PDP, AFTER_CDP, AFTER_HEADER - 1,
		AFTER_HEADER, AFTER_HEADER + 8, 1000000 };
	struct sample samples[FEW];
	struct stat status;

	(void)state;
	make_few(samples);
	assert_int_equal(stat(path, &status), 0);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		assert_int_equal(truncate(path, (off_t)lengths[i]), 0);
		check_resync(samples, true, "cut");
	}
	assert_int_equal(truncate(path, status.st_size + 1), 0);
	check_resync(samples, true, "longer");
	check_resync(samples, false, "whole");
}

static void test_a_damaged_header_is_rebuilt(void **state)
{
	static const struct {
		const char *what;
		size_t offset, length;
		int fill; /* -1: flip one bit */
	} row[] = {
		{ "zeroed header", 0, AFTER_HEADER, 0 },
		{ "ones in the header", 0, AFTER_HEADER, 0xff },
		{ "garbage in the header", 8, AFTER_HEADER - 8, 0x5a },
		{ "cookie", 0, 1, -1 },
		{ "number of sources", offsetof(stat_head_t, ds_cnt), sizeof(long), 0xff },
		{ "number of archives", offsetof(stat_head_t, rra_cnt), 1, -1 },
		{ "step", offsetof(stat_head_t, pdp_step), 1, -1 },
		{ "a source's name", sizeof(stat_head_t) + 2, 1, -1 },
		{ "a source's type", sizeof(stat_head_t) + offsetof(ds_def_t, dst), 1, -1 },
		{ "heartbeat", sizeof(stat_head_t) + offsetof(ds_def_t, par), 1, -1 },
		{ "rows", AFTER_SOURCES + offsetof(rra_def_t, row_cnt), sizeof(long), 0xff },
		{ "steps a row", AFTER_SOURCES + offsetof(rra_def_t, pdp_cnt), 1, -1 },
		{ "last update", AFTER_ARCHIVES, 1, -1 },
		{ "last update in negative", AFTER_ARCHIVES, sizeof(time_t), 0xff },
		{ "ring pointer", AFTER_CDP, sizeof(long), 0xff },
		{ "ring pointer one off", AFTER_CDP, 1, -1 },
	};
	struct sample samples[FEW];
	unsigned char bytes[AFTER_HEADER];

	(void)state;
	make_few(samples);
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		int fd = open(path, O_RDONLY | O_CLOEXEC);

		assert_int_equal(
			pread(fd, bytes, row[i].length, (off_t)row[i].offset), (ssize_t)row[i].length);
		(void)close(fd);
		if (row[i].fill < 0)
			bytes[0] ^= 1;
		else
			memset(bytes, row[i].fill, row[i].length);
		write_bytes_at((off_t)row[i].offset, bytes, row[i].length);
		check_resync(samples, true, row[i].what);
	}
}

static unsigned long ring_pointer(long move)
{
	unsigned long pointer, rows;
	int fd = open(path, O_RDWR | O_CLOEXEC);

	assert_int_equal(pread(fd, &pointer, sizeof(pointer), AFTER_CDP), sizeof(pointer));
	assert_int_equal(
		pread(fd, &rows, sizeof(rows), AFTER_SOURCES + offsetof(rra_def_t, row_cnt)), sizeof(rows));
	pointer = (pointer + rows + (unsigned long)move) % rows;
	assert_int_equal(pwrite(fd, &pointer, sizeof(pointer), AFTER_CDP), sizeof(pointer));
	(void)close(fd);
	return pointer;
}

/* What a kill in the middle of an update does: the ring has moved on, the time of the last update has not. */
static void test_shifted_history_is_rebuilt(void **state)
{
	struct sample samples[FEW];

	(void)state;
	make_few(samples);
	(void)ring_pointer(1);
	check_resync(samples, true, "shifted by a step");
	(void)ring_pointer(-1);
	check_resync(samples, true, "shifted back");
}

static void test_one_wrong_row_is_rebuilt(void **state)
{
	struct sample samples[FEW];
	double value = 4711;

	(void)state;
	make_few(samples);
	write_bytes_at((off_t)(AFTER_HEADER + (ring_pointer(0) - 200) * RRDFILE_SOURCES * sizeof(value)),
		&value, sizeof(value));
	check_resync(samples, true, "one value");
	/* A row before the first sample, where none may be. */
	write_bytes_at((off_t)(AFTER_HEADER + (ring_pointer(0) + 500) * RRDFILE_SOURCES * sizeof(value)),
		&value, sizeof(value));
	check_resync(samples, true, "an invented value");
}

static void test_another_layout_is_rebuilt(void **state)
{
	const char *arguments[] = { "DS:write_bytes:GAUGE:20:0:U", "RRA:AVERAGE:0.5:1:1000" };
	struct sample samples[FEW];

	(void)state;
	make_few(samples);
	assert_int_equal(rrd_create_r(path, 10, FIXTURE_START_MS / 1000, 2, arguments), 0);
	check_resync(samples, true, "another layout");
	assert_int_equal(unlink(path), 0);
	check_resync(samples, true, "deleted");
}

static void test_a_view_behind_is_only_continued(void **state)
{
	struct sample samples[FEW];
	struct stat before, after;

	(void)state;
	make_few(samples);
	assert_int_equal(stat(path, &before), 0);
	for (unsigned i = 0; i < FEW; i++) {
		samples[i].t_ms += FEW * 10000;
		samples[i].write_bytes += 7;
	}
	to_journal(samples, FEW);
	check_resync(samples, false, "behind");
	assert_int_equal(stat(path, &after), 0);
	assert_int_equal(after.st_ino, before.st_ino);
}

static void test_a_view_ahead_is_rebuilt(void **state)
{
	struct sample samples[FEW], ahead;
	struct rrdfile *file;

	(void)state;
	make_few(samples);
	file = file_new(10);
	assert_false(sync_file(file, 0));
	ahead = fixture_sample(FIXTURE_START_MS + (FEW + 5) * 10000, 10, 99);
	put(file, &ahead, 1); /* never came to the journal */
	rrdfile_free(file);
	check_resync(samples, true, "ahead");
}

static void test_a_view_not_closed_is_rebuilt(void **state)
{
	struct sample samples[FEW];

	(void)state;
	make_few(samples);
	(void)close(open(marker, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	check_resync(samples, true, "not closed");
	assert_int_equal(access(marker, F_OK), -1);
}

static void test_a_file_changed_behind_our_back_wants_a_sync(void **state)
{
	struct sample samples[FEW], next = fixture_sample(FIXTURE_START_MS + (FEW + 1) * 10000, 10, 5);
	char why[RRDFILE_WHY_MAX] = "";
	struct rrdfile *file;

	(void)state;
	make_few(samples);
	file = file_new(10);
	assert_int_equal(rrdfile_put(file, &next, 1, why), -ESTALE); /* never synced */
	assert_false(sync_file(file, 0));
	put(file, samples, FEW); /* all of them stored already */
	check_against(samples, FEW, 10);
	assert_int_equal(unlink(path), 0);
	to_journal(&next, 1);
	assert_int_equal(rrdfile_put(file, &next, 1, why), -ENOENT);
	assert_non_null(strstr(why, "No such file"));
	assert_true(sync_file(file, 0));
	put(file, &next, 1);
	check_against(samples, FEW, 10);
	assert_int_equal(truncate(path, 5000), 0);
	next.t_ms += 10000;
	assert_int_equal(rrdfile_put(file, &next, 1, why), -EBADMSG); /* and no crash */
	assert_int_equal(rrdfile_put(file, &next, 1, why), -ESTALE);
	next.t_ms += 1;
	assert_true(sync_file(file, 0));
	assert_int_equal(rrdfile_put(file, &next, 1, why), -EINVAL);
	rrdfile_free(file);
}

static void test_a_run_may_outgrow_its_plan(void **state)
{
	static struct sample samples[600];
	char why[RRDFILE_WHY_MAX];
	struct rrdfile *file = file_new(10);
	size_t stored = 0;

	(void)state;
	assert_false(sync_file(file, 60));
	for (unsigned i = 0; i < 600; i++)
		samples[i] = fixture_sample(FIXTURE_START_MS + (i + 1) * 10000, 10, i * 3);
	to_journal(samples, 600);
	while (stored < 600 && rrdfile_put(file, &samples[stored], 1, why) == 0)
		stored++;
	assert_in_range(stored, 300, 500);
	assert_int_equal(rrdfile_put(file, &samples[stored], 1, why), -ESTALE);
	assert_true(sync_file(file, 60));
	check_against(samples, 600, 10);
	rrdfile_free(file);
}

static void test_a_year_ahead_loses_nothing(void **state)
{
	struct sample samples[4];
	char why[RRDFILE_WHY_MAX];
	struct rrdfile *file = file_new(300);

	(void)state;
	for (unsigned i = 0; i < 4; i++)
		samples[i] = fixture_sample(
			FIXTURE_START_MS + (i + 1) * 300000 + (i > 1 ? 366LL * 86400000 : 0), 300, i + 5);
	assert_false(sync_file(file, 86400));
	to_journal(samples, 4);
	put(file, samples, 2);
	assert_int_equal(rrdfile_put(file, samples + 2, 2, why), -EOVERFLOW);
	assert_true(sync_file(file, 86400));
	check_against(samples, 4, 300);
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
	struct rrdfile *file = file_new(10);

	(void)state;
	for (unsigned i = 0; i < 1000; i++)
		samples[i] = fixture_sample(FIXTURE_START_MS + (i + 1) * 10000, 10,
			i == 333   ? 0
			: i == 444 ? 90000
				   : 6000);
	to_journal(samples, 1000);
	(void)sync_file(file, 0);
	rrdfile_free(file);
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct rrdfile_series series;
		char why[RRDFILE_WHY_MAX];
		double low = INFINITY, high = 0;

		assert_int_equal(rrdfile_fetch(path, "write_bytes", row[i].cf, FIXTURE_START_MS / 1000,
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
	struct sample samples[FEW];
	char why[RRDFILE_WHY_MAX] = "";

	(void)state;
	make_few(samples);
	assert_int_equal(rrdfile_fetch(path, "nosuch", "AVERAGE", 0, 1000, 10, &series, why), -ENOENT);
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
		int fd = open(path, O_RDWR | O_CLOEXEC);

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
	struct sample samples[FEW + 2];
	char why[RRDFILE_WHY_MAX] = "";
	struct rrdfile *file;
	bool rebuilt;
	pid_t child;

	(void)state;
	make_few(samples);
	file = file_new(10);
	assert_false(sync_file(file, 0));
	for (unsigned i = FEW; i < FEW + 2; i++)
		samples[i] = fixture_sample(FIXTURE_START_MS + (i + 1) * 10000, 10, i);
	to_journal(samples + FEW, 2);
	child = lock_in_child(60);
	put(file, &samples[FEW], 1);
	assert_int_equal(waitpid(child, NULL, 0), child);
	child = lock_in_child(20000);
	assert_int_equal(rrdfile_put(file, &samples[FEW + 1], 1, why), -EBUSY);
	assert_non_null(strstr(why, "could not lock"));
	assert_int_equal(rrdfile_sync(file, journal, 0, &rebuilt, why), -EBUSY);
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_false(sync_file(file, 0));
	check_against(samples, FEW + 2, 10);
	rrdfile_free(file);
}

static bool mount_small(const char *size)
{
	char name[300], options[32];

	(void)snprintf(name, sizeof(name), "%s/runs", folder);
	(void)snprintf(options, sizeof(options), "size=%s", size);
	return geteuid() == 0 && mount("tmpfs", name, "tmpfs", 0, options) == 0;
}

static void unmount_small(void)
{
	char name[300];

	(void)snprintf(name, sizeof(name), "%s/runs", folder);
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
	to_journal(&sample, 1);
	file = file_new(10);
	assert_int_equal(rrdfile_sync(file, journal, 0, &rebuilt, why), -ENOSPC);
	assert_non_null(strstr(why, "/runs has 41"));
	assert_non_null(strstr(why, " bytes free, the view needs "));
	assert_true(rebuilt);
	(void)snprintf(temporary, sizeof(temporary), "%s.new", path);
	assert_int_equal(access(temporary, F_OK), -1);
	assert_int_equal(access(path, F_OK), -1);
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
	int fd = open(path, O_RDWR | O_CLOEXEC);

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
	(void)snprintf(filler, sizeof(filler), "%s/runs/filler", folder);
	file = file_new(10);
	(void)sync_file(file, 3600);
	to_journal(samples, 2);
	put(file, samples, 1);
	punch_hole();
	fill_disk(filler);
	assert_int_equal(rrdfile_put(file, &samples[1], 1, why), -ENOSPC);
	assert_non_null(strstr(why, "room for its holes"));
	assert_int_equal(unlink(filler), 0);
	(void)sync_file(file, 3600);
	check_against(samples, 2, 10);
	rrdfile_free(file);
	unmount_small();
}

static void update_until_killed(volatile uint64_t *done, const struct sample *samples, size_t count)
{
	char why[RRDFILE_WHY_MAX];
	struct rrdfile *file;
	bool rebuilt;

	if (rrdfile_new(folder, run.id, 1, &file) < 0 || rrdfile_sync(file, journal, 0, &rebuilt, why) < 0)
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
		assert_int_equal(journal_begin(journal), 0);
		for (unsigned i = 0; i < 4000; i++)
			assert_int_equal(journal_put_sample(journal, run.id, &samples[i]), 0);
		assert_int_equal(journal_commit(journal), 0);
		file = file_new(1);
		assert_true(sync_file(file, 0));
		check_against(samples, 4000, 1);
		rrdfile_free(file);
		/* The next round is another run. */
		(void)snprintf(run.id, sizeof(run.id), "round-%u", round);
		(void)snprintf(path, sizeof(path), "%s/runs/%s.rrd", folder, run.id);
		assert_int_equal(journal_put_run(journal, &run), 0);
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

		if (rrdfile_fetch(
			    path, "write_bytes", "AVERAGE", first_s, first_s + 15000, 10, &series, why) != 0)
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
	struct rrdfile *file = file_new(10);
	pthread_t threads[2];

	(void)state;
	(void)sync_file(file, 0);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, fetch_rows, &readers[i]), 0);
	for (unsigned i = 1; i <= 1500; i++) {
		struct sample sample = fixture_sample(FIXTURE_START_MS + i * 10000, 10, i);

		put(file, &sample, 1);
		if (i % 100 == 0) {
			assert_int_equal(rrdfile_lock_graph(path), 0);
			rrdfile_unlock_graph(path);
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
	assert_int_equal(rrdfile_new(folder, "../evil", 10, &file), -EINVAL);
	assert_int_equal(rrdfile_new(folder, "", 10, &file), -EINVAL);
	assert_int_equal(rrdfile_new(folder, "evo", 0, &file), -EINVAL);
	assert_null(file);
	rrdfile_free(NULL);
}

int main(void)
{
#define CASE(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
	static const struct CMUnitTest tests[] = {
		CASE(test_what_is_written_reads_back_exactly),
		CASE(test_a_cut_file_is_rebuilt),
		CASE(test_a_damaged_header_is_rebuilt),
		CASE(test_shifted_history_is_rebuilt),
		CASE(test_one_wrong_row_is_rebuilt),
		CASE(test_another_layout_is_rebuilt),
		CASE(test_a_view_behind_is_only_continued),
		CASE(test_a_view_ahead_is_rebuilt),
		CASE(test_a_view_not_closed_is_rebuilt),
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
