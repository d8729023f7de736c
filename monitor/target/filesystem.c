/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/filesystem.h"

#include <errno.h>
#include <libmount/libmount.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>

/* Not in linux/magic.h of Debian 12. */
#define XFS_MAGIC  0x58465342
#define NFS_MAGIC  0x6969
#define ZFS_MAGIC  0x2fc12fc1
#define FUSE_MAGIC 0x65735546

enum kind { KIND_DISK_DIRECT, KIND_MEMORY, KIND_NETWORK };

static const struct {
	long magic;
	enum kind kind;
} kinds[] = {
	{ EXT4_SUPER_MAGIC, KIND_DISK_DIRECT },
	{ XFS_MAGIC, KIND_DISK_DIRECT },
	{ F2FS_SUPER_MAGIC, KIND_DISK_DIRECT },
	{ TMPFS_MAGIC, KIND_MEMORY },
	{ RAMFS_MAGIC, KIND_MEMORY },
	{ NFS_MAGIC, KIND_NETWORK },
	{ (int)CIFS_SUPER_MAGIC, KIND_NETWORK },
	{ (int)SMB2_SUPER_MAGIC, KIND_NETWORK },
	{ CEPH_SUPER_MAGIC, KIND_NETWORK },
	{ AFS_SUPER_MAGIC, KIND_NETWORK },
	{ V9FS_MAGIC, KIND_NETWORK },
	{ FUSE_MAGIC, KIND_NETWORK },
};

static void read_traits(const char *directory, struct target_facts *facts, struct filesystem_traits *traits)
{
	struct statfs fs;
	struct statvfs vfs;

	if (statfs(directory, &fs) == 0)
		for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
			if ((unsigned long)kinds[i].magic == (unsigned long)fs.f_type ||
				(uint32_t)kinds[i].magic == (uint32_t)fs.f_type) {
				traits->is_memory = kinds[i].kind == KIND_MEMORY;
				traits->is_network = kinds[i].kind == KIND_NETWORK;
				traits->is_direct_known = kinds[i].kind == KIND_DISK_DIRECT;
			}
	if (statvfs(directory, &vfs) < 0)
		return;
	traits->fragment_bytes = vfs.f_frsize;
	traits->total_bytes = (uint64_t)vfs.f_blocks * vfs.f_frsize;
	traits->is_read_only = vfs.f_flag & ST_RDONLY;
	facts->available_bytes = (uint64_t)vfs.f_bavail * vfs.f_frsize;
}

/* The mount @directory lies on; @source gets its device. */
static int read_mount(const char *directory, struct target_facts *facts, char *source, size_t source_size)
{
	struct libmnt_table *table = mnt_new_table_from_file("/proc/self/mountinfo");
	struct libmnt_fs *fs = table ? mnt_table_find_mountpoint(table, directory, MNT_ITER_BACKWARD) : NULL;
	const char *options = fs ? mnt_fs_get_options(fs) : NULL;

	if (fs) {
		(void)snprintf(facts->filesystem, sizeof(facts->filesystem), "%s", mnt_fs_get_fstype(fs));
		(void)snprintf(
			facts->mount_options, sizeof(facts->mount_options), "%s", options ? options : "");
		(void)snprintf(facts->mount_point, sizeof(facts->mount_point), "%s", mnt_fs_get_target(fs));
		(void)snprintf(
			source, source_size, "%s", mnt_fs_get_srcpath(fs) ? mnt_fs_get_srcpath(fs) : "");
	}
	mnt_unref_table(table);
	return fs ? 0 : -ENODATA;
}

static void read_disks(dev_t device, const char *source, struct target_facts *facts)
{
	struct stat st;
	int count = blockdev_disks_below("", device, facts->disks, BLOCKDEV_MAX);

	/* btrfs numbers its subvolumes itself: ask the mounted device. */
	if (count < 0 && source[0] == '/' && stat(source, &st) == 0 && S_ISBLK(st.st_mode))
		count = blockdev_disks_below("", st.st_rdev, facts->disks, BLOCKDEV_MAX);
	facts->disk_count = count > 0 ? (unsigned)count : 0;
	facts->capacity_bytes = count > 0 ? 0 : UINT64_MAX;
	for (unsigned i = 0; i < facts->disk_count; i++)
		facts->capacity_bytes += facts->disks[i].capacity_bytes;
}

int filesystem_read(
	const char *directory, struct target_facts *facts, struct filesystem_traits *traits, char *why)
{
	char source[256] = "";
	struct stat here, root;
	int rc;

	*facts = (struct target_facts){ 0 };
	*traits = (struct filesystem_traits){ 0 };
	if (stat(directory, &here) < 0) {
		rc = -errno;
		(void)snprintf(why, TARGET_WHY_MAX, "%s: %s%s", directory, strerror(-rc),
			rc == -ENOENT ? "; make it on the filesystem of the candidate drive" : "");
		return rc;
	}
	if (!S_ISDIR(here.st_mode)) {
		(void)snprintf(why, TARGET_WHY_MAX, "%s: is not a directory", directory);
		return -ENOTDIR;
	}
	facts->is_on_root = stat("/", &root) == 0 && root.st_dev == here.st_dev;
	read_traits(directory, facts, traits);
	rc = read_mount(directory, facts, source, sizeof(source));
	if (rc < 0) {
		(void)snprintf(
			why, TARGET_WHY_MAX, "%s: no mount found for it in /proc/self/mountinfo", directory);
		return rc;
	}
	facts->is_on_root = facts->is_on_root || strcmp(facts->mount_point, "/") == 0;
	read_disks(here.st_dev, source, facts);
	(void)snprintf(facts->direct, sizeof(facts->direct),
		traits->is_direct_known ? "filesystem %s" : "unproven: %s", facts->filesystem);
	return 0;
}
