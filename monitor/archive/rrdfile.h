/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rrdfile.h - the RRD view of one run, STATE/runs/ID.rrd, and all calls into librrd that touch such a file.
 * GAUGE of whole numbers of the interval, so that values read back exactly; layout in DESIGN.md section 6.
 * librrd protects a file only between processes: every call here is made under one mutex a file, and graphs
 * under a global one. Errors are negative errno; rrdfile text comes in @why (always set on failure, also
 * where librrd has none). Any thread.
 *
 * ID.rrd.open lies beside a view that is being written to: librrd neither orders nor flushes what it writes,
 * so that a view which was not closed is rebuilt from the journal instead of trusted. */
#ifndef DRIVESOAK_RRDFILE_H
#define DRIVESOAK_RRDFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "archive/journal.h"
#include "base/text.h"
#include "measure/sample.h"

#define RRDFILE_WHY_MAX 256

/* Names of the data sources in the file's order, as in DESIGN.md section 6. */
#define RRDFILE_SOURCES 14
extern const char *const rrdfile_sources[RRDFILE_SOURCES];

struct rrdfile;

/* Append the path of a run's view. */
void rrdfile_path_make(const char *state_directory, const char *run_id, struct text *path);

/* A handle on the view of @run_id below @state_directory; opens nothing yet. 0, -EINVAL or -ENOMEM. */
int rrdfile_new(const char *state_directory, const char *run_id, uint32_t interval_s, struct rrdfile **out);
/* Flush the view and mark it as closed. NULL is fine. */
void rrdfile_free(struct rrdfile *file);
const char *rrdfile_path(const struct rrdfile *file);

/* Make the file agree with the journal: create it when missing, rebuild it when damaged, of another layout,
 * not closed, or not a prefix of the journal, bring it up to date when behind. @planned_s: length of the
 * full-resolution archive to provide (0: 14 days). *@rebuilt tells whether history was written anew. */
int rrdfile_sync(struct rrdfile *file, struct journal *journal, uint64_t planned_s, bool *rebuilt, char *why);

/* Append samples that follow what is stored, in order; down rows leave a gap, samples already stored are
 * passed over. After any failure the file wants rrdfile_sync() first: -ESTALE when it is not what this
 * handle left, -EOVERFLOW when the run outgrew its full-resolution archive. */
int rrdfile_put(struct rrdfile *file, const struct sample *samples, size_t count, char *why);

/* values[i] is the row that ends at from_s + (i + 1) * step_s; NAN is unknown. */
struct rrdfile_series {
	int64_t from_s;
	uint32_t step_s;
	size_t count;
	double *values;
};

/* Rows of one source (-ENOENT for no such one) from @from_s to @to_s at least @step_s apart, consolidated by
 * @cf (AVERAGE, MIN, MAX; full resolution only as AVERAGE). The caller frees values. */
int rrdfile_fetch(const char *path, const char *source, const char *cf, int64_t from_s, int64_t to_s,
	uint32_t step_s, struct rrdfile_series *out, char *why);

/* For callers of rrd_graph_v(): librrd 1.7 draws in one thread at a time only, and reads the file while it
 * does. The order is the graphs' mutex, then the file's. 0 or -ENOMEM, then nothing is locked. */
int rrdfile_lock_graph(const char *path);
void rrdfile_unlock_graph(const char *path);

#endif
