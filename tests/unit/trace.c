/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace.h"

#include <math.h>
#include <stdlib.h>

#define MIB	      (1024.0 * 1024)
#define NS_PER_SECOND 1000000000ULL
#define FALLS_MAX     4096
#define TWO_PI	      6.283185307179586

struct maker {
	struct trace_config config;
	struct trace *trace;
	uint64_t state;
	double base; /* bytes a second */
};

static const char *const names[TRACE_PROFILE_COUNT] = { "steady", "cliff", "cache", "saw-tooth", "thermal",
	"stalls", "decline", "host", "gaps" };

const char *trace_profile_name(enum trace_profile profile)
{
	return names[profile];
}

/* splitmix64 */
static uint64_t next_u64(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

double trace_between(uint64_t *state, double low, double high)
{
	return low + (double)(next_u64(state) >> 11) / 9007199254740992.0 * (high - low);
}

bool trace_chance(uint64_t *state, double share)
{
	return trace_between(state, 0, 1) < share;
}

static double between(struct maker *m, double low, double high)
{
	return trace_between(&m->state, low, high);
}

static double log_between(struct maker *m, double low, double high)
{
	return exp(between(m, log(low), log(high)));
}

static double normal(struct maker *m)
{
	double radius = sqrt(-2 * log(between(m, 1e-12, 1)));

	return radius * cos(between(m, 0, TWO_PI));
}

static bool chance(struct maker *m, double share)
{
	return trace_chance(&m->state, share);
}

static unsigned samples_in(const struct maker *m, double seconds)
{
	return (unsigned)fmax(ceil(seconds / m->config.interval_s - 1e-9), 1);
}

static struct trace_fall *fall_add(struct maker *m, unsigned first, unsigned last, double level, bool is_due)
{
	struct trace *trace = m->trace;
	struct trace_fall *fall = &trace->falls[trace->fall_count];

	if (trace->fall_count == FALLS_MAX || last >= trace->count)
		return NULL;
	trace->fall_count++;
	*fall = (struct trace_fall){ .first = first, .last = last, .level = level, .is_due = is_due };
	return fall;
}

static void scale(struct maker *m, unsigned first, unsigned last, double level)
{
	for (unsigned i = first; i <= last && i < m->trace->count; i++)
		m->trace->samples[i].level *= level;
}

/* --- profiles: each shapes the level --- */

/* Before a drive has been written over about once there are no blocks left that are free for nothing. */
static void shape_cliff(struct maker *m)
{
	double extent_s = (double)m->trace->extent_bytes / m->base, fresh = between(m, 2.5, 8);
	double at_s = extent_s / fresh * between(m, 0.1, 1.2);
	double slide_s = chance(m, 0.5) ? 1 : extent_s * between(m, 0.02, 0.2);

	for (unsigned i = 0; i < m->trace->count; i++) {
		double s = (double)i * m->config.interval_s - at_s;

		m->trace->samples[i].level *= s < 0 ? fresh : 1 + (fresh - 1) * exp(-s / slide_s);
	}
}

static void shape_cache(struct maker *m)
{
	double burst_s = between(m, 30, 240), rest_s = burst_s * between(m, 2, 8),
	       factor = between(m, 1.3, 3);
	unsigned i = 0;

	while (i < m->trace->count) {
		unsigned burst = samples_in(m, burst_s * between(m, 0.9, 1.1));

		scale(m, i, i + burst - 1, factor);
		i += burst + samples_in(m, rest_s * between(m, 0.9, 1.1));
	}
}

/* Either a slide that ends with a jump, or a dip; at least 40 s of it below half of the upper level. */
static void shape_saw(struct maker *m)
{
	double period_s = between(m, 240, 1500), depth = between(m, 0.6, 0.9),
	       low_s = between(m, 40, period_s / 4);
	bool is_slide = chance(m, 0.4);
	unsigned i = samples_in(m, period_s);

	m->trace->is_saw = true;
	while (i < m->trace->count) {
		unsigned low = samples_in(m, low_s * between(m, 0.9, 1.1));

		for (unsigned k = 0; k < low && i + k < m->trace->count; k++)
			m->trace->samples[i + k].level *= is_slide ? 1 - depth * sqrt((k + 1.0) / low)
								   : 1 - depth;
		i += samples_in(m, period_s * between(m, 0.93, 1.07));
	}
}

/* Heats up over a quarter of an hour, is throttled until it has cooled down, and comes back now and then. */
static void shape_thermal(struct maker *m)
{
	double limit_c = between(m, 70, 84);
	unsigned i = samples_in(m, (m->config.quiet_h + between(m, 0, 4)) * 3600.0);

	while (i < m->trace->count) {
		double level = between(m, 0.15, 0.45);
		unsigned length = samples_in(m, between(m, 40, 400)), lead = samples_in(m, 900);
		struct trace_fall *fall = fall_add(m, i, i + length - 1, level, true);

		if (!fall)
			return;
		fall->is_thermal = true;
		scale(m, i, i + length - 1, level);
		for (unsigned k = 0; k < lead && k <= i; k++)
			m->trace->samples[i - k].temp_c = limit_c - (limit_c - 45) * (double)k / lead;
		for (unsigned k = 1; k < length; k++)
			m->trace->samples[i + k].temp_c = limit_c - 8.0 * k / length;
		i += length + samples_in(m, log_between(m, 1800, 36000));
	}
}

static void shape_stalls(struct maker *m)
{
	unsigned i = samples_in(m, m->config.quiet_h * 3600.0);

	for (;;) {
		double seconds = log_between(m, 10, 120);
		unsigned length = samples_in(m, seconds);

		i += samples_in(m, log_between(m, 1200, 20000));
		if (!fall_add(m, i, i + length - 1, 0, seconds >= 30))
			return;
		scale(m, i, i + length - 1, 0);
		i += length;
	}
}

static void shape_decline(struct maker *m)
{
	double per_hour = between(m, 0.001, 0.005);

	for (unsigned i = 0; i < m->trace->count; i++)
		m->trace->samples[i].level *= pow(1 - per_hour, i * m->config.interval_s / 3600.0);
}

static void shape_host(struct maker *m)
{
	unsigned i = samples_in(m, m->config.quiet_h * 1800.0);

	while (i < m->trace->count) {
		unsigned length = samples_in(m, between(m, 20, 600));
		double level = between(m, 0.05, 0.9);

		for (unsigned k = i; k < i + length && k < m->trace->count; k++) {
			m->trace->samples[k].level *= level;
			m->trace->samples[k].counts = false;
		}
		i += length + samples_in(m, log_between(m, 300, 20000));
	}
}

/* Samples of a pause do not count; of a restart there are none: the clock jumps. */
static void shape_gaps(struct maker *m)
{
	unsigned i = samples_in(m, 3600);

	while (i < m->trace->count) {
		double seconds = log_between(m, 10, 3600);
		unsigned length = samples_in(m, seconds), burst = samples_in(m, fmin(seconds / 4, 200));

		if (chance(m, 0.5)) {
			for (unsigned k = i; k < i + length && k < m->trace->count; k++) {
				m->trace->samples[k].level = 0;
				m->trace->samples[k].counts = false;
			}
			i += length;
		} else {
			for (unsigned k = i; k < m->trace->count; k++)
				m->trace->samples[k].t_ms += (int64_t)length * m->config.interval_s * 1000;
		}
		scale(m, i, i + burst - 1, between(m, 1, 2.5));
		i += burst + samples_in(m, log_between(m, 1800, 40000));
	}
}

static void shape_nothing(struct maker *m)
{
	(void)m;
}

static void (*const shapes[TRACE_PROFILE_COUNT])(struct maker *m) = { shape_nothing, shape_cliff, shape_cache,
	shape_saw, shape_thermal, shape_stalls, shape_decline, shape_host, shape_gaps };

/* --- what happens to every drive --- */

static bool is_free(const struct maker *m, unsigned first, unsigned last)
{
	for (unsigned i = first; i <= last; i++)
		if (i >= m->trace->count || !m->trace->samples[i].counts ||
			(i > first && m->trace->samples[i].t_ms - m->trace->samples[i - 1].t_ms >
					      (int64_t)m->config.interval_s * 1000))
			return false;
	for (unsigned k = 0; k < m->trace->fall_count; k++)
		if (m->trace->falls[k].first <= last && m->trace->falls[k].last >= first)
			return false;
	return true;
}

static void inject_falls(struct maker *m)
{
	double mean_s = 86400 / m->config.falls_per_day, least_s = fmax(m->config.fall_least_s, 30);
	unsigned i = samples_in(m, m->config.quiet_h * 3600.0);

	/* A detector may know the teeth of a saw; what is to be found among them is deeper. */
	for (;;) {
		unsigned length = samples_in(m, log_between(m, least_s, 600)), around = samples_in(m, 300);
		double level = between(m, 0, m->trace->is_saw ? 0.03 : 0.5);

		i += samples_in(m, 1200 - mean_s * log(between(m, 1e-9, 1)));
		if (i + length + around >= m->trace->count)
			return;
		if (!is_free(m, i - around, i + length + around))
			continue;
		scale(m, i, i + length - 1, level);
		if (!fall_add(m, i, i + length - 1, level, true))
			return;
		i += length;
	}
}

static int by_first(const void *a, const void *b)
{
	const struct trace_fall *x = a, *y = b;

	return (x->first > y->first) - (x->first < y->first);
}

static void fill_in(struct maker *m)
{
	uint64_t stall_ns = 0;

	for (unsigned i = 0; i < m->trace->count; i++) {
		struct trace_sample *sample = &m->trace->samples[i];
		double scatter = fmax(1 + m->config.noise * normal(m), 0);

		sample->elapsed_ns = m->config.interval_s * NS_PER_SECOND + (uint64_t)between(m, 0, 2e6) -
				     1000000;
		sample->bytes =
			(uint64_t)(m->base * sample->level * scatter * (double)sample->elapsed_ns / 1e9);
		stall_ns = sample->level > 0 || !sample->counts ? 0 : stall_ns + sample->elapsed_ns;
		sample->stall_ns = stall_ns ? stall_ns : (uint64_t)between(m, 1e6, 2e7);
	}
}

struct trace *trace_make(const struct trace_config *config)
{
	struct maker m = { .config = *config, .state = config->seed * 1000003 + config->profile };
	unsigned count = config->hours * 3600 / config->interval_s;
	struct trace *trace = calloc(1, sizeof(*trace));

	if (!trace)
		return NULL;
	trace->samples = calloc(count, sizeof(*trace->samples));
	trace->falls = calloc(FALLS_MAX, sizeof(*trace->falls));
	if (!trace->samples || !trace->falls) {
		trace_free(trace);
		return NULL;
	}
	trace->count = count;
	m.trace = trace;
	m.base = between(&m, 50, 500) * MIB;
	/* Two extents take 1 to 3 h at the steady rate. */
	trace->extent_bytes = (uint64_t)(m.base * between(&m, 1800, 5400));
	for (unsigned i = 0; i < count; i++)
		trace->samples[i] = (struct trace_sample){ .level = 1,
			.counts = true,
			.temp_c = 45,
			.t_ms = 1700000000000 + (int64_t)(i + 1) * config->interval_s * 1000 };
	shapes[config->profile](&m);
	if (config->falls_per_day > 0)
		inject_falls(&m);
	qsort(trace->falls, trace->fall_count, sizeof(*trace->falls), by_first);
	fill_in(&m);
	return trace;
}

void trace_free(struct trace *trace)
{
	if (!trace)
		return;
	free(trace->samples);
	free(trace->falls);
	free(trace);
}
