/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "measure/collapse.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "measure/decline.h"
#include "measure/level.h"
#include "measure/rhythm.h"
#include "measure/stretch.h"
#include "measure/summary.h"

#define BASELINE_MIN	60 /* samples */
#define SINK_PER_HOUR	0.05
#define HOUR_NS		(3600 * NS_PER_S)
#define SHIFT_NS	(6 * HOUR_NS)
#define ALMOST		0.99 /* of a time: intervals are some ms shorter or longer than they should be */
#define NOISE_EVERY	30   /* samples */
#define LIMIT_SDS	1.5
#define LIMIT_MAX	0.2
#define BEYOND_SDS	4.8
#define BACK_SDS	3
#define BACK_MAX	60 /* samples */
#define CLIFF_LOW_SHARE 0.10
#define CLIFF_LOW_NS	(60 * NS_PER_S)
#define CLIFF_BACK	12   /* samples */
#define CLIFF_LEVEL	0.85 /* the newer half over the older one, or the other way, before a level is one */
#define PATIENCE	4    /* collapse-for; then what is low without being a fall is the level */

/* A fall that was raised, or is a tooth of a rhythm. */
struct fall {
	struct collapse_finding finding;
	struct stretch sum;
	double early;	      /* mean when it was raised, of the baseline */
	uint64_t very_low_ns; /* of the last samples on end */
	bool is_tooth;
};

struct collapse {
	struct collapse_config config;
	uint64_t ids;
	struct level normal, fallen; /* outside of falls; within the present one */
	struct level_noise noise;
	unsigned noise_age;
	double baseline; /* NAN: none */
	bool was_settled, had_cliff;
	unsigned settled_samples; /* outside of falls */
	struct stretch bad, lead, good, empty;
	bool is_fallen, is_watched;
	struct fall fall, cliff; /* the present one; the cliff that may yet come back */
	struct stretch back;
	int64_t cliff_to_ms;
	struct rhythm rhythm;
	struct collapse_finding periodic, last[RHYTHM_LAST]; /* last: of the falls that the rhythm looks at */
	struct collapse_finding teeth[3]; /* the first of the rhythm, as they were told before */
	struct decline decline;
	struct collapse_finding degraded;
	int64_t last_ms;
	struct collapse_answer *answer;
};

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

static bool is_time(uint64_t ns, uint64_t least_ns)
{
	return (double)ns >= (double)least_ns * ALMOST;
}

static void turn(struct collapse *collapse, enum collapse_change change,
	const struct collapse_finding *finding, enum collapse_kind was, uint64_t into)
{
	struct collapse_answer *answer = collapse->answer;

	if (answer->count < COLLAPSE_TURNS_MAX)
		answer->turns[answer->count++] = (struct collapse_turn){ change, was, into, *finding };
}

static void turn_plain(
	struct collapse *collapse, enum collapse_change change, const struct collapse_finding *finding)
{
	turn(collapse, change, finding, finding->kind, 0);
}

static void turn_relabel(struct collapse *collapse, struct collapse_finding *finding, enum collapse_kind kind)
{
	enum collapse_kind was = finding->kind;

	finding->kind = kind;
	turn(collapse, COLLAPSE_RELABELLED, finding, was, 0);
}

/* --- the baseline --- */

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

static void baseline_move(struct collapse *collapse, uint64_t elapsed_ns)
{
	double median = level_median(&collapse->normal), floor;

	if (collapse->normal.count < BASELINE_MIN)
		return;
	if (isnan(collapse->baseline))
		noise_measure(collapse);
	floor = collapse->baseline * (1 - SINK_PER_HOUR * (double)elapsed_ns / (double)HOUR_NS);
	/* What came before the run was settled may hold B up no longer than until the window is all of W. */
	if (collapse->settled_samples < BASELINE_MIN || isnan(floor))
		floor = 0;
	collapse->baseline = fmax(median, floor);
}

/* The level of the fall is the level from now on. */
static void baseline_adopt(struct collapse *collapse)
{
	collapse->normal = collapse->fallen;
	level_clear(&collapse->fallen);
	collapse->baseline = NAN;
	collapse->settled_samples = 0;
	baseline_move(collapse, 0);
	collapse->is_fallen = false;
	stretch_clear(&collapse->bad);
	stretch_clear(&collapse->lead);
	stretch_clear(&collapse->good);
}

/* --- the end of a fall --- */

static double share_of(const struct collapse_finding *finding)
{
	double base = finding->baseline_bytes_per_s;

	return base > 0 ? finding->mean_bytes_per_s / base : 0;
}

static struct rhythm_fall rhythm_fall_of(const struct collapse_finding *finding, uint64_t ns, double early)
{
	return (struct rhythm_fall){ finding->from_ms, ns, share_of(finding), early, finding->id };
}

