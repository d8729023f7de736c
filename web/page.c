/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "web/page.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <string.h>

#include "archive/archive.h"
#include "base/clock.h"
#include "base/units.h"
#include "config.h"
#include "config/config.h"
#include "measure/summary.h"
#include "web/assets.h"
#include "web/live.h"
#include "web/number.h"

static const struct {
	const char *id, *shape;
} icons[] = {
	{ "run", "<path d=\"M4 2.5v11l9-5.5z\" fill=\"currentColor\"/>" },
	{ "fill",
		"<path d=\"M2.5 2.5h11v11h-11z\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"1.5\"/>"
		"<path d=\"M2.5 8.5h11v5h-11z\" fill=\"currentColor\"/>" },
	{ "stall", "<path d=\"M5 1h6l4 4v6l-4 4H5l-4-4V5zM4 7v2h8V7z\" fill=\"currentColor\" "
		   "fill-rule=\"evenodd\"/>" },
	{ "ok", "<path d=\"M2 8.5l4 4 8-9\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"2.4\"/>" },
	{ "absent",
		"<circle cx=\"8\" cy=\"8\" r=\"6\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"2\" "
		"stroke-dasharray=\"3.2 1.5\"/>" },
	{ "fail", "<path d=\"M3 3l10 10M13 3L3 13\" stroke=\"currentColor\" stroke-width=\"2.6\"/>" },
	{ "none", "<circle cx=\"8\" cy=\"8\" r=\"6.2\" fill=\"none\" stroke=\"currentColor\" "
		  "stroke-width=\"1.6\"/>"
		  "<path d=\"M4.5 8h7\" stroke=\"currentColor\" stroke-width=\"1.8\"/>" },
	{ "pause", "<path d=\"M4 2.5h3v11H4zM9 2.5h3v11H9z\" fill=\"currentColor\"/>" },
	{ "warn", "<path d=\"M8 1.5l7 12.5H1z\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"1.6\" "
		  "stroke-linejoin=\"round\"/><path d=\"M8 6v4.2M8 11.3v1.4\" stroke=\"currentColor\" "
		  "stroke-width=\"1.6\"/>" },
	{ "note", "<path d=\"M2 2.5h12v8H7l-3.5 3v-3H2z\" fill=\"none\" stroke=\"currentColor\" "
		  "stroke-width=\"1.5\" "
		  "stroke-linejoin=\"round\"/>" },
};

static const struct {
	enum page_nav nav;
	const char *path, *name;
} links[] = {
	{ NAV_OVERVIEW, "", "Overview" },
	{ NAV_COMPARE, "compare", "Compare" },
	{ NAV_RUNS, "runs", "Runs" },
	{ NAV_EVENTS, "events", "Events" },
};

void page_add_root(struct call *call)
{
	for (unsigned i = 0; i < call->depth; i++)
		text_add(&call->body, "../");
}

