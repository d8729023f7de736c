/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CSV with a header line: t_s,write_bytes_per_s and what else is known, or this program's own samples.csv. */
#include "archive/foreign_private.h"

#include <math.h>
#include <string.h>

#include "measure/sample_columns.h"

#define COLUMNS_MAX 64
#define VALUE_MAX   256

struct csv {
	size_t column_count;
	size_t columns[COLUMNS_MAX]; /* of the table below, or of a sample; SIZE_MAX: not known */
	bool has_header;
};

#define TIME 0

static const struct {
	const char *name;
	size_t offset;
	double max;
} known[] = {
	[TIME] = { "t_s", 0, FOREIGN_TIME_MAX },
	{ "write_bytes_per_s", offsetof(struct foreign_point, write_bytes_per_s), FOREIGN_BYTES_S_MAX },
	{ "read_bytes_per_s", offsetof(struct foreign_point, read_bytes_per_s), FOREIGN_BYTES_S_MAX },
	{ "write_ios_per_s", offsetof(struct foreign_point, write_ios_per_s), 1e12 },
	{ "read_ios_per_s", offsetof(struct foreign_point, read_ios_per_s), 1e12 },
	{ "lat_mean_ns", offsetof(struct foreign_point, lat_mean_ns), 1e18 },
	{ "lat_p50_ns", offsetof(struct foreign_point, lat_p50_ns), 1e18 },
	{ "lat_p90_ns", offsetof(struct foreign_point, lat_p90_ns), 1e18 },
	{ "lat_p95_ns", offsetof(struct foreign_point, lat_p95_ns), 1e18 },
	{ "lat_p99_ns", offsetof(struct foreign_point, lat_p99_ns), 1e18 },
	{ "lat_max_ns", offsetof(struct foreign_point, lat_max_ns), 1e18 },
	{ "temp_c", offsetof(struct foreign_point, temp_c), 1000 },
};

#define KNOWN (sizeof(known) / sizeof(known[0]))

/* The next value of a line without quotes and blanks around it; false at the end of the line, or for one too long. */
static bool next_value(const char **at, char *value)
{
	const char *start = *at;
	size_t length;

	if (!start)
		return false;
	length = strcspn(start, ",");
	*at = start[length] ? start + length + 1 : NULL;
	while (length && strchr(" \t\"", *start))
		start++, length--;
	while (length && strchr(" \t\"", start[length - 1]))
		length--;
	if (length >= VALUE_MAX)
		length = VALUE_MAX - 1;
	memcpy(value, start, length);
	value[length] = '\0';
	return true;
}

static bool has_name(const char *line, const char *wanted)
{
	char value[VALUE_MAX];

	while (next_value(&line, value)) {
		if (strcmp(value, wanted) == 0)
			return true;
	}
	return false;
}

static bool starts_with_time(const char *line)
{
	const char *at = foreign_word(line, "\"t_s\"");

	at = at ? at : foreign_word(line, "t_s");
	at = at ? foreign_skip(at) : NULL;
	return at && (*at == ',' || *at == '\r' || *at == '\n' || !*at);
}

/* The line alone: what recognise() gets goes on to the end of the chunk. */
static void first_line(const char *line, char *out, size_t size)
{
	(void)snprintf(out, size, "%.*s", (int)strcspn(line, "\r\n"), line);
}

static bool recognise_own(const char *line)
{
	char header[4096];

	if (!starts_with_time(line))
		return false;
	first_line(line, header, sizeof(header));
	return has_name(header, "state") &&
	       (has_name(header, "write_bytes") || has_name(header, "read_bytes"));
}

static bool recognise(const char *line)
{
	return starts_with_time(line);
}

static size_t find_known(const char *name)
{
	for (size_t i = 0; i < KNOWN; i++)
		if (strcmp(known[i].name, name) == 0)
			return i;
	return SIZE_MAX;
}

static int take_header(
	struct foreign *foreign, const char *line, size_t (*find)(const char *name), const char *needed)
{
	struct csv *csv = foreign->state;
	char value[VALUE_MAX];
	const char *at = line;

