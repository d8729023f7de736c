/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "web/svg_jitter.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "web/number.h"

/* Geometry in pixels: labels keep their size, only the columns stretch. */
#define TOP	     20
#define BOTTOM	     426
#define HEIGHT	     494
#define WORDS_HEIGHT 15 /* more, where the host was the limit in a column */
#define AXIS_WIDTH   60
#define BINS	     ((BOTTOM - TOP) / 4 + 1)
/* The plot's inner x axis, stretched to whatever width there is. */
#define INNER_WIDTH 2000
/* More dots a column than this only make the picture slow: the rest is thinned, the worst 1 % never. */
#define DOTS_MAX 9000
/* Dots of up to so many samples are larger and denser, so that they are seen. */
#define FEW_MAX	 300
#define SOME_MAX 2000
/* Of a column's share of the width. */
#define COLUMN_CENTRE 0.44
#define COLUMN_HALF   0.38

struct plot {
	const struct svg_jitter_column *columns;
	size_t count;
	double step_mib, top_mib; /* gridlines and the end of the axis */
	int height;
	struct text *out;
};

static double mib(double bytes_per_s)
{
	return bytes_per_s / (1024.0 * 1024.0);
}

/* Gridlines on 1, 2 or 5 times a power of ten, eight at most. */
static void choose_axis(struct plot *plot)
{
	static const double mantissas[] = { 1, 2, 5, 10 };
	double max = 0, decade, step = 1;

	for (size_t i = 0; i < plot->count; i++) {
		for (size_t j = 0; j < plot->columns[i].count; j++)
			max = fmax(max, mib(plot->columns[i].bytes_per_s[j]));
	}
	if (max <= 0)
		max = 1;
	decade = pow(10, floor(log10(max / 8)));
	for (size_t i = 0; i < 4; i++) {
		step = mantissas[i] * decade;
		if (max / step <= 8)
			break;
	}
	plot->step_mib = step;
	plot->top_mib = ceil(max / step) * step;
}

static struct plot plot_of(const struct svg_jitter_column *columns, size_t count, struct text *out)
{
	struct plot plot = { .columns = columns, .count = count, .out = out, .height = HEIGHT };

	for (size_t i = 0; i < count; i++)
		if (columns[i].is_host_limited)
			plot.height = HEIGHT + WORDS_HEIGHT;
	choose_axis(&plot);
	return plot;
}

static double y_of(const struct plot *plot, double bytes_per_s)
{
	return BOTTOM - mib(bytes_per_s) / plot->top_mib * (BOTTOM - TOP);
}

static double centre_pct(const struct plot *plot, size_t column)
{
	return ((double)column + COLUMN_CENTRE) * 100.0 / (double)plot->count;
}

static double share_pct(const struct plot *plot, double share)
{
	return share * 100.0 / (double)plot->count;
}

/* 0 <= u < 1, the same for the same run and time on every machine. */
static double offset_of(const char *run, int64_t t_ms)
{
	unsigned char key[8];
	XXH64_hash_t hash;

	for (unsigned i = 0; i < sizeof(key); i++)
		key[i] = (unsigned char)((uint64_t)t_ms >> (8 * i));
	hash = XXH64(key, sizeof(key), XXH64(run, strlen(run), 0));
	return (double)(hash >> 11) * 0x1p-53;
}

static size_t bin_of(double y)
{
	double bin = (BOTTOM - y) / 4;

	return bin <= 0 ? 0 : bin >= BINS - 1 ? BINS - 1 : (size_t)bin;
}

/* How wide the column is at each height: 1 where it is densest. Neighbours are blended, so that the outline
 * doesn't show the bins. */
