/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "measure/sample_columns.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VALUE_MAX SAMPLE_FLAGS_TEXT_MAX
#define MS_PER_S  1000
#define COLUMNS	  (sizeof(columns) / sizeof(columns[0]))

enum column_kind {
	COLUMN_END,
	COLUMN_ELAPSED,
	COLUMN_STATE,
	COLUMN_FLAGS,
	COLUMN_PHASE,
	COLUMN_COUNT,
	COLUMN_REAL
};

/* API.md's order; what came later stands at the end. */
static const struct {
	const char *name;
	enum column_kind kind;
	size_t offset;
} columns[] = {
	{ "t_s", COLUMN_END, 0 },
	{ "elapsed_s", COLUMN_ELAPSED, 0 },
	{ "state", COLUMN_STATE, 0 },
	{ "flags", COLUMN_FLAGS, 0 },
	{ "phase", COLUMN_PHASE, 0 },
	{ "write_bytes", COLUMN_COUNT, offsetof(struct sample, write_bytes) },
	{ "write_ios", COLUMN_COUNT, offsetof(struct sample, write_ios) },
	{ "read_bytes", COLUMN_COUNT, offsetof(struct sample, read_bytes) },
	{ "read_ios", COLUMN_COUNT, offsetof(struct sample, read_ios) },
	{ "errors", COLUMN_COUNT, offsetof(struct sample, errors) },
	{ "lat_p50_ns", COLUMN_COUNT, offsetof(struct sample, lat_p50_ns) },
	{ "lat_p90_ns", COLUMN_COUNT, offsetof(struct sample, lat_p90_ns) },
	{ "lat_p99_ns", COLUMN_COUNT, offsetof(struct sample, lat_p99_ns) },
	{ "lat_p999_ns", COLUMN_COUNT, offsetof(struct sample, lat_p999_ns) },
	{ "lat_max_ns", COLUMN_COUNT, offsetof(struct sample, lat_max_ns) },
	{ "stall_ns", COLUMN_COUNT, offsetof(struct sample, stall_ns) },
	{ "inflight_mean", COLUMN_REAL, offsetof(struct sample, inflight_mean) },
	{ "temp_c", COLUMN_REAL, offsetof(struct sample, temp_c) },
	{ "lat_p9999_ns", COLUMN_COUNT, offsetof(struct sample, lat_p9999_ns) },
	{ "host_cpu_share", COLUMN_REAL, offsetof(struct sample, host_cpu_share) },
	{ "steal_share", COLUMN_REAL, offsetof(struct sample, steal_share) },
	{ "run_delay_share", COLUMN_REAL, offsetof(struct sample, run_delay_share) },
	{ "device_lat_mean_ns", COLUMN_COUNT, offsetof(struct sample, device_lat_mean_ns) },
	{ "lat_mean_ns", COLUMN_COUNT, offsetof(struct sample, lat_mean_ns) },
	{ "throttled_ns", COLUMN_COUNT, offsetof(struct sample, throttled_ns) },
	{ "commits", COLUMN_COUNT, offsetof(struct sample, commits) },
	{ "commit_p50_ns", COLUMN_COUNT, offsetof(struct sample, commit_p50_ns) },
	{ "commit_p99_ns", COLUMN_COUNT, offsetof(struct sample, commit_p99_ns) },
};

size_t sample_column_count(void)
{
	return COLUMNS;
}

const char *sample_column_name(size_t column)
{
	return columns[column].name;
}

/* @digits decimals of a whole number of 10^-@digits, without trailing zeros. */
static void print_fixed(bool negative, uint64_t whole, uint64_t rest, int digits, char *value)
{
	char *end = value + snprintf(value, VALUE_MAX, "%s%" PRIu64 ".%0*" PRIu64, negative ? "-" : "", whole,
				    digits, rest);

	while (end[-1] == '0')
		*--end = '\0';
	if (end[-1] == '.')
		end[-1] = '\0';
}

static void print_end(int64_t t_ms, char *value)
{
	uint64_t ms = t_ms < 0 ? 0 - (uint64_t)t_ms : (uint64_t)t_ms;

	print_fixed(t_ms < 0, ms / MS_PER_S, ms % MS_PER_S, 3, value);
}

static bool print_count(uint64_t count, char *value)
{
	(void)snprintf(value, VALUE_MAX, "%" PRIu64, count);
	return count != SAMPLE_UNKNOWN;
}

static bool print_real(double real, char *value)
{
	(void)snprintf(value, VALUE_MAX, "%.10g", real);
	return isfinite(real);
}

