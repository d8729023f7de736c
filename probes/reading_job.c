/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "probes/reading_private.h"

struct reading_job {
	pthread_mutex_t lock; /* held by the thread but while it sleeps, see reading_job_sleep() */
	pthread_cond_t ended;
	unsigned users; /* the thread, and who waits or may ask */
	bool is_over, is_given_up;
	int rc;
	struct reading reading;
	int (*work)(struct reading_job *job, void *arg);
	void *arg;
	void (*arg_free)(void *arg);
};

void reading_job_sleep(struct reading_job *job)
{
	(void)pthread_mutex_unlock(&job->lock);
}

bool reading_job_wake(struct reading_job *job)
{
	(void)pthread_mutex_lock(&job->lock);
	return !job->is_given_up;
}

struct reading *reading_job_reading(struct reading_job *job)
{
	return &job->reading;
}

/* With the lock held, which is given back. */
static void leave(struct reading_job *job)
{
	bool is_last = --job->users == 0;

	(void)pthread_mutex_unlock(&job->lock);
	if (!is_last)
		return;
	reading_fini(&job->reading);
	if (job->arg_free)
		job->arg_free(job->arg);
	(void)pthread_cond_destroy(&job->ended);
	(void)pthread_mutex_destroy(&job->lock);
	free(job);
}

static void *job_main(void *arg)
{
	struct reading_job *job = arg;

	(void)pthread_mutex_lock(&job->lock);
	job->rc = job->work(job, job->arg);
	job->is_over = true;
	(void)pthread_cond_broadcast(&job->ended);
	leave(job);
	return NULL;
}

/* Signals are for the threads that wait for them. */
static int start(struct reading_job *job)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	pthread_t thread;
	int rc;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	(void)pthread_attr_init(&attributes);
	(void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	rc = pthread_create(&thread, &attributes, job_main, job);
	(void)pthread_attr_destroy(&attributes);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -rc;
}

static struct reading_job *job_new(void)
{
	struct reading_job *job = calloc(1, sizeof(*job));
	pthread_condattr_t attributes;

	if (!job)
		return NULL;
	(void)pthread_mutex_init(&job->lock, NULL);
	(void)pthread_condattr_init(&attributes);
	(void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&job->ended, &attributes);
	(void)pthread_condattr_destroy(&attributes);
	reading_init(&job->reading);
	return job;
}

static struct timespec time_after(unsigned ms)
{
	struct timespec now;

	/* Not the replaceable clock: a condition of the kernel waits by the kernel's. */
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	now.tv_sec += ms / 1000;
	now.tv_nsec += (long)(ms % 1000) * (long)NS_PER_MS;
	if (now.tv_nsec >= (long)NS_PER_S) {
		now.tv_sec++;
		now.tv_nsec -= (long)NS_PER_S;
	}
	return now;
}

/* With the lock held. */
static int wait_for_end(struct reading_job *job, unsigned deadline_ms)
{
	const struct timespec until = time_after(deadline_ms);

	while (!job->is_over)
		if (pthread_cond_timedwait(&job->ended, &job->lock, &until) == ETIMEDOUT)
			break;
	if (job->is_over)
		return job->rc;
	job->is_given_up = true;
	return -ETIMEDOUT;
}

int reading_job_run(int (*work)(struct reading_job *job, void *arg), void *arg, void (*arg_free)(void *arg),
	unsigned deadline_ms, struct reading *out, struct reading_job **started)
{
	struct reading_job *job = job_new();
	int rc;

	*started = NULL;
	if (!job) {
		if (arg_free)
			arg_free(arg);
		return -ENOMEM;
	}
	job->work = work;
	job->arg = arg;
	job->arg_free = arg_free;
	job->users = 2;
	(void)pthread_mutex_lock(&job->lock);
	rc = start(job);
	if (rc < 0) {
		job->users = 1;
		leave(job);
		return rc;
	}
	rc = wait_for_end(job, deadline_ms);
	*out = job->reading;
	reading_init(&job->reading);
	(void)pthread_mutex_unlock(&job->lock);
	*started = job;
	return rc;
}

bool reading_job_is_over(struct reading_job *job)
{
	bool is_over;

	(void)pthread_mutex_lock(&job->lock);
	is_over = job->is_over;
	(void)pthread_mutex_unlock(&job->lock);
	return is_over;
}

void reading_job_release(struct reading_job *job)
{
	if (!job)
		return;
	(void)pthread_mutex_lock(&job->lock);
	leave(job);
}

void reading_memory_fini(struct reading_memory *memory)
{
	reading_job_release(memory->hung);
	memory->hung = NULL;
}

bool reading_memory_is_hung(struct reading_memory *memory)
{
	if (!memory || !memory->hung)
		return false;
	if (!reading_job_is_over(memory->hung))
		return true;
	reading_memory_fini(memory);
	return false;
}

int reading_job_refuse(const struct reading_memory *memory, struct reading *out)
{
	if (!memory || !memory->hung)
		return -ENOMEM;
	reading_note(out, "the drive still has an earlier command");
	return -EBUSY;
}

static void memory_keep(
	struct reading_memory *memory, struct reading_job *job, const struct reading_memory *learnt)
{
	const bool is_over = reading_job_is_over(job);

	if (memory && is_over)
		*memory = *learnt;
	if (memory && !is_over)
		memory->hung = job;
	else
		reading_job_release(job);
}

int reading_job_read(int (*work)(struct reading_job *job, void *arg), void *arg, void (*arg_free)(void *arg),
	const struct reading_memory *learnt, unsigned deadline_ms, struct reading_memory *memory,
	struct reading *out)
{
	struct reading_job *job;
	int rc = reading_job_run(work, arg, arg_free, deadline_ms, out, &job);

	out->t_ms = clock_wall_ms();
	if (!job)
		return rc;
	memory_keep(memory, job, learnt);
	if (memory)
		reading_hold_counters(memory, out);
	if (rc == -ETIMEDOUT) {
		reading_note(out, "no answer within %u ms", deadline_ms);
		rc = out->page_count ? 0 : rc;
	}
	return rc;
}
