/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "measure/collapse_private.h"

#include <math.h>

#define LIMIT_SDS  1.5
#define LIMIT_MAX  0.2
#define BEYOND_SDS 4.8
#define PATIENCE   4 /* collapse-for; then what is low without being a fall is the level */

static double noise_of_mean(const struct collapse *collapse, unsigned n)
{
	return level_noise_of_mean(&collapse->noise, n);
}

/* What the mean of @n samples of a fall may still be, of the baseline. */
static double limit_of(const struct collapse *collapse, unsigned n)
{
	return collapse->config.below_share * (1 + fmin(LIMIT_SDS * noise_of_mean(collapse, n), LIMIT_MAX));
}

/* Below this a sample is low. */
static double low_of(const struct collapse *collapse)
{
	double below = collapse->config.below_share;

	return fmin(below * (1 + LIMIT_SDS * noise_of_mean(collapse, 1)), collapse->config.recover_share);
}

static bool is_beyond_noise(const struct collapse *collapse, const struct stretch *stretch)
{
	return 1 - stretch_mean(stretch) / collapse->baseline >=
	       BEYOND_SDS * noise_of_mean(collapse, stretch->n);
}

static bool is_fall(const struct collapse *collapse, const struct stretch *stretch)
{
	return collapse_is_time(stretch->low_ns, collapse->config.for_ns) &&
	       stretch_mean(stretch) <= limit_of(collapse, stretch->n) * collapse->baseline &&
	       is_beyond_noise(collapse, stretch);
}

static struct collapse_finding finding_of(
	struct collapse *collapse, const struct stretch *stretch, int64_t t_ms)
{
	return (struct collapse_finding){
		.from_ms = stretch->from_ms,
		.detected_ms = t_ms,
		.to_ms = COLLAPSE_OPEN,
		.baseline_bytes_per_s = collapse->baseline,
		.mean_bytes_per_s = stretch_mean(stretch),
		.worst_bytes_per_s = stretch->worst,
		.noise_pct = collapse->noise.sd * 100,
		.period_s = NAN,
		.count = 1,
	};
}

static bool is_sheltered(const struct collapse *collapse)
{
	return collapse->config.is_extent_known ? !collapse->was_settled : !collapse->had_cliff;
}

void collapse_raise(struct collapse *collapse, bool is_stall)
{
	struct collapse_finding *finding = &collapse->fall.finding;

	finding->id = ++collapse->ids;
	finding->kind = is_stall ? COLLAPSE_STALL : is_sheltered(collapse) ? COLLAPSE_CLIFF : COLLAPSE_FALL;
	collapse_tell(collapse, COLLAPSE_RAISED, finding);
}

static void fall_begin(struct collapse *collapse, const struct stretch *stretch, unsigned drop, int64_t t_ms,
	uint64_t stall_ns)
{
	struct fall *fall = &collapse->fall;
	bool is_stall = stall_ns > 0;
	int64_t stall_from_ms = t_ms - (int64_t)(stall_ns / NS_PER_MS);

	*fall = (struct fall){ .finding = finding_of(collapse, stretch, t_ms), .sum = *stretch };
	if (is_stall && stall_from_ms < fall->finding.from_ms)
		fall->finding.from_ms = stall_from_ms;
	fall->finding.stall_s = (double)stall_ns / 1e9;
	level_drop_newest(&collapse->normal, drop);
	level_clear(&collapse->fallen);
	collapse->is_fallen = true;
	stretch_clear(&collapse->good);
	fall->is_tooth = collapse_begin_tooth(collapse);
	if (!fall->is_tooth)
		collapse_raise(collapse, is_stall);
}

/* Too short to be raised; but a rhythm is made of such falls too, where noise does not make them. */
static void bad_end(struct collapse *collapse)
{
	struct stretch *bad = &collapse->bad;

	if (is_beyond_noise(collapse, bad) &&
		stretch_mean(bad) <= limit_of(collapse, bad->n) * collapse->baseline) {
		struct collapse_finding dip = finding_of(collapse, bad, bad->from_ms);

		dip.to_ms = bad->from_ms + (int64_t)(bad->ns / NS_PER_MS);
		collapse_end_dip(collapse, &dip, bad->ns);
	}
	stretch_clear(bad);
}

static unsigned patience_of(const struct collapse *collapse, const struct collapse_sample *s)
{
	return (unsigned)(PATIENCE * collapse->config.for_ns / s->elapsed_ns) + COLLAPSE_BASELINE_MIN;
}

void collapse_add_low(struct collapse *collapse, const struct collapse_sample *s)
{
	double share = stretch_rate(s) / collapse->baseline;
	struct stretch *bad = &collapse->bad, longer = *bad;
	bool is_low = share < low_of(collapse);

	if (bad->n == 0 && !is_low) {
		/* A fall that begins within a sample leaves it between. */
		stretch_clear(&collapse->lead);
		if (share < collapse->config.recover_share)
			stretch_add(&collapse->lead, s, true);
		return;
	}
	stretch_add(&longer, s, is_low);
	if ((!is_low && stretch_mean(&longer) > limit_of(collapse, longer.n) * collapse->baseline) ||
		longer.n > patience_of(collapse, s)) {
		bad_end(collapse);
		stretch_clear(&collapse->lead);
		return;
	}
	*bad = longer;
	if (!is_low)
		return;
	longer = stretch_join(&collapse->lead, bad);
	if (is_fall(collapse, bad))
		fall_begin(collapse, bad, bad->n, s->t_ms, 0);
	else if (collapse->lead.n && is_fall(collapse, &longer))
		fall_begin(collapse, &longer, longer.n, s->t_ms, 0);
}

void collapse_recall_low(struct collapse *collapse, const struct collapse_sample *s)
{
	struct stretch *bad = &collapse->bad;
	double limit = low_of(collapse) * collapse->baseline, rate;

	stretch_clear(bad);
	while (bad->n < collapse->normal.count && (rate = level_at(&collapse->normal, bad->n)) < limit) {
		bad->worst = bad->n ? fmin(bad->worst, rate) : rate;
		bad->bytes += rate * (double)s->elapsed_ns / 1e9;
		bad->n++;
	}
	bad->ns = bad->low_ns = bad->n * s->elapsed_ns;
	bad->from_ms = s->t_ms - (int64_t)(bad->ns / NS_PER_MS);
}

void collapse_begin_stall(struct collapse *collapse, const struct collapse_sample *s, uint64_t stall_ns)
{
	struct stretch alone = { 0 }, *bad = collapse->bad.n ? &collapse->bad : &collapse->empty;

	stretch_add(&alone, s, true);
	if (bad == &collapse->bad)
		stretch_add(bad, s, true);
	fall_begin(collapse, bad->n ? bad : &alone, bad->n, s->t_ms, stall_ns);
}
