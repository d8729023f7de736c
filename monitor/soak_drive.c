/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The course of one drive: what the keeper is asked to do next, given what it answered. */
#include "soak_private.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"

/* Depth for the whole drive where the config leaves it to us. */
#define DEPTH_AUTO_NVME	 128
#define DEPTH_AUTO_OTHER 32

/* Full-resolution rows of the view of a run without an end: two weeks at 10 s. */
#define OPEN_END_ROWS 120960

int64_t drive_now_ms(const struct drive *drive)
{
	return tick_now_ms(&drive->soak->tick, clock_boot_ns());
}

__attribute__((format(printf, 5, 0))) static void event_put(struct drive *drive, const char *kind,
	enum event_severity severity, uint32_t count, const char *format, va_list args)
{
	static const enum log_level levels[] = {
		[EVENT_INFO] = LOG_LEVEL_INFO,
		[EVENT_WARNING] = LOG_LEVEL_WARNING,
		[EVENT_CRITICAL] = LOG_LEVEL_ERROR,
	};
	struct event_record event = {
		.t_ms = drive_now_ms(drive), .until_ms = INT64_MIN, .severity = severity, .count = count
	};

	text_copy(event.kind, sizeof(event.kind), kind);
	text_copy(event.drive, sizeof(event.drive), drive->config->name);
	if (drive->has_run)
		text_copy(event.run, sizeof(event.run), drive->run.id);
	(void)vsnprintf(event.text, sizeof(event.text), format, args);
	log_line(levels[severity], "%s: %s: %s", drive->config->name, kind, event.text);
	(void)archive_put_event(drive->soak->options.archive, &event);
}

void drive_event(struct drive *drive, const char *kind, enum event_severity severity, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	event_put(drive, kind, severity, 0, format, args);
	va_end(args);
}

void drive_event_counted(struct drive *drive, const char *kind, enum event_severity severity, uint32_t count,
	const char *format, ...)
{
	va_list args;

	va_start(args, format);
	event_put(drive, kind, severity, count, format, args);
	va_end(args);
}

void drive_command(struct drive *drive, const struct keeper_command *command)
{
	if (!keeper_send(drive->keeper, command))
		log_error("%s: a command was lost: the drive's thread hangs", drive->config->name);
}

void drive_verb(struct drive *drive, enum keeper_verb verb)
{
	const struct keeper_command command = { .verb = verb };

	drive_command(drive, &command);
}

void drive_set_status(struct drive *drive, enum run_status status, const char *reason)
{
	drive->status = status;
	text_copy(drive->tag, sizeof(drive->tag), reason);
	drive_publish(drive);
}

void drive_store(struct drive *drive)
{
	(void)archive_put_run(drive->soak->options.archive, &drive->run);
}

static unsigned depth_choose(struct drive *drive)
{
	const struct target_facts *facts = keeper_get_facts(drive->keeper);
	unsigned depth = drive->config->queue_depth;

	if (!depth)
		depth = facts->disk_count && strcmp(facts->disks[0].transport, "nvme") == 0
				? DEPTH_AUTO_NVME
				: DEPTH_AUTO_OTHER;
	if (depth < drive->config->threads)
		depth = drive->config->threads;
	if (facts->disk_count && facts->disks[0].nr_requests > 0 &&
		depth > (uint64_t)facts->disks[0].nr_requests)
		drive_event(drive, "note", EVENT_WARNING,
			"queue depth %u is above the device's nr_requests %lld: the rest waits in the kernel",
			depth, (long long)facts->disks[0].nr_requests);
	return depth;
}

/* The engine of one step of the probe: depth 1, then an open loop. */
static void probe_ask(struct drive *drive, struct keeper_command *command)
{
	const struct run_progress *progress = &drive->run.progress;
	double share = run_probe_share[progress->probe_step];

	/* Known from the soak; stored, so that a restart within the probe goes on with it. */
	if (isnan(drive->run.probe_ios_per_s))
		drive->run.probe_ios_per_s = probe_sustained(&drive->probe);
	command->verb = KEEPER_SOAK;
	command->to_bytes = progress->extent_bytes - progress->extent_bytes % drive->config->block_bytes;
	command->seed = drive->run.seed ^ progress->soak_ns ^ (uint64_t)(progress->probe_step + 1) << 56;
	command->threads = command->queue_depth = 1;
	if (share > 0 && drive->run.probe_ios_per_s > 0) {
		command->requests_per_s = share * drive->run.probe_ios_per_s;
		command->is_open_loop = true;
		command->threads = drive->config->threads;
		command->queue_depth = depth_choose(drive);
	}
	probe_begin_step(&drive->probe);
}

