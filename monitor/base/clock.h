/* SPDX-License-Identifier: GPL-2.0-or-later */
/* clock.h - the three clocks of the service, replaceable as one for tests.
 * Monotonic time measures what passed (rates, phases), boot time also counts suspend, wall time only labels.
 * All functions may be called from any thread; clock_replace() only before threads exist. */
#ifndef DRIVESOAK_CLOCK_H
#define DRIVESOAK_CLOCK_H

#include <stdint.h>

#define NS_PER_S  1000000000ULL
#define NS_PER_MS 1000000ULL
#define NS_PER_US 1000ULL

struct clock_source {
	uint64_t (*mono_ns)(void); /* CLOCK_MONOTONIC: stands still in suspend */
	uint64_t (*boot_ns)(void); /* CLOCK_BOOTTIME: runs on in suspend */
	int64_t (*wall_ns)(void);  /* CLOCK_REALTIME: may jump either way */
};

/* @source must outlive its use; NULL restores the kernel's clocks. */
void clock_replace(const struct clock_source *source);

uint64_t clock_mono_ns(void);
uint64_t clock_boot_ns(void);
int64_t clock_wall_ns(void);

/* Wall time in milliseconds since the epoch: the resolution of everything that is stored. */
int64_t clock_wall_ms(void);

#endif
