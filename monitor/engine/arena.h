/* SPDX-License-Identifier: GPL-2.0-or-later */
/* arena.h - memory for the buffers of direct I/O, in whole huge pages where the kernel has them: a request is then one
 * physical segment, which no drive's limit of segments makes the kernel split. It is a mapping of its own, never the
 * heap's: heap memory that was used before stays in small pages, whatever madvise() says. Any thread. */
#ifndef DRIVESOAK_ARENA_H
#define DRIVESOAK_ARENA_H

#include <stddef.h>
#include <stdint.h>

struct arena {
	uint8_t *bytes;	   /* zeroed, aligned to a huge page; NULL: none */
	size_t size_bytes; /* what was asked for, rounded up to huge pages */
};

int arena_init(struct arena *arena, size_t least_bytes); /* -ENOMEM; then as after arena_fini() */
void arena_fini(struct arena *arena);			 /* also of one that is zeroed */

#endif
