/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What journald keeps of the kernel's log, where /dev/kmsg may not be opened: files of the journal that
 * systemd-journal-remote writes. Exit 77 without that. */
#include "unit.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "measure/kernellog.h"
#include "tree_fixture.h"

#define WRITER	"/lib/systemd/systemd-journal-remote"
#define WAIT_NS (10 * NS_PER_S)
#define BOOT	"00000000000000000000000000000001"

static unsigned said;

/* Another entry, as the journal's export format has it. */
static void say(
	const char *root, const char *transport, unsigned level, unsigned long mono_us, const char *text)
{
	char entry[1024], command[1024];
	FILE *writer;

	said++;
	(void)snprintf(entry, sizeof(entry),
		"__REALTIME_TIMESTAMP=%llu%06u\n__MONOTONIC_TIMESTAMP=%u\n_BOOT_ID=" BOOT
		"\n_TRANSPORT=%s\nPRIORITY=%u\nSYSLOG_FACILITY=0\n_SOURCE_MONOTONIC_TIMESTAMP=%lu\nMESSAGE=%"
		"s\n\n",
		(unsigned long long)time(NULL), said, said, transport, level, mono_us, text);
	(void)snprintf(command, sizeof(command),
		WRITER " -o '%s/var/log/journal/remote.journal' - 2>/dev/null", root);
	writer = popen(command, "w");
	assert_non_null(writer);
	assert_int_equal(fputs(entry, writer) < 0, 0);
	assert_int_equal(pclose(writer), 0);
}

static int wait_line(struct kernellog *log, struct kernelline *out)
{
	const uint64_t until_ns = clock_mono_ns() + WAIT_NS;
	struct pollfd fd = { .fd = kernellog_fd(log), .events = POLLIN };
	int rc = 0;

	while (rc == 0 && clock_mono_ns() < until_ns) {
		rc = kernellog_next(log, out);
		if (rc == 0)
			(void)poll(&fd, 1, 100);
	}
	return rc;
}

static void test_lines_of_the_kernel_come_from_now_on(void **state)
{
	char why[KERNELLOG_WHY_MAX];
	struct kernelline line;
	struct kernellog *log = NULL;

	tree_file(*state, "var/log/journal/README", "");
	say(*state, "kernel", 4, 1000, "said before: nvme nvme0: controller is down; will reset");
	assert_int_equal(kernellog_open(*state, &log, why), 0);
	assert_string_equal(why, "");
	assert_true(kernellog_is_journal(log));
	assert_int_equal(kernellog_next(log, &line), 0);
	say(*state, "syslog", 3, 2000, "I/O error, dev sda, sector 7, says a program");
	say(*state, "kernel", 3, 123456789, "I/O error, dev sda, sector 5 op 0x1");
	say(*state, "kernel", 4, 123456999, "nvme nvme0: I/O 5 QID 2 timeout, aborting");
	assert_int_equal(wait_line(log, &line), 1);
	assert_string_equal(line.text, "I/O error, dev sda, sector 5 op 0x1");
	assert_int_equal(line.level, 3);
	assert_int_equal(line.facility, 0);
	assert_int_equal(line.mono_us, 123456789);
	assert_int_equal(kernelline_word(line.text), KERNELLINE_ERROR);
	assert_int_equal(wait_line(log, &line), 1);
	assert_string_equal(line.text, "nvme nvme0: I/O 5 QID 2 timeout, aborting");
	assert_int_equal(line.mono_us, 123456999);
	assert_int_equal(kernellog_next(log, &line), 0);
	kernellog_close(log);
}

/* Nothing was said yet; the first line comes all the same. */
static void test_a_journal_that_is_empty_at_first(void **state)
{
	char why[KERNELLOG_WHY_MAX];
	struct kernelline line;
	struct kernellog *log = NULL;

	tree_file(*state, "var/log/journal/README", "");
	assert_int_equal(kernellog_open(*state, &log, why), 0);
	assert_int_equal(kernellog_next(log, &line), 0);
	say(*state, "kernel", 6, 5, "sd 2:0:0:0: [sdb] Attached SCSI disk");
	assert_int_equal(wait_line(log, &line), 1);
	assert_string_equal(line.text, "sd 2:0:0:0: [sdb] Attached SCSI disk");
	assert_int_equal(line.level, 6);
	kernellog_close(log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_lines_of_the_kernel_come_from_now_on, tree_setup, tree_teardown),
		cmocka_unit_test_setup_teardown(
			test_a_journal_that_is_empty_at_first, tree_setup, tree_teardown),
	};

	if (access(WRITER, X_OK)) {
		(void)printf(WRITER " is not installed\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
