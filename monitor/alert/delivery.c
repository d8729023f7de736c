/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "alert/delivery_private.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

#define POLL_MOST_MS 60000
#define FDS_MAX	     (COMMAND_FDS * 3 * CONFIG_NOTIFIES_MAX)
#define DONE_BITS    64

_Static_assert(3 * CONFIG_NOTIFIES_MAX <= DONE_BITS, "a bit for each channel that takes messages");

static const struct {
	const char *kind;
	bool takes_messages;
} kinds[] = {
	[CHANNEL_COMMAND] = { "command", true },
	[CHANNEL_WEBHOOK] = { "webhook", true },
	[CHANNEL_MAIL] = { "mail", true },
	[CHANNEL_PING] = { "ping", false },
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static bool has_kind(const struct config_notify *notify, enum channel_kind kind)
{
	switch (kind) {
	case CHANNEL_COMMAND:
		return notify->command.count > 0;
	case CHANNEL_WEBHOOK:
		return *notify->webhook;
	case CHANNEL_MAIL:
		return *notify->mail_to;
	case CHANNEL_PING:
		return *notify->ping;
	}
	return false;
}

size_t delivery_count_channels(const struct config *config)
{
	size_t count = 0;

	for (size_t i = 0; i < config->notify_count; i++)
		for (size_t kind = 0; kind < KINDS; kind++)
			count += has_kind(&config->notifies[i], (enum channel_kind)kind);
	return count;
}

void delivery_event(struct delivery *delivery, enum event_severity severity, const char *format, ...)
{
	struct event_record event = {
		.t_ms = clock_wall_ms(),
		.until_ms = INT64_MIN,
		.kind = "delivery",
		.severity = severity,
	};
	va_list args;

	va_start(args, format);
	(void)vsnprintf(event.text, sizeof(event.text), format, args);
	va_end(args);
	log_line(severity == EVENT_INFO ? LOG_LEVEL_NOTICE : LOG_LEVEL_WARNING, "%s", event.text);
	if (delivery->options.archive)
		(void)archive_put_event(delivery->options.archive, &event);
}

static void channels_add(struct delivery *delivery, bool takes_messages)
{
	const struct config *config = delivery->options.config;

	for (size_t i = 0; i < config->notify_count; i++)
		for (size_t kind = 0; kind < KINDS; kind++) {
			struct channel *channel = &delivery->channels[delivery->channel_count];

			if (kinds[kind].takes_messages != takes_messages ||
				!has_kind(&config->notifies[i], (enum channel_kind)kind))
				continue;
			channel->kind = (enum channel_kind)kind;
			channel->notify = &config->notifies[i];
			channel->number = delivery->channel_count++;
			text_copy(channel->id.name, sizeof(channel->id.name), config->notifies[i].name);
			text_copy(channel->id.kind, sizeof(channel->id.kind), kinds[kind].kind);
			text_copy(channel->status.name, sizeof(channel->status.name), channel->id.name);
			text_copy(channel->status.kind, sizeof(channel->status.kind), channel->id.kind);
			channel->status.last_ms = INT64_MIN;
			if (takes_messages)
				delivery->addresses[delivery->address_count++] = channel->id;
		}
}

static int channels_new(struct delivery *delivery)
{
	const size_t count = delivery_count_channels(delivery->options.config);

	delivery->channels = calloc(count + 1, sizeof(*delivery->channels));
	delivery->addresses = calloc(count + 1, sizeof(*delivery->addresses));
	delivery->scratch = calloc(1, sizeof(*delivery->scratch));
	if (!delivery->channels || !delivery->addresses || !delivery->scratch)
		return -ENOMEM;
	channels_add(delivery, true);
	channels_add(delivery, false);
	return 0;
}

static void recall_channels(struct delivery *delivery)
{
	for (size_t i = 0; i < delivery->channel_count; i++) {
		struct channel *channel = &delivery->channels[i];
		struct outbox_queue queue;

		if (delivery->outbox && outbox_get_queue(delivery->outbox, &channel->id, &queue) == 0) {
			channel->is_failing = queue.tries > 0;
			channel->status.last_ms = queue.last_ms;
			text_copy(channel->status.result, sizeof(channel->status.result), queue.last_text);
		}
		channel_publish(delivery, channel);
	}
}

static void defaults_set(struct delivery_options *options)
{
	static const struct {
		size_t offset;
		uint64_t ns;
	} rows[] = {
		{ offsetof(struct delivery_options, pause_first_ns), 5 * NS_PER_S },
		{ offsetof(struct delivery_options, pause_most_ns), 15 * 60 * NS_PER_S },
		{ offsetof(struct delivery_options, give_up_ns), 3 * 86400 * NS_PER_S },
		{ offsetof(struct delivery_options, connect_ns), 5 * NS_PER_S },
		{ offsetof(struct delivery_options, request_ns), 20 * NS_PER_S },
		{ offsetof(struct delivery_options, command_ns), 30 * NS_PER_S },
		{ offsetof(struct delivery_options, resend_ns), 60 * NS_PER_S },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t *ns = (uint64_t *)(void *)((char *)options + rows[i].offset);

		*ns = *ns ? *ns : rows[i].ns;
	}
}

void delivery_batch_free(struct batch *batch)
{
	if (!batch)
		return;
	free(batch->alerts);
	free(batch->message);
	free(batch);
}

static void delivery_free(struct delivery *delivery)
{
	struct batch *lists[] = { delivery->given, delivery->unsaved };

	for (size_t i = 0; i < delivery->channel_count; i++)
		channel_cancel(&delivery->channels[i]);
	for (size_t i = 0; i < 2; i++)
		while (lists[i]) {
			struct batch *next = lists[i]->next;

			delivery_batch_free(lists[i]);
			lists[i] = next;
		}
	outbox_close(delivery->past);
	outbox_close(delivery->outbox);
	(void)curl_multi_cleanup(delivery->multi);
	(void)pthread_mutex_destroy(&delivery->mutex);
	free(delivery->firing);
	free(delivery->channels);
	free(delivery->addresses);
	free(delivery->scratch);
	free(delivery);
}

int delivery_new(const struct delivery_options *options, struct delivery **out, char *why)
{
	struct delivery *delivery = calloc(1, sizeof(*delivery));
	int rc;

	(void)snprintf(why, DELIVERY_WHY_MAX, "out of memory");
	if (!delivery)
		return -ENOMEM;
	delivery->options = *options;
	defaults_set(&delivery->options);
	delivery->given_end = &delivery->given;
	(void)pthread_mutex_init(&delivery->mutex, NULL);
	(void)gethostname(delivery->host, sizeof(delivery->host) - 1);
	(void)snprintf(delivery->sender, sizeof(delivery->sender), "drivesoak@%s", delivery->host);
	text_copy(delivery->page_url, sizeof(delivery->page_url), options->page_url ? options->page_url : "");
	(void)snprintf(delivery->path, sizeof(delivery->path), "%s/" OUTBOX_FILE, options->state_directory);
	rc = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK ? channels_new(delivery) : -ENOMEM;
	if (rc == 0) {
		delivery->multi = curl_multi_init();
		rc = delivery->multi ? delivery_open_file(delivery, why) : -ENOMEM;
	}
	if (rc < 0) {
		delivery_free(delivery);
		return rc;
	}
	recall_channels(delivery);
	*out = delivery;
	return 0;
}

/* ------------------------------------------------------------------------------------------- what crosses */

static void wake(struct delivery *delivery)
{
	(void)curl_multi_wakeup(delivery->multi);
}

static bool has_room_now(const struct delivery *delivery)
{
	return delivery->given_count < DELIVERY_QUEUE_MAX && delivery->given_length < DELIVERY_QUEUE_MAX;
}

bool delivery_has_room(struct delivery *delivery)
{
	bool has_room;

	(void)pthread_mutex_lock(&delivery->mutex);
	has_room = has_room_now(delivery);
	(void)pthread_mutex_unlock(&delivery->mutex);
	return has_room;
}

static struct batch *batch_new(const struct alert *alerts, size_t count, const struct alert_message *message)
{
	struct batch *batch = calloc(1, sizeof(*batch));

	if (!batch)
		return NULL;
	batch->alerts = calloc(count + 1, sizeof(*batch->alerts));
	batch->message = message ? malloc(sizeof(*message)) : NULL;
	if (!batch->alerts || (message && !batch->message)) {
		delivery_batch_free(batch);
		return NULL;
	}
	batch->alert_count = count;
	for (size_t i = 0; i < count; i++)
		batch->alerts[i] = alerts[i];
	if (message)
		*batch->message = *message;
	return batch;
}

bool delivery_put(struct delivery *delivery, const struct alert *alerts, size_t count,
	const struct alert_message *message)
{
	struct batch *batch = batch_new(alerts, count, message);
	bool has_room;

	if (!batch)
		return false;
	/* The same however often and from wherever it is sent. */
	if (batch->message && outbox_draw_id(batch->message) < 0) {
		delivery_batch_free(batch);
		return false;
	}
	(void)pthread_mutex_lock(&delivery->mutex);
	has_room = has_room_now(delivery);
	if (has_room) {
		*delivery->given_end = batch;
		delivery->given_end = &batch->next;
		delivery->given_length++;
		delivery->given_count += delivery_owes(delivery, batch);
	}
	(void)pthread_mutex_unlock(&delivery->mutex);
	if (has_room)
		wake(delivery);
	else
		delivery_batch_free(batch);
	return has_room;
}

uint64_t delivery_test(struct delivery *delivery, const char *name)
{
	uint64_t test = 0;

	(void)pthread_mutex_lock(&delivery->mutex);
	for (size_t i = 0; i < delivery->channel_count; i++) {
		struct channel *channel = &delivery->channels[i];

		if (!*name || strcmp(channel->notify->name, name) == 0)
			channel->test_asked = test = delivery->test + 1;
	}
	if (test)
		delivery->test = test;
	(void)pthread_mutex_unlock(&delivery->mutex);
	wake(delivery);
	return test;
}

void delivery_note_alive(struct delivery *delivery, uint64_t fresh_ns)
{
	const uint64_t now_ns = clock_mono_ns();
	const bool was_silent = atomic_load(&delivery->alive_until_ns) <= now_ns;

	atomic_store(&delivery->alive_until_ns, now_ns + fresh_ns);
	if (was_silent)
		wake(delivery);
}

/* -------------------------------------------------------------------------------------------- the thread */

static void take_given(struct delivery *delivery)
{
	struct batch **end = &delivery->unsaved, *batch;

	while (*end)
		end = &(*end)->next;
	(void)pthread_mutex_lock(&delivery->mutex);
	*end = delivery->given;
	delivery->given = NULL;
	delivery->given_end = &delivery->given;
	delivery->given_length = 0;
	for (size_t i = 0; i < delivery->channel_count; i++)
		delivery->channels[i].test = delivery->channels[i].test_asked;
	(void)pthread_mutex_unlock(&delivery->mutex);
	for (batch = *end; batch; batch = batch->next)
		delivery_note_firing(delivery, batch);
}

static void look_at_transfers(struct delivery *delivery)
{
	struct CURLMsg *message;
	int left;

	(void)curl_multi_perform(delivery->multi, &left);
	while ((message = curl_multi_info_read(delivery->multi, &left)) != NULL) {
		for (size_t i = 0; message->msg == CURLMSG_DONE && i < delivery->channel_count; i++) {
			struct channel *channel = &delivery->channels[i];
			struct attempt attempt;

			if (!transfer_is(channel->transfer, message->easy_handle))
				continue;
			transfer_result(channel->transfer, message->data.result, &attempt);
			channel_end(delivery, channel, &attempt);
			break;
		}
	}
}

static void look_at_commands(struct delivery *delivery)
{
	for (size_t i = 0; i < delivery->channel_count; i++) {
		struct channel *channel = &delivery->channels[i];
		struct attempt attempt;

		command_reap_left(&channel->left);
		if (channel->command && command_look(channel->command, &attempt))
			channel_end(delivery, channel, &attempt);
	}
}

static void wait_for_news(struct delivery *delivery)
{
	const bool is_stopping = atomic_load(&delivery->is_stopping);
	struct curl_waitfd fds[FDS_MAX];
	unsigned fd_count = 0;
	uint64_t now_ns = clock_mono_ns(), due_ns = now_ns + POLL_MOST_MS * NS_PER_MS, left_ms;

	for (size_t i = 0; i < delivery->channel_count; i++) {
		struct channel *channel = &delivery->channels[i];
		/* Nothing is begun any more once it stops. */
		const uint64_t channel_ns = is_stopping && channel->job == JOB_NONE
						    ? due_ns
						    : channel_due_ns(delivery, channel);

		due_ns = channel_ns < due_ns ? channel_ns : due_ns;
		if (channel->command)
			fd_count += command_wait_fds(channel->command, fds + fd_count);
	}
	if (delivery_can_save(delivery) && delivery->save_next_ns < due_ns)
		due_ns = delivery->save_next_ns;
	if (is_stopping && due_ns > now_ns + 50 * NS_PER_MS)
		due_ns = now_ns + 50 * NS_PER_MS;
	/* Rounded up, or the last millisecond would be spent in a spin. */
	left_ms = due_ns > now_ns ? (due_ns - now_ns) / NS_PER_MS + 1 : 0;
	(void)curl_multi_poll(delivery->multi, fds, fd_count, (int)left_ms, NULL);
}

static bool is_idle(const struct delivery *delivery)
{
	for (size_t i = 0; i < delivery->channel_count; i++)
		if (delivery->channels[i].job != JOB_NONE)
			return false;
	return true;
}

/* False when the thread should end. */
static bool work_once(struct delivery *delivery, uint64_t stop_ns)
{
	const bool is_stopping = atomic_load(&delivery->is_stopping);

	take_given(delivery);
	delivery_save(delivery);
	for (size_t i = 0; i < delivery->channel_count && !is_stopping; i++)
		if (delivery->channels[i].job == JOB_NONE)
			channel_begin(delivery, &delivery->channels[i]);
	look_at_transfers(delivery);
	look_at_commands(delivery);
	if (is_stopping && (is_idle(delivery) || clock_mono_ns() >= stop_ns))
		return false;
	wait_for_news(delivery);
	return true;
}

#define STOP_GRACE_NS (2 * NS_PER_S)

static void *run_thread(void *arg)
{
	struct delivery *delivery = arg;
	uint64_t stop_ns = UINT64_MAX;

	while (work_once(delivery, stop_ns))
		if (stop_ns == UINT64_MAX && atomic_load(&delivery->is_stopping))
			stop_ns = clock_mono_ns() + STOP_GRACE_NS;
	for (size_t i = 0; i < delivery->channel_count; i++)
		channel_cancel(&delivery->channels[i]);
	delivery->save_next_ns = 0;
	take_given(delivery);
	delivery_save(delivery);
	for (size_t i = 0; i < delivery->channel_count; i++)
		if (delivery->channels[i].owes_result && delivery->outbox)
			channel_note_owed(delivery, &delivery->channels[i]);
	return NULL;
}

int delivery_start(struct delivery *delivery)
{
	sigset_t all, before;
	int rc;

	delivery_recall_firing(delivery);
	outbox_close(delivery->past);
	delivery->past = NULL;
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = -pthread_create(&delivery->thread, NULL, run_thread, delivery);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	delivery->is_running = rc == 0;
	return rc;
}

bool delivery_stop(struct delivery *delivery, uint64_t timeout_ns)
{
	struct timespec until;

	if (!delivery)
		return true;
	if (delivery->is_running) {
		atomic_store(&delivery->is_stopping, true);
		wake(delivery);
		(void)clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec += (time_t)(timeout_ns / NS_PER_S) + 1;
		if (pthread_timedjoin_np(delivery->thread, NULL, &until) != 0) {
			(void)pthread_detach(delivery->thread);
			return false; /* it hangs in the disk: what it uses must stay */
		}
	}
	delivery_free(delivery);
	return true;
}
