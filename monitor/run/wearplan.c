/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/wearplan.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/clock.h"
#include "run/run.h"

#define S_PER_DAY 86400.0

static const struct {
	const char *transport;
	double fill_bytes_per_s, soak_bytes_per_s;
} assumed[] = {
	{ "sata", 450e6, 150e6 },
	{ "nvme", 1.5e9, 800e6 },
};

static double assume(const char *transport, bool is_rotational, bool is_fill)
{
	for (size_t i = 0; i < sizeof(assumed) / sizeof(assumed[0]); i++)
		if (!is_rotational && strcmp(assumed[i].transport, transport) == 0)
			return is_fill ? assumed[i].fill_bytes_per_s : assumed[i].soak_bytes_per_s;
	return NAN;
}

double wearplan_assume_fill(const char *transport, bool is_rotational)
{
	return assume(transport, is_rotational, true);
}

double wearplan_assume_soak(const char *transport, bool is_rotational)
{
	return assume(transport, is_rotational, false);
}

static uint64_t whole(double value)
{
	/* 2^64 is the first that does not fit. */
	return value >= 0 && value < 18446744073709551616.0 ? (uint64_t)value : WEARPLAN_UNKNOWN;
}

static uint64_t sum(uint64_t a, uint64_t b)
{
	uint64_t total;

	if (a == WEARPLAN_UNKNOWN || b == WEARPLAN_UNKNOWN || __builtin_add_overflow(a, b, &total))
		return WEARPLAN_UNKNOWN;
	return total;
}

/* A known count of bytes at a rate that may be unknown. */
static uint64_t time_for(uint64_t bytes, double bytes_per_s)
{
	if (bytes == 0)
		return 0;
	if (bytes == WEARPLAN_UNKNOWN || !(bytes_per_s > 0))
		return WEARPLAN_UNKNOWN;
	return whole((double)bytes / bytes_per_s * (double)NS_PER_S);
}

static uint64_t bytes_in(uint64_t ns, double bytes_per_s)
{
	return ns ? whole((double)ns / (double)NS_PER_S * bytes_per_s) : 0;
}

static double percent_of(uint64_t part, uint64_t all)
{
	if (part == WEARPLAN_UNKNOWN || all == WEARPLAN_UNKNOWN || all == 0)
		return NAN;
	return (double)part / (double)all * 100;
}

/* Writes a second of the soak, NAN when it writes and nobody knows how fast. */
static double write_rate(const struct wearplan_input *input)
{
	return input->write_share > 0 ? input->soak_bytes_per_s * input->write_share : 0;
}

/* The depth-1 step and the open loops never write faster than the soak and its shares. */
static uint64_t probe_bytes_most(const struct wearplan_input *input)
{
	double shares = 0;

	for (unsigned step = 0; step < RUN_PROBE_STEPS; step++)
		shares += run_probe_share[step] > 0 ? run_probe_share[step] : 1;
	/* Without an end there is no probe either, unless somebody stops the soak. */
	return input->soak_ns ? bytes_in(input->probe_ns, write_rate(input) * shares) : 0;
}

static struct wearplan_limit limit_judge(
	const struct wearplan_input *input, const struct wearplan *plan, uint64_t bytes)
{
	struct wearplan_limit limit = { WEARPLAN_CANT_TELL, bytes, WEARPLAN_UNKNOWN };
	uint64_t ns;

	if (input->fill_bytes == WEARPLAN_UNKNOWN || bytes == WEARPLAN_UNKNOWN)
		return limit;
	if (bytes < input->fill_bytes) {
		limit.when = WEARPLAN_IN_FILL;
		limit.after_ns = sum(input->settle_ns, time_for(bytes, input->fill_bytes_per_s));
		return limit;
	}
	if (input->write_share <= 0 ||
		(plan->total_bytes != WEARPLAN_UNKNOWN && plan->total_bytes <= bytes)) {
		limit.when = WEARPLAN_NEVER;
		return limit;
	}
	ns = time_for(bytes - input->fill_bytes, write_rate(input));
	if (ns == WEARPLAN_UNKNOWN)
		return limit;
	/* What the probe would add is an upper bound: a limit in it may be reached, at the end of the soak at the
	 * earliest. */
	limit.when = WEARPLAN_IN_SOAK;
	if (input->soak_ns && ns > input->soak_ns)
		ns = input->soak_ns;
	limit.after_ns = sum(sum(input->settle_ns, plan->fill_ns), ns);
	return limit;
}

static void time_make(const struct wearplan_input *input, struct wearplan *out)
{
	uint64_t probe_ns;

	out->fill_ns = time_for(input->fill_bytes, input->fill_bytes_per_s);
	/* Nothing is known of reading; drives do not read slower than they are filled. */
	out->read_ns = input->verifies ? out->fill_ns : 0;
	if (!input->soak_ns || __builtin_mul_overflow(input->probe_ns, (uint64_t)RUN_PROBE_STEPS, &probe_ns))
		out->least_ns = WEARPLAN_UNKNOWN;
	else
		out->least_ns = sum(sum(input->settle_ns, input->soak_ns), probe_ns);
	out->total_ns = sum(out->least_ns, sum(out->fill_ns, out->read_ns));
	if (out->total_ns != WEARPLAN_UNKNOWN)
		out->least_ns = out->total_ns;
}

void wearplan_make(const struct wearplan_input *input, struct wearplan *out)
{
	const double rate = write_rate(input);

	*out = (struct wearplan){ 0 };
	time_make(input, out);
	out->fill_pct = percent_of(input->fill_bytes, input->capacity_bytes);
	out->bytes_per_day = whole(rate * S_PER_DAY);
	/* What writes nothing has a known sum, however long it lasts. */
	out->soak_bytes = input->soak_ns || input->write_share <= 0 ? bytes_in(input->soak_ns, rate)
								    : WEARPLAN_UNKNOWN;
	out->probe_bytes = probe_bytes_most(input);
	out->total_bytes = sum(sum(input->fill_bytes, out->soak_bytes), out->probe_bytes);
	out->rated_pct_per_day = percent_of(out->bytes_per_day, input->rated_bytes);
	out->rated_pct = percent_of(out->total_bytes, input->rated_bytes);
	if (input->budget_bytes)
		out->budget = limit_judge(input, out, input->budget_bytes);
	else
		out->budget = (struct wearplan_limit){ WEARPLAN_NOT_GIVEN, WEARPLAN_UNKNOWN,
			WEARPLAN_UNKNOWN };
	if (input->rated_bytes && input->wear_limit_pct > 0)
		out->wear = limit_judge(
			input, out, whole((double)input->rated_bytes * input->wear_limit_pct / 100));
	else
		out->wear = (struct wearplan_limit){ WEARPLAN_NOT_GIVEN, WEARPLAN_UNKNOWN, WEARPLAN_UNKNOWN };
}
