/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "web/page_health.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive/health.h"
#include "base/flat.h"
#include "base/units.h"
#include "web/page.h"
#include "web/store.h"

enum shown_kind { SHOWN_NUMBER, SHOWN_BYTES };

/* What is shown of a reading, in this order; @grows: the change says more than the value. */
static const struct {
	const char *key, *name, *unit;
	enum shown_kind kind;
} shown[] = {
	{ "temp_c", "Temperature", "°C", SHOWN_NUMBER },
	{ "percent_used", "Rated life used", "%", SHOWN_NUMBER },
	{ "spare_pct", "Spare", "%", SHOWN_NUMBER },
	{ "host_written_bytes", "Written by hosts", "", SHOWN_BYTES },
	{ "media_written_bytes", "Written to the flash", "", SHOWN_BYTES },
	{ "media_errors", "Uncorrectable errors", "", SHOWN_NUMBER },
	{ "reallocated", "Reallocated blocks", "", SHOWN_NUMBER },
	{ "crc_errors", "CRC errors of the link", "", SHOWN_NUMBER },
	{ "unsafe_shutdowns", "Unsafe shutdowns", "", SHOWN_NUMBER },
	{ "warning_temp_minutes", "Above the warning temperature", "min", SHOWN_NUMBER },
	{ "critical_temp_minutes", "Above the critical temperature", "min", SHOWN_NUMBER },
	{ "thermal1_count", "Throttled lightly", "", SHOWN_NUMBER },
	{ "thermal2_count", "Throttled heavily", "", SHOWN_NUMBER },
	{ "power_on_hours", "Power-on hours by the drive", "h", SHOWN_NUMBER },
};

#define SHOWN_COUNT (sizeof(shown) / sizeof(shown[0]))

struct side {
	double value[SHOWN_COUNT]; /* NAN: unknown */
	char source[64], notes[256];
	int64_t t_ms;
};

struct ends {
	struct side first, last;
	size_t count;
};

static void take_value(const char *key, const char *value, void *arg)
{
	struct side *side = arg;

	for (size_t i = 0; i < SHOWN_COUNT; i++)
		if (strcmp(key, shown[i].key) == 0 && value[0])
			side->value[i] = strtod(value, NULL);
	if (strcmp(key, "source") == 0)
		(void)snprintf(side->source, sizeof(side->source), "%.63s", value);
	if (strcmp(key, "notes") == 0)
		(void)snprintf(side->notes, sizeof(side->notes), "%.255s", value);
}

static int take_reading(const struct health_record *health, void *arg)
{
	struct ends *ends = arg;
	struct side *side = ends->count++ ? &ends->last : &ends->first;

	*side = (struct side){ .t_ms = health->t_ms };
	for (size_t i = 0; i < SHOWN_COUNT; i++)
		side->value[i] = NAN;
	(void)flat_each(health->fields, take_value, side);
	if (ends->count == 1)
		ends->last = ends->first;
	return 0;
}

static void add_value(struct text *body, const char *label, size_t row, double value, bool is_change)
{
	char text[UNITS_TEXT_MAX] = "";

	if (isnan(value))
		page_add_cell(body, label, "", "unknown");
	else if (shown[row].kind == SHOWN_BYTES && value >= 0)
		units_print_bytes_rounded(value, text);
	else
		(void)snprintf(text, sizeof(text), is_change && value != 0 ? "%+.0f" : "%.0f", value);
	if (text[0])
		page_add_cell(body, label, text, "");
}

static void add_row(struct text *body, const struct ends *ends, size_t row)
{
	double first = ends->first.value[row], last = ends->last.value[row];

	/* A drive that never told it has no row. */
	if (isnan(first) && isnan(last))
		return;
	text_addf(body, "<tr><th scope=\"row\">%s</th><td>%s</td>", shown[row].name, shown[row].unit);
	add_value(body, "At the start", row, first, false);
	add_value(body, "Now", row, last, false);
	add_value(body, "Change", row, last - first, true);
	text_add(body, "</tr>");
}

static void add_interval(struct text *body, const char *name, const struct endurance_interval *interval,
	double scale, const char *unit)
{
	char value[128];

	if (isnan(interval->value))
		(void)snprintf(value, sizeof(value), "not enough data");
	else
		(void)snprintf(value, sizeof(value), "%.3g%s (%.3g to %.3g)", interval->value * scale, unit,
			interval->low * scale, interval->high * scale);
	text_addf(body, "<tr><th scope=\"row\">%s</th><td>%s</td><td>", name, value);
	text_add_html(body, interval->how);
	text_add(body, "</td></tr>");
}

