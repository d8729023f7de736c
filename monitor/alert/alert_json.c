/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "alert/alert_json.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "alert/outbox.h"
#include "base/json.h"

/* An empty string is unknown. */
static void put_text(struct json *json, const char *key, const char *value)
{
	json_put_string(json, key, value[0] ? value : NULL);
}

static void put_who(struct json *json, const struct alert *alert)
{
	json_put_string(json, "alert", alert_rule_name(alert->rule));
	put_text(json, "drive", alert->drive);
}

static void put_muted(struct json *json, const struct alert *alert, int64_t now_ms)
{
	json_put_ms_as_s(
		json, "muted_until_s", alert->muted_until_ms > now_ms ? alert->muted_until_ms : INT64_MIN);
}

static void put_episode(struct json *json, const struct alert *alert)
{
	put_who(json, alert);
	put_text(json, "run", alert->run);
	json_put_string(json, "severity", event_severity_name(alert->severity));
	json_put_ms_as_s(json, "since_s", alert->since_ms);
	json_put_double(json, "value", alert->value);
	json_put_double(json, "threshold", alert->threshold);
	put_text(json, "text", alert->text);
	put_text(json, "cause", alert->cause);
	put_text(json, "evidence", alert->evidence);
}

static void each_alert(struct alert_board *board, struct json *json, int64_t now_ms,
	void (*put)(struct json *json, const struct alert *alert, int64_t now_ms))
{
	struct alert alert;

	json_array_open(json);
	for (size_t drive = 0; drive <= alert_board_drives(board); drive++)
		for (int rule = 0; rule < ALERT_RULE_COUNT; rule++)
			if (alert_board_get(board, drive, (enum alert_rule)rule, &alert))
				put(json, &alert, now_ms);
	json_array_close(json);
}

static void put_firing(struct json *json, const struct alert *alert, int64_t now_ms)
{
	if (!alert->is_firing)
		return;
	json_object_open(json);
	put_episode(json, alert);
	json_put_bool(json, "told", alert->is_told);
	json_put_ms_as_s(json, "held_until_s", alerts_held_until_ms(alert));
	put_muted(json, alert, now_ms);
	json_object_close(json);
}

static void put_rule(struct json *json, const struct alert *alert, int64_t now_ms)
{
	json_object_open(json);
	put_who(json, alert);
	json_put_double(json, "value", alert->value);
	json_put_double(json, "threshold", alert->threshold);
	json_put_double(json, "margin_pct", alert->margin_pct);
	json_put_bool(json, "firing", alert->is_firing);
	put_muted(json, alert, now_ms);
	json_object_close(json);
}

static int put_past(const struct alert *alert, void *arg)
{
	struct json *json = arg;

	json_object_open(json);
	put_episode(json, alert);
	json_put_ms_as_s(json, "until_s", alert->until_ms);
	json_object_close(json);
	return 0;
}

static void put_last(struct alert_board *board, struct json *json)
{
	char why[BOARD_RESULT_MAX];
	struct alert alert;

	alert_board_get_past_error(board, why);
	if (why[0] && !alert_board_get_past(board, 0, &alert)) {
		json_put_string(json, "history", NULL);
	} else {
		json_key(json, "history");
		json_array_open(json);
		for (size_t i = 0; alert_board_get_past(board, i, &alert); i++)
			(void)put_past(&alert, json);
		json_array_close(json);
	}
	if (why[0])
		json_put_string(json, "history_error", why);
}

static void put_history(const char *path, size_t limit, struct json *json)
{
	char why[OUTBOX_WHY_MAX] = "";
	struct outbox *outbox = NULL;
	int rc = 0;

	if (access(path, F_OK) == 0)
		rc = outbox_open(path, true, &outbox, why);
	if (rc < 0) {
		json_put_string(json, "history", NULL);
		json_put_string(json, "history_error", why);
		return;
	}
	json_key(json, "history");
	json_array_open(json);
	if (outbox)
		rc = outbox_each_episode(outbox, limit, put_past, json);
	json_array_close(json);
	if (rc < 0)
		json_put_string(json, "history_error", outbox_error(outbox));
	outbox_close(outbox);
}

static void put_channels(struct alert_board *board, struct json *json)
{
	struct channel_status status;

	json_array_open(json);
	for (size_t i = 0; i < alert_board_channels(board); i++) {
		alert_board_get_channel(board, i, &status);
		json_object_open(json);
		json_put_string(json, "name", status.name);
		json_put_string(json, "kind", status.kind);
		json_put_ms_as_s(json, "last_s", status.last_ms);
		put_text(json, "result", status.result);
		json_put_bool(json, "failing", status.is_failing);
		json_put_u64(json, "queued", status.queued);
		json_object_close(json);
	}
	json_array_close(json);
}

void alert_json(
	struct alert_board *board, const char *history_path, size_t limit, int64_t now_ms, struct text *out)
{
	struct json json;

	json_init(&json, out);
	json_object_open(&json);
	json_key(&json, "firing");
	each_alert(board, &json, now_ms, put_firing);
	if (history_path)
		put_history(history_path, limit, &json);
	else
		put_last(board, &json);
	json_key(&json, "rules");
	each_alert(board, &json, now_ms, put_rule);
	json_key(&json, "channels");
	put_channels(board, &json);
	json_object_close(&json);
	text_add(out, "\n");
}

void alert_json_test(struct alert_board *board, uint64_t test, const char *name, struct text *out)
{
	struct channel_status status;
	struct json json;
	bool is_done = true, is_ok = true;

	json_init(&json, out);
	json_object_open(&json);
	json_put_u64(&json, "test", test);
	json_key(&json, "channels");
	json_array_open(&json);
	for (size_t i = 0; i < alert_board_channels(board); i++) {
		alert_board_get_channel(board, i, &status);
		if (*name && strcmp(status.name, name) != 0)
			continue;
		is_done = is_done && status.test >= test;
		is_ok = is_ok && status.test >= test && status.is_test_ok;
		json_object_open(&json);
		json_put_string(&json, "name", status.name);
		json_put_string(&json, "kind", status.kind);
		json_put_bool(&json, "done", status.test >= test);
		json_put_bool(&json, "ok", status.test >= test && status.is_test_ok);
		put_text(&json, "result", status.test >= test ? status.test_result : "");
		json_object_close(&json);
	}
	json_array_close(&json);
	json_put_bool(&json, "done", is_done);
	json_put_bool(&json, "ok", is_ok);
	json_object_close(&json);
}
