/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How well falls are found and how seldom there is a false alarm, over made-up soaks whose truth is known, beside the
 * naive rule: a rolling median and three samples below half of it. The detector was tuned on seeds from 1 on; what is
 * printed and asserted here is of others. For noise of 30 % there is a bound beside it: no rule finds all falls to half
 * that last three samples without an alarm a day. DRIVESOAK_TRACES=N in the environment takes N weeks a profile instead of
 * two, DRIVESOAK_TRACE_SEED=S begins at another seed. */
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/collapse.h"
#include "measure/level.h"
#include "measure/steady.h"
#include "trace.h"

#define REPORT_SEED 400000
#define DELAYS_MAX  64
/* What holds in the long run can't be seen in a week or two: so many more that are missed or false may be chance. */
#define CHANCE	   3
#define MANY_WEEKS 10
/* watch_knowing_all(): one false alarm a week of samples of 10 s with noise of 30 %, measured over 40 weeks. */
#define KNOWN_LIMIT  15000
#define KNOWN_DEPTHS 25
#define KNOWN_BETTER 0.06 /* than ours, in its recall */

struct score {
	unsigned due, found, late; /* late: found after more than DELAYS_MAX samples */
	unsigned delays[DELAYS_MAX + 1];
	unsigned alarms, false_alarms, teeth_traces; /* saw-teeth that were told as such */
};

struct row {
	const char *name;
	enum trace_profile profile;
	double noise_low, noise_high, falls_per_day;
	unsigned fall_least_s;
	double recall_min, delay_max, false_max; /* delay: samples; false: a week */
};

/* With 30 % noise half of what a drive does in three samples is chance: falls to almost half take longer to be told
 * from it, and what is over before is missed, or there were false alarms. Two teeth of a saw are two alarms before a
 * third can make one finding of them, and rarely a shallow tooth is not seen in between. */
static const struct row rows[] = {
	{ "noise 1 %", TRACE_STEADY, 0.01, 0.01, 12, 30, 0.99, 3, 1 },
	{ "noise 3 %", TRACE_STEADY, 0.03, 0.03, 12, 30, 0.99, 3, 1 },
	{ "noise 10 %", TRACE_STEADY, 0.10, 0.10, 12, 30, 0.99, 3, 1 },
	{ "noise 20 %", TRACE_STEADY, 0.20, 0.20, 12, 30, 0.99, 3, 1 },
	{ "noise 30 %", TRACE_STEADY, 0.30, 0.30, 12, 30, 0.9, 4, 1 },
	{ "noise 30 %, 70 s", TRACE_STEADY, 0.30, 0.30, 12, 70, 0.99, 4, 1 },
	{ "cliff", TRACE_CLIFF, 0.01, 0.10, 12, 30, 0.99, 3, 1 },
	{ "cliff, noise 30 %", TRACE_CLIFF, 0.30, 0.30, 0, 30, 0.0, 3, 1 },
	{ "cache cycles", TRACE_CACHE, 0.01, 0.10, 0, 30, 0.0, 3, 1 },
	{ "saw-tooth", TRACE_SAW, 0.01, 0.10, 2, 60, 0.99, 3, 1.1 },
	{ "thermal", TRACE_THERMAL, 0.01, 0.10, 0, 30, 0.99, 3, 1 },
	{ "stalls", TRACE_STALLS, 0.01, 0.10, 0, 30, 0.99, 3, 1 },
	{ "decline", TRACE_DECLINE, 0.01, 0.10, 12, 30, 0.99, 3, 1 },
	{ "host", TRACE_HOST, 0.01, 0.10, 12, 30, 0.99, 3, 1 },
	{ "gaps", TRACE_GAPS, 0.01, 0.10, 12, 30, 0.99, 3, 1 },
};

/* What either detector says of one trace: per sample. */
struct course {
	unsigned char *is_on, *is_alarm;
	int64_t *from_ms; /* of what the alarm is about */
};

