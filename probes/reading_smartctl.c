/* SPDX-License-Identifier: GPL-2.0-or-later */
/* smartctl as a child: never a shell, its output is bounded, and so is its time. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "probes/identity_private.h"
#include "probes/reading_smartctl_private.h"

#define OUTPUT_MAX     (1 << 20)
#define LOOK_MS	       20
#define REAP_MS	       500
#define EXIT_NOT_FOUND 127 /* of a shell that a script is run by */

static const char *program = "smartctl";
static const char *const program_paths[] = { "/usr/sbin/smartctl", "/sbin/smartctl",
	"/usr/local/sbin/smartctl" };

void reading_smartctl_replace(const char *path)
{
	program = path ? path : "smartctl";
}

struct child {
	pid_t pid;
	int fd;	      /* its output */
	int status;   /* of waitpid */
	bool is_over; /* reaped */
};

static uint64_t now_ms(void)
{
	struct timespec now;

	/* Not the replaceable clock: the child's time is the kernel's. */
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / NS_PER_MS;
}

/* The daemon's PATH may lack /usr/sbin, where Debian has it. */
static const char *find_program(void)
{
	if (strchr(program, '/'))
		return program;
	for (size_t i = 0; i < sizeof(program_paths) / sizeof(program_paths[0]); i++)
		if (access(program_paths[i], X_OK) == 0)
			return program_paths[i];
	/* Not there; never the one of the working directory. */
	return program_paths[0];
}

