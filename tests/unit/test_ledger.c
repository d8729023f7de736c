/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a ledger says of a block, however the process or the machine ended. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>

#include "engine/ledger.h"

#define FOLDER	    "ledger-test.dir"
#define PATH	    FOLDER "/r1.ledger"
#define EPOCH_PATH  FOLDER "/r1.epoch"
#define START(n)    ((uint64_t)(n) << 40)
#define MEMORY_MOST (1u << 20)

static struct ledger_setup setup_make(uint64_t blocks, uint64_t memory_bytes)
{
	return (struct ledger_setup){ .path = PATH,
		.run_tag = 0xfeed,
		.block_count = blocks,
		.block_bytes = 16384,
		.memory_bytes = memory_bytes };
}

static struct ledger *create(uint64_t blocks, uint64_t memory_bytes)
{
	const struct ledger_setup setup = setup_make(blocks, memory_bytes);
	struct ledger *ledger = NULL;
	char why[LEDGER_WHY_MAX];

	if (ledger_create(&setup, &ledger, why))
		fail_msg("%s", why);
	assert_string_equal(why, "");
	return ledger;
}

static struct ledger *reopen(uint64_t blocks, bool power_lost, const char *said)
{
	const struct ledger_setup setup = setup_make(blocks, MEMORY_MOST);
	struct ledger *ledger = NULL;
	char why[LEDGER_WHY_MAX];

	if (ledger_open(&setup, power_lost, &ledger, why))
		fail_msg("%s", why);
	assert_string_equal(why, said);
	return ledger;
}

static int open_fails(const struct ledger_setup *setup, bool power_lost)
{
	struct ledger *ledger = (struct ledger *)1;
	char why[LEDGER_WHY_MAX] = "";
	int rc = ledger_open(setup, power_lost, &ledger, why);

	assert_ptr_equal(ledger, 1);
	assert_non_null(strstr(why, PATH));
	return rc;
}

static void check(const struct ledger *ledger, uint64_t block, enum ledger_rule rule, uint64_t sequence)
{
	struct ledger_expectation expect = ledger_expect(ledger, block);

	assert_int_equal(expect.rule, rule);
	assert_true(expect.sequence == sequence);
}

static int folder_make(void **state)
{
	(void)state;
	(void)!system("rm -rf " FOLDER);
	return mkdir(FOLDER, 0700);
}

static int folder_remove(void **state)
{
	(void)state;
	return system("rm -rf " FOLDER);
}

static void test_an_entry_follows_its_writes(void **state)
{
	struct ledger *ledger = create(100, MEMORY_MOST);

	(void)state;
	check(ledger, 7, LEDGER_UNTRACKED, 0);
	ledger_submit(ledger, 7);
	check(ledger, 7, LEDGER_ANY, 0);
	ledger_ack(ledger, 7, START(1) + 5);
	check(ledger, 7, LEDGER_EXACT, START(1) + 5);
	ledger_submit(ledger, 7);
	check(ledger, 7, LEDGER_AT_LEAST, START(1) + 5);
	ledger_fail(ledger, 7);
	check(ledger, 7, LEDGER_AT_LEAST, START(1) + 5);
	ledger_submit(ledger, 7);
	ledger_ack(ledger, 7, START(2));
	check(ledger, 7, LEDGER_EXACT, START(2));
	ledger_submit(ledger, 8);
	ledger_fail(ledger, 8);
	check(ledger, 8, LEDGER_ANY, 0);
	check(ledger, 6, LEDGER_UNTRACKED, 0);
	check(ledger, 99, LEDGER_UNTRACKED, 0);
	/* Beyond the extent there is nothing to know. */
	ledger_submit(ledger, 100);
	ledger_ack(ledger, UINT64_MAX, 5);
	check(ledger, 100, LEDGER_UNTRACKED, 0);
	check(ledger, UINT64_MAX, LEDGER_UNTRACKED, 0);
	ledger_close(ledger);
}

struct share {
	uint64_t blocks, memory_bytes, stride;
};

