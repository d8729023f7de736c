/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include <math.h>

#include "base/clock.h"
#include "run/wearplan.h"

#define U    WEARPLAN_UNKNOWN
#define HOUR (3600 * NS_PER_S)
#define TB   1000000000000ULL
#define GB   1000000000ULL

/* A drive, how fast it is filled and written, which share of the soak writes, and how long it lasts. */
#define DRIVE(capacity, fill, fill_rate, soak_rate, share, soak)                                             \
	.capacity_bytes = capacity, .fill_bytes = fill, .fill_bytes_per_s = fill_rate,                       \
	.soak_bytes_per_s = soak_rate, .write_share = share, .soak_ns = soak
#define SETTLED .settle_ns = 600 * NS_PER_S
#define BASE	DRIVE(1000 * GB, 750 * GB, 500e6, 100e6, 1, 50 * HOUR), SETTLED

static const struct {
	const char *name;
	struct wearplan_input input;
	struct wearplan plan;
} rows[] = {
	{ "a day and a run of a SATA drive", { BASE, .rated_bytes = 300 * TB },
		/* 100 MB/s for 86400 s, for 180000 s; 1500 s of fill */
		{ 75, 1500 * NS_PER_S, 0, 8640 * GB, 18000 * GB, 0, 18750 * GB, 182100 * NS_PER_S,
			182100 * NS_PER_S, 2.88, 6.25, { WEARPLAN_NOT_GIVEN, U, U },
			{ WEARPLAN_NOT_GIVEN, U, U } } },
	{ "probe and verification count", { BASE, .probe_ns = 600 * NS_PER_S, .verifies = true },
		/* 600 s x (1 + 0.5 + 0.7 + 0.9) x 100 MB/s */
		{ 75, 1500 * NS_PER_S, 1500 * NS_PER_S, 8640 * GB, 18000 * GB, 186 * GB, 18936 * GB,
			186000 * NS_PER_S, 186000 * NS_PER_S, NAN, NAN, { WEARPLAN_NOT_GIVEN, U, U },
			{ WEARPLAN_NOT_GIVEN, U, U } } },
	{ "until stopped has a day and no end",
		{ DRIVE(1000 * GB, 750 * GB, 500e6, 100e6, 1, 0), SETTLED, .rated_bytes = 100 * TB,
			.probe_ns = HOUR },
		{ 75, 1500 * NS_PER_S, 0, 8640 * GB, U, 0, U, U, U, 8.64, NAN, { WEARPLAN_NOT_GIVEN, U, U },
			{ WEARPLAN_NOT_GIVEN, U, U } } },
	{ "unknown rates stay unknown",
		{ DRIVE(1000 * GB, 750 * GB, NAN, NAN, 1, 50 * HOUR), SETTLED, .rated_bytes = 300 * TB,
			.probe_ns = HOUR, .verifies = true, .budget_bytes = TB, .wear_limit_pct = 5 },
		{ 75, U, U, U, U, U, U, U, 54 * HOUR + HOUR / 6, NAN, NAN, { WEARPLAN_CANT_TELL, TB, U },
			{ WEARPLAN_CANT_TELL, 15 * TB, U } } },
	{ "a rate of 0 is no rate", { DRIVE(1000 * GB, 750 * GB, 0, 100e6, 1, 50 * HOUR), SETTLED },
		{ 75, U, 0, 8640 * GB, 18000 * GB, 0, 18750 * GB, U, 50 * HOUR + HOUR / 6, NAN, NAN,
			{ WEARPLAN_NOT_GIVEN, U, U }, { WEARPLAN_NOT_GIVEN, U, U } } },
	{ "unknown capacity", { DRIVE(U, 750 * GB, 500e6, 100e6, 1, 50 * HOUR), SETTLED },
		{ NAN, 1500 * NS_PER_S, 0, 8640 * GB, 18000 * GB, 0, 18750 * GB, 182100 * NS_PER_S,
			182100 * NS_PER_S, NAN, NAN, { WEARPLAN_NOT_GIVEN, U, U },
			{ WEARPLAN_NOT_GIVEN, U, U } } },
	{ "unknown fill", { DRIVE(1000 * GB, U, 500e6, 100e6, 1, 50 * HOUR), SETTLED, .budget_bytes = TB },
		{ NAN, U, 0, 8640 * GB, 18000 * GB, 0, U, U, 50 * HOUR + HOUR / 6, NAN, NAN,
			{ WEARPLAN_CANT_TELL, TB, U }, { WEARPLAN_NOT_GIVEN, U, U } } },
	{ "reads write nothing, whatever the rate",
		{ DRIVE(1000 * GB, 750 * GB, 500e6, NAN, 0, 0), SETTLED, .budget_bytes = TB,
			.rated_bytes = 300 * TB },
		{ 75, 1500 * NS_PER_S, 0, 0, 0, 0, 750 * GB, U, U, 0, 0.25, { WEARPLAN_NEVER, TB, U },
			{ WEARPLAN_NOT_GIVEN, U, U } } },
	{ "half of a mixed load", { DRIVE(1000 * GB, 750 * GB, 500e6, 100e6, 0.5, 50 * HOUR), SETTLED },
		{ 75, 1500 * NS_PER_S, 0, 4320 * GB, 9000 * GB, 0, 9750 * GB, 182100 * NS_PER_S,
			182100 * NS_PER_S, NAN, NAN, { WEARPLAN_NOT_GIVEN, U, U },
			{ WEARPLAN_NOT_GIVEN, U, U } } },
	{ "limits in the fill, in the soak",
		{ BASE, .budget_bytes = 500 * GB, .rated_bytes = 35 * TB, .wear_limit_pct = 5 },
		/* 600 s of settling and 1000 s of fill; 1 TB of soak after the fill is 10000 s */
		{ 75, 1500 * NS_PER_S, 0, 8640 * GB, 18000 * GB, 0, 18750 * GB, 182100 * NS_PER_S,
			182100 * NS_PER_S, 24.685714285714287, 53.571428571428573,
			{ WEARPLAN_IN_FILL, 500 * GB, 1600 * NS_PER_S },
			{ WEARPLAN_IN_SOAK, 1750 * GB, 12100 * NS_PER_S } } },
	{ "a limit of all that is written is not passed", { BASE, .budget_bytes = 18750 * GB },
		{ 75, 1500 * NS_PER_S, 0, 8640 * GB, 18000 * GB, 0, 18750 * GB, 182100 * NS_PER_S,
			182100 * NS_PER_S, NAN, NAN, { WEARPLAN_NEVER, 18750 * GB, U },
			{ WEARPLAN_NOT_GIVEN, U, U } } },
	{ "a limit without an end is reached",
		{ DRIVE(1000 * GB, 750 * GB, 500e6, 100e6, 1, 0), SETTLED, .budget_bytes = 9390 * GB },
		{ 75, 1500 * NS_PER_S, 0, 8640 * GB, U, 0, U, U, U, NAN, NAN,
			{ WEARPLAN_IN_SOAK, 9390 * GB, 88500 * NS_PER_S }, { WEARPLAN_NOT_GIVEN, U, U } } },
	{ "only the probe passes the limit", { BASE, .probe_ns = 600 * NS_PER_S, .budget_bytes = 18800 * GB },
		{ 75, 1500 * NS_PER_S, 0, 8640 * GB, 18000 * GB, 186 * GB, 18936 * GB, 184500 * NS_PER_S,
			184500 * NS_PER_S, NAN, NAN, { WEARPLAN_IN_SOAK, 18800 * GB, 182100 * NS_PER_S },
			{ WEARPLAN_NOT_GIVEN, U, U } } },
	{ "sums that do not fit are unknown",
		{ DRIVE(1000 * GB, UINT64_MAX - 1, 500e6, 1e12, 1, UINT64_MAX), .settle_ns = UINT64_MAX,
			.probe_ns = UINT64_MAX / 2, .rated_bytes = UINT64_MAX - 1, .wear_limit_pct = 1000 },
		{ 1844674407.370955, U, 0, 86400 * TB, U, U, U, U, U, 0.46837529013, NAN,
			{ WEARPLAN_NOT_GIVEN, U, U }, { WEARPLAN_CANT_TELL, U, U } } },
};

