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
	KEEPER_OPEN, /* run_id, goal_bytes (0: new), discard, ledger_path, power_lost -> OPENED or FAILED */
	KEEPER_FILL, /* from_bytes, to_bytes, seed -> STARTED or FAILED, later ENDED */
	KEEPER_SOAK, /* to_bytes, threads, queue_depth, seed, pace -> STARTED or FAILED, ENDED when the ring fails */
	KEEPER_VERIFY, /* to_bytes -> STARTED or FAILED, later ENDED */
	KEEPER_STOP,   /* -> STOPPED when nothing is in flight any more */
	KEEPER_FREE,   /* the engine or sweep, once its totals have been read -> DONE */
	KEEPER_SEAL,   /* to_bytes: cut the files there, make them durable -> SEALED or FAILED */
	KEEPER_EPOCH, /* flush the drive and make durable what the ledger knows to be on it -> DONE or FAILED */
	KEEPER_LOOK,  /* is the target still where it was? -> LOOKED */
	KEEPER_CLOSE, /* the target -> DONE */
	KEEPER_QUIT,
};

struct keeper_command {
	enum keeper_verb verb;
	char run_id[64];
	char ledger_path[600]; /* "": keep none */
	bool power_lost;       /* since the run was last written to: a volatile cache may have forgotten */
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
	enum keeper_verb verb;	  /* of the command; of the job for ENDED */
	struct engine *engine;	  /* STARTED, STOPPED: to read until KEEPER_FREE is sent; NULL for a sweep */
	struct verify *verify;	  /* STARTED, STOPPED of a sweep */
	bool discarded;		  /* OPENED */
	double ledger_coverage;	  /* OPENED: 0..1 of the blocks; 0 without a ledger */
	char why[TARGET_WHY_MAX]; /* FAILED; OPENED: what could not be done; LOOKED: "" or what is wrong */
};

struct keeper;

/* @wake is called from the keeper's or a worker's thread whenever a reply is there. 0 or -errno. */
int keeper_new(const struct config_drive *drive, void (*wake)(void *), void *wake_arg, struct keeper **out);
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
