/* SPDX-License-Identifier: GPL-2.0-or-later */
/* verify.h - read an extent back at full speed and name each bad block. Judging is pure (verify_judge()); the sweep
 * reads sequentially through the same ops tables as the engine, several requests in flight, one thread.
 *
 * A bad block is, the first that holds:
 *   misdirected: a sector carries a good checksum but another place's number or another run's tag;
 *   corrupt: a sector's checksum does not hold (or it was never stamped);
 *   torn: sectors of one block are of different writes although the block must be one write (rule exact);
 *   stale: older than what the drive acknowledged and the ledger says is legal (lost write, old data after restart). */
#ifndef DRIVESOAK_VERIFY_H
#define DRIVESOAK_VERIFY_H

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "engine/ledger.h"

enum verify_verdict {
	VERIFY_GOOD,
	VERIFY_CORRUPT,
	VERIFY_TORN,
	VERIFY_MISDIRECTED,
	VERIFY_STALE,
	VERIFY_UNREADABLE,
	VERIFY_VERDICT_COUNT
};
const char *verify_verdict_name(enum verify_verdict verdict);

/* What one block holds: @data of @block_bytes, first sector number @first_sector; logical blocks of @lba_bytes (512 or
 * 4096) are the unit that may differ legally, sectors of 4 KiB the unit that can be told apart. @found gets the newest
 * sequence seen (0: none). */
enum verify_verdict verify_judge(const uint8_t *data, uint32_t block_bytes, uint64_t first_sector,
	uint64_t run_tag, const struct ledger_expectation *expect, uint64_t *found);

struct verify_finding {
	uint64_t offset_bytes; /* of the block in the target */
	enum verify_verdict verdict;
	uint64_t expected_sequence, found_sequence;
	int error; /* VERIFY_UNREADABLE: positive errno */
};

struct verify_job {
	const int *fds;
	unsigned fd_count;
	uint64_t file_bytes, to_bytes;
	uint32_t block_bytes;
	uint64_t run_tag;
	const struct ledger *ledger; /* NULL: only checksums and places are judged */
	enum config_engine engine;
	const struct ring_ops *ops;					     /* tests; NULL: by engine */
	void (*on_finding)(void *arg, const struct verify_finding *finding); /* sweep's thread; may be NULL */
	void *on_finding_arg;
	void (*on_end)(void *arg); /* sweep's thread, once, when it ended by itself; may be NULL */
	void *on_end_arg;
};

struct verify_progress {
	uint64_t done_bytes, blocks, tracked_blocks;
	uint64_t counts[VERIFY_VERDICT_COUNT];
	bool is_over;
	int error; /* 0, or negative errno of a sweep that could not go on */
};

struct verify;
int verify_start(const struct verify_job *job, struct verify **out, char *why); /* why: ENGINE_WHY_MAX */
void verify_read(struct verify *verify, struct verify_progress *out);		/* any thread, never blocks */
/* False when the drive still holds it after @timeout_ns: leave it alone then. */
bool verify_stop(struct verify *verify, uint64_t timeout_ns);
void verify_free(struct verify *verify);

#endif
