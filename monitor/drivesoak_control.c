/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "drivesoak_control.h"

#include <errno.h>
#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "archive/journal.h"
#include "base/clock.h"
#include "base/units.h"
#include "control/control.h"
#include "drivesoak_cells.h"
#include "drivesoak_output.h"
#include "target/target.h"

/* Cut would be another name, replaced another text: refuse rather. */
static int field_set(char *to, size_t size, const char *value, const char *name)
{
	if (strlen(value) >= size)
		return output_fail(EX_DATAERR, name, "is too long");
	text_copy(to, size, value);
	return EX_OK;
}

/* What the service would refuse is refused here, with the same words. */
static int request_check(const struct control_request *request)
{
	static const char replaced[] = "\xef\xbf\xbd"; /* what is no UTF-8 was printed as this */
	struct control_request ignored;
	struct text line = TEXT_INIT;
	char why[CONTROL_WHY_MAX] = "";
	int code = EX_OK;

	control_print_request(request, &line);
	if (strstr(text_string(&line), replaced) && !strstr(request->text, replaced))
		code = output_fail(EX_DATAERR, "text", "is not UTF-8");
	else if (control_parse_request(text_string(&line), &ignored, why) < 0)
		code = output_fail(EX_DATAERR, "not asked", why);
	text_fini(&line);
	return code;
}

static int request_make(const char *command, char **operands, bool purges, struct control_request *out)
{
	static const struct {
		const char *name;
		enum control_verb verb;
	} row[] = {
		{ "status", CONTROL_STATUS },
		{ "start", CONTROL_START },
		{ "pause", CONTROL_PAUSE },
		{ "resume", CONTROL_RESUME },
		{ "stop", CONTROL_STOP },
		{ "note", CONTROL_NOTE },
	};
	int code = EX_OK;

	*out = (struct control_request){ .verb = CONTROL_STATUS, .purge = purges };
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		if (strcmp(row[i].name, command) == 0)
			out->verb = row[i].verb;
	if (out->verb == CONTROL_STATUS)
		return EX_OK;
	if (out->verb == CONTROL_NOTE) {
		code = field_set(out->run, sizeof(out->run), operands[0], "run");
		if (code == EX_OK)
			code = field_set(out->text, sizeof(out->text), operands[1], "text");
	} else {
		code = field_set(out->drive, sizeof(out->drive), operands[0], "drive");
	}
	return code == EX_OK ? request_check(out) : code;
}

static void cell_print(double value, double scale, void (*print)(double value, char *text), char *out)
{
	if (isfinite(value))
		print(value * scale, out);
	else
		text_copy(out, UNITS_TEXT_MAX, "-");
}

static void percent_print(double value, char *out)
{
	(void)snprintf(out, UNITS_TEXT_MAX, "%.1f %%", value);
}

static void status_line(struct json_object *drive)
{
	char name[CELL_MAX], state[CELL_MAX], phase[CELL_MAX], run[CELL_MAX], reason[CELL_MAX];
	char done[UNITS_TEXT_MAX], eta[UNITS_TEXT_MAX], rate[UNITS_TEXT_MAX], p99[UNITS_TEXT_MAX],
		written[UNITS_TEXT_MAX];
	double writes = cell_number(drive, "write_bytes_per_s"),
	       reads = cell_number(drive, "read_bytes_per_s"), left = cell_number(drive, "eta_s");

	cell_text(drive, "name", name);
	cell_text(drive, "state", state);
	cell_text(drive, "phase", phase);
	cell_text(drive, "run", run);
	cell_text(drive, "reason", reason);
	cell_print(cell_number(drive, "progress"), 100, percent_print, done);
	cell_print(left > 0 ? left : NAN, 1e9, units_print_duration_rounded, eta);
	cell_print(reads > writes ? reads : writes, 1, units_print_rate_rounded, rate);
	cell_print(cell_number(drive, "lat_p99_ns"), 1, units_print_duration_rounded, p99);
	cell_print(cell_number(drive, "written_bytes"), 1, units_print_bytes_rounded, written);
	(void)printf("%-16s %-8s %-8s %8s %14s %12s %10s %10s  %s\n", name, state, phase, done, eta, rate,
		p99, written, run);
	if (strcmp(reason, "-") != 0)
		(void)printf("  %s\n", reason);
}

