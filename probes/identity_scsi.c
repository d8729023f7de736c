/* SPDX-License-Identifier: GPL-2.0-or-later */
/* INQUIRY and its pages of SPC-4, and the SG_IO that carries them. */
#include <errno.h>
#include <scsi/sg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "probes/identity_private.h"

#define INQUIRY		0x12
#define INQUIRY_BYTES	96
#define PAGE_BYTES	1024
#define PAGE_SUPPORTED	0x00
#define PAGE_SERIAL	0x80
#define PAGE_WWIDS	0x83
#define TIMEOUT_MS	30000
#define DID_NO_CONNECT	1
#define CHECK_CONDITION 2
#define UNIT_ATTENTION	6
#define TRIES		3

static bool is_unit_attention(const unsigned char *sense)
{
	unsigned key = sense[0] & 0x02 ? sense[1] : sense[2];

	return (sense[0] & 0x7c) == 0x70 && (key & 0x0f) == UNIT_ATTENTION;
}

/* As identity_scsi_command(), once. */
static int send_command(int fd, const uint8_t *command, size_t command_length, void *data, size_t length,
	size_t *got, bool *is_good, bool *is_again)
{
	unsigned char cdb[16] = { 0 }, sense[64] = { 0 };
	sg_io_hdr_t header = {
		.interface_id = 'S',
		.dxfer_direction = SG_DXFER_FROM_DEV,
		.cmd_len = (unsigned char)command_length,
		.mx_sb_len = sizeof(sense),
		.dxfer_len = (unsigned)length,
		.dxferp = data,
		.cmdp = cdb,
		.sbp = sense,
		.timeout = TIMEOUT_MS,
	};

	memcpy(cdb, command, command_length);
	if (ioctl(fd, SG_IO, &header) < 0)
		return -errno;
	if (header.host_status)
		return header.host_status == DID_NO_CONNECT ? -ENODEV : -EIO;
	if (header.status && header.status != CHECK_CONDITION)
		return -EIO;
	*is_good = header.status == 0;
	*is_again = !*is_good && is_unit_attention(sense);
	*got = header.resid < 0 || (size_t)header.resid > length ? 0 : length - (size_t)header.resid;
	return 0;
}

int identity_scsi_command(int fd, const uint8_t *command, size_t command_length, void *data, size_t length,
	size_t *got, bool *is_good)
{
	bool is_again = true;
	int rc = 0;

	/* The first command after a reset is answered with the news of it. */
	for (int i = 0; i < TRIES && rc == 0 && is_again; i++)
		rc = send_command(fd, command, command_length, data, length, got, is_good, &is_again);
	return rc;
}

/* Page @page of INQUIRY, or the standard data for a negative one. Bytes received or -errno. */
static int inquire(int fd, int page, uint8_t *data, size_t length)
{
	const uint8_t command[6] = { INQUIRY, page >= 0, page >= 0 ? (uint8_t)page : 0,
		(uint8_t)(length >> 8), (uint8_t)length };
	bool is_good;
	size_t got;
	int rc;

	memset(data, 0, length);
	rc = identity_scsi_command(fd, command, sizeof(command), data, length, &got, &is_good);
	if (rc < 0)
		return rc;
	if (!is_good || got < 4 || (page >= 0 && data[1] != page))
		return -ENODATA;
	return (int)got;
}

void identity_scsi_decode_inquiry(const uint8_t *data, size_t length, struct identity *out)
{
	if (length < 36)
		return;
	identity_text(out->model, sizeof(out->model), data + 16, 16);
	identity_text(out->firmware, sizeof(out->firmware), data + 32, 4);
	(void)snprintf(out->source, sizeof(out->source), "scsi inquiry");
}

/* How many bytes behind the header of four the page has, at most what was received. */
static size_t page_length(const uint8_t *page, size_t length)
{
	size_t said = length < 4 ? 0 : (size_t)(page[2] << 8 | page[3]);

	return length < 4 ? 0 : said < length - 4 ? said : length - 4;
}

