/* SPDX-License-Identifier: GPL-2.0-or-later */
/* soak_private.h - what soak.c (the loop) and soak_drive.c (the course of one drive) share. */
#ifndef DRIVESOAK_SOAK_PRIVATE_H
#define DRIVESOAK_SOAK_PRIVATE_H

#include <systemd/sd-event.h>

#include "base/log.h"
#include "keeper.h"
#include "measure/sampler.h"
#include "measure/tick.h"
#include "run/run.h"
#include "soak.h"

/* What the keeper is doing for the drive as far as the conductor knows. */
enum drive_job {
	JOB_NONE,     /* no engine */
	JOB_STARTING, /* asked for one */
	JOB_RUNNING,
	JOB_STOPPING,
};

struct drive {
	struct soak *soak;
	size_t index;
	const struct config_drive *config;
	struct keeper *keeper;
	struct sampler *sampler;

	bool has_run; /* run is valid */
	struct run_record run;
	struct run_plan plan;
	char tag[STATUS_TEXT_MAX]; /* live reason */
	enum run_status status;	   /* live: also when there is no run, or it is refused for now */

	bool is_resumed, is_open;
	enum drive_job job;
	bool is_over;	   /* ended, and announced once the archive has all of it */
	bool is_ending;	   /* FINISH was decided: stop, last sample, close */
	bool is_fill_over; /* the engine being stopped is a fill that ended */
	struct engine_fill_end fill_end;
	int64_t last_sample_ms, down_from_ms;

	/* The running interval. */
	bool is_sampling;
	uint64_t interval_from_ns; /* monotonic */
	uint64_t phase_from_ns;	   /* since when time counts for the phase */
	enum run_phase interval_phase;
	bool is_partial;
	struct sample sample; /* the last one taken */
	double fill_bytes_per_s;

	uint64_t base_written_bytes, base_errors; /* of earlier starts of the service */
	struct log_complaint error_complaint;
	struct {
		bool is_due; /* compare the disks' own counters with ours at the next full interval */
		uint64_t disk_bytes, own_bytes;
	} direct;
};

struct soak {
	struct soak_options options;
	sd_event *event;
	int wake_fd;
	struct tick tick;
	uint64_t tick_mono_ns; /* of the last tick or the start */
	sd_event_source *tick_timer;
	struct drive *drives;
	size_t drive_count;
	bool is_stopping;
	int exit_code;
};

/* Look up the drive's run in @journal and ask the keeper to open the target. */
void drive_begin(struct drive *drive, struct journal *journal);
void drive_reply(struct drive *drive, const struct keeper_reply *reply);
/* A tick: end the interval. */
void drive_tick(struct drive *drive, const struct tick_answer *answer);
/* The service ends: stop the engine, keep the run as it is. */
void drive_stop(struct drive *drive);
bool drive_is_quiet(const struct drive *drive); /* no engine, nothing asked for */
/* The service ends while the engine hangs: write what was completed. */
void drive_last_sample(struct drive *drive);
void drive_publish(struct drive *drive);
/* The archive has everything: say that the run is over. */
void drive_announce(struct drive *drive);

/* Call drive_announce() for every drive as soon as nothing is queued for the archive. */
void soak_announce_later(struct soak *soak);

#endif