static void measure_density(const struct plot *plot, const struct svg_jitter_column *column, double *width)
{
	double count[BINS + 4] = { 0 }, max = 0;

	for (size_t i = 0; i < column->count; i++)
		count[bin_of(y_of(plot, column->bytes_per_s[i])) + 2] += 1;
	for (size_t i = 0; i < BINS; i++) {
		width[i] =
			(count[i] + 2 * count[i + 1] + 3 * count[i + 2] + 2 * count[i + 3] + count[i + 4]) /
			9;
		max = fmax(max, width[i]);
	}
	for (size_t i = 0; i < BINS; i++)
		width[i] = max > 0 ? fmax(width[i] / max, 0.05) : 0;
}

static bool is_drawn(const struct svg_jitter_column *column, size_t i, double offset)
{
	if (column->count <= DOTS_MAX || column->bytes_per_s[i] <= column->p1)
		return true;
	/* The offset is as good as random, and thins the same samples each time. */
	return fmod(offset * 1e6, 1.0) * (double)column->count < DOTS_MAX;
}

/* A path of strokes of no length with round ends. Steps are relative and y is rounded to half a pixel, which
 * keeps 8640 dots below 100 kB. */
struct pen {
	struct text *out;
	long x, y2; /* y2: half pixels */
	bool down;
};

static void pen_dot(struct pen *pen, double x, double y)
{
	long next_x = lround(x), next_y2 = lround(y * 2);
	long dy2 = next_y2 - pen->y2;

	text_addf(pen->out, pen->down ? "m%ld %s%ld%sh0" : "M%ld %s%ld%sh0", next_x - pen->x,
		dy2 < 0 ? "-" : "", labs(dy2) / 2, dy2 & 1 ? ".5" : "");
	pen->x = next_x;
	pen->y2 = next_y2;
	pen->down = true;
}

static const char *dots_class(size_t count)
{
	return count <= FEW_MAX ? "jit few" : count <= SOME_MAX ? "jit some" : "jit";
}

static void put_dots(const struct plot *plot, size_t at, bool zeros)
{
	const struct svg_jitter_column *column = &plot->columns[at];
	double half = INNER_WIDTH * COLUMN_HALF / (double)plot->count;
	double centre = INNER_WIDTH * centre_pct(plot, at) / 100;
	struct pen pen = { .out = plot->out };
	double width[BINS];

	measure_density(plot, column, width);
	if (zeros)
		text_add(plot->out, "<path class=\"zero\" d=\"");
	else
		text_addf(plot->out, "<path class=\"%s s%u%s\" d=\"", dots_class(column->count),
			column->colour, column->is_host_limited ? " lim" : "");
	for (size_t i = 0; i < column->count; i++) {
		double rate = column->bytes_per_s[i], y = y_of(plot, rate);
		double offset = offset_of(column->run, column->t_ms[i]);

		if ((rate <= 0) == zeros && is_drawn(column, i, offset))
			pen_dot(&pen, centre + (2 * offset - 1) * half * (zeros ? 0.5 : width[bin_of(y)]), y);
	}
	text_add(plot->out, "\"/>");
}

static void put_grid(const struct plot *plot)
{
	for (double mark = 0; mark <= plot->top_mib * 1.0001; mark += plot->step_mib) {
		double y = BOTTOM - mark / plot->top_mib * (BOTTOM - TOP);

		text_addf(plot->out, "<line class=\"%s\" x1=\"0\" x2=\"100%%\" y1=\"%.1f\" y2=\"%.1f\"/>",
			mark > 0 ? "g" : "g0", y, y);
	}
}

static void put_line(const struct plot *plot, const char *class, double from_pct, double to_pct, double y)
{
	text_addf(plot->out, "<line class=\"%s\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"%.1f\" y2=\"%.1f\"/>",
		class, from_pct, to_pct, y, y);
}

static void put_label(const struct plot *plot, const char *class, double pct, double y, const char *anchor,
	const char *label)
{
	text_addf(plot->out, "<text class=\"%s\" x=\"%.2f%%\" y=\"%.1f\" text-anchor=\"%s\">", class, pct, y,
		anchor);
	text_add_html(plot->out, label);
	text_add(plot->out, "</text>");
}

