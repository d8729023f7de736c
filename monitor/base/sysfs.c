/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/sysfs.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int read_text(char *out, size_t size, const char *root, const char *format, va_list args)
{
	char path[PATH_MAX];
	int used = snprintf(path, sizeof(path), "%s", root), added, fd, rc = 0;
	ssize_t got;

	out[0] = '\0';
	if (used < 0 || (size_t)used >= sizeof(path))
		return -ENAMETOOLONG;
	added = vsnprintf(path + used, sizeof(path) - (size_t)used, format, args);
	if (added < 0 || (size_t)(used + added) >= sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	got = read(fd, out, size - 1);
	if (got < 0)
		rc = -errno;
	(void)close(fd);
	out[got < 0 ? 0 : got] = '\0';
	for (size_t end = strlen(out); end > 0 && isspace((unsigned char)out[end - 1]); end--)
		out[end - 1] = '\0';
	return rc;
}

int sysfs_read_text(char *out, size_t size, const char *root, const char *format, ...)
{
	va_list args;
	int rc;

	va_start(args, format);
	rc = read_text(out, size, root, format, args);
	va_end(args);
	return rc;
}

int sysfs_read_u64(uint64_t *out, const char *root, const char *format, ...)
{
	char text[32], *end;
	unsigned long long value;
	va_list args;
	int rc;

	va_start(args, format);
	rc = read_text(text, sizeof(text), root, format, args);
	va_end(args);
	if (rc < 0)
		return rc;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || end == text || *end || text[0] == '-')
		return -EINVAL;
	*out = value;
	return 0;
}
