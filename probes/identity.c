/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probes/identity.h"

#include <errno.h>
#include <linux/fs.h>
#include <linux/loop.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/sysfs.h"
#include "probes/identity_private.h"

static bool is_blank(uint8_t byte)
{
	return byte == '\0' || byte == ' ' || (byte >= '\t' && byte <= '\r');
}

void identity_text(char *out, size_t size, const void *bytes, size_t length)
{
	const uint8_t *from = bytes;
	size_t count = 0;

	while (length && is_blank(from[length - 1]))
		length--;
	while (length && is_blank(*from)) {
		from++;
		length--;
	}
	for (; count < length && count + 1 < size; count++)
		out[count] = (char)(from[count] >= ' ' && from[count] <= '~' ? from[count] : '?');
	out[count] = '\0';
}

void identity_serial(char *out, size_t size, const void *bytes, size_t length)
{
	identity_text(out, size, bytes, length);
	if (out[strspn(out, "0 ?-")] == '\0')
		out[0] = '\0';
}

/* Vendors that burn no number in leave it all zeros or all ones; behind "naa." the first digit is only a type. */
static bool is_telling(const char *wwid)
{
	const char *dot = strchr(wwid, '.');
	const char *digits = dot ? dot + 1 : wwid;

	if (strncmp(wwid, "naa.", 4) == 0 && *digits)
		digits++;
	return digits[strspn(digits, "0- ?")] && digits[strspn(digits, "fF-")];
}

void identity_wwids_add(struct identity_wwids *wwids, unsigned rank, const char *text)
{
	size_t at = wwids->count;

	if (wwids->count == IDENTITY_WWIDS_MAX || !is_telling(text))
		return;
	for (; at > 0 && wwids->rank[at - 1] < rank; at--) {
		wwids->rank[at] = wwids->rank[at - 1];
		memcpy(wwids->text[at], wwids->text[at - 1], sizeof(wwids->text[at]));
	}
	wwids->rank[at] = rank;
	(void)snprintf(wwids->text[at], sizeof(wwids->text[at]), "%s", text);
	wwids->count++;
}

void identity_wwids_add_hex(
	struct identity_wwids *wwids, unsigned rank, const char *prefix, const uint8_t *bytes, size_t length)
{
	char text[IDENTITY_TEXT_MAX];
	size_t used = (size_t)snprintf(text, sizeof(text), "%.8s", prefix);

	for (size_t i = 0; i < length && used + 3 <= sizeof(text); i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%02x", bytes[i]);
	identity_wwids_add(wwids, rank, text);
}

void identity_wwids_pick(const struct identity_wwids *wwids, const char *sysfs, char *out)
{
	const char *best = wwids->count ? wwids->text[0] : "";

	for (size_t i = 0; i < wwids->count; i++)
		if (strcasecmp(wwids->text[i], sysfs) == 0)
			best = sysfs;
	(void)snprintf(out, IDENTITY_TEXT_MAX, "%s", best);
}

int identity_fail(int error, const char *command, char *why)
{
	(void)snprintf(why, IDENTITY_WHY_MAX, "the drive does not answer %s: %s", command, strerror(error));
	return error == ENODEV || error == ENXIO ? -error : -EIO;
}

static int read_loop(int fd, struct identity *out, char *why)
{
	struct loop_info64 info;

	if (ioctl(fd, LOOP_GET_STATUS64, &info) < 0)
		return identity_fail(errno, "LOOP_GET_STATUS64", why);
	out->backing_device = info.lo_device;
	out->backing_inode = info.lo_inode;
	(void)snprintf(out->source, sizeof(out->source), "loop");
	return 0;
}

/* The node behind the descriptor is the device of this name, now. */
static int check_name(const char *root, int fd, const char *name, char *why)
{
	char wanted[32], found[32];
	struct stat st;

	if (fstat(fd, &st) < 0)
		return identity_fail(errno, "fstat", why);
	(void)snprintf(wanted, sizeof(wanted), "%u:%u", major(st.st_rdev), minor(st.st_rdev));
	if (S_ISBLK(st.st_mode) &&
		sysfs_read_text(found, sizeof(found), root, "/sys/class/block/%s/dev", name) == 0 &&
		strcmp(wanted, found) == 0)
		return 0;
	(void)snprintf(
		why, IDENTITY_WHY_MAX, "%s is gone, or another device than the one that is open", name);
	return -ENODEV;
}

static int read_sizes(int fd, struct identity *out, char *why)
{
	int logical = 0, read_only = 0;
	unsigned physical = 0;

	if (ioctl(fd, BLKGETSIZE64, &out->capacity_bytes) < 0 || ioctl(fd, BLKSSZGET, &logical) < 0 ||
		ioctl(fd, BLKPBSZGET, &physical) < 0 || ioctl(fd, BLKROGET, &read_only) < 0)
		return identity_fail(errno, "its size", why);
	out->logical_block_bytes = (uint32_t)logical;
	out->physical_block_bytes = physical;
	out->is_read_only |= read_only != 0;
	return 0;
}

/* What the drive itself says replaces what sysfs does. @sysfs stays where the drive can't be asked. */
static int read_drive(const char *root, int fd, const char *name, const struct identity *sysfs,
	struct identity *out, char *why)
{
	struct identity_wwids wwids = { .count = 0 };
	struct identity drive = *sysfs;
	int rc;

