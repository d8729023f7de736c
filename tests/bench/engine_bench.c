/* SPDX-License-Identifier: GPL-2.0-or-later */
/* engine_bench FILE BYTES THREADS DEPTH SECONDS ENGINE: soak a laid-out file and print a line of JSON: IOPS, CPU
 * time a request by the process's own account, latencies. For tests/bench/engine.py. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "engine/engine.h"

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

static int measure(const struct engine_job *job, unsigned seconds)
{
	static struct engine_totals totals;
	struct rusage before, after;
	char why[ENGINE_WHY_MAX] = "";
	struct engine *engine = NULL;
	uint64_t from_ns;
	double elapsed_s, ios;

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
	ios = (double)totals.write_ios;
	(void)printf("{\"engine\":\"%s\",\"iops\":%.0f,\"user_us\":%.4f,\"system_us\":%.4f,\"errors\":%llu,"
		     "\"p50_us\":%.1f,\"p99_us\":%.1f,\"notes\":\"%s\"}\n",
		engine_name(engine), ios / elapsed_s,
		(seconds_of(after.ru_utime) - seconds_of(before.ru_utime)) * 1e6 / ios,
		(seconds_of(after.ru_stime) - seconds_of(before.ru_stime)) * 1e6 / ios,
		(unsigned long long)totals.errors, (double)hist_percentile_ns(&totals.lat, 50) / 1e3,
		(double)hist_percentile_ns(&totals.lat, 99) / 1e3, engine_notes(engine));
	engine_free(engine);
	return 0;
}

int main(int argc, char **argv)
{
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
	return measure(
		&(const struct engine_job){
			.fds = &fd,
			.fd_count = 1,
			.file_bytes = strtoull(argv[2], NULL, 10),
			.to_bytes = strtoull(argv[2], NULL, 10),
			.block_bytes = 16384,
			.threads = (unsigned)atoi(argv[3]),
			.queue_depth = (unsigned)(atoi(argv[3]) * atoi(argv[4])),
			.engine = engine_of(argv[6]),
			.payload = PAYLOAD_RANDOM,
			.run_tag = 1,
			.seed = 7,
		},
		(unsigned)atoi(argv[5]));
}
