/* SPDX-License-Identifier: GPL-2.0-or-later */
/* finding.h - a fall of throughput as an event of the journal: the same whether it was found while the run lasted or in a
 * log. Pure. */
#ifndef DRIVESOAK_FINDING_H
#define DRIVESOAK_FINDING_H

#include "archive/journal.h"
#include "measure/collapse.h"

/* Kind, severity, times, words and count; the rest of @out is cleared. An open one has no end; its words are of the time
 * until @t_ms. */
void finding_event(const struct collapse_finding *finding, int64_t t_ms, struct event_record *out);
/* Its numbers so far; @text has COLLAPSE_TEXT_MAX. */
void finding_print(const struct collapse_finding *finding, int64_t t_ms, char *text);

#endif
