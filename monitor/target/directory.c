/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/target_private.h"

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

struct directory {
	struct target base;
	int folder_fd, marker_fd;
	char path[512];
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
		return rc == -ENOENT ? 0 : target_why(why, rc, directory, TARGET_MARKER, NULL);
	}
	rc = marker_parse(fd, marker);
	(void)close(fd);
	if (rc == -EPROTO)
		return target_why(why, -EEXIST, directory, TARGET_MARKER,
			"was not written by drivesoak; take another directory");
	return rc < 0 ? target_why(why, rc, directory, TARGET_MARKER, NULL) : 0;
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
		return target_why(why, -ENODATA, drive->directory, "",
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
	return target_judge_budget(drive, plan->goal_bytes, why);
}

static int shared_check(const struct config_drive *drive, const struct target_facts *facts,
	const struct filesystem_traits *traits, char *why)
{
	if (traits->is_memory)
		return target_why(why, -EINVAL, drive->directory, "",
			"lies in memory (tmpfs), not on a drive; take a directory on the candidate's "
			"filesystem");
	if (traits->is_read_only)
		return target_why(why, -EROFS, drive->directory, "", "the filesystem is mounted read-only");
	if ((facts->is_on_root || traits->is_network) &&
		(!drive->size_bytes || drive->size_bytes > TARGET_SHARED_BYTES_MAX))
		return target_why(why, -EPERM, drive->directory, "",
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
		return target_why(why, rc, drive->directory, "", NULL);
	if (foreign[0])
		return target_why(why, -EEXIST, drive->directory, foreign,
			"is no plain file of drivesoak; remove it first");
	if (!marker->is_there && own_files)
		return target_why(why, -EEXIST, drive->directory, "",
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
		return target_why(why, rc, drive->directory, "", NULL);
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
		return target_why(why, rc, drive->directory, "", NULL);
	}
	rc = folder_check(*folder_fd, drive, facts, marker, why);
	return rc == 0 && plan ? plan_make(drive, facts, traits.total_bytes, plan, why) : rc;
}

static int directory_check(
	const struct target_request *request, struct target_facts *facts, struct target_plan *plan, char *why)
{
	struct marker marker;
	int folder_fd = -1, rc = check_at(request->drive, &folder_fd, facts, plan, &marker, why);

	if (folder_fd >= 0)
		(void)close(folder_fd);
	return rc;
}

static int marker_lock(struct directory *directory, char *why)
{
	directory->marker_fd = openat(
		directory->folder_fd, TARGET_MARKER, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (directory->marker_fd < 0)
		return target_why(why, -errno, directory->path, TARGET_MARKER, NULL);
	if (flock(directory->marker_fd, LOCK_EX | LOCK_NB) < 0)
		return target_why(why, -EBUSY, directory->path, TARGET_MARKER,
			"is locked: another drivesoakd uses this directory");
	return 0;
}

static int marker_write(struct directory *directory, const char *drive, const char *run_id, char *why)
{
	char text[512];
	int length = snprintf(text, sizeof(text), MARKER_TITLE "\ndrive=%s\nrun=%s\n", drive, run_id);

	if (pwrite(directory->marker_fd, text, (size_t)length, 0) == length &&
		ftruncate(directory->marker_fd, length) == 0 && fsync(directory->marker_fd) == 0)
		return 0;
	return target_why(why, errno ? -errno : -EIO, directory->path, TARGET_MARKER, NULL);
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

static int file_open(struct directory *directory, unsigned index, bool is_new, char *why)
{
	char name[FILE_NAME_MAX];
	struct stat st;
	int *fd = &directory->base.fds[index], rc;

	file_name(index, name);
	*fd = openat(directory->folder_fd, name,
		O_RDWR | O_DIRECT | O_NOFOLLOW | O_CLOEXEC | (is_new ? O_CREAT | O_EXCL : 0), 0600);
	if (*fd < 0) {
		rc = -errno;
		return target_why(why, rc, directory->path, name,
			rc == -EINVAL
				? "the filesystem refuses O_DIRECT: what is measured would be the page cache"
				: NULL);
	}
	if (fstat(*fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink != 1)
		return target_why(why, -EEXIST, directory->path, name, "is no plain file of drivesoak");
	rc = file_lock(*fd);
	return rc < 0 ? target_why(why, rc, directory->path, name,
				rc == -EBUSY ? "requests of an earlier process are still under way" : NULL)
		      : 0;
}

static int files_open(struct directory *directory, bool is_new, char *why)
{
	struct target *base = &directory->base;
	uint32_t mem_align, offset_align;
	int rc;

	base->fds = malloc(base->plan.files * sizeof(*base->fds));
	if (!base->fds)
		return target_why(why, -ENOMEM, directory->path, "", NULL);
	for (unsigned i = 0; i < base->plan.files; i++)
		base->fds[i] = -1;
	for (unsigned i = 0; i < base->plan.files; i++) {
		rc = file_open(directory, i, is_new, why);
		if (rc < 0)
			return rc;
	}
	rc = dioalign_read(base->fds[0], &mem_align, &offset_align);
	if (rc == 0 && offset_align == 0)
		return target_why(why, -EINVAL, directory->path, "",
			"the filesystem says it does no direct I/O here (compression, encryption or inline "
			"data)");
	if (rc == 0)
		(void)snprintf(base->facts.direct, sizeof(base->facts.direct),
			"statx: memory %u, offset %u bytes", mem_align, offset_align);
	return 0;
}

/* A resumed run keeps the plan it was started with, whatever the filesystem has room for today. */
static int plan_resume(struct directory *directory, const struct target_request *request, char *why)
{
	struct target_plan *plan = &directory->base.plan;
	uint64_t blocks = request->goal_bytes / request->drive->block_bytes;

	plan->note[0] = '\0';
	plan->files = blocks < request->drive->files ? (unsigned)blocks : request->drive->files;
	if (plan->files == 0 || blocks % plan->files)
		return target_why(why, -ESTALE, directory->path, "",
			"the recorded size does not fit the files of the run");
	plan->file_bytes = request->goal_bytes / plan->files;
	plan->goal_bytes = request->goal_bytes;
	return 0;
}

static int marker_judge(const struct target_request *request, const struct marker *marker, char *why)
{
	if (!request->goal_bytes || strcmp(marker->run, request->run_id) == 0)
		return 0;
	return target_why(why, -ESTALE, request->drive->directory, TARGET_MARKER,
		marker->is_there ? "does not carry this run: other contents"
				 : "is missing: the filesystem is not mounted, or the files were removed");
}

static int files_claim(struct directory *directory, const struct target_request *request, char *why)
{
	int rc;

	if (request->goal_bytes)
		return plan_resume(directory, request, why);
	rc = marker_write(directory, request->drive->name, request->run_id, why);
	return rc == 0 ? own_files_remove(directory->folder_fd) : rc;
}

static struct directory *directory_new(const char *path)
{
	struct directory *directory = calloc(1, sizeof(*directory));

	if (!directory)
		return NULL;
	directory->base.kind = &target_directory;
	directory->base.name = directory->path;
	directory->folder_fd = directory->marker_fd = -1;
	(void)snprintf(directory->path, sizeof(directory->path), "%s", path);
	return directory;
}

static void directory_close(struct target *target)
{
	struct directory *directory = (struct directory *)target;

	for (unsigned i = 0; target->fds && i < target->plan.files; i++)
		if (target->fds[i] >= 0)
			(void)close(target->fds[i]);
	free(target->fds);
	if (directory->marker_fd >= 0)
		(void)close(directory->marker_fd);
	if (directory->folder_fd >= 0)
		(void)close(directory->folder_fd);
	free(directory);
}

static int directory_open(const struct target_request *request, struct target **out, char *why)
{
	const bool is_new = request->goal_bytes == 0;
	struct directory *directory = directory_new(request->drive->directory);
	struct marker marker;
	int rc;

	if (!directory)
		return target_why(why, -ENOMEM, request->drive->directory, "", NULL);
	rc = check_at(request->drive, &directory->folder_fd, &directory->base.facts,
		is_new ? &directory->base.plan : NULL, &marker, why);
	if (rc == 0)
		rc = marker_judge(request, &marker, why);
	if (rc == 0)
		rc = marker_lock(directory, why);
	if (rc == 0)
		rc = files_claim(directory, request, why);
	if (rc == 0)
		rc = files_open(directory, is_new, why);
	if (rc < 0) {
		directory_close(&directory->base);
		return rc;
	}
	*out = &directory->base;
	return 0;
}

static int directory_discard(struct target *target, bool *done, char *why)
{
	struct fstrim_range range = { .len = UINT64_MAX };

	if (target->facts.is_on_root) {
		(void)snprintf(why, TARGET_WHY_MAX, "not discarded: the root filesystem is left alone");
		return 0;
	}
	if (ioctl(((struct directory *)target)->folder_fd, FITRIM, &range) < 0) {
		(void)snprintf(why, TARGET_WHY_MAX, "not discarded: FITRIM: %s", strerror(errno));
		return 0;
	}
	*done = true;
	why[0] = '\0';
	return 0;
}

static void directory_reserve_file(struct target *target, unsigned index)
{
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

static int directory_look(const struct target *target, char *why)
{
	const struct directory *directory = (const struct directory *)target;
	char name[FILE_NAME_MAX];
	struct stat open, there;

	if (fstat(directory->folder_fd, &open) == 0 &&
		(stat(directory->path, &there) < 0 || open.st_dev != there.st_dev ||
			open.st_ino != there.st_ino))
		return target_why(why, -ESTALE, directory->path, "",
			"is not the directory any more that was opened: removed, moved or unmounted");
	if (is_unlinked(directory->marker_fd))
		return target_why(why, -ESTALE, directory->path, TARGET_MARKER, "was removed");
	for (unsigned i = 0; i < target->plan.files; i++) {
		if (!is_unlinked(target->fds[i]))
			continue;
		file_name(i, name);
		return target_why(why, -ESTALE, directory->path, name, "was removed");
	}
	return 0;
}

static int directory_finish_fill(struct target *target, uint64_t done_bytes, char *why)
{
	for (unsigned i = 0; i < target->plan.files; i++) {
		uint64_t from = (uint64_t)i * target->plan.file_bytes, keep = 0;

		if (done_bytes > from)
			keep = done_bytes - from < target->plan.file_bytes ? done_bytes - from
									   : target->plan.file_bytes;
		if ((keep < target->plan.file_bytes && ftruncate(target->fds[i], (off_t)keep) < 0) ||
			fsync(target->fds[i]) < 0)
			return target_why(why, -errno, target->name, "", NULL);
	}
	return 0;
}

static int directory_purge(const struct target_request *request, char *why)
{
	const char *path = request->drive->directory;
	struct directory *directory = directory_new(path);
	struct target_facts facts = { 0 };
	struct marker marker;
	int rc;

	if (!directory)
		return target_why(why, -ENOMEM, path, "", NULL);
	directory->folder_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	rc = directory->folder_fd < 0
		     ? target_why(why, -errno, path, "", NULL)
		     : folder_check(directory->folder_fd, request->drive, &facts, &marker, why);
	if (rc == 0 && marker.is_there)
		rc = marker_lock(directory, why);
	if (rc == 0 && marker.is_there)
		rc = own_files_remove(directory->folder_fd);
	if (rc == 0 && marker.is_there && unlinkat(directory->folder_fd, TARGET_MARKER, 0) < 0)
		rc = target_why(why, -errno, path, TARGET_MARKER, NULL);
	directory_close(&directory->base);
	return rc;
}

const struct target_kind target_directory = {
	.check = directory_check,
	.open = directory_open,
	.open_to_verify = directory_open,
	.close = directory_close,
	.discard = directory_discard,
	.reserve_file = directory_reserve_file,
	.look = directory_look,
	.finish_fill = directory_finish_fill,
	.purge = directory_purge,
};
