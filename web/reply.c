/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "web/reply.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <xxhash.h>
#define ZLIB_CONST
#include <zlib.h>

#include "web/page.h"

#define GZIP_MIN_BYTES 1024
/* Above this, speed counts more than the last percent: one thread serves all clients. */
#define GZIP_FAST_BYTES (1 << 20)
#define ETAG_MAX	40

/* Pages take everything from here. A picture opened by itself is its own document and carries its own style. */
#define CSP_PAGE                                                                                             \
	"default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
#define CSP_PICTURE "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"

bool reply_takes_gzip(const char *accept_encoding)
{
	const char *at = accept_encoding;

	while (at && *at) {
		size_t length;

		at += strspn(at, ", \t");
		length = strcspn(at, ",");
		if (strncasecmp(at, "gzip", 4) == 0 && strchr(",; \t", at[4])) {
			const char *q = memchr(at, '=', length);

			/* "q=0", "q=0.000" refuse; anything else takes. */
			return !q || strspn(q + 1, "0.") < strcspn(q + 1, ", \t");
		}
		at += length;
	}
	return false;
}

bool reply_etag_matches(const char *if_none_match, const char *etag)
{
	const char *at = if_none_match;
	size_t length = strlen(etag);

	while (at && *at) {
		at += strspn(at, ", \t");
		if (*at == '*')
			return true;
		if (strncmp(at, "W/", 2) == 0)
			at += 2;
		if (strncmp(at, etag, length) == 0 && strchr(", \t", at[length]))
			return true;
		at += strcspn(at, ",");
	}
	return false;
}

static const char *header(struct call *call, const char *name)
{
	return MHD_lookup_connection_value(call->connection, MHD_HEADER_KIND, name);
}

/* NULL when it fails or does not pay. */
static void *gzip_bytes(const char *bytes, size_t length, size_t *out_length)
{
	z_stream stream = { 0 };
	void *out;
	uLong room;
	int rc;

	if (deflateInit2(&stream, length > GZIP_FAST_BYTES ? 1 : 6, Z_DEFLATED, 15 + 16, 8,
		    Z_DEFAULT_STRATEGY) != Z_OK)
		return NULL;
	room = deflateBound(&stream, length);
	out = malloc(room);
	if (!out) {
		(void)deflateEnd(&stream);
		return NULL;
	}
	stream.next_in = (const Bytef *)bytes;
	stream.avail_in = (uInt)length;
	stream.next_out = out;
	stream.avail_out = (uInt)room;
	rc = deflate(&stream, Z_FINISH);
	*out_length = stream.total_out;
	(void)deflateEnd(&stream);
	if (rc != Z_STREAM_END || *out_length >= length) {
		free(out);
		return NULL;
	}
	return out;
}

struct wire {
	struct MHD_Response *response;
	bool failed;
};

static void add(struct wire *wire, const char *name, const char *value)
{
	if (MHD_add_response_header(wire->response, name, value) != MHD_YES)
		wire->failed = true;
}

static void add_common(struct wire *wire, const struct call *call, const char *type)
{
	add(wire, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	add(wire, "Content-Security-Policy",
		call->kind == CALL_PICTURE && call->status < 400 ? CSP_PICTURE : CSP_PAGE);
	add(wire, "X-Content-Type-Options", "nosniff");
	add(wire, "Referrer-Policy", "no-referrer");
	add(wire, "Cross-Origin-Resource-Policy", "same-origin");
	add(wire, MHD_HTTP_HEADER_VARY, MHD_HTTP_HEADER_ACCEPT_ENCODING);
}

static enum MHD_Result queue(struct wire *wire, struct call *call, unsigned status)
{
	enum MHD_Result result = MHD_NO;

	if (!wire->failed)
		result = MHD_queue_response(call->connection, status, wire->response);
	MHD_destroy_response(wire->response);
	return result;
}

static enum MHD_Result send_unchanged(
	struct call *call, const char *etag, const char *type, const char *cache)
{
	struct wire wire = { MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT), false };

	if (!wire.response)
		return MHD_NO;
	add_common(&wire, call, type);
	add(&wire, MHD_HTTP_HEADER_ETAG, etag);
	add(&wire, MHD_HTTP_HEADER_CACHE_CONTROL, cache);
	return queue(&wire, call, MHD_HTTP_NOT_MODIFIED);
}

/* Fill the body of a failed call: JSON for programs, a page for people. */
static void make_problem(struct call *call)
{
	struct json json;

	text_fini(&call->body);
	if (call->kind == CALL_PAGE) {
		call->type = "text/html; charset=utf-8";
		page_problem(call);
		return;
	}
	call->type = "application/json";
	json_init(&json, &call->body);
	json_object_open(&json);
	json_key(&json, "error");
	json_object_open(&json);
	json_put_u64(&json, "status", call->status);
	json_put_string(&json, "message", call->problem);
	json_object_close(&json);
	json_object_close(&json);
	text_add(&call->body, "\n");
}

