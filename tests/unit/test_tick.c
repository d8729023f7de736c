/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Days of clock behaviour without waiting for them: a machine with three clocks is simulated. */
#include "unit.h"

#include "base/clock.h"
#include "measure/tick.h"

#define T0_MS 1764540000000LL /* a multiple of 10 s */

struct machine {
	uint64_t mono_ns, boot_ns;
	int64_t wall_ns;
	uint64_t tick_mono_ns;
	struct tick tick;
};

static void machine_start(struct machine *machine, int64_t wall_ms, int64_t last_ms)
{
	*machine = (struct machine){
		.mono_ns = 500 * NS_PER_S,
		.boot_ns = 777 * NS_PER_S,
		.wall_ns = wall_ms * (int64_t)NS_PER_MS,
		.tick_mono_ns = 500 * NS_PER_S,
	};
	tick_start(&machine->tick, 10000, machine->boot_ns, machine->wall_ns, last_ms);
}

static void pass(struct machine *machine, int64_t ms)
{
	machine->mono_ns += (uint64_t)ms * NS_PER_MS;
	machine->boot_ns += (uint64_t)ms * NS_PER_MS;
	machine->wall_ns += ms * (int64_t)NS_PER_MS;
}

static struct tick_answer look(struct machine *machine)
{
	struct tick_answer answer = tick_advance(
		&machine->tick, machine->boot_ns, machine->wall_ns, machine->mono_ns - machine->tick_mono_ns);

	if (answer.is_due)
		machine->tick_mono_ns = machine->mono_ns;
	return answer;
}

/* Sleep until the tick is due, as the loop does. */
static struct tick_answer next(struct machine *machine)
{
	struct tick_answer answer;

	do {
		uint64_t due = tick_due_boot_ns(&machine->tick);

		if (due > machine->boot_ns)
			pass(machine, (int64_t)((due - machine->boot_ns + NS_PER_MS - 1) / NS_PER_MS));
		answer = look(machine);
	} while (!answer.is_due);
	return answer;
}

static void test_ticks_fall_on_multiples(void **state)
{
	struct machine machine;

	(void)state;
	machine_start(&machine, T0_MS + 3210, INT64_MIN);
	assert_int_equal(tick_due_boot_ns(&machine.tick), 777 * NS_PER_S + 6790 * NS_PER_MS);
	assert_false(look(&machine).is_due);
	for (int i = 1; i <= 1000; i++) {
		struct tick_answer answer = next(&machine);

		assert_true(answer.is_due);
		assert_int_equal(answer.t_ms, T0_MS + i * 10000);
		assert_true(answer.gap_to_ms == INT64_MIN);
		assert_int_equal(answer.step_ms, 0);
	}
}

static void test_slewing_is_followed_and_loses_nothing(void **state)
{
	struct machine machine;

	(void)state;
	machine_start(&machine, T0_MS, INT64_MIN);
	for (int i = 1; i <= 1000; i++) {
		struct tick_answer answer;

		machine.wall_ns += i < 500 ? 5000000 : -5000000; /* 500 ppm */
		answer = next(&machine);
		assert_int_equal(answer.t_ms, T0_MS + i * 10000);
		assert_int_equal(answer.step_ms, 0);
		assert_true(answer.gap_to_ms == INT64_MIN);
	}
	/* 4.99 s were slewed in net: the stamps are the system's own again. */
	assert_in_range(tick_now_ms(&machine.tick, machine.boot_ns) - machine.wall_ns / 1000000 + 50, 0, 100);
}

static void test_a_step_back_keeps_the_old_offset_until_the_clock_has_caught_up(void **state)
{
	struct machine machine;
	struct tick_answer answer;

	(void)state;
	machine_start(&machine, T0_MS, INT64_MIN);
	(void)next(&machine);
	machine.wall_ns -= 700LL * (int64_t)NS_PER_S;
	for (int i = 2; i <= 50; i++) {
		answer = next(&machine);
		assert_int_equal(answer.t_ms, T0_MS + i * 10000);
		assert_true(answer.gap_to_ms == INT64_MIN);
		assert_int_equal(answer.step_ms, i == 2 ? -700000 : 0);
	}
	machine.wall_ns += 700LL * (int64_t)NS_PER_S;
	answer = next(&machine);
	assert_int_equal(answer.step_ms, 700000);
	assert_int_equal(answer.t_ms, T0_MS + 51 * 10000);
	assert_int_equal(machine.tick.held_ns, 0);
}

