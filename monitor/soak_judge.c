/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the samples of one run say while it lasts: has it settled, has its throughput collapsed. Each finding is one event
 * of the journal, kept up to date until it is over. */
#include "soak_private.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive/figures.h"
#include "archive/finding.h"

/* A finding that lasts is told again so often, with what is known by then. */
#define TELL_AGAIN_MS 60000

static void watch_reset(struct judge_watch *watch)
{
	steady_free(watch->steady);
	collapse_free(watch->collapse);
	*watch = (struct judge_watch){ 0 };
}

void drive_forget_judge(struct drive *drive)
{
	watch_reset(&drive->judge);
}

static int collapse_begin(struct drive *drive)
{
	const struct config *config = drive->soak->options.config;
	const struct collapse_config shares = {
		.below_share = config->alerts.collapse_below_pct / 100,
		.recover_share = config->alerts.recover_above_pct / 100,
		.for_ns = config->alerts.collapse_for_ns,
		.stall_after_ns = config->alerts.stall_after_ns,
		.is_extent_known = true,
	};

	return collapse_new(&shares, &drive->judge.collapse);
}

/* How much is written over and over is known once the soak begins. */
static enum steady_turn steady_step(struct drive *drive, const struct sample *sample)
{
	struct judge_watch *watch = &drive->judge;
	struct steady_config config;
	struct steady_sample rates;
	enum steady_turn turn;

	if (!steady_sample_of(sample, &rates))
		return STEADY_STAYS;
	if (!watch->steady) {
		figures_steady_config(&drive->run, &config);
		if (steady_new(&config, &watch->steady) < 0)
			return STEADY_STAYS;
	}
	turn = steady_add(watch->steady, &rates);
	if (turn != STEADY_STAYS)
		watch->is_settled = turn == STEADY_SETTLES;
	return turn;
}

static void collapse_step(struct drive *drive, const struct sample *sample, struct collapse_answer *out)
{
	struct collapse_sample fall;

	collapse_sample_of(sample, drive->judge.is_settled, &fall);
	collapse_add(drive->judge.collapse, &fall, out);
}

/* --- what is open --- */

/* One of each kind at most: a fall changes its kind, and a saw-tooth has other falls as its teeth. */
static void open_note(struct judge_watch *watch, const struct collapse_turn *turn, int64_t t_ms)
{
	const bool is_open = turn->change != COLLAPSE_ABSORBED && turn->finding.to_ms == COLLAPSE_OPEN;

	for (int kind = 0; kind < COLLAPSE_KIND_COUNT; kind++)
		if (watch->is_open[kind] && watch->open[kind].id == turn->finding.id) {
			watch->is_open[kind] = false;
			watch->has_ended[kind] = true;
			watch->ended[kind] = *turn;
			watch->ended_ms[kind] = t_ms;
		}
	if (!is_open)
		return;
	watch->is_open[turn->finding.kind] = true;
	watch->open[turn->finding.kind] = turn->finding;
}

static void open_update(struct judge_watch *watch)
{
	struct collapse_finding now;

	if (collapse_current(watch->collapse, &now) && watch->is_open[now.kind] &&
		watch->open[now.kind].id == now.id)
		watch->open[now.kind] = now;
}

const struct collapse_turn *drive_ended_finding(
	const struct drive *drive, enum collapse_kind kind, int64_t since_ms)
{
	const struct judge_watch *watch = &drive->judge;

	return watch->has_ended[kind] && watch->ended_ms[kind] >= since_ms ? &watch->ended[kind] : NULL;
}

const struct collapse_finding *drive_open_finding(const struct drive *drive, enum collapse_kind kind)
{
	return drive->judge.is_open[kind] ? &drive->judge.open[kind] : NULL;
}

/* --- telling --- */

/* The same for a finding whatever becomes of it, also after a restart. */
static void key_make(const struct collapse_finding *finding, char *key, size_t size)
{
	(void)snprintf(key, size, "%s-%lld", finding->kind == COLLAPSE_DEGRADED ? "degraded" : "fall",
		(long long)finding->detected_ms);
}

void drive_finding_words(
	const struct drive *drive, const struct collapse_finding *finding, char *text, size_t size)
{
	char words[COLLAPSE_TEXT_MAX];

	finding_print(finding, drive->last_sample_ms, words);
	text_copy(text, size, words);
}

