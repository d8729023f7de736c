/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/config.h"

#include <confuse.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config_check.h"
#include "config/config_file.h"
#include "config/config_keys.h"
#include "config/config_load.h"
#include "config/config_scan.h"
#include "config/config_value.h"

/* Top, web and alerts belong to the service itself, slo to its drive. */
static enum config_section owner_of(enum config_section section)
{
	if (section == CONFIG_DRIVE || section == CONFIG_NOTIFY)
		return section;
	return section == CONFIG_SLO ? CONFIG_DRIVE : CONFIG_TOP;
}

/* What the rows of an instance count their offsets from. */
static void *base_of(struct config *config, const struct config_instance *instance)
{
	if (instance->kind == CONFIG_DRIVE)
		return &config->drives[instance->index];
	if (instance->kind == CONFIG_NOTIFY)
		return &config->notifies[instance->index];
	return config;
}

static void values_free(enum config_section owner, void *base)
{
	for (size_t i = 0; i < config_keys_count; i++) {
		if (owner_of(config_keys[i].section) == owner)
			config_value_free(&config_keys[i], base);
	}
}

static void origins_free(struct config_scan *scan)
{
	if (scan)
		config_scan_fini(scan);
	free(scan);
}

const struct config_drive *config_find_drive(const struct config *config, const char *name)
{
	for (size_t i = 0; i < config->drive_count; i++)
		if (strcmp(config->drives[i].name, name) == 0)
			return &config->drives[i];
	return NULL;
}

void config_free(struct config *config)
{
	if (!config)
		return;
	values_free(CONFIG_TOP, config);
	for (size_t i = 0; i < config->drive_count; i++) {
		free(config->drives[i].name);
		values_free(CONFIG_DRIVE, &config->drives[i]);
	}
	for (size_t i = 0; i < config->notify_count; i++) {
		free(config->notifies[i].name);
		values_free(CONFIG_NOTIFY, &config->notifies[i]);
	}
	free(config->drives);
	free(config->notifies);
	free(config->path);
	origins_free(config->origins);
	free(config);
}

/* libconfuse's form of a section of the table; NULL when memory is short. Free with options_free(). */
static cfg_opt_t *options_new(enum config_section section);

static void options_free(cfg_opt_t *options)
{
	for (size_t i = 0; options && options[i].name; i++)
		options_free(options[i].subopts);
	free(options);
}

static bool option_add_sections(cfg_opt_t *options, size_t count, enum config_section section)
{
	for (int i = CONFIG_TOP + 1; i < CONFIG_SECTION_COUNT; i++) {
		cfg_opt_t *inner;

		if (config_sections[i].parent != section)
			continue;
		inner = options_new((enum config_section)i);
		if (!inner)
			return false;
		/* All may repeat: the scan has told what may not, and merges the rest. */
		options[count++] = (cfg_opt_t)CFG_SEC(config_sections[i].name, inner, CFGF_MULTI);
	}
	return true;
}

static cfg_opt_t *options_new(enum config_section section)
{
	/* Zeroed: CFG_END is a row without a name. */
	cfg_opt_t *options = calloc(config_keys_count + CONFIG_SECTION_COUNT + 1, sizeof(*options));
	size_t count = 0;

	if (!options)
		return NULL;
	for (size_t i = 0; i < config_keys_count; i++) {
		const char *name = config_keys[i].name;

		if (config_keys[i].section != section)
			continue;
		if (config_keys[i].type == CONFIG_LIST)
			options[count++] = (cfg_opt_t)CFG_STR_LIST(name, NULL, CFGF_NONE);
		else
			options[count++] = (cfg_opt_t)CFG_STR(name, NULL, CFGF_NONE);
	}
	if (!option_add_sections(options, count, section)) {
		options_free(options);
		return NULL;
	}
	return options;
}

static void be_silent(cfg_t *cfg, const char *format, va_list args)
{
	(void)cfg;
	(void)format;
	(void)args;
}

/* The sound statements of all files as libconfuse reads them. */
static int confuse_read(struct config_scan *scan, cfg_t **out)
{
	cfg_opt_t *options = options_new(CONFIG_TOP);
	cfg_t *cfg = options ? cfg_init(options, CFGF_NONE) : NULL;

	options_free(options);
	if (!cfg)
		return -ENOMEM;
	(void)cfg_set_error_function(cfg, be_silent);
	if (cfg_parse_buf(cfg, text_string(&scan->clean)) != CFG_SUCCESS) {
		/* The scan lets nothing through that libconfuse refuses; should it, nothing runs on a guess. */
		config_mistakes_add(
			&scan->mistakes, 0, 1, "syntax", "libconfuse does not understand the file");
		(void)cfg_free(cfg);
		return -EINVAL;
	}
	*out = cfg;
	return 0;
}

