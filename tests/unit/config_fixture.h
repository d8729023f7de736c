/* SPDX-License-Identifier: GPL-2.0-or-later */
/* config_fixture.h - configuration files in a folder of their own, and what loading them says. */
#ifndef DRIVESOAK_CONFIG_FIXTURE_H
#define DRIVESOAK_CONFIG_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>

#include "config/config.h"

#define ARRAY_LEN(array) (sizeof(array) / sizeof((array)[0]))

/* The shortest valid file. */
#define DRIVE "drive \"d\" { directory = \"/d\" }\n"

/* Group setup and teardown: the folder. */
int fixture_setup(void **state);
int fixture_teardown(void **state);

/* Path of @name in the folder; the next call but three overwrites it. */
const char *fixture_path(const char *name);
void fixture_write(const char *name, const char *bytes, size_t length);
void fixture_remove(const char *name);

/* Load "t.conf" of the folder with @text in it. */
int fixture_load_bytes(
	const char *bytes, size_t length, bool accept_later, struct config **out, struct text *mistakes);
/* The config of a valid @text; fails with the mistakes otherwise. */
struct config *fixture_load(const char *text, bool accept_later);
/* Loading @text must fail with just these mistakes, without the folder in front of the file names. */
void fixture_check_mistakes(const char *text, bool accept_later, const char *expected);
/* The same for what is in the folder already. */
void fixture_check_folder(const char *expected);
/* What config_print() says without the origins. Free it. */
char *fixture_print(const struct config *config);

#endif
