/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "archive/figures.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "archive/health.h"
#include "archive/outcome.h"
#include "base/clock.h"
#include "base/flat.h"
#include "measure/collapse.h"
#include "measure/troubles.h"

#define HOUR_S 3600.0

/* An error or a loss of the drive within so long of an event of its link is the link's. */
#define INCIDENT_MS TROUBLES_INCIDENT_MS
/* More than so many times of each are not looked at: what they are is then not known. */
#define TIMES_MAX 256

struct times {
	unsigned count;
	struct {
		int64_t from_ms, to_ms;
		uint64_t count;
	} list[TIMES_MAX];
};

struct figures {
	struct summary *summary;
	struct steady *steady; /* NULL before the soak: how much is written over and over is not known yet */
	int64_t last_ms;       /* of the samples in it */
	int64_t first_settled_ms;
	bool has_window;
	uint64_t io_errors;
	struct times errors, links, losses; /* errors: of requests */
	uint64_t events_seen;		    /* of kinds that tell of troubles */
	struct troubles troubles;
	int64_t health_ms; /* of the last reading in it; INT64_MIN: none */
	struct verdict_health health;
	double waf, percent_used_delta;
	struct summary_figures now;

	/* During an update. */
	struct journal *journal;
	const struct run_record *run;
};

int figures_new(uint32_t interval_s, struct figures **out)
{
	struct figures *figures = calloc(1, sizeof(*figures));
	int rc;

	if (!figures)
		return -ENOMEM;
	figures->last_ms = figures->first_settled_ms = figures->health_ms = INT64_MIN;
	figures->waf = figures->percent_used_delta = NAN;
	rc = summary_new(interval_s, &figures->summary);
	if (rc < 0) {
		figures_free(figures);
		return rc;
	}
	*out = figures;
	return 0;
}

void figures_free(struct figures *figures)
{
	if (!figures)
		return;
	summary_free(figures->summary);
	steady_free(figures->steady);
	free(figures);
}

const struct summary_figures *figures_get(const struct figures *figures)
{
	return &figures->now;
}

bool figures_is_read(const struct run_record *run)
{
	return strstr(run->config_json, "\"workload\":\"random-read\"") ||
	       strstr(run->config_json, "\"direction\":\"read\"");
}

bool figures_knows_host_limit(const struct run_record *run)
{
	return run->source == SOURCE_OWN ||
	       (run->source == SOURCE_IMPORTED && strstr(run->config_json, "\"knows_host_limit\":true"));
}

void figures_steady_config(const struct run_record *run, struct steady_config *out)
{
	const uint64_t extent_bytes = run->progress.extent_bytes;

	*out = (struct steady_config){
		.extent_bytes = run->source == SOURCE_IMPORTED || extent_bytes == UINT64_MAX ? 0
											     : extent_bytes,
		.is_off = strstr(run->config_json, "\"settle_rule\":\"off\"") != NULL,
		.is_read = figures_is_read(run),
	};
}

/* --- samples --- */

static int add_window(const struct sample *sample, void *arg)
{
	const struct figures *figures = arg;

	return summary_add_window(figures->summary, sample);
}

/* W began before it was known: what lies in it is read once more. */
static int open_window(struct figures *figures, int64_t until_ms)
{
	struct steady_answer answer;

	steady_get(figures->steady, &answer);
	if (figures->first_settled_ms == INT64_MIN)
		figures->first_settled_ms = answer.window_from_ms;
	figures->has_window = true;
	summary_begin_window(figures->summary);
	/* Stamps are on the grid of the interval, W begins where its first sample really did: some ms beside it. */
	return journal_each_sample(figures->journal, figures->run->id,
		answer.window_from_ms + (int64_t)figures->run->interval_s * 500, until_ms, true, add_window,
		figures);
}

static int judge_sample(struct figures *figures, const struct sample *sample)
{
	struct steady_config config;
	struct steady_sample rates;
	int rc = 0;

	if (!steady_sample_of(sample, &rates))
		return 0;
	if (!figures->steady) {
		figures_steady_config(figures->run, &config);
		rc = steady_new(&config, &figures->steady);
		if (rc < 0)
			return rc;
	}
	switch (steady_add(figures->steady, &rates)) {
	case STEADY_SETTLES:
		return open_window(figures, sample->t_ms);
	case STEADY_LOSES:
		figures->has_window = false;
		summary_end_window(figures->summary);
		return 0;
	default:
		return figures->has_window ? summary_add_window(figures->summary, sample) : 0;
	}
}

/* What follows closely is one. */
static void times_add(struct times *times, int64_t t_ms, uint64_t count)
{
	unsigned last = times->count - 1;

	if (times->count && t_ms >= times->list[last].to_ms &&
		t_ms - times->list[last].to_ms <= INCIDENT_MS) {
		times->list[last].to_ms = t_ms;
		times->list[last].count += count;
	} else if (times->count < TIMES_MAX) {
		times->list[times->count].from_ms = times->list[times->count].to_ms = t_ms;
		times->list[times->count++].count = count;
	}
}

