/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stamps.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/payload.h"
#include "engine/random.h"

static int sector_read(const struct target *target, uint64_t sector, uint8_t *buffer)
{
	const struct target_plan *plan = target_get_plan(target);
	uint64_t at = sector * PAYLOAD_SECTOR_BYTES;
	int fd = target_get_fds(target)[at / plan->file_bytes];
	ssize_t got = pread(
		fd, buffer, PAYLOAD_SECTOR_BYTES, (off_t)(plan->base_bytes + at % plan->file_bytes));

	if (got < 0)
		return -errno;
	/* Beyond the end of a file that was cut: not what the run left there. */
	if (got != (ssize_t)PAYLOAD_SECTOR_BYTES)
		memset(buffer, 0, PAYLOAD_SECTOR_BYTES);
	return 0;
}

int stamps_check(
	const struct target *target, uint64_t filled_bytes, uint64_t run_tag, uint64_t seed, char *why)
{
	uint8_t *buffer = aligned_alloc(PAYLOAD_SECTOR_BYTES, PAYLOAD_SECTOR_BYTES);
	uint64_t sectors = filled_bytes / PAYLOAD_SECTOR_BYTES;
	unsigned good = 0;
	struct random random;
	int rc = buffer ? 0 : -ENOMEM;

	random_init(&random, seed);
	for (unsigned i = 0; i < STAMPS_SAMPLED && sectors && rc == 0; i++) {
		uint64_t sector = random_below(&random, sectors);
		struct payload_stamp stamp;

		rc = sector_read(target, sector, buffer);
		if (rc == 0 && payload_check(buffer, &stamp) == PAYLOAD_GOOD)
			good += stamp.run_tag == run_tag && stamp.sector == sector;
	}
	free(buffer);
	if (rc < 0)
		(void)snprintf(why, TARGET_WHY_MAX, "reading back what the run filled: %s", strerror(-rc));
	if (rc < 0 || !sectors || good >= STAMPS_SHARE_LEAST * STAMPS_SAMPLED)
		return rc;
	(void)snprintf(why, TARGET_WHY_MAX,
		"only %u of %u sampled blocks carry this run's stamps: other contents; nothing was written. "
		"Stop "
		"the run, then arm the drive again",
		good, STAMPS_SAMPLED);
	return -ESTALE;
}
