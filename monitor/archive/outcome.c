/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "archive/outcome.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/flat.h"
#include "base/units.h"

/* Where a number of the record goes. */
struct place {
	const char *key;
	size_t offset;
};

static void place_number(
	const struct place *places, size_t count, const char *key, const char *value, void *out)
{
	char *end;
	double number = strtod(value, &end);

	if (end == value || *end)
		return;
	for (size_t i = 0; i < count; i++)
		if (strcmp(places[i].key, key) == 0)
			memcpy((char *)out + places[i].offset, &number, sizeof(number));
}

static void step_take(const char *key, const char *value, void *arg)
{
	static const struct place places[] = {
		{ "share_of_median", offsetof(struct probe_step, share) },
		{ "intended_ios_per_s", offsetof(struct probe_step, intended_ios_per_s) },
		{ "ios_per_s", offsetof(struct probe_step, ios_per_s) },
		{ "measured_s", offsetof(struct probe_step, measured_s) },
		{ "lat_p50_ns", offsetof(struct probe_step, lat_p50_ns) },
		{ "lat_p99_ns", offsetof(struct probe_step, lat_p99_ns) },
		{ "lat_p999_ns", offsetof(struct probe_step, lat_p999_ns) },
		{ "lat_max_ns", offsetof(struct probe_step, lat_max_ns) },
		{ "stall_ns", offsetof(struct probe_step, stall_ns) },
	};

	place_number(places, sizeof(places) / sizeof(places[0]), key, value, arg);
}

size_t outcome_read_probe(const struct run_record *run, struct probe_step *out, size_t max)
{
	size_t count = 0;

	for (const char *at = strchr(run->probe_json, '{'); at && count < max; at = strchr(at + 1, '{')) {
		struct probe_step step = { NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN };

		if (flat_each(at, step_take, &step) == 0)
			out[count++] = step;
	}
	return count;
}

void outcome_print_step(const struct probe_step *step, char *text)
{
	if (isnan(step->share))
		(void)snprintf(text, OUTCOME_NAME_MAX, "depth 1");
	else
		(void)snprintf(text, OUTCOME_NAME_MAX, "%.0f %% of the soak's rate", step->share * 100);
}

static const char *const bad_names[BAD_KIND_COUNT] = { "corrupt", "torn", "misdirected", "stale",
	"unreadable" };

static void verify_take(const char *key, const char *value, void *arg)
{
	static const struct place places[] = {
		{ "read_bytes", offsetof(struct verify_outcome, read_bytes) },
		{ "blocks", offsetof(struct verify_outcome, blocks) },
		{ "ledger_coverage_pct", offsetof(struct verify_outcome, coverage_pct) },
	};
	struct verify_outcome *verify = arg;

	if (strcmp(key, "error") == 0)
		(void)snprintf(verify->error, sizeof(verify->error), "%s", value);
	for (int i = 0; i < BAD_KIND_COUNT; i++)
		if (strcmp(key, bad_names[i]) == 0)
			verify->bad[i] = strtod(value, NULL);
	place_number(places, sizeof(places) / sizeof(places[0]), key, value, verify);
}

bool outcome_read_verify(const struct run_record *run, struct verify_outcome *out)
{
	*out = (struct verify_outcome){ NAN, NAN, NAN, { 0 }, "" };
	return run->verify_json[0] && flat_each(run->verify_json, verify_take, out) == 0;
}

bool outcome_is_bad(const struct verify_outcome *verify)
{
	double bad = 0;

	for (int i = 0; i < BAD_KIND_COUNT; i++)
		bad += verify->bad[i];
	return bad > 0;
}

void outcome_add_read(const struct verify_outcome *verify, struct text *out)
{
	char size[UNITS_TEXT_MAX] = "an unknown amount";

	if (isfinite(verify->read_bytes))
		units_print_bytes_rounded(verify->read_bytes, size);
	text_addf(out, "Read back %s", size);
	if (isfinite(verify->blocks))
		text_addf(out, " in %.0f blocks", verify->blocks);
	if (isfinite(verify->coverage_pct))
		text_addf(out, "; the ledger knows the last write of %.1f %% of them", verify->coverage_pct);
	text_add(out, ".");
	if (verify->error[0])
		text_addf(out, " It ended early: %s.", verify->error);
}

void outcome_add_bad(const struct verify_outcome *verify, struct text *out)
{
	bool is_first = true;

	if (!outcome_is_bad(verify)) {
		text_add(out, verify->error[0] ? "No bad block so far." : "No bad block.");
		return;
	}
	for (int i = 0; i < BAD_KIND_COUNT; i++) {
		if (!(verify->bad[i] > 0))
			continue;
		text_addf(out, "%s%.0f %s", is_first ? "" : ", ", verify->bad[i], bad_names[i]);
		is_first = false;
	}
	text_add(out, ".");
}

bool outcome_writes_zeros(const struct run_record *run)
{
	return strstr(run->config_json, "\"payload\":\"zeros\"") != NULL;
}
