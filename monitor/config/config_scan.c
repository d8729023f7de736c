/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/config_scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "config/config_lex.h"
#include "config/config_rules.h"

/* Longest name or title shown in a mistake. */
#define SHOWN_MAX 80

struct scanner {
	struct config_scan *scan;
	struct config_lex lex;
	unsigned file;
	int error;
};

int config_scan_init(struct config_scan *scan, bool accept_later)
{
	*scan = (struct config_scan){ .accept_later = accept_later };
	scan->sections = calloc(1, sizeof(*scan->sections));
	scan->instances = calloc(1, sizeof(*scan->instances));
	if (!scan->sections || !scan->instances)
		return -ENOMEM;
	scan->instances[0].title = strdup("");
	scan->instances[0].origins = calloc(config_keys_count, sizeof(struct config_origin));
	scan->section_count = 1;
	scan->instance_count = 1;
	return scan->instances[0].title && scan->instances[0].origins ? 0 : -ENOMEM;
}

void config_scan_fini(struct config_scan *scan)
{
	for (size_t i = 0; i < scan->path_count; i++)
		free(scan->paths[i]);
	for (size_t i = 0; i < scan->instance_count; i++) {
		free(scan->instances[i].title);
		free(scan->instances[i].origins);
	}
	free(scan->paths);
	free(scan->instances);
	free(scan->sections);
	free(scan->keys);
	text_fini(&scan->clean);
	config_mistakes_fini(&scan->mistakes);
}

/* Room for one more of @size behind @count; NULL and everything as it was when memory is short. */
static void *more(void *array, size_t count, size_t size)
{
	return reallocarray(array, count + 1, size);
}

int config_scan_add_path(struct config_scan *scan, const char *path)
{
	char **paths = more(scan->paths, scan->path_count, sizeof(*paths)), *copy = strdup(path);

	if (paths)
		scan->paths = paths;
	if (!paths || !copy) {
		free(copy);
		return -ENOMEM;
	}
	paths[scan->path_count] = copy;
	return (int)scan->path_count++;
}

struct config_origin *config_scan_origin(
	const struct config_scan *scan, size_t instance, enum config_section section, const char *name)
{
	return &scan->instances[instance].origins[config_keys_find(section, name) - config_keys];
}

static enum config_section kind_of(const struct scanner *s, size_t section)
{
	return s->scan->sections[section].kind;
}

#define MISTAKE(s, line, key, ...)                                                                           \
	config_mistakes_add(&(s)->scan->mistakes, (s)->file, line, key, __VA_ARGS__)

/* The token as text for a mistake or for a look into the table; a longer one is in no table. */
static void shown(const struct scanner *s, const struct config_token *token, char *out)
{
	size_t length = token->length;

	if (length > SHOWN_MAX - 1)
		length = SHOWN_MAX - 1;
	memcpy(out, s->lex.bytes + token->start, length);
	out[length] = '\0';
}

/* A text in quotes, without them. */
static void shown_title(const struct scanner *s, const struct config_token *token, char *out)
{
	struct config_token inner = *token;

	if (token->kind == CONFIG_TOKEN_STRING) {
		inner.start++;
		inner.length = token->length >= 2 ? token->length - 2 : 0;
	}
	shown(s, &inner, out);
}

static void next(struct scanner *s)
{
	config_lex_next(&s->lex);
}

static bool is(const struct scanner *s, enum config_token_kind kind)
{
	return s->lex.token.kind == kind;
}

static bool is_text(const struct scanner *s)
{
	return is(s, CONFIG_TOKEN_WORD) || is(s, CONFIG_TOKEN_STRING);
}

/* From { to the } that belongs to it, or the end of the file. False when that came first. */
static bool skip_block(struct scanner *s)
{
	unsigned depth = 0;

	do {
		if (is(s, CONFIG_TOKEN_OPEN))
			depth++;
		else if (is(s, CONFIG_TOKEN_CLOSE))
			depth--;
		else if (is(s, CONFIG_TOKEN_END))
			return false;
		next(s);
	} while (depth);
	return true;
}

