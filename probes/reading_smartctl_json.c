/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `smartctl --json` prints of NVMe, ATA and SCSI drives. Its numbers are taken, its names of attributes and what it
 * makes of them are not. */
#include <ctype.h>
#include <errno.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "probes/attributes.h"
#include "probes/identity_private.h"
#include "probes/reading_ata_private.h"

#define DATA_UNIT_BYTES	  512000
#define GIGABYTE_DECIMALS 3
#define MEGABYTE	  1000000
#define SENSORS		  8
/* Bits of the exit status: nothing was read at all; some command failed or some answer was damaged. */
#define EXIT_UNUSABLE 0x03
#define EXIT_PARTIAL  0x04

static struct json_object *get(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	if (object && json_object_is_type(object, json_type_object))
		(void)json_object_object_get_ex(object, key, &value);
	return value;
}

static const char *get_text(struct json_object *object, const char *key)
{
	struct json_object *value = get(object, key);

	return value && json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";
}

static bool parse_u128(const char *text, unsigned __int128 *out)
{
	unsigned __int128 value = 0;

	if (!*text)
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9' || __builtin_mul_overflow(value, 10, &value) ||
			__builtin_add_overflow(value, (unsigned)(*text - '0'), &value))
			return false;
	}
	*out = value;
	return true;
}

/* An integer; negative ones too. */
static bool get_int(struct json_object *value, int64_t *out)
{
	if (!value || !json_object_is_type(value, json_type_int))
		return false;
	*out = json_object_get_int64(value);
	return true;
}

/* A counter. What a double can't hold has a text beside it, with the digits; without it the largest number that fits is
 * where the parser clamps. */
static bool get_count(struct json_object *object, const char *key, unsigned __int128 *out)
{
	struct json_object *value = get(object, key);
	char text_key[64];
	uint64_t count;

	(void)snprintf(text_key, sizeof(text_key), "%s_s", key);
	if (parse_u128(get_text(object, text_key), out))
		return true;
	if (!value || !json_object_is_type(value, json_type_int) || json_object_get_int64(value) < 0)
		return false;
	count = json_object_get_uint64(value);
	if (count == UINT64_MAX)
		return false;
	*out = count;
	return true;
}

/* More is none. */
static bool fits(enum reading_field field, unsigned __int128 count)
{
	return (field != READING_SPARE_PCT && field != READING_SPARE_THRESHOLD_PCT) || count <= 100;
}

static void set_count(
	struct reading *reading, enum reading_field field, struct json_object *object, const char *key)
{
	unsigned __int128 count;

	if (get_count(object, key, &count) && fits(field, count))
		reading_set(reading, field, (__int128)count);
}

/* Where nothing better is known. */
static void add_count(
	struct reading *reading, enum reading_field field, struct json_object *object, const char *key)
{
	if (!reading->known[field])
		set_count(reading, field, object, key);
}

static void set_degrees(
	struct reading *reading, enum reading_field field, struct json_object *object, const char *key)
{
	int64_t degrees;

	/* No limit is at 0, and a drive at 0 has no sensor. */
	if (!reading->known[field] && get_int(get(object, key), &degrees) && degrees)
		reading_set(reading, field, degrees);
}

static void set_text(char *to, size_t size, const char *text)
{
	if (text[0])
		identity_text(to, size, text, strlen(text));
}

static void decode_texts(struct reading *reading, struct json_object *root)
{
	char model[128];

	(void)snprintf(model, sizeof(model), "%s %s", get_text(root, "vendor"), get_text(root, "product"));
	set_text(reading->model, sizeof(reading->model), model[1] ? model : "");
	set_text(reading->model, sizeof(reading->model), get_text(root, "scsi_model_name"));
	set_text(reading->model, sizeof(reading->model), get_text(root, "model_name"));
	set_text(reading->serial, sizeof(reading->serial), get_text(root, "serial_number"));
	set_text(reading->firmware, sizeof(reading->firmware), get_text(root, "revision"));
	set_text(reading->firmware, sizeof(reading->firmware), get_text(root, "scsi_revision"));
	set_text(reading->firmware, sizeof(reading->firmware), get_text(root, "firmware_version"));
}

