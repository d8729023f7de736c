/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The judge on every mixture of sectors, and the sweep on drives that answer badly. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../fault/faulty.h"
#include "base/clock.h"
#include "engine/engine.h"
#include "engine/payload.h"
#include "engine/verify.h"

#define SECTOR	 PAYLOAD_SECTOR_BYTES
#define BLOCK	 16384u
#define RUN_TAG	 0xabcdef0123456789ULL
#define FIRST	 4000u /* sector of the judged block */
#define STOP_NS	 (10 * NS_PER_S)
#define KEPT_MAX 64

/* One sector as the drive returns it. */
enum content {
	OLD,	   /* good, sequence 9 */
	NOW,	   /* good, 10 */
	NEW,	   /* good, 11 */
	MIX,	   /* stamp of 10, pieces of 9 */
	MIX_OLD,   /* stamp of 9, pieces of 10 */
	FLIPPED,   /* 10 with a wrong bit */
	ZERO,	   /* never stamped */
	ELSEWHERE, /* good, 10, of another place */
	FOREIGN,   /* good, of this place, another run, 99 */
	CONTENT_COUNT
};

static uint8_t contents[CONTENT_COUNT][4][SECTOR];

static void sectors_make(
	uint8_t sectors[4][SECTOR], uint64_t body, uint64_t run_tag, uint64_t sector, uint64_t sequence)
{
	const struct payload_stamp stamp = { .run_tag = run_tag, .sector = sector, .sequence = sequence };
	uint64_t hashes[4];

	payload_make_bodies(sectors[0], 4 * (size_t)SECTOR, body, hashes);
	payload_stamp(sectors[0], 4 * (size_t)SECTOR, &stamp, hashes);
}

static int contents_make(void **state)
{
	(void)state;
	sectors_make(contents[OLD], 1, RUN_TAG, FIRST, 9);
	sectors_make(contents[NOW], 2, RUN_TAG, FIRST, 10);
	sectors_make(contents[NEW], 3, RUN_TAG, FIRST, 11);
	sectors_make(contents[ELSEWHERE], 4, RUN_TAG, FIRST + 4, 10);
	sectors_make(contents[FOREIGN], 5, RUN_TAG + 1, FIRST, 99);
	memcpy(contents[MIX], contents[NOW], sizeof(contents[MIX]));
	memcpy(contents[MIX_OLD], contents[OLD], sizeof(contents[MIX_OLD]));
	memcpy(contents[FLIPPED], contents[NOW], sizeof(contents[FLIPPED]));
	for (unsigned i = 0; i < 4; i++) {
		memcpy(contents[MIX][i] + 512, contents[OLD][i] + 512, 1024);
		memcpy(contents[MIX_OLD][i] + 3584, contents[NOW][i] + 3584, 512);
		contents[FLIPPED][i][3000] ^= 4;
	}
	return 0;
}

struct judged {
	enum content sectors[4];
	struct ledger_expectation expect;
	uint32_t lba_bytes;
	enum verify_verdict verdict;
	uint64_t found;
};

#define EXACT                                                                                                \
	{                                                                                                    \
		LEDGER_EXACT, 10                                                                             \
	}
#define AT_LEAST                                                                                             \
	{                                                                                                    \
		LEDGER_AT_LEAST, 10                                                                          \
	}
#define WHOLE                                                                                                \
	{                                                                                                    \
		LEDGER_WHOLE, 0                                                                              \
	}
#define UNTRACKED                                                                                            \
	{                                                                                                    \
		LEDGER_UNTRACKED, 0                                                                          \
	}
#define ANY                                                                                                  \
	{                                                                                                    \
		LEDGER_ANY, 0                                                                                \
	}

