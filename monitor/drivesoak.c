/* SPDX-License-Identifier: GPL-2.0-or-later */
/* drivesoak - the client. What works offline reads the journal below the state directory and needs no
 * service. */
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "archive/export.h"
#include "archive/figures.h"
#include "archive/journal.h"
#include "archive/report.h"
#include "archive/rrdfile.h"
#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "config/config.h"
#include "drivesoak_analyse.h"
#include "drivesoak_arm.h"
#include "drivesoak_control.h"
#include "drivesoak_decode.h"
#include "drivesoak_import.h"
#include "drivesoak_output.h"
#include "drivesoak_plan.h"
#include "drivesoak_drives.h"
#include "drivesoak_verify.h"
#include "web/assets.h"

struct options {
	const char *subcommand, *config_path, *state_directory, *format, *output, *rate, *serial_tail, *kind;
	const char *device, *interval, *name, *start;
	bool is_json, purges, wants_health;
	char **operands;
	int operand_count;
};

enum option_bit {
	MAY_JSON = 1 << 0,
	MAY_FORMAT = 1 << 1,
	MAY_OUTPUT = 1 << 2,
	NEEDS_OUTPUT = 1 << 3,
	MAY_STATE = 1 << 4, /* the state directory is enough, without a configuration */
	MAY_PURGE = 1 << 5,
	MAY_RATE = 1 << 6,
	MAY_TAIL = 1 << 7,
	MAY_KIND = 1 << 8,
	NO_CONFIG = 1 << 9,
	MAY_HEALTH = 1 << 10,
	MAY_LOG = 1 << 11, /* what a log of another tool may not tell */
	MAY_NAME = 1 << 12,
};

struct subcommand {
	const char *name, *operands, *what;
	unsigned may;
	int operands_min, operands_max;
	int (*run)(const struct options *options); /* an exit code; NULL: not in this version yet */
};

