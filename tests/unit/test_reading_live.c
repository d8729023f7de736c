/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Live readings of an NVMe drive that is played: its answers, refusals and silences. */
#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "probes/identity_private.h"
#include "probes/reading_private.h"
#include "reading_fixture.h"
#include "tree_fixture.h"

#define ASKED_MAX     16
#define IDENTIFY_CTRL 0x1001 /* beside the numbers of pages */
#define IDENTIFY_NS   0x1000

/* Of what a command ends with. */
struct answer {
	unsigned what; /* page, or one of the two above */
	int rc;
};

struct drive {
	uint8_t smart[512], group[512], ocp[512], intel[512], list[1024], identify[4096];
	int open_rc;
	struct answer failing[4];
	unsigned asked[ASKED_MAX], asked_count, group_asked;
	uint32_t lengths[ASKED_MAX], nsids[ASKED_MAX];
	/* The page at which it falls silent until it is let go. */
	unsigned silent_at;
	bool is_silent, is_let_go;
	unsigned freed;
	pthread_mutex_t lock;
	pthread_cond_t turn;
};

static struct drive drive;

static void fall_silent(void)
{
	(void)pthread_mutex_lock(&drive.lock);
	while (!drive.is_let_go)
		(void)pthread_cond_wait(&drive.turn, &drive.lock);
	(void)pthread_mutex_unlock(&drive.lock);
}

static void let_go(void)
{
	(void)pthread_mutex_lock(&drive.lock);
	drive.is_let_go = true;
	(void)pthread_cond_broadcast(&drive.turn);
	(void)pthread_mutex_unlock(&drive.lock);
}

static int answer(unsigned what, uint32_t nsid, uint32_t length)
{
	if (drive.asked_count < ASKED_MAX) {
		drive.lengths[drive.asked_count] = length;
		drive.nsids[drive.asked_count] = nsid;
		drive.asked[drive.asked_count++] = what;
	}
	if (drive.is_silent && what == drive.silent_at)
		fall_silent();
	for (size_t i = 0; i < ARRAY_LEN(drive.failing); i++)
		if (drive.failing[i].rc && drive.failing[i].what == what)
			return drive.failing[i].rc;
	return 0;
}

static int play_open(void *arg)
{
	(void)arg;
	return drive.open_rc;
}

static int play_identify(void *arg, uint8_t structure, uint32_t nsid, void *bytes)
{
	int rc = answer(0x1000u + structure, nsid, 4096);

	(void)arg;
	if (rc == 0 && structure == 1)
		memcpy(bytes, drive.identify, 4096);
	else if (rc == 0)
		fixture_put(bytes, 102, 2, 3); /* its endurance group */
	return rc;
}

static int play_log(void *arg, const struct reading_nvme_log *log)
{
	int rc = answer(log->page, log->nsid, log->length);
	const uint8_t *page = log->page == 0x02	  ? drive.smart
			      : log->page == 0x09 ? drive.group
			      : log->page == 0xc0 ? drive.ocp
			      : log->page == 0xca ? drive.intel
			      : log->page == 0x00 ? drive.list
						  : NULL;

	(void)arg;
	if (log->page == 0x09)
		drive.group_asked = log->specific;
	if (rc == 0 && page)
		memcpy(log->bytes, page, log->length);
	return rc;
}

static void play_free(void *arg)
{
	(void)arg;
	(void)pthread_mutex_lock(&drive.lock);
	drive.freed++;
	(void)pthread_cond_broadcast(&drive.turn);
	(void)pthread_mutex_unlock(&drive.lock);
}

static const struct reading_nvme_port port = { NULL, play_open, play_identify, play_log, play_free };

