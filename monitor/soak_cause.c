/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the machine says of the drives: kept for when their throughput falls, told and counted where it is trouble by
 * itself. */
#include "soak_private.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "measure/causelog.h"
#include "measure/evidence.h"

/* A trouble that has not come again for so long is over. */
#define QUIET_NS (600 * NS_PER_S)
/* What the kernel says of drives so long after a sleep belongs to it. */
#define WAKING_NS (30 * NS_PER_S)
/* More drives beside one tell nothing more. */
#define NEIGHBOURS_MAX 64

struct cause_watch {
	struct causelog *log;
	struct troubles_watch troubles;
	struct troubles told; /* what the journal knows */
	struct log_complaint complaints[TROUBLES_KIND_COUNT];
	uint64_t trouble_ns[TROUBLES_KIND_COUNT]; /* monotonic: of the last */
	struct log_complaint lost;
};

static const struct {
	const char *cause, *what;
} kinds[TROUBLES_KIND_COUNT] = {
	[TROUBLES_RESET] = { "reset", "reset or timeout" },
	[TROUBLES_LINK] = { "link", "link" },
	[TROUBLES_AER] = { "link", "PCI Express" },
};

int drive_open_cause(struct drive *drive)
{
	drive->cause = calloc(1, sizeof(*drive->cause));
	return drive->cause ? causelog_new(&drive->cause->log) : -ENOMEM;
}

void drive_close_cause(struct drive *drive)
{
	if (drive->cause)
		causelog_free(drive->cause->log);
	free(drive->cause);
	drive->cause = NULL;
}

/* Says once that the kernel is no longer heard. */
static void log_check(struct soak *soak)
{
	const char *trouble = evidence_log_trouble(soak->evidence);

	if (soak->is_log_lost || !trouble[0])
		return;
	soak->is_log_lost = true;
	log_warning(
		"the kernel's log can't be heard, resets and I/O errors go without its words: %s", trouble);
}

/* After a sleep of the machine drives are reset by its own doing. */
static void sleep_check(struct soak *soak)
{
	const uint64_t asleep_ns = clock_boot_ns() - clock_mono_ns();

	if (soak->asleep_ns && asleep_ns > soak->asleep_ns + NS_PER_S)
		soak->woken_ns = clock_mono_ns();
	soak->asleep_ns = asleep_ns;
}

int soak_open_evidence(struct soak *soak, void (*wake)(void *arg))
{
	const struct evidence_setup setup = {
		.root = "",
		.slots = (unsigned)soak->drive_count,
		.wake = wake,
		.wake_arg = soak,
	};
	int rc = evidence_new(&setup, &soak->evidence);

	if (rc == 0) {
		log_check(soak);
		sleep_check(soak);
	}
	return rc;
}

void drive_begin_cause(struct drive *drive)
{
	const struct target_facts *facts = keeper_get_facts(drive->keeper);

	evidence_watch(drive->soak->evidence, (unsigned)drive->index, facts->disks, facts->disk_count);
	troubles_forget_counters(&drive->cause->troubles);
}

void drive_forget_cause(struct drive *drive)
{
	struct causelog *log = drive->cause->log;

	causelog_clear(log);
	*drive->cause = (struct cause_watch){ .log = log };
}

struct recall {
	struct cause_watch *watch;
	bool has_sums;
};

/* The newest event with the sums, and what was found of a fall that lasts: events come newest first. */
static int recall_event(const struct event_record *event, void *arg)
{
	struct recall *recall = arg;
	struct cause_answer answer;
	long long detected_ms;

	if (!recall->has_sums && strcmp(event->kind, "error") == 0 &&
		troubles_parse(event->text, &recall->watch->troubles.sum)) {
		recall->watch->told = recall->watch->troubles.sum;
		recall->has_sums = true;
	}
	if (event->until_ms == INT64_MIN && sscanf(event->key, "fall-%lld", &detected_ms) == 1 &&
		cause_parse(event->cause, event->evidence, &answer) == 0)
		causelog_recall(recall->watch->log, detected_ms, &answer);
	return 0;
}

