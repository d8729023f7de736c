/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which alerts fire and what is told of them, and when: every policy in simulated time. */
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "alert/spell.h"
#include "alert_fixture.h"
#include "base/clock.h"
#include "base/text.h"

#define S   1000LL
#define MIN 60000LL
#define DAY 86400000LL
#define ONE 0
#define TWO 1

static struct alerts *alerts;
static struct alert_message message;
static int64_t now_ms;

static void start(const char *repeat, int64_t digest_ms)
{
	static const char *const names[] = { "one", "two" };
	struct alerts_config config = { .digest_ms = digest_ms };

	alerts_free(alerts);
	alerts_parse_repeat(repeat, &config);
	assert_int_equal(alerts_new(&config, names, 2, &alerts), 0);
	now_ms = T0;
}

static int set_up(void **state)
{
	(void)state;
	alerts = NULL;
	start("once", 30 * S);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	alerts_free(alerts);
	return 0;
}

static struct alert_reading decided(enum alert_rule rule, bool is_bad)
{
	struct alert_reading reading = {
		.rule = rule,
		.is_decided = true,
		.is_bad = is_bad,
		.value = 40,
		.threshold = 100,
		.clear = NAN,
		.sense = ALERT_BELOW,
		.severity = EVENT_WARNING,
		.run = "run-1",
		.text = "it is bad",
	};

	return reading;
}

static void set(size_t drive, enum alert_rule rule, bool is_bad)
{
	const struct alert_reading reading = decided(rule, is_bad);

	alerts_set(alerts, drive, &reading, now_ms);
}

static void set_value(
	enum alert_rule rule, enum alert_sense sense, double value, double threshold, double clear)
{
	struct alert_reading reading = decided(rule, false);

	reading.is_decided = false;
	reading.sense = sense;
	reading.value = value;
	reading.threshold = threshold;
	reading.clear = clear;
	alerts_set(alerts, ONE, &reading, now_ms);
}

/* "raised one collapse; ..." of the message that is due now; "" without one. */
static const char *told(void)
{
	static char words[1024];
	size_t used = 0;

	words[0] = '\0';
	if (!alerts_next(alerts, now_ms, &message))
		return words;
	assert_int_equal(message.t_ms, now_ms);
	for (size_t i = 0; i < message.count; i++) {
		const struct alert_entry *entry = &message.entries[i];

		used += (size_t)snprintf(words + used, sizeof(words) - used, "%s%s %s %s", i ? "; " : "",
			alert_note_name(entry->note), entry->alert.drive, alert_rule_name(entry->alert.rule));
		if (entry->alert.untold)
			used += (size_t)snprintf(
				words + used, sizeof(words) - used, " +%u", entry->alert.untold);
	}
	return words;
}

static const struct alert *at(size_t drive, enum alert_rule rule)
{
	return alerts_get(alerts, drive, rule);
}

static size_t changed(struct alert *out, size_t max)
{
	const struct alert *alert;
	size_t count = 0;

	while (count < max && (alert = alerts_next_changed(alerts)) != NULL)
		out[count++] = *alert;
	return count;
}

/* Everything that changed is stored; then the program starts again. */
static void restart_at(int64_t t_ms)
{
	static struct alert stored[8];
	size_t count = changed(stored, ARRAY_LEN(stored));

	start("once", 0);
	now_ms = t_ms;
	for (size_t i = 0; i < count; i++)
		alerts_recall(alerts, &stored[i], now_ms);
}

static void restart(void)
{
	restart_at(now_ms + MIN);
}

static void test_an_alert_is_raised_once_and_resolved_once(void **state)
{
	(void)state;
	set(ONE, ALERT_COLLAPSE, false);
	assert_string_equal(told(), "");
	assert_true(alerts_due_ms(alerts, now_ms) == ALERTS_NEVER_MS);
	set(ONE, ALERT_COLLAPSE, true);
	assert_true(alerts_due_ms(alerts, now_ms) == now_ms);
	assert_string_equal(told(), "raised one collapse");
	assert_string_equal(message.entries[0].alert.text, "it is bad");
	assert_string_equal(message.entries[0].alert.run, "run-1");
	assert_true(message.entries[0].alert.since_ms == T0);
	for (int i = 0; i < 8 * 360; i++) {
		now_ms += 10 * S;
		set(ONE, ALERT_COLLAPSE, true);
		assert_string_equal(told(), "");
	}
	set(ONE, ALERT_COLLAPSE, false);
	assert_string_equal(told(), "resolved one collapse");
	assert_true(message.entries[0].alert.until_ms == now_ms);
	assert_true(message.entries[0].alert.since_ms == T0);
	now_ms += DAY;
	set(ONE, ALERT_COLLAPSE, false);
	assert_string_equal(told(), "");
}

