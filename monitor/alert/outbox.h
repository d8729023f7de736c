/* SPDX-License-Identifier: GPL-2.0-or-later */
/* outbox.h - the durable record of alerts and of the messages about them: STATE/alerts.db (SQLite, WAL,
 * synchronous=FULL).
 *
 * A file of its own, beside the journal, for two reasons. What an alert counts as told and the message that tells it must
 * be durable together, before the message is sent: a kill between the two would lose the message or send it twice under
 * another id; the journal belongs to the archive thread, which writes in its own time. And a state that can't take samples
 * any more must still get an alert out. What happened is also an event of the journal.
 *
 * A message is delivered to a channel at least once, always under the same id. A handle belongs to one thread; the delivery
 * thread holds the only writing one. Functions return 0 or -errno (-ENOSPC, -EBUSY, -EBADMSG for a damaged file, -EPROTO
 * for one of a newer program, else -EIO); outbox_error() has the words of the last failure. */
#ifndef DRIVESOAK_OUTBOX_H
#define DRIVESOAK_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "alert/alerts.h"

#define OUTBOX_FILE	  "alerts.db" /* in the state directory */
#define OUTBOX_RESULT_MAX 256
#define OUTBOX_WHY_MAX	  256

/* Who gets messages: a notify section of the config and one of its ways. */
struct outbox_channel {
	char name[72];
	char kind[16]; /* command, webhook, mail */
};

enum outbox_state { OUTBOX_WAITING, OUTBOX_DELIVERED, OUTBOX_GIVEN_UP };

/* One message for one channel. */
struct outbox_item {
	int64_t message; /* its number in the file */
	int64_t t_ms;	 /* of the message */
	unsigned tries;
	int64_t next_ms; /* not before */
	bool is_refused; /* at the last try */
};

/* What came of a try. */
struct outbox_result {
	enum outbox_state state;
	bool is_refused; /* the receiver would not have this message: others need not wait for it */
	unsigned tries;
	int64_t t_ms, next_ms;
	char text[OUTBOX_RESULT_MAX];
};

struct outbox_queue {
	uint64_t queued;
	unsigned tries;	 /* of the one that waits longest, refused ones aside; 0: nothing failed yet */
	int64_t last_ms; /* of the last try of any message; INT64_MIN: none yet */
	enum outbox_state last_state;
	char last_text[OUTBOX_RESULT_MAX];
};

struct outbox;

/* Open or, unless @read_only, create @path. @why has OUTBOX_WHY_MAX. A damaged file stays as it is: -EBADMSG. */
int outbox_open(const char *path, bool read_only, struct outbox **out, char *why);
/* To be read only, with nobody else while it is open: it needs no file beside it (-shm), for which a full disk has no room. */
int outbox_open_alone(const char *path, struct outbox **out, char *why);
void outbox_close(struct outbox *outbox); /* NULL is fine */
const char *outbox_error(const struct outbox *outbox);

/* Give the message its id unless it has one; 0 or -errno. */
int outbox_draw_id(struct alert_message *message);
/* In one transaction: the alerts as they are now, and the message (NULL: none) for every channel but those of the bits
 * in @done, which have it already. Gives the message its id unless it has one; a message that is there already stays as it is. */
int outbox_put(struct outbox *outbox, const struct alert *alerts, size_t alert_count,
	struct alert_message *message, const struct outbox_channel *channels, size_t channel_count,
	uint64_t done);

/* The message that @channel should get next: the oldest that waits, refused ones whose time has not come only when there
 * is no other. It may have to wait still: see next_ms. -ENOENT: none. */
int outbox_next(
	struct outbox *outbox, const struct outbox_channel *channel, int64_t now_ms, struct outbox_item *out);
int outbox_get_message(struct outbox *outbox, int64_t message, struct alert_message *out);
int outbox_note(struct outbox *outbox, const struct outbox_channel *channel, int64_t message,
	const struct outbox_result *result);
int outbox_get_queue(struct outbox *outbox, const struct outbox_channel *channel, struct outbox_queue *out);

/* After a start (@is_start) what waits is tried at once, and an episode that fires although a later one of its rule and
 * drive is known is closed. Then and once a day: what waits for a channel that is none of these is given up, and *@lost how
 * many; what is long done goes. */
int outbox_begin(struct outbox *outbox, const struct outbox_channel *channels, size_t count, int64_t now_ms,
	bool is_start, uint64_t *lost);

/* Call @each until it answers non-zero, which is returned. The last episode of every rule of every drive: */
int outbox_each_last(struct outbox *outbox, int (*each)(const struct alert *alert, void *arg), void *arg);
/* What fires and was told: */
int outbox_each_firing(struct outbox *outbox, int (*each)(const struct alert *alert, void *arg), void *arg);
/* All episodes, newest first, at most @limit: */
int outbox_each_episode(
	struct outbox *outbox, size_t limit, int (*each)(const struct alert *alert, void *arg), void *arg);

#endif
