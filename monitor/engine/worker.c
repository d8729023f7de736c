/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The loop of one worker: reap, count, refill, submit. No lock, no allocation, two looks at the clock a batch. */
#include "engine/engine_private.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "engine/budget.h"
#include "engine/ledger.h"

/* wait_learn(): reaps it learns from, reaps between, and the most of the queue that is waited for. */
#define LEARN_REAPS	 32u
#define LEARN_EVERY	 1000u
#define WAIT_DEPTH_SHARE 8u

#define FAILURE_PAUSE_NS (10 * NS_PER_MS)

static void counter_add(_Atomic uint64_t *counter, uint64_t value)
{
	atomic_store_explicit(
		counter, atomic_load_explicit(counter, memory_order_relaxed) + value, memory_order_relaxed);
}

static void counters_open(struct worker_counters *counters)
{
	counter_add(&counters->seq, 1);
	atomic_thread_fence(memory_order_release);
}

static void copy(const _Atomic uint64_t *from, _Atomic uint64_t *to)
{
	atomic_store_explicit(to, atomic_load_explicit(from, memory_order_relaxed), memory_order_relaxed);
}

void counters_copy(struct worker_counters *from, struct worker_counters *to)
{
	copy(&from->write_bytes, &to->write_bytes);
	copy(&from->write_ios, &to->write_ios);
	copy(&from->read_bytes, &to->read_bytes);
	copy(&from->read_ios, &to->read_ios);
	copy(&from->errors, &to->errors);
	copy(&from->inflight, &to->inflight);
	copy(&from->inflight_ns, &to->inflight_ns);
	copy(&from->since_ns, &to->since_ns);
	copy(&from->lat_sum_ns, &to->lat_sum_ns);
	copy(&from->commits, &to->commits);
	for (unsigned i = 0; i < HIST_BUCKETS; i++)
		copy(&from->lat[i], &to->lat[i]);
	/* Nearly always without syncs: then there is nothing to copy. */
	if (!atomic_load_explicit(&to->commits, memory_order_relaxed))
		return;
	for (unsigned i = 0; i < HIST_BUCKETS; i++)
		copy(&from->commit_lat[i], &to->commit_lat[i]);
}

static void cut_make(struct worker *worker)
{
	enum cut_state wanted = CUT_WANTED;

	if (!atomic_compare_exchange_strong(&worker->counters.cut_state, &wanted, CUT_BEING_MADE))
		return;
	counters_copy(&worker->counters, &worker->cut);
	atomic_store_explicit(&worker->counters.cut_state, CUT_MADE, memory_order_release);
}

static void counters_close(struct worker *worker)
{
	struct worker_counters *counters = &worker->counters;

	atomic_store_explicit(&counters->seq, atomic_load_explicit(&counters->seq, memory_order_relaxed) + 1,
		memory_order_release);
	if (atomic_load_explicit(&counters->cut_state, memory_order_relaxed) == CUT_WANTED)
		cut_make(worker);
}

/* Bring the time integral of requests in flight up to @now_ns and set what is in flight from there. */
static void inflight_set(struct worker *worker, uint64_t now_ns)
{
	struct worker_counters *counters = &worker->counters;
	uint64_t since = atomic_load_explicit(&counters->since_ns, memory_order_relaxed);
	uint64_t before = atomic_load_explicit(&counters->inflight, memory_order_relaxed);

	counter_add(&counters->inflight_ns, before * (now_ns - since));
	atomic_store_explicit(&counters->since_ns, now_ns, memory_order_relaxed);
	atomic_store_explicit(&counters->inflight, worker->inflight, memory_order_relaxed);
}

/* A completion at @now_ns ends whatever stall there was on the drive. */
static void stall_clock_touch(struct engine *engine, uint64_t now_ns)
{
	uint64_t last = atomic_load_explicit(&engine->last_completion_ns, memory_order_relaxed);
	uint64_t longest;

	if (now_ns < last + STALL_GRAIN_NS)
		return;
	if (!atomic_compare_exchange_strong_explicit(
		    &engine->last_completion_ns, &last, now_ns, memory_order_relaxed, memory_order_relaxed))
		return;
	longest = atomic_load_explicit(&engine->longest_stall_ns, memory_order_relaxed);
	while (now_ns - last > longest &&
		!atomic_compare_exchange_weak_explicit(&engine->longest_stall_ns, &longest, now_ns - last,
			memory_order_relaxed, memory_order_relaxed))
		;
}