static void soak_ask(struct drive *drive, struct keeper_command *command)
{
	const struct run_progress *progress = &drive->run.progress;

	command->verb = KEEPER_SOAK;
	command->to_bytes = progress->extent_bytes - progress->extent_bytes % drive->config->block_bytes;
	command->threads = drive->config->threads;
	command->queue_depth = drive->queue_depth = depth_choose(drive);
	command->requests_per_s = (double)drive->config->rate_bytes_per_s / drive->config->block_bytes;
	/* A resumed soak goes on with other numbers of the same recorded seed. */
	command->seed = drive->run.seed ^ progress->soak_ns;
}

static void stop_ask(struct drive *drive)
{
	drive->job = JOB_STOPPING;
	drive_verb(drive, KEEPER_STOP);
}

void drive_ask(struct drive *drive, enum run_action action)
{
	struct keeper_command command = { .run_tag = payload_run_tag(drive->run.id) };
	const struct run_progress *progress = &drive->run.progress;

	if (action == RUN_ACT_FILL) {
		command.verb = KEEPER_FILL;
		command.from_bytes = progress->fill_done_bytes;
		command.to_bytes = progress->fill_goal_bytes;
		command.seed = drive->run.seed ^ progress->fill_done_bytes;
	} else if (action == RUN_ACT_SOAK) {
		soak_ask(drive, &command);
	} else if (action == RUN_ACT_PROBE) {
		probe_ask(drive, &command);
	} else {
		command.verb = KEEPER_VERIFY;
		command.to_bytes = progress->extent_bytes;
	}
	drive->job = JOB_STARTING;
	drive_command(drive, &command);
}

void drive_halt(struct drive *drive, enum run_action then)
{
	if (drive->then == RUN_ACT_NONE)
		drive->then = then;
	/* One that is just starting is stopped once it has. */
	if (drive->job == JOB_RUNNING)
		stop_ask(drive);
	drive->is_partial = true;
}

static void act(struct drive *drive, enum run_action action)
{
	if (action == RUN_ACT_NONE)
		return;
	drive->then = action;
	drive->path.waiting = RUN_ACT_NONE;
	drive->path.words[0] = '\0';
	/* What runs is stopped first; on_stopped() comes back here. */
	if (drive->job == JOB_RUNNING) {
		stop_ask(drive);
		return;
	}
	if (drive->job != JOB_NONE)
		return;
	drive->then = RUN_ACT_NONE;
	switch (action) {
	case RUN_ACT_FINISH:
		drive_last_sample(drive);
		break;
	case RUN_ACT_RELEASE:
		drive->is_open = false;
		drive_verb(drive, KEEPER_CLOSE);
		break;
	case RUN_ACT_PAUSE:
		break;
	default:
		if (!drive_waits_for_path(drive, action))
			drive_ask(drive, action);
	}
}

static void phase_event(struct drive *drive, enum run_phase before)
{
	const struct run_progress *progress = &drive->run.progress;
	char bytes[UNITS_TEXT_MAX];

	if (progress->phase == before)
		return;
	drive->is_partial = true;
	drive->phase_from_ns = clock_mono_ns();
	if (progress->phase == PHASE_SOAK && drive->run.soak_started_ms == INT64_MIN)
		drive->run.soak_started_ms = drive_now_ms(drive);
	units_print_bytes_rounded(
		(double)(progress->phase == PHASE_FILL ? progress->fill_goal_bytes : progress->extent_bytes),
		bytes);
	drive_event(drive, "phase", EVENT_INFO, "%s -> %s (%s)", run_phase_name(before),
		run_phase_name(progress->phase), bytes);
}