/* What is left of a statement that is not understood: to the end of its line. */
static void skip_line(struct scanner *s, unsigned line)
{
	while (s->lex.token.line == line && !is(s, CONFIG_TOKEN_CLOSE) && !is(s, CONFIG_TOKEN_END)) {
		if (is(s, CONFIG_TOKEN_OPEN))
			(void)skip_block(s);
		else
			next(s);
	}
}

/* A key of another section that is @name, or near it; its row, or NULL. */
static const struct config_key *key_elsewhere(const char *name, bool is_exact)
{
	for (int i = 0; i < CONFIG_SECTION_COUNT; i++) {
		const char *found = is_exact ? name : config_keys_suggest((enum config_section)i, name);
		const struct config_key *key = found ? config_keys_find((enum config_section)i, found) : NULL;

		if (key)
			return key;
	}
	return NULL;
}

static const char *place_of(const struct config_key *key)
{
	return key->section == CONFIG_TOP ? "the top of the file, outside every section"
					  : config_sections[key->section].name;
}

static void unknown_key(struct scanner *s, enum config_section kind, unsigned line, const char *name)
{
	const char *where = kind == CONFIG_TOP ? "outside sections" : config_sections[kind].name;
	const char *of = kind == CONFIG_TOP ? "" : "of ", *near = config_keys_suggest(kind, name);
	enum config_section section = config_keys_section(kind, name);
	const struct config_key *same = key_elsewhere(name, true), *similar = key_elsewhere(name, false);

	if (section != CONFIG_SECTION_COUNT)
		MISTAKE(s, line, name, "is a section, not a key; write %s %s{ ... }", name,
			config_sections[section].titled ? "\"NAME\" " : "");
	else if (same)
		MISTAKE(s, line, name, "is no key %s%s; it belongs into %s", of, where, place_of(same));
	else if (near)
		MISTAKE(s, line, name, "is no key %s%s; did you mean %s?", of, where, near);
	else if (similar)
		MISTAKE(s, line, name, "is no key %s%s; did you mean %s? It belongs into %s", of, where,
			similar->name, place_of(similar));
	else
		MISTAKE(s, line, name, "is no key %s%s; see drivesoak.conf(5)", of, where);
}

static void unknown_section(struct scanner *s, enum config_section kind, unsigned line, const char *name)
{
	const char *near = config_keys_suggest_section(kind, name);

	if (config_keys_find(kind, name))
		MISTAKE(s, line, name, "is a key, not a section; write %s = VALUE", name);
	else if (kind == CONFIG_TOP && config_keys_section(CONFIG_DRIVE, name) != CONFIG_SECTION_COUNT)
		MISTAKE(s, line, name, "is no section here; it belongs into a drive section");
	else if (near)
		MISTAKE(s, line, name, "is no section here; did you mean %s?", near);
	else
		MISTAKE(s, line, name, "is no section here; see drivesoak.conf(5)");
}

/* A value or an item of a list goes behind @value, always quoted. False after a mistake. */
static bool scan_item(struct scanner *s, const char *name, struct text *value)
{
	const struct config_token *token = &s->lex.token;
	const char *quote = token->kind == CONFIG_TOKEN_WORD ? "\"" : "";
	bool good = !token->wrong;

	if (token->wrong)
		MISTAKE(s, token->line, name, "%s", token->wrong);
	text_add(value, quote);
	text_add_bytes(value, s->lex.bytes + token->start, token->length);
	text_add(value, quote);
	next(s);
	return good;
}

/* Still part of a list with a mistake: no statement begins with it. */
static bool is_in_list(const struct scanner *s, unsigned last_line)
{
	switch (s->lex.token.kind) {
	case CONFIG_TOKEN_END:
	case CONFIG_TOKEN_CLOSE:
		return false;
	case CONFIG_TOKEN_WORD:
		return s->lex.token.line == last_line;
	default:
		return true;
	}
}

