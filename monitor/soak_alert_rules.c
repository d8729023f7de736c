/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What each rule of alerts says of a drive at this tick. */
#include "soak_private.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "measure/healthlimit.h"

#define TEMPERATURE_BIT 1 /* of the critical warning: has a rule of its own */

struct alert_reading alert_reading_of(
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

static void put_finding(
	struct drive *drive, const struct collapse_finding *finding, struct alert_reading *reading)
{
	drive_finding_words(drive, finding, reading->text, sizeof(reading->text));
	drive_print_cause(drive, finding, reading->cause, sizeof(reading->cause), reading->evidence,
		sizeof(reading->evidence));
}

/* The event of the finding has the same words, and its length is the only one that is told. */
static void put_ended(
	struct drive *drive, enum alert_rule rule, enum collapse_kind kind, struct alert_reading *reading)
{
	const struct alert *alert = drive_get_alert(drive, rule);
	const struct collapse_turn *ended = drive_ended_finding(drive, kind, alert->since_ms);
	char words[EVENT_TEXT_MAX];

	if (!ended || !alert->is_firing)
		return;
	put_finding(drive, &ended->finding, reading);
	if (ended->change == COLLAPSE_ABSORBED || ended->finding.kind != kind) {
		text_copy(words, sizeof(words), reading->text);
		(void)snprintf(reading->text, sizeof(reading->text), "it is %s: %.400s",
			ended->change == COLLAPSE_ABSORBED ? "part of a saw-tooth"
							   : collapse_kind_name(ended->finding.kind),
			words);
	}
	reading->is_last_word = reading->is_length_told = true;
}

/* Decided by the run's samples, with their own hysteresis. */
static void feed_finding(struct drive *drive, enum collapse_kind kind, struct alert_reading *reading)
{
	const struct collapse_finding *finding = drive_open_finding(drive, kind);

	reading->is_decided = true;
	reading->is_unknown = !drive->is_sampling || !drive->judge.collapse;
	reading->is_bad = finding != NULL;
	if (finding)
		put_finding(drive, finding, reading);
	else
		put_ended(drive, reading->rule, kind, reading);
	drive_alert(drive, reading);
}

static void feed_collapse(struct drive *drive)
{
	const double baseline = drive->judge.collapse ? collapse_baseline(drive->judge.collapse) : NAN;
	struct alert_reading reading = alert_reading_of(ALERT_COLLAPSE, ALERT_BELOW, EVENT_CRITICAL);

	reading.value = rate_of(drive);
	reading.threshold = baseline * drive->soak->options.config->alerts.collapse_below_pct / 100;
	feed_finding(drive, COLLAPSE_FALL, &reading);
}

/* Decided by how alike the falls and the times between them are: no single figure says how far it is. */
static void feed_sawtooth(struct drive *drive)
{
	struct alert_reading reading = alert_reading_of(ALERT_SAW_TOOTH, ALERT_BELOW, EVENT_WARNING);

	feed_finding(drive, COLLAPSE_PERIODIC, &reading);
}

static void feed_degraded(struct drive *drive)
{
	struct alert_reading reading = alert_reading_of(ALERT_DEGRADED, ALERT_BELOW, EVENT_WARNING);

	if (drive->judge.collapse)
		collapse_get_decline(drive->judge.collapse, &reading.value, &reading.threshold);
	feed_finding(drive, COLLAPSE_DEGRADED, &reading);
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
		drive_end_alert(drive, rules[i], text);
}

static void feed_throughput(struct drive *drive)
{
	feed_collapse(drive);
	feed_sawtooth(drive);
	feed_degraded(drive);
}

/* Of one without a finding the tag told how long it was so far. */
static void put_stall_over(struct drive *drive, struct alert_reading *reading)
{
	const struct alert *alert = drive_get_alert(drive, ALERT_STALL);

	if (drive_ended_finding(drive, COLLAPSE_STALL, alert->since_ms)) {
		put_ended(drive, ALERT_STALL, COLLAPSE_STALL, reading);
		return;
	}
	text_copy(reading->text, sizeof(reading->text), "requests complete again");
	text_copy(reading->cause, sizeof(reading->cause), alert->cause);
	text_copy(reading->evidence, sizeof(reading->evidence), alert->evidence);
	reading->is_last_word = true;
}

static void feed_stall(struct drive *drive)
{
	struct alert_reading reading = alert_reading_of(ALERT_STALL, ALERT_ABOVE, EVENT_CRITICAL);
	const struct collapse_finding *finding = is_soak_over(drive)
							 ? NULL
							 : drive_open_finding(drive, COLLAPSE_STALL);

	reading.is_decided = true;
	/* Of a drive that is gone or paused nobody can say that its requests complete again. */
	reading.is_unknown = !drive->is_sampling ||
			     (!finding && drive->status != RUN_STALLED && drive->status != RUN_RUNNING);
	/* The fill and the read-back can stall too; in the soak it is over when throughput is back. */
	reading.is_bad = drive->status == RUN_STALLED || finding;
	if (drive->sample.stall_ns != SAMPLE_UNKNOWN)
		reading.value = (double)drive->sample.stall_ns / (double)NS_PER_S;
	reading.threshold = (double)drive->soak->options.config->alerts.stall_after_ns / (double)NS_PER_S;
	text_copy(reading.text, sizeof(reading.text), drive->tag);
	if (finding)
		put_finding(drive, finding, &reading);
	else if (!reading.is_bad)
		put_stall_over(drive, &reading);
	drive_alert(drive, &reading);
}

static void feed_failed(struct drive *drive)
{
	struct alert_reading reading = alert_reading_of(ALERT_DRIVE_FAILED, ALERT_ABOVE, EVENT_CRITICAL);

	reading.is_decided = true;
	reading.is_unknown = drive->is_opening;
	reading.is_bad = drive->status == RUN_FAILED;
	text_copy(reading.text, sizeof(reading.text), drive->tag[0] ? drive->tag : drive->run.reason);
	drive_alert(drive, &reading);
}

static void feed_absent(struct drive *drive)
{
	struct alert_reading reading = alert_reading_of(ALERT_DRIVE_ABSENT, ALERT_ABOVE, EVENT_CRITICAL);

	reading.is_decided = true;
	reading.is_unknown = drive->is_opening;
	reading.is_bad = drive->is_absent || drive->status == RUN_ABSENT;
	text_copy(reading.text, sizeof(reading.text), drive->tag);
	drive_alert(drive, &reading);
}

static void feed_errors(struct drive *drive)
{
	struct alert_reading reading = alert_reading_of(ALERT_IO_ERRORS, ALERT_ABOVE, EVENT_CRITICAL);
	const uint64_t errors = drive->base_errors + sampler_get_sums(drive->sampler).errors,
		       now_ns = clock_mono_ns();

	if (drive->sample.errors && drive->sample.errors != SAMPLE_UNKNOWN)
		spell_add(&drive->error_spell, errors, drive->sample.errors, now_ns);
	reading.is_decided = true;
	reading.is_unknown = !drive->is_sampling;
	reading.is_bad = spell_lasts(&drive->error_spell, now_ns);
	reading.is_last_word = !reading.is_bad;
	/* Those that it fires for; one is enough. */
	reading.threshold = 1;
	reading.value = spell_errors(&drive->error_spell, errors, now_ns);
	(void)snprintf(reading.text, sizeof(reading.text), "%s%llu I/O error%s in this run; the last: %s",
		reading.is_bad ? "" : "none for an hour; ", (unsigned long long)errors,
		errors == 1 ? "" : "s",
		drive->last_error ? drive_error_text(drive, drive->last_error)
				  : "before the restart of the service");
	drive_alert(drive, &reading);
}

static double health_value(const struct health_watch *health, enum reading_field field)
{
	return health->known[field] ? (double)health->value[field] : NAN;
}

static void feed_warning(struct drive *drive)
{
	struct alert_reading reading = alert_reading_of(ALERT_CRITICAL_WARNING, ALERT_GROWS, EVENT_CRITICAL);
	const struct health_watch *health = &drive->health;

	reading.is_decided = true;
	reading.is_unknown = !health->known[READING_CRITICAL_WARNING];
	if (!reading.is_unknown) {
		const uint64_t bits = (uint64_t)health->value[READING_CRITICAL_WARNING] &
				      ~(1ULL << TEMPERATURE_BIT);

		reading.is_bad = bits != 0;
		reading.value = (double)bits;
		reading.threshold = 0; /* any bit more */
		drive_warning_words(bits, reading.text, sizeof(reading.text));
	}
	drive_alert(drive, &reading);
}

static void feed_media(struct drive *drive)
{
	struct alert_reading reading = alert_reading_of(ALERT_MEDIA_ERRORS, ALERT_GROWS, EVENT_CRITICAL);

	reading.value = health_value(&drive->health, READING_MEDIA_ERRORS);
	reading.threshold = drive->health.first_media_errors;
	(void)snprintf(reading.text, sizeof(reading.text),
		"the drive counts %.0f uncorrectable errors, %.0f when the run began", reading.value,
		reading.threshold);
	drive_alert(drive, &reading);
}

static void feed_spare(struct drive *drive)
{
	struct alert_reading reading = alert_reading_of(ALERT_SPARE, ALERT_BELOW, EVENT_CRITICAL);
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
	struct alert_reading reading = alert_reading_of(
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

void drive_feed_alerts(struct drive *drive)
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
	drive->error_spell = (struct spell){ 0 };
	for (int rule = 0; rule < ALERT_RULE_COUNT; rule++)
		if (!outlives_run(rule))
			drive_end_alert(drive, (enum alert_rule)rule, "the run is over");
}
