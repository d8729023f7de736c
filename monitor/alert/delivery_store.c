/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the delivery thread keeps in the file of alerts, and what it does when that can't be written. */
#include "alert/delivery_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"

#define SAVE_AGAIN_NS (2 * NS_PER_S)
#define DONE_MAX      64 /* told to everybody, and not stored yet */
#define TIDY_EVERY_NS (86400 * NS_PER_S)

/* Alerts must go out whatever has become of the file: a damaged one makes room for a new one. */
static int put_aside(struct delivery *delivery, const char *what, char *why)
{
	static const char *const parts[] = { "", "-wal", "-shm" };
	char from[620], to[640];

	outbox_close(delivery->past);
	outbox_close(delivery->outbox);
	delivery->past = delivery->outbox = NULL;
	delivery->tidy_next_ns = 0;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		(void)snprintf(from, sizeof(from), "%s%s", delivery->path, parts[i]);
		(void)snprintf(to, sizeof(to), "%s.damaged%s", delivery->path, parts[i]);
		if (rename(from, to) < 0 && i == 0)
			return -errno;
	}
	delivery_event(delivery, EVENT_CRITICAL, "%s: %s: put aside as %s.damaged; what waited in it is lost",
		delivery->path, what, delivery->path);
	return outbox_open(delivery->path, false, &delivery->outbox, why);
}

static int begin_outbox(struct delivery *delivery, char *why)
{
	uint64_t lost = 0;
	int rc = outbox_begin(delivery->outbox, delivery->addresses, delivery->address_count, clock_wall_ms(),
		!delivery->tidy_next_ns, &lost);

	if (rc < 0)
		text_copy(why, OUTBOX_WHY_MAX, outbox_error(delivery->outbox));
	else
		delivery->tidy_next_ns = clock_mono_ns() + TIDY_EVERY_NS;
	if (lost)
		delivery_event(delivery, EVENT_WARNING,
			"%llu messages for channels that are no longer in the configuration are given up",
			(unsigned long long)lost);
	return rc;
}

static bool has_content(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && st.st_size > 0;
}

/* Where it can't be opened to be written now: what fired before the start is in it all the same. */
static int open_past(struct delivery *delivery, int rc)
{
	char why[OUTBOX_WHY_MAX];

	return rc == -ENOSPC ? outbox_open_alone(delivery->path, &delivery->past, why) : rc;
}

int delivery_open_file(struct delivery *delivery, char *why)
{
	const bool has_past = has_content(delivery->path);
	char words[OUTBOX_WHY_MAX], what[OUTBOX_WHY_MAX];
	int rc = outbox_open(delivery->path, false, &delivery->outbox, words);

	if (rc == 0)
		rc = begin_outbox(delivery, words);
	if (rc == -EBADMSG) {
		text_copy(what, sizeof(what), words);
		rc = put_aside(delivery, what, words);
		if (rc == 0)
			rc = begin_outbox(delivery, words);
	}
	/* A full disk is no reason not to start: the thread tries again. */
	if (rc == -ENOSPC || rc == -EBUSY) {
		if (has_past && !delivery->outbox)
			delivery->past_rc = open_past(delivery, rc);
		rc = 0;
	}
	if (rc < 0)
		(void)snprintf(why, DELIVERY_WHY_MAX, "%.200s: %s", delivery->path, words);
	return rc;
}

static struct outbox *readable(const struct delivery *delivery)
{
	return delivery->outbox ? delivery->outbox : delivery->past;
}

int delivery_each_last(
	struct delivery *delivery, int (*each)(const struct alert *alert, void *arg), void *arg)
{
	char what[OUTBOX_WHY_MAX], why[OUTBOX_WHY_MAX];
	struct outbox *outbox = readable(delivery);
	int rc = outbox ? outbox_each_last(outbox, each, arg) : delivery->past_rc;

	if (rc != -EBADMSG || !outbox)
		return rc;
	text_copy(what, sizeof(what), outbox_error(outbox));
	if (put_aside(delivery, what, why) == 0)
		(void)begin_outbox(delivery, why);
	return rc;
}

