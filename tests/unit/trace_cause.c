/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace_cause.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define INTERVAL_S  10
#define INTERVAL_MS 10000
#define HOURS	    30
#define MIB	    (1024.0 * 1024)
#define LINES_MAX   8192
#define MISSING	    0.12 /* of the signals */

/* What kind of drive and host it is. */
struct habits {
	double poll_s, poll_cost, flush_cost; /* costs: share lost in such a sample */
	bool counts_heat, fails_polls, is_hot, is_scsi, has_limit;
	double busy_a_day, aer_a_day, error_a_day, writers_a_day, heat_a_day, neighbour_a_day;
};

struct maker {
	struct trace_cause *made;
	struct habits habits;
	uint64_t state;
	unsigned count;
};

static double between(struct maker *m, double low, double high)
{
	return trace_between(&m->state, low, high);
}

static bool chance(struct maker *m, double share)
{
	return trace_chance(&m->state, share);
}

static bool is_missing(struct maker *m)
{
	return chance(m, MISSING);
}

static void line_add(struct maker *m, int64_t t_ms, enum kernelline_word word)
{
	struct trace_cause *made = m->made;

	if (made->is_log_heard && made->line_count < LINES_MAX)
		made->lines[made->line_count++] = (struct trace_cause_line){ t_ms, word };
}

static int64_t begin_ms(const struct maker *m, unsigned sample)
{
	return m->made->trace->samples[sample].t_ms - INTERVAL_MS;
}

/* Of each moment of a Poisson process: call @put with its sample. */
static void happen(struct maker *m, double a_day, void (*put)(struct maker *, unsigned sample))
{
	double at = 0;

	if (a_day <= 0)
		return;
	for (;;) {
		at += -log(between(m, 1e-9, 1)) * 86400 / INTERVAL_S / a_day;
		if (at >= m->count - 2)
			return;
		put(m, (unsigned)at + 1);
	}
}

/* --- how it is without falls --- */

static void habits_draw(struct maker *m)
{
	m->habits = (struct habits){
		.poll_s = chance(m, 0.6) ? 60 : 300,
		.poll_cost = chance(m, 0.3) ? between(m, 0.02, 0.15) : 0,
		.flush_cost = chance(m, 0.3) ? between(m, 0.02, 0.15) : 0,
		.counts_heat = chance(m, 0.6),
		.fails_polls = chance(m, 0.3),
		.is_hot = chance(m, 0.15),
		.is_scsi = chance(m, 0.4),
		.has_limit = chance(m, 0.8),
		.busy_a_day = between(m, 0, 24),
		.aer_a_day = chance(m, 0.25) ? between(m, 1, 200) : 0,
		.error_a_day = chance(m, 0.2) ? between(m, 0.3, 2) : 0,
		.writers_a_day = between(m, 0, 4),
		.heat_a_day = between(m, 0, 3),
		.neighbour_a_day = between(m, 0, 24),
	};
	m->made->is_log_heard = !is_missing(m);
	m->made->neighbour_shares_path = chance(m, 0.7);
}

static void put_busy(struct maker *m, unsigned sample)
{
	double share = between(m, 0.05, 0.5);
	unsigned end = sample + (unsigned)between(m, 1, 6);

	for (; sample < end && sample < m->count; sample++)
		m->made->samples[sample].run_delay_share += share;
}

static void put_aer(struct maker *m, unsigned sample)
{
	m->made->counters[sample].aer_correctable += (uint64_t)between(m, 1, 4);
	if (chance(m, 0.5))
		line_add(m, begin_ms(m, sample) + 3000, KERNELLINE_AER);
}

static void put_error(struct maker *m, unsigned sample)
{
	line_add(m, begin_ms(m, sample) + 5000, KERNELLINE_ERROR);
	m->made->counters[sample].io_errors += m->habits.is_scsi;
	m->made->samples[sample].errors += chance(m, 0.5);
}

static void put_writers(struct maker *m, unsigned sample)
{
	double bytes = between(m, 1, 40) * MIB * INTERVAL_S;
	unsigned end = sample + (unsigned)between(m, 6, 120);

	for (; sample < end && sample < m->count; sample++)
		m->made->samples[sample].foreign_bytes += bytes;
}

