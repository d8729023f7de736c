/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When a drive's health is read, and what its answers mean for the run: in the middle of an interval, never on its edge,
 * by a thread of its own; kept in the journal, compared with the reading before. */
#include "soak_private.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive/health.h"
#include "base/clock.h"
#include "base/flat.h"
#include "base/units.h"
#include "measure/healthlimit.h"

#define INTERVAL_NVME_NS (60 * NS_PER_S)
#define INTERVAL_ATA_NS	 (300 * NS_PER_S)
/* A reading is shown with samples for so many of its intervals. */
#define FRESH_INTERVALS 3
/* A drive that does not answer is asked more and more rarely. */
#define BACKOFF_MOST 8

/* How the reason of a run begins that heat has paused: known again after a restart. */
#define TOO_HOT "too hot: "

/* Counters of which growth during the run is an event. */
static const struct {
	enum reading_field field;
	enum event_severity severity;
	const char *what;
} growing[] = {
	{ READING_MEDIA_ERRORS, EVENT_CRITICAL, "uncorrectable errors" },
	{ READING_REALLOCATED, EVENT_WARNING, "reallocated blocks" },
	{ READING_PENDING, EVENT_WARNING, "blocks that wait for reallocation" },
	{ READING_CRC_ERRORS, EVENT_WARNING, "CRC errors of the link (cable, backplane)" },
	{ READING_UNSAFE_SHUTDOWNS, EVENT_WARNING, "unsafe shutdowns (power)" },
	{ READING_SMART_FAILED, EVENT_CRITICAL, "verdict of the drive on itself: it fails" },
	{ READING_CRITICAL_TEMP_MINUTES, EVENT_WARNING, "minutes above the critical temperature" },
	{ READING_WARNING_TEMP_MINUTES, EVENT_WARNING, "minutes above the warning temperature" },
	{ READING_THERMAL1_COUNT, EVENT_WARNING, "times throttled lightly for heat" },
	{ READING_THERMAL2_COUNT, EVENT_WARNING, "times throttled heavily for heat" },
};

/* Counters that never go back but when the drive or its firmware starts again. */
static const enum reading_field counters[] = { READING_HOST_WRITTEN_RAW, READING_MEDIA_WRITTEN_RAW,
	READING_HOST_WRITE_COMMANDS, READING_POWER_ON_HOURS, READING_UNSAFE_SHUTDOWNS, READING_MEDIA_ERRORS };

static const char *const warning_bits[] = { "spare capacity below its threshold",
	"temperature out of its limits", "reliability degraded", "media read-only",
	"volatile memory backup failed", "persistent memory region read-only" };

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static uint64_t interval_of(const struct drive *drive)
{
	if (drive->config->health_interval_ns)
		return drive->config->health_interval_ns;
	return drive->health.way == PROBER_NVME ? INTERVAL_NVME_NS : INTERVAL_ATA_NS;
}

static const struct blockdev *disk_of(const struct drive *drive)
{
	const struct target_facts *facts = keeper_get_facts(drive->keeper);

	/* Of several disks below a filesystem none speaks for all. */
	return facts->disk_count == 1 ? &facts->disks[0] : NULL;
}

static void ask(struct drive *drive, bool is_evidence)
{
	struct health_watch *health = &drive->health;
	struct prober_question question = { .way = health->way, .is_evidence = is_evidence };

	if (health->way == PROBER_NONE)
		return;
	text_copy(question.disk, sizeof(question.disk), health->disk);
	text_copy(question.type, sizeof(question.type), health->type);
	text_copy(question.run, sizeof(question.run), drive->run.id);
	question.own_written_bytes = drive->base_written_bytes + sampler_written_now(drive->sampler);
	health->was_polling = true;
	(void)prober_ask(health->prober, &question);
}

void drive_begin_health(struct drive *drive)
{
	const struct blockdev *disk = disk_of(drive);
	struct health_watch *health = &drive->health;

	if (!disk) {
		health->way = PROBER_NONE;
		return;
	}
	health->way = prober_way_of(drive->config->probe, disk, health->type, sizeof(health->type));
	text_copy(health->disk, sizeof(health->disk), disk->name);
	health->logical_block_bytes = disk->logical_block_bytes;
	health->failures = 0;
	health->next_ns = clock_mono_ns() + interval_of(drive);
	/* The drive as it was before the run, or before it goes on. */
	ask(drive, true);
}