int delivery_each_episode(
	struct delivery *delivery, size_t limit, int (*each)(const struct alert *alert, void *arg), void *arg)
{
	struct outbox *outbox = readable(delivery);

	return outbox ? outbox_each_episode(outbox, limit, each, arg) : delivery->past_rc;
}

/* The last that is known of a rule of a drive counts: as the file has it, or will. */
static void firing_take(struct delivery *delivery, const struct alert *alert)
{
	struct alert *firing = delivery->firing;
	size_t at = 0;

	while (at < delivery->firing_count &&
		(firing[at].rule != alert->rule || strcmp(firing[at].drive, alert->drive) != 0))
		at++;
	if (!alert->is_firing || !alert->is_told) {
		if (at < delivery->firing_count)
			memmove(firing + at, firing + at + 1,
				(--delivery->firing_count - at) * sizeof(*firing));
		return;
	}
	if (at == delivery->firing_count) {
		firing = realloc(firing, (at + 1) * sizeof(*firing));
		if (!firing) {
			delivery->is_firing_read = false; /* then again */
			return;
		}
		delivery->firing = firing;
		delivery->firing_count++;
	}
	firing[at] = *alert;
}

static int firing_recall(const struct alert *alert, void *arg)
{
	firing_take(arg, alert);
	return 0;
}

void delivery_note_firing(struct delivery *delivery, const struct batch *batch)
{
	for (size_t i = 0; i < batch->alert_count; i++)
		firing_take(delivery, &batch->alerts[i]);
}

void delivery_recall_firing(struct delivery *delivery)
{
	struct outbox *outbox = readable(delivery);

	if (delivery->is_firing_read || !outbox)
		return;
	delivery->is_firing_read = true;
	if (outbox_each_firing(outbox, firing_recall, delivery) < 0)
		delivery->is_firing_read = false;
	for (const struct batch *batch = delivery->unsaved; batch; batch = batch->next)
		delivery_note_firing(delivery, batch);
}

bool delivery_owes(const struct delivery *delivery, const struct batch *batch)
{
	for (size_t i = 0; batch->message && i < delivery->address_count; i++)
		if (!(batch->done >> i & 1))
			return true;
	return false;
}

static bool is_under_way(const struct delivery *delivery, const struct batch *batch)
{
	for (size_t i = 0; i < delivery->channel_count; i++)
		if (delivery->channels[i].job == JOB_LOOSE && delivery->channels[i].loose == batch)
			return true;
	return false;
}

static void save_failed(struct delivery *delivery, const char *why)
{
	delivery->save_next_ns = clock_mono_ns() + SAVE_AGAIN_NS;
	if (delivery->is_unsaved_told)
		return;
	delivery->is_unsaved_told = true;
	delivery_event(delivery, EVENT_CRITICAL,
		"%s can't be written: %s; messages are sent from memory until it can", delivery->path, why);
}

static bool is_same_episode(const struct alert *a, const struct alert *b)
{
	return a->rule == b->rule && a->since_ms == b->since_ms && strcmp(a->drive, b->drive) == 0;
}

/* The alerts of @from, but those that @into knows as they are later, come first in it. */
static bool alerts_merge(const struct batch *from, struct batch *into)
{
	struct alert *merged = calloc(from->alert_count + into->alert_count + 1, sizeof(*merged));
	size_t count = 0;

	if (!merged)
		return false;
	for (size_t i = 0; i < from->alert_count; i++) {
		bool is_later = false;

		for (size_t j = 0; j < into->alert_count; j++)
			is_later |= is_same_episode(&from->alerts[i], &into->alerts[j]);
		if (!is_later)
			merged[count++] = from->alerts[i];
	}
	for (size_t i = 0; i < into->alert_count; i++)
		merged[count++] = into->alerts[i];
	free(into->alerts);
	into->alerts = merged;
	into->alert_count = count;
	return true;
}