static cfg_t *confuse_section(cfg_t *root, const struct config_scan *scan, size_t section)
{
	const struct config_scan_section *row = &scan->sections[section];

	if (section == 0)
		return root;
	return cfg_getnsec(confuse_section(root, scan, row->parent), config_sections[row->kind].name,
		(unsigned)row->ordinal);
}

static int set_items(struct config_scan *scan, const struct config_scan_key *at, const char **items,
	size_t count, struct config *config)
{
	size_t number = scan->sections[at->section].instance;
	const struct config_instance *instance = &scan->instances[number];
	struct config_origin *origin = &instance->origins[at->key - config_keys];
	struct text wrong = TEXT_INIT;
	int rc;

	rc = config_value_set(at->key, items, count, scan->accept_later, base_of(config, instance), &wrong);
	if (rc == -EINVAL) {
		config_mistakes_add(&scan->mistakes, origin->file, origin->line, at->key->name, "%s",
			text_string(&wrong));
		origin->is_wrong = true;
		rc = text_error(&wrong);
	}
	text_fini(&wrong);
	return rc;
}

/* One statement from libconfuse into the struct. */
static int set_key(
	cfg_t *root, struct config_scan *scan, const struct config_scan_key *at, struct config *config)
{
	cfg_opt_t *option = cfg_getopt(confuse_section(root, scan, at->section), at->key->name);
	size_t count = option ? cfg_opt_size(option) : 0;
	const char **items = calloc(count + 1, sizeof(*items));
	int rc;

	if (!items)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		items[i] = cfg_opt_getnstr(option, (unsigned)i);
	rc = set_items(scan, at, items, count, config);
	free(items);
	return rc;
}

static int set_keys(cfg_t *root, struct config_scan *scan, struct config *config)
{
	int rc = 0;

	for (size_t i = 0; i < scan->key_count && rc == 0; i++)
		rc = set_key(root, scan, &scan->keys[i], config);
	return rc;
}

static int set_defaults(const struct config_scan *scan, struct config *config)
{
	int rc = 0;

	for (size_t i = 0; i < scan->instance_count; i++) {
		const struct config_instance *instance = &scan->instances[i];

		for (size_t j = 0; j < config_keys_count && rc == 0; j++) {
			if (owner_of(config_keys[j].section) == instance->kind)
				rc = config_value_set_default(&config_keys[j], base_of(config, instance));
		}
	}
	return rc;
}

static int set_names(const struct config_scan *scan, struct config *config)
{
	for (size_t i = 1; i < scan->instance_count; i++) {
		const struct config_instance *instance = &scan->instances[i];
		char *name = strdup(instance->title);

		if (!name)
			return -ENOMEM;
		if (instance->kind == CONFIG_DRIVE)
			config->drives[instance->index].name = name;
		else
			config->notifies[instance->index].name = name;
	}
	return 0;
}

static size_t instances_count(const struct config_scan *scan, enum config_section kind)
{
	size_t count = 0;

	for (size_t i = 0; i < scan->instance_count; i++)
		count += scan->instances[i].kind == kind;
	return count;
}

/* Everything with its default. 0 or -ENOMEM; config_free() the result in either case. */
static int config_new(const char *path, const struct config_scan *scan, struct config **out)
{
	struct config *config = calloc(1, sizeof(*config));
	size_t drives = instances_count(scan, CONFIG_DRIVE), notifies = instances_count(scan, CONFIG_NOTIFY);
	int rc;

	*out = config;
	if (!config)
		return -ENOMEM;
	config->path = strdup(path);
	config->drives = calloc(drives + 1, sizeof(*config->drives));
	config->notifies = calloc(notifies + 1, sizeof(*config->notifies));
	if (!config->path || !config->drives || !config->notifies)
		return -ENOMEM;
	config->drive_count = drives;
	config->notify_count = notifies;
	rc = set_names(scan, config);
	return rc < 0 ? rc : set_defaults(scan, config);
}

static unsigned line_of(const char *bytes, size_t at)
{
	unsigned line = 1;

	for (size_t i = 0; i < at; i++)
		line += bytes[i] == '\n';
	return line;
}

/* Read and scan one file. 0; -EINVAL or -errno with its mistake when it can't be read; -ENOMEM. */
static int file_add(struct config_scan *scan, const char *path)
{
	int file = config_scan_add_path(scan, path), rc;
	const char *wrong = NULL;
	char *bytes = NULL;
	size_t length = 0;

	if (file < 0)
		return file;
	rc = config_file_read(path, &bytes, &length, &wrong);
	if (rc == 0 && strlen(bytes) != length) {
		config_mistakes_add(&scan->mistakes, (unsigned)file, line_of(bytes, strlen(bytes)), "file",
			"has a NUL byte; that is no configuration file");
		rc = -EINVAL;
	} else if (rc == 0) {
		rc = config_scan_file(scan, (unsigned)file, bytes, length);
	} else if (wrong) {
		config_mistakes_add(&scan->mistakes, (unsigned)file, 1, "file", "%s", wrong);
	} else if (rc != -ENOMEM) {
		config_mistakes_add(
			&scan->mistakes, (unsigned)file, 1, "file", "cannot be read: %s", strerror(-rc));
	}
	free(bytes);
	return rc;
}

