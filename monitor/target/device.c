/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/device.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/clock.h"
#include "base/sysfs.h"
#include "base/text.h"
#include "base/units.h"
#include "target/claim.h"
#include "target/inventory.h"
#include "target/target_private.h"

#define MARKER_TITLE "drivesoak target: everything on this drive belongs to drivesoak"
#define MARKER_BYTES 4096u

/* One call of BLKDISCARD can't be interrupted: not the whole drive at once. */
#define DISCARD_STEP_BYTES (16ULL << 30)

/* After a kill the kernel holds the device until the last request is back. */
#define BUSY_PAUSE_NS	(100 * NS_PER_MS)
#define IO_TIMEOUT_MS	30000u
#define MARKER_TEXT_MAX 1024

/* Not in linux/fs.h of older kernels. */
#ifndef BLKGETDISKSEQ
#define BLKGETDISKSEQ _IOR(0x12, 128, __u64)
#endif

struct device {
	struct target base;
	struct identity identity;
	int fd;
	uint64_t sequence_number; /* of the disk: the kernel never gives it twice; 0: not known */
	char name[32], node[48], run[64], drive[CONFIG_NAME_MAX + 1];
};

static int refuse(char *why, int rc, const char *node, const struct guard_report *report)
{
	int used = snprintf(why, TARGET_WHY_MAX, "%s: ", node);

	guard_report_text(report, GUARD_HARD, why + used, TARGET_WHY_MAX - (size_t)used);
	return rc;
}

/* The name a process can be found by holds the device: no reason to wait. */
static uint64_t busy_wait_ns(const char *name)
{
	uint64_t timeout_ms = IO_TIMEOUT_MS;

	(void)sysfs_read_u64(&timeout_ms, "", "/sys/block/%s/queue/io_timeout", name);
	return 2 * timeout_ms * NS_PER_MS;
}

static int open_once(const char *node, int flags)
{
	int fd = open(node, flags | O_EXCL | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);

	return fd < 0 ? -errno : fd;
}

/* Exclusive; @waits: requests of a killed process may still hold it, so EBUSY is only believed when a holder is found
 * or it stays. */
static int open_exclusively(const char *name, const char *node, int flags, bool waits, char *why)
{
	const struct timespec pause = { .tv_nsec = BUSY_PAUSE_NS };
	uint64_t until_ns = clock_mono_ns() + (waits ? busy_wait_ns(name) : 0);
	struct guard_report report = { 0 };
	int fd = open_once(node, flags);

	while (fd == -EBUSY) {
		report = (struct guard_report){ 0 };
		guard_check_openers("", name, 1, 0, &report);
		if (guard_report_is_refused(&report) || clock_mono_ns() >= until_ns)
			break;
		(void)nanosleep(&pause, NULL);
		fd = open_once(node, flags);
	}
	if (fd == -EBUSY && guard_report_is_refused(&report))
		return refuse(why, -EBUSY, node, &report);
	if (fd == -EBUSY)
		return target_why(why, fd, node, "",
			"is held exclusively: mounted, a member of md, dm, LVM or ZFS, or in use by another "
			"process");
	if (fd == -ENXIO || fd == -ENOMEDIUM || fd == -ENOENT)
		return target_why(why, -ENODEV, node, "", strerror(-fd));
	return fd < 0 ? target_why(why, fd, node, "", NULL) : fd;
}

static int find(const struct config_drive *drive, char *name, size_t name_size, char *node, size_t node_size,
	char *why)
{
	char found[32], words[GUARD_TEXT_MAX] = "";
	struct stat st;
	int rc = inventory_find("", drive->device, drive->serial, drive->wwid, found, words);

	/* A link that leads to something else than a whole disk is no drive that may come. */
	if (rc == -ENOENT && strncmp(drive->device, "/dev/loop", 9) != 0 && stat(drive->device, &st) == 0)
		return target_why(why, -EPERM, drive->device, "", words);
	if (rc == -ENOENT)
		return target_why(why, -ENODEV, drive->device, "", words);
	if (rc < 0)
		return target_why(why, -EPERM, drive->device, "", words);
	text_copy(name, name_size, found);
	(void)snprintf(node, node_size, "/dev/%s", found);
	return 0;
}

