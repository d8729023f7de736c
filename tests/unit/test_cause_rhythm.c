/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Causes of saw-teeth, and of drives that fall together. */
#include "unit.h"

#include <string.h>

#include "cause_fixture.h"
#include "measure/hostlimit.h"

/* --- saw-teeth --- */

#define TEETH 10

static void teeth_init(struct record *r)
{
	record_init(r, true);
	r->finding.kind = COLLAPSE_PERIODIC;
	r->finding.period_s = 180;
	r->finding.count = TEETH;
	for (unsigned i = 0; i < SAMPLES; i++)
		record_rate(r, i, i % 18 < 4 ? 0.2 : 1);
	/* The first is cut by the record's beginning. */
}

static unsigned tooth(unsigned n)
{
	return (n + 1) * 18;
}

static void put_steal(struct record *r, double share, bool in_teeth)
{
	for (unsigned i = 0; i < SAMPLES; i++) {
		if (in_teeth && i % 18 >= 4)
			continue;
		r->samples[i].steal_share = share;
		r->samples[i].host_measures = HOSTLIMIT_STEAL;
	}
}

static void test_saw_teeth(void **state)
{
	static struct record r;

	(void)state;
	teeth_init(&r);
	record_assert_cause(&r, CAUSE_GARBAGE, "teeth");
	assert_non_null(strstr(r.answer.evidence, "none of 10"));
	for (unsigned i = 0; i < SAMPLES / 6; i++) {
		r.readings[i].host_written_bytes = (uint64_t)i << 34;
		r.readings[i].media_written_bytes = (uint64_t)i << 35;
	}
	record_assert_cause(&r, CAUSE_GARBAGE, "teeth with WAF");
	assert_non_null(strstr(r.answer.evidence, "WAF 2.0"));
	teeth_init(&r);
	for (unsigned n = 0; n < TEETH; n++)
		r.samples[tooth(n)].flags |= SAMPLE_FLAG_HEALTH_POLL;
	record_assert_cause(&r, CAUSE_HEALTH_POLL, "teeth with polls");
	teeth_init(&r);
	for (unsigned n = 0; n < TEETH; n += 2)
		r.samples[tooth(n)].flags |= SAMPLE_FLAG_HEALTH_POLL;
	record_assert_cause(&r, CAUSE_GARBAGE, "half of the teeth with polls");
	teeth_init(&r);
	for (unsigned n = 0; n < TEETH; n++)
		r.samples[tooth(n)].flags |= SAMPLE_FLAG_FLUSH;
	record_assert_cause(&r, CAUSE_OWN_PAUSE, "teeth with flushes");
	teeth_init(&r);
	put_steal(&r, 0.4, true);
	record_assert_cause(&r, CAUSE_HOST, "teeth with steal");
}

/* What is there all the time, or too little of it, made none of them. */
static void test_saw_teeth_beside_what_is_always_there(void **state)
{
	static struct record r;

	(void)state;
	teeth_init(&r);
	for (unsigned i = 0; i < SAMPLES; i++)
		r.samples[i].flags |= SAMPLE_FLAG_HEALTH_POLL;
	record_assert_cause(&r, CAUSE_GARBAGE, "a reading in each sample");
	for (unsigned i = 1; i < SAMPLES; i += 2)
		r.samples[i].flags &= ~(uint32_t)SAMPLE_FLAG_HEALTH_POLL;
	record_assert_cause(&r, CAUSE_GARBAGE, "a reading in each other sample");
	/* One that takes long reaches into the samples beside. */
	teeth_init(&r);
	for (unsigned n = 0; n < TEETH; n++)
		for (unsigned i = tooth(n) - 1; i < SAMPLES && i <= tooth(n) + 4; i++)
			r.samples[i].flags |= SAMPLE_FLAG_HEALTH_POLL;
	record_assert_cause(&r, CAUSE_HEALTH_POLL, "readings as long as the teeth");
	teeth_init(&r);
	for (unsigned i = 0; i < SAMPLES; i++)
		r.samples[i].flags |= SAMPLE_FLAG_FLUSH;
	record_assert_cause(&r, CAUSE_GARBAGE, "a flush in each sample");
	teeth_init(&r);
	put_steal(&r, 0.012, false);
	record_assert_cause(&r, CAUSE_GARBAGE, "a little steal all the time");
	put_steal(&r, 0.4, true);
	record_assert_cause(&r, CAUSE_HOST, "much of it in the teeth, a little all the time");
	assert_non_null(strstr(r.answer.evidence, "40 % of the time in falls, 1 % between"));
	teeth_init(&r);
	put_steal(&r, 0.012, true);
	record_assert_cause(&r, CAUSE_GARBAGE, "a little steal in the teeth");
	teeth_init(&r);
	put_steal(&r, 0.4, false);
	record_assert_cause(&r, CAUSE_GARBAGE, "much steal all the time");
}