static void recall_value(const char *key, const char *value, void *arg)
{
	struct health_watch *health = arg;

	if (strcmp(key, "percent_used") == 0 && value[0] && isnan(health->first_percent_used))
		health->first_percent_used = strtod(value, NULL);
}

/* Until the first that tells it. */
static int recall_reading(const struct health_record *record, void *arg)
{
	struct health_watch *health = arg;

	(void)flat_each(record->fields, recall_value, health);
	return !isnan(health->first_percent_used);
}

void drive_recall_health(struct drive *drive, struct journal *journal)
{
	drive->health.is_too_hot = strncmp(drive->run.reason, TOO_HOT, strlen(TOO_HOT)) == 0;
	(void)journal_each_health(journal, drive->run.id, INT64_MIN, false, recall_reading, &drive->health);
}

void drive_end_health(struct drive *drive)
{
	ask(drive, true);
	drive->health.way = PROBER_NONE;
}

static int on_poll(sd_event_source *source, uint64_t usec, void *arg)
{
	struct soak *soak = arg;

	(void)source;
	(void)usec;
	for (size_t i = 0; i < soak->drive_count; i++) {
		struct drive *drive = &soak->drives[i];

		if (!drive->health.is_due)
			continue;
		drive->health.is_due = false;
		if (drive->is_open)
			ask(drive, false);
	}
	return 0;
}

void soak_plan_health(struct soak *soak)
{
	const uint64_t interval_ns = soak->options.config->sample_interval_ns, now_ns = clock_mono_ns();
	bool any = false;

	for (size_t i = 0; i < soak->drive_count; i++) {
		struct drive *drive = &soak->drives[i];
		struct health_watch *health = &drive->health;

		if (health->way == PROBER_NONE || !drive->is_open ||
			now_ns + interval_ns / 2 < health->next_ns)
			continue;
		health->is_due = any = true;
		health->next_ns = now_ns + interval_of(drive) * (health->failures ? health->failures : 1);
	}
	if (any)
		(void)sd_event_add_time_relative(
			soak->event, NULL, CLOCK_MONOTONIC, interval_ns / 2 / NS_PER_US, 0, on_poll, soak);
}

void drive_put_health(struct drive *drive, struct sample *sample)
{
	struct health_watch *health = &drive->health;
	uint64_t fresh_ns = FRESH_INTERVALS * interval_of(drive);

	if (health->was_polling || prober_is_busy(health->prober))
		sample->flags |= SAMPLE_FLAG_HEALTH_POLL;
	health->was_polling = false;
	if (health->read_ms == INT64_MIN || clock_mono_ns() - health->read_ns > fresh_ns)
		return;
	sample->temp_c = health->temp_c;
	sample->percent_used = health->percent_used;
	sample->spare_pct = health->spare_pct;
}

static void word_add(char *words, double value, const char *unit)
{
	size_t used = strlen(words);

	if (!isnan(value))
		(void)snprintf(
			words + used, HEALTH_WORDS_MAX - used, "%s%.0f%s", used ? ", " : "", value, unit);
}

void drive_health_words(const struct drive *drive, char *words)
{
	const struct health_watch *health = &drive->health;
	char age[UNITS_TEXT_MAX];
	size_t used;

	words[0] = '\0';
	if (health->read_ms != INT64_MIN) {
		word_add(words, health->temp_c, " C");
		word_add(words, health->percent_used, " % used");
		word_add(words, health->spare_pct, " % spare");
		if (health->known[READING_MEDIA_ERRORS])
			word_add(words, (double)health->value[READING_MEDIA_ERRORS], " uncorrectable errors");
	}
	if (!words[0]) {
		text_copy(words, HEALTH_WORDS_MAX, "not read");
		return;
	}
	used = strlen(words);
	units_print_duration_rounded(
		(double)(drive_now_ms(drive) - health->read_ms) * (double)NS_PER_MS, age);
	(void)snprintf(words + used, HEALTH_WORDS_MAX - used, ", %s before", age);
}

