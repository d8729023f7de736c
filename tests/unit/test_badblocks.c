/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the command says of a sweep: in the order of the target, whatever ended it, and how much is left out. */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "drivesoak_badblocks.h"

static struct badblocks bad;
static struct badblocks_sweep sweep;

static int sweep_make(void **state)
{
	(void)state;
	memset(&bad, 0, sizeof(bad));
	sweep = (struct badblocks_sweep){
		.progress = { .done_bytes = 1 << 20, .blocks = 64 },
		.coverage = 0.5,
	};
	return 0;
}

static void keep(uint64_t offset, enum verify_verdict verdict, int error)
{
	const struct verify_finding finding = { .offset_bytes = offset,
		.verdict = verdict,
		.expected_sequence = 7,
		.found_sequence = verdict == VERIFY_UNREADABLE ? 0 : 5,
		.error = error };

	badblocks_keep(&bad, &finding);
	sweep.progress.counts[verdict]++;
}

static void json_check(const char *wanted)
{
	struct text text = TEXT_INIT;

	badblocks_print_json(&bad, &sweep, &text);
	assert_string_equal(text_string(&text), wanted);
	text_fini(&text);
}

static void text_check(const char *wanted)
{
	struct text text = TEXT_INIT;

	badblocks_print_text(&bad, &sweep, &text);
	assert_string_equal(text_string(&text), wanted);
	text_fini(&text);
}

static void test_a_clean_sweep(void **state)
{
	(void)state;
	json_check(
		"{\"read_bytes\":1048576,\"blocks\":64,\"ledger_coverage_pct\":50,\"corrupt\":0,\"torn\":0,"
		"\"misdirected\":0,\"stale\":0,\"unreadable\":0,\"ahead\":0,\"error\":null,\"bad_blocks\":[],"
		"\"bad_blocks_omitted\":0}");
}

static void test_what_was_found_is_told_in_order_though_the_sweep_failed(void **state)
{
	(void)state;
	keep(65536, VERIFY_UNREADABLE, EIO);
	keep(16384, VERIFY_STALE, 0);
	keep(32768, VERIFY_UNREADABLE, ENODATA);
	sweep.error = "No such device";
	json_check(
		"{\"read_bytes\":1048576,\"blocks\":64,\"ledger_coverage_pct\":50,\"corrupt\":0,\"torn\":0,"
		"\"misdirected\":0,\"stale\":1,\"unreadable\":2,\"ahead\":0,\"error\":\"No such device\","
		"\"bad_blocks\":[{\"kind\":\"stale\",\"offset_bytes\":16384,\"expected_sequence\":7,"
		"\"found_sequence\":5,\"error\":null},"
		"{\"kind\":\"unreadable\",\"offset_bytes\":32768,\"expected_sequence\":7,"
		"\"found_sequence\":0,\"error\":\"the drive reports a media error (ENODATA)\"},"
		"{\"kind\":\"unreadable\",\"offset_bytes\":65536,\"expected_sequence\":7,"
		"\"found_sequence\":0,\"error\":\"Input/output error\"}],\"bad_blocks_omitted\":0}");
	text_check(
		"stale: block at byte 16384 of the target\n"
		"unreadable: block at byte 32768 of the target: the drive reports a media error (ENODATA)\n"
		"unreadable: block at byte 65536 of the target: Input/output error\n"
		"the read-back ended after 1 MiB: No such device\n"
		"read back 1 MiB, 64 blocks; the ledger knows 50.0 % of them\n"
		"  corrupt      0\n"
		"  torn         0\n"
		"  misdirected  0\n"
		"  stale        1\n"
		"  unreadable   2\n");
}

static void test_more_than_are_listed_are_counted(void **state)
{
	struct text json = TEXT_INIT, words = TEXT_INIT;
	unsigned lines = 0;

	(void)state;
	for (uint64_t i = 0; i < BADBLOCKS_LISTED_MAX + 234; i++)
		keep(i * 16384, VERIFY_CORRUPT, 0);
	badblocks_print_json(&bad, &sweep, &json);
	assert_non_null(strstr(text_string(&json), "\"bad_blocks_omitted\":234}"));
	badblocks_print_text(&bad, &sweep, &words);
	assert_non_null(strstr(text_string(&words), "\n234 more bad blocks are counted only\n"));
	for (const char *at = text_string(&words); (at = strstr(at, "corrupt: block")); at++)
		lines++;
	assert_int_equal(lines, BADBLOCKS_LISTED_MAX);
	text_fini(&json);
	text_fini(&words);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_a_clean_sweep, sweep_make),
		cmocka_unit_test_setup(
			test_what_was_found_is_told_in_order_though_the_sweep_failed, sweep_make),
		cmocka_unit_test_setup(test_more_than_are_listed_are_counted, sweep_make),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
