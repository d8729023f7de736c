/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/config_value.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/units.h"
#include "config/config.h"

#define PRICE_MAX_CENTS 100000000000ULL

/* A value of any type between text and member. */
struct value {
	uint64_t number;
	double real; /* percent, temperature, amount of a price */
	char currency[8];
	const char *text;
};

static bool is_real(const struct config_key *key)
{
	return key->type == CONFIG_PERCENT || key->type == CONFIG_TEMPERATURE || key->type == CONFIG_PRICE;
}

static bool is_absent_text(const struct config_key *key, const char *text)
{
	return key->absent && !strcmp(text, key->absent);
}

static bool is_absent(const struct config_key *key, const struct value *value)
{
	if (!key->absent)
		return false;
	if (key->type == CONFIG_TEXT)
		return *value->text == '\0';
	return is_real(key) ? isnan(value->real) : value->number == 0;
}

static int temperature_parse(const char *text, double *out)
{
	char digits[8];
	uint64_t celsius;
	size_t length = strcspn(text, " C");

	if (length >= sizeof(digits) || (strcmp(text + length, "C") != 0 && strcmp(text + length, " C") != 0))
		return -EINVAL;
	memcpy(digits, text, length);
	digits[length] = '\0';
	if (units_parse_count(digits, &celsius) < 0)
		return -EINVAL;
	*out = (double)celsius;
	return 0;
}

