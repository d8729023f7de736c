/* SPDX-License-Identifier: GPL-2.0-or-later */
/* blocklink.h - how fast the link between a disk and its controller runs, and whether that is less than both ends can
 * do. Pure reads of sysfs; any thread. */
#ifndef DRIVESOAK_BLOCKLINK_H
#define DRIVESOAK_BLOCKLINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BLOCKLINK_TEXT_MAX 64

/* @folder: where sysfs has the disk's device, resolved; @name: the disk. @text (BLOCKLINK_TEXT_MAX) is "" where nothing
 * is known; "8.0 GT/s PCIe x4 of 16.0 GT/s PCIe x4" is what it is of what the drive can do. */
void blocklink_read(const char *root, const char *folder, const char *name, char *text, bool *is_degraded);

/* Where sysfs has the disk's device, below its controller also when the kernel puts a subsystem in between (NVMe
 * multipath). 0 with @out of PATH_MAX, or -errno. */
int blocklink_folder(const char *root, const char *name, char *out);
/* Cut @folder to its nearest PCI function; false when there is none. */
bool blocklink_cut_to_pci(const char *root, char *folder);
/* What the link of the PCI function in @folder carries each way as it runs now, less its encoding; UINT64_MAX when it
 * has none or does not tell. */
uint64_t blocklink_pci_bytes_per_s(const char *folder);

/* Tenths of a GT/s or a Gbps, and lanes; 0: unknown, or there are none. */
struct blocklink_rates {
	unsigned speed, width;	       /* as it runs now */
	unsigned speed_max, width_max; /* what the drive, of SATA the port, can do */
	unsigned limit;		       /* of SATA: what the kernel lets it run at */
};
/* @folder: of the PCI function. */
void blocklink_read_pci(const char *folder, struct blocklink_rates *out);
/* What the link of a SATA disk, with its device in @folder, is called below /sys/class/ata_link; and its rates. */
void blocklink_sata_name(const char *root, const char *folder, char *out, size_t size);
void blocklink_read_sata(const char *root, const char *link, struct blocklink_rates *out);

#endif
