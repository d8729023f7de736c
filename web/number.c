/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "web/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* A narrow space at which no line breaks. */
#define THIN_SPACE "\xe2\x80\xaf"

void number_print(double value, int decimals, char *text)
{
	char plain[NUMBER_MAX];
	size_t digits, sign;
	char *to = text;

	text[0] = '\0';
	if (!isfinite(value) || fabs(value) >= 1e15)
		return;
	(void)snprintf(plain, sizeof(plain), "%.*f", decimals, value);
	sign = plain[0] == '-';
	digits = strcspn(plain + sign, ".");
	for (size_t i = 0; plain[i]; i++) {
		if (i > sign && i < sign + digits && (sign + digits - i) % 3 == 0 && digits > 3)
			to = stpcpy(to, THIN_SPACE);
		*to++ = plain[i];
	}
	*to = '\0';
}

static void print_three(double value, char *text)
{
	double size = fabs(value);

	/* 99.96 would round to 100.0, a digit too many. */
	number_print(value, size >= 99.95 ? 0 : size >= 9.995 ? 1 : size > 0 ? 2 : 0, text);
}

void number_print_mib(double bytes_per_s, char *text)
{
	print_three(bytes_per_s / (1024.0 * 1024.0), text);
}

void number_print_ms(uint64_t ns, char *text)
{
	print_three(ns == UINT64_MAX ? NAN : (double)ns / 1e6, text);
}

void number_print_time(int64_t ms, char *text)
{
	time_t seconds = (time_t)(ms / 1000);
	struct tm tm;

	text[0] = '\0';
	if (ms != INT64_MIN && gmtime_r(&seconds, &tm))
		(void)strftime(text, NUMBER_MAX, "%Y-%m-%d %H:%M:%S", &tm);
}
