/* SPDX-License-Identifier: GPL-2.0-or-later */
/* engine.h - keep the queue of one target full and count what completes. Two jobs: a fill (one stream of
 * sequential 1 MiB writes) and a soak (random blocks, @threads workers that share @queue_depth requests in
 * flight). Both go through the same workers and one of the ops tables io_uring, libaio, null.
 *
 * Threads: engine_new/start/stop/free belong to one thread (they may block for as long as the drive does);
 * engine_read() by one at a time, and engine_next_error(), may be called from any thread and never wait for the drive.
 * A failed request is data: it is counted and kept for engine_next_error(), the work goes on.
 */
#ifndef DRIVESOAK_ENGINE_H
#define DRIVESOAK_ENGINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "config/config.h"
#include "engine/hist.h"

#define ENGINE_WHY_MAX	  512
#define ENGINE_NAME_MAX	  32
#define ENGINE_NOTES_MAX  256
#define ENGINE_FILL_BYTES (1u << 20)

struct budget;
struct ledger;
struct ring_ops;

struct engine_job {
	/* The target: @fd_count open files of @file_bytes each, side by side; all but the last are full length. */
	const int *fds; /* must stay open until engine_free() */
	unsigned fd_count;
	uint64_t file_bytes;
	/* Where the target begins in its only file: a device's lies behind its marker. Offsets and sectors count from
	 * there, file_bytes too. */
	uint64_t base_bytes;
	bool is_device; /* no room, too large, quota: errors of the drive there, and never a fill that is full */
	bool is_fill;
	uint64_t from_bytes, to_bytes; /* fill: the range to write; soak: [0, to_bytes) */
	uint32_t block_bytes;	       /* of the soak */
	unsigned threads, queue_depth; /* of the soak; queue_depth >= threads */
	enum config_engine engine;     /* ENGINE_AUTO: io_uring, else libaio */
	const struct ring_ops *ops;    /* tests: a layer of their own instead; NULL: by @engine */
	enum config_payload payload;
	uint64_t run_tag, seed;
	/* The soak's workload. Each request in flight is a client: with @fsync_every N it writes N blocks, one after the
	 * other, then waits for fdatasync() of the last one's file. */
	enum config_workload workload;
	unsigned read_percent; /* random-mixed */
	uint64_t fsync_every;  /* 0: never */
	double requests_per_s; /* 0: as fast as the queue depth allows */
	/* With requests_per_s: every request has an intended time, kept whatever happens, and its latency counts from
	 * there. Else a late request moves the ones behind it, and latency counts from the submission. */
	bool is_open_loop;
	struct ledger *ledger;	 /* NULL: none is kept */
	uint64_t first_sequence; /* of this start of the service, see ledger.h */
	/* NULL: no limit. Every write is charged before it is passed on; when the next one can't be, the job ends. Must
	 * stay open until engine_free(). */
	struct budget *budget;
	/* Fill only, may be NULL: called by the worker before the first write to file @index. */
	void (*before_file)(void *arg, unsigned index);
	void *before_file_arg;
	/* Called once by a worker when the job has ended by itself: the fill reached its end, engine_budget_spent(), or
	 * engine_failure(). */
	void (*on_end)(void *arg);
	void *on_end_arg;
};

/* Everything since engine_start(), one consistent cut a worker. */
struct engine_totals {
	uint64_t write_bytes, write_ios, read_bytes, read_ios, errors;
	uint64_t inflight_ns; /* requests in flight, integrated over time */
	uint64_t cpu_ns;      /* CPU time of the workers */
	uint64_t lat_sum_ns;  /* submit to complete, of all that completed */
	uint64_t read_ns;     /* monotonic time of this cut */
	uint64_t
		last_completion_ns; /* start of the stall clock: last completion of any worker, or the start */
	uint64_t commits;	    /* fdatasync() completed */
	struct hist lat;	    /* submit to complete, of reads and writes */
	struct hist
		commit_lat; /* from the submission of a client's last write to the end of its fdatasync() */
};

struct engine_error {
	uint64_t offset_bytes; /* of the request in the target */
	int error;	       /* positive errno as the kernel gave it */
	const char *what;      /* "write", "read" or "fdatasync" */
	uint64_t at_ns;	       /* monotonic */
};

/* How a fill ended. */
struct engine_fill_end {
	uint64_t done_bytes; /* contiguous and completed, from the start of the target */
	/* 0: reached to_bytes; positive errno that ended it (ENOSPC: full), or ECANCELED: stopped, or no budget left. */
	int error;
};

struct engine;

/* 0, or -errno with @why (ENGINE_WHY_MAX bytes). Buffers are allocated and filled here. */
int engine_new(const struct engine_job *job, struct engine **out, char *why);
/* Start the workers and wait until every one has its ring. -errno with @why. */
int engine_start(struct engine *engine, char *why);
/* Stop submitting, wait for what is in flight, end the workers. False when a worker still hangs in the drive after
 * @timeout_ns: the engine must then be left alone (never freed). */
bool engine_stop(struct engine *engine, uint64_t timeout_ns);
void engine_free(struct engine *engine); /* NULL is fine; only stopped engines */

/* Each worker's counters agree with each other. */
void engine_read(struct engine *engine, struct engine_totals *out);
/* The longest stall (no completion at all) that ended since the last call; the running one is
 * read_ns - last_completion_ns. One caller. */
uint64_t engine_take_longest_stall_ns(struct engine *engine);
/* The kernel's ids of the workers that run, at most @most; how many. */
unsigned engine_thread_ids(struct engine *engine, pid_t *ids, unsigned most);
/* Next kept error, oldest first; false when none. Errors beyond the 256 kept at a time are only counted. One caller. */
bool engine_next_error(struct engine *engine, struct engine_error *out);
bool engine_fill_ended(struct engine *engine, struct engine_fill_end *out);

/* 0, or the negative errno of a ring that failed as such: all workers have then stopped. */
int engine_failure(struct engine *engine);
/* The job ended because a write could no longer be charged to its budget. */
bool engine_budget_spent(const struct engine *engine);

/* What really runs ("io_uring", "libaio", "null"), and what was refused on the way, in words ("" when nothing). */
const char *engine_name(const struct engine *engine);
const char *engine_notes(const struct engine *engine);

#endif