/* Lines and numbers of the median and of the worst 1 %. */
static void put_figures(const struct plot *plot, size_t at)
{
	const struct svg_jitter_column *column = &plot->columns[at];
	double centre = centre_pct(plot, at), right = centre + share_pct(plot, 0.40);
	double median_y = y_of(plot, column->median), p1_y = y_of(plot, column->p1), label_y;
	char number[NUMBER_MAX], label[NUMBER_MAX + 8];

	if (isnan(column->median) || isnan(column->p1))
		return;
	put_line(plot, "tick1", centre - share_pct(plot, 0.16), right, p1_y);
	put_line(plot, "med", centre - share_pct(plot, 0.40), right, median_y);
	number_print_mib(column->median, number);
	put_label(plot, "big halo wide", right + share_pct(plot, 0.015), median_y + 5, "start", number);
	put_label(plot, "big halo only-n", centre, median_y - 7, "middle", number);
	number_print_mib(column->p1, number);
	(void)snprintf(label, sizeof(label), "p1 %s", number);
	/* Where the two lines are close the smaller number gives way. */
	label_y = fmax(p1_y + 4, median_y + 20);
	put_label(plot, "halo wide", right + share_pct(plot, 0.015), label_y, "start", label);
}

static void put_legend(const struct plot *plot, size_t at)
{
	const struct svg_jitter_column *column = &plot->columns[at];
	double centre = centre_pct(plot, at);
	char number[NUMBER_MAX], label[NUMBER_MAX + 8];

	put_label(plot, "strong", centre, BOTTOM + 18, "middle", column->name);
	number_print(column->cv * 100, 1, number);
	put_label(plot, "", centre, BOTTOM + 34, "middle", number);
	number_print((double)column->count, 0, number);
	put_label(plot, "", centre, BOTTOM + 48, "middle", number);
	number_print(column->stalled_s, column->stalled_s < 10 && column->stalled_s > 0 ? 1 : 0, number);
	(void)snprintf(label, sizeof(label), "%s%s", number[0] ? number : "unknown", number[0] ? " s" : "");
	put_label(plot, "", centre, BOTTOM + 62, "middle", label);
	if (column->is_host_limited)
		put_label(plot, "t-off", centre, BOTTOM + 77, "middle", "host-limited");
}

static void put_axis(const struct plot *plot)
{
	static const char *const rows[] = { "CV, %", "n", "stalled" };
	char number[NUMBER_MAX];

	for (double mark = 0; mark <= plot->top_mib * 1.0001; mark += plot->step_mib) {
		number_print(mark, plot->step_mib < 0.1 ? 2 : plot->step_mib < 1 ? 1 : 0, number);
		text_addf(plot->out, "<text x=\"100%%\" dx=\"-8\" y=\"%.1f\" text-anchor=\"end\">%s</text>",
			BOTTOM + 4 - mark / plot->top_mib * (BOTTOM - TOP), number);
	}
	text_add(plot->out, "<text class=\"ttl\" x=\"0\" y=\"9\">MiB/s</text>");
	for (int i = 0; i < 3; i++)
		text_addf(plot->out, "<text class=\"ttl\" x=\"0\" y=\"%d\">%s</text>", BOTTOM + 34 + i * 14,
			rows[i]);
}

static void put_plot(const struct plot *plot)
{
	put_grid(plot);
	text_addf(plot->out,
		"<svg class=\"p\" width=\"100%%\" height=\"%d\" viewBox=\"0 0 %d %d\" "
		"preserveAspectRatio=\"none\">",
		plot->height, INNER_WIDTH, plot->height);
	for (size_t i = 0; i < plot->count; i++)
		put_dots(plot, i, false);
	for (size_t i = 0; i < plot->count; i++)
		put_dots(plot, i, true);
	text_add(plot->out, "</svg>");
	for (size_t i = 0; i < plot->count; i++) {
		put_figures(plot, i);
		put_legend(plot, i);
	}
}

