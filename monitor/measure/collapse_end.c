/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "measure/collapse_private.h"

#include <math.h>

#define BACK_SDS	3
#define BACK_MAX	60 /* samples */
#define CLIFF_LOW_SHARE 0.10
#define CLIFF_LOW_NS	(60 * NS_PER_S)
#define CLIFF_BACK	12   /* samples */
#define CLIFF_LEVEL	0.85 /* the newer half over the older one, or the other way, before a level is one */

/* The level of the fall is the level from now on. */
static void baseline_adopt(struct collapse *collapse)
{
	collapse->normal = collapse->fallen;
	level_clear(&collapse->fallen);
	collapse->baseline = NAN;
	collapse->settled_samples = 0;
	collapse_move_baseline(collapse, 0);
	collapse->is_fallen = false;
	stretch_clear(&collapse->bad);
	stretch_clear(&collapse->lead);
	stretch_clear(&collapse->good);
}

/* @good: the samples at its end that are no longer part of it. */
static void fall_measure(struct fall *fall, const struct stretch *good)
{
	uint64_t ns = fall->sum.ns - good->ns;

	fall->finding.mean_bytes_per_s = ns ? (fall->sum.bytes - good->bytes) * 1e9 / (double)ns : 0;
	fall->finding.worst_bytes_per_s = fall->sum.worst;
}

static void fall_end(struct collapse *collapse)
{
	struct fall *fall = &collapse->fall;

	fall->finding.to_ms = collapse->good.from_ms;
	fall_measure(fall, &collapse->good);
	collapse->is_fallen = false;
	stretch_clear(&collapse->good);
	stretch_clear(&collapse->bad);
	stretch_clear(&collapse->lead);
	if (!fall->is_tooth && fall->finding.kind == COLLAPSE_CLIFF)
		collapse_relabel(collapse, &fall->finding, COLLAPSE_FALL);
	collapse_remember(collapse, &fall->finding, fall->early, fall->is_tooth);
	if (fall->is_tooth) {
		collapse_end_tooth(collapse);
		return;
	}
	collapse_tell(collapse, COLLAPSE_CLEARED, &fall->finding);
}

static void watch_end(struct collapse *collapse)
{
	if (!collapse->is_watched)
		return;
	collapse->is_watched = false;
	collapse->cliff.finding.to_ms = collapse->cliff_to_ms;
	collapse_tell(collapse, COLLAPSE_CLEARED, &collapse->cliff.finding);
}

/* A drive that does nothing has no level: a hang stays one stall until something completes, however long it is. */
static bool has_new_level(const struct collapse *collapse)
{
	return level_median(&collapse->fallen) > 0;
}

static void fall_becomes_shift(struct collapse *collapse, int64_t t_ms)
{
	struct collapse_finding *finding = &collapse->fall.finding;

	finding->to_ms = t_ms;
	if (collapse->fall.is_tooth) /* a rhythm that does not go on */
		finding->id = ++collapse->ids;
	collapse_relabel(collapse, finding, COLLAPSE_SHIFT);
	collapse_tell(collapse, COLLAPSE_CLEARED, finding);
	baseline_adopt(collapse);
}

static void cliff_becomes_level(struct collapse *collapse, int64_t t_ms)
{
	watch_end(collapse);
	collapse->cliff = collapse->fall;
	collapse->cliff_to_ms = t_ms;
	collapse->is_watched = true;
	collapse->had_cliff = true;
	stretch_clear(&collapse->back);
	baseline_adopt(collapse);
	if (!collapse->config.is_extent_known && !collapse->decline.is_degraded)
		collapse->decline = (struct decline){ 0 };
}

void collapse_settle(struct collapse *collapse, int64_t t_ms)
{
	collapse->was_settled = true;
	collapse->settled_samples = 0;
	watch_end(collapse);
	if (!collapse->is_fallen) {
		level_keep_newest(&collapse->normal, COLLAPSE_BASELINE_MIN);
		collapse_move_baseline(collapse, 0);
		return;
	}
	if (collapse->fall.is_tooth)
		return;
	if (collapse->fall.finding.kind == COLLAPSE_CLIFF) {
		cliff_becomes_level(collapse, t_ms);
		watch_end(collapse);
		return;
	}
	if (has_new_level(collapse))
		fall_becomes_shift(collapse, t_ms);
}

