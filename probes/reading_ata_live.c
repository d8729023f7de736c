/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A live ATA drive: which way of access works, and which pages are asked for. Each command drains the drive's queue, so
 * few are sent: what was refused once is not asked for again. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "probes/reading_ata_private.h"

enum { CMD_READ_LOG_EXT = 0x2f, CMD_SMART = 0xb0, CMD_IDENTIFY = 0xec };
enum { SMART_READ_DATA = 0xd0, SMART_READ_THRESHOLDS = 0xd1, SMART_RETURN_STATUS = 0xda };
/* LBA(23:8) of a SMART command, and of its answer when the drive fails. */
enum { SMART_SIGNATURE = 0xc24f00, SMART_FAILING = 0x2cf400, SMART_SIGNATURE_MASK = 0xffff00 };
/* Bit 5 of word 84 or 87, with what makes the word valid. */
enum { LOGS_MASK = 0xc020, LOGS_VALUE = 0x4020 };
enum { FAILURES_MAX = 3 };

/* In memory->refused. */
enum { REFUSED_STATUS = 1 << 0, REFUSED_STATISTICS = 1 << 1, REFUSED_ERROR_LOG = 1 << 2 };

/* In the order of trying. Bridges, and QEMU's AHCI, answer some of them wrongly. */
static const struct way {
	const char *prefix; /* of libatasmart; NULL: own commands */
	const char *source;
} ways[] = {
	{ "", "ata: libatasmart" },
	{ "sat16:", "ata: libatasmart sat16" },
	{ "sat12:", "ata: libatasmart sat12" },
	{ "linux-ide:", "ata: linux-ide" },
	{ NULL, "ata: sg_io" },
};
enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

struct task {
	struct reading_ata_port port;
	bool wants_error_log;
	struct reading_memory memory;
	uint8_t blob[ATA_BLOB_MAX];
	size_t blob_length;
};

static void task_free(void *arg)
{
	struct task *task = arg;

	task->port.free(task->port.arg);
	free(task);
}

static bool is_gone(int rc)
{
	return rc == -ENODEV || rc == -ENXIO || rc == -ENOENT;
}

static const char *reason(int rc)
{
	switch (rc) {
	case -EOPNOTSUPP:
		return "refused";
	case -EPERM:
	case -EACCES:
		return "needs root, and a disk that takes ATA commands";
	case -ENODATA:
		return "the drive has none";
	case -EINVAL:
		return "it is not what it should be";
	default:
		return strerror(-rc);
	}
}

static int send(struct reading_job *job, struct task *task, const struct reading_ata_command *command,
	void *data, uint64_t *lba)
{
	int rc;

	if (data)
		memset(data, 0, ATA_PAGE_BYTES);
	reading_job_sleep(job);
	rc = task->port.command(task->port.arg, command, data, data ? ATA_PAGE_BYTES : 0, lba);
	return reading_job_wake(job) ? rc : -ECANCELED;
}

static void put_chunk(struct task *task, const char *tag, const uint8_t *page)
{
	const uint8_t head[8] = { (uint8_t)tag[0], (uint8_t)tag[1], (uint8_t)tag[2], (uint8_t)tag[3], 0, 0,
		ATA_PAGE_BYTES >> 8, ATA_PAGE_BYTES & 0xff };

	memcpy(task->blob + task->blob_length, head, sizeof(head));
	memcpy(task->blob + task->blob_length + sizeof(head), page, ATA_PAGE_BYTES);
	task->blob_length += sizeof(head) + ATA_PAGE_BYTES;
}

/* What libatasmart would have read. */
static int read_by_commands(struct reading_job *job, struct task *task)
{
	static const struct {
		const char *tag;
		struct reading_ata_command command;
	} steps[] = {
		{ "IDFY", { .command = CMD_IDENTIFY, .count = 1 } },
		{ "SMDT", { .command = CMD_SMART,
				  .feature = SMART_READ_DATA,
				  .count = 1,
				  .lba = SMART_SIGNATURE } },
		{ "SMTH", { .command = CMD_SMART,
				  .feature = SMART_READ_THRESHOLDS,
				  .count = 1,
				  .lba = SMART_SIGNATURE } },
	};
	uint8_t page[ATA_PAGE_BYTES] __attribute__((aligned(8)));

	task->blob_length = 0;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		int rc = send(job, task, &steps[i].command, page, NULL);

		/* Thresholds are obsolete. */
		if (rc < 0 && (rc == -ECANCELED || i < 2))
			return rc;
		if (rc == 0)
			put_chunk(task, steps[i].tag, page);
	}
	return 0;
}

