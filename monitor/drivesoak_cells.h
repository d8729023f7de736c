/* SPDX-License-Identifier: GPL-2.0-or-later */
/* drivesoak_cells.h - values of the service's JSON for a table on a terminal. */
#ifndef DRIVESOAK_DRIVESOAK_CELLS_H
#define DRIVESOAK_DRIVESOAK_CELLS_H

#include <json-c/json.h>

#define CELL_MAX 600

/* Texts of drives can hold anything; a terminal must not obey them. Newlines stay. */
void cell_tame(char *text);
/* On one line; "-" when it is unknown. @out has CELL_MAX. */
void cell_text(struct json_object *object, const char *key, char *out);
/* NAN where it is unknown. */
double cell_number(struct json_object *object, const char *key);

#endif
