/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stamps: where they lie, what they say, and that no bit may change. */
#include "unit.h"

#include <endian.h>
#include <stdbool.h>
#include <string.h>

#include "engine/payload.h"

enum { SECTOR = PAYLOAD_SECTOR_BYTES, PIECE = PAYLOAD_PIECE_BYTES, SECTORS = 4 };

struct block {
	_Alignas(64) uint8_t bytes[SECTORS * SECTOR];
	uint64_t hashes[SECTORS];
};

static void block_make(struct block *block, uint64_t seed, uint64_t sequence)
{
	const struct payload_stamp stamp = {
		.run_tag = 0x1122334455667788, .sector = 1000, .sequence = sequence, .wall_ns = -5
	};

	payload_make_bodies(block->bytes, sizeof(block->bytes), seed, block->hashes);
	payload_stamp(block->bytes, sizeof(block->bytes), &stamp, block->hashes);
}

static uint64_t word_at(const uint8_t *bytes)
{
	uint64_t word;

	memcpy(&word, bytes, sizeof(word));
	return le64toh(word);
}

static void test_a_stamp_lies_where_the_header_says(void **state)
{
	static struct block block;

	(void)state;
	block_make(&block, 3, 0x0102030405060708);
	assert_int_equal(block.bytes[0], 0x88); /* little endian */
	for (unsigned i = 0; i < SECTORS; i++) {
		const uint8_t *sector = block.bytes + (size_t)i * SECTOR;
		struct payload_stamp stamp;

		assert_true(word_at(sector) == 0x1122334455667788);
		assert_int_equal(word_at(sector + 8), 1000 + i);
		assert_int_equal(word_at(sector + 16), 0x0102030405060708);
		assert_int_equal((int64_t)word_at(sector + 24), -5);
		assert_true(word_at(sector + 40) == block.hashes[i]);
		assert_int_equal(payload_check(sector, &stamp), PAYLOAD_GOOD);
		assert_true(stamp.run_tag == 0x1122334455667788);
		assert_int_equal(stamp.sector, 1000 + i);
		assert_int_equal(stamp.sequence, 0x0102030405060708);
		assert_int_equal(stamp.wall_ns, -5);
	}
}

static void test_a_body_is_stamped_again_and_again(void **state)
{
	static struct block block;
	struct payload_stamp stamp = { .run_tag = 1 };

	(void)state;
	block_make(&block, 3, 1);
	for (uint64_t sequence = 2; sequence < 100; sequence++) {
		stamp.sequence = sequence;
		stamp.sector = sequence * 7;
		payload_stamp(block.bytes, sizeof(block.bytes), &stamp, block.hashes);
		for (unsigned i = 0; i < SECTORS; i++) {
			struct payload_stamp found;

			assert_int_equal(
				payload_check(block.bytes + (size_t)i * SECTOR, &found), PAYLOAD_GOOD);
			assert_int_equal(found.sequence, sequence);
			assert_int_equal(found.sector, sequence * 7 + i);
		}
	}
}

static void test_every_flipped_bit_is_corrupt(void **state)
{
	static struct block block;
	struct payload_stamp stamp;

	(void)state;
	block_make(&block, 4, 9);
	for (unsigned bit = 0; bit < SECTOR * 8; bit++) {
		block.bytes[bit / 8] ^= (uint8_t)(1U << bit % 8);
		assert_int_equal(payload_check(block.bytes, &stamp), PAYLOAD_CORRUPT);
		block.bytes[bit / 8] ^= (uint8_t)(1U << bit % 8);
	}
	assert_int_equal(payload_check(block.bytes, &stamp), PAYLOAD_GOOD);
}

static void test_never_stamped_is_corrupt(void **state)
{
	static uint8_t sector[SECTOR];
	struct payload_stamp stamp;

	(void)state;
	assert_int_equal(payload_check(sector, &stamp), PAYLOAD_CORRUPT);
	memset(sector, 0xff, sizeof(sector));
	assert_int_equal(payload_check(sector, &stamp), PAYLOAD_CORRUPT);
}

/* Any choice of pieces from two writes holds as mixed, and says what the piece with the stamp said. */
static void test_pieces_of_two_writes_are_mixed(void **state)
{
	static struct block old, new;
	uint8_t sector[SECTOR];
	struct payload_stamp stamp;

	(void)state;
	block_make(&old, 5, 70);
	block_make(&new, 6, 71);
	for (unsigned choice = 0; choice < 256; choice++) {
		bool is_pure = choice == 0 || choice == 255;

		for (unsigned i = 0; i < 8; i++)
			memcpy(sector + (size_t)i * PIECE,
				(choice >> i & 1 ? new.bytes : old.bytes) + (size_t)i * PIECE, PIECE);
		assert_int_equal(payload_check(sector, &stamp), is_pure ? PAYLOAD_GOOD : PAYLOAD_MIXED);
		assert_int_equal(stamp.sequence, choice & 1 ? 71 : 70);
	}
}

static void test_a_flipped_bit_shows_among_mixed_pieces(void **state)
{
	static struct block old, new;
	struct payload_stamp stamp;

	(void)state;
	block_make(&old, 5, 70);
	block_make(&new, 6, 71);
	memcpy(old.bytes + 3 * PIECE, new.bytes + 3 * PIECE, PIECE);
	assert_int_equal(payload_check(old.bytes, &stamp), PAYLOAD_MIXED);
	for (unsigned bit = 0; bit < SECTOR * 8; bit += 7) {
		old.bytes[bit / 8] ^= (uint8_t)(1U << bit % 8);
		assert_int_equal(payload_check(old.bytes, &stamp), PAYLOAD_CORRUPT);
		old.bytes[bit / 8] ^= (uint8_t)(1U << bit % 8);
	}
}

/* A piece knows its place in the sector. */
static void test_pieces_in_the_wrong_order_are_corrupt(void **state)
{
	static struct block block;
	uint8_t piece[PIECE];
	struct payload_stamp stamp;

	(void)state;
	block_make(&block, 5, 70);
	memcpy(piece, block.bytes + 2 * PIECE, PIECE);
	memcpy(block.bytes + 2 * PIECE, block.bytes + 3 * PIECE, PIECE);
	memcpy(block.bytes + 3 * PIECE, piece, PIECE);
	assert_int_equal(payload_check(block.bytes, &stamp), PAYLOAD_CORRUPT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_stamp_lies_where_the_header_says),
		cmocka_unit_test(test_a_body_is_stamped_again_and_again),
		cmocka_unit_test(test_every_flipped_bit_is_corrupt),
		cmocka_unit_test(test_never_stamped_is_corrupt),
		cmocka_unit_test(test_pieces_of_two_writes_are_mixed),
		cmocka_unit_test(test_a_flipped_bit_shows_among_mixed_pieces),
		cmocka_unit_test(test_pieces_in_the_wrong_order_are_corrupt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
