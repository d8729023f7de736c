/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cause_fixture.h"

#include "unit.h"

#include <math.h>
#include <string.h>

static void sample_known(struct cause_sample *sample)
{
	sample->errors = 0;
	sample->run_delay_share = 0.01;
	sample->steal_share = 0;
	sample->throttled_share = 0;
	sample->in_flight_share = 0.99;
	sample->cpu_pressure = 0.02;
	sample->foreign_bytes = 1 * MIB;
	sample->foreign_discards = 0;
	sample->capacities = 10;
	sample->since_idle_bytes = (uint64_t)1 << 45;
	sample->idle_ns = 600 * S;
	sample->counters = (struct evidence_counters){
		.stamp = sample->t_ms,
		.state = "live",
		.link_speed = 160,
		.link_speed_max = 160,
		.link_width = 4,
		.link_width_max = 4,
		.sata_limit = 60,
		.queue_depth = 32,
		.write_cache = "write back",
		.md_action = "idle",
		.io_timeout_ms = 30000,
		.disks = 1,
	};
}

static void reading_known(struct cause_reading *reading)
{
	*reading = (struct cause_reading){ .t_ms = reading->t_ms, .temp_c = 45, .warning_temp_c = 80 };
}

void record_init(struct record *record, bool is_known)
{
	memset(record, 0, sizeof(*record));
	record->finding = (struct collapse_finding){
		.id = 1,
		.kind = COLLAPSE_FALL,
		.from_ms = FELL_MS,
		.detected_ms = FELL_MS + 3 * STEP_MS,
		.to_ms = COLLAPSE_OPEN,
		.baseline_bytes_per_s = BASE_RATE,
		.mean_bytes_per_s = 0.3 * BASE_RATE,
		.period_s = NAN,
		.count = 1,
	};
	for (unsigned i = 0; i < SAMPLES; i++) {
		struct cause_sample *sample = &record->samples[i];

		cause_sample_init(sample);
		sample->t_ms = FELL_MS + ((int64_t)i + 1 - BEFORE) * STEP_MS;
		sample->elapsed_ns = 10 * S;
		sample->state = SAMPLE_MEASURED;
		record_rate(record, i, i < BEFORE ? 1 : 0.3);
		if (is_known)
			sample_known(sample);
	}
	for (unsigned i = 0; i < SAMPLES / 6; i++) {
		struct cause_reading *reading = &record->readings[i];

		cause_reading_init(reading);
		reading->t_ms = record->samples[i * 6].t_ms - 5000;
		if (is_known)
			reading_known(reading);
	}
	record->input = (struct cause_input){
		.finding = &record->finding,
		.samples = record->samples,
		.sample_count = SAMPLES,
		.readings = record->readings,
		.reading_count = SAMPLES / 6,
		.lines = record->lines,
		.neighbours = record->others,
		.path = "0000:00:1c.0",
		.is_log_heard = is_known,
		.capacity_bytes = is_known ? (uint64_t)1 << 40 : UINT64_MAX,
	};
}

void record_end(struct record *record, unsigned samples)
{
	record->finding.to_ms = FELL_MS + (int64_t)samples * STEP_MS;
	for (unsigned i = BEFORE + samples; i < SAMPLES; i++)
		record_rate(record, i, 1);
}

void record_rate(struct record *record, unsigned sample, double share)
{
	record->samples[sample].bytes = (uint64_t)(share * BASE_RATE * STEP_MS / 1000);
	record->samples[sample].state = share > 0 ? SAMPLE_MEASURED : SAMPLE_ZERO;
}

void record_line(struct record *record, double after_s, enum kernelline_word word, const char *text)
{
	record->lines[record->input.line_count++] = (struct cause_line){ FELL_MS + (int64_t)(after_s * 1e3),
		word, text };
}

void record_other(
	struct record *record, const char *name, bool shares_path, double after_s, unsigned lone_falls)
{
	struct cause_neighbour *other = &record->others[record->input.neighbour_count++];

	*other = (struct cause_neighbour){
		.name = name, .shares_path = shares_path, .lone_falls = lone_falls
	};
	if (isnan(after_s))
		return;
	other->has_fallen = true;
	other->fall = (struct cause_fall){ FELL_MS + (int64_t)(after_s * 1e3), INT64_MAX };
}

struct cause_reading *record_reading(struct record *record, double after_s)
{
	struct cause_reading *reading = record->readings;

	while (reading->t_ms < FELL_MS + (int64_t)(after_s * 1e3))
		reading++;
	return reading;
}

enum cause record_decide(struct record *record)
{
	cause_decide(&record->input, &record->answer);
	return record->answer.cause;
}

/* --- signs of causes --- */

void record_put_reset(struct record *r)
{
	record_line(r, 1, KERNELLINE_RESET, "nvme nvme0: controller is down; will reset: CSTS=0x3");
}

void record_put_heat(struct record *r)
{
	for (unsigned i = 0; i < 5; i++)
		record_reading(r, -240 + 60 * (double)i)->temp_c = 71 + 2 * (double)i;
}

/* Every sixth sample before the fall, and all of the fall. */
void record_put_flag(struct record *r, uint32_t flag, double share)
{
	for (unsigned i = 0; i < BEFORE; i += 6) {
		r->samples[i].flags |= flag;
		record_rate(r, i, share);
	}
	for (unsigned i = BEFORE; i < SAMPLES; i++)
		r->samples[i].flags |= flag;
}

void record_put_poll(struct record *r)
{
	record_put_flag(r, SAMPLE_FLAG_HEALTH_POLL, 0.6);
}

void record_put_write_cache(struct record *r)
{
	r->samples[BEFORE - 61].state = SAMPLE_PAUSED;
	for (unsigned i = 0; i < SAMPLES; i++) {
		r->samples[i].idle_ns = 300 * S;
		r->samples[i].since_idle_bytes = i < BEFORE - 60
							 ? (uint64_t)1 << 44
							 : (i - (BEFORE - 60)) * (uint64_t)(1000 * MIB);
	}
}

void record_put_cliff(struct record *r)
{
	r->finding.kind = COLLAPSE_CLIFF;
	for (unsigned i = 0; i < SAMPLES; i++)
		r->samples[i].capacities = 0.8;
}

void record_assert_cause(struct record *r, enum cause cause, const char *what)
{
	enum cause got = record_decide(r);

	if (got != cause)
		fail_msg("%s: %s instead of %s: %s", what, cause_name(got), cause_name(cause),
			r->answer.evidence);
	assert_true(r->answer.evidence[0] && strlen(r->answer.evidence) < CAUSE_TEXT_MAX - 1);
}
