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

#define INTERVAL_NVME_NS (60 * NS_PER_S)
#define INTERVAL_ATA_NS	 (300 * NS_PER_S)
/* A reading is shown with samples for so many of its intervals. */
#define FRESH_INTERVALS 3
/* A drive that does not answer is asked more and more rarely. */
#define BACKOFF_MOST 8

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
	question.phase = drive->run.progress.phase;
	question.own_written_bytes = drive->base_written_bytes + sampler_written_now(drive->sampler);
	health->was_polling = true;
	/* Evidence is not dropped for a reading that is under way. */
	if (!prober_ask(health->prober, &question) && is_evidence) {
		health->later = question;
		health->has_later = true;
	}
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
	if (strcmp(key, "media_errors") == 0 && value[0] && isnan(health->first_media_errors))
		health->first_media_errors = strtod(value, NULL);
}

/* Until the first that tells both. */
static int recall_first(const struct health_record *record, void *arg)
{
	struct health_watch *health = arg;

	health->has_earlier = true;
	(void)flat_each(record->fields, recall_value, health);
	return !isnan(health->first_percent_used) && !isnan(health->first_media_errors);
}

static int recall_last(const struct health_record *record, void *arg)
{
	health_recall_changes(arg, record->fields);
	return 0;
}

void drive_recall_health(struct drive *drive, struct journal *journal)
{
	int64_t last_ms = INT64_MIN;

	(void)journal_each_health(journal, drive->run.id, INT64_MIN, false, recall_first, &drive->health);
	if (journal_get_last_health_ms(journal, drive->run.id, &last_ms) == 0 && last_ms != INT64_MIN)
		(void)journal_each_health(
			journal, drive->run.id, last_ms, false, recall_last, &drive->health);
	health_recall_limits(drive);
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

	const bool is_polling = prober_is_busy(health->prober);

	if (health->was_polling || is_polling)
		sample->flags |= SAMPLE_FLAG_HEALTH_POLL;
	/* One that is still under way reaches into the next interval. */
	health->was_polling = is_polling;
	if (health->read_ms == INT64_MIN || clock_mono_ns() - health->read_ns > fresh_ns)
		return;
	sample->temp_c = health->temp_c;
	sample->percent_used = health->percent_used;
	sample->spare_pct = health->spare_pct;
	sample->media_errors = health->media_errors;
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

static void put_extra(const struct drive *drive, const struct prober_answer *answer, struct text *out)
{
	const uint32_t block_bytes = drive->health.logical_block_bytes;

	text_addf(out,
		"{\"t_s\":%.3f,\"" HEALTH_PHASE "\":\"%s\",\"" HEALTH_OWN_WRITTEN "\":%llu,\"" HEALTH_READ_MS
		"\":%.1f,",
		(double)drive_now_ms(drive) / 1e3, run_phase_name(answer->question.phase),
		(unsigned long long)answer->question.own_written_bytes, (double)answer->took_ns / 1e6);
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
	uint64_t errors;

	health->temp_c = reading_get_double(reading, READING_TEMP_C);
	health->percent_used = reading_get_double(reading, READING_PERCENT_USED);
	health->spare_pct = reading_get_double(reading, READING_SPARE_PCT);
	health->media_errors = SAMPLE_UNKNOWN;
	/* The journal holds no more, and no drive lives to see it. */
	if (reading_get_u64(reading, READING_MEDIA_ERRORS, &errors) && errors <= INT64_MAX)
		health->media_errors = errors;
	if (isnan(health->first_percent_used))
		health->first_percent_used = health->percent_used;
	if (isnan(health->first_media_errors))
		health->first_media_errors = reading_get_double(reading, READING_MEDIA_ERRORS);
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
		drive_event(drive, "health", EVENT_WARNING,
			"the drive's health can't be read, so that no limit on it holds: %s",
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
	health_note_changes(drive, answer->reading);
	keep(drive, answer);
	remember(drive, answer->reading);
	drive_note_cause_reading(drive, answer->reading);
	health_keep_limits(drive, answer->reading);
	health->read_ms = drive_now_ms(drive);
	health->read_ns = clock_mono_ns();
}

void drive_take_health(struct drive *drive)
{
	struct health_watch *health = &drive->health;
	struct prober_answer answer;

	while (prober_next_answer(health->prober, &answer)) {
		/* Of a run that another has followed it is kept, no more. */
		if (strcmp(answer.question.run, drive->run.id) == 0)
			take(drive, &answer);
		else if (answer.rc == 0)
			keep(drive, &answer);
		if (answer.reading) {
			reading_fini(answer.reading);
			free(answer.reading);
		}
		if (health->has_later)
			health->has_later = !prober_ask(health->prober, &health->later);
	}
}
