/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decoders of NVMe pages: SMART/Health 02h, endurance group 09h and Identify Controller as the NVM Express base
 * specification has them, C0h as the OCP Datacenter NVMe SSD specification does, CAh as Intel and Solidigm do. */
#include <errno.h>
#include <string.h>

#include "probes/identity_private.h"
#include "probes/reading_private.h"

#define PAGE_BYTES	  512
#define DATA_UNIT_BYTES	  512000 /* whatever the logical block */
#define GROUP_UNIT_BYTES  1000000000
#define OCP_LEVEL_HIGHEST 3 /* of the throttling */

/* A media counter that is further from what the host wrote counts something else. */
#define WAF_LOWEST  0.1
#define WAF_HIGHEST 100.0

struct row {
	enum reading_field field;
	uint16_t at, length;
};

static void set_rows(struct reading *reading, const struct row *rows, size_t count, const uint8_t *page)
{
	for (size_t i = 0; i < count; i++) {
		const uint8_t *bytes = page + rows[i].at;
		unsigned __int128 value = rows[i].length == 16 ? reading_le128(bytes)
							       : reading_le(bytes, rows[i].length);

		reading_set(reading, rows[i].field, (__int128)value);
	}
}

/* As set_rows(), but what is known stays, and neither 0 nor all ones is a value. */
static void add_rows(struct reading *reading, const struct row *rows, size_t count, const uint8_t *page)
{
	for (size_t i = 0; i < count; i++) {
		const uint8_t *bytes = page + rows[i].at;

		if (!reading->known[rows[i].field] && !reading_is_uniform(bytes, rows[i].length, 0) &&
			!reading_is_uniform(bytes, rows[i].length, 0xff))
			set_rows(reading, &rows[i], 1, page);
	}
}

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

/* 0 kelvin is a sensor that isn't there. */
static void set_kelvin(struct reading *reading, enum reading_field field, const uint8_t *bytes)
{
	uint64_t kelvin = reading_le(bytes, 2);

	if (kelvin)
		reading_set(reading, field, (__int128)kelvin - 273);
	if (kelvin && !reading->known[field])
		reading_note(reading, "%s: %u K is none", reading_field_name(field), (unsigned)kelvin);
}

/* More than 100 is reserved. */
static void set_percent(struct reading *reading, enum reading_field field, uint8_t pct)
{
	if (pct <= 100)
		reading_set(reading, field, pct);
	else
		reading_note(reading, "%s: %u is none", reading_field_name(field), pct);
}

static void set_host_written(
	struct reading *reading, unsigned __int128 count, uint64_t unit_bytes, const char *from)
{
	reading_set_from(reading, READING_HOST_WRITTEN_RAW, "%s", from);
	reading_set(reading, READING_HOST_WRITTEN_RAW, (__int128)count);
	reading_set(reading, READING_HOST_WRITTEN_UNIT_BYTES, (__int128)unit_bytes);
	/* 0 is said to mean "not reported", hence no bytes; before the first write it is a count to begin with. */
	if (count)
		reading_set_bytes(reading, READING_HOST_WRITTEN_BYTES, count, unit_bytes);
}

static void set_media_written(
	struct reading *reading, unsigned __int128 count, uint64_t unit_bytes, const char *from)
{
	double host = reading_get_double(reading, READING_HOST_WRITTEN_BYTES);
	double waf = (double)count * (double)unit_bytes / host;

	if (!count)
		return;
	reading_set(reading, READING_MEDIA_WRITTEN_RAW, (__int128)count);
	reading_set_from(reading, READING_MEDIA_WRITTEN_RAW, "%s", from);
	/* Little was written: a fresh drive has formatted itself more than it has served. */
	if (host > 1e12 && (waf < WAF_LOWEST || waf > WAF_HIGHEST)) {
		reading_clear(reading, READING_MEDIA_WRITTEN_BYTES);
		reading_clear(reading, READING_MEDIA_WRITTEN_UNIT_BYTES);
		reading_note(
			reading, "media_written_bytes: the unit is doubtful, %.3g times the host's", waf);
		return;
	}
	reading_set(reading, READING_MEDIA_WRITTEN_UNIT_BYTES, (__int128)unit_bytes);
	reading_set_bytes(reading, READING_MEDIA_WRITTEN_BYTES, count, unit_bytes);
}

