/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "measure/decline.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"

#define BINS_PER_OCTAVE 128
#define HOUR_NS		(3600 * NS_PER_S)
#define REFERENCE_NS	(6 * HOUR_NS)
#define WELL_SHARE	0.85
#define SLOW_HOURS	3

static unsigned bin_of(double rate)
{
	double bin = rate >= 1 ? log2(rate) * BINS_PER_OCTAVE : 0;

	return bin < DECLINE_BINS - 1 ? (unsigned)bin : DECLINE_BINS - 1;
}

static void bins_add(struct decline_bins *bins, double rate, uint64_t elapsed_ns)
{
	bins->counts[bin_of(rate)]++;
	bins->total++;
	bins->elapsed_ns += elapsed_ns;
}

/* The middle of the bin that holds it. */
static double bins_median(const struct decline_bins *bins)
{
	uint64_t seen = 0;
	unsigned i = 0;

	for (; i < DECLINE_BINS - 1; i++) {
		seen += bins->counts[i];
		if (seen * 2 >= bins->total)
			break;
	}
	return i ? exp2((i + 0.5) / BINS_PER_OCTAVE) : 0;
}

static void bins_clear(struct decline_bins *bins)
{
	memset(bins, 0, sizeof(*bins));
}

static void reference_add(struct decline *decline, uint64_t elapsed_ns, double rate, bool is_settled)
{
	if (!is_settled) {
		if (decline->reference.total)
			bins_clear(&decline->reference);
		return;
	}
	bins_add(&decline->reference, rate, elapsed_ns);
	if (decline->reference.elapsed_ns >= REFERENCE_NS)
		decline->reference_rate = bins_median(&decline->reference);
}

static enum decline_turn hour_end(struct decline *decline)
{
	decline->hour_rate = bins_median(&decline->hour);
	bins_clear(&decline->hour);
	if (decline->hour_rate >= decline->reference_rate * DECLINE_SLOW_SHARE)
		decline->slow_hours = 0;
	else if (decline->slow_hours++ == 0 && !decline->is_degraded)
		decline->slow_from_ms = decline->hour_from_ms;
	if (!decline->is_degraded && decline->slow_hours >= SLOW_HOURS) {
		decline->is_degraded = true;
		return DECLINE_BEGINS;
	}
	if (decline->is_degraded && decline->hour_rate >= decline->reference_rate * WELL_SHARE) {
		decline->is_degraded = false;
		return DECLINE_ENDS;
	}
	return DECLINE_STAYS;
}

enum decline_turn decline_add(
	struct decline *decline, int64_t t_ms, uint64_t elapsed_ns, double bytes_per_s, bool is_settled)
{
	if (!(decline->reference_rate > 0)) {
		reference_add(decline, elapsed_ns, bytes_per_s, is_settled);
		return DECLINE_STAYS;
	}
	if (decline->hour.total == 0)
		decline->hour_from_ms = t_ms - (int64_t)(elapsed_ns / NS_PER_MS);
	bins_add(&decline->hour, bytes_per_s, elapsed_ns);
	return decline->hour.elapsed_ns >= HOUR_NS ? hour_end(decline) : DECLINE_STAYS;
}
