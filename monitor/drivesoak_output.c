/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "drivesoak_output.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

int output_fail(int code, const char *what, const char *why)
{
	(void)fprintf(stderr, "drivesoak: %s: %s\n", what, why);
	return code;
}

static bool is_plain_or_new(const char *path)
{
	struct stat status;

	return lstat(path, &status) < 0 || S_ISREG(status.st_mode);
}

int output_open(const char *path, struct output *out)
{
	*out = (struct output){ stdout, path, TEXT_INIT };
	if (!path || strcmp(path, "-") == 0) {
		out->path = NULL;
		return EX_OK;
	}
	if (is_plain_or_new(path))
		text_addf(&out->temporary, "%s.%ld.new", path, (long)getpid());
	out->file = fopen(out->temporary.length ? text_string(&out->temporary) : path, "we");
	if (out->file)
		return EX_OK;
	text_fini(&out->temporary);
	return output_fail(EX_CANTCREAT, path, strerror(errno));
}

int output_close(struct output *output, int code)
{
	bool is_written = fflush(output->file) == 0 && !ferror(output->file);
	int error = errno;

	if (output->path && fclose(output->file) != 0 && is_written) {
		is_written = false;
		error = errno;
	}
	if (code == EX_OK && !is_written)
		code = output_fail(
			EX_IOERR, output->path ? output->path : "standard output", strerror(error));
	if (output->temporary.length && code == EX_OK &&
		rename(text_string(&output->temporary), output->path) < 0)
		code = output_fail(EX_CANTCREAT, output->path, strerror(errno));
	if (output->temporary.length && code != EX_OK)
		(void)unlink(text_string(&output->temporary));
	text_fini(&output->temporary);
	return code;
}
