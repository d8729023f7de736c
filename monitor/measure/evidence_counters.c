/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The counters of one disk, from small files that the kernel answers without asking the drive. */
#include "measure/evidence.h"

#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/sysfs.h"
#include "base/text.h"
#include "target/blocklink.h"

void evidence_counters_init(struct evidence_counters *counters)
{
	*counters = (struct evidence_counters){
		.stamp = INT64_MIN,
		.io_errors = EVIDENCE_UNKNOWN,
		.io_timeouts = EVIDENCE_UNKNOWN,
		.aer_correctable = EVIDENCE_UNKNOWN,
		.aer_nonfatal = EVIDENCE_UNKNOWN,
		.aer_fatal = EVIDENCE_UNKNOWN,
		.queue_depth = EVIDENCE_UNKNOWN,
		.read_bytes = EVIDENCE_UNKNOWN,
		.write_bytes = EVIDENCE_UNKNOWN,
		.discard_bytes = EVIDENCE_UNKNOWN,
		.cpu_pressure_us = EVIDENCE_UNKNOWN,
		.io_pressure_us = EVIDENCE_UNKNOWN,
		.io_timeout_ms = EVIDENCE_UNKNOWN,
	};
}

bool evidence_is_well(const char *state)
{
	return !state[0] || strcmp(state, "live") == 0 || strcmp(state, "running") == 0;
}

bool evidence_is_busy(const char *md_action)
{
	return md_action[0] && strcmp(md_action, "idle") != 0 && strcmp(md_action, "frozen") != 0;
}

uint64_t evidence_growth(uint64_t before, uint64_t after)
{
	return before == EVIDENCE_UNKNOWN || after == EVIDENCE_UNKNOWN || after < before ? 0 : after - before;
}

/* --- where --- */

/* The part of a path that begins with @prefix and goes on with a digit, "" without one: "ata3" of ".../ata3/host2/...". */
static void find_part(const char *path, const char *prefix, char *out, size_t size)
{
	const size_t length = strlen(prefix);

	out[0] = '\0';
	for (const char *at = path; at; at = strchr(at + 1, '/')) {
		const char *part = *at == '/' ? at + 1 : at;

		if (strncmp(part, prefix, length) == 0 && part[length] >= '0' && part[length] <= '9')
			(void)snprintf(out, size, "%.*s", (int)strcspn(part, "/"), part);
	}
}

/* libata numbers the disks of a port "ata3.00", by the port multiplier's port or else master and slave: SCSI has the
 * former as channel, the latter as id. */
