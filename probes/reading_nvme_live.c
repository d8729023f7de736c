/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A live NVMe drive: which pages are asked for, and what becomes of those that don't come. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "probes/identity_private.h"
#include "probes/reading_private.h"

#define LIST_PAGE      0x00
#define ERROR_PAGE     0x01
#define SMART_PAGE     0x02
#define GROUP_PAGE     0x09
#define OCP_PAGE       0xc0
#define INTEL_PAGE     0xca
#define LIST_BYTES     1024
#define SMART_BYTES    512
#define IDENTIFY_BYTES NVME_IDENTIFY_DATA_SIZE
#define ENTRY_BYTES    64
/* In one command: firmware is known that answers later parts of the error log wrongly. */
#define ENTRIES_MAX 64

/* Pages that not every drive has, as bits of a memory. */
enum { HAS_LIST = 1 << 0, HAS_GROUP = 1 << 1, HAS_OCP = 1 << 2, HAS_INTEL = 1 << 3 };

struct task {
	struct reading_nvme_port port;
	uint32_t nsid;
	bool wants_error_log, has_identify;
	struct reading_memory memory;
	bool has_memory; /* else nothing is asked on a guess */
	uint8_t identify[IDENTIFY_BYTES] __attribute__((aligned(8)));
};

static void task_free(void *arg)
{
	struct task *task = arg;

	task->port.free(task->port.arg);
	free(task);
}

/* The answer to a status: not now, or never? */
static bool is_refusal(int status)
{
	const int code = status & 0x7ff;

	return status > 0 && ((status & NVME_SC_DNR) || code == NVME_SC_INVALID_OPCODE ||
				     code == NVME_SC_INVALID_FIELD || code == NVME_SC_INVALID_LOG_PAGE);
}

static bool is_gone(int rc)
{
	return rc == -ENODEV || rc == -ENXIO || rc == -EBADF;
}

static const char *reason(int rc)
{
	switch (rc) {
	case -EINTR:
		return "the kernel gave the command up";
	case -EAGAIN:
		return "the controller is not ready";
	case -ENODATA:
		return "the page is empty";
	case -EINVAL:
		return "it is not what it should be";
	default:
		return rc < 0 ? strerror(-rc) : nvme_status_to_string(rc, false);
	}
}

static int get_log(struct reading_job *job, struct task *task, const struct reading_nvme_log *log)
{
	int rc;

	memset(log->bytes, 0, log->length);
	reading_job_sleep(job);
	rc = task->port.get_log(task->port.arg, log);
	return reading_job_wake(job) ? rc : -ECANCELED;
}

static int identify(
	struct reading_job *job, struct task *task, uint8_t structure, uint32_t nsid, uint8_t *bytes)
{
	int rc;

	memset(bytes, 0, IDENTIFY_BYTES);
	reading_job_sleep(job);
	rc = task->port.identify(task->port.arg, structure, nsid, bytes);
	return reading_job_wake(job) ? rc : -ECANCELED;
}

/* A page that can be decoded, of the drive at one moment; kept as it came. */
static int read_page(struct reading_job *job, struct task *task, uint8_t number, uint16_t specific,
	const char *name, int (*decode)(struct reading *reading, const uint8_t *page, size_t length))
{
	uint8_t page[SMART_BYTES] __attribute__((aligned(8)));
	const struct reading_nvme_log log = {
		.page = number,
		/* Of the whole drive: some refuse it of a namespace. */
		.nsid = specific ? NVME_NSID_NONE : NVME_NSID_ALL,
		.specific = specific,
		.bytes = page,
		.length = sizeof(page),
	};
	struct reading *reading = reading_job_reading(job);
	int rc = get_log(job, task, &log);

	if (rc == -ECANCELED)
		return rc;
	/* What a drive does that transfers nothing, or is no longer there. */
	if (rc == 0 &&
		(reading_is_uniform(page, sizeof(page), 0) || reading_is_uniform(page, sizeof(page), 0xff)))
		rc = -ENODATA;
	if (rc == 0)
		rc = decode(reading, page, sizeof(page));
	if (rc == 0)
		rc = reading_keep_page(reading, name, page, sizeof(page));
	if (rc != 0)
		reading_note(reading, "page %02Xh: %s", number, reason(rc));
	return rc;
}

static int read_smart(struct reading_job *job, struct task *task)
{
	return read_page(job, task, SMART_PAGE, 0, "nvme-02h", reading_decode_nvme_smart);
}

