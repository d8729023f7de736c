/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "measure/steady.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/units.h"
#include "measure/summary.h"

#define SETTLE_ROUND_NS	   (300 * NS_PER_S)
#define SETTLE_ROUND_PARTS 5 /* of the extent: a round is 0.2 of it or more */

struct round {
	uint64_t elapsed_ns, bytes, extent_bytes;
	int64_t from_ms;
};

#define OVERDUE 2 /* mean rounds */

/* The last rounds of one length, and the one under way. */
struct ruler {
	uint64_t round_ns, round_extent_bytes; /* at least */
	struct round done[STEADY_ROUNDS], running;
	unsigned count, next; /* of done */
};

struct steady {
	struct steady_config config;
	struct ruler settle, lengths[STEADY_LENGTH_COUNT];
	uint64_t extent_bytes; /* written or read in the soak */
	int64_t last_ms;       /* end of the last sample that counted */
	int64_t extents_ms;    /* when enough of them were written */
	int64_t from_ms, lost_ms, newest_ms;
	unsigned losses;
	bool is_settled;
};

static const uint64_t length_ns[STEADY_LENGTH_COUNT] = { 60 * NS_PER_S, 300 * NS_PER_S, 1800 * NS_PER_S };

int steady_new(const struct steady_config *config, struct steady **out)
{
	struct steady *steady = calloc(1, sizeof(*steady));

	if (!steady)
		return -ENOMEM;
	steady->config = *config;
	for (int i = 0; i < STEADY_LENGTH_COUNT; i++)
		steady->lengths[i].round_ns = length_ns[i];
	steady->settle.round_ns = SETTLE_ROUND_NS;
	steady->settle.round_extent_bytes = config->extent_bytes / SETTLE_ROUND_PARTS +
					    (config->extent_bytes % SETTLE_ROUND_PARTS != 0);
	steady->last_ms = steady->extents_ms = STEADY_NEVER;
	steady->from_ms = steady->lost_ms = steady->newest_ms = STEADY_NEVER;
	*out = steady;
	return 0;
}

void steady_free(struct steady *steady)
{
	free(steady);
}

bool steady_sample_of(const struct sample *sample, struct steady_sample *out)
{
	if (sample->phase != PHASE_SOAK)
		return false;
	*out = (struct steady_sample){
		.t_ms = sample->t_ms,
		.elapsed_ns = sample->elapsed_ns != SAMPLE_UNKNOWN ? sample->elapsed_ns : 0,
		.write_bytes = sample->write_bytes != SAMPLE_UNKNOWN ? sample->write_bytes : 0,
		.read_bytes = sample->read_bytes != SAMPLE_UNKNOWN ? sample->read_bytes : 0,
		.counts = summary_counts(sample),
	};
	return true;
}

static double rate_of(const struct round *round)
{
	return (double)round->bytes * 1e9 / (double)round->elapsed_ns;
}

/* Oldest first. */
static const struct round *round_at(const struct ruler *ruler, unsigned i)
{
	return &ruler->done[(ruler->next + STEADY_ROUNDS - ruler->count + i) % STEADY_ROUNDS];
}

static void judge(const struct ruler *ruler, struct steady_rule *out)
{
	const double middle = (STEADY_ROUNDS - 1) / 2.0;
	double min = INFINITY, max = 0, sum = 0, slope = 0, squares = 0, mean;

	for (unsigned i = 0; i < STEADY_ROUNDS; i++) {
		double x = i - middle, y = rate_of(round_at(ruler, i));

		min = fmin(min, y);
		max = fmax(max, y);
		sum += y;
		slope += x * y;
		squares += x * x;
	}
	mean = sum / STEADY_ROUNDS;
	if (!(mean > 0))
		return;
	slope /= squares;
	out->range_pct = (max - min) / mean * 100;
	out->drift_pct = fabs(slope) * (STEADY_ROUNDS - 1) / mean * 100;
	out->is_falling = slope < 0;
	out->holds = out->range_pct <= STEADY_RANGE_MAX_PCT && out->drift_pct <= STEADY_DRIFT_MAX_PCT;
}

static struct steady_rule rule_of(const struct ruler *ruler)
{
	struct steady_rule rule = { .rounds = ruler->count, .range_pct = NAN, .drift_pct = NAN };
	double elapsed_s = 0;

