/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "web/api.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>

#include "archive/health.h"
#include "archive/export.h"
#include "measure/sample_columns.h"
#include "web/compare.h"
#include "web/series.h"

#define POINTS_DEFAULT 1000
#define RATE_MAX       1000000000000 /* bytes a second */

struct runs {
	struct run_record *items;
	size_t count, capacity;
};

/* Copied first: the figures of a run take a walk of their own over the journal. */
static int keep_run(const struct run_record *run, void *arg)
{
	struct runs *runs = arg;

	if (runs->count == runs->capacity) {
		size_t capacity = runs->capacity ? runs->capacity * 2 : 16;
		struct run_record *items = realloc(runs->items, capacity * sizeof(*items));

		if (!items)
			return -ENOMEM;
		runs->items = items;
		runs->capacity = capacity;
	}
	runs->items[runs->count++] = *run;
	return 0;
}

static int put_run(struct call *call, const struct run_record *run, struct json *json)
{
	struct summary_figures figures;
	int rc = store_figures(call->store, run, &figures);

	if (rc == 0)
		export_run_json(run, &figures, json);
	return rc;
}

static int put_runs(struct call *call, struct runs *runs, struct json *json)
{
	struct journal *journal;
	int rc = store_journal(call->store, &journal);

	if (rc == -ENOENT)
		return 0;
	if (rc == 0)
		rc = journal_each_run(journal, keep_run, runs);
	for (size_t i = 0; rc == 0 && i < runs->count; i++)
		rc = put_run(call, &runs->items[i], json);
	return rc;
}

void api_runs(struct call *call)
{
	struct runs runs = { 0 };
	struct json json;
	int rc;

	call->type = "application/json";
	json_init(&json, &call->body);
	json_object_open(&json);
	json_key(&json, "runs");
	json_array_open(&json);
	rc = put_runs(call, &runs, &json);
	json_array_close(&json);
	json_object_close(&json);
	text_add(&call->body, "\n");
	free(runs.items);
	if (rc < 0)
		call_fail_journal(call, rc);
}

void api_run(struct call *call)
{
	struct run_record run;
	struct json json;
	int rc;

	if (!call_get_run(call, &run))
		return;
	call->type = "application/json";
	json_init(&json, &call->body);
	rc = put_run(call, &run, &json);
	text_add(&call->body, "\n");
	if (rc < 0)
		call_fail_journal(call, rc);
}

/* The part of a run that a request is about. */
struct window {
	struct run_record run;
	struct journal *journal;
	int64_t from_ms, to_ms;
};

/* From the query; without it the whole run so far. False after call_fail(). */
static bool get_window(struct call *call, struct window *window)
{
	struct sample last;
	int rc;

	if (!call_get_run(call, &window->run))
		return false;
	rc = store_journal(call->store, &window->journal);
	if (rc == 0)
		rc = journal_get_last_sample(window->journal, window->run.id, &last);
	if (rc < 0 && rc != -ENOENT) {
		call_fail_journal(call, rc);
		return false;
	}
	window->from_ms = window->run.started_ms;
	window->to_ms = rc == 0 ? last.t_ms : call->now_ms;
	if (!call_query_time(call, "from", &window->from_ms) || !call_query_time(call, "to", &window->to_ms))
		return false;
	/* A run of which nothing is known yet has an empty window of its own; only a given one can be wrong. */
	if (window->from_ms >= window->to_ms && (call_query(call, "from") || call_query(call, "to"))) {
		call_fail(call, MHD_HTTP_BAD_REQUEST, "from: must be before to");
		return false;
	}
	return true;
}

static int put_row_json(const struct sample *sample, void *arg)
{
	sample_row_json(sample, arg);
	return 0;
}

static int put_row_csv(const struct sample *sample, void *arg)
{
	sample_row_csv(sample, arg);
	return 0;
}

void api_run_health(struct call *call)
{
	uint64_t bytes_per_s = 0;
	struct run_record run;
	struct journal *journal;
	int rc;

	if (!call_get_run(call, &run) ||
		!call_query_count(call, "rate_bytes_per_s", 1, RATE_MAX, &bytes_per_s))
		return;
	call->type = "application/json";
	rc = store_journal(call->store, &journal);
	if (rc == 0)
		rc = health_run_json(journal, &run, (double)bytes_per_s, &call->body);
	if (rc < 0)
		call_fail_journal(call, rc);
}

