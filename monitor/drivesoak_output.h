/* SPDX-License-Identifier: GPL-2.0-or-later */
/* drivesoak_output.h - where a result of the client goes: standard output, or a file that appears only when it is whole;
 * and how a failure is said. */
#ifndef DRIVESOAK_DRIVESOAK_OUTPUT_H
#define DRIVESOAK_DRIVESOAK_OUTPUT_H

#include <stdio.h>

#include "base/text.h"

/* Exit code beside those of sysexits.h: it ran, and what it looked at is bad. */
#define OUTPUT_BAD 1

struct output {
	FILE *file;
	const char *path;
	struct text temporary;
};

/* The same words for every failure: what could not be done, and why. Returns @code. */
int output_fail(int code, const char *what, const char *why);

/* @path NULL or "-": standard output. An exit code; the reason is on standard error. */
int output_open(const char *path, struct output *out);
/* @code: how the writing went so far; what comes back is that, or how the end went. */
int output_close(struct output *output, int code);

#endif
