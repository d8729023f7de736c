/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "measure/collapse_private.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "measure/summary.h"

#define SINK_PER_HOUR 0.05
#define HOUR_NS	      (3600 * NS_PER_S)
#define ALMOST	      0.99 /* of a time: intervals are some ms shorter or longer than they should be */
#define NOISE_EVERY   30   /* samples */

int collapse_new(const struct collapse_config *config, struct collapse **out)
{
	struct collapse *collapse;

	if (!(config->below_share > 0 && config->below_share < config->recover_share &&
		    config->recover_share <= 1) ||
		config->for_ns == 0 || config->stall_after_ns == 0)
		return -EINVAL;
	collapse = calloc(1, sizeof(*collapse));
	if (!collapse)
		return -ENOMEM;
	collapse->config = *config;
	collapse->baseline = NAN;
	collapse->last_ms = INT64_MIN;
	*out = collapse;
	return 0;
}

void collapse_free(struct collapse *collapse)
{
	free(collapse);
}

/* A log may tell only one direction. */
static uint64_t known_or_zero(uint64_t bytes)
{
	return bytes != SAMPLE_UNKNOWN ? bytes : 0;
}

void collapse_sample_of(const struct sample *sample, bool is_settled, struct collapse_sample *out)
{
	bool counts = summary_counts_whole(sample);

	*out = (struct collapse_sample){
		.t_ms = sample->t_ms,
		.elapsed_ns = sample->elapsed_ns != SAMPLE_UNKNOWN ? sample->elapsed_ns : 0,
		.bytes = counts ? known_or_zero(sample->write_bytes) + known_or_zero(sample->read_bytes) : 0,
		.stall_ns = sample->stall_ns,
		.counts = counts,
		.is_settled = is_settled,
		.is_host_limited = sample->flags & SAMPLE_FLAG_HOST_LIMIT,
	};
}

void collapse_get_decline(
	const struct collapse *collapse, double *hour_bytes_per_s, double *least_bytes_per_s)
{
	const struct decline *decline = &collapse->decline;
	const bool has_reference = decline->reference_rate > 0;

	*least_bytes_per_s = has_reference ? decline->reference_rate * DECLINE_SLOW_SHARE : NAN;
	/* An hour of nothing is slow. */
	*hour_bytes_per_s = has_reference && (decline->hour_rate > 0 || decline->slow_hours)
				    ? decline->hour_rate
				    : NAN;
}

double collapse_baseline(const struct collapse *collapse)
{
	return collapse->baseline;
}

bool collapse_current(const struct collapse *collapse, struct collapse_finding *out)
{
	if (!collapse->is_fallen)
		return false;
	*out = collapse->fall.is_tooth ? collapse->periodic : collapse->fall.finding;
	return true;
}

bool collapse_is_time(uint64_t ns, uint64_t least_ns)
{
	return (double)ns >= (double)least_ns * ALMOST;
}

void collapse_turn(struct collapse *collapse, enum collapse_change change,
	const struct collapse_finding *finding, enum collapse_kind was, uint64_t into)
{
	struct collapse_answer *answer = collapse->answer;

	if (answer->count < COLLAPSE_TURNS_MAX)
		answer->turns[answer->count++] = (struct collapse_turn){ change, was, into, *finding };
}

void collapse_tell(
	struct collapse *collapse, enum collapse_change change, const struct collapse_finding *finding)
{
	collapse_turn(collapse, change, finding, finding->kind, 0);
}

void collapse_relabel(struct collapse *collapse, struct collapse_finding *finding, enum collapse_kind kind)
{
	enum collapse_kind was = finding->kind;

	finding->kind = kind;
	collapse_turn(collapse, COLLAPSE_RELABELLED, finding, was, 0);
}

static void noise_measure(struct collapse *collapse)
{
	level_noise(&collapse->normal, &collapse->noise);
	collapse->noise_age = 0;
}

static void normal_add(struct collapse *collapse, const struct collapse_sample *s)
{
	/* Not while something low is under way: it would be taken for noise. */
	if (++collapse->noise_age >= NOISE_EVERY && collapse->bad.n == 0)
		noise_measure(collapse);
	level_add(&collapse->normal, stretch_rate(s));
	if (collapse->was_settled)
		collapse->settled_samples++;
}

void collapse_move_baseline(struct collapse *collapse, uint64_t elapsed_ns)
{
	double median = level_median(&collapse->normal), floor;

	if (collapse->normal.count < COLLAPSE_BASELINE_MIN)
		return;
	if (isnan(collapse->baseline))
		noise_measure(collapse);
	floor = collapse->baseline * (1 - SINK_PER_HOUR * (double)elapsed_ns / (double)HOUR_NS);
	/* What came before the run was settled may hold B up no longer than until the window is all of W. */
	if (collapse->settled_samples < COLLAPSE_BASELINE_MIN || isnan(floor))
		floor = 0;
	collapse->baseline = fmax(median, floor);
}

