/* SPDX-License-Identifier: GPL-2.0-or-later */
/* archive_queue.h - the bounded queue between whoever measures and the archive thread. Records are copied in
 * under one mutex and stay in the queue until they are durable. Freed places are used again first, so that
 * the memory in use is what the longest backlog needed, not the whole queue. */
#ifndef DRIVESOAK_ARCHIVE_QUEUE_H
#define DRIVESOAK_ARCHIVE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "archive/journal.h"
#include "measure/sample.h"

#define ARCHIVE_QUEUE_MAX 4096 /* records: 11 h of one drive at 10 s, 20 min of 32 */

enum record_kind { RECORD_OPEN, RECORD_RUN, RECORD_SAMPLE, RECORD_EVENT, RECORD_HEALTH };

struct record {
	struct record *next;
	enum record_kind kind;
	uint64_t planned_s;
	struct run_record run;
	union {
		struct sample sample;
		struct event_record event;
		struct health_record health; /* the record's own */
	};
};

struct archive_queue;

int archive_queue_new(struct archive_queue **out); /* 0 or -ENOMEM */
void archive_queue_free(struct archive_queue *queue);

/* False when it is full (counted) or stopped. NULL parts are left out. */
bool archive_queue_put(struct archive_queue *queue, enum record_kind kind, const struct run_record *run,
	uint64_t planned_s, const struct sample *sample, const struct event_record *event);

/* Takes over what @health holds, also when it answers false. */
bool archive_queue_put_health(struct archive_queue *queue, struct health_record *health);

/* The consumer. Wait for records until @until_ns of CLOCK_MONOTONIC (also when @pausing, until woken by
 * archive_queue_hurry()), then answer up to @max of them from the oldest on; none beyond a RECORD_OPEN. They
 * stay queued and linked until archive_queue_done(). */
struct record *archive_queue_wait(
	struct archive_queue *queue, uint64_t until_ns, bool pausing, size_t max, size_t *count);
void archive_queue_done(struct archive_queue *queue, size_t count);
bool archive_queue_is_stopping(struct archive_queue *queue);
void archive_queue_end(struct archive_queue *queue); /* the consumer is gone */

/* Counts: in the queue, refused since the start. */
void archive_queue_read(struct archive_queue *queue, uint64_t *queued, uint64_t *refused);
/* End a pause of the consumer at once, and ask it to end when @stop. */
void archive_queue_hurry(struct archive_queue *queue, bool stop);
/* Until what is queued now is done, or (@for_end) the consumer is gone. False at the end of @timeout_ns. */
bool archive_queue_settle(struct archive_queue *queue, bool for_end, uint64_t timeout_ns);

uint64_t archive_now_ns(void); /* the clock of the waits: the kernel's, whatever tests put in base/clock.h */

#endif