static const struct judged judged[] = {
	{ { NOW, NOW, NOW, NOW }, EXACT, 512, VERIFY_GOOD, 10 },
	{ { OLD, OLD, OLD, OLD }, EXACT, 512, VERIFY_STALE, 9 },
	{ { NOW, OLD, OLD, OLD }, EXACT, 512, VERIFY_TORN, 10 },
	{ { NOW, NOW, NOW, OLD }, EXACT, 4096, VERIFY_TORN, 10 },
	{ { NOW, NOW, MIX, NOW }, EXACT, 512, VERIFY_TORN, 10 },
	{ { MIX_OLD, MIX_OLD, MIX_OLD, MIX_OLD }, EXACT, 512, VERIFY_TORN, 9 },
	/* Newer than the ledger knows: a finding about the ledger, not the drive. */
	{ { NEW, NEW, NEW, NEW }, EXACT, 512, VERIFY_GOOD, 11 },
	{ { NEW, NOW, NOW, NEW }, EXACT, 512, VERIFY_GOOD, 11 },
	{ { NEW, OLD, NOW, NEW }, EXACT, 512, VERIFY_TORN, 11 },
	{ { NOW, FLIPPED, NOW, NOW }, EXACT, 512, VERIFY_CORRUPT, 10 },
	{ { OLD, FLIPPED, OLD, NOW }, EXACT, 512, VERIFY_CORRUPT, 10 },
	{ { ZERO, ZERO, ZERO, ZERO }, EXACT, 512, VERIFY_CORRUPT, 0 },
	{ { ELSEWHERE, ELSEWHERE, ELSEWHERE, ELSEWHERE }, EXACT, 512, VERIFY_MISDIRECTED, 10 },
	{ { NOW, NOW, NOW, ELSEWHERE }, EXACT, 512, VERIFY_MISDIRECTED, 10 },
	{ { FLIPPED, NOW, NOW, ELSEWHERE }, EXACT, 512, VERIFY_MISDIRECTED, 10 },
	{ { FOREIGN, FOREIGN, FOREIGN, FOREIGN }, EXACT, 512, VERIFY_MISDIRECTED, 0 },
	{ { NOW, FOREIGN, NOW, NOW }, EXACT, 512, VERIFY_MISDIRECTED, 10 },

	{ { NOW, NOW, NOW, NOW }, AT_LEAST, 512, VERIFY_GOOD, 10 },
	{ { NEW, NOW, NEW, NOW }, AT_LEAST, 512, VERIFY_GOOD, 11 },
	{ { NEW, NOW, OLD, NOW }, AT_LEAST, 512, VERIFY_STALE, 11 },
	{ { OLD, OLD, OLD, OLD }, AT_LEAST, 4096, VERIFY_STALE, 9 },
	{ { NOW, MIX, NOW, NOW }, AT_LEAST, 512, VERIFY_GOOD, 10 },
	{ { NOW, MIX, NOW, NOW }, AT_LEAST, 0, VERIFY_GOOD, 10 },
	{ { NOW, MIX, NOW, NOW }, AT_LEAST, 4096, VERIFY_TORN, 10 },
	{ { NOW, MIX_OLD, NOW, NOW }, AT_LEAST, 512, VERIFY_STALE, 10 },
	{ { NEW, FLIPPED, NOW, NOW }, AT_LEAST, 512, VERIFY_CORRUPT, 11 },
	{ { NEW, ZERO, NOW, NOW }, AT_LEAST, 512, VERIFY_CORRUPT, 11 },
	{ { NEW, ELSEWHERE, NOW, NOW }, AT_LEAST, 512, VERIFY_MISDIRECTED, 11 },

	{ { OLD, OLD, OLD, OLD }, WHOLE, 512, VERIFY_GOOD, 9 },
	{ { NEW, NEW, NEW, NEW }, WHOLE, 512, VERIFY_GOOD, 11 },
	{ { NEW, NEW, NOW, NEW }, WHOLE, 512, VERIFY_TORN, 11 },
	{ { NOW, NOW, MIX, NOW }, WHOLE, 512, VERIFY_TORN, 10 },
	{ { NOW, NOW, ZERO, NOW }, WHOLE, 512, VERIFY_CORRUPT, 10 },

	{ { OLD, NOW, NEW, OLD }, UNTRACKED, 512, VERIFY_GOOD, 11 },
	{ { OLD, NOW, MIX, OLD }, UNTRACKED, 512, VERIFY_GOOD, 10 },
	{ { OLD, NOW, MIX, OLD }, UNTRACKED, 4096, VERIFY_TORN, 10 },
	{ { OLD, NOW, FLIPPED, OLD }, UNTRACKED, 512, VERIFY_CORRUPT, 10 },
	{ { ZERO, NOW, NOW, OLD }, UNTRACKED, 512, VERIFY_CORRUPT, 10 },
	{ { OLD, NOW, ELSEWHERE, OLD }, UNTRACKED, 512, VERIFY_MISDIRECTED, 10 },
	{ { OLD, NOW, FOREIGN, OLD }, UNTRACKED, 512, VERIFY_MISDIRECTED, 10 },

	{ { ZERO, ZERO, ZERO, ZERO }, ANY, 512, VERIFY_GOOD, 0 },
	{ { FOREIGN, FLIPPED, MIX, NOW }, ANY, 4096, VERIFY_GOOD, 10 },
	{ { FOREIGN, FLIPPED, ELSEWHERE, NOW }, ANY, 512, VERIFY_MISDIRECTED, 10 },
};

