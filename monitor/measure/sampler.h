/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sampler.h - cut what the engines of one run complete into intervals: nothing is counted twice or lost,
 * whatever engine comes and goes within an interval. Reads counters only, never waits for a drive. Control
 * thread. */
#ifndef DRIVESOAK_SAMPLER_H
#define DRIVESOAK_SAMPLER_H

#include "engine/engine.h"
#include "measure/sample.h"

struct sampler;

int sampler_new(struct sampler **out);	    /* 0 or -ENOMEM */
void sampler_free(struct sampler *sampler); /* NULL is fine */

/* @engine was just started (its totals count from 0) / was stopped and will be freed after this. One at a
 * time. */
void sampler_attach(struct sampler *sampler, struct engine *engine);
void sampler_detach(struct sampler *sampler);

struct engine *sampler_get_engine(const struct sampler *sampler); /* the attached one or NULL */

/* End the interval: counters, latencies, stall, in flight and CPU share of what completed since the last
 * call. @elapsed_ns is the monotonic length of the interval. Leaves time, state, flags and phase to the
 * caller. */
void sampler_take(struct sampler *sampler, uint64_t elapsed_ns, struct sample *out);

/* Since sampler_new(), to the last take or detach: what the samples add up to. */
struct sampler_sums {
	uint64_t write_bytes, read_bytes, errors;
};
/* Bytes written until this moment, by all engines so far. */
uint64_t sampler_written_now(struct sampler *sampler);
struct sampler_sums sampler_get_sums(const struct sampler *sampler);

#endif
