/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "web/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "archive/health.h"
#include "base/clock.h"
#include "base/text.h"
#include "target/inventory.h"
#include "target/inventory_json.h"

/* Runs whose figures are kept; the one not asked for the longest makes room. */
#define KEPT_MAX 128

#define DRIVES_KEPT_NS (5 * NS_PER_S)
/* A look that took long is kept this many times as long. */
#define DRIVES_IDLE 20

struct kept {
	char run[RUN_ID_MAX];
	struct summary *summary; /* NULL once the run has ended: its figures don't change any more */
	struct summary_figures figures;
	int64_t last_ms;   /* of the samples in it */
	int64_t health_ms; /* of the last reading in it; 0: none */
	int64_t ended_ms;
	uint64_t used; /* number of the request that asked last */
};

struct store {
	struct text path;
	struct journal *journal;
	struct stat opened; /* the file that journal reads */
	struct kept kept[KEPT_MAX];
	uint64_t requests;
	struct text drives; /* empty: never looked at */
	uint64_t drives_until_ns;
};

int store_new(const char *state_directory, struct store **out)
{
	struct store *store = calloc(1, sizeof(*store));

	if (!store)
		return -ENOMEM;
	text_addf(&store->path, "%s/journal.db", state_directory);
	if (text_error(&store->path)) {
		store_free(store);
		return -ENOMEM;
	}
	*out = store;
	return 0;
}

void store_free(struct store *store)
{
	if (!store)
		return;
	for (size_t i = 0; i < KEPT_MAX; i++)
		summary_free(store->kept[i].summary);
	journal_close(store->journal);
	text_fini(&store->path);
	text_fini(&store->drives);
	free(store);
}

const char *store_error(const struct store *store)
{
	return store->journal ? journal_error(store->journal) : "";
}

static void kept_drop(struct kept *kept)
{
	summary_free(kept->summary);
	*kept = (struct kept){ .last_ms = INT64_MIN };
}

/* A file that was removed or replaced is read as long as there is no other at its place. */
int store_journal(struct store *store, struct journal **out)
{
	struct stat st;
	int rc = stat(text_string(&store->path), &st) < 0 ? -errno : 0;

	if (store->journal && rc == 0 &&
		(st.st_dev != store->opened.st_dev || st.st_ino != store->opened.st_ino)) {
		journal_close(store->journal);
		store->journal = NULL;
		for (size_t i = 0; i < KEPT_MAX; i++)
			kept_drop(&store->kept[i]);
	}
	if (!store->journal) {
		if (rc == 0)
			rc = journal_open(text_string(&store->path), true, &store->journal);
		if (rc < 0)
			return rc;
		store->opened = st;
	}
	*out = store->journal;
	return 0;
}

/* The entry of this run, or a free one made so. */
static struct kept *kept_find(struct store *store, const char *run)
{
	struct kept *oldest = &store->kept[0];

	for (size_t i = 0; i < KEPT_MAX; i++) {
		if (strcmp(store->kept[i].run, run) == 0)
			return &store->kept[i];
		if (store->kept[i].used < oldest->used)
			oldest = &store->kept[i];
	}
	kept_drop(oldest);
	return oldest;
}

static int feed(const struct sample *sample, void *arg)
{
	struct kept *kept = arg;
	int rc = summary_add(kept->summary, sample);

	if (rc == 0)
		kept->last_ms = sample->t_ms;
	return rc;
}

/* The figures of what was fed. A run has thousands of readings: they are gone through only when there is a new one. */
static int kept_read(struct kept *kept, struct journal *journal, const struct run_record *run)
{
	const double waf = kept->figures.waf, percent_used_delta = kept->figures.percent_used_delta;
	int64_t health_ms;
	int rc = journal_get_last_health_ms(journal, run->id, &health_ms);

	if (rc < 0)
		return rc;
	summary_read(kept->summary, &kept->figures);
	if (health_ms == INT64_MIN)
		return 0;
	if (health_ms == kept->health_ms) {
		kept->figures.waf = waf;
		kept->figures.percent_used_delta = percent_used_delta;
		return 0;
	}
	rc = health_add_figures(journal, run, &kept->figures);
	if (rc == 0)
		kept->health_ms = health_ms;
	return rc;
}

static int kept_update(struct kept *kept, struct journal *journal, const struct run_record *run)
{
	int rc;

	if (!kept->summary) {
		rc = summary_new(run->interval_s, &kept->summary);
		if (rc < 0)
			return rc;
		kept->last_ms = INT64_MIN;
	}
	rc = journal_each_sample(journal, run->id, kept->last_ms, INT64_MAX, true, feed, kept);
	if (rc < 0)
		return rc;
	rc = kept_read(kept, journal, run);
	if (rc < 0)
		return rc;
	kept->ended_ms = run->ended_ms;
	if (run->ended_ms != INT64_MIN) {
		summary_free(kept->summary);
		kept->summary = NULL;
	}
	return 0;
}

int store_figures(struct store *store, const struct run_record *run, struct summary_figures *out)
{
	struct journal *journal;
	struct kept *kept;
	int rc = store_journal(store, &journal);

	if (rc < 0)
		return rc;
	kept = kept_find(store, run->id);
	if (kept->run[0] == '\0' || kept->summary || kept->ended_ms != run->ended_ms) {
		rc = kept_update(kept, journal, run);
		if (rc < 0) {
			kept_drop(kept);
			return rc;
		}
		memcpy(kept->run, run->id, sizeof(kept->run));
	}
	kept->used = ++store->requests;
	*out = kept->figures;
	return 0;
}

int store_drives(struct store *store, const struct config *config, const char *state_directory,
	const struct text **out)
{
	struct inventory_disk *disks = NULL;
	struct text fresh = TEXT_INIT;
	uint64_t from_ns = clock_mono_ns(), took_ns;
	size_t count = 0;
	int rc = 0;

	if (!store->drives.length || from_ns >= store->drives_until_ns) {
		rc = inventory_read("", state_directory, &disks, &count);
		if (rc < 0)
			return rc;
		inventory_json(disks, count, config, NULL, &fresh);
		free(disks);
		rc = text_error(&fresh);
		if (rc < 0) {
			text_fini(&fresh);
			return rc;
		}
		text_fini(&store->drives);
		store->drives = fresh;
		took_ns = (clock_mono_ns() - from_ns) * DRIVES_IDLE;
		store->drives_until_ns = from_ns + (took_ns > DRIVES_KEPT_NS ? took_ns : DRIVES_KEPT_NS);
	}
	*out = &store->drives;
	return 0;
}
