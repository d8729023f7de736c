/* SPDX-License-Identifier: GPL-2.0-or-later */
/* serve_fixture FOLDER [SAMPLES] - a server over made-up runs, for the browser test and for looking at the pages:
 * six drives in their states, a fill, a soak with real zeros, a pause and a time when the service was down; the
 * fifth mixes reads in, commits, was probed and verified with findings, the sixth has only host-limited samples; the
 * first drive gets a new sample each second until standard input closes. Prints the URL first. */
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alert/board.h"
#include "archive/journal.h"
#include "archive/rrdfile.h"
#include "base/clock.h"
#include "engine/hist.h"
#include "web/server.h"

#define DRIVES	      6
#define MIB	      1048576.0
#define INTERVAL_S    1
#define FILL_COUNT    60
#define LIMITED_COUNT 40
#define PROBE_COUNT   40 /* then as many samples of verification */
#define COLLAPSED     1
#define COLLAPSE_S    60
#define MIXED	      4
#define LIMITED	      5

static char nothing[] = "", loopback[] = "127.0.0.1:0", root[] = "/";
static char *listen_items[] = { loopback };
static struct config_drive drives[DRIVES];
static struct config config;

static const struct made {
	char *name;
	const char *label, *model, *serial, *reason;
	double level_mib, spread_mib;
	enum run_status status;
	enum run_phase phase;
} made[DRIVES] = {
	{ (char[]){ "corvid" }, "", "Corvid 9E3 3.84 TB", "CV9E3-2231-0081C7", "", 1210, 40, RUN_RUNNING,
		PHASE_SOAK },
	{ (char[]){ "halden" }, "Halden, slot 2", "Halden DC420 <script>alert(1)</script>", "HD-77B2", "",
		1040, 12, RUN_DONE, PHASE_DONE },
	{ (char[]){ "borealis" }, "", "Borealis M1 1 TB", "BM1-0417",
		"No completion for 47 s with 32 in flight; the kernel reports a hard resetting link. Other "
		"drives go on.",
		480, 90, RUN_STALLED, PHASE_SOAK },
	{ (char[]){ "tessera" }, "", "", "", "start = manual: waits for drivesoak start", NAN, NAN, RUN_IDLE,
		PHASE_PREPARE },
	{ (char[]){ "mistral" }, "", "Mistral P5 2 TB", "MP5-1120", "the verification found bad blocks", 610,
		30, RUN_FAILED, PHASE_VERIFY },
	{ (char[]){ "sparrow" }, "small host", "Sparrow 1 TB", "SP-3", "", 700, 60, RUN_DONE, PHASE_DONE },
};

static uint64_t seed = 88172645463325252;

static double noise(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (double)(seed >> 11) * 0x1p-52 - 1;
}

static void add_latencies(struct sample *sample, double p50_us)
{
	static struct hist hist;

	memset(&hist, 0, sizeof(hist));
	for (int i = 0; i < 200; i++)
		hist.counts[hist_index((uint64_t)(p50_us * 1000 * (1 + i * i / 20000.0)))] += 5;
	sample->lat_p50_ns = hist_percentile_ns(&hist, 50);
	sample->lat_p90_ns = hist_percentile_ns(&hist, 90);
	sample->lat_p99_ns = hist_percentile_ns(&hist, 99);
	sample->lat_p999_ns = hist_percentile_ns(&hist, 99.9);
	sample->lat_p9999_ns = sample->lat_max_ns = hist_percentile_ns(&hist, 100) * 3;
	sample->hist_bytes = (uint16_t)hist_encode(&hist, sample->hist);
}

