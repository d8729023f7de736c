/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Steady state against a reference written from the published rule: rounds are cut out of the whole series at once,
 * and the line is fitted by the normal equations. */
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/steady.h"

#define MIB	   (1024.0 * 1024)
#define SERIES	   10000
#define SERIES_MAX 600

static struct steady *new_steady(const struct steady_config *config)
{
	struct steady *steady = NULL;

	assert_int_equal(steady_new(config, &steady), 0);
	return steady;
}

/* A run that is fed by rate: a clock, and where it is. */
struct feed {
	struct steady *steady;
	int64_t t_ms;
	unsigned interval_s;
};

static enum steady_turn feed_one(struct feed *feed, double bytes_per_s)
{
	struct steady_sample sample = { .elapsed_ns = feed->interval_s * 1000000000ULL, .counts = true };

	feed->t_ms += feed->interval_s * 1000;
	sample.t_ms = feed->t_ms;
	sample.write_bytes = (uint64_t)(bytes_per_s * feed->interval_s);
	return steady_add(feed->steady, &sample);
}

/* The first turn within @seconds, and how long it took; STEADY_STAYS and @seconds when there is none. */
static enum steady_turn feed_until_turn(
	struct feed *feed, double bytes_per_s, unsigned seconds, unsigned *after_s)
{
	for (unsigned s = feed->interval_s; s <= seconds; s += feed->interval_s) {
		enum steady_turn turn = feed_one(feed, bytes_per_s);

		if (turn != STEADY_STAYS) {
			*after_s = s;
			return turn;
		}
	}
	*after_s = seconds;
	return STEADY_STAYS;
}

/* --- the reference --- */

struct series {
	struct steady_config config;
	struct steady_sample samples[SERIES_MAX];
	int count;
};

struct ref_round {
	int first, last; /* samples that count */
	int epoch;	 /* rounds of different epochs have a hole between them */
	double rate;
};

struct ref_cut {
	struct ref_round rounds[SERIES_MAX];
	int count;
	int epoch[SERIES_MAX];	    /* as of each sample */
	int epoch_from[SERIES_MAX]; /* rounds of an epoch count that end from here on */
};

static int64_t ref_begin_ms(const struct steady_sample *sample)
{
	return sample->t_ms - (int64_t)sample->elapsed_ns / 1000000;
}

static int ref_previous(const struct series *series, int i)
{
	do
		i--;
	while (i >= 0 && !series->samples[i].counts);
	return i;
}

static void ref_cut(const struct series *series, int64_t length_ms, double least_bytes, struct ref_cut *out)
{
	double ns = 0, bytes = 0, moved = 0;
	int first = -1, epoch = 0;

	out->count = 0;
	memset(out->epoch_from, 0, sizeof(out->epoch_from));
	for (int i = 0; i < series->count; i++) {
		const struct steady_sample *sample = &series->samples[i];
		int before = ref_previous(series, i);

		if (sample->counts && before >= 0 &&
			ref_begin_ms(sample) - series->samples[before].t_ms > length_ms) {
			epoch++;
			first = -1;
		}
		out->epoch[i] = epoch;
		if (!sample->counts)
			continue;
		if (first < 0) {
			ns = bytes = moved = 0;
			first = i;
		}
		ns += (double)sample->elapsed_ns;
		bytes += (double)sample->write_bytes + (double)sample->read_bytes;
		moved += (double)(series->config.is_read ? sample->read_bytes : sample->write_bytes);
		/* Nearest: the half of one more sample would lie beyond the length. */
		if (ns + (double)(sample->elapsed_ns / 2) >= (double)length_ms * 1e6 &&
			moved >= least_bytes) {
			out->rounds[out->count++] = (struct ref_round){ first, i, epoch, bytes / ns * 1e9 };
			first = -1;
		}
	}
}

