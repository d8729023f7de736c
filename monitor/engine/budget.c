/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/budget.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

#include "engine/statefile.h"

#define PAGE_BYTES	4096u
#define PIECE_BYTES	512u
#define BUDGET_VERSION	1
#define CHECKSUM_OFFSET offsetof(struct budget_head, checksum)
/* Nobody takes more than this part of what is left: all takers then come to the end at about the same time. */
#define LEFT_PARTS 16

static const char magic[8] = { 'd', 's', 'b', 'u', 'd', 'g', 'e', 't' };

/* Constant for the whole run. */
struct budget_head {
	char magic[8];
	uint64_t version, run_tag;
	uint64_t checksum; /* of all above */
};

/* The file, in the machine's byte order: one page, what changes in a logical block of its own. */
struct budget_page {
	union {
		struct budget_head head;
		uint8_t head_piece[PIECE_BYTES];
	};
	_Atomic uint64_t limit_bytes; /* of the last start */
	_Atomic uint64_t spent_bytes;
	uint8_t rest[PAGE_BYTES - PIECE_BYTES - 2 * sizeof(uint64_t)];
};
_Static_assert(sizeof(struct budget_page) == PAGE_BYTES, "the file is one page");

struct budget {
	struct budget_page *page;
	int fd; /* locked */
};

static void page_init(struct budget_page *page, uint64_t run_tag)
{
	memset(page, 0, sizeof(*page));
	memcpy(page->head.magic, magic, sizeof(magic));
	page->head.version = BUDGET_VERSION;
	page->head.run_tag = run_tag;
	page->head.checksum = XXH3_64bits(&page->head, CHECKSUM_OFFSET);
}

static bool head_fits(const struct budget_head *head, uint64_t run_tag)
{
	return memcmp(head->magic, magic, sizeof(magic)) == 0 && head->version == BUDGET_VERSION &&
	       head->checksum == XXH3_64bits(head, CHECKSUM_OFFSET) && head->run_tag == run_tag;
}

static void page_raise(struct budget_page *page, uint64_t limit_bytes, uint64_t spent_least_bytes)
{
	atomic_store(&page->limit_bytes, limit_bytes);
	if (atomic_load(&page->spent_bytes) < spent_least_bytes)
		atomic_store(&page->spent_bytes, spent_least_bytes);
}

static int file_lock(int fd)
{
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	return errno == EWOULDBLOCK ? -EBUSY : -errno;
}

/* Whole and durable, without holes: a store into the map can't meet a full disk. */
static int page_write(int fd, const struct budget_page *page)
{
	int rc = statefile_take_room(fd, sizeof(*page));

	if (rc == 0 && lseek(fd, 0, SEEK_SET) < 0)
		rc = -errno;
	if (rc == 0)
		rc = statefile_write(fd, page, sizeof(*page));
	if (rc == 0 && fsync(fd))
		rc = -errno;
	return rc;
}

/* 0 and the descriptor of the file that was there, its page as it must be now. -ENOENT, -EBADMSG, -EBUSY. */
static int file_reopen(
	const char *path, uint64_t run_tag, uint64_t limit_bytes, uint64_t spent_least_bytes, int *out)
{
	struct budget_page page;
	int rc, fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	rc = file_lock(fd);
	if (rc == 0)
		rc = statefile_read(fd, &page, sizeof(page));
	if (rc == 0 && !head_fits(&page.head, run_tag))
		rc = -EBADMSG;
	if (rc == 0) {
		page_raise(&page, limit_bytes, spent_least_bytes);
		rc = page_write(fd, &page);
	}
	if (rc < 0) {
		(void)close(fd);
		return rc;
	}
	*out = fd;
	return 0;
}