/* Sample @i of @count: fill, soak, a pause and one long down row; the numbers are the drive's own. */
static struct sample make_sample(const struct made *drive, int64_t t_ms, int i, int count)
{
	struct sample sample = { .t_ms = t_ms,
		.elapsed_ns = INTERVAL_S * NS_PER_S,
		.state = SAMPLE_MEASURED,
		.phase = PHASE_SOAK,
		.inflight_mean = 128,
		.host_cpu_share = 0.1,
		.steal_share = 0,
		.temp_c = 41,
		.run_delay_share = 0.004,
		.device_lat_mean_ns = SAMPLE_UNKNOWN,
		.lat_mean_ns = SAMPLE_UNKNOWN,
		.commits = SAMPLE_UNKNOWN,
		.commit_p50_ns = SAMPLE_UNKNOWN,
		.commit_p99_ns = SAMPLE_UNKNOWN };
	double mib = drive->level_mib + drive->spread_mib * (noise() + noise()) / 2;

	if (i < FILL_COUNT) {
		sample.state = SAMPLE_FILLING;
		sample.phase = PHASE_FILL;
		mib *= 1.3;
	} else if (i % 97 == 40) {
		mib *= 0.55; /* what a median hides */
	}
	if (i >= count * 3 / 4 && i < count * 3 / 4 + LIMITED_COUNT) {
		sample.flags = SAMPLE_FLAG_HOST_LIMIT;
		sample.run_delay_share = 0.31;
		sample.lat_mean_ns = 782000;
		sample.device_lat_mean_ns = 511000;
	}
	if (i >= count * 2 / 3 && i < count * 2 / 3 + 3) {
		sample.state = SAMPLE_ZERO;
		sample.stall_ns = (unsigned)(i - count * 2 / 3 + 1) * NS_PER_S;
		mib = 0;
	}
	sample.write_bytes = (uint64_t)(mib * MIB / 16384) * 16384 * INTERVAL_S;
	sample.write_ios = sample.write_bytes / 16384;
	sample.lat_p50_ns = sample.lat_p90_ns = sample.lat_p99_ns = sample.lat_p999_ns = sample.lat_p9999_ns =
		sample.lat_max_ns = SAMPLE_UNKNOWN;
	if (mib > 0)
		add_latencies(&sample, 128 * 16384 / (mib * MIB) * 1e6);
	return sample;
}

/* Half of it reads, commits beside them, a flush now and then; probe and verification at the end. */
static void mix(struct sample *sample, int i, int count)
{
	sample->commits = sample->commit_p50_ns = sample->commit_p99_ns = SAMPLE_UNKNOWN;
	if (sample->phase == PHASE_FILL)
		return;
	sample->read_bytes = sample->write_bytes / 2;
	sample->read_ios = sample->write_ios / 2;
	if (i % 120 == 0)
		sample->flags |= SAMPLE_FLAG_FLUSH;
	sample->commits = 2400 + (uint64_t)(i % 7) * 10;
	sample->commit_p50_ns = 310000;
	sample->commit_p99_ns = 2150000;
	if (i < count - 2 * PROBE_COUNT)
		return;
	sample->phase = PHASE_PROBE;
	sample->write_bytes /= 2;
	sample->read_bytes /= 2;
	if (i < count - PROBE_COUNT)
		return;
	sample->phase = PHASE_VERIFY;
	sample->state = SAMPLE_VERIFYING;
	sample->read_bytes = 1500 * (uint64_t)MIB;
	sample->write_bytes = sample->write_ios = 0;
	sample->commits = sample->commit_p50_ns = sample->commit_p99_ns = SAMPLE_UNKNOWN;
}

static void adapt(struct sample *sample, const struct made *drive, int i, int count)
{
	if (drive == &made[MIXED])
		mix(sample, i, count);
	if (drive == &made[COLLAPSED] && i >= count * 2 / 3 && i < count * 2 / 3 + COLLAPSE_S)
		sample->write_bytes /= 5;
	if (drive != &made[LIMITED] || sample->phase != PHASE_SOAK)
		return;
	sample->flags |= SAMPLE_FLAG_HOST_LIMIT;
	sample->run_delay_share = 0.22;
}

static struct sample make_down(int64_t t_ms, unsigned seconds)
{
	struct sample sample;

