/* SPDX-License-Identifier: GPL-2.0-or-later */
/* drivesoak_badblocks.h - what a sweep of `drivesoak verify` found, as JSON or words, in the order of the target. Tells
 * it whatever ended the sweep, and how much it left out. */
#ifndef DRIVESOAK_DRIVESOAK_BADBLOCKS_H
#define DRIVESOAK_DRIVESOAK_BADBLOCKS_H

#include <stdint.h>

#include "base/text.h"
#include "engine/verify.h"

#define BADBLOCKS_LISTED_MAX 1000

struct badblocks {
	struct verify_finding list[BADBLOCKS_LISTED_MAX]; /* as found */
	uint64_t count;					  /* all, also those that have no place in the list */
};

struct badblocks_sweep {
	struct verify_progress progress;
	double coverage;   /* of the ledger, 0..1 */
	const char *error; /* why it did not reach the end; NULL: it did */
};

/* struct verify_job.on_finding; @badblocks is all zero to begin. */
void badblocks_keep(void *badblocks, const struct verify_finding *finding);
/* Both sort the list by offset. */
void badblocks_print_json(struct badblocks *badblocks, const struct badblocks_sweep *sweep, struct text *out);
void badblocks_print_text(struct badblocks *badblocks, const struct badblocks_sweep *sweep, struct text *out);

#endif
