/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The order of the causes, and what the files beside this one need of the record. */
#include "measure/cause_private.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"

static const char *const names[CAUSE_COUNT] = {
	[CAUSE_RESET] = "reset",
	[CAUSE_IO_ERRORS] = "io-errors",
	[CAUSE_HOST] = "host",
	[CAUSE_SHARED_PATH] = "shared-path",
	[CAUSE_LINK] = "link",
	[CAUSE_THERMAL] = "thermal",
	[CAUSE_CACHE_MODE] = "cache-mode",
	[CAUSE_BACKGROUND] = "background",
	[CAUSE_HEALTH_POLL] = "health-poll",
	[CAUSE_OWN_PAUSE] = "own-pause",
	[CAUSE_WRITE_CACHE] = "write-cache",
	[CAUSE_GARBAGE] = "garbage-collection",
	[CAUSE_UNKNOWN] = "unknown",
};

static const char *const rank_names[CAUSE_RANK_COUNT] = { "measured", "correlated", "inferred" };

static const cause_check checks[] = {
	cause_is_reset,
	cause_is_io_errors,
	cause_is_host,
	cause_is_shared_path,
	cause_is_link,
	cause_is_thermal,
	cause_is_cache_mode,
	cause_is_background,
	cause_is_health_poll,
	cause_is_own_pause,
	cause_is_write_cache,
	cause_is_garbage,
};

const char *cause_name(enum cause cause)
{
	return cause < CAUSE_COUNT ? names[cause] : names[CAUSE_UNKNOWN];
}

const char *cause_rank_name(enum cause_rank rank)
{
	return rank < CAUSE_RANK_COUNT ? rank_names[rank] : rank_names[CAUSE_INFERRED];
}

void cause_print(const struct cause_answer *answer, char *cause, size_t cause_size, char *evidence,
	size_t evidence_size)
{
	text_copy(cause, cause_size, cause_name(answer->cause));
	if (answer->cause == CAUSE_UNKNOWN)
		text_copy(evidence, evidence_size, answer->evidence);
	else
		(void)snprintf(
			evidence, evidence_size, "%s: %s", cause_rank_name(answer->rank), answer->evidence);
}

int cause_parse(const char *cause, const char *evidence, struct cause_answer *out)
{
	struct cause_answer answer = { .cause = CAUSE_COUNT, .rank = CAUSE_INFERRED };

	for (unsigned i = 0; i < CAUSE_COUNT; i++)
		if (strcmp(cause, names[i]) == 0)
			answer.cause = (enum cause)i;
	for (unsigned i = 0; i < CAUSE_RANK_COUNT && answer.cause != CAUSE_UNKNOWN; i++) {
		size_t length = strlen(rank_names[i]);

		if (strncmp(evidence, rank_names[i], length) != 0 || strncmp(evidence + length, ": ", 2) != 0)
			continue;
		answer.rank = (enum cause_rank)i;
		text_copy(answer.evidence, sizeof(answer.evidence), evidence + length + 2);
	}
	if (answer.cause == CAUSE_UNKNOWN)
		text_copy(answer.evidence, sizeof(answer.evidence), evidence);
	if (answer.cause == CAUSE_COUNT || !answer.evidence[0])
		return -EINVAL;
	*out = answer;
	return 0;
}

void cause_sample_init(struct cause_sample *sample)
{
	*sample = (struct cause_sample){
		.state = SAMPLE_DOWN,
		.bytes = SAMPLE_UNKNOWN,
		.errors = SAMPLE_UNKNOWN,
		.run_delay_share = NAN,
		.steal_share = NAN,
		.throttled_share = NAN,
		.in_flight_share = NAN,
		.cpu_pressure = NAN,
		.io_pressure = NAN,
		.foreign_bytes = NAN,
		.foreign_discards = NAN,
		.since_idle_bytes = SAMPLE_UNKNOWN,
		.idle_ns = SAMPLE_UNKNOWN,
		.capacities = NAN,
	};
	evidence_counters_init(&sample->counters);
}