/* To near the limit and back within half an hour, throttled or not. */
static void put_heat(struct maker *m, unsigned sample)
{
	double top_c = between(m, 60, 80), width_ms = between(m, 300, 1200) * 1000;
	int64_t t_ms = begin_ms(m, sample);

	for (unsigned i = 0; i < m->made->reading_count; i++) {
		struct cause_reading *reading = &m->made->readings[i];
		double off = fabs((double)(reading->t_ms - t_ms)) / width_ms;

		if (off < 1)
			reading->temp_c = fmax(reading->temp_c, top_c - (top_c - 50) * off);
	}
}

static void neighbour_add(struct maker *m, int64_t from_ms, int64_t to_ms)
{
	if (m->made->neighbour_fall_count < LINES_MAX)
		m->made->neighbour_falls[m->made->neighbour_fall_count++] = (struct cause_fall){ from_ms,
			to_ms };
}

static void put_neighbour(struct maker *m, unsigned sample)
{
	int64_t from_ms = begin_ms(m, sample) + (int64_t)between(m, 0, INTERVAL_MS);

	neighbour_add(m, from_ms, from_ms + (int64_t)(30000 * exp(between(m, 0, 3))));
}

static void put_trim(struct maker *m, unsigned sample)
{
	m->made->counters[sample].discard_bytes += (uint64_t)(between(m, 1, 50) * 1024 * MIB);
}

static void scale(struct maker *m, unsigned sample, double factor)
{
	struct trace_sample *traced = &m->made->trace->samples[sample];

	traced->bytes = (uint64_t)((double)traced->bytes * factor);
}

static void samples_make(struct maker *m)
{
	for (unsigned i = 0; i < m->count; i++) {
		struct cause_sample *sample = &m->made->samples[i];
		struct evidence_counters *counters = &m->made->counters[i];

		cause_sample_init(sample);
		evidence_counters_init(counters);
		sample->t_ms = counters->stamp = m->made->trace->samples[i].t_ms;
		sample->elapsed_ns = m->made->trace->samples[i].elapsed_ns;
		sample->state = SAMPLE_MEASURED;
		sample->errors = 0;
		sample->run_delay_share = between(m, 0, 0.03);
		sample->steal_share = between(m, 0, 0.004);
		sample->throttled_share = 0;
		sample->in_flight_share = between(m, 0.97, 1);
		sample->foreign_bytes = between(m, 0, 1) * MIB;
		counters->disks = 1;
		/* Growth of each interval for now: summed up at the end. */
		counters->aer_correctable = counters->aer_nonfatal = counters->discard_bytes = 0;
		counters->io_errors = counters->io_timeouts = m->habits.is_scsi ? 0 : EVIDENCE_UNKNOWN;
		counters->link_speed = m->habits.is_scsi ? 60 : 160;
		counters->link_width = m->habits.is_scsi ? 0 : 4;
		counters->queue_depth = m->habits.is_scsi ? 32 : EVIDENCE_UNKNOWN;
		counters->io_timeout_ms = 30000;
		(void)snprintf(counters->state, sizeof(counters->state), "%s",
			m->habits.is_scsi ? "running" : "live");
		(void)snprintf(counters->write_cache, sizeof(counters->write_cache), "write back");
		(void)snprintf(counters->md_action, sizeof(counters->md_action), "idle");
	}
}

