/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "web/api.h"

#include <errno.h>
#include <microhttpd.h>
#include <string.h>

#include "archive/archive.h"
#include "base/clock.h"
#include "config.h"
#include "config/config.h"
#include "measure/status_json.h"
#include "web/live.h"

#define EVENTS_DEFAULT 1000
#define EVENTS_MAX     10000

/* An empty string in a record means unknown. */
static void put_text(struct json *json, const char *key, const char *value)
{
	json_put_string(json, key, value[0] ? value : NULL);
}

void api_status(struct call *call)
{
	struct drive_status drive;
	struct json json;

	call->type = "application/json";
	json_init(&json, &call->body);
	status_json_begin(&json, call->site->host, (clock_boot_ns() - call->site->started_boot_ns) / NS_PER_S,
		call->now_ms);
	for (size_t i = 0; i < live_count(call->site); i++) {
		(void)live_read(call->site, i, &drive);
		status_json_drive(&json, &drive);
	}
	status_json_end(&json);
	text_add(&call->body, "\n");
}

void api_drives(struct call *call)
{
	const struct text *drives;
	int rc = store_drives(call->store, call->site->config, call->site->state_directory, &drives);

	if (rc < 0) {
		call_fail(
			call, MHD_HTTP_SERVICE_UNAVAILABLE, "the disks cannot be listed: %s", strerror(-rc));
		return;
	}
	call->type = "application/json";
	text_add_bytes(&call->body, drives->bytes, drives->length);
}

static void put_archive(struct json *json, const struct archive_stats *stats)
{
	json_key(json, "archive");
	json_object_open(json);
	json_put_u64(json, "queued", stats->queued);
	json_put_u64(json, "lost", stats->lost);
	json_put_u64(json, "committed", stats->committed);
	json_put_u64(json, "journal_failures", stats->journal_failures);
	json_put_u64(json, "rrd_failures", stats->rrd_failures);
	json_put_u64(json, "rrd_rebuilds", stats->rrd_rebuilds);
	put_text(json, "last_error", stats->last_error);
	json_object_close(json);
}

/* Alive: answers as long as the process does. A record that can't be kept is told, but restarting the service
 * would not cure it, so the status stays 200. */
void api_healthz(struct call *call)
{
	struct archive_stats stats = { 0 };
	struct json json;

	if (call->site->archive)
		archive_read_stats(call->site->archive, &stats);
	call->type = "application/json";
	json_init(&json, &call->body);
	json_object_open(&json);
	json_put_string(&json, "status", stats.last_error[0] || stats.lost ? "degraded" : "ok");
	json_put_u64(&json, "uptime_s", (clock_boot_ns() - call->site->started_boot_ns) / NS_PER_S);
	if (call->site->archive)
		put_archive(&json, &stats);
	else
		json_put_null(&json, "archive");
	json_object_close(&json);
	text_add(&call->body, "\n");
}

/* Ready: every drive has a state and what is stored can be read. */
void api_readyz(struct call *call)
{
	struct journal *journal;
	struct json json;
	int rc = store_journal(call->store, &journal);

	for (size_t i = 0; i < live_count(call->site); i++) {
		struct drive_status drive;

		if (!live_read(call->site, i, &drive)) {
			call_fail(
				call, MHD_HTTP_SERVICE_UNAVAILABLE, "drive %s has no state yet", drive.name);
			return;
		}
	}
	if (rc == -ENOENT) {
		call_fail(call, MHD_HTTP_SERVICE_UNAVAILABLE, "the journal is not there yet");
		return;
	}
	if (rc < 0) {
		call_fail_journal(call, rc);
		return;
	}
	call->type = "application/json";
	json_init(&json, &call->body);
	json_object_open(&json);
	json_put_string(&json, "status", "ready");
	json_object_close(&json);
	text_add(&call->body, "\n");
}

static int put_event(const struct event_record *event, void *arg)
{
	struct json *json = arg;

	json_object_open(json);
	json_put_ms_as_s(json, "t_s", event->t_ms);
	json_put_ms_as_s(json, "until_s", event->until_ms);
	json_put_string(json, "kind", event->kind);
	json_put_string(json, "severity", event_severity_name(event->severity));
	put_text(json, "drive", event->drive);
	put_text(json, "run", event->run);
	put_text(json, "text", event->text);
	put_text(json, "cause", event->cause);
	put_text(json, "evidence", event->evidence);
	json_object_close(json);
	return 0;
}

static void answer_events(struct call *call, const char *run)
{
	uint64_t limit = EVENTS_DEFAULT;
	struct journal *journal;
	struct json json;
	int rc;

	if (!call_query_count(call, "limit", 1, EVENTS_MAX, &limit))
		return;
	call->type = "application/json";
	json_init(&json, &call->body);
	json_object_open(&json);
	json_key(&json, "events");
	json_array_open(&json);
	rc = store_journal(call->store, &journal);
	if (rc == 0)
		rc = journal_each_event(journal, run, limit, put_event, &json);
	json_array_close(&json);
	json_object_close(&json);
	text_add(&call->body, "\n");
	if (rc < 0 && rc != -ENOENT)
		call_fail_journal(call, rc);
}

void api_events(struct call *call)
{
	answer_events(call, NULL);
}

void api_run_events(struct call *call)
{
	struct run_record run;

	if (call_get_run(call, &run))
		answer_events(call, run.id);
}