void drive_recall_cause(struct drive *drive, struct journal *journal)
{
	struct recall recall = { .watch = drive->cause };

	(void)journal_each_event(journal, drive->run.id, SIZE_MAX, recall_event, &recall);
}

void drive_get_troubles(const struct drive *drive, struct troubles *out)
{
	*out = drive->cause->troubles.sum;
}

/* --- troubles as events --- */

static void tell(struct drive *drive, int64_t t_ms, enum event_severity severity, enum troubles_kind kind,
	const char *words)
{
	struct cause_watch *watch = drive->cause;
	struct event_record event = { .t_ms = t_ms, .until_ms = INT64_MIN, .severity = severity };
	char sums[TROUBLES_TEXT_MAX];

	text_copy(event.kind, sizeof(event.kind), "error");
	text_copy(event.drive, sizeof(event.drive), drive->config->name);
	text_copy(event.run, sizeof(event.run), drive->run.id);
	text_copy(event.cause, sizeof(event.cause), kinds[kind].cause);
	text_copy(event.evidence, sizeof(event.evidence), words);
	troubles_print(&watch->troubles.sum, sums);
	(void)snprintf(event.text, sizeof(event.text), "%s: %s; so far in the run: %s", kinds[kind].what,
		words, sums);
	watch->told = watch->troubles.sum;
	log_line(severity == EVENT_INFO ? LOG_LEVEL_INFO : LOG_LEVEL_WARNING, "%s: error: %s",
		drive->config->name, event.text);
	(void)archive_put_event(drive->soak->options.archive, &event);
}

/* What the verdict goes by is told at once: an incident counts once, however many lines it has. */
static bool has_news(const struct cause_watch *watch)
{
	return watch->troubles.sum.resets != watch->told.resets ||
	       watch->troubles.sum.resets_traced != watch->told.resets_traced;
}

static void complain(struct drive *drive, int64_t t_ms, enum troubles_kind kind, const char *words)
{
	struct cause_watch *watch = drive->cause;
	uint64_t now_ns = clock_mono_ns(), suppressed;

	watch->trouble_ns[kind] = now_ns;
	if (log_complaint_raise(&watch->complaints[kind], now_ns, &suppressed) || has_news(watch))
		tell(drive, t_ms, EVENT_WARNING, kind, words);
}

static void complaints_clear(struct drive *drive)
{
	struct cause_watch *watch = drive->cause;
	uint64_t now_ns = clock_mono_ns();

	for (unsigned kind = TROUBLES_RESET; kind < TROUBLES_KIND_COUNT; kind++)
		if (watch->complaints[kind].open && now_ns - watch->trouble_ns[kind] > QUIET_NS &&
			log_complaint_clear(&watch->complaints[kind]) && drive->has_run)
			tell(drive, drive_now_ms(drive), EVENT_INFO, kind, "none for 10 min");
}

/* The run or the service ends: what was counted and kept back must not be lost. */
void drive_settle_troubles(struct drive *drive)
{
	const struct cause_watch *watch = drive->cause;

	if (drive->has_run && memcmp(&watch->told, &watch->troubles.sum, sizeof(watch->told)) != 0)
		tell(drive, drive_now_ms(drive), EVENT_INFO, TROUBLES_RESET, "the sums at its end");
}

static void take_line(struct drive *drive, const struct evidence_line *line, uint64_t lost)
{
	const int64_t age_ms = (int64_t)((clock_boot_ns() - line->boot_ns) / NS_PER_MS);
	const int64_t t_ms = drive_now_ms(drive) - age_ms;
	enum troubles_kind kind;
	uint64_t suppressed;

	causelog_add_line(drive->cause->log, t_ms, line->word, line->line.text);
	if (!drive->is_sampling)
		return;
	if (lost && log_complaint_raise(&drive->cause->lost, clock_mono_ns(), &suppressed))
		log_warning("%s: %llu lines of the kernel were too many to keep", drive->config->name,
			(unsigned long long)lost);
	if (drive->soak->woken_ns && clock_mono_ns() - drive->soak->woken_ns < WAKING_NS)
		(void)troubles_add_line(&drive->cause->troubles, t_ms, KERNELLINE_HOST);
	kind = troubles_add_line(&drive->cause->troubles, t_ms, line->word);
	if (kind != TROUBLES_NOTHING)
		complain(drive, t_ms, kind, line->line.text);
	else if (has_news(drive->cause))
		complain(drive, t_ms, TROUBLES_RESET, line->line.text);
}

