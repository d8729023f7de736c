/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What goes over the socket, written; apart from the reading since json-c and our emitter share a name. */
#include "control/control_private.h"

#include <stddef.h>
#include <stdio.h>

#include "base/json.h"

#define BIT(key) (1u << CONTROL_KEY_##key)

const struct control_verb_row control_verbs[CONTROL_VERB_COUNT] = {
	[CONTROL_STATUS] = { "status", 0, 0 },
	[CONTROL_START] = { "start", BIT(DRIVE), 0 },
	[CONTROL_PAUSE] = { "pause", BIT(DRIVE), 0 },
	[CONTROL_RESUME] = { "resume", BIT(DRIVE), 0 },
	[CONTROL_STOP] = { "stop", BIT(DRIVE), BIT(PURGE) },
	[CONTROL_NOTE] = { "note", BIT(RUN) | BIT(TEXT), 0 },
	[CONTROL_ALERTS] = { "alerts", 0, 0 },
	[CONTROL_ALERT_TEST] = { "alert-test", 0, BIT(CHANNEL) },
	[CONTROL_ALERT_RESULT] = { "alert-result", BIT(TEXT), BIT(CHANNEL) },
	[CONTROL_MUTE] = { "mute", BIT(DRIVE) | BIT(DURATION), BIT(ALERT) },
	[CONTROL_UNMUTE] = { "unmute", BIT(DRIVE), BIT(ALERT) },
};

#define FIELD(field) offsetof(struct control_request, field), sizeof(((struct control_request *)0)->field)

const struct control_key_row control_keys[CONTROL_KEY_COUNT] = {
	[CONTROL_KEY_DRIVE] = { "drive", FIELD(drive) },
	[CONTROL_KEY_RUN] = { "run", FIELD(run) },
	[CONTROL_KEY_TEXT] = { "text", FIELD(text) },
	[CONTROL_KEY_CHANNEL] = { "channel", FIELD(channel) },
	[CONTROL_KEY_ALERT] = { "alert", FIELD(alert) },
	[CONTROL_KEY_DURATION] = { "duration", FIELD(duration) },
	[CONTROL_KEY_PURGE] = { "purge", FIELD(purge) },
};

void control_print_request(const struct control_request *request, struct text *out)
{
	const unsigned needs = control_verbs[request->verb].needs,
		       may = control_verbs[request->verb].may & ~BIT(PURGE);
	struct json json;

	json_init(&json, out);
	json_object_open(&json);
	json_put_string(&json, "command", control_verbs[request->verb].name);
	for (size_t key = 0; key < CONTROL_KEY_COUNT; key++) {
		const char *value = (const char *)request + control_keys[key].offset;

		if ((1u << key) & needs || ((1u << key) & may && *value))
			json_put_string(&json, control_keys[key].name, value);
	}
	if (request->purge && control_verbs[request->verb].may & BIT(PURGE))
		json_put_bool(&json, "purge", true);
	json_object_close(&json);
	text_add(out, "\n");
}

void control_print_answer(int code, const char *words, struct text *out)
{
	struct json json;

	json_init(&json, out);
	json_object_open(&json);
	json_put_bool(&json, "ok", code == 0);
	if (code)
		json_put_i64(&json, "code", code);
	json_put_string(&json, "text", words);
	json_object_close(&json);
	text_add(out, "\n");
}

socklen_t control_address(int folder_fd, const char *runtime_directory, struct sockaddr_un *out)
{
	*out = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (snprintf(out->sun_path, sizeof(out->sun_path), "%s/" CONTROL_SOCKET, runtime_directory) >=
		(int)sizeof(out->sun_path))
		(void)snprintf(
			out->sun_path, sizeof(out->sun_path), "/proc/self/fd/%d/" CONTROL_SOCKET, folder_fd);
	return sizeof(*out);
}
