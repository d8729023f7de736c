/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The detector on courses that are written down: what it says, at which sample, with which numbers. Rates are in
 * percent of a baseline of 100 MiB/s. */
#include "unit.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "measure/collapse.h"
#include "measure/decline.h"
#include "measure/level.h"

#define MIB	(1024.0 * 1024)
#define S	1000000000ULL
#define LOG_MAX 1024

struct rig {
	struct collapse *collapse;
	struct collapse_sample sample;
	unsigned interval_s, fed;
	char log[LOG_MAX]; /* what was said: "RAISED collapse 1 @3", @: samples since rig_mark() */
	struct collapse_finding last;
};

static const struct collapse_config usual = { 0.5, 0.7, 30 * S, 20 * S, true };

static void rig_mark(struct rig *rig)
{
	rig->fed = 0;
	rig->log[0] = '\0';
}

static void rig_note(struct rig *rig, const struct collapse_turn *turn)
{
	static const char *const changes[] = { "RAISED", "CLEARED", "RELABELLED", "ABSORBED" };
	size_t used = strlen(rig->log);

	(void)snprintf(rig->log + used, LOG_MAX - used, "%s%s %s %u @%u", used ? ", " : "",
		changes[turn->change], collapse_kind_name(turn->finding.kind), (unsigned)turn->finding.id,
		rig->fed);
	rig->last = turn->finding;
}

static void rig_feed_one(struct rig *rig, double percent)
{
	struct collapse_sample *sample = &rig->sample;
	struct collapse_answer answer;

	sample->t_ms += rig->interval_s * 1000;
	sample->elapsed_ns = rig->interval_s * S;
	sample->bytes = (uint64_t)(percent * MIB * rig->interval_s);
	collapse_add(rig->collapse, sample, &answer);
	rig->fed++;
	for (unsigned i = 0; i < answer.count; i++)
		rig_note(rig, &answer.turns[i]);
}

static void rig_feed(struct rig *rig, unsigned count, double percent)
{
	while (count--)
		rig_feed_one(rig, percent);
}

/* A baseline of 100 %, after an hour. */
static void rig_init(
	struct rig *rig, const struct collapse_config *config, unsigned interval_s, bool is_settled)
{
	*rig = (struct rig){ .interval_s = interval_s };
	rig->sample = (struct collapse_sample){
		.stall_ns = SAMPLE_UNKNOWN, .counts = true, .is_settled = is_settled
	};
	assert_int_equal(collapse_new(config, &rig->collapse), 0);
	rig_feed(rig, 360, 100);
	assert_string_equal(rig->log, "");
	assert_true(fabs(collapse_baseline(rig->collapse) / MIB - 100) < 0.01);
	rig_mark(rig);
}

static void rig_fini(struct rig *rig)
{
	collapse_free(rig->collapse);
}

static int64_t s_of(const struct rig *rig, int64_t t_ms)
{
	return (t_ms - rig->sample.t_ms) / 1000 + rig->fed * rig->interval_s;
}

static void test_raised_at_the_third_bad_sample_and_cleared_above_70(void **state)
{
	struct collapse_finding now;
	struct rig rig;

	(void)state;
	rig_init(&rig, &usual, 10, true);
	rig_feed(&rig, 2, 40);
	assert_string_equal(rig.log, "");
	assert_false(collapse_current(rig.collapse, &now));
	rig_feed(&rig, 1, 40);
	assert_string_equal(rig.log, "RAISED collapse 1 @3");
	assert_true(collapse_current(rig.collapse, &now));
	assert_int_equal(s_of(&rig, now.from_ms), 0);
	assert_int_equal(s_of(&rig, now.detected_ms), 30);
	assert_true(now.to_ms == COLLAPSE_OPEN);
	assert_true(fabs(collapse_depth_pct(&now) - 60) < 0.01);
	/* What is only half well is not well, and the baseline stands still. */
	rig_feed(&rig, 100, 65);
	assert_true(fabs(collapse_baseline(rig.collapse) / MIB - 100) < 0.01);
	rig_feed(&rig, 2, 90);
	assert_string_equal(rig.log, "RAISED collapse 1 @3");
	rig_feed(&rig, 1, 90);
	assert_string_equal(rig.log, "RAISED collapse 1 @3, CLEARED collapse 1 @106");
	assert_int_equal(s_of(&rig, rig.last.to_ms), 1030);
	assert_true(fabs(rig.last.worst_bytes_per_s / MIB - 40) < 0.01);
	assert_true(fabs(rig.last.mean_bytes_per_s / MIB - (3 * 40 + 100 * 65) / 103.0) < 0.01);
	assert_false(collapse_current(rig.collapse, &now));
	rig_fini(&rig);
}

