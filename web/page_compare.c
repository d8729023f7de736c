/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "web/pages.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "archive/report.h"
#include "base/units.h"
#include "web/compare.h"
#include "web/number.h"
#include "web/page.h"

static const char legend[] =
	"<span class=\"legend\"><span><svg viewBox=\"0 0 20 10\" aria-hidden=\"true\"><path class=\"dot\" "
	"d=\"M3 6h0M8 3h0M13 7h0M18 4h0\"/></svg>one sample; wide where samples are dense</span>"
	"<span><svg viewBox=\"0 0 20 10\" aria-hidden=\"true\"><path class=\"med\" d=\"M0 "
	"5h20\"/></svg>median</span>"
	"<span><svg viewBox=\"0 0 20 10\" aria-hidden=\"true\"><path class=\"tick1\" d=\"M2 "
	"5h16\"/></svg>worst 1 % (p1)"
	"</span><span><svg viewBox=\"0 0 20 10\" aria-hidden=\"true\"><path class=\"zero\" d=\"M10 "
	"5h0\"/></svg>real 0"
	"</span></span>";

/* "?runs=A,B" with the runs that are shown, so that the link means the same tomorrow. */
static void add_query(struct text *body, const struct compare *compare)
{
	text_add(body, "?runs=");
	for (size_t i = 0; i < compare->count; i++) {
		text_add(body, i ? "," : "");
		page_add_segment(body, compare->runs[i].run.id);
	}
}

static void add_plot(struct call *call, const struct compare *compare)
{
	struct svg_jitter_column columns[COMPARE_MAX];
	struct text *body = &call->body;

	text_add(body, "<div id=\"jitter\" data-live data-every-s=\"60\"><div "
		       "class=\"fig\"><header><h3>Jitter: which drive is "
		       "better, and how "
		       "steady is it <span class=\"unit\">MiB/s</span></h3>");
	text_add(body, legend);
	text_add(body, "<span class=\"end exp\">save <a href=\"graph/jitter.svg");
	add_query(body, compare);
	text_add(body, "\">SVG</a> <a href=\"compare");
	add_query(body, compare);
	text_add(body, "\">link to these runs</a></span></header>\n");
	text_addf(body, "<div class=\"chart c%zu\">", compare->count);
	compare_columns(call, compare, columns);
	svg_jitter_inline(columns, compare->count, body);
	text_add(body, "</div>\n<p class=\"note\">Read it like this: a high thick line is fast, a narrow "
		       "band of dots is "
		       "steady, dots far below the line are the bad moments a median hides. The sideways "
		       "offset carries no "
		       "value; it is seeded, so it is the same at every redraw. Each column shows the last "
		       "24 h of its soak, "
		       "or as many samples as the shortest has.</p>");
	for (size_t i = 0; i < compare->count; i++) {
		if (!compare->runs[i].is_host_limited)
			continue;
		text_add(body, "<p class=\"note limited\"><b>Grey is " SUMMARY_HOST_LIMITED ".</b></p>");
		break;
	}
	text_add(body, "</div>\n");
}

/* The columns of figures: which way is better decides which cell stands out. */
struct figure {
	const char *name, *unit;
	bool more_is_better;
	double values[COMPARE_MAX];
	int decimals; /* -1: three digits */
};

static void load_figures(const struct compare *compare, struct figure *figures)
{
	for (size_t i = 0; i < compare->count; i++) {
		const struct compare_run *run = &compare->runs[i];
		const struct summary_rates *rates = compare_rates(run);
		const struct summary_part *part = summary_shown(&run->figures);
		uint64_t p99 = part->lat_p99_ns;
		const double values[] = { rates->median / 0x1p20, rates->p1 / 0x1p20, rates->p5 / 0x1p20,
			rates->mean / 0x1p20, rates->worst_minute / 0x1p20, rates->cv * 100,
			part->samples ? part->stalled_s : NAN, p99 == UINT64_MAX ? NAN : (double)p99 / 1e6 };

		for (size_t j = 0; j < sizeof(values) / sizeof(values[0]); j++)
			figures[j].values[i] = values[j];
	}
}

static void print_figure(const struct figure *figure, size_t run, char *text)
{
	double value = figure->values[run];

	number_print(value, figure->decimals, text);
	if (figure->decimals < 0)
		number_print_mib(value * 0x1p20, text);
}

/* The one best cell as printed; a tie has none. What the host limited competes with nothing. */
static size_t find_best(const struct compare *compare, const struct figure *figure)
{
	char best_text[NUMBER_MAX], text[NUMBER_MAX];
	size_t count = compare->count, best = SIZE_MAX, equal = 0;

	for (size_t i = 0; i < count; i++) {
		if (!isfinite(figure->values[i]) || summary_is_host_limited(&compare->runs[i].figures))
			continue;
		if (best == SIZE_MAX || (figure->more_is_better ? figure->values[i] > figure->values[best]
								: figure->values[i] < figure->values[best]))
			best = i;
	}
	if (best == SIZE_MAX)
		return SIZE_MAX;
	print_figure(figure, best, best_text);
	for (size_t i = 0; i < count; i++) {
		print_figure(figure, i, text);
		equal += strcmp(text, best_text) == 0;
	}
	return equal == 1 && count > 1 ? best : SIZE_MAX;
}

