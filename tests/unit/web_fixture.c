/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "web_fixture.h"

#include <arpa/inet.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

static char nothing[] = "";

static void init_drive(struct config_drive *drive, const char *name)
{
	*drive = (struct config_drive){ .name = strdup(name),
		.label = nothing,
		.group = nothing,
		.directory = nothing,
		.device = nothing,
		.serial = nothing,
		.wwid = nothing,
		.probe = nothing };
}

static void init_config(struct web_fixture *fixture, const char *base_path)
{
	static char allowed[] = "soak.example:443";

	fixture->listen[0] = strdup("127.0.0.1:0");
	fixture->allowed[0] = allowed;
	init_drive(&fixture->drives[0], "evo");
	init_drive(&fixture->drives[1], "pro");
	fixture->config = (struct config){
		.path = nothing,
		.state_directory = fixture->folder,
		.runtime_directory = nothing,
		.sample_interval_ns = 10 * NS_PER_S,
		.web = { .listen = { fixture->listen, 1 },
			.base_path = strdup(base_path),
			.token_file = nothing,
			.allowed_hosts = { fixture->allowed, 1 } },
		.drives = fixture->drives,
		.drive_count = 2,
	};
}

void web_fixture_start(struct web_fixture *fixture, const char *base_path)
{
	struct text why = TEXT_INIT;
	struct web_options options;

	*fixture = (struct web_fixture){ .folder = fixture_folder_new() };
	init_config(fixture, base_path);
	if (status_new(2, &fixture->board) < 0)
		abort();
	options = (struct web_options){ .config = &fixture->config,
		.board = fixture->board,
		.started_boot_ns = clock_boot_ns(),
		.idle_timeout_s = 1 };
	if (web_start(&options, &fixture->web, &why) < 0) {
		(void)fprintf(stderr, "web_start: %s\n", text_string(&why));
		abort();
	}
	fixture->port = (unsigned)atoi(strrchr(web_url(fixture->web, 0), ':') + 1);
}

void web_fixture_stop(struct web_fixture *fixture)
{
	web_stop(fixture->web);
	journal_close(fixture->journal);
	status_free(fixture->board);
	free(fixture->drives[0].name);
	free(fixture->drives[1].name);
	free(fixture->config.web.base_path);
	free(fixture->listen[0]);
	fixture_folder_remove(fixture->folder);
}

void web_fixture_journal(struct web_fixture *fixture)
{
	char path[512];

	(void)snprintf(path, sizeof(path), "%s/journal.db", fixture->folder);
	if (journal_open(path, false, &fixture->journal) < 0)
		abort();
}

void web_fixture_publish(struct web_fixture *fixture, size_t index, const char *run, int64_t last_sample_ms)
{
	struct drive_status status = { .status = RUN_RUNNING,
		.phase = PHASE_SOAK,
		.progress = 0.25,
		.eta_ns = 3600 * NS_PER_S,
		.write_bytes_per_s = 1048576,
		.read_bytes_per_s = 0,
		.baseline_bytes_per_s = NAN,
		.lat_p99_ns = 99000,
		.temp_c = NAN,
		.percent_used = 3,
		.written_bytes = 123456789,
		.last_sample_ms = last_sample_ms,
		.health_read_ms = INT64_MIN,
		.settled_ms = INT64_MIN };

	(void)snprintf(status.name, sizeof(status.name), "%s", fixture->drives[index].name);
	(void)snprintf(status.model, sizeof(status.model), "MODEL <script>alert(1)</script>");
	(void)snprintf(status.serial, sizeof(status.serial), "S\"1&2'345678");
	(void)snprintf(status.reason, sizeof(status.reason), "soaking <b>now</b>");
	(void)snprintf(status.run, sizeof(status.run), "%s", run);
	status_publish(fixture->board, index, &status);
}

static int connect_to(unsigned port)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		abort();
	return fd;
}

static void read_all(int fd, int wait_ms, struct http_reply *reply)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	size_t room = 1 << 16;

	reply->bytes = malloc(room + 1);
	while (poll(&ready, 1, wait_ms) == 1) {
		ssize_t got;

		if (reply->length == room)
			reply->bytes = realloc(reply->bytes, (room *= 2) + 1);
		got = read(fd, reply->bytes + reply->length, room - reply->length);
		if (got <= 0)
			break;
		reply->length += (size_t)got;
	}
	reply->bytes[reply->length] = '\0';
}

static void take_apart(struct http_reply *reply)
{
	char *end = strstr(reply->bytes, "\r\n\r\n");
	const char *at = reply->bytes;

	if (sscanf(reply->bytes, "HTTP/1.1 %d", &reply->status) != 1)
		reply->status = 0;
	for (; (at = strstr(at, "HTTP/1.")); at++)
		reply->answers++;
	reply->body = end ? end + 4 : reply->bytes + reply->length;
	reply->body_length = reply->length - (size_t)(reply->body - reply->bytes);
}

struct http_reply http_send(unsigned port, const void *bytes, size_t length, int wait_ms)
{
	struct http_reply reply = { 0 };
	int fd = connect_to(port);

	if (send(fd, bytes, length, MSG_NOSIGNAL) != (ssize_t)length)
		(void)fprintf(stderr, "the server closed before it had everything\n");
	read_all(fd, wait_ms, &reply);
	(void)close(fd);
	take_apart(&reply);
	return reply;
}

struct http_reply http_get(unsigned port, const char *path, const char *extra)
{
	struct http_reply reply;
	char *request;
	int length = asprintf(&request,
		"GET %s HTTP/1.1\r\nHost: localhost:%u\r\nConnection: close\r\n%s\r\n", path, port,
		extra ? extra : "");

	if (length < 0)
		abort();
	reply = http_send(port, request, (size_t)length, 20000);
	free(request);
	return reply;
}

void http_free(struct http_reply *reply)
{
	free(reply->bytes);
	*reply = (struct http_reply){ 0 };
}

bool http_header(const struct http_reply *reply, const char *name, char *value, size_t room)
{
	size_t length = strlen(name);

	for (const char *line = reply->bytes; line && line < reply->body; line = strstr(line, "\r\n")) {
		line += strncmp(line, "\r\n", 2) == 0 ? 2 : 0;
		if (strncasecmp(line, name, length) == 0 && line[length] == ':') {
			line += length + 1 + strspn(line + length + 1, " ");
			(void)snprintf(value, room, "%.*s", (int)strcspn(line, "\r\n"), line);
			return true;
		}
	}
	return false;
}
