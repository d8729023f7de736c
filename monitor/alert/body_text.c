/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages for people: subject, text, mail. */
#include "alert/body_private.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/units.h"

#define WORD_BYTES 42 /* in an encoded word of a header: at most 75 characters with its frame */
#define LINE_BYTES 57 /* 76 characters of base64 */

void body_time(int64_t ms, char *out)
{
	time_t seconds = (time_t)(ms / 1000);
	struct tm tm;

	if (!gmtime_r(&seconds, &tm)) {
		text_copy(out, BODY_TIME_MAX, "0001-01-01T00:00:00.000Z");
		return;
	}
	(void)snprintf(out, BODY_TIME_MAX, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", tm.tm_year + 1900,
		tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, (int)(ms % 1000));
}

const char *body_status(const struct alert_entry *entry)
{
	return entry->note == ALERT_TEST ? "test" : entry->note == ALERT_RESOLVED ? "resolved" : "firing";
}

void body_count(const struct alert_message *message, size_t *firing, size_t *over)
{
	*firing = *over = 0;
	for (size_t i = 0; i < message->count; i++)
		*(message->entries[i].note == ALERT_RESOLVED ? over : firing) += 1;
}

const struct alert_entry *body_gravest(const struct alert_message *message)
{
	const struct alert_entry *best = &message->entries[0];

	for (size_t i = 1; i < message->count; i++) {
		const struct alert_entry *entry = &message->entries[i];
		const bool is_over = entry->note == ALERT_RESOLVED, was_over = best->note == ALERT_RESOLVED;

		if ((was_over && !is_over) ||
			(was_over == is_over && entry->alert.severity > best->alert.severity))
			best = entry;
	}
	return best;
}

/* What it is about: the drive, or the service. */
static void add_about(const struct alert *alert, const struct body_context *context, struct text *out)
{
	text_add_plain(out, alert->drive[0] ? alert->drive : context->host);
}

void body_words(const struct alert_entry *entry, int64_t t_ms, struct text *out)
{
	const struct alert *alert = &entry->alert;
	const int64_t since_ms = alert->untold_since_ms;
	const unsigned fired = alert_entry_fired(entry);
	char length[UNITS_TEXT_MAX];

	if (alert->untold) {
		text_addf(out, "fired %u time%s", fired, fired == 1 ? "" : "s");
		if (since_ms != INT64_MIN && since_ms < t_ms) {
			units_print_duration_rounded((double)(t_ms - since_ms) * 1e6, length);
			text_addf(out, " in %s", length);
		}
	}
	if (alert->untold && alert->text[0])
		text_add(out, entry->note == ALERT_RESOLVED ? "; the last: " : "; now: ");
	text_add_plain(out, alert->text);
}

void body_subject(const struct alert_message *message, const struct body_context *context, struct text *out)
{
	const struct alert_entry *first = body_gravest(message);
	size_t firing, over;

	body_count(message, &firing, &over);
	if (message->count == 1) {
		text_addf(out, "[%s] ", first->note == ALERT_REPEATED ? "still firing" : body_status(first));
		add_about(&first->alert, context, out);
		text_addf(out, ": %s", alert_rule_name(first->alert.rule));
		if (first->alert.text[0] || first->alert.untold) {
			text_add(out, ": ");
			body_words(first, message->t_ms, out);
		}
		return;
	}
	text_addf(out, "[%zu firing, %zu resolved]", firing, over);
	for (size_t i = 0; i < message->count; i++) {
		text_add(out, i ? ", " : " ");
		add_about(&message->entries[i].alert, context, out);
		text_addf(out, " %s", alert_rule_name(message->entries[i].alert.rule));
	}
}

static void add_line(struct text *out, const char *name, const char *value)
{
	if (!value[0])
		return;
	text_addf(out, "  %s: ", name);
	text_add_plain(out, value);
	text_add(out, "\n");
}

static void add_number(struct text *out, const char *name, const struct alert *alert, double value)
{
	char number[UNITS_TEXT_MAX];

	alert_rule_print_value(alert->rule, value, number);
	add_line(out, name, number);
}

static void add_entry(
	const struct alert_entry *entry, int64_t t_ms, const struct body_context *context, struct text *out)
{
	const struct alert *alert = &entry->alert;
	char since[BODY_TIME_MAX], until[BODY_TIME_MAX];

	text_addf(out, "%s: ", body_status(entry));
	add_about(alert, context, out);
	text_addf(out, ", %s (%s)\n", alert_rule_name(alert->rule), event_severity_name(alert->severity));
	if (alert->text[0] || alert->untold) {
		text_add(out, "  ");
		body_words(entry, t_ms, out);
		text_add(out, "\n");
	}
	body_time(alert->since_ms, since);
	add_line(out, "since", since);
	if (alert->until_ms != INT64_MIN) {
		body_time(alert->until_ms, until);
		add_line(out, "until", until);
	}
	add_number(out, "value", alert, alert->value);
	add_number(out, "threshold", alert, alert->threshold);
	add_line(out, "cause", alert->cause);
	add_line(out, "evidence", alert->evidence);
	add_line(out, "label", alert->subject.label);
	add_line(out, "model", alert->subject.model);
	add_line(out, "serial", alert->subject.serial);
	add_line(out, "run", alert->run);
}

