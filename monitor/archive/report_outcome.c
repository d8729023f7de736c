/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The answers of the probe and of the verification in HTML; report and pages share them. */
#include "archive/report.h"

#include <math.h>
#include <stdio.h>

#include "archive/outcome.h"
#include "base/units.h"

static void add_cell(struct text *out, const char *value)
{
	text_addf(out, "<td class=\"num\">%s</td>", value[0] ? value : "<span class=\"mute\">none</span>");
}

static void add_ios(struct text *out, double ios_per_s)
{
	char value[UNITS_TEXT_MAX] = "";

	if (isfinite(ios_per_s))
		(void)snprintf(value, sizeof(value), "%.0f", ios_per_s);
	add_cell(out, value);
}

static void add_latency(struct text *out, double ns)
{
	char value[UNITS_TEXT_MAX] = "";

	if (isfinite(ns))
		units_print_duration_rounded(ns, value);
	add_cell(out, value);
}

void report_add_probe(const struct run_record *run, struct text *out)
{
	struct probe_step steps[RUN_PROBE_STEPS];
	size_t count = outcome_read_probe(run, steps, RUN_PROBE_STEPS);
	char name[OUTCOME_NAME_MAX];

	if (count == 0)
		return;
	text_add(out,
		"<h3>Probe: latency at rates below the limit</h3>\n<div class=\"scroll\" tabindex=\"0\" "
		"role=\"region\" aria-label=\"Table of the probe\"><table><thead><tr><th "
		"scope=\"col\">Step</th><th scope=\"col\" class=\"num\">Intended<br>I/O a second</th><th "
		"scope=\"col\" class=\"num\">Reached<br>I/O a second</th><th scope=\"col\" "
		"class=\"num\">p50</th><th scope=\"col\" class=\"num\">p99</th><th scope=\"col\" "
		"class=\"num\">p99.9</th><th scope=\"col\" class=\"num\">max</th></tr></thead><tbody>\n");
	for (size_t i = 0; i < count; i++) {
		outcome_print_step(&steps[i], name);
		text_add(out, "<tr><th scope=\"row\">");
		text_add_html(out, name);
		text_add(out, "</th>");
		add_ios(out, steps[i].intended_ios_per_s);
		add_ios(out, steps[i].ios_per_s);
		add_latency(out, steps[i].lat_p50_ns);
		add_latency(out, steps[i].lat_p99_ns);
		add_latency(out, steps[i].lat_p999_ns);
		add_latency(out, steps[i].lat_max_ns);
		text_add(out, "</tr>\n");
	}
	text_add(out, "</tbody></table></div>\n<p class=\"small mute\">" OUTCOME_PROBE_WORDS "</p>\n");
}

void report_add_verify(const struct run_record *run, struct text *out)
{
	struct verify_outcome verify;
	struct text words = TEXT_INIT;

	if (!outcome_read_verify(run, &verify))
		return;
	outcome_add_read(&verify, &words);
	text_add(out, "<h3>Verification</h3>\n<p>");
	text_add_html(out, text_string(&words));
	text_fini(&words);
	text_addf(out, " <b class=\"%s\">%s",
		outcome_is_bad(&verify) ? "bad"
		: verify.error[0]	? "warn"
					: "ok",
		outcome_is_bad(&verify) ? "Bad blocks: " : "");
	outcome_add_bad(&verify, out);
	text_add(out, "</b></p>\n");
}