static void test_repeat_after_a_duration(void **state)
{
	(void)state;
	start("4h", 0);
	set(ONE, ALERT_STALL, true);
	assert_string_equal(told(), "raised one stall");
	now_ms += 4 * 60 * MIN - 1;
	assert_string_equal(told(), "");
	assert_true(alerts_due_ms(alerts, now_ms) == now_ms + 1);
	now_ms += 1;
	assert_string_equal(told(), "repeated one stall");
	assert_string_equal(told(), "");
	now_ms += 4 * 60 * MIN;
	assert_string_equal(told(), "repeated one stall");
	set(ONE, ALERT_STALL, false);
	assert_string_equal(told(), "resolved one stall");
	now_ms += 4 * DAY;
	assert_string_equal(told(), "");
}

static void test_repeat_diminishing(void **state)
{
	unsigned days = 0, days_told[8], count = 0;

	(void)state;
	start("diminishing", 0);
	set(ONE, ALERT_STALL, true);
	assert_string_equal(told(), "raised one stall");
	for (days = 1; days <= 40; days++) {
		now_ms += DAY;
		set(ONE, ALERT_STALL, true);
		if (*told())
			days_told[count++] = days;
	}
	/* 1, then 2, 4, 8, 16 days later. */
	assert_int_equal(count, 5);
	assert_int_equal(days_told[0], 1);
	assert_int_equal(days_told[1], 3);
	assert_int_equal(days_told[2], 7);
	assert_int_equal(days_told[3], 15);
	assert_int_equal(days_told[4], 31);
}

static void test_digest_batches_only_followers(void **state)
{
	(void)state;
	set(ONE, ALERT_COLLAPSE, true);
	assert_string_equal(told(), "raised one collapse");
	now_ms += 5 * S;
	set(TWO, ALERT_COLLAPSE, true);
	assert_string_equal(told(), "");
	assert_true(alerts_due_ms(alerts, now_ms) == T0 + 30 * S);
	now_ms += 5 * S;
	set(TWO, ALERT_IO_ERRORS, true);
	set(ONE, ALERT_COLLAPSE, false);
	assert_string_equal(told(), "");
	now_ms = T0 + 30 * S;
	assert_string_equal(told(), "resolved one collapse; raised two collapse; raised two io-errors");
	assert_string_equal(told(), "");
	/* The next one begins a digest of its own only after that one's. */
	now_ms += 31 * S;
	set(TWO, ALERT_STALL, true);
	assert_string_equal(told(), "raised two stall");
}

static void test_what_is_bad_at_the_same_tick_is_one_message(void **state)
{
	(void)state;
	set(ONE, ALERT_DRIVE_ABSENT, true);
	set(TWO, ALERT_DRIVE_ABSENT, true);
	assert_string_equal(told(), "raised one drive-absent; raised two drive-absent");
}

static void test_raised_and_over_within_a_digest_is_told_as_over(void **state)
{
	(void)state;
	set(ONE, ALERT_COLLAPSE, true);
	(void)told();
	now_ms += S;
	set(TWO, ALERT_COLLAPSE, true);
	now_ms += S;
	set(TWO, ALERT_COLLAPSE, false);
	now_ms = T0 + 30 * S;
	assert_string_equal(told(), "resolved two collapse");
	assert_true(message.entries[0].alert.since_ms == T0 + S);
	assert_true(message.entries[0].alert.until_ms == T0 + 2 * S);
}

