/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Readings and the decoders of NVMe pages: each field with a number of its own, so that a swapped one is seen. */
#include "unit.h"

#include <errno.h>
#include <json.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probes/reading_private.h"
#include "reading_fixture.h"

#define LARGEST "340282366920938463463374607431768211455"

static void check_contains(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no %s in %s", part, text);
}

static void check_json(const struct reading *reading, const char *part)
{
	struct text text = TEXT_INIT;

	reading_json(reading, &text);
	assert_int_equal(text_error(&text), 0);
	check_contains(text_string(&text), part);
	text_fini(&text);
}

static void test_an_empty_reading_is_null_everywhere(void **state)
{
	struct reading reading;
	struct text text = TEXT_INIT, whole = TEXT_INIT;
	struct json_object *object;
	uint64_t value = 7;

	(void)state;
	reading_init(&reading);
	reading_json(&reading, &text);
	text_addf(&whole, "{%s}", text_string(&text));
	object = json_tokener_parse(text_string(&whole));
	assert_non_null(object);
	json_object_object_foreach(object, key, member)
	{
		if (strcmp(key, "attributes") == 0)
			assert_int_equal(json_object_array_length(member), 0);
		else if (member)
			fail_msg("%s is not null", key);
	}
	/* Fields, t_s, eight texts and attributes. */
	assert_int_equal(json_object_object_length(object), READING_FIELD_COUNT + 10);
	for (enum reading_field field = 0; field < READING_FIELD_COUNT; field++) {
		assert_true(json_object_object_get_ex(object, reading_field_name(field), NULL));
		assert_true(isnan(reading_get_double(&reading, field)));
		assert_false(reading_get_u64(&reading, field, &value));
	}
	assert_int_equal(value, 7);
	assert_null(strstr(text_string(&text), "nan"));
	json_object_put(object);
	text_fini(&text);
	text_fini(&whole);
}

static void test_names_are_those_of_the_interface(void **state)
{
	static const struct {
		enum reading_field field;
		const char *name;
	} row[] = {
		{ READING_TEMP_C, "temp_c" },
		{ READING_PERCENT_USED, "percent_used" },
		{ READING_SPARE_PCT, "spare_pct" },
		{ READING_SPARE_THRESHOLD_PCT, "spare_threshold_pct" },
		{ READING_HOST_WRITTEN_BYTES, "host_written_bytes" },
		{ READING_MEDIA_WRITTEN_BYTES, "media_written_bytes" },
		{ READING_MEDIA_ERRORS, "media_errors" },
		{ READING_UNSAFE_SHUTDOWNS, "unsafe_shutdowns" },
		{ READING_POWER_ON_HOURS, "power_on_hours" },
		{ READING_CRITICAL_WARNING, "critical_warning" },
		{ READING_WARNING_TEMP_MINUTES, "warning_temp_minutes" },
		{ READING_CRITICAL_TEMP_MINUTES, "critical_temp_minutes" },
		{ READING_THERMAL1_COUNT, "thermal1_count" },
		{ READING_THERMAL2_COUNT, "thermal2_count" },
		{ READING_CRC_ERRORS, "crc_errors" },
		{ READING_REALLOCATED, "reallocated" },
		{ READING_SENSOR8_C, "sensor8_c" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(row); i++)
		assert_string_equal(reading_field_name(row[i].field), row[i].name);
	for (enum reading_field a = 0; a < READING_FIELD_COUNT; a++)
		for (enum reading_field b = 0; b < a; b++)
			assert_string_not_equal(reading_field_name(a), reading_field_name(b));
}

static void test_numbers_are_exact_up_to_128_bits(void **state)
{
	const unsigned __int128 largest = ~(unsigned __int128)0;
	struct reading reading;
	uint64_t value = 7;

	(void)state;
	reading_init(&reading);
	reading_set(&reading, READING_MEDIA_ERRORS, (__int128)largest);
	reading_set(&reading, READING_POWER_CYCLES, (__int128)UINT64_MAX);
	reading_set(&reading, READING_POWER_ON_HOURS, (__int128)UINT64_MAX + 1);
	reading_set(&reading, READING_BUSY_MINUTES, (__int128)(largest / 2));
	reading_set(&reading, READING_TEMP_C, -5);
	check_json(&reading, "\"media_errors\":" LARGEST ",");
	check_json(&reading, "\"power_cycles\":18446744073709551615,");
	check_json(&reading, "\"power_on_hours\":18446744073709551616,");
	check_json(&reading, "\"busy_minutes\":170141183460469231731687303715884105727,");
	check_json(&reading, "\"temp_c\":-5,");
	assert_false(reading_get_u64(&reading, READING_MEDIA_ERRORS, &value));
	assert_false(reading_get_u64(&reading, READING_POWER_ON_HOURS, &value));
	assert_false(reading_get_u64(&reading, READING_TEMP_C, &value));
	assert_int_equal(value, 7);
	assert_true(reading_get_u64(&reading, READING_POWER_CYCLES, &value));
	assert_true(value == UINT64_MAX);
	assert_true(reading_get_double(&reading, READING_MEDIA_ERRORS) > 3.4028e38);
	assert_true(fabs(reading_get_double(&reading, READING_TEMP_C) + 5) < 1e-9);
}

static void test_a_temperature_that_no_drive_has_is_unknown(void **state)
{
	static const struct {
		int temp_c;
		bool is_known;
	} row[] = { { -273, false }, { -41, false }, { -40, true }, { 0, true }, { 125, true },
		{ 126, false } };
	struct reading reading;

	(void)state;
	reading_init(&reading);
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		reading_set(&reading, READING_TEMP_C, row[i].temp_c);
		assert_int_equal(reading.known[READING_TEMP_C], row[i].is_known);
	}
	check_json(&reading, "\"temp_c\":null,");
}

