/* SPDX-License-Identifier: GPL-2.0-or-later */
/* keeper.h - the thread of one drive that does all that may block on it: open, discard, start and stop engines,
 * make durable, close. Commands go in by a bounded queue and are carried out in order; every one is answered by one
 * reply, and a job that ends by itself sends one more. The conductor never waits: a hung drive hangs its keeper. */
#ifndef DRIVESOAK_KEEPER_H
#define DRIVESOAK_KEEPER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "config/config.h"
#include "engine/engine.h"
#include "engine/verify.h"
#include "target/target.h"

enum keeper_verb {
	/* run_id, goal_bytes (0: new), filled_bytes, discard, power_lost, written_bytes -> OPENED or FAILED */
	KEEPER_OPEN,
	KEEPER_FILL, /* from_bytes, to_bytes, seed -> STARTED or FAILED, later ENDED */
	KEEPER_SOAK, /* to_bytes, threads, queue_depth, seed, pace -> STARTED or FAILED, ENDED when the ring fails */
	KEEPER_VERIFY, /* to_bytes -> STARTED or FAILED, later ENDED */
	KEEPER_STOP,   /* -> STOPPED when nothing is in flight any more */
	KEEPER_FREE,   /* the engine or sweep, once its totals have been read -> DONE */
	KEEPER_SEAL,   /* to_bytes: cut the files there, make them durable -> SEALED or FAILED */
	/* Flush the drive and make durable what the ledger knows to be on it; done_bytes comes back -> DONE or FAILED */
	KEEPER_EPOCH,
	KEEPER_LOOK,  /* is the target still where it was? -> LOOKED */
	KEEPER_CLOSE, /* the target -> DONE */
	KEEPER_PURGE, /* the closed target: remove our files -> DONE or FAILED */
	KEEPER_QUIT,
};

struct keeper_command {
	enum keeper_verb verb;
	char run_id[64];
	bool power_lost;       /* since the run was last written to: a volatile cache may have forgotten */
	uint64_t filled_bytes; /* so far the target holds the run's stamps, unless something happened to it */
	uint64_t written_bytes; /* by the run so far, as the journal knows it: for its budget */
	uint64_t done_bytes;	/* of the fill, when the flush was asked for */
	uint64_t goal_bytes, from_bytes, to_bytes, seed, run_tag;
	unsigned threads, queue_depth;
	double requests_per_s; /* 0: as fast as the depth allows */
	bool is_open_loop;
	bool discard;
};

enum keeper_answer {
	KEEPER_OPENED,
	KEEPER_STARTED,
	KEEPER_ENDED,
	KEEPER_STOPPED,
	KEEPER_SEALED,
	KEEPER_LOOKED,
	KEEPER_DONE,
	KEEPER_FAILED,
};

struct keeper_reply {
	enum keeper_answer answer;
	enum keeper_verb verb;	/* of the command; of the job for ENDED */
	int error;		/* FAILED, LOOKED: 0 or -errno; -ENODEV: the drive is not there */
	struct engine *engine;	/* STARTED, STOPPED: to read until KEEPER_FREE is sent; NULL for a sweep */
	struct verify *verify;	/* STARTED, STOPPED of a sweep */
	bool is_budget_spent;	/* STOPPED: the engine ended because nothing may be written any more */
	bool discarded;		/* OPENED */
	uint64_t done_bytes;	/* DONE of an epoch */
	double ledger_coverage; /* OPENED, STARTED of an engine: 0..1 of the blocks; 0 without a ledger */
	char why[TARGET_WHY_MAX]; /* FAILED; OPENED, STARTED, DONE: what could not be done; LOOKED: "" or what is wrong */
};

struct keeper;

struct keeper_setup {
	const struct config_drive *drive;
	const char *
		state_directory; /* claims; the run's ledger and budget are STATE/runs/ID.ledger and ID.budget */
	/* Called from the keeper's or a worker's thread whenever a reply is there. */
	void (*wake)(void *arg);
	void *wake_arg;
};

/* 0 or -errno. What @setup points to must outlive the keeper. */
int keeper_new(const struct keeper_setup *setup, struct keeper **out);
/* End the thread; false when it still hangs in the drive after @timeout_ns: it is then left alone. NULL is fine. */
bool keeper_free(struct keeper *keeper, uint64_t timeout_ns);

/* False when the queue is full, which a conductor that waits for replies never sees. */
bool keeper_send(struct keeper *keeper, const struct keeper_command *command);
bool keeper_next_reply(struct keeper *keeper, struct keeper_reply *out);

/* Next bad block of the running sweep, oldest first; those beyond the 128 kept at a time are only counted by it. */
bool keeper_next_finding(struct keeper *keeper, struct verify_finding *out);

/* Constant between OPENED and KEEPER_CLOSE. */
const struct target_facts *keeper_get_facts(const struct keeper *keeper);
const struct target_plan *keeper_get_plan(const struct keeper *keeper);
const char *keeper_get_host_json(const struct keeper *keeper);

#endif