static void note_growth(struct drive *drive, const struct reading *reading)
{
	const struct health_watch *health = &drive->health;

	for (size_t i = 0; i < COUNT_OF(growing); i++) {
		enum reading_field field = growing[i].field;

		if (reading->known[field] && health->known[field] &&
			reading->value[field] > health->value[field])
			drive_event(drive, "health", growing[i].severity, "%s: %lld more, %lld in all",
				growing[i].what, (long long)(reading->value[field] - health->value[field]),
				(long long)reading->value[field]);
	}
	for (size_t i = 0; i < COUNT_OF(counters); i++) {
		enum reading_field field = counters[i];

		if (reading->known[field] && health->known[field] &&
			reading->value[field] < health->value[field])
			drive_event(drive, "health", EVENT_WARNING,
				"the drive's counter %s went back from %lld to %lld: counted from there on",
				reading_field_name(field), (long long)health->value[field],
				(long long)reading->value[field]);
	}
}

/* Bits that were not there at the reading before; at the first of a run those that are set. */
static void note_warnings(struct drive *drive, const struct reading *reading)
{
	const struct health_watch *health = &drive->health;
	uint64_t now, before = 0;

	if (!reading_get_u64(reading, READING_CRITICAL_WARNING, &now))
		return;
	if (health->known[READING_CRITICAL_WARNING])
		before = (uint64_t)health->value[READING_CRITICAL_WARNING];
	for (size_t bit = 0; bit < COUNT_OF(warning_bits); bit++) {
		if ((now & ~before) >> bit & 1)
			drive_event(
				drive, "health", EVENT_CRITICAL, "critical warning: %s", warning_bits[bit]);
		if ((before & ~now) >> bit & 1)
			drive_event(
				drive, "health", EVENT_INFO, "critical warning over: %s", warning_bits[bit]);
	}
}

static void put_extra(const struct drive *drive, const struct prober_answer *answer, struct text *out)
{
	const uint32_t block_bytes = drive->health.logical_block_bytes;

	text_addf(out,
		"{\"t_s\":%.3f,\"" HEALTH_PHASE "\":\"%s\",\"" HEALTH_OWN_WRITTEN "\":%llu,\"" HEALTH_READ_MS
		"\":%.1f,",
		(double)drive_now_ms(drive) / 1e3, run_phase_name(drive->run.progress.phase),
		(unsigned long long)(drive->base_written_bytes +
				     sampler_get_sums(drive->sampler).write_bytes),
		(double)answer->took_ns / 1e6);
	if (answer->disk_written_bytes != UINT64_MAX)
		text_addf(out, "\"" HEALTH_DISK_WRITTEN "\":%llu,",
			(unsigned long long)answer->disk_written_bytes);
	if (block_bytes)
		text_addf(out, "\"" HEALTH_LOGICAL_BLOCK "\":%u,", block_bytes);
}

static void keep(struct drive *drive, const struct prober_answer *answer)
{
	struct health_record record = { .t_ms = drive_now_ms(drive) };
	struct text fields = TEXT_INIT;
	size_t length;

	text_copy(record.run, sizeof(record.run), answer->question.run);
	put_extra(drive, answer, &fields);
	reading_json(answer->reading, &fields);
	text_add(&fields, "}");
	record.fields = text_take(&fields, &length);
	if (reading_pack(answer->reading, &record.pages, &record.pages_bytes) < 0)
		record.pages = NULL;
	if (!record.fields) {
		health_record_fini(&record);
		return;
	}
	(void)archive_put_health(drive->soak->options.archive, &record);
}

