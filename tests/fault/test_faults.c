/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What engine, ledger and sweep find together, against a drive whose every fault is known: all that stands is named
 * right, and nothing else is reported; nor after kills and power losses, however often. DRIVESOAK_LONG=1 in the
 * environment: ten times the writes. */
#include "../unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "engine/engine.h"
#include "engine/ledger.h"
#include "engine/verify.h"
#include "faulty.h"

#define BLOCK	     16384u
#define FILES	     4u
#define RUN_TAG	     0x5eed5eed0123456fULL
#define STOP_NS	     (30 * NS_PER_S)
#define ROUND_WRITES 10000u

/* One run on one drive. */
struct rig {
	uint64_t file_bytes;
	uint64_t blocks;
	const int *fds;
	const struct ring_ops *ops; /* NULL: the kernel's */
	struct ledger_setup ledger_setup;
	struct ledger *ledger;
	uint32_t lba_bytes;
	uint64_t seed;
	char path[64];
};

/* A sweep's answer for every block. */
struct answer {
	uint64_t blocks;
	uint8_t *verdicts;
	struct verify_progress progress;
};

static bool is_long(void)
{
	const char *value = getenv("DRIVESOAK_LONG");

	return value && strcmp(value, "1") == 0;
}

static void rig_init(struct rig *rig, uint64_t blocks, const char *name, uint64_t memory_bytes)
{
	memset(rig, 0, sizeof(*rig));
	(void)snprintf(rig->path, sizeof(rig->path), "faults-%d-%s.ledger", (int)getpid(), name);
	rig->blocks = blocks;
	rig->file_bytes = blocks / FILES * BLOCK;
	rig->seed = 7;
	rig->ledger_setup = (struct ledger_setup){
		.path = rig->path,
		.run_tag = RUN_TAG,
		.block_count = blocks,
		.block_bytes = BLOCK,
		.memory_bytes = memory_bytes,
	};
}

static void rig_unlink(const struct rig *rig)
{
	char epoch[80];

	(void)snprintf(
		epoch, sizeof(epoch), "%.*s.epoch", (int)(strlen(rig->path) - strlen(".ledger")), rig->path);
	(void)unlink(rig->path);
	(void)unlink(epoch);
	(void)strcat(epoch, ".tmp");
	(void)unlink(epoch);
}

static void must(int rc, const char *why)
{
	if (rc)
		fail_msg("%d: %s", rc, why);
}

static void rig_reopen(struct rig *rig, bool power_lost)
{
	char why[LEDGER_WHY_MAX];

	ledger_close(rig->ledger);
	must(ledger_open(&rig->ledger_setup, power_lost, &rig->ledger, why), why);
}

/* The engine of the service, started on the rig; fill or soak. */
static struct engine *rig_start(struct rig *rig, bool is_fill)
{
	struct engine_job job = {
		.fds = rig->fds,
		.fd_count = FILES,
		.file_bytes = rig->file_bytes,
		.is_fill = is_fill,
		.to_bytes = rig->file_bytes * FILES,
		.block_bytes = BLOCK,
		.threads = 2,
		.queue_depth = 16,
		.ops = rig->ops,
		.payload = PAYLOAD_RANDOM,
		.run_tag = RUN_TAG,
		.seed = rig->seed++,
		.workload = WORKLOAD_RANDOM_WRITE,
		.ledger = rig->ledger,
	};
	struct engine *engine = NULL;
	char why[ENGINE_WHY_MAX];

	must(ledger_next_start(rig->ledger, &job.first_sequence, why), why);
	must(engine_new(&job, &engine, why), why);
	must(engine_start(engine, why), why);
	return engine;
}

static void engine_wait_writes(struct engine *engine, uint64_t writes)
{
	static struct engine_totals totals;

	for (;;) {
		engine_read(engine, &totals);
		if (totals.write_ios >= writes)
			return;
		(void)usleep(500);
	}
}

static uint64_t rig_finish(struct engine *engine)
{
	static struct engine_totals totals;

	assert_true(engine_stop(engine, STOP_NS));
	engine_read(engine, &totals);
	engine_free(engine);
	return totals.write_ios;
}

static void rig_fill(struct rig *rig)
{
	struct engine *engine = rig_start(rig, true);
	struct engine_fill_end end;

	while (!engine_fill_ended(engine, &end))
		(void)usleep(500);
	assert_int_equal(end.error, 0);
	assert_int_equal(end.done_bytes, rig->file_bytes * FILES);
	(void)rig_finish(engine);
}