static void add_findings(struct text *body, const struct verdict_health *health)
{
	static const struct {
		const char *icon, *class;
	} looks[] = {
		[VERDICT_HEALTH_FAIL] = { "fail", "bad" },
		[VERDICT_HEALTH_REMARK] = { "warn", "warn" },
		[VERDICT_HEALTH_INFORMATION] = { "note", "mute" },
	};

	if (!health->count)
		return;
	text_add(body, "<ul>");
	for (unsigned i = 0; i < health->count; i++) {
		const struct verdict_health_finding *finding = &health->findings[i];

		text_addf(body, "<li class=\"%s\">", looks[finding->weight].class);
		page_add_icon(body, looks[finding->weight].icon);
		text_addf(body, " %s: ", health_weight_name(finding->weight));
		text_add_html(body, finding->text);
		text_add(body, "</li>");
	}
	text_add(body, "</ul>");
}

static void add_endurance(struct text *body, const struct health_endurance *endurance)
{
	char unit[UNITS_TEXT_MAX] = "unknown";

	if (endurance->unit.bytes)
		(void)snprintf(unit, sizeof(unit), "%llu bytes", (unsigned long long)endurance->unit.bytes);
	text_addf(body,
		"<p class=\"small mute\">What this run did to the drive, as far as its counters can tell.</p>"
		"<table class=\"kv\"><thead><tr><th scope=\"col\">Endurance</th><th "
		"scope=\"col\">Value</th><th "
		"scope=\"col\">How</th></tr></thead><tbody><tr><th scope=\"row\">Unit of the drive's write "
		"counter</th><td>%s</td><td>",
		unit);
	text_add_html(body, endurance->unit.how);
	text_add(body, "</td></tr>");
	add_interval(body, "Write amplification", &endurance->waf, 1, "");
	for (int phase = 0; phase < PHASE_COUNT; phase++) {
		char name[64];

		if (isnan(endurance->phase_waf[phase].value))
			continue;
		(void)snprintf(
			name, sizeof(name), "Write amplification, %s", run_phase_name((enum run_phase)phase));
		add_interval(body, name, &endurance->phase_waf[phase], 1, "");
	}
	add_interval(body, "Life used per TB written", &endurance->percent_per_tb, 1, " %");
	add_interval(body, "Left to write", &endurance->bytes_left, 1e-12, " TB");
	add_interval(body, "Left at this rate", &endurance->seconds_left, 1.0 / 86400, " days");
	text_add(body, "</tbody></table>");
}

static void add_ends(struct text *body, const struct ends *ends)
{
	text_add(body, "<p class=\"small mute\">Last read ");
	page_add_time(body, ends->last.t_ms);
	text_add(body, " from ");
	text_add_html(body, ends->last.source);
	if (ends->last.notes[0]) {
		text_add(body, "; ");
		text_add_html(body, ends->last.notes);
	}
	text_addf(body,
		"; %zu readings. What counts is the change since the run began; values of the drive's life "
		"are "
		"information.</p><table class=\"kv\"><thead><tr><th scope=\"col\">Health</th><th "
		"scope=\"col\">Unit</th><th scope=\"col\" class=\"num\">At the start</th><th scope=\"col\" "
		"class=\"num\">Now</th><th scope=\"col\" class=\"num\">Change</th></tr></thead><tbody>",
		ends->count);
	for (size_t row = 0; row < SHOWN_COUNT; row++)
		add_row(body, ends, row);
	text_add(body, "</tbody></table>");
}

void page_add_health(struct call *call, const struct run_record *run)
{
	struct text *body = &call->body;
	struct health_endurance *endurance = calloc(1, sizeof(*endurance));
	struct ends *ends = calloc(1, sizeof(*ends));
	struct journal *journal;
	int rc = ends && endurance ? store_journal(call->store, &journal) : -ENOMEM;

	if (rc == 0)
		rc = journal_each_health(journal, run->id, INT64_MIN, false, take_reading, ends);
	if (rc == 0)
		rc = health_endurance_read(journal, run, endurance);
	text_add(body, "<section id=\"health\" data-live><h2>What the drive says about itself</h2>");
	if (rc < 0) {
		text_add(body, "<p class=\"warn\">The readings can't be read from the journal now.</p>");
	} else if (!ends->count) {
		text_add(body, "<p class=\"mute\">Nothing was read: this kind of drive has no health log "
			       "that can be "
			       "reached, or <code>probe</code> is none.</p>");
	} else {
		add_findings(body, &endurance->findings);
		add_ends(body, ends);
		add_endurance(body, endurance);
	}
	text_add(body, "</section>\n");
	free(endurance);
	free(ends);
}
