/* SPDX-License-Identifier: GPL-2.0-or-later */
/* foreign_private.h - what the readers of single formats share: a table of functions for each, the words of a line, and
 * where to put what a line says. */
#ifndef DRIVESOAK_FOREIGN_PRIVATE_H
#define DRIVESOAK_FOREIGN_PRIVATE_H

#include <stdio.h>

#include "archive/foreign.h"

#define FOREIGN_MIB	    1048576.0
#define FOREIGN_DELTAS_MAX  4096
#define FOREIGN_BYTES_S_MAX 1e13 /* more than this a second is no drive */
/* Seconds since 1970 that are a date (from 1990 on), and not the age of a log. */
#define FOREIGN_EPOCH_S	 631152000
#define FOREIGN_TIME_MAX 1e11 /* seconds */

struct foreign_format {
	const char *name;
	size_t state_bytes; /* of what it keeps, zeroed before the first pass */
	/* Is a file whose beginning has this line of this format? */
	bool (*recognise)(const char *line);
	/* The same lines, before the first pass: for what is known only when all of them are. May be NULL. */
	int (*look)(struct foreign *foreign, const char *line);
	/* One line without its end; 0, -EBADMSG by foreign_fail(), -ENOMEM. */
	int (*line)(struct foreign *foreign, const char *line);
	/* Instead of line, for what has no lines. */
	int (*feed)(struct foreign *foreign, const char *bytes, size_t length);
	/* At the end of each pass. */
	int (*end)(struct foreign *foreign);
	void (*free)(void *state);
};

extern const struct foreign_format foreign_sysbench, foreign_fio, foreign_iostat, foreign_csv,
	foreign_own_csv, foreign_own_json;

/* What a log says of the interval that ends at t_ms; NAN is unknown. */
struct foreign_point {
	int64_t t_ms;
	double write_bytes_per_s, read_bytes_per_s, write_ios_per_s, read_ios_per_s;
	double lat_mean_ns, lat_p50_ns, lat_p90_ns, lat_p95_ns, lat_p99_ns, lat_max_ns;
	double inflight, temp_c;
};
void foreign_point_init(struct foreign_point *point);

/* The next point or sample, later than the one before; the first pass only looks at its time. 0, -EBADMSG, or what the
 * caller of foreign_each() answered. */
int foreign_take(struct foreign *foreign, const struct foreign_point *point);
int foreign_take_sample(struct foreign *foreign, const struct sample *sample);

/* Keeps "FILE:LINE: ..." and answers -EBADMSG. */
int foreign_fail(struct foreign *foreign, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Of the first pass, unless @always; further ones than there is room for are dropped. */
void foreign_warn(struct foreign *foreign, const char *format, ...) __attribute__((format(printf, 2, 3)));

struct foreign_deltas {
	int64_t items[FOREIGN_DELTAS_MAX];
	size_t count;
};
void foreign_deltas_add(struct foreign_deltas *deltas, int64_t delta);
/* The value that @pct of them do not exceed; 0 without any. Sorts. */
int64_t foreign_deltas_rank(struct foreign_deltas *deltas, unsigned pct);

/* Samples of less than a second are gathered into whole ones here. */
struct foreign_gather {
	int64_t second; /* the one being gathered ends at; INT64_MIN: none */
	double covered_s, write_bytes, read_bytes;
};

struct foreign {
	FILE *file;
	const char *path;
	char *name; /* for messages */
	const struct foreign_format *format;
	void *state;
	struct foreign_options options;
	struct foreign_info info;
	bool is_look; /* before the first pass */
	bool is_survey;
	bool is_open_line; /* the line has no end: it may be cut */
	uint64_t line;
	uint64_t length; /* bytes that the first pass took */
	char why[FOREIGN_WHY_MAX];

	struct foreign_deltas deltas;
	int64_t declared_ms; /* interval as the log says; 0 */
	bool is_absolute;    /* the log's times are of the wall clock */
	bool is_timeless;    /* it has none: those of its points are made up */
	uint64_t points;
	int64_t first_ms, last_ms; /* INT64_MIN */
	int64_t step_ms;	   /* between points, after the first pass */

	struct foreign_gather gather;
	uint64_t zeros_ns;
	size_t gap_capacity;
	int (*each)(const struct foreign_row *, void *);
	void *arg;
};

/* foreign_sequence.c: from points to samples. */
int foreign_survey_end(struct foreign *foreign);
int foreign_sequence_end(struct foreign *foreign);

/* Words of a line. */
const char *foreign_skip(const char *at); /* blanks */
/* NULL unless @at continues with @word after blanks; else what follows. */
const char *foreign_word(const char *at, const char *word);
/* A number of digits with at most one point (or comma), not negative; NULL for anything else. @decimals may be NULL. */
const char *foreign_number(const char *at, double *out, int *decimals);
/* The same where commas stand between numbers: only a point is one of them. */
const char *foreign_number_listed(const char *at, double *out);

#endif
