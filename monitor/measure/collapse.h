/* SPDX-License-Identifier: GPL-2.0-or-later */
/* collapse.h - decide, sample by sample and also while nothing completes, whether throughput has collapsed, and tell
 * it from noise, from the cliff of a fresh drive, from a saw-tooth and from a slow decline. Arithmetic only: no I/O,
 * no clock, no logging. One per run, one thread; memory is fixed, a sample costs no more than a search within 360.
 *
 * The baseline B is the median of the last 360 samples that count, outside of falls, from 60 on; it stands still
 * while a fall is under way, and once settled it sinks by no more than 5 % an hour. A fall is raised with the sample
 * that makes it last collapse-for below collapse-below of B, in the mean since it began, or whose stall reaches
 * stall-after. The mean of a fall to exactly collapse-below scatters about it, so 1.5 of its deviations are given (at
 * most a fifth of the threshold); and a mean within 4.8 deviations of what B's own noise makes of as many samples is
 * not a fall yet (level.h): 30 % noise takes longer to tell from a fall to half. It is over, from there on, when the
 * mean was at recover-above for collapse-for again, for longer where the noise could do that by chance.
 *
 * Kinds, and whether they alert: *collapse* and *stall* do. *cliff* does not: a fall before the run was ever settled,
 * unless it stalls or stays below 10 % of B for 60 s; B takes the new level as soon as it is level over 60 samples,
 * and when the cliff comes back above recover-above within 6 h (and before the run is settled) it was a collapse.
 * *level-shift*: a collapse that stayed for 6 h, or a drive that settles in it: B takes the new level, if there is one (a
 * drive that does nothing stays one stall, however long). *periodic*
 * (rhythm.h) alerts once: the falls raised before are relabelled or absorbed, the teeth that follow are counted; when
 * no fourth one comes, the three are told one by one again (relabelled to what they were, the third raised and cleared).
 * *degraded* (decline.h) is an event. Without a known extent nothing is ever settled: the first fall to a level that
 * stays is the cliff, and falls after it are collapses.
 *
 * Samples that do not count (paused, filling, down, partial) are left out: they end no fall and begin none, and what was
 * not yet raised before them is forgotten. So are those in which the host was the limit, unless throughput is below
 * collapse-below of B or has fallen already: it has, whoever is to blame, and when it is back, it is. */
#ifndef DRIVESOAK_COLLAPSE_H
#define DRIVESOAK_COLLAPSE_H

#include <stdbool.h>
#include <stdint.h>

#include "measure/sample.h"

#define COLLAPSE_OPEN	   INT64_MAX
#define COLLAPSE_TURNS_MAX 8
#define COLLAPSE_TEXT_MAX  256

struct collapse;

struct collapse_config {
	double below_share, recover_share; /* collapse-below, recover-above: 0.5, 0.7 */
	uint64_t for_ns, stall_after_ns;   /* collapse-for, stall-after */
	bool is_extent_known;
};

/* In order of time, of every phase. */
struct collapse_sample {
	int64_t t_ms; /* end of the interval */
	uint64_t elapsed_ns;
	uint64_t bytes; /* written and read */
	uint64_t
		stall_ns; /* longest time without a completion, may reach back; SAMPLE_UNKNOWN: from empty samples */
	bool counts;
	bool is_settled;      /* W exists (steady.h) */
	bool is_host_limited; /* says nothing of the drive, but that throughput has fallen, or is back */
};

enum collapse_kind {
	COLLAPSE_FALL,
	COLLAPSE_STALL,
	COLLAPSE_CLIFF,
	COLLAPSE_PERIODIC,
	COLLAPSE_SHIFT,
	COLLAPSE_DEGRADED,
	COLLAPSE_KIND_COUNT
};

struct collapse_finding {
	uint64_t id; /* 1, 2, ... within the run */
	enum collapse_kind kind;
	int64_t from_ms, detected_ms, to_ms;	    /* to: COLLAPSE_OPEN while it lasts */
	double baseline_bytes_per_s;		    /* B when it began; NAN before there was one */
	double mean_bytes_per_s, worst_bytes_per_s; /* so far */
	double stall_s;				    /* longest */
	double noise_pct;			    /* of single samples, before it began */
	double period_s;			    /* periodic; else NAN */
	unsigned count;				    /* falls: 1, or the teeth of a periodic one */
};

enum collapse_change {
	COLLAPSE_RAISED,
	COLLAPSE_CLEARED,    /* @finding has its end */
	COLLAPSE_RELABELLED, /* @finding, open or over, is now of another kind than @was */
	COLLAPSE_ABSORBED    /* @finding, over, is now part of @into and to be told with it */
};

struct collapse_turn {
	enum collapse_change change;
	enum collapse_kind was;
	uint64_t into;
	struct collapse_finding finding;
};

struct collapse_answer {
	unsigned count; /* 0: nothing new */
	struct collapse_turn turns[COLLAPSE_TURNS_MAX];
};

/* 0 and *@out owned by the caller, or -EINVAL (shares not 0 < below < recover <= 1, no time) or -ENOMEM. */
int collapse_new(const struct collapse_config *config, struct collapse **out);
void collapse_free(struct collapse *collapse); /* NULL is fine */
void collapse_add(
	struct collapse *collapse, const struct collapse_sample *sample, struct collapse_answer *out);

double collapse_baseline(const struct collapse *collapse); /* bytes a second; NAN: not known */
/* What *degraded* is decided by: the median of the last whole hour, and 80 % of that of the first 6 h; NAN while it is not
 * known. */
void collapse_get_decline(
	const struct collapse *collapse, double *hour_bytes_per_s, double *least_bytes_per_s);
/* The finding that is under way and lowers throughput now; false, with *@out untouched, when there is none. */
bool collapse_current(const struct collapse *collapse, struct collapse_finding *out);

bool collapse_alerts(enum collapse_kind kind);
const char *collapse_kind_name(enum collapse_kind kind); /* "level-shift" */
/* 0..100 below B; NAN without B. */
double collapse_depth_pct(const struct collapse_finding *finding);
/* A sentence with the numbers; @text has COLLAPSE_TEXT_MAX. */
void collapse_print(const struct collapse_finding *finding, char *text);

void collapse_sample_of(const struct sample *sample, bool is_settled, struct collapse_sample *out);

#endif
