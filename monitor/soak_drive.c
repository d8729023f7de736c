/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The course of one drive: what its run is, what the keeper is asked to do, what its samples are. */
#include "soak_private.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <xxhash.h>

#include "base/clock.h"
#include "base/units.h"

/* Depth for the whole drive where the config leaves it to us. */
#define DEPTH_AUTO_NVME	 128
#define DEPTH_AUTO_OTHER 32

/* The device's counters must have seen this share of what we wrote, else a cache took it. */
#define DIRECT_SHARE_MIN   0.5
#define DIRECT_BYTES_PROOF (16ULL << 20)

/* An interval that is off by more than a tenth is no whole one. */
#define PARTIAL_DIVISOR 10

/* Full-resolution rows of the view of a run without an end: two weeks at 10 s. */
#define OPEN_END_ROWS 120960

/* Between two flushes of the drive for the ledger's sake. */
#define EPOCH_NS (600 * NS_PER_S)
/* Between two looks whether the target is still where it was. */
#define LOOK_NS (10 * NS_PER_S)

static int64_t now_ms(const struct drive *drive)
{
	return tick_now_ms(&drive->soak->tick, clock_boot_ns());
}

static void copy(char *to, size_t size, const char *from)
{
	(void)snprintf(to, size, "%s", from);
}

static void event_put(struct drive *drive, const char *kind, enum event_severity severity, const char *format,
	...) __attribute__((format(printf, 4, 5)));

static void event_put(
	struct drive *drive, const char *kind, enum event_severity severity, const char *format, ...)
{
	static const enum log_level levels[] = {
		[EVENT_INFO] = LOG_LEVEL_INFO,
		[EVENT_WARNING] = LOG_LEVEL_WARNING,
		[EVENT_CRITICAL] = LOG_LEVEL_ERROR,
	};
	struct event_record event = { .t_ms = now_ms(drive), .until_ms = INT64_MIN, .severity = severity };
	va_list args;

	copy(event.kind, sizeof(event.kind), kind);
	copy(event.drive, sizeof(event.drive), drive->config->name);
	if (drive->has_run)
		copy(event.run, sizeof(event.run), drive->run.id);
	va_start(args, format);
	(void)vsnprintf(event.text, sizeof(event.text), format, args);
	va_end(args);
	log_line(levels[severity], "%s: %s: %s", drive->config->name, kind, event.text);
	(void)archive_put_event(drive->soak->options.archive, &event);
}

static void command_send(struct drive *drive, const struct keeper_command *command)
{
	if (!keeper_send(drive->keeper, command))
		log_error("%s: a command was lost: the drive's thread hangs", drive->config->name);
}

static void verb_send(struct drive *drive, enum keeper_verb verb)
{
	const struct keeper_command command = { .verb = verb };

	command_send(drive, &command);
}

static void status_set(struct drive *drive, enum run_status status, const char *reason)
{
	drive->status = status;
	copy(drive->tag, sizeof(drive->tag), reason);
	drive_publish(drive);
}

/* What the stamps of a run carry; known from its id alone. */
static uint64_t run_tag(const struct drive *drive)
{
	return XXH3_64bits(drive->run.id, strlen(drive->run.id));
}

static uint64_t seed_draw(void)
{
	uint64_t seed = 0;

	if (getrandom(&seed, sizeof(seed), 0) != (ssize_t)sizeof(seed))
		seed = clock_mono_ns() ^ (uint64_t)clock_wall_ns();
	return seed >> 1; /* fits a signed integer in every file format */
}

static void text_keep(char *to, size_t size, struct text *text)
{
	copy(to, size, text_string(text));
	text_fini(text);
}

static void frozen_make(const struct drive *drive, char *out)
{
	struct text text = TEXT_INIT;

	config_drive_frozen(drive->config, drive->soak->options.config->sample_interval_ns, &text);
	text_keep(out, RUN_FROZEN_MAX, &text);
}

