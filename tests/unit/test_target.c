/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Directory targets in a folder of the build, and sysfs from a tree made for the test. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "target/blockdev.h"
#include "target/hostinfo.h"
#include "target/target.h"

#define MIB (1ULL << 20)

static char base[PATH_MAX];

static int folder_setup(void **state)
{
	char name[64];

	(void)state;
	(void)snprintf(name, sizeof(name), "target-test-%d", (int)getpid());
	return mkdir(name, 0755) || !realpath(name, base);
}

static int folder_teardown(void **state)
{
	char command[PATH_MAX + 16];

	(void)state;
	(void)snprintf(command, sizeof(command), "rm -rf %s", base);
	return system(command);
}

static char *drive_folder(const char *name)
{
	static char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/%s", base, name);
	(void)mkdir(path, 0755);
	return path;
}

static struct config_drive drive_make(const char *name)
{
	static char none[] = "", title[] = "cand";

	return (struct config_drive){
		.name = title,
		.label = none,
		.directory = drive_folder(name),
		.device = none,
		.size_bytes = 10 * MIB,
		.files = 4,
		.block_bytes = 16384,
		.threads = 2,
		.queue_depth = 8,
	};
}

static int open_as(const struct config_drive *drive, const char *run_id, uint64_t goal_bytes,
	struct target **out, char *why)
{
	const struct target_request request = {
		.drive = drive, .state_directory = base, .run_id = run_id, .goal_bytes = goal_bytes
	};

	return target_open(&request, out, why);
}

static int check_of(
	const struct config_drive *drive, struct target_facts *facts, struct target_plan *plan, char *why)
{
	const struct target_request request = { .drive = drive, .state_directory = base };

	return target_check(&request, facts, plan, why);
}

static int purge_of(const struct config_drive *drive, char *why)
{
	const struct target_request request = { .drive = drive, .state_directory = base };

	return target_purge(&request, why);
}

static void file_write(const char *folder, const char *name, const char *text)
{
	char path[600];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	assert_non_null(file);
	(void)fputs(text, file);
	(void)fclose(file);
}

static void file_expect(const char *folder, const char *name, const char *text)
{
	char path[600], got[256] = "";
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "r");
	assert_non_null(file);
	(void)!fread(got, 1, sizeof(got) - 1, file);
	(void)fclose(file);
	assert_string_equal(got, text);
}

static bool is_there(const char *folder, const char *name)
{
	char path[600];

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	return access(path, F_OK) == 0;
}

static void test_a_new_target_is_made_and_purged_and_foreign_files_stay(void **state)
{
	const struct config_drive drive = drive_make("new");
	char why[TARGET_WHY_MAX] = "";
	struct target *target = NULL;
	struct stat st;

	(void)state;
	file_write(drive.directory, "precious.txt", "mine\n");
	file_write(drive.directory, "drivesoak-1.dat", "not our name: one digit\n");
	assert_int_equal(open_as(&drive, "cand-1", 0, &target, why), 0);
	assert_int_equal(target_get_plan(target)->goal_bytes, 10 * MIB);
	assert_int_equal(target_get_plan(target)->files, 4);
	assert_int_equal(target_get_plan(target)->file_bytes, 10 * MIB / 4);
	file_expect(drive.directory, ".drivesoak",
		"drivesoak target: the files drivesoak-*.dat beside this belong to "
		"drivesoak\ndrive=cand\nrun=cand-1\n");
	target_reserve_file(target, 1);
	assert_int_equal(fstat(target_get_fds(target)[1], &st), 0);
	assert_int_equal(st.st_size, 10 * MIB / 4);
	assert_true(strncmp(target_get_facts(target)->direct, "statx", 5) == 0 ||
		    strncmp(target_get_facts(target)->direct, "filesystem", 10) == 0);
	target_close(target);
	assert_true(is_there(drive.directory, "drivesoak-03.dat"));
	assert_int_equal(purge_of(&drive, why), 0);
	assert_false(is_there(drive.directory, "drivesoak-03.dat"));
	assert_false(is_there(drive.directory, ".drivesoak"));
	file_expect(drive.directory, "precious.txt", "mine\n");
	file_expect(drive.directory, "drivesoak-1.dat", "not our name: one digit\n");
}

