/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rrdfile_fixture.h - a run with its journal in a scratch folder for each test, its view, and what the view must hold. */
#ifndef TESTS_RRDFILE_FIXTURE_H
#define TESTS_RRDFILE_FIXTURE_H

#include "archive/rrdfile.h"
#include "archive_fixture.h"

/* Of the test that runs. */
struct rrdfile_rig {
	char *folder;
	struct journal *journal;
	struct run_record run;
	char path[300];	  /* of the run's view */
	char marker[310]; /* stands while the view is open */
};
extern struct rrdfile_rig rrdfile_rig;

int rrdfile_fixture_set_up(void **state);
int rrdfile_fixture_tear_down(void **state);

/* These fail the test with the reason when they can't. The caller frees. */
struct rrdfile *rrdfile_fixture_new(uint32_t interval_s);
/* Whether it was rebuilt. */
bool rrdfile_fixture_sync(struct rrdfile *file, uint64_t planned_s);
void rrdfile_fixture_put(struct rrdfile *file, const struct sample *samples, size_t count);
void rrdfile_fixture_to_journal(const struct sample *samples, size_t count);

/* Every row from the first to the last sample, of five sources. */
void rrdfile_fixture_check(const struct sample *samples, size_t count, uint32_t step_s);

#define FIXTURE_FEW 300
/* A journal and an agreeing, closed view of FIXTURE_FEW samples. */
void rrdfile_fixture_make_few(struct sample *samples);

#endif