/* How many of @of are near any of @near. */
static uint64_t times_near(const struct times *of, const struct times *near)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < of->count; i++)
		for (unsigned j = 0; j < near->count; j++) {
			if (near->list[j].from_ms > of->list[i].to_ms + INCIDENT_MS ||
				near->list[j].to_ms < of->list[i].from_ms - INCIDENT_MS)
				continue;
			sum += of->list[i].count;
			break;
		}
	return sum;
}

static int feed(const struct sample *sample, void *arg)
{
	struct figures *figures = arg;
	int rc = summary_add(figures->summary, sample);

	if (rc == 0)
		rc = judge_sample(figures, sample);
	if (rc < 0)
		return rc;
	if (sample->errors != SAMPLE_UNKNOWN && sample->errors) {
		figures->io_errors += sample->errors;
		times_add(&figures->errors, sample->t_ms, sample->errors);
	}
	figures->last_ms = sample->t_ms;
	return 0;
}

/* --- health: a run has thousands of readings, which are gone through only when there is a new one --- */

static int update_health(struct figures *figures)
{
	struct health_endurance *endurance;
	int64_t last_ms;
	int rc = journal_get_last_health_ms(figures->journal, figures->run->id, &last_ms);

	if (rc < 0 || last_ms == figures->health_ms)
		return rc;
	endurance = malloc(sizeof(*endurance));
	rc = endurance ? health_endurance_read(figures->journal, figures->run, endurance) : -ENOMEM;
	if (rc == 0) {
		figures->health_ms = last_ms;
		figures->health = endurance->findings;
		figures->waf = endurance->waf.value;
		figures->percent_used_delta = endurance->last_percent_used - endurance->first_percent_used;
	}
	free(endurance);
	return rc;
}

/* --- events --- */

/* Falls, or losses of the drive. */
static int count_kind(struct figures *figures, const char *kind, int64_t from_ms, uint64_t *out)
{
	uint64_t events;

	return journal_count_events(figures->journal, figures->run->id, kind, from_ms, &events, out);
}

/* Falls of every kind that alerts. */
static int count_collapses(struct figures *figures, int64_t from_ms, uint64_t *out)
{
	uint64_t count;
	int rc = 0;

	*out = 0;
	for (int kind = 0; kind < COLLAPSE_KIND_COUNT && rc == 0; kind++) {
		if (!collapse_alerts((enum collapse_kind)kind))
			continue;
		rc = count_kind(figures, collapse_kind_name((enum collapse_kind)kind), from_ms, &count);
		*out += count;
	}
	return rc;
}

static int update_collapses(struct figures *figures)
{
	uint64_t all;
	int rc = count_collapses(figures, INT64_MIN, &all);

	if (rc == 0)
		rc = count_collapses(figures, figures->first_settled_ms, &figures->now.collapses);
	if (rc == 0 && figures->now.measured_s > 0)
		figures->now.collapses_per_h = (double)all * HOUR_S / figures->now.measured_s;
	return rc;
}

/* --- the verdict --- */

static void take_slo(const char *key, const char *value, void *arg)
{
	struct verdict_slo *slo = arg;

	if (strcmp(key, "slo_min_bytes_per_s") == 0)
		slo->min_rate = strtod(value, NULL);
	else if (strcmp(key, "slo_p1_bytes_per_s") == 0)
		slo->p1_rate = strtod(value, NULL);
	else if (strcmp(key, "slo_p99_ns") == 0)
		slo->p99_latency_ns = strtoull(value, NULL, 10);
}

static void put_rates(const struct summary_figures *now, struct verdict_input *input)
{
	const struct summary_part *window = &now->window;

	input->median = now->stability.median;
	input->p1 = now->stability.p1;
	input->min = now->stability.min;
	input->cv = now->stability.cv;
	input->half_median_share = now->stability.half_median_share;
	input->first_quarter = now->stability.first_quarter;
	input->last_quarter = now->stability.last_quarter;
	input->longest_stall_s = now->longest_stall_s;
	if (!input->is_settled)
		return;
	input->window_s = (double)(window->to_ms - window->from_ms) / 1000;
	input->stalled_s = window->stalled_s;
	input->lat_p99_ns = window->lat_p99_ns;
}

static uint64_t blocks_of(const struct verify_outcome *verify, enum bad_kind kind)
{
	return isfinite(verify->bad[kind]) ? (uint64_t)verify->bad[kind] : VERDICT_UNKNOWN;
}