static void event_of(
	struct drive *drive, const struct collapse_finding *finding, int64_t t_ms, struct event_record *out)
{
	finding_event(finding, t_ms, out);
	text_copy(out->drive, sizeof(out->drive), drive->config->name);
	text_copy(out->run, sizeof(out->run), drive->run.id);
	key_make(finding, out->key, sizeof(out->key));
	drive_print_cause(
		drive, finding, out->cause, sizeof(out->cause), out->evidence, sizeof(out->evidence));
}

static void finding_store(struct drive *drive, const struct collapse_finding *finding, int64_t t_ms)
{
	struct event_record event;

	event_of(drive, finding, t_ms, &event);
	(void)archive_put_event(drive->soak->options.archive, &event);
}

static void finding_log(const struct drive *drive, const struct collapse_turn *turn, int64_t t_ms)
{
	static const char *const changes[] = {
		[COLLAPSE_RAISED] = "",
		[COLLAPSE_CLEARED] = " is over",
		[COLLAPSE_RELABELLED] = " after all",
		[COLLAPSE_ABSORBED] = " is part of a saw-tooth",
	};
	const bool is_bad = turn->change == COLLAPSE_RAISED && collapse_alerts(turn->finding.kind);
	char words[COLLAPSE_TEXT_MAX];

	finding_print(&turn->finding, t_ms, words);
	log_line(is_bad ? LOG_LEVEL_ERROR : LOG_LEVEL_INFO, "%s: %s%s: %s", drive->config->name,
		collapse_kind_name(turn->finding.kind), changes[turn->change], words);
}

/* What became part of a saw-tooth is counted and told there. */
static void absorbed_store(struct drive *drive, const struct collapse_turn *turn, int64_t t_ms)
{
	struct event_record event;
	char words[COLLAPSE_TEXT_MAX];

	event_of(drive, &turn->finding, t_ms, &event);
	text_copy(words, sizeof(words), event.text);
	text_copy(event.kind, sizeof(event.kind), "note");
	(void)snprintf(event.text, sizeof(event.text), "a tooth of the saw-tooth: %s", words);
	event.severity = EVENT_INFO;
	event.count = 0;
	(void)archive_put_event(drive->soak->options.archive, &event);
}

static void turn_tell(struct drive *drive, const struct collapse_turn *turn, int64_t t_ms)
{
	finding_log(drive, turn, t_ms);
	if (turn->change == COLLAPSE_ABSORBED)
		absorbed_store(drive, turn, t_ms);
	else
		finding_store(drive, &turn->finding, t_ms);
}

/* The finding that lowers throughput now: its words for the status, and the journal once in a while. */
static void current_tell(struct drive *drive, int64_t t_ms)
{
	struct judge_watch *watch = &drive->judge;
	struct collapse_finding finding;
	char words[COLLAPSE_TEXT_MAX];

	watch->finding[0] = watch->words[0] = '\0';
	if (!collapse_current(watch->collapse, &finding)) {
		watch->told_ms = 0;
		return;
	}
	finding_print(&finding, t_ms, words);
	text_copy(watch->finding, sizeof(watch->finding), collapse_kind_name(finding.kind));
	(void)snprintf(watch->words, sizeof(watch->words), "%s: %s", collapse_kind_name(finding.kind), words);
	if (t_ms - watch->told_ms < TELL_AGAIN_MS)
		return;
	watch->told_ms = t_ms;
	finding_store(drive, &finding, t_ms);
}

static void steady_tell(struct drive *drive, enum steady_turn turn)
{
	struct steady_answer answer;

	if (turn == STEADY_STAYS)
		return;
	steady_get(drive->judge.steady, &answer);
	if (turn == STEADY_LOSES) {
		drive_event(drive, "steady-lost", EVENT_WARNING, "no longer steady: %s", answer.why_not);
		return;
	}
	if (isnan(answer.settle.round_s)) {
		drive_event(drive, "steady", EVENT_INFO,
			"settle-rule is off: settled from the start of the soak");
		return;
	}
	drive_event(drive, "steady", EVENT_INFO,
		"settled: %.1f extents written, the last 5 rounds of %.0f min range over %.1f %% and drift "
		"by %.1f %% "
		"of their mean",
		answer.extents, answer.settle.round_s / 60, answer.settle.range_pct, answer.settle.drift_pct);
}

