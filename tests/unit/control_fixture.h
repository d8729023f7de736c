/* SPDX-License-Identifier: GPL-2.0-or-later */
/* control_fixture.h - a control server with a real socket and a real event loop in a thread of its own; one at a time. */
#ifndef TESTS_CONTROL_FIXTURE_H
#define TESTS_CONTROL_FIXTURE_H

#include "control/control.h"

/* Fails the test when it can't. @handle runs in the loop's thread. */
void control_fixture_start(const char *folder,
	void (*handle)(void *arg, const struct control_request *request, struct control_answer *answer),
	void *arg);
void control_fixture_stop(void);

#endif
