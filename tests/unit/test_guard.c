/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a disk is used for, on trees made for the test and on real processes. The many layouts are in
 * tests/integration/layouts.py and fixtures.py; here is what needs exact control. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "target/guard.h"
#include "target/guard_private.h"

static char base[PATH_MAX];

static int tree_setup(void **state)
{
	char name[64];

	(void)state;
	(void)snprintf(name, sizeof(name), "guard-test-%d", (int)getpid());
	return mkdir(name, 0755) || !realpath(name, base);
}

static int tree_teardown(void **state)
{
	char command[PATH_MAX + 16];

	(void)state;
	(void)snprintf(command, sizeof(command), "rm -rf %s", base);
	return system(command);
}

static void tree_path(char *out, const char *path)
{
	(void)snprintf(out, PATH_MAX, "%s/%s", base, path);
	for (char *slash = out + strlen(base) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		(void)mkdir(out, 0755);
		*slash = '/';
	}
}

static void tree_put(const char *path, const char *text)
{
	char full[PATH_MAX];
	FILE *file;

	tree_path(full, path);
	(void)unlink(full);
	file = fopen(full, "w");
	assert_non_null(file);
	(void)fputs(text, file);
	(void)fclose(file);
}

static void tree_link(const char *path, const char *target)
{
	char full[PATH_MAX];

	tree_path(full, path);
	(void)unlink(full);
	assert_int_equal(symlink(target, full), 0);
}

static void tree_remove(const char *path)
{
	char full[PATH_MAX];

	tree_path(full, path);
	(void)unlink(full);
}

/* sdb, a disk with a partition that nobody uses, and a first process with a mount table. */
static void tree_make(void)
{
	tree_put("sys/block/sdb/dev", "8:16\n");
	tree_put("sys/block/sdb/size", "2000000\n");
	tree_put("sys/block/sdb/ro", "0\n");
	tree_put("sys/block/sdb/device/wwid", "naa.5000C500A0B1C2D3\n");
	tree_put("sys/block/sdb/sdb1/dev", "8:17\n");
	tree_put("sys/block/sdb/sdb1/partition", "1\n");
	tree_put("dev/sdb", "");
	tree_put("proc/1/comm", "init\n");
	tree_put("proc/1/mountinfo", "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n");
	tree_link("proc/1/ns/mnt", "mnt:[1]");
	tree_put("proc/9000001/comm", "fio\n");
	tree_put("proc/9000001/stat", "9000001 (a) b) S 1 1\n");
	tree_put("etc/passwd", "root:x:0:0:::\nuser:x:1000:1000:::\n");
}

static void expect_text(const struct guard_report *report, enum guard_severity severity, const char *wanted)
{
	char text[4096];

	guard_report_text(report, severity, text, sizeof(text));
	assert_string_equal(text, wanted);
}

static void test_hard_findings_are_never_lost(void **state)
{
	struct guard_report report = { .count = 0 };
	char text[60];

	(void)state;
	assert_false(guard_report_is_refused(&report));
	for (int i = 0; i < GUARD_FINDINGS_MAX + 2; i++)
		guard_report_add(&report, GUARD_SOFT, "soft %d", i);
	assert_int_equal(report.count, GUARD_FINDINGS_MAX);
	assert_int_equal(report.left_off, 2);
	assert_false(guard_report_is_refused(&report));
	guard_report_add(&report, GUARD_HARD, "in use: \"%s\"", "a\nb\xc3\xa4");
	assert_true(guard_report_is_refused(&report));
	expect_text(&report, GUARD_HARD, "in use: \"a?b??\"; and 3 more");
	for (int i = 0; i < 3 * GUARD_FINDINGS_MAX; i++)
		guard_report_add(&report, GUARD_HARD, "hard %d", i);
	assert_int_equal(report.count, GUARD_FINDINGS_MAX);
	expect_text(&report, GUARD_SOFT, "");
	guard_report_text(&report, GUARD_HARD, text, sizeof(text));
	assert_int_equal(strlen(text), sizeof(text) - 1);
}

