/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/inventory_json.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"

const char *inventory_config_name(const struct config *config, const struct inventory_disk *disk)
{
	for (size_t i = 0; config && i < config->drive_count; i++) {
		const struct config_drive *drive = &config->drives[i];

		if (!drive->device[0])
			continue;
		if (inventory_matches(&disk->identity, drive->serial, drive->wwid) ||
			strcmp(drive->device, disk->by_id) == 0 || strcmp(drive->device, disk->by_path) == 0)
			return drive->name;
	}
	return NULL;
}

/* An empty string means unknown. */
static void put_text(struct json *json, const char *key, const char *value)
{
	json_put_string(json, key, value[0] ? value : NULL);
}

static void put_number(struct json *json, const char *key, uint64_t value)
{
	json_put_u64(json, key, value ? value : JSON_UNKNOWN_U64);
}

static void put_findings(
	struct json *json, const char *key, const struct guard_report *report, enum guard_severity severity)
{
	char more[64];

	json_key(json, key);
	json_array_open(json);
	for (unsigned i = 0; i < report->count; i++)
		if (report->findings[i].severity == severity)
			json_string(json, report->findings[i].text);
	if (severity == GUARD_HARD && report->left_off) {
		(void)snprintf(more, sizeof(more), "and %u more", report->left_off);
		json_string(json, more);
	}
	json_array_close(json);
}

static void put_disk(struct json *json, const struct inventory_disk *disk, const struct config *config,
	const struct inventory_health *health)
{
	const struct identity *identity = &disk->identity;

	json_object_open(json);
	json_put_string(json, "path", disk->node);
	put_text(json, "by_id", disk->by_id);
	put_text(json, "by_path", disk->by_path);
	put_text(json, "model", identity->model);
	put_text(json, "serial", identity->serial);
	put_text(json, "wwid", identity->wwid);
	put_text(json, "firmware", identity->firmware);
	put_number(json, "capacity_bytes", identity->capacity_bytes);
	put_number(json, "logical_block_bytes", identity->logical_block_bytes);
	put_number(json, "physical_block_bytes", identity->physical_block_bytes);
	put_text(json, "transport", disk->block.transport);
	put_text(json, "link", disk->block.link);
	json_put_bool(json, "link_degraded", disk->is_link_degraded);
	put_text(json, "shared_port", disk->shared_port);
	json_put_string(json, "configured", inventory_config_name(config, disk));
	json_put_bool(json, "usable", disk->is_usable);
	put_findings(json, "reasons", &disk->report, GUARD_HARD);
	put_findings(json, "soft", &disk->report, GUARD_SOFT);
	if (health) {
		json_put_raw(json, "health", health->json);
		json_put_string(json, "health_error", health->why);
	}
	json_object_close(json);
}

void inventory_json(const struct inventory_disk *disks, size_t count, const struct config *config,
	const struct inventory_health *healths, struct text *out)
{
	struct json json;

	json_init(&json, out);
	json_object_open(&json);
	json_key(&json, "drives");
	json_array_open(&json);
	for (size_t i = 0; i < count; i++)
		put_disk(&json, &disks[i], config, healths ? &healths[i] : NULL);
	json_array_close(&json);
	json_object_close(&json);
	text_add(out, "\n");
}
