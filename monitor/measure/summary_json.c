/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "measure/summary.h"

#include <stdio.h>

static const struct {
	const char *prefix;
	size_t offset;
} rate_names[] = {
	{ "median", offsetof(struct summary_rates, median) },
	{ "mean", offsetof(struct summary_rates, mean) },
	{ "p1", offsetof(struct summary_rates, p1) },
	{ "p5", offsetof(struct summary_rates, p5) },
	{ "min", offsetof(struct summary_rates, min) },
	{ "max", offsetof(struct summary_rates, max) },
	{ "worst_minute", offsetof(struct summary_rates, worst_minute) },
};

static void put_rates(const struct summary_rates *rates, const char *direction, struct json *json)
{
	char key[64];

	for (size_t i = 0; i < sizeof(rate_names) / sizeof(rate_names[0]); i++) {
		const char *field = (const char *)rates + rate_names[i].offset;

		(void)snprintf(key, sizeof(key), "%s_%s_bytes_per_s", rate_names[i].prefix, direction);
		json_put_double(json, key, *(const double *)(const void *)field);
	}
}

static void put_window(const struct summary_part *part, bool is_settled, struct json *json)
{
	json_key(json, "window");
	json_object_open(json);
	json_put_ms_as_s(json, "from_s", part->from_ms);
	json_put_ms_as_s(json, "to_s", part->to_ms);
	json_put_bool(json, "settled", is_settled);
	json_object_close(json);
}

static void put_figures(const struct summary_figures *figures, const struct summary_part *part,
	bool is_settled, struct json *json)
{
	json_put_u64(json, "samples", part->samples);
	json_put_double(json, "interval_s", figures->interval_s);
	put_rates(&part->write, "write", json);
	json_put_double(json, "cv", part->write.cv);
	put_rates(&part->read, "read", json);
	json_put_double(json, "cv_read", part->read.cv);
	json_put_double(json, "median_commits_per_s", part->median_commits_per_s);
	json_put_double(json, "median_commit_p50_ns", part->median_commit_p50_ns);
	json_put_double(json, "median_commit_p99_ns", part->median_commit_p99_ns);
	json_put_double(json, "stalled_s", part->stalled_s);
	json_put_double(json, "longest_stall_s", part->longest_stall_s);
	json_put_double(json, "collapses_per_h", figures->collapses_per_h);
	json_put_u64(json, "lat_p99_ns", part->lat_p99_ns);
	json_put_u64(json, "lat_p9999_ns", part->lat_p9999_ns);
	json_put_double(json, "host_limited_pct", figures->host_limited_pct);
	json_put_double(json, "gap_pct", figures->gap_pct);
	put_window(part, is_settled, json);
}

void summary_steady_json(const struct steady_answer *steady, struct json *json)
{
	json_key(json, "steady");
	json_object_open(json);
	json_put_bool(json, "reached", steady->reached);
	json_put_ms_as_s(json, "from_s", steady->from_ms);
	json_put_ms_as_s(json, "lost_s", steady->lost_ms);
	json_put_double(json, "round_s", steady->settle.round_s);
	json_put_double(json, "range_pct", steady->settle.range_pct);
	json_put_double(json, "drift_pct", steady->settle.drift_pct);
	json_put_double(json, "extents", steady->extents);
	json_put_string(json, "why_not", steady->why_not[0] ? steady->why_not : NULL);
	json_object_close(json);
}

void summary_json(const struct summary_figures *figures, struct json *json)
{
	json_object_open(json);
	put_figures(figures, &figures->window, figures->steady.reached, json);
	json_key(json, "whole_soak");
	json_object_open(json);
	put_figures(figures, &figures->whole, false, json);
	json_object_close(json);
	json_put_string(json, "verdict", verdict_name(figures->verdict.verdict));
	json_key(json, "verdict_reasons");
	json_array_open(json);
	for (unsigned i = 0; i < figures->verdict.count; i++)
		json_string(json, figures->verdict.reasons[i].text);
	json_array_close(json);
	summary_steady_json(&figures->steady, json);
	json_put_double(json, "waf", figures->waf);
	json_put_double(json, "percent_used_delta", figures->percent_used_delta);
	json_put_double(json, "health_poll_cost_pct", figures->health_poll_cost_pct);
	json_object_close(json);
}
