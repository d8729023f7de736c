/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "web/graph.h"

#include <errno.h>
#include <microhttpd.h>
#include <rrd.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "archive/figures.h"
#include "archive/rrdfile.h"
#include "web/compare.h"
#include "web/svg_jitter.h"

#define WIDTH_DEFAULT  1000
#define WIDTH_MIN      300
#define WIDTH_MAX      4000
#define TIMELINE_LINES 300
#define ARGUMENTS_MAX  40

/* librrd takes char ** and its arguments are built from numbers and from names that people chose. */
struct arguments {
	char *items[ARGUMENTS_MAX];
	int count;
	bool failed;
};

static void add_taken(struct arguments *arguments, struct text *text)
{
	size_t length;
	char *item = text_take(text, &length);

	if (!item || arguments->count == ARGUMENTS_MAX) {
		free(item);
		arguments->failed = true;
		return;
	}
	arguments->items[arguments->count++] = item;
}

static void add(struct arguments *arguments, const char *argument)
{
	struct text text = TEXT_INIT;

	text_add(&text, argument);
	add_taken(arguments, &text);
}

static void add_number(struct arguments *arguments, const char *option, long long number)
{
	struct text text = TEXT_INIT;

	add(arguments, option);
	text_addf(&text, "%lld", number);
	add_taken(arguments, &text);
}

static void fini_arguments(struct arguments *arguments)
{
	for (int i = 0; i < arguments->count; i++)
		free(arguments->items[i]);
}

/* As a part of an element such as DEF:name=PATH:source: a colon would end it. */
static void add_escaped(struct text *text, const char *string)
{
	for (; *string; string++) {
		if (*string == ':' || *string == '\\')
			text_add(text, "\\");
		text_add_bytes(text, string, 1);
	}
}

/* Model names come from drives; Pango wants UTF-8, so anything beyond plain ASCII is shown as a dot. */
static void add_plain(struct text *text, const char *string)
{
	for (; *string; string++)
		text_add_bytes(text, *string >= ' ' && *string <= '~' ? string : ".", 1);
}

static void add_source(struct arguments *arguments, const char *name, const char *path, const char *source,
	const char *function)
{
	struct text text = TEXT_INIT;

	text_addf(&text, "DEF:%s=", name);
	add_escaped(&text, path);
	text_addf(&text, ":%s:%s", source, function);
	add_taken(arguments, &text);
}

static void add_rate(struct arguments *arguments, const char *name, const char *bytes, unsigned interval_s)
{
	struct text text = TEXT_INIT;

	text_addf(&text, "CDEF:%s=%s,%u,/", name, bytes, interval_s);
	add_taken(arguments, &text);
}

static void add_title(struct arguments *arguments, const struct run_record *run)
{
	struct text text = TEXT_INIT;

	add(arguments, "--title");
	add_plain(&text, run->drive);
	text_add(&text, run->model[0] ? ", " : "");
	add_plain(&text, run->model);
	text_add(&text, run->source == SOURCE_IMPORTED ? ": imported, " : ": random ");
	text_add(&text, figures_is_read(run) ? "read" : "write");
	add_taken(arguments, &text);
}

/* The axis is in the time of the server; say which that is. */
static void add_zone(struct arguments *arguments, int64_t at_ms)
{
	time_t at = (time_t)(at_ms / 1000);
	struct text text = TEXT_INIT;
	char zone[48];
	struct tm tm;

	if (!localtime_r(&at, &tm) || strftime(zone, sizeof(zone), "%Z (UTC%z)", &tm) == 0)
		return;
	text_add(&text, "COMMENT:time zone ");
	add_escaped(&text, zone);
	text_add(&text, "\\r");
	add_taken(arguments, &text);
}

struct timeline {
	int64_t from_ms, to_ms;
	uint64_t width;
	const char *format; /* SVG or PNG */
};

static void make_arguments(struct arguments *arguments, const struct run_record *run, const char *path,
	const struct timeline *timeline)
{
	const char *source = figures_is_read(run) ? "read_bytes" : "write_bytes";

	add(arguments, "graph");
	add(arguments, "-");
	add(arguments, "--imgformat");
	add(arguments, timeline->format);
	add_number(arguments, "--start", timeline->from_ms / 1000);
	add_number(arguments, "--end", timeline->to_ms / 1000);
	add_number(arguments, "--width", (long long)timeline->width);
	add_number(arguments, "--height", TIMELINE_LINES);
	add(arguments, "--vertical-label");
	add(arguments, "bytes/s");
	add(arguments, "--base");
	add(arguments, "1024");
	add(arguments, "--lower-limit");
	add(arguments, "0");
	add_title(arguments, run);
	add_source(arguments, "lowest", path, source, "MIN");
	add_source(arguments, "mean", path, source, "AVERAGE");
	/* A young run has no consolidated minimum yet. */
	add(arguments, "CDEF:lowest_known=lowest,UN,mean,lowest,IF");
	add_rate(arguments, "lowest_rate", "lowest_known", run->interval_s);
	add_rate(arguments, "mean_rate", "mean", run->interval_s);
	add(arguments, "AREA:lowest_rate#b3d4e8:lowest sample");
	add(arguments, "LINE1.4:mean_rate#0072b2:mean");
	add_zone(arguments, timeline->from_ms);
}

