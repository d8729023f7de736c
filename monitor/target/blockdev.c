/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/blockdev.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/sysfs.h"
#include "base/text.h"
#include "target/blocklink.h"

/* Stacks of dm and md are a few levels deep; more is a loop in a recorded tree. */
#define STACK_MAX 8

struct walk {
	const char *root;
	struct blockdev *out;
	size_t most, count;
};

/* Resolve a link in sysfs and take its last component. */
static int link_name(const char *root, const char *path, char *resolved, const char **name)
{
	char from[PATH_MAX];

	if (snprintf(from, sizeof(from), "%s%s", root, path) >= (int)sizeof(from))
		return -ENAMETOOLONG;
	if (!realpath(from, resolved))
		return -errno;
	*name = strrchr(resolved, '/') + 1;
	return 0;
}

/* The scheduler in use stands in brackets among the others. */
static void read_scheduler(const char *root, struct blockdev *disk)
{
	char line[128], *open, *close;

	if (sysfs_read_text(line, sizeof(line), root, "/sys/block/%s/queue/scheduler", disk->name) < 0)
		return;
	open = strchr(line, '[');
	close = open ? strchr(open, ']') : NULL;
	if (close)
		*close = '\0';
	text_copy(disk->scheduler, sizeof(disk->scheduler), close ? open + 1 : line);
}

static void read_controller(const char *pci, struct blockdev *disk)
{
	char vendor[16], device[16], driver[PATH_MAX];
	const char *driver_name = "", *address = strrchr(pci, '/') + 1;

	if (sysfs_read_text(vendor, sizeof(vendor), pci, "/vendor") < 0 ||
		sysfs_read_text(device, sizeof(device), pci, "/device") < 0)
		return;
	if (link_name(pci, "/driver", driver, &driver_name) < 0)
		driver_name = "no driver";
	(void)snprintf(disk->controller, sizeof(disk->controller), "%.16s %.8s:%.8s %.48s", address,
		vendor + 2, device + 2, driver_name);
}

/* What stands in the path of the disk's device tells the bus it is on; the first that is found. */
static void read_path(const char *root, struct blockdev *disk)
{
	static const struct {
		const char *part, *transport;
	} row[] = {
		{ "/nvme", "nvme" },
		{ "/usb", "usb" },
		{ "/virtio", "virtio" },
		{ "/end_device-", "sas" },
		{ "/ata", "sata" },
		{ "/host", "scsi" },
		{ "/mmc", "mmc" },
	};
	char path[PATH_MAX];

	if (strncmp(disk->name, "loop", 4) == 0)
		text_copy(disk->transport, sizeof(disk->transport), "loop");
	if (blocklink_folder(root, disk->name, path) < 0)
		return;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]) && !disk->transport[0]; i++)
		if (strstr(path, row[i].part))
			text_copy(disk->transport, sizeof(disk->transport), row[i].transport);
	blocklink_read(root, path, disk->name, disk->link, &disk->is_link_degraded);
	if (blocklink_cut_to_pci(root, path))
		read_controller(path, disk);
}

static void read_disk(const char *root, struct blockdev *disk)
{
	uint64_t value;
	static const struct {
		const char *file;
		size_t offset, size;
	} texts[] = {
		{ "device/model", offsetof(struct blockdev, model), sizeof(disk->model) },
		{ "device/serial", offsetof(struct blockdev, serial), sizeof(disk->serial) },
		{ "serial", offsetof(struct blockdev, serial), sizeof(disk->serial) },
		{ "device/firmware_rev", offsetof(struct blockdev, firmware), sizeof(disk->firmware) },
		{ "device/rev", offsetof(struct blockdev, firmware), sizeof(disk->firmware) },
		{ "queue/write_cache", offsetof(struct blockdev, write_cache), sizeof(disk->write_cache) },
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		char *to = (char *)disk + texts[i].offset;

		if (!*to)
			(void)sysfs_read_text(
				to, texts[i].size, root, "/sys/block/%s/%s", disk->name, texts[i].file);
	}
	disk->nr_requests = -1;
	disk->capacity_bytes = UINT64_MAX;
	if (sysfs_read_u64(&value, root, "/sys/block/%s/size", disk->name) == 0)
		disk->capacity_bytes = value *
				       512; /* sysfs counts 512-byte sectors whatever the block size */
	if (sysfs_read_u64(&value, root, "/sys/block/%s/queue/nr_requests", disk->name) == 0)
		disk->nr_requests = (int64_t)value;
	if (sysfs_read_u64(&value, root, "/sys/block/%s/queue/logical_block_size", disk->name) == 0)
		disk->logical_block_bytes = (uint32_t)value;
	if (sysfs_read_u64(&value, root, "/sys/block/%s/queue/physical_block_size", disk->name) == 0)
		disk->physical_block_bytes = (uint32_t)value;
	if (sysfs_read_u64(&value, root, "/sys/block/%s/queue/rotational", disk->name) == 0)
		disk->is_rotational = value != 0;
	read_scheduler(root, disk);
	read_path(root, disk);
}