static void test_a_run_is_found_again_and_no_other(void **state)
{
	const struct config_drive drive = drive_make("again");
	char why[TARGET_WHY_MAX] = "";
	struct target *target = NULL;

	(void)state;
	assert_int_equal(open_as(&drive, "cand-1", 0, &target, why), 0);
	assert_int_equal(target_finish_fill(target, 7 * MIB, why), 0);
	target_close(target);
	target = NULL;
	assert_int_equal(open_as(&drive, "cand-2", 10 * MIB, &target, why), -ESTALE);
	assert_non_null(strstr(why, "does not carry this run"));
	assert_null(target);
	assert_int_equal(open_as(&drive, "cand-1", 10 * MIB, &target, why), 0);
	assert_int_equal(target_get_plan(target)->file_bytes, 10 * MIB / 4);
	target_close(target);
}

/* The power went between making the marker and writing it. */
static void test_an_empty_marker_is_as_good_as_none(void **state)
{
	const struct config_drive drive = drive_make("empty");
	char why[TARGET_WHY_MAX] = "";
	struct target *target = NULL;

	(void)state;
	file_write(drive.directory, ".drivesoak", "");
	assert_int_equal(open_as(&drive, "cand-1", 10 * MIB, &target, why), -ESTALE);
	assert_non_null(strstr(why, "is missing: the filesystem is not mounted"));
	assert_int_equal(open_as(&drive, "cand-1", 0, &target, why), 0);
	target_close(target);
	file_write(drive.directory, ".drivesoak", "");
	assert_int_equal(open_as(&drive, "cand-2", 0, &target, why), -EEXIST);
	assert_non_null(strstr(why, "without the marker"));
	assert_true(is_there(drive.directory, "drivesoak-00.dat"));
}

static void test_a_target_that_is_taken_away_is_seen(void **state)
{
	const struct config_drive drive = drive_make("taken");
	char why[TARGET_WHY_MAX] = "", moved[PATH_MAX], name[PATH_MAX];
	struct target *target = NULL;

	(void)state;
	(void)snprintf(moved, sizeof(moved), "%s-moved", drive.directory);
	assert_int_equal(open_as(&drive, "cand-1", 0, &target, why), 0);
	assert_int_equal(target_look(target, why), 0);
	assert_int_equal(rename(drive.directory, moved), 0);
	assert_int_equal(target_look(target, why), -ESTALE);
	assert_non_null(strstr(why, "removed, moved or unmounted"));
	assert_int_equal(mkdir(drive.directory, 0755), 0);
	assert_int_equal(target_look(target, why), -ESTALE);
	assert_int_equal(rmdir(drive.directory), 0);
	assert_int_equal(rename(moved, drive.directory), 0);
	assert_int_equal(target_look(target, why), 0);
	(void)snprintf(name, sizeof(name), "%s/drivesoak-02.dat", drive.directory);
	assert_int_equal(unlink(name), 0);
	assert_int_equal(target_look(target, why), -ESTALE);
	assert_non_null(strstr(why, "drivesoak-02.dat: was removed"));
	target_close(target);
}

static void test_the_fill_is_cut_where_it_ended(void **state)
{
	const struct config_drive drive = drive_make("cut");
	const uint64_t file_bytes = 10 * MIB / 4;
	char why[TARGET_WHY_MAX] = "";
	struct target *target = NULL;
	struct stat st;

	(void)state;
	assert_int_equal(open_as(&drive, "cand-1", 0, &target, why), 0);
	for (unsigned i = 0; i < 4; i++)
		target_reserve_file(target, i);
	assert_int_equal(target_finish_fill(target, file_bytes + 81920, why), 0);
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(fstat(target_get_fds(target)[i], &st), 0);
		assert_int_equal(st.st_size, i == 0 ? file_bytes : i == 1 ? 81920 : 0);
	}
	target_close(target);
}

