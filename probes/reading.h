/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reading.h - one look at a drive's own health records, whatever they came from. Every field says whether it was read:
 * absent is unknown, never 0. Counts are exact up to 128 bits. Texts come from drives and are untrusted: printable ASCII.
 * Decoders are pure; a reading belongs to one thread and is freed with reading_fini(). */
#ifndef DRIVESOAK_READING_H
#define DRIVESOAK_READING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/* Names and units are those of the HTTP API: the table in reading.c has one row a field. */
enum reading_field {
	READING_TEMP_C,
	READING_PERCENT_USED, /* 0 new; may pass 100 */
	READING_SPARE_PCT,
	READING_SPARE_THRESHOLD_PCT,
	READING_HOST_WRITTEN_BYTES,	 /* only where the unit is certain */
	READING_HOST_WRITTEN_RAW,	 /* the counter as it stands, whatever its unit */
	READING_HOST_WRITTEN_UNIT_BYTES, /* what the unit is said to be; to be confirmed by measuring */
	READING_HOST_READ_BYTES,
	READING_HOST_WRITE_COMMANDS,
	READING_HOST_READ_COMMANDS,
	READING_MEDIA_WRITTEN_BYTES, /* to the flash; only where the unit is certain */
	READING_MEDIA_WRITTEN_RAW,
	READING_MEDIA_WRITTEN_UNIT_BYTES,
	READING_MEDIA_ERRORS, /* uncorrectable, of the drive's life */
	READING_ERROR_LOG_ENTRIES,
	READING_UNSAFE_SHUTDOWNS,
	READING_POWER_CYCLES,
	READING_POWER_ON_HOURS, /* no clock: drives stop it in their sleep */
	READING_BUSY_MINUTES,
	READING_CRITICAL_WARNING, /* bits of NVMe page 02h */
	READING_WARNING_TEMP_MINUTES,
	READING_CRITICAL_TEMP_MINUTES,
	READING_THERMAL1_COUNT,
	READING_THERMAL2_COUNT,
	READING_THERMAL1_S,
	READING_THERMAL2_S,
	READING_SENSOR1_C, /* eight in a row */
	READING_SENSOR8_C = READING_SENSOR1_C + 7,
	READING_WARNING_TEMP_C, /* the drive's own limits, from Identify */
	READING_CRITICAL_TEMP_C,
	READING_CRC_ERRORS, /* of the link */
	READING_REALLOCATED,
	READING_PENDING,
	READING_SMART_FAILED,	/* 1: the drive says that it fails, 0: that it passes */
	READING_THROTTLE_LEVEL, /* OCP C0h */
	READING_THROTTLE_EVENTS,
	READING_BAD_BLOCKS,
	READING_PLP_PCT, /* capacitor health */
	READING_PCIE_CORRECTABLE_ERRORS,
	READING_MIN_ERASES,
	READING_MAX_ERASES,
	READING_MEAN_ERASES,
	READING_ENDURANCE_GROUP_WARNING, /* bits of NVMe page 02h: some group of the drive has a critical warning */
	READING_LIFETIME_ENERGY_WH,
	READING_MEDIA_READ_BYTES,
	READING_ENDURANCE_ESTIMATE_BYTES, /* what the drive says that it will bear in all */
	READING_HOST_PAGES,  /* programmed for the host, of a size that the drive does not tell */
	READING_MEDIA_PAGES, /* programmed in all; their ratio is the write amplification */
	READING_PROGRAM_FAILS,
	READING_ERASE_FAILS,
	READING_FAILED_THRESHOLDS, /* attributes that announce a failure, at or below their threshold */
	READING_ROTATION_RPM,	   /* 0: solid state */
	READING_LOGICAL_BLOCK_BYTES,
	READING_WORKLOAD_WEAR, /* 1/1024 % of the rated life, since a timer that its owner starts */
	READING_WORKLOAD_MINUTES,
	READING_FIELD_COUNT
};

struct reading_attribute {
	uint8_t id, current, worst, threshold;
	uint8_t raw[6];	  /* little endian */
	uint16_t flags;	  /* bit 0: prefailure */
	const char *name; /* of our table; NULL: unknown in this family */
};

