/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Write amplification: what went to the flash over what the host wrote, between the first and the last good reading of
 * each base, with all that the two can be apart by: a unit at each end, the time between the reading of the two
 * counters, and, of drives that update them rarely, what was written since. Pages stand for bytes where the drive counts
 * those alone: of the ratio their size is no part, only of what the ends are off. */
#include "measure/endurance_private.h"

#include <math.h>
#include <stdio.h>

#include "base/units.h"

#define HALF_WIDTH_MAX	0.05
#define STALE_SHARE_MIN 0.05 /* of the readings: then the drive does not count at once */
#define STALE_UNITS	2    /* written while a counter that counts at once can't stand still */
#define UNSEEN_OFF	0.8  /* how far the share of the flash may be another in what is not covered */
#define SANE_MAX	100.0
#define PAGE_BYTES	16384.0 /* until one is measured */

struct waf {
	struct endurance_set set;
	enum run_phase phase; /* PHASE_COUNT: all */
	double unit[2];	      /* bytes, by counter */
	double waf_guess;
	/* sums over the bases */
	double bytes[2], error[2];
	double all_bytes; /* by the disk, between all readings */
	double seen_bytes;
	unsigned bases;
	size_t readings;
};

/* One base: readings without a counter that went backwards. */
struct base {
	size_t first, last; /* points; both are good readings */
	double bytes;	    /* written in it */
	bool is_slow[2];
	double jitter_bytes; /* between the two counters at both ends, by updates between the readings */
};

struct end {
	size_t at;
	double cost, stale_bytes, written_bytes; /* since the base began */
};

static bool is_in_phase(const struct waf *waf, size_t i)
{
	return waf->phase == PHASE_COUNT || waf->set.points[i].phase == waf->phase;
}

static bool is_good(const struct waf *waf, size_t i)
{
	return endurance_is_read(&waf->set, i, ENDURANCE_HOST) &&
	       endurance_is_read(&waf->set, i, ENDURANCE_MEDIA);
}

static double written(const struct waf *waf, size_t from, size_t to)
{
	return endurance_bytes_between(&waf->set, &waf->set.points[from], &waf->set.points[to]);
}

static double counted(const struct waf *waf, size_t from, size_t to, enum endurance_counter counter)
{
	uint64_t a = endurance_count(&waf->set, from, counter), b = endurance_count(&waf->set, to, counter);

	return (b >= a ? (double)(b - a) : -(double)(a - b)) * waf->unit[counter];
}

/* The next base at or after @at; false: none. */
static bool base_find(const struct waf *waf, size_t at, struct base *out)
{
	while (at < waf->set.count && !(is_in_phase(waf, at) && is_good(waf, at)))
		at++;
	if (at >= waf->set.count)
		return false;
	*out = (struct base){ .first = at, .last = at };
	for (size_t i = at + 1; i < waf->set.count && is_in_phase(waf, i); i++) {
		if (!is_good(waf, i))
			continue;
		if (counted(waf, out->last, i, ENDURANCE_HOST) < 0 ||
			counted(waf, out->last, i, ENDURANCE_MEDIA) < 0)
			break;
		out->bytes += written(waf, out->last, i);
		out->last = i;
	}
	return true;
}

static size_t next_good(const struct waf *waf, size_t i)
{
	do
		i++;
	while (!is_good(waf, i));
	return i;
}

/* Whether the drive counts at once, from readings that repeat while much was written and from how the host counter
 * jumps about the disk's. */
