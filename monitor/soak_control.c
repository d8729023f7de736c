/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Commands of users over the control socket. Each is answered at once with what happens now; what came of it is an
 * event of the drive. */
#include "soak_private.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/clock.h"
#include "measure/status_json.h"

static void answer_set(struct control_answer *answer, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void answer_set(struct control_answer *answer, int code, const char *format, ...)
{
	char text[STATUS_TEXT_MAX + 256];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	answer->code = code;
	text_add(&answer->text, text);
}

static void answer_status(struct soak *soak, struct control_answer *answer)
{
	char host[65] = "";
	struct drive_status status;
	struct json json;

	(void)gethostname(host, sizeof(host) - 1);
	json_init(&json, &answer->text);
	status_json_begin(&json, host, (clock_boot_ns() - soak->started_boot_ns) / NS_PER_S,
		tick_now_ms(&soak->tick, clock_boot_ns()));
	for (size_t i = 0; i < soak->drive_count; i++) {
		status_read(soak->options.board, i, &status);
		status_json_drive(&json, &status);
	}
	status_json_end(&json);
}

bool drive_has_active_run(const struct drive *drive)
{
	const enum run_status status = drive->run.progress.status;

	return drive->has_run && (status == RUN_RUNNING || status == RUN_STALLED || status == RUN_PAUSED);
}

static void do_start(
	struct drive *drive, const struct control_request *request, struct control_answer *answer)
{
	const char *name = drive->config->name;

	if (drive->is_opening || drive->job == JOB_STARTING || drive->job == JOB_STOPPING) {
		answer_set(answer, EX_TEMPFAIL, "%s is being opened or stopped; try again in a moment", name);
		return;
	}
	if (drive->is_open) {
		answer_set(answer, EX_DATAERR, "%s: run %s is under way%s", name, drive->run.id,
			drive->run.progress.status == RUN_PAUSED ? "; it is paused: drivesoak resume goes on"
								 : "");
		return;
	}
	drive->soak->stays = true;
	drive_event(drive, "note", EVENT_INFO, "start, by %s", request->who);
	if (drive_has_active_run(drive) && drive->is_resumed) {
		drive_open_again(drive);
		answer_set(answer, EX_OK, "%s: run %s is tried again", name, drive->run.id);
	} else if (drive_has_active_run(drive)) {
		answer_set(answer, EX_DATAERR, "%s: %s", name, drive->tag);
	} else {
		drive->is_absent = false;
		drive_begin_run(drive);
		answer_set(answer, EX_OK, "%s: run %s begins when the checks of the target pass", name,
			drive->run.id);
	}
}

static void do_pause(
	struct drive *drive, const struct control_request *request, struct control_answer *answer)
{
	const struct run_input pause = { .event = RUN_EVENT_PAUSE };
	char reason[STATUS_TEXT_MAX];

	if (drive->run.progress.status == RUN_PAUSED) {
		answer_set(answer, EX_OK, "%s is paused already", drive->config->name);
		return;
	}
	drive_event(drive, "note", EVENT_INFO, "paused by %s", request->who);
	(void)snprintf(reason, sizeof(reason), "paused by %s", request->who);
	text_copy(drive->run.reason, sizeof(drive->run.reason), reason);
	drive_step(drive, &pause);
	drive_store(drive);
	if (drive->is_open)
		drive_set_status(drive, RUN_PAUSED, reason);
	answer_set(answer, EX_OK, "%s: run %s is paused in phase %s", drive->config->name, drive->run.id,
		run_phase_name(drive->run.progress.phase));
}

static void do_resume(
	struct drive *drive, const struct control_request *request, struct control_answer *answer)
{
	const struct run_input resume = { .event = RUN_EVENT_RESUME };

	if (drive->run.progress.status != RUN_PAUSED) {
		answer_set(
			answer, EX_DATAERR, "%s: run %s is not paused", drive->config->name, drive->run.id);
		return;
	}
	drive_event(drive, "resumed", EVENT_INFO, "resumed by %s in phase %s", request->who,
		run_phase_name(drive->run.progress.phase));
	drive->run.reason[0] = '\0';
	if (drive->is_open)
		drive_set_status(drive, RUN_RUNNING, "");
	drive_step(drive, &resume);
	drive_store(drive);
	answer_set(answer, EX_OK, "%s: run %s goes on in phase %s", drive->config->name, drive->run.id,
		run_phase_name(drive->run.progress.phase));
}

static void do_stop(struct drive *drive, const struct control_request *request, struct control_answer *answer)
{
	const struct run_input stop = { .event = RUN_EVENT_STOP };

	if (drive->is_opening) {
		answer_set(answer, EX_TEMPFAIL, "%s is being opened; try again in a moment",
			drive->config->name);
		return;
	}
	drive->purges = request->purge;
	drive_event(drive, "note", EVENT_INFO, "stopped%s by %s", request->purge ? " and purged" : "",
		request->who);
	(void)snprintf(drive->run.reason, sizeof(drive->run.reason), "stopped by %s", request->who);
	drive->retry_ns = 0;
	drive_step(drive, &stop);
	if (!drive->is_open)
		drive_end_unopened(drive);
	answer_set(answer, EX_OK, "%s: run %s stops%s", drive->config->name, drive->run.id,
		request->purge ? ", and its files are removed" : "");
}

static const struct {
	void (*run)(
		struct drive *drive, const struct control_request *request, struct control_answer *answer);
	bool needs_run;
} commands[CONTROL_VERB_COUNT] = {
	[CONTROL_START] = { do_start, false },
	[CONTROL_PAUSE] = { do_pause, true },
	[CONTROL_RESUME] = { do_resume, true },
	[CONTROL_STOP] = { do_stop, true },
};

struct drive *soak_find_drive(struct soak *soak, const char *name)
{
	for (size_t i = 0; i < soak->drive_count; i++)
		if (strcmp(soak->drives[i].config->name, name) == 0)
			return &soak->drives[i];
	return NULL;
}

/* The record of a run that is none of the drives' present ones. */
static bool run_recall(struct soak *soak, const char *id, struct event_record *event)
{
	struct journal *journal;
	struct run_record *run = calloc(1, sizeof(*run));
	bool is_there = false;

	if (run && journal_open(soak->options.journal_path, true, &journal) == 0) {
		is_there = journal_get_run(journal, id, run) == 0;
		if (is_there)
			text_copy(event->drive, sizeof(event->drive), run->drive);
		journal_close(journal);
	}
	free(run);
	return is_there;
}

static void do_note(struct soak *soak, const struct control_request *request, struct control_answer *answer)
{
	struct event_record event = {
		.t_ms = tick_now_ms(&soak->tick, clock_boot_ns()),
		.until_ms = INT64_MIN,
		.kind = "note",
		.severity = EVENT_INFO,
	};
	struct drive *drive = soak_find_drive(soak, request->run);

	text_copy(event.run, sizeof(event.run), drive && drive->has_run ? drive->run.id : request->run);
	for (size_t i = 0; i < soak->drive_count && !event.drive[0]; i++)
		if (soak->drives[i].has_run && strcmp(soak->drives[i].run.id, event.run) == 0)
			text_copy(event.drive, sizeof(event.drive), soak->drives[i].config->name);
	if (!event.drive[0] && !run_recall(soak, event.run, &event)) {
		answer_set(answer, EX_NOINPUT, "%s: no such run, nor a drive with one", request->run);
		return;
	}
	(void)snprintf(event.text, sizeof(event.text), "%.*s", (int)sizeof(event.text) - 1, request->text);
	(void)snprintf(event.evidence, sizeof(event.evidence), "by %s", request->who);
	log_info("%s: note: %s", event.drive, event.text);
	if (archive_put_event(soak->options.archive, &event))
		answer_set(answer, EX_OK, "noted for run %s", event.run);
	else
		answer_set(answer, EX_TEMPFAIL, "the archive's queue is full; try again");
}

static void handle(void *arg, const struct control_request *request, struct control_answer *answer)
{
	struct soak *soak = arg;
	struct drive *drive;

	if (request->verb == CONTROL_STATUS) {
		answer_status(soak, answer);
		return;
	}
	if (soak_alert_command(soak, request, answer))
		return;
	if (soak->is_stopping) {
		answer_set(answer, EX_TEMPFAIL, "the service is stopping");
		return;
	}
	if (request->verb == CONTROL_NOTE) {
		do_note(soak, request, answer);
		return;
	}
	drive = soak_find_drive(soak, request->drive);
	if (!drive)
		answer_set(answer, EX_NOINPUT, "%s: no such drive in the configuration", request->drive);
	else if (commands[request->verb].needs_run && !drive_has_active_run(drive))
		answer_set(answer, EX_DATAERR, "%s has no run under way: it is %s%s%s", drive->config->name,
			run_status_name(drive->status), drive->tag[0] ? ": " : "", drive->tag);
	else
		commands[request->verb].run(drive, request, answer);
	soak_balance_paths(soak);
}

int soak_open_control(struct soak *soak, char *why)
{
	return control_open(
		soak->event, soak->options.config->runtime_directory, handle, soak, &soak->control, why);
}
