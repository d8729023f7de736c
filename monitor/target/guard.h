/* SPDX-License-Identifier: GPL-2.0-or-later */
/* guard.h - may this whole disk be overwritten? Finds every reason why not. A hard finding refuses the disk, no option
 * overrides it; a soft one needs the user's consent (claim.h). All of it is reading; @root ("" or a fixture tree with
 * sys/, proc/, dev/ and etc/ in it) as in blockdev.h. Where a thing can't be found out, that is a finding too: the
 * guard fails closed. Runs where it may block: the drive's own thread or a command. */
#ifndef DRIVESOAK_TARGET_GUARD_H
#define DRIVESOAK_TARGET_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GUARD_TEXT_MAX	   256
#define GUARD_FINDINGS_MAX 24

enum guard_severity { GUARD_HARD, GUARD_SOFT };

struct guard_finding {
	enum guard_severity severity;
	char text[GUARD_TEXT_MAX]; /* what, where, and what to do: "nvme0n1p1 is mounted on /home" */
};

/* Findings beyond the room are counted. */
struct guard_report {
	struct guard_finding findings[GUARD_FINDINGS_MAX];
	unsigned count, left_off;
};

void guard_report_add(struct guard_report *report, enum guard_severity severity, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
bool guard_report_is_refused(const struct guard_report *report); /* a hard finding is among them */
/* The hard ones (or the soft ones) as one line, "; " between; cut to @size. */
void guard_report_text(
	const struct guard_report *report, enum guard_severity severity, char *out, size_t size);

/* What the disk is used for now, by sysfs, /proc and mount tables: it or a partition or holder of it, at any depth, is
 * mounted in any mount namespace that can be read, swap, a member of dm, LVM, md, bcache, ZFS or btrfs, a multipath leg
 * or one of several paths (same wwid twice); backs /, /boot, /boot/efi or @state_directory; is a loop device over a
 * file that another loop device or a mount uses, or over a block device; is a partition; read-only; zoned; removable
 * without a medium; has a second controller or namespace sharing it (NVMe multipath hidden paths are no finding). All
 * hard. */
void guard_check_use(
	const char *root, const char *name, const char *state_directory, struct guard_report *report);

/* What will use it at the next boot: a line for it, a partition or a signature of it in fstab, crypttab, mdadm.conf,
 * by path, link, UUID, LABEL, PARTUUID or serial. @uuids: NULL-terminated, from guard_check_contents(); may be NULL.
 * Hard. */
void guard_check_tables(
	const char *root, const char *name, const char *const *uuids, struct guard_report *report);

/* Processes that have the disk, a partition of it, or its sg, ng or bsg node open: /proc/N/fd, @looks looks
 * @pause_ns apart, hard when seen in all of them. Own descendants and this process don't count. When /proc of others
 * can't be read (no root) that is a hard finding. */
void guard_check_openers(
	const char *root, const char *name, unsigned looks, uint64_t pause_ns, struct guard_report *report);
#define GUARD_LOOKS    3
#define GUARD_PAUSE_NS 2500000000ULL

#define GUARD_UUIDS_MAX 256
struct guard_contents {
	char uuids[GUARD_UUIDS_MAX][80]; /* UUID, LABEL, PARTUUID of all that was found */
	unsigned uuid_count;
	uint64_t digest;      /* of the first and last MiB: the same contents again? */
	double nonzero_share; /* of the sampled blocks of 4 KiB */
};

/* What the disk holds, read through @fd: superblocks and partition tables by libblkid (its answer "ambivalent" counts
 * as occupied), LUKS, LVM, md, ZFS, btrfs, bcache members (soft, with label, UUID and size), non-zero first or last
 * MiB, more than 0.1 % of 4096 sampled blocks non-zero (soft). A read error is hard. @out may be NULL. */
void guard_check_contents(
	int fd, uint64_t capacity_bytes, struct guard_contents *out, struct guard_report *report);

#endif