static void lines_take(struct drive *drive)
{
	struct evidence_line line;
	uint64_t lost;

	while (evidence_next_line(drive->soak->evidence, (unsigned)drive->index, &line, &lost))
		take_line(drive, &line, lost);
}

void soak_take_lines(struct soak *soak)
{
	log_check(soak);
	sleep_check(soak);
	for (size_t i = 0; i < soak->drive_count; i++)
		lines_take(&soak->drives[i]);
}

void drive_leave_cause(struct drive *drive)
{
	lines_take(drive);
	evidence_watch(drive->soak->evidence, (unsigned)drive->index, NULL, 0);
}

/* --- the record --- */

static void take_counters(struct drive *drive)
{
	struct evidence_counters counters;
	char words[TROUBLES_TEXT_MAX];
	enum troubles_kind kind;

	if (!evidence_get(drive->soak->evidence, (unsigned)drive->index, &counters))
		return;
	if (counters.stamp == drive->cause->troubles.counters.stamp && drive->cause->troubles.has_counters)
		return;
	causelog_put_counters(drive->cause->log, &counters);
	kind = troubles_add_counters(&drive->cause->troubles, counters.stamp, &counters, words);
	if (kind != TROUBLES_NOTHING && drive->is_sampling)
		complain(drive, counters.stamp, kind, words);
}

static double share_of(uint64_t part_ns, uint64_t ns)
{
	return part_ns == SAMPLE_UNKNOWN || !ns ? NAN : fmin((double)part_ns / (double)ns, 1);
}

/* Where the queue is not meant to be full it tells nothing. */
static double in_flight_share(const struct drive *drive)
{
	const bool is_full_meant = !drive->config->fsync_every && !drive->config->rate_bytes_per_s;

	return is_full_meant && drive->queue_depth ? drive->sample.inflight_mean / drive->queue_depth : NAN;
}

static double capacities_of(const struct drive *drive)
{
	const uint64_t capacity = drive->run.capacity_bytes;

	return capacity && capacity != UINT64_MAX ? (double)drive->run.written_bytes / (double)capacity : NAN;
}

static uint64_t known_sum(uint64_t a, uint64_t b)
{
	return a == SAMPLE_UNKNOWN || b == SAMPLE_UNKNOWN ? SAMPLE_UNKNOWN : a + b;
}

void drive_note_cause_sample(struct drive *drive)
{
	const struct sample *sample = &drive->sample;
	struct cause_sample kept;

	take_counters(drive);
	cause_sample_init(&kept);
	kept.t_ms = sample->t_ms;
	kept.elapsed_ns = sample->elapsed_ns != SAMPLE_UNKNOWN ? sample->elapsed_ns : 0;
	kept.state = sample->state;
	kept.flags = sample->flags;
	kept.bytes = known_sum(sample->write_bytes, sample->read_bytes);
	kept.errors = sample->errors;
	/* Of a sample that was not judged they are those of one before. */
	kept.host_measures = sample->flags & SAMPLE_FLAG_HOST_LIMIT ? drive->host.measures : 0;
	kept.run_delay_share = sample->run_delay_share;
	kept.steal_share = sample->steal_share;
	kept.throttled_share = share_of(sample->throttled_ns, kept.elapsed_ns);
	kept.in_flight_share = in_flight_share(drive);
	kept.capacities = capacities_of(drive);
	causelog_add_sample(drive->cause->log, &kept);
	complaints_clear(drive);
}

void soak_ask_evidence(struct soak *soak, int64_t t_ms)
{
	evidence_ask(soak->evidence, t_ms);
}

