/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ATA pages: recorded ones to their own numbers, made-up ones with a number of its own in each field. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "probes/attributes.h"
#include "probes/reading_ata_private.h"
#include "reading_fixture.h"

#define MIB32	   (32ULL << 20)
#define ROWS(rows) rows, sizeof(rows) / sizeof((rows)[0])

static const struct fixture_value intel_320[] = { { READING_POWER_ON_HOURS, 45 },
	{ READING_POWER_CYCLES, 14 }, { READING_REALLOCATED, 0 }, { READING_MEDIA_ERRORS, 0 },
	{ READING_HOST_WRITTEN_RAW, 820 }, { READING_HOST_WRITTEN_UNIT_BYTES, MIB32 },
	{ READING_HOST_WRITTEN_BYTES, 820 * MIB32 }, { READING_HOST_READ_BYTES, 4634 * MIB32 },
	{ READING_PERCENT_USED, 0 }, { READING_SPARE_PCT, 100 }, { READING_SPARE_THRESHOLD_PCT, 10 },
	{ READING_UNSAFE_SHUTDOWNS, 2 }, { READING_PROGRAM_FAILS, 0 }, { READING_ERASE_FAILS, 0 },
	{ READING_FAILED_THRESHOLDS, 0 }, { READING_SMART_FAILED, 0 }, { READING_ROTATION_RPM, 0 },
	{ READING_LOGICAL_BLOCK_BYTES, 512 } };
/* In no family: 225 and 233 are raw numbers, 226 to 228 are not available. */
static const struct fixture_value intel_g1[] = { { READING_POWER_ON_HOURS, 2309 },
	{ READING_POWER_CYCLES, 395 }, { READING_REALLOCATED, 0 }, { READING_FAILED_THRESHOLDS, 0 },
	{ READING_SMART_FAILED, 0 }, { READING_ROTATION_RPM, 0 }, { READING_LOGICAL_BLOCK_BYTES, 512 } };
/* 190 is 0 in all its bytes: no sensor. */
static const struct fixture_value samsung_slc[] = { { READING_POWER_CYCLES, 36 },
	{ READING_REALLOCATED, 2379776 }, { READING_MEDIA_ERRORS, 0 }, { READING_PENDING, 0 },
	{ READING_CRC_ERRORS, 0 }, { READING_FAILED_THRESHOLDS, 0 }, { READING_SMART_FAILED, 0 },
	{ READING_LOGICAL_BLOCK_BYTES, 512 } };
static const struct fixture_value samsung_old[] = { { READING_POWER_ON_HOURS, 2417 },
	{ READING_POWER_CYCLES, 521 }, { READING_MEDIA_ERRORS, 0 }, { READING_CRC_ERRORS, 0 },
	{ READING_FAILED_THRESHOLDS, 0 }, { READING_SMART_FAILED, 0 }, { READING_ROTATION_RPM, 0 },
	{ READING_LOGICAL_BLOCK_BYTES, 512 } };
static const struct fixture_value samsung_disk[] = { { READING_TEMP_C, 47 }, { READING_POWER_CYCLES, 88 },
	{ READING_REALLOCATED, 1 }, { READING_PENDING, 1 }, { READING_MEDIA_ERRORS, 65536 },
	{ READING_CRC_ERRORS, 0 }, { READING_FAILED_THRESHOLDS, 0 }, { READING_SMART_FAILED, 0 },
	{ READING_LOGICAL_BLOCK_BYTES, 512 } };
/* Attribute 10 is at 212, and its threshold 223. */
static const struct fixture_value maxtor[] = { { READING_POWER_CYCLES, 1810 }, { READING_REALLOCATED, 69 },
	{ READING_PENDING, 2 }, { READING_CRC_ERRORS, 29259 }, { READING_FAILED_THRESHOLDS, 1 },
	{ READING_SMART_FAILED, 1 }, { READING_LOGICAL_BLOCK_BYTES, 512 } };