static void test_three_firings_in_ten_minutes_are_told_as_they_come(void **state)
{
	(void)state;
	start("once", 0);
	for (int i = 0; i < ALERTS_PROMPT; i++) {
		set(ONE, ALERT_COLLAPSE, true);
		assert_string_equal(told(), "raised one collapse");
		now_ms += 20 * S;
		set(ONE, ALERT_COLLAPSE, false);
		assert_string_equal(told(), "resolved one collapse");
		now_ms += 20 * S;
	}
	/* The fourth is held back; another alert of it and the same of another drive are not. */
	set(ONE, ALERT_COLLAPSE, true);
	set(ONE, ALERT_STALL, true);
	set(TWO, ALERT_COLLAPSE, true);
	assert_string_equal(told(), "raised one stall; raised two collapse");
	assert_true(alerts_held_until_ms(at(ONE, ALERT_COLLAPSE)) == T0 + ALERTS_QUIET_MS);
	assert_true(alerts_held_until_ms(at(ONE, ALERT_STALL)) == INT64_MIN);
}

/* Every other 4 min: never four in ten minutes. */
static void test_slow_flapping_is_all_told(void **state)
{
	(void)state;
	start("once", 0);
	for (int i = 0; i < 20; i++) {
		set(ONE, ALERT_COLLAPSE, true);
		assert_string_equal(told(), "raised one collapse");
		now_ms += 2 * MIN;
		set(ONE, ALERT_COLLAPSE, false);
		assert_string_equal(told(), "resolved one collapse");
		now_ms += 2 * MIN;
	}
}

/* One every 11 min, of which none could be held back. */
static void test_errors_now_and_then_are_one_alert(void **state)
{
	struct spell spell = { 0 };
	uint64_t errors = 3;

	(void)state;
	start("once", 0);
	for (int64_t minute = 0; minute < 1490; minute++) {
		const uint64_t now_ns = 1 + (uint64_t)minute * 60 * NS_PER_S;

		if (minute % 11 == 0 && minute < 24 * 60)
			spell_add(&spell, ++errors, 1, now_ns);
		set(ONE, ALERT_IO_ERRORS, spell_lasts(&spell, now_ns));
		assert_string_equal(told(), minute ? "" : "raised one io-errors");
		assert_true(spell_errors(&spell, errors, now_ns) == (double)(errors - 3));
		now_ms += MIN;
	}
	/* The last was in minute 1430. */
	set(ONE, ALERT_IO_ERRORS, spell_lasts(&spell, 1490 * 60 * NS_PER_S));
	assert_string_equal(told(), "");
	set(ONE, ALERT_IO_ERRORS, spell_lasts(&spell, 1490 * 60 * NS_PER_S + 1));
	assert_string_equal(told(), "resolved one io-errors");
	assert_true(spell_errors(&spell, errors, 1491 * 60 * NS_PER_S) == 0);
	/* The next are a spell of their own; those told before a restart go on for their time. */
	spell_add(&spell, errors + 2, 2, 1500 * 60 * NS_PER_S);
	assert_true(spell_errors(&spell, errors + 2, 1501 * 60 * NS_PER_S) == 2);
	spell_recall(&spell, 1600 * 60 * NS_PER_S);
	assert_true(spell_lasts(&spell, 1659 * 60 * NS_PER_S));
	assert_true(isnan(spell_errors(&spell, errors, 1659 * 60 * NS_PER_S)));
	assert_false(spell_lasts(&spell, 1660 * 60 * NS_PER_S));
}

static void test_flapping_is_bounded_and_counted(void **state)
{
	unsigned messages = 0, flaps = 0, counted = 0;

	(void)state;
	start("once", 0);
	/* Two hours, bad every other 10 s; then all is well. */
	for (int i = 0; i < 720 + 70; i++) {
		set(ONE, ALERT_COLLAPSE, i < 720 && i % 2 == 0);
		flaps += i < 720 && i % 2 == 0;
		while (alerts_next(alerts, now_ms, &message))
			for (size_t j = 0; j < message.count; j++) {
				const struct alert_entry *entry = &message.entries[j];

				messages++;
				if (entry->note == ALERT_RAISED || !entry->alert.owes_end)
					counted += alert_entry_fired(entry);
			}
		now_ms += 10 * S;
	}
	assert_int_equal(flaps, 360);
	/* Three with their ends, then one in nearly ten minutes, that tells that it fires and then has an end. */
	assert_in_range(messages, 6 + 12, 6 + 2 * 13);
	/* And not one is lost. */
	assert_int_equal(counted, flaps);
	assert_int_equal(at(ONE, ALERT_COLLAPSE)->untold, 0);
	assert_true(at(ONE, ALERT_COLLAPSE)->is_told);
}

