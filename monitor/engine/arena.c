/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/arena.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_PAGE_BYTES ((size_t)2 << 20)

int arena_init(struct arena *arena, size_t least_bytes)
{
	const size_t size = (least_bytes + HUGE_PAGE_BYTES - 1) & ~(HUGE_PAGE_BYTES - 1);
	uint8_t *mapping, *end;
	size_t before;

	*arena = (struct arena){ 0 };
	if (size < least_bytes || size > SIZE_MAX - HUGE_PAGE_BYTES)
		return -ENOMEM;
	mapping = mmap(
		NULL, size + HUGE_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mapping == MAP_FAILED)
		return -ENOMEM;
	/* The kernel maps where it likes: what is before and behind the whole huge pages goes back. */
	before = -(uintptr_t)mapping & (HUGE_PAGE_BYTES - 1);
	end = mapping + before + size;
	if (before)
		(void)munmap(mapping, before);
	(void)munmap(end, HUGE_PAGE_BYTES - before);
	*arena = (struct arena){ mapping + before, size };
	/* Small pages do as well, slower. All are there before the first request is timed. */
	(void)madvise(arena->bytes, size, MADV_HUGEPAGE);
	memset(arena->bytes, 0, size);
	return 0;
}

void arena_fini(struct arena *arena)
{
	if (arena->bytes)
		(void)munmap(arena->bytes, arena->size_bytes);
	*arena = (struct arena){ 0 };
}
