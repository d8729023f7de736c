/* SPDX-License-Identifier: GPL-2.0-or-later */
/* engine_bench FILE BYTES THREADS DEPTH SECONDS ENGINE: soak a laid-out file and print a line of JSON: IOPS, CPU
 * time a request by the process's own account, latencies. ENGINE "pwrite" is no engine of ours but the floor at depth
 * 1: threads that do nothing but pwrite(), no stamp, no clock, no count a request. For tests/bench/engine.py. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "engine/engine.h"
#include "engine/random.h"

#define THREADS_MAX 64

struct floor_thread {
	const struct engine_job *job;
	pthread_t thread;
	uint64_t seed, ios;
	bool has_failed;
};

static _Atomic bool floor_stop;

static double seconds_of(struct timeval time)
{
	return (double)time.tv_sec + (double)time.tv_usec * 1e-6;
}

static enum config_engine engine_of(const char *name)
{
	if (strcmp(name, "libaio") == 0)
		return ENGINE_LIBAIO;
	return strcmp(name, "null") == 0 ? ENGINE_NULL : ENGINE_IO_URING;
}

static void print_result(const char *engine, uint64_t ios, double elapsed_s, const struct rusage *before,
	const struct rusage *after, const char *rest)
{
	double count = (double)ios;

	(void)printf("{\"engine\":\"%s\",\"iops\":%.0f,\"user_us\":%.4f,\"system_us\":%.4f%s}\n", engine,
		count / elapsed_s, (seconds_of(after->ru_utime) - seconds_of(before->ru_utime)) * 1e6 / count,
		(seconds_of(after->ru_stime) - seconds_of(before->ru_stime)) * 1e6 / count, rest);
}

static void *floor_main(void *arg)
{
	struct floor_thread *self = arg;
	const struct engine_job *job = self->job;
	uint64_t blocks = job->to_bytes / job->block_bytes;
	void *buffer = aligned_alloc(job->block_bytes, job->block_bytes);
	struct random random;

	random_init(&random, self->seed);
	self->has_failed = !buffer;
	if (buffer)
		memset(buffer, 0x5a, job->block_bytes);
	while (!self->has_failed && !atomic_load_explicit(&floor_stop, memory_order_relaxed)) {
		off_t at = (off_t)(random_below(&random, blocks) * job->block_bytes);

		self->has_failed = pwrite(job->fds[0], buffer, job->block_bytes, at) !=
				   (ssize_t)job->block_bytes;
		self->ios++;
	}
	free(buffer);
	return NULL;
}

static int measure_floor(const struct engine_job *job, unsigned seconds)
{
	static struct floor_thread threads[THREADS_MAX];
	struct rusage before, after;
	uint64_t from_ns = clock_mono_ns(), ios = 0;
	bool has_failed = job->threads > THREADS_MAX;
	unsigned started = 0;

	(void)getrusage(RUSAGE_SELF, &before);
	for (; started < job->threads && !has_failed; started++) {
		threads[started] = (struct floor_thread){ .job = job, .seed = job->seed + started };
		if (pthread_create(&threads[started].thread, NULL, floor_main, &threads[started])) {
			has_failed = true;
			break;
		}
	}
	if (!has_failed)
		(void)sleep(seconds);
	atomic_store(&floor_stop, true);
	for (unsigned i = 0; i < started; i++) {
		(void)pthread_join(threads[i].thread, NULL);
		has_failed = has_failed || threads[i].has_failed;
		ios += threads[i].ios;
	}
	if (has_failed)
		return 1;
	(void)getrusage(RUSAGE_SELF, &after);
	print_result("pwrite", ios, (double)(clock_mono_ns() - from_ns) / 1e9, &before, &after, "");
	return 0;
}

static int measure(const struct engine_job *job, unsigned seconds)
{
	static struct engine_totals totals;
	struct rusage before, after;
	char why[ENGINE_WHY_MAX] = "";
	struct engine *engine = NULL;
	uint64_t from_ns;
	double elapsed_s;
	char rest[512];

	if (engine_new(job, &engine, why) < 0) {
		(void)fprintf(stderr, "%s\n", why);
		return 1;
	}
	(void)getrusage(RUSAGE_SELF, &before);
	from_ns = clock_mono_ns();
	if (engine_start(engine, why) < 0) {
		(void)fprintf(stderr, "%s\n", why);
		return 1;
	}
	(void)sleep(seconds);
	if (!engine_stop(engine, 60 * NS_PER_S))
		return 1;
	elapsed_s = (double)(clock_mono_ns() - from_ns) / 1e9;
	(void)getrusage(RUSAGE_SELF, &after);
	engine_read(engine, &totals);
	(void)snprintf(rest, sizeof(rest),
		",\"errors\":%llu,\"p50_us\":%.1f,\"p99_us\":%.1f,\"notes\":\"%s\"",
		(unsigned long long)totals.errors, (double)hist_percentile_ns(&totals.lat, 50) / 1e3,
		(double)hist_percentile_ns(&totals.lat, 99) / 1e3, engine_notes(engine));
	print_result(engine_name(engine), totals.write_ios, elapsed_s, &before, &after, rest);
	engine_free(engine);
	return 0;
}

int main(int argc, char **argv)
{
	struct engine_job job = {
		.fd_count = 1,
		.block_bytes = 16384,
		.payload = PAYLOAD_RANDOM,
		.run_tag = 1,
		.seed = 7,
	};
	unsigned seconds;
	int fd;

	if (argc != 7) {
		(void)fprintf(stderr, "usage: engine_bench FILE BYTES THREADS DEPTH SECONDS ENGINE\n");
		return 64;
	}
	fd = open(argv[1], O_RDWR | O_DIRECT | O_CLOEXEC);
	if (fd < 0) {
		perror(argv[1]);
		return 66;
	}
	job.fds = &fd;
	job.file_bytes = job.to_bytes = strtoull(argv[2], NULL, 10);
	job.threads = (unsigned)atoi(argv[3]);
	job.queue_depth = job.threads * (unsigned)atoi(argv[4]);
	job.engine = engine_of(argv[6]);
	seconds = (unsigned)atoi(argv[5]);
	return strcmp(argv[6], "pwrite") == 0 ? measure_floor(&job, seconds) : measure(&job, seconds);
}
