/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The keeper's replies come in the order in which a conductor can understand them, and what a sweep found is its own. */
#include "unit.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "keeper.h"
#include "soak_private.h"

#define MIB    (1ULL << 20)
#define ROUNDS 300

static char base[PATH_MAX];

static int folder_setup(void **state)
{
	char name[64];

	(void)state;
	(void)snprintf(name, sizeof(name), "keeper-test-%d", (int)getpid());
	return mkdir(name, 0755) || !realpath(name, base);
}

static int folder_teardown(void **state)
{
	char command[PATH_MAX + 16];

	(void)state;
	(void)snprintf(command, sizeof(command), "rm -rf %s", base);
	return system(command);
}

/* On one processor the threads take turns in every order. */
static void processor_pin(void)
{
	cpu_set_t all, first;

	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	CPU_ZERO(&first);
	for (size_t i = 0; i < CPU_SETSIZE && CPU_COUNT(&first) == 0; i++)
		if (CPU_ISSET(i, &all))
			CPU_SET(i, &first);
	assert_int_equal(sched_setaffinity(0, sizeof(first), &first), 0);
}

static void wake(void *arg)
{
	const uint64_t one = 1;

	(void)!write(*(int *)arg, &one, sizeof(one));
}

static struct keeper_reply next_reply(struct keeper *keeper, int wake_fd)
{
	struct keeper_reply reply;
	uint64_t count;

	while (!keeper_next_reply(keeper, &reply))
		assert_int_equal(read(wake_fd, &count, sizeof(count)), sizeof(count));
	return reply;
}

static void send_verb(struct keeper *keeper, enum keeper_verb verb)
{
	const struct keeper_command command = { .verb = verb };

	assert_true(keeper_send(keeper, &command));
}

/* A drive below @folder that is written to by one worker, a request at a time. */
static struct config_drive drive_in(char *folder, enum config_engine engine, enum config_payload payload)
{
	static char name[] = "cand", none[] = "";

	return (struct config_drive){
		.name = name,
		.directory = folder,
		.device = none,
		.size_bytes = MIB,
		.files = 2,
		.block_bytes = 16384,
		.threads = 1,
		.queue_depth = 1,
		.engine = engine,
		.payload = payload,
	};
}

/* A fill whose last byte was recorded just before the service ended has nothing left to do. */
static void test_a_job_without_work_is_started_before_it_ends(void **state)
{
	const struct config_drive drive = drive_in(base, ENGINE_NULL, PAYLOAD_ZEROS);
	const struct keeper_command open = { .verb = KEEPER_OPEN, .run_id = "cand-20261130T222200Z" };
	const struct keeper_command fill = { .verb = KEEPER_FILL, .from_bytes = MIB, .to_bytes = MIB };
	int wake_fd = eventfd(0, EFD_CLOEXEC);
	const struct keeper_setup setup = {
		.drive = &drive, .state_directory = base, .wake = wake, .wake_arg = &wake_fd
	};
	struct keeper *keeper;
	struct keeper_reply reply;

	(void)state;
	processor_pin();
	assert_int_equal(keeper_new(&setup, &keeper), 0);
	assert_true(keeper_send(keeper, &open));
	reply = next_reply(keeper, wake_fd);
	assert_string_equal(reply.why, "");
	assert_int_equal(reply.answer, KEEPER_OPENED);
	for (unsigned i = 0; i < ROUNDS; i++) {
		assert_true(keeper_send(keeper, &fill));
		reply = next_reply(keeper, wake_fd);
		assert_int_equal(reply.answer, KEEPER_STARTED);
		reply = next_reply(keeper, wake_fd);
		assert_int_equal(reply.answer, KEEPER_ENDED);
		assert_int_equal(reply.verb, KEEPER_FILL);
		send_verb(keeper, KEEPER_STOP);
		assert_int_equal(next_reply(keeper, wake_fd).answer, KEEPER_STOPPED);
		send_verb(keeper, KEEPER_FREE);
		assert_int_equal(next_reply(keeper, wake_fd).answer, KEEPER_DONE);
	}
	assert_true(keeper_free(keeper, 10 * NS_PER_S));
	(void)close(wake_fd);
}

static _Atomic unsigned syncs;

/* Instead of the C library's. */
int fdatasync(int fd)
{
	atomic_fetch_add(&syncs, 1);
	return (int)syscall(SYS_fdatasync, fd);
}

#define RUN_ID "cand-20261130T222201Z"

static char state_path[PATH_MAX];

