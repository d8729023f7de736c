/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The record of one drive: what it fills in, how much it keeps, and what it remembers of a fall whose beginning it keeps
 * no more; and the troubles of a run, counted by incident. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cause_fixture.h"
#include "measure/causelog.h"
#include "measure/troubles.h"

static const struct causelog_context alone = { .path = "", .is_log_heard = true };

static struct causelog *log_new(void)
{
	struct causelog *log;

	assert_int_equal(causelog_new(&log), 0);
	return log;
}

static void add_all(struct causelog *log, const struct record *record, unsigned from, unsigned to)
{
	for (unsigned i = from; i < to; i++)
		causelog_add_sample(log, &record->samples[i]);
}

static void test_a_cause_that_comes_late_is_found(void **state)
{
	static struct record r;
	struct causelog *log = log_new();
	struct cause_answer answer;

	(void)state;
	record_init(&r, false);
	for (unsigned i = BEFORE; i < BEFORE + 5; i++)
		record_rate(&r, i, 0);
	add_all(log, &r, 0, BEFORE + 3);
	causelog_find(log, &r.finding, &alone, &answer);
	assert_int_equal(answer.cause, CAUSE_UNKNOWN);
	causelog_add_line(
		log, FELL_MS + 31000, KERNELLINE_TIMEOUT, "nvme nvme0: I/O 1 QID 2 timeout, aborting");
	add_all(log, &r, BEFORE + 3, BEFORE + 5);
	causelog_find(log, &r.finding, &alone, &answer);
	assert_int_equal(answer.cause, CAUSE_RESET);
	assert_non_null(strstr(answer.evidence, "QID 2 timeout"));
	causelog_free(log);
	causelog_free(NULL);
}

static void test_an_answer_outlives_the_record(void **state)
{
	static struct record r;
	struct causelog *log = log_new();
	struct cause_answer answer;
	struct cause_sample sample;

	(void)state;
	record_init(&r, false);
	add_all(log, &r, 0, SAMPLES);
	causelog_add_line(log, FELL_MS, KERNELLINE_RESET, "ata3: hard resetting link");
	causelog_find(log, &r.finding, &alone, &answer);
	assert_int_equal(answer.cause, CAUSE_RESET);
	sample = r.samples[SAMPLES - 1];
	for (unsigned i = 0; i < 3 * CAUSELOG_SAMPLES; i++) {
		sample.t_ms += STEP_MS;
		causelog_add_sample(log, &sample);
	}
	causelog_find(log, &r.finding, &alone, &answer);
	assert_int_equal(answer.cause, CAUSE_RESET);
	/* Of another fall nothing is known, nor of any in the next run. */
	r.finding.detected_ms++;
	causelog_find(log, &r.finding, &alone, &answer);
	assert_int_equal(answer.cause, CAUSE_UNKNOWN);
	causelog_clear(log);
	r.finding.detected_ms--;
	causelog_find(log, &r.finding, &alone, &answer);
	assert_int_equal(answer.cause, CAUSE_UNKNOWN);
	causelog_free(log);
}

/* After a restart the journal has what was found before. */
static void test_an_answer_is_recalled(void **state)
{
	static struct record r;
	struct causelog *log = log_new();
	struct cause_answer answer,
		before = { .cause = CAUSE_RESET, .rank = CAUSE_MEASURED, .evidence = "ata3: x" };
	char cause[32], evidence[CAUSE_TEXT_MAX];

	(void)state;
	record_init(&r, false);
	cause_print(&before, cause, sizeof(cause), evidence, sizeof(evidence));
	assert_string_equal(cause, "reset");
	assert_string_equal(evidence, "measured: ata3: x");
	assert_int_equal(cause_parse(cause, evidence, &answer), 0);
	causelog_recall(log, r.finding.detected_ms, &answer);
	add_all(log, &r, BEFORE + 10, SAMPLES);
	causelog_find(log, &r.finding, &alone, &answer);
	assert_int_equal(answer.cause, CAUSE_RESET);
	assert_int_equal(answer.rank, CAUSE_MEASURED);
	assert_string_equal(answer.evidence, "ata3: x");
	/* What is in the record is looked at again. */
	causelog_clear(log);
	causelog_recall(log, r.finding.detected_ms, &before);
	add_all(log, &r, 0, SAMPLES);
	causelog_find(log, &r.finding, &alone, &answer);
	assert_int_equal(answer.cause, CAUSE_UNKNOWN);
	causelog_free(log);
}