/* A list that goes on without a comma, or that ends without a }: what follows is found again. */
static void list_recover(struct scanner *s, const char *name, unsigned line, unsigned last_line)
{
	bool goes_on = is_in_list(s, last_line);

	if (goes_on)
		MISTAKE(s, last_line, name, "the items of the list need a comma between them");
	else
		MISTAKE(s, line, name, "the list that begins here is not closed; a } is missing");
	while (is_in_list(s, last_line)) {
		last_line = s->lex.token.line;
		if (is(s, CONFIG_TOKEN_OPEN))
			(void)skip_block(s);
		else
			next(s);
	}
	if (goes_on && is(s, CONFIG_TOKEN_CLOSE))
		next(s);
}

/* After {; at its end the token behind }. */
static bool scan_list(struct scanner *s, const char *name, unsigned line, struct text *value)
{
	unsigned last_line = line;
	bool good = true;

	text_add(value, "{ ");
	while (is_text(s)) {
		last_line = s->lex.token.line;
		good = scan_item(s, name, value) && good;
		if (!is(s, CONFIG_TOKEN_COMMA))
			break;
		text_add(value, ", ");
		next(s);
	}
	text_add(value, " }");
	if (!is(s, CONFIG_TOKEN_CLOSE)) {
		list_recover(s, name, line, last_line);
		return false;
	}
	next(s);
	return good;
}

/* Not a value: what is at hand instead. */
static void no_value(struct scanner *s, const char *name, unsigned line)
{
	if (is(s, CONFIG_TOKEN_OTHER) && s->lex.token.line == line)
		MISTAKE(s, line, name, "a value with such characters needs quotes");
	else
		MISTAKE(s, line, name, "has no value behind =");
	skip_line(s, line);
}

/* Behind the = of @line. @key is NULL for one that is not known. */
static bool scan_value(
	struct scanner *s, const struct config_key *key, const char *name, unsigned line, struct text *value)
{
	unsigned list_line = s->lex.token.line;
	bool good;

	if (is(s, CONFIG_TOKEN_OPEN)) {
		next(s);
		good = scan_list(s, name, list_line, value);
		if (key && key->type != CONFIG_LIST && good) {
			MISTAKE(s, line, name, "takes one value, not a list");
			return false;
		}
		return good;
	}
	/* A word on a later line begins the next statement. */
	if (is(s, CONFIG_TOKEN_STRING) || (is(s, CONFIG_TOKEN_WORD) && s->lex.token.line == line))
		return scan_item(s, name, value);
	no_value(s, name, line);
	return false;
}

static void key_record(struct scanner *s, size_t section, const struct config_key *key, const char *value)
{
	struct config_scan *scan = s->scan;
	struct config_scan_key *keys = more(scan->keys, scan->key_count, sizeof(*keys));

	if (!keys) {
		s->error = -ENOMEM;
		return;
	}
	scan->keys = keys;
	keys[scan->key_count++] = (struct config_scan_key){ key, section };
	text_addf(&scan->clean, "%s = %s\n", key->name, value);
}

static void duplicate_key(
	struct scanner *s, unsigned line, const char *name, const struct config_origin *first)
{
	if (first->file == s->file)
		MISTAKE(s, line, name, "is set twice; it stands in line %u too", first->line);
	else
		MISTAKE(s, line, name, "is set twice; it stands in %s:%u too", s->scan->paths[first->file],
			first->line);
}

/* The token is = or +=. */
static void scan_assignment(struct scanner *s, size_t section, const char *name, unsigned line)
{
	const struct config_key *key = config_keys_find(kind_of(s, section), name);
	bool is_append = is(s, CONFIG_TOKEN_APPEND), is_sound;
	unsigned sign_line = s->lex.token.line;
	struct text value = TEXT_INIT;
	struct config_origin *origin;

	next(s);
	is_sound = scan_value(s, key, name, sign_line, &value);
	if (!key) {
		unknown_key(s, kind_of(s, section), line, name);
		goto out;
	}
	/* One file can't name others, so that the order of reading stays in sight. */
	if (s->file != 0 && key->width == 0) {
		MISTAKE(s, line, name, "is allowed in the main file only");
		goto out;
	}
	origin = &s->scan->instances[s->scan->sections[section].instance].origins[key - config_keys];
	if (origin->line) {
		duplicate_key(s, line, name, origin);
		goto out;
	}
	if (is_append)
		MISTAKE(s, line, name, "+= is not for this file; write all of it behind =");
	if (is_sound && !is_append)
		key_record(s, section, key, text_string(&value));
	*origin = (struct config_origin){ s->file, line, is_append || !is_sound };
out:
	if (text_error(&value) < 0)
		s->error = -ENOMEM;
	text_fini(&value);
}

