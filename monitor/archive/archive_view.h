/* SPDX-License-Identifier: GPL-2.0-or-later */
/* archive_view.h - the RRD views that the archive thread keeps beside the journal. A view that fails is left
 * alone for a growing pause and then brought up to date from the journal; the journal never waits for one.
 * All of it belongs to the archive thread. */
#ifndef DRIVESOAK_ARCHIVE_VIEW_H
#define DRIVESOAK_ARCHIVE_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "archive/rrdfile.h"

struct archive_view;

struct archive_views {
	const char *state_directory;
	struct archive_view *first;
	uint64_t failures, rebuilds;
};

/* Keep a view of @run from now on; it is synced when its turn comes. 0 or -errno with @why. */
int archive_views_open(
	struct archive_views *views, const struct run_record *run, uint64_t planned_s, char *why);
/* A sample that is in the journal now. Nothing for runs without a view. */
void archive_views_put(struct archive_views *views, const struct run_record *run, const struct sample *sample,
	uint64_t now_ns);
/* The state of a run that is in the journal now: the view of an ended one is closed. */
void archive_views_note(struct archive_views *views, const struct run_record *run);
/* Bring at most one view that is due up to date, so that records never wait for many. */
void archive_views_sync_one(struct archive_views *views, struct journal *journal, uint64_t now_ns);
/* When the next one is due; UINT64_MAX when all are current. */
uint64_t archive_views_next_ns(const struct archive_views *views);
/* Why some view is behind; "" when none is. */
const char *archive_views_error(const struct archive_views *views);
void archive_views_close(struct archive_views *views);

#endif
