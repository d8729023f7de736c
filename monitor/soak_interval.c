/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The end of an interval of one drive: its sample, and what that tells of the drive. */
#include "soak_private.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"

/* The device's counters must have seen this share of what we wrote, else a cache took it. */
#define DIRECT_SHARE_MIN   0.5
#define DIRECT_BYTES_PROOF (16ULL << 20)

/* An interval that is off by more than a tenth is no whole one. */
#define PARTIAL_DIVISOR 10

/* Between two flushes of the drive for the ledger's sake. */
#define EPOCH_NS      (600 * NS_PER_S)
#define FILL_FLUSH_NS (20 * NS_PER_S)
/* How long a drive that went away may still look as if it were there. */
#define GONE_NS (3 * NS_PER_S)
/* Between two looks whether the target is still where it was. */
#define LOOK_NS (10 * NS_PER_S)

/* Bytes the disks below say were written, UINT64_MAX when they can't be asked. */
static uint64_t disks_written(struct drive *drive)
{
	const struct target_facts *facts = keeper_get_facts(drive->keeper);
	uint64_t bytes = 0;

	for (unsigned i = 0; i < facts->disk_count; i++) {
		struct blockdev_counters counters;

		if (blockdev_read_counters("", facts->disks[i].name, &counters) < 0)
			return UINT64_MAX;
		bytes += counters.write_bytes;
	}
	return facts->disk_count ? bytes : UINT64_MAX;
}

void drive_watch_direct(struct drive *drive)
{
	drive->direct.disk_bytes = disks_written(drive);
	drive->direct.own_bytes = sampler_get_sums(drive->sampler).write_bytes;
	drive->direct.is_due = drive->direct.disk_bytes != UINT64_MAX;
}

/* After the first seconds of writing: did the drive see it, or a cache? */
static void direct_prove(struct drive *drive)
{
	uint64_t own = sampler_get_sums(drive->sampler).write_bytes - drive->direct.own_bytes, disk;
	double share;

	if (!drive->direct.is_due || own < DIRECT_BYTES_PROOF)
		return;
	drive->direct.is_due = false;
	disk = disks_written(drive);
	if (disk == UINT64_MAX || disk < drive->direct.disk_bytes)
		return;
	share = (double)(disk - drive->direct.disk_bytes) / (double)own;
	if (share < DIRECT_SHARE_MIN) {
		(void)snprintf(drive->run.direct, sizeof(drive->run.direct),
			"unproven: the disk saw %.0f %% of our bytes", share * 100);
		drive_event(drive, "note", EVENT_WARNING,
			"writes do not reach the drive at once: its counters saw %.0f %% of them; a cache is "
			"measured",
			share * 100);
	} else if (strncmp(drive->run.direct, "unproven", 8) == 0) {
		(void)snprintf(drive->run.direct, sizeof(drive->run.direct),
			"the disk's counters saw %.0f %%", share * 100);
	}
}

/* The time from @from_ms in which the service did not run is one row, stamped at its end. */
void drive_put_down_row(struct drive *drive, int64_t from_ms, int64_t until_ms)
{
	struct sample down;

	if (drive->last_sample_ms == INT64_MIN || until_ms <= drive->last_sample_ms)
		return;
	sample_init(&down);
	down.t_ms = until_ms;
	down.phase = drive->run.progress.phase;
	down.elapsed_ns = (uint64_t)(until_ms - from_ms) * NS_PER_MS;
	drive->last_sample_ms = until_ms;
	(void)archive_put_sample(drive->soak->options.archive, &drive->run, &down);
}

void drive_begin_sampling(struct drive *drive)
{
	drive->is_sampling = true;
	drive->is_partial = true;
	drive->interval_from_ns = drive->phase_from_ns = clock_mono_ns();
	drive->interval_phase = drive->run.progress.phase;
	drive_begin_host(drive);
}

void drive_note_findings(struct drive *drive)
{
	char words[EVENT_TEXT_MAX];

	while (sweep_next_text(&drive->sweep, drive->keeper, words, sizeof(words)))
		drive_event(drive, "error", EVENT_CRITICAL, "%s", words);
}

