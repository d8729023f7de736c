/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A live ATA drive behind the boundary of commands: which way works, what is asked again and what not, and a drive that
 * hangs. */
#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probes/reading_ata_private.h"
#include "reading_fixture.h"

#define DEADLINE_MS 5000
#define WAYS	    5

/* What a drive does, and what it was asked; a test's own, so it outlives a reading that was given up. */
struct drive {
	const char *works;		/* the prefix that does; NULL: none of libatasmart's */
	int blob_rc;			/* of those that don't */
	bool has_status;		/* libatasmart tells it */
	bool takes_commands;		/* of our own */
	int status_rc;			/* of SMART RETURN STATUS */
	uint64_t status_lba;		/* its answer */
	bool has_logs, is_in_directory; /* the log of statistics */
	uint32_t listed;		/* pages of statistics; 0: the log is refused */
	uint32_t broken;		/* pages that are refused though */
	bool wants_error_log, has_errors;
	int errors_rc;
	const char *serial;
	uint64_t sectors_written;
	pthread_mutex_t *gate; /* held: the drive hangs */
	char asked[512];       /* "sat16: " or "stat1 " or "B0/DA " */
	unsigned closed;
};

static void ask(struct drive *drive, const char *what)
{
	(void)strcat(drive->asked, what[0] ? what : "auto");
	(void)strcat(drive->asked, " ");
}

static void put_checksum(uint8_t *page)
{
	uint8_t sum = 0;

	page[511] = 0;
	for (size_t i = 0; i < 511; i++)
		sum = (uint8_t)(sum + page[i]);
	page[511] = (uint8_t)-sum;
}

static void put_text(uint8_t *page, size_t word, size_t words, const char *text)
{
	for (size_t i = 0; i < 2 * words; i++)
		page[2 * word + (i ^ 1)] = (uint8_t)(i < strlen(text) ? text[i] : ' ');
}

static void put_identify(const struct drive *drive, uint8_t *page)
{
	memset(page, 0, 512);
	put_text(page, 10, 10, drive->serial);
	put_text(page, 23, 4, "V1");
	put_text(page, 27, 20, "KINGSTON SA400S37240G");
	page[434] = 1;
	fixture_put(page, 168, 2, drive->has_logs ? 0x4020 : 0x4000);
	page[510] = 0xa5;
	put_checksum(page);
}

static void put_data(uint8_t *page)
{
	memset(page, 0, 512);
	page[2] = 241;
	page[5] = page[6] = 100;
	fixture_put(page, 7, 6, 398);
	page[14] = 194;
	page[17] = page[18] = 61;
	fixture_put(page, 19, 6, 39);
	put_checksum(page);
}

static void put_chunk(uint8_t **at, const char *tag, size_t length)
{
	memcpy(*at, tag, 4);
	(*at)[4] = (*at)[5] = 0;
	(*at)[6] = (uint8_t)(length >> 8);
	(*at)[7] = (uint8_t)length;
	*at += 8 + length;
}

static void wait_at(struct drive *drive)
{
	if (!drive->gate)
		return;
	(void)pthread_mutex_lock(drive->gate);
	(void)pthread_mutex_unlock(drive->gate);
}

static int read_blob(void *arg, const char *way, uint8_t *blob, size_t size, size_t *length)
{
	struct drive *drive = arg;
	uint8_t *at = blob;

	assert_true(size >= 3 * 520 + 12);
	ask(drive, way);
	wait_at(drive);
	if (!drive->works || strcmp(drive->works, way) != 0)
		return drive->blob_rc;
	put_identify(drive, at + 8);
	put_chunk(&at, "IDFY", 512);
	if (drive->has_status) {
		memcpy(at + 8, "\0\0\0\1", 4);
		put_chunk(&at, "SMST", 4);
	}
	put_data(at + 8);
	put_chunk(&at, "SMDT", 512);
	memset(at + 8, 0, 512);
	at[8] = 16;
	put_checksum(at + 8);
	put_chunk(&at, "SMTH", 512);
	*length = (size_t)(at - blob);
	return 0;
}