static int read_by_library(struct reading_job *job, struct task *task, const char *prefix)
{
	int rc;

	reading_job_sleep(job);
	rc = task->port.read_blob(task->port.arg, prefix, task->blob, sizeof(task->blob), &task->blob_length);
	return reading_job_wake(job) ? rc : -ECANCELED;
}

static int keep_pages(struct reading *reading, const uint8_t *const *chunks)
{
	uint8_t both[2 * ATA_PAGE_BYTES];
	size_t length = ATA_PAGE_BYTES;
	int rc = reading_keep_page(reading, "ata-identify", chunks[ATA_CHUNK_IDENTIFY], ATA_PAGE_BYTES);

	memcpy(both, chunks[ATA_CHUNK_DATA], ATA_PAGE_BYTES);
	if (chunks[ATA_CHUNK_THRESHOLDS]) {
		memcpy(both + length, chunks[ATA_CHUNK_THRESHOLDS], ATA_PAGE_BYTES);
		length += ATA_PAGE_BYTES;
	}
	return rc < 0 ? rc : reading_keep_page(reading, "ata-smart", both, length);
}

static int take_blob(struct reading *reading, const struct task *task)
{
	const uint8_t *chunks[ATA_CHUNK_COUNT] = { NULL };
	int rc = reading_find_ata_chunks(task->blob, task->blob_length, chunks);

	if (rc == 0 && (!chunks[ATA_CHUNK_IDENTIFY] || !chunks[ATA_CHUNK_DATA] ||
			       reading_is_uniform(chunks[ATA_CHUNK_DATA], ATA_PAGE_BYTES, 0)))
		rc = -EINVAL;
	if (rc == 0)
		rc = reading_decode_atasmart_blob(reading, task->blob, task->blob_length);
	return rc < 0 ? rc : keep_pages(reading, chunks);
}

static int try_way(struct reading_job *job, struct task *task, unsigned index)
{
	struct reading *reading = reading_job_reading(job);
	int rc = ways[index].prefix ? read_by_library(job, task, ways[index].prefix)
				    : read_by_commands(job, task);

	if (rc == -ECANCELED)
		return rc;
	if (rc == 0)
		rc = take_blob(reading, task);
	if (rc == 0)
		text_copy(reading->source, sizeof(reading->source), ways[index].source);
	return rc;
}

/* The way that is known, or one of those that failed, in turn. */
static int try_known(struct reading_job *job, struct task *task)
{
	struct reading_memory *memory = &task->memory;
	unsigned index = memory->ata_way - 1u;
	int rc = try_way(job, task, index);

	if (rc == 0)
		memory->ata_failures = 0;
	else if (rc != -ECANCELED && memory->ata_failures < FAILURES_MAX)
		memory->ata_failures++;
	if (rc != 0 && rc != -ECANCELED) {
		reading_note(reading_job_reading(job), "%s: %s", ways[index].source, reason(rc));
		if (memory->ata_failures == FAILURES_MAX)
			memory->ata_way = (uint8_t)((index + 1) % WAYS + 1);
	}
	return rc;
}

static int try_all(struct reading_job *job, struct task *task)
{
	struct reading *reading = reading_job_reading(job);
	struct reading_memory *memory = &task->memory;
	int first = 0;

	for (unsigned i = 0; i < WAYS; i++) {
		int rc = try_way(job, task, i);

		if (rc == -ECANCELED)
			return rc;
		if (rc == 0) {
			memory->ata_way = (uint8_t)(i + 1);
			memory->ata_failures = 0;
			return 0;
		}
		reading_note(reading, "%s: %s", ways[i].source, reason(rc));
		if (first == 0)
			first = rc;
		if (is_gone(rc))
			return first;
	}
	/* From now on one a reading. */
	memory->ata_way = 1;
	memory->ata_failures = FAILURES_MAX;
	return first;
}

