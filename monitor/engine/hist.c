/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/hist.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* An encoded histogram: one byte with the number of pairings, then for each run of groups of 2^pairings buckets:
 * how many empty groups lie before it, its length, and its counts; all as base-128 numbers, low bits first. A run
 * ends at two empty groups in a row. */
#define VARINT_MAX 10
/* 31 groups, which always fit. */
#define PAIRINGS_MAX 6

uint64_t hist_value_ns(unsigned index)
{
	unsigned octave, shift;

	if (index < 64)
		return ((uint64_t)index << 4) + 8;
	octave = (index - 64) / 64;
	shift = octave + 4;
	return ((64 + (uint64_t)(index - 64) % 64) << shift) + (1ULL << (shift - 1));
}

uint64_t hist_total(const struct hist *hist)
{
	uint64_t total = 0;

	for (unsigned i = 0; i < HIST_BUCKETS; i++)
		total += hist->counts[i];
	return total;
}

void hist_merge(struct hist *into, const struct hist *from)
{
	for (unsigned i = 0; i < HIST_BUCKETS; i++)
		into->counts[i] += from->counts[i];
}

uint64_t hist_percentile_ns(const struct hist *hist, double pct)
{
	uint64_t total = hist_total(hist), rank, seen = 0;

	if (total == 0)
		return UINT64_MAX;
	rank = (uint64_t)ceil((double)total * pct / 100.0);
	if (rank < 1)
		rank = 1;
	if (rank > total)
		rank = total;
	for (unsigned i = 0; i < HIST_BUCKETS; i++) {
		seen += hist->counts[i];
		if (seen >= rank)
			return hist_value_ns(i);
	}
	return hist_value_ns(HIST_BUCKETS - 1);
}

static size_t varint_put(uint8_t *bytes, uint64_t value)
{
	size_t used = 0;

	while (value >= 0x80) {
		bytes[used++] = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	bytes[used++] = (uint8_t)value;
	return used;
}

/* Bytes read, 0 when the number does not end within @length or does not fit 64 bits. */
static size_t varint_get(const uint8_t *bytes, size_t length, uint64_t *value)
{
	uint64_t result = 0;

	for (size_t i = 0; i < length && i < VARINT_MAX; i++) {
		if (i == VARINT_MAX - 1 && bytes[i] > 1)
			return 0;
		result |= (uint64_t)(bytes[i] & 0x7f) << (7 * i);
		if (!(bytes[i] & 0x80)) {
			*value = result;
			return i + 1;
		}
	}
	return 0;
}

/* Counts by group; how many groups. */
static unsigned group_counts(const struct hist *hist, unsigned pairings, uint64_t *groups)
{
	unsigned count = (HIST_BUCKETS + (1u << pairings) - 1) >> pairings;

	memset(groups, 0, (count + 2) * sizeof(*groups));
	for (unsigned i = 0; i < HIST_BUCKETS; i++)
		groups[i >> pairings] += hist->counts[i];
	return count;
}

/* Bytes used, or 0 when they would not fit. */
static size_t encode_paired(const struct hist *hist, unsigned pairings, uint8_t *bytes)
{
	uint64_t groups[HIST_BUCKETS + 2];
	unsigned count = group_counts(hist, pairings, groups), at = 0;
	size_t used = 0;

	bytes[used++] = (uint8_t)pairings;
	while (at < count) {
		unsigned from = at, to;

		while (from < count && groups[from] == 0)
			from++;
		if (from == count)
			break;
		for (to = from; groups[to] || groups[to + 1]; to++)
			;
		if (used + 2 * VARINT_MAX > HIST_ENCODED_MAX)
			return 0;
		used += varint_put(bytes + used, from - at);
		used += varint_put(bytes + used, to - from);
		for (at = from; at < to; at++) {
			if (used + VARINT_MAX > HIST_ENCODED_MAX)
				return 0;
			used += varint_put(bytes + used, groups[at]);
		}
	}
	return used;
}

size_t hist_encode(const struct hist *hist, uint8_t *bytes)
{
	if (hist_total(hist) == 0)
		return 0;
	for (unsigned pairings = 0; pairings <= PAIRINGS_MAX; pairings++) {
		size_t used = encode_paired(hist, pairings, bytes);

		if (used)
			return used;
	}
	return 0;
}

int hist_decode_add(const uint8_t *bytes, size_t length, struct hist *into)
{
	struct hist decoded;
	uint64_t group = 0, run = 0, value;
	enum { EMPTY, LENGTH, COUNT } next = EMPTY;
	unsigned width;

	if (length < 1 || length > HIST_ENCODED_MAX || bytes[0] > PAIRINGS_MAX)
		return -EINVAL;
	width = 1u << bytes[0];
	memset(&decoded, 0, sizeof(decoded));
	for (size_t at = 1, used; at < length; at += used) {
		used = varint_get(bytes + at, length - at, &value);
		if (!used || (next != COUNT && value > HIST_BUCKETS))
			return -EINVAL;
		if (next == EMPTY) {
			group += value;
			next = LENGTH;
		} else if (next == LENGTH) {
			run = value;
			next = COUNT;
			if (run == 0 || (group + run - 1) * width >= HIST_BUCKETS)
				return -EINVAL;
		} else {
			decoded.counts[group++ * width + width / 2] += value;
			next = --run ? COUNT : EMPTY;
		}
	}
	if (next != EMPTY)
		return -EINVAL;
	hist_merge(into, &decoded);
	return 0;
}
