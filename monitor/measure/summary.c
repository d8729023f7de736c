/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "measure/summary.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "engine/hist.h"
#include "measure/values.h"

#define MINUTE_S     60
#define STALL_MIN_NS NS_PER_S

enum quantity { WRITE_RATE, READ_RATE, COMMIT_RATE, COMMIT_P50, COMMIT_P99, QUANTITY_COUNT };

/* One direction: write or read. */
struct direction {
	unsigned chain; /* as that of the tally, of samples that know this direction */
	uint64_t bytes, elapsed_ns;
	double worst_minute; /* NAN until a minute is full */
	uint64_t window_bytes, ring_bytes[MINUTE_S];
};

/* What depends on the order of the samples, or on all of them together. */
struct tally {
	struct direction write, read;
	/* The last samples that count and follow each other without a hole. */
	unsigned chain;
	uint64_t window_ns, ring_ns[MINUTE_S];
	uint64_t samples, stalled_ns, last_stall_ns;
	uint64_t elapsed_ns, longest_stall_ns;
	bool knows_stalls;
	int64_t from_ms, to_ms, last_counted_ms;
	int64_t last_ms;  /* of the row before, whether it counts or not */
	struct hist hist; /* of the whole: only what the soak's has not */
};

/* The settled window. */
struct window {
	bool is_open;
	struct tally tally;
	struct values counted[QUANTITY_COUNT];
	struct values total;   /* written and read together */
	struct values in_time; /* the same in order of time, never sorted */
};

/* A mean under way: values times their weights. */
struct weighted {
	double sum, weight;
};

/* Fewer samples with a reading tell nothing of its cost. */
#define POLLED_LEAST 10

struct summary {
	uint32_t interval_s;
	unsigned window_samples; /* that make a minute */
	/* A value a sample, each kept once: those of samples that count, and of host-limited ones. */
	struct values counted[QUANTITY_COUNT], limited[QUANTITY_COUNT];
	struct tally soak, whole;
	struct window window;
	uint64_t soak_ns, gap_ns, host_limited_ns;
	struct weighted delay, steal, throttled, lat, device_lat; /* of host-limited samples */
	struct {
		double bytes, ns;
		uint64_t samples;
	} polled, quiet; /* samples with and without a health reading */
};

static void tally_init(struct tally *tally)
{
	tally->write.worst_minute = tally->read.worst_minute = NAN;
	tally->from_ms = tally->to_ms = tally->last_counted_ms = tally->last_ms = INT64_MIN;
}

int summary_new(uint32_t interval_s, struct summary **out)
{
	struct summary *summary;

	if (interval_s == 0)
		return -EINVAL;
	summary = calloc(1, sizeof(*summary));
	if (!summary)
		return -ENOMEM;
	summary->interval_s = interval_s;
	summary->window_samples = interval_s >= MINUTE_S ? 1 : (MINUTE_S + interval_s - 1) / interval_s;
	tally_init(&summary->soak);
	tally_init(&summary->whole);
	*out = summary;
	return 0;
}

void summary_free(struct summary *summary)
{
	if (!summary)
		return;
	for (int i = 0; i < QUANTITY_COUNT; i++) {
		values_fini(&summary->counted[i]);
		values_fini(&summary->limited[i]);
		values_fini(&summary->window.counted[i]);
	}
	values_fini(&summary->window.total);
	values_fini(&summary->window.in_time);
	free(summary);
}

bool summary_counts_whole(const struct sample *sample)
{
	return (sample->state == SAMPLE_MEASURED || sample->state == SAMPLE_ZERO) &&
	       sample->phase == PHASE_SOAK && !(sample->flags & SAMPLE_FLAG_PARTIAL) &&
	       sample->elapsed_ns > 0 && sample->elapsed_ns != SAMPLE_UNKNOWN &&
	       (sample->write_bytes != SAMPLE_UNKNOWN || sample->read_bytes != SAMPLE_UNKNOWN);
}

bool summary_counts(const struct sample *sample)
{
	return summary_counts_whole(sample) && !(sample->flags & SAMPLE_FLAG_HOST_LIMIT);
}

