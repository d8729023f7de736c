/* SPDX-License-Identifier: GPL-2.0-or-later */
/* delivery.h - one thread that brings messages to whoever is to know: it stores each durably before it sends it
 * (outbox.h), to every channel in order, at least once, and tries again with growing pauses until it is delivered or given
 * up. Each notify section has up to three channels (command, webhook, mail), and a ping that asks a URL as long as samples
 * come.
 *
 * No channel can hold another, nor whoever hands a message over: each has at most one try under way, all of them in one
 * poll (libcurl's multi interface; programs by their descriptors), each try with a deadline of its own. Within a channel a
 * message waits for those before it, unless the receiver refuses one as it is (HTTP 400, 413, 415, 422): that one is tried
 * again beside the others. When the file can't be written, messages are sent from memory, and stored when it can.
 *
 * Changes (first failure, recovery, given up) are events of kind "delivery"; a retry is none. */
#ifndef DRIVESOAK_DELIVERY_H
#define DRIVESOAK_DELIVERY_H

#include <stdbool.h>
#include <stdint.h>

#include "alert/alerts.h"
#include "alert/board.h"
#include "archive/archive.h"
#include "config/config.h"

#define DELIVERY_WHY_MAX   512
#define DELIVERY_QUEUE_MAX 64 /* handed over, not stored yet, and not told to every channel */

struct delivery_options {
	const struct config *config;
	const char *state_directory;
	struct archive *archive;   /* for the events; NULL: they are only logged */
	struct alert_board *board; /* with delivery_count_channels() channels; NULL: not told */
	const char *page_url;	   /* of the page of alerts, for links; NULL: none */
	/* 0: as in the comment. */
	uint64_t pause_first_ns, pause_most_ns; /* between tries: 5 s, doubled up to 15 min */
	uint64_t give_up_ns;			/* 3 days */
	uint64_t connect_ns, request_ns;	/* of a try over the network: 5 s, 20 s */
	uint64_t command_ns;			/* of a program: 30 s */
	uint64_t resend_ns;			/* what fires, to an Alertmanager: 1 min */
};

struct delivery;

/* Channels of the config, pings too. */
size_t delivery_count_channels(const struct config *config);

/* Open the file of alerts; a damaged one is put aside. Main thread. -errno with @why (DELIVERY_WHY_MAX). */
int delivery_new(const struct delivery_options *options, struct delivery **out, char *why);
/* Before the thread runs: each rule of each drive as it was last stored. -errno when not all can be read; a file that is
 * damaged is put aside then. */
int delivery_each_last(
	struct delivery *delivery, int (*each)(const struct alert *alert, void *arg), void *arg);
/* Likewise all episodes, newest first, at most @limit. */
int delivery_each_episode(struct delivery *delivery, size_t limit,
	int (*each)(const struct alert *alert, void *arg), void *arg);
/* Start the thread. 0 or -errno. */
int delivery_start(struct delivery *delivery);
/* Store what was handed over, let what is under way end for at most @timeout_ns, end the thread. False when it hangs in the
 * disk and was left behind. NULL is fine. */
bool delivery_stop(struct delivery *delivery, uint64_t timeout_ns);

/* Any thread. What is handed over is copied. */
bool delivery_has_room(struct delivery *delivery);
/* Alerts that changed and (or NULL) the message about them; both are stored together. False: no room or no memory. */
bool delivery_put(struct delivery *delivery, const struct alert *alerts, size_t count,
	const struct alert_message *message);
/* Send a test message over the channels of the notify section @name, or ("") over all. Its number, which the channels have
 * on the board once they are done; 0: no such section. It is tried once and not stored. */
uint64_t delivery_test(struct delivery *delivery, const char *name);
/* Samples come from whoever should give some: the pings go on for @fresh_ns. */
void delivery_note_alive(struct delivery *delivery, uint64_t fresh_ns);

#endif