static void put_verify(const struct run_record *run, struct verdict_verify *out)
{
	struct verify_outcome verify;

	out->is_impossible = outcome_writes_zeros(run);
	if (!outcome_read_verify(run, &verify))
		return;
	*out = (struct verdict_verify){
		.was_done = true,
		.is_impossible = out->is_impossible,
		.corrupt = blocks_of(&verify, BAD_CORRUPT),
		.torn = blocks_of(&verify, BAD_TORN),
		.misdirected = blocks_of(&verify, BAD_MISDIRECTED),
		.stale = blocks_of(&verify, BAD_STALE),
		.unreadable = blocks_of(&verify, BAD_UNREADABLE),
		.coverage_pct = verify.coverage_pct,
	};
}

struct troubles_read {
	struct figures *figures;
	bool has_sums; /* the newest event that tells those of the run has them all */
};

/* Newest first; times go backwards, so each is one of its own. */
static int take_event(const struct event_record *event, void *arg)
{
	struct troubles_read *read = arg;
	struct figures *figures = read->figures;

	if (strcmp(event->kind, "absent") == 0 && event->count)
		times_add(&figures->losses, event->t_ms, event->count);
	if (strcmp(event->kind, "error") != 0)
		return 0;
	if (!read->has_sums)
		read->has_sums = troubles_parse(event->text, &figures->troubles);
	if (event->severity != EVENT_INFO && strcmp(event->cause, "link") == 0)
		times_add(&figures->links, event->t_ms, 1);
	return 0;
}

static int update_troubles(struct figures *figures)
{
	struct troubles_read read = { .figures = figures };
	uint64_t errors, absences, falls;
	int rc = journal_count_events(
		figures->journal, figures->run->id, "error", INT64_MIN, &errors, &falls);

	if (rc == 0)
		rc = journal_count_events(
			figures->journal, figures->run->id, "absent", INT64_MIN, &absences, &falls);
	if (rc < 0 || errors + absences == figures->events_seen)
		return rc;
	figures->links.count = figures->losses.count = 0;
	rc = journal_each_event(figures->journal, figures->run->id, SIZE_MAX, take_event, &read);
	if (rc == 0)
		figures->events_seen = errors + absences;
	return rc;
}

static void put_troubles(const struct figures *figures, struct verdict_input *input)
{
	const struct troubles *sum = &figures->troubles;

	input->troubles.io_errors = figures->io_errors;
	input->troubles.io_errors_traced = times_near(&figures->errors, &figures->links);
	input->troubles.losses_traced = times_near(&figures->losses, &figures->links);
	input->troubles.resets = sum->resets;
	input->troubles.resets_traced = sum->resets_traced;
	input->aer_errors_grown = sum->aer_errors;
	input->link_events = sum->link_events;
}

static int update_verdict(struct figures *figures)
{
	const struct run_record *run = figures->run;
	struct summary_figures *now = &figures->now;
	struct verdict_input input;
	int rc;

	verdict_input_init(&input);
	input.is_settled = now->steady.reached;
	input.why_not_settled = now->steady.why_not;
	put_rates(now, &input);
	put_verify(run, &input.verify);
	input.collapses = now->collapses;
	input.is_host_limited = summary_is_host_limited(now);
	input.host_limited_pct = now->host_limited_pct;
	input.gap_pct = now->gap_pct;
	input.is_direct_proven = run->direct[0] && strncmp(run->direct, "unproven", 8) != 0;
	input.is_pre_state_known = strcmp(run->pre_state, "purged") == 0 ||
				   strcmp(run->pre_state, "trimmed") == 0;
	input.health = &figures->health;
	rc = update_troubles(figures);
	if (rc == 0)
		rc = count_kind(figures, "absent", INT64_MIN, &input.troubles.losses);
	put_troubles(figures, &input);
	(void)flat_each(run->config_json, take_slo, &input.slo);
	verdict_decide(&input, &now->verdict);
	return rc;
}

int figures_update(struct figures *figures, struct journal *journal, const struct run_record *run)
{
	int rc;

	figures->journal = journal;
	figures->run = run;
	rc = journal_each_sample(journal, run->id, figures->last_ms, INT64_MAX, true, feed, figures);
	if (rc == 0)
		rc = update_health(figures);
	if (rc == 0)
		rc = summary_read(figures->summary, &figures->now);
	if (rc < 0)
		return rc;
	if (!figures_knows_host_limit(run))
		figures->now.host_limited_pct = NAN;
	figures->now.waf = figures->waf;
	figures->now.percent_used_delta = figures->percent_used_delta;
	if (figures->steady)
		steady_get(figures->steady, &figures->now.steady);
	rc = update_collapses(figures);
	return rc == 0 ? update_verdict(figures) : rc;
}

int figures_read(struct journal *journal, const struct run_record *run, struct summary_figures *out)
{
	struct figures *figures;
	int rc = figures_new(run->interval_s, &figures);

	if (rc < 0)
		return rc;
	rc = figures_update(figures, journal, run);
	if (rc == 0)
		*out = figures->now;
	figures_free(figures);
	return rc;
}
