/* SPDX-License-Identifier: GPL-2.0-or-later */
/* text.h - a growing string. Out of memory is remembered, not returned at each call: text_error() tells at the
 * end, and a failed text stays empty. Belongs to one thread. */
#ifndef DRIVESOAK_TEXT_H
#define DRIVESOAK_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text {
	char *bytes; /* NUL-terminated once anything was added, else NULL */
	size_t length, capacity;
	int error; /* 0 or -ENOMEM */
};

#define TEXT_INIT                                                                                            \
	{                                                                                                    \
		NULL, 0, 0, 0                                                                                \
	}

void text_fini(struct text *text);
void text_add(struct text *text, const char *string);
void text_add_bytes(struct text *text, const char *bytes, size_t length);
void text_addf(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* As element content or attribute value: & < > " ' are escaped; model strings come from drives and are hostile. */
void text_add_html(struct text *text, const char *string);

/* The length of the UTF-8 character at @s and its code, 0 when it is malformed (overlong and surrogates are). */
size_t text_decode(const char *s, uint32_t *code);
/* Moves no cursor, breaks no line and turns no direction of the text around it. */
bool text_is_printable(uint32_t code);
/* On one line that nobody can misread: valid UTF-8, a space for each character that is not printable. */
void text_add_plain(struct text *text, const char *string);

/* The string so far, never NULL. */
const char *text_string(const struct text *text);
int text_error(const struct text *text);

/* Cut to @size with the NUL. */
void text_copy(char *to, size_t size, const char *from);
/* Move what a text holds into a fixed field, cut to its size; the text is empty afterwards. */
void text_keep(char *to, size_t size, struct text *text);

/* Give the bytes away (caller frees with free()); the text is empty afterwards. NULL on an earlier error. */
char *text_take(struct text *text, size_t *length);

#endif
