/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a channel does next, and what follows from how it went. */
#include "alert/delivery_private.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/log.h"

#define DOUBLINGS_MOST 20
#define IDLE_NS	       (60 * NS_PER_S)

/* Doubled with each try, and a quarter more or less, so that many do not come at once. */
static uint64_t pause_ns(const struct delivery *delivery, unsigned tries)
{
	const unsigned doublings = tries > DOUBLINGS_MOST ? DOUBLINGS_MOST : tries ? tries - 1 : 0;
	const uint64_t most = delivery->options.pause_most_ns;
	uint64_t pause = delivery->options.pause_first_ns << doublings;
	uint32_t chance = 0;

	(void)!getrandom(&chance, sizeof(chance), GRND_NONBLOCK);
	pause = pause < most ? pause : most;
	pause = (uint64_t)((double)pause * (0.75 + 0.5 * (double)chance / (double)UINT32_MAX));
	return pause < most ? pause : most;
}

void channel_publish(struct delivery *delivery, struct channel *channel)
{
	struct channel_status *status = &channel->status;
	struct outbox_queue queue = { 0 };

	if (channel->kind != CHANNEL_PING && delivery->outbox)
		(void)outbox_get_queue(delivery->outbox, &channel->id, &queue);
	status->queued = queue.queued;
	for (const struct batch *batch = delivery->unsaved; batch && channel->kind != CHANNEL_PING;
		batch = batch->next)
		status->queued += batch->message && !(batch->done >> channel->number & 1);
	status->is_failing = channel->is_failing;
	if (delivery->options.board)
		alert_board_put_channel(
			delivery->options.board, (size_t)(channel - delivery->channels), status);
}

static struct batch *loose_next(struct delivery *delivery, const struct channel *channel)
{
	for (struct batch *batch = delivery->unsaved; batch; batch = batch->next)
		if (batch->message && !(batch->done >> channel->number & 1))
			return batch;
	return NULL;
}

/* A clock that was set back must not make a message wait for the time to come again. */
static bool is_due(const struct delivery *delivery, const struct outbox_item *item, int64_t now_ms)
{
	return item->next_ms <= now_ms ||
	       item->next_ms > now_ms + (int64_t)(delivery->options.pause_most_ns / NS_PER_MS);
}

static bool stored_next(struct delivery *delivery, const struct channel *channel, struct outbox_item *item)
{
	return delivery->outbox && outbox_next(delivery->outbox, &channel->id, clock_wall_ms(), item) == 0;
}

static void test_message(struct delivery *delivery, uint64_t test, struct alert_message *out)
{
	struct alert *alert = &out->entries[0].alert;

	*alert = (struct alert){
		.rule = ALERT_RULE_TEST,
		.is_firing = true,
		.severity = EVENT_INFO,
		.since_ms = clock_wall_ms(),
		.until_ms = INT64_MIN,
		.value = NAN,
		.threshold = NAN,
	};
	(void)snprintf(alert->text, sizeof(alert->text),
		"this is a test of drivesoak on %s: nothing is wrong, and alerts arrive here",
		delivery->host);
	out->entries[0].note = ALERT_TEST;
	out->count = 1;
	out->t_ms = alert->since_ms;
	(void)snprintf(
		out->id, sizeof(out->id), "test-%llu-%lld", (unsigned long long)test, (long long)out->t_ms);
}

static int firing_add(const struct alert *alert, void *arg)
{
	struct alert_message *message = arg;

	message->entries[message->count++] = (struct alert_entry){ .note = ALERT_REPEATED, .alert = *alert };
	return message->count == ALERTS_MESSAGE_MAX;
}

static bool firing_message(struct delivery *delivery, struct alert_message *out)
{
	out->count = 0;
	out->id[0] = '\0';
	out->t_ms = clock_wall_ms();
	if (delivery->outbox)
		(void)outbox_each_firing(delivery->outbox, firing_add, out);
	return out->count > 0;
}

/* The file failed: leave it alone for a while. What was sent and not noted is sent again, under the same id. */
static void hold(struct delivery *delivery, struct channel *channel)
{
	log_warning("%s: %s", delivery->path, outbox_error(delivery->outbox));
	channel->hold_ns = clock_mono_ns() + delivery->options.pause_first_ns;
}

