/* SPDX-License-Identifier: GPL-2.0-or-later */
/* identity_private.h - the parts of identity: decoders of pages as drives send them (pure; for tests too), and a reader
 * a command set. A reader returns -ENOTTY where another source may know more, and leaves @out as it was on failure. */
#ifndef DRIVESOAK_IDENTITY_PRIVATE_H
#define DRIVESOAK_IDENTITY_PRIVATE_H

#include <libnvme.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probes/identity.h"

#define IDENTITY_ATA_BYTES   512
#define IDENTITY_WWIDS_MAX   8
#define IDENTITY_SYSFS_BYTES 4096

/* A drive may have several; the kernel shows one of them in sysfs. Best first. */
struct identity_wwids {
	char text[IDENTITY_WWIDS_MAX][IDENTITY_TEXT_MAX];
	unsigned rank[IDENTITY_WWIDS_MAX];
	size_t count;
};

/* A field as it comes from a drive, into text that can be shown. */
void identity_text(char *out, size_t size, const void *bytes, size_t length);
/* The same, but "" for what distinguishes no drive, such as all zeros. */
void identity_serial(char *out, size_t size, const void *bytes, size_t length);

/* Higher ranks first, in the order of the calls among equals. What distinguishes no drive is left out. */
void identity_wwids_add(struct identity_wwids *wwids, unsigned rank, const char *text);
/* @prefix and the bytes in hexadecimal. */
void identity_wwids_add_hex(
	struct identity_wwids *wwids, unsigned rank, const char *prefix, const uint8_t *bytes, size_t length);
/* The one that sysfs shows when it is among them, else the best; "" without any. */
void identity_wwids_pick(const struct identity_wwids *wwids, const char *sysfs, char *out);

/* IDENTIFY DEVICE, 512 bytes. @is_straight: the texts have their bytes in the order of reading (HDIO_GET_IDENTITY),
 * not swapped in each word. -ENODATA when it is damaged or names no drive. */
int identity_ata_decode(
	const uint8_t *page, bool is_straight, struct identity *out, struct identity_wwids *wwids);
/* @ns and @descriptors (4096 bytes) may be NULL. -ENODATA when it names no drive. */
int identity_nvme_decode(const struct nvme_id_ctrl *ctrl, const struct nvme_id_ns *ns,
	const uint8_t *descriptors, uint32_t nsid, struct identity *out, struct identity_wwids *wwids);
/* INQUIRY data and its pages 80h and 83h, @length bytes received. */
void identity_scsi_decode_inquiry(const uint8_t *data, size_t length, struct identity *out);
void identity_scsi_decode_serial(const uint8_t *page, size_t length, struct identity *out);
void identity_scsi_decode_wwids(const uint8_t *page, size_t length, struct identity_wwids *wwids);

/* What a drive's command ended with, as one of the errors of identity_read(). */
int identity_fail(int error, const char *command, char *why);

int identity_nvme_read(int fd, struct identity *out, struct identity_wwids *wwids, char *why);
int identity_ata_read(int fd, struct identity *out, struct identity_wwids *wwids);
int identity_scsi_read(int fd, bool is_usb, struct identity *out, struct identity_wwids *wwids, char *why);
/* SG_IO, reading. 0 with the bytes that came and whether the status was good; or -errno. */
int identity_scsi_command(int fd, const uint8_t *command, size_t command_length, void *data, size_t length,
	size_t *got, bool *is_good);

bool identity_sysfs_is_usb(const char *root, const char *name);

#endif