static void check_u64(const char *row, const char *field, uint64_t value, uint64_t expected)
{
	/* Products of doubles: right to a millionth. */
	uint64_t room = expected == U ? 0 : expected / 1000000;

	if (value > expected + room || value < expected - room)
		fail_msg("%s: %s is %llu, not %llu", row, field, (unsigned long long)value,
			(unsigned long long)expected);
}

static void check_double(const char *row, const char *field, double value, double expected)
{
	if (isnan(value) != isnan(expected) || fabs(value - expected) > 1e-6 * fabs(expected))
		fail_msg("%s: %s is %.9g, not %.9g", row, field, value, expected);
}

static void check_limit(const char *row, const char *field, const struct wearplan_limit *limit,
	const struct wearplan_limit *expected)
{
	if (limit->when != expected->when)
		fail_msg("%s: %s is reached %d, not %d", row, field, (int)limit->when, (int)expected->when);
	check_u64(row, field, limit->bytes, expected->bytes);
	check_u64(row, field, limit->after_ns, expected->after_ns);
}

static void test_plans(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct wearplan *want = &rows[i].plan;
		const char *name = rows[i].name;
		struct wearplan plan;

		wearplan_make(&rows[i].input, &plan);
		check_double(name, "fill_pct", plan.fill_pct, want->fill_pct);
		check_u64(name, "fill_ns", plan.fill_ns, want->fill_ns);
		check_u64(name, "read_ns", plan.read_ns, want->read_ns);
		check_u64(name, "bytes_per_day", plan.bytes_per_day, want->bytes_per_day);
		check_u64(name, "soak_bytes", plan.soak_bytes, want->soak_bytes);
		check_u64(name, "probe_bytes", plan.probe_bytes, want->probe_bytes);
		check_u64(name, "total_bytes", plan.total_bytes, want->total_bytes);
		check_u64(name, "total_ns", plan.total_ns, want->total_ns);
		check_u64(name, "least_ns", plan.least_ns, want->least_ns);
		check_double(name, "rated_pct_per_day", plan.rated_pct_per_day, want->rated_pct_per_day);
		check_double(name, "rated_pct", plan.rated_pct, want->rated_pct);
		check_limit(name, "budget", &plan.budget, &want->budget);
		check_limit(name, "wear", &plan.wear, &want->wear);
	}
}

static void test_what_is_assumed(void **state)
{
	static const char *const nothing[] = { "", "usb", "loop", "virtio", "sas", "nvme-subsystem" };

	(void)state;
	check_double("sata", "fill", wearplan_assume_fill("sata", false), 450e6);
	check_double("sata", "soak", wearplan_assume_soak("sata", false), 150e6);
	check_double("nvme", "fill", wearplan_assume_fill("nvme", false), 1.5e9);
	check_double("nvme", "soak", wearplan_assume_soak("nvme", false), 800e6);
	check_double("disk", "soak", wearplan_assume_soak("sata", true), NAN);
	for (size_t i = 0; i < ARRAY_LEN(nothing); i++) {
		check_double(nothing[i], "fill", wearplan_assume_fill(nothing[i], false), NAN);
		check_double(nothing[i], "soak", wearplan_assume_soak(nothing[i], false), NAN);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plans),
		cmocka_unit_test(test_what_is_assumed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
