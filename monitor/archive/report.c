/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "archive/report.h"

#include <stdlib.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "archive/figures.h"
#include "archive/outcome.h"
#include "archive/settings.h"
#include "base/units.h"

#define EVENTS_MAX 500

static const char hatch[] =
	"<svg class=\"defs\" aria-hidden=\"true\"><defs><pattern id=\"hatch\" width=\"5\" height=\"5\" "
	"patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\"><path class=\"hatchline\" "
	"d=\"M0 0v5\"/></pattern></defs></svg>\n";

static const char legend[] =
	"<span class=\"legend\"><span><svg viewBox=\"0 0 20 10\" aria-hidden=\"true\"><path class=\"ln\" "
	"d=\"M0 5h20\"/></svg>mean</span><span><svg viewBox=\"0 0 20 10\" aria-hidden=\"true\"><path "
	"class=\"bd\" "
	"d=\"M0 0h20v10h-20z\"/></svg>lowest to highest sample</span><span><svg viewBox=\"0 0 20 10\" "
	"aria-hidden=\"true\"><path class=\"zero\" d=\"M10 5h0\"/></svg>real 0</span><span><svg viewBox=\"0 "
	"0 20 10\" "
	"aria-hidden=\"true\"><rect class=\"gap\" width=\"20\" height=\"10\"/></svg>no data</span><span><svg "
	"viewBox=\"0 0 20 10\" aria-hidden=\"true\"><rect class=\"ph-fill\" width=\"20\" "
	"height=\"10\"/></svg>fill</span><span><svg viewBox=\"0 0 20 10\" aria-hidden=\"true\"><rect "
	"class=\"ph-probe\" width=\"20\" height=\"10\"/></svg>probe</span><span><svg viewBox=\"0 0 20 10\" "
	"aria-hidden=\"true\"><rect class=\"ph-verify\" width=\"20\" height=\"10\"/></svg>verification</span>"
	"</span>";

static void add_row(const char *name, const char *value, void *arg)
{
	struct text *out = arg;

	text_add(out, "<tr><th scope=\"row\">");
	text_add_html(out, name);
	text_add(out, "</th><td>");
	text_add_html(out, *value ? value : "unknown");
	text_add(out, "</td></tr>\n");
}

/* What a figure is: how it is printed and where it stands, in the part that is shown but for FIGURE_PCT. */
enum figure_kind {
	FIGURE_RATE,
	FIGURE_READ_RATE,
	FIGURE_COMMITS,
	FIGURE_COMMIT_NS,
	FIGURE_SHARE,
	FIGURE_PCT,
	FIGURE_SECONDS,
	FIGURE_NS,
	FIGURE_COUNT
};

#define FIGURE(member) offsetof(struct summary_part, member)

static const struct {
	const char *name;
	enum figure_kind kind;
	size_t offset;
} figures_shown[] = {
	{ "Samples that count", FIGURE_COUNT, FIGURE(samples) },
	{ "Write, median", FIGURE_RATE, FIGURE(write.median) },
	{ "Write, mean", FIGURE_RATE, FIGURE(write.mean) },
	{ "Write, worst 5 %", FIGURE_RATE, FIGURE(write.p5) },
	{ "Write, worst 1 %", FIGURE_RATE, FIGURE(write.p1) },
	{ "Write, worst minute", FIGURE_RATE, FIGURE(write.worst_minute) },
	{ "Write, minimum", FIGURE_RATE, FIGURE(write.min) },
	{ "Write, maximum", FIGURE_RATE, FIGURE(write.max) },
	{ "Write, coefficient of variation", FIGURE_SHARE, FIGURE(write.cv) },
	{ "Read, median", FIGURE_READ_RATE, FIGURE(read.median) },
	{ "Read, mean", FIGURE_READ_RATE, FIGURE(read.mean) },
	{ "Read, worst 1 %", FIGURE_READ_RATE, FIGURE(read.p1) },
	{ "Read, worst minute", FIGURE_READ_RATE, FIGURE(read.worst_minute) },
	{ "Commits a second, median", FIGURE_COMMITS, FIGURE(median_commits_per_s) },
	{ "Commit latency, p50 of a sample, median", FIGURE_COMMIT_NS, FIGURE(median_commit_p50_ns) },
	{ "Commit latency, p99 of a sample, median", FIGURE_COMMIT_NS, FIGURE(median_commit_p99_ns) },
	{ "Latency, p99", FIGURE_NS, FIGURE(lat_p99_ns) },
	{ "Latency, p99.99", FIGURE_NS, FIGURE(lat_p9999_ns) },
	{ "Stalled (1 s and longer)", FIGURE_SECONDS, FIGURE(stalled_s) },
	{ "Host was the limit", FIGURE_PCT, offsetof(struct summary_figures, host_limited_pct) },
	{ "Gaps", FIGURE_PCT, offsetof(struct summary_figures, gap_pct) },
};

