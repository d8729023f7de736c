/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/sysfs.h"
#include "base/text.h"
#include "target/blockdev.h"
#include "target/guard_private.h"

/* What must never lie on a target. The last is the state directory. */
static const char *const places[] = { "/", "/boot", "/boot/efi", "/efi", "/usr", "/var", "/home", NULL };
#define PLACES (sizeof(places) / sizeof(places[0]))

struct mount {
	unsigned major, minor;
	char *target, *type, *source, *options;
};

/* The mount that @path lies on. */
struct place {
	char path[PATH_MAX];
	size_t target_length;
	unsigned major, minor;
	char source[PATH_MAX];
	bool is_found;
};

struct mounts {
	const char *root, *name;
	const struct guard_backing *backing;
	struct guard_family *family;
	struct guard_report *report;
	struct place place[PLACES];
	unsigned long *spaces; /* the namespaces read so far */
	size_t space_count;
	unsigned tables, unreadable, unclear;
	char whose[64]; /* "": our own namespace */
};

/* mountinfo: ID PARENT MAJOR:MINOR ROOT TARGET OPTIONS [TAG...] - TYPE SOURCE SUPER-OPTIONS */
static bool mount_parse(char *line, struct mount *out)
{
	char *field[6], *rest = line, *word;

	line[strcspn(line, "\n")] = '\0';
	for (size_t i = 0; i < 6; i++) {
		field[i] = strsep(&rest, " ");
		if (!field[i])
			return false;
	}
	while ((word = strsep(&rest, " ")) && strcmp(word, "-") != 0)
		;
	out->target = field[4];
	out->type = strsep(&rest, " ");
	out->source = strsep(&rest, " ");
	out->options = rest;
	if (!out->options || sscanf(field[2], "%u:%u", &out->major, &out->minor) != 2)
		return false;
	guard_unescape(out->target);
	guard_unescape(out->source);
	guard_unescape(out->options);
	return true;
}

/* The member of the family that a mount uses. Filesystems over several devices (btrfs, bcachefs) have a number of
 * their own and name their devices; logs and journals stand among the options. */
static struct guard_member *mount_find_member(struct mounts *mounts, const struct mount *mount)
{
	struct guard_member *member = guard_family_find(mounts->family, mount->major, mount->minor, false);

	if (!member && mount->major == 0 && mount->source[0] == '/')
		member = guard_family_find_in_text(mounts->family, mounts->root, mount->source);
	if (!member && strstr(mount->options, "=/dev/"))
		member = guard_family_find_in_text(mounts->family, mounts->root, mount->options);
	return member;
}

static void place_look(struct place *place, const struct mount *mount)
{
	size_t length = strlen(mount->target);
	bool is_root = length == 1;

	if (!place->path[0] || (place->is_found && length < place->target_length))
		return;
	if (!is_root && (strncmp(place->path, mount->target, length) != 0 ||
				(place->path[length] != '\0' && place->path[length] != '/')))
		return;
	/* A later mount on the same point hides the earlier. */
	place->target_length = length;
	place->major = mount->major;
	place->minor = mount->minor;
	place->is_found = true;
	text_copy(place->source, sizeof(place->source), mount->source);
}

static void mount_judge(struct mounts *mounts, const struct mount *mount)
{
	struct guard_member *member = mount_find_member(mounts, mount);

	if (!mounts->whose[0])
		for (size_t i = 0; i < PLACES; i++)
			place_look(&mounts->place[i], mount);
	if (mounts->backing->path[0] && mount->source[0] == '/' && mount->major == 0 &&
		guard_backing_is(mounts->backing, mounts->root, mount->source))
		guard_report_add(mounts->report, GUARD_HARD,
			"the file of %s is mounted on %.128s: unmount it", mounts->name, mount->target);
	if (!member || member->is_told)
		return;
	member->is_told = true;
	guard_report_add(mounts->report, GUARD_HARD, "%s is mounted on %.128s (%.16s)%s: unmount it",
		member->name, mount->target, mount->type, mounts->whose);
}

static void mounts_read_table(struct mounts *mounts, FILE *file)
{
	char *line = NULL;
	size_t size = 0;

	while (getline(&line, &size, file) > 0) {
		struct mount mount;

		if (mount_parse(line, &mount))
			mount_judge(mounts, &mount);
		else
			mounts->unclear++;
	}
	mounts->unclear += ferror(file) != 0;
	free(line);
}

static bool mounts_know_space(const struct mounts *mounts, unsigned long number)
{
	for (size_t i = 0; i < mounts->space_count; i++)
		if (mounts->spaces[i] == number)
			return true;
	return false;
}

/* Without room for it the namespace is read again. */
static void mounts_note_space(struct mounts *mounts, unsigned long number)
{
	unsigned long *more = reallocarray(mounts->spaces, mounts->space_count + 1, sizeof(*more));

	if (!more)
		return;
	mounts->spaces = more;
	more[mounts->space_count++] = number;
}