/* What was read, byte by byte, so that a better decoder can read old runs. */
struct reading_page {
	char name
		[24]; /* "nvme-02h", "nvme-identify", "ocp-c0h", "ata-identify", "ata-smart", "ata-stat-1", "smartctl" */
	uint8_t *bytes;
	size_t length;
};

#define READING_ATTRIBUTES_MAX 40
#define READING_PAGES_MAX      16
#define READING_NOTES_MAX      256
#define READING_FROM_MAX       32

struct reading {
	int64_t t_ms;	 /* wall clock of the end of the reading; INT64_MIN: from a file */
	char source[32]; /* "nvme", "ata: libatasmart sat16", "ata: linux-ide", "smartctl: megaraid,3", ... */
	char model[64], serial[64], firmware[32];
	char family
		[64]; /* row of the attribute table; "" unknown: then raw numbers only, no bytes, no wear */
	/* Which page or attribute counts what was written by the host, and to the flash; "" unknown. */
	char host_written_from[READING_FROM_MAX], media_written_from[READING_FROM_MAX];
	bool known[READING_FIELD_COUNT];
	__int128 value
		[READING_FIELD_COUNT]; /* the bits; all but temperatures are unsigned: use reading_get_...() */
	struct reading_attribute attributes[READING_ATTRIBUTES_MAX];
	unsigned attribute_count;
	struct reading_page pages[READING_PAGES_MAX];
	unsigned page_count;
	char notes[READING_NOTES_MAX]; /* what could not be read, and why; "" */
};

void reading_init(struct reading *reading);
void reading_fini(struct reading *reading);
/* A temperature that no drive has, outside -40 to 125 degrees, makes the field unknown. */
void reading_set(struct reading *reading, enum reading_field field, __int128 value);
bool reading_get_u64(const struct reading *reading, enum reading_field field,
	uint64_t *out); /* false: unknown or too large */
