/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loading while the n-th allocation of our own code fails, for every n: always -ENOMEM with a line, never a
 * leak, a crash or half a config. The linker puts the functions here before those of libc (not inside
 * libconfuse). */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "config_fixture.h"

static long allocations_left = -1; /* -1: all succeed */

static bool is_due(void)
{
	return allocations_left >= 0 && allocations_left-- == 0;
}

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__real_reallocarray(void *old, size_t count, size_t size);
void *__wrap_reallocarray(void *old, size_t count, size_t size);
char *__real_strdup(const char *string);
char *__wrap_strdup(const char *string);
int __real_vasprintf(char **out, const char *format, va_list args) __attribute__((format(printf, 2, 0)));
int __wrap_vasprintf(char **out, const char *format, va_list args) __attribute__((format(printf, 2, 0)));
int __wrap_asprintf(char **out, const char *format, ...) __attribute__((format(printf, 2, 3)));

void *__wrap_malloc(size_t size)
{
	return is_due() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return is_due() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
	return is_due() ? NULL : __real_realloc(old, size);
}

void *__wrap_reallocarray(void *old, size_t count, size_t size)
{
	return is_due() ? NULL : __real_reallocarray(old, count, size);
}

char *__wrap_strdup(const char *string)
{
	return is_due() ? NULL : __real_strdup(string);
}

int __wrap_vasprintf(char **out, const char *format, va_list args)
{
	return is_due() ? -1 : __real_vasprintf(out, format, args);
}

int __wrap_asprintf(char **out, const char *format, ...)
{
	va_list args;
	int rc;

	if (is_due())
		return -1;
	va_start(args, format);
	rc = __real_vasprintf(out, format, args);
	va_end(args);
	return rc;
}

/* Number of allocations until it came through; @rc_expected then. */
static long check_every_failure(int rc_expected)
{
	for (long n = 0;; n++) {
		struct config *config = NULL;
		struct text mistakes = TEXT_INIT;
		bool was_due;
		int rc;

		allocations_left = n;
		rc = config_load(fixture_path("t.conf"), &config, &mistakes);
		was_due = allocations_left < 0;
		allocations_left = -1;
		assert_int_equal(rc, was_due ? -ENOMEM : rc_expected);
		assert_int_equal(rc == 0, config != NULL);
		/* A line, unless memory was short for just that. */
		if (rc < 0 && text_error(&mistakes) == 0)
			assert_non_null(strstr(
				text_string(&mistakes), was_due ? "Cannot allocate memory" : "t.conf:"));
		text_fini(&mistakes);
		config_free(config);
		if (!was_due)
			return n;
	}
}

static void test_every_allocation_may_fail(void **state)
{
	static const char good[] =
		"include = c.d\nweb { listen = { \"127.0.0.1:1\", \"127.0.0.1:2\" } }\n" DRIVE;
	static const char bad[] =
		"include = nope\nx = { 1, 2 }\ndrive d { directory = x y z { } slo { p1-rate = 1 }\n";
	static const char one[] = "drive e { directory = /e label = x }\n";

	(void)state;
	assert_int_equal(mkdir(fixture_path("c.d"), 0700), 0);
	fixture_write("c.d/a.conf", one, strlen(one));
	fixture_write("t.conf", good, strlen(good));
	assert_true(check_every_failure(0) > 50);
	fixture_write("t.conf", bad, strlen(bad));
	assert_true(check_every_failure(-EINVAL) > 50);
	fixture_remove("c.d/a.conf");
	assert_int_equal(rmdir(fixture_path("c.d")), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
