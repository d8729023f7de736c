/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the drive does to itself, or we to it. */
#include "measure/cause_private.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"

#define FOLLOW_MS	  90000 /* a drive counts its minutes by the minute: a second reading may be needed */
#define RATE_TIMES	  3	/* as fast as before the fall */
#define STILL_TIMES	  2	/* as long as it took to grow */
#define HOT_K		  2	/* within so much of the warning temperature it throttles */
#define RISE_K		  3
#define RISE_WITHIN_MS	  (20 * 60000)
#define HOT_FLAT_MS	  (3 * 60000) /* so long before the fall it must not have been hot already */
#define TEMP_FRESH_MS	  (6 * 60000)
#define BACKUP_FAILED_BIT 4
#define DIP_SHARE	  0.8
#define POLLS_MIN	  3
#define FLUSHES_MIN	  2
#define LASTING_MS	  (10 * 60000)
#define LEVEL_SHARE	  0.3 /* of the mean: a level is one within that */
#define LEVEL_MOST	  0.9 /* of the samples */
#define FAST_TIMES	  1.5
#define IDLE_MIN_NS	  (60 * NS_PER_S)
#define CACHE_SHARE_MAX	  0.35 /* of the capacity */
#define CACHE_BYTES_MIN	  (64ULL << 20)
#define CLIFF_SHARE_MAX	  4.0
#define LEAST_LEVEL	  0.05 /* of the baseline: less is a stall */

/* --- heat --- */

/* Readings around the beginning: the last before it, the first after it, and the last that still speaks of it. */
struct around {
	const struct cause_reading *first, *before, *after, *last; /* NULL: none; first: of the record */
};

static struct around readings_around(const struct cause_view *view)
{
	struct around around = { NULL, NULL, NULL, NULL };

	for (unsigned i = 0; i < view->in->reading_count; i++) {
		const struct cause_reading *reading = &view->in->readings[i];

		if (reading->t_ms <= view->from_ms) {
			around.before = reading;
			if (!around.first)
				around.first = reading;
		} else if (!around.after) {
			around.after = around.last = reading;
		} else if (reading->t_ms <= around.after->t_ms + FOLLOW_MS) {
			around.last = reading;
		}
	}
	return around;
}

static const struct {
	size_t offset;
	const char *what;
} heat_counters[] = {
	{ offsetof(struct cause_reading, thermal1_count), "times throttled lightly" },
	{ offsetof(struct cause_reading, thermal2_count), "times throttled heavily" },
	{ offsetof(struct cause_reading, thermal1_s), "s throttled lightly" },
	{ offsetof(struct cause_reading, thermal2_s), "s throttled heavily" },
	{ offsetof(struct cause_reading, warning_temp_minutes), "minutes above its warning temperature" },
	{ offsetof(struct cause_reading, critical_temp_minutes), "minutes above its critical temperature" },
	{ offsetof(struct cause_reading, throttle_events), "times throttled" },
};

static uint64_t field_of(const struct cause_reading *reading, size_t offset)
{
	uint64_t value;

	memcpy(&value, (const char *)reading + offset, sizeof(value));
	return value;
}

/* The count of events has 8 bits. */
static uint64_t heat_growth(const struct cause_reading *a, const struct cause_reading *b, size_t offset)
{
	uint64_t was = field_of(a, offset), is = field_of(b, offset);

	if (offset == offsetof(struct cause_reading, throttle_events) && was < 256 && is < was)
		return is + 256 - was;
	return evidence_growth(was, is);
}

/* One that always grows did not begin with the fall; and of one that grows now and then a single step says nothing. */
static bool is_new_growth(const struct around *around, size_t offset, uint64_t more)
{
	uint64_t before = heat_growth(around->first, around->before, offset);
	double before_ms = (double)(around->before->t_ms - around->first->t_ms),
	       now_ms = (double)(around->last->t_ms - around->before->t_ms);

	/* That it did not grow must have been seen for a while. */
	if (!before)
		return more > 0 && before_ms >= STILL_TIMES * now_ms;
	return more >= RATE_TIMES && (double)more / now_ms >= RATE_TIMES * (double)before / before_ms;
}

