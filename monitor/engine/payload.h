/* SPDX-License-Identifier: GPL-2.0-or-later */
/* payload.h - what is written: incompressible bodies that are made once, and a stamp at the head of every 4 KiB
 * sector that makes it unique and tells later where it belongs. Stamping a 16 KiB block touches four cache lines.
 * Pure; buffers belong to the caller.
 *
 * Stamp, little endian: 0 run tag, 8 sector number in the target, 16 sequence, 24 wall time in ns, 32 checksum =
 * XXH3_64bits_withSeed(bytes 0..31, seed = body hash), 40 body hash = XXH3_64bits(bytes 48..4095).
 *
 * A drive of 512-byte logical blocks may legally hold pieces of several writes in one sector after a power loss. So
 * the last 8 bytes of each 512-byte piece hold XXH3_64bits_withSeed(the body bytes before them in the piece, seed =
 * the piece's index): part of the body, made once, looked at only when the sector as a whole does not hold. */
#ifndef DRIVESOAK_PAYLOAD_H
#define DRIVESOAK_PAYLOAD_H

#include <stddef.h>
#include <stdint.h>

#define PAYLOAD_SECTOR_BYTES 4096u
#define PAYLOAD_PIECE_BYTES  512u
#define PAYLOAD_STAMP_BYTES  48u

struct payload_stamp {
	uint64_t run_tag, sector, sequence;
	int64_t wall_ns;
};

/* What the stamps of a run carry; known from its id alone. */
uint64_t payload_run_tag(const char *run_id);

/* Fill @bytes (a multiple of the sector) with random bodies from @seed; @body_hashes gets one hash a sector. */
void payload_make_bodies(uint8_t *buffer, size_t bytes, uint64_t seed, uint64_t *body_hashes);

/* Stamp every sector of a buffer made above; @stamp has the values of the first one, sectors count up. */
void payload_stamp(
	uint8_t *buffer, size_t bytes, const struct payload_stamp *stamp, const uint64_t *body_hashes);

enum payload_verdict {
	PAYLOAD_GOOD,
	PAYLOAD_MIXED, /* the stamp and every piece hold, but they are not of one write */
	PAYLOAD_CORRUPT
};
/* Read one sector's stamp and say whether its checksums hold; @out is set either way. */
enum payload_verdict payload_check(const uint8_t *sector, struct payload_stamp *out);

#endif
