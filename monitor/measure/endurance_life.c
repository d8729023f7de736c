/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Life from the moments at which percent-used stepped: between two of them it grew by exactly what they are apart,
 * while a single reading may be a whole percent off. The wear of a timed workload steps a thousand times as often. */
#include "measure/endurance_private.h"

#include <math.h>
#include <stdio.h>

#include "base/units.h"

#define TB	      1e12
#define UPDATE_MS     3600000.0 /* drives refresh percent-used as seldom as once an hour */
#define REGAIN_MS     7200000.0 /* what is back within this was no loss */
#define OFF_MAX	      0.5	/* of the bytes between the steps */
#define UNEVEN	      0.2	/* percents of one drive are not all worth the same: a standard deviation, */
#define UNEVEN_WEIGHT 2		/* which so many spans outweigh by what they show; */
#define UNEVEN_SPREAD 1.7	/* so many standard errors are allowed for it; */
#define UNEVEN_TREND  0.22	/* and for wear that slows down or hastens so much over all its life */
#define PERCENT_MAX   255

/* The step to @percent was made between two counts of bytes. */
struct edge {
	double percent, low, high; /* bytes since the first reading */
	int64_t t_ms;
};

struct life {
	struct endurance_set set;
	bool by_workload;
	double update_ms;
	/* where the walk is: the last known reading, and one that is an update period older */
	size_t at, back;
	double bytes, back_bytes;
	/* of the base that lasts: from its first edge to its last */
	unsigned base_edges;
	struct edge first, last;
	/* sums over the bases */
	unsigned edges, spans;
	double percent, span_bytes, off_bytes;
	double rate_sum, rate_squares; /* of spans */
	double shortest_ms;
};

static double percent_of(const struct life *life, size_t i)
{
	const struct endurance_point *point = &life->set.points[i];

	return life->by_workload ? point->workload_pct : point->percent_used;
}

/* Readings without a percentage or without any count of bytes are as if they had not been. */
static bool is_known(const struct life *life, size_t i)
{
	const struct endurance_point *point = &life->set.points[i];

	return percent_of(life, i) >= 0 && percent_of(life, i) <= PERCENT_MAX &&
	       (point->disk_written_bytes != UINT64_MAX || point->own_written_bytes != UINT64_MAX ||
		       endurance_is_read(&life->set, i, ENDURANCE_HOST));
}

static size_t next_known(const struct life *life, size_t i)
{
	do
		i++;
	while (i < life->set.count && !is_known(life, i));
	return i;
}

static double between(const struct life *life, size_t from, size_t to)
{
	return endurance_bytes_between(&life->set, &life->set.points[from], &life->set.points[to]);
}

static double edge_middle(const struct edge *edge)
{
	return (edge->low + edge->high) / 2;
}

static void base_end(struct life *life)
{
	if (life->base_edges > 1) {
		life->percent += life->last.percent - life->first.percent;
		life->span_bytes += edge_middle(&life->last) - edge_middle(&life->first);
		life->off_bytes += (life->last.high - life->last.low + life->first.high - life->first.low) /
				   2;
	}
	life->base_edges = 0;
}

static void edge_add(struct life *life, const struct edge *edge)
{
	if (life->base_edges++ == 0) {
		life->first = *edge;
	} else {
		double bytes = edge_middle(edge) - edge_middle(&life->last);
		double rate = (edge->percent - life->last.percent) / fmax(bytes, 1);

		life->spans++;
		life->rate_sum += rate;
		life->rate_squares += rate * rate;
		life->shortest_ms = fmin(life->shortest_ms, (double)(edge->t_ms - life->last.t_ms));
	}
	life->last = *edge;
	life->edges++;
}

/* Move the older reading up to an update period before the last one. */
static void follow(struct life *life)
{
	const struct endurance_point *points = life->set.points;

	while (life->back < life->at) {
		size_t next = next_known(life, life->back);

		if ((double)(points[life->at].t_ms - points[next].t_ms) < life->update_ms)
			return;
		life->back_bytes += between(life, life->back, next);
		life->back = next;
	}
}