/* A process may end at any moment: only what exists and is forbidden is unreadable. */
static void mounts_read_process(struct mounts *mounts, const char *process)
{
	char path[PATH_MAX], link[64] = "", name[32];
	unsigned long number = 0;
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/proc/%.16s/ns/mnt", mounts->root, process);
	/* Mounts may be read where the namespace may not be told. */
	if (readlink(path, link, sizeof(link) - 1) < 0 && errno != EACCES && errno != EPERM)
		return;
	if (sscanf(link, "mnt:[%lu]", &number) == 1 && mounts_know_space(mounts, number))
		return;
	(void)snprintf(path, sizeof(path), "%s/proc/%.16s/mountinfo", mounts->root, process);
	file = fopen(path, "re");
	if (!file) {
		mounts->unreadable += errno == EACCES || errno == EPERM;
		return;
	}
	if (number)
		mounts_note_space(mounts, number);
	(void)sysfs_read_text(name, sizeof(name), mounts->root, "/proc/%s/comm", process);
	if (mounts->tables)
		(void)snprintf(mounts->whose, sizeof(mounts->whose),
			" in the mount namespace of PID %.10s (%.16s)", process, name);
	mounts->tables++;
	mounts_read_table(mounts, file);
	(void)fclose(file);
}

static void mounts_read_all(struct mounts *mounts)
{
	char path[PATH_MAX];
	struct dirent *entry;
	DIR *folder;

	(void)snprintf(path, sizeof(path), "%s/proc", mounts->root);
	folder = opendir(path);
	/* Ours first: in fixtures that of the first process. */
	mounts_read_process(mounts, mounts->root[0] ? "1" : "self");
	while (folder && (entry = readdir(folder)))
		if (isdigit((unsigned char)entry->d_name[0]))
			mounts_read_process(mounts, entry->d_name);
	if (folder)
		(void)closedir(folder);
	if (!mounts->tables)
		guard_report_add(mounts->report, GUARD_HARD,
			"no mount table can be read below %s: whether %s is mounted is unknown", path,
			mounts->name);
	if (mounts->unclear)
		guard_report_add(mounts->report, GUARD_HARD,
			"%u lines of the mount tables can't be understood: whether %s is mounted is unknown",
			mounts->unclear, mounts->name);
	if (mounts->unreadable)
		guard_report_add(mounts->report, GUARD_HARD,
			"the mounts of %u other processes can't be read: run as root (with CAP_SYS_PTRACE)",
			mounts->unreadable);
}

/* Resolve as much of a path as exists: a state directory may not be there yet. */
static void place_init(struct place *place, const char *root, const char *path)
{
	char folder[PATH_MAX], resolved[PATH_MAX];
	struct stat st;

	text_copy(folder, sizeof(folder), path);
	text_copy(place->path, sizeof(place->path), path);
	while (folder[0] == '/') {
		char *slash = strrchr(folder, '/');

		if (guard_resolve(root, folder, &st, resolved) == 0) {
			const char *rest = path + (folder[1] ? strlen(folder) : 0);

			if (!resolved[1])
				resolved[0] = '\0';
			(void)snprintf(place->path, sizeof(place->path), "%.2000s%.2000s", resolved, rest);
			if (!place->path[0])
				text_copy(place->path, sizeof(place->path), "/");
			return;
		}
		slash[slash == folder && slash[1] ? 1 : 0] = '\0';
	}
}

/* The other way round: walk down from what a place lies on, through dm and md, to its disks. */
static bool place_is_on(const struct place *place, const struct mounts *mounts)
{
	struct blockdev disks[BLOCKDEV_MAX];
	char resolved[PATH_MAX];
	unsigned major = place->major, minor = place->minor;
	struct stat st;
	int count;

	if (!place->is_found)
		return false;
	if (major == 0 && place->source[0] == '/' &&
		guard_resolve(mounts->root, place->source, &st, resolved) == 0 && S_ISBLK(st.st_mode)) {
		major = major(st.st_rdev);
		minor = minor(st.st_rdev);
	}
	count = major ? blockdev_disks_below(mounts->root, makedev(major, minor), disks, BLOCKDEV_MAX) : 0;
	for (int i = 0; i < count; i++)
		if (strcmp(disks[i].name, mounts->name) == 0)
			return true;
	return false;
}

static void mounts_judge_places(struct mounts *mounts)
{
	struct text text = TEXT_INIT;

	for (size_t i = 0; i < PLACES; i++)
		if (mounts->place[i].path[0] && place_is_on(&mounts->place[i], mounts))
			text_addf(&text, "%s%s", text.length ? ", " : "",
				places[i] ? places[i] : "the state directory");
	if (text.length)
		guard_report_add(mounts->report, GUARD_HARD, "%s carries %s: never a target", mounts->name,
			text_string(&text));
	text_fini(&text);
}

void guard_check_mounts(const char *root, const char *name, const char *state_directory,
	const struct guard_backing *backing, struct guard_family *family, struct guard_report *report)
{
	struct mounts *mounts = calloc(1, sizeof(*mounts));

	if (!mounts) {
		guard_report_add(report, GUARD_HARD, "%s: out of memory while mounts are read", name);
		return;
	}
	mounts->root = root;
	mounts->name = name;
	mounts->backing = backing;
	mounts->family = family;
	mounts->report = report;
	for (size_t i = 0; i < PLACES; i++)
		if (places[i] || (state_directory && state_directory[0]))
			place_init(&mounts->place[i], root, places[i] ? places[i] : state_directory);
	mounts_read_all(mounts);
	mounts_judge_places(mounts);
	free(mounts->spaces);
	free(mounts);
}
