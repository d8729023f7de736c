/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "alert/outbox_row.h"

#include <math.h>
#include <string.h>

#include "base/text.h"

enum row_kind {
	ROW_TEXT, /* "" is NULL, but for the drive */
	ROW_TIME, /* INT64_MIN is NULL */
	ROW_SINCE,
	ROW_REAL, /* NAN is NULL */
	ROW_BOOL,
	ROW_COUNT,
	ROW_DRIVE,
	ROW_RULE,
	ROW_SEVERITY,
};

static const struct {
	enum row_kind kind;
	size_t offset, size;
} columns[] = {
#define COLUMN(kind, member)                                                                                 \
	{                                                                                                    \
		kind, offsetof(struct alert, member), sizeof(((struct alert *)0)->member)                    \
	}
	COLUMN(ROW_DRIVE, drive),
	COLUMN(ROW_RULE, rule),
	COLUMN(ROW_SINCE, since_ms),
	COLUMN(ROW_TIME, until_ms),
	COLUMN(ROW_TEXT, run),
	COLUMN(ROW_TEXT, subject.label),
	COLUMN(ROW_TEXT, subject.model),
	COLUMN(ROW_TEXT, subject.serial),
	COLUMN(ROW_BOOL, is_firing),
	COLUMN(ROW_SEVERITY, severity),
	COLUMN(ROW_REAL, value),
	COLUMN(ROW_REAL, threshold),
	COLUMN(ROW_TEXT, text),
	COLUMN(ROW_TEXT, cause),
	COLUMN(ROW_TEXT, evidence),
	COLUMN(ROW_TIME, muted_until_ms),
	COLUMN(ROW_BOOL, is_told),
	COLUMN(ROW_BOOL, owes_end),
	COLUMN(ROW_SEVERITY, told_severity),
	COLUMN(ROW_TIME, begun_ms[0]),
	COLUMN(ROW_TIME, told_ms),
	COLUMN(ROW_COUNT, repeats),
	COLUMN(ROW_COUNT, untold),
	COLUMN(ROW_TIME, untold_since_ms),
	COLUMN(ROW_TIME, held_until_ms),
	COLUMN(ROW_TIME, begun_ms[1]),
	COLUMN(ROW_TIME, begun_ms[2]),
};

#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

static void bind_text(sqlite3_stmt *statement, int index, const char *text)
{
	(void)sqlite3_bind_text(statement, index, text, -1, SQLITE_STATIC);
}

static void bind_column(sqlite3_stmt *statement, int index, enum row_kind kind, const void *member)
{
	int64_t time;
	double real;

	switch (kind) {
	case ROW_TEXT:
		if (*(const char *)member)
			bind_text(statement, index, member);
		break;
	case ROW_DRIVE:
		bind_text(statement, index, member);
		break;
	case ROW_RULE:
		bind_text(statement, index, alert_rule_name(*(const enum alert_rule *)member));
		break;
	case ROW_SEVERITY:
		bind_text(statement, index, event_severity_name(*(const enum event_severity *)member));
		break;
	case ROW_TIME:
	case ROW_SINCE:
		memcpy(&time, member, sizeof(time));
		if (time != INT64_MIN || kind == ROW_SINCE)
			(void)sqlite3_bind_int64(statement, index, time == INT64_MIN ? 0 : time);
		break;
	case ROW_REAL:
		memcpy(&real, member, sizeof(real));
		if (!isnan(real))
			(void)sqlite3_bind_double(statement, index, real);
		break;
	case ROW_BOOL:
		(void)sqlite3_bind_int64(statement, index, *(const bool *)member);
		break;
	case ROW_COUNT:
		(void)sqlite3_bind_int64(statement, index, *(const unsigned *)member);
		break;
	}
}

void outbox_row_bind(sqlite3_stmt *statement, int first, const struct alert *alert)
{
	for (size_t i = 0; i < COLUMNS; i++)
		bind_column(
			statement, first + (int)i, columns[i].kind, (const char *)alert + columns[i].offset);
}

_Static_assert(ALERTS_PROMPT == 3, "each has a column");

static bool read_severity(const char *name, enum event_severity *out)
{
	for (int i = EVENT_INFO; i <= EVENT_CRITICAL; i++)
		if (strcmp(event_severity_name((enum event_severity)i), name) == 0) {
			*out = (enum event_severity)i;
			return true;
		}
	return false;
}

static bool read_column(sqlite3_stmt *statement, int index, enum row_kind kind, void *member, size_t size)
{
	/* A file of an older program, that is only read, has fewer. */
	const bool is_null = index >= sqlite3_column_count(statement) ||
			     sqlite3_column_type(statement, index) == SQLITE_NULL;
	const char *text = is_null ? "" : (const char *)sqlite3_column_text(statement, index);
	int64_t number = is_null ? 0 : sqlite3_column_int64(statement, index);
	double real;

	if (!text)
		return false;
	switch (kind) {
	case ROW_TEXT:
	case ROW_DRIVE:
		text_copy(member, size, text);
		return true;
	case ROW_RULE:
		return alert_rule_parse(text, member);
	case ROW_SEVERITY:
		return read_severity(text, member);
	case ROW_SINCE:
	case ROW_TIME:
		if (is_null || (kind == ROW_SINCE && number == 0))
			number = INT64_MIN;
		memcpy(member, &number, sizeof(number));
		return true;
	case ROW_REAL:
		real = is_null ? NAN : sqlite3_column_double(statement, index);
		memcpy(member, &real, sizeof(real));
		return true;
	case ROW_BOOL:
		*(bool *)member = number != 0;
		return true;
	case ROW_COUNT:
		*(unsigned *)member = (unsigned)number;
		return true;
	}
	return false;
}

bool outbox_row_read(sqlite3_stmt *statement, int first, struct alert *out)
{
	memset(out, 0, sizeof(*out));
	out->margin_pct = NAN;
	for (size_t i = 0; i < COLUMNS; i++)
		if (!read_column(statement, first + (int)i, columns[i].kind, (char *)out + columns[i].offset,
			    columns[i].size))
			return false;
	return true;
}