/* Three that are told with their ends, a minute each; then one that is held back. */
static void flap_until_held(void)
{
	start("once", 0);
	for (int i = 0; i < ALERTS_PROMPT; i++) {
		set(ONE, ALERT_COLLAPSE, true);
		assert_string_equal(told(), "raised one collapse");
		now_ms += 30 * S;
		set(ONE, ALERT_COLLAPSE, false);
		assert_string_equal(told(), "resolved one collapse");
		now_ms += 30 * S;
	}
	set(ONE, ALERT_COLLAPSE, true);
	now_ms += MIN;
	set(ONE, ALERT_COLLAPSE, false);
	assert_string_equal(told(), "");
}

static void test_what_is_held_back_is_told_when_it_lasts(void **state)
{
	(void)state;
	flap_until_held();
	now_ms += MIN;
	set(ONE, ALERT_COLLAPSE, true); /* and stays */
	assert_string_equal(told(), "");
	assert_true(alerts_due_ms(alerts, now_ms) == T0 + ALERTS_QUIET_MS);
	now_ms = T0 + ALERTS_QUIET_MS;
	assert_string_equal(told(), "raised one collapse +1");
	assert_int_equal(alert_entry_fired(&message.entries[0]), 2);
	assert_true(message.entries[0].alert.untold_since_ms == T0 + 3 * MIN);
	assert_true(message.entries[0].alert.since_ms == T0 + 5 * MIN);
	set(ONE, ALERT_COLLAPSE, false);
	assert_string_equal(told(), "resolved one collapse");
}

static void test_what_is_held_back_is_told_when_it_is_over(void **state)
{
	(void)state;
	flap_until_held();
	assert_true(alerts_due_ms(alerts, now_ms) == T0 + ALERTS_QUIET_MS);
	now_ms = T0 + ALERTS_QUIET_MS - 1;
	assert_string_equal(told(), "");
	now_ms++;
	assert_string_equal(told(), "resolved one collapse +1");
	assert_int_equal(alert_entry_fired(&message.entries[0]), 1);
	assert_true(at(ONE, ALERT_COLLAPSE)->is_told);
	assert_true(alerts_due_ms(alerts, now_ms) == ALERTS_NEVER_MS);
}

static void test_what_is_held_back_waits_no_longer_when_it_is_graver(void **state)
{
	struct alert_reading reading = decided(ALERT_COLLAPSE, true);

	(void)state;
	flap_until_held();
	set(ONE, ALERT_COLLAPSE, true);
	assert_string_equal(told(), "");
	reading.severity = EVENT_CRITICAL;
	alerts_set(alerts, ONE, &reading, now_ms);
	assert_string_equal(told(), "raised one collapse +1");
}

static void test_what_was_muted_holds_nothing_back(void **state)
{
	(void)state;
	start("once", 0);
	alerts_mute(alerts, ONE, ALERT_COLLAPSE, now_ms + 5 * MIN);
	for (int i = 0; i < 5; i++) {
		set(ONE, ALERT_COLLAPSE, true);
		now_ms += 10 * S;
		set(ONE, ALERT_COLLAPSE, false);
		now_ms += 10 * S;
	}
	alerts_mute(alerts, ONE, ALERT_COLLAPSE, INT64_MIN);
	assert_string_equal(told(), "");
	set(ONE, ALERT_COLLAPSE, true);
	assert_string_equal(told(), "raised one collapse +5");
}

static void test_a_step_back_of_the_clock_holds_nothing_for_long(void **state)
{
	(void)state;
	start("once", 0);
	set(ONE, ALERT_COLLAPSE, true);
	assert_string_equal(told(), "raised one collapse");
	set(ONE, ALERT_COLLAPSE, false);
	now_ms -= DAY;
	assert_string_equal(told(), "resolved one collapse");
	flap_until_held();
	restart_at(now_ms - DAY);
	assert_true(alerts_due_ms(alerts, now_ms) <= now_ms + ALERTS_QUIET_MS);
}

