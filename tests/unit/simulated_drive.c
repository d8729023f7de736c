/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "simulated_drive.h"

#include <math.h>
#include <string.h>

#define STEP_S	    10.0
#define TB	    1e12
#define GC_RATE	    0.35
#define GC_WAF	    1.4
#define CALM_WAF    0.9
#define PERCENT_MAX 255

/* What the drive last wrote into its records. */
struct record {
	double bytes, update_s, next_s;
};

struct drive {
	const struct simulated_drive_options *options;
	uint64_t seed;
	double now_s, host, media, wear, other;
	double rate, waf, rate_end_s; /* until then */
	double gc_end_s, idle_end_s;
	bool is_gc, is_idle;
	struct record host_record, media_record, percent_record;
	double reset_host, reset_media; /* counts begin here */
	double boot_host;		/* the disk's */
	double crossed[PERCENT_MAX + 1];
	/* host and media bytes at the first and the last reading, by phase and of all */
	double first[PHASE_COUNT + 1][2], last[PHASE_COUNT + 1][2];
	bool is_seen[PHASE_COUNT + 1];
	double late_host, late_media; /* at 70 % of the run */
};

double simulated_drive_random(uint64_t *seed)
{
	uint64_t z = *seed += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static double drawn(struct drive *drive)
{
	return simulated_drive_random(&drive->seed);
}

/* Mean 0, standard deviation 1, never beyond 3.5. */
static double bell(uint64_t *seed)
{
	double sum = -6;

	for (unsigned i = 0; i < 12; i++)
		sum += simulated_drive_random(seed);
	return fmax(fmin(sum, 3.5), -3.5);
}

static enum run_phase phase_at(const struct drive *drive, double t_s)
{
	return t_s < drive->options->fill_hours * 3600 ? PHASE_FILL : PHASE_SOAK;
}

/* Media bytes that the percent after @percent takes. */
static double percent_cost(const struct drive *drive, unsigned percent)
{
	const struct simulated_drive_options *options = drive->options;
	uint64_t seed = options->seed * 1009 + percent;
	double trend = 1 + options->percent_trend * (0.5 - percent / 100.0);

	return options->percent_tb * TB * options->waf_end * trend *
	       fmax(1 + options->percent_uneven * bell(&seed), 0.2);
}

static void weather_draw(struct drive *drive)
{
	const struct simulated_drive_options *options = drive->options;
	double soak_s = drive->now_s - options->fill_hours * 3600, noise;

	if (drive->now_s >= drive->gc_end_s) {
		drive->is_gc = !drive->is_gc;
		drive->gc_end_s = drive->now_s + 20 + drawn(drive) * 200;
	}
	if (drive->now_s >= drive->idle_end_s) {
		double share = options->idle_share;

		drive->is_idle = !drive->is_idle && share > 0;
		drive->idle_end_s = drive->now_s +
				    (drive->is_idle ? share : 1 - share) * 7200 * (0.5 + drawn(drive));
	}
	noise = 1 + options->noise * (2 * drawn(drive) - 1);
	drive->rate = drive->is_idle ? 0 : options->bytes_per_s * noise;
	drive->waf = 1.02;
	if (soak_s >= 0) {
		drive->waf = options->waf_end +
			     (options->waf_begin - options->waf_end) * exp(-soak_s / options->waf_drift_s);
		drive->waf *= drive->is_gc ? GC_WAF : CALM_WAF;
		drive->rate *= drive->is_gc ? GC_RATE : 1;
	}
	drive->rate_end_s = drive->now_s + STEP_S;
}

static void write_bytes(struct drive *drive, double host)
{
	double media = host * drive->waf;
	double host_left = host;

	while (media > 0) {
		unsigned percent = (unsigned)drive->wear;
		double cost = percent_cost(drive, percent);
		double needed = (percent + 1 - drive->wear) * cost;

		if (media < needed) {
			drive->wear += media / cost;
			break;
		}
		host_left -= needed / drive->waf;
		media -= needed;
		drive->wear = percent + 1;
		if (percent + 1 <= PERCENT_MAX)
			drive->crossed[percent + 1] = drive->host + host - host_left;
	}
	drive->host += host;
	drive->media += host * drive->waf;
	drive->other += host * drive->options->other_share;
}

static void record_update(struct record *record, double now_s, double bytes)
{
	if (record->update_s > 0 && now_s < record->next_s)
		return;
	record->bytes = bytes;
	record->next_s += record->update_s;
}

static void records_update(struct drive *drive)
{
	record_update(&drive->host_record, drive->now_s, drive->host);
	record_update(&drive->media_record, drive->now_s, drive->media);
	record_update(&drive->percent_record, drive->now_s, drive->wear);
}

static double soonest(const struct record *record, double t_s)
{
	return record->update_s > 0 ? fmin(record->next_s, t_s) : t_s;
}

static void advance(struct drive *drive, double to_s)
{
	double late_s = drive->options->hours * 3600 * 0.7;

	while (drive->now_s < to_s) {
		double next;

		if (drive->now_s >= drive->rate_end_s)
			weather_draw(drive);
		next = fmin(to_s, drive->rate_end_s);
		next = soonest(&drive->host_record, next);
		next = soonest(&drive->media_record, next);
		next = soonest(&drive->percent_record, next);
		write_bytes(drive, drive->rate * (next - drive->now_s));
		drive->now_s = next;
		records_update(drive);
		if (drive->now_s < late_s) {
			drive->late_host = drive->host;
			drive->late_media = drive->media;
		}
	}
}

static uint64_t counted(const struct drive *drive, double bytes, double unit_bytes)
{
	double units = fmax(bytes, 0) / unit_bytes;

	return (uint64_t)(drive->options->rounds_up ? ceil(units) : floor(units));
}

static void truth_note(struct drive *drive, unsigned phase)
{
	if (!drive->is_seen[phase]) {
		drive->is_seen[phase] = true;
		drive->first[phase][0] = drive->host;
		drive->first[phase][1] = drive->media;
	}
	drive->last[phase][0] = drive->host;
	drive->last[phase][1] = drive->media;
}

/* The disk's bytes, the host's and the flash's counter are read one after the other. */
static void look(struct drive *drive, double t_s, struct endurance_point *out)
{
	const struct simulated_drive_options *options = drive->options;
	double read_s = options->read_ms / 1000 * (0.2 + 1.6 * drawn(drive)), host_s, percent;

	host_s = t_s - read_s * drawn(drive);
	advance(drive, t_s - read_s);
	out->disk_written_bytes = (uint64_t)(drive->host - drive->boot_host);
	out->own_written_bytes = (uint64_t)(drive->host - drive->other);
	advance(drive, host_s);
	out->host_raw = counted(drive, drive->host_record.bytes - drive->reset_host, options->unit_bytes);
	if (drive->reset_host <= 0)
		out->host_raw += options->start_count;
	percent = floor(drive->percent_record.bytes);
	out->percent_used = percent - (drawn(drive) < options->percent_flicker && percent > 0);
	out->phase = phase_at(drive, t_s);
	truth_note(drive, out->phase);
	truth_note(drive, PHASE_COUNT);
	advance(drive, host_s + (t_s - host_s) * drawn(drive));
	out->media_raw = counted(
		drive, drive->media_record.bytes - drive->reset_media, options->media_unit_bytes);
	if (drive->reset_media <= 0)
		out->media_raw += options->start_count * 2;
	if (options->media_unknown)
		out->media_raw = UINT64_MAX;
	out->media_unit_bytes = options->media_unit_bytes;
	out->media_shares_unit = false;
	out->host_pages = out->media_pages = UINT64_MAX;
	out->workload_pct = NAN;
	memset(out->marks, 0, sizeof(out->marks));
	advance(drive, t_s);
	out->read_ms = read_s * 1000;
	out->t_ms = 1600000000000 + (int64_t)llround(t_s * 1000);
}

static double truth_waf(const struct drive *drive, unsigned phase)
{
	double host = drive->last[phase][0] - drive->first[phase][0];

	return host > 0 ? (drive->last[phase][1] - drive->first[phase][1]) / host : NAN;
}

static void truth_tell(const struct drive *drive, struct simulated_drive_truth *out)
{
	unsigned first = (unsigned)drive->options->percent_start + 1;
	unsigned last = (unsigned)drive->percent_record.bytes;
	double media_left = 0, wear = drive->wear;

	for (unsigned phase = 0; phase <= PHASE_COUNT; phase++)
		out->waf[phase] = truth_waf(drive, phase);
	out->percent_per_tb = NAN;
	if (last > first)
		out->percent_per_tb = (last - first) / (drive->crossed[last] - drive->crossed[first]) * TB;
	while (wear < 100) {
		media_left += (floor(wear) + 1 - wear) * percent_cost(drive, (unsigned)wear);
		wear = floor(wear) + 1;
	}
	out->bytes_left = media_left /
			  ((drive->media - drive->late_media) / (drive->host - drive->late_host));
	out->host_bytes = drive->host;
}

/* Events are spread evenly, at third points and the like. */
static bool is_due(unsigned events, double before_s, double now_s, double end_s)
{
	for (unsigned i = 1; i <= events; i++) {
		double at_s = end_s * i / (events + 1);

		if (before_s < at_s && now_s >= at_s)
			return true;
	}
	return false;
}

static void drive_init(struct drive *drive, const struct simulated_drive_options *options)
{
	*drive = (struct drive){ .options = options, .seed = options->seed, .wear = options->percent_start };
	drive->host_record.update_s = options->host_update_s;
	drive->media_record.update_s = options->media_update_s;
	drive->percent_record.update_s = options->percent_update_s;
	drive->host_record.next_s = options->host_update_s * drawn(drive);
	/* With the same period they are of the same page. */
	drive->media_record.next_s = options->media_update_s == options->host_update_s
					     ? drive->host_record.next_s
					     : options->media_update_s * drawn(drive);
	drive->percent_record.next_s = options->percent_update_s * drawn(drive);
	drive->percent_record.bytes = options->percent_start;
	drive->idle_end_s = 3600;
}

size_t simulated_drive_run(const struct simulated_drive_options *options, struct endurance_point *points,
	size_t max, struct simulated_drive_truth *truth)
{
	double end_s = options->hours * 3600, t_s = 1 + options->read_ms / 500, before_s = 0;
	struct drive drive;
	size_t count = 0;

	drive_init(&drive, options);
	while (t_s < end_s && count < max) {
		if (is_due(options->resets, before_s, t_s, end_s)) {
			drive.reset_host = drive.host_record.bytes;
			drive.reset_media = drive.media_record.bytes;
		}
		if (is_due(options->restarts, before_s, t_s, end_s))
			drive.boot_host = drive.host;
		if (count == 0 || drawn(&drive) >= options->missed_share)
			look(&drive, t_s, &points[count++]);
		before_s = t_s;
		t_s += fmax(options->poll_s + options->poll_jitter_s * (2 * drawn(&drive) - 1),
			1 + options->read_ms / 500);
	}
	truth_tell(&drive, truth);
	return count;
}

static double between(uint64_t *seed, double low, double high)
{
	return low + (high - low) * simulated_drive_random(seed);
}

/* Evenly over the orders of magnitude. */
static double spread(uint64_t *seed, double low, double high)
{
	return low * pow(high / low, simulated_drive_random(seed));
}

void simulated_drive_draw(uint64_t seed, struct simulated_drive_options *out)
{
	static const double updates_s[] = { 0, 0, 0, 0, 30, 120, 600, 3600 };
	static const double units[] = { 512, 512000, 1 << 20, 32 << 20, 1 << 30, 1e9, 4096 };
	uint64_t state = seed * 7919 + 17;
	size_t pick;

	*out = (struct simulated_drive_options){ .seed = seed };
	out->hours = spread(&state, 3, 60);
	out->fill_hours = between(&state, 0.02, 0.2) * out->hours;
	out->bytes_per_s = spread(&state, 50e6, 3e9);
	out->noise = between(&state, 0.05, 0.6);
	out->idle_share = between(&state, -0.2, 0.2);
	out->other_share = fmax(between(&state, -0.1, 0.1), 0);
	out->unit_bytes = units[(size_t)between(&state, 0, 7)];
	out->media_unit_bytes = simulated_drive_random(&state) < 0.7 ? out->unit_bytes
								     : units[(size_t)between(&state, 0, 7)];
	out->rounds_up = simulated_drive_random(&state) < 0.5;
	out->start_count = simulated_drive_random(&state) < 0.2 ? 0 : (uint64_t)spread(&state, 1e3, 1e9);
	pick = (size_t)between(&state, 0, 8);
	out->host_update_s = out->media_update_s = updates_s[pick];
	if (simulated_drive_random(&state) < 0.2)
		out->media_update_s = updates_s[(size_t)between(&state, 0, 8)];
	out->percent_update_s = simulated_drive_random(&state) < 0.5 ? 3600 : spread(&state, 1, 3600);
	out->poll_s = simulated_drive_random(&state) < 0.7 ? 60 : 300;
	out->poll_jitter_s = between(&state, 0, 0.3) * out->poll_s;
	out->read_ms = spread(&state, 2, 1500);
	out->missed_share = simulated_drive_random(&state) < 0.3 ? 0.1 : 0;
	out->waf_begin = between(&state, 1, 2);
	out->waf_end = between(&state, 1.1, 5);
	out->waf_drift_s = between(&state, 0.02, 0.1) * out->hours * 3600;
	out->resets = simulated_drive_random(&state) < 0.2 ? (unsigned)between(&state, 1, 4) : 0;
	out->restarts = simulated_drive_random(&state) < 0.2 ? (unsigned)between(&state, 1, 3) : 0;
	out->percent_start = between(&state, 0, 70);
	/* So that the run takes one to twenty percent of the drive's life. */
	out->percent_tb = out->bytes_per_s * 0.6 * out->hours * 3600 / TB / spread(&state, 1, 20);
	out->percent_uneven = between(&state, 0, 0.1);
	out->percent_trend = between(&state, -0.2, 0.2);
	out->percent_flicker = simulated_drive_random(&state) < 0.1 ? 0.002 : 0;
}
