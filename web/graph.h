/* SPDX-License-Identifier: GPL-2.0-or-later */
/* graph.h - pictures: the timeline of a run drawn by librrd from its RRD view, the jitter plot by our own writer.
 * Thread of the listener; librrd draws under one lock for the whole process. */
#ifndef DRIVESOAK_GRAPH_H
#define DRIVESOAK_GRAPH_H

#include "web/call.h"

void graph_timeline_svg(struct call *call);
void graph_timeline_png(struct call *call);
void graph_jitter(struct call *call);

#endif