static void test_a_block_is_judged_by_what_it_may_hold(void **state)
{
	static uint8_t data[4 * SECTOR];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(judged); i++) {
		const struct verify_place place = { RUN_TAG, FIRST, BLOCK, judged[i].lba_bytes };
		uint64_t found = 12345;
		enum verify_verdict verdict;

		for (unsigned k = 0; k < 4; k++)
			memcpy(data + (size_t)k * SECTOR, contents[judged[i].sectors[k]][k], SECTOR);
		verdict = verify_judge(data, &place, &judged[i].expect, &found);
		if (verdict != judged[i].verdict || found != judged[i].found)
			fail_msg("row %zu: %s, found %llu", i, verify_verdict_name(verdict),
				(unsigned long long)found);
	}
}

static void test_a_block_of_one_sector_is_judged(void **state)
{
	const struct ledger_expectation expect = EXACT;
	const struct verify_place place = { RUN_TAG, FIRST + 2, SECTOR, 512 };
	uint64_t found;

	(void)state;
	assert_int_equal(verify_judge(contents[NOW][2], &place, &expect, &found), VERIFY_GOOD);
	assert_int_equal(verify_judge(contents[NOW][1], &place, &expect, &found), VERIFY_MISDIRECTED);
	assert_int_equal(verify_judge(contents[OLD][2], &place, &expect, &found), VERIFY_STALE);
	assert_int_equal(found, 9);
}

static void test_verdicts_have_names(void **state)
{
	static const char *const names[VERIFY_VERDICT_COUNT] = { "good", "corrupt", "torn", "misdirected",
		"stale", "unreadable" };

	(void)state;
	for (unsigned i = 0; i < VERIFY_VERDICT_COUNT; i++)
		assert_string_equal(verify_verdict_name((enum verify_verdict)i), names[i]);
}

static void test_a_short_file_is_no_media_error(void **state)
{
	(void)state;
	assert_string_equal(verify_error_text(VERIFY_FILE_ENDS), "the file ends before it");
	assert_string_equal(verify_error_text(ENODATA), "the drive reports a media error (ENODATA)");
	assert_string_equal(verify_error_text(EIO), "Input/output error");
}

/* What a sweep said. */
struct said {
	unsigned count;
	struct verify_finding findings[KEPT_MAX];
	_Atomic unsigned ends;
	struct verify_progress progress;
};

static void finding_keep(void *arg, const struct verify_finding *finding)
{
	struct said *said = arg;

	if (said->count < KEPT_MAX)
		said->findings[said->count] = *finding;
	said->count++;
}

static void end_count(void *arg)
{
	struct said *said = arg;

	atomic_fetch_add(&said->ends, 1);
}

