/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pages.h - the pages for people, complete without a script. Thread of the listener. */
#ifndef DRIVESOAK_PAGES_H
#define DRIVESOAK_PAGES_H

#include "web/call.h"

void pages_overview(struct call *call); /* page_overview.c */
void pages_runs(struct call *call);	/* page_lists.c */
void pages_events(struct call *call);
void pages_run(struct call *call); /* page_run.c */
void pages_drive(struct call *call);
void pages_compare(struct call *call); /* page_compare.c */
void pages_alerts(struct call *call);  /* page_alerts.c */

#endif
