/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "faulty.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "engine/payload.h"
#include "engine/random.h"

enum { DRIVES_MOST = 4 };

/* A write that is in the cache only. */
struct cached {
	uint64_t at;
	uint32_t bytes;
	uint8_t *data;
};

struct faulty {
	struct faulty_setup setup;
	unsigned number;
	int *fds;
	pthread_mutex_t lock; /* all below */
	struct random random;
	uint64_t bytes, block_count;
	uint8_t *newest;  /* what a read gets */
	uint8_t *before;  /* each block's good version before its last good write; of a drive without cache */
	uint8_t *durable; /* of a drive with one: as of the last flush, and of the one before */
	uint8_t *durable_before;
	bool *has_before;
	uint8_t *truth; /* enum verify_verdict */
	int *read_errors;
	uint64_t chances[FAULT_COUNT], injected[FAULT_COUNT]; /* of 2^64 */
	bool are_reads_short, is_off;
	uint64_t power_cycles;
	struct cached *log;
	size_t log_count, log_room;
};

struct faulty_request {
	struct ring_request request;
	uint64_t power_cycles; /* and whether the power was on, when it was queued */
	bool was_off;
};

struct ring {
	struct faulty *drive;
	unsigned count;
	struct faulty_request queue[];
};

static struct faulty *drives[DRIVES_MOST];

static void *memory(size_t count, size_t bytes)
{
	void *got = calloc(count, bytes);

	if (!got)
		abort();
	return got;
}

struct faulty *faulty_new(const struct faulty_setup *setup)
{
	struct faulty *drive = memory(1, sizeof(*drive));

	drive->setup = *setup;
	drive->bytes = setup->file_bytes * setup->file_count;
	drive->block_count = drive->bytes / setup->block_bytes;
	random_init(&drive->random, setup->seed);
	(void)pthread_mutex_init(&drive->lock, NULL);
	drive->newest = memory(1, drive->bytes);
	if (setup->cache_lba_bytes) {
		drive->durable = memory(1, drive->bytes);
		drive->durable_before = memory(1, drive->bytes);
	} else {
		drive->before = memory(1, drive->bytes);
		drive->has_before = memory(drive->block_count, sizeof(*drive->has_before));
	}
	drive->truth = memory(drive->block_count, 1);
	drive->read_errors = memory(drive->block_count, sizeof(*drive->read_errors));
	drive->fds = memory(setup->file_count, sizeof(*drive->fds));
	while (drives[drive->number])
		drive->number++;
	drives[drive->number] = drive;
	for (unsigned i = 0; i < setup->file_count; i++)
		drive->fds[i] = (int)drive->number;
	return drive;
}

static void log_clear(struct faulty *drive)
{
	for (size_t i = 0; i < drive->log_count; i++)
		free(drive->log[i].data);
	drive->log_count = 0;
}

void faulty_free(struct faulty *drive)
{
	drives[drive->number] = NULL;
	log_clear(drive);
	free(drive->log);
	free(drive->newest);
	free(drive->before);
	free(drive->durable);
	free(drive->durable_before);
	free(drive->has_before);
	free(drive->truth);
	free(drive->read_errors);
	free(drive->fds);
	(void)pthread_mutex_destroy(&drive->lock);
	free(drive);
}

const int *faulty_fds(const struct faulty *drive)
{
	return drive->fds;
}

void faulty_set_chance(struct faulty *drive, enum fault fault, double chance)
{
	(void)pthread_mutex_lock(&drive->lock);
	drive->chances[fault] = (uint64_t)(chance * 0x1p64);
	(void)pthread_mutex_unlock(&drive->lock);
}

uint64_t faulty_injected(struct faulty *drive, enum fault fault)
{
	uint64_t count;

	(void)pthread_mutex_lock(&drive->lock);
	count = drive->injected[fault];
	(void)pthread_mutex_unlock(&drive->lock);
	return count;
}

enum verify_verdict faulty_truth(struct faulty *drive, uint64_t block)
{
	return (enum verify_verdict)drive->truth[block];
}

uint8_t *faulty_block(struct faulty *drive, uint64_t block)
{
	return drive->newest + block * drive->setup.block_bytes;
}

void faulty_set_read_error(struct faulty *drive, uint64_t block, int error)
{
	drive->read_errors[block] = error;
}

void faulty_set_short_reads(struct faulty *drive, bool are_short)
{
	drive->are_reads_short = are_short;
}

static void log_add(struct faulty *drive, uint64_t at, const uint8_t *data, uint32_t bytes)
{
	if (drive->log_count == drive->log_room) {
		drive->log_room = drive->log_room ? 2 * drive->log_room : 1024;
		drive->log = realloc(drive->log, drive->log_room * sizeof(*drive->log));
		if (!drive->log)
			abort();
	}
	drive->log[drive->log_count] = (struct cached){ at, bytes, memory(1, bytes) };
	memcpy(drive->log[drive->log_count++].data, data, bytes);
}