static void test_what_is_no_collapse(void **state)
{
	struct rig rig;

	(void)state;
	rig_init(&rig, &usual, 10, true);
	for (int i = 0; i < 50; i++) {
		rig_feed(&rig, 2, 45); /* 20 s */
		rig_feed(&rig, 7 + (unsigned)i % 5, 100);
	}
	rig_feed(&rig, 360, 55); /* not below half */
	assert_string_equal(rig.log, "");
	rig_fini(&rig);
}

static void test_a_fall_that_begins_within_a_sample_counts_with_it(void **state)
{
	struct rig rig;

	(void)state;
	rig_init(&rig, &usual, 10, true);
	rig_feed(&rig, 1, 60);
	rig_feed(&rig, 2, 10);
	assert_string_equal(rig.log, "RAISED collapse 1 @3");
	assert_int_equal(s_of(&rig, rig.last.from_ms), 0);
	rig_fini(&rig);
}

static void test_a_hang_is_a_stall_without_any_completion(void **state)
{
	struct rig rig;

	(void)state;
	rig_init(&rig, &usual, 10, true);
	rig_feed(&rig, 1, 0);
	assert_string_equal(rig.log, "");
	rig_feed(&rig, 1, 0);
	assert_string_equal(rig.log, "RAISED stall 1 @2");
	assert_int_equal(s_of(&rig, rig.last.from_ms), 0);
	rig_feed(&rig, 10, 0);
	rig_feed(&rig, 3, 100);
	assert_string_equal(rig.log, "RAISED stall 1 @2, CLEARED stall 1 @15");
	assert_true(fabs(rig.last.stall_s - 120) < 0.001);
	assert_int_equal(s_of(&rig, rig.last.to_ms), 120);
	rig_fini(&rig);
}

static void test_a_hang_of_hours_is_one_stall(void **state)
{
	static const bool settled[] = { true, false };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(settled); i++) {
		struct rig rig;

		rig_init(&rig, &usual, 10, settled[i]);
		rig_feed(&rig, 2880, 0);
		assert_string_equal(rig.log, "RAISED stall 1 @2");
		rig_feed(&rig, 6, 100);
		assert_string_equal(rig.log, "RAISED stall 1 @2, CLEARED stall 1 @2883");
		assert_true(fabs(rig.last.stall_s - 28800) < 0.001);
		assert_true(fabs(collapse_baseline(rig.collapse) / MIB - 100) < 0.01);
		collapse_free(rig.collapse);
	}
}

static void test_what_comes_after_a_hang_of_hours_may_be_a_new_level(void **state)
{
	struct rig rig;

	(void)state;
	rig_init(&rig, &usual, 10, true);
	rig_feed(&rig, 2880, 0);
	rig_feed(&rig, 360, 20);
	assert_string_equal(
		rig.log, "RAISED stall 1 @2, RELABELLED level-shift 1 @3061, CLEARED level-shift 1 @3061");
	rig_feed(&rig, 360, 20);
	assert_true(fabs(collapse_baseline(rig.collapse) / MIB - 20) < 0.01);
	collapse_free(rig.collapse);
}

static void test_the_stall_clock_reaches_back_into_the_sample_before(void **state)
{
	struct rig rig;

	(void)state;
	rig_init(&rig, &usual, 10, true);
	rig.sample.stall_ns = 9 * S;
	rig_feed(&rig, 1, 10);
	assert_string_equal(rig.log, "");
	rig.sample.stall_ns = 20 * S;
	rig_feed(&rig, 1, 0);
	assert_string_equal(rig.log, "RAISED stall 1 @2");
	assert_int_equal(s_of(&rig, rig.last.from_ms), 0);
	rig_fini(&rig);
}

