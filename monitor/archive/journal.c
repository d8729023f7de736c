/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "archive/journal_private.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SCHEMA_VERSION	5
#define APPLICATION_ID	0x64736f6b /* "dsok": tells a foreign database from a journal */
#define BUSY_TIMEOUT_MS 1000

#define TEXT_OF(x)  #x
#define VALUE_OF(x) TEXT_OF(x)

/* Version 1, as it was: a new file is made so and then brought up to date by the steps below, as an old one is.
 * Events carry the id of their run as text, without a reference: an event must never be refused. */
static const char schema[] =
	"CREATE TABLE runs (run INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, drive TEXT NOT NULL, label "
	"TEXT,"
	" model TEXT, serial TEXT, firmware TEXT, source TEXT NOT NULL, phase TEXT NOT NULL, status TEXT NOT "
	"NULL,"
	" fill_goal_bytes INTEGER, fill_done_bytes INTEGER, extent_bytes INTEGER, settled_ns INTEGER,"
	" soak_ns INTEGER, started_ms INTEGER, soak_started_ms INTEGER, ended_ms INTEGER,"
	" interval_s INTEGER NOT NULL, seed INTEGER NOT NULL, capacity_bytes INTEGER, written_bytes INTEGER,"
	" reason TEXT, engine TEXT, direct TEXT, pre_state TEXT, price_amount REAL, price_currency TEXT) "
	"STRICT;"
	"CREATE INDEX runs_drive ON runs (drive, started_ms);"
	/* Apart, so that the state stored with every sample is a short row. */
	"CREATE TABLE run_texts (run INTEGER PRIMARY KEY REFERENCES runs (run), frozen TEXT, config_json "
	"TEXT,"
	" host_json TEXT) STRICT;"
	"CREATE TABLE samples (run INTEGER NOT NULL REFERENCES runs (run), t_ms INTEGER NOT NULL,"
	" elapsed_ns INTEGER, state TEXT NOT NULL, flags INTEGER NOT NULL, phase TEXT NOT NULL,"
	" write_bytes INTEGER, write_ios INTEGER, read_bytes INTEGER, read_ios INTEGER, errors INTEGER,"
	" lat_p50_ns INTEGER, lat_p90_ns INTEGER, lat_p99_ns INTEGER, lat_p999_ns INTEGER, lat_p9999_ns "
	"INTEGER,"
	" lat_max_ns INTEGER, stall_ns INTEGER, inflight_mean REAL, host_cpu_share REAL, steal_share REAL,"
	" temp_c REAL, PRIMARY KEY (run, t_ms)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE histograms (run INTEGER NOT NULL, t_ms INTEGER NOT NULL, hist BLOB NOT NULL,"
	" PRIMARY KEY (run, t_ms), FOREIGN KEY (run, t_ms) REFERENCES samples (run, t_ms)) STRICT, WITHOUT "
	"ROWID;"
	"CREATE TABLE events (event INTEGER PRIMARY KEY, t_ms INTEGER NOT NULL, until_ms INTEGER,"
	" kind TEXT NOT NULL, severity TEXT NOT NULL, drive TEXT, run TEXT, text TEXT, cause TEXT,"
	" evidence TEXT) STRICT;"
	"CREATE INDEX events_time ON events (t_ms, event);"
	"CREATE INDEX events_run ON events (run, t_ms, event);"
	"PRAGMA application_id = " VALUE_OF(APPLICATION_ID) ";";

