/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reply.h - put an answer on the wire: gzip where the client takes it, ETag and 304, the security headers.
 * Thread of the listener. */
#ifndef DRIVESOAK_REPLY_H
#define DRIVESOAK_REPLY_H

#include <microhttpd.h>
#include <stdbool.h>

#include "web/assets.h"
#include "web/call.h"

/* Send what the handler made, or the problem it found; the body is consumed. @close ends the connection after
 * it, for requests whose framing can't be trusted. */
enum MHD_Result reply_send(struct call *call, bool close);
enum MHD_Result reply_send_asset(struct call *call, const struct asset *asset);

/* The parts that need no connection. */
bool reply_takes_gzip(const char *accept_encoding); /* NULL is fine */
bool reply_etag_matches(const char *if_none_match, const char *etag);

#endif
