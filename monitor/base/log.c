/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"

#define PAUSE_MIN_NS (10 * NS_PER_S)
#define PAUSE_MAX_NS (3600 * NS_PER_S)

/* systemd names the socket it gave; standard error may have been redirected since. */
static bool is_journal(int fd)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat st;

	return stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 && fstat(fd, &st) == 0 &&
	       st.st_dev == device && st.st_ino == inode;
}

/* Texts come from drives and files too: none may begin a line of its own or steer a terminal. */
static void flatten(char *text)
{
	for (; *text; text++) {
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			*text = ' ';
	}
}

void log_line(enum log_level level, const char *format, ...)
{
	char line[2048];
	int used = 0, added;
	va_list args;

	if (is_journal(STDERR_FILENO))
		used = snprintf(line, sizeof(line), "<%d>", (int)level);
	else if (level <= LOG_LEVEL_WARNING)
		used = snprintf(line, sizeof(line), "%s: ", level == LOG_LEVEL_ERROR ? "error" : "warning");
	va_start(args, format);
	added = vsnprintf(line + used, sizeof(line) - (size_t)used - 1, format, args);
	va_end(args);
	if (added < 0)
		return;
	flatten(line);
	used += added;
	if (used > (int)sizeof(line) - 2)
		used = (int)sizeof(line) - 2;
	line[used++] = '\n';
	/* A full or closed standard error must not stop the service. */
	if (write(STDERR_FILENO, line, (size_t)used) < 0)
		return;
}

bool log_complaint_raise(struct log_complaint *complaint, uint64_t now_ns, uint64_t *suppressed)
{
	if (complaint->open && now_ns < complaint->next_ns) {
		complaint->suppressed++;
		return false;
	}
	if (!complaint->open)
		complaint->pause_ns = PAUSE_MIN_NS;
	else if (complaint->pause_ns < PAUSE_MAX_NS / 2)
		complaint->pause_ns *= 2;
	else
		complaint->pause_ns = PAUSE_MAX_NS;
	complaint->open = true;
	complaint->next_ns = now_ns + complaint->pause_ns;
	*suppressed = complaint->suppressed;
	complaint->suppressed = 0;
	return true;
}

bool log_complaint_clear(struct log_complaint *complaint)
{
	bool was_open = complaint->open;

	*complaint = (struct log_complaint){ 0 };
	return was_open;
}