static void add_figure_row(struct call *call, const struct compare *compare, size_t at,
	const struct figure *figures, size_t figure_count)
{
	struct text *body = &call->body;
	const struct run_record *run = &compare->runs[at].run;
	const struct summary_figures *its = &compare->runs[at].figures;
	const bool is_limited = summary_is_host_limited(its);
	char number[NUMBER_MAX];

	text_addf(body,
		"<tr><th scope=\"row\" class=\"nw\"><svg class=\"key\" viewBox=\"0 0 11 11\" "
		"aria-hidden=\"true\"><rect "
		"class=\"f%u%s\" width=\"11\" height=\"11\"/></svg><a href=\"run/",
		compare_colour(call->site, run->drive), is_limited ? " lim" : "");
	page_add_segment(body, run->id);
	text_add(body, "\">");
	text_add_html(body, run->label[0] ? run->label : run->drive);
	text_addf(body, "</a>%s</th><td class=\"nw %s\">%s</td>",
		is_limited ? "<span class=\"limword\">host-limited</span>" : "",
		report_verdict_class(its->verdict.verdict), verdict_name(its->verdict.verdict));
	for (size_t i = 0; i < figure_count; i++) {
		bool is_best = find_best(compare, &figures[i]) == at;

		print_figure(&figures[i], at, number);
		if (number[0])
			text_addf(body, "<td class=\"num\">%s%s%s</td>",
				is_best ? "<span class=\"best\">" : "", number, is_best ? "</span>" : "");
		else
			text_addf(body, "<td class=\"num\"><span class=\"mute\">%s</span></td>",
				page_none_of(run));
	}
	number_print((double)summary_shown(its)->samples, 0, number);
	text_addf(body, "<td class=\"num\">%s</td><td>", number);
	text_add_html(body, run->pre_state[0] ? run->pre_state : "unknown");
	text_add(body, "</td></tr>\n");
}

static void add_figures(struct call *call, const struct compare *compare)
{
	struct figure figures[] = {
		{ "Median", "MiB/s", true, { 0 }, -1 },
		{ "Worst 1 %", "MiB/s", true, { 0 }, -1 },
		{ "Worst 5 %", "MiB/s", true, { 0 }, -1 },
		{ "Mean", "MiB/s", true, { 0 }, -1 },
		{ "Worst minute", "MiB/s", true, { 0 }, -1 },
		{ "CV", "%", false, { 0 }, 1 },
		{ "Stalled", "s", false, { 0 }, 1 },
		{ "p99 lat.", "ms", false, { 0 }, -1 },
	};
	size_t figure_count = sizeof(figures) / sizeof(figures[0]);
	struct text *body = &call->body;

	load_figures(compare, figures);
	text_add(body,
		"<h2>Figures</h2><p class=\"small mute\">Over the settled window of each run, over the whole "
		"soak "
		"before there is one; the plot shows the last samples. These specimens; a claim about a "
		"model needs three drives. The best cell of a column is bold and underlined; a tie "
		"has none.</p>"
		"<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table of "
		"figures\"><table><thead><tr>"
		"<th scope=\"col\">Drive</th><th scope=\"col\">Verdict</th>");
	for (size_t i = 0; i < figure_count; i++)
		text_addf(body, "<th scope=\"col\" class=\"num\">%s<br>%s</th>", figures[i].name,
			figures[i].unit);
	text_add(body, "<th scope=\"col\" class=\"num\">n</th><th "
		       "scope=\"col\">Pre-state</th></tr></thead><tbody>\n");
	for (size_t i = 0; i < compare->count; i++)
		add_figure_row(call, compare, i, figures, figure_count);
	text_add(body, "</tbody></table></div></div>\n");
}

struct choices {
	struct text *body;
	const struct compare *compare;
};

static int add_choice(const struct run_record *run, void *arg)
{
	const struct choices *choices = arg;
	struct text *body = choices->body;
	bool is_chosen = false;

	for (size_t i = 0; i < choices->compare->count; i++)
		is_chosen |= strcmp(choices->compare->runs[i].run.id, run->id) == 0;
	text_add(body, "<li><label><input type=\"checkbox\" name=\"runs\" value=\"");
	text_add_html(body, run->id);
	text_addf(body, "\"%s> ", is_chosen ? " checked" : "");
	text_add_html(body, run->label[0] ? run->label : run->drive);
	text_add(body, " <span class=\"mute\">");
	page_add_time(body, run->started_ms);
	text_add(body, " UTC</span></label></li>\n");
	return 0;
}

static void add_choices(struct call *call, const struct compare *compare)
{
	struct choices choices = { &call->body, compare };
	struct journal *journal;

	if (store_journal(call->store, &journal) < 0)
		return;
	text_add(&call->body,
		"<details class=\"below noprint\"><summary>Choose runs</summary><form action=\"compare\" "
		"method=\"get\"><ul class=\"choices\">\n");
	(void)journal_each_run(journal, add_choice, &choices);
	text_addf(&call->body,
		"</ul><button type=\"submit\">Compare</button> <span class=\"mute small\">up to "
		"%d</span></form>"
		"</details>\n",
		COMPARE_MAX);
}

void pages_compare(struct call *call)
{
	struct compare compare;
	struct text *body = &call->body;

	if (compare_init(call, &compare)) {
		page_open(call, "Compare", NAV_COMPARE, false);
		text_addf(body, "<div class=\"head\"><h1>Compare %zu run%s</h1></div>\n", compare.count,
			compare.count == 1 ? "" : "s");
		if (compare.left_out)
			text_addf(body,
				"<p class=\"note\" id=\"leftout\">%zu more, the oldest, %s left out: there "
				"is "
				"room for %d. Others can be chosen below.</p>\n",
				compare.left_out, compare.left_out == 1 ? "is" : "are", COMPARE_MAX);
		if (compare.count) {
			add_plot(call, &compare);
			add_figures(call, &compare);
		} else {
			text_add(body, "<p>Nothing has run yet.</p>\n");
		}
		add_choices(call, &compare);
		page_close(call);
	}
	compare_fini(&compare);
}