static void test_a_second_service_on_the_directory_is_refused(void **state)
{
	const struct config_drive drive = drive_make("locked");
	char why[TARGET_WHY_MAX] = "";
	struct target *first = NULL, *second = NULL;

	(void)state;
	assert_int_equal(open_as(&drive, "cand-1", 0, &first, why), 0);
	assert_int_equal(open_as(&drive, "cand-2", 0, &second, why), -EBUSY);
	assert_non_null(strstr(why, "another drivesoakd"));
	assert_null(second);
	target_close(first);
}

static void expect_refused(const struct config_drive *drive, int rc, const char *reason)
{
	static struct target_facts facts;
	struct target *target = NULL;
	struct target_plan plan;
	char why[TARGET_WHY_MAX] = "";

	assert_int_equal(check_of(drive, &facts, &plan, why), rc);
	if (!strstr(why, reason))
		print_message("%s\n", why);
	assert_non_null(strstr(why, reason));
	assert_int_equal(open_as(drive, "cand-1", 0, &target, why), rc);
	assert_null(target);
}

static void test_what_is_not_ours_is_refused_and_stays(void **state)
{
	struct config_drive drive = drive_make("names");
	char path[300];

	(void)state;
	file_write(drive.directory, "drivesoak-00.dat", "whose?\n");
	expect_refused(&drive, -EEXIST, "without the marker");
	file_expect(drive.directory, "drivesoak-00.dat", "whose?\n");

	drive = drive_make("marker");
	file_write(drive.directory, ".drivesoak", "something else\n");
	expect_refused(&drive, -EEXIST, "was not written by drivesoak");
	file_expect(drive.directory, ".drivesoak", "something else\n");

	drive = drive_make("other");
	file_write(drive.directory, ".drivesoak",
		"drivesoak target: the files drivesoak-*.dat beside this belong to "
		"drivesoak\ndrive=evo\nrun=evo-1\n");
	file_write(drive.directory, "drivesoak-00.dat", "evo's\n");
	expect_refused(&drive, -EEXIST, "belongs to the drive \"evo\"");
	file_expect(drive.directory, "drivesoak-00.dat", "evo's\n");

	drive = drive_make("links");
	file_write(base, "victim", "not to be written\n");
	(void)snprintf(path, sizeof(path), "%s/drivesoak-00.dat", drive.directory);
	assert_int_equal(symlink("../victim", path), 0);
	expect_refused(&drive, -EEXIST, "is no plain file of drivesoak");
	file_expect(base, "victim", "not to be written\n");

	drive = drive_make("hardlinks");
	(void)snprintf(path, sizeof(path), "%s/victim", base);
	assert_int_equal(linkat(AT_FDCWD, path, AT_FDCWD, drive.directory, 0) == 0, 0);
	(void)snprintf(path, sizeof(path), "%s/drivesoak-00.dat", drive.directory);
	{
		char victim[300];

		(void)snprintf(victim, sizeof(victim), "%s/victim", base);
		assert_int_equal(link(victim, path), 0);
	}
	expect_refused(&drive, -EEXIST, "is no plain file of drivesoak");
	file_expect(base, "victim", "not to be written\n");
}

static void test_places_that_are_no_candidate_are_refused(void **state)
{
	struct config_drive drive = drive_make("places");
	char missing[300], plain[300], shm[64];

	(void)state;
	(void)snprintf(missing, sizeof(missing), "%s/missing", base);
	drive.directory = missing;
	expect_refused(&drive, -ENOENT, "make it on the filesystem of the candidate drive");
	file_write(base, "plain", "");
	(void)snprintf(plain, sizeof(plain), "%s/plain", base);
	drive.directory = plain;
	expect_refused(&drive, -ENOTDIR, "is not a directory");
	(void)snprintf(shm, sizeof(shm), "/dev/shm/target-test-%d", (int)getpid());
	if (mkdir(shm, 0700) == 0) {
		drive.directory = shm;
		expect_refused(&drive, -EINVAL, "lies in memory");
		(void)rmdir(shm);
	}
}

