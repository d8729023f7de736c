/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every reason of the verdict at its limit and just within it, and the order of the classes. */
#include "unit.h"

#include <math.h>
#include <string.h>

#include "measure/verdict.h"

#define MIB (1024.0 * 1024)

/* A drive without a blemish: one hour more than it takes. */
static struct verdict_input spotless(void)
{
	struct verdict_input in;

	verdict_input_init(&in);
	in.is_settled = in.is_direct_proven = in.is_pre_state_known = true;
	in.window_s = 7 * 3600;
	in.median = 300 * MIB;
	in.p1 = 250 * MIB;
	in.min = 200 * MIB;
	in.cv = 0.05;
	in.half_median_share = 1;
	in.first_quarter = in.last_quarter = 300 * MIB;
	in.lat_p99_ns = 5000000;
	in.longest_stall_s = 0.4;
	in.stalled_s = 0;
	in.host_limited_pct = in.gap_pct = 0;
	in.verify.was_done = true;
	in.verify.coverage_pct = 100;
	in.slo.min_rate = 100 * MIB;
	in.slo.p1_rate = 200 * MIB;
	in.slo.p99_latency_ns = 10000000;
	return in;
}

/* What is done to the spotless drive, and the one reason that follows; NULL: none. */
/* clang-format off */
#define ROWS \
	ROW(in->verify.corrupt = 1, VERDICT_FAIL, "1 block read back corrupt") \
	ROW(in->verify.corrupt = 12, VERDICT_FAIL, "12 blocks read back corrupt") \
	ROW(in->verify.misdirected = 2, VERDICT_FAIL, "2 blocks hold what belongs to others") \
	ROW(in->verify.stale = 1, VERDICT_FAIL, "1 block is stale: a write was lost") \
	ROW(in->verify.unreadable = 2, VERDICT_FAIL, "2 blocks could not be read back") \
	ROW((in->verify.corrupt = in->verify.unreadable = VERDICT_UNKNOWN), VERDICT_PASS, NULL) \
	ROW(in->is_host_limited = true, VERDICT_NONE, "the host was the limit in every sample of the soak: none tells about the drive alone") \
	ROW(in->verify.torn = 3, VERDICT_REMARKS, "3 blocks are torn: part old, part new") \
	ROW((in->troubles.io_errors = 5, in->troubles.io_errors_traced = 4), VERDICT_FAIL, "1 I/O error not traced to the host or the link") \
	ROW((in->troubles.io_errors = 5, in->troubles.io_errors_traced = 5), VERDICT_PASS, NULL) \
	ROW(in->troubles.resets = 2, VERDICT_FAIL, "2 resets not traced to the host or the link") \
	ROW(in->troubles.losses = 1, VERDICT_FAIL, "1 loss of the drive not traced to the host or the link") \
	ROW(in->longest_stall_s = 30, VERDICT_FAIL, "a stall of 30 s, 30 s or more") \
	ROW(in->longest_stall_s = 29.9, VERDICT_REMARKS, "a stall of 29.9 s, 2 s or more") \
	ROW(in->longest_stall_s = 2, VERDICT_REMARKS, "a stall of 2 s, 2 s or more") \
	ROW(in->longest_stall_s = 1.9, VERDICT_PASS, NULL) \
	ROW(in->stalled_s = 25.3, VERDICT_FAIL, "stalled for 25.3 s of 7 h, 0.10 %, over 0.1 %") \
	ROW(in->stalled_s = 25.2, VERDICT_PASS, NULL) \
	ROW((in->p1 = 29 * MIB, in->slo.p1_rate = 0), VERDICT_FAIL, "p1 of 29 MiB/s is 9.7 % of the median of 300 MiB/s, under 10 %") \
	ROW((in->p1 = 30 * MIB, in->slo.p1_rate = 0), VERDICT_REMARKS, "p1 of 30 MiB/s is 10.0 % of the median of 300 MiB/s, under half") \
	ROW((in->p1 = 149 * MIB, in->slo.p1_rate = 0), VERDICT_REMARKS, "p1 of 149 MiB/s is 49.7 % of the median of 300 MiB/s, under half") \
	ROW((in->p1 = 150 * MIB, in->slo.p1_rate = 0), VERDICT_PASS, NULL) \
	ROW(in->half_median_share = 0.949, VERDICT_FAIL, "94.9 % of the samples reach half the median, under 95 %") \
	ROW(in->half_median_share = 0.95, VERDICT_PASS, NULL) \
	ROW(in->last_quarter = 209 * MIB, VERDICT_FAIL, "the last quarter of the window ran at 209 MiB/s, 69.7 % of the first one's 300 MiB/s, under 70 %") \
	ROW(in->last_quarter = 211 * MIB, VERDICT_PASS, NULL) \
	ROW(in->min = 99 * MIB, VERDICT_FAIL, "slo min-rate is broken: lowest sample of 99 MiB/s, asked for 100 MiB/s (99.0 % of it)") \
	ROW(in->min = 100 * MIB, VERDICT_PASS, NULL) \
	ROW(in->p1 = 199 * MIB, VERDICT_FAIL, "slo p1-rate is broken: p1 of 199 MiB/s, asked for 200 MiB/s (99.5 % of it)") \
	ROW(in->lat_p99_ns = 12000000, VERDICT_FAIL, "slo p99-latency is broken: p99 of 12 ms, asked for 10 ms") \
	ROW(in->lat_p99_ns = 10000000, VERDICT_PASS, NULL) \
	ROW(in->lat_p99_ns = VERDICT_UNKNOWN, VERDICT_PASS, NULL) \
	ROW(in->is_settled = false, VERDICT_NONE, "not settled") \
	ROW((in->is_settled = false, in->why_not_settled = "0.40 of 2 extents written"), VERDICT_NONE, "not settled: 0.40 of 2 extents written") \
	ROW(in->window_s = 6 * 3600 - 60, VERDICT_NONE, "the settled window is 5 h 59 min, under 6 h") \
	ROW(in->window_s = 6 * 3600, VERDICT_PASS, NULL) \
	ROW(in->host_limited_pct = 2.1, VERDICT_NONE, "the host was the limit in 2.1 % of the soak, over 2 %") \
	ROW(in->host_limited_pct = 2, VERDICT_PASS, NULL) \
	ROW(in->gap_pct = 1.1, VERDICT_NONE, "1.1 % of the soak is missing, over 1 %") \
	ROW(in->gap_pct = 1, VERDICT_PASS, NULL) \
	ROW(in->is_direct_proven = false, VERDICT_NONE, "direct I/O is not proven: a cache of the host may have answered") \
	ROW(in->cv = 0.201, VERDICT_REMARKS, "coefficient of variation 20.1 %, over 20 %") \
	ROW(in->cv = 0.2, VERDICT_PASS, NULL) \
	ROW(in->collapses = 1, VERDICT_REMARKS, "1 collapse of throughput") \
	ROW(in->collapses = 4, VERDICT_REMARKS, "4 collapses of throughput") \
	ROW(in->aer_errors_grown = 1, VERDICT_REMARKS, "1 PCIe error (AER)") \
	ROW(in->link_events = 2, VERDICT_REMARKS, "2 events of the link") \
	ROW(in->is_pre_state_known = false, VERDICT_REMARKS, "the state of the drive before the run is not known: neither purged nor trimmed") \
	ROW((in->verify.is_impossible = true, in->verify.was_done = false), VERDICT_REMARKS, "nothing can be verified: the data is zeros, a lost write or a damaged block is not seen") \
	ROW(in->verify.coverage_pct = 99.99, VERDICT_REMARKS, "the ledger covers 99.9 % of the extent: a lost write outside is not seen") \
	ROW((in->verify.coverage_pct = 50, in->verify.was_done = false), VERDICT_PASS, NULL) \
