/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "measure/evidence.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"

#define DISKS_MAX 8 /* of one slot; of more the first */
/* A storm of lines must not keep the thread from its counters. */
#define LINES_A_TURN 256
/* And a file that is always readable must not keep it busy: what comes meanwhile waits in the kernel. */
#define TURN_PAUSE_NS (20 * NS_PER_MS)

struct slot {
	char disks[DISKS_MAX][32]; /* "" behind the last */
	bool is_new;		   /* the thread has not looked up their places yet */
	bool has_counters;
	struct evidence_counters counters;
	struct evidence_line lines[EVIDENCE_LINES_MAX];
	unsigned line_count, first;
	uint64_t lost;
};

/* What the thread alone knows of a slot. */
struct place {
	struct evidence_place disks[DISKS_MAX];
	unsigned count;
};

struct evidence {
	struct evidence_setup setup;
	char trouble[KERNELLOG_WHY_MAX];
	struct kernellog *log; /* NULL: can't be heard. The thread's */
	struct place *places;  /* the thread's */
	int turn_fd;
	pthread_t thread;
	pthread_mutex_t lock;
	struct slot *slots; /* from here on under the lock */
	bool is_asked;
	int64_t stamp;
	atomic_bool quits, has_quit, is_log_lost;
};

static void turn_wake(struct evidence *evidence)
{
	const uint64_t one = 1;

	(void)!write(evidence->turn_fd, &one, sizeof(one));
}

/* --- the thread --- */

static void places_look_up(struct evidence *evidence)
{
	for (unsigned i = 0; i < evidence->setup.slots; i++) {
		struct place *place = &evidence->places[i];
		char disks[DISKS_MAX][32];
		bool is_new;

		(void)pthread_mutex_lock(&evidence->lock);
		is_new = evidence->slots[i].is_new;
		evidence->slots[i].is_new = false;
		memcpy(disks, evidence->slots[i].disks, sizeof(disks));
		(void)pthread_mutex_unlock(&evidence->lock);
		if (!is_new)
			continue;
		for (place->count = 0; place->count < DISKS_MAX && disks[place->count][0]; place->count++)
			evidence_find(evidence->setup.root, disks[place->count], &place->disks[place->count]);
	}
}

static void counters_put(struct evidence *evidence, unsigned index, const struct evidence_counters *counters)
{
	struct slot *slot = &evidence->slots[index];

	(void)pthread_mutex_lock(&evidence->lock);
	/* Of disks that the slot no longer has they are nobody's. */
	if (!slot->is_new) {
		slot->counters = *counters;
		slot->has_counters = true;
	}
	(void)pthread_mutex_unlock(&evidence->lock);
}

static void counters_read(struct evidence *evidence, int64_t stamp)
{
	const char *root = evidence->setup.root;
	uint64_t cpu_us = evidence_read_pressure(root, "cpu"), io_us = evidence_read_pressure(root, "io");

	for (unsigned i = 0; i < evidence->setup.slots; i++) {
		const struct place *place = &evidence->places[i];
		struct evidence_counters sum, one;

		evidence_counters_init(&sum);
		for (unsigned k = 0; k < place->count; k++) {
			evidence_read(root, &place->disks[k], &one);
			if (k == 0)
				sum = one;
			else
				evidence_counters_merge(&sum, &one);
		}
		sum.stamp = stamp;
		sum.disks = place->count;
		sum.cpu_pressure_us = cpu_us;
		sum.io_pressure_us = io_us;
		if (place->count)
			counters_put(evidence, i, &sum);
	}
}

static bool is_of_place(const struct place *place, const struct evidence_line *line)
{
	if (line->word == KERNELLINE_HOST)
		return true;
	for (unsigned i = 0; i < place->count; i++)
		if (kernelline_concerns(line->line.text, &place->disks[i].names))
			return true;
	return false;
}

static void line_put(struct evidence *evidence, unsigned index, const struct evidence_line *line)
{
	struct slot *slot = &evidence->slots[index];

	(void)pthread_mutex_lock(&evidence->lock);
	if (slot->line_count == EVIDENCE_LINES_MAX)
		slot->lost++;
	else if (!slot->is_new)
		slot->lines[(slot->first + slot->line_count++) % EVIDENCE_LINES_MAX] = *line;
	(void)pthread_mutex_unlock(&evidence->lock);
}

static void lines_read(struct evidence *evidence)
{
	bool has_news = false;

	for (unsigned n = 0; evidence->log && n < LINES_A_TURN; n++) {
		struct evidence_line line = { .word = KERNELLINE_NONE };
		int rc = kernellog_next(evidence->log, &line.line);

		if (rc < 0) {
			kernellog_close(evidence->log);
			evidence->log = NULL;
			atomic_store(&evidence->is_log_lost, true);
			has_news = true;
		}
		if (rc <= 0)
			break;
		/* What programs write into it does not come from the kernel. */
		if (line.line.facility == 0)
			line.word = kernelline_word(line.line.text);
		if (line.word == KERNELLINE_NONE)
			continue;
		line.boot_ns = clock_boot_ns();
		for (unsigned i = 0; i < evidence->setup.slots; i++) {
			if (!evidence->places[i].count || !is_of_place(&evidence->places[i], &line))
				continue;
			line_put(evidence, i, &line);
			has_news = true;
		}
	}
	if (has_news && evidence->setup.wake)
		evidence->setup.wake(evidence->setup.wake_arg);
}

