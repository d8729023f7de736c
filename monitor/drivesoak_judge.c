/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "drivesoak_judge.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "measure/summary.h"

/* As the configuration has them when it says nothing. */
#define BELOW_SHARE    0.5
#define RECOVER_SHARE  0.7
#define FOR_NS	       (30 * NS_PER_S)
#define STALL_AFTER_NS (20 * NS_PER_S)
#define HOUR_NS	       (3600 * NS_PER_S)

/* A running service can judge nothing before it has seen 60 samples. Of a log what it begins with is there at once: it
 * is shown to the decider before the log, without what falls out of line, so that an early fall is found too. */
#define SHOWN 60
#define EARLY 30

struct kept {
	struct collapse_finding finding;
	bool is_absorbed;
};

/* A turn of the steady state. */
struct turn {
	int64_t t_ms;
	bool is_reached;
};

struct judge {
	struct steady *steady;
	struct collapse *collapse;
	struct kept *kept;
	size_t kept_count, kept_capacity;
	struct turn *turns;
	size_t turn_count, turn_capacity;
	uint64_t measured_ns;
	int64_t last_ms;
	bool is_settled;
	struct collapse_sample *early; /* until there are enough of them */
	size_t early_count, early_capacity, early_counting;
	bool has_begun;
};

int judge_new(struct judge **out)
{
	/* The extent of another tool's run is not known. */
	const struct steady_config steady = { .extent_bytes = 0 };
	const struct collapse_config collapse = { BELOW_SHARE, RECOVER_SHARE, FOR_NS, STALL_AFTER_NS, false };
	struct judge *judge = calloc(1, sizeof(*judge));
	int rc;

	if (!judge)
		return -ENOMEM;
	rc = steady_new(&steady, &judge->steady);
	if (rc == 0)
		rc = collapse_new(&collapse, &judge->collapse);
	if (rc < 0) {
		judge_free(judge);
		return rc;
	}
	*out = judge;
	return 0;
}

void judge_free(struct judge *judge)
{
	if (!judge)
		return;
	steady_free(judge->steady);
	collapse_free(judge->collapse);
	free(judge->kept);
	free(judge->turns);
	free(judge->early);
	free(judge);
}

/* Room for one more of @size in *@items; 0 or -ENOMEM. */
static int make_room(void *items, size_t size, size_t count, size_t *capacity)
{
	size_t larger = *capacity ? *capacity * 2 : 64;
	void *moved;

	if (count < *capacity)
		return 0;
	moved = realloc(*(void **)items, larger * size);
	if (!moved)
		return -ENOMEM;
	*(void **)items = moved;
	*capacity = larger;
	return 0;
}

static struct kept *kept_find(struct judge *judge, uint64_t id)
{
	for (size_t i = judge->kept_count; i > 0; i--)
		if (judge->kept[i - 1].finding.id == id)
			return &judge->kept[i - 1];
	return NULL;
}

static int take_turn(struct judge *judge, const struct collapse_turn *turn)
{
	struct kept *kept = kept_find(judge, turn->finding.id);
	int rc;

	if (!kept) {
		rc = make_room(&judge->kept, sizeof(*judge->kept), judge->kept_count, &judge->kept_capacity);
		if (rc < 0)
			return rc;
		kept = &judge->kept[judge->kept_count++];
	}
	kept->finding = turn->finding;
	kept->is_absorbed = turn->change == COLLAPSE_ABSORBED;
	return 0;
}

static int keep_turn(struct judge *judge, int64_t t_ms, bool is_reached)
{
	int rc = make_room(&judge->turns, sizeof(*judge->turns), judge->turn_count, &judge->turn_capacity);

	if (rc == 0)
		judge->turns[judge->turn_count++] = (struct turn){ t_ms, is_reached };
	return rc;
}

static int add_steady(struct judge *judge, const struct sample *sample)
{
	struct steady_sample steady;
	enum steady_turn turn;

	if (!steady_sample_of(sample, &steady))
		return 0;
	turn = steady_add(judge->steady, &steady);
	if (turn == STEADY_STAYS)
		return 0;
	judge->is_settled = turn == STEADY_SETTLES;
	return keep_turn(judge, sample->t_ms, judge->is_settled);
}

/* What lasts is told with its numbers so far. */
static void update_current(struct judge *judge)
{
	struct collapse_finding now;
	struct kept *kept;

	if (!collapse_current(judge->collapse, &now))
		return;
	kept = kept_find(judge, now.id);
	if (kept && !kept->is_absorbed && kept->finding.to_ms == COLLAPSE_OPEN)
		kept->finding = now;
}

