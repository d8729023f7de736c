/* SPDX-License-Identifier: GPL-2.0-or-later */
/* json.h - write JSON into a text, in the order of the calls. Unknown is null: NaN, infinities and
 * JSON_UNKNOWN_U64 become null, never 0. Strings are escaped and invalid UTF-8 is replaced (model strings come
 * from drives). Numbers keep 17 significant digits where they need them and never a locale's comma. */
#ifndef DRIVESOAK_JSON_H
#define DRIVESOAK_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

#define JSON_UNKNOWN_U64 UINT64_MAX
#define JSON_DEPTH_MAX	 32

struct json {
	struct text *text;
	uint32_t
		has_item; /* a bit for each open level: something was written there, the next needs a comma */
	unsigned depth;
	bool after_key;
};

void json_init(struct json *json, struct text *text);

void json_object_open(struct json *json);
void json_object_close(struct json *json);
void json_array_open(struct json *json);
void json_array_close(struct json *json);
void json_key(struct json *json, const char *key);

void json_null(struct json *json);
void json_bool(struct json *json, bool value);
void json_u64(struct json *json, uint64_t value);
void json_i64(struct json *json, int64_t value);
void json_double(struct json *json, double value);
void json_ms_as_s(
	struct json *json, int64_t ms); /* epoch seconds with up to three decimals; INT64_MIN is null */
void json_string(struct json *json, const char *value); /* NULL is null */
void json_raw(struct json *json, const char *value);	/* already JSON; NULL or empty is null */

/* "key": value in one call. */
void json_put_null(struct json *json, const char *key);
void json_put_bool(struct json *json, const char *key, bool value);
void json_put_u64(struct json *json, const char *key, uint64_t value);
void json_put_i64(struct json *json, const char *key, int64_t value);
void json_put_double(struct json *json, const char *key, double value);
void json_put_ms_as_s(struct json *json, const char *key, int64_t ms);
void json_put_string(struct json *json, const char *key, const char *value);
void json_put_raw(struct json *json, const char *key, const char *value);

#endif
