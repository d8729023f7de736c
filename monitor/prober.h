/* SPDX-License-Identifier: GPL-2.0-or-later */
/* prober.h - the thread of one drive that reads its health log: apart from the keeper, because a drive whose writes
 * hang may still answer about its health, and the other way round. One reading at a time; the conductor asks, is woken,
 * and takes the answer. */
#ifndef DRIVESOAK_PROBER_H
#define DRIVESOAK_PROBER_H

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "probes/reading.h"
#include "run/run.h"
#include "target/blockdev.h"

enum prober_way { PROBER_NONE, PROBER_NVME, PROBER_ATA, PROBER_SMARTCTL };

struct prober_question {
	enum prober_way way;
	char disk[32]; /* kernel name */
	char type[64]; /* of smartctl: "megaraid,3" */
	/* These come back with the answer: whose it is, and what the run had done when it was asked. */
	char run[64];
	enum run_phase phase;
	uint64_t own_written_bytes;
	bool is_evidence; /* at the start and the end of a run: with the error log */
};

struct prober_answer {
	struct prober_question question;
	int rc;			 /* 0 or -errno; reading->notes says why */
	struct reading *reading; /* the taker frees it: reading_fini(), free() */
	uint64_t took_ns;
	uint64_t disk_written_bytes; /* the block device's counter right before; UINT64_MAX: not known */
};

struct prober;

/* How @probe of the config ("auto", "nvme", "ata", "none", "smartctl:TYPE") reads the disk @disk; @type gets the TYPE. */
enum prober_way prober_way_of(const char *probe, const struct blockdev *disk, char *type, size_t type_size);

/* Read now, on the caller's thread: 0 or -errno with the reading's notes. @disk: kernel name. */
int prober_read(const struct prober_question *question, struct reading_memory *memory, struct reading *out);

/* The same, and what libatasmart can't reach by smartctl: @question then has that way. For those whose way was found by
 * itself. */
int prober_read_any(struct prober_question *question, struct reading_memory *memory, struct reading *out);

/* @wake is called from the prober's thread when an answer is there. 0 or -errno. */
int prober_new(void (*wake)(void *), void *wake_arg, struct prober **out);
/* End the thread; false when it still hangs in the drive after @timeout_ns: it is then left alone. NULL is fine. */
bool prober_free(struct prober *prober, uint64_t timeout_ns);

/* False while the last question is not answered yet. */
bool prober_ask(struct prober *prober, const struct prober_question *question);
bool prober_is_busy(struct prober *prober);
bool prober_next_answer(struct prober *prober, struct prober_answer *out);

#endif
