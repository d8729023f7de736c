/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The conductor's part of alerts: it collects what each rule says of each drive (soak_alert_rules.c), lets the decider (alert/alerts.h) say what
 * is to be told, and hands that to the delivery thread. */
#include "soak_private.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"

/* A journal that is busy for a moment is no alert. */
#define WAITING_NS (10 * NS_PER_S)
/* Samples are fresh for so many intervals, and a little. */
#define FRESH_INTERVALS 3
#define FRESH_MORE_NS	(5 * NS_PER_S)
#define CHANGED_MAX	64

/* What goes to the delivery at once. */
struct alert_watch {
	struct alerts *alerts;
	sd_event_source *timer;
	uint64_t waiting_ns; /* since when the journal waits; 0: it does not */
	bool is_held;	     /* what is in changed and message could not be handed over yet */
	bool has_message;
	size_t changed_count;
	struct alert changed[CHANGED_MAX];
	struct alert_message message;
};

static int64_t now_ms_of(const struct soak *soak)
{
	return tick_now_ms(&soak->tick, clock_boot_ns());
}

static void service_alert(struct soak *soak, const struct alert_reading *reading)
{
	alerts_set(soak->alert->alerts, soak->drive_count, reading, now_ms_of(soak));
}

void drive_alert(struct drive *drive, const struct alert_reading *reading)
{
	struct alert_reading complete = *reading;

	if (drive->has_run) {
		text_copy(complete.run, sizeof(complete.run), drive->run.id);
		text_copy(complete.subject.model, sizeof(complete.subject.model), drive->run.model);
		text_copy(complete.subject.serial, sizeof(complete.subject.serial), drive->run.serial);
	}
	text_copy(complete.subject.label, sizeof(complete.subject.label), drive->config->label);
	alerts_set(drive->soak->alert->alerts, drive->index, &complete, drive_now_ms(drive));
}

const struct alert *drive_get_alert(const struct drive *drive, enum alert_rule rule)
{
	return alerts_get(drive->soak->alert->alerts, drive->index, rule);
}

void drive_end_alert(struct drive *drive, enum alert_rule rule, const char *text)
{
	alerts_end(drive->soak->alert->alerts, drive->index, rule, text, drive_now_ms(drive));
}

static bool is_every_drive_moving(const struct soak *soak, uint64_t fresh_ns)
{
	const uint64_t now_ns = clock_mono_ns();

	for (size_t i = 0; i < soak->drive_count; i++)
		if (now_ns - soak->drives[i].moving_ns > fresh_ns)
			return false;
	return true;
}

static void service_feed(struct soak *soak)
{
	struct alert_reading reading = alert_reading_of(ALERT_JOURNAL, ALERT_ABOVE, EVENT_CRITICAL);
	const uint64_t fresh_ns = FRESH_INTERVALS * soak->options.config->sample_interval_ns + FRESH_MORE_NS,
		       now_ns = clock_mono_ns();
	struct alert_watch *watch = soak->alert;
	struct archive_stats stats;

	archive_read_stats(soak->options.archive, &stats);
	if (!stats.is_waiting)
		watch->waiting_ns = 0;
	else if (!watch->waiting_ns)
		watch->waiting_ns = now_ns;
	reading.is_decided = true;
	reading.is_bad = watch->waiting_ns && now_ns - watch->waiting_ns >= WAITING_NS;
	reading.value = watch->waiting_ns ? (double)(now_ns - watch->waiting_ns) / (double)NS_PER_S : 0;
	reading.threshold = (double)WAITING_NS / (double)NS_PER_S;
	(void)snprintf(reading.text, sizeof(reading.text),
		"%llu records can't be stored and are kept in memory: %.300s",
		(unsigned long long)stats.queued, stats.last_error);
	service_alert(soak, &reading);
	/* The ping says that samples come and are kept. */
	if (!stats.is_waiting && soak->options.delivery && is_every_drive_moving(soak, fresh_ns))
		delivery_note_alive(soak->options.delivery, fresh_ns);
}

/* --------------------------------------------------------------------------------------------- what is told */

