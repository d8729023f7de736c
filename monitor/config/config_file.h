/* SPDX-License-Identifier: GPL-2.0-or-later */
/* config_file.h - get the bytes of a configuration file and the names of those in a folder. */
#ifndef DRIVESOAK_CONFIG_FILE_H
#define DRIVESOAK_CONFIG_FILE_H

#include <stddef.h>

#define CONFIG_FILE_MAX_BYTES (1024 * 1024)

/* All of a regular file; @*out is the caller's, with a NUL behind the bytes. 0, -errno when it can't be
 * read, or -EINVAL with what is wrong with it in @*wrong. */
int config_file_read(const char *path, char **out, size_t *length, const char **wrong);

/* Names of the *.conf in @folder in C-locale order, without those that begin with a dot; @*names and each of
 * them are the caller's. 0 or -errno. */
int config_file_list(const char *folder, char ***names, size_t *count);
void config_file_list_free(char **names, size_t count);

#endif
