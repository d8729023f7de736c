/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cause of a fall, sign by sign: each alone, each against each, each where nothing else is known. */
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cause_fixture.h"
#include "measure/hostlimit.h"

/* --- a sign of each cause --- */

static void put_late_timeout(struct record *r)
{
	record_rate(r, BEFORE, 0.4);
	for (unsigned i = BEFORE + 1; i < BEFORE + 4; i++)
		record_rate(r, i, 0);
	record_line(r, 31, KERNELLINE_TIMEOUT, "nvme nvme0: I/O 12 QID 3 timeout, aborting");
}

static void put_state(struct record *r)
{
	(void)snprintf(r->samples[BEFORE].counters.state, EVIDENCE_WORD_MAX, "resetting");
}

static void put_timeout_count(struct record *r)
{
	for (unsigned i = 0; i < SAMPLES; i++)
		r->samples[i].counters.io_timeouts = i < BEFORE ? 3 : 5;
}

static void put_error_line(struct record *r)
{
	record_line(r, -3, KERNELLINE_ERROR, "critical medium error, dev nvme0n1, sector 2048");
}

static void put_own_errors(struct record *r)
{
	r->samples[BEFORE + 1].errors = 12;
}

static void put_error_count(struct record *r)
{
	for (unsigned i = 0; i < SAMPLES; i++)
		r->samples[i].counters.io_errors = i <= BEFORE ? 3 : 9;
}

static void put_lockup(struct record *r)
{
	record_line(r, 24, KERNELLINE_HOST, "watchdog: BUG: soft lockup - CPU#1 stuck for 22s!");
}

static void put_polled(struct record *r)
{
	record_line(r, 2, KERNELLINE_POLLED, "nvme nvme0: I/O 12 QID 3 timeout, completion polled");
}

static void put_waits(struct record *r)
{
	for (unsigned i = BEFORE; i < SAMPLES; i++)
		r->samples[i].run_delay_share = 0.6;
}

static void put_quota(struct record *r)
{
	for (unsigned i = BEFORE; i < SAMPLES; i++)
		r->samples[i].throttled_share = 0.7;
}

static void put_starved_queue(struct record *r)
{
	for (unsigned i = BEFORE; i < SAMPLES; i++) {
		r->samples[i].host_measures = HOSTLIMIT_IN_FLIGHT;
		r->samples[i].in_flight_share = 0.3;
	}
}

static void put_pressure(struct record *r)
{
	for (unsigned i = 0; i < SAMPLES; i++) {
		r->samples[i].run_delay_share = NAN;
		r->samples[i].cpu_pressure = i < BEFORE ? 0.02 : 0.8;
	}
}

static void put_path(struct record *r)
{
	record_other(r, "beside", true, 8, 0);
	record_other(r, "apart", false, NAN, 0);
}

static void put_link(struct record *r)
{
	for (unsigned i = BEFORE; i < SAMPLES; i++)
		r->samples[i].counters.link_width = 1;
}

static void put_sata_limit(struct record *r)
{
	for (unsigned i = BEFORE; i < SAMPLES; i++)
		r->samples[i].counters.sata_limit = 15;
}

static void put_ncq(struct record *r)
{
	for (unsigned i = BEFORE; i < SAMPLES; i++)
		r->samples[i].counters.queue_depth = 1;
}

static void put_aer(struct record *r)
{
	for (unsigned i = BEFORE; i < SAMPLES; i++)
		r->samples[i].counters.aer_correctable = 400;
}

static void put_fatal(struct record *r)
{
	for (unsigned i = BEFORE; i < SAMPLES; i++)
		r->samples[i].counters.aer_nonfatal = 1;
}

static void put_crc(struct record *r)
{
	for (struct cause_reading *reading = record_reading(r, 0); reading < r->readings + SAMPLES / 6;
		reading++)
		reading->crc_errors = 7;
}

static void put_heat_count(struct record *r)
{
	for (struct cause_reading *reading = record_reading(r, 60); reading < r->readings + SAMPLES / 6;
		reading++)
		reading->thermal1_count = 1;
}

static void put_throttle(struct record *r)
{
	record_reading(r, 0)->throttle_level = 2;
}

static void put_throttle_wrap(struct record *r)
{
	for (unsigned i = 0; i < SAMPLES / 6; i++)
		r->readings[i].throttle_events = r->readings[i].t_ms < FELL_MS ? 255 : 0;
}

