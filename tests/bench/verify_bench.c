/* SPDX-License-Identifier: GPL-2.0-or-later */
/* verify_bench FILE BYTES DEPTH ENGINE fill|verify|plain|touched: write a stamped extent with its ledger (FILE.ledger), or read
 * it: with every block judged, or with the same requests and nothing looked at, or one byte of each cache line. Prints a line of JSON: bytes a second,
 * CPU seconds of the process. For tests/bench/verify.py.
 *
 * ENGINE sim:MB_PER_S is a drive that costs no CPU: requests complete one after the other at that rate and leave the
 * stamped buffers alone, so that every block is judged in full and found to be of another place. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "engine/arena.h"
#include "engine/engine.h"
#include "engine/ledger.h"
#include "engine/ops.h"
#include "engine/payload.h"
#include "engine/verify.h"

#define BLOCK	      16384u
#define REQUEST_BYTES (1u << 20)
#define RUN_TAG	      0x5eedULL
#define DEPTH_MOST    256

struct setting {
	int fd;
	uint64_t bytes;
	unsigned depth;
	const struct ring_ops *ops;
	char ledger_path[4096];
};

static double sim_ns_per_byte;

struct ring {
	unsigned depth, first, count;
	uint64_t free_ns; /* when the drive has done all it has */
	struct {
		unsigned slot;
		uint32_t bytes;
		uint64_t due_ns;
	} queue[];
};

static int sim_open(const struct ring_setup *setup, struct ring **out, char *notes)
{
	const struct payload_stamp stamp = { .run_tag = RUN_TAG, .sector = 1ULL << 40, .sequence = 1 };
	uint64_t *hashes = calloc(setup->arena_bytes / PAYLOAD_SECTOR_BYTES, sizeof(*hashes));

	notes[0] = '\0';
	*out = calloc(1, sizeof(**out) + setup->depth * sizeof((*out)->queue[0]));
	(*out)->depth = setup->depth;
	payload_make_bodies(setup->arena, setup->arena_bytes, 1, hashes);
	payload_stamp(setup->arena, setup->arena_bytes, &stamp, hashes);
	free(hashes);
	return 0;
}

static void sim_close(struct ring *ring)
{
	free(ring);
}

static void sim_queue(struct ring *ring, const struct ring_request *request)
{
	unsigned at = (ring->first + ring->count++) % ring->depth;
	uint64_t now_ns = clock_mono_ns();

	if (ring->free_ns < now_ns)
		ring->free_ns = now_ns;
	ring->free_ns += (uint64_t)(sim_ns_per_byte * request->bytes);
	ring->queue[at].slot = request->slot;
	ring->queue[at].bytes = request->bytes;
	ring->queue[at].due_ns = ring->free_ns;
}

static int sim_submit(struct ring *ring)
{
	(void)ring;
	return 0;
}

static int sim_reap(
	struct ring *ring, unsigned least, uint64_t timeout_ns, struct ring_completion *out, unsigned most)
{
	unsigned done = 0;

	(void)timeout_ns;
	while (done < most && ring->count) {
		uint64_t due_ns = ring->queue[ring->first].due_ns;
		const struct timespec due = { .tv_sec = (time_t)(due_ns / NS_PER_S),
			.tv_nsec = (long)(due_ns % NS_PER_S) };

		if (clock_mono_ns() < due_ns) {
			if (done >= least)
				break;
			(void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
		}
		out[done].slot = ring->queue[ring->first].slot;
		out[done++].result = (int)ring->queue[ring->first].bytes;
		ring->first = (ring->first + 1) % ring->depth;
		ring->count--;
	}
	return (int)done;
}

static const struct ring_ops sim_ops = {
	.name = "sim",
	.open = sim_open,
	.close = sim_close,
	.queue = sim_queue,
	.submit = sim_submit,
	.reap = sim_reap,
};

static struct ledger *ledger_get(const struct setting *setting, bool is_new)
{
	const struct ledger_setup setup = {
		.path = setting->ledger_path,
		.run_tag = RUN_TAG,
		.block_count = setting->bytes / BLOCK,
		.block_bytes = BLOCK,
		.memory_bytes = 64 << 20,
	};
	struct ledger *ledger = NULL;
	char why[LEDGER_WHY_MAX];
	int rc = is_new ? ledger_create(&setup, &ledger, why) : ledger_open(&setup, false, &ledger, why);

