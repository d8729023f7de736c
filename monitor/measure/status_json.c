/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "measure/status_json.h"

#include <math.h>

#include "base/clock.h"

/* An empty string in a record means unknown. */
static void put_text(struct json *json, const char *key, const char *value)
{
	json_put_string(json, key, value[0] ? value : NULL);
}

static void put_ns_as_s(struct json *json, const char *key, uint64_t ns)
{
	if (ns == UINT64_MAX)
		json_put_null(json, key);
	else
		json_put_i64(json, key, (int64_t)((ns + NS_PER_S / 2) / NS_PER_S));
}

double status_percent_of_baseline(const struct drive_status *drive)
{
	if (!(drive->baseline_bytes_per_s > 0))
		return NAN;
	return (drive->write_bytes_per_s + drive->read_bytes_per_s) / drive->baseline_bytes_per_s * 100;
}

void status_json_begin(struct json *json, const char *host, uint64_t uptime_s, int64_t now_ms)
{
	json_object_open(json);
	json_put_string(json, "version", PACKAGE_VERSION);
	json_put_string(json, "host", host);
	json_put_u64(json, "uptime_s", uptime_s);
	json_put_ms_as_s(json, "now_s", now_ms);
	json_key(json, "drives");
	json_array_open(json);
}

void status_json_drive(struct json *json, const struct drive_status *drive)
{
	json_object_open(json);
	json_put_string(json, "name", drive->name);
	put_text(json, "label", drive->label);
	put_text(json, "model", drive->model);
	put_text(json, "serial", drive->serial);
	json_put_string(json, "state", run_status_name(drive->status));
	json_put_string(json, "phase", drive->run[0] ? run_phase_name(drive->phase) : NULL);
	put_text(json, "reason", drive->reason);
	put_text(json, "run", drive->run);
	json_put_double(json, "progress", drive->progress);
	put_ns_as_s(json, "eta_s", drive->eta_ns);
	json_put_double(json, "write_bytes_per_s", drive->write_bytes_per_s);
	json_put_double(json, "read_bytes_per_s", drive->read_bytes_per_s);
	json_put_double(json, "baseline_bytes_per_s", drive->baseline_bytes_per_s);
	json_put_double(json, "percent_of_baseline", status_percent_of_baseline(drive));
	json_put_u64(json, "lat_p99_ns", drive->lat_p99_ns);
	json_put_double(json, "temp_c", drive->temp_c);
	json_put_double(json, "percent_used", drive->percent_used);
	json_put_u64(json, "written_bytes", drive->written_bytes);
	json_put_ms_as_s(json, "last_sample_s", drive->last_sample_ms);
	json_put_ms_as_s(json, "health_read_s", drive->health_read_ms);
	json_put_ms_as_s(json, "settled_s", drive->settled_ms);
	put_text(json, "why_not_settled", drive->why_not_settled);
	put_text(json, "finding", drive->finding);
	json_key(json, "alerts");
	json_array_open(json);
	json_array_close(json);
	json_object_close(json);
}

void status_json_end(struct json *json)
{
	json_array_close(json);
	json_object_close(json);
}
