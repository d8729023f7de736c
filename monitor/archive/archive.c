/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "archive/archive.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "archive/archive_queue.h"
#include "archive/archive_view.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"

#define BATCH_MAX    256
#define PAUSE_MIN_NS (100 * NS_PER_MS)
#define PAUSE_MAX_NS (10 * NS_PER_S)
#define IDLE_NS	     (60 * NS_PER_S)
#define GRACE_NS     (2 * NS_PER_S) /* for the thread to leave what it is in when it is told to end */
#define WHY_MAX	     256

struct archive {
	struct archive_queue *queue;
	pthread_t thread;
	pthread_mutex_t mutex; /* of @stats; held for a copy only */
	struct archive_stats stats;

	/* The rest is the thread's own. */
	char *state_directory, *journal_path;
	struct journal *journal; /* NULL: to be opened again */
	struct archive_views views;
	uint64_t pause_ns, committed, dropped, failures, refused_told;
	bool commit_unsure; /* a commit failed: what it held may be there all the same */
	char journal_why[WHY_MAX], dropped_why[WHY_MAX];
	struct log_complaint journal_complaint, view_complaint, lost_complaint;
};

static int make_folder(const char *path, char *why)
{
	int rc = mkdir(path, 0750) < 0 && errno != EEXIST ? -errno : 0;

	if (rc < 0)
		(void)snprintf(why, WHY_MAX, "%s: %s", path, strerror(-rc));
	return rc;
}

static int open_journal(struct archive *archive, char *why)
{
	int rc = journal_open(archive->journal_path, false, &archive->journal);

	if (rc < 0)
		(void)snprintf(why, WHY_MAX, "%s: %s", archive->journal_path, journal_error(NULL));
	return rc;
}

static void note_mended(struct archive *archive, const char *what)
{
	struct event_record event = {
		.t_ms = clock_wall_ms(),
		.until_ms = INT64_MIN,
		.kind = "error",
		.severity = EVENT_CRITICAL,
	};

	(void)snprintf(event.text, sizeof(event.text), "%s %s", archive->journal_path, what);
	log_error("%s", event.text);
	(void)journal_put_event(archive->journal, &event);
}

/* The open handle still has every record: write them to where the removed file was. It is closed before the copy gets
 * the name, since the last handle that closes also removes NAME-wal. */
static int restore_journal(struct archive *archive)
{
	struct text copy = TEXT_INIT;
	int rc;

	text_addf(&copy, "%s.restored", archive->journal_path);
	rc = text_error(&copy);
	if (rc == 0)
		rc = journal_copy(archive->journal, text_string(&copy));
	if (rc == 0) {
		journal_close(archive->journal);
		archive->journal = NULL;
		rc = rename(text_string(&copy), archive->journal_path) < 0 ? -errno : 0;
	}
	text_fini(&copy);
	return rc;
}

/* Somebody may clear up the state directory while we run. */
static int mend_journal(struct archive *archive)
{
	int place = journal_check_place(archive->journal), rc = 0;

	if (place == 0)
		return 0;
	if (place == -ENOENT)
		rc = restore_journal(archive);
	if (rc < 0) {
		(void)snprintf(archive->journal_why, WHY_MAX,
			"%s was removed while in use, and can't be written again: %s", archive->journal_path,
			archive->journal ? journal_error(archive->journal) : strerror(-rc));
		return rc;
	}
	journal_close(archive->journal);
	archive->journal = NULL;
	rc = open_journal(archive, archive->journal_why);
	if (rc == 0)
		note_mended(archive, place == -ENOENT
					     ? "was removed while in use: written again with all its records"
					     : "was replaced while in use: records go on in the new file");
	return rc;
}

/* No retry can store such a record. */
static bool is_hopeless(int rc)
{
	return rc == -EEXIST || rc == -EINVAL || rc == -ERANGE || rc == -ENOENT;
}

static int store(struct journal *journal, const struct record *record)
{
	int rc = 0;

	if (record->kind == RECORD_EVENT)
		return journal_put_event(journal, &record->event);
	if (record->kind == RECORD_HEALTH)
		return journal_put_health(journal, &record->health);
	rc = journal_put_run(journal, &record->run);
	if (rc == 0 && record->kind == RECORD_SAMPLE)
		rc = journal_put_sample(journal, record->run.id, &record->sample);
	return rc;
}

/* Within a transaction. *@dropped counts the records that can never be stored. */
static int store_all(struct archive *archive, const struct record *record, size_t count, uint64_t *dropped)
{
	for (size_t i = 0; i < count; i++) {
		int rc = store(archive->journal, record);

		if (rc < 0 && !is_hopeless(rc))
			return rc;
		if (rc < 0 && !(rc == -EEXIST && archive->commit_unsure)) {
			(void)snprintf(archive->dropped_why, WHY_MAX, "%s", journal_error(archive->journal));
			++*dropped;
		}
		if (i + 1 < count)
			record = record->next;
	}
	return 0;
}

