/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/units.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

#define ARRAY_LEN(array) (sizeof(array) / sizeof((array)[0]))

/* Whole digits of a fraction that fit next to the largest unit in 128 bits. */
#define FRACTION_DIGITS_MAX 18

struct unit {
	const char *name;
	uint64_t factor;
};

/* Largest first: the printer takes the first that divides. */
static const struct unit byte_units[] = {
	{ "TiB", 1ULL << 40 },
	{ "TB", 1000000000000ULL },
	{ "GiB", 1ULL << 30 },
	{ "GB", 1000000000ULL },
	{ "MiB", 1ULL << 20 },
	{ "MB", 1000000ULL },
	{ "KiB", 1ULL << 10 },
	{ "kB", 1000ULL },
	{ "B", 1ULL },
};

static const struct unit duration_units[] = {
	{ "d", 86400 * NS_PER_S },
	{ "h", 3600 * NS_PER_S },
	{ "min", 60 * NS_PER_S },
	{ "s", NS_PER_S },
	{ "ms", NS_PER_MS },
};

/* A decimal number and what follows it: whole + fraction / scale. */
struct number {
	uint64_t whole, fraction, scale;
	bool too_big;
	const char *unit;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static const char *whole_parse(const char *text, struct number *number)
{
	for (; is_digit(*text); text++) {
		if (__builtin_mul_overflow(number->whole, 10, &number->whole) ||
			__builtin_add_overflow(number->whole, (uint64_t)(*text - '0'), &number->whole))
			number->too_big = true;
	}
	return text;
}

/* The digits after the point; trailing zeros say nothing. NULL when there are none or too many. */
static const char *fraction_parse(const char *text, struct number *number)
{
	size_t digits = strspn(text, "0123456789"), used = digits;

	while (used > 0 && text[used - 1] == '0')
		used--;
	if (digits == 0 || used > FRACTION_DIGITS_MAX)
		return NULL;
	for (size_t i = 0; i < used; i++) {
		number->fraction = number->fraction * 10 + (uint64_t)(text[i] - '0');
		number->scale *= 10;
	}
	return text + digits;
}

static int number_parse(const char *text, struct number *out)
{
	struct number number = { .scale = 1 };

	if (!is_digit(*text))
		return -EINVAL;
	text = whole_parse(text, &number);
	if (*text == '.') {
		text = fraction_parse(text + 1, &number);
		if (!text)
			return -EINVAL;
	}
	if (*text == ' ') {
		text++;
		if (*text == '\0')
			return -EINVAL;
	}
	number.unit = text;
	*out = number;
	return 0;
}

/* @number times @factor when that is whole and fits. */
static int number_scale(const struct number *number, uint64_t factor, uint64_t *out)
{
	unsigned __int128 parts = (unsigned __int128)number->fraction * factor;
	unsigned __int128 total = (unsigned __int128)number->whole * factor + parts / number->scale;

	if (parts % number->scale)
		return -EINVAL;
	if (number->too_big || total > UINT64_MAX)
		return -ERANGE;
	*out = (uint64_t)total;
	return 0;
}

static const struct unit *unit_find(const struct unit *units, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (!strcmp(units[i].name, name))
			return &units[i];
	}
	return NULL;
}

int units_parse_bytes(const char *text, uint64_t *out_bytes)
{
	const struct unit *unit;
	struct number number;

	if (number_parse(text, &number) < 0)
		return -EINVAL;
	unit = unit_find(byte_units, ARRAY_LEN(byte_units), *number.unit ? number.unit : "B");
	return unit ? number_scale(&number, unit->factor, out_bytes) : -EINVAL;
}

int units_parse_duration(const char *text, uint64_t *out_ns)
{
	const struct unit *unit;
	struct number number;

	if (number_parse(text, &number) < 0)
		return -EINVAL;
	if (*number.unit == '\0') {
		/* Only nothing needs no unit. */
		if (number.whole || number.fraction || number.too_big)
			return -EINVAL;
		*out_ns = 0;
		return 0;
	}
	unit = unit_find(duration_units, ARRAY_LEN(duration_units), number.unit);
	return unit ? number_scale(&number, unit->factor, out_ns) : -EINVAL;
}

int units_parse_percent(const char *text, double *out_pct)
{
	struct number number;
	uint64_t thousandths;
	int rc;

	if (number_parse(text, &number) < 0 || strcmp(number.unit, "%") != 0)
		return -EINVAL;
	rc = number_scale(&number, 1000, &thousandths);
	if (rc < 0)
		return rc;
	if (thousandths > 1000 * 1000)
		return -ERANGE;
	*out_pct = (double)thousandths / 1000;
	return 0;
}

int units_parse_count(const char *text, uint64_t *out_count)
{
	struct number number = { .scale = 1 };

	if (!is_digit(*text) || *whole_parse(text, &number) != '\0')
		return -EINVAL;
	if (number.too_big)
		return -ERANGE;
	*out_count = number.whole;
	return 0;
}

static bool exact_print(const struct unit *units, size_t count, uint64_t value, char *text)
{
	for (size_t i = 0; i < count; i++) {
		if (value % units[i].factor)
			continue;
		(void)snprintf(text, UNITS_TEXT_MAX, "%" PRIu64 "%s", value / units[i].factor, units[i].name);
		return true;
	}
	return false;
}

