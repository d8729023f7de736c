/* SPDX-License-Identifier: GPL-2.0-or-later */
/* attempt.h - what came of one try to deliver something. */
#ifndef DRIVESOAK_ALERT_ATTEMPT_H
#define DRIVESOAK_ALERT_ATTEMPT_H

#include <stdbool.h>

#define ATTEMPT_TEXT_MAX 256

struct attempt {
	bool is_ok;
	bool is_refused; /* the receiver would not have this message; another it may have */
	char text[ATTEMPT_TEXT_MAX];
};

#endif