static void remember(
	struct collapse *collapse, const struct collapse_finding *finding, double early, bool is_tooth)
{
	uint64_t ns = (uint64_t)(finding->to_ms - finding->from_ms) * NS_PER_MS;
	struct rhythm_fall fall = rhythm_fall_of(finding, ns, early);
	struct collapse_finding *last = &collapse->last[RHYTHM_LAST - 1];

	if (isnan(finding->baseline_bytes_per_s))
		return;
	if (rhythm_add(&collapse->rhythm, &fall, is_tooth)) {
		/* More of the last one; what was too short to be raised takes the name of what was not. */
		if (last->id == 0 && !is_tooth)
			*last = *finding;
		return;
	}
	for (unsigned i = 0; i + 1 < RHYTHM_LAST; i++)
		collapse->last[i] = collapse->last[i + 1];
	*last = *finding;
}

static void periodic_update(struct collapse *collapse, const struct collapse_finding *tooth)
{
	const struct rhythm *rhythm = &collapse->rhythm;
	struct collapse_finding *periodic = &collapse->periodic;

	periodic->count = rhythm->teeth;
	periodic->period_s = rhythm->period_ms / 1000;
	periodic->mean_bytes_per_s = rhythm->level_mean * periodic->baseline_bytes_per_s;
	periodic->worst_bytes_per_s = fmin(periodic->worst_bytes_per_s, tooth->worst_bytes_per_s);
	periodic->stall_s = fmax(periodic->stall_s, tooth->stall_s);
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
		turn_relabel(collapse, &fall->finding, COLLAPSE_FALL);
	remember(collapse, &fall->finding, fall->early, fall->is_tooth);
	if (fall->is_tooth) {
		if (collapse->rhythm.teeth == 3)
			collapse->teeth[2] = fall->finding;
		periodic_update(collapse, &fall->finding);
		return;
	}
	turn_plain(collapse, COLLAPSE_CLEARED, &fall->finding);
}

static void watch_end(struct collapse *collapse)
{
	if (!collapse->is_watched)
		return;
	collapse->is_watched = false;
	collapse->cliff.finding.to_ms = collapse->cliff_to_ms;
	turn_plain(collapse, COLLAPSE_CLEARED, &collapse->cliff.finding);
}

