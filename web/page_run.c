/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "web/pages.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive/figures.h"
#include "archive/outcome.h"
#include "archive/report.h"
#include "archive/settings.h"
#include "base/units.h"
#include "config/config.h"
#include "web/compare.h"
#include "web/live.h"
#include "web/number.h"
#include "web/page.h"
#include "web/page_findings.h"
#include "web/page_health.h"

#define EVENTS_SHOWN 200
#define HOUR_MS	     (3600 * 1000)

/* A run and, when its drive is in it now, the live state. */
struct view {
	struct run_record run;
	struct drive_status drive;
	bool is_live;
	struct page_state state;
	struct summary_figures figures;
	bool reads, mixes, commits;
	int64_t from_ms, to_ms; /* shown; the whole run unless the query says otherwise */
	int64_t end_ms;		/* of what there is to show */
	bool is_whole;
};

static void load_live(const struct call *call, struct view *view)
{
	size_t index = live_find(call->site, view->run.drive);

	view->state = page_state_of(view->run.progress.status, view->run.progress.phase);
	if (index == SIZE_MAX)
		return;
	(void)live_read(call->site, index, &view->drive);
	view->is_live = strcmp(view->drive.run, view->run.id) == 0;
	if (view->is_live)
		view->state = page_state_of_drive(&view->drive);
}

static bool load_view(struct call *call, struct view *view)
{
	struct journal *journal;
	struct sample last;
	int rc = store_figures(call->store, &view->run, &view->figures);

	if (rc == 0)
		rc = store_journal(call->store, &journal);
	if (rc == 0)
		rc = journal_get_last_sample(journal, view->run.id, &last);
	if (rc < 0 && rc != -ENOENT) {
		call_fail_journal(call, rc);
		return false;
	}
	view->end_ms = rc == 0 ? last.t_ms : view->run.started_ms + (int64_t)view->run.interval_s * 1000;
	view->from_ms = view->run.started_ms;
	view->to_ms = view->end_ms;
	view->is_whole = !call_query(call, "from") && !call_query(call, "to");
	if (!call_query_time(call, "from", &view->from_ms) || !call_query_time(call, "to", &view->to_ms))
		return false;
	if (view->from_ms >= view->to_ms) {
		call_fail(call, MHD_HTTP_BAD_REQUEST, "from: must be before to");
		return false;
	}
	view->reads = figures_is_read(&view->run);
	view->mixes = compare_mixes(&view->run);
	view->commits = compare_commits(&view->run);
	load_live(call, view);
	return true;
}

static void add_progress(struct text *body, const struct view *view)
{
	char left[UNITS_TEXT_MAX];

	if (!view->is_live || view->run.ended_ms != INT64_MIN) {
		text_add(body, "<span class=\"mute\">started ");
		page_add_time(body, view->run.started_ms);
		if (view->run.ended_ms != INT64_MIN) {
			text_add(body, ", ended ");
			page_add_time(body, view->run.ended_ms);
		}
		text_add(body, " UTC</span>");
		return;
	}
	text_addf(body, "<span class=\"mute\">%s", run_phase_name(view->drive.phase));
	if (isfinite(view->drive.progress))
		text_addf(body, " %d %%", (int)(view->drive.progress * 100));
	if (view->drive.eta_ns != UINT64_MAX && view->drive.status == RUN_RUNNING) {
		units_print_duration_rounded((double)view->drive.eta_ns, left);
		text_addf(body, ", %s left", left);
	}
	text_add(body, "</span>");
}

static void add_head(struct call *call, const struct view *view)
{
	struct text *body = &call->body;
	const struct run_record *run = &view->run;
	const char *reason = view->is_live ? view->drive.reason : run->reason;

	text_add(body, "<div id=\"state\" data-live><div class=\"head\"><h1>");
	text_add_html(body, run->drive);
	text_add(body, "</h1>");
	page_add_state(body, view->state);
	add_progress(body, view);
	text_add(body, "</div>\n<p class=\"sub\">");
	if (run->label[0]) {
		text_add_html(body, run->label);
		text_add(body, " \xc2\xb7 ");
	}
	text_add_html(body, run->model[0] ? run->model : "model unknown");
	text_add(body, " \xc2\xb7 serial ");
	text_add_html(body, run->serial[0] ? run->serial : "unknown");
	text_add(body, " \xc2\xb7 run ");
	text_add_html(body, run->id);
	text_add(body, "</p>\n");
	if (reason[0]) {
		text_addf(body, "<p class=\"small %s\">", view->state.class);
		text_add_html(body, reason);
		text_add(body, "</p>\n");
	}
	if (outcome_writes_zeros(run))
		text_add(body, "<p class=\"small warn\" id=\"zeros\"><b>" OUTCOME_ZEROS_WORDS "</b></p>\n");
	text_add(body, "</div>\n");
}

