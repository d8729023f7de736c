/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "measure/sampler.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What was completed and not yet put into a sample. */
struct pending {
	uint64_t write_bytes, write_ios, read_bytes, read_ios, errors;
	uint64_t inflight_ns, cpu_ns, stall_ns, lat_sum_ns;
	uint64_t commits;
	struct hist lat, commit_lat;
};

struct sampler {
	struct engine *engine;
	struct engine_totals before, now; /* of the attached engine */
	struct pending pending;
	struct sampler_sums sums;
};

int sampler_new(struct sampler **out)
{
	struct sampler *sampler = calloc(1, sizeof(*sampler));

	if (!sampler)
		return -ENOMEM;
	*out = sampler;
	return 0;
}

void sampler_free(struct sampler *sampler)
{
	free(sampler);
}

void sampler_attach(struct sampler *sampler, struct engine *engine)
{
	sampler->engine = engine;
	memset(&sampler->before, 0, sizeof(sampler->before));
}

static void longest(uint64_t *longest_ns, uint64_t ns)
{
	if (ns > *longest_ns)
		*longest_ns = ns;
}

/* Move what the engine did since the last look into pending. */
static void collect(struct sampler *sampler)
{
	struct engine_totals *before = &sampler->before, *now = &sampler->now;
	struct pending *pending = &sampler->pending;

	if (!sampler->engine)
		return;
	engine_read(sampler->engine, now);
	pending->write_bytes += now->write_bytes - before->write_bytes;
	pending->write_ios += now->write_ios - before->write_ios;
	pending->read_bytes += now->read_bytes - before->read_bytes;
	pending->read_ios += now->read_ios - before->read_ios;
	pending->errors += now->errors - before->errors;
	pending->inflight_ns += now->inflight_ns - before->inflight_ns;
	pending->cpu_ns += now->cpu_ns > before->cpu_ns ? now->cpu_ns - before->cpu_ns : 0;
	pending->lat_sum_ns += now->lat_sum_ns - before->lat_sum_ns;
	pending->commits += now->commits - before->commits;
	for (unsigned i = 0; i < HIST_BUCKETS; i++) {
		pending->lat.counts[i] += now->lat.counts[i] - before->lat.counts[i];
		pending->commit_lat.counts[i] += now->commit_lat.counts[i] - before->commit_lat.counts[i];
	}
	longest(&pending->stall_ns, engine_take_longest_stall_ns(sampler->engine));
	sampler->sums.write_bytes += now->write_bytes - before->write_bytes;
	sampler->sums.read_bytes += now->read_bytes - before->read_bytes;
	sampler->sums.errors += now->errors - before->errors;
	*before = *now;
}

void sampler_detach(struct sampler *sampler)
{
	collect(sampler);
	sampler->engine = NULL;
}

struct engine *sampler_get_engine(const struct sampler *sampler)
{
	return sampler->engine;
}

static void put_latencies(const struct hist *lat, struct sample *out)
{
	out->lat_p50_ns = hist_percentile_ns(lat, 50);
	out->lat_p90_ns = hist_percentile_ns(lat, 90);
	out->lat_p99_ns = hist_percentile_ns(lat, 99);
	out->lat_p999_ns = hist_percentile_ns(lat, 99.9);
	out->lat_p9999_ns = hist_percentile_ns(lat, 99.99);
	out->lat_max_ns = hist_percentile_ns(lat, 100);
	out->hist_bytes = (uint16_t)hist_encode(lat, out->hist);
}

void sampler_take(struct sampler *sampler, uint64_t elapsed_ns, struct sample *out)
{
	struct pending *pending = &sampler->pending;

	collect(sampler);
	/* A stall that is still open counts as long as it is by now. */
	if (sampler->engine && sampler->now.read_ns > sampler->now.last_completion_ns)
		longest(&pending->stall_ns, sampler->now.read_ns - sampler->now.last_completion_ns);
	memset(out, 0, sizeof(*out));
	out->elapsed_ns = elapsed_ns;
	out->write_bytes = pending->write_bytes;
	out->write_ios = pending->write_ios;
	out->read_bytes = pending->read_bytes;
	out->read_ios = pending->read_ios;
	out->errors = pending->errors;
	out->stall_ns = pending->stall_ns;
	out->inflight_mean = elapsed_ns ? (double)pending->inflight_ns / (double)elapsed_ns : NAN;
	out->host_cpu_share = elapsed_ns ? (double)pending->cpu_ns / (double)elapsed_ns : NAN;
	out->steal_share = NAN;
	out->temp_c = out->percent_used = out->spare_pct = NAN;
	out->media_errors = SAMPLE_UNKNOWN;
	out->run_delay_share = NAN;
	out->device_lat_mean_ns = out->throttled_ns = SAMPLE_UNKNOWN;
	out->lat_mean_ns = pending->write_ios + pending->read_ios
				   ? pending->lat_sum_ns / (pending->write_ios + pending->read_ios)
				   : SAMPLE_UNKNOWN;
	out->commits = pending->commits;
	out->commit_p50_ns = hist_percentile_ns(&pending->commit_lat, 50);
	out->commit_p99_ns = hist_percentile_ns(&pending->commit_lat, 99);
	put_latencies(&pending->lat, out);
	memset(pending, 0, sizeof(*pending));
}

uint64_t sampler_written_now(struct sampler *sampler)
{
	collect(sampler);
	return sampler->sums.write_bytes;
}

struct sampler_sums sampler_get_sums(const struct sampler *sampler)
{
	return sampler->sums;
}