void identity_scsi_decode_serial(const uint8_t *page, size_t length, struct identity *out)
{
	if (length >= 4 && page[1] == PAGE_SERIAL)
		identity_serial(out->serial, sizeof(out->serial), page + 4, page_length(page, length));
}

/* Which of several the kernel takes for its own wwid: the longer, the less likely is a clash. */
static unsigned wwid_rank(unsigned kind, size_t length, uint8_t first)
{
	if (kind == 8)
		return 9;
	if (kind == 3)
		return length == 16 ? 8 : first >> 4 == 5 ? 5 : 4;
	return kind == 1 ? 1 : length == 16 ? 7 : length == 12 ? 6 : 3;
}

static void add_wwid(struct identity_wwids *wwids, unsigned kind, const uint8_t *id, size_t length)
{
	char text[IDENTITY_TEXT_MAX], wwid[IDENTITY_TEXT_MAX];
	unsigned rank = wwid_rank(kind, length, id[0]);

	identity_text(text, sizeof(text) - 8, id, length);
	if (kind == 3 && (length == 8 || length == 16)) {
		identity_wwids_add_hex(wwids, rank, "naa.", id, length);
	} else if (kind == 2 && (length == 8 || length == 12 || length == 16)) {
		identity_wwids_add_hex(wwids, rank, "eui.", id, length);
	} else if (kind == 1 || kind == 8) {
		(void)snprintf(wwid, sizeof(wwid), "%s%.150s", kind == 1 ? "t10." : "", text);
		identity_wwids_add(wwids, rank, wwid);
	}
}

void identity_scsi_decode_wwids(const uint8_t *page, size_t length, struct identity_wwids *wwids)
{
	size_t end = 4 + page_length(page, length);

	if (length < 4 || page[1] != PAGE_WWIDS)
		return;
	for (size_t at = 4; at + 4 <= end && at + 4 + page[at + 3] <= end; at += 4 + (size_t)page[at + 3]) {
		/* Of the port or of the target, not of this unit. */
		if (page[at + 1] & 0x30 || page[at + 3] == 0)
			continue;
		add_wwid(wwids, page[at + 1] & 0x0f, page + at + 4, page[at + 3]);
	}
}

static bool has_page(const uint8_t *supported, size_t length, uint8_t page)
{
	size_t count = page_length(supported, length);

	return count && memchr(supported + 4, page, count);
}

static void read_pages(int fd, struct identity *out, struct identity_wwids *wwids)
{
	uint8_t supported[256], page[PAGE_BYTES];
	int length = inquire(fd, PAGE_SUPPORTED, supported, sizeof(supported) - 1), got;

	if (length < 0)
		return;
	if (has_page(supported, (size_t)length, PAGE_SERIAL)) {
		got = inquire(fd, PAGE_SERIAL, page, 252);
		if (got > 0)
			identity_scsi_decode_serial(page, (size_t)got, out);
	}
	if (has_page(supported, (size_t)length, PAGE_WWIDS)) {
		got = inquire(fd, PAGE_WWIDS, page, sizeof(page));
		if (got > 0)
			identity_scsi_decode_wwids(page, (size_t)got, wwids);
	}
}

int identity_scsi_read(int fd, bool is_usb, struct identity *out, struct identity_wwids *wwids, char *why)
{
	uint8_t data[INQUIRY_BYTES];
	int got = inquire(fd, -1, data, sizeof(data)), rc = -ENOTTY;

	if (got == -EPERM || got == -EACCES || got == -ENOTTY)
		return -ENOTTY;
	if (got < 0)
		return identity_fail(-got, "INQUIRY", why);
	/* Other SCSI drives need not be asked in ATA's words. */
	if (is_usb || (got >= 36 && memcmp(data + 8, "ATA     ", 8) == 0))
		rc = identity_ata_read(fd, out, wwids);
	if (rc == 0)
		return 0;
	if (rc != -ENOTTY)
		return identity_fail(-rc, "IDENTIFY DEVICE", why);
	identity_scsi_decode_inquiry(data, (size_t)got, out);
	out->is_bridge_only = is_usb;
	/* Bridges are known to hang on pages they don't have. */
	if (!is_usb)
		read_pages(fd, out, wwids);
	return 0;
}