/* A step of the probe is over: keep what it answered. */
static void probe_conclude(struct drive *drive, unsigned step)
{
	struct text text = TEXT_INIT;

	if (drive->run.probe_json[0])
		text_addf(&text, "%s,", drive->run.probe_json);
	probe_step_json(&drive->probe, step, drive->run.probe_ios_per_s, &text);
	if (text_error(&text) == 0 && text.length < sizeof(drive->run.probe_json))
		text_copy(drive->run.probe_json, sizeof(drive->run.probe_json), text_string(&text));
	text_fini(&text);
}

void drive_step(struct drive *drive, const struct run_input *input)
{
	const struct run_progress before_all = drive->run.progress;
	enum run_phase before = before_all.phase;
	enum run_action action = run_step(&drive->run.progress, &drive->plan, input);

	if (before == PHASE_PROBE && action != RUN_ACT_NONE && input->event == RUN_EVENT_TICK)
		probe_conclude(drive, before_all.probe_step);
	drive->is_partial |= action != RUN_ACT_NONE;
	phase_event(drive, before);
	act(drive, action);
	/* A mere tick is stored with its sample. */
	if (action != RUN_ACT_NONE || drive->run.progress.phase != before)
		drive_store(drive);
}

void drive_fail(struct drive *drive, const char *reason)
{
	const struct run_input input = { .event = RUN_EVENT_FAILED };

	text_copy(drive->run.reason, sizeof(drive->run.reason), reason);
	drive_event(drive, "error", EVENT_CRITICAL, "%s", reason);
	drive_step(drive, &input);
	drive_set_status(drive, RUN_FAILED, reason);
}

static void record_target(struct drive *drive)
{
	const struct target_facts *facts = keeper_get_facts(drive->keeper);
	struct run_record *run = &drive->run;

	run->capacity_bytes = facts->capacity_bytes;
	text_copy(run->boot_id, sizeof(run->boot_id), drive->soak->boot_id);
	text_copy(run->direct, sizeof(run->direct), facts->direct);
	path_keep_record(drive, keeper_get_host_json(drive->keeper));
	if (facts->disk_count) {
		text_copy(run->model, sizeof(run->model), facts->disks[0].model);
		text_copy(run->serial, sizeof(run->serial), facts->disks[0].serial);
		text_copy(run->firmware, sizeof(run->firmware), facts->disks[0].firmware);
	}
}

static void resumed_note(struct drive *drive)
{
	char outage[UNITS_TEXT_MAX] = "an unknown time";
	int64_t now = drive_now_ms(drive);

	if (drive->last_sample_ms != INT64_MIN)
		units_print_duration_rounded((double)(now - drive->down_from_ms) * 1e6, outage);
	drive_put_down_row(drive, drive->down_from_ms, now);
	drive_event(drive, "resumed", EVENT_WARNING, "the run goes on in phase %s after %s",
		run_phase_name(drive->run.progress.phase), outage);
}

/* The first time in this start of the service that the run's target is open. */
static void run_register(struct drive *drive, const struct keeper_reply *reply)
{
	const struct target_plan *plan = keeper_get_plan(drive->keeper);
	uint64_t planned_s = drive->plan.soak_ns / NS_PER_S;

	/* The fill and outages also take rows of full resolution. */
	(void)archive_open_run(drive->soak->options.archive, &drive->run,
		planned_s ? planned_s * 2 + 86400 : (uint64_t)OPEN_END_ROWS * drive->run.interval_s);
	if (drive->is_resumed)
		resumed_note(drive);
	if (plan->note[0])
		drive_event(drive, "note", EVENT_WARNING, "%s", plan->note);
	if (reply->why[0])
		drive_event(drive, "note", EVENT_INFO, "%s", reply->why);
	if (!drive->is_resumed && drive->config->verify == VERIFY_END && !drive->plan.verifies)
		drive_event(drive, "note", EVENT_WARNING,
			"nothing will be verified at the end: the data is zeros, which carry no stamps");
}

