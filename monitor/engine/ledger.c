/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Entries, what they allow, and how a ledger comes to be; the files are in ledger_file.c. */
#include "engine/ledger_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/statefile.h"

/* Starts that may lie between the last epoch and a map that is lost with its start number. */
#define START_LEAP 1024

static uint64_t product_high(uint64_t a, uint64_t b)
{
	return (uint64_t)((unsigned __int128)a * b >> 64);
}

/* Finalizer of splitmix64: neighbours get unrelated values. */
static uint64_t mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

/* NULL when the block is not tracked. */
static _Atomic uint64_t *entry_of(const struct ledger *ledger, uint64_t block)
{
	uint64_t group, member, blocks;

	if (block >= ledger->block_count)
		return NULL;
	if (ledger->stride == 1)
		return &ledger->entries[block];
	/* The estimate of block / stride is at most one too low. */
	group = product_high(block, ledger->reciprocal);
	member = block - group * ledger->stride;
	if (member >= ledger->stride) {
		group++;
		member -= ledger->stride;
	}
	blocks = group == ledger->last_group ? ledger->last_group_blocks : ledger->stride;
	return member == product_high(mix(group ^ ledger->salt), blocks) ? &ledger->entries[group] : NULL;
}

void ledger_submit(struct ledger *ledger, uint64_t block)
{
	_Atomic uint64_t *entry = entry_of(ledger, block);

	if (entry)
		atomic_store_explicit(entry, atomic_load_explicit(entry, memory_order_relaxed) | ENTRY_DIRTY,
			memory_order_relaxed);
}

void ledger_ack(struct ledger *ledger, uint64_t block, uint64_t sequence)
{
	_Atomic uint64_t *entry = entry_of(ledger, block);

	if (entry)
		atomic_store_explicit(entry, sequence & ENTRY_SEQUENCE, memory_order_relaxed);
}

void ledger_fail(struct ledger *ledger, uint64_t block)
{
	if (entry_of(ledger, block))
		ledger_submit(ledger, block);
	else
		atomic_store_explicit(&ledger->page->was_cut, 1, memory_order_relaxed);
}

struct ledger_expectation ledger_expect(const struct ledger *ledger, uint64_t block)
{
	const _Atomic uint64_t *entry = entry_of(ledger, block);
	struct ledger_expectation expect = { .rule = LEDGER_UNTRACKED };
	uint64_t value;

	if (!entry) {
		if (block < ledger->block_count &&
			!atomic_load_explicit(&ledger->page->was_cut, memory_order_relaxed))
			expect.rule = LEDGER_WHOLE;
		return expect;
	}
	value = atomic_load_explicit(entry, memory_order_relaxed);
	expect.sequence = value & ENTRY_SEQUENCE;
	if (expect.sequence == 0 && value & ENTRY_DIRTY)
		expect.rule = LEDGER_ANY;
	else if (value & (ENTRY_DIRTY | ENTRY_RELAXED))
		expect.rule = LEDGER_AT_LEAST;
	else if (expect.sequence)
		expect.rule = LEDGER_EXACT;
	return expect;
}

double ledger_coverage(const struct ledger *ledger)
{
	return (double)ledger->page->head.entry_count / (double)ledger->block_count;
}

size_t ledger_memory_bytes(const struct ledger *ledger)
{
	return ledger->map_bytes;
}

int ledger_next_start(struct ledger *ledger, uint64_t *first_sequence, char *why)
{
	uint64_t number = ledger_page_start(ledger->page) + 1;
	int rc = -EOVERFLOW;

	why[0] = '\0';
	if (number < START_LIMIT) {
		ledger_page_set_start(ledger->page, number);
		atomic_store(&ledger->page->is_running, 1);
		/* The first page only, and the file's metadata with it. */
		rc = msync(ledger->page, LEDGER_PAGE_BYTES, MS_SYNC) ? -errno : 0;
	}
	if (rc < 0) {
		ledger_explain(why, "no new start can be recorded in", ledger->path, rc);
		return rc;
	}
	*first_sequence = number << START_SHIFT;
	return 0;
}

