/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Damaged files: none may crash, leak, be taken for another or get past the scan into libconfuse unsound. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "config_fixture.h"

/* No brace stands in a text or comment, so that the depth of a prefix is a matter of counting. */
static const char valid[] =
	"# comment\n"
	"sample-interval = \"5s\" // x\n"
	"drive \"a\" { directory = '/srv/a b' size = 1GiB queue-depth = \"auto\" }\n"
	"web { listen = { \"127.0.0.1:1\", \"[::1]:2\" } allowed-hosts = { } }\n"
	"drive b { directory = /b /* two\n lines */ label = \"q \\\" \\\\ \\$\" slo { min-rate = \"\" }\n"
	"price = \"450 USD\" discard = no }\n"
	"alerts { repeat = once }\n";

static int depth_of(const char *bytes, size_t length)
{
	int depth = 0;

	for (size_t i = 0; i < length; i++)
		depth += (bytes[i] == '{') - (bytes[i] == '}');
	return depth;
}

/* What holds for any bytes: refused with lines, or a config that reads back to itself. */
static int check_any(const char *bytes, size_t length)
{
	struct text mistakes = TEXT_INIT;
	struct config *config = NULL;
	int rc = fixture_load_bytes(bytes, length, true, &config, &mistakes);

	if (rc == 0) {
		char *once = fixture_print(config), *twice;
		struct config *again = fixture_load(once, true);

		twice = fixture_print(again);
		assert_string_equal(twice, once);
		free(once);
		free(twice);
		config_free(again);
		config_free(config);
	} else {
		const char *path = fixture_path("t.conf");

		assert_int_equal(rc, -EINVAL);
		assert_null(config);
		assert_memory_equal(text_string(&mistakes), path, strlen(path));
		if (strstr(text_string(&mistakes), "libconfuse"))
			fail_msg("not seen by the scan:\n%.*s", (int)length, bytes);
	}
	text_fini(&mistakes);
	return rc;
}

static void test_truncated_anywhere(void **state)
{
	(void)state;
	assert_int_equal(check_any(valid, strlen(valid)), 0);
	for (size_t length = 0; length < strlen(valid); length++) {
		int rc = check_any(valid, length), depth = depth_of(valid, length);

		if (depth && rc == 0)
			fail_msg("accepted, %d sections open:\n%.*s", depth, (int)length, valid);
	}
}

static void test_one_bit_flipped_anywhere(void **state)
{
	char bytes[sizeof(valid)];

	(void)state;
	for (size_t i = 0; i < strlen(valid); i++) {
		for (unsigned bit = 0; bit < 8; bit++) {
			memcpy(bytes, valid, sizeof(valid));
			bytes[i] = (char)(bytes[i] ^ (1 << bit));
			(void)check_any(bytes, strlen(valid));
		}
	}
}

static void test_one_byte_left_out_or_doubled(void **state)
{
	char bytes[sizeof(valid) + 1];
	size_t length = strlen(valid);

	(void)state;
	for (size_t i = 0; i < length; i++) {
		memcpy(bytes, valid, i);
		memcpy(bytes + i, valid + i + 1, length - i - 1);
		(void)check_any(bytes, length - 1);
		memcpy(bytes, valid, i + 1);
		memcpy(bytes + i + 1, valid + i, length - i);
		(void)check_any(bytes, length + 1);
	}
}

/* Sequences of what files are made of; the generator is the same in every run. */
static void test_any_sequence_of_tokens(void **state)
{
	static const char *const tokens[] = { "drive", "web", "slo", "notify", "files", "listen", "include",
		"{", "}", "{", "}", "=", "=", "+=", ",", "(", "\"x\"", "'y'", "\"a\\\"b\"", "\"${HOME}\"",
		"'\\'", "\"\\\\\"", "/d", "1", "1GiB", "\n", "\n", "# c\n", "// c\n", "/* c */", "/*", "\"",
		"'", "$", "\\", "*", "a*b", "a/", "a//b", "directory = /d", "directory = '\\\\'", "\xff",
		"\t", "\r" };
	uint64_t random = 88172645463325252u;

	(void)state;
	for (unsigned i = 0; i < 6000; i++) {
		struct text text = TEXT_INIT;

		for (unsigned j = 0; j < 1 + i % 24; j++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			text_add(&text, tokens[random % ARRAY_LEN(tokens)]);
			text_add(&text, random >> 40 & 3 ? " " : "");
		}
		(void)check_any(text_string(&text), text.length);
		text_fini(&text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_truncated_anywhere),
		cmocka_unit_test(test_one_bit_flipped_anywhere),
		cmocka_unit_test(test_one_byte_left_out_or_doubled),
		cmocka_unit_test(test_any_sequence_of_tokens),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
