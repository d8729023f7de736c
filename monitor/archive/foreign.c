/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "archive/foreign_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define CHUNK_BYTES 65536 /* also the longest line */

static const char byte_order_mark[] = "\xef\xbb\xbf";

/* In order: what is told by more comes first. */
static const struct foreign_format *const formats[] = { &foreign_own_json, &foreign_own_csv, &foreign_csv,
	&foreign_sysbench, &foreign_iostat, &foreign_fio };

const struct foreign_info *foreign_info(const struct foreign *foreign)
{
	return &foreign->info;
}

static int fail_file(struct foreign *foreign, int rc)
{
	(void)snprintf(foreign->why, sizeof(foreign->why), "%.300s: %s", foreign->name, strerror(-rc));
	return rc;
}

/* What can't be read twice is kept. */
static int keep_stream(struct foreign *foreign)
{
	FILE *kept = tmpfile();
	char bytes[4096];
	size_t got;

	if (!kept)
		return fail_file(foreign, -errno);
	while ((got = fread(bytes, 1, sizeof(bytes), foreign->file)) > 0 &&
		fwrite(bytes, 1, got, kept) == got)
		;
	if (ferror(foreign->file) || ferror(kept) || fflush(kept) != 0) {
		int rc = errno ? -errno : -EIO;

		(void)fclose(kept);
		return fail_file(foreign, rc);
	}
	if (foreign->file != stdin)
		(void)fclose(foreign->file);
	foreign->file = kept;
	return 0;
}

static int open_file(struct foreign *foreign)
{
	struct stat status;
	bool is_standard = strcmp(foreign->path, "-") == 0;

	foreign->file = is_standard ? stdin : fopen(foreign->path, "re");
	if (!foreign->file || fstat(fileno(foreign->file), &status) < 0)
		return fail_file(foreign, -errno);
	if (S_ISDIR(status.st_mode))
		return fail_file(foreign, -EISDIR);
	return S_ISREG(status.st_mode) && !is_standard ? 0 : keep_stream(foreign);
}

static int take_line(struct foreign *foreign, char *line, size_t length)
{
	foreign->line++;
	if (length && line[length - 1] == '\r')
		length--;
	line[length] = '\0';
	if (foreign->line == 1 && length >= 3 && memcmp(line, byte_order_mark, 3) == 0)
		line += 3, length -= 3;
	if (memchr(line, '\0', length))
		return foreign_fail(foreign, "a NUL byte: this is no text, or was never written to the end");
	return foreign->is_look ? foreign->format->look(foreign, line) : foreign->format->line(foreign, line);
}

/* The whole lines of @bytes; *@used of them. */
static int take_lines(struct foreign *foreign, char *bytes, size_t length, size_t *used)
{
	char *at = bytes, *end;
	int rc = 0;

	while (rc == 0 && (end = memchr(at, '\n', length - (size_t)(at - bytes)))) {
		rc = take_line(foreign, at, (size_t)(end - at));
		if (rc == 0)
			foreign->length += (uint64_t)(end + 1 - at);
		at = end + 1;
	}
	*used = (size_t)(at - bytes);
	return rc;
}

/* A log that is being written ends anywhere: what can be read of its last line counts, the rest is told. */
static int take_open_line(struct foreign *foreign, char *bytes, size_t length)
{
	int rc;

	foreign->is_open_line = true;
	rc = take_line(foreign, bytes, length);
	foreign->is_open_line = false;
	if (rc == 0)
		foreign->length += length;
	if (!foreign->is_survey)
		return rc;
	if (foreign->is_look)
		return rc == -EBADMSG ? 0 : rc;
	if (rc == 0)
		foreign_warn(foreign, "line %llu, the last, has no end: it may be cut",
			(unsigned long long)foreign->line);
	else if (rc == -EBADMSG)
		foreign_warn(foreign, "line %llu, the last, is cut and left out: is the log still written?",
			(unsigned long long)foreign->line);
	return rc == -EBADMSG ? 0 : rc;
}

static size_t room_of(const struct foreign *foreign, uint64_t read_bytes, size_t room)
{
	uint64_t left = foreign->length - read_bytes;

	if (foreign->is_survey || left > room)
		return room;
	return (size_t)left;
}

static int pass_lines(struct foreign *foreign, char *bytes)
{
	uint64_t read_bytes = 0, limit = foreign->length;
	size_t kept = 0, used, got;
	int rc = 0;

	if (foreign->is_survey)
		foreign->length = 0;
	while (rc == 0) {
		/* The second pass ends where the first did: the file may have grown. */
		foreign->length = foreign->is_survey ? foreign->length : limit;
		got = fread(bytes + kept, 1, room_of(foreign, read_bytes, CHUNK_BYTES - kept), foreign->file);
		if (got == 0)
			break;
		read_bytes += got;
		rc = take_lines(foreign, bytes, kept + got, &used);
		kept = kept + got - used;
		memmove(bytes, bytes + used, kept);
		if (rc == 0 && kept == CHUNK_BYTES) {
			foreign->line++;
			rc = foreign_fail(foreign, "a line of more than %d bytes: no log", CHUNK_BYTES);
		}
	}
	if (rc == 0 && ferror(foreign->file))
		rc = fail_file(foreign, errno ? -errno : -EIO);
	return rc == 0 && kept ? take_open_line(foreign, bytes, kept) : rc;
}