static const char *runs_path(const char *ending)
{
	static char path[PATH_MAX + 64];

	(void)snprintf(path, sizeof(path), "%s/runs/" RUN_ID ".%s", state_path, ending);
	return path;
}

static struct keeper_reply answer_to(struct keeper *keeper, int wake_fd, struct keeper_command command)
{
	assert_true(keeper_send(keeper, &command));
	return next_reply(keeper, wake_fd);
}

static void job_run(struct keeper *keeper, int wake_fd, struct keeper_command command)
{
	struct keeper_reply reply = answer_to(keeper, wake_fd, command);

	if (reply.answer != KEEPER_STARTED)
		fail_msg("%s", reply.why);
	if (command.verb == KEEPER_FILL)
		assert_int_equal(next_reply(keeper, wake_fd).answer, KEEPER_ENDED);
	do
		reply = answer_to(keeper, wake_fd, (struct keeper_command){ .verb = KEEPER_STOP });
	while (reply.answer != KEEPER_STOPPED);
	send_verb(keeper, KEEPER_FREE);
	assert_int_equal(next_reply(keeper, wake_fd).answer, KEEPER_DONE);
}

/* A start that the ledger did not see must not be judged by it later; and a full state disk is not the drive's fault. */
static void test_a_ledger_that_missed_a_start_is_gone(void **state)
{
	static char target[PATH_MAX + 16];
	struct config_drive drive = drive_in(target, ENGINE_AUTO, PAYLOAD_RANDOM);
	struct keeper_command open_it = { .verb = KEEPER_OPEN, .run_id = RUN_ID, .run_tag = 7 };
	const struct keeper_command fill = { .verb = KEEPER_FILL, .to_bytes = MIB, .run_tag = 7 };
	const struct keeper_command soak = {
		.verb = KEEPER_SOAK, .to_bytes = MIB, .run_tag = 7, .threads = 1, .queue_depth = 1
	};
	int wake_fd = eventfd(0, EFD_CLOEXEC), lock_fd;
	const struct keeper_setup setup = {
		.drive = &drive, .state_directory = state_path, .wake = wake, .wake_arg = &wake_fd
	};
	char command[PATH_MAX + 64];
	struct keeper *keeper;
	struct keeper_reply reply;

	(void)state;
	drive.ledger_bytes = MIB;
	(void)snprintf(state_path, sizeof(state_path), "%.*s", PATH_MAX - 16, base);
	(void)strcat(state_path, "/state");
	(void)snprintf(target, sizeof(target), "%s/target", base);
	(void)snprintf(command, sizeof(command), "mkdir -p %s/runs", state_path);
	assert_int_equal(system(command), 0);
	assert_int_equal(mkdir(target, 0755), 0);
	assert_int_equal(keeper_new(&setup, &keeper), 0);
	reply = answer_to(keeper, wake_fd, open_it);
	assert_string_equal(reply.why, "");
	assert_true(reply.ledger_coverage > 0.99);
	job_run(keeper, wake_fd, fill);
	assert_int_equal(access(runs_path("ledger"), F_OK), 0);

	/* The drive is flushed, also where its filesystem lies on one without a cache that could lose anything. */
	atomic_store(&syncs, 0);
	reply = answer_to(
		keeper, wake_fd, (struct keeper_command){ .verb = KEEPER_EPOCH, .done_bytes = MIB });
	assert_int_equal(reply.answer, KEEPER_DONE);
	assert_string_equal(reply.why, "");
	assert_int_equal(atomic_load(&syncs), 2);
	assert_int_equal(access(runs_path("epoch"), F_OK), 0);
	assert_int_equal(mkdir(runs_path("epoch.tmp"), 0755), 0);
	reply = answer_to(
		keeper, wake_fd, (struct keeper_command){ .verb = KEEPER_EPOCH, .done_bytes = MIB });
	assert_int_equal(reply.answer, KEEPER_DONE);
	assert_int_equal(reply.done_bytes, MIB);
	assert_int_equal(atomic_load(&syncs), 4);
	assert_non_null(strstr(reply.why, "no epoch can be kept beside"));
	assert_int_equal(rmdir(runs_path("epoch.tmp")), 0);
	send_verb(keeper, KEEPER_CLOSE);
	assert_int_equal(next_reply(keeper, wake_fd).answer, KEEPER_DONE);

	/* It can't be opened this time; what is opened later must not find it. */
	lock_fd = open(runs_path("ledger"), O_RDWR | O_CLOEXEC);
	assert_int_equal(flock(lock_fd, LOCK_EX | LOCK_NB), 0);
	open_it.goal_bytes = MIB;
	reply = answer_to(keeper, wake_fd, open_it);
	assert_int_equal(reply.answer, KEEPER_OPENED);
	assert_true(reply.ledger_coverage == 0);
	assert_int_equal(access(runs_path("ledger"), F_OK), 0); /* nothing was written yet */
	(void)close(lock_fd);
	job_run(keeper, wake_fd, soak);
	assert_int_equal(access(runs_path("ledger"), F_OK), -1);
	assert_int_equal(access(runs_path("epoch"), F_OK), -1);
	send_verb(keeper, KEEPER_CLOSE);
	assert_int_equal(next_reply(keeper, wake_fd).answer, KEEPER_DONE);

	/* One that can be neither opened nor removed refuses the start. */
	assert_int_equal(mkdir(runs_path("ledger"), 0755), 0);
	reply = answer_to(keeper, wake_fd, open_it);
	assert_int_equal(reply.answer, KEEPER_OPENED);
	reply = answer_to(keeper, wake_fd, soak);
	assert_int_equal(reply.answer, KEEPER_FAILED);
	assert_non_null(strstr(reply.why, "a ledger that is no longer true can't be removed"));
	assert_int_equal(rmdir(runs_path("ledger")), 0);
	send_verb(keeper, KEEPER_CLOSE);
	assert_int_equal(next_reply(keeper, wake_fd).answer, KEEPER_DONE);
	assert_true(keeper_free(keeper, 10 * NS_PER_S));
	(void)close(wake_fd);
}