static int read_status(struct reading_job *job, struct task *task)
{
	static const struct reading_ata_command command = {
		.command = CMD_SMART, .feature = SMART_RETURN_STATUS, .lba = SMART_SIGNATURE
	};
	struct reading *reading = reading_job_reading(job);
	uint64_t lba = 0;
	int rc;

	if (reading->known[READING_SMART_FAILED] || task->memory.refused & REFUSED_STATUS)
		return 0;
	rc = send(job, task, &command, NULL, &lba);
	if (rc == -ECANCELED)
		return rc;
	lba &= SMART_SIGNATURE_MASK;
	if (rc == 0 && (lba == SMART_SIGNATURE || lba == SMART_FAILING)) {
		reading_set_smart_failed(reading, lba == SMART_FAILING);
		return 0;
	}
	if (rc == 0 || rc == -EOPNOTSUPP)
		task->memory.refused |= REFUSED_STATUS;
	reading_note(reading, "SMART status: %s", reason(rc ? rc : -EINVAL));
	return rc;
}

static int read_log(struct reading_job *job, struct task *task, unsigned log, unsigned number, uint8_t *page)
{
	const struct reading_ata_command command = {
		.command = CMD_READ_LOG_EXT,
		.count = 1,
		.lba = (uint64_t)log | (uint64_t)number << 8,
		.is_48 = true,
	};

	return send(job, task, &command, page, NULL);
}

/* The drive has logs for all purposes, by its IDENTIFY: words 84 and 87 tell it when bits 15:14 are 01. Else the kernel has
 * to clear up after a refused command, and the writes that wait behind it fail once. */
static bool has_logs(const struct reading *reading)
{
	const struct reading_page *identify = reading_find_page(reading, "ata-identify");
	const uint64_t supported = identify ? reading_le(identify->bytes + 2 * 84, 2) : 0;
	const uint64_t enabled = identify ? reading_le(identify->bytes + 2 * 87, 2) : 0;

	return (supported & LOGS_MASK) == LOGS_VALUE || (enabled & LOGS_MASK) == LOGS_VALUE;
}

/* The directory of the logs says how many pages each has. */
static int ask_list(struct reading_job *job, struct task *task, uint8_t *page)
{
	int rc;

	if (!has_logs(reading_job_reading(job)))
		return -ENODATA;
	rc = read_log(job, task, 0, 0, page);
	if (rc == 0 && !reading_le(page + 2 * (size_t)ATA_STATISTICS_LOG, 2))
		rc = -ENODATA;
	if (rc == 0)
		rc = read_log(job, task, ATA_STATISTICS_LOG, 0, page);
	if (rc == 0 && !reading_list_ata_statistics(page))
		rc = -EINVAL;
	return rc;
}

/* Which pages of the log there are: once a drive. */
static int list_statistics(struct reading_job *job, struct task *task)
{
	uint8_t page[ATA_PAGE_BYTES] __attribute__((aligned(8)));
	struct reading_memory *memory = &task->memory;
	int rc;

	if (memory->has_list || memory->refused & REFUSED_STATISTICS)
		return 0;
	rc = ask_list(job, task, page);
	if (rc == 0) {
		memory->has_list = true;
		memory->listed = reading_list_ata_statistics(page) & ATA_STATISTICS_WANTED;
	} else if (rc == -EOPNOTSUPP || rc == -EINVAL || rc == -ENODATA) {
		memory->refused |= REFUSED_STATISTICS;
	}
	if (rc < 0 && rc != -ECANCELED)
		reading_note(reading_job_reading(job), "device statistics: %s", reason(rc));
	return rc;
}

