/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The timeline of a run as SVG: of each bucket of time the mean as a line and minimum to maximum as a band,
 * so that a stall of one sample stays visible in two weeks. Holes stay holes. */
#include "archive/report.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS_MAX 900
#define LEFT	    70
#define TOP	    10
#define PLOT_WIDTH  900
#define PLOT_HEIGHT 220
#define MIB	    1048576.0

struct bucket {
	double bytes, elapsed_s, min, max; /* elapsed 0: nothing measured */
};

struct timeline {
	int64_t from_ms, to_ms;
	size_t count;
	uint64_t samples;
	struct bucket write[BUCKETS_MAX], read[BUCKETS_MAX];
	bool is_fill[BUCKETS_MAX], is_gap[BUCKETS_MAX];
	double top; /* of the scale, bytes per second */
};

static int64_t elapsed_ms(const struct sample *sample)
{
	return sample->elapsed_ns == SAMPLE_UNKNOWN ? 0 : (int64_t)(sample->elapsed_ns / 1000000);
}

static int find_span(const struct sample *sample, void *arg)
{
	struct timeline *timeline = arg;

	if (timeline->samples++ == 0)
		timeline->from_ms = sample->t_ms - elapsed_ms(sample);
	timeline->to_ms = sample->t_ms;
	return 0;
}

static size_t bucket_of(const struct timeline *timeline, int64_t t_ms)
{
	double share = (double)(t_ms - timeline->from_ms) / (double)(timeline->to_ms - timeline->from_ms);
	size_t index = share > 0 ? (size_t)(share * (double)timeline->count) : 0;

	return index < timeline->count ? index : timeline->count - 1;
}

static void add_rate(struct timeline *timeline, struct bucket *bucket, uint64_t bytes, uint64_t elapsed_ns)
{
	double elapsed_s = (double)elapsed_ns / 1e9, rate = (double)bytes / elapsed_s;

	if (bytes == SAMPLE_UNKNOWN || elapsed_ns == SAMPLE_UNKNOWN || elapsed_ns == 0)
		return;
	if (bucket->elapsed_s <= 0 || rate < bucket->min)
		bucket->min = rate;
	if (bucket->elapsed_s <= 0 || rate > bucket->max)
		bucket->max = rate;
	bucket->bytes += (double)bytes;
	bucket->elapsed_s += elapsed_s;
	if (rate > timeline->top)
		timeline->top = rate;
}

static int add_sample(const struct sample *sample, void *arg)
{
	struct timeline *timeline = arg;
	size_t first = bucket_of(timeline, sample->t_ms - elapsed_ms(sample)), middle;

	if (sample->state == SAMPLE_DOWN || sample->state == SAMPLE_ABSENT) {
		for (size_t i = first; i <= bucket_of(timeline, sample->t_ms - 1); i++)
			timeline->is_gap[i] = true;
		return 0;
	}
	/* The end of the last interval is the end of the picture. */
	middle = bucket_of(timeline, sample->t_ms - elapsed_ms(sample) / 2);
	timeline->is_fill[middle] |= sample->state == SAMPLE_FILLING;
	add_rate(timeline, &timeline->write[middle], sample->write_bytes, sample->elapsed_ns);
	add_rate(timeline, &timeline->read[middle], sample->read_bytes, sample->elapsed_ns);
	return 0;
}

static double x_of(const struct timeline *timeline, double bucket)
{
	return LEFT + bucket * PLOT_WIDTH / (double)timeline->count;
}

static double y_of(const struct timeline *timeline, double rate)
{
	return TOP + PLOT_HEIGHT * (1 - rate / timeline->top);
}

/* 1, 2 or 5 times a power of ten, at most @most of them in @whole. */
static double nice_step(double whole, double most)
{
	double rough = whole / most, power = pow(10, floor(log10(rough)));

	return rough <= power	    ? power
	       : rough <= 2 * power ? 2 * power
	       : rough <= 5 * power ? 5 * power
				    : 10 * power;
}

static void draw_shades(
	const struct timeline *timeline, const bool *flags, const char *class, struct text *out)
{
	for (size_t i = 0, end; i < timeline->count; i = end + 1) {
		for (end = i; end < timeline->count && flags[end];)
			end++;
		if (end > i)
			text_addf(out,
				"<rect class=\"%s\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>",
				class, x_of(timeline, (double)i), TOP,
				x_of(timeline, (double)end) - x_of(timeline, (double)i), PLOT_HEIGHT);
	}
}

