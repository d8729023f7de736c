/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "web/pages.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive/figures.h"
#include "archive/report.h"
#include "base/units.h"
#include "config/config.h"
#include "measure/status_json.h"
#include "web/compare.h"
#include "web/live.h"
#include "web/number.h"
#include "web/page.h"

#define COLUMNS	      12
#define EVENTS_SHOWN  10
#define SERIAL_SHOWN  6
#define IMPORTS_SHOWN 20

struct row {
	struct drive_status drive;
	struct page_state state;
	struct summary_figures figures;
	bool has_figures, reads;
};

static void add_tally(struct text *body, const struct row *rows, size_t count)
{
	text_add(body, "<ul class=\"tally\">");
	for (size_t i = 0; i < count; i++) {
		size_t same = 0;

		/* Rows are sorted by state, so like states stand together. */
		if (i && strcmp(rows[i].state.word, rows[i - 1].state.word) == 0)
			continue;
		while (i + same < count && strcmp(rows[i + same].state.word, rows[i].state.word) == 0)
			same++;
		text_addf(body, "<li class=\"%s\">", rows[i].state.class);
		page_add_icon(body, rows[i].state.icon);
		text_addf(body, "<b>%zu</b> %s</li>", same, rows[i].state.word);
	}
	text_add(body, "</ul>");
}

static void add_identity(struct call *call, const struct drive_status *drive)
{
	struct text *body = &call->body;
	size_t length = strlen(drive->serial);

	text_add(body, "<td class=\"id\" data-l=\"Drive\"><a href=\"drive/");
	page_add_segment(body, drive->name);
	text_add(body, "\">");
	text_add_html(body, drive->name);
	text_add(body, "</a>");
	if (drive->label[0]) {
		text_add(body, "<span class=\"u2\">");
		text_add_html(body, drive->label);
		text_add(body, "</span>");
	}
	if (drive->model[0] || length) {
		text_add(body, "<span class=\"u2\">");
		text_add_html(body, drive->model);
		text_add(body, drive->model[0] && length ? ", " : "");
		text_add(body, length > SERIAL_SHOWN ? "\xe2\x80\xa6" : "");
		text_add_html(body, drive->serial + (length > SERIAL_SHOWN ? length - SERIAL_SHOWN : 0));
		text_add(body, "</span>");
	}
	text_add(body, "</td>");
}

static void add_phase(struct text *body, const struct row *row)
{
	const struct drive_status *drive = &row->drive;
	char left[UNITS_TEXT_MAX];

	text_add(body, "<td class=\"phs\" data-l=\"Phase, progress and end\">");
	if (drive->run[0] == '\0') {
		text_add(body, "<span class=\"mute\">no run</span></td>");
		return;
	}
	text_add(body, run_phase_name(drive->phase));
	if (isfinite(drive->progress)) {
		/* Whole percents downwards: 100 % means over. */
		text_addf(body,
			" %d %%<svg class=\"prog %s\" viewBox=\"0 0 100 4\" preserveAspectRatio=\"none\" "
			"aria-hidden=\"true\">"
			"<rect class=\"t\" width=\"100\" height=\"4\"/><rect class=\"v\" width=\"%.1f\" "
			"height=\"4\"/></svg>",
			(int)(drive->progress * 100), row->state.class, drive->progress * 100);
	}
	if (drive->eta_ns != UINT64_MAX && drive->status == RUN_RUNNING) {
		units_print_duration_rounded((double)drive->eta_ns, left);
		text_addf(body, "<span class=\"u2\">%s left</span>", left);
	}
	text_add(body, "</td>");
}

static void add_numbers(struct call *call, const struct row *row)
{
	struct text *body = &call->body;
	const struct drive_status *drive = &row->drive;
	const struct summary_part *part = summary_shown(&row->figures);
	const struct summary_rates *rates = row->reads ? &part->read : &part->write;
	bool is_limited = row->has_figures && summary_is_host_limited(&row->figures);
	bool is_over = drive->status == RUN_DONE || drive->status == RUN_FAILED;
	const char *unknown = drive->run[0] == '\0' ? "no run" : is_over ? "ended" : "no data";
	struct text written = TEXT_INIT;
	char number[NUMBER_MAX];
	const char *none;

	/* The last sample of a run that is over is not "now". */
	number_print_mib(is_over      ? NAN
			 : row->reads ? drive->read_bytes_per_s
				      : drive->write_bytes_per_s,
		number);
	text_add(body, "<td class=\"num\" data-l=\"Now, MiB/s\">");
	if (number[0])
		text_addf(body, "<span class=\"big\">%s</span></td>", number);
	else
		text_addf(body, "<span class=\"mute\">%s</span></td>", unknown);
	number_print(is_over ? NAN : status_percent_of_baseline(drive), 0, number);
	page_add_cell(body, "Of baseline, %", number, is_over ? unknown : "none yet");
	number_print_ms(is_over ? UINT64_MAX : drive->lat_p99_ns, number);
	page_add_cell(body, "p99 now, ms", number, unknown);
	none = drive->run[0] == '\0' ? "no run" : "none yet";
	number_print_mib(row->has_figures ? rates->median : NAN, number);
	page_add_figure_cell(body, "Median, MiB/s", number, none, is_limited);
	number_print_mib(row->has_figures ? rates->p1 : NAN, number);
	page_add_figure_cell(body, "Worst 1 %, MiB/s", number, none, is_limited);
	number_print(drive->temp_c, 0, number);
	page_add_cell(body,
		"Temperature, \xc2\xb0"
		"C",
		number, "?");
	page_add_bytes(&written, drive->written_bytes);
	page_add_cell(body, "Written", text_string(&written), none);
	text_fini(&written);
}