/* Of all kinds of drives. */
static void decode_common(struct reading *reading, struct json_object *root)
{
	struct json_object *passed = get(get(root, "smart_status"), "passed");
	struct json_object *temperature = get(root, "temperature");

	set_count(reading, READING_ROTATION_RPM, root, "rotation_rate");
	set_count(reading, READING_LOGICAL_BLOCK_BYTES, root, "logical_block_size");
	if (passed && json_object_is_type(passed, json_type_boolean))
		reading_set_smart_failed(reading, !json_object_get_boolean(passed));
	set_degrees(reading, READING_TEMP_C, temperature, "current");
	set_degrees(reading, READING_WARNING_TEMP_C, temperature, "op_limit_max");
	set_degrees(reading, READING_CRITICAL_TEMP_C, temperature, "limit_max");
	set_degrees(reading, READING_CRITICAL_TEMP_C, temperature, "drive_trip");
	add_count(reading, READING_POWER_ON_HOURS, get(root, "power_on_time"), "hours");
	add_count(reading, READING_POWER_CYCLES, root, "power_cycle_count");
	add_count(reading, READING_PERCENT_USED, get(root, "endurance_used"), "current_percent");
	add_count(reading, READING_SPARE_PCT, get(root, "spare_available"), "current_percent");
	add_count(reading, READING_SPARE_THRESHOLD_PCT, get(root, "spare_available"), "threshold_percent");
}

static void decode_nvme_units(struct reading *reading, struct json_object *log)
{
	unsigned __int128 units, commands;

	if (get_count(log, "data_units_read", &units) && units)
		reading_set_bytes(reading, READING_HOST_READ_BYTES, units, DATA_UNIT_BYTES);
	if (!get_count(log, "data_units_written", &units))
		return;
	/* It is rounded up: 0 after a write is "not reported". */
	if (!units && get_count(log, "host_writes", &commands) && commands)
		return;
	reading_set(reading, READING_HOST_WRITTEN_RAW, (__int128)units);
	reading_set(reading, READING_HOST_WRITTEN_UNIT_BYTES, DATA_UNIT_BYTES);
	reading_set_from(reading, READING_HOST_WRITTEN_RAW, "page 02h");
	if (units)
		reading_set_bytes(reading, READING_HOST_WRITTEN_BYTES, units, DATA_UNIT_BYTES);
}

static void decode_nvme(struct reading *reading, struct json_object *root)
{
	static const struct {
		const char *key;
		enum reading_field field;
	} rows[] = {
		{ "critical_warning", READING_CRITICAL_WARNING },
		{ "available_spare", READING_SPARE_PCT },
		{ "available_spare_threshold", READING_SPARE_THRESHOLD_PCT },
		{ "percentage_used", READING_PERCENT_USED },
		{ "host_reads", READING_HOST_READ_COMMANDS },
		{ "host_writes", READING_HOST_WRITE_COMMANDS },
		{ "controller_busy_time", READING_BUSY_MINUTES },
		{ "power_cycles", READING_POWER_CYCLES },
		{ "power_on_hours", READING_POWER_ON_HOURS },
		{ "unsafe_shutdowns", READING_UNSAFE_SHUTDOWNS },
		{ "media_errors", READING_MEDIA_ERRORS },
		{ "num_err_log_entries", READING_ERROR_LOG_ENTRIES },
		{ "warning_temp_time", READING_WARNING_TEMP_MINUTES },
		{ "critical_comp_time", READING_CRITICAL_TEMP_MINUTES },
	};
	struct json_object *log = get(root, "nvme_smart_health_information_log");
	struct json_object *sensors = get(log, "temperature_sensors");
	int64_t degrees;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		set_count(reading, rows[i].field, log, rows[i].key);
	set_degrees(reading, READING_TEMP_C, log, "temperature");
	decode_nvme_units(reading, log);
	if (!sensors || !json_object_is_type(sensors, json_type_array))
		return;
	for (unsigned i = 0; i < SENSORS && i < json_object_array_length(sensors); i++)
		if (get_int(json_object_array_get_idx(sensors, i), &degrees))
			reading_set(reading, READING_SENSOR1_C + i, degrees);
}

