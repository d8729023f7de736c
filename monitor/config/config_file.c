/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/config_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char too_big[] = "is larger than 1 MiB; that is no configuration file";

/* @bytes has room for one more than the largest file. */
static int bytes_read(int fd, char *bytes, size_t *length)
{
	size_t used = 0;

	while (used <= CONFIG_FILE_MAX_BYTES) {
		ssize_t got = read(fd, bytes + used, CONFIG_FILE_MAX_BYTES + 1 - used);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		used += (size_t)got;
	}
	*length = used;
	return 0;
}

static int regular_check(int fd, const char **wrong)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		*wrong = S_ISDIR(st.st_mode) ? "is a folder, not a file" : "is not a regular file";
	else if (st.st_size > CONFIG_FILE_MAX_BYTES)
		*wrong = too_big;
	else
		return 0;
	return -EINVAL;
}

int config_file_read(const char *path, char **out, size_t *length, const char **wrong)
{
	/* Without O_NONBLOCK a FIFO would hold the start for ever. */
	int rc, fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char *bytes = NULL;

	if (fd < 0)
		return -errno;
	rc = regular_check(fd, wrong);
	if (rc < 0)
		goto fail;
	bytes = malloc(CONFIG_FILE_MAX_BYTES + 2);
	if (!bytes) {
		rc = -ENOMEM;
		goto fail;
	}
	rc = bytes_read(fd, bytes, length);
	if (rc == 0 && *length > CONFIG_FILE_MAX_BYTES) {
		*wrong = too_big;
		rc = -EINVAL;
	}
	if (rc < 0)
		goto fail;
	(void)close(fd);
	bytes[*length] = '\0';
	*out = bytes;
	return 0;
fail:
	free(bytes);
	(void)close(fd);
	return rc;
}

static int is_conf(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return entry->d_name[0] != '.' && length > 5 && !strcmp(entry->d_name + length - 5, ".conf");
}

static int name_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void config_file_list_free(char **names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(names[i]);
	free(names);
}

/* 1 when there was an entry, 0 at the end. */
static int list_step(DIR *dir, char ***names, size_t *count)
{
	struct dirent *entry;
	char **grown;

	errno = 0;
	entry = readdir(dir);
	if (!entry)
		return -errno;
	if (!is_conf(entry))
		return 1;
	grown = reallocarray(*names, *count + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	*names = grown;
	grown[*count] = strdup(entry->d_name);
	if (!grown[*count])
		return -ENOMEM;
	(*count)++;
	return 1;
}

int config_file_list(const char *folder, char ***names, size_t *count)
{
	char **found = NULL;
	size_t found_count = 0;
	DIR *dir = opendir(folder);
	int rc;

	if (!dir)
		return -errno;
	do
		rc = list_step(dir, &found, &found_count);
	while (rc > 0);
	(void)closedir(dir);
	if (rc < 0) {
		config_file_list_free(found, found_count);
		return rc;
	}
	if (found_count)
		qsort(found, found_count, sizeof(*found), name_compare);
	*names = found;
	*count = found_count;
	return 0;
}
