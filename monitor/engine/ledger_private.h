/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ledger_private.h - what ledger.c (entries, set-up) and ledger_file.c (map and epoch on the disk) share. */
#ifndef DRIVESOAK_LEDGER_PRIVATE_H
#define DRIVESOAK_LEDGER_PRIVATE_H

#include <stdatomic.h>
#include <xxhash.h>

#include "engine/ledger.h"

/* An entry: the acknowledged sequence below two flags. */
#define ENTRY_DIRTY	   (1ULL << 63) /* in flight, or the last write failed */
#define ENTRY_RELAXED	   (1ULL << 62) /* from an epoch: newer is legal too */
#define ENTRY_SEQUENCE	   (ENTRY_RELAXED - 1)
#define START_SHIFT	   40
#define START_LIMIT	   (1ULL << (62 - START_SHIFT))
#define LEDGER_PAGE_BYTES  4096u
#define LEDGER_PIECE_BYTES 512u

struct ledger_head {
	char magic[8];
	uint32_t version, block_bytes;
	uint64_t run_tag, block_count, stride, entry_count;
	uint64_t checksum; /* of all above */
};

struct ledger_start {
	uint64_t number, checksum;
};

/* First page of both files, in the machine's byte order. What must survive a power cut lies in logical blocks of its
 * own; the start number twice, written in turn. */
struct ledger_page {
	union {
		struct ledger_head head;
		uint8_t head_piece[LEDGER_PIECE_BYTES];
	};
	union {
		struct ledger_start start;
		uint8_t start_piece[LEDGER_PIECE_BYTES];
	} starts[2];
	_Atomic uint32_t is_running; /* an engine may write: set by a start, cleared by a close */
	_Atomic uint32_t was_cut;    /* a block that is not tracked may be of several writes */
	_Atomic uint32_t is_lost;    /* a power loss was found, the map must not be believed */
	uint8_t rest[LEDGER_PAGE_BYTES - 3 * LEDGER_PIECE_BYTES - 3 * sizeof(uint32_t)];
};
_Static_assert(sizeof(struct ledger_page) == LEDGER_PAGE_BYTES, "the first page is one page");

struct ledger {
	_Atomic uint64_t *entries; /* one a group */
	uint64_t block_count, stride;
	uint64_t reciprocal; /* floor((2^64 - 1) / stride) */
	uint64_t last_group, last_group_blocks;
	uint64_t salt;

	struct ledger_page *page; /* the map; NULL: none */
	size_t map_bytes;
	int fd; /* of the map, locked; -1 */
	char *path, *path_new, *epoch_path, *epoch_path_new;
	int epoch_fd; /* -1: no epoch begun */
	uint64_t *copy_buffer;
};

void ledger_explain(char *why, const char *what, const char *path, int rc);

/* Geometry of a new ledger; *@out is its head, complete. -EINVAL when not even one entry fits. */
int ledger_head_plan(const struct ledger_setup *setup, struct ledger_head *out);
bool ledger_head_fits(const struct ledger_head *head, const char *magic, const struct ledger_setup *setup);
uint64_t ledger_page_start(
	const struct ledger_page *page); /* newest that was given out, or higher; 0: unknown */
void ledger_page_set_start(struct ledger_page *page, uint64_t number);

extern const char ledger_map_magic[8], ledger_epoch_magic[8];

/* Map the file at ledger->path and lock it. -ENOENT, -EBADMSG, -EBUSY or another -errno; the ledger is then as it
 * was. */
int ledger_map_open(struct ledger *ledger, const struct ledger_setup *setup);
void ledger_map_close(struct ledger *ledger);
/* A new map under path_new, its entries zero. */
int ledger_map_build(struct ledger *ledger, const struct ledger_head *head, uint64_t start);
/* Put the new map in the place of the old one, durably. */
int ledger_map_publish(struct ledger *ledger);

/* First page of the last epoch, which fits @setup. -ENOENT or -EBADMSG. */
int ledger_epoch_page_read(
	const struct ledger *ledger, const struct ledger_setup *setup, struct ledger_page *out);
/* Entries of the last epoch into the map; -EBADMSG when they do not hold: the entries are then of no use. */
int ledger_epoch_read(struct ledger *ledger);

#endif
