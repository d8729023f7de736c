/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The start of the service for one drive: a new run, or the one that the journal says is still going on. */
#include "soak_private.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "target/claim.h"

static uint64_t seed_draw(void)
{
	uint64_t seed = 0;

	if (getrandom(&seed, sizeof(seed), 0) != (ssize_t)sizeof(seed))
		seed = clock_mono_ns() ^ (uint64_t)clock_wall_ns();
	return seed >> 1; /* fits a signed integer in every file format */
}

static void frozen_make(const struct drive *drive, char *out)
{
	struct text text = TEXT_INIT;

	config_drive_frozen(drive->config, drive->soak->options.config->sample_interval_ns, &text);
	text_keep(out, RUN_FROZEN_MAX, &text);
}

static void run_init(struct drive *drive)
{
	const struct config *config = drive->soak->options.config;
	struct run_record *run = &drive->run;
	struct text text = TEXT_INIT;

	*run = (struct run_record){
		.source = SOURCE_OWN,
		.progress = { .phase = PHASE_PREPARE, .status = RUN_RUNNING },
		.started_ms = drive_now_ms(drive),
		.soak_started_ms = INT64_MIN,
		.ended_ms = INT64_MIN,
		.interval_s = (uint32_t)(config->sample_interval_ns / NS_PER_S),
		.seed = seed_draw(),
		.capacity_bytes = UINT64_MAX,
		.price_amount = drive->config->price_amount,
		.probe_ios_per_s = NAN,
	};
	run_id_make(drive->config->name, run->started_ms, run->id);
	text_copy(run->drive, sizeof(run->drive), drive->config->name);
	text_copy(run->label, sizeof(run->label), drive->config->label);
	text_copy(run->price_currency, sizeof(run->price_currency), drive->config->price_currency);
	text_copy(run->pre_state, sizeof(run->pre_state), "unknown");
	frozen_make(drive, run->frozen);
	config_drive_json(drive->config, config->sample_interval_ns, &text);
	text_keep(run->config_json, sizeof(run->config_json), &text);
}

static void open_ask(struct drive *drive)
{
	struct keeper_command command = { .verb = KEEPER_OPEN };
	struct run_progress *progress = &drive->run.progress;

	/* A drive that was pulled out lost its power too. */
	command.power_lost = drive->is_absent || strcmp(drive->run.boot_id, drive->soak->boot_id) != 0;
	text_copy(command.run_id, sizeof(command.run_id), drive->run.id);
	command.goal_bytes = progress->fill_goal_bytes;
	command.discard = drive->config->discard && !command.goal_bytes;
	command.run_tag = payload_run_tag(drive->run.id);
	command.seed = drive->run.seed;
	command.written_bytes = drive->run.written_bytes;
	command.filled_bytes = run_filled_bytes(progress, command.power_lost);
	/* What a volatile cache had of the fill when the power went may be gone: write it again. */
	if (drive->is_resumed && progress->phase == PHASE_FILL)
		progress->fill_done_bytes = command.filled_bytes;
	drive->has_run = true;
	drive->is_opening = true;
	drive->retry_ns = 0;
	drive_command(drive, &command);
	/* A drive that is waited for does not change its state at each try. */
	if (!drive->is_absent && !drive->refusal[0])
		drive_set_status(drive, RUN_IDLE, "the target is being opened and checked");
}

/* What the start of the service, or an earlier run in it, left. */
static void course_reset(struct drive *drive)
{
	drive->is_resumed = drive->is_over = drive->is_job_over = drive->purges = false;
	drive->is_flushing = drive->was_flushing = false;
	drive->base_written_bytes = -sampler_get_sums(drive->sampler).write_bytes;
	drive->base_errors = -sampler_get_sums(drive->sampler).errors;
	drive->too_many_ns = 0;
	drive->last_error = 0;
	drive->last_sample_ms = INT64_MIN;
	drive->path = (struct path_watch){ 0 };
	drive->badge[0] = drive->trouble[0] = drive->refusal[0] = '\0';
	drive->fill_end = (struct engine_fill_end){ 0 };
	drive->probe = (struct probe_watch){ 0 };
	drive->sweep = (struct sweep_watch){ 0 };
	drive->host_watch = (struct hostlimit_watch){ 0 };
	drive_forget_cause(drive);
	drive_forget_judge(drive);
	drive->health = (struct health_watch){ .prober = drive->health.prober,
		.read_ms = INT64_MIN,
		.first_percent_used = NAN,
		.first_media_errors = NAN };
}

void drive_begin_run(struct drive *drive)
{
	course_reset(drive);
	run_init(drive);
	open_ask(drive);
}

void drive_open_again(struct drive *drive)
{
	if (!drive->is_resumed)
		run_init(drive);
	open_ask(drive);
}

/* Consent of after the last run's end, which no run has used. */
static bool is_armed(const struct drive *drive, int64_t after_ms, char *why)
{
	struct claim claim;

	why[0] = '\0';
	return drive->config->device[0] &&
	       claim_read(drive->soak->options.config->state_directory, drive->config->name, &claim, why) ==
		       0 &&
	       !claim.run[0] && claim.armed_ms > after_ms && drive_now_ms(drive) < claim.expires_ms;
}

