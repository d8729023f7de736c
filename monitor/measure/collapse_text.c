/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a finding is called and says. */
#include "measure/collapse.h"

#include <math.h>
#include <stdio.h>

#include "base/units.h"

static const struct {
	const char *name;
	bool alerts;
} kinds[COLLAPSE_KIND_COUNT] = {
	[COLLAPSE_FALL] = { "collapse", true },
	[COLLAPSE_STALL] = { "stall", true },
	[COLLAPSE_CLIFF] = { "cliff", false },
	[COLLAPSE_PERIODIC] = { "periodic", true },
	[COLLAPSE_SHIFT] = { "level-shift", true },
	[COLLAPSE_DEGRADED] = { "degraded", false },
};

bool collapse_alerts(enum collapse_kind kind)
{
	return kinds[kind].alerts;
}

const char *collapse_kind_name(enum collapse_kind kind)
{
	return kinds[kind].name;
}

struct words {
	char mean[UNITS_TEXT_MAX], worst[UNITS_TEXT_MAX], baseline[UNITS_TEXT_MAX];
	char length[UNITS_TEXT_MAX], stall[UNITS_TEXT_MAX], period[UNITS_TEXT_MAX];
	double percent; /* of the baseline */
};

double collapse_depth_pct(const struct collapse_finding *finding)
{
	double base = finding->baseline_bytes_per_s;

	return base > 0 ? fmax(1 - finding->mean_bytes_per_s / base, 0) * 100 : NAN;
}

static struct words words_of(const struct collapse_finding *finding)
{
	int64_t end_ms = finding->to_ms != COLLAPSE_OPEN ? finding->to_ms : finding->detected_ms;
	struct words words;

	units_print_rate_rounded(finding->mean_bytes_per_s, words.mean);
	units_print_rate_rounded(finding->worst_bytes_per_s, words.worst);
	units_print_rate_rounded(finding->baseline_bytes_per_s, words.baseline);
	units_print_duration_rounded((double)(end_ms - finding->from_ms) * 1e6, words.length);
	units_print_duration_rounded(finding->stall_s * 1e9, words.stall);
	units_print_duration_rounded(finding->period_s * 1e9, words.period);
	words.percent = finding->mean_bytes_per_s / finding->baseline_bytes_per_s * 100;
	return words;
}

static void print_fall(const struct words *w, char *text)
{
	(void)snprintf(text, COLLAPSE_TEXT_MAX, "%s for %s, %.0f %% of the baseline of %s; worst %s", w->mean,
		w->length, w->percent, w->baseline, w->worst);
}

static void print_stall(const struct collapse_finding *finding, const struct words *w, char *text)
{
	int used = snprintf(text, COLLAPSE_TEXT_MAX, "nothing completed for %s", w->stall);

	if (finding->baseline_bytes_per_s > 0)
		(void)snprintf(text + used, COLLAPSE_TEXT_MAX - (size_t)used, "; %s for %s, baseline %s",
			w->mean, w->length, w->baseline);
}

void collapse_print(const struct collapse_finding *finding, char *text)
{
	struct words w = words_of(finding);

	switch (finding->kind) {
	case COLLAPSE_STALL:
		print_stall(finding, &w, text);
		return;
	case COLLAPSE_CLIFF:
		(void)snprintf(text, COLLAPSE_TEXT_MAX, "fell from %s to %s, %.0f %% of it", w.baseline,
			w.mean, w.percent);
		return;
	case COLLAPSE_PERIODIC:
		(void)snprintf(text, COLLAPSE_TEXT_MAX,
			"falls every %s to %s, %.0f %% of the baseline of %s; %u times, worst %s", w.period,
			w.mean, w.percent, w.baseline, finding->count, w.worst);
		return;
	case COLLAPSE_SHIFT:
		(void)snprintf(text, COLLAPSE_TEXT_MAX,
			"stayed at %s for %s: a new level, %.0f %% of the old one of %s", w.mean, w.length,
			w.percent, w.baseline);
		return;
	case COLLAPSE_DEGRADED:
		(void)snprintf(text, COLLAPSE_TEXT_MAX,
			"the median of an hour is %s, %.0f %% of the %s of the first 6 h", w.mean, w.percent,
			w.baseline);
		return;
	default:
		print_fall(&w, text);
		return;
	}
}
