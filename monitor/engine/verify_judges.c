/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who judges which span: the sweep's thread, and helpers as soon as there is more than it can take at once. */
#include "engine/verify_private.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

/* Helpers stand back for whoever is being measured on the same host. */
#define HELPER_NICE 10

struct tally {
	uint64_t blocks, tracked_blocks, ahead_blocks;
	uint64_t counts[VERIFY_VERDICT_COUNT];
};

static void counter_add(_Atomic uint64_t *counter, uint64_t value)
{
	if (value)
		atomic_fetch_add_explicit(counter, value, memory_order_relaxed);
}

static void tally_publish(struct progress *progress, const struct tally *tally)
{
	counter_add(&progress->blocks, tally->blocks);
	counter_add(&progress->tracked_blocks, tally->tracked_blocks);
	counter_add(&progress->ahead_blocks, tally->ahead_blocks);
	for (unsigned i = 0; i < VERIFY_VERDICT_COUNT; i++)
		counter_add(&progress->counts[i], tally->counts[i]);
}

static void finding_report(struct verify *verify, const struct verify_finding *finding)
{
	if (!verify->job.on_finding)
		return;
	(void)pthread_mutex_lock(&verify->judges.telling);
	verify->job.on_finding(verify->job.on_finding_arg, finding);
	(void)pthread_mutex_unlock(&verify->judges.telling);
}

struct ledger_expectation judges_expect(const struct verify *verify, uint64_t offset_bytes, uint32_t bytes)
{
	const struct ledger_expectation unknown = { .rule = LEDGER_UNTRACKED };

	if (!verify->job.ledger || bytes < verify->job.block_bytes)
		return unknown;
	return ledger_expect(verify->job.ledger, offset_bytes / verify->job.block_bytes);
}

void judges_unreadable(struct verify *verify, const struct verify_finding *finding)
{
	counter_add(&verify->progress.blocks, 1);
	counter_add(&verify->progress.counts[VERIFY_UNREADABLE], 1);
	finding_report(verify, finding);
}

static void block_judge(
	struct verify *verify, const uint8_t *data, uint64_t offset, uint32_t bytes, struct tally *tally)
{
	const struct verify_place place = {
		.run_tag = verify->job.run_tag,
		.first_sector = offset / PAYLOAD_SECTOR_BYTES,
		.block_bytes = bytes,
		.lba_bytes = verify->job.lba_bytes,
	};
	struct ledger_expectation expect = judges_expect(verify, offset, bytes);
	struct verify_finding finding = { .offset_bytes = offset, .expected_sequence = expect.sequence };

	finding.verdict = verify_judge(data, &place, &expect, &finding.found_sequence);
	tally->tracked_blocks += expect.rule == LEDGER_EXACT || expect.rule == LEDGER_AT_LEAST;
	tally->ahead_blocks += expect.rule == LEDGER_EXACT && finding.verdict == VERIFY_GOOD &&
			       finding.found_sequence > expect.sequence;
	tally->blocks++;
	tally->counts[finding.verdict]++;
	if (finding.verdict != VERIFY_GOOD)
		finding_report(verify, &finding);
}

static void span_judge(struct verify *verify, const struct span *span)
{
	const uint32_t block_bytes = verify->job.block_bytes;
	struct tally tally = { 0 };

	for (uint32_t at = 0, block = 0; at < span->bytes; at += block_bytes, block++) {
		uint32_t bytes = span->bytes - at < block_bytes ? span->bytes - at : block_bytes;

		if (!(span->bad[block / 64] >> block % 64 & 1))
			block_judge(verify, span->buffer + at, span->offset_bytes + at, bytes, &tally);
	}
	tally_publish(&verify->progress, &tally);
	counter_add(&verify->progress.done_bytes, span->bytes);
}

/* With the lock held, and again when it returns. */
static void next_judge(struct verify *verify)
{
	struct judges *judges = &verify->judges;
	const unsigned index = judges->ready[judges->ready_from];

	judges->ready_from = (judges->ready_from + 1) % verify->span_count;
	judges->ready_count--;
	judges->busy_count++;
	(void)pthread_mutex_unlock(&judges->lock);
	span_judge(verify, &verify->spans[index]);
	(void)pthread_mutex_lock(&judges->lock);
	judges->busy_count--;
	judges->idle[judges->idle_count++] = index;
	(void)pthread_cond_signal(&judges->has_idle);
}

