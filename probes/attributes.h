/* SPDX-License-Identifier: GPL-2.0-or-later */
/* attributes.h - what the SMART attributes of SATA drives mean: a table of families, each with rules keyed by the
 * numeric id, never by a name. Decides units and directions; reads nothing. Of a drive in no family only what ids mean
 * by common agreement is taken: no bytes, no wear, no verdicts. Pure; any thread. */
#ifndef DRIVESOAK_ATTRIBUTES_H
#define DRIVESOAK_ATTRIBUTES_H

#include "probes/reading.h"

/* Name of the family's row; NULL: none. @firmware "" where it is not known. */
const char *attributes_find_family(const char *model, const char *firmware);

/* Our name of an attribute; NULL: unknown in that family ("" is none). */
const char *attributes_name(const char *family, uint8_t id);

/* Every field that the attributes of a reading carry, by its family; their names; how many crossed their threshold. What
 * is known already (device statistics are trusted more) stays. */
void attributes_decode(struct reading *reading, bool has_thresholds);

/* At or below its threshold, and of those that announce a failure. */
bool attributes_is_failed(const struct reading_attribute *attribute);
/* The raw value, all 48 bits. */
uint64_t attributes_raw(const struct reading_attribute *attribute);

#endif
