/* SPDX-License-Identifier: GPL-2.0-or-later */
/* spell.h - decide how long I/O errors are one alert: from the first until none was seen for an hour, so that one every
 * few minutes is not raised and resolved each time. Arithmetic only: no I/O, no clock, no logging. One per drive. All zero:
 * none was seen. */
#ifndef DRIVESOAK_ALERT_SPELL_H
#define DRIVESOAK_ALERT_SPELL_H

#include <stdbool.h>
#include <stdint.h>

struct spell {
	uint64_t seen_ns; /* when errors were seen last; 0: never */
	uint64_t before;  /* as many there were before those of this spell; UINT64_MAX: not known */
};

/* @fresh errors were seen now, more than 0, @total with those before. */
void spell_add(struct spell *spell, uint64_t total, uint64_t fresh, uint64_t now_ns);
/* One that was told before a restart goes on, whatever its errors were. */
void spell_recall(struct spell *spell, uint64_t now_ns);
bool spell_lasts(const struct spell *spell, uint64_t now_ns);
/* How many of @total are of the spell that lasts; NAN: not known. 0 when none lasts. */
double spell_errors(const struct spell *spell, uint64_t total, uint64_t now_ns);

#endif