void ledger_explain(char *why, const char *what, const char *path, int rc)
{
	(void)snprintf(why, LEDGER_WHY_MAX, "%s %s: %s", what, path, strerror(-rc));
}

static char *path_beside(const char *path, const char *suffix)
{
	static const char own[] = ".ledger";
	size_t length = strlen(path);
	char *out = NULL;

	if (length >= sizeof(own) - 1 && strcmp(path + length - (sizeof(own) - 1), own) == 0)
		length -= sizeof(own) - 1;
	return asprintf(&out, "%.*s%s", (int)length, path, suffix) < 0 ? NULL : out;
}

static int ledger_new(const struct ledger_setup *setup, struct ledger **out)
{
	struct ledger *ledger = calloc(1, sizeof(*ledger));

	if (!ledger)
		return -ENOMEM;
	ledger->fd = ledger->epoch_fd = -1;
	ledger->path = strdup(setup->path);
	ledger->path_new = path_beside(setup->path, ".ledger.new");
	ledger->epoch_path = path_beside(setup->path, ".epoch");
	ledger->epoch_path_new = path_beside(setup->path, ".epoch.tmp");
	if (!ledger->path || !ledger->path_new || !ledger->epoch_path || !ledger->epoch_path_new) {
		ledger_close(ledger);
		return -ENOMEM;
	}
	*out = ledger;
	return 0;
}

void ledger_close(struct ledger *ledger)
{
	if (!ledger)
		return;
	if (ledger->epoch_fd >= 0) {
		(void)close(ledger->epoch_fd);
		(void)unlink(ledger->epoch_path_new);
	}
	if (ledger->page)
		atomic_store(&ledger->page->is_running, 0);
	ledger_map_close(ledger);
	free(ledger->copy_buffer);
	free(ledger->path);
	free(ledger->path_new);
	free(ledger->epoch_path);
	free(ledger->epoch_path_new);
	free(ledger);
}

int ledger_create(const struct ledger_setup *setup, struct ledger **out, char *why)
{
	struct ledger *ledger = NULL;
	struct ledger_head head;
	int rc = ledger_head_plan(setup, &head);

	why[0] = '\0';
	if (rc < 0) {
		(void)snprintf(why, LEDGER_WHY_MAX, "%llu bytes of memory are too few for a ledger",
			(unsigned long long)setup->memory_bytes);
		return rc;
	}
	rc = ledger_new(setup, &ledger);
	if (rc == 0)
		rc = ledger_map_build(ledger, &head, 0);
	if (rc < 0)
		goto fail;
	/* An epoch of an earlier run must not outlive its map. */
	if (unlink(ledger->epoch_path) && errno != ENOENT) {
		rc = -errno;
		goto fail;
	}
	rc = ledger_map_publish(ledger);
	if (rc < 0)
		goto fail;
	*out = ledger;
	return 0;
fail:
	ledger_explain(why, "no ledger can be made at", setup->path, rc);
	ledger_close(ledger);
	return rc;
}

int ledger_remove(const char *path, char *why)
{
	char *epoch_path = path_beside(path, ".epoch");
	int rc = epoch_path ? 0 : -ENOMEM;

	why[0] = '\0';
	/* The epoch first: a map alone can't be taken for what a power loss left. */
	if (rc == 0 && unlink(epoch_path) && errno != ENOENT)
		rc = -errno;
	if (rc == 0 && unlink(path) && errno != ENOENT)
		rc = -errno;
	if (rc == 0)
		rc = statefile_sync_folder(path);
	if (rc < 0)
		ledger_explain(why, "a ledger that is no longer true can't be removed:", path, rc);
	free(epoch_path);
	return rc;
}