/* A drive with all pages and a list of them. */
static int set_up(void **state)
{
	(void)state;
	drive = (struct drive){ .lock = PTHREAD_MUTEX_INITIALIZER, .turn = PTHREAD_COND_INITIALIZER };
	fixture_nvme_smart(drive.smart);
	fixture_nvme_group(drive.group);
	fixture_ocp(drive.ocp);
	fixture_intel(drive.intel);
	fixture_nvme_identify(drive.identify);
	fixture_put(drive.identify, 96, 4, 1 << 4);  /* CTRATT: endurance groups */
	fixture_put(drive.identify, 261, 1, 1 << 5); /* LPA: the list */
	fixture_put(drive.identify, 262, 1, 2);	     /* ELPE: three entries */
	fixture_put(drive.identify, 340, 2, 4);	     /* ENDGIDMAX */
	drive.list[0x02 * 4] = drive.list[0x09 * 4] = drive.list[0xc0 * 4] = 1;
	return 0;
}

static int read_drive(bool wants_error_log, struct reading_memory *memory, struct reading *out)
{
	drive.asked_count = 0;
	return reading_nvme_by_port(&port, 7, wants_error_log, 60000, memory, out);
}

static void check_asked(size_t count, const unsigned *asked)
{
	for (size_t i = 0; i < count && i < drive.asked_count; i++)
		assert_int_equal(drive.asked[i], asked[i]);
	assert_int_equal(drive.asked_count, count);
}

#define CHECK_ASKED(...)                                                                                     \
	check_asked(sizeof((const unsigned[]){ __VA_ARGS__ }) / sizeof(unsigned),                            \
		(const unsigned[]){ __VA_ARGS__ })

static void test_all_pages_are_read_and_kept(void **state)
{
	struct reading_memory memory = { 0 };
	const struct reading_page *page;
	struct reading reading;

	(void)state;
	assert_int_equal(read_drive(true, &memory, &reading), 0);
	CHECK_ASKED(0x02, IDENTIFY_CTRL, 0x00, IDENTIFY_NS, 0x09, 0xc0, 0x01);
	assert_int_equal(drive.nsids[0], NVME_NSID_ALL);
	assert_int_equal(drive.nsids[3], 7);
	assert_int_equal(drive.group_asked, 3);
	assert_int_equal(drive.lengths[6], 192);
	assert_string_equal(reading.notes, "");
	assert_string_equal(reading.source, "nvme");
	assert_string_equal(reading.serial, "SN-0042");
	assert_true(reading.t_ms > 0);
	assert_true(reading.value[READING_PERCENT_USED] == 107);
	assert_true(reading.value[READING_CRITICAL_TEMP_C] == 83);
	assert_true(reading.value[READING_MEDIA_WRITTEN_BYTES] == 3000000000001);
	page = reading_find_page(&reading, "nvme-02h");
	assert_non_null(page);
	assert_memory_equal(page->bytes, drive.smart, 512);
	assert_memory_equal(reading_find_page(&reading, "nvme-09h")->bytes, drive.group, 512);
	assert_memory_equal(reading_find_page(&reading, "ocp-c0h")->bytes, drive.ocp, 512);
	assert_memory_equal(reading_find_page(&reading, "nvme-identify")->bytes, drive.identify, 4096);
	assert_int_equal(reading_find_page(&reading, "nvme-01h")->length, 192);
	assert_int_equal(reading.page_count, 5);
	reading_fini(&reading);
	/* The list once; the error log not unasked. */
	assert_int_equal(read_drive(false, &memory, &reading), 0);
	CHECK_ASKED(0x02, IDENTIFY_CTRL, IDENTIFY_NS, 0x09, 0xc0);
	reading_fini(&reading);
	assert_int_equal(drive.freed, 2);
}

static void test_what_a_drive_has_not_is_not_asked(void **state)
{
	struct reading_memory memory = { 0 };
	struct reading reading;

	(void)state;
	drive.list[0x09 * 4] = drive.list[0xc0 * 4] = 0;
	assert_int_equal(read_drive(false, &memory, &reading), 0);
	CHECK_ASKED(0x02, IDENTIFY_CTRL, 0x00);
	reading_fini(&reading);
	/* No list and no groups: a guess by the vendor, for who remembers the answer. */
	fixture_put(drive.identify, 96, 4, 0);
	fixture_put(drive.identify, 261, 1, 0);
	memory = (struct reading_memory){ 0 };
	assert_int_equal(read_drive(false, &memory, &reading), 0);
	CHECK_ASKED(0x02, IDENTIFY_CTRL, 0xc0);
	reading_fini(&reading);
	assert_int_equal(read_drive(false, NULL, &reading), 0);
	CHECK_ASKED(0x02, IDENTIFY_CTRL);
	reading_fini(&reading);
	fixture_put(drive.identify, 0, 2, 0x1b36); /* a vendor without the page */
	assert_int_equal(read_drive(false, &memory, &reading), 0);
	CHECK_ASKED(0x02, IDENTIFY_CTRL);
	reading_fini(&reading);
}