static void test_before_there_is_a_baseline_only_a_stall_is_seen(void **state)
{
	struct rig rig = { .interval_s = 10 };

	(void)state;
	rig.sample = (struct collapse_sample){ .stall_ns = SAMPLE_UNKNOWN, .counts = true };
	assert_int_equal(collapse_new(&usual, &rig.collapse), 0);
	rig_feed(&rig, 20, 100);
	rig_feed(&rig, 20, 10);
	assert_true(isnan(collapse_baseline(rig.collapse)));
	rig_feed(&rig, 2, 0);
	assert_string_equal(rig.log, "RAISED stall 1 @42");
	rig_feed(&rig, 1, 5);
	assert_string_equal(rig.log, "RAISED stall 1 @42, CLEARED stall 1 @43");
	rig_fini(&rig);
}

static void test_a_fall_that_the_first_baseline_finds_under_way_keeps_its_beginning(void **state)
{
	struct rig rig = { .interval_s = 10 };

	(void)state;
	rig.sample =
		(struct collapse_sample){ .stall_ns = SAMPLE_UNKNOWN, .counts = true, .is_settled = true };
	assert_int_equal(collapse_new(&usual, &rig.collapse), 0);
	rig_feed(&rig, 55, 100);
	rig_feed(&rig, 5, 20);
	assert_string_equal(rig.log, "");
	rig_feed(&rig, 1, 20);
	assert_string_equal(rig.log, "RAISED collapse 1 @61");
	assert_int_equal(s_of(&rig, rig.last.from_ms), 550);
	assert_true(fabs(rig.last.mean_bytes_per_s / MIB - 20) < 0.01);
	rig_fini(&rig);
}

static void test_open_for_six_hours_it_is_the_new_level(void **state)
{
	struct rig rig;

	(void)state;
	rig_init(&rig, &usual, 10, true);
	rig_feed(&rig, 2159, 30);
	assert_string_equal(rig.log, "RAISED collapse 1 @3");
	rig_feed(&rig, 1, 30);
	assert_string_equal(
		rig.log, "RAISED collapse 1 @3, RELABELLED level-shift 1 @2160, CLEARED level-shift 1 @2160");
	assert_true(fabs(collapse_baseline(rig.collapse) / MIB - 30) < 0.01);
	rig_mark(&rig);
	rig_feed(&rig, 3, 10);
	assert_string_equal(rig.log, "RAISED collapse 2 @3");
	rig_fini(&rig);
}

static void test_once_settled_the_baseline_sinks_by_5_percent_an_hour(void **state)
{
	struct rig rig;

	(void)state;
	rig_init(&rig, &usual, 10, true);
	rig_feed(&rig, 360, 60);
	assert_in_range(
		(int)(collapse_baseline(rig.collapse) / MIB * 10), 974, 977); /* half an hour of sinking */
	rig_feed(&rig, 360, 60);
	assert_in_range((int)(collapse_baseline(rig.collapse) / MIB * 10), 925, 930);
	rig_feed(&rig, 3, 45);
	assert_string_equal(rig.log, "RAISED collapse 1 @723"); /* 48 % of it */
	rig_fini(&rig);
	rig_init(&rig, &usual, 10, false);
	rig_feed(&rig, 360, 60);
	assert_true(fabs(collapse_baseline(rig.collapse) / MIB - 60) < 0.01);
	rig_fini(&rig);
}

static void test_before_it_is_settled_a_fall_is_a_cliff(void **state)
{
	struct rig rig;

	(void)state;
	rig_init(&rig, &usual, 10, false);
	rig_feed(&rig, 60, 30);
	assert_string_equal(rig.log, "RAISED cliff 1 @3");
	assert_false(collapse_alerts(rig.last.kind));
	assert_true(fabs(collapse_baseline(rig.collapse) / MIB - 100) < 0.01);
	rig_feed(&rig, 3, 30); /* the level has been level for 60 samples */
	assert_true(fabs(collapse_baseline(rig.collapse) / MIB - 30) < 0.01);
	rig.sample.is_settled = true;
	rig_feed(&rig, 1, 30);
	assert_string_equal(rig.log, "RAISED cliff 1 @3, CLEARED cliff 1 @64");
	assert_int_equal(s_of(&rig, rig.last.to_ms), 630);
	rig_feed(&rig, 3, 10);
	assert_string_equal(rig.log, "RAISED cliff 1 @3, CLEARED cliff 1 @64, RAISED collapse 2 @67");
	rig_fini(&rig);
}

