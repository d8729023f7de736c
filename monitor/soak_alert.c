/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The conductor's part of alerts: it collects what each rule says of each drive, lets the decider (alert/alerts.h) say what
 * is to be told, and hands that to the delivery thread. */
#include "soak_private.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "measure/healthlimit.h"

/* Errors are an alert until so long none was seen. */
#define ERRORS_NS (600 * NS_PER_S)
/* A journal that is busy for a moment is no alert. */
#define WAITING_NS (10 * NS_PER_S)
/* Samples are fresh for so many intervals, and a little. */
#define FRESH_INTERVALS 3
#define FRESH_MORE_NS	(5 * NS_PER_S)
#define CHANGED_MAX	64
#define TEMPERATURE_BIT 1 /* of the critical warning: has a rule of its own */

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

/* ------------------------------------------------------------------------------------- what each rule says */

static struct alert_reading reading_of(
	enum alert_rule rule, enum alert_sense sense, enum event_severity severity)
{
	return (struct alert_reading){ .rule = rule,
		.sense = sense,
		.severity = severity,
		.value = NAN,
		.threshold = NAN,
		.clear = NAN };
}

static double rate_of(const struct drive *drive)
{
	const struct sample *sample = &drive->sample;

	if (!sample->elapsed_ns || sample->write_bytes == SAMPLE_UNKNOWN ||
		sample->read_bytes == SAMPLE_UNKNOWN)
		return NAN;
	return (double)(sample->write_bytes + sample->read_bytes) * 1e9 / (double)sample->elapsed_ns;
}

/* What is said of a rule of throughput when all is well. */
static void print_rate(double rate, double baseline, char *text, size_t size)
{
	char is[UNITS_TEXT_MAX], was[UNITS_TEXT_MAX];

	text[0] = '\0';
	if (!isfinite(rate))
		return;
	units_print_rate_rounded(rate, is);
	units_print_rate_rounded(baseline, was);
	(void)snprintf(text, size, baseline > 0 ? "%s, %.0f %% of the baseline of %s" : "%s", is,
		rate / baseline * 100, was);
}

static void put_finding(
	struct drive *drive, const struct collapse_finding *finding, struct alert_reading *reading)
{
	drive_finding_words(drive, finding, reading->text, sizeof(reading->text));
	drive_print_cause(drive, finding, reading->cause, sizeof(reading->cause), reading->evidence,
		sizeof(reading->evidence));
}

/* Decided by the run's samples, with their own hysteresis. */
static void feed_finding(
	struct drive *drive, enum alert_rule rule, enum collapse_kind kind, enum event_severity severity)
{
	const struct collapse_finding *finding = drive_open_finding(drive, kind);
	const double baseline = drive->judge.collapse ? collapse_baseline(drive->judge.collapse) : NAN;
	struct alert_reading reading = reading_of(rule, ALERT_BELOW, severity);

	reading.is_decided = true;
	reading.is_unknown = !drive->is_sampling || !drive->judge.collapse;
	reading.is_bad = finding != NULL;
	reading.value = rate_of(drive);
	reading.threshold = baseline * drive->soak->options.config->alerts.collapse_below_pct / 100;
	if (finding)
		put_finding(drive, finding, &reading);
	else
		print_rate(reading.value, baseline, reading.text, sizeof(reading.text));
	drive_alert(drive, &reading);
}

/* A finding of the soak that is still open when it is over will not be closed by samples any more. */
static bool is_soak_over(const struct drive *drive)
{
	return drive->run.progress.phase > PHASE_PROBE;
}

/* The run lasts, but the service would not take it up. */
static bool is_refused(const struct drive *drive)
{
	return drive->status == RUN_FAILED && !drive->is_open && !drive->is_opening;
}

static void end_rules(struct drive *drive, const enum alert_rule *rules, size_t count, const char *text)
{
	for (size_t i = 0; i < count; i++)
		alerts_end(drive->soak->alert->alerts, drive->index, rules[i], text, drive_now_ms(drive));
}

static void feed_throughput(struct drive *drive)
{
	feed_finding(drive, ALERT_COLLAPSE, COLLAPSE_FALL, EVENT_CRITICAL);
	feed_finding(drive, ALERT_SAW_TOOTH, COLLAPSE_PERIODIC, EVENT_WARNING);
	feed_finding(drive, ALERT_DEGRADED, COLLAPSE_DEGRADED, EVENT_WARNING);
}

