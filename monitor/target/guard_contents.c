/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <blkid/blkid.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/text.h"
#include "base/units.h"
#include "target/guard_private.h"

#define EDGE_BYTES   (1u << 20)
#define SAMPLE_BYTES 4096u
#define SAMPLES	     4096u
/* A random read of a hard disk takes 10 ms. */
#define SAMPLES_ROTATING 1024u
#define NONZERO_MOST	 0.001
/* In one place; more are a table of stale ones that nobody can read. */
#define SIGNATURES_MAX 128
#define COPIES_MAX     8
#define PARTITIONS_MAX 256

struct contents {
	int fd;
	uint64_t capacity_bytes;
	struct guard_contents *out;
	struct guard_report *report;
	bool is_full; /* more names than there is room for */
	char last[GUARD_TEXT_MAX];
};

static void name_add(struct contents *contents, const char *name)
{
	struct guard_contents *out = contents->out;
	char text[sizeof(out->uuids[0])];

	text_copy(text, sizeof(text), name);
	if (!text[0])
		return;
	for (unsigned i = 0; i < out->uuid_count; i++)
		if (strcmp(out->uuids[i], text) == 0)
			return;
	if (out->uuid_count == GUARD_UUIDS_MAX) {
		contents->is_full = true;
		return;
	}
	text_copy(out->uuids[out->uuid_count++], sizeof(text), text);
}

static const char *value_of(blkid_probe probe, const char *name)
{
	const char *value;

	return blkid_probe_lookup_value(probe, name, &value, NULL) == 0 ? value : "";
}

static blkid_probe probe_new(const struct contents *contents, uint64_t offset, uint64_t bytes)
{
	blkid_probe probe = blkid_new_probe();

	if (!probe ||
		blkid_probe_set_device(probe, contents->fd, (blkid_loff_t)offset, (blkid_loff_t)bytes) < 0) {
		blkid_free_probe(probe);
		return NULL;
	}
	(void)blkid_probe_enable_superblocks(probe, 1);
	(void)blkid_probe_set_superblocks_flags(
		probe, BLKID_SUBLKS_LABEL | BLKID_SUBLKS_UUID | BLKID_SUBLKS_TYPE | BLKID_SUBLKS_USAGE |
			       BLKID_SUBLKS_VERSION | BLKID_SUBLKS_MAGIC | BLKID_SUBLKS_BADCSUM);
	(void)blkid_probe_enable_partitions(probe, 1);
	(void)blkid_probe_set_partitions_flags(probe, BLKID_PARTS_MAGIC | BLKID_PARTS_FORCE_GPT);
	return probe;
}

/* "holds ext4 filesystem "photos", UUID 12…, in 64 GiB". False when it is a copy of the one before. */
static bool signature_add(struct contents *contents, blkid_probe probe, const char *where, uint64_t bytes)
{
	const char *table = value_of(probe, "PTTYPE"), *label = value_of(probe, "LABEL");
	const char *uuid = value_of(probe, table[0] ? "PTUUID" : "UUID");
	char text[GUARD_TEXT_MAX], size[UNITS_TEXT_MAX];

	units_print_bytes_rounded((double)bytes, size);
	(void)snprintf(text, sizeof(text), "%s%s %s%s%.48s%s%s%.40s%s, in %s", where,
		table[0] ? table : value_of(probe, "TYPE"),
		table[0] ? "partition table" : value_of(probe, "USAGE"), label[0] ? " \"" : "", label,
		label[0] ? "\"" : "", uuid[0] ? ", UUID " : "", uuid,
		blkid_probe_has_value(probe, "SBBADCSUM") ? ", its checksum is wrong" : "", size);
	name_add(contents, label);
	name_add(contents, value_of(probe, "LABEL_FATBOOT"));
	name_add(contents, uuid);
	/* Copies of one superblock are one finding. */
	if (strcmp(text, contents->last) == 0)
		return false;
	text_copy(contents->last, sizeof(contents->last), text);
	guard_report_add(contents->report, GUARD_SOFT, "holds %s", text);
	return true;
}

