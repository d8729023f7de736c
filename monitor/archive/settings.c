/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "archive/settings.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/flat.h"
#include "base/text.h"
#include "base/units.h"

static void print_percent(double value, char *text)
{
	(void)snprintf(text, UNITS_TEXT_MAX, "%g %%", value);
}

static void print_celsius(double value, char *text)
{
	(void)snprintf(text, UNITS_TEXT_MAX,
		"%g \xc2\xb0"
		"C",
		value);
}

/* The unit is in the key. */
static const struct unit {
	const char *suffix;
	void (*print)(double value, char *text);
	double factor;
} units[] = {
	{ "_pct", print_percent, 1 },
	{ "_c", print_celsius, 1 },
	{ "_bytes_per_s", units_print_rate_rounded, 1 },
	{ "_bytes", units_print_bytes_rounded, 1 },
	{ "_ns", units_print_duration_rounded, 1 },
	{ "_s", units_print_duration_rounded, 1e9 },
};

/* Cut the unit off @name; NULL when it has none. */
static const struct unit *unit_take(char *name)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		size_t suffix = strlen(units[i].suffix);

		if (length <= suffix || strcmp(name + length - suffix, units[i].suffix) != 0)
			continue;
		name[length - suffix] = '\0';
		return &units[i];
	}
	return NULL;
}

/* @value as it is shown: itself, or @text. 0 needs no unit, and words such as "auto" have none. */
static const char *value_print(const struct unit *unit, const char *value, char *text)
{
	char *end;
	double number = strtod(value, &end);

	if (!unit || end == value || *end || !(number > 0))
		return value;
	unit->print(number * unit->factor, text);
	return text;
}

static void name_make(const char *key, char *name)
{
	(void)snprintf(name, FLAT_KEY_MAX, "%s", key);
}

static void underscores_clear(char *name)
{
	for (char *c = name; *c; c++)
		*c = *c == '_' || *c == '-' ? ' ' : *c;
}

/* The names of ["a","b"], a comma between. */
static void list_add(struct text *line, const char *array)
{
	for (const char *c = array; *c; c++) {
		if (*c == ',')
			text_add(line, ", ");
		else if (*c != '[' && *c != ']' && *c != '"')
			text_add_bytes(line, c, 1);
	}
}

/* The first member names the element, the others follow by name. */
static void element_add(const char *key, const char *value, void *arg)
{
	struct text *line = arg;
	char name[FLAT_KEY_MAX], text[UNITS_TEXT_MAX];
	const struct unit *unit;

	if (value[0] == '\0')
		return;
	name_make(key, name);
	unit = unit_take(name);
	underscores_clear(name);
	if (line->length)
		text_addf(line, ", %s ", name);
	if (value[0] == '[')
		list_add(line, value);
	else
		text_add(line, value_print(unit, value, text));
}

struct walk {
	void (*each)(const char *name, const char *value, void *arg);
	void *arg;
};

static void element_visit(const struct walk *walk, const char *name, const char *object)
{
	struct text line = TEXT_INIT;

	if (flat_each(object, element_add, &line) == 0 && line.length)
		walk->each(name, text_string(&line), walk->arg);
	text_fini(&line);
}

static void elements_visit(const struct walk *walk, const char *name, const char *array)
{
	for (const char *at = strchr(array, '{'); at; at = strchr(at + 1, '{'))
		element_visit(walk, name, at);
}

static void member_visit(const char *key, const char *value, void *arg)
{
	const struct walk *walk = arg;
	char name[FLAT_KEY_MAX], text[UNITS_TEXT_MAX];
	const struct unit *unit;

	if (value[0] == '\0')
		return;
	name_make(key, name);
	unit = unit_take(name);
	underscores_clear(name);
	if (value[0] == '[')
		elements_visit(walk, name, value);
	else if (value[0] == '{')
		element_visit(walk, name, value);
	else
		walk->each(name, value_print(unit, value, text), walk->arg);
}

int settings_each(const char *json, void (*each)(const char *name, const char *value, void *arg), void *arg)
{
	struct walk walk = { each, arg };

	return flat_each(json, member_visit, &walk);
}