/* Exactly one block of every group is tracked: counted against a plain division. */
static void share_check(const struct share *share)
{
	struct ledger *ledger = create(share->blocks, share->memory_bytes);
	uint64_t groups = (share->blocks + share->stride - 1) / share->stride;
	uint8_t *tracked = calloc(groups, 1);
	uint64_t first = 0;

	assert_true(ledger_memory_bytes(ledger) <= share->memory_bytes);
	assert_true(ledger_coverage(ledger) == (double)groups / (double)share->blocks);
	for (uint64_t block = 0; block < share->blocks; block++) {
		ledger_ack(ledger, block, block + 1);
		if (ledger_expect(ledger, block).rule == LEDGER_EXACT) {
			check(ledger, block, LEDGER_EXACT, block + 1);
			tracked[block / share->stride]++;
			first += block % share->stride == 0;
		}
	}
	for (uint64_t group = 0; group < groups; group++)
		assert_int_equal(tracked[group], 1);
	/* The hash prefers no place in the group. */
	if (share->stride > 1)
		assert_true(first * share->stride < 2 * groups + 20 * share->stride);
	free(tracked);
	ledger_close(ledger);
}

static void test_one_block_of_each_group_is_tracked(void **state)
{
	static const struct share shares[] = {
		{ 1, 8192, 1 },
		{ 511, 8192, 1 },
		{ 512, 8192, 1 },
		{ 513, 8192, 2 },
		{ 1024, 8192, 2 },
		{ 1025, 8192, 3 },
		{ 100003, 8192, 196 },
		{ 100003, 8192 + 4095, 196 },
		{ 100003, 409600, 2 },
		{ 1000000, 20480, 489 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(shares); i++)
		share_check(&shares[i]);
}

/* 16 TB in blocks of 16 KiB and the default memory: 8 388 096 entries fit, so 1 of 120. */
static void test_a_thousand_million_blocks_fit_the_memory(void **state)
{
	const uint64_t blocks = 1000000000;
	struct ledger *ledger = create(blocks, 64 << 20);
	unsigned tracked = 0;

	(void)state;
	assert_true(ledger_memory_bytes(ledger) <= 64 << 20);
	assert_true(ledger_coverage(ledger) == 8333334.0 / 1e9);
	for (uint64_t group = 0; group < 8333334; group += 9973) {
		for (uint64_t block = group * 120; block < (group + 1) * 120 && block < blocks; block++) {
			ledger_ack(ledger, block, 3);
			tracked += ledger_expect(ledger, block).rule == LEDGER_EXACT;
		}
	}
	assert_int_equal(tracked, (8333333 / 9973) + 1);
	for (uint64_t block = 8333333ULL * 120; block < blocks; block++) {
		ledger_ack(ledger, block, 4);
		tracked += ledger_expect(ledger, block).rule == LEDGER_EXACT;
	}
	assert_int_equal(tracked, (8333333 / 9973) + 2);
	ledger_close(ledger);
}

static void test_the_largest_extents_do_not_overflow(void **state)
{
	static const uint64_t counts[] = { 1ULL << 52, (1ULL << 52) + 1, UINT64_MAX - 1, UINT64_MAX };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
		struct ledger *ledger = create(counts[i], MEMORY_MOST);
		uint64_t block = 1;

		assert_true(ledger_memory_bytes(ledger) <= MEMORY_MOST);
		assert_true(ledger_coverage(ledger) > 0);
		for (unsigned k = 0; k < 100000; k++) {
			block = block * 6364136223846793005ULL + 1442695040888963407ULL;
			ledger_submit(ledger, block % counts[i]);
			ledger_ack(ledger, block % counts[i], 5);
			ledger_ack(ledger, counts[i] - 1 - k, 5);
		}
		ledger_close(ledger);
	}
}

static void test_too_little_memory_is_refused_in_words(void **state)
{
	struct ledger_setup setup = setup_make(100, 8191);
	struct ledger *ledger = NULL;
	char why[LEDGER_WHY_MAX];

	(void)state;
	assert_int_equal(ledger_create(&setup, &ledger, why), -EINVAL);
	assert_string_equal(why, "8191 bytes of memory are too few for a ledger");
	assert_null(ledger);
}

