/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "web/server.h"

#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "web/call.h"
#include "web/guard.h"
#include "web/reply.h"
#include "web/routes.h"

/* Pages open a handful of connections; the limits only have to stop one client from taking all of them. */
#define CONNECTIONS_MAX	       256
#define CONNECTIONS_PER_IP_MAX 64
#define REQUEST_BYTES_MAX      (32 * 1024)
#define IDLE_TIMEOUT_S	       15
#define TOKEN_MIN	       16
#define TOKEN_MAX	       512

struct listener {
	const struct web *web;
	struct store *store; /* used by the thread of the daemon alone */
	struct MHD_Daemon *daemon;
	struct guard guard;
	char host[256];
	char *url;
};

struct web {
	struct call_site site;
	const char *base_path;
	char token[TOKEN_MAX];
	unsigned idle_timeout_s;
	struct listener *listeners;
	size_t count;
};

/* States of a request, kept in MHD's per-request pointer. */
static char uri_fine, uri_bad, headers_seen;

/* MHD cuts the path at an encoded NUL; the raw text shows that there was one. */
static void *see_uri(void *cls, const char *uri, struct MHD_Connection *connection)
{
	(void)cls;
	(void)connection;
	return strstr(uri, "%00") ? &uri_bad : &uri_fine;
}

static enum MHD_Result refuse(struct call *call, unsigned status, const char *problem)
{
	call_fail(call, status, "%s", problem);
	/* What follows in the connection may be a body that we would take for a request. */
	return reply_send(call, true);
}

static enum MHD_Result answer(struct call *call, const char *base_path, const char *path)
{
	const struct asset *asset = routes_find_asset(base_path, path);
	const struct route *route = routes_find(base_path, path, call);
	size_t length = strlen(base_path);

	if (asset)
		return reply_send_asset(call, asset);
	if (route)
		route->answer(call);
	else if (length > 1 && strncmp(path, base_path, length - 1) == 0 && path[length - 1] == '\0')
		call_fail(call, MHD_HTTP_NOT_FOUND, "nothing is here; the pages begin at %s", base_path);
	else
		call_fail(call, MHD_HTTP_NOT_FOUND, "nothing is here");
	return reply_send(call, false);
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *connection, const char *path,
	const char *method, const char *version, const char *upload, size_t *upload_length, void **state)
{
	const struct listener *listener = cls;
	const struct web *web = listener->web;
	const char *problem = "the path holds a NUL";
	struct call call = { .site = &web->site,
		.store = listener->store,
		.connection = connection,
		.status = MHD_HTTP_OK,
		.type = "text/html; charset=utf-8",
		.body = TEXT_INIT };
	unsigned status;
	enum MHD_Result result;

	(void)version;
	(void)upload;
	if (*upload_length)
		return MHD_NO;
	call.now_ms = clock_wall_ms();
	if (*state != &headers_seen) {
		(void)routes_find(web->base_path, path, &call);
		status = guard_check(&listener->guard, connection, method, &problem);
		if (status == 0 && *state == &uri_bad)
			status = MHD_HTTP_BAD_REQUEST;
		if (status)
			return refuse(&call, status, problem);
		*state = &headers_seen;
		return MHD_YES;
	}
	result = answer(&call, web->base_path, path);
	text_fini(&call.body);
	return result;
}

/* "127.0.0.1:8734" or "[::1]:8734" into host and port. */
static int split_address(const char *address, char *host, size_t host_room, const char **port)
{
	const char *colon = strrchr(address, ':');
	size_t length;

	if (!colon || colon == address || colon[1] == '\0')
		return -EINVAL;
	length = (size_t)(colon - address);
	if (address[0] == '[') {
		if (address[length - 1] != ']')
			return -EINVAL;
		address++;
		length -= 2;
	}
	if (length == 0 || length >= host_room)
		return -EINVAL;
	memcpy(host, address, length);
	host[length] = '\0';
	*port = colon + 1;
	return 0;
}

static bool is_loopback(const struct sockaddr *address)
{
	if (address->sa_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr) >> 24 ==
		       127;
	return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
}