static int exit_code_of(int rc)
{
	static const struct {
		int rc, code;
	} row[] = {
		{ -ENOENT, EX_NOINPUT },
		{ -ENOTDIR, EX_NOINPUT },
		{ -EBADMSG, EX_DATAERR },
		{ -EPROTO, EX_DATAERR },
		{ -EACCES, EX_NOPERM },
		{ -EPERM, EX_NOPERM },
		{ -ENOMEM, EX_OSERR },
		{ -EBUSY, EX_TEMPFAIL },
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		if (row[i].rc == rc)
			return row[i].code;
	return EX_IOERR;
}

static int find_state(const struct options *options, struct text *state)
{
	struct text mistakes = TEXT_INIT;
	struct config *config = NULL;
	int rc;

	if (options->state_directory) {
		text_add(state, options->state_directory);
		return EX_OK;
	}
	rc = config_load(options->config_path, &config, &mistakes);
	if (rc < 0) {
		(void)fputs(text_string(&mistakes), stderr);
		text_fini(&mistakes);
		return rc == -EACCES ? EX_NOPERM : EX_CONFIG;
	}
	text_add(state, config->state_directory);
	config_free(config);
	text_fini(&mistakes);
	return EX_OK;
}

/* @state gets the state directory; the caller frees both also after a failure. */
static int open_journal(const struct options *options, struct text *state, struct journal **out)
{
	struct text path = TEXT_INIT;
	int code = find_state(options, state), rc;

	if (code != EX_OK)
		return code;
	text_addf(&path, "%s/journal.db", text_string(state));
	rc = journal_open(text_string(&path), true, out);
	if (rc < 0)
		code = output_fail(exit_code_of(rc), text_string(&path), journal_error(NULL));
	text_fini(&path);
	return code;
}

/* By its id, or the newest of a drive by the drive's name. */
static int get_run(struct journal *journal, const char *name, struct run_record *out)
{
	int rc = journal_get_run(journal, name, out);

	if (rc == -ENOENT)
		rc = journal_get_newest_run(journal, name, out);
	if (rc == -ENOENT)
		return output_fail(
			EX_NOINPUT, name, "no such run, nor a drive with one (see drivesoak runs)");
	return rc < 0 ? output_fail(exit_code_of(rc), name, journal_error(journal)) : EX_OK;
}

static int print_run_line(const struct run_record *run, void *arg)
{
	struct journal *journal = arg;
	char started[REPORT_TIME_MAX], soaked[UNITS_TEXT_MAX], median[UNITS_TEXT_MAX] = "unknown";
	const struct summary_part *part;
	struct summary_figures figures;
	int rc = figures_read(journal, run, &figures);

	if (rc < 0)
		return rc;
	report_print_time(run->started_ms, started);
	units_print_duration_rounded((double)run->progress.soak_ns, soaked);
	part = summary_shown(&figures);
	if (part->read.median > part->write.median)
		units_print_rate_rounded(part->read.median, median);
	else if (part->samples)
		units_print_rate_rounded(part->write.median, median);
	(void)printf("%-40s %-8s %-8s %-24s %12s %14s  %s%s\n", run->id,
		run_status_name(run->progress.status), run_phase_name(run->progress.phase), started, soaked,
		median, run->model, summary_is_host_limited(&figures) ? " (host-limited)" : "");
	return 0;
}

static int run_runs(const struct options *options)
{
	struct text state = TEXT_INIT;
	struct journal *journal = NULL;
	struct output output = { stdout, NULL, TEXT_INIT };
	int code = open_journal(options, &state, &journal), rc = 0;

	if (code == EX_OK && options->is_json) {
		rc = export_runs_json(journal, stdout);
	} else if (code == EX_OK) {
		(void)printf("%-40s %-8s %-8s %-24s %12s %14s  %s\n", "RUN", "STATE", "PHASE", "STARTED",
			"SOAKED", "MEDIAN", "MODEL");
		rc = journal_each_run(journal, print_run_line, journal);
	}
	if (rc < 0 && !ferror(stdout))
		code = output_fail(exit_code_of(rc), text_string(&state), journal_error(journal));
	journal_close(journal);
	text_fini(&state);
	return output_close(&output, code);
}

static int write_samples(struct journal *journal, const struct run_record *run, const struct options *options)
{
	bool is_json = strcmp(options->format, "json") == 0;
	struct output output;
	int code = output_open(options->output, &output), rc;

	if (code != EX_OK)
		return code;
	rc = is_json ? export_samples_json(journal, run, output.file)
		     : export_samples_csv(journal, run, output.file);
	if (rc < 0 && !ferror(output.file))
		code = output_fail(exit_code_of(rc), run->id, journal_error(journal));
	return output_close(&output, code);
}

static int run_export(const struct options *options)
{
	struct text state = TEXT_INIT;
	struct journal *journal = NULL;
	struct run_record run;
	int code;

	if (!options->format)
		return output_fail(EX_USAGE, "export", "--format csv or --format json is needed");
	if (strcmp(options->format, "openmetrics") == 0)
		return output_fail(EX_USAGE, "export", "the format openmetrics is not in this version yet");
	if (strcmp(options->format, "csv") != 0 && strcmp(options->format, "json") != 0)
		return output_fail(EX_USAGE, options->format, "no such format; there are csv and json");
	code = open_journal(options, &state, &journal);
	if (code == EX_OK)
		code = get_run(journal, options->operands[0], &run);
	if (code == EX_OK)
		code = write_samples(journal, &run, options);
	journal_close(journal);
	text_fini(&state);
	return code;
}

static int write_report(
	struct journal *journal, const struct run_record *runs, size_t count, const struct options *options)
{
	const struct asset *sheet = assets_find("style.css");
	struct text html = TEXT_INIT, style = TEXT_INIT;
	struct output output;
	int code = EX_OK, rc;

	if (sheet)
		text_add_bytes(&style, (const char *)sheet->bytes, sheet->length);
	rc = report_html(journal, runs, count, clock_wall_ms(), text_string(&style), &html);
	if (rc < 0)
		code = output_fail(exit_code_of(rc), "report", journal_error(journal));
	if (code == EX_OK)
		code = output_open(options->output, &output);
	if (code == EX_OK) {
		(void)fwrite(text_string(&html), 1, html.length, output.file);
		code = output_close(&output, code);
	}
	text_fini(&style);
	text_fini(&html);
	return code;
}

static int run_report(const struct options *options)
{
	size_t count = (size_t)options->operand_count;
	struct run_record *runs = calloc(count, sizeof(*runs));
	struct text state = TEXT_INIT;
	struct journal *journal = NULL;
	int code = runs ? EX_OK : output_fail(EX_OSERR, "report", strerror(ENOMEM));

	if (code == EX_OK)
		code = open_journal(options, &state, &journal);
	for (size_t i = 0; i < count && code == EX_OK; i++)
		code = get_run(journal, options->operands[i], &runs[i]);
	if (code == EX_OK)
		code = write_report(journal, runs, count, options);
	journal_close(journal);
	text_fini(&state);
	free(runs);
	return code;
}

static int print_summary(struct journal *journal, const char *state, const struct run_record *run)
{
	struct output output = { stdout, NULL, TEXT_INIT };
	struct summary_figures figures;
	struct text text = TEXT_INIT;
	int rc = figures_read(journal, run, &figures);

	if (rc < 0)
		return output_fail(exit_code_of(rc), run->id, journal_error(journal));
	report_summary_text(run, &figures, &text);
	text_addf(&text, "Files\n  %s/journal.db\n  ", state);
	rrdfile_path_make(state, run->id, &text);
	(void)printf("%s\n", text_string(&text));
	text_fini(&text);
	return output_close(&output, figures.verdict.verdict == VERDICT_FAIL ? OUTPUT_BAD : EX_OK);
}

static int run_summary(const struct options *options)
{
	struct text state = TEXT_INIT;
	struct journal *journal = NULL;
	struct run_record run;
	int code = open_journal(options, &state, &journal);

	if (code == EX_OK)
		code = get_run(journal, options->operands[0], &run);
	if (code == EX_OK)
		code = print_summary(journal, text_string(&state), &run);
	journal_close(journal);
	text_fini(&state);
	return code;
}

static const struct config_drive *find_drive(const struct config *config, const char *name)
{
	const struct config_drive *drive = config_find_drive(config, name);

	if (!drive)
		(void)output_fail(EX_NOINPUT, name, "no such drive in the configuration");
	return drive;
}

/* What a verification needs beyond the journal: the drive's target. */
static int verify_drive(const struct config *config, const struct options *options)
{
	const char *name = options->operands[0];
	const struct config_drive *drive = find_drive(config, name);
	struct journal *journal = NULL;
	struct text path = TEXT_INIT;
	static struct run_record run;
	int code;

	if (!drive)
		return EX_NOINPUT;
	text_addf(&path, "%s/journal.db", config->state_directory);
	if (journal_open(text_string(&path), true, &journal) < 0)
		code = output_fail(EX_NOINPUT, text_string(&path), journal_error(NULL));
	else
		code = get_run(journal, name, &run);
	journal_close(journal);
	text_fini(&path);
	return code == EX_OK ? drivesoak_verify(config, drive, &run, options->is_json) : code;
}

static int plan_drive(const struct config *config, const struct options *options)
{
	const struct config_drive *drive = find_drive(config, options->operands[0]);
	uint64_t bytes_per_s = 0;

	if (!drive)
		return EX_NOINPUT;
	if (options->rate && (units_parse_bytes(options->rate, &bytes_per_s) < 0 || !bytes_per_s))
		return output_fail(EX_USAGE, options->rate, "no rate; give bytes a second as in 200MiB");
	return drivesoak_plan(config, drive, bytes_per_s, options->is_json);
}

/* A new claim would take the drive away from the run that has it. */
static int arm_check(const struct config *config, const char *name)
{
	struct journal *journal = NULL;
	struct text path = TEXT_INIT;
	static struct run_record run;
	int code = EX_OK;

	text_addf(&path, "%s/journal.db", config->state_directory);
	if (journal_open(text_string(&path), true, &journal) == 0 &&
		journal_get_newest_run(journal, name, &run) == 0 &&
		(run.progress.status == RUN_RUNNING || run.progress.status == RUN_PAUSED)) {
		(void)fprintf(stderr, "drivesoak: %s: run %s is not over; end it first: drivesoak stop %s\n",
			name, run.id, name);
		code = EX_TEMPFAIL;
	}
	journal_close(journal);
	text_fini(&path);
	return code;
}

static int arm_drive(const struct config *config, const struct options *options)
{
	const struct config_drive *drive = find_drive(config, options->operands[0]);
	/* What needs no arming is told so, whatever its run does. */
	int code = !drive ? EX_NOINPUT : drive->device[0] ? arm_check(config, drive->name) : EX_OK;

	return code == EX_OK ? drivesoak_arm(config, drive, options->serial_tail) : code;
}

static int control_drive(const struct config *config, const struct options *options)
{
	return drivesoak_control(
		config, options->subcommand, options->operands, options->is_json, options->purges);
}

/* What needs the whole configuration. */
static int run_configured(
	const struct options *options, int (*run)(const struct config *, const struct options *))
{
	struct text mistakes = TEXT_INIT;
	struct config *config = NULL;
	int rc = config_load(options->config_path, &config, &mistakes), code;

	if (rc < 0) {
		(void)fputs(text_string(&mistakes), stderr);
		text_fini(&mistakes);
		return rc == -EACCES ? EX_NOPERM : EX_CONFIG;
	}
	code = run(config, options);
	config_free(config);
	text_fini(&mistakes);
	return code;
}

static int run_verify(const struct options *options)
{
	return run_configured(options, verify_drive);
}

static int run_plan(const struct options *options)
{
	return run_configured(options, plan_drive);
}

static int run_control(const struct options *options)
{
	return run_configured(options, control_drive);
}

static int run_arm(const struct options *options)
{
	return run_configured(options, arm_drive);
}

/* No configuration is needed: one that was named must be right, the usual one helps when it is there. */
static int run_drives(const struct options *options)
{
	bool is_named = strcmp(options->config_path, CONFIG_DEFAULT_PATH) != 0;
	struct text mistakes = TEXT_INIT;
	struct config *config = NULL;
	const char *state = options->state_directory;
	int rc = state ? 0 : config_load(options->config_path, &config, &mistakes), code;

	if (rc < 0 && (is_named || rc == -EINVAL))
		(void)fputs(text_string(&mistakes), stderr);
	text_fini(&mistakes);
	if (rc < 0 && is_named)
		return rc == -EACCES ? EX_NOPERM : EX_CONFIG;
	if (!state)
		state = config ? config->state_directory : CONFIG_DEFAULT_STATE;
	code = drivesoak_drives(config, state, options->is_json, options->wants_health);
	config_free(config);
	if (fflush(stdout) != 0 || ferror(stdout))
		return output_fail(EX_IOERR, "standard output", strerror(errno));
	return code;
}

static int run_decode(const struct options *options)
{
	int code = drivesoak_decode(options->kind, options->operands, options->operand_count);

	if (fflush(stdout) != 0 || ferror(stdout))
		return output_fail(EX_IOERR, "standard output", strerror(errno));
	return code;
}

static int parse_log(const struct options *options, struct foreign_options *log)
{
	uint64_t ns = 0, seconds;

	*log = (struct foreign_options){ .device = options->device };
	if (!options->interval)
		return EX_OK;
	if (units_parse_count(options->interval, &seconds) == 0 && seconds <= 86400)
		ns = seconds * NS_PER_S;
	else if (units_parse_duration(options->interval, &ns) < 0)
		ns = 0;
	if (ns < NS_PER_S || ns > 86400 * NS_PER_S)
		return output_fail(EX_USAGE, options->interval, "no interval; give 1s to 24h");
	log->interval_ms = (int64_t)(ns / NS_PER_MS);
	return EX_OK;
}

static int run_analyse(const struct options *options)
{
	struct foreign_options log;
	int code = parse_log(options, &log);

	if (code == EX_OK)
		code = drivesoak_analyse(&log, options->operands, options->operand_count, options->is_json);
	if (fflush(stdout) != 0 || ferror(stdout))
		return output_fail(EX_IOERR, "standard output", strerror(errno));
	return code;
}

static int import_file(const struct config *config, const struct options *options)
{
	struct import_request request = {
		.state_directory = config ? config->state_directory : options->state_directory,
		.config = config,
		.file = options->operands[0],
		.name = options->name,
		.start_ms = INT64_MIN,
	};
	uint64_t start_s;
	int code = parse_log(options, &request.options);

	if (code != EX_OK)
		return code;
	if (!options->name)
		return output_fail(EX_USAGE, "import", "--name NAME is needed");
	if (options->start && (units_parse_count(options->start, &start_s) < 0 || start_s > UINT32_MAX))
		return output_fail(EX_USAGE, options->start, "no start; give seconds since 1970");
	if (options->start)
		request.start_ms = (int64_t)start_s * 1000;
	return drivesoak_import(&request);
}

static int run_import(const struct options *options)
{
	return options->state_directory ? import_file(NULL, options) : run_configured(options, import_file);
}

static const struct subcommand subcommands[] = {
	{ "runs", "", "list the runs, newest first", MAY_STATE | MAY_JSON, 0, 0, run_runs },
	{ "summary", "RUN", "figures, verdict and reasons of a run", MAY_STATE, 1, 1, run_summary },
	{ "report", "RUN...", "runs as one HTML file", MAY_STATE | MAY_OUTPUT | NEEDS_OUTPUT, 1, 1000,
		run_report },
	{ "export", "RUN", "all samples of a run", MAY_STATE | MAY_FORMAT | MAY_OUTPUT, 1, 1, run_export },
	{ "verify", "DRIVE", "read the newest run of a drive back and name each bad block", MAY_JSON, 1, 1,
		run_verify },
	{ "plan", "DRIVE", "what a run would write, how long and at what wear; writes nothing",
		MAY_JSON | MAY_RATE, 1, 1, run_plan },
	{ "drives", "", "list the disks of this machine, and why each can or can't be used",
		MAY_STATE | MAY_JSON | MAY_HEALTH, 0, 0, run_drives },
	{ "arm", "DRIVE", "show what a device holds and consent to its loss", MAY_TAIL, 1, 1, run_arm },
	{ "status", "", "what the service's drives do now", MAY_JSON, 0, 0, run_control },
	{ "start", "DRIVE", "start a run", 0, 1, 1, run_control },
	{ "pause", "DRIVE", "let the run rest", 0, 1, 1, run_control },
	{ "resume", "DRIVE", "go on with a run that rests", 0, 1, 1, run_control },
	{ "stop", "DRIVE", "end the run for good", MAY_PURGE, 1, 1, run_control },
	{ "observe", "DIR|DEV -- COMMAND...", NULL, 0, 0, 0, NULL },
	{ "analyse", "FILE...", "figures of a log of sysbench, fio, iostat, or a CSV",
		MAY_JSON | MAY_LOG | NO_CONFIG, 1, 1000000, run_analyse },
	{ "import", "FILE", "make such a log a run beside the others", MAY_NAME | MAY_LOG | MAY_STATE, 1, 1,
		run_import },
	{ "decode", "FILE...", "what saved health pages, blobs and smartctl's JSON say", MAY_KIND | NO_CONFIG,
		1, 1000000, run_decode },
	{ "note", "RUN TEXT", "put a note into the events of a run", 0, 2, 2, run_control },
	{ "alert-test", "", NULL, 0, 0, 0, NULL },
};

#define SUBCOMMANDS (sizeof(subcommands) / sizeof(subcommands[0]))

static void print_synopsis(FILE *out, const struct subcommand *subcommand)
{
	(void)fprintf(out, "drivesoak %s%s%s%s%s%s%s%s%s%s%s%s%s%s", subcommand->name,
		*subcommand->operands ? " " : "", subcommand->operands,
		subcommand->may & MAY_JSON ? " [--json]" : "",
		subcommand->may & MAY_FORMAT ? " --format csv|json" : "",
		subcommand->may & NEEDS_OUTPUT ? " -o FILE"
		: subcommand->may & MAY_OUTPUT ? " [-o FILE]"
					       : "",
		subcommand->may & MAY_RATE ? " [--rate BYTES]" : "",
		subcommand->may & MAY_PURGE ? " [--purge]" : "",
		subcommand->may & MAY_TAIL ? " [--serial-tail TEXT]" : "",
		subcommand->may & MAY_KIND ? " [--as KIND]" : "",
		subcommand->may & MAY_HEALTH ? " [--health]" : "",
		subcommand->may & MAY_NAME ? " --name NAME [--start SECONDS]" : "",
		subcommand->may & MAY_LOG ? " [--device NAME] [--interval TIME]" : "",
		subcommand->may & MAY_STATE   ? " [-c FILE | --state DIR]"
		: subcommand->may & NO_CONFIG ? ""
					      : " [-c FILE]");
}

static void print_usage(FILE *out)
{
	(void)fputs("Usage:\n", out);
	for (size_t i = 0; i < SUBCOMMANDS; i++) {
		if (!subcommands[i].run)
			continue;
		(void)fputs("  ", out);
		print_synopsis(out, &subcommands[i]);
		(void)fprintf(out, "\n      %s\n", subcommands[i].what);
	}
	(void)fprintf(out,
		"RUN is a run's id, or a drive's name for its newest run.\n\n"
		"  -c, --config FILE  the service's configuration [%s]\n"
		"      --state DIR    the state directory, without a configuration\n"
		"      --json         JSON instead of a table\n"
		"      --format NAME  csv or json\n"
		"      --rate BYTES   assume that the soak writes so much a second, as in 200MiB\n"
		"      --serial-tail TEXT  consent without asking: the last six characters of the serial\n"
		"      --health       ask each disk how it is; for root\n"
		"      --as KIND      what the files are, whatever they look like\n"
		"      --name NAME    what the drive of an imported log is called\n"
		"      --start SECONDS  since 1970: when an imported log without a date begins\n"
		"      --device NAME  of several in an iostat log [the busiest]\n"
		"      --interval TIME  of an iostat log without times, as in 10s\n"
		"      --purge        also remove the files of a directory target\n"
		"  -o, --output FILE  write to FILE; it appears only when it is whole\n"
		"  -V, --version      print the version\n"
		"  -h, --help         print this text\n",
		CONFIG_DEFAULT_PATH);
}

static int refuse_usage(const struct subcommand *subcommand, const char *why)
{
	(void)fprintf(stderr, "drivesoak %s: %s\nUsage: ", subcommand->name, why);
	print_synopsis(stderr, subcommand);
	(void)fputc('\n', stderr);
	return EX_USAGE;
}

enum {
	OPTION_STATE = 256,
	OPTION_JSON,
	OPTION_FORMAT,
	OPTION_RATE,
	OPTION_PURGE,
	OPTION_TAIL,
	OPTION_KIND,
	OPTION_HEALTH,
	OPTION_DEVICE,
	OPTION_INTERVAL,
	OPTION_NAME,
	OPTION_START
};

static const struct option long_options[] = {
	{ "config", required_argument, NULL, 'c' },
	{ "state", required_argument, NULL, OPTION_STATE },
	{ "json", no_argument, NULL, OPTION_JSON },
	{ "format", required_argument, NULL, OPTION_FORMAT },
	{ "output", required_argument, NULL, 'o' },
	{ "rate", required_argument, NULL, OPTION_RATE },
	{ "purge", no_argument, NULL, OPTION_PURGE },
	{ "serial-tail", required_argument, NULL, OPTION_TAIL },
	{ "health", no_argument, NULL, OPTION_HEALTH },
	{ "as", required_argument, NULL, OPTION_KIND },
	{ "device", required_argument, NULL, OPTION_DEVICE },
	{ "interval", required_argument, NULL, OPTION_INTERVAL },
	{ "name", required_argument, NULL, OPTION_NAME },
	{ "start", required_argument, NULL, OPTION_START },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 },
};

