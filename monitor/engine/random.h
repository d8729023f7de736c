/* SPDX-License-Identifier: GPL-2.0-or-later */
/* random.h - xoshiro256** (Blackman and Vigna, 2018) seeded by splitmix64: repeatable from the recorded seed,
 * 64 good bits, a nanosecond a number. A state belongs to one thread. */
#ifndef DRIVESOAK_RANDOM_H
#define DRIVESOAK_RANDOM_H

#include <stdint.h>

struct random {
	uint64_t s[4];
};

static inline uint64_t random_splitmix(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static inline void random_init(struct random *random, uint64_t seed)
{
	for (int i = 0; i < 4; i++)
		random->s[i] = random_splitmix(&seed);
}

static inline uint64_t random_rotate(uint64_t x, int bits)
{
	return (x << bits) | (x >> (64 - bits));
}

static inline uint64_t random_next(struct random *random)
{
	uint64_t *s = random->s, result = random_rotate(s[1] * 5, 7) * 9, t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = random_rotate(s[3], 45);
	return result;
}

/* 0 <= result < @limit, @limit > 0: high half of the 128-bit product; the bias is below limit / 2^64. */
static inline uint64_t random_below(struct random *random, uint64_t limit)
{
	return (uint64_t)((unsigned __int128)random_next(random) * limit >> 64);
}

#endif