/* The wall time this row stands for: from the row before it, so that a hole without a row is seen too. */
static uint64_t span_ns(const struct summary *summary, const struct sample *sample)
{
	if (summary->whole.last_ms != INT64_MIN && sample->t_ms > summary->whole.last_ms)
		return (uint64_t)(sample->t_ms - summary->whole.last_ms) * NS_PER_MS;
	return sample->elapsed_ns == SAMPLE_UNKNOWN ? 0 : sample->elapsed_ns;
}

static void add_time(struct summary *summary, const struct sample *sample)
{
	uint64_t span = span_ns(summary, sample), usual = summary->interval_s * NS_PER_S;

	if (sample->phase != PHASE_SOAK)
		return;
	summary->soak_ns += span;
	if (sample->state == SAMPLE_DOWN || sample->state == SAMPLE_ABSENT ||
		sample->flags & SAMPLE_FLAG_PARTIAL)
		summary->gap_ns += span;
	else if (span > usual + usual / 2)
		summary->gap_ns += span - usual;
	if (sample->flags & SAMPLE_FLAG_HOST_LIMIT)
		summary->host_limited_ns += span < usual ? span : usual;
}

static void add_poll(struct summary *summary, const struct sample *sample)
{
	const bool is_polled = sample->flags & SAMPLE_FLAG_HEALTH_POLL;
	const double bytes = (double)sample->write_bytes + (double)sample->read_bytes;

	if (is_polled) {
		summary->polled.bytes += bytes;
		summary->polled.ns += (double)sample->elapsed_ns;
		summary->polled.samples++;
	} else {
		summary->quiet.bytes += bytes;
		summary->quiet.ns += (double)sample->elapsed_ns;
		summary->quiet.samples++;
	}
}

/* What the samples with a reading have less than the others, spread over all. */
static double poll_cost_pct(const struct summary *summary)
{
	double polled, quiet;

	if (summary->polled.samples < POLLED_LEAST || summary->quiet.samples < POLLED_LEAST ||
		!summary->quiet.bytes)
		return NAN;
	polled = summary->polled.bytes / summary->polled.ns;
	quiet = summary->quiet.bytes / summary->quiet.ns;
	return 100 * (1 - polled / quiet) * summary->polled.ns / (summary->polled.ns + summary->quiet.ns);
}

static void add_weighted(struct weighted *mean, double value, double weight)
{
	if (isnan(value) || !(weight > 0))
		return;
	mean->sum += value * weight;
	mean->weight += weight;
}

static double known(uint64_t value)
{
	return value == SAMPLE_UNKNOWN ? NAN : (double)value;
}

static void add_host(struct summary *summary, const struct sample *sample)
{
	double elapsed_ns = known(sample->elapsed_ns),
	       ios = known(sample->write_ios) + known(sample->read_ios);
	double lat_ns = known(sample->lat_mean_ns), device_ns = known(sample->device_lat_mean_ns);

	if (sample->phase != PHASE_SOAK || !(sample->flags & SAMPLE_FLAG_HOST_LIMIT))
		return;
	add_weighted(&summary->delay, sample->run_delay_share, elapsed_ns);
	add_weighted(&summary->steal, sample->steal_share, elapsed_ns);
	add_weighted(&summary->throttled, known(sample->throttled_ns) / elapsed_ns, elapsed_ns);
	if (isnan(lat_ns) || isnan(device_ns))
		return;
	add_weighted(&summary->lat, lat_ns, ios);
	add_weighted(&summary->device_lat, device_ns, ios);
}

/* The samples of other tools are not on a grid. */
static bool follows(const struct summary *summary, const struct tally *tally, const struct sample *sample)
{
	return tally->last_counted_ms != INT64_MIN && tally->last_counted_ms == tally->last_ms &&
	       (sample->t_ms - tally->last_counted_ms) * 2 <= (int64_t)summary->interval_s * 3000;
}