void page_add_segment(struct text *text, const char *name)
{
	for (; *name; name++) {
		if (strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~", *name))
			text_add_bytes(text, name, 1);
		else
			text_addf(text, "%%%02X", (unsigned char)*name);
	}
}

void page_add_icon(struct text *text, const char *icon)
{
	text_addf(text, "<svg class=\"i\" aria-hidden=\"true\"><use href=\"#i-%s\"/></svg>", icon);
}

static void add_asset_link(struct call *call, const char *format, const char *name)
{
	struct text path = TEXT_INIT;
	const struct asset *asset = assets_find(name);

	for (unsigned i = 0; i < call->depth; i++)
		text_add(&path, "../");
	text_addf(&path, "static/%s?v=%s", name, asset ? asset->hash : "");
	text_add(&call->body, format);
	text_add(&call->body, text_string(&path));
	text_add(&call->body, "\"");
	text_fini(&path);
}

static void add_head(struct call *call, const char *title, bool charts)
{
	static const char *const scripts[] = { "dygraph.js", "synchronizer.js" };
	struct text *body = &call->body;

	text_add(body, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		       "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>");
	text_add_html(body, title);
	text_add(body, " - drivesoak</title>\n");
	add_asset_link(call, "<link rel=\"icon\" href=\"", "icon.svg");
	if (charts)
		add_asset_link(call, ">\n<link rel=\"stylesheet\" href=\"", "dygraph.css");
	add_asset_link(call, ">\n<link rel=\"stylesheet\" href=\"", "style.css");
	text_add(body, ">\n");
	for (size_t i = 0; charts && i < 2; i++) {
		add_asset_link(call, "<script defer src=\"", scripts[i]);
		text_add(body, "></script>\n");
	}
	add_asset_link(call, "<script defer src=\"", "app.js");
	text_add(body, "></script>\n</head>\n");
}

static void add_icons(struct text *body)
{
	text_add(body, "<svg class=\"defs\" aria-hidden=\"true\"><defs><pattern id=\"hatch\" width=\"5\" "
		       "height=\"5\" "
		       "patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\"><path "
		       "class=\"hatchline\" d=\"M0 0v5\"/>"
		       "</pattern></defs>");
	for (size_t i = 0; i < sizeof(icons) / sizeof(icons[0]); i++)
		text_addf(body, "<symbol id=\"i-%s\" viewBox=\"0 0 16 16\">%s</symbol>", icons[i].id,
			icons[i].shape);
	text_add(body, "</svg>\n");
}

bool page_is_due(enum run_status status)
{
	return status == RUN_RUNNING || status == RUN_STALLED || status == RUN_PAUSED || status == RUN_ABSENT;
}

void page_add_age(struct call *call, int64_t sample_ms, bool is_due)
{
	struct text *body = &call->body;
	int64_t age_s = (call->now_ms - sample_ms) / 1000;
	char age[UNITS_TEXT_MAX];

	/* Whole seconds, as the script counts. */
	units_print_duration_rounded((double)(age_s > 0 ? age_s : 0) * 1e9, age);
	text_addf(body, "<span data-sample-ms=\"%lld\"", (long long)sample_ms);
	if (is_due)
		text_addf(body, " data-due-s=\"%llu\"",
			(unsigned long long)(call->site->config->sample_interval_ns / NS_PER_S));
	text_addf(body, "><b>%s</b></span>", age);
}

/* Host, uptime and how old the newest sample is. */
static void add_strip(struct call *call)
{
	struct text *body = &call->body;
	int64_t newest = INT64_MIN;
	bool is_due = false;
	char up[UNITS_TEXT_MAX];

	for (size_t i = 0; i < live_count(call->site); i++) {
		struct drive_status drive;

		(void)live_read(call->site, i, &drive);
		if (drive.last_sample_ms > newest)
			newest = drive.last_sample_ms;
		is_due |= page_is_due(drive.status);
	}
	text_add(body, "<div class=\"end\" id=\"strip\" data-live><span>host <b>");
	text_add_html(body, call->site->host);
	units_print_duration_rounded(
		(double)((clock_boot_ns() - call->site->started_boot_ns) / NS_PER_S) * 1e9, up);
	text_addf(body, "</b></span><span>up %s</span><span>", up);
	if (newest != INT64_MIN) {
		text_add(body, "data ");
		page_add_age(call, newest, is_due);
		text_add(body, " old</span>");
	} else {
		text_add(body, "no data yet</span>");
	}
	text_add(body, "<span>drivesoak " PACKAGE_VERSION "</span></div>");
}

static void open_trouble(struct text *body, const char *class, const char *icon, const char *word)
{
	text_addf(body, "<li><span class=\"state %s\">", class);
	page_add_icon(body, icon);
	text_addf(body, "%s</span><b>service</b><span>", word);
}

/* What is wrong with the records concerns every page: what it shows may be old. */
static void add_trouble(struct call *call)
{
	struct archive_stats stats = { 0 };
	struct text *body = &call->body;

	if (call->site->archive)
		archive_read_stats(call->site->archive, &stats);
	text_add(body, "<div id=\"trouble\" data-live>");
	if (stats.is_waiting || stats.lost || stats.last_error[0])
		text_add(body, "<section class=\"alerts\" aria-label=\"Trouble with the records\"><ul>\n");
	if (stats.lost) {
		open_trouble(body, "bad", "fail", "Lost");
		text_addf(body, "<b>%llu</b> records could not be stored and are lost.</span></li>\n",
			(unsigned long long)stats.lost);
	}
	if (stats.is_waiting) {
		open_trouble(body, "bad", "stall", "Not stored");
		text_addf(body,
			"Records wait to be stored, <b>%llu</b> so far; nothing is lost while there is "
			"memory. ",
			(unsigned long long)stats.queued);
		text_add_html(body, stats.last_error);
		text_add(body, "</span></li>\n");
	} else if (stats.last_error[0]) {
		open_trouble(body, "warn", "warn", "Picture behind");
		text_add(body, "All records are stored, but the RRD of a run is behind: ");
		text_add_html(body, stats.last_error);
		text_add(body, "</span></li>\n");
	}
	if (stats.is_waiting || stats.lost || stats.last_error[0])
		text_add(body, "</ul></section>\n");
	text_add(body, "</div>\n");
}

void page_open(struct call *call, const char *title, enum page_nav nav, bool charts)
{
	struct text *body = &call->body;

	add_head(call, title, charts);
	text_addf(body, "<body data-now-ms=\"%lld\" data-interval-s=\"%llu\">\n", (long long)call->now_ms,
		(unsigned long long)(call->site->config->sample_interval_ns / NS_PER_S));
	text_add(body, "<a class=\"skip\" href=\"#main\">Skip to the content</a>\n");
	add_icons(body);
	text_add(body, "<header class=\"top\"><a class=\"name\" href=\"");
	text_add(body, call->depth ? "" : "./");
	page_add_root(call);
	text_add(body, "\">drivesoak</a><nav aria-label=\"Pages\">");
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		text_addf(body, "<a href=\"%s", call->depth || links[i].path[0] ? "" : "./");
		page_add_root(call);
		text_addf(body, "%s\"%s>%s</a>", links[i].path,
			links[i].nav == nav ? " aria-current=\"page\"" : "", links[i].name);
	}
	text_add(body, "</nav>\n");
	add_strip(call);
	text_add(body, "</header>\n<main id=\"main\">\n");
	add_trouble(call);
}

