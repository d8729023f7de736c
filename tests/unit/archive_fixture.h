/* SPDX-License-Identifier: GPL-2.0-or-later */
/* archive_fixture.h - records with distinct values, and a scratch folder, for the tests of measure and
 * archive. */
#ifndef TESTS_ARCHIVE_FIXTURE_H
#define TESTS_ARCHIVE_FIXTURE_H

#include "archive/journal.h"
#include "measure/sample.h"

#define FIXTURE_START_MS 1796075400000 /* a multiple of every interval used: 1, 3, 7, 10, 60, 300 s */

/* Every counter known and distinct; state measured, phase soak. */
struct sample fixture_sample(int64_t t_ms, uint32_t interval_s, uint64_t write_bytes);
/* A down row that ends at @t_ms. */
struct sample fixture_down(int64_t t_ms, uint64_t elapsed_ns);

void fixture_run(struct run_record *run, const char *drive, uint32_t interval_s);
struct event_record fixture_event(int64_t t_ms, const char *run, const char *text);

/* A fresh folder below TMPDIR; fixture_folder_remove() takes it away with all that is in it and frees the
 * name. */
char *fixture_folder_new(void);
void fixture_folder_remove(char *folder);

/* 0..below-1, the same in every run of the test. */
uint64_t fixture_random(uint64_t *seed, uint64_t below);

#endif