static bool say_heat_counter(const struct around *around, size_t index, struct cause_answer *out)
{
	const size_t offset = heat_counters[index].offset;
	uint64_t more = heat_growth(around->before, around->last, offset);
	char from[CAUSE_CLOCK_MAX], to[CAUSE_CLOCK_MAX], temp[48] = "";

	if (!is_new_growth(around, offset, more))
		return false;
	if (!isnan(around->after->temp_c))
		(void)snprintf(temp, sizeof(temp), ", at %.0f C", around->after->temp_c);
	return cause_found(out, CAUSE_THERMAL, CAUSE_MEASURED,
		"the drive counted %llu %s between %s and %s%s", (unsigned long long)more,
		heat_counters[index].what, cause_clock(around->before->t_ms, from),
		cause_clock(around->last->t_ms, to), temp);
}

static bool say_throttle_level(const struct around *around, struct cause_answer *out)
{
	char clock[CAUSE_CLOCK_MAX];

	return around->before->throttle_level == 0 && around->after->throttle_level > 0 &&
	       around->after->throttle_level != CAUSE_UNKNOWN_COUNT &&
	       cause_found(out, CAUSE_THERMAL, CAUSE_MEASURED,
		       "the drive says that it is throttled, at level %llu, at %s; it was not before",
		       (unsigned long long)around->after->throttle_level,
		       cause_clock(around->after->t_ms, clock));
}

/* The hottest reading about the beginning; NAN. */
static double peak_of(const struct cause_view *view, const struct around *around)
{
	double peak = NAN;

	if (around->before && view->from_ms - around->before->t_ms <= TEMP_FRESH_MS)
		peak = around->before->temp_c;
	if (around->after && around->after->t_ms - view->from_ms <= FOLLOW_MS)
		peak = isnan(peak) ? around->after->temp_c : fmax(peak, around->after->temp_c);
	return peak;
}

/* It rose to where the drive throttles, just before it fell. */
static bool say_heat(const struct cause_view *view, const struct around *around, struct cause_answer *out)
{
	const struct cause_input *in = view->in;
	double limit = around->before ? around->before->warning_temp_c : NAN, peak = peak_of(view, around),
	       coolest = NAN;

	if (!(peak >= limit - HOT_K))
		return false;
	for (unsigned i = 0; i < in->reading_count && in->readings[i].t_ms <= view->from_ms; i++) {
		const struct cause_reading *reading = &in->readings[i];

		if (reading->t_ms < view->from_ms - RISE_WITHIN_MS || isnan(reading->temp_c))
			continue;
		if (reading->t_ms < view->from_ms - HOT_FLAT_MS && reading->temp_c >= limit - HOT_K)
			return false;
		coolest = isnan(coolest) ? reading->temp_c : fmin(coolest, reading->temp_c);
	}
	return coolest <= peak - RISE_K &&
	       cause_found(out, CAUSE_THERMAL, CAUSE_CORRELATED,
		       "it had risen from %.0f to %.0f C within 20 min, its warning temperature is %.0f C",
		       coolest, peak, limit);
}

bool cause_is_thermal(const struct cause_view *view, struct cause_answer *out)
{
	struct around around = readings_around(view);

	for (unsigned i = 0;
		around.before && around.after && i < sizeof(heat_counters) / sizeof(heat_counters[0]); i++)
		if (say_heat_counter(&around, i, out))
			return true;
	if (around.before && around.after && say_throttle_level(&around, out))
		return true;
	return say_heat(view, &around, out);
}

/* --- the cache --- */

