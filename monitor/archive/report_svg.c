/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The timeline of a run as SVG: of each bucket of time the mean as a line and minimum to maximum as a band,
 * so that a stall of one sample stays visible in two weeks. Holes stay holes. */
#include "archive/report.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS_MAX 900
#define MIB	    1048576.0

/* Pixels from the top; along x labels stand at percents, and paths lie in a picture of INNER_WIDTH that stretches. */
#define TOP	    20
#define PLOT_HEIGHT 200
#define HEIGHT	    262
#define INNER_WIDTH 1000

/* Fewer points than this are drawn as dots too. */
#define SPARSE_MAX 150

struct bucket {
	double bytes, elapsed_s, min, max; /* elapsed 0: nothing measured */
};

struct timeline {
	int64_t from_ms, to_ms;
	uint64_t
		sliver_ns; /* a shorter sample has no rate worth a point: the service ended just behind a tick */
	size_t count;
	uint64_t samples;
	struct bucket write[BUCKETS_MAX], read[BUCKETS_MAX];
	bool is_probe[BUCKETS_MAX], is_verify[BUCKETS_MAX];
	bool is_fill[BUCKETS_MAX], is_gap[BUCKETS_MAX], is_zero[BUCKETS_MAX];
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

	if (bytes == SAMPLE_UNKNOWN || elapsed_ns == SAMPLE_UNKNOWN || elapsed_ns <= timeline->sliver_ns)
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
	timeline->is_probe[middle] |= sample->phase == PHASE_PROBE;
	timeline->is_verify[middle] |= sample->phase == PHASE_VERIFY;
	timeline->is_zero[middle] |= sample->state == SAMPLE_ZERO && sample->elapsed_ns > timeline->sliver_ns;
	add_rate(timeline, &timeline->write[middle], sample->write_bytes, sample->elapsed_ns);
	add_rate(timeline, &timeline->read[middle], sample->read_bytes, sample->elapsed_ns);
	return 0;
}

static double share_of(const struct timeline *timeline, double bucket)
{
	return bucket / (double)timeline->count;
}

static double x_of(const struct timeline *timeline, double bucket)
{
	return INNER_WIDTH * share_of(timeline, bucket);
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
				"<rect class=\"%s\" x=\"%.2f%%\" y=\"%d\" width=\"%.2f%%\" height=\"%d\"/>",
				class, 100 * share_of(timeline, (double)i), TOP,
				100 * share_of(timeline, (double)(end - i)), PLOT_HEIGHT);
	}
}

static void draw_rate_labels(const struct timeline *timeline, double step, struct text *out)
{
	text_addf(out, "<svg height=\"%d\" aria-hidden=\"true\">", HEIGHT);
	for (double mib = 0; mib * MIB <= timeline->top; mib += step)
		text_addf(out, "<text x=\"100%%\" dx=\"-8\" y=\"%.1f\" text-anchor=\"end\">%g</text>",
			y_of(timeline, mib * MIB) + 4, mib);
	text_add(out, "<text class=\"ttl\" x=\"0\" y=\"9\">MiB/s</text></svg>");
}

static void draw_grid(const struct timeline *timeline, double step, struct text *out)
{
	for (double mib = 0; mib * MIB <= timeline->top; mib += step) {
		double y = y_of(timeline, mib * MIB);

		text_addf(out, "<line class=\"%s\" x1=\"0\" x2=\"100%%\" y1=\"%.1f\" y2=\"%.1f\"/>",
			mib > 0 ? "g" : "g0", y, y);
	}
}

static void draw_time_axis(const struct timeline *timeline, struct text *out)
{
	double span_s = (double)(timeline->to_ms - timeline->from_ms) / 1000;
	double unit_s = span_s > 3 * 3600 ? 3600 : span_s > 180 ? 60 : 1;
	double step = nice_step(span_s / unit_s, 8);

	for (double t = 0; t * unit_s <= span_s; t += step) {
		double pct = t * unit_s / span_s * 100;

		text_addf(out, "<text x=\"%.2f%%\" y=\"%d\" text-anchor=\"%s\">%g</text>", pct,
			TOP + PLOT_HEIGHT + 16, pct > 97 ? "end" : "middle", t);
	}
	text_addf(out,
		"<text class=\"ttl\" x=\"50%%\" y=\"%d\" text-anchor=\"middle\">%s since the start of the "
		"run</text>",
		TOP + PLOT_HEIGHT + 34,
		unit_s > 60  ? "hours"
		: unit_s > 1 ? "minutes"
			     : "seconds");
}

static double mean_of(const struct bucket *bucket)
{
	return bucket->bytes / bucket->elapsed_s;
}

/* What a series looks like in the style sheet. */
struct look {
	const char *band, *line;
};