/* What is open when the soak ends, or the run, ends with it. */
static void findings_end(struct drive *drive, int64_t t_ms)
{
	struct judge_watch *watch = &drive->judge;

	for (int kind = 0; kind < COLLAPSE_KIND_COUNT; kind++) {
		struct collapse_turn turn = { .change = COLLAPSE_CLEARED,
			.was = (enum collapse_kind)kind,
			.finding = watch->open[kind] };

		if (!watch->is_open[kind])
			continue;
		turn.finding.to_ms = t_ms;
		finding_store(drive, &turn.finding, t_ms);
		open_note(watch, &turn, drive->last_sample_ms);
	}
	watch->finding[0] = watch->words[0] = '\0';
	watch->is_over = true;
}

/* True for a sample of after the soak: nothing is judged any more. */
static bool is_past_soak(struct drive *drive, const struct sample *sample)
{
	struct judge_watch *watch = &drive->judge;

	if (sample->phase == PHASE_SOAK)
		watch->soak_ms = sample->t_ms;
	if (sample->phase <= PHASE_SOAK)
		return false;
	if (!watch->is_over)
		findings_end(drive, watch->soak_ms);
	return true;
}

void drive_judge(struct drive *drive)
{
	const struct sample *sample = &drive->sample;
	struct collapse_answer answer = { 0 };

	if (is_past_soak(drive, sample))
		return;
	if (!drive->judge.collapse && collapse_begin(drive) < 0)
		return;
	steady_tell(drive, steady_step(drive, sample));
	collapse_step(drive, sample, &answer);
	for (unsigned i = 0; i < answer.count; i++) {
		open_note(&drive->judge, &answer.turns[i], sample->t_ms);
		turn_tell(drive, &answer.turns[i], sample->t_ms);
	}
	open_update(&drive->judge);
	current_tell(drive, sample->t_ms);
}

/* The samples tell the same again; the events are in the journal already. */
static int replay(const struct sample *sample, void *arg)
{
	struct drive *drive = arg;
	struct collapse_answer answer = { 0 };

	if (is_past_soak(drive, sample))
		return 0;
	(void)steady_step(drive, sample);
	collapse_step(drive, sample, &answer);
	for (unsigned i = 0; i < answer.count; i++)
		open_note(&drive->judge, &answer.turns[i], sample->t_ms);
	open_update(&drive->judge);
	return 0;
}

/* With other thresholds than before the samples tell other falls: what is open in the journal and is none of them ends. */
static int orphan_end(const struct event_record *event, void *arg)
{
	struct drive *drive = arg;
	struct event_record over = *event;
	char key[sizeof(event->key)];

	if (!event->key[0] || event->until_ms != INT64_MIN)
		return 0;
	for (int kind = 0; kind < COLLAPSE_KIND_COUNT; kind++) {
		if (!drive->judge.is_open[kind])
			continue;
		key_make(&drive->judge.open[kind], key, sizeof(key));
		if (strcmp(key, event->key) == 0)
			return 0;
	}
	over.until_ms = drive->last_sample_ms;
	(void)archive_put_event(drive->soak->options.archive, &over);
	return 0;
}

void drive_recall_judge(struct drive *drive, struct journal *journal)
{
	watch_reset(&drive->judge);
	if (drive->last_sample_ms == INT64_MIN || collapse_begin(drive) < 0)
		return;
	(void)journal_each_sample(journal, drive->run.id, INT64_MIN, INT64_MAX, false, replay, drive);
	(void)journal_each_open_event(journal, drive->run.id, orphan_end, drive);
	if (!drive->judge.is_over)
		current_tell(drive, drive->last_sample_ms);
}

void drive_end_judge(struct drive *drive)
{
	if (drive->last_sample_ms != INT64_MIN && !drive->judge.is_over)
		findings_end(drive, drive->last_sample_ms);
	watch_reset(&drive->judge);
}

void drive_put_judge(const struct drive *drive, struct drive_status *status)
{
	const struct judge_watch *watch = &drive->judge;
	struct steady_answer answer;

	status->settled_ms = INT64_MIN;
	text_copy(status->finding, sizeof(status->finding), watch->finding);
	status->baseline_bytes_per_s = watch->collapse ? collapse_baseline(watch->collapse) : NAN;
	if (!watch->steady)
		return;
	steady_get(watch->steady, &answer);
	if (answer.reached)
		status->settled_ms = answer.window_from_ms;
	text_copy(status->why_not_settled, sizeof(status->why_not_settled), answer.why_not);
}