static void walk_device(struct walk *walk, const char *name, unsigned depth);

/* True when the device is made of others. */
static bool walk_slaves(struct walk *walk, const char *name, unsigned depth)
{
	char path[PATH_MAX];
	struct dirent *entry;
	bool has_slaves = false;
	DIR *folder;

	(void)snprintf(path, sizeof(path), "%s/sys/block/%s/slaves", walk->root, name);
	folder = opendir(path);
	while (folder && (entry = readdir(folder))) {
		if (entry->d_name[0] == '.')
			continue;
		has_slaves = true;
		walk_device(walk, entry->d_name, depth + 1);
	}
	if (folder)
		(void)closedir(folder);
	return has_slaves;
}

static void walk_device(struct walk *walk, const char *name, unsigned depth)
{
	char path[PATH_MAX], link[300], disk_name[32];
	const char *last;
	uint64_t partition;

	(void)snprintf(link, sizeof(link), "/sys/class/block/%s", name);
	if (depth > STACK_MAX || link_name(walk->root, link, path, &last) < 0)
		return;
	if (sysfs_read_u64(&partition, path, "/partition") == 0) {
		*strrchr(path, '/') = '\0';
		last = strrchr(path, '/') + 1;
	}
	text_copy(disk_name, sizeof(disk_name), last);
	if (walk_slaves(walk, disk_name, depth))
		return;
	for (size_t i = 0; i < walk->count; i++)
		if (strcmp(walk->out[i].name, disk_name) == 0)
			return;
	if (walk->count == walk->most)
		return;
	walk->out[walk->count] = (struct blockdev){ 0 };
	text_copy(walk->out[walk->count].name, sizeof(walk->out[0].name), disk_name);
	read_disk(walk->root, &walk->out[walk->count++]);
}

int blockdev_disks_below(const char *root, dev_t number, struct blockdev *out, size_t most)
{
	struct walk walk = { .root = root, .out = out, .most = most };
	char path[PATH_MAX], link[64];
	const char *name;

	(void)snprintf(link, sizeof(link), "/sys/dev/block/%u:%u", major(number), minor(number));
	if (link_name(root, link, path, &name) < 0)
		return -ENODEV;
	walk_device(&walk, name, 0);
	return walk.count ? (int)walk.count : -ENODEV;
}

int blockdev_read(const char *root, const char *name, struct blockdev *out)
{
	uint64_t sectors;

	if (sysfs_read_u64(&sectors, root, "/sys/block/%s/size", name) < 0)
		return -ENODEV;
	*out = (struct blockdev){ 0 };
	text_copy(out->name, sizeof(out->name), name);
	read_disk(root, out);
	return 0;
}

int blockdev_read_counters(const char *root, const char *name, struct blockdev_counters *out)
{
	uint64_t field[8], discarded;
	char line[256];
	int known;

	if (sysfs_read_text(line, sizeof(line), root, "/sys/block/%s/stat", name) < 0)
		return -ENODEV;
	known = sscanf(line,
		" %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		" %" SCNu64 " %*u %*u %*u %*u %*u %" SCNu64,
		&field[0], &field[1], &field[2], &field[3], &field[4], &field[5], &field[6], &field[7],
		&discarded);
	if (known < 8)
		return -EPROTO;
	/* ios, merges, sectors of 512 bytes, ms; reads, writes, then three of the queue, then discards. */
	*out = (struct blockdev_counters){
		.read_ios = field[0],
		.read_bytes = field[2] * 512,
		.read_ms = field[3],
		.write_ios = field[4],
		.write_bytes = field[6] * 512,
		.write_ms = field[7],
		.discard_bytes = known == 9 ? discarded * 512 : UINT64_MAX,
	};
	return 0;
}