/* However long the file can't be written: of the oldest that nobody waits for only the alerts are kept. */
static void merge_done(struct delivery *delivery)
{
	struct batch **link = &delivery->unsaved;
	size_t done = 0;

	for (const struct batch *batch = delivery->unsaved; batch; batch = batch->next)
		done += !delivery_owes(delivery, batch);
	while (done > DONE_MAX && *link && (*link)->next) {
		struct batch *batch = *link;

		if (delivery_owes(delivery, batch)) {
			link = &batch->next;
			continue;
		}
		if (!alerts_merge(batch, batch->next))
			return;
		*link = batch->next;
		delivery_batch_free(batch);
		done--;
	}
}

static void count_down(struct delivery *delivery)
{
	(void)pthread_mutex_lock(&delivery->mutex);
	delivery->given_count--;
	(void)pthread_mutex_unlock(&delivery->mutex);
}

void delivery_note_done(struct delivery *delivery, struct batch *batch, const struct channel *channel)
{
	batch->done |= 1ULL << channel->number;
	if (!delivery_owes(delivery, batch))
		count_down(delivery);
}

void delivery_close_failed(struct delivery *delivery, int rc)
{
	if (rc == -EBUSY || rc == -ENOSPC)
		return;
	outbox_close(delivery->outbox);
	delivery->outbox = NULL;
}

static int save_one(struct delivery *delivery, struct batch *batch, char *why)
{
	int rc = outbox_put(delivery->outbox, batch->alerts, batch->alert_count, batch->message,
		delivery->addresses, delivery->address_count, batch->done);

	if (rc == 0)
		return 0;
	text_copy(why, OUTBOX_WHY_MAX, outbox_error(delivery->outbox));
	delivery_close_failed(delivery, rc);
	return rc;
}

/* In order; what is being sent from memory right now is stored once it is known how that went. */
static size_t save_all(struct delivery *delivery, char *why, int *rc)
{
	size_t saved = 0;

	while (delivery->unsaved && !is_under_way(delivery, delivery->unsaved)) {
		struct batch *batch = delivery->unsaved;

		*rc = save_one(delivery, batch, why);
		if (*rc < 0)
			break;
		delivery->unsaved = batch->next;
		if (delivery_owes(delivery, batch))
			count_down(delivery);
		delivery_batch_free(batch);
		saved++;
	}
	return saved;
}

bool delivery_can_save(const struct delivery *delivery)
{
	return (delivery->unsaved && !is_under_way(delivery, delivery->unsaved)) || !delivery->outbox ||
	       clock_mono_ns() >= delivery->tidy_next_ns;
}

/* After a start and once a day. */
static int tidy(struct delivery *delivery, char *why)
{
	const bool is_start = !delivery->tidy_next_ns;
	int rc;

	if (clock_mono_ns() < delivery->tidy_next_ns)
		return 0;
	rc = begin_outbox(delivery, why);
	if (rc < 0)
		delivery_close_failed(delivery, rc);
	if (rc < 0 && !is_start)
		delivery->tidy_next_ns = clock_mono_ns() + TIDY_EVERY_NS;
	return rc;
}

void delivery_save(struct delivery *delivery)
{
	char why[OUTBOX_WHY_MAX] = "";
	size_t saved = 0;
	int rc = 0;

	if (clock_mono_ns() < delivery->save_next_ns || !delivery_can_save(delivery))
		return;
	if (!delivery->outbox)
		rc = outbox_open(delivery->path, false, &delivery->outbox, why);
	if (rc == 0)
		saved = save_all(delivery, why, &rc);
	if (rc == 0)
		rc = tidy(delivery, why);
	if (rc < 0) {
		save_failed(delivery, why);
		merge_done(delivery);
	} else if (delivery->is_unsaved_told && !delivery->unsaved) {
		delivery->is_unsaved_told = false;
		delivery_event(delivery, EVENT_INFO, "%s can be written again", delivery->path);
	}
	for (size_t i = 0; saved && i < delivery->channel_count; i++)
		channel_publish(delivery, &delivery->channels[i]);
}