/* Links that end at the last sample: of a run that is over, "now" would show nothing. */
static void add_ranges(struct call *call, const struct view *view)
{
	static const struct {
		const char *name;
		int hours;
	} ranges[] = { { "1 h", 1 }, { "6 h", 6 }, { "24 h", 24 } };
	struct text *body = &call->body;
	bool chosen = view->is_whole;

	text_add(body, "<div class=\"bar noprint\"><span class=\"pick\" id=\"range\"><span>Range</span>");
	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		int64_t from_ms = view->end_ms - (int64_t)ranges[i].hours * HOUR_MS;

		if (from_ms <= view->run.started_ms)
			continue;
		text_addf(body, " <a href=\"?from=%" PRId64 "&amp;to=%" PRId64 "\">last %s</a>",
			from_ms / 1000, view->end_ms / 1000, ranges[i].name);
	}
	text_addf(body, chosen ? " <b aria-current=\"true\">%s</b>" : " <a href=\"?\">%s</a>", "whole run");
	if (!chosen)
		text_add(body, " <b aria-current=\"true\">window of the link</b>");
	text_add(body, "</span><span class=\"mute small\">times in UTC</span></div>\n");
}

static void add_exports(struct call *call, const char *run, const char *window, bool timeline)
{
	static const struct {
		const char *before, *after, *name;
		bool timeline;
	} exports[] = {
		{ "graph/", "/timeline.svg", "SVG", true },
		{ "graph/", "/timeline.png", "PNG", true },
		{ "api/v1/runs/", "/samples.csv", "CSV", false },
		{ "api/v1/runs/", "/samples.json", "JSON", false },
	};
	struct text *body = &call->body;

	text_add(body, "<span class=\"end exp\">save");
	for (size_t i = 0; i < sizeof(exports) / sizeof(exports[0]); i++) {
		if (exports[i].timeline && !timeline)
			continue;
		text_add(body, " <a href=\"");
		page_add_root(call);
		text_add(body, exports[i].before);
		page_add_segment(body, run);
		text_addf(body, "%s%s\">%s</a>", exports[i].after, window, exports[i].name);
	}
	text_add(body, "</span>");
}

#define KEY(shape, words)                                                                                    \
	"<span><svg viewBox=\"0 0 20 10\" aria-hidden=\"true\">" shape "</svg>" words "</span>"
#define LINE_KEY(class, words) KEY("<path class=\"" class "\" d=\"M0 5h20\"/>", words)
#define AREA_KEY(class, words) KEY("<rect class=\"" class "\" width=\"20\" height=\"10\"/>", words)
#define RATE_KEYS                                                                                            \
	AREA_KEY("bd", "min to max")                                                                         \
	KEY("<path class=\"zero\" d=\"M10 5h0\"/>", "real 0")                                                \
	AREA_KEY("gap", "no data")                                                                           \
	AREA_KEY("hostlim", "host was the limit")                                                            \
	AREA_KEY("ph-fill", "prepare and fill") AREA_KEY("shade", "collapse")

static const char rate_legend[] = LINE_KEY("ln", "mean") RATE_KEYS;
static const char mixed_legend[] = LINE_KEY("ln", "writes, mean") LINE_KEY("ln s3", "reads, mean") RATE_KEYS;
static const char baseline_key[] = LINE_KEY("base", "baseline") LINE_KEY("thr", "alert below");
static const char probe_key[] = AREA_KEY("ph-probe", "probe");
static const char verify_key[] = AREA_KEY("ph-verify", "verification");
static const char flush_key[] = KEY("<path class=\"flush\" d=\"M10 0v10\"/>",
	"drive flushed for the ledger, every 10 min: a dip there is ours");
static const char latency_legend[] = LINE_KEY("ln s1", "p50") LINE_KEY("ln s2 d2", "p99")
	LINE_KEY("ln s4 d4", "p99.99") LINE_KEY("ln s3 d3", "max");