static void run_init(struct drive *drive)
{
	const struct config *config = drive->soak->options.config;
	struct run_record *run = &drive->run;
	struct text text = TEXT_INIT;

	*run = (struct run_record){
		.source = SOURCE_OWN,
		.progress = { .phase = PHASE_PREPARE, .status = RUN_RUNNING },
		.started_ms = now_ms(drive),
		.soak_started_ms = INT64_MIN,
		.ended_ms = INT64_MIN,
		.interval_s = (uint32_t)(config->sample_interval_ns / NS_PER_S),
		.seed = seed_draw(),
		.capacity_bytes = UINT64_MAX,
		.price_amount = drive->config->price_amount,
		.probe_ios_per_s = NAN,
	};
	run_id_make(drive->config->name, run->started_ms, run->id);
	copy(run->drive, sizeof(run->drive), drive->config->name);
	copy(run->label, sizeof(run->label), drive->config->label);
	copy(run->price_currency, sizeof(run->price_currency), drive->config->price_currency);
	copy(run->pre_state, sizeof(run->pre_state), "unknown");
	frozen_make(drive, run->frozen);
	config_drive_json(drive->config, config->sample_interval_ns, &text);
	text_keep(run->config_json, sizeof(run->config_json), &text);
}

static void open_ask(struct drive *drive)
{
	struct keeper_command command = { .verb = KEEPER_OPEN };

	copy(command.run_id, sizeof(command.run_id), drive->run.id);
	command.goal_bytes = drive->run.progress.fill_goal_bytes;
	command.discard = drive->config->discard && !command.goal_bytes;
	command.run_tag = run_tag(drive);
	/* Only a volatile cache that lost its power may legally forget what was acknowledged. */
	command.power_lost = strcmp(drive->run.boot_id, drive->soak->boot_id) != 0;
	if (drive->config->payload == PAYLOAD_RANDOM)
		(void)snprintf(command.ledger_path, sizeof(command.ledger_path), "%s/runs/%s.ledger",
			drive->soak->options.config->state_directory, drive->run.id);
	drive->has_run = true;
	command_send(drive, &command);
	status_set(drive, RUN_IDLE, "the target is being opened");
}

/* The first line of @now that differs from @then, "key=value". */
static void frozen_difference(const char *then, const char *now, char *key, size_t size)
{
	while (*then && *now) {
		size_t a = strcspn(then, "\n"), b = strcspn(now, "\n");

		if (a != b || memcmp(then, now, a) != 0)
			break;
		then += a + (then[a] == '\n');
		now += b + (now[b] == '\n');
	}
	(void)snprintf(
		key, size, "was %.*s, is %.*s", (int)strcspn(then, "\n"), then, (int)strcspn(now, "\n"), now);
}

/* What the soak sustained before the service ended. */
static int recall_sample(const struct sample *sample, void *arg)
{
	struct drive *drive = arg;

	probe_note_soak(&drive->probe, sample);
	return 0;
}

static void resume_ask(struct drive *drive, struct journal *journal)
{
	char frozen[RUN_FROZEN_MAX], difference[256], reason[STATUS_TEXT_MAX];
	struct journal_sums sums;
	struct sample last;

	frozen_make(drive, frozen);
	if (strcmp(frozen, drive->run.frozen) != 0) {
		frozen_difference(drive->run.frozen, frozen, difference, sizeof(difference));
		(void)snprintf(reason, sizeof(reason),
			"refused: run %s lasts and its settings are frozen: %s; put it back, or stop the run",
			drive->run.id, difference);
		drive->has_run = true;
		event_put(drive, "error", EVENT_CRITICAL, "%s", reason);
		status_set(drive, RUN_FAILED, reason);
		return;
	}
	if (journal_get_sums(journal, drive->run.id, &sums) == 0) {
		drive->base_written_bytes = sums.write_bytes;
		drive->base_errors = sums.errors;
	}
	if (journal_get_last_sample(journal, drive->run.id, &last) == 0) {
		int64_t end_ms = last.t_ms - (int64_t)drive->run.interval_s * 1000 +
				 (int64_t)(last.elapsed_ns / NS_PER_MS);

		drive->last_sample_ms = last.t_ms;
		/* The last sample before an orderly stop is shorter than its stamps say. */
		drive->down_from_ms = last.state != SAMPLE_DOWN && end_ms < last.t_ms ? end_ms : last.t_ms;
	}
	(void)journal_each_sample(journal, drive->run.id,
		drive->last_sample_ms - (int64_t)PROBE_RECENT * drive->run.interval_s * 1000, INT64_MAX,
		false, recall_sample, drive);
	drive->is_resumed = true;
	open_ask(drive);
}

