/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "archive_fixture.h"
#include "journal_fixture.h"

struct journal_rig journal_rig;

int journal_fixture_set_up(void **state)
{
	(void)state;
	journal_rig.folder = fixture_folder_new();
	(void)snprintf(journal_rig.path, sizeof(journal_rig.path), "%s/journal.db", journal_rig.folder);
	return 0;
}

int journal_fixture_tear_down(void **state)
{
	(void)state;
	fixture_folder_remove(journal_rig.folder);
	return 0;
}

struct journal *journal_fixture_open(bool read_only)
{
	struct journal *journal = NULL;
	int rc = journal_open(journal_rig.path, read_only, &journal);

	if (rc != 0)
		fail_msg("journal_open: %d, %s", rc, journal_error(NULL));
	return journal;
}

void journal_fixture_check_run(const struct run_record *a, const struct run_record *b)
{
	assert_string_equal(a->id, b->id);
	assert_string_equal(a->drive, b->drive);
	assert_string_equal(a->label, b->label);
	assert_string_equal(a->model, b->model);
	assert_string_equal(a->serial, b->serial);
	assert_string_equal(a->firmware, b->firmware);
	assert_int_equal(a->source, b->source);
	assert_memory_equal(&a->progress, &b->progress, sizeof(a->progress));
	assert_int_equal(a->started_ms, b->started_ms);
	assert_int_equal(a->soak_started_ms, b->soak_started_ms);
	assert_int_equal(a->ended_ms, b->ended_ms);
	assert_int_equal(a->interval_s, b->interval_s);
	assert_true(a->seed == b->seed);
	assert_int_equal(a->capacity_bytes, b->capacity_bytes);
	assert_int_equal(a->written_bytes, b->written_bytes);
	assert_string_equal(a->reason, b->reason);
	assert_string_equal(a->engine, b->engine);
	assert_string_equal(a->direct, b->direct);
	assert_string_equal(a->pre_state, b->pre_state);
	assert_true(a->price_amount == b->price_amount || (isnan(a->price_amount) && isnan(b->price_amount)));
	assert_string_equal(a->price_currency, b->price_currency);
	assert_string_equal(a->frozen, b->frozen);
	assert_string_equal(a->config_json, b->config_json);
	assert_string_equal(a->host_json, b->host_json);
}

int journal_fixture_keep_sample(const struct sample *sample, void *arg)
{
	struct sample **next = arg;

	*(*next)++ = *sample;
	return 0;
}

void journal_fixture_check_sample(const struct sample *a, const struct sample *b)
{
	assert_int_equal(a->t_ms, b->t_ms);
	assert_int_equal(a->elapsed_ns, b->elapsed_ns);
	assert_int_equal(a->state, b->state);
	assert_int_equal(a->flags, b->flags);
	assert_int_equal(a->phase, b->phase);
	assert_int_equal(a->write_bytes, b->write_bytes);
	assert_int_equal(a->write_ios, b->write_ios);
	assert_int_equal(a->read_bytes, b->read_bytes);
	assert_int_equal(a->read_ios, b->read_ios);
	assert_int_equal(a->errors, b->errors);
	assert_int_equal(a->lat_p50_ns, b->lat_p50_ns);
	assert_int_equal(a->lat_p90_ns, b->lat_p90_ns);
	assert_int_equal(a->lat_p99_ns, b->lat_p99_ns);
	assert_int_equal(a->lat_p999_ns, b->lat_p999_ns);
	assert_int_equal(a->lat_p9999_ns, b->lat_p9999_ns);
	assert_int_equal(a->lat_max_ns, b->lat_max_ns);
	assert_int_equal(a->stall_ns, b->stall_ns);
	assert_true(a->inflight_mean == b->inflight_mean || isnan(a->inflight_mean));
	assert_true(a->host_cpu_share == b->host_cpu_share || isnan(a->host_cpu_share));
	assert_true(a->steal_share == b->steal_share || isnan(a->steal_share));
	assert_true(a->temp_c == b->temp_c || isnan(a->temp_c));
	assert_int_equal(isnan(a->temp_c), isnan(b->temp_c));
	assert_true(a->percent_used == b->percent_used || (isnan(a->percent_used) && isnan(b->percent_used)));
	assert_int_equal(a->media_errors, b->media_errors);
	assert_true(a->spare_pct == b->spare_pct || (isnan(a->spare_pct) && isnan(b->spare_pct)));
	assert_true(a->run_delay_share == b->run_delay_share ||
		    (isnan(a->run_delay_share) && isnan(b->run_delay_share)));
	assert_int_equal(a->device_lat_mean_ns, b->device_lat_mean_ns);
	assert_int_equal(a->lat_mean_ns, b->lat_mean_ns);
	assert_int_equal(a->throttled_ns, b->throttled_ns);
	assert_int_equal(a->commits, b->commits);
	assert_int_equal(a->commit_p50_ns, b->commit_p50_ns);
	assert_int_equal(a->commit_p99_ns, b->commit_p99_ns);
	assert_int_equal(a->hist_bytes, b->hist_bytes);
	assert_memory_equal(a->hist, b->hist, b->hist_bytes);
}

void journal_fixture_put_one(struct journal *journal)
{
	struct sample sample = fixture_sample(FIXTURE_START_MS, 10, 1);
	struct run_record run;

	fixture_run(&run, "evo", 10);
	assert_int_equal(journal_put_run(journal, &run), 0);
	assert_int_equal(journal_put_sample(journal, run.id, &sample), 0);
}

void journal_fixture_write_at(off_t offset, const char *bytes, size_t length)
{
	int fd = open(journal_rig.path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes, length, offset), (ssize_t)length);
	(void)close(fd);
}
