/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "control/control_private.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define WAIT_NS	     (10 * NS_PER_S)
#define TRY_AGAIN_NS 50000000
#define ANSWER_MIN   16384 /* of room for each read */

static int fail(struct text *answer, int code, const char *folder, const char *what)
{
	text_fini(answer);
	text_addf(answer, "%s/" CONTROL_SOCKET ": %s", folder, what);
	return code;
}

/* Who could: the group of the socket, as far as it can be seen. */
static int fail_permission(struct text *answer, const char *folder)
{
	char path[600], what[200];
	const struct group *group = NULL;
	struct stat st;

	(void)snprintf(path, sizeof(path), "%s/" CONTROL_SOCKET, folder);
	if (stat(path, &st) == 0)
		group = getgrgid(st.st_gid);
	if (group && group->gr_gid != 0)
		(void)snprintf(what, sizeof(what),
			"not permitted: ask as root, or as a member of the group %.64s", group->gr_name);
	else
		(void)snprintf(what, sizeof(what),
			"not permitted: ask as root (members of the group " CONTROL_GROUP
			" may too where the system had one when the service started)");
	return fail(answer, EX_NOPERM, folder, what);
}

static int fail_connect(struct text *answer, const char *folder, int error)
{
	switch (error) {
	case ENOENT:
	case ENOTDIR:
	case ECONNREFUSED:
		return fail(answer, EX_UNAVAILABLE, folder,
			"no service listens there; start it with: systemctl start drivesoakd (or drivesoakd "
			"-c "
			"FILE)");
	case EACCES:
	case EPERM:
		return fail_permission(answer, folder);
	case EAGAIN:
		return fail(answer, EX_TEMPFAIL, folder, "the service does not answer");
	default:
		return fail(answer, EX_OSERR, folder, strerror(error));
	}
}

/* Milliseconds to the deadline, 0 when it has passed. */
static int left_ms(uint64_t deadline_ns)
{
	uint64_t now_ns = clock_mono_ns();

	return now_ns < deadline_ns ? (int)((deadline_ns - now_ns) / NS_PER_MS) + 1 : 0;
}

/* A descriptor, or -errno. */
static int reach(const char *folder, uint64_t deadline_ns)
{
	const struct timespec pause = { .tv_nsec = TRY_AGAIN_NS };
	struct sockaddr_un address;
	socklen_t length;
	int folder_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC), fd, rc;

	if (folder_fd < 0)
		return -errno;
	length = control_address(folder_fd, folder, &address);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	rc = fd < 0 ? -errno : 0;
	while (rc == 0 && connect(fd, (const struct sockaddr *)&address, length) < 0) {
		rc = -errno;
		/* Its queue is full: it will be emptied if the service is alive. */
		if (rc == -EAGAIN && left_ms(deadline_ns)) {
			(void)nanosleep(&pause, NULL);
			rc = 0;
		}
	}
	(void)close(folder_fd);
	if (rc < 0 && fd >= 0)
		(void)close(fd);
	return rc < 0 ? rc : fd;
}

static bool wait_for(int fd, short events, uint64_t deadline_ns)
{
	struct pollfd poll_fd = { .fd = fd, .events = events };
	int left = left_ms(deadline_ns);

	return left && (poll(&poll_fd, 1, left) > 0 || errno == EINTR);
}

/* A service that refuses early closes before all is written: its answer counts then. */
static int request_send(int fd, const struct text *line, uint64_t deadline_ns)
{
	for (size_t sent = 0; sent < line->length;) {
		ssize_t step = send(fd, line->bytes + sent, line->length - sent, MSG_NOSIGNAL);

		if (step >= 0)
			sent += (size_t)step;
		else if (errno == EPIPE || errno == ECONNRESET)
			return 0;
		else if (errno != EAGAIN && errno != EINTR)
			return -errno;
		else if (!wait_for(fd, POLLOUT, deadline_ns))
			return -ETIMEDOUT;
	}
	return 0;
}

static int answer_receive(int fd, struct text *line, uint64_t deadline_ns)
{
	char room[ANSWER_MIN];

	for (;;) {
		ssize_t got = recv(fd, room, sizeof(room), 0);

		if (got > 0)
			text_add_bytes(line, room, (size_t)got);
		if (text_error(line))
			return -ENOMEM;
		if (got == 0 || line->length > CONTROL_ANSWER_MAX || (got < 0 && errno == ECONNRESET))
			return 0;
		if (got > 0)
			continue;
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
		if (!wait_for(fd, POLLIN, deadline_ns))
			return -ETIMEDOUT;
	}
}

static int talk(
	int fd, const char *folder, const struct text *request, struct text *answer, uint64_t deadline_ns)
{
	struct text line = TEXT_INIT;
	int code, rc = request_send(fd, request, deadline_ns);

	if (rc == 0)
		rc = answer_receive(fd, &line, deadline_ns);
	if (rc == -ETIMEDOUT)
		code = fail(answer, EX_TEMPFAIL, folder, "the service did not answer within 10 s");
	else if (rc < 0)
		code = fail(answer, EX_OSERR, folder, strerror(-rc));
	else if (line.length == 0 || line.bytes[line.length - 1] != '\n')
		code = fail(answer, EX_PROTOCOL, folder, "the service broke off before its answer was whole");
	else if (control_parse_answer(line.bytes, line.length, &code, answer) < 0)
		code = fail(answer, EX_PROTOCOL, folder, "the answer can't be understood");
	text_fini(&line);
	return code;
}

int control_ask(const char *runtime_directory, const struct control_request *request, struct text *answer)
{
	const uint64_t deadline_ns = clock_mono_ns() + WAIT_NS;
	struct text line = TEXT_INIT;
	int fd, code;

	text_fini(answer);
	control_print_request(request, &line);
	if (text_error(&line))
		return fail(answer, EX_OSERR, runtime_directory, strerror(ENOMEM));
	fd = reach(runtime_directory, deadline_ns);
	if (fd < 0) {
		code = fail_connect(answer, runtime_directory, -fd);
	} else {
		code = talk(fd, runtime_directory, &line, answer, deadline_ns);
		(void)close(fd);
	}
	text_fini(&line);
	return code;
}
