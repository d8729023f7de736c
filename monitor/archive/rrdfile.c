/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "archive/rrdfile_private.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <rrd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"

#define DEFAULT_S      (14 * 86400)
#define SPARE_S	       3600 /* beside a quarter: pauses and outages make a run longer than planned */
#define BATCH	       128  /* updates a call: 6 us each instead of 60 */
#define CHECK_ROWS     8192 /* rows compared at once */
#define LOCK_TRIES     5
#define LOCK_PAUSE_US  30000
#define EXACT_LIMIT    9007199254740992.0 /* 2^53: whole numbers times the step stay exact below */
#define LINE_MAX_BYTES (20 + RRDFILE_SOURCES * 22)

struct rrdfile {
	char *path, *temporary, *marker;
	struct path_lock *lock;
	uint32_t step_s;
	bool is_marked;	 /* we have laid the marker */
	bool is_current; /* the file is as this handle left it */
	time_t first_s, last_s;
	unsigned long full_rows;
};

void rrdfile_path_make(const char *state_directory, const char *run_id, struct text *path)
{
	text_addf(path, "%s/runs/%s.rrd", state_directory, run_id);
}

static char *path_with(const char *state_directory, const char *run_id, const char *suffix)
{
	struct text path = TEXT_INIT;
	size_t length;

	rrdfile_path_make(state_directory, run_id, &path);
	text_add(&path, suffix);
	return text_error(&path) ? NULL : text_take(&path, &length);
}

static void file_free(struct rrdfile *file)
{
	path_lock_put(file->lock);
	free(file->path);
	free(file->temporary);
	free(file->marker);
	free(file);
}

int rrdfile_new(const char *state_directory, const char *run_id, uint32_t interval_s, struct rrdfile **out)
{
	struct rrdfile *file;

	if (!*run_id || strchr(run_id, '/') || interval_s == 0)
		return -EINVAL;
	file = calloc(1, sizeof(*file));
	if (!file)
		return -ENOMEM;
	file->step_s = interval_s;
	file->path = path_with(state_directory, run_id, "");
	file->temporary = path_with(state_directory, run_id, ".new");
	file->marker = path_with(state_directory, run_id, ".open");
	if (file->path)
		file->lock = path_lock_get(file->path);
	if (!file->lock || !file->temporary || !file->marker) {
		file_free(file);
		return -ENOMEM;
	}
	*out = file;
	return 0;
}

static int flush_path(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc;

	if (fd < 0)
		return -errno;
	rc = fsync(fd) < 0 ? -errno : 0;
	(void)close(fd);
	return rc;
}

static int flush_folder(const char *path)
{
	struct text folder = TEXT_INIT;
	int rc;

	text_add_bytes(&folder, path, (size_t)(strrchr(path, '/') - path));
	rc = text_error(&folder) ? text_error(&folder) : flush_path(text_string(&folder));
	text_fini(&folder);
	return rc;
}

void rrdfile_free(struct rrdfile *file)
{
	if (!file)
		return;
	path_lock_lock(file->lock);
	if (file->is_marked && file->is_current && flush_path(file->path) == 0)
		(void)unlink(file->marker);
	path_lock_unlock(file->lock);
	file_free(file);
}

const char *rrdfile_path(const struct rrdfile *file)
{
	return file->path;
}

static int lay_marker(struct rrdfile *file, char *why)
{
	int fd = open(file->marker, O_WRONLY | O_CREAT | O_CLOEXEC, 0640), rc;

	rc = fd < 0 ? -errno : 0;
	if (fd >= 0)
		(void)close(fd);
	if (rc == 0)
		rc = flush_folder(file->marker);
	if (rc < 0)
		return rrdfile_fail(why, rc, "%s: %s", file->marker, strerror(-rc));
	file->is_marked = true;
	return 0;
}

/* Updates for one call of librrd, collected as text. */
struct batch {
	struct text text;
	size_t offsets[2 * BATCH], count;
	time_t last_s; /* of the last update in it, or in the file */
};

