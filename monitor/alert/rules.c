/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "alert/rules.h"

#include <string.h>

static const struct {
	const char *name, *title, *failtype;
} rows[ALERT_RULE_COUNT + 1] = {
	[ALERT_COLLAPSE] = { "collapse", "DrivesoakThroughputCollapse", "Usage" },
	[ALERT_STALL] = { "stall", "DrivesoakStall", "Usage" },
	[ALERT_SAW_TOOTH] = { "saw-tooth", "DrivesoakSawTooth", "Usage" },
	[ALERT_DEGRADED] = { "degraded", "DrivesoakThroughputDegraded", "Usage" },
	[ALERT_IO_ERRORS] = { "io-errors", "DrivesoakIOErrors", "ErrorCount" },
	[ALERT_DRIVE_FAILED] = { "drive-failed", "DrivesoakDriveFailed", "Health" },
	[ALERT_DRIVE_ABSENT] = { "drive-absent", "DrivesoakDriveMissing", "FailedOpenDevice" },
	[ALERT_CRITICAL_WARNING] = { "critical-warning", "DrivesoakCriticalWarning", "Health" },
	[ALERT_MEDIA_ERRORS] = { "media-errors", "DrivesoakMediaErrors", "ErrorCount" },
	[ALERT_SPARE] = { "spare", "DrivesoakSpareLow", "Usage" },
	[ALERT_TEMPERATURE] = { "temperature", "DrivesoakHot", "Temperature" },
	[ALERT_JOURNAL] = { "journal", "DrivesoakRecordsWaiting", "Usage" },
	[ALERT_RULE_TEST] = { "test", "DrivesoakTest", "EmailTest" },
};

const char *alert_rule_name(enum alert_rule rule)
{
	return rows[rule].name;
}

const char *alert_rule_title(enum alert_rule rule)
{
	return rows[rule].title;
}

const char *alert_rule_failtype(enum alert_rule rule)
{
	return rows[rule].failtype;
}

bool alert_rule_parse(const char *name, enum alert_rule *out)
{
	for (int i = 0; i < ALERT_RULE_COUNT; i++) {
		if (strcmp(rows[i].name, name) != 0)
			continue;
		*out = (enum alert_rule)i;
		return true;
	}
	return false;
}
