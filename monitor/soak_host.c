/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Was the host the limit of a drive's sample? Gathers the measures of measure/hostload.h for measure/hostlimit.h. */
#include "soak_private.h"

#include <math.h>

void drive_begin_host(struct drive *drive)
{
	const struct target_facts *facts = keeper_get_facts(drive->keeper);
	struct hostload_interval begun;

	hostload_set_disks(drive->hostload, facts->disks, facts->disk_count);
	hostload_take(drive->hostload, NULL, 0, 0, &begun);
}

static void sample_put(struct sample *sample, const struct hostload_interval *host)
{
	sample->run_delay_share = host->run_delay_share;
	sample->steal_share = host->steal_share;
	sample->throttled_ns = host->throttled_ns;
	sample->device_lat_mean_ns = isnan(host->device_lat_mean_ns)
					     ? SAMPLE_UNKNOWN
					     : (uint64_t)llround(host->device_lat_mean_ns);
}

/* Only whole samples of the soak: in others the queue is not meant to be full, and they do not count anyway. */
static bool is_judged(const struct drive *drive)
{
	const struct sample *sample = &drive->sample;

	return sample->phase == PHASE_SOAK && !(sample->flags & SAMPLE_FLAG_PARTIAL) &&
	       (sample->state == SAMPLE_MEASURED || sample->state == SAMPLE_ZERO) &&
	       sampler_get_engine(drive->sampler);
}

void drive_judge_host(struct drive *drive)
{
	const struct target_facts *facts = keeper_get_facts(drive->keeper);
	struct engine *engine = sampler_get_engine(drive->sampler);
	struct sample *sample = &drive->sample;
	pid_t ids[HOSTLOAD_THREADS_MAX];
	unsigned count = engine ? engine_thread_ids(engine, ids, HOSTLOAD_THREADS_MAX) : 0;
	struct hostload_interval host;

	hostload_take(drive->hostload, ids, count, sample->elapsed_ns, &host);
	sample_put(sample, &host);
	if (!is_judged(drive))
		return;
	hostlimit_decide(
		&(struct hostlimit_input){
			.elapsed_ns = sample->elapsed_ns,
			.completions = sample->write_ios + sample->read_ios,
			.depth = drive->queue_depth,
			.threads = drive->config->threads,
			.is_full_meant = !drive->config->fsync_every && !drive->config->rate_bytes_per_s,
			.nr_requests = facts->disk_count == 1 ? facts->disks[0].nr_requests : -1,
			.inflight_mean = sample->inflight_mean,
			.lat_mean_ns = sample->lat_mean_ns == SAMPLE_UNKNOWN ? NAN
									     : (double)sample->lat_mean_ns,
			.device_lat_mean_ns = host.device_lat_mean_ns,
			.device_ios = host.device_ios,
			.cpu_share = sample->host_cpu_share,
			.run_delay_share = host.run_delay_share,
			.wait_mean_ns = host.wait_mean_ns,
			.steal_share = host.steal_share,
			.throttled_ns = host.throttled_ns,
		},
		&drive->host);
	if (drive->host.is_limited)
		sample->flags |= SAMPLE_FLAG_HOST_LIMIT;
}
