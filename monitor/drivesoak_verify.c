/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "drivesoak_verify.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/sysfs.h"
#include "base/text.h"
#include "base/units.h"
#include "drivesoak_badblocks.h"
#include "drivesoak_output.h"
#include "engine/engine.h"
#include "engine/payload.h"
#include "engine/verify.h"
#include "target/target.h"

#define LOOK_US 200000
#define STOP_NS (60 * NS_PER_S)

static bool is_power_lost(const struct run_record *run)
{
	char boot_id[40] = "";

	(void)sysfs_read_text(boot_id, sizeof(boot_id), "", "/proc/sys/kernel/random/boot_id");
	return strcmp(boot_id, run->boot_id) != 0;
}

static struct ledger *ledger_find(const struct config *config, const struct config_drive *drive,
	const struct run_record *run, uint64_t tag)
{
	char path[600], why[LEDGER_WHY_MAX] = "";
	struct ledger_setup setup = {
		.path = path,
		.run_tag = tag,
		.block_count = run->progress.fill_goal_bytes / drive->block_bytes,
		.block_bytes = drive->block_bytes,
		.memory_bytes = drive->ledger_bytes,
	};
	struct ledger *ledger = NULL;

	(void)snprintf(path, sizeof(path), "%s/runs/%s.ledger", config->state_directory, run->id);
	if (ledger_open(&setup, is_power_lost(run), &ledger, why) < 0)
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

/* Until the sweep is over. False with @why when it did not reach the end. */
static bool sweep(const struct verify_job *job, struct verify_progress *progress, char *why)
{
	const uint64_t whole_bytes = job->to_bytes / PAYLOAD_SECTOR_BYTES * PAYLOAD_SECTOR_BYTES;
	struct verify *verify = NULL;
	uint64_t from_ns = clock_mono_ns();

	if (verify_start(job, &verify, why) < 0)
		return false;
	do {
		(void)usleep(LOOK_US);
		verify_read(verify, progress);
		progress_show(progress, job->to_bytes, from_ns);
	} while (!progress->is_over);
	if (isatty(STDERR_FILENO))
		(void)fputc('\n', stderr);
	if (verify_stop(verify, STOP_NS))
		verify_free(verify);
	if (progress->error)
		(void)snprintf(why, ENGINE_WHY_MAX, "%s", strerror(-progress->error));
	else if (progress->done_bytes < whole_bytes)
		(void)snprintf(why, ENGINE_WHY_MAX, "only %llu of %llu bytes were read",
			(unsigned long long)progress->done_bytes, (unsigned long long)whole_bytes);
	return !progress->error && progress->done_bytes >= whole_bytes;
}

static int report(struct badblocks *bad, const struct badblocks_sweep *sweep, const char *drive, bool is_json)
{
	struct text text = TEXT_INIT;

	if (is_json) {
		badblocks_print_json(bad, sweep, &text);
		text_addf(&text, "\n");
	} else {
		badblocks_print_text(bad, sweep, &text);
	}
	(void)fputs(text_string(&text), stdout);
	text_fini(&text);
	if (sweep->error)
		return output_fail(EX_IOERR, drive, sweep->error);
	return bad->count ? OUTPUT_BAD : EX_OK;
}

static int sweep_target(const struct config *config, const struct config_drive *drive,
	const struct run_record *run, struct target *target, bool is_json)
{
	const struct target_plan *plan = target_get_plan(target);
	const uint64_t tag = payload_run_tag(run->id);
	struct badblocks *bad = calloc(1, sizeof(*bad));
	struct ledger *ledger;
	struct badblocks_sweep swept = { 0 };
	char why[ENGINE_WHY_MAX] = "";
	struct verify_job job = {
		.fds = target_get_fds(target),
		.fd_count = plan->files,
		.file_bytes = plan->file_bytes,
		.base_bytes = plan->base_bytes,
		.to_bytes = run_filled_bytes(&run->progress, is_power_lost(run)),
		.block_bytes = drive->block_bytes,
		.run_tag = tag,
		.lba_bytes = target_get_facts(target)->disks[0].logical_block_bytes,
		.engine = drive->engine,
		.on_finding = badblocks_keep,
		.on_finding_arg = bad,
	};
	int code;

	if (!bad)
		return output_fail(EX_IOERR, drive->name, strerror(ENOMEM));
	job.ledger = ledger = ledger_find(config, drive, run, tag);
	swept.coverage = ledger ? ledger_coverage(ledger) : 0;
	swept.error = sweep(&job, &swept.progress, why) ? NULL : why;
	ledger_close(ledger);
	code = report(bad, &swept, drive->name, is_json);
	free(bad);
	return code;
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
	if (!run_filled_bytes(&run->progress, is_power_lost(run)))
		return output_fail(EX_NOINPUT, run->id,
			"the power was lost before any of the fill was flushed: what the drive holds can't "
			"be judged");
	rc = target_open_to_verify(&request, &target, why);
	if (rc < 0)
		return output_fail(rc == -EBUSY ? EX_TEMPFAIL : EX_NOINPUT, drive->name, why);
	code = sweep_target(config, drive, run, target, is_json);
	target_close(target);
	return code;
}
