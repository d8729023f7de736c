/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "archive/journal_private.h"

#include <errno.h>
#include <string.h>

#define EVENT_TEXT(column)                                                                                   \
	{                                                                                                    \
#column, FIELD_TEXT, offsetof(struct event_record, column),                                  \
			sizeof(((struct event_record *)0)->column)                                           \
	}
#define EVENT_FIELD(column, kind)                                                                            \
	{                                                                                                    \
#column, kind, offsetof(struct event_record, column), 0                                      \
	}

static const struct field event_fields[] = {
	EVENT_FIELD(t_ms, FIELD_TIME),
	EVENT_FIELD(until_ms, FIELD_TIME),
	EVENT_TEXT(kind),
	EVENT_FIELD(severity, FIELD_SEVERITY),
	EVENT_TEXT(drive),
	EVENT_TEXT(run),
	EVENT_TEXT(text),
	EVENT_TEXT(cause),
	EVENT_TEXT(evidence),
	EVENT_TEXT(key),
	EVENT_FIELD(count, FIELD_SMALL),
};

#define EVENT_FIELDS (sizeof(event_fields) / sizeof(event_fields[0]))

static void put_sql(struct text *sql)
{
	text_add(sql, "INSERT INTO events (");
	fields_sql(sql, FIELDS(event_fields), "", "");
	text_add(sql, ") VALUES (");
	marks_sql(sql, EVENT_FIELDS);
	text_add(sql, ") ON CONFLICT (run, key) DO UPDATE SET ");
	for (size_t i = 0; i < EVENT_FIELDS; i++)
		text_addf(sql, "%s%s = excluded.%s", i ? ", " : "", event_fields[i].column,
			event_fields[i].column);
}

int journal_put_event(struct journal *journal, const struct event_record *event)
{
	sqlite3_stmt *statement = NULL;
	int rc;

	if (event->t_ms == INT64_MIN || !event->kind[0])
		return journal_refuse(journal, -EINVAL, "an event needs a time and a kind");
	if (event->key[0] && !event->run[0])
		return journal_refuse(journal, -EINVAL, "an event with a key needs a run");
	rc = journal_statement(journal, STATEMENT_EVENT_PUT, put_sql, &statement);
	if (rc == 0)
		rc = fields_bind(journal, statement, 1, FIELDS(event_fields), event);
	return rc == 0 ? journal_run(journal, statement) : rc;
}

static int walk_events(struct journal *journal, sqlite3_stmt *statement,
	int (*each)(const struct event_record *, void *), void *arg)
{
	struct event_record event;
	int rc;

	memset(&event, 0, sizeof(event));
	while ((rc = sqlite3_step(statement)) == SQLITE_ROW) {
		rc = fields_read(journal, statement, 0, FIELDS(event_fields), &event);
		if (rc == 0)
			rc = each(&event, arg);
		if (rc != 0)
			return rc;
	}
	return rc == SQLITE_DONE ? 0 : journal_fail(journal, rc);
}

/* @where may name ?1, the run, and ?2, the most that are wanted. */
static int each_event(struct journal *journal, const char *where, const char *run, size_t limit,
	int (*each)(const struct event_record *, void *), void *arg)
{
	struct text sql = TEXT_INIT;
	sqlite3_stmt *statement = NULL;
	int rc;

	text_add(&sql, "SELECT ");
	fields_sql(&sql, FIELDS(event_fields), "", "");
	text_addf(&sql, " FROM events %s ORDER BY t_ms DESC, event DESC LIMIT ?2", where);
	rc = text_error(&sql);
	if (rc == 0)
		rc = journal_prepare(journal, text_string(&sql), &statement);
	text_fini(&sql);
	if (rc < 0)
		return rc;
	if (run)
		rc = journal_bind_text(journal, statement, 1, run);
	if (rc == 0) {
		(void)sqlite3_bind_int64(statement, 2, limit > INT64_MAX ? INT64_MAX : (int64_t)limit);
		rc = walk_events(journal, statement, each, arg);
	}
	(void)sqlite3_finalize(statement);
	return rc;
}

int journal_each_event(struct journal *journal, const char *run, size_t limit,
	int (*each)(const struct event_record *, void *), void *arg)
{
	return each_event(journal, run ? "WHERE run = ?1" : "", run, limit, each, arg);
}

int journal_each_open_event(
	struct journal *journal, const char *run, int (*each)(const struct event_record *, void *), void *arg)
{
	return each_event(
		journal, "WHERE run = ?1 AND key IS NOT NULL AND until_ms IS NULL", run, SIZE_MAX, each, arg);
}

/* What the host or the service itself did is nothing of the drive's. */
static void count_sql(struct text *sql)
{
	text_add(sql,
		"SELECT count(*), ifnull(sum(CASE WHEN cause IN ('host', 'own-pause', 'health-poll') THEN 0 "
		"ELSE count END), 0) FROM events WHERE run = ?1 AND kind = ?2 AND t_ms >= ?3");
}

int journal_count_events(struct journal *journal, const char *run, const char *kind, int64_t from_ms,
	uint64_t *events, uint64_t *falls)
{
	sqlite3_stmt *statement = NULL;
	int rc = journal_statement(journal, STATEMENT_EVENT_COUNT, count_sql, &statement);

	if (rc == 0)
		rc = journal_bind_text(journal, statement, 1, run);
	if (rc == 0)
		rc = journal_bind_text(journal, statement, 2, kind);
	if (rc < 0)
		return rc;
	(void)sqlite3_bind_int64(statement, 3, from_ms);
	rc = sqlite3_step(statement);
	if (rc != SQLITE_ROW)
		return journal_fail(journal, rc);
	*events = (uint64_t)sqlite3_column_int64(statement, 0);
	*falls = (uint64_t)sqlite3_column_int64(statement, 1);
	(void)sqlite3_reset(statement);
	return 0;
}
