/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The map and the epoch on the disk. Both are a first page and the entries; an epoch ends with a checksum over all of
 * it and is only ever renamed into place. */
#include "engine/ledger_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/statefile.h"

#define LEDGER_VERSION	1
#define COPY_BYTES	65536u
#define COPY_ENTRIES	(COPY_BYTES / sizeof(uint64_t))
#define CHECKSUM_OFFSET offsetof(struct ledger_head, checksum)

const char ledger_map_magic[8] = { 'd', 's', 'l', 'e', 'd', 'g', 'e', 'r' };
const char ledger_epoch_magic[8] = { 'd', 's', 'e', 'p', 'o', 'c', 'h', '\n' };

static uint64_t map_bytes_of(uint64_t entry_count)
{
	uint64_t bytes = entry_count * sizeof(uint64_t);

	return LEDGER_PAGE_BYTES + (bytes + LEDGER_PAGE_BYTES - 1) / LEDGER_PAGE_BYTES * LEDGER_PAGE_BYTES;
}

int ledger_head_plan(const struct ledger_setup *setup, struct ledger_head *out)
{
	uint64_t pages = setup->memory_bytes / LEDGER_PAGE_BYTES, most, stride;

	if (pages < 2 || setup->block_count == 0)
		return -EINVAL;
	most = (pages - 1) * (LEDGER_PAGE_BYTES / sizeof(uint64_t));
	stride = setup->block_count / most + (setup->block_count % most != 0);
	*out = (struct ledger_head){
		.version = LEDGER_VERSION,
		.block_bytes = setup->block_bytes,
		.run_tag = setup->run_tag,
		.block_count = setup->block_count,
		.stride = stride,
		.entry_count = setup->block_count / stride + (setup->block_count % stride != 0),
	};
	memcpy(out->magic, ledger_map_magic, sizeof(out->magic));
	out->checksum = XXH3_64bits(out, CHECKSUM_OFFSET);
	return 0;
}

bool ledger_head_fits(const struct ledger_head *head, const char *magic, const struct ledger_setup *setup)
{
	return memcmp(head->magic, magic, sizeof(head->magic)) == 0 && head->version == LEDGER_VERSION &&
	       head->checksum == XXH3_64bits(head, CHECKSUM_OFFSET) && head->run_tag == setup->run_tag &&
	       head->block_bytes == setup->block_bytes && head->block_count >= setup->block_count;
}

static uint64_t start_checksum(uint64_t number)
{
	return XXH3_64bits(&number, sizeof(number));
}

/* A place that does not hold may have held the number behind the other's. */
uint64_t ledger_page_start(const struct ledger_page *page)
{
	uint64_t newest = 0;
	unsigned valid = 0;

	for (unsigned i = 0; i < 2; i++) {
		const struct ledger_start *start = &page->starts[i].start;

		if (start->checksum != start_checksum(start->number))
			continue;
		valid++;
		if (start->number > newest)
			newest = start->number;
	}
	return valid == 1 ? newest + 1 : newest;
}

static void start_put(struct ledger_page *page, unsigned place, uint64_t number)
{
	page->starts[place].start = (struct ledger_start){ number, start_checksum(number) };
}

void ledger_page_set_start(struct ledger_page *page, uint64_t number)
{
	start_put(page, number % 2, number);
}

static void page_init(struct ledger_page *page, const struct ledger_head *head, uint64_t start)
{
	page->head = *head;
	start_put(page, 0, start);
	start_put(page, 1, start);
}

/* @fd is taken over by success. */
static int map_attach(struct ledger *ledger, int fd, uint64_t bytes)
{
	void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);

	if (map == MAP_FAILED)
		return -errno;
	ledger_map_close(ledger);
	ledger->fd = fd;
	ledger->page = map;
	ledger->map_bytes = bytes;
	ledger->entries = (_Atomic uint64_t *)((uint8_t *)map + LEDGER_PAGE_BYTES);
	return 0;
}

static void geometry_set(struct ledger *ledger)
{
	const struct ledger_head *head = &ledger->page->head;

	ledger->block_count = head->block_count;
	ledger->stride = head->stride;
	ledger->reciprocal = UINT64_MAX / head->stride;
	ledger->last_group = head->entry_count - 1;
	ledger->last_group_blocks = head->block_count - ledger->last_group * head->stride;
	ledger->salt = head->run_tag;
}

