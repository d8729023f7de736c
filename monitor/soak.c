/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "soak_private.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sysexits.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/sysfs.h"
#include "base/units.h"
#include "measure/evidence.h"

/* A drive that has not answered by then is hung: what was completed is written and the service ends without it. */
#define STOP_NS		 (8 * NS_PER_S)
#define TICK_ACCURACY_US 500
#define ANNOUNCE_US	 20000
#define WHY_MAX		 256

/* Any thread: a keeper has a reply. */
static void wake(void *arg)
{
	struct soak *soak = arg;
	const uint64_t one = 1;

	(void)!write(soak->wake_fd, &one, sizeof(one));
}

static bool all_quiet(const struct soak *soak)
{
	for (size_t i = 0; i < soak->drive_count; i++)
		if (!drive_is_quiet(&soak->drives[i]))
			return false;
	return true;
}

static void end_if_quiet(struct soak *soak)
{
	if (!soak->is_stopping || !all_quiet(soak))
		return;
	for (size_t i = 0; i < soak->drive_count; i++)
		drive_last_sample(&soak->drives[i]);
	(void)sd_event_exit(soak->event, soak->exit_code);
}

/* Only a config under which nothing runs, waits or has run is a reason not to stay. */
static void end_if_useless(struct soak *soak)
{
	for (size_t i = 0; i < soak->drive_count; i++)
		if (soak->stays || soak->drives[i].status != RUN_FAILED || soak->drives[i].is_open ||
			(soak->drives[i].has_run && soak->drives[i].run.progress.status == RUN_FAILED))
			return;
	log_error("no drive can run");
	soak->exit_code = EX_CONFIG;
	(void)sd_event_exit(soak->event, soak->exit_code);
}

static int on_wake(sd_event_source *source, int fd, uint32_t events, void *arg)
{
	struct soak *soak = arg;
	struct keeper_reply reply;
	uint64_t count;
	bool was_refused = false;

	(void)source;
	(void)events;
	(void)!read(fd, &count, sizeof(count));
	for (size_t i = 0; i < soak->drive_count; i++) {
		while (keeper_next_reply(soak->drives[i].keeper, &reply)) {
			drive_reply(&soak->drives[i], &reply);
			soak->stays |= reply.answer == KEEPER_OPENED;
			was_refused |= reply.answer == KEEPER_FAILED && reply.verb == KEEPER_OPEN;
		}
	}
	for (size_t i = 0; i < soak->drive_count; i++)
		drive_take_health(&soak->drives[i]);
	soak_take_lines(soak);
	soak_balance_paths(soak);
	if (was_refused)
		end_if_useless(soak);
	end_if_quiet(soak);
	return 0;
}

static int on_announce(sd_event_source *source, uint64_t usec, void *arg)
{
	struct soak *soak = arg;
	struct archive_stats stats;

	(void)source;
	(void)usec;
	archive_read_stats(soak->options.archive, &stats);
	if (stats.queued)
		soak_announce_later(soak);
	else
		for (size_t i = 0; i < soak->drive_count; i++)
			drive_announce(&soak->drives[i]);
	return 0;
}

void soak_announce_later(struct soak *soak)
{
	(void)sd_event_add_time_relative(
		soak->event, NULL, CLOCK_MONOTONIC, ANNOUNCE_US, 0, on_announce, soak);
}

static void event_note(struct soak *soak, const char *kind, const char *text)
{
	struct event_record event = {
		.t_ms = tick_now_ms(&soak->tick, clock_boot_ns()),
		.until_ms = INT64_MIN,
		.severity = EVENT_WARNING,
	};

	(void)snprintf(event.kind, sizeof(event.kind), "%s", kind);
	(void)snprintf(event.text, sizeof(event.text), "%s", text);
	log_warning("%s: %s", kind, text);
	(void)archive_put_event(soak->options.archive, &event);
}