static void fall_becomes_shift(struct collapse *collapse, int64_t t_ms)
{
	struct collapse_finding *finding = &collapse->fall.finding;

	finding->to_ms = t_ms;
	if (collapse->fall.is_tooth) /* a rhythm that does not go on */
		finding->id = ++collapse->ids;
	turn_relabel(collapse, finding, COLLAPSE_SHIFT);
	turn_plain(collapse, COLLAPSE_CLEARED, finding);
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

static void settle(struct collapse *collapse, int64_t t_ms)
{
	collapse->was_settled = true;
	collapse->settled_samples = 0;
	watch_end(collapse);
	if (!collapse->is_fallen) {
		level_keep_newest(&collapse->normal, BASELINE_MIN);
		baseline_move(collapse, 0);
		return;
	}
	if (collapse->fall.is_tooth)
		return;
	if (collapse->fall.finding.kind == COLLAPSE_CLIFF) {
		cliff_becomes_level(collapse, t_ms);
		watch_end(collapse);
		return;
	}
	fall_becomes_shift(collapse, t_ms);
}

/* --- the beginning of a fall --- */

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
	return is_time(stretch->low_ns, collapse->config.for_ns) &&
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

/* The two falls before this one were raised, or were too short for it. */
static void periodic_begin(struct collapse *collapse, const struct rhythm_fall *third, unsigned first)
{
	struct collapse_finding *periodic = &collapse->periodic, *a = &collapse->last[first],
				*b = &collapse->last[first + 1];
	enum collapse_kind was = a->id ? a->kind : b->kind;
	bool is_new = a->id == 0 && b->id == 0;

	rhythm_begin(&collapse->rhythm, third, first);
	collapse->teeth[0] = *a;
	collapse->teeth[1] = *b;
	*periodic = collapse->fall.finding;
	periodic->id = a->id ? a->id : b->id ? b->id : ++collapse->ids;
	periodic->kind = COLLAPSE_PERIODIC;
	periodic->from_ms = a->from_ms;
	periodic_update(collapse, a);
	periodic_update(collapse, b);
	periodic->count = 3;
	if (!is_new) {
		periodic->detected_ms = a->id ? a->detected_ms : b->detected_ms;
		turn(collapse, COLLAPSE_RELABELLED, periodic, was, 0);
	} else {
		turn_plain(collapse, COLLAPSE_RAISED, periodic);
	}
	if (a->id && b->id)
		turn(collapse, COLLAPSE_ABSORBED, b, b->kind, periodic->id);
}

static bool is_sheltered(const struct collapse *collapse)
{
	return collapse->config.is_extent_known ? !collapse->was_settled : !collapse->had_cliff;
}

static void fall_raise(struct collapse *collapse, bool is_stall)
{
	struct collapse_finding *finding = &collapse->fall.finding;

	finding->id = ++collapse->ids;
	finding->kind = is_stall ? COLLAPSE_STALL : is_sheltered(collapse) ? COLLAPSE_CLIFF : COLLAPSE_FALL;
	turn_plain(collapse, COLLAPSE_RAISED, finding);
}

static void fall_begin(struct collapse *collapse, const struct stretch *stretch, unsigned drop, int64_t t_ms,
	uint64_t stall_ns)
{
	struct fall *fall = &collapse->fall;
	struct rhythm_fall tooth;
	bool is_stall = stall_ns > 0;
	int64_t stall_from_ms = t_ms - (int64_t)(stall_ns / NS_PER_MS);
	unsigned first;

	*fall = (struct fall){ .finding = finding_of(collapse, stretch, t_ms), .sum = *stretch };
	if (is_stall && stall_from_ms < fall->finding.from_ms)
		fall->finding.from_ms = stall_from_ms;
	fall->finding.stall_s = (double)stall_ns / 1e9;
	level_drop_newest(&collapse->normal, drop);
	level_clear(&collapse->fallen);
	collapse->is_fallen = true;
	stretch_clear(&collapse->good);
	fall->early = share_of(&fall->finding);
	tooth = rhythm_fall_of(&fall->finding, 0, fall->early);
	if (!isnan(collapse->baseline)) {
		fall->is_tooth = collapse->rhythm.is_on && rhythm_has(&collapse->rhythm, &tooth);
		if (!fall->is_tooth && rhythm_begins(&collapse->rhythm, &tooth, &first)) {
			periodic_begin(collapse, &tooth, first);
			fall->is_tooth = true;
		}
	}
	if (!fall->is_tooth)
		fall_raise(collapse, is_stall);
}

/* Too short to be raised; but a rhythm is made of such falls too, where noise does not make them. */
static void bad_end(struct collapse *collapse)
{
	struct stretch *bad = &collapse->bad;

	if (is_beyond_noise(collapse, bad) &&
		stretch_mean(bad) <= limit_of(collapse, bad->n) * collapse->baseline) {
		struct collapse_finding dip = finding_of(collapse, bad, bad->from_ms);
		struct rhythm_fall tooth = rhythm_fall_of(&dip, bad->ns, share_of(&dip));

		dip.to_ms = bad->from_ms + (int64_t)(bad->ns / NS_PER_MS);
		remember(collapse, &dip, tooth.early,
			collapse->rhythm.is_on && rhythm_has(&collapse->rhythm, &tooth));
	}
	stretch_clear(bad);
}

static unsigned patience_of(const struct collapse *collapse, const struct collapse_sample *s)
{
	return (unsigned)(PATIENCE * collapse->config.for_ns / s->elapsed_ns) + BASELINE_MIN;
}

static void bad_add(struct collapse *collapse, const struct collapse_sample *s)
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

/* Now that there is a baseline: what is low may have begun before. */
static void bad_recall(struct collapse *collapse, const struct collapse_sample *s)
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

static void stall_begin(struct collapse *collapse, const struct collapse_sample *s, uint64_t stall_ns)
{
	struct stretch alone = { 0 }, *bad = collapse->bad.n ? &collapse->bad : &collapse->empty;

	stretch_add(&alone, s, true);
	if (bad == &collapse->bad)
		stretch_add(bad, s, true);
	fall_begin(collapse, bad->n ? bad : &alone, bad->n, s->t_ms, stall_ns);
}

/* --- one sample --- */

static void watch(struct collapse *collapse, const struct collapse_sample *s)
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
	if (collapse->back.n >= CLIFF_BACK && is_time(collapse->back.ns, collapse->config.for_ns)) {
		collapse->is_watched = false;
		collapse->had_cliff = false;
		cliff->finding.to_ms = collapse->back.from_ms;
		fall_measure(cliff, &collapse->back);
		turn_relabel(collapse, &cliff->finding, COLLAPSE_FALL);
		turn_plain(collapse, COLLAPSE_CLEARED, &cliff->finding);
		remember(collapse, &cliff->finding, cliff->early, false);
	} else if (cliff->sum.ns >= SHIFT_NS) {
		watch_end(collapse);
	}
}

