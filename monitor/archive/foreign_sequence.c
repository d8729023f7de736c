/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "archive/foreign_private.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"

#define MS_PER_S 1000

/* A row that comes later than this many halves of the usual distance has a hole before it. */
#define HOLE_HALVES 3

static int look(struct foreign *foreign, int64_t t_ms)
{
	if (foreign->last_ms != INT64_MIN && t_ms <= foreign->last_ms)
		return foreign_fail(foreign, "time goes back, from %.3f s to %.3f s%s",
			(double)foreign->last_ms / MS_PER_S, (double)t_ms / MS_PER_S,
			t_ms < foreign->last_ms ? " (a second run in one file?)" : "");
	if (foreign->last_ms == INT64_MIN)
		foreign->first_ms = t_ms;
	else
		foreign_deltas_add(&foreign->deltas, t_ms - foreign->last_ms);
	foreign->last_ms = t_ms;
	foreign->points++;
	return 0;
}

/* The usual distance of two rows. Where they jitter by half a second the median may be any of several: what is near it is
 * then taken together, in which early and late cancel out. */
static int64_t usual_step(struct foreign *foreign)
{
	const struct foreign_deltas *deltas = &foreign->deltas;
	const int64_t median_ms = foreign_deltas_rank(&foreign->deltas, 50);
	int64_t sum_ms = 0, count = 0, mean_ms;

	for (size_t i = 0; i < deltas->count; i++) {
		if (deltas->items[i] * 4 < median_ms * 3 || deltas->items[i] * 4 > median_ms * 5)
			continue;
		sum_ms += deltas->items[i];
		count++;
	}
	if (count == 0)
		return median_ms;
	mean_ms = (sum_ms + count / 2) / count;
	return (mean_ms + 500) / MS_PER_S == (median_ms + 500) / MS_PER_S ? median_ms : mean_ms;
}

int foreign_survey_end(struct foreign *foreign)
{
	struct foreign_info *info = &foreign->info;
	int64_t step_ms = usual_step(foreign);

	if (foreign->points == 0)
		return foreign_fail(foreign, "no sample in it");
	if (foreign->is_timeless)
		step_ms = 0;
	/* One row alone: of a log that counts from its start its time is its length. */
	if (step_ms == 0)
		step_ms = foreign->declared_ms;
	if (step_ms == 0 && !foreign->is_absolute && !foreign->is_timeless && foreign->first_ms > 0)
		step_ms = foreign->first_ms;
	info->is_interval_known = step_ms > 0;
	foreign->step_ms = step_ms ? step_ms : MS_PER_S;
	if (foreign->step_ms / MS_PER_S > 86400)
		return foreign_fail(foreign, "a sample in %.0f s: too few to say anything",
			(double)foreign->step_ms / MS_PER_S);
	info->interval_s = foreign->step_ms < MS_PER_S ? 1 : (uint32_t)((foreign->step_ms + 500) / MS_PER_S);
	if (foreign->step_ms < MS_PER_S)
		foreign_warn(foreign, "a sample in %lld ms is gathered to whole seconds",
			(long long)foreign->step_ms);
	info->has_epoch = foreign->is_absolute;
	info->from_ms = foreign->first_ms - foreign->step_ms;
	if (!foreign->is_absolute && info->from_ms < 0)
		info->from_ms = 0;
	info->to_ms = foreign->last_ms;
	foreign->last_ms = INT64_MIN;
	foreign->gather.second = INT64_MIN;
	return 0;
}

static int add_gap(struct foreign *foreign, int64_t from_ms, int64_t to_ms)
{
	struct foreign_info *info = &foreign->info;
	struct foreign_gap *last = info->gap_count ? &info->gaps[info->gap_count - 1] : NULL;

	if (from_ms >= to_ms)
		return 0;
	if (last && last->to_ms == from_ms) {
		last->to_ms = to_ms;
		return 0;
	}
	if (info->gap_count == FOREIGN_GAPS_MAX)
		return 0;
	if (info->gap_count == foreign->gap_capacity) {
		size_t capacity = foreign->gap_capacity ? foreign->gap_capacity * 2 : 16;
		struct foreign_gap *gaps = realloc(info->gaps, capacity * sizeof(*gaps));

		if (!gaps)
			return -ENOMEM;
		info->gaps = gaps;
		foreign->gap_capacity = capacity;
	}
	info->gaps[info->gap_count++] = (struct foreign_gap){ from_ms, to_ms };
	if (info->gap_count == FOREIGN_GAPS_MAX)
		foreign_warn(foreign, "only the first %d gaps are listed", FOREIGN_GAPS_MAX);
	return 0;
}