void drive_begin(struct drive *drive, struct journal *journal)
{
	char reason[STATUS_TEXT_MAX];
	int rc = journal_get_newest_run(journal, drive->config->name, &drive->run);

	drive->last_sample_ms = INT64_MIN;
	drive->plan = (struct run_plan){
		.settle_ns = drive->config->settle_ns,
		.soak_ns = drive->config->duration_ns,
		.probe_ns = drive->config->probe_phase_ns,
		/* Zeros carry no stamps to be checked. */
		.verifies = drive->config->verify == VERIFY_END && drive->config->payload == PAYLOAD_RANDOM,
	};
	if (rc == -ENOENT) {
		run_init(drive);
		open_ask(drive);
		return;
	}
	if (rc < 0) {
		(void)snprintf(
			reason, sizeof(reason), "the journal can't be read: %s", journal_error(journal));
		status_set(drive, RUN_FAILED, reason);
		return;
	}
	if (drive->run.progress.status == RUN_RUNNING) {
		resume_ask(drive, journal);
		return;
	}
	drive->has_run = true;
	(void)snprintf(reason, sizeof(reason), "run %s is over and does not start again by itself%s%s",
		drive->run.id, drive->run.reason[0] ? ": " : "", drive->run.reason);
	status_set(drive, drive->run.progress.status, reason);
}

static void run_put(struct drive *drive)
{
	(void)archive_put_run(drive->soak->options.archive, &drive->run);
}

static unsigned depth_choose(struct drive *drive)
{
	const struct target_facts *facts = keeper_get_facts(drive->keeper);
	unsigned depth = drive->config->queue_depth;

	if (!depth)
		depth = facts->disk_count && strcmp(facts->disks[0].transport, "nvme") == 0
				? DEPTH_AUTO_NVME
				: DEPTH_AUTO_OTHER;
	if (depth < drive->config->threads)
		depth = drive->config->threads;
	if (facts->disk_count && facts->disks[0].nr_requests > 0 &&
		depth > (uint64_t)facts->disks[0].nr_requests)
		event_put(drive, "note", EVENT_WARNING,
			"queue depth %u is above the device's nr_requests %lld: the rest waits in the kernel",
			depth, (long long)facts->disks[0].nr_requests);
	return depth;
}

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

static void direct_watch(struct drive *drive)
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
		event_put(drive, "note", EVENT_WARNING,
			"writes do not reach the drive at once: its counters saw %.0f %% of them; a cache is "
			"measured",
			share * 100);
	} else if (strncmp(drive->run.direct, "unproven", 8) == 0) {
		(void)snprintf(drive->run.direct, sizeof(drive->run.direct),
			"the disk's counters saw %.0f %%", share * 100);
	}
}

/* The engine of one step of the probe: depth 1, then an open loop. */
static void probe_ask(struct drive *drive, struct keeper_command *command)
{
	const struct run_progress *progress = &drive->run.progress;
	double share = run_probe_share[progress->probe_step];

	/* Known from the soak; stored, so that a restart within the probe goes on with it. */
	if (isnan(drive->run.probe_ios_per_s))
		drive->run.probe_ios_per_s = probe_sustained(&drive->probe);
	command->verb = KEEPER_SOAK;
	command->to_bytes = progress->extent_bytes - progress->extent_bytes % drive->config->block_bytes;
	command->seed = drive->run.seed ^ progress->soak_ns ^ (uint64_t)(progress->probe_step + 1) << 56;
	command->threads = command->queue_depth = 1;
	if (share > 0 && drive->run.probe_ios_per_s > 0) {
		command->requests_per_s = share * drive->run.probe_ios_per_s;
		command->is_open_loop = true;
		command->threads = drive->config->threads;
		command->queue_depth = depth_choose(drive);
	}
	probe_begin_step(&drive->probe);
}

static void soak_ask(struct drive *drive, struct keeper_command *command)
{
	const struct run_progress *progress = &drive->run.progress;

	command->verb = KEEPER_SOAK;
	command->to_bytes = progress->extent_bytes - progress->extent_bytes % drive->config->block_bytes;
	command->threads = drive->config->threads;
	command->queue_depth = drive->queue_depth = depth_choose(drive);
	command->requests_per_s = (double)drive->config->rate_bytes_per_s / drive->config->block_bytes;
	/* A resumed soak goes on with other numbers of the same recorded seed. */
	command->seed = drive->run.seed ^ progress->soak_ns;
}

static void stop_ask(struct drive *drive)
{
	drive->job = JOB_STOPPING;
	verb_send(drive, KEEPER_STOP);
}

