/* SPDX-License-Identifier: GPL-2.0-or-later */
/* outbox_row.h - an alert as columns: of the tables of episodes and of messages. For outbox.c alone. */
#ifndef DRIVESOAK_OUTBOX_ROW_H
#define DRIVESOAK_OUTBOX_ROW_H

#include <sqlite3.h>

#include "alert/alerts.h"

/* In the order of outbox_row_bind(). since_ms 0 stands for a rule that never fired, and was muted;
 * raised_ms is when the last episode that counts began. */
#define OUTBOX_ROW_COLUMNS                                                                                   \
	"drive TEXT NOT NULL, alert TEXT NOT NULL, since_ms INTEGER NOT NULL, until_ms INTEGER, run TEXT,"   \
	" label TEXT, model TEXT, serial TEXT, firing INTEGER NOT NULL, severity TEXT NOT NULL, value REAL," \
	" threshold REAL, text TEXT, cause TEXT, evidence TEXT, muted_until_ms INTEGER, told INTEGER NOT "   \
	"NULL, owes_end INTEGER NOT NULL, told_severity TEXT NOT NULL, raised_ms INTEGER, told_ms INTEGER,"  \
	" repeats INTEGER NOT NULL, untold INTEGER NOT NULL, untold_since_ms INTEGER,"                       \
	" held_until_ms INTEGER, begun2_ms INTEGER, begun3_ms INTEGER"
#define OUTBOX_ROW_MARKS "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?"

/* @alert must outlive the use of the statement. */
void outbox_row_bind(sqlite3_stmt *statement, int first, const struct alert *alert);
/* False for a rule or a severity that is none. */
bool outbox_row_read(sqlite3_stmt *statement, int first, struct alert *out);

#endif
