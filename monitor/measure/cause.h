/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cause.h - decide why throughput fell, from what was seen of the drive, its host and its neighbours around the moment
 * it began, and say which numbers speak for it. Arithmetic only: no I/O, no clock, no logging. Any thread.
 *
 * The causes are looked for in the order of the enum; the first that is found is the answer. A sign has to come with
 * the beginning of the fall, within two samples, and not have been there before it: a drive that has been hot for an
 * hour did not become slow of it, and a host that is busy later did not make it so. The one sign that may come late is
 * the kernel's word on a command that did not come back: it waits for the command's time (twice where it aborts first),
 * and all that while nothing completes. What may as well be a consequence of a drive that stands still (a health
 * reading or a flush that takes long) counts only where it went on writing, and has been slowed by such before. Where
 * nothing speaks clearly the answer is unknown: a wrong word costs more than none.
 *
 * Of a saw-tooth (COLLAPSE_PERIODIC) the teeth within the record are judged together; what is also there between them
 * makes none of them. */
#ifndef DRIVESOAK_CAUSE_H
#define DRIVESOAK_CAUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "measure/collapse.h"
#include "measure/evidence.h"
#include "measure/kernelline.h"
#include "measure/sample.h"

#define CAUSE_UNKNOWN_COUNT UINT64_MAX
#define CAUSE_TEXT_MAX	    512
#define CAUSE_NEAR_SAMPLES  2 /* around the beginning of a fall */
/* Drives that fall in the same sample or the next fall together; a stall begins between two. */
#define CAUSE_TOGETHER_SAMPLES 1.5

enum cause {
	CAUSE_RESET,	   /* the kernel reset the drive, its controller or link, or aborted commands */
	CAUSE_IO_ERRORS,   /* commands failed */
	CAUSE_HOST,	   /* the machine kept us from the CPU, or lost interrupts */
	CAUSE_SHARED_PATH, /* others of the same adapter or port fell at the same time */
	CAUSE_LINK,	   /* the link became slower, or has errors */
	CAUSE_THERMAL,	   /* the drive throttles itself */
	CAUSE_CACHE_MODE,  /* write cache off, power-loss protection lost */
	CAUSE_BACKGROUND,  /* others use the disk: writers, discards, resync, a self-test */
	CAUSE_HEALTH_POLL, /* our reading of its health */
	CAUSE_OWN_PAUSE,   /* our pause or flush */
	CAUSE_WRITE_CACHE, /* its fast part is full */
	CAUSE_GARBAGE,	   /* it cleans up: the fresh drive is used up, or saw-teeth */
	CAUSE_UNKNOWN,
	CAUSE_COUNT
};

enum cause_rank {
	CAUSE_MEASURED,	  /* something said or counted it */
	CAUSE_CORRELATED, /* it came at the same time */
	CAUSE_INFERRED,	  /* it has the shape of it; of unknown, of no meaning */
	CAUSE_RANK_COUNT
};

/* One sample of the drive; NAN and SAMPLE_UNKNOWN for what is not known. */
struct cause_sample {
	int64_t t_ms; /* end */
	uint64_t elapsed_ns;
	enum sample_state state;
	uint32_t flags; /* of sample.h */
	uint64_t bytes, errors;
	uint32_t host_measures;		   /* of hostlimit.h; 0: none spoke */
	double run_delay_share;		   /* of our threads' time */
	double steal_share;		   /* of the machine's */
	double throttled_share;		   /* of the interval, by a CPU quota */
	double in_flight_share;		   /* of the depth, where the queue is meant to be full */
	double cpu_pressure, io_pressure;  /* share of the time in which some task waited for it */
	double foreign_bytes;		   /* read and written on the disk by others */
	double foreign_discards;	   /* bytes */
	uint64_t since_idle_bytes;	   /* written since the drive was last left alone */
	uint64_t idle_ns;		   /* for how long that was */
	double capacities;		   /* written in this run, of the drive's capacity */
	struct evidence_counters counters; /* at its end */
};

/* One reading of the drive's health. */
struct cause_reading {
	int64_t t_ms;
	double temp_c, warning_temp_c;
	uint64_t critical_warning;
	uint64_t warning_temp_minutes, critical_temp_minutes;
	uint64_t thermal1_count, thermal2_count, thermal1_s, thermal2_s;
	uint64_t throttle_level, throttle_events; /* events: 8 bits, begins again at 0 */
	uint64_t crc_errors;
	uint64_t self_test; /* 1: one runs */
	uint64_t host_written_bytes, media_written_bytes;
};

struct cause_line {
	int64_t t_ms;
	enum kernelline_word word;
	const char *text;
};

/* A fall as the samples alone show it. */
struct cause_fall {
	int64_t from_ms, to_ms; /* to: INT64_MAX while it lasts */
};

/* Another drive that soaks now. */
struct cause_neighbour {
	const char *name;
	bool shares_path;
	bool has_fallen; /* with ours; cause_match_falls() */
	struct cause_fall fall;
	unsigned lone_falls; /* in its record, without us */
};

struct cause_input {
	const struct collapse_finding *finding;
	const struct cause_sample *samples; /* oldest first, beginning before the fall */
	unsigned sample_count;
	const struct cause_reading *readings;
	unsigned reading_count;
	const struct cause_line *lines;
	unsigned line_count;
	const struct cause_neighbour *neighbours;
	unsigned neighbour_count;
	const char *path;	 /* what is shared; "" for none */
	bool is_log_heard;	 /* of the kernel */
	uint64_t capacity_bytes; /* of the drive; UINT64_MAX: not known */
};

struct cause_answer {
	enum cause cause;
	enum cause_rank rank;
	bool lacks_begin; /* unknown because the record does not have the fall's beginning any more */
	char evidence[CAUSE_TEXT_MAX]; /* a sentence, no full stop; of unknown: what was looked at */
};

void cause_decide(const struct cause_input *input, struct cause_answer *out);

const char *cause_name(enum cause cause); /* "reset", "shared-path", "unknown" */
const char *cause_rank_name(enum cause_rank rank);
/* As an event has them: the word, and "measured: ..."; the sentence alone of unknown. And back: 0, or -EINVAL for what is
 * no such pair, *@out then as it was. */
void cause_print(const struct cause_answer *answer, char *cause, size_t cause_size, char *evidence,
	size_t evidence_size);
int cause_parse(const char *cause, const char *evidence, struct cause_answer *out);

void cause_sample_init(struct cause_sample *sample);
void cause_reading_init(struct cause_reading *reading);

#define CAUSE_FALLS_MAX 32
/* When the samples fell below half of what they were and stayed there for two: how often, at most CAUSE_FALLS_MAX. */
unsigned cause_falls(const struct cause_sample *samples, unsigned count, struct cause_fall *out);
/* Of another drive's falls the one that began nearest to @near_ms and within @within_ms, false for none; and how many of
 * them came without one of ours. */
bool cause_match_falls(const struct cause_fall *other, unsigned other_count, const struct cause_fall *own,
	unsigned own_count, int64_t near_ms, int64_t within_ms, struct cause_fall *out, unsigned *lone);

#endif
