/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sysfs.h - read small text files of the kernel, below a root that tests can replace. Trailing white space is cut.
 * Any thread. */
#ifndef DRIVESOAK_SYSFS_H
#define DRIVESOAK_SYSFS_H

#include <stddef.h>
#include <stdint.h>

/* Read @root followed by the formatted path into @out (at most @size with the NUL; longer text is cut). 0, or
 * -errno with @out set to "". */
int sysfs_read_text(char *out, size_t size, const char *root, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* A decimal number; -EINVAL for anything else, @out as it was on any failure. */
int sysfs_read_u64(uint64_t *out, const char *root, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