/* Bytes written at point @i at most: where they come from a counter that stands still, up to its next move. */
static double bytes_at_most(const struct life *life, size_t i, double bytes)
{
	const struct endurance_point *points = life->set.points;
	double more = 0;

	if (points[i].disk_written_bytes != UINT64_MAX || points[i].own_written_bytes != UINT64_MAX)
		return bytes;
	for (size_t to = next_known(life, i); to < life->set.count && more <= 0; to = next_known(life, to))
		more = between(life, i, to);
	return bytes + more;
}

/* Whether a reading shows a percentage that the next ones take back: up for once, or down and soon up again. */
static bool is_taken_back(const struct life *life, size_t i)
{
	const struct endurance_point *points = life->set.points;
	double before = percent_of(life, life->at), percent = percent_of(life, i);
	size_t next = next_known(life, i);

	if (percent > before)
		return next < life->set.count && percent_of(life, next) < percent &&
		       percent_of(life, next) >= before;
	for (; percent < before && next < life->set.count; next = next_known(life, next)) {
		if ((double)(points[next].t_ms - points[i].t_ms) > REGAIN_MS)
			return false;
		if (percent_of(life, next) >= before)
			return true;
	}
	return false;
}

static void look(struct life *life, size_t i)
{
	double before = percent_of(life, life->at), percent = percent_of(life, i);
	double bytes = life->bytes + between(life, life->at, i);

	if (is_taken_back(life, i))
		return;
	if (percent < before) {
		base_end(life);
	} else if (percent > before) {
		struct edge edge = { percent, life->back_bytes, bytes_at_most(life, i, bytes),
			life->set.points[i].t_ms };

		edge_add(life, &edge);
	}
	life->at = i;
	life->bytes = bytes;
	follow(life);
}

static void walk(struct life *life)
{
	size_t i = 0;

	if (!life->set.count)
		return;
	if (!is_known(life, i))
		i = next_known(life, i);
	life->at = life->back = i;
	while (i < life->set.count && (i = next_known(life, i)) < life->set.count)
		look(life, i);
}

/* A drive that stepped twice within a period updates more often than that. */
static void measure(struct life *life)
{
	struct life empty = { .set = life->set,
		.by_workload = life->by_workload,
		.update_ms = UPDATE_MS,
		.shortest_ms = UPDATE_MS };
	struct edge last;
	unsigned edges;

	*life = empty;
	walk(life);
	empty.update_ms = life->shortest_ms;
	*life = empty;
	walk(life);
	last = life->last;
	edges = life->base_edges;
	base_end(life);
	life->last = last;
	life->base_edges = edges;
}

/* How far the rate to come may be from the one measured, apart from when the steps were seen. What the percents differ
 * by is what these spans did, and before there are many of them what drives are known to. */
static double unevenness(const struct life *life, double left_pct)
{
	double spans = life->spans, mean = life->rate_sum / spans;
	double squares = fmax(life->rate_squares - spans * mean * mean, 0) / (mean * mean);
	double spread = sqrt((UNEVEN_WEIGHT * UNEVEN * UNEVEN + squares) / (UNEVEN_WEIGHT + spans - 1));

	return UNEVEN_TREND * left_pct / 100 + UNEVEN_SPREAD * spread / sqrt(spans);
}

static void say_rate(const struct life *life, struct endurance_interval *out)
{
	char bytes[UNITS_TEXT_MAX];

	out->value = life->percent / life->span_bytes * TB;
	out->low = life->percent / (life->span_bytes + life->off_bytes) * TB;
	out->high = life->percent / (life->span_bytes - life->off_bytes) * TB;
	units_print_bytes_decimal(life->span_bytes, bytes);
	(void)snprintf(out->how, sizeof(out->how),
		"%.3g %% over %s between %u steps%s, whose moments are known within %.2g %% of that",
		life->percent, bytes, life->edges, life->by_workload ? " of the timed workload's wear" : "",
		life->off_bytes / life->span_bytes * 100);
}