static const struct fixture_value seagate[] = { { READING_TEMP_C, 38 }, { READING_POWER_CYCLES, 465 },
	{ READING_REALLOCATED, 0 }, { READING_PENDING, 1 }, { READING_MEDIA_ERRORS, 0 },
	{ READING_CRC_ERRORS, 0 }, { READING_FAILED_THRESHOLDS, 0 }, { READING_SMART_FAILED, 0 },
	{ READING_LOGICAL_BLOCK_BYTES, 512 } };
/* Its 241 would be 143 exabytes at 32 MiB. */
static const struct fixture_value toshiba[] = { { READING_TEMP_C, 41 }, { READING_POWER_CYCLES, 503 },
	{ READING_REALLOCATED, 1 }, { READING_CRC_ERRORS, 42899987 }, { READING_FAILED_THRESHOLDS, 0 },
	{ READING_SMART_FAILED, 0 }, { READING_LOGICAL_BLOCK_BYTES, 512 } };
static const struct fixture_value wdc[] = { { READING_TEMP_C, 17 }, { READING_POWER_CYCLES, 204 },
	{ READING_REALLOCATED, 0 }, { READING_PENDING, 1 }, { READING_CRC_ERRORS, 0 },
	{ READING_FAILED_THRESHOLDS, 0 }, { READING_LOGICAL_BLOCK_BYTES, 512 } };
/* 231 is 95: no temperature, and in no family no wear. */
static const struct fixture_value life_left[] = { { READING_TEMP_C, 30 }, { READING_POWER_ON_HOURS, 1000 },
	{ READING_REALLOCATED, 0 }, { READING_FAILED_THRESHOLDS, 0 }, { READING_SMART_FAILED, 0 },
	{ READING_ROTATION_RPM, 0 }, { READING_LOGICAL_BLOCK_BYTES, 512 } };
static const struct fixture_value overflow[] = { { READING_TEMP_C, 30 },
	{ READING_HOST_WRITTEN_RAW, 1953525168 }, { READING_FAILED_THRESHOLDS, 0 },
	{ READING_SMART_FAILED, 0 }, { READING_ROTATION_RPM, 0 }, { READING_LOGICAL_BLOCK_BYTES, 512 } };

static const struct {
	const char *file, *model, *serial, *firmware, *family, *notes;
	unsigned attribute_count;
	const struct fixture_value *values;
	size_t count;
} blobs[] = {
	{ "INTEL_SSDSA2CW120G3--4PC10302", "INTEL SSDSA2CW120G3", "SN9D9481CAA4CA829F6B", "4PC10302",
		"Intel X25-M G2, 320, 710", "", 19, ROWS(intel_320) },
	{ "INTEL_SSDSA2MH080G1GC--045C8820", "INTEL SSDSA2MH080G1GC", "SN02BF1E7AEEFD4022DF", "045C8820", "",
		"", 12, ROWS(intel_g1) },
	{ "MCCOE64GEMPP--2.9.09", "MCCOE64GEMPP", "SN6528FBAACBA515FBA0", "2.9.09", "", "", 16,
		ROWS(samsung_slc) },
	{ "SAMSUNG_MMCQE28G8MUP--0VA_VAM08L1Q", "SAMSUNG MMCQE28G8MUP-0VA", "SN91B14CAB1091D67CEF",
		"VAM08L1Q", "", "", 21, ROWS(samsung_old) },
	{ "SAMSUNG_HD501LJ--CR100-12", "SAMSUNG HD501LJ", "SND673734EB3AB2244D7", "CR100-12", "", "", 23,
		ROWS(samsung_disk) },
	{ "Maxtor_96147H8--BAC51KJ0--2", "Maxtor 96147H8", "SND5E3720808A42103E0", "BAC51KJ0", "", "", 30,
		ROWS(maxtor) },
	{ "ST9160821AS--3.CLH", "ST9160821AS", "SNAF18C5CAC2EF04CCE4", "3.CLH", "", "", 22, ROWS(seagate) },
	{ "TOSHIBA_MK1651GSY--38IGT0G5T", "TOSHIBA MK1651GSY", "SN25A2AF0C8F7F829618", "LD001D", "", "", 15,
		ROWS(toshiba) },
	{ "WDC_WD2500JB--00REA0-20.00K20", "WDC WD2500JB-00REA0", "SN40438D918F8363D2C9", "20.00K20", "", "",
		15, ROWS(wdc) },
	{ "synthetic-s231", "TESTDRIVE SSD 001", "SN9D9481CAA4CA829F6B", "4PC10302", "",
		"IDENTIFY: its checksum is wrong", 4, ROWS(life_left) },
	{ "synthetic-soverflow", "TESTDRIVE SSD 001", "SN9D9481CAA4CA829F6B", "4PC10302", "",
		"IDENTIFY: its checksum is wrong", 4, ROWS(overflow) },
};

