/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/target.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/units.h"
#include "target/dioalign.h"
#include "target/filesystem.h"

/* Room that is left to the filesystem for its own needs. */
#define RESERVE_BYTES_MIN (16ULL << 20)
#define RESERVE_DIVISOR	  100

#define MARKER_TITLE  "drivesoak target: the files drivesoak-*.dat beside this belong to drivesoak"
#define FILE_NAME_MAX 32

/* 60 s at 20 ms: twice the time after which the kernel gives a request up. */
#define LOCK_TRIES 3000

struct target {
	int folder_fd, marker_fd;
	int *fds;
	struct target_facts facts;
	struct target_plan plan;
	char directory[512];
};

struct marker {
	bool is_there;
	char drive[CONFIG_NAME_MAX + 1], run[64];
};

static void file_name(unsigned index, char *name)
{
	(void)snprintf(name, FILE_NAME_MAX, "drivesoak-%02u.dat", index);
}

/* Ours by name: drivesoak-NN.dat with two digits or more. */
static bool is_own_name(const char *name)
{
	size_t digits;

	if (strncmp(name, "drivesoak-", 10) != 0)
		return false;
	digits = strspn(name + 10, "0123456789");
	return digits >= 2 && strcmp(name + 10 + digits, ".dat") == 0;
}

static int why_set(char *why, int rc, const char *directory, const char *name, const char *what)
{
	(void)snprintf(why, TARGET_WHY_MAX, "%s%s%s: %s", directory, name[0] ? "/" : "", name,
		what ? what : strerror(-rc));
	return rc;
}

static void line_value(const char *text, const char *key, char *value, size_t size)
{
	const char *at = strstr(text, key);
	size_t length = at ? strcspn(at + strlen(key), "\n") : 0;

	(void)snprintf(value, size, "%.*s", (int)length, at ? at + strlen(key) : "");
}

static int marker_parse(int fd, struct marker *marker)
{
	char text[512];
	ssize_t got = pread(fd, text, sizeof(text) - 1, 0);

	if (got < 0)
		return -errno;
	/* Made and not yet written when the power went: as good as none. */
	if (got == 0)
		return 0;
	text[got] = '\0';
	if (strncmp(text, MARKER_TITLE "\n", sizeof(MARKER_TITLE)) != 0)
		return -EPROTO;
	marker->is_there = true;
	line_value(text, "\ndrive=", marker->drive, sizeof(marker->drive));
	line_value(text, "\nrun=", marker->run, sizeof(marker->run));
	return 0;
}

static int marker_read(int folder_fd, const char *directory, struct marker *marker, char *why)
{
	int fd = openat(folder_fd, TARGET_MARKER, O_RDONLY | O_NOFOLLOW | O_CLOEXEC), rc;

	*marker = (struct marker){ 0 };
	if (fd < 0) {
		rc = -errno;
		return rc == -ENOENT ? 0 : why_set(why, rc, directory, TARGET_MARKER, NULL);
	}
	rc = marker_parse(fd, marker);
	(void)close(fd);
	if (rc == -EPROTO)
		return why_set(why, -EEXIST, directory, TARGET_MARKER,
			"was not written by drivesoak; take another directory");
	return rc < 0 ? why_set(why, rc, directory, TARGET_MARKER, NULL) : 0;
}

/* Look at what lies in the folder: *@own_bytes is what our files occupy, *@foreign a file that has our name and is
 * no plain file of ours. */
