/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose fault was it: the numbers of the rows were measured where their name says so. */
#include "unit.h"

#include <math.h>
#include <string.h>

#include "measure/hostlimit.h"

#define S  1000000000ULL
#define MS 1000000ULL

/* An undisturbed drive of 5000 writes a second: nothing speaks. */
static struct hostlimit_input quiet(void)
{
	return (struct hostlimit_input){
		.elapsed_ns = S,
		.completions = 5000,
		.depth = 32,
		.threads = 2,
		.is_full_meant = true,
		.nr_requests = 128,
		.inflight_mean = 32,
		.lat_mean_ns = 6400000,
		.device_lat_mean_ns = 6390000,
		.device_ios = 5000,
		.cpu_share = 0.02,
		.run_delay_share = 0.006,
		.wait_mean_ns = 5000,
		.steal_share = 0,
		.throttled_ns = 0,
	};
}

struct row {
	const char *name;
	uint32_t measures;
	uint64_t completions;
	double lat_ns, device_ns;
	uint64_t device_ios;
	double cpu, delay, wait_ns, steal;
	uint64_t throttled_ns;
};

#define ABSENT HOSTLIMIT_UNKNOWN

static const struct row rows[] = {
	/* name, measures, completions, latency, of the device, its requests, cpu, delay, wait, steal, throttled */
	{ "undisturbed", 0, 5000, 6400000, 6390000, 5000, 0.02, 0.006, 5000, 0, 0 },
	/* Measured: a loop device of two workers, two CPUs. */
	{ "three busy loops on the CPU of ours", HOSTLIMIT_CPU_WAIT | HOSTLIMIT_LATENCY, 41830, 748503,
		428189, 41830, 0.158, 0.33, 247000, 0, 0 },
	{ "a CPU quota of 5 %", HOSTLIMIT_CPU_WAIT | HOSTLIMIT_THROTTLED | HOSTLIMIT_LATENCY, 8087, 3880571,
		445368, 8087, 0.028, 0.876, 1840000, 0, 1231360497 },
	{ "blkio at 5000 a second", 0, 5000, 6378496, 516400, 5000, 0.020, 0.007, 7000, 0, 0 },
	{ "blkio at 20000 a second", 0, 20000, 1585604, 460854, 20000, 0.072, 0.0237, 5000, 0, 0 },
	{ "blkio at 500 beside three busy loops", 0, 500, 63990883, 628000, 500, 0.002, 0.0041, 200000, 0,
		0 },
	{ "blkio at 5000 beside three busy loops", 0, 5000, 6408079, 487000, 5000, 0.019, 0.0367, 216000, 0,
		0 },
	{ "one request at a time", 0, 13153, 75754, 69220, 13153, 0.050, 0.0245, 1700, 0.005, 0 },
	{ "steal of a busy host", HOSTLIMIT_STEAL, 500, 63048272, 62999000, 500, 0.003, 0.0038, 20000, 0.2063,
		0 },
	/* Waiting */
	{ "waits at the limit", 0, 5000, 6400000, 6390000, 5000, 0.02, 0.05, 400000, 0, 0 },
	{ "waits beyond it", HOSTLIMIT_CPU_WAIT, 5000, 6400000, 6390000, 5000, 0.02, 0.051, 400000, 0, 0 },
	{ "many short waits before a slow drive", 0, 5000, 6400000, 6390000, 5000, 0.02, 0.2, 320000, 0, 0 },
	{ "longer ones", HOSTLIMIT_CPU_WAIT, 5000, 6400000, 6390000, 5000, 0.02, 0.2, 320001, 0, 0 },
	{ "waits unknown", 0, 5000, 6400000, 6390000, 5000, 0.02, NAN, NAN, 0, 0 },
	/* Quota and steal */
	{ "held back for less than 1 %", 0, 5000, 6400000, 6390000, 5000, 0.02, 0.006, 5000, 0, 10 * MS - 1 },
	{ "held back for 1 %", HOSTLIMIT_THROTTLED, 5000, 6400000, 6390000, 5000, 0.02, 0.006, 5000, 0,
		10 * MS },
	{ "quota unknown", 0, 5000, 6400000, 6390000, 5000, 0.02, 0.006, 5000, 0, ABSENT },
	{ "steal of 1 %", 0, 5000, 6400000, 6390000, 5000, 0.02, 0.006, 5000, 0.01, 0 },
	{ "steal of 1.1 %", HOSTLIMIT_STEAL, 5000, 6400000, 6390000, 5000, 0.02, 0.006, 5000, 0.011, 0 },
	{ "steal unknown", 0, 5000, 6400000, 6390000, 5000, 0.02, 0.006, 5000, NAN, 0 },
	/* A thread that never sleeps can't keep a queue full. */
	{ "busy for 89 % each", 0, 500000, 64000, 63000, 500000, 1.78, 0.01, 100, 0, 0 },
	{ "busy for 90 % each", HOSTLIMIT_CPU_FULL, 500000, 64000, 63000, 500000, 1.80, 0.01, 100, 0, 0 },
	{ "busy time unknown", 0, 500000, 64000, 63000, 500000, NAN, 0.01, 100, 0, 0 },
	/* Latency against the device's own */
	{ "10 % above the device's", 0, 50000, 640000, 581900, 50000, 0.4, 0.03, 5000, 0, 0 },
	{ "11 % above the device's", HOSTLIMIT_LATENCY, 50000, 640000, 576500, 50000, 0.4, 0.03, 5000, 0, 0 },
	{ "half of the gap explained", HOSTLIMIT_LATENCY, 50000, 640000, 320000, 50000, 0.42, 0.041, 5000, 0,
		0 },
	{ "less than half explained", 0, 50000, 640000, 320000, 50000, 0.42, 0.039, 5000, 0, 0 },
	{ "the device's mean unknown", 0, 50000, 640000, NAN, 50000, 0.4, 0.03, 5000, 0, 0 },
	{ "merged in the kernel", 0, 50000, 640000, 320000, 25000, 0.4, 0.03, 5000, 0, 0 },
	{ "others write as well", 0, 50000, 640000, 320000, 52501, 0.4, 0.03, 5000, 0, 0 },
	{ "hardly any others", HOSTLIMIT_LATENCY, 50000, 640000, 500000, 52500, 0.4, 0.03, 5000, 0, 0 },
	{ "the device's count unknown", 0, 50000, 640000, 320000, ABSENT, 0.4, 0.03, 5000, 0, 0 },
	/* A drive that stands still is the drive, whatever little the host took. */
	{ "nothing completed", 0, 0, NAN, NAN, 0, 0, 0.0, NAN, 0.1, 0 },
	{ "one in a second", 0, 1, 1008008889, NAN, 1, 0, 0.06, 400000000, 0.1, 20 * MS },
	{ "63 of depth 32", 0, 63, 500000000, NAN, 63, 0, 0.06, 30000000, 0.1, 20 * MS },
	{ "64 of depth 32", HOSTLIMIT_CPU_WAIT | HOSTLIMIT_STEAL, 64, 500000000, NAN, 64, 0, 0.06, 30000000,
		0.1, 0 },
	{ "kept from the CPU by a quota, nothing completed", HOSTLIMIT_CPU_WAIT | HOSTLIMIT_THROTTLED, 0, NAN,
		NAN, 0, 0, 0.97, 97000000, 0, 2 * S },
	{ "kept from the CPU by others, nothing completed", HOSTLIMIT_CPU_WAIT, 0, NAN, NAN, 0, 0, 0.97,
		97000000, 0, 0 },
	{ "for all of the time, in one wait", HOSTLIMIT_CPU_WAIT, 0, NAN, NAN, 0, 0, 1, NAN, 0, 0 },
	{ "for less than half of the time", 0, 0, NAN, NAN, 0, 0, 0.49, 97000000, 0, 0 },
	{ "that, and the hypervisor stopped us", HOSTLIMIT_STEAL, 0, NAN, NAN, 0, 0, 0.49, 97000000, 0.6, 0 },
	{ "the hypervisor stopped us", HOSTLIMIT_STEAL, 3, 4e8, NAN, 3, 0, 0.0, NAN, 0.6, 0 },
};