static void add_attribute(struct reading *reading, struct json_object *row)
{
	struct reading_attribute *attribute = &reading->attributes[reading->attribute_count];
	int64_t id, current, worst = 0, threshold = 0, flags = 0;
	unsigned __int128 raw;

	/* One without its values would be taken for 0. */
	if (reading->attribute_count == READING_ATTRIBUTES_MAX || !get_int(get(row, "id"), &id) || id < 1 ||
		id > 255 || !get_int(get(row, "value"), &current) ||
		!get_count(get(row, "raw"), "value", &raw))
		return;
	(void)get_int(get(row, "worst"), &worst);
	(void)get_int(get(row, "thresh"), &threshold);
	(void)get_int(get(get(row, "flags"), "value"), &flags);
	*attribute = (struct reading_attribute){
		.id = (uint8_t)id,
		.current = (uint8_t)current,
		.worst = (uint8_t)worst,
		.threshold = (uint8_t)threshold,
		.flags = (uint16_t)flags,
	};
	/* Formats of it with more than six bytes take in the reserved one. */
	for (size_t i = 0; i < sizeof(attribute->raw); i++)
		attribute->raw[i] = (uint8_t)(raw >> (8 * i));
	reading->attribute_count++;
}

static void add_statistics(struct reading *reading, struct json_object *page)
{
	struct json_object *table = get(page, "table");
	int64_t number, at, value;

	if (!get_int(get(page, "number"), &number) || number < 0 || number > 255 || !table ||
		!json_object_is_type(table, json_type_array))
		return;
	for (size_t i = 0; i < json_object_array_length(table); i++) {
		struct json_object *row = json_object_array_get_idx(table, i);
		struct json_object *valid = get(get(row, "flags"), "valid");

		if (valid && json_object_get_boolean(valid) && get_int(get(row, "offset"), &at) && at >= 0 &&
			at < ATA_PAGE_BYTES && get_int(get(row, "value"), &value))
			reading_set_ata_statistic(reading, (unsigned)number, (unsigned)at, value);
	}
}

static void for_each(struct reading *reading, struct json_object *array,
	void (*act)(struct reading *reading, struct json_object *member))
{
	if (!array || !json_object_is_type(array, json_type_array))
		return;
	for (size_t i = 0; i < json_object_array_length(array); i++)
		act(reading, json_object_array_get_idx(array, i));
}

static void decode_ata(struct reading *reading, struct json_object *root)
{
	uint64_t rpm;
	const char *family = NULL;

	set_count(reading, READING_ROTATION_RPM, root, "rotation_rate");
	set_count(reading, READING_LOGICAL_BLOCK_BYTES, root, "logical_block_size");
	if (!reading_get_u64(reading, READING_ROTATION_RPM, &rpm) || rpm == 0)
		family = attributes_find_family(reading->model, reading->firmware);
	text_copy(reading->family, sizeof(reading->family), family ? family : "");
	/* It knows drives that count in minutes. */
	set_count(reading, READING_POWER_ON_HOURS, get(root, "power_on_time"), "hours");
	for_each(reading, get(get(root, "ata_smart_attributes"), "table"), add_attribute);
	if (reading->attribute_count)
		attributes_decode(reading, true);
	for_each(reading, get(get(root, "ata_device_statistics"), "pages"), add_statistics);
}

/* "127551.260", in gigabytes: thousandths. */
static bool get_gigabytes(struct json_object *object, unsigned __int128 *megabytes)
{
	const char *text = get_text(object, "gigabytes_processed");
	const char *point = strchr(text, '.');
	char digits[48];
	int length = point ? (int)(point - text) : (int)strlen(text);

	if (length >= (int)sizeof(digits) - GIGABYTE_DECIMALS || (point && strlen(point + 1) > 3))
		return false;
	(void)snprintf(digits, sizeof(digits), "%.*s%s", length, text, point ? point + 1 : "");
	for (size_t i = point ? strlen(point + 1) : 0; i < GIGABYTE_DECIMALS; i++)
		(void)strcat(digits, "0");
	return length > 0 && parse_u128(digits, megabytes);
}

static void decode_scsi(struct reading *reading, struct json_object *root)
{
	static const char *const kinds[] = { "read", "write", "verify" };
	struct json_object *log = get(root, "scsi_error_counter_log");
	unsigned __int128 count, errors = 0;
	bool has_errors = false;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (!get_count(get(log, kinds[i]), "total_uncorrected_errors", &count))
			continue;
		has_errors = true;
		errors += count;
	}
	if (has_errors)
		reading_set(reading, READING_MEDIA_ERRORS, (__int128)errors);
	if (get_gigabytes(get(log, "read"), &count))
		reading_set_bytes(reading, READING_HOST_READ_BYTES, count, MEGABYTE);
	if (get_gigabytes(get(log, "write"), &count)) {
		reading_set(reading, READING_HOST_WRITTEN_RAW, (__int128)count);
		reading_set(reading, READING_HOST_WRITTEN_UNIT_BYTES, MEGABYTE);
		reading_set_from(reading, READING_HOST_WRITTEN_RAW, "SCSI error counters");
		reading_set_bytes(reading, READING_HOST_WRITTEN_BYTES, count, MEGABYTE);
	}
	set_count(reading, READING_REALLOCATED, root, "scsi_grown_defect_list");
	set_count(reading, READING_PERCENT_USED, root, "scsi_percentage_used_endurance_indicator");
}

