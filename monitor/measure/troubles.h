/* SPDX-License-Identifier: GPL-2.0-or-later */
/* troubles.h - count what the machine says of a drive during a run: resets, events of its link, errors on PCI Express.
 * One incident is many lines and counters: what follows within 15 s belongs to it. A reset with a bad link or a host
 * that lost interrupts in its incident is traced to those. Arithmetic only; one thread. */
#ifndef DRIVESOAK_TROUBLES_H
#define DRIVESOAK_TROUBLES_H

#include <stdbool.h>
#include <stdint.h>

#include "measure/evidence.h"

#define TROUBLES_INCIDENT_MS 15000

/* Of a run, across restarts. */
struct troubles {
	uint64_t resets, resets_traced, link_events, aer_errors;
};

/* All zero to begin; @sum may be set to what a run had before. */
struct troubles_watch {
	struct troubles sum;
	bool has_reset, has_link, has_host; /* any was so far; then the time of the last */
	int64_t reset_ms, link_ms, host_ms;
	bool is_traced; /* the reset that was last counted */
	bool has_counters;
	struct evidence_counters counters;
};

enum troubles_kind { TROUBLES_NOTHING, TROUBLES_RESET, TROUBLES_LINK, TROUBLES_AER, TROUBLES_KIND_COUNT };

/* What a line of the kernel means: a trouble worth telling, whether or not it was counted anew. */
enum troubles_kind troubles_add_line(struct troubles_watch *watch, int64_t t_ms, enum kernelline_word word);
/* What the counters say since the last ones; @text (TROUBLES_TEXT_MAX) with the numbers. */
#define TROUBLES_TEXT_MAX 160
enum troubles_kind troubles_add_counters(
	struct troubles_watch *watch, int64_t t_ms, const struct evidence_counters *counters, char *text);
/* The drive is open again, perhaps somewhere else: counters begin anew, the sums stay. */
void troubles_forget_counters(struct troubles_watch *watch);

/* "1 reset, 2 link events, 30 PCIe errors", and back from the end of a text that has it; false when it has not. @text:
 * TROUBLES_TEXT_MAX. */
void troubles_print(const struct troubles *sum, char *text);
bool troubles_parse(const char *text, struct troubles *out);

#endif
