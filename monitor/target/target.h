/* SPDX-License-Identifier: GPL-2.0-or-later */
/* target.h - what is written: a directory of our own files, or a whole block device. Decides whether it may be used,
 * plans how much is filled, and owns the open files. Everything here may block for as long as the drive does: only the
 * drive's own thread calls it. Errors come as negative errno with @why in words (what, where, what to do); -ENODEV
 * means that the drive is not there now and may come.
 *
 * A directory holds a marker file, .drivesoak, that names the drive it belongs to and the run that owns the files
 * drivesoak-NN.dat beside it; it is locked while the target is open. Files that are not ours are never touched.
 *
 * A device begins with a marker block that says the same, followed by zeros up to base_bytes, and then the extent; its
 * descriptor is exclusive while the target is open. It is only ever written with a claim (claim.h) and with nothing
 * hard found against it (guard.h). */
#ifndef DRIVESOAK_TARGET_H
#define DRIVESOAK_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "probes/identity.h"
#include "target/blockdev.h"

#define TARGET_WHY_MAX 512
#define TARGET_MARKER  ".drivesoak"

/* A directory on the root filesystem, on network, thin or snapshot storage takes only a size up to this. */
#define TARGET_SHARED_BYTES_MAX (10ULL << 30)

/* Of a device: before the extent, and left alone at its end. */
#define TARGET_DEVICE_EDGE_BYTES (1u << 20)

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
	bool is_device;
	struct identity identity; /* of a device */
	/* Of a device, or of the only disk below a directory: the PCI address of what it shares with other disks, "" when
	 * nothing, and what that one's link carries, UINT64_MAX when unknown. Known from target_open() on. */
	char shared_port[64];
	uint64_t shared_link_bytes_per_s;
};

/* How much will be written: a whole number of blocks. */
struct target_plan {
	uint64_t goal_bytes, file_bytes;
	uint64_t base_bytes; /* where the extent begins in its only file */
	unsigned files;
	char note[TARGET_WHY_MAX]; /* why the goal is less than was asked for; "" when it is not */
};

struct target_request {
	const struct config_drive *drive;
	const char *state_directory; /* where the claims are; what it lies on is never a target */
	const char *run_id;	     /* owns the target from target_open() on; NULL: only looking */
	/* 0: a new run, the plan is made now. Else the run was planned with that goal: the marker must carry it and what
	 * it wrote must be there, else -ESTALE or -ENOENT. */
	uint64_t goal_bytes;
};

/* Look only: may this target be used now, and what is it? Writes nothing. */
int target_check(const struct target_request *request, struct target_facts *facts, struct target_plan *plan,
	char *why);

/* Check again, take the lock, write the marker, open (and for a new run: make anew) the files. */
int target_open(const struct target_request *request, struct target **out, char *why);
/* For reading only, without the guard and the claim; the marker must carry the run. */
int target_open_to_verify(const struct target_request *request, struct target **out, char *why);
void target_close(struct target *target); /* NULL is fine; releases the lock */

const struct target_facts *target_get_facts(const struct target *target);
const struct target_plan *target_get_plan(const struct target *target);
const int *target_get_fds(const struct target *target);

/* Tell the drive that what it holds is free: the free space of the filesystem (FITRIM), the whole device (BLKDISCARD).
 * Only for a new run. *@done false when that is not possible or not wanted (not root, /, not supported): @why then says
 * so, 0 is returned. */
int target_discard(struct target *target, bool *done, char *why);

/* For engine_job.before_file: reserve the room of file @index, so that it is laid out in one piece; any failure
 * is left to the writes. Worker thread. */
void target_reserve_file(void *target, unsigned index);

/* Is what is open still what the path leads to? 0; -ESTALE with @why: removed, moved or unmounted meanwhile, the open
 * files can be used all the same, but no later start will find them; -ENODEV: the drive is gone. */
int target_look(const struct target *target, char *why);

/* The fill ended at @done_bytes: cut off what lies behind it, make all of it durable. */
int target_finish_fill(struct target *target, uint64_t done_bytes, char *why);

/* Everything acknowledged so far is on stable media after this; nothing is asked of drives without a volatile cache. */
int target_flush(struct target *target, char *why);

/* Remove our files and the marker of a directory; foreign files stay. Only with the target closed. A device has nothing
 * that could be removed: -EINVAL. */
int target_purge(const struct target_request *request, char *why);

#endif
