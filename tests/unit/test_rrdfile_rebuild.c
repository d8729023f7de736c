/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which views are rebuilt from the journal, and which are only continued. */
#define RRD_EXPORT_DEPRECATED
#include "unit.h"

#include <fcntl.h>
#include <rrd.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rrdfile_fixture.h"

#define ARCHIVES 7

/* Sync with a new handle; what it then holds is right either way. */
static void check_resync(const struct sample *samples, bool expect_rebuilt, const char *after)
{
	struct rrdfile *file = rrdfile_fixture_new(10);

	if (rrdfile_fixture_sync(file, 0) != expect_rebuilt)
		fail_msg("%s: %s", after, expect_rebuilt ? "not rebuilt" : "rebuilt for nothing");
	rrdfile_fixture_check(samples, FIXTURE_FEW, 10);
	rrdfile_free(file);
}

static void write_bytes_at(off_t offset, const void *bytes, size_t length)
{
	int fd = open(rrdfile_rig.path, O_WRONLY | O_CLOEXEC);

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
	struct sample samples[FIXTURE_FEW];
	struct stat status;

	(void)state;
	rrdfile_fixture_make_few(samples);
	assert_int_equal(stat(rrdfile_rig.path, &status), 0);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		assert_int_equal(truncate(rrdfile_rig.path, (off_t)lengths[i]), 0);
		check_resync(samples, true, "cut");
	}
	assert_int_equal(truncate(rrdfile_rig.path, status.st_size + 1), 0);
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
	struct sample samples[FIXTURE_FEW];
	unsigned char bytes[AFTER_HEADER];

	(void)state;
	rrdfile_fixture_make_few(samples);
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		int fd = open(rrdfile_rig.path, O_RDONLY | O_CLOEXEC);

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
	int fd = open(rrdfile_rig.path, O_RDWR | O_CLOEXEC);

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
	struct sample samples[FIXTURE_FEW];

	(void)state;
	rrdfile_fixture_make_few(samples);
	(void)ring_pointer(1);
	check_resync(samples, true, "shifted by a step");
	(void)ring_pointer(-1);
	check_resync(samples, true, "shifted back");
}

static void test_one_wrong_row_is_rebuilt(void **state)
{
	struct sample samples[FIXTURE_FEW];
	double value = 4711;

	(void)state;
	rrdfile_fixture_make_few(samples);
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
	struct sample samples[FIXTURE_FEW];

	(void)state;
	rrdfile_fixture_make_few(samples);
	assert_int_equal(rrd_create_r(rrdfile_rig.path, 10, FIXTURE_START_MS / 1000, 2, arguments), 0);
	check_resync(samples, true, "another layout");
	assert_int_equal(unlink(rrdfile_rig.path), 0);
	check_resync(samples, true, "deleted");
}

static void test_a_view_behind_is_only_continued(void **state)
{
	struct sample samples[FIXTURE_FEW];
	struct stat before, after;

	(void)state;
	rrdfile_fixture_make_few(samples);
	assert_int_equal(stat(rrdfile_rig.path, &before), 0);
	for (unsigned i = 0; i < FIXTURE_FEW; i++) {
		samples[i].t_ms += FIXTURE_FEW * 10000;
		samples[i].write_bytes += 7;
	}
	rrdfile_fixture_to_journal(samples, FIXTURE_FEW);
	check_resync(samples, false, "behind");
	assert_int_equal(stat(rrdfile_rig.path, &after), 0);
	assert_int_equal(after.st_ino, before.st_ino);
}

static void test_a_view_ahead_is_rebuilt(void **state)
{
	struct sample samples[FIXTURE_FEW], ahead;
	struct rrdfile *file;

	(void)state;
	rrdfile_fixture_make_few(samples);
	file = rrdfile_fixture_new(10);
	assert_false(rrdfile_fixture_sync(file, 0));
	ahead = fixture_sample(FIXTURE_START_MS + (FIXTURE_FEW + 5) * 10000, 10, 99);
	rrdfile_fixture_put(file, &ahead, 1); /* never came to the journal */
	rrdfile_free(file);
	check_resync(samples, true, "ahead");
}

static void test_a_view_not_closed_is_rebuilt(void **state)
{
	struct sample samples[FIXTURE_FEW];

	(void)state;
	rrdfile_fixture_make_few(samples);
	(void)close(open(rrdfile_rig.marker, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	check_resync(samples, true, "not closed");
	assert_int_equal(access(rrdfile_rig.marker, F_OK), -1);
}

int main(void)
{
#define CASE(function)                                                                                       \
	cmocka_unit_test_setup_teardown(function, rrdfile_fixture_set_up, rrdfile_fixture_tear_down)
	static const struct CMUnitTest tests[] = {
		CASE(test_a_cut_file_is_rebuilt),
		CASE(test_a_damaged_header_is_rebuilt),
		CASE(test_shifted_history_is_rebuilt),
		CASE(test_one_wrong_row_is_rebuilt),
		CASE(test_another_layout_is_rebuilt),
		CASE(test_a_view_behind_is_only_continued),
		CASE(test_a_view_ahead_is_rebuilt),
		CASE(test_a_view_not_closed_is_rebuilt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