	for (unsigned i = 0; i < ruler->count; i++)
		elapsed_s += (double)round_at(ruler, i)->elapsed_ns / 1e9;
	rule.round_s = ruler->count ? elapsed_s / ruler->count : NAN;
	if (ruler->count == STEADY_ROUNDS)
		judge(ruler, &rule);
	return rule;
}

static uint64_t extent_bytes_of(const struct steady *steady, const struct steady_sample *sample)
{
	return steady->config.is_read ? sample->read_bytes : sample->write_bytes;
}

static int64_t start_ms(const struct steady_sample *sample)
{
	return sample->t_ms - (int64_t)(sample->elapsed_ns / NS_PER_MS);
}

/* Whether a round ended. */
static bool ruler_add(struct ruler *ruler, const struct steady_sample *sample, uint64_t extent_bytes)
{
	struct round *running = &ruler->running;

	if (running->elapsed_ns == 0)
		running->from_ms = start_ms(sample);
	running->elapsed_ns += sample->elapsed_ns;
	running->bytes += sample->write_bytes + sample->read_bytes;
	running->extent_bytes += extent_bytes;
	if (running->elapsed_ns + sample->elapsed_ns / 2 < ruler->round_ns ||
		running->extent_bytes < ruler->round_extent_bytes)
		return false;
	ruler->done[ruler->next] = *running;
	ruler->next = (ruler->next + 1) % STEADY_ROUNDS;
	if (ruler->count < STEADY_ROUNDS)
		ruler->count++;
	*running = (struct round){ 0 };
	return true;
}

static void ruler_forget_after(struct ruler *ruler, int64_t hole_ms)
{
	if (hole_ms <= (int64_t)(ruler->round_ns / NS_PER_MS))
		return;
	ruler->count = 0;
	ruler->running = (struct round){ 0 };
}

static bool has_extents(const struct steady *steady)
{
	return steady->config.extent_bytes &&
	       steady->extent_bytes / STEADY_EXTENTS >= steady->config.extent_bytes;
}

/* A drive that hangs never brings its round to an end: this one is at half the rate of those before it, or slower. */
static bool is_overdue(const struct steady *steady, const struct steady_rule *rule)
{
	const struct ruler *ruler = &steady->settle;

	return ruler->running.extent_bytes < ruler->round_extent_bytes &&
	       (double)ruler->running.elapsed_ns / 1e9 >= OVERDUE * rule->round_s;
}

static enum steady_turn settle(struct steady *steady)
{
	int64_t rounds_ms = round_at(&steady->settle, 0)->from_ms;

	steady->is_settled = true;
	steady->from_ms = rounds_ms > steady->extents_ms ? rounds_ms : steady->extents_ms;
	return STEADY_SETTLES;
}

static enum steady_turn lose(struct steady *steady, int64_t t_ms)
{
	steady->is_settled = false;
	steady->lost_ms = t_ms;
	steady->losses++;
	return STEADY_LOSES;
}

static enum steady_turn decide_off(struct steady *steady, const struct steady_sample *sample)
{
	if (steady->is_settled || !sample->counts)
		return STEADY_STAYS;
	steady->is_settled = true;
	steady->from_ms = start_ms(sample);
	return STEADY_SETTLES;
}

static void add_rate(struct steady *steady, const struct steady_sample *sample)
{
	uint64_t extent_bytes = extent_bytes_of(steady, sample);
	int64_t hole_ms = steady->last_ms != STEADY_NEVER ? start_ms(sample) - steady->last_ms : 0;

	for (int i = 0; i < STEADY_LENGTH_COUNT; i++) {
		ruler_forget_after(&steady->lengths[i], hole_ms);
		(void)ruler_add(&steady->lengths[i], sample, 0);
	}
	ruler_forget_after(&steady->settle, hole_ms);
	(void)ruler_add(&steady->settle, sample, extent_bytes);
	steady->last_ms = sample->t_ms;
}

enum steady_turn steady_add(struct steady *steady, const struct steady_sample *sample)
{
	bool counts = sample->counts && sample->elapsed_ns > 0;
	struct steady_rule rule;

	steady->extent_bytes += extent_bytes_of(steady, sample);
	if (steady->extents_ms == STEADY_NEVER && has_extents(steady))
		steady->extents_ms = sample->t_ms;
	if (counts)
		add_rate(steady, sample);
	steady->newest_ms = sample->t_ms;
	if (steady->config.is_off)
		return decide_off(steady, sample);
	rule = rule_of(&steady->settle);
	if (!steady->is_settled && rule.holds && has_extents(steady))
		return settle(steady);
	/* Fewer rounds than 5, after a hole, say nothing. */
	if (!steady->is_settled || rule.rounds < STEADY_ROUNDS || (rule.holds && !is_overdue(steady, &rule)))
		return STEADY_STAYS;
	if (rule.holds)
		steady->settle.count = 0;
	return lose(steady, sample->t_ms);
}