/* Sweep over the first @to_bytes, to its end. */
static void sweep(struct keeper *keeper, int wake_fd, uint64_t to_bytes)
{
	const struct keeper_command verify = { .verb = KEEPER_VERIFY, .to_bytes = to_bytes, .run_tag = 1 };

	assert_true(keeper_send(keeper, &verify));
	assert_int_equal(next_reply(keeper, wake_fd).answer, KEEPER_STARTED);
	assert_int_equal(next_reply(keeper, wake_fd).answer, KEEPER_ENDED);
	send_verb(keeper, KEEPER_STOP);
	assert_int_equal(next_reply(keeper, wake_fd).answer, KEEPER_STOPPED);
	send_verb(keeper, KEEPER_FREE);
	assert_int_equal(next_reply(keeper, wake_fd).answer, KEEPER_DONE);
}

/* Nothing was ever written, so that every block is bad. */
static void test_each_sweep_tells_its_own_bad_blocks(void **state)
{
	enum { BLOCK = 4096, MOST_TOLD = 100 };
	static char folder[PATH_MAX + 8];
	struct config_drive drive = drive_in(folder, ENGINE_NULL, PAYLOAD_ZEROS);
	const struct keeper_command open_it = { .verb = KEEPER_OPEN, .run_id = "swept-20261130T222200Z" };
	int wake_fd = eventfd(0, EFD_CLOEXEC);
	const struct keeper_setup setup = {
		.drive = &drive, .state_directory = base, .wake = wake, .wake_arg = &wake_fd
	};
	struct sweep_watch watch = { 0 };
	struct verify_finding finding;
	struct keeper *keeper;
	struct keeper_reply reply;
	char text[256];
	unsigned told = 0;

	(void)state;
	drive.files = 1;
	drive.block_bytes = BLOCK;
	(void)snprintf(folder, sizeof(folder), "%s/swept", base);
	assert_int_equal(mkdir(folder, 0755), 0);
	assert_int_equal(keeper_new(&setup, &keeper), 0);
	assert_true(keeper_send(keeper, &open_it));
	reply = next_reply(keeper, wake_fd);
	assert_string_equal(reply.why, "");
	sweep(keeper, wake_fd, 20 * BLOCK);
	sweep(keeper, wake_fd, 3 * BLOCK);
	while (keeper_next_finding(keeper, &finding))
		told++;
	assert_int_equal(told, 3);
	/* More than are told one by one: then nothing is left to be told later. */
	sweep(keeper, wake_fd, MIB);
	for (told = 0; sweep_next_text(&watch, keeper, text, sizeof(text)); told++)
		;
	assert_int_equal(told, MOST_TOLD + 1);
	assert_non_null(strstr(text, "the rest is counted only"));
	assert_false(keeper_next_finding(keeper, &finding));
	assert_true(keeper_free(keeper, 10 * NS_PER_S));
	(void)close(wake_fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_job_without_work_is_started_before_it_ends),
		cmocka_unit_test(test_a_ledger_that_missed_a_start_is_gone),
		cmocka_unit_test(test_each_sweep_tells_its_own_bad_blocks),
	};

	return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
