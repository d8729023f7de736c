/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "run/run.h"

#define S 1000000000ULL

struct walk_step {
	struct run_input input;
	enum run_action action;
	enum run_phase phase;
	enum run_status status;
};

static void walk(struct run_progress *progress, const struct run_plan *plan, const struct walk_step *steps,
	size_t count)
{
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(run_step(progress, plan, &steps[i].input), steps[i].action);
		assert_int_equal(progress->phase, steps[i].phase);
		assert_int_equal(progress->status, steps[i].status);
	}
}

static void test_a_whole_run(void **state)
{
	static const struct run_plan plan = { .settle_ns = 20 * S, .soak_ns = 25 * S };
	static const struct walk_step steps[] = {
		{ { RUN_EVENT_TICK, .elapsed_ns = 5 * S }, RUN_ACT_NONE, PHASE_PREPARE, RUN_RUNNING },
		{ { RUN_EVENT_PREPARED, .fill_goal_bytes = 1000, .discarded = true }, RUN_ACT_NONE,
			PHASE_PREPARE, RUN_RUNNING },
		{ { RUN_EVENT_TICK, .elapsed_ns = 10 * S }, RUN_ACT_NONE, PHASE_PREPARE, RUN_RUNNING },
		{ { RUN_EVENT_TICK, .elapsed_ns = 10 * S }, RUN_ACT_FILL, PHASE_FILL, RUN_RUNNING },
		{ { RUN_EVENT_TICK, .elapsed_ns = 10 * S, .fill_done_bytes = 400 }, RUN_ACT_NONE, PHASE_FILL,
			RUN_RUNNING },
		{ { RUN_EVENT_FILLED, .fill_done_bytes = 990 }, RUN_ACT_SOAK, PHASE_SOAK, RUN_RUNNING },
		{ { RUN_EVENT_TICK, .elapsed_ns = 10 * S }, RUN_ACT_NONE, PHASE_SOAK, RUN_RUNNING },
		{ { RUN_EVENT_TICK, .elapsed_ns = 10 * S }, RUN_ACT_NONE, PHASE_SOAK, RUN_RUNNING },
		{ { RUN_EVENT_TICK, .elapsed_ns = 5 * S }, RUN_ACT_FINISH, PHASE_DONE, RUN_DONE },
		{ { RUN_EVENT_TICK, .elapsed_ns = 5 * S }, RUN_ACT_NONE, PHASE_DONE, RUN_DONE },
	};
	struct run_progress progress = { .phase = PHASE_PREPARE, .status = RUN_RUNNING };

	(void)state;
	walk(&progress, &plan, steps, ARRAY_LEN(steps));
	assert_int_equal(progress.fill_goal_bytes, 1000);
	assert_int_equal(progress.fill_done_bytes, 990);
	assert_int_equal(progress.extent_bytes, 990);
	assert_int_equal(progress.soak_ns, 25 * S);
}

static void test_the_soak_is_followed_by_the_probe_and_the_verification(void **state)
{
	static const struct run_plan plan = { .soak_ns = 10 * S, .probe_ns = 5 * S, .verifies = true };
	struct run_progress progress = { .phase = PHASE_SOAK, .status = RUN_RUNNING };
	const struct run_input tick = { .event = RUN_EVENT_TICK, .elapsed_ns = 5 * S };
	const struct run_input verified = { .event = RUN_EVENT_VERIFIED };

	(void)state;
	assert_int_equal(run_step(&progress, &plan, &tick), RUN_ACT_NONE);
	for (unsigned i = 0; i < RUN_PROBE_STEPS; i++) {
		assert_int_equal(run_step(&progress, &plan, &tick), RUN_ACT_PROBE);
		assert_int_equal(progress.phase, PHASE_PROBE);
		assert_int_equal(progress.probe_step, i);
		assert_int_equal(run_eta_ns(&progress, &plan, 0), (RUN_PROBE_STEPS - i) * 5 * S);
	}
	assert_int_equal(run_step(&progress, &plan, &tick), RUN_ACT_VERIFY);
	assert_int_equal(progress.phase, PHASE_VERIFY);
	assert_int_equal(run_step(&progress, &plan, &tick), RUN_ACT_NONE);
	assert_int_equal(run_step(&progress, &plan, &verified), RUN_ACT_FINISH);
	assert_int_equal(progress.status, RUN_DONE);
	assert_int_equal(progress.phase, PHASE_DONE);
	assert_true(run_probe_share[0] <= 0 && run_probe_share[1] >= 0.5 && run_probe_share[3] >= 0.9);
}