void ledger_map_close(struct ledger *ledger)
{
	if (ledger->page)
		(void)munmap(ledger->page, ledger->map_bytes);
	if (ledger->fd >= 0)
		(void)close(ledger->fd);
	ledger->page = NULL;
	ledger->entries = NULL;
	ledger->fd = -1;
}

static int map_check(int fd, const struct ledger_setup *setup, uint64_t *bytes)
{
	struct ledger_head head;
	struct stat info;
	int rc = statefile_read(fd, &head, sizeof(head));

	if (rc < 0)
		return rc;
	if (fstat(fd, &info))
		return -errno;
	if (!ledger_head_fits(&head, ledger_map_magic, setup))
		return -EBADMSG;
	*bytes = map_bytes_of(head.entry_count);
	return (uint64_t)info.st_size == *bytes ? 0 : -EBADMSG;
}

int ledger_map_open(struct ledger *ledger, const struct ledger_setup *setup)
{
	uint64_t bytes = 0;
	int rc, fd = open(ledger->path, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB))
		rc = errno == EWOULDBLOCK ? -EBUSY : -errno;
	else
		rc = map_check(fd, setup, &bytes);
	if (rc == 0)
		rc = map_attach(ledger, fd, bytes);
	if (rc < 0) {
		(void)close(fd);
		return rc;
	}
	geometry_set(ledger);
	return 0;
}

int ledger_map_build(struct ledger *ledger, const struct ledger_head *head, uint64_t start)
{
	uint64_t bytes = map_bytes_of(head->entry_count);
	int rc = 0, fd = open(ledger->path_new, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB))
		rc = errno == EWOULDBLOCK ? -EBUSY : -errno;
	if (rc == 0)
		rc = statefile_take_room(fd, bytes);
	if (rc == 0)
		rc = map_attach(ledger, fd, bytes);
	if (rc < 0) {
		(void)close(fd);
		(void)unlink(ledger->path_new);
		return rc;
	}
	page_init(ledger->page, head, start);
	geometry_set(ledger);
	return 0;
}

int ledger_map_publish(struct ledger *ledger)
{
	int rc = fsync(ledger->fd) ? -errno : 0;

	if (rc == 0 && rename(ledger->path_new, ledger->path))
		rc = -errno;
	if (rc < 0) {
		(void)unlink(ledger->path_new);
		return rc;
	}
	return statefile_sync_folder(ledger->path);
}

static void epoch_drop(struct ledger *ledger)
{
	(void)close(ledger->epoch_fd);
	ledger->epoch_fd = -1;
	(void)unlink(ledger->epoch_path_new);
}

static int buffer_have(struct ledger *ledger)
{
	if (!ledger->copy_buffer)
		ledger->copy_buffer = malloc(COPY_BYTES);
	return ledger->copy_buffer ? 0 : -ENOMEM;
}

static int epoch_write_page(struct ledger *ledger, XXH3_state_t *state)
{
	struct ledger_page page;

	memset(&page, 0, sizeof(page));
	page_init(&page, &ledger->page->head, ledger_page_start(ledger->page));
	memcpy(page.head.magic, ledger_epoch_magic, sizeof(page.head.magic));
	page.head.checksum = XXH3_64bits(&page.head, CHECKSUM_OFFSET);
	(void)XXH3_64bits_update(state, &page, sizeof(page));
	return statefile_write(ledger->epoch_fd, &page, sizeof(page));
}

/* What is in flight keeps its acknowledged value. */
static int epoch_write_entries(struct ledger *ledger, XXH3_state_t *state)
{
	uint64_t left = ledger->page->head.entry_count, at = 0;
	int rc = 0;

	while (left && rc == 0) {
		size_t count = left < COPY_ENTRIES ? left : COPY_ENTRIES;

		for (size_t i = 0; i < count; i++)
			ledger->copy_buffer[i] = atomic_load_explicit(
							 &ledger->entries[at + i], memory_order_relaxed) &
						 ENTRY_SEQUENCE;
		(void)XXH3_64bits_update(state, ledger->copy_buffer, count * sizeof(uint64_t));
		rc = statefile_write(ledger->epoch_fd, ledger->copy_buffer, count * sizeof(uint64_t));
		at += count;
		left -= count;
	}
	return rc;
}

