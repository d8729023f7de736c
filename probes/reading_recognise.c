/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a saved file is, by its content, and its decoder. */
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "probes/reading_private.h"

enum {
	PAGE_BYTES = 512,
	IDENTIFY_BYTES = 4096,
	ATTRIBUTES = 30,
	ATTRIBUTE_BYTES = 12,
	/* So many in order are no chance, even where the checksum is wrong. */
	ATTRIBUTES_SURE = 5,
	STATISTICS_PAGES = 7,
};

struct kind_row {
	const char *name;   /* what --as takes */
	const char *source; /* NULL: the decoder says */
	int (*decode)(struct reading *reading, const uint8_t *bytes, size_t length);
	const char *page; /* it is kept as */
};

static int decode_ata_smart(struct reading *reading, const uint8_t *bytes, size_t length)
{
	if (length != PAGE_BYTES && length != 2 * (size_t)PAGE_BYTES)
		return -EINVAL;
	return reading_decode_ata_smart(reading, bytes, length > PAGE_BYTES ? bytes + PAGE_BYTES : NULL);
}

static int decode_ata_statistics(struct reading *reading, const uint8_t *bytes, size_t length)
{
	return length == PAGE_BYTES ? reading_decode_ata_statistics(reading, bytes[2], bytes, length)
				    : -EINVAL;
}

static int decode_smartctl(struct reading *reading, const uint8_t *bytes, size_t length)
{
	return reading_decode_smartctl_json(reading, (const char *)bytes, length);
}

static const struct kind_row kinds[READING_KIND_COUNT] = {
	[READING_KIND_NVME_SMART] = { "nvme-02h", "nvme", reading_decode_nvme_smart, "nvme-02h" },
	[READING_KIND_NVME_IDENTIFY] = { "nvme-identify", "nvme: identify", reading_decode_nvme_identify,
		"nvme-identify" },
	[READING_KIND_NVME_ENDURANCE_GROUP] = { "nvme-09h", "nvme: endurance group",
		reading_decode_nvme_endurance_group, "nvme-09h" },
	[READING_KIND_OCP_SMART] = { "ocp-c0h", "nvme: OCP C0h", reading_decode_ocp_smart, "ocp-c0h" },
	[READING_KIND_INTEL_SMART] = { "intel-cah", "nvme: Intel CAh", reading_decode_intel_smart,
		"intel-cah" },
	[READING_KIND_ATA_IDENTIFY] = { "ata-identify", "ata: identify", reading_decode_ata_identify,
		"ata-identify" },
	[READING_KIND_ATA_SMART] = { "ata-smart", "ata: SMART data", decode_ata_smart, "ata-smart" },
	[READING_KIND_ATA_STATISTICS] = { "ata-stat", "ata: device statistics", decode_ata_statistics,
		"ata-stat" },
	[READING_KIND_SMARTCTL] = { "smartctl", "smartctl", decode_smartctl, "smartctl" },
	[READING_KIND_ATASMART] = { "atasmart", "ata: libatasmart blob", reading_decode_atasmart_blob,
		"atasmart" },
};

const char *reading_kind_name(enum reading_kind kind)
{
	return kinds[kind].name;
}

enum reading_kind reading_kind_find(const char *name)
{
	enum reading_kind kind = 0;

	while (kind < READING_KIND_COUNT && strcmp(kinds[kind].name, name) != 0)
		kind++;
	return kind;
}

/* An object is all that smartctl prints; a page has zeros. */
static bool is_json(const uint8_t *bytes, size_t length)
{
	size_t at = length >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;

	while (at < length && strchr(" \t\r\n", bytes[at]) && bytes[at])
		at++;
	return at < length && bytes[at] == '{' && !memchr(bytes, '\0', length);
}

/* Chunks of a tag, a big-endian length and so many bytes, to the end. */
static bool is_blob(const uint8_t *bytes, size_t length)
{
	static const char tags[] = "IDFYSMSTSMDTSMTH";
	size_t at = 0;

	while (length - at >= 8) {
		uint32_t chunk;
		bool is_known = false;

		for (const char *tag = tags; *tag; tag += 4)
			is_known |= memcmp(bytes + at, tag, 4) == 0;
		memcpy(&chunk, bytes + at + 4, sizeof(chunk));
		chunk = be32toh(chunk);
		if (!is_known || chunk > length - at - 8)
			return false;
		at += 8 + (size_t)chunk;
	}
	return at > 0 && at == length;
}

static bool is_ocp(const uint8_t *page)
{
	struct reading probe;

	reading_init(&probe);
	return reading_decode_ocp_smart(&probe, page, PAGE_BYTES) == 0;
}

static bool is_intel(const uint8_t *page)
{
	struct reading probe;

	reading_init(&probe);
	return reading_decode_intel_smart(&probe, page, PAGE_BYTES) == 0;
}

static bool is_printable(const uint8_t *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (bytes[i] && (bytes[i] < ' ' || bytes[i] > '~'))
			return false;
	return true;
}

