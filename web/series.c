/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "web/series.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define SLIVER_DIVISOR 10

/* What was asked of the drive while the sample lasted. */
enum asked { ASKED_WRITES = 1, ASKED_READS = 2 };

static unsigned asked_in(const struct sample *sample)
{
	switch (sample->state) {
	case SAMPLE_MEASURED:
	case SAMPLE_ZERO:
		return sample->phase == PHASE_PREPARE ? 0 : ASKED_WRITES | ASKED_READS;
	case SAMPLE_FILLING:
		return ASKED_WRITES;
	case SAMPLE_VERIFYING:
		return ASKED_READS;
	default:
		return 0;
	}
}

static double known(uint64_t value)
{
	return value == SAMPLE_UNKNOWN ? NAN : (double)value;
}

static double write_bytes(const struct sample *s)
{
	return asked_in(s) & ASKED_WRITES ? known(s->write_bytes) : NAN;
}

static double write_ios(const struct sample *s)
{
	return asked_in(s) & ASKED_WRITES ? known(s->write_ios) : NAN;
}

static double read_bytes(const struct sample *s)
{
	return asked_in(s) & ASKED_READS ? known(s->read_bytes) : NAN;
}

static double read_ios(const struct sample *s)
{
	return asked_in(s) & ASKED_READS ? known(s->read_ios) : NAN;
}

static double lat_p50(const struct sample *s)
{
	return asked_in(s) ? known(s->lat_p50_ns) : NAN;
}

static double lat_p90(const struct sample *s)
{
	return asked_in(s) ? known(s->lat_p90_ns) : NAN;
}

static double lat_p99(const struct sample *s)
{
	return asked_in(s) ? known(s->lat_p99_ns) : NAN;
}

static double lat_p999(const struct sample *s)
{
	return asked_in(s) ? known(s->lat_p999_ns) : NAN;
}

static double lat_p9999(const struct sample *s)
{
	return asked_in(s) ? known(s->lat_p9999_ns) : NAN;
}

static double commits(const struct sample *s)
{
	return asked_in(s) & ASKED_WRITES ? known(s->commits) : NAN;
}

static double commit_p50(const struct sample *s)
{
	return asked_in(s) ? known(s->commit_p50_ns) : NAN;
}

static double commit_p99(const struct sample *s)
{
	return asked_in(s) ? known(s->commit_p99_ns) : NAN;
}

static double probing(const struct sample *s)
{
	return s->state == SAMPLE_DOWN ? NAN : s->phase == PHASE_PROBE ? 1 : 0;
}

static double verifying(const struct sample *s)
{
	return s->state == SAMPLE_DOWN ? NAN : s->phase == PHASE_VERIFY ? 1 : 0;
}

static double flushed(const struct sample *s)
{
	return asked_in(s) ? (s->flags & SAMPLE_FLAG_FLUSH ? 1 : 0) : NAN;
}

static double lat_max(const struct sample *s)
{
	return asked_in(s) ? known(s->lat_max_ns) : NAN;
}

static double stall(const struct sample *s)
{
	return asked_in(s) ? known(s->stall_ns) : NAN;
}

static double inflight(const struct sample *s)
{
	return asked_in(s) ? s->inflight_mean : NAN;
}

static double temp(const struct sample *s)
{
	return s->state == SAMPLE_DOWN ? NAN : s->temp_c;
}

/* 1 where the host was the limit of the soak, 0 where it was not: the mean of a bucket is the share of its time. */
static double host_limited(const struct sample *s)
{
	if (s->phase != PHASE_SOAK || (s->state != SAMPLE_MEASURED && s->state != SAMPLE_ZERO))
		return NAN;
	return s->flags & SAMPLE_FLAG_HOST_LIMIT ? 1 : 0;
}

static double run_delay(const struct sample *s)
{
	return s->state == SAMPLE_DOWN ? NAN : s->run_delay_share;
}

static double steal(const struct sample *s)
{
	return s->state == SAMPLE_DOWN ? NAN : s->steal_share;
}

static double throttled(const struct sample *s)
{
	return s->state == SAMPLE_DOWN ? NAN : known(s->throttled_ns);
}

static double lat_mean(const struct sample *s)
{
	return asked_in(s) ? known(s->lat_mean_ns) : NAN;
}

static double device_lat_mean(const struct sample *s)
{
	return asked_in(s) ? known(s->device_lat_mean_ns) : NAN;
}

/* An amount becomes a rate over the time it took; anything else is a level that held for that time. */
enum kind { AMOUNT, LEVEL };

