/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hostlimit.h - decide whether the host, and not the drive, was the limit of one interval, and say by which
 * measures, so that nobody blames a drive for a busy host. The other way is guarded as well: a slow, stalled or
 * throttled device must not be excused. Arithmetic only: no I/O, no clock, no logging. Any thread.
 *
 * The measures, and when each one speaks:
 * - cpu-wait: our threads were ready and waited for a CPU more than 5 % of the time, and one wait was more than 5 %
 *   of the mean latency: many short waits before the answers of a slow drive delay nothing. When nothing completed
 *   there is no latency: then they waited half of the time or more.
 * - throttled: a CPU quota of our control group held us back for 1 % of the interval or more.
 * - steal: the hypervisor took more than 1 % of the machine's CPU time.
 * - cpu-full: our threads ran 90 % of the time or more: they had none left to keep the queue full.
 * - latency: ours is more than 10 % above the block device's own, and the time in which our threads ran or waited
 *   for a CPU explains at least half of the difference (the kernel's own threads, which end the requests of a file,
 *   wait beside ours unseen). A limit in the block layer (blkio, io.max) also holds requests back above the device,
 *   but then our threads sleep: that is a slow device, not a busy host. Speaks only while the depth
 *   is within the device's nr_requests (the rest waits in the kernel) and while the device's counters saw our
 *   requests and hardly any others (merges, splits and other programs change the mean).
 * - in-flight: fewer than 95 % of the requests were under way that should have been.
 * When fewer requests completed than twice the depth, the drive as good as stood still: only a host that kept us
 * from the CPU for half of the time explains that. */
#ifndef DRIVESOAK_HOSTLIMIT_H
#define DRIVESOAK_HOSTLIMIT_H

#include <stdbool.h>
#include <stdint.h>

#define HOSTLIMIT_TEXT_MAX 384
#define HOSTLIMIT_UNKNOWN  UINT64_MAX

enum hostlimit_measure {
	HOSTLIMIT_CPU_WAIT = 1u << 0,
	HOSTLIMIT_THROTTLED = 1u << 1,
	HOSTLIMIT_STEAL = 1u << 2,
	HOSTLIMIT_CPU_FULL = 1u << 3,
	HOSTLIMIT_LATENCY = 1u << 4,
	HOSTLIMIT_IN_FLIGHT = 1u << 5,
};

/* One interval; NAN and HOSTLIMIT_UNKNOWN for what is not known, which never counts against the host. */
struct hostlimit_input {
	uint64_t elapsed_ns, completions;
	unsigned depth, threads; /* asked for */
	bool is_full_meant; /* the queue was meant to be full all the time: no fsync, no rate limit, no start */
	int64_t nr_requests; /* of the device; below 1: not known */
	double inflight_mean, lat_mean_ns;
	double device_lat_mean_ns;
	uint64_t device_ios;
	double cpu_share;	/* CPU seconds of all our threads a second */
	double run_delay_share; /* of our threads' time, 0..1 */
	double wait_mean_ns;	/* of one such wait */
	double steal_share;
	uint64_t throttled_ns; /* summed over CPUs */
};

struct hostlimit_answer {
	bool is_limited;
	uint32_t measures; /* that spoke */
	char text
		[HOSTLIMIT_TEXT_MAX]; /* with the numbers, "threads waited 31 % of the time for a CPU; ..."; or "" */
};

void hostlimit_decide(const struct hostlimit_input *input, struct hostlimit_answer *out);

#define HOSTLIMIT_WATCH_SAMPLES 6
#define HOSTLIMIT_WATCH_BEGIN	3

/* Whether the run as a whole is host-limited: from 3 of the last 6 samples until none of 6 is. All zero to begin. */
struct hostlimit_watch {
	unsigned recent; /* bit 0: the last sample */
	bool is_limited;
};

enum hostlimit_turn { HOSTLIMIT_STAYS, HOSTLIMIT_BEGINS, HOSTLIMIT_ENDS };

enum hostlimit_turn hostlimit_watch_add(struct hostlimit_watch *watch, bool is_limited);

#endif