static void job_ask(struct drive *drive, enum run_action action)
{
	struct keeper_command command = { .run_tag = run_tag(drive) };
	const struct run_progress *progress = &drive->run.progress;

	if (action == RUN_ACT_FILL) {
		command.verb = KEEPER_FILL;
		command.from_bytes = progress->fill_done_bytes;
		command.to_bytes = progress->fill_goal_bytes;
		command.seed = drive->run.seed ^ progress->fill_done_bytes;
	} else if (action == RUN_ACT_SOAK) {
		soak_ask(drive, &command);
	} else if (action == RUN_ACT_PROBE) {
		probe_ask(drive, &command);
	} else {
		command.verb = KEEPER_VERIFY;
		command.to_bytes = progress->extent_bytes;
	}
	drive->job = JOB_STARTING;
	command_send(drive, &command);
}

static void act(struct drive *drive, enum run_action action)
{
	if (action == RUN_ACT_NONE)
		return;
	drive->then = action;
	/* What runs is stopped first; on_stopped() comes back here. */
	if (drive->job == JOB_RUNNING) {
		stop_ask(drive);
		return;
	}
	if (drive->job != JOB_NONE)
		return;
	drive->then = RUN_ACT_NONE;
	if (action == RUN_ACT_FINISH)
		drive_last_sample(drive);
	else
		job_ask(drive, action);
}

static void phase_event(struct drive *drive, enum run_phase before)
{
	const struct run_progress *progress = &drive->run.progress;
	char bytes[UNITS_TEXT_MAX];

	if (progress->phase == before)
		return;
	drive->is_partial = true;
	drive->phase_from_ns = clock_mono_ns();
	if (progress->phase == PHASE_SOAK && drive->run.soak_started_ms == INT64_MIN)
		drive->run.soak_started_ms = now_ms(drive);
	units_print_bytes_rounded(
		(double)(progress->phase == PHASE_FILL ? progress->fill_goal_bytes : progress->extent_bytes),
		bytes);
	event_put(drive, "phase", EVENT_INFO, "%s -> %s (%s)", run_phase_name(before),
		run_phase_name(progress->phase), bytes);
}

/* A step of the probe is over: keep what it answered. */
static void probe_conclude(struct drive *drive, unsigned step)
{
	struct text text = TEXT_INIT;

	if (drive->run.probe_json[0])
		text_addf(&text, "%s,", drive->run.probe_json);
	probe_step_json(&drive->probe, step, drive->run.probe_ios_per_s, &text);
	if (text_error(&text) == 0 && text.length < sizeof(drive->run.probe_json))
		copy(drive->run.probe_json, sizeof(drive->run.probe_json), text_string(&text));
	text_fini(&text);
}

static void step(struct drive *drive, const struct run_input *input)
{
	const struct run_progress before_all = drive->run.progress;
	enum run_phase before = before_all.phase;
	enum run_action action = run_step(&drive->run.progress, &drive->plan, input);

	if (before == PHASE_PROBE && action != RUN_ACT_NONE && drive->run.progress.status == RUN_RUNNING)
		probe_conclude(drive, before_all.probe_step);
	drive->is_partial |= action != RUN_ACT_NONE;
	phase_event(drive, before);
	act(drive, action);
	/* A mere tick is stored with its sample. */
	if (action != RUN_ACT_NONE || drive->run.progress.phase != before)
		run_put(drive);
}

static void run_fail(struct drive *drive, const char *reason)
{
	const struct run_input input = { .event = RUN_EVENT_FAILED };

	copy(drive->run.reason, sizeof(drive->run.reason), reason);
	event_put(drive, "error", EVENT_CRITICAL, "%s", reason);
	step(drive, &input);
	status_set(drive, RUN_FAILED, reason);
}

static void record_target(struct drive *drive)
{
	const struct target_facts *facts = keeper_get_facts(drive->keeper);
	struct run_record *run = &drive->run;

	run->capacity_bytes = facts->capacity_bytes;
	copy(run->boot_id, sizeof(run->boot_id), drive->soak->boot_id);
	copy(run->direct, sizeof(run->direct), facts->direct);
	copy(run->host_json, sizeof(run->host_json), keeper_get_host_json(drive->keeper));
	if (facts->disk_count) {
		copy(run->model, sizeof(run->model), facts->disks[0].model);
		copy(run->serial, sizeof(run->serial), facts->disks[0].serial);
		copy(run->firmware, sizeof(run->firmware), facts->disks[0].firmware);
	}
}

/* The time from @from_ms in which the service did not run is one row, stamped at its end. */
static void down_row_put(struct drive *drive, int64_t from_ms, int64_t until_ms)
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