static void put_cache_off(struct record *r)
{
	for (unsigned i = BEFORE; i < SAMPLES; i++)
		(void)snprintf(r->samples[i].counters.write_cache, EVIDENCE_WORD_MAX, "write through");
}

static void put_backup_failed(struct record *r)
{
	for (struct cause_reading *reading = record_reading(r, 0); reading < r->readings + SAMPLES / 6;
		reading++)
		reading->critical_warning = 0x10;
}

static void put_resync(struct record *r)
{
	for (unsigned i = BEFORE; i < SAMPLES; i++)
		(void)snprintf(r->samples[i].counters.md_action, EVIDENCE_WORD_MAX, "check");
}

static void put_fstrim(struct record *r)
{
	r->samples[BEFORE].foreign_discards = 40 * 1024 * MIB;
}

static void put_writers(struct record *r)
{
	for (unsigned i = BEFORE; i < SAMPLES; i++)
		r->samples[i].foreign_bytes = 600 * MIB;
}

static void put_self_test(struct record *r)
{
	for (struct cause_reading *reading = record_reading(r, 0); reading < r->readings + SAMPLES / 6;
		reading++)
		reading->self_test = 1;
}

static void put_flush(struct record *r)
{
	record_put_flag(r, SAMPLE_FLAG_FLUSH, 0.6);
}

static void put_pause(struct record *r)
{
	r->samples[BEFORE - 2].state = SAMPLE_PAUSED;
}

/* In the order in which they are decided. */
static const struct sign {
	enum cause cause;
	enum cause_rank rank;
	void (*put)(struct record *);
	const char *evidence; /* part of it */
	bool is_of_unknown;   /* found also where nothing else is known */
} signs[] = {
	{ CAUSE_RESET, CAUSE_MEASURED, record_put_reset, "1 s after it began: nvme nvme0: controller is down",
		true },
	{ CAUSE_RESET, CAUSE_MEASURED, put_late_timeout, "31 s after it began, nothing completing", true },
	{ CAUSE_RESET, CAUSE_MEASURED, put_state, "\"resetting\"", true },
	{ CAUSE_RESET, CAUSE_MEASURED, put_timeout_count, "2 commands timed out", true },
	{ CAUSE_IO_ERRORS, CAUSE_MEASURED, put_error_line, "3 s before it began: critical medium", true },
	{ CAUSE_IO_ERRORS, CAUSE_MEASURED, put_own_errors, "12 of our requests failed", true },
	{ CAUSE_IO_ERRORS, CAUSE_MEASURED, put_error_count, "6 commands failed", true },
	{ CAUSE_HOST, CAUSE_MEASURED, put_lockup, "soft lockup", true },
	{ CAUSE_HOST, CAUSE_MEASURED, put_polled, "completion polled", true },
	{ CAUSE_HOST, CAUSE_MEASURED, put_waits, "60 % of the time in the fall, 1 % before", true },
	{ CAUSE_HOST, CAUSE_MEASURED, put_quota, "a quota 70 %", true },
	{ CAUSE_HOST, CAUSE_MEASURED, put_starved_queue, "70 % of the time", true },
	{ CAUSE_HOST, CAUSE_CORRELATED, put_pressure, "waited for a CPU 80 %", true },
	{ CAUSE_SHARED_PATH, CAUSE_CORRELATED, put_path, "1 of 1 other drives on 0000:00:1c.0", true },
	{ CAUSE_LINK, CAUSE_MEASURED, put_link, "from 16.0 G x4 to 16.0 G x1", false },
	{ CAUSE_LINK, CAUSE_MEASURED, put_sata_limit, "to 1.5 Gbps", false },
	{ CAUSE_LINK, CAUSE_MEASURED, put_ncq, "NCQ is off", false },
	{ CAUSE_LINK, CAUSE_CORRELATED, put_aer, "400 correctable errors", false },
	{ CAUSE_LINK, CAUSE_MEASURED, put_fatal, "1 uncorrectable errors", false },
	{ CAUSE_LINK, CAUSE_CORRELATED, put_crc, "7 CRC errors", false },
	{ CAUSE_THERMAL, CAUSE_MEASURED, put_heat_count, "1 times throttled lightly between", false },
	{ CAUSE_THERMAL, CAUSE_MEASURED, put_throttle, "throttled, at level 2", false },
	{ CAUSE_THERMAL, CAUSE_MEASURED, put_throttle_wrap, "1 times throttled", true },
	{ CAUSE_THERMAL, CAUSE_CORRELATED, record_put_heat, "from 45 to 79 C", false },
	{ CAUSE_CACHE_MODE, CAUSE_MEASURED, put_cache_off, "write cache is off since", false },
	{ CAUSE_CACHE_MODE, CAUSE_MEASURED, put_backup_failed, "backup of its volatile memory failed",
		false },
	{ CAUSE_BACKGROUND, CAUSE_MEASURED, put_resync, "\"check\"", false },
	{ CAUSE_BACKGROUND, CAUSE_MEASURED, put_fstrim, "discarded 40", true },
	{ CAUSE_BACKGROUND, CAUSE_MEASURED, put_writers, "other programs read and write", false },
	{ CAUSE_BACKGROUND, CAUSE_MEASURED, put_self_test, "self-test", false },
	{ CAUSE_HEALTH_POLL, CAUSE_CORRELATED, record_put_poll, "60 % of what it did without", true },
	{ CAUSE_OWN_PAUSE, CAUSE_CORRELATED, put_flush, "flush of the drive", true },
	{ CAUSE_OWN_PAUSE, CAUSE_CORRELATED, put_pause, "had paused", true },
	{ CAUSE_WRITE_CACHE, CAUSE_INFERRED, record_put_write_cache, "of rest", false },
	{ CAUSE_GARBAGE, CAUSE_INFERRED, record_put_cliff, "0.80 times", true },
};

