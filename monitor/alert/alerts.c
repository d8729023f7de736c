/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "alert/alerts.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"

#define DAY_MS	       86400000LL
#define DOUBLINGS_MOST 20
/* Alerts of drives that the configuration no longer has. */
#define ORPHANS_MAX 64

struct slot {
	struct alert alert;
	bool is_changed, is_turned;
	int64_t turned_ms;
	double baseline; /* of a rule of growth; NAN */
	char baseline_run[RUN_ID_MAX];
};

struct alerts {
	struct alerts_config config;
	size_t drives; /* the service is one more */
	int64_t digest_until_ms;
	size_t slot_count, orphans;
	struct slot slots[];
};

static const char *const note_names[ALERT_NOTE_COUNT] = { "raised", "graver", "repeated", "resolved",
	"test" };

const char *alert_note_name(enum alert_note note)
{
	return note_names[note];
}

bool alert_note_parse(const char *name, enum alert_note *out)
{
	for (int i = 0; i < ALERT_NOTE_COUNT; i++) {
		if (strcmp(note_names[i], name) != 0)
			continue;
		*out = (enum alert_note)i;
		return true;
	}
	return false;
}

void alerts_parse_repeat(const char *text, struct alerts_config *out)
{
	uint64_t ns = 0;

	out->is_diminishing = strcmp(text, "diminishing") == 0;
	out->repeat_ms = units_parse_duration(text, &ns) == 0 ? (int64_t)(ns / NS_PER_MS) : 0;
}

static void slot_init(struct slot *slot, const char *drive, enum alert_rule rule)
{
	struct alert *alert = &slot->alert;

	*slot = (struct slot){ .baseline = NAN };
	text_copy(alert->drive, sizeof(alert->drive), drive);
	alert->rule = rule;
	alert->since_ms = alert->until_ms = alert->muted_until_ms = alert->told_ms = alert->untold_since_ms =
		alert->held_until_ms = INT64_MIN;
	for (size_t i = 0; i < ALERTS_PROMPT; i++)
		alert->begun_ms[i] = INT64_MIN;
	alert->value = alert->threshold = alert->margin_pct = NAN;
}

int alerts_new(
	const struct alerts_config *config, const char *const *drives, size_t count, struct alerts **out)
{
	const size_t slots = (count + 1) * ALERT_RULE_COUNT;
	struct alerts *alerts = calloc(1, sizeof(*alerts) + (slots + ORPHANS_MAX) * sizeof(alerts->slots[0]));

	if (!alerts)
		return -ENOMEM;
	alerts->config = *config;
	alerts->drives = count;
	alerts->slot_count = slots;
	alerts->digest_until_ms = INT64_MIN;
	for (size_t i = 0; i < slots; i++) {
		size_t drive = i / ALERT_RULE_COUNT;

		slot_init(&alerts->slots[i], drive < count ? drives[drive] : "",
			(enum alert_rule)(i % ALERT_RULE_COUNT));
	}
	*out = alerts;
	return 0;
}

void alerts_free(struct alerts *alerts)
{
	free(alerts);
}

static struct slot *slot_at(struct alerts *alerts, size_t drive, enum alert_rule rule)
{
	return &alerts->slots[drive * ALERT_RULE_COUNT + rule];
}

const struct alert *alerts_get(const struct alerts *alerts, size_t drive, enum alert_rule rule)
{
	return &alerts->slots[drive * ALERT_RULE_COUNT + rule].alert;
}

static bool is_muted(const struct alert *alert, int64_t now_ms)
{
	return alert->muted_until_ms > now_ms;
}

/* Held back is what is no graver than the last that was told. */
static bool is_held(const struct alert *alert)
{
	return alert->held_until_ms != INT64_MIN && alert->severity <= alert->told_severity;
}

int64_t alerts_held_until_ms(const struct alert *alert)
{
	return !alert->is_told && is_held(alert) ? alert->held_until_ms : INT64_MIN;
}

static void turn(struct slot *slot, int64_t now_ms)
{
	slot->is_changed = slot->is_turned = true;
	slot->turned_ms = now_ms;
}

static void count_untold(struct alert *alert)
{
	if (alert->untold++ == 0)
		alert->untold_since_ms = alert->since_ms;
}