static void sweep(const struct verify_job *model, struct said *said)
{
	struct verify_job job = *model;
	struct verify *verify = NULL;
	char why[ENGINE_WHY_MAX] = "";

	memset(said, 0, sizeof(*said));
	job.on_finding = finding_keep;
	job.on_end = end_count;
	job.on_finding_arg = job.on_end_arg = said;
	if (verify_start(&job, &verify, why))
		fail_msg("%s", why);
	do {
		(void)usleep(200);
		verify_read(verify, &said->progress);
	} while (!said->progress.is_over);
	assert_true(verify_stop(verify, STOP_NS));
	verify_free(verify);
	assert_int_equal(atomic_load(&said->ends), 1);
}

/* A drive of two files of 40 blocks, no multiple of a request, all stamped by their place, with sequence 10. */
struct stand {
	struct faulty *drive;
	struct verify_job job;
};

static void block_stamp(struct faulty *drive, uint64_t block, uint64_t place, uint64_t sequence)
{
	sectors_make((uint8_t(*)[SECTOR])faulty_block(drive, block), block + 1, RUN_TAG, place * 4, sequence);
}

static int stand_make(void **state)
{
	const struct faulty_setup setup = {
		.file_bytes = 40 * BLOCK, .file_count = 2, .block_bytes = BLOCK, .seed = 5
	};
	struct stand *stand = calloc(1, sizeof(*stand));

	stand->drive = faulty_new(&setup);
	for (uint64_t block = 0; block < 80; block++)
		block_stamp(stand->drive, block, block, 10);
	stand->job = (struct verify_job){
		.fds = faulty_fds(stand->drive),
		.fd_count = 2,
		.file_bytes = 40 * BLOCK,
		.to_bytes = 80 * BLOCK,
		.block_bytes = BLOCK,
		.run_tag = RUN_TAG,
		.ops = &faulty_ops,
	};
	*state = stand;
	return 0;
}

static int stand_free(void **state)
{
	struct stand *stand = *state;

	faulty_free(stand->drive);
	free(stand);
	return 0;
}

static void counts_check(const struct said *said, const uint64_t counts[VERIFY_VERDICT_COUNT])
{
	for (unsigned i = 0; i < VERIFY_VERDICT_COUNT; i++)
		assert_int_equal(said->progress.counts[i], counts[i]);
}

/* Findings may come in any order of requests: find the one of a block. */
static const struct verify_finding *finding_of(const struct said *said, uint64_t block)
{
	for (unsigned i = 0; i < said->count && i < KEPT_MAX; i++)
		if (said->findings[i].offset_bytes == block * BLOCK)
			return &said->findings[i];
	fail_msg("block %llu was not reported", (unsigned long long)block);
	return NULL;
}

static void test_a_sweep_names_each_bad_block(void **state)
{
	const struct stand *stand = *state;
	struct said said;

	sweep(&stand->job, &said);
	counts_check(&said, (const uint64_t[VERIFY_VERDICT_COUNT]){ 80 });
	assert_int_equal(said.count, 0);
	assert_int_equal(said.progress.blocks, 80);
	assert_int_equal(said.progress.tracked_blocks, 0);
	assert_int_equal(said.progress.done_bytes, 80 * BLOCK);
	assert_int_equal(said.progress.error, 0);

	faulty_block(stand->drive, 39)[100] ^= 1;
	memset(faulty_block(stand->drive, 79), 0, BLOCK);
	block_stamp(stand->drive, 40, 41, 77);
	sweep(&stand->job, &said);
	counts_check(&said, (const uint64_t[VERIFY_VERDICT_COUNT]){
				    [VERIFY_GOOD] = 77, [VERIFY_CORRUPT] = 2, [VERIFY_MISDIRECTED] = 1 });
	assert_int_equal(said.count, 3);
	assert_int_equal(finding_of(&said, 39)->verdict, VERIFY_CORRUPT);
	assert_int_equal(finding_of(&said, 79)->verdict, VERIFY_CORRUPT);
	assert_int_equal(finding_of(&said, 79)->found_sequence, 0);
	assert_int_equal(finding_of(&said, 40)->verdict, VERIFY_MISDIRECTED);
	assert_int_equal(finding_of(&said, 40)->found_sequence, 77);
	assert_int_equal(finding_of(&said, 40)->expected_sequence, 0);
}

