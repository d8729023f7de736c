/* SPDX-License-Identifier: GPL-2.0-or-later */
/* target.h - what is written: a directory of our own files. Decides whether it may be used, plans how much is
 * filled, and owns the open files. Everything here may block for as long as the drive does: only the drive's own
 * thread calls it. Errors come as negative errno with @why in words (what, where, what to do).
 *
 * A directory holds a marker file, .drivesoak, that names the drive it belongs to and the run that owns the files
 * drivesoak-NN.dat beside it; it is locked while the target is open. Files that are not ours are never touched. */
#ifndef DRIVESOAK_TARGET_H
#define DRIVESOAK_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "target/blockdev.h"

#define TARGET_WHY_MAX 512
#define TARGET_MARKER  ".drivesoak"

/* A directory on the root filesystem, on network, thin or snapshot storage takes only a size up to this. */
#define TARGET_SHARED_BYTES_MAX (10ULL << 30)

struct target;

struct target_facts {
	char filesystem[32], mount_options[256], mount_point[256];
	struct blockdev disks[BLOCKDEV_MAX];
	unsigned disk_count;
	uint64_t capacity_bytes;  /* of the disks; UINT64_MAX when unknown */
	uint64_t available_bytes; /* to us, our own files counted as available */
	char direct
		[64]; /* how O_DIRECT is known to be direct: "statx: offset 512", "filesystem ext4"; or "unproven: ..." */
	bool is_on_root;
};

/* How much will be written: a whole number of blocks. */
struct target_plan {
	uint64_t goal_bytes, file_bytes;
	unsigned files;
	char note[TARGET_WHY_MAX]; /* why the goal is less than was asked for; "" when it is not */
};

/* Look only: may this target be used now, and what is it? Writes nothing. */
int target_check(
	const struct config_drive *drive, struct target_facts *facts, struct target_plan *plan, char *why);

/* Check again, take the lock, write the marker, open (and for a new run: make anew) the files. @run_id owns the
 * files from now on. @goal_bytes 0: a new run, the plan is made now; else the run was planned with that goal: the
 * marker must carry it and its files must be there, else -ESTALE or -ENOENT. */
int target_open(const struct config_drive *drive, const char *run_id, uint64_t goal_bytes,
	struct target **out, char *why);
void target_close(struct target *target); /* NULL is fine; releases the lock */

const struct target_facts *target_get_facts(const struct target *target);
const struct target_plan *target_get_plan(const struct target *target);
const int *target_get_fds(const struct target *target);

/* Tell the drive that the free space of the filesystem is free (FITRIM). *@done false when that is not possible or
 * not wanted (not root, /, not supported): @why then says so, 0 is returned. */
int target_discard(struct target *target, bool *done, char *why);

/* For engine_job.before_file: reserve the room of file @index, so that it is laid out in one piece; any failure
 * is left to the writes. Worker thread. */
void target_reserve_file(void *target, unsigned index);

/* Is what is open still what the path leads to? 0, or -ESTALE with @why: removed, moved or unmounted meanwhile. The
 * open files can be used all the same, but no later start will find them. */
int target_look(const struct target *target, char *why);

/* The fill ended at @done_bytes: cut off what lies behind it, make all of it durable. */
int target_finish_fill(struct target *target, uint64_t done_bytes, char *why);

/* Everything acknowledged so far is on stable media after this; nothing is asked of drives without a volatile cache. */
int target_flush(struct target *target, char *why);

/* Remove our files and the marker; foreign files stay. Only with the target closed. */
int target_purge(const struct config_drive *drive, char *why);

#endif
