/* SPDX-License-Identifier: GPL-2.0-or-later */
/* This program's own samples.json, a byte at a time: it may be one line of any length. Not a general reader: what it
 * does not need (the run beside the samples) it only steps over. */
#include "archive/foreign_private.h"

#include <stdlib.h>
#include <string.h>

#include "measure/sample_columns.h"

#define COLUMNS_MAX 64
#define TOKEN_MAX   128
#define DEPTH_MAX   64
#define SKIP_FIRST  3 /* bytes of a byte order mark */

enum part { PART_OTHER, PART_COLUMNS, PART_ROWS, PART_INTERVAL };

struct reader {
	unsigned depth, first;
	char opened[DEPTH_MAX]; /* which bracket */
	bool in_string, is_escaped, is_string, has_token, is_over;
	char token[TOKEN_MAX];
	size_t length;
	enum part part;
	bool has_columns, has_rows;
	size_t columns[COLUMNS_MAX], column_count, value_count;
	struct sample sample;
};

static bool recognise(const char *line)
{
	const char *at = line + strspn(line, " \t\r");

	return *at == '{';
}

static int fail(struct foreign *foreign)
{
	return foreign_fail(foreign, "no JSON of samples as drivesoak exports it");
}

static int add_column(struct foreign *foreign, struct reader *reader)
{
	size_t column = sample_column_find(reader->token);

	if (reader->column_count == COLUMNS_MAX)
		return foreign_fail(foreign, "more than %d columns", COLUMNS_MAX);
	if (column == SIZE_MAX && foreign->is_survey)
		foreign_warn(foreign, "the column %.60s is not known and left out", reader->token);
	reader->columns[reader->column_count++] = column;
	return 0;
}

static int add_value(struct foreign *foreign, struct reader *reader)
{
	const char *text = !reader->is_string && strcmp(reader->token, "null") == 0 ? "" : reader->token;
	size_t at = reader->value_count++, column;

	if (at >= reader->column_count)
		return foreign_fail(foreign, "more values than there are columns");
	column = reader->columns[at];
	if (column != SIZE_MAX && sample_column_parse(&reader->sample, column, text) < 0)
		return foreign_fail(foreign, "%s: no value that can be: \"%.40s\"",
			sample_column_name(column), reader->token);
	return 0;
}

static int take_interval(struct foreign *foreign, struct reader *reader)
{
	double seconds;
	const char *end = foreign_number(reader->token, &seconds, NULL);

	if (!end || *end || !(seconds >= 1 && seconds <= 86400))
		return foreign_fail(foreign, "interval_s: \"%.40s\"", reader->token);
	foreign->declared_ms = (int64_t)(seconds * 1000);
	return 0;
}

/* A string, a number or a word has ended. */
static int take_token(struct foreign *foreign, struct reader *reader)
{
	if (!reader->has_token)
		return 0;
	reader->has_token = false;
	reader->token[reader->length] = '\0';
	reader->length = 0;
	if (reader->part == PART_COLUMNS && reader->depth == 2)
		return add_column(foreign, reader);
	if (reader->part == PART_ROWS && reader->depth == 3)
		return add_value(foreign, reader);
	if (reader->part == PART_ROWS)
		return fail(foreign);
	if (reader->part == PART_INTERVAL && reader->depth == 1)
		return take_interval(foreign, reader);
	return 0;
}

static void take_key(struct reader *reader)
{
	static const struct {
		const char *name;
		enum part part;
	} parts[] = { { "columns", PART_COLUMNS }, { "rows", PART_ROWS }, { "interval_s", PART_INTERVAL } };

	reader->token[reader->length] = '\0';
	reader->length = 0;
	reader->has_token = false;
	if (reader->depth != 1)
		return;
	reader->part = PART_OTHER;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strcmp(parts[i].name, reader->token) == 0)
			reader->part = parts[i].part;
	reader->has_columns |= reader->part == PART_COLUMNS;
	reader->has_rows |= reader->part == PART_ROWS;
}