static void test_back_before_its_end_was_told_it_goes_on(void **state)
{
	(void)state;
	set(ONE, ALERT_COLLAPSE, true);
	(void)told();
	now_ms += S;
	set(ONE, ALERT_COLLAPSE, false);
	now_ms += S;
	set(ONE, ALERT_COLLAPSE, true);
	now_ms = T0 + MIN;
	assert_string_equal(told(), "");
	set(ONE, ALERT_COLLAPSE, false);
	assert_string_equal(told(), "resolved one collapse +1");
	assert_true(message.entries[0].alert.since_ms == T0);
}

static void test_graver_is_told_once_at_once_milder_is_not(void **state)
{
	struct alert_reading reading = decided(ALERT_TEMPERATURE, true);

	(void)state;
	alerts_set(alerts, ONE, &reading, now_ms);
	assert_string_equal(told(), "raised one temperature");
	now_ms += MIN;
	reading.severity = EVENT_CRITICAL;
	text_copy(reading.cause, sizeof(reading.cause), "thermal");
	alerts_set(alerts, ONE, &reading, now_ms);
	assert_string_equal(told(), "graver one temperature");
	assert_string_equal(message.entries[0].alert.cause, "thermal");
	now_ms += MIN;
	reading.severity = EVENT_WARNING;
	alerts_set(alerts, ONE, &reading, now_ms);
	assert_string_equal(told(), "");
	assert_int_equal(at(ONE, ALERT_TEMPERATURE)->severity, EVENT_WARNING);
	reading.severity = EVENT_CRITICAL;
	alerts_set(alerts, ONE, &reading, now_ms);
	assert_string_equal(told(), "");
}

static void test_hysteresis_of_values(void **state)
{
	(void)state;
	start("once", 0);
	set_value(ALERT_TEMPERATURE, ALERT_ABOVE, 69.9, 70, 65);
	assert_string_equal(told(), "");
	assert_true(fabs(at(ONE, ALERT_TEMPERATURE)->margin_pct - 100.0 / 700) < 1e-9);
	set_value(ALERT_TEMPERATURE, ALERT_ABOVE, 70, 70, 65);
	assert_string_equal(told(), "raised one temperature");
	set_value(ALERT_TEMPERATURE, ALERT_ABOVE, 65, 70, 65);
	assert_true(at(ONE, ALERT_TEMPERATURE)->is_firing);
	set_value(ALERT_TEMPERATURE, ALERT_ABOVE, NAN, 70, 65);
	assert_true(at(ONE, ALERT_TEMPERATURE)->is_firing);
	assert_true(fabs(at(ONE, ALERT_TEMPERATURE)->value - 65) < 1e-9);
	set_value(ALERT_TEMPERATURE, ALERT_ABOVE, 64.9, 70, 65);
	assert_string_equal(told(), "resolved one temperature");
	set_value(ALERT_SPARE, ALERT_BELOW, 10, 10, NAN);
	assert_string_equal(told(), "");
	set_value(ALERT_SPARE, ALERT_BELOW, 9, 10, NAN);
	assert_string_equal(told(), "raised one spare");
	assert_true(fabs(at(ONE, ALERT_SPARE)->margin_pct + 10) < 1e-9);
	set_value(ALERT_SPARE, ALERT_BELOW, 10, 10, NAN);
	assert_string_equal(told(), "resolved one spare");
}

static void test_errors_of_the_past_never_alert(void **state)
{
	struct alert_reading reading = decided(ALERT_MEDIA_ERRORS, false);

	(void)state;
	start("once", 0);
	set_value(ALERT_MEDIA_ERRORS, ALERT_GROWS, 3, NAN, NAN);
	set_value(ALERT_MEDIA_ERRORS, ALERT_GROWS, 3, NAN, NAN);
	assert_string_equal(told(), "");
	assert_true(fabs(at(ONE, ALERT_MEDIA_ERRORS)->threshold - 3) < 1e-9);
	set_value(ALERT_MEDIA_ERRORS, ALERT_GROWS, 4, NAN, NAN);
	assert_string_equal(told(), "raised one media-errors");
	/* The next run begins with four. */
	now_ms += 60 * MIN;
	reading.is_decided = false;
	reading.sense = ALERT_GROWS;
	reading.value = 4;
	reading.threshold = NAN;
	text_copy(reading.run, sizeof(reading.run), "run-2");
	alerts_set(alerts, ONE, &reading, now_ms);
	assert_string_equal(told(), "resolved one media-errors");
	/* A caller that knows the count at the begin of the run is believed: what grew while the service was down. */
	now_ms += 60 * MIN;
	set_value(ALERT_MEDIA_ERRORS, ALERT_GROWS, 9, 8, NAN);
	assert_string_equal(told(), "raised one media-errors");
}

