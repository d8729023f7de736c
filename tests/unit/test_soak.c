/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include <signal.h>
#include <sysexits.h>

#include "base/clock.h"
#include "soak.h"

/* A service without a tick would look alive and soak nothing. */
static void test_a_journal_that_cannot_be_read_ends_the_service(void **state)
{
	static char here[] = ".";
	struct config config = {
		.sample_interval_ns = NS_PER_S, .runtime_directory = here, .state_directory = here
	};
	const struct soak_options options = { .config = &config, .journal_path = "nowhere/journal.db" };
	struct soak *soak = NULL;
	char why[256];
	sigset_t set;

	(void)state;
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	assert_int_equal(soak_new(&options, &soak, why), 0);
	assert_int_equal(soak_run(soak), EX_IOERR);
	assert_true(soak_free(soak));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_journal_that_cannot_be_read_ends_the_service),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
