/* SPDX-License-Identifier: GPL-2.0-or-later */
/* drivesoak_judge.h - the deciders on a log: steady state and falls of throughput, as they would have been found while it
 * was written. The thresholds are those of a service without a configuration. One thread. */
#ifndef DRIVESOAK_DRIVESOAK_JUDGE_H
#define DRIVESOAK_DRIVESOAK_JUDGE_H

#include "base/json.h"
#include "measure/collapse.h"
#include "measure/sample.h"
#include "measure/steady.h"

struct judge;

/* Nothing but the rates is known of somebody else's run. */
#define JUDGE_CAUSE    "unknown"
#define JUDGE_EVIDENCE "a log tells nothing of the machine and its drive, so no cause can be told"

/* 0 or negative errno, *@out then as it was. */
int judge_new(struct judge **out);
void judge_free(struct judge *judge); /* NULL is fine */
/* In order of time. 0 or -ENOMEM. */
int judge_add(struct judge *judge, const struct sample *sample);
/* After the last one, before anything is asked. 0 or -ENOMEM. */
int judge_end(struct judge *judge);

/* Falls that alert, in an hour of measured soak; NAN without one. The teeth of a saw count each. */
double judge_collapses_per_h(const struct judge *judge);
/* Each finding in the order of its beginning; what was absorbed by another is left out. */
void judge_each(const struct judge *judge, void (*each)(const struct collapse_finding *, void *), void *arg);

/* "steady":{...},"collapses":[...],"events":[...] */
void judge_json(const struct judge *judge, struct json *json);
void judge_steady(const struct judge *judge, struct steady_answer *out);

#endif