static uint64_t rig_soak(struct rig *rig, uint64_t writes)
{
	struct engine *engine = rig_start(rig, false);

	engine_wait_writes(engine, writes);
	return rig_finish(engine);
}

static void finding_keep(void *arg, const struct verify_finding *finding)
{
	struct answer *answer = arg;
	uint64_t block = finding->offset_bytes / BLOCK;

	assert_int_equal(finding->offset_bytes % BLOCK, 0);
	assert_true(block < answer->blocks);
	assert_int_equal(answer->verdicts[block], VERIFY_GOOD);
	answer->verdicts[block] = (uint8_t)finding->verdict;
}

static void rig_sweep(const struct rig *rig, struct answer *answer)
{
	const struct verify_job job = {
		.fds = rig->fds,
		.fd_count = FILES,
		.file_bytes = rig->file_bytes,
		.to_bytes = rig->file_bytes * FILES,
		.block_bytes = BLOCK,
		.lba_bytes = rig->lba_bytes,
		.run_tag = RUN_TAG,
		.ledger = rig->ledger,
		.ops = rig->ops,
		.on_finding = finding_keep,
		.on_finding_arg = answer,
	};
	struct verify *verify = NULL;
	char why[ENGINE_WHY_MAX];

	memset(answer->verdicts, VERIFY_GOOD, answer->blocks);
	must(verify_start(&job, &verify, why), why);
	do {
		(void)usleep(500);
		verify_read(verify, &answer->progress);
	} while (!answer->progress.is_over);
	assert_true(verify_stop(verify, STOP_NS));
	verify_free(verify);
	assert_int_equal(answer->progress.error, 0);
	assert_int_equal(answer->progress.blocks, rig->blocks);
	assert_int_equal(answer->progress.ahead_blocks, 0);
}

/* Faults that stood at a sweep, by what they had to be called; a fault that stands over several sweeps counts at each. */
struct score {
	uint64_t standing[VERIFY_VERDICT_COUNT], named[VERIFY_VERDICT_COUNT], false_alarms;
};

/* What the sweep can know of the truth: age and wholeness only where the ledger tells. */
static enum verify_verdict truth_visible(const struct rig *rig, struct faulty *drive, uint64_t block)
{
	enum verify_verdict truth = faulty_truth(drive, block);
	enum ledger_rule rule = ledger_expect(rig->ledger, block).rule;

	if (truth == VERIFY_STALE && rule != LEDGER_EXACT && rule != LEDGER_AT_LEAST)
		return VERIFY_GOOD;
	return truth;
}

static void score_add(
	struct score *score, const struct rig *rig, struct faulty *drive, const struct answer *answer)
{
	for (uint64_t block = 0; block < rig->blocks; block++) {
		enum verify_verdict truth = truth_visible(rig, drive, block);

		if (truth == VERIFY_GOOD) {
			score->false_alarms += answer->verdicts[block] != VERIFY_GOOD;
			continue;
		}
		score->standing[truth]++;
		score->named[truth] += answer->verdicts[block] == (uint8_t)truth;
	}
}

static void score_print(const struct score *score, struct faulty *drive, uint64_t writes)
{
	print_message(
		"%llu writes; injected: flip %llu, torn %llu, misdirected %llu, lost %llu, reverted %llu\n",
		(unsigned long long)writes, (unsigned long long)faulty_injected(drive, FAULT_FLIP),
		(unsigned long long)faulty_injected(drive, FAULT_TORN),
		(unsigned long long)faulty_injected(drive, FAULT_MISDIRECTED),
		(unsigned long long)faulty_injected(drive, FAULT_LOST),
		(unsigned long long)faulty_injected(drive, FAULT_REVERTED));
	for (unsigned i = VERIFY_CORRUPT; i <= VERIFY_STALE; i++)
		print_message("%s: %llu of %llu standing named right\n",
			verify_verdict_name((enum verify_verdict)i), (unsigned long long)score->named[i],
			(unsigned long long)score->standing[i]);
	print_message("false alarms: %llu\n", (unsigned long long)score->false_alarms);
}

