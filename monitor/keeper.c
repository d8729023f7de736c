/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "keeper.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "engine/budget.h"
#include "healthgate.h"
#include "stamps.h"
#include "target/hostinfo.h"

#define COMMANDS_MAX 8
#define REPLIES_MAX  16
#define FINDINGS_MAX 128

#define PATH_LENGTH 600

struct keeper {
	struct keeper_setup setup;
	pthread_t thread;
	_Atomic bool has_quit;

	pthread_mutex_t lock; /* of the queues; held for a copy only */
	pthread_cond_t has_command;
	struct keeper_command commands[COMMANDS_MAX];
	struct keeper_reply replies[REPLIES_MAX];
	struct verify_finding findings[FINDINGS_MAX];
	unsigned command_first, command_count, reply_first, reply_count, finding_first, finding_count;
	bool is_announced; /* STARTED of the job is among the replies */
	bool has_ended;	   /* the job ended before that */

	/* The thread's own. */
	struct target *target;
	struct engine *engine;
	struct verify *verify;
	struct ledger *ledger;
	char ledger_path[PATH_LENGTH];
	struct budget *budget;
	uint64_t first_sequence;
	enum keeper_verb job;
	struct text host;
};

static void reply_put(struct keeper *keeper, const struct keeper_reply *reply)
{
	(void)pthread_mutex_lock(&keeper->lock);
	/* One reply a command and one ENDED a job: REPLIES_MAX can't be reached. */
	if (keeper->reply_count < REPLIES_MAX)
		keeper->replies[(keeper->reply_first + keeper->reply_count++) % REPLIES_MAX] = *reply;
	(void)pthread_mutex_unlock(&keeper->lock);
	keeper->setup.wake(keeper->setup.wake_arg);
}

/* Worker's or sweep's thread: the job is over by itself. A job without work ends before its start was told: ENDED waits, for who
 * reads it must know of the job. */
static void job_ended(void *arg)
{
	struct keeper *keeper = arg;
	struct keeper_reply reply = { .answer = KEEPER_ENDED, .verb = keeper->job };
	bool is_announced;

	(void)pthread_mutex_lock(&keeper->lock);
	is_announced = keeper->is_announced;
	keeper->has_ended = true;
	(void)pthread_mutex_unlock(&keeper->lock);
	if (is_announced)
		reply_put(keeper, &reply);
}

static void job_announce(struct keeper *keeper, bool is_announced)
{
	bool has_ended;

	(void)pthread_mutex_lock(&keeper->lock);
	has_ended = keeper->has_ended;
	keeper->is_announced = is_announced;
	keeper->has_ended = false;
	(void)pthread_mutex_unlock(&keeper->lock);
	if (is_announced && has_ended)
		job_ended(keeper);
}

/* Sweep's thread. */
static void finding_put(void *arg, const struct verify_finding *finding)
{
	struct keeper *keeper = arg;

	(void)pthread_mutex_lock(&keeper->lock);
	if (keeper->finding_count < FINDINGS_MAX)
		keeper->findings[(keeper->finding_first + keeper->finding_count++) % FINDINGS_MAX] = *finding;
	(void)pthread_mutex_unlock(&keeper->lock);
}

static void why_add(char *why, const char *text)
{
	size_t used = strlen(why);

	(void)snprintf(why + used, TARGET_WHY_MAX - used, "%s%s", used ? "; " : "", text);
}

static void run_path(
	const struct keeper *keeper, const struct keeper_command *command, const char *ending, char *path)
{
	(void)snprintf(
		path, PATH_LENGTH, "%s/runs/%s.%s", keeper->setup.state_directory, command->run_id, ending);
}

/* A run goes on without its ledger rather than not at all; the verification then says what it could not know. */
static void ledger_begin(
	struct keeper *keeper, const struct keeper_command *command, struct keeper_reply *reply)
{
	char why[LEDGER_WHY_MAX] = "";
	struct ledger_setup setup = {
		.path = keeper->ledger_path,
		.run_tag = command->run_tag,
		.block_count = target_get_plan(keeper->target)->goal_bytes / keeper->setup.drive->block_bytes,
		.block_bytes = keeper->setup.drive->block_bytes,
		.memory_bytes = keeper->setup.drive->ledger_bytes,
	};
	int rc;

