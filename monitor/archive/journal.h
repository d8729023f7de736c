/* SPDX-License-Identifier: GPL-2.0-or-later */
/* journal.h - the durable record: runs, samples and events in one SQLite file (WAL, synchronous=FULL). RRD
 * files are views that can be rebuilt from it. The file is STATE/journal.db. A handle belongs to one thread;
 * the archive thread holds the only writing one, readers open their own. Functions return 0 or a negative
 * errno: -EIO for a database error, -ENOSPC for a full disk, -EBUSY when locked, -EPROTO for a file of a
 * newer schema, -EBADMSG for one that is damaged or of another program; journal_error() has the text of the
 * last failure, of journal_open() too when it is asked with NULL. */
#ifndef DRIVESOAK_JOURNAL_H
#define DRIVESOAK_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "measure/sample.h"
#include "run/run.h"

#define RUN_ID_MAX     40
#define RUN_JSON_MAX   6144
#define RUN_FROZEN_MAX 1024
#define EVENT_TEXT_MAX 512

enum run_source { SOURCE_OWN, SOURCE_OBSERVE, SOURCE_IMPORTED };
const char *run_source_name(enum run_source source);

/* A run as stored; a fixed-size copy so that it can cross threads. Empty strings and UINT64_MAX are unknown,
 * INT64_MIN is a time that has not come. */
struct run_record {
	char id[RUN_ID_MAX]; /* see run_id_make() */
	char drive[64], label[128], model[64], serial[160], firmware[32];
	enum run_source source;
	struct run_progress progress;
	int64_t started_ms, soak_started_ms, ended_ms;
	uint32_t interval_s;
	uint64_t seed;		     /* of the workload's random numbers */
	uint64_t capacity_bytes;     /* of the drive */
	uint64_t written_bytes;	     /* sum over the samples */
	char reason[EVENT_TEXT_MAX]; /* of the present status */
	char engine[32];	     /* what really runs: io_uring or libaio, with what was refused */
	char direct[64];	     /* how O_DIRECT was proven, or "unproven: ..." */
	char pre_state[16];	     /* purged, trimmed or unknown */
	char boot_id[40]; /* of the machine when the run was last written to; "": the drive was away since */
	double probe_ios_per_s; /* what the probe's shares refer to; NAN: not known yet */
	char probe_json[2048];	/* an object for each step that is over, comma between; "" */
	char verify_json[512];	/* what the verification found; "" */
	double price_amount;	/* NAN */
	char price_currency[8];
	char frozen[RUN_FROZEN_MAX]; /* config_drive_frozen() of the start */
	char config_json[RUN_JSON_MAX];
	char host_json[RUN_JSON_MAX];
};

enum event_severity { EVENT_INFO, EVENT_WARNING, EVENT_CRITICAL };
const char *event_severity_name(enum event_severity severity);

struct event_record {
	int64_t t_ms, until_ms; /* until: INT64_MIN for a moment */
	char kind[24];		/* as API.md lists: phase, error, resumed, clock-step, note, ... */
	enum event_severity severity;
	char drive[64], run[RUN_ID_MAX]; /* empty: the service itself */
	char text[EVENT_TEXT_MAX];
	char cause[32], evidence[EVENT_TEXT_MAX]; /* empty: none */
	char key[40]; /* within the run: one that comes again takes the place of the event before; empty: none */
	uint32_t count; /* falls of throughput, or losses of the drive, that it stands for */
};

/* A health reading of a run as stored. The strings belong to whoever holds the record. */
struct health_record {
	char run[RUN_ID_MAX];
	int64_t t_ms;
	char *fields;	/* a JSON object: what was decoded, and the moment in the run */
	uint8_t *pages; /* what was read, see reading_pack() of probes/; NULL: not kept */
	size_t pages_bytes;
};
void health_record_fini(struct health_record *record);

struct journal;

/* Open or, unless @read_only, create. Reading works beside a writer, and without one also from a folder that
 * can't be written. */
int journal_open(const char *path, bool read_only, struct journal **out);
void journal_close(struct journal *journal); /* NULL is fine */
const char *journal_error(const struct journal *journal);

