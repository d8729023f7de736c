/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "archive/export.h"

#include <errno.h>
#include <math.h>

#include "archive/figures.h"
#include "base/text.h"
#include "measure/sample_columns.h"

#define FLUSH_BYTES (1 << 16)

static void put_unless_empty(struct json *json, const char *key, const char *value)
{
	json_put_string(json, key, *value ? value : NULL);
}

static void put_price(const struct run_record *run, struct json *json)
{
	json_key(json, "price");
	if (isnan(run->price_amount)) {
		json_null(json);
		return;
	}
	json_object_open(json);
	json_put_double(json, "amount", run->price_amount);
	put_unless_empty(json, "currency", run->price_currency);
	json_object_close(json);
}

static void put_identity(const struct run_record *run, struct json *json)
{
	json_put_string(json, "id", run->id);
	json_put_string(json, "drive", run->drive);
	put_unless_empty(json, "label", run->label);
	put_unless_empty(json, "model", run->model);
	put_unless_empty(json, "serial", run->serial);
	put_unless_empty(json, "firmware", run->firmware);
	json_put_string(json, "state", run_status_name(run->progress.status));
	json_put_string(json, "phase", run_phase_name(run->progress.phase));
	json_put_string(json, "source", run_source_name(run->source));
	json_put_ms_as_s(json, "started_s", run->started_ms);
	json_put_ms_as_s(json, "soak_started_s", run->soak_started_ms);
	json_put_ms_as_s(json, "ended_s", run->ended_ms);
}

/* The answers of the probe's steps that are over, as an array. */
static void put_probe(const struct run_record *run, struct json *json)
{
	struct text array = TEXT_INIT;

	text_addf(&array, "[%s]", run->probe_json);
	json_put_raw(json, "probe", text_string(&array));
	text_fini(&array);
}

static void put_conditions(const struct run_record *run, struct json *json)
{
	json_put_u64(json, "interval_s", run->interval_s);
	json_put_u64(json, "capacity_bytes", run->capacity_bytes);
	json_put_u64(json, "fill_done_bytes", run->progress.fill_done_bytes);
	json_put_u64(json, "extent_bytes", run->progress.extent_bytes);
	json_put_u64(json, "seed", run->source == SOURCE_IMPORTED ? JSON_UNKNOWN_U64 : run->seed);
	put_unless_empty(json, "engine", run->engine);
	put_unless_empty(json, "direct", run->direct);
	put_unless_empty(json, "pre_state", run->pre_state);
	put_unless_empty(json, "reason", run->reason);
	json_put_double(json, "probe_median_ios_per_s", run->probe_ios_per_s);
	put_probe(run, json);
	json_put_raw(json, "verify", run->verify_json);
}

void export_run_json(const struct run_record *run, const struct summary_figures *figures, struct json *json)
{
	json_object_open(json);
	put_identity(run, json);
	json_put_raw(json, "config", run->config_json);
	json_put_raw(json, "host", run->host_json);
	json_put_u64(json, "written_bytes", run->written_bytes);
	put_price(run, json);
	json_key(json, "summary");
	summary_json(figures, json);
	put_conditions(run, json);
	json_object_close(json);
}

/* What has gathered goes out in pieces: a run of two weeks at a second is 200 MB of text. */
struct sink {
	struct journal *journal;
	struct text text;
	struct json json;
	FILE *file;
	bool has_item;
};

static int sink_flush(struct sink *sink, size_t above)
{
	int rc = text_error(&sink->text);

	if (rc < 0 || sink->text.length <= above)
		return rc;
	(void)fwrite(sink->text.bytes, 1, sink->text.length, sink->file);
	sink->text.length = 0;
	return ferror(sink->file) ? -EIO : 0;
}

static int sink_end(struct sink *sink, int rc)
{
	if (rc == 0)
		rc = sink_flush(sink, 0);
	text_fini(&sink->text);
	return rc;
}

/* Each item on a line of its own; the writer's state of commas is ours to keep here. */
static void sink_item(struct sink *sink)
{
	text_add(&sink->text, sink->has_item ? ",\n" : "\n");
	sink->has_item = true;
	json_init(&sink->json, &sink->text);
}

static int put_run(const struct run_record *run, void *arg)
{
	struct sink *sink = arg;
	struct summary_figures figures;
	int rc = figures_read(sink->journal, run, &figures);

	if (rc < 0)
		return rc;
	sink_item(sink);
	export_run_json(run, &figures, &sink->json);
	return sink_flush(sink, FLUSH_BYTES);
}

int export_runs_json(struct journal *journal, FILE *out)
{
	struct sink sink = { .journal = journal, .text = TEXT_INIT, .file = out };
	int rc;

	text_add(&sink.text, "{\"runs\":[");
	rc = journal_each_run(journal, put_run, &sink);
	text_add(&sink.text, "\n]}\n");
	return sink_end(&sink, rc);
}

static int put_csv(const struct sample *sample, void *arg)
{
	struct sink *sink = arg;

	sample_row_csv(sample, &sink->text);
	return sink_flush(sink, FLUSH_BYTES);
}

int export_samples_csv(struct journal *journal, const struct run_record *run, FILE *out)
{
	struct sink sink = { .journal = journal, .text = TEXT_INIT, .file = out };
	int rc;

	sample_names_csv(&sink.text);
	rc = journal_each_sample(journal, run->id, INT64_MIN, INT64_MAX, false, put_csv, &sink);
	return sink_end(&sink, rc);
}

static int put_json(const struct sample *sample, void *arg)
{
	struct sink *sink = arg;

	sink_item(sink);
	sample_row_json(sample, &sink->json);
	return sink_flush(sink, FLUSH_BYTES);
}

int export_samples_json(struct journal *journal, const struct run_record *run, FILE *out)
{
	struct sink sink = { .journal = journal, .text = TEXT_INIT, .file = out };
	struct summary_figures figures;
	int rc = figures_read(journal, run, &figures);

	if (rc < 0)
		return rc;
	json_init(&sink.json, &sink.text);
	json_object_open(&sink.json);
	json_key(&sink.json, "run");
	export_run_json(run, &figures, &sink.json);
	json_put_u64(&sink.json, "interval_s", run->interval_s);
	json_key(&sink.json, "columns");
	sample_names_json(&sink.json);
	json_key(&sink.json, "rows");
	text_add(&sink.text, "[");
	rc = journal_each_sample(journal, run->id, INT64_MIN, INT64_MAX, false, put_json, &sink);
	text_add(&sink.text, "\n]}\n");
	return sink_end(&sink, rc);
}
