/* SPDX-License-Identifier: GPL-2.0-or-later */
/* routes.h - the fixed table of paths. A path is matched against it and is never used to find a file. */
#ifndef DRIVESOAK_ROUTES_H
#define DRIVESOAK_ROUTES_H

#include <stdbool.h>

#include "web/assets.h"
#include "web/call.h"

struct route {
	const char *pattern; /* without the leading /; one * stands for one segment */
	enum call_kind kind;
	void (*answer)(struct call *call);
};

/* What @path ("/runs/x") leads to below @base_path ("/" or "/soak/"); sets segment, kind and depth of @call.
 * NULL when nothing does: kind then is how to say so. */
const struct route *routes_find(const char *base_path, const char *path, struct call *call);

/* The static file of @path; NULL when it is none. */
const struct asset *routes_find_asset(const char *base_path, const char *path);

#endif
