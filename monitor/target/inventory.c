/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/inventory.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/sysfs.h"
#include "base/text.h"
#include "target/blocklink.h"
#include "target/inventory_private.h"

/* What begins so is made of other disks, lies in memory or holds no disk. */
static const char *const no_disks[] = { "dm-", "md", "zram", "ram", "sr", "fd", "bcache", "drbd", "zd",
	"mtd" };

bool inventory_is_no_disk(const char *name)
{
	for (size_t i = 0; i < sizeof(no_disks) / sizeof(no_disks[0]); i++)
		if (strncmp(name, no_disks[i], strlen(no_disks[i])) == 0)
			return true;
	return strncmp(name, "mmcblk", 6) == 0 && (strstr(name, "boot") || strstr(name, "rpmb"));
}

bool inventory_is_empty(const char *root, const char *name)
{
	uint64_t sectors = 0, removable = 0;

	if (sysfs_read_u64(&sectors, root, "/sys/block/%s/size", name) < 0)
		return true;
	(void)sysfs_read_u64(&removable, root, "/sys/block/%s/removable", name);
	/* Another disk without a size has failed: that is to be seen in the list. */
	return sectors == 0 && (removable || strncmp(name, "loop", 4) == 0 || strncmp(name, "nbd", 3) == 0);
}

static bool is_listed(const char *root, const char *name)
{
	uint64_t hidden = 0;

	/* The paths to a multipath NVMe namespace are disks that nobody can open. */
	(void)sysfs_read_u64(&hidden, root, "/sys/block/%s/hidden", name);
	return name[0] != '.' && !hidden && !inventory_is_no_disk(name) && !inventory_is_empty(root, name) &&
	       strlen(name) < sizeof(((struct blockdev *)NULL)->name);
}

static unsigned kind_rank(const char *name)
{
	static const char *const kinds[] = { "nvme", "sd", "hd", "vd", "xvd", "mmcblk" };
	const unsigned count = sizeof(kinds) / sizeof(kinds[0]);

	for (unsigned i = 0; i < count; i++)
		if (strncmp(name, kinds[i], strlen(kinds[i])) == 0)
			return i;
	return strncmp(name, "loop", 4) == 0 ? count + 1 : count;
}

/* sdz comes before sdaa, nvme2n1 before nvme10n1. */
static int compare_names(const void *left, const void *right)
{
	const char *a = left, *b = right;
	unsigned rank_a = kind_rank(a), rank_b = kind_rank(b);
	bool has_letters = rank_a > 0 && rank_a < 5;

	if (rank_a != rank_b)
		return rank_a < rank_b ? -1 : 1;
	if (has_letters && strlen(a) != strlen(b))
		return strlen(a) < strlen(b) ? -1 : 1;
	return strverscmp(a, b);
}

int inventory_names(const char *root, char (**out)[INVENTORY_NAME_MAX], size_t *count)
{
	char path[PATH_MAX], (*names)[INVENTORY_NAME_MAX] = NULL, (*more)[INVENTORY_NAME_MAX];
	size_t found = 0, room = 0;
	struct dirent *entry;
	DIR *folder;

	(void)snprintf(path, sizeof(path), "%s/sys/block", root);
	folder = opendir(path);
	if (!folder)
		return -errno;
	while ((entry = readdir(folder))) {
		if (!is_listed(root, entry->d_name))
			continue;
		if (found == room) {
			room = room ? 2 * room : 32;
			more = reallocarray(names, room, sizeof(*names));
			if (!more) {
				free(names);
				(void)closedir(folder);
				return -ENOMEM;
			}
			names = more;
		}
		text_copy(names[found++], sizeof(*names), entry->d_name);
	}
	(void)closedir(folder);
	if (found)
		qsort(names, found, sizeof(*names), compare_names);
	*out = names;
	*count = found;
	return 0;
}

