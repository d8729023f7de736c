/* SPDX-License-Identifier: GPL-2.0-or-later */
/* engine_private.h - what engine.c (set-up, reading) and worker.c (the loop) share. Nobody else includes it. */
#ifndef DRIVESOAK_ENGINE_PRIVATE_H
#define DRIVESOAK_ENGINE_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "engine/arena.h"
#include "engine/engine.h"
#include "engine/ops.h"
#include "engine/payload.h"
#include "engine/random.h"

#define CACHE_LINE    64
#define ENGINE_ERRORS 256
#define OFFSET_NONE   UINT64_MAX
/* Buckets of a worker's filter of blocks in flight: 8 KiB, stays in the first cache. */
#define BUSY_FILTER 4096
#define FILL_DEPTH  4

/* A reader's request for a cut, for when the worker is so busy that none can be had without its help. */
enum cut_state { CUT_NONE, CUT_WANTED, CUT_BEING_MADE, CUT_MADE };

/* Written by its worker alone, in a section bracketed by seq (odd while open); read by one thread. Relaxed single-writer
 * updates compile to plain arithmetic. */
struct worker_counters {
	_Atomic uint64_t seq;
	_Atomic enum cut_state cut_state;
	_Atomic uint64_t write_bytes, write_ios, read_bytes, read_ios, errors;
	_Atomic uint64_t inflight;    /* now */
	_Atomic uint64_t inflight_ns; /* integrated up to since_ns */
	_Atomic uint64_t since_ns;
	_Atomic uint64_t lat_sum_ns;
	_Atomic uint64_t commits;
	_Atomic uint64_t lat[HIST_BUCKETS], commit_lat[HIST_BUCKETS];
};

struct slot {
	uint64_t submit_ns; /* 0: not yet passed on */
	uint64_t write_ns;  /* submit_ns of the last write, while its sync is under way */
	uint64_t sequence;
	uint64_t unsynced;	   /* writes since the client's last sync */
	uint64_t offset_bytes;	   /* in the target */
	uint64_t block, own_block; /* soak: of the target, and which of its worker's */
	uint32_t bytes, done_bytes;
	enum ring_verb verb;
	uint8_t *buffer, *read_buffer;
	uint64_t *body_hashes;
};

#define SUBMIT_GROUP_MOST 16u /* requests passed to the kernel at a time while refilling */

struct worker {
	struct engine *engine;
	unsigned index, depth;
	pthread_t thread;
	bool is_started;
	_Atomic bool has_ended;
	_Atomic clockid_t cpu_clock;
	_Atomic pid_t thread_id;	/* of the kernel; 0 before it runs */
	_Atomic uint64_t cpu_end_ns;	/* CPU time of a thread that has ended */
	char open_notes[OPS_NOTES_MAX]; /* valid once the gate is passed */

	/* The worker's own from here. */
	struct ring *ring;
	struct slot *slots;
	unsigned *group; /* slots queued since the last submit, not yet timed */
	unsigned group_count, submit_group, inflight;
	uint64_t *busy_offsets; /* a slot's offset while it is under way, else OFFSET_NONE */
	struct ring_completion *completions;
	struct arena arena;
	uint64_t *hashes;
	struct random random;
	uint64_t sequence;
	uint64_t share_bytes;	/* charged to the budget, not yet written; without a budget it never ends */
	int64_t wall_ns;	/* of the last look at the clock: good enough for stamps */
	int64_t wall_offset_ns; /* to the monotonic clock when the worker started */
	uint64_t own_blocks;
	uint16_t busy_filter[BUSY_FILTER];
	uint64_t completed;
	unsigned wait_least, learn_reaps, learn_sum; /* see wait_learn() */
	bool is_learning;
	unsigned failures_in_row; /* requests since the last that succeeded */
	/* Paced only: slots without work, and when the next request is due. */
	unsigned *idle, idle_count;
	double due_ns, pace_ns;
	uint64_t early_ns; /* that the worker is up before due_ns, see pace_rest() */
	uint64_t fill_next_bytes, fill_limit_bytes;
	unsigned fill_file; /* first file not yet announced by before_file */
	int fill_error;

	_Alignas(CACHE_LINE) struct worker_counters counters;
	struct worker_counters cut; /* the worker's while it makes it, then the reader's */
};

struct engine {
	struct engine_job job;
	int *fds;
	const struct ring_ops *ops;
	char notes[ENGINE_NOTES_MAX];
	uint32_t request_bytes; /* largest of one request */
	uint64_t block_count;
	struct worker *workers;
	unsigned worker_count;
	pthread_mutex_t gate_lock; /* start only: no worker writes before all have a ring */
	pthread_cond_t gate_moved;
	enum { GATE_SHUT, GATE_OPEN, GATE_CANCELLED } gate;
	unsigned gate_arrived;
	uint64_t gate_opened_ns; /* where the due times of all workers begin */
	int gate_rc;
	_Atomic unsigned working; /* workers whose loop has not ended */
	_Atomic int failure;	  /* negative errno of a loop that could not go on */
	_Atomic bool budget_spent;

	/* Stall clock: written by every worker, but only when it is older than STALL_GRAIN_NS. */
	_Alignas(CACHE_LINE) _Atomic uint64_t last_completion_ns;
	_Atomic uint64_t longest_stall_ns;
	_Alignas(CACHE_LINE) _Atomic bool stop;
	_Atomic uint64_t fill_done_bytes;
	_Atomic int fill_error;
	_Atomic bool fill_ended;

	pthread_mutex_t error_lock; /* error path only */
	struct engine_error errors[ENGINE_ERRORS];
	unsigned error_first, error_count;
};

/* The stall clock's resolution: workers share one cache line and leave it alone while it is fresher than this. */
#define STALL_GRAIN_NS 100000ULL

/* worker_thread.c: thread entry. */
void *worker_main(void *arg);
/* A copy that is of one moment when nobody writes to @from meanwhile. */
void counters_copy(struct worker_counters *from, struct worker_counters *to);
/* Buffers and slots, filled. 0 or -ENOMEM. */
int worker_init(struct worker *worker, struct engine *engine, unsigned index, unsigned depth);
void worker_fini(struct worker *worker);
/* worker.c: until stopped or out of work, and nothing is in flight. Negative errno when the ring itself failed. */
int worker_loop(struct worker *worker);
/* Tells how far the fill has no gap. */
void worker_note_fill(struct worker *worker);

#endif