static struct hostlimit_input input_of(const struct row *row)
{
	struct hostlimit_input input = quiet();

	input.completions = row->completions;
	input.lat_mean_ns = row->lat_ns;
	input.device_lat_mean_ns = row->device_ns;
	input.device_ios = row->device_ios;
	input.cpu_share = row->cpu;
	input.run_delay_share = row->delay;
	input.wait_mean_ns = row->wait_ns;
	input.steal_share = row->steal;
	input.throttled_ns = row->throttled_ns;
	return input;
}

static void check(const char *name, const struct hostlimit_input *input, uint32_t measures)
{
	struct hostlimit_answer answer;

	memset(&answer, 0xa5, sizeof(answer));
	hostlimit_decide(input, &answer);
	if (answer.measures != measures || answer.is_limited != (measures != 0) ||
		(answer.text[0] != '\0') != answer.is_limited)
		fail_msg("%s: %#x (%s), not %#x", name, answer.measures, answer.text, measures);
}

static void test_each_measure_speaks_at_its_limit_and_not_before(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct hostlimit_input input = input_of(&rows[i]);

		check(rows[i].name, &input, rows[i].measures);
	}
}

static void test_the_depth_counts_where_the_queue_is_meant_to_be_full(void **state)
{
	struct hostlimit_input input = quiet();

	(void)state;
	input.inflight_mean = 30.4;
	check("95 % in flight", &input, 0);
	input.inflight_mean = 30.3;
	check("less", &input, HOSTLIMIT_IN_FLIGHT);
	input.is_full_meant = false;
	check("fsync or a rate", &input, 0);
	input.is_full_meant = true;
	input.inflight_mean = NAN;
	check("unknown", &input, 0);
}