/* Pictures are text as well, but a PNG is packed already. */
static bool is_packable(const struct call *call)
{
	return call->body.length > GZIP_MIN_BYTES && strcmp(call->type, "image/png") != 0;
}

static void add_answer_headers(
	struct wire *wire, const struct call *call, const char *etag, bool gzip, bool close)
{
	char disposition[160];

	add_common(wire, call, call->type);
	if (call->status < 400)
		add(wire, MHD_HTTP_HEADER_ETAG, etag);
	add(wire, MHD_HTTP_HEADER_CACHE_CONTROL, call->status < 400 ? "no-cache" : "no-store");
	if (gzip)
		add(wire, MHD_HTTP_HEADER_CONTENT_ENCODING, "gzip");
	if (call->status == MHD_HTTP_METHOD_NOT_ALLOWED)
		add(wire, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	if (call->status == MHD_HTTP_UNAUTHORIZED)
		add(wire, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer realm=\"drivesoak\"");
	if (call->file_name[0]) {
		(void)snprintf(
			disposition, sizeof(disposition), "attachment; filename=\"%s\"", call->file_name);
		add(wire, MHD_HTTP_HEADER_CONTENT_DISPOSITION, disposition);
	}
	if (close)
		add(wire, MHD_HTTP_HEADER_CONNECTION, "close");
}

enum MHD_Result reply_send(struct call *call, bool close)
{
	struct wire wire = { NULL, false };
	bool takes = reply_takes_gzip(header(call, MHD_HTTP_HEADER_ACCEPT_ENCODING)), gzip = false;
	char etag[ETAG_MAX];
	void *bytes, *packed;
	size_t length, packed_length;

	if (call->status < 400 && text_error(&call->body))
		call_fail(call, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory");
	if (call->status >= 400)
		make_problem(call);
	gzip = takes && is_packable(call);
	(void)snprintf(etag, sizeof(etag), "\"%016" PRIx64 "%s\"",
		(uint64_t)XXH3_64bits(text_string(&call->body), call->body.length), gzip ? "-gz" : "");
	if (call->status < 400 && reply_etag_matches(header(call, MHD_HTTP_HEADER_IF_NONE_MATCH), etag))
		return send_unchanged(call, etag, call->type, "no-cache");
	packed = gzip ? gzip_bytes(call->body.bytes, call->body.length, &packed_length) : NULL;
	if (packed) {
		bytes = packed;
		length = packed_length;
	} else {
		bytes = text_take(&call->body, &length);
	}
	wire.response = MHD_create_response_from_buffer(length, bytes, MHD_RESPMEM_MUST_FREE);
	if (!wire.response) {
		free(bytes);
		return MHD_NO;
	}
	add_answer_headers(&wire, call, etag, packed != NULL, close);
	return queue(&wire, call, call->status);
}

enum MHD_Result reply_send_asset(struct call *call, const struct asset *asset)
{
	bool gzip = reply_takes_gzip(header(call, MHD_HTTP_HEADER_ACCEPT_ENCODING));
	const unsigned char *bytes = gzip ? asset->gzip : asset->bytes;
	size_t length = gzip ? asset->gzip_length : asset->length;
	const char *version = call_query(call, "v");
	/* Pages name the hash in the link, so such a link never changes its content. */
	const char *cache = version && strcmp(version, asset->hash) == 0 ? "max-age=31536000, immutable"
									 : "no-cache";
	struct wire wire = { NULL, false };
	char etag[ETAG_MAX];

	(void)snprintf(etag, sizeof(etag), "\"%s%s\"", asset->hash, gzip ? "-gz" : "");
	if (reply_etag_matches(header(call, MHD_HTTP_HEADER_IF_NONE_MATCH), etag))
		return send_unchanged(call, etag, asset->type, cache);
	wire.response = MHD_create_response_from_buffer(
		length, (void *)(uintptr_t)bytes, MHD_RESPMEM_PERSISTENT);
	if (!wire.response)
		return MHD_NO;
	add_common(&wire, call, asset->type);
	add(&wire, MHD_HTTP_HEADER_ETAG, etag);
	add(&wire, MHD_HTTP_HEADER_CACHE_CONTROL, cache);
	if (gzip)
		add(&wire, MHD_HTTP_HEADER_CONTENT_ENCODING, "gzip");
	return queue(&wire, call, MHD_HTTP_OK);
}
