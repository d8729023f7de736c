/* SPDX-License-Identifier: GPL-2.0-or-later */
/* signatures.h - what others leave on a disk, by its bytes: as little as makes libblkid know it. For tests. */
#ifndef DRIVESOAK_SIGNATURES_H
#define DRIVESOAK_SIGNATURES_H

#include <stddef.h>
#include <stdint.h>

struct signature {
	const char *name;
	void (*put)(int fd, uint64_t disk_bytes);
	const char *words; /* what the guard must say of it */
	const char *uuid;  /* and what it must know it by; "" without one */
};

extern const struct signature signatures[];
extern const size_t signature_count;

/* At most 127 partitions of 64 KiB from 1 MiB on, each with a name. */
void signature_put_gpt(int fd, uint64_t disk_bytes, unsigned partitions, int is_primary);

#endif