static void begun_push(struct alert *alert, int64_t now_ms)
{
	memmove(alert->begun_ms + 1, alert->begun_ms, sizeof(alert->begun_ms) - sizeof(alert->begun_ms[0]));
	alert->begun_ms[0] = now_ms;
}

static void begun_drop(struct alert *alert)
{
	memmove(alert->begun_ms, alert->begun_ms + 1, sizeof(alert->begun_ms) - sizeof(alert->begun_ms[0]));
	alert->begun_ms[ALERTS_PROMPT - 1] = INT64_MIN;
}

/* Too many began of late: from when on this one may be told; INT64_MIN: at once. */
static int64_t held_until(const struct alert *alert, int64_t now_ms)
{
	const int64_t first_ms = alert->begun_ms[ALERTS_PROMPT - 1];

	/* After a step back of the clock the first lies ahead: it says nothing. */
	if (first_ms == INT64_MIN || first_ms > now_ms || now_ms >= first_ms + ALERTS_QUIET_MS)
		return INT64_MIN;
	return first_ms + ALERTS_QUIET_MS;
}

static void begin(struct slot *slot, int64_t now_ms)
{
	struct alert *alert = &slot->alert;

	alert->is_firing = true;
	alert->until_ms = INT64_MIN;
	turn(slot, now_ms);
	/* Its end was not told yet: for whoever reads the messages it never ended. */
	if (alert->owes_end) {
		alert->owes_end = false;
		count_untold(alert);
		return;
	}
	alert->since_ms = now_ms;
	alert->is_told = false;
	alert->repeats = 0;
	if (alert->held_until_ms == INT64_MIN && !is_muted(alert, now_ms))
		alert->held_until_ms = held_until(alert, now_ms);
	begun_push(alert, now_ms);
}

static void end(struct slot *slot, int64_t now_ms)
{
	struct alert *alert = &slot->alert;

	alert->is_firing = false;
	alert->until_ms = now_ms;
	turn(slot, now_ms);
	/* Of what waited for the digest only the end is told, of what is held back how often and how it stands then, of what
	 * was muted only the number. */
	if (alert->is_told) {
		alert->owes_end = true;
	} else if (is_muted(alert, now_ms)) {
		count_untold(alert);
		begun_drop(alert);
	} else if (is_held(alert)) {
		count_untold(alert);
	} else {
		alert->owes_end = true;
	}
}

static double margin_pct(const struct alert *alert, enum alert_sense sense)
{
	double room = sense == ALERT_BELOW ? alert->value - alert->threshold
					   : alert->threshold - alert->value;

	return sense != ALERT_GROWS && fabs(alert->threshold) > 0 ? room / fabs(alert->threshold) * 100 : NAN;
}

static double baseline_of(struct slot *slot, const struct alert_reading *reading)
{
	const bool is_new = strcmp(slot->baseline_run, reading->run) != 0;

	if (!isnan(reading->threshold))
		slot->baseline = reading->threshold;
	else if (is_new || isnan(slot->baseline))
		slot->baseline = reading->value;
	text_copy(slot->baseline_run, sizeof(slot->baseline_run), reading->run);
	return slot->baseline;
}

static bool is_bad(const struct alert *alert, const struct alert_reading *reading)
{
	const double limit = alert->is_firing && !isnan(reading->clear) ? reading->clear : alert->threshold;

	if (reading->is_decided)
		return reading->is_bad;
	switch (reading->sense) {
	case ALERT_BELOW:
		return alert->value < limit;
	case ALERT_GROWS:
		return alert->value > alert->threshold;
	case ALERT_ABOVE:
		break;
	}
	return alert->value >= limit;
}

static bool is_unknown(const struct alert_reading *reading)
{
	return reading->is_unknown ||
	       (!reading->is_decided && (isnan(reading->value) || (reading->sense != ALERT_GROWS &&
									  isnan(reading->threshold))));
}

/* What is said of it; of an alert that is over, its last words stay. */
static void words_take(struct slot *slot, const struct alert_reading *reading)
{
	struct alert *alert = &slot->alert;

	if (alert->severity != reading->severity || strcmp(alert->cause, reading->cause) != 0)
		slot->is_changed = true;
	alert->severity = reading->severity;
	text_copy(alert->run, sizeof(alert->run), reading->run);
	alert->is_length_told = reading->is_length_told;
	text_copy(alert->text, sizeof(alert->text), reading->text);
	text_copy(alert->cause, sizeof(alert->cause), reading->cause);
	text_copy(alert->evidence, sizeof(alert->evidence), reading->evidence);
}