int reading_decode_nvme_smart(struct reading *reading, const uint8_t *page, size_t length)
{
	static const struct row rows[] = {
		{ READING_CRITICAL_WARNING, 0, 1 },
		{ READING_PERCENT_USED, 5, 1 },
		{ READING_ENDURANCE_GROUP_WARNING, 6, 1 },
		{ READING_HOST_READ_COMMANDS, 64, 16 },
		{ READING_HOST_WRITE_COMMANDS, 80, 16 },
		{ READING_BUSY_MINUTES, 96, 16 },
		{ READING_POWER_CYCLES, 112, 16 },
		{ READING_POWER_ON_HOURS, 128, 16 },
		{ READING_UNSAFE_SHUTDOWNS, 144, 16 },
		{ READING_MEDIA_ERRORS, 160, 16 },
		{ READING_ERROR_LOG_ENTRIES, 176, 16 },
		{ READING_WARNING_TEMP_MINUTES, 192, 4 },
		{ READING_CRITICAL_TEMP_MINUTES, 196, 4 },
		{ READING_THERMAL1_COUNT, 216, 4 },
		{ READING_THERMAL2_COUNT, 220, 4 },
		{ READING_THERMAL1_S, 224, 4 },
		{ READING_THERMAL2_S, 228, 4 },
	};
	static const struct row later[] = { { READING_LIFETIME_ENERGY_WH, 232, 8 } };
	unsigned __int128 units_read, units_written;

	if (length != PAGE_BYTES)
		return -EINVAL;
	set_rows(reading, rows, COUNT(rows), page);
	add_rows(reading, later, COUNT(later), page);
	set_kelvin(reading, READING_TEMP_C, page + 1);
	for (unsigned i = 0; i < 8; i++)
		set_kelvin(reading, READING_SENSOR1_C + i, page + 200 + 2 * i);
	set_percent(reading, READING_SPARE_PCT, page[3]);
	set_percent(reading, READING_SPARE_THRESHOLD_PCT, page[4]);
	units_read = reading_le128(page + 32);
	units_written = reading_le128(page + 48);
	if (units_read)
		reading_set_bytes(reading, READING_HOST_READ_BYTES, units_read, DATA_UNIT_BYTES);
	/* It is rounded up: with a write there is at least 1, unless the drive doesn't report it. */
	if (units_written || !reading_le128(page + 80))
		set_host_written(reading, units_written, DATA_UNIT_BYTES, "page 02h");
	if (reading_is_uniform(page, length, 0))
		reading_note(reading, "page 02h is all zeros");
	else if (reading_is_uniform(page, length, 0xff))
		reading_note(reading, "page 02h is all ones");
	return 0;
}

int reading_decode_nvme_identify(struct reading *reading, const uint8_t *page, size_t length)
{
	char serial[sizeof(reading->serial)], model[sizeof(reading->model)];

	if (length != 4096 || reading_is_uniform(page, length, 0xff))
		return -EINVAL;
	identity_serial(serial, sizeof(serial), page + 4, 20);
	identity_text(model, sizeof(model), page + 24, 40);
	if (!serial[0] && !model[0])
		return -EINVAL;
	text_copy(reading->serial, sizeof(reading->serial), serial);
	text_copy(reading->model, sizeof(reading->model), model);
	identity_text(reading->firmware, sizeof(reading->firmware), page + 64, 8);
	set_kelvin(reading, READING_WARNING_TEMP_C, page + 266);
	set_kelvin(reading, READING_CRITICAL_TEMP_C, page + 268);
	return 0;
}

int reading_decode_nvme_endurance_group(struct reading *reading, const uint8_t *page, size_t length)
{
	/* Those whose 0 is a value, and which the drive's own page 02h, read before, knows better. */
	static const struct row rows[] = {
		{ READING_CRITICAL_WARNING, 0, 1 },
		{ READING_PERCENT_USED, 5, 1 },
		{ READING_HOST_READ_COMMANDS, 96, 16 },
		{ READING_HOST_WRITE_COMMANDS, 112, 16 },
		{ READING_MEDIA_ERRORS, 128, 16 },
		{ READING_ERROR_LOG_ENTRIES, 144, 16 },
	};
	unsigned __int128 estimate, units_read, units_written;

	if (length != PAGE_BYTES || reading_is_uniform(page, length, 0) ||
		reading_is_uniform(page, length, 0xff))
		return -EINVAL;
	for (size_t i = 0; i < COUNT(rows); i++)
		if (!reading->known[rows[i].field])
			set_rows(reading, &rows[i], 1, page);
	if (!reading->known[READING_SPARE_PCT])
		set_percent(reading, READING_SPARE_PCT, page[3]);
	if (!reading->known[READING_SPARE_THRESHOLD_PCT])
		set_percent(reading, READING_SPARE_THRESHOLD_PCT, page[4]);
	estimate = reading_le128(page + 32);
	units_read = reading_le128(page + 48);
	units_written = reading_le128(page + 64);
	if (estimate)
		reading_set_bytes(reading, READING_ENDURANCE_ESTIMATE_BYTES, estimate, GROUP_UNIT_BYTES);
	if (units_read && !reading->known[READING_HOST_READ_BYTES])
		reading_set_bytes(reading, READING_HOST_READ_BYTES, units_read, GROUP_UNIT_BYTES);
	if (units_written && !reading->known[READING_HOST_WRITTEN_RAW])
		set_host_written(reading, units_written, GROUP_UNIT_BYTES, "page 09h");
	set_media_written(reading, reading_le128(page + 80), GROUP_UNIT_BYTES, "page 09h");
	return 0;
}

