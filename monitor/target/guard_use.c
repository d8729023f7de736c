/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/sysfs.h"
#include "base/text.h"
#include "target/guard_private.h"

struct use {
	const char *root, *name;
	struct guard_family *family;
	struct guard_backing backing;
	struct guard_report *report;
};

/* Whatever matches @pattern below the root; the caller frees with globfree(). False when nothing does. */
static bool root_glob(const char *root, const char *pattern, glob_t *out)
{
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s%s", root, pattern);
	if (glob(path, GLOB_NOSORT, NULL, out) == 0)
		return true;
	globfree(out);
	return false;
}

static void refuse_absent(const struct use *use)
{
	char pattern[128], disk[64];
	glob_t found;

	(void)snprintf(pattern, sizeof(pattern), "/sys/block/*/%.64s/partition", use->name);
	if (!root_glob(use->root, pattern, &found)) {
		guard_report_add(use->report, GUARD_HARD, "%s is no disk that /sys/block knows", use->name);
		return;
	}
	text_copy(disk, sizeof(disk), strstr(found.gl_pathv[0], "/sys/block/") + 11);
	disk[strcspn(disk, "/")] = '\0';
	globfree(&found);
	guard_report_add(use->report, GUARD_HARD, "%s is a partition of %s: only whole disks are targets",
		use->name, disk);
}

/* What is a block device and still no drive. */
static void check_kind(const struct use *use)
{
	static const struct {
		const char *prefix, *what;
	} kinds[] = {
		{ "dm-", "a device-mapper volume" },
		{ "md", "a RAID array" },
		{ "bcache", "a bcache volume" },
		{ "zram", "memory" },
		{ "ram", "memory" },
		{ "sr", "an optical drive" },
		{ "fd", "a floppy drive" },
		{ "zd", "a ZFS volume" },
		{ "mtdblock", "raw flash" },
		{ "drbd", "a replicated volume" },
	};
	char pattern[128];
	glob_t found;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		size_t length = strlen(kinds[i].prefix);

		if (strncmp(use->name, kinds[i].prefix, length) == 0 && use->name[length] >= '0' &&
			use->name[length] <= '9') {
			guard_report_add(use->report, GUARD_HARD, "%s is %s, not a drive of its own",
				use->name, kinds[i].what);
			return;
		}
	}
	(void)snprintf(pattern, sizeof(pattern), "/sys/block/%.64s/slaves/*", use->name);
	if (!root_glob(use->root, pattern, &found))
		return;
	guard_report_add(use->report, GUARD_HARD, "%s is made of %s: not a drive of its own", use->name,
		strrchr(found.gl_pathv[0], '/') + 1);
	globfree(&found);
}

static void check_traits(const struct use *use)
{
	uint64_t size = 0, ro = 0, hidden = 0, removable = 0, type = 0;
	char zoned[32];

	if (sysfs_read_u64(&size, use->root, "/sys/block/%s/size", use->name) < 0 ||
		sysfs_read_u64(&ro, use->root, "/sys/block/%s/ro", use->name) < 0) {
		guard_report_add(
			use->report, GUARD_HARD, "%s: its size and ro in /sys can't be read", use->name);
		return;
	}
	(void)sysfs_read_u64(&hidden, use->root, "/sys/block/%s/hidden", use->name);
	(void)sysfs_read_u64(&removable, use->root, "/sys/block/%s/removable", use->name);
	(void)sysfs_read_u64(&type, use->root, "/sys/block/%s/device/type", use->name);
	(void)sysfs_read_text(zoned, sizeof(zoned), use->root, "/sys/block/%s/queue/zoned", use->name);
	if (ro)
		guard_report_add(use->report, GUARD_HARD, "%s is read-only", use->name);
	if (hidden)
		guard_report_add(use->report, GUARD_HARD,
			"%s is one path of a multipath drive: name the drive itself", use->name);
	if (size == 0)
		guard_report_add(use->report, GUARD_HARD, "%s has %s", use->name,
			strncmp(use->name, "loop", 4) == 0 ? "no file"
			: removable			   ? "no medium"
							   : "a capacity of 0");
	if (zoned[0] && strcmp(zoned, "none") != 0)
		guard_report_add(use->report, GUARD_HARD, "%s is zoned (%s): it takes no random writes",
			use->name, zoned);
	/* 0 direct access, 14 simplified direct access, 20 zoned */
	if (type != 0 && type != 14 && type != 20)
		guard_report_add(use->report, GUARD_HARD, "%s is no disk: SCSI device type %u", use->name,
			(unsigned)type);
}

