/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "config/config_load.h"

static char folder[] = "/tmp/drivesoak-config-XXXXXX";

int fixture_setup(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

int fixture_teardown(void **state)
{
	(void)state;
	fixture_remove("t.conf");
	return rmdir(folder);
}

const char *fixture_path(const char *name)
{
	static char paths[4][256];
	static unsigned turn;
	char *path = paths[turn++ % 4];

	(void)snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
	return path;
}

void fixture_write(const char *name, const char *bytes, size_t length)
{
	int fd = open(fixture_path(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, length), length);
	(void)close(fd);
}

void fixture_remove(const char *name)
{
	(void)unlink(fixture_path(name));
}

int fixture_load_bytes(
	const char *bytes, size_t length, bool accept_later, struct config **out, struct text *mistakes)
{
	fixture_write("t.conf", bytes, length);
	return config_load_any(fixture_path("t.conf"), accept_later, out, mistakes);
}

struct config *fixture_load(const char *text, bool accept_later)
{
	struct text mistakes = TEXT_INIT;
	struct config *config = NULL;
	int rc = fixture_load_bytes(text, strlen(text), accept_later, &config, &mistakes);

	if (rc != 0)
		fail_msg("%d:\n%s%s", rc, text_string(&mistakes), text);
	assert_string_equal(text_string(&mistakes), "");
	text_fini(&mistakes);
	return config;
}

/* @text without any "FOLDER/". */
static void strip_folder(const char *text, struct text *out)
{
	char prefix[sizeof(folder) + 1];
	const char *found;

	(void)snprintf(prefix, sizeof(prefix), "%s/", folder);
	while ((found = strstr(text, prefix)) != NULL) {
		text_add_bytes(out, text, (size_t)(found - text));
		text = found + strlen(prefix);
	}
	text_add(out, text);
}

static void check(bool accept_later, const char *text, const char *expected)
{
	struct config *config = (struct config *)&folder; /* must stay */
	struct text mistakes = TEXT_INIT, stripped = TEXT_INIT;
	int rc = config_load_any(fixture_path("t.conf"), accept_later, &config, &mistakes);

	strip_folder(text_string(&mistakes), &stripped);
	if (rc != -EINVAL || strcmp(text_string(&stripped), expected) != 0)
		fail_msg("%d for\n%s\nis\n%sexpected\n%s", rc, text, text_string(&stripped), expected);
	assert_ptr_equal(config, &folder);
	text_fini(&mistakes);
	text_fini(&stripped);
}

void fixture_check_mistakes(const char *text, bool accept_later, const char *expected)
{
	fixture_write("t.conf", text, strlen(text));
	check(accept_later, text, expected);
}

void fixture_check_folder(const char *expected)
{
	check(false, "the folder", expected);
}

char *fixture_print(const struct config *config)
{
	struct text printed = TEXT_INIT, bare = TEXT_INIT;
	const char *line, *end;
	size_t length;

	config_print(config, &printed);
	for (line = text_string(&printed); *line; line = *end ? end + 1 : end) {
		const char *comment;

		end = line + strcspn(line, "\n");
		/* The last one: a value may look like a comment. */
		for (comment = end; comment > line && strncmp(comment, " # ", 3) != 0; comment--)
			;
		if (comment == line)
			comment = end;
		while (comment > line && comment[-1] == ' ')
			comment--;
		text_add_bytes(&bare, line, (size_t)(comment - line));
		text_add(&bare, "\n");
	}
	text_fini(&printed);
	return text_take(&bare, &length);
}
