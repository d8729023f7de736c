/* SPDX-License-Identifier: GPL-2.0-or-later */
/* verify.h - read an extent back at full speed and name each bad block. Judging is pure (verify_judge()); the sweep
 * reads sequentially through the same ops tables as the engine, several requests in flight, one thread.
 *
 * A bad block is, the first that holds:
 *   misdirected: a sector carries a good checksum but another place's number or another run's tag;
 *   corrupt: a sector's checksum does not hold (or it was never stamped);
 *   torn: parts of one block are of different writes although the block must be one write (rules exact and whole), or
 *     parts of one logical block are;
 *   stale: older than what the drive acknowledged and the ledger says is legal (lost write, old data after restart).
 *
 * A block of which every sector is at least as new as an exact rule says, and one is newer, is good: the drive can't
 * make up a stamp, so it is the ledger that lost something. Such blocks are counted as ahead; any is a finding about
 * us. Half of a sector that a drive of 512-byte logical blocks lost can be told from a whole one, but not how old it
 * is: a stamp stands at the head of a sector only. */
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

struct verify_place {
	uint64_t run_tag;
	uint64_t first_sector; /* of the block in the target */
	uint32_t block_bytes;
	uint32_t lba_bytes; /* logical blocks may differ legally; 512, which allows most, when not known */
};

/* What the block @data holds. Logical blocks are the unit that may differ legally, sectors of 4 KiB the unit whose age
 * can be told. @found gets the newest sequence of the run that was seen (0: none). */
enum verify_verdict verify_judge(const uint8_t *data, const struct verify_place *place,
	const struct ledger_expectation *expect, uint64_t *found);

/* No error of the drive: the file is shorter than the run made it. */
#define VERIFY_FILE_ENDS (-1)

struct verify_finding {
	uint64_t offset_bytes; /* of the block in the target */
	enum verify_verdict verdict;
	uint64_t expected_sequence, found_sequence;
	int error; /* VERIFY_UNREADABLE: positive errno, or VERIFY_FILE_ENDS */
};
/* Why a block is unreadable, in words. */
const char *verify_error_text(int error);

struct verify_job {
	/* The target as in struct engine_job; [0, to_bytes) is read, less a last part of a sector. Of a last part of
	 * a block only checksums and places are judged. Not for payload = zeros. */
	const int *fds; /* must stay open until verify_free() */
	unsigned fd_count;
	uint64_t file_bytes, to_bytes;
	uint64_t base_bytes;
	uint32_t block_bytes;
	uint32_t lba_bytes;   /* 0: not known */
	unsigned queue_depth; /* requests of 1 MiB in flight; 0: 8 */
	uint64_t run_tag;
	const struct ledger
		*ledger; /* no engine may run with it; NULL: only checksums and places are judged */
	enum config_engine engine;
	const struct ring_ops *ops;					     /* tests; NULL: by engine */
	void (*on_finding)(void *arg, const struct verify_finding *finding); /* sweep's thread; may be NULL */
	void *on_finding_arg;
	void (*on_end)(void *arg); /* sweep's thread, once, when it ended by itself; may be NULL */
	void *on_end_arg;
};

struct verify_progress {
	uint64_t done_bytes, blocks;
	uint64_t tracked_blocks; /* whose age was judged */
	uint64_t ahead_blocks;	 /* newer than the ledger knows */
	uint64_t counts[VERIFY_VERDICT_COUNT];
	bool is_over;
	int error; /* 0, or negative errno of a sweep that could not go on */
};

/* Of @progress. */
uint64_t verify_bad_blocks(const struct verify_progress *progress);
/* Its figures as members of the object that is open; @coverage of the ledger, 0..1; @error: NULL: none. */
struct json;
void verify_put_json(
	struct json *json, const struct verify_progress *progress, double coverage, const char *error);

struct verify;
int verify_start(const struct verify_job *job, struct verify **out, char *why); /* why: ENGINE_WHY_MAX */
void verify_read(struct verify *verify, struct verify_progress *out);		/* any thread, never blocks */
const char *verify_engine_name(const struct verify *verify); /* "io_uring", "libaio", "null" */
/* Stop it, also when it is over. False when the drive still holds it after @timeout_ns: leave it alone then. */
bool verify_stop(struct verify *verify, uint64_t timeout_ns);
void verify_free(struct verify *verify); /* NULL is fine; only stopped ones */

#endif
