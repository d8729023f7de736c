/* SPDX-License-Identifier: GPL-2.0-or-later */
/* config_mistakes.h - what is wrong with the files, collected while they are read and told all at once, by
 * file and line. Belongs to one thread. */
#ifndef DRIVESOAK_CONFIG_MISTAKES_H
#define DRIVESOAK_CONFIG_MISTAKES_H

#include <stddef.h>

#include "base/text.h"

struct config_mistake {
	unsigned file, line; /* file: number in the order of reading */
	size_t order;
	char *text; /* "key: what is wrong" */
};

struct config_mistakes {
	struct config_mistake *rows;
	size_t count;
	int error; /* 0 or -ENOMEM: then some are lost */
};

void config_mistakes_fini(struct config_mistakes *mistakes);
void config_mistakes_add(struct config_mistakes *mistakes, unsigned file, unsigned line, const char *key,
	const char *format, ...) __attribute__((format(printf, 5, 6)));

/* "FILE:LINE: key: what is wrong" lines in order; sorts the rows. */
void config_mistakes_print(struct config_mistakes *mistakes, const char *const *paths, struct text *out);

#endif
