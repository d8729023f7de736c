/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "archive/health.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "archive/journal_private.h"
#include "base/flat.h"
#include "base/json.h"

struct points {
	struct endurance_point *list;
	size_t count, room;
	uint64_t stated_unit_bytes;
	uint32_t logical_block_bytes;
	bool is_nvme; /* whose unit the standard states */
};

static uint64_t column_count(sqlite3_stmt *statement, int column)
{
	int64_t value = sqlite3_column_int64(statement, column);

	return sqlite3_column_type(statement, column) == SQLITE_INTEGER && value >= 0 ? (uint64_t)value
										      : UINT64_MAX;
}

static double column_number(sqlite3_stmt *statement, int column)
{
	return sqlite3_column_type(statement, column) == SQLITE_NULL
		       ? NAN
		       : sqlite3_column_double(statement, column);
}

static const char points_sql[] =
	"SELECT t_ms, json_extract(fields, '$." HEALTH_PHASE "'), json_extract(fields, '$.host_written_raw'),"
	" json_extract(fields, '$.media_written_raw'), json_extract(fields, '$.media_written_unit_bytes'),"
	" json_extract(fields, '$.percent_used'), json_extract(fields, '$." HEALTH_DISK_WRITTEN "'),"
	" json_extract(fields, '$." HEALTH_OWN_WRITTEN "'), json_extract(fields, '$." HEALTH_READ_MS "'),"
	" json_extract(fields, '$.host_written_unit_bytes'), json_extract(fields, '$." HEALTH_LOGICAL_BLOCK
	"'),"
	" json_extract(fields, '$.source') LIKE 'nvme%'"
	" FROM health WHERE run = ?1 ORDER BY t_ms";

static int point_add(struct points *points, sqlite3_stmt *statement)
{
	const char *phase = (const char *)sqlite3_column_text(statement, 1);
	struct endurance_point point = {
		.t_ms = sqlite3_column_int64(statement, 0),
		.phase = PHASE_COUNT,
		.host_raw = column_count(statement, 2),
		.media_raw = column_count(statement, 3),
		.media_unit_bytes = column_number(statement, 4),
		.percent_used = column_number(statement, 5),
		.disk_written_bytes = column_count(statement, 6),
		.own_written_bytes = column_count(statement, 7),
		.read_ms = column_number(statement, 8),
	};
	uint64_t stated = column_count(statement, 9), block = column_count(statement, 10);

	(void)run_phase_parse(phase ? phase : "", &point.phase);
	point.media_shares_unit = isnan(point.media_unit_bytes);
	if (stated != UINT64_MAX)
		points->stated_unit_bytes = stated;
	if (block != UINT64_MAX)
		points->logical_block_bytes = (uint32_t)block;
	points->is_nvme |= sqlite3_column_int(statement, 11) != 0;
	if (points->count == points->room) {
		size_t room = points->room ? points->room * 2 : 256;
		struct endurance_point *list = realloc(points->list, room * sizeof(*list));

		if (!list)
			return -ENOMEM;
		points->list = list;
		points->room = room;
	}
	points->list[points->count++] = point;
	return 0;
}

static int points_read(struct journal *journal, const char *run, struct points *points)
{
	sqlite3_stmt *statement = NULL;
	int64_t number;
	int rc = journal_run_number(journal, run, &number), step;

	if (rc == 0)
		rc = journal_prepare(journal, points_sql, &statement);
	if (rc < 0)
		return rc;
	(void)sqlite3_bind_int64(statement, 1, number);
	while ((step = sqlite3_step(statement)) == SQLITE_ROW && rc == 0)
		rc = point_add(points, statement);
	if (rc == 0 && step != SQLITE_DONE)
		rc = journal_fail(journal, step);
	(void)sqlite3_finalize(statement);
	return rc;
}

