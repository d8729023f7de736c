/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rrdfile_private.h - what the files of the RRD view share: its layout, the check of a header without librrd
 * (which trusts what it reads), and the locks. */
#ifndef DRIVESOAK_RRDFILE_PRIVATE_H
#define DRIVESOAK_RRDFILE_PRIVATE_H

#include <stdint.h>
#include <time.h>

#include "archive/rrdfile.h"

#define RRDFILE_FULL_ROWS_MAX (1ul << 21) /* 218 MB; a longer run wraps, the ladders hold the rest */

struct rrdfile_header {
	unsigned long full_rows;
	time_t last_s;
};

int rrdfile_fail(char *why, int rc, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The same with librrd's text, which may be missing, and the errno that it stands for. */
int rrdfile_fail_rrd(char *why, const char *what);

/* 0, -ENOENT without a file, -EBADMSG when it is not a whole file of our layout. */
int rrdfile_header_read(const char *path, uint32_t step_s, struct rrdfile_header *out, char *why);
/* A new file whose first row ends at @last_s + @step_s; checks for room before and after. */
int rrdfile_create(const char *path, uint32_t step_s, unsigned long full_rows, time_t last_s, char *why);
/* A hole in the file kills the process at the next update when the disk is full: fill holes first. */
int rrdfile_allocate(const char *path, char *why);

double rrdfile_source_value(const struct sample *sample, size_t source);

struct path_lock;
/* NULL when memory is short. */
struct path_lock *path_lock_get(const char *path);
void path_lock_put(struct path_lock *lock);
void path_lock_lock(struct path_lock *lock);
void path_lock_unlock(struct path_lock *lock);

#endif
