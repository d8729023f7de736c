/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "archive/journal_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define RUN_TEXT(column)                                                                                     \
	{                                                                                                    \
#column, FIELD_TEXT, offsetof(struct run_record, column),                                    \
			sizeof(((struct run_record *)0)->column)                                             \
	}
#define RUN_FIELD(column, kind)                                                                              \
	{                                                                                                    \
#column, kind, offsetof(struct run_record, column), 0                                        \
	}
#define PROGRESS(column, kind)                                                                               \
	{                                                                                                    \
#column, kind, offsetof(struct run_record, progress.column), 0                               \
	}

static const struct field run_fields[] = {
	RUN_TEXT(id),
	RUN_TEXT(drive),
	RUN_TEXT(label),
	RUN_TEXT(model),
	RUN_TEXT(serial),
	RUN_TEXT(firmware),
	RUN_FIELD(source, FIELD_SOURCE),
	PROGRESS(phase, FIELD_PHASE),
	PROGRESS(status, FIELD_STATUS),
	PROGRESS(fill_goal_bytes, FIELD_COUNT),
	PROGRESS(fill_done_bytes, FIELD_COUNT),
	PROGRESS(fill_durable_bytes, FIELD_COUNT),
	PROGRESS(extent_bytes, FIELD_COUNT),
	PROGRESS(settled_ns, FIELD_COUNT),
	PROGRESS(soak_ns, FIELD_COUNT),
	PROGRESS(probe_step, FIELD_SMALL),
	PROGRESS(probe_ns, FIELD_COUNT),
	RUN_FIELD(started_ms, FIELD_TIME),
	RUN_FIELD(soak_started_ms, FIELD_TIME),
	RUN_FIELD(ended_ms, FIELD_TIME),
	RUN_FIELD(interval_s, FIELD_SMALL),
	RUN_FIELD(seed, FIELD_BITS),
	RUN_FIELD(capacity_bytes, FIELD_COUNT),
	RUN_FIELD(written_bytes, FIELD_COUNT),
	RUN_TEXT(reason),
	RUN_TEXT(engine),
	RUN_TEXT(direct),
	RUN_TEXT(pre_state),
	RUN_TEXT(boot_id),
	RUN_FIELD(probe_ios_per_s, FIELD_REAL),
	RUN_FIELD(price_amount, FIELD_REAL),
	RUN_TEXT(price_currency),
};

static const struct field text_fields[] = {
	RUN_TEXT(frozen),
	RUN_TEXT(config_json),
	RUN_TEXT(host_json),
	RUN_TEXT(probe_json),
	RUN_TEXT(verify_json),
};

#define RUN_FIELDS  (sizeof(run_fields) / sizeof(run_fields[0]))
#define TEXT_FIELDS (sizeof(text_fields) / sizeof(text_fields[0]))

static void number_sql(struct text *sql)
{
	text_add(sql, "SELECT run FROM runs WHERE id = ?");
}

int journal_run_number(struct journal *journal, const char *id, int64_t *out)
{
	sqlite3_stmt *statement = NULL;
	int rc = journal_statement(journal, STATEMENT_RUN_NUMBER, number_sql, &statement);

	if (rc == 0)
		rc = journal_bind_text(journal, statement, 1, id);
	if (rc < 0)
		return rc;
	rc = sqlite3_step(statement);
	if (rc == SQLITE_ROW) {
		*out = sqlite3_column_int64(statement, 0);
		rc = 0;
	} else if (rc == SQLITE_DONE) {
		rc = journal_refuse(journal, -ENOENT, "no run %s", id);
	} else {
		rc = journal_fail(journal, rc);
	}
	(void)sqlite3_reset(statement);
	return rc;
}

/* No REPLACE: it would delete the row that the samples refer to. The drive of a run never changes. */
static void put_sql(struct text *sql)
{
	text_add(sql, "INSERT INTO runs (");
	fields_sql(sql, FIELDS(run_fields), "", "");
	text_add(sql, ") VALUES (");
	marks_sql(sql, RUN_FIELDS);
	text_add(sql, ") ON CONFLICT (id) DO UPDATE SET (");
	fields_sql(sql, FIELDS(run_fields), "", "");
	text_add(sql, ") = (");
	fields_sql(sql, FIELDS(run_fields), "excluded.", "");
	text_add(sql, ") WHERE drive = excluded.drive");
}

