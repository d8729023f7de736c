/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "web/assets.h"
#include "web/guard.h"
#include "web/reply.h"
#include "web_fixture.h"

static struct web_fixture fixture;

static int set_up(void **state)
{
	(void)state;
	web_fixture_start(&fixture, "/");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	web_fixture_stop(&fixture);
	return 0;
}

#define OURS  "Host: localhost\r\n"
#define CLOSE "Connection: close\r\n\r\n"

static void test_hostile_requests(void **state)
{
	static const struct {
		const char *request;
		int status;
		unsigned answers; /* more than one: a body was taken for a request */
		const char *says;
	} rows[] = {
		{ "GET / HTTP/1.1\r\n" OURS CLOSE, 200, 1, "<!DOCTYPE html>" },
		{ "GET / HTTP/1.1\r\n" CLOSE, 400, 1, "Host" },
		{ "GET / HTTP/1.0\r\n" CLOSE, 400, 1, "Host" },
		{ "GET / HTTP/1.1\r\nHost:\r\n" CLOSE, 400, 1, "Host" },
		{ "GET / HTTP/1.1\r\n" OURS "Host: evil.example\r\n" CLOSE, 400, 1, "Host" },
		{ "GET /api/v1/status HTTP/1.1\r\nHost: evil.example\r\n" CLOSE, 421, 1, "\"status\":421" },
		{ "GET / HTTP/1.1\r\nHost: localhost.evil.example\r\n" CLOSE, 421, 1, "421" },
		{ "GET / HTTP/1.1\r\nHost: 127.0.0.1:80x\r\n" CLOSE, 421, 1, "421" },
		{ "GET / HTTP/1.1\r\nHost: SOAK.example\r\n" CLOSE, 200, 1, "" },
		{ "GET / HTTP/1.1\r\n" OURS "Content-Length: 5\r\nContent-Length: 5\r\n" CLOSE "aaaaa", 400,
			1, "twice" },
		{ "GET / HTTP/1.1\r\n" OURS "Content-Length: 40\r\nTransfer-Encoding: chunked\r\n\r\n"
		  "0\r\n\r\nGET /runs HTTP/1.1\r\n" OURS "\r\n",
			400, 1, "twice" },
		{ "GET / HTTP/1.1\r\n" OURS "Content-Length: 32\r\n\r\nGET /runs HTTP/1.1\r\n" OURS "\r\n",
			400, 1, "body" },
		{ "GET / HTTP/1.1\r\n" OURS
		  "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /runs HTTP/1.1\r\n" OURS "\r\n",
			400, 1, "body" },
		{ "POST / HTTP/1.1\r\n" OURS "Content-Length: 3\r\n\r\nabc", 405, 1, "GET and HEAD" },
		{ "DELETE /api/v1/runs/x HTTP/1.1\r\n" OURS CLOSE, 405, 1, "\"status\":405" },
		{ "OPTIONS * HTTP/1.1\r\n" OURS CLOSE, 405, 1, "" },
		{ "BREW / HTTP/1.1\r\n" OURS CLOSE, 405, 1, "" },
		{ "GET /a/../b%2f..%2fetc/passwd HTTP/1.1\r\n" OURS CLOSE, 404, 1, "nothing is here" },
		{ "GET /static/../style.css HTTP/1.1\r\n" OURS CLOSE, 404, 1, "" },
		{ "GET /static/..%2f..%2fetc%2fpasswd HTTP/1.1\r\n" OURS CLOSE, 404, 1, "" },
		{ "GET //x/%00y HTTP/1.1\r\n" OURS CLOSE, 400, 1, "NUL" },
		{ "GET /%00 HTTP/1.1\r\n" OURS CLOSE, 400, 1, "NUL" },
		{ "GET * HTTP/1.1\r\n" OURS CLOSE, 404, 1, "" },
		{ "GET http://evil/abs HTTP/1.1\r\n" OURS CLOSE, 404, 1, "" },
		{ "GET /%zz HTTP/1.1\r\n" OURS CLOSE, 404, 1, "" },
		{ "GET /runs/ HTTP/1.1\r\n" OURS CLOSE, 404, 1, "" },
		{ "GET /run/ HTTP/1.1\r\n" OURS CLOSE, 404, 1, "" },
		{ "GET /run/<script> HTTP/1.1\r\n" OURS CLOSE, 404, 1, "" },
		{ "GET /drive/%3Cscript%3E HTTP/1.1\r\n" OURS CLOSE, 404, 1,
			"no drive is called &lt;script&gt;" },
		{ "GET /api/v2/status HTTP/1.1\r\n" OURS CLOSE, 404, 1,
			"{\"error\":{\"status\":404,\"message\":\"nothing is here\"}}" },
		{ "GET /api/v1/events?limit HTTP/1.1\r\n" OURS CLOSE, 400, 1,
			"limit: allowed are whole numbers from 1 to 10000" },
		{ "GET /api/v1/events?limit= HTTP/1.1\r\n" OURS CLOSE, 400, 1, "limit: " },
		{ "GET /api/v1/events?limit=10001 HTTP/1.1\r\n" OURS CLOSE, 400, 1, "limit: " },
		{ "GET /api/v1/events?other HTTP/1.1\r\n" OURS CLOSE, 200, 1, "{\"events\":[]}" },
		{ "GET /graph/jitter.svg?width=1 HTTP/1.1\r\n" OURS CLOSE, 400, 1, "width: allowed" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct http_reply reply = http_send(
			fixture.port, rows[i].request, strlen(rows[i].request), 3000);

		if (reply.status != rows[i].status || reply.answers != rows[i].answers ||
			!strstr(reply.body, rows[i].says))
			fail_msg("request %zu:\n%s\ngave %d, %u answers:\n%s", i, rows[i].request,
				reply.status, reply.answers, reply.bytes);
		assert_null(strstr(reply.bytes, "<script>a"));
		http_free(&reply);
	}
}

static void test_too_much_and_too_slow(void **state)
{
	char *large = calloc(1, 50000);
	struct http_reply reply;
	static const char half[] = "GET / HTTP/1.1\r\nHost: loc";

	(void)state;
	(void)strcpy(large, "GET / HTTP/1.1\r\nHost: localhost\r\nX-Large: ");
	memset(large + strlen(large), 'a', 40000);
	(void)strcat(large, "\r\n" CLOSE);
	reply = http_send(fixture.port, large, strlen(large), 3000);
	/* The server may close before the client has sent all of it; it must never answer 200. */
	assert_true(reply.status == 431 || reply.status == 0);
	http_free(&reply);
	free(large);
	/* Half a request: closed after the idle time (1 s here), without an answer or with one that refuses. */
	reply = http_send(fixture.port, half, strlen(half), 5000);
	assert_true(reply.status != 200);
	http_free(&reply);
	reply = http_get(fixture.port, "/healthz", NULL);
	assert_int_equal(reply.status, 200);
	http_free(&reply);
}

static void check_header(const struct http_reply *reply, const char *name, const char *expected)
{
	char value[256] = "none";

	(void)http_header(reply, name, value, sizeof(value));
	assert_string_equal(value, expected);
}

static void test_security_headers(void **state)
{
	static const char *const paths[] = { "/", "/static/app.js", "/api/v1/status", "/nothing" };
	static const char put[] = "PUT / HTTP/1.1\r\n" OURS CLOSE;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct http_reply reply = http_get(fixture.port, paths[i], NULL);

		check_header(&reply, "Content-Security-Policy",
			"default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
			"object-src 'none'");
		check_header(&reply, "X-Content-Type-Options", "nosniff");
		check_header(&reply, "Referrer-Policy", "no-referrer");
		check_header(&reply, "Vary", "Accept-Encoding");
		check_header(&reply, "Cache-Control", i == 3 ? "no-store" : "no-cache");
		http_free(&reply);
	}
	/* 405 names what is allowed. */
	struct http_reply reply = http_send(fixture.port, put, strlen(put), 3000);

	check_header(&reply, "Allow", "GET, HEAD");
	http_free(&reply);
}

