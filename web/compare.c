/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "web/compare.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive/figures.h"
#include "base/clock.h"
#include "config/config.h"
#include "web/live.h"

#define WINDOW_MS (24 * 3600 * 1000)

bool compare_mixes(const struct run_record *run)
{
	return strstr(run->config_json, "\"workload\":\"random-mixed\"") ||
	       strstr(run->config_json, "\"direction\":\"both\"");
}

bool compare_commits(const struct run_record *run)
{
	static const char key[] = "\"fsync_every\":";
	const char *at = strstr(run->config_json, key);

	return at && at[sizeof(key) - 1] >= '1' && at[sizeof(key) - 1] <= '9';
}

unsigned compare_colour(const struct call_site *site, const char *drive)
{
	size_t index = live_find(site, drive);

	if (index == SIZE_MAX) {
		/* No longer in the config: a colour by name, so that it stays the same. */
		for (index = 0; *drive; drive++)
			index = index * 31 + (unsigned char)*drive;
	}
	return (unsigned)(index % SVG_JITTER_COLOURS) + 1;
}

static const struct summary_rates *rates_of(
	const struct compare_run *run, const struct summary_figures *figures)
{
	const struct summary_part *part = summary_shown(figures);

	return run->reads ? &part->read : &part->write;
}

const struct summary_rates *compare_rates(const struct compare_run *run)
{
	return rates_of(run, &run->figures);
}

struct names {
	struct text list; /* "A,B" */
};

static void add_name(const char *value, void *arg)
{
	struct names *names = arg;

	if (*value == '\0')
		return;
	if (names->list.length)
		text_add(&names->list, ",");
	text_add(&names->list, value);
}

static int add_run(struct compare *compare, const struct run_record *run)
{
	for (size_t i = 0; i < compare->count; i++) {
		if (strcmp(compare->runs[i].run.id, run->id) == 0)
			return 0;
	}
	if (compare->count == COMPARE_MAX)
		return -E2BIG;
	compare->runs[compare->count++].run = *run;
	return 0;
}

static bool fail_too_many(struct call *call)
{
	call_fail(call, MHD_HTTP_BAD_REQUEST, "runs: allowed are up to %d runs", COMPARE_MAX);
	return false;
}

static bool add_named(struct call *call, struct compare *compare, struct journal *journal, const char *list)
{
	struct run_record run;
	char name[RUN_ID_MAX];

	while (*list) {
		size_t length = strcspn(list, ",");
		int rc = -ENOENT;

		(void)snprintf(name, sizeof(name), "%.*s", (int)length, list);
		if (length < sizeof(name))
			rc = journal_get_run(journal, name, &run);
		if (rc == -ENOENT)
			call_fail(call, MHD_HTTP_NOT_FOUND, "runs: no run is called %.*s", (int)length, list);
		else if (rc < 0)
			call_fail_journal(call, rc);
		if (rc < 0)
			return false;
		if (add_run(compare, &run) < 0)
			return fail_too_many(call);
		list += length;
		list += *list == ',';
	}
	return true;
}

/* Where there is no more room the oldest is left out. */
static void add_or_leave(struct compare *compare, const struct run_record *run)
{
	size_t oldest = 0;

	if (add_run(compare, run) == 0)
		return;
	for (size_t i = 1; i < compare->count; i++)
		if (compare->runs[i].run.started_ms < compare->runs[oldest].run.started_ms)
			oldest = i;
	compare->left_out++;
	if (compare->runs[oldest].run.started_ms >= run->started_ms)
		return;
	memmove(&compare->runs[oldest], &compare->runs[oldest + 1],
		(compare->count - oldest - 1) * sizeof(compare->runs[0]));
	compare->runs[compare->count - 1] = (struct compare_run){ .run = *run };
}

/* Newest first, after the runs of the drives: what finds no room is older than all imports that did. */
static int add_import(const struct run_record *run, void *arg)
{
	struct compare *compare = arg;

	compare->left_out += add_run(compare, run) < 0;
	return 0;
}

static bool add_newest(struct call *call, struct compare *compare, struct journal *journal)
{
	int failed;

	for (size_t i = 0; i < live_count(call->site); i++) {
		struct drive_status drive;
		struct run_record run;
		int rc;

		(void)live_read(call->site, i, &drive);
		rc = journal_get_newest_run(journal, drive.name, &run);
		if (rc == 0)
			add_or_leave(compare, &run);
		if (rc < 0 && rc != -ENOENT) {
			call_fail_journal(call, rc);
			return false;
		}
	}
	failed = journal_each_newest_import(journal, add_import, compare);
	if (failed < 0)
		call_fail_journal(call, failed);
	return failed == 0;
}

static int make_room(struct compare_run *run)
{
	size_t capacity = run->capacity ? run->capacity * 2 : 4096;
	int64_t *t_ms = realloc(run->t_ms, capacity * sizeof(*t_ms));
	double *rates;

	if (!t_ms)
		return -ENOMEM;
	run->t_ms = t_ms;
	rates = realloc(run->bytes_per_s, capacity * sizeof(*rates));
	if (!rates)
		return -ENOMEM;
	run->bytes_per_s = rates;
	run->capacity = capacity;
	return 0;
}

