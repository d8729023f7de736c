/* SPDX-License-Identifier: GPL-2.0-or-later */
/* statefile.h - the steps that files of the engine in the state directory are made of: read and written whole, room
 * taken at once, a rename made durable. All may block on the state disk. 0 or -errno. */
#ifndef DRIVESOAK_STATEFILE_H
#define DRIVESOAK_STATEFILE_H

#include <stddef.h>
#include <stdint.h>

/* All @bytes or -errno; -EBADMSG when the file ends before. */
int statefile_read(int fd, void *buffer, size_t bytes);
int statefile_write(int fd, const void *buffer, size_t bytes);
/* For a new file: every block is there afterwards, so that a store into a map can't meet a full disk. */
int statefile_take_room(int fd, uint64_t bytes);
/* Make a rename to @path durable. */
int statefile_sync_folder(const char *path);

#endif
