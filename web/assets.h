/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assets.h - the static files of the pages, embedded at build time (web/embed.sh). Constant; any thread. */
#ifndef DRIVESOAK_ASSETS_H
#define DRIVESOAK_ASSETS_H

#include <stddef.h>

struct asset {
	const char *name; /* as below /static/ */
	const char *type;
	const char *hash; /* of the content: 16 hex digits */
	const unsigned char *bytes;
	size_t length;
	const unsigned char *gzip;
	size_t gzip_length;
};

extern const struct asset assets_table[];
extern const size_t assets_count;

/* NULL when there is none of this name. */
const struct asset *assets_find(const char *name);

#endif