/* How little a link of by-id tells a person: what has model and serial in it first, what is only a number last. */
static unsigned link_rank(const char *name)
{
	static const struct {
		const char *prefix;
		unsigned rank;
	} row[] = {
		{ "nvme-eui.", 3 },
		{ "nvme-nvme.", 4 },
		{ "nvme-uuid.", 3 },
		{ "nvme-", 0 },
		{ "ata-", 0 },
		{ "usb-", 1 },
		{ "virtio-", 1 },
		{ "mmc-", 1 },
		{ "scsi-", 2 },
		{ "wwn-", 4 },
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		if (strncmp(name, row[i].prefix, strlen(row[i].prefix)) == 0)
			return row[i].rank;
	return 5;
}

static bool is_better_link(const char *name, const char *than)
{
	unsigned rank = link_rank(name), other = link_rank(than);

	if (rank != other)
		return rank < other;
	/* udev adds "_1" and "-ata-1.0" forms of the same name. */
	return strlen(name) != strlen(than) ? strlen(name) < strlen(than) : strcmp(name, than) < 0;
}

static bool is_partition_link(const char *name)
{
	const char *part = NULL;

	for (const char *at = strstr(name, "-part"); at; at = strstr(at + 1, "-part"))
		part = at + 5;
	return part && *part && part[strspn(part, "0123456789")] == '\0';
}

static void take_link(
	const char *folder, const char *link, struct inventory_disk *disks, size_t count, bool is_id)
{
	char path[PATH_MAX], to[PATH_MAX];
	const char *name;
	ssize_t length;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, link);
	length = readlink(path, to, sizeof(to) - 1);
	if (length <= 0)
		return;
	to[length] = '\0';
	name = strrchr(to, '/') ? strrchr(to, '/') + 1 : to;
	for (size_t i = 0; i < count; i++) {
		char *now = is_id ? disks[i].by_id : disks[i].by_path;

		if (strcmp(disks[i].block.name, name) == 0 &&
			(!now[0] || is_better_link(link, strrchr(now, '/') + 1)))
			(void)snprintf(now, sizeof(disks[i].by_id), "/dev/disk/%s/%s",
				is_id ? "by-id" : "by-path", link);
	}
}

static void read_links(const char *root, struct inventory_disk *disks, size_t count, bool is_id)
{
	char path[PATH_MAX];
	struct dirent *entry;
	DIR *folder;

	(void)snprintf(path, sizeof(path), "%s/dev/disk/%s", root, is_id ? "by-id" : "by-path");
	folder = opendir(path);
	while (folder && (entry = readdir(folder)))
		/* A name that does not fit is no use cut. */
		if (entry->d_name[0] != '.' && !is_partition_link(entry->d_name) &&
			strlen(entry->d_name) < 230)
			take_link(path, entry->d_name, disks, count, is_id);
	if (folder)
		(void)closedir(folder);
}

/* Cut @path, the folder of disk @index, to the nearest PCI function below which another disk hangs too. */
static bool cut_to_shared_port(
	const char *root, char (*folders)[INVENTORY_FOLDER_MAX], size_t count, size_t index, char *path)
{
	memcpy(path, folders[index], INVENTORY_FOLDER_MAX);
	while (blocklink_cut_to_pci(root, path)) {
		size_t length = strlen(path);

		for (size_t i = 0; i < count; i++)
			if (i != index && strncmp(folders[i], path, length) == 0 && folders[i][length] == '/')
				return true;
		*strrchr(path, '/') = '\0';
	}
	return false;
}

/* The folders of the disks, one allocation; NULL without memory. */
static char (*read_folders(
	const char *root, char (*names)[INVENTORY_NAME_MAX], size_t count))[INVENTORY_FOLDER_MAX]
{
	char(*folders)[INVENTORY_FOLDER_MAX] = calloc(count + 1, sizeof(*folders)), folder[PATH_MAX];

	for (size_t i = 0; folders && i < count; i++)
		if (blocklink_folder(root, names[i], folder) == 0)
			text_copy(folders[i], sizeof(folders[i]), folder);
	return folders;
}

