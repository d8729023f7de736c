/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probes/reading.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "probes/reading_private.h"

#define U128_DIGITS_MAX 40

enum { TEMP_LOWEST_C = -40, TEMP_HIGHEST_C = 125 };

static const struct {
	const char *name;
	bool is_temperature;
} fields[READING_FIELD_COUNT] = {
	[READING_TEMP_C] = { "temp_c", true },
	[READING_PERCENT_USED] = { "percent_used", false },
	[READING_SPARE_PCT] = { "spare_pct", false },
	[READING_SPARE_THRESHOLD_PCT] = { "spare_threshold_pct", false },
	[READING_HOST_WRITTEN_BYTES] = { "host_written_bytes", false },
	[READING_HOST_WRITTEN_RAW] = { "host_written_raw", false },
	[READING_HOST_WRITTEN_UNIT_BYTES] = { "host_written_unit_bytes", false },
	[READING_HOST_READ_BYTES] = { "host_read_bytes", false },
	[READING_HOST_WRITE_COMMANDS] = { "host_write_commands", false },
	[READING_HOST_READ_COMMANDS] = { "host_read_commands", false },
	[READING_MEDIA_WRITTEN_BYTES] = { "media_written_bytes", false },
	[READING_MEDIA_WRITTEN_RAW] = { "media_written_raw", false },
	[READING_MEDIA_WRITTEN_UNIT_BYTES] = { "media_written_unit_bytes", false },
	[READING_MEDIA_ERRORS] = { "media_errors", false },
	[READING_ERROR_LOG_ENTRIES] = { "error_log_entries", false },
	[READING_UNSAFE_SHUTDOWNS] = { "unsafe_shutdowns", false },
	[READING_POWER_CYCLES] = { "power_cycles", false },
	[READING_POWER_ON_HOURS] = { "power_on_hours", false },
	[READING_BUSY_MINUTES] = { "busy_minutes", false },
	[READING_CRITICAL_WARNING] = { "critical_warning", false },
	[READING_WARNING_TEMP_MINUTES] = { "warning_temp_minutes", false },
	[READING_CRITICAL_TEMP_MINUTES] = { "critical_temp_minutes", false },
	[READING_THERMAL1_COUNT] = { "thermal1_count", false },
	[READING_THERMAL2_COUNT] = { "thermal2_count", false },
	[READING_THERMAL1_S] = { "thermal1_s", false },
	[READING_THERMAL2_S] = { "thermal2_s", false },
	[READING_SENSOR1_C] = { "sensor1_c", true },
	[READING_SENSOR1_C + 1] = { "sensor2_c", true },
	[READING_SENSOR1_C + 2] = { "sensor3_c", true },
	[READING_SENSOR1_C + 3] = { "sensor4_c", true },
	[READING_SENSOR1_C + 4] = { "sensor5_c", true },
	[READING_SENSOR1_C + 5] = { "sensor6_c", true },
	[READING_SENSOR1_C + 6] = { "sensor7_c", true },
	[READING_SENSOR8_C] = { "sensor8_c", true },
	[READING_WARNING_TEMP_C] = { "warning_temp_c", true },
	[READING_CRITICAL_TEMP_C] = { "critical_temp_c", true },
	[READING_CRC_ERRORS] = { "crc_errors", false },
	[READING_REALLOCATED] = { "reallocated", false },
	[READING_PENDING] = { "pending", false },
	[READING_SMART_FAILED] = { "smart_failed", false },
	[READING_THROTTLE_LEVEL] = { "throttle_level", false },
	[READING_THROTTLE_EVENTS] = { "throttle_events", false },
	[READING_BAD_BLOCKS] = { "bad_blocks", false },
	[READING_PLP_PCT] = { "plp_pct", false },
	[READING_PCIE_CORRECTABLE_ERRORS] = { "pcie_correctable_errors", false },
	[READING_MIN_ERASES] = { "min_erases", false },
	[READING_MAX_ERASES] = { "max_erases", false },
	[READING_MEAN_ERASES] = { "mean_erases", false },
	[READING_ENDURANCE_GROUP_WARNING] = { "endurance_group_warning", false },
	[READING_LIFETIME_ENERGY_WH] = { "lifetime_energy_wh", false },
	[READING_MEDIA_READ_BYTES] = { "media_read_bytes", false },
	[READING_ENDURANCE_ESTIMATE_BYTES] = { "endurance_estimate_bytes", false },
	[READING_HOST_PAGES] = { "host_pages", false },
	[READING_MEDIA_PAGES] = { "media_pages", false },
	[READING_PROGRAM_FAILS] = { "program_fails", false },
	[READING_ERASE_FAILS] = { "erase_fails", false },
	[READING_FAILED_THRESHOLDS] = { "failed_thresholds", false },
	[READING_ROTATION_RPM] = { "rotation_rpm", false },
	[READING_LOGICAL_BLOCK_BYTES] = { "logical_block_bytes", false },
	[READING_WORKLOAD_WEAR] = { "workload_wear_1024ths_pct", false },
	[READING_WORKLOAD_MINUTES] = { "workload_minutes", false },
};