static void note_turn(struct soak *soak, const struct alert *alert, int64_t turned_ms)
{
	struct event_record event = {
		.t_ms = turned_ms,
		.until_ms = INT64_MIN,
		.kind = "alert",
		.severity = alert->is_firing ? alert->severity : EVENT_INFO,
	};
	char length[UNITS_TEXT_MAX];

	text_copy(event.drive, sizeof(event.drive), alert->drive);
	text_copy(event.run, sizeof(event.run), alert->run);
	text_copy(event.cause, sizeof(event.cause), alert->cause);
	text_copy(event.evidence, sizeof(event.evidence), alert->evidence);
	if (alert->is_firing) {
		(void)snprintf(
			event.text, sizeof(event.text), "%s: %s", alert_rule_name(alert->rule), alert->text);
	} else if (alert->is_length_told) {
		(void)snprintf(event.text, sizeof(event.text), "%s is over: %s", alert_rule_name(alert->rule),
			alert->text);
	} else {
		units_print_duration_rounded(
			(double)(alert->until_ms - alert->since_ms) * (double)NS_PER_MS, length);
		(void)snprintf(event.text, sizeof(event.text), "%s is over after %s: %s",
			alert_rule_name(alert->rule), length, alert->text);
	}
	log_line(alert->is_firing ? LOG_LEVEL_WARNING : LOG_LEVEL_NOTICE, "%s%salert: %s", alert->drive,
		alert->drive[0] ? ": " : "", event.text);
	(void)archive_put_event(soak->options.archive, &event);
}

/* False when it has to wait. */
static bool hand_over(struct soak *soak)
{
	struct alert_watch *watch = soak->alert;

	watch->is_held = soak->options.delivery &&
			 !delivery_put(soak->options.delivery, watch->changed, watch->changed_count,
				 watch->has_message ? &watch->message : NULL);
	return !watch->is_held;
}

static void collect_changed(struct soak *soak)
{
	struct alert_watch *watch = soak->alert;
	const struct alert *alert;

	watch->changed_count = 0;
	while (watch->changed_count < CHANGED_MAX && (alert = alerts_next_changed(watch->alerts)) != NULL) {
		watch->changed[watch->changed_count++] = *alert;
		if (soak->options.alert_board)
			alert_board_put_past(soak->options.alert_board, alert);
	}
}

/* First what changed before the message, then the message together with what it changed: those go into one
 * transaction, so that a kill can't part them. */
static bool hand_over_all(struct soak *soak, int64_t now_ms)
{
	struct alert_watch *watch = soak->alert;

	if (watch->is_held && !hand_over(soak))
		return false;
	do {
		watch->has_message = false;
		collect_changed(soak);
		if (watch->changed_count == 0) {
			watch->has_message = alerts_next(watch->alerts, now_ms, &watch->message);
			collect_changed(soak);
		}
		if (watch->changed_count == 0)
			return true;
	} while (hand_over(soak));
	return false;
}

static void publish(struct soak *soak)
{
	if (!soak->options.alert_board)
		return;
	for (size_t drive = 0; drive <= soak->drive_count; drive++)
		for (int rule = 0; rule < ALERT_RULE_COUNT; rule++)
			if ((drive < soak->drive_count) == (rule != ALERT_JOURNAL))
				alert_board_put(soak->options.alert_board, drive,
					alerts_get(soak->alert->alerts, drive, (enum alert_rule)rule));
}

static int on_due(sd_event_source *source, uint64_t usec, void *arg)
{
	(void)source;
	(void)usec;
	soak_tell_alerts(arg);
	return 0;
}

static void arm_timer(struct soak *soak, bool is_held, int64_t now_ms)
{
	struct alert_watch *watch = soak->alert;
	int64_t due_ms = is_held ? now_ms + 1000 : alerts_due_ms(watch->alerts, now_ms);
	uint64_t in_us;

	watch->timer = sd_event_source_disable_unref(watch->timer);
	if (due_ms == ALERTS_NEVER_MS)
		return;
	in_us = (uint64_t)(due_ms - now_ms + 1) * 1000;
	(void)sd_event_add_time_relative(soak->event, &watch->timer, CLOCK_MONOTONIC, in_us, 0, on_due, soak);
}

void soak_tell_alerts(struct soak *soak)
{
	const int64_t now_ms = now_ms_of(soak);
	const struct alert *turn;
	int64_t turned_ms;
	bool is_held;

	while ((turn = alerts_next_turn(soak->alert->alerts, &turned_ms)) != NULL) {
		note_turn(soak, turn, turned_ms);
		for (size_t i = 0; i < soak->drive_count; i++)
			if (strcmp(soak->drives[i].config->name, turn->drive) == 0)
				drive_publish(&soak->drives[i]);
	}
	is_held = !hand_over_all(soak, now_ms);
	publish(soak);
	arm_timer(soak, is_held, now_ms);
}