static void add_stall(struct tally *tally, const struct sample *sample, bool is_next)
{
	uint64_t stall = sample->stall_ns == SAMPLE_UNKNOWN ? 0 : sample->stall_ns, part = stall;

	if (stall >= STALL_MIN_NS) {
		if (is_next && tally->last_stall_ns >= STALL_MIN_NS && stall > tally->last_stall_ns)
			part -= tally->last_stall_ns;
		tally->stalled_ns += part < sample->elapsed_ns ? part : sample->elapsed_ns;
	}
	if (stall > tally->longest_stall_ns)
		tally->longest_stall_ns = stall;
	tally->last_stall_ns = stall;
	tally->knows_stalls |= sample->stall_ns != SAMPLE_UNKNOWN;
}

static void add_bytes(const struct tally *tally, unsigned window_samples, struct direction *direction,
	uint64_t bytes, uint64_t elapsed_ns)
{
	unsigned slot = tally->chain % window_samples;
	double rate;

	if (tally->chain == 0 || bytes == SAMPLE_UNKNOWN)
		direction->chain = 0;
	if (bytes == SAMPLE_UNKNOWN)
		return;
	direction->bytes += bytes;
	direction->elapsed_ns += elapsed_ns;
	if (direction->chain == 0)
		direction->window_bytes = 0;
	else if (direction->chain >= window_samples)
		direction->window_bytes -= direction->ring_bytes[slot];
	direction->ring_bytes[slot] = bytes;
	direction->window_bytes += bytes;
	if (++direction->chain < window_samples)
		return;
	rate = (double)direction->window_bytes * 1e9 / (double)tally->window_ns;
	if (!(direction->worst_minute <= rate)) /* NAN gives way */
		direction->worst_minute = rate;
}

static void add_window_time(struct tally *tally, unsigned window_samples, uint64_t elapsed_ns, bool is_next)
{
	unsigned slot;

	if (!is_next)
		tally->chain = 0;
	slot = tally->chain % window_samples;
	if (tally->chain == 0)
		tally->window_ns = 0;
	else if (tally->chain >= window_samples)
		tally->window_ns -= tally->ring_ns[slot];
	tally->ring_ns[slot] = elapsed_ns;
	tally->window_ns += elapsed_ns;
}

static void add_counted(const struct summary *summary, struct tally *tally, const struct sample *sample)
{
	bool is_next = follows(summary, tally, sample);

	add_window_time(tally, summary->window_samples, sample->elapsed_ns, is_next);
	add_bytes(tally, summary->window_samples, &tally->write, sample->write_bytes, sample->elapsed_ns);
	add_bytes(tally, summary->window_samples, &tally->read, sample->read_bytes, sample->elapsed_ns);
	tally->chain++;
	add_stall(tally, sample, is_next);
	tally->samples++;
	tally->elapsed_ns += sample->elapsed_ns;
	if (tally->from_ms == INT64_MIN)
		tally->from_ms = sample->t_ms - (int64_t)summary->interval_s * 1000;
	tally->to_ms = tally->last_counted_ms = sample->t_ms;
}

/* One that can't be read is left out. */
static void add_hist(const struct sample *sample, struct hist *hist)
{
	if (sample->hist_bytes)
		(void)hist_decode_add(sample->hist, sample->hist_bytes, hist);
}

/* NAN is not kept: commits of a workload without, a direction that a log does not tell. */
static int keep_values(struct values *lists, const struct sample *sample)
{
	double elapsed_ns = (double)sample->elapsed_ns;
	const double values[QUANTITY_COUNT] = { known(sample->write_bytes) * 1e9 / elapsed_ns,
		known(sample->read_bytes) * 1e9 / elapsed_ns, known(sample->commits) * 1e9 / elapsed_ns,
		known(sample->commit_p50_ns), known(sample->commit_p99_ns) };
	int rc = 0;

	for (int i = 0; i < QUANTITY_COUNT && rc == 0; i++)
		rc = isnan(values[i]) ? 0 : values_make_room(&lists[i]);
	for (int i = 0; i < QUANTITY_COUNT && rc == 0; i++)
		if (!isnan(values[i]))
			values_add(&lists[i], values[i]);
	return rc;
}