static void resumed_note(struct drive *drive)
{
	char outage[UNITS_TEXT_MAX] = "an unknown time";
	int64_t now = now_ms(drive);

	if (drive->last_sample_ms != INT64_MIN)
		units_print_duration_rounded((double)(now - drive->down_from_ms) * 1e6, outage);
	down_row_put(drive, drive->down_from_ms, now);
	event_put(drive, "resumed", EVENT_WARNING, "the run goes on in phase %s after %s",
		run_phase_name(drive->run.progress.phase), outage);
}

static void sampling_begin(struct drive *drive)
{
	drive->is_sampling = true;
	drive->is_partial = true;
	drive->interval_from_ns = drive->phase_from_ns = clock_mono_ns();
	drive->interval_phase = drive->run.progress.phase;
	drive_begin_host(drive);
}

static void on_opened(struct drive *drive, const struct keeper_reply *reply)
{
	const struct target_plan *plan = keeper_get_plan(drive->keeper);
	struct run_input prepared = {
		.event = RUN_EVENT_PREPARED,
		.fill_goal_bytes = plan->goal_bytes,
		/* A resumed run was discarded at its first start, and the rest of settle-time is still due. */
		.discarded = reply->discarded || strcmp(drive->run.pre_state, "trimmed") == 0,
	};
	uint64_t planned_s = drive->plan.soak_ns / NS_PER_S;

	drive->is_open = true;
	drive->ledger_coverage = reply->ledger_coverage;
	record_target(drive);
	if (reply->discarded)
		copy(drive->run.pre_state, sizeof(drive->run.pre_state), "trimmed");
	/* The fill and outages also take rows of full resolution. */
	(void)archive_open_run(drive->soak->options.archive, &drive->run,
		planned_s ? planned_s * 2 + 86400 : (uint64_t)OPEN_END_ROWS * drive->run.interval_s);
	if (drive->is_resumed)
		resumed_note(drive);
	if (plan->note[0])
		event_put(drive, "note", EVENT_WARNING, "%s", plan->note);
	if (reply->why[0])
		event_put(drive, "note", EVENT_INFO, "%s", reply->why);
	status_set(drive, RUN_RUNNING, "");
	if (drive->is_resumed && drive->run.progress.phase != PHASE_PREPARE) {
		act(drive, run_resume(&drive->run.progress));
		run_put(drive);
	} else {
		step(drive, &prepared);
	}
	/* After the step: the first interval belongs to the phase that begins now. */
	sampling_begin(drive);
}

static void on_sweep_started(struct drive *drive, const struct keeper_reply *reply)
{
	drive->job = JOB_RUNNING;
	sweep_begin(&drive->sweep, reply->verify);
	if (drive->then != RUN_ACT_NONE || drive->soak->is_stopping)
		stop_ask(drive);
}

static void on_started(struct drive *drive, const struct keeper_reply *reply)
{
	const char *notes;

	if (reply->verify) {
		on_sweep_started(drive, reply);
		return;
	}
	notes = engine_notes(reply->engine);
	drive->job = JOB_RUNNING;
	sampler_attach(drive->sampler, reply->engine);
	(void)snprintf(drive->run.engine, sizeof(drive->run.engine), "%s", engine_name(reply->engine));
	if (notes[0])
		event_put(drive, "note", EVENT_INFO, "engine %s: %s", drive->run.engine, notes);
	if (reply->verb == KEEPER_FILL || drive->is_resumed)
		direct_watch(drive);
	run_put(drive);
	if (drive->then != RUN_ACT_NONE || drive->soak->is_stopping)
		stop_ask(drive);
}

static void fill_seal(struct drive *drive)
{
	struct keeper_command seal = { .verb = KEEPER_SEAL, .to_bytes = drive->fill_end.done_bytes };
	char done[UNITS_TEXT_MAX], goal[UNITS_TEXT_MAX];

	units_print_bytes_rounded((double)drive->fill_end.done_bytes, done);
	units_print_bytes_rounded((double)drive->run.progress.fill_goal_bytes, goal);
	if (drive->fill_end.error)
		event_put(drive, "note", EVENT_WARNING, "the fill ended at %s of %s: %s", done, goal,
			strerror(drive->fill_end.error));
	command_send(drive, &seal);
}

static void fill_note_end(struct drive *drive, struct engine *engine)
{
	struct run_progress *progress = &drive->run.progress;

	(void)engine_fill_ended(engine, &drive->fill_end);
	if (drive->fill_end.done_bytes > progress->fill_done_bytes)
		progress->fill_done_bytes = drive->fill_end.done_bytes;
}