/* clang-format on */

struct row {
	enum verdict verdict;
	const char *text, *spoiling;
};

#define ROW(spoiling, verdict, text) { verdict, text, #spoiling },
static const struct row rows[] = { ROWS };
#undef ROW

/* The same lines as statements: the counter says which. */
static void spoil(struct verdict_input *in, size_t wanted)
{
	size_t row = 0;

#define ROW(spoiling, verdict, text)                                                                         \
	if (row++ == wanted)                                                                                 \
		(void)(spoiling);
	ROWS
#undef ROW
}

static void test_each_reason_at_its_limit(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct verdict_input in = spotless();
		struct verdict_answer answer;
		const char *first;

		spoil(&in, i);
		verdict_decide(&in, &answer);
		first = answer.count ? answer.reasons[0].text : "nothing";
		if (answer.verdict != rows[i].verdict || answer.count != (rows[i].text != NULL) ||
			strcmp(first, rows[i].text ? rows[i].text : "nothing") != 0)
			fail_msg("%s: %s with %u reasons: %s", rows[i].spoiling, verdict_name(answer.verdict),
				answer.count, first);
	}
}

static void test_the_worst_class_decides_and_the_others_are_told_after_it(void **state)
{
	struct verdict_input in = spotless();
	struct verdict_answer answer;

	(void)state;
	verdict_decide(&in, &answer);
	assert_int_equal(answer.verdict, VERDICT_PASS);
	assert_int_equal(answer.count, 0);
	in.collapses = 1;
	verdict_decide(&in, &answer);
	assert_int_equal(answer.verdict, VERDICT_REMARKS);
	in.gap_pct = 5;
	verdict_decide(&in, &answer);
	assert_int_equal(answer.verdict, VERDICT_NONE);
	in.verify.stale = 1;
	verdict_decide(&in, &answer);
	assert_int_equal(answer.verdict, VERDICT_FAIL);
	assert_int_equal(answer.count, 3);
	assert_int_equal(answer.reasons[0].class, VERDICT_FAIL);
	assert_int_equal(answer.reasons[1].class, VERDICT_NONE);
	assert_int_equal(answer.reasons[2].class, VERDICT_REMARKS);
}

