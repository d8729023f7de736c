/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The verdict with its reasons, and the conditions of steady state, in HTML; report and pages share them. */
#include "archive/report.h"

#include <math.h>
#include <stdio.h>

#include "base/units.h"

const char *report_verdict_class(enum verdict verdict)
{
	static const char *const classes[] = {
		[VERDICT_FAIL] = "bad",
		[VERDICT_NONE] = "off",
		[VERDICT_REMARKS] = "warn",
		[VERDICT_PASS] = "ok",
	};

	return classes[verdict];
}

/* A reason of another class than the verdict's says which one it is. */
void report_add_reasons(const struct verdict_answer *answer, struct text *out)
{
	text_add(out, "<ul class=\"plain\">");
	for (unsigned i = 0; i < answer->count; i++) {
		const struct verdict_reason *reason = &answer->reasons[i];

		text_add(out, "<li>");
		if (reason->class != answer->verdict)
			text_addf(out, "<span class=\"%s\">%s:</span> ", report_verdict_class(reason->class),
				verdict_name(reason->class));
		text_add_html(out, reason->text);
		text_add(out, "</li>");
	}
	text_add(out, "</ul>");
}

static void add_condition(
	struct text *out, const char *name, const char *needs, double value, const char *unit, bool is_met)
{
	text_addf(
		out, "<tr><th scope=\"row\">%s</th><td class=\"num\">%s</td><td class=\"num\">", name, needs);
	if (isfinite(value))
		text_addf(out, "%.1f%s</td><td class=\"met %s\">%s</td></tr>", value, unit,
			is_met ? "ok" : "warn", is_met ? "met" : "not met");
	else
		text_add(out, "<span class=\"mute\">not known yet</span></td><td></td></tr>");
}

static double round_minutes(const struct steady_answer *steady)
{
	return steady->settle.round_s / 60;
}

void report_add_steady(const struct steady_answer *steady, struct text *out)
{
	char time[REPORT_TIME_MAX];

	text_add(out, "<p class=\"small\">");
	if (steady->reached) {
		report_print_time(steady->window_from_ms, time);
		text_addf(out, "Settled since %s.", time);
	} else {
		text_add(out, "Not settled: ");
		text_add_html(out, steady->why_not[0] ? steady->why_not : "the soak has not begun");
		text_add(out, ".");
	}
	if (steady->lost_ms != STEADY_NEVER) {
		report_print_time(steady->lost_ms, time);
		text_addf(out, " Lost %u time%s, last at %s.", steady->losses, steady->losses == 1 ? "" : "s",
			time);
	}
	text_add(out, "</p>");
	if (isnan(steady->extents))
		return;
	text_addf(out, "<table class=\"kv\"><thead><tr><th scope=\"col\">Condition</th><th scope=\"col\" "
		       "class=\"num\">Needs</th>"
		       "<th scope=\"col\" class=\"num\">Is</th><th scope=\"col\"></th></tr></thead><tbody>");
	add_condition(out, "Extents written in the soak", "&ge; 2", steady->extents, "",
		steady->extents >= STEADY_EXTENTS);
	add_condition(out, "Range of the last 5 rounds", "&le; 20 %", steady->settle.range_pct, " %",
		steady->settle.range_pct <= STEADY_RANGE_MAX_PCT);
	add_condition(out, "Drift of the line over them", "&le; 10 %", steady->settle.drift_pct, " %",
		steady->settle.drift_pct <= STEADY_DRIFT_MAX_PCT);
	text_add(out, "</tbody></table>");
	if (isfinite(round_minutes(steady)))
		text_addf(out, "<p class=\"small mute\">A round is %.1f min.</p>", round_minutes(steady));
}
