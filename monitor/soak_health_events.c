/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What changed between two readings of a drive's health: counters that grew or went back, warnings that came and went,
 * and a drive whose counters are no longer what they were. Each change is an event, once, across restarts. */
#include "soak_private.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/flat.h"

/* Counters of which growth during the run is an event. */
static const struct {
	enum reading_field field;
	enum event_severity severity;
	const char *what;
	bool flickers; /* on some drives, by itself: two readings in a row must say so */
} growing[] = {
	{ READING_MEDIA_ERRORS, EVENT_CRITICAL, "uncorrectable errors", false },
	{ READING_REALLOCATED, EVENT_WARNING, "reallocated blocks", false },
	{ READING_PENDING, EVENT_WARNING, "blocks that wait for reallocation", true },
	{ READING_CRC_ERRORS, EVENT_WARNING, "CRC errors of the link (cable, backplane)", false },
	{ READING_UNSAFE_SHUTDOWNS, EVENT_WARNING, "unsafe shutdowns (power)", false },
	{ READING_SMART_FAILED, EVENT_CRITICAL, "verdict of the drive on itself: it fails", false },
	{ READING_CRITICAL_TEMP_MINUTES, EVENT_WARNING, "minutes above the critical temperature", false },
	{ READING_WARNING_TEMP_MINUTES, EVENT_WARNING, "minutes above the warning temperature", false },
	{ READING_THERMAL1_COUNT, EVENT_WARNING, "times throttled lightly for heat", false },
	{ READING_THERMAL2_COUNT, EVENT_WARNING, "times throttled heavily for heat", false },
};

/* Counters that never go back but when the drive or its firmware starts again. */
static const enum reading_field counters[] = { READING_HOST_WRITTEN_RAW, READING_MEDIA_WRITTEN_RAW,
	READING_HOST_WRITE_COMMANDS, READING_POWER_ON_HOURS, READING_UNSAFE_SHUTDOWNS, READING_MEDIA_ERRORS };

static const char *const warning_bits[] = { "spare capacity below its threshold",
	"temperature out of its limits", "reliability degraded", "media read-only",
	"volatile memory backup failed", "persistent memory region read-only" };

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* What counters are counted in: another unit is another count. */
static const struct {
	enum reading_field field;
	const char *what;
} units[] = {
	{ READING_HOST_WRITTEN_UNIT_BYTES, "what the host wrote" },
	{ READING_MEDIA_WRITTEN_UNIT_BYTES, "what went to the flash" },
};

/* Texts by which the counters of two readings are the same ones. */
static const struct {
	const char *key;
	size_t at; /* in a reading */
	enum event_severity severity;
	const char *what;
} texts[HEALTH_TEXTS] = {
	{ "serial", offsetof(struct reading, serial), EVENT_CRITICAL,
		"the serial of the drive whose health is read" },
	{ "firmware", offsetof(struct reading, firmware), EVENT_WARNING, "the drive's firmware" },
	{ "host_written_from", offsetof(struct reading, host_written_from), EVENT_WARNING,
		"the counter of what the host wrote" },
	{ "media_written_from", offsetof(struct reading, media_written_from), EVENT_WARNING,
		"the counter of what went to the flash" },
};

static const char *text_of(const struct reading *reading, size_t row)
{
	return (const char *)reading + texts[row].at;
}

/* The counters begin anew, as endurance_base() has it. */
static void note_base(struct drive *drive, const struct reading *reading)
{
	const struct health_watch *health = &drive->health;

	for (size_t i = 0; i < HEALTH_TEXTS; i++) {
		const char *before = health->texts[i], *now = text_of(reading, i);

		if (before[0] && now[0] && strcmp(before, now) != 0)
			drive_event(drive, "health", texts[i].severity,
				"%s changed from %s to %s: counted from here on", texts[i].what, before, now);
	}
	for (size_t i = 0; i < COUNT_OF(units); i++) {
		enum reading_field field = units[i].field;

		if (reading->known[field] && health->known[field] &&
			reading->value[field] != health->value[field])
			drive_event(drive, "health", EVENT_WARNING,
				"the stated unit of the counter of %s changed from %lld to %lld bytes: "
				"counted from here on",
				units[i].what, (long long)health->value[field],
				(long long)reading->value[field]);
	}
}

