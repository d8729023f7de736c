/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "web/page_findings.h"

#include <string.h>

#include "base/json.h"
#include "measure/collapse.h"
#include "web/page.h"

/* Of the run's newest events; a mark a pixel is no mark. */
#define EVENTS_LOOKED 2000
#define MARKS_MAX     200

/* How a finding is called while it lasts, and looks. */
static const struct look {
	const char *kind, *state, *icon, *class;
} looks[] = {
	{ "collapse", "Collapsed", "stall", "bad" },
	{ "stall", "Stalled", "stall", "bad" },
	{ "periodic", "Saw-tooth", "warn", "warn" },
	{ "level-shift", "New level", "warn", "warn" },
	{ "degraded", "Degraded", "warn", "warn" },
	{ "cliff", "Cliff", "note", "off" },
	{ "steady", "Settled", "ok", "ok" },
	{ "steady-lost", "No longer steady", "warn", "warn" },
};

static const struct look *find_look(const char *kind)
{
	for (size_t i = 0; i < sizeof(looks) / sizeof(looks[0]); i++)
		if (strcmp(looks[i].kind, kind) == 0)
			return &looks[i];
	return NULL;
}

static bool is_moment(const struct look *look)
{
	return strncmp(look->kind, "steady", 6) == 0;
}

static void add_open(struct text *body, const struct look *look, const struct event_record *event)
{
	text_addf(body, "<li><span class=\"state %s\">", look->class);
	page_add_icon(body, look->icon);
	text_addf(body, "%s</span><b>", look->state);
	text_add_html(body, event->drive);
	text_add(body, "</b><span>");
	text_add_html(body, event->text);
	text_add(body, ".");
	if (event->cause[0]) {
		text_add(body, " <b>Cause: ");
		text_add_html(body, event->cause);
		text_add(body, ".</b> ");
		text_add_html(body, event->evidence);
	}
	text_add(body, "</span><span class=\"when\">since ");
	page_add_time(body, event->t_ms);
	text_add(body, "</span></li>\n");
}

struct box {
	struct text *body;
	unsigned count;
};

static int add_if_open(const struct event_record *event, void *arg)
{
	const struct look *look = find_look(event->kind);
	struct box *box = arg;

	if (!look)
		return 0;
	if (box->count++ == 0)
		text_add(box->body, "<section class=\"alerts\" aria-label=\"What lasts now\"><ul>\n");
	add_open(box->body, look, event);
	return 0;
}

void page_add_findings(struct call *call, const struct run_record *run)
{
	struct box box = { &call->body, 0 };
	struct journal *journal;

	text_add(&call->body, "<div id=\"findings\" data-live>");
	/* Of a log that ends in a fall nothing lasts now. That the journal can't be read is told by the table of events. */
	if (run->ended_ms == INT64_MIN && store_journal(call->store, &journal) == 0)
		(void)journal_each_open_event(journal, run->id, add_if_open, &box);
	text_add(&call->body, box.count ? "</ul></section></div>\n" : "</div>\n");
}

struct marks {
	struct json json;
	unsigned count;
};

static int add_mark(const struct event_record *event, void *arg)
{
	const struct look *look = find_look(event->kind);
	struct marks *marks = arg;
	struct json *json = &marks->json;

	if (!look || marks->count == MARKS_MAX)
		return 0;
	marks->count++;
	json_object_open(json);
	json_put_string(json, "kind", look->kind);
	json_put_string(json, "class", look->class);
	json_put_i64(json, "from_ms", event->t_ms);
	if (is_moment(look))
		json_put_i64(json, "to_ms", event->t_ms);
	else if (event->until_ms == INT64_MIN)
		json_put_null(json, "to_ms");
	else
		json_put_i64(json, "to_ms", event->until_ms);
	json_object_close(json);
	return 0;
}

void page_add_marks(struct call *call, const struct run_record *run)
{
	struct text text = TEXT_INIT;
	struct marks marks = { 0 };
	struct journal *journal;

	json_init(&marks.json, &text);
	json_array_open(&marks.json);
	if (store_journal(call->store, &journal) == 0)
		(void)journal_each_event(journal, run->id, EVENTS_LOOKED, add_mark, &marks);
	json_array_close(&marks.json);
	text_add(&call->body, " data-marks=\"");
	text_add_html(&call->body, text_string(&text));
	text_add(&call->body, "\"");
	text_fini(&text);
}