/* Rounds of the present epoch that ended by sample @i, newest first: at most 5. */
static int ref_newest(const struct ref_cut *cut, int i, struct ref_round *newest)
{
	int count = 0;

	for (int k = cut->count - 1; k >= 0 && count < 5; k--)
		if (cut->rounds[k].last <= i && cut->rounds[k].epoch == cut->epoch[i] &&
			cut->rounds[k].last >= cut->epoch_from[cut->epoch[i]])
			newest[count++] = cut->rounds[k];
	return count;
}

/* The published rule: range, and the excursion of the fitted line. */
static bool ref_holds(const struct ref_round *newest, double *range, double *drift)
{
	double sx = 0, sy = 0, sxx = 0, sxy = 0, lowest = newest[0].rate, highest = newest[0].rate;
	double slope, intercept;

	for (int k = 0; k < 5; k++) {
		double x = 5 - k, y = newest[k].rate;

		sx += x;
		sy += y;
		sxx += x * x;
		sxy += x * y;
		lowest = y < lowest ? y : lowest;
		highest = y > highest ? y : highest;
	}
	slope = (5 * sxy - sx * sy) / (5 * sxx - sx * sx);
	intercept = (sy - slope * sx) / 5;
	*range = (highest - lowest) / (sy / 5);
	*drift = fabs((intercept + slope * 5) - (intercept + slope * 1)) / (sy / 5);
	return *range <= 0.20 && *drift <= 0.10;
}

/* --- random series --- */

static uint64_t random_state;

static double random_unit(void)
{
	random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (double)(random_state >> 11) / 9007199254740992.0;
}

static double random_between(double low, double high)
{
	return low + random_unit() * (high - low);
}

static void make_series(struct series *series)
{
	static const unsigned intervals_s[] = { 1, 10, 10, 10, 30, 60, 300 };
	unsigned interval_s = intervals_s[(int)(random_unit() * ARRAY_LEN(intervals_s))];
	double level = random_between(1, 500) * MIB, start = level, total = 0;
	double noise = random_between(0, 0.2), drift = random_between(-1, 0.5) * 0.001;
	int64_t t_ms = 1700000000000;

	series->count = (int)random_between(40, SERIES_MAX);
	for (int i = 0; i < series->count; i++) {
		struct steady_sample *sample = &series->samples[i];
		double kind = random_unit();

		if (kind < 0.004)
			level = start * random_between(0.2, 1.2);
		if (kind > 0.996)
			t_ms += (int64_t)random_between(1, 2400) * 1000;
		level *= 1 + drift;
		t_ms += interval_s * 1000;
		*sample = (struct steady_sample){ .t_ms = t_ms, .counts = random_unit() < 0.97 };
		sample->elapsed_ns = interval_s * 1000000000ULL + (uint64_t)random_between(-2e6, 2e6);
		sample->write_bytes =
			(uint64_t)(level * fmax(0, random_between(1 - noise, 1 + noise)) * interval_s);
		sample->read_bytes = random_unit() < 0.5 ? 0 : sample->write_bytes / 3;
		total += (double)sample->write_bytes;
	}
	series->config =
		(struct steady_config){ .extent_bytes = (uint64_t)(total / random_between(1.5, 40)) };
}

struct counts {
	unsigned settled, lost;
};

/* What the reference knows at one sample. */
struct ref_state {
	bool settled;
	int64_t from_ms, lost_ms, extents_ms;
	double written;
};

/* The samples since the last round are too many for what they brought. */
static bool ref_is_overdue(const struct series *series, int i, const struct ref_round *newest)
{
	double rounds_ns = 0, since_ns = 0, since_bytes = 0;

	for (int k = newest[4].first; k <= i; k++) {
		if (!series->samples[k].counts)
			continue;
		if (k <= newest[0].last) {
			rounds_ns += (double)series->samples[k].elapsed_ns;
			continue;
		}
		since_ns += (double)series->samples[k].elapsed_ns;
		since_bytes += (double)series->samples[k].write_bytes;
	}
	return since_bytes < (double)series->config.extent_bytes * 0.2 && since_ns >= 2 * rounds_ns / 5;
}

