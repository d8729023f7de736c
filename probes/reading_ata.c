/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decoders of ATA pages: IDENTIFY DEVICE and the log of device statistics (04h) as ACS-4 has them, SMART READ DATA and
 * thresholds as SFF-8035 did, and the file that libatasmart saves them in. */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "probes/attributes.h"
#include "probes/identity_private.h"
#include "probes/reading_ata_private.h"

/* Words of IDENTIFY, first and count. */
enum { SERIAL = 10, SERIAL_WORDS = 10, FIRMWARE = 23, FIRMWARE_WORDS = 4, MODEL = 27, MODEL_WORDS = 20 };
enum { SECTOR_SIZE = 106, SECTOR_WORDS = 117, ROTATION = 217, INTEGRITY = 255 };
enum { ROTATION_NONE = 1, ROTATION_LOWEST = 0x401, ROTATION_HIGHEST = 0xfffe, INTEGRITY_SIGNATURE = 0xa5 };
/* Of SMART data and thresholds: where the table begins, and what an entry holds. */
enum { TABLE = 2, ENTRY_BYTES = 12, ENTRY_FLAGS = 1, ENTRY_CURRENT = 3, ENTRY_WORST = 4, ENTRY_RAW = 5 };
/* Of a statistic's eight bytes the last has the flags. */
enum { STATISTIC_BYTES = 8, STATISTIC_SUPPORTED = 0x80, STATISTIC_VALID = 0x40 };
enum { DEFAULT_BLOCK_BYTES = 512, TEMP_LOWEST_C = -40, TEMP_HIGHEST_C = 125 };

static unsigned word(const uint8_t *page, unsigned index)
{
	return (unsigned)reading_le(page + 2 * (size_t)index, 2);
}

static uint8_t sum_of(const uint8_t *page)
{
	uint8_t sum = 0;

	for (size_t i = 0; i < ATA_PAGE_BYTES; i++)
		sum = (uint8_t)(sum + page[i]);
	return sum;
}

/* Texts have the bytes of each word swapped. */
static void unswap(const uint8_t *page, unsigned first, size_t words, uint8_t *out)
{
	for (size_t i = 0; i < 2 * words; i++)
		out[i] = page[2 * (size_t)first + (i ^ 1)];
}

static void decode_geometry(struct reading *reading, const uint8_t *page)
{
	const unsigned rotation = word(page, ROTATION), size = word(page, SECTOR_SIZE);
	uint64_t block_bytes = DEFAULT_BLOCK_BYTES;

	if (rotation == ROTATION_NONE)
		reading_set(reading, READING_ROTATION_RPM, 0);
	else if (rotation >= ROTATION_LOWEST && rotation <= ROTATION_HIGHEST)
		reading_set(reading, READING_ROTATION_RPM, rotation);
	/* Bits 15:14 are 01 when the word is valid; bit 12: longer than 256 words. */
	if ((size & 0xd000) == 0x5000)
		block_bytes = 2 * reading_le(page + 2 * (size_t)SECTOR_WORDS, 4);
	if (block_bytes >= DEFAULT_BLOCK_BYTES)
		reading_set(reading, READING_LOGICAL_BLOCK_BYTES, (__int128)block_bytes);
}

int reading_decode_ata_identify(struct reading *reading, const uint8_t *page, size_t length)
{
	uint8_t bytes[2 * MODEL_WORDS];
	char model[sizeof(reading->model)], serial[sizeof(reading->serial)];
	const char *family = NULL;
	uint64_t rpm;

	if (length != ATA_PAGE_BYTES)
		return -EINVAL;
	unswap(page, MODEL, MODEL_WORDS, bytes);
	identity_text(model, sizeof(model), bytes, sizeof(bytes));
	unswap(page, SERIAL, SERIAL_WORDS, bytes);
	identity_serial(serial, sizeof(serial), bytes, 2 * (size_t)SERIAL_WORDS);
	if ((!model[0] && !serial[0]) || reading_is_uniform(page, length, 0xff))
		return -EINVAL;
	text_copy(reading->model, sizeof(reading->model), model);
	text_copy(reading->serial, sizeof(reading->serial), serial);
	unswap(page, FIRMWARE, FIRMWARE_WORDS, bytes);
	identity_text(reading->firmware, sizeof(reading->firmware), bytes, 2 * (size_t)FIRMWARE_WORDS);
	if (page[2 * INTEGRITY] == INTEGRITY_SIGNATURE && sum_of(page) != 0)
		reading_note(reading, "IDENTIFY: its checksum is wrong");
	decode_geometry(reading, page);
	if (!reading_get_u64(reading, READING_ROTATION_RPM, &rpm) || rpm == 0)
		family = attributes_find_family(reading->model, reading->firmware);
	text_copy(reading->family, sizeof(reading->family), family ? family : "");
	return 0;
}