	/* Zeros carry no sequence that could be looked for. */
	if (keeper->setup.drive->payload != PAYLOAD_RANDOM)
		return;
	run_path(keeper, command, "ledger", keeper->ledger_path);
	/* Never a new ledger for a history that it does not know: it would claim what it can't. */
	if (command->goal_bytes)
		rc = ledger_open(&setup, command->power_lost, &keeper->ledger, why);
	else
		rc = ledger_create(&setup, &keeper->ledger, why);
	if (rc < 0) {
		why_add(reply->why, why);
		keeper->ledger = NULL;
		return;
	}
	/* What it says of a power loss. */
	if (why[0])
		why_add(reply->why, why);
	reply->ledger_coverage = ledger_coverage(keeper->ledger);
}

/* Of a new device run: the marker and the emptied end of the drive, before and after the discard. */
static uint64_t edges_bytes(const struct keeper *keeper, const struct keeper_command *command)
{
	return keeper->setup.drive->device[0] && !command->goal_bytes ? 4ULL * TARGET_DEVICE_EDGE_BYTES : 0;
}

/* Before anything is written. A limit that can't be kept account of is no limit: then nothing is. */
static int budget_begin(
	struct keeper *keeper, const struct keeper_command *command, struct keeper_reply *reply)
{
	uint64_t limit = keeper->setup.drive->write_budget_bytes;
	char path[PATH_LENGTH], why[BUDGET_WHY_MAX] = "the rest of it is less than the marker writes";
	int rc;

	if (!limit)
		return 0;
	run_path(keeper, command, "budget", path);
	rc = budget_open(path, command->run_tag, limit, command->written_bytes, &keeper->budget, why);
	if (rc == 0 && !budget_charge(keeper->budget, edges_bytes(keeper, command)))
		rc = -EDQUOT;
	if (rc < 0)
		(void)snprintf(reply->why, sizeof(reply->why), "write-budget: %s", why);
	return rc;
}

/* Of a new run that did not come to be. */
static void budget_drop(const struct keeper *keeper, const struct keeper_command *command)
{
	char path[PATH_LENGTH];

	run_path(keeper, command, "budget", path);
	if (!command->goal_bytes)
		(void)unlink(path);
}

static int opened_check(
	struct keeper *keeper, const struct keeper_command *command, struct keeper_reply *reply)
{
	uint64_t seed = command->seed ^ clock_mono_ns();

	if (!command->goal_bytes || keeper->setup.drive->payload != PAYLOAD_RANDOM)
		return 0;
	return stamps_check(keeper->target, command->filled_bytes, command->run_tag, seed, reply->why);
}

static void do_close(struct keeper *keeper)
{
	ledger_close(keeper->ledger);
	keeper->ledger = NULL;
	budget_close(keeper->budget);
	keeper->budget = NULL;
	target_close(keeper->target);
	keeper->target = NULL;
}

static int do_open(struct keeper *keeper, const struct keeper_command *command, struct keeper_reply *reply)
{
	const struct target_request request = {
		.drive = keeper->setup.drive,
		.state_directory = keeper->setup.state_directory,
		.run_id = command->run_id,
		.goal_bytes = command->goal_bytes,
	};
	/* A run that goes on is stopped by its limits, not refused. */
	int rc = command->goal_bytes ? 0 : healthgate_check(keeper->setup.drive, reply->why);

	if (rc == 0)
		rc = budget_begin(keeper, command, reply);
	if (rc == 0)
		rc = target_open(&request, &keeper->target, reply->why);
	if (rc == 0)
		rc = opened_check(keeper, command, reply);
	if (rc < 0) {
		do_close(keeper);
		budget_drop(keeper, command);
		return rc;
	}
	reply->answer = KEEPER_OPENED;
	reply->why[0] = '\0';
	if (command->discard)
		rc = target_discard(keeper->target, &reply->discarded, reply->why);
	if (rc < 0) {
		do_close(keeper);
		return rc;
	}
	ledger_begin(keeper, command, reply);
	text_fini(&keeper->host);
	hostinfo_json("", target_get_facts(keeper->target), &keeper->host);
	return 0;
}

