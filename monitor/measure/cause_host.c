/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the machine and others on it do: no CPU, a path that is shared, other users of the disk. */
#include "measure/cause_private.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "measure/hostlimit.h"

/* A host that takes a hundredth of the time does not take half of the throughput. */
#define HOST_SHARE_OF_LOSS 0.25
#define HOST_SAMPLES_MAX   30
#define PRESSURE_MIN	   0.25
#define FOREIGN_OF_LOSS	   0.4
#define FOREIGN_TIMES	   3 /* as much as before */
#define DISCARD_MIN_BYTES  (1024.0 * 1024 * 1024)
#define BEFORE_SAMPLES	   30
#define FELL_SHARE	   0.5
#define BACK_SAMPLES	   2.5
#define FELL_BEFORE	   6 /* samples that tell what was before */

static double most(double a, double b)
{
	return isnan(a) ? b : isnan(b) ? a : fmax(a, b);
}

double cause_host_strength(const struct cause_sample *sample)
{
	double strength = most(sample->run_delay_share, sample->steal_share);

	strength = most(strength, sample->throttled_share);
	if (sample->host_measures & HOSTLIMIT_CPU_FULL)
		strength = most(strength, 1);
	if (sample->host_measures & HOSTLIMIT_IN_FLIGHT)
		strength = most(strength, 1 - sample->in_flight_share);
	return isnan(strength) ? NAN : fmin(strength, 1);
}

double cause_host_least(const struct cause_view *view)
{
	return fmax(view->lost * HOST_SHARE_OF_LOSS, 0.05);
}

static double pressure_of(const struct cause_sample *sample)
{
	return sample->cpu_pressure;
}

static double foreign_of(const struct cause_sample *sample)
{
	return sample->foreign_bytes;
}

/* Mean over samples @from to before @to of what is known; NAN where nothing is. */
static double mean_of(const struct cause_view *view, double (*value)(const struct cause_sample *),
	unsigned from, unsigned to)
{
	double sum = 0;
	unsigned known = 0;

	for (unsigned i = from; i < to; i++) {
		double one = value(&view->in->samples[i]);

		if (isnan(one))
			continue;
		sum += one;
		known++;
	}
	return known ? sum / known : NAN;
}

static double mean_before(const struct cause_view *view, double (*value)(const struct cause_sample *))
{
	unsigned from = view->near_from > BEFORE_SAMPLES ? view->near_from - BEFORE_SAMPLES : 0;

	return mean_of(view, value, from, view->near_from);
}

/* The first sample of a fall may be half of the time before: then the second speaks. */
static double mean_onset(const struct cause_view *view, double (*value)(const struct cause_sample *))
{
	return fmax(
		value(&view->in->samples[view->onset]), mean_of(view, value, view->onset, view->near_end));
}

static double mean_fall(const struct cause_view *view, double (*value)(const struct cause_sample *))
{
	unsigned to = view->end - view->onset > HOST_SAMPLES_MAX ? view->onset + HOST_SAMPLES_MAX : view->end;

	return mean_of(view, value, view->onset, to);
}

/* It came with the fall, lasts with it, and is enough to make it. */
static bool is_enough(
	const struct cause_view *view, double (*value)(const struct cause_sample *), double least)
{
	double onset = mean_onset(view, value), fall = mean_fall(view, value),
	       before = mean_before(view, value);

	return onset >= least && fall >= least && (isnan(before) || before <= fall * CAUSE_HOST_BEFORE_SHARE);
}

static bool say_host_line(const struct cause_view *view, struct cause_answer *out)
{
	char clock[CAUSE_CLOCK_MAX];

	for (unsigned i = 0; i < view->in->line_count; i++) {
		const struct cause_line *line = &view->in->lines[i];

		/* A lockup is told after 20 s. */
		if ((line->word != KERNELLINE_HOST && line->word != KERNELLINE_POLLED) ||
			line->t_ms < view->near_from_ms || line->t_ms > view->near_to_ms + 30000)
			continue;
		return cause_found(out, CAUSE_HOST, CAUSE_MEASURED, "the kernel at %s: %s",
			cause_clock(line->t_ms, clock), line->text);
	}
	return false;
}

static bool say_host_measures(const struct cause_view *view, struct cause_answer *out)
{
	const struct cause_sample *sample = &view->in->samples[view->onset];

	if (!is_enough(view, cause_host_strength, cause_host_least(view)))
		return false;
	return cause_found(out, CAUSE_HOST, CAUSE_MEASURED,
		"the host took %.0f %% of the time in the fall, %.0f %% before; in its first sample threads "
		"waited %.0f %% for a CPU, the hypervisor took %.0f %%, a quota %.0f %%",
		mean_fall(view, cause_host_strength) * 100,
		fmax(mean_before(view, cause_host_strength), 0) * 100, fmax(sample->run_delay_share, 0) * 100,
		fmax(sample->steal_share, 0) * 100, fmax(sample->throttled_share, 0) * 100);
}