/* The value of include in the main file, NULL without one or after a mistake. */
static const char *include_find(cfg_t *root, struct config_scan *scan)
{
	const char *value;

	for (size_t i = 0; i < scan->key_count; i++) {
		if (scan->keys[i].key->section != CONFIG_TOP ||
			strcmp(scan->keys[i].key->name, "include") != 0)
			continue;
		value = cfg_getstr(root, "include");
		return value && *value ? value : NULL;
	}
	return NULL;
}

/* @folder as seen from the folder of @path. 0 or -ENOMEM. */
static int folder_resolve(const char *path, const char *folder, char **out)
{
	const char *slash = strrchr(path, '/');
	int length;

	if (*folder == '/' || !slash)
		length = asprintf(out, "%s", folder);
	else
		length = asprintf(out, "%.*s/%s", (int)(slash - path), path, folder);
	return length < 0 ? -ENOMEM : 0;
}

static int folder_add(struct config_scan *scan, const char *folder)
{
	const struct config_origin *origin = config_scan_origin(scan, 0, CONFIG_TOP, "include");
	char **names = NULL, *path;
	size_t count = 0;
	int rc;

	rc = config_file_list(folder, &names, &count);
	if (rc == -ENOMEM)
		return rc;
	if (rc < 0)
		config_mistakes_add(&scan->mistakes, origin->file, origin->line, "include",
			"the folder %s cannot be read: %s", folder, strerror(-rc));
	rc = 0;
	for (size_t i = 0; i < count && rc != -ENOMEM; i++) {
		if (asprintf(&path, "%s%s%s", folder, folder[strlen(folder) - 1] == '/' ? "" : "/",
			    names[i]) < 0) {
			rc = -ENOMEM;
			break;
		}
		/* One that can't be read is a mistake beside the others. */
		rc = file_add(scan, path);
		free(path);
	}
	config_file_list_free(names, count);
	return rc == -ENOMEM ? rc : 0;
}

/* Add the files that the main one, just scanned, names. */
static int include_add(struct config_scan *scan, const char *path)
{
	const char *value;
	char *folder;
	cfg_t *cfg;
	int rc;

	rc = confuse_read(scan, &cfg);
	if (rc < 0)
		return rc;
	value = include_find(cfg, scan);
	if (value) {
		rc = folder_resolve(path, value, &folder);
		if (rc == 0) {
			rc = folder_add(scan, folder);
			free(folder);
		}
	}
	(void)cfg_free(cfg);
	return rc;
}

static int scan_all(const char *path, struct config_scan *scan)
{
	int rc = file_add(scan, path);

	return rc < 0 ? rc : include_add(scan, path);
}

static int build(const char *path, struct config_scan *scan, struct config **out)
{
	struct config *config = NULL;
	cfg_t *cfg = NULL;
	int rc;

	rc = confuse_read(scan, &cfg);
	if (rc < 0)
		return rc;
	rc = config_new(path, scan, &config);
	if (rc == 0)
		rc = set_keys(cfg, scan, config);
	(void)cfg_free(cfg);
	if (rc == 0)
		config_check(config, scan);
	if (rc == 0 && scan->mistakes.error < 0)
		rc = scan->mistakes.error;
	if (rc == 0 && scan->mistakes.count)
		rc = -EINVAL;
	if (rc < 0) {
		config_free(config);
		return rc;
	}
	*out = config;
	return 0;
}

/* Tell what went wrong; memory that is short while telling is the mistake then. */
static int refuse(const char *path, struct config_scan *scan, int rc, struct text *mistakes)
{
	if (rc != -ENOMEM && scan->mistakes.error == 0) {
		config_mistakes_print(&scan->mistakes, (const char *const *)scan->paths, mistakes);
		if (text_error(mistakes) == 0)
			return rc;
	}
	text_addf(mistakes, "%s:1: file: cannot be read: %s\n", path, strerror(ENOMEM));
	return -ENOMEM;
}

int config_load_any(const char *path, bool accept_later, struct config **out, struct text *mistakes)
{
	struct config_scan *scan = calloc(1, sizeof(*scan));
	struct config *config = NULL;
	int rc;

	rc = scan ? config_scan_init(scan, accept_later) : -ENOMEM;
	if (rc == 0)
		rc = scan_all(path, scan);
	if (rc == 0)
		rc = build(path, scan, &config);
	if (rc < 0) {
		rc = refuse(path, scan, rc, mistakes);
		origins_free(scan);
		return rc;
	}
	text_fini(&scan->clean);
	config->origins = scan;
	*out = config;
	return 0;
}

int config_load(const char *path, struct config **out, struct text *mistakes)
{
	return config_load_any(path, false, out, mistakes);
}
