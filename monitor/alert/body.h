/* SPDX-License-Identifier: GPL-2.0-or-later */
/* body.h - one message in the words of each receiver: Alertmanager's webhook (version 4) and its interface, Slack, ntfy,
 * mail, and the environment of a command. Labels, models and texts come from drives and users and are hostile: in JSON they
 * are escaped, everywhere else a character that is not printable becomes a space, and a header can't be broken. Pure. */
#ifndef DRIVESOAK_ALERT_BODY_H
#define DRIVESOAK_ALERT_BODY_H

#include <stdbool.h>

#include "alert/alerts.h"
#include "base/text.h"

struct body_context {
	const char *host;
	const char *page_url; /* of the page of alerts; "": there is none */
};

/* One line: "[firing] evo840: throughput is 41 MiB/s, ..."; of several alerts how many, and whose. */
void body_subject(const struct alert_message *message, const struct body_context *context, struct text *out);
/* All of it for people, a paragraph an alert. */
void body_text(const struct alert_message *message, const struct body_context *context, struct text *out);

/* What Alertmanager posts to its webhooks; @receiver: name of the notify section. */
void body_alertmanager(const struct alert_message *message, const char *receiver,
	const struct body_context *context, struct text *out);
/* For /api/v2/alerts: what fires is taken as over at @ends_ms unless it is sent again. Times of the receiver's future or in
 * the wrong order, after a step of the clock, would be refused or last: nothing that is over ends after @now_ms. */
void body_alertmanager_api(const struct alert_message *message, int64_t now_ms, int64_t ends_ms,
	const struct body_context *context, struct text *out);
void body_slack(const struct alert_message *message, const struct body_context *context, struct text *out);
void body_ntfy(const struct alert_message *message, const char *topic, const struct body_context *context,
	struct text *out);
/* Headers and body, lines ending in CR LF. */
void body_mail(const struct alert_message *message, const char *from, const char *to,
	const struct body_context *context, struct text *out);

/* "NAME=VALUE" strings, a NUL behind each; of several alerts they tell the gravest that fires. @smartd: SMARTD_* too,
 * @device being what it is about and @address who is told. */
void body_environment(const struct alert_message *message, const struct body_context *context, bool smartd,
	const char *device, const char *address, struct text *out);

/* 16 hex digits that are the same for the same rule of the same drive of the same host; @out has 17. */
void body_fingerprint(const struct alert *alert, const struct body_context *context, char *out);

/* Of several alerts the gravest that fires, else the first. */
const struct alert_entry *body_gravest(const struct alert_message *message);

#endif