static enum steady_turn ref_step(
	const struct series *series, struct ref_cut *cut, int i, struct ref_state *state)
{
	double extent = (double)series->config.extent_bytes, range, drift;
	struct ref_round newest[5];
	bool full, holds;

	state->written += (double)series->samples[i].write_bytes;
	if (state->written >= 2 * extent && state->extents_ms == 0)
		state->extents_ms = series->samples[i].t_ms;
	full = ref_newest(cut, i, newest) == 5;
	holds = full && ref_holds(newest, &range, &drift);
	if (!state->settled && holds && state->written >= 2 * extent) {
		state->settled = true;
		state->from_ms = ref_begin_ms(&series->samples[newest[4].first]);
		if (state->from_ms < state->extents_ms)
			state->from_ms = state->extents_ms;
		return STEADY_SETTLES;
	}
	if (state->settled && full && (!holds || ref_is_overdue(series, i, newest))) {
		if (holds)
			cut->epoch_from[cut->epoch[i]] = i + 1;
		state->settled = false;
		state->lost_ms = series->samples[i].t_ms;
		return STEADY_LOSES;
	}
	return STEADY_STAYS;
}

static void check_rule(const struct ref_cut *cut, int i, const struct steady_rule *rule)
{
	struct ref_round newest[5];
	double range, drift;
	int count = ref_newest(cut, i, newest);

	assert_int_equal(rule->rounds, count);
	if (count < 5) {
		assert_true(isnan(rule->range_pct) && isnan(rule->drift_pct) && !rule->holds);
		return;
	}
	assert_int_equal(rule->holds, ref_holds(newest, &range, &drift));
	assert_true(fabs(rule->range_pct - range * 100) < 1e-6);
	assert_true(fabs(rule->drift_pct - drift * 100) < 1e-6);
}

static void check_series(const struct series *series, struct counts *counts)
{
	static struct ref_cut settle, lengths[STEADY_LENGTH_COUNT];
	struct ref_state state = { .from_ms = STEADY_NEVER, .lost_ms = STEADY_NEVER };
	struct steady *steady = new_steady(&series->config);
	struct steady_answer answer;

	ref_cut(series, 300000, (double)series->config.extent_bytes * 0.2, &settle);
	ref_cut(series, 60000, 0, &lengths[STEADY_1_MIN]);
	ref_cut(series, 300000, 0, &lengths[STEADY_5_MIN]);
	ref_cut(series, 1800000, 0, &lengths[STEADY_30_MIN]);
	for (int i = 0; i < series->count; i++) {
		enum steady_turn turn = ref_step(series, &settle, i, &state);

		assert_int_equal(steady_add(steady, &series->samples[i]), turn);
		counts->settled += turn == STEADY_SETTLES;
		counts->lost += turn == STEADY_LOSES;
		if (turn == STEADY_STAYS && i % 16 && i + 1 < series->count)
			continue;
		steady_get(steady, &answer);
		assert_int_equal(answer.reached, state.settled);
		assert_int_equal(answer.from_ms, state.from_ms);
		assert_int_equal(answer.lost_ms, state.lost_ms);
		assert_int_equal(answer.window_from_ms, state.settled ? state.from_ms : STEADY_NEVER);
		assert_int_equal(answer.window_to_ms, state.settled ? series->samples[i].t_ms : STEADY_NEVER);
		assert_int_equal(answer.why_not[0] == '\0', state.settled);
		if (!series->samples[i].counts) /* a hole is only known to be one when it ends */
			continue;
		check_rule(&settle, i, &answer.settle);
		for (int k = 0; k < STEADY_LENGTH_COUNT; k++)
			check_rule(&lengths[k], i, &answer.lengths[k]);
	}
	steady_free(steady);
}