static void feed_stall(struct drive *drive)
{
	struct alert_reading reading = reading_of(ALERT_STALL, ALERT_ABOVE, EVENT_CRITICAL);
	const struct collapse_finding *finding = is_soak_over(drive)
							 ? NULL
							 : drive_open_finding(drive, COLLAPSE_STALL);

	reading.is_decided = true;
	reading.is_unknown = !drive->is_sampling;
	/* The fill can stall too; in the soak it is over when throughput is back. */
	reading.is_bad = drive->status == RUN_STALLED || finding;
	reading.value = (double)drive->sample.stall_ns / (double)NS_PER_S;
	reading.threshold = (double)drive->soak->options.config->alerts.stall_after_ns / (double)NS_PER_S;
	text_copy(reading.text, sizeof(reading.text), drive->tag);
	if (finding)
		put_finding(drive, finding, &reading);
	drive_alert(drive, &reading);
}

static void feed_failed(struct drive *drive)
{
	struct alert_reading reading = reading_of(ALERT_DRIVE_FAILED, ALERT_ABOVE, EVENT_CRITICAL);

	reading.is_decided = true;
	reading.is_unknown = drive->is_opening;
	reading.is_bad = drive->status == RUN_FAILED;
	text_copy(reading.text, sizeof(reading.text), drive->tag[0] ? drive->tag : drive->run.reason);
	drive_alert(drive, &reading);
}

static void feed_absent(struct drive *drive)
{
	struct alert_reading reading = reading_of(ALERT_DRIVE_ABSENT, ALERT_ABOVE, EVENT_CRITICAL);

	reading.is_decided = true;
	reading.is_unknown = drive->is_opening;
	reading.is_bad = drive->is_absent || drive->status == RUN_ABSENT;
	text_copy(reading.text, sizeof(reading.text), drive->tag);
	drive_alert(drive, &reading);
}

static void feed_errors(struct drive *drive)
{
	struct alert_reading reading = reading_of(ALERT_IO_ERRORS, ALERT_ABOVE, EVENT_CRITICAL);
	const uint64_t errors = drive->base_errors + sampler_get_sums(drive->sampler).errors,
		       now_ns = clock_mono_ns();

	if (drive->sample.errors && drive->sample.errors != SAMPLE_UNKNOWN)
		drive->errors_seen_ns = now_ns;
	reading.is_decided = true;
	reading.is_unknown = !drive->is_sampling;
	reading.is_bad = drive->errors_seen_ns && now_ns - drive->errors_seen_ns < ERRORS_NS;
	reading.value = (double)errors;
	(void)snprintf(reading.text, sizeof(reading.text), "%llu I/O errors in this run; the last: %s",
		(unsigned long long)errors,
		drive->last_error ? strerror(drive->last_error) : "before the restart of the service");
	drive_alert(drive, &reading);
}

static double health_value(const struct health_watch *health, enum reading_field field)
{
	return health->known[field] ? (double)health->value[field] : NAN;
}

static void feed_warning(struct drive *drive)
{
	struct alert_reading reading = reading_of(ALERT_CRITICAL_WARNING, ALERT_ABOVE, EVENT_CRITICAL);
	const struct health_watch *health = &drive->health;

	reading.is_decided = true;
	reading.is_unknown = !health->known[READING_CRITICAL_WARNING];
	if (!reading.is_unknown) {
		const uint64_t bits = (uint64_t)health->value[READING_CRITICAL_WARNING] &
				      ~(1ULL << TEMPERATURE_BIT);

		reading.is_bad = bits != 0;
		reading.value = (double)bits;
		drive_warning_words(bits, reading.text, sizeof(reading.text));
	}
	drive_alert(drive, &reading);
}

static void feed_media(struct drive *drive)
{
	struct alert_reading reading = reading_of(ALERT_MEDIA_ERRORS, ALERT_GROWS, EVENT_CRITICAL);

	reading.value = health_value(&drive->health, READING_MEDIA_ERRORS);
	reading.threshold = drive->health.first_media_errors;
	(void)snprintf(reading.text, sizeof(reading.text),
		"the drive counts %.0f uncorrectable errors, %.0f when the run began", reading.value,
		reading.threshold);
	drive_alert(drive, &reading);
}

static void feed_spare(struct drive *drive)
{
	struct alert_reading reading = reading_of(ALERT_SPARE, ALERT_BELOW, EVENT_CRITICAL);
	const double least = health_value(&drive->health, READING_SPARE_THRESHOLD_PCT);

	reading.value = health_value(&drive->health, READING_SPARE_PCT);
	reading.threshold = least > 0 ? least : NAN;
	(void)snprintf(reading.text, sizeof(reading.text),
		"%.0f %% of the spare blocks are left, the drive's threshold is %.0f %%", reading.value,
		least);
	drive_alert(drive, &reading);
}