static int add_fall(struct judge *judge, const struct collapse_sample *sample)
{
	struct collapse_answer answer = { 0 };
	int rc = 0;

	collapse_add(judge->collapse, sample, &answer);
	for (unsigned i = 0; rc == 0 && i < answer.count; i++)
		rc = take_turn(judge, &answer.turns[i]);
	if (rc == 0)
		update_current(judge);
	judge->last_ms = sample->t_ms;
	return rc;
}

static double rate_of(const struct collapse_sample *sample)
{
	return (double)sample->bytes * 1e9 / (double)sample->elapsed_ns;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Of the drive. */
static bool tells(const struct collapse_sample *sample)
{
	return sample->counts && !sample->is_host_limited;
}

/* The median of the early samples that tell of the drive. */
static double early_level(const struct judge *judge)
{
	double rates[EARLY];
	size_t count = 0;

	for (size_t i = 0; i < judge->early_count && count < EARLY; i++)
		if (tells(&judge->early[i]))
			rates[count++] = rate_of(&judge->early[i]);
	qsort(rates, count, sizeof(rates[0]), compare_doubles);
	return rates[(count - 1) / 2];
}

static void show(struct judge *judge, struct collapse_sample sample, double level, int64_t t_ms)
{
	const double rate = rate_of(&sample);
	struct collapse_answer ignored = { 0 };

	if (rate < level * BELOW_SHARE || rate * BELOW_SHARE > level)
		sample.bytes = (uint64_t)(level * (double)sample.elapsed_ns / 1e9);
	sample.stall_ns = 0;
	sample.t_ms = t_ms;
	collapse_add(judge->collapse, &sample, &ignored);
}

/* The early samples over and over, ending where the log begins. */
static void show_early(struct judge *judge)
{
	const double level = early_level(judge);
	const struct collapse_sample *first = &judge->early[0];
	const int64_t step_ms = (int64_t)(first->elapsed_ns / NS_PER_MS);
	int64_t t_ms = first->t_ms - SHOWN * step_ms;

	if (!(level > 0))
		return;
	for (size_t shown = 0, i = 0; shown < SHOWN; i = (i + 1) % judge->early_count) {
		if (!tells(&judge->early[i]))
			continue;
		show(judge, judge->early[i], level, t_ms);
		t_ms += step_ms;
		shown++;
	}
}

static int begin(struct judge *judge)
{
	int rc = 0;

	judge->has_begun = true;
	if (judge->early_counting)
		show_early(judge);
	for (size_t i = 0; i < judge->early_count && rc == 0; i++)
		rc = add_fall(judge, &judge->early[i]);
	return rc;
}

static int keep_early(struct judge *judge, const struct collapse_sample *sample)
{
	int rc = make_room(&judge->early, sizeof(*judge->early), judge->early_count, &judge->early_capacity);

	if (rc < 0)
		return rc;
	judge->early[judge->early_count++] = *sample;
	judge->early_counting += tells(sample);
	return judge->early_counting == EARLY ? begin(judge) : 0;
}

int judge_add(struct judge *judge, const struct sample *sample)
{
	struct collapse_sample fall;
	int rc = add_steady(judge, sample);

	if (rc < 0)
		return rc;
	collapse_sample_of(sample, judge->is_settled, &fall);
	if (tells(&fall))
		judge->measured_ns += fall.elapsed_ns;
	return judge->has_begun ? add_fall(judge, &fall) : keep_early(judge, &fall);
}

/* The teeth of a saw are counted when it is over. One that the log ends in goes on all the same. */
static int end_periodic(struct judge *judge, size_t at)
{
	const struct collapse_finding before = judge->kept[at].finding;
	const int64_t period_ms = (int64_t)(before.period_s * 1000), end_ms = judge->last_ms;
	const struct collapse_sample later = {
		.t_ms = end_ms + 4 * period_ms,
		.elapsed_ns = NS_PER_S,
		.bytes = (uint64_t)before.baseline_bytes_per_s,
		.counts = true,
	};
	struct collapse_finding now, *after;
	int rc;

	if (collapse_current(judge->collapse, &now))
		return 0; /* the log ends in a tooth */
	rc = add_fall(judge, &later);
	after = &judge->kept[at].finding;
	if (after->kind == COLLAPSE_PERIODIC && after->to_ms != COLLAPSE_OPEN &&
		(end_ms - after->to_ms) * 2 < period_ms * 3)
		after->to_ms = COLLAPSE_OPEN;
	return rc;
}

int judge_end(struct judge *judge)
{
	int rc = judge->has_begun ? 0 : begin(judge);

	for (size_t i = 0; i < judge->kept_count && rc == 0; i++) {
		const struct kept *kept = &judge->kept[i];

		if (kept->finding.kind == COLLAPSE_PERIODIC && kept->finding.to_ms == COLLAPSE_OPEN &&
			!kept->is_absorbed)
			return end_periodic(judge, i);
	}
	return rc;
}

double judge_collapses_per_h(const struct judge *judge)
{
	uint64_t count = 0;

	for (size_t i = 0; i < judge->kept_count; i++)
		if (!judge->kept[i].is_absorbed && collapse_alerts(judge->kept[i].finding.kind))
			count += judge->kept[i].finding.count;
	return judge->measured_ns ? (double)count * (double)HOUR_NS / (double)judge->measured_ns : NAN;
}

void judge_each(const struct judge *judge, void (*each)(const struct collapse_finding *, void *), void *arg)
{
	for (size_t i = 0; i < judge->kept_count; i++)
		if (!judge->kept[i].is_absorbed)
			each(&judge->kept[i].finding, arg);
}

void judge_steady(const struct judge *judge, struct steady_answer *out)
{
	steady_get(judge->steady, out);
}

static int64_t end_of(const struct collapse_finding *finding)
{
	return finding->to_ms == COLLAPSE_OPEN ? INT64_MIN : finding->to_ms;
}

/* A collapse that stayed for hours is one, and the new level is an event. */
static const char *collapse_name(enum collapse_kind kind)
{
	return collapse_kind_name(kind == COLLAPSE_SHIFT ? COLLAPSE_FALL : kind);
}

static void put_collapse(const struct collapse_finding *finding, void *arg)
{
	struct json *json = arg;
	char text[COLLAPSE_TEXT_MAX];

	if (!collapse_alerts(finding->kind))
		return;
	collapse_print(finding, text);
	json_object_open(json);
	json_put_ms_as_s(json, "from_s", finding->from_ms);
	json_put_ms_as_s(json, "to_s", end_of(finding));
	json_put_ms_as_s(json, "detected_s", finding->detected_ms);
	json_put_string(json, "kind", collapse_name(finding->kind));
	json_put_double(json, "depth_pct", collapse_depth_pct(finding));
	json_put_string(json, "cause", JUDGE_CAUSE);
	json_put_string(json, "evidence", JUDGE_EVIDENCE);
	json_put_double(json, "baseline_bytes_per_s", finding->baseline_bytes_per_s);
	json_put_double(json, "mean_bytes_per_s", finding->mean_bytes_per_s);
	json_put_u64(json, "count", finding->count);
	json_put_double(json, "period_s", finding->period_s);
	json_put_string(json, "text", text);
	json_object_close(json);
}

static void put_event(const struct collapse_finding *finding, void *arg)
{
	struct json *json = arg;
	char text[COLLAPSE_TEXT_MAX];

	if (collapse_alerts(finding->kind) && finding->kind != COLLAPSE_SHIFT)
		return;
	collapse_print(finding, text);
	json_object_open(json);
	json_put_ms_as_s(json, "t_s", finding->from_ms);
	json_put_ms_as_s(json, "until_s", end_of(finding));
	json_put_string(json, "kind", collapse_kind_name(finding->kind));
	json_put_string(json, "text", text);
	json_put_ms_as_s(json, "detected_s", finding->detected_ms);
	json_put_double(json, "depth_pct", collapse_depth_pct(finding));
	json_object_close(json);
}

static void put_turn(const struct turn *turn, struct json *json)
{
	json_object_open(json);
	json_put_ms_as_s(json, "t_s", turn->t_ms);
	json_put_null(json, "until_s");
	json_put_string(json, "kind", turn->is_reached ? "steady" : "steady-lost");
	json_put_string(json, "text", turn->is_reached ? "steady state reached" : "steady state lost");
	json_object_close(json);
}

void judge_json(const struct judge *judge, struct json *json)
{
	struct steady_answer steady;

	steady_get(judge->steady, &steady);
	summary_steady_json(&steady, json);
	json_key(json, "collapses");
	json_array_open(json);
	judge_each(judge, put_collapse, json);
	json_array_close(json);
	json_key(json, "events");
	json_array_open(json);
	for (size_t i = 0; i < judge->turn_count; i++)
		put_turn(&judge->turns[i], json);
	judge_each(judge, put_event, json);
	json_array_close(json);
}