/* What it had to say: its own words, of the first error. */
static void note_messages(struct reading *reading, struct json_object *smartctl, int64_t status)
{
	struct json_object *messages = get(smartctl, "messages");
	const char *text = "";

	if (messages && json_object_is_type(messages, json_type_array) && json_object_array_length(messages))
		text = get_text(json_object_array_get_idx(messages, 0), "string");
	if (status & EXIT_UNUSABLE)
		reading_note(reading, "smartctl: %s", text[0] ? text : "the drive was not read");
	else if (status & EXIT_PARTIAL)
		reading_note(reading, "smartctl: some commands failed%s%s", text[0] ? ": " : "", text);
}

static bool decode_root(struct reading *reading, struct json_object *root)
{
	static const struct {
		const char *protocol;
		void (*decode)(struct reading *reading, struct json_object *root);
	} kinds[] = { { "NVMe", decode_nvme }, { "ATA", decode_ata }, { "SCSI", decode_scsi } };
	struct json_object *device = get(root, "device"), *smartctl = get(root, "smartctl");
	struct json_object *available = get(get(root, "smart_support"), "available");
	const char *protocol = get_text(device, "protocol");
	char source[sizeof(reading->source)];
	int64_t status = 0;

	(void)get_int(get(smartctl, "exit_status"), &status);
	note_messages(reading, smartctl, status);
	if (!device)
		reading_note(reading, "smartctl: %s",
			get(root, "devices") ? "a list of drives, no reading of one" : "no drive in it");
	if (!device || status & EXIT_UNUSABLE)
		return false;
	(void)snprintf(source, sizeof(source), "smartctl: %.20s", get_text(device, "type"));
	set_text(reading->source, sizeof(reading->source), source);
	decode_texts(reading, root);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kinds[i].protocol, protocol) == 0)
			kinds[i].decode(reading, root);
	decode_common(reading, root);
	if (available && json_object_is_type(available, json_type_boolean) &&
		!json_object_get_boolean(available))
		reading_note(reading, "smartctl: the drive has no SMART");
	return true;
}

/* The end of a number that is none, or NULL: nan, -inf, infinity. */
static const char *skip_non_number(const char *at, const char *end)
{
	static const char *const words[] = { "infinity", "inf", "nan" };
	const char *word = at < end && (*at == '-' || *at == '+') ? at + 1 : at;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t length = strlen(words[i]);

		if ((size_t)(end - word) >= length && strncasecmp(word, words[i], length) == 0)
			return word + length;
	}
	return NULL;
}

/* Programs print what C's printf makes of them, which is no JSON: they become null. */
static void strip_non_numbers(const char *json, size_t length, struct text *out)
{
	const char *end = json + length;
	bool is_string = false;

	for (const char *at = json; at < end;) {
		const char *next = is_string ? NULL : skip_non_number(at, end);
		size_t step = is_string && *at == '\\' && end - at > 1 ? 2 : 1;

		if (next) {
			text_add(out, "null");
			at = next;
			continue;
		}
		if (step == 1 && *at == '"')
			is_string = !is_string;
		text_add_bytes(out, at, step);
		at += step;
	}
}

int reading_decode_smartctl_json(struct reading *reading, const char *json, size_t length)
{
	struct text text = TEXT_INIT;
	struct json_tokener *tokener;
	struct json_object *root = NULL;
	bool is_done = false;

	if (length >= INT_MAX / 2)
		return -EINVAL;
	strip_non_numbers(json, length, &text);
	tokener = text_error(&text) ? NULL : json_tokener_new();
	if (tokener)
		root = json_tokener_parse_ex(tokener, text_string(&text), (int)text.length);
	if (root)
		is_done = decode_root(reading, root);
	else if (tokener)
		reading_note(
			reading, "not JSON: %s", json_tokener_error_desc(json_tokener_get_error(tokener)));
	json_object_put(root);
	if (tokener)
		json_tokener_free(tokener);
	text_fini(&text);
	if (!tokener)
		return -ENOMEM;
	return is_done ? 0 : -EINVAL;
}
