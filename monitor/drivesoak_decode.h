/* SPDX-License-Identifier: GPL-2.0-or-later */
/* drivesoak_decode.h - `drivesoak decode FILE...`: what a saved health page, blob or smartctl JSON says. Opens files
 * only. */
#ifndef DRIVESOAK_DRIVESOAK_DECODE_H
#define DRIVESOAK_DRIVESOAK_DECODE_H

#define DECODE_FILE_BYTES_MAX (4 << 20)

/* An object a line. @kind: a name that reading_kind_find() knows, or NULL: by the content. An exit code, that of the
 * first file that can't be read; the others are read all the same. */
int drivesoak_decode(const char *kind, char *const *files, int count);

#endif