static void error_keep(struct engine *engine, const struct slot *slot, int error, uint64_t now_ns)
{
	static const char *const what[] = {
		[RING_WRITE] = "write", [RING_READ] = "read", [RING_SYNC] = "fdatasync"
	};

	(void)pthread_mutex_lock(&engine->error_lock);
	if (engine->error_count < ENGINE_ERRORS) {
		unsigned at = (engine->error_first + engine->error_count++) % ENGINE_ERRORS;

		engine->errors[at] = (struct engine_error){
			.offset_bytes = slot->offset_bytes + slot->done_bytes,
			.error = error,
			.what = what[slot->verb],
			.at_ns = now_ns,
		};
	}
	(void)pthread_mutex_unlock(&engine->error_lock);
}

static void slot_queue(struct worker *worker, unsigned index)
{
	struct engine *engine = worker->engine;
	struct slot *slot = &worker->slots[index];
	uint64_t at = slot->offset_bytes + slot->done_bytes;
	struct ring_request request = {
		.slot = index,
		.file = (unsigned)(at / engine->job.file_bytes),
		.verb = slot->verb,
		.buffer = (slot->verb == RING_READ ? slot->read_buffer : slot->buffer) + slot->done_bytes,
		.bytes = slot->bytes - slot->done_bytes,
		.offset_bytes = engine->job.base_bytes + at % engine->job.file_bytes,
	};

	engine->ops->queue(worker->ring, &request);
	worker->group[worker->group_count++] = index;
	worker->inflight++;
}

/* The group counts as in flight from here: just before it is passed on. */
static void group_time(struct worker *worker)
{
	uint64_t now_ns = clock_mono_ns();

	for (unsigned i = 0; i < worker->group_count; i++) {
		struct slot *slot = &worker->slots[worker->group[i]];

		if (!slot->submit_ns)
			slot->submit_ns = now_ns;
	}
	worker->group_count = 0;
	counters_open(&worker->counters);
	inflight_set(worker, now_ns);
	counters_close(worker);
}

/* A full kernel queue is no failure: what was not taken goes out with the next reap. */
static int group_submit(struct worker *worker)
{
	int rc;

	group_time(worker);
	rc = worker->engine->ops->submit(worker->ring);
	return rc == -EAGAIN || rc == -EBUSY ? 0 : rc;
}

/* Counts requests in flight by the low bits of their block: where it says none, none is. */
static uint16_t *busy_filter(struct worker *worker, uint64_t own_block)
{
	return &worker->busy_filter[own_block % BUSY_FILTER];
}

static bool is_busy(struct worker *worker, uint64_t own_block, uint64_t offset)
{
	unsigned same = 0;

	if (*busy_filter(worker, own_block) == 0)
		return false;
	for (unsigned i = 0; i < worker->depth; i++)
		same += worker->busy_offsets[i] == offset;
	return same > 0;
}

/* Next random block that has no request in flight. A worker owns the blocks whose number leaves its index when
 * divided by the number of workers, so it alone has to look. */
static void soak_pick_block(struct worker *worker, struct slot *slot)
{
	struct engine *engine = worker->engine;

	do {
		slot->own_block = random_below(&worker->random, worker->own_blocks);
		slot->block = slot->own_block * engine->worker_count + worker->index;
		slot->offset_bytes = slot->block * engine->job.block_bytes;
	} while (is_busy(worker, slot->own_block, slot->offset_bytes));
	++*busy_filter(worker, slot->own_block);
}

