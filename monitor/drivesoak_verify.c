/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "drivesoak_verify.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/sysfs.h"
#include "base/units.h"
#include "drivesoak_output.h"
#include "engine/engine.h"
#include "engine/payload.h"
#include "engine/verify.h"
#include "target/target.h"

#define LISTED_MAX 1000
#define LOOK_US	   200000
#define STOP_NS	   (60 * NS_PER_S)

/* Filled by the sweep's thread, read after it has ended. */
struct findings {
	struct verify_finding list[LISTED_MAX];
	size_t count;
};

static void finding_keep(void *arg, const struct verify_finding *finding)
{
	struct findings *findings = arg;

	if (findings->count < LISTED_MAX)
		findings->list[findings->count++] = *finding;
}

static struct ledger *ledger_find(const struct config *config, const struct config_drive *drive,
	const struct run_record *run, uint64_t tag)
{
	char path[600], boot_id[40], why[LEDGER_WHY_MAX] = "";
	struct ledger_setup setup = {
		.path = path,
		.run_tag = tag,
		.block_count = run->progress.fill_goal_bytes / drive->block_bytes,
		.block_bytes = drive->block_bytes,
		.memory_bytes = drive->ledger_bytes,
	};
	struct ledger *ledger = NULL;

	(void)snprintf(path, sizeof(path), "%s/runs/%s.ledger", config->state_directory, run->id);
	(void)sysfs_read_text(boot_id, sizeof(boot_id), "", "/proc/sys/kernel/random/boot_id");
	if (ledger_open(&setup, strcmp(boot_id, run->boot_id) != 0, &ledger, why) < 0)
		(void)fprintf(stderr,
			"drivesoak: only places and checksums are judged, not what was written last: %s\n",
			why);
	return ledger;
}

static void progress_show(const struct verify_progress *progress, uint64_t to_bytes, uint64_t from_ns)
{
	double seconds = (double)(clock_mono_ns() - from_ns) / 1e9;
	char rate[UNITS_TEXT_MAX];

	if (!isatty(STDERR_FILENO))
		return;
	units_print_rate_rounded((double)progress->done_bytes / seconds, rate);
	(void)fprintf(stderr, "\r%5.1f %%  %s ",
		to_bytes ? (double)progress->done_bytes * 100 / (double)to_bytes : 100.0, rate);
}

static void print_json(
	const struct verify_progress *progress, const struct findings *findings, double coverage)
{
	struct text text = TEXT_INIT;
	struct json json;

	json_init(&json, &text);
	json_object_open(&json);
	json_put_u64(&json, "read_bytes", progress->done_bytes);
	json_put_u64(&json, "blocks", progress->blocks);
	json_put_double(&json, "ledger_coverage_pct", coverage * 100);
	for (int i = VERIFY_GOOD + 1; i < VERIFY_VERDICT_COUNT; i++)
		json_put_u64(&json, verify_verdict_name((enum verify_verdict)i), progress->counts[i]);
	json_put_u64(&json, "ahead", progress->ahead_blocks);
	json_key(&json, "bad_blocks");
	json_array_open(&json);
	for (size_t i = 0; i < findings->count; i++) {
		json_object_open(&json);
		json_put_string(&json, "kind", verify_verdict_name(findings->list[i].verdict));
		json_put_u64(&json, "offset_bytes", findings->list[i].offset_bytes);
		json_put_u64(&json, "expected_sequence", findings->list[i].expected_sequence);
		json_put_u64(&json, "found_sequence", findings->list[i].found_sequence);
		json_object_close(&json);
	}
	json_array_close(&json);
	json_object_close(&json);
	(void)puts(text_string(&text));
	text_fini(&text);
}

