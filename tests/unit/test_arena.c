/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The buffers' memory is in huge pages also where the heap has used memory of the same size before. */
#include "unit.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/arena.h"

#define MIB ((size_t)1 << 20)

/* The number behind @key in a file of lines; of the mapping that begins at @from in smaps, of the whole file with NULL. */
static unsigned long long number_of(const char *path, const void *from, const char *key)
{
	unsigned long long number = 0, begin, end;
	FILE *file = fopen(path, "re");
	bool is_there = !from;
	char line[512];

	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		if (from && sscanf(line, "%llx-%llx ", &begin, &end) == 2)
			is_there = begin <= (uintptr_t)from && (uintptr_t)from < end;
		else if (is_there && strncmp(line, key, strlen(key)) == 0)
			number = strtoull(line + strlen(key), NULL, 10);
	}
	(void)fclose(file);
	return number;
}

static bool has_huge_pages(void)
{
	FILE *file = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "re");
	char line[128] = "";
	bool has = file && fgets(line, sizeof(line), file) && !strstr(line, "[never]");

	if (file)
		(void)fclose(file);
	return has;
}

static unsigned long long fallbacks(void)
{
	return number_of("/proc/vmstat", NULL, "thp_fault_fallback ");
}

/* An allocation of that size and its end: glibc serves the next of that size from the heap then. */
static void heap_use(size_t bytes)
{
	char *used = malloc(bytes);

	assert_non_null(used);
	for (size_t i = 0; i < bytes; i += 4096)
		((volatile char *)used)[i] = 1;
	free(used);
}

static void test_huge_pages_also_after_a_heap_in_use(void **state)
{
	static const size_t asked[] = { 1, 4 * MIB, 4 * MIB + 1, 32 * MIB - 4096 };

	(void)state;
	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++)
		for (unsigned round = 0; round < 4; round++) {
			struct arena arena;
			unsigned long long before = fallbacks();

			heap_use(asked[i] + 2 * MIB);
			assert_int_equal(arena_init(&arena, asked[i]), 0);
			assert_int_equal((uintptr_t)arena.bytes % (2 * MIB), 0);
			assert_int_equal(arena.size_bytes, (asked[i] + 2 * MIB - 1) / (2 * MIB) * (2 * MIB));
			for (size_t at = 0; at < arena.size_bytes; at++)
				if (arena.bytes[at])
					fail_msg("not zeroed at %zu", at);
			/* A kernel without memory in pieces of that size can't. */
			if (has_huge_pages() && fallbacks() == before)
				assert_true(number_of("/proc/self/smaps", arena.bytes, "AnonHugePages:") >=
					    arena.size_bytes / 1024);
			arena_fini(&arena);
			assert_null(arena.bytes);
		}
}

static void test_what_cannot_be_had_is_refused(void **state)
{
	static const size_t asked[] = { SIZE_MAX, SIZE_MAX - 2 * MIB, (size_t)1 << 60 };

	(void)state;
	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		struct arena arena = { .size_bytes = 7 };

		assert_int_equal(arena_init(&arena, asked[i]), -ENOMEM);
		assert_null(arena.bytes);
		assert_int_equal(arena.size_bytes, 0);
		arena_fini(&arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_huge_pages_also_after_a_heap_in_use),
		cmocka_unit_test(test_what_cannot_be_had_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