static void draw_part(const struct timeline *timeline, const struct bucket *buckets, size_t from, size_t to,
	const struct look *look, struct text *out)
{
	text_addf(out, "<path class=\"%s\" d=\"M", look->band);
	for (size_t i = from; i < to; i++)
		text_addf(out, "%.1f %.1f ", x_of(timeline, (double)i + 0.5), y_of(timeline, buckets[i].max));
	for (size_t i = to; i-- > from;)
		text_addf(out, "%.1f %.1f ", x_of(timeline, (double)i + 0.5), y_of(timeline, buckets[i].min));
	text_addf(out, "Z\"/><path class=\"%s\" d=\"M", look->line);
	for (size_t i = from; i < to; i++)
		text_addf(out, "%.1f %.1f ", x_of(timeline, (double)i + 0.5),
			y_of(timeline, mean_of(&buckets[i])));
	text_add(out, "\"/>");
}

/* A line needs two ends, and few samples are worth a dot each. */
static void draw_dots(const struct timeline *timeline, const struct bucket *buckets, struct text *out)
{
	if (timeline->count > SPARSE_MAX)
		return;
	text_add(out, "<path class=\"dot\" d=\"");
	for (size_t i = 0; i < timeline->count; i++)
		if (buckets[i].elapsed_s > 0 && !timeline->is_zero[i])
			text_addf(out, "M%.1f %.1fh0", x_of(timeline, (double)i + 0.5),
				y_of(timeline, mean_of(&buckets[i])));
	text_add(out, "\"/>");
}

static void draw_series(const struct timeline *timeline, const struct bucket *buckets,
	const struct look *look, struct text *out)
{
	for (size_t i = 0, end; i < timeline->count; i = end + 1) {
		for (end = i; end < timeline->count && buckets[end].elapsed_s > 0;)
			end++;
		if (end > i)
			draw_part(timeline, buckets, i, end, look, out);
	}
	draw_dots(timeline, buckets, out);
}

/* A real zero is a red dot on the axis, whatever the mean of its bucket. */
static void draw_zeros(const struct timeline *timeline, struct text *out)
{
	text_add(out, "<path class=\"zero\" d=\"");
	for (size_t i = 0; i < timeline->count; i++)
		if (timeline->is_zero[i])
			text_addf(out, "M%.1f %.1fh0", x_of(timeline, (double)i + 0.5), y_of(timeline, 0));
	text_add(out, "\"/>");
}

static bool has_bytes(const struct timeline *timeline, const struct bucket *buckets)
{
	double whole = 0;

	for (size_t i = 0; i < timeline->count; i++)
		whole += buckets[i].bytes;
	return whole > 0;
}

static void draw(const struct timeline *timeline, struct text *out)
{
	static const struct look writes = { "bd", "ln" }, reads = { "a3", "ln s3" };
	double step = nice_step(timeline->top / MIB, 5);

	text_add(out, "<div class=\"chart\">");
	draw_rate_labels(timeline, step, out);
	text_addf(out, "<svg height=\"%d\" role=\"img\" aria-label=\"throughput over time\">", HEIGHT);
	draw_shades(timeline, timeline->is_fill, "ph-fill", out);
	draw_shades(timeline, timeline->is_probe, "ph-probe", out);
	draw_shades(timeline, timeline->is_verify, "ph-verify", out);
	draw_shades(timeline, timeline->is_gap, "gap", out);
	draw_grid(timeline, step, out);
	draw_time_axis(timeline, out);
	text_addf(out,
		"<svg class=\"p\" width=\"100%%\" height=\"%d\" viewBox=\"0 0 %d %d\" "
		"preserveAspectRatio=\"none\">",
		HEIGHT, INNER_WIDTH, HEIGHT);
	/* Nothing read, or nothing but read: a line at zero would only hide the other's zeros. */
	if (has_bytes(timeline, timeline->write) || !has_bytes(timeline, timeline->read))
		draw_series(timeline, timeline->write, &writes, out);
	if (has_bytes(timeline, timeline->read))
		draw_series(timeline, timeline->read, &reads, out);
	draw_zeros(timeline, out);
	text_add(out, "</svg></svg></div>\n");
}

/* A bucket for each interval while there is room: a first part of one does not share with the next sample. */
static void choose_buckets(struct timeline *timeline, int64_t interval_ms)
{
	int64_t intervals = (timeline->to_ms - timeline->from_ms + interval_ms - 1) / interval_ms;

	timeline->count = intervals > BUCKETS_MAX ? BUCKETS_MAX : (size_t)intervals;
	if (intervals <= BUCKETS_MAX)
		timeline->from_ms = timeline->to_ms - intervals * interval_ms;
}

int report_timeline_svg(struct journal *journal, const struct run_record *run, struct text *out)
{
	struct timeline *timeline = calloc(1, sizeof(*timeline));
	int rc;

	if (!timeline)
		return -ENOMEM;
	timeline->sliver_ns = run->interval_s * (uint64_t)1000000000 / 10;
	rc = journal_each_sample(journal, run->id, INT64_MIN, INT64_MAX, false, find_span, timeline);
	if (rc == 0 && timeline->samples && timeline->to_ms > timeline->from_ms && run->interval_s) {
		choose_buckets(timeline, (int64_t)run->interval_s * 1000);
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