void reading_init(struct reading *reading)
{
	*reading = (struct reading){ .t_ms = INT64_MIN };
}

void reading_fini(struct reading *reading)
{
	if (!reading)
		return;
	for (unsigned i = 0; i < reading->page_count; i++)
		free(reading->pages[i].bytes);
	reading_init(reading);
}

void reading_clear(struct reading *reading, enum reading_field field)
{
	reading->known[field] = false;
	reading->value[field] = 0;
}

void reading_set(struct reading *reading, enum reading_field field, __int128 value)
{
	if (fields[field].is_temperature && (value < TEMP_LOWEST_C || value > TEMP_HIGHEST_C)) {
		reading_clear(reading, field);
		return;
	}
	reading->known[field] = true;
	reading->value[field] = value;
}

bool reading_get_u64(const struct reading *reading, enum reading_field field, uint64_t *out)
{
	const __int128 value = reading->value[field];

	if (!reading->known[field] || value < 0 || value > (__int128)UINT64_MAX)
		return false;
	*out = (uint64_t)value;
	return true;
}

double reading_get_double(const struct reading *reading, enum reading_field field)
{
	if (!reading->known[field])
		return NAN;
	return fields[field].is_temperature ? (double)reading->value[field]
					    : (double)(unsigned __int128)reading->value[field];
}

void reading_note(struct reading *reading, const char *format, ...)
{
	size_t used = strlen(reading->notes);
	char note[READING_NOTES_MAX];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(note, sizeof(note), format, args);
	va_end(args);
	for (char *c = note; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	if (note[0] && !strstr(reading->notes, note))
		(void)snprintf(
			reading->notes + used, sizeof(reading->notes) - used, "%s%s", used ? "; " : "", note);
}

static struct reading_page *find_page(const struct reading *reading, const char *name)
{
	for (unsigned i = 0; i < reading->page_count; i++)
		if (strcmp(reading->pages[i].name, name) == 0)
			return (struct reading_page *)(uintptr_t)&reading->pages[i];
	return NULL;
}

int reading_keep_page(struct reading *reading, const char *name, const void *bytes, size_t length)
{
	struct reading_page *page = find_page(reading, name);
	uint8_t *copy;

	if (!page && reading->page_count == READING_PAGES_MAX)
		return -ENOSPC;
	copy = malloc(length ? length : 1);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, bytes, length);
	if (!page)
		page = &reading->pages[reading->page_count++];
	free(page->bytes);
	*page = (struct reading_page){ .bytes = copy, .length = length };
	text_copy(page->name, sizeof(page->name), name);
	return 0;
}

const struct reading_page *reading_find_page(const struct reading *reading, const char *name)
{
	return find_page(reading, name);
}

const char *reading_field_name(enum reading_field field)
{
	return fields[field].name;
}

/* printf knows no 128 bits. */
static const char *print_u128(unsigned __int128 value, char *text)
{
	char *at = text + U128_DIGITS_MAX - 1;

	*at = '\0';
	do {
		*--at = (char)('0' + (int)(value % 10));
		value /= 10;
	} while (value);
	return at;
}

static void put_field(struct json *json, const struct reading *reading, enum reading_field field)
{
	char digits[U128_DIGITS_MAX];

	if (!reading->known[field])
		json_put_null(json, fields[field].name);
	else if (fields[field].is_temperature)
		json_put_i64(json, fields[field].name, (int64_t)reading->value[field]);
	else
		json_put_raw(json, fields[field].name,
			print_u128((unsigned __int128)reading->value[field], digits));
}

static void put_text(struct json *json, const char *key, const char *value)
{
	json_put_string(json, key, value[0] ? value : NULL);
}

static void put_attribute(struct json *json, const struct reading_attribute *attribute)
{
	uint64_t raw = 0;

	for (size_t i = sizeof(attribute->raw); i > 0; i--)
		raw = raw << 8 | attribute->raw[i - 1];
	json_object_open(json);
	json_put_u64(json, "id", attribute->id);
	json_put_string(json, "name", attribute->name);
	json_put_u64(json, "current", attribute->current);
	json_put_u64(json, "worst", attribute->worst);
	json_put_u64(json, "threshold", attribute->threshold);
	json_put_u64(json, "raw", raw);
	json_put_u64(json, "flags", attribute->flags);
	json_object_close(json);
}

