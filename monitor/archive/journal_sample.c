/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "archive/journal_private.h"

#include <errno.h>
#include <string.h>

#define SAMPLE_FIELD(column, kind)                                                                           \
	{                                                                                                    \
#column, kind, offsetof(struct sample, column), 0                                            \
	}

static const struct field sample_fields[] = {
	SAMPLE_FIELD(t_ms, FIELD_TIME),
	SAMPLE_FIELD(elapsed_ns, FIELD_COUNT),
	SAMPLE_FIELD(state, FIELD_STATE),
	SAMPLE_FIELD(flags, FIELD_SMALL),
	SAMPLE_FIELD(phase, FIELD_PHASE),
	SAMPLE_FIELD(write_bytes, FIELD_COUNT),
	SAMPLE_FIELD(write_ios, FIELD_COUNT),
	SAMPLE_FIELD(read_bytes, FIELD_COUNT),
	SAMPLE_FIELD(read_ios, FIELD_COUNT),
	SAMPLE_FIELD(errors, FIELD_COUNT),
	SAMPLE_FIELD(lat_p50_ns, FIELD_COUNT),
	SAMPLE_FIELD(lat_p90_ns, FIELD_COUNT),
	SAMPLE_FIELD(lat_p99_ns, FIELD_COUNT),
	SAMPLE_FIELD(lat_p999_ns, FIELD_COUNT),
	SAMPLE_FIELD(lat_p9999_ns, FIELD_COUNT),
	SAMPLE_FIELD(lat_max_ns, FIELD_COUNT),
	SAMPLE_FIELD(stall_ns, FIELD_COUNT),
	SAMPLE_FIELD(inflight_mean, FIELD_REAL),
	SAMPLE_FIELD(host_cpu_share, FIELD_REAL),
	SAMPLE_FIELD(steal_share, FIELD_REAL),
	SAMPLE_FIELD(temp_c, FIELD_REAL),
	SAMPLE_FIELD(run_delay_share, FIELD_REAL),
	SAMPLE_FIELD(device_lat_mean_ns, FIELD_COUNT),
	SAMPLE_FIELD(lat_mean_ns, FIELD_COUNT),
	SAMPLE_FIELD(throttled_ns, FIELD_COUNT),
	SAMPLE_FIELD(commits, FIELD_COUNT),
	SAMPLE_FIELD(commit_p50_ns, FIELD_COUNT),
	SAMPLE_FIELD(commit_p99_ns, FIELD_COUNT),
	SAMPLE_FIELD(percent_used, FIELD_REAL),
	SAMPLE_FIELD(spare_pct, FIELD_REAL),
	SAMPLE_FIELD(media_errors, FIELD_COUNT),
};

#define SAMPLE_FIELDS (sizeof(sample_fields) / sizeof(sample_fields[0]))

static void last_ms_sql(struct text *sql)
{
	text_add(sql, "SELECT t_ms FROM samples WHERE run = ? ORDER BY t_ms DESC LIMIT 1");
}

/* *@out stays as it is for a run without samples. */
static int get_last_ms(struct journal *journal, int64_t number, int64_t *out)
{
	sqlite3_stmt *statement = NULL;
	int rc = journal_statement(journal, STATEMENT_SAMPLE_LAST_MS, last_ms_sql, &statement);

	if (rc < 0)
		return rc;
	(void)sqlite3_bind_int64(statement, 1, number);
	rc = sqlite3_step(statement);
	if (rc == SQLITE_ROW)
		*out = sqlite3_column_int64(statement, 0);
	rc = rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : journal_fail(journal, rc);
	(void)sqlite3_reset(statement);
	return rc;
}

static void put_sql(struct text *sql)
{
	text_add(sql, "INSERT INTO samples (");
	fields_sql(sql, FIELDS(sample_fields), "", "");
	text_add(sql, ",run) VALUES (");
	marks_sql(sql, SAMPLE_FIELDS + 1);
	text_add(sql, ")");
}

static void histogram_put_sql(struct text *sql)
{
	text_add(sql, "INSERT INTO histograms (run, t_ms, hist) VALUES (?, ?, ?)");
}