static uint8_t threshold_of(const uint8_t *thresholds, uint8_t id)
{
	for (size_t i = 0; i < ATA_ATTRIBUTES; i++) {
		const uint8_t *entry = thresholds + TABLE + i * ENTRY_BYTES;

		if (entry[0] == id)
			return entry[1];
	}
	return 0;
}

static bool has_attribute(const struct reading *reading, uint8_t id)
{
	for (unsigned i = 0; i < reading->attribute_count; i++)
		if (reading->attributes[i].id == id)
			return true;
	return false;
}

static void add_attribute(struct reading *reading, const uint8_t *entry, const uint8_t *thresholds)
{
	struct reading_attribute *attribute = &reading->attributes[reading->attribute_count];

	if (!entry[0] || has_attribute(reading, entry[0]))
		return;
	*attribute = (struct reading_attribute){
		.id = entry[0],
		.current = entry[ENTRY_CURRENT],
		.worst = entry[ENTRY_WORST],
		.threshold = thresholds ? threshold_of(thresholds, entry[0]) : 0,
		.flags = (uint16_t)reading_le(entry + ENTRY_FLAGS, 2),
	};
	memcpy(attribute->raw, entry + ENTRY_RAW, sizeof(attribute->raw));
	reading->attribute_count++;
}

int reading_decode_ata_smart(struct reading *reading, const uint8_t *data, const uint8_t *thresholds)
{
	_Static_assert((int)ATA_ATTRIBUTES <= (int)READING_ATTRIBUTES_MAX, "a table of a reading has room");

	if (reading_is_uniform(data, ATA_PAGE_BYTES, 0) || reading_is_uniform(data, ATA_PAGE_BYTES, 0xff))
		return -EINVAL;
	/* Of drives whose firmware miscounts it the rest is right. */
	if (sum_of(data) != 0)
		reading_note(reading, "SMART data: its checksum is wrong");
	if (thresholds && (reading_is_uniform(thresholds, ATA_PAGE_BYTES, 0) || sum_of(thresholds) != 0)) {
		reading_note(reading, "SMART thresholds: their checksum is wrong");
		thresholds = NULL;
	}
	reading->attribute_count = 0;
	for (size_t i = 0; i < ATA_ATTRIBUTES; i++)
		add_attribute(reading, data + TABLE + i * ENTRY_BYTES, thresholds);
	attributes_decode(reading, thresholds != NULL);
	return 0;
}

/* Device statistics that are fields of a reading. */
static const struct statistic {
	uint8_t page, at, length;
	bool is_signed;
	bool is_second; /* an attribute tells it better */
	enum reading_field field;
} statistics[] = {
	{ 1, 0x08, 4, false, true, READING_POWER_CYCLES },
	{ 1, 0x10, 4, false, false, READING_POWER_ON_HOURS },
	{ 1, 0x18, 6, false, false, READING_HOST_WRITTEN_RAW },
	{ 1, 0x20, 6, false, false, READING_HOST_WRITE_COMMANDS },
	{ 1, 0x28, 6, false, false, READING_HOST_READ_BYTES },
	{ 1, 0x30, 6, false, false, READING_HOST_READ_COMMANDS },
	{ 4, 0x08, 4, false, false, READING_MEDIA_ERRORS },
	{ 5, 0x08, 1, true, false, READING_TEMP_C },
	{ 5, 0x50, 4, false, false, READING_WARNING_TEMP_MINUTES },
	{ 5, 0x58, 1, true, false, READING_WARNING_TEMP_C },
	{ 6, 0x18, 4, false, false, READING_CRC_ERRORS },
	{ 7, 0x08, 1, false, false, READING_PERCENT_USED },
};

static uint64_t block_bytes_of(const struct reading *reading)
{
	uint64_t bytes;

	return reading_get_u64(reading, READING_LOGICAL_BLOCK_BYTES, &bytes) ? bytes : DEFAULT_BLOCK_BYTES;
}

static void set_statistic(struct reading *reading, const struct statistic *row, int64_t value)
{
	if (row->is_second && reading->known[row->field])
		return;
	switch (row->field) {
	case READING_HOST_WRITTEN_RAW:
		reading_set_written(reading, row->field, (uint64_t)value, block_bytes_of(reading), false);
		reading_set_from(reading, row->field, "device statistics");
		break;
	case READING_HOST_READ_BYTES:
		reading_set_bytes(reading, row->field, (unsigned __int128)value, block_bytes_of(reading));
		break;
	default:
		/* A temperature that can't be takes nothing from an attribute's. */
		if (!row->is_signed || (value >= TEMP_LOWEST_C && value <= TEMP_HIGHEST_C))
			reading_set(reading, row->field, value);
		break;
	}
}

