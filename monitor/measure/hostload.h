/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hostload.h - what the host did to the workers of one drive during an interval: how long they were ready and
 * waited for a CPU, how much CPU time the hypervisor took, how long a CPU quota held our control group back, and
 * how long the disk itself had the requests. Reads a few small files of the kernel, never a drive; decides nothing
 * (hostlimit.h does). An absent source is unknown, never 0. Control thread. */
#ifndef DRIVESOAK_HOSTLOAD_H
#define DRIVESOAK_HOSTLOAD_H

#include <stdint.h>
#include <sys/types.h>

#include "target/blockdev.h"

#define HOSTLOAD_THREADS_MAX 256
#define HOSTLOAD_UNKNOWN     UINT64_MAX

struct hostload;

/* @root as in base/sysfs.h; it must stay. 0 or -ENOMEM. */
int hostload_new(const char *root, struct hostload **out);
void hostload_free(struct hostload *load); /* NULL is fine */

/* The disks below the target. Only the counters of a single disk with nothing stacked on it (md, dm, bcache) can
 * be held against our own: of any other the device's values stay unknown. */
void hostload_set_disks(struct hostload *load, const struct blockdev *disks, unsigned count);

struct hostload_interval {
	double run_delay_share;	   /* of the threads' time: ready to run and waiting for a CPU, 0..1; NAN */
	double wait_mean_ns;	   /* of one such wait; NAN */
	double steal_share;	   /* of the machine's CPU time, 0..1; NAN */
	uint64_t throttled_ns;	   /* the quota of our control group or of one above it, summed over CPUs */
	uint64_t device_ios;	   /* reads and writes the disk completed, also other programs' */
	double device_lat_mean_ns; /* of those; NAN also when there were too few to tell */
};

/* End the interval of @elapsed_ns and begin the next. @ids: the @count threads that work now; one that is new
 * began in this interval. The first call only begins: everything is unknown. */
void hostload_take(struct hostload *load, const pid_t *ids, unsigned count, uint64_t elapsed_ns,
	struct hostload_interval *out);

#endif