static enum sample_state state_of(const struct drive *drive, const struct sample *sample)
{
	const bool has_io = sample->write_ios + sample->read_ios + sample->errors > 0;

	if (drive->is_absent && !has_io)
		return SAMPLE_ABSENT;
	if ((drive->run.progress.status == RUN_PAUSED || drive->path.waiting != RUN_ACT_NONE) && !has_io)
		return SAMPLE_PAUSED;
	switch (drive->interval_phase) {
	case PHASE_FILL:
		return SAMPLE_FILLING;
	case PHASE_VERIFY:
		return SAMPLE_VERIFYING;
	case PHASE_SOAK:
	case PHASE_PROBE:
		return has_io ? SAMPLE_MEASURED : drive->had_engine ? SAMPLE_ZERO : SAMPLE_PAUSED;
	default:
		return SAMPLE_PAUSED;
	}
}

/* End the interval at stamp @t_ms and begin the next. */
static void interval_end(struct drive *drive, int64_t t_ms, uint32_t flags)
{
	const uint64_t interval_ns = drive->soak->options.config->sample_interval_ns;
	uint64_t now_ns = clock_mono_ns(), elapsed_ns = now_ns - drive->interval_from_ns;
	struct sample *sample = &drive->sample;

	sampler_take(drive->sampler, elapsed_ns, sample);
	sweep_take(&drive->sweep, sample);
	/* Unknown, not none, where the workload has no commits. */
	if (!drive->config->fsync_every ||
		(drive->interval_phase != PHASE_SOAK && drive->interval_phase != PHASE_PROBE))
		sample->commits = SAMPLE_UNKNOWN;
	sample->state = state_of(drive, sample);
	/* What a drive that is not there does is unknown, not nothing. */
	if (sample->state == SAMPLE_ABSENT) {
		sample_init(sample);
		sample->state = SAMPLE_ABSENT;
		sample->elapsed_ns = elapsed_ns;
	}
	sample->t_ms = t_ms;
	sample->phase = drive->interval_phase;
	if (drive->is_partial || elapsed_ns + interval_ns / PARTIAL_DIVISOR < interval_ns ||
		elapsed_ns > interval_ns + interval_ns / PARTIAL_DIVISOR)
		flags |= SAMPLE_FLAG_PARTIAL;
	if (drive->is_flushing || drive->was_flushing)
		flags |= SAMPLE_FLAG_FLUSH;
	drive->was_flushing = drive->is_flushing;
	sample->flags = flags;
	drive_put_health(drive, sample);
	drive_judge_host(drive);
	if (sample->state == SAMPLE_FILLING && elapsed_ns)
		drive->fill_bytes_per_s = (double)sample->write_bytes * 1e9 / (double)elapsed_ns;
	drive->run.written_bytes = drive->base_written_bytes + sampler_get_sums(drive->sampler).write_bytes;
	drive->last_sample_ms = t_ms;
	drive->interval_from_ns = now_ns;
	drive->interval_phase = drive->run.progress.phase;
	drive->had_engine = drive->job == JOB_RUNNING || drive->job == JOB_STOPPING;
	drive->is_partial = false;
}

/* Of a block device these speak of the drive: one that was pulled out answers ENOSPC, and it is never "full"; a failed
 * write or read on NVMe is ENODATA. */
const char *drive_error_text(const struct drive *drive, int error)
{
	if (drive->config->device[0] && error == ENOSPC)
		return "the drive takes no writes any more (ENOSPC)";
	if (drive->config->device[0] && error == ENODATA)
		return "the drive reports a media error (ENODATA)";
	return strerror(error);
}

static void errors_note(struct drive *drive)
{
	uint64_t suppressed, more = drive->sample.errors;
	struct engine_error error;
	struct engine *engine = drive->job == JOB_RUNNING ? sampler_get_engine(drive->sampler) : NULL;

	if (!engine || !engine_next_error(engine, &error)) {
		if (!more && log_complaint_clear(&drive->error_complaint))
			drive_event(drive, "error", EVENT_INFO, "no more I/O errors");
		return;
	}
	if (log_complaint_raise(&drive->error_complaint, clock_mono_ns(), &suppressed))
		drive_event(drive, "error", EVENT_CRITICAL,
			"%s error at byte %llu of the target: %s; %llu in this interval", error.what,
			(unsigned long long)error.offset_bytes, drive_error_text(drive, error.error),
			(unsigned long long)more);
	do
		drive->last_error = error.error;
	while (engine_next_error(engine, &error));
}

