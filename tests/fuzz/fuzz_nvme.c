/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz-seeds: nvme-bin
 * NVMe pages and the recognition of files. The last byte of the input says which: so a page of 02h is one. */
#include "fuzz.h"

struct page {
	int (*decode)(struct reading *reading, const uint8_t *page, size_t length);
	size_t length;
};

static const struct page pages[] = {
	{ reading_decode_nvme_smart, 512 },
	{ reading_decode_nvme_identify, 4096 },
	{ reading_decode_nvme_endurance_group, 512 },
	{ reading_decode_ocp_smart, 512 },
	{ reading_decode_intel_smart, 512 },
};

#define PAGES (sizeof(pages) / sizeof(pages[0]))

static void decode_page(struct reading *reading, const struct page *page, struct fuzz_input *input)
{
	uint8_t *bytes = fuzz_take(input, page->length);

	(void)page->decode(reading, bytes, page->length);
	free(bytes);
}

static void decode_file(struct fuzz_input *input)
{
	size_t length = input->size;
	uint8_t *bytes = fuzz_take(input, length);
	char why[READING_NOTES_MAX] = "";
	struct reading reading;
	int rc;

	reading_init(&reading);
	rc = reading_decode(&reading, READING_KIND_COUNT, bytes, length, why);
	FUZZ_CHECK(rc <= 0 && (rc < 0) == (why[0] != '\0'));
	FUZZ_CHECK(rc < 0 || reading.source[0]);
	/* 512 bytes are always something. */
	FUZZ_CHECK(length != 512 || reading_recognise(bytes, length) != READING_KIND_COUNT);
	fuzz_check_reading(&reading);
	reading_fini(&reading);
	free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = { data, size - 1 };
	struct reading reading;
	size_t which;

	if (!size)
		return 0;
	which = data[size - 1] % (PAGES + 2);
	reading_init(&reading);
	switch (which) {
	case PAGES:
		for (size_t i = 0; i < PAGES; i++)
			decode_page(&reading, &pages[i], &input);
		break;
	case PAGES + 1:
		decode_file(&input);
		break;
	default:
		decode_page(&reading, &pages[which], &input);
	}
	fuzz_check_reading(&reading);
	reading_fini(&reading);
	return 0;
}