static void test_a_clean_stop_keeps_everything(void **state)
{
	struct ledger *ledger = create(513, 8192);
	uint64_t sequence = 0;
	char why[LEDGER_WHY_MAX];
	unsigned exact = 0;

	(void)state;
	assert_int_equal(ledger_next_start(ledger, &sequence, why), 0);
	assert_true(sequence == START(1));
	for (uint64_t block = 0; block < 513; block++)
		ledger_ack(ledger, block, sequence + block);
	ledger_close(ledger);
	ledger = reopen(513, false, "");
	for (uint64_t block = 0; block < 513; block++) {
		if (ledger_expect(ledger, block).rule == LEDGER_EXACT) {
			check(ledger, block, LEDGER_EXACT, START(1) + block);
			exact++;
		} else {
			/* Never cut short: one write whatever its age. */
			check(ledger, block, LEDGER_WHOLE, 0);
		}
	}
	assert_int_equal(exact, 257);
	/* The same ledger for the part that the fill reached. */
	ledger_close(ledger);
	ledger = reopen(100, false, "");
	assert_true(ledger_coverage(ledger) == 257.0 / 513);
	ledger_close(ledger);
}

/* A process that writes and ends without a word. */
static void test_a_kill_keeps_what_was_stored(void **state)
{
	struct ledger *ledger = create(513, 8192);
	unsigned whole = 0, exact = 0;
	int status;
	pid_t child;

	(void)state;
	ledger_close(ledger);
	child = fork();
	if (child == 0) {
		uint64_t sequence;
		char why[LEDGER_WHY_MAX];

		ledger = reopen(513, false, "");
		if (ledger_next_start(ledger, &sequence, why))
			_exit(1);
		for (uint64_t block = 0; block < 513; block++)
			ledger_ack(ledger, block, sequence + block);
		for (uint64_t block = 0; block < 40; block++)
			ledger_submit(ledger, block);
		(void)raise(SIGKILL);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	ledger = reopen(513, false, "");
	for (uint64_t block = 0; block < 513; block++) {
		enum ledger_rule rule = ledger_expect(ledger, block).rule;

		whole += rule == LEDGER_WHOLE;
		exact += rule == LEDGER_EXACT;
		if (rule != LEDGER_UNTRACKED)
			check(ledger, block, block < 40 ? LEDGER_AT_LEAST : LEDGER_EXACT, START(1) + block);
	}
	assert_int_equal(exact, 257 - 20); /* one of every two */
	assert_int_equal(whole, 0);
	ledger_close(ledger);
}

static void test_a_failed_write_that_is_not_tracked_makes_mixes_legal(void **state)
{
	struct ledger *ledger = create(513, 8192);

	(void)state;
	for (uint64_t block = 0; block < 2; block++) {
		ledger_submit(ledger, block);
		ledger_ack(ledger, block, 5);
	}
	for (uint64_t block = 0; block < 2; block++)
		if (ledger_expect(ledger, block).rule == LEDGER_EXACT) {
			ledger_fail(ledger, block);
			check(ledger, block, LEDGER_AT_LEAST, 5);
			check(ledger, 1 - block, LEDGER_WHOLE, 0);
		}
	for (uint64_t block = 0; block < 2; block++)
		ledger_fail(ledger, block);
	assert_int_equal(ledger_expect(ledger, 0).rule + ledger_expect(ledger, 1).rule,
		LEDGER_UNTRACKED + LEDGER_AT_LEAST);
	ledger_close(ledger);
}

static uint64_t start_next(struct ledger *ledger)
{
	uint64_t sequence = 0;
	char why[LEDGER_WHY_MAX];

	assert_int_equal(ledger_next_start(ledger, &sequence, why), 0);
	assert_string_equal(why, "");
	assert_int_equal(sequence % START(1), 0);
	return sequence / START(1);
}

static void bytes_put(const char *path, off_t at, const void *bytes, size_t count)
{
	int fd = open(path, O_WRONLY);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes, count, at), count);
	(void)close(fd);
}

static void epoch_take(struct ledger *ledger)
{
	char why[LEDGER_WHY_MAX];

	assert_int_equal(ledger_epoch_begin(ledger), 0);
	assert_int_equal(ledger_epoch_commit(ledger, why), 0);
	assert_string_equal(why, "");
}