/* The time this row covers; what is missing before it becomes a gap. */
static int elapsed_of(struct foreign *foreign, int64_t t_ms, int64_t *out_ms)
{
	int64_t span_ms = foreign->last_ms == INT64_MIN ? t_ms - foreign->info.from_ms
							: t_ms - foreign->last_ms;

	*out_ms = span_ms > 0 ? span_ms : foreign->step_ms;
	if (span_ms * 2 <= foreign->step_ms * HOLE_HALVES)
		return 0;
	*out_ms = foreign->step_ms;
	return add_gap(foreign, t_ms - span_ms, t_ms - foreign->step_ms);
}

static uint64_t count_of(double per_s, double elapsed_s)
{
	return isnan(per_s) ? SAMPLE_UNKNOWN : (uint64_t)llround(per_s * elapsed_s);
}

static uint64_t ns_of(double ns)
{
	return isnan(ns) ? SAMPLE_UNKNOWN : (uint64_t)llround(ns);
}

/* Of a row with bytes nobody knows how long nothing completed within it; one without is a stall as a whole. */
static void judge_zero(struct foreign *foreign, struct sample *sample)
{
	bool is_known = sample->write_bytes != SAMPLE_UNKNOWN || sample->read_bytes != SAMPLE_UNKNOWN;
	bool has_bytes = (sample->write_bytes != SAMPLE_UNKNOWN && sample->write_bytes) ||
			 (sample->read_bytes != SAMPLE_UNKNOWN && sample->read_bytes);

	sample->state = !is_known ? SAMPLE_DOWN : has_bytes ? SAMPLE_MEASURED : SAMPLE_ZERO;
	foreign->zeros_ns = sample->state == SAMPLE_ZERO ? foreign->zeros_ns + sample->elapsed_ns : 0;
	if (sample->state == SAMPLE_ZERO)
		sample->stall_ns = foreign->zeros_ns;
}

static int hand_over(struct foreign *foreign, const struct foreign_row *row)
{
	int rc = 0;

	if (row->sample.state == SAMPLE_DOWN)
		rc = add_gap(foreign, row->sample.t_ms - (int64_t)(row->sample.elapsed_ns / NS_PER_MS),
			row->sample.t_ms);
	else
		foreign->info.samples++;
	foreign->info.to_ms = row->sample.t_ms;
	return rc == 0 ? foreign->each(row, foreign->arg) : rc;
}

static int put_point(struct foreign *foreign, const struct foreign_point *point, int64_t elapsed_ms)
{
	double elapsed_s = (double)elapsed_ms / MS_PER_S;
	struct foreign_row row = { .lat_p95_ns = point->lat_p95_ns };
	struct sample *sample = &row.sample;

	sample_init(sample);
	sample->t_ms = point->t_ms;
	sample->elapsed_ns = (uint64_t)elapsed_ms * NS_PER_MS;
	sample->phase = PHASE_SOAK;
	sample->write_bytes = count_of(point->write_bytes_per_s, elapsed_s);
	sample->read_bytes = count_of(point->read_bytes_per_s, elapsed_s);
	sample->write_ios = count_of(point->write_ios_per_s, elapsed_s);
	sample->read_ios = count_of(point->read_ios_per_s, elapsed_s);
	sample->lat_mean_ns = ns_of(point->lat_mean_ns);
	sample->lat_p50_ns = ns_of(point->lat_p50_ns);
	sample->lat_p90_ns = ns_of(point->lat_p90_ns);
	sample->lat_p99_ns = ns_of(point->lat_p99_ns);
	sample->lat_max_ns = ns_of(point->lat_max_ns);
	sample->inflight_mean = point->inflight;
	sample->temp_c = point->temp_c;
	judge_zero(foreign, sample);
	return hand_over(foreign, &row);
}

/* A second that was not seen to at least a half is a gap. */
static int put_gathered(struct foreign *foreign)
{
	struct foreign_gather *gather = &foreign->gather;
	struct foreign_point point;

	if (gather->second == INT64_MIN)
		return 0;
	foreign_point_init(&point);
	point.t_ms = gather->second;
	if (gather->covered_s * 2 < 1)
		return add_gap(foreign, gather->second - MS_PER_S, gather->second);
	point.write_bytes_per_s = gather->write_bytes / gather->covered_s;
	point.read_bytes_per_s = gather->read_bytes / gather->covered_s;
	return put_point(foreign, &point, MS_PER_S);
}