static void run_go_on(struct drive *drive, const struct keeper_reply *reply)
{
	struct run_input prepared = {
		.event = RUN_EVENT_PREPARED,
		.fill_goal_bytes = keeper_get_plan(drive->keeper)->goal_bytes,
		/* A resumed run was discarded at its first start, and the rest of settle-time is still due. */
		.discarded = reply->discarded || strcmp(drive->run.pre_state, "trimmed") == 0,
	};

	if (!drive->is_resumed || drive->run.progress.phase == PHASE_PREPARE) {
		drive_step(drive, &prepared);
		return;
	}
	act(drive, run_resume(&drive->run.progress));
	drive_store(drive);
}

static void on_opened(struct drive *drive, const struct keeper_reply *reply)
{
	bool is_paused = drive->run.progress.status == RUN_PAUSED, was_absent = drive->is_absent;

	drive->is_opening = false;
	drive->is_open = true;
	drive->retry_ns = 0;
	drive->ledger_coverage = reply->ledger_coverage;
	record_target(drive);
	if (reply->discarded)
		text_copy(drive->run.pre_state, sizeof(drive->run.pre_state), "trimmed");
	drive_note_return(drive);
	if (!drive->is_sampling)
		run_register(drive, reply);
	else if (was_absent)
		drive_event(drive, "resumed", EVENT_WARNING, "the run goes on in phase %s",
			run_phase_name(drive->run.progress.phase));
	drive_set_status(drive, is_paused ? RUN_PAUSED : RUN_RUNNING, is_paused ? drive->run.reason : "");
	drive_begin_health(drive);
	drive_begin_cause(drive);
	run_go_on(drive, reply);
	/* After the step: the first interval belongs to the phase that begins now. */
	if (!drive->is_sampling)
		drive_begin_sampling(drive);
	drive->is_partial = true;
	/* Asked to stop while the checks ran. */
	if (drive->soak->is_stopping)
		drive_stop(drive);
}

static void on_sweep_started(struct drive *drive, const struct keeper_reply *reply)
{
	drive->job = JOB_RUNNING;
	sweep_begin(&drive->sweep, reply->verify);
	if (drive->then != RUN_ACT_NONE || drive->soak->is_stopping)
		stop_ask(drive);
}

static void on_started(struct drive *drive, const struct keeper_reply *reply)
{
	const char *notes;

	if (reply->verify) {
		on_sweep_started(drive, reply);
		return;
	}
	notes = engine_notes(reply->engine);
	drive->ledger_coverage = reply->ledger_coverage;
	if (reply->why[0])
		drive_event(drive, "note", EVENT_WARNING, "%s; the verification can say less", reply->why);
	drive->job = JOB_RUNNING;
	drive->had_engine = true;
	sampler_attach(drive->sampler, reply->engine);
	(void)snprintf(drive->run.engine, sizeof(drive->run.engine), "%s", engine_name(reply->engine));
	if (notes[0])
		drive_event(drive, "note", EVENT_INFO, "engine %s: %s", drive->run.engine, notes);
	if (reply->verb == KEEPER_FILL || drive->is_resumed)
		drive_watch_direct(drive);
	drive_store(drive);
	if (drive->then != RUN_ACT_NONE || drive->soak->is_stopping)
		stop_ask(drive);
}

static void fill_seal(struct drive *drive)
{
	struct keeper_command seal = { .verb = KEEPER_SEAL, .to_bytes = drive->fill_end.done_bytes };
	char done[UNITS_TEXT_MAX], goal[UNITS_TEXT_MAX];

	units_print_bytes_rounded((double)drive->fill_end.done_bytes, done);
	units_print_bytes_rounded((double)drive->run.progress.fill_goal_bytes, goal);
	if (drive->fill_end.error)
		drive_event(drive, "note", EVENT_WARNING, "the fill ended at %s of %s: %s", done, goal,
			strerror(drive->fill_end.error));
	drive_command(drive, &seal);
}

static void fill_note_end(struct drive *drive, struct engine *engine)
{
	struct run_progress *progress = &drive->run.progress;

	(void)engine_fill_ended(engine, &drive->fill_end);
	if (drive->fill_end.done_bytes > progress->fill_done_bytes)
		progress->fill_done_bytes = drive->fill_end.done_bytes;
}

