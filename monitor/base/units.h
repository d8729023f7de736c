/* SPDX-License-Identifier: GPL-2.0-or-later */
/* units.h - the only parser and the only printer of sizes, durations and percents.
 * Sizes: KiB MiB GiB TiB are powers of 1024, kB MB GB TB powers of 1000, B or nothing is bytes.
 * Durations: ms s min h d. Percents: a number and %. One optional fraction ("1.5GiB") whose value must come out
 * whole in the base unit; one optional space before the unit; nothing may trail. Locale-independent, pure.
 * Parsers return 0, -EINVAL (not such a value) or -ERANGE (does not fit), and then leave the output as it was. */
#ifndef DRIVESOAK_UNITS_H
#define DRIVESOAK_UNITS_H

#include <stddef.h>
#include <stdint.h>

int units_parse_bytes(const char *text, uint64_t *out_bytes);
int units_parse_duration(const char *text, uint64_t *out_ns);
int units_parse_percent(const char *text, double *out_pct);   /* 0..1000, at most 3 decimals */
int units_parse_count(const char *text, uint64_t *out_count); /* decimal digits only */

/* Longest result of any printer, with its NUL. */
#define UNITS_TEXT_MAX 32

/* Exact and parseable: the largest unit that divides the value ("16KiB", "10s", "90min", "0"). @text has UNITS_TEXT_MAX. */
void units_print_bytes(uint64_t bytes, char *text);
void units_print_duration(uint64_t ns, char *text);

/* For people: three to four digits, IEC ("1.46 GiB", "412 MiB/s") and "3 h 12 min", "4.2 ms". */
void units_print_bytes_rounded(double bytes, char *text);
void units_print_bytes_decimal(double bytes, char *text); /* "1.00 TB", as drives are sold */
void units_print_rate_rounded(double bytes_per_s, char *text);
void units_print_duration_rounded(double ns, char *text);

#endif
