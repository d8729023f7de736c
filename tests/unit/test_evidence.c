/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is gathered of a drive: from made-up trees of sysfs, and by the thread from a made-up /dev/kmsg. */
#include "unit.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "measure/evidence.h"
#include "tree_fixture.h"

#define PORT "sys/devices/pci0000:00/0000:00:1c.0"
#define PCI  PORT "/0000:01:00.0"
#define NVME PCI "/nvme/nvme1"
#define ATA  "sys/devices/pci0000:00/0000:00:17.0/ata3"
#define SATA ATA "/host2/target2:0:0/2:0:0:0"

static void make_nvme(const char *root)
{
	tree_disk(root, NVME, "nvme1n1", 1000);
	tree_file(root, NVME "/state", "live\n");
	tree_file(root, PCI "/current_link_speed", "8.0 GT/s PCIe\n");
	tree_file(root, PCI "/current_link_width", "2\n");
	tree_file(root, PCI "/max_link_speed", "16.0 GT/s PCIe\n");
	tree_file(root, PCI "/max_link_width", "4\n");
	tree_file(root, PCI "/aer_dev_correctable", "RxErr 3\nBadTLP 1\nTOTAL_ERR_COR 4\n");
	tree_file(root, PCI "/aer_dev_nonfatal", "Undefined 0\nTOTAL_ERR_NONFATAL 1\n");
	tree_file(root, PCI "/aer_dev_fatal", "Undefined 0\nTOTAL_ERR_FATAL 2\n");
	tree_file(root, PORT "/aer_dev_correctable", "RxErr 0\nTOTAL_ERR_COR 30\n");
	tree_file(root, NVME "/block/nvme1n1/queue/write_cache", "write back\n");
	tree_file(root, NVME "/block/nvme1n1/queue/io_timeout", "30000\n");
	tree_file(root, NVME "/block/nvme1n1/stat", "1 0 16 2 3 0 32 4 0 5 6 7 0 64 8 9 10\n");
}

static void make_sata(const char *root)
{
	tree_disk(root, SATA, "sdb", 1000);
	tree_file(root, SATA "/state", "running\n");
	tree_file(root, SATA "/ioerr_cnt", "0x1f\n");
	tree_file(root, SATA "/iotmo_cnt", "0x2\n");
	tree_file(root, SATA "/queue_depth", "32\n");
	tree_file(root, "sys/class/ata_link/link3/sata_spd", "3.0 Gbps\n");
	tree_file(root, "sys/class/ata_link/link3/hw_sata_spd_limit", "6.0 Gbps\n");
	tree_file(root, "sys/class/ata_link/link3/sata_spd_limit", "3.0 Gbps\n");
	tree_file(root, SATA "/block/sdb/queue/write_cache", "write through\n");
	/* Before Linux 4.18 there were no discards in it. */
	tree_file(root, SATA "/block/sdb/stat", "1 0 8 2 3 0 16 4 0 5 6\n");
	tree_file(root, SATA "/block/sdb/sdb1/holders/md7/x", "");
	tree_file(root, "sys/block/md7/md/sync_action", "resync\n");
}

static bool has_name(const struct kernelline_names *names, const char *name)
{
	for (unsigned i = 0; i < names->count; i++)
		if (strcmp(names->name[i], name) == 0)
			return true;
	return false;
}

