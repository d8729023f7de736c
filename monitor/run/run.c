/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/run.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

static const char *const phase_names[PHASE_COUNT] = {
	[PHASE_PREPARE] = "prepare",
	[PHASE_FILL] = "fill",
	[PHASE_SOAK] = "soak",
	[PHASE_PROBE] = "probe",
	[PHASE_VERIFY] = "verify",
	[PHASE_DONE] = "done",
};

static const char *const status_names[RUN_STATUS_COUNT] = {
	[RUN_IDLE] = "idle",
	[RUN_ARMED] = "armed",
	[RUN_RUNNING] = "running",
	[RUN_PAUSED] = "paused",
	[RUN_STALLED] = "stalled",
	[RUN_DONE] = "done",
	[RUN_FAILED] = "failed",
	[RUN_ABSENT] = "absent",
};

const double run_probe_share[RUN_PROBE_STEPS] = { 0, 0.5, 0.7, 0.9 };

const char *run_phase_name(enum run_phase phase)
{
	return phase_names[phase];
}

const char *run_status_name(enum run_status status)
{
	return status_names[status];
}

static int name_find(const char *const *names, int count, const char *name)
{
	for (int i = 0; i < count; i++)
		if (strcmp(names[i], name) == 0)
			return i;
	return -EINVAL;
}

int run_phase_parse(const char *name, enum run_phase *out)
{
	int found = name_find(phase_names, PHASE_COUNT, name);

	if (found < 0)
		return found;
	*out = (enum run_phase)found;
	return 0;
}

int run_status_parse(const char *name, enum run_status *out)
{
	int found = name_find(status_names, RUN_STATUS_COUNT, name);

	if (found < 0)
		return found;
	*out = (enum run_status)found;
	return 0;
}

static enum run_action end(struct run_progress *progress, enum run_status status)
{
	if (status == RUN_DONE)
		progress->phase = PHASE_DONE;
	progress->status = status;
	return RUN_ACT_FINISH;
}

static enum run_action soak_begin(struct run_progress *progress)
{
	progress->phase = PHASE_SOAK;
	return RUN_ACT_SOAK;
}

/* What makes the work of the phase go on. */
static enum run_action phase_action(enum run_phase phase)
{
	switch (phase) {
	case PHASE_FILL:
		return RUN_ACT_FILL;
	case PHASE_SOAK:
		return RUN_ACT_SOAK;
	case PHASE_PROBE:
		return RUN_ACT_PROBE;
	case PHASE_VERIFY:
		return RUN_ACT_VERIFY;
	default:
		return RUN_ACT_NONE;
	}
}

static enum run_action step_prepare(
	struct run_progress *progress, const struct run_plan *plan, const struct run_input *input)
{
	if (input->event == RUN_EVENT_PREPARED) {
		progress->fill_goal_bytes = input->fill_goal_bytes;
		/* Nothing to settle where nothing was discarded. */
		if (!input->discarded)
			progress->settled_ns = plan->settle_ns;
	} else {
		progress->settled_ns += input->elapsed_ns;
	}
	if (!progress->fill_goal_bytes || progress->settled_ns < plan->settle_ns)
		return RUN_ACT_NONE;
	progress->phase = PHASE_FILL;
	return RUN_ACT_FILL;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static enum run_action step_fill(struct run_progress *progress, const struct run_input *input)
{
	switch (input->event) {
	case RUN_EVENT_FILLED:
		progress->fill_done_bytes = input->fill_done_bytes;
		progress->extent_bytes = input->fill_done_bytes;
		return soak_begin(progress);
	case RUN_EVENT_FLUSHED:
		progress->fill_durable_bytes = most(progress->fill_durable_bytes,
			least(input->fill_done_bytes, progress->fill_done_bytes));
		return RUN_ACT_NONE;
	case RUN_EVENT_BUDGET_SPENT:
		progress->fill_done_bytes = most(progress->fill_done_bytes, input->fill_done_bytes);
		return end(progress, RUN_FAILED);
	default:
		progress->fill_done_bytes = most(progress->fill_done_bytes, input->fill_done_bytes);
		return RUN_ACT_NONE;
	}
}

/* Nothing more is to be written. */
static enum run_action after_writing(struct run_progress *progress, const struct run_plan *plan)
{
	if (!plan->verifies)
		return end(progress, RUN_DONE);
	progress->phase = PHASE_VERIFY;
	return RUN_ACT_VERIFY;
}

static enum run_action step_soak(
	struct run_progress *progress, const struct run_plan *plan, const struct run_input *input)
{
	if (input->event == RUN_EVENT_BUDGET_SPENT)
		return after_writing(progress, plan);
	progress->soak_ns += input->elapsed_ns;
	if (!plan->soak_ns || progress->soak_ns < plan->soak_ns)
		return RUN_ACT_NONE;
	if (!plan->probe_ns)
		return after_writing(progress, plan);
	progress->phase = PHASE_PROBE;
	progress->probe_step = 0;
	progress->probe_ns = 0;
	return RUN_ACT_PROBE;
}

static enum run_action step_probe(
	struct run_progress *progress, const struct run_plan *plan, const struct run_input *input)
{
	if (input->event == RUN_EVENT_BUDGET_SPENT)
		return after_writing(progress, plan);
	progress->probe_ns += input->elapsed_ns;
	if (progress->probe_ns < plan->probe_ns)
		return RUN_ACT_NONE;
	progress->probe_ns = 0;
	if (progress->probe_step + 1 == RUN_PROBE_STEPS)
		return after_writing(progress, plan);
	progress->probe_step++;
	return RUN_ACT_PROBE;
}

static enum run_action step_phase(
	struct run_progress *progress, const struct run_plan *plan, const struct run_input *input)
{
	switch (progress->phase) {
	case PHASE_PREPARE:
		return step_prepare(progress, plan, input);
	case PHASE_FILL:
		return step_fill(progress, input);
	case PHASE_SOAK:
		return step_soak(progress, plan, input);
	case PHASE_PROBE:
		return step_probe(progress, plan, input);
	case PHASE_VERIFY:
		return input->event == RUN_EVENT_VERIFIED ? end(progress, RUN_DONE) : RUN_ACT_NONE;
	default:
		return RUN_ACT_NONE;
	}
}

static bool is_active(const struct run_progress *progress)
{
	return progress->status == RUN_RUNNING || progress->status == RUN_STALLED;
}

static enum run_action step_pause(struct run_progress *progress)
{
	if (!is_active(progress))
		return RUN_ACT_NONE;
	progress->status = RUN_PAUSED;
	return RUN_ACT_PAUSE;
}

static enum run_action step_resume(struct run_progress *progress)
{
	if (progress->status != RUN_PAUSED)
		return RUN_ACT_NONE;
	progress->status = RUN_RUNNING;
	return phase_action(progress->phase);
}

/* A drive that is gone is not one that stalls: a restart goes on with the run. */
static enum run_action step_absent(struct run_progress *progress)
{
	if (progress->status == RUN_STALLED)
		progress->status = RUN_RUNNING;
	return RUN_ACT_RELEASE;
}

/* What was under way when the pause was asked for is noted; what would come next waits. */
static enum run_action step_paused(
	struct run_progress *progress, const struct run_plan *plan, const struct run_input *input)
{
	enum run_action action;