void alerts_set(struct alerts *alerts, size_t drive, const struct alert_reading *reading, int64_t now_ms)
{
	struct slot *slot = slot_at(alerts, drive, reading->rule);
	struct alert *alert = &slot->alert;
	bool bad, is_last_word;

	if (is_unknown(reading))
		return;
	alert->value = reading->value;
	alert->threshold = reading->sense == ALERT_GROWS && !reading->is_decided ? baseline_of(slot, reading)
										 : reading->threshold;
	alert->margin_pct = margin_pct(alert, reading->sense);
	alert->subject = reading->subject;
	bad = is_bad(alert, reading);
	is_last_word = !bad && alert->is_firing && reading->is_last_word;
	if (bad && !alert->is_firing)
		begin(slot, now_ms);
	else if (!bad && alert->is_firing)
		end(slot, now_ms);
	if (bad || is_last_word)
		words_take(slot, reading);
}

void alerts_end(struct alerts *alerts, size_t drive, enum alert_rule rule, const char *text, int64_t now_ms)
{
	struct slot *slot = slot_at(alerts, drive, rule);

	slot->alert.value = slot->alert.threshold = slot->alert.margin_pct = NAN;
	if (!slot->alert.is_firing)
		return;
	text_copy(slot->alert.text, sizeof(slot->alert.text), text);
	slot->alert.is_length_told = false;
	end(slot, now_ms);
}

static size_t drive_find(const struct alerts *alerts, const char *name)
{
	for (size_t i = 0; i <= alerts->drives; i++)
		if (strcmp(alerts_get(alerts, i, ALERT_COLLAPSE)->drive, name) == 0)
			return i;
	return SIZE_MAX;
}

static void slot_recall(struct slot *slot, const struct alert *stored, int64_t now_ms)
{
	slot->alert = *stored;
	slot->alert.margin_pct = NAN;
	/* The clock may have been set back meanwhile. */
	if (stored->held_until_ms != INT64_MIN && stored->held_until_ms > now_ms + ALERTS_QUIET_MS)
		slot->alert.held_until_ms = now_ms + ALERTS_QUIET_MS;
}

void alerts_recall(struct alerts *alerts, const struct alert *stored, int64_t now_ms)
{
	size_t drive = drive_find(alerts, stored->drive);
	struct slot *slot;

	if (drive != SIZE_MAX) {
		slot = slot_at(alerts, drive, stored->rule);
		slot_recall(slot, stored, now_ms);
		return;
	}
	if ((!stored->is_firing && !stored->owes_end && stored->held_until_ms == INT64_MIN) ||
		alerts->orphans == ORPHANS_MAX)
		return;
	slot = &alerts->slots[alerts->slot_count++];
	alerts->orphans++;
	slot_recall(slot, stored, now_ms);
	if (!stored->is_firing)
		return;
	text_copy(slot->alert.text, sizeof(slot->alert.text), "the drive is no longer in the configuration");
	end(slot, now_ms);
}

void alerts_mute(struct alerts *alerts, size_t drive, enum alert_rule rule, int64_t until_ms)
{
	struct slot *slot = slot_at(alerts, drive, rule);

	slot->alert.muted_until_ms = until_ms;
	slot->is_changed = true;
}

