/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "drivesoak_decode.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/json.h"
#include "drivesoak_output.h"
#include "probes/reading.h"

/* To the end of the file, or one byte more than is allowed. */
static int read_all(int fd, uint8_t *bytes, size_t *length)
{
	*length = 0;
	while (*length <= DECODE_FILE_BYTES_MAX) {
		ssize_t got = read(fd, bytes + *length, DECODE_FILE_BYTES_MAX + 1 - *length);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			return 0;
		*length += (size_t)got;
	}
	return -EFBIG;
}

static int read_file(const char *name, uint8_t *bytes, size_t *length)
{
	const int fd = strcmp(name, "-") == 0 ? dup(STDIN_FILENO) : open(name, O_RDONLY | O_CLOEXEC);
	int rc = fd < 0 ? -errno : read_all(fd, bytes, length);

	if (fd >= 0)
		(void)close(fd);
	if (rc == -EFBIG)
		return output_fail(EX_DATAERR, name, "larger than 4 MiB: no page of a drive");
	if (rc < 0)
		return output_fail(rc == -ENOENT || rc == -ENOTDIR ? EX_NOINPUT
				   : rc == -EACCES || rc == -EPERM ? EX_NOPERM
				   : rc == -EISDIR		   ? EX_DATAERR
								   : EX_IOERR,
			name, strerror(-rc));
	return EX_OK;
}

static int print_reading(const char *name, const struct reading *reading)
{
	struct text line = TEXT_INIT, members = TEXT_INIT, object = TEXT_INIT;
	struct json json;
	int code = EX_OK;

	reading_json(reading, &members);
	text_addf(&object, "{%s}", text_string(&members));
	json_init(&json, &line);
	json_object_open(&json);
	json_put_string(&json, "file", name);
	json_put_string(&json, "source", reading->source);
	json_put_raw(&json, "reading", text_string(&object));
	json_object_close(&json);
	if (text_error(&members) || text_error(&object) || text_error(&line))
		code = output_fail(EX_OSERR, name, strerror(ENOMEM));
	else
		(void)puts(text_string(&line));
	text_fini(&members);
	text_fini(&object);
	text_fini(&line);
	return code;
}

static int decode_file(const char *name, enum reading_kind kind, uint8_t *bytes)
{
	char why[READING_NOTES_MAX] = "";
	struct reading reading;
	size_t length = 0;
	int code = read_file(name, bytes, &length);

	if (code != EX_OK)
		return code;
	reading_init(&reading);
	if (reading_decode(&reading, kind, bytes, length, why) < 0)
		code = output_fail(EX_DATAERR, name, why);
	else
		code = print_reading(name, &reading);
	reading_fini(&reading);
	return code;
}

static int fail_kind(const char *name)
{
	(void)fprintf(stderr, "drivesoak decode: --as %s: no such kind; there are", name);
	for (enum reading_kind kind = 0; kind < READING_KIND_COUNT; kind++)
		(void)fprintf(stderr, " %s", reading_kind_name(kind));
	(void)fputc('\n', stderr);
	return EX_USAGE;
}

int drivesoak_decode(const char *kind_name, char *const *files, int count)
{
	enum reading_kind kind = kind_name ? reading_kind_find(kind_name) : READING_KIND_COUNT;
	uint8_t *bytes;
	int code = EX_OK;

	if (kind_name && kind == READING_KIND_COUNT)
		return fail_kind(kind_name);
	bytes = malloc(DECODE_FILE_BYTES_MAX + 1);
	if (!bytes)
		return EX_OSERR;
	for (int i = 0; i < count; i++) {
		int its = decode_file(files[i], kind, bytes);

		code = code == EX_OK ? its : code;
	}
	free(bytes);
	return code;
}
