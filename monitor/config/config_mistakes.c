/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/config_mistakes.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void config_mistakes_fini(struct config_mistakes *mistakes)
{
	for (size_t i = 0; i < mistakes->count; i++)
		free(mistakes->rows[i].text);
	free(mistakes->rows);
	*mistakes = (struct config_mistakes){ NULL, 0, 0 };
}

void config_mistakes_add(struct config_mistakes *mistakes, unsigned file, unsigned line, const char *key,
	const char *format, ...)
{
	struct config_mistake *rows;
	char *what = NULL, *text = NULL;
	va_list args;
	int length;

	va_start(args, format);
	length = vasprintf(&what, format, args);
	va_end(args);
	if (length < 0) {
		mistakes->error = -ENOMEM;
		return;
	}
	length = asprintf(&text, "%s: %s", key, what);
	free(what);
	rows = realloc(mistakes->rows, (mistakes->count + 1) * sizeof(*rows));
	if (rows)
		mistakes->rows = rows;
	if (length < 0 || !rows) {
		if (length >= 0)
			free(text);
		mistakes->error = -ENOMEM;
		return;
	}
	rows[mistakes->count] = (struct config_mistake){ file, line, mistakes->count, text };
	mistakes->count++;
}

static int mistake_compare(const void *a, const void *b)
{
	const struct config_mistake *x = a, *y = b;

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

void config_mistakes_print(struct config_mistakes *mistakes, const char *const *paths, struct text *out)
{
	if (mistakes->count)
		qsort(mistakes->rows, mistakes->count, sizeof(*mistakes->rows), mistake_compare);
	for (size_t i = 0; i < mistakes->count; i++)
		text_addf(out, "%s:%u: %s\n", paths[mistakes->rows[i].file], mistakes->rows[i].line,
			mistakes->rows[i].text);
}
