/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/config_lex.h"

#include <stdbool.h>
#include <string.h>

void config_lex_init(struct config_lex *lex, const char *bytes, size_t length)
{
	*lex = (struct config_lex){ .bytes = bytes, .length = length, .line = 1 };
	/* The mark some editors put before UTF-8. */
	if (length >= 3 && !memcmp(bytes, "\xef\xbb\xbf", 3))
		lex->at = 3;
}

/* The byte @ahead of the current one; 0 behind the end, where no file has one. */
static char peek(const struct config_lex *lex, size_t ahead)
{
	return lex->at + ahead < lex->length ? lex->bytes[lex->at + ahead] : '\0';
}

static bool at_end(const struct config_lex *lex)
{
	return lex->at >= lex->length;
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr("._-:%/", c));
}

static bool is_comment(const struct config_lex *lex)
{
	return peek(lex, 0) == '#' || (peek(lex, 0) == '/' && (peek(lex, 1) == '/' || peek(lex, 1) == '*'));
}

static void skip_line_comment(struct config_lex *lex)
{
	while (!at_end(lex) && peek(lex, 0) != '\n')
		lex->at++;
}

static bool skip_block_comment(struct config_lex *lex)
{
	for (lex->at += 2; !at_end(lex); lex->at++) {
		if (peek(lex, 0) == '*' && peek(lex, 1) == '/') {
			lex->at += 2;
			return true;
		}
		if (peek(lex, 0) == '\n')
			lex->line++;
	}
	return false;
}

/* Spaces and comments. False when a comment is not closed; its line is that of the token then. */
static bool skip_space(struct config_lex *lex)
{
	while (!at_end(lex)) {
		char c = peek(lex, 0);

		if (c == '\n') {
			lex->line++;
			lex->at++;
		} else if (c == ' ' || c == '\t' || c == '\r') {
			lex->at++;
		} else if (!is_comment(lex)) {
			break;
		} else if (c == '/' && peek(lex, 1) == '*') {
			lex->token.line = lex->line;
			if (!skip_block_comment(lex))
				return false;
		} else {
			skip_line_comment(lex);
		}
	}
	return true;
}

/* What is wrong with the character at hand of a text in double quotes; one that \ guards is passed too. */
static const char *double_quoted_check(struct config_lex *lex)
{
	if (peek(lex, 0) == '$' && peek(lex, 1) == '{')
		return "variables of the environment are not read; write \\${ for these characters "
		       "themselves";
	if (peek(lex, 0) != '\\')
		return NULL;
	/* libconfuse also knows \n, \0, \x41 and drops the \ of all others: none is of use in a value. */
	if (!peek(lex, 1) || !strchr("\"\\$'", peek(lex, 1)))
		return "behind \\ only \" \\ $ and ' are allowed in double quotes";
	lex->at++;
	return NULL;
}

static void single_quoted_pass(struct config_lex *lex)
{
	if (peek(lex, 0) == '\\' && (peek(lex, 1) == '\\' || peek(lex, 1) == '\''))
		lex->at++;
}

/* To the closing quote; the first thing wrong counts, and a text ends with its line. */
static void lex_string(struct config_lex *lex)
{
	struct config_token *token = &lex->token;
	char quote = peek(lex, 0);

	token->kind = CONFIG_TOKEN_STRING;
	for (lex->at++; !at_end(lex) && peek(lex, 0) != '\n'; lex->at++) {
		const char *wrong = NULL;

		if (peek(lex, 0) == quote) {
			lex->at++;
			return;
		}
		if ((unsigned char)peek(lex, 0) < 0x20 || peek(lex, 0) == 0x7f)
			wrong = "a control character is in the text (a tab, or the end of a DOS line inside "
				"quotes)";
		else if (quote == '"')
			wrong = double_quoted_check(lex);
		else
			single_quoted_pass(lex);
		if (!token->wrong)
			token->wrong = wrong;
	}
	token->wrong = quote == '"' ? "the text is not closed: \" is missing at its end"
				    : "the text is not closed: ' is missing at its end";
}

static void lex_word(struct config_lex *lex)
{
	lex->token.kind = CONFIG_TOKEN_WORD;
	while (is_word(peek(lex, 0)) && !is_comment(lex))
		lex->at++;
	/* libconfuse would take the rest for a comment without a word. */
	if (is_comment(lex))
		lex->token.wrong = "put the value into quotes, or a space before the comment";
}

static void lex_other(struct config_lex *lex)
{
	static const char signs[] = "={},";
	static const enum config_token_kind kinds[] = { CONFIG_TOKEN_EQUALS, CONFIG_TOKEN_OPEN,
		CONFIG_TOKEN_CLOSE, CONFIG_TOKEN_COMMA };
	const char *sign = peek(lex, 0) ? strchr(signs, peek(lex, 0)) : NULL;

	lex->token.kind = sign ? kinds[sign - signs] : CONFIG_TOKEN_OTHER;
	if (peek(lex, 0) == '+' && peek(lex, 1) == '=') {
		lex->token.kind = CONFIG_TOKEN_APPEND;
		lex->at++;
	} else if ((unsigned char)peek(lex, 0) < 0x20 || (unsigned char)peek(lex, 0) >= 0x7f) {
		lex->token.wrong =
			"a character that is not plain text; a value with such a character needs quotes";
	}
	lex->at++;
}

void config_lex_next(struct config_lex *lex)
{
	struct config_token *token = &lex->token;

	/* What ended the file stays told. */
	if (token->kind == CONFIG_TOKEN_END && token->wrong)
		return;
	*token = (struct config_token){ .kind = CONFIG_TOKEN_END };
	if (!skip_space(lex)) {
		token->wrong = "the comment that begins here is not closed; */ is missing";
		return;
	}
	token->line = lex->line;
	token->start = lex->at;
	if (at_end(lex))
		return;
	if (peek(lex, 0) == '"' || peek(lex, 0) == '\'')
		lex_string(lex);
	else if (is_word(peek(lex, 0)))
		lex_word(lex);
	else
		lex_other(lex);
	token->length = lex->at - token->start;
}

void config_lex_rewind(struct config_lex *lex, const struct config_token *token)
{
	lex->line = token->line;
	lex->token = *token;
	lex->at = token->start + token->length;
}
