/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree_fixture.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int tree_setup(void **state)
{
	char name[64];
	char *root;

	(void)snprintf(name, sizeof(name), "tree-test-%d-XXXXXX", (int)getpid());
	if (!mkdtemp(name))
		return -1;
	root = realpath(name, NULL);
	*state = root;
	return root ? 0 : -1;
}

int tree_teardown(void **state)
{
	char command[PATH_MAX + 16];
	int rc;

	(void)snprintf(command, sizeof(command), "rm -rf '%s'", (const char *)*state);
	rc = system(command);
	free(*state);
	return rc;
}

/* The folders above @path exist afterwards; @full gets the whole path. */
static void make_way(const char *root, const char *path, char *full, size_t size)
{
	(void)snprintf(full, size, "%s/%s", root, path);
	for (char *slash = strchr(full + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(full, 0755);
		*slash = '/';
	}
}

void tree_bytes(const char *root, const char *path, const void *bytes, size_t length)
{
	char full[PATH_MAX];
	FILE *file;

	make_way(root, path, full, sizeof(full));
	file = fopen(full, "we");
	if (!file || fwrite(bytes, 1, length, file) != length || fclose(file) != 0)
		abort();
}

void tree_file(const char *root, const char *path, const char *text)
{
	tree_bytes(root, path, text, strlen(text));
}

void tree_symlink(const char *root, const char *path, const char *text)
{
	char full[PATH_MAX];

	make_way(root, path, full, sizeof(full));
	(void)unlink(full);
	if (symlink(text, full) < 0)
		abort();
}

/* As sysfs has them, relative: they lead to the same place for whoever takes the root for "/". */
void tree_link(const char *root, const char *path, const char *to)
{
	char text[PATH_MAX] = "";
	size_t used = 0;

	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/'))
		used += (size_t)snprintf(text + used, sizeof(text) - used, "../");
	(void)snprintf(text + used, sizeof(text) - used, "%s", to);
	tree_symlink(root, path, text);
}

void tree_disk(const char *root, const char *folder, const char *name, unsigned long sectors)
{
	static unsigned minor_number;
	char path[512], to[512], size[32], number[32];

	(void)snprintf(to, sizeof(to), "%s/block/%s", folder, name);
	(void)snprintf(path, sizeof(path), "%s/size", to);
	(void)snprintf(size, sizeof(size), "%lu\n", sectors);
	tree_file(root, path, size);
	(void)snprintf(path, sizeof(path), "%s/ro", to);
	tree_file(root, path, "0\n");
	(void)snprintf(path, sizeof(path), "%s/dev", to);
	(void)snprintf(number, sizeof(number), "259:%u\n", minor_number++);
	tree_file(root, path, number);
	(void)snprintf(path, sizeof(path), "sys/block/%s", name);
	tree_link(root, path, to);
	(void)snprintf(path, sizeof(path), "sys/class/block/%s", name);
	tree_link(root, path, to);
	if (strncmp(folder, "sys/devices/virtual", 19) == 0)
		return;
	(void)snprintf(path, sizeof(path), "%s/device", to);
	tree_link(root, path, folder);
}