void reading_set_ata_statistic(struct reading *reading, unsigned page_number, unsigned at, int64_t value)
{
	for (size_t i = 0; i < sizeof(statistics) / sizeof(statistics[0]); i++)
		if (statistics[i].page == page_number && statistics[i].at == at &&
			(value >= 0 || statistics[i].is_signed))
			set_statistic(reading, &statistics[i], value);
}

static bool has_statistic(const uint8_t *page, unsigned at)
{
	const unsigned flags = page[at + STATISTIC_BYTES - 1];

	return flags & STATISTIC_SUPPORTED && flags & STATISTIC_VALID;
}

int reading_decode_ata_statistics(
	struct reading *reading, unsigned page_number, const uint8_t *page, size_t length)
{
	/* The first eight bytes are the page's revision and number. */
	if (length != ATA_PAGE_BYTES || page[2] != page_number || !reading_le(page, 2))
		return -EINVAL;
	for (size_t i = 0; i < sizeof(statistics) / sizeof(statistics[0]); i++) {
		const struct statistic *row = &statistics[i];
		const uint8_t *bytes = page + row->at;

		if (row->page != page_number || !has_statistic(page, row->at))
			continue;
		set_statistic(reading, row,
			row->is_signed ? (int8_t)bytes[0] : (int64_t)reading_le(bytes, row->length));
	}
	return 0;
}

uint32_t reading_list_ata_statistics(const uint8_t *page)
{
	const unsigned count = page[8];
	uint32_t pages = 0;

	if (page[2] != 0)
		return 0;
	for (unsigned i = 0; i < count && 9 + i < ATA_PAGE_BYTES; i++)
		if (page[9 + i] < 32)
			pages |= 1u << page[9 + i];
	return pages;
}

void reading_set_smart_failed(struct reading *reading, bool is_failed)
{
	reading_set(reading, READING_SMART_FAILED, is_failed);
}

/* Chunks of a tag, a length with the highest byte first, and so many bytes. */
enum { CHUNK_HEAD = 8, CHUNK_STATUS_BYTES = 4 };

int reading_find_ata_chunks(const uint8_t *blob, size_t length, const uint8_t **chunks)
{
	static const struct {
		char tag[5];
		size_t length;
	} kinds[ATA_CHUNK_COUNT] = { { "IDFY", ATA_PAGE_BYTES }, { "SMST", CHUNK_STATUS_BYTES },
		{ "SMDT", ATA_PAGE_BYTES }, { "SMTH", ATA_PAGE_BYTES } };

	while (length >= CHUNK_HEAD) {
		uint32_t bytes;

		memcpy(&bytes, blob + 4, sizeof(bytes));
		bytes = be32toh(bytes);
		if (bytes > length - CHUNK_HEAD)
			return -EINVAL;
		for (size_t i = 0; i < ATA_CHUNK_COUNT; i++)
			if (memcmp(blob, kinds[i].tag, 4) == 0 && bytes == kinds[i].length)
				chunks[i] = blob + CHUNK_HEAD;
		blob += CHUNK_HEAD + bytes;
		length -= CHUNK_HEAD + bytes;
	}
	return length ? -EINVAL : 0;
}

int reading_decode_atasmart_blob(struct reading *reading, const uint8_t *blob, size_t length)
{
	const uint8_t *chunks[ATA_CHUNK_COUNT] = { NULL };

	if (reading_find_ata_chunks(blob, length, chunks) < 0 ||
		(!chunks[ATA_CHUNK_IDENTIFY] && !chunks[ATA_CHUNK_DATA]))
		return -EINVAL;
	if (chunks[ATA_CHUNK_IDENTIFY] &&
		reading_decode_ata_identify(reading, chunks[ATA_CHUNK_IDENTIFY], ATA_PAGE_BYTES) < 0)
		reading_note(reading, "IDENTIFY: it is not what it should be");
	if (!chunks[ATA_CHUNK_DATA])
		reading_note(reading, "no SMART data");
	else if (reading_decode_ata_smart(reading, chunks[ATA_CHUNK_DATA], chunks[ATA_CHUNK_THRESHOLDS]) < 0)
		reading_note(reading, "SMART data: it is not what it should be");
	if (chunks[ATA_CHUNK_STATUS])
		reading_set_smart_failed(
			reading, reading_is_uniform(chunks[ATA_CHUNK_STATUS], CHUNK_STATUS_BYTES, 0));
	return 0;
}
