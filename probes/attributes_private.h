/* SPDX-License-Identifier: GPL-2.0-or-later */
/* attributes_private.h - the shape of the table; its rows are in attributes_table.c. */
#ifndef DRIVESOAK_ATTRIBUTES_PRIVATE_H
#define DRIVESOAK_ATTRIBUTES_PRIVATE_H

#include "probes/attributes.h"

enum attribute_how {
	ATTRIBUTE_RAW,		  /* bytes of the raw value */
	ATTRIBUTE_CURRENT,	  /* the normalised value, a percentage */
	ATTRIBUTE_LEFT_CURRENT,	  /* the normalised value is percent left: 100 - it is used */
	ATTRIBUTE_LEFT_RAW,	  /* so is the first byte of the raw value */
	ATTRIBUTE_LEFT_EITHER,	  /* so is the raw value when the normalised one stays at 100, else that */
	ATTRIBUTE_LEFT_AGREED,	  /* the normalised value, when the raw one, left or used, agrees */
	ATTRIBUTE_SHARE,	  /* percent that the raw value is of that of the attribute @plus */
	ATTRIBUTE_USED_HUNDREDTHS /* 1/100 % used in the first two bytes, when the normalised value agrees */
};

struct attribute_rule {
	uint8_t id;
	uint8_t plus; /* an attribute whose number is added, or see @how; 0: none */
	enum attribute_how how;
	uint8_t at, length;	  /* bytes of the raw value */
	bool is_doubtful;	  /* the unit is a guess, to be confirmed by measuring */
	enum reading_field field; /* READING_FIELD_COUNT: only a name */
	uint64_t unit_bytes;	  /* of what was written or read; 0: not known */
	const char *name;
};

struct attribute_family {
	const char *name;
	const char *model;    /* POSIX extended regular expression of the whole model */
	const char *firmware; /* likewise; NULL: any */
	const struct attribute_rule *rules;
	size_t rule_count;
};

/* The first that matches counts. */
extern const struct attribute_family attribute_families[];
extern const size_t attribute_family_count;
/* For every drive, unless its family has a rule of its own for the id. */
extern const struct attribute_rule attribute_common_rules[];
extern const size_t attribute_common_rule_count;

#endif
