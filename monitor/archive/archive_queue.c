/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "archive/archive_queue.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"

struct archive_queue {
	pthread_mutex_t mutex;
	pthread_cond_t changed; /* something for the consumer */
	pthread_cond_t settled; /* something for those who wait for it */
	struct record *slots, *unused, *head, *tail;
	size_t fresh; /* slots never used so far */
	size_t queued;
	uint64_t put, done, refused;
	bool hurry, stopping, ended;
};

uint64_t archive_now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

int archive_queue_new(struct archive_queue **out)
{
	struct archive_queue *queue = calloc(1, sizeof(*queue));
	pthread_condattr_t monotonic;

	if (!queue)
		return -ENOMEM;
	queue->slots = calloc(ARCHIVE_QUEUE_MAX, sizeof(*queue->slots)); /* pages come when they are used */
	if (!queue->slots) {
		free(queue);
		return -ENOMEM;
	}
	(void)pthread_mutex_init(&queue->mutex, NULL);
	(void)pthread_condattr_init(&monotonic);
	(void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&queue->changed, &monotonic);
	(void)pthread_cond_init(&queue->settled, &monotonic);
	(void)pthread_condattr_destroy(&monotonic);
	*out = queue;
	return 0;
}

void archive_queue_free(struct archive_queue *queue)
{
	if (!queue)
		return;
	for (struct record *record = queue->head; record; record = record->next)
		if (record->kind == RECORD_HEALTH)
			health_record_fini(&record->health);
	(void)pthread_cond_destroy(&queue->changed);
	(void)pthread_cond_destroy(&queue->settled);
	(void)pthread_mutex_destroy(&queue->mutex);
	free(queue->slots);
	free(queue);
}

static struct record *take_slot(struct archive_queue *queue)
{
	struct record *record = queue->unused;

	if (record)
		queue->unused = record->next;
	else if (queue->fresh < ARCHIVE_QUEUE_MAX)
		record = &queue->slots[queue->fresh++];
	return record;
}

static void append(struct archive_queue *queue, struct record *record)
{
	record->next = NULL;
	if (queue->tail)
		queue->tail->next = record;
	else
		queue->head = record;
	queue->tail = record;
	queue->queued++;
	queue->put++;
}

/* With the lock: a place for a record of @kind, in the queue already; NULL and counted when there is none. */
static struct record *put(struct archive_queue *queue, enum record_kind kind)
{
	struct record *record = queue->ended ? NULL : take_slot(queue);

	if (!record) {
		queue->refused++;
		return NULL;
	}
	record->kind = kind;
	append(queue, record);
	(void)pthread_cond_signal(&queue->changed);
	return record;
}

bool archive_queue_put(struct archive_queue *queue, enum record_kind kind, const struct run_record *run,
	uint64_t planned_s, const struct sample *sample, const struct event_record *event)
{
	struct record *record;

	(void)pthread_mutex_lock(&queue->mutex);
	record = put(queue, kind);
	if (record) {
		record->planned_s = planned_s;
		if (run)
			record->run = *run;
		if (sample)
			record->sample = *sample;
		if (event)
			record->event = *event;
	}
	(void)pthread_mutex_unlock(&queue->mutex);
	return record != NULL;
}

bool archive_queue_put_health(struct archive_queue *queue, struct health_record *health)
{
	struct record *record;

	(void)pthread_mutex_lock(&queue->mutex);
	record = put(queue, RECORD_HEALTH);
	if (record)
		record->health = *health;
	(void)pthread_mutex_unlock(&queue->mutex);
	if (!record)
		health_record_fini(health);
	*health = (struct health_record){ 0 };
	return record != NULL;
}

static bool wait_until(pthread_cond_t *condition, pthread_mutex_t *mutex, uint64_t until_ns)
{
	struct timespec until = { (time_t)(until_ns / NS_PER_S), (long)(until_ns % NS_PER_S) };

	return pthread_cond_timedwait(condition, mutex, &until) != ETIMEDOUT;
}

/* An opened run begins a batch's end: its view is made before its first sample is in the journal. */
static size_t batch_length(const struct record *record, size_t queued, size_t max)
{
	size_t count = 0;

	while (count < queued && count < max) {
		count++;
		if (record->kind == RECORD_OPEN)
			break;
		if (count < queued)
			record = record->next;
	}
	return count;
}

struct record *archive_queue_wait(
	struct archive_queue *queue, uint64_t until_ns, bool pausing, size_t max, size_t *count)
{
	struct record *head;

	(void)pthread_mutex_lock(&queue->mutex);
	while (!queue->stopping && !queue->hurry && (pausing || queue->queued == 0))
		if (!wait_until(&queue->changed, &queue->mutex, until_ns))
			break;
	queue->hurry = false;
	head = queue->head;
	*count = batch_length(head, queue->queued, max);
	(void)pthread_mutex_unlock(&queue->mutex);
	return head;
}

void archive_queue_done(struct archive_queue *queue, size_t count)
{
	(void)pthread_mutex_lock(&queue->mutex);
	for (size_t i = 0; i < count; i++) {
		struct record *record = queue->head;

		queue->head = record->next;
		if (record->kind == RECORD_HEALTH)
			health_record_fini(&record->health);
		record->next = queue->unused;
		queue->unused = record;
	}
	if (!queue->head)
		queue->tail = NULL;
	queue->queued -= count;
	queue->done += count;
	(void)pthread_cond_broadcast(&queue->settled);
	(void)pthread_mutex_unlock(&queue->mutex);
}

bool archive_queue_is_stopping(struct archive_queue *queue)
{
	bool stopping;

	(void)pthread_mutex_lock(&queue->mutex);
	stopping = queue->stopping;
	(void)pthread_mutex_unlock(&queue->mutex);
	return stopping;
}

void archive_queue_end(struct archive_queue *queue)
{
	(void)pthread_mutex_lock(&queue->mutex);
	queue->ended = true;
	(void)pthread_cond_broadcast(&queue->settled);
	(void)pthread_mutex_unlock(&queue->mutex);
}

void archive_queue_read(struct archive_queue *queue, uint64_t *queued, uint64_t *refused)
{
	(void)pthread_mutex_lock(&queue->mutex);
	*queued = queue->queued;
	*refused = queue->refused;
	(void)pthread_mutex_unlock(&queue->mutex);
}

void archive_queue_hurry(struct archive_queue *queue, bool stop)
{
	(void)pthread_mutex_lock(&queue->mutex);
	queue->hurry = true;
	queue->stopping |= stop;
	(void)pthread_cond_signal(&queue->changed);
	(void)pthread_mutex_unlock(&queue->mutex);
}

bool archive_queue_settle(struct archive_queue *queue, bool for_end, uint64_t timeout_ns)
{
	uint64_t now_ns = archive_now_ns(), goal;
	/* Some callers wait for ever: the sum must not wrap, nor leave what a timespec can hold. */
	uint64_t until_ns = timeout_ns > INT64_MAX - now_ns ? INT64_MAX : now_ns + timeout_ns;
	bool is_settled;

	(void)pthread_mutex_lock(&queue->mutex);
	goal = queue->put;
	for (;;) {
		is_settled = for_end ? queue->ended : queue->done >= goal;
		if (is_settled || queue->ended || !wait_until(&queue->settled, &queue->mutex, until_ns))
			break;
	}
	is_settled = for_end ? queue->ended : queue->done >= goal;
	(void)pthread_mutex_unlock(&queue->mutex);
	return is_settled;
}
