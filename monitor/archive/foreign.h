/* SPDX-License-Identifier: GPL-2.0-or-later */
/* foreign.h - the logs of other tools as samples: sysbench fileio, fio bandwidth logs, iostat -x, CSV, and this
 * program's own exports. A log is recognised by its content, read line by line in little memory, twice: the first
 * time looks at all of it, so that a broken one is refused before anything of it was taken.
 *
 * Unknown stays unknown: a column that is not there, an empty value. A sample has a whole number of seconds; what is
 * finer in the log (and a fio log of single requests) is gathered to whole seconds. A hole in a fio log is stalled
 * time, as fio writes no row for a window in which nothing completed; a hole in any other log is a gap.
 * One thread. */
#ifndef DRIVESOAK_FOREIGN_H
#define DRIVESOAK_FOREIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "measure/sample.h"

#define FOREIGN_WHY_MAX	     512
#define FOREIGN_NAME_MAX     64
#define FOREIGN_WARNINGS_MAX 20
#define FOREIGN_GAPS_MAX     10000

struct foreign_options {
	const char *device;  /* of an iostat log; NULL: the busiest */
	int64_t interval_ms; /* of an iostat log without times; 0: not known */
};

struct foreign_gap {
	int64_t from_ms, to_ms;
};

struct foreign_info {
	const char *format;		 /* as in the interface: sysbench-1.0, fio-bw, iostat, ... */
	char device[FOREIGN_NAME_MAX];	 /* of an iostat log; "" */
	char workload[FOREIGN_NAME_MAX]; /* what the log itself says of it: "random-write"; "" */
	bool has_epoch;			 /* times are of the wall clock; else from the start of the log */
	bool is_interval_known;
	bool knows_host_limit; /* its rows tell when the host was the limit: those of a run of our own */
	uint32_t interval_s;
	int64_t from_ms; /* where the first sample starts */

	int64_t to_ms; /* of the last */

	/* Known after foreign_each(). */
	uint64_t samples; /* with a value */
	struct foreign_gap *gaps;
	size_t gap_count;
	char warnings[FOREIGN_WARNINGS_MAX][FOREIGN_WHY_MAX];
	size_t warning_count;
};

/* A sample is as sample.h says, its phase PHASE_SOAK unless the log knows it. What no sample can hold stands beside. */
struct foreign_row {
	struct sample sample;
	double lat_p95_ns; /* NAN */
};

struct foreign;

/* Look at the whole file; "-" is standard input. 0; -EBADMSG with "FILE:LINE: what is wrong" in @why; else another
 * negative errno with its text, the file's name before it. @why has FOREIGN_WHY_MAX. */
int foreign_open(const char *path, const struct foreign_options *options, struct foreign **out, char *why);
void foreign_close(struct foreign *foreign); /* NULL is fine */

/* Hand over every sample in order of time, once; a non-zero answer ends the walk and is returned. */
int foreign_each(
	struct foreign *foreign, int (*each)(const struct foreign_row *, void *), void *arg, char *why);
const struct foreign_info *foreign_info(const struct foreign *foreign);

#endif
