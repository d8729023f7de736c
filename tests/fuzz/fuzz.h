/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz.h - what every fuzz target of readings checks after a decoder. */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probes/reading.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_CHECK(condition)                                                                                \
	do {                                                                                                 \
		if (!(condition)) {                                                                          \
			(void)fprintf(stderr, "%s:%d: not %s\n", __FILE__, __LINE__, #condition);            \
			abort();                                                                             \
		}                                                                                            \
	} while (0)

/* What is left of the input. */
struct fuzz_input {
	const uint8_t *data;
	size_t size;
};

/* @length bytes, of which a sanitizer knows the end; zeros where the input has none. */
static inline uint8_t *fuzz_take(struct fuzz_input *input, size_t length)
{
	size_t count = input->size < length ? input->size : length;
	uint8_t *bytes = calloc(length ? length : 1, 1);

	FUZZ_CHECK(bytes);
	memcpy(bytes, input->data, count);
	input->data += count;
	input->size -= count;
	return bytes;
}

static void fuzz_check_text(const char *text, size_t size)
{
	FUZZ_CHECK(memchr(text, '\0', size));
	for (; *text; text++)
		FUZZ_CHECK(*text >= ' ' && *text <= '~');
}

static void fuzz_check_json(const struct reading *reading)
{
	struct json_tokener *tokener = json_tokener_new();
	struct text members = TEXT_INIT, whole = TEXT_INIT;
	struct json_object *object, *member;

	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	reading_json(reading, &members);
	text_addf(&whole, "{%s}", text_string(&members));
	object = json_tokener_parse_ex(tokener, text_string(&whole), (int)whole.length);
	FUZZ_CHECK(object && json_object_is_type(object, json_type_object));
	/* Whole numbers only: nothing is made of what is unknown. */
	for (enum reading_field field = 0; field < READING_FIELD_COUNT; field++) {
		FUZZ_CHECK(json_object_object_get_ex(object, reading_field_name(field), &member));
		FUZZ_CHECK(json_object_get_type(member) ==
			   (reading->known[field] ? json_type_int : json_type_null));
	}
	json_object_put(object);
	json_tokener_free(tokener);
	text_fini(&members);
	text_fini(&whole);
}

/* Whatever a drive sends, a reading holds nothing that can't be. */
static inline void fuzz_check_reading(const struct reading *reading)
{
	static const enum reading_field temperatures[] = { READING_TEMP_C, READING_WARNING_TEMP_C,
		READING_CRITICAL_TEMP_C, READING_SENSOR1_C, READING_SENSOR8_C };

	for (size_t i = 0; i < sizeof(temperatures) / sizeof(temperatures[0]); i++)
		FUZZ_CHECK(reading->value[temperatures[i]] >= -40 && reading->value[temperatures[i]] <= 125);
	FUZZ_CHECK(reading->value[READING_SPARE_PCT] >= 0 && reading->value[READING_SPARE_PCT] <= 100);
	FUZZ_CHECK(reading->attribute_count <= READING_ATTRIBUTES_MAX);
	FUZZ_CHECK(reading->page_count <= READING_PAGES_MAX);
	for (enum reading_field field = 0; field < READING_FIELD_COUNT; field++)
		FUZZ_CHECK(reading->known[field] || reading->value[field] == 0);
	fuzz_check_text(reading->source, sizeof(reading->source));
	fuzz_check_text(reading->model, sizeof(reading->model));
	fuzz_check_text(reading->serial, sizeof(reading->serial));
	fuzz_check_text(reading->firmware, sizeof(reading->firmware));
	fuzz_check_text(reading->family, sizeof(reading->family));
	fuzz_check_text(reading->notes, sizeof(reading->notes));
	fuzz_check_json(reading);
}

#endif
