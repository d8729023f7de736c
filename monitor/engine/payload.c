/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/payload.h"

#include <endian.h>
#include <stdbool.h>
#include <string.h>
#include <xxhash.h>
#ifdef HAVE_XXH_DISPATCH
#define XXH_DISPATCH_DISABLE_REPLACE
#include <xxh_x86dispatch.h>
#endif

#include "engine/random.h"

enum {
	PIECE_HASH_BYTES = 8,
	CHECKSUM_WORD = 4, /* of the stamp */
	BODY_HASH_WORD = 5,
	STAMP_WORDS = 6
};

/* Body bytes of piece @index of a sector that its own hash covers. */
static uint64_t piece_hash(const uint8_t *sector, unsigned index)
{
	unsigned from = index ? index * PAYLOAD_PIECE_BYTES : PAYLOAD_STAMP_BYTES;
	unsigned to = (index + 1) * PAYLOAD_PIECE_BYTES - PIECE_HASH_BYTES;

	return XXH3_64bits_withSeed(sector + from, to - from, index);
}

/* What a read-back spends its time in: with AVX2 17 GB/s instead of the 11 of plain x86-64. The value is the same. */
static uint64_t body_hash_of(const uint8_t *sector)
{
	const size_t bytes = PAYLOAD_SECTOR_BYTES - PAYLOAD_STAMP_BYTES;

#ifdef HAVE_XXH_DISPATCH
	return XXH3_64bits_dispatch(sector + PAYLOAD_STAMP_BYTES, bytes);
#else
	return XXH3_64bits(sector + PAYLOAD_STAMP_BYTES, bytes);
#endif
}

static uint64_t body_seal(uint8_t *sector)
{
	uint64_t word, body_hash;

	for (unsigned i = 0; i < PAYLOAD_SECTOR_BYTES / PAYLOAD_PIECE_BYTES; i++) {
		word = htole64(piece_hash(sector, i));
		memcpy(sector + (i + 1) * PAYLOAD_PIECE_BYTES - PIECE_HASH_BYTES, &word, sizeof(word));
	}
	body_hash = body_hash_of(sector);
	word = htole64(body_hash);
	memcpy(sector + BODY_HASH_WORD * sizeof(word), &word, sizeof(word));
	return body_hash;
}

uint64_t payload_run_tag(const char *run_id)
{
	return XXH3_64bits(run_id, strlen(run_id));
}

void payload_make_bodies(uint8_t *buffer, size_t bytes, uint64_t seed, uint64_t *body_hashes)
{
	struct random random;

	random_init(&random, seed);
	for (size_t at = 0; at + 8 <= bytes; at += 8) {
		uint64_t word = random_next(&random);

		memcpy(buffer + at, &word, sizeof(word));
	}
	for (size_t i = 0; i < bytes / PAYLOAD_SECTOR_BYTES; i++)
		body_hashes[i] = body_seal(buffer + i * PAYLOAD_SECTOR_BYTES);
}

static bool pieces_hold(const uint8_t *sector)
{
	uint64_t word;

	for (unsigned i = 0; i < PAYLOAD_SECTOR_BYTES / PAYLOAD_PIECE_BYTES; i++) {
		memcpy(&word, sector + (i + 1) * PAYLOAD_PIECE_BYTES - PIECE_HASH_BYTES, sizeof(word));
		if (le64toh(word) != piece_hash(sector, i))
			return false;
	}
	return true;
}

enum payload_verdict payload_check(const uint8_t *sector, struct payload_stamp *out)
{
	uint64_t words[STAMP_WORDS], body_hash;

	memcpy(words, sector, sizeof(words));
	out->run_tag = le64toh(words[0]);
	out->sector = le64toh(words[1]);
	out->sequence = le64toh(words[2]);
	out->wall_ns = (int64_t)le64toh(words[3]);
	body_hash = le64toh(words[BODY_HASH_WORD]);
	if (le64toh(words[CHECKSUM_WORD]) != XXH3_64bits_withSeed(words, 32, body_hash))
		return PAYLOAD_CORRUPT;
	if (body_hash == body_hash_of(sector))
		return PAYLOAD_GOOD;
	return pieces_hold(sector) ? PAYLOAD_MIXED : PAYLOAD_CORRUPT;
}
