/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "alert/command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

#define OUTPUT_KEPT   160
#define OUTPUT_STEP   4096
#define OUTPUT_STEPS  16 /* at one look: a program that prints without end must not hold the thread */
#define REAP_NS	      (2 * NS_PER_S) /* after SIGKILL: a process that hangs in a disk can't be waited for */
#define REAP_TRIES    20
#define REAP_PAUSE_US 1000

struct command {
	pid_t pid; /* 0: reaped */
	struct command_left *left;
	int pid_fd, out_fd;
	bool is_killed;
	uint64_t allowed_ns, deadline_ns;
	char output[OUTPUT_KEPT + 1];
	size_t output_length;
};

int command_check(const char *program)
{
	struct stat st;

	if (stat(program, &st) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	/* What runs in the end is run with the effective ids. */
	return faccessat(AT_FDCWD, program, X_OK, AT_EACCESS) < 0 ? -errno : 0;
}

/* The body as a file: nobody need wait for a program that does not read it. */
static int body_fd(const struct text *body)
{
	int fd = memfd_create("drivesoak-alert", MFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	for (size_t at = 0; at < body->length;) {
		ssize_t done = write(fd, body->bytes + at, body->length - at);

		if (done < 0) {
			(void)close(fd);
			return -EIO;
		}
		at += (size_t)done;
	}
	(void)lseek(fd, 0, SEEK_SET);
	return fd;
}

/* Of systemd, for the service alone. */
static bool is_private(const char *variable)
{
	static const char *const names[] = { "NOTIFY_SOCKET=", "WATCHDOG_", "LISTEN_",
		"INVOCATION_ID=", "JOURNAL_STREAM=" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(variable, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

/* The array is the caller's, what it points to is not; NULL when memory is short. */
static char **environment_make(const struct text *added)
{
	size_t count = 1, used = 0;
	char **out;

	for (char **variable = environ; variable && *variable; variable++)
		count++;
	for (size_t at = 0; at < added->length; at += strlen(added->bytes + at) + 1)
		count++;
	out = calloc(count, sizeof(*out));
	if (!out)
		return NULL;
	for (char **variable = environ; variable && *variable; variable++)
		if (!is_private(*variable))
			out[used++] = *variable;
	for (size_t at = 0; at < added->length; at += strlen(added->bytes + at) + 1)
		out[used++] = added->bytes + at;
	return out;
}

/* A process group of its own, no signal blocked or ignored. */
static int attributes_make(posix_spawnattr_t *attributes)
{
	sigset_t none, all;

	if (posix_spawnattr_init(attributes) != 0)
		return -ENOMEM;
	(void)sigemptyset(&none);
	(void)sigfillset(&all);
	(void)posix_spawnattr_setpgroup(attributes, 0);
	(void)posix_spawnattr_setsigmask(attributes, &none);
	(void)posix_spawnattr_setsigdefault(attributes, &all);
	(void)posix_spawnattr_setflags(
		attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	return 0;
}

static int spawn(struct command *command, const char *const *argv, char **environment, int in_fd, int out_fd)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int rc = attributes_make(&attributes);

	if (rc < 0)
		return rc;
	rc = posix_spawn_file_actions_init(&actions);
	if (rc == 0)
		rc = posix_spawn_file_actions_adddup2(&actions, in_fd, STDIN_FILENO);
	if (rc == 0)
		rc = posix_spawn_file_actions_adddup2(&actions, out_fd, STDOUT_FILENO);
	if (rc == 0)
		rc = posix_spawn_file_actions_adddup2(&actions, out_fd, STDERR_FILENO);
	if (rc == 0)
		rc = posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
	if (rc == 0)
		/* The arguments are only read. */
		rc = posix_spawn(
			&command->pid, argv[0], &actions, &attributes, (char **)(uintptr_t)argv, environment);
	(void)posix_spawn_file_actions_destroy(&actions);
	(void)posix_spawnattr_destroy(&attributes);
	return -rc;
}

static int run(struct command *command, const char *const *argv, const struct text *environment, int in_fd)
{
	char **variables = environment_make(environment);
	int pipe_fds[2], rc;

	if (!variables)
		return -ENOMEM;
	if (pipe2(pipe_fds, O_CLOEXEC) < 0) {
		rc = -errno;
		free(variables);
		return rc;
	}
	(void)fcntl(pipe_fds[0], F_SETFL, O_NONBLOCK);
	rc = spawn(command, argv, variables, in_fd, pipe_fds[1]);
	(void)close(pipe_fds[1]);
	free(variables);
	command->out_fd = pipe_fds[0];
	if (rc < 0) {
		command->pid = 0;
		return rc;
	}
	command->pid_fd = (int)syscall(SYS_pidfd_open, command->pid, 0);
	return command->pid_fd < 0 ? -errno : 0;
}

int command_begin(const char *const *argv, const struct text *environment, const struct text *body,
	uint64_t deadline_ns, struct command_left *left, struct command **out)
{
	struct command *command;
	int in_fd, rc;

	if (text_error(environment) || text_error(body))
		return -ENOMEM;
	command_reap_left(left);
	if (left->count == COMMAND_LEFT_MAX)
		return -EBUSY;
	command = calloc(1, sizeof(*command));
	if (!command)
		return -ENOMEM;
	command->left = left;
	command->pid_fd = command->out_fd = -1;
	command->allowed_ns = deadline_ns;
	command->deadline_ns = clock_mono_ns() + deadline_ns;
	in_fd = body_fd(body);
	rc = in_fd < 0 ? in_fd : run(command, argv, environment, in_fd);
	if (in_fd >= 0)
		(void)close(in_fd);
	if (rc < 0) {
		command_free(command);
		return rc;
	}
	*out = command;
	return 0;
}

unsigned command_wait_fds(const struct command *command, struct curl_waitfd *fds)
{
	unsigned count = 0;

	fds[count++] = (struct curl_waitfd){ .fd = command->pid_fd, .events = CURL_WAIT_POLLIN };
	if (command->out_fd >= 0)
		fds[count++] = (struct curl_waitfd){ .fd = command->out_fd, .events = CURL_WAIT_POLLIN };
	return count;
}

uint64_t command_deadline_ns(const struct command *command)
{
	return command->deadline_ns;
}

/* The begin of it is kept, the rest thrown away. */
static void output_read(struct command *command)
{
	char step[OUTPUT_STEP];

	for (int i = 0; i < OUTPUT_STEPS && command->out_fd >= 0; i++) {
		ssize_t got = read(command->out_fd, step, sizeof(step));
		size_t room = OUTPUT_KEPT - command->output_length;

		if (got < 0)
			return;
		if (got == 0) {
			(void)close(command->out_fd);
			command->out_fd = -1;
			return;
		}
		if ((size_t)got < room)
			room = (size_t)got;
		memcpy(command->output + command->output_length, step, room);
		command->output_length += room;
	}
}

static bool reap(struct command *command, siginfo_t *info)
{
	const bool has_fd = command->pid_fd >= 0;

	info->si_pid = 0;
	if (waitid(has_fd ? P_PIDFD : P_PID, (id_t)(has_fd ? command->pid_fd : command->pid), info,
		    WEXITED | WNOHANG) < 0 ||
		info->si_pid == 0)
		return false;
	command->pid = 0;
	return true;
}

static void result_make(const struct command *command, const siginfo_t *info, struct attempt *out)
{
	struct text text = TEXT_INIT;

	if (command->is_killed)
		text_addf(&text, "did not end within %llu s: killed",
			(unsigned long long)(command->allowed_ns / NS_PER_S));
	else if (info->si_code == CLD_EXITED)
		text_addf(&text, "exit %d", info->si_status);
	else
		text_addf(&text, "ended by signal %d", info->si_status);
	if (command->output_length) {
		text_add(&text, ": ");
		text_add_plain(&text, command->output);
	}
	*out = (struct attempt){ .is_ok = !command->is_killed && info->si_code == CLD_EXITED &&
					  info->si_status == 0 };
	text_keep(out->text, sizeof(out->text), &text);
}

bool command_look(struct command *command, struct attempt *out)
{
	siginfo_t info = { 0 };
	const uint64_t now_ns = clock_mono_ns();

	output_read(command);
	if (reap(command, &info)) {
		output_read(command);
		result_make(command, &info, out);
		return true;
	}
	if (now_ns < command->deadline_ns)
		return false;
	if (command->is_killed) {
		result_make(command, &info, out);
		return true;
	}
	command->is_killed = true;
	command->deadline_ns = now_ns + REAP_NS;
	(void)kill(-command->pid, SIGKILL);
	return false;
}

void command_reap_left(struct command_left *left)
{
	size_t kept = 0;

	for (size_t i = 0; i < left->count; i++) {
		siginfo_t info = { 0 };

		/* As long as nobody has waited for it the number is no other's. */
		if (waitid(P_PID, (id_t)left->pids[i], &info, WEXITED | WNOHANG) == 0 && info.si_pid == 0)
			left->pids[kept++] = left->pids[i];
	}
	left->count = kept;
}

void command_free(struct command *command)
{
	siginfo_t info;

	if (!command)
		return;
	if (command->pid) {
		(void)kill(-command->pid, SIGKILL);
		for (int i = 0; i < REAP_TRIES && !reap(command, &info); i++)
			(void)usleep(REAP_PAUSE_US);
		/* There is room: only then was it begun. */
		if (command->pid)
			command->left->pids[command->left->count++] = command->pid;
	}
	if (command->pid_fd >= 0)
		(void)close(command->pid_fd);
	if (command->out_fd >= 0)
		(void)close(command->out_fd);
	free(command);
}
