/* SPDX-License-Identifier: GPL-2.0-or-later */
/* decline.h - decide whether a settled drive has become slower for good: the median of each hour against the median
 * of the first 6 h of the settled window; degraded after three hours in a row below 80 %, until one is at 85 % again.
 * Hours are measured time. Medians come from logarithmic bins of 0.55 %: fixed memory, whatever the interval.
 * Arithmetic only. One thread. */
#ifndef DRIVESOAK_DECLINE_H
#define DRIVESOAK_DECLINE_H

#include <stdbool.h>
#include <stdint.h>

#define DECLINE_BINS (44 * 128) /* 1 B/s to 16 TiB/s, 128 bins an octave */

struct decline_bins {
	uint32_t counts[DECLINE_BINS];
	uint64_t total, elapsed_ns;
};

#define DECLINE_SLOW_SHARE 0.80

/* All zero to begin. */
struct decline {
	struct decline_bins reference, hour;
	double reference_rate; /* median of the first 6 h, bytes a second; 0: not known yet */
	double hour_rate;      /* of the last whole hour */
	int64_t hour_from_ms, slow_from_ms;
	unsigned slow_hours;
	bool is_degraded;
};

enum decline_turn { DECLINE_STAYS, DECLINE_BEGINS, DECLINE_ENDS };

/* A measured sample that ended at @t_ms; @is_settled: it lies in W. Without it the first 6 h begin anew as long as they
 * are not over; afterwards they stay what every later hour is held against, within W or not. */
enum decline_turn decline_add(
	struct decline *decline, int64_t t_ms, uint64_t elapsed_ns, double bytes_per_s, bool is_settled);

#endif
