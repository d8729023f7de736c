/* SPDX-License-Identifier: GPL-2.0-or-later */
/* journal_private.h - what the files of the journal share: the handle, kept statements, and records as
 * tables of fields, so that a column is named once for writing, reading and the SQL text. */
#ifndef DRIVESOAK_JOURNAL_PRIVATE_H
#define DRIVESOAK_JOURNAL_PRIVATE_H

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "archive/journal.h"
#include "base/text.h"

#define JOURNAL_ERROR_MAX 256

enum journal_statement {
	STATEMENT_RUN_NUMBER,
	STATEMENT_RUN_PUT,
	STATEMENT_RUN_TEXTS_PUT,
	STATEMENT_RUN_GET,
	STATEMENT_RUN_NEWEST,
	STATEMENT_SAMPLE_LAST_MS,
	STATEMENT_SAMPLE_PUT,
	STATEMENT_HISTOGRAM_PUT,
	STATEMENT_SAMPLE_LAST,
	STATEMENT_SUMS,
	STATEMENT_EVENT_PUT,
	STATEMENT_EVENT_COUNT,
	STATEMENT_HEALTH_PUT,
	STATEMENT_HEALTH_LAST_MS,
	STATEMENT_COUNT
};

struct journal {
	sqlite3 *db;
	sqlite3_stmt *statements[STATEMENT_COUNT]; /* prepared at first use, kept */
	char error[JOURNAL_ERROR_MAX];
	char *path; /* of a handle for writing, and which file that was */
	dev_t device;
	ino_t inode;
};

enum field_kind {
	FIELD_TEXT,  /* char[room]; empty is NULL */
	FIELD_COUNT, /* uint64_t below 2^63; UINT64_MAX is NULL */
	FIELD_BITS,  /* uint64_t of any value, stored as the signed number of the same bits */
	FIELD_TIME,  /* int64_t; INT64_MIN is NULL */
	FIELD_SMALL, /* uint32_t */
	FIELD_REAL,  /* double; NAN is NULL */
	/* Enumerations go by name: their numbers may change. */
	FIELD_STATE,
	FIELD_PHASE,
	FIELD_STATUS,
	FIELD_SOURCE,
	FIELD_SEVERITY,
};

struct field {
	const char *column;
	enum field_kind kind;
	size_t offset, room;
};

#define FIELDS(table) table, sizeof(table) / sizeof((table)[0])

/* Append each column's name between @before and @after, separated by commas. */
void fields_sql(
	struct text *sql, const struct field *fields, size_t count, const char *before, const char *after);
/* @count question marks. */
void marks_sql(struct text *sql, size_t count);

/* Bind the fields of @record from parameter @first on. 0, -ERANGE for a count of 2^63 or more, or as
 * journal_fail(). */
int fields_bind(struct journal *journal, sqlite3_stmt *statement, int first, const struct field *fields,
	size_t count, const void *record);
/* Read the columns from @first on into @record. 0 or -EBADMSG. */
int fields_read(struct journal *journal, sqlite3_stmt *statement, int first, const struct field *fields,
	size_t count, void *record);

/* Keep SQLite's text of the failure just seen (code @sqlite_rc) and turn it into a negative errno. */
int journal_fail(struct journal *journal, int sqlite_rc);
/* Keep a text of our own and return @rc. */
int journal_refuse(struct journal *journal, int rc, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Prepare @sql for a use of its own; the caller finalizes it. */
int journal_prepare(struct journal *journal, const char *sql, sqlite3_stmt **out);
/* Make the kept statement ready for binding; @make writes its SQL when it is used for the first time. */
int journal_statement(struct journal *journal, enum journal_statement which, void (*make)(struct text *sql),
	sqlite3_stmt **out);
/* Step a statement that answers no rows and make it ready again. */
int journal_run(struct journal *journal, sqlite3_stmt *statement);
int journal_bind_text(struct journal *journal, sqlite3_stmt *statement, int index, const char *text);

/* The number of a run; -ENOENT. */
int journal_run_number(struct journal *journal, const char *id, int64_t *out);

#endif
