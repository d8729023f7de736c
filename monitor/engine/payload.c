/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/payload.h"

#include <endian.h>
#include <string.h>
#include <xxhash.h>

#include "engine/random.h"

void payload_make_bodies(uint8_t *buffer, size_t bytes, uint64_t seed, uint64_t *body_hashes)
{
	struct random random;

	random_init(&random, seed);
	for (size_t at = 0; at + 8 <= bytes; at += 8) {
		uint64_t word = random_next(&random);

		memcpy(buffer + at, &word, sizeof(word));
	}
	for (size_t i = 0; i < bytes / PAYLOAD_SECTOR_BYTES; i++)
		body_hashes[i] = XXH3_64bits(buffer + i * PAYLOAD_SECTOR_BYTES + PAYLOAD_STAMP_BYTES,
			PAYLOAD_SECTOR_BYTES - PAYLOAD_STAMP_BYTES);
}

void payload_stamp(
	uint8_t *buffer, size_t bytes, const struct payload_stamp *stamp, const uint64_t *body_hashes)
{
	uint64_t words[5] = { htole64(stamp->run_tag), 0, htole64(stamp->sequence),
		htole64((uint64_t)stamp->wall_ns), 0 };

	for (size_t i = 0; i < bytes / PAYLOAD_SECTOR_BYTES; i++) {
		words[1] = htole64(stamp->sector + i);
		words[4] = htole64(XXH3_64bits_withSeed(words, 32, body_hashes[i]));
		memcpy(buffer + i * PAYLOAD_SECTOR_BYTES, words, sizeof(words));
	}
}

enum payload_verdict payload_check(const uint8_t *sector, struct payload_stamp *out)
{
	uint64_t words[5], body_hash;

	memcpy(words, sector, sizeof(words));
	out->run_tag = le64toh(words[0]);
	out->sector = le64toh(words[1]);
	out->sequence = le64toh(words[2]);
	out->wall_ns = (int64_t)le64toh(words[3]);
	body_hash = XXH3_64bits(sector + PAYLOAD_STAMP_BYTES, PAYLOAD_SECTOR_BYTES - PAYLOAD_STAMP_BYTES);
	return le64toh(words[4]) == XXH3_64bits_withSeed(words, 32, body_hash) ? PAYLOAD_GOOD
									       : PAYLOAD_CORRUPT;
}
