/* SPDX-License-Identifier: GPL-2.0-or-later */
/* journal_fixture.h - a journal in a scratch folder for each test, and comparisons of what it gives back. */
#ifndef TESTS_JOURNAL_FIXTURE_H
#define TESTS_JOURNAL_FIXTURE_H

#include <stdbool.h>
#include <sys/types.h>

#include "archive/journal.h"

/* Of the test that runs; there is no journal at @path until the test opens one. */
struct journal_rig {
	char *folder;
	char path[256];
};
extern struct journal_rig journal_rig;

int journal_fixture_set_up(void **state);
int journal_fixture_tear_down(void **state);

/* Fails the test with the reason when it can't; the caller closes. */
struct journal *journal_fixture_open(bool read_only);
/* The run of fixture_run("evo", 10) and one sample at FIXTURE_START_MS. */
void journal_fixture_put_one(struct journal *journal);
/* Over what is in the file, or a new one. */
void journal_fixture_write_at(off_t offset, const char *bytes, size_t length);

/* Every field; an unknown equals an unknown. */
void journal_fixture_check_run(const struct run_record *a, const struct run_record *b);
void journal_fixture_check_sample(const struct sample *a, const struct sample *b);
/* For journal_each_sample(): @arg is a struct sample ** that moves on. */
int journal_fixture_keep_sample(const struct sample *sample, void *arg);

#endif