static void test_a_cliff_that_comes_back_was_a_collapse(void **state)
{
	struct rig rig;

	(void)state;
	rig_init(&rig, &usual, 10, false);
	rig_feed(&rig, 20, 30);
	rig_feed(&rig, 3, 80);
	assert_string_equal(rig.log, "RAISED cliff 1 @3, RELABELLED collapse 1 @23, CLEARED collapse 1 @23");
	rig_mark(&rig);
	rig_feed(&rig, 10, 100);
	rig_feed(&rig, 600, 40); /* long enough to be the level */
	rig_feed(&rig, 12, 80);
	assert_string_equal(
		rig.log, "RAISED cliff 2 @13, RELABELLED collapse 2 @622, CLEARED collapse 2 @622");
	assert_int_equal(s_of(&rig, rig.last.to_ms), 6100);
	rig_fini(&rig);
}

static void test_a_cliff_that_stalls_or_stays_below_a_tenth_alerts(void **state)
{
	struct rig rig;

	(void)state;
	rig_init(&rig, &usual, 10, false);
	rig_feed(&rig, 5, 9);
	rig_feed(&rig, 1, 11);
	rig_feed(&rig, 5, 9);
	assert_string_equal(rig.log, "RAISED cliff 1 @3");
	rig_feed(&rig, 1, 9);
	assert_string_equal(rig.log, "RAISED cliff 1 @3, RELABELLED collapse 1 @12");
	rig_fini(&rig);
	rig_init(&rig, &usual, 10, false);
	rig_feed(&rig, 5, 30);
	rig_feed(&rig, 2, 0);
	assert_string_equal(rig.log, "RAISED cliff 1 @3, RELABELLED stall 1 @7");
	rig_fini(&rig);
}

static void test_without_an_extent_the_first_lasting_fall_is_the_cliff(void **state)
{
	struct collapse_config import = usual;
	struct rig rig;

	(void)state;
	import.is_extent_known = false;
	rig_init(&rig, &import, 10, false);
	rig_feed(&rig, 30, 30); /* comes back: not yet the cliff */
	rig_feed(&rig, 60, 100);
	rig_feed(&rig, 2400, 40);
	rig_feed(&rig, 3, 10);
	assert_string_equal(rig.log, "RAISED cliff 1 @3, RELABELLED collapse 1 @33, CLEARED collapse 1 @33, "
				     "RAISED cliff 2 @93, CLEARED cliff 2 @2250, RAISED collapse 3 @2493");
	rig_fini(&rig);
}

static void feed_tooth(struct rig *rig, unsigned period, unsigned low)
{
	rig_feed(rig, low, 30);
	rig_feed(rig, period - low, 100);
}

static void test_a_saw_tooth_is_one_finding(void **state)
{
	struct rig rig;

	(void)state;
	rig_init(&rig, &usual, 10, true);
	for (int i = 0; i < 300; i++)
		feed_tooth(&rig, i % 3 ? 60 : 57, 5 + (unsigned)i % 3);
	assert_string_equal(rig.log,
		"RAISED collapse 1 @3, CLEARED collapse 1 @8, RAISED collapse 2 @60, "
		"CLEARED collapse 2 @66, RELABELLED periodic 1 @120, ABSORBED collapse 2 @120");
	assert_true(collapse_current(rig.collapse, &rig.last) == false);
	rig_feed(&rig, 300, 100);
	assert_non_null(strstr(rig.log, ", CLEARED periodic 1 @"));
	assert_int_equal(rig.last.count, 300);
	assert_true(fabs(rig.last.period_s - 590) < 10);
	assert_true(fabs(collapse_depth_pct(&rig.last) - 70) < 0.5);
	assert_int_equal(s_of(&rig, rig.last.from_ms), 0);
	rig_fini(&rig);
}

