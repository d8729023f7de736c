/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stretch.h - consecutive samples of the collapse detector taken together: how many, how long, at what rate. Arithmetic
 * only. One thread. */
#ifndef DRIVESOAK_STRETCH_H
#define DRIVESOAK_STRETCH_H

#include <stdbool.h>
#include <stdint.h>

#include "measure/collapse.h"

/* All zero: empty. */
struct stretch {
	unsigned n;
	uint64_t ns, low_ns; /* low: of samples that are low themselves */
	double bytes, worst; /* worst: bytes a second */
	int64_t from_ms;
};

void stretch_clear(struct stretch *stretch);
void stretch_add(struct stretch *stretch, const struct collapse_sample *s, bool is_low);
/* @a ends where @b begins. */
struct stretch stretch_join(const struct stretch *a, const struct stretch *b);
double stretch_mean(const struct stretch *stretch); /* bytes a second; 0 when empty */

/* Of one sample, whose time is not 0. */
double stretch_rate(const struct collapse_sample *s);
int64_t stretch_start_ms(const struct collapse_sample *s);

#endif