/* More errors than the run takes; of a drive that is gone they are none of its own, so it is looked for before. */
static void errors_limit(struct drive *drive)
{
	uint64_t errors = drive->base_errors + sampler_get_sums(drive->sampler).errors,
		 now_ns = clock_mono_ns();
	char reason[STATUS_TEXT_MAX];

	if (drive->config->device[0] && drive->sample.errors && !drive->is_absent)
		drive_look(drive);
	if (errors <= drive->config->max_errors || drive->run.progress.status != RUN_RUNNING ||
		drive->is_absent)
		return;
	if (!drive->too_many_ns)
		drive->too_many_ns = now_ns;
	if (drive->config->device[0] && now_ns - drive->too_many_ns < GONE_NS)
		return;
	(void)snprintf(reason, sizeof(reason), "%llu I/O errors are more than max-errors %llu; the last: %s",
		(unsigned long long)errors, (unsigned long long)drive->config->max_errors,
		drive->last_error ? drive_error_text(drive, drive->last_error) : "before the restart");
	drive_fail(drive, reason);
}

static void host_note(struct drive *drive)
{
	const struct sample *sample = &drive->sample;
	bool is_limited = sample->flags & SAMPLE_FLAG_HOST_LIMIT;

	if (sample->phase != PHASE_SOAK || sample->flags & SAMPLE_FLAG_PARTIAL)
		return;
	switch (hostlimit_watch_add(&drive->host_watch, is_limited)) {
	case HOSTLIMIT_BEGINS:
		drive_event(drive, "note", EVENT_WARNING,
			"the host is the limit, not the drive, in %u of the last %u samples: %s",
			HOSTLIMIT_WATCH_BEGIN, HOSTLIMIT_WATCH_SAMPLES, drive->host.text);
		break;
	case HOSTLIMIT_ENDS:
		drive_event(drive, "note", EVENT_INFO,
			"the host is no longer the limit: in none of the last %u samples",
			HOSTLIMIT_WATCH_SAMPLES);
		break;
	case HOSTLIMIT_STAYS:
		break;
	}
}

/* In every phase in which something should: the fill and the read-back hang too. */
static bool nothing_completes(const struct sample *sample)
{
	switch (sample->state) {
	case SAMPLE_ZERO:
		return true;
	case SAMPLE_FILLING:
	case SAMPLE_VERIFYING:
		return sample->write_ios + sample->read_ios + sample->errors == 0;
	default:
		return false;
	}
}

static void stall_judge(struct drive *drive)
{
	const uint64_t limit_ns = drive->soak->options.config->alerts.stall_after_ns;
	char reason[STATUS_TEXT_MAX], length[UNITS_TEXT_MAX];

	if (drive->status != RUN_RUNNING && drive->status != RUN_STALLED)
		return;
	if (nothing_completes(&drive->sample) && drive->sample.stall_ns >= limit_ns) {
		units_print_duration_rounded((double)drive->sample.stall_ns, length);
		(void)snprintf(reason, sizeof(reason), "nothing has completed for %s", length);
		drive->status = RUN_STALLED;
		text_copy(drive->tag, sizeof(drive->tag), reason);
	} else {
		drive->status = RUN_RUNNING;
		drive_running_reason(drive, drive->tag);
	}
}

void drive_flush(struct drive *drive, uint64_t fill_done_bytes)
{
	const struct keeper_command command = { .verb = KEEPER_EPOCH, .done_bytes = fill_done_bytes };

	drive->is_flushing = true;
	drive_command(drive, &command);
}

/* Now and then the drive is flushed, so that the ledger may claim something after a power loss, and a fill need not
 * begin again. The samples in which that falls are marked. */
