/* SPDX-License-Identifier: GPL-2.0-or-later */
/* alerts.h - decide from "this rule is bad for this drive" which alerts fire and what is told of them, and when.
 * Arithmetic only: no I/O, no clock, no logging. One per service, one thread; all memory is taken at the start.
 *
 * A rule is bad as the reading says (throughput, decided with its own hysteresis), or by value and threshold; it is
 * good again beyond the clear threshold. A rule of growth compares with the count at the begin of the run, so that
 * errors of the past never alert. What a reading can't tell leaves an alert as it is.
 *
 * An alert that begins is told once (raised); again when it got graver (graver); by the repeat policy while it lasts
 * (repeated); and when it is over (resolved), always when it had been told. The first message goes out at once, what
 * follows within the digest comes together in one. Flapping is bounded: of the same rule and drive ALERTS_PROMPT firings
 * in any ALERTS_QUIET_MS are told as they come, each with its end. What begins after them is held back until the first of
 * them is so long ago, unless it is graver than what was told; then one message tells how it stands, firing or over, and
 * how often it fired meanwhile. One that ended and comes again before its end was told simply goes on. A muted alert
 * fires and says nothing, but is in the count of the next message; what was told before is still said to be over. */
#ifndef DRIVESOAK_ALERTS_H
#define DRIVESOAK_ALERTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "alert/rules.h"
#include "archive/journal.h"

#define ALERTS_QUIET_MS	   (10 * 60000LL)
#define ALERTS_PROMPT	   3  /* firings in ALERTS_QUIET_MS that are told as they come */
#define ALERTS_MESSAGE_MAX 32 /* alerts in one message; more follow in the next at once */
#define ALERTS_NEVER_MS	   INT64_MAX

/* Which drive this is, for people. */
struct alert_subject {
	char label[128], model[64], serial[160];
};

enum alert_sense {
	ALERT_ABOVE, /* bad at the threshold or above */
	ALERT_BELOW, /* bad below the threshold */
	ALERT_GROWS /* bad above the count at the begin of the run: the threshold where it is known, else the first seen */
};

struct alert_reading {
	enum alert_rule rule;
	enum alert_sense sense; /* of the value; for a decided rule only how its margin is computed */
	bool is_unknown;	/* can't be told now; also a NAN value of a rule that is not decided */
	bool is_decided, is_bad;
	double value, threshold; /* NAN: none */
	double clear;		 /* good again below (above) it; NAN: at the threshold */
	enum event_severity severity;
	char run[RUN_ID_MAX];
	struct alert_subject subject;
	char text[EVENT_TEXT_MAX]; /* a sentence with the numbers */
	char cause[32], evidence[EVENT_TEXT_MAX];
	bool is_last_word; /* where it is good: the text is what is to be said of the alert that this ends */
	bool is_length_told; /* it says how long that was */
};

/* One rule of one drive, as it stands or as it was; also what is stored. INT64_MIN is a time that has not come. */
struct alert {
	char drive[64]; /* "": the service */
	enum alert_rule rule;
	char run[RUN_ID_MAX];
	struct alert_subject subject;
	bool is_firing;
	enum event_severity severity;
	int64_t since_ms, until_ms; /* of the present or last episode */
	double value, threshold;    /* as last known */
	double margin_pct;	    /* how far the value is from firing, of the threshold; NAN */
	char text[EVENT_TEXT_MAX], cause[32], evidence[EVENT_TEXT_MAX];
	bool is_length_told; /* of one that is over, by its text; not stored */
	int64_t muted_until_ms;

	/* What was told. */
	bool is_told;  /* the episode has been in a message */
	bool owes_end; /* the end is to be told */
	enum event_severity told_severity;
	int64_t told_ms;	 /* last raise or repeat */
	unsigned repeats;	 /* of the episode */
	unsigned untold;	 /* episodes since the last message that were over untold, or went on */
	int64_t untold_since_ms; /* the first of them began */
	int64_t held_until_ms;	 /* what is held back is told then; INT64_MIN: nothing is */
	int64_t begun_ms[ALERTS_PROMPT]; /* of the last episodes, newest first; muted ones are not counted */
};

enum alert_note { ALERT_RAISED, ALERT_GRAVER, ALERT_REPEATED, ALERT_RESOLVED, ALERT_TEST, ALERT_NOTE_COUNT };
const char *alert_note_name(enum alert_note note);
bool alert_note_parse(const char *name, enum alert_note *out);

struct alert_entry {
	enum alert_note note;
	struct alert alert; /* as it was before it was told */
};

/* How often it fired from alert.untold_since_ms until the message; 1 when there is nothing but what the entry tells. */
unsigned alert_entry_fired(const struct alert_entry *entry);

#define ALERT_MESSAGE_ID_MAX 40

struct alert_message {
	char id[ALERT_MESSAGE_ID_MAX]; /* given by whoever stores it; the same at each try */
	int64_t t_ms;
	size_t count;
	struct alert_entry entries[ALERTS_MESSAGE_MAX];
};

struct alerts_config {
	int64_t repeat_ms;   /* 0: once */
	bool is_diminishing; /* 1, 2, 4, ... days */
	int64_t digest_ms;
};

/* The config's repeat text ("once", "diminishing", a duration). */
void alerts_parse_repeat(const char *text, struct alerts_config *out);

struct alerts;

/* @drives: names in the order of their numbers; the service itself is number @count. 0 or -ENOMEM. */
int alerts_new(
	const struct alerts_config *config, const char *const *drives, size_t count, struct alerts **out);
void alerts_free(struct alerts *alerts); /* NULL is fine */

/* As it was stored before a restart, before the first reading. One of a drive that is no longer there ends now. */
void alerts_recall(struct alerts *alerts, const struct alert *stored, int64_t now_ms);

void alerts_set(struct alerts *alerts, size_t drive, const struct alert_reading *reading, int64_t now_ms);
/* The rule no longer applies (the run is over): what fires ends, with @text as its last word. */
void alerts_end(struct alerts *alerts, size_t drive, enum alert_rule rule, const char *text, int64_t now_ms);

/* Until @until_ms; at or before now: no longer. */
void alerts_mute(struct alerts *alerts, size_t drive, enum alert_rule rule, int64_t until_ms);

/* What is to be told now, as one message; false, with *@out untouched, when there is nothing yet. Ask until it is
 * false. What it holds then counts as told. */
bool alerts_next(struct alerts *alerts, int64_t now_ms, struct alert_message *out);
/* When there will be something to tell unless a reading changes it; ALERTS_NEVER_MS. */
int64_t alerts_due_ms(const struct alerts *alerts, int64_t now_ms);

/* What changed since the last call and is to be stored; NULL when there is no more. Good until the next change. */
const struct alert *alerts_next_changed(struct alerts *alerts);
/* What began, went on or ended since the last call, for the record, and when; NULL: no more. One that goes on because its
 * end was not told yet has begun before that. */
const struct alert *alerts_next_turn(struct alerts *alerts, int64_t *out_ms);

/* Until when the message about it is held back as it fires too often; INT64_MIN: it is not. */
int64_t alerts_held_until_ms(const struct alert *alert);

/* One rule of one drive as it stands; .drive is its name also when it never fired. */
const struct alert *alerts_get(const struct alerts *alerts, size_t drive, enum alert_rule rule);

#endif