static void test_head_is_get_without_the_body(void **state)
{
	static const char *const paths[] = { "/static/style.css", "/api/v1/runs", "/nothing" };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct http_reply get = http_get(fixture.port, paths[i], NULL), head;
		char request[256], length[32];

		(void)snprintf(request, sizeof(request), "HEAD %s HTTP/1.1\r\n" OURS CLOSE, paths[i]);
		head = http_send(fixture.port, request, strlen(request), 3000);
		assert_int_equal(head.status, get.status);
		assert_int_equal(head.body_length, 0);
		(void)snprintf(length, sizeof(length), "%zu", get.body_length);
		assert_true(get.body_length > 0);
		check_header(&head, "Content-Length", length);
		http_free(&get);
		http_free(&head);
	}
}

static void gunzip(const char *bytes, size_t length, unsigned char *out, size_t room, size_t *out_length)
{
	z_stream stream = { .next_in = (Bytef *)(uintptr_t)bytes,
		.avail_in = (uInt)length,
		.next_out = out,
		.avail_out = (uInt)room };

	assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
	assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
	*out_length = stream.total_out;
	(void)inflateEnd(&stream);
}

static void test_gzip_is_the_same_content(void **state)
{
	static const char *const paths[] = { "/static/style.css", "/static/dygraph.js", "/events" };
	static unsigned char unpacked[1 << 20];

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct http_reply plain = http_get(fixture.port, paths[i], NULL);
		struct http_reply packed = http_get(
			fixture.port, paths[i], "Accept-Encoding: br, gzip;q=0.8\r\n");
		struct http_reply refused = http_get(fixture.port, paths[i], "Accept-Encoding: gzip;q=0\r\n");
		size_t length;

		check_header(&packed, "Content-Encoding", "gzip");
		check_header(&plain, "Content-Encoding", "none");
		check_header(&refused, "Content-Encoding", "none");
		gunzip(packed.body, packed.body_length, unpacked, sizeof(unpacked), &length);
		assert_true(packed.body_length < plain.body_length);
		/* The page tells its time and differs by it. */
		if (i < 2) {
			assert_int_equal(length, plain.body_length);
			assert_memory_equal(unpacked, plain.body, length);
		} else {
			assert_memory_equal(unpacked, "<!DOCTYPE html>", 15);
		}
		http_free(&plain);
		http_free(&packed);
		http_free(&refused);
	}
}

