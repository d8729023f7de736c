/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rrdfile.h - the RRD view of one run, STATE/runs/ID.rrd, and all calls into librrd that touch such a file.
 * GAUGE of whole numbers of the interval, so that values read back exactly; layout in DESIGN.md section 6.
 * librrd protects a file only between processes: every call here is made under one mutex a file, and graphs under
 * a global one. Errors are negative errno; rrdfile text comes in @why (always set on failure, also where librrd
 * has none). Any thread. */
#ifndef DRIVESOAK_RRDFILE_H
#define DRIVESOAK_RRDFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "archive/journal.h"
#include "measure/sample.h"

#define RRDFILE_WHY_MAX 256

/* Names of the data sources in the file's order, as in DESIGN.md section 6. */
#define RRDFILE_SOURCES 13
extern const char *const rrdfile_sources[RRDFILE_SOURCES];

struct rrdfile;

/* A handle on the view of @run_id below @state_directory; opens nothing yet. 0 or -ENOMEM. */
int rrdfile_new(const char *state_directory, const char *run_id, uint32_t interval_s, struct rrdfile **out);
void rrdfile_free(struct rrdfile *file);
const char *rrdfile_path(const struct rrdfile *file);

/* Make the file agree with the journal: create it when missing, rebuild it when damaged, of another layout, or
 * not a prefix of the journal, bring it up to date when behind. @planned_s: length of the full-resolution
 * archive to provide (0: 14 days). *@rebuilt tells whether history was written anew. */
int rrdfile_sync(struct rrdfile *file, struct journal *journal, uint64_t planned_s, bool *rebuilt, char *why);

/* Append samples that follow what is stored, in order; down rows leave a gap. */
int rrdfile_put(struct rrdfile *file, const struct sample *samples, size_t count, char *why);

#endif