static void add_run_and_age(struct call *call, const struct drive_status *drive)
{
	struct text *body = &call->body;

	text_add(body, "<td data-l=\"Run\">");
	if (drive->run[0]) {
		text_add(body, "<a href=\"run/");
		page_add_segment(body, drive->run);
		text_add(body, "\">charts</a>");
	} else {
		text_add(body, "<span class=\"mute\">none</span>");
	}
	text_add(body, "</td><td class=\"num age\" data-l=\"Data age\">");
	if (drive->last_sample_ms != INT64_MIN) {
		page_add_age(call, drive->last_sample_ms, page_is_due(drive->status));
	} else {
		text_add(body, "<span class=\"mute\">none</span>");
	}
	text_add(body, "</td>");
}

static void add_row(struct call *call, const struct row *row)
{
	struct text *body = &call->body;

	text_add(body, "<tbody><tr class=\"main\"><td class=\"st\" data-l=\"State\">");
	page_add_state(body, row->state);
	if (row->has_figures && row->drive.status == RUN_DONE)
		text_addf(body, "<span class=\"u2 %s\">%s</span>",
			report_verdict_class(row->figures.verdict.verdict),
			verdict_name(row->figures.verdict.verdict));
	text_add(body, "</td>");
	add_identity(call, &row->drive);
	add_phase(body, row);
	add_numbers(call, row);
	add_run_and_age(call, &row->drive);
	text_add(body, "</tr>");
	if (row->drive.reason[0]) {
		text_addf(body, "<tr class=\"why\"><td colspan=\"%d\"><span class=\"txt %s\"><span>", COLUMNS,
			row->state.class);
		text_add_html(body, row->drive.reason);
		text_add(body, "</span></span></td></tr>");
	}
	text_add(body, "</tbody>\n");
}

static void add_table(struct call *call, const struct row *rows, size_t count)
{
	text_add(&call->body,
		"<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table of drives\">"
		"<table class=\"drives\"><caption class=\"skip\">All drives, trouble first</caption><thead>"
		"<tr><th class=\"group\" scope=\"colgroup\" colspan=\"3\">Drive</th>"
		"<th class=\"group\" scope=\"colgroup\" colspan=\"3\">Now</th>"
		"<th class=\"group\" scope=\"colgroup\" colspan=\"2\">Settled window<br>(whole soak "
		"before)</th>"
		"<th class=\"group\" scope=\"colgroup\" colspan=\"3\">This run</th>"
		"<th class=\"group num\" scope=\"colgroup\">Data</th></tr>"
		"<tr><th scope=\"col\">State</th><th scope=\"col\">Name, model, serial tail</th>"
		"<th scope=\"col\">Phase, progress, end</th><th scope=\"col\" "
		"class=\"num\">Rate<br>MiB/s</th>"
		"<th scope=\"col\" class=\"num\">Of base-<br>line, %</th>"
		"<th scope=\"col\" class=\"num\">p99 lat.<br>ms</th><th scope=\"col\" "
		"class=\"num\">Median<br>MiB/s</th>"
		"<th scope=\"col\" class=\"num\">Worst 1 %<br>MiB/s</th><th scope=\"col\" "
		"class=\"num\">Temp.<br>\xc2\xb0"
		"C</th>"
		"<th scope=\"col\" class=\"num\">Written</th><th scope=\"col\">Run</th>"
		"<th scope=\"col\" class=\"num\">Age</th></tr></thead>\n");
	for (size_t i = 0; i < count; i++)
		add_row(call, &rows[i]);
	text_add(&call->body, "</table></div>\n");
}

static int by_trouble(const void *a, const void *b)
{
	const struct row *left = a, *right = b;

	if (left->state.rank != right->state.rank)
		return left->state.rank < right->state.rank ? -1 : 1;
	if (strcmp(left->state.word, right->state.word) != 0)
		return strcmp(left->state.word, right->state.word);
	return strcmp(left->drive.name, right->drive.name);
}