/* Does the drive answer as the one that the config means? */
static void identity_judge(
	const struct config_drive *drive, const struct identity *identity, struct guard_report *report)
{
	if (drive->serial[0] && strcmp(drive->serial, identity->serial) != 0)
		guard_report_add(report, GUARD_HARD,
			"another drive: its serial is \"%s\", the config says \"%s\"", identity->serial,
			drive->serial);
	if (drive->wwid[0] && !identity_wwid_matches(drive->wwid, identity->wwid))
		guard_report_add(report, GUARD_HARD,
			"another drive: its wwid is \"%s\", the config says \"%s\"", identity->wwid,
			drive->wwid);
	if (identity->is_bridge_only)
		guard_report_add(report, GUARD_HARD,
			"a USB bridge answers instead of the drive: its serial is no identity");
	if (identity->is_zoned)
		guard_report_add(report, GUARD_HARD, "is a zoned device: it takes no random writes");
	if (identity->is_read_only)
		guard_report_add(report, GUARD_HARD, "is read-only");
}

static void contents_judge(struct device_inspection *inspection)
{
	const char *uuids[GUARD_UUIDS_MAX + 1];
	unsigned count = 0;

	guard_check_contents(inspection->fd, inspection->identity.capacity_bytes, &inspection->contents,
		&inspection->report);
	while (count < inspection->contents.uuid_count) {
		uuids[count] = inspection->contents.uuids[count];
		count++;
	}
	uuids[count] = NULL;
	guard_check_tables("", inspection->name, uuids, &inspection->report);
}

int device_inspect(const struct config_drive *drive, const char *state_directory,
	struct device_inspection *out, char *why)
{
	char words[IDENTITY_WHY_MAX] = "";
	int rc;

	*out = (struct device_inspection){ .fd = -1 };
	rc = find(drive, out->name, sizeof(out->name), out->node, sizeof(out->node), why);
	if (rc < 0)
		return rc;
	/* By sysfs first: an opening of a drive in use tells nothing more. */
	guard_check_use("", out->name, state_directory, &out->report);
	if (guard_report_is_refused(&out->report))
		return refuse(why, -EPERM, out->node, &out->report);
	out->fd = open_exclusively(out->name, out->node, O_RDONLY, false, why);
	if (out->fd < 0)
		return out->fd;
	rc = identity_read("", out->fd, out->name, &out->identity, words);
	if (rc < 0)
		return target_why(why, rc, out->node, "", words);
	identity_judge(drive, &out->identity, &out->report);
	guard_check_openers("", out->name, GUARD_LOOKS, GUARD_PAUSE_NS, &out->report);
	contents_judge(out);
	return guard_report_is_refused(&out->report) ? refuse(why, -EPERM, out->node, &out->report) : 0;
}

struct claim_contents device_claim_contents(const struct device_inspection *inspection)
{
	return (struct claim_contents){
		.digest = inspection->contents.digest,
		.nonzero_ppm = (uint64_t)(inspection->contents.nonzero_share * 1e6),
	};
}

void device_inspect_end(struct device_inspection *inspection)
{
	if (inspection->fd >= 0)
		(void)close(inspection->fd);
	inspection->fd = -1;
}

int device_plan(const struct config_drive *drive, const struct identity *identity, struct target_plan *plan,
	char *why)
{
	uint64_t edges = 2ULL * TARGET_DEVICE_EDGE_BYTES, room, wanted, blocks;
	char asked[UNITS_TEXT_MAX], has[UNITS_TEXT_MAX];

	*plan = (struct target_plan){ .files = 1, .base_bytes = TARGET_DEVICE_EDGE_BYTES };
	if (identity->logical_block_bytes > drive->block_bytes)
		return target_why(why, -EINVAL, drive->device, "",
			"block-size is smaller than the drive's logical block");
	room = identity->capacity_bytes > edges ? identity->capacity_bytes - edges : 0;
	wanted = drive->size_bytes ? drive->size_bytes
				   : (uint64_t)((double)identity->capacity_bytes * drive->fill_pct / 100.0);
	if (wanted > room) {
		units_print_bytes_rounded((double)wanted, asked);
		units_print_bytes_rounded((double)identity->capacity_bytes, has);
		(void)snprintf(plan->note, sizeof(plan->note),
			"%s were asked for, the drive has %s and the first and last MiB are kept free", asked,
			has);
		wanted = room;
	}
	blocks = wanted / drive->block_bytes;
	if (blocks < 4ULL * drive->threads)
		return target_why(why, -ENOSPC, drive->device, "", "the size is too small for the threads");
	plan->goal_bytes = plan->file_bytes = blocks * drive->block_bytes;
	/* The edges are written before and after the discard. */
	return target_judge_budget(drive, plan->goal_bytes + 2 * edges, why);
}