/* The bit that a subcommand must have for an option; 0 for those of all. */
static unsigned bit_of(int option)
{
	return option == OPTION_JSON				      ? MAY_JSON
	       : option == OPTION_FORMAT			      ? MAY_FORMAT
	       : option == OPTION_STATE				      ? MAY_STATE
	       : option == OPTION_RATE				      ? MAY_RATE
	       : option == OPTION_PURGE				      ? MAY_PURGE
	       : option == OPTION_TAIL				      ? MAY_TAIL
	       : option == OPTION_KIND				      ? MAY_KIND
	       : option == OPTION_HEALTH			      ? MAY_HEALTH
	       : option == OPTION_NAME || option == OPTION_START      ? MAY_NAME
	       : option == OPTION_DEVICE || option == OPTION_INTERVAL ? MAY_LOG
	       : option == 'o'					      ? MAY_OUTPUT
								      : 0;
}

static void set_option(struct options *options, int option)
{
	switch (option) {
	case 'c':
		options->config_path = optarg;
		break;
	case 'o':
		options->output = optarg;
		break;
	case OPTION_STATE:
		options->state_directory = optarg;
		break;
	case OPTION_FORMAT:
		options->format = optarg;
		break;
	case OPTION_JSON:
		options->is_json = true;
		break;
	case OPTION_RATE:
		options->rate = optarg;
		break;
	case OPTION_PURGE:
		options->purges = true;
		break;
	case OPTION_HEALTH:
		options->wants_health = true;
		break;
	case OPTION_KIND:
		options->kind = optarg;
		break;
	case OPTION_TAIL:
		options->serial_tail = optarg;
		break;
	case OPTION_DEVICE:
		options->device = optarg;
		break;
	case OPTION_INTERVAL:
		options->interval = optarg;
		break;
	case OPTION_NAME:
		options->name = optarg;
		break;
	case OPTION_START:
		options->start = optarg;
		break;
	}
}