/* The number means something only of their drives; where OCP's page is missing for once, its count is not replaced. */
static void test_intels_page_is_asked_of_intels_drives(void **state)
{
	struct reading_memory memory = { 0 };
	struct reading reading;

	(void)state;
	drive.list[0xca * 4] = 1;
	assert_int_equal(read_drive(false, &memory, &reading), 0);
	CHECK_ASKED(0x02, IDENTIFY_CTRL, 0x00, IDENTIFY_NS, 0x09, 0xc0);
	reading_fini(&reading);
	memory = (struct reading_memory){ 0 };
	fixture_put(drive.identify, 0, 2, 0x8086);
	drive.list[0xc0 * 4] = drive.list[0x09 * 4] = 0;
	assert_int_equal(read_drive(false, &memory, &reading), 0);
	CHECK_ASKED(0x02, IDENTIFY_CTRL, 0x00, 0xca);
	assert_true(reading.value[READING_MEDIA_WRITTEN_BYTES] == 110747LL << 25);
	assert_string_equal(reading.media_written_from, "page CAh");
	assert_string_equal(reading.host_written_from, "page 02h");
	assert_memory_equal(reading_find_page(&reading, "intel-cah")->bytes, drive.intel, 512);
	reading_fini(&reading);
	/* Solidigm has both. */
	memory = (struct reading_memory){ 0 };
	fixture_put(drive.identify, 0, 2, 0x025e);
	drive.list[0xc0 * 4] = 1;
	assert_int_equal(read_drive(false, &memory, &reading), 0);
	CHECK_ASKED(0x02, IDENTIFY_CTRL, 0x00, 0xca, 0xc0);
	assert_true(reading.value[READING_MEDIA_WRITTEN_RAW] == 3000000000001);
	reading_fini(&reading);
	drive.failing[0] = (struct answer){ 0xc0, -EINTR };
	assert_int_equal(read_drive(false, &memory, &reading), 0);
	assert_false(reading.known[READING_MEDIA_WRITTEN_RAW]);
	assert_true(reading.known[READING_HOST_WRITTEN_RAW]);
	assert_true(reading.value[READING_WORKLOAD_WEAR] == 80619);
	reading_fini(&reading);
	drive.failing[0] = (struct answer){ 0 };
	assert_int_equal(read_drive(false, &memory, &reading), 0);
	assert_true(reading.value[READING_MEDIA_WRITTEN_RAW] == 3000000000001);
	reading_fini(&reading);
}

static void test_a_refusal_is_not_asked_for_again(void **state)
{
	struct reading_memory memory = { 0 };
	struct reading reading;

	(void)state;
	drive.failing[0] = (struct answer){ 0x00, NVME_SC_INVALID_LOG_PAGE };
	drive.failing[1] = (struct answer){ 0x09, NVME_SC_INVALID_FIELD };
	drive.failing[2] = (struct answer){ 0xc0, NVME_SC_INTERNAL | NVME_SC_DNR };
	assert_int_equal(read_drive(false, &memory, &reading), 0);
	CHECK_ASKED(0x02, IDENTIFY_CTRL, 0x00, IDENTIFY_NS, 0x09, 0xc0);
	assert_non_null(strstr(reading.notes, "page 09h: Invalid Field in Command"));
	assert_non_null(strstr(reading.notes, "page C0h: "));
	assert_int_equal(reading.page_count, 2);
	reading_fini(&reading);
	assert_int_equal(read_drive(false, &memory, &reading), 0);
	CHECK_ASKED(0x02, IDENTIFY_CTRL);
	assert_string_equal(reading.notes, "");
	reading_fini(&reading);
	/* Another drive in its place. */
	memcpy(drive.identify + 4, "SN-0043", 7);
	assert_int_equal(read_drive(false, &memory, &reading), 0);
	CHECK_ASKED(0x02, IDENTIFY_CTRL, 0x00, IDENTIFY_NS, 0x09, 0xc0);
	reading_fini(&reading);
}

