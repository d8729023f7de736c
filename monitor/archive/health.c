/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "archive/health.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive/health_points.h"
#include "base/flat.h"
#include "base/json.h"

/* Own bytes a second from the first to the last reading, of the time in which they grew. */
static double mean_rate(const struct health_points *points)
{
	const struct endurance_point *first, *last;

	if (points->count < 2)
		return NAN;
	first = &points->list[0];
	last = &points->list[points->count - 1];
	if (first->own_written_bytes == UINT64_MAX || last->own_written_bytes == UINT64_MAX ||
		last->t_ms <= first->t_ms)
		return NAN;
	return ((double)last->own_written_bytes - (double)first->own_written_bytes) * 1e3 /
	       (double)(last->t_ms - first->t_ms);
}

/* What another disk's health says of life is nothing about this one. */
static void disown(struct health_endurance *out)
{
	static const char why[] = "the health may be another disk's";

	endurance_say_unknown(&out->waf, why);
	for (int phase = 0; phase < PHASE_COUNT; phase++)
		endurance_say_unknown(&out->phase_waf[phase], why);
	endurance_say_unknown(&out->percent_per_tb, why);
	endurance_say_unknown(&out->bytes_left, why);
	endurance_say_unknown(&out->seconds_left, why);
}

static void add_words(char how[ENDURANCE_HOW_MAX], const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void add_words(char how[ENDURANCE_HOW_MAX], const char *format, ...)
{
	const size_t used = strlen(how);
	va_list args;

	va_start(args, format);
	(void)vsnprintf(how + used, ENDURANCE_HOW_MAX - used, format, args);
	va_end(args);
}

/* From the base that lasts: readings before it are of other counters. */
static void judge_base(const struct health_points *points, struct health_endurance *out)
{
	char *const hows[] = { out->unit.how, out->waf.how, out->percent_per_tb.how, out->bytes_left.how,
		out->seconds_left.how };
	char why[ENDURANCE_WHY_MAX];
	const size_t base = endurance_base(points->list, points->count, why), count = points->count - base;
	const struct endurance_point *list = points->list + base;
	uint64_t unit_bytes;

	endurance_find_unit(list, count, points->logical_block_bytes, points->stated_unit_bytes, &out->unit);
	/* Until it is measured, one that the standard states is as good. */
	unit_bytes = out->unit.bytes;
	if (!unit_bytes && points->is_nvme && out->unit.stated == ENDURANCE_UNCHECKED)
		unit_bytes = points->stated_unit_bytes;
	endurance_waf(list, count, unit_bytes, PHASE_COUNT, &out->waf);
	for (int phase = 0; phase < PHASE_COUNT; phase++)
		endurance_waf(list, count, unit_bytes, (enum run_phase)phase, &out->phase_waf[phase]);
	endurance_life(list, count, unit_bytes, &out->percent_per_tb, &out->bytes_left);
	endurance_life_at(&out->bytes_left, out->bytes_per_s, &out->seconds_left);
	if (points->media_from[0])
		add_words(out->waf.how, "; by %s", points->media_from);
	if (out->unit.foreign)
		disown(out);
	for (size_t i = 0; base && i < sizeof(hows) / sizeof(hows[0]); i++)
		add_words(hows[i], "; counted since reading %zu, where %s", base + 1, why);
}

static void judge(const struct health_points *points, struct health_endurance *out)
{
	const struct endurance_point *list = points->list;

	out->readings = points->count;
	out->first_percent_used = out->last_percent_used = NAN;
	for (size_t i = 0; i < points->count; i++) {
		if (isnan(list[i].percent_used))
			continue;
		if (isnan(out->first_percent_used))
			out->first_percent_used = list[i].percent_used;
		out->last_percent_used = list[i].percent_used;
	}
	out->bytes_per_s = mean_rate(points);
	judge_base(points, out);
}

/* Where a count of a reading belongs in what the verdict is made from. */
static const struct {
	const char *key;
	size_t offset;
} verdict_counts[] = {
	{ "media_errors", offsetof(struct verdict_health_reading, media_errors) },
	{ "critical_warning", offsetof(struct verdict_health_reading, critical_warning) },
	{ "smart_failed", offsetof(struct verdict_health_reading, smart_failed) },
	{ "crc_errors", offsetof(struct verdict_health_reading, crc_errors) },
	{ "unsafe_shutdowns", offsetof(struct verdict_health_reading, unsafe_shutdowns) },
	{ "reallocated", offsetof(struct verdict_health_reading, reallocated) },
	{ "warning_temp_minutes", offsetof(struct verdict_health_reading, warning_temp_minutes) },
	{ "critical_temp_minutes", offsetof(struct verdict_health_reading, critical_temp_minutes) },
	{ "thermal1_count", offsetof(struct verdict_health_reading, thermal1_count) },
	{ "thermal2_count", offsetof(struct verdict_health_reading, thermal2_count) },
	{ "thermal1_s", offsetof(struct verdict_health_reading, thermal1_s) },
	{ "thermal2_s", offsetof(struct verdict_health_reading, thermal2_s) },
	{ "throttle_events", offsetof(struct verdict_health_reading, throttle_events) },
};
static const struct {
	const char *key;
	size_t offset;
} verdict_levels[] = {
	{ "percent_used", offsetof(struct verdict_health_reading, percent_used) },
	{ "spare_pct", offsetof(struct verdict_health_reading, spare_pct) },
	{ "spare_threshold_pct", offsetof(struct verdict_health_reading, spare_threshold_pct) },
};

struct verdict_ends {
	struct verdict_health_reading first, last, now;
	uint64_t warnings;				  /* of any reading */
	uint64_t before_written_bytes, now_written_bytes; /* by the disk's counter */
	uint64_t written_bytes;				  /* summed up; unknown before the second reading */
	size_t count;
};

static void take_value(const char *key, const char *value, void *arg)
{
	struct verdict_ends *ends = arg;

	/* The walk gives null and "" alike: unknown. */
	if (!value[0])
		return;
	for (size_t i = 0; i < sizeof(verdict_counts) / sizeof(verdict_counts[0]); i++)
		if (strcmp(key, verdict_counts[i].key) == 0)
			*(uint64_t *)(void *)((char *)&ends->now + verdict_counts[i].offset) = strtoull(
				value, NULL, 10);
	for (size_t i = 0; i < sizeof(verdict_levels) / sizeof(verdict_levels[0]); i++)
		if (strcmp(key, verdict_levels[i].key) == 0)
			*(double *)(void *)((char *)&ends->now + verdict_levels[i].offset) = strtod(
				value, NULL);
	if (strcmp(key, HEALTH_DISK_WRITTEN) == 0)
		ends->now_written_bytes = strtoull(value, NULL, 10);
}

/* What is not known in one reading is still what it was in the one before. */
static void keep_known(const struct verdict_health_reading *from, struct verdict_health_reading *to)
{
	for (size_t i = 0; i < sizeof(verdict_counts) / sizeof(verdict_counts[0]); i++) {
		uint64_t value = *(
			const uint64_t *)(const void *)((const char *)from + verdict_counts[i].offset);

		if (value != VERDICT_HEALTH_UNKNOWN)
			*(uint64_t *)(void *)((char *)to + verdict_counts[i].offset) = value;
	}
	for (size_t i = 0; i < sizeof(verdict_levels) / sizeof(verdict_levels[0]); i++) {
		double value = *(const double *)(const void *)((const char *)from + verdict_levels[i].offset);

		if (!isnan(value))
			*(double *)(void *)((char *)to + verdict_levels[i].offset) = value;
	}
}

/* What the first reading did not know is what the first one that knows it says. */
static void fill_unknown(const struct verdict_health_reading *from, struct verdict_health_reading *to)
{
	struct verdict_health_reading filled = *from;

	keep_known(to, &filled);
	*to = filled;
}

/* The disk's counter begins anew with the machine, or where the drive is put back: then nothing is known of the time
 * between. */
static void add_written(struct verdict_ends *ends)
{
	if (ends->now_written_bytes == VERDICT_HEALTH_UNKNOWN)
		return;
	if (ends->before_written_bytes != VERDICT_HEALTH_UNKNOWN) {
		if (ends->written_bytes == VERDICT_HEALTH_UNKNOWN)
			ends->written_bytes = 0;
		if (ends->now_written_bytes > ends->before_written_bytes)
			ends->written_bytes += ends->now_written_bytes - ends->before_written_bytes;
	}
	ends->before_written_bytes = ends->now_written_bytes;
}

static int take_reading(const struct health_record *health, void *arg)
{
	struct verdict_ends *ends = arg;

	verdict_health_reading_init(&ends->now);
	ends->now_written_bytes = VERDICT_HEALTH_UNKNOWN;
	(void)flat_each(health->fields, take_value, ends);
	if (ends->now.critical_warning != VERDICT_HEALTH_UNKNOWN)
		ends->warnings |= ends->now.critical_warning;
	if (ends->count++ == 0)
		ends->first = ends->last = ends->now;
	fill_unknown(&ends->now, &ends->first);
	keep_known(&ends->now, &ends->last);
	add_written(ends);
	return 0;
}

/* The maker's rating as the run was started with. */
static void take_rating(const char *key, const char *value, void *arg)
{
	if (strcmp(key, "rated_tbw_bytes") == 0)
		*(uint64_t *)arg = strtoull(value, NULL, 10);
}

static int find(struct journal *journal, const struct run_record *run, struct verdict_health *out)
{
	struct verdict_ends ends = { .before_written_bytes = VERDICT_HEALTH_UNKNOWN,
		.written_bytes = VERDICT_HEALTH_UNKNOWN };
	struct verdict_health_input input = { 0 };
	int rc = journal_each_health(journal, run->id, INT64_MIN, false, take_reading, &ends);

	*out = (struct verdict_health){ 0 };
	if (rc < 0 || ends.count < 2)
		return rc;
	if (ends.last.critical_warning != VERDICT_HEALTH_UNKNOWN)
		ends.last.critical_warning = ends.warnings;
	input.first = ends.first;
	input.last = ends.last;
	input.written_bytes = ends.written_bytes;
	(void)flat_each(run->config_json, take_rating, &input.rated_bytes);
	verdict_health_decide(&input, out);
	return 0;
}

int health_endurance_read(struct journal *journal, const struct run_record *run, struct health_endurance *out)
{
	struct health_points points = { 0 };
	int rc = health_points_read(journal, run->id, &points);

	if (rc == 0) {
		*out = (struct health_endurance){ 0 };
		judge(&points, out);
		rc = find(journal, run, &out->findings);
	}
	health_points_fini(&points);
	return rc;
}

const char *health_weight_name(enum verdict_health_weight weight)
{
	static const char *const names[] = {
		[VERDICT_HEALTH_FAIL] = "fail",
		[VERDICT_HEALTH_REMARK] = "remark",
		[VERDICT_HEALTH_INFORMATION] = "information",
	};

	return names[weight];
}

static void put_interval(struct json *json, const char *key, const struct endurance_interval *interval)
{
	json_key(json, key);
	json_object_open(json);
	json_put_double(json, "value", interval->value);
	json_put_double(json, "low", interval->low);
	json_put_double(json, "high", interval->high);
	json_put_string(json, "how", interval->how[0] ? interval->how : NULL);
	json_object_close(json);
}

/* At a rate that somebody asks for. */
static void put_left_at(struct json *json, const struct health_endurance *endurance, double bytes_per_s)
{
	struct endurance_interval seconds;

	endurance_life_at(&endurance->bytes_left, bytes_per_s, &seconds);
	json_put_double(json, "asked_bytes_per_s", bytes_per_s);
	put_interval(json, "asked_seconds_left", &seconds);
}

static void put_endurance(struct json *json, const struct health_endurance *endurance, double at_bytes_per_s)
{
	json_key(json, "unit");
	json_object_open(json);
	if (endurance->unit.bytes)
		json_put_u64(json, "host_written_unit_bytes", endurance->unit.bytes);
	else
		json_put_null(json, "host_written_unit_bytes");
	json_put_string(json, "how", endurance->unit.how);
	json_put_bool(json, "other_writers", endurance->unit.other_writers);
	json_put_bool(json, "foreign", endurance->unit.foreign);
	json_object_close(json);
	put_interval(json, "waf", &endurance->waf);
	json_key(json, "phases");
	json_object_open(json);
	for (int phase = 0; phase < PHASE_COUNT; phase++)
		if (!isnan(endurance->phase_waf[phase].value))
			put_interval(
				json, run_phase_name((enum run_phase)phase), &endurance->phase_waf[phase]);
	json_object_close(json);
	json_key(json, "life");
	json_object_open(json);
	put_interval(json, "percent_per_tb", &endurance->percent_per_tb);
	put_interval(json, "bytes_left", &endurance->bytes_left);
	put_interval(json, "seconds_left", &endurance->seconds_left);
	json_put_double(json, "bytes_per_s", endurance->bytes_per_s);
	json_put_double(
		json, "percent_used_delta", endurance->last_percent_used - endurance->first_percent_used);
	if (at_bytes_per_s > 0)
		put_left_at(json, endurance, at_bytes_per_s);
	json_object_close(json);
	json_key(json, "findings");
	json_array_open(json);
	for (unsigned i = 0; i < endurance->findings.count; i++) {
		json_object_open(json);
		json_put_string(json, "weight", health_weight_name(endurance->findings.findings[i].weight));
		json_put_string(json, "text", endurance->findings.findings[i].text);
		json_object_close(json);
	}
	json_array_close(json);
}

static int put_reading(const struct health_record *health, void *arg)
{
	struct json *json = arg;

	json_raw(json, health->fields);
	return 0;
}

int health_run_json(
	struct journal *journal, const struct run_record *run, double at_bytes_per_s, struct text *out)
{
	struct health_endurance *endurance = malloc(sizeof(*endurance));
	struct json json;
	int rc = endurance ? health_endurance_read(journal, run, endurance) : -ENOMEM;

	if (rc == 0) {
		json_init(&json, out);
		json_object_open(&json);
		json_key(&json, "readings");
		json_array_open(&json);
		rc = journal_each_health(journal, run->id, INT64_MIN, false, put_reading, &json);
		json_array_close(&json);
		put_endurance(&json, endurance, at_bytes_per_s);
		json_object_close(&json);
		text_add(out, "\n");
	}
	free(endurance);
	return rc;
}
