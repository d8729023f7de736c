/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz-seeds: atasmart-blobs
 * ATA pages and libatasmart's files. The last byte of the input says which: so most of those files are one. */
#include "fuzz.h"

#include "probes/attributes.h"
#include "probes/reading_ata_private.h"

enum { WHICH_BLOB, WHICH_PAGES, WHICH_STATISTICS, WHICH_LIST, WHICH_SENSE, WHICH_COUNT };

static void decode_blob(struct reading *reading, struct fuzz_input *input)
{
	size_t length = input->size;
	uint8_t *bytes = fuzz_take(input, length);

	if (reading_decode_atasmart_blob(reading, bytes, length) < 0)
		FUZZ_CHECK(!reading->attribute_count);
	free(bytes);
}

/* Who it is, its attributes, and all its statistics: together, as a live drive sends them. */
static void decode_pages(struct reading *reading, struct fuzz_input *input)
{
	uint8_t *identify = fuzz_take(input, 512), *data = fuzz_take(input, 512);
	uint8_t *thresholds = input->size ? fuzz_take(input, 512) : NULL;

	(void)reading_decode_ata_identify(reading, identify, 512);
	(void)reading_decode_ata_smart(reading, data, thresholds);
	while (input->size) {
		uint8_t *page = fuzz_take(input, 512);

		(void)reading_decode_ata_statistics(reading, page[2], page, 512);
		free(page);
	}
	free(identify);
	free(data);
	free(thresholds);
}

static void decode_statistics(struct reading *reading, struct fuzz_input *input)
{
	for (unsigned number = 0; number < 8; number++) {
		uint8_t *page = fuzz_take(input, 512);
		int rc = reading_decode_ata_statistics(reading, number, page, 512);

		FUZZ_CHECK(rc == 0 || page[2] != number || (!page[0] && !page[1]));
		free(page);
	}
}

static void read_list(struct fuzz_input *input)
{
	uint8_t *page = fuzz_take(input, 512);

	FUZZ_CHECK(!(page[2] && reading_list_ata_statistics(page)));
	free(page);
}

static void read_sense(struct fuzz_input *input)
{
	size_t length = input->size < 64 ? input->size : 64;
	uint8_t *sense = fuzz_take(input, length);
	uint64_t lba = UINT64_MAX;
	int rc = reading_ata_get_registers(sense, length, &lba);

	FUZZ_CHECK(rc == 0 ? lba <= 0xffffff : lba == UINT64_MAX);
	free(sense);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = { data, size - 1 };
	struct reading reading;

	if (!size)
		return 0;
	reading_init(&reading);
	switch (data[size - 1] % WHICH_COUNT) {
	case WHICH_BLOB:
		input.size = size;
		decode_blob(&reading, &input);
		break;
	case WHICH_PAGES:
		decode_pages(&reading, &input);
		break;
	case WHICH_STATISTICS:
		decode_statistics(&reading, &input);
		break;
	case WHICH_LIST:
		read_list(&input);
		break;
	default:
		read_sense(&input);
	}
	/* A drive in no family claims no bytes by an attribute, and no wear. */
	if (data[size - 1] % WHICH_COUNT == WHICH_BLOB && !reading.family[0])
		FUZZ_CHECK(!reading.known[READING_HOST_WRITTEN_BYTES] &&
			   !reading.known[READING_MEDIA_WRITTEN_BYTES] &&
			   !reading.known[READING_PERCENT_USED]);
	fuzz_check_reading(&reading);
	reading_fini(&reading);
	return 0;
}
