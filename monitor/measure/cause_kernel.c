/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel says and counts: resets, errors, the link. */
#include "measure/cause_private.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

#define STOOD_STILL_SHARE   0.05  /* of the baseline, at most, while a command that hangs is waited for */
#define IO_TIMEOUT_MS	    30000 /* where the kernel's own is not known */
#define TIMEOUTS	    2	  /* NVMe aborts a command after one and resets after two */
#define LATE_MS		    15000 /* a reset itself takes time */
#define AER_CORRECTABLE_MIN 10
#define AER_TIMES	    5 /* as many as in any sample before */
#define IOERR_TIMES	    2

static bool has_state(const struct cause_sample *sample)
{
	return sample->state == SAMPLE_MEASURED || sample->state == SAMPLE_ZERO;
}

/* Nothing completed from the beginning until @t_ms; its first sample may have some of the time before. */
static bool stood_still_until(const struct cause_view *view, int64_t t_ms)
{
	const double most = view->in->finding->baseline_bytes_per_s * STOOD_STILL_SHARE;

	for (unsigned i = view->onset + 1; i < view->in->sample_count; i++) {
		const struct cause_sample *sample = &view->in->samples[i];

		if (sample->t_ms > t_ms)
			break;
		if (!has_state(sample) || !(isnan(most) ? sample->bytes == 0 : cause_rate(sample) <= most))
			return false;
	}
	return true;
}

static int64_t io_timeout_ms(const struct cause_view *view)
{
	uint64_t ms = view->in->samples[view->onset].counters.io_timeout_ms;

	return ms != EVIDENCE_UNKNOWN && ms > 0 && ms <= 3600000 ? (int64_t)ms : IO_TIMEOUT_MS;
}

static bool is_in_time(const struct cause_view *view, int64_t t_ms)
{
	if (t_ms < view->near_from_ms)
		return false;
	return t_ms <= view->near_to_ms ||
	       (t_ms <= view->from_ms + TIMEOUTS * io_timeout_ms(view) + LATE_MS &&
		       stood_still_until(view, t_ms));
}

/* The first line in time with one of @words (bits), and how many more there are. */
static const struct cause_line *find_line(const struct cause_view *view, unsigned words, unsigned *more)
{
	const struct cause_line *first = NULL;

	*more = 0;
	for (unsigned i = 0; i < view->in->line_count; i++) {
		const struct cause_line *line = &view->in->lines[i];

		if (!(words >> line->word & 1) || !is_in_time(view, line->t_ms))
			continue;
		if (first)
			++*more;
		else
			first = line;
	}
	return first;
}

static bool say_line(
	const struct cause_view *view, unsigned words, enum cause cause, struct cause_answer *out)
{
	unsigned more;
	const struct cause_line *line = find_line(view, words, &more);
	char clock[CAUSE_CLOCK_MAX], beside[48] = "", late[96] = "";
	double after_s;

	if (!line)
		return false;
	after_s = (double)(line->t_ms - view->from_ms) / 1e3;
	if (line->t_ms > view->near_to_ms)
		(void)snprintf(
			late, sizeof(late), ", %.0f s after it began, nothing completing meanwhile", after_s);
	else
		(void)snprintf(late, sizeof(late), ", %.0f s %s it began", fabs(after_s),
			after_s < 0 ? "before" : "after");
	if (more)
		(void)snprintf(beside, sizeof(beside), "; %u more such lines", more);
	return cause_found(out, cause, CAUSE_MEASURED, "the kernel at %s%s: %s%s",
		cause_clock(line->t_ms, clock), late, line->text, beside);
}

#define WORD(word) (1u << (word))

/* Growth of a counter in the samples around the beginning. */
static uint64_t near_growth(const struct cause_view *view, size_t offset)
{
	const struct cause_sample *samples = view->in->samples;
	uint64_t growth = 0;

	for (unsigned i = view->near_from > 0 ? view->near_from : 1; i < view->near_end; i++) {
		uint64_t a, b;

		memcpy(&a, (const char *)&samples[i - 1].counters + offset, sizeof(a));
		memcpy(&b, (const char *)&samples[i].counters + offset, sizeof(b));
		growth += evidence_growth(a, b);
	}
	return growth;
}

/* The most in one sample before that; UINT64_MAX when it is not known of ten. */
static uint64_t usual_growth(const struct cause_view *view, size_t offset)
{
	const struct cause_sample *samples = view->in->samples;
	uint64_t most = 0;
	unsigned known = 0;

	for (unsigned i = 1; i < view->near_from; i++) {
		uint64_t a, b;

		memcpy(&a, (const char *)&samples[i - 1].counters + offset, sizeof(a));
		memcpy(&b, (const char *)&samples[i].counters + offset, sizeof(b));
		if (a == EVIDENCE_UNKNOWN || b == EVIDENCE_UNKNOWN)
			continue;
		known++;
		if (evidence_growth(a, b) > most)
			most = evidence_growth(a, b);
	}
	return known >= 10 ? most : UINT64_MAX;
}

bool cause_is_reset(const struct cause_view *view, struct cause_answer *out)
{
	const struct cause_sample *samples = view->in->samples;
	uint64_t timeouts = near_growth(view, offsetof(struct evidence_counters, io_timeouts));

	if (say_line(view, WORD(KERNELLINE_RESET) | WORD(KERNELLINE_TIMEOUT), CAUSE_RESET, out))
		return true;
	for (unsigned i = view->near_from; i < view->near_end; i++)
		if (!evidence_is_well(samples[i].counters.state) && i > 0 &&
			evidence_is_well(samples[i - 1].counters.state))
			return cause_found(out, CAUSE_RESET, CAUSE_MEASURED,
				"the kernel has the device in the state \"%s\"", samples[i].counters.state);
	return timeouts > 0 && cause_found(out, CAUSE_RESET, CAUSE_MEASURED,
				       "%llu commands timed out around its beginning, by the kernel's count",
				       (unsigned long long)timeouts);
}