static int answer_log(struct drive *drive, unsigned number, uint8_t *page)
{
	char what[16];

	(void)snprintf(what, sizeof(what), "stat%u", number);
	ask(drive, what);
	wait_at(drive);
	assert_true(drive->has_logs && drive->is_in_directory);
	if (!drive->listed || drive->broken >> number & 1)
		return -EOPNOTSUPP;
	page[0] = 1;
	page[2] = (uint8_t)number;
	for (unsigned i = 0; number == 0 && i < 32; i++)
		if (drive->listed >> i & 1)
			page[9 + page[8]++] = (uint8_t)i;
	if (number == 1) {
		fixture_put(page, 0x18, 6, drive->sectors_written);
		page[0x1f] = 0xc0;
	} else if (number == 7) {
		page[8] = 43;
		page[15] = 0xe0;
	}
	return 0;
}

static int command(void *arg, const struct reading_ata_command *it, void *data, size_t length, uint64_t *lba)
{
	struct drive *drive = arg;
	char what[16];

	if (it->command == 0x2f) {
		assert_true(it->is_48 && it->count == 1 && length == 512);
		if (it->lba == 0) {
			ask(drive, "dir");
			((uint8_t *)data)[8] = drive->is_in_directory ? 8 : 0;
			((uint8_t *)data)[6] = drive->has_errors ? 1 : 0;
			return 0;
		}
		if (it->lba == 3) {
			ask(drive, "errors");
			((uint8_t *)data)[500] = 77; /* device error count */
			return drive->errors_rc;
		}
		assert_int_equal(it->lba & 0xff, 4);
		return answer_log(drive, (unsigned)(it->lba >> 8), data);
	}
	(void)snprintf(what, sizeof(what), "%02X/%02X", it->command, it->feature);
	ask(drive, what);
	wait_at(drive);
	if (it->command == 0xb0)
		assert_int_equal(it->lba, 0xc24f00);
	if (!data) {
		assert_int_equal(it->feature, 0xda);
		*lba = drive->status_lba;
		return drive->status_rc;
	}
	if (!drive->takes_commands)
		return -EIO;
	if (it->command == 0xec)
		put_identify(drive, data);
	else if (it->feature == 0xd0)
		put_data(data);
	else
		return -EOPNOTSUPP; /* no thresholds */
	return 0;
}

static void drive_free(void *arg)
{
	struct drive *drive = arg;

	drive->closed++;
}

static int read_drive(
	struct drive *drive, unsigned deadline_ms, struct reading_memory *memory, struct reading *out)
{
	const struct reading_ata_port port = {
		.arg = drive, .read_blob = read_blob, .command = command, .free = drive_free
	};

	drive->asked[0] = '\0';
	return reading_ata_by_port(&port, drive->wants_error_log, deadline_ms, memory, out);
}

static struct drive a_drive(const char *works)
{
	return (struct drive){ .works = works,
		.blob_rc = -EOPNOTSUPP,
		.has_status = true,
		.has_logs = true,
		.is_in_directory = true,
		.listed = 1 | 1 << 1 | 1 << 2 | 1 << 7,
		.sectors_written = 5005,
		.serial = "SN-1" };
}

