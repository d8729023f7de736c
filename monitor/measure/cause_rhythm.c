/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Falls that come round like the teeth of a saw: what nearly all of those within the record have in common. */
#include "measure/cause_private.h"

#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/units.h"
#include "measure/hostlimit.h"

#define TEETH_MAX     128
#define TEETH_MIN     3
#define TEETH_SHARE   0.8
#define TEETH_ALONE   6	   /* fewer may come at equal distances by chance */
#define LOW_SHARE     0.6  /* of the baseline: a tooth begins */
#define HIGH_SHARE    0.7  /* it is over */
#define BETWEEN_SHARE 0.25 /* as often between the teeth: it is always so */
#define HOT_K	      2
#define TEMP_FRESH_MS (6 * 60000)
#define WAF_BYTES_MIN (100ULL << 30) /* with less the units of the counters show */

struct teeth {
	unsigned first[TEETH_MAX], end[TEETH_MAX]; /* samples; end: behind the last */
	unsigned count;
};

static void teeth_find(const struct cause_input *in, struct teeth *teeth)
{
	bool was_high = false;

	teeth->count = 0;
	for (unsigned i = 0; i < in->sample_count && teeth->count < TEETH_MAX; i++) {
		double share = cause_rate(&in->samples[i]) / in->finding->baseline_bytes_per_s;

		if (isnan(share))
			continue;
		/* A single low sample is none. */
		if (was_high && share < LOW_SHARE && i + 1 < in->sample_count &&
			cause_rate(&in->samples[i + 1]) / in->finding->baseline_bytes_per_s < LOW_SHARE) {
			teeth->first[teeth->count] = i;
			teeth->end[teeth->count++] = i + 2;
			was_high = false;
		} else if (share >= HIGH_SHARE) {
			was_high = true;
		} else if (!was_high && teeth->count) {
			teeth->end[teeth->count - 1] = i + 1;
		}
	}
}

static bool is_most(const struct teeth *teeth, unsigned with)
{
	return teeth->count >= TEETH_MIN && with >= teeth->count * TEETH_SHARE;
}

static bool is_high(const struct cause_input *in, unsigned i)
{
	return cause_rate(&in->samples[i]) / in->finding->baseline_bytes_per_s >= HIGH_SHARE;
}

/* Neither of a tooth nor beside one: what makes a tooth may begin and end in samples that are high as a whole. */
static bool is_between(const struct cause_input *in, const struct teeth *teeth, unsigned i)
{
	return i > teeth->first[0] && i + 1 < teeth->first[teeth->count - 1] && is_high(in, i - 1) &&
	       is_high(in, i) && is_high(in, i + 1);
}

static unsigned with_flag(const struct cause_input *in, const struct teeth *teeth, uint32_t flag)
{
	unsigned with = 0;

	for (unsigned i = 0; i < teeth->count; i++)
		with += (in->samples[teeth->first[i]].flags & flag) != 0;
	return with;
}

/* Of a flag that most samples have anyway nothing follows. */
static bool is_always(const struct cause_input *in, const struct teeth *teeth, uint32_t flag)
{
	unsigned between = 0, marked = 0;

	for (unsigned i = 0; i < in->sample_count; i++) {
		if (!is_between(in, teeth, i))
			continue;
		between++;
		marked += (in->samples[i].flags & flag) != 0;
	}
	return (double)marked * teeth->count > between * BETWEEN_SHARE * with_flag(in, teeth, flag);
}

/* Teeth at which a line with one of @words was said; *@last is the last of those lines. */
static unsigned with_line(const struct cause_input *in, const struct teeth *teeth, unsigned words,
	const struct cause_line **last)
{
	unsigned with = 0;

	for (unsigned i = 0; i < teeth->count; i++) {
		const struct cause_sample *sample = &in->samples[teeth->first[i]];
		int64_t around_ms = (int64_t)(sample->elapsed_ns / NS_PER_MS) * CAUSE_NEAR_SAMPLES;
		bool is_with = false;

		for (unsigned k = 0; k < in->line_count; k++) {
			if (!(words >> in->lines[k].word & 1) ||
				in->lines[k].t_ms < sample->t_ms - around_ms ||
				in->lines[k].t_ms > sample->t_ms + around_ms)
				continue;
			is_with = true;
			*last = &in->lines[k];
		}
		with += is_with;
	}
	return with;
}

