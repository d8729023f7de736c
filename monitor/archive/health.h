/* SPDX-License-Identifier: GPL-2.0-or-later */
/* health.h - the health readings of a run put together: what they say of its endurance, and as JSON. Reads the journal
 * on the caller's thread. */
#ifndef DRIVESOAK_HEALTH_H
#define DRIVESOAK_HEALTH_H

#include "archive/journal.h"
#include "base/text.h"
#include "measure/endurance.h"
#include "measure/verdict_health.h"

/* What the conductor puts into the fields of a reading beside the decoded ones, and what comes back out of them. */
#define HEALTH_PHASE	     "phase"
#define HEALTH_OWN_WRITTEN   "own_written_bytes"
#define HEALTH_DISK_WRITTEN  "disk_written_bytes"
#define HEALTH_READ_MS	     "read_ms"
#define HEALTH_LOGICAL_BLOCK "logical_block_bytes"

struct health_endurance {
	size_t readings;
	struct endurance_unit unit;
	struct endurance_interval waf, phase_waf[PHASE_COUNT];
	struct endurance_interval percent_per_tb, bytes_left, seconds_left; /* at the run's mean rate */
	struct verdict_health findings;		      /* on the change since the first reading */
	double first_percent_used, last_percent_used; /* NAN */
};

/* 0 with @out of @run, also without readings; -ENOENT, or as journal.h. */
int health_endurance_read(
	struct journal *journal, const struct run_record *run, struct health_endurance *out);

/* {"readings":[...],"unit":{...},"waf":{...},"phases":{...},"life":{...},"findings":[...]} as in API.md. */
int health_run_json(struct journal *journal, const struct run_record *run, struct text *out);

const char *health_weight_name(enum verdict_health_weight weight); /* "fail", "remark", "information" */

#endif