static int find_shared_ports(
	const char *root, char (*names)[INVENTORY_NAME_MAX], struct inventory_disk *disks, size_t count)
{
	char(*folders)[INVENTORY_FOLDER_MAX] = read_folders(root, names, count), path[INVENTORY_FOLDER_MAX];

	if (!folders)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (cut_to_shared_port(root, folders, count, i, path))
			text_copy(disks[i].shared_port, sizeof(disks[i].shared_port), strrchr(path, '/') + 1);
	free(folders);
	return 0;
}

int inventory_shared_port(
	const char *root, const char *name, char *port, size_t size, uint64_t *link_bytes_per_s)
{
	char(*names)[INVENTORY_NAME_MAX] = NULL, (*folders)[INVENTORY_FOLDER_MAX] = NULL;
	char path[INVENTORY_FOLDER_MAX];
	size_t count = 0, index = 0;
	int rc = inventory_names(root, &names, &count);

	if (rc < 0)
		return rc;
	while (index < count && strcmp(names[index], name) != 0)
		index++;
	if (index == count)
		rc = -ENODEV;
	else if (!(folders = read_folders(root, names, count)))
		rc = -ENOMEM;
	if (rc == 0) {
		bool is_shared = cut_to_shared_port(root, folders, count, index, path);

		text_copy(port, size, is_shared ? strrchr(path, '/') + 1 : "");
		*link_bytes_per_s = is_shared ? blocklink_pci_bytes_per_s(path) : UINT64_MAX;
	}
	free(folders);
	free(names);
	return rc;
}

static void judge(const char *root, const char *state_directory, struct inventory_disk *disk)
{
	const struct identity *identity = &disk->identity;
	/* These may still tell when they are asked; of others sysfs is all there is. */
	bool may_tell = strncmp(disk->block.name, "nvme", 4) == 0 || strncmp(disk->block.name, "sd", 2) == 0;

	guard_check_use(root, disk->block.name, state_directory, &disk->report);
	guard_check_tables(root, disk->block.name, NULL, &disk->report);
	if (!identity->serial[0] && !identity->wwid[0] && !may_tell)
		guard_report_add(&disk->report, GUARD_HARD,
			"%s has neither a serial nor a wwid: it can't be told from others", disk->block.name);
	if (strcmp(disk->block.transport, "usb") == 0)
		guard_report_add(&disk->report, GUARD_SOFT,
			"%s is behind a USB bridge: it is refused unless the bridge lets the disk's own "
			"serial through",
			disk->block.name);
	disk->is_usable = !guard_report_is_refused(&disk->report);
}

static void read_disk(const char *root, const char *name, struct inventory_disk *out)
{
	*out = (struct inventory_disk){ 0 };
	(void)snprintf(out->node, sizeof(out->node), "/dev/%s", name);
	if (blockdev_read(root, name, &out->block) < 0)
		text_copy(out->block.name, sizeof(out->block.name),
			name); /* gone in between: the rest stays unknown */
	identity_from_sysfs(root, name, &out->identity);
	out->is_link_degraded = out->block.is_link_degraded;
}

int inventory_read(const char *root, const char *state_directory, struct inventory_disk **out, size_t *count)
{
	char(*names)[INVENTORY_NAME_MAX] = NULL;
	struct inventory_disk *disks = NULL;
	size_t found = 0;
	int rc = inventory_names(root, &names, &found);

	if (rc < 0)
		return rc;
	disks = calloc(found + 1, sizeof(*disks));
	if (!disks) {
		rc = -ENOMEM;
		goto end;
	}
	for (size_t i = 0; i < found; i++)
		read_disk(root, names[i], &disks[i]);
	read_links(root, disks, found, true);
	read_links(root, disks, found, false);
	rc = found ? find_shared_ports(root, names, disks, found) : 0;
	for (size_t i = 0; rc == 0 && i < found; i++)
		judge(root, state_directory, &disks[i]);
	if (rc == 0) {
		*out = disks;
		*count = found;
		disks = NULL;
	}
end:
	free(disks);
	free(names);
	return rc;
}