/* Its own process group, so that what it started ends with it; no signal blocked or ignored, no descriptor but three. */
static int spawn(const char *const *arguments, int output, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	char *environment[] = { (char *)(uintptr_t) "LC_ALL=C",
		(char *)(uintptr_t) "PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL };
	sigset_t none, all;
	int rc;

	(void)sigemptyset(&none);
	(void)sigfillset(&all);
	(void)posix_spawnattr_init(&attributes);
	(void)posix_spawnattr_setflags(
		&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	(void)posix_spawnattr_setpgroup(&attributes, 0);
	(void)posix_spawnattr_setsigmask(&attributes, &none);
	(void)posix_spawnattr_setsigdefault(&attributes, &all);
	rc = posix_spawn_file_actions_init(&actions);
	if (rc == 0) {
		rc = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
		if (rc == 0)
			rc = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
		if (rc == 0)
			rc = posix_spawn_file_actions_addopen(
				&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
		if (rc == 0)
			rc = posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
		if (rc == 0)
			rc = posix_spawn(pid, arguments[0], &actions, &attributes,
				(char *const *)(uintptr_t)arguments, environment);
		(void)posix_spawn_file_actions_destroy(&actions);
	}
	(void)posix_spawnattr_destroy(&attributes);
	return -rc;
}

static int child_start(struct child *child, const char *const *arguments)
{
	int ends[2];
	int rc;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	/* Only our end: the child writes as it is used to. */
	(void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
	*child = (struct child){ .fd = ends[0] };
	rc = spawn(arguments, ends[1], &child->pid);
	(void)close(ends[1]);
	if (rc < 0)
		(void)close(ends[0]);
	return rc;
}

static void child_look(struct child *child)
{
	if (!child->is_over && waitpid(child->pid, &child->status, WNOHANG) != 0)
		child->is_over = true;
}

/* What it has to say so far: 1 and more may come, 0 at its end, -errno. */
static int child_read(struct child *child, struct text *out)
{
	char bytes[16384];

	for (;;) {
		ssize_t got = read(child->fd, bytes, sizeof(bytes));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return errno == EAGAIN ? 1 : -errno;
		if (got == 0)
			return 0;
		if (out->length + (size_t)got > OUTPUT_MAX)
			return -EMSGSIZE;
		text_add_bytes(out, bytes, (size_t)got);
	}
}

/* Until it has ended, and said all: 0; -ETIMEDOUT, -EMSGSIZE. */
static int child_run(struct child *child, uint64_t until_ms, struct text *out)
{
	struct pollfd look = { .fd = child->fd, .events = POLLIN };

	for (;;) {
		bool was_over = child->is_over;
		int more = child_read(child, out);

		if (more < 0)
			return more;
		child_look(child);
		/* What it started may hold the pipe open. */
		if (child->is_over && (was_over || more == 0))
			return 0;
		if (now_ms() >= until_ms)
			return -ETIMEDOUT;
		(void)poll(&look, more ? 1 : 0, LOOK_MS);
	}
}

/* 0 when nothing of it is left; a process that waits for a hung drive does not even die. */
static int child_end(struct child *child)
{
	const uint64_t until_ms = now_ms() + REAP_MS;

	(void)close(child->fd);
	(void)kill(-child->pid, SIGKILL);
	for (;;) {
		child_look(child);
		if (child->is_over)
			return 0;
		if (now_ms() >= until_ms)
			return -EBUSY;
		(void)poll(NULL, 0, LOOK_MS);
	}
}

static int take_output(struct reading *out, const struct child *child, const struct text *json)
{
	int rc;

	if (WIFSIGNALED(child->status)) {
		reading_note(out, "smartctl died of signal %d", WTERMSIG(child->status));
		return -EIO;
	}
	if (text_error(json))
		return -ENOMEM;
	if (WIFEXITED(child->status) && WEXITSTATUS(child->status) == EXIT_NOT_FOUND && !json->length) {
		reading_note(out, "smartctl can't be run");
		return -ENOENT;
	}
	rc = reading_decode_smartctl_json(out, text_string(json), json->length);
	if (rc < 0 && !out->notes[0])
		reading_note(
			out, "smartctl: no reading in what it printed (exit %d)", WEXITSTATUS(child->status));
	if (rc == 0)
		rc = reading_keep_page(out, "smartctl", text_string(json), json->length);
	return rc == -EINVAL ? -EIO : rc;
}

static int fail_start(struct reading *out, int rc)
{
	if (rc == -ENOENT)
		reading_note(out, "smartctl is not installed: apt install smartmontools");
	else
		reading_note(out, "smartctl can't be started: %s", strerror(-rc));
	return rc;
}

static int run(const char *const *arguments, unsigned deadline_ms, pid_t *left, struct reading *out)
{
	struct text json = TEXT_INIT;
	struct child child;
	int rc = child_start(&child, arguments);

	if (rc < 0)
		return fail_start(out, rc);
	rc = child_run(&child, now_ms() + deadline_ms, &json);
	if (child_end(&child) < 0)
		*left = child.pid;
	if (rc == 0)
		rc = take_output(out, &child, &json);
	else if (rc == -ETIMEDOUT)
		reading_note(out, "smartctl: no answer within %u ms", deadline_ms);
	else
		reading_note(out, "smartctl: %s", rc == -EMSGSIZE ? "it prints without end" : strerror(-rc));
	text_fini(&json);
	return rc;
}

/* A child that was killed and still waits for its drive. */
static bool is_left(struct reading_memory *memory)
{
	if (!memory || !memory->child)
		return false;
	if (waitpid((pid_t)memory->child, NULL, WNOHANG) == 0)
		return true;
	memory->child = 0;
	return false;
}

static void hold(struct reading_memory *memory, struct reading *out)
{
	if (strcmp(memory->serial, out->serial) != 0)
		memory->host_written_from[0] = memory->media_written_from[0] = '\0';
	text_copy(memory->serial, sizeof(memory->serial), out->serial);
	reading_hold_counters(memory, out);
}

int reading_smartctl_run(const char *node, const char *type, bool wants_error_log, unsigned deadline_ms,
	struct reading_memory *memory, struct reading *out)
{
	char device[64];
	const char *arguments[] = { find_program(), "--json", "--info", "--health", "--attributes",
		"--log=devstat", "--log=ssd", NULL, NULL, NULL, NULL };
	size_t count = 7;
	pid_t left = 0;
	int rc;

	reading_init(out);
	/* Never an option; a name of the kernel's folder. */
	if (node[0] != '/' || strlen(type) >= sizeof(device) - 16)
		return -EINVAL;
	if (is_left(memory)) {
		reading_note(out, "an earlier smartctl still waits for the drive");
		return -EBUSY;
	}
	(void)snprintf(device, sizeof(device), "--device=%s", type);
	if (wants_error_log)
		arguments[count++] = "--log=error";
	if (type[0])
		arguments[count++] = device;
	arguments[count] = node;
	rc = run(arguments, deadline_ms, &left, out);
	if (memory)
		memory->child = left;
	if (memory && rc == 0)
		hold(memory, out);
	if (rc == 0 && type[0]) {
		char source[sizeof(out->source)];

		(void)snprintf(source, sizeof(source), "smartctl: %.20s", type);
		identity_text(out->source, sizeof(out->source), source, strlen(source));
	}
	out->t_ms = clock_wall_ms();
	return rc;
}

int reading_read_smartctl_known(const char *node, const char *type, bool wants_error_log,
	struct reading_memory *memory, struct reading *out)
{
	return reading_smartctl_run(node, type, wants_error_log, READING_DEADLINE_MS, memory, out);
}

int reading_read_smartctl(const char *node, const char *type, struct reading *out)
{
	return reading_read_smartctl_known(node, type, false, NULL, out);
}
