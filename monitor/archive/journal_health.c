/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "archive/journal_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void health_record_fini(struct health_record *record)
{
	free(record->fields);
	free(record->pages);
	record->fields = NULL;
	record->pages = NULL;
}

static void put_sql(struct text *sql)
{
	text_add(sql, "INSERT OR REPLACE INTO health (run, t_ms, fields, pages) VALUES (?, ?, ?, ?)");
}

int journal_put_health(struct journal *journal, const struct health_record *health)
{
	sqlite3_stmt *statement = NULL;
	int64_t number;
	int rc = journal_run_number(journal, health->run, &number);

	if (rc < 0)
		return rc;
	if (!health->fields)
		return journal_refuse(journal, -EINVAL, "a reading needs fields");
	rc = journal_statement(journal, STATEMENT_HEALTH_PUT, put_sql, &statement);
	if (rc < 0)
		return rc;
	(void)sqlite3_bind_int64(statement, 1, number);
	(void)sqlite3_bind_int64(statement, 2, health->t_ms);
	(void)sqlite3_bind_text(statement, 3, health->fields, -1, SQLITE_STATIC);
	if (health->pages)
		(void)sqlite3_bind_blob64(statement, 4, health->pages, health->pages_bytes, SQLITE_STATIC);
	else
		(void)sqlite3_bind_null(statement, 4);
	return journal_run(journal, statement);
}

static void last_ms_sql(struct text *sql)
{
	text_add(sql, "SELECT max(t_ms) FROM health WHERE run = ?");
}

int journal_get_last_health_ms(struct journal *journal, const char *run, int64_t *out)
{
	sqlite3_stmt *statement = NULL;
	int64_t number;
	int rc = journal_run_number(journal, run, &number);

	if (rc == 0)
		rc = journal_statement(journal, STATEMENT_HEALTH_LAST_MS, last_ms_sql, &statement);
	if (rc < 0)
		return rc;
	(void)sqlite3_bind_int64(statement, 1, number);
	rc = sqlite3_step(statement);
	if (rc == SQLITE_ROW)
		*out = sqlite3_column_type(statement, 0) == SQLITE_NULL ? INT64_MIN
									: sqlite3_column_int64(statement, 0);
	rc = rc == SQLITE_ROW ? 0 : journal_fail(journal, rc);
	(void)sqlite3_reset(statement);
	return rc;
}

static int walk(struct journal *journal, sqlite3_stmt *statement, const char *run,
	int (*each)(const struct health_record *, void *), void *arg)
{
	int rc;

	while ((rc = sqlite3_step(statement)) == SQLITE_ROW) {
		/* Lent for the call; nothing in it is written. */
		struct health_record health = {
			.t_ms = sqlite3_column_int64(statement, 0),
			.fields = (char *)(uintptr_t)sqlite3_column_text(statement, 1),
			.pages = (uint8_t *)(uintptr_t)sqlite3_column_blob(statement, 2),
			.pages_bytes = (size_t)sqlite3_column_bytes(statement, 2),
		};

		text_copy(health.run, sizeof(health.run), run);
		rc = each(&health, arg);
		if (rc != 0)
			return rc;
	}
	return rc == SQLITE_DONE ? 0 : journal_fail(journal, rc);
}

int journal_each_health(struct journal *journal, const char *run, int64_t from_ms, bool with_pages,
	int (*each)(const struct health_record *, void *), void *arg)
{
	sqlite3_stmt *statement = NULL;
	int64_t number;
	int rc = journal_run_number(journal, run, &number);

	if (rc == 0)
		rc = journal_prepare(journal,
			with_pages ? "SELECT t_ms, fields, pages FROM health WHERE run = ?1 AND t_ms >= ?2 "
				     "ORDER BY t_ms"
				   : "SELECT t_ms, fields, NULL FROM health WHERE run = ?1 AND t_ms >= ?2 "
				     "ORDER BY t_ms",
			&statement);
	if (rc < 0)
		return rc;
	(void)sqlite3_bind_int64(statement, 1, number);
	(void)sqlite3_bind_int64(statement, 2, from_ms);
	rc = walk(journal, statement, run, each, arg);
	(void)sqlite3_finalize(statement);
	return rc;
}
