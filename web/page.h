/* SPDX-License-Identifier: GPL-2.0-or-later */
/* page.h - what all pages share: head and foot, the icon and word of a state, numbers in their cells. All text
 * that comes from a drive, a file or a request is escaped here. Links are relative, so that the pages work below
 * any path of a proxy. Thread of the listener. */
#ifndef DRIVESOAK_PAGE_H
#define DRIVESOAK_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "archive/journal.h"
#include "measure/status.h"
#include "web/call.h"

enum page_nav { NAV_NONE, NAV_OVERVIEW, NAV_COMPARE, NAV_RUNS, NAV_EVENTS };

/* From the doctype to <main>; @charts adds the scripts of the charts. */
void page_open(struct call *call, const char *title, enum page_nav nav, bool charts);
void page_close(struct call *call);
/* The whole page of a failed call. */
void page_problem(struct call *call);

/* "../" up to the root, "" at depth 0. */
void page_add_root(struct call *call);
/* A name as one segment of a path or one value of a query: everything unusual is percent-encoded. */
void page_add_segment(struct text *text, const char *name);

void page_add_icon(struct text *text, const char *icon);

/* How a state looks: its word, its icon and the class of its colour. */
struct page_state {
	const char *word, *icon, *class;
	unsigned rank; /* trouble first */
};
struct page_state page_state_of(enum run_status status, enum run_phase phase);
/* What has befallen its throughput comes before the phase. */
struct page_state page_state_of_drive(const struct drive_status *drive);
void page_add_state(struct text *text, struct page_state state);

/* <time>2026-11-30 22:31:10</time> in UTC; INT64_MIN is a dash. */
void page_add_time(struct text *text, int64_t ms);
/* How old a sample is; the script counts on from here and, where the next one @is_due, warns when it is late. */
void page_add_age(struct call *call, int64_t sample_ms, bool is_due);
bool page_is_due(enum run_status status);
/* What stands where a figure of this run is not known: a log that was imported will never tell it. */
const char *page_none_of(const struct run_record *run);
/* <td class="num"> with the label that narrow screens show; an empty @value becomes @unknown, muted. */
void page_add_cell(struct text *text, const char *label, const char *value, const char *unknown);
/* The same for a figure; where the host was the limit in all samples it says so. */
void page_add_figure_cell(
	struct text *text, const char *label, const char *value, const char *unknown, bool is_host_limited);
/* One row of two cells for the tables of facts; @value is text. */
void page_add_fact(struct text *text, const char *name, const char *value);
void page_add_bytes(struct text *text, uint64_t bytes);

/* The table of events, newest first; of one run or (NULL) all. A journal that fails is told in the table. */
void page_add_events(struct call *call, const char *run, size_t limit, bool with_drive);

#endif