static int keep_sample(const struct sample *sample, void *arg)
{
	struct compare_run *run = arg;
	uint64_t bytes = run->reads ? sample->read_bytes : sample->write_bytes;
	int rc;

	if (!(run->is_host_limited ? summary_counts_whole(sample) : summary_counts(sample)) ||
		bytes == SAMPLE_UNKNOWN)
		return 0;
	if (run->count == run->capacity) {
		rc = make_room(run);
		if (rc < 0)
			return rc;
	}
	run->t_ms[run->count] = sample->t_ms;
	run->bytes_per_s[run->count++] = (double)bytes * (double)NS_PER_S / (double)sample->elapsed_ns;
	return 0;
}

static int load_samples(struct compare_run *run, struct journal *journal)
{
	struct sample last;
	int rc = journal_get_last_sample(journal, run->run.id, &last);

	if (rc == -ENOENT)
		return 0;
	if (rc < 0)
		return rc;
	for (;;) {
		rc = journal_each_sample(
			journal, run->run.id, last.t_ms - WINDOW_MS, last.t_ms, false, keep_sample, run);
		if (rc < 0 || run->count || run->is_host_limited)
			break;
		run->is_host_limited = true;
	}
	run->is_host_limited &= run->count > 0;
	return rc;
}

static int feed(const struct sample *sample, void *arg)
{
	return summary_add(arg, sample);
}

/* The same samples again, now with their histograms. */
static int load_plotted(struct compare_run *run, struct journal *journal)
{
	struct summary *summary;
	int rc = summary_new(run->run.interval_s, &summary);

	if (rc < 0)
		return rc;
	if (run->first < run->count)
		rc = journal_each_sample(journal, run->run.id, run->t_ms[run->first] - 1,
			run->t_ms[run->count - 1], true, feed, summary);
	if (rc == 0)
		summary_read(summary, &run->plotted);
	summary_free(summary);
	return rc;
}

/* Of all runs before any sample is read: the store may open the journal anew. */
static int load_figures(struct compare *compare, struct store *store, struct journal **journal)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < compare->count; i++) {
		struct compare_run *run = &compare->runs[i];

		run->reads = figures_is_read(&run->run);
		rc = store_figures(store, &run->run, &run->figures);
	}
	return rc == 0 ? store_journal(store, journal) : rc;
}

static int load(struct compare *compare, struct store *store)
{
	size_t equal = SIZE_MAX;
	struct journal *journal;
	int rc = load_figures(compare, store, &journal);

	for (size_t i = 0; rc == 0 && i < compare->count; i++) {
		rc = load_samples(&compare->runs[i], journal);
		/* A run without samples has nothing to compare yet and must not empty the others. */
		if (compare->runs[i].count && compare->runs[i].count < equal)
			equal = compare->runs[i].count;
	}
	for (size_t i = 0; rc == 0 && i < compare->count; i++) {
		struct compare_run *run = &compare->runs[i];

		run->first = run->count > equal ? run->count - equal : 0;
		rc = load_plotted(run, journal);
	}
	return rc;
}

bool compare_init(struct call *call, struct compare *compare)
{
	struct names names = { TEXT_INIT };
	struct journal *journal;
	bool fine;
	int rc;

	*compare = (struct compare){ calloc(COMPARE_MAX, sizeof(struct compare_run)), 0, 0 };
	if (!compare->runs) {
		call_fail(call, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory");
		return false;
	}
	rc = store_journal(call->store, &journal);
	if (rc == -ENOENT)
		return true;
	if (rc < 0) {
		call_fail_journal(call, rc);
		return false;
	}
	call_query_each(call, "runs", add_name, &names);
	if (names.list.length)
		fine = add_named(call, compare, journal, text_string(&names.list));
	else
		fine = add_newest(call, compare, journal);
	text_fini(&names.list);
	if (!fine)
		return false;
	rc = load(compare, call->store);
	if (rc < 0)
		call_fail_journal(call, rc);
	return rc == 0;
}

void compare_fini(struct compare *compare)
{
	for (size_t i = 0; i < compare->count; i++) {
		free(compare->runs[i].t_ms);
		free(compare->runs[i].bytes_per_s);
	}
	free(compare->runs);
	*compare = (struct compare){ 0 };
}

void compare_columns(
	const struct call *call, const struct compare *compare, struct svg_jitter_column *columns)
{
	for (size_t i = 0; i < compare->count; i++) {
		const struct compare_run *run = &compare->runs[i];
		const struct summary_rates *rates = rates_of(run, &run->plotted);

		columns[i] = (struct svg_jitter_column){
			.run = run->run.id,
			.name = run->run.label[0] ? run->run.label : run->run.drive,
			.colour = compare_colour(call->site, run->run.drive),
			.t_ms = run->t_ms + run->first,
			.bytes_per_s = run->bytes_per_s + run->first,
			.count = run->count - run->first,
			.median = rates->median,
			.p1 = rates->p1,
			.cv = rates->cv,
			.stalled_s = summary_shown(&run->plotted)->stalled_s,
			.is_host_limited = run->is_host_limited,
		};
	}
}