	if (input->event == RUN_EVENT_TICK && progress->phase != PHASE_FILL)
		return RUN_ACT_NONE;
	action = step_phase(progress, plan, input);
	return action == RUN_ACT_FINISH ? action : RUN_ACT_NONE;
}

enum run_action run_step(
	struct run_progress *progress, const struct run_plan *plan, const struct run_input *input)
{
	bool is_paused = progress->status == RUN_PAUSED;

	if (!is_active(progress) && !is_paused)
		return RUN_ACT_NONE;
	switch (input->event) {
	case RUN_EVENT_FAILED:
		return end(progress, RUN_FAILED);
	case RUN_EVENT_STOP:
		return end(progress, RUN_DONE);
	case RUN_EVENT_PAUSE:
		return step_pause(progress);
	case RUN_EVENT_RESUME:
		return step_resume(progress);
	case RUN_EVENT_ABSENT:
		return step_absent(progress);
	default:
		return is_paused ? step_paused(progress, plan, input) : step_phase(progress, plan, input);
	}
}

enum run_action run_resume(const struct run_progress *progress)
{
	return is_active(progress) ? phase_action(progress->phase) : RUN_ACT_NONE;
}

static uint64_t probe_passed_ns(const struct run_progress *progress, const struct run_plan *plan)
{
	return progress->probe_step * plan->probe_ns + progress->probe_ns;
}

uint64_t run_filled_bytes(const struct run_progress *progress, bool power_lost)
{
	if (progress->phase == PHASE_PREPARE)
		return 0;
	if (progress->phase == PHASE_FILL)
		return power_lost ? progress->fill_durable_bytes : progress->fill_done_bytes;
	return progress->extent_bytes;
}

double run_progress_ratio(const struct run_progress *progress, const struct run_plan *plan)
{
	switch (progress->phase) {
	case PHASE_FILL:
		return progress->fill_goal_bytes
			       ? (double)progress->fill_done_bytes / (double)progress->fill_goal_bytes
			       : NAN;
	case PHASE_SOAK:
		return plan->soak_ns ? fmin(1.0, (double)progress->soak_ns / (double)plan->soak_ns) : NAN;
	case PHASE_PREPARE:
		return plan->settle_ns ? fmin(1.0, (double)progress->settled_ns / (double)plan->settle_ns)
				       : NAN;
	case PHASE_PROBE:
		return plan->probe_ns ? fmin(1.0, (double)probe_passed_ns(progress, plan) /
							  (double)(RUN_PROBE_STEPS * plan->probe_ns))
				      : NAN;
	case PHASE_DONE:
		return 1.0;
	default:
		return NAN;
	}
}

uint64_t run_eta_ns(const struct run_progress *progress, const struct run_plan *plan, double fill_bytes_per_s)
{
	switch (progress->phase) {
	case PHASE_FILL:
		if (!(fill_bytes_per_s > 0) || progress->fill_goal_bytes < progress->fill_done_bytes)
			return UINT64_MAX;
		return (uint64_t)((double)(progress->fill_goal_bytes - progress->fill_done_bytes) /
				  fill_bytes_per_s * 1e9);
	case PHASE_SOAK:
		if (!plan->soak_ns)
			return UINT64_MAX;
		return plan->soak_ns > progress->soak_ns ? plan->soak_ns - progress->soak_ns : 0;
	case PHASE_PREPARE:
		return plan->settle_ns > progress->settled_ns ? plan->settle_ns - progress->settled_ns : 0;
	case PHASE_PROBE:
		return RUN_PROBE_STEPS * plan->probe_ns > probe_passed_ns(progress, plan)
			       ? RUN_PROBE_STEPS * plan->probe_ns - probe_passed_ns(progress, plan)
			       : 0;
	case PHASE_DONE:
		return 0;
	default:
		return UINT64_MAX;
	}
}