static void test_what_is_not_now_may_come_later(void **state)
{
	struct reading_memory memory = { 0 };
	struct reading reading;

	(void)state;
	drive.failing[0] = (struct answer){ 0x09, NVME_SC_NS_NOT_READY };
	drive.failing[1] = (struct answer){ 0xc0, -EINTR };
	drive.failing[2] = (struct answer){ 0x02, NVME_SC_INTERNAL };
	assert_int_equal(read_drive(false, &memory, &reading), 0);
	assert_false(reading.known[READING_TEMP_C]);
	assert_true(reading.value[READING_WARNING_TEMP_C] == 71);
	assert_non_null(strstr(reading.notes, "page 02h: "));
	assert_non_null(strstr(reading.notes, "page C0h: the kernel gave the command up"));
	reading_fini(&reading);
	memset(drive.failing, 0, sizeof(drive.failing));
	assert_int_equal(read_drive(false, &memory, &reading), 0);
	CHECK_ASKED(0x02, IDENTIFY_CTRL, IDENTIFY_NS, 0x09, 0xc0);
	assert_true(reading.value[READING_TEMP_C] == 61);
	reading_fini(&reading);
}

/* Each single failure leaves the other pages. */
static void test_one_failing_page_hides_no_other(void **state)
{
	static const struct {
		unsigned what;
		const char *page, *note;
	} row[] = {
		{ 0x02, "nvme-02h", "page 02h: " },
		{ IDENTIFY_CTRL, "nvme-identify", "Identify Controller: " },
		{ 0x09, "nvme-09h", "page 09h: " },
		{ 0xc0, "ocp-c0h", "page C0h: " },
		{ 0x01, "nvme-01h", "page 01h: " },
	};
	static const int codes[] = { NVME_SC_INTERNAL, NVME_SC_ACCESS_DENIED | NVME_SC_DNR, -EIO, -EINTR };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(row) * ARRAY_LEN(codes); i++) {
		size_t at = i / ARRAY_LEN(codes);
		struct reading_memory memory = { 0 };
		struct reading reading;

		drive.failing[0] = (struct answer){ row[at].what, codes[i % ARRAY_LEN(codes)] };
		assert_int_equal(read_drive(true, &memory, &reading), 0);
		for (size_t j = 0; j < ARRAY_LEN(row); j++) {
			/* What a drive has is told by Identify alone. */
			bool depends = row[at].what == IDENTIFY_CTRL && (j == 2 || j == 3);

			assert_int_equal(
				reading_find_page(&reading, row[j].page) != NULL, j != at && !depends);
		}
		assert_non_null(strstr(reading.notes, row[at].note));
		reading_fini(&reading);
	}
}

static void test_empty_pages_are_no_pages(void **state)
{
	struct reading_memory memory = { 0 };
	struct reading reading;

	(void)state;
	memset(drive.smart, 0, sizeof(drive.smart));
	memset(drive.ocp, 0xff, sizeof(drive.ocp));
	drive.list[0x02 * 4] = 0;
	assert_int_equal(read_drive(false, &memory, &reading), 0);
	assert_false(reading.known[READING_TEMP_C]);
	assert_false(memory.has_list);
	assert_string_equal(reading.notes, "page 02h: the page is empty; page C0h: the page is empty");
	assert_null(reading_find_page(&reading, "nvme-02h"));
	assert_null(reading_find_page(&reading, "ocp-c0h"));
	assert_true(reading.value[READING_PERCENT_USED] == 41);
	reading_fini(&reading);
}

