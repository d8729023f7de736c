/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "measure/summary.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "engine/hist.h"

#define MINUTE_S     60
#define STALL_MIN_NS NS_PER_S

/* One direction: write or read. */
struct direction {
	double *rates;
	size_t count;
	uint64_t bytes, elapsed_ns;
	double worst_minute; /* NAN until a minute is full */
	uint64_t window_bytes, ring_bytes[MINUTE_S];
};

/* A mean under way: values times their weights. */
struct weighted {
	double sum, weight;
};

struct summary {
	uint32_t interval_s;
	unsigned window_samples; /* that make a minute */
	struct direction write, read;
	size_t capacity; /* of the arrays of rates */
	double *commit_rates;
	size_t commit_count;
	/* The last samples that count and follow each other without a hole. */
	unsigned chain;
	uint64_t window_ns, ring_ns[MINUTE_S];
	uint64_t samples, stalled_ns;
	uint64_t soak_ns, gap_ns, host_limited_ns;
	int64_t from_ms, to_ms, last_ms, last_counted_ms;
	uint64_t last_stall_ns;
	struct weighted delay, steal, throttled, lat, device_lat; /* of host-limited samples */
	struct hist hist;
};

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
	summary->write.worst_minute = summary->read.worst_minute = NAN;
	summary->from_ms = summary->to_ms = summary->last_ms = summary->last_counted_ms = INT64_MIN;
	*out = summary;
	return 0;
}

void summary_free(struct summary *summary)
{
	if (!summary)
		return;
	free(summary->write.rates);
	free(summary->read.rates);
	free(summary->commit_rates);
	free(summary);
}

static int rates_grow(struct direction *direction, size_t capacity)
{
	double *rates = realloc(direction->rates, capacity * sizeof(*rates));

	if (!rates)
		return -ENOMEM;
	direction->rates = rates;
	return 0;
}

static int make_room(struct summary *summary)
{
	size_t capacity = summary->capacity ? summary->capacity * 2 : 1024;
	int rc;

	if (summary->samples < summary->capacity)
		return 0;
	rc = rates_grow(&summary->write, capacity);
	if (rc == 0)
		rc = rates_grow(&summary->read, capacity);
	if (rc == 0) {
		double *rates = realloc(summary->commit_rates, capacity * sizeof(*rates));

		rc = rates ? 0 : -ENOMEM;
		summary->commit_rates = rates ? rates : summary->commit_rates;
	}
	if (rc == 0)
		summary->capacity = capacity;
	return rc;
}

bool summary_counts(const struct sample *sample)
{
	return (sample->state == SAMPLE_MEASURED || sample->state == SAMPLE_ZERO) &&
	       sample->phase == PHASE_SOAK &&
	       !(sample->flags & (SAMPLE_FLAG_PARTIAL | SAMPLE_FLAG_HOST_LIMIT)) && sample->elapsed_ns > 0 &&
	       sample->elapsed_ns != SAMPLE_UNKNOWN && sample->write_bytes != SAMPLE_UNKNOWN &&
	       sample->read_bytes != SAMPLE_UNKNOWN;
}

