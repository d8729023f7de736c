/* SPDX-License-Identifier: GPL-2.0-or-later */
/* device.h - a whole block device as a target, and what `drivesoak arm` must know of one before it asks for consent.
 * Layout of a device target: 0 marker block (4 KiB, text, zero-padded), zeros up to TARGET_DEVICE_EDGE_BYTES, then the
 * extent; the last TARGET_DEVICE_EDGE_BYTES are zeroed at the start, so that no backup partition table stays. */
#ifndef DRIVESOAK_DEVICE_H
#define DRIVESOAK_DEVICE_H

#include "target/claim.h"
#include "target/guard.h"
#include "target/target.h"

struct device_inspection {
	int fd;	       /* exclusive, for reading; -1: none */
	char name[32]; /* kernel name, for sysfs only */
	char node[48];
	struct identity identity;
	struct guard_report report;
	struct guard_contents contents;
};

/* Find the drive, open it exclusively for reading, and look at everything that is no matter of consent or contents:
 * identity against the config, use, tables, openers. A refusal is -EPERM (-ENODEV: not there, -EBUSY: held), @why has
 * all hard findings; soft ones are in the report. Takes GUARD_LOOKS - 1 pauses. device_inspect_end() in any case. */
int device_inspect(const struct config_drive *drive, const char *state_directory,
	struct device_inspection *out, char *why);
/* Of an inspection: what consent is given for. */
struct claim_contents device_claim_contents(const struct device_inspection *inspection);
void device_inspect_end(struct device_inspection *inspection);

/* How much a run of @drive would write there. -ENOSPC, -EINVAL with @why. */
int device_plan(const struct config_drive *drive, const struct identity *identity, struct target_plan *plan,
	char *why);

#endif
