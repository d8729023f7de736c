/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the web shows of one drive right now. */
#include "soak_private.h"

#include <math.h>
#include <stdio.h>

void drive_publish(struct drive *drive)
{
	const struct run_record *run = &drive->run;
	const struct sample *sample = &drive->sample;
	struct drive_status status = {
		.status = drive->status,
		.progress = NAN,
		.eta_ns = UINT64_MAX,
		.write_bytes_per_s = NAN,
		.read_bytes_per_s = NAN,
		.lat_p99_ns = UINT64_MAX,
		.temp_c = drive->health.read_ms == INT64_MIN ? NAN : drive->health.temp_c,
		.percent_used = drive->health.read_ms == INT64_MIN ? NAN : drive->health.percent_used,
		.written_bytes = UINT64_MAX,
		.last_sample_ms = drive->last_sample_ms,
		.health_read_ms = drive->health.read_ms,
	};

	text_copy(status.name, sizeof(status.name), drive->config->name);
	text_copy(status.label, sizeof(status.label), drive->config->label);
	text_copy(status.reason, sizeof(status.reason), drive->tag);
	if (drive->has_run) {
		text_copy(status.model, sizeof(status.model), run->model);
		text_copy(status.serial, sizeof(status.serial), run->serial);
		text_copy(status.run, sizeof(status.run), run->id);
		status.phase = run->progress.phase;
		status.progress = run_progress_ratio(&run->progress, &drive->plan);
		status.eta_ns = run_eta_ns(&run->progress, &drive->plan, drive->fill_bytes_per_s);
		status.written_bytes = run->written_bytes;
	}
	drive_put_judge(drive, &status);
	if (drive->is_sampling && sample->elapsed_ns) {
		status.write_bytes_per_s = (double)sample->write_bytes * 1e9 / (double)sample->elapsed_ns;
		status.read_bytes_per_s = (double)sample->read_bytes * 1e9 / (double)sample->elapsed_ns;
		status.lat_p99_ns = sample->lat_p99_ns;
	}
	status_publish(drive->soak->options.board, drive->index, &status);
}