/* -1 to go on, else the exit code. */
static int parse_options(const struct subcommand *subcommand, int argc, char **argv, struct options *options)
{
	int option;

	while ((option = getopt_long(argc, argv, "c:o:hV", long_options, NULL)) != -1) {
		if (option == '?')
			return refuse_usage(subcommand, "bad option");
		if (option == 'h') {
			print_usage(stdout);
			return EX_OK;
		}
		if (bit_of(option) & ~subcommand->may)
			return refuse_usage(subcommand, "an option that this subcommand has not");
		set_option(options, option);
	}
	options->operands = argv + optind;
	options->operand_count = argc - optind;
	if (options->operand_count < subcommand->operands_min)
		return refuse_usage(subcommand, "something is missing");
	if (options->operand_count > subcommand->operands_max)
		return refuse_usage(subcommand, "too many arguments");
	if (subcommand->may & NEEDS_OUTPUT && !options->output)
		return refuse_usage(subcommand, "-o FILE is needed");
	return -1;
}

static int run_subcommand(int argc, char **argv)
{
	struct options options = { .subcommand = argv[0], .config_path = CONFIG_DEFAULT_PATH };
	int code;

	for (size_t i = 0; i < SUBCOMMANDS; i++) {
		if (strcmp(subcommands[i].name, argv[0]) != 0)
			continue;
		if (!subcommands[i].run)
			return output_fail(EX_USAGE, argv[0], "not in this version yet");
		code = parse_options(&subcommands[i], argc, argv, &options);
		return code >= 0 ? code : subcommands[i].run(&options);
	}
	return output_fail(EX_USAGE, argv[0], "no such subcommand (see drivesoak --help)");
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		print_usage(stderr);
		return EX_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		print_usage(stdout);
		return EX_OK;
	}
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
		(void)printf("drivesoak %s\n", PACKAGE_VERSION);
		return EX_OK;
	}
	return run_subcommand(argc - 1, argv + 1);
}
