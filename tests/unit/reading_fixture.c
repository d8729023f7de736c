/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reading_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

void fixture_put(uint8_t *page, size_t at, size_t length, uint64_t value)
{
	for (size_t i = 0; i < length; i++)
		page[at + i] = (uint8_t)((i < 8 ? value >> 8 * i : 0) & 0xff);
}

void fixture_nvme_smart(uint8_t page[512])
{
	static const struct {
		uint16_t at, length;
		uint64_t value;
	} row[] = {
		{ 0, 1, 0x15 },
		{ 1, 2, 273 + 61 },
		{ 3, 1, 93 },
		{ 4, 1, 11 },
		{ 5, 1, 107 },
		{ 6, 1, 4 },
		{ 32, 16, 1000003 },
		{ 48, 16, 2000005 },
		{ 64, 16, 3000000007 },
		{ 80, 16, 4000000009 },
		{ 96, 16, 50011 },
		{ 112, 16, 613 },
		{ 128, 16, 7017 },
		{ 144, 16, 819 },
		{ 160, 16, 921 },
		{ 176, 16, 1023 },
		{ 192, 4, 1125 },
		{ 196, 4, 1227 },
		{ 216, 4, 1329 },
		{ 220, 4, 1431 },
		{ 224, 4, 1533 },
		{ 228, 4, 1635 },
		{ 232, 8, 1737 },
	};

	memset(page, 0, 512);
	for (size_t i = 0; i < ARRAY_LEN(row); i++)
		fixture_put(page, row[i].at, row[i].length, row[i].value);
	for (size_t i = 0; i < 8; i++)
		fixture_put(page, 200 + 2 * i, 2, i == 2 ? 0 : 273 + 31 + i);
}

void fixture_nvme_identify(uint8_t page[4096])
{
	memset(page, 0, 4096);
	fixture_put(page, 0, 2, 0x1344);
	memcpy(page + 4, "SN-0042             ", 20);
	memcpy(page + 24, "TESTED DRIVE 7 GB                       ", 40);
	memcpy(page + 64, "FW 1.2  ", 8);
	fixture_put(page, 266, 2, 273 + 71);
	fixture_put(page, 268, 2, 273 + 83);
}

void fixture_nvme_group(uint8_t page[512])
{
	memset(page, 0, 512);
	fixture_put(page, 0, 1, 5);
	fixture_put(page, 3, 1, 88);
	fixture_put(page, 4, 1, 9);
	fixture_put(page, 5, 1, 41);
	fixture_put(page, 32, 16, 6001);
	fixture_put(page, 48, 16, 1301);
	fixture_put(page, 64, 16, 1703);
	fixture_put(page, 80, 16, 1907);
	fixture_put(page, 96, 16, 2102);
	fixture_put(page, 112, 16, 2304);
	fixture_put(page, 128, 16, 25);
	fixture_put(page, 144, 16, 27);
}

void fixture_ocp(uint8_t page[512])
{
	memset(page, 0, 512);
	fixture_put(page, 0, 16, 3000000000001);
	fixture_put(page, 16, 16, 4000000000003);
	fixture_put(page, 32, 6, 105);
	fixture_put(page, 38, 2, 99);
	fixture_put(page, 40, 6, 107);
	fixture_put(page, 56, 8, 109);
	fixture_put(page, 88, 4, 211);
	fixture_put(page, 92, 4, 213);
	fixture_put(page, 96, 1, 215);
	fixture_put(page, 97, 1, 2);
	fixture_put(page, 104, 8, 217);
	fixture_put(page, 112, 4, 219);
	fixture_put(page, 128, 2, 101);
	fixture_put(page, 176, 16, 5000000000005);
	fixture_put(page, 224, 8, 221);
	fixture_put(page, 494, 2, 3);
	memcpy(page + 496, "\xc5\xaf\x10\x28\xea\xbf\xf2\xa4\x9c\x4f\x6f\x7c\xc9\x14\xd5\xaf", 16);
}

void fixture_intel(uint8_t page[512])
{
	static const struct {
		uint8_t key;
		uint64_t raw;
	} row[] = { { 0xab, 3 }, { 0xac, 4 }, { 0xad, 501 | 602 << 16 | 550ULL << 32 }, { 0xb8, 5 },
		{ 0xc7, 7 }, { 0xe2, 80619 }, { 0xe3, 31 }, { 0xe4, 4164380 }, { 0xea, 50 | 9 << 8 },
		{ 0xf0, 0 }, { 0xf3, 0 }, { 0xf4, 110747 }, { 0xf5, 18612 } };

	memset(page, 0, 512);
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		page[i * 12] = row[i].key;
		page[i * 12 + 3] = 100;
		fixture_put(page, i * 12 + 5, 6, row[i].raw);
	}
}

static void put_checksum(uint8_t *page)
{
	uint8_t sum = 0;

	page[511] = 0;
	for (size_t i = 0; i < 511; i++)
		sum = (uint8_t)(sum + page[i]);
	page[511] = (uint8_t)-sum;
}

void fixture_ata_smart(uint8_t page[512], unsigned count)
{
	memset(page, 0, 512);
	page[0] = 16;
	for (unsigned i = 0; i < count; i++) {
		uint8_t *entry = page + 2 + (size_t)i * 12;

		entry[0] = (uint8_t)(5 + 7 * i);
		entry[1] = 0x32;
		entry[3] = entry[4] = 100;
		entry[5] = (uint8_t)(1 + i);
	}
	put_checksum(page);
}

void fixture_ata_identify(uint8_t page[512])
{
	memset(page, 0, 512);
	page[0] = 0x40;
	memcpy(page + 20, "NS40ATA             ", 20);
	memcpy(page + 46, "WF0001  ", 8);
	memcpy(page + 54, "ETTSDER IREV  EOTN EAVRP E              ", 40);
	page[510] = 0xa5;
	put_checksum(page);
}

void fixture_check(const struct reading *reading, const struct fixture_value *values, size_t count)
{
	for (enum reading_field field = 0; field < READING_FIELD_COUNT; field++) {
		const struct fixture_value *wanted = NULL;

		for (size_t i = 0; i < count; i++)
			if (values[i].field == field)
				wanted = &values[i];
		if (reading->known[field] != (wanted != NULL))
			fail_msg("%s: %s", reading_field_name(field), wanted ? "unknown" : "known");
		if (wanted && reading->value[field] != (__int128)wanted->value)
			fail_msg("%s: %.20g, not %llu", reading_field_name(field),
				reading_get_double(reading, field), (unsigned long long)wanted->value);
	}
}

size_t fixture_read_shared(const char *name, void *bytes, size_t size)
{
	const char *folder = getenv("DRIVESOAK_SHARED_DATA");
	char path[600];
	size_t length;
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/%s", folder ? folder : SHARED_DATA, name);
	file = fopen(path, "re");
	if (!file)
		return 0;
	length = fread(bytes, 1, size, file);
	(void)fclose(file);
	return length;
}
