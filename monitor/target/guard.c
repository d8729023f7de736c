/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/guard.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/sysfs.h"
#include "base/text.h"
#include "target/guard_private.h"

/* A hard finding must never be lost behind soft ones. */
static struct guard_finding *finding_make_room(struct guard_report *report, enum guard_severity severity)
{
	if (report->count < GUARD_FINDINGS_MAX)
		return &report->findings[report->count++];
	report->left_off++;
	if (severity != GUARD_HARD)
		return NULL;
	for (unsigned i = report->count; i-- > 0;)
		if (report->findings[i].severity == GUARD_SOFT)
			return &report->findings[i];
	return NULL;
}

void guard_report_add(struct guard_report *report, enum guard_severity severity, const char *format, ...)
{
	struct guard_finding *finding = finding_make_room(report, severity);
	va_list args;

	if (!finding)
		return;
	finding->severity = severity;
	va_start(args, format);
	(void)vsnprintf(finding->text, sizeof(finding->text), format, args);
	va_end(args);
	guard_clean(finding->text);
}

bool guard_report_is_refused(const struct guard_report *report)
{
	for (unsigned i = 0; i < report->count; i++)
		if (report->findings[i].severity == GUARD_HARD)
			return true;
	return false;
}

void guard_report_text(
	const struct guard_report *report, enum guard_severity severity, char *out, size_t size)
{
	struct text text = TEXT_INIT;

	for (unsigned i = 0; i < report->count; i++)
		if (report->findings[i].severity == severity)
			text_addf(&text, "%s%s", text.length ? "; " : "", report->findings[i].text);
	if (report->left_off && text.length)
		text_addf(&text, "; and %u more", report->left_off);
	text_keep(out, size, &text);
}

void guard_clean(char *text)
{
	for (char *c = text; *c; c++)
		if (*c < 0x20 || *c > 0x7e)
			*c = '?';
}

void guard_fold(char *text)
{
	char *to = text;

	for (const char *from = text; *from; from++) {
		bool is_blank = isspace((unsigned char)*from) || *from == '_';

		if (!is_blank)
			*to++ = (char)tolower((unsigned char)*from);
		else if (to > text && to[-1] != '_')
			*to++ = '_';
	}
	if (to > text && to[-1] == '_')
		to--;
	*to = '\0';
}

static bool is_octal(char c)
{
	return c >= '0' && c <= '7';
}

void guard_unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from; to++) {
		if (from[0] == '\\' && is_octal(from[1]) && is_octal(from[2]) && is_octal(from[3])) {
			*to = (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 | (from[3] - '0'));
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
}

/* The kernel resolves links as if @root were "/": a fixture tree can't lead out into the real one. */
int guard_resolve(const char *root, const char *path, struct stat *st, char *resolved)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT };
	char link[64], real_root[PATH_MAX] = "", out[PATH_MAX];
	int folder = open(root[0] ? root : "/", O_PATH | O_DIRECTORY | O_CLOEXEC), fd = -1, rc = 0;
	ssize_t length;
	size_t skip = 0;

	/* A rename elsewhere while ".." is resolved gives EAGAIN. */
	for (int i = 0; folder >= 0 && fd < 0 && i < 16; i++) {
		fd = (int)syscall(SYS_openat2, folder, path, &how, sizeof(how));
		rc = fd < 0 ? -errno : 0;
		if (rc != -EAGAIN)
			break;
	}
	if (folder < 0)
		return -ENOENT;
	(void)close(folder);
	if (fd < 0)
		return rc;
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, out, sizeof(out) - 1);
	if (fstat(fd, st) < 0 || length < 0)
		rc = -errno;
	(void)close(fd);
	if (rc < 0)
		return rc;
	out[length] = '\0';
	if (root[0] && realpath(root, real_root) && strncmp(out, real_root, strlen(real_root)) == 0)
		skip = strlen(real_root);
	text_copy(resolved, PATH_MAX, out + skip);
	return 0;
}

struct guard_member *guard_family_find(
	struct guard_family *family, unsigned major, unsigned minor, bool is_character)
{
	for (unsigned i = 0; i < family->count; i++) {
		struct guard_member *member = &family->members[i];

		if (member->major == major && member->minor == minor && (major || minor) &&
			(member->kind == GUARD_NODE) == is_character)
			return member;
	}
	return NULL;
}

static struct guard_member *family_find_name(struct guard_family *family, const char *name)
{
	for (unsigned i = 0; i < family->count; i++)
		if (strcmp(family->members[i].name, name) == 0)
			return &family->members[i];
	return NULL;
}