static void test_what_is_no_tooth_is_raised_beside_the_saw(void **state)
{
	struct rig rig;

	(void)state;
	rig_init(&rig, &usual, 10, true);
	for (int i = 0; i < 10; i++)
		feed_tooth(&rig, 60, 6);
	rig_mark(&rig);
	rig_feed(&rig, 4, 2); /* deeper */
	rig_feed(&rig, 56, 100);
	assert_string_equal(rig.log, "RAISED collapse 3 @3, CLEARED collapse 3 @7");
	feed_tooth(&rig, 60, 6);
	rig_mark(&rig);
	feed_tooth(&rig, 60, 30); /* longer */
	assert_non_null(strstr(rig.log, "RAISED collapse 4 @16, CLEARED collapse 4 @33"));
	rig_fini(&rig);
}

static void test_a_saw_goes_on_after_a_pause_and_after_another_fall(void **state)
{
	struct rig rig;

	(void)state;
	rig_init(&rig, &usual, 10, true);
	for (int i = 0; i < 10; i++)
		feed_tooth(&rig, 60, 6);
	rig_mark(&rig);
	rig.sample.counts = false;
	rig_feed(&rig, 327, 0); /* more than it takes to be over, and off the beat */
	rig.sample.counts = true;
	for (int i = 0; i < 3; i++)
		feed_tooth(&rig, 60, 6);
	assert_string_equal(rig.log, "");
	rig_mark(&rig);
	rig_feed(&rig, 400, 1);
	rig_feed(&rig, 17, 100);
	for (int i = 0; i < 3; i++)
		feed_tooth(&rig, 60, 6);
	assert_string_equal(rig.log, "RAISED collapse 3 @3, CLEARED collapse 3 @403");
	rig_fini(&rig);
}

static void test_three_falls_without_a_fourth_are_three_falls(void **state)
{
	struct rig rig;

	(void)state;
	rig_init(&rig, &usual, 10, true);
	feed_tooth(&rig, 60, 6);
	feed_tooth(&rig, 60, 6);
	rig_mark(&rig);
	feed_tooth(&rig, 60, 6);
	assert_string_equal(rig.log, "RELABELLED periodic 1 @3, ABSORBED collapse 2 @3");
	rig_mark(&rig);
	rig_feed(&rig, 300, 100);
	assert_string_equal(rig.log,
		"RELABELLED collapse 1 @31, RELABELLED collapse 2 @31, RAISED collapse 3 @31, "
		"CLEARED collapse 3 @31");
	assert_int_equal(s_of(&rig, rig.last.from_ms), -600);
	assert_int_equal(s_of(&rig, rig.last.to_ms), -540);
	rig_fini(&rig);
}

/* Whether the host or the drive is to blame: throughput that is low is a fall, and one that is back is over. */
static void test_the_host_hides_no_fall_and_no_end_of_one(void **state)
{
	struct rig rig;

	(void)state;
	rig_init(&rig, &usual, 10, true);
	rig.sample.is_host_limited = true;
	rig_feed(&rig, 10, 60); /* neither low nor of the baseline */
	assert_true(fabs(collapse_baseline(rig.collapse) / MIB - 100) < 0.01);
	rig_feed(&rig, 3, 10);
	assert_string_equal(rig.log, "RAISED collapse 1 @13");
	rig.sample.is_host_limited = false;
	rig_mark(&rig);
	rig_feed(&rig, 2, 10);
	/* One of three is the host's while it is well again. */
	rig_feed(&rig, 1, 100);
	rig.sample.is_host_limited = true;
	rig_feed(&rig, 1, 90);
	rig.sample.is_host_limited = false;
	rig_feed(&rig, 1, 100);
	assert_string_equal(rig.log, "CLEARED collapse 1 @5");
	assert_int_equal(s_of(&rig, rig.last.to_ms), 20);
	rig_fini(&rig);
}

/* Nothing is ever settled without an extent: the first hours are held against the later ones, from the cliff on. */
static void test_a_log_of_unknown_extent_declines_too(void **state)
{
	static const struct collapse_config unknown = { 0.5, 0.7, 30 * S, 20 * S, false };
	struct rig rig;

	(void)state;
	rig_init(&rig, &unknown, 10, false);
	rig_feed(&rig, 11 * 360, 100);
	rig_feed(&rig, 3 * 360, 70);
	assert_string_equal(rig.log, "RAISED degraded 1 @5040");
	assert_true(fabs(rig.last.baseline_bytes_per_s / MIB - 100) < 1);
	rig_feed(&rig, 360, 100);
	assert_string_equal(rig.log, "RAISED degraded 1 @5040, CLEARED degraded 1 @5400");
	rig_fini(&rig);
	rig_init(&rig, &unknown, 10, false);
	rig_feed(&rig, 8 * 360, 100);
	rig_feed(&rig, 10 * 360, 30);
	rig_feed(&rig, 4 * 360, 20);
	assert_null(strstr(rig.log, "degraded 1"));
	assert_non_null(strstr(rig.log, "RAISED degraded 2"));
	assert_true(fabs(rig.last.baseline_bytes_per_s / MIB - 30) < 1);
	rig_fini(&rig);
}

