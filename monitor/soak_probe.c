/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The probe of a drive's run: what rate the soak sustained, and what each step of the probe answered. */
#include "soak_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_value(const void *a, const void *b)
{
	double x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return (x > y) - (x < y);
}

void probe_note_soak(struct probe_watch *watch, const struct sample *sample)
{
	/* Also those in which the host was the limit: the probe asks what this host and drive sustain together. */
	if (sample->phase != PHASE_SOAK || sample->state != SAMPLE_MEASURED || !sample->elapsed_ns ||
		sample->flags & SAMPLE_FLAG_PARTIAL)
		return;
	watch->recent[watch->next] = (double)(sample->write_ios + sample->read_ios) * 1e9 /
				     (double)sample->elapsed_ns;
	watch->next = (watch->next + 1) % PROBE_RECENT;
	if (watch->count < PROBE_RECENT)
		watch->count++;
}

double probe_sustained(const struct probe_watch *watch)
{
	double sorted[PROBE_RECENT];

	if (!watch->count)
		return NAN;
	memcpy(sorted, watch->recent, watch->count * sizeof(sorted[0]));
	qsort(sorted, watch->count, sizeof(sorted[0]), by_value);
	return sorted[(watch->count - 1) / 2];
}

void probe_begin_step(struct probe_watch *watch)
{
	memset(&watch->lat, 0, sizeof(watch->lat));
	watch->ios = watch->elapsed_ns = watch->stall_ns = 0;
}

void probe_note_step(struct probe_watch *watch, const struct sample *sample)
{
	if (sample->flags & SAMPLE_FLAG_PARTIAL)
		return;
	(void)hist_decode_add(sample->hist, sample->hist_bytes, &watch->lat);
	watch->ios += sample->write_ios + sample->read_ios;
	watch->elapsed_ns += sample->elapsed_ns;
	if (sample->stall_ns != SAMPLE_UNKNOWN && sample->stall_ns > watch->stall_ns)
		watch->stall_ns = sample->stall_ns;
}

void probe_step_json(const struct probe_watch *watch, unsigned step, double sustained, struct text *out)
{
	static const struct {
		const char *key;
		double pct;
	} percentiles[] = { { "lat_p50_ns", 50 }, { "lat_p90_ns", 90 }, { "lat_p99_ns", 99 },
		{ "lat_p999_ns", 99.9 }, { "lat_p9999_ns", 99.99 }, { "lat_max_ns", 100 } };
	const double share = run_probe_share[step];
	struct json json;

	json_init(&json, out);
	json_object_open(&json);
	json_put_string(&json, "kind", share > 0 ? "open-loop" : "depth-1");
	json_put_double(&json, "share_of_median", share > 0 ? share : NAN);
	json_put_double(&json, "intended_ios_per_s", share > 0 ? share * sustained : NAN);
	json_put_double(&json, "ios_per_s",
		watch->elapsed_ns ? (double)watch->ios * 1e9 / (double)watch->elapsed_ns : NAN);
	json_put_double(&json, "measured_s", (double)watch->elapsed_ns / 1e9);
	for (size_t i = 0; i < sizeof(percentiles) / sizeof(percentiles[0]); i++)
		json_put_u64(&json, percentiles[i].key, hist_percentile_ns(&watch->lat, percentiles[i].pct));
	json_put_u64(&json, "stall_ns", watch->elapsed_ns ? watch->stall_ns : JSON_UNKNOWN_U64);
	json_object_close(&json);
}
