/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "measure/collapse_private.h"

#include <math.h>

static double share_of(const struct collapse_finding *finding)
{
	double base = finding->baseline_bytes_per_s;

	return base > 0 ? finding->mean_bytes_per_s / base : 0;
}

static struct rhythm_fall rhythm_fall_of(const struct collapse_finding *finding, uint64_t ns, double early)
{
	return (struct rhythm_fall){ finding->from_ms, ns, share_of(finding), early, finding->id };
}

void collapse_remember(
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

void collapse_end_dip(struct collapse *collapse, const struct collapse_finding *dip, uint64_t ns)
{
	const double early = share_of(dip);
	struct rhythm_fall tooth = rhythm_fall_of(dip, ns, early);

	collapse_remember(
		collapse, dip, early, collapse->rhythm.is_on && rhythm_has(&collapse->rhythm, &tooth));
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
		collapse_turn(collapse, COLLAPSE_RELABELLED, periodic, was, 0);
	} else {
		collapse_tell(collapse, COLLAPSE_RAISED, periodic);
	}
	if (a->id && b->id)
		collapse_turn(collapse, COLLAPSE_ABSORBED, b, b->kind, periodic->id);
}

bool collapse_begin_tooth(struct collapse *collapse)
{
	struct fall *fall = &collapse->fall;
	struct rhythm_fall tooth;
	unsigned first;

	fall->early = share_of(&fall->finding);
	tooth = rhythm_fall_of(&fall->finding, 0, fall->early);
	if (isnan(collapse->baseline))
		return false;
	if (collapse->rhythm.is_on && rhythm_has(&collapse->rhythm, &tooth))
		return true;
	if (!rhythm_begins(&collapse->rhythm, &tooth, &first))
		return false;
	periodic_begin(collapse, &tooth, first);
	return true;
}

bool collapse_tooth_goes_on(const struct collapse *collapse)
{
	const struct fall *fall = &collapse->fall;
	struct rhythm_fall tooth = rhythm_fall_of(&fall->finding, fall->sum.ns, fall->early);

	return rhythm_has(&collapse->rhythm, &tooth);
}

void collapse_end_tooth(struct collapse *collapse)
{
	if (collapse->rhythm.teeth == 3)
		collapse->teeth[2] = collapse->fall.finding;
	periodic_update(collapse, &collapse->fall.finding);
}

/* Three falls at like distances that no fourth followed: each is a fall of its own. */
static void periodic_undo(struct collapse *collapse)
{
	struct collapse_finding *third = &collapse->teeth[2];
	bool is_told = false;

	for (int i = 0; i < 2; i++) {
		if (collapse->teeth[i].id == 0)
			continue;
		collapse_turn(collapse, COLLAPSE_RELABELLED, &collapse->teeth[i], COLLAPSE_PERIODIC, 0);
		is_told = true;
	}
	if (collapse->rhythm.teeth < 3) /* it was more than a tooth, and has been told */
		return;
	third->kind = collapse_is_time((uint64_t)(third->stall_s * 1e9), collapse->config.stall_after_ns)
			      ? COLLAPSE_STALL
			      : COLLAPSE_FALL;
	third->id = is_told ? ++collapse->ids : collapse->periodic.id;
	if (is_told)
		collapse_tell(collapse, COLLAPSE_RAISED, third);
	else
		collapse_turn(collapse, COLLAPSE_RELABELLED, third, COLLAPSE_PERIODIC, 0);
	collapse_tell(collapse, COLLAPSE_CLEARED, third);
}

void collapse_check_rhythm(struct collapse *collapse, int64_t t_ms)
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
		collapse_tell(collapse, COLLAPSE_CLEARED, &collapse->periodic);
	rhythm_end(&collapse->rhythm);
}