/* Each engine counts its writes from a start of its own, so that no sequence is given twice. Without one the ledger is
 * given up: what it knows is wrong from here on, and must not be believed by a later start, which would hold the writes
 * of this one against the drive. */
static int sequence_begin(struct keeper *keeper, struct keeper_reply *reply)
{
	char why[LEDGER_WHY_MAX] = "";
	int rc;

	if (keeper->setup.drive->payload != PAYLOAD_RANDOM)
		return 0;
	if (keeper->ledger && ledger_next_start(keeper->ledger, &keeper->first_sequence, why) < 0) {
		why_add(reply->why, why);
		ledger_close(keeper->ledger);
		keeper->ledger = NULL;
	}
	reply->ledger_coverage = keeper->ledger ? ledger_coverage(keeper->ledger) : 0;
	if (keeper->ledger)
		return 0;
	rc = ledger_remove(keeper->ledger_path, why);
	if (rc < 0)
		why_add(reply->why, why);
	return rc;
}

static int do_start(struct keeper *keeper, const struct keeper_command *command, struct keeper_reply *reply)
{
	const struct target_plan *plan = target_get_plan(keeper->target);
	const struct config_drive *drive = keeper->setup.drive;
	struct engine_job job = {
		.fds = target_get_fds(keeper->target),
		.fd_count = plan->files,
		.file_bytes = plan->file_bytes,
		.base_bytes = plan->base_bytes,
		.is_device = target_get_facts(keeper->target)->is_device,
		.budget = keeper->budget,
		.is_fill = command->verb == KEEPER_FILL,
		.from_bytes = command->from_bytes,
		.to_bytes = command->to_bytes,
		.block_bytes = drive->block_bytes,
		.threads = command->threads,
		.queue_depth = command->queue_depth,
		.engine = drive->engine,
		.payload = drive->payload,
		.workload = drive->workload,
		.read_percent = drive->read_percent,
		.fsync_every = drive->fsync_every,
		.requests_per_s = command->requests_per_s,
		.is_open_loop = command->is_open_loop,
		.run_tag = command->run_tag,
		.seed = command->seed,
		.before_file = target_reserve_file,
		.before_file_arg = keeper->target,
		.on_end = job_ended,
		.on_end_arg = keeper,
	};
	char why[ENGINE_WHY_MAX] = "";
	int rc = sequence_begin(keeper, reply);

	if (rc < 0)
		return rc;
	job.ledger = keeper->ledger;
	job.first_sequence = keeper->first_sequence;
	keeper->job = command->verb;
	job_announce(keeper, false);
	rc = engine_new(&job, &keeper->engine, why);
	if (rc == 0)
		rc = engine_start(keeper->engine, why);
	if (rc < 0) {
		why_add(reply->why, why);
		engine_free(keeper->engine);
		keeper->engine = NULL;
		return rc;
	}
	reply->answer = KEEPER_STARTED;
	reply->engine = keeper->engine;
	return 0;
}

static int do_verify(struct keeper *keeper, const struct keeper_command *command, struct keeper_reply *reply)
{
	const struct target_plan *plan = target_get_plan(keeper->target);
	const struct verify_job job = {
		.fds = target_get_fds(keeper->target),
		.fd_count = plan->files,
		.file_bytes = plan->file_bytes,
		.base_bytes = plan->base_bytes,
		.to_bytes = command->to_bytes,
		.block_bytes = keeper->setup.drive->block_bytes,
		.run_tag = command->run_tag,
		.ledger = keeper->ledger,
		.lba_bytes = target_get_facts(keeper->target)->disks[0].logical_block_bytes,
		.engine = keeper->setup.drive->engine,
		.on_finding = finding_put,
		.on_finding_arg = keeper,
		.on_end = job_ended,
		.on_end_arg = keeper,
	};
	int rc;

	/* What nobody took of an earlier sweep is not found by this one. */
	(void)pthread_mutex_lock(&keeper->lock);
	keeper->finding_count = 0;
	(void)pthread_mutex_unlock(&keeper->lock);
	keeper->job = command->verb;
	job_announce(keeper, false);
	rc = verify_start(&job, &keeper->verify, reply->why);
	if (rc < 0)
		return rc;
	reply->answer = KEEPER_STARTED;
	reply->verify = keeper->verify;
	return 0;
}