/* A new instance with the title; its number, 0 when memory is short. */
static size_t instance_add(struct scanner *s, enum config_section kind, const char *title, unsigned line)
{
	struct config_scan *scan = s->scan;
	struct config_instance *instances = more(scan->instances, scan->instance_count, sizeof(*instances));
	struct config_instance fresh = { .kind = kind, .file = s->file, .line = line };

	if (instances)
		scan->instances = instances;
	fresh.title = strdup(title);
	fresh.origins = calloc(config_keys_count, sizeof(*fresh.origins));
	if (!instances || !fresh.title || !fresh.origins) {
		free(fresh.title);
		free(fresh.origins);
		s->error = -ENOMEM;
		return 0;
	}
	for (size_t i = 0; i < scan->instance_count; i++)
		fresh.index += instances[i].kind == kind;
	instances[scan->instance_count] = fresh;
	return scan->instance_count++;
}

static void title_check(struct scanner *s, enum config_section kind, const char *title, unsigned line)
{
	const char *name = config_sections[kind].name;

	if (!config_rules_is_title(title)) {
		MISTAKE(s, line, name,
			"\"%s\" is no name; allowed are at most %d letters, digits and . _ -, not beginning "
			"with . or -",
			title, CONFIG_NAME_MAX);
		return;
	}
	for (size_t i = 0; i < s->scan->instance_count; i++) {
		const struct config_instance *other = &s->scan->instances[i];

		if (other->kind != kind || strcmp(other->title, title) != 0)
			continue;
		MISTAKE(s, line, name, "\"%s\" is there twice; the name is taken in %s:%u", title,
			s->scan->paths[other->file], other->line);
		return;
	}
}

/* The instance that a new section belongs to, made when it has a title. */
static size_t section_instance(struct scanner *s, size_t parent, enum config_section kind,
	const struct config_token *title, unsigned line)
{
	const char *name = config_sections[kind].name;
	char text[SHOWN_MAX] = "";

	if (!config_sections[kind].titled) {
		if (title)
			MISTAKE(s, line, name, "this section has no name; write %s { ... }", name);
		return s->scan->sections[parent].instance;
	}
	if (title && title->wrong) {
		MISTAKE(s, title->line, name, "%s", title->wrong);
	} else if (title) {
		shown_title(s, title, text);
		title_check(s, kind, text, line);
	} else {
		MISTAKE(s, line, name, "has no name; write %s \"NAME\" { ... }", name);
	}
	return instance_add(s, kind, text, line);
}

static void scan_body(struct scanner *s, size_t section);

/* The token is {. */
static void scan_section(
	struct scanner *s, size_t parent, const char *name, const struct config_token *title, unsigned line)
{
	enum config_section kind = config_keys_section(kind_of(s, parent), name);
	struct config_scan_section *sections,
		fresh = { .kind = kind, .parent = parent, .file = s->file, .line = line };

	if (kind == CONFIG_SECTION_COUNT) {
		unknown_section(s, kind_of(s, parent), line, name);
		if (!skip_block(s))
			MISTAKE(s, line, name, "the section that begins here is not closed; a } is missing");
		return;
	}
	fresh.instance = section_instance(s, parent, kind, title, line);
	for (size_t i = 1; i < s->scan->section_count; i++)
		fresh.ordinal += s->scan->sections[i].kind == kind && s->scan->sections[i].parent == parent;
	sections = more(s->scan->sections, s->scan->section_count, sizeof(*sections));
	if (!sections) {
		s->error = -ENOMEM;
		return;
	}
	s->scan->sections = sections;
	sections[s->scan->section_count++] = fresh;
	text_addf(&s->scan->clean, "%s {\n", name);
	next(s);
	scan_body(s, s->scan->section_count - 1);
	text_add(&s->scan->clean, "}\n");
}