static void clock_note(struct soak *soak, const struct tick_answer *answer)
{
	char text[EVENT_TEXT_MAX];

	if (answer->step_ms) {
		(void)snprintf(text, sizeof(text), "the system's clock was set by %+.3f s%s",
			(double)answer->step_ms / 1e3,
			answer->step_ms < 0 ? ": samples go on with the old one until it has caught up" : "");
		event_note(soak, "clock-step", text);
	} else if (answer->is_due && answer->gap_to_ms != INT64_MIN) {
		event_note(soak, "clock-step", "the machine was suspended: the time is a gap");
	}
}

static void systemd_note(struct soak *soak)
{
	unsigned counts[RUN_STATUS_COUNT] = { 0 };

	char status[sizeof(soak->notified)];

	for (size_t i = 0; i < soak->drive_count; i++)
		counts[soak->drives[i].status]++;
	(void)snprintf(status, sizeof(status), "STATUS=%u running, %u stalled, %u done, %u failed",
		counts[RUN_RUNNING], counts[RUN_STALLED], counts[RUN_DONE], counts[RUN_FAILED]);
	/* Only what is news: the socket blocks when nobody reads it. */
	if (strcmp(status, soak->notified) == 0)
		return;
	memcpy(soak->notified, status, sizeof(status));
	(void)sd_notify(0, status);
}

/* Stamps go on from the last one that was stored when the clock is behind it. */
static void clock_note_start(struct soak *soak)
{
	char text[EVENT_TEXT_MAX], behind[UNITS_TEXT_MAX];

	if (soak->tick.held_ns > -TICK_SLEW_NS)
		return;
	units_print_duration_rounded((double)-soak->tick.held_ns, behind);
	(void)snprintf(text, sizeof(text),
		"the system's clock is %s behind the last sample: samples go on from there until it has "
		"caught up",
		behind);
	event_note(soak, "clock-step", text);
}

static void tick_arm(struct soak *soak)
{
	(void)sd_event_source_set_time(soak->tick_timer, tick_due_boot_ns(&soak->tick) / NS_PER_US);
	(void)sd_event_source_set_enabled(soak->tick_timer, SD_EVENT_ONESHOT);
}

static int on_tick(sd_event_source *source, uint64_t usec, void *arg)
{
	struct soak *soak = arg;
	uint64_t mono_ns = clock_mono_ns();
	struct tick_answer answer = tick_advance(
		&soak->tick, clock_boot_ns(), clock_wall_ns(), mono_ns - soak->tick_mono_ns);

	(void)source;
	(void)usec;
	if (answer.is_due) {
		soak->tick_mono_ns = mono_ns;
		for (size_t i = 0; i < soak->drive_count; i++)
			drive_tick(&soak->drives[i], &answer);
		soak_ask_evidence(soak, answer.t_ms);
		soak_plan_health(soak);
		soak_judge_paths(soak);
		soak_balance_paths(soak);
		soak_judge_alerts(soak);
		systemd_note(soak);
	}
	clock_note(soak, &answer);
	tick_arm(soak);
	return 0;
}

static int on_give_up(sd_event_source *source, uint64_t usec, void *arg)
{
	struct soak *soak = arg;

	(void)source;
	(void)usec;
	for (size_t i = 0; i < soak->drive_count; i++) {
		if (!drive_is_quiet(&soak->drives[i]))
			log_error("%s: hangs; ending without it", soak->drives[i].config->name);
		drive_last_sample(&soak->drives[i]);
	}
	(void)sd_event_exit(soak->event, soak->exit_code);
	return 0;
}

static int on_signal(sd_event_source *source, const struct signalfd_siginfo *info, void *arg)
{
	struct soak *soak = arg;

	(void)source;
	if (soak->is_stopping)
		return 0;
	log_notice("%s: stopping; runs go on at the next start", strsignal((int)info->ssi_signo));
	(void)sd_notify(0, "STOPPING=1");
	soak->is_stopping = true;
	for (size_t i = 0; i < soak->drive_count; i++) {
		drive_settle_troubles(&soak->drives[i]);
		drive_stop(&soak->drives[i]);
	}
	(void)sd_event_add_time_relative(
		soak->event, NULL, CLOCK_MONOTONIC, STOP_NS / NS_PER_US, 0, on_give_up, soak);
	end_if_quiet(soak);
	return 0;
}

