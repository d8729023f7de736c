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

static enum run_action step_fill(struct run_progress *progress, const struct run_input *input)
{
	if (input->event != RUN_EVENT_FILLED) {
		if (input->fill_done_bytes > progress->fill_done_bytes)
			progress->fill_done_bytes = input->fill_done_bytes;
		return RUN_ACT_NONE;
	}
	progress->fill_done_bytes = input->fill_done_bytes;
	progress->extent_bytes = input->fill_done_bytes;
	return soak_begin(progress);
}

static enum run_action after_probe(struct run_progress *progress, const struct run_plan *plan)
{
	if (!plan->verifies)
		return end(progress, RUN_DONE);
	progress->phase = PHASE_VERIFY;
	return RUN_ACT_VERIFY;
}

static enum run_action step_soak(
	struct run_progress *progress, const struct run_plan *plan, const struct run_input *input)
{
	progress->soak_ns += input->elapsed_ns;
	if (!plan->soak_ns || progress->soak_ns < plan->soak_ns)
		return RUN_ACT_NONE;
	if (!plan->probe_ns)
		return after_probe(progress, plan);
	progress->phase = PHASE_PROBE;
	progress->probe_step = 0;
	progress->probe_ns = 0;
	return RUN_ACT_PROBE;
}

static enum run_action step_probe(
	struct run_progress *progress, const struct run_plan *plan, const struct run_input *input)
{
	progress->probe_ns += input->elapsed_ns;
	if (progress->probe_ns < plan->probe_ns)
		return RUN_ACT_NONE;
	progress->probe_ns = 0;
	if (progress->probe_step + 1 == RUN_PROBE_STEPS)
		return after_probe(progress, plan);
	progress->probe_step++;
	return RUN_ACT_PROBE;
}

enum run_action run_step(
	struct run_progress *progress, const struct run_plan *plan, const struct run_input *input)
{
	if (progress->status != RUN_RUNNING && progress->status != RUN_STALLED)
		return RUN_ACT_NONE;
	if (input->event == RUN_EVENT_FAILED)
		return end(progress, RUN_FAILED);
	if (input->event == RUN_EVENT_STOP)
		return end(progress, RUN_DONE);
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

enum run_action run_resume(const struct run_progress *progress)
{
	if (progress->status != RUN_RUNNING && progress->status != RUN_STALLED)
		return RUN_ACT_NONE;
	switch (progress->phase) {
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

static uint64_t probe_passed_ns(const struct run_progress *progress, const struct run_plan *plan)
{
	return progress->probe_step * plan->probe_ns + progress->probe_ns;
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