static void readings_make(struct maker *m)
{
	const unsigned every = (unsigned)(m->habits.poll_s / INTERVAL_S);
	double swing = between(m, 0, 6), base = m->habits.is_hot ? 79 : between(m, 38, 60);
	unsigned offset = (unsigned)between(m, 1, every), flush = (unsigned)between(m, 1, 60);

	for (unsigned i = offset; i < m->count; i += every) {
		struct cause_reading *reading = &m->made->readings[m->made->reading_count++];

		cause_reading_init(reading);
		reading->t_ms = begin_ms(m, i) + 5000 + (int64_t)between(m, 20, 400);
		reading->temp_c = round(base + swing * sin(i * 6.28 / 8640) + between(m, -0.6, 0.6));
		reading->warning_temp_c = m->habits.has_limit ? 80 : NAN;
		reading->critical_warning = reading->crc_errors = reading->self_test = 0;
		if (m->habits.counts_heat) {
			reading->thermal1_count = reading->thermal2_count = 0;
			reading->warning_temp_minutes = m->habits.is_hot ? i / 30 : 0;
		}
		m->made->samples[i].flags |= SAMPLE_FLAG_HEALTH_POLL;
		if (m->habits.fails_polls && m->habits.is_scsi)
			m->made->counters[i].io_errors += 2;
		scale(m, i, 1 - m->habits.poll_cost);
	}
	for (unsigned i = flush; i < m->count; i += 60) {
		m->made->samples[i].flags |= SAMPLE_FLAG_FLUSH;
		scale(m, i, 1 - m->habits.flush_cost);
	}
}

/* --- what a fall shows --- */

static void from_readings(
	struct maker *m, int64_t from_ms, void (*put)(struct cause_reading *, double), double value)
{
	for (unsigned i = 0; i < m->made->reading_count; i++)
		if (m->made->readings[i].t_ms >= from_ms)
			put(&m->made->readings[i], value);
}

static void add_crc(struct cause_reading *reading, double value)
{
	reading->crc_errors += (uint64_t)value;
}

static void add_throttled(struct cause_reading *reading, double value)
{
	reading->thermal1_count += (uint64_t)value;
}

static void add_hot_minutes(struct cause_reading *reading, double value)
{
	reading->warning_temp_minutes += (uint64_t)value;
}

static void add_backup_failed(struct cause_reading *reading, double value)
{
	reading->critical_warning = value > 0 ? 0x10 : 0;
}

static void show_reset(struct maker *m, const struct trace_fall *fall)
{
	const unsigned length = fall->last - fall->first + 1;
	bool is_hang = chance(m, 0.5) && length >= 4;
	int64_t t_ms = begin_ms(m, fall->first) + (int64_t)between(m, -4000, 6000);

	if (is_hang) {
		/* Nothing until the kernel has waited long enough. */
		for (unsigned i = fall->first; i < fall->first + 4; i++)
			scale(m, i, 0);
		line_add(m, begin_ms(m, fall->first) + 30500, KERNELLINE_TIMEOUT);
		line_add(m, begin_ms(m, fall->first) + 31000, KERNELLINE_RESET);
		t_ms += 30000;
	} else {
		line_add(m, t_ms, KERNELLINE_RESET);
	}
	if (m->habits.is_scsi && chance(m, 0.5))
		m->made->counters[fall->first].io_timeouts++;
	if (m->habits.is_scsi && chance(m, 0.5))
		line_add(m, t_ms + 2000, KERNELLINE_ERROR);
}

static void show_errors(struct maker *m, const struct trace_fall *fall)
{
	unsigned count = (unsigned)between(m, 2, 30);

	for (unsigned i = 0; i < count; i++)
		line_add(m, begin_ms(m, fall->first) + (int64_t)between(m, -2000, 20000), KERNELLINE_ERROR);
	m->made->samples[fall->first + 1].errors += chance(m, 0.8) ? count : 0;
	if (m->habits.is_scsi)
		m->made->counters[fall->first].io_errors += count;
}

static void show_host(struct maker *m, const struct trace_fall *fall)
{
	double lost = 1 - fall->level, kind = between(m, 0, 1);

	if (kind < 0.15) {
		line_add(m, begin_ms(m, fall->first) + 22000, KERNELLINE_HOST);
		return;
	}
	for (unsigned i = fall->first; i <= fall->last; i++) {
		struct cause_sample *sample = &m->made->samples[i];
		double share = fmin(lost * between(m, 0.3, 1), 0.99);

		if (kind < 0.65)
			sample->run_delay_share = share;
		else if (kind < 0.8)
			sample->steal_share = share;
		else
			sample->throttled_share = share;
	}
}