static void remember_drive(struct reading_memory *memory, const char *serial)
{
	if (strcmp(memory->serial, serial) != 0) {
		memory->refused = memory->listed = memory->has_list = 0;
		memory->host_written_from[0] = memory->media_written_from[0] = '\0';
	}
	text_copy(memory->serial, sizeof(memory->serial), serial);
}

static int read_identify(struct reading_job *job, struct task *task)
{
	struct reading *reading = reading_job_reading(job);
	int rc = identify(job, task, NVME_IDENTIFY_CNS_CTRL, 0, task->identify);

	if (rc == -ECANCELED)
		return rc;
	if (rc == 0)
		rc = reading_decode_nvme_identify(reading, task->identify, IDENTIFY_BYTES);
	if (rc == 0)
		rc = reading_keep_page(reading, "nvme-identify", task->identify, IDENTIFY_BYTES);
	task->has_identify = rc == 0;
	if (rc == 0)
		remember_drive(&task->memory, reading->serial);
	else
		reading_note(reading, "Identify Controller: %s", reason(rc));
	return rc;
}

/* Of the page that Identify Controller filled; all zeros before. */
static const struct nvme_id_ctrl *controller(const struct task *task)
{
	return (const struct nvme_id_ctrl *)(const void *)task->identify;
}

/* Once a drive: what it has. */
static int read_list(struct reading_job *job, struct task *task)
{
	uint8_t list[LIST_BYTES] __attribute__((aligned(8)));
	const struct reading_nvme_log log = {
		.page = LIST_PAGE, .nsid = NVME_NSID_ALL, .bytes = list, .length = sizeof(list)
	};
	struct reading_memory *memory = &task->memory;
	int rc;

	if (!(controller(task)->lpa & NVME_CTRL_LPA_LI0_LI5_LI12_LI13) || memory->has_list ||
		memory->refused & HAS_LIST)
		return 0;
	rc = get_log(job, task, &log);
	/* A list without page 02h, which every drive has, is none. */
	if (rc == 0 && list[4 * SMART_PAGE] & 1) {
		memory->has_list = true;
		memory->listed = (list[4 * GROUP_PAGE] & 1 ? HAS_GROUP : 0u) |
				 (list[4 * OCP_PAGE] & 1 ? HAS_OCP : 0u) |
				 (list[4 * INTEL_PAGE] & 1 ? HAS_INTEL : 0u);
	} else if (rc == 0 || is_refusal(rc)) {
		memory->refused |= HAS_LIST;
	}
	return rc;
}

/* What was refused, or is not what it should be, is not asked for again. */
static void learn(struct task *task, uint32_t bit, int rc)
{
	if (is_refusal(rc) || rc == -EINVAL || rc == -ENODATA)
		task->memory.refused |= bit;
}

/* The endurance group of the namespace; the first, when it does not tell. */
static uint16_t group_of(struct reading_job *job, struct task *task, int *rc)
{
	uint8_t page[IDENTIFY_BYTES] __attribute__((aligned(8)));
	const struct nvme_id_ns *ns = (const struct nvme_id_ns *)(const void *)page;
	uint16_t group = 0;

	*rc = task->nsid ? identify(job, task, NVME_IDENTIFY_CNS_NS, task->nsid, page) : -ENODATA;
	if (*rc == 0)
		group = le16toh(ns->endgid);
	return group ? group : 1;
}

static int read_group(struct reading_job *job, struct task *task)
{
	const struct nvme_id_ctrl *ctrl = controller(task);
	const struct reading_memory *memory = &task->memory;
	uint16_t group;
	int rc;

	if (!(le32toh(ctrl->ctratt) & NVME_CTRL_CTRATT_ENDURANCE_GROUPS) || !ctrl->endgidmax ||
		memory->refused & HAS_GROUP || (memory->has_list && !(memory->listed & HAS_GROUP)))
		return 0;
	group = group_of(job, task, &rc);
	if (rc == -ECANCELED || is_gone(rc))
		return rc;
	rc = read_page(job, task, GROUP_PAGE, group, "nvme-09h", reading_decode_nvme_endurance_group);
	learn(task, HAS_GROUP, rc);
	return rc;
}