/* As long as it takes: the kernel ends a hung request with an error sooner or later. */
static void do_stop(struct keeper *keeper, struct keeper_reply *reply)
{
	if (keeper->engine)
		while (!engine_stop(keeper->engine, 3600 * NS_PER_S))
			;
	if (keeper->verify)
		while (!verify_stop(keeper->verify, 3600 * NS_PER_S))
			;
	reply->answer = KEEPER_STOPPED;
	reply->engine = keeper->engine;
	reply->verify = keeper->verify;
	reply->is_budget_spent = keeper->engine && engine_budget_spent(keeper->engine);
}

static int do_epoch(struct keeper *keeper, const struct keeper_command *command, struct keeper_reply *reply)
{
	const int begun = keeper->ledger ? ledger_epoch_begin(keeper->ledger) : 0;
	int rc;

	/* The drive is flushed whatever the state disk says; without the epoch only less can be claimed afterwards. */
	reply->done_bytes = command->done_bytes;
	rc = target_flush(keeper->target, reply->why);
	if (rc < 0 || !keeper->ledger)
		return rc;
	if (begun < 0)
		(void)snprintf(reply->why, sizeof(reply->why), "no epoch can be kept beside %s: %s",
			keeper->ledger_path, strerror(-begun));
	else
		(void)ledger_epoch_commit(keeper->ledger, reply->why);
	return 0;
}

static int do_purge(struct keeper *keeper, struct keeper_reply *reply)
{
	const struct target_request request = {
		.drive = keeper->setup.drive,
		.state_directory = keeper->setup.state_directory,
	};

	return target_purge(&request, reply->why);
}

static int command_do(struct keeper *keeper, const struct keeper_command *command, struct keeper_reply *reply)
{
	switch (command->verb) {
	case KEEPER_OPEN:
		return do_open(keeper, command, reply);
	case KEEPER_FILL:
	case KEEPER_SOAK:
		return do_start(keeper, command, reply);
	case KEEPER_VERIFY:
		return do_verify(keeper, command, reply);
	case KEEPER_STOP:
		do_stop(keeper, reply);
		return 0;
	case KEEPER_FREE:
		engine_free(keeper->engine);
		keeper->engine = NULL;
		verify_free(keeper->verify);
		keeper->verify = NULL;
		return 0;
	case KEEPER_SEAL:
		reply->answer = KEEPER_SEALED;
		return target_finish_fill(keeper->target, command->to_bytes, reply->why);
	case KEEPER_EPOCH:
		return keeper->target ? do_epoch(keeper, command, reply) : 0;
	case KEEPER_LOOK:
		reply->answer = KEEPER_LOOKED;
		reply->why[0] = '\0';
		if (keeper->target)
			reply->error = target_look(keeper->target, reply->why);
		return 0;
	case KEEPER_PURGE:
		return do_purge(keeper, reply);
	default:
		do_close(keeper);
		return 0;
	}
}

static void *keeper_main(void *arg)
{
	struct keeper *keeper = arg;

	for (;;) {
		struct keeper_reply reply = { .answer = KEEPER_DONE };
		struct keeper_command command;
		int rc;

		(void)pthread_mutex_lock(&keeper->lock);
		while (keeper->command_count == 0)
			(void)pthread_cond_wait(&keeper->has_command, &keeper->lock);
		command = keeper->commands[keeper->command_first];
		keeper->command_first = (keeper->command_first + 1) % COMMANDS_MAX;
		keeper->command_count--;
		(void)pthread_mutex_unlock(&keeper->lock);
		if (command.verb == KEEPER_QUIT)
			break;
		reply.verb = command.verb;
		rc = command_do(keeper, &command, &reply);
		if (rc < 0) {
			reply.answer = KEEPER_FAILED;
			reply.error = rc;
		}
		reply_put(keeper, &reply);
		if (reply.answer == KEEPER_STARTED)
			job_announce(keeper, true);
	}
	do_close(keeper);
	atomic_store(&keeper->has_quit, true);
	return NULL;
}