static void course_init(struct course *course, unsigned count)
{
	course->is_on = calloc(count, 1);
	course->is_alarm = calloc(count, 1);
	course->from_ms = calloc(count, sizeof(*course->from_ms));
	assert_true(course->is_on && course->is_alarm && course->from_ms);
}

static void course_fini(struct course *course)
{
	free(course->is_on);
	free(course->is_alarm);
	free(course->from_ms);
}

static void watch_naively(const struct trace *trace, struct course *course)
{
	static struct level level;
	unsigned below = 0;

	level_clear(&level);
	for (unsigned i = 0; i < trace->count; i++) {
		const struct trace_sample *sample = &trace->samples[i];
		double rate = (double)sample->bytes * 1e9 / (double)sample->elapsed_ns;

		if (!sample->counts)
			continue;
		level_add(&level, rate);
		below = level.count >= 60 && rate < level_median(&level) / 2 ? below + 1 : 0;
		course->is_on[i] = below >= 3;
		course->is_alarm[i] = below == 3;
		course->from_ms[i] = sample->t_ms;
	}
}

/* Of a trace that is level but for its falls. */
static double known_level(const struct trace *trace)
{
	double sum = 0;
	unsigned count = 0;

	for (unsigned i = 0; i < trace->count; i++) {
		if (trace->samples[i].level < 1)
			continue;
		sum += (double)trace->samples[i].bytes * 1e9 / (double)trace->samples[i].elapsed_ns;
		count++;
	}
	return sum / count;
}

static bool is_alarm(const struct collapse_turn *turn)
{
	if (turn->change == COLLAPSE_RAISED)
		return collapse_alerts(turn->finding.kind);
	return turn->change == COLLAPSE_RELABELLED && collapse_alerts(turn->finding.kind) &&
	       !collapse_alerts(turn->was);
}

/* What three teeth made a rhythm, the missing fourth may undo. */
static bool tells_teeth_still(bool tells_teeth, const struct collapse_turn *turn)
{
	if (turn->finding.kind == COLLAPSE_PERIODIC)
		return true;
	return turn->was != COLLAPSE_PERIODIC && tells_teeth;
}

/* The procedure of Shiryaev and Roberts: of all rules with as many false alarms on average it is, to a hair, the fastest.
 * It is told what no detector can know: the law of the noise, its size, the level without falls and when one is over; but
 * not how deep they are. */
static void watch_knowing_all(const struct trace *trace, double noise, struct course *course)
{
	double level = known_level(trace), sums[KNOWN_DEPTHS] = { 0 };

	for (unsigned i = 0; i < trace->count; i++) {
		const struct trace_sample *sample = &trace->samples[i];
		double x = (double)sample->bytes * 1e9 / (double)sample->elapsed_ns / level, sum = 0;
		bool was_on = i && course->is_on[i - 1] && sample->level < 1;

		for (unsigned k = 0; k < KNOWN_DEPTHS; k++) {
			double depth = (k + 1) * 0.5 / KNOWN_DEPTHS, normal = (x - 1) / noise,
			       fallen = (x - depth) / (noise * depth);

			sums[k] = fmin(
				(1 + sums[k]) * exp((normal * normal - fallen * fallen) / 2) / depth, 1e100);
			sum += sums[k] / KNOWN_DEPTHS;
		}
		course->is_on[i] = was_on || sum > KNOWN_LIMIT;
		course->is_alarm[i] = course->is_on[i] && !was_on;
		course->from_ms[i] = sample->t_ms;
		if (course->is_on[i])
			memset(sums, 0, sizeof(sums));
	}
}

