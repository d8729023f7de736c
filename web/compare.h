/* SPDX-License-Identifier: GPL-2.0-or-later */
/* compare.h - which runs are laid side by side, each with its figures, and which samples of theirs are plotted: the
 * last 24 h of each or as much as the shortest has, the same number of every run. One thread. */
#ifndef DRIVESOAK_COMPARE_H
#define DRIVESOAK_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "measure/summary.h"
#include "web/call.h"
#include "web/svg_jitter.h"

#define COMPARE_MAX SVG_JITTER_COLUMNS_MAX

struct compare_run {
	struct run_record run;
	int64_t *t_ms;
	double *bytes_per_s; /* written, or read where the workload only reads */
	size_t count, capacity;
	size_t first; /* of the samples that are compared; from here to count */
	bool reads;
	bool is_host_limited;		/* in every sample of the window: then these are compared */
	struct summary_figures plotted; /* over these samples */
	struct summary_figures figures; /* of the run, the same as on every page */
};

struct compare {
	struct compare_run *runs;
	size_t count;
	size_t left_out; /* of those that nobody chose, for want of room */
};

/* Does it read beside its writes, does it commit? */
bool compare_mixes(const struct run_record *run);
bool compare_commits(const struct run_record *run);
/* 1..SVG_JITTER_COLOURS, the same for a drive on every page. */
unsigned compare_colour(const struct call_site *site, const char *drive);

/* The runs of the query (?runs=A,B or runs=A&runs=B), else the newest of every drive and the newest import
 * of every name, as far as there is room. False after call_fail().
 * compare_fini() in both cases. */
bool compare_init(struct call *call, struct compare *compare);
void compare_fini(struct compare *compare);
/* @columns has COMPARE_MAX; it points into @compare. */
void compare_columns(
	const struct call *call, const struct compare *compare, struct svg_jitter_column *columns);
/* Of the figures of the run: written, or read where the workload only reads. */
const struct summary_rates *compare_rates(const struct compare_run *run);

#endif
