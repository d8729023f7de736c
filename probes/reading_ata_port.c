/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Commands to a live ATA drive: libatasmart as transport only, and SG_IO for what it does not know. */
#include <errno.h>
#include <fcntl.h>
#include <scsi/sg.h>
#include <stddef.h> /* atasmart.h needs size_t and does not say so */
#include <atasmart.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "probes/reading_ata_private.h"

#define NODE_MAX   128
#define SENSE_MAX  32
#define TIMEOUT_MS 30000 /* the kernel's own: a shorter one resets the link under the writes */

enum { ATA_16 = 0x85, NO_DATA = 3 << 1, PIO_IN = 4 << 1, EXTEND = 1 };
/* From the device, in blocks, as many as the count says; or: answer with the registers. */
enum { FROM_DEVICE = 0x0e, WANTS_REGISTERS = 0x20 };
enum { HOST_NO_CONNECT = 1, HOST_TIMEOUT = 3 };
enum { SENSE_FIXED = 0x70, SENSE_DESCRIPTORS = 0x72, SENSE_ATA_RETURN = 0x09 };

struct live {
	char node[NODE_MAX];
	int fd;
};

static int last_error(void)
{
	return errno ? -errno : -EIO;
}

/* A disk that libatasmart opened: 0 with the copy of what it holds. */
static int copy_blob(SkDisk *disk, uint8_t *out, size_t size, size_t *length)
{
	SkBool available = FALSE;
	const void *blob;
	size_t bytes;

	errno = 0;
	if (sk_disk_identify_is_available(disk, &available) < 0 || !available)
		return -EOPNOTSUPP;
	if (sk_disk_smart_is_available(disk, &available) < 0 || !available)
		return -EOPNOTSUPP;
	errno = 0;
	if (sk_disk_smart_read_data(disk) < 0)
		return last_error();
	/* It asks for the status on the way. */
	if (sk_disk_get_blob(disk, &blob, &bytes) < 0)
		return last_error();
	if (bytes > size)
		return -EMSGSIZE;
	memcpy(out, blob, bytes);
	*length = bytes;
	return 0;
}

static int read_blob(void *arg, const char *way, uint8_t *blob, size_t size, size_t *length)
{
	const struct live *live = arg;
	char name[NODE_MAX + 16];
	SkDisk *disk = NULL;
	int rc;

	(void)snprintf(name, sizeof(name), "%s%s", way, live->node);
	errno = 0;
	if (sk_disk_open(name, &disk) < 0)
		return last_error();
	rc = copy_blob(disk, blob, size, length);
	sk_disk_free(disk);
	return rc;
}

void reading_ata_put_command(const struct reading_ata_command *command, bool has_data, uint8_t *cdb)
{
	cdb[0] = ATA_16;
	cdb[1] = (uint8_t)((has_data ? PIO_IN : NO_DATA) | (command->is_48 ? EXTEND : 0));
	cdb[2] = has_data ? FROM_DEVICE : WANTS_REGISTERS;
	cdb[3] = (uint8_t)(command->feature >> 8);
	cdb[4] = (uint8_t)command->feature;
	cdb[5] = (uint8_t)(command->count >> 8);
	cdb[6] = (uint8_t)command->count;
	/* The bytes of the address lie as the registers were once written: each second one first. */
	for (unsigned i = 0; i < 3; i++) {
		cdb[8 + 2 * i] = (uint8_t)(command->lba >> (8 * i));
		cdb[7 + 2 * i] = (uint8_t)(command->lba >> (24 + 8 * i));
	}
	cdb[14] = command->command;
}

int reading_ata_get_registers(const uint8_t *sense, size_t length, uint64_t *lba)
{
	if (length >= 12 && (sense[0] & 0x7f) == SENSE_FIXED) {
		*lba = sense[9] | (uint64_t)sense[10] << 8 | (uint64_t)sense[11] << 16;
		return 0;
	}
	if (length >= 22 && (sense[0] & 0x7f) == SENSE_DESCRIPTORS && sense[8] == SENSE_ATA_RETURN) {
		*lba = sense[15] | (uint64_t)sense[17] << 8 | (uint64_t)sense[19] << 16;
		return 0;
	}
	return -EOPNOTSUPP;
}

static int host_error(unsigned host_status)
{
	if (host_status == HOST_NO_CONNECT)
		return -ENODEV;
	return host_status == HOST_TIMEOUT ? -ETIMEDOUT : -EIO;
}

static int open_node(struct live *live)
{
	if (live->fd < 0)
		live->fd = open(live->node, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	return live->fd < 0 ? -errno : 0;
}

static int run_command(
	void *arg, const struct reading_ata_command *command, void *data, size_t length, uint64_t *lba)
{
	struct live *live = arg;
	uint8_t cdb[16] = { 0 }, sense[SENSE_MAX] = { 0 };
	struct sg_io_hdr io = {
		.interface_id = 'S',
		.dxfer_direction = data ? SG_DXFER_FROM_DEV : SG_DXFER_NONE,
		.cmd_len = sizeof(cdb),
		.mx_sb_len = sizeof(sense),
		.dxfer_len = (unsigned)length,
		.dxferp = data,
		.cmdp = cdb,
		.sbp = sense,
		.timeout = TIMEOUT_MS,
	};
	int rc = open_node(live);

	if (rc < 0)
		return rc;
	reading_ata_put_command(command, data != NULL, cdb);
	if (ioctl(live->fd, SG_IO, &io) < 0)
		return -errno;
	if (io.host_status)
		return host_error(io.host_status);
	if (!data)
		return reading_ata_get_registers(sense, io.sb_len_wr, lba);
	if (io.status || (io.resid && (size_t)io.resid >= length))
		return -EOPNOTSUPP;
	return 0;
}

static void live_free(void *arg)
{
	struct live *live = arg;

	if (live->fd >= 0)
		(void)close(live->fd);
	free(live);
}

int reading_ata_port_new(const char *node, struct reading_ata_port *out)
{
	struct live *live = calloc(1, sizeof(*live));

	if (!live)
		return -ENOMEM;
	(void)snprintf(live->node, sizeof(live->node), "%s", node);
	live->fd = -1;
	*out = (struct reading_ata_port){
		.arg = live, .read_blob = read_blob, .command = run_command, .free = live_free
	};
	return 0;
}
