/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "alert/outbox.h"

#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-id128.h>

#include "alert/outbox_row.h"
#include "base/text.h"

#define SCHEMA_VERSION	2
#define APPLICATION_ID	0x6473616c /* "dsal" */
#define BUSY_TIMEOUT_MS 1000
#define KEEP_DONE_MS	(30 * 86400000LL)
#define EPISODES_KEPT	20000

#define TEXT_OF(x)  #x
#define VALUE_OF(x) TEXT_OF(x)

static const char schema[] =
	"CREATE TABLE alerts (" OUTBOX_ROW_COLUMNS ", PRIMARY KEY (drive, alert, since_ms)) STRICT;"
	"CREATE INDEX alerts_time ON alerts (since_ms);"
	"CREATE TABLE messages (message INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE,"
	" t_ms INTEGER NOT NULL) STRICT;"
	"CREATE TABLE entries (message INTEGER NOT NULL REFERENCES messages (message), entry INTEGER NOT "
	"NULL,"
	" note TEXT NOT NULL, " OUTBOX_ROW_COLUMNS ", PRIMARY KEY (message, entry)) STRICT;"
	"CREATE TABLE deliveries (message INTEGER NOT NULL REFERENCES messages (message), name TEXT NOT NULL,"
	" kind TEXT NOT NULL, state TEXT NOT NULL, refused INTEGER NOT NULL, tries INTEGER NOT NULL,"
	" next_ms INTEGER NOT NULL, last_ms INTEGER, result TEXT, PRIMARY KEY (message, name, kind)) STRICT;"
	"CREATE INDEX deliveries_waiting ON deliveries (name, kind, state, message);"
	"PRAGMA application_id = " VALUE_OF(APPLICATION_ID) ";"
							    "PRAGMA user_version = " VALUE_OF(
								    SCHEMA_VERSION) ";";

/* From version 1, which knew of flapping only when an alert was last raised. */
#define ADD_COLUMNS(table)                                                                                   \
	"ALTER TABLE " table " ADD COLUMN untold_since_ms INTEGER;"                                          \
	"ALTER TABLE " table " ADD COLUMN held_until_ms INTEGER;"                                            \
	"ALTER TABLE " table " ADD COLUMN begun2_ms INTEGER;"                                                \
	"ALTER TABLE " table " ADD COLUMN begun3_ms INTEGER;"

static const char step_2[] = ADD_COLUMNS("alerts")
	ADD_COLUMNS("entries") "UPDATE alerts SET untold_since_ms = since_ms WHERE untold > 0;"
			       "PRAGMA user_version = " VALUE_OF(SCHEMA_VERSION) ";";

static const char settings[] =
	"PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;"
	"PRAGMA journal_size_limit = 4194304;";

/* The last episode of a rule of a drive is the one that was stored last, whatever the clock said: each time an alert is put
 * its row gets a new rowid, higher than all others. One scan of an index, not one for each row. */
#define LAST_ROWS   "(SELECT max(rowid) FROM alerts GROUP BY drive, alert)"
#define IS_LAST	    " rowid IN " LAST_ROWS
#define IS_NOT_LAST " rowid NOT IN " LAST_ROWS

static const char *const state_names[] = { "waiting", "delivered", "given-up" };

struct outbox {
	sqlite3 *db;
	char error[OUTBOX_WHY_MAX];
};

const char *outbox_error(const struct outbox *outbox)
{
	return outbox->error;
}

/* Where the disk is full the file beside the file can't grow either, and that error has no number of the system. */
static int ioerr_to_errno(struct outbox *outbox, int sqlite_rc)
{
	const int system = sqlite3_system_errno(outbox->db);

	return sqlite_rc == SQLITE_IOERR_SHMSIZE || system == ENOSPC || system == EDQUOT ? -ENOSPC : -EIO;
}

static int fail(struct outbox *outbox, int sqlite_rc)
{
	(void)snprintf(outbox->error, sizeof(outbox->error), "%s",
		outbox->db ? sqlite3_errmsg(outbox->db) : sqlite3_errstr(sqlite_rc));
	switch (sqlite_rc & 0xff) {
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return -EBADMSG;
	case SQLITE_IOERR:
	case SQLITE_CANTOPEN:
		return ioerr_to_errno(outbox, sqlite_rc);
	default:
		return -EIO;
	}
}

static int execute(struct outbox *outbox, const char *sql)
{
	int rc = sqlite3_exec(outbox->db, sql, NULL, NULL, NULL);

	return rc == SQLITE_OK ? 0 : fail(outbox, rc);
}