static void test_texts_notes_and_attributes(void **state)
{
	struct reading reading;

	(void)state;
	reading_init(&reading);
	reading.t_ms = 1764547200123;
	text_copy(reading.source, sizeof(reading.source), "nvme");
	text_copy(reading.model, sizeof(reading.model), "M \"1\"");
	reading_note(&reading, "page %02Xh: %s", 9, "refused");
	reading_note(&reading, "page 09h: refused");
	reading_note(&reading, "bell \a");
	reading.attribute_count = 1;
	reading.attributes[0] = (struct reading_attribute){ .id = 241,
		.current = 99,
		.worst = 98,
		.threshold = 10,
		.raw = { 1, 2, 3, 4, 5, 0xff },
		.flags = 0x32 };
	check_json(&reading, "\"t_s\":1764547200.123,");
	check_json(&reading,
		"\"source\":\"nvme\",\"model\":\"M \\\"1\\\"\",\"serial\":null,\"firmware\":null,"
		"\"family\":null,\"host_written_from\":null,\"media_written_from\":null,\"notes\":\"page "
		"09h: refused; bell ?\",\"attributes\":[{\"id\":241,"
		"\"name\":null,\"current\":99,\"worst\":98,\"threshold\":10,\"raw\":280397007225345,"
		"\"flags\":50}]");
	for (unsigned i = 0; i < 300; i++)
		reading_note(&reading, "note %u", i);
	assert_int_equal(strlen(reading.notes), READING_NOTES_MAX - 1);
}

static void test_pages_are_kept_and_replaced(void **state)
{
	const struct reading_page *page;
	struct reading reading;
	char name[24];

	(void)state;
	reading_init(&reading);
	assert_int_equal(reading_keep_page(&reading, "nvme-02h", "abc", 3), 0);
	assert_int_equal(reading_keep_page(&reading, "ocp-c0h", "de", 2), 0);
	assert_int_equal(reading_keep_page(&reading, "nvme-02h", "wxyz", 4), 0);
	assert_int_equal(reading.page_count, 2);
	page = reading_find_page(&reading, "nvme-02h");
	assert_non_null(page);
	assert_int_equal(page->length, 4);
	assert_memory_equal(page->bytes, "wxyz", 4);
	assert_null(reading_find_page(&reading, "nvme-09h"));
	for (unsigned i = 2; i < READING_PAGES_MAX; i++) {
		(void)snprintf(name, sizeof(name), "page-%u", i);
		assert_int_equal(reading_keep_page(&reading, name, "", 0), 0);
	}
	assert_int_equal(reading_keep_page(&reading, "one too many", "", 0), -ENOSPC);
	assert_int_equal(reading.page_count, READING_PAGES_MAX);
	reading_fini(&reading);
	assert_int_equal(reading.page_count, 0);
	reading_fini(NULL);
}

