/* SPDX-License-Identifier: GPL-2.0-or-later */
/* identity.h - who a drive is: serial, world-wide name, model and capacity as the drive itself answers through an open
 * descriptor, never sdX or nvmeXnY and never udev's database. Blocks for as long as the drive does; any thread but the
 * control loop. Texts come from drives and are untrusted: printable ASCII only, outer blanks cut, the rest is '?'.
 *
 * Sources, the first that answers: NVMe Identify Controller and Namespace (NVM Express base specification, figures
 * "Identify Controller" and "Identify Namespace"); ATA IDENTIFY DEVICE (ACS-4, words 10-19, 23-26, 27-46, 108-111)
 * through SG_IO ATA PASS-THROUGH(16), else HDIO_GET_IDENTITY; SCSI INQUIRY with pages 80h and 83h (SPC-4); the backing
 * file of a loop device (LOOP_GET_STATUS64); what sysfs says (virtio and others). */
#ifndef DRIVESOAK_IDENTITY_H
#define DRIVESOAK_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

#define IDENTITY_TEXT_MAX 160
#define IDENTITY_WHY_MAX  256

/* Unknown: "" and 0. */
struct identity {
	char serial[IDENTITY_TEXT_MAX]; /* of a loop device: "loop:BACKING-FILE" */
	char wwid[IDENTITY_TEXT_MAX];	/* as sysfs spells it: "eui.…", "naa.…", "nvme.…", "t10.…" */
	char model[64], firmware[32];
	uint64_t capacity_bytes; /* BLKGETSIZE64 */
	uint32_t logical_block_bytes, physical_block_bytes;
	char source[24]; /* "nvme identify", "ata identify", "scsi inquiry", "loop", "sysfs" */
	/* Loop devices only: the backing file. */
	uint64_t backing_device, backing_inode;
	/* A USB bridge answered with a serial of its own, and no pass-through identify of the disk behind it. */
	bool is_bridge_only;
	bool is_zoned, is_read_only;
};

/* @fd: the whole device, open for reading or writing. @name: its kernel name, for sysfs. 0; -ENODEV, -ENXIO, -EIO
 * when the drive does not answer (@why, IDENTITY_WHY_MAX). */
int identity_read(const char *root, int fd, const char *name, struct identity *out, char *why);
/* Without a descriptor, from sysfs alone: for lists, never before a write. */
void identity_from_sysfs(const char *root, const char *name, struct identity *out);

/* The same drive: all that both know is equal, and they share a serial or a wwid. */
bool identity_is_same(const struct identity *a, const struct identity *b);
/* A wwid as people write it: without regard to case, "0x5000…" and "5000…" for "naa.5000…". */
bool identity_wwid_matches(const char *wanted, const char *wwid);

#endif
