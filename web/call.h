/* SPDX-License-Identifier: GPL-2.0-or-later */
/* call.h - one request on its way to an answer: what every handler gets and fills in. Belongs to the thread of its
 * listener. */
#ifndef DRIVESOAK_CALL_H
#define DRIVESOAK_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "base/text.h"
#include "web/store.h"

#define CALL_SEGMENT_MAX 80

struct MHD_Connection;

/* The same for all requests. */
struct call_site {
	const struct config *config;
	struct status_board *board;
	struct alert_board *alert_board; /* NULL: none */
	struct archive *archive;
	const char *state_directory;
	uint64_t started_boot_ns;
	char host[65];
};

enum call_kind { CALL_PAGE, CALL_DATA, CALL_PICTURE };

struct call {
	const struct call_site *site;
	struct store *store;
	struct MHD_Connection *connection;
	char segment[CALL_SEGMENT_MAX]; /* what the * of the route stands for; else empty */
	enum call_kind kind;
	unsigned depth; /* folders between the page and the root: "../" this often in relative links */
	int64_t now_ms;
	/* the answer */
	unsigned status;
	const char *type;
	char file_name[96]; /* offered for saving; empty: shown */
	char problem[320];  /* of a status from 400 on; the body is made from it */
	struct text body;
};

/* Set the status and the problem in words; the body so far is dropped. */
void call_fail(struct call *call, unsigned status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* A journal function failed with @rc: 503 with the reason. */
void call_fail_journal(struct call *call, int rc);

/* Query parameters. NULL when absent, "" when it has no value. */
const char *call_query(const struct call *call, const char *name);
/* Visit all values of a key that may repeat. */
void call_query_each(
	const struct call *call, const char *name, void (*each)(const char *value, void *arg), void *arg);
/* False after call_fail() for a value that is not allowed. Absent: *out stays as it is.
 * Times: epoch seconds with up to three decimals, "now" or "now-6h". */
bool call_query_time(struct call *call, const char *name, int64_t *out_ms);
bool call_query_count(struct call *call, const char *name, uint64_t min, uint64_t max, uint64_t *out);

/* The run named by the segment; false after call_fail(). */
bool call_get_run(struct call *call, struct run_record *out);

#endif
