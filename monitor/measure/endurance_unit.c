/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The unit of the host-write counter: the slope of the disk's bytes over the counter, at the readings where it had
 * moved. A drive that updates its counter once an hour then is as good as one that does at once. */
#include "measure/endurance_private.h"

#include <math.h>
#include <stdio.h>

#include "base/units.h"

#define EDGES_MAX	128
#define POLLS_MIN	8
#define EDGES_MIN	4
#define SPREAD_EDGES	8 /* that make their own spread worth believing */
#define SPREAD_MARGIN	1.5
#define SPREAD_FEW	15 /* a few edges don't show all of it */
#define TOLERANCE	0.03
#define TOLERANCE_SHARP 0.005 /* writes that the counter leaves out, such as zeroes, may be so many */
#define DISK_BYTES_MIN	(16.0 * (1 << 20))
#define LARGEST_UNIT	(1024.0 * 1024 * 1024)
#define STILL_BYTES	(64 * LARGEST_UNIT) /* a counter that did not move meanwhile */
#define STILL_MS	(3 * 3600 * 1000LL) /* is no slow one */
#define OTHERS_SHARE	0.02

struct edge {
	double disk, count; /* since the chain began */
	unsigned chain;
};

struct fit {
	struct edge edge[EDGES_MAX];
	size_t kept, stride, edges, polls;
	unsigned chain;
	bool is_reported;
	double disk, steps; /* in all */
	double gap_max;	    /* most that was written between an edge and the reading before it */
	int64_t span_ms;
	double slope, span_bytes, error_bytes; /* of span_bytes */
};

static void edge_add(struct fit *fit, double disk, double count)
{
	if (fit->edges++ % fit->stride)
		return;
	if (fit->kept == EDGES_MAX) {
		for (size_t i = 0; i < EDGES_MAX / 2; i++)
			fit->edge[i] = fit->edge[2 * i];
		fit->kept = EDGES_MAX / 2;
		fit->stride *= 2;
	}
	fit->edge[fit->kept++] = (struct edge){ disk, count, fit->chain };
}

static void fit_collect(struct fit *fit, const struct endurance_set *set)
{
	const struct endurance_point *last = NULL;
	double disk = 0, count = 0, step, bytes;

	*fit = (struct fit){ .stride = 1 };
	for (size_t i = 0; i < set->count; i++) {
		const struct endurance_point *point = &set->points[i];

		if (!endurance_is_read(set, i, ENDURANCE_HOST))
			continue;
		fit->is_reported = true;
		if (point->disk_written_bytes == UINT64_MAX)
			continue;
		fit->polls++;
		if (last &&
			(point->host_raw < last->host_raw || !endurance_disk_bytes(last, point, &bytes))) {
			fit->chain++;
			disk = count = 0;
		} else if (last) {
			step = (double)(point->host_raw - last->host_raw);
			disk += bytes;
			count += step;
			fit->disk += bytes;
			fit->steps += step;
			fit->span_ms += point->t_ms - last->t_ms;
			if (step > 0) {
				edge_add(fit, disk, count);
				fit->gap_max = fmax(
					fit->gap_max, bytes + endurance_skew_bytes(last, point, bytes));
			}
		}
		last = point;
	}
}

/* Of all pairs of a chain, weighted by their distance, the share whose slope is below @slope. */
static double share_below(const struct fit *fit, double slope)
{
	double below = 0, all = 0;

	for (size_t i = 0; i < fit->kept; i++) {
		for (size_t k = i + 1; k < fit->kept && fit->edge[k].chain == fit->edge[i].chain; k++) {
			double steps = fit->edge[k].count - fit->edge[i].count;

			all += steps;
			if (fit->edge[k].disk - fit->edge[i].disk < slope * steps)
				below += steps;
		}
	}
	return all > 0 ? below / all : NAN;
}

/* The weighted median, by halving: it needs no memory. */
static double median_slope(const struct fit *fit)
{
	double low = 0, high = fit->disk / fit->steps * 2;

	while (share_below(fit, high) < 0.5 && high < 1e18)
		high *= 2;
	for (unsigned i = 0; i < 40; i++) {
		double middle = (low + high) / 2;

		if (share_below(fit, middle) < 0.5)
			low = middle;
		else
			high = middle;
	}
	return (low + high) / 2;
}

/* The two ends of a chain are off by a unit and by what the edges scatter, which is no more than what was written
 * between a reading and the one before. */