	csv->column_count = 0;
	while (next_value(&at, value)) {
		size_t column = find(value);

		if (csv->column_count == COLUMNS_MAX)
			return foreign_fail(foreign, "more than %d columns", COLUMNS_MAX);
		for (size_t i = 0; column != SIZE_MAX && i < csv->column_count; i++)
			if (csv->columns[i] == column)
				return foreign_fail(foreign, "two columns are called %.60s", value);
		if (column == SIZE_MAX && foreign->is_survey)
			foreign_warn(foreign, "the column %.60s is not known and left out", value);
		csv->columns[csv->column_count++] = column;
	}
	csv->has_header = true;
	if (!has_name(line, "t_s"))
		return foreign_fail(foreign, "no column t_s in the header");
	return has_name(line, needed) || has_name(line, "read_bytes_per_s")
		       ? 0
		       : foreign_fail(foreign, "no column %s in the header", needed);
}

static bool is_blank(const char *line)
{
	const char *at = foreign_skip(line);

	return !*at || *at == '#';
}

static int take_value(struct foreign *foreign, struct foreign_point *point, size_t column, const char *value)
{
	double number;
	const char *at;

	if (!*value && column != TIME)
		return 0;
	at = strchr(value, ',') ? NULL : foreign_number(value, &number, NULL);
	/* 1e9 as it comes out of a spreadsheet. */
	if (at && (*at == 'e' || *at == 'E')) {
		double exponent;
		bool is_negative = at[1] == '-';

		at = foreign_number(at + 1 + (is_negative || at[1] == '+'), &exponent, NULL);
		number *= pow(10, is_negative ? -exponent : exponent);
	}
	if (!at || *at)
		return foreign_fail(
			foreign, "%s: no number that can be: \"%.40s\"", known[column].name, value);
	if (!(number <= known[column].max))
		return foreign_fail(foreign, "%s: too large: %.40s", known[column].name, value);
	if (column == TIME)
		point->t_ms = llround(number * 1000);
	else
		*(double *)(void *)((char *)point + known[column].offset) = number;
	return 0;
}

static int fail_columns(struct foreign *foreign, size_t count)
{
	const struct csv *csv = foreign->state;

	return foreign_fail(foreign, "%zu value%s where the header has %zu", count, count == 1 ? "" : "s",
		csv->column_count);
}

static int line(struct foreign *foreign, const char *text)
{
	struct csv *csv = foreign->state;
	struct foreign_point point;
	char value[VALUE_MAX];
	const char *at = text;
	size_t count = 0;
	int rc = 0;

	if (foreign->line == 1)
		csv->has_header = false;
	if (is_blank(text))
		return 0;
	if (!csv->has_header)
		return take_header(foreign, text, find_known, "write_bytes_per_s");
	foreign_point_init(&point);
	for (; rc == 0 && next_value(&at, value); count++) {
		if (count >= csv->column_count)
			return fail_columns(foreign, count + 1);
		if (csv->columns[count] != SIZE_MAX)
			rc = take_value(foreign, &point, csv->columns[count], value);
	}
	if (rc == 0 && count < csv->column_count)
		rc = fail_columns(foreign, count);
	if (rc < 0)
		return rc;
	if (foreign->points == 0)
		foreign->is_absolute = point.t_ms / 1000 >= FOREIGN_EPOCH_S;
	return foreign_take(foreign, &point);
}

static int own_line(struct foreign *foreign, const char *text)
{
	struct csv *csv = foreign->state;
	struct sample sample;
	char value[VALUE_MAX];
	const char *at = text;
	size_t count = 0;

	if (foreign->line == 1)
		csv->has_header = false;
	if (is_blank(text))
		return 0;
	if (!csv->has_header)
		return take_header(foreign, text, sample_column_find, "write_bytes");
	sample_init(&sample);
	sample.t_ms = INT64_MIN;
	for (; next_value(&at, value); count++) {
		if (count >= csv->column_count)
			return fail_columns(foreign, count + 1);
		if (csv->columns[count] != SIZE_MAX &&
			sample_column_parse(&sample, csv->columns[count], value) < 0)
			return foreign_fail(foreign, "%s: no value that can be: \"%.40s\"",
				sample_column_name(csv->columns[count]), value);
	}
	if (count < csv->column_count)
		return fail_columns(foreign, count);
	if (sample.t_ms == INT64_MIN)
		return foreign_fail(foreign, "a row without a time");
	foreign->is_absolute = true;
	return foreign_take_sample(foreign, &sample);
}

const struct foreign_format foreign_csv = {
	.name = "csv",
	.state_bytes = sizeof(struct csv),
	.recognise = recognise,
	.line = line,
};

const struct foreign_format foreign_own_csv = {
	.name = "drivesoak",
	.state_bytes = sizeof(struct csv),
	.recognise = recognise_own,
	.line = own_line,
};
