/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Apart, because the hash of a few bytes of known length is worth having inline: half of what a write costs is for its
 * stamps. */
#define XXH_INLINE_ALL
#include "engine/payload.h"

#include <endian.h>
#include <string.h>
#include <xxhash.h>

void payload_stamp(
	uint8_t *buffer, size_t bytes, const struct payload_stamp *stamp, const uint64_t *body_hashes)
{
	uint64_t run_tag = htole64(stamp->run_tag), sequence = htole64(stamp->sequence);
	uint64_t wall_ns = htole64((uint64_t)stamp->wall_ns);

	for (size_t i = 0; i < bytes / PAYLOAD_SECTOR_BYTES; i++) {
		uint8_t *head = buffer + i * PAYLOAD_SECTOR_BYTES;
		uint64_t sector = htole64(stamp->sector + i);
		const uint64_t words[] = { run_tag, sector, sequence, wall_ns };
		uint64_t checksum = htole64(XXH3_64bits_withSeed(words, sizeof(words), body_hashes[i]));

		/* Word by word from registers: a copy of the array would wait for its own stores, 43 instead of 24 ns a
		 * block. The body hash behind these stays where it was put when the body was made. */
		memcpy(head, &run_tag, sizeof(run_tag));
		memcpy(head + 8, &sector, sizeof(sector));
		memcpy(head + 16, &sequence, sizeof(sequence));
		memcpy(head + 24, &wall_ns, sizeof(wall_ns));
		memcpy(head + 32, &checksum, sizeof(checksum));
	}
}