static uint64_t checksum_of(const char *text, size_t length)
{
	return XXH3_64bits(text, length);
}

/* The text ends with a checksum of all before it. */
static void marker_print(const struct device *device, char *block)
{
	int length = snprintf(block, MARKER_TEXT_MAX, MARKER_TITLE "\ndrive=%s\nrun=%s\nserial=%s\nwwid=%s\n",
		device->drive, device->run, device->identity.serial, device->identity.wwid);

	(void)snprintf(block + length, 64, "checksum=%016llx\n",
		(unsigned long long)checksum_of(block, (size_t)length));
}

/* The run that the marker at the head of the drive names; "" when there is none. -errno for a failed read. */
static int marker_read(int fd, char *run, size_t size)
{
	char *block = aligned_alloc(MARKER_BYTES, MARKER_BYTES), *end, *value;
	int rc = 0;

	run[0] = '\0';
	if (!block)
		return -ENOMEM;
	if (pread(fd, block, MARKER_BYTES, 0) != (ssize_t)MARKER_BYTES) {
		rc = errno ? -errno : -EIO;
		goto out;
	}
	block[MARKER_BYTES - 1] = '\0';
	end = strstr(block, "\nchecksum=");
	value = strstr(block, "\nrun=");
	if (strncmp(block, MARKER_TITLE "\n", sizeof(MARKER_TITLE)) != 0 || !end || !value || value > end ||
		strtoull(end + 10, NULL, 16) != checksum_of(block, (size_t)(end + 1 - block)))
		goto out;
	value += 5;
	value[strcspn(value, "\n")] = '\0';
	text_copy(run, size, value);
out:
	free(block);
	return rc;
}

static int write_all(int fd, const char *bytes, size_t length, uint64_t offset)
{
	ssize_t done = pwrite(fd, bytes, length, (off_t)offset);

	if (done == (ssize_t)length)
		return 0;
	return done < 0 ? -errno : -EIO;
}

/* The head with its marker, and an empty tail. */
static int edges_write(struct device *device, char *why)
{
	char *edge = aligned_alloc(MARKER_BYTES, TARGET_DEVICE_EDGE_BYTES);
	uint64_t tail = (device->identity.capacity_bytes - TARGET_DEVICE_EDGE_BYTES) &
			~(uint64_t)(MARKER_BYTES - 1);
	size_t tail_bytes = (size_t)(device->identity.capacity_bytes - tail);
	int rc;

	if (!edge)
		return target_why(why, -ENOMEM, device->node, "", NULL);
	memset(edge, 0, TARGET_DEVICE_EDGE_BYTES);
	if (tail_bytes > TARGET_DEVICE_EDGE_BYTES)
		tail_bytes = TARGET_DEVICE_EDGE_BYTES;
	rc = write_all(device->fd, edge, tail_bytes, device->identity.capacity_bytes - tail_bytes);
	marker_print(device, edge);
	if (rc == 0)
		rc = write_all(device->fd, edge, TARGET_DEVICE_EDGE_BYTES, 0);
	if (rc == 0 && fdatasync(device->fd) < 0)
		rc = -errno;
	free(edge);
	return rc < 0 ? target_why(why, rc, device->node, "", "the marker could not be written") : 0;
}

/* A new run needs consent for what is on the drive now. One that was interrupted before it had a plan may find its own
 * marker, or the drive already discarded. */