/* Hide each signature from the probe and ask again, until nothing is left. Count of them, or -EIO. */
static int signatures_read(struct contents *contents, const char *where, uint64_t offset, uint64_t bytes)
{
	blkid_probe probe = probe_new(contents, offset, bytes);
	int rc = probe ? 0 : -1, count = 0, copies = 0;

	while (rc == 0 && count < SIGNATURES_MAX) {
		rc = blkid_do_probe(probe);
		if (rc != 0)
			break;
		count++;
		copies = signature_add(contents, probe, where, bytes) ? 0 : copies + 1;
		/* What is not hidden is left for the next kind: ZFS has hundreds of copies. */
		if (copies < COPIES_MAX)
			(void)blkid_do_wipe(probe, 1);
	}
	blkid_free_probe(probe);
	return rc < 0 ? -EIO : count;
}

/* What contradicts itself is occupied, even where no single signature is sure. */
static bool is_ambivalent(const struct contents *contents)
{
	blkid_probe probe = probe_new(contents, 0, contents->capacity_bytes);
	int rc = probe ? blkid_do_safeprobe(probe) : -1;

	blkid_free_probe(probe);
	return rc == -2;
}

static void partition_read(struct contents *contents, blkid_partition partition)
{
	uint64_t start = (uint64_t)blkid_partition_get_start(partition) * 512;
	uint64_t bytes = (uint64_t)blkid_partition_get_size(partition) * 512;
	const char *uuid = blkid_partition_get_uuid(partition), *name = blkid_partition_get_name(partition);
	char where[96];

	name_add(contents, uuid ? uuid : "");
	name_add(contents, name ? name : "");
	if (blkid_partition_is_extended(partition) || bytes == 0 || start >= contents->capacity_bytes)
		return;
	if (bytes > contents->capacity_bytes - start)
		bytes = contents->capacity_bytes - start;
	(void)snprintf(where, sizeof(where), "in partition %d%s%.40s%s ",
		blkid_partition_get_partno(partition), name ? " (" : "", name ? name : "", name ? ")" : "");
	if (signatures_read(contents, where, start, bytes) < 0)
		guard_report_add(contents->report, GUARD_HARD, "what lies %scan't be read", where);
}

static void partitions_read(struct contents *contents)
{
	blkid_probe probe = probe_new(contents, 0, contents->capacity_bytes);
	blkid_partlist list = probe ? blkid_probe_get_partitions(probe) : NULL;
	blkid_parttable table = list ? blkid_partlist_get_table(list) : NULL;
	int count = list ? blkid_partlist_numof_partitions(list) : 0;

	/* Only this way libblkid tells of disklabels. */
	if (count > 0 || table)
		guard_report_add(contents->report, GUARD_SOFT, "holds %d partition%s (%s)", count,
			count == 1 ? "" : "s", table ? blkid_parttable_get_type(table) : "no table");
	for (int i = 0; i < count && i < PARTITIONS_MAX; i++)
		partition_read(contents, blkid_partlist_get_partition(list, i));
	contents->is_full = contents->is_full || count > PARTITIONS_MAX;
	blkid_free_probe(probe);
}

static void signatures_check(struct contents *contents)
{
	int count = signatures_read(contents, "", 0, contents->capacity_bytes);

	if (count < 0)
		guard_report_add(contents->report, GUARD_HARD,
			"what the disk holds can't be read: libblkid can't read all it looks for");
	if (count == 0 && is_ambivalent(contents))
		guard_report_add(contents->report, GUARD_SOFT, "holds signatures that contradict each other");
	partitions_read(contents);
	if (contents->is_full)
		guard_report_add(contents->report, GUARD_HARD,
			"holds more than %d labels and UUIDs, too many to look for in fstab: remove its "
			"partitions "
			"first",
			GUARD_UUIDS_MAX);
}

/* All of it or -errno; a device that ends early is an error too. */
static int read_all(int fd, unsigned char *to, size_t bytes, uint64_t offset)
{
	while (bytes > 0) {
		ssize_t got = pread(fd, to, bytes, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			return -ENODATA;
		to += got;
		offset += (uint64_t)got;
		bytes -= (size_t)got;
	}
	return 0;
}

static bool is_zero(const unsigned char *bytes, size_t count)
{
	return count == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, count - 1) == 0);
}

static void refuse_unreadable(struct contents *contents, uint64_t offset, int rc)
{
	guard_report_add(contents->report, GUARD_HARD, "can't be read at byte %" PRIu64 ": %s", offset,
		rc == -ENODATA ? "it ends before its capacity" : strerror(-rc));
}