static void test_warnings_are_words(void **state)
{
	static const struct {
		uint64_t bits;
		const char *words;
	} row[] = {
		{ 0, "" },
		{ 1, "spare below its threshold" },
		{ 2, "temperature beyond a limit" },
		{ 12, "reliability degraded, media read-only" },
		{ 16, "backup of the volatile memory failed" },
		{ 0xe0, "persistent memory region read-only or unreliable, unknown bits 0xc0" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		struct text text = TEXT_INIT;

		reading_warning_words(row[i].bits, &text);
		assert_string_equal(text_string(&text), row[i].words);
		text_fini(&text);
	}
}

static void test_every_field_of_page_02h(void **state)
{
	static const struct fixture_value values[] = {
		{ READING_CRITICAL_WARNING, 0x15 },
		{ READING_TEMP_C, 61 },
		{ READING_SPARE_PCT, 93 },
		{ READING_SPARE_THRESHOLD_PCT, 11 },
		{ READING_PERCENT_USED, 107 },
		{ READING_ENDURANCE_GROUP_WARNING, 4 },
		{ READING_HOST_READ_BYTES, 512001536000 },
		{ READING_HOST_WRITTEN_RAW, 2000005 },
		{ READING_HOST_WRITTEN_UNIT_BYTES, 512000 },
		{ READING_HOST_WRITTEN_BYTES, 1024002560000 },
		{ READING_HOST_READ_COMMANDS, 3000000007 },
		{ READING_HOST_WRITE_COMMANDS, 4000000009 },
		{ READING_BUSY_MINUTES, 50011 },
		{ READING_POWER_CYCLES, 613 },
		{ READING_POWER_ON_HOURS, 7017 },
		{ READING_UNSAFE_SHUTDOWNS, 819 },
		{ READING_MEDIA_ERRORS, 921 },
		{ READING_ERROR_LOG_ENTRIES, 1023 },
		{ READING_WARNING_TEMP_MINUTES, 1125 },
		{ READING_CRITICAL_TEMP_MINUTES, 1227 },
		{ READING_SENSOR1_C, 31 },
		{ READING_SENSOR1_C + 1, 32 },
		{ READING_SENSOR1_C + 3, 34 },
		{ READING_SENSOR1_C + 4, 35 },
		{ READING_SENSOR1_C + 5, 36 },
		{ READING_SENSOR1_C + 6, 37 },
		{ READING_SENSOR8_C, 38 },
		{ READING_THERMAL1_COUNT, 1329 },
		{ READING_THERMAL2_COUNT, 1431 },
		{ READING_THERMAL1_S, 1533 },
		{ READING_THERMAL2_S, 1635 },
		{ READING_LIFETIME_ENERGY_WH, 1737 },
	};
	uint8_t page[512];
	struct reading reading;

	(void)state;
	fixture_nvme_smart(page);
	reading_init(&reading);
	assert_int_equal(reading_decode_nvme_smart(&reading, page, 511), -EINVAL);
	assert_int_equal(reading_decode_nvme_smart(&reading, page, sizeof(page)), 0);
	fixture_check(&reading, values, ARRAY_LEN(values));
	assert_string_equal(reading.notes, "");
}

static void test_written_units_of_0_are_not_reported(void **state)
{
	uint8_t page[512];
	struct reading reading;

	(void)state;
	fixture_nvme_smart(page);
	fixture_put(page, 48, 16, 0);
	fixture_put(page, 32, 16, 0);
	reading_init(&reading);
	assert_int_equal(reading_decode_nvme_smart(&reading, page, sizeof(page)), 0);
	assert_false(reading.known[READING_HOST_WRITTEN_RAW]);
	assert_false(reading.known[READING_HOST_WRITTEN_BYTES]);
	assert_false(reading.known[READING_HOST_READ_BYTES]);
	/* A drive that has seen no write counts from here on. */
	fixture_put(page, 80, 16, 0);
	assert_int_equal(reading_decode_nvme_smart(&reading, page, sizeof(page)), 0);
	assert_true(reading.known[READING_HOST_WRITTEN_RAW]);
	assert_true(reading.value[READING_HOST_WRITTEN_RAW] == 0);
	assert_false(reading.known[READING_HOST_WRITTEN_BYTES]);
}

static void test_reserved_percentages_are_unknown(void **state)
{
	uint8_t page[512];
	struct reading reading;

	(void)state;
	fixture_nvme_smart(page);
	page[3] = 101;
	page[4] = 255;
	page[5] = 255;
	reading_init(&reading);
	assert_int_equal(reading_decode_nvme_smart(&reading, page, sizeof(page)), 0);
	assert_false(reading.known[READING_SPARE_PCT]);
	assert_false(reading.known[READING_SPARE_THRESHOLD_PCT]);
	assert_true(reading.value[READING_PERCENT_USED] == 255);
	assert_string_equal(reading.notes, "spare_pct: 101 is none; spare_threshold_pct: 255 is none");
}

static void test_identify_tells_who_and_its_limits(void **state)
{
	static const struct fixture_value values[] = { { READING_WARNING_TEMP_C, 71 },
		{ READING_CRITICAL_TEMP_C, 83 } };
	uint8_t page[4096];
	struct reading reading;

	(void)state;
	fixture_nvme_identify(page);
	reading_init(&reading);
	assert_int_equal(reading_decode_nvme_identify(&reading, page, 512), -EINVAL);
	assert_int_equal(reading_decode_nvme_identify(&reading, page, sizeof(page)), 0);
	fixture_check(&reading, values, ARRAY_LEN(values));
	assert_string_equal(reading.serial, "SN-0042");
	assert_string_equal(reading.model, "TESTED DRIVE 7 GB");
	assert_string_equal(reading.firmware, "FW 1.2");
	reading_init(&reading);
	fixture_put(page, 266, 4, 0);
	assert_int_equal(reading_decode_nvme_identify(&reading, page, sizeof(page)), 0);
	fixture_check(&reading, NULL, 0);
	page[10] = 0x80;
	assert_int_equal(reading_decode_nvme_identify(&reading, page, sizeof(page)), 0);
	assert_string_equal(reading.serial, "SN-004?");
	memset(page, 0xff, sizeof(page));
	assert_int_equal(reading_decode_nvme_identify(&reading, page, sizeof(page)), -EINVAL);
	memset(page, 0, sizeof(page));
	assert_int_equal(reading_decode_nvme_identify(&reading, page, sizeof(page)), -EINVAL);
}

static void test_every_field_of_page_09h(void **state)
{
	static const struct fixture_value values[] = {
		{ READING_CRITICAL_WARNING, 5 },
		{ READING_SPARE_PCT, 88 },
		{ READING_SPARE_THRESHOLD_PCT, 9 },
		{ READING_PERCENT_USED, 41 },
		{ READING_ENDURANCE_ESTIMATE_BYTES, 6001000000000 },
		{ READING_HOST_READ_BYTES, 1301000000000 },
		{ READING_HOST_WRITTEN_RAW, 1703 },
		{ READING_HOST_WRITTEN_UNIT_BYTES, 1000000000 },
		{ READING_HOST_WRITTEN_BYTES, 1703000000000 },
		{ READING_MEDIA_WRITTEN_RAW, 1907 },
		{ READING_MEDIA_WRITTEN_UNIT_BYTES, 1000000000 },
		{ READING_MEDIA_WRITTEN_BYTES, 1907000000000 },
		{ READING_HOST_READ_COMMANDS, 2102 },
		{ READING_HOST_WRITE_COMMANDS, 2304 },
		{ READING_MEDIA_ERRORS, 25 },
		{ READING_ERROR_LOG_ENTRIES, 27 },
	};
	uint8_t page[512], smart[512];
	struct reading reading;

	(void)state;
	fixture_nvme_group(page);
	reading_init(&reading);
	assert_int_equal(reading_decode_nvme_endurance_group(&reading, page, sizeof(page)), 0);
	fixture_check(&reading, values, ARRAY_LEN(values));
	/* What page 02h said stays. */
	fixture_nvme_smart(smart);
	reading_init(&reading);
	assert_int_equal(reading_decode_nvme_smart(&reading, smart, sizeof(smart)), 0);
	assert_int_equal(reading_decode_nvme_endurance_group(&reading, page, sizeof(page)), 0);
	assert_true(reading.value[READING_PERCENT_USED] == 107);
	assert_true(reading.value[READING_HOST_WRITTEN_RAW] == 2000005);
	assert_true(reading.value[READING_HOST_WRITTEN_UNIT_BYTES] == 512000);
	assert_true(reading.value[READING_MEDIA_WRITTEN_BYTES] == 1907000000000);
	memset(page, 0, sizeof(page));
	assert_int_equal(reading_decode_nvme_endurance_group(&reading, page, sizeof(page)), -EINVAL);
	memset(page, 0xff, sizeof(page));
	assert_int_equal(reading_decode_nvme_endurance_group(&reading, page, sizeof(page)), -EINVAL);
}

static void test_every_field_of_the_ocp_page(void **state)
{
	static const struct fixture_value values[] = {
		{ READING_MEDIA_WRITTEN_RAW, 3000000000001 },
		{ READING_MEDIA_WRITTEN_UNIT_BYTES, 1 },
		{ READING_MEDIA_WRITTEN_BYTES, 3000000000001 },
		{ READING_MEDIA_READ_BYTES, 4000000000003 },
		{ READING_BAD_BLOCKS, 105 },
		{ READING_MEDIA_ERRORS, 109 },
		{ READING_MAX_ERASES, 211 },
		{ READING_MIN_ERASES, 213 },
		{ READING_THROTTLE_EVENTS, 215 },
		{ READING_THROTTLE_LEVEL, 2 },
		{ READING_PCIE_CORRECTABLE_ERRORS, 217 },
		{ READING_PLP_PCT, 101 },
		{ READING_ENDURANCE_ESTIMATE_BYTES, 5000000000005 },
		{ READING_MEAN_ERASES, 221 },
	};
	uint8_t page[512];
	struct reading reading;

	(void)state;
	fixture_ocp(page);
	reading_init(&reading);
	assert_int_equal(reading_decode_ocp_smart(&reading, page, sizeof(page)), 0);
	fixture_check(&reading, values, ARRAY_LEN(values));
	/* What it does not tell is not 0. */
	reading_init(&reading);
	fixture_put(page, 0, 16, 0);
	fixture_put(page, 224, 8, 0);
	fixture_put(page, 32, 6, UINT64_MAX);
	fixture_put(page, 128, 2, 0xffff);
	page[97] = 4;
	assert_int_equal(reading_decode_ocp_smart(&reading, page, sizeof(page)), 0);
	assert_false(reading.known[READING_MEDIA_WRITTEN_RAW]);
	assert_false(reading.known[READING_MEAN_ERASES]);
	assert_false(reading.known[READING_BAD_BLOCKS]);
	assert_false(reading.known[READING_PLP_PCT]);
	assert_false(reading.known[READING_THROTTLE_LEVEL]);
}

static void test_every_field_of_intels_page(void **state)
{
	static const struct fixture_value values[] = {
		{ READING_PROGRAM_FAILS, 3 },
		{ READING_ERASE_FAILS, 4 },
		{ READING_MIN_ERASES, 501 },
		{ READING_MAX_ERASES, 602 },
		{ READING_MEAN_ERASES, 550 },
		{ READING_CRC_ERRORS, 7 },
		{ READING_WORKLOAD_WEAR, 80619 },
		{ READING_WORKLOAD_MINUTES, 4164380 },
		{ READING_THROTTLE_EVENTS, 9 },
		{ READING_MEDIA_WRITTEN_RAW, 110747 },
		{ READING_MEDIA_WRITTEN_UNIT_BYTES, 33554432 },
		{ READING_MEDIA_WRITTEN_BYTES, 3716052680704 },
	};
	uint8_t page[512], ocp[512];
	struct reading reading;

	(void)state;
	fixture_intel(page);
	reading_init(&reading);
	assert_int_equal(reading_decode_intel_smart(&reading, page, sizeof(page)), 0);
	fixture_check(&reading, values, ARRAY_LEN(values));
	assert_string_equal(reading.media_written_from, "page CAh");
	/* OCP counts bytes. */
	fixture_ocp(ocp);
	assert_int_equal(reading_decode_ocp_smart(&reading, ocp, sizeof(ocp)), 0);
	assert_true(reading.value[READING_MEDIA_WRITTEN_RAW] == 3000000000001);
	assert_string_equal(reading.media_written_from, "page C0h (OCP)");
	assert_int_equal(reading_decode_intel_smart(&reading, page, sizeof(page)), 0);
	assert_true(reading.value[READING_MEDIA_WRITTEN_RAW] == 3000000000001);
	/* The timer does not run yet, and a drive that counts nothing is none that wrote nothing. */
	fixture_put(page, 5 * 12 + 5, 6, 0xffff);
	fixture_put(page, 11 * 12 + 5, 6, 0);
	reading_init(&reading);
	assert_int_equal(reading_decode_intel_smart(&reading, page, sizeof(page)), 0);
	assert_false(reading.known[READING_WORKLOAD_WEAR]);
	assert_false(reading.known[READING_MEDIA_WRITTEN_RAW]);
	/* Of others the page is something else. */
	for (size_t i = 0; i < 3; i++) {
		fixture_intel(page);
		page[i * 12] ^= 1;
		reading_init(&reading);
		assert_int_equal(reading_decode_intel_smart(&reading, page, sizeof(page)), -EINVAL);
		fixture_check(&reading, NULL, 0);
	}
	assert_int_equal(reading_decode_intel_smart(&reading, page, 511), -EINVAL);
}

/* One that is missing for once is not replaced by another count; a better one that comes is taken. */
static void test_counters_are_held(void **state)
{
	struct reading_memory memory = { .refused = 0 };
	uint8_t group[512], ocp[512];
	struct reading reading;

	(void)state;
	fixture_nvme_group(group);
	fixture_ocp(ocp);
	for (unsigned i = 0; i < 4; i++) {
		reading_init(&reading);
		assert_int_equal(reading_decode_nvme_endurance_group(&reading, group, sizeof(group)), 0);
		if (i == 1 || i == 3)
			assert_int_equal(reading_decode_ocp_smart(&reading, ocp, sizeof(ocp)), 0);
		reading_hold_counters(&memory, &reading);
		assert_true(reading.value[READING_HOST_WRITTEN_RAW] == 1703);
		assert_string_equal(reading.host_written_from, "page 09h");
		assert_int_equal(reading.known[READING_MEDIA_WRITTEN_RAW], i != 2);
		assert_int_equal(reading.known[READING_MEDIA_WRITTEN_UNIT_BYTES], i != 2);
		assert_string_equal(reading.media_written_from, i == 0	 ? "page 09h"
								: i == 2 ? ""
									 : "page C0h (OCP)");
	}
	/* Of what there is no rank it is held all the same. */
	memory = (struct reading_memory){ .refused = 0 };
	reading_set(&reading, READING_HOST_WRITTEN_RAW, 5);
	reading_set_from(&reading, READING_HOST_WRITTEN_RAW, "SCSI error counters");
	reading_hold_counters(&memory, &reading);
	assert_true(reading.known[READING_HOST_WRITTEN_RAW]);
	reading_set_from(&reading, READING_HOST_WRITTEN_RAW, "something");
	reading_hold_counters(&memory, &reading);
	assert_false(reading.known[READING_HOST_WRITTEN_RAW]);
}

static void test_another_vendors_page_is_no_ocp_page(void **state)
{
	uint8_t page[512];
	struct reading reading;

	(void)state;
	reading_init(&reading);
	for (size_t i = 496; i < 512; i++) {
		fixture_ocp(page);
		page[i] ^= 1;
		assert_int_equal(reading_decode_ocp_smart(&reading, page, sizeof(page)), -EINVAL);
	}
	fixture_check(&reading, NULL, 0);
}

static void test_a_media_counter_of_another_unit_is_told(void **state)
{
	uint8_t smart[512], group[512], page[512];
	struct reading reading;

	(void)state;
	fixture_nvme_smart(smart);
	fixture_nvme_group(group);
	fixture_ocp(page);
	/* 1.02 TB by the host, and as much by 1000 to the flash. */
	fixture_put(page, 0, 16, 1024002560000000);
	reading_init(&reading);
	assert_int_equal(reading_decode_nvme_smart(&reading, smart, sizeof(smart)), 0);
	assert_int_equal(reading_decode_nvme_endurance_group(&reading, group, sizeof(group)), 0);
	assert_true(reading.known[READING_MEDIA_WRITTEN_BYTES]);
	assert_int_equal(reading_decode_ocp_smart(&reading, page, sizeof(page)), 0);
	assert_true(reading.value[READING_MEDIA_WRITTEN_RAW] == 1024002560000000);
	assert_false(reading.known[READING_MEDIA_WRITTEN_BYTES]);
	assert_true(reading.value[READING_MEDIA_WRITTEN_BYTES] == 0);
	assert_false(reading.known[READING_MEDIA_WRITTEN_UNIT_BYTES]);
	assert_string_equal(
		reading.notes, "media_written_bytes: the unit is doubtful, 1e+03 times the host's");
}

/* Pages as smartctl saw them, beside its JSON: the numbers are those of the JSON. */
static void check_beside_json(const char *folder, const char *name)
{
	static const struct {
		const char *key;
		enum reading_field field;
		unsigned factor; /* of what the JSON has */
		bool is_sum_of_0_unknown;
	} row[] = {
		{ "critical_warning", READING_CRITICAL_WARNING, 1, false },
		{ "temperature", READING_TEMP_C, 1, false },
		{ "available_spare", READING_SPARE_PCT, 1, false },
		{ "available_spare_threshold", READING_SPARE_THRESHOLD_PCT, 1, false },
		{ "percentage_used", READING_PERCENT_USED, 1, false },
		{ "data_units_read", READING_HOST_READ_BYTES, 512000, true },
		{ "data_units_written", READING_HOST_WRITTEN_BYTES, 512000, true },
		{ "data_units_written", READING_HOST_WRITTEN_RAW, 1, true },
		{ "host_reads", READING_HOST_READ_COMMANDS, 1, false },
		{ "host_writes", READING_HOST_WRITE_COMMANDS, 1, false },
		{ "controller_busy_time", READING_BUSY_MINUTES, 1, false },
		{ "power_cycles", READING_POWER_CYCLES, 1, false },
		{ "power_on_hours", READING_POWER_ON_HOURS, 1, false },
		{ "unsafe_shutdowns", READING_UNSAFE_SHUTDOWNS, 1, false },
		{ "media_errors", READING_MEDIA_ERRORS, 1, false },
		{ "num_err_log_entries", READING_ERROR_LOG_ENTRIES, 1, false },
		{ "warning_temp_time", READING_WARNING_TEMP_MINUTES, 1, false },
		{ "critical_comp_time", READING_CRITICAL_TEMP_MINUTES, 1, false },
	};
	static char text[1 << 18];
	uint8_t page[513];
	char path[300];
	struct json_object *json, *log, *member, *sensors;
	struct reading reading;

	(void)snprintf(path, sizeof(path), "%s/%s.json", folder, name);
	text[fixture_read_shared(path, text, sizeof(text) - 1)] = '\0';
	(void)snprintf(path, sizeof(path), "nvme-bin/%s.smartlog.bin", name);
	assert_int_equal(fixture_read_shared(path, page, sizeof(page)), 512);
	json = json_tokener_parse(text);
	assert_non_null(json);
	assert_true(json_object_object_get_ex(json, "nvme_smart_health_information_log", &log));
	reading_init(&reading);
	assert_int_equal(reading_decode_nvme_smart(&reading, page, 512), 0);
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		uint64_t wanted, value = 0;

		/* What an old smartctl left out is 0 in the page. */
		wanted = json_object_object_get_ex(log, row[i].key, &member) ? json_object_get_uint64(member)
									     : 0;
		if (row[i].is_sum_of_0_unknown && wanted == 0) {
			assert_false(reading.known[row[i].field]);
			continue;
		}
		if (!reading_get_u64(&reading, row[i].field, &value) || value != wanted * row[i].factor)
			fail_msg("%s: %s is %llu, not %llu", name, row[i].key, (unsigned long long)value,
				(unsigned long long)(wanted * row[i].factor));
	}
	for (size_t i = 0; i < 8; i++) {
		bool has_it = json_object_object_get_ex(log, "temperature_sensors", &sensors) &&
			      i < json_object_array_length(sensors);

		assert_int_equal(reading.known[READING_SENSOR1_C + i], has_it);
		if (has_it)
			assert_int_equal(reading.value[READING_SENSOR1_C + i],
				json_object_get_int(json_object_array_get_idx(sensors, i)));
	}
	json_object_put(json);
}