static void describe_mapper(const struct use *use, const struct guard_member *holder, char *out, size_t size)
{
	static const struct {
		const char *prefix, *use;
	} kinds[] = {
		{ "LVM-", "in use by the LVM volume" },
		{ "CRYPT-", "open as the encrypted volume" },
		{ "mpath-", "a leg of the multipath drive" },
		{ "part", "in use by the partition" },
		{ "", "in use by the device-mapper volume" },
	};
	char name[128], uuid[128];
	size_t i = 0;

	(void)sysfs_read_text(name, sizeof(name), use->root, "/sys/block/%s/dm/name", holder->name);
	(void)sysfs_read_text(uuid, sizeof(uuid), use->root, "/sys/block/%s/dm/uuid", holder->name);
	while (strncmp(uuid, kinds[i].prefix, strlen(kinds[i].prefix)) != 0)
		i++;
	(void)snprintf(out, size, "%s is %s %s", holder->below, kinds[i].use, name[0] ? name : holder->name);
}

static void check_holders(const struct use *use)
{
	for (unsigned i = 0; i < use->family->count; i++) {
		const struct guard_member *member = &use->family->members[i];
		char text[GUARD_TEXT_MAX], path[PATH_MAX], level[32];

		(void)snprintf(path, sizeof(path), "%s/sys/block/%s%s%s/bcache", use->root, use->name,
			member->kind == GUARD_PARTITION ? "/" : "",
			member->kind == GUARD_PARTITION ? member->name : "");
		if (member->kind <= GUARD_PARTITION && access(path, F_OK) == 0)
			guard_report_add(use->report, GUARD_HARD,
				"%s is a member of bcache: stop and detach it", member->name);
		if (member->kind != GUARD_HOLDER)
			continue;
		(void)sysfs_read_text(
			level, sizeof(level), use->root, "/sys/block/%s/md/level", member->name);
		if (strncmp(member->name, "dm-", 3) == 0)
			describe_mapper(use, member, text, sizeof(text));
		else if (strncmp(member->name, "md", 2) == 0)
			(void)snprintf(text, sizeof(text), "%s is a member of the array %s%s%s",
				member->below, member->name, level[0] ? ", " : "", level);
		else
			(void)snprintf(text, sizeof(text), "%s is in use by %s", member->below, member->name);
		guard_report_add(use->report, GUARD_HARD, "%s: stop that first", text);
	}
}

/* What follows the path in a line of /proc/swaps is its type: "partition" or "file". */
static void judge_swap(const struct use *use, char *path, const char *type)
{
	const struct guard_member *member;
	char *deleted;

	guard_unescape(path);
	deleted = strstr(path, " (deleted)");
	if (deleted && deleted[10] == '\0')
		*deleted = '\0';
	if (strncmp(type, "file", 4) == 0) {
		if (use->backing.path[0] && guard_backing_is(&use->backing, use->root, path))
			guard_report_add(use->report, GUARD_HARD,
				"the file of %s, %.128s, is swap: swapoff first", use->name, path);
		return;
	}
	member = guard_family_find_path(use->family, use->root, path);
	if (member)
		guard_report_add(
			use->report, GUARD_HARD, "%s is swap: swapoff %.64s first", member->name, path);
}

