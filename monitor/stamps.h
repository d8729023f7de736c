/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stamps.h - same serial is not same contents: before a run that was away writes again, blocks of what it filled must
 * carry its stamps. Reads the drive; the drive's own thread. */
#ifndef DRIVESOAK_STAMPS_H
#define DRIVESOAK_STAMPS_H

#include "target/target.h"

#define STAMPS_SAMPLED	   256u
#define STAMPS_SHARE_LEAST 0.99

/* Sectors at random places of the first @filled_bytes of @target. 0, also when nothing is filled yet; -ESTALE with @why
 * when fewer than STAMPS_SHARE_LEAST carry @run_tag and their own place; -errno of a failed read. */
int stamps_check(
	const struct target *target, uint64_t filled_bytes, uint64_t run_tag, uint64_t seed, char *why);

#endif
