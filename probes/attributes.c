/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probes/attributes.h"

#include <pthread.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probes/attributes_private.h"
#include "probes/reading_private.h"

#define PREFAILURE	      1
#define TEMPERATURE	      194
#define TEMPERATURE_OF_AIR    190
#define PATTERN_MAX	      2048
#define LINK_BYTES_PER_S      600000000.0
#define HOURS_MISCOUNT_FACTOR 8 /* drives that stop the clock in their sleep count an eighth */

struct pattern {
	regex_t model, firmware;
	bool has_model, has_firmware;
};

static struct pattern *patterns;
static pthread_once_t patterns_once = PTHREAD_ONCE_INIT;

static bool pattern_compile(regex_t *out, const char *expression)
{
	char whole[PATTERN_MAX];
	int length = snprintf(whole, sizeof(whole), "^(%s)$", expression);

	return length > 0 && (size_t)length < sizeof(whole) &&
	       regcomp(out, whole, REG_EXTENDED | REG_NOSUB) == 0;
}

/* Once a process: a family without its pattern matches nothing. */
static void patterns_compile(void)
{
	patterns = calloc(attribute_family_count, sizeof(*patterns));
	for (size_t i = 0; patterns && i < attribute_family_count; i++) {
		const struct attribute_family *family = &attribute_families[i];

		patterns[i].has_model = pattern_compile(&patterns[i].model, family->model);
		if (family->firmware)
			patterns[i].has_firmware = pattern_compile(&patterns[i].firmware, family->firmware);
	}
}

static bool is_match(size_t index, const char *model, const char *firmware)
{
	const struct pattern *pattern = &patterns[index];

	if (!pattern->has_model || regexec(&pattern->model, model, 0, NULL, 0) != 0)
		return false;
	if (!attribute_families[index].firmware)
		return true;
	return pattern->has_firmware && regexec(&pattern->firmware, firmware, 0, NULL, 0) == 0;
}

const char *attributes_find_family(const char *model, const char *firmware)
{
	(void)pthread_once(&patterns_once, patterns_compile);
	for (size_t i = 0; patterns && i < attribute_family_count; i++)
		if (is_match(i, model, firmware))
			return attribute_families[i].name;
	return NULL;
}

static const struct attribute_family *family_named(const char *name)
{
	for (size_t i = 0; i < attribute_family_count; i++)
		if (strcmp(attribute_families[i].name, name) == 0)
			return &attribute_families[i];
	return NULL;
}

static const struct attribute_rule *rule_of(const struct attribute_rule *rules, size_t count, uint8_t id)
{
	for (size_t i = 0; i < count; i++)
		if (rules[i].id == id)
			return &rules[i];
	return NULL;
}

static const struct attribute_rule *family_rule(const struct attribute_family *family, uint8_t id)
{
	return family ? rule_of(family->rules, family->rule_count, id) : NULL;
}

static const char *name_of(const struct attribute_family *family, uint8_t id)
{
	const struct attribute_rule *rule = family_rule(family, id);

	if (!rule)
		rule = rule_of(attribute_common_rules, attribute_common_rule_count, id);
	return rule ? rule->name : NULL;
}

const char *attributes_name(const char *family, uint8_t id)
{
	return name_of(family_named(family), id);
}

uint64_t attributes_raw(const struct reading_attribute *attribute)
{
	return reading_le(attribute->raw, sizeof(attribute->raw));
}

bool attributes_is_failed(const struct reading_attribute *attribute)
{
	return (attribute->flags & PREFAILURE) && attribute->threshold && attribute->current &&
	       attribute->current <= attribute->threshold;
}

/* All ones of a word, two or three is how drives say "not available". */
static bool is_available(const struct reading_attribute *attribute)
{
	const uint64_t raw = attributes_raw(attribute);

	return raw != 0xffff && raw != 0xffffffff && raw != 0xffffffffffff;
}

