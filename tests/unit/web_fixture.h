/* SPDX-License-Identifier: GPL-2.0-or-later */
/* web_fixture.h - a server on a port of the kernel's choice over a journal in a scratch folder, and a client that
 * sends whatever bytes a test wants. */
#ifndef TESTS_WEB_FIXTURE_H
#define TESTS_WEB_FIXTURE_H

#include <stdbool.h>

#include "alert/board.h"
#include "archive_fixture.h"
#include "config/config.h"
#include "measure/status.h"
#include "web/server.h"

struct web_fixture {
	char *folder;
	struct config config;
	struct config_drive drives[4];
	char *listen[1], *allowed[1];
	struct status_board *board;
	struct alert_board *alert_board; /* of two drives and one channel */
	struct journal *journal;	 /* for writing */
	struct web *web;
	unsigned port;
};

/* Drives "evo" and "pro", base path @base_path; nothing stored and no state published yet. */
void web_fixture_start(struct web_fixture *fixture, const char *base_path);
void web_fixture_stop(struct web_fixture *fixture);
/* Open the journal for writing, creating it. */
void web_fixture_journal(struct web_fixture *fixture);
/* Publish drive @index as running @run. */
void web_fixture_publish(struct web_fixture *fixture, size_t index, const char *run, int64_t last_sample_ms);

/* What came back until the server closed; freed by http_free(). */
struct http_reply {
	int status;	  /* of the first answer; 0: none */
	unsigned answers; /* status lines seen */
	char *bytes;
	size_t length;
	char *body; /* within bytes */
	size_t body_length;
};

/* Send @length bytes; half-closes nothing. @wait_ms: give up reading after this long without a byte. */
struct http_reply http_send(unsigned port, const void *bytes, size_t length, int wait_ms);
/* "GET @path" with a right Host, Connection: close and the @extra header lines (each with its \r\n). */
struct http_reply http_get(unsigned port, const char *path, const char *extra);
void http_free(struct http_reply *reply);
/* Value of the first header of this name in @value; false without one. */
bool http_header(const struct http_reply *reply, const char *name, char *value, size_t room);

#endif