/* What is not from an epoch holds any version; an epoch's block without a sequence may not even be stamped. */
static void entries_relax(struct ledger *ledger, bool has_epoch)
{
	for (uint64_t i = 0; i < ledger->page->head.entry_count; i++) {
		uint64_t sequence = atomic_load_explicit(&ledger->entries[i], memory_order_relaxed);
		uint64_t value = ENTRY_RELAXED;

		if (has_epoch)
			value |= sequence ? sequence & ENTRY_SEQUENCE : ENTRY_DIRTY;
		atomic_store_explicit(&ledger->entries[i], value, memory_order_relaxed);
	}
}

/* Head and start number for the map after a power loss, from what is left of the map and the epoch. @map_rc: 0 when
 * the map is open, else why not; @epoch_rc: 0 when *@epoch holds. */
static void recovery_plan(const struct ledger *ledger, int epoch_rc, const struct ledger_page *epoch,
	struct ledger_head *head, uint64_t *start)
{
	uint64_t epoch_start = epoch_rc == 0 ? ledger_page_start(epoch) : 0;

	*start = ledger->page ? ledger_page_start(ledger->page) : 0;
	if (*start == 0)
		*start = epoch_start + START_LEAP;
	else if (*start < epoch_start)
		*start = epoch_start;
	if (ledger->page) {
		*head = ledger->page->head;
		return;
	}
	*head = epoch->head;
	memcpy(head->magic, ledger_map_magic, sizeof(head->magic));
	head->checksum = XXH3_64bits(head, offsetof(struct ledger_head, checksum));
}

/* A new map from the last epoch in the place of the old one. */
static int ledger_recover(struct ledger *ledger, const struct ledger_setup *setup, int map_rc, char *why)
{
	struct ledger_page epoch;
	struct ledger_head head;
	uint64_t start;
	int rc, epoch_rc = ledger_epoch_page_read(ledger, setup, &epoch);

	if (map_rc < 0 && epoch_rc < 0)
		return map_rc;
	if (map_rc == 0 && epoch_rc == 0 &&
		(epoch.head.stride != ledger->page->head.stride ||
			epoch.head.entry_count != ledger->page->head.entry_count))
		epoch_rc = -EBADMSG;
	recovery_plan(ledger, epoch_rc, &epoch, &head, &start);
	/* Whoever opens the old map, should this end here, must not believe it. */
	if (ledger->page)
		atomic_store(&ledger->page->is_lost, 1);
	rc = ledger_map_build(ledger, &head, start);
	if (rc < 0)
		return rc;
	if (epoch_rc == 0)
		epoch_rc = ledger_epoch_read(ledger);
	entries_relax(ledger, epoch_rc == 0);
	atomic_store(&ledger->page->was_cut, 1);
	if (epoch_rc < 0)
		(void)snprintf(why, LEDGER_WHY_MAX,
			"%s %s: after the power loss no older data can be held against the drive",
			ledger->epoch_path, epoch_rc == -ENOENT ? "is missing" : "is damaged");
	return ledger_map_publish(ledger);
}

int ledger_open(const struct ledger_setup *setup, bool power_lost, struct ledger **out, char *why)
{
	struct ledger *ledger = NULL;
	int rc = ledger_new(setup, &ledger);

	why[0] = '\0';
	if (rc < 0)
		return rc;
	rc = ledger_map_open(ledger, setup);
	if (rc == 0 && (power_lost || atomic_load(&ledger->page->is_lost)))
		rc = ledger_recover(ledger, setup, 0, why);
	else if ((rc == -ENOENT || rc == -EBADMSG) && power_lost)
		rc = ledger_recover(ledger, setup, rc, why);
	if (rc < 0) {
		ledger_explain(why, "cannot use the ledger", setup->path, rc);
		ledger_map_close(ledger);
		ledger_close(ledger);
		return rc;
	}
	/* Nobody closed it: what was in flight and is not tracked may be of two writes. */
	if (atomic_exchange(&ledger->page->is_running, 0))
		atomic_store(&ledger->page->was_cut, 1);
	*out = ledger;
	return 0;
}
