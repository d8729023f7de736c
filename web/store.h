/* SPDX-License-Identifier: GPL-2.0-or-later */
/* store.h - a web thread's view of what is stored: its own read-only journal handle, opened once the file exists,
 * and the figures of runs, kept so that a request reads only the samples that are new. Belongs to one thread. */
#ifndef DRIVESOAK_STORE_H
#define DRIVESOAK_STORE_H

#include "archive/journal.h"
#include "config/config.h"
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

/* The disks of the machine as JSON, looked at anew when the last look is some seconds old: however many ask, looking
 * takes a small share of the thread's time. 0 with @out good until the next call, or -errno. */
int store_drives(struct store *store, const struct config *config, const char *state_directory,
	const struct text **out);

#endif
