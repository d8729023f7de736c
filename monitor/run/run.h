/* SPDX-License-Identifier: GPL-2.0-or-later */
/* run.h - the phases of a run as a pure step function: what comes next, given what happened. No I/O, no clock,
 * no logging; the conductor carries the answers out and stores struct run_progress with every sample, so that a
 * restart goes on in the same phase.
 *
 *   prepare -> fill -> soak -> probe -> verify -> done
 */
#ifndef DRIVESOAK_RUN_H
#define DRIVESOAK_RUN_H

#include <stdbool.h>
#include <stdint.h>

enum run_phase { PHASE_PREPARE, PHASE_FILL, PHASE_SOAK, PHASE_PROBE, PHASE_VERIFY, PHASE_DONE, PHASE_COUNT };
enum run_status {
	RUN_IDLE,
	RUN_ARMED,
	RUN_RUNNING,
	RUN_PAUSED,
	RUN_STALLED,
	RUN_DONE,
	RUN_FAILED,
	RUN_ABSENT,
	RUN_STATUS_COUNT
};

/* Names as in the HTTP API and the journal. */
const char *run_phase_name(enum run_phase phase);
const char *run_status_name(enum run_status status);
/* 0 or -EINVAL for a name that is none, *@out then as it was. */
int run_phase_parse(const char *name, enum run_phase *out);
int run_status_parse(const char *name, enum run_status *out);

/* The part of a run that survives a restart. */
struct run_progress {
	enum run_phase phase;
	enum run_status status;
	uint64_t fill_goal_bytes; /* 0: not planned yet */
	uint64_t fill_done_bytes; /* contiguous from the start, completed */
	/* Of these what a completed flush has covered: where the fill goes on after a power loss. */
	uint64_t fill_durable_bytes;
	uint64_t extent_bytes; /* what the soak writes to: set when the fill ends */
	uint64_t settled_ns;   /* idle time passed in prepare */
	uint64_t soak_ns;      /* time spent soaking, without outages and pauses */
	unsigned probe_step;   /* 0..RUN_PROBE_STEPS-1 */
	uint64_t probe_ns;     /* of the running step */
};

/* The probe: depth 1, then an open loop at these shares of the rate the soak sustained. */
#define RUN_PROBE_STEPS 4
extern const double run_probe_share[RUN_PROBE_STEPS]; /* 0: depth 1, as fast as it answers */

/* What a run must reach; constant during the run. */
struct run_plan {
	uint64_t settle_ns, soak_ns; /* soak_ns 0: until stopped */
	uint64_t probe_ns;	     /* of each step; 0: no probe */
	bool verifies;		     /* read the extent back at the end */
};

enum run_event {
	RUN_EVENT_TICK,	    /* time passed: elapsed_ns */
	RUN_EVENT_PREPARED, /* target is open, laid out and discarded; fill_goal_bytes is set; discarded tells */
	RUN_EVENT_FILLED,   /* fill ended: fill_done_bytes, by plan or by ENOSPC */
	RUN_EVENT_VERIFIED, /* the extent was read back, whatever was found */
	RUN_EVENT_FAILED,   /* the target can't go on */
	RUN_EVENT_STOP,	    /* the user ends the run */
	RUN_EVENT_FLUSHED,  /* a flush of the drive completed: fill_done_bytes, from before it was started */
	RUN_EVENT_PAUSE, /* by the user; the status is kept across restarts, until RUN_EVENT_RESUME or the end */
	RUN_EVENT_RESUME,
	RUN_EVENT_BUDGET_SPENT, /* nothing more may be written: fill_done_bytes; a soak ends well, a fill has failed */
	RUN_EVENT_ABSENT, /* the drive is gone; when it is back and prepared again, run_resume() */
};

struct run_input {
	enum run_event event;
	uint64_t elapsed_ns;
	uint64_t fill_goal_bytes, fill_done_bytes;
	bool discarded;
};

/* What the conductor does next. */
enum run_action {
	RUN_ACT_NONE,
	RUN_ACT_FILL,	 /* write [fill_done_bytes, fill_goal_bytes) */
	RUN_ACT_SOAK,	 /* soak [0, extent_bytes) */
	RUN_ACT_PROBE,	 /* step probe_step, with a fresh engine */
	RUN_ACT_VERIFY,	 /* read [0, extent_bytes) back */
	RUN_ACT_FINISH,	 /* stop the engine, close the target: the run is over */
	RUN_ACT_PAUSE,	 /* stop the engine, keep the target open */
	RUN_ACT_RELEASE, /* stop the engine, close the target: the run is not over */
};

/* Advance @progress by one event. A paused run notes what was already under way (PREPARED, FILLED, FLUSHED, a last TICK
 * of the fill, VERIFIED), but no time passes for it and no action but PAUSE, RELEASE and FINISH is answered until it
 * is resumed. */
enum run_action run_step(
	struct run_progress *progress, const struct run_plan *plan, const struct run_input *input);

/* What to do when the service starts, or the drive is back, and finds @progress: the target was just prepared again.
 * NONE for a paused run. */
enum run_action run_resume(const struct run_progress *progress);

/* How much of the target, from its start, carries the run's stamps for sure. @power_lost: since @progress was stored a
 * volatile cache may have lost what no flush had covered. */
uint64_t run_filled_bytes(const struct run_progress *progress, bool power_lost);

/* 0..1 of the current phase; NAN when it has no end. @eta_ns: remaining time at the pace of @fill_bytes_per_s
 * (fill) or by the clock (soak); UINT64_MAX when unknown. */
double run_progress_ratio(const struct run_progress *progress, const struct run_plan *plan);
uint64_t run_eta_ns(
	const struct run_progress *progress, const struct run_plan *plan, double fill_bytes_per_s);

#endif