static void test_equals_the_reference_on_random_series(void **state)
{
	static struct series series;
	struct counts counts = { 0, 0 };

	(void)state;
	for (unsigned i = 0; i < SERIES; i++) {
		random_state = i * 2654435761ULL + 1;
		make_series(&series);
		check_series(&series, &counts);
	}
	/* Else the comparison was of nothing. */
	assert_true(counts.settled > SERIES / 5);
	assert_true(counts.lost > SERIES / 10);
}

static void test_a_dip_from_79k_to_59k_and_back_is_not_steady(void **state)
{
	static const double kiops[] = { 79, 79, 59, 79, 79 };
	struct feed feed = { new_steady(&(struct steady_config){ .extent_bytes = 1 << 30 }), 0, 10 };
	struct steady_answer answer;
	unsigned after_s;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(kiops); i++)
		assert_int_equal(
			feed_until_turn(&feed, kiops[i] * 1000 * 16384, 300, &after_s), STEADY_STAYS);
	steady_get(feed.steady, &answer);
	assert_false(answer.reached);
	assert_false(answer.settle.holds);
	assert_true(fabs(answer.settle.drift_pct) < 0.001); /* a slope alone would let it pass */
	assert_string_equal(answer.why_not, "range 26.67 % of the mean over 5 rounds of 5 min, at most 20 %");
	steady_free(feed.steady);
}

static void test_a_drift_of_12_percent_is_revoked_within_one_window(void **state)
{
	struct feed feed = { new_steady(&(struct steady_config){ .extent_bytes = 1 << 30 }), 0, 10 };
	struct steady_answer answer;
	unsigned after_s, drift_s = 0;
	enum steady_turn turn = STEADY_STAYS;
	int64_t from_ms;

	(void)state;
	assert_int_equal(feed_until_turn(&feed, 100 * MIB, 1800, &after_s), STEADY_SETTLES);
	assert_int_equal(after_s, 1500);
	steady_get(feed.steady, &answer);
	from_ms = answer.from_ms;
	/* 12 % from the first round to the last. */
	while (turn == STEADY_STAYS && drift_s < 1500) {
		turn = feed_one(&feed, 100 * MIB * (1 - 0.12 * (drift_s / 1200.0)));
		drift_s += 10;
	}
	assert_int_equal(turn, STEADY_LOSES);
	steady_get(feed.steady, &answer);
	assert_false(answer.reached);
	assert_int_equal(answer.lost_ms, feed.t_ms);
	assert_int_equal(answer.from_ms, from_ms);
	assert_int_equal(answer.window_from_ms, STEADY_NEVER);
	assert_int_equal(answer.losses, 1);
	assert_true(answer.settle.is_falling);
	assert_non_null(strstr(answer.why_not, "was settled before; falls by 1"));
	assert_non_null(strstr(answer.why_not, " % of the mean over 5 rounds of 5 min, at most 10 %"));
	/* And a new one begins anew. */
	assert_int_equal(feed_until_turn(&feed, 80 * MIB, 3600, &after_s), STEADY_SETTLES);
	steady_get(feed.steady, &answer);
	assert_int_equal(answer.from_ms, feed.t_ms - 1500000);
	steady_free(feed.steady);
}

static void test_a_fresh_plateau_of_ten_minutes_is_not_settled(void **state)
{
	struct feed feed = { new_steady(&(struct steady_config){ .extent_bytes = 100ULL << 30 }), 0, 10 };
	struct steady_answer answer;
	unsigned after_s;

	(void)state;
	assert_int_equal(feed_until_turn(&feed, 100 * MIB, 600, &after_s), STEADY_STAYS);
	steady_get(feed.steady, &answer);
	assert_true(answer.lengths[STEADY_1_MIN].holds);
	assert_false(answer.reached);
	assert_string_equal(answer.why_not, "0.58 of 2 extents written (58.6 GiB, an extent is 100 GiB); 2 "
					    "of 5 rounds measured, each 5 min");
	/* Not with the rule alone either. */
	assert_int_equal(feed_until_turn(&feed, 100 * MIB, 1440, &after_s), STEADY_STAYS);
	steady_get(feed.steady, &answer);
	assert_true(answer.settle.holds);
	assert_string_equal(answer.why_not, "1.99 of 2 extents written (199 GiB, an extent is 100 GiB)");
	assert_int_equal(feed_until_turn(&feed, 100 * MIB, 20, &after_s), STEADY_SETTLES);
	steady_get(feed.steady, &answer);
	assert_string_equal(answer.why_not, "");
	assert_int_equal(answer.from_ms, feed.t_ms); /* not before 2 extents */
	steady_free(feed.steady);
}

