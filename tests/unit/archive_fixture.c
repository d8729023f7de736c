/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "archive_fixture.h"

#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct sample fixture_sample(int64_t t_ms, uint32_t interval_s, uint64_t write_bytes)
{
	return (struct sample){
		.t_ms = t_ms,
		.elapsed_ns = interval_s * 1000000000ULL,
		.state = SAMPLE_MEASURED,
		.phase = PHASE_SOAK,
		.write_bytes = write_bytes,
		.write_ios = write_bytes / 16384,
		.read_bytes = 3,
		.read_ios = 2,
		.errors = 1,
		.lat_p50_ns = 50000,
		.lat_p90_ns = 90000,
		.lat_p99_ns = 99000,
		.lat_p999_ns = 99900,
		.lat_p9999_ns = 99990,
		.lat_max_ns = 123456789,
		.stall_ns = 7000,
		.inflight_mean = 31.5,
		.host_cpu_share = 0.25,
		.steal_share = 0.125,
		.temp_c = 41,
	};
}

struct sample fixture_down(int64_t t_ms, uint64_t elapsed_ns)
{
	struct sample sample = {
		.t_ms = t_ms, .elapsed_ns = elapsed_ns, .state = SAMPLE_DOWN, .phase = PHASE_SOAK
	};

	sample.write_bytes = sample.write_ios = sample.read_bytes = sample.read_ios = SAMPLE_UNKNOWN;
	sample.errors = sample.lat_p50_ns = sample.lat_p90_ns = sample.lat_p99_ns = SAMPLE_UNKNOWN;
	sample.lat_p999_ns = sample.lat_p9999_ns = sample.lat_max_ns = sample.stall_ns = SAMPLE_UNKNOWN;
	sample.inflight_mean = sample.host_cpu_share = sample.steal_share = sample.temp_c = NAN;
	return sample;
}

char *fixture_folder_new(void)
{
	const char *base = getenv("TMPDIR");
	char *folder;

	if (asprintf(&folder, "%s/drivesoak-test-XXXXXX", base ? base : "/tmp") < 0 || !mkdtemp(folder))
		abort();
	return folder;
}

static int remove_entry(const char *path, const struct stat *stat, int kind, struct FTW *walk)
{
	(void)stat;
	(void)kind;
	(void)walk;
	return remove(path);
}

void fixture_folder_remove(char *folder)
{
	(void)nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	free(folder);
}

uint64_t fixture_random(uint64_t *seed, uint64_t below)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed % below;
}
