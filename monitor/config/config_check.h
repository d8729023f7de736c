/* SPDX-License-Identifier: GPL-2.0-or-later */
/* config_check.h - what must hold between keys. Adds to the mistakes of the scan; a key whose own mistake is
 * told already is taken as given and its value is not judged. Pure but for that. */
#ifndef DRIVESOAK_CONFIG_CHECK_H
#define DRIVESOAK_CONFIG_CHECK_H

#include "config/config.h"
#include "config/config_scan.h"

void config_check(const struct config *config, struct config_scan *scan);

#endif