static void test_start_numbers_are_never_given_twice(void **state)
{
	struct ledger *ledger = create(100, MEMORY_MOST);
	uint8_t junk[512];

	(void)state;
	memset(junk, 0xa5, sizeof(junk));
	assert_int_equal(start_next(ledger), 1);
	assert_int_equal(start_next(ledger), 2);
	epoch_take(ledger);
	assert_int_equal(start_next(ledger), 3);
	ledger_close(ledger);
	ledger = reopen(100, false, "");
	assert_int_equal(start_next(ledger), 4);
	ledger_close(ledger);
	/* The power went: the map's number is newer than the epoch's. */
	ledger = reopen(100, true, "");
	assert_int_equal(start_next(ledger), 5);
	assert_int_equal(start_next(ledger), 6);
	ledger_close(ledger);
	/* The two places, one torn: by 7, which then was never given out, or 6 itself by whatever else. */
	for (unsigned i = 0; i < 2; i++) {
		bytes_put(PATH, i ? 512 : 1024, junk, sizeof(junk));
		ledger = reopen(100, true, "");
		assert_int_equal(start_next(ledger), i ? 9 : 8);
		ledger_close(ledger);
	}
}

static void test_a_lost_map_leaps_over_the_starts_since_the_epoch(void **state)
{
	struct ledger *ledger = create(100, MEMORY_MOST);
	uint8_t junk[4096];

	(void)state;
	memset(junk, 0x5a, sizeof(junk));
	assert_int_equal(start_next(ledger), 1);
	ledger_ack(ledger, 5, START(1) + 77);
	epoch_take(ledger);
	assert_int_equal(start_next(ledger), 2);
	ledger_close(ledger);
	bytes_put(PATH, 0, junk, sizeof(junk));
	ledger = reopen(100, true, "");
	check(ledger, 5, LEDGER_AT_LEAST, START(1) + 77);
	assert_int_equal(start_next(ledger), 1 + 1024 + 1);
	ledger_close(ledger);
	assert_int_equal(unlink(PATH), 0);
	ledger = reopen(100, true, "");
	check(ledger, 5, LEDGER_AT_LEAST, START(1) + 77);
	assert_int_equal(start_next(ledger), 1 + 1024 + 1);
	ledger_close(ledger);
}

static void test_start_numbers_end_before_they_reach_the_flags(void **state)
{
	struct ledger *ledger = create(100, MEMORY_MOST);
	uint64_t sequence = 5, start[2] = { (1 << 22) - 2 };
	char why[LEDGER_WHY_MAX];

	(void)state;
	ledger_close(ledger);
	start[1] = XXH3_64bits(start, sizeof(start[0]));
	bytes_put(PATH, 512, start, sizeof(start));
	bytes_put(PATH, 1024, start, sizeof(start));
	ledger = reopen(100, false, "");
	assert_int_equal(start_next(ledger), (1 << 22) - 1);
	assert_int_equal(ledger_next_start(ledger, &sequence, why), -EOVERFLOW);
	assert_int_equal(sequence, 5);
	assert_non_null(strstr(why, PATH));
	ledger_close(ledger);
}