static void turn_wait(struct evidence *evidence)
{
	struct pollfd fds[2] = {
		{ .fd = evidence->turn_fd, .events = POLLIN },
		{ .fd = evidence->log ? kernellog_fd(evidence->log) : -1, .events = POLLIN },
	};
	const struct timespec pause = { .tv_nsec = TURN_PAUSE_NS };
	uint64_t count;

	(void)poll(fds, 2, -1);
	if (fds[0].revents & POLLIN)
		(void)!read(evidence->turn_fd, &count, sizeof(count));
	else
		(void)nanosleep(&pause, NULL);
}

static void *evidence_main(void *arg)
{
	struct evidence *evidence = arg;

	while (!atomic_load(&evidence->quits)) {
		bool is_asked;
		int64_t stamp;

		turn_wait(evidence);
		places_look_up(evidence);
		lines_read(evidence);
		(void)pthread_mutex_lock(&evidence->lock);
		is_asked = evidence->is_asked;
		stamp = evidence->stamp;
		evidence->is_asked = false;
		(void)pthread_mutex_unlock(&evidence->lock);
		if (is_asked)
			counters_read(evidence, stamp);
	}
	atomic_store(&evidence->has_quit, true);
	return NULL;
}

/* --- the conductor --- */

static void fini(struct evidence *evidence)
{
	kernellog_close(evidence->log);
	if (evidence->turn_fd >= 0)
		(void)close(evidence->turn_fd);
	(void)pthread_mutex_destroy(&evidence->lock);
	free(evidence->places);
	free(evidence->slots);
	free(evidence);
}

static int start(struct evidence *evidence)
{
	sigset_t all, before;
	int rc;

	/* Signals belong to the control loop. */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = -pthread_create(&evidence->thread, NULL, evidence_main, evidence);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

int evidence_new(const struct evidence_setup *setup, struct evidence **out)
{
	struct evidence *evidence = calloc(1, sizeof(*evidence));
	int rc = -ENOMEM;

	if (!evidence)
		return rc;
	evidence->setup = *setup;
	(void)pthread_mutex_init(&evidence->lock, NULL);
	evidence->slots = calloc(setup->slots, sizeof(*evidence->slots));
	evidence->places = calloc(setup->slots, sizeof(*evidence->places));
	evidence->turn_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (evidence->slots && evidence->places)
		rc = evidence->turn_fd < 0 ? -errno : 0;
	if (rc == 0) {
		(void)kernellog_open(setup->root, &evidence->log, evidence->trouble);
		rc = start(evidence);
	}
	if (rc < 0) {
		fini(evidence);
		return rc;
	}
	*out = evidence;
	return 0;
}

bool evidence_free(struct evidence *evidence, uint64_t timeout_ns)
{
	const struct timespec pause = { .tv_nsec = 2000000 };
	uint64_t until_ns = clock_mono_ns() + timeout_ns;

	if (!evidence)
		return true;
	atomic_store(&evidence->quits, true);
	turn_wake(evidence);
	while (!atomic_load(&evidence->has_quit)) {
		if (clock_mono_ns() >= until_ns)
			return false;
		(void)nanosleep(&pause, NULL);
	}
	(void)pthread_join(evidence->thread, NULL);
	fini(evidence);
	return true;
}

const char *evidence_log_trouble(const struct evidence *evidence)
{
	return atomic_load(&evidence->is_log_lost) ? "it could not be read on" : evidence->trouble;
}

void evidence_watch(struct evidence *evidence, unsigned index, const struct blockdev *disks, unsigned count)
{
	struct slot *slot = &evidence->slots[index];

	(void)pthread_mutex_lock(&evidence->lock);
	*slot = (struct slot){ .is_new = true };
	for (unsigned i = 0; i < count && i < DISKS_MAX; i++)
		text_copy(slot->disks[i], sizeof(slot->disks[i]), disks[i].name);
	(void)pthread_mutex_unlock(&evidence->lock);
	turn_wake(evidence);
}

void evidence_ask(struct evidence *evidence, int64_t stamp)
{
	(void)pthread_mutex_lock(&evidence->lock);
	evidence->is_asked = true;
	evidence->stamp = stamp;
	(void)pthread_mutex_unlock(&evidence->lock);
	turn_wake(evidence);
}

bool evidence_get(struct evidence *evidence, unsigned index, struct evidence_counters *out)
{
	const struct slot *slot = &evidence->slots[index];
	bool has_counters;

	(void)pthread_mutex_lock(&evidence->lock);
	has_counters = slot->has_counters;
	if (has_counters)
		*out = slot->counters;
	(void)pthread_mutex_unlock(&evidence->lock);
	return has_counters;
}

bool evidence_next_line(struct evidence *evidence, unsigned index, struct evidence_line *out, uint64_t *lost)
{
	struct slot *slot = &evidence->slots[index];
	bool has_one;

	(void)pthread_mutex_lock(&evidence->lock);
	has_one = slot->line_count > 0;
	if (has_one) {
		*out = slot->lines[slot->first];
		slot->first = (slot->first + 1) % EVIDENCE_LINES_MAX;
		slot->line_count--;
		*lost = slot->lost;
		slot->lost = 0;
	}
	(void)pthread_mutex_unlock(&evidence->lock);
	return has_one;
}
