/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "measure/troubles.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PRINTED                                                                                              \
	"%" PRIu64 " resets (%" PRIu64 " with a bad link or host), %" PRIu64 " link events, %" PRIu64        \
	" PCIe errors"
#define PARSED                                                                                               \
	"%" SCNu64 " resets (%" SCNu64 " with a bad link or host), %" SCNu64 " link events, %" SCNu64        \
	" PCIe errors"

#define DIGITS "0123456789"

static bool is_recent(bool has_one, int64_t then_ms, int64_t now_ms)
{
	return has_one && now_ms - then_ms <= TROUBLES_INCIDENT_MS;
}

/* A reset and what explains it may come in either order. */
static void trace(struct troubles_watch *watch, int64_t t_ms)
{
	if (watch->is_traced || !is_recent(watch->has_reset, watch->reset_ms, t_ms) ||
		!(is_recent(watch->has_link, watch->link_ms, t_ms) ||
			is_recent(watch->has_host, watch->host_ms, t_ms)))
		return;
	watch->is_traced = true;
	watch->sum.resets_traced++;
}

static void add_reset(struct troubles_watch *watch, int64_t t_ms)
{
	if (!is_recent(watch->has_reset, watch->reset_ms, t_ms)) {
		watch->sum.resets++;
		watch->is_traced = false;
	}
	watch->has_reset = true;
	watch->reset_ms = t_ms;
}

static void add_link(struct troubles_watch *watch, int64_t t_ms)
{
	if (!is_recent(watch->has_link, watch->link_ms, t_ms))
		watch->sum.link_events++;
	watch->has_link = true;
	watch->link_ms = t_ms;
}

enum troubles_kind troubles_add_line(struct troubles_watch *watch, int64_t t_ms, enum kernelline_word word)
{
	enum troubles_kind kind = TROUBLES_NOTHING;

	switch (word) {
	case KERNELLINE_RESET:
		add_reset(watch, t_ms);
		kind = TROUBLES_RESET;
		break;
	case KERNELLINE_TIMEOUT:
		kind = TROUBLES_RESET;
		break;
	case KERNELLINE_LINK:
		add_link(watch, t_ms);
		kind = TROUBLES_LINK;
		break;
	case KERNELLINE_AER:
		kind = TROUBLES_AER;
		break;
	case KERNELLINE_POLLED:
	case KERNELLINE_HOST:
		watch->has_host = true;
		watch->host_ms = t_ms;
		break;
	default:
		break;
	}
	trace(watch, t_ms);
	return kind;
}

static bool is_less(unsigned now, unsigned before)
{
	return now && before && now < before;
}

static bool say_link(const struct evidence_counters *was, const struct evidence_counters *is, char *text)
{
	if (is_less(is->link_speed, was->link_speed))
		(void)snprintf(text, TROUBLES_TEXT_MAX, "the link went from %u.%u to %u.%u G",
			was->link_speed / 10, was->link_speed % 10, is->link_speed / 10, is->link_speed % 10);
	else if (is_less(is->link_width, was->link_width))
		(void)snprintf(text, TROUBLES_TEXT_MAX, "the link went from %u lanes to %u", was->link_width,
			is->link_width);
	else if (is_less(is->sata_limit, was->sata_limit))
		(void)snprintf(text, TROUBLES_TEXT_MAX,
			"the kernel limits the link to %u.%u Gbps, %u.%u before", is->sata_limit / 10,
			is->sata_limit % 10, was->sata_limit / 10, was->sata_limit % 10);
	else if (is->queue_depth == 1 && was->queue_depth > 1 && was->queue_depth != EVIDENCE_UNKNOWN)
		(void)snprintf(text, TROUBLES_TEXT_MAX,
			"NCQ is off: one command at a time, %" PRIu64 " before", was->queue_depth);
	else
		return false;
	return true;
}

enum troubles_kind troubles_add_counters(
	struct troubles_watch *watch, int64_t t_ms, const struct evidence_counters *counters, char *text)
{
	const struct evidence_counters was = watch->counters;
	const bool has_before = watch->has_counters;
	uint64_t errors;

	text[0] = '\0';
	watch->counters = *counters;
	watch->has_counters = true;
	if (!has_before)
		return TROUBLES_NOTHING;
	errors = evidence_growth(was.aer_correctable, counters->aer_correctable) +
		 evidence_growth(was.aer_nonfatal, counters->aer_nonfatal) +
		 evidence_growth(was.aer_fatal, counters->aer_fatal);
	watch->sum.aer_errors += errors;
	if (say_link(&was, counters, text)) {
		add_link(watch, t_ms);
		trace(watch, t_ms);
		return TROUBLES_LINK;
	}
	if (!errors)
		return TROUBLES_NOTHING;
	(void)snprintf(text, TROUBLES_TEXT_MAX, "%" PRIu64 " more errors on PCI Express", errors);
	return TROUBLES_AER;
}

void troubles_forget_counters(struct troubles_watch *watch)
{
	watch->has_counters = false;
}

void troubles_print(const struct troubles *sum, char *text)
{
	(void)snprintf(text, TROUBLES_TEXT_MAX, PRINTED, sum->resets, sum->resets_traced, sum->link_events,
		sum->aer_errors);
}

/* Words of the kernel come before it, and may hold anything. */
bool troubles_parse(const char *text, struct troubles *out)
{
	for (const char *at = strpbrk(text, DIGITS); at; at = strpbrk(at + 1, DIGITS)) {
		struct troubles sum;
		char again[TROUBLES_TEXT_MAX];

		if (sscanf(at, PARSED, &sum.resets, &sum.resets_traced, &sum.link_events, &sum.aer_errors) !=
			4)
			continue;
		troubles_print(&sum, again);
		if (strcmp(at, again) != 0)
			continue;
		*out = sum;
		return true;
	}
	return false;
}