/* What there is to do now, with the message of it in scratch; JOB_NONE. */
static enum job next_job(struct delivery *delivery, struct channel *channel)
{
	const uint64_t now_ns = clock_mono_ns();
	struct alert_message *message = delivery->scratch;

	if (channel->test > channel->tests_done) {
		test_message(delivery, channel->test, message);
		return JOB_TEST;
	}
	if (channel->kind == CHANNEL_PING)
		return now_ns >= channel->next_ns && now_ns < atomic_load(&delivery->alive_until_ns)
			       ? JOB_PING
			       : JOB_NONE;
	if (stored_next(delivery, channel, &channel->item)) {
		if (!is_due(delivery, &channel->item, clock_wall_ms()) || now_ns < channel->hold_ns)
			return JOB_NONE;
		if (outbox_get_message(delivery->outbox, channel->item.message, message) == 0)
			return JOB_STORED;
		hold(delivery, channel);
		return JOB_NONE;
	}
	channel->loose = loose_next(delivery, channel);
	if (channel->loose) {
		*message = *channel->loose->message;
		return now_ns >= channel->next_ns ? JOB_LOOSE : JOB_NONE;
	}
	if (channel->kind == CHANNEL_WEBHOOK && channel->notify->format == FORMAT_ALERTMANAGER_API &&
		now_ns >= channel->resend_ns) {
		channel->resend_ns = now_ns + delivery->options.resend_ns;
		return firing_message(delivery, message) ? JOB_RESEND : JOB_NONE;
	}
	return JOB_NONE;
}

bool channel_begin(struct delivery *delivery, struct channel *channel)
{
	struct attempt attempt = { 0 };
	int rc;

	channel->job = next_job(delivery, channel);
	if (channel->job == JOB_NONE)
		return false;
	text_copy(channel->id_text, sizeof(channel->id_text), delivery->scratch->id);
	if (channel->job == JOB_STORED && delivery->scratch->count == 0) {
		/* Only what a newer program knows was in it. */
		text_copy(attempt.text, sizeof(attempt.text), "nothing in it that this version knows");
		attempt.is_ok = true;
		channel_end(delivery, channel, &attempt);
		return true;
	}
	rc = channel->job == JOB_PING || (channel->job == JOB_TEST && channel->kind == CHANNEL_PING)
		     ? channel_ping(delivery, channel, attempt.text)
		     : channel_send(delivery, channel, delivery->scratch, attempt.text);
	if (rc < 0)
		channel_end(delivery, channel, &attempt);
	return true;
}

void channel_cancel(struct channel *channel)
{
	transfer_free(channel->transfer);
	command_free(channel->command);
	channel->transfer = NULL;
	channel->command = NULL;
	channel->job = JOB_NONE;
}

static void note_change(struct delivery *delivery, struct channel *channel, const struct attempt *attempt)
{
	if (channel->is_failing == !attempt->is_ok)
		return;
	channel->is_failing = !attempt->is_ok;
	if (attempt->is_ok)
		delivery_event(delivery, EVENT_INFO, "%s (%s): delivers again: %s", channel->id.name,
			channel->id.kind, attempt->text);
	else
		delivery_event(delivery, EVENT_WARNING,
			"%s (%s): can't deliver: %s; tried again with growing pauses", channel->id.name,
			channel->id.kind, attempt->text);
}

/* A refusal is of the message: the channel itself works. */
static void note_refusal(struct delivery *delivery, struct channel *channel, const struct attempt *attempt)
{
	if (channel->item.tries == 0)
		delivery_event(delivery, EVENT_WARNING,
			"%s (%s): the receiver refuses message %s: %s; tried again with growing pauses",
			channel->id.name, channel->id.kind, channel->id_text, attempt->text);
}