static void test_causes_as_events_have_them(void **state)
{
	struct cause_answer answer = { .cause = CAUSE_UNKNOWN, .evidence = "nothing speaks" },
			    back = { .cause = CAUSE_HOST };
	char cause[32], evidence[CAUSE_TEXT_MAX];

	(void)state;
	cause_print(&answer, cause, sizeof(cause), evidence, sizeof(evidence));
	assert_string_equal(cause, "unknown");
	assert_string_equal(evidence, "nothing speaks");
	assert_int_equal(cause_parse("", "measured: x", &back), -EINVAL);
	assert_int_equal(cause_parse("resets", "measured: x", &back), -EINVAL);
	assert_int_equal(cause_parse("reset", "x", &back), -EINVAL);
	assert_int_equal(cause_parse("reset", "", &back), -EINVAL);
	assert_int_equal(back.cause, CAUSE_HOST);
	assert_int_equal(cause_parse(cause, evidence, &back), 0);
	assert_int_equal(back.cause, CAUSE_UNKNOWN);
	assert_string_equal(back.evidence, "nothing speaks");
}

/* The reset that made the drive slow is not driven out by what the drive has to say while it is slow, nor are the first
 * of those lines. */
static void test_a_storm_of_lines_hides_no_cause(void **state)
{
	static struct record r;
	struct causelog *log = log_new();
	struct cause_answer answer;
	int64_t t_ms = FELL_MS + 2000;
	char text[64];

	(void)state;
	record_init(&r, false);
	add_all(log, &r, 0, SAMPLES);
	causelog_add_line(log, FELL_MS + 1000, KERNELLINE_RESET, "ata3: hard resetting link");
	causelog_add_line(log, FELL_MS + 1500, KERNELLINE_ERROR, "I/O error, dev sda, the first");
	for (unsigned i = 0; i < 20 * CAUSELOG_LINES; i++) {
		(void)snprintf(text, sizeof(text), "I/O error, dev sda, sector %u", i);
		causelog_add_line(log, t_ms += i % 7, KERNELLINE_ERROR, text);
	}
	causelog_find(log, &r.finding, &alone, &answer);
	assert_int_equal(answer.cause, CAUSE_RESET);
	assert_non_null(strstr(answer.evidence, "hard resetting link"));
	causelog_clear(log);
	add_all(log, &r, 0, SAMPLES);
	causelog_add_line(log, FELL_MS + 1500, KERNELLINE_ERROR, "I/O error, dev sda, the first");
	for (unsigned i = 0; i < 20 * CAUSELOG_LINES; i++)
		causelog_add_line(
			log, FELL_MS + 2000 + i * 100, KERNELLINE_ERROR, "I/O error, dev sda, later");
	causelog_find(log, &r.finding, &alone, &answer);
	assert_int_equal(answer.cause, CAUSE_IO_ERRORS);
	assert_non_null(strstr(answer.evidence, "the first"));
	causelog_free(log);
}

/* A sign that turns out not to last is taken back while the beginning is there to be looked at. */
static void test_an_answer_is_taken_back(void **state)
{
	static struct record r;
	struct causelog *log = log_new();
	struct cause_answer answer;

	(void)state;
	record_init(&r, false);
	for (unsigned i = BEFORE; i < BEFORE + 3; i++)
		r.samples[i].run_delay_share = 0.5;
	for (unsigned i = BEFORE + 3; i < SAMPLES; i++)
		r.samples[i].run_delay_share = 0.01;
	add_all(log, &r, 0, BEFORE + 3);
	causelog_find(log, &r.finding, &alone, &answer);
	assert_int_equal(answer.cause, CAUSE_HOST);
	add_all(log, &r, BEFORE + 3, SAMPLES);
	causelog_find(log, &r.finding, &alone, &answer);
	assert_int_equal(answer.cause, CAUSE_UNKNOWN);
	causelog_free(log);
}

static void counters_at(struct evidence_counters *counters, int64_t t_ms, uint64_t written)
{
	evidence_counters_init(counters);
	counters->stamp = t_ms;
	counters->disks = 1;
	counters->read_bytes = 0;
	counters->write_bytes = written;
	counters->discard_bytes = written / 2;
	counters->cpu_pressure_us = written;
}

