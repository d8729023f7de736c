/* SPDX-License-Identifier: GPL-2.0-or-later */
/* export.h - runs and their samples as JSON and CSV: the run object of the HTTP API, and whole runs for
 * files. Reads the journal; belongs to the thread that holds the handle. */
#ifndef DRIVESOAK_EXPORT_H
#define DRIVESOAK_EXPORT_H

#include <stdio.h>

#include "archive/journal.h"
#include "base/json.h"
#include "measure/summary.h"

/* A run as in /api/v1/runs. config_json and host_json go in as they are. */
void export_run_json(const struct run_record *run, const struct summary_figures *figures, struct json *json);

/* All runs, newest first, {"runs":[...]} with a run a line. */
int export_runs_json(struct journal *journal, FILE *out);

/* All samples of a run: the columns of samples.csv, or the object of samples.json with the run beside.
 * Errors of @out are left to its ferror(). */
int export_samples_csv(struct journal *journal, const struct run_record *run, FILE *out);
int export_samples_json(struct journal *journal, const struct run_record *run, FILE *out);

#endif