static int pass_bytes(struct foreign *foreign, char *bytes)
{
	size_t got;
	int rc = 0;

	foreign->line = 1;
	while (rc == 0 && (got = fread(bytes, 1, CHUNK_BYTES, foreign->file)) > 0)
		rc = foreign->format->feed(foreign, bytes, got);
	if (rc == 0 && ferror(foreign->file))
		rc = fail_file(foreign, errno ? -errno : -EIO);
	return rc;
}

static int pass(struct foreign *foreign)
{
	char *bytes = malloc(CHUNK_BYTES + 1);
	int rc;

	if (!bytes)
		return fail_file(foreign, -ENOMEM);
	rewind(foreign->file);
	foreign->line = 0;
	rc = foreign->format->feed ? pass_bytes(foreign, bytes) : pass_lines(foreign, bytes);
	if (rc == 0 && foreign->format->end && !foreign->is_look)
		rc = foreign->format->end(foreign);
	free(bytes);
	if (rc == -ENOMEM)
		(void)fail_file(foreign, rc);
	return rc;
}

static const struct foreign_format *recognise_line(const char *line)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (formats[i]->recognise(line))
			return formats[i];
	return NULL;
}

static int fail_unknown(struct foreign *foreign, const char *bytes, size_t length)
{
	foreign->line = 1;
	if (length == 0)
		return foreign_fail(foreign, "the file is empty");
	if (length >= 2 &&
		((bytes[0] == '\xff' && bytes[1] == '\xfe') || (bytes[0] == '\xfe' && bytes[1] == '\xff')))
		return foreign_fail(foreign, "UTF-16 text: convert it, as with iconv -f UTF-16 -t UTF-8");
	if (memchr(bytes, '\0', length))
		return foreign_fail(foreign, "a binary file: no log");
	return foreign_fail(foreign, "no log that is known: not of sysbench fileio, fio (bandwidth), "
				     "iostat -x, no CSV with the header t_s,write_bytes_per_s, no export");
}

/* By the first line that says something, within the first chunk. */
static int recognise(struct foreign *foreign)
{
	char *bytes = malloc(CHUNK_BYTES + 1), *at, *end;
	size_t length;
	int rc = 0;

	if (!bytes)
		return fail_file(foreign, -ENOMEM);
	rewind(foreign->file);
	length = fread(bytes, 1, CHUNK_BYTES, foreign->file);
	bytes[length] = '\0';
	at = strncmp(bytes, byte_order_mark, 3) == 0 ? bytes + 3 : bytes;
	for (; *at && !foreign->format; at = end + 1) {
		end = at + strcspn(at, "\n");
		foreign->format = recognise_line(at);
		if (!*end)
			break;
	}
	if (!foreign->format)
		rc = fail_unknown(foreign, bytes, length);
	free(bytes);
	return rc;
}

static int survey(struct foreign *foreign)
{
	int rc = recognise(foreign);

	if (rc < 0)
		return rc;
	foreign->info.format = foreign->format->name;
	foreign->state = calloc(1, foreign->format->state_bytes ? foreign->format->state_bytes : 1);
	if (!foreign->state)
		return fail_file(foreign, -ENOMEM);
	foreign->is_survey = true;
	if (foreign->format->look) {
		foreign->is_look = true;
		rc = pass(foreign);
		foreign->is_look = false;
	}
	if (rc == 0)
		rc = pass(foreign);
	foreign->is_survey = false;
	return rc == 0 ? foreign_survey_end(foreign) : rc;
}

int foreign_open(const char *path, const struct foreign_options *options, struct foreign **out, char *why)
{
	struct foreign *foreign = calloc(1, sizeof(*foreign));
	int rc;

	if (!foreign) {
		(void)snprintf(why, FOREIGN_WHY_MAX, "%.300s: %s", path, strerror(ENOMEM));
		return -ENOMEM;
	}
	foreign->path = path;
	foreign->name = strdup(strcmp(path, "-") == 0 ? "standard input" : path);
	foreign->first_ms = foreign->last_ms = INT64_MIN;
	if (options)
		foreign->options = *options;
	rc = foreign->name ? open_file(foreign) : -ENOMEM;
	if (rc == 0)
		rc = survey(foreign);
	if (rc < 0) {
		(void)snprintf(why, FOREIGN_WHY_MAX, "%s", foreign->why);
		foreign_close(foreign);
		return rc;
	}
	*out = foreign;
	return 0;
}

void foreign_close(struct foreign *foreign)
{
	if (!foreign)
		return;
	if (foreign->format && foreign->format->free && foreign->state)
		foreign->format->free(foreign->state);
	if (foreign->file && foreign->file != stdin)
		(void)fclose(foreign->file);
	free(foreign->info.gaps);
	free(foreign->state);
	free(foreign->name);
	free(foreign);
}

int foreign_each(
	struct foreign *foreign, int (*each)(const struct foreign_row *, void *), void *arg, char *why)
{
	int rc;

	foreign->each = each;
	foreign->arg = arg;
	foreign->why[0] = '\0';
	rc = pass(foreign);
	if (rc == 0)
		rc = foreign_sequence_end(foreign);
	(void)snprintf(why, FOREIGN_WHY_MAX, "%s", foreign->why);
	return rc;
}