static void test_the_way_that_works_is_found_and_kept(void **state)
{
	static const struct {
		const char *works, *source, *asked, *again;
	} row[] = {
		{ "", "ata: libatasmart", "auto ", "auto " },
		{ "sat16:", "ata: libatasmart sat16", "auto sat16: ", "sat16: " },
		{ "sat12:", "ata: libatasmart sat12", "auto sat16: sat12: ", "sat12: " },
		{ "linux-ide:", "ata: linux-ide", "auto sat16: sat12: linux-ide: ", "linux-ide: " },
		{ NULL, "ata: sg_io", "auto sat16: sat12: linux-ide: EC/00 B0/D0 B0/D1 ",
			"EC/00 B0/D0 B0/D1 " },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		struct drive drive = a_drive(row[i].works);
		struct reading_memory memory = { .refused = 0 };
		struct reading reading;
		char asked[128];

		drive.takes_commands = true;
		drive.status_lba = 0xc24f00;
		for (int again = 0; again < 3; again++) {
			assert_int_equal(read_drive(&drive, DEADLINE_MS, &memory, &reading), 0);
			(void)snprintf(asked, sizeof(asked), "%s%s%sstat1 stat7 ",
				again ? row[i].again : row[i].asked, row[i].works ? "" : "B0/DA ",
				again ? "" : "dir stat0 ");
			assert_string_equal(drive.asked, asked);
			assert_string_equal(reading.source, row[i].source);
			assert_string_equal(reading.serial, "SN-1");
			assert_string_equal(reading.family, "Kingston, Phison S10 to S12");
			assert_true(reading.value[READING_TEMP_C] == 39);
			assert_true(reading.value[READING_HOST_WRITTEN_BYTES] == 5005 * 512);
			assert_true(reading.value[READING_PERCENT_USED] == 43);
			assert_true(
				reading.known[READING_SMART_FAILED] && !reading.value[READING_SMART_FAILED]);
			assert_int_equal(reading_find_page(&reading, "ata-identify")->length, 512);
			assert_int_equal(
				reading_find_page(&reading, "ata-smart")->length, row[i].works ? 1024 : 512);
			assert_int_equal(reading_find_page(&reading, "ata-stat-7")->length, 512);
			assert_int_equal(reading.page_count, 4);
			assert_true(reading.t_ms > 0);
			/* What failed is said once. */
			assert_int_equal(reading.notes[0] != '\0', !again && i > 0);
			reading_fini(&reading);
		}
		assert_int_equal(drive.closed, 3);
	}
}

static void test_a_drive_that_answers_nothing_is_tried_one_way_at_a_time(void **state)
{
	static const char *const asked[] = { "auto sat16: sat12: linux-ide: EC/00 ", "auto ",
		"sat16: ", "sat12: ", "linux-ide: ", "EC/00 ", "auto " };
	struct drive drive = a_drive(NULL);
	struct reading_memory memory = { .refused = 0 };
	struct reading reading;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
		int rc = read_drive(&drive, DEADLINE_MS, &memory, &reading);

		assert_string_equal(drive.asked, asked[i]);
		assert_true(rc < 0);
		assert_string_not_equal(reading.notes, "");
		assert_int_equal(reading.page_count, 0);
		reading_fini(&reading);
	}
	drive.works = "sat12:";
	assert_int_equal(read_drive(&drive, DEADLINE_MS, &memory, &reading), -EOPNOTSUPP);
	reading_fini(&reading);
	assert_int_equal(read_drive(&drive, DEADLINE_MS, &memory, &reading), 0);
	assert_string_equal(drive.asked, "sat12: dir stat0 stat1 stat7 ");
	reading_fini(&reading);
}

static void test_a_way_that_fails_three_times_gives_way(void **state)
{
	struct drive drive = a_drive("sat16:");
	struct reading_memory memory = { .refused = 0 };
	struct reading reading;

	(void)state;
	assert_int_equal(read_drive(&drive, DEADLINE_MS, &memory, &reading), 0);
	reading_fini(&reading);
	drive.works = "sat12:";
	drive.blob_rc = -EIO;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(read_drive(&drive, DEADLINE_MS, &memory, &reading), -EIO);
		assert_string_equal(drive.asked, "sat16: ");
		reading_fini(&reading);
	}
	assert_int_equal(read_drive(&drive, DEADLINE_MS, &memory, &reading), 0);
	assert_string_equal(drive.asked, "sat12: stat1 stat7 ");
	assert_string_equal(reading.source, "ata: libatasmart sat12");
	reading_fini(&reading);
}

static void test_a_drive_that_is_gone_is_not_tried_further(void **state)
{
	struct drive drive = a_drive(NULL);
	struct reading reading;

	(void)state;
	drive.blob_rc = -ENODEV;
	assert_int_equal(read_drive(&drive, DEADLINE_MS, NULL, &reading), -ENODEV);
	assert_string_equal(drive.asked, "auto ");
	reading_fini(&reading);
	drive.blob_rc = -EPERM;
	assert_int_equal(read_drive(&drive, DEADLINE_MS, NULL, &reading), -EPERM);
	assert_non_null(strstr(reading.notes, "needs root"));
	reading_fini(&reading);
}

