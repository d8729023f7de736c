/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "archive/finding.h"

#include "base/text.h"

static enum event_severity severity_of(enum collapse_kind kind)
{
	static const enum event_severity severities[COLLAPSE_KIND_COUNT] = {
		[COLLAPSE_FALL] = EVENT_CRITICAL,
		[COLLAPSE_STALL] = EVENT_CRITICAL,
		[COLLAPSE_CLIFF] = EVENT_INFO,
		[COLLAPSE_PERIODIC] = EVENT_WARNING,
		[COLLAPSE_SHIFT] = EVENT_WARNING,
		[COLLAPSE_DEGRADED] = EVENT_WARNING,
	};

	return severities[kind];
}

void finding_print(const struct collapse_finding *finding, int64_t t_ms, char *text)
{
	struct collapse_finding now = *finding;

	if (now.to_ms == COLLAPSE_OPEN)
		now.to_ms = t_ms > now.from_ms ? t_ms : now.detected_ms;
	collapse_print(&now, text);
}

void finding_event(const struct collapse_finding *finding, int64_t t_ms, struct event_record *out)
{
	char words[COLLAPSE_TEXT_MAX];

	*out = (struct event_record){
		.t_ms = finding->from_ms,
		.until_ms = finding->to_ms == COLLAPSE_OPEN ? INT64_MIN : finding->to_ms,
		.severity = severity_of(finding->kind),
		.count = collapse_alerts(finding->kind) ? finding->count : 0,
	};
	finding_print(finding, t_ms, words);
	text_copy(out->kind, sizeof(out->kind), collapse_kind_name(finding->kind));
	text_copy(out->text, sizeof(out->text), words);
}