static size_t read_blob(const char *file, uint8_t *bytes, size_t size)
{
	char name[128];

	(void)snprintf(name, sizeof(name), "atasmart-blobs/%s.blob", file);
	return fixture_read_shared(name, bytes, size);
}

static void test_every_recorded_blob_to_its_own_numbers(void **state)
{
	uint8_t blob[4096];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(blobs); i++) {
		size_t length = read_blob(blobs[i].file, blob, sizeof(blob));
		struct reading reading;

		if (!length)
			skip();
		print_message("%s\n", blobs[i].file);
		reading_init(&reading);
		assert_int_equal(reading_decode_atasmart_blob(&reading, blob, length), 0);
		assert_string_equal(reading.model, blobs[i].model);
		assert_string_equal(reading.serial, blobs[i].serial);
		assert_string_equal(reading.firmware, blobs[i].firmware);
		assert_string_equal(reading.family, blobs[i].family);
		assert_string_equal(reading.notes, blobs[i].notes);
		assert_int_equal(reading.attribute_count, blobs[i].attribute_count);
		fixture_check(&reading, blobs[i].values, blobs[i].count);
	}
}

static void test_a_recorded_drive_below_zero(void **state)
{
	struct reading reading;
	uint8_t blob[4096];
	size_t length = read_blob("synthetic-sneg", blob, sizeof(blob));

	(void)state;
	if (!length)
		skip();
	reading_init(&reading);
	assert_int_equal(reading_decode_atasmart_blob(&reading, blob, length), 0);
	assert_true(reading.known[READING_TEMP_C]);
	assert_true(reading.value[READING_TEMP_C] == -5);
	/* The bytes above are milliseconds. */
	assert_true(reading.value[READING_POWER_ON_HOURS] == 1000);
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

static void put_identify(uint8_t *page, const char *model, unsigned rotation)
{
	memset(page, 0, 512);
	page[0] = 0x40;
	put_text(page, 10, 10, "   TA-000042");
	put_text(page, 23, 4, "FW 7.1");
	put_text(page, 27, 20, model);
	fixture_put(page, 2 * 217, 2, rotation);
	page[510] = 0xa5;
	put_checksum(page);
}

static void test_identify_tells_who_how_fast_and_how_large(void **state)
{
	static const struct {
		unsigned rotation, size_word;
		uint32_t words;
		uint64_t rpm, block_bytes; /* UINT64_MAX: unknown */
	} row[] = {
		{ 1, 0, 0, 0, 512 }, { 7200, 0x4000, 0, 7200, 512 }, { 0, 0x5000, 2048, UINT64_MAX, 4096 },
		{ 0x400, 0x5003, 2048, UINT64_MAX, 4096 },
		{ 0xffff, 0xd000, 2048, UINT64_MAX, 512 },			     /* not valid */
		{ 0x401, 0x1000, 2048, 1025, 512 }, { 1, 0x5000, 0, 0, UINT64_MAX }, /* a block of nothing */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		uint8_t page[512];
		struct reading reading;
		uint64_t rpm = UINT64_MAX, block_bytes = UINT64_MAX;

		put_identify(page, "Samsung SSD 860 EVO 500GB", row[i].rotation);
		fixture_put(page, 212, 2, row[i].size_word);
		fixture_put(page, 234, 4, row[i].words);
		put_checksum(page);
		reading_init(&reading);
		assert_int_equal(reading_decode_ata_identify(&reading, page, sizeof(page)), 0);
		assert_string_equal(reading.model, "Samsung SSD 860 EVO 500GB");
		assert_string_equal(reading.serial, "TA-000042");
		assert_string_equal(reading.firmware, "FW 7.1");
		assert_string_equal(reading.notes, "");
		(void)reading_get_u64(&reading, READING_ROTATION_RPM, &rpm);
		(void)reading_get_u64(&reading, READING_LOGICAL_BLOCK_BYTES, &block_bytes);
		assert_int_equal(rpm, row[i].rpm);
		assert_int_equal(block_bytes, row[i].block_bytes);
		/* A disk with a name like that is no SSD. */
		assert_string_equal(
			reading.family, rpm == 0 || rpm == UINT64_MAX ? "Samsung 470 to 870, PM8xx" : "");
	}
}

static void test_pages_that_are_none_are_refused(void **state)
{
	uint8_t page[512], blob[64] = "IDFY";
	struct reading reading;

	(void)state;
	reading_init(&reading);
	memset(page, 0, sizeof(page));
	assert_int_equal(reading_decode_ata_identify(&reading, page, 512), -EINVAL);
	assert_int_equal(reading_decode_ata_smart(&reading, page, NULL), -EINVAL);
	assert_int_equal(reading_decode_ata_statistics(&reading, 1, page, 512), -EINVAL);
	assert_int_equal(reading_decode_ata_statistics(&reading, 0, page, 512), -EINVAL);
	memset(page, 0xff, sizeof(page));
	assert_int_equal(reading_decode_ata_identify(&reading, page, 512), -EINVAL);
	assert_int_equal(reading_decode_ata_smart(&reading, page, NULL), -EINVAL);
	put_identify(page, "A DRIVE", 1);
	assert_int_equal(reading_decode_ata_identify(&reading, page, 511), -EINVAL);
	assert_int_equal(reading_decode_atasmart_blob(&reading, blob, 0), -EINVAL);
	assert_int_equal(reading_decode_atasmart_blob(&reading, blob, 7), -EINVAL);
	assert_int_equal(reading_decode_atasmart_blob(&reading, blob, 8), -EINVAL); /* of no bytes */
	fixture_put(blob, 4, 4, 0xffffffff);
	assert_int_equal(reading_decode_atasmart_blob(&reading, blob, sizeof(blob)), -EINVAL);
	fixture_check(&reading, NULL, 0);
	assert_string_equal(reading.model, "");
}

static void put_attribute(uint8_t *page, size_t index, uint8_t id, uint8_t current, uint64_t raw)
{
	uint8_t *entry = page + 2 + index * 12;

	entry[0] = id;
	fixture_put(entry, 1, 2, 0x0133);
	entry[3] = current;
	entry[4] = (uint8_t)(current - 1);
	fixture_put(entry, 5, 6, raw);
	put_checksum(page);
}

static void test_an_attribute_is_what_its_entry_says(void **state)
{
	uint8_t identify[512], data[512] = { 0 }, thresholds[512] = { 0 };
	struct reading reading;
	const struct reading_attribute *attribute;

	(void)state;
	put_identify(identify, "INTEL SSDSC2BB120G4", 1);
	put_attribute(data, 0, 233, 61, 7);
	put_attribute(data, 3, 241, 90, 0x0605040302);
	put_attribute(data, 29, 170, 9, 11);
	put_attribute(data, 7, 241, 10, 99); /* again: the first counts */
	thresholds[2] = 170;
	thresholds[3] = 10;
	thresholds[14] = 241;
	thresholds[15] = 5;
	put_checksum(thresholds);
	reading_init(&reading);
	assert_int_equal(reading_decode_ata_identify(&reading, identify, 512), 0);
	assert_int_equal(reading_decode_ata_smart(&reading, data, thresholds), 0);
	assert_int_equal(reading.attribute_count, 3);
	attribute = &reading.attributes[1];
	assert_int_equal(attribute->id, 241);
	assert_int_equal(attribute->current, 90);
	assert_int_equal(attribute->worst, 89);
	assert_int_equal(attribute->threshold, 5);
	assert_int_equal(attribute->flags, 0x0133);
	assert_true(attributes_raw(attribute) == 0x0605040302);
	assert_string_equal(attribute->name, "written by the host");
	assert_int_equal(reading.attributes[0].threshold, 0);
	assert_true(reading.value[READING_PERCENT_USED] == 39);
	assert_true(reading.value[READING_HOST_WRITTEN_RAW] == 0x0605040302);
	assert_true(reading.value[READING_FAILED_THRESHOLDS] == 1); /* 170: 9 of 10 */
	assert_string_equal(reading.notes, "");
	/* Twice the same page, twice the same reading. */
	assert_int_equal(reading_decode_ata_smart(&reading, data, thresholds), 0);
	assert_int_equal(reading.attribute_count, 3);
}

static void test_wrong_checksums_are_said_and_thresholds_dropped(void **state)
{
	uint8_t data[512] = { 0 }, thresholds[512] = { 0 };
	struct reading reading;

	(void)state;
	put_attribute(data, 0, 5, 1, 3);
	data[400] ^= 1;
	thresholds[2] = 5;
	thresholds[3] = 10;
	reading_init(&reading);
	assert_int_equal(reading_decode_ata_smart(&reading, data, thresholds), 0);
	assert_non_null(strstr(reading.notes, "SMART data: its checksum"));
	assert_non_null(strstr(reading.notes, "SMART thresholds: their checksum"));
	assert_int_equal(reading.attributes[0].threshold, 0);
	assert_false(reading.known[READING_FAILED_THRESHOLDS]);
	assert_true(reading.value[READING_REALLOCATED] == 3);
}

/* A page of the log; a value with its flags. */
static void put_statistic(uint8_t *page, unsigned number, size_t at, uint64_t value, uint8_t flags)
{
	fixture_put(page, 0, 2, 1);
	page[2] = (uint8_t)number;
	fixture_put(page, at, 7, value);
	page[at + 7] = flags;
}

#define VALID 0xc0

static void put_statistics(uint8_t pages[8][512], uint8_t flags)
{
	memset(pages, 0, 8 * 512);
	put_statistic(pages[1], 1, 0x08, 71, flags);
	put_statistic(pages[1], 1, 0x10, 7300, flags);
	put_statistic(pages[1], 1, 0x18, 0x7500000075, flags);
	put_statistic(pages[1], 1, 0x20, 0x7700000077, flags);
	put_statistic(pages[1], 1, 0x28, 0x7900000079, flags);
	put_statistic(pages[1], 1, 0x30, 0x8100000081, flags);
	put_statistic(pages[4], 4, 0x08, 83, flags);
	put_statistic(pages[4], 4, 0x10, 85, flags);
	put_statistic(pages[5], 5, 0x08, 0xf5, flags); /* -11 */
	put_statistic(pages[5], 5, 0x50, 87, flags);
	put_statistic(pages[5], 5, 0x58, 75, flags);
	put_statistic(pages[6], 6, 0x08, 89, flags);
	put_statistic(pages[6], 6, 0x18, 91, flags);
	put_statistic(pages[7], 7, 0x08, 103, flags | 0x20);
}

static void test_each_statistic_is_the_field_of_its_place(void **state)
{
	static const struct fixture_value wanted[] = { { READING_POWER_CYCLES, 71 },
		{ READING_POWER_ON_HOURS, 7300 }, { READING_HOST_WRITTEN_RAW, 0x7500000075 },
		{ READING_HOST_WRITTEN_UNIT_BYTES, 512 }, { READING_HOST_WRITTEN_BYTES, 0x7500000075 * 512 },
		{ READING_HOST_WRITE_COMMANDS, 0x7700000077 },
		{ READING_HOST_READ_BYTES, 0x7900000079 * 512 }, { READING_HOST_READ_COMMANDS, 0x8100000081 },
		{ READING_MEDIA_ERRORS, 83 }, { READING_WARNING_TEMP_MINUTES, 87 },
		{ READING_WARNING_TEMP_C, 75 }, { READING_CRC_ERRORS, 91 }, { READING_PERCENT_USED, 103 } };
	uint8_t pages[8][512];
	struct reading reading;

	(void)state;
	put_statistics(pages, VALID);
	reading_init(&reading);
	for (unsigned i = 1; i < 8; i++)
		if (i != 2 && i != 3)
			assert_int_equal(reading_decode_ata_statistics(&reading, i, pages[i], 512), 0);
	assert_true(reading.known[READING_TEMP_C] && reading.value[READING_TEMP_C] == -11);
	reading_clear(&reading, READING_TEMP_C);
	fixture_check(&reading, wanted, ARRAY_LEN(wanted));
	/* Another page's number. */
	assert_int_equal(reading_decode_ata_statistics(&reading, 2, pages[1], 512), -EINVAL);
}

static void test_a_statistic_counts_when_it_is_supported_and_valid(void **state)
{
	static const uint8_t flags[] = { 0, 0x80, 0x40, 0x3f };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
		uint8_t pages[8][512];
		struct reading reading;

		put_statistics(pages, flags[i]);
		reading_init(&reading);
		for (unsigned j = 1; j < 8; j++)
			if (j != 2 && j != 3)
				assert_int_equal(
					reading_decode_ata_statistics(&reading, j, pages[j], 512), 0);
		fixture_check(&reading, NULL, 0);
	}
}

