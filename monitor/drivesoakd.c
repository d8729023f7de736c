/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The service: options, and one wiring list in order, torn down in reverse. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "alert/board.h"
#include "alert/command.h"
#include "alert/delivery.h"
#include "archive/archive.h"
#include "base/clock.h"
#include "base/log.h"
#include "config/config.h"
#include "healthgate.h"
#include "measure/status.h"
#include "soak.h"
#include "target/target.h"
#include "web/server.h"

#define ARCHIVE_STOP_NS	 (20 * NS_PER_S)
#define DELIVERY_STOP_NS (5 * NS_PER_S)
#define WHY_MAX		 512

static const char usage[] =
	"Usage: drivesoakd [-c FILE] [-t | -p]\n"
	"\n"
	"Soak the drives that the configuration names, in the foreground, until SIGTERM.\n"
	"\n"
	"  -c, --config FILE   configuration, default " CONFIG_DEFAULT_PATH "\n"
	"  -t, --test          check the configuration and the targets, write nothing; exit 0 or 78\n"
	"  -p, --print         print the effective configuration with the origin of every value\n"
	"      --version       print the version\n"
	"  -h, --help          print this\n";

struct command_line {
	const char *config_path;
	bool is_test, is_print;
};

/* -1: go on; else exit with it. */
static int command_line_parse(int argc, char **argv, struct command_line *line)
{
	enum { OPTION_VERSION = 256 };
	static const struct option options[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "test", no_argument, NULL, 't' },
		{ "print", no_argument, NULL, 'p' },
		{ "version", no_argument, NULL, OPTION_VERSION },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	*line = (struct command_line){ .config_path = CONFIG_DEFAULT_PATH };
	while ((option = getopt_long(argc, argv, "c:tph", options, NULL)) != -1) {
		switch (option) {
		case 'c':
			line->config_path = optarg;
			break;
		case 't':
			line->is_test = true;
			break;
		case 'p':
			line->is_print = true;
			break;
		case OPTION_VERSION:
			(void)puts("drivesoakd " PACKAGE_VERSION);
			return EX_OK;
		case 'h':
			(void)fputs(usage, stdout);
			return EX_OK;
		default:
			(void)fputs(usage, stderr);
			return EX_USAGE;
		}
	}
	if (optind < argc || (line->is_test && line->is_print)) {
		(void)fputs(usage, stderr);
		return EX_USAGE;
	}
	return -1;
}

/* The run that the service would go on with; false: it would begin a new one, or none at all. */
static bool run_find(struct journal *journal, const struct config_drive *drive, struct run_record *run)
{
	return journal && journal_get_newest_run(journal, drive->name, run) == 0 &&
	       (run->progress.status == RUN_RUNNING || run->progress.status == RUN_PAUSED);
}

static int target_test(const struct config *config, const struct config_drive *drive, struct journal *journal)
{
	static struct target_facts facts;
	static struct run_record run;
	struct target_request request = { .drive = drive, .state_directory = config->state_directory };
	struct target_plan plan;
	char why[TARGET_WHY_MAX], difference[256];

	if (run_find(journal, drive, &run)) {
		if (!config_drive_keeps_frozen(
			    drive, config->sample_interval_ns, run.frozen, difference, sizeof(difference))) {
			(void)fprintf(stderr,
				"%s: drive \"%s\": run %s lasts and its settings are frozen: %s; put it "
				"back, or "
				"stop the run\n",
				config->path, drive->name, run.id, difference);
			return EX_CONFIG;
		}
		request.run_id = run.id;
		request.goal_bytes = run.progress.fill_goal_bytes;
	}
	if (target_check(&request, &facts, &plan, why) < 0 ||
		(!request.run_id && healthgate_check(drive, why) < 0)) {
		(void)fprintf(stderr, "%s: drive \"%s\": %s\n", config->path, drive->name, why);
		return EX_CONFIG;
	}
	if (request.run_id)
		(void)printf("drive \"%s\": run %s would go on\n", drive->name, run.id);
	else
		(void)printf("drive \"%s\": would fill %llu bytes in %u file%s%s%s\n", drive->name,
			(unsigned long long)plan.goal_bytes, plan.files, plan.files == 1 ? "" : "s",
			plan.note[0] ? "; " : "", plan.note);
	return EX_OK;
}