static void batch_line(struct batch *batch, time_t t_s, const struct sample *sample)
{
	batch->offsets[batch->count++] = batch->text.length;
	text_addf(&batch->text, "%" PRId64, (int64_t)t_s);
	for (size_t i = 0; i < RRDFILE_SOURCES; i++) {
		double value = sample ? rrdfile_source_value(sample, i) : NAN;

		if (isnan(value))
			text_add(&batch->text, ":U");
		else
			text_addf(&batch->text, ":%.0f", value);
	}
	text_add_bytes(&batch->text, "", 1); /* the lines lie one behind the other, each with its end */
	batch->last_s = t_s;
}

/* librrd answers the first sample after a gap with unknown unless unknown was written one step before it. */
static void batch_sample(struct batch *batch, uint32_t step_s, const struct sample *sample)
{
	time_t t_s = sample->t_ms / 1000;

	if (t_s - (time_t)step_s > batch->last_s)
		batch_line(batch, t_s - (time_t)step_s, NULL);
	batch_line(batch, t_s, sample);
}

static int batch_try(const struct batch *batch, const char *path, char *why)
{
	const char *arguments[2 * BATCH];

	for (size_t i = 0; i < batch->count; i++)
		arguments[i] = batch->text.bytes + batch->offsets[i];
	rrd_clear_error();
	if (rrd_update_r(path, NULL, (int)batch->count, arguments) == 0)
		return 0;
	return rrdfile_fail_rrd(why, "update");
}

/* Another process that reads the file makes an update fail at once: librrd never waits for its lock. */
static int batch_write(struct batch *batch, const char *path, char *why)
{
	int rc = text_error(&batch->text);

	if (rc < 0)
		return rrdfile_fail(why, rc, "out of memory");
	if (batch->count == 0)
		return 0;
	for (unsigned try = 0; try < LOCK_TRIES; try++) {
		if (try)
			(void)usleep(LOCK_PAUSE_US);
		rc = batch_try(batch, path, why);
		if (rc != -EBUSY)
			break;
	}
	batch->text.length = batch->count = 0;
	return rc;
}

static int check_sample(const struct sample *sample, uint32_t step_s, char *why)
{
	if (sample->t_ms > 0 && sample->t_ms % (step_s * 1000LL) == 0)
		return 0;
	return rrdfile_fail(why, -EINVAL, "a sample at %" PRId64 " ms is not at a multiple of %u s",
		sample->t_ms, step_s);
}

/* A walk over the journal that writes what follows batch.last_s to a file. */
struct writer {
	struct batch batch;
	const char *path;
	uint32_t step_s;
	uint64_t written;
	char *why;
};

static int write_sample(const struct sample *sample, void *arg)
{
	struct writer *writer = arg;
	int rc;

	if (sample->state == SAMPLE_DOWN)
		return 0;
	rc = check_sample(sample, writer->step_s, writer->why);
	if (rc < 0)
		return rc;
	if (sample->t_ms / 1000 <= writer->batch.last_s)
		return 0;
	batch_sample(&writer->batch, writer->step_s, sample);
	writer->written++;
	if (writer->batch.count <= 2 * BATCH - 2)
		return 0;
	return batch_write(&writer->batch, writer->path, writer->why);
}

static int write_journal(struct writer *writer, struct journal *journal, const char *run)
{
	int rc;

	writer->why[0] = '\0';
	rc = journal_each_sample(
		journal, run, writer->batch.last_s * 1000LL, INT64_MAX, false, write_sample, writer);
	if (rc == 0)
		rc = batch_write(&writer->batch, writer->path, writer->why);
	else if (!writer->why[0])
		(void)rrdfile_fail(writer->why, rc, "journal: %s", journal_error(journal));
	text_fini(&writer->batch.text);
	return rc;
}

