/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Drives that share a path: whose turn it is to fill alone, who waits for that, and when all fill together. What the
 * figures say is in soak_path.c. */
#include "soak_private.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"

/* A drive that takes longer to stop or to flush hangs, and is not waited for. */
#define ENDING_NS (10 * NS_PER_S)

const char *drive_path_name(const struct drive *drive)
{
	if (drive->config->group[0])
		return drive->config->group;
	return drive->is_open ? keeper_get_facts(drive->keeper)->shared_port : "";
}

bool drive_shares_path(const struct drive *drive, const struct drive *other)
{
	const char *name = drive_path_name(drive);

	return drive != other && name[0] && strcmp(name, drive_path_name(other)) == 0;
}

/* A run that neither waits for its user nor is over, on a drive that is there. */
static bool is_active(const struct drive *drive)
{
	const enum run_status status = drive->run.progress.status;

	return drive->is_open && (status == RUN_RUNNING || status == RUN_STALLED);
}

static bool is_sealing(const struct drive *drive)
{
	return drive->run.progress.phase == PHASE_FILL && drive->job == JOB_NONE &&
	       drive->path.waiting == RUN_ACT_NONE;
}

static enum pathgroup_work idle_work(const struct drive *drive, bool is_hung)
{
	if (!is_active(drive))
		return PATHGROUP_AWAY;
	if (drive->path.waiting != RUN_ACT_NONE)
		return drive->path.waiting == RUN_ACT_FILL ? PATHGROUP_WANTS : PATHGROUP_FINISHED;
	return is_sealing(drive) && !is_hung ? PATHGROUP_FILLS : PATHGROUP_AWAY;
}

static enum pathgroup_work work_of(struct drive *drive)
{
	const uint64_t now_ns = clock_mono_ns();
	bool is_hung;

	if (drive->job != JOB_STOPPING && !is_sealing(drive))
		drive->path.ending_ns = 0;
	else if (!drive->path.ending_ns)
		drive->path.ending_ns = now_ns;
	is_hung = drive->path.ending_ns && now_ns - drive->path.ending_ns > ENDING_NS;
	if (drive->job == JOB_NONE)
		return idle_work(drive, is_hung);
	if (is_hung)
		return is_active(drive) ? PATHGROUP_OTHER : PATHGROUP_AWAY;
	return drive->run.progress.phase == PHASE_FILL ? PATHGROUP_FILLS : PATHGROUP_OTHER;
}

/* The members are numbered as the drives; who is none of @path is away. */
static void members_read(struct soak *soak, const struct drive *path)
{
	for (size_t i = 0; i < soak->drive_count; i++) {
		struct drive *drive = &soak->drives[i];
		bool is_member = drive == path || drive_shares_path(path, drive);

		soak->members[i] = (struct pathgroup_member){
			.work = is_member ? work_of(drive) : PATHGROUP_AWAY,
			/* What ends now or is past the fill needs no turn any more. */
			.is_measured = drive->path.is_measured || !is_active(drive) || is_sealing(drive),
			.alone_ns = drive->path.alone.elapsed_ns,
		};
	}
}

static bool are_others_quiet(const struct soak *soak, size_t index)
{
	for (size_t i = 0; i < soak->drive_count; i++)
		if (i != index && (soak->members[i].work == PATHGROUP_FILLS ||
					  soak->members[i].work == PATHGROUP_OTHER))
			return false;
	return true;
}

static void go_on(struct drive *drive)
{
	enum run_action action = drive->path.waiting;
	char reason[STATUS_TEXT_MAX];

	drive->path.waiting = RUN_ACT_NONE;
	drive->path.words[0] = '\0';
	drive->is_partial = true;
	drive_ask(drive, action);
	drive_running_reason(drive, reason);
	drive_set_status(drive, RUN_RUNNING, reason);
}

static void say_waiting(struct drive *drive, const struct drive *turn)
{
	char words[sizeof(drive->path.words)], reason[STATUS_TEXT_MAX];

	if (drive == turn)
		(void)snprintf(words, sizeof(words), "waits until the others on %s have stopped",
			drive_path_name(drive));
	else
		(void)snprintf(words, sizeof(words), "waits while %s fills alone (shared %s)",
			turn->config->name, drive_path_name(drive));
	if (strcmp(words, drive->path.words) == 0)
		return;
	text_copy(drive->path.words, sizeof(drive->path.words), words);
	drive_running_reason(drive, reason);
	drive_set_status(drive, RUN_RUNNING, reason);
}