/* Only where it is not known whether it were our threads that waited. */
static bool say_pressure(const struct cause_view *view, struct cause_answer *out)
{
	if (!isnan(view->in->samples[view->onset].run_delay_share) ||
		!is_enough(view, pressure_of, fmax(view->lost * CAUSE_HOST_BEFORE_SHARE, PRESSURE_MIN)))
		return false;
	return cause_found(out, CAUSE_HOST, CAUSE_CORRELATED,
		"some task waited for a CPU %.0f %% of the time in the fall, %.0f %% before",
		mean_fall(view, pressure_of) * 100, fmax(mean_before(view, pressure_of), 0) * 100);
}

bool cause_is_host(const struct cause_view *view, struct cause_answer *out)
{
	return say_host_line(view, out) || say_host_measures(view, out) || say_pressure(view, out);
}

/* --- a path that is shared --- */

static bool is_within(const struct cause_view *view, int64_t a_ms, int64_t b_ms, double samples)
{
	return (double)llabs(a_ms - b_ms) <= samples * (double)view->interval_ms;
}

static bool fell_with(const struct cause_view *view, const struct cause_neighbour *neighbour)
{
	return neighbour->has_fallen &&
	       is_within(view, neighbour->fall.from_ms, view->from_ms, CAUSE_TOGETHER_SAMPLES);
}

/* Two that fall together by chance seldom come back together. */
static bool ends_with(const struct cause_view *view, const struct cause_neighbour *neighbour)
{
	const int64_t now_ms = view->in->samples[view->in->sample_count - 1].t_ms;
	const int64_t ours_ms = view->in->finding->to_ms != COLLAPSE_OPEN ? view->in->finding->to_ms : now_ms;
	const int64_t its_ms = neighbour->fall.to_ms != INT64_MAX ? neighbour->fall.to_ms : now_ms;

	return is_within(view, ours_ms, its_ms, BACK_SAMPLES);
}

bool cause_is_shared_path(const struct cause_view *view, struct cause_answer *out)
{
	const struct cause_input *in = view->in;
	char names[256] = "", clock[CAUSE_CLOCK_MAX];
	unsigned with = 0, back = 0, of = 0;
	int64_t fell_ms = 0;

	for (unsigned i = 0; i < in->neighbour_count; i++) {
		const struct cause_neighbour *neighbour = &in->neighbours[i];
		size_t used = strlen(names);

		/* Where those of other paths fall as well it is not the path. */
		if (!neighbour->shares_path && fell_with(view, neighbour))
			return false;
		of += neighbour->shares_path;
		/* One that also falls alone falls with others by chance. */
		if (!neighbour->shares_path || !fell_with(view, neighbour) || neighbour->lone_falls)
			continue;
		with++;
		back += ends_with(view, neighbour);
		fell_ms = neighbour->fall.from_ms;
		(void)snprintf(names + used, sizeof(names) - used, "%s%s", used ? ", " : "", neighbour->name);
	}
	return (with > 1 || back > 0) &&
	       cause_found(out, CAUSE_SHARED_PATH, CAUSE_CORRELATED,
		       "%u of %u other drives on %s fell with it, in the same sample or the next: %s at %s",
		       with, of, in->path && in->path[0] ? in->path : "its path", names,
		       cause_clock(fell_ms, clock));
}

static double median_of(const double *values, unsigned count)
{
	double sorted[FELL_BEFORE];

	for (unsigned i = 0; i < count; i++) {
		unsigned k = i;

		for (; k > 0 && sorted[k - 1] > values[i]; k--)
			sorted[k] = sorted[k - 1];
		sorted[k] = values[i];
	}
	return sorted[count / 2];
}

unsigned cause_falls(const struct cause_sample *samples, unsigned count, struct cause_fall *out)
{
	double last[FELL_BEFORE], base = NAN;
	unsigned known = 0, falls = 0;
	bool is_low = false;

	for (unsigned i = 0; i + 1 < count; i++) {
		double rate = cause_rate(&samples[i]), next = cause_rate(&samples[i + 1]);
		int64_t from_ms = samples[i].t_ms - (int64_t)(samples[i].elapsed_ns / NS_PER_MS);

		if (isnan(rate))
			continue;
		if (!is_low && known >= FELL_BEFORE)
			base = median_of(last, FELL_BEFORE);
		if (!is_low && falls < CAUSE_FALLS_MAX && rate < base * FELL_SHARE &&
			next < base * FELL_SHARE) {
			is_low = true;
			out[falls++] = (struct cause_fall){ from_ms, INT64_MAX };
		} else if (is_low && rate >= base * FELL_SHARE) {
			is_low = false;
			out[falls - 1].to_ms = from_ms;
		}
		if (!is_low)
			last[known++ % FELL_BEFORE] = rate;
	}
	return falls;
}