bool cause_is_cache_mode(const struct cause_view *view, struct cause_answer *out)
{
	const struct cause_sample *samples = view->in->samples;
	struct around around = readings_around(view);
	char clock[CAUSE_CLOCK_MAX];

	for (unsigned i = view->near_from > 0 ? view->near_from : 1; i < view->near_end; i++)
		if (strcmp(samples[i].counters.write_cache, "write through") == 0 &&
			strcmp(samples[i - 1].counters.write_cache, "write back") == 0)
			return cause_found(out, CAUSE_CACHE_MODE, CAUSE_MEASURED,
				"its write cache is off since %s", cause_clock(samples[i].t_ms, clock));
	return around.before && around.after && around.before->critical_warning != CAUSE_UNKNOWN_COUNT &&
	       around.after->critical_warning != CAUSE_UNKNOWN_COUNT &&
	       (around.after->critical_warning & ~around.before->critical_warning) >> BACKUP_FAILED_BIT & 1 &&
	       cause_found(out, CAUSE_CACHE_MODE, CAUSE_MEASURED,
		       "the drive warns since %s that the backup of its volatile memory failed: it can't "
		       "trust its cache",
		       cause_clock(around.after->t_ms, clock));
}

/* --- ours --- */

/* How fast the samples with @flag were of those without, before the fall: the mean of single ones; NAN for less than
 * @least. */
static double share_with(const struct cause_view *view, uint32_t flag, unsigned least)
{
	double with = 0, without = 0;
	unsigned with_count = 0, without_count = 0;

	for (unsigned i = 0; i < view->near_from; i++) {
		const struct cause_sample *sample = &view->in->samples[i];
		double rate = cause_rate(sample);

		if (isnan(rate))
			continue;
		if (sample->flags & flag) {
			with += rate;
			with_count++;
		} else {
			without += rate;
			without_count++;
		}
	}
	return with_count >= least && without > 0 ? with / with_count / (without / without_count) : NAN;
}

/* It began in a sample with @flag, and lasted no longer than that. A drive that stands still keeps what is asked of it
 * waiting, whatever made it stand still. */
static bool is_of_flag(const struct cause_view *view, uint32_t flag)
{
	const struct collapse_finding *finding = view->in->finding;
	unsigned last = view->end - 1;

	if (!(finding->mean_bytes_per_s >= finding->baseline_bytes_per_s * LEAST_LEVEL) ||
		!(view->in->samples[view->onset].flags & flag) ||
		(view->onset > 0 && view->in->samples[view->onset - 1].flags & flag))
		return false;
	for (unsigned i = view->onset; i < last; i++)
		if (!(view->in->samples[i].flags & flag))
			return false;
	return true;
}

bool cause_is_health_poll(const struct cause_view *view, struct cause_answer *out)
{
	double share = share_with(view, SAMPLE_FLAG_HEALTH_POLL, POLLS_MIN);

	return is_of_flag(view, SAMPLE_FLAG_HEALTH_POLL) && share <= DIP_SHARE &&
	       cause_found(out, CAUSE_HEALTH_POLL, CAUSE_CORRELATED,
		       "it began and ended with our reading of its health, and in earlier samples with one "
		       "it wrote %.0f %% of what it did without",
		       share * 100);
}

static bool say_pause(const struct cause_view *view, struct cause_answer *out)
{
	char clock[CAUSE_CLOCK_MAX];

	for (unsigned i = view->near_from; i < view->onset; i++) {
		if (view->in->samples[i].state != SAMPLE_PAUSED)
			continue;
		return cause_found(out, CAUSE_OWN_PAUSE, CAUSE_CORRELATED,
			"the run had paused right before, at %s",
			cause_clock(view->in->samples[i].t_ms, clock));
	}
	return false;
}

bool cause_is_own_pause(const struct cause_view *view, struct cause_answer *out)
{
	double share = share_with(view, SAMPLE_FLAG_FLUSH, FLUSHES_MIN);

	if (say_pause(view, out))
		return true;
	return is_of_flag(view, SAMPLE_FLAG_FLUSH) && share <= DIP_SHARE &&
	       cause_found(out, CAUSE_OWN_PAUSE, CAUSE_CORRELATED,
		       "it began and ended with our flush of the drive, and in earlier samples with one it "
		       "wrote %.0f %% of what it did without",
		       share * 100);
}