static void test_unchanged_content_is_304(void **state)
{
	static const char *const paths[] = { "/static/app.js", "/api/v1/runs" };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct http_reply first = http_get(fixture.port, paths[i], NULL), again;
		char etag[64], condition[160];

		assert_true(http_header(&first, "ETag", etag, sizeof(etag)));
		(void)snprintf(condition, sizeof(condition), "If-None-Match: \"other\", W/%s\r\n", etag);
		again = http_get(fixture.port, paths[i], condition);
		assert_int_equal(again.status, 304);
		assert_int_equal(again.body_length, 0);
		check_header(&again, "ETag", etag);
		http_free(&again);
		again = http_get(fixture.port, paths[i], "If-None-Match: \"other\"\r\n");
		assert_int_equal(again.status, 200);
		http_free(&again);
		http_free(&first);
	}
}

static void test_a_link_with_its_hash_may_be_kept(void **state)
{
	char path[128];
	struct http_reply reply;

	(void)state;
	(void)snprintf(path, sizeof(path), "/static/app.js?v=%s", assets_find("app.js")->hash);
	reply = http_get(fixture.port, path, NULL);
	check_header(&reply, "Cache-Control", "max-age=31536000, immutable");
	check_header(&reply, "Content-Type", "text/javascript; charset=utf-8");
	http_free(&reply);
	reply = http_get(fixture.port, "/static/app.js?v=0", NULL);
	check_header(&reply, "Cache-Control", "no-cache");
	http_free(&reply);
}

