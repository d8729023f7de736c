/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How each kind of channel sends a message. */
#include "alert/delivery_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define API_PATH	 "/api/v2/alerts"
#define RESENDS_MISSED	 5 /* so many until an Alertmanager takes an alert for over */
#define COMPAT_ARGUMENTS 3 /* -s SUBJECT ADDRESS */
#define COMPAT_ADDRESS	 "root"

static struct body_context context_of(const struct delivery *delivery)
{
	return (struct body_context){ .host = delivery->host, .page_url = delivery->page_url };
}

static int request_begin(
	struct delivery *delivery, struct channel *channel, struct transfer_request *request, char *why)
{
	int rc;

	request->connect_ms = delivery->options.connect_ns / NS_PER_MS;
	request->deadline_ms = delivery->options.request_ns / NS_PER_MS;
	rc = transfer_begin(delivery->multi, request, &channel->transfer);
	if (rc < 0)
		(void)snprintf(
			why, ATTEMPT_TEXT_MAX, "%s", rc == -EINVAL ? "the URL can't be used" : strerror(-rc));
	return rc;
}

/* The interface may be given with its path or without. */
static void api_url(const char *webhook, struct text *out)
{
	size_t length = strlen(webhook);

	text_add(out, webhook);
	if (length >= strlen(API_PATH) && strcmp(webhook + length - strlen(API_PATH), API_PATH) == 0)
		return;
	if (length && webhook[length - 1] == '/')
		text_add(out, API_PATH + 1);
	else
		text_add(out, API_PATH);
}

/* ntfy takes JSON at the root of the server; the topic is the last part of the path. */
static void ntfy_url(const char *webhook, struct text *out, const char **topic)
{
	const char *slash = strrchr(webhook, '/');

	*topic = slash + 1;
	text_add_bytes(out, webhook, (size_t)(slash + 1 - webhook));
}

static int send_webhook(
	struct delivery *delivery, struct channel *channel, const struct alert_message *message, char *why)
{
	const struct config_notify *notify = channel->notify;
	const struct body_context context = context_of(delivery);
	const int64_t now_ms = clock_wall_ms();
	struct text url = TEXT_INIT, body = TEXT_INIT;
	struct transfer_request request = { .body = &body, .id = message->id };
	const char *topic;
	int rc;

	switch (notify->format) {
	case FORMAT_ALERTMANAGER:
		text_add(&url, notify->webhook);
		body_alertmanager(message, notify->name, &context, &body);
		break;
	case FORMAT_ALERTMANAGER_API:
		api_url(notify->webhook, &url);
		body_alertmanager_api(message, now_ms,
			now_ms + (int64_t)(delivery->options.resend_ns * RESENDS_MISSED / NS_PER_MS),
			&context, &body);
		break;
	case FORMAT_SLACK:
		text_add(&url, notify->webhook);
		body_slack(message, &context, &body);
		break;
	case FORMAT_NTFY:
		ntfy_url(notify->webhook, &url, &topic);
		body_ntfy(message, topic, &context, &body);
		break;
	}
	request.url = text_string(&url);
	rc = request_begin(delivery, channel, &request, why);
	text_fini(&url);
	text_fini(&body);
	return rc;
}

static int send_mail(
	struct delivery *delivery, struct channel *channel, const struct alert_message *message, char *why)
{
	const struct config_notify *notify = channel->notify;
	const char *from = *notify->mail_from ? notify->mail_from : delivery->sender;
	const struct body_context context = context_of(delivery);
	struct text url = TEXT_INIT, body = TEXT_INIT;
	struct transfer_request request = {
		.body = &body, .id = "", .mail_from = from, .mail_to = notify->mail_to
	};
	int rc;

	text_addf(&url, "%s%s", strstr(notify->smtp, "://") ? "" : "smtp://", notify->smtp);
	body_mail(message, from, notify->mail_to, &context, &body);
	request.url = text_string(&url);
	rc = request_begin(delivery, channel, &request, why);
	text_fini(&url);
	text_fini(&body);
	return rc;
}

static const char *device_of(const struct delivery *delivery, const char *name)
{
	const struct config_drive *drive = config_find_drive(delivery->options.config, name);

	return !drive ? "" : *drive->device ? drive->device : drive->directory;
}

static int send_command(
	struct delivery *delivery, struct channel *channel, const struct alert_message *message, char *why)
{
	const struct config_notify *notify = channel->notify;
	const struct body_context context = context_of(delivery);
	const char *address = *notify->mail_to ? notify->mail_to : COMPAT_ADDRESS;
	struct text environment = TEXT_INIT, body = TEXT_INIT, subject = TEXT_INIT;
	const char **argv = calloc(notify->command.count + COMPAT_ARGUMENTS + 1, sizeof(*argv));
	size_t count = 0;
	int rc = argv ? 0 : -ENOMEM;

	body_subject(message, &context, &subject);
	body_text(message, &context, &body);
	body_environment(message, &context, notify->smartd_compat,
		device_of(delivery, body_gravest(message)->alert.drive), address, &environment);
	for (size_t i = 0; rc == 0 && i < notify->command.count; i++)
		argv[count++] = notify->command.items[i];
	if (rc == 0 && notify->smartd_compat) {
		argv[count++] = "-s";
		argv[count++] = text_string(&subject);
		argv[count++] = address;
	}
	if (rc == 0)
		rc = command_begin(argv, &environment, &body, delivery->options.command_ns, &channel->left,
			&channel->command);
	if (rc == -EBUSY)
		(void)snprintf(why, ATTEMPT_TEXT_MAX, "%s: %d of it were killed and have not ended yet",
			notify->command.items[0], COMMAND_LEFT_MAX);
	else if (rc < 0)
		(void)snprintf(why, ATTEMPT_TEXT_MAX, "%s: %s", notify->command.items[0], strerror(-rc));
	text_fini(&environment);
	text_fini(&body);
	text_fini(&subject);
	free(argv);
	return rc;
}

int channel_send(
	struct delivery *delivery, struct channel *channel, const struct alert_message *message, char *why)
{
	if (channel->kind == CHANNEL_COMMAND)
		return send_command(delivery, channel, message, why);
	if (channel->kind == CHANNEL_MAIL)
		return send_mail(delivery, channel, message, why);
	return send_webhook(delivery, channel, message, why);
}

int channel_ping(struct delivery *delivery, struct channel *channel, char *why)
{
	struct transfer_request request = { .url = channel->notify->ping, .id = "" };

	return request_begin(delivery, channel, &request, why);
}
