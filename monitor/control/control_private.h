/* SPDX-License-Identifier: GPL-2.0-or-later */
/* control_private.h - what server and client of the control socket share: the bounds, the address and the answer. */
#ifndef DRIVESOAK_CONTROL_PRIVATE_H
#define DRIVESOAK_CONTROL_PRIVATE_H

#include <sys/socket.h>
#include <sys/un.h>

#include "control/control.h"

#define CONTROL_SOCKET	    "control.sock"
#define CONTROL_REQUEST_MAX 8192 /* with the newline */
#define CONTROL_ANSWER_MAX  (2u << 20)

/* The keys of a request beside "command". */
enum control_key {
	CONTROL_KEY_DRIVE,
	CONTROL_KEY_RUN,
	CONTROL_KEY_TEXT,
	CONTROL_KEY_CHANNEL,
	CONTROL_KEY_ALERT,
	CONTROL_KEY_DURATION,
	CONTROL_KEY_PURGE, /* the only one that is no text */
	CONTROL_KEY_COUNT
};

/* Which keys a command needs and which it may have: bits 1 << key. */
struct control_verb_row {
	const char *name;
	unsigned needs, may;
};
extern const struct control_verb_row control_verbs[CONTROL_VERB_COUNT];

struct control_key_row {
	const char *name;
	size_t offset, size; /* of its field in struct control_request */
};
extern const struct control_key_row control_keys[CONTROL_KEY_COUNT];

/* @folder_fd: the runtime directory, open; a path too long for a socket address goes through it. */
socklen_t control_address(int folder_fd, const char *runtime_directory, struct sockaddr_un *out);

/* One line with its newline, at most CONTROL_ANSWER_MAX. */
void control_print_answer(int code, const char *words, struct text *out);
/* @code 0 or a sysexit; -EBADMSG for anything else, the outputs then as they were. */
int control_parse_answer(const char *line, size_t length, int *code, struct text *words);

#endif