static void test_nothing_settles_where_nothing_was_discarded(void **state)
{
	static const struct run_plan plan = { .settle_ns = 600 * S };
	static const struct run_input prepared = { RUN_EVENT_PREPARED, .fill_goal_bytes = 7 };
	struct run_progress progress = { .phase = PHASE_PREPARE, .status = RUN_RUNNING };

	(void)state;
	assert_int_equal(run_step(&progress, &plan, &prepared), RUN_ACT_FILL);
}

static void test_a_soak_without_end_goes_on(void **state)
{
	static const struct run_plan plan = { 0 };
	static const struct run_input tick = { RUN_EVENT_TICK, .elapsed_ns = 1000000 * S };
	struct run_progress progress = { .phase = PHASE_SOAK, .status = RUN_RUNNING };

	(void)state;
	for (int i = 0; i < 100; i++)
		assert_int_equal(run_step(&progress, &plan, &tick), RUN_ACT_NONE);
	assert_true(isnan(run_progress_ratio(&progress, &plan)));
	assert_true(run_eta_ns(&progress, &plan, 1e6) == UINT64_MAX);
}

static void test_failure_and_stop_end_any_phase(void **state)
{
	static const struct run_plan plan = { .soak_ns = 5 * S };
	static const struct run_input failed = { .event = RUN_EVENT_FAILED },
				      stop = { .event = RUN_EVENT_STOP };

	(void)state;
	for (int phase = PHASE_PREPARE; phase < PHASE_DONE; phase++) {
		struct run_progress a = { .phase = (enum run_phase)phase, .status = RUN_RUNNING }, b = a;

		assert_int_equal(run_step(&a, &plan, &failed), RUN_ACT_FINISH);
		assert_int_equal(a.status, RUN_FAILED);
		assert_int_equal(a.phase, phase); /* where it failed stays visible */
		assert_int_equal(run_step(&b, &plan, &stop), RUN_ACT_FINISH);
		assert_int_equal(b.status, RUN_DONE);
		assert_int_equal(b.phase, PHASE_DONE);
	}
}

static void test_a_run_that_is_over_does_nothing(void **state)
{
	static const struct run_plan plan = { .soak_ns = 5 * S };
	static const enum run_status over[] = { RUN_DONE, RUN_FAILED, RUN_IDLE, RUN_ABSENT };
	static const enum run_event events[] = { RUN_EVENT_TICK, RUN_EVENT_PREPARED, RUN_EVENT_FILLED,
		RUN_EVENT_VERIFIED, RUN_EVENT_FAILED, RUN_EVENT_STOP, RUN_EVENT_FLUSHED, RUN_EVENT_PAUSE,
		RUN_EVENT_RESUME, RUN_EVENT_BUDGET_SPENT, RUN_EVENT_ABSENT };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(over); i++) {
		struct run_progress progress = { .phase = PHASE_SOAK, .status = over[i], .soak_ns = 3 },
				    before = progress;

		for (size_t k = 0; k < ARRAY_LEN(events); k++) {
			const struct run_input input = { events[k], .elapsed_ns = 100 * S,
				.fill_done_bytes = 9 };

			assert_int_equal(run_step(&progress, &plan, &input), RUN_ACT_NONE);
			assert_memory_equal(&progress, &before, sizeof(progress));
		}
		assert_int_equal(run_resume(&progress), RUN_ACT_NONE);
	}
}

static void test_a_flush_makes_the_fill_durable_and_never_less(void **state)
{
	static const struct run_plan plan = { 0 };
	static const struct {
		enum run_event event;
		uint64_t fill_done_bytes, done, durable;
	} row[] = {
		{ RUN_EVENT_FLUSHED, 300, 0, 0 }, /* more than the run knows of */
		{ RUN_EVENT_TICK, 400, 400, 0 },
		{ RUN_EVENT_FLUSHED, 300, 400, 300 },
		{ RUN_EVENT_FLUSHED, 200, 400, 300 }, /* late */
		{ RUN_EVENT_FLUSHED, 500, 400, 400 },
		{ RUN_EVENT_TICK, 350, 400, 400 },
	};
	struct run_progress progress = {
		.phase = PHASE_FILL, .status = RUN_RUNNING, .fill_goal_bytes = 1000
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		const struct run_input input = { row[i].event, .fill_done_bytes = row[i].fill_done_bytes };

		assert_int_equal(run_step(&progress, &plan, &input), RUN_ACT_NONE);
		assert_int_equal(progress.fill_done_bytes, row[i].done);
		assert_int_equal(progress.fill_durable_bytes, row[i].durable);
		assert_int_equal(progress.phase, PHASE_FILL);
	}
}