static void base_judge(const struct waf *waf, struct base *base)
{
	size_t repeats[2] = { 0, 0 }, steps = 0;
	double squares = 0;

	for (size_t i = base->first; i < base->last;) {
		size_t to = next_good(waf, i);
		double bytes = written(waf, i, to), disk, off;

		steps++;
		for (unsigned c = 0; c < 2; c++) {
			double expected = c == ENDURANCE_MEDIA ? bytes * waf->waf_guess : bytes;

			if (counted(waf, i, to, c) <= 0 && expected >= STALE_UNITS * waf->unit[c])
				repeats[c]++;
		}
		if (endurance_disk_bytes(&waf->set.points[i], &waf->set.points[to], &disk)) {
			off = disk - counted(waf, i, to, ENDURANCE_HOST);
			squares += off * off;
		}
		i = to;
	}
	for (unsigned c = 0; c < 2; c++)
		base->is_slow[c] = (double)repeats[c] > STALE_SHARE_MIN * (double)steps;
	if (!steps)
		return;
	/* Of the flash counter there is nothing to compare with: drives update it now and then between two readings, and
	 * not with the other. */
	base->jitter_bytes = base->bytes / (double)steps;
	/* Two evenly spread ends are apart by a sixth of the square of their spread. The ends of a slow one are fresh. */
	if (!base->is_slow[ENDURANCE_HOST])
		base->jitter_bytes = fmax(
			base->jitter_bytes, sqrt(6 * squares / (double)steps) - waf->unit[ENDURANCE_HOST]);
}

static void end_offer(struct end *end, bool is_later_better, const struct end *offer)
{
	if (offer->cost < end->cost || (is_later_better && offer->cost <= end->cost))
		*end = *offer;
}

/* The freshest readings near both ends. A slow counter was updated somewhere between its edge and the reading before
 * that; before its first edge nobody knows when. */
static void base_find_ends(
	const struct waf *waf, const struct base *base, struct end *first, struct end *last)
{
	double since[2] = { base->is_slow[0] ? -INFINITY : 0, base->is_slow[1] ? -INFINITY : 0 };
	double bytes = 0;

	*first = *last = (struct end){ .cost = INFINITY };
	for (size_t i = base->first, before = i;; before = i, i = next_good(waf, i)) {
		double step = i > before ? written(waf, before, i) : 0;
		struct end offer = { .at = i, .written_bytes = bytes + step };

		for (unsigned c = 0; c < 2; c++) {
			if (base->is_slow[c] && counted(waf, before, i, c) > 0)
				since[c] = bytes;
			if (base->is_slow[c])
				offer.stale_bytes = fmax(offer.stale_bytes, offer.written_bytes - since[c]);
		}
		bytes += step;
		offer.cost = offer.stale_bytes + UNSEEN_OFF * bytes;
		end_offer(first, false, &offer);
		offer.cost = offer.stale_bytes + UNSEEN_OFF * (base->bytes - bytes);
		end_offer(last, true, &offer);
		if (i == base->last)
			break;
	}
}

static double skew_bytes(const struct waf *waf, size_t i)
{
	const struct endurance_point *points = waf->set.points;
	double skew = 0;

	if (i > 0)
		skew = endurance_skew_bytes(&points[i - 1], &points[i], written(waf, i - 1, i));
	if (i + 1 < waf->set.count && points[i + 1].t_ms > points[i].t_ms && points[i].read_ms > 0)
		skew = fmax(skew, written(waf, i, i + 1) * points[i].read_ms /
					  (double)(points[i + 1].t_ms - points[i].t_ms));
	return skew;
}

static void base_add(struct waf *waf, struct base *base)
{
	struct end first, last;

	base_judge(waf, base);
	base_find_ends(waf, base, &first, &last);
	if (isinf(first.cost) || isinf(last.cost) || first.at >= last.at)
		return;
	for (unsigned c = 0; c < 2; c++) {
		waf->bytes[c] += counted(waf, first.at, last.at, c);
		waf->error[c] += waf->unit[c];
	}
	waf->error[ENDURANCE_HOST] += first.stale_bytes + last.stale_bytes + skew_bytes(waf, first.at) +
				      skew_bytes(waf, last.at) + base->jitter_bytes;
	waf->seen_bytes += last.written_bytes - first.written_bytes;
	waf->bases++;
}

static bool has_bytes(const struct endurance_point *point)
{
	return point->disk_written_bytes != UINT64_MAX || point->own_written_bytes != UINT64_MAX;
}

