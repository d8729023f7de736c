/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cause of a fall, sign by sign: each alone, each against each, each unknown, and what only looks like one. */
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cause_fixture.h"
#include "measure/hostlimit.h"

/* --- a sign of each cause --- */

static void put_reset(struct record *r)
{
	record_line(r, 1, KERNELLINE_RESET, "nvme nvme0: controller is down; will reset: CSTS=0x3");
}

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

static void put_heat(struct record *r)
{
	for (unsigned i = 0; i < 5; i++)
		record_reading(r, -240 + 60 * (double)i)->temp_c = 71 + 2 * (double)i;
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

/* Every sixth sample before the fall, and all of the fall. */
static void put_flag(struct record *r, uint32_t flag, double share)
{
	for (unsigned i = 0; i < BEFORE; i += 6) {
		r->samples[i].flags |= flag;
		record_rate(r, i, share);
	}
	for (unsigned i = BEFORE; i < SAMPLES; i++)
		r->samples[i].flags |= flag;
}

static void put_poll(struct record *r)
{
	put_flag(r, SAMPLE_FLAG_HEALTH_POLL, 0.6);
}

static void put_flush(struct record *r)
{
	put_flag(r, SAMPLE_FLAG_FLUSH, 0.6);
}

static void put_pause(struct record *r)
{
	r->samples[BEFORE - 2].state = SAMPLE_PAUSED;
}

static void put_write_cache(struct record *r)
{
	r->samples[BEFORE - 61].state = SAMPLE_PAUSED;
	for (unsigned i = 0; i < SAMPLES; i++) {
		r->samples[i].idle_ns = 300 * S;
		r->samples[i].since_idle_bytes = i < BEFORE - 60
							 ? (uint64_t)1 << 44
							 : (i - (BEFORE - 60)) * (uint64_t)(1000 * MIB);
	}
}

static void put_cliff(struct record *r)
{
	r->finding.kind = COLLAPSE_CLIFF;
	for (unsigned i = 0; i < SAMPLES; i++)
		r->samples[i].capacities = 0.8;
}

/* In the order in which they are decided. */
static const struct sign {
	enum cause cause;
	enum cause_rank rank;
	void (*put)(struct record *);
	const char *evidence; /* part of it */
	bool is_of_unknown;   /* found also where nothing else is known */
} signs[] = {
	{ CAUSE_RESET, CAUSE_MEASURED, put_reset, "1 s after it began: nvme nvme0: controller is down",
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
	{ CAUSE_THERMAL, CAUSE_CORRELATED, put_heat, "from 45 to 79 C", false },
	{ CAUSE_CACHE_MODE, CAUSE_MEASURED, put_cache_off, "write cache is off since", false },
	{ CAUSE_CACHE_MODE, CAUSE_MEASURED, put_backup_failed, "backup of its volatile memory failed",
		false },
	{ CAUSE_BACKGROUND, CAUSE_MEASURED, put_resync, "\"check\"", false },
	{ CAUSE_BACKGROUND, CAUSE_MEASURED, put_fstrim, "discarded 40", true },
	{ CAUSE_BACKGROUND, CAUSE_MEASURED, put_writers, "other programs read and write", false },
	{ CAUSE_BACKGROUND, CAUSE_MEASURED, put_self_test, "self-test", false },
	{ CAUSE_HEALTH_POLL, CAUSE_CORRELATED, put_poll, "60 % of what it did without", true },
	{ CAUSE_OWN_PAUSE, CAUSE_CORRELATED, put_flush, "flush of the drive", true },
	{ CAUSE_OWN_PAUSE, CAUSE_CORRELATED, put_pause, "had paused", true },
	{ CAUSE_WRITE_CACHE, CAUSE_INFERRED, put_write_cache, "of rest", false },
	{ CAUSE_GARBAGE, CAUSE_INFERRED, put_cliff, "0.80 times", true },
};

static void assert_cause(struct record *r, enum cause cause, const char *what)
{
	enum cause got = record_decide(r);

	if (got != cause)
		fail_msg("%s: %s instead of %s: %s", what, cause_name(got), cause_name(cause),
			r->answer.evidence);
	assert_true(r->answer.evidence[0] && strlen(r->answer.evidence) < CAUSE_TEXT_MAX - 1);
}

static void test_each_sign_alone(void **state)
{
	static struct record r;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(signs); i++) {
		record_init(&r, true);
		signs[i].put(&r);
		assert_cause(&r, signs[i].cause, signs[i].evidence);
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
	assert_cause(&r, CAUSE_UNKNOWN, "nothing known");
	assert_non_null(strstr(r.answer.evidence, "can't be heard"));
	for (size_t i = 0; i < ARRAY_LEN(signs); i++) {
		record_init(&r, false);
		signs[i].put(&r);
		assert_cause(&r, signs[i].is_of_unknown ? signs[i].cause : CAUSE_UNKNOWN, signs[i].evidence);
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
			assert_cause(&r, signs[i].cause, signs[k].evidence);
		}
}

/* --- what only looks like one --- */

static void miss_reset_before(struct record *r)
{
	record_line(r, -300, KERNELLINE_RESET, "nvme nvme0: resetting controller");
}

static void miss_reset_while_it_writes(struct record *r)
{
	record_line(r, 45, KERNELLINE_RESET, "nvme nvme0: resetting controller");
}

static void miss_reset_much_later(struct record *r)
{
	for (unsigned i = BEFORE; i < SAMPLES; i++)
		record_rate(r, i, 0);
	record_line(r, 300, KERNELLINE_RESET, "nvme nvme0: resetting controller");
}

static void miss_other_line(struct record *r)
{
	record_line(r, 1, KERNELLINE_NONE, "nvme0n1: p1 p2");
}

static void miss_errors_of_polls(struct record *r)
{
	for (unsigned i = 0; i < SAMPLES; i++)
		r->samples[i].counters.io_errors = 2 * (i / 6);
}

static void miss_busy_later(struct record *r)
{
	for (unsigned i = BEFORE + 4; i < SAMPLES; i++)
		r->samples[i].run_delay_share = 0.6;
}

static void miss_busy_before(struct record *r)
{
	for (unsigned i = 0; i < SAMPLES; i++)
		r->samples[i].run_delay_share = 0.6;
}

static void miss_little_steal(struct record *r)
{
	for (unsigned i = BEFORE; i < SAMPLES; i++)
		r->samples[i].steal_share = 0.02;
}

static void miss_pressure_of_others(struct record *r)
{
	for (unsigned i = BEFORE; i < SAMPLES; i++)
		r->samples[i].cpu_pressure = 0.9;
}

static void miss_polled_before(struct record *r)
{
	record_line(r, -100, KERNELLINE_POLLED, "nvme nvme0: I/O 1 QID 3 timeout, completion polled");
}

static void miss_neighbour_later(struct record *r)
{
	record_other(r, "beside", true, 20, 0);
}

static void miss_neighbour_that_also_falls_alone(struct record *r)
{
	record_other(r, "beside", true, 5, 1);
}

static void miss_all_fall(struct record *r)
{
	record_other(r, "beside", true, 5, 0);
	record_other(r, "apart", false, 5, 0);
}

static void miss_apart(struct record *r)
{
	record_other(r, "apart", false, 0, 0);
}

static void miss_slow_link_all_along(struct record *r)
{
	for (unsigned i = 0; i < SAMPLES; i++)
		r->samples[i].counters.link_width = 1;
}

static void miss_link_in_the_fall(struct record *r)
{
	for (unsigned i = BEFORE + 20; i < SAMPLES; i++)
		r->samples[i].counters.link_width = 1;
}

static void miss_faster_link(struct record *r)
{
	for (unsigned i = 0; i < BEFORE; i++)
		r->samples[i].counters.link_width = 1;
}

static void miss_few_aer(struct record *r)
{
	for (unsigned i = BEFORE; i < SAMPLES; i++)
		r->samples[i].counters.aer_correctable = 3;
}

static void miss_aer_all_along(struct record *r)
{
	for (unsigned i = 0; i < SAMPLES; i++)
		r->samples[i].counters.aer_correctable = 20 * i;
}

static void miss_crc_all_along(struct record *r)
{
	for (unsigned i = 0; i < SAMPLES / 6; i++)
		r->readings[i].crc_errors = i;
}

static void miss_hot_and_flat(struct record *r)
{
	for (unsigned i = 0; i < SAMPLES / 6; i++)
		r->readings[i].temp_c = 79;
}

static void miss_hot_for_long(struct record *r)
{
	for (unsigned i = 5; i < SAMPLES / 6; i++)
		r->readings[i].temp_c = 79;
}

static void miss_warm(struct record *r)
{
	for (unsigned i = 0; i < 5; i++)
		record_reading(r, -240 + 60 * (double)i)->temp_c = 60 + 3 * (double)i;
}

static void miss_hot_without_limit(struct record *r)
{
	put_heat(r);
	for (unsigned i = 0; i < SAMPLES / 6; i++)
		r->readings[i].warning_temp_c = NAN;
}

static void miss_throttled_all_along(struct record *r)
{
	for (unsigned i = 0; i < SAMPLES / 6; i++) {
		r->readings[i].thermal1_s = 30 * i;
		r->readings[i].throttle_level = 1;
	}
}

static void miss_throttled_later(struct record *r)
{
	for (struct cause_reading *reading = record_reading(r, 300); reading < r->readings + SAMPLES / 6;
		reading++)
		reading->thermal2_count = 1;
}

static void miss_cache_off_all_along(struct record *r)
{
	for (unsigned i = 0; i < SAMPLES; i++)
		(void)snprintf(r->samples[i].counters.write_cache, EVIDENCE_WORD_MAX, "write through");
}

static void miss_backup_failed_before(struct record *r)
{
	for (unsigned i = 0; i < SAMPLES / 6; i++)
		r->readings[i].critical_warning = 0x10;
}

static void miss_other_warning(struct record *r)
{
	for (struct cause_reading *reading = record_reading(r, 0); reading < r->readings + SAMPLES / 6;
		reading++)
		reading->critical_warning = 0x1;
}

static void miss_resync_before(struct record *r)
{
	for (unsigned i = BEFORE / 2; i < SAMPLES; i++)
		(void)snprintf(r->samples[i].counters.md_action, EVIDENCE_WORD_MAX, "resync");
}

static void miss_small_discards(struct record *r)
{
	r->samples[BEFORE].foreign_discards = 100 * MIB;
}

static void miss_discards_all_along(struct record *r)
{
	for (unsigned i = 0; i < SAMPLES; i += 5)
		r->samples[i].foreign_discards = 2048 * MIB;
}

static void miss_writers_all_along(struct record *r)
{
	for (unsigned i = 0; i < SAMPLES; i++)
		r->samples[i].foreign_bytes = 600 * MIB;
}

static void miss_small_writers(struct record *r)
{
	for (unsigned i = BEFORE; i < SAMPLES; i++)
		r->samples[i].foreign_bytes = 20 * MIB;
}

static void miss_polls_that_cost_nothing(struct record *r)
{
	put_flag(r, SAMPLE_FLAG_HEALTH_POLL, 0.97);
}

static void miss_fall_that_outlasts_the_poll(struct record *r)
{
	put_poll(r);
	for (unsigned i = BEFORE + 1; i < SAMPLES; i++)
		r->samples[i].flags = 0;
}

static void miss_flushes_that_cost_nothing(struct record *r)
{
	put_flag(r, SAMPLE_FLAG_FLUSH, 1);
}

static void miss_poll_of_a_drive_that_stands_still(struct record *r)
{
	put_poll(r);
	r->finding.mean_bytes_per_s = 0;
}

static void miss_pause_before(struct record *r)
{
	r->samples[BEFORE - 10].state = SAMPLE_PAUSED;
}

static void miss_cache_of_unknown_rest(struct record *r)
{
	put_write_cache(r);
	for (unsigned i = 0; i < SAMPLES; i++)
		r->samples[i].idle_ns = SAMPLE_UNKNOWN;
}

static void miss_cache_after_much(struct record *r)
{
	put_write_cache(r);
	r->input.capacity_bytes = (uint64_t)(80000 * MIB);
}

static void miss_cache_that_recovers(struct record *r)
{
	put_write_cache(r);
	record_end(r, 20);
}

static void miss_cliff_without_level(struct record *r)
{
	put_cliff(r);
	for (unsigned i = BEFORE; i < SAMPLES; i += 3)
		record_rate(r, i, 0.01);
}

static void miss_cliff_too_early(struct record *r)
{
	put_cliff(r);
	r->input.sample_count = BEFORE + 30;
}

static void miss_cliff_late(struct record *r)
{
	put_cliff(r);
	for (unsigned i = 0; i < SAMPLES; i++)
		r->samples[i].capacities = 9;
}

static void miss_cliff_of_little(struct record *r)
{
	put_cliff(r);
	for (unsigned i = 0; i < SAMPLES; i++)
		r->samples[i].capacities = 0.2;
}

static void miss_decline(struct record *r)
{
	put_reset(r);
	r->finding.kind = COLLAPSE_DEGRADED;
}

static void miss_begin_that_is_not_kept(struct record *r)
{
	put_reset(r);
	r->input.samples = r->samples + BEFORE + 5;
	r->input.sample_count = SAMPLES - BEFORE - 5;
}

static void test_what_only_looks_like_a_cause(void **state)
{
	static void (*const misses[])(struct record *) = { miss_reset_before, miss_reset_while_it_writes,
		miss_reset_much_later, miss_other_line, miss_errors_of_polls, miss_busy_later,
		miss_busy_before, miss_little_steal, miss_pressure_of_others, miss_polled_before,
		miss_neighbour_later, miss_neighbour_that_also_falls_alone, miss_all_fall, miss_apart,
		miss_slow_link_all_along, miss_link_in_the_fall, miss_faster_link, miss_few_aer,
		miss_aer_all_along, miss_crc_all_along, miss_hot_and_flat, miss_hot_for_long, miss_warm,
		miss_hot_without_limit, miss_throttled_all_along, miss_throttled_later,
		miss_cache_off_all_along, miss_backup_failed_before, miss_other_warning, miss_resync_before,
		miss_small_discards, miss_discards_all_along, miss_writers_all_along, miss_small_writers,
		miss_polls_that_cost_nothing, miss_fall_that_outlasts_the_poll,
		miss_flushes_that_cost_nothing, miss_poll_of_a_drive_that_stands_still, miss_pause_before,
		miss_cache_of_unknown_rest, miss_cache_after_much, miss_cache_that_recovers,
		miss_cliff_without_level, miss_cliff_too_early, miss_cliff_late, miss_cliff_of_little,
		miss_decline, miss_begin_that_is_not_kept };
	static struct record r;
	char what[32];

	(void)state;
	record_init(&r, true);
	assert_cause(&r, CAUSE_UNKNOWN, "nothing strange");
	assert_non_null(strstr(r.answer.evidence,
		"the kernel said nothing; our threads waited 1 % for a CPU; the drive had 45 C"));
	for (size_t i = 0; i < ARRAY_LEN(misses); i++) {
		record_init(&r, true);
		misses[i](&r);
		(void)snprintf(what, sizeof(what), "near miss %zu", i);
		assert_cause(&r, CAUSE_UNKNOWN, what);
	}
	/* It is told all the same. */
	record_init(&r, true);
	for (unsigned i = 0; i < SAMPLES; i++)
		r.samples[i].counters.link_speed = 80;
	assert_cause(&r, CAUSE_UNKNOWN, "slow link");
	assert_non_null(strstr(r.answer.evidence, "its link runs at 8.0 of 16.0 G, as before"));
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
	assert_cause(&r, CAUSE_UNKNOWN, "short timeout");
	for (unsigned i = 0; i < SAMPLES; i++)
		r.samples[i].counters.io_timeout_ms = EVIDENCE_UNKNOWN;
	assert_cause(&r, CAUSE_RESET, "unknown timeout");
}

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

static void test_saw_teeth(void **state)
{
	static struct record r;

	(void)state;
	teeth_init(&r);
	assert_cause(&r, CAUSE_GARBAGE, "teeth");
	assert_non_null(strstr(r.answer.evidence, "none of 10"));
	for (unsigned i = 0; i < SAMPLES / 6; i++) {
		r.readings[i].host_written_bytes = (uint64_t)i << 34;
		r.readings[i].media_written_bytes = (uint64_t)i << 35;
	}
	assert_cause(&r, CAUSE_GARBAGE, "teeth with WAF");
	assert_non_null(strstr(r.answer.evidence, "WAF 2.0"));
	teeth_init(&r);
	for (unsigned n = 0; n < TEETH; n++)
		r.samples[tooth(n)].flags |= SAMPLE_FLAG_HEALTH_POLL;
	assert_cause(&r, CAUSE_HEALTH_POLL, "teeth with polls");
	teeth_init(&r);
	for (unsigned n = 0; n < TEETH; n += 2)
		r.samples[tooth(n)].flags |= SAMPLE_FLAG_HEALTH_POLL;
	assert_cause(&r, CAUSE_GARBAGE, "half of the teeth with polls");
	teeth_init(&r);
	for (unsigned n = 0; n < TEETH; n++)
		r.samples[tooth(n)].flags |= SAMPLE_FLAG_FLUSH;
	assert_cause(&r, CAUSE_OWN_PAUSE, "teeth with flushes");
	teeth_init(&r);
	for (unsigned n = 0; n < TEETH; n++)
		r.samples[tooth(n)].host_measures = HOSTLIMIT_STEAL;
	assert_cause(&r, CAUSE_HOST, "teeth with steal");
}

static void test_saw_teeth_of_heat_and_resets(void **state)
{
	static struct record r;

	(void)state;
	teeth_init(&r);
	for (unsigned i = 0; i < SAMPLES / 6; i++)
		r.readings[i].thermal1_count = i / 3;
	assert_cause(&r, CAUSE_THERMAL, "teeth with counts of heat");
	assert_int_equal(r.answer.rank, CAUSE_MEASURED);
	teeth_init(&r);
	for (unsigned n = 0; n < TEETH; n++)
		record_reading(&r, (double)((int)tooth(n) - BEFORE) * 10 - 30)->temp_c = 79;
	assert_cause(&r, CAUSE_THERMAL, "teeth with heat");
	assert_int_equal(r.answer.rank, CAUSE_CORRELATED);
	teeth_init(&r);
	for (unsigned i = 0; i < SAMPLES / 6; i++)
		r.readings[i].temp_c = 79;
	assert_cause(&r, CAUSE_GARBAGE, "teeth of a drive that is always hot");
	teeth_init(&r);
	for (unsigned n = 0; n < TEETH; n++)
		record_line(&r, (double)((int)tooth(n) - BEFORE) * 10 + 3, KERNELLINE_RESET,
			"ata3: hard resetting link");
	assert_cause(&r, CAUSE_RESET, "teeth with resets");
	teeth_init(&r);
	r.input.sample_count = 40;
	assert_cause(&r, CAUSE_UNKNOWN, "too few teeth");
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
	assert_cause(&r, CAUSE_UNKNOWN, "back long before");
	r.finding.to_ms = FELL_MS + 12 * STEP_MS;
	assert_cause(&r, CAUSE_SHARED_PATH, "back about then");
	r.others[0].fall.to_ms = INT64_MAX;
	assert_cause(&r, CAUSE_UNKNOWN, "not back yet");
	record_other(&r, "further", true, 5, 0);
	assert_cause(&r, CAUSE_SHARED_PATH, "two");
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
		cmocka_unit_test(test_what_only_looks_like_a_cause),
		cmocka_unit_test(test_the_kernels_own_time),
		cmocka_unit_test(test_saw_teeth),
		cmocka_unit_test(test_saw_teeth_of_heat_and_resets),
		cmocka_unit_test(test_when_drives_fell),
		cmocka_unit_test(test_falls_of_two_drives),
		cmocka_unit_test(test_neighbours_that_come_back),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
