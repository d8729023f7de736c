/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is read from made-up trees of /proc and /sys, and what is said where a file is missing. */
#include "unit.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive_fixture.h"
#include "measure/hostload.h"

#define S 1000000000ULL

static char *root;
static struct hostload *load;
static struct hostload_interval got;

static void put(const char *name, const char *text)
{
	char path[512];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s%s", root, name);
	for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		assert_true(mkdir(path, 0777) == 0 || errno == EEXIST);
		*slash = '/';
	}
	file = fopen(path, "w");
	assert_non_null(file);
	(void)fputs(text, file);
	(void)fclose(file);
}

static void cut(const char *name)
{
	char path[512];

	(void)snprintf(path, sizeof(path), "%s%s", root, name);
	assert_int_equal(unlink(path), 0);
}

static int set_up(void **state)
{
	(void)state;
	root = fixture_folder_new();
	return hostload_new(root, &load);
}

static int tear_down(void **state)
{
	(void)state;
	hostload_free(load);
	hostload_free(NULL);
	fixture_folder_remove(root);
	return 0;
}

static void take(unsigned count, uint64_t elapsed_ns)
{
	static const pid_t ids[] = { 71, 72, 73 };

	memset(&got, 0xa5, sizeof(got));
	hostload_take(load, ids, count, elapsed_ns, &got);
}

static void test_nothing_there_is_nothing_known(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		take(2, S);
		assert_true(isnan(got.run_delay_share) && isnan(got.wait_mean_ns) && isnan(got.steal_share));
		assert_true(isnan(got.device_lat_mean_ns));
		assert_true(got.throttled_ns == HOSTLOAD_UNKNOWN && got.device_ios == HOSTLOAD_UNKNOWN);
	}
}

static void test_the_delay_is_of_all_threads_and_of_this_interval(void **state)
{
	(void)state;
	put("/proc/self/task/71/schedstat", "5000 1000000 10\n");
	put("/proc/self/task/72/schedstat", "5000 2000000 20\n");
	take(2, 0);
	assert_true(isnan(got.run_delay_share)); /* that was before */
	put("/proc/self/task/71/schedstat", "5000 101000000 110\n");
	put("/proc/self/task/72/schedstat", "5000 302000000 320\n");
	take(2, S);
	assert_true(got.run_delay_share == 0.2);  /* 0.1 s and 0.3 s of two threads' second */
	assert_true(got.wait_mean_ns == 1000000); /* 0.4 s in 400 waits */
	take(2, S);
	assert_true(got.run_delay_share == 0 && isnan(got.wait_mean_ns));
	/* One ends, one begins; a number that is used again counts from 0. */
	put("/proc/self/task/71/schedstat", "5000 50000000 5\n");
	put("/proc/self/task/73/schedstat", "5000 150000000 15\n");
	cut("/proc/self/task/72/schedstat");
	take(3, S);
	assert_true(got.run_delay_share == 0.1 && got.wait_mean_ns == 10000000);
	take(0, S);
	assert_true(isnan(got.run_delay_share) && isnan(got.wait_mean_ns));
}

static void test_a_kernel_that_does_not_account_is_not_one_without_delay(void **state)
{
	(void)state;
	put("/proc/self/task/71/schedstat", "0 0 0\n");
	put("/proc/self/task/72/schedstat", "garbage\n");
	take(2, S);
	take(2, S);
	assert_true(isnan(got.run_delay_share));
}

static void test_steal_is_a_share_of_all_cpu_time(void **state)
{
	(void)state;
	put("/proc/stat", "cpu  100 10 60 500 20 1 3 6 50 5\ncpu0 1 1 1 1 1 1 1 1 1 1\n");
	take(0, 0);
	assert_true(isnan(got.steal_share));
	/* 200 ticks more, 5 of them stolen; guest time is in user already. */
	put("/proc/stat", "cpu  150 10 80 600 40 1 8 11 99 9\n");
	take(0, S);
	assert_true(got.steal_share == 0.025);
	put("/proc/stat", "cpu  150 10 80 600\n"); /* an old kernel knows no steal */
	take(0, S);
	assert_true(isnan(got.steal_share));
	put("/proc/stat", "cpu  150 10 80 600 40 1 8 11 99 9\n");
	take(0, S);
	assert_true(isnan(got.steal_share)); /* nothing to count from */
	take(0, S);
	assert_true(isnan(got.steal_share)); /* no time */
}

#define V1_MOUNT                                                                                             \
	"31 25 0:27 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
#define V2_MOUNT "25 20 0:22 / /sys/fs/cgroup/unified rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
#define OTHER	 "24 20 0:21 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"