static void show_path(struct maker *m, const struct trace_fall *fall)
{
	if (m->made->neighbour_shares_path)
		neighbour_add(m, begin_ms(m, fall->first) + (int64_t)between(m, -INTERVAL_MS, INTERVAL_MS),
			begin_ms(m, fall->last + 1) + (int64_t)between(m, -INTERVAL_MS, INTERVAL_MS));
}

static void show_link(struct maker *m, const struct trace_fall *fall)
{
	double kind = between(m, 0, 1);

	if (kind < 0.5) {
		for (unsigned i = fall->first; i <= fall->last; i++) {
			m->made->counters[i].link_speed = m->habits.is_scsi ? 15 : 25;
			if (m->habits.is_scsi && chance(m, 0.5))
				m->made->counters[i].queue_depth = 1;
		}
	} else if (kind < 0.75) {
		m->made->counters[fall->first].aer_correctable += (uint64_t)between(m, 20, 5000);
	} else {
		from_readings(m, begin_ms(m, fall->first), add_crc, between(m, 1, 40));
	}
}

static void show_heat(struct maker *m, const struct trace_fall *fall)
{
	double top_c = between(m, 78, 83);
	int64_t t_ms = begin_ms(m, fall->first);

	for (unsigned i = 0; i < m->made->reading_count; i++) {
		struct cause_reading *reading = &m->made->readings[i];
		double before_s = (double)(t_ms - reading->t_ms) / 1000;

		if (before_s >= -30 && before_s < 900)
			reading->temp_c = fmax(reading->temp_c, round(top_c - fmax(before_s, 0) / 45));
	}
	if (!m->habits.counts_heat)
		return;
	if (chance(m, 0.7))
		from_readings(m, t_ms, add_throttled, 1);
	if (top_c > 80)
		from_readings(m, t_ms, add_hot_minutes, 1);
}

static void show_cache(struct maker *m, const struct trace_fall *fall)
{
	if (chance(m, 0.5)) {
		for (unsigned i = fall->first; i <= fall->last; i++)
			(void)snprintf(m->made->counters[i].write_cache, EVIDENCE_WORD_MAX, "write through");
		return;
	}
	from_readings(m, begin_ms(m, fall->first), add_backup_failed, 1);
	from_readings(m, begin_ms(m, fall->last) + 600000, add_backup_failed, 0);
}

static void show_background(struct maker *m, const struct trace_fall *fall)
{
	double kind = between(m, 0, 1),
	       lost = (1 - fall->level) * (double)m->made->trace->samples[fall->first - 1].bytes;

	for (unsigned i = fall->first; i <= fall->last; i++) {
		if (kind < 0.35)
			(void)snprintf(m->made->counters[i].md_action, EVIDENCE_WORD_MAX, "check");
		else if (kind < 0.7)
			m->made->samples[i].foreign_bytes += lost * between(m, 0.4, 1.2);
	}
	if (kind >= 0.7)
		m->made->counters[fall->first].discard_bytes += (uint64_t)(between(m, 20, 400) * 1024 * MIB);
}

/* A reading or a flush that holds the drive for as long as it takes: on a drive that it always costs something. */
static void show_own(struct maker *m, const struct trace_fall *fall, uint32_t flag)
{
	m->made->samples[fall->first - 1].flags &= ~flag;
	for (unsigned i = fall->first; i <= fall->last; i++)
		m->made->samples[i].flags |= flag;
}

static void show_pause(struct maker *m, const struct trace_fall *fall)
{
	m->made->samples[fall->first - 1].state = SAMPLE_PAUSED;
	m->made->trace->samples[fall->first - 1].counts = false;
}

static void show(struct maker *m, const struct trace_fall *fall, enum cause cause)
{
	switch (cause) {
	case CAUSE_RESET:
		show_reset(m, fall);
		break;
	case CAUSE_IO_ERRORS:
		show_errors(m, fall);
		break;
	case CAUSE_HOST:
		show_host(m, fall);
		break;
	case CAUSE_SHARED_PATH:
		show_path(m, fall);
		break;
	case CAUSE_LINK:
		show_link(m, fall);
		break;
	case CAUSE_THERMAL:
		show_heat(m, fall);
		break;
	case CAUSE_CACHE_MODE:
		show_cache(m, fall);
		break;
	case CAUSE_BACKGROUND:
		show_background(m, fall);
		break;
	case CAUSE_HEALTH_POLL:
		show_own(m, fall, SAMPLE_FLAG_HEALTH_POLL);
		break;
	case CAUSE_OWN_PAUSE:
		if (m->habits.flush_cost > 0.2)
			show_own(m, fall, SAMPLE_FLAG_FLUSH);
		else
			show_pause(m, fall);
		break;
	default:
		break;
	}
}