/* Another share of the budget. False when not even one write is left: then the job is over for all workers. */
static bool share_take(struct worker *worker, uint32_t bytes)
{
	struct engine *engine = worker->engine;
	struct budget *budget = engine->job.budget;

	/* What is left of a share is no whole number of these writes: it goes back and counts with the rest. */
	budget_return(budget, worker->share_bytes);
	worker->share_bytes = budget_take(
		budget, bytes > BUDGET_SHARE_BYTES ? bytes : BUDGET_SHARE_BYTES, bytes);
	if (worker->share_bytes >= bytes)
		return true;
	atomic_store(&engine->budget_spent, true);
	atomic_store(&engine->stop, true);
	return false;
}

/* Charge a write before it is passed on: what is submitted again is the same write. */
static bool write_charge(struct worker *worker, uint32_t bytes)
{
	if (worker->share_bytes < bytes && !share_take(worker, bytes))
		return false;
	worker->share_bytes -= bytes;
	return true;
}

static bool fill_pick(struct worker *worker, uint64_t *offset, uint32_t *bytes)
{
	const struct engine_job *job = &worker->engine->job;
	uint64_t at = worker->fill_next_bytes, left;

	if (at >= worker->fill_limit_bytes)
		return false;
	left = job->file_bytes - at % job->file_bytes;
	if (left > worker->fill_limit_bytes - at)
		left = worker->fill_limit_bytes - at;
	if (left > ENGINE_FILL_BYTES)
		left = ENGINE_FILL_BYTES;
	if (!write_charge(worker, (uint32_t)left))
		return false;
	if (job->before_file && at / job->file_bytes >= worker->fill_file) {
		worker->fill_file = (unsigned)(at / job->file_bytes) + 1;
		job->before_file(job->before_file_arg, worker->fill_file - 1);
	}
	*offset = at;
	*bytes = (uint32_t)left;
	worker->fill_next_bytes = at + left;
	return true;
}

static bool soak_reads_next(struct worker *worker)
{
	const struct engine_job *job = &worker->engine->job;

	if (job->workload == WORKLOAD_RANDOM_MIXED)
		return random_below(&worker->random, 100) < job->read_percent;
	return job->workload == WORKLOAD_RANDOM_READ;
}

/* Tell the ledger of every block of a write: a soak's is one, a fill's are many. */
static void ledger_tell(const struct engine *engine, const struct slot *slot,
	void (*tell)(struct ledger *ledger, uint64_t block, uint64_t sequence))
{
	uint64_t block, end;

	if (!engine->job.is_fill) {
		tell(engine->job.ledger, slot->block, slot->sequence);
		return;
	}
	block = slot->offset_bytes / engine->job.block_bytes;
	end = (slot->offset_bytes + slot->bytes) / engine->job.block_bytes;
	for (; block < end; block++)
		tell(engine->job.ledger, block, slot->sequence);
}

static void ledger_tell_submit(struct ledger *ledger, uint64_t block, uint64_t sequence)
{
	(void)sequence;
	ledger_submit(ledger, block);
}

static void ledger_tell_fail(struct ledger *ledger, uint64_t block, uint64_t sequence)
{
	(void)sequence;
	ledger_fail(ledger, block);
}

static void write_stamp(struct worker *worker, struct slot *slot)
{
	const struct engine_job *job = &worker->engine->job;
	const struct payload_stamp stamp = {
		.run_tag = job->run_tag,
		.sector = slot->offset_bytes / PAYLOAD_SECTOR_BYTES,
		.sequence = worker->sequence,
		.wall_ns = worker->wall_ns,
	};

	slot->sequence = worker->sequence++;
	if (job->payload == PAYLOAD_RANDOM)
		payload_stamp(slot->buffer, slot->bytes, &stamp, slot->body_hashes);
	if (job->ledger)
		ledger_tell(worker->engine, slot, ledger_tell_submit);
}

/* Put a fresh request into a free slot. False when there is nothing more to do. @intended_ns: when it should have
 * been issued, 0: now. */
