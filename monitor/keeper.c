/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "keeper.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "target/hostinfo.h"

#define COMMANDS_MAX 8
#define REPLIES_MAX  16

struct keeper {
	const struct config_drive *drive;
	void (*wake)(void *);
	void *wake_arg;
	pthread_t thread;

	pthread_mutex_t lock; /* of both queues; held for a copy only */
	pthread_cond_t has_command;
	struct keeper_command commands[COMMANDS_MAX];
	struct keeper_reply replies[REPLIES_MAX];
	unsigned command_first, command_count, reply_first, reply_count;

	/* The thread's own. */
	struct target *target;
	struct engine *engine;
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
	keeper->wake(keeper->wake_arg);
}

/* Worker thread: the job is over by itself. */
static void job_ended(void *arg)
{
	struct keeper *keeper = arg;
	struct keeper_reply reply = { .answer = KEEPER_ENDED, .verb = keeper->job };

	reply_put(keeper, &reply);
}

static int do_open(struct keeper *keeper, const struct keeper_command *command, struct keeper_reply *reply)
{
	int rc = target_open(
		keeper->drive, command->run_id, command->goal_bytes, &keeper->target, reply->why);

	if (rc < 0)
		return rc;
	reply->answer = KEEPER_OPENED;
	reply->why[0] = '\0';
	if (command->discard)
		rc = target_discard(keeper->target, &reply->discarded, reply->why);
	text_fini(&keeper->host);
	hostinfo_json("", target_get_facts(keeper->target), &keeper->host);
	return rc;
}

static int do_start(struct keeper *keeper, const struct keeper_command *command, struct keeper_reply *reply)
{
	const struct target_plan *plan = target_get_plan(keeper->target);
	struct engine_job job = {
		.fds = target_get_fds(keeper->target),
		.fd_count = plan->files,
		.file_bytes = plan->file_bytes,
		.is_fill = command->verb == KEEPER_FILL,
		.from_bytes = command->from_bytes,
		.to_bytes = command->to_bytes,
		.block_bytes = keeper->drive->block_bytes,
		.threads = keeper->drive->threads,
		.queue_depth = command->queue_depth,
		.engine = keeper->drive->engine,
		.payload = keeper->drive->payload,
		.run_tag = command->run_tag,
		.seed = command->seed,
		.before_file = target_reserve_file,
		.before_file_arg = keeper->target,
		.on_end = job_ended,
		.on_end_arg = keeper,
	};
	int rc;

	keeper->job = command->verb;
	rc = engine_new(&job, &keeper->engine, reply->why);
	if (rc == 0)
		rc = engine_start(keeper->engine, reply->why);
	if (rc < 0) {
		engine_free(keeper->engine);
		keeper->engine = NULL;
		return rc;
	}
	reply->answer = KEEPER_STARTED;
	reply->engine = keeper->engine;
	return 0;
}

static int command_do(struct keeper *keeper, const struct keeper_command *command, struct keeper_reply *reply)
{
	switch (command->verb) {
	case KEEPER_OPEN:
		return do_open(keeper, command, reply);
	case KEEPER_FILL:
	case KEEPER_SOAK:
		return do_start(keeper, command, reply);
	case KEEPER_STOP:
		/* As long as it takes: the kernel ends a hung request with an error sooner or later. */
		if (keeper->engine)
			while (!engine_stop(keeper->engine, 3600 * NS_PER_S))
				;
		reply->answer = KEEPER_STOPPED;
		reply->engine = keeper->engine;
		return 0;
	case KEEPER_FREE:
		engine_free(keeper->engine);
		keeper->engine = NULL;
		return 0;
	case KEEPER_SEAL:
		reply->answer = KEEPER_SEALED;
		return target_finish_fill(keeper->target, command->to_bytes, reply->why);
	default:
		target_close(keeper->target);
		keeper->target = NULL;
		return 0;
	}
}

static void *keeper_main(void *arg)
{
	struct keeper *keeper = arg;

	for (;;) {
		struct keeper_reply reply = { .answer = KEEPER_DONE };
		struct keeper_command command;

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
		if (command_do(keeper, &command, &reply) < 0)
			reply.answer = KEEPER_FAILED;
		reply_put(keeper, &reply);
	}
	target_close(keeper->target);
	keeper->target = NULL;
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

int keeper_new(const struct config_drive *drive, void (*wake)(void *), void *wake_arg, struct keeper **out)
{
	struct keeper *keeper = calloc(1, sizeof(*keeper));
	int rc;

	if (!keeper)
		return -ENOMEM;
	keeper->drive = drive;
	keeper->wake = wake;
	keeper->wake_arg = wake_arg;
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
	struct keeper_command quit = { .verb = KEEPER_QUIT };
	struct timespec until;

	if (!keeper)
		return true;
	(void)keeper_send(keeper, &quit);
	(void)clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += (time_t)(timeout_ns / NS_PER_S);
	if (pthread_clockjoin_np(keeper->thread, NULL, CLOCK_MONOTONIC, &until))
		return false;
	engine_free(keeper->engine);
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
