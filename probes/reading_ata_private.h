/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reading_ata_private.h - parts of ATA readings: one statistic whatever it came from, and the boundary of commands
 * behind which a test puts a drive of its own. */
#ifndef DRIVESOAK_READING_ATA_PRIVATE_H
#define DRIVESOAK_READING_ATA_PRIVATE_H

#include "probes/reading_private.h"

#define ATA_PAGE_BYTES	   512
#define ATA_ATTRIBUTES	   30
#define ATA_STATISTICS_LOG 0x04
#define ATA_ERROR_LOG	   0x03
/* Pages of the log of device statistics, as bits: those with something for a reading. */
#define ATA_STATISTICS_WANTED (1u << 1 | 1u << 4 | 1u << 5 | 1u << 6 | 1u << 7)

/* A value of the log of device statistics: page and place of ACS-4. */
void reading_set_ata_statistic(struct reading *reading, unsigned page_number, unsigned at, int64_t value);
/* The chunks of a file of libatasmart, NULL where it has none. -EINVAL. */
enum reading_ata_chunk {
	ATA_CHUNK_IDENTIFY,
	ATA_CHUNK_STATUS,
	ATA_CHUNK_DATA,
	ATA_CHUNK_THRESHOLDS,
	ATA_CHUNK_COUNT
};
int reading_find_ata_chunks(const uint8_t *blob, size_t length, const uint8_t **chunks);
/* Which pages there are, of page 0: bits. */
uint32_t reading_list_ata_statistics(const uint8_t *page);
/* SMART_FAILED, of SMART RETURN STATUS. */
void reading_set_smart_failed(struct reading *reading, bool is_failed);

#define ATA_BLOB_MAX (4 * 8 + 3 * ATA_PAGE_BYTES + 4)

struct reading_ata_command {
	uint8_t command;
	uint16_t feature, count;
	uint64_t lba;
	bool is_48; /* of 48 bits */
};

struct reading_ata_port {
	void *arg;
	/* What libatasmart reads of the drive, as it saves it; @way: its prefix of the node's name, "" for its own choice. */
	int (*read_blob)(void *arg, const char *way, uint8_t *blob, size_t size, size_t *length);
	/* One command by ATA PASS-THROUGH(16): reads @length bytes, or (@data NULL) answers with its registers. 0, -errno;
	 * -EOPNOTSUPP: the drive refuses. */
	int (*command)(void *arg, const struct reading_ata_command *command, void *data, size_t length,
		uint64_t *lba);
	void (*free)(void *arg); /* closes what is open; @arg is gone */
};

/* A command as ATA PASS-THROUGH(16) of SAT, 16 bytes, zeros before. */
void reading_ata_put_command(const struct reading_ata_command *command, bool has_data, uint8_t *cdb);
/* LBA(23:0) of the registers in sense data of either form; -EOPNOTSUPP when there are none. */
int reading_ata_get_registers(const uint8_t *sense, size_t length, uint64_t *lba);
/* -ENOMEM; the port reads the drive at @node, which is opened when it is first needed. */
int reading_ata_port_new(const char *node, struct reading_ata_port *out);
/* Read by @port, which is freed in any case. As reading_read_ata_known(). */
int reading_ata_by_port(const struct reading_ata_port *port, bool wants_error_log, unsigned deadline_ms,
	struct reading_memory *memory, struct reading *out);

#endif