static void remember(struct drive *drive, const struct reading *reading)
{
	struct health_watch *health = &drive->health;

	for (int field = 0; field < READING_FIELD_COUNT; field++) {
		if (!reading->known[field])
			continue;
		health->known[field] = true;
		health->value[field] = reading->value[field];
	}
	health->temp_c = reading_get_double(reading, READING_TEMP_C);
	health->percent_used = reading_get_double(reading, READING_PERCENT_USED);
	health->spare_pct = reading_get_double(reading, READING_SPARE_PCT);
	if (isnan(health->first_percent_used))
		health->first_percent_used = health->percent_used;
	health->read_ms = drive_now_ms(drive);
	health->read_ns = clock_mono_ns();
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

	drive->health.is_too_hot = false;
	/* Somebody ended the pause, or paused it for another reason. */
	if (drive->run.progress.status != RUN_PAUSED ||
		strncmp(drive->run.reason, TOO_HOT, strlen(TOO_HOT)) != 0)
		return;
	drive->run.reason[0] = '\0';
	drive_event(drive, "resumed", EVENT_INFO, "cool again at %.0f C", drive->health.temp_c);
	drive_set_status(drive, RUN_RUNNING, "");
	drive_step(drive, &resume);
	drive_store(drive);
}

static void wear_stop(struct drive *drive, const char *text)
{
	/* As with a budget: nothing more is written, what was is verified. */
	const struct run_input spent = {
		.event = RUN_EVENT_BUDGET_SPENT,
		.fill_done_bytes = drive->run.progress.fill_done_bytes,
	};

	text_copy(drive->run.reason, sizeof(drive->run.reason), text);
	drive_event(drive, "budget", EVENT_CRITICAL, "%s: nothing more is written", text);
	drive_step(drive, &spent);
}

static void keep_limits(struct drive *drive, const struct reading *reading)
{
	const enum run_phase phase = drive->run.progress.phase;
	const struct healthlimit_config config = {
		.wear_limit_pct = drive->config->wear_limit_pct,
		.spare_floor_pct = drive->config->spare_floor_pct,
		.max_temp_c = drive->config->max_temp_c,
		.is_sata = drive->health.way != PROBER_NVME,
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

	if (!drive->is_open || drive->soak->is_stopping)
		return;
	healthlimit_decide(&config, &now, drive->health.is_too_hot, &answer);
	if (answer.action == HEALTHLIMIT_STOP &&
		(phase == PHASE_FILL || phase == PHASE_SOAK || phase == PHASE_PROBE))
		wear_stop(drive, answer.text);
	else if (answer.action == HEALTHLIMIT_PAUSE && drive->run.progress.status == RUN_RUNNING)
		heat_pause(drive, answer.text);
	else if (answer.action == HEALTHLIMIT_GO_ON && drive->health.is_too_hot)
		heat_resume(drive);
}

static void note_failure(struct drive *drive, const struct prober_answer *answer)
{
	struct health_watch *health = &drive->health;

	/* What libatasmart can't reach smartctl may. */
	if (health->way == PROBER_ATA && health->read_ms == INT64_MIN &&
		strcmp(drive->config->probe, "auto") == 0) {
		health->way = PROBER_SMARTCTL;
		ask(drive, answer->question.is_evidence);
		return;
	}
	if (health->failures == 0)
		drive_event(drive, "health", EVENT_WARNING, "the drive's health can't be read: %s",
			answer->reading && answer->reading->notes[0] ? answer->reading->notes
								     : strerror(-answer->rc));
	if (health->failures < BACKOFF_MOST)
		health->failures++;
}

static void take(struct drive *drive, const struct prober_answer *answer)
{
	struct health_watch *health = &drive->health;

	if (answer->rc < 0) {
		note_failure(drive, answer);
		return;
	}
	if (health->failures)
		drive_event(drive, "health", EVENT_INFO, "the drive's health can be read again");
	health->failures = 0;
	if (health->read_ms != INT64_MIN || answer->reading->known[READING_CRITICAL_WARNING])
		note_warnings(drive, answer->reading);
	note_growth(drive, answer->reading);
	keep(drive, answer);
	remember(drive, answer->reading);
	drive_note_cause_reading(drive, answer->reading);
	keep_limits(drive, answer->reading);
}

void drive_take_health(struct drive *drive)
{
	struct prober_answer answer;

	while (prober_next_answer(drive->health.prober, &answer)) {
		/* Of a run that another has followed it is kept, no more. */
		if (strcmp(answer.question.run, drive->run.id) == 0)
			take(drive, &answer);
		else if (answer.rc == 0)
			keep(drive, &answer);
		if (answer.reading) {
			reading_fini(answer.reading);
			free(answer.reading);
		}
	}
}