void page_close(struct call *call)
{
	text_add(&call->body, "</main>\n</body>\n</html>\n");
}

void page_problem(struct call *call)
{
	char title[64];

	(void)snprintf(title, sizeof(title), "Error %u", call->status);
	page_open(call, title, NAV_NONE, false);
	text_addf(&call->body, "<div class=\"head\"><h1>%s</h1></div><p>", title);
	text_add_html(&call->body, call->problem);
	text_add(&call->body, ".</p>\n");
	page_close(call);
}

struct page_state page_state_of(enum run_status status, enum run_phase phase)
{
	static const struct page_state running[PHASE_COUNT] = {
		[PHASE_PREPARE] = { "preparing", "run", "busy", 4 },
		[PHASE_FILL] = { "filling", "fill", "busy", 4 },
		[PHASE_SOAK] = { "soaking", "run", "ok", 5 },
		[PHASE_PROBE] = { "probing", "run", "ok", 5 },
		[PHASE_VERIFY] = { "verifying", "run", "busy", 5 },
		[PHASE_DONE] = { "finishing", "run", "busy", 5 },
	};
	static const struct page_state states[RUN_STATUS_COUNT] = {
		[RUN_IDLE] = { "idle", "none", "off", 7 },
		[RUN_ARMED] = { "armed", "none", "busy", 6 },
		[RUN_RUNNING] = { "running", "run", "ok", 5 },
		[RUN_PAUSED] = { "paused", "pause", "warn", 3 },
		[RUN_STALLED] = { "stalled", "stall", "bad", 1 },
		[RUN_DONE] = { "done", "ok", "off", 8 },
		[RUN_FAILED] = { "failed", "fail", "bad", 0 },
		[RUN_ABSENT] = { "absent", "absent", "off", 2 },
	};

	if (status == RUN_RUNNING && phase < PHASE_COUNT)
		return running[phase];
	return states[status < RUN_STATUS_COUNT ? status : RUN_IDLE];
}

struct page_state page_state_of_drive(const struct drive_status *drive)
{
	static const struct {
		const char *finding;
		struct page_state state;
	} rows[] = {
		{ "stall", { "stalled", "stall", "bad", 1 } },
		{ "collapse", { "collapsed", "stall", "bad", 1 } },
		{ "periodic", { "saw-tooth", "warn", "warn", 3 } },
		{ "level-shift", { "new level", "warn", "warn", 3 } },
	};

	for (size_t i = 0; drive->status == RUN_RUNNING && i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(drive->finding, rows[i].finding) == 0)
			return rows[i].state;
	return page_state_of(drive->status, drive->phase);
}

void page_add_state(struct text *text, struct page_state state)
{
	text_addf(text, "<span class=\"state %s\">", state.class);
	page_add_icon(text, state.icon);
	text_addf(text, "%s</span>", state.word);
}

void page_add_time(struct text *text, int64_t ms)
{
	char time[NUMBER_MAX];

	number_print_time(ms, time);
	if (time[0])
		text_addf(text, "<time class=\"nw\" data-ms=\"%lld\">%s</time>", (long long)ms, time);
	else
		text_add(text, "<span class=\"mute\">-</span>");
}

void page_add_cell(struct text *text, const char *label, const char *value, const char *unknown)
{
	text_addf(text, "<td class=\"num\" data-l=\"%s\">", label);
	if (value[0])
		text_add_html(text, value);
	else
		text_addf(text, "<span class=\"mute\">%s</span>", unknown);
	text_add(text, "</td>");
}

