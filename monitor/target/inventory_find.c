/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/text.h"
#include "target/inventory.h"
#include "target/inventory_private.h"

bool inventory_matches(const struct identity *identity, const char *serial, const char *wwid)
{
	bool has_serial = serial[0] && identity->serial[0], has_wwid = wwid[0] && identity->wwid[0];

	if (has_serial && strcmp(serial, identity->serial) != 0)
		return false;
	if (has_wwid && !identity_wwid_matches(wwid, identity->wwid))
		return false;
	return has_serial || has_wwid;
}

static void keep_name(const char *path, char *name)
{
	const char *slash = strrchr(path, '/');

	text_copy(name, INVENTORY_NAME_MAX, slash ? slash + 1 : path);
}

/* The kernel name of what @device leads to. A recorded tree has links but no nodes: there the link's text tells. */
static bool follow(const char *root, const char *device, char *name)
{
	char path[PATH_MAX], to[PATH_MAX];
	struct stat st;
	ssize_t length;

	if (!device[0] || snprintf(path, sizeof(path), "%s%s", root, device) >= (int)sizeof(path))
		return false;
	if (stat(path, &st) == 0 && S_ISBLK(st.st_mode)) {
		(void)snprintf(path, sizeof(path), "%s/sys/dev/block/%u:%u", root, major(st.st_rdev),
			minor(st.st_rdev));
		if (!realpath(path, to))
			return false;
		keep_name(to, name);
		return true;
	}
	length = readlink(path, to, sizeof(to) - 1);
	if (length <= 0)
		return false;
	to[length] = '\0';
	keep_name(to, name);
	return true;
}

static bool is_there(const char *root, const char *folder, const char *name)
{
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/sys/%s/%s", root, folder, name);
	return access(path, F_OK) == 0;
}

/* Where the link leads, unless nothing is there; -ENOENT for what is no whole disk, which no other drive of this
 * identity makes good. */
static int find_link(const char *root, const char *device, char *name, char *why)
{
	name[0] = '\0';
	if (!follow(root, device, name) || !is_there(root, "class/block", name)) {
		(void)snprintf(why, GUARD_TEXT_MAX, "%s is not there", device);
		name[0] = '\0';
	} else if (!is_there(root, "block", name)) {
		(void)snprintf(
			why, GUARD_TEXT_MAX, "%s is the partition %s: give the whole disk", device, name);
		return -ENOENT;
	} else if (inventory_is_no_disk(name)) {
		(void)snprintf(why, GUARD_TEXT_MAX, "%s is %s, which is no disk of its own", device, name);
		return -ENOENT;
	} else if (inventory_is_empty(root, name)) {
		(void)snprintf(why, GUARD_TEXT_MAX, "%s has no medium, or no file attached", device);
		name[0] = '\0';
	}
	return 0;
}

/* How many disks have the identity; the first two in @first and @second. */
static int find_identity(const char *root, const char *serial, const char *wwid, char *first, char *second)
{
	char(*names)[INVENTORY_NAME_MAX] = NULL;
	struct identity identity;
	size_t count = 0;
	int rc = inventory_names(root, &names, &count), found = 0;

	for (size_t i = 0; rc == 0 && i < count; i++) {
		identity_from_sysfs(root, names[i], &identity);
		if (!inventory_matches(&identity, serial, wwid))
			continue;
		if (++found <= 2)
			text_copy(found == 1 ? first : second, INVENTORY_NAME_MAX, names[i]);
	}
	free(names);
	return rc < 0 ? rc : found;
}

int inventory_find(
	const char *root, const char *device, const char *serial, const char *wwid, char *name, char *why)
{
	char linked[INVENTORY_NAME_MAX], first[INVENTORY_NAME_MAX] = "", second[INVENTORY_NAME_MAX] = "";
	int rc = find_link(root, device, linked, why), found;

	if (rc < 0)
		return rc;
	found = serial[0] || wwid[0] ? find_identity(root, serial, wwid, first, second) : 0;
	if (found > 1) {
		(void)snprintf(why, GUARD_TEXT_MAX, "%s and %s both have the %s %.100s%s", first, second,
			serial[0] ? "serial" : "wwid", serial[0] ? serial : wwid,
			wwid[0] ? "" : ": give the wwid of the one that is meant");
		return -EEXIST;
	}
	if (found < 0 && !linked[0]) {
		(void)snprintf(why, GUARD_TEXT_MAX, "/sys/block can't be read: %s", strerror(-found));
		return -ENOENT;
	}
	if (found != 1 && !linked[0]) {
		if (serial[0] || wwid[0])
			(void)snprintf(why + strlen(why), GUARD_TEXT_MAX - strlen(why),
				", and no disk has the %s %.100s", serial[0] ? "serial" : "wwid",
				serial[0] ? serial : wwid);
		return -ENOENT;
	}
	text_copy(name, INVENTORY_NAME_MAX, found == 1 ? first : linked);
	return 0;
}