/* What the journal knows of the run, as far as a view shows it. */
struct span {
	uint64_t samples;
	int64_t first_ms, last_ms;
};

static int span_add(const struct sample *sample, void *arg)
{
	struct span *span = arg;

	if (sample->state == SAMPLE_DOWN)
		return 0;
	if (span->samples++ == 0)
		span->first_ms = sample->t_ms;
	span->last_ms = sample->t_ms;
	return 0;
}

static const char *run_of(const struct rrdfile *file, char *id)
{
	const char *name = strrchr(file->path, '/') + 1;

	(void)snprintf(id, RUN_ID_MAX, "%.*s", (int)(strlen(name) - strlen(".rrd")), name);
	return id;
}

static unsigned long rows_needed(
	const struct rrdfile *file, const struct span *span, uint64_t planned_s, bool spare)
{
	uint64_t length_s = span->samples ? (uint64_t)(span->last_ms - span->first_ms) / 1000 : 0, rows;

	if (planned_s == 0)
		planned_s = DEFAULT_S;
	if (length_s < planned_s)
		length_s = planned_s;
	if (length_s > (uint64_t)RRDFILE_FULL_ROWS_MAX * file->step_s)
		return RRDFILE_FULL_ROWS_MAX;
	if (spare)
		length_s += length_s / 4 + SPARE_S;
	rows = length_s / file->step_s + 1;
	return rows < RRDFILE_FULL_ROWS_MAX ? (unsigned long)rows : RRDFILE_FULL_ROWS_MAX;
}

/* Compares the file with the journal, a window of rows at a time. */
struct comparison {
	const char *path;
	uint32_t step_s;
	time_t next_s, last_s; /* the row to compare next, the last one */
	time_t window_s;       /* the first row of @rows */
	size_t window_rows;
	double *rows;
	char *why;
};

static int window_read(struct comparison *comparison, time_t from_s)
{
	time_t start = from_s - (time_t)comparison->step_s,
	       end = start + (time_t)(CHECK_ROWS * comparison->step_s);
	unsigned long step = comparison->step_s, sources;
	char **names;

	rrd_freemem(comparison->rows);
	comparison->rows = NULL;
	rrd_clear_error();
	if (rrd_fetch_r(comparison->path, "AVERAGE", &start, &end, &step, &sources, &names,
		    &comparison->rows) != 0) {
		comparison->rows = NULL;
		return rrdfile_fail_rrd(comparison->why, "fetch");
	}
	for (unsigned long i = 0; i < sources; i++)
		rrd_freemem(names[i]);
	rrd_freemem(names);
	if (step != comparison->step_s || sources != RRDFILE_SOURCES)
		return rrdfile_fail(comparison->why, -EBADMSG, "no rows at full resolution");
	comparison->window_s = start + (time_t)step;
	comparison->window_rows = (size_t)((end - start) / (time_t)step);
	return 0;
}

static int row_get(struct comparison *comparison, time_t t_s, const double **out)
{
	time_t window_end_s = comparison->window_s + (time_t)(comparison->window_rows * comparison->step_s);
	int rc = 0;

	if (!comparison->rows || t_s < comparison->window_s || t_s >= window_end_s)
		rc = window_read(comparison, t_s);
	if (rc < 0)
		return rc;
	*out = comparison->rows +
	       (size_t)((t_s - comparison->window_s) / comparison->step_s) * RRDFILE_SOURCES;
	return 0;
}

static bool value_agrees(double stored, double expected, uint32_t step_s)
{
	if (isnan(expected) || isnan(stored))
		return isnan(expected) && isnan(stored);
	/* Beyond, librrd's product with the step rounds. */
	return fabs(stored - expected) <= (expected * step_s < EXACT_LIMIT ? 0 : expected * 1e-12);
}