int reading_decode_ocp_smart(struct reading *reading, const uint8_t *page, size_t length)
{
	static const uint8_t guid[16] = { 0xc5, 0xaf, 0x10, 0x28, 0xea, 0xbf, 0xf2, 0xa4, 0x9c, 0x4f, 0x6f,
		0x7c, 0xc9, 0x14, 0xd5, 0xaf };
	static const struct row rows[] = {
		{ READING_THROTTLE_EVENTS, 96, 1 },
		{ READING_PCIE_CORRECTABLE_ERRORS, 104, 8 },
		{ READING_MAX_ERASES, 88, 4 },
		{ READING_MIN_ERASES, 92, 4 },
	};
	static const struct row doubtful[] = {
		{ READING_MEDIA_READ_BYTES, 16, 16 },
		{ READING_ENDURANCE_ESTIMATE_BYTES, 176, 16 },
		{ READING_MEAN_ERASES, 224, 8 },
	};

	if (length != PAGE_BYTES || memcmp(page + 496, guid, sizeof(guid)) != 0)
		return -EINVAL;
	set_rows(reading, rows, COUNT(rows), page);
	add_rows(reading, doubtful, COUNT(doubtful), page);
	if (page[97] <= OCP_LEVEL_HIGHEST)
		reading_set(reading, READING_THROTTLE_LEVEL, page[97]);
	if (!reading->known[READING_MEDIA_ERRORS])
		reading_set(reading, READING_MEDIA_ERRORS, (__int128)reading_le(page + 56, 8));
	if (!reading_is_uniform(page + 32, 6, 0xff))
		reading_set(reading, READING_BAD_BLOCKS, (__int128)reading_le(page + 32, 6));
	if (!reading_is_uniform(page + 128, 2, 0xff))
		reading_set(reading, READING_PLP_PCT, (__int128)reading_le(page + 128, 2));
	/* Bytes, so finer than those of page 09h. */
	set_media_written(reading, reading_le128(page), 1, "page C0h (OCP)");
	return 0;
}

/* Entries of twelve bytes: a key, the normalised value, and the raw one, which for some keys is several numbers. */
enum { INTEL_ENTRY_BYTES = 12, INTEL_ENTRIES = 20, INTEL_RAW = 5, INTEL_RAW_BYTES = 6 };
enum {
	INTEL_PROGRAM_FAILS = 0xab,
	INTEL_ERASE_FAILS = 0xac,
	INTEL_ERASES = 0xad,
	INTEL_MEDIA_WRITTEN = 0xf4
};
#define INTEL_UNIT_BYTES (32u << 20)

static const struct {
	uint8_t key, at, length; /* of the raw value */
	enum reading_field field;
} intel_rows[] = {
	{ INTEL_PROGRAM_FAILS, 0, 6, READING_PROGRAM_FAILS },
	{ INTEL_ERASE_FAILS, 0, 6, READING_ERASE_FAILS },
	{ INTEL_ERASES, 0, 2, READING_MIN_ERASES },
	{ INTEL_ERASES, 2, 2, READING_MAX_ERASES },
	{ INTEL_ERASES, 4, 2, READING_MEAN_ERASES },
	{ 0xc7, 0, 6, READING_CRC_ERRORS },
	{ 0xe2, 0, 6, READING_WORKLOAD_WEAR },
	{ 0xe4, 0, 6, READING_WORKLOAD_MINUTES },
	{ 0xea, 1, 4, READING_THROTTLE_EVENTS },
};

/* 65535, and all ones however long, is "not available". */
static bool is_available(const uint8_t *raw)
{
	const uint64_t value = reading_le(raw, INTEL_RAW_BYTES);

	return value != 0xffff && value != 0xffffffff && value != 0xffffffffffff;
}

static void decode_intel_entry(struct reading *reading, const uint8_t *entry)
{
	const uint8_t *raw = entry + INTEL_RAW;

	if (!is_available(raw))
		return;
	for (size_t i = 0; i < COUNT(intel_rows); i++)
		if (intel_rows[i].key == entry[0] && !reading->known[intel_rows[i].field])
			reading_set(reading, intel_rows[i].field,
				(__int128)reading_le(raw + intel_rows[i].at, intel_rows[i].length));
	/* The other pages are a standard's. */
	if (entry[0] == INTEL_MEDIA_WRITTEN && !reading->known[READING_MEDIA_WRITTEN_RAW])
		set_media_written(reading, reading_le(raw, INTEL_RAW_BYTES), INTEL_UNIT_BYTES, "page CAh");
}

int reading_decode_intel_smart(struct reading *reading, const uint8_t *page, size_t length)
{
	static const uint8_t first_keys[] = { INTEL_PROGRAM_FAILS, INTEL_ERASE_FAILS, INTEL_ERASES };

	if (length != PAGE_BYTES)
		return -EINVAL;
	/* Others have a page of this number, of another content. */
	for (size_t i = 0; i < sizeof(first_keys); i++)
		if (page[i * INTEL_ENTRY_BYTES] != first_keys[i])
			return -EINVAL;
	for (size_t i = 0; i < INTEL_ENTRIES; i++)
		decode_intel_entry(reading, page + i * INTEL_ENTRY_BYTES);
	return 0;
}