static void test_another_vendors_page_is_not_kept(void **state)
{
	struct reading_memory memory = { 0 };
	struct reading reading;

	(void)state;
	drive.ocp[500] = 0;
	assert_int_equal(read_drive(false, &memory, &reading), 0);
	assert_null(reading_find_page(&reading, "ocp-c0h"));
	assert_false(reading.known[READING_PLP_PCT]);
	reading_fini(&reading);
	assert_int_equal(read_drive(false, &memory, &reading), 0);
	CHECK_ASKED(0x02, IDENTIFY_CTRL, IDENTIFY_NS, 0x09);
	reading_fini(&reading);
}

static void test_a_drive_that_is_gone(void **state)
{
	struct reading_memory memory = { 0 };
	struct reading reading;

	(void)state;
	drive.failing[0] = (struct answer){ 0x02, -ENODEV };
	assert_int_equal(read_drive(false, &memory, &reading), -ENODEV);
	CHECK_ASKED(0x02);
	assert_string_equal(reading.notes, "page 02h: No such device");
	reading_fini(&reading);
	/* In the middle: what was read counts. */
	drive.failing[0] = (struct answer){ IDENTIFY_NS, -ENODEV };
	assert_int_equal(read_drive(false, &memory, &reading), 0);
	CHECK_ASKED(0x02, IDENTIFY_CTRL, 0x00, IDENTIFY_NS);
	assert_true(reading.value[READING_TEMP_C] == 61);
	reading_fini(&reading);
	drive.open_rc = -EACCES;
	assert_int_equal(read_drive(false, &memory, &reading), -EACCES);
	CHECK_ASKED();
	assert_string_equal(reading.notes, "can't be opened: Permission denied");
	reading_fini(&reading);
	drive.open_rc = 0;
	drive.failing[0] = (struct answer){ 0x02, NVME_SC_INTERNAL };
	drive.failing[1] = (struct answer){ IDENTIFY_CTRL, NVME_SC_INTERNAL };
	assert_int_equal(read_drive(false, &memory, &reading), -EIO);
	reading_fini(&reading);
	assert_int_equal(drive.freed, 4);
}

