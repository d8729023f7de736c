/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ledger.h - what each block of a run must hold: the sequence of the last write that the drive acknowledged. Decides
 * what a block may legally hold after a clean stop, a kill and a power loss; reads and writes no drive.
 *
 * Sequences grow for the whole run: number of the start << 40 | counter of the worker (ledger_next_start()). A block
 * has one write in flight at most and belongs to one worker, so an entry has one writer and no lock.
 *
 * Memory is bounded: with more blocks than fit, exactly one block of every @stride neighbours is tracked, chosen by a
 * hash of its group, so that coverage is even; ledger_coverage() tells the share.
 *
 * File: STATE/runs/ID.ledger, mapped shared: it survives the process (kill -9) as it is. After a power loss the map
 * may be anything; then the last epoch counts, a copy of the entries from before a completed flush of the drive, made
 * durable by write, fsync and rename (STATE/runs/ID.epoch).
 *
 * Legal contents of a block whose entry is acked A:
 * - clean: exactly A;
 * - was in flight when the process ended, or its last write failed: each logical block is A or newer;
 * - after a power loss: each logical block is at least the epoch's A (a volatile cache may have kept any version
 *   since), and never older.
 * A block of which no write was ever acknowledged, one of which was under way, may hold anything. Of a block that is not
 * tracked this is not known: one whose write in the fill failed, and none after it succeeded, is judged as if it had
 * been written, so bad where it has no stamps of the run. */
#ifndef DRIVESOAK_LEDGER_H
#define DRIVESOAK_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LEDGER_WHY_MAX 256

struct ledger;

struct ledger_setup {
	const char *path; /* of the map; the epoch lies beside it */
	uint64_t run_tag;
	uint64_t block_count; /* of the extent; the goal of the fill while that is not reached */
	uint32_t block_bytes;
	uint64_t memory_bytes; /* most for the map */
};

/* A new ledger, for a run that has written nothing yet: nothing is known of any block. Replaces files of an earlier
 * run of that path. The map's room on the disk is taken here: a full disk is an error here and never later. */
int ledger_create(const struct ledger_setup *setup, struct ledger **out, char *why);
/* The ledger of a run that goes on or is verified; it may cover more blocks than @setup has (the fill ended early),
 * and keeps the stride it was made with. @power_lost: the map is discarded for the last epoch and its blocks are
 * relaxed until they are written again; without a good epoch nothing older is held against the drive. @why then says
 * so, and is "" after any other success. -ENOENT; -EBADMSG when it is damaged or of another run; -EBUSY while
 * somebody has it open. */
int ledger_open(const struct ledger_setup *setup, bool power_lost, struct ledger **out, char *why);
/* The files of a ledger that nobody has open: what it says stops being true when a start is made without it, and it must
 * not be believed by a later one. That they are gone is durable. 0, also without any, or -errno with @why. */
int ledger_remove(const char *path, char *why);
/* NULL is fine. Only after engine_stop() was true: the map of an engine that hangs must stay as it is. */
void ledger_close(struct ledger *ledger);

double ledger_coverage(const struct ledger *ledger); /* 0..1 of the blocks */
size_t ledger_memory_bytes(const struct ledger *ledger);

/* First sequence of the next engine: each one, fill or soak, needs its own, else its sequences would not be newer
 * than those before it. Made durable before it is given out, never given twice. -EOVERFLOW after 4 million. */
int ledger_next_start(struct ledger *ledger, uint64_t *first_sequence, char *why);

/* Hot path, a block's own worker only. Blocks that are not tracked cost a hash and a compare. */
void ledger_submit(struct ledger *ledger, uint64_t block);
void ledger_ack(struct ledger *ledger, uint64_t block, uint64_t sequence);
void ledger_fail(struct ledger *ledger, uint64_t block);

/* Call before a flush of the drive is started: copies what is acknowledged now. Then, after the flush completed, make
 * the copy durable. May block on the state disk; not on a worker's thread. -EINVAL for a commit without a begin. */
int ledger_epoch_begin(struct ledger *ledger);
int ledger_epoch_commit(struct ledger *ledger, char *why);

enum ledger_rule {
	LEDGER_UNTRACKED, /* nothing is known: any version, each logical block its own */
	LEDGER_WHOLE, /* not tracked, but no write of the run was ever cut short: one write, any version */
	LEDGER_EXACT,
	LEDGER_AT_LEAST, /* each logical block is of the sequence or newer */
	LEDGER_ANY	 /* no write was ever acknowledged, one was under way: anything, stamped or not */
};
struct ledger_expectation {
	enum ledger_rule rule;
	uint64_t sequence; /* 0 unless exact or at least */
};
struct ledger_expectation ledger_expect(const struct ledger *ledger, uint64_t block);

#endif
