/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "web/live.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "config/config.h"

size_t live_count(const struct call_site *site)
{
	size_t published = site->board ? status_count(site->board) : 0;

	return published > site->config->drive_count ? published : site->config->drive_count;
}

bool live_read(const struct call_site *site, size_t index, struct drive_status *out)
{
	*out = (struct drive_status){ 0 };
	if (site->board && index < status_count(site->board))
		status_read(site->board, index, out);
	if (out->name[0])
		return true;
	*out = (struct drive_status){
		.progress = NAN,
		.eta_ns = UINT64_MAX,
		.write_bytes_per_s = NAN,
		.read_bytes_per_s = NAN,
		.baseline_bytes_per_s = NAN,
		.lat_p99_ns = UINT64_MAX,
		.temp_c = NAN,
		.percent_used = NAN,
		.written_bytes = UINT64_MAX,
		.last_sample_ms = INT64_MIN,
		.health_read_ms = INT64_MIN,
		.settled_ms = INT64_MIN,
	};
	if (index < site->config->drive_count) {
		(void)snprintf(out->name, sizeof(out->name), "%s", site->config->drives[index].name);
		(void)snprintf(out->label, sizeof(out->label), "%s", site->config->drives[index].label);
	}
	return false;
}

size_t live_find(const struct call_site *site, const char *name)
{
	struct drive_status drive;

	for (size_t i = 0; i < live_count(site); i++) {
		(void)live_read(site, i, &drive);
		if (strcmp(drive.name, name) == 0)
			return i;
	}
	return SIZE_MAX;
}
