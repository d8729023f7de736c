/* SPDX-License-Identifier: GPL-2.0-or-later */
/* unit.h - what every cmocka program needs before <cmocka.h>. */
#ifndef DRIVESOAK_UNIT_H
#define DRIVESOAK_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#endif