static double now_s(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void wait_until_freed(unsigned count)
{
	(void)pthread_mutex_lock(&drive.lock);
	while (drive.freed < count)
		(void)pthread_cond_wait(&drive.turn, &drive.lock);
	(void)pthread_mutex_unlock(&drive.lock);
}

static void test_a_silent_drive_holds_nobody(void **state)
{
	struct reading_memory memory = { 0 };
	struct reading reading;
	double start = now_s();

	(void)state;
	drive.is_silent = true;
	drive.silent_at = 0x02;
	assert_int_equal(reading_nvme_by_port(&port, 7, false, 50, &memory, &reading), -ETIMEDOUT);
	assert_string_equal(reading.notes, "no answer within 50 ms");
	reading_fini(&reading);
	/* No further command while it still has that one. */
	assert_int_equal(reading_nvme_by_port(&port, 7, false, 50, &memory, &reading), -EBUSY);
	assert_string_equal(reading.notes, "the drive still has an earlier command");
	assert_int_equal(drive.asked_count, 1);
	assert_true(now_s() - start < 20);
	reading_fini(&reading);
	let_go();
	while (!reading_job_is_over(memory.hung))
		(void)nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	assert_int_equal(read_drive(false, &memory, &reading), 0);
	assert_null(memory.hung);
	assert_true(reading.value[READING_TEMP_C] == 61);
	reading_fini(&reading);
	wait_until_freed(3);
}

static void test_what_came_before_the_silence_is_kept(void **state)
{
	struct reading_memory memory = { 0 };
	struct reading reading;

	(void)state;
	drive.is_silent = true;
	drive.silent_at = 0x09;
	assert_int_equal(reading_nvme_by_port(&port, 7, false, 500, &memory, &reading), 0);
	assert_true(reading.value[READING_TEMP_C] == 61);
	assert_string_equal(reading.serial, "SN-0042");
	assert_int_equal(reading.page_count, 2);
	assert_string_equal(reading.notes, "no answer within 500 ms");
	/* What comes afterwards touches nothing, and asks for nothing more. */
	reading_memory_fini(&memory);
	let_go();
	wait_until_freed(1);
	CHECK_ASKED(0x02, IDENTIFY_CTRL, 0x00, IDENTIFY_NS, 0x09);
	assert_int_equal(reading.page_count, 2);
	assert_false(reading.known[READING_MEDIA_WRITTEN_RAW]);
	reading_fini(&reading);
}

static void check_controller(const char *root, const char *node, const char *controller, uint32_t nsid)
{
	char found[64];
	uint32_t number = 99;

	reading_nvme_find_controller(root, node, found, sizeof(found), &number);
	assert_string_equal(found, controller);
	assert_int_equal(number, nsid);
}

static void test_the_controller_is_found(void **state)
{
	const char *root = *state;

	tree_file(root, "sys/devices/pci/nvme/nvme71/nvme71n2/nsid", "2\n");
	tree_link(root, "sys/devices/pci/nvme/nvme71/nvme71n2/device", "sys/devices/pci/nvme/nvme71");
	tree_link(root, "sys/class/block/nvme71n2", "sys/devices/pci/nvme/nvme71/nvme71n2");
	tree_file(root, "sys/devices/virtual/nvme-subsystem/nvme-subsys3/nvme3n1/nsid", "1\n");
	tree_file(root, "sys/devices/virtual/nvme-subsystem/nvme-subsys3/nvme80/state", "connecting\n");
	tree_file(root, "sys/devices/virtual/nvme-subsystem/nvme-subsys3/nvme82/state", "live\n");
	tree_file(root, "sys/devices/virtual/nvme-subsystem/nvme-subsys3/nvme81/state", "live\n");
	tree_file(root, "sys/devices/virtual/nvme-subsystem/nvme-subsys3/nvme81c80n1/state", "live\n");
	tree_link(root, "sys/devices/virtual/nvme-subsystem/nvme-subsys3/nvme3n1/device",
		"sys/devices/virtual/nvme-subsystem/nvme-subsys3");
	tree_link(root, "sys/class/block/nvme3n1", "sys/devices/virtual/nvme-subsystem/nvme-subsys3/nvme3n1");
	check_controller(root, "/dev/nvme71n2", "/dev/nvme71", 2);
	check_controller(root, "/dev/nvme3n1", "/dev/nvme81", 1);
	check_controller(root, "/dev/nvme71", "/dev/nvme71", 0);
	check_controller(root, "/dev/nvme99n1", "/dev/nvme99n1", 0);
}

static void test_a_node_that_is_not_there(void **state)
{
	struct reading reading;

	(void)state;
	assert_int_equal(reading_read_nvme("/dev/nvme9999n1", &reading), -ENOENT);
	assert_string_equal(reading.notes, "can't be opened: No such file or directory");
	reading_fini(&reading);
	assert_int_equal(reading_read_nvme("/dev/null", &reading), -ENOTTY);
	assert_non_null(strstr(reading.notes, "page 02h: Inappropriate ioctl for device"));
	reading_fini(&reading);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_all_pages_are_read_and_kept, set_up),
		cmocka_unit_test_setup(test_what_a_drive_has_not_is_not_asked, set_up),
		cmocka_unit_test_setup(test_intels_page_is_asked_of_intels_drives, set_up),
		cmocka_unit_test_setup(test_a_refusal_is_not_asked_for_again, set_up),
		cmocka_unit_test_setup(test_what_is_not_now_may_come_later, set_up),
		cmocka_unit_test_setup(test_one_failing_page_hides_no_other, set_up),
		cmocka_unit_test_setup(test_empty_pages_are_no_pages, set_up),
		cmocka_unit_test_setup(test_another_vendors_page_is_not_kept, set_up),
		cmocka_unit_test_setup(test_a_drive_that_is_gone, set_up),
		cmocka_unit_test_setup(test_a_silent_drive_holds_nobody, set_up),
		cmocka_unit_test_setup(test_what_came_before_the_silence_is_kept, set_up),
		cmocka_unit_test_setup_teardown(test_the_controller_is_found, tree_setup, tree_teardown),
		cmocka_unit_test(test_a_node_that_is_not_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