int summary_add(struct summary *summary, const struct sample *sample)
{
	int rc = 0;

	if (summary_counts_whole(sample))
		rc = keep_values(summary_counts(sample) ? summary->counted : summary->limited, sample);
	if (rc < 0)
		return rc;
	add_time(summary, sample);
	add_host(summary, sample);
	if (summary_counts(sample)) {
		add_counted(summary, &summary->soak, sample);
		add_hist(sample, &summary->soak.hist);
	} else if (summary_counts_whole(sample)) {
		add_hist(sample, &summary->whole.hist);
	}
	if (summary_counts_whole(sample)) {
		add_counted(summary, &summary->whole, sample);
		add_poll(summary, sample);
	}
	summary->soak.last_ms = summary->whole.last_ms = sample->t_ms;
	return 0;
}

void summary_end_window(struct summary *summary)
{
	struct window *window = &summary->window;

	window->is_open = false;
	window->tally = (struct tally){ 0 };
	tally_init(&window->tally);
	values_clear(&window->total);
	values_clear(&window->in_time);
	for (int i = 0; i < QUANTITY_COUNT; i++)
		values_clear(&window->counted[i]);
}

void summary_begin_window(struct summary *summary)
{
	summary_end_window(summary);
	summary->window.is_open = true;
}

/* Of a direction that is not known nothing is known to have happened. */
static double total_rate(const struct sample *sample)
{
	uint64_t bytes = (sample->write_bytes == SAMPLE_UNKNOWN ? 0 : sample->write_bytes) +
			 (sample->read_bytes == SAMPLE_UNKNOWN ? 0 : sample->read_bytes);

	return (double)bytes * 1e9 / (double)sample->elapsed_ns;
}

int summary_add_window(struct summary *summary, const struct sample *sample)
{
	struct window *window = &summary->window;
	int rc = 0;

	if (summary_counts(sample)) {
		rc = values_make_room(&window->total);
		if (rc == 0)
			rc = values_make_room(&window->in_time);
		if (rc == 0)
			rc = keep_values(window->counted, sample);
		if (rc < 0)
			return rc;
		values_add(&window->total, total_rate(sample));
		values_add(&window->in_time, total_rate(sample));
		add_counted(summary, &window->tally, sample);
		add_hist(sample, &window->tally.hist);
	}
	window->tally.last_ms = sample->t_ms;
	return 0;
}

static void read_rates(const struct direction *direction, struct values_pair rates, struct summary_rates *out)
{
	size_t count = values_pair_count(rates);

	*out = (struct summary_rates){ NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN };
	if (count == 0)
		return;
	out->median = values_pair_rank(rates, 50);
	out->p1 = values_pair_rank(rates, 1);
	out->p5 = values_pair_rank(rates, 5);
	out->min = values_pair_at(rates, 0);
	out->max = values_pair_at(rates, count - 1);
	out->mean = (double)direction->bytes * 1e9 / (double)direction->elapsed_ns;
	out->cv = values_pair_variation(rates);
	out->worst_minute = direction->worst_minute;
}

static double longest_stall_s(const struct tally *tally)
{
	return tally->knows_stalls ? (double)tally->longest_stall_ns / 1e9 : NAN;
}

static void read_part(const struct tally *tally, const struct hist *hist, const struct values *counted,
	const struct values *limited, struct summary_part *out)
{
	struct values_pair pairs[QUANTITY_COUNT];

	for (int i = 0; i < QUANTITY_COUNT; i++)
		pairs[i] = (struct values_pair){ &counted[i], limited ? &limited[i] : NULL };
	*out = (struct summary_part){
		.samples = tally->samples,
		.stalled_s = tally->knows_stalls ? (double)tally->stalled_ns / 1e9 : NAN,
		.longest_stall_s = longest_stall_s(tally),
		.lat_p99_ns = hist_percentile_ns(hist, 99),
		.lat_p9999_ns = hist_percentile_ns(hist, 99.99),
		.median_commits_per_s = values_pair_rank(pairs[COMMIT_RATE], 50),
		.median_commit_p50_ns = values_pair_rank(pairs[COMMIT_P50], 50),
		.median_commit_p99_ns = values_pair_rank(pairs[COMMIT_P99], 50),
		.from_ms = tally->from_ms,
		.to_ms = tally->to_ms,
	};
	read_rates(&tally->write, pairs[WRITE_RATE], &out->write);
	read_rates(&tally->read, pairs[READ_RATE], &out->read);
}

