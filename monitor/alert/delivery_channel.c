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

/* What fires, a message after the other when it does not fit into one; of the file and of what is not in it yet. */
static bool firing_message(struct delivery *delivery, struct channel *channel, struct alert_message *out)
{
	out->count = 0;
	out->id[0] = '\0';
	out->t_ms = clock_wall_ms();
	delivery_recall_firing(delivery);
	for (size_t i = channel->resent; i < delivery->firing_count && out->count < ALERTS_MESSAGE_MAX; i++)
		out->entries[out->count++] = (struct alert_entry){ .note = ALERT_REPEATED,
			.alert = delivery->firing[i] };
	channel->resent += out->count;
	if (out->count < ALERTS_MESSAGE_MAX) {
		channel->resent = 0;
		channel->resend_ns = clock_mono_ns() + delivery->options.resend_ns;
	}
	return out->count > 0;
}

/* The file failed: leave it alone for a while. */
static void hold(struct delivery *delivery, struct channel *channel, int rc)
{
	if (!channel->is_hold_told)
		log_warning("%s (%s): %s: %s", channel->id.name, channel->id.kind, delivery->path,
			outbox_error(delivery->outbox));
	channel->is_hold_told = true;
	channel->hold_ns = clock_mono_ns() + delivery->options.pause_first_ns;
	delivery_close_failed(delivery, rc);
}

void channel_note_owed(struct delivery *delivery, struct channel *channel)
{
	int rc = outbox_note(delivery->outbox, &channel->id, channel->item.message, &channel->result);

	channel->owes_result = rc < 0;
	if (rc < 0)
		hold(delivery, channel, rc);
	else
		channel->is_hold_told = false;
}

/* What a channel could do, and from when on; monotonic. */
struct step {
	enum job job;
	uint64_t due_ns;
};

#define NEVER ((struct step){ JOB_NONE, UINT64_MAX })

/* The more urgent one when its time has come, else whichever comes first. */
static struct step step_choose(struct step urgent, struct step other, uint64_t now_ns)
{
	return urgent.due_ns <= now_ns || urgent.due_ns <= other.due_ns ? urgent : other;
}

/* A clock that was set back must not make a message wait for the time to come again. */
static uint64_t item_due_ns(const struct delivery *delivery, const struct outbox_item *item, uint64_t now_ns)
{
	const int64_t now_ms = clock_wall_ms();

	if (item->next_ms <= now_ms ||
		item->next_ms > now_ms + (int64_t)(delivery->options.pause_most_ns / NS_PER_MS))
		return now_ns;
	return now_ns + (uint64_t)(item->next_ms - now_ms) * NS_PER_MS;
}

/* While a result is owed only the message of it may be tried again, and only if it was not delivered. */
static struct step stored_step(struct delivery *delivery, struct channel *channel, uint64_t now_ns)
{
	uint64_t due_ns;

	if (!delivery->outbox)
		return NEVER;
	if (!channel->owes_result) {
		if (outbox_next(delivery->outbox, &channel->id, clock_wall_ms(), &channel->item) < 0)
			return NEVER;
	} else if (channel->result.state == OUTBOX_WAITING) {
		channel->item.tries = channel->result.tries;
		channel->item.next_ms = channel->result.next_ms;
		channel->item.is_refused = channel->result.is_refused;
	} else {
		return NEVER;
	}
	due_ns = item_due_ns(delivery, &channel->item, now_ns);
	if (!channel->owes_result && channel->hold_ns > due_ns)
		due_ns = channel->hold_ns;
	return (struct step){ JOB_STORED, due_ns };
}

static struct step message_step(struct delivery *delivery, struct channel *channel, uint64_t now_ns)
{
	struct step step = stored_step(delivery, channel, now_ns);

	/* In order; but where the file can't be written, what is in memory need not wait for what is in it. */
	if (step.job == JOB_NONE || channel->owes_result) {
		channel->loose = loose_next(delivery, channel);
		if (channel->loose)
			step = step_choose(step, (struct step){ JOB_LOOSE, channel->next_ns }, now_ns);
	}
	if (channel->owes_result && delivery->outbox)
		step = step_choose((struct step){ JOB_NOTE, channel->hold_ns }, step, now_ns);
	return step;
}

static struct step next_step(struct delivery *delivery, struct channel *channel)
{
	const uint64_t now_ns = clock_mono_ns();
	struct step step;

	if (channel->test > channel->tests_done)
		return (struct step){ JOB_TEST, now_ns };
	if (channel->kind == CHANNEL_PING)
		return now_ns < atomic_load(&delivery->alive_until_ns)
			       ? (struct step){ JOB_PING, channel->next_ns }
			       : NEVER;
	step = message_step(delivery, channel, now_ns);
	if (channel->kind == CHANNEL_WEBHOOK && channel->notify->format == FORMAT_ALERTMANAGER_API)
		step = step_choose(step, (struct step){ JOB_RESEND, channel->resend_ns }, now_ns);
	return step;
}

/* Nobody can read it any more: the others must not wait for it. */
static void give_up_unreadable(struct delivery *delivery, struct channel *channel, int rc)
{
	channel->result = (struct outbox_result){
		.state = OUTBOX_GIVEN_UP, .tries = channel->item.tries, .t_ms = clock_wall_ms()
	};
	(void)snprintf(channel->result.text, sizeof(channel->result.text), "the message can't be read: %s",
		rc == -ENOENT ? "it is not in the file" : outbox_error(delivery->outbox));
	delivery_event(delivery, EVENT_CRITICAL, "%s (%s): message number %lld of %s is given up: %s",
		channel->id.name, channel->id.kind, (long long)channel->item.message, delivery->path,
		channel->result.text);
	channel_note_owed(delivery, channel);
	channel_publish(delivery, channel);
}