static int read_page(struct reading_job *job, struct task *task, unsigned number)
{
	uint8_t page[ATA_PAGE_BYTES] __attribute__((aligned(8)));
	struct reading *reading = reading_job_reading(job);
	char name[sizeof(reading->pages[0].name)];
	int rc = read_log(job, task, ATA_STATISTICS_LOG, number, page);

	if (rc == -ECANCELED)
		return rc;
	if (rc == 0)
		rc = reading_decode_ata_statistics(reading, number, page, sizeof(page));
	(void)snprintf(name, sizeof(name), "ata-stat-%u", number);
	if (rc == 0)
		rc = reading_keep_page(reading, name, page, sizeof(page));
	if (rc != 0)
		reading_note(reading, "device statistics, page %u: %s", number, reason(rc));
	return rc;
}

static int read_statistics(struct reading_job *job, struct task *task)
{
	int rc = list_statistics(job, task);

	for (unsigned i = 0; rc == 0 && i < 32; i++) {
		if (!(task->memory.listed >> i & 1))
			continue;
		rc = read_page(job, task, i);
		if (rc != -ECANCELED && !is_gone(rc))
			rc = 0;
	}
	return rc;
}

/* Evidence, kept as it came: the newest page of the errors with 48-bit addresses, where the directory has them. */
static int read_error_log(struct reading_job *job, struct task *task)
{
	uint8_t page[ATA_PAGE_BYTES] __attribute__((aligned(8)));
	struct reading *reading = reading_job_reading(job);
	int rc = has_logs(reading) && !(task->memory.refused & REFUSED_ERROR_LOG)
			 ? read_log(job, task, 0, 0, page)
			 : -ENODATA;

	if (rc == 0 && !reading_le(page + 2 * (size_t)ATA_ERROR_LOG, 2))
		rc = -ENODATA;
	if (rc == 0)
		rc = read_log(job, task, ATA_ERROR_LOG, 0, page);
	if (rc == 0)
		rc = reading_keep_page(reading, "ata-errors", page, sizeof(page));
	if (rc == -EOPNOTSUPP)
		task->memory.refused |= REFUSED_ERROR_LOG;
	if (rc < 0 && rc != -ECANCELED)
		reading_note(reading, "error log: %s", reason(rc));
	return rc;
}

static int task_main(struct reading_job *job, void *arg)
{
	struct task *task = arg;
	struct reading_memory *memory = &task->memory;
	const char *serial = reading_job_reading(job)->serial;
	int rc = memory->ata_way ? try_known(job, task) : try_all(job, task);

	if (rc < 0)
		return rc;
	if (memory->serial[0] && strcmp(memory->serial, serial) != 0) {
		memory->refused = memory->listed = 0;
		memory->has_list = false;
		memory->host_written_from[0] = memory->media_written_from[0] = '\0';
	}
	text_copy(memory->serial, sizeof(memory->serial), serial);
	rc = read_status(job, task);
	if (rc == -ECANCELED || is_gone(rc))
		return rc == -ECANCELED ? rc : 0;
	rc = read_statistics(job, task);
	if (rc == -ECANCELED || is_gone(rc) || !task->wants_error_log)
		return rc == -ECANCELED ? rc : 0;
	rc = read_error_log(job, task);
	return rc == -ECANCELED ? rc : 0;
}

int reading_ata_by_port(const struct reading_ata_port *port, bool wants_error_log, unsigned deadline_ms,
	struct reading_memory *memory, struct reading *out)
{
	struct task *task = reading_memory_is_hung(memory) ? NULL : calloc(1, sizeof(*task));

	reading_init(out);
	if (!task) {
		port->free(port->arg);
		return reading_job_refuse(memory, out);
	}
	task->port = *port;
	task->wants_error_log = wants_error_log;
	if (memory)
		task->memory = *memory;
	return reading_job_read(task_main, task, task_free, &task->memory, deadline_ms, memory, out);
}

int reading_read_ata_known(
	const char *node, bool wants_error_log, struct reading_memory *memory, struct reading *out)
{
	struct reading_ata_port port;
	int rc = reading_ata_port_new(node, &port);

	if (rc == 0)
		return reading_ata_by_port(&port, wants_error_log, READING_DEADLINE_MS, memory, out);
	reading_init(out);
	return rc;
}

int reading_read_ata(const char *node, struct reading *out)
{
	return reading_read_ata_known(node, false, NULL, out);
}