static int folder_scan(int folder_fd, uint64_t *own_bytes, unsigned *own_files, char *foreign)
{
	int fd = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;
	struct stat st;

	*own_bytes = 0;
	*own_files = 0;
	foreign[0] = '\0';
	if (!folder)
		return -errno;
	while ((entry = readdir(folder))) {
		if (!is_own_name(entry->d_name) ||
			fstatat(folder_fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (!S_ISREG(st.st_mode) || st.st_nlink != 1) {
			(void)snprintf(foreign, FILE_NAME_MAX, "%.31s", entry->d_name);
			continue;
		}
		++*own_files;
		*own_bytes += (uint64_t)st.st_blocks * 512;
	}
	(void)closedir(folder);
	return 0;
}

static int plan_make(const struct config_drive *drive, const struct target_facts *facts, uint64_t total_bytes,
	struct target_plan *plan, char *why)
{
	uint64_t reserve = total_bytes / RESERVE_DIVISOR, wanted, room, blocks;
	char asked[UNITS_TEXT_MAX], free_text[UNITS_TEXT_MAX], reserve_text[UNITS_TEXT_MAX];

	*plan = (struct target_plan){ 0 };
	if (reserve < RESERVE_BYTES_MIN)
		reserve = RESERVE_BYTES_MIN;
	if (!drive->size_bytes && facts->capacity_bytes == UINT64_MAX)
		return why_set(why, -ENODATA, drive->directory, "",
			"the capacity of the drive below is unknown: give size instead of fill");
	wanted = drive->size_bytes ? drive->size_bytes
				   : (uint64_t)((double)facts->capacity_bytes * drive->fill_pct / 100.0);
	room = facts->available_bytes > reserve ? facts->available_bytes - reserve : 0;
	units_print_bytes_rounded((double)wanted, asked);
	units_print_bytes_rounded((double)facts->available_bytes, free_text);
	units_print_bytes_rounded((double)reserve, reserve_text);
	if (wanted > room) {
		(void)snprintf(plan->note, sizeof(plan->note),
			"%s were asked for, the filesystem has %s free and keeps %s for itself", asked,
			free_text, reserve_text);
		wanted = room;
	}
	blocks = wanted / drive->block_bytes;
	plan->files = blocks < drive->files ? (unsigned)blocks : drive->files;
	if (blocks < 4ULL * drive->threads || plan->files == 0) {
		(void)snprintf(why, TARGET_WHY_MAX, "%s: no room: %s", drive->directory,
			plan->note[0] ? plan->note : "the size is too small for the threads");
		return -ENOSPC;
	}
	plan->file_bytes = blocks / plan->files * drive->block_bytes;
	plan->goal_bytes = plan->file_bytes * plan->files;
	return 0;
}

static int shared_check(const struct config_drive *drive, const struct target_facts *facts,
	const struct filesystem_traits *traits, char *why)
{
	if (traits->is_memory)
		return why_set(why, -EINVAL, drive->directory, "",
			"lies in memory (tmpfs), not on a drive; take a directory on the candidate's "
			"filesystem");
	if (traits->is_read_only)
		return why_set(why, -EROFS, drive->directory, "", "the filesystem is mounted read-only");
	if ((facts->is_on_root || traits->is_network) &&
		(!drive->size_bytes || drive->size_bytes > TARGET_SHARED_BYTES_MAX))
		return why_set(why, -EPERM, drive->directory, "",
			facts->is_on_root
				? "lies on the root filesystem, which takes only size up to 10GiB, not fill"
				: "lies on network storage, which takes only size up to 10GiB, not fill");
	return 0;
}

/* May the open folder be used by @drive? Own files count as room. */
static int folder_check(int folder_fd, const struct config_drive *drive, struct target_facts *facts,
	struct marker *marker, char *why)
{
	char foreign[FILE_NAME_MAX];
	uint64_t own_bytes;
	unsigned own_files;
	int rc = marker_read(folder_fd, drive->directory, marker, why);

	if (rc < 0)
		return rc;
	rc = folder_scan(folder_fd, &own_bytes, &own_files, foreign);
	if (rc < 0)
		return why_set(why, rc, drive->directory, "", NULL);
	if (foreign[0])
		return why_set(why, -EEXIST, drive->directory, foreign,
			"is no plain file of drivesoak; remove it first");
	if (!marker->is_there && own_files)
		return why_set(why, -EEXIST, drive->directory, "",
			"holds drivesoak-*.dat without the marker .drivesoak: they are not known to be ours; "
			"remove them first");
	if (marker->is_there && strcmp(marker->drive, drive->name) != 0) {
		(void)snprintf(why, TARGET_WHY_MAX,
			"%s: belongs to the drive \"%s\" by its marker, not to \"%s\"", drive->directory,
			marker->drive, drive->name);
		return -EEXIST;
	}
	if (faccessat(folder_fd, ".", W_OK | X_OK, AT_EACCESS) < 0) {
		rc = -errno;
		return why_set(why, rc, drive->directory, "", NULL);
	}
	facts->available_bytes += own_bytes;
	return 0;
}

static int check_at(const struct config_drive *drive, int *folder_fd, struct target_facts *facts,
	struct target_plan *plan, struct marker *marker, char *why)
{
	struct filesystem_traits traits;
	int rc = filesystem_read(drive->directory, facts, &traits, why);

	if (rc < 0)
		return rc;
	rc = shared_check(drive, facts, &traits, why);
	if (rc < 0)
		return rc;
	*folder_fd = open(drive->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*folder_fd < 0) {
		rc = -errno;
		return why_set(why, rc, drive->directory, "", NULL);
	}
	rc = folder_check(*folder_fd, drive, facts, marker, why);
	return rc == 0 && plan ? plan_make(drive, facts, traits.total_bytes, plan, why) : rc;
}

int target_check(
	const struct config_drive *drive, struct target_facts *facts, struct target_plan *plan, char *why)
{
	struct marker marker;
	int folder_fd = -1, rc = check_at(drive, &folder_fd, facts, plan, &marker, why);

	if (folder_fd >= 0)
		(void)close(folder_fd);
	return rc;
}

static int marker_lock(struct target *target, char *why)
{
	target->marker_fd = openat(
		target->folder_fd, TARGET_MARKER, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (target->marker_fd < 0) {
		int rc = -errno;

		return why_set(why, rc, target->directory, TARGET_MARKER, NULL);
	}
	if (flock(target->marker_fd, LOCK_EX | LOCK_NB) < 0)
		return why_set(why, -EBUSY, target->directory, TARGET_MARKER,
			"is locked: another drivesoakd uses this directory");
	return 0;
}

static int marker_write(struct target *target, const char *drive, const char *run_id, char *why)
{
	char text[512];
	int length = snprintf(text, sizeof(text), MARKER_TITLE "\ndrive=%s\nrun=%s\n", drive, run_id), rc;

	if (pwrite(target->marker_fd, text, (size_t)length, 0) == length &&
		ftruncate(target->marker_fd, length) == 0 && fsync(target->marker_fd) == 0)
		return 0;
	rc = errno ? -errno : -EIO;
	return why_set(why, rc, target->directory, TARGET_MARKER, NULL);
}

static int own_files_remove(int folder_fd)
{
	int fd = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;
	DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;

	if (!folder)
		return -errno;
	while ((entry = readdir(folder)))
		if (is_own_name(entry->d_name) && unlinkat(folder_fd, entry->d_name, 0) < 0 &&
			errno != ENOENT)
			rc = -errno;
	(void)closedir(folder);
	return rc;
}

/* Requests of a process that was killed may still be on their way and would land on what is written next: its files
 * stay locked until the last of them is gone. */
static int file_lock(int fd)
{
	const struct timespec pause = { .tv_nsec = 20000000 };

	for (unsigned tries = 0; tries < LOCK_TRIES; tries++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return 0;
		if (errno != EWOULDBLOCK)
			return -errno;
		(void)nanosleep(&pause, NULL);
	}
	return -EBUSY;
}

static int file_open(struct target *target, unsigned index, bool is_new, char *why)
{
	char name[FILE_NAME_MAX];
	struct stat st;
	int rc;

	file_name(index, name);
	target->fds[index] = openat(target->folder_fd, name,
		O_RDWR | O_DIRECT | O_NOFOLLOW | O_CLOEXEC | (is_new ? O_CREAT | O_EXCL : 0), 0600);
	if (target->fds[index] < 0) {
		rc = -errno;
		return why_set(why, rc, target->directory, name,
			rc == -EINVAL
				? "the filesystem refuses O_DIRECT: what is measured would be the page cache"
				: NULL);
	}
	if (fstat(target->fds[index], &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink != 1)
		return why_set(why, -EEXIST, target->directory, name, "is no plain file of drivesoak");
	rc = file_lock(target->fds[index]);
	return rc < 0 ? why_set(why, rc, target->directory, name,
				rc == -EBUSY ? "requests of an earlier process are still under way" : NULL)
		      : 0;
}

static int files_open(struct target *target, bool is_new, char *why)
{
	uint32_t mem_align, offset_align;
	int rc;

	target->fds = malloc(target->plan.files * sizeof(*target->fds));
	if (!target->fds)
		return why_set(why, -ENOMEM, target->directory, "", NULL);
	for (unsigned i = 0; i < target->plan.files; i++)
		target->fds[i] = -1;
	for (unsigned i = 0; i < target->plan.files; i++) {
		rc = file_open(target, i, is_new, why);
		if (rc < 0)
			return rc;
	}
	rc = dioalign_read(target->fds[0], &mem_align, &offset_align);
	if (rc == 0 && offset_align == 0)
		return why_set(why, -EINVAL, target->directory, "",
			"the filesystem says it does no direct I/O here (compression, encryption or inline "
			"data)");
	if (rc == 0)
		(void)snprintf(target->facts.direct, sizeof(target->facts.direct),
			"statx: memory %u, offset %u bytes", mem_align, offset_align);
	return 0;
}

/* A resumed run keeps the plan it was started with, whatever the filesystem has room for today. */
static int plan_resume(
	struct target *target, const struct config_drive *drive, uint64_t goal_bytes, char *why)
{
	uint64_t blocks = goal_bytes / drive->block_bytes;

	target->plan.note[0] = '\0';
	target->plan.files = blocks < drive->files ? (unsigned)blocks : drive->files;
	if (target->plan.files == 0 || blocks % target->plan.files)
		return why_set(why, -ESTALE, target->directory, "",
			"the recorded size does not fit the files of the run");
	target->plan.file_bytes = goal_bytes / target->plan.files;
	target->plan.goal_bytes = goal_bytes;
	return 0;
}

int target_open(const struct config_drive *drive, const char *run_id, uint64_t goal_bytes,
	struct target **out, char *why)
{
	const bool is_new = goal_bytes == 0;
	struct target *target = calloc(1, sizeof(*target));
	struct marker marker;
	int rc;

	if (!target)
		return why_set(why, -ENOMEM, drive->directory, "", NULL);
	target->folder_fd = target->marker_fd = -1;
	(void)snprintf(target->directory, sizeof(target->directory), "%s", drive->directory);
	rc = check_at(drive, &target->folder_fd, &target->facts, is_new ? &target->plan : NULL, &marker, why);
	if (rc < 0)
		goto fail;
	if (!is_new && strcmp(marker.run, run_id) != 0) {
		rc = why_set(why, -ESTALE, drive->directory, TARGET_MARKER,
			marker.is_there
				? "does not carry this run: other contents"
				: "is missing: the filesystem is not mounted, or the files were removed");
		goto fail;
	}
	rc = marker_lock(target, why);
	if (rc < 0)
		goto fail;
	if (is_new) {
		rc = marker_write(target, drive->name, run_id, why);
		if (rc == 0)
			rc = own_files_remove(target->folder_fd);
		if (rc < 0)
			goto fail;
	} else {
		rc = plan_resume(target, drive, goal_bytes, why);
		if (rc < 0)
			goto fail;
	}
	rc = files_open(target, is_new, why);
	if (rc < 0)
		goto fail;
	*out = target;
	return 0;
fail:
	target_close(target);
	return rc;
}

void target_close(struct target *target)
{
	if (!target)
		return;
	for (unsigned i = 0; target->fds && i < target->plan.files; i++)
		if (target->fds[i] >= 0)
			(void)close(target->fds[i]);
	free(target->fds);
	if (target->marker_fd >= 0)
		(void)close(target->marker_fd);
	if (target->folder_fd >= 0)
		(void)close(target->folder_fd);
	free(target);
}

const struct target_facts *target_get_facts(const struct target *target)
{
	return &target->facts;
}

const struct target_plan *target_get_plan(const struct target *target)
{
	return &target->plan;
}

const int *target_get_fds(const struct target *target)
{
	return target->fds;
}

int target_discard(struct target *target, bool *done, char *why)
{
	struct fstrim_range range = { .len = UINT64_MAX };

	*done = false;
	if (target->facts.is_on_root) {
		(void)snprintf(why, TARGET_WHY_MAX, "not discarded: the root filesystem is left alone");
		return 0;
	}
	if (ioctl(target->folder_fd, FITRIM, &range) < 0) {
		(void)snprintf(why, TARGET_WHY_MAX, "not discarded: FITRIM: %s", strerror(errno));
		return 0;
	}
	*done = true;
	why[0] = '\0';
	return 0;
}

void target_reserve_file(void *arg, unsigned index)
{
	struct target *target = arg;
	struct stat st;

	/* Never over an existing layout: some filesystems want the whole range free again. */
	if (index >= target->plan.files || fstat(target->fds[index], &st) < 0 || st.st_size)
		return;
	(void)fallocate(target->fds[index], 0, 0, (off_t)target->plan.file_bytes);
}

static bool is_unlinked(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_nlink == 0;
}

int target_look(const struct target *target, char *why)
{
	char name[FILE_NAME_MAX];
	struct stat open, there;

	if (fstat(target->folder_fd, &open) == 0 &&
		(stat(target->directory, &there) < 0 || open.st_dev != there.st_dev ||
			open.st_ino != there.st_ino))
		return why_set(why, -ESTALE, target->directory, "",
			"is not the directory any more that was opened: removed, moved or unmounted");
	if (is_unlinked(target->marker_fd))
		return why_set(why, -ESTALE, target->directory, TARGET_MARKER, "was removed");
	for (unsigned i = 0; i < target->plan.files; i++) {
		if (!is_unlinked(target->fds[i]))
			continue;
		file_name(i, name);
		return why_set(why, -ESTALE, target->directory, name, "was removed");
	}
	return 0;
}

int target_finish_fill(struct target *target, uint64_t done_bytes, char *why)
{
	for (unsigned i = 0; i < target->plan.files; i++) {
		uint64_t from = (uint64_t)i * target->plan.file_bytes, keep = 0;

		if (done_bytes > from)
			keep = done_bytes - from < target->plan.file_bytes ? done_bytes - from
									   : target->plan.file_bytes;
		if ((keep < target->plan.file_bytes && ftruncate(target->fds[i], (off_t)keep) < 0) ||
			fsync(target->fds[i]) < 0) {
			int rc = -errno;

			return why_set(why, rc, target->directory, "", NULL);
		}
	}
	return 0;
}

int target_flush(struct target *target, char *why)
{
	bool is_volatile = target->facts.disk_count == 0;

	for (unsigned i = 0; i < target->facts.disk_count; i++)
		is_volatile |= strcmp(target->facts.disks[i].write_cache, "write through") != 0;
	for (unsigned i = 0; is_volatile && i < target->plan.files; i++) {
		if (fdatasync(target->fds[i]) < 0) {
			int rc = -errno;

			return why_set(why, rc, target->directory, "", NULL);
		}
	}
	return 0;
}

int target_purge(const struct config_drive *drive, char *why)
{
	struct target_facts facts = { 0 };
	struct marker marker;
	struct target *target = calloc(1, sizeof(*target));
	int rc;

	if (!target)
		return why_set(why, -ENOMEM, drive->directory, "", NULL);
	target->marker_fd = -1;
	(void)snprintf(target->directory, sizeof(target->directory), "%s", drive->directory);
	target->folder_fd = open(drive->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	rc = target->folder_fd < 0 ? why_set(why, -errno, drive->directory, "", NULL)
				   : folder_check(target->folder_fd, drive, &facts, &marker, why);
	if (rc == 0 && marker.is_there)
		rc = marker_lock(target, why);
	if (rc == 0 && marker.is_there)
		rc = own_files_remove(target->folder_fd);
	if (rc == 0 && marker.is_there && unlinkat(target->folder_fd, TARGET_MARKER, 0) < 0)
		rc = why_set(why, -errno, drive->directory, TARGET_MARKER, NULL);
	target_close(target);
	return rc;
}
