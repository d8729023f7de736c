/* SPDX-License-Identifier: GPL-2.0-or-later */
/* flat.h - walk the members of a JSON object that this program wrote itself (a run's config and host), one level
 * deep, to show them as a table. Not a general parser: nested values are handed over as they stand. Pure. */
#ifndef DRIVESOAK_FLAT_H
#define DRIVESOAK_FLAT_H

#define FLAT_KEY_MAX   64
#define FLAT_VALUE_MAX 1024

/* Strings come without quotes and escapes, null as "", cut to FLAT_VALUE_MAX. 0, or -EINVAL for text that is no
 * such object; members before the mistake were visited. */
int flat_each(const char *json, void (*each)(const char *key, const char *value, void *arg), void *arg);

#endif