static void test_samples_that_do_not_count_neither_begin_nor_end_a_fall(void **state)
{
	struct rig rig;

	(void)state;
	rig_init(&rig, &usual, 10, true);
	rig_feed(&rig, 2, 40);
	rig.sample.counts = false;
	rig_feed(&rig, 500, 0);
	rig.sample.counts = true;
	rig_feed(&rig, 2, 40);
	assert_string_equal(rig.log, "");
	rig_feed(&rig, 1, 40);
	assert_string_equal(rig.log, "RAISED collapse 1 @505");
	rig.sample.counts = false;
	rig_feed(&rig, 10, 100);
	rig.sample.counts = true;
	rig_feed(&rig, 2, 100);
	rig.sample.t_ms += 60000; /* a hole without samples */
	rig_feed(&rig, 2, 100);
	assert_string_equal(rig.log, "RAISED collapse 1 @505");
	rig_feed(&rig, 1, 100);
	assert_string_equal(rig.log, "RAISED collapse 1 @505, CLEARED collapse 1 @520");
	rig_fini(&rig);
}

static void test_other_intervals(void **state)
{
	struct rig rig;

	(void)state;
	rig_init(&rig, &usual, 1, true);
	rig_feed(&rig, 29, 40);
	assert_string_equal(rig.log, "");
	rig_feed(&rig, 31, 40);
	rig_feed(&rig, 30, 100);
	assert_string_equal(rig.log, "RAISED collapse 1 @30, CLEARED collapse 1 @90");
	rig_mark(&rig);
	rig_feed(&rig, 20, 0);
	assert_string_equal(rig.log, "RAISED stall 2 @20");
	rig_fini(&rig);
	rig_init(&rig, &usual, 300, true);
	rig_feed(&rig, 1, 40);
	rig_feed(&rig, 1, 100);
	assert_string_equal(rig.log, "RAISED collapse 1 @1, CLEARED collapse 1 @2");
	rig_mark(&rig);
	rig.sample.stall_ns = 25 * S;
	rig_feed(&rig, 1, 92);
	rig.sample.stall_ns = S;
	rig_feed(&rig, 1, 100);
	assert_string_equal(rig.log, "RAISED stall 2 @1, CLEARED stall 2 @2");
	rig_fini(&rig);
}

static void test_three_slow_hours_are_degraded(void **state)
{
	struct rig rig;

	(void)state;
	rig_init(&rig, &usual, 10, true);
	rig_feed(&rig, 5 * 360, 100); /* the first 6 h, with those of the baseline */
	rig_mark(&rig);
	rig_feed(&rig, 2 * 360, 78);
	rig_feed(&rig, 360, 82);
	rig_feed(&rig, 3 * 360 - 1, 78);
	assert_string_equal(rig.log, "");
	rig_feed(&rig, 1, 78);
	assert_string_equal(rig.log, "RAISED degraded 1 @2160");
	assert_false(collapse_alerts(rig.last.kind));
	assert_true(fabs(collapse_depth_pct(&rig.last) - 22) < 1);
	assert_int_equal(s_of(&rig, rig.last.from_ms), 3 * 3600);
	rig_feed(&rig, 360, 84);
	rig_feed(&rig, 360, 86);
	assert_string_equal(rig.log, "RAISED degraded 1 @2160, CLEARED degraded 1 @2880");
	rig_fini(&rig);
}