void body_text(const struct alert_message *message, const struct body_context *context, struct text *out)
{
	text_add(out, "drivesoak on ");
	text_add_plain(out, context->host);
	text_add(out, "\n");
	for (size_t i = 0; i < message->count; i++) {
		text_add(out, "\n");
		add_entry(&message->entries[i], message->t_ms, context, out);
	}
	text_addf(
		out, "\n%s%smessage %s\n", context->page_url, context->page_url[0] ? "\n" : "", message->id);
}

static void add_base64(struct text *out, const char *bytes, size_t length)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < length; i += 3) {
		const size_t left = length - i;
		const unsigned char *byte = (const unsigned char *)bytes + i;
		const uint32_t three = (uint32_t)byte[0] << 16 | (left > 1 ? (uint32_t)byte[1] << 8 : 0) |
				       (left > 2 ? byte[2] : 0);
		const char four[4] = { digits[three >> 18], digits[three >> 12 & 63],
			left > 1 ? digits[three >> 6 & 63] : '=', left > 2 ? digits[three & 63] : '=' };

		text_add_bytes(out, four, sizeof(four));
	}
}

/* As encoded words, none of which cuts a character. */
static void add_header_words(struct text *out, const char *value)
{
	while (*value) {
		size_t take = 0;

		while (value[take]) {
			uint32_t code;
			size_t length = text_decode(value + take, &code);

			length = length ? length : 1;
			if (take + length > WORD_BYTES)
				break;
			take += length;
		}
		text_add(out, " =?UTF-8?B?");
		add_base64(out, value, take);
		text_add(out, "?=\r\n");
		value += take;
	}
}

static void add_date(struct text *out, int64_t ms)
{
	static const char *const days[] = { "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat" };
	static const char *const months[] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep",
		"Oct", "Nov", "Dec" };
	time_t seconds = (time_t)(ms / 1000);
	struct tm tm;

	if (gmtime_r(&seconds, &tm))
		text_addf(out, "Date: %s, %02d %s %04d %02d:%02d:%02d +0000\r\n", days[tm.tm_wday],
			tm.tm_mday, months[tm.tm_mon], tm.tm_year + 1900, tm.tm_hour, tm.tm_min, tm.tm_sec);
}

void body_mail(const struct alert_message *message, const char *from, const char *to,
	const struct body_context *context, struct text *out)
{
	struct text subject = TEXT_INIT, body = TEXT_INIT;
	const bool is_grave = body_gravest(message)->alert.severity == EVENT_CRITICAL;

	body_subject(message, context, &subject);
	body_text(message, context, &body);
	add_date(out, message->t_ms);
	text_addf(out, "From: drivesoak <%s>\r\nTo: <%s>\r\nMessage-ID: <%s@drivesoak>\r\nSubject:", from, to,
		message->id);
	add_header_words(out, text_string(&subject));
	text_addf(out,
		"Auto-Submitted: auto-generated\r\n%sMIME-Version: 1.0\r\nContent-Type: text/plain; "
		"charset=utf-8\r\n"
		"Content-Transfer-Encoding: base64\r\n\r\n",
		is_grave ? "Importance: high\r\n" : "");
	for (size_t i = 0; i < body.length; i += LINE_BYTES) {
		add_base64(out, body.bytes + i, body.length - i < LINE_BYTES ? body.length - i : LINE_BYTES);
		text_add(out, "\r\n");
	}
	text_fini(&subject);
	text_fini(&body);
}

/* The name, '=' and the value on one line, NUL. */
static void add_variable(struct text *out, const char *name, const char *value)
{
	text_addf(out, "%s=", name);
	text_add_plain(out, value);
	text_add_bytes(out, "", 1);
}

static void add_number_variable(struct text *out, const char *name, double value)
{
	char number[32] = "";

	if (!isnan(value))
		(void)snprintf(number, sizeof(number), "%.15g", value);
	add_variable(out, name, number);
}

static void add_time_variable(struct text *out, const char *name, int64_t ms)
{
	char number[32] = "";

	if (ms != INT64_MIN)
		(void)snprintf(number, sizeof(number), "%lld", (long long)(ms / 1000));
	add_variable(out, name, number);
}