static int commit_batch(struct archive *archive, const struct record *record, size_t count)
{
	uint64_t dropped = 0;
	int rc = journal_begin(archive->journal);

	if (rc == 0)
		rc = store_all(archive, record, count, &dropped);
	if (rc == 0) {
		rc = journal_commit(archive->journal);
		archive->commit_unsure = rc < 0;
	}
	if (rc < 0) {
		(void)snprintf(archive->journal_why, WHY_MAX, "journal: %s", journal_error(archive->journal));
		journal_rollback(archive->journal);
		return rc;
	}
	archive->dropped += dropped;
	archive->committed += count - dropped;
	return 0;
}

static bool write_batch(struct archive *archive, const struct record *record, size_t count)
{
	int rc = archive->journal ? mend_journal(archive) : open_journal(archive, archive->journal_why);
	const bool is_only_copy = rc < 0;

	if (rc == 0)
		rc = commit_batch(archive, record, count);
	if (rc == 0) {
		archive->pause_ns = 0;
		archive->journal_why[0] = '\0';
		return true;
	}
	archive->failures++;
	archive->pause_ns = archive->pause_ns ? archive->pause_ns * 2 : PAUSE_MIN_NS;
	if (archive->pause_ns > PAUSE_MAX_NS)
		archive->pause_ns = PAUSE_MAX_NS;
	/* A handle may keep an I/O error for good. */
	if (rc != -EBUSY && rc != -ENOSPC && !is_only_copy) {
		journal_close(archive->journal);
		archive->journal = NULL;
	}
	return false;
}

static void show_batch(struct archive *archive, const struct record *record, size_t count)
{
	uint64_t now_ns = archive_now_ns();
	char why[RRDFILE_WHY_MAX];

	for (size_t i = 0; i < count; i++) {
		if (record->kind == RECORD_OPEN &&
			archive_views_open(&archive->views, &record->run, record->planned_s, why) < 0)
			log_warning("%s", why);
		if (record->kind == RECORD_SAMPLE)
			archive_views_put(&archive->views, &record->run, &record->sample, now_ns);
		if (record->kind != RECORD_EVENT && record->kind != RECORD_HEALTH)
			archive_views_note(&archive->views, &record->run);
		if (i + 1 < count)
			record = record->next;
	}
}

static void publish(struct archive *archive)
{
	const char *view_why = archive_views_error(&archive->views);

	(void)pthread_mutex_lock(&archive->mutex);
	archive->stats.committed = archive->committed;
	archive->stats.lost = archive->dropped;
	archive->stats.journal_failures = archive->failures;
	archive->stats.rrd_failures = archive->views.failures;
	archive->stats.rrd_rebuilds = archive->views.rebuilds;
	archive->stats.is_waiting = archive->journal_why[0] != '\0';
	(void)snprintf(archive->stats.last_error, sizeof(archive->stats.last_error), "%s",
		archive->journal_why[0] ? archive->journal_why : view_why);
	(void)pthread_mutex_unlock(&archive->mutex);
}

static void complain(struct log_complaint *complaint, const char *what, const char *why, const char *over)
{
	uint64_t suppressed = 0;

	if (why[0] && log_complaint_raise(complaint, archive_now_ns(), &suppressed))
		log_warning("%s: %s (%llu more of it)", what, why, (unsigned long long)suppressed);
	else if (!why[0] && log_complaint_clear(complaint))
		log_notice("%s", over);
}

static void complain_of_losses(struct archive *archive)
{
	uint64_t queued, refused, suppressed = 0;

	archive_queue_read(archive->queue, &queued, &refused);
	if (refused + archive->dropped == archive->refused_told ||
		!log_complaint_raise(&archive->lost_complaint, archive_now_ns(), &suppressed))
		return;
	archive->refused_told = refused + archive->dropped;
	log_error("%llu records lost: %llu found the queue full, %llu could not be stored%s%s",
		(unsigned long long)archive->refused_told, (unsigned long long)refused,
		(unsigned long long)archive->dropped, archive->dropped ? ", the last because " : "",
		archive->dropped ? archive->dropped_why : "");
}

static void report(struct archive *archive)
{
	publish(archive);
	complain(&archive->journal_complaint, "records wait to be stored", archive->journal_why,
		"records are stored again");
	complain(&archive->view_complaint, "an RRD view is behind", archive_views_error(&archive->views),
		"the RRD views are up to date again");
	complain_of_losses(archive);
}

static uint64_t next_wake_ns(const struct archive *archive, uint64_t now_ns)
{
	uint64_t views_ns = archive_views_next_ns(&archive->views), wake_ns = now_ns + IDLE_NS;

	if (archive->pause_ns)
		return now_ns + archive->pause_ns;
	return views_ns < wake_ns ? views_ns : wake_ns;
}