static int put_row(struct journal *journal, int64_t number, const struct sample *sample)
{
	sqlite3_stmt *statement = NULL;
	int rc = journal_statement(journal, STATEMENT_SAMPLE_PUT, put_sql, &statement);

	if (rc == 0)
		rc = fields_bind(journal, statement, 1, FIELDS(sample_fields), sample);
	if (rc < 0)
		return rc;
	(void)sqlite3_bind_int64(statement, (int)SAMPLE_FIELDS + 1, number);
	return journal_run(journal, statement);
}

static int put_histogram(struct journal *journal, int64_t number, const struct sample *sample)
{
	sqlite3_stmt *statement = NULL;
	int rc;

	if (sample->hist_bytes == 0)
		return 0;
	rc = journal_statement(journal, STATEMENT_HISTOGRAM_PUT, histogram_put_sql, &statement);
	if (rc < 0)
		return rc;
	(void)sqlite3_bind_int64(statement, 1, number);
	(void)sqlite3_bind_int64(statement, 2, sample->t_ms);
	(void)sqlite3_bind_blob(statement, 3, sample->hist, sample->hist_bytes, SQLITE_STATIC);
	rc = journal_run(journal, statement);
	(void)sqlite3_clear_bindings(statement); /* the sample may be gone before the next use */
	return rc;
}

int journal_put_sample(struct journal *journal, const char *run, const struct sample *sample)
{
	int64_t number = 0, last_ms = INT64_MIN;
	int rc;

	if (sample->t_ms == INT64_MIN || sample->hist_bytes > SAMPLE_HIST_MAX)
		return journal_refuse(
			journal, -EINVAL, "a sample without a time or with a histogram too long");
	rc = journal_run_number(journal, run, &number);
	if (rc == 0)
		rc = get_last_ms(journal, number, &last_ms);
	if (rc < 0)
		return rc;
	if (sample->t_ms <= last_ms)
		return journal_refuse(journal, -EEXIST, "run %s has a sample at %lld ms, not before %lld ms",
			run, (long long)last_ms, (long long)sample->t_ms);
	rc = put_row(journal, number, sample);
	return rc == 0 ? put_histogram(journal, number, sample) : rc;
}

static void select_sql(struct text *sql, bool with_hist)
{
	text_add(sql, "SELECT ");
	fields_sql(sql, FIELDS(sample_fields), "samples.", "");
	text_add(sql,
		with_hist ? ",hist FROM samples LEFT JOIN histograms USING (run, t_ms)" : " FROM samples");
	text_add(sql, " WHERE samples.run = ? ");
}

static void last_sql(struct text *sql)
{
	select_sql(sql, true);
	text_add(sql, "ORDER BY samples.t_ms DESC LIMIT 1");
}

static int read_sample(struct journal *journal, sqlite3_stmt *statement, bool with_hist, struct sample *out)
{
	int rc = fields_read(journal, statement, 0, FIELDS(sample_fields), out);
	const void *hist;
	size_t length;

	out->hist_bytes = 0;
	if (rc < 0 || !with_hist)
		return rc;
	hist = sqlite3_column_blob(statement, (int)SAMPLE_FIELDS);
	length = (size_t)sqlite3_column_bytes(statement, (int)SAMPLE_FIELDS);
	if (length > sizeof(out->hist))
		return journal_refuse(journal, -EBADMSG, "a histogram of %zu bytes", length);
	if (hist)
		memcpy(out->hist, hist, length);
	out->hist_bytes = (uint16_t)length;
	return 0;
}

int journal_get_last_sample(struct journal *journal, const char *run, struct sample *out)
{
	struct sample sample = { 0 };
	sqlite3_stmt *statement = NULL;
	int64_t number = 0;
	int rc = journal_run_number(journal, run, &number);

	if (rc == 0)
		rc = journal_statement(journal, STATEMENT_SAMPLE_LAST, last_sql, &statement);
	if (rc < 0)
		return rc;
	(void)sqlite3_bind_int64(statement, 1, number);
	rc = sqlite3_step(statement);
	if (rc == SQLITE_ROW)
		rc = read_sample(journal, statement, true, &sample);
	else if (rc == SQLITE_DONE)
		rc = journal_refuse(journal, -ENOENT, "run %s has no sample", run);
	else
		rc = journal_fail(journal, rc);
	(void)sqlite3_reset(statement);
	if (rc == 0)
		*out = sample;
	return rc;
}

