/* SPDX-License-Identifier: GPL-2.0-or-later */
/* inventory.h - every disk of the machine, and whether it could be a target. Reads sysfs, /proc and links; opens no
 * drive and sends no command, so a hung drive can't hold it. @root as in blockdev.h. */
#ifndef DRIVESOAK_INVENTORY_H
#define DRIVESOAK_INVENTORY_H

#include <stdbool.h>
#include <stddef.h>

#include "config/config.h"
#include "probes/identity.h"
#include "target/blockdev.h"
#include "target/guard.h"

struct inventory_disk {
	struct blockdev block;
	struct identity identity;      /* from sysfs */
	char node[64];		       /* "/dev/nvme0n1" */
	char by_id[256], by_path[256]; /* the links of /dev/disk that lead here, the most telling one; "" */
	bool is_link_degraded;	       /* below what the drive and the port can both do */
	char shared_port
		[64];	/* what it shares with others: the HBA's or the upstream port's PCI address; "" */
	bool is_usable; /* nothing hard stands against it, as far as can be seen without opening it */
	struct guard_report report; /* why not, or what must be armed */
};

/* Whole disks only: no partitions, no dm, md, zram, ram, CD, floppy, empty card readers and unbound loop devices. In
 * order of kind and number. The list is one allocation, free() it. */
int inventory_read(const char *root, const char *state_directory, struct inventory_disk **out, size_t *count);

/* Where is the drive that @device, @serial or @wwid (either "") of a config mean? Follows the link when there is one,
 * else looks at all disks: udev need not run. @name gets the kernel name (32 bytes). -ENOENT: not there; -EEXIST: two
 * present drives have this identity; both with @why (GUARD_TEXT_MAX). Only a hint: identity_read() decides. */
int inventory_find(
	const char *root, const char *device, const char *serial, const char *wwid, char *name, char *why);

/* The nearest PCI function that the disk @name shares with another disk: its address in @port, "" without one, and what
 * its link carries each way, UINT64_MAX when that is not known. 0, -ENODEV when there is no such disk, -errno. */
int inventory_shared_port(
	const char *root, const char *name, char *port, size_t size, uint64_t *link_bytes_per_s);

/* Is this drive the one that @serial or @wwid (either "") mean, as far as both are known? */
bool inventory_matches(const struct identity *identity, const char *serial, const char *wwid);

#endif
