/* SPDX-License-Identifier: GPL-2.0-or-later */
/* drivesoak - the client. What works offline reads the journal below the state directory and needs no
 * service. */
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "archive/export.h"
#include "archive/journal.h"
#include "archive/report.h"
#include "archive/rrdfile.h"
#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "config/config.h"
#include "drivesoak_drives.h"
#include "drivesoak_verify.h"
#include "web/assets.h"

struct options {
	const char *config_path, *state_directory, *format, *output;
	bool is_json;
	char **operands;
	int operand_count;
};

enum option_bit { MAY_JSON = 1 << 0, MAY_FORMAT = 1 << 1, MAY_OUTPUT = 1 << 2, NEEDS_OUTPUT = 1 << 3 };

struct subcommand {
	const char *name, *operands, *what;
	unsigned may;
	int operands_min, operands_max;
	int (*run)(const struct options *options); /* an exit code; NULL: not in this version yet */
};

/* The same words for every failure: what could not be done, and why. */
static int fail(int code, const char *what, const char *why)
{
	(void)fprintf(stderr, "drivesoak: %s: %s\n", what, why);
	return code;
}

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
		code = fail(exit_code_of(rc), text_string(&path), journal_error(NULL));
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
		return fail(EX_NOINPUT, name, "no such run, nor a drive with one (see drivesoak runs)");
	return rc < 0 ? fail(exit_code_of(rc), name, journal_error(journal)) : EX_OK;
}

/* Where the result goes: standard output, or a file that appears only when it is whole. */
struct output {
	FILE *file;
	const char *path;
	struct text temporary;
};

static bool is_plain_or_new(const char *path)
{
	struct stat status;

	return lstat(path, &status) < 0 || S_ISREG(status.st_mode);
}

static int output_open(const char *path, struct output *out)
{
	*out = (struct output){ stdout, path, TEXT_INIT };
	if (!path || strcmp(path, "-") == 0) {
		out->path = NULL;
		return EX_OK;
	}
	if (is_plain_or_new(path))
		text_addf(&out->temporary, "%s.%ld.new", path, (long)getpid());
	out->file = fopen(out->temporary.length ? text_string(&out->temporary) : path, "we");
	if (out->file)
		return EX_OK;
	text_fini(&out->temporary);
	return fail(EX_CANTCREAT, path, strerror(errno));
}

/* @code: how the writing went so far. */
static int output_close(struct output *output, int code)
{
	bool is_written = fflush(output->file) == 0 && !ferror(output->file);
	int error = errno;

	if (output->path && fclose(output->file) != 0 && is_written) {
		is_written = false;
		error = errno;
	}
	if (code == EX_OK && !is_written)
		code = fail(EX_IOERR, output->path ? output->path : "standard output", strerror(error));
	if (output->temporary.length && code == EX_OK &&
		rename(text_string(&output->temporary), output->path) < 0)
		code = fail(EX_CANTCREAT, output->path, strerror(errno));
	if (output->temporary.length && code != EX_OK)
		(void)unlink(text_string(&output->temporary));
	text_fini(&output->temporary);
	return code;
}

static int print_run_line(const struct run_record *run, void *arg)
{
	struct journal *journal = arg;
	char started[REPORT_TIME_MAX], soaked[UNITS_TEXT_MAX], median[UNITS_TEXT_MAX] = "unknown";
	const struct summary_part *part;
	struct summary_figures figures;
	int rc = export_figures(journal, run, &figures);

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
		code = fail(exit_code_of(rc), text_string(&state), journal_error(journal));
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
		code = fail(exit_code_of(rc), run->id, journal_error(journal));
	return output_close(&output, code);
}

