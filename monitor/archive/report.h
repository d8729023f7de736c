/* SPDX-License-Identifier: GPL-2.0-or-later */
/* report.h - runs as one self-contained HTML file without scripts: verdict, figures, timeline, events, and
 * the method with the settings and the host, so that it can be mailed and still be judged. */
#ifndef DRIVESOAK_REPORT_H
#define DRIVESOAK_REPORT_H

#include <stddef.h>
#include <stdint.h>

#include "archive/journal.h"
#include "base/text.h"
#include "measure/summary.h"

/* Append the report of @count runs, written at @now_ms; @style is the style sheet of the pages. 0, or as the
 * journal, @out then incomplete. */
int report_html(struct journal *journal, const struct run_record *runs, size_t count, int64_t now_ms,
	const char *style, struct text *out);

/* The same for a terminal: one run's figures with units, verdict and reasons. */
void report_summary_text(
	const struct run_record *run, const struct summary_figures *figures, struct text *out);

/* "2026-11-30 22:22:00 UTC"; "unknown" for INT64_MIN. @text has REPORT_TIME_MAX. */
#define REPORT_TIME_MAX 32
void report_print_time(int64_t ms, char *text);

/* Append what the probe and the verification answered, as the pages show it too; nothing without an answer. */
void report_add_probe(const struct run_record *run, struct text *out);
void report_add_verify(const struct run_record *run, struct text *out);

/* Append the reasons of a verdict as a list, and the conditions of steady state as a table. */
const char *report_verdict_class(enum verdict verdict); /* of the style sheet */
void report_add_reasons(const struct verdict_answer *answer, struct text *out);
void report_add_steady(const struct steady_answer *steady, struct text *out);

/* Append the timeline of a run as inline SVG that uses the style sheet of the pages. */
int report_timeline_svg(struct journal *journal, const struct run_record *run, struct text *out);

#endif