/* The order of decoding makes no difference: statistics first, or the attributes. */
static void test_statistics_are_trusted_more_than_attributes(void **state)
{
	(void)state;
	for (int is_first = 0; is_first < 2; is_first++) {
		uint8_t identify[512], data[512] = { 0 }, page1[512] = { 0 }, page5[512] = { 0 };
		struct reading reading;

		put_identify(identify, "Samsung SSD 860 EVO 500GB", 1);
		put_attribute(data, 0, 241, 99, 5000);
		put_attribute(data, 1, 12, 99, 11);
		put_attribute(data, 2, 194, 60, 40);
		put_attribute(data, 3, 9, 60, 60000);
		put_statistic(page1, 1, 0x18, 7000, VALID);
		put_statistic(page5, 5, 0x08, 0x80, VALID); /* -128: no temperature */
		reading_init(&reading);
		assert_int_equal(reading_decode_ata_identify(&reading, identify, 512), 0);
		for (int step = 0; step < 2; step++) {
			if ((step == 0) == (is_first != 0)) {
				assert_int_equal(reading_decode_ata_statistics(&reading, 1, page1, 512), 0);
				assert_int_equal(reading_decode_ata_statistics(&reading, 5, page5, 512), 0);
			} else {
				assert_int_equal(reading_decode_ata_smart(&reading, data, NULL), 0);
			}
		}
		assert_true(reading.value[READING_HOST_WRITTEN_RAW] == 7000);
		assert_true(reading.value[READING_HOST_WRITTEN_BYTES] == 7000 * 512);
		assert_true(reading.value[READING_POWER_CYCLES] == 11);
		assert_true(reading.value[READING_TEMP_C] == 40);
	}
}

