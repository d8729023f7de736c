/* SPDX-License-Identifier: GPL-2.0-or-later */
/* status.h - the live state of every drive as last published by the conductor: fixed-size copies under one
 * mutex that is held for a copy only. The conductor writes, the web reads. */
#ifndef DRIVESOAK_STATUS_H
#define DRIVESOAK_STATUS_H

#include <stddef.h>
#include <stdint.h>

#include "measure/steady.h"
#include "run/run.h"

#define STATUS_TEXT_MAX 512

/* Unknown numbers are NAN, UINT64_MAX or INT64_MIN; empty strings are unknown. */
struct drive_status {
	char name[64], label[128], model[64], serial[160], run[40];
	char reason[STATUS_TEXT_MAX]; /* why the drive is in this state, in words */
	enum run_status status;
	enum run_phase phase;
	double progress; /* 0..1 of the phase */
	uint64_t eta_ns;
	double write_bytes_per_s, read_bytes_per_s; /* of the last sample */
	double baseline_bytes_per_s;
	uint64_t lat_p99_ns;
	double temp_c, percent_used;
	uint64_t written_bytes; /* by this run, to the last sample */
	int64_t last_sample_ms, health_read_ms;
	int64_t settled_ms; /* since when; INT64_MIN: not settled */
	char why_not_settled[STEADY_WHY_MAX];
	char finding[24]; /* kind of the fall of throughput that lasts, as of the events; "" */
};

struct status_board;

/* Room for @count drives, all zeroed. 0 or -ENOMEM. */
int status_new(size_t count, struct status_board **out);
void status_free(struct status_board *board); /* NULL is fine */
size_t status_count(const struct status_board *board);
void status_publish(struct status_board *board, size_t drive, const struct drive_status *status);
void status_read(struct status_board *board, size_t drive, struct drive_status *out);

#endif
