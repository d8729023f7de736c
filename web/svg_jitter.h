/* SPDX-License-Identifier: GPL-2.0-or-later */
/* svg_jitter.h - the jitter plot as SVG: one column of dots a run, each dot one sample, its sideways offset drawn
 * from a hash of the run and the time of the sample, so that the same samples give the same picture, byte for
 * byte. The width of a column follows the density; the median is a thick line with its number, the worst 1 % a
 * thin one; n and the coefficient of variation stand below. Real zeros are red dots on the axis. Pure. */
#ifndef DRIVESOAK_SVG_JITTER_H
#define DRIVESOAK_SVG_JITTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

#define SVG_JITTER_COLUMNS_MAX 12
#define SVG_JITTER_COLOURS     5

struct svg_jitter_column {
	const char *run;  /* seeds the offsets */
	const char *name; /* below the column; hostile text is fine */
	unsigned colour;  /* 1..SVG_JITTER_COLOURS */
	const int64_t *t_ms;
	const double *bytes_per_s; /* all finite */
	size_t count;
	double median, p1, cv; /* of these samples, NAN when there are none */
	double stalled_s;      /* NAN: not known */
	bool is_host_limited;  /* every one: grey, and said below */
};

/* The two svg elements of a chart of the style sheet, to stand in a <div class="chart">. */
void svg_jitter_inline(const struct svg_jitter_column *columns, size_t count, struct text *out);
/* A document of its own, @width pixels wide, with its own style. */
void svg_jitter_document(
	const struct svg_jitter_column *columns, size_t count, unsigned width, struct text *out);

#endif