static void test_below_a_base_path(void **state)
{
	static const struct {
		const char *path;
		int status;
	} rows[] = { { "/soak/", 200 }, { "/soak/runs", 200 }, { "/soak/static/app.js", 200 }, { "/", 404 },
		{ "/runs", 404 }, { "/soak", 404 }, { "/soakruns", 404 }, { "/soak/healthz", 200 } };
	struct web_fixture other;

	(void)state;
	web_fixture_start(&other, "/soak/");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct http_reply reply = http_get(other.port, rows[i].path, NULL);

		assert_int_equal(reply.status, rows[i].status);
		/* No link leaves the base path. */
		assert_null(strstr(reply.body, "href=\"/"));
		assert_null(strstr(reply.body, "src=\"/"));
		http_free(&reply);
	}
	web_fixture_stop(&other);
}

static void check_start(const char *address, const char *token_file, int rc, const char *says)
{
	struct web_options options = { .config = &fixture.config, .board = fixture.board };
	char *copy = strdup(address), *before = fixture.listen[0],
	     *token_before = fixture.config.web.token_file;
	char *token = strdup(token_file);
	struct text why = TEXT_INIT;
	struct web *web = NULL;

	fixture.listen[0] = copy;
	fixture.config.web.token_file = token;
	assert_int_equal(web_start(&options, &web, &why), rc);
	if (rc < 0) {
		assert_null(web);
		assert_non_null(strstr(text_string(&why), says));
	}
	web_stop(web);
	text_fini(&why);
	fixture.listen[0] = before;
	fixture.config.web.token_file = token_before;
	free(copy);
	free(token);
}

static void test_addresses_that_cannot_be_used(void **state)
{
	char taken[64];

	(void)state;
	(void)snprintf(taken, sizeof(taken), "127.0.0.1:%u", fixture.port);
	check_start(taken, "", -EADDRINUSE, ": Address already in use");
	check_start("192.0.2.1:8734", "", -EACCES,
		"192.0.2.1:8734: not a loopback address: set web { token-file } first");
	check_start("0.0.0.0:0", "", -EACCES, "token-file");
	check_start("8734", "", -EINVAL, "8734: not an address with a port");
	check_start("127.0.0.1:", "", -EINVAL, "not an address");
	check_start("[::1:8734", "", -EINVAL, "not an address");
	check_start("127.0.0.1:http", "", -EINVAL, "127.0.0.1:http: ");
	check_start("127.0.0.1:0", "/nonexistent/token", -ENOENT, "/nonexistent/token: No such file");
}

static void test_a_token_guards_what_is_not_loopback(void **state)
{
	struct web_options options = { .config = &fixture.config, .board = fixture.board };
	char address[] = "0.0.0.0:0", path[512], *before = fixture.listen[0],
	     *token_before = fixture.config.web.token_file;
	struct text why = TEXT_INIT;
	struct http_reply reply;
	struct web *web = NULL;
	unsigned port;
	FILE *file;

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/token", fixture.folder);
	file = fopen(path, "w");
	(void)fputs("0123456789abcdef-secret\n", file);
	(void)fclose(file);
	fixture.listen[0] = address;
	fixture.config.web.token_file = path;
	assert_int_equal(web_start(&options, &web, &why), 0);
	port = (unsigned)atoi(strrchr(web_url(web, 0), ':') + 1);
	reply = http_get(port, "/api/v1/status", NULL);
	assert_int_equal(reply.status, 401);
	check_header(&reply, "WWW-Authenticate", "Bearer realm=\"drivesoak\"");
	http_free(&reply);
	reply = http_get(port, "/api/v1/status", "Authorization: Bearer 0123456789abcdef-secreT\r\n");
	assert_int_equal(reply.status, 401);
	http_free(&reply);
	reply = http_get(port, "/api/v1/status", "Authorization: Bearer 0123456789abcdef-secret\r\n");
	assert_int_equal(reply.status, 200);
	http_free(&reply);
	web_stop(web);
	fixture.listen[0] = before;
	fixture.config.web.token_file = token_before;
}