/* False when the thread should end. */
static bool work_once(struct archive *archive)
{
	uint64_t now_ns = archive_now_ns();
	size_t count;
	bool is_stopping, is_stored = true;
	struct record *head = archive_queue_wait(
		archive->queue, next_wake_ns(archive, now_ns), archive->pause_ns > 0, BATCH_MAX, &count);

	is_stopping = archive_queue_is_stopping(archive->queue);
	if (count) {
		is_stored = write_batch(archive, head, count);
		if (is_stored)
			show_batch(archive, head, count);
	}
	if (is_stored && archive->journal)
		archive_views_sync_one(&archive->views, archive->journal, archive_now_ns());
	report(archive);
	if (is_stored && count)
		archive_queue_done(archive->queue, count);
	return !is_stopping || (is_stored && count);
}

static void *run_thread(void *arg)
{
	struct archive *archive = arg;

	while (work_once(archive))
		;
	archive_views_close(&archive->views);
	journal_close(archive->journal);
	archive->journal = NULL;
	archive_queue_end(archive->queue);
	return NULL;
}

static void archive_free(struct archive *archive)
{
	archive_queue_free(archive->queue);
	journal_close(archive->journal);
	(void)pthread_mutex_destroy(&archive->mutex);
	free(archive->state_directory);
	free(archive->journal_path);
	free(archive);
}

static char *path_below(const char *folder, const char *name)
{
	struct text path = TEXT_INIT;
	size_t length;

	text_addf(&path, "%s%s", folder, name);
	return text_error(&path) ? NULL : text_take(&path, &length);
}

/* Signals are the control loop's. */
static int start_thread(struct archive *archive)
{
	sigset_t all, before;
	int rc;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = -pthread_create(&archive->thread, NULL, run_thread, archive);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

static int prepare(struct archive *archive, const char *state_directory, char *why)
{
	char *runs;
	int rc;

	archive->state_directory = path_below(state_directory, "");
	archive->journal_path = path_below(state_directory, "/journal.db");
	runs = path_below(state_directory, "/runs");
	rc = archive_queue_new(&archive->queue);
	if (rc < 0 || !archive->state_directory || !archive->journal_path || !runs) {
		free(runs);
		(void)snprintf(why, WHY_MAX, "out of memory");
		return -ENOMEM;
	}
	archive->views.state_directory = archive->state_directory;
	rc = make_folder(state_directory, why);
	if (rc == 0)
		rc = make_folder(runs, why);
	free(runs);
	return rc == 0 ? open_journal(archive, why) : rc;
}

int archive_start(const char *state_directory, struct archive **out, char *why)
{
	struct archive *archive = calloc(1, sizeof(*archive));
	int rc;

	if (!archive) {
		(void)snprintf(why, WHY_MAX, "out of memory");
		return -ENOMEM;
	}
	(void)pthread_mutex_init(&archive->mutex, NULL);
	rc = prepare(archive, state_directory, why);
	if (rc == 0) {
		rc = start_thread(archive);
		if (rc < 0)
			(void)snprintf(why, WHY_MAX, "no thread for the archive: %s", strerror(-rc));
	}
	if (rc < 0) {
		archive_free(archive);
		return rc;
	}
	*out = archive;
	return 0;
}

bool archive_open_run(struct archive *archive, const struct run_record *run, uint64_t planned_s)
{
	return archive_queue_put(archive->queue, RECORD_OPEN, run, planned_s, NULL, NULL);
}

bool archive_put_run(struct archive *archive, const struct run_record *run)
{
	return archive_queue_put(archive->queue, RECORD_RUN, run, 0, NULL, NULL);
}

bool archive_put_sample(struct archive *archive, const struct run_record *run, const struct sample *sample)
{
	return archive_queue_put(archive->queue, RECORD_SAMPLE, run, 0, sample, NULL);
}

bool archive_put_event(struct archive *archive, const struct event_record *event)
{
	return archive_queue_put(archive->queue, RECORD_EVENT, NULL, 0, NULL, event);
}

bool archive_put_health(struct archive *archive, struct health_record *health)
{
	return archive_queue_put_health(archive->queue, health);
}

void archive_read_stats(struct archive *archive, struct archive_stats *out)
{
	uint64_t queued, refused;

	archive_queue_read(archive->queue, &queued, &refused);
	(void)pthread_mutex_lock(&archive->mutex);
	*out = archive->stats;
	(void)pthread_mutex_unlock(&archive->mutex);
	out->queued = queued;
	out->lost += refused;
}

bool archive_flush(struct archive *archive, uint64_t timeout_ns)
{
	archive_queue_hurry(archive->queue, false);
	return archive_queue_settle(archive->queue, false, timeout_ns);
}

bool archive_stop(struct archive *archive, uint64_t timeout_ns)
{
	uint64_t queued, refused;

	if (!archive)
		return true;
	(void)archive_flush(archive, timeout_ns);
	archive_queue_hurry(archive->queue, true);
	if (!archive_queue_settle(archive->queue, true, GRACE_NS)) {
		(void)pthread_detach(archive->thread); /* it hangs in the disk: what it uses must stay */
		return false;
	}
	(void)pthread_join(archive->thread, NULL);
	archive_queue_read(archive->queue, &queued, &refused);
	archive_free(archive);
	return queued == 0;
}