static void score_check(const struct score *score)
{
	assert_int_equal(score->false_alarms, 0);
	for (unsigned i = VERIFY_CORRUPT; i <= VERIFY_STALE; i++) {
		assert_true(score->standing[i] > 100);
		assert_true(score->named[i] * 1000 >= score->standing[i] * 999);
	}
}

static void campaign(const char *name, uint64_t memory_bytes, double coverage, unsigned rounds)
{
	/* About 1300 faults of each kind, whatever the number of writes. */
	const double chance = 1300.0 / ((double)rounds * ROUND_WRITES);
	const unsigned reverts = 1300 / rounds + 1;
	struct faulty_setup setup = { .file_count = FILES, .block_bytes = BLOCK, .seed = 99 };
	struct answer answer = { .blocks = 4096, .verdicts = calloc(4096, 1) };
	struct score score = { 0 };
	struct faulty *drive;
	struct rig rig;
	char why[LEDGER_WHY_MAX];
	uint64_t writes = 0;

	rig_init(&rig, answer.blocks, name, memory_bytes);
	setup.file_bytes = rig.file_bytes;
	drive = faulty_new(&setup);
	rig.fds = faulty_fds(drive);
	rig.ops = &faulty_ops;
	must(ledger_create(&rig.ledger_setup, &rig.ledger, why), why);
	assert_true(ledger_memory_bytes(rig.ledger) <= memory_bytes);
	assert_true(ledger_coverage(rig.ledger) == coverage);
	rig_fill(&rig);
	for (unsigned fault = 0; fault < FAULT_REVERTED; fault++)
		faulty_set_chance(drive, (enum fault)fault, chance);
	for (unsigned round = 0; round < rounds; round++) {
		writes += rig_soak(&rig, ROUND_WRITES);
		rig_reopen(&rig, false);
		faulty_revert(drive, reverts);
		rig_sweep(&rig, &answer);
		score_add(&score, &rig, drive, &answer);
		assert_int_equal(answer.progress.tracked_blocks, (uint64_t)(coverage * (double)rig.blocks));
	}
	score_print(&score, drive, writes);
	score_check(&score);
	for (unsigned fault = 0; fault < FAULT_COUNT; fault++)
		assert_true(faulty_injected(drive, (enum fault)fault) >= 1000);
	assert_true(writes >= (uint64_t)rounds * ROUND_WRITES);
	ledger_close(rig.ledger);
	rig_unlink(&rig);
	faulty_free(drive);
	free(answer.verdicts);
}

static void test_every_standing_fault_is_named_and_nothing_else(void **state)
{
	(void)state;
	campaign("all", 1 << 20, 1.0, is_long() ? 1000 : 100);
}

/* 8 KiB: 512 entries for 4096 blocks. Torn, corrupt and misdirected blocks are named all the same. */
static void test_a_small_ledger_names_all_but_age(void **state)
{
	(void)state;
	campaign("small", 8192, 0.125, is_long() ? 300 : 60);
}

/* After a power loss the map may be anything. */
static void map_scribble(const struct rig *rig, uint64_t seed)
{
	int fd = open(rig->path, O_WRONLY);
	uint64_t junk[64];

	assert_true(fd >= 0);
	for (unsigned i = 0; i < 64; i++)
		junk[i] = seed * 0x9e3779b97f4a7c15ULL * (i + 1);
	for (off_t at = 4096; at < 4096 + (off_t)(rig->blocks * 8); at += (off_t)sizeof(junk))
		assert_int_equal(pwrite(fd, junk, sizeof(junk), at), sizeof(junk));
	(void)close(fd);
}

/* A flush of the drive with its epoch while the engine writes; @steps of it: begin, flush, commit. */
static void epoch_take(struct rig *rig, struct faulty *drive, unsigned steps)
{
	char why[LEDGER_WHY_MAX];

	if (steps > 0)
		must(ledger_epoch_begin(rig->ledger), "epoch");
	if (steps > 1)
		faulty_flush(drive);
	if (steps > 2)
		must(ledger_epoch_commit(rig->ledger, why), why);
}