/* Mean strength of the host's sign. */
struct strength {
	double sum;
	unsigned known;
};

static void strength_add(struct strength *strength, const struct cause_sample *sample)
{
	double one = cause_host_strength(sample);

	if (isnan(one))
		return;
	strength->sum += one;
	strength->known++;
}

static double strength_mean(const struct strength *strength)
{
	return strength->known ? strength->sum / strength->known : NAN;
}

/* Whether the host speaks at its beginning, and took enough of the time to make it. */
static bool is_of_host(const struct cause_view *view, const struct teeth *teeth, unsigned tooth)
{
	const struct cause_sample *samples = view->in->samples, *first = &samples[teeth->first[tooth]];
	const double least = cause_host_least(view);
	struct strength onset = { 0 }, fall = { 0 };

	if (!(first->host_measures &
		    (HOSTLIMIT_CPU_WAIT | HOSTLIMIT_THROTTLED | HOSTLIMIT_STEAL | HOSTLIMIT_CPU_FULL)))
		return false;
	/* The first sample may be half of the time before: then the second speaks. */
	strength_add(&onset, first);
	strength_add(&onset, first + 1);
	for (unsigned i = teeth->first[tooth]; i < teeth->end[tooth]; i++)
		strength_add(&fall, &samples[i]);
	return fmax(cause_host_strength(first), strength_mean(&onset)) >= least &&
	       strength_mean(&fall) >= least;
}

static unsigned with_heat(const struct cause_input *in, const struct teeth *teeth)
{
	unsigned with = 0;

	for (unsigned i = 0; i < teeth->count; i++) {
		int64_t t_ms = in->samples[teeth->first[i]].t_ms;
		const struct cause_reading *last = NULL;

		for (unsigned k = 0; k < in->reading_count && in->readings[k].t_ms <= t_ms; k++)
			last = &in->readings[k];
		with += last && t_ms - last->t_ms <= TEMP_FRESH_MS &&
			last->temp_c >= last->warning_temp_c - HOT_K;
	}
	return with;
}

/* How often it was throttled within the record; 0 also where it does not count. */
static uint64_t throttled_times(const struct cause_input *in)
{
	const struct cause_reading *first = in->readings, *last;

	if (in->reading_count < 2)
		return 0;
	last = &in->readings[in->reading_count - 1];
	return evidence_growth(first->thermal1_count, last->thermal1_count) +
	       evidence_growth(first->thermal2_count, last->thermal2_count);
}

/* Of a drive that is hot all the time nothing follows. */
static bool is_always_hot(const struct cause_input *in)
{
	unsigned hot = 0;

	for (unsigned i = 0; i < in->reading_count; i++)
		hot += in->readings[i].temp_c >= in->readings[i].warning_temp_c - HOT_K;
	return hot * 2 > in->reading_count;
}

static bool say_thermal(const struct cause_input *in, const struct teeth *teeth, struct cause_answer *out)
{
	uint64_t times = throttled_times(in);
	unsigned with = with_heat(in, teeth);

	if (teeth->count >= TEETH_MIN && (double)times >= teeth->count * TEETH_SHARE)
		return cause_found(out, CAUSE_THERMAL, CAUSE_MEASURED,
			"the drive counted %llu times throttled for heat, to %u falls in that time",
			(unsigned long long)times, teeth->count);
	return is_most(teeth, with) && !is_always_hot(in) &&
	       cause_found(out, CAUSE_THERMAL, CAUSE_CORRELATED,
		       "at %u of %u falls it was within %u K of its warning temperature, which it is not "
		       "always",
		       with, teeth->count, HOT_K);
}