static int prepare(struct outbox *outbox, const char *sql, sqlite3_stmt **out)
{
	int rc = sqlite3_prepare_v2(outbox->db, sql, -1, out, NULL);

	return rc == SQLITE_OK ? 0 : fail(outbox, rc);
}

/* Step a statement without rows and let it go. */
static int finish(struct outbox *outbox, sqlite3_stmt *statement)
{
	int rc = sqlite3_step(statement);

	rc = rc == SQLITE_DONE ? 0 : fail(outbox, rc);
	(void)sqlite3_finalize(statement);
	return rc;
}

/* The first column of the only row; the statement goes. */
static int take_number(struct outbox *outbox, sqlite3_stmt *statement, int64_t *out)
{
	int rc = sqlite3_step(statement);

	if (rc == SQLITE_ROW)
		*out = sqlite3_column_int64(statement, 0);
	rc = rc == SQLITE_ROW ? 0 : fail(outbox, rc);
	(void)sqlite3_finalize(statement);
	return rc;
}

static int read_number(struct outbox *outbox, const char *sql, int64_t *out)
{
	sqlite3_stmt *statement;
	int rc = prepare(outbox, sql, &statement);

	return rc < 0 ? rc : take_number(outbox, statement, out);
}

static int change_schema(struct outbox *outbox, const char *sql)
{
	int rc = execute(outbox, "BEGIN IMMEDIATE");

	if (rc == 0)
		rc = execute(outbox, sql);
	return rc == 0 ? execute(outbox, "COMMIT") : rc;
}

static int check_schema(struct outbox *outbox, bool read_only)
{
	int64_t version = 0, application = 0, tables = 0;
	int rc = read_number(outbox, "PRAGMA user_version", &version);

	if (rc == 0)
		rc = read_number(outbox, "PRAGMA application_id", &application);
	if (rc == 0)
		rc = read_number(outbox, "SELECT count(*) FROM sqlite_schema", &tables);
	if (rc < 0)
		return rc;
	if (application == APPLICATION_ID && version >= 1 && version <= SCHEMA_VERSION)
		return version == SCHEMA_VERSION || read_only ? 0 : change_schema(outbox, step_2);
	if (application == APPLICATION_ID) {
		(void)snprintf(outbox->error, sizeof(outbox->error),
			"the file has schema %lld, newer than this program's %d", (long long)version,
			SCHEMA_VERSION);
		return -EPROTO;
	}
	if (tables || application || read_only) {
		text_copy(outbox->error, sizeof(outbox->error), "the file is none of drivesoak's alerts");
		return -EBADMSG;
	}
	return change_schema(outbox, schema);
}

/* @before its first use and once it is known to be ours. */
static int open_with(const char *path, int flags, const char *before, bool is_read, const char *after,
	struct outbox **out, char *why)
{
	struct outbox *outbox = calloc(1, sizeof(*outbox));
	int rc;

