/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/sysfs.h"
#include "base/text.h"
#include "target/guard_private.h"

#define OPENS_MAX 256
#define CHAIN_MAX 64

/* One descriptor of a process that leads to the disk. */
struct opening {
	int pid, fd;
	const struct guard_member *member;
	unsigned looks; /* in how many it was seen */
	bool is_udev;
};

struct openers {
	const char *root;
	struct guard_family *family;
	struct opening list[OPENS_MAX];
	unsigned count, left_off, unreadable, look;
	int own;
};

static int process_parent(const char *root, int pid)
{
	char line[512];
	const char *end;
	int parent;

	if (sysfs_read_text(line, sizeof(line), root, "/proc/%d/stat", pid) < 0)
		return 0;
	/* The name before it may hold anything, brackets too. */
	end = strrchr(line, ')');
	return end && sscanf(end + 1, " %*c %d", &parent) == 1 ? parent : 0;
}

static bool is_own(const struct openers *openers, int pid)
{
	for (int i = 0; pid > 1 && i < CHAIN_MAX; i++) {
		if (pid == openers->own)
			return true;
		pid = process_parent(openers->root, pid);
	}
	return false;
}

/* Since systemd 252 the workers are called otherwise. */
static bool is_udev(const char *root, int pid)
{
	char name[32];

	(void)sysfs_read_text(name, sizeof(name), root, "/proc/%d/comm", pid);
	return strcmp(name, "systemd-udevd") == 0 || strcmp(name, "(udev-worker)") == 0;
}

static void openers_note(struct openers *openers, int pid, int fd, const struct guard_member *member)
{
	bool is_known = false;

	for (unsigned i = 0; i < openers->count; i++) {
		struct opening *opening = &openers->list[i];

		/* udev opens and closes after every writer; others may use another descriptor in each look. */
		if (opening->pid != pid || (opening->is_udev && opening->fd != fd))
			continue;
		opening->looks = openers->look;
		is_known = is_known || opening->fd == fd;
	}
	if (is_known || openers->look > 1 || is_own(openers, pid))
		return;
	if (openers->count == OPENS_MAX) {
		openers->left_off++;
		return;
	}
	openers->list[openers->count++] = (struct opening){
		.pid = pid,
		.fd = fd,
		.member = member,
		.looks = openers->look,
		.is_udev = is_udev(openers->root, pid),
	};
}

/* Which member of the family does this descriptor lead to? *@is_denied: it can't be told. */
static const struct guard_member *descriptor_member(
	const struct openers *openers, int folder, const char *name, bool *is_denied)
{
	char link[PATH_MAX];
	struct statx st;
	ssize_t length = readlinkat(folder, name, link, sizeof(link) - 1);

	*is_denied = *is_denied || (length < 0 && (errno == EACCES || errno == EPERM));
	/* Pipes and sockets have no path; the rest must not be asked over a network. */
	if (length <= 0 || link[0] != '/')
		return NULL;
	link[length] = '\0';
	if (openers->root[0])
		return guard_family_find_path(openers->family, openers->root, link);
	if (statx(folder, name, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_TYPE, &st) < 0 ||
		(!S_ISBLK(st.stx_mode) && !S_ISCHR(st.stx_mode)))
		return NULL;
	return guard_family_find(
		openers->family, st.stx_rdev_major, st.stx_rdev_minor, S_ISCHR(st.stx_mode) != 0);
}

static void openers_look_into(struct openers *openers, const char *process)
{
	char path[PATH_MAX];
	struct dirent *entry;
	bool is_denied = false;
	DIR *folder;

	(void)snprintf(path, sizeof(path), "%s/proc/%.16s/fd", openers->root, process);
	folder = opendir(path);
	is_denied = !folder && (errno == EACCES || errno == EPERM);
	while (folder && (entry = readdir(folder))) {
		const struct guard_member *member;

		if (entry->d_name[0] == '.')
			continue;
		member = descriptor_member(openers, dirfd(folder), entry->d_name, &is_denied);
		if (member)
			openers_note(openers, atoi(process), atoi(entry->d_name), member);
	}
	if (folder)
		(void)closedir(folder);
	/* The first process of containers and small VMs may hide from root too; nobody could ever look into it. */
	if (is_denied && openers->look == 1 && (geteuid() != 0 || strcmp(process, "1") != 0))
		openers->unreadable++;
}