/* "/dev/cciss/c0d0" is "cciss!c0d0" in sysfs. */
static struct guard_member *family_find_node(struct guard_family *family, const char *path)
{
	char name[64];

	if (strncmp(path, "/dev/", 5) != 0 || strlen(path + 5) >= sizeof(name))
		return NULL;
	text_copy(name, sizeof(name), path + 5);
	for (char *c = name; *c; c++)
		if (*c == '/')
			*c = '!';
	return family_find_name(family, name);
}

struct guard_member *guard_family_find_path(struct guard_family *family, const char *root, const char *path)
{
	char resolved[PATH_MAX];
	struct stat st;

	if (path[0] != '/')
		return NULL;
	/* What can't be followed is taken by its name. */
	if (guard_resolve(root, path, &st, resolved) < 0)
		return family_find_node(family, path);
	if (S_ISBLK(st.st_mode) || S_ISCHR(st.st_mode))
		return guard_family_find(
			family, major(st.st_rdev), minor(st.st_rdev), S_ISCHR(st.st_mode) != 0);
	return root[0] ? family_find_node(family, resolved) : NULL;
}

struct guard_member *guard_family_find_in_text(
	struct guard_family *family, const char *root, const char *text)
{
	char *copy = strdup(text), *rest = copy, *word;
	struct guard_member *found = NULL;

	while (!found && (word = strsep(&rest, ",=")))
		/* by-path links have colons in them: the whole comes first. */
		if (word[0] == '/')
			found = guard_family_find_path(family, root, word);
	free(copy);
	copy = strdup(text);
	rest = copy;
	while (!found && (word = strsep(&rest, ",=:")))
		if (word[0] == '/')
			found = guard_family_find_path(family, root, word);
	free(copy);
	return found;
}

struct growth {
	const char *root;
	struct guard_family *family;
	bool is_cut;
};

static void family_add(
	struct growth *growth, const char *folder, const struct guard_member *like, unsigned depth);

static void family_add_holders(
	struct growth *growth, const char *folder, const struct guard_member *member, unsigned depth)
{
	char path[PATH_MAX];
	struct dirent *entry;
	DIR *holders;

	(void)snprintf(path, sizeof(path), "%s%s/holders", growth->root, folder);
	holders = opendir(path);
	while (holders && (entry = readdir(holders))) {
		struct guard_member holder = { .kind = GUARD_HOLDER };

		if (entry->d_name[0] == '.')
			continue;
		text_copy(holder.name, sizeof(holder.name), entry->d_name);
		text_copy(holder.below, sizeof(holder.below), member->name);
		(void)snprintf(path, sizeof(path), "/sys/block/%s", holder.name);
		family_add(growth, path, &holder, depth + 1);
	}
	if (holders)
		(void)closedir(holders);
}

static void family_add_partitions(
	struct growth *growth, const char *folder, const struct guard_member *member, unsigned depth)
{
	char path[PATH_MAX];
	struct dirent *entry;
	DIR *disk;

	(void)snprintf(path, sizeof(path), "%s%s", growth->root, folder);
	disk = opendir(path);
	while (disk && (entry = readdir(disk))) {
		struct guard_member partition = { .kind = GUARD_PARTITION };

		(void)snprintf(path, sizeof(path), "%s%s/%s/partition", growth->root, folder, entry->d_name);
		if (entry->d_name[0] == '.' || access(path, F_OK) < 0)
			continue;
		text_copy(partition.name, sizeof(partition.name), entry->d_name);
		text_copy(partition.below, sizeof(partition.below), member->name);
		(void)snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		family_add(growth, path, &partition, depth + 1);
	}
	if (disk)
		(void)closedir(disk);
}

static void family_add(
	struct growth *growth, const char *folder, const struct guard_member *like, unsigned depth)
{
	struct guard_family *family = growth->family;
	struct guard_member *member;
	char number[32];

	if (family_find_name(family, like->name))
		return;
	if (family->count == GUARD_FAMILY_MAX || depth > GUARD_DEPTH_MAX) {
		growth->is_cut = true;
		return;
	}
	member = &family->members[family->count++];
	*member = *like;
	if (sysfs_read_text(number, sizeof(number), growth->root, "%s/dev", folder) < 0 ||
		sscanf(number, "%u:%u", &member->major, &member->minor) != 2)
		growth->is_cut = growth->is_cut || member->kind != GUARD_HOLDER;
	if (member->kind == GUARD_NODE)
		return;
	if (member->kind != GUARD_PARTITION)
		family_add_partitions(growth, folder, member, depth);
	family_add_holders(growth, folder, member, depth);
}