/* Any program's commands are counted, our questions about health too, and some drives fail those each time. */
static bool say_counted_errors(const struct cause_view *view, struct cause_answer *out)
{
	const size_t offset = offsetof(struct evidence_counters, io_errors);
	uint64_t near = near_growth(view, offset), usual = usual_growth(view, offset);

	return near > 0 && usual != UINT64_MAX && near > IOERR_TIMES * usual &&
	       cause_found(out, CAUSE_IO_ERRORS, CAUSE_MEASURED,
		       "%llu commands failed around its beginning, by the kernel's count",
		       (unsigned long long)near);
}

bool cause_is_io_errors(const struct cause_view *view, struct cause_answer *out)
{
	uint64_t errors = 0;

	for (unsigned i = view->near_from; i < view->near_end; i++)
		if (view->in->samples[i].errors != SAMPLE_UNKNOWN)
			errors += view->in->samples[i].errors;
	if (say_line(view, WORD(KERNELLINE_ERROR), CAUSE_IO_ERRORS, out))
		return true;
	if (errors)
		return cause_found(out, CAUSE_IO_ERRORS, CAUSE_MEASURED,
			"%llu of our requests failed around its beginning", (unsigned long long)errors);
	return say_counted_errors(view, out);
}

/* --- the link --- */

static bool is_less(uint64_t now, uint64_t before)
{
	return now && before && now != EVIDENCE_UNKNOWN && before != EVIDENCE_UNKNOWN && now < before;
}

static bool say_slower(const struct cause_view *view, struct cause_answer *out)
{
	const struct cause_sample *samples = view->in->samples;

	for (unsigned i = view->near_from > 0 ? view->near_from : 1; i < view->near_end; i++) {
		const struct evidence_counters *was = &samples[i - 1].counters, *is = &samples[i].counters;
		char clock[CAUSE_CLOCK_MAX];

		(void)cause_clock(samples[i].t_ms, clock);
		if (is_less(is->link_speed, was->link_speed) || is_less(is->link_width, was->link_width))
			return cause_found(out, CAUSE_LINK, CAUSE_MEASURED,
				"the link went from %u.%u G x%u to %u.%u G x%u by %s", was->link_speed / 10,
				was->link_speed % 10, was->link_width ? was->link_width : 1,
				is->link_speed / 10, is->link_speed % 10, is->link_width ? is->link_width : 1,
				clock);
		if (is_less(is->sata_limit, was->sata_limit))
			return cause_found(out, CAUSE_LINK, CAUSE_MEASURED,
				"the kernel limits the link to %u.%u Gbps since %s, to %u.%u before",
				is->sata_limit / 10, is->sata_limit % 10, clock, was->sata_limit / 10,
				was->sata_limit % 10);
		if (is->queue_depth == 1 && is_less(is->queue_depth, was->queue_depth))
			return cause_found(out, CAUSE_LINK, CAUSE_MEASURED,
				"NCQ is off since %s: one command at a time instead of %llu", clock,
				(unsigned long long)was->queue_depth);
	}
	return false;
}

static bool say_bus_errors(const struct cause_view *view, struct cause_answer *out)
{
	const size_t offset = offsetof(struct evidence_counters, aer_correctable);
	uint64_t grave = near_growth(view, offsetof(struct evidence_counters, aer_nonfatal)) +
			 near_growth(view, offsetof(struct evidence_counters, aer_fatal));
	uint64_t near = near_growth(view, offset), usual = usual_growth(view, offset);

	if (grave)
		return cause_found(out, CAUSE_LINK, CAUSE_MEASURED,
			"%llu uncorrectable errors on PCI Express around its beginning",
			(unsigned long long)grave);
	return near >= AER_CORRECTABLE_MIN && usual != UINT64_MAX && near >= AER_TIMES * usual &&
	       cause_found(out, CAUSE_LINK, CAUSE_CORRELATED,
		       "%llu correctable errors on PCI Express around its beginning, never more than %llu in "
		       "a sample before",
		       (unsigned long long)near, (unsigned long long)usual);
}

/* Counted by the drive, so known only at a reading; and only where none came before for two readings. */
static bool say_crc(const struct cause_view *view, struct cause_answer *out)
{
	const struct cause_reading *readings = view->in->readings;

	for (unsigned i = 2; i < view->in->reading_count; i++) {
		uint64_t more = evidence_growth(readings[i - 1].crc_errors, readings[i].crc_errors);

		if (!more || readings[i - 1].t_ms > view->near_to_ms ||
			readings[i].t_ms < view->near_from_ms ||
			readings[i - 2].crc_errors != readings[i - 1].crc_errors)
			continue;
		return cause_found(out, CAUSE_LINK, CAUSE_CORRELATED,
			"the drive counted %llu CRC errors of the link (cable, backplane) around its "
			"beginning, none before",
			(unsigned long long)more);
	}
	return false;
}

bool cause_is_link(const struct cause_view *view, struct cause_answer *out)
{
	return say_slower(view, out) || say_line(view, WORD(KERNELLINE_LINK), CAUSE_LINK, out) ||
	       say_bus_errors(view, out) || say_crc(view, out);
}
