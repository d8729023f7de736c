/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "control/control_private.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define CONNECTIONS_MAX 16
#define BACKLOG		64
#define WAIT_US		(5 * NS_PER_S / NS_PER_US)
#define ACCURACY_US	100000
/* Beyond this the rest of the second is left to others: a flood of connections must not own the loop, nor must an
 * accept() that fails for want of descriptors. */
#define ACCEPTS_PER_S 100
#define LOCK_TRIES    100
#define LOCK_PAUSE_NS 10000000

struct connection {
	struct control_server *server;
	int fd; /* -1: this place is free */
	sd_event_source *io, *timer;
	char who[96];
	char request[CONTROL_REQUEST_MAX + 1];
	size_t length, sent;
	struct text answer;
};

struct control_server {
	sd_event *event;
	void (*handle)(void *arg, const struct control_request *request, struct control_answer *answer);
	void *arg;
	int folder_fd, fd;
	sd_event_source *source;
	gid_t group;
	struct stat file; /* the socket as it was made: another one in its place is not ours to remove */
	bool is_bound;
	struct connection connections[CONNECTIONS_MAX];
};

static void connection_end(struct connection *connection)
{
	connection->io = sd_event_source_disable_unref(connection->io);
	connection->timer = sd_event_source_disable_unref(connection->timer);
	(void)close(connection->fd);
	connection->fd = -1;
	text_fini(&connection->answer);
}

/* Words for somebody who is not served: as much as goes at once. */
static void refuse(int fd, int code, const char *words)
{
	struct text line = TEXT_INIT;

	control_print_answer(code, words, &line);
	(void)send(fd, text_string(&line), line.length, MSG_DONTWAIT | MSG_NOSIGNAL);
	text_fini(&line);
}

static int on_timeout(sd_event_source *source, uint64_t usec, void *arg)
{
	struct connection *connection = arg;

	(void)source;
	(void)usec;
	if (connection->answer.length == 0)
		refuse(connection->fd, EX_TEMPFAIL, "no whole request came within 5 s");
	connection_end(connection);
	return 0;
}

static void answer_send(struct connection *connection)
{
	const struct text *answer = &connection->answer;
	ssize_t sent = send(connection->fd, text_string(answer) + connection->sent,
		answer->length - connection->sent, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (sent > 0)
		connection->sent += (size_t)sent;
	if ((sent < 0 && errno != EAGAIN && errno != EINTR) || connection->sent == answer->length) {
		connection_end(connection);
		return;
	}
	if (sd_event_source_set_io_events(connection->io, EPOLLOUT) < 0)
		connection_end(connection);
}

static void answer_begin(struct connection *connection, int code, const char *words)
{
	control_print_answer(code, words, &connection->answer);
	if (text_error(&connection->answer) || connection->answer.length > CONTROL_ANSWER_MAX) {
		text_fini(&connection->answer);
		refuse(connection->fd, EX_SOFTWARE, "the answer is too long");
		connection_end(connection);
		return;
	}
	/* The time to ask was the client's; the time to read the answer begins now. */
	(void)sd_event_source_set_time_relative(connection->timer, WAIT_US);
	answer_send(connection);
}

static void request_serve(struct connection *connection)
{
	struct control_server *server = connection->server;
	struct control_answer answer = { 0, TEXT_INIT };
	struct control_request request;
	char why[CONTROL_WHY_MAX];

	if (control_parse_request(connection->request, &request, why) < 0) {
		answer_begin(connection, EX_DATAERR, why);
		return;
	}
	text_copy(request.who, sizeof(request.who), connection->who);
	server->handle(server->arg, &request, &answer);
	if (text_error(&answer.text))
		answer_begin(connection, EX_OSERR, "out of memory");
	else
		answer_begin(connection, answer.code, text_string(&answer.text));
	text_fini(&answer.text);
}

/* What has come so far: a line, more than may come, or not enough yet. */
static void request_look(struct connection *connection)
{
	char *end = memchr(connection->request, '\n', connection->length);

	if (end && end + 1 < connection->request + connection->length) {
		answer_begin(connection, EX_DATAERR, "request: is more than one line");
	} else if (end) {
		*end = '\0';
		if (strlen(connection->request) + 1 == connection->length)
			request_serve(connection);
		else
			answer_begin(connection, EX_DATAERR, "request: holds a NUL");
	} else if (connection->length == CONTROL_REQUEST_MAX) {
		answer_begin(connection, EX_DATAERR, "request: is too long");
	}
}

static int on_connection(sd_event_source *source, int fd, uint32_t events, void *arg)
{
	struct connection *connection = arg;
	ssize_t got;

	(void)source;
	if (connection->answer.length) {
		if (events & (EPOLLERR | EPOLLHUP))
			connection_end(connection);
		else
			answer_send(connection);
		return 0;
	}
	got = recv(fd, connection->request + connection->length, CONTROL_REQUEST_MAX - connection->length,
		MSG_DONTWAIT);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (got < 0 || (got == 0 && connection->length == 0)) {
		connection_end(connection);
		return 0;
	}
	connection->length += (size_t)got;
	if (got == 0)
		answer_begin(connection, EX_DATAERR, "request: ends without a newline");
	else
		request_look(connection);
	return 0;
}

static bool has_group(int fd, gid_t group)
{
	gid_t few[32], *groups = few;
	socklen_t size = sizeof(few);
	bool is_member = false;
	int rc = getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size);

	if (rc < 0 && errno == ERANGE) {
		groups = malloc(size);
		rc = groups ? getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size) : -1;
	}
	for (size_t i = 0; rc == 0 && i < size / sizeof(*groups); i++)
		is_member |= groups[i] == group;
	if (groups != few)
		free(groups);
	return is_member;
}