static void test_names_are_compared_without_their_spelling(void **state)
{
	char escaped[] = "/my\\040data\\011\\134\\08", folded[] = "  Samsung SSD__870 EVO \n",
	     dirty[] = "a\x7f\x1b[0m";

	(void)state;
	guard_unescape(escaped);
	assert_string_equal(escaped, "/my data\t\\\\08");
	guard_fold(folded);
	assert_string_equal(folded, "samsung_ssd_870_evo");
	guard_clean(dirty);
	assert_string_equal(dirty, "a??[0m");
}

static void test_paths_do_not_leave_the_root(void **state)
{
	char resolved[PATH_MAX];
	struct stat st;

	(void)state;
	tree_make();
	tree_link("dev/away", "/dev/sdb");
	tree_link("dev/up", "../../../../../../../../dev/sdb");
	tree_link("dev/gone", "/dev/null");
	assert_int_equal(guard_resolve(base, "/dev/away", &st, resolved), 0);
	assert_string_equal(resolved, "/dev/sdb");
	assert_int_equal(guard_resolve(base, "/dev/up", &st, resolved), 0);
	assert_string_equal(resolved, "/dev/sdb");
	assert_int_equal(guard_resolve(base, "/dev/gone", &st, resolved), -ENOENT);
	assert_int_equal(guard_resolve("", "/proc/../dev/null", &st, resolved), 0);
	assert_string_equal(resolved, "/dev/null");
	assert_true(S_ISCHR(st.st_mode));
}

static void test_names_that_are_no_disk_are_refused(void **state)
{
	static const char *const names[] = { "", ".", "..", "../block/sdb", "sdz", "sdb/sdb1" };

	(void)state;
	tree_make();
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct guard_report report = { .count = 0 };

		guard_check_use(base, names[i], NULL, &report);
		assert_int_equal(report.count, 1);
		assert_non_null(strstr(report.findings[0].text, "is no disk that /sys/block knows"));
	}
}