	sample_init(&sample);
	sample.t_ms = t_ms;
	sample.elapsed_ns = seconds * NS_PER_S;
	sample.phase = PHASE_SOAK;
	return sample;
}

/* Settings and outcomes of the run that was probed and verified. */
static void add_outcomes(struct run_record *run)
{
	static const char config_json[] =
		"{\"workload\":\"random-mixed\",\"block_bytes\":16384,\"queue_depth\":128,\"read_pct\":33,"
		"\"fsync_every\":8,\"payload\":\"zeros\",\"verify\":\"end\"}";
	static const char probe_json[] =
		"{\"kind\":\"depth-1\",\"share_of_median\":null,\"intended_ios_per_s\":null,\"ios_per_s\":"
		"11904,"
		"\"lat_p50_ns\":80000,\"lat_p99_ns\":120000,\"lat_p999_ns\":250000,\"lat_max_ns\":4200000},"
		"{\"kind\":\"open-loop\",\"share_of_median\":0.5,\"intended_ios_per_s\":29500,\"ios_per_s\":"
		"29500,"
		"\"lat_p50_ns\":95000,\"lat_p99_ns\":310000,\"lat_p999_ns\":910000,\"lat_max_ns\":6100000},"
		"{\"kind\":\"open-loop\",\"share_of_median\":0.7,\"intended_ios_per_s\":41300,\"ios_per_s\":"
		"41290,"
		"\"lat_p50_ns\":120000,\"lat_p99_ns\":740000,\"lat_p999_ns\":2900000,\"lat_max_ns\":9800000},"
		"{\"kind\":\"open-loop\",\"share_of_median\":0.9,\"intended_ios_per_s\":53100,\"ios_per_s\":"
		"52011,"
		"\"lat_p50_ns\":410000,\"lat_p99_ns\":18000000,\"lat_p999_ns\":61000000,\"lat_max_ns\":"
		"93000000}";
	static const char verify_json[] =
		"{\"t_s\":1796077200,\"read_bytes\":75000000512,\"blocks\":4577636,\"ledger_coverage_pct\":"
		"98.7,"
		"\"corrupt\":2,\"torn\":0,\"misdirected\":0,\"stale\":1,\"unreadable\":0,\"error\":null}";

	(void)snprintf(run->config_json, sizeof(run->config_json), "%s", config_json);
	(void)snprintf(run->probe_json, sizeof(run->probe_json), "%s", probe_json);
	(void)snprintf(run->verify_json, sizeof(run->verify_json), "%s", verify_json);
}

static void make_run(struct run_record *run, const struct made *drive, int64_t started_ms, int64_t ended_ms)
{
	*run = (struct run_record){ .source = SOURCE_OWN,
		.progress = { .phase = drive->phase, .status = drive->status, .extent_bytes = 75000000000 },
		.started_ms = started_ms,
		.soak_started_ms = started_ms + FILL_COUNT * INTERVAL_S * 1000,
		.ended_ms = drive->status == RUN_DONE ? ended_ms : INT64_MIN,
		.interval_s = INTERVAL_S,
		.capacity_bytes = 100000000000,
		.engine = "io_uring",
		.direct = "STATX_DIOALIGN, counters agree",
		.pre_state = "purged",
		.price_amount = NAN,
		.config_json = "{\"workload\":\"random-write\",\"block_bytes\":16384,\"threads\":8,\"queue_"
			       "depth\":128,"
			       "\"duration_s\":180000,\"payload\":\"random\",\"fill_pct\":75}",
		.host_json = "{\"cpu\":\"EPYC <7313P> & "
			     "co\",\"memory_bytes\":137438953472,\"kernel\":\"6.1.0-31-amd64\","
			     "\"scheduler\":\"none\"}" };

	(void)snprintf(run->drive, sizeof(run->drive), "%s", drive->name);
	(void)snprintf(run->label, sizeof(run->label), "%s", drive->label);
	(void)snprintf(run->model, sizeof(run->model), "%s", drive->model);
	(void)snprintf(run->serial, sizeof(run->serial), "%s", drive->serial);
	(void)snprintf(run->reason, sizeof(run->reason), "%s", drive->reason);
	if (drive == &made[MIXED])
		add_outcomes(run);
	run_id_make(drive->name, started_ms, run->id);
}

