/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "endurance_fixture.h"

#include <math.h>
#include <string.h>

struct endurance_point points[POINTS_MAX];

void line(size_t count, uint64_t bytes, uint64_t host_step, uint64_t media_step)
{
	for (size_t i = 0; i < count; i++) {
		points[i] = (struct endurance_point){
			.t_ms = (int64_t)i * MINUTE_MS,
			.phase = PHASE_SOAK,
			.host_raw = 1000 + i * host_step,
			.media_raw = 2000 + i * media_step,
			.media_unit_bytes = NAN,
			.media_shares_unit = true,
			.host_pages = UINT64_MAX,
			.media_pages = UINT64_MAX,
			.percent_used = NAN,
			.workload_pct = NAN,
			.disk_written_bytes = 5 * GIB + i * bytes,
			.own_written_bytes = i * bytes,
			.read_ms = 0,
		};
	}
}

void wear(size_t count, size_t at, size_t every, double from, double by)
{
	for (size_t i = 0; i < count; i++)
		points[i].percent_used = from + (i < at ? 0 : (double)(1 + (i - at) / every) * by);
}

void check_near(const char *name, double value, double expected, double tolerance)
{
	if (!(fabs(value - expected) <= tolerance))
		fail_msg("%s: %.9g, not %.9g", name, value, expected);
}

void check_says(const char *how, const char *words)
{
	if (!strstr(how, words))
		fail_msg("\"%s\" does not say \"%s\"", how, words);
}
