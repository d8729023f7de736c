/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/statefile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ZEROS_BYTES 65536u

int statefile_read(int fd, void *buffer, size_t bytes)
{
	for (size_t done = 0; done < bytes;) {
		ssize_t count = read(fd, (uint8_t *)buffer + done, bytes - done);

		if (count < 0 && errno != EINTR)
			return -errno;
		if (count == 0)
			return -EBADMSG;
		done += count > 0 ? (size_t)count : 0;
	}
	return 0;
}

int statefile_write(int fd, const void *buffer, size_t bytes)
{
	for (size_t done = 0; done < bytes;) {
		ssize_t count = write(fd, (const uint8_t *)buffer + done, bytes - done);

		if (count < 0 && errno != EINTR)
			return -errno;
		done += count > 0 ? (size_t)count : 0;
	}
	return 0;
}

int statefile_sync_folder(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	int fd, rc = 0;

	if (!folder)
		return -ENOMEM;
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fsync(fd))
		rc = -errno;
	if (fd >= 0)
		(void)close(fd);
	free(folder);
	return rc;
}

int statefile_take_room(int fd, uint64_t bytes)
{
	static const uint8_t zeros[ZEROS_BYTES];
	int rc = fallocate(fd, 0, 0, (off_t)bytes) ? -errno : 0;

	if (rc != -EOPNOTSUPP && rc != -ENOSYS)
		return rc;
	rc = 0;
	for (uint64_t at = 0; at < bytes && rc == 0; at += ZEROS_BYTES)
		rc = statefile_write(fd, zeros, bytes - at < ZEROS_BYTES ? bytes - at : ZEROS_BYTES);
	return rc;
}