static void test_the_list_of_statistics(void **state)
{
	uint8_t page[512] = { 1, 0, 0, 0, 0, 0, 0, 0, 5, 0, 1, 5, 7, 200, 6 };

	(void)state;
	assert_int_equal(reading_list_ata_statistics(page), 1u | 1u << 1 | 1u << 5 | 1u << 7);
	page[8] = 255; /* to the end of the page, and no further */
	assert_int_equal(reading_list_ata_statistics(page), 1u | 1u << 1 | 1u << 5 | 1u << 7 | 1u << 6);
	page[2] = 1;
	assert_int_equal(reading_list_ata_statistics(page), 0);
	memset(page, 0, sizeof(page));
	assert_int_equal(reading_list_ata_statistics(page), 0);
}

static void test_a_blob_without_some_of_its_chunks(void **state)
{
	uint8_t blob[3 * 8 + 512 + 512 + 4] = { 0 };
	struct reading reading;

	(void)state;
	memcpy(blob, "XXXX\0\0\0\0", 8); /* not ours, of no bytes */
	memcpy(blob + 8, "IDFY\0\0\2\0", 8);
	put_identify(blob + 16, "TESTED SSD 9", 1);
	reading_init(&reading);
	assert_int_equal(reading_decode_atasmart_blob(&reading, blob, 16 + 512), 0);
	assert_string_equal(reading.model, "TESTED SSD 9");
	assert_string_equal(reading.notes, "no SMART data");
	assert_false(reading.known[READING_SMART_FAILED]);
	/* Cut within a chunk. */
	reading_init(&reading);
	assert_int_equal(reading_decode_atasmart_blob(&reading, blob, 16 + 511), -EINVAL);
	/* A status of another length than it has is none. */
	memcpy(blob + 528, "SMST\0\0\0\2\0\0", 10);
	reading_init(&reading);
	assert_int_equal(reading_decode_atasmart_blob(&reading, blob, 538), 0);
	assert_false(reading.known[READING_SMART_FAILED]);
}

