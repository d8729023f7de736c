/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "config/config.h"
#include "config/config_keys.h"
#include "config/config_scan.h"
#include "config/config_value.h"

/* Columns that a value fills before its origin. */
#define ORIGIN_COLUMN 56

static void origin_add(const struct config_scan *scan, unsigned file, unsigned line, struct text *out)
{
	const char *path;

	if (!line) {
		text_add(out, "# default\n");
		return;
	}
	text_add(out, "# ");
	/* A path may have any byte, but the comment must stay one. */
	for (path = scan->paths[file]; *path; path++)
		text_addf(out, "%c", (unsigned char)*path < 0x20 || *path == 0x7f ? '?' : *path);
	text_addf(out, ":%u\n", line);
}

/* fill stands back where size is given: to print both would be a mistake when it is read back. */
static bool is_in_effect(const struct config_key *key, const void *base)
{
	if (key->section == CONFIG_DRIVE && key->offset == offsetof(struct config_drive, fill_pct))
		return ((const struct config_drive *)base)->size_bytes == 0;
	return true;
}

static void pad(struct text *out, size_t begin)
{
	do
		text_add(out, " ");
	while (out->length - begin < ORIGIN_COLUMN && !text_error(out));
}

/* Scheme and host stay; credentials, path and query are what a stranger could use. */
static void secret_print(const struct config_key *key, const void *base, struct text *out)
{
	struct text url = TEXT_INIT, shown = TEXT_INIT;
	const char *host, *at, *item;
	size_t length;

	config_value_text(key, base, &url);
	host = strstr(text_string(&url), "://");
	if (!host) {
		text_fini(&url);
		config_value_literal(key, base, out);
		return;
	}
	host += 3;
	length = strcspn(host, "/?#");
	at = memrchr(host, '@', length);
	text_add_bytes(&shown, text_string(&url), (size_t)(host - text_string(&url)));
	text_add(&shown, at ? "***@" : "");
	text_add_bytes(&shown, at ? at + 1 : host, length - (size_t)(at ? at + 1 - host : 0));
	text_add(&shown, strlen(host + length) > 1 ? "/***" : host + length);
	item = text_string(&shown);
	config_keys_literal(key, &item, 1, out);
	text_fini(&shown);
	text_fini(&url);
}

/* The keys of @section of one instance. */
static void keys_print(const struct config_scan *scan, size_t instance, enum config_section section,
	const void *base, const char *indent, struct text *out)
{
	for (size_t i = 0; i < config_keys_count; i++) {
		const struct config_key *key = &config_keys[i];
		const struct config_origin *origin = &scan->instances[instance].origins[i];
		size_t begin = out->length;

		if (key->section != section || key->width == 0 || !is_in_effect(key, base))
			continue;
		text_addf(out, "%s%s = ", indent, key->name);
		if (key->is_secret)
			secret_print(key, base, out);
		else
			config_value_literal(key, base, out);
		pad(out, begin);
		origin_add(scan, origin->file, origin->line, out);
	}
}

static void instance_print(const struct config *config, size_t number, struct text *out)
{
	const struct config_scan *scan = config->origins;
	const struct config_instance *instance = &scan->instances[number];
	size_t begin = out->length;
	const void *base = instance->kind == CONFIG_DRIVE ? (const void *)&config->drives[instance->index]
							  : (const void *)&config->notifies[instance->index];

	text_addf(out, "%s \"%s\" {", config_sections[instance->kind].name, instance->title);
	pad(out, begin);
	origin_add(scan, instance->file, instance->line, out);
	keys_print(scan, number, instance->kind, base, "    ", out);
	if (instance->kind == CONFIG_DRIVE) {
		text_add(out, "    slo {\n");
		keys_print(scan, number, CONFIG_SLO, base, "        ", out);
		text_add(out, "    }\n");
	}
	text_add(out, "}\n");
}

void config_print(const struct config *config, struct text *out)
{
	static const enum config_section sections[] = { CONFIG_WEB, CONFIG_ALERTS };

	keys_print(config->origins, 0, CONFIG_TOP, config, "", out);
	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
		text_addf(out, "%s {\n", config_sections[sections[i]].name);
		keys_print(config->origins, 0, sections[i], config, "    ", out);
		text_add(out, "}\n");
	}
	for (size_t i = 1; i < config->origins->instance_count; i++)
		instance_print(config, i, out);
}

/* The rows of the run record have their values in a drive, but for the interval. */
static const void *record_base(
	const struct config_key *key, const struct config_drive *drive, const struct config *interval)
{
	return key->section == CONFIG_TOP ? (const void *)interval : (const void *)drive;
}

static void member_json(const struct config_key *key, const void *base, struct json *json)
{
	json_key(json, key->json);
	if (!is_in_effect(key, base)) {
		json_null(json);
		return;
	}
	json->after_key = false;
	config_value_json(key, base, json->text);
}

void config_drive_json(const struct config_drive *drive, uint64_t sample_interval_ns, struct text *out)
{
	const struct config interval = { .sample_interval_ns = sample_interval_ns };
	struct json json;

	json_init(&json, out);
	json_object_open(&json);
	json_put_string(&json, "name", drive->name);
	json_put_string(&json, "target", *drive->device ? "device" : "directory");
	for (size_t i = 0; i < config_keys_count; i++) {
		if (config_keys[i].json)
			member_json(&config_keys[i], record_base(&config_keys[i], drive, &interval), &json);
	}
	json_object_close(&json);
}

void config_drive_frozen(const struct config_drive *drive, uint64_t sample_interval_ns, struct text *out)
{
	const struct config interval = { .sample_interval_ns = sample_interval_ns };

	for (size_t i = 0; i < config_keys_count; i++) {
		const struct config_key *key = &config_keys[i];
		const void *base = record_base(key, drive, &interval);

		if (!key->is_frozen)
			continue;
		text_addf(out, "%s=", key->name);
		if (is_in_effect(key, base))
			config_value_text(key, base, out);
		text_add(out, "\n");
	}
}

bool config_drive_keeps_frozen(const struct config_drive *drive, uint64_t sample_interval_ns,
	const char *frozen, char *difference, size_t size)
{
	struct text text = TEXT_INIT;
	const char *then = frozen, *now;
	bool keeps;

	config_drive_frozen(drive, sample_interval_ns, &text);
	now = text_string(&text);
	keeps = strcmp(then, now) == 0;
	while (*then && *now) {
		size_t a = strcspn(then, "\n"), b = strcspn(now, "\n");

		if (a != b || memcmp(then, now, a) != 0)
			break;
		then += a + (then[a] == '\n');
		now += b + (now[b] == '\n');
	}
	(void)snprintf(difference, size, "was %.*s, is %.*s", (int)strcspn(then, "\n"), then,
		(int)strcspn(now, "\n"), now);
	text_fini(&text);
	return keeps;
}