void api_samples_json(struct call *call)
{
	struct window window;
	struct json json;
	int rc;

	if (!get_window(call, &window))
		return;
	call->type = "application/json";
	json_init(&json, &call->body);
	json_object_open(&json);
	json_put_u64(&json, "interval_s", window.run.interval_s);
	json_key(&json, "columns");
	sample_names_json(&json);
	json_key(&json, "rows");
	json_array_open(&json);
	rc = journal_each_sample(
		window.journal, window.run.id, window.from_ms, window.to_ms, false, put_row_json, &json);
	json_array_close(&json);
	json_object_close(&json);
	text_add(&call->body, "\n");
	if (rc < 0)
		call_fail_journal(call, rc);
}

void api_samples_csv(struct call *call)
{
	struct window window;
	int rc;

	if (!get_window(call, &window))
		return;
	call->type = "text/csv; charset=utf-8";
	(void)snprintf(call->file_name, sizeof(call->file_name), "%s.csv", window.run.id);
	sample_names_csv(&call->body);
	rc = journal_each_sample(
		window.journal, window.run.id, window.from_ms, window.to_ms, false, put_row_csv, &call->body);
	if (rc < 0)
		call_fail_journal(call, rc);
}

static bool get_fields(struct call *call, uint32_t *mask)
{
	const char *list = call_query(call, "fields");
	char names[256] = "";
	size_t used = 0;

	if (series_parse_fields(list ? list : "write_bytes_per_s", mask) == 0)
		return true;
	for (size_t i = 0; i < series_field_count && used < sizeof(names); i++)
		used += (size_t)snprintf(
			names + used, sizeof(names) - used, "%s%s", i ? ", " : "", series_field_names[i]);
	call_fail(call, MHD_HTTP_BAD_REQUEST, "fields: allowed, with commas between and each once, are %s",
		names);
	return false;
}

static int feed_series(const struct sample *sample, void *arg)
{
	series_add(arg, sample);
	return 0;
}

void api_series(struct call *call)
{
	uint64_t points = POINTS_DEFAULT;
	struct series *series;
	struct window window;
	struct json json;
	uint32_t fields;
	int rc;

	if (!get_window(call, &window) || !get_fields(call, &fields) ||
		!call_query_count(call, "points", 1, SERIES_POINTS_MAX, &points))
		return;
	if (window.to_ms <= window.from_ms)
		window.to_ms = window.from_ms + (int64_t)window.run.interval_s * 1000;
	rc = series_new(window.from_ms, window.to_ms, window.run.interval_s, points, fields, &series);
	if (rc < 0) {
		call_fail(call, MHD_HTTP_INTERNAL_SERVER_ERROR, "the series cannot be made");
		return;
	}
	rc = journal_each_sample(window.journal, window.run.id, series_from_ms(series), series_to_ms(series),
		false, feed_series, series);
	call->type = "application/json";
	json_init(&json, &call->body);
	series_json(series, &json);
	text_add(&call->body, "\n");
	series_free(series);
	if (rc < 0)
		call_fail_journal(call, rc);
}

static void put_compared(const struct compare_run *run, struct json *json)
{
	const bool has_samples = run->first < run->count;

	json_object_open(json);
	json_put_string(json, "id", run->run.id);
	json_put_string(json, "drive", run->run.drive);
	json_put_string(json, "label", run->run.label[0] ? run->run.label : NULL);
	json_put_ms_as_s(json, "from_s", has_samples ? run->t_ms[run->first] : INT64_MIN);
	json_put_ms_as_s(json, "to_s", has_samples ? run->t_ms[run->count - 1] : INT64_MIN);
	json_put_u64(json, "plotted_samples", run->count - run->first);
	json_key(json, "summary");
	summary_json(&run->figures, json);
	json_object_close(json);
}

/* The same summary as that of the run itself; the times are of what the jitter plot shows, of every run the same number
 * of samples. */
void api_compare(struct call *call)
{
	struct compare compare;
	struct json json;

	if (compare_init(call, &compare)) {
		call->type = "application/json";
		json_init(&json, &call->body);
		json_object_open(&json);
		json_key(&json, "runs");
		json_array_open(&json);
		for (size_t i = 0; i < compare.count; i++)
			put_compared(&compare.runs[i], &json);
		json_array_close(&json);
		json_put_u64(&json, "left_out", compare.left_out);
		json_object_close(&json);
		text_add(&call->body, "\n");
	}
	compare_fini(&compare);
}