static void test_a_command_is_spelt_as_the_translation_has_it(void **state)
{
	static const struct reading_ata_command log = {
		.command = 0x2f, .count = 1, .lba = 0x04 | 7 << 8, .is_48 = true
	};
	static const struct reading_ata_command status = {
		.command = 0xb0, .feature = 0xda, .lba = 0xc24f00
	};
	static const uint8_t log_cdb[16] = { 0x85, 4 << 1 | 1, 0x0e, 0, 0, 0, 1, 0, 0x04, 0, 0x07, 0, 0, 0,
		0x2f, 0 };
	static const uint8_t status_cdb[16] = { 0x85, 3 << 1, 0x20, 0, 0xda, 0, 0, 0, 0, 0, 0x4f, 0, 0xc2, 0,
		0xb0, 0 };
	uint8_t cdb[16] = { 0 };

	(void)state;
	reading_ata_put_command(&log, true, cdb);
	assert_memory_equal(cdb, log_cdb, sizeof(cdb));
	memset(cdb, 0, sizeof(cdb));
	reading_ata_put_command(&status, false, cdb);
	assert_memory_equal(cdb, status_cdb, sizeof(cdb));
}

static void test_registers_are_found_in_either_sense(void **state)
{
	static const uint8_t fixed[18] = { 0x70, 0, 1, 0, 0x50, 0, 0, 10, 0, 0x00, 0xf4, 0x2c };
	static const uint8_t described[22] = { 0x72, 1, 0, 0x1d, 0, 0, 0, 14, 9, 12, 0, 0, 0, 0, 0, 0x11, 0,
		0x4f, 0, 0xc2, 0, 0x50 };
	uint8_t other[22];
	uint64_t lba = 7;

	(void)state;
	assert_int_equal(reading_ata_get_registers(described, 22, &lba), 0);
	assert_int_equal(lba, 0xc24f11);
	assert_int_equal(reading_ata_get_registers(fixed, 18, &lba), 0);
	assert_int_equal(lba, 0x2cf400);
	lba = 7;
	assert_int_equal(reading_ata_get_registers(described, 21, &lba), -EOPNOTSUPP);
	assert_int_equal(reading_ata_get_registers(fixed, 11, &lba), -EOPNOTSUPP);
	assert_int_equal(reading_ata_get_registers(fixed, 0, &lba), -EOPNOTSUPP);
	memcpy(other, described, sizeof(other));
	other[8] = 0;
	assert_int_equal(reading_ata_get_registers(other, 22, &lba), -EOPNOTSUPP);
	assert_int_equal(lba, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_recorded_blob_to_its_own_numbers),
		cmocka_unit_test(test_a_recorded_drive_below_zero),
		cmocka_unit_test(test_identify_tells_who_how_fast_and_how_large),
		cmocka_unit_test(test_pages_that_are_none_are_refused),
		cmocka_unit_test(test_an_attribute_is_what_its_entry_says),
		cmocka_unit_test(test_wrong_checksums_are_said_and_thresholds_dropped),
		cmocka_unit_test(test_each_statistic_is_the_field_of_its_place),
		cmocka_unit_test(test_a_statistic_counts_when_it_is_supported_and_valid),
		cmocka_unit_test(test_statistics_are_trusted_more_than_attributes),
		cmocka_unit_test(test_the_list_of_statistics),
		cmocka_unit_test(test_a_blob_without_some_of_its_chunks),
		cmocka_unit_test(test_a_command_is_spelt_as_the_translation_has_it),
		cmocka_unit_test(test_registers_are_found_in_either_sense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
