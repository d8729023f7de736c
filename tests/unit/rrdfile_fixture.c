/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rrdfile_fixture.h"

struct rrdfile_rig rrdfile_rig;

int rrdfile_fixture_set_up(void **state)
{
	char name[300];

	(void)state;
	rrdfile_rig.folder = fixture_folder_new();
	(void)snprintf(name, sizeof(name), "%s/runs", rrdfile_rig.folder);
	if (mkdir(name, 0755) < 0)
		return -1;
	(void)snprintf(name, sizeof(name), "%s/journal.db", rrdfile_rig.folder);
	fixture_run(&rrdfile_rig.run, "evo", 10);
	(void)snprintf(rrdfile_rig.path, sizeof(rrdfile_rig.path), "%s/runs/%s.rrd", rrdfile_rig.folder,
		rrdfile_rig.run.id);
	(void)snprintf(rrdfile_rig.marker, sizeof(rrdfile_rig.marker), "%s.open", rrdfile_rig.path);
	return journal_open(name, false, &rrdfile_rig.journal) == 0 &&
			       journal_put_run(rrdfile_rig.journal, &rrdfile_rig.run) == 0
		       ? 0
		       : -1;
}

int rrdfile_fixture_tear_down(void **state)
{
	char runs[300];

	(void)state;
	(void)snprintf(runs, sizeof(runs), "%s/runs", rrdfile_rig.folder);
	(void)umount2(runs, MNT_DETACH); /* what a failed test left */
	journal_close(rrdfile_rig.journal);
	fixture_folder_remove(rrdfile_rig.folder);
	return 0;
}

struct rrdfile *rrdfile_fixture_new(uint32_t interval_s)
{
	struct rrdfile *file = NULL;

	assert_int_equal(rrdfile_new(rrdfile_rig.folder, rrdfile_rig.run.id, interval_s, &file), 0);
	assert_string_equal(rrdfile_path(file), rrdfile_rig.path);
	return file;
}

bool rrdfile_fixture_sync(struct rrdfile *file, uint64_t planned_s)
{
	char why[RRDFILE_WHY_MAX] = "";
	bool rebuilt = false;
	int rc = rrdfile_sync(file, rrdfile_rig.journal, planned_s, &rebuilt, why);

	if (rc != 0)
		fail_msg("rrdfile_sync: %d, %s", rc, why);
	return rebuilt;
}

void rrdfile_fixture_put(struct rrdfile *file, const struct sample *samples, size_t count)
{
	char why[RRDFILE_WHY_MAX] = "";
	int rc = rrdfile_put(file, samples, count, why);

	if (rc != 0)
		fail_msg("rrdfile_put: %d, %s", rc, why);
}

void rrdfile_fixture_to_journal(const struct sample *samples, size_t count)
{
	assert_int_equal(journal_begin(rrdfile_rig.journal), 0);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(journal_put_sample(rrdfile_rig.journal, rrdfile_rig.run.id, &samples[i]), 0);
	assert_int_equal(journal_commit(rrdfile_rig.journal), 0);
}

static double fetched(const struct rrdfile_series *series, int64_t t_s)
{
	int64_t row = (t_s - series->from_s) / series->step_s - 1;

	assert_in_range(row, 0, series->count - 1);
	return series->values[row];
}

static uint64_t level_of(double level)
{
	return isnan(level) ? SAMPLE_UNKNOWN : (uint64_t)level;
}

void rrdfile_fixture_check(const struct sample *samples, size_t count, uint32_t step_s)
{
	static const char *const names[] = { "write_bytes", "stall_ns", "temp_c", "used_pct", "spare_pct",
		"media_errors" };
	int64_t first_s = samples[0].t_ms / 1000, last_s = samples[count - 1].t_ms / 1000;

	for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
		struct rrdfile_series series;
		char why[RRDFILE_WHY_MAX];
		size_t i = 0;

		assert_int_equal(rrdfile_fetch(rrdfile_rig.path, names[n], "AVERAGE", first_s - step_s,
					 last_s, step_s, &series, why),
			0);
		assert_int_equal(series.step_s, step_s);
		for (int64_t t_s = first_s; t_s <= last_s; t_s += step_s) {
			double value = fetched(&series, t_s);
			uint64_t expected = SAMPLE_UNKNOWN;

			while (i < count && (samples[i].state == SAMPLE_DOWN || samples[i].t_ms < t_s * 1000))
				i++;
			if (i < count && samples[i].t_ms == t_s * 1000)
				expected = n == 0   ? samples[i].write_bytes
					   : n == 1 ? samples[i].stall_ns
					   : n == 2 ? level_of(samples[i].temp_c)
					   : n == 3 ? level_of(samples[i].percent_used)
					   : n == 4 ? level_of(samples[i].spare_pct)
						    : samples[i].media_errors;
			if (expected == SAMPLE_UNKNOWN ? !isnan(value)
						       : (uint64_t)value != expected || isnan(value))
				fail_msg("%s at %lld: %.17g, not %llu", names[n], (long long)t_s, value,
					(unsigned long long)expected);
		}
		free(series.values);
	}
}

void rrdfile_fixture_make_few(struct sample *samples)
{
	struct rrdfile *file = rrdfile_fixture_new(10);

	for (unsigned i = 0; i < FIXTURE_FEW; i++)
		samples[i] = fixture_sample(FIXTURE_START_MS + (i + 1) * 10000, 10, 1000 + i);
	rrdfile_fixture_to_journal(samples, FIXTURE_FEW);
	assert_true(rrdfile_fixture_sync(file, 0));
	rrdfile_free(file);
	assert_int_equal(access(rrdfile_rig.marker, F_OK), -1);
}
