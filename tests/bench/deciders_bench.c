/* SPDX-License-Identifier: GPL-2.0-or-later */
/* deciders_bench: 30 days of made-up samples of 10 s through the deciders of a run. Prints a line of JSON a profile:
 * samples, seconds of CPU. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "measure/collapse.h"
#include "measure/steady.h"
#include "tests/unit/trace.h"

static double cpu_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static unsigned feed(const struct trace *trace, struct steady *steady, struct collapse *collapse)
{
	struct collapse_answer answer;
	struct steady_answer level;
	bool is_settled = false;
	unsigned turns = 0;

	for (unsigned i = 0; i < trace->count; i++) {
		const struct trace_sample *in = &trace->samples[i];
		const struct steady_sample rate = { in->t_ms, in->elapsed_ns, in->bytes, 0, in->counts };
		struct collapse_sample sample = { in->t_ms, in->elapsed_ns, in->bytes, in->stall_ns,
			in->counts, false, false };

		if (steady_add(steady, &rate) != STEADY_STAYS)
			is_settled = !is_settled;
		sample.is_settled = is_settled;
		collapse_add(collapse, &sample, &answer);
		turns += answer.count;
	}
	steady_get(steady, &level);
	return turns + level.losses;
}

static int run(enum trace_profile profile)
{
	const struct trace_config config = { .profile = profile,
		.seed = 1,
		.noise = 0.1,
		.interval_s = 10,
		.hours = 720,
		.falls_per_day = 12,
		.quiet_h = 8 };
	const struct collapse_config shares = { 0.5, 0.7, 30000000000ULL, 20000000000ULL, true };
	struct steady_config steady_config = { 0 };
	struct trace *trace = trace_make(&config);
	struct steady *steady = NULL;
	struct collapse *collapse = NULL;
	double begin_s;
	unsigned said;

	if (trace)
		steady_config.extent_bytes = trace->extent_bytes;
	if (!trace || steady_new(&steady_config, &steady) < 0 || collapse_new(&shares, &collapse) < 0)
		return 1;
	begin_s = cpu_s();
	said = feed(trace, steady, collapse);
	printf("{\"profile\": \"%s\", \"samples\": %u, \"cpu_s\": %.3f, \"said\": %u}\n",
		trace_profile_name(profile), trace->count, cpu_s() - begin_s, said);
	steady_free(steady);
	collapse_free(collapse);
	trace_free(trace);
	return 0;
}

int main(void)
{
	int rc = 0;

	for (int i = 0; i < TRACE_PROFILE_COUNT; i++)
		rc |= run((enum trace_profile)i);
	return rc;
}