/* The sweep is over: what it found is the run's, and the run goes on to its end. */
static void sweep_end(struct drive *drive)
{
	const struct run_input verified = { .event = RUN_EVENT_VERIFIED };
	struct text text = TEXT_INIT;
	char words[EVENT_TEXT_MAX];

	sweep_conclude(
		&drive->sweep, drive->ledger_coverage, drive_now_ms(drive), &text, words, sizeof(words));
	text_keep(drive->run.verify_json, sizeof(drive->run.verify_json), &text);
	drive_event(drive, sweep_is_clean(&drive->sweep) ? "note" : "error",
		sweep_is_clean(&drive->sweep) ? EVENT_INFO : EVENT_CRITICAL, "%s", words);
	drive_step(drive, &verified);
}

static void budget_note(struct drive *drive)
{
	char limit[UNITS_TEXT_MAX];

	units_print_bytes_rounded((double)drive->config->write_budget_bytes, limit);
	(void)snprintf(
		drive->run.reason, sizeof(drive->run.reason), "the write budget of %s is spent", limit);
	drive_event(drive, "budget", EVENT_WARNING, "%s: nothing more is written in phase %s",
		drive->run.reason, run_phase_name(drive->run.progress.phase));
}

static void on_stopped(struct drive *drive, const struct keeper_reply *reply)
{
	struct run_input spent = { .event = RUN_EVENT_BUDGET_SPENT };
	int failure = reply->engine ? engine_failure(reply->engine) : 0;
	bool is_sweep = reply->verify && drive->is_job_over;
	char reason[STATUS_TEXT_MAX];

	sampler_detach(drive->sampler);
	sweep_look(&drive->sweep);
	drive->sweep.verify = NULL;
	drive_note_findings(drive);
	drive->job = JOB_NONE;
	if (reply->engine && drive->run.progress.phase == PHASE_FILL)
		fill_note_end(drive, reply->engine);
	drive_verb(drive, KEEPER_FREE);
	if (drive->soak->is_stopping) {
		/* So that a reboot that follows loses nothing. */
		drive_verb(drive, KEEPER_EPOCH);
		drive_last_sample(drive);
	} else if (drive->then != RUN_ACT_NONE) {
		act(drive, drive->then);
	} else if (failure) {
		(void)snprintf(reason, sizeof(reason), "the I/O engine failed: %s", strerror(-failure));
		drive_fail(drive, reason);
	} else if (reply->is_budget_spent) {
		spent.fill_done_bytes = drive->run.progress.fill_done_bytes;
		budget_note(drive);
		drive_step(drive, &spent);
	} else if (is_sweep) {
		sweep_end(drive);
	} else if (drive->is_job_over) {
		fill_seal(drive);
	}
	drive->is_job_over = false;
}

static void on_sealed(struct drive *drive)
{
	const struct run_input filled = {
		.event = RUN_EVENT_FILLED,
		.fill_done_bytes = drive->fill_end.done_bytes,
	};
	const uint64_t capacity = drive->run.capacity_bytes;
	const double pct = (double)drive->fill_end.done_bytes * 100 / (double)capacity;
	char level[UNITS_TEXT_MAX];

	units_print_bytes_rounded((double)drive->fill_end.done_bytes, level);
	if (capacity != UINT64_MAX)
		drive_event(drive, "note", EVENT_INFO, "filled %s, %s%.1f %% of the drive's capacity", level,
			pct < 0.1 ? "less than " : "", pct < 0.1 ? 0.1 : pct);
	/* What the fill wrote is durable now: the first epoch. */
	drive->epoch_ns = clock_mono_ns();
	drive_flush(drive, drive->fill_end.done_bytes);
	if (!drive->soak->is_stopping)
		drive_step(drive, &filled);
}