	drive.serial[0] = drive.model[0] = drive.firmware[0] = '\0';
	if (strncmp(name, "nvme", 4) == 0)
		rc = identity_nvme_read(fd, &drive, &wwids, why);
	else if (strncmp(name, "sd", 2) == 0)
		rc = identity_scsi_read(fd, identity_sysfs_is_usb(root, name), &drive, &wwids, why);
	else
		rc = -ENOTTY;
	if (rc == 0) {
		identity_wwids_pick(&wwids, sysfs->wwid, drive.wwid);
		if (drive.is_bridge_only && !drive.serial[0])
			memcpy(drive.serial, sysfs->serial, sizeof(drive.serial));
		*out = drive;
	} else if (rc == -ENOTTY) {
		*out = *sysfs;
		rc = 0;
	}
	return rc;
}

int identity_read(const char *root, int fd, const char *name, struct identity *out, char *why)
{
	struct identity sysfs, found;
	int rc = check_name(root, fd, name, why);

	if (rc < 0)
		return rc;
	identity_from_sysfs(root, name, &sysfs);
	if (strncmp(name, "loop", 4) == 0) {
		found = sysfs;
		rc = read_loop(fd, &found, why);
	} else {
		rc = read_drive(root, fd, name, &sysfs, &found, why);
	}
	if (rc == 0)
		rc = read_sizes(fd, &found, why);
	/* A drive that went away in between has left the answers of two. */
	if (rc == 0)
		rc = check_name(root, fd, name, why);
	if (rc == 0)
		*out = found;
	return rc;
}

static bool is_same_where_known(const char *a, const char *b)
{
	return !a[0] || !b[0] || strcmp(a, b) == 0;
}

/* SCSI answers hold 16 characters of the model, the drive's own pages 40. */
static bool is_same_model(const struct identity *a, const struct identity *b)
{
	size_t shorter = strlen(a->model) < strlen(b->model) ? strlen(a->model) : strlen(b->model);

	if (strcmp(a->source, b->source) == 0 || shorter < 8)
		return is_same_where_known(a->model, b->model);
	return strncmp(a->model, b->model, shorter) == 0;
}

static bool is_same_number(uint64_t a, uint64_t b)
{
	return a == 0 || b == 0 || a == b;
}

bool identity_is_same(const struct identity *a, const struct identity *b)
{
	bool shares_serial = a->serial[0] && strcmp(a->serial, b->serial) == 0;
	bool shares_wwid = identity_wwid_matches(a->wwid, b->wwid);

	return (shares_serial || shares_wwid) && is_same_where_known(a->serial, b->serial) &&
	       (shares_wwid || !a->wwid[0] || !b->wwid[0]) && is_same_model(a, b) &&
	       is_same_number(a->capacity_bytes, b->capacity_bytes) &&
	       is_same_number(a->backing_device, b->backing_device) &&
	       is_same_number(a->backing_inode, b->backing_inode);
}

/* The digits behind what names their kind. */
static const char *wwid_digits(const char *wwid)
{
	static const char *const kinds[] = { "naa.", "eui.", "uuid." };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strncasecmp(wwid, kinds[i], strlen(kinds[i])) == 0)
			return wwid + strlen(kinds[i]);
	return NULL;
}

bool identity_wwid_matches(const char *wanted, const char *wwid)
{
	const char *digits = wwid_digits(wwid);

	if (!wanted[0] || !wwid[0])
		return false;
	if (strcasecmp(wanted, wwid) == 0)
		return true;
	if (strncasecmp(wanted, "wwn-", 4) == 0)
		wanted += 4;
	if (strncasecmp(wanted, "0x", 2) == 0)
		wanted += 2;
	return digits && wanted[0] && strcasecmp(wanted, digits) == 0;
}
