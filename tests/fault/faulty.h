/* SPDX-License-Identifier: GPL-2.0-or-later */
/* faulty.h - a drive in memory that does what drives must not do, at chosen rates and repeatably, and keeps the truth
 * about every block. Reached through faulty_ops; its "descriptors" (faulty_fds()) name it. Any number of rings, any
 * thread.
 *
 * One fault stands on a block at a time: a block that is bad already, or was made so, gets no second one. A whole good
 * write heals it. */
#ifndef DRIVESOAK_FAULTY_H
#define DRIVESOAK_FAULTY_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/ops.h"
#include "engine/verify.h"

enum fault {
	FAULT_FLIP,	   /* one bit of the stored block: corrupt */
	FAULT_TORN,	   /* only the first sectors are stored: torn */
	FAULT_MISDIRECTED, /* stored at another block: that one is misdirected, the right one stale */
	FAULT_LOST,	   /* acknowledged and not stored: stale */
	FAULT_REVERTED,	   /* by faulty_revert(): stale */
	FAULT_COUNT
};

struct faulty_setup {
	uint64_t file_bytes;
	unsigned file_count;
	uint32_t block_bytes;
	uint32_t cache_lba_bytes; /* 0: no volatile cache; else what it keeps or loses as one */
	uint64_t seed;
};

struct faulty;
extern const struct ring_ops faulty_ops;

struct faulty *faulty_new(const struct faulty_setup *setup); /* aborts without memory */
void faulty_free(struct faulty *drive);
const int *faulty_fds(const struct faulty *drive); /* file_count of them */

/* Faults on writes of one block from now on, each with this chance. */
void faulty_set_chance(struct faulty *drive, enum fault fault, double chance);
uint64_t faulty_injected(struct faulty *drive, enum fault fault);
enum verify_verdict faulty_truth(struct faulty *drive, uint64_t block);
/* Put an earlier good version of up to @count blocks back, as a drive that loses its table does at a restart. */
void faulty_revert(struct faulty *drive, unsigned count);

/* With a cache: what has completed is on the medium. Also by RING_SYNC. */
void faulty_flush(struct faulty *drive);
/* From now on nothing is stored, whatever is answered: the process that still writes is dead in truth. */
void faulty_power_off(struct faulty *drive);
/* Each logical block keeps any version since the last flush, those that were under way included. */
void faulty_power_on(struct faulty *drive);
/* A drive that lied: after faulty_power_on() put back what up to @count blocks held before the last flush, in one
 * sector of each. @is_head_only: only the first logical block of the sector. How many were put back. */
unsigned faulty_lose_flushed(struct faulty *drive, unsigned count, bool is_head_only);

/* Direct access between jobs. */
uint8_t *faulty_block(struct faulty *drive, uint64_t block);
void faulty_set_read_error(struct faulty *drive, uint64_t block, int error); /* 0: none */
void faulty_set_short_reads(struct faulty *drive, bool are_short);

#endif