/* From the last step on of @used; a base that has none yet is somewhere within its percent. */
static void say_left(const struct life *life, double used, const struct endurance_interval *rate,
	struct endurance_interval *out)
{
	double left = 100 - used;
	double uneven = unevenness(life, left), off = hypot(uneven, life->off_bytes / life->span_bytes);
	double slow = rate->value / TB / (1 + off), fast = rate->value / TB * (1 + off);
	double since_least = 0, since_most = 0, unknown = 1;

	if (life->base_edges && !life->by_workload) {
		since_least = fmax(life->bytes - life->last.high, 0);
		since_most = life->bytes - life->last.low;
		unknown = 0;
	}
	out->value = (left - unknown / 2) / (rate->value / TB) - (since_least + since_most) / 2;
	out->value = fmax(out->value, 0);
	out->low = fmax((left - unknown) / fast - since_most, 0);
	out->high = fmax(left / slow - since_least, out->value);
	(void)snprintf(out->how, sizeof(out->how),
		"%g %% used, %.3g %% a TB by %u steps; %.0f %% allowed for wear that is not even", used,
		rate->value, life->edges, uneven * 100);
}

static void say_worn(double used, struct endurance_interval *out)
{
	out->value = out->low = out->high = 0;
	(void)snprintf(out->how, sizeof(out->how), "%g %% of the rated life are used", used);
}

static bool is_any_known(const struct life *life)
{
	return life->at < life->set.count && is_known(life, life->at);
}

/* Of the bytes between its steps, how much those are off; beyond OFF_MAX it tells nothing. */
static double off_share(const struct life *life)
{
	return life->spans && life->span_bytes > 0 ? life->off_bytes / life->span_bytes : INFINITY;
}

static void say_why_not(const struct life *life, struct endurance_interval *out)
{
	char bytes[UNITS_TEXT_MAX];

	units_print_bytes_decimal(life->bytes, bytes);
	if (!is_any_known(life))
		endurance_say_unknown(out, "the drive does not tell how worn it is");
	else if (!life->spans)
		endurance_say_unknown(out,
			"not enough data: percent-used stepped %u times in %s, it takes two steps",
			life->edges, bytes);
	else
		endurance_say_unknown(out,
			"not enough data: %u steps of percent-used in %s, too near to each other to tell",
			life->edges, bytes);
}

void endurance_life(const struct endurance_point *points, size_t count, uint64_t host_unit_bytes,
	struct endurance_interval *percent_per_tb, struct endurance_interval *bytes_left)
{
	struct life life = { .set = { points, count, host_unit_bytes, false } }, fine = life;
	const struct life *best = &life;
	double used = NAN;

	fine.by_workload = true;
	measure(&life);
	measure(&fine);
	if (off_share(&fine) < off_share(&life))
		best = &fine;
	if (is_any_known(&life))
		used = points[life.at].percent_used;
	if (off_share(best) <= OFF_MAX) {
		say_rate(best, percent_per_tb);
		if (isnan(used))
			endurance_say_unknown(bytes_left, "the drive does not tell how worn it is");
		else
			say_left(best, used, percent_per_tb, bytes_left);
	} else {
		say_why_not(&life, percent_per_tb);
		*bytes_left = *percent_per_tb;
	}
	if (used >= 100)
		say_worn(used, bytes_left);
}

void endurance_life_at(
	const struct endurance_interval *bytes_left, double bytes_per_s, struct endurance_interval *seconds)
{
	char rate[UNITS_TEXT_MAX];

	if (isnan(bytes_left->value)) {
		*seconds = *bytes_left;
		return;
	}
	if (!(bytes_per_s > 0) || isinf(bytes_per_s)) {
		endurance_say_unknown(seconds, "at no known rate");
		return;
	}
	seconds->value = bytes_left->value / bytes_per_s;
	seconds->low = bytes_left->low / bytes_per_s;
	seconds->high = bytes_left->high / bytes_per_s;
	units_print_rate_rounded(bytes_per_s, rate);
	(void)snprintf(seconds->how, sizeof(seconds->how), "at %s: %.300s", rate, bytes_left->how);
}