static void check_swap(const struct use *use)
{
	char path[PATH_MAX], *line = NULL;
	size_t size = 0;
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/proc/swaps", use->root);
	file = fopen(path, "re");
	if (!file) {
		/* A kernel without swap has no such file. */
		if (errno != ENOENT)
			guard_report_add(use->report, GUARD_HARD, "/proc/swaps: %s", strerror(errno));
		return;
	}
	while (getline(&line, &size, file) > 0) {
		char *rest = line, *name = strsep(&rest, " \t");

		if (rest && name[0] == '/')
			judge_swap(use, name, rest + strspn(rest, " \t"));
	}
	if (ferror(file))
		guard_report_add(use->report, GUARD_HARD, "/proc/swaps can't be read to its end");
	free(line);
	(void)fclose(file);
}

/* Mounted btrfs filesystems list all their devices, whichever one was mounted. */
static void check_btrfs(const struct use *use)
{
	for (unsigned i = 0; i < use->family->count; i++) {
		const char *name = use->family->members[i].name;
		char pattern[160];
		glob_t found;

		(void)snprintf(pattern, sizeof(pattern), "/sys/fs/btrfs/*/devices/%.64s", name);
		if (!root_glob(use->root, pattern, &found))
			continue;
		guard_report_add(use->report, GUARD_HARD,
			"%s is a member of the mounted btrfs %.36s: unmount it", name,
			strstr(found.gl_pathv[0], "/sys/fs/btrfs/") + 14);
		globfree(&found);
	}
}

/* The kernel itself can have a disk open: no process, no holder, and not always exclusively. */
static void check_kernel_users(const struct use *use)
{
	static const struct {
		const char *pattern, *what;
	} users[] = {
		{ "/sys/block/loop*/loop/backing_file", "lies below a loop device" },
		{ "/sys/block/zram*/backing_dev", "takes what zram writes back" },
		{ "/sys/kernel/config/nvmet/subsystems/*/namespaces/*/device_path",
			"is exported to other machines" },
		{ "/sys/kernel/config/target/core/*/*/udev_path", "is exported to other machines" },
	};

	for (size_t p = 0; p < sizeof(users) / sizeof(users[0]); p++) {
		glob_t found;

		if (!root_glob(use->root, users[p].pattern, &found))
			continue;
		for (size_t i = 0; i < found.gl_pathc; i++) {
			const struct guard_member *member;
			char path[PATH_MAX];

			if (sysfs_read_text(path, sizeof(path), found.gl_pathv[i], "%s", "") < 0 || !path[0])
				continue;
			member = guard_family_find_path(use->family, use->root, path);
			if (member)
				guard_report_add(use->report, GUARD_HARD, "%s %s: %.160s", member->name,
					users[p].what, found.gl_pathv[i] + strlen(use->root));
		}
		globfree(&found);
	}
}

/* Hidden paths below the head of an NVMe multipath drive are that drive. */
static bool is_other_disk(const struct use *use, const char *name)
{
	uint64_t hidden = 0, size = 0;

	(void)sysfs_read_u64(&hidden, use->root, "/sys/block/%s/hidden", name);
	return name[0] != '.' && strcmp(name, use->name) != 0 && !hidden &&
	       (sysfs_read_u64(&size, use->root, "/sys/block/%s/size", name) < 0 || size > 0);
}

/* Makers reuse short serials across models; two models are two drives. */
static bool is_same_serial(const struct guard_names *a, const struct guard_names *b)
{
	return a->serial[0] && strcmp(a->serial, b->serial) == 0 &&
	       (!a->model[0] || !b->model[0] || strcmp(a->model, b->model) == 0);
}

