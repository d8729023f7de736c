/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a drive's health is read, and that a thread of its own does it. */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "healthgate.h"
#include "prober.h"

static void test_the_way_follows_the_config_and_the_transport(void **state)
{
	static const struct {
		const char *probe, *transport;
		enum prober_way way;
		const char *type;
	} rows[] = {
		{ "auto", "nvme", PROBER_NVME, "" },
		{ "auto", "sata", PROBER_ATA, "" },
		{ "auto", "ata", PROBER_ATA, "" },
		{ "auto", "sas", PROBER_SMARTCTL, "" },
		{ "auto", "usb", PROBER_SMARTCTL, "" },
		{ "auto", "loop", PROBER_NONE, "" },
		{ "auto", "virtio", PROBER_NONE, "" },
		{ "none", "nvme", PROBER_NONE, "" },
		{ "ata", "usb", PROBER_ATA, "" },
		{ "nvme", "usb", PROBER_NVME, "" },
		{ "smartctl:megaraid,3", "scsi", PROBER_SMARTCTL, "megaraid,3" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct blockdev disk = { 0 };
		char type[64] = "old";

		text_copy(disk.transport, sizeof(disk.transport), rows[i].transport);
		if (prober_way_of(rows[i].probe, &disk, type, sizeof(type)) != rows[i].way)
			fail_msg("%s on %s", rows[i].probe, rows[i].transport);
		assert_string_equal(type, rows[i].type);
	}
}

static void test_who_needs_a_budget(void **state)
{
	static const struct {
		const char *what;
		int used, spare, threshold, warning; /* -1: unknown */
		bool has_budget;
		int rc;
		const char *why;
	} rows[] = {
		{ "a good drive", 10, 100, 10, 0, false, 0, NULL },
		{ "at the limit", 80, 15, 10, 0, false, 0, NULL },
		{ "worn", 81, 100, 10, 0, false, -EPERM, "81 % of the drive's rated life" },
		{ "worn, with a budget", 120, 100, 10, 0, true, 0, NULL },
		{ "spare near its threshold", 10, 14, 10, 0, false, -EPERM, "spare is at 14 %" },
		{ "spare and threshold not reported", 10, 0, 0, 0, false, 0, NULL },
		{ "no wear", -1, 100, 10, 0, false, -EPERM, "wear can't be read" },
		{ "no wear, with a budget", -1, -1, -1, -1, true, 0, NULL },
		{ "read-only", 10, 100, 10, 8, true, -EPERM, "read-only" },
		{ "hot only", 10, 100, 10, 2, false, 0, NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char why[HEALTHGATE_WHY_MAX] = "";
		struct reading reading;

		reading_init(&reading);
		if (rows[i].used >= 0)
			reading_set(&reading, READING_PERCENT_USED, rows[i].used);
		if (rows[i].spare >= 0)
			reading_set(&reading, READING_SPARE_PCT, rows[i].spare);
		if (rows[i].threshold >= 0)
			reading_set(&reading, READING_SPARE_THRESHOLD_PCT, rows[i].threshold);
		if (rows[i].warning >= 0)
			reading_set(&reading, READING_CRITICAL_WARNING, rows[i].warning);
		if (healthgate_judge(&reading, rows[i].has_budget, why) != rows[i].rc)
			fail_msg("%s: %s", rows[i].what, why);
		if (rows[i].why && !strstr(why, rows[i].why))
			fail_msg("%s: says %s", rows[i].what, why);
		reading_fini(&reading);
	}
	{
		char why[HEALTHGATE_WHY_MAX];

		assert_int_equal(healthgate_judge(NULL, false, why), -EPERM);
		assert_int_equal(healthgate_judge(NULL, true, why), 0);
	}
}

static void wake(void *arg)
{
	const uint64_t one = 1;

	(void)!write(*(int *)arg, &one, sizeof(one));
}

static void test_a_drive_that_is_not_there_is_answered(void **state)
{
	struct prober_question question = {
		.way = PROBER_NVME, .disk = "nvme99n9", .run = "cand-1", .is_evidence = true
	};
	int wake_fd = eventfd(0, EFD_CLOEXEC);
	struct prober_answer answer;
	struct prober *prober;
	uint64_t count;

	(void)state;
	assert_int_equal(prober_new(wake, &wake_fd, &prober), 0);
	assert_false(prober_is_busy(prober));
	assert_true(prober_ask(prober, &question));
	assert_int_equal(read(wake_fd, &count, sizeof(count)), sizeof(count));
	/* Until the answer is taken nothing else is asked. */
	assert_true(prober_is_busy(prober));
	assert_false(prober_ask(prober, &question));
	assert_true(prober_next_answer(prober, &answer));
	assert_true(answer.rc < 0);
	assert_string_equal(answer.question.run, "cand-1");
	assert_true(answer.question.is_evidence);
	assert_int_equal(answer.disk_written_bytes, UINT64_MAX);
	assert_true(answer.reading->notes[0] != '\0');
	reading_fini(answer.reading);
	free(answer.reading);
	assert_false(prober_next_answer(prober, &answer));
	assert_false(prober_is_busy(prober));
	/* One that is never taken is freed with the prober. */
	assert_true(prober_ask(prober, &question));
	assert_int_equal(read(wake_fd, &count, sizeof(count)), sizeof(count));
	assert_true(prober_free(prober, 10 * NS_PER_S));
	(void)close(wake_fd);
}

static void test_pages_are_packed_and_unpacked(void **state)
{
	static const uint8_t first[] = { 1, 2, 0, 3 }, second[] = { 9 };
	struct reading reading, back;
	uint8_t *bytes;
	size_t length;

	(void)state;
	reading_init(&reading);
	assert_int_equal(reading_keep_page(&reading, "nvme-02h", first, sizeof(first)), 0);
	assert_int_equal(reading_keep_page(&reading, "ocp-c0h", second, sizeof(second)), 0);
	assert_int_equal(reading_pack(&reading, &bytes, &length), 0);
	assert_int_equal(length, 9 + 4 + 4 + 8 + 4 + 1);
	reading_init(&back);
	assert_int_equal(reading_unpack(&back, bytes, length), 0);
	assert_int_equal(back.page_count, 2);
	assert_int_equal(reading_find_page(&back, "nvme-02h")->length, sizeof(first));
	assert_memory_equal(reading_find_page(&back, "nvme-02h")->bytes, first, sizeof(first));
	assert_memory_equal(reading_find_page(&back, "ocp-c0h")->bytes, second, 1);
	reading_fini(&back);
	for (size_t cut = 1; cut < length; cut++) {
		reading_init(&back);
		/* At the end of a page it is a shorter pack. */
		assert_int_equal(reading_unpack(&back, bytes, cut), cut == 9 + 4 + 4 ? 0 : -EINVAL);
		reading_fini(&back);
	}
	free(bytes);
	reading_fini(&reading);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_way_follows_the_config_and_the_transport),
		cmocka_unit_test(test_who_needs_a_budget),
		cmocka_unit_test(test_a_drive_that_is_not_there_is_answered),
		cmocka_unit_test(test_pages_are_packed_and_unpacked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
