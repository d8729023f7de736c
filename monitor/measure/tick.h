/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tick.h - when samples end. Ticks fall on multiples of the interval of the service's wall clock, which is the boot
 * clock plus an offset: it follows the system's wall clock while that is slewed, never goes back, and jumps forward
 * only with a word. Pure; one thread.
 *
 * Backward step (and a clock that is behind the last stored sample at start): the old offset stays, stamps go on
 * growing by the interval until the system's clock has caught up. Forward step and suspend: the stamps skipped are
 * a gap before the sample. A late tick is no gap: its sample covers the time that really passed. */
#ifndef DRIVESOAK_TICK_H
#define DRIVESOAK_TICK_H

#include <stdbool.h>
#include <stdint.h>

/* A difference up to this is slewing, a larger one is a step. */
#define TICK_SLEW_NS 400000000LL

struct tick {
	int64_t interval_ms;
	int64_t offset_ns; /* the service's wall clock minus the boot clock */
	int64_t last_ms;   /* the last stamp, or the start */
	int64_t looked_ms; /* the service's clock at the last due tick, which may have been late */
	int64_t next_ms;   /* end of the running interval, a multiple of the interval */
	int64_t held_ns; /* how far the system's clock is behind (negative) while the old offset is kept; 0: it is not */
};

/* @last_ms: the last stamp already used, INT64_MIN for none; all stamps come after it. */
void tick_start(struct tick *tick, int64_t interval_ms, uint64_t boot_ns, int64_t wall_ns, int64_t last_ms);

/* Boot time at which the next tick is due. */
uint64_t tick_due_boot_ns(const struct tick *tick);

struct tick_answer {
	bool is_due;
	int64_t t_ms;	   /* stamp of the sample that ends now */
	int64_t gap_to_ms; /* a gap precedes the sample and ends here, after the last stamp; INT64_MIN: none */
	int64_t step_ms;   /* the system's clock was set by this since the last look; 0: it was not */
};

/* Call when a tick may be due. @mono_elapsed_ns: monotonic time since the last due tick or the start, which stands
 * still in suspend. */
struct tick_answer tick_advance(
	struct tick *tick, uint64_t boot_ns, int64_t wall_ns, uint64_t mono_elapsed_ns);

/* The service's wall clock now. */
int64_t tick_now_ms(const struct tick *tick, uint64_t boot_ns);

#endif