static void *helper_main(void *arg)
{
	struct verify *verify = arg;
	struct judges *judges = &verify->judges;

	(void)setpriority(PRIO_PROCESS, (id_t)gettid(), HELPER_NICE);
	(void)pthread_mutex_lock(&judges->lock);
	while (!judges->is_over) {
		if (judges->ready_count)
			next_judge(verify);
		else
			(void)pthread_cond_wait(&judges->has_ready, &judges->lock);
	}
	(void)pthread_mutex_unlock(&judges->lock);
	return NULL;
}

bool judges_take_idle(struct verify *verify, unsigned *index)
{
	struct judges *judges = &verify->judges;
	bool has_one;

	(void)pthread_mutex_lock(&judges->lock);
	has_one = judges->idle_count > 0;
	if (has_one)
		*index = judges->idle[--judges->idle_count];
	(void)pthread_mutex_unlock(&judges->lock);
	return has_one;
}

void judges_give(struct verify *verify, unsigned index)
{
	struct judges *judges = &verify->judges;

	(void)pthread_mutex_lock(&judges->lock);
	judges->ready[(judges->ready_from + judges->ready_count++) % verify->span_count] = index;
	/* The first is for who gave it. */
	if (judges->ready_count > 1)
		(void)pthread_cond_signal(&judges->has_ready);
	(void)pthread_mutex_unlock(&judges->lock);
}

bool judges_have_ready(struct verify *verify)
{
	bool have;

	(void)pthread_mutex_lock(&verify->judges.lock);
	have = verify->judges.ready_count > 0;
	(void)pthread_mutex_unlock(&verify->judges.lock);
	return have;
}

bool judges_have_work(struct verify *verify)
{
	bool have;

	(void)pthread_mutex_lock(&verify->judges.lock);
	have = verify->judges.ready_count || verify->judges.busy_count;
	(void)pthread_mutex_unlock(&verify->judges.lock);
	return have;
}

bool judges_judge_one(struct verify *verify)
{
	struct judges *judges = &verify->judges;
	bool has_one;

	(void)pthread_mutex_lock(&judges->lock);
	has_one = judges->ready_count > 0;
	if (has_one)
		next_judge(verify);
	(void)pthread_mutex_unlock(&judges->lock);
	return has_one;
}

void judges_wait(struct verify *verify)
{
	struct judges *judges = &verify->judges;

	(void)pthread_mutex_lock(&judges->lock);
	if (judges->busy_count && !judges->ready_count)
		(void)pthread_cond_wait(&judges->has_idle, &judges->lock);
	(void)pthread_mutex_unlock(&judges->lock);
}

static unsigned helpers_wanted(void)
{
	cpu_set_t cpus;
	unsigned count = sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? (unsigned)CPU_COUNT(&cpus) : 1;

	return count > VERIFY_HELPERS_MAX ? VERIFY_HELPERS_MAX : count - 1;
}

/* Called by the sweep's thread, whose blocked signals they inherit. */
void judges_start(struct verify *verify)
{
	struct judges *judges = &verify->judges;

	for (unsigned wanted = helpers_wanted(); judges->helper_count < wanted; judges->helper_count++)
		if (pthread_create(&judges->helpers[judges->helper_count], NULL, helper_main, verify))
			return;
}

void judges_stop(struct verify *verify)
{
	struct judges *judges = &verify->judges;

	(void)pthread_mutex_lock(&judges->lock);
	judges->is_over = true;
	(void)pthread_cond_broadcast(&judges->has_ready);
	(void)pthread_mutex_unlock(&judges->lock);
	while (judges->helper_count)
		(void)pthread_join(judges->helpers[--judges->helper_count], NULL);
}

int judges_init(struct verify *verify)
{
	struct judges *judges = &verify->judges;

	(void)pthread_mutex_init(&judges->lock, NULL);
	(void)pthread_mutex_init(&judges->telling, NULL);
	(void)pthread_cond_init(&judges->has_ready, NULL);
	(void)pthread_cond_init(&judges->has_idle, NULL);
	judges->idle = calloc(verify->span_count, sizeof(*judges->idle));
	judges->ready = calloc(verify->span_count, sizeof(*judges->ready));
	if (!judges->idle || !judges->ready)
		return -ENOMEM;
	for (unsigned i = 0; i < verify->span_count; i++)
		judges->idle[judges->idle_count++] = verify->span_count - 1 - i;
	return 0;
}

void judges_fini(struct verify *verify)
{
	struct judges *judges = &verify->judges;

	free(judges->idle);
	free(judges->ready);
	(void)pthread_cond_destroy(&judges->has_idle);
	(void)pthread_cond_destroy(&judges->has_ready);
	(void)pthread_mutex_destroy(&judges->telling);
	(void)pthread_mutex_destroy(&judges->lock);
}
