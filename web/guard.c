/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "web/guard.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#define HOST_MAX 256

/* Take "name", "name:8734", "[::1]:8734" apart; the port must be digits. False when it is none of these. */
static bool split_host(const char *text, char *host)
{
	const char *start = text, *end, *rest;

	if (*text == '[') {
		start = text + 1;
		end = strchr(start, ']');
		if (!end)
			return false;
		rest = end + 1;
	} else {
		end = text + strcspn(text, ":");
		rest = end;
	}
	if (end == start || (size_t)(end - start) >= HOST_MAX)
		return false;
	if (*rest == ':')
		rest += 1 + strspn(rest + 1, "0123456789");
	if (*rest)
		return false;
	memcpy(host, start, (size_t)(end - start));
	host[end - start] = '\0';
	return true;
}

static bool is_loopback_name(const char *host)
{
	struct in_addr v4;

	if (strcasecmp(host, "localhost") == 0 || strcmp(host, "::1") == 0)
		return true;
	return inet_pton(AF_INET, host, &v4) == 1 && ntohl(v4.s_addr) >> 24 == 127;
}

bool guard_is_host(const struct guard *guard, const char *host, const char *local)
{
	char name[HOST_MAX], allowed[HOST_MAX];

	if (!split_host(host, name))
		return false;
	if (is_loopback_name(name) || strcasecmp(name, guard->listen_host) == 0)
		return true;
	if (guard->any_address && local && strcasecmp(name, local) == 0)
		return true;
	for (size_t i = 0; i < guard->allowed_hosts->count; i++) {
		if (split_host(guard->allowed_hosts->items[i], allowed) && strcasecmp(name, allowed) == 0)
			return true;
	}
	return false;
}

struct headers {
	unsigned hosts, lengths, encodings, tokens;
	const char *host, *length, *token;
};

static enum MHD_Result note_header(void *cls, enum MHD_ValueKind kind, const char *key, const char *value)
{
	struct headers *headers = cls;

	(void)kind;
	value = value ? value : "";
	if (strcasecmp(key, MHD_HTTP_HEADER_HOST) == 0) {
		headers->hosts++;
		headers->host = value;
	} else if (strcasecmp(key, MHD_HTTP_HEADER_CONTENT_LENGTH) == 0) {
		headers->lengths++;
		headers->length = value;
	} else if (strcasecmp(key, MHD_HTTP_HEADER_TRANSFER_ENCODING) == 0) {
		headers->encodings++;
	} else if (strcasecmp(key, MHD_HTTP_HEADER_AUTHORIZATION) == 0) {
		headers->tokens++;
		headers->token = value;
	}
	return MHD_YES;
}

static bool local_address(struct MHD_Connection *connection, char *text)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct sockaddr_storage address;
	socklen_t length = sizeof(address);
	const void *bytes;

	if (!info || getsockname(info->connect_fd, (struct sockaddr *)&address, &length) < 0)
		return false;
	if (address.ss_family == AF_INET)
		bytes = &((const struct sockaddr_in *)&address)->sin_addr;
	else
		bytes = &((const struct sockaddr_in6 *)&address)->sin6_addr;
	return inet_ntop(address.ss_family, bytes, text, INET6_ADDRSTRLEN) != NULL;
}

/* In a time that does not tell how much of the token was right. */
static bool is_token(const char *header, const char *token)
{
	size_t length = strlen(token);
	unsigned char differs = 0;

	if (strncasecmp(header, "Bearer ", 7) != 0)
		return false;
	header += 7;
	if (strlen(header) != length)
		return false;
	for (size_t i = 0; i < length; i++)
		differs |= (unsigned char)(header[i] ^ token[i]);
	return differs == 0;
}

static unsigned check_framing(const struct headers *headers, const char **problem)
{
	if (headers->lengths > 1 || headers->encodings > 1 || (headers->lengths && headers->encodings)) {
		*problem = "the length of the request is given twice";
		return MHD_HTTP_BAD_REQUEST;
	}
	if (headers->encodings || (headers->lengths && strcmp(headers->length, "0") != 0)) {
		*problem = "a request body is not allowed";
		return MHD_HTTP_BAD_REQUEST;
	}
	return 0;
}

static unsigned check_host(const struct guard *guard, const struct headers *headers,
	struct MHD_Connection *connection, const char **problem)
{
	char local[INET6_ADDRSTRLEN];
	bool known;

	if (headers->hosts != 1 || headers->host[0] == '\0') {
		*problem = "exactly one Host is needed";
		return MHD_HTTP_BAD_REQUEST;
	}
	known = guard->any_address && local_address(connection, local);
	if (!guard_is_host(guard, headers->host, known ? local : NULL)) {
		*problem = "this Host is not ours; add it to web { allowed-hosts } if it should be";
		return MHD_HTTP_MISDIRECTED_REQUEST;
	}
	return 0;
}

unsigned guard_check(const struct guard *guard, struct MHD_Connection *connection, const char *method,
	const char **problem)
{
	struct headers headers = { 0 };
	unsigned status;

	(void)MHD_get_connection_values(connection, MHD_HEADER_KIND, note_header, &headers);
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0) {
		*problem = "only GET and HEAD are allowed";
		return MHD_HTTP_METHOD_NOT_ALLOWED;
	}
	status = check_framing(&headers, problem);
	if (status == 0)
		status = check_host(guard, &headers, connection, problem);
	if (status == 0 && guard->token && guard->token[0] &&
		(headers.tokens != 1 || !is_token(headers.token, guard->token))) {
		*problem = "a bearer token is needed here";
		return MHD_HTTP_UNAUTHORIZED;
	}
	return status;
}
