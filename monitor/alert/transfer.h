/* SPDX-License-Identifier: GPL-2.0-or-later */
/* transfer.h - one HTTP request or one mail through libcurl, driven by the caller's multi handle: it never blocks. http,
 * https, smtp and smtps only, also after a redirect, which never leaves https; a name that does not resolve holds nobody. Belongs to the thread of the
 * multi handle. */
#ifndef DRIVESOAK_ALERT_TRANSFER_H
#define DRIVESOAK_ALERT_TRANSFER_H

#include <curl/curl.h>
#include <stdint.h>

#include "alert/attempt.h"
#include "base/text.h"

struct transfer_request {
	const char *url;
	struct text *body;		 /* taken over; NULL: a GET. Of a mail: with its headers */
	const char *mail_from, *mail_to; /* set: a mail */
	const char *id;			 /* of the message, for receivers that drop what they have; "" */
	uint64_t connect_ms, deadline_ms;
};

struct transfer;

/* 0 or -ENOMEM, -EINVAL (not such a URL). */
int transfer_begin(CURLM *multi, const struct transfer_request *request, struct transfer **out);
/* The handle of a CURLMSG_DONE is this transfer's. */
bool transfer_is(const struct transfer *transfer, const CURL *easy);
void transfer_result(struct transfer *transfer, CURLcode code, struct attempt *out);
/* Ends it if it still runs. NULL is fine. */
void transfer_free(struct transfer *transfer);

#endif