static bool slot_issue(struct worker *worker, unsigned index, uint64_t intended_ns)
{
	struct engine *engine = worker->engine;
	struct slot *slot = &worker->slots[index];

	if (engine->job.is_fill) {
		if (!fill_pick(worker, &slot->offset_bytes, &slot->bytes))
			return false;
		slot->verb = RING_WRITE;
	} else {
		slot->verb = soak_reads_next(worker) ? RING_READ : RING_WRITE;
		slot->bytes = engine->job.block_bytes;
		if (slot->verb == RING_WRITE && !write_charge(worker, slot->bytes))
			return false;
		soak_pick_block(worker, slot);
	}
	worker->busy_offsets[index] = slot->offset_bytes;
	slot->submit_ns = intended_ns;
	slot->done_bytes = 0;
	if (slot->verb == RING_WRITE)
		write_stamp(worker, slot);
	slot_queue(worker, index);
	return true;
}

/* The client has written its share: wait for fdatasync() before it goes on. */
static void slot_sync(struct worker *worker, unsigned index)
{
	struct slot *slot = &worker->slots[index];

	slot->verb = RING_SYNC;
	slot->write_ns = slot->submit_ns;
	slot->submit_ns = 0;
	slot->done_bytes = 0;
	slot->unsynced = 0;
	slot_queue(worker, index);
}

/* The slot's client goes on: with its sync, at its time, or at once. */
static void slot_refill(struct worker *worker, unsigned index)
{
	struct engine *engine = worker->engine;
	struct slot *slot = &worker->slots[index];

	if (engine->job.fsync_every && slot->unsynced >= engine->job.fsync_every) {
		slot_sync(worker, index);
		return;
	}
	if (worker->busy_offsets[index] != OFFSET_NONE && !engine->job.is_fill)
		--*busy_filter(worker, slot->own_block);
	worker->busy_offsets[index] = OFFSET_NONE;
	if (atomic_load_explicit(&engine->stop, memory_order_relaxed))
		return;
	if (worker->pace_ns > 0)
		worker->idle[worker->idle_count++] = index;
	else
		(void)slot_issue(worker, index, 0);
}

/* The fill is contiguous up to the lowest request that is still under way or was refused for lack of room. */
void worker_note_fill(struct worker *worker)
{
	uint64_t done = worker->fill_next_bytes < worker->fill_limit_bytes ? worker->fill_next_bytes
									   : worker->fill_limit_bytes;

	for (unsigned i = 0; i < worker->depth; i++)
		if (worker->busy_offsets[i] < done)
			done = worker->busy_offsets[i];
	atomic_store_explicit(&worker->engine->fill_done_bytes, done, memory_order_relaxed);
}

static bool is_full(const struct engine_job *job, int error)
{
	return job->is_fill && !job->is_device && (error == ENOSPC || error == EDQUOT || error == EFBIG);
}

static void slot_fail(struct worker *worker, struct slot *slot, int error, uint64_t now_ns)
{
	struct engine *engine = worker->engine;

	/* Refused for lack of room is not written at all. */
	if (is_full(&engine->job, error)) {
		if (slot->offset_bytes < worker->fill_limit_bytes)
			worker->fill_limit_bytes = slot->offset_bytes;
		worker->fill_error = error;
		return;
	}
	if (slot->verb == RING_WRITE && engine->job.ledger)
		ledger_tell(engine, slot, ledger_tell_fail);
	worker->failures_in_row++;
	counter_add(&worker->counters.errors, 1);
	error_keep(engine, slot, error, now_ns);
}

static void slot_count(struct worker *worker, struct slot *slot, uint64_t now_ns)
{
	struct worker_counters *counters = &worker->counters;

	worker->failures_in_row = 0;
	if (slot->verb == RING_SYNC) {
		counter_add(&counters->commits, 1);
		counter_add(&counters->commit_lat[hist_index(now_ns - slot->write_ns)], 1);
		return;
	}
	counter_add(&counters->lat[hist_index(now_ns - slot->submit_ns)], 1);
	counter_add(&counters->lat_sum_ns, now_ns - slot->submit_ns);
	if (slot->verb == RING_READ) {
		counter_add(&counters->read_bytes, slot->bytes);
		counter_add(&counters->read_ios, 1);
		return;
	}
	counter_add(&counters->write_bytes, slot->bytes);
	counter_add(&counters->write_ios, 1);
	slot->unsynced++;
	if (worker->engine->job.ledger)
		ledger_tell(worker->engine, slot, ledger_ack);
}

