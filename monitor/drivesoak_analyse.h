/* SPDX-License-Identifier: GPL-2.0-or-later */
/* drivesoak_analyse.h - `drivesoak analyse FILE...`: summary, steady state and collapses of the log of another tool, or of
 * an own export. Opens files only. */
#ifndef DRIVESOAK_DRIVESOAK_ANALYSE_H
#define DRIVESOAK_DRIVESOAK_ANALYSE_H

#include <stdbool.h>

#include "archive/foreign.h"

/* A line of JSON, or a paragraph for people, a file. An exit code, that of the first file that can't be read; the others
 * are read all the same. */
int drivesoak_analyse(const struct foreign_options *options, char *const *files, int count, bool is_json);

/* Say why a log can't be read, and the exit code for it. */
int drivesoak_analyse_fail(int rc, const char *why);

#endif