static int open_level(struct foreign *foreign, struct reader *reader, char bracket)
{
	if (reader->depth == DEPTH_MAX || reader->is_over || reader->has_token ||
		(reader->depth == 0 && bracket != '{'))
		return fail(foreign);
	reader->opened[reader->depth++] = bracket;
	if (reader->part == PART_ROWS && (bracket == '{' || reader->depth > 3 || !reader->has_columns))
		return fail(foreign);
	if (reader->part == PART_ROWS && reader->depth == 3) {
		sample_init(&reader->sample);
		reader->sample.t_ms = INT64_MIN;
		reader->value_count = 0;
	}
	return 0;
}

static int take_row(struct foreign *foreign, struct reader *reader)
{
	if (reader->value_count != reader->column_count)
		return foreign_fail(foreign, "a row of %zu values where there are %zu columns",
			reader->value_count, reader->column_count);
	if (reader->sample.t_ms == INT64_MIN)
		return foreign_fail(foreign, "a row without a time");
	foreign->is_absolute = true;
	return foreign_take_sample(foreign, &reader->sample);
}

static int close_level(struct foreign *foreign, struct reader *reader, char bracket)
{
	int rc = take_token(foreign, reader);

	if (rc != 0)
		return rc;
	if (reader->depth == 0 || reader->opened[reader->depth - 1] != (bracket == '}' ? '{' : '['))
		return fail(foreign);
	if (reader->part == PART_ROWS && reader->depth == 3)
		rc = take_row(foreign, reader);
	reader->depth--;
	reader->is_over = reader->depth == 0;
	return rc;
}

static int add_byte(struct foreign *foreign, struct reader *reader, char byte)
{
	if (reader->length < TOKEN_MAX - 1)
		reader->token[reader->length++] = byte;
	else if (reader->part == PART_ROWS || reader->part == PART_COLUMNS)
		return fail(foreign);
	reader->has_token = true;
	return 0;
}

static int take_in_string(struct foreign *foreign, struct reader *reader, char byte)
{
	if (reader->is_escaped) {
		reader->is_escaped = false;
	} else if (byte == '\\') {
		reader->is_escaped = true;
		return 0;
	} else if (byte == '"') {
		reader->in_string = false;
		return 0;
	}
	return add_byte(foreign, reader, byte);
}

static int take_byte(struct foreign *foreign, struct reader *reader, char byte)
{
	if (byte == '\0')
		return foreign_fail(foreign, "a NUL byte: this is no text, or was never written to the end");
	if (reader->in_string)
		return take_in_string(foreign, reader, byte);
	switch (byte) {
	case '"':
		reader->in_string = reader->is_string = reader->has_token = true;
		reader->length = 0;
		return 0;
	case '{':
	case '[':
		return open_level(foreign, reader, byte);
	case '}':
	case ']':
		return close_level(foreign, reader, byte);
	case ',':
		return take_token(foreign, reader);
	case ':':
		take_key(reader);
		return 0;
	case ' ':
	case '\t':
	case '\r':
	case '\n':
		return 0;
	default:
		if (!reader->has_token)
			reader->is_string = false;
		return reader->is_over ? fail(foreign) : add_byte(foreign, reader, byte);
	}
}

static int feed(struct foreign *foreign, const char *bytes, size_t length)
{
	struct reader *reader = foreign->state;
	int rc = 0;

	for (size_t i = 0; i < length && rc == 0; i++) {
		bool is_mark = reader->first < SKIP_FIRST && bytes[i] == "\xef\xbb\xbf"[reader->first];

		reader->first = is_mark ? reader->first + 1 : SKIP_FIRST;
		foreign->line += bytes[i] == '\n';
		if (!is_mark)
			rc = take_byte(foreign, reader, bytes[i]);
	}
	return rc;
}

static int end(struct foreign *foreign)
{
	struct reader *reader = foreign->state;
	bool is_whole = reader->is_over;

	if (!reader->has_columns || !reader->has_rows)
		return fail(foreign);
	memset(reader, 0, sizeof(*reader));
	if (!is_whole && foreign->is_survey)
		return foreign_fail(foreign, "the JSON ends before its end: the file was cut");
	return 0;
}

const struct foreign_format foreign_own_json = {
	.name = "drivesoak",
	.state_bytes = sizeof(struct reader),
	.recognise = recognise,
	.feed = feed,
	.end = end,
};