static void must(int rc, const char *what)
{
	if (rc == 0)
		return;
	(void)fprintf(stderr, "serve_fixture: %s: %s\n", what, strerror(-rc));
	exit(1);
}

static void put_event(struct journal *journal, const struct run_record *run, int64_t t_ms,
	enum event_severity severity, const char *kind, const char *text)
{
	struct event_record event = { .t_ms = t_ms,
		.until_ms = severity == EVENT_CRITICAL ? t_ms + 3000 : INT64_MIN,
		.severity = severity };

	(void)snprintf(event.kind, sizeof(event.kind), "%s", kind);
	(void)snprintf(event.drive, sizeof(event.drive), "%s", run->drive);
	(void)snprintf(event.run, sizeof(event.run), "%s", run->id);
	(void)snprintf(event.text, sizeof(event.text), "%s", text);
	must(journal_put_event(journal, &event), "event");
}

/* What the service's deciders would have told. */
static void put_findings(struct journal *journal, const struct made *drive, const struct run_record *run,
	int64_t collapse_ms, int64_t end_ms)
{
	struct event_record event = { .t_ms = collapse_ms,
		.until_ms = collapse_ms + COLLAPSE_S * 1000,
		.severity = EVENT_CRITICAL,
		.kind = "collapse",
		.text = "208 MiB/s for 60 s, 20 % of the baseline of 1040 MiB/s; worst 202 MiB/s",
		.cause = "thermal",
		.evidence = "composite temperature within 2 K of the drive's limit (84 \xc2\xb0"
			    "C) since 30 s before the fall; thermal-management counter 2 to 3",
		.count = 1 };

	if (drive == &made[COLLAPSED])
		put_event(journal, run, run->soak_started_ms + 30000, EVENT_INFO, "steady",
			"settled: 2.4 extents written, the last 5 rounds of 5 min range over 3.1 % and drift "
			"by 0.4 % "
			"of their mean");
	if (drive->status == RUN_STALLED) {
		event.t_ms = end_ms - 47000;
		event.until_ms = INT64_MIN;
		(void)snprintf(event.kind, sizeof(event.kind), "stall");
		(void)snprintf(event.text, sizeof(event.text), "nothing completed for 47 s");
		(void)snprintf(event.cause, sizeof(event.cause), "reset");
		(void)snprintf(event.evidence, sizeof(event.evidence),
			"the kernel: \"ata7: hard resetting link\", 8 s after the fall began");
	} else if (drive != &made[COLLAPSED]) {
		return;
	}
	(void)snprintf(event.drive, sizeof(event.drive), "%s", run->drive);
	(void)snprintf(event.run, sizeof(event.run), "%s", run->id);
	(void)snprintf(event.key, sizeof(event.key), "fall-%lld", (long long)event.t_ms);
	must(journal_put_event(journal, &event), "event");
}

static void fill_journal(
	struct journal *journal, const struct made *drive, struct run_record *run, int count, int64_t end_ms)
{
	int64_t started_ms = end_ms - (int64_t)count * INTERVAL_S * 1000;
	int gap = count / 20;

