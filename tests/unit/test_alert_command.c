/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs that do not even end when they are killed, as those do that hang in a disk. */
#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "alert/command.h"
#include "alert_fixture.h"
#include "base/clock.h"
#include "delivery_fixture.h"

/* Only its tracer sees the end of a process that is traced, and this one does not look: until it is let go it was killed
 * and can't be waited for. The fate of the tracer is in @tracer; 0: nobody may trace here. */
static void hold(pid_t pid, pid_t *tracer)
{
	int fds[2];
	char answer = 0;

	assert_int_equal(pipe(fds), 0);
	*tracer = fork();
	if (*tracer == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		answer = ptrace(PTRACE_SEIZE, pid, NULL, NULL) == 0;
		(void)!write(fds[1], &answer, 1);
		for (;;)
			(void)pause();
	}
	assert_int_equal(read(fds[0], &answer, 1), 1);
	(void)close(fds[0]);
	(void)close(fds[1]);
	if (answer)
		return;
	(void)kill(*tracer, SIGKILL);
	(void)waitpid(*tracer, NULL, 0);
	*tracer = 0;
}

static void let_go(pid_t tracer)
{
	assert_int_equal(kill(tracer, SIGKILL), 0);
	assert_int_equal(waitpid(tracer, NULL, 0), tracer);
}

static void test_a_program_that_hangs_is_waited_for_once_it_ends(void **state)
{
	char path[64];
	pid_t pid, tracer;

	(void)state;
	delivery_fixture_program("test -e \"$log\" && exit 0; echo $$ >\"$log\"; exec sleep 600");
	delivery_rig.config.notify_count = 1;
	delivery_fixture_begin();
	delivery_fixture_put("evo");
	WAIT_FOR(delivery_fixture_lines() == 1);
	pid = atoi(delivery_fixture_log());
	hold(pid, &tracer);
	if (!tracer)
		skip();
	WAIT_FOR(delivery_fixture_status(0).last_ms != INT64_MIN);
	(void)snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	assert_int_equal(access(path, F_OK), 0);
	let_go(tracer);
	WAIT_FOR(delivery_fixture_status(0).queued == 0);
	delivery_fixture_put("pro"); /* a look */
	WAIT_FOR(access(path, F_OK) < 0);
}

static int begin(struct command_left *left, struct command **out)
{
	static const char *const argv[] = { "/bin/sleep", "600", NULL };
	struct text none = TEXT_INIT;

	return command_begin(argv, &none, &none, NS_PER_S, left, out);
}

static pid_t child_find(const struct command *command)
{
	struct curl_waitfd fds[COMMAND_FDS];
	char path[64], line[128];
	int pid = 0;
	FILE *file;

	(void)command_wait_fds(command, fds);
	(void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fds[0].fd);
	file = fopen(path, "r");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file) && sscanf(line, "Pid: %d", &pid) != 1)
		;
	(void)fclose(file);
	return pid;
}

static void test_only_a_few_that_hang_are_left_behind(void **state)
{
	struct command_left left = { 0 };
	pid_t tracers[COMMAND_LEFT_MAX];
	struct command *command;

	(void)state;
	for (size_t i = 0; i < COMMAND_LEFT_MAX; i++) {
		assert_int_equal(begin(&left, &command), 0);
		hold(child_find(command), &tracers[i]);
		command_free(command);
		if (!tracers[i])
			skip();
		assert_int_equal(left.count, i + 1);
	}
	assert_int_equal(begin(&left, &command), -EBUSY);
	/* One that ended makes room for another. */
	let_go(tracers[1]);
	WAIT_FOR(begin(&left, &command) == 0);
	assert_int_equal(left.count, COMMAND_LEFT_MAX - 1);
	command_free(command);
	for (size_t i = 0; i < COMMAND_LEFT_MAX; i++)
		if (i != 1)
			let_go(tracers[i]);
	WAIT_FOR((command_reap_left(&left), left.count == 0));
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

int main(void)
{
#define CASE(function)                                                                                       \
	cmocka_unit_test_setup_teardown(function, delivery_fixture_set_up, delivery_fixture_tear_down)
	static const struct CMUnitTest tests[] = {
		CASE(test_a_program_that_hangs_is_waited_for_once_it_ends),
		CASE(test_only_a_few_that_hang_are_left_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
