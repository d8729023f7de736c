/* SPDX-License-Identifier: GPL-2.0-or-later */
/* number.h - numbers for people, as the pages and pictures print them: thousands have a thin space, what is
 * unknown is empty and never 0. Pure. */
#ifndef DRIVESOAK_NUMBER_H
#define DRIVESOAK_NUMBER_H

#include <stdint.h>

/* Longest result with its NUL. */
#define NUMBER_MAX 64

/* With @decimals digits after the point; NAN is empty. */
void number_print(double value, int decimals, char *text);
/* Bytes per second as MiB/s, nanoseconds as ms: three digits, whole from 100 on. */
void number_print_mib(double bytes_per_s, char *text);
void number_print_ms(uint64_t ns, char *text);
/* "2026-11-30 22:31:10" in UTC; INT64_MIN is empty. */
void number_print_time(int64_t ms, char *text);

#endif
