/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "archive/foreign_private.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS_MAX 40

int foreign_fail(struct foreign *foreign, const char *format, ...)
{
	va_list args;
	int length = snprintf(foreign->why, sizeof(foreign->why), "%.300s:%llu: ", foreign->name,
		(unsigned long long)(foreign->line ? foreign->line : 1));

	va_start(args, format);
	(void)vsnprintf(foreign->why + length, sizeof(foreign->why) - (size_t)length, format, args);
	va_end(args);
	return -EBADMSG;
}

void foreign_warn(struct foreign *foreign, const char *format, ...)
{
	struct foreign_info *info = &foreign->info;
	va_list args;

	if (info->warning_count == FOREIGN_WARNINGS_MAX)
		return;
	va_start(args, format);
	(void)vsnprintf(info->warnings[info->warning_count++], FOREIGN_WHY_MAX, format, args);
	va_end(args);
}

void foreign_point_init(struct foreign_point *point)
{
	*point = (struct foreign_point){ INT64_MIN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN,
		NAN };
}

const char *foreign_skip(const char *at)
{
	return at + strspn(at, " \t");
}

const char *foreign_word(const char *at, const char *word)
{
	size_t length = strlen(word);

	if (!at)
		return NULL;
	at = foreign_skip(at);
	return strncmp(at, word, length) == 0 ? at + length : NULL;
}

/* strtod() would take signs, hexadecimal digits and infinity, and a comma only in some locales. */
static const char *scan_number(const char *at, bool takes_comma, double *out, int *decimals)
{
	char digits[DIGITS_MAX];
	size_t length = 0;
	int after = -1;

	if (!at)
		return NULL;
	for (at = foreign_skip(at); length < sizeof(digits) - 1; at++) {
		bool is_digit = *at >= '0' && *at <= '9';
		bool is_point = (*at == '.' || (takes_comma && *at == ',')) && after < 0 && length &&
				at[1] >= '0' && at[1] <= '9';

		if (!is_digit && !is_point)
			break;
		digits[length++] = is_digit ? *at : '.';
		if (is_point || after >= 0)
			after++;
	}
	if (length == 0 || length == sizeof(digits) - 1)
		return NULL;
	digits[length] = '\0';
	*out = strtod(digits, NULL);
	if (decimals)
		*decimals = after < 0 ? 0 : after;
	return at;
}

const char *foreign_number(const char *at, double *out, int *decimals)
{
	return scan_number(at, true, out, decimals);
}

const char *foreign_number_listed(const char *at, double *out)
{
	return scan_number(at, false, out, NULL);
}

void foreign_deltas_add(struct foreign_deltas *deltas, int64_t delta)
{
	if (deltas->count < FOREIGN_DELTAS_MAX)
		deltas->items[deltas->count++] = delta;
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

int64_t foreign_deltas_rank(struct foreign_deltas *deltas, unsigned pct)
{
	if (deltas->count == 0)
		return 0;
	qsort(deltas->items, deltas->count, sizeof(deltas->items[0]), compare);
	return deltas->items[(deltas->count - 1) * pct / 100];
}