/* The last stamp any run of the config has used. */
static int64_t last_stamp(struct soak *soak, struct journal *journal)
{
	int64_t last_ms = INT64_MIN;

	for (size_t i = 0; i < soak->drive_count; i++) {
		struct run_record run;
		struct sample sample;

		if (journal_get_newest_run(journal, soak->drives[i].config->name, &run) == 0 &&
			(run.progress.status == RUN_RUNNING || run.progress.status == RUN_PAUSED) &&
			journal_get_last_sample(journal, run.id, &sample) == 0 && sample.t_ms > last_ms)
			last_ms = sample.t_ms;
	}
	return last_ms;
}

static int begin(struct soak *soak)
{
	const int64_t interval_ms = (int64_t)(soak->options.config->sample_interval_ns / NS_PER_MS);
	struct journal *journal;
	int rc = journal_open(soak->options.journal_path, true, &journal);

	if (rc < 0) {
		log_error("%s: %s", soak->options.journal_path, strerror(-rc));
		return rc;
	}
	soak->tick_mono_ns = clock_mono_ns();
	tick_start(&soak->tick, interval_ms, clock_boot_ns(), clock_wall_ns(), last_stamp(soak, journal));
	clock_note_start(soak);
	for (size_t i = 0; i < soak->drive_count; i++)
		drive_begin(&soak->drives[i], journal);
	journal_close(journal);
	(void)sd_notify(0, "READY=1");
	systemd_note(soak);
	tick_arm(soak);
	end_if_useless(soak);
	return 0;
}

static int on_begin(sd_event_source *source, uint64_t usec, void *arg)
{
	struct soak *soak = arg;

	(void)source;
	(void)usec;
	/* Without a tick nothing runs: better no service than one that only looks like it. */
	if (!soak->is_stopping && begin(soak) < 0)
		(void)sd_event_exit(soak->event, EX_IOERR);
	return 0;
}

/* When the last service ended within the running interval, that interval's stamp is already used: wait for the next,
 * so that the outage has a place between two stamps. */
static uint64_t begin_delay_us(struct soak *soak)
{
	const int64_t interval_ms = (int64_t)(soak->options.config->sample_interval_ns / NS_PER_MS);
	int64_t last_ms = INT64_MIN, ahead_ms;
	struct journal *journal;

	if (journal_open(soak->options.journal_path, true, &journal) == 0) {
		last_ms = last_stamp(soak, journal);
		journal_close(journal);
	}
	if (last_ms == INT64_MIN)
		return 0;
	ahead_ms = last_ms - clock_wall_ms();
	return ahead_ms >= 0 && ahead_ms <= interval_ms ? (uint64_t)(ahead_ms + 2) * 1000 : 0;
}

static int drives_new(struct soak *soak, char *why)
{
	const struct config *config = soak->options.config;

	soak->drives = calloc(config->drive_count, sizeof(*soak->drives));
	soak->members = calloc(config->drive_count, sizeof(*soak->members));
	if (!soak->drives || !soak->members)
		return -ENOMEM;
	for (size_t i = 0; i < config->drive_count; i++) {
		struct drive *drive = &soak->drives[i];
		const struct keeper_setup setup = {
			.drive = &config->drives[i],
			.state_directory = config->state_directory,
			.wake = wake,
			.wake_arg = soak,
		};
		int rc;

		drive->soak = soak;
		drive->index = i;
		drive->config = &config->drives[i];
		drive->last_sample_ms = INT64_MIN;
		rc = sampler_new(&drive->sampler);
		if (rc == 0)
			rc = hostload_new("", &drive->hostload);
		drive->health.read_ms = INT64_MIN;
		drive->health.first_percent_used = drive->health.first_media_errors = NAN;
		if (rc == 0)
			rc = keeper_new(&setup, &drive->keeper);
		if (rc == 0)
			rc = prober_new(wake, soak, &drive->health.prober);
		if (rc == 0)
			rc = drive_open_cause(drive);
		soak->drive_count = i + 1;
		if (rc < 0) {
			(void)snprintf(why, WHY_MAX, "%s: %s", drive->config->name, strerror(-rc));
			return rc;
		}
	}
	return 0;
}

