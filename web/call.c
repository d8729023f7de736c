/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "web/call.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"

/* 9999-12-31T23:59:59Z: what every reader of our JSON can still show as a date. */
#define TIME_MAX_S 253402300799

void call_fail(struct call *call, unsigned status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(call->problem, sizeof(call->problem), format, args);
	va_end(args);
	call->status = status;
	call->file_name[0] = '\0';
	text_fini(&call->body);
}

void call_fail_journal(struct call *call, int rc)
{
	const char *text = store_error(call->store);

	call_fail(call, MHD_HTTP_SERVICE_UNAVAILABLE, "the journal cannot be read: %s",
		*text ? text : strerror(-rc));
}

const char *call_query(const struct call *call, const char *name)
{
	const char *value = NULL;
	size_t length = 0;

	/* MHD gives NULL for a key without "="; here that is an empty value, which no parser takes. */
	if (MHD_lookup_connection_value_n(
		    call->connection, MHD_GET_ARGUMENT_KIND, name, strlen(name), &value, &length) != MHD_YES)
		return NULL;
	return value ? value : "";
}

struct each_query {
	const char *name;
	void (*each)(const char *value, void *arg);
	void *arg;
};

static enum MHD_Result visit(void *cls, enum MHD_ValueKind kind, const char *key, const char *value)
{
	const struct each_query *query = cls;

	(void)kind;
	if (strcmp(key, query->name) == 0)
		query->each(value ? value : "", query->arg);
	return MHD_YES;
}

void call_query_each(
	const struct call *call, const char *name, void (*each)(const char *value, void *arg), void *arg)
{
	struct each_query query = { name, each, arg };

	(void)MHD_get_connection_values(call->connection, MHD_GET_ARGUMENT_KIND, visit, &query);
}

/* Epoch seconds with up to three decimals. */
static int parse_epoch(const char *text, int64_t *out_ms)
{
	int64_t seconds = 0, ms = 0, scale = 100;
	size_t digits = strspn(text, "0123456789");

	if (digits == 0 || digits > 12)
		return -EINVAL;
	for (size_t i = 0; i < digits; i++)
		seconds = seconds * 10 + (text[i] - '0');
	text += digits;
	if (*text == '.') {
		digits = strspn(++text, "0123456789");
		if (digits == 0 || digits > 3)
			return -EINVAL;
		for (; digits; digits--, scale /= 10)
			ms += (*text++ - '0') * scale;
	}
	if (*text || seconds > TIME_MAX_S)
		return -EINVAL;
	*out_ms = seconds * 1000 + ms;
	return 0;
}

static int parse_time(const char *text, int64_t now_ms, int64_t *out_ms)
{
	uint64_t back_ns;

	if (strncmp(text, "now", 3) != 0)
		return parse_epoch(text, out_ms);
	if (text[3] == '\0') {
		*out_ms = now_ms;
		return 0;
	}
	if (text[3] != '-' || units_parse_duration(text + 4, &back_ns) < 0)
		return -EINVAL;
	*out_ms = now_ms - (int64_t)(back_ns / 1000000);
	return *out_ms < 0 ? -EINVAL : 0;
}

bool call_query_time(struct call *call, const char *name, int64_t *out_ms)
{
	const char *value = call_query(call, name);
	int64_t ms;

	if (!value)
		return true;
	if (parse_time(value, call->now_ms, &ms) < 0) {
		call_fail(call, MHD_HTTP_BAD_REQUEST,
			"%s: allowed are epoch seconds (1700000000 or 1700000000.5), now, or now-6h (ms, s, "
			"min, h, d)",
			name);
		return false;
	}
	*out_ms = ms;
	return true;
}

bool call_query_count(struct call *call, const char *name, uint64_t min, uint64_t max, uint64_t *out)
{
	const char *value = call_query(call, name);
	uint64_t count;

	if (!value)
		return true;
	if (units_parse_count(value, &count) < 0 || count < min || count > max) {
		call_fail(call, MHD_HTTP_BAD_REQUEST, "%s: allowed are whole numbers from %llu to %llu", name,
			(unsigned long long)min, (unsigned long long)max);
		return false;
	}
	*out = count;
	return true;
}

bool call_get_run(struct call *call, struct run_record *out)
{
	struct journal *journal;
	int rc = store_journal(call->store, &journal);

	if (rc == 0)
		rc = journal_get_run(journal, call->segment, out);
	if (rc == -ENOENT)
		call_fail(call, MHD_HTTP_NOT_FOUND, "no run is called %s", call->segment);
	else if (rc < 0)
		call_fail_journal(call, rc);
	return rc == 0;
}
