/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages for machines: Alertmanager's two formats, Slack, ntfy. */
#include "alert/body_private.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "base/json.h"

#define LABELS_MAX	4
#define ANNOTATIONS_MAX 14
#define NUMBER_MAX	32

/* A label or annotation; an empty value is none. */
struct pair {
	const char *key, *value;
};

void body_fingerprint(const struct alert *alert, const struct body_context *context, char *out)
{
	struct text key = TEXT_INIT;

	text_addf(&key, "%s\n%s\n%s", context->host, alert->drive, alert_rule_name(alert->rule));
	(void)snprintf(out, 17, "%016llx", (unsigned long long)XXH64(text_string(&key), key.length, 0));
	text_fini(&key);
}

static void labels_of(const struct alert *alert, const struct body_context *context, struct pair *out)
{
	out[0] = (struct pair){ "alertname", alert_rule_title(alert->rule) };
	out[1] = (struct pair){ "drive", alert->drive };
	out[2] = (struct pair){ "instance", context->host };
	out[3] = (struct pair){ "severity", event_severity_name(alert->severity) };
}

static void put_pairs(struct json *json, const char *key, const struct pair *pairs, size_t count)
{
	json_key(json, key);
	json_object_open(json);
	for (size_t i = 0; i < count; i++)
		if (pairs[i].value[0])
			json_put_string(json, pairs[i].key, pairs[i].value);
	json_object_close(json);
}

static void number_text(double value, char *out)
{
	out[0] = '\0';
	if (!isnan(value))
		(void)snprintf(out, NUMBER_MAX, "%.15g", value);
}

static void put_annotations(struct json *json, const struct alert_entry *entry, int64_t t_ms, const char *id,
	const struct body_context *context)
{
	const struct alert *alert = &entry->alert;
	struct text words = TEXT_INIT;
	char value[NUMBER_MAX], threshold[NUMBER_MAX], untold[NUMBER_MAX] = "";
	struct pair pairs[ANNOTATIONS_MAX] = {
		{ "summary", alert_rule_name(alert->rule) },
		{ "alert", alert_rule_name(alert->rule) },
		{ "cause", alert->cause },
		{ "evidence", alert->evidence },
		{ "label", alert->subject.label },
		{ "model", alert->subject.model },
		{ "serial", alert->subject.serial },
		{ "run", alert->run },
		{ "value", value },
		{ "threshold", threshold },
		{ "note", alert_note_name(entry->note) },
		{ "untold", untold },
		{ "message_id", id },
		{ "url", context->page_url },
	};

	body_words(entry, t_ms, &words);
	if (words.length)
		pairs[0].value = text_string(&words);
	number_text(alert->value, value);
	number_text(alert->threshold, threshold);
	if (alert->untold)
		(void)snprintf(untold, sizeof(untold), "%u", alert->untold);
	put_pairs(json, "annotations", pairs, ANNOTATIONS_MAX);
	text_fini(&words);
}

static void put_time(struct json *json, const char *key, int64_t ms)
{
	char time[BODY_TIME_MAX];

	body_time(ms, time);
	json_put_string(json, key, time);
}

static void put_labels(struct json *json, const struct alert *alert, const struct body_context *context)
{
	struct pair labels[LABELS_MAX];

	labels_of(alert, context, labels);
	put_pairs(json, "labels", labels, LABELS_MAX);
}

/* The labels that all alerts of the message have. */
static void put_common_labels(
	struct json *json, const struct alert_message *message, const struct body_context *context)
{
	struct pair common[LABELS_MAX], labels[LABELS_MAX];

	labels_of(&message->entries[0].alert, context, common);
	for (size_t i = 1; i < message->count; i++) {
		labels_of(&message->entries[i].alert, context, labels);
		for (size_t j = 0; j < LABELS_MAX; j++)
			if (strcmp(common[j].value, labels[j].value) != 0)
				common[j].value = "";
	}
	put_pairs(json, "commonLabels", common, LABELS_MAX);
}

static void put_alert(struct json *json, const struct alert_entry *entry, int64_t t_ms, const char *id,
	const struct body_context *context)
{
	const bool is_over = entry->note == ALERT_RESOLVED;
	char fingerprint[17];

	body_fingerprint(&entry->alert, context, fingerprint);
	json_object_open(json);
	json_put_string(json, "status", is_over ? "resolved" : "firing");
	put_labels(json, &entry->alert, context);
	put_annotations(json, entry, t_ms, id, context);
	put_time(json, "startsAt", entry->alert.since_ms);
	if (is_over)
		put_time(json, "endsAt", entry->alert.until_ms);
	else
		json_put_string(json, "endsAt", "0001-01-01T00:00:00Z");
	json_put_string(json, "generatorURL", context->page_url);
	json_put_string(json, "fingerprint", fingerprint);
	json_object_close(json);
}