static int claim_judge_new(const struct target_request *request, const struct claim *claim,
	const struct device_inspection *inspection, char *why)
{
	const struct claim_contents contents = device_claim_contents(inspection);
	struct guard_report blank = { 0 };
	char run[64];

	if (request->run_id && strcmp(claim->run, request->run_id) == 0 &&
		marker_read(inspection->fd, run, sizeof(run)) == 0) {
		guard_check_contents(inspection->fd, inspection->identity.capacity_bytes, NULL, &blank);
		if (strcmp(run, claim->run) == 0 || blank.count == 0)
			return claim_judge(claim, &inspection->identity, NULL, request->run_id, true,
				clock_wall_ms(), why);
	}
	return claim_judge(claim, &inspection->identity, &contents, request->run_id ? request->run_id : "",
		true, clock_wall_ms(), why);
}

static int claim_check(const struct target_request *request, const struct device_inspection *inspection,
	struct claim *claim, char *why)
{
	char words[CLAIM_WHY_MAX] = "", run[64];
	int rc = claim_read(request->state_directory, request->drive->name, claim, words);

	if (rc < 0)
		return target_why(why, -EPERM, request->drive->device, "", words);
	if (!request->goal_bytes) {
		rc = claim_judge_new(request, claim, inspection, words);
		return rc < 0 ? target_why(why, -EPERM, request->drive->device, "", words) : 0;
	}
	rc = claim_judge(claim, &inspection->identity, NULL, request->run_id, false, clock_wall_ms(), words);
	if (rc < 0)
		return target_why(why, -EPERM, request->drive->device, "", words);
	rc = marker_read(inspection->fd, run, sizeof(run));
	if (rc < 0)
		return target_why(why, rc, inspection->node, "", "the marker can't be read");
	if (strcmp(run, request->run_id) != 0)
		return target_why(why, -ESTALE, inspection->node, "",
			"does not carry this run any more: other contents; stop the run, then arm the drive "
			"again");
	return 0;
}

static void facts_fill(const struct device_inspection *inspection, struct target_facts *facts)
{
	struct stat st;
	int count = -1;

	*facts = (struct target_facts){
		.is_device = true,
		.capacity_bytes = inspection->identity.capacity_bytes,
		.available_bytes = inspection->identity.capacity_bytes,
		.identity = inspection->identity,
		.direct = "block device",
	};
	if (fstat(inspection->fd, &st) == 0)
		count = blockdev_disks_below("", st.st_rdev, facts->disks, BLOCKDEV_MAX);
	facts->disk_count = count > 0 ? 1 : 0;
	/* What the drive itself answered. */
	text_copy(facts->disks[0].serial, sizeof(facts->disks[0].serial), inspection->identity.serial);
	if (inspection->identity.model[0])
		text_copy(facts->disks[0].model, sizeof(facts->disks[0].model), inspection->identity.model);
	if (inspection->identity.firmware[0])
		text_copy(facts->disks[0].firmware, sizeof(facts->disks[0].firmware),
			inspection->identity.firmware);
}

static int device_check(
	const struct target_request *request, struct target_facts *facts, struct target_plan *plan, char *why)
{
	struct device_inspection inspection;
	struct claim claim;
	int rc = device_inspect(request->drive, request->state_directory, &inspection, why);

	if (rc == 0)
		rc = device_plan(request->drive, &inspection.identity, plan, why);
	if (rc == 0)
		rc = claim_check(request, &inspection, &claim, why);
	if (rc == 0)
		facts_fill(&inspection, facts);
	device_inspect_end(&inspection);
	return rc;
}

static void device_close(struct target *target)
{
	struct device *device = (struct device *)target;

	if (device->fd >= 0)
		(void)close(device->fd);
	free(device);
}

static struct device *device_new(const struct target_request *request)
{
	struct device *device = calloc(1, sizeof(*device));

	if (!device)
		return NULL;
	device->base.kind = &target_device;
	device->base.name = device->node;
	device->base.fds = &device->fd;
	device->fd = -1;
	text_copy(device->drive, sizeof(device->drive), request->drive->name);
	text_copy(device->run, sizeof(device->run), request->run_id);
	return device;
}