static void test_a_round_takes_a_fifth_of_the_extent(void **state)
{
	/* 100 GiB at 20 MiB/s: a fifth takes 1024 s, two extents take 10240 s. */
	struct feed feed = { new_steady(&(struct steady_config){ .extent_bytes = 100ULL << 30 }), 0, 10 };
	struct steady_answer answer;
	unsigned after_s;

	(void)state;
	assert_int_equal(feed_until_turn(&feed, 20 * MIB, 20000, &after_s), STEADY_SETTLES);
	assert_int_equal(after_s, 10240);
	steady_get(feed.steady, &answer);
	assert_true(fabs(answer.settle.round_s - 1030) < 1); /* whole samples */
	assert_true(fabs(answer.extents - 2) < 1e-9);
	steady_free(feed.steady);
}

static void test_without_an_extent_there_is_no_window(void **state)
{
	struct feed feed = { new_steady(&(struct steady_config){ .extent_bytes = 0 }), 0, 10 };
	struct steady_answer answer;
	unsigned after_s;

	(void)state;
	assert_int_equal(feed_until_turn(&feed, 20 * MIB, 20000, &after_s), STEADY_STAYS);
	steady_get(feed.steady, &answer);
	assert_true(answer.lengths[STEADY_30_MIN].holds);
	assert_true(isnan(answer.extents));
	assert_int_equal(answer.window_from_ms, STEADY_NEVER);
	assert_string_equal(answer.why_not, "the extent that is written over is not known");
	steady_free(feed.steady);
}

static void test_off_counts_from_the_start(void **state)
{
	struct feed feed = { new_steady(&(struct steady_config){ .is_off = true }), 5000, 10 };
	struct steady_answer answer;
	unsigned after_s;

	(void)state;
	steady_get(feed.steady, &answer);
	assert_string_equal(answer.why_not, "no sample of the soak counts yet");
	assert_int_equal(feed_until_turn(&feed, 20 * MIB, 10, &after_s), STEADY_SETTLES);
	assert_int_equal(feed_until_turn(&feed, 0, 3600, &after_s), STEADY_STAYS);
	steady_get(feed.steady, &answer);
	assert_true(answer.reached);
	assert_int_equal(answer.window_from_ms, 5000);
	assert_int_equal(answer.window_to_ms, feed.t_ms);
	steady_free(feed.steady);
}

static void test_a_drive_that_does_nothing_is_not_steady(void **state)
{
	struct feed feed = { new_steady(&(struct steady_config){ .extent_bytes = 1000 }), 0, 60 };
	struct steady_answer answer;
	unsigned after_s;

	(void)state;
	assert_int_equal(feed_until_turn(&feed, 2000, 60, &after_s), STEADY_STAYS);
	assert_int_equal(feed_until_turn(&feed, 0, 7200, &after_s), STEADY_STAYS);
	steady_get(feed.steady, &answer);
	assert_int_equal(answer.settle.rounds, 1);
	assert_int_equal(answer.lengths[STEADY_5_MIN].rounds, 5);
	assert_false(answer.lengths[STEADY_5_MIN].holds);
	steady_free(feed.steady);
}