/* As smartd prints it: in local time, with the name of the zone. */
static void smartd_time(int64_t ms, char *out)
{
	time_t seconds = (time_t)(ms / 1000);
	struct tm tm;

	if (!localtime_r(&seconds, &tm) || strftime(out, BODY_TIME_MAX, "%a %b %e %H:%M:%S %Y %Z", &tm) == 0)
		out[0] = '\0';
}

static void add_smartd(const struct alert *alert, const char *words, const char *subject, const char *full,
	const char *device, const char *address, struct text *out)
{
	struct text info = TEXT_INIT;
	char first[BODY_TIME_MAX], number[16];

	text_addf(&info, "%s, S/N:%s", alert->subject.model, alert->subject.serial);
	smartd_time(alert->since_ms, first);
	add_variable(out, "SMARTD_MAILER", "");
	add_variable(out, "SMARTD_DEVICE", device);
	add_variable(out, "SMARTD_DEVICETYPE", "auto");
	add_variable(out, "SMARTD_DEVICESTRING", device);
	add_variable(out, "SMARTD_DEVICEINFO", text_string(&info));
	add_variable(out, "SMARTD_FAILTYPE", alert_rule_failtype(alert->rule));
	add_variable(out, "SMARTD_ADDRESS", address);
	add_variable(out, "SMARTD_MESSAGE", words);
	/* The only one of several lines; they are ours. */
	text_addf(out, "SMARTD_FULLMESSAGE=%s", full);
	text_add_bytes(out, "", 1);
	add_variable(out, "SMARTD_SUBJECT", subject);
	add_variable(out, "SMARTD_TFIRST", first);
	add_time_variable(out, "SMARTD_TFIRSTEPOCH", alert->since_ms);
	(void)snprintf(number, sizeof(number), "%u", alert->repeats);
	add_variable(out, "SMARTD_PREVCNT", number);
	add_variable(out, "SMARTD_NEXTDAYS", "");

	text_fini(&info);
}

void body_environment(const struct alert_message *message, const struct body_context *context, bool smartd,
	const char *device, const char *address, struct text *out)
{
	const struct alert_entry *entry = body_gravest(message);
	const struct alert *alert = &entry->alert;
	struct text subject = TEXT_INIT, full = TEXT_INIT, words = TEXT_INIT;
	char fingerprint[17], number[16];

	body_subject(message, context, &subject);
	body_text(message, context, &full);
	body_fingerprint(alert, context, fingerprint);
	(void)snprintf(number, sizeof(number), "%zu", message->count);
	add_variable(out, "DRIVESOAK_MESSAGE_ID", message->id);
	add_variable(out, "DRIVESOAK_HOST", context->host);
	add_variable(out, "DRIVESOAK_URL", context->page_url);
	add_variable(out, "DRIVESOAK_SUBJECT", text_string(&subject));
	add_variable(out, "DRIVESOAK_COUNT", number);
	add_variable(out, "DRIVESOAK_STATUS", body_status(entry));
	add_variable(out, "DRIVESOAK_NOTE", alert_note_name(entry->note));
	add_variable(out, "DRIVESOAK_ALERT", alert_rule_name(alert->rule));
	add_variable(out, "DRIVESOAK_FINGERPRINT", fingerprint);
	add_variable(out, "DRIVESOAK_SEVERITY", event_severity_name(alert->severity));
	add_variable(out, "DRIVESOAK_DRIVE", alert->drive);
	add_variable(out, "DRIVESOAK_DEVICE", device);
	add_variable(out, "DRIVESOAK_LABEL", alert->subject.label);
	add_variable(out, "DRIVESOAK_MODEL", alert->subject.model);
	add_variable(out, "DRIVESOAK_SERIAL", alert->subject.serial);
	add_variable(out, "DRIVESOAK_RUN", alert->run);
	add_time_variable(out, "DRIVESOAK_SINCE", alert->since_ms);
	add_time_variable(out, "DRIVESOAK_UNTIL", alert->until_ms);
	add_number_variable(out, "DRIVESOAK_VALUE", alert->value);
	add_number_variable(out, "DRIVESOAK_THRESHOLD", alert->threshold);
	body_words(entry, message->t_ms, &words);
	add_variable(out, "DRIVESOAK_TEXT", text_string(&words));
	(void)snprintf(number, sizeof(number), "%u", alert_entry_fired(entry));
	add_variable(out, "DRIVESOAK_FIRED", number);
	add_variable(out, "DRIVESOAK_CAUSE", alert->cause);
	add_variable(out, "DRIVESOAK_EVIDENCE", alert->evidence);
	if (smartd)
		add_smartd(alert, text_string(words.length ? &words : &subject), text_string(&subject),
			text_string(&full), device, address, out);
	text_fini(&subject);
	text_fini(&full);
	text_fini(&words);
}