/* From the file: a name service could keep the loop waiting. */
static void user_name(uid_t uid, char *name, size_t size)
{
	FILE *file = fopen("/etc/passwd", "re");
	struct passwd entry, *found = NULL;
	char room[1024];

	name[0] = '\0';
	while (file && fgetpwent_r(file, &entry, room, sizeof(room), &found) == 0)
		if (found->pw_uid == uid) {
			text_copy(name, size, found->pw_name);
			break;
		}
	if (file)
		(void)fclose(file);
}

static bool is_welcome(const struct control_server *server, int fd, char *who, size_t size)
{
	struct ucred peer;
	socklen_t length = sizeof(peer);
	char name[40];

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0)
		return false;
	user_name(peer.uid, name, sizeof(name));
	(void)snprintf(who, size, name[0] ? "%s (uid %u, pid %d)" : "%suid %u, pid %d", name,
		(unsigned)peer.uid, (int)peer.pid);
	return peer.uid == 0 || peer.uid == geteuid() || peer.gid == server->group ||
	       has_group(fd, server->group);
}

static int connection_begin(struct control_server *server, struct connection *connection, int fd)
{
	int rc;

	connection->server = server;
	connection->length = connection->sent = 0;
	connection->fd = fd;
	rc = sd_event_add_io(server->event, &connection->io, fd, EPOLLIN, on_connection, connection);
	if (rc >= 0)
		rc = sd_event_add_time_relative(server->event, &connection->timer, CLOCK_MONOTONIC, WAIT_US,
			ACCURACY_US, on_timeout, connection);
	return rc;
}

static int on_accept(sd_event_source *source, int listen_fd, uint32_t events, void *arg)
{
	struct control_server *server = arg;
	struct connection *free_one = NULL;
	char who[sizeof(free_one->who)] = "";
	int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)source;
	(void)events;
	if (fd < 0)
		return 0;
	for (size_t i = 0; i < CONNECTIONS_MAX && !free_one; i++)
		if (server->connections[i].fd < 0)
			free_one = &server->connections[i];
	if (!is_welcome(server, fd, who, sizeof(who))) {
		refuse(fd, EX_NOPERM,
			"not permitted: only root, the service's own user and members of the socket's group "
			"may ask");
	} else if (!free_one) {
		refuse(fd, EX_TEMPFAIL, "busy: 16 others are asking; try again");
	} else {
		text_copy(free_one->who, sizeof(free_one->who), who);
		if (connection_begin(server, free_one, fd) < 0)
			connection_end(free_one);
		return 0;
	}
	(void)close(fd);
	return 0;
}

static int why_set(char *why, int rc, const char *folder, const char *what)
{
	(void)snprintf(
		why, CONTROL_WHY_MAX, "%.150s/" CONTROL_SOCKET ": %s", folder, what ? what : strerror(-rc));
	return rc;
}

/* Only while the socket is looked at and made, so that of two services that start together one sees the other. */
static int folder_lock(int fd)
{
	const struct timespec pause = { .tv_nsec = LOCK_PAUSE_NS };

	for (unsigned tries = 0; tries < LOCK_TRIES; tries++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return 0;
		if (errno != EWOULDBLOCK)
			return -errno;
		(void)nanosleep(&pause, NULL);
	}
	return -EBUSY;
}