void cause_reading_init(struct cause_reading *reading)
{
	*reading = (struct cause_reading){
		.temp_c = NAN,
		.warning_temp_c = NAN,
		.critical_warning = CAUSE_UNKNOWN_COUNT,
		.warning_temp_minutes = CAUSE_UNKNOWN_COUNT,
		.critical_temp_minutes = CAUSE_UNKNOWN_COUNT,
		.thermal1_count = CAUSE_UNKNOWN_COUNT,
		.thermal2_count = CAUSE_UNKNOWN_COUNT,
		.thermal1_s = CAUSE_UNKNOWN_COUNT,
		.thermal2_s = CAUSE_UNKNOWN_COUNT,
		.throttle_level = CAUSE_UNKNOWN_COUNT,
		.throttle_events = CAUSE_UNKNOWN_COUNT,
		.crc_errors = CAUSE_UNKNOWN_COUNT,
		.self_test = CAUSE_UNKNOWN_COUNT,
		.host_written_bytes = CAUSE_UNKNOWN_COUNT,
		.media_written_bytes = CAUSE_UNKNOWN_COUNT,
	};
}

bool cause_found(struct cause_answer *out, enum cause cause, enum cause_rank rank, const char *format, ...)
{
	va_list args;

	out->cause = cause;
	out->rank = rank;
	va_start(args, format);
	(void)vsnprintf(out->evidence, sizeof(out->evidence), format, args);
	va_end(args);
	return true;
}

const char *cause_clock(int64_t t_ms, char *text)
{
	const int64_t day_s = 86400;
	int64_t s = ((t_ms / 1000) % day_s + day_s) % day_s;

	(void)snprintf(text, CAUSE_CLOCK_MAX, "%02u:%02u:%02u UTC", (unsigned)(s / 3600),
		(unsigned)(s / 60 % 60), (unsigned)(s % 60));
	return text;
}

double cause_rate(const struct cause_sample *sample)
{
	if (!sample->elapsed_ns || sample->bytes == SAMPLE_UNKNOWN ||
		(sample->state != SAMPLE_MEASURED && sample->state != SAMPLE_ZERO))
		return NAN;
	return (double)sample->bytes * 1e9 / (double)sample->elapsed_ns;
}

/* --- the fall in the record --- */

static int64_t begin_of(const struct cause_sample *sample)
{
	return sample->t_ms - (int64_t)(sample->elapsed_ns / NS_PER_MS);
}

static unsigned first_after(const struct cause_input *in, int64_t t_ms)
{
	unsigned i = 0;

	while (i < in->sample_count && in->samples[i].t_ms <= t_ms)
		i++;
	return i;
}

static double lost_of(const struct collapse_finding *finding)
{
	double share = finding->mean_bytes_per_s / finding->baseline_bytes_per_s;

	return isnan(share) ? 1 : fmin(fmax(1 - share, 0), 1);
}

/* False when the record does not have the fall's beginning. */
static bool view_init(struct cause_view *view, const struct cause_input *in)
{
	const struct collapse_finding *finding = in->finding;

	*view = (struct cause_view){ .in = in, .from_ms = finding->from_ms, .lost = lost_of(finding) };
	/* A millisecond is lost where times are rounded. */
	view->onset = first_after(in, finding->from_ms + 1);
	if (view->onset == in->sample_count || view->onset == 0 ||
		begin_of(&in->samples[0]) > finding->from_ms)
		return false;
	view->end = finding->to_ms == COLLAPSE_OPEN ? in->sample_count : first_after(in, finding->to_ms + 1);
	if (view->end <= view->onset)
		view->end = view->onset + 1;
	view->interval_ms = (int64_t)(in->samples[view->onset].elapsed_ns / NS_PER_MS);
	view->near_from = view->onset > CAUSE_NEAR_SAMPLES ? view->onset - CAUSE_NEAR_SAMPLES : 0;
	view->near_end = view->onset + CAUSE_NEAR_SAMPLES;
	if (view->near_end > in->sample_count)
		view->near_end = in->sample_count;
	view->near_from_ms = view->from_ms - CAUSE_NEAR_SAMPLES * view->interval_ms;
	view->near_to_ms = view->from_ms + CAUSE_NEAR_SAMPLES * view->interval_ms;
	return true;
}