static const char commits_legend[] = LINE_KEY("ln s2", "mean") AREA_KEY("a2", "min to max");
static const char commit_latency_legend[] = LINE_KEY("ln s1", "p50") LINE_KEY("ln s2 d2", "p99");

/* Only the marks that this run can have. */
static void add_rate_legend(struct text *body, const struct view *view)
{
	enum run_phase phase = view->is_live ? view->drive.phase : view->run.progress.phase;

	text_add(body, "<span class=\"legend\">");
	text_add(body, view->mixes ? mixed_legend : rate_legend);
	if (view->is_live && isfinite(view->drive.baseline_bytes_per_s))
		text_add(body, baseline_key);
	if (view->run.probe_json[0] || phase == PHASE_PROBE)
		text_add(body, probe_key);
	if (view->run.verify_json[0] || phase == PHASE_VERIFY)
		text_add(body, verify_key);
	if (strstr(view->run.config_json, "\"verify\":\"end\""))
		text_add(body, flush_key);
	text_add(body, "</span>");
}

static void add_chart(
	struct call *call, const char *id, const char *title, const char *unit, const char *legend)
{
	text_addf(&call->body,
		"<div class=\"fig\"><header><h3>%s <span class=\"unit\">%s<span "
		"id=\"%s-step\"></span></span></h3>",
		title, unit, id);
	if (legend)
		text_addf(&call->body, "<span class=\"legend\">%s</span>", legend);
}

static void add_chart_end(struct call *call, const char *id, const char *text)
{
	text_addf(&call->body,
		"</header>\n<div class=\"plot\" id=\"%s\" role=\"img\" aria-label=\"%s\"></div></div>\n", id,
		text);
}

static void add_commit_charts(struct call *call)
{
	add_chart(call, "commits", "Commits", "a second", commits_legend);
	add_chart_end(call, "commits", "Commits a second over time; the same data is behind the CSV link");
	add_chart(call, "commit-latency", "Commit latency",
		"ms, a client's last write and its fdatasync(), log", commit_latency_legend);
	add_chart_end(
		call, "commit-latency", "Commit latency over time; the same data is behind the CSV link");
}

static void add_charts(struct call *call, const struct view *view)
{
	struct text *body = &call->body;
	const struct run_record *run = &view->run;
	char window[96] = "";

	if (!view->is_whole)
		(void)snprintf(window, sizeof(window), "?from=%" PRId64 "&amp;to=%" PRId64,
			view->from_ms / 1000, view->to_ms / 1000);
	text_add(body, "<div id=\"charts\" hidden data-run=\"");
	text_add_html(body, run->id);
	text_add(body, "\" data-root=\"");
	page_add_root(call);
	text_addf(body,
		"\" data-field=\"%s\" data-interval-s=\"%" PRIu32 "\" data-started-ms=\"%" PRId64 "\"",
		view->reads ? "read_bytes_per_s" : "write_bytes_per_s", run->interval_s, run->started_ms);
	if (run->soak_started_ms != INT64_MIN)
		text_addf(body, " data-soak-ms=\"%" PRId64 "\"", run->soak_started_ms);
	if (run->ended_ms != INT64_MIN)
		text_addf(body, " data-ended-ms=\"%" PRId64 "\"", run->ended_ms);
	if (view->mixes)
		text_add(body, " data-second=\"read_bytes_per_s\"");
	if (view->commits)
		text_add(body, " data-commits=\"\"");
	if (view->is_live && isfinite(view->drive.baseline_bytes_per_s))
		text_addf(body, " data-baseline=\"%.0f\" data-below-pct=\"%g\"",
			view->drive.baseline_bytes_per_s, call->site->config->alerts.collapse_below_pct);
	page_add_marks(call, run);
	if (!view->is_whole)
		text_addf(body, " data-from-ms=\"%" PRId64 "\" data-to-ms=\"%" PRId64 "\"", view->from_ms,
			view->to_ms);
	text_add(body, ">\n<div class=\"readout noprint\" id=\"readout\"><span class=\"mute\">point at a "
		       "chart for values; drag to zoom, double click or Esc for all</span></div>\n");
	add_chart(call, "rate",
		view->mixes   ? "Throughput, writes and reads"
		: view->reads ? "Throughput, reads"
			      : "Throughput, writes",
		"MiB/s", NULL);
	add_rate_legend(body, view);
	add_exports(call, run->id, window, true);
	add_chart_end(call, "rate", "Throughput over time; the same data is behind the CSV link");
	add_chart(call, "latency", "Latency", "ms, submit to complete, log", latency_legend);
	add_exports(call, run->id, window, false);
	add_chart_end(call, "latency", "Latency over time; the same data is behind the CSV link");
	if (view->commits)
		add_commit_charts(call);
	text_add(body,
		"<p class=\"note\">Under a full queue the mean is depth / IOPS: read this chart for change "
		"and tail, "
		"not to rank drives.</p>\n</div>\n<noscript><div class=\"fig\"><header><h3>Throughput</h3>");
	add_exports(call, run->id, window, true);
	text_add(body, "</header><p class=\"paperlike\"><img alt=\"Throughput over time\" src=\"");
	page_add_root(call);
	text_add(body, "graph/");
	page_add_segment(body, run->id);
	text_addf(body, "/timeline.svg%s\"></p></div></noscript>\n", window);
}