static bool is_among(const struct cause_fall *falls, unsigned count, int64_t t_ms, int64_t within_ms)
{
	for (unsigned i = 0; i < count; i++)
		if (llabs(falls[i].from_ms - t_ms) <= within_ms)
			return true;
	return false;
}

bool cause_match_falls(const struct cause_fall *other, unsigned other_count, const struct cause_fall *own,
	unsigned own_count, int64_t near_ms, int64_t within_ms, struct cause_fall *out, unsigned *lone)
{
	int64_t nearest_ms = INT64_MAX;

	*lone = 0;
	for (unsigned i = 0; i < other_count; i++) {
		int64_t away_ms = llabs(other[i].from_ms - near_ms);

		if (away_ms <= within_ms && away_ms < nearest_ms) {
			nearest_ms = away_ms;
			*out = other[i];
		}
		*lone += away_ms > within_ms && !is_among(own, own_count, other[i].from_ms, within_ms);
	}
	return nearest_ms != INT64_MAX;
}

/* --- other users of the disk --- */

static bool say_resync(const struct cause_view *view, struct cause_answer *out)
{
	const struct cause_sample *samples = view->in->samples;
	char clock[CAUSE_CLOCK_MAX];

	for (unsigned i = view->near_from > 0 ? view->near_from : 1; i < view->near_end; i++) {
		if (!evidence_is_busy(samples[i].counters.md_action) ||
			evidence_is_busy(samples[i - 1].counters.md_action) ||
			!samples[i - 1].counters.md_action[0])
			continue;
		return cause_found(out, CAUSE_BACKGROUND, CAUSE_MEASURED,
			"its RAID array is busy with \"%s\" since %s", samples[i].counters.md_action,
			cause_clock(samples[i].t_ms, clock));
	}
	return false;
}

static bool say_discards(const struct cause_view *view, struct cause_answer *out)
{
	double bytes = 0, peak = 0;
	char amount[UNITS_TEXT_MAX];

	for (unsigned i = view->near_from; i < view->near_end; i++) {
		bytes += fmax(view->in->samples[i].foreign_discards, 0);
		peak = fmax(peak, view->in->samples[i].foreign_discards);
	}
	/* Filesystems discard what files gave up, all the time and little. */
	for (unsigned i = 0; i < view->near_from; i++)
		if (view->in->samples[i].foreign_discards > peak / FOREIGN_TIMES)
			return false;
	if (bytes < DISCARD_MIN_BYTES)
		return false;
	units_print_bytes_rounded(bytes, amount);
	return cause_found(out, CAUSE_BACKGROUND, CAUSE_MEASURED,
		"others discarded %s on the disk around its beginning (fstrim, blkdiscard)", amount);
}

static bool say_foreign(const struct cause_view *view, struct cause_answer *out)
{
	const struct collapse_finding *finding = view->in->finding;
	const double interval_s = (double)view->interval_ms / 1e3;
	double lost = finding->baseline_bytes_per_s * view->lost * interval_s;
	double onset = mean_onset(view, foreign_of), fall = mean_fall(view, foreign_of),
	       before = mean_before(view, foreign_of);
	char now[UNITS_TEXT_MAX], then[UNITS_TEXT_MAX];

	if (!(onset >= lost * FOREIGN_OF_LOSS && fall >= lost * FOREIGN_OF_LOSS) || !(lost > 0) ||
		!(before <= fall / FOREIGN_TIMES))
		return false;
	units_print_rate_rounded(fall / interval_s, now);
	units_print_rate_rounded(before / interval_s, then);
	return cause_found(out, CAUSE_BACKGROUND, CAUSE_MEASURED,
		"other programs read and write %s on the disk since it began, %s before", now, then);
}

static bool say_self_test(const struct cause_view *view, struct cause_answer *out)
{
	const struct cause_reading *readings = view->in->readings;
	char clock[CAUSE_CLOCK_MAX];

	for (unsigned i = 1; i < view->in->reading_count; i++) {
		if (readings[i].self_test != 1 || readings[i - 1].self_test != 0 ||
			readings[i - 1].t_ms > view->near_to_ms || readings[i].t_ms < view->near_from_ms)
			continue;
		return cause_found(out, CAUSE_BACKGROUND, CAUSE_MEASURED,
			"a self-test of the drive runs, first seen at %s",
			cause_clock(readings[i].t_ms, clock));
	}
	return false;
}

bool cause_is_background(const struct cause_view *view, struct cause_answer *out)
{
	return say_resync(view, out) || say_discards(view, out) || say_self_test(view, out) ||
	       say_foreign(view, out);
}
