/* SPDX-License-Identifier: GPL-2.0-or-later */
/* endurance_fixture.h - readings of a steady drive, and what a test says of a figure. */
#ifndef TESTS_ENDURANCE_FIXTURE_H
#define TESTS_ENDURANCE_FIXTURE_H

#include "unit.h"

#include "measure/endurance.h"

#define POINTS_MAX 8192
#define KIB	   1024ULL
#define MIB	   (1024 * KIB)
#define GIB	   (1024 * MIB)
#define MINUTE_MS  60000
#define TB	   1e12

extern struct endurance_point points[POINTS_MAX];

/* Steady readings a minute apart: so many bytes and steps of the counters between two. */
void line(size_t count, uint64_t bytes, uint64_t host_step, uint64_t media_step);
/* Percent-used steps by @by each @every readings, first at reading @at. */
void wear(size_t count, size_t at, size_t every, double from, double by);
void check_near(const char *name, double value, double expected, double tolerance);
void check_says(const char *how, const char *words);

#endif
