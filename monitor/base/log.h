/* SPDX-License-Identifier: GPL-2.0-or-later */
/* log.h - one line a message on standard error, with the priority mark that systemd's journal understands
 * when standard error is the journal. Only main, the conductor and thread entry functions log.
 * Thread-safe: a line is one write. */
#ifndef DRIVESOAK_LOG_H
#define DRIVESOAK_LOG_H

#include <stdbool.h>
#include <stdint.h>

enum log_level { LOG_LEVEL_ERROR = 3, LOG_LEVEL_WARNING = 4, LOG_LEVEL_NOTICE = 5, LOG_LEVEL_INFO = 6 };

void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...)	 log_line(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_line(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_notice(...)	 log_line(LOG_LEVEL_NOTICE, __VA_ARGS__)
#define log_info(...)	 log_line(LOG_LEVEL_INFO, __VA_ARGS__)

/* A complaint that may repeat: said at once, then with doubling pauses from 10 s to 1 h, and once more when
 * it clears. Zero-initialised; belongs to one thread. */
struct log_complaint {
	uint64_t next_ns, pause_ns, suppressed;
	bool open;
};

/* True when the caller should print now; @*suppressed gets how many were kept back since the last one. */
bool log_complaint_raise(struct log_complaint *complaint, uint64_t now_ns, uint64_t *suppressed);
/* True once after a raised complaint is over. */
bool log_complaint_clear(struct log_complaint *complaint);

#endif