static void count_all(struct waf *waf)
{
	size_t last = SIZE_MAX;

	for (size_t i = 0; i < waf->set.count; i++) {
		if (!is_in_phase(waf, i)) {
			last = SIZE_MAX;
			continue;
		}
		waf->readings += is_good(waf, i);
		if (!has_bytes(&waf->set.points[i]))
			continue;
		if (last != SIZE_MAX)
			waf->all_bytes += written(waf, last, i);
		last = i;
	}
}

static void sum_bases(struct waf *waf)
{
	struct base base;
	size_t at = 0;

	waf->bytes[0] = waf->bytes[1] = waf->error[0] = waf->error[1] = waf->seen_bytes = 0;
	waf->bases = 0;
	while (base_find(waf, at, &base)) {
		base_add(waf, &base);
		at = base.last + 1;
	}
}

static double media_unit_bytes(const struct endurance_set *set)
{
	for (size_t i = set->count; i-- > 0;) {
		if (!isnan(set->points[i].media_unit_bytes))
			return set->points[i].media_unit_bytes;
		if (set->points[i].media_shares_unit)
			return (double)set->host_unit_bytes;
	}
	return NAN;
}

static bool is_counted(const struct endurance_set *set, enum endurance_counter counter)
{
	for (size_t i = 0; i < set->count; i++)
		if (endurance_is_read(set, i, counter))
			return true;
	return false;
}

/* What was written for a page of the host's, on the mean. */
static double page_bytes(const struct waf *waf)
{
	double bytes = 0, pages = 0;
	size_t last = SIZE_MAX;

	for (size_t i = 0; i < waf->set.count; i++) {
		if (!is_good(waf, i))
			continue;
		if (last != SIZE_MAX && waf->set.points[i].host_pages >= waf->set.points[last].host_pages) {
			pages += (double)(waf->set.points[i].host_pages - waf->set.points[last].host_pages);
			bytes += written(waf, last, i);
		}
		last = i;
	}
	return pages > 0 && bytes > 0 ? bytes / pages : PAGE_BYTES;
}

/* By bytes, or by pages where those are all there is. */
static void choose_counters(struct waf *waf)
{
	struct endurance_set by_pages = waf->set;

	waf->unit[ENDURANCE_HOST] = (double)waf->set.host_unit_bytes;
	waf->unit[ENDURANCE_MEDIA] = media_unit_bytes(&waf->set);
	by_pages.by_pages = true;
	if (is_counted(&waf->set, ENDURANCE_MEDIA) || !is_counted(&by_pages, ENDURANCE_MEDIA) ||
		!is_counted(&by_pages, ENDURANCE_HOST))
		return;
	waf->set.by_pages = true;
	waf->unit[ENDURANCE_HOST] = waf->unit[ENDURANCE_MEDIA] = page_bytes(waf);
}

/* In words why there can be no figure, whatever is written; NULL: there may. */
static const char *why_never(const struct waf *waf)
{
	if (!is_counted(&waf->set, ENDURANCE_MEDIA))
		return "the drive does not tell what it writes to its flash";
	if (!is_counted(&waf->set, ENDURANCE_HOST))
		return "the drive does not tell what the host wrote";
	if (!(waf->unit[ENDURANCE_HOST] > 0))
		return "the unit of the host-write counter is not known";
	if (!(waf->unit[ENDURANCE_MEDIA] > 0))
		return "the unit of the flash-write counter is not known";
	return NULL;
}

