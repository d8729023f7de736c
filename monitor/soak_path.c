/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the fill alone and the fill together say of the path that drives share, and where that is kept: an event, the
 * run's record, and a badge on the drive. */
#include "soak_private.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/flat.h"

#define WINDOW_NS ((uint64_t)PATHGROUP_ALONE_S * NS_PER_S)
/* Figures of less are no reason for a badge. */
#define LEAST_NS (WINDOW_NS / 6)
/* A turn lasts at most that many times as long as it should. */
#define TURN_FACTOR_MAX 3

/* How the object begins that is kept behind the others of the host. */
#define RECORD_KEY ",\"shared_path\":"

struct path_verdict {
	struct pathgroup_figures figures;
	char with[256];
	char badge[STATUS_TEXT_MAX];
};

void path_note_sample(struct drive *drive)
{
	const uint64_t interval_ns = drive->soak->options.config->sample_interval_ns;
	struct path_watch *watch = &drive->path;
	struct pathgroup_rate *rate = watch->mode == PATH_ALONE ? &watch->alone : &watch->together;
	bool is_taken = watch->mode != PATH_MIXED && watch->is_whole && rate->elapsed_ns < WINDOW_NS &&
			drive->sample.state == SAMPLE_FILLING && !(drive->sample.flags & SAMPLE_FLAG_PARTIAL);

	watch->is_whole = true;
	if (is_taken) {
		rate->bytes += drive->sample.write_bytes;
		rate->elapsed_ns += drive->sample.elapsed_ns;
	}
	/* Where hardly an interval is whole, the others wait no longer for one that is. */
	if (watch->had_turn && watch->waiting == RUN_ACT_NONE && drive->run.progress.status == RUN_RUNNING)
		watch->turn_ns += drive->sample.elapsed_ns;
	watch->is_measured |= watch->alone.elapsed_ns >= WINDOW_NS ||
			      watch->turn_ns >= TURN_FACTOR_MAX * (WINDOW_NS + interval_ns);
}

/* Did both fill at the same time, or, of those that never filled together, are both there? */
static bool is_company(const struct drive *drive, const struct drive *other)
{
	return drive_shares_path(drive, other) &&
	       (drive->path.together.elapsed_ns ? other->path.together.elapsed_ns > 0 : other->is_open);
}

static void record_put(struct drive *drive, const struct path_verdict *verdict)
{
	const struct soak *soak = drive->soak;
	struct text text = TEXT_INIT;
	struct json json;

	text_add(&text, drive->run.host_json);
	/* Without its closing bracket. */
	if (text.length)
		text.bytes[--text.length] = '\0';
	text_add(&text, RECORD_KEY);
	json_init(&json, &text);
	json_object_open(&json);
	json_put_string(&json, "port", drive_path_name(drive));
	json_key(&json, "with");
	json_array_open(&json);
	for (size_t i = 0; i < soak->drive_count; i++)
		if (is_company(drive, &soak->drives[i]))
			json_string(&json, soak->drives[i].config->name);
	json_array_close(&json);
	json_put_double(&json, "alone_bytes_per_s", pathgroup_bytes_per_s(&drive->path.alone));
	json_put_double(&json, "together_bytes_per_s", pathgroup_bytes_per_s(&drive->path.together));
	json_put_u64(&json, "link_bytes_per_s", verdict->figures.link_bytes_per_s);
	json_put_string(&json, "badge", verdict->badge[0] ? verdict->badge : NULL);
	json_object_close(&json);
	text_add(&text, "}");
	if (text_error(&text) == 0 && text.length < sizeof(drive->run.host_json))
		text_copy(drive->run.host_json, sizeof(drive->run.host_json), text_string(&text));
	text_fini(&text);
	drive_store(drive);
}

static void member_note(const char *key, const char *value, void *arg)
{
	struct drive *drive = arg;

	if (strcmp(key, "badge") == 0)
		text_copy(drive->badge, sizeof(drive->badge), value);
}

void path_keep_record(struct drive *drive, const char *host)
{
	const char *kept = strstr(drive->run.host_json, RECORD_KEY);
	struct text text = TEXT_INIT;

	text_add(&text, host);
	if (kept) {
		/* It was measured before the service was started again, or said that it can't be. */
		drive->path.is_measured = drive->path.is_concluded = true;
		drive->badge[0] = '\0';
		(void)flat_each(kept + strlen(RECORD_KEY), member_note, drive);
		if (text.length && text.length + strlen(kept) < sizeof(drive->run.host_json)) {
			text.bytes[--text.length] = '\0';
			text_add(&text, kept);
		}
	}
	text_keep(drive->run.host_json, sizeof(drive->run.host_json), &text);
}