static bool stored_message(struct delivery *delivery, struct channel *channel)
{
	int rc = outbox_get_message(delivery->outbox, channel->item.message, delivery->scratch);

	if (rc == -ENOENT || rc == -EBADMSG)
		give_up_unreadable(delivery, channel, rc);
	else if (rc < 0)
		hold(delivery, channel, rc);
	return rc == 0;
}

/* What there is to do now, with the message of it in scratch; JOB_NONE. */
static enum job next_job(struct delivery *delivery, struct channel *channel)
{
	const struct step step = next_step(delivery, channel);

	if (step.due_ns > clock_mono_ns())
		return JOB_NONE;
	switch (step.job) {
	case JOB_TEST:
		channel->test_sent = channel->test;
		test_message(delivery, channel->test, delivery->scratch);
		return JOB_TEST;
	case JOB_NOTE:
		channel_note_owed(delivery, channel);
		channel_publish(delivery, channel);
		return JOB_NONE;
	case JOB_STORED:
		return stored_message(delivery, channel) ? JOB_STORED : JOB_NONE;
	case JOB_LOOSE:
		*delivery->scratch = *channel->loose->message;
		return JOB_LOOSE;
	case JOB_RESEND:
		return firing_message(delivery, channel, delivery->scratch) ? JOB_RESEND : JOB_NONE;
	case JOB_PING:
	case JOB_NONE:
		break;
	}
	return step.job;
}

void channel_begin(struct delivery *delivery, struct channel *channel)
{
	struct attempt attempt = { 0 };
	int rc;

	channel->job = next_job(delivery, channel);
	if (channel->job == JOB_NONE)
		return;
	text_copy(channel->id_text, sizeof(channel->id_text), delivery->scratch->id);
	if (channel->job == JOB_STORED && delivery->scratch->count == 0) {
		/* Only what a newer program knows was in it. */
		text_copy(attempt.text, sizeof(attempt.text), "nothing in it that this version knows");
		attempt.is_ok = true;
		channel_end(delivery, channel, &attempt);
		return;
	}
	rc = channel->job == JOB_PING || (channel->job == JOB_TEST && channel->kind == CHANNEL_PING)
		     ? channel_ping(delivery, channel, attempt.text)
		     : channel_send(delivery, channel, delivery->scratch, attempt.text);
	if (rc < 0)
		channel_end(delivery, channel, &attempt);
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
	if (attempt->is_ok)
		channel->failing_ns = 0;
	else if (!channel->failing_ns)
		channel->failing_ns = clock_mono_ns();
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
	if (!channel->item.is_refused)
		delivery_event(delivery, EVENT_WARNING,
			"%s (%s): the receiver refuses message %s: %s; tried again with growing pauses",
			channel->id.name, channel->id.kind, channel->id_text, attempt->text);
}

/* A message that is only old, after days without power or a step of the clock, has not been tried for so long. */
static bool is_tried_enough(const struct delivery *delivery, const struct channel *channel)
{
	const struct delivery_options *options = &delivery->options;

	return channel->result.t_ms - channel->item.t_ms >= (int64_t)(options->give_up_ns / NS_PER_MS) &&
	       (channel->result.tries >= options->give_up_ns / options->pause_most_ns ||
		       (channel->failing_ns && clock_mono_ns() - channel->failing_ns >= options->give_up_ns));
}

static void end_stored(struct delivery *delivery, struct channel *channel, const struct attempt *attempt)
{
	struct outbox_result *result = &channel->result;

	*result = (struct outbox_result){
		.state = attempt->is_ok ? OUTBOX_DELIVERED : OUTBOX_WAITING,
		.is_refused = attempt->is_refused,
		.tries = channel->item.tries + 1,
		.t_ms = clock_wall_ms(),
	};
	text_copy(result->text, sizeof(result->text), attempt->text);
	result->next_ms = result->t_ms + (int64_t)(pause_ns(delivery, result->tries) / NS_PER_MS);
	if (attempt->is_refused)
		note_refusal(delivery, channel, attempt);
	else
		note_change(delivery, channel, attempt);
	if (!attempt->is_ok && is_tried_enough(delivery, channel)) {
		result->state = OUTBOX_GIVEN_UP;
		delivery_event(delivery, EVENT_CRITICAL, "%s (%s): message %s is given up after %u tries: %s",
			channel->id.name, channel->id.kind, channel->id_text, result->tries, attempt->text);
	}
	channel->owes_result = true;
	if (delivery->outbox)
		channel_note_owed(delivery, channel);
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

	channel->tests_done = status->test = channel->test_sent;
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
			delivery_note_done(delivery, channel->loose, channel);
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
	case JOB_NOTE:
	case JOB_NONE:
		return;
	}
	channel->status.last_ms = clock_wall_ms();
	text_copy(channel->status.result, sizeof(channel->status.result), attempt->text);
	channel_publish(delivery, channel);
}

uint64_t channel_due_ns(struct delivery *delivery, struct channel *channel)
{
	const uint64_t idle_ns = clock_mono_ns() + IDLE_NS;
	uint64_t due_ns;

	if (channel->command)
		return command_deadline_ns(channel->command);
	if (channel->job != JOB_NONE) /* libcurl knows when */
		return idle_ns;
	due_ns = next_step(delivery, channel).due_ns;
	return due_ns < idle_ns ? due_ns : idle_ns;
}
