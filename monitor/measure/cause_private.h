/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cause_private.h - what the files of cause.h share: a fall laid over the record. */
#ifndef DRIVESOAK_CAUSE_PRIVATE_H
#define DRIVESOAK_CAUSE_PRIVATE_H

#include "measure/cause.h"

struct cause_view {
	const struct cause_input *in;
	unsigned onset; /* the first sample of the fall */
	unsigned end;	/* behind its last */
	unsigned
		near_from; /* samples from here to before near_end are around the beginning; those before it are not */
	unsigned near_end;
	int64_t interval_ms, from_ms; /* from_ms: the beginning */
	int64_t near_from_ms, near_to_ms;
	double lost; /* share of the baseline, 0..1 */
};

/* A sign that was found says so in @out. */
typedef bool (*cause_check)(const struct cause_view *view, struct cause_answer *out);

__attribute__((format(printf, 4, 5))) bool cause_found(
	struct cause_answer *out, enum cause cause, enum cause_rank rank, const char *format, ...);
#define CAUSE_CLOCK_MAX 16
/* "12:03:10 UTC"; @text has CAUSE_CLOCK_MAX. Returns it. */
const char *cause_clock(int64_t t_ms, char *text);
double cause_rate(const struct cause_sample *sample); /* bytes a second; NAN where nothing is measured */

/* cause_kernel.c */
bool cause_is_reset(const struct cause_view *view, struct cause_answer *out);
bool cause_is_io_errors(const struct cause_view *view, struct cause_answer *out);
bool cause_is_link(const struct cause_view *view, struct cause_answer *out);
/* cause_host.c */
#define CAUSE_HOST_BEFORE_SHARE 0.5 /* as strong without the fall: it is always so */
/* How much of the time the host took from us, 0..1; NAN: not known. And how much it must be to make the fall. */
double cause_host_strength(const struct cause_sample *sample);
double cause_host_least(const struct cause_view *view);
bool cause_is_host(const struct cause_view *view, struct cause_answer *out);
bool cause_is_shared_path(const struct cause_view *view, struct cause_answer *out);
bool cause_is_background(const struct cause_view *view, struct cause_answer *out);
/* cause_drive.c */
bool cause_is_thermal(const struct cause_view *view, struct cause_answer *out);
bool cause_is_cache_mode(const struct cause_view *view, struct cause_answer *out);
bool cause_is_health_poll(const struct cause_view *view, struct cause_answer *out);
bool cause_is_own_pause(const struct cause_view *view, struct cause_answer *out);
bool cause_is_write_cache(const struct cause_view *view, struct cause_answer *out);
bool cause_is_garbage(const struct cause_view *view, struct cause_answer *out);
/* cause_rhythm.c: of a saw-tooth. */
void cause_decide_rhythm(const struct cause_view *view, struct cause_answer *out);

#endif