static int status_print(const char *answer)
{
	struct json_object *status = json_tokener_parse(answer), *drives = NULL;
	int code = EX_OK;

	if (status && json_object_object_get_ex(status, "drives", &drives) &&
		json_object_is_type(drives, json_type_array)) {
		(void)printf("%-16s %-8s %-8s %8s %14s %12s %10s %10s  %s\n", "DRIVE", "STATE", "PHASE",
			"DONE", "ETA", "RATE", "P99", "WRITTEN", "RUN");
		for (size_t i = 0; i < json_object_array_length(drives); i++)
			status_line(json_object_array_get_idx(drives, i));
	} else {
		code = output_fail(EX_PROTOCOL, "status", "the answer can't be understood");
	}
	(void)json_object_put(status);
	return code;
}

static int answer_show(const struct control_request *request, char *answer, bool is_json)
{
	int code = EX_OK;

	if (request->verb != CONTROL_STATUS)
		cell_tame(answer);
	if (request->verb == CONTROL_STATUS && !is_json)
		code = status_print(answer);
	else if (*answer)
		(void)printf("%s%s", answer, answer[strlen(answer) - 1] == '\n' ? "" : "\n");
	if (fflush(stdout) != 0 || ferror(stdout))
		return output_fail(EX_IOERR, "standard output", strerror(errno));
	return code;
}

/* 75 unless the next start of the service would leave the drive's newest run alone. */
static int run_is_over(const struct config *config, const char *drive)
{
	static struct run_record run;
	struct text path = TEXT_INIT;
	struct journal *journal = NULL;
	int code = EX_OK, rc;

	text_addf(&path, "%s/journal.db", config->state_directory);
	rc = journal_open(text_string(&path), true, &journal);
	if (rc == 0)
		rc = journal_get_newest_run(journal, drive, &run);
	if (rc == 0 && run.progress.status != RUN_DONE && run.progress.status != RUN_FAILED)
		code = output_fail(EX_TEMPFAIL, run.id,
			"is not over and goes on when the service starts: start the service and stop the run "
			"first");
	else if (rc < 0 && rc != -ENOENT)
		code = output_fail(
			rc == -EACCES ? EX_NOPERM : EX_IOERR, text_string(&path), journal_error(journal));
	journal_close(journal);
	text_fini(&path);
	return code;
}

static int purge_code(int rc)
{
	return rc == -EBUSY			 ? EX_TEMPFAIL
	       : rc == -EACCES || rc == -EPERM	 ? EX_NOPERM
	       : rc == -ENOENT || rc == -ENOTDIR ? EX_NOINPUT
						 : EX_IOERR;
}

/* Nobody listens: what can be done without a service. @words: who was asked. */
static int purge_alone(const struct config *config, const char *name, const char *words)
{
	const struct config_drive *drive = config_find_drive(config, name);
	struct target_request request = { .state_directory = config->state_directory };
	char why[TARGET_WHY_MAX] = "";
	int code, rc;

	if (!drive)
		return output_fail(EX_NOINPUT, name, "no such drive in the configuration");
	if (drive->device[0]) {
		(void)fprintf(stderr, "drivesoak: %s\n", words);
		return output_fail(EX_UNAVAILABLE, name, "is a device: there is nothing to purge");
	}
	code = run_is_over(config, name);
	if (code != EX_OK)
		return code;
	request.drive = drive;
	rc = target_purge(&request, why);
	if (rc < 0)
		return output_fail(purge_code(rc), name, why);
	(void)printf("no service runs; the files of %s in %s are removed\n", name, drive->directory);
	return EX_OK;
}

int drivesoak_control(
	const struct config *config, const char *command, char **operands, bool is_json, bool purges)
{
	struct control_request request;
	struct text answer = TEXT_INIT;
	int code = request_make(command, operands, purges, &request);

	if (code != EX_OK)
		return code;
	code = control_ask(config->runtime_directory, &request, &answer);
	if (!answer.bytes) /* nothing was said */
		text_add(&answer, "");
	if (!answer.bytes)
		return output_fail(EX_OSERR, command, strerror(ENOMEM));
	if (code == EX_OK) {
		code = answer_show(&request, answer.bytes, is_json);
	} else if (code == EX_UNAVAILABLE && purges) {
		code = purge_alone(config, request.drive, answer.bytes);
	} else {
		cell_tame(answer.bytes);
		(void)fprintf(stderr, "drivesoak: %s\n", answer.bytes);
	}
	text_fini(&answer);
	return code;
}
