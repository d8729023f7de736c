/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cause_fixture.h - a record to decide on: a drive that writes 100 MiB/s, and from one sample on 30 of them. */
#ifndef TESTS_CAUSE_FIXTURE_H
#define TESTS_CAUSE_FIXTURE_H

#include "measure/cause.h"

#define MIB	   (1024.0 * 1024)
#define S	   1000000000ULL
#define STEP_MS	   10000
#define BEFORE	   120 /* samples; the fall begins with the next */
#define FALL	   70
#define SAMPLES	   (BEFORE + FALL)
#define FELL_MS	   (1700000000000 + (int64_t)BEFORE * STEP_MS)
#define BASE_RATE  (100 * MIB)
#define LINES_MAX  200
#define OTHERS_MAX 4

struct record {
	struct collapse_finding finding;
	struct cause_sample samples[SAMPLES];
	struct cause_reading readings[SAMPLES / 6]; /* one a minute, 5 s after its samples */
	struct cause_line lines[LINES_MAX];
	struct cause_neighbour others[OTHERS_MAX];
	struct cause_input input;
	struct cause_answer answer;
};

/* Of a drive of which nothing but its rate is known; @is_known: everything is, and nothing of it strange. */
void record_init(struct record *record, bool is_known);
/* Cut the fall's end: @samples long, and over. */
void record_end(struct record *record, unsigned samples);
void record_rate(struct record *record, unsigned sample, double share);
void record_line(struct record *record, double after_s, enum kernelline_word word, const char *text);
/* NAN: it did not fall. It comes back with ours. */
void record_other(
	struct record *record, const char *name, bool shares_path, double after_s, unsigned lone_falls);
/* The reading that is taken so long after the fall began, or next after that. */
struct cause_reading *record_reading(struct record *record, double after_s);
enum cause record_decide(struct record *record);
/* Fails with @what and the evidence for another one. */
void record_assert_cause(struct record *record, enum cause cause, const char *what);

/* Signs that more than one test needs. */
void record_put_reset(struct record *record);
void record_put_heat(struct record *record);
void record_put_flag(struct record *record, uint32_t flag, double share);
void record_put_poll(struct record *record);
void record_put_write_cache(struct record *record);
void record_put_cliff(struct record *record);

#endif
