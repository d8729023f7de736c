/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any file as a log of another tool. fuzz-seeds: recorded */
#include "fuzz.h"

#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

#include "archive/foreign.h"

struct seen {
	int64_t last_ms;
	uint64_t samples;
	bool stops;
};

static void check_count(uint64_t bytes, uint64_t elapsed_ns)
{
	/* An own export tells its bytes itself; they only have to fit the journal. */
	FUZZ_CHECK(bytes == SAMPLE_UNKNOWN || bytes <= INT64_MAX);
	FUZZ_CHECK(elapsed_ns <= INT64_MAX);
}

static int take(const struct foreign_row *row, void *arg)
{
	struct seen *seen = arg;
	const struct sample *sample = &row->sample;

	FUZZ_CHECK(sample->t_ms > seen->last_ms);
	FUZZ_CHECK(sample->state < SAMPLE_STATE_COUNT && sample->phase < PHASE_COUNT);
	FUZZ_CHECK(isnan(row->lat_p95_ns) || row->lat_p95_ns >= 0);
	check_count(sample->write_bytes, sample->elapsed_ns);
	check_count(sample->read_bytes, sample->elapsed_ns);
	seen->last_ms = sample->t_ms;
	seen->samples += sample->state != SAMPLE_DOWN;
	return seen->stops && seen->samples == 2 ? 7 : 0;
}

static void check_info(const struct foreign_info *info, const struct seen *seen)
{
	FUZZ_CHECK(info->samples == seen->samples);
	FUZZ_CHECK(info->interval_s >= 1 && info->interval_s <= 86400);
	FUZZ_CHECK(info->warning_count <= FOREIGN_WARNINGS_MAX && info->gap_count <= FOREIGN_GAPS_MAX);
	for (size_t i = 0; i < info->gap_count; i++)
		FUZZ_CHECK(info->gaps[i].from_ms < info->gaps[i].to_ms);
	FUZZ_CHECK(memchr(info->device, '\0', FOREIGN_NAME_MAX));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[64], why[FOREIGN_WHY_MAX] = "";
	struct seen seen = { .last_ms = INT64_MIN };
	struct foreign *foreign = NULL;
	int fd = memfd_create("log", MFD_CLOEXEC), rc;

	FUZZ_CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	seen.stops = size % 8 == 0;
	rc = foreign_open(path, NULL, &foreign, why);
	FUZZ_CHECK((rc < 0) == (why[0] != '\0') && (rc < 0) == !foreign);
	if (rc == 0) {
		rc = foreign_each(foreign, take, &seen, why);
		FUZZ_CHECK(rc == 0 || (rc == 7 && seen.stops));
		if (rc == 0)
			check_info(foreign_info(foreign), &seen);
	}
	foreign_close(foreign);
	(void)close(fd);
	return 0;
}