static void test_a_muted_alert_fires_and_says_nothing(void **state)
{
	(void)state;
	start("1h", 0);
	alerts_mute(alerts, ONE, ALERT_COLLAPSE, now_ms + 30 * MIN);
	set(ONE, ALERT_COLLAPSE, true);
	set(ONE, ALERT_STALL, true);
	assert_string_equal(told(), "raised one stall");
	assert_true(at(ONE, ALERT_COLLAPSE)->is_firing);
	now_ms += 29 * MIN;
	assert_string_equal(told(), "");
	now_ms += MIN;
	assert_string_equal(told(), "raised one collapse");
	/* Muted after it was told: no repeat, but its end. */
	alerts_mute(alerts, ONE, ALERT_COLLAPSE, now_ms + DAY);
	now_ms += 2 * 60 * MIN;
	assert_string_equal(told(), "repeated one stall");
	set(ONE, ALERT_COLLAPSE, false);
	assert_string_equal(told(), "resolved one collapse");
	/* Begins and ends while it is muted: only counted. */
	set(ONE, ALERT_COLLAPSE, true);
	now_ms += MIN;
	set(ONE, ALERT_COLLAPSE, false);
	alerts_mute(alerts, ONE, ALERT_COLLAPSE, INT64_MIN);
	assert_string_equal(told(), "");
	now_ms += 20 * MIN;
	set(ONE, ALERT_COLLAPSE, true);
	assert_string_equal(told(), "raised one collapse +1");
}

static void test_a_run_that_is_over_ends_its_alerts(void **state)
{
	(void)state;
	start("once", 0);
	set(ONE, ALERT_COLLAPSE, true);
	(void)told();
	now_ms += MIN;
	alerts_end(alerts, ONE, ALERT_COLLAPSE, "the run is over", now_ms);
	alerts_end(alerts, ONE, ALERT_STALL, "the run is over", now_ms);
	assert_string_equal(told(), "resolved one collapse");
	assert_string_equal(message.entries[0].alert.text, "the run is over");
	assert_true(isnan(at(ONE, ALERT_COLLAPSE)->value));
}

static void test_a_restart_raises_nothing_twice_and_forgets_nothing(void **state)
{
	(void)state;
	start("once", 0);
	set(ONE, ALERT_COLLAPSE, true);
	assert_string_equal(told(), "raised one collapse");
	alerts_mute(alerts, TWO, ALERT_STALL, now_ms + DAY);
	set(TWO, ALERT_SPARE, true); /* and not told before the end */
	restart();
	assert_true(at(ONE, ALERT_COLLAPSE)->is_firing);
	assert_true(at(TWO, ALERT_STALL)->muted_until_ms == T0 + DAY);
	assert_string_equal(told(), "raised two spare");
	set(ONE, ALERT_COLLAPSE, true);
	assert_string_equal(told(), "");
	assert_true(at(ONE, ALERT_COLLAPSE)->since_ms == T0);
}

static void test_a_restart_keeps_what_is_held_back(void **state)
{
	(void)state;
	flap_until_held();
	restart();
	set(ONE, ALERT_COLLAPSE, true);
	set(ONE, ALERT_COLLAPSE, false);
	assert_string_equal(told(), "");
	restart();
	assert_true(alerts_due_ms(alerts, now_ms) == T0 + ALERTS_QUIET_MS);
	now_ms = T0 + ALERTS_QUIET_MS;
	assert_string_equal(told(), "resolved one collapse +2");
}

static void test_an_end_that_was_not_told_is_told_after_the_restart(void **state)
{
	(void)state;
	start("once", 30 * S);
	set(ONE, ALERT_COLLAPSE, true);
	(void)told();
	now_ms += S;
	set(ONE, ALERT_COLLAPSE, false);
	assert_string_equal(told(), ""); /* waits for the digest */
	restart();
	assert_string_equal(told(), "resolved one collapse");
	assert_string_equal(told(), "");
}