/* @sample NULL: nothing may be stored there. */
static int compare_row(struct comparison *comparison, time_t t_s, const struct sample *sample)
{
	const double *row;
	int rc = row_get(comparison, t_s, &row);

	for (size_t i = 0; i < RRDFILE_SOURCES && rc == 0; i++) {
		double expected = sample ? rrdfile_source_value(sample, i) : NAN;

		if (!value_agrees(row[i], expected, comparison->step_s))
			rc = rrdfile_fail(comparison->why, -EBADMSG,
				"%s at %" PRId64 " is %.17g, in the journal %.17g", rrdfile_sources[i],
				(int64_t)t_s, row[i], expected);
	}
	return rc;
}

static int compare_until(struct comparison *comparison, time_t end_s)
{
	int rc = 0;

	for (; comparison->next_s < end_s && comparison->next_s <= comparison->last_s && rc == 0;
		comparison->next_s += comparison->step_s)
		rc = compare_row(comparison, comparison->next_s, NULL);
	return rc;
}

static int compare_sample(const struct sample *sample, void *arg)
{
	struct comparison *comparison = arg;
	time_t t_s = sample->t_ms / 1000;
	int rc;

	if (sample->state == SAMPLE_DOWN || t_s < comparison->next_s || t_s > comparison->last_s)
		return 0;
	rc = check_sample(sample, comparison->step_s, comparison->why);
	if (rc == 0)
		rc = compare_until(comparison, t_s);
	if (rc == 0)
		rc = compare_row(comparison, t_s, sample);
	comparison->next_s = t_s + comparison->step_s;
	return rc;
}

static int compare_history(
	struct rrdfile *file, struct journal *journal, const struct rrdfile_header *header, char *why)
{
	struct comparison comparison = {
		.path = file->path,
		.step_s = file->step_s,
		.next_s = header->last_s - (time_t)((header->full_rows - 1) * file->step_s),
		.last_s = header->last_s,
		.why = why,
	};
	char id[RUN_ID_MAX];
	int rc;

	why[0] = '\0';
	rc = journal_each_sample(
		journal, run_of(file, id), INT64_MIN, INT64_MAX, false, compare_sample, &comparison);
	if (rc == 0)
		rc = compare_until(&comparison, comparison.last_s + 1);
	else if (!why[0])
		(void)rrdfile_fail(why, rc, "journal: %s", journal_error(journal));
	rrd_freemem(comparison.rows);
	return rc;
}

/* 0 with *@out when the file can be appended to; -EBADMSG or -ENOENT when it has to be written anew. */
static int check_file(struct rrdfile *file, struct journal *journal, const struct span *span,
	uint64_t planned_s, struct rrdfile_header *out, char *why)
{
	struct rrdfile_header header;
	int rc = rrdfile_header_read(file->path, file->step_s, &header, why);

	if (rc < 0)
		return rc;
	if (!file->is_marked && access(file->marker, F_OK) == 0)
		return rrdfile_fail(why, -EBADMSG, "it was not closed");
	if (header.full_rows < rows_needed(file, span, planned_s, false))
		return rrdfile_fail(why, -EBADMSG, "its full-resolution archive is too short");
	if (span->samples && header.last_s > span->last_ms / 1000)
		return rrdfile_fail(why, -EBADMSG, "it is ahead of the journal");
	rc = compare_history(file, journal, &header, why);
	if (rc == 0)
		*out = header;
	return rc;
}

/* The end of the row before the first one. */
static int start_of(
	struct rrdfile *file, struct journal *journal, const struct span *span, time_t *out, char *why)
{
	struct run_record run;
	char id[RUN_ID_MAX];
	int64_t first_s = span->first_ms / 1000;
	int rc;

	if (!span->samples) {
		rc = journal_get_run(journal, run_of(file, id), &run);
		if (rc < 0)
			return rrdfile_fail(why, rc, "journal: %s", journal_error(journal));
		first_s = (run.started_ms > 0 ? run.started_ms : clock_wall_ms()) / 1000;
	}
	*out = first_s - first_s % file->step_s - file->step_s;
	return 0;
}