/* The descriptor that will write: everything is asked again through it, for between two openings anything can happen. */
static int open_for_writing(struct device *device, const struct target_request *request,
	struct device_inspection *inspection, char *why)
{
	char words[IDENTITY_WHY_MAX] = "";
	int rc;

	*inspection = (struct device_inspection){ .fd = -1 };
	rc = find(request->drive, inspection->name, sizeof(inspection->name), inspection->node,
		sizeof(inspection->node), why);
	if (rc < 0)
		return rc;
	guard_check_use("", inspection->name, request->state_directory, &inspection->report);
	if (guard_report_is_refused(&inspection->report))
		return refuse(why, -EPERM, inspection->node, &inspection->report);
	text_copy(device->name, sizeof(device->name), inspection->name);
	text_copy(device->node, sizeof(device->node), inspection->node);
	device->fd = inspection->fd = open_exclusively(
		device->name, device->node, O_RDWR | O_DIRECT, true, why);
	if (device->fd < 0)
		return device->fd;
	rc = identity_read("", device->fd, device->name, &inspection->identity, words);
	if (rc < 0)
		return target_why(why, rc, device->node, "", words);
	identity_judge(request->drive, &inspection->identity, &inspection->report);
	guard_check_use("", device->name, request->state_directory, &inspection->report);
	guard_check_openers("", device->name, GUARD_LOOKS, GUARD_PAUSE_NS, &inspection->report);
	/* What a run that goes on wrote is known by its marker and stamps, and a slow drive takes minutes for the rest. */
	if (request->goal_bytes)
		guard_check_tables("", device->name, NULL, &inspection->report);
	else
		contents_judge(inspection);
	device->identity = inspection->identity;
	(void)ioctl(device->fd, BLKGETDISKSEQ, &device->sequence_number);
	return guard_report_is_refused(&inspection->report)
		       ? refuse(why, -EPERM, device->node, &inspection->report)
		       : 0;
}

static int plan_take(struct device *device, const struct target_request *request, char *why)
{
	struct target_plan *plan = &device->base.plan;
	int rc = device_plan(request->drive, &device->identity, plan, why);

	if (rc < 0 || !request->goal_bytes)
		return rc;
	if (request->goal_bytes + 2ULL * TARGET_DEVICE_EDGE_BYTES > device->identity.capacity_bytes)
		return target_why(why, -ESTALE, device->node, "", "is smaller than the run's extent");
	plan->goal_bytes = plan->file_bytes = request->goal_bytes;
	plan->note[0] = '\0';
	return 0;
}

/* From here on the drive is the run's. */
static int take_over(
	struct device *device, const struct target_request *request, struct claim *claim, char *why)
{
	char words[CLAIM_WHY_MAX] = "";

	if (request->goal_bytes)
		return 0;
	text_copy(claim->run, sizeof(claim->run), request->run_id);
	claim->taken_ms = clock_wall_ms();
	if (claim_write(request->state_directory, claim, words) < 0)
		return target_why(why, -EIO, device->node, "", words);
	return edges_write(device, why);
}

static int device_open(const struct target_request *request, struct target **out, char *why)
{
	struct device *device = device_new(request);
	struct device_inspection inspection;
	struct claim claim;
	int rc;

	if (!device)
		return target_why(why, -ENOMEM, request->drive->device, "", NULL);
	rc = open_for_writing(device, request, &inspection, why);
	if (rc == 0)
		rc = plan_take(device, request, why);
	if (rc == 0)
		rc = claim_check(request, &inspection, &claim, why);
	if (rc == 0)
		rc = take_over(device, request, &claim, why);
	if (rc < 0) {
		device_close(&device->base);
		return rc;
	}
	facts_fill(&inspection, &device->base.facts);
	*out = &device->base;
	return 0;
}

