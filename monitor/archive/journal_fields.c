/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "archive/journal_private.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

static const char *const source_names[] = {
	[SOURCE_OWN] = "own",
	[SOURCE_OBSERVE] = "observe",
	[SOURCE_IMPORTED] = "imported",
};

static const char *const severity_names[] = {
	[EVENT_INFO] = "info",
	[EVENT_WARNING] = "warning",
	[EVENT_CRITICAL] = "critical",
};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

const char *run_source_name(enum run_source source)
{
	return (size_t)source < COUNT_OF(source_names) ? source_names[source] : "unknown";
}

const char *event_severity_name(enum event_severity severity)
{
	return (size_t)severity < COUNT_OF(severity_names) ? severity_names[severity] : "unknown";
}

static int find_name(const char *const *names, size_t count, const char *name, unsigned *out)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(names[i], name) == 0) {
			*out = (unsigned)i;
			return 0;
		}
	}
	return -EINVAL;
}

void fields_sql(
	struct text *sql, const struct field *fields, size_t count, const char *before, const char *after)
{
	for (size_t i = 0; i < count; i++)
		text_addf(sql, "%s%s%s%s", i ? "," : "", before, fields[i].column, after);
}

void marks_sql(struct text *sql, size_t count)
{
	for (size_t i = 0; i < count; i++)
		text_add(sql, i ? ",?" : "?");
}

static const char *enum_name(enum field_kind kind, unsigned value)
{
	switch (kind) {
	case FIELD_STATE:
		return sample_state_name((enum sample_state)value);
	case FIELD_PHASE:
		return run_phase_name((enum run_phase)value);
	case FIELD_STATUS:
		return run_status_name((enum run_status)value);
	case FIELD_SOURCE:
		return run_source_name((enum run_source)value);
	default:
		return event_severity_name((enum event_severity)value);
	}
}

/* Enumerations have the size of unsigned on every platform of ours; the asserts keep it so. */
_Static_assert(sizeof(enum sample_state) == sizeof(unsigned), "enum sample_state");
_Static_assert(sizeof(enum run_phase) == sizeof(unsigned), "enum run_phase");
_Static_assert(sizeof(enum run_status) == sizeof(unsigned), "enum run_status");
_Static_assert(sizeof(enum run_source) == sizeof(unsigned), "enum run_source");
_Static_assert(sizeof(enum event_severity) == sizeof(unsigned), "enum event_severity");

static int enum_parse(enum field_kind kind, const char *name, unsigned *out)
{
	enum sample_state state;
	enum run_phase phase;
	enum run_status status;
	int rc;

	switch (kind) {
	case FIELD_STATE:
		rc = sample_state_parse(name, &state);
		*out = rc == 0 ? (unsigned)state : *out;
		return rc;
	case FIELD_PHASE:
		rc = run_phase_parse(name, &phase);
		*out = rc == 0 ? (unsigned)phase : *out;
		return rc;
	case FIELD_STATUS:
		rc = run_status_parse(name, &status);
		*out = rc == 0 ? (unsigned)status : *out;
		return rc;
	case FIELD_SOURCE:
		return find_name(source_names, COUNT_OF(source_names), name, out);
	default:
		return find_name(severity_names, COUNT_OF(severity_names), name, out);
	}
}

static const struct {
	enum field_kind kind;
	unsigned count;
} enum_counts[] = {
	{ FIELD_STATE, SAMPLE_STATE_COUNT },
	{ FIELD_PHASE, PHASE_COUNT },
	{ FIELD_STATUS, RUN_STATUS_COUNT },
	{ FIELD_SOURCE, COUNT_OF(source_names) },
	{ FIELD_SEVERITY, COUNT_OF(severity_names) },
};

static bool is_named(enum field_kind kind, unsigned value)
{
	for (size_t i = 0; i < COUNT_OF(enum_counts); i++)
		if (enum_counts[i].kind == kind)
			return value < enum_counts[i].count;
	return true;
}

static int bind_text(sqlite3_stmt *statement, int index, const char *text, size_t room)
{
	size_t length = strnlen(text, room);

	if (length == 0)
		return sqlite3_bind_null(statement, index);
	return sqlite3_bind_text(statement, index, text, (int)length, SQLITE_TRANSIENT);
}