/* A value that flickers counts when two readings in a row have it. */
static bool is_settled(const struct health_watch *health, size_t row, const struct reading *reading)
{
	enum reading_field field = growing[row].field;

	return !growing[row].flickers ||
	       (health->was_known[field] && health->was[field] == reading->value[field]);
}

static void note_growth(struct drive *drive, const struct reading *reading)
{
	const struct health_watch *health = &drive->health;

	for (size_t i = 0; i < COUNT_OF(growing); i++) {
		enum reading_field field = growing[i].field;

		if (reading->known[field] && health->known[field] &&
			reading->value[field] > health->value[field] && is_settled(health, i, reading))
			drive_event(drive, "health", growing[i].severity, "%s: %lld more, %lld in all",
				growing[i].what, (long long)(reading->value[field] - health->value[field]),
				(long long)reading->value[field]);
	}
}

static void note_steps_back(struct drive *drive, const struct reading *reading)
{
	const struct health_watch *health = &drive->health;

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

void drive_warning_words(uint64_t bits, char *words, size_t size)
{
	struct text text = TEXT_INIT;

	text_add(&text, "critical warning of the drive");
	for (size_t bit = 0; bit < COUNT_OF(warning_bits); bit++)
		if (bits >> bit & 1)
			text_addf(&text, "%s %s", bits & ((1ULL << bit) - 1) ? "," : ":", warning_bits[bit]);
	text_keep(words, size, &text);
}

/* Each field as last known; what flickers only once it stays. */
static void remember(struct health_watch *health, const struct reading *reading)
{
	bool is_waiting[READING_FIELD_COUNT] = { false };

	for (size_t i = 0; i < COUNT_OF(growing); i++)
		is_waiting[growing[i].field] = health->known[growing[i].field] &&
					       !is_settled(health, i, reading);
	for (int field = 0; field < READING_FIELD_COUNT; field++) {
		health->was_known[field] = reading->known[field];
		health->was[field] = reading->value[field];
		if (!reading->known[field] || is_waiting[field])
			continue;
		health->known[field] = true;
		health->value[field] = reading->value[field];
	}
	for (size_t i = 0; i < HEALTH_TEXTS; i++)
		if (text_of(reading, i)[0])
			text_copy(health->texts[i], sizeof(health->texts[i]), text_of(reading, i));
}

void health_note_changes(struct drive *drive, const struct reading *reading)
{
	note_base(drive, reading);
	note_warnings(drive, reading);
	note_growth(drive, reading);
	note_steps_back(drive, reading);
	remember(&drive->health, reading);
}

static bool parse_value(const char *text, __int128 *out)
{
	bool is_negative = *text == '-';
	unsigned __int128 value = 0;

	text += is_negative;
	if (!*text)
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return false;
		value = value * 10 + (unsigned)(*text - '0');
	}
	*out = is_negative ? -(__int128)value : (__int128)value;
	return true;
}

static void recall_value(const char *key, const char *value, void *arg)
{
	struct health_watch *health = arg;

	for (int field = 0; field < READING_FIELD_COUNT; field++)
		if (strcmp(key, reading_field_name((enum reading_field)field)) == 0)
			health->was_known[field] = health->known[field] = parse_value(
				value, &health->value[field]);
	for (size_t i = 0; i < HEALTH_TEXTS; i++)
		if (strcmp(key, texts[i].key) == 0)
			text_copy(health->texts[i], sizeof(health->texts[i]), value);
}

void health_recall_changes(struct health_watch *health, const char *fields)
{
	(void)flat_each(fields, recall_value, health);
	memcpy(health->was, health->value, sizeof(health->was));
}