static void test_hosts(void **state)
{
	char *items[] = { (char[]){ "soak.lan" }, (char[]){ "[2001:db8::1]:443" } };
	struct config_strings allowed = { items, 2 };
	struct guard guard = { .listen_host = "10.0.0.5", .allowed_hosts = &allowed };
	static const struct {
		const char *host;
		bool is_ours;
	} rows[] = {
		{ "localhost", true },
		{ "LOCALHOST:1", true },
		{ "127.0.0.1", true },
		{ "127.9.9.9:8734", true },
		{ "[::1]", true },
		{ "[::1]:80", true },
		{ "10.0.0.5:8734", true },
		{ "soak.lan", true },
		{ "Soak.LAN:99999", true },
		{ "[2001:db8::1]", true },
		{ "2001:db8::1", false },
		{ "10.0.0.6", false },
		{ "evil", false },
		{ "", false },
		{ ":80", false },
		{ "[", false },
		{ "[]", false },
		{ "[::1", false },
		{ "[::1]x", false },
		{ "localhost:8a", false },
		{ "localhost.", false },
		{ "localhost/", false },
		{ "user@localhost", false },
		{ "127.0.0.1.evil", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(guard_is_host(&guard, rows[i].host, "10.0.0.6"), rows[i].is_ours);
	guard.any_address = true;
	assert_true(guard_is_host(&guard, "10.0.0.6:1", "10.0.0.6"));
	assert_false(guard_is_host(&guard, "10.0.0.7:1", "10.0.0.6"));
}

static void test_header_lists(void **state)
{
	static const struct {
		const char *value;
		bool takes;
	} encodings[] = {
		{ NULL, false },
		{ "", false },
		{ "gzip", true },
		{ "deflate, gzip", true },
		{ "GZIP;q=1.0", true },
		{ "gzip;q=0", false },
		{ "gzip; q=0.000, br", false },
		{ "gzip;q=0.001", true },
		{ "gzipped", false },
		{ "x-gzip", false },
		{ "*", false },
	};
	static const struct {
		const char *value;
		bool matches;
	} etags[] = {
		{ NULL, false },
		{ "\"a\"", true },
		{ "W/\"a\"", true },
		{ "\"b\", \"a\"", true },
		{ "*", true },
		{ "\"ab\"", false },
		{ "a", false },
		{ "\"b\"", false },
		{ ",,", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(encodings) / sizeof(encodings[0]); i++)
		assert_int_equal(reply_takes_gzip(encodings[i].value), encodings[i].takes);
	for (size_t i = 0; i < sizeof(etags) / sizeof(etags[0]); i++)
		assert_int_equal(reply_etag_matches(etags[i].value, "\"a\""), etags[i].matches);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hostile_requests),
		cmocka_unit_test(test_too_much_and_too_slow),
		cmocka_unit_test(test_security_headers),
		cmocka_unit_test(test_head_is_get_without_the_body),
		cmocka_unit_test(test_gzip_is_the_same_content),
		cmocka_unit_test(test_unchanged_content_is_304),
		cmocka_unit_test(test_a_link_with_its_hash_may_be_kept),
		cmocka_unit_test(test_below_a_base_path),
		cmocka_unit_test(test_addresses_that_cannot_be_used),
		cmocka_unit_test(test_a_token_guards_what_is_not_loopback),
		cmocka_unit_test(test_hosts),
		cmocka_unit_test(test_header_lists),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
