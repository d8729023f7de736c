/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "drivesoak_import.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "archive/finding.h"
#include "archive/journal.h"
#include "archive/rrdfile.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "config/config_rules.h"
#include "drivesoak_output.h"
#include "drivesoak_analyse.h"
#include "drivesoak_judge.h"

#define TRIES	 20 /* each waits for a second in SQLite, and a little between */
#define PAUSE_US 50000

struct import {
	const struct import_request *request;
	struct foreign *foreign;
	const struct foreign_info *info;
	struct journal *journal;
	struct judge *judge;
	struct run_record run;
	int64_t shift_ms;  /* from the log's times to those of the wall clock */
	int64_t last_step; /* of the grid of the interval; INT64_MIN: none yet */
	uint64_t written_bytes, read_bytes;
	bool knows_writes, knows_reads;
	char why[FOREIGN_WHY_MAX];
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* A drive of the configuration keeps its history to itself: a run that it did not do would be taken for its own. */
static int check_name(const struct import *import)
{
	const char *name = import->request->name;
	const struct config *config = import->request->config;

	if (!config_rules_is_title(name))
		return output_fail(EX_USAGE, name,
			"no name for a drive: letters, digits, dots, dashes and underscores only");
	if (config && config_find_drive(config, name))
		return output_fail(
			EX_USAGE, name, "is a drive of the configuration; give the import another name");
	return EX_OK;
}

static int check_newest(struct import *import)
{
	static struct run_record newest;
	int rc = journal_get_newest_run(import->journal, import->request->name, &newest);

	if (rc == 0 && newest.source != SOURCE_IMPORTED)
		return output_fail(EX_USAGE, import->request->name,
			"has runs of its own in the journal; give the import another name");
	return rc < 0 && rc != -ENOENT ? output_fail(EX_IOERR, "journal", journal_error(import->journal))
				       : EX_OK;
}

/* On the grid of the interval, as every run is: the RRD knows no other times. */
static int64_t place(struct import *import, int64_t t_ms)
{
	const int64_t interval_ms = (int64_t)import->info->interval_s * 1000;
	int64_t step = (t_ms + import->shift_ms + interval_ms / 2) / interval_ms;

	if (import->last_step != INT64_MIN && step <= import->last_step)
		step = import->last_step + 1;
	import->last_step = step;
	return step * interval_ms;
}

static void add_sums(struct import *import, const struct sample *sample)
{
	if (sample->write_bytes != SAMPLE_UNKNOWN) {
		import->written_bytes += sample->write_bytes;
		import->knows_writes = true;
	}
	if (sample->read_bytes != SAMPLE_UNKNOWN) {
		import->read_bytes += sample->read_bytes;
		import->knows_reads = true;
	}
}

/* An export of our own tells the phases; any other log is all soak. */
static void add_soak(struct import *import, const struct sample *sample)
{
	struct run_record *run = &import->run;

	if (sample->phase != PHASE_SOAK)
		return;
	if (run->soak_started_ms == INT64_MIN)
		run->soak_started_ms = sample->t_ms - (int64_t)import->info->interval_s * 1000;
	if (sample->state == SAMPLE_MEASURED || sample->state == SAMPLE_ZERO)
		run->progress.soak_ns += sample->elapsed_ns;
}

static int put_row(const struct foreign_row *row, void *arg)
{
	struct import *import = arg;
	struct sample sample = row->sample;
	int rc;

	sample.t_ms = place(import, sample.t_ms);
	add_sums(import, &sample);
	import->run.ended_ms = sample.t_ms;
	add_soak(import, &sample);
	rc = journal_put_sample(import->journal, import->run.id, &sample);
	if (rc < 0)
		(void)snprintf(import->why, sizeof(import->why), "%.300s", journal_error(import->journal));
	return rc < 0 ? rc : judge_add(import->judge, &sample);
}

/* What is drawn: a log of reads alone would be an empty graph of writes, and what a host reads beside is no workload. */
static const char *direction_of(const struct import *import)
{
	double writes = (double)import->written_bytes, reads = (double)import->read_bytes;

	if (reads <= writes / 50)
		return "write";
	return writes <= reads / 50 ? "read" : "both";
}

static void print_config(const struct import *import, char *out, size_t size)
{
	const struct foreign_info *info = import->info;
	struct text text = TEXT_INIT;
	struct json json;

	json_init(&json, &text);
	json_object_open(&json);
	json_put_string(&json, "imported_from", base_name(import->request->file));
	json_put_string(&json, "format", info->format);
	json_put_string(&json, "device", info->device[0] ? info->device : NULL);
	json_put_string(&json, "workload", info->workload[0] ? info->workload : NULL);
	json_put_string(&json, "direction", direction_of(import));
	json_put_bool(&json, "knows_host_limit", info->knows_host_limit);
	json_put_u64(&json, "sample_interval_s", info->interval_s);
	json_object_close(&json);
	text_copy(out, size, text_string(&text));
	text_fini(&text);
}

static void fill_run(struct import *import, int64_t from_ms)
{
	struct run_record *run = &import->run;

	*run = (struct run_record){
		.source = SOURCE_IMPORTED,
		.progress = { .phase = PHASE_DONE,
			.status = RUN_DONE,
			.fill_goal_bytes = UINT64_MAX,
			.fill_done_bytes = UINT64_MAX,
			.extent_bytes = UINT64_MAX },
		.started_ms = from_ms,
		.soak_started_ms = INT64_MIN,
		.ended_ms = from_ms,
		.interval_s = import->info->interval_s,
		.capacity_bytes = UINT64_MAX,
		.written_bytes = UINT64_MAX,
		.probe_ios_per_s = NAN,
		.price_amount = NAN,
	};
	text_copy(run->drive, sizeof(run->drive), import->request->name);
	run_id_make(run->drive, from_ms, run->id);
	(void)snprintf(run->reason, sizeof(run->reason),
		"imported from %.200s (%s): a log does not tell the extent, the state before, the drive or "
		"whether I/O was direct",
		base_name(import->request->file), import->info->format);
	(void)snprintf(run->direct, sizeof(run->direct), "unproven: imported");
}

static void event_name(const struct import *import, struct event_record *event)
{
	text_copy(event->drive, sizeof(event->drive), import->run.drive);
	text_copy(event->run, sizeof(event->run), import->run.id);
}

static void event_init(const struct import *import, struct event_record *event)
{
	*event = (struct event_record){
		.t_ms = import->run.started_ms,
		.until_ms = INT64_MIN,
		.kind = "note",
	};
	event_name(import, event);
}

static int put_note(struct import *import, enum event_severity severity, const char *words)
{
	struct event_record event;

	event_init(import, &event);
	event.severity = severity;
	text_copy(event.text, sizeof(event.text), words);
	return journal_put_event(import->journal, &event);
}

struct events {
	struct import *import;
	int rc;
};

static void put_finding(const struct collapse_finding *finding, void *arg)
{
	struct events *events = arg;
	struct event_record event;

	if (events->rc < 0)
		return;
	finding_event(finding, events->import->run.ended_ms, &event);
	event_name(events->import, &event);
	text_copy(event.cause, sizeof(event.cause), JUDGE_CAUSE);
	text_copy(event.evidence, sizeof(event.evidence), JUDGE_EVIDENCE);
	events->rc = journal_put_event(events->import->journal, &event);
}

static int put_events(struct import *import)
{
	struct events events = { import, 0 };
	char words[EVENT_TEXT_MAX];

	(void)snprintf(words, sizeof(words), "imported from %.300s, format %s",
		base_name(import->request->file), import->info->format);
	events.rc = put_note(import, EVENT_INFO, words);
	for (size_t i = 0; events.rc == 0 && i < import->info->warning_count; i++)
		events.rc = put_note(import, EVENT_WARNING, import->info->warnings[i]);
	judge_each(import->judge, put_finding, &events);
	return events.rc;
}

static int put_all(struct import *import)
{
	struct run_record *run = &import->run;
	int rc = journal_put_run(import->journal, run);

	if (rc == 0)
		rc = foreign_each(import->foreign, put_row, import, import->why);
	if (rc == 0)
		rc = judge_end(import->judge);
	if (rc < 0)
		return rc;
	run->written_bytes = import->knows_writes ? import->written_bytes : UINT64_MAX;
	print_config(import, run->config_json, sizeof(run->config_json));
	rc = journal_put_run(import->journal, run);
	return rc == 0 ? put_events(import) : rc;
}

/* A service holds the lock for moments only. */
static int begin(struct journal *journal)
{
	int rc = journal_begin(journal);

	for (int i = 1; rc == -EBUSY && i < TRIES; i++) {
		(void)usleep(PAUSE_US);
		rc = journal_begin(journal);
	}
	return rc;
}

static int fail_journal(const struct import *import, int rc)
{
	const char *why = import->why[0] ? import->why : journal_error(import->journal);

	return output_fail(rc == -EBUSY	   ? EX_TEMPFAIL
			   : rc == -EROFS  ? EX_NOPERM
			   : rc == -EACCES ? EX_NOPERM
			   : rc == -ENOMEM ? EX_OSERR
					   : EX_IOERR,
		import->request->file, why);
}

static int store(struct import *import)
{
	static struct run_record same;
	int rc = judge_new(&import->judge);

	if (rc < 0)
		return output_fail(EX_OSERR, import->request->file, strerror(-rc));
	rc = begin(import->journal);
	if (rc < 0)
		return fail_journal(import, rc);
	if (journal_get_run(import->journal, import->run.id, &same) == 0) {
		journal_rollback(import->journal);
		return output_fail(EX_CANTCREAT, import->run.id, "is in the journal already");
	}
	rc = put_all(import);
	if (rc == 0)
		rc = journal_commit(import->journal);
	if (rc == 0)
		return EX_OK;
	journal_rollback(import->journal);
	return fail_journal(import, rc);
}

static void give_to_owner(const char *path, const struct stat *owner)
{
	if (geteuid() == 0 && lchown(path, owner->st_uid, owner->st_gid) < 0)
		(void)fprintf(stderr, "drivesoak: %s: %s\n", path, strerror(errno));
}

/* The graph that librrd draws; without it all else still stands. */
static void draw_view(const struct import *import)
{
	const struct run_record *run = &import->run;
	const char *state = import->request->state_directory;
	char why[RRDFILE_WHY_MAX] = "";
	struct text runs = TEXT_INIT;
	struct rrdfile *file = NULL;
	struct stat owner;
	bool is_rebuilt;
	int rc;

	text_addf(&runs, "%s/runs", state);
	if (mkdir(text_string(&runs), 0750) == 0 && stat(state, &owner) == 0)
		give_to_owner(text_string(&runs), &owner);
	rc = rrdfile_new(state, run->id, run->interval_s, &file);
	if (rc == 0)
		rc = rrdfile_sync(file, import->journal,
			(uint64_t)(run->ended_ms - run->started_ms) / 1000 + run->interval_s, &is_rebuilt,
			why);
	if (rc < 0)
		(void)fprintf(stderr, "drivesoak: %s: no RRD view of it: %s\n", run->id,
			why[0] ? why : strerror(-rc));
	else if (stat(state, &owner) == 0)
		give_to_owner(rrdfile_path(file), &owner);
	rrdfile_free(file);
	text_fini(&runs);
}

static int open_journal(struct import *import)
{
	struct text path = TEXT_INIT;
	struct stat owner;
	int code = EX_OK, rc;

	text_addf(&path, "%s/journal.db", import->request->state_directory);
	rc = journal_open(text_string(&path), false, &import->journal);
	if (rc < 0)
		code = output_fail(rc == -ENOENT || rc == -ENOTDIR   ? EX_NOINPUT
				   : rc == -EACCES || rc == -EROFS   ? EX_NOPERM
				   : rc == -EBUSY		     ? EX_TEMPFAIL
				   : rc == -EBADMSG || rc == -EPROTO ? EX_DATAERR
								     : EX_IOERR,
			text_string(&path), journal_error(NULL));
	else if (stat(import->request->state_directory, &owner) == 0)
		give_to_owner(text_string(&path), &owner);
	text_fini(&path);
	return code;
}

/* The first interval starts on the grid. A log without a date is given one from outside. */
static int choose_start(struct import *import)
{
	const struct import_request *request = import->request;
	const struct foreign_info *info = import->info;
	const int64_t interval_ms = (int64_t)info->interval_s * 1000;
	int64_t from_ms = info->from_ms;
	struct stat status;

	if (!info->has_epoch && request->start_ms != INT64_MIN) {
		from_ms = request->start_ms;
	} else if (!info->has_epoch) {
		if (strcmp(request->file, "-") == 0 || stat(request->file, &status) < 0)
			return output_fail(EX_USAGE, request->file, "has no date: --start SECONDS is needed");
		from_ms = (int64_t)status.st_mtim.tv_sec * 1000 - (info->to_ms - info->from_ms);
	} else if (request->start_ms != INT64_MIN) {
		return output_fail(EX_USAGE, request->file, "has dates of its own: --start is not for it");
	}
	if (from_ms < 0)
		return output_fail(EX_DATAERR, request->file, "would start before 1970");
	from_ms = (from_ms + interval_ms / 2) / interval_ms * interval_ms;
	import->shift_ms = from_ms - info->from_ms;
	import->last_step = from_ms / interval_ms;
	fill_run(import, from_ms);
	return EX_OK;
}

static int import_open(struct import *import)
{
	const struct import_request *request = import->request;
	int code, rc = foreign_open(request->file, &request->options, &import->foreign, import->why);

	if (rc < 0)
		return drivesoak_analyse_fail(rc, import->why);
	import->info = foreign_info(import->foreign);
	if (!import->info->is_interval_known)
		return output_fail(EX_USAGE, request->file,
			"tells no times (iostat without -t): --interval TIME is needed, as in 10s");
	code = choose_start(import);
	if (code == EX_OK)
		code = open_journal(import);
	return code == EX_OK ? check_newest(import) : code;
}

int drivesoak_import(const struct import_request *request)
{
	struct import *import = calloc(1, sizeof(*import));
	int code;

	if (!import)
		return output_fail(EX_OSERR, request->file, strerror(ENOMEM));
	import->request = request;
	code = check_name(import);
	if (code == EX_OK)
		code = import_open(import);
	if (code == EX_OK)
		code = store(import);
	if (code == EX_OK) {
		draw_view(import);
		(void)printf("%s\n", import->run.id);
	}
	journal_close(import->journal);
	foreign_close(import->foreign);
	judge_free(import->judge);
	free(import);
	return code;
}
