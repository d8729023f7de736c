/* SPDX-License-Identifier: GPL-2.0-or-later */
/* page_findings.h - falls of throughput and turns of steady state on the page of a run: the box of what lasts now, with
 * its cause and the evidence, and the marks of the charts. Thread of the listener. */
#ifndef DRIVESOAK_PAGE_FINDINGS_H
#define DRIVESOAK_PAGE_FINDINGS_H

#include "archive/journal.h"
#include "web/call.h"

/* A live part; empty when nothing lasts. */
void page_add_findings(struct call *call, const struct run_record *run);
/* data-marks="[{"kind","class","from_ms","to_ms"},...]" for the element of the charts, newest first; to_ms is null while
 * it lasts. */
void page_add_marks(struct call *call, const struct run_record *run);

#endif