static void chain_measure(struct fit *fit, size_t first, size_t end)
{
	double low = INFINITY, high = -INFINITY, scatter = fit->gap_max;

	for (size_t i = first; i < end; i++) {
		double rest = fit->edge[i].disk - fit->slope * fit->edge[i].count;

		low = fmin(low, rest);
		high = fmax(high, rest);
	}
	if (fit->edges >= SPREAD_EDGES)
		scatter = fmin(scatter, (high - low) * (SPREAD_MARGIN + SPREAD_FEW / (double)fit->edges));
	fit->span_bytes += (fit->edge[end - 1].count - fit->edge[first].count) * fit->slope;
	fit->error_bytes += scatter + fit->slope;
}

static void fit_measure(struct fit *fit)
{
	size_t first = 0;

	if (fit->edges < EDGES_MIN || fit->disk <= 0)
		return;
	fit->slope = median_slope(fit);
	for (size_t i = 1; i <= fit->kept; i++) {
		if (i < fit->kept && fit->edge[i].chain == fit->edge[first].chain)
			continue;
		if (i - first > 1)
			chain_measure(fit, first, i);
		first = i;
	}
}

static double fit_error(const struct fit *fit)
{
	return fit->span_bytes > 0 ? fit->error_bytes / fit->span_bytes : INFINITY;
}

/* NAN: a counter that did not move yet tells nothing. */
static double more_bytes(const struct fit *fit)
{
	double more = DISK_BYTES_MIN - fit->disk;

	if (fit->slope > 0)
		more = fmax(more, fit->error_bytes / TOLERANCE - fit->span_bytes);
	else if (fit->edges)
		more = fmax(more, fit->disk / (double)fit->edges * EDGES_MIN - fit->disk);
	else if (fit->disk < LARGEST_UNIT / TOLERANCE)
		more = LARGEST_UNIT / TOLERANCE - fit->disk;
	else
		return NAN;
	return fmax(more, 0);
}

#define CANDIDATES_MAX 8

struct candidates {
	uint64_t bytes[CANDIDATES_MAX];
	unsigned count;
};

static void candidate_add(struct candidates *list, uint64_t bytes)
{
	if (!bytes)
		return;
	for (unsigned i = 0; i < list->count; i++) {
		if (list->bytes[i] == bytes)
			return;
	}
	list->bytes[list->count++] = bytes;
}

static double distance(double slope, uint64_t unit_bytes)
{
	return fabs(slope / (double)unit_bytes - 1);
}

/* How many of the list are within @tolerance of the slope; @out_bytes is one of them. */
static unsigned count_fitting(
	const struct candidates *list, double slope, double tolerance, uint64_t *out_bytes)
{
	unsigned fitting = 0;

	for (unsigned i = 0; i < list->count; i++) {
		if (distance(slope, list->bytes[i]) <= tolerance) {
			*out_bytes = list->bytes[i];
			fitting++;
		}
	}
	return fitting;
}

static void say_too_little(const struct fit *fit, struct endurance_unit *out)
{
	char more[UNITS_TEXT_MAX];

	out->more_bytes = more_bytes(fit);
	units_print_bytes_rounded(out->more_bytes, more);
	if (!fit->polls)
		(void)snprintf(out->how, sizeof(out->how), "not known: %s",
			fit->is_reported ? "what was written to the whole disk is unknown"
					 : "the drive does not tell what the host wrote");
	else if (fit->polls < POLLS_MIN)
		(void)snprintf(out->how, sizeof(out->how), "too little data: %zu of %d readings", fit->polls,
			POLLS_MIN);
	else if (out->more_bytes > 0)
		(void)snprintf(out->how, sizeof(out->how),
			"too little data: the counter moved at %zu of %zu readings, by %.0f; "
			"about %s more must be written",
			fit->edges, fit->polls, fit->steps, more);
	else
		(void)snprintf(out->how, sizeof(out->how),
			"too little data: the counter moved at %zu of %zu readings, by %.0f", fit->edges,
			fit->polls, fit->steps);
}

static void say_foreign(const struct fit *fit, struct endurance_unit *out)
{
	char disk[UNITS_TEXT_MAX], slope[UNITS_TEXT_MAX];

	out->foreign = true;
	out->more_bytes = NAN;
	units_print_bytes_rounded(fit->disk, disk);
	units_print_bytes_rounded(fit->slope, slope);
	if (fit->steps > 0)
		(void)snprintf(out->how, sizeof(out->how),
			"no unit fits: %s were written for each step of the counter, within %.1f %%; "
			"the health may be another disk's",
			slope, fit_error(fit) * 100);
	else
		(void)snprintf(out->how, sizeof(out->how),
			"the counter stood still while %s were written; the health may be another disk's",
			disk);
}

