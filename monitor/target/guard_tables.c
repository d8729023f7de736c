/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <blkid/blkid.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <glob.h>
#include <libmount/libmount.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "target/guard_private.h"

/* Shorter serials stand in too many paths by chance. */
#define SERIAL_MIN 5

#define BAD_LINES_MAX 64

struct tables {
	const char *root, *name, *file; /* @file: what is read now */
	const char *const *uuids;
	struct guard_family *family;
	struct guard_names names;
	struct guard_report *report;
	int bad[BAD_LINES_MAX]; /* lines of fstab with mistakes */
	unsigned bad_count, bad_left_off;
};

/* mdadm writes a UUID as four words with colons, libblkid with dashes. */
static void hex_digits(const char *text, char *out, size_t size)
{
	size_t used = 0;

	for (; *text && used + 1 < size; text++)
		if (isxdigit((unsigned char)*text))
			out[used++] = (char)tolower((unsigned char)*text);
		else if (!strchr("-:", *text))
			used = size;
	out[used < size ? used : 0] = '\0';
}

/* Long labels are kept cut in @uuids. */
static bool is_ours(const struct tables *tables, const char *value)
{
	char digits[80], own[80];
	size_t kept = sizeof(((struct guard_contents *)NULL)->uuids[0]) - 1;

	hex_digits(value, digits, sizeof(digits));
	for (size_t i = 0; tables->uuids && tables->uuids[i]; i++) {
		if (strncmp(tables->uuids[i], value, kept) == 0)
			return true;
		hex_digits(tables->uuids[i], own, sizeof(own));
		if (strlen(digits) >= 8 && strcmp(digits, own) == 0)
			return true;
	}
	return false;
}

