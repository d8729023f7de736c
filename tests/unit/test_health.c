/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `drivesoak drives --health` says of a disk. */
#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "drivesoak_health.h"
#include "reading_fixture.h"

static void check_text(const struct health *health, const char *wanted)
{
	struct text text = TEXT_INIT;

	health_text(health, &text);
	assert_string_equal(text_string(&text), wanted);
	text_fini(&text);
}

static void test_figures_and_warnings_in_words(void **state)
{
	static struct health health;
	uint8_t page[512];

	(void)state;
	reading_init(&health.reading);
	check_text(&health, "    health: read, but none of its numbers is known\n");
	fixture_nvme_smart(page);
	assert_int_equal(reading_decode_nvme_smart(&health.reading, page, sizeof(page)), 0);
	check_text(&health, "    health: 61 C, 107 % used, 93 % spare, threshold 11 %, media errors 921, "
			    "1.02 TB written\n"
			    "    health warning: spare below its threshold, reliability degraded, "
			    "backup of the volatile memory failed\n");
	reading_set(&health.reading, READING_CRITICAL_WARNING, 0);
	reading_set(&health.reading, READING_SMART_FAILED, 1);
	health.reading.known[READING_HOST_WRITTEN_BYTES] = false;
	health.reading.known[READING_TEMP_C] = false;
	reading_note(&health.reading, "page 09h: refused");
	check_text(&health, "    health: 107 % used, 93 % spare, threshold 11 %, media errors 921, "
			    "2000005 written in an unknown unit\n"
			    "    health warning: the drive says that it fails\n"
			    "    health, not read: page 09h: refused\n");
}

static void test_a_reading_is_an_object(void **state)
{
	static struct health health = { .why = "no answer" };
	struct text text = TEXT_INIT;

	(void)state;
	reading_init(&health.reading);
	reading_set(&health.reading, READING_TEMP_C, 44);
	health_json(&health, &text);
	assert_string_equal(text_string(&text), "");
	check_text(&health, "    health not read: no answer\n");
	health.why[0] = '\0';
	health_json(&health, &text);
	assert_memory_equal(text_string(&text), "{\"t_s\":null,\"temp_c\":44,", 24);
	assert_string_equal(text_string(&text) + text.length - 17, ",\"attributes\":[]}");
	text_fini(&text);
}

static void test_disks_without_an_answer_say_so(void **state)
{
	static const struct inventory_disk disks[] = {
		{ .block = { .name = "nvme9998n1", .transport = "nvme" }, .node = "/dev/nvme9998n1" },
		{ .block = { .name = "vdzz", .transport = "virtio" }, .node = "/dev/vdzz" },
		{ .block = { .name = "null", .transport = "nvme" }, .node = "/dev/null" },
	};
	static const struct {
		int rc;
		const char *why;
	} row[] = {
		{ -ENOENT, "can't be opened: No such file or directory" },
		{ -ENOTSUP, "no health records are known of virtio" },
		{ -ENOTTY, "page 02h: Inappropriate ioctl for device; "
			   "Identify Controller: Inappropriate ioctl for device" },
	};
	struct health *healths = NULL;

	(void)state;
	assert_int_equal(health_read(disks, ARRAY_LEN(disks), &healths), 0);
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		assert_int_equal(healths[i].rc, row[i].rc);
		assert_string_equal(healths[i].why, row[i].why);
		assert_false(health_needs_root(&healths[i]));
	}
	healths[0].rc = -EACCES;
	assert_true(health_needs_root(&healths[0]));
	health_free(healths, ARRAY_LEN(disks));
	health_free(NULL, 3);
}

#define DISKS 200
#define HANGS (HEALTH_AT_ONCE - 1)

static struct {
	pthread_mutex_t lock;
	pthread_cond_t turn;
	unsigned answered, at_once, most;
} line = { .lock = PTHREAD_MUTEX_INITIALIZER, .turn = PTHREAD_COND_INITIALIZER };

/* The first hang until all others have answered. */
static int answer(const struct inventory_disk *disk, struct reading *out)
{
	const unsigned number = (unsigned)disk->block.logical_block_bytes;
	struct timespec until;
	int rc = 0;

	(void)clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 30;
	(void)pthread_mutex_lock(&line.lock);
	if (++line.at_once > line.most)
		line.most = line.at_once;
	while (number < HANGS && line.answered < DISKS - HANGS && rc == 0)
		rc = pthread_cond_timedwait(&line.turn, &line.lock, &until);
	line.answered++;
	line.at_once--;
	(void)pthread_cond_broadcast(&line.turn);
	(void)pthread_mutex_unlock(&line.lock);
	reading_set(out, READING_TEMP_C, number % 100);
	if (number < HANGS)
		reading_note(out, "no answer, %u", number);
	return rc ? -EDEADLK : number < HANGS ? -ETIMEDOUT : 0;
}

static void test_disks_that_hang_hold_no_other(void **state)
{
	static struct inventory_disk disks[DISKS];
	struct health *healths = NULL;
	char why[64];

	(void)state;
	for (unsigned i = 0; i < DISKS; i++)
		disks[i].block.logical_block_bytes = i;
	assert_int_equal(health_read_by(answer, disks, DISKS, &healths), 0);
	for (unsigned i = 0; i < DISKS; i++) {
		(void)snprintf(why, sizeof(why), "no answer, %u", i);
		assert_int_equal(healths[i].rc, i < HANGS ? -ETIMEDOUT : 0);
		assert_string_equal(healths[i].why, i < HANGS ? why : "");
		assert_true(healths[i].reading.value[READING_TEMP_C] == i % 100);
	}
	assert_in_range(line.most, 2, HEALTH_AT_ONCE);
	health_free(healths, DISKS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_figures_and_warnings_in_words),
		cmocka_unit_test(test_a_reading_is_an_object),
		cmocka_unit_test(test_disks_without_an_answer_say_so),
		cmocka_unit_test(test_disks_that_hang_hold_no_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