/* One measure of the host while it was the limit; nothing when it is unknown or so small that it says nothing. */
static void add_host_share(struct text *body, const char *before, double share, const char *after)
{
	char number[NUMBER_MAX];

	if (!(share >= 0.001))
		return;
	number_print(share * 100, 1, number);
	text_addf(body, "<li>%s %s %% %s;</li>", before, number, after);
}

static void add_host_measures(struct text *body, const struct summary_host *host)
{
	char ours[UNITS_TEXT_MAX], device[UNITS_TEXT_MAX];

	add_host_share(body, "our threads waited", host->run_delay_share, "of the time for a CPU");
	add_host_share(body, "a CPU quota held them back for", host->throttled_share,
		"of the time, summed over CPUs");
	add_host_share(body, "the hypervisor took", host->steal_share, "of the machine's CPU time");
	if (!isfinite(host->lat_mean_ns))
		return;
	units_print_duration_rounded(host->lat_mean_ns, ours);
	units_print_duration_rounded(host->device_lat_mean_ns, device);
	text_addf(body, "<li>a request took %s on average, of which %s in the device.</li>", ours, device);
}

static void add_host_limit(struct text *body, const struct view *view)
{
	char number[NUMBER_MAX];

	text_add(body, "<div id=\"hostlimit\" data-live>");
	if (view->figures.host_limited_pct >= 0.05) {
		number_print(view->figures.host_limited_pct, 1, number);
		text_addf(body,
			"<div class=\"note\"><b>The host, not the drive, was the limit in %s %% of the "
			"soak's "
			"time.</b> %s Meanwhile:<ul>",
			number,
			summary_is_host_limited(&view->figures) ? "No sample tells about the drive alone, so "
								  "the figures are of all of them: they "
								  "are <b>" SUMMARY_HOST_LIMITED "</b>."
								: "What was measured then says nothing about "
								  "the drive alone and is left out of "
								  "the figures.");
		add_host_measures(body, &view->figures.host);
		text_add(body, "</ul></div>");
	}
	text_add(body, "</div>\n");
}

/* The table of figures: where it goes, and the word for a figure that is not known. */
struct figures {
	struct text *body;
	const char *none;
};

static void add_figure(const struct figures *table, const char *name, const char *unit, const char *value)
{
	struct text *body = table->body;

	text_addf(body, "<tr><th scope=\"row\">%s</th><td class=\"unit\">%s</td><td class=\"num\">", name,
		unit);
	if (value[0])
		text_addf(body, "<b>%s</b>", value);
	else
		text_addf(body, "<span class=\"mute\">%s</span>", table->none);
	text_add(body, "</td></tr>");
}

static void add_rates(const struct figures *table, const struct summary_rates *rates, const char *prefix)
{
	const struct {
		const char *name;
		double value;
	} rows[] = {
		{ "Median", rates->median },
		{ "Worst 1 % (p1)", rates->p1 },
		{ "Worst 5 % (p5)", rates->p5 },
		{ "Mean", rates->mean },
		{ "Lowest", rates->min },
		{ "Highest", rates->max },
		{ "Worst minute", rates->worst_minute },
	};
	char number[NUMBER_MAX], name[64];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		(void)snprintf(name, sizeof(name), "%s%s", prefix, rows[i].name);
		number_print_mib(rows[i].value, number);
		add_figure(table, name, "MiB/s", number);
	}
	(void)snprintf(name, sizeof(name), "%sVariation, CV", prefix);
	number_print(rates->cv * 100, 1, number);
	add_figure(table, name, "%", number);
}