static void say_found(const struct fit *fit, struct endurance_unit *out, uint64_t stated)
{
	const char *verdict = "";

	out->more_bytes = 0;
	if (stated)
		out->stated = out->bytes == stated ? ENDURANCE_CONFIRMED : ENDURANCE_CONTRADICTED;
	if (out->stated == ENDURANCE_CONFIRMED)
		verdict = ", as stated";
	(void)snprintf(out->how, sizeof(out->how),
		"found by measuring: %llu B%s; %.6g B within %.2g %%, over %.0f steps at %zu readings",
		(unsigned long long)out->bytes, verdict, fit->slope, fmax(fit_error(fit) * 100, 0.01),
		fit->steps, fit->polls);
}

static void decide(
	const struct fit *fit, const struct candidates *list, uint64_t stated, struct endurance_unit *out)
{
	double error = fit_error(fit);
	uint64_t bytes = 0, ignored;
	unsigned fitting;

	if (!(fit->steps > 0) && fit->disk >= STILL_BYTES && fit->span_ms >= STILL_MS &&
		fit->polls >= POLLS_MIN) {
		say_foreign(fit, out);
		return;
	}
	if (fit->polls < POLLS_MIN || fit->edges < EDGES_MIN || !(more_bytes(fit) <= 0)) {
		say_too_little(fit, out);
		return;
	}
	fitting = count_fitting(list, fit->slope, TOLERANCE, &bytes);
	if (fitting > 1)
		fitting = count_fitting(list, fit->slope, fmax(error, TOLERANCE_SHARP), &bytes);
	if (fitting == 1) {
		out->bytes = bytes;
		say_found(fit, out, stated);
	} else if (!count_fitting(list, fit->slope, TOLERANCE + error, &ignored)) {
		say_foreign(fit, out);
	} else {
		say_too_little(fit, out);
	}
}

static void add_words(struct endurance_unit *out, const char *words)
{
	size_t length = 0;

	while (out->how[length])
		length++;
	(void)snprintf(out->how + length, sizeof(out->how) - length, "%s", words);
}

static void say_beside(const struct endurance_set *set, uint64_t stated, struct endurance_unit *out)
{
	double disk_all = 0, own_all = 0, disk;
	char words[96];

	for (size_t i = 1; i < set->count; i++) {
		const struct endurance_point *from = &set->points[i - 1], *to = &set->points[i];

		if (from->own_written_bytes == UINT64_MAX || to->own_written_bytes == UINT64_MAX ||
			to->own_written_bytes < from->own_written_bytes ||
			!endurance_disk_bytes(from, to, &disk))
			continue;
		disk_all += disk;
		own_all += (double)(to->own_written_bytes - from->own_written_bytes);
	}
	out->other_writers = disk_all > own_all * (1 + OTHERS_SHARE) + DISK_BYTES_MIN;
	if (out->stated == ENDURANCE_UNCHECKED || out->stated == ENDURANCE_CONTRADICTED) {
		(void)snprintf(words, sizeof(words), "; %llu B are stated%s", (unsigned long long)stated,
			out->stated == ENDURANCE_UNCHECKED ? ", not checked" : ", which is wrong");
		add_words(out, words);
	}
	if (out->other_writers) {
		(void)snprintf(words, sizeof(words), "; others wrote %.0f %% of the disk's bytes",
			(1 - own_all / disk_all) * 100);
		add_words(out, words);
	}
}

void endurance_find_unit(const struct endurance_point *points, size_t count, uint32_t logical_block_bytes,
	uint64_t stated_unit_bytes, struct endurance_unit *out)
{
	struct candidates list = { { 512, 512000, 1 << 20, 32 << 20, 1 << 30, 1000000000 }, 6 };
	struct endurance_set set = { points, count, 0, false };
	struct fit fit;

	*out = (struct endurance_unit){ 0 };
	candidate_add(&list, logical_block_bytes);
	candidate_add(&list, stated_unit_bytes);
	out->stated = stated_unit_bytes ? ENDURANCE_UNCHECKED : ENDURANCE_NONE_STATED;
	fit_collect(&fit, &set);
	fit_measure(&fit);
	decide(&fit, &list, stated_unit_bytes, out);
	say_beside(&set, stated_unit_bytes, out);
}