static void say_waf(struct waf *waf, struct endurance_interval *out)
{
	double host = waf->bytes[ENDURANCE_HOST], media = waf->bytes[ENDURANCE_MEDIA];
	double host_off = waf->error[ENDURANCE_HOST], media_off = waf->error[ENDURANCE_MEDIA];
	char media_text[UNITS_TEXT_MAX], host_text[UNITS_TEXT_MAX], bases[48] = "";

	out->value = media / host;
	out->low = fmax(media - media_off, 0) / (host + host_off);
	out->high = (media + media_off) / (host - host_off);
	if (waf->set.by_pages) {
		(void)snprintf(media_text, sizeof(media_text), "%.0f pages", media / waf->unit[0]);
		(void)snprintf(host_text, sizeof(host_text), "%.0f", host / waf->unit[0]);
	} else {
		units_print_bytes_rounded(media, media_text);
		units_print_bytes_rounded(host, host_text);
	}
	if (waf->bases > 1)
		(void)snprintf(bases, sizeof(bases), ", in %u stretches between resets", waf->bases);
	(void)snprintf(out->how, sizeof(out->how), "%s to the flash for %s of the host, %zu readings%s%s",
		media_text, host_text, waf->readings, bases,
		out->value < 1 ? "; less than 1: the drive compresses, or holds some of it in a cache" : "");
}

/* What else must be written until the same errors are small enough. */
static void say_more(const struct waf *waf, struct endurance_interval *out)
{
	double host_off = fmax(waf->error[ENDURANCE_HOST], waf->unit[ENDURANCE_HOST]);
	double media_off = fmax(waf->error[ENDURANCE_MEDIA], waf->unit[ENDURANCE_MEDIA]);
	double needed = (host_off + media_off / waf->waf_guess) / HALF_WIDTH_MAX;
	double host = waf->bytes[ENDURANCE_HOST];
	char more[UNITS_TEXT_MAX], have[UNITS_TEXT_MAX];

	units_print_bytes_rounded(fmax(needed - host, media_off), more);
	units_print_bytes_rounded(host, have);
	if (waf->readings < 2)
		endurance_say_unknown(out, "not enough data: %zu readings", waf->readings);
	else
		endurance_say_unknown(out,
			"not enough data: %s counted at %zu readings, about %s more are needed", have,
			waf->readings, more);
}

static void decide(struct waf *waf, struct endurance_interval *out)
{
	double *bytes = waf->bytes, *error = waf->error, unseen;
	double value = bytes[ENDURANCE_MEDIA] / bytes[ENDURANCE_HOST], half;

	/* What no base covers went to the flash at about the same share. */
	unseen = fmax(waf->all_bytes - waf->seen_bytes, 0);
	if (value > 0 && bytes[ENDURANCE_HOST] > 0) {
		error[ENDURANCE_MEDIA] += UNSEEN_OFF * value * unseen * bytes[ENDURANCE_HOST] /
					  (bytes[ENDURANCE_HOST] + unseen);
	}
	half = (error[ENDURANCE_MEDIA] / bytes[ENDURANCE_MEDIA] +
		error[ENDURANCE_HOST] / bytes[ENDURANCE_HOST]);
	if (!(value > 0) || !(half <= HALF_WIDTH_MAX))
		say_more(waf, out);
	else if (value > SANE_MAX || value < 1 / SANE_MAX)
		endurance_say_unknown(
			out, "%.3g can't be: a unit or a counter is another than it is taken for", value);
	else
		say_waf(waf, out);
}

void endurance_waf(const struct endurance_point *points, size_t count, uint64_t host_unit_bytes,
	enum run_phase phase, struct endurance_interval *out)
{
	struct waf waf = { .set = { points, count, host_unit_bytes, false }, .phase = phase, .waf_guess = 1 };
	const char *why;

	choose_counters(&waf);
	why = why_never(&waf);
	if (why) {
		endurance_say_unknown(out, "%s", why);
		return;
	}
	count_all(&waf);
	sum_bases(&waf);
	/* Whether the flash counter stands still is judged by what is expected of it. */
	if (waf.bytes[ENDURANCE_MEDIA] > 0 && waf.bytes[ENDURANCE_HOST] > 0) {
		waf.waf_guess = waf.bytes[ENDURANCE_MEDIA] / waf.bytes[ENDURANCE_HOST];
		sum_bases(&waf);
	}
	decide(&waf, out);
}