void units_print_bytes(uint64_t bytes, char *text)
{
	if (bytes == 0)
		(void)snprintf(text, UNITS_TEXT_MAX, "0");
	else
		(void)exact_print(byte_units, ARRAY_LEN(byte_units), bytes, text);
}

void units_print_duration(uint64_t ns, char *text)
{
	char fraction[8];
	size_t used = 6;

	if (ns == 0) {
		(void)snprintf(text, UNITS_TEXT_MAX, "0");
		return;
	}
	if (exact_print(duration_units, ARRAY_LEN(duration_units), ns, text))
		return;
	/* There is no smaller unit than ms: the rest becomes its decimals. */
	(void)snprintf(fraction, sizeof(fraction), "%06u", (unsigned)(ns % NS_PER_MS));
	while (fraction[used - 1] == '0')
		used--;
	(void)snprintf(
		text, UNITS_TEXT_MAX, "%" PRIu64 ".%.*sms", (uint64_t)(ns / NS_PER_MS), (int)used, fraction);
}

/* The sign may have taken the first byte of the caller's text. */
#define DIGITS_TEXT_MAX (UNITS_TEXT_MAX - 1)

/* Three digits without trailing zeros, by integers: printf's %f would follow the locale. */
static void digits_print(double value, const char *unit, char *text)
{
	unsigned decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
	uint64_t scale = decimals == 2 ? 100 : decimals == 1 ? 10 : 1;
	uint64_t parts = (uint64_t)(value * (double)scale + 0.5);

	while (decimals && parts % 10 == 0) {
		parts /= 10;
		scale /= 10;
		decimals--;
	}
	if (decimals)
		(void)snprintf(text, DIGITS_TEXT_MAX, "%" PRIu64 ".%0*" PRIu64 " %s", parts / scale,
			(int)decimals, parts % scale, unit);
	else
		(void)snprintf(text, DIGITS_TEXT_MAX, "%" PRIu64 " %s", parts, unit);
}

/* The figure with its sign; "unknown" when there is none or it is beyond any machine. */
static bool sign_print(double *value, double limit, char **text)
{
	if (!isfinite(*value) || fabs(*value) > limit) {
		(void)snprintf(*text, UNITS_TEXT_MAX, "unknown");
		return false;
	}
	if (*value < 0) {
		*value = -*value;
		*(*text)++ = '-';
	}
	return true;
}

static void binary_print(double value, const char *const *units, size_t count, char *text)
{
	size_t i = 0;

	/* From 1023.5 on the rounded figure would be 1024 of the smaller unit. */
	for (; value >= 1023.5 && i + 1 < count; i++)
		value /= 1024;
	digits_print(value, units[i], text);
}

#define BYTES_LIMIT	  1e21 /* 1000 EiB */
#define DURATION_LIMIT_NS 1e19 /* 300 years */

void units_print_bytes_rounded(double bytes, char *text)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };

	if (sign_print(&bytes, BYTES_LIMIT, &text))
		binary_print(bytes, units, ARRAY_LEN(units), text);
}

void units_print_bytes_decimal(double bytes, char *text)
{
	static const char *const units[] = { "B", "kB", "MB", "GB", "TB", "PB", "EB" };
	size_t i = 0;

	if (!sign_print(&bytes, BYTES_LIMIT, &text))
		return;
	for (; bytes >= 999.5 && i + 1 < ARRAY_LEN(units); i++)
		bytes /= 1000;
	digits_print(bytes, units[i], text);
}

void units_print_rate_rounded(double bytes_per_s, char *text)
{
	static const char *const units[] = { "B/s", "KiB/s", "MiB/s", "GiB/s", "TiB/s", "PiB/s", "EiB/s" };

	if (sign_print(&bytes_per_s, BYTES_LIMIT, &text))
		binary_print(bytes_per_s, units, ARRAY_LEN(units), text);
}

/* @large of its unit and what is left in the next smaller one. */
static void pair_print(unsigned value, unsigned ratio, const char *large, const char *small, char *text)
{
	if (value % ratio)
		(void)snprintf(
			text, DIGITS_TEXT_MAX, "%u %.3s %u %.3s", value / ratio, large, value % ratio, small);
	else
		(void)snprintf(text, DIGITS_TEXT_MAX, "%u %.3s", value / ratio, large);
}

void units_print_duration_rounded(double ns, char *text)
{
	uint64_t s, min;

	if (!sign_print(&ns, DURATION_LIMIT_NS, &text))
		return;
	if (ns < 999.5) {
		digits_print(ns, "ns", text);
		return;
	}
	if (ns < 999.5e3) {
		digits_print(ns / 1e3, "µs", text);
		return;
	}
	if (ns < 999.5e6) {
		digits_print(ns / 1e6, "ms", text);
		return;
	}
	if (ns < 59.95e9) {
		digits_print(ns / 1e9, "s", text);
		return;
	}
	/* Each step rounds the one before, so that 59 min 59.9 s is 1 h and not 59 min 60 s. */
	s = (uint64_t)(ns / 1e9 + 0.5);
	min = (s + 30) / 60;
	if (s < 3600)
		pair_print((unsigned)s, 60, "min", "s", text);
	else if (min < 24 * 60)
		pair_print((unsigned)min, 60, "h", "min", text);
	else
		pair_print((unsigned)((min + 30) / 60), 24, "d", "h", text);
}