	make_run(run, drive, started_ms, end_ms);
	must(journal_begin(journal), "begin");
	must(journal_put_run(journal, run), "run");
	for (int i = 0; i < count; i++) {
		int64_t t_ms = started_ms + (int64_t)(i + 1) * INTERVAL_S * 1000;
		struct sample sample = make_sample(drive, t_ms, i, count);

		adapt(&sample, drive, i, count);
		if (i >= count / 2 && i < count / 2 + gap - 1)
			continue;
		if (i == count / 2 + gap - 1)
			sample = make_down(t_ms, (unsigned)gap * INTERVAL_S);
		must(journal_put_sample(journal, run->id, &sample), "sample");
		if (sample.write_bytes != SAMPLE_UNKNOWN)
			run->written_bytes += sample.write_bytes;
	}
	put_event(journal, run, started_ms, EVENT_INFO, "phase", "Fill started after discard");
	put_event(journal, run, run->soak_started_ms, EVENT_INFO, "phase", "Soak started");
	put_event(journal, run, started_ms + (int64_t)(count / 2 + gap) * 1000, EVENT_WARNING, "resumed",
		"The service was down; 256 of 256 blocks carried our stamps");
	put_event(journal, run, started_ms + (int64_t)(count * 2 / 3) * 1000, EVENT_CRITICAL, "stall",
		"No completion for 3 s <b>with</b> 128 in flight");
	put_findings(journal, drive, run, started_ms + (int64_t)(count * 2 / 3) * 1000, end_ms);
	if (drive == &made[MIXED])
		put_event(journal, run, end_ms - 9000, EVENT_CRITICAL, "verify",
			"corrupt block at byte 49152 of the target: write 7 was acknowledged, write 3 is "
			"there");
	must(journal_put_run(journal, run), "run");
	must(journal_commit(journal), "commit");
}

static void publish(
	struct status_board *board, size_t index, const struct run_record *run, const struct sample *last)
{
	const struct made *drive = &made[index];
	struct drive_status status = { .status = drive->status,
		.phase = drive->phase,
		.progress = drive->status == RUN_RUNNING ? 0.35 : NAN,
		.eta_ns = drive->status == RUN_RUNNING ? 117000 * NS_PER_S : UINT64_MAX,
		.write_bytes_per_s = last ? (double)last->write_bytes / INTERVAL_S : NAN,
		.read_bytes_per_s = last ? 0 : NAN,
		.baseline_bytes_per_s = last && run->ended_ms == INT64_MIN ? drive->level_mib * MIB : NAN,
		.lat_p99_ns = last ? last->lat_p99_ns : UINT64_MAX,
		.temp_c = last ? last->temp_c : NAN,
		.percent_used = NAN,
		.written_bytes = run ? run->written_bytes : UINT64_MAX,
		.last_sample_ms = last ? last->t_ms : INT64_MIN,
		.health_read_ms = INT64_MIN,
		.settled_ms = INT64_MIN };

	(void)snprintf(status.name, sizeof(status.name), "%s", drive->name);
	(void)snprintf(status.label, sizeof(status.label), "%s", drive->label);
	(void)snprintf(status.model, sizeof(status.model), "%s", drive->model);
	(void)snprintf(status.serial, sizeof(status.serial), "%s", drive->serial);
	(void)snprintf(status.reason, sizeof(status.reason), "%s", drive->reason);
	(void)snprintf(status.run, sizeof(status.run), "%s", run ? run->id : "");
	status_publish(board, index, &status);
}

static void sync_view(struct journal *journal, const char *folder, const struct run_record *run)
{
	struct rrdfile *file;
	char why[RRDFILE_WHY_MAX];
	bool rebuilt;

	must(rrdfile_new(folder, run->id, run->interval_s, &file), "rrd");
	if (rrdfile_sync(file, journal, 86400, &rebuilt, why) < 0)
		(void)fprintf(stderr, "serve_fixture: %s\n", why);
	rrdfile_free(file);
}

static void init_config(char *folder)
{
	for (size_t i = 0; i < DRIVES; i++)
		drives[i] = (struct config_drive){ .name = made[i].name, .label = nothing, .group = nothing };
	config = (struct config){ .path = nothing,
		.state_directory = folder,
		.runtime_directory = nothing,
		.sample_interval_ns = INTERVAL_S * NS_PER_S,
		.alerts = { .collapse_below_pct = 50 },
		.web = { .listen = { listen_items, 1 }, .base_path = root, .token_file = nothing },
		.drives = drives,
		.drive_count = DRIVES };
}