static void test_saw_teeth_of_heat_and_resets(void **state)
{
	static struct record r;

	(void)state;
	teeth_init(&r);
	for (unsigned i = 0; i < SAMPLES / 6; i++)
		r.readings[i].thermal1_count = i / 3;
	record_assert_cause(&r, CAUSE_THERMAL, "teeth with counts of heat");
	assert_int_equal(r.answer.rank, CAUSE_MEASURED);
	teeth_init(&r);
	for (unsigned n = 0; n < TEETH; n++)
		record_reading(&r, (double)((int)tooth(n) - BEFORE) * 10 - 30)->temp_c = 79;
	record_assert_cause(&r, CAUSE_THERMAL, "teeth with heat");
	assert_int_equal(r.answer.rank, CAUSE_CORRELATED);
	teeth_init(&r);
	for (unsigned i = 0; i < SAMPLES / 6; i++)
		r.readings[i].temp_c = 79;
	record_assert_cause(&r, CAUSE_GARBAGE, "teeth of a drive that is always hot");
	teeth_init(&r);
	for (unsigned n = 0; n < TEETH; n++)
		record_line(&r, (double)((int)tooth(n) - BEFORE) * 10 + 3, KERNELLINE_RESET,
			"ata3: hard resetting link");
	record_assert_cause(&r, CAUSE_RESET, "teeth with resets");
	teeth_init(&r);
	r.input.sample_count = 40;
	record_assert_cause(&r, CAUSE_UNKNOWN, "too few teeth");
}

/* --- other drives --- */

static void test_when_drives_fell(void **state)
{
	static struct record r;
	struct cause_fall falls[CAUSE_FALLS_MAX];

	(void)state;
	record_init(&r, true);
	assert_int_equal(cause_falls(r.samples, SAMPLES, falls), 1);
	assert_true(falls[0].from_ms == FELL_MS && falls[0].to_ms == INT64_MAX);
	record_end(&r, 20);
	assert_int_equal(cause_falls(r.samples, SAMPLES, falls), 1);
	assert_true(falls[0].from_ms == FELL_MS && falls[0].to_ms == r.finding.to_ms);
	/* One sample alone is none; nor is what is not measured. */
	record_init(&r, true);
	record_end(&r, 1);
	assert_int_equal(cause_falls(r.samples, SAMPLES, falls), 0);
	record_init(&r, true);
	for (unsigned i = BEFORE; i < SAMPLES; i++)
		r.samples[i].state = SAMPLE_PAUSED;
	assert_int_equal(cause_falls(r.samples, SAMPLES, falls), 0);
	teeth_init(&r);
	assert_int_equal(cause_falls(r.samples, SAMPLES, falls), TEETH);
	assert_int_equal(cause_falls(r.samples, 0, falls), 0);
	assert_int_equal(cause_falls(r.samples, 1, falls), 0);
	for (unsigned i = 0; i < SAMPLES; i++)
		record_rate(&r, i, i % 4 < 2 || i < 8 ? 1 : 0.1);
	assert_int_equal(cause_falls(r.samples, SAMPLES, falls), CAUSE_FALLS_MAX);
}

static void test_falls_of_two_drives(void **state)
{
	static const struct cause_fall own[] = { { 100, 200 }, { 500, 600 } },
				       with[] = { { 90, 200 }, { 130, 140 }, { 520, INT64_MAX } },
				       apart[] = { { 300, 400 }, { 105, 200 } };
	struct cause_fall fall = { 0, 0 };
	unsigned lone;

	(void)state;
	assert_true(cause_match_falls(with, 3, own, 2, 100, 40, &fall, &lone));
	assert_true(fall.from_ms == 90 && fall.to_ms == 200 && lone == 0);
	assert_false(cause_match_falls(with, 3, own, 2, 500, 10, &fall, &lone));
	assert_true(fall.from_ms == 90 && lone == 2);
	assert_true(cause_match_falls(apart, 2, own, 2, 100, 40, &fall, &lone));
	assert_true(fall.from_ms == 105 && lone == 1);
	assert_false(cause_match_falls(apart, 0, own, 2, 100, 40, &fall, &lone));
	assert_int_equal(lone, 0);
}

/* One that comes back at another time fell by chance; two did not. */
static void test_neighbours_that_come_back(void **state)
{
	static struct record r;

	(void)state;
	record_init(&r, true);
	record_other(&r, "beside", true, 5, 0);
	r.others[0].fall.to_ms = FELL_MS + 10 * STEP_MS;
	record_assert_cause(&r, CAUSE_UNKNOWN, "back long before");
	r.finding.to_ms = FELL_MS + 12 * STEP_MS;
	record_assert_cause(&r, CAUSE_SHARED_PATH, "back about then");
	r.others[0].fall.to_ms = INT64_MAX;
	record_assert_cause(&r, CAUSE_UNKNOWN, "not back yet");
	record_other(&r, "further", true, 5, 0);
	record_assert_cause(&r, CAUSE_SHARED_PATH, "two");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_saw_teeth),
		cmocka_unit_test(test_saw_teeth_beside_what_is_always_there),
		cmocka_unit_test(test_saw_teeth_of_heat_and_resets),
		cmocka_unit_test(test_when_drives_fell),
		cmocka_unit_test(test_falls_of_two_drives),
		cmocka_unit_test(test_neighbours_that_come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