/* A reader sees the old file or the new one, whole. */
static int swap_in(struct rrdfile *file, char *why)
{
	int rc = flush_path(file->temporary);

	if (rc == 0 && rename(file->temporary, file->path) < 0)
		rc = -errno;
	if (rc == 0)
		rc = flush_folder(file->path);
	return rc < 0 ? rrdfile_fail(why, rc, "%s: %s", file->path, strerror(-rc)) : 0;
}

static int rebuild(struct rrdfile *file, struct journal *journal, const struct span *span, uint64_t planned_s,
	bool *rebuilt, char *why)
{
	struct writer writer = { .path = file->temporary, .step_s = file->step_s, .why = why };
	unsigned long rows = rows_needed(file, span, planned_s, true);
	char id[RUN_ID_MAX];
	time_t start_s = 0;
	int rc = start_of(file, journal, span, &start_s, why);

	if (rc == 0)
		rc = rrdfile_create(file->temporary, file->step_s, rows, start_s, why);
	if (rc == 0) {
		writer.batch.last_s = start_s;
		rc = write_journal(&writer, journal, run_of(file, id));
	}
	if (rc == 0)
		rc = swap_in(file, why);
	if (rc < 0) {
		(void)unlink(file->temporary);
		return rc;
	}
	file->first_s = start_s + (time_t)file->step_s;
	file->last_s = writer.batch.last_s;
	file->full_rows = rows;
	*rebuilt = writer.written > 0;
	return 0;
}

static int append(struct rrdfile *file, struct journal *journal, const struct span *span,
	const struct rrdfile_header *header, char *why)
{
	struct writer writer = { .path = file->path, .step_s = file->step_s, .why = why };
	char id[RUN_ID_MAX];
	int rc = rrdfile_allocate(file->path, why);

	writer.batch.last_s = header->last_s;
	if (rc == 0)
		rc = write_journal(&writer, journal, run_of(file, id));
	if (rc < 0)
		return rc;
	file->first_s = span->samples ? span->first_ms / 1000 : header->last_s + (time_t)file->step_s;
	file->last_s = writer.batch.last_s;
	file->full_rows = header->full_rows;
	return 0;
}

static int sync_locked(
	struct rrdfile *file, struct journal *journal, uint64_t planned_s, bool *rebuilt, char *why)
{
	struct rrdfile_header header = { 0 };
	struct span span = { 0 };
	char id[RUN_ID_MAX];
	bool is_anew = false;
	int rc;

	file->is_current = false;
	rc = journal_each_sample(journal, run_of(file, id), INT64_MIN, INT64_MAX, false, span_add, &span);
	if (rc < 0)
		return rrdfile_fail(why, rc, "journal: %s", journal_error(journal));
	rc = check_file(file, journal, &span, planned_s, &header, why);
	if (rc < 0 && rc != -EBADMSG && rc != -ENOENT && rc != -EIO)
		return rc;
	is_anew = rc < 0;
	rc = lay_marker(file, why);
	if (rc == 0)
		rc = is_anew ? rebuild(file, journal, &span, planned_s, &is_anew, why)
			     : append(file, journal, &span, &header, why);
	if (rc < 0)
		return rc;
	file->is_current = true;
	*rebuilt = is_anew;
	return 0;
}

int rrdfile_sync(struct rrdfile *file, struct journal *journal, uint64_t planned_s, bool *rebuilt, char *why)
{
	int rc;

	path_lock_lock(file->lock);
	rc = sync_locked(file, journal, planned_s, rebuilt, why);
	path_lock_unlock(file->lock);
	return rc;
}

/* The file must be what this handle left: deleted, damaged or changed by others it wants a sync. */
static int check_unchanged(struct rrdfile *file, char *why)
{
	struct rrdfile_header header;
	int rc;

	if (!file->is_current)
		return rrdfile_fail(why, -ESTALE, "the view was not brought up to date");
	rc = rrdfile_header_read(file->path, file->step_s, &header, why);
	if (rc < 0)
		return rc;
	if (header.last_s != file->last_s)
		return rrdfile_fail(why, -ESTALE, "the view was changed by others");
	return rrdfile_allocate(file->path, why);
}

