/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sample_columns.h - the columns of a sample as they leave the program: one table for samples.json,
 * samples.csv and the offline export, so that all three agree digit for digit. Unknown is null in JSON and
 * empty in CSV; a down row has no counters whatever the record says. Pure; any thread. */
#ifndef DRIVESOAK_SAMPLE_COLUMNS_H
#define DRIVESOAK_SAMPLE_COLUMNS_H

#include <stddef.h>

#include "base/json.h"
#include "base/text.h"
#include "measure/sample.h"

/* @column below counts from 0 in the order of the HTTP API. */
size_t sample_column_count(void);
const char *sample_column_name(size_t column);
size_t sample_column_find(const char *name); /* SIZE_MAX: none has that name */

/* The way back: @text as sample_column_csv() writes it, "" for unknown. 0, or -EINVAL with @sample as it was. */
int sample_column_parse(struct sample *sample, size_t column, const char *text);

void sample_column_json(const struct sample *sample, size_t column, struct json *json);
void sample_column_csv(const struct sample *sample, size_t column, struct text *text);

/* The array of names and the array of one sample's values. */
void sample_names_json(struct json *json);
void sample_row_json(const struct sample *sample, struct json *json);

/* The header line and one sample's line, each with its newline. */
void sample_names_csv(struct text *text);
void sample_row_csv(const struct sample *sample, struct text *text);

#endif
