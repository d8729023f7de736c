/* SPDX-License-Identifier: GPL-2.0-or-later */
/* config_lex.h - a configuration file as tokens with their lines. Splits as libconfuse does, but tells what
 * is wrong with a token instead of giving up, and allows no more than the file needs: texts end on their
 * line and have no control characters and no variables of the environment. No copies: tokens point into the
 * bytes. */
#ifndef DRIVESOAK_CONFIG_LEX_H
#define DRIVESOAK_CONFIG_LEX_H

#include <stddef.h>

enum config_token_kind {
	CONFIG_TOKEN_END,
	CONFIG_TOKEN_WORD,   /* letters, digits and . _ - : % / */
	CONFIG_TOKEN_STRING, /* with its quotes */
	CONFIG_TOKEN_EQUALS,
	CONFIG_TOKEN_APPEND, /* += */
	CONFIG_TOKEN_OPEN,
	CONFIG_TOKEN_CLOSE,
	CONFIG_TOKEN_COMMA,
	CONFIG_TOKEN_OTHER,
};

struct config_token {
	enum config_token_kind kind;
	size_t start, length;
	unsigned line;
	const char *wrong; /* NULL when it is sound */
};

struct config_lex {
	const char *bytes;
	size_t length, at;
	unsigned line;
	struct config_token token; /* the current one */
};

void config_lex_init(struct config_lex *lex, const char *bytes, size_t length);
void config_lex_next(struct config_lex *lex);
/* Make @token, seen before, the current one again. */
void config_lex_rewind(struct config_lex *lex, const struct config_token *token);

#endif
