/* SPDX-License-Identifier: GPL-2.0-or-later */
/* blockdev.h - which disks lie below a file, and what the kernel says about them: sysfs only, never a command to
 * a drive. @root is "" or, in tests, the folder of a recorded tree that has sys/ in it. Pure reads; any thread.
 * Unknown: empty strings, UINT64_MAX, -1. */
#ifndef DRIVESOAK_BLOCKDEV_H
#define DRIVESOAK_BLOCKDEV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define BLOCKDEV_MAX 32 /* disks below one filesystem */

struct blockdev {
	char name[32]; /* kernel name of the whole disk, for sysfs only: it is no identity */
	uint64_t capacity_bytes;
	char model[64], serial[160], firmware[32];
	char scheduler[32], write_cache[32], transport[16]; /* nvme, sata, usb, virtio, loop, ... */
	char controller[128]; /* PCI address, ids and driver of the nearest controller */
	char link
		[64]; /* what it runs at, of what the drive can do: "8.0 GT/s PCIe x4 of 16.0 GT/s PCIe x4" */
	int64_t nr_requests;
	uint32_t logical_block_bytes, physical_block_bytes;
	bool is_rotational;
	bool is_link_degraded; /* the link is slower than the drive and its port can both do */
};

/* The whole disks below the block device @number: a partition's disk, the members of md, dm and the like, a loop
 * device itself. Count in @out, or -ENODEV when @number is no block device (tmpfs, nfs, btrfs subvolumes). */
int blockdev_disks_below(const char *root, dev_t number, struct blockdev *out, size_t most);

/* What the kernel says about one whole disk by its kernel name. 0 or -ENODEV. */
int blockdev_read(const char *root, const char *name, struct blockdev *out);

/* Counters of the whole disk since boot, /sys/block/NAME/stat. */
struct blockdev_counters {
	uint64_t read_ios, read_bytes, read_ms, write_ios, write_bytes, write_ms;
	uint64_t discard_bytes; /* UINT64_MAX: this kernel does not tell */
};
/* 0, -ENODEV when the disk is gone, -EPROTO for a line that can't be understood. */
int blockdev_read_counters(const char *root, const char *name, struct blockdev_counters *out);

#endif