static void add_ata_names(struct evidence_place *place, const char *address)
{
	char port[KERNELLINE_NAME_MAX], device[KERNELLINE_NAME_MAX + 16];
	unsigned host, channel, id, lun;

	find_part(place->folder, "ata", port, sizeof(port));
	if (!port[0] || sscanf(address, "%u:%u:%u:%u", &host, &channel, &id, &lun) != 4)
		return;
	kernelline_add_name(&place->names, port);
	(void)snprintf(device, sizeof(device), "%s.%02u", port, channel + id);
	kernelline_add_name(&place->names, device);
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void find_pci(const char *root, struct evidence_place *place)
{
	char folder[PATH_MAX], *slash;

	text_copy(folder, sizeof(folder), place->folder);
	if (!blocklink_cut_to_pci(root, folder))
		return;
	text_copy(place->pci, sizeof(place->pci), folder);
	kernelline_add_name(&place->names, last_part(folder));
	slash = strrchr(folder, '/');
	*slash = '\0';
	/* Above may be the root complex, which is no function and counts nothing. */
	if (!blocklink_cut_to_pci(root, folder) || strlen(folder) != (size_t)(slash - folder))
		return;
	text_copy(place->port, sizeof(place->port), folder);
	kernelline_add_name(&place->names, last_part(folder));
}

static void add_arrays(const char *root, const char *path, struct evidence_place *place)
{
	char holders[PATH_MAX];
	struct dirent *entry;
	DIR *folder;

	(void)snprintf(holders, sizeof(holders), "%.1000s%.1000s/holders", root, path);
	folder = opendir(holders);
	while (folder && (entry = readdir(folder))) {
		if (strncmp(entry->d_name, "md", 2) != 0)
			continue;
		for (unsigned i = 0; i < EVIDENCE_MD_MAX; i++) {
			if (place->md[i][0] && strcmp(place->md[i], entry->d_name) != 0)
				continue;
			(void)snprintf(place->md[i], sizeof(place->md[i]), "%.31s", entry->d_name);
			break;
		}
	}
	if (folder)
		(void)closedir(folder);
}

/* Arrays hold the disk or one of its partitions, which are folders below it called like it and then some. */
static void find_arrays(const char *root, struct evidence_place *place)
{
	char path[512], full[PATH_MAX];
	struct dirent *entry;
	DIR *folder;

	(void)snprintf(path, sizeof(path), "/sys/block/%s", place->disk);
	add_arrays(root, path, place);
	(void)snprintf(full, sizeof(full), "%.1000s%s", root, path);
	folder = opendir(full);
	while (folder && (entry = readdir(folder))) {
		if (strncmp(entry->d_name, place->disk, strlen(place->disk)) != 0)
			continue;
		(void)snprintf(path, sizeof(path), "/sys/block/%s/%.255s", place->disk, entry->d_name);
		add_arrays(root, path, place);
	}
	if (folder)
		(void)closedir(folder);
}

void evidence_find(const char *root, const char *disk, struct evidence_place *out)
{
	char folder[PATH_MAX], name[KERNELLINE_NAME_MAX];

	*out = (struct evidence_place){ .disk = "" };
	text_copy(out->disk, sizeof(out->disk), disk);
	kernelline_add_name(&out->names, disk);
	find_arrays(root, out);
	if (blocklink_folder(root, disk, folder) < 0 || strlen(folder) >= sizeof(out->folder))
		return;
	text_copy(out->folder, sizeof(out->folder), folder);
	/* The last part is a controller's name "nvme0" or a SCSI address "2:0:0:0". */
	if (strncmp(last_part(folder), "nvme", 4) == 0 || strchr(last_part(folder), ':'))
		kernelline_add_name(&out->names, last_part(folder));
	add_ata_names(out, last_part(folder));
	/* "usb 2-1: reset": the part before the interface "2-1:1.0". */
	for (char *at = strstr(folder, "/usb"); at; at = strchr(at + 1, '/')) {
		(void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(at + 1, "/"), at + 1);
		if (strchr(name, '-') && !strchr(name, ':'))
			kernelline_add_name(&out->names, name);
	}
	if (strstr(folder, "/ata"))
		blocklink_sata_name(root, folder, out->ata_link, sizeof(out->ata_link));
	find_pci(root, out);
}

/* --- how much --- */

/* Decimal or, as SCSI writes its counts, "0x1f". */
static uint64_t read_count(const char *folder, const char *name)
{
	char text[32], *end;
	unsigned long long value;

	if (sysfs_read_text(text, sizeof(text), folder, "/%s", name) < 0 || text[0] == '-')
		return EVIDENCE_UNKNOWN;
	value = strtoull(text, &end, 0);
	return end == text || *end ? EVIDENCE_UNKNOWN : value;
}

/* Known where either is. */
static uint64_t sum_of(uint64_t a, uint64_t b)
{
	return a == EVIDENCE_UNKNOWN ? b : b == EVIDENCE_UNKNOWN ? a : a + b;
}

/* "RxErr 0\nBadTLP 3\n...TOTAL_ERR_COR 3" */
static uint64_t read_aer(const char *folder, const char *which)
{
	char text[1024], *total;

	if (!folder[0] || sysfs_read_text(text, sizeof(text), folder, "/aer_dev_%s", which) < 0)
		return EVIDENCE_UNKNOWN;
	total = strstr(text, "TOTAL_ERR_");
	total = total ? strchr(total, ' ') : NULL;
	return total ? strtoull(total, NULL, 10) : EVIDENCE_UNKNOWN;
}

static void read_link(const char *root, const struct evidence_place *place, struct evidence_counters *out)
{
	struct blocklink_rates rates;

	if (place->ata_link[0])
		blocklink_read_sata(root, place->ata_link, &rates);
	else if (place->pci[0] && strstr(place->folder, "/nvme/"))
		blocklink_read_pci(place->pci, &rates);
	else
		return;
	out->link_speed = rates.speed;
	out->link_speed_max = rates.speed_max;
	out->link_width = rates.width;
	out->link_width_max = rates.width_max;
	out->sata_limit = rates.limit;
}

static void read_arrays(const char *root, const struct evidence_place *place, struct evidence_counters *out)
{
	char action[EVIDENCE_WORD_MAX];

	for (unsigned i = 0; i < EVIDENCE_MD_MAX && place->md[i][0]; i++) {
		(void)sysfs_read_text(
			action, sizeof(action), root, "/sys/block/%s/md/sync_action", place->md[i]);
		if (!out->md_action[0] || evidence_is_busy(action))
			text_copy(out->md_action, sizeof(out->md_action), action);
	}
}

void evidence_read(const char *root, const struct evidence_place *place, struct evidence_counters *out)
{
	struct blockdev_counters counters;

	evidence_counters_init(out);
	if (place->folder[0]) {
		(void)sysfs_read_text(out->state, sizeof(out->state), place->folder, "/state");
		out->io_errors = read_count(place->folder, "ioerr_cnt");
		out->io_timeouts = read_count(place->folder, "iotmo_cnt");
		out->queue_depth = read_count(place->folder, "queue_depth");
	}
	read_link(root, place, out);
	out->aer_correctable = sum_of(
		read_aer(place->pci, "correctable"), read_aer(place->port, "correctable"));
	out->aer_nonfatal = sum_of(read_aer(place->pci, "nonfatal"), read_aer(place->port, "nonfatal"));
	out->aer_fatal = sum_of(read_aer(place->pci, "fatal"), read_aer(place->port, "fatal"));
	(void)sysfs_read_text(out->write_cache, sizeof(out->write_cache), root,
		"/sys/block/%s/queue/write_cache", place->disk);
	(void)sysfs_read_u64(&out->io_timeout_ms, root, "/sys/block/%s/queue/io_timeout", place->disk);
	read_arrays(root, place, out);
	if (blockdev_read_counters(root, place->disk, &counters) == 0) {
		out->read_bytes = counters.read_bytes;
		out->write_bytes = counters.write_bytes;
		out->discard_bytes = counters.discard_bytes;
	}
}

uint64_t evidence_read_pressure(const char *root, const char *what)
{
	char text[256];
	uint64_t total_us;

	if (sysfs_read_text(text, sizeof(text), root, "/proc/pressure/%s", what) < 0 ||
		sscanf(text, "some avg10=%*f avg60=%*f avg300=%*f total=%" SCNu64, &total_us) != 1)
		return EVIDENCE_UNKNOWN;
	return total_us;
}

/* --- several disks --- */

/* The lower one that is known. */
static unsigned slower(unsigned a, unsigned b)
{
	return !a || (b && b < a) ? b : a;
}

void evidence_counters_merge(struct evidence_counters *sum, const struct evidence_counters *more)
{
	if (!sum->state[0] || !evidence_is_well(more->state))
		text_copy(sum->state, sizeof(sum->state), more->state);
	if (!sum->write_cache[0] || strcmp(more->write_cache, "write through") == 0)
		text_copy(sum->write_cache, sizeof(sum->write_cache), more->write_cache);
	if (!sum->md_action[0] || evidence_is_busy(more->md_action))
		text_copy(sum->md_action, sizeof(sum->md_action), more->md_action);
	sum->io_errors = sum_of(sum->io_errors, more->io_errors);
	sum->io_timeouts = sum_of(sum->io_timeouts, more->io_timeouts);
	sum->aer_correctable = sum_of(sum->aer_correctable, more->aer_correctable);
	sum->aer_nonfatal = sum_of(sum->aer_nonfatal, more->aer_nonfatal);
	sum->aer_fatal = sum_of(sum->aer_fatal, more->aer_fatal);
	sum->read_bytes = sum_of(sum->read_bytes, more->read_bytes);
	sum->write_bytes = sum_of(sum->write_bytes, more->write_bytes);
	sum->discard_bytes = sum_of(sum->discard_bytes, more->discard_bytes);
	sum->link_speed = slower(sum->link_speed, more->link_speed);
	sum->link_speed_max = slower(sum->link_speed_max, more->link_speed_max);
	sum->link_width = slower(sum->link_width, more->link_width);
	sum->link_width_max = slower(sum->link_width_max, more->link_width_max);
	sum->sata_limit = slower(sum->sata_limit, more->sata_limit);
	/* Unknown is the largest number there is. */
	if (more->queue_depth < sum->queue_depth)
		sum->queue_depth = more->queue_depth;
	if (sum->io_timeout_ms == EVIDENCE_UNKNOWN ||
		(more->io_timeout_ms != EVIDENCE_UNKNOWN && more->io_timeout_ms > sum->io_timeout_ms))
		sum->io_timeout_ms = more->io_timeout_ms;
}