static void test_noise_is_measured(void **state)
{
	struct collapse_finding now;
	struct rig rig;

	(void)state;
	/* 60 and 140 in turn: three of 45 are more often than not chance, nine are not. */
	rig_init(&rig, &usual, 10, true);
	for (int i = 0; i < 360; i++)
		rig_feed(&rig, 1, i % 2 ? 60 : 140);
	rig_mark(&rig);
	rig_feed(&rig, 3, 30);
	assert_string_equal(rig.log, "");
	rig_feed(&rig, 17, 30);
	assert_true(collapse_current(rig.collapse, &now));
	assert_in_range((int)now.noise_pct, 30, 100);
	rig_fini(&rig);
}

static void test_what_it_says(void **state)
{
	static const struct {
		struct collapse_finding finding;
		const char *text;
	} rows[] = {
		{ { .kind = COLLAPSE_FALL,
			  .from_ms = 0,
			  .to_ms = 40000,
			  .baseline_bytes_per_s = 310 * MIB,
			  .mean_bytes_per_s = 12.4 * MIB,
			  .worst_bytes_per_s = 0,
			  .period_s = NAN },
			"12.4 MiB/s for 40 s, 4 % of the baseline of 310 MiB/s; worst 0 B/s" },
		{ { .kind = COLLAPSE_STALL,
			  .from_ms = 0,
			  .detected_ms = 20000,
			  .to_ms = COLLAPSE_OPEN,
			  .stall_s = 20,
			  .baseline_bytes_per_s = NAN,
			  .period_s = NAN },
			"nothing completed for 20 s" },
		{ { .kind = COLLAPSE_STALL,
			  .from_ms = 0,
			  .to_ms = 60000,
			  .stall_s = 20,
			  .mean_bytes_per_s = 2 * MIB,
			  .baseline_bytes_per_s = 100 * MIB,
			  .period_s = NAN },
			"nothing completed for 20 s; 2 MiB/s for 1 min, baseline 100 MiB/s" },
		{ { .kind = COLLAPSE_CLIFF,
			  .baseline_bytes_per_s = 400 * MIB,
			  .mean_bytes_per_s = 100 * MIB,
			  .period_s = NAN },
			"fell from 400 MiB/s to 100 MiB/s, 25 % of it" },
		{ { .kind = COLLAPSE_PERIODIC,
			  .baseline_bytes_per_s = 400 * MIB,
			  .mean_bytes_per_s = 100 * MIB,
			  .worst_bytes_per_s = 50 * MIB,
			  .period_s = 720,
			  .count = 14 },
			"falls every 12 min to 100 MiB/s, 25 % of the baseline of 400 MiB/s; 14 times, worst "
			"50 MiB/s" },
		{ { .kind = COLLAPSE_SHIFT,
			  .to_ms = 21600000,
			  .baseline_bytes_per_s = 400 * MIB,
			  .mean_bytes_per_s = 100 * MIB,
			  .period_s = NAN },
			"stayed at 100 MiB/s for 6 h: a new level, 25 % of the old one of 400 MiB/s" },
		{ { .kind = COLLAPSE_DEGRADED,
			  .baseline_bytes_per_s = 400 * MIB,
			  .mean_bytes_per_s = 300 * MIB,
			  .period_s = NAN },
			"the median of an hour is 300 MiB/s, 75 % of the 400 MiB/s of the first 6 h" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char text[COLLAPSE_TEXT_MAX];

		collapse_print(&rows[i].finding, text);
		assert_string_equal(text, rows[i].text);
	}
}

static void test_a_setting_that_makes_no_sense_is_refused(void **state)
{
	static const struct collapse_config wrong[] = { { 0, 0.7, S, S, true }, { 0.7, 0.7, S, S, true },
		{ 0.5, 1.1, S, S, true }, { 0.5, 0.7, 0, S, true }, { 0.5, 0.7, S, 0, true },
		{ (double)NAN, 0.7, S, S, true } };
	struct collapse *collapse = NULL;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		assert_int_equal(collapse_new(&wrong[i], &collapse), -EINVAL);
	assert_null(collapse);
}

static double next_value(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return (double)(*state >> 20); /* few: equal values too */
}

static double plain_median(const double *values, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		unsigned below = 0, equal = 0;

		for (unsigned k = 0; k < count; k++) {
			below += values[k] < values[i];
			equal += values[k] == values[i]; /* clang-format keeps it: values are whole */
		}
		if (below <= (count - 1) / 2 && (count - 1) / 2 < below + equal)
			return values[i];
	}
	return NAN;
}

