/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reading_fixture.h - pages of drives that don't exist, each field with a number of its own, and what a reading must hold. */
#ifndef TESTS_READING_FIXTURE_H
#define TESTS_READING_FIXTURE_H

#include "probes/reading.h"

struct fixture_value {
	enum reading_field field;
	uint64_t value;
};

/* Little endian. */
void fixture_put(uint8_t *page, size_t at, size_t length, uint64_t value);
void fixture_nvme_smart(uint8_t page[512]);
void fixture_nvme_identify(uint8_t page[4096]);
void fixture_nvme_group(uint8_t page[512]);
void fixture_ocp(uint8_t page[512]);
void fixture_intel(uint8_t page[512]);
/* A table of @count attributes, with its checksum. */
void fixture_ata_smart(uint8_t page[512], unsigned count);
void fixture_ata_identify(uint8_t page[512]);

/* These values and no other. */
void fixture_check(const struct reading *reading, const struct fixture_value *values, size_t count);
/* A file below the shared data; bytes read, 0 when it is absent. */
size_t fixture_read_shared(const char *name, void *bytes, size_t size);

#endif