/* From each version to the next. */
static const char *const steps[SCHEMA_VERSION] = {
	[1] = "ALTER TABLE samples ADD COLUMN run_delay_share REAL;"
	      "ALTER TABLE samples ADD COLUMN device_lat_mean_ns INTEGER;"
	      "ALTER TABLE samples ADD COLUMN lat_mean_ns INTEGER;"
	      "ALTER TABLE samples ADD COLUMN throttled_ns INTEGER;"
	      "ALTER TABLE samples ADD COLUMN commits INTEGER;"
	      "ALTER TABLE samples ADD COLUMN commit_p50_ns INTEGER;"
	      "ALTER TABLE samples ADD COLUMN commit_p99_ns INTEGER;"
	      "ALTER TABLE runs ADD COLUMN probe_step INTEGER NOT NULL DEFAULT 0;"
	      "ALTER TABLE runs ADD COLUMN probe_ns INTEGER NOT NULL DEFAULT 0;"
	      "ALTER TABLE runs ADD COLUMN boot_id TEXT;"
	      "ALTER TABLE runs ADD COLUMN probe_ios_per_s REAL;"
	      "ALTER TABLE run_texts ADD COLUMN probe_json TEXT;"
	      "ALTER TABLE run_texts ADD COLUMN verify_json TEXT;",
	[2] = "ALTER TABLE runs ADD COLUMN fill_durable_bytes INTEGER NOT NULL DEFAULT 0;",
	[3] = "CREATE TABLE health (run INTEGER NOT NULL REFERENCES runs (run), t_ms INTEGER NOT NULL,"
	      " fields TEXT NOT NULL, pages BLOB, PRIMARY KEY (run, t_ms)) STRICT, WITHOUT ROWID;"
	      "ALTER TABLE samples ADD COLUMN percent_used REAL;"
	      "ALTER TABLE samples ADD COLUMN spare_pct REAL;",
	[4] = "ALTER TABLE events ADD COLUMN key TEXT;"
	      "ALTER TABLE events ADD COLUMN count INTEGER NOT NULL DEFAULT 0;"
	      "CREATE UNIQUE INDEX events_key ON events (run, key);",
};

/* What a file of that version, when it is only read, lacks of the present one is unknown or 0: a view of the same name
 * hides the table from this connection alone. */
#define NO_HEALTH_COLUMNS "NULL AS percent_used, NULL AS spare_pct"
#define NO_HEALTH_SAMPLES "CREATE TEMP VIEW samples AS SELECT *, " NO_HEALTH_COLUMNS " FROM main.samples;"
#define NO_HEALTH_VIEW                                                                                       \
	"CREATE TEMP VIEW health AS SELECT 0 AS run, 0 AS t_ms, '' AS fields, NULL AS pages WHERE 0;"
#define NO_EVENT_KEYS "CREATE TEMP VIEW events AS SELECT *, NULL AS key, 0 AS count FROM main.events;"

static const char *const stand_ins[SCHEMA_VERSION] = {
	[1] = "CREATE TEMP VIEW samples AS SELECT *, NULL AS run_delay_share, NULL AS device_lat_mean_ns,"
	      " NULL AS lat_mean_ns, NULL AS throttled_ns, NULL AS commits, NULL AS commit_p50_ns,"
	      " NULL AS commit_p99_ns, " NO_HEALTH_COLUMNS " FROM main.samples;" NO_HEALTH_VIEW
	      "CREATE TEMP VIEW runs AS SELECT *, 0 AS probe_step, 0 AS probe_ns, NULL AS boot_id,"
	      " NULL AS probe_ios_per_s, 0 AS fill_durable_bytes FROM main.runs;"
	      "CREATE TEMP VIEW run_texts AS SELECT *, NULL AS probe_json, NULL AS verify_json FROM "
	      "main.run_texts;" NO_EVENT_KEYS,
	[2] = "CREATE TEMP VIEW runs AS SELECT *, 0 AS fill_durable_bytes FROM main.runs;" NO_HEALTH_SAMPLES
		NO_HEALTH_VIEW NO_EVENT_KEYS,
	[3] = NO_HEALTH_SAMPLES NO_HEALTH_VIEW NO_EVENT_KEYS,
	[4] = NO_EVENT_KEYS,
};

static const char settings[] = "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;"
			       "PRAGMA journal_size_limit = 4194304;";

/* Of the last journal_open() of this thread that failed and left no handle to ask. */
static _Thread_local char open_error[JOURNAL_ERROR_MAX];