	if (!outbox) {
		(void)snprintf(why, OUTBOX_WHY_MAX, "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	rc = sqlite3_open_v2(path, &outbox->db, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);
	rc = rc == SQLITE_OK ? 0 : fail(outbox, rc);
	if (rc == 0) {
		(void)sqlite3_busy_timeout(outbox->db, BUSY_TIMEOUT_MS);
		rc = execute(outbox, before);
	}
	if (rc == 0)
		rc = check_schema(outbox, is_read);
	if (rc == 0)
		rc = execute(outbox, after);
	if (rc < 0) {
		(void)snprintf(why, OUTBOX_WHY_MAX, "%s", outbox->error);
		outbox_close(outbox);
		return rc;
	}
	*out = outbox;
	return 0;
}

int outbox_open(const char *path, bool read_only, struct outbox **out, char *why)
{
	if (read_only)
		return open_with(path, SQLITE_OPEN_READONLY, "", true, "", out, why);
	return open_with(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, "", false, settings, out, why);
}

int outbox_open_alone(const char *path, struct outbox **out, char *why)
{
	return open_with(path, SQLITE_OPEN_READWRITE, "PRAGMA locking_mode = EXCLUSIVE;", true, "", out, why);
}

void outbox_close(struct outbox *outbox)
{
	if (!outbox)
		return;
	(void)sqlite3_close(outbox->db);
	free(outbox);
}

static int put_alert(struct outbox *outbox, const struct alert *alert)
{
	sqlite3_stmt *statement;
	int rc;

	/* A mute alone, of what never fired: it has no episode; it is the row of time 0. */
	rc = prepare(outbox, "INSERT OR REPLACE INTO alerts VALUES (" OUTBOX_ROW_MARKS ")", &statement);
	if (rc < 0)
		return rc;
	outbox_row_bind(statement, 1, alert);
	return finish(outbox, statement);
}

int outbox_draw_id(struct alert_message *message)
{
	sd_id128_t id;
	int rc;

	if (message->id[0])
		return 0;
	rc = sd_id128_randomize(&id);
	if (rc < 0)
		return rc;
	(void)snprintf(message->id, sizeof(message->id), SD_ID128_FORMAT_STR, SD_ID128_FORMAT_VAL(id));
	return 0;
}

/* The earlier episodes that are in the count of a message. */
static int mark_told(struct outbox *outbox, const struct alert *alert)
{
	sqlite3_stmt *statement;
	int rc = prepare(outbox,
		"UPDATE alerts SET told = 1 WHERE drive = ? AND alert = ? AND since_ms >= ? AND since_ms < ?",
		&statement);

	if (rc < 0)
		return rc;
	(void)sqlite3_bind_text(statement, 1, alert->drive, -1, SQLITE_STATIC);
	(void)sqlite3_bind_text(statement, 2, alert_rule_name(alert->rule), -1, SQLITE_STATIC);
	(void)sqlite3_bind_int64(statement, 3, alert->untold_since_ms);
	(void)sqlite3_bind_int64(statement, 4, alert->since_ms);
	return finish(outbox, statement);
}

static int put_entry(struct outbox *outbox, int64_t number, size_t index, const struct alert_entry *entry)
{
	sqlite3_stmt *statement;
	int rc = prepare(
		outbox, "INSERT OR IGNORE INTO entries VALUES (?, ?, ?, " OUTBOX_ROW_MARKS ")", &statement);

	if (rc < 0)
		return rc;
	(void)sqlite3_bind_int64(statement, 1, number);
	(void)sqlite3_bind_int64(statement, 2, (int64_t)index);
	(void)sqlite3_bind_text(statement, 3, alert_note_name(entry->note), -1, SQLITE_STATIC);
	outbox_row_bind(statement, 4, &entry->alert);
	rc = finish(outbox, statement);
	return rc == 0 && entry->alert.untold ? mark_told(outbox, &entry->alert) : rc;
}

/* A commit that failed may have been one after all: then the message is there. */
static int put_message(struct outbox *outbox, struct alert_message *message, int64_t *number)
{
	sqlite3_stmt *statement;
	int rc = outbox_draw_id(message);

	if (rc == 0)
		rc = prepare(outbox, "INSERT OR IGNORE INTO messages (id, t_ms) VALUES (?, ?)", &statement);
	if (rc < 0)
		return rc;
	(void)sqlite3_bind_text(statement, 1, message->id, -1, SQLITE_STATIC);
	(void)sqlite3_bind_int64(statement, 2, message->t_ms);
	rc = finish(outbox, statement);
	if (rc == 0)
		rc = prepare(outbox, "SELECT message FROM messages WHERE id = ?", &statement);
	if (rc < 0)
		return rc;
	(void)sqlite3_bind_text(statement, 1, message->id, -1, SQLITE_STATIC);
	rc = take_number(outbox, statement, number);
	for (size_t i = 0; rc == 0 && i < message->count; i++)
		rc = put_entry(outbox, *number, i, &message->entries[i]);
	return rc;
}

static int put_delivery(
	struct outbox *outbox, const struct outbox_channel *channel, int64_t message, bool is_done)
{
	sqlite3_stmt *statement;
	int rc = prepare(outbox,
		"INSERT INTO deliveries VALUES (?, ?, ?, ?, 0, 0, 0, NULL, NULL)"
		" ON CONFLICT DO UPDATE SET state = excluded.state WHERE excluded.state = 'delivered'",
		&statement);

	if (rc < 0)
		return rc;
	(void)sqlite3_bind_int64(statement, 1, message);
	(void)sqlite3_bind_text(statement, 2, channel->name, -1, SQLITE_STATIC);
	(void)sqlite3_bind_text(statement, 3, channel->kind, -1, SQLITE_STATIC);
	(void)sqlite3_bind_text(
		statement, 4, state_names[is_done ? OUTBOX_DELIVERED : OUTBOX_WAITING], -1, SQLITE_STATIC);
	return finish(outbox, statement);
}

int outbox_put(struct outbox *outbox, const struct alert *alerts, size_t alert_count,
	struct alert_message *message, const struct outbox_channel *channels, size_t channel_count,
	uint64_t done)
{
	int64_t number = 0;
	int rc = execute(outbox, "BEGIN IMMEDIATE");

	if (rc < 0)
		return rc;
	for (size_t i = 0; rc == 0 && i < alert_count; i++)
		rc = put_alert(outbox, &alerts[i]);
	if (rc == 0 && message)
		rc = put_message(outbox, message, &number);
	for (size_t i = 0; rc == 0 && message && i < channel_count; i++)
		rc = put_delivery(outbox, &channels[i], number, done >> i & 1);
	if (rc == 0)
		rc = execute(outbox, "COMMIT");
	if (rc < 0)
		(void)sqlite3_exec(outbox->db, "ROLLBACK", NULL, NULL, NULL);
	return rc;
}

static void bind_channel(sqlite3_stmt *statement, const struct outbox_channel *channel)
{
	(void)sqlite3_bind_text(statement, 1, channel->name, -1, SQLITE_STATIC);
	(void)sqlite3_bind_text(statement, 2, channel->kind, -1, SQLITE_STATIC);
}

int outbox_next(
	struct outbox *outbox, const struct outbox_channel *channel, int64_t now_ms, struct outbox_item *out)
{
	sqlite3_stmt *statement;
	int rc = prepare(outbox,
		"SELECT message, t_ms, tries, next_ms, refused FROM deliveries JOIN messages USING (message)"
		" WHERE name = ?1 AND kind = ?2 AND state = 'waiting' ORDER BY (refused AND next_ms > ?3),"
		" CASE WHEN refused AND next_ms > ?3 THEN next_ms ELSE message END LIMIT 1",
		&statement);

	if (rc < 0)
		return rc;
	bind_channel(statement, channel);
	(void)sqlite3_bind_int64(statement, 3, now_ms);
	rc = sqlite3_step(statement);
	if (rc == SQLITE_ROW)
		*out = (struct outbox_item){
			.message = sqlite3_column_int64(statement, 0),
			.t_ms = sqlite3_column_int64(statement, 1),
			.tries = (unsigned)sqlite3_column_int64(statement, 2),
			.next_ms = sqlite3_column_int64(statement, 3),
			.is_refused = sqlite3_column_int64(statement, 4) != 0,
		};
	rc = rc == SQLITE_ROW ? 0 : rc == SQLITE_DONE ? -ENOENT : fail(outbox, rc);
	(void)sqlite3_finalize(statement);
	return rc;
}

static int get_entries(struct outbox *outbox, int64_t message, struct alert_message *out)
{
	sqlite3_stmt *statement;
	int rc = prepare(outbox, "SELECT * FROM entries WHERE message = ? ORDER BY entry", &statement);

	if (rc < 0)
		return rc;
	(void)sqlite3_bind_int64(statement, 1, message);
	while ((rc = sqlite3_step(statement)) == SQLITE_ROW && out->count < ALERTS_MESSAGE_MAX) {
		struct alert_entry *entry = &out->entries[out->count];

		if (!alert_note_parse((const char *)sqlite3_column_text(statement, 2), &entry->note) ||
			!outbox_row_read(statement, 3, &entry->alert))
			continue; /* of a newer program: what this one does not know it can't tell */
		out->count++;
	}
	rc = rc == SQLITE_DONE || rc == SQLITE_ROW ? 0 : fail(outbox, rc);
	(void)sqlite3_finalize(statement);
	return rc;
}

int outbox_get_message(struct outbox *outbox, int64_t message, struct alert_message *out)
{
	sqlite3_stmt *statement;
	int rc = prepare(outbox, "SELECT id, t_ms FROM messages WHERE message = ?", &statement);

	if (rc < 0)
		return rc;
	(void)sqlite3_bind_int64(statement, 1, message);
	rc = sqlite3_step(statement);
	out->count = 0;
	if (rc == SQLITE_ROW) {
		text_copy(out->id, sizeof(out->id), (const char *)sqlite3_column_text(statement, 0));
		out->t_ms = sqlite3_column_int64(statement, 1);
	}
	rc = rc == SQLITE_ROW ? 0 : rc == SQLITE_DONE ? -ENOENT : fail(outbox, rc);
	(void)sqlite3_finalize(statement);
	return rc == 0 ? get_entries(outbox, message, out) : rc;
}

int outbox_note(struct outbox *outbox, const struct outbox_channel *channel, int64_t message,
	const struct outbox_result *result)
{
	sqlite3_stmt *statement;
	int rc = prepare(outbox,
		"UPDATE deliveries SET state = ?4, refused = ?5, tries = ?6, next_ms = ?7, last_ms = ?8, "
		"result = ?9"
		" WHERE name = ?1 AND kind = ?2 AND message = ?3",
		&statement);

	if (rc < 0)
		return rc;
	bind_channel(statement, channel);
	(void)sqlite3_bind_int64(statement, 3, message);
	(void)sqlite3_bind_text(statement, 4, state_names[result->state], -1, SQLITE_STATIC);
	(void)sqlite3_bind_int64(statement, 5, result->is_refused);
	(void)sqlite3_bind_int64(statement, 6, result->tries);
	(void)sqlite3_bind_int64(statement, 7, result->next_ms);
	(void)sqlite3_bind_int64(statement, 8, result->t_ms);
	(void)sqlite3_bind_text(statement, 9, result->text, -1, SQLITE_STATIC);
	return finish(outbox, statement);
}

static int get_last(struct outbox *outbox, const struct outbox_channel *channel, struct outbox_queue *out)
{
	sqlite3_stmt *statement;
	int rc = prepare(outbox,
		"SELECT last_ms, state, result FROM deliveries WHERE name = ?1 AND kind = ?2 AND last_ms IS "
		"NOT NULL"
		" ORDER BY last_ms DESC LIMIT 1",
		&statement);

	if (rc < 0)
		return rc;
	bind_channel(statement, channel);
	rc = sqlite3_step(statement);
	if (rc == SQLITE_ROW) {
		const char *state = (const char *)sqlite3_column_text(statement, 1);

		out->last_ms = sqlite3_column_int64(statement, 0);
		for (size_t i = 0; i < sizeof(state_names) / sizeof(state_names[0]); i++)
			if (strcmp(state_names[i], state) == 0)
				out->last_state = (enum outbox_state)i;
		text_copy(out->last_text, sizeof(out->last_text),
			sqlite3_column_type(statement, 2) == SQLITE_NULL
				? ""
				: (const char *)sqlite3_column_text(statement, 2));
	}
	rc = rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : fail(outbox, rc);
	(void)sqlite3_finalize(statement);
	return rc;
}

int outbox_get_queue(struct outbox *outbox, const struct outbox_channel *channel, struct outbox_queue *out)
{
	sqlite3_stmt *statement;
	int rc = prepare(outbox,
		"SELECT count(*), coalesce((SELECT tries FROM deliveries WHERE name = ?1 AND kind = ?2"
		" AND state = 'waiting' AND NOT refused ORDER BY message LIMIT 1), 0) FROM deliveries"
		" WHERE name = ?1 AND kind = ?2 AND state = 'waiting'",
		&statement);

	*out = (struct outbox_queue){ .last_ms = INT64_MIN };
	if (rc < 0)
		return rc;
	bind_channel(statement, channel);
	rc = sqlite3_step(statement);
	if (rc == SQLITE_ROW) {
		out->queued = (uint64_t)sqlite3_column_int64(statement, 0);
		out->tries = (unsigned)sqlite3_column_int64(statement, 1);
	}
	rc = rc == SQLITE_ROW ? 0 : fail(outbox, rc);
	(void)sqlite3_finalize(statement);
	return rc == 0 ? get_last(outbox, channel, out) : rc;
}

/* Those of the channels stay; each other one is given up. */
static int give_up_strangers(
	struct outbox *outbox, const struct outbox_channel *channels, size_t count, uint64_t *lost)
{
	sqlite3_stmt *statement;
	struct text sql = TEXT_INIT;
	int rc;

	text_add(&sql, "UPDATE deliveries SET state = 'given-up', result = 'the channel is no longer in the "
		       "configuration' WHERE state = 'waiting' AND (name, kind) NOT IN (VALUES ('', '')");
	for (size_t i = 0; i < count; i++)
		text_add(&sql, ", (?, ?)");
	text_add(&sql, ")");
	rc = text_error(&sql);
	if (rc == 0)
		rc = prepare(outbox, text_string(&sql), &statement);
	text_fini(&sql);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < count; i++) {
		(void)sqlite3_bind_text(statement, (int)(2 * i + 1), channels[i].name, -1, SQLITE_STATIC);
		(void)sqlite3_bind_text(statement, (int)(2 * i + 2), channels[i].kind, -1, SQLITE_STATIC);
	}
	rc = finish(outbox, statement);
	if (rc == 0)
		*lost = (uint64_t)sqlite3_changes64(outbox->db);
	return rc;
}

/* Messages that are long done, and the oldest episodes beyond the most that are kept. */
static int clear_up(struct outbox *outbox, int64_t now_ms)
{
	char sql[1024];

	(void)snprintf(sql, sizeof(sql),
		"CREATE TEMP TABLE done AS SELECT message FROM messages WHERE t_ms < %lld AND message NOT IN"
		" (SELECT message FROM deliveries WHERE state = 'waiting');"
		"DELETE FROM deliveries WHERE message IN (SELECT message FROM done);"
		"DELETE FROM entries WHERE message IN (SELECT message FROM done);"
		"DELETE FROM messages WHERE message IN (SELECT message FROM done);"
		"DROP TABLE done;"
		"DELETE FROM alerts WHERE until_ms IS NOT NULL AND NOT owes_end AND since_ms <"
		" (SELECT since_ms FROM alerts ORDER BY since_ms DESC LIMIT 1 OFFSET " VALUE_OF(
			EPISODES_KEPT) ") AND" IS_NOT_LAST ";",
		(long long)(now_ms - KEEP_DONE_MS));
	return execute(outbox, sql);
}

static int start_again(struct outbox *outbox)
{
	return execute(outbox,
		"CREATE INDEX IF NOT EXISTS deliveries_last ON deliveries (name, kind, last_ms);"
		"UPDATE deliveries SET next_ms = 0 WHERE state = 'waiting';"
		"UPDATE alerts AS a SET firing = 0, owes_end = 0, until_ms = max(since_ms,"
		" (SELECT since_ms FROM alerts AS b WHERE b.drive = a.drive AND b.alert = a.alert"
		" AND b.rowid > a.rowid ORDER BY b.rowid LIMIT 1)) WHERE firing AND" IS_NOT_LAST ";");
}

int outbox_begin(struct outbox *outbox, const struct outbox_channel *channels, size_t count, int64_t now_ms,
	bool is_start, uint64_t *lost)
{
	int rc = execute(outbox, "BEGIN IMMEDIATE");

	if (rc < 0)
		return rc;
	rc = give_up_strangers(outbox, channels, count, lost);
	if (rc == 0 && is_start)
		rc = start_again(outbox);
	if (rc == 0)
		rc = clear_up(outbox, now_ms);
	if (rc == 0)
		rc = execute(outbox, "COMMIT");
	if (rc < 0)
		(void)sqlite3_exec(outbox->db, "ROLLBACK", NULL, NULL, NULL);
	return rc;
}

/* @limit is the parameter ?1 where @sql has one. */
static int walk(struct outbox *outbox, const char *sql, size_t limit,
	int (*each)(const struct alert *alert, void *arg), void *arg)
{
	sqlite3_stmt *statement;
	struct alert alert;
	int rc = prepare(outbox, sql, &statement), answer = 0;

	if (rc < 0)
		return rc;
	(void)sqlite3_bind_int64(statement, 1, (int64_t)limit);
	while (answer == 0 && (rc = sqlite3_step(statement)) == SQLITE_ROW)
		if (outbox_row_read(statement, 0, &alert))
			answer = each(&alert, arg);
	if (answer == 0 && rc != SQLITE_DONE)
		answer = fail(outbox, rc);
	(void)sqlite3_finalize(statement);
	return answer;
}

int outbox_each_last(struct outbox *outbox, int (*each)(const struct alert *alert, void *arg), void *arg)
{
	return walk(outbox, "SELECT * FROM alerts WHERE" IS_LAST, 0, each, arg);
}

int outbox_each_firing(struct outbox *outbox, int (*each)(const struct alert *alert, void *arg), void *arg)
{
	return walk(outbox,
		"SELECT * FROM alerts WHERE firing AND told AND" IS_LAST " ORDER BY since_ms, drive, alert",
		0, each, arg);
}

int outbox_each_episode(
	struct outbox *outbox, size_t limit, int (*each)(const struct alert *alert, void *arg), void *arg)
{
	return walk(outbox,
		"SELECT * FROM alerts WHERE since_ms > 0 ORDER BY since_ms DESC, drive, alert LIMIT ?1",
		limit, each, arg);
}