static void test_beyond_the_devices_own_queue_requests_wait_in_the_kernel(void **state)
{
	struct hostlimit_input input = quiet();

	(void)state;
	input.device_lat_mean_ns = 3200000;
	input.cpu_share = 1.2;
	input.nr_requests = 32;
	check("just within", &input, HOSTLIMIT_LATENCY);
	input.nr_requests = 31;
	check("beyond", &input, 0);
	input.nr_requests = -1;
	check("unknown", &input, 0);
}

static void test_no_time_and_no_threads_decide_nothing(void **state)
{
	struct hostlimit_input input = quiet();

	(void)state;
	input.steal_share = 0.9;
	input.elapsed_ns = 0;
	check("no time", &input, 0);
	input = quiet();
	input.threads = 0;
	input.depth = 0;
	input.cpu_share = 0;
	check("no threads", &input, 0);
}

static void test_the_text_has_the_numbers(void **state)
{
	struct hostlimit_input input = quiet();
	struct hostlimit_answer answer;

	(void)state;
	hostlimit_decide(&input, &answer);
	assert_string_equal(answer.text, "");
	input.run_delay_share = 0.3125;
	input.wait_mean_ns = 447000;
	input.throttled_ns = 1231360497;
	hostlimit_decide(&input, &answer);
	assert_string_equal(answer.text,
		"threads waited 31.2 % of the time for a CPU, 447 \xc2\xb5s at a time; "
		"a CPU quota held the service back for 1.23 s in 1 s");
	input = quiet();
	input.steal_share = 0.031;
	input.cpu_share = 1.9;
	input.lat_mean_ns = 1300000;
	input.device_lat_mean_ns = 900000;
	input.wait_mean_ns = 1000;
	input.inflight_mean = 24.1;
	hostlimit_decide(&input, &answer);
	assert_string_equal(answer.text,
		"the hypervisor took 3.1 % of the CPU time; threads were busy 95 % of the time; "
		"mean latency 1.3 ms, of which 900 \xc2\xb5s in the device; "
		"24.1 of 32 requests in flight");
}

static void test_all_measures_fit_into_the_text(void **state)
{
	struct hostlimit_input input = quiet();
	struct hostlimit_answer answer;

	(void)state;
	input.elapsed_ns = 300 * S;
	input.completions = input.device_ios = 18446744073709551ULL;
	input.depth = input.threads = 256;
	input.nr_requests = 1024;
	input.inflight_mean = 123.4;
	input.lat_mean_ns = 123456789;
	input.device_lat_mean_ns = 12345678;
	input.cpu_share = 255.9;
	input.run_delay_share = 0.9999;
	input.wait_mean_ns = 12345678;
	input.steal_share = 0.9999;
	input.throttled_ns = 25600 * S;
	hostlimit_decide(&input, &answer);
	assert_int_equal(answer.measures, 0x3f);
	assert_true(strlen(answer.text) < sizeof(answer.text) - 1);
	assert_non_null(strstr(answer.text, "123.4 of 256 requests in flight"));
}

static void test_a_run_is_limited_from_three_of_six_until_none_of_six(void **state)
{
	/* f: flagged, .: not; B and E: where it begins and ends, else -. */
	static const struct {
		const char *samples, *turns;
	} course[] = {
		{ "......", "------" },
		{ "f.f...f.f...", "------------" }, /* 2 of any 6 */
		{ "f..f.f", "-----B" },
		{ "fff......", "--B-----E" },
		{ "fff.....f......fff", "--B-----------E--B" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(course); i++) {
		struct hostlimit_watch watch = { 0 };

		for (size_t k = 0; course[i].samples[k]; k++) {
			enum hostlimit_turn turn = hostlimit_watch_add(&watch, course[i].samples[k] == 'f');

			if ("-BE"[turn] != course[i].turns[k])
				fail_msg("%s: %c at %zu", course[i].samples, "-BE"[turn], k);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_measure_speaks_at_its_limit_and_not_before),
		cmocka_unit_test(test_the_depth_counts_where_the_queue_is_meant_to_be_full),
		cmocka_unit_test(test_beyond_the_devices_own_queue_requests_wait_in_the_kernel),
		cmocka_unit_test(test_no_time_and_no_threads_decide_nothing),
		cmocka_unit_test(test_the_text_has_the_numbers),
		cmocka_unit_test(test_all_measures_fit_into_the_text),
		cmocka_unit_test(test_a_run_is_limited_from_three_of_six_until_none_of_six),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
