/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "drivesoak_cells.h"

#include <math.h>
#include <stdbool.h>

#include "base/text.h"

void cell_tame(char *text)
{
	for (unsigned char *c = (unsigned char *)text; *c; c++) {
		bool is_c1 = *c == 0xc2 && c[1] >= 0x80 && c[1] <= 0x9f;

		if (is_c1)
			c[1] = '?';
		if (is_c1 || (*c < 0x20 && *c != '\n') || *c == 0x7f)
			*c = '?';
	}
}

void cell_text(struct json_object *object, const char *key, char *out)
{
	struct json_object *value = NULL;

	if (json_object_object_get_ex(object, key, &value) && json_object_is_type(value, json_type_string))
		text_copy(out, CELL_MAX, json_object_get_string(value));
	else
		text_copy(out, CELL_MAX, "-");
	cell_tame(out);
	for (char *c = out; *c; c++)
		if (*c == '\n')
			*c = ' ';
}

double cell_number(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	if (!json_object_object_get_ex(object, key, &value) ||
		!(json_object_is_type(value, json_type_int) || json_object_is_type(value, json_type_double)))
		return NAN;
	return json_object_get_double(value);
}
