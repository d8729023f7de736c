/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hist.h - log-linear histogram of latencies in nanoseconds: 64 linear buckets an octave, so that a value
 * answered is within 0.8 % of the truth (half a bucket: 1/128), from 1.024 us to 1100 s; below, one bucket a
 * 16 ns. Mergeable by adding counts; encoded small enough to be stored with each sample. Pure.
 *
 * Index of v: v < 1024 ns: v / 16 (64 buckets). Else with e = position of v's highest bit (10..40):
 * 64 + (e - 10) * 64 + (the 6 bits below the highest). Larger values go to the last bucket. */
#ifndef DRIVESOAK_HIST_H
#define DRIVESOAK_HIST_H

#include <stddef.h>
#include <stdint.h>

#define HIST_OCTAVES	 30
#define HIST_BUCKETS	 (64 + HIST_OCTAVES * 64)
#define HIST_ENCODED_MAX 2040

struct hist {
	uint64_t counts[HIST_BUCKETS];
};

static inline unsigned hist_index(uint64_t ns)
{
	unsigned top;

	if (ns < 1024)
		return (unsigned)(ns >> 4);
	top = 63u - (unsigned)__builtin_clzll(ns);
	if (top > 9 + HIST_OCTAVES)
		return HIST_BUCKETS - 1;
	return 64 + (top - 10) * 64 + (unsigned)(ns >> (top - 6) & 63);
}

/* The middle of a bucket. */
uint64_t hist_value_ns(unsigned index);

uint64_t hist_total(const struct hist *hist);
void hist_merge(struct hist *into, const struct hist *from);

/* Nearest rank: the smallest value with at least @pct percent of the counts at or below; pct 100 is the
 * maximum. UINT64_MAX for an empty histogram. */
uint64_t hist_percentile_ns(const struct hist *hist, double pct);

/* Runs of buckets as variable-length integers. When more than HIST_ENCODED_MAX bytes would be needed, neighbours
 * are joined in pairs (error 1.6 %) until they fit; the first byte tells. Bytes used; 0 for an empty histogram. */
size_t hist_encode(const struct hist *hist, uint8_t *bytes);
/* Add an encoded histogram to @into. 0 or -EINVAL for bytes hist_encode() did not make; @into then unchanged. */
int hist_decode_add(const uint8_t *bytes, size_t length, struct hist *into);

#endif
