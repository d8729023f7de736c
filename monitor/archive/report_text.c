/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "archive/report.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

#include "archive/outcome.h"
#include "base/units.h"

void report_print_time(int64_t ms, char *text)
{
	time_t s = ms / 1000;
	struct tm utc;

	if (ms == INT64_MIN || !gmtime_r(&s, &utc) ||
		!strftime(text, REPORT_TIME_MAX, "%Y-%m-%d %H:%M:%S UTC", &utc))
		(void)snprintf(text, REPORT_TIME_MAX, "unknown");
}

static void add_line(struct text *out, const char *name, const char *value)
{
	text_addf(out, "  %-16s%s\n", name, value);
}

static void add_rate(struct text *out, const char *name, double bytes_per_s)
{
	char value[UNITS_TEXT_MAX] = "unknown";

	if (isfinite(bytes_per_s))
		units_print_rate_rounded(bytes_per_s, value);
	text_addf(out, "  %-16s%s\n", name, value);
}

static const struct {
	const char *name;
	size_t offset;
} rate_lines[] = {
	{ "  median", offsetof(struct summary_rates, median) },
	{ "  mean", offsetof(struct summary_rates, mean) },
	{ "  worst 5 %", offsetof(struct summary_rates, p5) },
	{ "  worst 1 %", offsetof(struct summary_rates, p1) },
	{ "  worst minute", offsetof(struct summary_rates, worst_minute) },
	{ "  minimum", offsetof(struct summary_rates, min) },
	{ "  maximum", offsetof(struct summary_rates, max) },
};

static void add_rates(struct text *out, const char *title, const struct summary_rates *rates)
{
	text_addf(out, "%s\n", title);
	for (size_t i = 0; i < sizeof(rate_lines) / sizeof(rate_lines[0]); i++)
		add_rate(out, rate_lines[i].name,
			*(const double *)(const void *)((const char *)rates + rate_lines[i].offset));
	if (isfinite(rates->cv))
		text_addf(out, "  %-16s%.1f %% (deviation of the samples over their mean)\n", "  varies by",
			rates->cv * 100);
}

static void add_pct(struct text *out, const char *name, double pct)
{
	if (isfinite(pct))
		text_addf(out, "  %-16s%.1f %% of the soak\n", name, pct);
	else
		add_line(out, name, "unknown");
}

static void add_steady(struct text *out, const struct steady_answer *steady)
{
	char time[REPORT_TIME_MAX];

	if (!steady->reached) {
		text_addf(out, "Not settled: %s\n",
			steady->why_not[0] ? steady->why_not : "the soak has not begun");
		return;
	}
	report_print_time(steady->window_from_ms, time);
	text_addf(out, "Settled since %s; figures are of the time from then on\n", time);
}

static void add_verdict(struct text *out, const struct verdict_answer *verdict)
{
	text_addf(out, "%s\n", verdict_name(verdict->verdict));
	for (unsigned i = 0; i < verdict->count; i++) {
		const struct verdict_reason *reason = &verdict->reasons[i];
		const bool is_other = reason->class != verdict->verdict;

		text_addf(out, "  - %s%s%s\n", is_other ? verdict_name(reason->class) : "",
			is_other ? ": " : "", reason->text);
	}
}

static void add_run(struct text *out, const struct run_record *run)
{
	char started[REPORT_TIME_MAX], value[UNITS_TEXT_MAX];

	report_print_time(run->started_ms, started);
	text_addf(out, "Run %s: %s%s%s%s%s\n", run->id, run->model[0] ? run->model : "drive of unknown model",
		run->serial[0] ? ", serial " : "", run->serial, run->label[0] ? ", " : "", run->label);
	text_addf(out, "  %-16s%s, phase %s%s%s\n", "State", run_status_name(run->progress.status),
		run_phase_name(run->progress.phase), run->reason[0] ? ": " : "", run->reason);
	add_line(out, "Started", started);
	units_print_duration_rounded((double)run->progress.soak_ns, value);
	add_line(out, "Soaked for", value);
	if (run->written_bytes != UINT64_MAX) {
		units_print_bytes_rounded((double)run->written_bytes, value);
		add_line(out, "Written", value);
	}
	add_line(out, "Engine", run->engine[0] ? run->engine : "unknown");
	add_line(out, "Direct I/O", run->direct[0] ? run->direct : "unproven");
	add_line(out, "Before", run->pre_state[0] ? run->pre_state : "unknown");
}

