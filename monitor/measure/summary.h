/* SPDX-License-Identifier: GPL-2.0-or-later */
/* summary.h - the headline figures of a run from its samples: median, p1, p5 (nearest rank), mean,
 * coefficient of variation, worst minute. Zeros count; paused, down, absent, partial, host-limited, filling
 * and verifying samples do not, and their share is told. Arithmetic only. One thread.
 *
 * A sample that knows only one direction counts for that one: an import may not tell reads.
 * A sample's rate is its bytes over the time it really covered. mean is all bytes over all time; cv is the
 * population deviation of the rates over their own mean. worst_minute is the lowest rate over consecutive
 * samples that count, as many as make a minute (one when the interval is a minute or more). stalled_s is
 * never more than the truth: of a stall that an earlier sample told already only the growth is added (a
 * longer stall in the next sample is taken for the same one), and never more than the sample's own time.
 * gap_pct and host_limited_pct are shares of the wall time from the first to the last sample of the soak.
 *
 * The headline is the settled window W once there is one (steady.h): whoever knows it begins it here and adds its
 * samples, again where they came before W was known. Before, the headline is the whole soak.
 *
 * The whole soak is the same arithmetic with the host-limited samples counted too: what this host and drive did
 * together, which on a busy or small host may be all there is. */
#ifndef DRIVESOAK_SUMMARY_H
#define DRIVESOAK_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "measure/sample.h"
#include "measure/steady.h"
#include "measure/verdict.h"

struct summary;

/* Whether the headline figures take this sample, and whether the whole soak does. */
bool summary_counts(const struct sample *sample);
bool summary_counts_whole(const struct sample *sample);

/* Figures in bytes per second over the samples that count; NAN when there is none. */
struct summary_rates {
	double median, mean, p1, p5, min, max, cv, worst_minute;
};

/* What the host did while it was the limit: means over those samples of the soak; NAN when there is none, or when
 * none knew. */
struct summary_host {
	double run_delay_share, steal_share;	/* by time, 0..1 */
	double throttled_share;			/* of the time, summed over CPUs */
	double lat_mean_ns, device_lat_mean_ns; /* by request, of samples that know both */
};

/* Over one choice of samples; what is not known is NAN or SAMPLE_UNKNOWN. */
struct summary_part {
	uint64_t samples; /* that count */
	struct summary_rates write, read;
	double stalled_s;	/* time in stalls of 1 s or more; NAN when no sample knows of stalls */
	double longest_stall_s; /* likewise */
	uint64_t lat_p99_ns, lat_p9999_ns; /* over all samples that count, from the merged histograms */
	double median_commits_per_s;	   /* NAN without commits */
	double median_commit_p50_ns, median_commit_p99_ns; /* medians of the samples' percentiles */
	int64_t from_ms, to_ms;				   /* INT64_MIN when empty */
};

/* What the verdict asks of the rates of W, written and read together; bytes a second, NAN without W. */
struct summary_stability {
	double median, p1, min, cv;
	double half_median_share;	    /* of samples at half the median or more, 0..1 */
	double first_quarter, last_quarter; /* medians of those quarters of its samples */
};

struct summary_figures {
	struct summary_part window; /* the headline */
	struct summary_part whole;  /* host-limited samples too */
	struct summary_stability stability;
	double interval_s;
	double measured_s;		  /* of the soak, in samples that count */
	double longest_stall_s;		  /* of the soak; NAN */
	double host_limited_pct, gap_pct; /* of the soak's time */
	struct summary_host host;
	/* What reading the drive's health costs: throughput of the samples with a reading against the others, spread over
	 * the soak; below 0 within the noise; NAN with too few. */
	double health_poll_cost_pct;
	/* By whoever knows more than the samples; NAN, SAMPLE_UNKNOWN, not settled and no verdict before. */
	double waf, percent_used_delta;
	uint64_t collapses;	/* findings that alert, since the run first settled */
	double collapses_per_h; /* of the measured soak */
	struct steady_answer steady;
	struct verdict_answer verdict;
};

/* To be said wherever summary_shown() gives the whole soak for want of anything else. */
#define SUMMARY_HOST_LIMITED "host-limited: what this host and drive did together, not the drive alone"

/* What a page shows: the headline, or the whole soak where the host was the limit in every sample. */
const struct summary_part *summary_shown(const struct summary_figures *figures);
bool summary_is_host_limited(const struct summary_figures *figures);

/* @interval_s 1 or more. 0, -EINVAL or -ENOMEM. */
int summary_new(uint32_t interval_s, struct summary **out);
void summary_free(struct summary *summary);
/* In order of time; every sample of the run, the ones that do not count too. 0 or -ENOMEM. */
int summary_add(struct summary *summary, const struct sample *sample);
/* From here on the headline is what summary_add_window() is given, until summary_end_window(). */
void summary_begin_window(struct summary *summary);
int summary_add_window(struct summary *summary, const struct sample *sample); /* as summary_add() */
void summary_end_window(struct summary *summary);
/* 0 or -ENOMEM. */
int summary_read(struct summary *summary, struct summary_figures *out);

/* "steady":{...} and the "summary" object of the HTTP API. */
void summary_steady_json(const struct steady_answer *steady, struct json *json);
void summary_json(const struct summary_figures *figures, struct json *json);

#endif