/* Writes, flushes and their epochs, then the power goes somewhere: between two steps of an epoch too. */
static void power_loss_round(struct rig *rig, struct faulty *drive, unsigned round)
{
	struct engine *engine = rig_start(rig, false);
	unsigned epochs = round % 3;

	for (unsigned i = 1; i <= epochs; i++) {
		engine_wait_writes(engine, i * 150);
		epoch_take(rig, drive, 3);
	}
	engine_wait_writes(engine, epochs * 150 + 40 + round % 200);
	epoch_take(rig, drive, round / 3 % 4);
	engine_wait_writes(engine, epochs * 150 + 60 + round % 200);
	faulty_power_off(drive);
	(void)rig_finish(engine);
	/* The process is dead: its ledger is not closed but gone, its map is junk. */
	ledger_close(rig->ledger);
	rig->ledger = NULL;
	map_scribble(rig, round + 1);
	faulty_power_on(drive);
	rig_reopen(rig, true);
}

/* The rig of a drive with a volatile cache, filled and flushed. */
static struct faulty *cached_rig(struct rig *rig, uint32_t lba_bytes)
{
	struct faulty_setup setup = {
		.file_count = FILES, .block_bytes = BLOCK, .cache_lba_bytes = lba_bytes, .seed = lba_bytes
	};
	struct faulty *drive;
	char why[LEDGER_WHY_MAX];

	rig_init(rig, 256, lba_bytes == 512 ? "power512" : "power4096", 1 << 20);
	setup.file_bytes = rig->file_bytes;
	rig->lba_bytes = lba_bytes;
	drive = faulty_new(&setup);
	rig->fds = faulty_fds(drive);
	rig->ops = &faulty_ops;
	must(ledger_create(&rig->ledger_setup, &rig->ledger, why), why);
	rig_fill(rig);
	epoch_take(rig, drive, 3);
	return drive;
}

static uint64_t bad_count(const struct answer *answer)
{
	return answer->blocks - answer->progress.counts[VERIFY_GOOD];
}

static void power_losses(uint32_t lba_bytes, unsigned rounds)
{
	struct answer answer = { .blocks = 256, .verdicts = calloc(256, 1) };
	struct rig rig;
	struct faulty *drive = cached_rig(&rig, lba_bytes);
	uint64_t relaxed = 0;

	for (unsigned round = 0; round < rounds; round++) {
		power_loss_round(&rig, drive, round);
		for (uint64_t block = 0; block < rig.blocks; block++)
			relaxed += ledger_expect(rig.ledger, block).rule == LEDGER_AT_LEAST;
		rig_sweep(&rig, &answer);
		assert_int_equal(bad_count(&answer), 0);
	}
	/* Nothing was waved through for want of an epoch. */
	assert_int_equal(relaxed, (uint64_t)rounds * rig.blocks);
	ledger_close(rig.ledger);
	rig_unlink(&rig);
	faulty_free(drive);
	free(answer.verdicts);
}

static void test_power_losses_of_512_byte_blocks_are_legal(void **state)
{
	(void)state;
	power_losses(512, is_long() ? 2000 : 120);
}

static void test_power_losses_of_4096_byte_blocks_are_legal(void **state)
{
	(void)state;
	power_losses(4096, is_long() ? 2000 : 120);
}

/* What the drive had flushed, and the epoch knew, is lost in @count sectors. */
static void liar_rounds(uint32_t lba_bytes, unsigned rounds)
{
	struct answer answer = { .blocks = 256, .verdicts = calloc(256, 1) };
	struct rig rig;
	struct faulty *drive = cached_rig(&rig, lba_bytes);
	struct score score = { 0 };
	unsigned lost = 0;

	for (unsigned round = 0; round < rounds; round++) {
		/* All of it acknowledged before the flush begins. */
		(void)rig_soak(&rig, 100);
		epoch_take(&rig, drive, 3);
		faulty_power_off(drive);
		faulty_power_on(drive);
		lost += faulty_lose_flushed(drive, 5, lba_bytes == 512);
		rig_reopen(&rig, true);
		rig_sweep(&rig, &answer);
		score_add(&score, &rig, drive, &answer);
	}
	assert_int_equal(lost, 5 * rounds);
	assert_true(score.standing[VERIFY_STALE] >= lost);
	assert_int_equal(score.named[VERIFY_STALE], score.standing[VERIFY_STALE]);
	assert_int_equal(score.false_alarms, 0);
	ledger_close(rig.ledger);
	rig_unlink(&rig);
	faulty_free(drive);
	free(answer.verdicts);
}

static void test_a_drive_that_loses_what_it_flushed_is_named(void **state)
{
	(void)state;
	liar_rounds(512, 50);
	liar_rounds(4096, 50);
}