static void test_what_changed_in_health_counts_by_its_weight(void **state)
{
	static const struct verdict_health health = { 3,
		{ { VERDICT_HEALTH_MEDIA_ERRORS, VERDICT_HEALTH_FAIL, "7 media errors during the run" },
			{ VERDICT_HEALTH_CRC, VERDICT_HEALTH_REMARK, "2 CRC errors during the run" },
			{ VERDICT_HEALTH_REALLOCATED, VERDICT_HEALTH_INFORMATION, "3 before it" } } };
	struct verdict_input in = spotless();
	struct verdict_answer answer;

	(void)state;
	in.health = &health;
	verdict_decide(&in, &answer);
	assert_int_equal(answer.verdict, VERDICT_FAIL);
	assert_int_equal(answer.count, 2);
	assert_string_equal(answer.reasons[0].text, "7 media errors during the run");
	assert_string_equal(answer.reasons[1].text, "2 CRC errors during the run");
	assert_int_equal(answer.reasons[1].class, VERDICT_REMARKS);
}

static void test_nothing_known_is_no_verdict_and_never_a_number(void **state)
{
	struct verdict_input in;
	struct verdict_answer answer;

	(void)state;
	verdict_input_init(&in);
	verdict_decide(&in, &answer);
	assert_int_equal(answer.verdict, VERDICT_NONE);
	assert_int_equal(answer.count, 3);
	assert_string_equal(answer.reasons[0].text, "not settled");
	for (unsigned i = 0; i < answer.count; i++)
		assert_null(strstr(answer.reasons[i].text, "nan"));
	in.is_settled = true;
	verdict_decide(&in, &answer);
	assert_null(strstr(answer.reasons[0].text, "nan"));
}

/* Everything at once: all of it fits. */
static void test_all_reasons_fit(void **state)
{
	struct verdict_health health = { .count = VERDICT_HEALTH_FINDINGS_MAX };
	struct verdict_input in = spotless();
	struct verdict_answer answer;

	(void)state;
	for (unsigned i = 0; i < health.count; i++)
		health.findings[i].weight = i % 2 ? VERDICT_HEALTH_FAIL : VERDICT_HEALTH_REMARK;
	in.verify = (struct verdict_verify){ true, false, 1, 1, 1, 1, 1, 50 };
	in.health = &health;
	in.aer_errors_grown = in.link_events = 1;
	in.troubles = (struct verdict_troubles){ 1, 1, 1, 0, 0, 0 };
	in.longest_stall_s = 60;
	in.stalled_s = 600;
	in.p1 = in.min = in.last_quarter = 1;
	in.half_median_share = 0.5;
	in.cv = 3;
	in.lat_p99_ns = 1000000000;
	in.is_settled = in.is_direct_proven = in.is_pre_state_known = false;
	in.host_limited_pct = in.gap_pct = 50;
	in.collapses = 3;
	verdict_decide(&in, &answer);
	assert_int_equal(answer.verdict, VERDICT_FAIL);
	assert_int_equal(answer.count, 58);
	for (unsigned i = 1; i < answer.count; i++)
		assert_true(answer.reasons[i].class >= answer.reasons[i - 1].class);
}

static void test_the_names_are_those_of_the_api(void **state)
{
	(void)state;
	assert_string_equal(verdict_name(VERDICT_FAIL), "FAIL");
	assert_string_equal(verdict_name(VERDICT_NONE), "NO VERDICT");
	assert_string_equal(verdict_name(VERDICT_REMARKS), "REMARKS");
	assert_string_equal(verdict_name(VERDICT_PASS), "PASS");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_reason_at_its_limit),
		cmocka_unit_test(test_the_worst_class_decides_and_the_others_are_told_after_it),
		cmocka_unit_test(test_what_changed_in_health_counts_by_its_weight),
		cmocka_unit_test(test_nothing_known_is_no_verdict_and_never_a_number),
		cmocka_unit_test(test_all_reasons_fit),
		cmocka_unit_test(test_the_names_are_those_of_the_api),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