static const struct reading_attribute *find(const struct reading *reading, uint8_t id)
{
	for (unsigned i = 0; i < reading->attribute_count; i++)
		if (reading->attributes[i].id == id)
			return &reading->attributes[i];
	return NULL;
}

static bool left_either(unsigned current, uint64_t raw, uint64_t *left)
{
	*left = current == 100 && raw >= 1 && raw <= 100 ? raw : current;
	return *left <= 100;
}

static bool left_agreed(unsigned current, uint64_t raw, uint64_t *left)
{
	*left = current;
	return current <= 100 && (raw == current || raw + current == 100);
}

static bool used_hundredths(unsigned current, uint64_t raw, uint64_t *used)
{
	*used = (raw & 0xffff) / 100;
	return *used <= current + 1 && current <= *used + 1;
}

/* The number that a rule takes from an attribute: false where it carries none. */
static bool number_of(
	const struct attribute_rule *rule, const struct reading_attribute *attribute, uint64_t *out)
{
	const uint64_t raw = attributes_raw(attribute);
	const unsigned current = attribute->current;
	uint64_t left = current;
	bool is_known = current <= 100;

	switch (rule->how) {
	case ATTRIBUTE_RAW:
	case ATTRIBUTE_SHARE:
		*out = reading_le(attribute->raw + rule->at, rule->length);
		return is_available(attribute);
	case ATTRIBUTE_CURRENT:
		*out = current;
		return is_known;
	case ATTRIBUTE_USED_HUNDREDTHS:
		return is_available(attribute) && used_hundredths(current, raw, out);
	case ATTRIBUTE_LEFT_RAW:
		left = attribute->raw[0];
		is_known = is_available(attribute) && left <= 100;
		break;
	case ATTRIBUTE_LEFT_EITHER:
		is_known = left_either(current, raw, &left);
		break;
	case ATTRIBUTE_LEFT_AGREED:
		is_known = left_agreed(current, raw, &left);
		break;
	default:
		break;
	}
	*out = 100 - left;
	return is_known;
}

static bool rule_number(const struct reading *reading, const struct attribute_rule *rule, uint64_t *out)
{
	const struct reading_attribute *attribute = find(reading, rule->id);
	const struct reading_attribute *other = rule->plus ? find(reading, rule->plus) : NULL;
	uint64_t more = 0;

	if (!attribute || !number_of(rule, attribute, out))
		return false;
	if (rule->plus && (!other || !number_of(rule, other, &more)))
		return false;
	if (rule->how != ATTRIBUTE_SHARE)
		*out += more;
	else if (more)
		*out = *out * 100 / more;
	return rule->how != ATTRIBUTE_SHARE || more;
}

/* No drive wrote faster than its link for as long as it was on: then the unit is another one. */
static bool is_plausible(const struct reading *reading, double bytes)
{
	uint64_t hours;

	return !reading_get_u64(reading, READING_POWER_ON_HOURS, &hours) ||
	       bytes <= ((double)hours + 1) * 3600 * LINK_BYTES_PER_S * HOURS_MISCOUNT_FACTOR;
}

void reading_set_written(struct reading *reading, enum reading_field raw, uint64_t count, uint64_t unit_bytes,
	bool is_doubtful)
{
	const bool is_host = raw == READING_HOST_WRITTEN_RAW;
	const enum reading_field unit = is_host ? READING_HOST_WRITTEN_UNIT_BYTES
						: READING_MEDIA_WRITTEN_UNIT_BYTES;
	const enum reading_field bytes = is_host ? READING_HOST_WRITTEN_BYTES : READING_MEDIA_WRITTEN_BYTES;

	reading_clear(reading, unit);
	reading_clear(reading, bytes);
	reading_set(reading, raw, (__int128)count);
	if (!unit_bytes)
		return;
	if (!is_plausible(reading, (double)count * (double)unit_bytes)) {
		reading_note(reading, "%s: %llu of %llu bytes is more than the link carries",
			reading_field_name(bytes), (unsigned long long)count, (unsigned long long)unit_bytes);
		return;
	}
	reading_set(reading, unit, (__int128)unit_bytes);
	if (!is_doubtful)
		reading_set_bytes(reading, bytes, count, unit_bytes);
}

