/* SPDX-License-Identifier: GPL-2.0-or-later */
/* figures.h - all that follows from what is stored of a run: the headline figures over the settled window W, whether it
 * has settled, its collapses, wear, and the verdict with its reasons. Kept up to date, so that a look reads only what is
 * new; for that they take up to 48 bytes a sample. Reads the journal on the caller's thread; one thread. Errors are those of
 * journal.h, and -ENOMEM.
 *
 * Steady state is judged here from the samples, as the service does while it runs; falls of throughput are those that
 * the service, or the import of a log, has put among the events. */
#ifndef DRIVESOAK_FIGURES_H
#define DRIVESOAK_FIGURES_H

#include "archive/journal.h"
#include "measure/summary.h"

struct figures;

int figures_new(uint32_t interval_s, struct figures **out); /* 0, -EINVAL or -ENOMEM */
void figures_free(struct figures *figures);		    /* NULL is fine */
/* Take in what the journal has of @run since the last time. After an error only figures_free() is left. */
int figures_update(struct figures *figures, struct journal *journal, const struct run_record *run);
const struct summary_figures *figures_get(const struct figures *figures); /* of the last update */

/* All of it at once. */
int figures_read(struct journal *journal, const struct run_record *run, struct summary_figures *out);

/* Whether the run only reads: what it reads is then what counts. */
bool figures_is_read(const struct run_record *run);

/* Whether its samples tell when the host was the limit: nobody looks where we don't write, and few logs know. */
bool figures_knows_host_limit(const struct run_record *run);

/* What of the run's configuration the rule of steady state goes by. */
void figures_steady_config(const struct run_record *run, struct steady_config *out);

#endif