/* udev writes blanks and other characters of labels as \x20. */
static void unescape_udev(char *text)
{
	char *to = text;

	for (const char *from = text; *from; to++) {
		unsigned byte;

		if (from[0] == '\\' && from[1] == 'x' && isxdigit((unsigned char)from[2]) &&
			isxdigit((unsigned char)from[3]) && sscanf(from + 2, "%2x", &byte) == 1) {
			*to = (char)byte;
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
}

/* A link that isn't there (no udev, or the drive was away) still tells who is meant. One by UUID or label may lead to a
 * copy now and to this disk at the next boot. */
static bool is_named_by_link(const struct tables *tables, const char *path)
{
	char value[PATH_MAX], resolved[PATH_MAX];
	struct stat st;
	const char *wwid = strchr(tables->names.wwid, '.');

	text_copy(value, sizeof(value), strrchr(path, '/') + 1);
	if (strncmp(path, "/dev/disk/by-", 13) != 0)
		return false;
	if (strncmp(path + 13, "id/", 3) != 0) {
		unescape_udev(value);
		return is_ours(tables, value);
	}
	if (guard_resolve(tables->root, path, &st, resolved) == 0)
		return false;
	guard_fold(value);
	return (strlen(tables->names.serial) >= SERIAL_MIN && strstr(value, tables->names.serial)) ||
	       (wwid && strlen(wwid) > SERIAL_MIN && strstr(value, wwid + 1));
}

/* "UUID=…", "LABEL=…", "ID=…" or a path: does it mean the disk? */
static bool spec_is_ours(struct tables *tables, const char *spec)
{
	static const char *const tags[] = { "uuid", "label", "partuuid", "partlabel", "id" };
	char path[PATH_MAX], value[PATH_MAX], encoded[1024];
	const char *equals = strchr(spec, '=');
	size_t length;

	if (spec[0] == '/')
		return guard_family_find_path(tables->family, tables->root, spec) ||
		       is_named_by_link(tables, spec);
	for (size_t i = 0; equals && i < sizeof(tags) / sizeof(tags[0]); i++) {
		if ((size_t)(equals - spec) != strlen(tags[i]) ||
			strncasecmp(spec, tags[i], strlen(tags[i])) != 0)
			continue;
		text_copy(value, sizeof(value), equals[1] == '"' ? equals + 2 : equals + 1);
		length = strlen(value);
		if (equals[1] == '"' && length && value[length - 1] == '"')
			value[length - 1] = '\0';
		if (blkid_encode_string(value, encoded, sizeof(encoded)) < 0)
			text_copy(encoded, sizeof(encoded), value);
		(void)snprintf(path, sizeof(path), "/dev/disk/by-%s/%.1024s", tags[i], encoded);
		return is_ours(tables, value) || guard_family_find_path(tables->family, tables->root, path) ||
		       is_named_by_link(tables, path);
	}
	return false;
}

static void tables_refuse(struct tables *tables, const char *spec, const char *use)
{
	guard_report_add(tables->report, GUARD_HARD, "%s is named in %s (%.96s%s%.64s): remove that line",
		tables->name, tables->file, spec, use[0] ? ", " : "", use);
}

/* NULL: not there, or, with a finding, not readable. */
static FILE *tables_open(struct tables *tables, const char *file)
{
	char path[PATH_MAX], resolved[PATH_MAX];
	struct stat st;
	FILE *out;
	int rc = guard_resolve(tables->root, file, &st, resolved);

	tables->file = file;
	if (rc == -ENOENT || rc == -ENOTDIR)
		return NULL;
	(void)snprintf(path, sizeof(path), "%s%.3000s", tables->root, resolved);
	out = rc < 0 ? NULL : fopen(path, "re");
	if (!out)
		guard_report_add(tables->report, GUARD_HARD, "%s can't be read: %s", file,
			strerror(rc < 0 ? -rc : errno));
	return out;
}

/* Words of a line that name devices in passing: "header=/dev/sdb", "journal_path=UUID=…". */
static void judge_words(struct tables *tables, const char *words, const char *use)
{
	char *copy = strdup(words), *rest = copy, *word;

	while ((word = strsep(&rest, ",:"))) {
		char *value = strchr(word, '=');

		if (spec_is_ours(tables, word) || (value && spec_is_ours(tables, value + 1))) {
			tables_refuse(tables, word, use);
			break;
		}
	}
	free(copy);
}

static int fstab_on_error(struct libmnt_table *table, const char *file, int line)
{
	struct tables *tables = mnt_table_get_userdata(table);

	(void)file;
	if (tables->bad_count < BAD_LINES_MAX)
		tables->bad[tables->bad_count++] = line;
	else
		tables->bad_left_off++;
	return 1;
}

/* A line that libmount leaves out may still name the disk, and others read it. */
static void judge_bad_lines(struct tables *tables, FILE *file)
{
	char *line = NULL;
	size_t size = 0;

	rewind(file);
	for (int number = 1; tables->bad_count && getline(&line, &size, file) > 0; number++)
		for (unsigned i = 0; i < tables->bad_count; i++) {
			char *rest = line, *word;

			while (tables->bad[i] == number && (word = strsep(&rest, " \t\n,")))
				if (spec_is_ours(tables, word))
					tables_refuse(tables, word, "a line with a mistake");
		}
	free(line);
	if (tables->bad_left_off)
		guard_report_add(tables->report, GUARD_HARD,
			"/etc/fstab has %u lines with mistakes: correct them",
			tables->bad_left_off + BAD_LINES_MAX);
}

static void check_fstab(struct tables *tables)
{
	FILE *file = tables_open(tables, "/etc/fstab");
	struct libmnt_table *table = file ? mnt_new_table() : NULL;
	struct libmnt_iter *iter = file ? mnt_new_iter(MNT_ITER_FORWARD) : NULL;
	struct libmnt_fs *fs;

	if (!file)
		return;
	if (!table || !iter || mnt_table_set_userdata(table, tables) < 0 ||
		mnt_table_set_parser_errcb(table, fstab_on_error) < 0 ||
		mnt_table_parse_stream(table, file, "/etc/fstab") < 0)
		guard_report_add(tables->report, GUARD_HARD, "/etc/fstab can't be read to its end");
	while (table && iter && mnt_table_next_fs(table, iter, &fs) == 0) {
		const char *source = mnt_fs_get_source(fs), *options = mnt_fs_get_options(fs);
		const char *target = mnt_fs_get_target(fs);

		if (source && spec_is_ours(tables, source))
			tables_refuse(tables, source, target ? target : "");
		else if (options)
			judge_words(tables, options, target ? target : "");
	}
	judge_bad_lines(tables, file);
	mnt_free_iter(iter);
	mnt_unref_table(table);
	(void)fclose(file);
}

/* NAME SOURCE [KEY-FILE [OPTIONS]] */
static void judge_crypttab(struct tables *tables, char *line)
{
	char *rest = line, *fields[4] = { NULL };
	size_t count = 0;

	while (count < 4 && rest) {
		char *word = strsep(&rest, " \t\n");

		if (word[0])
			fields[count++] = word;
	}
	if (count < 2 || fields[0][0] == '#')
		return;
	guard_unescape(fields[1]);
	if (spec_is_ours(tables, fields[1])) {
		tables_refuse(tables, fields[1], fields[0]);
		return;
	}
	for (size_t i = 2; i < count; i++)
		judge_words(tables, fields[i], fields[0]);
}

/* DEVICE lines say where to look: only a literal name is meant for this disk. */
static bool is_mdadm_word_ours(struct tables *tables, const char *keyword, const char *word)
{
	const char *value = strchr(word, '=');
	char path[96];
	bool is_hit = false;

	if (strncasecmp(keyword, "dev", 3) == 0)
		return word[0] == '/' && spec_is_ours(tables, word);
	if (strncasecmp(keyword, "arr", 3) != 0 || !value)
		return false;
	if (strncasecmp(word, "devices=", 8) != 0)
		return (strncasecmp(word, "uuid=", 5) == 0 || strncasecmp(word, "name=", 5) == 0) &&
		       is_ours(tables, value + 1);
	/* a list of names and patterns */
	for (char *copy = strdup(value + 1), *rest = copy, *one; copy; copy = NULL) {
		while (!is_hit && (one = strsep(&rest, ","))) {
			is_hit = spec_is_ours(tables, one);
			for (unsigned i = 0; !is_hit && i < tables->family->count; i++) {
				(void)snprintf(
					path, sizeof(path), "/dev/%s", tables->family->members[i].name);
				is_hit = fnmatch(one, path, 0) == 0;
			}
		}
		free(copy);
	}
	return is_hit;
}

/* A line that begins with a blank goes on with the one before; @keyword (16 bytes) stays for it. */
static void judge_mdadm(struct tables *tables, char *line, char *keyword)
{
	bool is_more = isspace((unsigned char)line[0]) != 0;
	char *rest = line, *word;

	line[strcspn(line, "#\n")] = '\0';
	while ((word = strsep(&rest, " \t"))) {
		if (!word[0])
			continue;
		if (!is_more) {
			text_copy(keyword, 16, word);
			is_more = true;
		} else if (is_mdadm_word_ours(tables, keyword, word)) {
			tables_refuse(tables, word, keyword);
			return;
		}
	}
}

static void check_lines(struct tables *tables, const char *file_name, bool is_mdadm)
{
	FILE *file = tables_open(tables, file_name);
	char *line = NULL, keyword[16] = "";
	size_t size = 0;

	if (!file)
		return;
	while (getline(&line, &size, file) > 0) {
		if (is_mdadm)
			judge_mdadm(tables, line, keyword);
		else
			judge_crypttab(tables, line);
	}
	if (ferror(file))
		guard_report_add(tables->report, GUARD_HARD, "%s can't be read to its end", file_name);
	free(line);
	(void)fclose(file);
}

static void check_mdadm_folder(struct tables *tables, const char *folder)
{
	char pattern[PATH_MAX];
	glob_t found;

	(void)snprintf(pattern, sizeof(pattern), "%s%s/*.conf", tables->root, folder);
	if (glob(pattern, 0, NULL, &found) == 0)
		for (size_t i = 0; i < found.gl_pathc; i++)
			check_lines(tables, found.gl_pathv[i] + strlen(tables->root), true);
	globfree(&found);
}

/* ZFS shows no holders in sysfs: the name of an imported pool on a member is what tells. */
static void check_pools(struct tables *tables)
{
	char path[PATH_MAX];
	struct dirent *entry;
	DIR *pools;

	(void)snprintf(path, sizeof(path), "%s/proc/spl/kstat/zfs", tables->root);
	pools = opendir(path);
	while (pools && (entry = readdir(pools))) {
		if (entry->d_type == DT_REG || entry->d_name[0] == '.' || !is_ours(tables, entry->d_name))
			continue;
		guard_report_add(tables->report, GUARD_HARD,
			"%s carries the name of the imported ZFS pool %.64s: export it first", tables->name,
			entry->d_name);
	}
	if (pools)
		(void)closedir(pools);
}

void guard_check_tables(
	const char *root, const char *name, const char *const *uuids, struct guard_report *report)
{
	struct tables tables = { .root = root, .name = name, .uuids = uuids, .report = report };

	tables.family = guard_family_new(root, name, report);
	if (!tables.family)
		return;
	guard_names_read(root, name, &tables.names);
	check_fstab(&tables);
	check_lines(&tables, "/etc/crypttab", false);
	check_lines(&tables, "/etc/mdadm/mdadm.conf", true);
	check_lines(&tables, "/etc/mdadm.conf", true);
	check_mdadm_folder(&tables, "/etc/mdadm/mdadm.conf.d");
	check_mdadm_folder(&tables, "/etc/mdadm.conf.d");
	check_pools(&tables);
	free(tables.family);
}