	if (rc < 0)
		(void)fprintf(stderr, "%s\n", why);
	return ledger;
}

static int fill(const struct setting *setting)
{
	struct engine_job job = {
		.fds = &setting->fd,
		.fd_count = 1,
		.file_bytes = setting->bytes,
		.is_fill = true,
		.to_bytes = setting->bytes,
		.block_bytes = BLOCK,
		.ops = setting->ops,
		.payload = PAYLOAD_RANDOM,
		.run_tag = RUN_TAG,
		.ledger = ledger_get(setting, true),
	};
	struct engine *engine = NULL;
	struct engine_fill_end end;
	char why[ENGINE_WHY_MAX];

	if (!job.ledger || ledger_next_start(job.ledger, &job.first_sequence, why) ||
		engine_new(&job, &engine, why) || engine_start(engine, why))
		return 1;
	while (!engine_fill_ended(engine, &end))
		(void)usleep(1000);
	if (!engine_stop(engine, 60 * NS_PER_S) || end.error)
		return 1;
	engine_free(engine);
	ledger_close(job.ledger);
	return 0;
}

static void end_post(void *arg)
{
	(void)!write(*(int *)arg, "x", 1);
}

/* Bad blocks, or -errno. */
static long long judged_read(const struct setting *setting)
{
	struct ledger *ledger = ledger_get(setting, false);
	int ended[2];
	struct verify_job job = {
		.fds = &setting->fd,
		.fd_count = 1,
		.file_bytes = setting->bytes,
		.to_bytes = setting->bytes,
		.block_bytes = BLOCK,
		.queue_depth = setting->depth,
		.run_tag = RUN_TAG,
		.ledger = ledger,
		.ops = setting->ops,
		.on_end = end_post,
		.on_end_arg = &ended[1],
	};
	struct verify_progress progress;
	struct verify *verify = NULL;
	char why[ENGINE_WHY_MAX], byte;

	if (!ledger || pipe(ended) || verify_start(&job, &verify, why))
		return -1;
	(void)!read(ended[0], &byte, 1);
	if (!verify_stop(verify, 60 * NS_PER_S))
		return -1;
	verify_read(verify, &progress);
	verify_free(verify);
	ledger_close(ledger);
	return progress.error ? progress.error : (long long)(progress.blocks - progress.counts[VERIFY_GOOD]);
}

static void plain_queue(const struct setting *setting, const struct ring_ops *ops, struct ring *ring,
	unsigned slot, uint8_t *arena, uint64_t at)
{
	const struct ring_request request = {
		.slot = slot,
		.verb = RING_READ,
		.buffer = arena + (size_t)slot * REQUEST_BYTES,
		.bytes = setting->bytes - at < REQUEST_BYTES ? (uint32_t)(setting->bytes - at)
							     : REQUEST_BYTES,
		.offset_bytes = at,
	};

	ops->queue(ring, &request);
}

/* One load a cache line, as the cheapest of programs that look at what they read. */
static void touch(const uint8_t *buffer)
{
	const volatile uint8_t *byte = buffer;

	for (size_t at = 0; at < REQUEST_BYTES; at += 64)
		(void)byte[at];
}

/* Nothing is looked at; or, @is_touched, each byte comes to this processor, while the next requests are under way. */
static long long plain_read(const struct setting *setting, bool is_touched)
{
	const struct ring_ops *ops = setting->ops;
	const unsigned buffers = is_touched ? 2 * setting->depth : setting->depth;
	struct ring_setup setup = { .fds = &setting->fd, .fd_count = 1, .depth = buffers };
	struct ring_completion done[DEPTH_MOST];
	unsigned idle[2 * DEPTH_MOST], idle_count = 0, inflight = 0;
	struct ring *ring = NULL;
	struct arena arena;
	char notes[OPS_NOTES_MAX];
	uint64_t next = 0;

	/* As the judged read has it: a request is then one segment, which a virtual disk serves several times faster. */
	if (arena_init(&arena, (size_t)buffers * REQUEST_BYTES))
		return -1;
	setup.arena = arena.bytes;
	setup.arena_bytes = arena.size_bytes;
	if (ops->open(&setup, &ring, notes))
		return -1;
	for (; idle_count < buffers; idle_count++)
		idle[idle_count] = buffers - 1 - idle_count;
	for (int count = 0;;) {
		while (inflight < setting->depth && next < setting->bytes && idle_count) {
			plain_queue(setting, ops, ring, idle[--idle_count], setup.arena, next);
			next += REQUEST_BYTES;
			inflight++;
		}
		(void)ops->submit(ring);
		/* What came last, while the next requests are under way in the other buffers. */
		for (int i = 0; i < count && is_touched; i++) {
			touch(setup.arena + (size_t)done[i].slot * REQUEST_BYTES);
			idle[idle_count++] = done[i].slot;
		}
		if (!inflight)
			break;
		count = ops->reap(ring, 1, RING_FOREVER, done, setting->depth);
		if (count < 0)
			return count;
		inflight -= (unsigned)count;
		for (int i = 0; i < count; i++) {
			if (done[i].result <= 0)
				return done[i].result - 1;
			if (!is_touched)
				idle[idle_count++] = done[i].slot;
		}
	}
	ops->close(ring);
	arena_fini(&arena);
	return 0;
}

static double seconds_of(struct timeval time)
{
	return (double)time.tv_sec + (double)time.tv_usec * 1e-6;
}

static int measure(const struct setting *setting, const char *mode)
{
	uint64_t from_ns = clock_mono_ns();
	long long bad = strcmp(mode, "verify") == 0 ? judged_read(setting)
						    : plain_read(setting, strcmp(mode, "touched") == 0);
	double elapsed_s = (double)(clock_mono_ns() - from_ns) / 1e9;
	struct rusage usage;

	(void)getrusage(RUSAGE_SELF, &usage);
	(void)printf("{\"bytes_per_s\":%.0f,\"user_s\":%.3f,\"system_s\":%.3f,\"bad\":%lld}\n",
		(double)setting->bytes / elapsed_s, seconds_of(usage.ru_utime), seconds_of(usage.ru_stime),
		bad);
	return setting->ops != &sim_ops && bad != 0;
}

int main(int argc, char **argv)
{
	struct setting setting;

	if (argc != 6) {
		(void)fprintf(stderr, "usage: verify_bench FILE BYTES DEPTH io_uring|libaio|sim:MB_PER_S "
				      "fill|verify|plain|touched\n");
		return 64;
	}
	setting.fd = open(argv[1], O_RDWR | O_CREAT | O_DIRECT | O_CLOEXEC, 0600);
	if (setting.fd < 0) {
		perror(argv[1]);
		return 66;
	}
	setting.bytes = strtoull(argv[2], NULL, 10);
	setting.depth = (unsigned)atoi(argv[3]);
	if (setting.depth == 0 || setting.depth > DEPTH_MOST)
		return 64;
	setting.ops = strcmp(argv[4], "libaio") == 0 ? &libaio_ops : &uring_ops;
	if (strncmp(argv[4], "sim:", 4) == 0) {
		sim_ns_per_byte = 1e3 / strtod(argv[4] + 4, NULL);
		setting.ops = &sim_ops;
		(void)prctl(PR_SET_TIMERSLACK, 1);
	}
	(void)snprintf(setting.ledger_path, sizeof(setting.ledger_path), "%s.ledger", argv[1]);
	if (strcmp(argv[5], "fill") == 0)
		return fill(&setting);
	return measure(&setting, argv[5]);
}