/* Own bytes a second from the first to the last reading, of the time in which they grew. */
static double mean_rate(const struct points *points)
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
	struct endurance_interval *const intervals[] = { &out->waf, &out->percent_per_tb, &out->bytes_left,
		&out->seconds_left };

	for (size_t i = 0; i < sizeof(intervals) / sizeof(intervals[0]); i++) {
		intervals[i]->value = intervals[i]->low = intervals[i]->high = NAN;
		text_copy(intervals[i]->how, sizeof(intervals[i]->how), "the health may be another disk's");
	}
}

static void judge(const struct points *points, struct health_endurance *out)
{
	const struct endurance_point *list = points->list;
	size_t count = points->count;
	uint64_t unit_bytes;

	out->readings = count;
	out->first_percent_used = out->last_percent_used = NAN;
	for (size_t i = 0; i < count; i++) {
		if (isnan(list[i].percent_used))
			continue;
		if (isnan(out->first_percent_used))
			out->first_percent_used = list[i].percent_used;
		out->last_percent_used = list[i].percent_used;
	}
	endurance_find_unit(list, count, points->logical_block_bytes, points->stated_unit_bytes, &out->unit);
	/* Until it is measured, one that the standard states is as good. */
	unit_bytes = out->unit.bytes;
	if (!unit_bytes && points->is_nvme && out->unit.stated == ENDURANCE_UNCHECKED)
		unit_bytes = points->stated_unit_bytes;
	endurance_waf(list, count, unit_bytes, PHASE_COUNT, &out->waf);
	for (int phase = 0; phase < PHASE_COUNT; phase++)
		endurance_waf(list, count, unit_bytes, (enum run_phase)phase, &out->phase_waf[phase]);
	endurance_life(list, count, unit_bytes, &out->percent_per_tb, &out->bytes_left);
	endurance_life_at(&out->bytes_left, mean_rate(points), &out->seconds_left);
	if (out->unit.foreign)
		disown(out);
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
	uint64_t warnings; /* of any reading */
	uint64_t first_written_bytes, last_written_bytes;
	uint64_t now_written_bytes;
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

static int take_reading(const struct health_record *health, void *arg)
{
	struct verdict_ends *ends = arg;

	verdict_health_reading_init(&ends->now);
	ends->now_written_bytes = 0;
	(void)flat_each(health->fields, take_value, ends);
	if (ends->now.critical_warning != VERDICT_HEALTH_UNKNOWN)
		ends->warnings |= ends->now.critical_warning;
	if (ends->count++ == 0) {
		ends->first = ends->last = ends->now;
		ends->first_written_bytes = ends->now_written_bytes;
	}
	keep_known(&ends->now, &ends->last);
	if (ends->now_written_bytes > ends->last_written_bytes)
		ends->last_written_bytes = ends->now_written_bytes;
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
	struct verdict_ends ends = { 0 };
	struct verdict_health_input input = { 0 };
	int rc = journal_each_health(journal, run->id, INT64_MIN, false, take_reading, &ends);

	*out = (struct verdict_health){ 0 };
	if (rc < 0 || ends.count < 2)
		return rc;
	if (ends.last.critical_warning != VERDICT_HEALTH_UNKNOWN)
		ends.last.critical_warning = ends.warnings;
	input.first = ends.first;
	input.last = ends.last;
	if (ends.last_written_bytes > ends.first_written_bytes)
		input.written_bytes = ends.last_written_bytes - ends.first_written_bytes;
	(void)flat_each(run->config_json, take_rating, &input.rated_bytes);
	verdict_health_decide(&input, out);
	return 0;
}

int health_endurance_read(struct journal *journal, const struct run_record *run, struct health_endurance *out)
{
	struct points points = { 0 };
	int rc = points_read(journal, run->id, &points);

	if (rc == 0) {
		*out = (struct health_endurance){ 0 };
		judge(&points, out);
		rc = find(journal, run, &out->findings);
	}
	free(points.list);
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

static void put_endurance(struct json *json, const struct health_endurance *endurance)
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

int health_run_json(struct journal *journal, const struct run_record *run, struct text *out)
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
		put_endurance(&json, endurance);
		json_object_close(&json);
		text_add(out, "\n");
	}
	free(endurance);
	return rc;
}