static int loop_new(struct soak *soak)
{
	static const int signals[] = { SIGTERM, SIGINT };
	int rc;

	soak->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (soak->wake_fd < 0)
		return -errno;
	rc = sd_event_new(&soak->event);
	if (rc < 0)
		return rc;
	(void)sd_event_set_watchdog(soak->event, true);
	for (size_t i = 0; i < 2 && rc >= 0; i++)
		rc = sd_event_add_signal(soak->event, NULL, signals[i], on_signal, soak);
	if (rc >= 0)
		rc = sd_event_add_io(soak->event, NULL, soak->wake_fd, 1 /* EPOLLIN */, on_wake, soak);
	if (rc >= 0)
		rc = sd_event_add_time(soak->event, &soak->tick_timer, CLOCK_BOOTTIME, UINT64_MAX,
			TICK_ACCURACY_US, on_tick, soak);
	return rc;
}

int soak_new(const struct soak_options *options, struct soak **out, char *why)
{
	struct soak *soak = calloc(1, sizeof(*soak));
	int rc;

	(void)snprintf(why, WHY_MAX, "out of memory");
	if (!soak)
		return -ENOMEM;
	soak->options = *options;
	soak->wake_fd = -1;
	soak->started_boot_ns = clock_boot_ns();
	(void)sysfs_read_text(soak->boot_id, sizeof(soak->boot_id), "", "/proc/sys/kernel/random/boot_id");
	rc = loop_new(soak);
	if (rc >= 0)
		rc = soak_watch_drives(soak);
	if (rc < 0)
		(void)snprintf(why, WHY_MAX, "the event loop: %s", strerror(-rc));
	else
		rc = drives_new(soak, why);
	if (rc >= 0) {
		rc = soak_alerts_new(soak);
		if (rc < 0)
			(void)snprintf(why, WHY_MAX, "alerts: %s", strerror(-rc));
	}
	if (rc >= 0) {
		rc = soak_open_evidence(soak, wake);
		if (rc < 0)
			(void)snprintf(why, WHY_MAX, "the thread that hears the kernel: %s", strerror(-rc));
	}
	if (rc >= 0)
		rc = soak_open_control(soak, why);
	if (rc < 0) {
		(void)soak_free(soak);
		return rc;
	}
	*out = soak;
	return 0;
}

int soak_run(struct soak *soak)
{
	int rc = sd_event_add_time_relative(
		soak->event, NULL, CLOCK_MONOTONIC, begin_delay_us(soak), TICK_ACCURACY_US, on_begin, soak);

	if (rc >= 0)
		rc = sd_event_loop(soak->event);
	if (rc < 0) {
		log_error("the event loop failed: %s", strerror(-rc));
		return EX_OSERR;
	}
	return rc;
}

bool soak_free(struct soak *soak)
{
	bool is_clean = true;

	if (!soak)
		return true;
	for (size_t i = 0; i < soak->drive_count; i++) {
		bool is_quiet = drive_is_quiet(&soak->drives[i]);

		/* A keeper in a hung drive can't be ended, and what it uses must stay. */
		if (!prober_free(soak->drives[i].health.prober, 2 * NS_PER_S))
			is_clean = false;
		if (!is_quiet || !keeper_free(soak->drives[i].keeper, 2 * NS_PER_S))
			is_clean = false;
		else
			sampler_free(soak->drives[i].sampler);
		hostload_free(soak->drives[i].hostload);
		drive_close_cause(&soak->drives[i]);
		drive_forget_judge(&soak->drives[i]);
	}
	if (!evidence_free(soak->evidence, 2 * NS_PER_S))
		is_clean = false;
	control_close(soak->control);
	if (!is_clean)
		return false;
	(void)sd_device_monitor_unref(soak->monitor);
	sd_event_source_unref(soak->retry_timer);
	sd_event_source_unref(soak->tick_timer);
	sd_event_unref(soak->event);
	if (soak->wake_fd >= 0)
		(void)close(soak->wake_fd);
	soak_alerts_free(soak);
	free(soak->members);
	free(soak->drives);
	free(soak);
	return true;
}