static double share_pct(uint64_t part_ns, uint64_t whole_ns)
{
	return whole_ns ? (double)part_ns * 100 / (double)whole_ns : NAN;
}

static double mean_of(struct weighted mean)
{
	return mean.weight > 0 ? mean.sum / mean.weight : NAN;
}

static int read_stability(struct window *window, struct summary_stability *out)
{
	const size_t count = window->total.count, quarter = count / 4;
	const double *in_time = window->in_time.items;
	struct values_pair rates = { &window->total, NULL };
	double *copy;

	*out = (struct summary_stability){ NAN, NAN, NAN, NAN, NAN, NAN, NAN };
	if (!window->is_open || !count)
		return 0;
	copy = malloc((quarter + 1) * sizeof(double));
	if (!copy)
		return -ENOMEM;
	values_sort(&window->total);
	*out = (struct summary_stability){
		.median = values_pair_rank(rates, 50),
		.p1 = values_pair_rank(rates, 1),
		.min = window->total.items[0],
		.cv = values_pair_variation(rates),
		.half_median_share = values_share_from(&window->total, values_pair_rank(rates, 50) / 2),
		.first_quarter = values_median(in_time, quarter, copy),
		.last_quarter = values_median(in_time + (count - quarter), quarter, copy),
	};
	free(copy);
	return 0;
}

static void read_window(struct summary *summary, struct summary_figures *out)
{
	struct window *window = &summary->window;

	if (!window->is_open) {
		read_part(&summary->soak, &summary->soak.hist, summary->counted, NULL, &out->window);
		return;
	}
	for (int i = 0; i < QUANTITY_COUNT; i++)
		values_sort(&window->counted[i]);
	read_part(&window->tally, &window->tally.hist, window->counted, NULL, &out->window);
}

static void not_judged(struct summary_figures *figures)
{
	figures->collapses = SAMPLE_UNKNOWN;
	figures->collapses_per_h = NAN;
	figures->steady = (struct steady_answer){
		.from_ms = STEADY_NEVER,
		.lost_ms = STEADY_NEVER,
		.window_from_ms = STEADY_NEVER,
		.window_to_ms = STEADY_NEVER,
		.extents = NAN,
		.settle = { .round_s = NAN, .range_pct = NAN, .drift_pct = NAN },
	};
	figures->verdict.verdict = VERDICT_NONE;
}

/* Sorting in place is fine: the order of time was used up by summary_add(). */
int summary_read(struct summary *summary, struct summary_figures *out)
{
	struct hist all;

	for (int i = 0; i < QUANTITY_COUNT; i++) {
		values_sort(&summary->counted[i]);
		values_sort(&summary->limited[i]);
	}
	*out = (struct summary_figures){
		.interval_s = summary->interval_s,
		.health_poll_cost_pct = poll_cost_pct(summary),
		.waf = NAN,
		.percent_used_delta = NAN,
		.measured_s = (double)summary->soak.elapsed_ns / 1e9,
		.longest_stall_s = longest_stall_s(&summary->soak),
		.host_limited_pct = share_pct(summary->host_limited_ns, summary->soak_ns),
		.gap_pct = share_pct(summary->gap_ns, summary->soak_ns),
		.host = {
			.run_delay_share = mean_of(summary->delay),
			.steal_share = mean_of(summary->steal),
			.throttled_share = mean_of(summary->throttled),
			.lat_mean_ns = mean_of(summary->lat),
			.device_lat_mean_ns = mean_of(summary->device_lat),
		},
	};
	not_judged(out);
	read_window(summary, out);
	all = summary->soak.hist;
	hist_merge(&all, &summary->whole.hist);
	read_part(&summary->whole, &all, summary->counted, summary->limited, &out->whole);
	return read_stability(&summary->window, &out->stability);
}

bool summary_is_host_limited(const struct summary_figures *figures)
{
	return figures->window.samples == 0 && figures->whole.samples > 0;
}

const struct summary_part *summary_shown(const struct summary_figures *figures)
{
	return summary_is_host_limited(figures) ? &figures->whole : &figures->window;
}