static void test_recorded_pages_have_the_numbers_of_their_json(void **state)
{
	static const struct {
		const char *folder, *name;
	} row[] = {
		{ "smartctl-exporter", "INTEL_SSDPE2KX080T8_1" },
		{ "smartctl-exporter", "KXG60ZNV512G_TOSHIBA_2" },
		{ "smartctl-exporter", "SAMSUNG_MZQLB1T9HAJR-00007_19" },
		{ "smartctl-exporter", "SAMSUNG_MZVL21T0HCLR-00B00_23" },
		{ "smartctl-exporter", "nvme-null-CT250P2SSD8-nvme0" },
		{ "smartctl-exporter", "nvme-null-HUSMR7632BHP301-nvme0" },
		{ "smartctl-exporter", "nvme-null-INTEL_MEMPEK1W032GA-nvme0" },
		{ "smartctl-exporter", "nvme-null-INTEL_SSDPE2KX020T7-nvme6" },
		{ "scrutiny", "smart-nvme-failed" },
		{ "scrutiny", "smart-nvme2" },
	};
	char any;

	(void)state;
	if (!fixture_read_shared("INDEX.md", &any, 1))
		skip();
	for (size_t i = 0; i < ARRAY_LEN(row); i++)
		check_beside_json(row[i].folder, row[i].name);
}

