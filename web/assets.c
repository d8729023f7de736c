/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "web/assets.h"

#include <string.h>

const struct asset *assets_find(const char *name)
{
	for (size_t i = 0; i < assets_count; i++) {
		if (strcmp(assets_table[i].name, name) == 0)
			return &assets_table[i];
	}
	return NULL;
}