static void on_failed(struct drive *drive, const struct keeper_reply *reply)
{
	switch (reply->verb) {
	case KEEPER_OPEN:
		drive_note_refusal(drive, reply);
		return;
	case KEEPER_EPOCH:
		/* The run goes on; after a power loss the ledger claims no more than the epoch before. */
		drive->is_flushing = false;
		drive_event(drive, "error", EVENT_WARNING, "a flush of the drive failed: %s", reply->why);
		drive_look(drive);
		return;
	case KEEPER_PURGE:
		drive_event(drive, "error", EVENT_WARNING, "the files could not be removed: %s", reply->why);
		return;
	case KEEPER_FILL:
	case KEEPER_SOAK:
	case KEEPER_VERIFY:
		drive->job = JOB_NONE;
		break;
	default:
		break;
	}
	if (!drive->config->device[0]) {
		drive_fail(drive, reply->why);
		return;
	}
	/* Nothing works on a drive that is gone. */
	text_copy(drive->failure, sizeof(drive->failure), reply->why);
	drive_look(drive);
}

static void on_looked(struct drive *drive, const struct keeper_reply *reply)
{
	drive->is_looking = false;
	if (reply->error == -ENODEV && drive->is_open && !drive->soak->is_stopping) {
		drive->failure[0] = '\0';
		drive_gone(drive, reply->why);
		return;
	}
	if (drive->failure[0]) {
		drive_fail(drive, drive->failure);
		drive->failure[0] = '\0';
		return;
	}
	if (strcmp(drive->trouble, reply->why) == 0)
		return;
	text_copy(drive->trouble, sizeof(drive->trouble), reply->why);
	if (drive->trouble[0])
		drive_event(drive, "error", EVENT_CRITICAL,
			"%s; the run goes on in the files that are open and can't be resumed after a stop",
			drive->trouble);
	else
		drive_event(drive, "note", EVENT_INFO, "the target is back where it was");
}

/* The drive was flushed, but the ledger's state of it could not be kept: said ever less often while that lasts. */
static void epoch_note(struct drive *drive, const char *why)
{
	uint64_t suppressed;

	if (!why[0]) {
		(void)log_complaint_clear(&drive->epoch_complaint);
		return;
	}
	if (log_complaint_raise(&drive->epoch_complaint, clock_mono_ns(), &suppressed))
		drive_event(drive, "note", EVENT_WARNING,
			"%s; after a power loss the verification can say less", why);
}

static void on_done(struct drive *drive, const struct keeper_reply *reply)
{
	const struct run_input flushed = { .event = RUN_EVENT_FLUSHED, .fill_done_bytes = reply->done_bytes };

	if (reply->verb == KEEPER_EPOCH) {
		drive->is_flushing = false;
		epoch_note(drive, reply->why);
		drive_step(drive, &flushed);
	} else if (reply->verb == KEEPER_CLOSE && drive->is_absent) {
		drive->retry_ns = clock_mono_ns();
	} else if (reply->verb == KEEPER_PURGE) {
		drive_event(drive, "note", EVENT_INFO, "the files of drivesoak were removed");
	}
}

void drive_reply(struct drive *drive, const struct keeper_reply *reply)
{
	switch (reply->answer) {
	case KEEPER_OPENED:
		on_opened(drive, reply);
		break;
	case KEEPER_STARTED:
		on_started(drive, reply);
		break;
	case KEEPER_ENDED:
		/* Also comes when a failed or finished engine is being stopped anyway. */
		if (drive->job == JOB_RUNNING) {
			drive->is_job_over = true;
			stop_ask(drive);
		}
		break;
	case KEEPER_STOPPED:
		on_stopped(drive, reply);
		break;
	case KEEPER_SEALED:
		on_sealed(drive);
		break;
	case KEEPER_LOOKED:
		on_looked(drive, reply);
		break;
	case KEEPER_FAILED:
		on_failed(drive, reply);
		break;
	case KEEPER_DONE:
		on_done(drive, reply);
		break;
	}
}

void drive_stop(struct drive *drive)
{
	if (drive->job == JOB_RUNNING)
		stop_ask(drive);
}

bool drive_is_quiet(const struct drive *drive)
{
	return drive->job == JOB_NONE;
}

void drive_announce(struct drive *drive)
{
	if (!drive->is_over)
		return;
	drive->is_over = false;
	drive_set_status(drive, drive->run.progress.status, drive->run.reason);
}
