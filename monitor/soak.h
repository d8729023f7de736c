/* SPDX-License-Identifier: GPL-2.0-or-later */
/* soak.h - the conductor: the control loop that makes the drives' keepers work, cuts their results into samples at
 * each tick, hands those to the archive and the live status, and asks run_step() what comes next. It waits for
 * nothing but its own timer, signals and replies. Main thread. */
#ifndef DRIVESOAK_SOAK_H
#define DRIVESOAK_SOAK_H

#include "alert/board.h"
#include "alert/delivery.h"
#include "archive/archive.h"
#include "config/config.h"
#include "measure/status.h"

struct soak_options {
	const struct config *config;
	struct archive *archive;
	struct status_board *board;	 /* one entry a drive of the config, in its order */
	const char *journal_path;	 /* read once at start: where each run stands */
	struct delivery *delivery;	 /* not started yet; NULL: nobody is told */
	struct alert_board *alert_board; /* NULL: nobody looks */
};

struct soak;

/* 0 or -errno with @why (256 bytes). Nothing is opened yet. SIGTERM, SIGINT must be blocked in all threads. */
int soak_new(const struct soak_options *options, struct soak **out, char *why);

/* Run until SIGTERM or SIGINT, then stop the engines, write the last samples and return. The exit code of the
 * service: EX_OK, or EX_CONFIG when no drive could run. */
int soak_run(struct soak *soak);

/* False when a drive hangs and its thread was left behind: the process must end by _exit(). NULL is fine. */
bool soak_free(struct soak *soak);

#endif
