/* SPDX-License-Identifier: GPL-2.0-or-later */
/* outcome.h - what the probe and the verification of a run answered, read back from its record, and their words
 * for pages, report and terminal. Pure. */
#ifndef DRIVESOAK_OUTCOME_H
#define DRIVESOAK_OUTCOME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "archive/journal.h"
#include "base/text.h"

/* A step of the probe; NAN is unknown. */
struct probe_step {
	double share; /* of the soak's median; NAN: depth 1, as fast as it answers */
	double intended_ios_per_s, ios_per_s, measured_s;
	double lat_p50_ns, lat_p99_ns, lat_p999_ns, lat_max_ns, stall_ns;
};

/* Up to @max steps in order; how many there are. */
size_t outcome_read_probe(const struct run_record *run, struct probe_step *out, size_t max);
/* "depth 1" or "50 % of the soak's rate". @text has OUTCOME_NAME_MAX. */
#define OUTCOME_NAME_MAX 48
void outcome_print_step(const struct probe_step *step, char *text);

/* Beside every table of the probe. */
#define OUTCOME_PROBE_WORDS                                                                                  \
	"Latency is counted from the intended time of a request, so that a drive that falls behind cannot "  \
	"hide it. Mean latency under a full queue is depth / IOPS and does not rank drives; this table may."

enum bad_kind { BAD_CORRUPT, BAD_TORN, BAD_MISDIRECTED, BAD_STALE, BAD_UNREADABLE, BAD_KIND_COUNT };

struct verify_outcome {
	double read_bytes, blocks, coverage_pct; /* NAN */
	double bad[BAD_KIND_COUNT];
	char error[128]; /* why it ended early; empty */
};

/* False when the run was not verified yet. */
bool outcome_read_verify(const struct run_record *run, struct verify_outcome *out);
bool outcome_is_bad(const struct verify_outcome *verify);
/* Sentences: how much was read, how much the ledger knows, each kind of bad block. */
void outcome_add_read(const struct verify_outcome *verify, struct text *out);
void outcome_add_bad(const struct verify_outcome *verify, struct text *out);

/* Is every block zeros? A drive that compresses is then not measured. */
bool outcome_writes_zeros(const struct run_record *run);
#define OUTCOME_ZEROS_WORDS                                                                                  \
	"payload = zeros: every block is zeros. A drive that compresses or leaves zeros out looks faster "   \
	"than it is; do not compare this with a run of random data."

#endif
