/* SPDX-License-Identifier: GPL-2.0-or-later */
/* verify_private.h - the sweep, which reads, and the judges, who look at what was read. The sweep's thread is a judge
 * too, and the only one as long as it keeps up with the drive: one thread judges 7 to 9 GB/s. */
#ifndef DRIVESOAK_VERIFY_PRIVATE_H
#define DRIVESOAK_VERIFY_PRIVATE_H

#include "engine/verify.h"

#include <pthread.h>
#include <stdatomic.h>

#include "engine/arena.h"
#include "engine/engine.h"
#include "engine/ops.h"
#include "engine/payload.h"

#define VERIFY_REQUEST_BYTES (1u << 20)
#define VERIFY_BLOCKS_MOST   (VERIFY_REQUEST_BYTES / PAYLOAD_SECTOR_BYTES)
#define VERIFY_HELPERS_MAX   3

/* A run of whole blocks, read by one request; block by block after that request failed. Who took its index from the
 * judges has it alone. */
struct span {
	uint64_t offset_bytes; /* in the target */
	uint32_t bytes;
	uint32_t done_bytes; /* read, or given up */
	uint32_t goal_bytes; /* end of the request under way */
	bool is_narrow;
	uint8_t *buffer;
	uint64_t bad[VERIFY_BLOCKS_MOST / 64]; /* blocks that can't be read */
};

/* Added to by the sweep and all judges, read by anybody. */
struct progress {
	_Atomic uint64_t done_bytes, blocks, tracked_blocks, ahead_blocks;
	_Atomic uint64_t counts[VERIFY_VERDICT_COUNT];
	_Atomic int error;
	_Atomic bool is_over;
};

struct judges {
	pthread_mutex_t lock; /* of what follows, but for the threads */
	pthread_cond_t has_ready, has_idle;
	unsigned *idle, *ready; /* span indexes: a stack, a queue */
	unsigned idle_count, ready_from, ready_count;
	unsigned busy_count; /* being judged */
	bool is_over;

	pthread_mutex_t telling; /* one finding at a time */
	pthread_t helpers[VERIFY_HELPERS_MAX];
	unsigned helper_count;
};

struct verify {
	struct verify_job job;
	int *fds;
	uint64_t to_bytes; /* whole sectors */
	uint32_t span_bytes;
	unsigned depth, span_count;
	pthread_t thread;
	bool is_started;
	_Atomic bool has_ended, stop;
	struct progress progress;

	/* Start only: the thread says how its ring came out. */
	pthread_mutex_t gate_lock;
	pthread_cond_t gate_moved;
	bool is_open;
	int open_rc;
	char notes[ENGINE_NOTES_MAX];

	struct arena arena;
	struct span *spans;
	struct judges judges;

	/* The sweep's own from here, but for ops, which is set once before the gate. */
	const struct ring_ops *ops;
	struct ring *ring;
	unsigned inflight;
	struct ring_completion *completions;
	uint64_t next_bytes;
};

/* verify_judges.c. All spans are idle at first; -ENOMEM. Helpers are as many as there are CPUs to spare, none is fine. */
int judges_init(struct verify *verify);
void judges_fini(struct verify *verify);
void judges_start(struct verify *verify);
void judges_stop(struct verify *verify); /* spans that nobody has taken yet are left */

/* Sweep's thread. */
bool judges_take_idle(struct verify *verify, unsigned *index);
void judges_give(struct verify *verify, unsigned index); /* a span that has been read */
bool judges_have_ready(struct verify *verify);
bool judges_have_work(struct verify *verify); /* ready, or being judged */
bool judges_judge_one(struct verify *verify); /* false: none is ready */
void judges_wait(
	struct verify *verify); /* until a helper is done with a span, or less; not when none has one */

struct ledger_expectation judges_expect(const struct verify *verify, uint64_t offset_bytes, uint32_t bytes);
void judges_unreadable(struct verify *verify, const struct verify_finding *finding); /* one block more */

#endif