static void test_a_drive_that_hangs_is_no_longer_settled(void **state)
{
	struct feed feed = { new_steady(&(struct steady_config){ .extent_bytes = 100ULL << 30 }), 0, 10 };
	struct steady_answer answer;
	unsigned after_s;

	(void)state;
	assert_int_equal(feed_until_turn(&feed, 20 * MIB, 20000, &after_s), STEADY_SETTLES);
	assert_int_equal(feed_until_turn(&feed, 0, 20000, &after_s), STEADY_LOSES);
	assert_in_range(after_s, 1030, 2070); /* a round was under way */
	assert_int_equal(feed_until_turn(&feed, 0, 20000, &after_s), STEADY_STAYS);
	steady_get(feed.steady, &answer);
	assert_string_equal(
		answer.why_not, "was settled before; 0 of 5 rounds measured, each 5 min or longer");
	/* The round that hung stays in the window until five more are over. */
	assert_int_equal(feed_until_turn(&feed, 20 * MIB, 20000, &after_s), STEADY_SETTLES);
	assert_in_range(after_s, 5 * 1030, 7 * 1030);
	steady_free(feed.steady);
}

static void test_extents_of_a_reading_workload_are_read(void **state)
{
	struct steady *steady = new_steady(
		&(struct steady_config){ .extent_bytes = 1 << 30, .is_read = true });
	struct steady_sample sample = {
		.elapsed_ns = 10000000000ULL, .read_bytes = 100 << 20, .counts = true
	};
	struct steady_answer answer;

	(void)state;
	for (int i = 0; i < 150; i++) {
		sample.t_ms += 10000;
		assert_int_equal(steady_add(steady, &sample), i == 149 ? STEADY_SETTLES : STEADY_STAYS);
	}
	steady_get(steady, &answer);
	assert_true(fabs(answer.extents - 150 * 100.0 / 1024) < 1e-9);
	steady_free(steady);
}

static void test_a_sample_of_the_run_is_taken_as_the_summary_takes_it(void **state)
{
	struct steady_sample out = { .t_ms = 1 };
	struct sample sample;

	(void)state;
	sample_init(&sample);
	sample.phase = PHASE_FILL;
	assert_false(steady_sample_of(&sample, &out));
	assert_int_equal(out.t_ms, 1);
	sample.phase = PHASE_SOAK;
	sample.t_ms = 20000;
	assert_true(steady_sample_of(&sample, &out));
	assert_false(out.counts);
	assert_int_equal(out.write_bytes, 0);
	sample.state = SAMPLE_MEASURED;
	sample.elapsed_ns = 10000000000ULL;
	sample.write_bytes = 7;
	sample.read_bytes = 9;
	assert_true(steady_sample_of(&sample, &out));
	assert_true(out.counts);
	assert_int_equal(out.write_bytes, 7);
	assert_int_equal(out.read_bytes, 9);
	sample.flags = SAMPLE_FLAG_HOST_LIMIT;
	assert_true(steady_sample_of(&sample, &out));
	assert_false(out.counts);
	assert_int_equal(out.write_bytes, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equals_the_reference_on_random_series),
		cmocka_unit_test(test_a_dip_from_79k_to_59k_and_back_is_not_steady),
		cmocka_unit_test(test_a_drift_of_12_percent_is_revoked_within_one_window),
		cmocka_unit_test(test_a_fresh_plateau_of_ten_minutes_is_not_settled),
		cmocka_unit_test(test_a_round_takes_a_fifth_of_the_extent),
		cmocka_unit_test(test_without_an_extent_there_is_no_window),
		cmocka_unit_test(test_off_counts_from_the_start),
		cmocka_unit_test(test_a_drive_that_does_nothing_is_not_steady),
		cmocka_unit_test(test_a_drive_that_hangs_is_no_longer_settled),
		cmocka_unit_test(test_extents_of_a_reading_workload_are_read),
		cmocka_unit_test(test_a_sample_of_the_run_is_taken_as_the_summary_takes_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