static void test_the_root_filesystem_takes_only_a_small_size(void **state)
{
	struct config_drive drive = drive_make("root");
	struct stat here, root;

	(void)state;
	if (stat("/", &root) || stat(drive.directory, &here) || root.st_dev != here.st_dev)
		skip();
	drive.size_bytes = TARGET_SHARED_BYTES_MAX + MIB;
	expect_refused(&drive, -EPERM, "root filesystem");
	drive.size_bytes = 0;
	drive.fill_pct = 1;
	expect_refused(&drive, -EPERM, "root filesystem");
}

/* A tree as sysfs has it: files with text, links between folders. */
static void tree_file(const char *root, const char *path, const char *text)
{
	char full[600], *slash;

	(void)snprintf(full, sizeof(full), "%s/%s", root, path);
	for (slash = strchr(full + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(full, 0755);
		*slash = '/';
	}
	file_write(root, path, text);
}

static void tree_link(const char *root, const char *path, const char *to)
{
	char full[600], target[600];

	tree_file(root, path, "");
	(void)snprintf(full, sizeof(full), "%s/%s", root, path);
	(void)unlink(full);
	(void)snprintf(target, sizeof(target), "%s/%s", root, to);
	assert_int_equal(symlink(target, full), 0);
}

static void tree_disk(
	const char *root, const char *folder, const char *name, unsigned minor_number, const char *partition)
{
	char path[300], to[300];

	(void)snprintf(to, sizeof(to), "%s/block/%s", folder, name);
	(void)snprintf(path, sizeof(path), "%s/size", to);
	tree_file(root, path, "1953525168\n");
	(void)snprintf(path, sizeof(path), "sys/block/%s", name);
	tree_link(root, path, to);
	(void)snprintf(path, sizeof(path), "sys/class/block/%s", name);
	tree_link(root, path, to);
	(void)snprintf(path, sizeof(path), "sys/dev/block/8:%u", minor_number);
	tree_link(root, path, to);
	(void)snprintf(path, sizeof(path), "%s/device", to);
	tree_link(root, path, folder);
	if (!partition)
		return;
	(void)snprintf(path, sizeof(path), "%s/%s/partition", to, partition);
	tree_file(root, path, "1\n");
	(void)snprintf(to, sizeof(to), "%s/block/%s/%s", folder, name, partition);
	(void)snprintf(path, sizeof(path), "sys/class/block/%s", partition);
	tree_link(root, path, to);
	(void)snprintf(path, sizeof(path), "sys/dev/block/8:%u", minor_number + 1);
	tree_link(root, path, to);
}

static void test_disks_are_found_below_partitions_and_arrays(void **state)
{
	static const char *const pci = "sys/devices/pci0000:00/0000:00:1f.2";
	static struct blockdev disks[4];
	char root[200], ata[200], path[300];
	struct blockdev_counters counters;

	(void)state;
	(void)snprintf(root, sizeof(root), "%s/tree", base);
	(void)mkdir(root, 0755);
	(void)snprintf(ata, sizeof(ata), "%s/ata1/host0/target0:0:0/0:0:0:0", pci);
	tree_disk(root, ata, "sda", 0, "sda1");
	tree_file(root, "sys/block/sda/device/model", "Samsung SSD 840 \n");
	tree_file(root, "sys/block/sda/device/rev", "EXT0BB6Q\n");
	tree_file(root, "sys/block/sda/queue/scheduler", "none [mq-deadline] kyber\n");
	tree_file(root, "sys/block/sda/queue/nr_requests", "64\n");
	tree_file(root, "sys/block/sda/queue/write_cache", "write back\n");
	tree_file(root, "sys/block/sda/stat",
		"      11       12       13       14       21       22       23       24 0 1 2\n");
	(void)snprintf(path, sizeof(path), "%s/vendor", pci);
	tree_file(root, path, "0x8086\n");
	(void)snprintf(path, sizeof(path), "%s/device", pci);
	tree_file(root, path, "0x2922\n");
	(void)snprintf(ata, sizeof(ata), "%s/ata2/host1/target1:0:0/1:0:0:0", pci);
	tree_disk(root, ata, "sdb", 16, NULL);
	/* md0 of sda1 and sdb. */
	tree_disk(root, "sys/devices/virtual", "md0", 32, NULL);
	tree_link(root, "sys/block/md0/slaves/sda1", "sys/class/block/sda1");
	tree_link(root, "sys/block/md0/slaves/sdb", "sys/class/block/sdb");

	assert_int_equal(blockdev_disks_below(root, makedev(8, 1), disks, 4), 1);
	assert_string_equal(disks[0].name, "sda");
	assert_string_equal(disks[0].model, "Samsung SSD 840");
	assert_string_equal(disks[0].firmware, "EXT0BB6Q");
	assert_string_equal(disks[0].scheduler, "mq-deadline");
	assert_string_equal(disks[0].write_cache, "write back");
	assert_string_equal(disks[0].transport, "sata");
	assert_string_equal(disks[0].controller, "0000:00:1f.2 8086:2922 no driver");
	assert_string_equal(disks[0].serial, "");
	assert_int_equal(disks[0].capacity_bytes, 1953525168ULL * 512);
	assert_int_equal(disks[0].nr_requests, 64);
	assert_int_equal(blockdev_disks_below(root, makedev(8, 32), disks, 4), 2);
	assert_true(strcmp(disks[0].name, disks[1].name) != 0);
	assert_int_equal(disks[1].nr_requests, strcmp(disks[1].name, "sda") == 0 ? 64 : -1);
	assert_int_equal(blockdev_disks_below(root, makedev(9, 9), disks, 4), -ENODEV);

	assert_int_equal(blockdev_read_counters(root, "sda", &counters), 0);
	assert_int_equal(counters.read_ios, 11);
	assert_int_equal(counters.read_bytes, 13 * 512);
	assert_int_equal(counters.read_ms, 14);
	assert_int_equal(counters.write_ios, 21);
	assert_int_equal(counters.write_bytes, 23 * 512);
	assert_int_equal(counters.write_ms, 24);
	assert_int_equal(blockdev_read_counters(root, "sdz", &counters), -ENODEV);
}

static void test_the_host_record_has_what_is_there_and_null_for_the_rest(void **state)
{
	static struct target_facts facts;
	struct text text = TEXT_INIT;
	char root[200];

	(void)state;
	(void)snprintf(root, sizeof(root), "%s/host", base);
	(void)mkdir(root, 0755);
	tree_file(root, "proc/cpuinfo", "processor\t: 0\nmodel name\t: Example CPU \"X\" 3.0\n");
	tree_file(root, "proc/meminfo", "MemTotal:       16384000 kB\nMemFree: 1 kB\n");
	tree_file(root, "etc/os-release", "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12\"\n");
	(void)snprintf(facts.filesystem, sizeof(facts.filesystem), "xfs");
	hostinfo_json(root, &facts, &text);
	assert_non_null(strstr(text_string(&text), "\"cpu\":\"Example CPU \""));
	assert_non_null(strstr(text_string(&text), "\"memory_bytes\":16777216000,"));
	assert_non_null(strstr(text_string(&text), "\"os\":\"Debian GNU/Linux 12\""));
	assert_non_null(strstr(text_string(&text), "\"board\":null"));
	assert_non_null(strstr(text_string(&text), "\"filesystem\":\"xfs\""));
	assert_non_null(strstr(text_string(&text), "\"link\":null"));
	text_fini(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_new_target_is_made_and_purged_and_foreign_files_stay),
		cmocka_unit_test(test_a_run_is_found_again_and_no_other),
		cmocka_unit_test(test_an_empty_marker_is_as_good_as_none),
		cmocka_unit_test(test_a_target_that_is_taken_away_is_seen),
		cmocka_unit_test(test_the_fill_is_cut_where_it_ended),
		cmocka_unit_test(test_a_second_service_on_the_directory_is_refused),
		cmocka_unit_test(test_what_is_not_ours_is_refused_and_stays),
		cmocka_unit_test(test_places_that_are_no_candidate_are_refused),
		cmocka_unit_test(test_the_root_filesystem_takes_only_a_small_size),
		cmocka_unit_test(test_disks_are_found_below_partitions_and_arrays),
		cmocka_unit_test(test_the_host_record_has_what_is_there_and_null_for_the_rest),
	};

	return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