static void test_a_power_loss_takes_what_no_flush_covered(void **state)
{
	struct run_progress progress = {
		.phase = PHASE_PREPARE, .fill_done_bytes = 900, .fill_durable_bytes = 600
	};

	(void)state;
	assert_int_equal(run_filled_bytes(&progress, false), 0);
	progress.phase = PHASE_FILL;
	assert_int_equal(run_filled_bytes(&progress, false), 900);
	assert_int_equal(run_filled_bytes(&progress, true), 600);
	/* The end of the fill is flushed. */
	progress.extent_bytes = 1000;
	for (progress.phase = PHASE_SOAK; progress.phase <= PHASE_DONE; progress.phase++) {
		assert_int_equal(run_filled_bytes(&progress, false), 1000);
		assert_int_equal(run_filled_bytes(&progress, true), 1000);
	}
}

static void test_a_pause_stops_the_clock_of_every_phase(void **state)
{
	static const struct run_plan plan = { .settle_ns = 10 * S, .soak_ns = 20 * S, .probe_ns = 5 * S };
	static const struct run_input tick = { RUN_EVENT_TICK, .elapsed_ns = 100 * S },
				      pause = { .event = RUN_EVENT_PAUSE },
				      resume = { .event = RUN_EVENT_RESUME },
				      stop = { .event = RUN_EVENT_STOP },
				      failed = { .event = RUN_EVENT_FAILED };
	static const enum run_action goes_on[] = {
		[PHASE_PREPARE] = RUN_ACT_NONE,
		[PHASE_FILL] = RUN_ACT_FILL,
		[PHASE_SOAK] = RUN_ACT_SOAK,
		[PHASE_PROBE] = RUN_ACT_PROBE,
		[PHASE_VERIFY] = RUN_ACT_VERIFY,
	};

	(void)state;
	for (int phase = PHASE_PREPARE; phase < PHASE_DONE; phase++) {
		struct run_progress progress = { (enum run_phase)phase, RUN_STALLED, .fill_goal_bytes = 9,
			.settled_ns = 1, .soak_ns = 2, .probe_step = 1, .probe_ns = 3 };
		struct run_progress paused, other;

		assert_int_equal(run_step(&progress, &plan, &resume), RUN_ACT_NONE); /* it is not paused */
		assert_int_equal(progress.status, RUN_STALLED);
		assert_int_equal(run_step(&progress, &plan, &pause), RUN_ACT_PAUSE);
		assert_int_equal(progress.status, RUN_PAUSED);
		paused = progress;
		assert_int_equal(run_step(&progress, &plan, &pause), RUN_ACT_NONE);
		assert_int_equal(run_step(&progress, &plan, &tick), RUN_ACT_NONE);
		assert_memory_equal(&progress, &paused, sizeof(progress));
		assert_int_equal(run_resume(&progress), RUN_ACT_NONE); /* a restart */
		assert_int_equal(run_step(&progress, &plan, &resume), goes_on[phase]);
		assert_int_equal(progress.status, RUN_RUNNING);
		assert_int_equal(progress.phase, phase);
		assert_int_equal(progress.settled_ns, 1);
		assert_int_equal(progress.soak_ns, 2);
		assert_int_equal(progress.probe_step, 1);
		assert_int_equal(progress.probe_ns, 3);
		other = paused;
		assert_int_equal(run_step(&paused, &plan, &stop), RUN_ACT_FINISH);
		assert_int_equal(paused.status, RUN_DONE);
		assert_int_equal(run_step(&other, &plan, &failed), RUN_ACT_FINISH);
		assert_int_equal(other.status, RUN_FAILED);
	}
}