static void carry_out(struct soak *soak, size_t index, size_t turn)
{
	struct drive *drive = &soak->drives[index];
	const enum pathgroup_work work = soak->members[index].work;

	if (work == PATHGROUP_FILLS && turn != PATHGROUP_NONE && turn != index) {
		/* One that is being stopped comes back to wait by itself, or is through as one that is flushed. */
		if (drive->job == JOB_RUNNING || drive->job == JOB_STARTING)
			drive_halt(drive, RUN_ACT_FILL);
	} else if (work == PATHGROUP_WANTS || work == PATHGROUP_FINISHED) {
		drive->path.had_turn |= turn == index;
		if (turn == PATHGROUP_NONE || (turn == index && are_others_quiet(soak, index)))
			go_on(drive);
		else
			say_waiting(drive, &soak->drives[turn]);
	}
}

static enum path_mode mode_of(const struct soak *soak, size_t index)
{
	const struct drive *drive = &soak->drives[index];
	bool has_company = false;

	if (drive->job != JOB_RUNNING || drive->then != RUN_ACT_NONE ||
		drive->run.progress.phase != PHASE_FILL)
		return PATH_MIXED;
	if (are_others_quiet(soak, index))
		return PATH_ALONE;
	for (size_t i = 0; i < soak->drive_count; i++) {
		if (i == index || soak->members[i].work == PATHGROUP_AWAY)
			continue;
		if (soak->members[i].work != PATHGROUP_FILLS || soak->drives[i].job != JOB_RUNNING)
			return PATH_MIXED;
		has_company = true;
	}
	return has_company ? PATH_TOGETHER : PATH_MIXED;
}

static void modes_set(struct soak *soak, const struct drive *path)
{
	members_read(soak, path);
	for (size_t i = path->index; i < soak->drive_count; i++) {
		struct path_watch *watch = &soak->drives[i].path;
		enum path_mode mode;

		if (i != path->index && !drive_shares_path(path, &soak->drives[i]))
			continue;
		mode = mode_of(soak, i);
		watch->is_whole &= mode == watch->mode;
		watch->mode = mode;
		watch->had_turn |= mode == PATH_ALONE;
	}
}

static void path_balance(struct soak *soak, const struct drive *path)
{
	struct pathgroup_answer answer;

	members_read(soak, path);
	answer = pathgroup_step(soak->members, soak->drive_count);
	for (size_t i = path->index; i < soak->drive_count; i++) {
		struct drive *drive = &soak->drives[i];

		if (i != path->index && !drive_shares_path(path, drive))
			continue;
		if (answer.blocker != PATHGROUP_NONE && !soak->members[i].is_measured &&
			(soak->members[i].work == PATHGROUP_FILLS ||
				soak->members[i].work == PATHGROUP_WANTS))
			path_give_up(drive, &soak->drives[answer.blocker]);
		carry_out(soak, i, answer.turn);
	}
	modes_set(soak, path);
}

static bool is_first_of_path(const struct drive *drive)
{
	for (size_t i = 0; i < drive->index; i++)
		if (drive_shares_path(drive, &drive->soak->drives[i]))
			return false;
	return drive_path_name(drive)[0];
}

void soak_balance_paths(struct soak *soak)
{
	for (size_t i = 0; i < soak->drive_count && !soak->is_stopping; i++)
		if (is_first_of_path(&soak->drives[i]))
			path_balance(soak, &soak->drives[i]);
}

bool drive_waits_for_path(struct drive *drive, enum run_action action)
{
	if (!drive_path_name(drive)[0])
		return false;
	/* Who has filled in less than its time alone must not disturb those that come after it. */
	if (action != RUN_ACT_FILL &&
		!(action == RUN_ACT_SOAK && drive->path.had_turn && !drive->path.is_measured))
		return false;
	drive->path.is_measured |= action == RUN_ACT_SOAK;
	drive->path.waiting = action;
	return true;
}

void drive_running_reason(const struct drive *drive, char *reason)
{
	const char *const parts[] = { drive->judge.words, drive->path.words, drive->trouble, drive->badge };
	struct text text = TEXT_INIT;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (parts[i][0])
			text_addf(&text, "%s%s", text.length ? "; " : "", parts[i]);
	text_keep(reason, STATUS_TEXT_MAX, &text);
}
