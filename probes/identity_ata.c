/* SPDX-License-Identifier: GPL-2.0-or-later */
/* IDENTIFY DEVICE of ACS-4. */
#include <errno.h>
#include <linux/hdreg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "probes/identity_private.h"

/* Words of the page, first and last. */
enum { SERIAL = 10, SERIAL_END = 19, FIRMWARE = 23, FIRMWARE_END = 26, MODEL = 27, MODEL_END = 46 };
enum { FEATURES = 87, WWN = 108 };

#define ATA_16	      0x85
#define ATA_16_PIO_IN (4 << 1)
#define ATA_16_SECTORS                                                                                       \
	0x0e /* from the device, in blocks, as many as the count field says; no sense when it went well */
#define SIGNATURE    0xa5
#define ATA_IDENTIFY 0xec

static uint16_t word(const uint8_t *page, unsigned index)
{
	return (uint16_t)(page[2 * index] | page[2 * index + 1] << 8);
}

/* The bytes of words @first..@last in the order of reading; @out has room for them. */
static size_t unswap(const uint8_t *page, bool is_straight, unsigned first, unsigned last, uint8_t *out)
{
	size_t length = 2 * (size_t)(last - first + 1);

	for (size_t i = 0; i < length; i++)
		out[i] = page[2 * first + (is_straight ? i : i ^ 1)];
	return length;
}

static void add_wwids(
	const uint8_t *page, const uint8_t *model, const uint8_t *serial, struct identity_wwids *wwids)
{
	char fields[8 + 40 + 20], text[IDENTITY_TEXT_MAX], wwid[IDENTITY_TEXT_MAX];
	uint8_t wwn[8];

	for (unsigned i = 0; i < 4; i++) {
		wwn[2 * i] = (uint8_t)(word(page, WWN + i) >> 8);
		wwn[2 * i + 1] = (uint8_t)word(page, WWN + i);
	}
	/* Bits 15:14 are 01 when the word is valid; bit 8: the drive has a world-wide name. */
	if ((word(page, FEATURES) & 0xc100) == 0x4100 && wwn[0])
		identity_wwids_add_hex(wwids, 1, "naa.", wwn, sizeof(wwn));
	/* What a translation to SCSI makes of a drive without one. */
	memcpy(fields, "ATA     ", 8);
	memcpy(fields + 8, model, 40);
	memcpy(fields + 48, serial, 20);
	identity_text(text, sizeof(text), fields, sizeof(fields));
	(void)snprintf(wwid, sizeof(wwid), "t10.%.80s", text);
	identity_serial(text, sizeof(text), serial, 20);
	if (text[0])
		identity_wwids_add(wwids, 0, wwid);
}

/* From ATA-5 on the last word may hold a signature and what makes the sum of all bytes 0. The copy that the kernel keeps
 * (HDIO_GET_IDENTITY) may have been corrected by it. */
static bool is_damaged(const uint8_t *page)
{
	uint8_t sum = 0;

	for (size_t i = 0; i < IDENTITY_ATA_BYTES; i++)
		sum = (uint8_t)(sum + page[i]);
	return page[IDENTITY_ATA_BYTES - 2] == SIGNATURE && sum != 0;
}

int identity_ata_decode(
	const uint8_t *page, bool is_straight, struct identity *out, struct identity_wwids *wwids)
{
	uint8_t model[40], serial[20], firmware[8];
	char model_text[64], serial_text[32];

	(void)unswap(page, is_straight, MODEL, MODEL_END, model);
	(void)unswap(page, is_straight, SERIAL, SERIAL_END, serial);
	(void)unswap(page, is_straight, FIRMWARE, FIRMWARE_END, firmware);
	identity_text(model_text, sizeof(model_text), model, sizeof(model));
	identity_serial(serial_text, sizeof(serial_text), serial, sizeof(serial));
	if ((!is_straight && is_damaged(page)) || (!model_text[0] && !serial_text[0]))
		return -ENODATA;
	(void)snprintf(out->model, sizeof(out->model), "%s", model_text);
	(void)snprintf(out->serial, sizeof(out->serial), "%s", serial_text);
	identity_text(out->firmware, sizeof(out->firmware), firmware, sizeof(firmware));
	(void)snprintf(out->source, sizeof(out->source), "ata identify");
	add_wwids(page, model, serial, wwids);
	return 0;
}

/* Bridges, and QEMU's AHCI, end the command with a check condition of one kind or another: what counts is whether the
 * page came. */
static int read_page(int fd, uint8_t *page)
{
	static const uint8_t command[16] = {
		[0] = ATA_16, [1] = ATA_16_PIO_IN, [2] = ATA_16_SECTORS, [6] = 1, [14] = ATA_IDENTIFY
	};
	bool is_good;
	size_t got;
	int rc = identity_scsi_command(
		fd, command, sizeof(command), page, IDENTITY_ATA_BYTES, &got, &is_good);

	if (rc < 0)
		return rc;
	return got == IDENTITY_ATA_BYTES ? 0 : -ENODATA;
}

int identity_ata_read(int fd, struct identity *out, struct identity_wwids *wwids)
{
	uint8_t page[IDENTITY_ATA_BYTES] = { 0 };
	int rc = read_page(fd, page);

	if (rc == 0)
		rc = identity_ata_decode(page, false, out, wwids);
	if (rc == 0 || rc == -ENODEV || rc == -ENXIO)
		return rc;
	memset(page, 0, sizeof(page));
	if (ioctl(fd, HDIO_GET_IDENTITY, page) < 0)
		return errno == ENODEV || errno == ENXIO ? -errno : -ENOTTY;
	return identity_ata_decode(page, true, out, wwids) < 0 ? -ENOTTY : 0;
}