static void end_stored(struct delivery *delivery, struct channel *channel, const struct attempt *attempt)
{
	const struct outbox_item *item = &channel->item;
	struct outbox_result result = {
		.state = attempt->is_ok ? OUTBOX_DELIVERED : OUTBOX_WAITING,
		.is_refused = attempt->is_refused,
		.tries = item->tries + 1,
		.t_ms = clock_wall_ms(),
	};

	text_copy(result.text, sizeof(result.text), attempt->text);
	result.next_ms = result.t_ms + (int64_t)(pause_ns(delivery, result.tries) / NS_PER_MS);
	if (attempt->is_refused)
		note_refusal(delivery, channel, attempt);
	else
		note_change(delivery, channel, attempt);
	if (!attempt->is_ok &&
		result.t_ms - item->t_ms >= (int64_t)(delivery->options.give_up_ns / NS_PER_MS)) {
		result.state = OUTBOX_GIVEN_UP;
		delivery_event(delivery, EVENT_CRITICAL, "%s (%s): message %s is given up after %u tries: %s",
			channel->id.name, channel->id.kind, channel->id_text, result.tries, attempt->text);
	}
	if (delivery->outbox && outbox_note(delivery->outbox, &channel->id, item->message, &result) < 0)
		hold(delivery, channel);
}

/* Of what is not in the file: how it went decides when it is tried again. */
static void end_unstored(
	struct delivery *delivery, struct channel *channel, const struct attempt *attempt, uint64_t every_ns)
{
	note_change(delivery, channel, attempt);
	channel->tries = attempt->is_ok ? 0 : channel->tries + 1;
	channel->next_ns = clock_mono_ns();
	if (attempt->is_ok)
		channel->next_ns += every_ns;
	else if (every_ns)
		channel->next_ns += pause_ns(delivery, channel->tries) < every_ns
					    ? pause_ns(delivery, channel->tries)
					    : every_ns;
	else
		channel->next_ns += pause_ns(delivery, channel->tries);
}

static void end_test(struct channel *channel, const struct attempt *attempt)
{
	struct channel_status *status = &channel->status;

	channel->tests_done = status->test = channel->test;
	status->is_test_ok = attempt->is_ok;
	text_copy(status->test_result, sizeof(status->test_result), attempt->text);
}

void channel_end(struct delivery *delivery, struct channel *channel, const struct attempt *attempt)
{
	const enum job job = channel->job;

	channel_cancel(channel);
	switch (job) {
	case JOB_STORED:
		end_stored(delivery, channel, attempt);
		break;
	case JOB_LOOSE:
		if (attempt->is_ok)
			channel->loose->done |= 1ULL << channel->number;
		end_unstored(delivery, channel, attempt, 0);
		break;
	case JOB_PING:
		end_unstored(delivery, channel, attempt, channel->notify->ping_interval_ns);
		break;
	case JOB_RESEND:
		note_change(delivery, channel, attempt);
		break;
	case JOB_TEST:
		end_test(channel, attempt);
		break;
	case JOB_NONE:
		return;
	}
	channel->status.last_ms = clock_wall_ms();
	text_copy(channel->status.result, sizeof(channel->status.result), attempt->text);
	channel_publish(delivery, channel);
}

static uint64_t ns_until(int64_t ms, int64_t now_ms)
{
	return ms > now_ms ? (uint64_t)(ms - now_ms) * NS_PER_MS : 0;
}

uint64_t channel_due_ns(struct delivery *delivery, struct channel *channel)
{
	const uint64_t now_ns = clock_mono_ns();
	uint64_t due_ns = now_ns + IDLE_NS;
	struct outbox_item item;

	if (channel->command)
		return command_deadline_ns(channel->command);
	if (channel->job != JOB_NONE) /* libcurl knows when */
		return due_ns;
	if (channel->kind == CHANNEL_PING)
		return now_ns < atomic_load(&delivery->alive_until_ns) ? channel->next_ns : due_ns;
	if (stored_next(delivery, channel, &item)) {
		due_ns = now_ns + ns_until(item.next_ms, clock_wall_ms());
		due_ns = due_ns > channel->hold_ns ? due_ns : channel->hold_ns;
	} else if (loose_next(delivery, channel)) {
		due_ns = channel->next_ns;
	}
	if (channel->kind == CHANNEL_WEBHOOK && channel->notify->format == FORMAT_ALERTMANAGER_API &&
		channel->resend_ns < due_ns)
		due_ns = channel->resend_ns;
	return due_ns;
}