const char *journal_error(const struct journal *journal)
{
	return journal ? journal->error : open_error;
}

static int ioerr_to_errno(struct journal *journal)
{
	int system = sqlite3_system_errno(journal->db);

	return system == ENOSPC || system == EDQUOT ? -ENOSPC : -EIO;
}

static int cantopen_to_errno(struct journal *journal)
{
	int system = sqlite3_system_errno(journal->db);

	return system > 0 ? -system : -EIO;
}

int journal_fail(struct journal *journal, int sqlite_rc)
{
	(void)snprintf(journal->error, sizeof(journal->error), "%s",
		journal->db ? sqlite3_errmsg(journal->db) : sqlite3_errstr(sqlite_rc));
	switch (sqlite_rc & 0xff) {
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_READONLY:
		return -EROFS;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return -EBADMSG;
	/* These are the record's fault: no retry helps. */
	case SQLITE_CONSTRAINT:
	case SQLITE_MISMATCH:
	case SQLITE_TOOBIG:
		return -EINVAL;
	case SQLITE_CANTOPEN:
		return cantopen_to_errno(journal);
	case SQLITE_IOERR:
		return ioerr_to_errno(journal);
	default:
		return -EIO;
	}
}

int journal_refuse(struct journal *journal, int rc, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(journal->error, sizeof(journal->error), format, args);
	va_end(args);
	return rc;
}

int journal_prepare(struct journal *journal, const char *sql, sqlite3_stmt **out)
{
	sqlite3_stmt *statement = NULL;
	int rc = sqlite3_prepare_v3(journal->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL);

	if (rc != SQLITE_OK)
		return journal_fail(journal, rc);
	*out = statement;
	return 0;
}

int journal_statement(struct journal *journal, enum journal_statement which, void (*make)(struct text *sql),
	sqlite3_stmt **out)
{
	struct text sql = TEXT_INIT;
	int rc = 0;

	if (!journal->statements[which]) {
		make(&sql);
		rc = text_error(&sql);
		if (rc == 0)
			rc = journal_prepare(journal, text_string(&sql), &journal->statements[which]);
		text_fini(&sql);
	}
	if (rc < 0)
		return rc;
	(void)sqlite3_reset(journal->statements[which]);
	*out = journal->statements[which];
	return 0;
}

int journal_run(struct journal *journal, sqlite3_stmt *statement)
{
	int rc = sqlite3_step(statement);

	rc = rc == SQLITE_DONE ? 0 : journal_fail(journal, rc);
	(void)sqlite3_reset(statement); /* tells the failure of the step again */
	return rc;
}

int journal_bind_text(struct journal *journal, sqlite3_stmt *statement, int index, const char *text)
{
	int rc = sqlite3_bind_text(statement, index, text, -1, SQLITE_TRANSIENT);

	return rc == SQLITE_OK ? 0 : journal_fail(journal, rc);
}

static int execute(struct journal *journal, const char *sql)
{
	int rc = sqlite3_exec(journal->db, sql, NULL, NULL, NULL);

	return rc == SQLITE_OK ? 0 : journal_fail(journal, rc);
}

/* The first column of the first row. */
static int read_number(struct journal *journal, const char *sql, int64_t *out)
{
	sqlite3_stmt *statement = NULL;
	int rc = journal_prepare(journal, sql, &statement);

	if (rc < 0)
		return rc;
	rc = sqlite3_step(statement);
	if (rc == SQLITE_ROW) {
		*out = sqlite3_column_int64(statement, 0);
		rc = 0;
	} else {
		rc = journal_fail(journal, rc);
	}
	(void)sqlite3_finalize(statement);
	return rc;
}

