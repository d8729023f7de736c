/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <math.h>
#include <string.h>

#include "unit.h"

#include "measure/healthlimit.h"

#define DEGREES " \302\260C"

struct row {
	const char *name;
	/* config */
	double wear_limit, spare_floor, max_temp;
	bool is_sata;
	/* reading */
	double temp, critical, used, first_used, spare, threshold;
	bool is_paused;
	/* answer */
	enum healthlimit_action action;
	enum healthlimit_cause cause;
	const char *text;
};

static const struct row rows[] = {
	{ "nothing known", 5, 10, NAN, false, NAN, NAN, NAN, NAN, NAN, NAN, false, HEALTHLIMIT_GO_ON,
		HEALTHLIMIT_NOTHING, "" },
	{ "all well", 5, 10, NAN, false, 41, 84, 13, 11, 100, 10, false, HEALTHLIMIT_GO_ON,
		HEALTHLIMIT_NOTHING, "" },
	/* wear */
	{ "below the limit", 5, 10, NAN, false, 41, 84, 15, 11, 100, 10, false, HEALTHLIMIT_GO_ON,
		HEALTHLIMIT_NOTHING, "" },
	{ "at the limit", 5, 10, NAN, false, 41, 84, 16, 11, 100, 10, false, HEALTHLIMIT_STOP,
		HEALTHLIMIT_WEAR,
		"the run used 5 % of the drive's life (11 to 16 %), its wear-limit is 5 %" },
	{ "a fraction", 0.5, 10, NAN, false, 41, 84, 12, 11, 100, 10, false, HEALTHLIMIT_STOP,
		HEALTHLIMIT_WEAR,
		"the run used 1 % of the drive's life (11 to 12 %), its wear-limit is 0.5 %" },
	{ "beyond the rating", 5, 10, NAN, false, 41, 84, 255, 249, 100, 10, false, HEALTHLIMIT_STOP,
		HEALTHLIMIT_WEAR,
		"the run used 6 % of the drive's life (249 to 255 %), its wear-limit is 5 %" },
	{ "no limit", 0, 10, NAN, false, 41, 84, 99, 11, 100, 10, false, HEALTHLIMIT_GO_ON,
		HEALTHLIMIT_NOTHING, "" },
	{ "no first", 5, 10, NAN, false, 41, 84, 99, NAN, 100, 10, false, HEALTHLIMIT_GO_ON,
		HEALTHLIMIT_NOTHING, "" },
	{ "not read", 5, 10, NAN, false, 41, 84, NAN, 11, 100, 10, false, HEALTHLIMIT_GO_ON,
		HEALTHLIMIT_NOTHING, "" },
	{ "backwards", 5, 10, NAN, false, 41, 84, 3, 11, 100, 10, false, HEALTHLIMIT_GO_ON,
		HEALTHLIMIT_NOTHING, "" },
	/* spare */
	{ "at the floor", 5, 10, NAN, false, 41, 84, 13, 11, 10, 5, false, HEALTHLIMIT_GO_ON,
		HEALTHLIMIT_NOTHING, "" },
	{ "below the floor", 5, 10, NAN, false, 41, 84, 13, 11, 9, 5, false, HEALTHLIMIT_STOP,
		HEALTHLIMIT_SPARE, "the drive's spare is 9 %, below spare-floor, 10 %" },
	{ "nothing left", 5, 10, NAN, false, 41, 84, 13, 11, 0, 5, false, HEALTHLIMIT_STOP, HEALTHLIMIT_SPARE,
		"the drive's spare is 0 %, below spare-floor, 10 %" },
	{ "no threshold", 5, 10, NAN, false, 41, 84, 13, 11, 9, 0, false, HEALTHLIMIT_STOP, HEALTHLIMIT_SPARE,
		"the drive's spare is 9 %, below spare-floor, 10 %" },
	{ "both not reported", 5, 10, NAN, false, 41, 84, 13, 11, 0, 0, false, HEALTHLIMIT_GO_ON,
		HEALTHLIMIT_NOTHING, "" },
	{ "threshold unknown", 5, 10, NAN, false, 41, 84, 13, 11, 0, NAN, false, HEALTHLIMIT_GO_ON,
		HEALTHLIMIT_NOTHING, "" },
	{ "no floor", 5, 0, NAN, false, 41, 84, 13, 11, 0, 5, false, HEALTHLIMIT_GO_ON, HEALTHLIMIT_NOTHING,
		"" },
	/* temperature */
	{ "below critical", 5, 10, NAN, false, 83, 84, 13, 11, 100, 10, false, HEALTHLIMIT_GO_ON,
		HEALTHLIMIT_NOTHING, "" },
	{ "critical", 5, 10, NAN, false, 84, 84, 13, 11, 100, 10, false, HEALTHLIMIT_PAUSE,
		HEALTHLIMIT_TEMPERATURE,
		"the drive has 84" DEGREES ", the limit is 84" DEGREES
		" (the drive's critical temperature)" },
	{ "NVMe without", 5, 10, NAN, false, 84, NAN, 13, 11, 100, 10, false, HEALTHLIMIT_GO_ON,
		HEALTHLIMIT_NOTHING, "" },
	{ "NVMe of 85", 5, 10, NAN, false, 85, 0, 13, 11, 100, 10, false, HEALTHLIMIT_PAUSE,
		HEALTHLIMIT_TEMPERATURE,
		"the drive has 85" DEGREES ", the limit is 85" DEGREES
		" (as the drive names no critical temperature)" },
	{ "SATA of 69", 5, 10, NAN, true, 69, NAN, 13, 11, 100, 10, false, HEALTHLIMIT_GO_ON,
		HEALTHLIMIT_NOTHING, "" },
	{ "SATA of 70", 5, 10, NAN, true, 70, NAN, 13, 11, 100, 10, false, HEALTHLIMIT_PAUSE,
		HEALTHLIMIT_TEMPERATURE,
		"the drive has 70" DEGREES ", the limit is 70" DEGREES
		" (as the drive names no critical temperature)" },
	{ "given", 5, 10, 60, false, 60.5, 84, 13, 11, 100, 10, false, HEALTHLIMIT_PAUSE,
		HEALTHLIMIT_TEMPERATURE,
		"the drive has 60.5" DEGREES ", the limit is 60" DEGREES " (max-temperature)" },
	{ "given higher", 5, 10, 95, false, 94, 84, 13, 11, 100, 10, false, HEALTHLIMIT_GO_ON,
		HEALTHLIMIT_NOTHING, "" },
	{ "still warm", 5, 10, 60, false, 56, 84, 13, 11, 100, 10, true, HEALTHLIMIT_PAUSE,
		HEALTHLIMIT_TEMPERATURE, "the drive has 56" DEGREES ", the run goes on at 55" DEGREES },
	{ "as warm, not paused", 5, 10, 60, false, 56, 84, 13, 11, 100, 10, false, HEALTHLIMIT_GO_ON,
		HEALTHLIMIT_NOTHING, "" },
	{ "cool", 5, 10, 60, false, 55, 84, 13, 11, 100, 10, true, HEALTHLIMIT_GO_ON, HEALTHLIMIT_TEMPERATURE,
		"the drive has cooled down to 55" DEGREES },
	{ "not read since", 5, 10, 60, false, NAN, 84, 13, 11, 100, 10, true, HEALTHLIMIT_PAUSE,
		HEALTHLIMIT_TEMPERATURE, "the drive's temperature is unknown since it was too hot" },
	{ "below zero", 5, 10, NAN, false, -5, 84, 13, 11, 100, 10, false, HEALTHLIMIT_GO_ON,
		HEALTHLIMIT_NOTHING, "" },
	/* more than one */
	{ "hot and worn", 5, 10, 60, false, 90, 84, 16, 11, 3, 10, true, HEALTHLIMIT_STOP, HEALTHLIMIT_WEAR,
		"the run used 5 % of the drive's life (11 to 16 %), its wear-limit is 5 %" },
	{ "hot and without spare", 5, 10, 60, false, 90, 84, 12, 11, 3, 10, true, HEALTHLIMIT_STOP,
		HEALTHLIMIT_SPARE, "the drive's spare is 3 %, below spare-floor, 10 %" },
};