static int64_t repeat_ms(const struct alerts_config *config, const struct alert *alert)
{
	unsigned doublings = alert->repeats < DOUBLINGS_MOST ? alert->repeats : DOUBLINGS_MOST;

	if (config->is_diminishing)
		return DAY_MS << doublings;
	return config->repeat_ms ? config->repeat_ms : ALERTS_NEVER_MS;
}

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* From when on there is something to tell of it, and what. */
static int64_t tell_ms(const struct alerts_config *config, const struct alert *alert, enum alert_note *note)
{
	int64_t pause_ms;

	*note = ALERT_RESOLVED;
	if (alert->owes_end)
		return INT64_MIN; /* at once, even when the clock was set back since */
	if (!alert->is_firing)
		return alert->held_until_ms == INT64_MIN ? ALERTS_NEVER_MS
							 : later(alert->held_until_ms, alert->muted_until_ms);
	*note = ALERT_RAISED;
	if (!alert->is_told)
		return later(alert->muted_until_ms, is_held(alert) ? alert->held_until_ms : INT64_MIN);
	*note = ALERT_GRAVER;
	if (alert->severity > alert->told_severity)
		return later(alert->told_ms, alert->muted_until_ms);
	*note = ALERT_REPEATED;
	pause_ms = repeat_ms(config, alert);
	return pause_ms == ALERTS_NEVER_MS ? ALERTS_NEVER_MS
					   : later(alert->told_ms + pause_ms, alert->muted_until_ms);
}

static void tell(struct slot *slot, enum alert_note note, int64_t now_ms, struct alert_entry *entry)
{
	struct alert *alert = &slot->alert;

	entry->note = note;
	entry->alert = *alert;
	slot->is_changed = true;
	alert->untold = 0;
	alert->untold_since_ms = alert->held_until_ms = INT64_MIN;
	if (note == ALERT_RESOLVED) {
		/* It may have been raised and over within one digest, or while it was held back: then this told both. */
		if (!alert->is_told)
			alert->told_severity = alert->severity;
		alert->is_told = true;
		alert->owes_end = false;
		return;
	}
	if (note == ALERT_REPEATED)
		alert->repeats++;
	alert->is_told = true;
	alert->told_ms = now_ms;
	alert->told_severity = alert->severity;
}

unsigned alert_entry_fired(const struct alert_entry *entry)
{
	const bool is_counted = entry->note == ALERT_RESOLVED && !entry->alert.owes_end;

	return entry->alert.untold + !is_counted;
}

/* A clock that was set back must not make a digest longer. */
static int64_t digest_until_ms(const struct alerts *alerts, int64_t now_ms)
{
	return alerts->digest_until_ms > now_ms + alerts->config.digest_ms ? INT64_MIN
									   : alerts->digest_until_ms;
}

bool alerts_next(struct alerts *alerts, int64_t now_ms, struct alert_message *out)
{
	size_t count = 0;
	enum alert_note note;

	if (now_ms < digest_until_ms(alerts, now_ms))
		return false;
	for (size_t i = 0; i < alerts->slot_count && count < ALERTS_MESSAGE_MAX; i++)
		if (tell_ms(&alerts->config, &alerts->slots[i].alert, &note) <= now_ms)
			tell(&alerts->slots[i], note, now_ms, &out->entries[count++]);
	if (count == 0)
		return false;
	/* A message that is full has followers that were due with it. */
	if (count < ALERTS_MESSAGE_MAX)
		alerts->digest_until_ms = now_ms + alerts->config.digest_ms;
	out->id[0] = '\0';
	out->t_ms = now_ms;
	out->count = count;
	return true;
}

int64_t alerts_due_ms(const struct alerts *alerts, int64_t now_ms)
{
	int64_t due_ms = ALERTS_NEVER_MS;
	enum alert_note note;

	for (size_t i = 0; i < alerts->slot_count; i++) {
		int64_t ms = tell_ms(&alerts->config, &alerts->slots[i].alert, &note);

		due_ms = ms < due_ms ? ms : due_ms;
	}
	return due_ms == ALERTS_NEVER_MS ? due_ms
					 : later(later(due_ms, digest_until_ms(alerts, now_ms)), now_ms);
}

const struct alert *alerts_next_changed(struct alerts *alerts)
{
	for (size_t i = 0; i < alerts->slot_count; i++) {
		if (!alerts->slots[i].is_changed)
			continue;
		alerts->slots[i].is_changed = false;
		return &alerts->slots[i].alert;
	}
	return NULL;
}

const struct alert *alerts_next_turn(struct alerts *alerts, int64_t *out_ms)
{
	for (size_t i = 0; i < alerts->slot_count; i++) {
		if (!alerts->slots[i].is_turned)
			continue;
		alerts->slots[i].is_turned = false;
		*out_ms = alerts->slots[i].turned_ms;
		return &alerts->slots[i].alert;
	}
	return NULL;
}