static void test_counters_belong_to_their_sample(void **state)
{
	static struct record r;
	struct causelog *log = log_new();
	struct evidence_counters counters;
	struct cause_answer answer;

	(void)state;
	record_init(&r, false);
	assert_null(causelog_get_counters(log));
	/* 100 MiB/s are ours; in the fall 30 are, and others write 60. */
	for (unsigned i = 0; i < SAMPLES; i++) {
		uint64_t each = (uint64_t)(1000 * MIB), all = (i < BEFORE ? i + 1 : BEFORE) * each;

		if (i >= BEFORE)
			all += (i + 1 - BEFORE) * (uint64_t)(900 * MIB);
		causelog_add_sample(log, &r.samples[i]);
		counters_at(&counters, r.samples[i].t_ms, all);
		causelog_put_counters(log, &counters);
	}
	assert_true(causelog_get_counters(log)->stamp == r.samples[SAMPLES - 1].t_ms);
	causelog_find(log, &r.finding, &alone, &answer);
	assert_int_equal(answer.cause, CAUSE_BACKGROUND);
	assert_non_null(strstr(answer.evidence, "60 MiB/s on the disk since it began, 0 B/s before"));
	/* Twice, or of a sample that is none, they are dropped. */
	causelog_put_counters(log, &counters);
	counters.stamp += 1;
	causelog_put_counters(log, &counters);
	counters.stamp = 5;
	causelog_put_counters(log, &counters);
	assert_true(causelog_get_counters(log)->stamp == r.samples[SAMPLES - 1].t_ms);
	causelog_free(log);
}

static void test_rest_is_known_once_it_was_seen(void **state)
{
	static struct record r;
	struct causelog *log = log_new();
	struct causelog_context context = alone;
	struct cause_answer answer;

	(void)state;
	record_init(&r, false);
	context.capacity_bytes = (uint64_t)1 << 40;
	add_all(log, &r, 0, SAMPLES);
	causelog_find(log, &r.finding, &context, &answer);
	assert_int_equal(answer.cause, CAUSE_UNKNOWN);
	causelog_clear(log);
	for (unsigned i = 50; i < 60; i++)
		r.samples[i].state = SAMPLE_PAUSED;
	add_all(log, &r, 0, SAMPLES);
	causelog_find(log, &r.finding, &context, &answer);
	assert_int_equal(answer.cause, CAUSE_WRITE_CACHE);
	/* 60 samples of 1000 MiB after 10 of rest. */
	assert_non_null(strstr(answer.evidence, "58.6 GiB after 1 min 40 s of rest"));
	causelog_free(log);
}

static void test_much_is_bounded(void **state)
{
	static struct record r;
	struct causelog *log = log_new();
	struct cause_reading reading;
	struct cause_answer answer;
	struct cause_fall fall;
	unsigned lone;

	(void)state;
	record_init(&r, true);
	cause_reading_init(&reading);
	for (unsigned i = 0; i < 5000; i++) {
		struct cause_sample sample = r.samples[0];

		sample.t_ms = FELL_MS - (int64_t)(5000 - i) * STEP_MS;
		causelog_add_sample(log, &sample);
		causelog_add_line(log, sample.t_ms, KERNELLINE_AER, "x");
		reading.t_ms = sample.t_ms;
		causelog_add_reading(log, &reading);
	}
	causelog_add_line(log, FELL_MS, KERNELLINE_RESET, "y");
	add_all(log, &r, BEFORE, SAMPLES);
	causelog_find(log, &r.finding, &alone, &answer);
	assert_int_equal(answer.cause, CAUSE_RESET);
	assert_true(causelog_match_falls(log, log, FELL_MS, 20000, &fall, &lone));
	assert_true(fall.from_ms == FELL_MS && lone == 0);
	causelog_free(log);
}

/* --- troubles --- */

static void test_an_incident_is_counted_once(void **state)
{
	struct troubles_watch watch = { .sum = { .resets = 0 } };

	(void)state;
	assert_int_equal(troubles_add_line(&watch, 1000, KERNELLINE_TIMEOUT), TROUBLES_RESET);
	assert_true(watch.sum.resets == 0);
	for (unsigned i = 0; i < 20; i++)
		assert_int_equal(troubles_add_line(&watch, 2000 + i * 500, KERNELLINE_RESET), TROUBLES_RESET);
	assert_true(watch.sum.resets == 1 && watch.sum.resets_traced == 0);
	assert_int_equal(troubles_add_line(&watch, 90000, KERNELLINE_RESET), TROUBLES_RESET);
	assert_true(watch.sum.resets == 2);
	/* What explains it comes before or after. */
	assert_int_equal(troubles_add_line(&watch, 91000, KERNELLINE_LINK), TROUBLES_LINK);
	assert_true(watch.sum.link_events == 1 && watch.sum.resets_traced == 1);
	assert_int_equal(troubles_add_line(&watch, 92000, KERNELLINE_LINK), TROUBLES_LINK);
	assert_true(watch.sum.link_events == 1 && watch.sum.resets_traced == 1);
	assert_int_equal(troubles_add_line(&watch, 200000, KERNELLINE_HOST), TROUBLES_NOTHING);
	assert_int_equal(troubles_add_line(&watch, 205000, KERNELLINE_RESET), TROUBLES_RESET);
	assert_true(watch.sum.resets == 3 && watch.sum.resets_traced == 2);
	assert_int_equal(troubles_add_line(&watch, 300000, KERNELLINE_ERROR), TROUBLES_NOTHING);
	assert_int_equal(troubles_add_line(&watch, 300000, KERNELLINE_AER), TROUBLES_AER);
	assert_true(watch.sum.aer_errors == 0); /* the counters tell how many */
}

