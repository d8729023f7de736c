/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "alert_fixture.h"

#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "unit.h"

static char folder[64];

struct alert alert_fixture(const char *drive, enum alert_rule rule)
{
	struct alert alert = {
		.rule = rule,
		.run = "evo-20251201T080000Z",
		.subject = { "Shelf 3", "EVO 840", "S1234" },
		.is_firing = true,
		.severity = EVENT_CRITICAL,
		.since_ms = T0,
		.until_ms = INT64_MIN,
		.value = 41.5,
		.threshold = 100,
		.margin_pct = NAN,
		.text = "throughput is 41.5 MiB/s, less than half of 200 MiB/s",
		.cause = "thermal",
		.evidence = "70 C",
		.muted_until_ms = INT64_MIN,
		.begun_ms = { INT64_MIN, INT64_MIN, INT64_MIN },
		.untold_since_ms = INT64_MIN,
		.held_until_ms = INT64_MIN,
		.told_ms = INT64_MIN,
	};

	text_copy(alert.drive, sizeof(alert.drive), drive);
	return alert;
}

void alert_fixture_message(struct alert_message *message, enum alert_note note, const struct alert *alert)
{
	memset(message, 0, sizeof(*message));
	message->t_ms = T0 + 5000;
	message->count = 1;
	message->entries[0].note = note;
	message->entries[0].alert = *alert;
}

int alert_set_up(void **state)
{
	(void)state;
	(void)snprintf(folder, sizeof(folder), "/tmp/drivesoak-alert-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	return remove(path);
}

int alert_tear_down(void **state)
{
	(void)state;
	return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

const char *alert_path(const char *name)
{
	static char paths[4][160];
	static unsigned next;
	char *path = paths[next++ % 4];

	(void)snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
	return path;
}