static void store(struct faulty *drive, uint64_t block, const uint8_t *data, uint32_t bytes)
{
	uint8_t *place = faulty_block(drive, block);

	/* The stamp's first bytes are the run tag: what was never written is no version. */
	if (drive->before && drive->truth[block] == VERIFY_GOOD && place[0]) {
		memcpy(drive->before + block * drive->setup.block_bytes, place, drive->setup.block_bytes);
		drive->has_before[block] = true;
	}
	memcpy(place, data, bytes);
}

/* FAULT_COUNT: none. */
static enum fault fault_draw(struct faulty *drive, uint64_t block)
{
	uint64_t draw = random_next(&drive->random);
	unsigned fault = 0;

	if (drive->truth[block] != VERIFY_GOOD)
		return FAULT_COUNT;
	while (fault < FAULT_COUNT && draw >= drive->chances[fault])
		draw -= drive->chances[fault++];
	return (enum fault)fault;
}

static void misdirect(struct faulty *drive, uint64_t block, const uint8_t *data)
{
	uint64_t victim;

	do
		victim = random_below(&drive->random, drive->block_count);
	while (victim == block || drive->truth[victim] != VERIFY_GOOD);
	store(drive, victim, data, drive->setup.block_bytes);
	drive->truth[victim] = VERIFY_MISDIRECTED;
	drive->truth[block] = VERIFY_STALE;
}

static void block_write(struct faulty *drive, uint64_t block, const uint8_t *data)
{
	uint32_t bytes = drive->setup.block_bytes, sectors = bytes / PAYLOAD_SECTOR_BYTES;
	enum fault fault = fault_draw(drive, block);
	uint64_t bit;

	if (fault < FAULT_COUNT)
		drive->injected[fault]++;
	switch (fault) {
	case FAULT_FLIP:
		store(drive, block, data, bytes);
		bit = random_below(&drive->random, bytes * 8);
		faulty_block(drive, block)[bit / 8] ^= (uint8_t)(1U << bit % 8);
		drive->truth[block] = VERIFY_CORRUPT;
		return;
	case FAULT_TORN:
		store(drive, block, data,
			(uint32_t)(1 + random_below(&drive->random, sectors - 1)) * PAYLOAD_SECTOR_BYTES);
		drive->truth[block] = VERIFY_TORN;
		return;
	case FAULT_MISDIRECTED:
		misdirect(drive, block, data);
		return;
	case FAULT_LOST:
		drive->truth[block] = VERIFY_STALE;
		return;
	default:
		store(drive, block, data, bytes);
		drive->truth[block] = VERIFY_GOOD;
	}
}

static void write_apply(struct faulty *drive, const struct faulty_request *queued, uint64_t at)
{
	const struct ring_request *request = &queued->request;

	if (drive->is_off || queued->power_cycles != drive->power_cycles) {
		/* It was on its way when the power went: any part of it may have made it. */
		if (drive->is_off && !queued->was_off && random_next(&drive->random) & 1)
			log_add(drive, at, request->buffer, request->bytes);
		return;
	}
	if (drive->durable)
		log_add(drive, at, request->buffer, request->bytes);
	for (uint32_t done = 0; done < request->bytes; done += drive->setup.block_bytes)
		block_write(drive, (at + done) / drive->setup.block_bytes, request->buffer + done);
}

static int read_apply(struct faulty *drive, const struct ring_request *request, uint64_t at)
{
	uint64_t first = at / drive->setup.block_bytes;
	uint64_t end = (at + request->bytes + drive->setup.block_bytes - 1) / drive->setup.block_bytes;
	uint32_t bytes = request->bytes;

	for (uint64_t block = first; block < end; block++)
		if (drive->read_errors[block])
			return -drive->read_errors[block];
	if (drive->are_reads_short && bytes > PAYLOAD_SECTOR_BYTES)
		bytes = (uint32_t)(1 + random_below(&drive->random, bytes / PAYLOAD_SECTOR_BYTES)) *
			PAYLOAD_SECTOR_BYTES;
	memcpy(request->buffer, drive->newest + at, bytes);
	return (int)bytes;
}

static void flush_locked(struct faulty *drive)
{
	if (!drive->durable || drive->is_off)
		return;
	memcpy(drive->durable_before, drive->durable, drive->bytes);
	for (size_t i = 0; i < drive->log_count; i++)
		memcpy(drive->durable + drive->log[i].at, drive->log[i].data, drive->log[i].bytes);
	log_clear(drive);
}

void faulty_flush(struct faulty *drive)
{
	(void)pthread_mutex_lock(&drive->lock);
	flush_locked(drive);
	(void)pthread_mutex_unlock(&drive->lock);
}

void faulty_power_off(struct faulty *drive)
{
	(void)pthread_mutex_lock(&drive->lock);
	drive->is_off = true;
	(void)pthread_mutex_unlock(&drive->lock);
}

