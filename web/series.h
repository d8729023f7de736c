/* SPDX-License-Identifier: GPL-2.0-or-later */
/* series.h - samples gathered into equal buckets for a chart: the smallest, the mean and the largest of each. A
 * rate's mean is bytes over elapsed time, a gauge's is weighted by time; the smallest of any single sample
 * survives every width. A bucket without a known value stays unknown: a gap is never 0 and never filled.
 * Buckets are aligned to multiples of their width, so that neighbouring windows agree; a bucket holds the samples
 * with begin < t <= end and is named by its end, as a sample is. Arithmetic only. One thread. */
#ifndef DRIVESOAK_SERIES_H
#define DRIVESOAK_SERIES_H

#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "measure/sample.h"

#define SERIES_POINTS_MAX 4000

/* A set of fields is a bit mask in the order of the names. */
extern const char *const series_field_names[];
extern const size_t series_field_count;
/* "a,b,c" into a mask. 0, or -EINVAL for a name that is none, an empty list or a name twice. */
int series_parse_fields(const char *list, uint32_t *out_mask);

struct series;

/* At most @points (1..SERIES_POINTS_MAX) buckets that cover from_ms..to_ms, each a whole number of intervals.
 * 0, -EINVAL (empty window) or -ENOMEM. */
int series_new(int64_t from_ms, int64_t to_ms, uint32_t interval_s, size_t points, uint32_t fields,
	struct series **out);
void series_free(struct series *series); /* NULL is fine */
/* The window that the buckets cover: what to feed. */
int64_t series_from_ms(const struct series *series);
int64_t series_to_ms(const struct series *series);
/* Samples outside the window are left out. */
void series_add(struct series *series, const struct sample *sample);
void series_json(const struct series *series, struct json *json);

#endif