/* 0 when the file has our schema, -ENOENT when it has none yet. */
static int check_schema(struct journal *journal, int64_t *out_version)
{
	int64_t version = 0, application = 0, tables = 0;
	int rc = read_number(journal, "PRAGMA user_version", &version);

	if (rc == 0)
		rc = read_number(journal, "PRAGMA application_id", &application);
	if (rc == 0)
		rc = read_number(journal, "SELECT count(*) FROM sqlite_schema", &tables);
	if (rc < 0)
		return rc;
	if (version == 0 && application == 0 && tables == 0)
		return journal_refuse(journal, -ENOENT, "the file is empty");
	if (application != APPLICATION_ID)
		return journal_refuse(journal, -EBADMSG, "the file is a database of another program");
	if (version > SCHEMA_VERSION)
		return journal_refuse(journal, -EPROTO,
			"the file has schema %lld, newer than this program's %d", (long long)version,
			SCHEMA_VERSION);
	*out_version = version;
	return 0;
}

static int use_wal(struct journal *journal)
{
	sqlite3_stmt *statement = NULL;
	int rc = journal_prepare(journal, "PRAGMA journal_mode = WAL", &statement);

	if (rc < 0)
		return rc;
	rc = sqlite3_step(statement);
	if (rc != SQLITE_ROW)
		rc = journal_fail(journal, rc);
	else if (strcmp((const char *)sqlite3_column_text(statement, 0), "wal") != 0)
		rc = journal_refuse(
			journal, -EIO, "the filesystem has no shared memory for a write-ahead log");
	else
		rc = 0;
	(void)sqlite3_finalize(statement);
	return rc;
}

static int connect_file(struct journal *journal, const char *name, int flags)
{
	int rc = sqlite3_open_v2(name, &journal->db,
		flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_URI, NULL);

	if (rc != SQLITE_OK)
		return journal_fail(journal, rc);
	(void)sqlite3_busy_timeout(journal->db, BUSY_TIMEOUT_MS);
	return 0;
}

/* In one transaction: whoever opens the file at the same time finds the old or the new. */
static int upgrade(struct journal *journal)
{
	int64_t version = 0;
	int rc = journal_begin(journal);

	if (rc == 0)
		rc = read_number(journal, "PRAGMA user_version", &version);
	if (rc == 0 && version == 0) {
		rc = execute(journal, schema);
		version = 1;
	}
	for (; rc == 0 && version < SCHEMA_VERSION; version++)
		rc = execute(journal, steps[version]);
	if (rc == 0)
		rc = execute(journal, "PRAGMA user_version = " VALUE_OF(SCHEMA_VERSION));
	if (rc == 0)
		rc = journal_commit(journal);
	if (rc < 0)
		journal_rollback(journal);
	return rc;
}

static int keep_place(struct journal *journal, const char *path)
{
	struct stat st;

	journal->path = strdup(path);
	if (!journal->path)
		return -ENOMEM;
	if (stat(path, &st) == 0) {
		journal->device = st.st_dev;
		journal->inode = st.st_ino;
	}
	return 0;
}