static void set_from(struct reading *reading, const struct attribute_rule *rule)
{
	if (rule->plus)
		reading_set_from(reading, rule->field, "attributes %u and %u", rule->id, rule->plus);
	else
		reading_set_from(reading, rule->field, "attribute %u", rule->id);
}

static void apply(struct reading *reading, const struct attribute_rule *rule)
{
	uint64_t number;

	if (rule->field == READING_FIELD_COUNT || reading->known[rule->field] ||
		!rule_number(reading, rule, &number))
		return;
	switch (rule->field) {
	case READING_HOST_WRITTEN_RAW:
	case READING_MEDIA_WRITTEN_RAW:
		reading_set_written(reading, rule->field, number, rule->unit_bytes, rule->is_doubtful);
		set_from(reading, rule);
		break;
	case READING_MEDIA_PAGES:
		reading_set(reading, rule->field, (__int128)number);
		set_from(reading, rule);
		break;
	case READING_HOST_READ_BYTES:
		if (!rule->is_doubtful)
			reading_set_bytes(reading, rule->field, number, rule->unit_bytes);
		break;
	case READING_SPARE_PCT:
		reading_set(reading, rule->field, (__int128)number);
		if (find(reading, rule->id)->threshold)
			reading_set(reading, READING_SPARE_THRESHOLD_PCT, find(reading, rule->id)->threshold);
		break;
	default:
		reading_set(reading, rule->field, (__int128)number);
		break;
	}
}

/* Degrees are a signed byte; those beside it may be the lowest and the highest. Nothing at all is no sensor. */
static void decode_temperature(struct reading *reading, const struct attribute_family *family, uint8_t id)
{
	const struct reading_attribute *attribute = find(reading, id);

	if (reading->known[READING_TEMP_C] || !attribute || family_rule(family, id) ||
		!attributes_raw(attribute) || !is_available(attribute))
		return;
	reading_set(reading, READING_TEMP_C, (int8_t)attribute->raw[0]);
	if (!reading->known[READING_TEMP_C])
		reading_note(reading, "attribute %u: %d C is no temperature", id, (int8_t)attribute->raw[0]);
}

static void decode_thresholds(struct reading *reading)
{
	unsigned failed = 0;

	for (unsigned i = 0; i < reading->attribute_count; i++)
		failed += attributes_is_failed(&reading->attributes[i]);
	reading_set(reading, READING_FAILED_THRESHOLDS, failed);
}

/* Hours and writes, by agreement, on drives without moving parts; disks of old count minutes, or packed fields. */
static bool is_trusted(const struct reading *reading, const struct attribute_family *family, uint8_t id)
{
	uint64_t rpm;

	if (family)
		return id != 241; /* without a rule of its own it is something else */
	if (id == 9 || id == 241)
		return reading_get_u64(reading, READING_ROTATION_RPM, &rpm) && rpm == 0;
	return true;
}

void attributes_decode(struct reading *reading, bool has_thresholds)
{
	const struct attribute_family *family = family_named(reading->family);

	for (unsigned i = 0; i < reading->attribute_count; i++)
		reading->attributes[i].name = name_of(family, reading->attributes[i].id);
	for (size_t i = 0; i < attribute_common_rule_count; i++) {
		const struct attribute_rule *rule = &attribute_common_rules[i];

		if (!family_rule(family, rule->id) && is_trusted(reading, family, rule->id))
			apply(reading, rule);
	}
	for (size_t i = 0; family && i < family->rule_count; i++)
		apply(reading, &family->rules[i]);
	decode_temperature(reading, family, TEMPERATURE);
	decode_temperature(reading, family, TEMPERATURE_OF_AIR);
	if (has_thresholds)
		decode_thresholds(reading);
}