/* As the recorded edge cases: made here, since those are not always there. */
static void test_pages_at_the_edge(void **state)
{
	uint8_t page[512];
	struct reading reading;

	(void)state;
	memset(page, 0, sizeof(page));
	reading_init(&reading);
	assert_int_equal(reading_decode_nvme_smart(&reading, page, sizeof(page)), 0);
	assert_false(reading.known[READING_TEMP_C]);
	assert_false(reading.known[READING_HOST_WRITTEN_BYTES]);
	assert_string_equal(reading.notes, "page 02h is all zeros");
	memset(page, 0xff, sizeof(page));
	reading_init(&reading);
	assert_int_equal(reading_decode_nvme_smart(&reading, page, sizeof(page)), 0);
	assert_false(reading.known[READING_TEMP_C]);
	assert_false(reading.known[READING_SPARE_PCT]);
	assert_false(reading.known[READING_LIFETIME_ENERGY_WH]);
	for (unsigned i = 0; i < 8; i++)
		assert_false(reading.known[READING_SENSOR1_C + i]);
	check_json(&reading, "\"host_written_bytes\":" LARGEST ",\"host_written_raw\":" LARGEST ",");
	check_contains(reading.notes, "65535 K is none");
	fixture_nvme_smart(page);
	fixture_put(page, 1, 2, 268);
	reading_init(&reading);
	assert_int_equal(reading_decode_nvme_smart(&reading, page, sizeof(page)), 0);
	assert_true(reading.value[READING_TEMP_C] == -5);
	/* The first product that needs more than 64 bits. */
	fixture_put(page, 48, 16, UINT64_MAX);
	assert_int_equal(reading_decode_nvme_smart(&reading, page, sizeof(page)), 0);
	check_json(&reading, "\"host_written_bytes\":9444732965739290426880000,");
}

