/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "archive/report.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

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

static void add_reason(const char *reason, void *arg)
{
	text_addf(arg, "  - %s\n", reason);
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

void report_summary_text(
	const struct run_record *run, const struct summary_figures *figures, struct text *out)
{
	char value[UNITS_TEXT_MAX] = "unknown";

	add_run(out, run);
	add_rates(out, "Write", &figures->write);
	if (figures->read.max > 0)
		add_rates(out, "Read", &figures->read);
	text_add(out, "Quality\n");
	if (figures->lat_p99_ns != SAMPLE_UNKNOWN)
		units_print_duration_rounded((double)figures->lat_p99_ns, value);
	add_line(out, "Latency p99", value);
	(void)snprintf(value, sizeof(value), "unknown");
	if (figures->stalled_s <= 0)
		(void)snprintf(value, sizeof(value), "never");
	else if (isfinite(figures->stalled_s))
		units_print_duration_rounded(figures->stalled_s * 1e9, value);
	add_line(out, "Stalled", value);
	text_addf(out, "  %-16s%llu of %g s each\n", "Samples", (unsigned long long)figures->samples,
		figures->interval_s);
	add_pct(out, "Gaps", figures->gap_pct);
	add_pct(out, "Host-limited", figures->host_limited_pct);
	text_add(out, "NO VERDICT\n");
	summary_each_reason(figures, add_reason, out);
}
