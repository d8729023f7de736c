/* SPDX-License-Identifier: GPL-2.0-or-later */
/* guard_private.h - what the guard's checks share: the family of a disk, and paths below the root. One thread. */
#ifndef DRIVESOAK_GUARD_PRIVATE_H
#define DRIVESOAK_GUARD_PRIVATE_H

#include <stdbool.h>
#include <sys/stat.h>

#include "target/guard.h"

enum guard_kind {
	GUARD_DISK,
	GUARD_PARTITION,
	GUARD_HOLDER, /* dm, md, bcache: made of the disk, a partition, or another holder */
	GUARD_NODE,   /* a character device that reaches the disk: sg, bsg, ng */
};

struct guard_member {
	char name[64];	/* in sysfs; '!' stands for '/' in /dev */
	char below[64]; /* the member a partition or holder lies on; "" for the disk */
	unsigned major, minor;
	enum guard_kind kind;
	bool is_told; /* a mount of it is in the report */
};

#define GUARD_FAMILY_MAX 1024
#define GUARD_DEPTH_MAX	 12

/* A disk and all that is made of it. */
struct guard_family {
	unsigned count;
	struct guard_member members[GUARD_FAMILY_MAX];
};

/* Caller frees. NULL: it can't be known, and the report says so. */
struct guard_family *guard_family_new(const char *root, const char *name, struct guard_report *report);
struct guard_member *guard_family_find(
	struct guard_family *family, unsigned major, unsigned minor, bool is_character);
/* The member that @path (in /dev, or a link to there) means; NULL when it is none. Opens nothing. */
struct guard_member *guard_family_find_path(struct guard_family *family, const char *root, const char *path);
/* A word with paths in it: "/dev/a:/dev/b", "logdev=/dev/c,noatime". NULL when none is a member. */
struct guard_member *guard_family_find_in_text(
	struct guard_family *family, const char *root, const char *text);

/* Follow @path below @root. 0 with what it leads to and, in @resolved (PATH_MAX), its path below the root. */
int guard_resolve(const char *root, const char *path, struct stat *st, char *resolved);
/* The kernel's \040 and the like, in place. */
void guard_unescape(char *text);
/* Printable ASCII only, in place. */
void guard_clean(char *text);
/* Lower case, runs of blanks and '_' are one '_', none outside. */
void guard_fold(char *text);

/* How sysfs names the drive, folded; "" when unknown or all zeros. */
struct guard_names {
	char wwid[160], serial[160], model[64];
};
void guard_names_read(const char *root, const char *name, struct guard_names *out);

/* The file below a loop device. */
struct guard_backing {
	char path[4096]; /* "": not a loop device, or one without a file */
	struct stat st;
	bool is_found; /* @st is valid */
};
void guard_backing_read(const char *root, const char *name, struct guard_backing *out);
bool guard_backing_is(const struct guard_backing *backing, const char *root, const char *path);

/* Mount tables of all namespaces, and what the system's own folders lie on. */
void guard_check_mounts(const char *root, const char *name, const char *state_directory,
	const struct guard_backing *backing, struct guard_family *family, struct guard_report *report);

#endif
