/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel keeps of what drives said when they were found. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/sysfs.h"
#include "probes/identity_private.h"

/* Page 89h of SAT: the IDENTIFY data lie behind 60 bytes about the translation. */
#define PAGE_ATA	0x89
#define PAGE_ATA_OFFSET 60

/* The folder of the device, where its bus can be seen. "" when there is none. */
static void device_folder(const char *root, const char *name, char *out)
{
	char link[PATH_MAX];

	out[0] = '\0';
	if (snprintf(link, sizeof(link), "%s/sys/block/%s/device", root, name) < (int)sizeof(link) &&
		!realpath(link, out))
		out[0] = '\0';
}

bool identity_sysfs_is_usb(const char *root, const char *name)
{
	char folder[PATH_MAX];

	device_folder(root, name, folder);
	return strstr(folder, "/usb") != NULL;
}

/* Bytes of a file that is no text; 0 without one. */
static size_t read_page(const char *root, const char *name, const char *file, uint8_t *out, size_t size)
{
	char path[PATH_MAX];
	ssize_t got;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/sys/block/%s/device/%s", root, name, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	got = read(fd, out, size);
	(void)close(fd);
	return got < 0 ? 0 : (size_t)got;
}

static bool read_field(const char *root, const char *name, const char *file, char *out, size_t size)
{
	char line[256];

	if (sysfs_read_text(line, sizeof(line), root, "/sys/block/%s/%s", name, file) == 0)
		identity_text(out, size, line, strlen(line));
	return out[0];
}

static void read_fields(const char *root, const char *name, struct identity *out)
{
	static const struct {
		const char *file;
		size_t offset, size;
	} row[] = {
		{ "serial", offsetof(struct identity, serial), sizeof(out->serial) },
		{ "device/serial", offsetof(struct identity, serial), sizeof(out->serial) },
		{ "wwid", offsetof(struct identity, wwid), sizeof(out->wwid) },
		{ "device/wwid", offsetof(struct identity, wwid), sizeof(out->wwid) },
		{ "device/model", offsetof(struct identity, model), sizeof(out->model) },
		{ "device/name", offsetof(struct identity, model), sizeof(out->model) },
		{ "device/firmware_rev", offsetof(struct identity, firmware), sizeof(out->firmware) },
		{ "device/rev", offsetof(struct identity, firmware), sizeof(out->firmware) },
		{ "device/fwrev", offsetof(struct identity, firmware), sizeof(out->firmware) },
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		char *to = (char *)out + row[i].offset;

		if (!*to)
			(void)read_field(root, name, row[i].file, to, row[i].size);
	}
}

/* SCSI keeps its pages as they came. The whole IDENTIFY data of an ATA drive beat what a translation made of them. */
static void read_pages(const char *root, const char *name, struct identity *out)
{
	uint8_t page[IDENTITY_SYSFS_BYTES];
	struct identity_wwids wwids = { .count = 0 };
	char sysfs_wwid[IDENTITY_TEXT_MAX];
	size_t got = read_page(root, name, "vpd_pg80", page, sizeof(page));

	memcpy(sysfs_wwid, out->wwid, sizeof(sysfs_wwid));
	if (got)
		identity_scsi_decode_serial(page, got, out);
	got = read_page(root, name, "vpd_pg83", page, sizeof(page));
	if (got)
		identity_scsi_decode_wwids(page, got, &wwids);
	got = read_page(root, name, "vpd_pg89", page, sizeof(page));
	if (got >= PAGE_ATA_OFFSET + IDENTITY_ATA_BYTES && page[1] == PAGE_ATA)
		(void)identity_ata_decode(page + PAGE_ATA_OFFSET, false, out, &wwids);
	if (!out->wwid[0])
		identity_wwids_pick(&wwids, sysfs_wwid, out->wwid);
}

/* A bridge has a serial of its own, which is better than none in a list. */
static void read_usb_serial(const char *root, const char *name, struct identity *out)
{
	char folder[PATH_MAX], line[256];

	device_folder(root, name, folder);
	while (!out->serial[0] && strstr(folder, "/usb")) {
		if (sysfs_read_text(line, sizeof(line), folder, "/serial") == 0)
			identity_serial(out->serial, sizeof(out->serial), line, strlen(line));
		*strrchr(folder, '/') = '\0';
	}
}

static void read_loop(const char *root, const char *name, struct identity *out)
{
	char path[PATH_MAX];

	if (sysfs_read_text(path, sizeof(path), root, "/sys/block/%s/loop/backing_file", name) < 0)
		return;
	/* A path that does not fit would be the same as others with the same beginning. */
	if (strlen(path) + sizeof("loop:") > sizeof(out->serial))
		return;
	memcpy(out->serial, "loop:", 5);
	identity_text(out->serial + 5, sizeof(out->serial) - 5, path, strlen(path));
}

static void read_queue(const char *root, const char *name, struct identity *out)
{
	uint64_t value;
	char zoned[32];

	if (sysfs_read_u64(&value, root, "/sys/block/%s/size", name) == 0)
		out->capacity_bytes = value * 512; /* sysfs counts 512-byte sectors whatever the block size */
	if (sysfs_read_u64(&value, root, "/sys/block/%s/queue/logical_block_size", name) == 0)
		out->logical_block_bytes = (uint32_t)value;
	if (sysfs_read_u64(&value, root, "/sys/block/%s/queue/physical_block_size", name) == 0)
		out->physical_block_bytes = (uint32_t)value;
	if (sysfs_read_u64(&value, root, "/sys/block/%s/ro", name) == 0)
		out->is_read_only = value != 0;
	if (sysfs_read_text(zoned, sizeof(zoned), root, "/sys/block/%s/queue/zoned", name) == 0)
		out->is_zoned = zoned[0] && strcmp(zoned, "none") != 0;
}

void identity_from_sysfs(const char *root, const char *name, struct identity *out)
{
	*out = (struct identity){ .source = "sysfs" };
	read_queue(root, name, out);
	if (strncmp(name, "loop", 4) == 0) {
		read_loop(root, name, out);
		return;
	}
	read_fields(root, name, out);
	read_pages(root, name, out);
	read_usb_serial(root, name, out);
	identity_serial(out->serial, sizeof(out->serial), out->serial, strlen(out->serial));
	(void)snprintf(out->source, sizeof(out->source), "sysfs");
}