static void texts_put_sql(struct text *sql)
{
	text_add(sql, "INSERT INTO run_texts (");
	fields_sql(sql, FIELDS(text_fields), "", "");
	text_add(sql, ",run) VALUES (");
	marks_sql(sql, TEXT_FIELDS + 1);
	text_add(sql, ") ON CONFLICT (run) DO UPDATE SET (");
	fields_sql(sql, FIELDS(text_fields), "", "");
	text_add(sql, ") = (");
	fields_sql(sql, FIELDS(text_fields), "excluded.", "");
	text_add(sql, ") WHERE (");
	fields_sql(sql, FIELDS(text_fields), "", "");
	text_add(sql, ") IS NOT (");
	fields_sql(sql, FIELDS(text_fields), "excluded.", "");
	text_add(sql, ")");
}

static int put_texts(struct journal *journal, const struct run_record *run)
{
	sqlite3_stmt *statement = NULL;
	int64_t number = 0;
	int rc = journal_run_number(journal, run->id, &number);

	if (rc == 0)
		rc = journal_statement(journal, STATEMENT_RUN_TEXTS_PUT, texts_put_sql, &statement);
	if (rc == 0)
		rc = fields_bind(journal, statement, 1, FIELDS(text_fields), run);
	if (rc < 0)
		return rc;
	rc = sqlite3_bind_int64(statement, (int)TEXT_FIELDS + 1, number);
	return rc == SQLITE_OK ? journal_run(journal, statement) : journal_fail(journal, rc);
}

int journal_put_run(struct journal *journal, const struct run_record *run)
{
	sqlite3_stmt *statement = NULL;
	int rc;

	if (!run->id[0] || !run->drive[0])
		return journal_refuse(journal, -EINVAL, "a run needs an id and a drive");
	rc = journal_statement(journal, STATEMENT_RUN_PUT, put_sql, &statement);
	if (rc == 0)
		rc = fields_bind(journal, statement, 1, FIELDS(run_fields), run);
	if (rc == 0)
		rc = journal_run(journal, statement);
	if (rc < 0)
		return rc;
	if (sqlite3_changes(journal->db) == 0)
		return journal_refuse(journal, -EEXIST, "run %s belongs to another drive", run->id);
	return put_texts(journal, run);
}

static void select_sql(struct text *sql)
{
	text_add(sql, "SELECT ");
	fields_sql(sql, FIELDS(run_fields), "runs.", "");
	text_add(sql, ",");
	fields_sql(sql, FIELDS(text_fields), "run_texts.", "");
	text_add(sql, " FROM runs LEFT JOIN run_texts USING (run) ");
}

static void get_sql(struct text *sql)
{
	select_sql(sql);
	text_add(sql, "WHERE id = ?");
}

static void newest_sql(struct text *sql)
{
	select_sql(sql);
	/* An import of that name is none of the drive's own, and the last resort. */
	text_add(sql, "WHERE drive = ? ORDER BY source = 'imported', started_ms DESC, run DESC LIMIT 1");
}

static int read_run(struct journal *journal, sqlite3_stmt *statement, struct run_record *out)
{
	int rc = fields_read(journal, statement, 0, FIELDS(run_fields), out);

	return rc == 0 ? fields_read(journal, statement, (int)RUN_FIELDS, FIELDS(text_fields), out) : rc;
}

static int get_one(struct journal *journal, sqlite3_stmt *statement, const char *key, struct run_record *out)
{
	struct run_record run;
	int rc = journal_bind_text(journal, statement, 1, key);

	if (rc < 0)
		return rc;
	memset(&run, 0, sizeof(run));
	rc = sqlite3_step(statement);
	if (rc == SQLITE_ROW)
		rc = read_run(journal, statement, &run);
	else if (rc == SQLITE_DONE)
		rc = journal_refuse(journal, -ENOENT, "no run of %s", key);
	else
		rc = journal_fail(journal, rc);
	(void)sqlite3_reset(statement);
	if (rc == 0)
		*out = run;
	return rc;
}