static void test_recorded_edge_pages(void **state)
{
	static const struct {
		const char *name;
		const char *parts[3];
	} row[] = {
		{ "all-zero", { "\"temp_c\":null,", "\"host_written_bytes\":null,", "\"sensor1_c\":null," } },
		{ "all-ff", { "\"temp_c\":null,", "\"spare_pct\":null,", "\"percent_used\":255," } },
		{ "used-255-cw-0x04", { "\"percent_used\":255,", "\"critical_warning\":4,",
					      "\"host_written_raw\":18446744073709551621," } },
		{ "temp-0K", { "\"temp_c\":null,\"percent_used\":3,", "\"spare_pct\":100,",
				     "\"host_written_bytes\":512000000," } },
		{ "temp-minus5C", { "\"temp_c\":-5,", "\"percent_used\":3,", "\"power_cycles\":1," } },
		{ "128bit-max", { "\"host_written_raw\":" LARGEST ",", "\"host_read_commands\":" LARGEST ",",
					"\"temp_c\":37," } },
		{ "readonly-cw-0x08",
			{ "\"critical_warning\":8,", "\"percent_used\":104,", "\"spare_pct\":0," } },
	};
	uint8_t page[512];
	char path[100];

	(void)state;
	if (!fixture_read_shared("INDEX.md", page, 1))
		skip();
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		struct reading reading;

		(void)snprintf(path, sizeof(path), "nvme-bin/edge-%s.smartlog.bin", row[i].name);
		assert_int_equal(fixture_read_shared(path, page, sizeof(page)), 512);
		reading_init(&reading);
		assert_int_equal(reading_decode_nvme_smart(&reading, page, sizeof(page)), 0);
		for (size_t j = 0; j < ARRAY_LEN(row[i].parts); j++)
			check_json(&reading, row[i].parts[j]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_empty_reading_is_null_everywhere),
		cmocka_unit_test(test_names_are_those_of_the_interface),
		cmocka_unit_test(test_numbers_are_exact_up_to_128_bits),
		cmocka_unit_test(test_a_temperature_that_no_drive_has_is_unknown),
		cmocka_unit_test(test_texts_notes_and_attributes),
		cmocka_unit_test(test_pages_are_kept_and_replaced),
		cmocka_unit_test(test_warnings_are_words),
		cmocka_unit_test(test_every_field_of_page_02h),
		cmocka_unit_test(test_written_units_of_0_are_not_reported),
		cmocka_unit_test(test_reserved_percentages_are_unknown),
		cmocka_unit_test(test_identify_tells_who_and_its_limits),
		cmocka_unit_test(test_every_field_of_page_09h),
		cmocka_unit_test(test_every_field_of_the_ocp_page),
		cmocka_unit_test(test_another_vendors_page_is_no_ocp_page),
		cmocka_unit_test(test_every_field_of_intels_page),
		cmocka_unit_test(test_counters_are_held),
		cmocka_unit_test(test_a_media_counter_of_another_unit_is_told),
		cmocka_unit_test(test_recorded_pages_have_the_numbers_of_their_json),
		cmocka_unit_test(test_pages_at_the_edge),
		cmocka_unit_test(test_recorded_edge_pages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
