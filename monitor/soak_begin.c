/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The start of the service for one drive: a new run, or the one that the journal says is still going on. */
#include "soak_private.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"

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

	text_copy(command.run_id, sizeof(command.run_id), drive->run.id);
	command.goal_bytes = drive->run.progress.fill_goal_bytes;
	command.discard = drive->config->discard && !command.goal_bytes;
	command.run_tag = payload_run_tag(drive->run.id);
	/* Only a volatile cache that lost its power may legally forget what was acknowledged. */
	command.power_lost = strcmp(drive->run.boot_id, drive->soak->boot_id) != 0;
	if (drive->config->payload == PAYLOAD_RANDOM)
		(void)snprintf(command.ledger_path, sizeof(command.ledger_path), "%s/runs/%s.ledger",
			drive->soak->options.config->state_directory, drive->run.id);
	drive->has_run = true;
	drive_command(drive, &command);
	drive_set_status(drive, RUN_IDLE, "the target is being opened");
}

/* The first line of @now that differs from @then, "key=value". */
static void frozen_difference(const char *then, const char *now, char *key, size_t size)
{
	while (*then && *now) {
		size_t a = strcspn(then, "\n"), b = strcspn(now, "\n");

		if (a != b || memcmp(then, now, a) != 0)
			break;
		then += a + (then[a] == '\n');
		now += b + (now[b] == '\n');
	}
	(void)snprintf(
		key, size, "was %.*s, is %.*s", (int)strcspn(then, "\n"), then, (int)strcspn(now, "\n"), now);
}

/* What the soak sustained before the service ended. */
static int recall_sample(const struct sample *sample, void *arg)
{
	struct drive *drive = arg;

	probe_note_soak(&drive->probe, sample);
	return 0;
}

static void resume_ask(struct drive *drive, struct journal *journal)
{
	char frozen[RUN_FROZEN_MAX], difference[256], reason[STATUS_TEXT_MAX];
	struct journal_sums sums;
	struct sample last;

	frozen_make(drive, frozen);
	if (strcmp(frozen, drive->run.frozen) != 0) {
		frozen_difference(drive->run.frozen, frozen, difference, sizeof(difference));
		(void)snprintf(reason, sizeof(reason),
			"refused: run %s lasts and its settings are frozen: %s; put it back, or stop the run",
			drive->run.id, difference);
		drive->has_run = true;
		drive_event(drive, "error", EVENT_CRITICAL, "%s", reason);
		drive_set_status(drive, RUN_FAILED, reason);
		return;
	}
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
	}
	(void)journal_each_sample(journal, drive->run.id,
		drive->last_sample_ms - (int64_t)PROBE_RECENT * drive->run.interval_s * 1000, INT64_MAX,
		false, recall_sample, drive);
	/* What a volatile cache had of the fill when the power went may be gone: fill it again. */
	if (drive->run.progress.phase == PHASE_FILL && strcmp(drive->run.boot_id, drive->soak->boot_id) != 0)
		drive->run.progress.fill_done_bytes = 0;
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
	if (rc == -ENOENT) {
		run_init(drive);
		open_ask(drive);
		return;
	}
	if (rc < 0) {
		(void)snprintf(
			reason, sizeof(reason), "the journal can't be read: %s", journal_error(journal));
		drive_set_status(drive, RUN_FAILED, reason);
		return;
	}
	if (drive->run.progress.status == RUN_RUNNING) {
		resume_ask(drive, journal);
		return;
	}
	drive->has_run = true;
	(void)snprintf(reason, sizeof(reason), "run %s is over and does not start again by itself%s%s",
		drive->run.id, drive->run.reason[0] ? ": " : "", drive->run.reason);
	drive_set_status(drive, drive->run.progress.status, reason);
}