static void test_what_is_refused_is_not_asked_again(void **state)
{
	struct drive drive = a_drive("");
	struct reading_memory memory = { .refused = 0 };
	struct reading reading;

	(void)state;
	drive.listed = 0;
	drive.has_status = false;
	drive.status_rc = -EOPNOTSUPP;
	assert_int_equal(read_drive(&drive, DEADLINE_MS, &memory, &reading), 0);
	assert_string_equal(drive.asked, "auto B0/DA dir stat0 ");
	assert_non_null(strstr(reading.notes, "SMART status: refused"));
	assert_non_null(strstr(reading.notes, "device statistics: refused"));
	/* The attribute tells what the statistics don't. */
	assert_true(reading.value[READING_HOST_WRITTEN_RAW] == 398);
	assert_true(reading.value[READING_HOST_WRITTEN_UNIT_BYTES] == 1 << 30);
	assert_false(reading.known[READING_SMART_FAILED]);
	reading_fini(&reading);
	assert_int_equal(read_drive(&drive, DEADLINE_MS, &memory, &reading), 0);
	assert_string_equal(drive.asked, "auto ");
	assert_string_equal(reading.notes, "");
	reading_fini(&reading);
	/* Another drive at the node is asked afresh. */
	drive.serial = "SN-2";
	assert_int_equal(read_drive(&drive, DEADLINE_MS, &memory, &reading), 0);
	assert_string_equal(drive.asked, "auto B0/DA dir stat0 ");
	reading_fini(&reading);
}

static void test_a_log_that_is_not_there_is_not_asked_for(void **state)
{
	(void)state;
	for (int has_logs = 0; has_logs < 2; has_logs++) {
		struct drive drive = a_drive("");
		struct reading_memory memory = { .refused = 0 };
		struct reading reading;

		drive.has_logs = has_logs;
		drive.is_in_directory = false;
		assert_int_equal(read_drive(&drive, DEADLINE_MS, &memory, &reading), 0);
		assert_string_equal(drive.asked, has_logs ? "auto dir " : "auto ");
		assert_string_equal(reading.notes, "device statistics: the drive has none");
		assert_true(reading.value[READING_HOST_WRITTEN_RAW] == 398);
		reading_fini(&reading);
		assert_int_equal(read_drive(&drive, DEADLINE_MS, &memory, &reading), 0);
		assert_string_equal(drive.asked, "auto ");
		assert_string_equal(reading.notes, "");
		reading_fini(&reading);
	}
}