void body_alertmanager(const struct alert_message *message, const char *receiver,
	const struct body_context *context, struct text *out)
{
	const struct pair group = { "instance", context->host };
	struct text key = TEXT_INIT;
	struct json json;
	size_t firing, over;

	body_count(message, &firing, &over);
	text_add(&key, "{}:{instance=\"");
	text_add_plain(&key, context->host);
	text_add(&key, "\"}");
	json_init(&json, out);
	json_object_open(&json);
	json_put_string(&json, "receiver", receiver);
	json_put_string(&json, "status", firing ? "firing" : "resolved");
	json_key(&json, "alerts");
	json_array_open(&json);
	for (size_t i = 0; i < message->count; i++)
		put_alert(&json, &message->entries[i], message->t_ms, message->id, context);
	json_array_close(&json);
	put_pairs(&json, "groupLabels", &group, 1);
	put_common_labels(&json, message, context);
	put_pairs(&json, "commonAnnotations", &(const struct pair){ "message_id", message->id }, 1);
	json_put_string(&json, "externalURL", context->page_url);
	json_put_string(&json, "version", "4");
	json_put_string(&json, "groupKey", text_string(&key));
	json_put_u64(&json, "truncatedAlerts", 0);
	json_object_close(&json);
	text_fini(&key);
}

static int64_t earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

void body_alertmanager_api(const struct alert_message *message, int64_t now_ms, int64_t ends_ms,
	const struct body_context *context, struct text *out)
{
	struct json json;

	json_init(&json, out);
	json_array_open(&json);
	for (size_t i = 0; i < message->count; i++) {
		const struct alert_entry *entry = &message->entries[i];
		const int64_t end_ms = entry->note == ALERT_RESOLVED ? earlier(entry->alert.until_ms, now_ms)
								     : ends_ms;

		json_object_open(&json);
		put_labels(&json, &entry->alert, context);
		put_annotations(&json, entry, message->t_ms, "", context);
		put_time(&json, "startsAt", earlier(entry->alert.since_ms, end_ms));
		put_time(&json, "endsAt", end_ms);
		if (context->page_url[0])
			json_put_string(&json, "generatorURL", context->page_url);
		json_object_close(&json);
	}
	json_array_close(&json);
}

/* Three characters mean something to Slack. */
static void add_slack(struct text *out, const char *string)
{
	for (; *string; string++) {
		const char *safe = *string == '&'   ? "&amp;"
				   : *string == '<' ? "&lt;"
				   : *string == '>' ? "&gt;"
						    : NULL;

		if (safe)
			text_add(out, safe);
		else
			text_add_bytes(out, string, 1);
	}
}

void body_slack(const struct alert_message *message, const struct body_context *context, struct text *out)
{
	struct text words = TEXT_INIT, safe = TEXT_INIT;
	struct json json;

	body_subject(message, context, &words);
	text_add(&words, "\n");
	body_text(message, context, &words);
	add_slack(&safe, text_string(&words));
	json_init(&json, out);
	json_object_open(&json);
	json_put_string(&json, "text", text_string(&safe));
	json_object_close(&json);
	text_fini(&words);
	text_fini(&safe);
}

void body_ntfy(const struct alert_message *message, const char *topic, const struct body_context *context,
	struct text *out)
{
	static const unsigned priorities[] = { [EVENT_INFO] = 3, [EVENT_WARNING] = 4, [EVENT_CRITICAL] = 5 };
	const struct alert_entry *first = body_gravest(message);
	const bool is_over = first->note == ALERT_RESOLVED;
	struct text title = TEXT_INIT, words = TEXT_INIT;
	struct json json;

	body_subject(message, context, &title);
	body_text(message, context, &words);
	json_init(&json, out);
	json_object_open(&json);
	json_put_string(&json, "topic", topic);
	json_put_string(&json, "title", text_string(&title));
	json_put_string(&json, "message", text_string(&words));
	json_put_u64(&json, "priority", is_over ? 3 : priorities[first->alert.severity]);
	json_key(&json, "tags");
	json_array_open(&json);
	json_string(&json, is_over				     ? "white_check_mark"
			   : first->alert.severity == EVENT_CRITICAL ? "rotating_light"
								     : "warning");
	json_array_close(&json);
	if (context->page_url[0])
		json_put_string(&json, "click", context->page_url);
	json_object_close(&json);
	text_fini(&title);
	text_fini(&words);
}
