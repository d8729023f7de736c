/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What fires now, how far each rule is from it, the channels and the past. */
#include "web/pages.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "alert/board.h"
#include "alert/outbox.h"
#include "base/units.h"
#include "web/number.h"
#include "web/page.h"

#define HISTORY_SHOWN 100

static void add_table(struct text *body, const char *label, const char *caption, const char *heads)
{
	text_addf(body,
		"<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
		"aria-label=\"%s\"><table><caption>%s</caption>"
		"<thead><tr>%s</tr></thead><tbody>\n",
		label, caption, heads);
}

static void add_table_end(struct text *body)
{
	text_add(body, "</tbody></table></div>\n");
}

static void add_drive(struct text *body, const struct alert *alert)
{
	text_add(body, "<tr><th scope=\"row\" class=\"nw\">");
	if (alert->drive[0]) {
		text_add(body, "<a href=\"drive/");
		page_add_segment(body, alert->drive);
		text_add(body, "\">");
		text_add_html(body, alert->drive);
		text_add(body, "</a>");
	} else {
		text_add(body, "the service");
	}
	text_addf(body, "</th><td class=\"nw\">%s</td>", alert_rule_name(alert->rule));
}

static void add_value(struct text *body, const char *label, enum alert_rule rule, double value)
{
	char number[UNITS_TEXT_MAX];

	alert_rule_print_value(rule, value, number);
	page_add_cell(body, label, number, alert_rule_unknown(rule));
}

static void add_severity(struct text *body, enum event_severity severity)
{
	const struct page_state state = {
		.word = event_severity_name(severity),
		.icon = severity == EVENT_CRITICAL ? "fail" : "warn",
		.class = severity == EVENT_CRITICAL ? "bad" : "warn",
	};

	text_add(body, "<td>");
	page_add_state(body, state);
	text_add(body, "</td>");
}

static void add_words(struct text *body, const struct alert *alert)
{
	text_add(body, "<td>");
	text_add_html(body, alert->text);
	if (alert->cause[0]) {
		text_add(body, "<span class=\"u2\">cause: ");
		text_add_html(body, alert->cause);
		text_add(body, "</span>");
	}
	if (alert->evidence[0]) {
		text_add(body, "<span class=\"u2\">");
		text_add_html(body, alert->evidence);
		text_add(body, "</span>");
	}
	text_add(body, "</td>");
}

/* The last cell of a row: until when it is muted, else @otherwise. */
static void add_mute(struct call *call, const struct alert *alert, const char *otherwise)
{
	struct text *body = &call->body;

	text_add(body, "<td>");
	if (alert->muted_until_ms > call->now_ms) {
		text_add(body, "muted until ");
		page_add_time(body, alert->muted_until_ms);
	} else {
		text_addf(body, "<span class=\"mute\">%s</span>", otherwise);
	}
	text_add(body, "</td></tr>\n");
}

static void add_firing(struct call *call, const struct alert *alert)
{
	const int64_t held_ms = alerts_held_until_ms(alert);
	struct text *body = &call->body;

	add_drive(body, alert);
	add_severity(body, alert->severity);
	text_add(body, "<td>");
	page_add_time(body, alert->since_ms);
	text_add(body, "</td>");
	add_value(body, "Value", alert->rule, alert->value);
	add_value(body, "Threshold", alert->rule, alert->threshold);
	add_words(body, alert);
	if (held_ms != INT64_MIN && alert->muted_until_ms <= call->now_ms) {
		text_add(body, "<td>fires too often: held back until ");
		page_add_time(body, held_ms);
		text_add(body, "</td></tr>\n");
		return;
	}
	add_mute(call, alert, alert->is_told ? "told" : "not told yet");
}

static void add_rule(struct call *call, const struct alert *alert)
{
	struct text *body = &call->body;
	char number[NUMBER_MAX] = "";

	add_drive(body, alert);
	add_value(body, "Value", alert->rule, alert->value);
	add_value(body, "Threshold", alert->rule, alert->threshold);
	if (!isnan(alert->margin_pct))
		(void)snprintf(number, sizeof(number), "%.0f %%", alert->margin_pct);
	page_add_cell(body, "From firing", number,
		isnan(alert->value) ? alert_rule_unknown(alert->rule) : "no figure");
	text_addf(body, "<td>%s</td>", alert->is_firing ? "fires" : "quiet");
	add_mute(call, alert, "no");
}

/* How many there were. */
static size_t each_alert(
	struct call *call, bool only_firing, void (*add)(struct call *call, const struct alert *alert))
{
	struct alert_board *board = call->site->alert_board;
	struct alert alert;
	size_t count = 0;

	for (size_t drive = 0; drive <= alert_board_drives(board); drive++)
		for (int rule = 0; rule < ALERT_RULE_COUNT; rule++) {
			if (!alert_board_get(board, drive, (enum alert_rule)rule, &alert) ||
				(only_firing && !alert.is_firing))
				continue;
			count++;
			if (add)
				add(call, &alert);
		}
	return count;
}