/* Signals belong to the control loop, whose signal descriptor needs them blocked everywhere. */
static int thread_start(struct keeper *keeper)
{
	sigset_t all, before;
	int rc;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = -pthread_create(&keeper->thread, NULL, keeper_main, keeper);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

int keeper_new(const struct keeper_setup *setup, struct keeper **out)
{
	struct keeper *keeper = calloc(1, sizeof(*keeper));
	int rc;

	if (!keeper)
		return -ENOMEM;
	keeper->setup = *setup;
	(void)pthread_mutex_init(&keeper->lock, NULL);
	(void)pthread_cond_init(&keeper->has_command, NULL);
	rc = thread_start(keeper);
	if (rc < 0) {
		free(keeper);
		return rc;
	}
	*out = keeper;
	return 0;
}

bool keeper_free(struct keeper *keeper, uint64_t timeout_ns)
{
	const struct timespec pause = { .tv_nsec = 2000000 };
	struct keeper_command quit = { .verb = KEEPER_QUIT };
	uint64_t until_ns = clock_mono_ns() + timeout_ns;

	if (!keeper)
		return true;
	(void)keeper_send(keeper, &quit);
	while (!atomic_load(&keeper->has_quit)) {
		if (clock_mono_ns() >= until_ns)
			return false;
		(void)nanosleep(&pause, NULL);
	}
	(void)pthread_join(keeper->thread, NULL);
	engine_free(keeper->engine);
	verify_free(keeper->verify);
	text_fini(&keeper->host);
	(void)pthread_mutex_destroy(&keeper->lock);
	(void)pthread_cond_destroy(&keeper->has_command);
	free(keeper);
	return true;
}

bool keeper_send(struct keeper *keeper, const struct keeper_command *command)
{
	bool has_room;

	(void)pthread_mutex_lock(&keeper->lock);
	has_room = keeper->command_count < COMMANDS_MAX;
	if (has_room)
		keeper->commands[(keeper->command_first + keeper->command_count++) % COMMANDS_MAX] = *command;
	(void)pthread_cond_signal(&keeper->has_command);
	(void)pthread_mutex_unlock(&keeper->lock);
	return has_room;
}

bool keeper_next_reply(struct keeper *keeper, struct keeper_reply *out)
{
	bool has_one;

	(void)pthread_mutex_lock(&keeper->lock);
	has_one = keeper->reply_count > 0;
	if (has_one) {
		*out = keeper->replies[keeper->reply_first];
		keeper->reply_first = (keeper->reply_first + 1) % REPLIES_MAX;
		keeper->reply_count--;
	}
	(void)pthread_mutex_unlock(&keeper->lock);
	return has_one;
}

bool keeper_next_finding(struct keeper *keeper, struct verify_finding *out)
{
	bool has_one;

	(void)pthread_mutex_lock(&keeper->lock);
	has_one = keeper->finding_count > 0;
	if (has_one) {
		*out = keeper->findings[keeper->finding_first];
		keeper->finding_first = (keeper->finding_first + 1) % FINDINGS_MAX;
		keeper->finding_count--;
	}
	(void)pthread_mutex_unlock(&keeper->lock);
	return has_one;
}

const struct target_facts *keeper_get_facts(const struct keeper *keeper)
{
	return target_get_facts(keeper->target);
}

const struct target_plan *keeper_get_plan(const struct keeper *keeper)
{
	return target_get_plan(keeper->target);
}

const char *keeper_get_host_json(const struct keeper *keeper)
{
	return text_string(&keeper->host);
}
