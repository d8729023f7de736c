/* SPDX-License-Identifier: GPL-2.0-or-later */
/* delivery_private.h - what the files of delivery.h share: the thread's state and its channels. */
#ifndef DRIVESOAK_DELIVERY_PRIVATE_H
#define DRIVESOAK_DELIVERY_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "alert/attempt.h"
#include "alert/body.h"
#include "alert/command.h"
#include "alert/delivery.h"
#include "alert/outbox.h"
#include "alert/transfer.h"

/* Handed over: in a list until it is stored, and its message delivered if that took part meanwhile. */
struct batch {
	struct batch *next;
	size_t alert_count;
	struct alert *alerts;
	struct alert_message *message; /* NULL: none */
	uint64_t done;		       /* bits: channels that got it from memory */
};

enum channel_kind { CHANNEL_COMMAND, CHANNEL_WEBHOOK, CHANNEL_MAIL, CHANNEL_PING };

enum job { JOB_NONE, JOB_NOTE, JOB_STORED, JOB_LOOSE, JOB_TEST, JOB_RESEND, JOB_PING };

struct channel {
	struct outbox_channel id;
	enum channel_kind kind;
	const struct config_notify *notify;
	size_t number; /* of its bit in a batch */

	enum job job; /* under way */
	struct transfer *transfer;
	struct command *command;
	struct command_left left;
	struct outbox_item item;     /* JOB_STORED, and its id */
	struct outbox_result result; /* what came of it */
	bool owes_result;	     /* that is not in the file yet */
	char id_text[ALERT_MESSAGE_ID_MAX];
	struct batch *loose; /* JOB_LOOSE */
	uint64_t test_sent;  /* JOB_TEST */

	uint64_t next_ns;   /* of loose messages or the ping; monotonic */
	uint64_t resend_ns; /* of what fires */
	size_t resent;	    /* so many alerts of it in this round */
	uint64_t hold_ns;   /* the file failed: not before */
	bool is_hold_told;
	unsigned tries;	     /* of the ping or a loose message, in a row */
	uint64_t test_asked; /* crosses, under the mutex */
	uint64_t test, tests_done;
	uint64_t failing_ns; /* since when nothing was delivered; 0: it was */
	bool is_failing;
	struct channel_status status;
};

struct delivery {
	struct delivery_options options;
	char host[65], sender[80], page_url[256], path[600];
	pthread_t thread;
	bool is_running; /* the thread was started */

	/* What crosses. */
	pthread_mutex_t mutex; /* held for a few pointers only */
	struct batch *given, **given_end;
	size_t given_length;
	size_t given_count; /* of all that are not stored yet those that some channel has not got */
	uint64_t test;	    /* number of the last one asked for */
	_Atomic uint64_t alive_until_ns;
	_Atomic bool is_stopping;
	CURLM *multi; /* curl_multi_wakeup() from any thread */

	/* The thread's own. */
	struct outbox *outbox; /* NULL: to be opened again */
	struct outbox *past;   /* before the thread runs: what could be opened only to be read; NULL */
	int past_rc;	       /* neither could: why; 0: there was nothing to read */
	struct batch *unsaved;
	uint64_t save_next_ns;
	uint64_t tidy_next_ns;
	bool is_unsaved_told;
	struct alert
		*firing; /* what fires and was told: of the file, and of all that was handed over since */
	size_t firing_count;
	bool is_firing_read; /* from the file */
	struct channel *channels;
	size_t channel_count;		  /* those for messages come first */
	struct outbox_channel *addresses; /* of those */
	size_t address_count;
	struct alert_message *scratch;
};

/* delivery_channel.c: begin what an idle channel has to do now. */
void channel_begin(struct delivery *delivery, struct channel *channel);
/* What came of what is under way. */
void channel_end(struct delivery *delivery, struct channel *channel, const struct attempt *attempt);
/* The result of a try; one that can't be written is owed, so that what was delivered is not sent again. */
void channel_note_owed(struct delivery *delivery, struct channel *channel);
/* Stop what is under way; it was no try. */
void channel_cancel(struct channel *channel);
/* When it is to be looked at again; monotonic. */
uint64_t channel_due_ns(struct delivery *delivery, struct channel *channel);
void channel_publish(struct delivery *delivery, struct channel *channel);

/* delivery.c */
void delivery_event(struct delivery *delivery, enum event_severity severity, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* delivery.c: NULL is fine. */
void delivery_batch_free(struct batch *batch);

/* delivery_store.c: at the start. -errno with @why (DELIVERY_WHY_MAX). */
int delivery_open_file(struct delivery *delivery, char *why);
/* Store what is in memory, if it is time for it. */
void delivery_save(struct delivery *delivery);
/* What was handed over in @batch counts from now on for what fires. */
void delivery_note_firing(struct delivery *delivery, const struct batch *batch);
/* What fired before the start, once the file can be read. */
void delivery_recall_firing(struct delivery *delivery);
/* There is something to do for that, at save_next_ns. */
bool delivery_can_save(const struct delivery *delivery);
/* The file answered @rc: one that may keep failing for good is closed, to be opened again. */
void delivery_close_failed(struct delivery *delivery, int rc);
/* Some channel has not got the message of @batch. */
bool delivery_owes(const struct delivery *delivery, const struct batch *batch);
/* @channel has it now. */
void delivery_note_done(struct delivery *delivery, struct batch *batch, const struct channel *channel);

/* delivery_send.c: start to send; 0, or -errno with what is wrong in @why (ATTEMPT_TEXT_MAX). */
int channel_send(
	struct delivery *delivery, struct channel *channel, const struct alert_message *message, char *why);
int channel_ping(struct delivery *delivery, struct channel *channel, char *why);

#endif
