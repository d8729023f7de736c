/* SPDX-License-Identifier: GPL-2.0-or-later */
/* page_health.h - what the drive says about itself, on the page of a run: at its start, now, and the change. */
#ifndef DRIVESOAK_PAGE_HEALTH_H
#define DRIVESOAK_PAGE_HEALTH_H

#include "archive/journal.h"
#include "web/call.h"

/* The section; says that nothing was read where nothing was. A journal that fails is told in it. */
void page_add_health(struct call *call, const struct run_record *run);

#endif