/* The figures are a bonus of the overview: without them the row still tells the state. */
static void load_row(struct call *call, size_t index, struct row *row)
{
	struct journal *journal;
	struct run_record run;

	(void)live_read(call->site, index, &row->drive);
	row->state = page_state_of_drive(&row->drive);
	if (row->drive.run[0] == '\0' || store_journal(call->store, &journal) < 0 ||
		journal_get_run(journal, row->drive.run, &run) < 0)
		return;
	row->reads = figures_is_read(&run);
	row->has_figures = store_figures(call->store, &run, &row->figures) == 0;
}

/* --- imported runs: no drive of the configuration stands for them --- */

struct imports {
	char ids[IMPORTS_SHOWN][RUN_ID_MAX];
	size_t count, total;
};

/* Names first: the figures of a run take a walk of their own over the journal. */
static int keep_import(const struct run_record *run, void *arg)
{
	struct imports *imports = arg;

	if (imports->count < IMPORTS_SHOWN)
		memcpy(imports->ids[imports->count++], run->id, RUN_ID_MAX);
	imports->total++;
	return 0;
}

static void add_import(struct call *call, const struct run_record *run, const struct summary_figures *figures)
{
	struct text *body = &call->body;
	const struct summary_part *part = summary_shown(figures);
	const struct summary_rates *rates = figures_is_read(run) ? &part->read : &part->write;
	char number[NUMBER_MAX];

	text_add(body, "<tr><th scope=\"row\" class=\"nw\">");
	text_add_html(body, run->drive);
	text_add(body, "</th><td>");
	page_add_time(body, run->started_ms);
	text_add(body, "</td>");
	number_print_mib(rates->median, number);
	page_add_figure_cell(body, "", number, page_none_of(run), summary_is_host_limited(figures));
	text_addf(body, "<td class=\"nw %s\">%s</td><td><a href=\"run/",
		report_verdict_class(figures->verdict.verdict), verdict_name(figures->verdict.verdict));
	page_add_segment(body, run->id);
	text_add(body, "\">charts</a></td></tr>\n");
}

static void add_import_rows(struct call *call, const struct imports *imports)
{
	struct summary_figures figures;
	struct journal *journal;
	struct run_record run;

	for (size_t i = 0; i < imports->count; i++)
		if (store_journal(call->store, &journal) == 0 &&
			journal_get_run(journal, imports->ids[i], &run) == 0 &&
			store_figures(call->store, &run, &figures) == 0)
			add_import(call, &run, &figures);
}

/* As the figures of the drives, a bonus: a journal that can't be read is told among the events. */
static void add_imports(struct call *call)
{
	struct text *body = &call->body;
	struct imports imports = { .count = 0 };
	struct journal *journal;

	if (store_journal(call->store, &journal) < 0 ||
		journal_each_import(journal, keep_import, &imports) < 0 || imports.count == 0)
		return;
	text_add(body, "<section class=\"below\" id=\"imported\"><h2>Imported</h2>\n<div class=\"scroll\" "
		       "tabindex=\"0\" "
		       "role=\"region\" aria-label=\"Table of imported runs\"><table><thead><tr><th "
		       "scope=\"col\">Name</th><th scope=\"col\">Started</th><th scope=\"col\" "
		       "class=\"num\">Median<br>MiB/s</th><th scope=\"col\">Verdict</th><th "
		       "scope=\"col\">Run</th></tr></thead><tbody>\n");
	add_import_rows(call, &imports);
	text_add(body, "</tbody></table></div>\n<p class=\"small\"><a href=\"runs\">All runs</a>");
	if (imports.total > imports.count)
		text_addf(body, "<span class=\"mute\">, %zu more imported ones among them</span>",
			imports.total - imports.count);
	text_add(body, "</p></section>\n");
}

void pages_overview(struct call *call)
{
	struct text *body = &call->body;
	size_t count = live_count(call->site);
	struct row *rows = calloc(count + 1, sizeof(*rows));

	if (!rows) {
		call_fail(call, 500, "out of memory");
		return;
	}
	for (size_t i = 0; i < count; i++)
		load_row(call, i, &rows[i]);
	qsort(rows, count, sizeof(*rows), by_trouble);
	page_open(call, "Overview", NAV_OVERVIEW, false);
	text_addf(body, "<div id=\"overview\" data-live><div class=\"head\"><h1>%zu drive%s on ", count,
		count == 1 ? "" : "s");
	text_add_html(body, call->site->host);
	text_add(body, "</h1>");
	add_tally(body, rows, count);
	text_add(body, "</div>\n");
	if (count)
		add_table(call, rows, count);
	else
		text_add(body,
			"<p>No drive is configured. Add a <code>drive \"name\" { ... }</code> section to the "
			"configuration and restart the service.</p>\n");
	free(rows);
	add_imports(call);
	text_add(body, "<section class=\"below\"><h2>Events</h2>\n");
	page_add_events(call, NULL, EVENTS_SHOWN, true);
	text_add(body, "<p class=\"small\"><a href=\"events\">All events</a></p></section></div>\n");
	page_close(call);
}