static uint64_t count_of(const struct reading *reading, enum reading_field field)
{
	uint64_t value;

	return reading_get_u64(reading, field, &value) ? value : CAUSE_UNKNOWN_COUNT;
}

/* Byte 363 of SMART READ DATA: in its upper half 15 says that a self-test runs. */
static uint64_t self_test_of(const struct reading *reading)
{
	const struct reading_page *page = reading_find_page(reading, "ata-smart");

	if (!page || page->length < 512)
		return CAUSE_UNKNOWN_COUNT;
	return page->bytes[363] >> 4 == 15;
}

void drive_note_cause_reading(struct drive *drive, const struct reading *reading)
{
	const struct cause_reading kept = {
		.t_ms = drive_now_ms(drive),
		.temp_c = reading_get_double(reading, READING_TEMP_C),
		.warning_temp_c = reading_get_double(reading, READING_WARNING_TEMP_C),
		.critical_warning = count_of(reading, READING_CRITICAL_WARNING),
		.warning_temp_minutes = count_of(reading, READING_WARNING_TEMP_MINUTES),
		.critical_temp_minutes = count_of(reading, READING_CRITICAL_TEMP_MINUTES),
		.thermal1_count = count_of(reading, READING_THERMAL1_COUNT),
		.thermal2_count = count_of(reading, READING_THERMAL2_COUNT),
		.thermal1_s = count_of(reading, READING_THERMAL1_S),
		.thermal2_s = count_of(reading, READING_THERMAL2_S),
		.throttle_level = count_of(reading, READING_THROTTLE_LEVEL),
		.throttle_events = count_of(reading, READING_THROTTLE_EVENTS),
		.crc_errors = count_of(reading, READING_CRC_ERRORS),
		.self_test = self_test_of(reading),
		.host_written_bytes = count_of(reading, READING_HOST_WRITTEN_BYTES),
		.media_written_bytes = count_of(reading, READING_MEDIA_WRITTEN_BYTES),
	};

	causelog_add_reading(drive->cause->log, &kept);
}

/* --- the answer --- */

static unsigned neighbours_find(const struct drive *drive, const struct collapse_finding *finding,
	struct cause_neighbour *out, unsigned most)
{
	const struct soak *soak = drive->soak;
	const int64_t within_ms = (int64_t)(CAUSE_TOGETHER_SAMPLES *
					    (double)soak->options.config->sample_interval_ns /
					    (double)NS_PER_MS);
	unsigned count = 0;

	for (size_t i = 0; i < soak->drive_count && count < most; i++) {
		const struct drive *other = &soak->drives[i];
		struct cause_neighbour *neighbour = &out[count];

		if (other == drive || !other->is_sampling || other->run.progress.phase != PHASE_SOAK)
			continue;
		*neighbour = (struct cause_neighbour){ .name = other->config->name };
		neighbour->shares_path = drive_shares_path(drive, other);
		neighbour->has_fallen = causelog_match_falls(drive->cause->log, other->cause->log,
			finding->from_ms, within_ms, &neighbour->fall, &neighbour->lone_falls);
		count++;
	}
	return count;
}

void drive_find_cause(struct drive *drive, const struct collapse_finding *finding, struct cause_answer *out)
{
	struct cause_neighbour neighbours[NEIGHBOURS_MAX];
	const struct causelog_context context = {
		.neighbours = neighbours,
		.neighbour_count = neighbours_find(drive, finding, neighbours, NEIGHBOURS_MAX),
		.path = drive_path_name(drive),
		.is_log_heard = !evidence_log_trouble(drive->soak->evidence)[0],
		.capacity_bytes = drive->run.capacity_bytes,
	};

	/* Since the tick the counters of the last sample may have come. */
	take_counters(drive);
	causelog_find(drive->cause->log, finding, &context, out);
}

void drive_print_cause(struct drive *drive, const struct collapse_finding *finding, char *cause,
	size_t cause_size, char *evidence, size_t evidence_size)
{
	struct cause_answer answer;

	drive_find_cause(drive, finding, &answer);
	cause_print(&answer, cause, cause_size, evidence, evidence_size);
}