void reading_json(const struct reading *reading, struct text *out)
{
	struct json json;

	json_init(&json, out);
	json_put_ms_as_s(&json, "t_s", reading->t_ms);
	for (enum reading_field field = 0; field < READING_FIELD_COUNT; field++)
		put_field(&json, reading, field);
	put_text(&json, "source", reading->source);
	put_text(&json, "model", reading->model);
	put_text(&json, "serial", reading->serial);
	put_text(&json, "firmware", reading->firmware);
	put_text(&json, "family", reading->family);
	put_text(&json, "host_written_from", reading->host_written_from);
	put_text(&json, "media_written_from", reading->media_written_from);
	put_text(&json, "notes", reading->notes);
	json_key(&json, "attributes");
	json_array_open(&json);
	for (unsigned i = 0; i < reading->attribute_count; i++)
		put_attribute(&json, &reading->attributes[i]);
	json_array_close(&json);
}

void reading_warning_words(uint64_t bits, struct text *out)
{
	static const char *const words[] = {
		"spare below its threshold",
		"temperature beyond a limit",
		"reliability degraded",
		"media read-only",
		"backup of the volatile memory failed",
		"persistent memory region read-only or unreliable",
	};
	const size_t count = sizeof(words) / sizeof(words[0]);
	const char *separator = "";

	for (size_t i = 0; i < count; i++) {
		if (!(bits >> i & 1))
			continue;
		text_addf(out, "%s%s", separator, words[i]);
		separator = ", ";
	}
	if (bits >> count)
		text_addf(
			out, "%sunknown bits %#llx", separator, (unsigned long long)(bits >> count << count));
}

uint64_t reading_le(const uint8_t *bytes, size_t count)
{
	uint64_t value = 0;

	for (size_t i = count; i > 0; i--)
		value = value << 8 | bytes[i - 1];
	return value;
}

unsigned __int128 reading_le128(const uint8_t *bytes)
{
	return (unsigned __int128)reading_le(bytes + 8, 8) << 64 | reading_le(bytes, 8);
}

void reading_set_bytes(
	struct reading *reading, enum reading_field field, unsigned __int128 count, uint64_t unit_bytes)
{
	unsigned __int128 bytes;

	if (__builtin_mul_overflow(count, (unsigned __int128)unit_bytes, &bytes)) {
		bytes = ~(unsigned __int128)0;
		reading_note(reading, "%s is beyond 128 bits", fields[field].name);
	}
	reading_set(reading, field, (__int128)bytes);
}

void reading_set_from(struct reading *reading, enum reading_field raw, const char *format, ...)
{
	char *from = raw == READING_HOST_WRITTEN_RAW ? reading->host_written_from
						     : reading->media_written_from;
	va_list args;

	va_start(args, format);
	(void)vsnprintf(from, READING_FROM_MAX, format, args);
	va_end(args);
}

/* Counters by a standard before those of vendors, and the finer before the coarser. */
static unsigned rank_of(const char *from)
{
	static const char *const best_last[] = { "attribute", "page CAh", "page 09h", "page C0h", "page 02h",
		"device statistics" };
	unsigned rank = 0;

	for (unsigned i = 0; i < sizeof(best_last) / sizeof(best_last[0]); i++)
		if (strncmp(from, best_last[i], strlen(best_last[i])) == 0)
			rank = i + 1;
	return rank;
}

static void hold(
	char *before, char *now, struct reading *reading, const enum reading_field *counter, size_t count)
{
	if (strcmp(before, now) == 0)
		return;
	if (!before[0] || rank_of(now) > rank_of(before)) {
		text_copy(before, READING_FROM_MAX, now);
		return;
	}
	for (size_t i = 0; i < count; i++)
		reading_clear(reading, counter[i]);
	now[0] = '\0';
}

void reading_hold_counters(struct reading_memory *memory, struct reading *reading)
{
	static const enum reading_field host[] = { READING_HOST_WRITTEN_BYTES, READING_HOST_WRITTEN_RAW,
		READING_HOST_WRITTEN_UNIT_BYTES };
	static const enum reading_field media[] = { READING_MEDIA_WRITTEN_BYTES, READING_MEDIA_WRITTEN_RAW,
		READING_MEDIA_WRITTEN_UNIT_BYTES, READING_MEDIA_PAGES };

	hold(memory->host_written_from, reading->host_written_from, reading, host,
		sizeof(host) / sizeof(host[0]));
	hold(memory->media_written_from, reading->media_written_from, reading, media,
		sizeof(media) / sizeof(media[0]));
}

bool reading_is_uniform(const uint8_t *bytes, size_t length, uint8_t value)
{
	for (size_t i = 0; i < length; i++)
		if (bytes[i] != value)
			return false;
	return true;
}