static void add_normal(struct collapse *collapse, const struct collapse_sample *s, uint64_t stall_ns)
{
	normal_add(collapse, s);
	if (collapse_is_time(stall_ns, collapse->config.stall_after_ns)) {
		collapse_begin_stall(collapse, s, stall_ns);
		return;
	}
	if (!(collapse->baseline > 0)) {
		collapse_move_baseline(collapse, s->elapsed_ns);
		if (collapse->baseline > 0)
			collapse_recall_low(collapse, s);
		return;
	}
	collapse_add_low(collapse, s);
	if (collapse->is_fallen)
		return;
	if (collapse->bad.n == 0)
		collapse_move_baseline(collapse, s->elapsed_ns);
	collapse_watch_cliff(collapse, s);
}

/* The first hours of a log whose extent is not known are the best there is to hold the later ones against. */
static bool has_begun(const struct collapse *collapse, const struct collapse_sample *s)
{
	return collapse->config.is_extent_known ? s->is_settled : !collapse->is_fallen;
}

static void add_decline(struct collapse *collapse, const struct collapse_sample *s)
{
	struct decline *decline = &collapse->decline;
	struct collapse_finding *degraded = &collapse->degraded;
	enum decline_turn change;

	if (s->is_host_limited)
		return;
	change = decline_add(decline, s->t_ms, s->elapsed_ns, stretch_rate(s), has_begun(collapse, s));

	if (change == DECLINE_BEGINS) {
		*degraded = (struct collapse_finding){
			.id = ++collapse->ids,
			.kind = COLLAPSE_DEGRADED,
			.from_ms = decline->slow_from_ms,
			.detected_ms = s->t_ms,
			.to_ms = COLLAPSE_OPEN,
			.baseline_bytes_per_s = decline->reference_rate,
			.mean_bytes_per_s = decline->hour_rate,
			.worst_bytes_per_s = decline->hour_rate,
			.period_s = NAN,
			.count = 1,
		};
		collapse_tell(collapse, COLLAPSE_RAISED, degraded);
	} else if (change == DECLINE_ENDS) {
		degraded->to_ms = s->t_ms;
		collapse_tell(collapse, COLLAPSE_CLEARED, degraded);
	}
}

/* Nothing is known of this time: what is under way can't be said to have gone on through it. */
static void forget_runs(struct collapse *collapse, int64_t t_ms)
{
	if (collapse->rhythm.is_on && t_ms - collapse->last_ms > collapse->rhythm.period_ms / 2)
		rhythm_skip(&collapse->rhythm, t_ms);
	stretch_clear(&collapse->bad);
	stretch_clear(&collapse->lead);
	stretch_clear(&collapse->good);
	stretch_clear(&collapse->empty);
	stretch_clear(&collapse->back);
}

static bool follows_hole(const struct collapse *collapse, const struct collapse_sample *s)
{
	return collapse->last_ms != INT64_MIN &&
	       stretch_start_ms(s) - collapse->last_ms > (int64_t)(s->elapsed_ns / NS_PER_MS / 2);
}

static uint64_t stall_of(struct collapse *collapse, const struct collapse_sample *s)
{
	uint64_t stall_ns = s->stall_ns != SAMPLE_UNKNOWN ? s->stall_ns : 0;

	if (s->bytes)
		stretch_clear(&collapse->empty);
	else
		stretch_add(&collapse->empty, s, true);
	return collapse->empty.ns > stall_ns ? collapse->empty.ns : stall_ns;
}

static bool is_left_out(const struct collapse *collapse, const struct collapse_sample *s)
{
	if (!s->counts || s->elapsed_ns == 0)
		return true;
	return s->is_host_limited && !collapse->is_fallen &&
	       !(stretch_rate(s) < collapse->config.below_share * collapse->baseline);
}

void collapse_add(struct collapse *collapse, const struct collapse_sample *s, struct collapse_answer *out)
{
	uint64_t stall_ns;
	bool is_hole;

	out->count = 0;
	collapse->answer = out;
	is_hole = is_left_out(collapse, s);
	if (is_hole || follows_hole(collapse, s))
		forget_runs(collapse, s->t_ms);
	if (is_hole)
		return;
	collapse->last_ms = s->t_ms;
	if (s->is_settled && !collapse->was_settled)
		collapse_settle(collapse, s->t_ms);
	stall_ns = stall_of(collapse, s);
	if (collapse->is_fallen)
		collapse_add_fallen(collapse, s, stall_ns);
	else
		add_normal(collapse, s, stall_ns);
	collapse_check_rhythm(collapse, s->t_ms);
	add_decline(collapse, s);
}