#define FIGURES_SHOWN (sizeof(figures_shown) / sizeof(figures_shown[0]))

static void print_real(enum figure_kind kind, double value, char *text)
{
	if (!isfinite(value))
		(void)snprintf(text, UNITS_TEXT_MAX, "unknown");
	else if (kind == FIGURE_RATE || kind == FIGURE_READ_RATE)
		units_print_rate_rounded(value, text);
	else if (kind == FIGURE_COMMITS)
		(void)snprintf(text, UNITS_TEXT_MAX, "%.0f", value);
	else if (kind == FIGURE_COMMIT_NS)
		units_print_duration_rounded(value, text);
	else if (kind == FIGURE_SECONDS && value <= 0)
		(void)snprintf(text, UNITS_TEXT_MAX, "never");
	else if (kind == FIGURE_SECONDS)
		units_print_duration_rounded(value * 1e9, text);
	else
		(void)snprintf(text, UNITS_TEXT_MAX, "%.1f %%", kind == FIGURE_SHARE ? value * 100 : value);
}

static void print_figure(size_t figure, const struct summary_figures *figures, char *text)
{
	const void *base = summary_shown(figures), *value;

	if (figures_shown[figure].kind == FIGURE_PCT)
		base = figures;
	value = (const char *)base + figures_shown[figure].offset;

	switch (figures_shown[figure].kind) {
	case FIGURE_COUNT:
		(void)snprintf(text, UNITS_TEXT_MAX, "%llu", (unsigned long long)*(const uint64_t *)value);
		break;
	case FIGURE_NS:
		if (*(const uint64_t *)value == SAMPLE_UNKNOWN)
			(void)snprintf(text, UNITS_TEXT_MAX, "unknown");
		else
			units_print_duration_rounded((double)*(const uint64_t *)value, text);
		break;
	default:
		print_real(figures_shown[figure].kind, *(const double *)value, text);
	}
}

/* A kind that no run has is not worth a row. */
static bool is_needed(enum figure_kind kind, const struct summary_figures *figures, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct summary_part *part = summary_shown(&figures[i]);

		if (kind == FIGURE_READ_RATE ? part->read.max > 0 : isfinite(part->median_commits_per_s))
			return true;
	}
	return kind != FIGURE_READ_RATE && kind != FIGURE_COMMITS && kind != FIGURE_COMMIT_NS;
}

static void add_figures(
	const struct run_record *runs, const struct summary_figures *figures, size_t count, struct text *out)
{
	char value[UNITS_TEXT_MAX];

	text_add(out, "<h2>Figures</h2>\n<p class=\"small mute\">Over the whole soak of each run; zeros "
		      "count; paused, down, "
		      "partial and host-limited samples do not.</p>\n<div class=\"scroll\" tabindex=\"0\" "
		      "role=\"region\" "
		      "aria-label=\"Table of figures\"><table><thead><tr><th scope=\"col\">Figure</th>");
	for (size_t i = 0; i < count; i++) {
		text_add(out, "<th scope=\"col\" class=\"num\">");
		text_add_html(out, runs[i].id);
		text_add(out, summary_is_host_limited(&figures[i])
				      ? "<br><span class=\"warn\">host-limited</span></th>"
				      : "</th>");
	}
	text_add(out, "</tr></thead><tbody>\n");
	for (size_t n = 0; n < FIGURES_SHOWN; n++) {
		if (!is_needed(figures_shown[n].kind, figures, count))
			continue;
		text_addf(out, "<tr><th scope=\"row\">%s</th>", figures_shown[n].name);
		for (size_t i = 0; i < count; i++) {
			print_figure(n, &figures[i], value);
			text_addf(out, "<td class=\"num\">%s</td>", value);
		}
		text_add(out, "</tr>\n");
	}
	text_add(out, "</tbody></table></div>\n");
	for (size_t i = 0; i < count; i++) {
		if (!summary_is_host_limited(&figures[i]))
			continue;
		text_add(out, "<p class=\"small warn\">" SUMMARY_HOST_LIMITED ".</p>\n");
		break;
	}
}