struct words {
	char *text;
	size_t used;
};

__attribute__((format(printf, 2, 3))) static void say(struct words *words, const char *format, ...)
{
	va_list args;
	int added;

	if (words->used && words->used + 2 < STEADY_WHY_MAX)
		words->used += (size_t)snprintf(
			words->text + words->used, STEADY_WHY_MAX - words->used, "; ");
	va_start(args, format);
	added = vsnprintf(words->text + words->used, STEADY_WHY_MAX - words->used, format, args);
	va_end(args);
	if (added > 0)
		words->used += (size_t)added;
	if (words->used >= STEADY_WHY_MAX)
		words->used = STEADY_WHY_MAX - 1;
}

static void say_extents(const struct steady *steady, struct words *words)
{
	char done[UNITS_TEXT_MAX], extent[UNITS_TEXT_MAX];

	if (steady->config.extent_bytes == 0) {
		say(words, "the extent that is written over is not known");
		return;
	}
	if (has_extents(steady))
		return;
	units_print_bytes_rounded((double)steady->extent_bytes, done);
	units_print_bytes_rounded((double)steady->config.extent_bytes, extent);
	/* Down, so that what is not yet 2 is never printed as 2. */
	say(words, "%.2f of %d extents %s (%s, an extent is %s)",
		floor((double)steady->extent_bytes / (double)steady->config.extent_bytes * 100) / 100,
		STEADY_EXTENTS, steady->config.is_read ? "read" : "written", done, extent);
}

static void say_rule(const struct ruler *ruler, const struct steady_rule *rule, struct words *words)
{
	char round[UNITS_TEXT_MAX];

	units_print_duration_rounded(rule->rounds ? rule->round_s * 1e9 : (double)ruler->round_ns, round);
	if (rule->rounds < STEADY_ROUNDS) {
		say(words, "%u of %d rounds measured, each %s%s", rule->rounds, STEADY_ROUNDS, round,
			rule->rounds || !ruler->round_extent_bytes ? "" : " or longer");
		return;
	}
	if (isnan(rule->range_pct))
		say(words, "nothing was done in %d rounds of %s", STEADY_ROUNDS, round);
	if (rule->range_pct > STEADY_RANGE_MAX_PCT)
		say(words, "range %.2f %% of the mean over %d rounds of %s, at most %d %%", rule->range_pct,
			STEADY_ROUNDS, round, STEADY_RANGE_MAX_PCT);
	if (rule->drift_pct > STEADY_DRIFT_MAX_PCT)
		say(words, "%s by %.2f %% of the mean over %d rounds of %s, at most %d %%",
			rule->is_falling ? "falls" : "rises", rule->drift_pct, STEADY_ROUNDS, round,
			STEADY_DRIFT_MAX_PCT);
}

static void print_why_not(const struct steady *steady, const struct steady_rule *rule, char *text)
{
	struct words words = { text, 0 };

	text[0] = '\0';
	if (steady->is_settled)
		return;
	if (steady->config.is_off) {
		say(&words, "no sample of the soak counts yet");
		return;
	}
	if (steady->losses)
		say(&words, "was settled before");
	say_extents(steady, &words);
	say_rule(&steady->settle, rule, &words);
}

void steady_get(const struct steady *steady, struct steady_answer *out)
{
	*out = (struct steady_answer){
		.reached = steady->is_settled,
		.from_ms = steady->from_ms,
		.lost_ms = steady->lost_ms,
		.window_from_ms = steady->is_settled ? steady->from_ms : STEADY_NEVER,
		.window_to_ms = steady->is_settled ? steady->newest_ms : STEADY_NEVER,
		.losses = steady->losses,
		.extents = steady->config.extent_bytes
				   ? (double)steady->extent_bytes / (double)steady->config.extent_bytes
				   : NAN,
		.settle = rule_of(&steady->settle),
	};
	for (int i = 0; i < STEADY_LENGTH_COUNT; i++)
		out->lengths[i] = rule_of(&steady->lengths[i]);
	print_why_not(steady, &out->settle, out->why_not);
}