/* False when /proc can't be read. */
static bool openers_look(struct openers *openers)
{
	char path[PATH_MAX];
	struct dirent *entry;
	unsigned kept = 0, processes = 0;
	DIR *folder;

	openers->look++;
	(void)snprintf(path, sizeof(path), "%s/proc", openers->root);
	folder = opendir(path);
	while (folder && (entry = readdir(folder)))
		if (isdigit((unsigned char)entry->d_name[0])) {
			processes++;
			openers_look_into(openers, entry->d_name);
		}
	if (folder)
		(void)closedir(folder);
	for (unsigned i = 0; i < openers->count; i++)
		if (openers->list[i].looks == openers->look)
			openers->list[kept++] = openers->list[i];
	openers->count = kept;
	return processes > 0;
}

static void user_name(const char *root, int pid, char *out, size_t size)
{
	char path[PATH_MAX], buffer[1024];
	struct passwd entry, *user;
	struct stat st;
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/proc/%d", root, pid);
	if (stat(path, &st) < 0) {
		text_copy(out, size, "unknown");
		return;
	}
	(void)snprintf(out, size, "%u", st.st_uid);
	(void)snprintf(path, sizeof(path), "%s/etc/passwd", root);
	file = fopen(path, "re");
	while (file && fgetpwent_r(file, &entry, buffer, sizeof(buffer), &user) == 0)
		if (user->pw_uid == st.st_uid) {
			text_copy(out, size, user->pw_name);
			break;
		}
	if (file)
		(void)fclose(file);
}

/* One finding for each process and member. */
static void openers_report(const struct openers *openers, struct guard_report *report)
{
	for (unsigned i = 0; i < openers->count; i++) {
		const struct opening *opening = &openers->list[i];
		char name[32], user[40];
		bool is_told = false;

		for (unsigned j = 0; j < i; j++)
			is_told = is_told || (openers->list[j].pid == opening->pid &&
						     openers->list[j].member == opening->member);
		if (is_told)
			continue;
		(void)sysfs_read_text(name, sizeof(name), openers->root, "/proc/%d/comm", opening->pid);
		user_name(openers->root, opening->pid, user, sizeof(user));
		guard_report_add(report, GUARD_HARD, "%s is open in PID %d (%s) of user %s: end it",
			opening->member->name, opening->pid, name, user);
	}
	if (openers->left_off)
		guard_report_add(report, GUARD_HARD, "more than %d descriptors lead to %s", OPENS_MAX,
			openers->family->members[0].name);
}

static void openers_look_repeatedly(
	struct openers *openers, unsigned looks, uint64_t pause_ns, struct guard_report *report)
{
	const struct timespec pause = { .tv_sec = (time_t)(pause_ns / 1000000000),
		.tv_nsec = (long)(pause_ns % 1000000000) };
	const char *name = openers->family->members[0].name;
	bool is_readable = openers_look(openers);

	/* Nobody who must be seen in every look can come later. */
	while (is_readable && openers->look < looks && (openers->count || openers->left_off)) {
		(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
		is_readable = openers_look(openers);
	}
	if (!is_readable)
		guard_report_add(
			report, GUARD_HARD, "no processes in /proc: who has %s open is unknown", name);
	else if (!openers->root[0] && access("/proc/1/stat", F_OK) < 0)
		guard_report_add(report, GUARD_HARD,
			"/proc hides the processes of others (hidepid): who has %s open is unknown", name);
	if (openers->unreadable)
		guard_report_add(report, GUARD_HARD,
			"%u processes can't be looked into: run as root (with CAP_SYS_PTRACE), else who has "
			"%s open "
			"is unknown",
			openers->unreadable, name);
}

void guard_check_openers(
	const char *root, const char *name, unsigned looks, uint64_t pause_ns, struct guard_report *report)
{
	struct openers *openers = calloc(1, sizeof(*openers));

	if (!openers) {
		guard_report_add(report, GUARD_HARD, "%s: out of memory while openers are sought", name);
		return;
	}
	openers->root = root;
	openers->own = getpid();
	openers->family = guard_family_new(root, name, report);
	if (openers->family) {
		openers_look_repeatedly(openers, looks, pause_ns, report);
		openers_report(openers, report);
	}
	free(openers->family);
	free(openers);
}
