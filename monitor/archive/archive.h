/* SPDX-License-Identifier: GPL-2.0-or-later */
/* archive.h - the writer thread: takes records from a bounded queue, commits them to the journal in one
 * transaction a tick, then brings the RRD views up to date. Nothing here ever blocks the tick: putting
 * copies a record and returns. A record that can't be stored (disk full, locked) stays queued and is tried
 * again with growing pauses; when the queue is full the record is counted as lost and said so. put
 * functions: any thread. start/stop/flush: main thread. */
#ifndef DRIVESOAK_ARCHIVE_H
#define DRIVESOAK_ARCHIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "archive/journal.h"
#include "measure/sample.h"

struct archive;

struct archive_stats {
	uint64_t queued, lost, committed, journal_failures, rrd_failures, rrd_rebuilds;
	char last_error[256]; /* of the failure that still lasts; empty: none */
	bool is_waiting;      /* it is the journal's: records are kept in memory meanwhile */
};

/* Open (and create) STATE/journal.db and STATE/runs/ and start the thread. -errno with @why (256 bytes). */
int archive_start(const char *state_directory, struct archive **out, char *why);

/* Register a run before its samples: the view STATE/runs/ID.rrd is checked against the journal, rebuilt if
 * need be, and kept up to date. @planned_s as in rrdfile_sync(). False when the queue is full. */
bool archive_open_run(struct archive *archive, const struct run_record *run, uint64_t planned_s);
bool archive_put_run(struct archive *archive, const struct run_record *run);
/* The sample and the run's state after it go into one transaction. */
bool archive_put_sample(struct archive *archive, const struct run_record *run, const struct sample *sample);
/* Takes over what @health holds, also when it answers false. */
bool archive_put_health(struct archive *archive, struct health_record *health);
bool archive_put_event(struct archive *archive, const struct event_record *event);

void archive_read_stats(struct archive *archive, struct archive_stats *out);

/* Wait until everything queued so far is durable, at most @timeout_ns. False when it is not. */
bool archive_flush(struct archive *archive, uint64_t timeout_ns);
/* Flush for at most @timeout_ns, end the thread. False when records were left unwritten. NULL is fine. */
bool archive_stop(struct archive *archive, uint64_t timeout_ns);

#endif