static int open_for_writing(struct journal *journal, const char *path)
{
	int rc = connect_file(journal, path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
	int64_t version = 0;

	if (rc == 0)
		rc = keep_place(journal, path);
	if (rc < 0)
		return rc;
	rc = check_schema(journal, &version);
	if (rc < 0 && rc != -ENOENT)
		return rc;
	rc = use_wal(journal);
	if (rc == 0)
		rc = execute(journal, settings);
	if (rc == 0 && version < SCHEMA_VERSION)
		rc = upgrade(journal);
	return rc;
}

static int file_uri(const char *path, const char *query, struct text *uri)
{
	text_add(uri, "file:");
	for (; *path; path++) {
		if (isalnum((unsigned char)*path) || strchr("/._-", *path))
			text_add_bytes(uri, path, 1);
		else
			text_addf(uri, "%%%02x", (unsigned char)*path);
	}
	text_add(uri, query);
	return text_error(uri);
}

static int connect_for_reading(struct journal *journal, const char *path, const char *query)
{
	struct text uri = TEXT_INIT;
	int64_t version = SCHEMA_VERSION;
	int rc = file_uri(path, query, &uri);

	if (rc == 0)
		rc = connect_file(journal, text_string(&uri), SQLITE_OPEN_READONLY);
	text_fini(&uri);
	if (rc == 0)
		rc = check_schema(journal, &version);
	if (rc == 0 && version < SCHEMA_VERSION)
		rc = execute(journal, stand_ins[version]);
	return rc;
}

static bool has_log(const char *path)
{
	struct text name = TEXT_INIT;
	struct stat status;
	bool found;

	text_addf(&name, "%s-wal", path);
	found = stat(text_string(&name), &status) == 0 && status.st_size > 0;
	text_fini(&name);
	return found;
}

/* A log needs shared memory beside it, which a folder that can't be written does not give. Without a log
 * nobody writes and the file alone is the whole truth; with one it is not, and old data would be worse than
 * none. */
static int open_for_reading(struct journal *journal, const char *path)
{
	int rc;

	if (access(path, R_OK) != 0) {
		rc = -errno;
		return journal_refuse(journal, rc, "%s", strerror(-rc));
	}
	rc = connect_for_reading(journal, path, "?mode=ro");
	if (rc == -ENOENT)
		return journal_refuse(journal, -EBADMSG, "the file is empty");
	if (rc == 0 || rc == -EPROTO || rc == -EBADMSG || rc == -EBUSY || rc == -ENOMEM)
		return rc;
	if (has_log(path))
		return journal_refuse(journal, rc,
			"records are still in %s-wal and its folder cannot be written: copy the folder, or "
			"read as root",
			path);
	(void)sqlite3_close(journal->db);
	journal->db = NULL;
	return connect_for_reading(journal, path, "?mode=ro&immutable=1");
}

int journal_open(const char *path, bool read_only, struct journal **out)
{
	struct journal *journal = calloc(1, sizeof(*journal));
	int rc;

	if (!journal)
		return -ENOMEM;
	rc = read_only ? open_for_reading(journal, path) : open_for_writing(journal, path);
	if (rc < 0) {
		memcpy(open_error, journal->error, sizeof(open_error));
		journal_close(journal);
		return rc;
	}
	*out = journal;
	return 0;
}

void journal_close(struct journal *journal)
{
	if (!journal)
		return;
	for (size_t i = 0; i < STATEMENT_COUNT; i++)
		(void)sqlite3_finalize(journal->statements[i]);
	(void)sqlite3_close(journal->db);
	free(journal->path);
	free(journal);
}

int journal_check_place(const struct journal *journal)
{
	struct stat st;

	if (!journal->path || !journal->inode)
		return 0;
	if (stat(journal->path, &st) < 0)
		return errno == ENOENT ? -ENOENT : 0;
	return st.st_dev == journal->device && st.st_ino == journal->inode ? 0 : -EEXIST;
}

static int sync_path(const char *path, int flags)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | flags), rc = 0;

	if (fd < 0)
		return -errno;
	if (fsync(fd) < 0)
		rc = -errno;
	(void)close(fd);
	return rc;
}

int journal_copy(struct journal *journal, const char *path)
{
	sqlite3_stmt *statement = NULL;
	int rc = journal_prepare(journal, "VACUUM INTO ?", &statement);

	if (rc < 0)
		return rc;
	(void)unlink(path); /* it must not be there */
	rc = journal_bind_text(journal, statement, 1, path);
	if (rc == 0)
		rc = journal_run(journal, statement);
	(void)sqlite3_finalize(statement);
	if (rc == 0)
		rc = sync_path(path, 0);
	return rc;
}

int journal_begin(struct journal *journal)
{
	return execute(journal, "BEGIN IMMEDIATE");
}

int journal_commit(struct journal *journal)
{
	return execute(journal, "COMMIT");
}

void journal_rollback(struct journal *journal)
{
	/* Some failures have rolled back by themselves. */
	if (!sqlite3_get_autocommit(journal->db))
		(void)sqlite3_exec(journal->db, "ROLLBACK", NULL, NULL, NULL);
}