static int verify_judge(struct device *device, const struct target_request *request, char *why)
{
	struct guard_report report = { 0 };
	char words[IDENTITY_WHY_MAX] = "", run[64];
	int rc = identity_read("", device->fd, device->name, &device->identity, words);

	if (rc < 0)
		return target_why(why, rc, device->node, "", words);
	identity_judge(request->drive, &device->identity, &report);
	if (guard_report_is_refused(&report))
		return refuse(why, -EPERM, device->node, &report);
	rc = marker_read(device->fd, run, sizeof(run));
	if (rc < 0)
		return target_why(why, rc, device->node, "", "the marker can't be read");
	return strcmp(run, request->run_id) == 0 ? 0
						 : target_why(why, -ESTALE, device->node, "",
							   "does not carry this run: other contents");
}

static int device_open_to_verify(const struct target_request *request, struct target **out, char *why)
{
	struct device *device = device_new(request);
	struct device_inspection inspection;
	int rc;

	if (!device)
		return target_why(why, -ENOMEM, request->drive->device, "", NULL);
	rc = find(
		request->drive, device->name, sizeof(device->name), device->node, sizeof(device->node), why);
	if (rc == 0) {
		device->fd = open_exclusively(device->name, device->node, O_RDONLY | O_DIRECT, false, why);
		rc = device->fd < 0 ? device->fd : verify_judge(device, request, why);
	}
	if (rc == 0)
		rc = plan_take(device, request, why);
	if (rc < 0) {
		device_close(&device->base);
		return rc;
	}
	inspection = (struct device_inspection){ .fd = device->fd, .identity = device->identity };
	facts_fill(&inspection, &device->base.facts);
	*out = &device->base;
	return 0;
}

static int device_discard(struct target *target, bool *done, char *why)
{
	struct device *device = (struct device *)target;
	uint64_t capacity = device->identity.capacity_bytes;

	for (uint64_t at = 0; at < capacity; at += DISCARD_STEP_BYTES) {
		uint64_t range[2] = { at,
			capacity - at < DISCARD_STEP_BYTES ? capacity - at : DISCARD_STEP_BYTES };

		if (ioctl(device->fd, BLKDISCARD, range) == 0)
			continue;
		(void)snprintf(why, TARGET_WHY_MAX, "not discarded%s: %s", at ? " to the end" : "",
			errno == EOPNOTSUPP ? "the drive does not support it" : strerror(errno));
		/* The marker may have gone with the first part. */
		return at ? edges_write(device, why) : 0;
	}
	*done = true;
	why[0] = '\0';
	return edges_write(device, why);
}

/* The kernel's number of the disk is the same for as long as it is the same disk. */
static bool is_there(const struct device *device)
{
	struct stat st;
	uint64_t number = 0, bytes = 0;

	if (fstat(device->fd, &st) < 0 || ioctl(device->fd, BLKGETSIZE64, &bytes) < 0 || bytes == 0)
		return false;
	if (sysfs_read_u64(&bytes, "", "/sys/dev/block/%u:%u/size", major(st.st_rdev), minor(st.st_rdev)) < 0)
		return false;
	return !device->sequence_number ||
	       sysfs_read_u64(&number, "", "/sys/dev/block/%u:%u/diskseq", major(st.st_rdev),
		       minor(st.st_rdev)) < 0 ||
	       number == device->sequence_number;
}

static int device_look(const struct target *target, char *why)
{
	const struct device *device = (const struct device *)target;
	uint64_t bytes = 0;

	if (!is_there(device))
		return target_why(why, -ENODEV, device->node, "", "the drive is gone");
	if (ioctl(device->fd, BLKGETSIZE64, &bytes) == 0 && bytes != device->identity.capacity_bytes)
		return target_why(why, -ENODEV, device->node, "", "has another size than before");
	return 0;
}

static int device_finish_fill(struct target *target, uint64_t done_bytes, char *why)
{
	(void)done_bytes;
	return target_flush(target, why);
}

static int device_purge(const struct target_request *request, char *why)
{
	return target_why(why, -EINVAL, request->drive->device, "",
		"is a device: there is nothing to purge; wipe it with the tools of your choice");
}

const struct target_kind target_device = {
	.check = device_check,
	.open = device_open,
	.open_to_verify = device_open_to_verify,
	.close = device_close,
	.discard = device_discard,
	.look = device_look,
	.finish_fill = device_finish_fill,
	.purge = device_purge,
};