/* What a reader who doesn't see the picture gets. */
static void put_description(const struct plot *plot)
{
	char median[NUMBER_MAX], p1[NUMBER_MAX], cv[NUMBER_MAX];

	text_add(plot->out, "Jitter plot, median and worst 1 percent in MiB/s: ");
	for (size_t i = 0; i < plot->count; i++) {
		number_print_mib(plot->columns[i].median, median);
		number_print_mib(plot->columns[i].p1, p1);
		number_print(plot->columns[i].cv * 100, 1, cv);
		text_add(plot->out, i ? "; " : "");
		text_add_html(plot->out, plot->columns[i].name);
		if (plot->columns[i].count)
			text_addf(plot->out, " %s, %s, CV %s %%%s", median, p1, cv,
				plot->columns[i].is_host_limited ? ", host-limited" : "");
		else
			text_add(plot->out, " no samples");
	}
}

void svg_jitter_inline(const struct svg_jitter_column *columns, size_t count, struct text *out)
{
	struct plot plot = plot_of(columns, count, out);

	text_addf(out, "<svg height=\"%d\" aria-hidden=\"true\">", plot.height);
	put_axis(&plot);
	text_addf(out, "</svg><svg height=\"%d\" role=\"img\" aria-label=\"", plot.height);
	put_description(&plot);
	text_add(out, "\">");
	put_plot(&plot);
	text_add(out, "</svg>");
}

/* The style sheet's classes with the values of its light theme; a picture is taken to paper and to other pages. */
static const char document_style[] =
	"text{font:11px/1 'Liberation Sans',Arial,Helvetica,sans-serif;fill:#4a535c}"
	".ttl{fill:#626b75}.strong{fill:#16191d;font-weight:bold;font-size:12px}"
	".big{fill:#16191d;font-weight:bold;font-size:14px}.only-n{display:none}"
	".halo{paint-order:stroke;stroke:#fff;stroke-width:4px;stroke-linejoin:round}"
	".g{stroke:#e6e9ec}.g0{stroke:#8b949d}.p path{vector-effect:non-scaling-stroke}"
	".jit{fill:none;stroke-width:2.2;stroke-linecap:round;stroke-opacity:.42}"
	".jit.some{stroke-width:3;stroke-opacity:.6}.jit.few{stroke-width:5;stroke-opacity:.75}"
	".zero{fill:none;stroke:#d55e00;stroke-width:6;stroke-linecap:round}"
	".med{stroke:#16191d;stroke-width:3}.tick1{stroke:#16191d;stroke-width:1.5}"
	".s1{stroke:#0072b2}.s2{stroke:#009e73}.s3{stroke:#bf7e00}.s4{stroke:#b8588c}.s5{stroke:#3292cc}"
	".lim{stroke:#626b75}.t-off{fill:#59626b;font-weight:bold}";

void svg_jitter_document(
	const struct svg_jitter_column *columns, size_t count, unsigned width, struct text *out)
{
	struct plot plot = plot_of(columns, count, out);

	text_addf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%d\" viewBox=\"0 0 %u %d\" "
		"role=\"img\"><title>",
		width, plot.height + 20, width, plot.height + 20);
	put_description(&plot);
	text_addf(out, "</title><style>%s</style><rect width=\"%u\" height=\"%d\" fill=\"#fff\"/>",
		document_style, width, plot.height + 20);
	text_addf(out, "<svg x=\"10\" y=\"10\" width=\"%d\" height=\"%d\">", AXIS_WIDTH, plot.height);
	put_axis(&plot);
	text_addf(out, "</svg><svg x=\"%d\" y=\"10\" width=\"%u\" height=\"%d\">", AXIS_WIDTH + 10,
		width - AXIS_WIDTH - 30, plot.height);
	put_plot(&plot);
	text_add(out, "</svg></svg>\n");
}