/* A drive that stands still by itself also holds a reading or a flush that is asked for meanwhile. */
static void hold_ours(struct maker *m, const struct trace_fall *fall)
{
	static const uint32_t flags[] = { SAMPLE_FLAG_HEALTH_POLL, SAMPLE_FLAG_FLUSH };

	if (fall->level > 0.05)
		return;
	for (unsigned k = 0; k < 2; k++) {
		bool is_held = false;

		for (unsigned i = fall->first; i <= fall->last; i++) {
			is_held |= (m->made->samples[i].flags & flags[k]) != 0;
			m->made->samples[i].flags |= is_held ? flags[k] : 0;
		}
	}
}

/* Causes that go with the habits of the drive. */
static enum cause cause_draw(struct maker *m)
{
	static const enum cause any[] = { CAUSE_RESET, CAUSE_IO_ERRORS, CAUSE_HOST, CAUSE_SHARED_PATH,
		CAUSE_LINK, CAUSE_THERMAL, CAUSE_CACHE_MODE, CAUSE_BACKGROUND, CAUSE_HEALTH_POLL,
		CAUSE_OWN_PAUSE };

	if (m->habits.poll_cost > 0.2 && chance(m, 0.2))
		return CAUSE_HEALTH_POLL;
	return chance(m, 0.35) ? CAUSE_UNKNOWN : any[(unsigned)between(m, 0, 10)];
}

static void falls_show(struct maker *m)
{
	struct trace *trace = m->made->trace;

	for (unsigned i = 0; i < trace->fall_count; i++) {
		enum cause cause = trace->falls[i].is_thermal ? CAUSE_THERMAL : cause_draw(m);

		/* Only of drives whose readings and flushes cost something can they be the cause. */
		if (cause == CAUSE_HEALTH_POLL && m->habits.poll_cost < 0.2)
			cause = CAUSE_UNKNOWN;
		if (cause == CAUSE_SHARED_PATH && !m->made->neighbour_shares_path)
			cause = CAUSE_UNKNOWN;
		m->made->truth[i] = cause;
		if (!is_missing(m))
			show(m, &trace->falls[i], cause);
		if (cause == CAUSE_UNKNOWN)
			hold_ours(m, &trace->falls[i]);
	}
}

/* --- the whole --- */

static void counters_sum(struct maker *m)
{
	struct evidence_counters *counters = m->made->counters;
	uint64_t written = 0;

	for (unsigned i = 0; i < m->count; i++) {
		written += m->made->samples[i].bytes + (uint64_t)m->made->samples[i].foreign_bytes;
		counters[i].read_bytes = 0;
		counters[i].write_bytes = written;
		if (i == 0)
			continue;
		counters[i].aer_correctable += counters[i - 1].aer_correctable;
		counters[i].discard_bytes += counters[i - 1].discard_bytes;
		if (!m->habits.is_scsi)
			continue;
		counters[i].io_errors += counters[i - 1].io_errors;
		counters[i].io_timeouts += counters[i - 1].io_timeouts;
	}
}

static int by_time(const void *a, const void *b)
{
	const struct trace_cause_line *x = a, *y = b;

	return (x->t_ms > y->t_ms) - (x->t_ms < y->t_ms);
}