/* The service was killed between taking a claim over and recording its run: the drive is that run's, so it is begun. */
static bool begin_unrecorded(struct drive *drive, struct journal *journal)
{
	struct run_record *known = malloc(sizeof(*known));
	char why[CLAIM_WHY_MAX];
	struct claim claim;
	bool is_unrecorded = known && drive->config->device[0] &&
			     claim_read(drive->soak->options.config->state_directory, drive->config->name,
				     &claim, why) == 0 &&
			     claim.run[0] && drive_now_ms(drive) < claim.taken_ms + CLAIM_RETAKE_MS &&
			     journal_get_run(journal, claim.run, known) == -ENOENT;

	free(known);
	if (!is_unrecorded)
		return false;
	course_reset(drive);
	run_init(drive);
	text_copy(drive->run.id, sizeof(drive->run.id), claim.run);
	open_ask(drive);
	return true;
}

static void begin_first(struct drive *drive, struct journal *journal)
{
	char why[CLAIM_WHY_MAX], reason[STATUS_TEXT_MAX];
	bool armed;

	if (begin_unrecorded(drive, journal))
		return;
	if (drive->config->start == START_AUTO) {
		drive_begin_run(drive);
		return;
	}
	armed = is_armed(drive, INT64_MIN, why);
	(void)snprintf(reason, sizeof(reason), "%s%s%swaits for: drivesoak start %s", armed ? "armed; " : "",
		why, why[0] ? "; then " : "", drive->config->name);
	drive_set_status(drive, armed ? RUN_ARMED : RUN_IDLE, reason);
}

/* A run that is over never starts again by itself; a new one may, where the user has armed the drive again. */
static void begin_next(struct drive *drive, struct journal *journal)
{
	char why[CLAIM_WHY_MAX], reason[STATUS_TEXT_MAX];
	bool armed = is_armed(drive, drive->run.ended_ms, why);

	if (begin_unrecorded(drive, journal))
		return;
	drive->has_run = true;
	if (armed && drive->config->start == START_AUTO) {
		drive_begin_run(drive);
		return;
	}
	(void)snprintf(reason, sizeof(reason), "run %s is over and does not start again by itself%s%s%s%s",
		drive->run.id, drive->run.reason[0] ? ": " : "", drive->run.reason,
		armed ? "; armed, waits for: drivesoak start " : "", armed ? drive->config->name : "");
	drive_set_status(drive, armed ? RUN_ARMED : drive->run.progress.status, reason);
}

/* What the soak sustained before the service ended. */
static int recall_sample(const struct sample *sample, void *arg)
{
	struct drive *drive = arg;

	probe_note_soak(&drive->probe, sample);
	return 0;
}

/* What the journal has of the run, also of one that is refused: its user may stop it. */
static void run_recall(struct drive *drive, struct journal *journal)
{
	struct journal_sums sums;
	struct sample last;

	if (journal_get_sums(journal, drive->run.id, &sums) == 0) {
		drive->base_written_bytes = sums.write_bytes;
		drive->base_errors = sums.errors;
	}
	if (journal_get_last_sample(journal, drive->run.id, &last) == 0) {
		int64_t end_ms = last.t_ms - (int64_t)drive->run.interval_s * 1000 +
				 (int64_t)(last.elapsed_ns / NS_PER_MS);

		drive->last_sample_ms = last.t_ms;
		/* The last sample before an orderly stop is shorter than its stamps say. */
		drive->down_from_ms = last.state != SAMPLE_DOWN && end_ms < last.t_ms ? end_ms : last.t_ms;
		(void)journal_each_sample(journal, drive->run.id,
			last.t_ms - (int64_t)PROBE_RECENT * drive->run.interval_s * 1000, INT64_MAX, false,
			recall_sample, drive);
	}
	/* A fall that lasts is told again with the cause that was found of it. */
	drive_recall_cause(drive, journal);
	drive_recall_judge(drive, journal);
	drive_recall_health(drive, journal);
}

static void resume_ask(struct drive *drive, struct journal *journal)
{
	char difference[256], reason[STATUS_TEXT_MAX];

	run_recall(drive, journal);
	if (!config_drive_keeps_frozen(drive->config, drive->soak->options.config->sample_interval_ns,
		    drive->run.frozen, difference, sizeof(difference))) {
		(void)snprintf(reason, sizeof(reason),
			"refused: run %s lasts and its settings are frozen: %s; put it back, or stop the run",
			drive->run.id, difference);
		drive->has_run = true;
		drive_event(drive, "error", EVENT_CRITICAL, "%s", reason);
		drive_set_status(drive, RUN_FAILED, reason);
		return;
	}
	drive->is_resumed = true;
	open_ask(drive);
}

void drive_begin(struct drive *drive, struct journal *journal)
{
	char reason[STATUS_TEXT_MAX];
	int rc = journal_get_newest_run(journal, drive->config->name, &drive->run);

	drive->last_sample_ms = INT64_MIN;
	drive->plan = (struct run_plan){
		.settle_ns = drive->config->settle_ns,
		.soak_ns = drive->config->duration_ns,
		.probe_ns = drive->config->probe_phase_ns,
		/* Zeros carry no stamps to be checked. */
		.verifies = drive->config->verify == VERIFY_END && drive->config->payload == PAYLOAD_RANDOM,
	};
	/* Somebody else's log under this name is no run to go on with. */
	if (rc == 0 && drive->run.source == SOURCE_IMPORTED) {
		memset(&drive->run, 0, sizeof(drive->run));
		rc = -ENOENT;
	}
	if (rc == -ENOENT) {
		begin_first(drive, journal);
		return;
	}
	if (rc < 0) {
		(void)snprintf(
			reason, sizeof(reason), "the journal can't be read: %s", journal_error(journal));
		drive_set_status(drive, RUN_FAILED, reason);
		return;
	}
	if (drive->run.progress.status == RUN_RUNNING || drive->run.progress.status == RUN_PAUSED)
		resume_ask(drive, journal);
	else
		begin_next(drive, journal);
}