static int run_export(const struct options *options)
{
	struct text state = TEXT_INIT;
	struct journal *journal = NULL;
	struct run_record run;
	int code;

	if (!options->format)
		return fail(EX_USAGE, "export", "--format csv or --format json is needed");
	if (strcmp(options->format, "openmetrics") == 0)
		return fail(EX_USAGE, "export", "the format openmetrics is not in this version yet");
	if (strcmp(options->format, "csv") != 0 && strcmp(options->format, "json") != 0)
		return fail(EX_USAGE, options->format, "no such format; there are csv and json");
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
		code = fail(exit_code_of(rc), "report", journal_error(journal));
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
	int code = runs ? EX_OK : fail(EX_OSERR, "report", strerror(ENOMEM));

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
	int rc = export_figures(journal, run, &figures);

	if (rc < 0)
		return fail(exit_code_of(rc), run->id, journal_error(journal));
	report_summary_text(run, &figures, &text);
	text_addf(&text, "Files\n  %s/journal.db\n  ", state);
	rrdfile_path_make(state, run->id, &text);
	(void)printf("%s\n", text_string(&text));
	text_fini(&text);
	return output_close(&output, EX_OK);
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

/* What a verification needs beyond the journal: the drive's target. */
static int verify_drive(const struct config *config, const char *name, bool is_json)
{
	const struct config_drive *drive = NULL;
	struct journal *journal = NULL;
	struct text path = TEXT_INIT;
	static struct run_record run;
	int code;

	for (size_t i = 0; i < config->drive_count; i++)
		if (strcmp(config->drives[i].name, name) == 0)
			drive = &config->drives[i];
	if (!drive)
		return fail(EX_NOINPUT, name, "no such drive in the configuration");
	text_addf(&path, "%s/journal.db", config->state_directory);
	if (journal_open(text_string(&path), true, &journal) < 0)
		code = fail(EX_NOINPUT, text_string(&path), journal_error(NULL));
	else
		code = get_run(journal, name, &run);
	journal_close(journal);
	text_fini(&path);
	return code == EX_OK ? drivesoak_verify(config, drive, &run, is_json) : code;
}

static int run_verify(const struct options *options)
{
	struct text mistakes = TEXT_INIT;
	struct config *config = NULL;
	int code;

	if (config_load(options->config_path, &config, &mistakes) < 0) {
		(void)fputs(text_string(&mistakes), stderr);
		text_fini(&mistakes);
		return EX_CONFIG;
	}
	code = verify_drive(config, options->operands[0], options->is_json);
	config_free(config);
	text_fini(&mistakes);
	return code;
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
	code = drivesoak_drives(config, state, options->is_json);
	config_free(config);
	if (fflush(stdout) != 0 || ferror(stdout))
		return fail(EX_IOERR, "standard output", strerror(errno));
	return code;
}

static const struct subcommand subcommands[] = {
	{ "runs", "", "list the runs, newest first", MAY_JSON, 0, 0, run_runs },
	{ "summary", "RUN", "figures, verdict and reasons of a run", 0, 1, 1, run_summary },
	{ "report", "RUN...", "runs as one HTML file", MAY_OUTPUT | NEEDS_OUTPUT, 1, 1000, run_report },
	{ "export", "RUN", "all samples of a run", MAY_FORMAT | MAY_OUTPUT, 1, 1, run_export },
	{ "verify", "DRIVE", "read the newest run of a drive back and name each bad block", MAY_JSON, 1, 1,
		run_verify },
	{ "drives", "", "list the disks of this machine, and why each can or can't be used", MAY_JSON, 0, 0,
		run_drives },
	{ "plan", "DRIVE", NULL, 0, 0, 0, NULL },
	{ "arm", "DRIVE", NULL, 0, 0, 0, NULL },
	{ "status", "", NULL, 0, 0, 0, NULL },
	{ "start", "DRIVE", NULL, 0, 0, 0, NULL },
	{ "pause", "DRIVE", NULL, 0, 0, 0, NULL },
	{ "resume", "DRIVE", NULL, 0, 0, 0, NULL },
	{ "stop", "DRIVE", NULL, 0, 0, 0, NULL },
	{ "observe", "DIR|DEV -- COMMAND...", NULL, 0, 0, 0, NULL },
	{ "analyse", "FILE...", NULL, 0, 0, 0, NULL },
	{ "import", "FILE", NULL, 0, 0, 0, NULL },
	{ "decode", "FILE...", NULL, 0, 0, 0, NULL },
	{ "note", "RUN TEXT", NULL, 0, 0, 0, NULL },
	{ "alert-test", "", NULL, 0, 0, 0, NULL },
};

#define SUBCOMMANDS (sizeof(subcommands) / sizeof(subcommands[0]))

static void print_synopsis(FILE *out, const struct subcommand *subcommand)
{
	(void)fprintf(out, "drivesoak %s%s%s%s%s%s [-c FILE | --state DIR]", subcommand->name,
		*subcommand->operands ? " " : "", subcommand->operands,
		subcommand->may & MAY_JSON ? " [--json]" : "",
		subcommand->may & MAY_FORMAT ? " --format csv|json" : "",
		subcommand->may & NEEDS_OUTPUT ? " -o FILE"
		: subcommand->may & MAY_OUTPUT ? " [-o FILE]"
					       : "");
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

enum { OPTION_STATE = 256, OPTION_JSON, OPTION_FORMAT };

static const struct option long_options[] = {
	{ "config", required_argument, NULL, 'c' },
	{ "state", required_argument, NULL, OPTION_STATE },
	{ "json", no_argument, NULL, OPTION_JSON },
	{ "format", required_argument, NULL, OPTION_FORMAT },
	{ "output", required_argument, NULL, 'o' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 },
};

/* The bit that a subcommand must have for an option; 0 for those of all. */
static unsigned bit_of(int option)
{
	return option == OPTION_JSON	 ? MAY_JSON
	       : option == OPTION_FORMAT ? MAY_FORMAT
	       : option == 'o'		 ? MAY_OUTPUT
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
	struct options options = { .config_path = CONFIG_DEFAULT_PATH };
	int code;

	for (size_t i = 0; i < SUBCOMMANDS; i++) {
		if (strcmp(subcommands[i].name, argv[0]) != 0)
			continue;
		if (!subcommands[i].run)
			return fail(EX_USAGE, argv[0], "not in this version yet");
		code = parse_options(&subcommands[i], argc, argv, &options);
		return code >= 0 ? code : subcommands[i].run(&options);
	}
	return fail(EX_USAGE, argv[0], "no such subcommand (see drivesoak --help)");
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