/* Where the run pauses, or where the drive itself begins to warn. */
static double temperature_limit(const struct drive *drive)
{
	const struct healthlimit_config config = { .max_temp_c = drive->config->max_temp_c,
		.is_sata = drive->health.way != PROBER_NVME };
	const struct healthlimit_reading reading = { .critical_temp_c = health_value(
							     &drive->health, READING_CRITICAL_TEMP_C) };
	const double most = healthlimit_max_temp_c(&config, &reading),
		     warning = health_value(&drive->health, READING_WARNING_TEMP_C);

	return warning > 0 && warning < most ? warning : most;
}

static void feed_temperature(struct drive *drive)
{
	struct alert_reading reading = reading_of(
		ALERT_TEMPERATURE, ALERT_ABOVE, drive->health.is_too_hot ? EVENT_CRITICAL : EVENT_WARNING);

	reading.value = drive->health.read_ms == INT64_MIN ? NAN : drive->health.temp_c;
	reading.threshold = temperature_limit(drive);
	reading.clear = reading.threshold - HEALTHLIMIT_COOLER_C;
	(void)snprintf(reading.text, sizeof(reading.text),
		"the drive has %.0f \xc2\xb0"
		"C, the limit is %.0f \xc2\xb0"
		"C%s",
		reading.value, reading.threshold, drive->health.is_too_hot ? ": the run pauses" : "");
	drive_alert(drive, &reading);
}

/* Rules that go on without a run. */
static bool outlives_run(int rule)
{
	return rule == ALERT_DRIVE_FAILED || rule == ALERT_DRIVE_ABSENT || rule == ALERT_JOURNAL;
}

static void feed_requests(struct drive *drive)
{
	static const enum alert_rule rules[] = { ALERT_COLLAPSE, ALERT_SAW_TOOTH, ALERT_DEGRADED,
		ALERT_IO_ERRORS, ALERT_STALL };
	static const size_t all = sizeof(rules) / sizeof(rules[0]);

	if (is_refused(drive)) {
		end_rules(drive, rules, all, "the run does not go on");
		return;
	}
	feed_stall(drive);
	if (is_soak_over(drive)) {
		end_rules(drive, rules, all - 1, "the soak is over");
		return;
	}
	feed_throughput(drive);
	feed_errors(drive);
}

/* That the drive gives samples and does not hang in its requests; one that need not counts as well. */
static void note_moving(struct drive *drive)
{
	const struct sample *sample = &drive->sample;
	const bool should_sample = drive_has_active_run(drive) &&
				   (drive->status == RUN_RUNNING || drive->status == RUN_STALLED),
		   hangs = drive->had_engine && sample->elapsed_ns && sample->write_ios == 0 &&
			   sample->read_ios == 0 && sample->errors == 0;

	if (!should_sample || (drive->is_sampling && !hangs) || !drive->moving_ns)
		drive->moving_ns = clock_mono_ns();
}

static void drive_feed(struct drive *drive)
{
	static void (*const of_run[])(struct drive * drive) = { feed_requests, feed_warning, feed_media,
		feed_spare, feed_temperature };

	note_moving(drive);
	feed_failed(drive);
	feed_absent(drive);
	if (drive_has_active_run(drive)) {
		for (size_t i = 0; i < sizeof(of_run) / sizeof(of_run[0]); i++)
			of_run[i](drive);
		return;
	}
	drive->errors_seen_ns = 0;
	for (int rule = 0; rule < ALERT_RULE_COUNT; rule++)
		if (!outlives_run(rule))
			alerts_end(drive->soak->alert->alerts, drive->index, (enum alert_rule)rule,
				"the run is over", drive_now_ms(drive));
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
	struct alert_reading reading = reading_of(ALERT_JOURNAL, ALERT_ABOVE, EVENT_CRITICAL);
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
	reading.value = (double)stats.queued;
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

static void collect_changed(struct alert_watch *watch)
{
	const struct alert *alert;

	watch->changed_count = 0;
	while (watch->changed_count < CHANGED_MAX && (alert = alerts_next_changed(watch->alerts)) != NULL)
		watch->changed[watch->changed_count++] = *alert;
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
		collect_changed(watch);
		if (watch->changed_count == 0) {
			watch->has_message = alerts_next(watch->alerts, now_ms, &watch->message);
			collect_changed(watch);
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
		drive_feed(&soak->drives[i]);
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
			soak->drives[i].errors_seen_ns = clock_mono_ns();
	return 0;
}

/* Without it alerts that still fire are told again, and ends of others are not: no reason not to start. */
static void recall_all(struct soak *soak)
{
	struct event_record event = {
		.t_ms = clock_wall_ms(), .until_ms = INT64_MIN, .kind = "error", .severity = EVENT_CRITICAL
	};
	int rc = delivery_each_last(soak->options.delivery, recall, soak);

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
