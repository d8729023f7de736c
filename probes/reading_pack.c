/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The pages of a reading as one string of bytes: for each its name and a NUL, its length (4 bytes, little endian), and
 * what was read. */
#include "probes/reading.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH_BYTES 4

int reading_pack(const struct reading *reading, uint8_t **out, size_t *length)
{
	uint8_t *bytes, *at;
	size_t total = 0;

	for (unsigned i = 0; i < reading->page_count; i++)
		total += strlen(reading->pages[i].name) + 1 + LENGTH_BYTES + reading->pages[i].length;
	bytes = malloc(total ? total : 1);
	if (!bytes)
		return -ENOMEM;
	at = bytes;
	for (unsigned i = 0; i < reading->page_count; i++) {
		const struct reading_page *page = &reading->pages[i];
		size_t name = strlen(page->name) + 1;

		memcpy(at, page->name, name);
		at += name;
		for (unsigned byte = 0; byte < LENGTH_BYTES; byte++)
			*at++ = (uint8_t)(page->length >> (8 * byte));
		memcpy(at, page->bytes, page->length);
		at += page->length;
	}
	*out = bytes;
	*length = total;
	return 0;
}

int reading_unpack(struct reading *reading, const uint8_t *bytes, size_t length)
{
	size_t at = 0;

	while (at < length) {
		size_t name = strnlen((const char *)bytes + at, length - at), page = 0;
		const char *text = (const char *)bytes + at;
		int rc;

		at += name + 1;
		if (name >= sizeof(reading->pages[0].name) || at + LENGTH_BYTES > length)
			return -EINVAL;
		for (unsigned byte = 0; byte < LENGTH_BYTES; byte++)
			page |= (size_t)bytes[at++] << (8 * byte);
		if (page > length - at)
			return -EINVAL;
		rc = reading_keep_page(reading, text, bytes + at, page);
		if (rc < 0)
			return rc;
		at += page;
	}
	return 0;
}
