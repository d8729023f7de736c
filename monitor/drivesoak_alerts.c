/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "drivesoak_alerts.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/units.h"
#include "control/control.h"
#include "drivesoak_cells.h"
#include "drivesoak_output.h"

#define LOOK_AGAIN_US 200000
/* A channel may first have to end what it is at, then has a deadline of its own. */
#define TEST_WAIT_NS (90 * NS_PER_S)
#define EXIT_FAILED  1

static int refuse(const char *what, const char *why)
{
	return output_fail(EX_DATAERR, what, why);
}

/* What the service would refuse is refused here, with the same words. */
static int ask(const struct config *config, const struct control_request *request, struct text *answer)
{
	struct control_request ignored;
	struct text line = TEXT_INIT;
	char why[CONTROL_WHY_MAX] = "";
	int code;

	control_print_request(request, &line);
	code = control_parse_request(text_string(&line), &ignored, why) < 0 ? refuse("not asked", why)
									    : EX_OK;
	text_fini(&line);
	if (code != EX_OK)
		return code;
	code = control_ask(config->runtime_directory, request, answer);
	if (code != EX_OK && answer->bytes) {
		cell_tame(answer->bytes);
		(void)fprintf(stderr, "drivesoak: %s\n", answer->bytes);
	}
	return code;
}

static int end_output(int code)
{
	if (fflush(stdout) != 0 || ferror(stdout))
		return output_fail(EX_IOERR, "standard output", strerror(errno));
	return code;
}

static void since_text(double seconds, char *out, size_t size)
{
	time_t time = (time_t)seconds;
	struct tm tm;

	text_copy(out, size, "-");
	if (!isnan(seconds) && gmtime_r(&time, &tm))
		(void)strftime(out, size, "%Y-%m-%d %H:%M:%S", &tm);
}

static struct json_object *list_of(struct json_object *object, const char *key)
{
	struct json_object *list = NULL;

	(void)json_object_object_get_ex(object, key, &list);
	return json_object_is_type(list, json_type_array) ? list : NULL;
}

static void firing_print(struct json_object *alert)
{
	char drive[CELL_MAX], name[CELL_MAX], severity[CELL_MAX], text[CELL_MAX], since[32], muted[32];
	const double until_s = cell_number(alert, "muted_until_s");

	cell_text(alert, "drive", drive);
	cell_text(alert, "alert", name);
	cell_text(alert, "severity", severity);
	cell_text(alert, "text", text);
	since_text(cell_number(alert, "since_s"), since, sizeof(since));
	(void)printf("%-16s %-16s %-9s %-20s %s\n", drive, name, severity, since, text);
	if (!isnan(until_s)) {
		since_text(until_s, muted, sizeof(muted));
		(void)printf("  muted until %s UTC\n", muted);
	}
}

static void channel_print(struct json_object *channel)
{
	char name[CELL_MAX], kind[CELL_MAX], result[CELL_MAX], last[32];

	cell_text(channel, "name", name);
	cell_text(channel, "kind", kind);
	cell_text(channel, "result", result);
	since_text(cell_number(channel, "last_s"), last, sizeof(last));
	(void)printf(
		"%-16s %-8s %-20s %7.0f  %s\n", name, kind, last, cell_number(channel, "queued"), result);
}

static int list_print(const char *answer)
{
	struct json_object *object = json_tokener_parse(answer), *firing = list_of(object, "firing"),
			   *channels = list_of(object, "channels");
	int code = EX_OK;

	if (firing && channels) {
		if (json_object_array_length(firing) == 0)
			(void)puts("nothing fires");
		else
			(void)printf("%-16s %-16s %-9s %-20s %s\n", "DRIVE", "ALERT", "SEVERITY",
				"SINCE (UTC)", "WHAT");
		for (size_t i = 0; i < json_object_array_length(firing); i++)
			firing_print(json_object_array_get_idx(firing, i));
		if (json_object_array_length(channels))
			(void)printf("\n%-16s %-8s %-20s %7s  %s\n", "CHANNEL", "WAY", "LAST TRY (UTC)",
				"WAITING", "RESULT");
		for (size_t i = 0; i < json_object_array_length(channels); i++)
			channel_print(json_object_array_get_idx(channels, i));
	} else {
		code = output_fail(EX_PROTOCOL, "alerts", "the answer can't be understood");
	}
	(void)json_object_put(object);
	return code;
}