static int put_sample(struct rrdfile *file, struct batch *batch, const struct sample *sample, char *why)
{
	time_t t_s = sample->t_ms / 1000;
	int rc;

	if (sample->state == SAMPLE_DOWN || t_s <= batch->last_s)
		return 0;
	rc = check_sample(sample, file->step_s, why);
	if (rc < 0)
		return rc;
	if (t_s - file->first_s >= (time_t)(file->full_rows * file->step_s) &&
		file->full_rows < RRDFILE_FULL_ROWS_MAX)
		return rrdfile_fail(why, -EOVERFLOW, "the run is longer than its full-resolution archive");
	batch_sample(batch, file->step_s, sample);
	return batch->count <= 2 * BATCH - 2 ? 0 : batch_write(batch, file->path, why);
}

static int put_locked(struct rrdfile *file, const struct sample *samples, size_t count, char *why)
{
	struct batch batch = { .last_s = file->last_s };
	int rc = check_unchanged(file, why);

	for (size_t i = 0; i < count && rc == 0; i++)
		rc = put_sample(file, &batch, &samples[i], why);
	if (rc == 0)
		rc = batch_write(&batch, file->path, why);
	text_fini(&batch.text);
	if (rc == 0)
		file->last_s = batch.last_s;
	else
		file->is_current = false;
	return rc;
}

int rrdfile_put(struct rrdfile *file, const struct sample *samples, size_t count, char *why)
{
	int rc;

	path_lock_lock(file->lock);
	rc = put_locked(file, samples, count, why);
	path_lock_unlock(file->lock);
	return rc;
}

static int pick_source(double *data, size_t rows, size_t source, size_t sources, double **out)
{
	double *column = malloc((rows ? rows : 1) * sizeof(*column));

	if (!column)
		return -ENOMEM;
	for (size_t i = 0; i < rows; i++)
		column[i] = data[i * sources + source];
	*out = column;
	return 0;
}

static int find_source(char **names, unsigned long sources, const char *source)
{
	for (unsigned long i = 0; i < sources; i++)
		if (strcmp(names[i], source) == 0)
			return (int)i;
	return -ENOENT;
}

static int fetch_locked(const char *path, const char *source, const char *cf, time_t start, time_t end,
	unsigned long step, struct rrdfile_series *out, char *why)
{
	unsigned long sources;
	double *data, *column = NULL;
	char **names;
	size_t rows;
	int rc;

	rrd_clear_error();
	if (rrd_fetch_r(path, cf, &start, &end, &step, &sources, &names, &data) != 0)
		return rrdfile_fail_rrd(why, "fetch");
	rows = (size_t)(end - start) / step;
	rc = find_source(names, sources, source);
	if (rc >= 0)
		rc = pick_source(data, rows, (size_t)rc, sources, &column);
	for (unsigned long i = 0; i < sources; i++)
		rrd_freemem(names[i]);
	rrd_freemem(names);
	rrd_freemem(data);
	if (rc < 0)
		return rrdfile_fail(why, rc, "%s: %s", source, strerror(-rc));
	*out = (struct rrdfile_series){ start, (uint32_t)step, rows, column };
	return 0;
}

int rrdfile_fetch(const char *path, const char *source, const char *cf, int64_t from_s, int64_t to_s,
	uint32_t step_s, struct rrdfile_series *out, char *why)
{
	struct path_lock *lock = path_lock_get(path);
	int rc;

	if (!lock)
		return rrdfile_fail(why, -ENOMEM, "out of memory");
	path_lock_lock(lock);
	rc = fetch_locked(path, source, cf, from_s, to_s, step_s, out, why);
	path_lock_unlock(lock);
	path_lock_put(lock);
	return rc;
}
