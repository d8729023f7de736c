/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "drivesoak_health.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "prober.h"

/* Disks that are taken in turn by whoever is free. */
struct round {
	health_reader read;
	const struct inventory_disk *disks;
	struct health *healths;
	size_t count;
	atomic_size_t next;
};

static int read_disk(const struct inventory_disk *disk, struct reading *out)
{
	struct prober_question question = { 0 };
	struct reading_memory memory = { 0 };
	int rc;

	text_copy(question.disk, sizeof(question.disk), disk->block.name);
	question.way = prober_way_of("auto", &disk->block, question.type, sizeof(question.type));
	if (question.way == PROBER_NONE) {
		reading_note(out, "no health records are known of %s",
			disk->block.transport[0] ? disk->block.transport : "such a device");
		return -ENOTSUP;
	}
	rc = prober_read_any(&question, &memory, out);
	reading_memory_fini(&memory);
	return rc;
}

static void ask(const struct round *round, size_t i)
{
	struct health *health = &round->healths[i];
	const char *notes = health->reading.notes;

	health->rc = round->read(&round->disks[i], &health->reading);
	if (health->rc < 0)
		text_copy(health->why, sizeof(health->why), notes[0] ? notes : strerror(-health->rc));
}

static void *ask_all(void *arg)
{
	struct round *round = arg;
	size_t i;

	while ((i = atomic_fetch_add(&round->next, 1)) < round->count)
		ask(round, i);
	return NULL;
}

int health_read_by(health_reader read, const struct inventory_disk *disks, size_t count, struct health **out)
{
	struct round round = { .read = read, .disks = disks, .count = count };
	pthread_t threads[HEALTH_AT_ONCE];
	size_t started = 0;

	round.healths = calloc(count + 1, sizeof(*round.healths));
	if (!round.healths)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		reading_init(&round.healths[i].reading);
	while (started < HEALTH_AT_ONCE && started < count &&
		pthread_create(&threads[started], NULL, ask_all, &round) == 0)
		started++;
	/* One after the other is better than not at all. */
	if (!started)
		(void)ask_all(&round);
	for (size_t i = 0; i < started; i++)
		(void)pthread_join(threads[i], NULL);
	*out = round.healths;
	return 0;
}

int health_read(const struct inventory_disk *disks, size_t count, struct health **out)
{
	return health_read_by(read_disk, disks, count, out);
}

void health_free(struct health *healths, size_t count)
{
	for (size_t i = 0; healths && i < count; i++)
		reading_fini(&healths[i].reading);
	free(healths);
}

/* A part of the line, when it is known. */
static void add_part(struct text *out, const struct reading *reading, enum reading_field field,
	const char *before, const char *after)
{
	double value = reading_get_double(reading, field);

	if (!isnan(value))
		text_addf(out, "%s%s%.0f%s", out->length ? ", " : "", before, value, after);
}

static void add_written(struct text *out, const struct reading *reading)
{
	double bytes = reading_get_double(reading, READING_HOST_WRITTEN_BYTES);
	char text[UNITS_TEXT_MAX];

	if (isnan(bytes)) {
		add_part(out, reading, READING_HOST_WRITTEN_RAW, "", " written in an unknown unit");
		return;
	}
	units_print_bytes_decimal(bytes, text);
	text_addf(out, "%s%s written", out->length ? ", " : "", text);
}

static void figures_text(const struct reading *reading, struct text *out)
{
	static const struct {
		enum reading_field field;
		const char *before, *after;
	} parts[] = {
		{ READING_TEMP_C, "", " C" },
		{ READING_PERCENT_USED, "", " % used" },
		{ READING_SPARE_PCT, "", " % spare" },
		{ READING_SPARE_THRESHOLD_PCT, "threshold ", " %" },
		{ READING_MEDIA_ERRORS, "media errors ", "" },
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		add_part(out, reading, parts[i].field, parts[i].before, parts[i].after);
	add_written(out, reading);
}

static void warnings_text(const struct reading *reading, struct text *out)
{
	uint64_t value = 0;

	if (reading_get_u64(reading, READING_CRITICAL_WARNING, &value) && value) {
		text_add(out, "    health warning: ");
		reading_warning_words(value, out);
		text_add(out, "\n");
	}
	if (reading_get_u64(reading, READING_SMART_FAILED, &value) && value)
		text_add(out, "    health warning: the drive says that it fails\n");
}

void health_text(const struct health *health, struct text *out)
{
	struct text figures = TEXT_INIT;

	if (health->why[0]) {
		text_addf(out, "    health not read: %s\n", health->why);
		return;
	}
	figures_text(&health->reading, &figures);
	text_addf(out, "    health: %s\n",
		figures.length ? text_string(&figures) : "read, but none of its numbers is known");
	text_fini(&figures);
	warnings_text(&health->reading, out);
	if (health->reading.notes[0])
		text_addf(out, "    health, not read: %s\n", health->reading.notes);
}

void health_json(const struct health *health, struct text *out)
{
	if (health->why[0])
		return;
	text_add(out, "{");
	reading_json(&health->reading, out);
	text_add(out, "}");
}

bool health_needs_root(const struct health *health)
{
	return health->rc == -EACCES || health->rc == -EPERM;
}