/* Lists such as mount options may break behind their commas, paths before their slashes. */
static void add_breakable(struct text *text, const char *value)
{
	while (*value) {
		size_t length = strcspn(value + 1, ",/") + 1;
		struct text part = TEXT_INIT;

		if (value[length] == ',')
			length++;
		text_add_bytes(&part, value, length);
		text_add_html(text, text_string(&part));
		text_fini(&part);
		value += length;
		if (*value)
			text_add(text, "<wbr>");
	}
}

void page_add_figure_cell(
	struct text *text, const char *label, const char *value, const char *unknown, bool is_host_limited)
{
	if (!is_host_limited || !value[0]) {
		page_add_cell(text, label, value, unknown);
		return;
	}
	text_addf(text,
		"<td class=\"num off\" data-l=\"%s\">%s<span class=\"limword\" title=\"" SUMMARY_HOST_LIMITED
		"\">host-limited</span></td>",
		label, value);
}

const char *page_none_of(const struct run_record *run)
{
	return run->source == SOURCE_IMPORTED ? "not in the log" : "none yet";
}

void page_add_fact(struct text *text, const char *name, const char *value)
{
	text_add(text, "<tr><th scope=\"row\">");
	text_add_html(text, name);
	text_add(text, "</th><td>");
	if (value[0])
		add_breakable(text, value);
	else
		text_add(text, "<span class=\"mute\">unknown</span>");
	text_add(text, "</td></tr>");
}

void page_add_bytes(struct text *text, uint64_t bytes)
{
	char number[UNITS_TEXT_MAX];

	if (bytes == UINT64_MAX)
		return;
	units_print_bytes_rounded((double)bytes, number);
	text_add(text, number);
}

struct event_rows {
	struct call *call;
	bool with_drive;
	size_t count;
};

static int add_event(const struct event_record *event, void *arg)
{
	static const char *const looks[][2] = { { "off", "note" }, { "warn", "warn" }, { "bad", "stall" } };
	struct event_rows *rows = arg;
	struct text *body = &rows->call->body;
	const char *const *look = looks[event->severity <= EVENT_CRITICAL ? event->severity : EVENT_INFO];

	rows->count++;
	text_add(body, "<tr><td>");
	page_add_time(body, event->t_ms);
	text_add(body, "</td><td>");
	if (rows->with_drive && event->drive[0]) {
		text_add(body, "<a href=\"");
		page_add_root(rows->call);
		text_add(body, event->run[0] ? "run/" : "drive/");
		page_add_segment(body, event->run[0] ? event->run : event->drive);
		text_add(body, "\">");
		text_add_html(body, event->drive);
		text_add(body, "</a></td><td>");
	} else if (rows->with_drive) {
		text_add(body, "<span class=\"mute\">service</span></td><td>");
	}
	text_addf(body, "<span class=\"state %s\">", look[0]);
	page_add_icon(body, look[1]);
	text_add_html(body, event->kind);
	text_add(body, "</span></td><td>");
	text_add_html(body, event->text);
	if (event->cause[0]) {
		text_add(body, " <span class=\"mute\">Cause: ");
		text_add_html(body, event->cause);
		text_add(body, event->evidence[0] ? ". " : "");
		text_add_html(body, event->evidence);
		text_add(body, "</span>");
	}
	text_add(body, "</td></tr>\n");
	return 0;
}

void page_add_events(struct call *call, const char *run, size_t limit, bool with_drive)
{
	struct event_rows rows = { call, with_drive, 0 };
	struct text *body = &call->body;
	struct journal *journal;
	int rc, columns = with_drive ? 4 : 3;

	text_addf(body,
		"<table class=\"evt\"><caption>Newest first, times in UTC</caption><thead><tr><th "
		"scope=\"col\">Time</th>%s"
		"<th scope=\"col\">Kind</th><th scope=\"col\">What happened</th></tr></thead><tbody>\n",
		with_drive ? "<th scope=\"col\">Drive</th>" : "");
	rc = store_journal(call->store, &journal);
	if (rc == 0)
		rc = journal_each_event(journal, run, limit, add_event, &rows);
	if (rc < 0 && rc != -ENOENT) {
		text_addf(body, "<tr><td colspan=\"%d\" class=\"bad\">The journal cannot be read: ", columns);
		text_add_html(body, *store_error(call->store) ? store_error(call->store) : strerror(-rc));
		text_add(body, "</td></tr>");
	} else if (rows.count == 0) {
		text_addf(body, "<tr><td colspan=\"%d\" class=\"mute\">Nothing happened yet.</td></tr>",
			columns);
	}
	text_add(body, "</tbody></table>\n");
}