static void add_ms(const struct figures *table, const char *name, double ns)
{
	char number[NUMBER_MAX];

	number_print_ms(isfinite(ns) ? (uint64_t)ns : UINT64_MAX, number);
	add_figure(table, name, "ms", number);
}

static void add_commit_figures(const struct figures *table, const struct summary_part *part)
{
	char number[NUMBER_MAX];

	number_print(part->median_commits_per_s, 0, number);
	add_figure(table, "Commits, median", "1/s", number);
	add_ms(table, "Commit p50, median", part->median_commit_p50_ns);
	add_ms(table, "Commit p99, median", part->median_commit_p99_ns);
}

static void add_quality(
	const struct figures *table, const struct summary_figures *figures, const struct summary_part *part)
{
	bool is_limited = summary_is_host_limited(figures);
	char number[NUMBER_MAX];

	number_print(part->samples ? part->stalled_s : NAN, 1, number);
	add_figure(table, "Stalled", "s", number);
	number_print(figures->collapses_per_h, 2, number);
	add_figure(table, "Collapses", "1/h", number);
	number_print_ms(part->lat_p99_ns, number);
	add_figure(table, "p99 latency", "ms", number);
	number_print_ms(part->lat_p9999_ns, number);
	add_figure(table, "p99.99 latency", "ms", number);
	number_print((double)part->samples, 0, number);
	add_figure(table, "Samples", "n", number);
	number_print(figures->health_poll_cost_pct, 2, number);
	add_figure(table, "Cost of reading health", "%", number);
	number_print(figures->gap_pct, 1, number);
	add_figure(table, "Left out: gap", "%", number);
	number_print(figures->host_limited_pct, 1, number);
	add_figure(table, is_limited ? "Counted, but host-limited" : "Left out: host limit", "%", number);
}

static void add_figures(struct text *body, const struct view *view)
{
	const struct summary_part *part = summary_shown(&view->figures);
	bool is_limited = summary_is_host_limited(&view->figures);
	const struct figures table = { body, page_none_of(&view->run) };

	text_addf(body,
		"<section id=\"figures\" data-live><h2>Figures over the %s</h2><p class=\"small %s\">"
		"%s</p><table class=\"kv\"><thead><tr><th scope=\"col\">Figure</th><th "
		"scope=\"col\">Unit</th><th scope=\"col\" class=\"num\">Value</th></tr></thead><tbody>",
		view->figures.steady.reached && !is_limited ? "settled window" : "whole soak",
		is_limited ? "warn" : "mute",
		is_limited ? "<b>" SUMMARY_HOST_LIMITED "</b>; zeros count." : "This specimen; zeros count.");
	add_rates(&table, view->reads ? &part->read : &part->write, view->mixes ? "Writes: " : "");
	if (view->mixes)
		add_rates(&table, &part->read, "Reads: ");
	if (view->commits)
		add_commit_figures(&table, part);
	add_quality(&table, &view->figures, part);
	text_add(body, "</tbody></table></section>\n");
}

static void add_outcome(struct text *body, const struct view *view)
{
	text_add(body, "<section id=\"probe\" data-live>");
	report_add_probe(&view->run, body);
	text_add(body, "</section>\n<section id=\"verify\" data-live>");
	report_add_verify(&view->run, body);
	text_add(body, "</section>\n");
}

static void add_verdict(struct text *body, const struct view *view)
{
	static const char *const icons[] = {
		[VERDICT_FAIL] = "fail",
		[VERDICT_NONE] = "none",
		[VERDICT_REMARKS] = "warn",
		[VERDICT_PASS] = "ok",
	};
	const struct verdict_answer *verdict = &view->figures.verdict;

	text_addf(body, "<section id=\"verdict\" data-live><h2>Verdict%s</h2><p><span class=\"verdict %s\">",
		view->run.ended_ms == INT64_MIN ? " so far" : "", report_verdict_class(verdict->verdict));
	page_add_icon(body, icons[verdict->verdict]);
	text_addf(body, "%s</span></p>", verdict_name(verdict->verdict));
	report_add_reasons(verdict, body);
	text_add(body, "</section>\n<section id=\"steady\" data-live><h2>Steady state</h2>");
	report_add_steady(&view->figures.steady, body);
	text_add(body, "</section>\n");
}