static void test_what_ends_while_paused_is_noted_and_what_follows_waits(void **state)
{
	static const struct run_plan plan = { .settle_ns = 10 * S, .verifies = true };
	static const struct walk_step steps[] = {
		{ { .event = RUN_EVENT_PAUSE }, RUN_ACT_PAUSE, PHASE_PREPARE, RUN_PAUSED },
		{ { RUN_EVENT_PREPARED, .fill_goal_bytes = 1000 }, RUN_ACT_NONE, PHASE_FILL, RUN_PAUSED },
		{ { .event = RUN_EVENT_RESUME }, RUN_ACT_FILL, PHASE_FILL, RUN_RUNNING },
		{ { .event = RUN_EVENT_PAUSE }, RUN_ACT_PAUSE, PHASE_FILL, RUN_PAUSED },
		{ { RUN_EVENT_TICK, .fill_done_bytes = 600 }, RUN_ACT_NONE, PHASE_FILL, RUN_PAUSED },
		{ { RUN_EVENT_FLUSHED, .fill_done_bytes = 600 }, RUN_ACT_NONE, PHASE_FILL, RUN_PAUSED },
		{ { RUN_EVENT_FILLED, .fill_done_bytes = 1000 }, RUN_ACT_NONE, PHASE_SOAK, RUN_PAUSED },
		{ { .event = RUN_EVENT_RESUME }, RUN_ACT_SOAK, PHASE_SOAK, RUN_RUNNING },
		{ { .event = RUN_EVENT_PAUSE }, RUN_ACT_PAUSE, PHASE_SOAK, RUN_PAUSED },
		{ { .event = RUN_EVENT_BUDGET_SPENT }, RUN_ACT_NONE, PHASE_VERIFY, RUN_PAUSED },
		{ { .event = RUN_EVENT_RESUME }, RUN_ACT_VERIFY, PHASE_VERIFY, RUN_RUNNING },
		{ { .event = RUN_EVENT_PAUSE }, RUN_ACT_PAUSE, PHASE_VERIFY, RUN_PAUSED },
		{ { .event = RUN_EVENT_VERIFIED }, RUN_ACT_FINISH, PHASE_DONE, RUN_DONE },
	};
	struct run_progress progress = { .phase = PHASE_PREPARE, .status = RUN_RUNNING };

	(void)state;
	walk(&progress, &plan, steps, ARRAY_LEN(steps));
	assert_int_equal(progress.fill_done_bytes, 1000);
	assert_int_equal(progress.extent_bytes, 1000);
	assert_int_equal(progress.fill_durable_bytes, 600);
}

static void test_a_spent_budget_ends_a_soak_well_and_fails_a_fill(void **state)
{
	static const struct {
		enum run_phase phase;
		bool verifies;
		enum run_action action;
		enum run_phase then;
		enum run_status status;
	} row[] = {
		{ PHASE_PREPARE, true, RUN_ACT_NONE, PHASE_PREPARE, RUN_RUNNING },
		{ PHASE_FILL, true, RUN_ACT_FINISH, PHASE_FILL, RUN_FAILED },
		{ PHASE_SOAK, true, RUN_ACT_VERIFY, PHASE_VERIFY, RUN_RUNNING },
		{ PHASE_SOAK, false, RUN_ACT_FINISH, PHASE_DONE, RUN_DONE },
		{ PHASE_PROBE, true, RUN_ACT_VERIFY, PHASE_VERIFY, RUN_RUNNING },
		{ PHASE_PROBE, false, RUN_ACT_FINISH, PHASE_DONE, RUN_DONE },
		{ PHASE_VERIFY, true, RUN_ACT_NONE, PHASE_VERIFY, RUN_RUNNING },
	};
	static const struct run_input spent = { RUN_EVENT_BUDGET_SPENT, .fill_done_bytes = 700 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		const struct run_plan plan = { .settle_ns = S, .probe_ns = S, .verifies = row[i].verifies };
		struct run_progress progress = { row[i].phase, RUN_RUNNING, .fill_goal_bytes = 1000,
			.fill_done_bytes = 600, .soak_ns = 5, .probe_step = 1 };

		assert_int_equal(run_step(&progress, &plan, &spent), row[i].action);
		assert_int_equal(progress.phase, row[i].then);
		assert_int_equal(progress.status, row[i].status);
		assert_int_equal(progress.fill_done_bytes, row[i].phase == PHASE_FILL ? 700 : 600);
		assert_int_equal(progress.soak_ns, 5);
	}
}