/* --- its shape --- */

/* The mean of samples @from to before @to when they are a level above a stall, else NAN. */
static double level_of(const struct cause_view *view, unsigned from, unsigned to)
{
	double sum = 0, mean;
	unsigned known = 0, off = 0;

	for (unsigned i = from; i < to; i++)
		if (!isnan(cause_rate(&view->in->samples[i]))) {
			sum += cause_rate(&view->in->samples[i]);
			known++;
		}
	if (!known)
		return NAN;
	mean = sum / known;
	for (unsigned i = from; i < to; i++)
		off += fabs(cause_rate(&view->in->samples[i]) - mean) > mean * LEVEL_SHARE;
	return off <= known * (1 - LEVEL_MOST) &&
			       mean >= view->in->finding->baseline_bytes_per_s * LEAST_LEVEL
		       ? mean
		       : NAN;
}

/* The level that it fell to and keeps; NAN when it does not, or it is too early to tell. */
static double lasting_level(const struct cause_view *view)
{
	const struct cause_input *in = view->in;

	if (in->finding->to_ms != COLLAPSE_OPEN && in->finding->kind != COLLAPSE_CLIFF)
		return NAN;
	if (in->samples[view->end - 1].t_ms - view->from_ms < LASTING_MS)
		return NAN;
	/* It may have slid there. */
	return level_of(view, view->onset + (view->end - view->onset) / 2, view->end);
}

static bool is_rest(const struct cause_sample *sample)
{
	return sample->state == SAMPLE_PAUSED || sample->state == SAMPLE_DOWN;
}

bool cause_is_write_cache(const struct cause_view *view, struct cause_answer *out)
{
	const struct cause_input *in = view->in;
	const struct cause_sample *onset = &in->samples[view->onset > 0 ? view->onset - 1 : 0];
	double level = lasting_level(view), fast;
	unsigned begin = view->onset;
	char written[UNITS_TEXT_MAX], idle[UNITS_TEXT_MAX];

	if (isnan(level) || onset->since_idle_bytes == SAMPLE_UNKNOWN || onset->idle_ns == SAMPLE_UNKNOWN ||
		onset->idle_ns < IDLE_MIN_NS || in->capacity_bytes == UINT64_MAX ||
		onset->since_idle_bytes < CACHE_BYTES_MIN ||
		(double)onset->since_idle_bytes > CACHE_SHARE_MAX * (double)in->capacity_bytes)
		return false;
	while (begin > 0 && !is_rest(&in->samples[begin - 1]))
		begin--;
	/* All since the rest must be known; the first sample after it is not whole. */
	if (begin == 0 || begin + 1 >= view->onset)
		return false;
	fast = level_of(view, begin + 1, view->onset);
	if (!(fast >= level * FAST_TIMES))
		return false;
	units_print_bytes_rounded((double)onset->since_idle_bytes, written);
	units_print_duration_rounded((double)onset->idle_ns, idle);
	return cause_found(out, CAUSE_WRITE_CACHE, CAUSE_INFERRED,
		"a level kept for %s after %s of rest, then a step to %.0f %% of it that stays", written,
		idle, level / fast * 100);
}

bool cause_is_garbage(const struct cause_view *view, struct cause_answer *out)
{
	const struct cause_sample *onset = &view->in->samples[view->onset];
	double level = lasting_level(view);

	/* With less written than a fast cache may hold it could be that, too. */
	return view->in->finding->kind == COLLAPSE_CLIFF && onset->capacities > CACHE_SHARE_MAX &&
	       onset->capacities <= CLIFF_SHARE_MAX && !isnan(level) &&
	       cause_found(out, CAUSE_GARBAGE, CAUSE_INFERRED,
		       "the drive was fresh: the first fall, after %.2f times its capacity was written, to a "
		       "level that "
		       "stays at %.0f %%",
		       onset->capacities, level / view->in->finding->baseline_bytes_per_s * 100);
}
