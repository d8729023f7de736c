/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "alert/transfer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define ANSWER_KEPT   120
#define REDIRECTS_MAX 3L

struct transfer {
	CURLM *multi;
	CURL *easy;
	struct curl_slist *headers, *recipients;
	struct text body;
	size_t sent;
	bool is_mail;
	char answer[ANSWER_KEPT + 1]; /* the begin of what came back */
	size_t answer_length;
	char error[CURL_ERROR_SIZE];
};

static size_t on_answer(char *bytes, size_t size, size_t count, void *arg)
{
	struct transfer *transfer = arg;
	const size_t length = size * count, room = ANSWER_KEPT - transfer->answer_length;
	const size_t kept = length < room ? length : room;

	memcpy(transfer->answer + transfer->answer_length, bytes, kept);
	transfer->answer_length += kept;
	return length;
}

static size_t on_read(char *to, size_t size, size_t count, void *arg)
{
	struct transfer *transfer = arg;
	size_t left = transfer->body.length - transfer->sent,
	       step = size * count < left ? size * count : left;

	memcpy(to, transfer->body.bytes + transfer->sent, step);
	transfer->sent += step;
	return step;
}

static bool headers_make(struct transfer *transfer, const struct transfer_request *request)
{
	static const char *const fixed[] = { "Content-Type: application/json", "Expect:" };
	char line[128];

	for (size_t i = 0; request->body && i < sizeof(fixed) / sizeof(fixed[0]); i++) {
		struct curl_slist *more = curl_slist_append(transfer->headers, fixed[i]);

		if (!more)
			return false;
		transfer->headers = more;
	}
	if (request->id[0]) {
		struct curl_slist *more;

		(void)snprintf(line, sizeof(line), "X-Drivesoak-Message: %s", request->id);
		more = curl_slist_append(transfer->headers, line);
		if (!more)
			return false;
		transfer->headers = more;
	}
	return true;
}

/* Many mail servers have a certificate that nobody signed: without a password TLS is as good as it gets. */
static CURLcode set_mail(struct transfer *transfer, const struct transfer_request *request)
{
	const bool is_plain = strncmp(request->url, "smtp://", 7) == 0 && !strchr(request->url, '@');
	CURL *easy = transfer->easy;
	char address[300];

	(void)snprintf(address, sizeof(address), "<%s>", request->mail_to);
	transfer->recipients = curl_slist_append(NULL, address);
	if (!transfer->recipients)
		return CURLE_OUT_OF_MEMORY;
	(void)snprintf(address, sizeof(address), "<%s>", request->mail_from);
	(void)curl_easy_setopt(easy, CURLOPT_MAIL_RCPT, transfer->recipients);
	(void)curl_easy_setopt(easy, CURLOPT_USE_SSL, is_plain ? (long)CURLUSESSL_TRY : (long)CURLUSESSL_ALL);
	if (is_plain) {
		(void)curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
		(void)curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
	}
	(void)curl_easy_setopt(easy, CURLOPT_READFUNCTION, on_read);
	(void)curl_easy_setopt(easy, CURLOPT_READDATA, transfer);
	(void)curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
	return curl_easy_setopt(easy, CURLOPT_MAIL_FROM, address);
}

static CURLcode set_http(struct transfer *transfer)
{
	CURL *easy = transfer->easy;

	(void)curl_easy_setopt(easy, CURLOPT_HTTPHEADER, transfer->headers);
	(void)curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 1L);
	(void)curl_easy_setopt(easy, CURLOPT_MAXREDIRS, REDIRECTS_MAX);
	(void)curl_easy_setopt(easy, CURLOPT_POSTREDIR, (long)CURL_REDIR_POST_ALL);
	if (!transfer->body.length)
		return curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
	(void)curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)transfer->body.length);
	return curl_easy_setopt(easy, CURLOPT_POSTFIELDS, transfer->body.bytes);
}

static CURLcode set_all(struct transfer *transfer, const struct transfer_request *request)
{
	CURL *easy = transfer->easy;
	CURLcode code;

	(void)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	(void)curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
	(void)curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer->error);
	(void)curl_easy_setopt(easy, CURLOPT_USERAGENT, "drivesoak/" PACKAGE_VERSION);
	(void)curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)request->connect_ms);
	(void)curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)request->deadline_ms);
	(void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_answer);
	(void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
	code = curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, request->mail_to ? "smtp,smtps" : "http,https");
	/* What was to be secret stays so. */
	if (code == CURLE_OK)
		code = curl_easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS_STR,
			strncasecmp(request->url, "https:", 6) == 0 ? "https" : "http,https");
	if (code == CURLE_OK)
		code = curl_easy_setopt(easy, CURLOPT_URL, request->url);
	if (code != CURLE_OK)
		return code;
	return request->mail_to ? set_mail(transfer, request) : set_http(transfer);
}

int transfer_begin(CURLM *multi, const struct transfer_request *request, struct transfer **out)
{
	struct transfer *transfer = calloc(1, sizeof(*transfer));
	CURLcode code = CURLE_OUT_OF_MEMORY;

	if (transfer && request->body) {
		transfer->body = *request->body;
		*request->body = (struct text)TEXT_INIT;
	}
	if (transfer && text_error(&transfer->body) == 0 && headers_make(transfer, request))
		transfer->easy = curl_easy_init();
	if (transfer && transfer->easy) {
		transfer->is_mail = request->mail_to != NULL;
		code = set_all(transfer, request);
	}
	if (code == CURLE_OK && curl_multi_add_handle(multi, transfer->easy) != CURLM_OK)
		code = CURLE_OUT_OF_MEMORY;
	if (code != CURLE_OK) {
		transfer_free(transfer);
		return code == CURLE_OUT_OF_MEMORY ? -ENOMEM : -EINVAL;
	}
	transfer->multi = multi;
	*out = transfer;
	return 0;
}

bool transfer_is(const struct transfer *transfer, const CURL *easy)
{
	return transfer && transfer->easy == easy;
}

void transfer_result(struct transfer *transfer, CURLcode code, struct attempt *out)
{
	struct text text = TEXT_INIT;
	long status = 0;

	(void)curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
	*out = (struct attempt){ .is_ok = code == CURLE_OK };
	if (code != CURLE_OK) {
		text_add_plain(&text, transfer->error[0] ? transfer->error : curl_easy_strerror(code));
	} else if (transfer->is_mail) {
		text_add(&text, "taken by the server");
	} else {
		out->is_ok = status >= 200 && status < 300;
		out->is_refused = status == 400 || status == 413 || status == 415 || status == 422;
		text_addf(&text, "HTTP %ld", status);
		if (!out->is_ok && transfer->answer_length) {
			text_add(&text, ": ");
			text_add_plain(&text, transfer->answer);
		}
	}
	text_keep(out->text, sizeof(out->text), &text);
}

void transfer_free(struct transfer *transfer)
{
	if (!transfer)
		return;
	if (transfer->multi)
		(void)curl_multi_remove_handle(transfer->multi, transfer->easy);
	curl_easy_cleanup(transfer->easy);
	curl_slist_free_all(transfer->headers);
	curl_slist_free_all(transfer->recipients);
	text_fini(&transfer->body);
	free(transfer);
}