static void test_a_quota_of_version_1(void **state)
{
	(void)state;
	put("/proc/self/mountinfo", OTHER V1_MOUNT);
	put("/proc/self/cgroup", "9:cpuset:/wrong\n4:cpu,cpuacct:/a/b\n0::/x\n");
	put("/sys/fs/cgroup/cpu,cpuacct/a/b/cpu.stat",
		"nr_periods 10\nnr_throttled 3\nthrottled_time 1000\n");
	put("/sys/fs/cgroup/cpuset/wrong/cpu.stat", "throttled_time 1\n");
	take(0, 0);
	assert_true(got.throttled_ns == HOSTLOAD_UNKNOWN);
	put("/sys/fs/cgroup/cpu,cpuacct/a/b/cpu.stat",
		"nr_periods 10\nnr_throttled 3\nthrottled_time 5000\n");
	put("/sys/fs/cgroup/cpuset/wrong/cpu.stat", "throttled_time 9999999\n");
	take(0, S);
	assert_int_equal(got.throttled_ns, 4000);
	take(0, S);
	assert_int_equal(got.throttled_ns, 0);
	cut("/sys/fs/cgroup/cpu,cpuacct/a/b/cpu.stat");
	take(0, S);
	assert_true(got.throttled_ns == HOSTLOAD_UNKNOWN);
}

static void test_a_quota_of_version_2_and_of_the_groups_above(void **state)
{
	(void)state;
	put("/proc/self/mountinfo", V2_MOUNT);
	put("/proc/self/cgroup", "0::/system.slice/drivesoakd.service\n");
	put("/sys/fs/cgroup/unified/cpu.stat", "usage_usec 5\n"); /* the root has no quota */
	put("/sys/fs/cgroup/unified/system.slice/cpu.stat",
		"usage_usec 7\nthrottled_usec 100\nnr_bursts 0\n");
	put("/sys/fs/cgroup/unified/system.slice/drivesoakd.service/cpu.stat",
		"usage_usec 7\nthrottled_usec 40\n");
	take(0, 0);
	put("/sys/fs/cgroup/unified/system.slice/drivesoakd.service/cpu.stat",
		"usage_usec 7\nthrottled_usec 42\n");
	take(0, S);
	assert_int_equal(got.throttled_ns, 2000);
	/* What holds back a group holds back all in it: the longest, not the sum. */
	put("/sys/fs/cgroup/unified/system.slice/drivesoakd.service/cpu.stat",
		"usage_usec 7\nthrottled_usec 45\n");
	put("/sys/fs/cgroup/unified/system.slice/cpu.stat",
		"usage_usec 7\nthrottled_usec 109\nnr_bursts 0\n");
	take(0, S);
	assert_int_equal(got.throttled_ns, 9000);
	/* Without the controller the file has no such line. */
	put("/sys/fs/cgroup/unified/system.slice/drivesoakd.service/cpu.stat", "usage_usec 7\n");
	put("/sys/fs/cgroup/unified/system.slice/cpu.stat", "usage_usec 7\n");
	take(0, S);
	assert_true(got.throttled_ns == HOSTLOAD_UNKNOWN);
}

static void test_a_container_sees_its_part_of_the_hierarchy(void **state)
{
	(void)state;
	put("/proc/self/mountinfo",
		"31 25 0:27 /docker/c1 /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n" V2_MOUNT);
	put("/proc/self/cgroup", "4:cpu:/docker/c1/inner\n0::/\n");
	put("/sys/fs/cgroup/cpu/cpu.stat", "throttled_time 10\n");
	put("/sys/fs/cgroup/cpu/inner/cpu.stat", "throttled_time 0\n");
	take(0, 0);
	put("/sys/fs/cgroup/cpu/cpu.stat", "throttled_time 17\n");
	take(0, S);
	assert_int_equal(got.throttled_ns, 7);
	/* A path that only begins alike is another container's. */
	put("/proc/self/cgroup", "4:cpu:/docker/c12\n");
	take(0, S);
	take(0, S);
	assert_true(got.throttled_ns == HOSTLOAD_UNKNOWN);
}

static void test_moved_to_another_group_counts_from_there(void **state)
{
	(void)state;
	put("/proc/self/mountinfo", V1_MOUNT);
	put("/proc/self/cgroup", "4:cpu,cpuacct:/a\n");
	put("/sys/fs/cgroup/cpu,cpuacct/a/cpu.stat", "throttled_time 10\n");
	put("/sys/fs/cgroup/cpu,cpuacct/b/cpu.stat", "throttled_time 7000\n");
	take(0, 0);
	put("/proc/self/cgroup", "4:cpu,cpuacct:/b\n");
	take(0, S);
	assert_true(got.throttled_ns == HOSTLOAD_UNKNOWN);
	put("/sys/fs/cgroup/cpu,cpuacct/b/cpu.stat", "throttled_time 7070\n");
	take(0, S);
	assert_int_equal(got.throttled_ns, 70);
}