static void test_the_registers_say_whether_it_fails(void **state)
{
	static const struct {
		uint64_t lba;
		int known, failed;
	} row[] = { { 0xc24f00, 1, 0 }, { 0x2cf400, 1, 1 }, { 0x2cf4aa, 1, 1 }, { 0, 0, 0 },
		{ 0xc2f400, 0, 0 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		struct drive drive = a_drive("");
		struct reading reading;

		drive.has_status = false;
		drive.status_lba = row[i].lba;
		assert_int_equal(read_drive(&drive, DEADLINE_MS, NULL, &reading), 0);
		assert_int_equal(reading.known[READING_SMART_FAILED], row[i].known);
		assert_true(reading.value[READING_SMART_FAILED] == row[i].failed);
		reading_fini(&reading);
	}
}

/* 398 of 1 GiB where 5005 of 512 bytes were: it would look like a leap. */
static void test_the_counter_stays_the_same_one(void **state)
{
	struct drive drive = a_drive("");
	struct reading_memory memory = { .refused = 0 };
	struct reading reading;

	(void)state;
	assert_int_equal(read_drive(&drive, DEADLINE_MS, &memory, &reading), 0);
	assert_true(reading.value[READING_HOST_WRITTEN_RAW] == 5005);
	reading_fini(&reading);
	drive.broken = 1 << 1;
	assert_int_equal(read_drive(&drive, DEADLINE_MS, &memory, &reading), 0);
	assert_false(reading.known[READING_HOST_WRITTEN_RAW]);
	assert_false(reading.known[READING_HOST_WRITTEN_BYTES]);
	assert_false(reading.known[READING_HOST_WRITTEN_UNIT_BYTES]);
	assert_true(reading.value[READING_PERCENT_USED] == 43);
	assert_non_null(strstr(reading.notes, "page 1: refused"));
	reading_fini(&reading);
	drive.broken = 0;
	drive.sectors_written = 6006;
	assert_int_equal(read_drive(&drive, DEADLINE_MS, &memory, &reading), 0);
	assert_true(reading.value[READING_HOST_WRITTEN_BYTES] == 6006 * 512);
	reading_fini(&reading);
}

static void test_the_error_log_is_read_when_it_is_wanted(void **state)
{
	struct drive drive = a_drive("");
	struct reading_memory memory = { .refused = 0 };
	struct reading reading;

	(void)state;
	drive.has_errors = true;
	assert_int_equal(read_drive(&drive, DEADLINE_MS, &memory, &reading), 0);
	assert_string_equal(drive.asked, "auto dir stat0 stat1 stat7 ");
	assert_null(reading_find_page(&reading, "ata-errors"));
	reading_fini(&reading);
	drive.wants_error_log = true;
	assert_int_equal(read_drive(&drive, DEADLINE_MS, &memory, &reading), 0);
	assert_string_equal(drive.asked, "auto stat1 stat7 dir errors ");
	assert_int_equal(reading_find_page(&reading, "ata-errors")->length, 512);
	assert_int_equal(reading_find_page(&reading, "ata-errors")->bytes[500], 77);
	assert_string_equal(reading.notes, "");
	reading_fini(&reading);
	/* Refused once; and what is not in the directory is not asked for. */
	drive.errors_rc = -EOPNOTSUPP;
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(read_drive(&drive, DEADLINE_MS, &memory, &reading), 0);
		assert_string_equal(drive.asked, i ? "auto stat1 stat7 " : "auto stat1 stat7 dir errors ");
		assert_null(reading_find_page(&reading, "ata-errors"));
		assert_string_equal(
			reading.notes, i ? "error log: the drive has none" : "error log: refused");
		reading_fini(&reading);
	}
	memory = (struct reading_memory){ .refused = 0 };
	drive.has_errors = false;
	assert_int_equal(read_drive(&drive, DEADLINE_MS, &memory, &reading), 0);
	assert_string_equal(drive.asked, "auto dir stat0 stat1 stat7 dir ");
	assert_string_equal(reading.notes, "error log: the drive has none");
	reading_fini(&reading);
}

static void test_a_hung_drive_holds_a_reading_to_its_deadline(void **state)
{
	static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
	struct drive drive = a_drive("");
	struct reading_memory memory = { .refused = 0 };
	struct reading reading;

	(void)state;
	drive.gate = &gate;
	(void)pthread_mutex_lock(&gate);
	assert_int_equal(read_drive(&drive, 50, &memory, &reading), -ETIMEDOUT);
	assert_string_equal(reading.notes, "no answer within 50 ms");
	reading_fini(&reading);
	assert_non_null(memory.hung);
	/* No second command to it. */
	assert_int_equal(read_drive(&drive, 50, &memory, &reading), -EBUSY);
	assert_string_equal(drive.asked, "");
	assert_int_equal(drive.closed, 1);
	reading_fini(&reading);
	(void)pthread_mutex_unlock(&gate);
	for (int i = 0; i < 500 && read_drive(&drive, DEADLINE_MS, &memory, &reading) == -EBUSY; i++) {
		reading_fini(&reading);
		(void)usleep(10000);
	}
	assert_string_equal(reading.source, "ata: libatasmart");
	assert_null(memory.hung);
	reading_fini(&reading);
	reading_memory_fini(&memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_way_that_works_is_found_and_kept),
		cmocka_unit_test(test_a_drive_that_answers_nothing_is_tried_one_way_at_a_time),
		cmocka_unit_test(test_a_way_that_fails_three_times_gives_way),
		cmocka_unit_test(test_a_drive_that_is_gone_is_not_tried_further),
		cmocka_unit_test(test_what_is_refused_is_not_asked_again),
		cmocka_unit_test(test_a_log_that_is_not_there_is_not_asked_for),
		cmocka_unit_test(test_the_registers_say_whether_it_fails),
		cmocka_unit_test(test_the_counter_stays_the_same_one),
		cmocka_unit_test(test_the_error_log_is_read_when_it_is_wanted),
		cmocka_unit_test(test_a_hung_drive_holds_a_reading_to_its_deadline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