static void test_a_sweep_holds_blocks_against_the_ledger(void **state)
{
	struct stand *stand = *state;
	const struct ledger_setup setup = { .path = "verify-test.ledger",
		.run_tag = RUN_TAG,
		.block_count = 80,
		.block_bytes = BLOCK,
		.memory_bytes = 8192 };
	struct ledger *ledger = NULL;
	struct said said;
	char why[LEDGER_WHY_MAX];

	assert_int_equal(ledger_create(&setup, &ledger, why), 0);
	for (uint64_t block = 0; block < 70; block++)
		ledger_ack(ledger, block, 10);
	ledger_ack(ledger, 3, 12); /* lost: stale */
	ledger_ack(ledger, 4, 8);  /* the ledger is behind */
	ledger_submit(ledger, 5);
	memcpy(faulty_block(stand->drive, 6) + SECTOR, contents[ZERO][0], SECTOR);
	ledger_submit(ledger, 70); /* its first write failed: anything */
	ledger_fail(ledger, 70);
	memset(faulty_block(stand->drive, 70), 0, BLOCK);
	stand->job.ledger = ledger;
	sweep(&stand->job, &said);
	counts_check(&said, (const uint64_t[VERIFY_VERDICT_COUNT]){
				    [VERIFY_GOOD] = 78, [VERIFY_CORRUPT] = 1, [VERIFY_STALE] = 1 });
	assert_int_equal(said.progress.tracked_blocks, 70);
	assert_int_equal(said.progress.ahead_blocks, 1);
	assert_int_equal(finding_of(&said, 3)->verdict, VERIFY_STALE);
	assert_int_equal(finding_of(&said, 3)->expected_sequence, 12);
	assert_int_equal(finding_of(&said, 3)->found_sequence, 10);
	assert_int_equal(finding_of(&said, 6)->verdict, VERIFY_CORRUPT);
	ledger_close(ledger);
	(void)unlink("verify-test.ledger");
}

static void test_unreadable_blocks_are_found_one_by_one(void **state)
{
	const struct stand *stand = *state;
	struct said said;

	faulty_set_read_error(stand->drive, 0, EIO);
	faulty_set_read_error(stand->drive, 17, EIO);
	faulty_set_read_error(stand->drive, 18, EREMOTEIO);
	faulty_set_read_error(stand->drive, 79, ENODATA);
	faulty_block(stand->drive, 19)[100] ^= 1;
	for (unsigned are_short = 0; are_short < 2; are_short++) {
		faulty_set_short_reads(stand->drive, are_short);
		sweep(&stand->job, &said);
		counts_check(
			&said, (const uint64_t[VERIFY_VERDICT_COUNT]){
				       [VERIFY_GOOD] = 75, [VERIFY_CORRUPT] = 1, [VERIFY_UNREADABLE] = 4 });
		assert_int_equal(said.count, 5);
		assert_int_equal(finding_of(&said, 0)->error, EIO);
		assert_int_equal(finding_of(&said, 17)->error, EIO);
		assert_int_equal(finding_of(&said, 18)->error, EREMOTEIO);
		assert_int_equal(finding_of(&said, 79)->error, ENODATA);
		assert_int_equal(finding_of(&said, 79)->verdict, VERIFY_UNREADABLE);
		assert_int_equal(finding_of(&said, 19)->verdict, VERIFY_CORRUPT);
		assert_int_equal(said.progress.blocks, 80);
		assert_int_equal(said.progress.done_bytes, 80 * BLOCK);
		assert_int_equal(said.progress.error, 0);
	}
}

