/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/dioalign.h"

#include <errno.h>
#include <linux/fcntl.h>
#include <linux/stat.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int dioalign_read(int fd, uint32_t *mem_align_bytes, uint32_t *offset_align_bytes)
{
	struct statx stx;

	memset(&stx, 0, sizeof(stx));
	if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &stx) < 0)
		return -errno;
	if (!(stx.stx_mask & STATX_DIOALIGN))
		return -ENODATA;
	*mem_align_bytes = stx.stx_dio_mem_align;
	*offset_align_bytes = stx.stx_dio_offset_align;
	return 0;
}