/* Only ever renamed into place: a crash leaves no half of it. */
static int file_create(
	const char *path, uint64_t run_tag, uint64_t limit_bytes, uint64_t spent_least_bytes, int *out)
{
	struct budget_page page;
	char *path_new = NULL;
	int fd, rc;

	if (asprintf(&path_new, "%s.new", path) < 0)
		return -ENOMEM;
	page_init(&page, run_tag);
	page_raise(&page, limit_bytes, spent_least_bytes);
	fd = open(path_new, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	rc = fd < 0 ? -errno : file_lock(fd);
	if (rc == 0)
		rc = page_write(fd, &page);
	if (rc == 0 && rename(path_new, path))
		rc = -errno;
	if (rc < 0 && fd >= 0)
		(void)unlink(path_new);
	if (rc == 0)
		rc = statefile_sync_folder(path);
	free(path_new);
	if (rc < 0) {
		if (fd >= 0)
			(void)close(fd);
		return rc;
	}
	*out = fd;
	return 0;
}

static int explain(char *why, const char *path, int rc)
{
	if (rc == -EBADMSG)
		(void)snprintf(why, BUDGET_WHY_MAX, "the write budget %s is damaged or of another run", path);
	else if (rc == -EBUSY)
		(void)snprintf(why, BUDGET_WHY_MAX, "the write budget %s is in use by another process", path);
	else
		(void)snprintf(
			why, BUDGET_WHY_MAX, "the write budget can't be kept in %s: %s", path, strerror(-rc));
	return rc;
}

int budget_open(const char *path, uint64_t run_tag, uint64_t limit_bytes, uint64_t spent_least_bytes,
	struct budget **out, char *why)
{
	struct budget *budget = malloc(sizeof(*budget));
	void *map;
	int fd = -1, rc;

	if (!budget)
		return explain(why, path, -ENOMEM);
	rc = file_reopen(path, run_tag, limit_bytes, spent_least_bytes, &fd);
	if (rc == -ENOENT)
		rc = file_create(path, run_tag, limit_bytes, spent_least_bytes, &fd);
	if (rc < 0)
		goto fail;
	map = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (map == MAP_FAILED) {
		rc = -errno;
		(void)close(fd);
		goto fail;
	}
	*budget = (struct budget){ .page = map, .fd = fd };
	*out = budget;
	return 0;
fail:
	free(budget);
	return explain(why, path, rc);
}

void budget_close(struct budget *budget)
{
	if (!budget)
		return;
	(void)munmap(budget->page, PAGE_BYTES);
	(void)close(budget->fd);
	free(budget);
}

static uint64_t amount_of(uint64_t left_bytes, uint64_t want_bytes, uint64_t unit_bytes)
{
	uint64_t most = left_bytes / LEFT_PARTS;

	if (most < unit_bytes)
		most = left_bytes < unit_bytes ? 0 : unit_bytes;
	if (most > want_bytes)
		most = want_bytes;
	return most / unit_bytes * unit_bytes;
}

uint64_t budget_take(struct budget *budget, uint64_t want_bytes, uint64_t unit_bytes)
{
	uint64_t limit = atomic_load(&budget->page->limit_bytes);
	uint64_t spent = atomic_load(&budget->page->spent_bytes);
	uint64_t amount;

	if (unit_bytes == 0)
		return 0;
	do {
		amount = spent < limit ? amount_of(limit - spent, want_bytes, unit_bytes) : 0;
		if (amount == 0)
			return 0;
	} while (!atomic_compare_exchange_weak(&budget->page->spent_bytes, &spent, spent + amount));
	return amount;
}

void budget_return(struct budget *budget, uint64_t bytes)
{
	(void)atomic_fetch_sub(&budget->page->spent_bytes, bytes);
}

bool budget_charge(struct budget *budget, uint64_t bytes)
{
	uint64_t limit = atomic_load(&budget->page->limit_bytes);
	uint64_t spent = atomic_load(&budget->page->spent_bytes);

	do {
		if (spent > limit || limit - spent < bytes)
			return false;
	} while (!atomic_compare_exchange_weak(&budget->page->spent_bytes, &spent, spent + bytes));
	return true;
}

uint64_t budget_spent_bytes(const struct budget *budget)
{
	return atomic_load(&budget->page->spent_bytes);
}