void collapse_watch_cliff(struct collapse *collapse, const struct collapse_sample *s)
{
	struct fall *cliff = &collapse->cliff;
	double back = collapse->config.recover_share * cliff->finding.baseline_bytes_per_s;

	if (!collapse->is_watched)
		return;
	stretch_add(&cliff->sum, s, false);
	if (stretch_rate(s) >= back || collapse->back.n)
		stretch_add(&collapse->back, s, false);
	if (collapse->back.n && stretch_mean(&collapse->back) < back)
		stretch_clear(&collapse->back);
	if (collapse->back.n >= CLIFF_BACK && collapse_is_time(collapse->back.ns, collapse->config.for_ns)) {
		collapse->is_watched = false;
		collapse->had_cliff = false;
		cliff->finding.to_ms = collapse->back.from_ms;
		fall_measure(cliff, &collapse->back);
		collapse_relabel(collapse, &cliff->finding, COLLAPSE_FALL);
		collapse_tell(collapse, COLLAPSE_CLEARED, &cliff->finding);
		collapse_remember(collapse, &cliff->finding, cliff->early, false);
	} else if (cliff->sum.ns >= COLLAPSE_SHIFT_NS) {
		watch_end(collapse);
	}
}

static unsigned back_samples(const struct collapse *collapse)
{
	double below = collapse->config.below_share, gap = collapse->config.recover_share - below,
	       sds = BACK_SDS * below * collapse->noise.sd / gap;

	return (unsigned)fmin(ceil(sds * sds), BACK_MAX);
}

/* Whether it is over. */
static bool good_add(struct collapse *collapse, const struct collapse_sample *s, uint64_t stall_ns)
{
	struct stretch *good = &collapse->good;
	double base = collapse->fall.finding.baseline_bytes_per_s,
	       back = collapse->config.recover_share * base;

	if (collapse_is_time(stall_ns, collapse->config.stall_after_ns)) {
		stretch_clear(good);
		return false;
	}
	if (!(base > 0)) { /* a stall at the very beginning: anything is better */
		if (s->bytes)
			stretch_add(good, s, false);
		return s->bytes > 0;
	}
	if (good->n || stretch_rate(s) >= back)
		stretch_add(good, s, false);
	if (good->n && stretch_mean(good) < back)
		stretch_clear(good);
	return collapse_is_time(good->ns, collapse->config.for_ns) && good->n >= back_samples(collapse);
}

static bool is_level(const struct level *level)
{
	double newer, older;

	if (level->count < COLLAPSE_BASELINE_MIN)
		return false;
	newer = level_median_of(level, 0, COLLAPSE_BASELINE_MIN / 2);
	older = level_median_of(level, COLLAPSE_BASELINE_MIN / 2, COLLAPSE_BASELINE_MIN / 2);
	return newer >= older * CLIFF_LEVEL && newer * CLIFF_LEVEL <= older;
}

static void cliff_add(struct collapse *collapse, const struct collapse_sample *s, uint64_t stall_ns)
{
	struct fall *fall = &collapse->fall;
	bool is_very_low = stretch_rate(s) < CLIFF_LOW_SHARE * fall->finding.baseline_bytes_per_s;

	fall->very_low_ns = is_very_low ? fall->very_low_ns + s->elapsed_ns : 0;
	if (collapse_is_time(stall_ns, collapse->config.stall_after_ns))
		collapse_relabel(collapse, &fall->finding, COLLAPSE_STALL);
	else if (collapse_is_time(fall->very_low_ns, CLIFF_LOW_NS))
		collapse_relabel(collapse, &fall->finding, COLLAPSE_FALL);
	else if (collapse->good.n == 0 && (is_level(&collapse->fallen) || fall->sum.ns >= COLLAPSE_SHIFT_NS))
		cliff_becomes_level(collapse, s->t_ms);
}

static void tooth_check(struct collapse *collapse, int64_t t_ms)
{
	struct fall *fall = &collapse->fall;

	if (collapse_tooth_goes_on(collapse))
		return;
	fall->is_tooth = false;
	fall->finding.detected_ms = t_ms;
	collapse_raise(collapse, false);
}

void collapse_add_fallen(struct collapse *collapse, const struct collapse_sample *s, uint64_t stall_ns)
{
	struct fall *fall = &collapse->fall;

	stretch_add(&fall->sum, s, false);
	level_add(&collapse->fallen, stretch_rate(s));
	fall->finding.stall_s = fmax(fall->finding.stall_s, (double)stall_ns / 1e9);
	if (good_add(collapse, s, stall_ns)) {
		fall_end(collapse);
		return;
	}
	fall_measure(fall, &collapse->good);
	if (fall->is_tooth && collapse->good.n == 0 && fall->finding.baseline_bytes_per_s > 0)
		tooth_check(collapse, s->t_ms);
	if (fall->is_tooth)
		return;
	if (fall->finding.kind == COLLAPSE_CLIFF)
		cliff_add(collapse, s, stall_ns);
	else if (fall->sum.ns >= COLLAPSE_SHIFT_NS && has_new_level(collapse))
		fall_becomes_shift(collapse, s->t_ms);
}
