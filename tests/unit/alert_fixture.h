/* SPDX-License-Identifier: GPL-2.0-or-later */
/* alert_fixture.h - alerts and messages made up, and a folder for the file of alerts. */
#ifndef TESTS_ALERT_FIXTURE_H
#define TESTS_ALERT_FIXTURE_H

#include "alert/alerts.h"

#define T0 1764579600000LL /* 2025-12-01 09:00:00 UTC */

/* Everything in it set, times around T0. */
struct alert alert_fixture(const char *drive, enum alert_rule rule);
/* One entry of it. */
void alert_fixture_message(struct alert_message *message, enum alert_note note, const struct alert *alert);

/* cmocka set-up and tear-down: a folder, in which alert_path(NAME) is (until the next call but three). */
int alert_set_up(void **state);
int alert_tear_down(void **state);
const char *alert_path(const char *name);

#endif