/* "450 USD", "449.90 EUR": at most two decimals. */
static int price_parse(const char *text, struct value *out)
{
	size_t whole = strspn(text, "0123456789"), decimals = 0;
	uint64_t cents = 0;
	const char *currency;

	if (whole == 0 || whole > 10)
		return -EINVAL;
	if (text[whole] == '.') {
		decimals = strspn(text + whole + 1, "0123456789");
		if (decimals == 0 || decimals > 2)
			return -EINVAL;
	}
	for (size_t i = 0; i < whole + 2; i++) {
		size_t at = i < whole ? i : i + 1;

		cents = cents * 10 + (i < whole + decimals ? (uint64_t)(text[at] - '0') : 0);
	}
	currency = text + whole + (decimals ? decimals + 1 : 0);
	if (*currency != ' ' || strspn(currency + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != 3 || currency[4] ||
		cents > PRICE_MAX_CENTS)
		return -EINVAL;
	out->real = (double)cents / 100;
	memcpy(out->currency, currency + 1, 4);
	return 0;
}

static int bool_parse(const char *text, uint64_t *out)
{
	static const char *const names[][2] = { { "false", "true" }, { "no", "yes" }, { "off", "on" } };

	for (size_t i = 0; i < 6; i++) {
		if (!strcmp(text, names[i / 2][i % 2])) {
			*out = i % 2;
			return 0;
		}
	}
	return -EINVAL;
}

static int choice_parse(const struct config_key *key, const char *text, uint64_t *out)
{
	for (uint64_t i = 0; key->choices[i]; i++) {
		if (!strcmp(text, key->choices[i])) {
			*out = i;
			return 0;
		}
	}
	return -EINVAL;
}

/* The type alone, without range and rules. */
static int text_parse(const struct config_key *key, const char *text, struct value *out)
{
	*out = (struct value){ .text = text };
	if (is_absent_text(key, text)) {
		out->real = NAN;
		return 0;
	}
	switch (key->type) {
	case CONFIG_BYTES:
		return units_parse_bytes(text, &out->number);
	case CONFIG_DURATION:
		return units_parse_duration(text, &out->number);
	case CONFIG_COUNT:
		return units_parse_count(text, &out->number);
	case CONFIG_PERCENT:
		return units_parse_percent(text, &out->real);
	case CONFIG_TEMPERATURE:
		return temperature_parse(text, &out->real);
	case CONFIG_BOOL:
		return bool_parse(text, &out->number);
	case CONFIG_CHOICE:
		return choice_parse(key, text, &out->number);
	case CONFIG_PRICE:
		return price_parse(text, out);
	case CONFIG_TEXT:
	case CONFIG_LIST:
		return 0;
	}
	return -EINVAL;
}

static bool is_in_range(const struct config_key *key, const struct value *value)
{
	struct value min, max;

	if (!key->min)
		return true;
	if (text_parse(key, key->min, &min) < 0 || text_parse(key, key->max, &max) < 0)
		return false;
	if (is_real(key))
		return value->real >= min.real && value->real <= max.real;
	return value->number >= min.number && value->number <= max.number;
}

/* NULL when fine, else what is wrong; "" for the row's own sentence. */
static const char *item_check(const struct config_key *key, const char *text, struct value *out)
{
	if (text_parse(key, text, out) < 0)
		return "";
	if (is_absent_text(key, text))
		return NULL;
	if (!is_in_range(key, out) || (key->number_ok && !key->number_ok(out->number)))
		return "";
	return key->text_wrong ? key->text_wrong(text) : NULL;
}

/* @parts / @scale without trailing zeros. */
static void decimal_print(uint64_t parts, unsigned scale, struct text *out)
{
	unsigned rest = (unsigned)(parts % scale);

	text_addf(out, "%" PRIu64, parts / scale);
	if (rest == 0)
		return;
	text_add(out, ".");
	for (; rest; rest = rest % scale) {
		scale /= 10;
		text_addf(out, "%u", rest / scale);
	}
}

static void value_print(const struct config_key *key, const struct value *value, struct text *out)
{
	char text[UNITS_TEXT_MAX];

	if (is_absent(key, value)) {
		text_add(out, key->absent);
		return;
	}
	switch (key->type) {
	case CONFIG_BYTES:
		units_print_bytes(value->number, text);
		text_add(out, text);
		break;
	case CONFIG_DURATION:
		units_print_duration(value->number, text);
		text_add(out, text);
		break;
	case CONFIG_COUNT:
		text_addf(out, "%" PRIu64, value->number);
		break;
	case CONFIG_PERCENT:
		decimal_print((uint64_t)llround(value->real * 1000), 1000, out);
		text_add(out, "%");
		break;
	case CONFIG_TEMPERATURE:
		text_addf(out, "%uC", (unsigned)value->real);
		break;
	case CONFIG_PRICE:
		decimal_print((uint64_t)llround(value->real * 100), 100, out);
		text_addf(out, " %s", value->currency);
		break;
	case CONFIG_BOOL:
		text_add(out, value->number ? "true" : "false");
		break;
	case CONFIG_CHOICE:
		text_add(out, key->choices[value->number]);
		break;
	case CONFIG_TEXT:
	case CONFIG_LIST:
		text_add(out, value->text);
		break;
	}
}

/* Whether @value is one of the few that need no feature: "0s" is as good as "0". 1, 0 or -ENOMEM. */
static int is_neutral(const struct config_key *key, const struct value *value)
{
	struct text mine = TEXT_INIT, theirs = TEXT_INIT;
	int rc = 0;

	value_print(key, value, &mine);
	for (size_t i = 0; i < CONFIG_NEUTRALS && key->neutral[i] && rc == 0; i++) {
		struct value neutral;

		if (text_parse(key, key->neutral[i], &neutral) < 0)
			continue;
		value_print(key, &neutral, &theirs);
		rc = text_error(&theirs) < 0 ? -ENOMEM : !strcmp(text_string(&mine), text_string(&theirs));
		text_fini(&theirs);
	}
	if (text_error(&mine) < 0)
		rc = -ENOMEM;
	text_fini(&mine);
	return rc;
}

static void *member(const struct config_key *key, void *base)
{
	return (char *)base + key->offset;
}

static const void *member_const(const struct config_key *key, const void *base)
{
	return (const char *)base + key->offset;
}

static void number_store(const struct config_key *key, uint64_t number, void *base)
{
	uint32_t narrow = (uint32_t)number;
	bool flag = number;

	if (key->width == sizeof(number))
		memcpy(member(key, base), &number, sizeof(number));
	else if (key->width == sizeof(narrow))
		memcpy(member(key, base), &narrow, sizeof(narrow));
	else
		memcpy(member(key, base), &flag, sizeof(flag));
}

static uint64_t number_load(const struct config_key *key, const void *base)
{
	uint64_t number;
	uint32_t narrow;
	bool flag;

	if (key->width == sizeof(number)) {
		memcpy(&number, member_const(key, base), sizeof(number));
		return number;
	}
	if (key->width == sizeof(narrow)) {
		memcpy(&narrow, member_const(key, base), sizeof(narrow));
		return narrow;
	}
	memcpy(&flag, member_const(key, base), sizeof(flag));
	return flag;
}

static void strings_free(struct config_strings *strings)
{
	for (size_t i = 0; i < strings->count; i++)
		free(strings->items[i]);
	free(strings->items);
	*strings = (struct config_strings){ NULL, 0 };
}

static int list_store(const struct config_key *key, const char *const *items, size_t count, void *base)
{
	struct config_strings *list = member(key, base), fresh = { NULL, 0 };

	fresh.items = calloc(count + 1, sizeof(*fresh.items));
	if (!fresh.items)
		return -ENOMEM;
	for (; fresh.count < count; fresh.count++) {
		fresh.items[fresh.count] = strdup(items[fresh.count]);
		if (!fresh.items[fresh.count]) {
			strings_free(&fresh);
			return -ENOMEM;
		}
	}
	strings_free(list);
	*list = fresh;
	return 0;
}

static int text_store(const struct config_key *key, const char *text, void *base)
{
	char **string = member(key, base), *copy = strdup(text);

	if (!copy)
		return -ENOMEM;
	free(*string);
	*string = copy;
	return 0;
}

static int value_store(const struct config_key *key, const struct value *value, void *base)
{
	if (key->width == 0)
		return 0;
	if (key->type == CONFIG_TEXT)
		return text_store(key, value->text, base);
	if (key->type == CONFIG_PRICE) {
		struct config_drive *drive = base;

		drive->price_amount = value->real;
		memcpy(drive->price_currency, value->currency, sizeof(drive->price_currency));
	} else if (is_real(key)) {
		memcpy(member(key, base), &value->real, sizeof(value->real));
	} else {
		number_store(key, value->number, base);
	}
	return 0;
}

/* @text is read only while @out is. */
static void value_load(const struct config_key *key, const void *base, struct value *out)
{
	*out = (struct value){ .text = "" };
	if (key->type == CONFIG_TEXT) {
		out->text = *(char *const *)member_const(key, base);
	} else if (is_real(key)) {
		memcpy(&out->real, member_const(key, base), sizeof(out->real));
		if (key->type == CONFIG_PRICE)
			memcpy(out->currency, ((const struct config_drive *)base)->price_currency,
				sizeof(out->currency));
	} else {
		out->number = number_load(key, base);
	}
}

static int refuse(const struct config_key *key, const char *text, const char *reason, struct text *wrong)
{
	text_addf(wrong, "\"%s\" ", text);
	if (*reason) {
		text_add(wrong, reason);
	} else {
		text_add(wrong, "is not allowed; allowed is ");
		config_keys_allowed(key, wrong);
	}
	return -EINVAL;
}

/* Every item by itself; @value gets the last. */
static int items_check(const struct config_key *key, const char *const *items, size_t count,
	struct value *value, struct text *wrong)
{
	/* A command may have the same argument twice. */
	bool is_set = key->type == CONFIG_LIST && key->section != CONFIG_NOTIFY;

	for (size_t i = 0; i < count; i++) {
		const char *reason = item_check(key, items[i], value);

		if (reason)
			return refuse(key, items[i], reason, wrong);
		for (size_t j = 0; is_set && j < i; j++) {
			if (!strcmp(items[i], items[j]))
				return refuse(key, items[i], "is there twice", wrong);
		}
	}
	return 0;
}

int config_value_set(const struct config_key *key, const char *const *items, size_t count, bool accept_later,
	void *base, struct text *wrong)
{
	struct value value = { .text = "" };
	int rc = items_check(key, items, count, &value, wrong);

	if (rc < 0)
		return rc;
	if (key->type == CONFIG_LIST)
		return list_store(key, items, count, base);
	if (key->neutral[0] && !accept_later) {
		rc = is_neutral(key, &value);
		if (rc < 0)
			return rc;
		if (rc == 0) {
			text_add(wrong, "is not in this version yet; only ");
			config_keys_later(key, wrong);
			text_add(wrong, " is accepted");
			return -EINVAL;
		}
	}
	return value_store(key, &value, base);
}

int config_value_set_default(const struct config_key *key, void *base)
{
	const char *text = config_keys_default(key);
	struct value value;
	int rc;

	if (key->type == CONFIG_LIST)
		return list_store(key, &text, *text != '\0', base);
	rc = text_parse(key, text, &value);
	return rc < 0 ? rc : value_store(key, &value, base);
}

void config_value_free(const struct config_key *key, void *base)
{
	if (key->width == 0)
		return;
	if (key->type == CONFIG_TEXT) {
		char **string = member(key, base);

		free(*string);
		*string = NULL;
	} else if (key->type == CONFIG_LIST) {
		strings_free(member(key, base));
	}
}

void config_value_literal(const struct config_key *key, const void *base, struct text *out)
{
	const struct config_strings *list = member_const(key, base);
	struct text text = TEXT_INIT;
	const char *item;

	if (key->type == CONFIG_LIST) {
		config_keys_literal(key, (const char *const *)list->items, list->count, out);
		return;
	}
	config_value_text(key, base, &text);
	item = text_string(&text);
	config_keys_literal(key, &item, 1, out);
	if (text_error(&text) < 0) {
		/* Better no text than one with a wrong value. */
		text_fini(out);
		out->error = text_error(&text);
	}
	text_fini(&text);
}

void config_value_text(const struct config_key *key, const void *base, struct text *out)
{
	struct value value;

	if (key->type == CONFIG_LIST) {
		config_value_literal(key, base, out);
		return;
	}
	value_load(key, base, &value);
	value_print(key, &value, out);
}

static void price_json(const struct value *value, struct json *json)
{
	json_object_open(json);
	json_put_double(json, "amount", value->real);
	json_put_string(json, "currency", value->currency);
	json_object_close(json);
}

/* Durations are seconds unless the name says otherwise. */
static void duration_json(const struct config_key *key, uint64_t ns, struct json *json)
{
	size_t length = strlen(key->json);

	if (length > 3 && !strcmp(key->json + length - 3, "_ns"))
		json_u64(json, ns);
	else
		json_double(json, (double)ns / (double)NS_PER_S);
}

void config_value_json(const struct config_key *key, const void *base, struct text *out)
{
	struct value value;
	struct json json;

	json_init(&json, out);
	value_load(key, base, &value);
	if (is_absent(key, &value))
		json_string(&json, *key->absent ? key->absent : NULL);
	else if (key->type == CONFIG_TEXT)
		json_string(&json, value.text);
	else if (key->type == CONFIG_CHOICE)
		json_string(&json, key->choices[value.number]);
	else if (key->type == CONFIG_BOOL)
		json_bool(&json, value.number);
	else if (key->type == CONFIG_DURATION)
		duration_json(key, value.number, &json);
	else if (key->type == CONFIG_PRICE)
		price_json(&value, &json);
	else if (is_real(key))
		json_double(&json, value.real);
	else
		json_u64(&json, value.number);
}