static unsigned lines_near(const struct cause_view *view)
{
	unsigned count = 0;

	for (unsigned i = 0; i < view->in->line_count; i++)
		count += view->in->lines[i].t_ms >= view->near_from_ms;
	return count;
}

/* The last reading around the beginning; NAN. */
static double temp_near(const struct cause_view *view)
{
	double temp_c = NAN;

	for (unsigned i = 0; i < view->in->reading_count && view->in->readings[i].t_ms <= view->near_to_ms;
		i++)
		if (!isnan(view->in->readings[i].temp_c))
			temp_c = view->in->readings[i].temp_c;
	return temp_c;
}

/* Add a part to the sentence. */
__attribute__((format(printf, 2, 3))) static void also(struct cause_answer *out, const char *format, ...)
{
	const size_t used = strlen(out->evidence);
	va_list args;

	va_start(args, format);
	(void)vsnprintf(out->evidence + used, sizeof(out->evidence) - used, format, args);
	va_end(args);
}

/* What was looked at, as far as it is known. */
static void say_unknown(const struct cause_view *view, struct cause_answer *out)
{
	const struct cause_input *in = view->in;
	const struct cause_sample *onset = &in->samples[view->onset];
	const struct evidence_counters *link = &onset->counters;
	const double temp_c = temp_near(view);
	char clock[CAUSE_CLOCK_MAX];

	(void)cause_found(out, CAUSE_UNKNOWN, CAUSE_INFERRED,
		"nothing speaks for a cause when it began at %s: the kernel%s",
		cause_clock(view->from_ms, clock),
		!in->is_log_heard  ? "'s log can't be heard"
		: lines_near(view) ? " said nothing of that time"
				   : " said nothing");
	if (!isnan(onset->run_delay_share))
		also(out, "; our threads waited %.0f %% for a CPU", onset->run_delay_share * 100);
	if (!isnan(onset->io_pressure))
		also(out, "; some task of the machine waited for I/O %.0f %% of the time",
			onset->io_pressure * 100);
	if (!isnan(temp_c))
		also(out, "; the drive had %.0f C", temp_c);
	if (link->link_speed && link->link_speed < link->link_speed_max)
		also(out, "; its link runs at %u.%u of %u.%u G, as before", link->link_speed / 10,
			link->link_speed % 10, link->link_speed_max / 10, link->link_speed_max % 10);
	if (in->neighbour_count)
		also(out, "; %u other drives soak beside it", in->neighbour_count);
}

void cause_decide(const struct cause_input *in, struct cause_answer *out)
{
	struct cause_view view;
	bool has_begin = view_init(&view, in);

	*out = (struct cause_answer){ .cause = CAUSE_UNKNOWN, .rank = CAUSE_INFERRED };
	if (in->finding->kind == COLLAPSE_PERIODIC) {
		cause_decide_rhythm(&view, out);
		return;
	}
	if (in->finding->kind == COLLAPSE_DEGRADED) {
		(void)cause_found(out, CAUSE_UNKNOWN, CAUSE_INFERRED,
			"it came over hours: no moment at which a cause could be looked for");
		return;
	}
	if (!has_begin) {
		(void)cause_found(out, CAUSE_UNKNOWN, CAUSE_INFERRED,
			"what was seen when it began is not kept any more");
		out->lacks_begin = true;
		return;
	}
	for (unsigned i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
		if (checks[i](&view, out))
			return;
	say_unknown(&view, out);
}
