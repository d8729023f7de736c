/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "archive/report.h"

#include <stdlib.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "archive/export.h"
#include "base/units.h"

#define EVENTS_MAX 500
#define VALUE_MAX  256

static const char head[] =
	"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>drivesoak report</title>\n"
	"<meta name=\"viewport\" content=\"width=device-width\">\n<style>\n"
	"body{font:14px/1.45 system-ui,sans-serif;max-width:1020px;margin:2em auto;padding:0 "
	"1em;color:#1b1f24}\n"
	"table{border-collapse:collapse;margin:.5em 0}td,th{padding:.2em "
	".8em;text-align:left;vertical-align:top;"
	"border-bottom:1px solid #d8dee4}\ntd.n{text-align:right;font-variant-numeric:tabular-nums}\n"
	".verdict{border-left:4px solid #9a6700;padding:.3em .8em;background:#fff8c5}\n"
	".timeline{width:100%;height:auto}.timeline text{font-size:12px;fill:#57606a}\n"
	".grid{stroke:#d8dee4}.line{fill:none;stroke-width:1.2}.band{opacity:.25}\n"
	".line.write{stroke:#0550ae}.band.write{fill:#0550ae}.line.read{stroke:#953800}.band.read{fill:#"
	"953800}\n"
	"rect.fill{fill:#eef1f4}rect.gap{fill:#ffcecb}\nsection{break-inside:avoid-page}\n"
	"@media print{body{margin:0;max-width:none}}\n</style></head><body>\n";

static void add_row(struct text *out, const char *name, const char *value)
{
	text_add(out, "<tr><th>");
	text_add_html(out, name);
	text_add(out, "</th><td>");
	text_add_html(out, *value ? value : "unknown");
	text_add(out, "</td></tr>\n");
}

/* What a figure is: where it stands and how it is printed. */
enum figure_kind {
	FIGURE_RATE,
	FIGURE_READ_RATE,
	FIGURE_SHARE,
	FIGURE_PCT,
	FIGURE_SECONDS,
	FIGURE_NS,
	FIGURE_COUNT
};

#define FIGURE(member) offsetof(struct summary_figures, member)

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
	{ "Latency, 99th percentile", FIGURE_NS, FIGURE(lat_p99_ns) },
	{ "Stalled (1 s and longer)", FIGURE_SECONDS, FIGURE(stalled_s) },
	{ "Host was the limit", FIGURE_PCT, FIGURE(host_limited_pct) },
	{ "Gaps", FIGURE_PCT, FIGURE(gap_pct) },
};

#define FIGURES_SHOWN (sizeof(figures_shown) / sizeof(figures_shown[0]))

static void print_real(enum figure_kind kind, double value, char *text)
{
	if (!isfinite(value))
		(void)snprintf(text, UNITS_TEXT_MAX, "unknown");
	else if (kind == FIGURE_RATE || kind == FIGURE_READ_RATE)
		units_print_rate_rounded(value, text);
	else if (kind == FIGURE_SECONDS)
		units_print_duration_rounded(value * 1e9, text);
	else
		(void)snprintf(text, UNITS_TEXT_MAX, "%.1f %%", kind == FIGURE_SHARE ? value * 100 : value);
}

