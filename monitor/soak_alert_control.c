/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Commands of users about alerts: list, mute, test. */
#include "soak_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>

#include "alert/alert_json.h"
#include "base/clock.h"
#include "base/units.h"

#define MUTE_MOST_NS (366 * 86400 * NS_PER_S)

static void answer_alerts(struct soak *soak, struct control_answer *answer)
{
	/* All of the history is on the disk, which the loop does not wait for; the board has the last of it. */
	alert_json(
		soak->options.alert_board, NULL, 0, tick_now_ms(&soak->tick, clock_boot_ns()), &answer->text);
}

static void answer_test(
	struct soak *soak, const struct control_request *request, struct control_answer *answer)
{
	uint64_t test = 0;

	if (soak->options.config->notify_count == 0) {
		answer->code = EX_CONFIG;
		text_add(&answer->text, "nobody is told: the configuration has no notify section");
		return;
	}
	test = delivery_test(soak->options.delivery, request->channel);
	if (test) {
		alert_json_test(soak->options.alert_board, test, request->channel, &answer->text);
	} else {
		answer->code = EX_NOINPUT;
		text_addf(&answer->text, "%s: no such notify section in the configuration", request->channel);
	}
}

static void answer_result(
	struct soak *soak, const struct control_request *request, struct control_answer *answer)
{
	uint64_t test;

	if (units_parse_count(request->text, &test) < 0) {
		answer->code = EX_DATAERR;
		text_add(&answer->text, "text: is no number of a test");
		return;
	}
	alert_json_test(soak->options.alert_board, test, request->channel, &answer->text);
}

static bool until_parse(struct soak *soak, const struct control_request *request, int64_t *out_ms)
{
	uint64_t ns;

	*out_ms = INT64_MIN;
	if (request->verb == CONTROL_UNMUTE)
		return true;
	if (units_parse_duration(request->duration, &ns) < 0 || ns < NS_PER_S || ns > MUTE_MOST_NS)
		return false;
	*out_ms = tick_now_ms(&soak->tick, clock_boot_ns()) + (int64_t)(ns / NS_PER_MS);
	return true;
}

static void say_muted(const struct control_request *request, int64_t until_ms, struct text *out)
{
	const char *what = request->alert[0] ? request->alert : "every alert";
	time_t seconds = (time_t)(until_ms / 1000);
	char time[32] = "";
	struct tm tm;

	if (request->verb == CONTROL_UNMUTE) {
		text_addf(out, "%s: %s is no longer muted", request->drive, what);
		return;
	}
	if (gmtime_r(&seconds, &tm))
		(void)strftime(time, sizeof(time), "%Y-%m-%d %H:%M:%S", &tm);
	text_addf(out, "%s: %s is muted until %s UTC; what was told is still said to be over", request->drive,
		what, time);
}

static void answer_mute(
	struct soak *soak, const struct control_request *request, struct control_answer *answer)
{
	enum alert_rule rule = ALERT_RULE_COUNT;
	struct drive *drive = soak_find_drive(soak, request->drive);
	int64_t until_ms;

	answer->code = EX_DATAERR;
	if (!drive) {
		answer->code = EX_NOINPUT;
		text_addf(&answer->text, "%s: no such drive in the configuration", request->drive);
	} else if (request->alert[0] && (!alert_rule_parse(request->alert, &rule) || rule == ALERT_JOURNAL)) {
		text_addf(&answer->text, "%s: no such alert of a drive; there are:", request->alert);
		for (int i = 0; i < ALERT_JOURNAL; i++)
			text_addf(&answer->text, " %s", alert_rule_name((enum alert_rule)i));
	} else if (!soak->tick.interval_ms) {
		answer->code = EX_TEMPFAIL;
		text_add(&answer->text, "the service is starting and reads its journal: try again soon");
	} else if (!until_parse(soak, request, &until_ms)) {
		text_addf(&answer->text, "%s: no duration from 1s to 366d", request->duration);
	} else if (!soak_mute(soak, drive->index, rule, until_ms)) {
		answer->code = EX_TEMPFAIL;
		text_add(&answer->text, "done, but it can't be stored yet: a restart would forget it");
	} else {
		answer->code = EX_OK;
		say_muted(request, until_ms, &answer->text);
	}
}

bool soak_alert_command(
	struct soak *soak, const struct control_request *request, struct control_answer *answer)
{
	switch (request->verb) {
	case CONTROL_ALERTS:
		answer_alerts(soak, answer);
		return true;
	case CONTROL_ALERT_TEST:
		answer_test(soak, request, answer);
		return true;
	case CONTROL_ALERT_RESULT:
		answer_result(soak, request, answer);
		return true;
	case CONTROL_MUTE:
	case CONTROL_UNMUTE:
		answer_mute(soak, request, answer);
		return true;
	default:
		return false;
	}
}
