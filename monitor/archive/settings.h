/* SPDX-License-Identifier: GPL-2.0-or-later */
/* settings.h - a run's config and host for people: "block_bytes": 16384 becomes "block", "16 KiB". Pure. */
#ifndef DRIVESOAK_SETTINGS_H
#define DRIVESOAK_SETTINGS_H

/* Visit the members of @json, an object that this program wrote; what was not given is left out, of an array each
 * element is visited, an object is one line. 0, or -EINVAL for text that is no such object. */
int settings_each(const char *json, void (*each)(const char *name, const char *value, void *arg), void *arg);

#endif
