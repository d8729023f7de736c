/* SPDX-License-Identifier: GPL-2.0-or-later */
/* body_private.h - what the files of body.h share. */
#ifndef DRIVESOAK_ALERT_BODY_PRIVATE_H
#define DRIVESOAK_ALERT_BODY_PRIVATE_H

#include "alert/body.h"

#define BODY_TIME_MAX 48

/* "2026-12-01T09:00:00.000Z". @out has BODY_TIME_MAX. */
void body_time(int64_t ms, char *out);
/* "firing", "resolved" or "test". */
const char *body_status(const struct alert_entry *entry);
/* What the entry says, and how often it fired when that was held back: "fired 7 times in 9 min; now: 41 MiB/s for ...". */
void body_words(const struct alert_entry *entry, int64_t t_ms, struct text *out);
/* How many of each. */
void body_count(const struct alert_message *message, size_t *firing, size_t *over);

#endif
