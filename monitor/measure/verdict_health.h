/* SPDX-License-Identifier: GPL-2.0-or-later */
/* verdict_health.h - what follows from how a drive's health changed during a run: failures and remarks. What it had
 * behind it before is information and never counts. Decides on plain numbers; reads and logs nothing. */
#ifndef DRIVESOAK_VERDICT_HEALTH_H
#define DRIVESOAK_VERDICT_HEALTH_H

#include <stdint.h>

#define VERDICT_HEALTH_UNKNOWN	UINT64_MAX
#define VERDICT_HEALTH_TEXT_MAX 160

/* Unknown is VERDICT_HEALTH_UNKNOWN or NAN. */
struct verdict_health_reading {
	uint64_t media_errors;
	uint64_t critical_warning; /* bits of NVMe page 02h; of the last reading: of any since the first */
	uint64_t smart_failed;	   /* ATA's own verdict, 1: fails */
	uint64_t crc_errors, unsafe_shutdowns, reallocated;
	uint64_t warning_temp_minutes, critical_temp_minutes;
	uint64_t thermal1_count, thermal2_count, thermal1_s, thermal2_s, throttle_events;
	double percent_used, spare_pct, spare_threshold_pct;
};

struct verdict_health_input {
	struct verdict_health_reading first, last;
	uint64_t written_bytes; /* by the host between the two, for all who wrote */
	uint64_t rated_bytes;	/* the maker's TBW; 0: not given */
};

enum verdict_health_weight { VERDICT_HEALTH_FAIL, VERDICT_HEALTH_REMARK, VERDICT_HEALTH_INFORMATION };

enum verdict_health_what {
	VERDICT_HEALTH_MEDIA_ERRORS,
	VERDICT_HEALTH_UNRELIABLE,
	VERDICT_HEALTH_READ_ONLY,
	VERDICT_HEALTH_BACKUP_FAILED,
	VERDICT_HEALTH_SMART_FAILED,
	VERDICT_HEALTH_SPARE,
	VERDICT_HEALTH_WORN, /* by its rating, which is no failure */
	VERDICT_HEALTH_WEAR, /* faster than rated */
	VERDICT_HEALTH_PMR_READ_ONLY,
	VERDICT_HEALTH_TEMPERATURE,
	VERDICT_HEALTH_CRC,
	VERDICT_HEALTH_UNSAFE_SHUTDOWNS,
	VERDICT_HEALTH_REALLOCATED,
	VERDICT_HEALTH_THROTTLED,
	VERDICT_HEALTH_WHAT_COUNT
};

struct verdict_health_finding {
	enum verdict_health_what what;
	enum verdict_health_weight weight;
	char text[VERDICT_HEALTH_TEXT_MAX]; /* with the numbers, no full stop */
};

#define VERDICT_HEALTH_FINDINGS_MAX 32

struct verdict_health {
	unsigned count;
	struct verdict_health_finding findings[VERDICT_HEALTH_FINDINGS_MAX]; /* the gravest first */
};

void verdict_health_reading_init(struct verdict_health_reading *reading); /* all unknown */
void verdict_health_decide(const struct verdict_health_input *input, struct verdict_health *out);

#endif