static bool say_host(const struct cause_view *view, const struct teeth *teeth, struct cause_answer *out)
{
	const struct cause_input *in = view->in;
	struct strength within = { 0 }, between = { 0 };
	char beside[40] = "an unknown share";
	unsigned with = 0;

	for (unsigned i = 0; i < teeth->count; i++) {
		with += is_of_host(view, teeth, i);
		for (unsigned k = teeth->first[i]; k < teeth->end[i]; k++)
			strength_add(&within, &in->samples[k]);
	}
	if (!is_most(teeth, with))
		return false;
	for (unsigned i = 0; i < in->sample_count; i++)
		if (is_between(in, teeth, i))
			strength_add(&between, &in->samples[i]);
	/* Of a host that is always busy nothing follows. */
	if (strength_mean(&between) > strength_mean(&within) * CAUSE_HOST_BEFORE_SHARE)
		return false;
	if (between.known)
		(void)snprintf(beside, sizeof(beside), "%.0f %%", strength_mean(&between) * 100);
	return cause_found(out, CAUSE_HOST, CAUSE_MEASURED,
		"at %u of %u falls the host kept our threads from the CPU: it took %.0f %% of the time in "
		"falls, %s between them",
		with, teeth->count, strength_mean(&within) * 100, beside);
}

static bool say_lines(const struct cause_input *in, const struct teeth *teeth, unsigned words,
	enum cause cause, struct cause_answer *out)
{
	const struct cause_line *last = NULL;
	unsigned with = with_line(in, teeth, words, &last);
	char clock[CAUSE_CLOCK_MAX];

	return is_most(teeth, with) &&
	       cause_found(out, cause, CAUSE_MEASURED, "at %u of %u falls the kernel says so; at %s: %s",
		       with, teeth->count, cause_clock(last->t_ms, clock), last->text);
}

static bool say_own(const struct cause_input *in, const struct teeth *teeth, struct cause_answer *out)
{
	unsigned polls = with_flag(in, teeth, SAMPLE_FLAG_HEALTH_POLL),
		 flushes = with_flag(in, teeth, SAMPLE_FLAG_FLUSH);

	if (is_most(teeth, polls) && !is_always(in, teeth, SAMPLE_FLAG_HEALTH_POLL))
		return cause_found(out, CAUSE_HEALTH_POLL, CAUSE_CORRELATED,
			"%u of %u falls began in a sample with a reading of its health", polls, teeth->count);
	return is_most(teeth, flushes) && !is_always(in, teeth, SAMPLE_FLAG_FLUSH) &&
	       cause_found(out, CAUSE_OWN_PAUSE, CAUSE_CORRELATED,
		       "%u of %u falls began in a sample with our flush of the drive", flushes, teeth->count);
}

/* What the flash took for what we wrote within the record. */
static void waf_print(const struct cause_input *in, char *text, size_t size)
{
	uint64_t host, media;

	if (in->reading_count < 2)
		return;
	host = evidence_growth(
		in->readings[0].host_written_bytes, in->readings[in->reading_count - 1].host_written_bytes);
	media = evidence_growth(
		in->readings[0].media_written_bytes, in->readings[in->reading_count - 1].media_written_bytes);
	if (host >= WAF_BYTES_MIN && media)
		(void)snprintf(text, size, "; WAF %.1f", (double)media / (double)host);
}

void cause_decide_rhythm(const struct cause_view *view, struct cause_answer *out)
{
	const struct cause_input *in = view->in;
	const struct collapse_finding *finding = in->finding;
	char period[UNITS_TEXT_MAX], waf[32] = "";
	struct teeth teeth;

	teeth_find(in, &teeth);
	if (say_lines(in, &teeth, 1u << KERNELLINE_RESET | 1u << KERNELLINE_TIMEOUT, CAUSE_RESET, out) ||
		say_lines(in, &teeth, 1u << KERNELLINE_ERROR, CAUSE_IO_ERRORS, out))
		return;
	if (say_host(view, &teeth, out) || say_thermal(in, &teeth, out) || say_own(in, &teeth, out))
		return;
	if (teeth.count < TEETH_ALONE) {
		(void)cause_found(out, CAUSE_UNKNOWN, CAUSE_INFERRED,
			"nothing is common to the %u falls within the record, and so few may come at equal "
			"distances by chance",
			teeth.count);
		return;
	}
	units_print_duration_rounded(finding->period_s * 1e9, period);
	waf_print(in, waf, sizeof(waf));
	(void)cause_found(out, CAUSE_GARBAGE, CAUSE_INFERRED,
		"falls that come every %s by themselves: none of %u has to do with the kernel, the host, "
		"heat or our readings%s",
		period, teeth.count, waf);
}