static void test_a_last_part_of_a_block_is_read(void **state)
{
	struct stand *stand = *state;
	struct said said;

	stand->job.to_bytes = 79 * BLOCK + SECTOR + 100;
	sweep(&stand->job, &said);
	counts_check(&said, (const uint64_t[VERIFY_VERDICT_COUNT]){ 80 });
	assert_int_equal(said.progress.done_bytes, 79 * BLOCK + SECTOR);
	faulty_block(stand->drive, 79)[SECTOR] ^= 1; /* behind it */
	sweep(&stand->job, &said);
	assert_int_equal(said.count, 0);
	faulty_block(stand->drive, 79)[SECTOR - 1] ^= 1;
	sweep(&stand->job, &said);
	assert_int_equal(said.count, 1);
	assert_int_equal(finding_of(&said, 79)->verdict, VERIFY_CORRUPT);
	stand->job.to_bytes = 100;
	sweep(&stand->job, &said);
	assert_int_equal(said.progress.blocks, 0);
}

static void test_every_block_size_and_depth_reads_all(void **state)
{
	static const uint32_t sizes[] = { 4096, 8192, 16384, 32768, 65536, 131072 };
	struct stand *stand = *state;
	struct said said;

	faulty_block(stand->drive, 40)[0] ^= 1;
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
		for (unsigned depth = 1; depth < 40; depth += 13) {
			stand->job.block_bytes = sizes[i];
			stand->job.queue_depth = depth;
			sweep(&stand->job, &said);
			assert_int_equal(said.progress.blocks, 80 * BLOCK / sizes[i]);
			assert_int_equal(said.count, 1);
			assert_int_equal(said.findings[0].offset_bytes, 40 * BLOCK / sizes[i] * sizes[i]);
		}
}

static void test_a_drive_that_is_gone_ends_the_sweep(void **state)
{
	const struct stand *stand = *state;
	struct said said;

	faulty_set_read_error(stand->drive, 50, ENODEV);
	sweep(&stand->job, &said);
	assert_int_equal(said.progress.error, -ENODEV);
	assert_int_equal(said.count, 0);
	assert_true(said.progress.done_bytes < 80 * BLOCK);
}

static void test_a_job_that_does_not_fit_is_refused(void **state)
{
	struct stand *stand = *state;
	struct verify *verify = NULL;
	char why[ENGINE_WHY_MAX];

	stand->job.to_bytes++;
	assert_int_equal(verify_start(&stand->job, &verify, why), -EINVAL);
	assert_string_equal(why, "1310721 bytes in blocks of 16384 do not fit 2 files of 655360 bytes");
	stand->job.to_bytes--;
	stand->job.block_bytes = 6000;
	assert_int_equal(verify_start(&stand->job, &verify, why), -EINVAL);
	assert_null(verify);
}

/* Ops that hold every request until released. */
static _Atomic bool held_release, held_queued;

static void held_queue(struct ring *ring, const struct ring_request *request)
{
	faulty_ops.queue(ring, request);
	atomic_store(&held_queued, true);
}

static int held_reap(
	struct ring *ring, unsigned least, uint64_t timeout_ns, struct ring_completion *out, unsigned most)
{
	while (!atomic_load(&held_release))
		(void)usleep(1000);
	return faulty_ops.reap(ring, least, timeout_ns, out, most);
}

static void test_a_held_sweep_is_left_alone_and_ends_early(void **state)
{
	struct stand *stand = *state;
	struct ring_ops ops = faulty_ops;
	struct verify *verify = NULL;
	struct said said = { 0 };
	char why[ENGINE_WHY_MAX];

	ops.queue = held_queue;
	ops.reap = held_reap;
	stand->job.ops = &ops;
	stand->job.queue_depth = 1;
	stand->job.on_end = end_count;
	stand->job.on_end_arg = &said;
	assert_int_equal(verify_start(&stand->job, &verify, why), 0);
	assert_string_equal(verify_engine_name(verify), "faulty");
	while (!atomic_load(&held_queued))
		(void)usleep(100);
	assert_false(verify_stop(verify, 20 * NS_PER_MS));
	verify_read(verify, &said.progress);
	assert_false(said.progress.is_over);
	assert_int_equal(said.progress.done_bytes, 0);
	atomic_store(&held_release, true);
	assert_true(verify_stop(verify, STOP_NS));
	verify_read(verify, &said.progress);
	assert_true(said.progress.is_over);
	assert_int_equal(said.progress.error, 0);
	assert_int_equal(said.progress.done_bytes, 40 * BLOCK); /* what was in flight, and no more */
	assert_int_equal(atomic_load(&said.ends), 0);
	verify_free(verify);
	verify_free(NULL);
}