/* Serial, model and firmware are texts. */
static bool is_nvme_identify(const uint8_t *page)
{
	struct reading probe;

	reading_init(&probe);
	return is_printable(page + 4, 68) && reading_decode_nvme_identify(&probe, page, IDENTIFY_BYTES) == 0;
}

static uint8_t sum_of(const uint8_t *page)
{
	uint8_t sum = 0;

	for (size_t i = 0; i < PAGE_BYTES; i++)
		sum = (uint8_t)(sum + page[i]);
	return sum;
}

/* Whichever byte of a word is first. */
static bool is_text(const uint8_t *page, size_t first_word, size_t last_word)
{
	const uint8_t *bytes = page + 2 * first_word;
	const size_t length = 2 * (last_word - first_word + 1);

	return is_printable(bytes, length) && !reading_is_uniform(bytes, length, 0) &&
	       !reading_is_uniform(bytes, length, ' ');
}

/* Serial, firmware and model stand where they must, and the device is an ATA one; a checksum must be right if there is
 * one. Page 02h has counters there, most of whose bytes are 0 and others no text. */
static bool is_ata_identify(const uint8_t *page)
{
	if (page[1] & 0x80 || !is_text(page, 27, 46) || !is_text(page, 23, 26))
		return false;
	return page[510] != 0xa5 || sum_of(page) == 0;
}

/* A table of attributes, each once, and nothing between them. */
static unsigned count_attributes(const uint8_t *page)
{
	bool seen[256] = { false };
	unsigned count = 0;

	for (size_t i = 0; i < ATTRIBUTES; i++) {
		const uint8_t *entry = page + 2 + i * ATTRIBUTE_BYTES;

		if (!entry[0] && !reading_is_uniform(entry, ATTRIBUTE_BYTES, 0))
			return 0;
		if (!entry[0])
			continue;
		if (seen[entry[0]])
			return 0;
		seen[entry[0]] = true;
		count++;
	}
	return count;
}

static bool is_ata_smart(const uint8_t *page)
{
	unsigned count = count_attributes(page);

	return count >= ATTRIBUTES_SURE || (count > 1 && sum_of(page) == 0);
}

/* Revision 1, a page number, and values each of which says that it is one. */
static bool is_ata_statistics(const uint8_t *page)
{
	unsigned supported = 0;

	if (page[0] != 1 || page[1] || !page[2] || page[2] > STATISTICS_PAGES ||
		!reading_is_uniform(page + 3, 5, 0))
		return false;
	for (size_t at = 8; at < PAGE_BYTES; at += 8) {
		if (page[at + 7] & 0x80)
			supported++;
		else if (!reading_is_uniform(page + at, 8, 0))
			return false;
	}
	return supported > 0;
}

enum reading_kind reading_recognise(const uint8_t *bytes, size_t length)
{
	if (is_json(bytes, length))
		return READING_KIND_SMARTCTL;
	if (is_blob(bytes, length))
		return READING_KIND_ATASMART;
	if (length == IDENTIFY_BYTES && is_nvme_identify(bytes))
		return READING_KIND_NVME_IDENTIFY;
	if (length == 2 * (size_t)PAGE_BYTES && is_ata_smart(bytes))
		return READING_KIND_ATA_SMART;
	if (length != PAGE_BYTES)
		return READING_KIND_COUNT;
	return is_ocp(bytes)		  ? READING_KIND_OCP_SMART
	       : is_intel(bytes)	  ? READING_KIND_INTEL_SMART
	       : is_ata_identify(bytes)	  ? READING_KIND_ATA_IDENTIFY
	       : is_ata_smart(bytes)	  ? READING_KIND_ATA_SMART
	       : is_ata_statistics(bytes) ? READING_KIND_ATA_STATISTICS
					  : READING_KIND_NVME_SMART;
}

int reading_decode(
	struct reading *reading, enum reading_kind kind, const uint8_t *bytes, size_t length, char *why)
{
	const bool is_told = kind != READING_KIND_COUNT;
	int rc;

	if (!is_told)
		kind = reading_recognise(bytes, length);
	if (kind == READING_KIND_COUNT) {
		(void)snprintf(why, READING_NOTES_MAX,
			"%zu bytes that are no page of a drive, no libatasmart blob and no JSON of smartctl",
			length);
		return -EINVAL;
	}
	rc = kinds[kind].decode(reading, bytes, length);
	if (rc == 0)
		rc = reading_keep_page(reading, kinds[kind].page, bytes, length);
	if (rc == -EINVAL)
		(void)snprintf(why, READING_NOTES_MAX, "%s %s of %zu bytes%s%s",
			is_told ? "this is no" : "a damaged", kinds[kind].name, length,
			reading->notes[0] ? ": " : "", reading->notes);
	else if (rc < 0)
		(void)snprintf(why, READING_NOTES_MAX, "%s: %s", kinds[kind].name, strerror(-rc));
	if (rc == 0 && !reading->source[0] && kinds[kind].source)
		text_copy(reading->source, sizeof(reading->source), kinds[kind].source);
	return rc;
}