static void test_troubles_of_counters(void **state)
{
	struct troubles_watch watch = { .sum = { .resets = 0 } };
	struct evidence_counters counters;
	char text[TROUBLES_TEXT_MAX];

	(void)state;
	evidence_counters_init(&counters);
	counters.link_speed = 160;
	counters.link_width = 4;
	counters.aer_correctable = 10;
	counters.queue_depth = 32;
	assert_int_equal(troubles_add_counters(&watch, 0, &counters, text), TROUBLES_NOTHING);
	assert_int_equal(troubles_add_counters(&watch, 10000, &counters, text), TROUBLES_NOTHING);
	counters.aer_correctable = 13;
	assert_int_equal(troubles_add_counters(&watch, 20000, &counters, text), TROUBLES_AER);
	assert_string_equal(text, "3 more errors on PCI Express");
	counters.link_speed = 25;
	assert_int_equal(troubles_add_counters(&watch, 30000, &counters, text), TROUBLES_LINK);
	assert_string_equal(text, "the link went from 16.0 to 2.5 G");
	counters.link_width = 1;
	assert_int_equal(troubles_add_counters(&watch, 60000, &counters, text), TROUBLES_LINK);
	assert_string_equal(text, "the link went from 4 lanes to 1");
	counters.queue_depth = 1;
	assert_int_equal(troubles_add_counters(&watch, 90000, &counters, text), TROUBLES_LINK);
	assert_true(watch.sum.link_events == 3 && watch.sum.aer_errors == 3);
	/* Back to full speed, and elsewhere with other counts: nothing. */
	counters.link_speed = 160;
	assert_int_equal(troubles_add_counters(&watch, 120000, &counters, text), TROUBLES_NOTHING);
	troubles_forget_counters(&watch);
	counters.aer_correctable = 900;
	assert_int_equal(troubles_add_counters(&watch, 150000, &counters, text), TROUBLES_NOTHING);
	assert_true(watch.sum.aer_errors == 3);
}

static void test_sums_are_read_back(void **state)
{
	const struct troubles sum = { 3, 1, 12, UINT64_MAX };
	char text[TROUBLES_TEXT_MAX], line[512];
	struct troubles back = { 0 };

	(void)state;
	troubles_print(&sum, text);
	(void)snprintf(
		line, sizeof(line), "reset or timeout: ata3: 5 resets (2 x); so far in the run: %s", text);
	assert_true(troubles_parse(line, &back));
	assert_memory_equal(&back, &sum, sizeof(sum));
	back.resets = 77;
	assert_false(troubles_parse("write error at byte 4096 of the target: Input/output error", &back));
	assert_false(troubles_parse("", &back));
	assert_false(troubles_parse("3 resets (1 with a bad link or host), 12 link events", &back));
	assert_true(back.resets == 77);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_cause_that_comes_late_is_found),
		cmocka_unit_test(test_an_answer_outlives_the_record),
		cmocka_unit_test(test_an_answer_is_recalled),
		cmocka_unit_test(test_causes_as_events_have_them),
		cmocka_unit_test(test_a_storm_of_lines_hides_no_cause),
		cmocka_unit_test(test_an_answer_is_taken_back),
		cmocka_unit_test(test_counters_belong_to_their_sample),
		cmocka_unit_test(test_rest_is_known_once_it_was_seen),
		cmocka_unit_test(test_much_is_bounded),
		cmocka_unit_test(test_an_incident_is_counted_once),
		cmocka_unit_test(test_troubles_of_counters),
		cmocka_unit_test(test_sums_are_read_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
