/* SPDX-License-Identifier: GPL-2.0-or-later */
/* json-c reads leniently and keeps the last of equal keys; what it is too lenient for is checked here. */
#include "control/control_private.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "config/config.h"

#define DEPTH_MAX 4 /* of a request: one object of scalars */
#define CODE_MAX  127

/* How the value of each key is checked and taken; purge is no text. */
static int name_copy(char *to, size_t size, const char *value, const char *key, char *why);
static int words_copy(char *to, size_t size, const char *value, const char *key, char *why);

static int (*const copiers[CONTROL_KEY_COUNT])(
	char *to, size_t size, const char *value, const char *key, char *why) = {
	[CONTROL_KEY_DRIVE] = name_copy,
	[CONTROL_KEY_RUN] = name_copy,
	[CONTROL_KEY_TEXT] = words_copy,
	[CONTROL_KEY_CHANNEL] = name_copy,
	[CONTROL_KEY_ALERT] = name_copy,
	[CONTROL_KEY_DURATION] = words_copy,
};

static int refuse(char *why, const char *what, const char *problem)
{
	(void)snprintf(why, CONTROL_WHY_MAX, "%.64s: %s", what, problem);
	return -EINVAL;
}

/* Names of drives and runs: nothing that could be a path or an option. */
static int name_copy(char *to, size_t size, const char *value, const char *key, char *why)
{
	size_t length = strspn(value, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-");

	if (!*value)
		return refuse(why, key, "is empty");
	if (strlen(value) >= size)
		return refuse(why, key, "is too long for a name");
	if (value[length] || *value == '.' || *value == '-')
		return refuse(
			why, key, "is no name: letters, digits, . _ and - make one, not . or - at its begin");
	text_copy(to, size, value);
	return 0;
}

static int words_copy(char *to, size_t size, const char *value, const char *key, char *why)
{
	size_t length = strlen(value);

	if (value[strspn(value, " \t\r\n")] == '\0')
		return refuse(why, key, "is empty");
	if (length >= size) {
		(void)snprintf(
			why, CONTROL_WHY_MAX, "%s: has %zu bytes, more than %zu", key, length, size - 1);
		return -EINVAL;
	}
	for (size_t at = 0, step; at < length; at += step) {
		uint32_t code = 0;

		step = text_decode(value + at, &code);
		if (step == 0)
			return refuse(why, key, "is not UTF-8");
		if (code == '\n' || code == '\r' || code == '\t')
			to[at] = ' ';
		else if (text_is_printable(code))
			memcpy(to + at, value + at, step);
		else
			return refuse(why, key, "holds a control character");
	}
	to[length] = '\0';
	return 0;
}

/* The members of an object of scalars: a colon outside a string for each; -EINVAL with an escaped NUL, where json-c cuts
 * a key. Only for what json-c took. */
static int members_count(const char *line)
{
	bool is_quoted = false;
	int count = 0;

	for (; *line; line++) {
		if (is_quoted && strncmp(line, "\\u0000", 6) == 0)
			return -EINVAL;
		if (is_quoted && *line == '\\' && line[1])
			line++;
		else if (*line == '"')
			is_quoted = !is_quoted;
		else if (!is_quoted && *line == ':')
			count++;
	}
	return count;
}

/* NULL unless the @length bytes are one JSON value and nothing else. */
static struct json_object *value_parse(const char *bytes, size_t length, int depth)
{
	struct json_tokener *tokener = json_tokener_new_ex(depth);
	struct json_object *value;

	if (!tokener)
		return NULL;
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	/* With the NUL, or a number at the end would wait for more. */
	value = json_tokener_parse_ex(tokener, bytes, (int)length + 1);
	if (json_tokener_get_error(tokener) != json_tokener_success ||
		json_tokener_get_parse_end(tokener) < length) {
		(void)json_object_put(value);
		value = NULL;
	}
	json_tokener_free(tokener);
	return value;
}

/* NULL unless it is a string without a NUL in it. */
static const char *string_of(struct json_object *value)
{
	const char *string = json_object_is_type(value, json_type_string) ? json_object_get_string(value)
									  : NULL;

	if (string && strlen(string) != (size_t)json_object_get_string_len(value))
		return NULL;
	return string;
}

static int verb_take(struct json_object *object, struct control_request *out, char *why)
{
	struct json_object *value = NULL;
	const char *name;

	if (!json_object_object_get_ex(object, "command", &value))
		return refuse(why, "command", "is missing");
	name = string_of(value);
	if (!name)
		return refuse(why, "command", "must be a text");
	for (int i = 0; i < CONTROL_VERB_COUNT; i++) {
		if (strcmp(control_verbs[i].name, name) != 0)
			continue;
		out->verb = (enum control_verb)i;
		return 0;
	}
	return refuse(why, "command",
		"is none of status, start, pause, resume, stop, note, alerts, alert-test, alert-result, "
		"mute, unmute");
}

static int key_take(size_t key, struct json_object *value, struct control_request *out, char *why)
{
	const char *string = string_of(value);

	if (!copiers[key]) {
		if (!json_object_is_type(value, json_type_boolean))
			return refuse(why, control_keys[key].name, "must be true or false");
		out->purge = json_object_get_boolean(value);
		return 0;
	}
	if (!string)
		return refuse(why, control_keys[key].name, "must be a text");
	return copiers[key]((char *)out + control_keys[key].offset, control_keys[key].size, string,
		control_keys[key].name, why);
}

static int keys_take(struct json_object *object, struct control_request *out, char *why)
{
	const unsigned needs = control_verbs[out->verb].needs, may = needs | control_verbs[out->verb].may;
	unsigned seen = 0;

	json_object_object_foreach(object, name, value)
	{
		size_t key = 0;
		int rc;

		if (strcmp(name, "command") == 0)
			continue;
		while (key < CONTROL_KEY_COUNT &&
			(!((1u << key) & may) || strcmp(control_keys[key].name, name) != 0))
			key++;
		if (key == CONTROL_KEY_COUNT)
			return refuse(why, control_verbs[out->verb].name,
				"has a key that this command does not take");
		rc = key_take(key, value, out, why);
		if (rc < 0)
			return rc;
		seen |= (1u << key);
	}
	for (size_t key = 0; key < CONTROL_KEY_COUNT; key++)
		if ((1u << key) & needs & ~seen)
			return refuse(why, control_keys[key].name, "is missing");
	return 0;
}

static int object_take(const char *line, struct json_object *object, struct control_request *out, char *why)
{
	int count = members_count(line), rc;

	if (!json_object_is_type(object, json_type_object))
		return refuse(why, "request", "is no JSON object");
	if (count < 0)
		return refuse(why, "request", "holds a NUL");
	rc = verb_take(object, out, why);
	if (rc == 0)
		rc = keys_take(object, out, why);
	if (rc == 0 && count != json_object_object_length(object))
		rc = refuse(why, "request", "has a key twice");
	return rc;
}

int control_parse_request(const char *line, struct control_request *out, char *why)
{
	struct control_request request = { .verb = CONTROL_STATUS };
	size_t length = strnlen(line, CONTROL_REQUEST_MAX);
	struct json_object *object;
	int rc;

	if (length == CONTROL_REQUEST_MAX)
		return refuse(why, "request", "is too long");
	object = value_parse(line, length, DEPTH_MAX);
	rc = object ? object_take(line, object, &request, why) : refuse(why, "request", "is no JSON");
	(void)json_object_put(object);
	if (rc == 0)
		*out = request;
	return rc;
}

int control_parse_answer(const char *line, size_t length, int *code, struct text *words)
{
	struct json_object *object = value_parse(line, length, DEPTH_MAX), *ok = NULL, *number = NULL,
			   *string = NULL;
	int64_t value = 0;
	int rc = -EBADMSG;

	if (json_object_is_type(object, json_type_object) && json_object_object_get_ex(object, "ok", &ok) &&
		json_object_object_get_ex(object, "text", &string) &&
		json_object_is_type(ok, json_type_boolean) && string_of(string)) {
		if (!json_object_get_boolean(ok) && json_object_object_get_ex(object, "code", &number) &&
			json_object_is_type(number, json_type_int))
			value = json_object_get_int64(number);
		if (json_object_get_boolean(ok) || (value > 0 && value <= CODE_MAX)) {
			*code = (int)value;
			text_add(words, string_of(string));
			rc = 0;
		}
	}
	(void)json_object_put(object);
	return rc;
}
