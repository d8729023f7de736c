/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/hostinfo.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/json.h"
#include "base/sysfs.h"

/* The value behind "KEY<separator>" at the start of a line of a kernel text file; "" when it is not there. */
static void find_value(
	const char *root, const char *path, const char *key, char separator, char *out, size_t size)
{
	char line[512], full[512];
	FILE *file;

	out[0] = '\0';
	(void)snprintf(full, sizeof(full), "%s%s", root, path);
	file = fopen(full, "re");
	while (file && fgets(line, sizeof(line), file)) {
		char *value = strchr(line, separator);

		if (!value || strncmp(line, key, strlen(key)) != 0)
			continue;
		value += 1 + strspn(value + 1, " \t\"");
		value[strcspn(value, "\"\n")] = '\0';
		(void)snprintf(out, size, "%s", value);
		break;
	}
	if (file)
		(void)fclose(file);
}

static void put_memory(const char *root, struct json *json)
{
	char value[64];
	uint64_t kib = 0;

	find_value(root, "/proc/meminfo", "MemTotal", ':', value, sizeof(value));
	if (sscanf(value, "%" SCNu64, &kib) == 1)
		json_put_u64(json, "memory_bytes", kib * 1024);
	else
		json_put_null(json, "memory_bytes");
}

static void put_known(struct json *json, const char *key, const char *value)
{
	json_put_string(json, key, value[0] ? value : NULL);
}

static void put_board(const char *root, struct json *json)
{
	char vendor[128], name[128], board[260];

	(void)sysfs_read_text(vendor, sizeof(vendor), root, "/sys/class/dmi/id/board_vendor");
	(void)sysfs_read_text(name, sizeof(name), root, "/sys/class/dmi/id/board_name");
	(void)snprintf(board, sizeof(board), "%s%s%s", vendor, vendor[0] && name[0] ? " " : "", name);
	put_known(json, "board", board);
}

static void put_disks(const struct target_facts *facts, struct json *json)
{
	json_key(json, "disks");
	json_array_open(json);
	for (unsigned i = 0; i < facts->disk_count; i++) {
		const struct blockdev *disk = &facts->disks[i];

		json_object_open(json);
		put_known(json, "name", disk->name);
		put_known(json, "model", disk->model);
		put_known(json, "serial", disk->serial);
		put_known(json, "firmware", disk->firmware);
		put_known(json, "transport", disk->transport);
		json_put_u64(json, "capacity_bytes", disk->capacity_bytes);
		json_key(json, "nr_requests");
		if (disk->nr_requests >= 0)
			json_i64(json, disk->nr_requests);
		else
			json_null(json);
		json_object_close(json);
	}
	json_array_close(json);
}

void hostinfo_json(const char *root, const struct target_facts *facts, struct text *out)
{
	static const struct blockdev unknown;
	const struct blockdev *disk = facts->disk_count ? &facts->disks[0] : &unknown;
	char value[256];
	struct utsname uts;
	struct json json;

	json_init(&json, out);
	json_object_open(&json);
	find_value(root, "/proc/cpuinfo", "model name", ':', value, sizeof(value));
	put_known(&json, "cpu", value);
	put_board(root, &json);
	put_memory(root, &json);
	put_known(&json, "kernel", uname(&uts) == 0 ? uts.release : "");
	find_value(root, "/etc/os-release", "PRETTY_NAME", '=', value, sizeof(value));
	put_known(&json, "os", value);
	put_known(&json, "filesystem", facts->filesystem);
	put_known(&json, "mount_options", facts->mount_options);
	put_known(&json, "scheduler", disk->scheduler);
	put_known(&json, "controller", disk->controller);
	put_known(&json, "link", disk->link);
	put_known(&json, "write_cache", disk->write_cache);
	put_disks(facts, &json);
	json_object_close(&json);
}
