/* SPDX-License-Identifier: GPL-2.0-or-later */
/* guard.h - what a request must be before anything looks at its path: a method that only reads, no body, framing
 * that every proxy reads the same way, a Host that is ours (against DNS rebinding), the token where one is needed.
 * Any thread. */
#ifndef DRIVESOAK_GUARD_H
#define DRIVESOAK_GUARD_H

#include <stdbool.h>
#include <stddef.h>

#include "config/config.h"

struct MHD_Connection;

struct guard {
	const char *listen_host; /* as configured, without brackets */
	bool any_address;	 /* it is a wildcard: the address a connection came to is ours as well */
	const struct config_strings *allowed_hosts;
	const char *token; /* "" or NULL: none is needed */
};

/* 0, or the HTTP status to refuse with and *@problem, a constant text. */
unsigned guard_check(const struct guard *guard, struct MHD_Connection *connection, const char *method,
	const char **problem);

/* Is @host, the value of a Host header, one of ours? @local: the connection's own address or NULL. */
bool guard_is_host(const struct guard *guard, const char *host, const char *local);

#endif