static void test_an_nvme_drive(void **state)
{
	const char *root = *state;
	struct evidence_counters counters;
	struct evidence_place place;

	make_nvme(root);
	evidence_find(root, "nvme1n1", &place);
	assert_int_equal(place.names.count, 4);
	assert_string_equal(place.names.name[0], "nvme1n1");
	assert_true(has_name(&place.names, "nvme1") && has_name(&place.names, "0000:01:00.0") &&
		    has_name(&place.names, "0000:00:1c.0"));
	evidence_read(root, &place, &counters);
	assert_string_equal(counters.state, "live");
	assert_true(counters.link_speed == 80 && counters.link_width == 2);
	assert_true(counters.link_speed_max == 160 && counters.link_width_max == 4);
	/* Of the drive and its port. */
	assert_true(counters.aer_correctable == 34 && counters.aer_nonfatal == 1 && counters.aer_fatal == 2);
	assert_true(counters.io_errors == EVIDENCE_UNKNOWN && counters.io_timeouts == EVIDENCE_UNKNOWN);
	assert_true(counters.queue_depth == EVIDENCE_UNKNOWN && counters.sata_limit == 0);
	assert_string_equal(counters.write_cache, "write back");
	assert_string_equal(counters.md_action, "");
	assert_true(counters.io_timeout_ms == 30000);
	assert_true(counters.read_bytes == 16 * 512 && counters.write_bytes == 32 * 512 &&
		    counters.discard_bytes == 64 * 512);
}

static void test_a_sata_drive_in_an_array(void **state)
{
	const char *root = *state;
	struct evidence_counters counters;
	struct evidence_place place;

	make_sata(root);
	evidence_find(root, "sdb", &place);
	assert_true(has_name(&place.names, "sdb") && has_name(&place.names, "2:0:0:0") &&
		    has_name(&place.names, "ata3") && has_name(&place.names, "ata3.00"));
	assert_true(has_name(&place.names, "0000:00:17.0"));
	assert_string_equal(place.ata_link, "link3");
	assert_string_equal(place.md[0], "md7");
	assert_string_equal(place.md[1], "");
	assert_string_equal(place.port, "");
	evidence_read(root, &place, &counters);
	assert_string_equal(counters.state, "running");
	assert_true(counters.io_errors == 31 && counters.io_timeouts == 2 && counters.queue_depth == 32);
	assert_true(counters.link_speed == 30 && counters.link_speed_max == 60 && counters.sata_limit == 30);
	assert_true(counters.link_width == 0 && counters.aer_correctable == EVIDENCE_UNKNOWN);
	assert_string_equal(counters.md_action, "resync");
	assert_true(counters.write_bytes == 16 * 512 && counters.discard_bytes == EVIDENCE_UNKNOWN);
	assert_true(counters.io_timeout_ms == EVIDENCE_UNKNOWN);
}

static void test_other_disks(void **state)
{
	const char *root = *state;
	struct evidence_counters counters;
	struct evidence_place place;

	/* The second disk behind a port multiplier, the slave of an old port, a USB bridge, a loop device, none at all. */
	tree_disk(root, ATA "/host2/target2:1:0/2:1:0:0", "sdc", 1000);
	tree_file(root, "sys/class/ata_link/link3.1/sata_spd", "1.5 Gbps\n");
	evidence_find(root, "sdc", &place);
	assert_true(has_name(&place.names, "ata3.01") && has_name(&place.names, "ata3"));
	assert_false(has_name(&place.names, "ata3.00"));
	assert_string_equal(place.ata_link, "link3.1");
	tree_disk(root, ATA "/host2/target2:0:1/2:0:1:0", "sdd", 1000);
	evidence_find(root, "sdd", &place);
	assert_true(has_name(&place.names, "ata3.01"));
	tree_disk(root,
		"sys/devices/pci0000:00/0000:00:14.0/usb2/2-1/2-1.4/2-1.4:1.0/host6/target6:0:0/6:0:0:0",
		"sde", 1000);
	evidence_find(root, "sde", &place);
	assert_true(has_name(&place.names, "2-1.4") && has_name(&place.names, "6:0:0:0"));
	assert_false(has_name(&place.names, "2-1.4:1.0"));
	tree_disk(root, "sys/devices/virtual", "loop5", 1000);
	evidence_find(root, "loop5", &place);
	assert_int_equal(place.names.count, 1);
	assert_string_equal(place.folder, "");
	evidence_find(root, "none", &place);
	evidence_read(root, &place, &counters);
	assert_string_equal(counters.state, "");
	assert_true(counters.write_bytes == EVIDENCE_UNKNOWN && counters.link_speed == 0);
}