/* A handle for writing: was its file removed (-ENOENT) or another one put in its place (-EEXIST)? Records then go
 * where nobody finds them. 0 when all is well or can't be told. */
int journal_check_place(const struct journal *journal);
/* Write all there is into a file of its own at @path, durably. */
int journal_copy(struct journal *journal, const char *path);

int journal_begin(struct journal *journal);
int journal_commit(struct journal *journal);
void journal_rollback(struct journal *journal);

/* Insert or update by id; -EEXIST when the id belongs to another drive, -ERANGE for a counter above 2^63. */
int journal_put_run(struct journal *journal, const struct run_record *run);
/* Append; -EEXIST when the run has a sample of this or a later time, -ENOENT without the run, -ERANGE. */
int journal_put_sample(struct journal *journal, const char *run, const struct sample *sample);
/* Append, or replace the run's event of the same key. */
int journal_put_event(struct journal *journal, const struct event_record *event);
/* Insert or replace the reading of that time; -ENOENT without the run. */
int journal_put_health(struct journal *journal, const struct health_record *health);

/* One run; -ENOENT. */
int journal_get_run(struct journal *journal, const char *id, struct run_record *out);
/* The newest run of a drive by its configured name, an imported one only when there is no other; -ENOENT. */
int journal_get_newest_run(struct journal *journal, const char *drive, struct run_record *out);
/* The last sample of a run, down rows too; -ENOENT. */
int journal_get_last_sample(struct journal *journal, const char *run, struct sample *out);
/* Exact sums over the samples of a run, unknown counters left out. */
struct journal_sums {
	uint64_t write_bytes, write_ios, read_bytes, read_ios, errors;
	uint64_t samples;
};
int journal_get_sums(struct journal *journal, const char *run, struct journal_sums *out);

/* Call @each for every row in order; a non-zero answer ends the walk and is returned. Runs: newest first.
 * Samples: from_ms < t_ms <= to_ms, oldest first, -ENOENT without the run. Events: newest first, of one run
 * or (NULL) of all, at most @limit. The record is only valid during the call, which may use the journal.
 * @with_hist false leaves the histograms out. */
int journal_each_run(struct journal *journal, int (*each)(const struct run_record *, void *), void *arg);
/* Of these the imported ones, and of every name its newest import. */
int journal_each_import(struct journal *journal, int (*each)(const struct run_record *, void *), void *arg);
int journal_each_newest_import(
	struct journal *journal, int (*each)(const struct run_record *, void *), void *arg);
int journal_each_sample(struct journal *journal, const char *run, int64_t from_ms, int64_t to_ms,
	bool with_hist, int (*each)(const struct sample *, void *), void *arg);
int journal_each_event(struct journal *journal, const char *run, size_t limit,
	int (*each)(const struct event_record *, void *), void *arg);

/* Those of a run that have a key and no end, newest first. */
int journal_each_open_event(struct journal *journal, const char *run,
	int (*each)(const struct event_record *, void *), void *arg);
/* How many events of @kind a run has from @from_ms on, and how many falls these stand for that were not the host's or
 * the service's own doing. */
int journal_count_events(struct journal *journal, const char *run, const char *kind, int64_t from_ms,
	uint64_t *events, uint64_t *falls);

/* When the last reading of a run was; INT64_MIN: it has none. -ENOENT without the run. */
int journal_get_last_health_ms(struct journal *journal, const char *run, int64_t *out);
/* Readings of a run from @from_ms on, oldest first; -ENOENT without the run. @with_pages false leaves those out. */
int journal_each_health(struct journal *journal, const char *run, int64_t from_ms, bool with_pages,
	int (*each)(const struct health_record *, void *), void *arg);

/* "NAME-20261130T222200Z": the drive's name and the start in UTC; unique since a drive has one run at a time.
 * A name of more than 22 characters is cut and told apart by a hash. @id has RUN_ID_MAX. */
void run_id_make(const char *drive, int64_t started_ms, char *id);

#endif