/* Does somebody listen at @address? 0: nobody and nothing is left of it. */
static int place_clear(
	int folder_fd, const char *folder, const struct sockaddr_un *address, socklen_t length, char *why)
{
	struct stat st;
	int fd, rc;

	if (fstatat(folder_fd, CONTROL_SOCKET, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		rc = -errno;
		return rc == -ENOENT ? 0 : why_set(why, rc, folder, NULL);
	}
	if (!S_ISSOCK(st.st_mode))
		return why_set(why, -EEXIST, folder, "is there and no socket; remove it first");
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0) {
		rc = -errno;
		return why_set(why, rc, folder, NULL);
	}
	rc = connect(fd, (const struct sockaddr *)address, length) < 0 ? -errno : 0;
	(void)close(fd);
	if (rc == 0 || rc == -EAGAIN)
		return why_set(why, -EADDRINUSE, folder, "another drivesoakd listens");
	if (rc != -ECONNREFUSED && rc != -ENOENT)
		return why_set(why, rc, folder, NULL);
	if (unlinkat(folder_fd, CONTROL_SOCKET, 0) < 0 && errno != ENOENT) {
		rc = -errno;
		return why_set(why, rc, folder, NULL);
	}
	return 0;
}

/* (gid_t)-1 leaves the group as it is. */
static gid_t group_find(void)
{
	struct group entry, *found = NULL;
	char room[4096];

	if (geteuid() != 0 || getgrnam_r(CONTROL_GROUP, &entry, room, sizeof(room), &found) != 0 || !found)
		return (gid_t)-1;
	return found->gr_gid;
}

/* Nobody can connect before listen(), and from bind() on the mode is never wider than it ends up: the mode of an
 * unbound socket is what bind() makes the file with. */
static int socket_make(struct control_server *server, const struct sockaddr_un *address, socklen_t length)
{
	server->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (server->fd < 0 || fchmod(server->fd, 0600) < 0 ||
		bind(server->fd, (const struct sockaddr *)address, length) < 0)
		return -errno;
	server->is_bound = true;
	if (fstatat(server->folder_fd, CONTROL_SOCKET, &server->file, AT_SYMLINK_NOFOLLOW) < 0 ||
		fchownat(server->folder_fd, CONTROL_SOCKET, (uid_t)-1, group_find(), AT_SYMLINK_NOFOLLOW) <
			0 ||
		fchmodat(server->folder_fd, CONTROL_SOCKET, 0660, 0) < 0 ||
		fstatat(server->folder_fd, CONTROL_SOCKET, &server->file, AT_SYMLINK_NOFOLLOW) < 0 ||
		listen(server->fd, BACKLOG) < 0)
		return -errno;
	server->group = server->file.st_gid;
	return 0;
}

static int server_listen(struct control_server *server, const char *folder, char *why)
{
	struct sockaddr_un address;
	socklen_t length;
	int rc;

	server->folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (server->folder_fd < 0) {
		rc = -errno;
		return why_set(why, rc, folder, NULL);
	}
	length = control_address(server->folder_fd, folder, &address);
	rc = folder_lock(server->folder_fd);
	if (rc < 0)
		return why_set(why, rc, folder, "the folder is locked by another process");
	rc = place_clear(server->folder_fd, folder, &address, length, why);
	if (rc == 0) {
		rc = socket_make(server, &address, length);
		if (rc < 0)
			(void)why_set(why, rc, folder, NULL);
	}
	(void)flock(server->folder_fd, LOCK_UN);
	return rc;
}

int control_open(sd_event *event, const char *runtime_directory,
	void (*handle)(void *arg, const struct control_request *request, struct control_answer *answer),
	void *arg, struct control_server **out, char *why)
{
	struct control_server *server = calloc(1, sizeof(*server));
	int rc;

	if (!server)
		return why_set(why, -ENOMEM, runtime_directory, NULL);
	server->event = sd_event_ref(event);
	server->handle = handle;
	server->arg = arg;
	server->fd = server->folder_fd = -1;
	for (size_t i = 0; i < CONNECTIONS_MAX; i++)
		server->connections[i].fd = -1;
	rc = server_listen(server, runtime_directory, why);
	if (rc == 0) {
		rc = sd_event_add_io(event, &server->source, server->fd, EPOLLIN, on_accept, server);
		if (rc >= 0)
			rc = sd_event_source_set_ratelimit(
				server->source, NS_PER_S / NS_PER_US, ACCEPTS_PER_S);
		if (rc < 0)
			(void)why_set(why, rc, runtime_directory, NULL);
	}
	if (rc < 0) {
		control_close(server);
		return rc;
	}
	*out = server;
	return 0;
}

void control_close(struct control_server *server)
{
	struct stat st;

	if (!server)
		return;
	for (size_t i = 0; i < CONNECTIONS_MAX; i++)
		if (server->connections[i].fd >= 0)
			connection_end(&server->connections[i]);
	(void)sd_event_source_disable_unref(server->source);
	if (server->is_bound && fstatat(server->folder_fd, CONTROL_SOCKET, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		st.st_dev == server->file.st_dev && st.st_ino == server->file.st_ino)
		(void)unlinkat(server->folder_fd, CONTROL_SOCKET, 0);
	if (server->fd >= 0)
		(void)close(server->fd);
	if (server->folder_fd >= 0)
		(void)close(server->folder_fd);
	(void)sd_event_unref(server->event);
	free(server);
}
