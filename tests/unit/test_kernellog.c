/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's own log: a line written into it comes back, and is matched to the drive that it names. Exit 77 where this
 * process may not do that. */
#include "unit.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "measure/kernellog.h"
#include "tree_fixture.h"

#define WAIT_NS (10 * NS_PER_S)

static int kmsg = -1;

static void say(const char *text)
{
	assert_int_equal(write(kmsg, text, strlen(text)), strlen(text));
}

/* The next line with @part in it; others say things, too. */
static void wait_line(struct kernellog *log, const char *part, struct kernelline *out)
{
	const uint64_t until_ns = clock_mono_ns() + WAIT_NS;
	struct pollfd fd = { .fd = kernellog_fd(log), .events = POLLIN };

	while (clock_mono_ns() < until_ns) {
		int rc = kernellog_next(log, out);

		assert_true(rc >= 0);
		if (rc == 1 && strstr(out->text, part))
			return;
		if (rc == 0)
			(void)poll(&fd, 1, 100);
	}
	fail_msg("no line with: %s", part);
}

static void test_lines_of_the_kernel_come_from_now_on(void **state)
{
	struct kernelline_names mine = { .count = 0 }, other = { .count = 0 };
	char why[KERNELLOG_WHY_MAX], before[96], after[96];
	struct kernelline line, second;
	struct kernellog *log;
	uint64_t now_us = clock_mono_ns() / 1000;

	(void)state;
	(void)snprintf(before, sizeof(before), "<4>drivesoak-test %d: before: dev sdzy\n", (int)getpid());
	(void)snprintf(
		after, sizeof(after), "<4>drivesoak-test %d: I/O error, dev sdzz, sector 5\n", (int)getpid());
	kernelline_add_name(&mine, "sdzz");
	kernelline_add_name(&other, "sdz");
	say(before);
	assert_int_equal(kernellog_open("", &log, why), 0);
	assert_string_equal(why, "");
	assert_false(kernellog_is_journal(log));
	say(after);
	say("<3>drivesoak-test: nvme nvme77: controller is down; will reset\n");
	wait_line(log, "drivesoak-test", &line);
	assert_non_null(strstr(line.text, "dev sdzz"));
	/* A program's line is no word of the kernel, and can be told from one. */
	assert_int_equal(line.facility, 1);
	assert_int_equal(line.level, 4);
	assert_true(line.mono_us >= now_us - 5000000 && line.mono_us < now_us + 60000000);
	assert_int_equal(kernelline_word(line.text), KERNELLINE_ERROR);
	assert_true(kernelline_concerns(line.text, &mine));
	assert_false(kernelline_concerns(line.text, &other));
	wait_line(log, "nvme77", &second);
	assert_int_equal(kernelline_word(second.text), KERNELLINE_RESET);
	assert_true(second.sequence > line.sequence && second.level == 3);
	assert_false(kernelline_concerns(second.text, &mine));
	assert_int_equal(kernellog_next(log, &line), 0);
	kernellog_close(log);
	kernellog_close(NULL);
}

static void test_without_either_it_says_why(void **state)
{
	char why[KERNELLOG_WHY_MAX];
	struct kernellog *log = NULL;

	assert_true(kernellog_open(*state, &log, why) < 0);
	assert_null(log);
	assert_non_null(strstr(why, "/dev/kmsg: No such file"));
	assert_non_null(strstr(why, "journald does not run"));
}

static void test_the_journal_is_taken_where_kmsg_is_not_there(void **state)
{
	char why[KERNELLOG_WHY_MAX];
	struct kernelline line;
	struct kernellog *log = NULL;

	/* A folder without a file of the journal: nothing was said yet. */
	tree_file(*state, "var/log/journal/README", "");
	assert_int_equal(kernellog_open(*state, &log, why), 0);
	assert_true(kernellog_is_journal(log));
	assert_true(kernellog_fd(log) >= 0);
	assert_int_equal(kernellog_next(log, &line), 0);
	kernellog_close(log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines_of_the_kernel_come_from_now_on),
		cmocka_unit_test_setup_teardown(test_without_either_it_says_why, tree_setup, tree_teardown),
		cmocka_unit_test_setup_teardown(
			test_the_journal_is_taken_where_kmsg_is_not_there, tree_setup, tree_teardown),
	};

	kmsg = open("/dev/kmsg", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (kmsg < 0) {
		(void)printf("/dev/kmsg can't be opened for reading and writing\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
