/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tree_fixture.h - a folder with a tree as sysfs has it: files with text, links between folders. */
#ifndef TESTS_TREE_FIXTURE_H
#define TESTS_TREE_FIXTURE_H

#include <stddef.h>
#include <stdint.h>

/* For cmocka: *state is the root, an absolute path in the build folder. */
int tree_setup(void **state);
int tree_teardown(void **state);

/* Folders on the way are made. */
void tree_file(const char *root, const char *path, const char *text);
void tree_bytes(const char *root, const char *path, const void *bytes, size_t length);
/* @to: a path below the root. */
void tree_link(const char *root, const char *path, const char *to);
/* A link with this text, leading anywhere or nowhere. */
void tree_symlink(const char *root, const char *path, const char *text);
/* A whole disk @name with the device folder @folder, as sys/block/NAME and sys/class/block/NAME. */
void tree_disk(const char *root, const char *folder, const char *name, unsigned long sectors);

#endif