static int field_bind(sqlite3_stmt *statement, int index, const struct field *field, const void *value)
{
	int64_t time = INT64_MIN;
	double real;

	switch (field->kind) {
	case FIELD_TEXT:
		return bind_text(statement, index, value, field->room);
	case FIELD_COUNT:
		if (*(const uint64_t *)value == UINT64_MAX)
			return sqlite3_bind_null(statement, index);
		return sqlite3_bind_int64(statement, index, (int64_t) * (const uint64_t *)value);
	case FIELD_BITS:
		return sqlite3_bind_int64(statement, index, (int64_t) * (const uint64_t *)value);
	case FIELD_TIME:
		time = *(const int64_t *)value;
		return time == INT64_MIN ? sqlite3_bind_null(statement, index)
					 : sqlite3_bind_int64(statement, index, time);
	case FIELD_SMALL:
		return sqlite3_bind_int64(statement, index, *(const uint32_t *)value);
	case FIELD_REAL:
		real = *(const double *)value;
		return isfinite(real) ? sqlite3_bind_double(statement, index, real)
				      : sqlite3_bind_null(statement, index);
	default:
		return sqlite3_bind_text(statement, index, enum_name(field->kind, *(const unsigned *)value),
			-1, SQLITE_STATIC);
	}
}

int fields_bind(struct journal *journal, sqlite3_stmt *statement, int first, const struct field *fields,
	size_t count, const void *record)
{
	for (size_t i = 0; i < count; i++) {
		const void *value = (const char *)record + fields[i].offset;
		uint64_t number = fields[i].kind == FIELD_COUNT ? *(const uint64_t *)value : 0;
		int rc;

		if (number > INT64_MAX && number != UINT64_MAX)
			return journal_refuse(journal, -ERANGE,
				"%s = %" PRIu64 " is beyond what the journal can hold", fields[i].column,
				number);
		if (fields[i].kind >= FIELD_STATE && !is_named(fields[i].kind, *(const unsigned *)value))
			return journal_refuse(journal, -EINVAL, "%s = %u has no name", fields[i].column,
				*(const unsigned *)value);
		rc = field_bind(statement, first + (int)i, &fields[i], value);
		if (rc != SQLITE_OK)
			return journal_fail(journal, rc);
	}
	return 0;
}

/* False for a text that does not fit: half of a JSON object would be worse than none. */
static bool read_text(sqlite3_stmt *statement, int column, char *value, size_t room)
{
	const unsigned char *text = sqlite3_column_text(statement, column);
	size_t length = (size_t)sqlite3_column_bytes(statement, column);

	if (length >= room)
		return false;
	if (text)
		memcpy(value, text, length);
	value[text ? length : 0] = '\0';
	return true;
}

static bool read_enum(sqlite3_stmt *statement, int column, enum field_kind kind, unsigned *value)
{
	const unsigned char *name = sqlite3_column_text(statement, column);

	return name && enum_parse(kind, (const char *)name, value) == 0;
}

static bool field_read(sqlite3_stmt *statement, int column, const struct field *field, void *value)
{
	bool is_null = sqlite3_column_type(statement, column) == SQLITE_NULL;
	int64_t number = sqlite3_column_int64(statement, column);

	switch (field->kind) {
	case FIELD_TEXT:
		return read_text(statement, column, value, field->room);
	case FIELD_COUNT:
		*(uint64_t *)value = is_null ? UINT64_MAX : (uint64_t)number;
		return is_null || number >= 0;
	case FIELD_BITS:
		*(uint64_t *)value = (uint64_t)number;
		return true;
	case FIELD_TIME:
		*(int64_t *)value = is_null ? INT64_MIN : number;
		return true;
	case FIELD_SMALL:
		*(uint32_t *)value = (uint32_t)number;
		return number >= 0 && number <= UINT32_MAX;
	case FIELD_REAL:
		*(double *)value = is_null ? NAN : sqlite3_column_double(statement, column);
		return true;
	default:
		return read_enum(statement, column, field->kind, value);
	}
}

int fields_read(struct journal *journal, sqlite3_stmt *statement, int first, const struct field *fields,
	size_t count, void *record)
{
	for (size_t i = 0; i < count; i++) {
		if (!field_read(statement, first + (int)i, &fields[i], (char *)record + fields[i].offset))
			return journal_refuse(journal, -EBADMSG, "column %s has a value that none can be",
				fields[i].column);
	}
	return 0;
}
