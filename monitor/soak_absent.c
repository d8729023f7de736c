/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Drives that are not there, go away and come back. udev's events only make it quicker: without udev the timer looks. */
#include "soak_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"

#define RETRY_US (NS_PER_S / NS_PER_US)
/* An absent drive is looked for in sysfs, which costs little; one that was refused is opened and read. */
#define RETRY_ABSENT_NS	 (2 * NS_PER_S)
#define RETRY_REFUSED_NS (30 * NS_PER_S)

static bool is_run_open_ended(const struct drive *drive)
{
	const enum run_status status = drive->run.progress.status;

	return drive->is_resumed && (status == RUN_RUNNING || status == RUN_PAUSED);
}

/* @losses: 1 when the drive was in use, 0 when it was not there to begin with. */
static void absent_begin(struct drive *drive, uint32_t losses, const char *why)
{
	char reason[STATUS_TEXT_MAX], health[HEALTH_WORDS_MAX];

	drive_health_words(drive, health);
	if (!drive->is_absent) {
		drive->is_absent = true;
		drive->absent_ms = drive_now_ms(drive);
		/* It may be without power, which a later start and `drivesoak verify` must know as they know a boot. */
		if (is_run_open_ended(drive)) {
			drive->run.boot_id[0] = '\0';
			drive_store(drive);
		}
		drive_event_counted(drive, "absent",
			is_run_open_ended(drive) ? EVENT_CRITICAL : EVENT_WARNING, losses,
			"%s; last health: %s; waiting for it", why, health);
	}
	(void)snprintf(reason, sizeof(reason), "%s; waiting for it", why);
	drive_set_status(drive, RUN_ABSENT, reason);
	/* Waiting is a reason to stay, whatever else turns up in its place. */
	drive->soak->stays = true;
	drive->retry_ns = clock_mono_ns() + RETRY_ABSENT_NS;
}

void drive_gone(struct drive *drive, const char *why)
{
	const struct run_input absent = { .event = RUN_EVENT_ABSENT };

	if (drive->is_absent)
		return;
	/* From now on it is a run that goes on, with what it has filled. */
	drive->is_resumed = true;
	drive->is_partial = true;
	absent_begin(drive, 1, why);
	drive_leave_cause(drive);
	/* Not before the target is closed. */
	drive->retry_ns = 0;
	drive_step(drive, &absent);
}

void drive_note_refusal(struct drive *drive, const struct keeper_reply *reply)
{
	char reason[STATUS_TEXT_MAX];

	drive->is_opening = false;
	drive->has_run = drive->is_resumed;
	if (reply->error == -ENODEV) {
		absent_begin(drive, 0, reply->why);
		return;
	}
	/* The run, if there is one, stays as it is and is tried again: the right drive may be put back. */
	(void)snprintf(reason, sizeof(reason), "refused: %s", reply->why);
	if (strcmp(drive->refusal, reason) != 0) {
		text_copy(drive->refusal, sizeof(drive->refusal), reason);
		drive_event(drive, "error", EVENT_CRITICAL, "%s", reason);
	}
	drive_set_status(drive, RUN_FAILED, reason);
	drive->retry_ns = is_run_open_ended(drive) ? clock_mono_ns() + RETRY_REFUSED_NS : 0;
}

void drive_note_return(struct drive *drive)
{
	const struct target_facts *facts = keeper_get_facts(drive->keeper);
	char away[UNITS_TEXT_MAX];

	drive->refusal[0] = '\0';
	if (!drive->is_absent)
		return;
	drive->is_absent = false;
	units_print_duration_rounded(
		(double)(drive_now_ms(drive) - drive->absent_ms) * (double)NS_PER_MS, away);
	drive_event(drive, "returned", EVENT_WARNING, "the drive is back as %s after %s",
		facts->disk_count ? facts->disks[0].name : "a disk", away);
}

static int on_retry(sd_event_source *source, uint64_t usec, void *arg)
{
	struct soak *soak = arg;
	uint64_t now_ns = clock_mono_ns();

	for (size_t i = 0; i < soak->drive_count && !soak->is_stopping; i++) {
		struct drive *drive = &soak->drives[i];

		if (drive->retry_ns && !drive->is_opening && drive->job == JOB_NONE &&
			now_ns >= drive->retry_ns)
			drive_open_again(drive);
	}
	(void)sd_event_source_set_time(source, usec + RETRY_US);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

/* Which drive it is need not be known: those that wait try now, those that run are looked at. */
static int on_device(sd_device_monitor *monitor, sd_device *device, void *arg)
{
	struct soak *soak = arg;
	sd_device_action_t action = SD_DEVICE_CHANGE;

	(void)monitor;
	(void)sd_device_get_action(device, &action);
	for (size_t i = 0; i < soak->drive_count; i++) {
		struct drive *drive = &soak->drives[i];

		if (action == SD_DEVICE_REMOVE && drive->config->device[0])
			drive_look(drive);
		else if (action == SD_DEVICE_ADD && drive->is_absent && drive->retry_ns)
			drive->retry_ns = 1;
	}
	return 0;
}

static void monitor_start(struct soak *soak)
{
	if (sd_device_monitor_new(&soak->monitor) < 0)
		return;
	if (sd_device_monitor_filter_add_match_subsystem_devtype(soak->monitor, "block", "disk") < 0 ||
		sd_device_monitor_attach_event(soak->monitor, soak->event) < 0 ||
		sd_device_monitor_start(soak->monitor, on_device, soak) < 0)
		soak->monitor = sd_device_monitor_unref(soak->monitor);
}

int soak_watch_drives(struct soak *soak)
{
	monitor_start(soak);
	return sd_event_add_time_relative(
		soak->event, &soak->retry_timer, CLOCK_MONOTONIC, RETRY_US, 0, on_retry, soak);
}
