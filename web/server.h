/* SPDX-License-Identifier: GPL-2.0-or-later */
/* server.h - the HTTP server: read-only pages, JSON, CSV and pictures of what the service measured. It starts and
 * stops nothing and never reads from a drive. One thread per listen address, each with its own read-only journal
 * handle; all of them end in web_stop(). Main thread only. */
#ifndef DRIVESOAK_SERVER_H
#define DRIVESOAK_SERVER_H

#include <stddef.h>
#include <stdint.h>

#include "alert/board.h"
#include "archive/archive.h"
#include "base/text.h"
#include "config/config.h"
#include "measure/status.h"

/* Everything pointed to must outlive the server. */
struct web_options {
	const struct config *config;
	struct status_board *board;	 /* in the order of config->drives */
	struct alert_board *alert_board; /* NULL: there are no alerts */
	struct archive *archive;	 /* its statistics for /healthz; NULL: none to tell */
	const char *state_directory;	 /* NULL: config->state_directory */
	uint64_t started_boot_ns;	 /* clock_boot_ns() at the start of the service */
	unsigned idle_timeout_s;	 /* of a connection; 0: 15 */
};

struct web;

/* Listen on every address of config->web.listen; port 0 lets the kernel choose. 0; or -errno with the address and
 * what is wrong with it in @why: -EADDRINUSE, -EADDRNOTAVAIL, -EACCES (also: beyond loopback without a token),
 * -EINVAL (not an address). */
int web_start(const struct web_options *options, struct web **out, struct text *why);
/* Close all connections and end the threads. NULL is fine. */
void web_stop(struct web *web);
/* "http://127.0.0.1:8734/" of listener @index with the port really taken; NULL beyond the last. */
const char *web_url(const struct web *web, size_t index);

#endif
