/* SPDX-License-Identifier: GPL-2.0-or-later */
/* command.h - run a program of the configuration for one message: its own process group, no shell, the body on its
 * standard input, its output kept as far as it is short. It never blocks: descriptors to wait for, and looks. Belongs to one
 * thread. */
#ifndef DRIVESOAK_ALERT_COMMAND_H
#define DRIVESOAK_ALERT_COMMAND_H

#include <curl/curl.h>
#include <stdint.h>
#include <sys/types.h>

#include "alert/attempt.h"
#include "base/text.h"

#define COMMAND_FDS	 2
#define COMMAND_LEFT_MAX 4

struct command;

/* Programs that were killed and have not ended: SIGKILL waits for a disk that hangs. Zeros at first, outlives them. */
struct command_left {
	size_t count;
	pid_t pids[COMMAND_LEFT_MAX];
};

/* Can it be run now, as far as can be told without running it? 0 or -errno. */
int command_check(const char *program);
/* @argv: NULL at its end, the first an absolute path. @environment: "NAME=VALUE" strings, a NUL behind each, added to the
 * service's own less what systemd means for the service alone. @left has those that are left behind; -EBUSY when there are
 * COMMAND_LEFT_MAX of them already. 0 or -errno. */
int command_begin(const char *const *argv, const struct text *environment, const struct text *body,
	uint64_t deadline_ns, struct command_left *left, struct command **out);
/* What to wait for; how many of @fds were set, at most COMMAND_FDS. */
unsigned command_wait_fds(const struct command *command, struct curl_waitfd *fds);
/* True when it is over, with what came of it; at its deadline the process group is killed. */
bool command_look(struct command *command, struct attempt *out);
uint64_t command_deadline_ns(
	const struct command *command); /* clock_mono_ns() when it is to be looked at again */
/* Kills it if it still runs. NULL is fine. */
void command_free(struct command *command);
/* Take leave of those that have ended since. */
void command_reap_left(struct command_left *left);

#endif