static void test_a_step_forward_is_a_gap(void **state)
{
	struct machine machine;
	struct tick_answer answer;

	(void)state;
	machine_start(&machine, T0_MS, INT64_MIN);
	(void)next(&machine);
	pass(&machine, 4000);
	machine.wall_ns += 365LL * 86400 * (int64_t)NS_PER_S;
	pass(&machine, 6000); /* when the timer fires */
	answer = look(&machine);
	assert_true(answer.is_due);
	assert_int_equal(answer.step_ms, 365LL * 86400 * 1000);
	assert_int_equal(answer.t_ms, T0_MS + 20000 + 365LL * 86400 * 1000);
	assert_int_equal(answer.gap_to_ms, answer.t_ms - 10000);
	answer = next(&machine);
	assert_int_equal(answer.t_ms, T0_MS + 30000 + 365LL * 86400 * 1000);
	assert_true(answer.gap_to_ms == INT64_MIN);
}

static void test_suspend_is_a_gap_and_the_work_before_it_stays(void **state)
{
	struct machine machine;
	struct tick_answer answer;

	(void)state;
	machine_start(&machine, T0_MS, INT64_MIN);
	(void)next(&machine);
	pass(&machine, 3000);
	/* Two hours asleep: boot and wall clock run, monotonic stands still. */
	machine.boot_ns += 7200 * NS_PER_S;
	machine.wall_ns += 7200LL * (int64_t)NS_PER_S;
	answer = look(&machine);
	assert_true(answer.is_due);
	assert_int_equal(answer.step_ms, 0);
	assert_int_equal(answer.t_ms, T0_MS + 10000 + 7200000);
	assert_int_equal(answer.gap_to_ms, answer.t_ms - 3000);
}

static void test_a_late_loop_is_no_gap(void **state)
{
	struct machine machine;
	struct tick_answer answer;

	(void)state;
	machine_start(&machine, T0_MS, INT64_MIN);
	(void)next(&machine);
	pass(&machine, 33500); /* starved over three ticks */
	answer = look(&machine);
	assert_int_equal(answer.t_ms, T0_MS + 40000);
	assert_true(answer.gap_to_ms == INT64_MIN);
	answer = next(&machine);
	assert_int_equal(answer.t_ms, T0_MS + 50000);
	/* The next one is on time, a moment after one that was late by most of an interval. */
	pass(&machine, 18500);
	answer = look(&machine);
	assert_int_equal(answer.t_ms, T0_MS + 60000);
	assert_true(answer.gap_to_ms == INT64_MIN);
	answer = next(&machine);
	assert_int_equal(answer.t_ms, T0_MS + 70000);
	assert_true(answer.gap_to_ms == INT64_MIN);
}

static void test_a_clock_behind_the_last_stamp_at_start_goes_on_from_it(void **state)
{
	struct machine machine;
	int64_t last = T0_MS + 86400000;

	(void)state;
	machine_start(&machine, T0_MS, last);
	for (int i = 1; i <= 20; i++) {
		struct tick_answer answer = next(&machine);

		assert_int_equal(answer.t_ms, last + i * 10000);
		assert_true(answer.gap_to_ms == INT64_MIN);
		assert_int_equal(answer.step_ms, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ticks_fall_on_multiples),
		cmocka_unit_test(test_slewing_is_followed_and_loses_nothing),
		cmocka_unit_test(test_a_step_back_keeps_the_old_offset_until_the_clock_has_caught_up),
		cmocka_unit_test(test_a_step_forward_is_a_gap),
		cmocka_unit_test(test_suspend_is_a_gap_and_the_work_before_it_stays),
		cmocka_unit_test(test_a_late_loop_is_no_gap),
		cmocka_unit_test(test_a_clock_behind_the_last_stamp_at_start_goes_on_from_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
