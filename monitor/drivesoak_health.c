/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "drivesoak_health.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"

struct asked {
	const struct inventory_disk *disk;
	struct health *health;
	pthread_t thread;
	bool is_started;
};

typedef int (*reader)(const char *node, struct reading *out);

/* NULL: nothing that we could ask. */
static reader reader_of(const struct inventory_disk *disk)
{
	if (strncmp(disk->block.name, "nvme", 4) == 0)
		return reading_read_nvme;
	return strncmp(disk->block.name, "sd", 2) == 0 ? reading_read_ata : NULL;
}

static void *ask(void *arg)
{
	const struct asked *asked = arg;
	struct health *health = asked->health;
	const char *notes = health->reading.notes;

	health->rc = reader_of(asked->disk)(asked->disk->node, &health->reading);
	if (health->rc == -ENOTSUP && !notes[0])
		text_copy(health->why, sizeof(health->why), "health of such drives can't be read yet");
	else if (health->rc < 0)
		text_copy(health->why, sizeof(health->why), notes[0] ? notes : strerror(-health->rc));
	return NULL;
}

static void start(struct asked *asked)
{
	struct health *health = asked->health;

	if (!reader_of(asked->disk)) {
		health->rc = -ENOTSUP;
		(void)snprintf(health->why, sizeof(health->why), "no health records are known of %s",
			asked->disk->block.transport[0] ? asked->disk->block.transport : "such a device");
		return;
	}
	asked->is_started = pthread_create(&asked->thread, NULL, ask, asked) == 0;
	/* One after the other is better than not at all. */
	if (!asked->is_started)
		(void)ask(asked);
}

int health_read(const struct inventory_disk *disks, size_t count, struct health **out)
{
	struct health *healths = calloc(count + 1, sizeof(*healths));
	struct asked *asked = calloc(count + 1, sizeof(*asked));

	if (!healths || !asked) {
		free(healths);
		free(asked);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++) {
		reading_init(&healths[i].reading);
		asked[i].disk = &disks[i];
		asked[i].health = &healths[i];
		start(&asked[i]);
	}
	for (size_t i = 0; i < count; i++)
		if (asked[i].is_started)
			(void)pthread_join(asked[i].thread, NULL);
	free(asked);
	*out = healths;
	return 0;
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