/* Character devices that reach the disk past its block device. */
static void family_add_nodes(struct growth *growth, const char *name)
{
	static const struct {
		const char *folder, *prefix;
	} kinds[] = {
		{ "/sys/block/%s/device/scsi_generic", "" }, { "/sys/block/%s/device/bsg", "bsg!" },
		{ "/sys/block/%s/device/nvme-generic", "" },
		{ "/sys/class/nvme-generic", "" }, /* where the head of a multipath has it */
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		char folder[PATH_MAX], path[PATH_MAX], generic[64];
		struct dirent *entry;
		DIR *list;

		if (i < 3)
			(void)snprintf(folder, sizeof(folder), "/sys/block/%s/device/%s", name,
				strrchr(kinds[i].folder, '/') + 1);
		else
			text_copy(folder, sizeof(folder), kinds[i].folder);
		(void)snprintf(generic, sizeof(generic), "ng%.48s", strncmp(name, "nvme", 4) ? "" : name + 4);
		(void)snprintf(path, sizeof(path), "%s%s", growth->root, folder);
		list = opendir(path);
		while (list && (entry = readdir(list))) {
			struct guard_member node = { .kind = GUARD_NODE };

			if (entry->d_name[0] == '.' || (i >= 2 && strcmp(entry->d_name, generic) != 0))
				continue;
			(void)snprintf(
				node.name, sizeof(node.name), "%s%.48s", kinds[i].prefix, entry->d_name);
			text_copy(node.below, sizeof(node.below), name);
			(void)snprintf(path, sizeof(path), "%s/%.64s", folder, entry->d_name);
			family_add(growth, path, &node, GUARD_DEPTH_MAX);
		}
		if (list)
			(void)closedir(list);
	}
}

struct guard_family *guard_family_new(const char *root, const char *name, struct guard_report *report)
{
	struct growth growth = { .root = root, .family = calloc(1, sizeof(*growth.family)) };
	struct guard_member disk = { .kind = GUARD_DISK };
	char path[128];

	if (!growth.family) {
		guard_report_add(report, GUARD_HARD, "%s: out of memory while it is looked at", name);
		return NULL;
	}
	text_copy(disk.name, sizeof(disk.name), name);
	(void)snprintf(path, sizeof(path), "/sys/block/%.64s", name);
	family_add(&growth, path, &disk, 0);
	family_add_nodes(&growth, name);
	if (growth.is_cut) {
		guard_report_add(report, GUARD_HARD,
			"%s: %s does not tell all that is made of it, so it can't be cleared", name, path);
		free(growth.family);
		return NULL;
	}
	return growth.family;
}

/* The serial of a SCSI disk as its page 80h has it: four bytes, then text that need not end. */
static void read_page_80(const char *root, const char *name, char *out, size_t size)
{
	char path[PATH_MAX], page[160] = "";
	ssize_t got;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/sys/block/%s/device/vpd_pg80", root, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	got = read(fd, page, sizeof(page) - 1);
	(void)close(fd);
	if (got > 4)
		text_copy(out, size, page + 4);
}

/* "eui.0000000000000000" and an empty serial say nothing about who it is. */
static void name_finish(char *text)
{
	const char *digits = strrchr(text, '.') ? strrchr(text, '.') + 1 : text;

	guard_fold(text);
	guard_clean(text);
	if (digits[strspn(digits, "0_x-")] == '\0')
		text[0] = '\0';
}

void guard_names_read(const char *root, const char *name, struct guard_names *out)
{
	static const char *const wwids[] = { "wwid", "device/wwid" };
	static const char *const serials[] = { "serial", "device/serial" };

	*out = (struct guard_names){ 0 };
	for (size_t i = 0; i < 2 && !out->wwid[0]; i++)
		(void)sysfs_read_text(out->wwid, sizeof(out->wwid), root, "/sys/block/%s/%s", name, wwids[i]);
	for (size_t i = 0; i < 2 && !out->serial[0]; i++)
		(void)sysfs_read_text(
			out->serial, sizeof(out->serial), root, "/sys/block/%s/%s", name, serials[i]);
	if (!out->serial[0])
		read_page_80(root, name, out->serial, sizeof(out->serial));
	(void)sysfs_read_text(out->model, sizeof(out->model), root, "/sys/block/%s/device/model", name);
	name_finish(out->wwid);
	name_finish(out->serial);
	name_finish(out->model);
}
