/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/flat.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define BLANKS " \t\r\n"

struct sink {
	char *text;
	size_t length, room;
};

static void put(struct sink *sink, char c)
{
	if (sink->length + 1 < sink->room)
		sink->text[sink->length++] = c;
	sink->text[sink->length] = '\0';
}

static void put_utf8(struct sink *sink, unsigned code)
{
	if (code < 0x80) {
		put(sink, (char)code);
	} else if (code < 0x800) {
		put(sink, (char)(0xc0 | code >> 6));
		put(sink, (char)(0x80 | (code & 0x3f)));
	} else {
		put(sink, (char)(0xe0 | code >> 12));
		put(sink, (char)(0x80 | (code >> 6 & 0x3f)));
		put(sink, (char)(0x80 | (code & 0x3f)));
	}
}

/* After the opening quote; the place after the closing one, or NULL. */
static const char *read_string(const char *at, struct sink *sink)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";

	for (; *at && *at != '"'; at++) {
		const char *escape;
		char digits[5] = "";

		if (*at != '\\') {
			put(sink, *at);
			continue;
		}
		at++;
		escape = *at ? strchr(from, *at) : NULL;
		if (escape) {
			put(sink, to[escape - from]);
		} else if (*at == 'u' && strspn(at + 1, "0123456789abcdefABCDEF") >= 4) {
			memcpy(digits, at + 1, 4);
			put_utf8(sink, (unsigned)strtoul(digits, NULL, 16));
			at += 4;
		} else {
			return NULL;
		}
	}
	return *at ? at + 1 : NULL;
}

/* A nested object or array as it stands, to its closing bracket. */
static const char *read_nested(const char *at, struct sink *sink)
{
	unsigned depth = 0;
	bool quoted = false;

	for (; *at; at++) {
		put(sink, *at);
		if (quoted && *at == '\\' && at[1])
			put(sink, *++at);
		else if (*at == '"')
			quoted = !quoted;
		else if (!quoted && (*at == '{' || *at == '['))
			depth++;
		else if (!quoted && (*at == '}' || *at == ']') && --depth == 0)
			return at + 1;
	}
	return NULL;
}

static const char *read_value(const char *at, struct sink *sink)
{
	size_t length;

	if (*at == '"')
		return read_string(at + 1, sink);
	if (*at == '{' || *at == '[')
		return read_nested(at, sink);
	length = strcspn(at, ",}" BLANKS);
	if (length == 0)
		return NULL;
	if (length != 4 || strncmp(at, "null", 4) != 0) {
		for (size_t i = 0; i < length; i++)
			put(sink, at[i]);
	}
	return at + length;
}

static const char *skip(const char *at)
{
	return at + strspn(at, BLANKS);
}

int flat_each(const char *json, void (*each)(const char *key, const char *value, void *arg), void *arg)
{
	char key[FLAT_KEY_MAX], value[FLAT_VALUE_MAX];
	const char *at = skip(json);

	if (*at++ != '{')
		return -EINVAL;
	at = skip(at);
	while (*at == '"') {
		struct sink key_sink = { key, 0, sizeof(key) }, value_sink = { value, 0, sizeof(value) };

		key[0] = value[0] = '\0';
		at = read_string(at + 1, &key_sink);
		if (!at || *(at = skip(at)) != ':')
			return -EINVAL;
		at = read_value(skip(at + 1), &value_sink);
		if (!at)
			return -EINVAL;
		each(key, value, arg);
		at = skip(at);
		if (*at == '}')
			return 0;
		if (*at != ',')
			return -EINVAL;
		at = skip(at + 1);
	}
	return *at == '}' ? 0 : -EINVAL;
}