static void findings_note(struct drive *drive)
{
	char words[EVENT_TEXT_MAX];

	while (sweep_next_text(&drive->sweep, drive->keeper, words, sizeof(words)))
		event_put(drive, "error", EVENT_CRITICAL, "%s", words);
}

/* The sweep is over: what it found is the run's, and the run goes on to its end. */
static void sweep_end(struct drive *drive)
{
	const struct run_input verified = { .event = RUN_EVENT_VERIFIED };
	struct text text = TEXT_INIT;
	char words[EVENT_TEXT_MAX];

	sweep_conclude(&drive->sweep, drive->ledger_coverage, now_ms(drive), &text, words, sizeof(words));
	text_keep(drive->run.verify_json, sizeof(drive->run.verify_json), &text);
	event_put(drive, sweep_is_clean(&drive->sweep) ? "note" : "error",
		sweep_is_clean(&drive->sweep) ? EVENT_INFO : EVENT_CRITICAL, "%s", words);
	step(drive, &verified);
}

static void on_stopped(struct drive *drive, const struct keeper_reply *reply)
{
	int failure = reply->engine ? engine_failure(reply->engine) : 0;
	bool is_sweep = reply->verify && drive->is_job_over;
	char reason[STATUS_TEXT_MAX];

	sampler_detach(drive->sampler);
	sweep_look(&drive->sweep);
	drive->sweep.verify = NULL;
	findings_note(drive);
	drive->job = JOB_NONE;
	if (reply->engine && drive->run.progress.phase == PHASE_FILL)
		fill_note_end(drive, reply->engine);
	verb_send(drive, KEEPER_FREE);
	if (drive->soak->is_stopping) {
		drive_last_sample(drive);
	} else if (drive->then != RUN_ACT_NONE) {
		act(drive, drive->then);
	} else if (failure) {
		(void)snprintf(reason, sizeof(reason), "the I/O engine failed: %s", strerror(-failure));
		run_fail(drive, reason);
	} else if (is_sweep) {
		sweep_end(drive);
	} else if (drive->is_job_over) {
		fill_seal(drive);
	}
	drive->is_job_over = false;
}

static void on_sealed(struct drive *drive)
{
	const struct run_input filled = {
		.event = RUN_EVENT_FILLED,
		.fill_done_bytes = drive->fill_end.done_bytes,
	};
	const uint64_t capacity = drive->run.capacity_bytes;
	char level[UNITS_TEXT_MAX];

	units_print_bytes_rounded((double)drive->fill_end.done_bytes, level);
	if (capacity != UINT64_MAX)
		event_put(drive, "note", EVENT_INFO, "filled %s, %.1f %% of the drive's capacity", level,
			(double)drive->fill_end.done_bytes * 100 / (double)capacity);
	/* What the fill wrote is durable now: the first epoch. */
	drive->epoch_ns = clock_mono_ns();
	verb_send(drive, KEEPER_EPOCH);
	if (!drive->soak->is_stopping)
		step(drive, &filled);
}

static void on_failed(struct drive *drive, const struct keeper_reply *reply)
{
	char reason[STATUS_TEXT_MAX];

	if (reply->verb == KEEPER_OPEN) {
		/* Refused for now: the run, if there is one, stays as it is and is tried again at the next start. */
		(void)snprintf(reason, sizeof(reason), "refused: %s", reply->why);
		drive->has_run = drive->is_resumed;
		event_put(drive, "error", EVENT_CRITICAL, "%s", reason);
		status_set(drive, RUN_FAILED, reason);
		return;
	}
	if (reply->verb == KEEPER_EPOCH) {
		/* The run goes on; after a power loss the ledger claims no more than the epoch before. */
		drive->is_flushing = false;
		event_put(drive, "error", EVENT_WARNING, "the ledger's epoch failed: %s", reply->why);
		return;
	}
	if (reply->verb == KEEPER_FILL || reply->verb == KEEPER_SOAK || reply->verb == KEEPER_VERIFY)
		drive->job = JOB_NONE;
	run_fail(drive, reply->why);
}

static void look_ask(struct drive *drive)
{
	const uint64_t now_ns = clock_mono_ns();

	if (drive->is_looking || drive->job != JOB_RUNNING || now_ns - drive->looked_ns < LOOK_NS)
		return;
	drive->is_looking = true;
	drive->looked_ns = now_ns;
	verb_send(drive, KEEPER_LOOK);
}

