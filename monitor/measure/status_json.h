/* SPDX-License-Identifier: GPL-2.0-or-later */
/* status_json.h - the live state of the drives as the HTTP API and the control socket tell it. Pure. */
#ifndef DRIVESOAK_STATUS_JSON_H
#define DRIVESOAK_STATUS_JSON_H

#include "base/json.h"
#include "measure/status.h"

/* begin, a drive each, end: one object and a newline. */
void status_json_begin(struct json *json, const char *host, uint64_t uptime_s, int64_t now_ms);
void status_json_drive(struct json *json, const struct drive_status *drive);
void status_json_end(struct json *json);

/* NAN when one of the two rates is unknown. */
double status_percent_of_baseline(const struct drive_status *drive);

#endif