static void add_run_facts(struct text *body, const struct view *view)
{
	const struct run_record *run = &view->run;
	const struct {
		const char *name;
		uint64_t bytes;
	} sizes[] = {
		{ "Written", run->written_bytes },
		{ "Extent", run->progress.extent_bytes ? run->progress.extent_bytes : UINT64_MAX },
		{ "Capacity", run->capacity_bytes ? run->capacity_bytes : UINT64_MAX },
	};

	text_add(body, "<section id=\"runfacts\" data-live><h2>Run</h2><table class=\"kv\"><tbody>");
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct text size = TEXT_INIT;

		page_add_bytes(&size, sizes[i].bytes);
		page_add_fact(body, sizes[i].name, text_string(&size));
		text_fini(&size);
	}
	page_add_fact(body, "Firmware", run->firmware);
	page_add_fact(body, "Engine", run->engine);
	page_add_fact(body, "Direct I/O", run->direct);
	page_add_fact(body, "Pre-state", run->pre_state);
	page_add_fact(body, "Source", run_source_name(run->source));
	text_add(body, "</tbody></table></section>\n");
}

static void add_setting(const char *name, const char *value, void *arg)
{
	page_add_fact(arg, name, value);
}

static void add_settings(struct text *body, const char *title, const char *json)
{
	text_addf(body, "<section><h2>%s</h2><table class=\"kv\"><tbody>", title);
	if (settings_each(json, add_setting, body) < 0)
		page_add_fact(body, title, "");
	text_add(body, "</tbody></table></section>\n");
}

static void answer_view(struct call *call, struct view *view)
{
	struct text *body = &call->body;

	if (!load_view(call, view))
		return;
	page_open(call, view->run.drive, NAV_RUNS, true);
	add_head(call, view);
	page_add_findings(call, &view->run);
	add_ranges(call, view);
	text_add(body, "<div class=\"cols\"><div>\n");
	add_host_limit(body, view);
	add_charts(call, view);
	add_outcome(body, view);
	if (view->run.source != SOURCE_IMPORTED)
		page_add_health(call, &view->run);
	text_add(body, "<section class=\"below\" id=\"events\" data-live><h2>Events of this run</h2>\n");
	page_add_events(call, view->run.id, EVENTS_SHOWN, false);
	text_add(body, "</section></div>\n<aside class=\"side\">\n");
	add_verdict(body, view);
	add_figures(body, view);
	add_run_facts(body, view);
	add_settings(body, "Configuration", view->run.config_json);
	add_settings(body, "Host", view->run.host_json);
	text_add(body, "</aside></div>\n");
	page_close(call);
}

void pages_run(struct call *call)
{
	struct view *view = calloc(1, sizeof(*view));

	if (!view)
		call_fail(call, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory");
	else if (call_get_run(call, &view->run))
		answer_view(call, view);
	free(view);
}

/* A drive that never ran still has a state and a reason. */
static void answer_without_run(struct call *call, size_t index)
{
	struct text *body = &call->body;
	struct drive_status drive;

	(void)live_read(call->site, index, &drive);
	page_open(call, drive.name, NAV_OVERVIEW, false);
	text_add(body, "<div id=\"state\" data-live><div class=\"head\"><h1>");
	text_add_html(body, drive.name);
	text_add(body, "</h1>");
	page_add_state(body, page_state_of_drive(&drive));
	text_add(body, "</div><p>");
	text_add_html(body, drive.reason);
	text_add(body, "</p><p class=\"mute\">This drive has no run yet.</p></div>\n");
	page_close(call);
}

void pages_drive(struct call *call)
{
	struct view *view = calloc(1, sizeof(*view));
	size_t index = live_find(call->site, call->segment);
	struct journal *journal;
	int rc;

	if (!view) {
		call_fail(call, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory");
		return;
	}
	rc = store_journal(call->store, &journal);
	if (rc == 0)
		rc = journal_get_newest_run(journal, call->segment, &view->run);
	if (rc == 0)
		answer_view(call, view);
	else if (rc != -ENOENT)
		call_fail_journal(call, rc);
	else if (index != SIZE_MAX)
		answer_without_run(call, index);
	else
		call_fail(call, MHD_HTTP_NOT_FOUND, "no drive is called %s", call->segment);
	free(view);
}