int journal_get_run(struct journal *journal, const char *id, struct run_record *out)
{
	sqlite3_stmt *statement = NULL;
	int rc = journal_statement(journal, STATEMENT_RUN_GET, get_sql, &statement);

	return rc == 0 ? get_one(journal, statement, id, out) : rc;
}

int journal_get_newest_run(struct journal *journal, const char *drive, struct run_record *out)
{
	sqlite3_stmt *statement = NULL;
	int rc = journal_statement(journal, STATEMENT_RUN_NEWEST, newest_sql, &statement);

	return rc == 0 ? get_one(journal, statement, drive, out) : rc;
}

static int walk_runs(struct journal *journal, sqlite3_stmt *statement,
	int (*each)(const struct run_record *, void *), void *arg)
{
	struct run_record run;
	int rc;

	memset(&run, 0, sizeof(run));
	while ((rc = sqlite3_step(statement)) == SQLITE_ROW) {
		rc = read_run(journal, statement, &run);
		if (rc == 0)
			rc = each(&run, arg);
		if (rc != 0)
			return rc;
	}
	return rc == SQLITE_DONE ? 0 : journal_fail(journal, rc);
}

/* Walks have a statement of their own: the callback may use the journal. */
static int walk_where(
	struct journal *journal, const char *where, int (*each)(const struct run_record *, void *), void *arg)
{
	struct text sql = TEXT_INIT;
	sqlite3_stmt *statement = NULL;
	int rc;

	select_sql(&sql);
	text_add(&sql, where);
	text_add(&sql, "ORDER BY started_ms DESC, run DESC");
	rc = text_error(&sql);
	if (rc == 0)
		rc = journal_prepare(journal, text_string(&sql), &statement);
	text_fini(&sql);
	if (rc < 0)
		return rc;
	rc = walk_runs(journal, statement, each, arg);
	(void)sqlite3_finalize(statement);
	return rc;
}

int journal_each_run(struct journal *journal, int (*each)(const struct run_record *, void *), void *arg)
{
	return walk_where(journal, "", each, arg);
}

int journal_each_import(struct journal *journal, int (*each)(const struct run_record *, void *), void *arg)
{
	return walk_where(journal, "WHERE source = 'imported' ", each, arg);
}

int journal_each_newest_import(
	struct journal *journal, int (*each)(const struct run_record *, void *), void *arg)
{
	return walk_where(journal,
		"WHERE source = 'imported' AND NOT EXISTS (SELECT 1 FROM runs AS later WHERE later.drive = "
		"runs.drive AND later.source = 'imported' AND (later.started_ms, later.run) > "
		"(runs.started_ms, runs.run)) ",
		each, arg);
}

/* FNV-1a. */
static uint32_t name_hash(const char *name)
{
	uint32_t hash = 2166136261u;

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 16777619u;
	return hash;
}

#define STAMP_LENGTH 17 /* "-20261130T222200Z" */
#define NAME_ROOM    (RUN_ID_MAX - 1 - STAMP_LENGTH)
#define HASH_LENGTH  7 /* ".89abcd" */

void run_id_make(const char *drive, int64_t started_ms, char *id)
{
	time_t started_s = started_ms / 1000;
	char stamp[STAMP_LENGTH + 1] = "";
	struct tm utc;

	if (gmtime_r(&started_s, &utc))
		(void)strftime(stamp, sizeof(stamp), "-%Y%m%dT%H%M%SZ", &utc);
	/* A cut name alone would give two drives that start together one run. */
	if (strlen(drive) > NAME_ROOM)
		(void)snprintf(id, RUN_ID_MAX, "%.*s.%06x%s", NAME_ROOM - HASH_LENGTH, drive,
			name_hash(drive) & 0xffffff, stamp);
	else
		(void)snprintf(id, RUN_ID_MAX, "%s%s", drive, stamp);
}