void soak_judge_alerts(struct soak *soak)
{
	for (size_t i = 0; i < soak->drive_count; i++)
		drive_feed_alerts(&soak->drives[i]);
	service_feed(soak);
	soak_tell_alerts(soak);
}

void drive_put_alerts(const struct drive *drive, struct drive_status *status)
{
	for (int rule = 0; rule < ALERT_RULE_COUNT && status->alert_count < STATUS_ALERTS_MAX; rule++) {
		const struct alert *alert = alerts_get(
			drive->soak->alert->alerts, drive->index, (enum alert_rule)rule);
		struct status_alert *out = &status->alerts[status->alert_count];

		if (!alert->is_firing)
			continue;
		text_copy(out->name, sizeof(out->name), alert_rule_name(alert->rule));
		text_copy(out->severity, sizeof(out->severity), event_severity_name(alert->severity));
		out->since_ms = alert->since_ms;
		out->muted_until_ms = alert->muted_until_ms;
		status->alert_count++;
	}
}

bool soak_mute(struct soak *soak, size_t drive, enum alert_rule rule, int64_t until_ms)
{
	for (int i = 0; i < ALERT_RULE_COUNT; i++)
		if (rule == ALERT_RULE_COUNT || rule == (enum alert_rule)i)
			alerts_mute(soak->alert->alerts, drive, (enum alert_rule)i, until_ms);
	soak_tell_alerts(soak);
	return !soak->alert->is_held;
}

static int recall(const struct alert *alert, void *arg)
{
	struct soak *soak = arg;

	alerts_recall(soak->alert->alerts, alert, clock_wall_ms());
	/* The errors that it tells are not seen again: it goes on for its time. */
	for (size_t i = 0; i < soak->drive_count; i++)
		if (alert->is_firing && alert->rule == ALERT_IO_ERRORS &&
			strcmp(soak->drives[i].config->name, alert->drive) == 0)
			spell_recall(&soak->drives[i].error_spell, clock_mono_ns());
	return 0;
}

static int recall_past(const struct alert *alert, void *arg)
{
	alert_board_put_past(arg, alert);
	return 0;
}

/* Without it alerts that still fire are told again, and ends of others are not: no reason not to start. */
static void recall_all(struct soak *soak)
{
	struct event_record event = {
		.t_ms = clock_wall_ms(), .until_ms = INT64_MIN, .kind = "error", .severity = EVENT_CRITICAL
	};
	int rc = delivery_each_last(soak->options.delivery, recall, soak), past_rc;

	past_rc = soak->options.alert_board ? delivery_each_episode(soak->options.delivery, BOARD_PAST_MAX,
						      recall_past, soak->options.alert_board)
					    : 0;
	if (past_rc < 0)
		alert_board_put_past_error(soak->options.alert_board, strerror(-past_rc));
	if (rc >= 0)
		return;
	(void)snprintf(event.text, sizeof(event.text),
		"what fired before the start can't be read: %s; alerts that last are told again",
		strerror(-rc));
	log_error("%s", event.text);
	(void)archive_put_event(soak->options.archive, &event);
}

int soak_alerts_new(struct soak *soak)
{
	struct alerts_config config = { .digest_ms = (int64_t)(soak->options.config->alerts.digest_ns /
							       NS_PER_MS) };
	const char **names = calloc(soak->drive_count + 1, sizeof(*names));
	int rc = 0;

	soak->alert = calloc(1, sizeof(*soak->alert));
	if (!names || !soak->alert)
		rc = -ENOMEM;
	for (size_t i = 0; rc == 0 && i < soak->drive_count; i++)
		names[i] = soak->drives[i].config->name;
	alerts_parse_repeat(
		soak->options.config->alerts.repeat ? soak->options.config->alerts.repeat : "once", &config);
	if (rc == 0)
		rc = alerts_new(&config, names, soak->drive_count, &soak->alert->alerts);
	free(names);
	if (rc == 0 && soak->options.delivery)
		recall_all(soak);
	/* What fired before the start fires until a sample tells otherwise. */
	if (rc == 0)
		publish(soak);
	if (rc == 0 && soak->options.delivery)
		rc = delivery_start(soak->options.delivery);
	return rc;
}

void soak_alerts_free(struct soak *soak)
{
	if (!soak->alert)
		return;
	(void)sd_event_source_disable_unref(soak->alert->timer);
	alerts_free(soak->alert->alerts);
	free(soak->alert);
}