/* A section that can only stand outside is met inside another: that one's } is missing. */
static bool is_left_open(const struct scanner *s, size_t section, const char *name)
{
	return section != 0 && config_keys_section(CONFIG_TOP, name) != CONFIG_SECTION_COUNT &&
	       config_keys_section(kind_of(s, section), name) == CONFIG_SECTION_COUNT;
}

static void no_statement(struct scanner *s, size_t section, const char *name, unsigned line)
{
	if (config_keys_find(kind_of(s, section), name))
		MISTAKE(s, line, name, "= and a value are missing; write %s = VALUE", name);
	else
		MISTAKE(s, line, name,
			"is neither KEY = VALUE nor the begin of a section; a value with a space needs "
			"quotes");
}

static void unexpected(struct scanner *s)
{
	struct config_token token = s->lex.token;
	char text[SHOWN_MAX];

	shown(s, &token, text);
	if (token.wrong)
		MISTAKE(s, token.line, "syntax", "%s", token.wrong);
	else
		MISTAKE(s, token.line, "syntax",
			"%s is not expected here; a line is KEY = VALUE or begins a section", text);
	skip_line(s, token.line);
}

/* The token is the word it begins with. False, with that as the token again, when it stands outside
 * @section. */
static bool scan_statement(struct scanner *s, size_t section)
{
	struct config_token word = s->lex.token, title;
	char name[SHOWN_MAX];
	bool has_title;

	shown(s, &word, name);
	if (word.wrong) {
		unexpected(s);
		return true;
	}
	next(s);
	if (is(s, CONFIG_TOKEN_EQUALS) || is(s, CONFIG_TOKEN_APPEND)) {
		scan_assignment(s, section, name, word.line);
		return true;
	}
	title = s->lex.token;
	has_title = is(s, CONFIG_TOKEN_STRING) || (is(s, CONFIG_TOKEN_WORD) && title.line == word.line);
	if (has_title)
		next(s);
	if (!is(s, CONFIG_TOKEN_OPEN)) {
		no_statement(s, section, name, word.line);
		skip_line(s, word.line);
		return true;
	}
	if (is_left_open(s, section, name)) {
		config_lex_rewind(&s->lex, &word);
		return false;
	}
	scan_section(s, section, name, has_title ? &title : NULL, word.line);
	return true;
}

/* Statements up to the } of @section or the end of the file. */
static void scan_body(struct scanner *s, size_t section)
{
	/* Braces nest as deep as the table of sections does, so the stack is bounded. */
	while (!is(s, CONFIG_TOKEN_END)) {
		if (is(s, CONFIG_TOKEN_CLOSE)) {
			unsigned line = s->lex.token.line;

			next(s);
			if (section != 0)
				return;
			MISTAKE(s, line, "syntax",
				"} closes nothing; there is one too many, or a { is missing before it");
		} else if (!is(s, CONFIG_TOKEN_WORD)) {
			unexpected(s);
		} else if (!scan_statement(s, section)) {
			break;
		}
	}
	/* A comment left open is told by itself. */
	if (section == 0 || s->lex.token.wrong)
		return;
	if (is(s, CONFIG_TOKEN_END))
		MISTAKE(s, s->scan->sections[section].line, config_sections[kind_of(s, section)].name,
			"the section that begins here is not closed; a } is missing at the end of the file");
	else
		MISTAKE(s, s->scan->sections[section].line, config_sections[kind_of(s, section)].name,
			"the section that begins here is not closed; a } is missing before line %u",
			s->lex.token.line);
}

int config_scan_file(struct config_scan *scan, unsigned file, const char *bytes, size_t length)
{
	struct scanner s = { .scan = scan, .file = file };

	config_lex_init(&s.lex, bytes, length);
	next(&s);
	scan_body(&s, 0);
	if (s.lex.token.wrong)
		MISTAKE(&s, s.lex.token.line, "syntax", "%s", s.lex.token.wrong);
	if (text_error(&scan->clean) < 0 || scan->mistakes.error < 0)
		return -ENOMEM;
	return s.error;
}
