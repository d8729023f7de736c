/* SPDX-License-Identifier: GPL-2.0-or-later */
/* alert_json.h - what fires, what fired, the rules and the channels as the HTTP API and the control socket tell it. */
#ifndef DRIVESOAK_ALERT_JSON_H
#define DRIVESOAK_ALERT_JSON_H

#include "alert/board.h"
#include "base/text.h"

/* One object and a newline. @history_path: the file of alerts, of which the last @limit episodes are told; NULL: the
 * last BOARD_PAST_MAX of the board are; a file that is not there has no history. One that can't be read hides nothing else: "history" is null, or what could
 * be read of it, and "history_error" says why. */
void alert_json(
	struct alert_board *board, const char *history_path, size_t limit, int64_t now_ms, struct text *out);

/* How the tests with the number @test went: {"test","done","ok","channels":[...]}. */
void alert_json_test(struct alert_board *board, uint64_t test, const char *name, struct text *out);

#endif