static void add_facts(const struct run_record *run, struct text *out)
{
	char started[REPORT_TIME_MAX], ended[REPORT_TIME_MAX], extent[UNITS_TEXT_MAX] = "", seed[32] = "";
	const struct {
		const char *name, *value;
	} facts[] = {
		{ "source", run_source_name(run->source) },
		{ "started", started },
		{ "ended", run->ended_ms == INT64_MIN ? "not yet" : ended },
		{ "firmware", run->firmware },
		{ "engine that ran", run->engine },
		{ "direct I/O", run->direct },
		{ "state before", run->pre_state },
		{ "extent", extent },
		{ "seed", seed },
	};

	report_print_time(run->started_ms, started);
	report_print_time(run->ended_ms, ended);
	if (run->progress.extent_bytes != UINT64_MAX)
		units_print_bytes_rounded((double)run->progress.extent_bytes, extent);
	if (run->source != SOURCE_IMPORTED)
		(void)snprintf(seed, sizeof(seed), "%llu", (unsigned long long)run->seed);
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
		add_row(facts[i].name, facts[i].value, out);
}

static void add_method(const struct run_record *run, struct text *out)
{
	text_add(out, "<h3>Method</h3>\n<div class=\"method\"><table class=\"kv\"><tbody>\n");
	add_facts(run, out);
	text_add(out, "</tbody></table><table class=\"kv\"><tbody>\n");
	(void)settings_each(run->config_json, add_row, out);
	text_add(out, "</tbody></table><table class=\"kv\"><tbody>\n");
	(void)settings_each(run->host_json, add_row, out);
	text_add(out, "</tbody></table></div>\n");
}

static int add_event(const struct event_record *event, void *arg)
{
	static const char *const classes[] = { "off", "warn", "bad" };
	struct text *out = arg;
	char t[REPORT_TIME_MAX];

	report_print_time(event->t_ms, t);
	text_addf(out, "<tr><td class=\"nw\">%s</td><td class=\"nw %s\">", t,
		classes[event->severity <= EVENT_CRITICAL ? event->severity : EVENT_INFO]);
	text_add_html(out, event->kind);
	text_addf(out, "%s%s</td><td>", event->severity == EVENT_INFO ? "" : ", ",
		event->severity == EVENT_INFO ? "" : event_severity_name(event->severity));
	text_add_html(out, event->text);
	if (event->cause[0]) {
		text_add(out, "; cause: ");
		text_add_html(out, event->cause);
		text_add(out, event->evidence[0] ? ". " : "");
		text_add_html(out, event->evidence);
	}
	text_add(out, "</td></tr>\n");
	return text_error(out);
}

static int add_events(struct journal *journal, const struct run_record *run, struct text *out)
{
	int rc;

	text_addf(out,
		"<h3>What happened</h3>\n<table class=\"evt\"><caption>Newest first, at most "
		"%d</caption><thead><tr>"
		"<th scope=\"col\">Time</th><th scope=\"col\">Kind</th><th scope=\"col\">What "
		"happened</th></tr></thead>"
		"<tbody>\n",
		EVENTS_MAX);
	rc = journal_each_event(journal, run->id, EVENTS_MAX, add_event, out);
	text_add(out, "</tbody></table>\n");
	return rc;
}