/* Gives the first sample at which the run was settled. */
static unsigned watch_well(const struct trace *trace, struct course *course, bool *tells_teeth)
{
	const struct steady_config steady_config = { .extent_bytes = trace->extent_bytes };
	const struct collapse_config config = { .below_share = 0.5,
		.recover_share = 0.7,
		.for_ns = 30000000000ULL,
		.stall_after_ns = 20000000000ULL,
		.is_extent_known = true };
	struct steady *steady = NULL;
	struct collapse *collapse = NULL;
	unsigned settled_at = trace->count;
	bool is_settled = false;

	assert_int_equal(steady_new(&steady_config, &steady), 0);
	assert_int_equal(collapse_new(&config, &collapse), 0);
	for (unsigned i = 0; i < trace->count; i++) {
		const struct trace_sample *in = &trace->samples[i];
		struct steady_sample level = { in->t_ms, in->elapsed_ns, in->bytes, 0, in->counts };
		struct collapse_sample sample = { in->t_ms, in->elapsed_ns, in->bytes, in->stall_ns,
			in->counts, false, false };
		struct collapse_finding finding;
		struct collapse_answer answer;
		enum steady_turn turn = steady_add(steady, &level);

		if (turn != STEADY_STAYS)
			is_settled = turn == STEADY_SETTLES;
		if (is_settled && settled_at == trace->count)
			settled_at = i;
		sample.is_settled = is_settled;
		collapse_add(collapse, &sample, &answer);
		course->is_on[i] = collapse_current(collapse, &finding) && collapse_alerts(finding.kind);
		for (unsigned k = 0; k < answer.count; k++) {
			*tells_teeth = tells_teeth_still(*tells_teeth, &answer.turns[k]);
			if (!is_alarm(&answer.turns[k]))
				continue;
			course->is_alarm[i]++;
			course->from_ms[i] = answer.turns[k].finding.from_ms;
		}
	}
	steady_free(steady);
	collapse_free(collapse);
	return settled_at;
}

static void score_falls(
	const struct trace *trace, const struct course *course, unsigned settled_at, struct score *score)
{
	for (unsigned i = 0; i < trace->fall_count; i++) {
		const struct trace_fall *fall = &trace->falls[i];
		unsigned at = fall->first;

		if (!fall->is_due || fall->first < settled_at)
			continue;
		score->due++;
		while (at < trace->count && at <= fall->last && !course->is_on[at])
			at++;
		if (at > fall->last)
			continue;
		score->found++;
		at -= fall->first;
		score->delays[at < DELAYS_MAX ? at : DELAYS_MAX]++;
	}
}

static bool is_explained(const struct trace *trace, const struct course *course, unsigned i)
{
	for (unsigned k = 0; k < trace->fall_count; k++) {
		const struct trace_fall *fall = &trace->falls[k];

		/* The last sample of it, and three more for an end that noise hides. */
		if (fall->first <= i && course->from_ms[i] <= trace->samples[fall->last].t_ms + 30000)
			return true;
	}
	return false;
}

/* An alarm is false that no fall explains; a saw-tooth explains one. */
static void score_alarms(const struct trace *trace, const struct course *course, struct score *score)
{
	unsigned unexplained = 0;

	for (unsigned i = 0; i < trace->count; i++) {
		score->alarms += course->is_alarm[i];
		if (course->is_alarm[i] && !is_explained(trace, course, i))
			unexplained += course->is_alarm[i];
	}
	score->false_alarms += unexplained - (trace->is_saw && unexplained > 0);
}

static double median_delay(const struct score *score)
{
	unsigned seen = 0;

	for (unsigned i = 0; i <= DELAYS_MAX; i++) {
		seen += score->delays[i];
		if (seen * 2 >= score->found && score->found)
			return i + 1;
	}
	return NAN;
}

static double recall_of(const struct score *score)
{
	return score->due ? (double)score->found / score->due : NAN;
}

/* Week @i of @weeks. */
static struct trace *trace_of(const struct row *row, unsigned seed, unsigned i, unsigned weeks)
{
	double part = weeks > 1 ? (double)i / (weeks - 1) : 0.5;
	struct trace_config config = { .profile = row->profile,
		.seed = seed + i,
		.noise = row->noise_low + part * (row->noise_high - row->noise_low),
		.interval_s = 10,
		.hours = 168,
		.falls_per_day = row->falls_per_day,
		.quiet_h = 8,
		.fall_least_s = row->fall_least_s };
	struct trace *trace = trace_make(&config);

	assert_non_null(trace);
	return trace;
}