static void add_channels(struct call *call)
{
	struct alert_board *board = call->site->alert_board;
	struct text *body = &call->body;
	struct channel_status status;

	text_add(body, "<section class=\"below\"><h2>Channels</h2>\n");
	if (alert_board_channels(board) == 0) {
		text_add(body, "<p>Nobody is told: the configuration has no <code>notify</code> "
			       "section.</p></section>\n");
		return;
	}
	add_table(body, "Table of channels",
		"Who is told. <code>drivesoak alert-test</code> sends a test message.",
		"<th scope=\"col\">Name</th><th scope=\"col\">Way</th><th scope=\"col\">Last try</th>"
		"<th scope=\"col\">Result</th><th scope=\"col\" class=\"num\">Waiting</th>");
	for (size_t i = 0; i < alert_board_channels(board); i++) {
		alert_board_get_channel(board, i, &status);
		text_add(body, "<tr><th scope=\"row\">");
		text_add_html(body, status.name);
		text_addf(body, "</th><td>%s</td><td>", status.kind);
		if (status.last_ms == INT64_MIN)
			text_add(body, "<span class=\"mute\">none yet</span>");
		else
			page_add_time(body, status.last_ms);
		text_addf(body, "</td><td><span class=\"txt %s\">", status.is_failing ? "bad" : "");
		text_add_html(body, status.result);
		text_addf(body, "</span></td><td class=\"num\">%llu</td></tr>\n",
			(unsigned long long)status.queued);
	}
	add_table_end(body);
	text_add(body, "</section>\n");
}

static int add_past(const struct alert *alert, void *arg)
{
	struct call *call = arg;
	struct text *body = &call->body;

	add_drive(body, alert);
	add_severity(body, alert->severity);
	text_add(body, "<td>");
	page_add_time(body, alert->since_ms);
	text_add(body, "</td><td>");
	if (alert->until_ms == INT64_MIN)
		text_add(body, "<span class=\"mute\">not over</span>");
	else
		page_add_time(body, alert->until_ms);
	text_add(body, "</td>");
	add_words(body, alert);
	text_add(body, "</tr>\n");
	return 0;
}

static void add_history(struct call *call)
{
	struct text path = TEXT_INIT, *body = &call->body;
	struct outbox *outbox = NULL;
	char why[OUTBOX_WHY_MAX] = "";
	size_t without_rows;
	int rc = 0;

	text_addf(&path, "%s/" OUTBOX_FILE, call->site->state_directory);
	text_add(body, "<section class=\"below\"><h2>Past alerts</h2>\n");
	if (access(text_string(&path), F_OK) == 0 &&
		outbox_open(text_string(&path), true, &outbox, why) < 0) {
		text_add(body, "<p>They can't be read: ");
		text_add_html(body, why);
		text_add(body, "</p>");
	} else {
		add_table(body, "Table of past alerts", "Newest first, times in UTC.",
			"<th scope=\"col\">Drive</th><th scope=\"col\">Alert</th><th "
			"scope=\"col\">Severity</th>"
			"<th scope=\"col\">Since</th><th scope=\"col\">Until</th><th "
			"scope=\"col\">What</th>");
		without_rows = body->length;
		if (outbox)
			rc = outbox_each_episode(outbox, HISTORY_SHOWN, add_past, call);
		if (rc == 0 && body->length == without_rows)
			text_add(body,
				"<tr><td colspan=\"6\"><span class=\"mute\">none yet</span></td></tr>\n");
		add_table_end(body);
		if (rc < 0) {
			text_add(body, "<p>The others can't be read: ");
			text_add_html(body, outbox_error(outbox));
			text_add(body, "</p>");
		}
	}
	text_add(body, "</section>\n");
	outbox_close(outbox);
	text_fini(&path);
}

void pages_alerts(struct call *call)
{
	struct text *body = &call->body;
	size_t firing;

	if (!call->site->alert_board) {
		call_fail(call, 503, "there are no alerts here");
		return;
	}
	firing = each_alert(call, true, NULL);
	page_open(call, "Alerts", NAV_ALERTS, false);
	text_addf(body, "<div id=\"alerts\" data-live><div class=\"head\"><h1>%zu alert%s</h1></div>\n",
		firing, firing == 1 ? " fires" : "s fire");
	if (firing) {
		add_table(body, "Table of alerts that fire", "What fires now, times in UTC.",
			"<th scope=\"col\">Drive</th><th scope=\"col\">Alert</th><th "
			"scope=\"col\">Severity</th>"
			"<th scope=\"col\">Since</th><th scope=\"col\" class=\"num\">Value</th><th "
			"scope=\"col\" "
			"class=\"num\">Threshold</th><th scope=\"col\">What</th><th scope=\"col\">Told</th>");
		(void)each_alert(call, true, add_firing);
		add_table_end(body);
	} else {
		text_add(body, "<p>Nothing is wrong.</p>\n");
	}
	add_channels(call);
	text_add(body, "<section class=\"below\"><h2>Rules</h2>\n");
	add_table(body, "Table of rules", "How far each is from firing, in percent of its threshold.",
		"<th scope=\"col\">Drive</th><th scope=\"col\">Alert</th><th scope=\"col\" "
		"class=\"num\">Value</th>"
		"<th scope=\"col\" class=\"num\">Threshold</th><th scope=\"col\" class=\"num\">From "
		"firing</th>"
		"<th scope=\"col\">Now</th><th scope=\"col\">Muted</th>");
	(void)each_alert(call, false, add_rule);
	add_table_end(body);
	text_add(body, "</section>\n");
	add_history(call);
	text_add(body, "</div>\n");
	page_close(call);
}
