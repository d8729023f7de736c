/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/json.h"

#include <math.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void json_init(struct json *json, struct text *text)
{
	*json = (struct json){ .text = text };
}

/* A comma where one is due before the next value or key. */
static void separate(struct json *json)
{
	uint32_t bit = 1u << json->depth;

	if (json->after_key) {
		json->after_key = false;
		return;
	}
	if (json->has_item & bit)
		text_add(json->text, ",");
	json->has_item |= bit;
}

static void level_open(struct json *json, const char *bracket)
{
	separate(json);
	text_add(json->text, bracket);
	if (json->depth < JSON_DEPTH_MAX - 1)
		json->depth++;
	json->has_item &= ~(1u << json->depth);
}

static void level_close(struct json *json, const char *bracket)
{
	if (json->depth)
		json->depth--;
	text_add(json->text, bracket);
}

void json_object_open(struct json *json)
{
	level_open(json, "{");
}

void json_object_close(struct json *json)
{
	level_close(json, "}");
}

void json_array_open(struct json *json)
{
	level_open(json, "[");
}

void json_array_close(struct json *json)
{
	level_close(json, "]");
}

static void add_quoted(struct text *text, const char *value)
{
	const unsigned char *s = (const unsigned char *)value;
	uint32_t code;

	text_add(text, "\"");
	while (*s) {
		size_t length = text_decode((const char *)s, &code);

		if (length == 0) {
			text_add(text, "\xef\xbf\xbd");
			length = 1;
		} else if (*s == '"' || *s == '\\') {
			text_addf(text, "\\%c", *s);
		} else if (*s < 0x20 || *s == 0x7f) {
			text_addf(text, "\\u%04x", *s);
		} else {
			text_add_bytes(text, (const char *)s, length);
		}
		s += length;
	}
	text_add(text, "\"");
}

void json_key(struct json *json, const char *key)
{
	separate(json);
	add_quoted(json->text, key);
	text_add(json->text, ":");
	json->after_key = true;
}

void json_raw(struct json *json, const char *value)
{
	separate(json);
	text_add(json->text, value && *value ? value : "null");
}

void json_null(struct json *json)
{
	json_raw(json, NULL);
}

void json_bool(struct json *json, bool value)
{
	json_raw(json, value ? "true" : "false");
}

void json_u64(struct json *json, uint64_t value)
{
	separate(json);
	if (value == JSON_UNKNOWN_U64)
		text_add(json->text, "null");
	else
		text_addf(json->text, "%" PRIu64, value);
}

void json_i64(struct json *json, int64_t value)
{
	separate(json);
	text_addf(json->text, "%" PRId64, value);
}

/* printf writes the decimal sign of the process's locale, and a library may have set one. */
static void unlocalise(char *digits)
{
	char *sign = digits + strspn(digits, "-0123456789");
	char *rest = sign + strcspn(sign, "e0123456789");

	if (rest == sign)
		return;
	*sign = '.';
	memmove(sign + 1, rest, strlen(rest) + 1);
}

void json_double(struct json *json, double value)
{
	char digits[40];

	separate(json);
	if (!isfinite(value)) {
		text_add(json->text, "null");
		return;
	}
	/* 15 digits where they read back the same, so that 0.1 is not 0.10000000000000001. */
	(void)snprintf(digits, sizeof(digits), "%.15g", value);
	if (strtod(digits, NULL) < value || strtod(digits, NULL) > value)
		(void)snprintf(digits, sizeof(digits), "%.17g", value);
	unlocalise(digits);
	text_add(json->text, digits);
}

void json_ms_as_s(struct json *json, int64_t ms)
{
	int64_t whole = ms / 1000, rest = ms % 1000;

	separate(json);
	if (ms == INT64_MIN)
		text_add(json->text, "null");
	else if (rest == 0)
		text_addf(json->text, "%" PRId64, whole);
	else
		text_addf(json->text, "%s%" PRId64 ".%03d", ms < 0 ? "-" : "", whole < 0 ? -whole : whole,
			(int)(rest < 0 ? -rest : rest));
}

void json_string(struct json *json, const char *value)
{
	separate(json);
	if (value)
		add_quoted(json->text, value);
	else
		text_add(json->text, "null");
}

void json_put_null(struct json *json, const char *key)
{
	json_key(json, key);
	json_null(json);
}

void json_put_bool(struct json *json, const char *key, bool value)
{
	json_key(json, key);
	json_bool(json, value);
}

void json_put_u64(struct json *json, const char *key, uint64_t value)
{
	json_key(json, key);
	json_u64(json, value);
}

void json_put_i64(struct json *json, const char *key, int64_t value)
{
	json_key(json, key);
	json_i64(json, value);
}

void json_put_double(struct json *json, const char *key, double value)
{
	json_key(json, key);
	json_double(json, value);
}

void json_put_ms_as_s(struct json *json, const char *key, int64_t ms)
{
	json_key(json, key);
	json_ms_as_s(json, ms);
}

void json_put_string(struct json *json, const char *key, const char *value)
{
	json_key(json, key);
	json_string(json, value);
}

void json_put_raw(struct json *json, const char *key, const char *value)
{
	json_key(json, key);
	json_raw(json, value);
}