static void draw_rate_axis(const struct timeline *timeline, struct text *out)
{
	double step = nice_step(timeline->top / MIB, 5);

	for (double mib = 0; mib * MIB <= timeline->top; mib += step) {
		double y = y_of(timeline, mib * MIB);

		text_addf(out, "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>", LEFT,
			LEFT + PLOT_WIDTH, y, y);
		text_addf(
			out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>", LEFT - 6, y + 4, mib);
	}
	text_addf(out, "<text transform=\"translate(14 %d) rotate(-90)\" text-anchor=\"middle\">MiB/s</text>",
		TOP + PLOT_HEIGHT / 2);
}

static void draw_time_axis(const struct timeline *timeline, struct text *out)
{
	double span_s = (double)(timeline->to_ms - timeline->from_ms) / 1000;
	double unit_s = span_s > 3 * 3600 ? 3600 : span_s > 180 ? 60 : 1;
	double step = nice_step(span_s / unit_s, 10);

	for (double t = 0; t * unit_s <= span_s; t += step)
		text_addf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g</text>",
			LEFT + t * unit_s / span_s * PLOT_WIDTH, TOP + PLOT_HEIGHT + 16, t);
	text_addf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s since the start of the run</text>",
		LEFT + PLOT_WIDTH / 2, TOP + PLOT_HEIGHT + 34,
		unit_s > 60  ? "hours"
		: unit_s > 1 ? "minutes"
			     : "seconds");
}

static void draw_band(const struct timeline *timeline, const struct bucket *buckets, size_t from, size_t to,
	const char *class, struct text *out)
{
	text_addf(out, "<path class=\"band %s\" d=\"M", class);
	for (size_t i = from; i < to; i++)
		text_addf(out, "%.1f %.1f ", x_of(timeline, (double)i + 0.5), y_of(timeline, buckets[i].max));
	for (size_t i = to; i-- > from;)
		text_addf(out, "%.1f %.1f ", x_of(timeline, (double)i + 0.5), y_of(timeline, buckets[i].min));
	text_addf(out, "Z\"/><polyline class=\"line %s\" points=\"", class);
	for (size_t i = from; i < to; i++)
		text_addf(out, "%.1f,%.1f ", x_of(timeline, (double)i + 0.5),
			y_of(timeline, buckets[i].bytes / buckets[i].elapsed_s));
	text_add(out, "\"/>");
}

static void draw_series(
	const struct timeline *timeline, const struct bucket *buckets, const char *class, struct text *out)
{
	double whole = 0;

	for (size_t i = 0; i < timeline->count; i++)
		whole += buckets[i].bytes;
	if (whole <= 0 && class[0] == 'r')
		return; /* nothing was read: a line at zero would only hide the writes' zeros */
	for (size_t i = 0, end; i < timeline->count; i = end + 1) {
		for (end = i; end < timeline->count && buckets[end].elapsed_s > 0;)
			end++;
		if (end > i)
			draw_band(timeline, buckets, i, end, class, out);
	}
}

static void draw(const struct timeline *timeline, struct text *out)
{
	text_addf(out,
		"<svg class=\"timeline\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"throughput over "
		"time\">",
		LEFT + PLOT_WIDTH + 10, TOP + PLOT_HEIGHT + 42);
	draw_shades(timeline, timeline->is_fill, "fill", out);
	draw_shades(timeline, timeline->is_gap, "gap", out);
	draw_rate_axis(timeline, out);
	draw_time_axis(timeline, out);
	draw_series(timeline, timeline->write, "write", out);
	draw_series(timeline, timeline->read, "read", out);
	text_add(out, "</svg>\n");
}

int report_timeline_svg(struct journal *journal, const struct run_record *run, struct text *out)
{
	struct timeline *timeline = calloc(1, sizeof(*timeline));
	double steps;
	int rc;

	if (!timeline)
		return -ENOMEM;
	rc = journal_each_sample(journal, run->id, INT64_MIN, INT64_MAX, false, find_span, timeline);
	if (rc == 0 && timeline->samples && timeline->to_ms > timeline->from_ms && run->interval_s) {
		steps = (double)(timeline->to_ms - timeline->from_ms) / 1000 / run->interval_s;
		timeline->count = steps > BUCKETS_MAX ? BUCKETS_MAX : steps < 1 ? 1 : (size_t)steps;
		rc = journal_each_sample(journal, run->id, INT64_MIN, INT64_MAX, false, add_sample, timeline);
		timeline->top = timeline->top > 0 ? timeline->top * 1.05 : MIB;
		if (rc == 0)
			draw(timeline, out);
	} else if (rc == 0) {
		text_add(out, "<p>No samples yet.</p>\n");
	}
	free(timeline);
	return rc;
}
