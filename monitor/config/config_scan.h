/* SPDX-License-Identifier: GPL-2.0-or-later */
/* config_scan.h - the look at a file before libconfuse reads it. libconfuse stops at its first mistake,
 * takes the end of the file for a closing brace, lets the last of two equal keys win and puts variables of
 * the environment into texts. This pass finds all of that, with the line, goes on after it, and hands
 * libconfuse a text of which every statement is sound. It decides nothing about values. */
#ifndef DRIVESOAK_CONFIG_SCAN_H
#define DRIVESOAK_CONFIG_SCAN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "config/config_keys.h"
#include "config/config_mistakes.h"

/* Where a key of an instance stands; line 0: nowhere, the default is in effect. */
struct config_origin {
	unsigned file, line;
	bool is_wrong; /* its mistake is told already: what depends on its value can't be judged */
};

/* What keys belong to: the service itself (0, with web and alerts), a drive (with its slo), a notify
 * section. */
struct config_instance {
	enum config_section kind;
	char *title;  /* "" when it is missing or none */
	size_t index; /* among those of its kind */
	unsigned file, line;
	struct config_origin *origins; /* config_keys_count of them */
};

/* A pair of braces as it stands in the file. */
struct config_scan_section {
	enum config_section kind;
	size_t parent;	/* section around it */
	size_t ordinal; /* among those of its kind in the parent: libconfuse's number */
	size_t instance;
	unsigned file, line;
};

struct config_scan_key {
	const struct config_key *key;
	size_t section;
};

struct config_scan {
	char **paths; /* files in the order of reading */
	size_t path_count;
	struct config_instance *instances;
	size_t instance_count;
	struct config_scan_section *sections; /* 0: outside every brace */
	size_t section_count;
	struct config_scan_key *keys; /* each that stands in clean, once */
	size_t key_count;
	struct text clean; /* of all files, for libconfuse; sections have no titles there */
	struct config_mistakes mistakes;
	bool accept_later; /* values of features that do not exist yet too */
};

/* 0 or -ENOMEM; fini() in either case. */
int config_scan_init(struct config_scan *scan, bool accept_later);
void config_scan_fini(struct config_scan *scan);

/* Its number, or -ENOMEM. */
int config_scan_add_path(struct config_scan *scan, const char *path);
/* Scan @bytes (no NUL among them) of file number @file. 0 or -ENOMEM. */
int config_scan_file(struct config_scan *scan, unsigned file, const char *bytes, size_t length);

/* Of a key of the section the instance is for. */
struct config_origin *config_scan_origin(
	const struct config_scan *scan, size_t instance, enum config_section section, const char *name);

#endif
