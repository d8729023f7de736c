/* SPDX-License-Identifier: GPL-2.0-or-later */
/* filesystem.h - what a directory lies on: mount, disks below, room, whether direct I/O is direct there. Reads
 * only; may block on a hung mount. */
#ifndef DRIVESOAK_FILESYSTEM_H
#define DRIVESOAK_FILESYSTEM_H

#include "target/target.h"

struct filesystem_traits {
	bool is_memory, is_network, is_read_only;
	bool is_direct_known; /* a disk filesystem whose O_DIRECT goes past the page cache */
	uint64_t fragment_bytes, total_bytes;
};

/* Fill @facts and @traits for @directory. 0 or -errno with @why. */
int filesystem_read(
	const char *directory, struct target_facts *facts, struct filesystem_traits *traits, char *why);

#endif
