/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a sweep says of itself, the same in the service and in `drivesoak verify`. */
#include "engine/verify.h"

#include "base/json.h"

uint64_t verify_bad_blocks(const struct verify_progress *progress)
{
	uint64_t bad = 0;

	for (int i = VERIFY_GOOD + 1; i < VERIFY_VERDICT_COUNT; i++)
		bad += progress->counts[i];
	return bad;
}

void verify_put_json(
	struct json *json, const struct verify_progress *progress, double coverage, const char *error)
{
	json_put_u64(json, "read_bytes", progress->done_bytes);
	json_put_u64(json, "blocks", progress->blocks);
	json_put_double(json, "ledger_coverage_pct", coverage * 100);
	for (int i = VERIFY_GOOD + 1; i < VERIFY_VERDICT_COUNT; i++)
		json_put_u64(json, verify_verdict_name((enum verify_verdict)i), progress->counts[i]);
	json_put_u64(json, "ahead", progress->ahead_blocks);
	json_put_string(json, "error", error);
}
