/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "archive/archive_view.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define PAUSE_MIN_NS NS_PER_S
#define PAUSE_MAX_NS (300 * NS_PER_S)

struct archive_view {
	struct archive_view *next;
	struct rrdfile *file;
	char run[RUN_ID_MAX];
	uint64_t planned_s;
	bool is_current, is_ended;
	uint64_t retry_ns, pause_ns;
	char why[RRDFILE_WHY_MAX];
};

static struct archive_view *find(const struct archive_views *views, const char *run)
{
	struct archive_view *view = views->first;

	while (view && strcmp(view->run, run) != 0)
		view = view->next;
	return view;
}

static void drop(struct archive_views *views, struct archive_view *view)
{
	struct archive_view **link = &views->first;

	while (*link != view)
		link = &(*link)->next;
	*link = view->next;
	rrdfile_free(view->file);
	free(view);
}

static int add(struct archive_views *views, const struct run_record *run, struct archive_view **out)
{
	struct archive_view *view = calloc(1, sizeof(*view));
	int rc;

	if (!view)
		return -ENOMEM;
	rc = rrdfile_new(views->state_directory, run->id, run->interval_s, &view->file);
	if (rc < 0) {
		free(view);
		return rc;
	}
	(void)snprintf(view->run, sizeof(view->run), "%s", run->id);
	view->next = views->first;
	views->first = view;
	*out = view;
	return 0;
}

int archive_views_open(
	struct archive_views *views, const struct run_record *run, uint64_t planned_s, char *why)
{
	struct archive_view *view = find(views, run->id);
	int rc = view ? 0 : add(views, run, &view);

	if (rc < 0) {
		(void)snprintf(why, RRDFILE_WHY_MAX, "no view of run %s: %s", run->id, strerror(-rc));
		return rc;
	}
	view->planned_s = planned_s;
	view->is_current = view->is_ended = false;
	view->retry_ns = view->pause_ns = 0;
	return 0;
}

static void fail(struct archive_views *views, struct archive_view *view, uint64_t now_ns, bool at_once)
{
	views->failures++;
	view->is_current = false;
	if (at_once)
		view->pause_ns = 0;
	else if (view->pause_ns == 0)
		view->pause_ns = PAUSE_MIN_NS;
	else
		view->pause_ns = view->pause_ns < PAUSE_MAX_NS / 2 ? view->pause_ns * 2 : PAUSE_MAX_NS;
	view->retry_ns = now_ns + view->pause_ns;
}

void archive_views_put(struct archive_views *views, const struct run_record *run, const struct sample *sample,
	uint64_t now_ns)
{
	struct archive_view *view = find(views, run->id);
	int rc;

	if (!view || !view->is_current)
		return; /* the next sync takes the sample from the journal */
	rc = rrdfile_put(view->file, sample, 1, view->why);
	/* A file that is gone, damaged or full is made anew at once; a lock or a full disk needs time. */
	if (rc < 0)
		fail(views, view, now_ns,
			rc == -ENOENT || rc == -EBADMSG || rc == -ESTALE || rc == -EOVERFLOW);
}

void archive_views_note(struct archive_views *views, const struct run_record *run)
{
	struct archive_view *view = find(views, run->id);

	if (!view || run->ended_ms == INT64_MIN)
		return;
	view->is_ended = true;
	if (view->is_current)
		drop(views, view);
}

static struct archive_view *find_due(const struct archive_views *views)
{
	struct archive_view *due = NULL;

	for (struct archive_view *view = views->first; view; view = view->next)
		if (!view->is_current && (!due || view->retry_ns < due->retry_ns))
			due = view;
	return due;
}

void archive_views_sync_one(struct archive_views *views, struct journal *journal, uint64_t now_ns)
{
	struct archive_view *view = find_due(views);
	bool rebuilt = false;

	if (!view || view->retry_ns > now_ns)
		return;
	if (rrdfile_sync(view->file, journal, view->planned_s, &rebuilt, view->why) < 0) {
		fail(views, view, now_ns, false);
		return;
	}
	views->rebuilds += rebuilt;
	view->is_current = true;
	view->pause_ns = 0;
	view->why[0] = '\0';
	if (view->is_ended)
		drop(views, view);
}

uint64_t archive_views_next_ns(const struct archive_views *views)
{
	const struct archive_view *due = find_due(views);

	return due ? due->retry_ns : UINT64_MAX;
}

const char *archive_views_error(const struct archive_views *views)
{
	for (const struct archive_view *view = views->first; view; view = view->next)
		if (!view->is_current && view->why[0])
			return view->why;
	return "";
}

void archive_views_close(struct archive_views *views)
{
	while (views->first)
		drop(views, views->first);
}