/* Every version of a logical block, the durable one included, is as likely to be the one that is kept. */
void faulty_power_on(struct faulty *drive)
{
	uint32_t lba_bytes = drive->setup.cache_lba_bytes, *versions;

	(void)pthread_mutex_lock(&drive->lock);
	versions = memory(drive->bytes / lba_bytes, sizeof(*versions));
	for (size_t i = 0; i < drive->log_count; i++) {
		const struct cached *cached = &drive->log[i];

		for (uint32_t done = 0; done < cached->bytes; done += lba_bytes) {
			uint64_t at = cached->at + done;

			if (random_below(&drive->random, ++versions[at / lba_bytes] + 1) == 0)
				memcpy(drive->durable + at, cached->data + done, lba_bytes);
		}
	}
	free(versions);
	log_clear(drive);
	memcpy(drive->newest, drive->durable, drive->bytes);
	drive->is_off = false;
	drive->power_cycles++;
	(void)pthread_mutex_unlock(&drive->lock);
}

unsigned faulty_lose_flushed(struct faulty *drive, unsigned count, bool is_head_only)
{
	uint32_t bytes = is_head_only ? PAYLOAD_PIECE_BYTES : PAYLOAD_SECTOR_BYTES;
	unsigned lost = 0;

	for (unsigned tries = 0; tries < 1000 * count && lost < count; tries++) {
		uint64_t sector = random_below(&drive->random, drive->bytes / PAYLOAD_SECTOR_BYTES);
		uint64_t at = sector * PAYLOAD_SECTOR_BYTES, block = at / drive->setup.block_bytes;

		if (drive->truth[block] != VERIFY_GOOD ||
			memcmp(drive->durable + at, drive->durable_before + at, PAYLOAD_STAMP_BYTES) == 0)
			continue;
		memcpy(drive->durable + at, drive->durable_before + at, bytes);
		memcpy(drive->newest + at, drive->durable_before + at, bytes);
		drive->truth[block] = VERIFY_STALE;
		lost++;
	}
	return lost;
}

void faulty_revert(struct faulty *drive, unsigned count)
{
	(void)pthread_mutex_lock(&drive->lock);
	for (unsigned i = 0; i < count; i++) {
		uint64_t block = random_below(&drive->random, drive->block_count);

		if (drive->truth[block] != VERIFY_GOOD || !drive->has_before[block])
			continue;
		memcpy(faulty_block(drive, block), drive->before + block * drive->setup.block_bytes,
			drive->setup.block_bytes);
		drive->truth[block] = VERIFY_STALE;
		drive->injected[FAULT_REVERTED]++;
	}
	(void)pthread_mutex_unlock(&drive->lock);
}

static int faulty_open(const struct ring_setup *setup, struct ring **out, char *notes)
{
	struct ring *ring = memory(1, sizeof(*ring) + setup->depth * sizeof(ring->queue[0]));

	notes[0] = '\0';
	ring->drive = drives[setup->fds[0]];
	*out = ring;
	return 0;
}

static void faulty_close(struct ring *ring)
{
	free(ring);
}

static void faulty_queue(struct ring *ring, const struct ring_request *request)
{
	struct faulty *drive = ring->drive;

	(void)pthread_mutex_lock(&drive->lock);
	ring->queue[ring->count++] = (struct faulty_request){ *request, drive->power_cycles, drive->is_off };
	(void)pthread_mutex_unlock(&drive->lock);
}

static int faulty_submit(struct ring *ring)
{
	(void)ring;
	return 0;
}

static int request_apply(struct faulty *drive, const struct faulty_request *queued)
{
	const struct ring_request *request = &queued->request;
	uint64_t at = request->file * drive->setup.file_bytes + request->offset_bytes;

	switch (request->verb) {
	case RING_WRITE:
		write_apply(drive, queued, at);
		return (int)request->bytes;
	case RING_READ:
		return read_apply(drive, request, at);
	default:
		flush_locked(drive);
		return 0;
	}
}

/* Some of what is queued, in any order. */
static int faulty_reap(
	struct ring *ring, unsigned least, uint64_t timeout_ns, struct ring_completion *out, unsigned most)
{
	struct faulty *drive = ring->drive;
	unsigned count, done = 0;

	(void)timeout_ns;
	(void)pthread_mutex_lock(&drive->lock);
	count = (unsigned)random_below(&drive->random, ring->count + 1);
	if (count < least)
		count = least;
	if (count > most)
		count = most;
	while (done < count && ring->count) {
		unsigned pick = (unsigned)random_below(&drive->random, ring->count);

		out[done].slot = ring->queue[pick].request.slot;
		out[done++].result = request_apply(drive, &ring->queue[pick]);
		ring->queue[pick] = ring->queue[--ring->count];
	}
	(void)pthread_mutex_unlock(&drive->lock);
	return (int)done;
}

const struct ring_ops faulty_ops = {
	.name = "faulty",
	.open = faulty_open,
	.close = faulty_close,
	.queue = faulty_queue,
	.submit = faulty_submit,
	.reap = faulty_reap,
};
