/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "web/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "archive/figures.h"
#include "base/clock.h"
#include "base/text.h"
#include "target/inventory.h"
#include "target/inventory_json.h"

/* Runs whose figures are kept; the one not asked for the longest makes room. */
#define KEPT_MAX 128

/* The last reading of the drive's health may come so long after the end of the run. */
#define LAST_READING_MS (10 * 60000)

#define DRIVES_KEPT_NS (5 * NS_PER_S)
/* A look that took long is kept this many times as long. */
#define DRIVES_IDLE 20

struct kept {
	char run[RUN_ID_MAX];
	struct figures *figures; /* NULL when the run is over: they don't change any more */
	struct summary_figures last;
	int64_t ended_ms;
	char verify_json[sizeof(
		((struct run_record *)0)->verify_json)]; /* a run may be verified after its end */
	uint64_t used;					 /* number of the request that asked last */
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
		figures_free(store->kept[i].figures);
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
	figures_free(kept->figures);
	*kept = (struct kept){ 0 };
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

static int kept_update(struct kept *kept, struct journal *journal, const struct run_record *run)
{
	int rc = kept->figures ? 0 : figures_new(run->interval_s, &kept->figures);

	if (rc == 0)
		rc = figures_update(kept->figures, journal, run);
	if (rc < 0)
		return rc;
	kept->last = *figures_get(kept->figures);
	kept->ended_ms = run->ended_ms;
	memcpy(kept->verify_json, run->verify_json, sizeof(kept->verify_json));
	if (run->ended_ms != INT64_MIN && clock_wall_ms() - run->ended_ms > LAST_READING_MS) {
		figures_free(kept->figures);
		kept->figures = NULL;
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
	if (kept->run[0] == '\0' || kept->figures || kept->ended_ms != run->ended_ms ||
		strcmp(kept->verify_json, run->verify_json) != 0) {
		rc = kept_update(kept, journal, run);
		if (rc < 0) {
			kept_drop(kept);
			return rc;
		}
		memcpy(kept->run, run->id, sizeof(kept->run));
	}
	kept->used = ++store->requests;
	*out = kept->last;
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
