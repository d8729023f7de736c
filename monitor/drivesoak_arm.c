/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "drivesoak_arm.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "drivesoak_output.h"
#include "target/claim.h"
#include "target/device.h"

#define TAIL_LENGTH 6

/* What is typed to show that this drive is meant: the end of its serial, of its wwid where it has none. */
static const char *tail_of(const struct identity *identity)
{
	const char *whole = identity->serial[0] ? identity->serial : identity->wwid;
	size_t length = strlen(whole);

	return length > TAIL_LENGTH ? whole + length - TAIL_LENGTH : whole;
}

static void show_drive(const struct device_inspection *inspection, const struct target_plan *plan)
{
	const struct identity *identity = &inspection->identity;
	char fill[UNITS_TEXT_MAX], tebi[UNITS_TEXT_MAX];

	units_print_bytes_rounded((double)identity->capacity_bytes, tebi);
	units_print_bytes_rounded((double)plan->goal_bytes, fill);
	(void)printf("%s\n  model     %s\n  serial    %s\n", inspection->node,
		identity->model[0] ? identity->model : "unknown",
		identity->serial[0] ? identity->serial : "none");
	if (identity->wwid[0])
		(void)printf("  wwid      %s\n", identity->wwid);
	(void)printf("  capacity  %.2f GB (%s)\n", (double)identity->capacity_bytes / 1e9, tebi);
	(void)printf("  the run   discards the whole drive if it is to, then fills %s of it and writes there "
		     "for days\n",
		fill);
	if (plan->note[0])
		(void)printf("            %s\n", plan->note);
}

static void show_findings(const struct guard_report *report)
{
	if (report->count == 0) {
		(void)puts("Nothing was found on it: no signature, and all that was sampled is zero.");
		return;
	}
	(void)puts("It is not blank:");
	for (unsigned i = 0; i < report->count; i++)
		(void)printf("  - %s\n", report->findings[i].text);
	if (report->left_off)
		(void)printf("  - and %u more\n", report->left_off);
}

static int ask(const struct identity *identity, const char *name, const char *given)
{
	const char *tail = tail_of(identity);
	char line[IDENTITY_TEXT_MAX + 2] = "";

	if (!given && !isatty(STDIN_FILENO))
		return output_fail(EX_USAGE, name,
			"arm asks on a terminal; in a script give --serial-tail with the last six characters "
			"of the "
			"serial");
	if (!given) {
		(void)printf(
			"\nEVERYTHING ON THIS DRIVE WILL BE LOST. Type the last %zu characters of its %s to "
			"consent: ",
			strlen(tail), identity->serial[0] ? "serial" : "wwid");
		(void)fflush(stdout);
		if (!fgets(line, sizeof(line), stdin))
			line[0] = '\0';
		line[strcspn(line, "\n")] = '\0';
		given = line;
	}
	return tail[0] && strcmp(given, tail) == 0
		       ? EX_OK
		       : output_fail(EX_NOPERM, name,
				 "these are not the last characters of the serial; nothing was armed");
}

static int folder_make(const char *path)
{
	return mkdir(path, 0755) < 0 && errno != EEXIST ? -errno : 0;
}

static void by_make(char *by, size_t size)
{
	const struct passwd *user = getpwuid(getuid());

	(void)snprintf(by, size, "uid %u (%s)", (unsigned)getuid(), user ? user->pw_name : "unknown");
}

static int claim_keep(const struct config *config, const struct config_drive *drive,
	const struct device_inspection *inspection)
{
	char why[CLAIM_WHY_MAX] = "";
	struct claim claim = {
		.identity = inspection->identity,
		.armed_ms = clock_wall_ms(),
		.contents = device_claim_contents(inspection),
	};
	int rc = folder_make(config->state_directory);

	if (rc < 0)
		return output_fail(EX_CANTCREAT, config->state_directory, strerror(-rc));
	claim.expires_ms = claim.armed_ms + CLAIM_TTL_MS;
	text_copy(claim.drive, sizeof(claim.drive), drive->name);
	by_make(claim.by, sizeof(claim.by));
	if (claim_save_edges(config->state_directory, drive->name, inspection->fd,
		    inspection->identity.capacity_bytes, why) < 0 ||
		claim_write(config->state_directory, &claim, why) < 0)
		return output_fail(EX_CANTCREAT, drive->name, why);
	(void)printf(
		"%s is armed for 24 hours. Its first and last MiB are saved in %s/claims; they bring back a "
		"partition table or a signature, not the data: what is discarded or overwritten is gone.\n"
		"The run begins with the next start of the service, or now with: drivesoak start %s\n",
		drive->name, config->state_directory, drive->name);
	return EX_OK;
}

static int consent(const struct config *config, const struct config_drive *drive,
	const struct device_inspection *inspection, const char *serial_tail)
{
	char why[TARGET_WHY_MAX] = "";
	struct target_plan plan;
	int code;

	if (device_plan(drive, &inspection->identity, &plan, why) < 0)
		return output_fail(EX_CONFIG, drive->name, why);
	show_drive(inspection, &plan);
	show_findings(&inspection->report);
	code = ask(&inspection->identity, drive->name, serial_tail);
	return code == EX_OK ? claim_keep(config, drive, inspection) : code;
}

int drivesoak_arm(const struct config *config, const struct config_drive *drive, const char *serial_tail)
{
	struct device_inspection inspection;
	char why[TARGET_WHY_MAX] = "";
	int rc, code;

	if (!drive->device[0])
		return output_fail(EX_USAGE, drive->name,
			"is a directory: it needs no arming, only its own files are written");
	rc = device_inspect(drive, config->state_directory, &inspection, why);
	if (rc < 0)
		code = output_fail(rc == -ENODEV ? EX_NOINPUT : EX_NOPERM, drive->name, why);
	else
		code = consent(config, drive, &inspection, serial_tail);
	device_inspect_end(&inspection);
	return code;
}