static void test_a_reading_goes_on_pauses_or_stops(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct row *row = &rows[i];
		struct healthlimit_config config = { row->wear_limit, row->spare_floor, row->max_temp,
			row->is_sata };
		struct healthlimit_reading reading = { row->temp, row->critical, row->used, row->first_used,
			row->spare, row->threshold };
		struct healthlimit_answer answer;

		memset(&answer, 0xa5, sizeof(answer));
		healthlimit_decide(&config, &reading, row->is_paused, &answer);
		if (answer.action != row->action || answer.cause != row->cause ||
			strcmp(answer.text, row->text) != 0)
			fail_msg("%s: action %d, cause %d, \"%s\"", row->name, (int)answer.action,
				(int)answer.cause, answer.text);
	}
}

/* Readings of a drive that heats up and cools down: it pauses once, not at every degree. */
static void test_a_pause_lasts_until_the_drive_is_cooler(void **state)
{
	static const double temps[] = { 68, 69, 70, 72, 69, 70, 66, NAN, 66, 65, 69, 70, 64 };
	struct healthlimit_config config = { 5, 10, 70, true };
	struct healthlimit_answer answer;
	char actions[ARRAY_LEN(temps) + 1] = "";
	bool is_paused = false;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(temps); i++) {
		struct healthlimit_reading reading = { temps[i], NAN, NAN, NAN, NAN, NAN };

		healthlimit_decide(&config, &reading, is_paused, &answer);
		is_paused = answer.action == HEALTHLIMIT_PAUSE;
		actions[i] = is_paused ? 'P' : '.';
	}
	assert_string_equal(actions, "..PPPPPPP..P.");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_reading_goes_on_pauses_or_stops),
		cmocka_unit_test(test_a_pause_lasts_until_the_drive_is_cooler),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