static void add_normal(struct collapse *collapse, const struct collapse_sample *s, uint64_t stall_ns)
{
	normal_add(collapse, s);
	if (is_time(stall_ns, collapse->config.stall_after_ns)) {
		stall_begin(collapse, s, stall_ns);
		return;
	}
	if (!(collapse->baseline > 0)) {
		baseline_move(collapse, s->elapsed_ns);
		if (collapse->baseline > 0)
			bad_recall(collapse, s);
		return;
	}
	bad_add(collapse, s);
	if (collapse->is_fallen)
		return;
	if (collapse->bad.n == 0)
		baseline_move(collapse, s->elapsed_ns);
	watch(collapse, s);
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

	if (is_time(stall_ns, collapse->config.stall_after_ns)) {
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
	return is_time(good->ns, collapse->config.for_ns) && good->n >= back_samples(collapse);
}

static bool is_level(const struct level *level)
{
	double newer, older;

	if (level->count < BASELINE_MIN)
		return false;
	newer = level_median_of(level, 0, BASELINE_MIN / 2);
	older = level_median_of(level, BASELINE_MIN / 2, BASELINE_MIN / 2);
	return newer >= older * CLIFF_LEVEL && newer * CLIFF_LEVEL <= older;
}

static void cliff_add(struct collapse *collapse, const struct collapse_sample *s, uint64_t stall_ns)
{
	struct fall *fall = &collapse->fall;
	bool is_very_low = stretch_rate(s) < CLIFF_LOW_SHARE * fall->finding.baseline_bytes_per_s;

	fall->very_low_ns = is_very_low ? fall->very_low_ns + s->elapsed_ns : 0;
	if (is_time(stall_ns, collapse->config.stall_after_ns))
		turn_relabel(collapse, &fall->finding, COLLAPSE_STALL);
	else if (is_time(fall->very_low_ns, CLIFF_LOW_NS))
		turn_relabel(collapse, &fall->finding, COLLAPSE_FALL);
	else if (collapse->good.n == 0 && (is_level(&collapse->fallen) || fall->sum.ns >= SHIFT_NS))
		cliff_becomes_level(collapse, s->t_ms);
}

static void tooth_check(struct collapse *collapse, int64_t t_ms)
{
	struct fall *fall = &collapse->fall;
	struct rhythm_fall tooth = rhythm_fall_of(&fall->finding, fall->sum.ns, fall->early);

	if (rhythm_has(&collapse->rhythm, &tooth))
		return;
	fall->is_tooth = false;
	fall->finding.detected_ms = t_ms;
	fall_raise(collapse, false);
}

static void add_fallen(struct collapse *collapse, const struct collapse_sample *s, uint64_t stall_ns)
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
	else if (fall->sum.ns >= SHIFT_NS)
		fall_becomes_shift(collapse, s->t_ms);
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
		turn_plain(collapse, COLLAPSE_RAISED, degraded);
	} else if (change == DECLINE_ENDS) {
		degraded->to_ms = s->t_ms;
		turn_plain(collapse, COLLAPSE_CLEARED, degraded);
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

/* Three falls at like distances that no fourth followed: each is a fall of its own. */
static void periodic_undo(struct collapse *collapse)
{
	struct collapse_finding *third = &collapse->teeth[2];
	bool is_told = false;

	for (int i = 0; i < 2; i++) {
		if (collapse->teeth[i].id == 0)
			continue;
		turn(collapse, COLLAPSE_RELABELLED, &collapse->teeth[i], COLLAPSE_PERIODIC, 0);
		is_told = true;
	}
	if (collapse->rhythm.teeth < 3) /* it was more than a tooth, and has been told */
		return;
	third->kind = is_time((uint64_t)(third->stall_s * 1e9), collapse->config.stall_after_ns)
			      ? COLLAPSE_STALL
			      : COLLAPSE_FALL;
	third->id = is_told ? ++collapse->ids : collapse->periodic.id;
	if (is_told)
		turn_plain(collapse, COLLAPSE_RAISED, third);
	else
		turn(collapse, COLLAPSE_RELABELLED, third, COLLAPSE_PERIODIC, 0);
	turn_plain(collapse, COLLAPSE_CLEARED, third);
}

static void rhythm_check(struct collapse *collapse, int64_t t_ms)
{
	if (!collapse->rhythm.is_on)
		return;
	if (collapse->is_fallen && !collapse->fall.is_tooth)
		rhythm_skip(&collapse->rhythm, t_ms);
	if (collapse->is_fallen || !rhythm_is_over(&collapse->rhythm, t_ms))
		return;
	collapse->periodic.to_ms = collapse->rhythm.last_to_ms;
	if (collapse->rhythm.teeth <= 3)
		periodic_undo(collapse);
	else
		turn_plain(collapse, COLLAPSE_CLEARED, &collapse->periodic);
	rhythm_end(&collapse->rhythm);
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
		settle(collapse, s->t_ms);
	stall_ns = stall_of(collapse, s);
	if (collapse->is_fallen)
		add_fallen(collapse, s, stall_ns);
	else
		add_normal(collapse, s, stall_ns);
	rhythm_check(collapse, s->t_ms);
	add_decline(collapse, s);
}