/* @buffer has room for both edges. */
static void edges_check(struct contents *contents, unsigned char *buffer)
{
	uint64_t head = contents->capacity_bytes < EDGE_BYTES ? contents->capacity_bytes : EDGE_BYTES;
	uint64_t tail_at = contents->capacity_bytes - head;
	bool is_head_used, is_tail_used;
	int rc = read_all(contents->fd, buffer, head, 0);

	if (rc < 0) {
		refuse_unreadable(contents, 0, rc);
		return;
	}
	rc = read_all(contents->fd, buffer + head, head, tail_at);
	if (rc < 0) {
		refuse_unreadable(contents, tail_at, rc);
		return;
	}
	contents->out->digest = XXH3_64bits(buffer, 2 * head);
	is_head_used = !is_zero(buffer, head);
	is_tail_used = !is_zero(buffer + head, head);
	if (is_head_used || is_tail_used)
		guard_report_add(contents->report, GUARD_SOFT, "%s%s%s not empty",
			is_head_used ? "its first MiB" : "", is_head_used && is_tail_used ? " and " : "",
			is_tail_used ? "its last MiB" : "");
}

/* splitmix64: the same blocks at each look, and no pattern that a layout could share. */
static uint64_t random_next(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

/* One random block of each of @count equal parts of the disk; all of them when there are no more. */
static void samples_check(struct contents *contents, unsigned char *buffer)
{
	uint64_t blocks = contents->capacity_bytes / SAMPLE_BYTES, state = 0x647269766573ULL, nonzero = 0;
	unsigned short rotating = 0;
	uint64_t count = ioctl(contents->fd, BLKROTATIONAL, &rotating) == 0 && rotating ? SAMPLES_ROTATING
											: SAMPLES;

	count = blocks < count ? blocks : count;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t from = (uint64_t)((unsigned __int128)blocks * i / count);
		uint64_t to = (uint64_t)((unsigned __int128)blocks * (i + 1) / count);
		uint64_t at = (from + random_next(&state) % (to - from)) * SAMPLE_BYTES;
		int rc = read_all(contents->fd, buffer, SAMPLE_BYTES, at);

		if (rc < 0) {
			refuse_unreadable(contents, at, rc);
			return;
		}
		nonzero += !is_zero(buffer, SAMPLE_BYTES);
	}
	contents->out->nonzero_share = count ? (double)nonzero / (double)count : 0;
	if (contents->out->nonzero_share > NONZERO_MOST)
		guard_report_add(contents->report, GUARD_SOFT,
			"holds data in %.1f %% of %" PRIu64 " sampled blocks, whatever its signatures say",
			100 * contents->out->nonzero_share, count);
}

/* libblkid reads in pieces of any size, for which O_DIRECT must be off; its reads must not be of an old cache. */
static void signatures_check_cached(struct contents *contents)
{
	int flags = fcntl(contents->fd, F_GETFL);

	if (flags < 0 || (flags & O_DIRECT && fcntl(contents->fd, F_SETFL, flags & ~O_DIRECT) < 0)) {
		guard_report_add(contents->report, GUARD_HARD, "can't be read: %s", strerror(errno));
		return;
	}
	(void)posix_fadvise(contents->fd, 0, 0, POSIX_FADV_DONTNEED);
	(void)posix_fadvise(contents->fd, 0, 0, POSIX_FADV_RANDOM);
	signatures_check(contents);
	if (flags & O_DIRECT && fcntl(contents->fd, F_SETFL, flags) < 0)
		guard_report_add(
			contents->report, GUARD_HARD, "O_DIRECT can't be set again: %s", strerror(errno));
}

void guard_check_contents(
	int fd, uint64_t capacity_bytes, struct guard_contents *out, struct guard_report *report)
{
	struct contents contents = { .fd = fd, .capacity_bytes = capacity_bytes, .report = report };
	void *buffer = NULL;

	contents.out = calloc(1, sizeof(*contents.out));
	if (!contents.out || posix_memalign(&buffer, SAMPLE_BYTES, (size_t)2 * EDGE_BYTES) != 0) {
		guard_report_add(report, GUARD_HARD, "out of memory while its contents are read");
	} else if (capacity_bytes < SAMPLE_BYTES) {
		guard_report_add(report, GUARD_HARD, "has only %" PRIu64 " bytes", capacity_bytes);
	} else {
		signatures_check_cached(&contents);
		edges_check(&contents, buffer);
		samples_check(&contents, buffer);
		(void)posix_fadvise(fd, 0, 0, POSIX_FADV_NORMAL);
	}
	if (out && contents.out)
		*out = *contents.out;
	free(buffer);
	free(contents.out);
}
