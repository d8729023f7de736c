/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kernellog.h - the kernel's log from now on, line by line: /dev/kmsg, or what journald keeps of it where that may not
 * be opened. Never blocks; belongs to one thread. */
#ifndef DRIVESOAK_KERNELLOG_H
#define DRIVESOAK_KERNELLOG_H

#include <stdbool.h>

#include "measure/kernelline.h"

#define KERNELLOG_WHY_MAX 256

struct kernellog;

/* @root as in base/sysfs.h: below any but "" only its dev/kmsg and var/log/journal are tried. -errno with @why
 * (KERNELLOG_WHY_MAX) when there is neither. */
int kernellog_open(const char *root, struct kernellog **out, char *why);
void kernellog_close(struct kernellog *log); /* NULL is fine */

/* To wait for a line: readable when there may be one. */
int kernellog_fd(const struct kernellog *log);
/* 1 with the next line, 0 when there is none now, -errno when there will be none any more. */
int kernellog_next(struct kernellog *log, struct kernelline *out);
bool kernellog_is_journal(const struct kernellog *log);

#endif