/* False when the value is unknown. */
static bool value_print(const struct sample *sample, size_t column, char *value)
{
	const char *field = (const char *)sample + columns[column].offset;
	bool is_down = sample->state == SAMPLE_DOWN;

	switch (columns[column].kind) {
	case COLUMN_END:
		print_end(sample->t_ms, value);
		return sample->t_ms != INT64_MIN;
	case COLUMN_ELAPSED:
		print_fixed(
			false, sample->elapsed_ns / 1000000000, sample->elapsed_ns % 1000000000, 9, value);
		return sample->elapsed_ns != SAMPLE_UNKNOWN;
	case COLUMN_STATE:
		(void)snprintf(value, VALUE_MAX, "%s", sample_state_name(sample->state));
		return true;
	case COLUMN_FLAGS:
		sample_flags_print(sample->flags, value);
		return true;
	case COLUMN_PHASE:
		(void)snprintf(value, VALUE_MAX, "%s", run_phase_name(sample->phase));
		return true;
	case COLUMN_COUNT:
		return print_count(*(const uint64_t *)(const void *)field, value) && !is_down;
	case COLUMN_REAL:
		return print_real(*(const double *)(const void *)field, value) && !is_down;
	}
	return false;
}

static bool is_word(size_t column)
{
	return columns[column].kind >= COLUMN_STATE && columns[column].kind <= COLUMN_PHASE;
}

void sample_column_json(const struct sample *sample, size_t column, struct json *json)
{
	char value[VALUE_MAX];

	if (!value_print(sample, column, value))
		json_null(json);
	else if (is_word(column))
		json_string(json, value);
	else
		json_raw(json, value);
}

void sample_column_csv(const struct sample *sample, size_t column, struct text *text)
{
	char value[VALUE_MAX];

	if (value_print(sample, column, value))
		text_add(text, value);
}

void sample_names_json(struct json *json)
{
	json_array_open(json);
	for (size_t i = 0; i < COLUMNS; i++)
		json_string(json, columns[i].name);
	json_array_close(json);
}

void sample_row_json(const struct sample *sample, struct json *json)
{
	json_array_open(json);
	for (size_t i = 0; i < COLUMNS; i++)
		sample_column_json(sample, i, json);
	json_array_close(json);
}

void sample_names_csv(struct text *text)
{
	for (size_t i = 0; i < COLUMNS; i++)
		text_addf(text, "%s%s", i ? "," : "", columns[i].name);
	text_add(text, "\n");
}

void sample_row_csv(const struct sample *sample, struct text *text)
{
	for (size_t i = 0; i < COLUMNS; i++) {
		if (i)
			text_add(text, ",");
		sample_column_csv(sample, i, text);
	}
	text_add(text, "\n");
}

size_t sample_column_find(const char *name)
{
	for (size_t i = 0; i < COLUMNS; i++)
		if (strcmp(columns[i].name, name) == 0)
			return i;
	return SIZE_MAX;
}

/* Digits, a sign and an exponent: no hexadecimal, no infinity. */
static int parse_real(const char *text, double *out)
{
	double value;
	char *end;

	if (!*text || strspn(text, "0123456789+-.eE") != strlen(text))
		return -EINVAL;
	value = strtod(text, &end);
	if (*end || !isfinite(value))
		return -EINVAL;
	*out = value;
	return 0;
}

/* Whole nanoseconds and milliseconds are read from their decimals, not by way of a double. */
static int parse_fixed(const char *text, int digits, uint64_t max, uint64_t *out)
{
	uint64_t value = 0;
	bool after = false;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	for (; *text; text++) {
		if (*text == '.' && !after) {
			after = true;
			continue;
		}
		if (*text < '0' || *text > '9' || (after && digits == 0) || value > (max - 9) / 10)
			return -EINVAL;
		value = value * 10 + (uint64_t)(*text - '0');
		digits -= after;
	}
	for (; digits > 0; digits--) {
		if (value > max / 10)
			return -EINVAL;
		value *= 10;
	}
	*out = value;
	return 0;
}

static int parse_end(struct sample *sample, const char *text)
{
	uint64_t ms;
	int rc = parse_fixed(text, 3, INT64_MAX, &ms);

	if (rc == 0)
		sample->t_ms = (int64_t)ms;
	return rc;
}

int sample_column_parse(struct sample *sample, size_t column, const char *text)
{
	char *field = (char *)sample + columns[column].offset;

	switch (columns[column].kind) {
	case COLUMN_STATE:
		return sample_state_parse(text, &sample->state);
	case COLUMN_FLAGS:
		return sample_flags_parse(text, &sample->flags);
	case COLUMN_PHASE:
		return run_phase_parse(text, &sample->phase);
	default:
		break;
	}
	if (!*text)
		return 0;
	switch (columns[column].kind) {
	case COLUMN_END:
		return parse_end(sample, text);
	case COLUMN_ELAPSED:
		return parse_fixed(text, 9, INT64_MAX, &sample->elapsed_ns);
	case COLUMN_COUNT:
		return parse_fixed(text, 0, INT64_MAX, (uint64_t *)(void *)field);
	default:
		return parse_real(text, (double *)(void *)field);
	}
}
