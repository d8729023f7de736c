/* SPDX-License-Identifier: GPL-2.0-or-later */
/* causelog.h - the last of what was seen of one drive, kept for when its throughput falls: samples with the counters of
 * their ends, lines of the kernel, health readings. Bounded: an hour and a half at 10 s; adding costs nothing to speak
 * of. Asks cause.h, and remembers its answers for as long as a fall may last: once its beginning is no longer in the
 * record, what was found last stands. No I/O, no clock; one thread. */
#ifndef DRIVESOAK_CAUSELOG_H
#define DRIVESOAK_CAUSELOG_H

#include "measure/cause.h"

#define CAUSELOG_SAMPLES  512
#define CAUSELOG_LINES	  256
#define CAUSELOG_READINGS 128

struct causelog;

int causelog_new(struct causelog **out);   /* 0 or -ENOMEM */
void causelog_free(struct causelog *log);  /* NULL is fine */
void causelog_clear(struct causelog *log); /* another run */

/* In order of time. What it takes from others is filled in here: since_idle_bytes, idle_ns, cpu_pressure, io_pressure, foreign_bytes,
 * foreign_discards. */
void causelog_add_sample(struct causelog *log, const struct cause_sample *sample);
/* @counters->stamp is the t_ms of the sample they belong to; of one that is not there any more they are dropped. */
void causelog_put_counters(struct causelog *log, const struct evidence_counters *counters);
/* In order of time. Where there is no room the kind of line that there is most of is thinned out, evenly over its time: a
 * storm drives out neither other kinds nor its own beginning. */
void causelog_add_line(struct causelog *log, int64_t t_ms, enum kernelline_word word, const char *text);
void causelog_add_reading(struct causelog *log, const struct cause_reading *reading);

/* cause_match_falls() of @other's record with this one. */
bool causelog_match_falls(const struct causelog *log, const struct causelog *other, int64_t near_ms,
	int64_t within_ms, struct cause_fall *out, unsigned *lone);
/* The counters of the newest sample that has any; NULL. */
const struct evidence_counters *causelog_get_counters(const struct causelog *log);

/* What the record does not hold. */
struct causelog_context {
	const struct cause_neighbour *neighbours;
	unsigned neighbour_count;
	const char *path;
	bool is_log_heard;
	uint64_t capacity_bytes;
};
void causelog_find(struct causelog *log, const struct collapse_finding *finding,
	const struct causelog_context *context, struct cause_answer *out);
/* What was found of a fall before the service was started again; falls are known by when they were detected. */
void causelog_recall(struct causelog *log, int64_t detected_ms, const struct cause_answer *answer);

#endif