/* What was found on the disk, and a line that means it. */
static void test_tables_know_the_disk_by_its_uuids(void **state)
{
	static const char *const uuids[] = { "6f3f1c2a-1b7d-4c5e-9a10-0123456789ab", "1234-ABCD",
		"host:array", "my photos", "0a1b2c3d-01", "tank", NULL };
	static const struct {
		const char *file, *line;
		bool is_hit;
	} rows[] = {
		{ "etc/fstab", "UUID=6F3F1C2A-1B7D-4C5E-9A10-0123456789AB /a ext4 ro 0 0\n", true },
		{ "etc/fstab", "UUID=6f3f1c2a-1b7d-4c5e-9a10-0123456789ac /a ext4 ro 0 0\n", false },
		{ "etc/fstab", "UUID=1234-abcd /a vfat ro 0 0\n", true },
		{ "etc/fstab", "LABEL=\"my\\040photos\" /a ext4 ro 0 0\n", true },
		{ "etc/fstab", "LABEL=my /a ext4 ro 0 0\n", false },
		{ "etc/fstab", "PARTUUID=0a1b2c3d-01 /a ext4 ro 0 0\n", true },
		{ "etc/fstab", "PARTUUID=0a1b2c3d-02 /a ext4 ro 0 0\n", false },
		{ "etc/fstab", "/dev/disk/by-label/my\\x20photos /a ext4 ro 0 0\n", true },
		{ "etc/fstab", "/dev/disk/by-uuid/6f3f1c2a-1b7d-4c5e-9a10-0123456789ab /a ext4 ro 0 0\n",
			true },
		{ "etc/fstab", "/dev/disk/by-id/wwn-0x5000c500a0b1c2d3 /a ext4 ro 0 0\n", true },
		{ "etc/fstab", "/dev/disk/by-id/wwn-0x5000c500a0b1c2d4 /a ext4 ro 0 0\n", false },
		{ "etc/fstab", "ID=wwn-0x5000c500a0b1c2d3 /a ext4 ro 0 0\n", true },
		{ "etc/fstab", "#UUID=1234-ABCD /a vfat ro 0 0\n\n", false },
		{ "etc/crypttab", "a PARTUUID=0a1b2c3d-01 none luks\n", true },
		{ "etc/crypttab", "a\tLABEL=my\\040photos\tnone\n", true },
		{ "etc/crypttab", "/dev/sdb UUID=99 none\n", false },
		{ "etc/mdadm/mdadm.conf",
			"ARRAY /dev/md/0 metadata=1.2 UUID=6f3f1c2a:1b7d4c5e:9a100123:456789ab\n", true },
		{ "etc/mdadm/mdadm.conf", "array /dev/md0\n\tuuid=6f3f1c2a:1b7d4c5e:9a100123:456789ab\n",
			true },
		{ "etc/mdadm/mdadm.conf", "ARRAY /dev/md/0 name=host:array # ours\n", true },
		{ "etc/mdadm/mdadm.conf", "ARRAY /dev/md/0 UUID=6f3f1c2a:1b7d4c5e:9a100123:456789ac\n",
			false },
		{ "etc/mdadm/mdadm.conf", "#ARRAY /dev/md/0 name=host:array\nMAILADDR root\n", false },
		{ "etc/mdadm/mdadm.conf", "DEVICE partitions\n", false },
		{ "proc/spl/kstat/zfs/tank/state", "ONLINE\n", true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct guard_report report = { .count = 0 };

		tree_make();
		tree_put(rows[i].file, rows[i].line);
		guard_check_tables(base, "sdb", uuids, &report);
		if (guard_report_is_refused(&report) != rows[i].is_hit)
			fail_msg("%s: %s", rows[i].file, rows[i].line);
		tree_remove(rows[i].file);
	}
	(void)rmdir("proc/spl/kstat/zfs/tank");
}

static void test_tables_that_can_not_be_read_refuse(void **state)
{
	struct guard_report report = { .count = 0 };

	(void)state;
	tree_make();
	tree_put("etc/crypttab/is-a-folder", "");
	guard_check_tables(base, "sdb", NULL, &report);
	expect_text(&report, GUARD_HARD, "/etc/crypttab can't be read to its end");
	tree_remove("etc/crypttab/is-a-folder");
	{
		char folder[PATH_MAX];

		tree_path(folder, "etc/crypttab");
		assert_int_equal(rmdir(folder), 0);
	}
}

static uint64_t now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void test_nobody_at_the_first_look_needs_no_second(void **state)
{
	struct guard_report report = { .count = 0 };
	uint64_t start = now_ns();

	(void)state;
	tree_make();
	guard_check_openers(base, "sdb", 3, 10000000000ULL, &report);
	assert_int_equal(report.count, 0);
	assert_true(now_ns() - start < 5000000000ULL);
}

/* The first look reads the name of an opener it has found: a pipe in its place tells when that is. Then the descriptor
 * is closed (@to NULL) or becomes another one. */
static void change_after_first_look(const char *name, const char *from, const char *to)
{
	char pipe[PATH_MAX], old_path[PATH_MAX], new_path[PATH_MAX];
	FILE *file;

	tree_path(old_path, from);
	tree_path(new_path, to ? to : from);
	tree_path(pipe, "proc/9000001/comm");
	(void)unlink(pipe);
	assert_int_equal(mkfifo(pipe, 0600), 0);
	if (fork() != 0)
		return;
	file = fopen(pipe, "w");
	if (!file || (to ? rename(old_path, new_path) : unlink(old_path)) < 0)
		_exit(1);
	tree_put("proc/9000001/comm", name);
	(void)fputs(name, file);
	(void)fclose(file);
	_exit(0);
}

static void test_an_opener_counts_when_it_stays(void **state)
{
	static const struct {
		const char *name, *later;
		bool is_refused;
	} rows[] = {
		{ "fio\n", NULL, false },
		{ "fio\n", "proc/9000001/fd/8", true }, /* closed and opened again */
		{ "fio\n", "proc/9000001/fd/7", true },
		{ "systemd-udevd\n", "proc/9000001/fd/8", false }, /* after each writer it looks again */
		{ "(udev-worker)\n", "proc/9000001/fd/8", false },
		{ "(udev-worker)\n", "proc/9000001/fd/7", true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct guard_report report = { .count = 0 };

		tree_make();
		tree_link("proc/9000001/fd/7", "/dev/sdb");
		change_after_first_look(rows[i].name, "proc/9000001/fd/7", rows[i].later);
		guard_check_openers(base, "sdb", 2, 1000000, &report);
		(void)wait(NULL);
		if (guard_report_is_refused(&report) != rows[i].is_refused)
			fail_msg("row %zu: %s", i, report.findings[0].text);
		tree_remove("proc/9000001/fd/7");
		tree_remove("proc/9000001/fd/8");
	}
}

static void test_an_opener_is_named_once_for_each_way_in(void **state)
{
	struct guard_report report = { .count = 0 };

	(void)state;
	tree_make();
	tree_link("proc/9000001/fd/7", "/dev/sdb");
	tree_link("proc/9000001/fd/9", "/dev/sdb");
	tree_link("proc/9000001/fd/11", "/dev/null");
	guard_check_openers(base, "sdb", 2, 1000000, &report);
	assert_int_equal(report.count, 1);
	assert_non_null(strstr(report.findings[0].text, "sdb is open in PID 9000001 (fio) of user "));
	tree_remove("proc/9000001/fd/7");
	tree_remove("proc/9000001/fd/9");
}

static void test_own_descendants_do_not_count(void **state)
{
	struct guard_report report = { .count = 0 };
	char line[64];

	(void)state;
	tree_make();
	(void)snprintf(line, sizeof(line), "9000001 (a) b) S 9000002 1\n");
	tree_put("proc/9000001/stat", line);
	(void)snprintf(line, sizeof(line), "9000002 (our child) S %d 1\n", (int)getpid());
	tree_put("proc/9000002/stat", line);
	tree_link("proc/9000001/fd/7", "/dev/sdb");
	tree_link("proc/9000002/fd/7", "/dev/sdb");
	guard_check_openers(base, "sdb", 1, 0, &report);
	assert_int_equal(report.count, 0);
	tree_put("proc/9000002/stat", "9000002 (an orphan) S 1 1\n");
	guard_check_openers(base, "sdb", 1, 0, &report);
	assert_int_equal(report.count, 2);
	tree_remove("proc/9000001/fd/7");
	tree_remove("proc/9000002/fd/7");
}

/* The real /proc, as a user who may not look into the processes of others. */
static void test_without_root_nothing_is_cleared(void **state)
{
	int status;

	(void)state;
	if (geteuid() != 0)
		skip();
	if (fork() == 0) {
		struct guard_report report = { .count = 0 };
		char text[1024];

		if (setgid(65534) < 0 || setuid(65534) < 0)
			_exit(2);
		guard_check_openers("", "loop0", 1, 0, &report);
		guard_report_text(&report, GUARD_HARD, text, sizeof(text));
		_exit(strstr(text, "processes can't be looked into: run as root (with CAP_SYS_PTRACE)") ? 0
													: 1);
	}
	assert_true(wait(&status) > 0);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hard_findings_are_never_lost),
		cmocka_unit_test(test_names_are_compared_without_their_spelling),
		cmocka_unit_test(test_paths_do_not_leave_the_root),
		cmocka_unit_test(test_names_that_are_no_disk_are_refused),
		cmocka_unit_test(test_tables_know_the_disk_by_its_uuids),
		cmocka_unit_test(test_tables_that_can_not_be_read_refuse),
		cmocka_unit_test(test_nobody_at_the_first_look_needs_no_second),
		cmocka_unit_test(test_an_opener_counts_when_it_stays),
		cmocka_unit_test(test_an_opener_is_named_once_for_each_way_in),
		cmocka_unit_test(test_own_descendants_do_not_count),
		cmocka_unit_test(test_without_root_nothing_is_cleared),
	};

	return cmocka_run_group_tests(tests, tree_setup, tree_teardown);
}