/* The kernel's interfaces on a real file, whose end is missing. */
static void kernel_sweep(enum config_engine kind, uint64_t base)
{
	struct said said;
	int fd = open("verify-test.dat", O_RDWR | O_CREAT | O_TRUNC | O_DIRECT, 0600);
	struct verify_job job = {
		.fds = &fd,
		.fd_count = 1,
		.file_bytes = 200 * BLOCK,
		.to_bytes = 200 * BLOCK,
		.base_bytes = base,
		.block_bytes = BLOCK,
		.run_tag = RUN_TAG,
		.engine = kind,
	};
	uint8_t *buffer = aligned_alloc(4096, BLOCK);

	if (fd < 0)
		fd = open("verify-test.dat", O_RDWR | O_CREAT | O_TRUNC, 0600);
	for (uint64_t block = 0; block < 200; block++) {
		sectors_make((uint8_t(*)[SECTOR])buffer, block + 1, RUN_TAG, block * 4, block);
		if (block == 150)
			buffer[5000] ^= 1;
		assert_int_equal(pwrite(fd, buffer, BLOCK, (off_t)(base + block * BLOCK)), BLOCK);
	}
	assert_int_equal(ftruncate(fd, (off_t)(base + 198 * BLOCK + 512)), 0);
	sweep(&job, &said);
	counts_check(&said, (const uint64_t[VERIFY_VERDICT_COUNT]){
				    [VERIFY_GOOD] = 197, [VERIFY_CORRUPT] = 1, [VERIFY_UNREADABLE] = 2 });
	assert_int_equal(finding_of(&said, 150)->verdict, VERIFY_CORRUPT);
	assert_int_equal(finding_of(&said, 198)->error, VERIFY_FILE_ENDS);
	assert_int_equal(finding_of(&said, 199)->error, VERIFY_FILE_ENDS);
	free(buffer);
	(void)close(fd);
	(void)unlink("verify-test.dat");
}

static void test_a_file_is_read_through_the_kernel(void **state)
{
	(void)state;
	kernel_sweep(ENGINE_AUTO, 0);
	kernel_sweep(ENGINE_LIBAIO, 0);
	kernel_sweep(ENGINE_AUTO, 3 * SECTOR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_block_is_judged_by_what_it_may_hold),
		cmocka_unit_test(test_a_block_of_one_sector_is_judged),
		cmocka_unit_test(test_verdicts_have_names),
		cmocka_unit_test(test_a_short_file_is_no_media_error),
		cmocka_unit_test_setup_teardown(test_a_sweep_names_each_bad_block, stand_make, stand_free),
		cmocka_unit_test_setup_teardown(
			test_a_sweep_holds_blocks_against_the_ledger, stand_make, stand_free),
		cmocka_unit_test_setup_teardown(
			test_unreadable_blocks_are_found_one_by_one, stand_make, stand_free),
		cmocka_unit_test_setup_teardown(test_a_last_part_of_a_block_is_read, stand_make, stand_free),
		cmocka_unit_test_setup_teardown(
			test_every_block_size_and_depth_reads_all, stand_make, stand_free),
		cmocka_unit_test_setup_teardown(
			test_a_drive_that_is_gone_ends_the_sweep, stand_make, stand_free),
		cmocka_unit_test_setup_teardown(
			test_a_job_that_does_not_fit_is_refused, stand_make, stand_free),
		cmocka_unit_test_setup_teardown(
			test_a_held_sweep_is_left_alone_and_ends_early, stand_make, stand_free),
		cmocka_unit_test(test_a_file_is_read_through_the_kernel),
	};

	return cmocka_run_group_tests(tests, contents_make, NULL);
}