static void add_identity(const struct run_record *run, struct text *out)
{
	text_add(out, "<p class=\"sub\">");
	text_add_html(out, run->model[0] ? run->model : "model unknown");
	text_add(out, run->serial[0] ? ", serial " : "");
	text_add_html(out, run->serial);
	text_add(out, run->label[0] ? ", " : "");
	text_add_html(out, run->label);
	text_addf(out, ". State %s, phase %s%s", run_status_name(run->progress.status),
		run_phase_name(run->progress.phase), run->reason[0] ? ": " : ". ");
	text_add_html(out, run->reason);
	text_add(out, "</p>\n");
}

static int add_run(struct journal *journal, const struct run_record *run,
	const struct summary_figures *figures, struct text *out)
{
	int rc;

	text_add(out, "<section><h2>");
	text_add_html(out, run->id);
	text_add(out, "</h2>\n");
	add_identity(run, out);
	if (outcome_writes_zeros(run))
		text_add(out, "<p class=\"warn\"><b>" OUTCOME_ZEROS_WORDS "</b></p>\n");
	text_addf(out, "<p><span class=\"verdict %s\">%s</span></p>",
		report_verdict_class(figures->verdict.verdict), verdict_name(figures->verdict.verdict));
	report_add_reasons(&figures->verdict, out);
	report_add_steady(&figures->steady, out);
	text_addf(out,
		"\n<div class=\"fig\"><header><h3>Throughput <span "
		"class=\"unit\">MiB/s</span></h3>%s</header>\n",
		legend);
	rc = report_timeline_svg(journal, run, out);
	text_add(out, "</div>\n");
	report_add_probe(run, out);
	report_add_verify(run, out);
	if (rc == 0)
		rc = add_events(journal, run, out);
	add_method(run, out);
	text_add(out, "</section>\n");
	return rc;
}

static int add_all(struct journal *journal, const struct run_record *runs, struct summary_figures *figures,
	size_t count, struct text *out)
{
	int rc = 0;

	for (size_t i = 0; i < count && rc == 0; i++)
		rc = figures_read(journal, &runs[i], &figures[i]);
	if (rc < 0)
		return rc;
	add_figures(runs, figures, count, out);
	for (size_t i = 0; i < count && rc == 0; i++)
		rc = add_run(journal, &runs[i], &figures[i], out);
	return rc;
}

static void add_head(
	const struct run_record *runs, size_t count, int64_t now_ms, const char *style, struct text *out)
{
	char now[REPORT_TIME_MAX];

	report_print_time(now_ms, now);
	text_add(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>drivesoak "
		      "report</title>\n"
		      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<style>\n");
	text_add(out, style);
	text_addf(out,
		"</style></head><body>\n%s<main class=\"paper\">\n<div class=\"head\"><h1>drivesoak "
		"report</h1></div>\n"
		"<p class=\"sub\">",
		hatch);
	for (size_t i = 0; i < count; i++) {
		text_add(out, i ? ", " : count > 1 ? "runs " : "run ");
		text_add_html(out, runs[i].id);
	}
	text_addf(out, " \xc2\xb7 written %s \xc2\xb7 all times are UTC</p>\n", now);
}

int report_html(struct journal *journal, const struct run_record *runs, size_t count, int64_t now_ms,
	const char *style, struct text *out)
{
	struct summary_figures *figures = calloc(count ? count : 1, sizeof(*figures));
	int rc;

	if (!figures)
		return -ENOMEM;
	add_head(runs, count, now_ms, style, out);
	rc = add_all(journal, runs, figures, count, out);
	text_add(out,
		"<h2>What this does not say</h2>\n<ul class=\"plain\"><li>These are these specimens, not "
		"their model.</li>"
		"<li>Latency under a full queue is depth over operations a second: it ranks nothing.</li>"
		"<li>Writes are not flushed unless fsync-every is set: a database may see less.</li></ul>\n"
		"<div class=\"foot\"><p>drivesoak " PACKAGE_VERSION
		". This file holds everything it shows; it fetches "
		"nothing.</p></div>\n</main>\n</body></html>\n");
	free(figures);
	return rc == 0 ? text_error(out) : rc;
}
