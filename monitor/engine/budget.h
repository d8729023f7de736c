/* SPDX-License-Identifier: GPL-2.0-or-later */
/* budget.h - the bytes that a run may still write: charged before a write is submitted, so that the limit is never
 * exceeded, and kept in a small file, STATE/runs/ID.budget, mapped shared, so that a kill loses nothing. Workers take
 * shares of a few MiB at a time and give back what is left; a killed process loses those shares to the run, never the
 * other way round. After a power loss the file may be old: the journal's sum of what was written is then the least
 * that was spent, and the excess is at most one sample. */
#ifndef DRIVESOAK_BUDGET_H
#define DRIVESOAK_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#define BUDGET_WHY_MAX	   256
#define BUDGET_SHARE_BYTES (4u << 20) /* what a worker takes at a time */

struct budget;

/* Open or create the file. @spent_least_bytes: what the journal knows to be written. 0 or -errno with @why: a run with
 * a limit and no budget file that can be kept must not start. -EBADMSG: damaged, or of another run; -EBUSY while
 * somebody has it open. The limit may differ from the last start's; what was spent stays. */
int budget_open(const char *path, uint64_t run_tag, uint64_t limit_bytes, uint64_t spent_least_bytes,
	struct budget **out, char *why);
void budget_close(struct budget *budget); /* NULL is fine; only when no engine uses it */

/* Any thread. At most @want_bytes, a multiple of @unit_bytes, 0 when less than one unit is left; ever less towards the
 * end, so that all who take come to it together. */
uint64_t budget_take(struct budget *budget, uint64_t want_bytes, uint64_t unit_bytes);
void budget_return(struct budget *budget, uint64_t bytes);
/* All of it or nothing, for what is written besides the engines: false when not so much is left. */
bool budget_charge(struct budget *budget, uint64_t bytes);
uint64_t budget_spent_bytes(const struct budget *budget);

#endif