static int list_alerts(const struct config *config, bool is_json)
{
	const struct control_request request = { .verb = CONTROL_ALERTS };
	struct text answer = TEXT_INIT;
	int code = ask(config, &request, &answer);

	if (code == EX_OK && is_json)
		(void)fputs(text_string(&answer), stdout);
	else if (code == EX_OK)
		code = list_print(text_string(&answer));
	text_fini(&answer);
	return end_output(code);
}

static bool is_true(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	return json_object_object_get_ex(object, key, &value) && json_object_get_boolean(value);
}

static int test_print(struct json_object *test)
{
	struct json_object *channels = list_of(test, "channels");
	char name[CELL_MAX], kind[CELL_MAX], result[CELL_MAX];

	for (size_t i = 0; channels && i < json_object_array_length(channels); i++) {
		struct json_object *channel = json_object_array_get_idx(channels, i);

		cell_text(channel, "name", name);
		cell_text(channel, "kind", kind);
		cell_text(channel, "result", result);
		(void)printf("%s (%s): %s: %s\n", name, kind,
			is_true(channel, "ok")	   ? "delivered"
			: is_true(channel, "done") ? "NOT delivered"
						   : "NOT delivered yet",
			result);
	}
	return is_true(test, "ok") ? EX_OK : EXIT_FAILED;
}

/* The service answers at once with how it went so far; it is asked until all is done. */
static int test_channels(const struct config *config, const char *channel, bool is_json)
{
	const uint64_t until_ns = clock_mono_ns() + TEST_WAIT_NS;
	struct control_request request = { .verb = CONTROL_ALERT_TEST };
	struct text answer = TEXT_INIT;
	struct json_object *test = NULL;
	int code;

	if (strlen(channel) >= sizeof(request.channel))
		return refuse(channel, "is too long for a name");
	text_copy(request.channel, sizeof(request.channel), channel);
	while ((code = ask(config, &request, &answer)) == EX_OK) {
		(void)json_object_put(test);
		test = json_tokener_parse(text_string(&answer));
		if (!test || is_true(test, "done") || clock_mono_ns() >= until_ns)
			break;
		request.verb = CONTROL_ALERT_RESULT;
		(void)snprintf(request.text, sizeof(request.text), "%.0f", cell_number(test, "test"));
		(void)usleep(LOOK_AGAIN_US);
	}
	if (code == EX_OK && !test)
		code = output_fail(EX_PROTOCOL, "alert-test", "the answer can't be understood");
	else if (code == EX_OK && is_json)
		code = printf("%s\n", text_string(&answer)) >= 0 && is_true(test, "ok") ? EX_OK : EXIT_FAILED;
	else if (code == EX_OK)
		code = test_print(test);
	(void)json_object_put(test);
	text_fini(&answer);
	return end_output(code);
}

static int mute(const struct config *config, const char *command, char **operands, int count)
{
	const bool mutes = strcmp(command, "mute") == 0;
	struct control_request request = { .verb = mutes ? CONTROL_MUTE : CONTROL_UNMUTE };
	const char *alert = count == (mutes ? 3 : 2) ? operands[1] : "",
		   *duration = mutes ? operands[count - 1] : "";
	struct text answer = TEXT_INIT;
	int code;

	if (strlen(operands[0]) >= sizeof(request.drive) || strlen(alert) >= sizeof(request.alert) ||
		strlen(duration) >= sizeof(request.duration))
		return refuse(command, "a word is too long");
	text_copy(request.drive, sizeof(request.drive), operands[0]);
	text_copy(request.alert, sizeof(request.alert), alert);
	text_copy(request.duration, sizeof(request.duration), duration);
	code = ask(config, &request, &answer);
	if (code == EX_OK)
		(void)printf("%s\n", text_string(&answer));
	text_fini(&answer);
	return end_output(code);
}

int drivesoak_alerts(
	const struct config *config, const char *command, char **operands, int operand_count, bool is_json)
{
	if (strcmp(command, "alerts") == 0)
		return list_alerts(config, is_json);
	if (strcmp(command, "alert-test") == 0)
		return test_channels(config, operand_count ? operands[0] : "", is_json);
	return mute(config, command, operands, operand_count);
}