static int gather_until(struct foreign *foreign, int64_t second)
{
	struct foreign_gather *gather = &foreign->gather;
	int64_t gone = gather->second;
	int rc;

	if (gone == second)
		return 0;
	rc = put_gathered(foreign);
	if (rc == 0 && gone != INT64_MIN && second - gone > MS_PER_S)
		rc = add_gap(foreign, gone, second - MS_PER_S);
	*gather = (struct foreign_gather){ .second = second };
	return rc;
}

/* Spread over the seconds that the row covers, by its share of each. */
static int gather_point(struct foreign *foreign, const struct foreign_point *point, int64_t elapsed_ms)
{
	int64_t from_ms = point->t_ms - elapsed_ms;
	struct foreign_gather *gather = &foreign->gather;

	while (from_ms < point->t_ms) {
		int64_t end_ms = (from_ms / MS_PER_S + 1) * MS_PER_S, upto_ms = end_ms;
		double part_s;
		int rc = gather_until(foreign, end_ms);

		if (rc != 0)
			return rc;
		if (upto_ms > point->t_ms)
			upto_ms = point->t_ms;
		part_s = (double)(upto_ms - from_ms) / MS_PER_S;
		from_ms = upto_ms;
		if (isnan(point->write_bytes_per_s) && isnan(point->read_bytes_per_s))
			continue;
		gather->covered_s += part_s;
		gather->write_bytes += point->write_bytes_per_s * part_s;
		gather->read_bytes += point->read_bytes_per_s * part_s;
	}
	return 0;
}

int foreign_take(struct foreign *foreign, const struct foreign_point *point)
{
	int64_t elapsed_ms;
	int rc;

	if (foreign->is_survey)
		return look(foreign, point->t_ms);
	rc = elapsed_of(foreign, point->t_ms, &elapsed_ms);
	foreign->last_ms = point->t_ms;
	if (rc < 0)
		return rc;
	return foreign->step_ms < MS_PER_S ? gather_point(foreign, point, elapsed_ms)
					   : put_point(foreign, point, elapsed_ms);
}

/* What our own runs always know; a log that was imported and exported again says no more than it did at first. */
static bool knows_host(const struct sample *sample)
{
	return sample->errors != SAMPLE_UNKNOWN || sample->flags & SAMPLE_FLAG_HOST_LIMIT ||
	       !isnan(sample->host_cpu_share) || !isnan(sample->run_delay_share);
}

/* A row knows best how much it covers: a span without service is one row, not a hole. */
static int hole_before(struct foreign *foreign, const struct sample *sample)
{
	int64_t from_ms = sample->t_ms - (int64_t)(sample->elapsed_ns / NS_PER_MS);

	if (foreign->last_ms == INT64_MIN || (from_ms - foreign->last_ms) * 2 <= foreign->step_ms)
		return 0;
	return add_gap(foreign, foreign->last_ms, from_ms);
}

int foreign_take_sample(struct foreign *foreign, const struct sample *sample)
{
	struct foreign_row row = { *sample, NAN };
	int64_t elapsed_ms;
	int rc;

	if (foreign->is_survey) {
		foreign->info.knows_host_limit |= knows_host(sample);
		return look(foreign, sample->t_ms);
	}
	if (row.sample.elapsed_ns != SAMPLE_UNKNOWN) {
		rc = hole_before(foreign, sample);
	} else {
		rc = elapsed_of(foreign, sample->t_ms, &elapsed_ms);
		row.sample.elapsed_ns = (uint64_t)elapsed_ms * NS_PER_MS;
	}
	foreign->last_ms = sample->t_ms;
	return rc < 0 ? rc : hand_over(foreign, &row);
}

/* The last second of a log is seldom whole; the only one is better than none. */
int foreign_sequence_end(struct foreign *foreign)
{
	if (foreign->step_ms >= MS_PER_S || (foreign->gather.covered_s < 0.999 && foreign->info.samples))
		return 0;
	if (foreign->gather.covered_s * 2 < 1)
		foreign->gather.covered_s = 0;
	return put_gathered(foreign);
}