/* It may be installed later: no reason not to start. */
static void commands_test(const struct config *config)
{
	for (size_t i = 0; i < config->notify_count; i++) {
		const struct config_notify *notify = &config->notifies[i];
		int rc = notify->command.count ? command_check(notify->command.items[0]) : 0;

		if (rc < 0)
			log_warning(
				"%s: notify \"%s\": command: %s: %s; alerts can't be told by it as long as "
				"that is so",
				config->path, notify->name, notify->command.items[0], strerror(-rc));
	}
}

static int targets_test(const struct config *config)
{
	struct journal *journal = NULL;
	char path[600];
	int exit_code = EX_OK;

	(void)snprintf(path, sizeof(path), "%s/journal.db", config->state_directory);
	/* Without one there was no run yet. */
	if (journal_open(path, true, &journal) < 0)
		journal = NULL;
	for (size_t i = 0; i < config->drive_count; i++)
		if (target_test(config, &config->drives[i], journal) != EX_OK)
			exit_code = EX_CONFIG;
	journal_close(journal);
	commands_test(config);
	return exit_code;
}

static int config_show(const struct config *config)
{
	struct text text = TEXT_INIT;

	config_print(config, &text);
	(void)fputs(text_string(&text), stdout);
	text_fini(&text);
	return EX_OK;
}

/* mkdir -p; only what is missing is made. */
static int folder_make(const char *path)
{
	char partial[512];
	struct stat st;

	if (snprintf(partial, sizeof(partial), "%s", path) >= (int)sizeof(partial))
		return -ENAMETOOLONG;
	for (char *slash = strchr(partial + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(partial, 0755) < 0 && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	if (mkdir(partial, 0755) < 0 && errno != EEXIST)
		return -errno;
	return stat(path, &st) == 0 && S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
}

/* One service a state directory. The descriptor stays open until the process ends. */
static int state_lock(const char *state_directory)
{
	char path[600];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/lock", state_directory);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0) {
		log_error("%s: %s", path, strerror(errno));
		return EX_CANTCREAT;
	}
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		log_error("%s: another drivesoakd uses this state directory", path);
		return EX_TEMPFAIL;
	}
	return EX_OK;
}

static int folders_prepare(const struct config *config)
{
	const char *const folders[] = { config->state_directory, config->runtime_directory };

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		int rc = folder_make(folders[i]);

		if (rc < 0) {
			log_error("%s: %s", folders[i], strerror(-rc));
			return EX_CANTCREAT;
		}
	}
	return state_lock(config->state_directory);
}

/* Tests set these shorter. */
#ifndef DELIVERY_PAUSE_MS
#define DELIVERY_PAUSE_MS   0
#define DELIVERY_REQUEST_MS 0
#define DELIVERY_RESEND_MS  0
#endif

/* What the parts of the service share, in the order in which they begin. */
struct service {
	const struct config *config;
	struct status_board *board;
	struct alert_board *alert_board;
	struct archive *archive;
	struct web *web;
	struct delivery *delivery;
};

static int web_begin(struct service *service)
{
	const struct config *config = service->config;
	const struct web_options options = {
		.config = config,
		.board = service->board,
		.alert_board = service->alert_board,
		.archive = service->archive,
		.state_directory = config->state_directory,
		.started_boot_ns = clock_boot_ns(),
	};
	struct text why = TEXT_INIT;
	int rc = 0;

	if (config->web.listen.count)
		rc = web_start(&options, &service->web, &why);
	if (rc < 0)
		log_error("web: %s", text_string(&why));
	else if (service->web)
		log_notice("web: %s", web_url(service->web, 0));
	text_fini(&why);
	return rc < 0 ? EX_UNAVAILABLE : EX_OK;
}

