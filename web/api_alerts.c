/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "web/api.h"

#include <microhttpd.h>

#include "alert/alert_json.h"
#include "alert/outbox.h"

#define HISTORY_DEFAULT 200
#define HISTORY_MAX	10000

void api_alerts(struct call *call)
{
	struct text path = TEXT_INIT;
	uint64_t limit = HISTORY_DEFAULT;

	if (!call_query_count(call, "limit", 1, HISTORY_MAX, &limit))
		return;
	if (!call->site->alert_board) {
		call_fail(call, MHD_HTTP_SERVICE_UNAVAILABLE, "there are no alerts here");
		return;
	}
	call->type = "application/json";
	text_addf(&path, "%s/" OUTBOX_FILE, call->site->state_directory);
	alert_json(call->site->alert_board, text_string(&path), limit, call->now_ms, &call->body);
	text_fini(&path);
}