double reading_get_double(const struct reading *reading, enum reading_field field); /* NAN: unknown */
void reading_note(struct reading *reading, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Keep a copy of a page; replaces one of that name. -ENOMEM, -ENOSPC. */
int reading_keep_page(struct reading *reading, const char *name, const void *bytes, size_t length);
const struct reading_page *reading_find_page(const struct reading *reading, const char *name);

/* All pages as one string of bytes, to be kept beside the decoded fields (caller frees with free()), and back. -ENOMEM;
 * -EINVAL for bytes that are none. */
int reading_pack(const struct reading *reading, uint8_t **out, size_t *length);
int reading_unpack(struct reading *reading, const uint8_t *bytes, size_t length);

const char *reading_field_name(enum reading_field field);
/* The members of the object of API.md (without braces): "t_s", every field, null where unknown, then "source", "model",
 * "serial", "firmware", "family", "host_written_from", "media_written_from", "notes" and "attributes". */
void reading_json(const struct reading *reading, struct text *out);
/* The bits of READING_CRITICAL_WARNING in words, "a, b"; nothing for none. */
void reading_warning_words(uint64_t bits, struct text *out);

/* What a saved file can be. */
enum reading_kind {
	READING_KIND_NVME_SMART,
	READING_KIND_NVME_IDENTIFY,
	READING_KIND_NVME_ENDURANCE_GROUP,
	READING_KIND_OCP_SMART,
	READING_KIND_INTEL_SMART,
	READING_KIND_ATA_IDENTIFY,
	READING_KIND_ATA_SMART, /* 512 bytes, or 1024: the thresholds follow */
	READING_KIND_ATA_STATISTICS,
	READING_KIND_SMARTCTL,
	READING_KIND_ATASMART,
	READING_KIND_COUNT /* told by the content */
};

const char *reading_kind_name(enum reading_kind kind);
/* READING_KIND_COUNT when there is none of that name. */
enum reading_kind reading_kind_find(const char *name);
/* By the content alone: JSON, a blob, an OCP page by its GUID, ATA pages by their structure, Identify Controller by its
 * size and texts; any other 512 bytes are page 02h. READING_KIND_COUNT: nothing of ours. Pure. */
enum reading_kind reading_recognise(const uint8_t *bytes, size_t length);
/* Recognise when @kind is READING_KIND_COUNT, decode, and name the source. 0, or -errno with @why (READING_NOTES_MAX). */
int reading_decode(
	struct reading *reading, enum reading_kind kind, const uint8_t *bytes, size_t length, char *why);

/* Decoders of saved pages: 0, or -EINVAL for a page that is none of that kind; what could be read is set. */
int reading_decode_nvme_smart(
	struct reading *reading, const uint8_t *page, size_t length); /* 02h, 512 bytes */
int reading_decode_nvme_identify(
	struct reading *reading, const uint8_t *page, size_t length); /* controller, 4096 */
int reading_decode_nvme_endurance_group(
	struct reading *reading, const uint8_t *page, size_t length); /* 09h */
int reading_decode_ocp_smart(
	struct reading *reading, const uint8_t *page, size_t length); /* C0h, by its GUID */
int reading_decode_intel_smart(struct reading *reading, const uint8_t *page,
	size_t length); /* CAh of Intel and Solidigm, by its keys */
int reading_decode_ata_identify(struct reading *reading, const uint8_t *page, size_t length); /* 512 */
/* SMART READ DATA with its thresholds (NULL: none); needs the model of an identify decoded before. */
int reading_decode_ata_smart(struct reading *reading, const uint8_t *data, const uint8_t *thresholds);
int reading_decode_ata_statistics(
	struct reading *reading, unsigned page_number, const uint8_t *page, size_t length);
int reading_decode_smartctl_json(struct reading *reading, const char *json, size_t length);
int reading_decode_atasmart_blob(
	struct reading *reading, const uint8_t *blob, size_t length); /* IDFY/SMST/SMDT/SMTH */

/* Reading a live drive; needs root; each blocks up to its deadline and is called on the drive's probe thread. 0 when at least one
 * page was read, notes say what was not; -errno with notes. */
#define READING_DEADLINE_MS 8000
int reading_read_nvme(const char *node, struct reading *out); /* "/dev/nvme0n1" or "/dev/nvme0" */

/* What was learnt of a drive, so that it isn't asked again for what it refuses: each refusal is an entry in the drive's
 * error log. One a drive, { 0 } at first, kept by the caller from reading to reading. */
struct reading_memory {
	char serial[64];  /* whose; another drive is asked afresh */
	uint32_t refused; /* a bit a page */
	uint32_t listed;  /* a bit a page that the drive says it has */
	bool has_list;
	uint8_t ata_way; /* of access: 1 + the one that worked last, or is to be tried next; 0: try all */
	uint8_t ata_failures; /* of it, one after the other */
	int child;	      /* a smartctl that was killed and still waits for the drive */
	/* The counters that the drive was told by until now, see reading_hold_counters(). */
	char host_written_from[READING_FROM_MAX], media_written_from[READING_FROM_MAX];
	struct reading_job *hung; /* a reading that was given up, its command still with the drive */
};

void reading_memory_fini(struct reading_memory *memory);
/* As reading_read_nvme(), and with the error log when it is wanted: asking for it disturbs some drives, so never in a
 * loop. -EBUSY: an earlier command has still not come back, and no other was sent. */
int reading_read_nvme_known(
	const char *node, bool wants_error_log, struct reading_memory *memory, struct reading *out);
int reading_read_ata(const char *node, struct reading *out); /* "/dev/sda" */
/* The same, with the way of access that worked before, and with the error log when it is wanted; -EBUSY as above. */
int reading_read_ata_known(
	const char *node, bool wants_error_log, struct reading_memory *memory, struct reading *out);
int reading_read_smartctl(
	const char *node, const char *type, struct reading *out); /* type: "megaraid,3"; "" auto */
int reading_read_smartctl_known(const char *node, const char *type, bool wants_error_log,
	struct reading_memory *memory, struct reading *out);

#endif
