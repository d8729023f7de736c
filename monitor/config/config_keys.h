/* SPDX-License-Identifier: GPL-2.0-or-later */
/* config_keys.h - the table of every key of the configuration file. One row a key decides its name, type,
 * range, default, documentation and place in struct config; reading, printing, the run record and the test
 * of the manual follow the rows. Constant data; any thread may read. */
#ifndef DRIVESOAK_CONFIG_KEYS_H
#define DRIVESOAK_CONFIG_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

enum config_section {
	CONFIG_TOP,
	CONFIG_WEB,
	CONFIG_DRIVE,
	CONFIG_SLO,
	CONFIG_ALERTS,
	CONFIG_NOTIFY,
	CONFIG_SECTION_COUNT,
};

struct config_section_row {
	const char *name;
	enum config_section parent;
	bool titled; /* has a title and may come several times; others may too and are one */
	const char *doc;
};

extern const struct config_section_row config_sections[CONFIG_SECTION_COUNT];

enum config_type {
	CONFIG_BYTES,	    /* uint64_t or uint32_t */
	CONFIG_DURATION,    /* uint64_t, ns */
	CONFIG_COUNT,	    /* uint64_t or unsigned */
	CONFIG_PERCENT,	    /* double */
	CONFIG_TEMPERATURE, /* double, Celsius */
	CONFIG_BOOL,	    /* bool */
	CONFIG_CHOICE,	    /* enum: index into choices */
	CONFIG_TEXT,	    /* char * */
	CONFIG_LIST,	    /* struct config_strings */
	CONFIG_PRICE,	    /* config_drive.price_amount and price_currency */
};

/* Values a key may take while part of its feature does not exist yet. */
#define CONFIG_NEUTRALS 3

struct config_key {
	enum config_section section;
	const char *name;
	enum config_type type;
	const char *min, *max; /* as texts of the type, both included; NULL: no range */
	const char *fallback;  /* the default once the feature exists */
	const char *absent;    /* text that means "not given" or "auto": stored as 0 or NAN; NULL: none */
	const char *neutral
		[CONFIG_NEUTRALS]; /* set: the feature does not exist yet, only these are accepted, the first is
					the default for now. Lifting the feature is deleting this cell. */
	const char *const *choices; /* NULL-terminated */
	const char *allowed; /* of a text or list: what is allowed; of a number: what else is demanded */
	bool (*number_ok)(uint64_t); /* NULL: the range is all */
	/* NULL when @text is fine, else what is wrong with it; "" for the sentence made from the row. */
	const char *(*text_wrong)(const char *text);
	bool is_frozen;	  /* defines a run: may not change while it lasts */
	bool is_secret;	  /* a URL that may hold one: printed without */
	const char *json; /* name in the run record; NULL: not there */
	size_t offset; /* into struct config (top, web, alerts), config_drive (drive, slo) or config_notify */
	size_t width;  /* of the member; 0: not stored */
	const char *doc; /* a sentence or two for the manual */
};

extern const struct config_key config_keys[];
extern const size_t config_keys_count;

/* The row, or NULL. */
const struct config_key *config_keys_find(enum config_section section, const char *name);
/* The key of the section that is nearest to @name, NULL when none is near. */
const char *config_keys_suggest(enum config_section section, const char *name);
/* CONFIG_SECTION_COUNT when @parent has no such section. */
enum config_section config_keys_section(enum config_section parent, const char *name);
/* Nearest name of a section in @parent or NULL. */
const char *config_keys_suggest_section(enum config_section parent, const char *name);

/* The text of the default in effect. */
const char *config_keys_default(const struct config_key *key);
/* What is allowed: "a size from 4KiB to 1MiB, a power of two". */
void config_keys_allowed(const struct config_key *key, struct text *out);
/* @items as they stand in the file: quoted where the type is, in braces for a list. */
void config_keys_literal(
	const struct config_key *key, const char *const *items, size_t count, struct text *out);
void config_keys_literal_default(const struct config_key *key, struct text *out);
/* The values that are accepted while the feature of the key does not exist: "\"auto\" or \"none\"". */
void config_keys_later(const struct config_key *key, struct text *out);
/* A line of the manual: what is allowed, default, and what is not in this version. */
void config_keys_describe(const struct config_key *key, struct text *out);

#endif
