/* SPDX-License-Identifier: GPL-2.0-or-later */
/* store.h - a web thread's view of what is stored: its own read-only journal handle, opened once the file exists,
 * and the figures of runs, kept so that a request reads only the samples that are new. Belongs to one thread. */
#ifndef DRIVESOAK_STORE_H
#define DRIVESOAK_STORE_H

#include "archive/journal.h"
#include "measure/summary.h"

struct store;

int store_new(const char *state_directory, struct store **out); /* 0 or -ENOMEM */
void store_free(struct store *store);				/* NULL is fine */

/* The handle, for use until the next call. -ENOENT: nothing was ever stored; else as journal_open(). */
int store_journal(struct store *store, struct journal **out);
/* Text of the last failure, "" without one. */
const char *store_error(const struct store *store);

/* The figures of @run over all its samples so far. */
int store_figures(struct store *store, const struct run_record *run, struct summary_figures *out);

#endif
