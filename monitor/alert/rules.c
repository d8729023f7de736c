/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "alert/rules.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"

enum unit { UNIT_NONE, UNIT_RATE, UNIT_SECONDS, UNIT_COUNT, UNIT_BITS, UNIT_PERCENT, UNIT_CELSIUS };

static const struct {
	const char *name, *title, *failtype;
	enum unit unit; /* of value and threshold */
} rows[ALERT_RULE_COUNT + 1] = {
	[ALERT_COLLAPSE] = { "collapse", "DrivesoakThroughputCollapse", "Usage", UNIT_RATE },
	[ALERT_STALL] = { "stall", "DrivesoakStall", "Usage", UNIT_SECONDS },
	[ALERT_SAW_TOOTH] = { "saw-tooth", "DrivesoakSawTooth", "Usage", UNIT_NONE },
	[ALERT_DEGRADED] = { "degraded", "DrivesoakThroughputDegraded", "Usage", UNIT_RATE },
	[ALERT_IO_ERRORS] = { "io-errors", "DrivesoakIOErrors", "ErrorCount", UNIT_COUNT },
	[ALERT_DRIVE_FAILED] = { "drive-failed", "DrivesoakDriveFailed", "Health", UNIT_NONE },
	[ALERT_DRIVE_ABSENT] = { "drive-absent", "DrivesoakDriveMissing", "FailedOpenDevice", UNIT_NONE },
	[ALERT_CRITICAL_WARNING] = { "critical-warning", "DrivesoakCriticalWarning", "Health", UNIT_BITS },
	[ALERT_MEDIA_ERRORS] = { "media-errors", "DrivesoakMediaErrors", "ErrorCount", UNIT_COUNT },
	[ALERT_SPARE] = { "spare", "DrivesoakSpareLow", "Usage", UNIT_PERCENT },
	[ALERT_TEMPERATURE] = { "temperature", "DrivesoakHot", "Temperature", UNIT_CELSIUS },
	[ALERT_JOURNAL] = { "journal", "DrivesoakRecordsWaiting", "Usage", UNIT_SECONDS },
	[ALERT_RULE_TEST] = { "test", "DrivesoakTest", "EmailTest", UNIT_NONE },
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

void alert_rule_print_value(enum alert_rule rule, double value, char *text)
{
	text[0] = '\0';
	if (isnan(value))
		return;
	switch (rows[rule].unit) {
	case UNIT_RATE:
		units_print_rate_rounded(value, text);
		break;
	case UNIT_SECONDS:
		(void)snprintf(text, UNITS_TEXT_MAX, value < 1000 ? "%.3g s" : "%.0f s", value);
		break;
	case UNIT_BITS:
		(void)snprintf(text, UNITS_TEXT_MAX, "0x%02x", (unsigned)value);
		break;
	case UNIT_PERCENT:
		(void)snprintf(text, UNITS_TEXT_MAX, "%.3g %%", value);
		break;
	case UNIT_CELSIUS:
		(void)snprintf(text, UNITS_TEXT_MAX,
			"%.3g \xc2\xb0"
			"C",
			value);
		break;
	case UNIT_COUNT:
	case UNIT_NONE:
		(void)snprintf(text, UNITS_TEXT_MAX, "%.15g", value);
		break;
	}
}

const char *alert_rule_unknown(enum alert_rule rule)
{
	return rows[rule].unit == UNIT_NONE ? "no figure" : "not known yet";
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