static void test_the_machine_is_under_pressure(void **state)
{
	const char *root = *state;

	assert_true(evidence_read_pressure(root, "cpu") == EVIDENCE_UNKNOWN);
	tree_file(root, "proc/pressure/cpu",
		"some avg10=2.38 avg60=45.44 avg300=36.92 total=206342650\nfull avg10=0.00 avg60=0.00 "
		"avg300=0.00 total=0\n");
	assert_true(evidence_read_pressure(root, "cpu") == 206342650);
	tree_file(root, "proc/pressure/cpu", "nonsense\n");
	assert_true(evidence_read_pressure(root, "cpu") == EVIDENCE_UNKNOWN);
}

static void test_two_disks_are_taken_together(void **state)
{
	struct evidence_counters sum, more;

	(void)state;
	evidence_counters_init(&sum);
	evidence_counters_init(&more);
	(void)strcpy(sum.state, "live");
	(void)strcpy(sum.write_cache, "write back");
	(void)strcpy(sum.md_action, "idle");
	sum.io_errors = 2;
	sum.link_speed = 80;
	sum.queue_depth = 32;
	(void)strcpy(more.state, "resetting");
	(void)strcpy(more.write_cache, "write through");
	(void)strcpy(more.md_action, "check");
	more.io_errors = 3;
	more.aer_fatal = 1;
	more.link_speed = 50;
	more.queue_depth = 1;
	more.io_timeout_ms = 60000;
	evidence_counters_merge(&sum, &more);
	assert_string_equal(sum.state, "resetting");
	assert_string_equal(sum.write_cache, "write through");
	assert_string_equal(sum.md_action, "check");
	assert_true(sum.io_errors == 5 && sum.aer_fatal == 1 && sum.aer_nonfatal == EVIDENCE_UNKNOWN);
	assert_true(sum.link_speed == 50 && sum.queue_depth == 1 && sum.io_timeout_ms == 60000);
	(void)strcpy(more.state, "live");
	(void)strcpy(more.md_action, "idle");
	more.link_speed = 0;
	more.queue_depth = EVIDENCE_UNKNOWN;
	more.io_timeout_ms = 30000;
	evidence_counters_merge(&sum, &more);
	assert_string_equal(sum.state, "resetting");
	assert_string_equal(sum.md_action, "check");
	assert_true(sum.link_speed == 50 && sum.queue_depth == 1 && sum.io_timeout_ms == 60000);
	assert_true(evidence_is_well("") && evidence_is_well("live") && !evidence_is_well("blocked"));
	assert_true(evidence_is_busy("recover") && !evidence_is_busy("frozen") && !evidence_is_busy(""));
	assert_true(evidence_growth(3, 5) == 2 && evidence_growth(5, 3) == 0 &&
		    evidence_growth(EVIDENCE_UNKNOWN, 3) == 0 && evidence_growth(3, EVIDENCE_UNKNOWN) == 0);
}

/* --- the thread --- */

static atomic_uint wakes;

static void wake(void *arg)
{
	(void)arg;
	(void)atomic_fetch_add(&wakes, 1);
}

static void pause_ms(long ms)
{
	const struct timespec pause = { .tv_nsec = ms * 1000000 };

	(void)nanosleep(&pause, NULL);
}

/* Each record is one read, as with the real file. */
static void say(int fd, const char *record)
{
	assert_int_equal(write(fd, record, strlen(record)), strlen(record));
	for (unsigned i = 0; i < 500; i++) {
		int left = 0;

		pause_ms(10);
		if (ioctl(fd, FIONREAD, &left) == 0 && left == 0)
			return;
	}
	fail_msg("not read: %s", record);
}