static void add_duration(struct text *out, const char *name, double ns)
{
	char value[UNITS_TEXT_MAX] = "unknown";

	if (isfinite(ns))
		units_print_duration_rounded(ns, value);
	add_line(out, name, value);
}

static double known(uint64_t ns)
{
	return ns == SAMPLE_UNKNOWN ? NAN : (double)ns;
}

static void add_commits(struct text *out, const struct summary_part *part)
{
	if (!isfinite(part->median_commits_per_s))
		return;
	text_addf(out, "Commits\n  %-16s%.0f a second\n", "  median", part->median_commits_per_s);
	add_duration(out, "  p50", part->median_commit_p50_ns);
	add_duration(out, "  p99", part->median_commit_p99_ns);
}

static void add_quality(
	struct text *out, const struct summary_figures *figures, const struct summary_part *part)
{
	text_add(out, "Quality\n");
	add_duration(out, "Latency p99", known(part->lat_p99_ns));
	add_duration(out, "Latency p99.99", known(part->lat_p9999_ns));
	if (part->stalled_s <= 0)
		add_line(out, "Stalled", "never");
	else
		add_duration(out, "Stalled", part->stalled_s * 1e9);
	if (isfinite(figures->collapses_per_h))
		text_addf(out, "  %-16s%.2f an hour\n", "Collapses", figures->collapses_per_h);
	text_addf(out, "  %-16s%llu of %g s each\n", "Samples", (unsigned long long)part->samples,
		figures->interval_s);
	add_pct(out, "Gaps", figures->gap_pct);
	add_pct(out, "Host-limited", figures->host_limited_pct);
}

static void print_latency(double ns, char *text)
{
	(void)snprintf(text, UNITS_TEXT_MAX, "-");
	if (isfinite(ns))
		units_print_duration_rounded(ns, text);
}

static void print_ios(double ios_per_s, char *text)
{
	(void)snprintf(text, UNITS_TEXT_MAX, isfinite(ios_per_s) ? "%.0f" : "-", ios_per_s);
}

static void add_probe(struct text *out, const struct run_record *run)
{
	struct probe_step steps[RUN_PROBE_STEPS];
	size_t count = outcome_read_probe(run, steps, RUN_PROBE_STEPS);

	if (count == 0)
		return;
	text_addf(out, "Probe\n  %-24s %10s %10s %10s %10s %10s %10s\n", "", "intended/s", "reached/s", "p50",
		"p99", "p99.9", "max");
	for (size_t i = 0; i < count; i++) {
		const double latencies[] = { steps[i].lat_p50_ns, steps[i].lat_p99_ns, steps[i].lat_p999_ns,
			steps[i].lat_max_ns };
		char name[OUTCOME_NAME_MAX], value[UNITS_TEXT_MAX];

		outcome_print_step(&steps[i], name);
		print_ios(steps[i].intended_ios_per_s, value);
		text_addf(out, "  %-24s %10s", name, value);
		print_ios(steps[i].ios_per_s, value);
		text_addf(out, " %10s", value);
		for (size_t j = 0; j < sizeof(latencies) / sizeof(latencies[0]); j++) {
			print_latency(latencies[j], value);
			text_addf(out, " %10s", value);
		}
		text_add(out, "\n");
	}
	text_add(out, "  " OUTCOME_PROBE_WORDS "\n");
}

static void add_verify(struct text *out, const struct run_record *run)
{
	struct verify_outcome verify;

	if (!outcome_read_verify(run, &verify))
		return;
	text_add(out, "Verification\n  ");
	outcome_add_read(&verify, out);
	text_add(out, outcome_is_bad(&verify) ? "\n  BAD BLOCKS: " : "\n  ");
	outcome_add_bad(&verify, out);
	text_add(out, "\n");
}

void report_summary_text(
	const struct run_record *run, const struct summary_figures *figures, struct text *out)
{
	const struct summary_part *part = summary_shown(figures);

	add_run(out, run);
	if (outcome_writes_zeros(run))
		text_add(out, "  " OUTCOME_ZEROS_WORDS "\n");
	if (summary_is_host_limited(figures))
		text_add(out, "All figures are " SUMMARY_HOST_LIMITED ".\n");
	add_steady(out, &figures->steady);
	add_rates(out, "Write", &part->write);
	if (part->read.max > 0)
		add_rates(out, "Read", &part->read);
	add_commits(out, part);
	add_quality(out, figures, part);
	add_probe(out, run);
	add_verify(out, run);
	add_verdict(out, &figures->verdict);
}