/* One list for names, kinds and values, so that they can't part. */
#define FIELDS(X)                                                                                            \
	X("write_bytes_per_s", AMOUNT, write_bytes)                                                          \
	X("read_bytes_per_s", AMOUNT, read_bytes)                                                            \
	X("write_ios_per_s", AMOUNT, write_ios)                                                              \
	X("read_ios_per_s", AMOUNT, read_ios)                                                                \
	X("lat_p50_ns", LEVEL, lat_p50)                                                                      \
	X("lat_p90_ns", LEVEL, lat_p90)                                                                      \
	X("lat_p99_ns", LEVEL, lat_p99)                                                                      \
	X("lat_p999_ns", LEVEL, lat_p999)                                                                    \
	X("lat_p9999_ns", LEVEL, lat_p9999)                                                                  \
	X("lat_max_ns", LEVEL, lat_max)                                                                      \
	X("stall_ns", LEVEL, stall)                                                                          \
	X("inflight_mean", LEVEL, inflight)                                                                  \
	X("temp_c", LEVEL, temp)                                                                             \
	X("host_limited", LEVEL, host_limited)                                                               \
	X("run_delay_share", LEVEL, run_delay)                                                               \
	X("steal_share", LEVEL, steal)                                                                       \
	X("throttled_ns", LEVEL, throttled)                                                                  \
	X("lat_mean_ns", LEVEL, lat_mean)                                                                    \
	X("device_lat_mean_ns", LEVEL, device_lat_mean)                                                      \
	X("commits_per_s", AMOUNT, commits)                                                                  \
	X("commit_p50_ns", LEVEL, commit_p50)                                                                \
	X("commit_p99_ns", LEVEL, commit_p99)                                                                \
	X("probing", LEVEL, probing)                                                                         \
	X("verifying", LEVEL, verifying)                                                                     \
	X("flushed", LEVEL, flushed)

#define FIELD_NAME(name, kind, value) name,
#define FIELD_ROW(name, kind, value)  { kind, value },

const char *const series_field_names[] = { FIELDS(FIELD_NAME) };
const size_t series_field_count = sizeof(series_field_names) / sizeof(series_field_names[0]);
static const struct field {
	enum kind kind;
	double (*value)(const struct sample *);
} fields_table[] = { FIELDS(FIELD_ROW) };

#define FIELD_COUNT (sizeof(fields_table) / sizeof(fields_table[0]))

static bool find_field(const char *name, size_t length, size_t *out)
{
	for (size_t i = 0; i < FIELD_COUNT; i++) {
		if (strlen(series_field_names[i]) == length &&
			strncmp(series_field_names[i], name, length) == 0) {
			*out = i;
			return true;
		}
	}
	return false;
}

int series_parse_fields(const char *list, uint32_t *out_mask)
{
	uint32_t mask = 0;
	size_t field, length;

	for (;;) {
		length = strcspn(list, ",");
		if (!find_field(list, length, &field) || mask & 1u << field)
			return -EINVAL;
		mask |= 1u << field;
		if (list[length] == '\0')
			break;
		list += length + 1;
	}
	*out_mask = mask;
	return 0;
}

struct bucket {
	double min, max, sum; /* sum: of amounts, or of level x seconds */
	double seconds;	      /* 0: nothing known */
};

struct series {
	int64_t from_ms, bucket_ms;
	uint64_t
		sliver_ns; /* a shorter sample has no rate worth a point: the service ended just behind a tick */
	size_t count;
	uint32_t fields;
	struct bucket *buckets[FIELD_COUNT];
};

static int64_t round_down(int64_t value, int64_t step)
{
	return value - (value % step + step) % step;
}

static void choose_buckets(
	struct series *series, int64_t from_ms, int64_t to_ms, int64_t interval_ms, size_t points)
{
	int64_t span = to_ms - from_ms;
	int64_t intervals = span / (interval_ms * (int64_t)points);

	if (points == 1) {
		/* One bucket can't both be aligned and always cover the window. */
		series->from_ms = from_ms;
		series->bucket_ms = (span + interval_ms - 1) / interval_ms * interval_ms;
		series->count = 1;
		return;
	}
	do {
		series->bucket_ms = (intervals ? intervals : 1) * interval_ms;
		series->from_ms = round_down(from_ms, series->bucket_ms);
		series->count =
			(size_t)((to_ms - series->from_ms + series->bucket_ms - 1) / series->bucket_ms);
		intervals = series->bucket_ms / interval_ms + 1;
	} while (series->count > points);
}