/* True when the slot's request is over. */
static bool slot_complete(struct worker *worker, unsigned index, int result, uint64_t now_ns)
{
	struct slot *slot = &worker->slots[index];
	bool is_short = slot->verb != RING_SYNC && result > 0 &&
			slot->done_bytes + (uint32_t)result < slot->bytes;

	if (result == -EAGAIN || result == -EINTR || is_short) {
		/* Refused for now or short: the rest goes out again and is part of the same request. */
		slot->done_bytes += is_short ? (uint32_t)result : 0;
		slot_queue(worker, index);
		return false;
	}
	if (result < 0 || (result == 0 && slot->verb != RING_SYNC))
		slot_fail(worker, slot, result ? -result : EIO, now_ns);
	else
		slot_count(worker, slot, now_ns);
	return true;
}

/* The heads of the sectors, which the next write will stamp, have left the cache while the drive had them: fetch them
 * all at once, ahead of their use. */
static void stamps_prefetch(const struct slot *slot)
{
	for (uint32_t at = 0; at < slot->bytes; at += PAYLOAD_SECTOR_BYTES)
		__builtin_prefetch(slot->buffer + at, 1);
}

/* Count up to SUBMIT_GROUP_MOST completions and put fresh requests in their place. */
static void group_handle(
	struct worker *worker, const struct ring_completion *done, unsigned count, uint64_t now_ns)
{
	bool is_over[SUBMIT_GROUP_MOST];

	counters_open(&worker->counters);
	for (unsigned i = 0; i < count; i++)
		is_over[i] = slot_complete(worker, done[i].slot, done[i].result, now_ns);
	counters_close(worker);
	for (unsigned i = 0; i < count; i++)
		if (is_over[i])
			slot_refill(worker, done[i].slot);
}

static int batch_handle(struct worker *worker, unsigned count)
{
	uint64_t now_ns = clock_mono_ns();
	int rc = 0;

	/* From here on they are ours, not the drive's: what we take to refill the queue shows as a lower mean in flight. */
	worker->inflight -= count;
	for (unsigned i = 0; i < count && worker->engine->job.payload == PAYLOAD_RANDOM; i++)
		stamps_prefetch(&worker->slots[worker->completions[i].slot]);
	counters_open(&worker->counters);
	inflight_set(worker, now_ns);
	counters_close(worker);
	worker->wall_ns = (int64_t)now_ns + worker->wall_offset_ns;
	stall_clock_touch(worker->engine, now_ns);
	for (unsigned at = 0; at < count && rc == 0; at += worker->submit_group) {
		unsigned some = count - at < worker->submit_group ? count - at : worker->submit_group;

		group_handle(worker, worker->completions + at, some, now_ns);
		/* The last group goes out with the next wait. */
		if (at + some < count)
			rc = group_submit(worker);
	}
	group_time(worker);
	if (worker->engine->job.is_fill)
		worker_note_fill(worker);
	return rc;
}

static int queue_prime(struct worker *worker)
{
	int rc = 0;

	worker->wall_ns = clock_wall_ns();
	worker->wall_offset_ns = worker->wall_ns - (int64_t)clock_mono_ns();
	atomic_store_explicit(&worker->counters.since_ns, clock_mono_ns(), memory_order_relaxed);
	for (unsigned i = 0; i < worker->depth && rc == 0; i++) {
		slot_refill(worker, i);
		if (worker->group_count >= worker->submit_group)
			rc = group_submit(worker);
	}
	group_time(worker);
	return rc;
}

/* When the worker's first request is due: the workers take turns, else each due time would be a burst of all of them. */
static void pace_begin(struct worker *worker)
{
	worker->due_ns = (double)worker->engine->gate_opened_ns +
			 worker->pace_ns * worker->index / worker->engine->worker_count;
}

