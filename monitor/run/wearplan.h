/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wearplan.h - what a run would write, how long it would take and what it would cost the drive: arithmetic for `plan`,
 * the page and the question at arming. No I/O, no clock. Unknown stays unknown: NAN, WEARPLAN_UNKNOWN; sums that do not
 * fit are unknown too, never wrapped. */
#ifndef DRIVESOAK_WEARPLAN_H
#define DRIVESOAK_WEARPLAN_H

#include <stdbool.h>
#include <stdint.h>

#define WEARPLAN_UNKNOWN UINT64_MAX

/* A rate that a fill or a soak of a drive of this kind may be assumed to have; NAN: nothing can be assumed. @transport
 * as in blockdev.h. */
double wearplan_assume_fill(const char *transport, bool is_rotational);
double wearplan_assume_soak(const char *transport, bool is_rotational);

struct wearplan_input {
	uint64_t capacity_bytes, fill_bytes; /* WEARPLAN_UNKNOWN */
	double fill_bytes_per_s, soak_bytes_per_s,
		write_share;		       /* rates NAN; of the soak's bytes written, 0..1 */
	uint64_t settle_ns, soak_ns, probe_ns; /* soak 0: until stopped; probe: of each of its steps */
	bool verifies;
	uint64_t rated_bytes, budget_bytes; /* 0: not given */
	double wear_limit_pct;		    /* of the rated endurance, added by the run; 0: none */
};

/* When a limit on the bytes is reached. */
enum wearplan_when {
	WEARPLAN_NOT_GIVEN, /* there is no such limit, or nothing to take it of */
	WEARPLAN_NEVER,	    /* the run ends before */
	WEARPLAN_IN_FILL,
	WEARPLAN_IN_SOAK,
	WEARPLAN_CANT_TELL, /* a rate is missing */
};

struct wearplan_limit {
	enum wearplan_when when;
	uint64_t bytes;	   /* the limit; WEARPLAN_UNKNOWN */
	uint64_t after_ns; /* since the start; WEARPLAN_UNKNOWN */
};

struct wearplan {
	double fill_pct;		  /* of the capacity */
	uint64_t fill_ns, read_ns;	  /* read: the verification, at the pace of the fill; 0: none */
	uint64_t bytes_per_day;		  /* of the soak */
	uint64_t soak_bytes, probe_bytes; /* probe: at most */
	uint64_t total_bytes;		  /* fill, soak and probe; unknown for a soak without an end */
	uint64_t total_ns;
	uint64_t least_ns; /* without what is not known of it; WEARPLAN_UNKNOWN for a soak without an end */
	double rated_pct_per_day, rated_pct;
	struct wearplan_limit budget, wear;
};

void wearplan_make(const struct wearplan_input *input, struct wearplan *out);

#endif
