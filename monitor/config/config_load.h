/* SPDX-License-Identifier: GPL-2.0-or-later */
/* config_load.h - config_load() with its switch for tests. */
#ifndef DRIVESOAK_CONFIG_LOAD_H
#define DRIVESOAK_CONFIG_LOAD_H

#include <stdbool.h>

#include "config/config.h"

/* As config_load(); @accept_later takes values of features that do not exist yet, so that every key of the
 * table can be tested. */
int config_load_any(const char *path, bool accept_later, struct config **out, struct text *mistakes);

#endif
