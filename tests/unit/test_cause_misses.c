/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What only looks like the cause of a fall: none is named. */
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cause_fixture.h"

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
	record_put_heat(r);
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
	record_put_flag(r, SAMPLE_FLAG_HEALTH_POLL, 0.97);
}

static void miss_fall_that_outlasts_the_poll(struct record *r)
{
	record_put_poll(r);
	for (unsigned i = BEFORE + 1; i < SAMPLES; i++)
		r->samples[i].flags = 0;
}

static void miss_flushes_that_cost_nothing(struct record *r)
{
	record_put_flag(r, SAMPLE_FLAG_FLUSH, 1);
}

static void miss_poll_of_a_drive_that_stands_still(struct record *r)
{
	record_put_poll(r);
	r->finding.mean_bytes_per_s = 0;
}

static void miss_pause_before(struct record *r)
{
	r->samples[BEFORE - 10].state = SAMPLE_PAUSED;
}

static void miss_cache_of_unknown_rest(struct record *r)
{
	record_put_write_cache(r);
	for (unsigned i = 0; i < SAMPLES; i++)
		r->samples[i].idle_ns = SAMPLE_UNKNOWN;
}

static void miss_cache_after_much(struct record *r)
{
	record_put_write_cache(r);
	r->input.capacity_bytes = (uint64_t)(80000 * MIB);
}

static void miss_cache_that_recovers(struct record *r)
{
	record_put_write_cache(r);
	record_end(r, 20);
}

static void miss_cliff_without_level(struct record *r)
{
	record_put_cliff(r);
	for (unsigned i = BEFORE; i < SAMPLES; i += 3)
		record_rate(r, i, 0.01);
}

static void miss_cliff_too_early(struct record *r)
{
	record_put_cliff(r);
	r->input.sample_count = BEFORE + 30;
}

static void miss_cliff_late(struct record *r)
{
	record_put_cliff(r);
	for (unsigned i = 0; i < SAMPLES; i++)
		r->samples[i].capacities = 9;
}

static void miss_cliff_of_little(struct record *r)
{
	record_put_cliff(r);
	for (unsigned i = 0; i < SAMPLES; i++)
		r->samples[i].capacities = 0.2;
}

static void miss_decline(struct record *r)
{
	record_put_reset(r);
	r->finding.kind = COLLAPSE_DEGRADED;
}

static void miss_begin_that_is_not_kept(struct record *r)
{
	record_put_reset(r);
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
	record_assert_cause(&r, CAUSE_UNKNOWN, "nothing strange");
	assert_non_null(strstr(r.answer.evidence,
		"the kernel said nothing; our threads waited 1 % for a CPU; the drive had 45 C"));
	for (size_t i = 0; i < ARRAY_LEN(misses); i++) {
		record_init(&r, true);
		misses[i](&r);
		(void)snprintf(what, sizeof(what), "near miss %zu", i);
		record_assert_cause(&r, CAUSE_UNKNOWN, what);
	}
	/* It is told all the same. */
	record_init(&r, true);
	for (unsigned i = 0; i < SAMPLES; i++)
		r.samples[i].counters.link_speed = 80;
	record_assert_cause(&r, CAUSE_UNKNOWN, "slow link");
	assert_non_null(strstr(r.answer.evidence, "its link runs at 8.0 of 16.0 G, as before"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_only_looks_like_a_cause),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
