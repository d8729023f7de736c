/* SPDX-License-Identifier: GPL-2.0-or-later */
/* dioalign.h - what statx() says about direct I/O. A file of its own: glibc's struct statx lacks these fields and
 * can't be included together with the kernel's. */
#ifndef DRIVESOAK_DIOALIGN_H
#define DRIVESOAK_DIOALIGN_H

#include <stdint.h>

/* 0 with both alignments in bytes (0: the file does not do direct I/O), -ENODATA when the filesystem does not tell,
 * or -errno. */
int dioalign_read(int fd, uint32_t *mem_align_bytes, uint32_t *offset_align_bytes);

#endif
