/* SPDX-License-Identifier: GPL-2.0-or-later */
/* payload.h - what is written: incompressible bodies that are made once, and a stamp at the head of every 4 KiB
 * sector that makes it unique and tells later where it belongs. Stamping a 16 KiB block touches four cache lines.
 * Pure; buffers belong to the caller.
 *
 * Stamp, little endian: 0 run tag, 8 sector number in the target, 16 sequence, 24 wall time in ns, 32 checksum =
 * XXH3_64bits_withSeed(bytes 0..31, seed = XXH3_64bits(bytes 40..4095)). */
#ifndef DRIVESOAK_PAYLOAD_H
#define DRIVESOAK_PAYLOAD_H

#include <stddef.h>
#include <stdint.h>

#define PAYLOAD_SECTOR_BYTES 4096u
#define PAYLOAD_STAMP_BYTES  40u

struct payload_stamp {
	uint64_t run_tag, sector, sequence;
	int64_t wall_ns;
};

/* Fill @bytes (a multiple of the sector) with random bodies from @seed; @body_hashes gets one hash a sector. */
void payload_make_bodies(uint8_t *buffer, size_t bytes, uint64_t seed, uint64_t *body_hashes);

/* Stamp every sector of a buffer made above; @stamp has the values of the first one, sectors count up. */
void payload_stamp(
	uint8_t *buffer, size_t bytes, const struct payload_stamp *stamp, const uint64_t *body_hashes);

enum payload_verdict { PAYLOAD_GOOD, PAYLOAD_CORRUPT };
/* Read one sector's stamp and say whether its checksum holds; @out is set either way. */
enum payload_verdict payload_check(const uint8_t *sector, struct payload_stamp *out);

#endif
