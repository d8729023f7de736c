/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "web/pages.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "archive/figures.h"
#include "archive/report.h"
#include "base/units.h"
#include "web/compare.h"
#include "web/live.h"
#include "web/number.h"
#include "web/page.h"

#define EVENTS_SHOWN 1000

struct ids {
	char (*items)[RUN_ID_MAX];
	size_t count, capacity;
};

/* Names first: the figures of a run take a walk of their own over the journal. */
static int keep_id(const struct run_record *run, void *arg)
{
	struct ids *ids = arg;

	if (ids->count == ids->capacity) {
		size_t capacity = ids->capacity ? ids->capacity * 2 : 64;
		void *items = realloc(ids->items, capacity * sizeof(*ids->items));

		if (!items)
			return -ENOMEM;
		ids->items = items;
		ids->capacity = capacity;
	}
	memcpy(ids->items[ids->count++], run->id, RUN_ID_MAX);
	return 0;
}

static struct page_state state_of(const struct call *call, const struct run_record *run)
{
	size_t index = live_find(call->site, run->drive);
	struct drive_status drive;

	if (index != SIZE_MAX) {
		(void)live_read(call->site, index, &drive);
		if (strcmp(drive.run, run->id) == 0)
			return page_state_of_drive(&drive);
	}
	return page_state_of(run->progress.status, run->progress.phase);
}

static void add_run_names(struct call *call, const struct run_record *run, enum verdict verdict)
{
	struct text *body = &call->body;

	text_add(body,
		"<tr><th scope=\"row\" class=\"nw\"><label><input type=\"checkbox\" name=\"runs\" value=\"");
	text_add_html(body, run->id);
	text_add(body, "\"><span class=\"skip\">compare</span></label> <a href=\"run/");
	page_add_segment(body, run->id);
	text_add(body, "\">");
	text_add_html(body, run->drive);
	text_add(body, "</a></th><td>");
	page_add_state(body, state_of(call, run));
	text_addf(body, "</td><td class=\"nw %s\">%s</td><td>", report_verdict_class(verdict),
		verdict_name(verdict));
	text_add_html(body, run->model);
	text_add(body, "<span class=\"u2\">");
	text_add_html(body, run->serial);
	text_add(body, "</span></td><td>");
	page_add_time(body, run->started_ms);
	text_add(body, "</td><td>");
	if (run->ended_ms != INT64_MIN)
		page_add_time(body, run->ended_ms);
	else
		text_add(body, "<span class=\"mute\">not ended</span>");
	text_addf(body, "</td><td>%s</td>", run_source_name(run->source));
}

static void add_run_figures(
	struct call *call, const struct run_record *run, const struct summary_figures *figures)
{
	struct text *body = &call->body, size = TEXT_INIT;
	const struct summary_part *part = summary_shown(figures);
	const struct summary_rates *rates = figures_is_read(run) ? &part->read : &part->write;
	bool is_limited = summary_is_host_limited(figures);
	const char *none = page_none_of(run);
	const double values[] = { rates->median, rates->p1, rates->worst_minute };
	char number[NUMBER_MAX];

	page_add_bytes(&size, run->written_bytes);
	page_add_cell(body, "Written", text_string(&size), none);
	text_fini(&size);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		number_print_mib(values[i], number);
		page_add_figure_cell(body, "", number, none, is_limited && i == 0);
	}
	number_print(rates->cv * 100, 1, number);
	page_add_cell(body, "", number, none);
	number_print_ms(part->lat_p99_ns, number);
	page_add_cell(body, "", number, none);
	number_print(part->samples ? part->stalled_s : NAN, 1, number);
	page_add_cell(body, "", number, none);
	number_print((double)part->samples, 0, number);
	page_add_cell(body, "", number, "");
	text_add(body, "</tr>\n");
}

static int add_run(struct call *call, struct journal *journal, const char *id)
{
	struct summary_figures figures;
	struct run_record run;
	int rc = journal_get_run(journal, id, &run);

	if (rc == 0)
		rc = store_figures(call->store, &run, &figures);
	if (rc < 0)
		return rc;
	add_run_names(call, &run, figures.verdict.verdict);
	add_run_figures(call, &run, &figures);
	return 0;
}

static const char runs_head[] =
	"<form action=\"compare\" method=\"get\">"
	"<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table of "
	"runs\"><table><caption>Newest first, "
	"times in UTC. Figures over the settled window, over the whole soak before there is one; rates in "
	"MiB/s.</caption><thead><tr>"
	"<th scope=\"col\">Drive</th><th scope=\"col\">State</th><th scope=\"col\">Verdict</th><th "
	"scope=\"col\">Model, serial</th>"
	"<th scope=\"col\">Started</th><th scope=\"col\">Ended</th><th scope=\"col\">Source</th>"
	"<th scope=\"col\" class=\"num\">Written</th><th scope=\"col\" class=\"num\">Median<br>MiB/s</th>"
	"<th scope=\"col\" class=\"num\">Worst 1 %<br>MiB/s</th><th scope=\"col\" class=\"num\">Worst "
	"minute<br>MiB/s</th>"
	"<th scope=\"col\" class=\"num\">CV<br>%</th><th scope=\"col\" class=\"num\">p99 lat.<br>ms</th>"
	"<th scope=\"col\" class=\"num\">Stalled<br>s</th><th scope=\"col\" class=\"num\">n</th></tr></thead>"
	"<tbody id=\"runs\" data-live>\n";

void pages_runs(struct call *call)
{
	struct ids ids = { 0 };
	struct journal *journal;
	int rc = store_journal(call->store, &journal);

	if (rc == 0)
		rc = journal_each_run(journal, keep_id, &ids);
	page_open(call, "Runs", NAV_RUNS, false);
	text_addf(&call->body, "<div class=\"head\"><h1>%zu run%s</h1></div>\n", ids.count,
		ids.count == 1 ? "" : "s");
	if (ids.count)
		text_add(&call->body, runs_head);
	else
		text_add(&call->body, "<p>Nothing has run yet.</p>\n");
	for (size_t i = 0; rc == 0 && i < ids.count; i++)
		rc = add_run(call, journal, ids.items[i]);
	if (ids.count)
		text_add(&call->body, "</tbody></table></div>\n<p class=\"bar noprint\"><button "
				      "type=\"submit\">Compare the chosen "
				      "runs</button><span class=\"mute small\">none chosen: the newest of "
				      "every drive and of every imported name</span></p></form>\n");
	page_close(call);
	free(ids.items);
	if (rc < 0 && rc != -ENOENT)
		call_fail_journal(call, rc);
}

void pages_events(struct call *call)
{
	page_open(call, "Events", NAV_EVENTS, false);
	text_add(&call->body, "<div class=\"head\"><h1>Events</h1></div>\n<div id=\"events\" data-live>\n");
	page_add_events(call, NULL, EVENTS_SHOWN, true);
	text_add(&call->body, "</div>\n");
	page_close(call);
}