/* Of a path that the config names, only what all of it share has a link that all of it pass. */
static uint64_t link_of(const struct drive *drive)
{
	const struct target_facts *facts = keeper_get_facts(drive->keeper);

	for (size_t i = 0; i < drive->soak->drive_count; i++) {
		const struct drive *other = &drive->soak->drives[i];

		if (is_company(drive, other) &&
			(!other->is_open || strcmp(keeper_get_facts(other->keeper)->shared_port,
						    facts->shared_port) != 0))
			return UINT64_MAX;
	}
	return facts->shared_port[0] ? facts->shared_link_bytes_per_s : UINT64_MAX;
}

/* Figures of too little time say nothing. */
static struct pathgroup_rate rate_known(const struct pathgroup_rate *rate)
{
	return rate->elapsed_ns >= LEAST_NS ? *rate : (struct pathgroup_rate){ 0 };
}

static double bytes_per_s_known(const struct drive *drive)
{
	const struct pathgroup_rate rate = rate_known(&drive->path.together);

	return pathgroup_bytes_per_s(&rate);
}

static void company_read(const struct drive *drive, struct path_verdict *verdict)
{
	struct text with = TEXT_INIT;

	verdict->figures.sum_bytes_per_s = bytes_per_s_known(drive);
	for (size_t i = 0; i < drive->soak->drive_count; i++) {
		const struct drive *other = &drive->soak->drives[i];

		if (!is_company(drive, other))
			continue;
		text_addf(&with, "%s%s", with.length ? ", " : "", other->config->name);
		/* What one wrote beside fewer, before this one came, is no part of the sum. */
		verdict->figures.sum_bytes_per_s += other->path.is_due ? bytes_per_s_known(other) : NAN;
	}
	text_keep(verdict->with, sizeof(verdict->with), &with);
}

static void verdict_make(const struct drive *drive, struct path_verdict *verdict)
{
	*verdict = (struct path_verdict){
		.figures = {
			.path = drive_path_name(drive),
			.with = verdict->with,
			.alone = rate_known(&drive->path.alone),
			.together = rate_known(&drive->path.together),
			.link_bytes_per_s = link_of(drive),
		},
	};
	company_read(drive, verdict);
	pathgroup_badge(&verdict->figures, verdict->badge, sizeof(verdict->badge));
}

static void conclude(struct drive *drive, const struct path_verdict *verdict)
{
	const double share = pathgroup_alone_share(&verdict->figures.alone, &verdict->figures.together);

	drive->path.is_concluded = true;
	text_copy(drive->badge, sizeof(drive->badge), verdict->badge);
	if (verdict->badge[0])
		drive_event(drive, "note", EVENT_WARNING, "%s", verdict->badge);
	else if (!isnan(share))
		drive_event(drive, "note", EVENT_INFO,
			"shares %s with %s, which takes nothing from it: fills at %.0f %% of what it does "
			"alone",
			verdict->figures.path, verdict->with, share * 100);
	record_put(drive, verdict);
}

/* Nothing more comes to the figures of the drive's fill. */
static bool is_complete(const struct drive *drive)
{
	return drive->path.together.elapsed_ns >= WINDOW_NS || drive->run.progress.phase != PHASE_FILL;
}

static bool is_waited_for(const struct drive *drive)
{
	return drive->is_open && drive->run.progress.status != RUN_PAUSED && !is_complete(drive);
}

/* All that filled together are concluded at once, for they are one sum. */
static bool is_due(const struct drive *drive)
{
	bool has_company = false;

	if (drive->path.is_concluded || !drive->is_open || !drive->path.alone.elapsed_ns ||
		!is_complete(drive))
		return false;
	for (size_t i = 0; i < drive->soak->drive_count; i++) {
		const struct drive *other = &drive->soak->drives[i];

		if (!is_company(drive, other))
			continue;
		if (drive->path.together.elapsed_ns && is_waited_for(other))
			return false;
		has_company = true;
	}
	return has_company;
}

void soak_judge_paths(struct soak *soak)
{
	struct path_verdict verdict;

	for (size_t i = 0; i < soak->drive_count; i++)
		soak->drives[i].path.is_due = is_due(&soak->drives[i]);
	for (size_t i = 0; i < soak->drive_count; i++) {
		if (!soak->drives[i].path.is_due)
			continue;
		verdict_make(&soak->drives[i], &verdict);
		conclude(&soak->drives[i], &verdict);
	}
}

void path_give_up(struct drive *drive, const struct drive *blocker)
{
	struct path_verdict verdict = { .figures = { .link_bytes_per_s = link_of(drive) } };

	drive->path.is_measured = drive->path.is_concluded = true;
	if (blocker->run.progress.phase == PHASE_FILL)
		drive_event(drive, "note", EVENT_INFO, "not measured alone: %s does not stop (shared %s)",
			blocker->config->name, drive_path_name(drive));
	else
		drive_event(drive, "note", EVENT_INFO,
			"not measured alone: %s is in its phase %s already (shared %s)",
			blocker->config->name, run_phase_name(blocker->run.progress.phase),
			drive_path_name(drive));
	record_put(drive, &verdict);
}
