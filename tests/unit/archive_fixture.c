/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "archive_fixture.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct sample fixture_sample(int64_t t_ms, uint32_t interval_s, uint64_t write_bytes)
{
	return (struct sample){
		.t_ms = t_ms,
		.elapsed_ns = interval_s * 1000000000ULL,
		.state = SAMPLE_MEASURED,
		.phase = PHASE_SOAK,
		.write_bytes = write_bytes,
		.write_ios = write_bytes / 16384,
		.read_bytes = 3,
		.read_ios = 2,
		.errors = 1,
		.lat_p50_ns = 50000,
		.lat_p90_ns = 90000,
		.lat_p99_ns = 99000,
		.lat_p999_ns = 99900,
		.lat_p9999_ns = 99990,
		.lat_max_ns = 123456789,
		.stall_ns = 7000,
		.inflight_mean = 31.5,
		.host_cpu_share = 0.25,
		.steal_share = 0.125,
		.temp_c = 41,
		.percent_used = 7,
		.spare_pct = 98,
		.media_errors = 13,
		.run_delay_share = 0.0625,
		.device_lat_mean_ns = 48000,
		.lat_mean_ns = 52000,
		.throttled_ns = 9000,
		.commits = 11,
		.commit_p50_ns = 71000,
		.commit_p99_ns = 72000,
	};
}

struct sample fixture_down(int64_t t_ms, uint64_t elapsed_ns)
{
	struct sample sample;

	sample_init(&sample);
	sample.t_ms = t_ms;
	sample.elapsed_ns = elapsed_ns;
	sample.phase = PHASE_SOAK;
	return sample;
}

void fixture_run(struct run_record *run, const char *drive, uint32_t interval_s)
{
	*run = (struct run_record){
		.label = "slot 3",
		.model = "MODEL <7>",
		.serial = "S1234567",
		.firmware = "FW01",
		.source = SOURCE_OWN,
		.progress = { PHASE_SOAK, RUN_RUNNING, 1000, 900, 850, 800, 700, 600, 3, 500 },
		.started_ms = FIXTURE_START_MS - 60000,
		.soak_started_ms = FIXTURE_START_MS,
		.ended_ms = INT64_MIN,
		.interval_s = interval_s,
		.seed = 0xfedcba9876543210, /* above 2^63: seeds use all bits */
		.capacity_bytes = 480103981056,
		.written_bytes = 0,
		.reason = "soaking",
		.engine = "io_uring",
		.direct = "STATX_DIOALIGN",
		.pre_state = "trimmed",
		.boot_id = "b00t",
		.probe_ios_per_s = 4321.5,
		.probe_json = "{\"kind\":\"depth-1\"},{\"kind\":\"open-loop\"}",
		.verify_json = "{\"corrupt\":2}",
		.price_amount = 450.5,
		.price_currency = "USD",
		.frozen = "block-size=16KiB\nthreads=8\n",
		.config_json = "{\"block_bytes\":16384,\"workload\":\"random-write\"}",
		.host_json = "{\"cpu\":\"CPU <X> & co\",\"memory_bytes\":17179869184}",
	};
	(void)snprintf(run->drive, sizeof(run->drive), "%s", drive);
	run_id_make(drive, run->started_ms, run->id);
}

struct event_record fixture_event(int64_t t_ms, const char *run, const char *text)
{
	struct event_record event = {
		.t_ms = t_ms,
		.until_ms = INT64_MIN,
		.kind = "phase",
		.severity = EVENT_WARNING,
		.drive = "evo",
		.cause = "host",
		.evidence = "steal 4 %",
	};

	(void)snprintf(event.run, sizeof(event.run), "%s", run);
	(void)snprintf(event.text, sizeof(event.text), "%s", text);
	return event;
}

char *fixture_folder_new(void)
{
	const char *base = getenv("TMPDIR");
	char *folder;

	if (asprintf(&folder, "%s/drivesoak-test-XXXXXX", base ? base : "/tmp") < 0 || !mkdtemp(folder))
		abort();
	return folder;
}

static int remove_entry(const char *path, const struct stat *stat, int kind, struct FTW *walk)
{
	(void)stat;
	(void)kind;
	(void)walk;
	return remove(path);
}

void fixture_folder_remove(char *folder)
{
	(void)nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	free(folder);
}

uint64_t fixture_random(uint64_t *seed, uint64_t below)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed % below;
}
