/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sample.h - what one interval of one run was: a fixed-size record that is copied through queues, into the
 * journal and out to the web. Counters are exact; unknown is SAMPLE_UNKNOWN or NAN, never 0. */
#ifndef DRIVESOAK_SAMPLE_H
#define DRIVESOAK_SAMPLE_H

#include <stdint.h>

#include "run/run.h"

#define SAMPLE_UNKNOWN UINT64_MAX

enum sample_state {
	SAMPLE_MEASURED,
	SAMPLE_ZERO, /* measured, and nothing completed */
	SAMPLE_PAUSED,
	SAMPLE_FILLING,
	SAMPLE_VERIFYING,
	SAMPLE_DOWN,   /* the service did not run: one row for the whole span, counters unknown */
	SAMPLE_ABSENT, /* the drive was not there */
	SAMPLE_STATE_COUNT
};

enum sample_flag {
	SAMPLE_FLAG_HEALTH_POLL = 1u << 0, /* a health reading fell into the interval */
	SAMPLE_FLAG_PARTIAL = 1u << 1,	   /* not a whole interval of one phase */
	SAMPLE_FLAG_CLOCK_STEP = 1u << 2,  /* the wall clock was set during the interval */
	SAMPLE_FLAG_FLUSH = 1u << 4,	   /* the drive was flushed for the ledger's sake */
	SAMPLE_FLAG_HOST_LIMIT = 1u << 3,  /* the host was the limit, not the drive */
};

#define SAMPLE_FLAGS_TEXT_MAX 64
#define SAMPLE_HIST_MAX	      2048

struct sample {
	int64_t t_ms; /* end of the interval, wall clock; a multiple of the interval but for a down row */
	uint64_t elapsed_ns; /* monotonic time really covered */
	enum sample_state state;
	uint32_t flags;
	enum run_phase phase;
	uint64_t write_bytes, write_ios, read_bytes, read_ios, errors; /* completed in the interval */
	uint64_t lat_p50_ns, lat_p90_ns, lat_p99_ns, lat_p999_ns, lat_p9999_ns,
		lat_max_ns; /* submit to complete */
	uint64_t
		stall_ns; /* longest time without any completion, as known at t_ms; may reach back before it */
	double inflight_mean;		/* requests, time-weighted */
	double host_cpu_share;		/* CPU seconds of our threads per second; NAN */
	double steal_share;		/* of the machine's CPU time; NAN */
	double temp_c;			/* of the last health reading; NAN */
	double percent_used, spare_pct; /* likewise */
	uint64_t media_errors;		/* likewise, of the drive's life */
	double run_delay_share;		/* of our threads' time: ready and waiting for a CPU; NAN */
	uint64_t device_lat_mean_ns;	/* of the block device's own counters */
	uint64_t lat_mean_ns;
	uint64_t throttled_ns; /* by a CPU quota of our control group, summed over CPUs */
	uint64_t commits;      /* fdatasync() completed; unknown where the workload has none */
	uint64_t commit_p50_ns, commit_p99_ns; /* a client's last write and its fdatasync() */
	uint16_t hist_bytes;		       /* latency histogram as encoded by hist_encode(); 0: none */
	uint8_t hist[SAMPLE_HIST_MAX];
};

/* A down row without time: every count and level is unknown. */
void sample_init(struct sample *sample);

const char *sample_state_name(enum sample_state state);
int sample_state_parse(const char *name, enum sample_state *out); /* 0 or -EINVAL */
/* Names joined by '|', "" for none; @text has SAMPLE_FLAGS_TEXT_MAX. */
void sample_flags_print(uint32_t flags, char *text);
int sample_flags_parse(const char *text, uint32_t *out); /* 0 or -EINVAL */

#endif