static void test_after_a_power_loss_the_epoch_counts(void **state)
{
	struct ledger *ledger = create(100, MEMORY_MOST);
	uint64_t junk[100];

	(void)state;
	(void)start_next(ledger);
	ledger_ack(ledger, 1, START(1) + 10); /* clean */
	ledger_ack(ledger, 2, START(1) + 11);
	ledger_submit(ledger, 2); /* in flight at the epoch: what was acknowledged counts */
	ledger_submit(ledger, 3); /* in flight, nothing acknowledged */
	ledger_ack(ledger, 4, START(1) + 12);
	ledger_submit(ledger, 4);
	ledger_fail(ledger, 4);
	assert_int_equal(ledger_epoch_begin(ledger), 0);
	/* Acknowledged after the flush began: it may be lost. */
	ledger_ack(ledger, 1, START(1) + 20);
	ledger_ack(ledger, 3, START(1) + 21);
	ledger_ack(ledger, 5, START(1) + 22);
	{
		char why[LEDGER_WHY_MAX];

		assert_int_equal(ledger_epoch_commit(ledger, why), 0);
	}
	/* An epoch whose flush never completed. */
	assert_int_equal(ledger_epoch_begin(ledger), 0);
	ledger_close(ledger);
	memset(junk, 0x77, sizeof(junk));
	bytes_put(PATH, 4096, junk, sizeof(junk));
	ledger = reopen(100, true, "");
	check(ledger, 1, LEDGER_AT_LEAST, START(1) + 10);
	check(ledger, 2, LEDGER_AT_LEAST, START(1) + 11);
	check(ledger, 3, LEDGER_ANY, 0);
	check(ledger, 4, LEDGER_AT_LEAST, START(1) + 12);
	check(ledger, 5, LEDGER_ANY, 0);
	/* Written again: exact again. */
	ledger_submit(ledger, 1);
	check(ledger, 1, LEDGER_AT_LEAST, START(1) + 10);
	ledger_ack(ledger, 1, START(2));
	check(ledger, 1, LEDGER_EXACT, START(2));
	ledger_close(ledger);
	/* It stays so over a clean restart, and the next power loss goes back to the same epoch. */
	ledger = reopen(100, false, "");
	check(ledger, 1, LEDGER_EXACT, START(2));
	check(ledger, 2, LEDGER_AT_LEAST, START(1) + 11);
	check(ledger, 5, LEDGER_ANY, 0);
	ledger_close(ledger);
	ledger = reopen(100, true, "");
	check(ledger, 1, LEDGER_AT_LEAST, START(1) + 10);
	ledger_close(ledger);
}

static void blind_check(const char *said)
{
	struct ledger *ledger = reopen(1000, true, said);

	for (uint64_t block = 0; block < 1000; block++)
		check(ledger, block, LEDGER_AT_LEAST, 0);
	assert_true(start_next(ledger) > 1);
	ledger_close(ledger);
}

static void test_without_a_good_epoch_nothing_older_is_held_against_the_drive(void **state)
{
	static const char missing[] = EPOCH_PATH
		" is missing: after the power loss no older data can be held "
		"against the drive";
	static const char damaged[] = EPOCH_PATH
		" is damaged: after the power loss no older data can be held "
		"against the drive";
	struct ledger *ledger = create(1000, MEMORY_MOST);
	struct stat info;

	(void)state;
	(void)start_next(ledger);
	for (uint64_t block = 0; block < 1000; block++)
		ledger_ack(ledger, block, START(1) + block);
	ledger_close(ledger);
	blind_check(missing);
	for (off_t at = 0; at < 12000; at += 299) {
		uint8_t byte;
		int fd;

		ledger = create(1000, MEMORY_MOST);
		(void)start_next(ledger);
		for (uint64_t block = 0; block < 1000; block++)
			ledger_ack(ledger, block, START(1) + block);
		epoch_take(ledger);
		ledger_close(ledger);
		fd = open(EPOCH_PATH, O_RDWR);
		assert_int_equal(pread(fd, &byte, 1, at), 1);
		byte ^= 0x10;
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
		(void)close(fd);
		blind_check(damaged);
	}
	ledger = create(1000, MEMORY_MOST);
	(void)start_next(ledger);
	epoch_take(ledger);
	ledger_close(ledger);
	assert_int_equal(stat(EPOCH_PATH, &info), 0);
	assert_int_equal(info.st_size, 4096 + 8000 + 8);
	assert_int_equal(truncate(EPOCH_PATH, info.st_size - 1), 0);
	blind_check(damaged);
}

static void test_a_new_ledger_forgets_the_epoch_of_an_earlier_run(void **state)
{
	struct ledger *ledger = create(100, MEMORY_MOST);

	(void)state;
	(void)start_next(ledger);
	epoch_take(ledger);
	assert_int_equal(access(EPOCH_PATH, F_OK), 0);
	ledger_close(ledger);
	ledger_close(create(100, MEMORY_MOST));
	assert_int_equal(access(EPOCH_PATH, F_OK), -1);
}