static int delivery_begin(struct service *service)
{
	char why[DELIVERY_WHY_MAX], page_url[256] = "";
	const struct delivery_options options = {
		.config = service->config,
		.state_directory = service->config->state_directory,
		.archive = service->archive,
		.board = service->alert_board,
		.page_url = page_url,
		.pause_first_ns = DELIVERY_PAUSE_MS * NS_PER_MS,
		.request_ns = DELIVERY_REQUEST_MS * NS_PER_MS,
		.resend_ns = DELIVERY_RESEND_MS * NS_PER_MS,
	};

	if (service->web)
		(void)snprintf(page_url, sizeof(page_url), "%salerts", web_url(service->web, 0));
	commands_test(service->config);
	if (delivery_new(&options, &service->delivery, why) == 0)
		return EX_OK;
	log_error("%s", why);
	return EX_CANTCREAT;
}

/* Signals for the control loop, blocked before any thread exists. */
static void signals_block(void)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	/* A write beyond a file size limit is an error of that write. */
	(void)signal(SIGXFSZ, SIG_IGN);
}

static int conduct(const struct service *service)
{
	char why[WHY_MAX] = "", journal_path[600];
	struct soak_options options = {
		.config = service->config,
		.archive = service->archive,
		.board = service->board,
		.journal_path = journal_path,
		.delivery = service->delivery,
		.alert_board = service->alert_board,
	};
	struct soak *soak = NULL;
	int exit_code;

	(void)snprintf(journal_path, sizeof(journal_path), "%s/journal.db", service->config->state_directory);
	if (soak_new(&options, &soak, why) < 0) {
		log_error("%s", why);
		return EX_OSERR;
	}
	exit_code = soak_run(soak);
	if (soak_free(soak))
		return exit_code;
	/* A thread hangs in a drive and can't be waited for. */
	(void)delivery_stop(service->delivery, DELIVERY_STOP_NS);
	(void)archive_stop(service->archive, ARCHIVE_STOP_NS);
	_exit(exit_code);
}

static int boards_new(struct service *service)
{
	int rc = status_new(service->config->drive_count, &service->board);

	if (rc == 0)
		rc = alert_board_new(service->config->drive_count, delivery_count_channels(service->config),
			&service->alert_board);
	return rc < 0 ? EX_OSERR : EX_OK;
}

static int serve(const struct config *config)
{
	struct service service = { .config = config };
	char why[WHY_MAX] = "";
	int exit_code = folders_prepare(config);

	if (exit_code != EX_OK)
		return exit_code;
	signals_block();
	exit_code = boards_new(&service);
	if (exit_code != EX_OK)
		goto out;
	if (archive_start(config->state_directory, &service.archive, why) < 0) {
		log_error("%s", why);
		exit_code = EX_CANTCREAT;
		goto out;
	}
	exit_code = web_begin(&service);
	if (exit_code == EX_OK)
		exit_code = delivery_begin(&service);
	if (exit_code == EX_OK)
		exit_code = conduct(&service);
	web_stop(service.web);
	if (!delivery_stop(service.delivery, DELIVERY_STOP_NS)) {
		log_error("the delivery of alerts hangs in the disk; ending without it");
		(void)archive_stop(service.archive, ARCHIVE_STOP_NS);
		_exit(EX_IOERR); /* what the thread uses must stay */
	}
	if (!archive_stop(service.archive, ARCHIVE_STOP_NS)) {
		log_error("the last samples could not be stored");
		exit_code = EX_IOERR;
	}
out:
	status_free(service.board);
	alert_board_free(service.alert_board);
	return exit_code;
}

int main(int argc, char **argv)
{
	struct text mistakes = TEXT_INIT;
	struct config *config = NULL;
	struct command_line line;
	int exit_code = command_line_parse(argc, argv, &line);

	if (exit_code >= 0)
		return exit_code;
	if (config_load(line.config_path, &config, &mistakes) < 0) {
		(void)fputs(text_string(&mistakes), stderr);
		text_fini(&mistakes);
		return EX_CONFIG;
	}
	text_fini(&mistakes);
	if (line.is_print)
		exit_code = config_show(config);
	else if (line.is_test)
		exit_code = targets_test(config);
	else
		exit_code = serve(config);
	config_free(config);
	return exit_code;
}