static bool is_wildcard(const struct sockaddr *address)
{
	if (address->sa_family == AF_INET)
		return ((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr ==
		       htonl(INADDR_ANY);
	return IN6_IS_ADDR_UNSPECIFIED(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
}

static int bind_socket(const struct addrinfo *info, int *out)
{
	int one = 1, rc;
	int fd = socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (info->ai_family == AF_INET6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	if (bind(fd, info->ai_addr, info->ai_addrlen) < 0 || listen(fd, SOMAXCONN) < 0) {
		rc = -errno;
		(void)close(fd);
		return rc;
	}
	*out = fd;
	return 0;
}

static int make_url(struct listener *listener, int fd)
{
	struct sockaddr_storage address;
	socklen_t length = sizeof(address);
	unsigned port;
	bool v6;

	if (getsockname(fd, (struct sockaddr *)&address, &length) < 0)
		return -errno;
	v6 = address.ss_family == AF_INET6;
	port = ntohs(v6 ? ((struct sockaddr_in6 *)&address)->sin6_port
			: ((struct sockaddr_in *)&address)->sin_port);
	if (asprintf(&listener->url, "http://%s%s%s:%u%s", v6 ? "[" : "", listener->host, v6 ? "]" : "", port,
		    listener->web->base_path) < 0)
		return -ENOMEM;
	return 0;
}

/* The thread must not take the signals that the control loop waits for. */
static int start_daemon(struct listener *listener, int fd)
{
	sigset_t all, before;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	listener->daemon = MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD, 0, NULL, NULL, on_request,
		listener, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned)CONNECTIONS_MAX, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
		(unsigned)CONNECTIONS_PER_IP_MAX, MHD_OPTION_CONNECTION_TIMEOUT,
		listener->web->idle_timeout_s, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)REQUEST_BYTES_MAX,
		MHD_OPTION_URI_LOG_CALLBACK, see_uri, NULL, MHD_OPTION_END);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return listener->daemon ? 0 : -EIO;
}

static int listen_on(struct listener *listener, const struct addrinfo *info, const char **problem)
{
	int fd = -1, rc;

	listener->guard.listen_host = listener->host;
	listener->guard.any_address = is_wildcard(info->ai_addr);
	if (!is_loopback(info->ai_addr)) {
		if (listener->web->token[0] == '\0') {
			*problem = "not a loopback address: set web { token-file } first";
			return -EACCES;
		}
		listener->guard.token = listener->web->token;
	}
	rc = bind_socket(info, &fd);
	if (rc < 0)
		return rc;
	rc = make_url(listener, fd);
	if (rc == 0)
		rc = start_daemon(listener, fd);
	if (rc < 0)
		(void)close(fd);
	return rc;
}

static int start_listener(struct listener *listener, const char *address, struct text *why)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV };
	struct addrinfo *info = NULL;
	const char *port, *problem = NULL;
	int rc, lookup;

	rc = split_address(address, listener->host, sizeof(listener->host), &port);
	if (rc < 0) {
		text_addf(why, "%s: not an address with a port", address);
		return rc;
	}
	lookup = getaddrinfo(listener->host, port, &hints, &info);
	if (lookup) {
		text_addf(why, "%s: %s", address, gai_strerror(lookup));
		return -EINVAL;
	}
	rc = store_new(listener->web->site.state_directory, &listener->store);
	if (rc == 0)
		rc = listen_on(listener, info, &problem);
	if (rc < 0)
		text_addf(why, "%s: %s", address, problem ? problem : strerror(-rc));
	freeaddrinfo(info);
	return rc;
}

static int read_token(const char *path, char *token, struct text *why)
{
	FILE *file;
	size_t length;

	if (path[0] == '\0')
		return 0;
	file = fopen(path, "re");
	if (!file) {
		int rc = -errno;

		text_addf(why, "%s: %s", path, strerror(-rc));
		return rc;
	}
	length = fread(token, 1, TOKEN_MAX - 1, file);
	(void)fclose(file);
	token[length] = '\0';
	token[strcspn(token, " \t\r\n")] = '\0';
	if (strlen(token) < TOKEN_MIN) {
		text_addf(why, "%s: a token has %d characters or more", path, TOKEN_MIN);
		return -EINVAL;
	}
	return 0;
}

static void init_site(struct web *web, const struct web_options *options)
{
	web->base_path = options->config->web.base_path;
	web->idle_timeout_s = options->idle_timeout_s ? options->idle_timeout_s : IDLE_TIMEOUT_S;
	web->site = (struct call_site){
		.config = options->config,
		.board = options->board,
		.alert_board = options->alert_board,
		.archive = options->archive,
		.state_directory = options->state_directory ? options->state_directory
							    : options->config->state_directory,
		.started_boot_ns = options->started_boot_ns,
	};
	if (gethostname(web->site.host, sizeof(web->site.host) - 1) < 0)
		web->site.host[0] = '\0';
}

int web_start(const struct web_options *options, struct web **out, struct text *why)
{
	const struct config_strings *listen = &options->config->web.listen;
	struct web *web = calloc(1, sizeof(*web));
	int rc = -ENOMEM;

	if (!web)
		return -ENOMEM;
	init_site(web, options);
	web->listeners = calloc(listen->count + 1, sizeof(*web->listeners));
	if (!web->listeners)
		goto fail;
	rc = read_token(options->config->web.token_file, web->token, why);
	for (size_t i = 0; rc == 0 && i < listen->count; i++) {
		web->listeners[i].web = web;
		web->listeners[i].guard.allowed_hosts = &options->config->web.allowed_hosts;
		web->count = i + 1;
		rc = start_listener(&web->listeners[i], listen->items[i], why);
	}
	if (rc < 0)
		goto fail;
	*out = web;
	return 0;
fail:
	web_stop(web);
	return rc;
}

void web_stop(struct web *web)
{
	if (!web)
		return;
	for (size_t i = 0; i < web->count; i++) {
		if (web->listeners[i].daemon)
			MHD_stop_daemon(web->listeners[i].daemon);
		store_free(web->listeners[i].store);
		free(web->listeners[i].url);
	}
	free(web->listeners);
	free(web);
}

const char *web_url(const struct web *web, size_t index)
{
	return index < web->count ? web->listeners[index].url : NULL;
}