struct data_files {
	char paths[FILES][64];
	int fds[FILES];
};

/* As of the process that calls it: each locks the files until the last of its requests has left the kernel. */
static void files_open(struct data_files *files, bool is_new)
{
	for (unsigned i = 0; i < FILES; i++) {
		int flags = O_RDWR | O_CLOEXEC | O_DIRECT | (is_new ? O_CREAT | O_TRUNC : 0);

		(void)snprintf(files->paths[i], sizeof(files->paths[i]), "faults-%u.dat", i);
		files->fds[i] = open(files->paths[i], flags, 0600);
		if (files->fds[i] < 0)
			files->fds[i] = open(files->paths[i], flags & ~O_DIRECT, 0600);
		assert_true(files->fds[i] >= 0);
		assert_int_equal(flock(files->fds[i], LOCK_EX), 0);
	}
}

static void files_close(struct data_files *files)
{
	for (unsigned i = 0; i < FILES; i++)
		(void)close(files->fds[i]);
}

/* Opens the ledger, writes through the engine and tells when @writes are done; until it is killed. */
static void child_main(struct rig *rig, struct data_files *files, int tell, uint64_t writes)
{
	struct engine *engine;
	char why[LEDGER_WHY_MAX];

	(void)alarm(60);
	files_open(files, false);
	rig->fds = files->fds;
	must(ledger_open(&rig->ledger_setup, false, &rig->ledger, why), why);
	engine = rig_start(rig, false);
	engine_wait_writes(engine, writes);
	(void)!write(tell, "x", 1);
	for (;;)
		(void)pause();
}

static void kill_round(struct rig *rig, struct data_files *files, unsigned round)
{
	int tell[2], status = 0;
	char byte;
	pid_t child;

	assert_int_equal(pipe(tell), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		child_main(rig, files, tell[1], 50 + round * 37 % 400);
	(void)close(tell[1]);
	assert_int_equal(read(tell[0], &byte, 1), 1);
	(void)usleep(round * 131 % 3000);
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	(void)close(tell[0]);
}

static void test_kills_leave_nothing_to_report(void **state)
{
	const unsigned rounds = is_long() ? 200 : 30;
	struct answer answer = { .blocks = 512, .verdicts = calloc(512, 1) };
	struct data_files files;
	struct rig rig;
	uint64_t exact = 0, at_least = 0;
	char why[LEDGER_WHY_MAX];

	(void)state;
	rig_init(&rig, answer.blocks, "kill", 1 << 20);
	files_open(&files, true);
	rig.fds = files.fds;
	must(ledger_create(&rig.ledger_setup, &rig.ledger, why), why);
	rig_fill(&rig);
	for (unsigned round = 0; round < rounds; round++) {
		ledger_close(rig.ledger);
		rig.ledger = NULL;
		files_close(&files);
		rig.seed += round;
		kill_round(&rig, &files, round);
		files_open(&files, false);
		rig.fds = files.fds;
		rig_reopen(&rig, false);
		rig_sweep(&rig, &answer);
		assert_int_equal(bad_count(&answer), 0);
		for (uint64_t block = 0; block < rig.blocks; block++) {
			exact += ledger_expect(rig.ledger, block).rule == LEDGER_EXACT;
			at_least += ledger_expect(rig.ledger, block).rule == LEDGER_AT_LEAST;
		}
	}
	/* Some were in flight at the kills, never more than fit into the queue, and all others are known exactly. */
	assert_int_equal(exact + at_least, (uint64_t)rounds * rig.blocks);
	assert_true(at_least > 0);
	assert_true(exact > (uint64_t)rounds * (rig.blocks / 2));
	ledger_close(rig.ledger);
	rig_unlink(&rig);
	files_close(&files);
	for (unsigned i = 0; i < FILES; i++)
		(void)unlink(files.paths[i]);
	free(answer.verdicts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_standing_fault_is_named_and_nothing_else),
		cmocka_unit_test(test_a_small_ledger_names_all_but_age),
		cmocka_unit_test(test_power_losses_of_512_byte_blocks_are_legal),
		cmocka_unit_test(test_power_losses_of_4096_byte_blocks_are_legal),
		cmocka_unit_test(test_a_drive_that_loses_what_it_flushed_is_named),
		cmocka_unit_test(test_kills_leave_nothing_to_report),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
