/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void text_fini(struct text *text)
{
	free(text->bytes);
	*text = (struct text)TEXT_INIT;
}

static bool grow(struct text *text, size_t extra)
{
	size_t capacity = text->capacity ? text->capacity : 256;
	char *bytes;

	if (text->error)
		return false;
	while (capacity && capacity - text->length <= extra)
		capacity *= 2; /* 0 when it wraps */
	if (capacity && capacity == text->capacity)
		return true;
	bytes = capacity ? realloc(text->bytes, capacity) : NULL;
	if (!bytes) {
		text_fini(text);
		text->error = -ENOMEM;
		return false;
	}
	text->bytes = bytes;
	text->capacity = capacity;
	return true;
}

void text_add_bytes(struct text *text, const char *bytes, size_t length)
{
	if (!grow(text, length))
		return;
	memcpy(text->bytes + text->length, bytes, length);
	text->length += length;
	text->bytes[text->length] = '\0';
}

void text_add(struct text *text, const char *string)
{
	text_add_bytes(text, string, strlen(string));
}

void text_addf(struct text *text, const char *format, ...)
{
	va_list args;
	int needed;

	va_start(args, format);
	needed = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (needed < 0 || !grow(text, (size_t)needed))
		return;
	va_start(args, format);
	(void)vsnprintf(text->bytes + text->length, (size_t)needed + 1, format, args);
	va_end(args);
	text->length += (size_t)needed;
}

void text_add_html(struct text *text, const char *string)
{
	for (; *string; string++) {
		switch (*string) {
		case '&':
			text_add(text, "&amp;");
			break;
		case '<':
			text_add(text, "&lt;");
			break;
		case '>':
			text_add(text, "&gt;");
			break;
		case '"':
			text_add(text, "&quot;");
			break;
		case '\'':
			text_add(text, "&#39;");
			break;
		default:
			text_add_bytes(text, string, 1);
		}
	}
}

size_t text_decode(const char *s, uint32_t *code)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *byte = (const unsigned char *)s;
	size_t length = byte[0] < 0x80		   ? 1
			: (byte[0] & 0xe0) == 0xc0 ? 2
			: (byte[0] & 0xf0) == 0xe0 ? 3
			: (byte[0] & 0xf8) == 0xf0 ? 4
						   : 0;

	if (length == 0)
		return 0;
	*code = length == 1 ? byte[0] : byte[0] & (0x7fu >> length);
	for (size_t i = 1; i < length; i++) {
		if ((byte[i] & 0xc0) != 0x80)
			return 0;
		*code = *code << 6 | (byte[i] & 0x3f);
	}
	if (*code < least[length] || *code > 0x10ffff || (*code >= 0xd800 && *code <= 0xdfff))
		return 0;
	return length;
}

bool text_is_printable(uint32_t code)
{
	return code >= 0x20 && (code < 0x7f || code > 0x9f) && (code < 0x2028 || code > 0x202e) &&
	       (code < 0x2066 || code > 0x2069);
}

void text_add_plain(struct text *text, const char *string)
{
	while (*string) {
		uint32_t code = 0;
		size_t length = text_decode(string, &code);

		if (length == 0)
			text_add(text, "\xef\xbf\xbd");
		else if (text_is_printable(code))
			text_add_bytes(text, string, length);
		else
			text_add(text, " ");
		string += length ? length : 1;
	}
}

const char *text_string(const struct text *text)
{
	return text->bytes ? text->bytes : "";
}

int text_error(const struct text *text)
{
	return text->error;
}

char *text_take(struct text *text, size_t *length)
{
	char *bytes;

	if (!text->bytes)
		text_add(text, "");
	bytes = text->bytes;
	*length = text->length;
	text->bytes = NULL;
	text->length = text->capacity = 0;
	return bytes;
}

void text_copy(char *to, size_t size, const char *from)
{
	(void)snprintf(to, size, "%s", from);
}

void text_keep(char *to, size_t size, struct text *text)
{
	text_copy(to, size, text_string(text));
	text_fini(text);
}