static void print_figure(size_t figure, const struct summary_figures *figures, char *text)
{
	const void *value = (const char *)figures + figures_shown[figure].offset;

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

static bool any_reads(const struct summary_figures *figures, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (figures[i].read.max > 0)
			return true;
	return false;
}

static void add_figures(
	const struct run_record *runs, const struct summary_figures *figures, size_t count, struct text *out)
{
	char value[UNITS_TEXT_MAX];

	text_add(out, "<h2>Figures</h2>\n<table><tr><th></th>");
	for (size_t i = 0; i < count; i++) {
		text_add(out, "<th>");
		text_add_html(out, runs[i].id);
		text_add(out, "</th>");
	}
	text_add(out, "</tr>\n");
	for (size_t n = 0; n < FIGURES_SHOWN; n++) {
		if (figures_shown[n].kind == FIGURE_READ_RATE && !any_reads(figures, count))
			continue;
		text_addf(out, "<tr><th>%s</th>", figures_shown[n].name);
		for (size_t i = 0; i < count; i++) {
			print_figure(n, &figures[i], value);
			text_addf(out, "<td class=\"n\">%s</td>", value);
		}
		text_add(out, "</tr>\n");
	}
	text_add(out, "</table>\n");
}

/* Copy a JSON string's content or any other value up to the end of the member; answers where that is. The
 * objects are our own, flat but for arrays. */
static const char *copy_value(const char *json, char *value)
{
	unsigned depth = 0;
	bool quoted = false;
	size_t used = 0;

	for (; *json && (quoted || depth || (*json != ',' && *json != '}')); json++) {
		bool is_escaped = quoted && *json == '\\' && json[1];

		if (*json == '"')
			quoted = !quoted;
		else if (!quoted && strchr("[{", *json))
			depth++;
		else if (!quoted && strchr("]}", *json))
			depth--;
		if (is_escaped)
			json++;
		if ((*json != '"' || is_escaped) && used + 1 < VALUE_MAX)
			value[used++] = *json;
	}
	value[used] = '\0';
	return json;
}

static void add_object(const char *json, struct text *out)
{
	char key[VALUE_MAX], value[VALUE_MAX];

	while (*json && (json = strchr(json, '"'))) {
		const char *end = strchr(++json, '"');

		if (!end || end[1] != ':' || (size_t)(end - json) >= sizeof(key))
			return;
		memcpy(key, json, (size_t)(end - json));
		key[end - json] = '\0';
		json = copy_value(end + 2, value);
		if (strcmp(value, "null") != 0 && *value)
			add_row(out, key, value);
	}
}

static void add_method(const struct run_record *run, struct text *out)
{
	char value[UNITS_TEXT_MAX], started[REPORT_TIME_MAX], ended[REPORT_TIME_MAX];

	report_print_time(run->started_ms, started);
	report_print_time(run->ended_ms, ended);
	text_add(out, "<h3>Method</h3>\n<table>\n");
	add_row(out, "firmware", run->firmware);
	add_row(out, "started", started);
	add_row(out, "ended", run->ended_ms == INT64_MIN ? "not yet" : ended);
	(void)snprintf(value, sizeof(value), "%u s", run->interval_s);
	add_row(out, "sample interval", value);
	add_row(out, "engine", run->engine);
	add_row(out, "direct I/O", run->direct);
	add_row(out, "state before", run->pre_state);
	units_print_bytes(run->progress.extent_bytes, value);
	add_row(out, "extent", value);
	(void)snprintf(value, sizeof(value), "%llu", (unsigned long long)run->seed);
	add_row(out, "seed", value);
	add_object(run->config_json, out);
	text_add(out, "</table>\n<h3>Host</h3>\n<table>\n");
	add_object(run->host_json, out);
	text_add(out, "</table>\n");
}

static int add_event(const struct event_record *event, void *arg)
{
	struct text *out = arg;
	char t[REPORT_TIME_MAX];

	report_print_time(event->t_ms, t);
	text_addf(out, "<tr><td>%s</td><td>", t);
	text_add_html(out, event->kind);
	text_addf(out, "</td><td>%s</td><td>", event_severity_name(event->severity));
	text_add_html(out, event->text);
	if (event->cause[0]) {
		text_add(out, "; cause: ");
		text_add_html(out, event->cause);
	}
	text_add(out, "</td></tr>\n");
	return text_error(out);
}

static int add_events(struct journal *journal, const struct run_record *run, struct text *out)
{
	int rc;

	text_addf(out,
		"<h3>Events</h3>\n<table><tr><th>time</th><th>kind</th><th>severity</th><th>what (newest "
		"first, at most %d)</th></tr>\n",
		EVENTS_MAX);
	rc = journal_each_event(journal, run->id, EVENTS_MAX, add_event, out);
	text_add(out, "</table>\n");
	return rc;
}

static void add_reason(const char *reason, void *arg)
{
	text_add(arg, "<li>");
	text_add_html(arg, reason);
	text_add(arg, "</li>");
}

static int add_run(struct journal *journal, const struct run_record *run,
	const struct summary_figures *figures, struct text *out)
{
	int rc;

	text_add(out, "<section><h2>");
	text_add_html(out, run->id);
	text_add(out, "</h2>\n<p>");
	text_add_html(out, run->model[0] ? run->model : "unknown model");
	text_add(out, run->serial[0] ? ", serial " : "");
	text_add_html(out, run->serial);
	text_add(out, run->label[0] ? ", " : "");
	text_add_html(out, run->label);
	text_addf(out, ". State %s, phase %s. ", run_status_name(run->progress.status),
		run_phase_name(run->progress.phase));
	text_add_html(out, run->reason);
	text_add(out, "</p>\n<div class=\"verdict\"><b>NO VERDICT</b><ul>");
	summary_each_reason(figures, add_reason, out);
	text_add(out, "</ul></div>\n<h3>Throughput</h3>\n");
	rc = report_timeline_svg(journal, run, out);
	text_add(out,
		"<p>The line is the mean of each stretch of time, the band its lowest and highest sample. "
		"Grey: fill. Red: the service or the drive was away.</p>\n");
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
		rc = export_figures(journal, &runs[i], &figures[i]);
	if (rc < 0)
		return rc;
	add_figures(runs, figures, count, out);
	for (size_t i = 0; i < count && rc == 0; i++)
		rc = add_run(journal, &runs[i], &figures[i], out);
	return rc;
}

int report_html(struct journal *journal, const struct run_record *runs, size_t count, int64_t now_ms,
	struct text *out)
{
	struct summary_figures *figures = calloc(count ? count : 1, sizeof(*figures));
	char now[REPORT_TIME_MAX];
	int rc;

	if (!figures)
		return -ENOMEM;
	report_print_time(now_ms, now);
	text_add(out, head);
	text_addf(out, "<h1>drivesoak report</h1>\n<p>Written %s. All times are UTC.</p>\n", now);
	rc = add_all(journal, runs, figures, count, out);
	text_add(out,
		"<h2>What this does not say</h2>\n<ul><li>These are these specimens, not their model.</li>"
		"<li>Latency under a full queue is depth over operations a second: it ranks nothing.</li>"
		"<li>Writes are not flushed unless fsync_every is set: a database may see less.</li></ul>\n"
		"</body></html>\n");
	free(figures);
	return rc == 0 ? text_error(out) : rc;
}
