/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a health reading means for the run: wear and spare stop it, heat pauses it; and which of these limits can't hold,
 * because the drive does not tell what they are about. */
#include "soak_private.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "measure/healthlimit.h"

/* How the reason of a run begins that heat has paused: known again after a restart. */
#define TOO_HOT "too hot: "

static bool is_heat_pause(const struct drive *drive)
{
	return drive->health.is_too_hot && drive->run.progress.status == RUN_PAUSED &&
	       strncmp(drive->run.reason, TOO_HOT, strlen(TOO_HOT)) == 0;
}

static void heat_pause(struct drive *drive, const char *text)
{
	const struct run_input pause = { .event = RUN_EVENT_PAUSE };

	(void)snprintf(drive->run.reason, sizeof(drive->run.reason), TOO_HOT "%s", text);
	drive_event(drive, "health", EVENT_CRITICAL, "%s: the run pauses", drive->run.reason);
	drive->health.is_too_hot = true;
	drive_step(drive, &pause);
	drive_store(drive);
	drive_set_status(drive, RUN_PAUSED, drive->run.reason);
}

static void heat_resume(struct drive *drive)
{
	const struct run_input resume = { .event = RUN_EVENT_RESUME };

	const bool is_paused = is_heat_pause(drive);

	drive->health.is_too_hot = false;
	/* Somebody ended the pause, or paused it for another reason. */
	if (!is_paused)
		return;
	drive->run.reason[0] = '\0';
	drive_event(drive, "resumed", EVENT_INFO, "cool again at %.0f C", drive->health.temp_c);
	drive_set_status(drive, RUN_RUNNING, "");
	drive_step(drive, &resume);
	drive_store(drive);
}

/* A pause for heat writes nothing either, and what was written is verified when it is over. */
static bool waits_for_cooling(const struct drive *drive, struct healthlimit_config config,
	const struct healthlimit_reading *reading)
{
	struct healthlimit_answer answer;

	config.wear_limit_pct = config.spare_floor_pct = 0;
	healthlimit_decide(&config, reading, drive->health.is_too_hot, &answer);
	return drive->plan.verifies && is_heat_pause(drive) && answer.action == HEALTHLIMIT_PAUSE;
}

static void wear_stop(struct drive *drive, const char *text)
{
	const bool was_hot = is_heat_pause(drive);
	const struct run_input resume = { .event = RUN_EVENT_RESUME };
	/* As with a budget: nothing more is written, what was is verified. */
	const struct run_input spent = {
		.event = RUN_EVENT_BUDGET_SPENT,
		.fill_done_bytes = drive->run.progress.fill_done_bytes,
	};

	text_copy(drive->run.reason, sizeof(drive->run.reason), text);
	drive_event(drive, "budget", EVENT_CRITICAL, "%s: nothing more is written", text);
	drive_step(drive, &spent);
	if (!was_hot || drive->run.progress.status != RUN_PAUSED)
		return;
	drive->health.is_too_hot = false;
	drive_set_status(drive, RUN_RUNNING, "");
	drive_step(drive, &resume);
	drive_store(drive);
}

/* What a drive must tell for a limit to hold. */
static const struct {
	enum reading_field field;
	const char *what, *limit;
} needed[] = {
	{ READING_PERCENT_USED, "how worn it is", "wear-limit" },
	{ READING_SPARE_PCT, "what spare it has left", "spare-floor" },
	{ READING_TEMP_C, "how warm it is", "max-temperature" },
};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static bool is_limited(const struct config_drive *config, enum reading_field field)
{
	return field == READING_PERCENT_USED ? config->wear_limit_pct > 0
	       : field == READING_SPARE_PCT  ? config->spare_floor_pct > 0
					     : true;
}

/* Said when it begins, and when it is over. */
static void note_untold(struct drive *drive, const struct reading *reading)
{
	unsigned *untold = &drive->health.untold;

	for (size_t i = 0; i < COUNT_OF(needed); i++) {
		const bool is_told = reading->known[needed[i].field], was_told = !(*untold >> i & 1);

		if (!is_limited(drive->config, needed[i].field) || is_told == was_told)
			continue;
		*untold ^= 1u << i;
		if (is_told)
			drive_event(drive, "health", EVENT_INFO, "the drive tells %s again: %s holds",
				needed[i].what, needed[i].limit);
		else
			drive_event(drive, "health", EVENT_WARNING,
				"the drive does not tell %s%s: %s can't hold", needed[i].what,
				drive->health.known[needed[i].field] ? " any more" : "", needed[i].limit);
	}
}

void health_recall_limits(struct drive *drive)
{
	struct health_watch *health = &drive->health;

	health->is_too_hot = strncmp(drive->run.reason, TOO_HOT, strlen(TOO_HOT)) == 0;
	for (size_t i = 0; i < COUNT_OF(needed); i++)
		if (health->has_earlier && !health->known[needed[i].field])
			health->untold |= 1u << i;
}

void health_keep_limits(struct drive *drive, const struct reading *reading)
{
	const enum run_phase phase = drive->run.progress.phase;
	const struct healthlimit_config config = {
		.wear_limit_pct = drive->config->wear_limit_pct,
		.spare_floor_pct = drive->config->spare_floor_pct,
		.max_temp_c = drive->config->max_temp_c,
		/* Also behind smartctl only NVMe drives have critical warnings. */
		.is_sata = drive->health.way != PROBER_NVME && !reading->known[READING_CRITICAL_WARNING],
	};
	const struct healthlimit_reading now = {
		.temp_c = reading_get_double(reading, READING_TEMP_C),
		.critical_temp_c = reading_get_double(reading, READING_CRITICAL_TEMP_C),
		.percent_used = reading_get_double(reading, READING_PERCENT_USED),
		.first_percent_used = drive->health.first_percent_used,
		.spare_pct = reading_get_double(reading, READING_SPARE_PCT),
		.spare_threshold_pct = reading_get_double(reading, READING_SPARE_THRESHOLD_PCT),
	};
	struct healthlimit_answer answer;

	note_untold(drive, reading);
	if (!drive->is_open || drive->soak->is_stopping)
		return;
	healthlimit_decide(&config, &now, drive->health.is_too_hot, &answer);
	if (answer.action == HEALTHLIMIT_STOP && waits_for_cooling(drive, config, &now))
		return;
	if (answer.action == HEALTHLIMIT_STOP &&
		(phase == PHASE_FILL || phase == PHASE_SOAK || phase == PHASE_PROBE))
		wear_stop(drive, answer.text);
	else if (answer.action == HEALTHLIMIT_PAUSE && drive->run.progress.status == RUN_RUNNING)
		heat_pause(drive, answer.text);
	else if (answer.action == HEALTHLIMIT_GO_ON && drive->health.is_too_hot)
		heat_resume(drive);
}