int series_new(int64_t from_ms, int64_t to_ms, uint32_t interval_s, size_t points, uint32_t fields,
	struct series **out)
{
	struct series *series;

	if (from_ms >= to_ms || interval_s == 0 || points == 0 || points > SERIES_POINTS_MAX)
		return -EINVAL;
	series = calloc(1, sizeof(*series));
	if (!series)
		return -ENOMEM;
	series->fields = fields;
	series->sliver_ns = interval_s * NS_PER_S / SLIVER_DIVISOR;
	choose_buckets(series, from_ms, to_ms, (int64_t)interval_s * 1000, points);
	for (size_t i = 0; i < FIELD_COUNT; i++) {
		if (!(fields & 1u << i))
			continue;
		series->buckets[i] = calloc(series->count, sizeof(struct bucket));
		if (!series->buckets[i]) {
			series_free(series);
			return -ENOMEM;
		}
	}
	*out = series;
	return 0;
}

void series_free(struct series *series)
{
	if (!series)
		return;
	for (size_t i = 0; i < FIELD_COUNT; i++)
		free(series->buckets[i]);
	free(series);
}

int64_t series_from_ms(const struct series *series)
{
	return series->from_ms;
}

int64_t series_to_ms(const struct series *series)
{
	return series->from_ms + (int64_t)series->count * series->bucket_ms;
}

static void bucket_add(struct bucket *bucket, enum kind kind, double value, double seconds)
{
	double level = kind == AMOUNT ? value / seconds : value;

	if (bucket->seconds > 0) {
		bucket->min = fmin(bucket->min, level);
		bucket->max = fmax(bucket->max, level);
	} else {
		bucket->min = bucket->max = level;
	}
	/* Amounts are summed as they are, so that bytes over elapsed is exact. */
	bucket->sum += kind == AMOUNT ? value : value * seconds;
	bucket->seconds += seconds;
}

void series_add(struct series *series, const struct sample *sample)
{
	double seconds = (double)sample->elapsed_ns / (double)NS_PER_S;
	int64_t since_ms = sample->t_ms - series->from_ms - 1;
	size_t at = (size_t)(since_ms / series->bucket_ms);

	if (since_ms < 0 || at >= series->count || sample->elapsed_ns <= series->sliver_ns ||
		sample->elapsed_ns == SAMPLE_UNKNOWN)
		return;
	for (size_t i = 0; i < FIELD_COUNT; i++) {
		double value;

		if (!series->buckets[i])
			continue;
		value = fields_table[i].value(sample);
		if (isfinite(value))
			bucket_add(&series->buckets[i][at], fields_table[i].kind, value, seconds);
	}
}

static void put_times(const struct series *series, struct json *json)
{
	json_key(json, "t_s");
	json_array_open(json);
	for (size_t i = 1; i <= series->count; i++)
		json_ms_as_s(json, series->from_ms + (int64_t)i * series->bucket_ms);
	json_array_close(json);
}

static double bucket_min(const struct bucket *bucket)
{
	return bucket->min;
}

static double bucket_mean(const struct bucket *bucket)
{
	/* Equal values have that mean; the way over the sum may miss it by a rounding. */
	return bucket->min < bucket->max ? bucket->sum / bucket->seconds : bucket->min;
}

static double bucket_max(const struct bucket *bucket)
{
	return bucket->max;
}

static void put_values(const struct series *series, const struct bucket *buckets, const char *name,
	double (*value)(const struct bucket *), struct json *json)
{
	json_key(json, name);
	json_array_open(json);
	for (size_t i = 0; i < series->count; i++)
		json_double(json, buckets[i].seconds > 0 ? value(&buckets[i]) : NAN);
	json_array_close(json);
}

void series_json(const struct series *series, struct json *json)
{
	json_object_open(json);
	json_put_ms_as_s(json, "from_s", series->from_ms);
	json_put_ms_as_s(json, "to_s", series_to_ms(series));
	json_put_ms_as_s(json, "bucket_s", series->bucket_ms);
	json_key(json, "fields");
	json_object_open(json);
	for (size_t i = 0; i < FIELD_COUNT; i++) {
		if (!series->buckets[i])
			continue;
		json_key(json, series_field_names[i]);
		json_object_open(json);
		put_times(series, json);
		put_values(series, series->buckets[i], "min", bucket_min, json);
		put_values(series, series->buckets[i], "mean", bucket_mean, json);
		put_values(series, series->buckets[i], "max", bucket_max, json);
		json_object_close(json);
	}
	json_object_close(json);
	json_object_close(json);
}