static void wait_stamp(struct evidence *evidence, unsigned slot, int64_t stamp, struct evidence_counters *out)
{
	for (unsigned i = 0; i < 500; i++) {
		if (evidence_get(evidence, slot, out) && out->stamp == stamp)
			return;
		pause_ms(10);
	}
	fail_msg("no counters of slot %u", slot);
}

static void wait_line(struct evidence *evidence, unsigned slot, struct evidence_line *out)
{
	uint64_t lost;

	for (unsigned i = 0; i < 500; i++) {
		if (evidence_next_line(evidence, slot, out, &lost)) {
			assert_true(lost == 0);
			return;
		}
		pause_ms(10);
	}
	fail_msg("no line for slot %u", slot);
}

static int open_kmsg(const char *root)
{
	char path[512];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/dev", root);
	assert_int_equal(mkdir(path, 0755), 0);
	(void)snprintf(path, sizeof(path), "%s/dev/kmsg", root);
	assert_int_equal(mkfifo(path, 0600), 0);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static void test_the_thread(void **state)
{
	const struct evidence_setup setup = { .root = *state, .slots = 3, .wake = wake };
	const struct blockdev nvme = { .name = "nvme1n1" },
			      pair[2] = { { .name = "sdb" }, { .name = "nvme1n1" } };
	struct evidence_counters counters;
	struct evidence_line line;
	struct evidence *evidence;
	uint64_t lost, from_ns = clock_boot_ns();
	int fd = open_kmsg(*state);

	make_nvme(*state);
	make_sata(*state);
	tree_file(*state, "proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=77\n");
	assert_int_equal(evidence_new(&setup, &evidence), 0);
	assert_string_equal(evidence_log_trouble(evidence), "");
	assert_false(evidence_get(evidence, 0, &counters));
	evidence_watch(evidence, 0, &nvme, 1);
	evidence_watch(evidence, 1, pair, 2);
	evidence_ask(evidence, 10000);
	wait_stamp(evidence, 0, 10000, &counters);
	assert_true(counters.cpu_pressure_us == 77 && counters.io_pressure_us == EVIDENCE_UNKNOWN);
	assert_true(counters.disks == 1 && counters.aer_correctable == 34);
	wait_stamp(evidence, 1, 10000, &counters);
	assert_true(counters.disks == 2 && counters.write_bytes == 48 * 512 && counters.link_speed == 30);
	/* What changes is seen when it is asked for again. */
	tree_file(*state, NVME "/state", "resetting\n");
	evidence_ask(evidence, 20000);
	wait_stamp(evidence, 0, 20000, &counters);
	assert_string_equal(counters.state, "resetting");

	say(fd, "4,1,1000,-;nvme nvme1: I/O 12 QID 3 timeout, aborting\n");
	say(fd, "4,2,1000,-;nvme nvme10: I/O 12 QID 3 timeout, aborting\n");	  /* another drive's */
	say(fd, "6,3,1000,-;nvme nvme1: allocated 64 MiB host memory buffer.\n"); /* of no interest */
	say(fd, "12,4,1000,-;nvme nvme1: controller is down\n");		  /* no kernel says that */
	say(fd, "3,5,1000,-;ata3: hard resetting link\n");
	say(fd, "0,6,1000,-;watchdog: BUG: soft lockup - CPU#1 stuck for 22s!\n");
	wait_line(evidence, 0, &line);
	assert_int_equal(line.word, KERNELLINE_TIMEOUT);
	assert_string_equal(line.line.text, "nvme nvme1: I/O 12 QID 3 timeout, aborting");
	assert_true(line.boot_ns >= from_ns && line.boot_ns <= clock_boot_ns());
	wait_line(evidence, 0, &line);
	assert_int_equal(line.word, KERNELLINE_HOST);
	assert_false(evidence_next_line(evidence, 0, &line, &lost));
	wait_line(evidence, 1, &line);
	assert_int_equal(line.word, KERNELLINE_TIMEOUT);
	wait_line(evidence, 1, &line);
	assert_string_equal(line.line.text, "ata3: hard resetting link");
	wait_line(evidence, 1, &line);
	assert_int_equal(line.word, KERNELLINE_HOST);
	/* Nobody soaks there. */
	assert_false(evidence_next_line(evidence, 2, &line, &lost));
	assert_false(evidence_get(evidence, 2, &counters));
	/* Lines that come together are one reason to wake, told after they are there. */
	for (unsigned i = 0; i < 500 && !atomic_load(&wakes); i++)
		(void)usleep(10000);
	assert_true(atomic_load(&wakes) >= 1);

	/* A slot whose drive is another holds nothing of the one before. */
	evidence_watch(evidence, 0, NULL, 0);
	evidence_ask(evidence, 30000);
	wait_stamp(evidence, 1, 30000, &counters);
	assert_false(evidence_get(evidence, 0, &counters));
	say(fd, "4,7,1000,-;nvme nvme1: controller is down\n");
	wait_line(evidence, 1, &line);
	assert_false(evidence_next_line(evidence, 0, &line, &lost));
	assert_true(evidence_free(evidence, 5 * NS_PER_S));
	assert_true(evidence_free(NULL, 0));
	(void)close(fd);
}

static void test_more_lines_than_there_is_room_for_are_counted(void **state)
{
	const struct evidence_setup setup = { .root = *state, .slots = 1 };
	const struct blockdev nvme = { .name = "nvme1n1" };
	struct evidence_line line;
	struct evidence *evidence;
	unsigned taken = 0;
	uint64_t lost, all_lost = 0;
	int fd = open_kmsg(*state);

	make_nvme(*state);
	assert_int_equal(evidence_new(&setup, &evidence), 0);
	evidence_watch(evidence, 0, &nvme, 1);
	for (unsigned i = 0; i < EVIDENCE_LINES_MAX + 5; i++)
		say(fd, "4,1,1000,-;I/O error, dev nvme1n1, sector 5\n");
	pause_ms(50);
	while (evidence_next_line(evidence, 0, &line, &lost)) {
		taken++;
		all_lost += lost;
	}
	assert_int_equal(taken, EVIDENCE_LINES_MAX);
	assert_true(all_lost == 5);
	assert_true(evidence_free(evidence, 5 * NS_PER_S));
	(void)close(fd);
}

static void test_counters_are_read_where_the_kernel_can_not_be_heard(void **state)
{
	const struct evidence_setup setup = { .root = *state, .slots = 1 };
	const struct blockdev nvme = { .name = "nvme1n1" };
	struct evidence_counters counters;
	struct evidence *evidence;

	make_nvme(*state);
	assert_int_equal(evidence_new(&setup, &evidence), 0);
	assert_non_null(strstr(evidence_log_trouble(evidence), "/dev/kmsg"));
	evidence_watch(evidence, 0, &nvme, 1);
	evidence_ask(evidence, 1);
	wait_stamp(evidence, 0, 1, &counters);
	assert_string_equal(counters.state, "live");
	assert_true(evidence_free(evidence, 5 * NS_PER_S));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_an_nvme_drive, tree_setup, tree_teardown),
		cmocka_unit_test_setup_teardown(test_a_sata_drive_in_an_array, tree_setup, tree_teardown),
		cmocka_unit_test_setup_teardown(test_other_disks, tree_setup, tree_teardown),
		cmocka_unit_test_setup_teardown(
			test_the_machine_is_under_pressure, tree_setup, tree_teardown),
		cmocka_unit_test(test_two_disks_are_taken_together),
		cmocka_unit_test_setup_teardown(test_the_thread, tree_setup, tree_teardown),
		cmocka_unit_test_setup_teardown(
			test_more_lines_than_there_is_room_for_are_counted, tree_setup, tree_teardown),
		cmocka_unit_test_setup_teardown(
			test_counters_are_read_where_the_kernel_can_not_be_heard, tree_setup, tree_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