static void measure_row(
	const struct row *row, unsigned seed, unsigned weeks, struct score *well, struct score *naive)
{
	for (unsigned i = 0; i < weeks; i++) {
		struct trace *trace = trace_of(row, seed, i, weeks);
		struct course course, naive_course;
		bool tells_teeth = false;
		unsigned settled_at;

		course_init(&course, trace->count);
		course_init(&naive_course, trace->count);
		settled_at = watch_well(trace, &course, &tells_teeth);
		watch_naively(trace, &naive_course);
		score_falls(trace, &course, settled_at, well);
		score_alarms(trace, &course, well);
		score_falls(trace, &naive_course, settled_at, naive);
		score_alarms(trace, &naive_course, naive);
		well->teeth_traces += tells_teeth;
		course_fini(&course);
		course_fini(&naive_course);
		trace_free(trace);
	}
}

static unsigned env_or(const char *name, unsigned otherwise)
{
	const char *text = getenv(name);

	return text ? (unsigned)strtoul(text, NULL, 10) : otherwise;
}

static void test_falls_are_found_and_nothing_else(void **state)
{
	unsigned weeks = env_or("DRIVESOAK_TRACES", 2), seed = env_or("DRIVESOAK_TRACE_SEED", REPORT_SEED);
	unsigned wrong = 0, chance = weeks < MANY_WEEKS ? CHANCE : 0;

	(void)state;
	printf("# %u weeks a profile, from seed %u; false: alarms a week without a fall\n", weeks, seed);
	printf("# %-18s %6s %7s %6s %6s %6s | naive: %7s %6s\n", "profile", "falls", "recall", "delay",
		"false", "saw", "recall", "false");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct score well = { 0 }, naive = { 0 };

		measure_row(&rows[i], seed, weeks, &well, &naive);
		printf("# %-18s %6u %7.4f %6.0f %6.2f %6u |        %7.4f %6.1f\n", rows[i].name, well.due,
			recall_of(&well), median_delay(&well), (double)well.false_alarms / weeks,
			well.teeth_traces, recall_of(&naive), (double)naive.false_alarms / weeks);
		wrong += well.due - well.found > well.due * (1 - rows[i].recall_min) + chance;
		wrong += well.due && median_delay(&well) > rows[i].delay_max;
		wrong += well.false_alarms > weeks * rows[i].false_max + chance;
		wrong += rows[i].profile == TRACE_SAW && well.teeth_traces < weeks;
	}
	assert_int_equal(wrong, 0);
}

static void test_little_more_can_be_found_in_noise_of_30_percent(void **state)
{
	static const struct row row = { "noise 30 %", TRACE_STEADY, 0.30, 0.30, 12, 30, 0, 0, 0 };
	unsigned weeks = env_or("DRIVESOAK_TRACES", 2), seed = env_or("DRIVESOAK_TRACE_SEED", REPORT_SEED);
	struct score well = { 0 }, knowing = { 0 };

	(void)state;
	for (unsigned i = 0; i < weeks; i++) {
		struct trace *trace = trace_of(&row, seed, i, weeks);
		struct course course, knowing_course;
		bool tells_teeth = false;
		unsigned settled_at;

		course_init(&course, trace->count);
		course_init(&knowing_course, trace->count);
		settled_at = watch_well(trace, &course, &tells_teeth);
		watch_knowing_all(trace, row.noise_low, &knowing_course);
		score_falls(trace, &course, settled_at, &well);
		score_falls(trace, &knowing_course, settled_at, &knowing);
		score_alarms(trace, &knowing_course, &knowing);
		course_fini(&course);
		course_fini(&knowing_course);
		trace_free(trace);
	}
	printf("# %-18s %6u %7.4f %6.0f %6.2f: told level, noise and its law\n", row.name, knowing.due,
		recall_of(&knowing), median_delay(&knowing), (double)knowing.false_alarms / weeks);
	assert_true(recall_of(&well) >= recall_of(&knowing) - KNOWN_BETTER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_falls_are_found_and_nothing_else),
		cmocka_unit_test(test_little_more_can_be_found_in_noise_of_30_percent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