/* Issue what is due. How long to wait for the next due time, RING_FOREVER when a completion must come first. */
static uint64_t pace(struct worker *worker)
{
	const struct engine_job *job = &worker->engine->job;
	double now_ns = (double)clock_mono_ns();

	/* Only an open loop owes the past. What is left out are whole turns, so that the workers still take turns. */
	if (!job->is_open_loop && worker->due_ns < now_ns - worker->pace_ns)
		worker->due_ns += (double)(uint64_t)((now_ns - worker->due_ns) / worker->pace_ns) *
				  worker->pace_ns;
	while (worker->idle_count && worker->due_ns <= now_ns) {
		unsigned index = worker->idle[--worker->idle_count];

		/* Nothing more to do, for ever: a due time that has passed is no time to wait for. */
		if (!slot_issue(worker, index, job->is_open_loop ? (uint64_t)worker->due_ns : 0)) {
			group_time(worker);
			return RING_FOREVER;
		}
		worker->due_ns += worker->pace_ns;
	}
	group_time(worker);
	return worker->idle_count ? (uint64_t)(worker->due_ns - now_ns) : RING_FOREVER;
}

/* Wait for a due time with nothing in flight; engine_stop() interrupts it. */
static void pace_sleep(uint64_t ns)
{
	const struct timespec pause = {
		.tv_sec = (time_t)(ns / NS_PER_S),
		.tv_nsec = (long)(ns % NS_PER_S),
	};

	(void)nanosleep(&pause, NULL);
}

/* Part of @wait_ns until the next due time that may be slept, or spent waiting for a completion. */
static uint64_t pace_rest(const struct worker *worker, uint64_t wait_ns)
{
	if (wait_ns == RING_FOREVER)
		return wait_ns;
	return wait_ns > worker->early_ns ? wait_ns - worker->early_ns : 0;
}

/* How many completions to wait for. Now and then the worker waits for one only and counts how many are there by the
 * time it runs: so many arrive while it wakes up. Waiting for half of them later on spares wake-ups and delays the
 * first by part of that time, microseconds; on a slow device none arrive and it is one again. */
static void wait_learn(struct worker *worker, unsigned reaped)
{
	worker->learn_reaps++;
	if (!worker->is_learning) {
		worker->is_learning = worker->learn_reaps == LEARN_EVERY;
		if (worker->is_learning) {
			worker->wait_least = 1;
			worker->is_learning = true;
			worker->learn_reaps = worker->learn_sum = 0;
		}
		return;
	}
	worker->learn_sum += reaped;
	if (worker->learn_reaps < LEARN_REAPS)
		return;
	worker->wait_least = worker->learn_sum / (2 * LEARN_REAPS);
	if (worker->wait_least > worker->depth / WAIT_DEPTH_SHARE)
		worker->wait_least = worker->depth / WAIT_DEPTH_SHARE;
	if (worker->wait_least == 0)
		worker->wait_least = 1;
	worker->is_learning = false;
	worker->learn_reaps = 0;
}

int worker_loop(struct worker *worker)
{
	struct engine *engine = worker->engine;
	int rc = queue_prime(worker);

	pace_begin(worker);
	while (rc >= 0) {
		unsigned least = worker->wait_least;
		uint64_t timeout_ns = RING_FOREVER;

		if (worker->pace_ns > 0 && !atomic_load_explicit(&engine->stop, memory_order_relaxed)) {
			timeout_ns = pace(worker);
			if (!worker->inflight && timeout_ns != RING_FOREVER &&
				!atomic_load_explicit(&engine->stop, memory_order_relaxed)) {
				if (pace_rest(worker, timeout_ns))
					pace_sleep(pace_rest(worker, timeout_ns));
				continue;
			}
		}
		if (!worker->inflight)
			break;
		if (least > worker->inflight)
			least = worker->inflight;
		rc = engine->ops->reap(worker->ring, least, pace_rest(worker, timeout_ns),
			worker->completions, worker->depth);
		if (rc == -EINTR)
			rc = 0;
		if (rc <= 0)
			continue;
		wait_learn(worker, (unsigned)rc);
		rc = batch_handle(worker, (unsigned)rc);
		/* A target that refuses everything at once would be asked millions of times a second. */
		if (worker->failures_in_row >= worker->depth)
			pace_sleep(FAILURE_PAUSE_NS);
	}
	return rc;
}
