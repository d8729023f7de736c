/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "healthgate.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "prober.h"
#include "target/guard.h"
#include "target/inventory.h"

#define USED_MOST_PCT	   80
#define SPARE_DISTANCE_PCT 5
#define WARNING_READ_ONLY  (1u << 3)

static int refuse(char *why, const char *what)
{
	(void)snprintf(why, HEALTHGATE_WHY_MAX, "%s; give a write-budget to run all the same", what);
	return -EPERM;
}

int healthgate_judge(const struct reading *reading, bool has_budget, char *why)
{
	double used = reading ? reading_get_double(reading, READING_PERCENT_USED) : NAN;
	double spare = reading ? reading_get_double(reading, READING_SPARE_PCT) : NAN;
	double threshold = reading ? reading_get_double(reading, READING_SPARE_THRESHOLD_PCT) : NAN;
	uint64_t warning = 0;
	char what[128];

	if (reading && reading_get_u64(reading, READING_CRITICAL_WARNING, &warning) &&
		warning & WARNING_READ_ONLY) {
		(void)snprintf(why, HEALTHGATE_WHY_MAX, "the drive says that its media is read-only");
		return -EPERM;
	}
	if (has_budget)
		return 0;
	if (isnan(used))
		return refuse(why, "the drive's wear can't be read");
	if (used > USED_MOST_PCT) {
		(void)snprintf(what, sizeof(what), "%.0f %% of the drive's rated life is used", used);
		return refuse(why, what);
	}
	/* A threshold of 0 is one that is not reported. */
	if (threshold > 0 && spare < threshold + SPARE_DISTANCE_PCT) {
		(void)snprintf(what, sizeof(what),
			"the drive's spare is at %.0f %%, its threshold at %.0f %%", spare, threshold);
		return refuse(why, what);
	}
	return 0;
}

static int read_and_judge(const struct config_drive *drive, const struct blockdev *disk, char *why)
{
	struct reading_memory memory = { 0 };
	struct prober_question question = { 0 };
	struct reading reading;
	int rc;

	text_copy(question.disk, sizeof(question.disk), disk->name);
	question.way = prober_way_of(drive->probe, disk, question.type, sizeof(question.type));
	reading_init(&reading);
	if (strcmp(drive->probe, "auto") == 0)
		rc = prober_read_any(&question, &memory, &reading);
	else
		rc = prober_read(&question, &memory, &reading);
	rc = healthgate_judge(rc < 0 ? NULL : &reading, drive->write_budget_bytes > 0, why);
	reading_fini(&reading);
	reading_memory_fini(&memory);
	return rc;
}

int healthgate_check(const struct config_drive *drive, char *why)
{
	char name[32], words[GUARD_TEXT_MAX];
	struct blockdev disk;

	if (!drive->device[0] ||
		inventory_find("", drive->device, drive->serial, drive->wwid, name, words) < 0 ||
		blockdev_read("", name, &disk) < 0 || strcmp(disk.transport, "loop") == 0)
		return 0;
	return read_and_judge(drive, &disk, why);
}