int ledger_epoch_begin(struct ledger *ledger)
{
	XXH3_state_t *state = XXH3_createState();
	uint64_t checksum;
	int rc = state ? buffer_have(ledger) : -ENOMEM;

	if (ledger->epoch_fd >= 0)
		epoch_drop(ledger);
	if (rc < 0)
		goto out;
	ledger->epoch_fd = open(ledger->epoch_path_new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (ledger->epoch_fd < 0) {
		rc = -errno;
		goto out;
	}
	(void)XXH3_64bits_reset(state);
	rc = epoch_write_page(ledger, state);
	if (rc == 0)
		rc = epoch_write_entries(ledger, state);
	checksum = XXH3_64bits_digest(state);
	if (rc == 0)
		rc = statefile_write(ledger->epoch_fd, &checksum, sizeof(checksum));
	if (rc < 0)
		epoch_drop(ledger);
out:
	(void)XXH3_freeState(state);
	return rc;
}

int ledger_epoch_commit(struct ledger *ledger, char *why)
{
	int rc = ledger->epoch_fd < 0 ? -EINVAL : 0;

	why[0] = '\0';
	if (rc == 0 && fsync(ledger->epoch_fd))
		rc = -errno;
	if (rc == 0 && rename(ledger->epoch_path_new, ledger->epoch_path))
		rc = -errno;
	if (rc == 0) {
		(void)close(ledger->epoch_fd);
		ledger->epoch_fd = -1;
		rc = statefile_sync_folder(ledger->epoch_path);
	} else if (ledger->epoch_fd >= 0) {
		epoch_drop(ledger);
	}
	if (rc < 0)
		ledger_explain(why, "the epoch cannot be kept in", ledger->epoch_path, rc);
	return rc;
}

int ledger_epoch_page_read(
	const struct ledger *ledger, const struct ledger_setup *setup, struct ledger_page *out)
{
	struct ledger_page page;
	int rc, fd = open(ledger->epoch_path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	rc = statefile_read(fd, &page, sizeof(page));
	(void)close(fd);
	if (rc == 0 && !ledger_head_fits(&page.head, ledger_epoch_magic, setup))
		rc = -EBADMSG;
	if (rc == 0)
		memcpy(out, &page, sizeof(page));
	return rc;
}

static int epoch_read_entries(struct ledger *ledger, int fd, XXH3_state_t *state)
{
	uint64_t left = ledger->page->head.entry_count, at = 0;
	int rc = 0;

	while (left && rc == 0) {
		size_t count = left < COPY_ENTRIES ? left : COPY_ENTRIES;

		rc = statefile_read(fd, ledger->copy_buffer, count * sizeof(uint64_t));
		if (rc < 0)
			break;
		(void)XXH3_64bits_update(state, ledger->copy_buffer, count * sizeof(uint64_t));
		for (size_t i = 0; i < count; i++)
			atomic_store_explicit(
				&ledger->entries[at + i], ledger->copy_buffer[i], memory_order_relaxed);
		at += count;
		left -= count;
	}
	return rc;
}

int ledger_epoch_read(struct ledger *ledger)
{
	XXH3_state_t *state = XXH3_createState();
	struct ledger_page page;
	uint64_t checksum = 0;
	int fd = -1, rc = state ? buffer_have(ledger) : -ENOMEM;

	if (rc == 0) {
		fd = open(ledger->epoch_path, O_RDONLY | O_CLOEXEC);
		rc = fd < 0 ? -errno : statefile_read(fd, &page, sizeof(page));
	}
	if (rc == 0) {
		(void)XXH3_64bits_reset(state);
		(void)XXH3_64bits_update(state, &page, sizeof(page));
		rc = epoch_read_entries(ledger, fd, state);
	}
	if (rc == 0)
		rc = statefile_read(fd, &checksum, sizeof(checksum));
	if (rc == 0 && checksum != XXH3_64bits_digest(state))
		rc = -EBADMSG;
	if (fd >= 0)
		(void)close(fd);
	(void)XXH3_freeState(state);
	return rc;
}