static void test_the_median_is_exact(void **state)
{
	static struct level level;
	static double values[2000];
	uint32_t seed = 7;
	unsigned count = 0;

	(void)state;
	level_clear(&level);
	assert_true(isnan(level_median(&level)));
	for (int i = 0; i < 1500; i++) {
		unsigned window;

		values[count] = next_value(&seed);
		level_add(&level, values[count++]);
		if (i % 100 == 99) {
			level_drop_newest(&level, 5);
			count -= 5;
		}
		if (i % 400 == 399)
			level_keep_newest(&level, 60);
		window = level.count;
		assert_true(window <= LEVEL_MAX);
		assert_true(level_median(&level) == plain_median(&values[count - window], window));
		if (window >= 70)
			assert_true(level_median_of(&level, 10, 60) == plain_median(&values[count - 70], 60));
	}
}

static void test_the_noise_is_that_of_the_samples_and_not_of_a_step(void **state)
{
	static struct level level;
	struct level_noise noise;
	uint32_t seed = 3;

	(void)state;
	level_clear(&level);
	for (int i = 0; i < LEVEL_MAX; i++) {
		double sum = 0;

		for (int k = 0; k < 12; k++) /* normal, near enough: sd 1 */
			sum += next_value(&seed) / 4096;
		level_add(&level, (i < 200 ? 1000 : 500) * (1 + 0.1 * (sum - 6)));
	}
	level_noise(&level, &noise);
	assert_true(noise.sd > 0.06 && noise.sd < 0.11);
	assert_true(noise.correlation < 0.2);
	assert_true(fabs(level_noise_of_mean(&(struct level_noise){ 0.1, 0 }, 4) - 0.05) < 1e-12);
	assert_true(fabs(level_noise_of_mean(&(struct level_noise){ 0.1, 0.8 }, 4) - 0.1) < 1e-12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_raised_at_the_third_bad_sample_and_cleared_above_70),
		cmocka_unit_test(test_what_is_no_collapse),
		cmocka_unit_test(test_a_fall_that_begins_within_a_sample_counts_with_it),
		cmocka_unit_test(test_a_hang_is_a_stall_without_any_completion),
		cmocka_unit_test(test_a_hang_of_hours_is_one_stall),
		cmocka_unit_test(test_what_comes_after_a_hang_of_hours_may_be_a_new_level),
		cmocka_unit_test(test_the_stall_clock_reaches_back_into_the_sample_before),
		cmocka_unit_test(test_before_there_is_a_baseline_only_a_stall_is_seen),
		cmocka_unit_test(test_a_fall_that_the_first_baseline_finds_under_way_keeps_its_beginning),
		cmocka_unit_test(test_open_for_six_hours_it_is_the_new_level),
		cmocka_unit_test(test_once_settled_the_baseline_sinks_by_5_percent_an_hour),
		cmocka_unit_test(test_before_it_is_settled_a_fall_is_a_cliff),
		cmocka_unit_test(test_a_cliff_that_comes_back_was_a_collapse),
		cmocka_unit_test(test_a_cliff_that_stalls_or_stays_below_a_tenth_alerts),
		cmocka_unit_test(test_without_an_extent_the_first_lasting_fall_is_the_cliff),
		cmocka_unit_test(test_a_saw_tooth_is_one_finding),
		cmocka_unit_test(test_what_is_no_tooth_is_raised_beside_the_saw),
		cmocka_unit_test(test_a_saw_goes_on_after_a_pause_and_after_another_fall),
		cmocka_unit_test(test_three_falls_without_a_fourth_are_three_falls),
		cmocka_unit_test(test_the_host_hides_no_fall_and_no_end_of_one),
		cmocka_unit_test(test_a_log_of_unknown_extent_declines_too),
		cmocka_unit_test(test_samples_that_do_not_count_neither_begin_nor_end_a_fall),
		cmocka_unit_test(test_other_intervals),
		cmocka_unit_test(test_three_slow_hours_are_degraded),
		cmocka_unit_test(test_noise_is_measured),
		cmocka_unit_test(test_what_it_says),
		cmocka_unit_test(test_a_setting_that_makes_no_sense_is_refused),
		cmocka_unit_test(test_the_median_is_exact),
		cmocka_unit_test(test_the_noise_is_that_of_the_samples_and_not_of_a_step),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