/* The wall time this row stands for: from the row before it, so that a hole without a row is seen too. */
static uint64_t span_ns(const struct summary *summary, const struct sample *sample)
{
	if (summary->last_ms != INT64_MIN && sample->t_ms > summary->last_ms)
		return (uint64_t)(sample->t_ms - summary->last_ms) * NS_PER_MS;
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

static bool follows(const struct summary *summary, const struct sample *sample)
{
	return summary->last_counted_ms != INT64_MIN && summary->last_counted_ms == summary->last_ms &&
	       sample->t_ms - summary->last_counted_ms == (int64_t)summary->interval_s * 1000;
}

static void add_stall(struct summary *summary, const struct sample *sample, bool is_next)
{
	uint64_t stall = sample->stall_ns == SAMPLE_UNKNOWN ? 0 : sample->stall_ns, part = stall;

	if (stall >= STALL_MIN_NS) {
		if (is_next && summary->last_stall_ns >= STALL_MIN_NS && stall > summary->last_stall_ns)
			part -= summary->last_stall_ns;
		summary->stalled_ns += part < sample->elapsed_ns ? part : sample->elapsed_ns;
	}
	summary->last_stall_ns = stall;
}

static void add_rate(
	struct summary *summary, struct direction *direction, uint64_t bytes, uint64_t elapsed_ns)
{
	unsigned slot = summary->chain % summary->window_samples;
	double rate;

	direction->rates[direction->count++] = (double)bytes * 1e9 / (double)elapsed_ns;
	direction->bytes += bytes;
	direction->elapsed_ns += elapsed_ns;
	if (summary->chain == 0)
		direction->window_bytes = 0;
	else if (summary->chain >= summary->window_samples)
		direction->window_bytes -= direction->ring_bytes[slot];
	direction->ring_bytes[slot] = bytes;
	direction->window_bytes += bytes;
	if (summary->chain + 1 < summary->window_samples)
		return;
	rate = (double)direction->window_bytes * 1e9 / (double)summary->window_ns;
	if (!(direction->worst_minute <= rate)) /* NAN gives way */
		direction->worst_minute = rate;
}

static void add_window_time(struct summary *summary, uint64_t elapsed_ns, bool is_next)
{
	unsigned slot;

	if (!is_next)
		summary->chain = 0;
	slot = summary->chain % summary->window_samples;
	if (summary->chain == 0)
		summary->window_ns = 0;
	else if (summary->chain >= summary->window_samples)
		summary->window_ns -= summary->ring_ns[slot];
	summary->ring_ns[slot] = elapsed_ns;
	summary->window_ns += elapsed_ns;
}

static void add_counted(struct summary *summary, const struct sample *sample)
{
	bool is_next = follows(summary, sample);

	add_window_time(summary, sample->elapsed_ns, is_next);
	add_rate(summary, &summary->write, sample->write_bytes, sample->elapsed_ns);
	add_rate(summary, &summary->read, sample->read_bytes, sample->elapsed_ns);
	if (sample->commits != SAMPLE_UNKNOWN)
		summary->commit_rates[summary->commit_count++] = (double)sample->commits * 1e9 /
								 (double)sample->elapsed_ns;
	summary->chain++;
	add_stall(summary, sample, is_next);
	if (sample->hist_bytes)
		(void)hist_decode_add(
			sample->hist, sample->hist_bytes, &summary->hist); /* else left as it was */
	summary->samples++;
	if (summary->from_ms == INT64_MIN)
		summary->from_ms = sample->t_ms - (int64_t)summary->interval_s * 1000;
	summary->to_ms = summary->last_counted_ms = sample->t_ms;
}

int summary_add(struct summary *summary, const struct sample *sample)
{
	int rc = make_room(summary);

	if (rc < 0)
		return rc;
	add_time(summary, sample);
	add_host(summary, sample);
	if (summary_counts(sample))
		add_counted(summary, sample);
	summary->last_ms = sample->t_ms;
	return 0;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* @sorted has @count values, at least one. */
static double nearest_rank(const double *sorted, size_t count, unsigned pct)
{
	size_t rank = (count * pct + 99) / 100;

	return sorted[rank ? rank - 1 : 0];
}

static double variation(const double *rates, size_t count)
{
	double sum = 0, squares = 0, mean;

	for (size_t i = 0; i < count; i++)
		sum += rates[i];
	mean = sum / (double)count;
	for (size_t i = 0; i < count; i++)
		squares += (rates[i] - mean) * (rates[i] - mean);
	return mean > 0 ? sqrt(squares / (double)count) / mean : NAN;
}

/* Sorting in place is fine: the order of time was used up by summary_add(). */
static void read_rates(struct direction *direction, struct summary_rates *out)
{
	const double *rates = direction->rates;
	size_t count = direction->count;

	*out = (struct summary_rates){ NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN };
	if (count == 0)
		return;
	qsort(direction->rates, count, sizeof(*rates), compare_doubles);
	out->median = nearest_rank(rates, count, 50);
	out->p1 = nearest_rank(rates, count, 1);
	out->p5 = nearest_rank(rates, count, 5);
	out->min = rates[0];
	out->max = rates[count - 1];
	out->mean = (double)direction->bytes * 1e9 / (double)direction->elapsed_ns;
	out->cv = variation(rates, count);
	out->worst_minute = direction->worst_minute;
}

static double share_pct(uint64_t part_ns, uint64_t whole_ns)
{
	return whole_ns ? (double)part_ns * 100 / (double)whole_ns : NAN;
}

static double mean_of(struct weighted mean)
{
	return mean.weight > 0 ? mean.sum / mean.weight : NAN;
}

void summary_read(struct summary *summary, struct summary_figures *out)
{
	*out = (struct summary_figures){
		.samples = summary->samples,
		.interval_s = summary->interval_s,
		.stalled_s = summary->samples ? (double)summary->stalled_ns / 1e9 : NAN,
		.lat_p99_ns = hist_percentile_ns(&summary->hist, 99),
		.host_limited_pct = share_pct(summary->host_limited_ns, summary->soak_ns),
		.gap_pct = share_pct(summary->gap_ns, summary->soak_ns),
		.host = {
			.run_delay_share = mean_of(summary->delay),
			.steal_share = mean_of(summary->steal),
			.throttled_share = mean_of(summary->throttled),
			.lat_mean_ns = mean_of(summary->lat),
			.device_lat_mean_ns = mean_of(summary->device_lat),
		},
		.from_ms = summary->from_ms,
		.to_ms = summary->to_ms,
	};
	read_rates(&summary->write, &out->write);
	read_rates(&summary->read, &out->read);
	out->median_commits_per_s = NAN;
	if (summary->commit_count) {
		qsort(summary->commit_rates, summary->commit_count, sizeof(double), compare_doubles);
		out->median_commits_per_s = nearest_rank(summary->commit_rates, summary->commit_count, 50);
	}
}
