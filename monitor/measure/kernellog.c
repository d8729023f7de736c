/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "measure/kernellog.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-journal.h>
#include <unistd.h>

/* The kernel answers EINVAL to a reader with less room than a record needs; none is longer. */
#define RECORD_MAX 8193

struct kernellog {
	int fd;		     /* of /dev/kmsg; -1 */
	sd_journal *journal; /* NULL */
	char record[RECORD_MAX];
};

static int kmsg_open(struct kernellog *log, const char *root)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/dev/kmsg", root) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	log->fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (log->fd < 0)
		return -errno;
	/* What was said before is not of now. */
	(void)lseek(log->fd, 0, SEEK_END);
	return 0;
}

/* 0 also for a journal without a line of the kernel yet. */
static int journal_open_kernel(struct kernellog *log, const char *root)
{
	char path[PATH_MAX];
	int rc;

	(void)snprintf(path, sizeof(path), "%.3800s/var/log/journal", root);
	rc = root[0] ? sd_journal_open_directory(&log->journal, path, 0)
		     : sd_journal_open(&log->journal, SD_JOURNAL_LOCAL_ONLY | SD_JOURNAL_SYSTEM);
	if (rc >= 0)
		rc = sd_journal_add_match(log->journal, "_TRANSPORT=kernel", 0);
	if (rc >= 0)
		rc = sd_journal_seek_tail(log->journal);
	/* Without a step back the position behind the last entry is not taken. */
	if (rc >= 0)
		rc = sd_journal_previous(log->journal);
	if (rc >= 0)
		rc = sd_journal_get_fd(log->journal);
	return rc < 0 ? rc : 0;
}

/* A journal that nobody writes opens, too: of this machine there is a folder with its files or there is none. */
static bool has_journal(const char *root)
{
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%.3800s/var/log/journal", root);
	return root[0] ? access(path, R_OK | X_OK) == 0 : access("/run/systemd/journal/socket", F_OK) == 0;
}

int kernellog_open(const char *root, struct kernellog **out, char *why)
{
	struct kernellog *log = calloc(1, sizeof(*log));
	int rc, second;

	why[0] = '\0';
	if (!log)
		return -ENOMEM;
	log->fd = -1;
	rc = kmsg_open(log, root);
	second = rc < 0 ? (has_journal(root) ? journal_open_kernel(log, root) : -ENOENT) : 0;
	if (rc < 0 && second < 0) {
		(void)snprintf(why, KERNELLOG_WHY_MAX, "/dev/kmsg: %s; the journal: %s", strerror(-rc),
			second == -ENOENT ? "journald does not run" : strerror(-second));
		kernellog_close(log);
		return rc;
	}
	*out = log;
	return 0;
}

void kernellog_close(struct kernellog *log)
{
	if (!log)
		return;
	if (log->fd >= 0)
		(void)close(log->fd);
	sd_journal_close(log->journal);
	free(log);
}

int kernellog_fd(const struct kernellog *log)
{
	return log->journal ? sd_journal_get_fd(log->journal) : log->fd;
}

bool kernellog_is_journal(const struct kernellog *log)
{
	return log->journal != NULL;
}

static int kmsg_next(struct kernellog *log, struct kernelline *out)
{
	for (;;) {
		ssize_t got = read(log->fd, log->record, sizeof(log->record) - 1);

		if (got <= 0 && (got == 0 || errno == EAGAIN))
			return 0;
		if (got < 0) {
			/* EPIPE: the kernel has overwritten what was not read yet, and goes on with the oldest. */
			if (errno == EINTR || errno == EPIPE)
				continue;
			return -errno;
		}
		log->record[got] = '\0';
		if (kernelline_parse(log->record, out) == 0)
			return 1;
	}
}

/* The value of a field, "" without it. */
static void field_read(sd_journal *journal, const char *name, char *out, size_t size)
{
	const void *data;
	size_t length, skip = strlen(name) + 1;

	out[0] = '\0';
	if (sd_journal_get_data(journal, name, &data, &length) < 0 || length < skip)
		return;
	(void)snprintf(out, size, "%.*s", (int)(length - skip), (const char *)data + skip);
}

static int journal_next(struct kernellog *log, struct kernelline *out)
{
	char message[KERNELLINE_TEXT_MAX], number[32];
	int rc;

	(void)sd_journal_process(log->journal);
	rc = sd_journal_next(log->journal);
	if (rc <= 0)
		return rc;
	field_read(log->journal, "PRIORITY", number, sizeof(number));
	*out = (struct kernelline){ .level = (unsigned)strtoul(number, NULL, 10) & 7 };
	field_read(log->journal, "_SOURCE_MONOTONIC_TIMESTAMP", number, sizeof(number));
	out->mono_us = strtoull(number, NULL, 10);
	field_read(log->journal, "SYSLOG_FACILITY", number, sizeof(number));
	out->facility = (unsigned)strtoul(number, NULL, 10);
	field_read(log->journal, "MESSAGE", message, sizeof(message));
	kernelline_clean(message, out->text);
	return 1;
}

int kernellog_next(struct kernellog *log, struct kernelline *out)
{
	return log->journal ? journal_next(log, out) : kmsg_next(log, out);
}