static void on_looked(struct drive *drive, const struct keeper_reply *reply)
{
	drive->is_looking = false;
	if (strcmp(drive->trouble, reply->why) == 0)
		return;
	copy(drive->trouble, sizeof(drive->trouble), reply->why);
	if (drive->trouble[0])
		event_put(drive, "error", EVENT_CRITICAL,
			"%s; the run goes on in the files that are open and can't be resumed after a stop",
			drive->trouble);
	else
		event_put(drive, "note", EVENT_INFO, "the target is back where it was");
}

void drive_reply(struct drive *drive, const struct keeper_reply *reply)
{
	switch (reply->answer) {
	case KEEPER_OPENED:
		on_opened(drive, reply);
		break;
	case KEEPER_STARTED:
		on_started(drive, reply);
		break;
	case KEEPER_ENDED:
		/* Also comes when a failed or finished engine is being stopped anyway. */
		if (drive->job == JOB_RUNNING) {
			drive->is_job_over = true;
			stop_ask(drive);
		}
		break;
	case KEEPER_STOPPED:
		on_stopped(drive, reply);
		break;
	case KEEPER_SEALED:
		on_sealed(drive);
		break;
	case KEEPER_LOOKED:
		on_looked(drive, reply);
		break;
	case KEEPER_FAILED:
		on_failed(drive, reply);
		break;
	case KEEPER_DONE:
		drive->is_flushing &= reply->verb != KEEPER_EPOCH;
		break;
	}
}

