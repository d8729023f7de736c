/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "measure/summary.h"

#include <math.h>
#include <stdio.h>

#define NOT_SETTLED    "not settled: steady state is not judged by this version"
#define WINDOW_MIN_MS  (6 * 3600 * 1000)
#define HOST_LIMIT_MAX 2.0 /* percent of the soak's time */
#define GAP_MAX	       1.0

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

static void put_window(const struct summary_part *part, struct json *json)
{
	json_key(json, "window");
	json_object_open(json);
	json_put_ms_as_s(json, "from_s", part->from_ms);
	json_put_ms_as_s(json, "to_s", part->to_ms);
	json_put_bool(json, "settled", false);
	json_object_close(json);
}

static void put_figures(
	const struct summary_figures *figures, const struct summary_part *part, struct json *json)
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
	json_put_null(json, "collapses_per_h");
	json_put_u64(json, "lat_p99_ns", part->lat_p99_ns);
	json_put_u64(json, "lat_p9999_ns", part->lat_p9999_ns);
	json_put_double(json, "host_limited_pct", figures->host_limited_pct);
	json_put_double(json, "gap_pct", figures->gap_pct);
	put_window(part, json);
}

static void put_steady(struct json *json)
{
	json_key(json, "steady");
	json_object_open(json);
	json_put_bool(json, "reached", false);
	json_put_null(json, "from_s");
	json_put_null(json, "lost_s");
	json_put_null(json, "round_s");
	json_put_null(json, "range_pct");
	json_put_null(json, "drift_pct");
	json_put_string(json, "why_not", NOT_SETTLED);
	json_object_close(json);
}

void summary_each_reason(
	const struct summary_figures *figures, void (*each)(const char *reason, void *), void *arg)
{
	char reason[128];

	each(NOT_SETTLED, arg);
	if (summary_is_host_limited(figures))
		each("the host was the limit in every sample of the soak: none tells about the drive alone",
			arg);
	else if (figures->window.samples == 0)
		each("no sample of the soak counts yet", arg);
	else if (figures->window.to_ms - figures->window.from_ms < WINDOW_MIN_MS)
		each("the measured window is under 6 h", arg);
	if (figures->host_limited_pct > HOST_LIMIT_MAX) {
		(void)snprintf(reason, sizeof(reason),
			"the host was the limit in %.1f %% of the soak, over 2 %%",
			figures->host_limited_pct);
		each(reason, arg);
	}
	if (figures->gap_pct > GAP_MAX) {
		(void)snprintf(reason, sizeof(reason), "%.1f %% of the soak is missing, over 1 %%",
			figures->gap_pct);
		each(reason, arg);
	}
}

static void put_reason(const char *reason, void *arg)
{
	json_string(arg, reason);
}

void summary_json(const struct summary_figures *figures, struct json *json)
{
	json_object_open(json);
	put_figures(figures, &figures->window, json);
	json_key(json, "whole_soak");
	json_object_open(json);
	put_figures(figures, &figures->whole, json);
	json_object_close(json);
	json_put_string(json, "verdict", "NO VERDICT");
	json_key(json, "verdict_reasons");
	json_array_open(json);
	summary_each_reason(figures, put_reason, json);
	json_array_close(json);
	put_steady(json);
	json_put_double(json, "waf", figures->waf);
	json_put_double(json, "percent_used_delta", figures->percent_used_delta);
	json_put_double(json, "health_poll_cost_pct", figures->health_poll_cost_pct);
	json_object_close(json);
}