/* A fast cache: the first part of the run several times as fast. */
static void burst_make(struct maker *m)
{
	struct trace *trace = m->made->trace;
	double factor = between(m, 2.5, 6), left = 0;

	for (unsigned i = 0; i < 360; i++)
		left += (double)trace->samples[i].bytes;
	left *= between(m, 0.6, 2);
	m->made->capacity_bytes = (uint64_t)(left / between(m, 0.05, 0.3));
	for (unsigned i = 0; left > 0 && i < m->count; i++) {
		scale(m, i, factor);
		left -= (double)trace->samples[i].bytes;
	}
	m->made->cliff = CAUSE_WRITE_CACHE;
}

/* Rest, then a fill of three quarters, but for a drive whose fast cache is looked at: then only rest. */
static void begin_make(struct maker *m, enum trace_profile profile)
{
	struct trace_cause *made = m->made;
	double capacities = profile == TRACE_CACHE ? 0 : 0.75;

	made->capacity_bytes = (uint64_t)((double)made->trace->extent_bytes / 0.75);
	made->cliff = profile == TRACE_CLIFF ? CAUSE_GARBAGE : CAUSE_UNKNOWN;
	if (profile == TRACE_CACHE)
		burst_make(m);
	for (unsigned i = 0; i < m->count; i++) {
		struct cause_sample *sample = &made->samples[i];

		capacities += (double)made->trace->samples[i].bytes / (double)made->capacity_bytes;
		sample->capacities = capacities;
		sample->bytes = made->trace->samples[i].bytes;
		if (!made->trace->samples[i].counts)
			sample->state = SAMPLE_PAUSED;
	}
}

static void make(struct maker *m, enum trace_profile profile, uint64_t seed)
{
	habits_draw(m);
	/* Some drives suffer from each reading, others from each flush. */
	if (seed % 4 == 0)
		m->habits.poll_cost = between(m, 0.25, 0.5);
	if (seed % 4 == 1)
		m->habits.flush_cost = between(m, 0.25, 0.5);
	samples_make(m);
	readings_make(m);
	happen(m, m->habits.busy_a_day, put_busy);
	happen(m, m->habits.aer_a_day, put_aer);
	happen(m, m->habits.error_a_day, put_error);
	happen(m, m->habits.writers_a_day, put_writers);
	happen(m, m->habits.heat_a_day, put_heat);
	happen(m, m->habits.neighbour_a_day, put_neighbour);
	happen(m, 0.5, put_trim);
	falls_show(m);
	begin_make(m, profile);
	counters_sum(m);
	qsort(m->made->lines, m->made->line_count, sizeof(m->made->lines[0]), by_time);
}

struct trace_cause *trace_cause_make(enum trace_profile profile, uint64_t seed)
{
	struct trace_config config = { .profile = profile == TRACE_CACHE ? TRACE_STEADY : profile,
		.seed = seed,
		.noise = 0.02 + 0.01 * (double)(seed % 7),
		.interval_s = INTERVAL_S,
		.hours = HOURS,
		.falls_per_day = profile == TRACE_STEADY ? 40 : 0,
		.quiet_h = 3,
		.fall_least_s = 40 };
	struct trace_cause *made = calloc(1, sizeof(*made));
	struct maker m = { .made = made, .state = seed * 7919 + profile };

	if (!made)
		return NULL;
	made->trace = trace_make(&config);
	if (!made->trace) {
		free(made);
		return NULL;
	}
	m.count = made->trace->count;
	made->truth = calloc(made->trace->fall_count + 1, sizeof(*made->truth));
	made->samples = calloc(m.count, sizeof(*made->samples));
	made->counters = calloc(m.count, sizeof(*made->counters));
	made->readings = calloc(m.count, sizeof(*made->readings));
	made->lines = calloc(LINES_MAX, sizeof(*made->lines));
	made->neighbour_falls = calloc(LINES_MAX, sizeof(*made->neighbour_falls));
	if (!made->truth || !made->samples || !made->counters || !made->readings || !made->lines ||
		!made->neighbour_falls) {
		trace_cause_free(made);
		return NULL;
	}
	make(&m, profile, seed);
	return made;
}

void trace_cause_free(struct trace_cause *made)
{
	if (!made)
		return;
	trace_free(made->trace);
	free(made->truth);
	free(made->samples);
	free(made->counters);
	free(made->readings);
	free(made->lines);
	free(made->neighbour_falls);
	free(made);
}