static enum sample_state state_of(const struct drive *drive, const struct sample *sample)
{
	switch (drive->interval_phase) {
	case PHASE_FILL:
		return SAMPLE_FILLING;
	case PHASE_VERIFY:
		return SAMPLE_VERIFYING;
	case PHASE_SOAK:
	case PHASE_PROBE:
		return sample->write_ios + sample->read_ios ? SAMPLE_MEASURED : SAMPLE_ZERO;
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
	sample->t_ms = t_ms;
	sample->phase = drive->interval_phase;
	sample->state = state_of(drive, sample);
	if (drive->is_partial || elapsed_ns + interval_ns / PARTIAL_DIVISOR < interval_ns ||
		elapsed_ns > interval_ns + interval_ns / PARTIAL_DIVISOR)
		flags |= SAMPLE_FLAG_PARTIAL;
	if (drive->is_flushing || drive->was_flushing)
		flags |= SAMPLE_FLAG_FLUSH;
	drive->was_flushing = drive->is_flushing;
	sample->flags = flags;
	drive_judge_host(drive);
	if (sample->state == SAMPLE_FILLING && elapsed_ns)
		drive->fill_bytes_per_s = (double)sample->write_bytes * 1e9 / (double)elapsed_ns;
	drive->run.written_bytes = drive->base_written_bytes + sampler_get_sums(drive->sampler).write_bytes;
	drive->last_sample_ms = t_ms;
	drive->interval_from_ns = now_ns;
	drive->interval_phase = drive->run.progress.phase;
	drive->is_partial = false;
}

static void errors_note(struct drive *drive)
{
	uint64_t suppressed, more = drive->sample.errors;
	struct engine_error error;
	struct engine *engine = drive->job == JOB_RUNNING ? sampler_get_engine(drive->sampler) : NULL;

	if (!engine || !engine_next_error(engine, &error)) {
		if (!more && log_complaint_clear(&drive->error_complaint))
			event_put(drive, "error", EVENT_INFO, "no more I/O errors");
		return;
	}
	if (log_complaint_raise(&drive->error_complaint, clock_mono_ns(), &suppressed))
		event_put(drive, "error", EVENT_CRITICAL,
			"%s error at byte %llu of the target: %s; %llu in this interval", error.what,
			(unsigned long long)error.offset_bytes, strerror(error.error),
			(unsigned long long)more);
	do
		drive->last_error = error.error;
	while (engine_next_error(engine, &error));
}

static void errors_limit(struct drive *drive)
{
	uint64_t errors = drive->base_errors + sampler_get_sums(drive->sampler).errors;
	char reason[STATUS_TEXT_MAX];

	if (errors <= drive->config->max_errors || drive->run.progress.status != RUN_RUNNING)
		return;
	(void)snprintf(reason, sizeof(reason), "%llu I/O errors are more than max-errors %llu; the last: %s",
		(unsigned long long)errors, (unsigned long long)drive->config->max_errors,
		drive->last_error ? strerror(drive->last_error) : "before the restart");
	run_fail(drive, reason);
}

static void host_note(struct drive *drive)
{
	const struct sample *sample = &drive->sample;
	bool is_limited = sample->flags & SAMPLE_FLAG_HOST_LIMIT;

	if (sample->phase != PHASE_SOAK || sample->flags & SAMPLE_FLAG_PARTIAL)
		return;
	switch (hostlimit_watch_add(&drive->host_watch, is_limited)) {
	case HOSTLIMIT_BEGINS:
		event_put(drive, "note", EVENT_WARNING,
			"the host is the limit, not the drive, in %u of the last %u samples: %s",
			HOSTLIMIT_WATCH_BEGIN, HOSTLIMIT_WATCH_SAMPLES, drive->host.text);
		break;
	case HOSTLIMIT_ENDS:
		event_put(drive, "note", EVENT_INFO,
			"the host is no longer the limit: in none of the last %u samples",
			HOSTLIMIT_WATCH_SAMPLES);
		break;
	case HOSTLIMIT_STAYS:
		break;
	}
}

static void stall_judge(struct drive *drive)
{
	const uint64_t limit_ns = drive->soak->options.config->alerts.stall_after_ns;
	char reason[STATUS_TEXT_MAX], length[UNITS_TEXT_MAX];

	if (drive->status != RUN_RUNNING && drive->status != RUN_STALLED)
		return;
	if (drive->sample.state == SAMPLE_ZERO && drive->sample.stall_ns >= limit_ns) {
		units_print_duration_rounded((double)drive->sample.stall_ns, length);
		(void)snprintf(reason, sizeof(reason), "nothing has completed for %s", length);
		drive->status = RUN_STALLED;
		copy(drive->tag, sizeof(drive->tag), reason);
	} else {
		drive->status = RUN_RUNNING;
		copy(drive->tag, sizeof(drive->tag), drive->trouble);
	}
}

/* Now and then the drive is flushed, so that the ledger may claim something after a power loss. The samples in
 * which that falls are marked. */
static void epoch_ask(struct drive *drive)
{
	uint64_t now_ns = clock_mono_ns();

	if (drive->ledger_coverage <= 0 || drive->job != JOB_RUNNING || drive->is_flushing ||
		drive->run.progress.phase != PHASE_SOAK || now_ns < drive->epoch_ns + EPOCH_NS)
		return;
	drive->epoch_ns = now_ns;
	drive->is_flushing = true;
	verb_send(drive, KEEPER_EPOCH);
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
		down_row_put(drive, drive->last_sample_ms, answer->gap_to_ms);
	interval_end(drive, answer->t_ms, answer->step_ms ? SAMPLE_FLAG_CLOCK_STEP : 0);
	engine = sampler_get_engine(drive->sampler);
	if (engine)
		(void)engine_fill_ended(engine, &fill);
	input.fill_done_bytes = drive->run.progress.phase == PHASE_FILL ? fill.done_bytes : 0;
	/* Only time with the queue full counts for the phase. */
	if (drive->job == JOB_RUNNING || drive->run.progress.phase == PHASE_PREPARE)
		input.elapsed_ns = drive->interval_from_ns - drive->phase_from_ns;
	drive->phase_from_ns = drive->interval_from_ns;
	if (drive->sample.phase == PHASE_PROBE)
		probe_note_step(&drive->probe, &drive->sample);
	else
		probe_note_soak(&drive->probe, &drive->sample);
	findings_note(drive);
	errors_note(drive);
	epoch_ask(drive);
	host_note(drive);
	stall_judge(drive);
	direct_prove(drive);
	look_ask(drive);
	step(drive, &input);
	(void)archive_put_sample(drive->soak->options.archive, &drive->run, &drive->sample);
	errors_limit(drive);
	drive_publish(drive);
}

void drive_stop(struct drive *drive)
{
	if (drive->job == JOB_RUNNING)
		stop_ask(drive);
}

bool drive_is_quiet(const struct drive *drive)
{
	return drive->job == JOB_NONE;
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
	if (drive->run.progress.status != RUN_RUNNING && drive->is_open) {
		/* Only now: the archive closes the view of a run that has ended. */
		drive->run.ended_ms = now_ms(drive);
		drive->is_open = false;
		verb_send(drive, KEEPER_CLOSE);
		drive->is_over = true;
		soak_announce_later(drive->soak);
	}
	run_put(drive);
}

void drive_announce(struct drive *drive)
{
	if (!drive->is_over)
		return;
	drive->is_over = false;
	status_set(drive, drive->run.progress.status, drive->run.reason);
}