static void check_twins(const struct use *use)
{
	struct guard_names names, other;
	char path[PATH_MAX];
	struct dirent *entry;
	DIR *folder;

	(void)snprintf(path, sizeof(path), "%s/sys/block", use->root);
	folder = opendir(path);
	guard_names_read(use->root, use->name, &names);
	while (folder && (names.wwid[0] || names.serial[0]) && (entry = readdir(folder))) {
		if (!is_other_disk(use, entry->d_name))
			continue;
		guard_names_read(use->root, entry->d_name, &other);
		if (names.wwid[0] && strcmp(names.wwid, other.wwid) == 0)
			guard_report_add(use->report, GUARD_HARD,
				"%s and %.32s have one wwid, %.96s: two paths to a drive, or two drives that "
				"can't be "
				"told apart",
				use->name, entry->d_name, names.wwid);
		else if (is_same_serial(&names, &other))
			guard_report_add(use->report, GUARD_HARD,
				"%s and %.32s have one serial, %.96s: two namespaces or paths of a drive, or "
				"two "
				"drives that can't be told apart",
				use->name, entry->d_name, names.serial);
	}
	if (folder)
		(void)closedir(folder);
}

void guard_backing_read(const char *root, const char *name, struct guard_backing *out)
{
	char resolved[PATH_MAX];

	*out = (struct guard_backing){ 0 };
	(void)sysfs_read_text(out->path, sizeof(out->path), root, "/sys/block/%s/loop/backing_file", name);
	/* A file removed meanwhile has " (deleted)" behind its path. */
	out->is_found = out->path[0] && guard_resolve(root, out->path, &out->st, resolved) == 0;
}

bool guard_backing_is(const struct guard_backing *backing, const char *root, const char *path)
{
	char resolved[PATH_MAX];
	struct stat st;

	if (!backing->is_found || guard_resolve(root, path, &st, resolved) < 0)
		return strcmp(backing->path, path) == 0;
	return st.st_dev == backing->st.st_dev && st.st_ino == backing->st.st_ino;
}

/* What lies in /dev is a device, also when it can't be found any more. */
static bool is_over_device(const struct use *use)
{
	const struct guard_backing *backing = &use->backing;

	return (backing->is_found && S_ISBLK(backing->st.st_mode)) ||
	       (strncmp(backing->path, "/dev/", 5) == 0 && strncmp(backing->path, "/dev/shm/", 9) != 0);
}

static void check_loop(const struct use *use)
{
	glob_t found;

	if (!use->backing.path[0])
		return;
	if (is_over_device(use))
		guard_report_add(use->report, GUARD_HARD, "%s lies on the device %.128s: name that itself",
			use->name, use->backing.path);
	if (!root_glob(use->root, "/sys/block/loop*/loop/backing_file", &found))
		return;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		char *name = strstr(found.gl_pathv[i], "/sys/block/") + 11;
		struct guard_backing other;

		name[strcspn(name, "/")] = '\0';
		if (strcmp(name, use->name) == 0)
			continue;
		guard_backing_read(use->root, name, &other);
		if (other.path[0] && guard_backing_is(&use->backing, use->root, other.path))
			guard_report_add(use->report, GUARD_HARD,
				"the file of %s, %.128s, is also that of %.32s: detach one", use->name,
				use->backing.path, name);
	}
	globfree(&found);
}

void guard_check_use(
	const char *root, const char *name, const char *state_directory, struct guard_report *report)
{
	struct use use = { .root = root, .name = name, .report = report };
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/sys/block/%.64s", root, name);
	if (!name[0] || strchr(name, '/') || name[0] == '.' || access(path, F_OK) < 0) {
		refuse_absent(&use);
		return;
	}
	check_kind(&use);
	check_traits(&use);
	use.family = guard_family_new(root, name, report);
	if (!use.family)
		return;
	guard_backing_read(root, name, &use.backing);
	check_holders(&use);
	guard_check_mounts(root, name, state_directory, &use.backing, use.family, report);
	check_swap(&use);
	check_btrfs(&use);
	check_kernel_users(&use);
	check_twins(&use);
	check_loop(&use);
	free(use.family);
}
