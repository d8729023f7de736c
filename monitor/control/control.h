/* SPDX-License-Identifier: GPL-2.0-or-later */
/* control.h - commands to the running service over RUNTIME/control.sock (stream, mode 0660, group of --group). A request
 * is one line of JSON, {"command":"pause","drive":"evo840"}, the answer one line: {"ok":true,"text":"…"} or
 * {"ok":false,"code":69,"text":"…"}, code as in sysexits. Who asks is known by SO_PEERCRED and SO_PEERGROUPS: root, the
 * service's own user, or a member of the socket's group; others are told so and refused. Requests are bounded (8 KiB,
 * 5 s, 16 at a time) so that a slow or hostile client holds nothing. */
#ifndef DRIVESOAK_CONTROL_H
#define DRIVESOAK_CONTROL_H

#include <stdbool.h>
#include <systemd/sd-event.h>

#include "base/text.h"

#define CONTROL_TEXT_MAX 512
#define CONTROL_WHY_MAX	 256
#define CONTROL_GROUP	 "drivesoak" /* when the system has such a group */

enum control_verb {
	CONTROL_STATUS, /* the answer's text is the JSON of /api/v1/status */
	CONTROL_START,	/* drive: armed, or a new run of a directory */
	CONTROL_PAUSE,
	CONTROL_RESUME,
	CONTROL_STOP,	/* drive, purge */
	CONTROL_NOTE,	/* run (id, or a drive's name for its newest), text */
	CONTROL_ALERTS, /* the answer's text is the JSON of /api/v1/alerts with the last of the history */
	CONTROL_ALERT_TEST, /* channel, or all; the text is JSON with the number of the test and how it went so far */
	CONTROL_ALERT_RESULT, /* text: the number of a test; channel */
	CONTROL_MUTE,	      /* drive, duration; alert, or all of the drive */
	CONTROL_UNMUTE,	      /* drive; alert */
	CONTROL_VERB_COUNT
};

struct control_request {
	enum control_verb verb;
	char drive[72], run[72], text[CONTROL_TEXT_MAX];
	char channel[72], alert[32], duration[32];
	bool purge;
	char who[96]; /* set by the server: "root (uid 0, pid 812)" */
};

struct control_answer {
	int code; /* 0 or a sysexit */
	struct text text;
};

/* @handle runs on the event loop and must not block. */
struct control_server;
int control_open(sd_event *event, const char *runtime_directory,
	void (*handle)(void *arg, const struct control_request *request, struct control_answer *answer),
	void *arg, struct control_server **out, char *why);
void control_close(struct control_server *server); /* removes the socket; NULL is fine */

/* Client: ask and wait at most 10 s. The answer's code, or EX_UNAVAILABLE when nobody listens, EX_NOPERM,
 * EX_TEMPFAIL when it does not answer, EX_PROTOCOL; @answer has words in every case (text_fini() it). */
int control_ask(const char *runtime_directory, const struct control_request *request, struct text *answer);

/* Both sides; pure. */
void control_print_request(const struct control_request *request, struct text *out);
int control_parse_request(const char *line, struct control_request *out, char *why);

#endif