static void set_disks(unsigned count)
{
	static const struct blockdev disks[] = { { .name = "sda" }, { .name = "sdb" } };

	hostload_set_disks(load, disks, count);
}

static void test_the_devices_mean_is_of_reads_and_writes(void **state)
{
	(void)state;
	/* reads: ios merges sectors ms; writes the same; in flight, busy ms, weighted ms */
	put("/sys/block/sda/stat", "100 0 800 50 1000 0 8000 700 3 1 1 0 0 0 0 0 0\n");
	set_disks(1);
	take(0, 0);
	assert_true(isnan(got.device_lat_mean_ns));
	put("/sys/block/sda/stat", "110 0 880 60 1090 0 8720 790 3 1 1 0 0 0 0 0 0\n");
	take(0, S);
	assert_int_equal(got.device_ios, 100);
	assert_true(got.device_lat_mean_ns == 1000000); /* 100 ms of 100 requests */
	/* Whole milliseconds: a mean of a few would be a guess. */
	put("/sys/block/sda/stat", "110 0 880 60 1190 0 9520 839 3 1 1 0 0 0 0 0 0\n");
	take(0, S);
	assert_int_equal(got.device_ios, 100);
	assert_true(isnan(got.device_lat_mean_ns));
	cut("/sys/block/sda/stat"); /* pulled */
	take(0, S);
	assert_true(got.device_ios == HOSTLOAD_UNKNOWN);
	put("/sys/block/sda/stat", "1 0 8 900 1 0 8 900 3 1 1 0 0 0 0 0 0\n"); /* back, counting anew */
	take(0, S);
	assert_true(got.device_ios == HOSTLOAD_UNKNOWN);
	put("/sys/block/sda/stat", "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n");
	take(0, S);
	assert_true(got.device_ios == HOSTLOAD_UNKNOWN && isnan(got.device_lat_mean_ns));
}

/* True when the device's own values are known after a second of work. */
static bool is_compared(unsigned disks)
{
	put("/sys/block/sda/stat", "0 0 0 0 1000 0 8000 0 0 0 0\n");
	set_disks(disks);
	take(0, 0);
	put("/sys/block/sda/stat", "0 0 0 0 2000 0 16000 1000 0 0 0\n");
	take(0, S);
	return got.device_ios == 1000 && got.device_lat_mean_ns == 1000000;
}

static void test_only_a_single_disk_with_nothing_on_it_is_compared(void **state)
{
	(void)state;
	assert_true(is_compared(1));
	assert_false(is_compared(0));
	assert_false(is_compared(2));
	put("/sys/block/sda/sda1/holders/.keep", "");
	put("/sys/block/sda/holders/.keep", "");
	assert_true(is_compared(1));
	put("/sys/block/sda/sda1/holders/dm-0", "");
	assert_false(is_compared(1));
	cut("/sys/block/sda/sda1/holders/dm-0");
	put("/sys/block/sda/holders/md0", "");
	assert_false(is_compared(1));
}

/* On this machine: a thread of ours that waits for itself alone, and nothing negative. */
static void test_the_running_kernel_is_understood(void **state)
{
	const pid_t self = gettid();

	(void)state;
	hostload_free(load);
	assert_int_equal(hostload_new("", &load), 0);
	hostload_take(load, &self, 1, 0, &got);
	(void)usleep(50000);
	hostload_take(load, &self, 1, S / 20, &got);
	if (access("/proc/self/schedstat", R_OK) == 0)
		assert_true(got.run_delay_share >= 0 && got.run_delay_share < 20);
	assert_true(got.steal_share >= 0 && got.steal_share <= 1);
}

int main(void)
{
#define CASE(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(test_nothing_there_is_nothing_known),
		CASE(test_the_delay_is_of_all_threads_and_of_this_interval),
		CASE(test_a_kernel_that_does_not_account_is_not_one_without_delay),
		CASE(test_steal_is_a_share_of_all_cpu_time),
		CASE(test_a_quota_of_version_1),
		CASE(test_a_quota_of_version_2_and_of_the_groups_above),
		CASE(test_a_container_sees_its_part_of_the_hierarchy),
		CASE(test_moved_to_another_group_counts_from_there),
		CASE(test_the_devices_mean_is_of_reads_and_writes),
		CASE(test_only_a_single_disk_with_nothing_on_it_is_compared),
		CASE(test_the_running_kernel_is_understood),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