/* Whoever is stopped between the loss and the new map must not be followed by one who believes the old map. */
static void test_a_recovery_that_fails_is_done_again(void **state)
{
	struct ledger *ledger = create(100, MEMORY_MOST);
	struct ledger_setup setup = setup_make(100, MEMORY_MOST);

	(void)state;
	(void)start_next(ledger);
	ledger_ack(ledger, 1, START(1));
	epoch_take(ledger);
	ledger_ack(ledger, 1, START(1) + 1);
	ledger_close(ledger);
	assert_int_equal(mkdir(PATH ".new", 0700), 0);
	assert_int_equal(open_fails(&setup, true), -EISDIR);
	assert_int_equal(rmdir(PATH ".new"), 0);
	ledger = reopen(100, false, "");
	check(ledger, 1, LEDGER_AT_LEAST, START(1));
	ledger_close(ledger);
}

static void test_a_commit_needs_a_begin(void **state)
{
	struct ledger *ledger = create(100, MEMORY_MOST);
	char why[LEDGER_WHY_MAX];

	(void)state;
	assert_int_equal(ledger_epoch_commit(ledger, why), -EINVAL);
	assert_non_null(strstr(why, EPOCH_PATH));
	assert_int_equal(ledger_epoch_begin(ledger), 0);
	assert_int_equal(ledger_epoch_begin(ledger), 0);
	assert_int_equal(ledger_epoch_commit(ledger, why), 0);
	assert_int_equal(ledger_epoch_commit(ledger, why), -EINVAL);
	ledger_close(ledger);
}

static void test_a_ledger_of_another_run_or_damaged_is_refused(void **state)
{
	struct ledger *ledger;
	struct ledger_setup setup = setup_make(100, MEMORY_MOST);

	(void)state;
	assert_int_equal(open_fails(&setup, false), -ENOENT);
	assert_int_equal(open_fails(&setup, true), -ENOENT);
	ledger = create(100, MEMORY_MOST);
	assert_int_equal(open_fails(&setup, false), -EBUSY);
	assert_int_equal(open_fails(&setup, true), -EBUSY);
	ledger_close(ledger);
	setup.run_tag++;
	assert_int_equal(open_fails(&setup, false), -EBADMSG);
	assert_int_equal(open_fails(&setup, true), -EBADMSG);
	setup.run_tag--;
	setup.block_bytes *= 2;
	assert_int_equal(open_fails(&setup, false), -EBADMSG);
	setup.block_bytes /= 2;
	setup.block_count++;
	assert_int_equal(open_fails(&setup, false), -EBADMSG);
	setup.block_count--;
	ledger_close(reopen(100, false, ""));
	assert_int_equal(truncate(PATH, 4096), 0);
	assert_int_equal(open_fails(&setup, false), -EBADMSG);
	assert_int_equal(truncate(PATH, 8192), 0);
	ledger_close(reopen(100, false, ""));
	bytes_put(PATH, 20, "?", 1);
	assert_int_equal(open_fails(&setup, false), -EBADMSG);
}

static void test_the_map_takes_its_room_at_once(void **state)
{
	struct ledger *ledger = create(1000000, 4 << 20);
	struct stat info;

	(void)state;
	assert_int_equal(stat(PATH, &info), 0);
	assert_int_equal(info.st_size, ledger_memory_bytes(ledger));
	assert_true(info.st_blocks * 512 >= info.st_size);
	ledger_close(ledger);
}

/* In a process with a mount of its own: 0 as it should be, 77 when that is not allowed. */
static int full_disk_try(void)
{
	struct ledger_setup setup = setup_make(100000, MEMORY_MOST);
	struct ledger *ledger = NULL;
	char why[LEDGER_WHY_MAX] = "";

	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		mount("none", FOLDER, "tmpfs", 0, "size=128k"))
		return 77;
	if (ledger_create(&setup, &ledger, why) != -ENOSPC || ledger ||
		strcmp(why, "no ledger can be made at " PATH ": No space left on device") != 0)
		return 1;
	return access(PATH ".new", F_OK) == 0 || access(PATH, F_OK) == 0;
}