static void print_text(
	const struct verify_progress *progress, const struct findings *findings, double coverage)
{
	char bytes[UNITS_TEXT_MAX];

	for (size_t i = 0; i < findings->count; i++)
		(void)printf("%s: block at byte %llu of the target\n",
			verify_verdict_name(findings->list[i].verdict),
			(unsigned long long)findings->list[i].offset_bytes);
	units_print_bytes_rounded((double)progress->done_bytes, bytes);
	(void)printf("read back %s, %llu blocks; the ledger knows %.1f %% of them\n", bytes,
		(unsigned long long)progress->blocks, coverage * 100);
	for (int i = VERIFY_GOOD + 1; i < VERIFY_VERDICT_COUNT; i++)
		(void)printf("  %-12s %llu\n", verify_verdict_name((enum verify_verdict)i),
			(unsigned long long)progress->counts[i]);
}

/* Until the sweep is over. 0 or negative errno. */
static int sweep(const struct verify_job *job, struct verify_progress *progress)
{
	char why[ENGINE_WHY_MAX] = "";
	struct verify *verify = NULL;
	uint64_t from_ns = clock_mono_ns();
	int rc = verify_start(job, &verify, why);

	if (rc < 0) {
		(void)fprintf(stderr, "drivesoak: %s\n", why);
		return rc;
	}
	do {
		(void)usleep(LOOK_US);
		verify_read(verify, progress);
		progress_show(progress, job->to_bytes, from_ns);
	} while (!progress->is_over);
	if (isatty(STDERR_FILENO))
		(void)fputc('\n', stderr);
	if (verify_stop(verify, STOP_NS))
		verify_free(verify);
	return progress->error;
}

static int sweep_target(const struct config *config, const struct config_drive *drive,
	const struct run_record *run, struct target *target, bool is_json)
{
	const struct target_plan *plan = target_get_plan(target);
	const uint64_t tag = payload_run_tag(run->id);
	struct findings *findings = calloc(1, sizeof(*findings));
	struct ledger *ledger = ledger_find(config, drive, run, tag);
	struct verify_progress progress = { 0 };
	const struct verify_job job = {
		.fds = target_get_fds(target),
		.fd_count = plan->files,
		.file_bytes = plan->file_bytes,
		.base_bytes = plan->base_bytes,
		.to_bytes = run->progress.extent_bytes ? run->progress.extent_bytes
						       : run->progress.fill_done_bytes,
		.block_bytes = drive->block_bytes,
		.run_tag = tag,
		.ledger = ledger,
		.lba_bytes = target_get_facts(target)->disks[0].logical_block_bytes,
		.engine = drive->engine,
		.on_finding = finding_keep,
		.on_finding_arg = findings,
	};
	double coverage = ledger ? ledger_coverage(ledger) : 0;
	uint64_t bad = 0;
	int rc = findings ? sweep(&job, &progress) : -ENOMEM;

	ledger_close(ledger);
	for (int i = VERIFY_GOOD + 1; i < VERIFY_VERDICT_COUNT; i++)
		bad += progress.counts[i];
	if (rc < 0)
		(void)output_fail(EX_IOERR, drive->name, strerror(-rc));
	else if (is_json)
		print_json(&progress, findings, coverage);
	else
		print_text(&progress, findings, coverage);
	free(findings);
	return rc < 0 ? EX_IOERR : bad ? OUTPUT_BAD : EX_OK;
}

int drivesoak_verify(const struct config *config, const struct config_drive *drive,
	const struct run_record *run, bool is_json)
{
	const struct target_request request = {
		.drive = drive,
		.state_directory = config->state_directory,
		.run_id = run->id,
		.goal_bytes = run->progress.fill_goal_bytes,
	};
	char why[TARGET_WHY_MAX] = "";
	struct target *target = NULL;
	int rc, code;

	if (drive->payload == PAYLOAD_ZEROS)
		return output_fail(EX_UNAVAILABLE, drive->name,
			"payload = \"zeros\" carries no stamps that could be checked");
	if (!run->progress.fill_done_bytes)
		return output_fail(EX_NOINPUT, run->id, "nothing was written yet");
	rc = target_open_to_verify(&request, &target, why);
	if (rc < 0)
		return output_fail(rc == -EBUSY ? EX_TEMPFAIL : EX_NOINPUT, drive->name, why);
	code = sweep_target(config, drive, run, target, is_json);
	target_close(target);
	return code;
}