/* A sample each second, on the second, until standard input closes. */
static void go_on(struct journal *journal, struct status_board *board, struct run_record *run, int count)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };

	for (int i = count;; i++) {
		int64_t now_ms = clock_wall_ms();
		struct sample sample;

		if (poll(&input, 1, (int)(1000 - now_ms % 1000)) != 0)
			return;
		sample = make_sample(&made[0], (now_ms / 1000 + 1) * 1000, i, count);
		run->written_bytes += sample.write_bytes;
		must(journal_put_run(journal, run), "run");
		(void)journal_put_sample(journal, run->id, &sample);
		publish(board, 0, run, &sample);
	}
}

/* One that fires, one that is near, and a channel that fails. */
static void publish_alerts(struct alert_board *board)
{
	struct alert alert = { .rule = ALERT_STALL,
		.drive = "borealis",
		.is_firing = true,
		.is_told = true,
		.severity = EVENT_CRITICAL,
		.since_ms = clock_wall_ms() - 47000,
		.until_ms = INT64_MIN,
		.muted_until_ms = INT64_MIN,
		.value = 47,
		.threshold = 20,
		.margin_pct = -135,
		.text = "nothing has completed for 47 s <b>with</b> 32 in flight",
		.cause = "reset or errors",
		.evidence = "ata3: hard resetting link" };
	const struct channel_status channel = { .name = "ops",
		.kind = "webhook",
		.last_ms = clock_wall_ms() - 5000,
		.is_failing = true,
		.result = "HTTP 502: <b>with</b> a long explanation of the proxy that does not reach what is "
			  "behind it",
		.queued = 2 };

	alert_board_put(board, 2, &alert);
	alert.rule = ALERT_TEMPERATURE;
	alert.is_firing = false;
	alert.value = 63;
	alert.threshold = 70;
	alert.margin_pct = 10;
	alert_board_put(board, 2, &alert);
	alert_board_put_channel(board, 0, &channel);
}

int main(int argc, char **argv)
{
	static struct run_record runs[DRIVES];
	int count = argc > 2 ? atoi(argv[2]) : 1200;
	struct web_options options = { .config = &config };
	struct status_board *board;
	struct alert_board *alerts;
	struct journal *journal;
	struct text why = TEXT_INIT;
	struct web *web;
	char path[4096];

	if (argc < 2 || count < 100)
		return 64;
	init_config(argv[1]);
	(void)snprintf(path, sizeof(path), "%s/journal.db", argv[1]);
	must(journal_open(path, false, &journal), path);
	(void)snprintf(path, sizeof(path), "%s/runs", argv[1]);
	(void)mkdir(path, 0777);
	must(status_new(DRIVES, &board), "status");
	must(alert_board_new(DRIVES, 1, &alerts), "alerts");
	publish_alerts(alerts);
	for (size_t i = 0; i < DRIVES; i++) {
		struct sample last;
		bool ran = !isnan(made[i].level_mib);

		if (ran) {
			fill_journal(journal, &made[i], &runs[i], count, clock_wall_ms() / 1000 * 1000);
			sync_view(journal, argv[1], &runs[i]);
			must(journal_get_last_sample(journal, runs[i].id, &last), "last");
			if (made[i].status == RUN_STALLED)
				last.write_bytes = 0;
		}
		publish(board, i, ran ? &runs[i] : NULL, ran ? &last : NULL);
	}
	options.board = board;
	options.alert_board = alerts;
	options.started_boot_ns = clock_boot_ns();
	if (web_start(&options, &web, &why) < 0) {
		(void)fprintf(stderr, "serve_fixture: %s\n", text_string(&why));
		return 1;
	}
	(void)printf("%s\n", web_url(web, 0));
	(void)fflush(stdout);
	go_on(journal, board, &runs[0], count);
	web_stop(web);
	status_free(board);
	alert_board_free(alerts);
	journal_close(journal);
	return 0;
}