static const struct field sum_fields[] = {
	{ "write_bytes", FIELD_COUNT, offsetof(struct journal_sums, write_bytes), 0 },
	{ "write_ios", FIELD_COUNT, offsetof(struct journal_sums, write_ios), 0 },
	{ "read_bytes", FIELD_COUNT, offsetof(struct journal_sums, read_bytes), 0 },
	{ "read_ios", FIELD_COUNT, offsetof(struct journal_sums, read_ios), 0 },
	{ "errors", FIELD_COUNT, offsetof(struct journal_sums, errors), 0 },
};

static const struct field sum_count[] = { { "samples", FIELD_COUNT, offsetof(struct journal_sums, samples),
	0 } };

/* sum() of integers is exact in SQLite, and fails rather than wraps. */
static void sums_sql(struct text *sql)
{
	text_add(sql, "SELECT ");
	fields_sql(sql, FIELDS(sum_fields), "coalesce(sum(", "),0)");
	text_add(sql, ",count(*) FROM samples WHERE run = ?");
}

int journal_get_sums(struct journal *journal, const char *run, struct journal_sums *out)
{
	struct journal_sums sums = { 0 };
	sqlite3_stmt *statement = NULL;
	int64_t number = 0;
	int rc = journal_run_number(journal, run, &number);

	if (rc == 0)
		rc = journal_statement(journal, STATEMENT_SUMS, sums_sql, &statement);
	if (rc < 0)
		return rc;
	(void)sqlite3_bind_int64(statement, 1, number);
	rc = sqlite3_step(statement);
	rc = rc == SQLITE_ROW ? fields_read(journal, statement, 0, FIELDS(sum_fields), &sums)
			      : journal_fail(journal, rc);
	if (rc == 0)
		rc = fields_read(journal, statement, (int)(sizeof(sum_fields) / sizeof(sum_fields[0])),
			FIELDS(sum_count), &sums);
	(void)sqlite3_reset(statement);
	if (rc == 0)
		*out = sums;
	return rc;
}

static int walk_samples(struct journal *journal, sqlite3_stmt *statement, bool with_hist,
	int (*each)(const struct sample *, void *), void *arg)
{
	struct sample sample = { 0 };
	int rc;

	while ((rc = sqlite3_step(statement)) == SQLITE_ROW) {
		rc = read_sample(journal, statement, with_hist, &sample);
		if (rc == 0)
			rc = each(&sample, arg);
		if (rc != 0)
			return rc;
	}
	return rc == SQLITE_DONE ? 0 : journal_fail(journal, rc);
}

int journal_each_sample(struct journal *journal, const char *run, int64_t from_ms, int64_t to_ms,
	bool with_hist, int (*each)(const struct sample *, void *), void *arg)
{
	struct text sql = TEXT_INIT;
	sqlite3_stmt *statement = NULL;
	int64_t number = 0;
	int rc = journal_run_number(journal, run, &number);

	if (rc < 0)
		return rc;
	select_sql(&sql, with_hist);
	text_add(&sql, "AND samples.t_ms > ? AND samples.t_ms <= ? ORDER BY samples.t_ms");
	rc = text_error(&sql);
	if (rc == 0)
		rc = journal_prepare(journal, text_string(&sql), &statement);
	text_fini(&sql);
	if (rc < 0)
		return rc;
	(void)sqlite3_bind_int64(statement, 1, number);
	(void)sqlite3_bind_int64(statement, 2, from_ms);
	(void)sqlite3_bind_int64(statement, 3, to_ms);
	rc = walk_samples(journal, statement, with_hist, each, arg);
	(void)sqlite3_finalize(statement);
	return rc;
}
