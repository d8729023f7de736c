/* SPDX-License-Identifier: GPL-2.0-or-later */
/* api.h - the JSON and CSV answers, names and units as in the interface document: unknown is null, counters are
 * exact, times are epoch seconds. Thread of the listener. */
#ifndef DRIVESOAK_API_H
#define DRIVESOAK_API_H

#include "web/call.h"

/* api.c */
void api_status(struct call *call);
void api_drives(struct call *call);
void api_healthz(struct call *call);
void api_readyz(struct call *call);
void api_events(struct call *call);
void api_run_events(struct call *call);

/* api_alerts.c */
void api_alerts(struct call *call);

/* api_runs.c */
void api_runs(struct call *call);
void api_run(struct call *call);
void api_run_health(struct call *call);
void api_samples_json(struct call *call);
void api_samples_csv(struct call *call);
void api_series(struct call *call);
void api_compare(struct call *call);

#endif
