/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rules.h - the rules that can be bad for a drive, and their names. Constant data; any thread. */
#ifndef DRIVESOAK_ALERT_RULES_H
#define DRIVESOAK_ALERT_RULES_H

#include <stdbool.h>

enum alert_rule {
	ALERT_COLLAPSE,
	ALERT_STALL,
	ALERT_SAW_TOOTH,
	ALERT_DEGRADED,
	ALERT_IO_ERRORS,
	ALERT_DRIVE_FAILED,
	ALERT_DRIVE_ABSENT,
	ALERT_CRITICAL_WARNING,
	ALERT_MEDIA_ERRORS,
	ALERT_SPARE,
	ALERT_TEMPERATURE,
	ALERT_JOURNAL, /* of the service, not of a drive: records can't be stored */
	ALERT_RULE_COUNT,
	ALERT_RULE_TEST = ALERT_RULE_COUNT /* of a test message only */
};

/* "saw-tooth": in the API, the journal and on the command line. */
const char *alert_rule_name(enum alert_rule rule);
/* "DrivesoakSawTooth": the alertname of Prometheus and Alertmanager. */
const char *alert_rule_title(enum alert_rule rule);
/* "Usage": the SMARTD_FAILTYPE that scripts made for smartd know. */
const char *alert_rule_failtype(enum alert_rule rule);
/* "4.18 MiB/s", "32.6 s", "71 °C", "3": a value or threshold of the rule for people; "" for NAN. @text has
 * UNITS_TEXT_MAX. */
void alert_rule_print_value(enum alert_rule rule, double value, char *text);
/* What is said in place of one that is NAN: "not known yet", or "no figure" where the rule has none. */
const char *alert_rule_unknown(enum alert_rule rule);
/* False, with *@out untouched, for a name that is none. */
bool alert_rule_parse(const char *name, enum alert_rule *out);

#endif
