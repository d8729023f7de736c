/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "prober.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/text.h"

#define SMARTCTL_PREFIX "smartctl:"

struct prober {
	void (*wake)(void *);
	void *wake_arg;
	pthread_t thread;
	_Atomic bool has_quit;

	pthread_mutex_t lock;
	pthread_cond_t has_work;
	struct prober_question question;
	struct prober_answer answer;
	bool is_asked, is_answered, quits;

	struct reading_memory memory; /* the thread's own */
};

enum prober_way prober_way_of(const char *probe, const struct blockdev *disk, char *type, size_t type_size)
{
	static const struct {
		const char *name;
		enum prober_way way;
	} by_config[] = { { "none", PROBER_NONE }, { "nvme", PROBER_NVME }, { "ata", PROBER_ATA } },
	  by_transport[] = { { "nvme", PROBER_NVME }, { "sata", PROBER_ATA }, { "ata", PROBER_ATA },
		  { "sas", PROBER_SMARTCTL }, { "scsi", PROBER_SMARTCTL }, { "usb", PROBER_SMARTCTL } };

	text_copy(type, type_size, "");
	for (size_t i = 0; i < sizeof(by_config) / sizeof(by_config[0]); i++)
		if (strcmp(probe, by_config[i].name) == 0)
			return by_config[i].way;
	if (strncmp(probe, SMARTCTL_PREFIX, strlen(SMARTCTL_PREFIX)) == 0) {
		text_copy(type, type_size, probe + strlen(SMARTCTL_PREFIX));
		return PROBER_SMARTCTL;
	}
	for (size_t i = 0; i < sizeof(by_transport) / sizeof(by_transport[0]); i++)
		if (strcmp(disk->transport, by_transport[i].name) == 0)
			return by_transport[i].way;
	return PROBER_NONE;
}

int prober_read(const struct prober_question *question, struct reading_memory *memory, struct reading *out)
{
	char node[48];

	(void)snprintf(node, sizeof(node), "/dev/%s", question->disk);
	switch (question->way) {
	case PROBER_NVME:
		return reading_read_nvme_known(node, question->is_evidence, memory, out);
	case PROBER_ATA:
		return reading_read_ata_known(node, question->is_evidence, memory, out);
	case PROBER_SMARTCTL:
		return reading_read_smartctl_known(node, question->type, question->is_evidence, memory, out);
	default:
		return -ENOTSUP;
	}
}

int prober_read_any(struct prober_question *question, struct reading_memory *memory, struct reading *out)
{
	struct prober_question other = *question;
	struct reading_memory other_memory = { 0 };
	struct reading reading;
	int rc = prober_read(question, memory, out);

	/* One that hangs would hang once more. */
	if (rc >= 0 || question->way != PROBER_ATA || rc == -ETIMEDOUT || rc == -EBUSY)
		return rc;
	other.way = PROBER_SMARTCTL;
	if (prober_read(&other, &other_memory, &reading) == 0) {
		question->way = PROBER_SMARTCTL;
		reading_fini(out);
		*out = reading;
		rc = 0;
	} else {
		reading_fini(&reading);
	}
	reading_memory_fini(&other_memory);
	return rc;
}

static void look(struct prober *prober, const struct prober_question *question, struct prober_answer *answer)
{
	struct blockdev_counters counters;
	uint64_t from_ns = clock_mono_ns();

	*answer = (struct prober_answer){
		.question = *question, .rc = -ENOMEM, .disk_written_bytes = UINT64_MAX
	};
	if (blockdev_read_counters("", question->disk, &counters) == 0)
		answer->disk_written_bytes = counters.write_bytes;
	answer->reading = malloc(sizeof(*answer->reading));
	if (answer->reading) {
		reading_init(answer->reading);
		answer->rc = prober_read(question, &prober->memory, answer->reading);
		answer->reading->t_ms = clock_wall_ms();
	}
	answer->took_ns = clock_mono_ns() - from_ns;
}

static void answer_drop(struct prober_answer *answer)
{
	if (answer->reading) {
		reading_fini(answer->reading);
		free(answer->reading);
	}
	*answer = (struct prober_answer){ 0 };
}

static void *prober_main(void *arg)
{
	struct prober *prober = arg;
	struct prober_question question;
	struct prober_answer answer;

	(void)pthread_mutex_lock(&prober->lock);
	while (!prober->quits) {
		if (!prober->is_asked || prober->is_answered) {
			(void)pthread_cond_wait(&prober->has_work, &prober->lock);
			continue;
		}
		question = prober->question;
		(void)pthread_mutex_unlock(&prober->lock);
		look(prober, &question, &answer);
		(void)pthread_mutex_lock(&prober->lock);
		prober->answer = answer;
		prober->is_answered = true;
		prober->wake(prober->wake_arg);
	}
	(void)pthread_mutex_unlock(&prober->lock);
	atomic_store(&prober->has_quit, true);
	return NULL;
}

int prober_new(void (*wake)(void *), void *wake_arg, struct prober **out)
{
	struct prober *prober = calloc(1, sizeof(*prober));
	sigset_t all, before;
	int rc;

	if (!prober)
		return -ENOMEM;
	prober->wake = wake;
	prober->wake_arg = wake_arg;
	(void)pthread_mutex_init(&prober->lock, NULL);
	(void)pthread_cond_init(&prober->has_work, NULL);
	/* Signals belong to the control loop. */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = -pthread_create(&prober->thread, NULL, prober_main, prober);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc < 0) {
		free(prober);
		return rc;
	}
	*out = prober;
	return 0;
}

bool prober_free(struct prober *prober, uint64_t timeout_ns)
{
	const struct timespec pause = { .tv_nsec = 2000000 };
	uint64_t until_ns = clock_mono_ns() + timeout_ns;

	if (!prober)
		return true;
	(void)pthread_mutex_lock(&prober->lock);
	prober->quits = true;
	(void)pthread_cond_signal(&prober->has_work);
	(void)pthread_mutex_unlock(&prober->lock);
	while (!atomic_load(&prober->has_quit)) {
		if (clock_mono_ns() >= until_ns)
			return false;
		(void)nanosleep(&pause, NULL);
	}
	(void)pthread_join(prober->thread, NULL);
	answer_drop(&prober->answer);
	reading_memory_fini(&prober->memory);
	(void)pthread_mutex_destroy(&prober->lock);
	(void)pthread_cond_destroy(&prober->has_work);
	free(prober);
	return true;
}

bool prober_ask(struct prober *prober, const struct prober_question *question)
{
	bool is_free;

	(void)pthread_mutex_lock(&prober->lock);
	is_free = !prober->is_asked;
	if (is_free) {
		prober->question = *question;
		prober->is_asked = true;
		(void)pthread_cond_signal(&prober->has_work);
	}
	(void)pthread_mutex_unlock(&prober->lock);
	return is_free;
}

bool prober_is_busy(struct prober *prober)
{
	bool is_busy;

	(void)pthread_mutex_lock(&prober->lock);
	is_busy = prober->is_asked;
	(void)pthread_mutex_unlock(&prober->lock);
	return is_busy;
}

bool prober_next_answer(struct prober *prober, struct prober_answer *out)
{
	bool has_one;

	(void)pthread_mutex_lock(&prober->lock);
	has_one = prober->is_answered;
	if (has_one) {
		*out = prober->answer;
		prober->answer = (struct prober_answer){ 0 };
		prober->is_asked = prober->is_answered = false;
	}
	(void)pthread_mutex_unlock(&prober->lock);
	return has_one;
}