static void test_a_full_disk_is_said_at_once(void **state)
{
	int status = 0;
	pid_t child = fork();

	(void)state;
	if (child == 0)
		_exit(full_disk_try());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

struct writer {
	struct ledger *ledger;
	unsigned index;
	_Atomic bool stop;
};

/* Even sequences only while its blocks are in flight, acknowledged one after the other. */
static void *writer_main(void *arg)
{
	struct writer *writer = arg;

	for (uint64_t sequence = 1; !atomic_load(&writer->stop); sequence++) {
		for (uint64_t block = writer->index; block < 100; block += 2) {
			ledger_submit(writer->ledger, block);
			ledger_ack(writer->ledger, block, START(1) + sequence);
		}
	}
	return NULL;
}

/* An epoch never holds more than was acknowledged when it ended, nor less than when it began. */
static void test_epochs_are_taken_while_workers_write(void **state)
{
	struct ledger *ledger = create(100, MEMORY_MOST);
	struct writer writers[2];
	pthread_t threads[2];
	uint64_t before[100];

	(void)state;
	(void)start_next(ledger);
	for (uint64_t block = 0; block < 100; block++)
		ledger_ack(ledger, block, START(1));
	for (unsigned i = 0; i < 2; i++) {
		writers[i].ledger = ledger;
		writers[i].index = i;
		atomic_init(&writers[i].stop, false);
		assert_int_equal(pthread_create(&threads[i], NULL, writer_main, &writers[i]), 0);
	}
	for (unsigned i = 0; i < 20; i++) {
		for (uint64_t block = 0; block < 100; block++)
			before[block] = ledger_expect(ledger, block).sequence;
		epoch_take(ledger);
	}
	for (unsigned i = 0; i < 2; i++) {
		atomic_store(&writers[i].stop, true);
		(void)pthread_join(threads[i], NULL);
	}
	uint64_t after[100];
	for (uint64_t block = 0; block < 100; block++)
		after[block] = ledger_expect(ledger, block).sequence;
	ledger_close(ledger);
	ledger = reopen(100, true, "");
	for (uint64_t block = 0; block < 100; block++) {
		struct ledger_expectation expect = ledger_expect(ledger, block);

		assert_int_equal(expect.rule, LEDGER_AT_LEAST);
		assert_true(expect.sequence >= before[block]);
		assert_true(expect.sequence <= after[block]);
	}
	ledger_close(ledger);
}

#define LEDGER_TEST(function) cmocka_unit_test_setup_teardown(function, folder_make, folder_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LEDGER_TEST(test_an_entry_follows_its_writes),
		LEDGER_TEST(test_one_block_of_each_group_is_tracked),
		LEDGER_TEST(test_a_thousand_million_blocks_fit_the_memory),
		LEDGER_TEST(test_the_largest_extents_do_not_overflow),
		LEDGER_TEST(test_too_little_memory_is_refused_in_words),
		LEDGER_TEST(test_a_clean_stop_keeps_everything),
		LEDGER_TEST(test_a_kill_keeps_what_was_stored),
		LEDGER_TEST(test_a_failed_write_that_is_not_tracked_makes_mixes_legal),
		LEDGER_TEST(test_start_numbers_are_never_given_twice),
		LEDGER_TEST(test_a_lost_map_leaps_over_the_starts_since_the_epoch),
		LEDGER_TEST(test_start_numbers_end_before_they_reach_the_flags),
		LEDGER_TEST(test_after_a_power_loss_the_epoch_counts),
		LEDGER_TEST(test_without_a_good_epoch_nothing_older_is_held_against_the_drive),
		LEDGER_TEST(test_a_new_ledger_forgets_the_epoch_of_an_earlier_run),
		LEDGER_TEST(test_a_recovery_that_fails_is_done_again),
		LEDGER_TEST(test_a_commit_needs_a_begin),
		LEDGER_TEST(test_a_ledger_of_another_run_or_damaged_is_refused),
		LEDGER_TEST(test_the_map_takes_its_room_at_once),
		LEDGER_TEST(test_a_full_disk_is_said_at_once),
		LEDGER_TEST(test_epochs_are_taken_while_workers_write),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