/* Pages of vendors: of drives with one of these numbers, whose others refuse it, once. */
static const struct vendor_page {
	uint8_t number;
	uint32_t bit;
	bool is_others; /* the number has another meaning elsewhere: a list of pages that has it says nothing */
	const char *name;
	int (*decode)(struct reading *reading, const uint8_t *page, size_t length);
	uint16_t vendors[10];
} vendor_pages[] = {
	{ INTEL_PAGE, HAS_INTEL, true, "intel-cah", reading_decode_intel_smart,
		{ 0x8086 /* Intel */, 0x025e /* Solidigm */ } },
	{ OCP_PAGE, HAS_OCP, false, "ocp-c0h", reading_decode_ocp_smart,
		{ 0x025e /* Solidigm */, 0x1344 /* Micron */, 0x144d /* Samsung */, 0x14a4 /* Lite-On */,
			0x15b7 /* SanDisk */, 0x1b96 /* WDC */, 0x1bb1 /* Seagate */, 0x1c5c /* SK hynix */,
			0x1e0f /* Kioxia */ } },
};

static bool is_of_vendor(const struct vendor_page *page, uint16_t vendor)
{
	for (size_t i = 0; i < sizeof(page->vendors) / sizeof(page->vendors[0]); i++)
		if (vendor && page->vendors[i] == vendor)
			return true;
	return false;
}

static bool may_have(const struct task *task, const struct vendor_page *page)
{
	const struct reading_memory *memory = &task->memory;
	const bool is_of = is_of_vendor(page, le16toh(controller(task)->vid));

	if (!task->has_identify || memory->refused & page->bit)
		return false;
	if (memory->has_list)
		return (memory->listed & page->bit) && (is_of || !page->is_others);
	return task->has_memory && is_of;
}

static int read_vendor_pages(struct reading_job *job, struct task *task)
{
	int first = 0;

	for (size_t i = 0; i < sizeof(vendor_pages) / sizeof(vendor_pages[0]); i++) {
		const struct vendor_page *page = &vendor_pages[i];
		int rc = 0;

		if (may_have(task, page)) {
			rc = read_page(job, task, page->number, 0, page->name, page->decode);
			if (rc == -ECANCELED || is_gone(rc))
				return rc;
			learn(task, page->bit, rc);
		}
		first = first ? first : rc;
	}
	return first;
}

static int read_error_log(struct reading_job *job, struct task *task)
{
	uint8_t entries[ENTRIES_MAX * ENTRY_BYTES] __attribute__((aligned(8)));
	size_t count = (size_t)controller(task)->elpe + 1;
	struct reading *reading = reading_job_reading(job);
	struct reading_nvme_log log = { .page = ERROR_PAGE, .nsid = NVME_NSID_ALL, .bytes = entries };
	int rc;

	if (!task->wants_error_log)
		return 0;
	log.length = (uint32_t)((count < ENTRIES_MAX ? count : ENTRIES_MAX) * ENTRY_BYTES);
	rc = get_log(job, task, &log);
	if (rc == -ECANCELED)
		return rc;
	if (rc == 0)
		rc = reading_keep_page(reading, "nvme-01h", entries, log.length);
	if (rc != 0)
		reading_note(reading, "page 01h: %s", reason(rc));
	return rc;
}

static int read_pages(struct reading_job *job, struct task *task)
{
	/* The one that matters most first. */
	static int (*const steps[])(struct reading_job * job, struct task * task) = { read_smart,
		read_identify, read_list, read_group, read_vendor_pages, read_error_log };
	int first = 0;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		int rc = steps[i](job, task);

		if (rc == -ECANCELED)
			return rc;
		if (first == 0)
			first = rc;
		if (is_gone(rc))
			break;
	}
	if (reading_job_reading(job)->page_count)
		return 0;
	return first > 0 ? -EIO : first;
}

static int task_main(struct reading_job *job, void *arg)
{
	struct task *task = arg;
	int rc;

	text_copy(reading_job_reading(job)->source, sizeof(reading_job_reading(job)->source), "nvme");
	reading_job_sleep(job);
	rc = task->port.open(task->port.arg);
	if (!reading_job_wake(job))
		return -ECANCELED;
	if (rc < 0) {
		reading_note(reading_job_reading(job), "can't be opened: %s", reason(rc));
		return rc;
	}
	return read_pages(job, task);
}

int reading_nvme_by_port(const struct reading_nvme_port *port, uint32_t nsid, bool wants_error_log,
	unsigned deadline_ms, struct reading_memory *memory, struct reading *out)
{
	struct task *task = reading_memory_is_hung(memory) ? NULL : calloc(1, sizeof(*task));

	reading_init(out);
	if (!task) {
		port->free(port->arg);
		return reading_job_refuse(memory, out);
	}
	task->port = *port;
	task->nsid = nsid;
	task->wants_error_log = wants_error_log;
	task->has_memory = memory != NULL;
	if (memory)
		task->memory = *memory;
	return reading_job_read(task_main, task, task_free, &task->memory, deadline_ms, memory, out);
}