static void test_a_drive_that_left_the_configuration_is_resolved(void **state)
{
	struct alert gone = alert_fixture("gone", ALERT_COLLAPSE),
		     never = alert_fixture("never", ALERT_STALL);

	(void)state;
	gone.is_told = true;
	never.is_firing = false;
	never.until_ms = T0;
	alerts_recall(alerts, &gone, now_ms);
	alerts_recall(alerts, &never, now_ms);
	assert_string_equal(told(), "resolved gone collapse");
	assert_string_equal(message.entries[0].alert.text, "the drive is no longer in the configuration");
}

static void test_turns_are_begins_and_ends(void **state)
{
	const struct alert *turn;
	int64_t turned_ms = 0;

	(void)state;
	set(ONE, ALERT_COLLAPSE, true);
	set(ONE, ALERT_COLLAPSE, true);
	turn = alerts_next_turn(alerts, &turned_ms);
	assert_non_null(turn);
	assert_true(turn->is_firing);
	assert_null(alerts_next_turn(alerts, &turned_ms));
	set(ONE, ALERT_COLLAPSE, false);
	turn = alerts_next_turn(alerts, &turned_ms);
	assert_non_null(turn);
	assert_false(turn->is_firing);
	assert_null(alerts_next_turn(alerts, &turned_ms));
	/* Before its end was told: it goes on from then, but the turn is of now. */
	now_ms += 7 * S;
	set(ONE, ALERT_COLLAPSE, true);
	turn = alerts_next_turn(alerts, &turned_ms);
	assert_non_null(turn);
	assert_true(turn->is_firing && turn->since_ms == now_ms - 7 * S && turned_ms == now_ms);
}

static void test_more_than_a_message_holds_follows_at_once(void **state)
{
	static const char *names[8] = { "a", "b", "c", "d", "e", "f", "g", "h" };
	const struct alerts_config config = { .digest_ms = 30 * S };
	size_t count = 0, messages = 0;

	(void)state;
	alerts_free(alerts);
	assert_int_equal(alerts_new(&config, names, 8, &alerts), 0);
	for (size_t drive = 0; drive < 8; drive++)
		for (int rule = 0; rule < 5; rule++)
			set(drive, (enum alert_rule)rule, true);
	while (alerts_next(alerts, now_ms, &message)) {
		count += message.count;
		messages++;
	}
	assert_int_equal(count, 40);
	assert_int_equal(messages, 2);
}

int main(void)
{
#define CASE(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
	static const struct CMUnitTest tests[] = {
		CASE(test_an_alert_is_raised_once_and_resolved_once),
		CASE(test_repeat_after_a_duration),
		CASE(test_repeat_diminishing),
		CASE(test_digest_batches_only_followers),
		CASE(test_what_is_bad_at_the_same_tick_is_one_message),
		CASE(test_raised_and_over_within_a_digest_is_told_as_over),
		CASE(test_three_firings_in_ten_minutes_are_told_as_they_come),
		CASE(test_slow_flapping_is_all_told),
		CASE(test_errors_now_and_then_are_one_alert),
		CASE(test_flapping_is_bounded_and_counted),
		CASE(test_what_is_held_back_is_told_when_it_lasts),
		CASE(test_what_is_held_back_is_told_when_it_is_over),
		CASE(test_what_is_held_back_waits_no_longer_when_it_is_graver),
		CASE(test_what_was_muted_holds_nothing_back),
		CASE(test_a_step_back_of_the_clock_holds_nothing_for_long),
		CASE(test_a_restart_keeps_what_is_held_back),
		CASE(test_back_before_its_end_was_told_it_goes_on),
		CASE(test_graver_is_told_once_at_once_milder_is_not),
		CASE(test_hysteresis_of_values),
		CASE(test_errors_of_the_past_never_alert),
		CASE(test_a_muted_alert_fires_and_says_nothing),
		CASE(test_a_run_that_is_over_ends_its_alerts),
		CASE(test_a_restart_raises_nothing_twice_and_forgets_nothing),
		CASE(test_an_end_that_was_not_told_is_told_after_the_restart),
		CASE(test_a_drive_that_left_the_configuration_is_resolved),
		CASE(test_turns_are_begins_and_ends),
		CASE(test_more_than_a_message_holds_follows_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