static void flush_ask(struct drive *drive, uint64_t fill_done_bytes)
{
	const bool is_fill = drive->run.progress.phase == PHASE_FILL;
	uint64_t now_ns = clock_mono_ns();

	if (drive->job != JOB_RUNNING || drive->is_flushing ||
		now_ns < drive->epoch_ns + (is_fill ? FILL_FLUSH_NS : EPOCH_NS) ||
		!(is_fill || (drive->run.progress.phase == PHASE_SOAK && drive->ledger_coverage > 0)))
		return;
	drive->epoch_ns = now_ns;
	drive_flush(drive, fill_done_bytes);
}

void drive_look(struct drive *drive)
{
	if (drive->is_looking || !drive->is_open)
		return;
	drive->is_looking = true;
	drive->looked_ns = clock_mono_ns();
	drive_verb(drive, KEEPER_LOOK);
}

static void look_ask(struct drive *drive)
{
	if ((drive->job == JOB_RUNNING || drive->config->device[0]) &&
		clock_mono_ns() - drive->looked_ns >= LOOK_NS)
		drive_look(drive);
}

void drive_tick(struct drive *drive, const struct tick_answer *answer)
{
	struct run_input input = { .event = RUN_EVENT_TICK };
	struct engine_fill_end fill = { 0 };
	struct engine *engine;

	if (!drive->is_sampling) {
		drive_publish(drive);
		return;
	}
	if (answer->gap_to_ms != INT64_MIN)
		drive_put_down_row(drive, drive->last_sample_ms, answer->gap_to_ms);
	interval_end(drive, answer->t_ms, answer->step_ms ? SAMPLE_FLAG_CLOCK_STEP : 0);
	drive_note_cause_sample(drive);
	engine = sampler_get_engine(drive->sampler);
	if (engine)
		(void)engine_fill_ended(engine, &fill);
	input.fill_done_bytes = drive->run.progress.phase == PHASE_FILL ? fill.done_bytes : 0;
	/* Only time with the queue full counts for the phase. */
	if (drive->job == JOB_RUNNING || (drive->run.progress.phase == PHASE_PREPARE && !drive->is_absent))
		input.elapsed_ns = drive->interval_from_ns - drive->phase_from_ns;
	drive->phase_from_ns = drive->interval_from_ns;
	if (drive->sample.phase == PHASE_PROBE)
		probe_note_step(&drive->probe, &drive->sample);
	else
		probe_note_soak(&drive->probe, &drive->sample);
	drive_note_findings(drive);
	errors_note(drive);
	flush_ask(drive, fill.done_bytes);
	host_note(drive);
	drive_judge(drive);
	stall_judge(drive);
	direct_prove(drive);
	path_note_sample(drive);
	look_ask(drive);
	drive_step(drive, &input);
	(void)archive_put_sample(drive->soak->options.archive, &drive->run, &drive->sample);
	errors_limit(drive);
	drive_publish(drive);
}

/* Only after the last sample: the archive closes the view of a run that has ended. */
static void run_end(struct drive *drive)
{
	drive->run.ended_ms = drive_now_ms(drive);
	drive_end_judge(drive);
	drive_settle_troubles(drive);
	if (drive->is_open)
		drive_end_health(drive);
	if (drive->is_open)
		drive_verb(drive, KEEPER_CLOSE);
	drive_leave_cause(drive);
	if (drive->purges)
		drive_verb(drive, KEEPER_PURGE);
	drive->is_open = drive->is_absent = drive->is_resumed = false;
	drive->is_over = true;
	soak_announce_later(drive->soak);
}

void drive_last_sample(struct drive *drive)
{
	if (!drive->is_sampling)
		return;
	/* The stamp of the running interval's end; the interval is just shorter. */
	drive->is_partial = true;
	interval_end(drive, drive->soak->tick.next_ms, 0);
	drive->is_sampling = false;
	(void)archive_put_sample(drive->soak->options.archive, &drive->run, &drive->sample);
	if (drive->run.progress.status == RUN_DONE || drive->run.progress.status == RUN_FAILED)
		run_end(drive);
	drive_store(drive);
}

void drive_end_unopened(struct drive *drive)
{
	drive_last_sample(drive);
	if (drive->run.ended_ms == INT64_MIN)
		run_end(drive);
	drive_store(drive);
}