/* 0 with the picture in @out; -ENOMEM, or -EIO with librrd's text in @why. */
static int draw(struct arguments *arguments, const char *path, struct text *out, struct text *why)
{
	rrd_info_t *info, *item;
	int rc = rrdfile_lock_graph(path);

	if (rc < 0)
		return rc;
	rc = -EIO;
	rrd_clear_error();
	info = rrd_graph_v(arguments->count, arguments->items);
	if (!info)
		text_add(why, rrd_test_error() ? rrd_get_error() : "unknown");
	rrdfile_unlock_graph(path);
	for (item = info; item; item = item->next) {
		if (strcmp(item->key, "image") != 0 || item->type != RD_I_BLO)
			continue;
		text_add_bytes(out, (const char *)item->value.u_blo.ptr, item->value.u_blo.size);
		rc = 0;
	}
	rrd_info_free(info);
	return rc;
}

static bool get_timeline(struct call *call, const struct run_record *run, struct timeline *timeline)
{
	struct journal *journal;
	struct sample last;

	timeline->from_ms = run->started_ms;
	timeline->to_ms = call->now_ms;
	if (store_journal(call->store, &journal) == 0 &&
		journal_get_last_sample(journal, run->id, &last) == 0)
		timeline->to_ms = last.t_ms;
	timeline->width = WIDTH_DEFAULT;
	if (!call_query_time(call, "from", &timeline->from_ms) ||
		!call_query_time(call, "to", &timeline->to_ms) ||
		!call_query_count(call, "width", WIDTH_MIN, WIDTH_MAX, &timeline->width))
		return false;
	/* librrd counts in seconds and wants one at least. */
	if (timeline->from_ms / 1000 < timeline->to_ms / 1000)
		return true;
	if (call_query(call, "from") || call_query(call, "to")) {
		call_fail(call, MHD_HTTP_BAD_REQUEST, "from: must be before to");
		return false;
	}
	timeline->to_ms = timeline->from_ms + (int64_t)run->interval_s * 1000;
	return true;
}

static void answer_timeline(struct call *call, const char *format, const char *type)
{
	struct timeline timeline = { .format = format };
	struct arguments arguments = { .count = 0 };
	struct text why = TEXT_INIT;
	struct rrdfile *file;
	struct run_record run;
	int rc;

	if (!call_get_run(call, &run) || !get_timeline(call, &run, &timeline))
		return;
	if (rrdfile_new(call->site->state_directory, run.id, run.interval_s, &file) < 0) {
		call_fail(call, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory");
		return;
	}
	make_arguments(&arguments, &run, rrdfile_path(file), &timeline);
	call->type = type;
	rc = arguments.failed ? -ENOMEM : draw(&arguments, rrdfile_path(file), &call->body, &why);
	if (rc < 0)
		call_fail(call, MHD_HTTP_SERVICE_UNAVAILABLE, "the graph cannot be drawn: %s",
			rc == -ENOMEM ? "out of memory" : text_string(&why));
	fini_arguments(&arguments);
	rrdfile_free(file);
	text_fini(&why);
}

void graph_timeline_svg(struct call *call)
{
	answer_timeline(call, "SVG", "image/svg+xml");
}

void graph_timeline_png(struct call *call)
{
	answer_timeline(call, "PNG", "image/png");
}

void graph_jitter(struct call *call)
{
	struct svg_jitter_column columns[COMPARE_MAX];
	uint64_t width = WIDTH_DEFAULT;
	struct compare compare;

	if (!call_query_count(call, "width", WIDTH_MIN, WIDTH_MAX, &width))
		return;
	if (compare_init(call, &compare)) {
		call->type = "image/svg+xml";
		if (compare.count) {
			compare_columns(call, &compare, columns);
			svg_jitter_document(columns, compare.count, (unsigned)width, &call->body);
		} else {
			call_fail(call, MHD_HTTP_NOT_FOUND, "there is no run to show");
		}
	}
	compare_fini(&compare);
}