static void test_an_absent_drive_is_released_and_its_run_goes_on_later(void **state)
{
	static const struct run_plan plan = { .soak_ns = 10 * S };
	static const struct run_input absent = { .event = RUN_EVENT_ABSENT };
	static const struct {
		enum run_status before, stored;
		enum run_action returned;
	} row[] = {
		{ RUN_RUNNING, RUN_RUNNING, RUN_ACT_SOAK },
		{ RUN_STALLED, RUN_RUNNING, RUN_ACT_SOAK },
		{ RUN_PAUSED, RUN_PAUSED, RUN_ACT_NONE },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		struct run_progress progress = { PHASE_SOAK, row[i].before, .soak_ns = 4 * S };

		assert_int_equal(run_step(&progress, &plan, &absent), RUN_ACT_RELEASE);
		assert_int_equal(progress.status, row[i].stored);
		assert_int_equal(progress.phase, PHASE_SOAK);
		assert_int_equal(progress.soak_ns, 4 * S);
		assert_int_equal(run_resume(&progress), row[i].returned);
	}
}

static void test_resume_goes_on_in_the_same_phase(void **state)
{
	static const struct {
		enum run_phase phase;
		enum run_action action;
	} row[] = { { PHASE_FILL, RUN_ACT_FILL }, { PHASE_SOAK, RUN_ACT_SOAK },
		{ PHASE_PREPARE, RUN_ACT_NONE } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		const struct run_progress progress = { .phase = row[i].phase, .status = RUN_RUNNING };

		assert_int_equal(run_resume(&progress), row[i].action);
	}
}

static void test_progress_and_eta(void **state)
{
	static const struct run_plan plan = { .settle_ns = 10 * S, .soak_ns = 100 * S };
	struct run_progress progress = {
		.fill_goal_bytes = 1000, .fill_done_bytes = 250, .soak_ns = 40 * S, .settled_ns = 4 * S
	};

	(void)state;
	progress.phase = PHASE_PREPARE;
	assert_true(fabs(run_progress_ratio(&progress, &plan) - 0.4) < 1e-12);
	assert_int_equal(run_eta_ns(&progress, &plan, 0), 6 * S);
	progress.phase = PHASE_FILL;
	assert_true(fabs(run_progress_ratio(&progress, &plan) - 0.25) < 1e-12);
	assert_int_equal(run_eta_ns(&progress, &plan, 50), 15 * S);
	assert_true(run_eta_ns(&progress, &plan, 0) == UINT64_MAX);
	progress.phase = PHASE_SOAK;
	assert_true(fabs(run_progress_ratio(&progress, &plan) - 0.4) < 1e-12);
	assert_int_equal(run_eta_ns(&progress, &plan, 0), 60 * S);
	progress.phase = PHASE_DONE;
	assert_true(run_progress_ratio(&progress, &plan) >= 1.0);
}

static void test_names_read_back(void **state)
{
	enum run_phase phase = PHASE_PROBE;
	enum run_status status = RUN_ABSENT;

	(void)state;
	for (int i = 0; i < PHASE_COUNT; i++) {
		assert_int_equal(run_phase_parse(run_phase_name((enum run_phase)i), &phase), 0);
		assert_int_equal(phase, i);
	}
	for (int i = 0; i < RUN_STATUS_COUNT; i++) {
		assert_int_equal(run_status_parse(run_status_name((enum run_status)i), &status), 0);
		assert_int_equal(status, i);
	}
	assert_int_equal(run_phase_parse("soaking", &phase), -EINVAL);
	assert_int_equal(phase, PHASE_DONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_whole_run),
		cmocka_unit_test(test_the_soak_is_followed_by_the_probe_and_the_verification),
		cmocka_unit_test(test_nothing_settles_where_nothing_was_discarded),
		cmocka_unit_test(test_a_soak_without_end_goes_on),
		cmocka_unit_test(test_failure_and_stop_end_any_phase),
		cmocka_unit_test(test_a_run_that_is_over_does_nothing),
		cmocka_unit_test(test_a_flush_makes_the_fill_durable_and_never_less),
		cmocka_unit_test(test_a_power_loss_takes_what_no_flush_covered),
		cmocka_unit_test(test_a_pause_stops_the_clock_of_every_phase),
		cmocka_unit_test(test_what_ends_while_paused_is_noted_and_what_follows_waits),
		cmocka_unit_test(test_a_spent_budget_ends_a_soak_well_and_fails_a_fill),
		cmocka_unit_test(test_an_absent_drive_is_released_and_its_run_goes_on_later),
		cmocka_unit_test(test_resume_goes_on_in_the_same_phase),
		cmocka_unit_test(test_progress_and_eta),
		cmocka_unit_test(test_names_read_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