static void test_each_sign_alone(void **state)
{
	static struct record r;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(signs); i++) {
		record_init(&r, true);
		signs[i].put(&r);
		record_assert_cause(&r, signs[i].cause, signs[i].evidence);
		assert_int_equal(r.answer.rank, signs[i].rank);
		if (!strstr(r.answer.evidence, signs[i].evidence))
			fail_msg("\"%s\" is not in: %s", signs[i].evidence, r.answer.evidence);
	}
}

static void test_each_sign_where_nothing_else_is_known(void **state)
{
	static struct record r;

	(void)state;
	record_init(&r, false);
	record_assert_cause(&r, CAUSE_UNKNOWN, "nothing known");
	assert_non_null(strstr(r.answer.evidence, "can't be heard"));
	for (size_t i = 0; i < ARRAY_LEN(signs); i++) {
		record_init(&r, false);
		signs[i].put(&r);
		record_assert_cause(
			&r, signs[i].is_of_unknown ? signs[i].cause : CAUSE_UNKNOWN, signs[i].evidence);
	}
}

/* Whatever comes first in the design's order is the answer. */
static void test_each_pair(void **state)
{
	static struct record r;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(signs); i++)
		for (size_t k = i + 1; k < ARRAY_LEN(signs); k++) {
			record_init(&r, true);
			signs[k].put(&r);
			signs[i].put(&r);
			record_assert_cause(&r, signs[i].cause, signs[k].evidence);
		}
}

/* An error in SATA is told after seconds of the kernel's own attempts; a hang of 30 s is told at its end, not more. */
static void test_the_kernels_own_time(void **state)
{
	static struct record r;

	(void)state;
	record_init(&r, true);
	put_late_timeout(&r);
	for (unsigned i = 0; i < SAMPLES; i++)
		r.samples[i].counters.io_timeout_ms = 5000;
	/* Twice 5 s and 15 s more: 31 s is too late. */
	record_assert_cause(&r, CAUSE_UNKNOWN, "short timeout");
	for (unsigned i = 0; i < SAMPLES; i++)
		r.samples[i].counters.io_timeout_ms = EVIDENCE_UNKNOWN;
	record_assert_cause(&r, CAUSE_RESET, "unknown timeout");
}

static void test_names(void **state)
{
	static const char *const words[] = { "reset", "io-errors", "host", "shared-path", "link", "thermal",
		"cache-mode", "background", "health-poll", "own-pause", "write-cache", "garbage-collection",
		"unknown" };

	(void)state;
	assert_int_equal(ARRAY_LEN(words), CAUSE_COUNT);
	for (unsigned i = 0; i < CAUSE_COUNT; i++)
		assert_string_equal(cause_name((enum cause)i), words[i]);
	assert_string_equal(cause_rank_name(CAUSE_MEASURED), "measured");
	assert_string_equal(cause_rank_name(CAUSE_CORRELATED), "correlated");
	assert_string_equal(cause_rank_name(CAUSE_INFERRED), "inferred");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_sign_alone),
		cmocka_unit_test(test_each_sign_where_nothing_else_is_known),
		cmocka_unit_test(test_each_pair),
		cmocka_unit_test(test_the_kernels_own_time),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
