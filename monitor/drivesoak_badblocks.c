/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "drivesoak_badblocks.h"

#include <stdlib.h>

#include "base/json.h"
#include "base/units.h"

void badblocks_keep(void *badblocks, const struct verify_finding *finding)
{
	struct badblocks *kept = badblocks;

	if (kept->count < BADBLOCKS_LISTED_MAX)
		kept->list[kept->count] = *finding;
	kept->count++;
}

static size_t listed(const struct badblocks *badblocks)
{
	return badblocks->count < BADBLOCKS_LISTED_MAX ? (size_t)badblocks->count : BADBLOCKS_LISTED_MAX;
}

static int compare(const void *a, const void *b)
{
	const struct verify_finding *one = a, *other = b;

	return (one->offset_bytes > other->offset_bytes) - (one->offset_bytes < other->offset_bytes);
}

/* They come as the drive answers. */
static void sort(struct badblocks *badblocks)
{
	qsort(badblocks->list, listed(badblocks), sizeof(badblocks->list[0]), compare);
}

static const char *error_of(const struct verify_finding *finding)
{
	return finding->verdict == VERIFY_UNREADABLE ? verify_error_text(finding->error) : NULL;
}

void badblocks_print_json(struct badblocks *badblocks, const struct badblocks_sweep *sweep, struct text *out)
{
	struct json json;

	sort(badblocks);
	json_init(&json, out);
	json_object_open(&json);
	verify_put_json(&json, &sweep->progress, sweep->coverage, sweep->error);
	json_key(&json, "bad_blocks");
	json_array_open(&json);
	for (size_t i = 0; i < listed(badblocks); i++) {
		const struct verify_finding *finding = &badblocks->list[i];

		json_object_open(&json);
		json_put_string(&json, "kind", verify_verdict_name(finding->verdict));
		json_put_u64(&json, "offset_bytes", finding->offset_bytes);
		json_put_u64(&json, "expected_sequence", finding->expected_sequence);
		json_put_u64(&json, "found_sequence", finding->found_sequence);
		json_put_string(&json, "error", error_of(finding));
		json_object_close(&json);
	}
	json_array_close(&json);
	json_put_u64(&json, "bad_blocks_omitted", badblocks->count - listed(badblocks));
	json_object_close(&json);
}

void badblocks_print_text(struct badblocks *badblocks, const struct badblocks_sweep *sweep, struct text *out)
{
	const struct verify_progress *progress = &sweep->progress;
	char bytes[UNITS_TEXT_MAX];

	sort(badblocks);
	for (size_t i = 0; i < listed(badblocks); i++) {
		const struct verify_finding *finding = &badblocks->list[i];
		const char *error = error_of(finding);

		text_addf(out, "%s: block at byte %llu of the target%s%s\n",
			verify_verdict_name(finding->verdict), (unsigned long long)finding->offset_bytes,
			error ? ": " : "", error ? error : "");
	}
	if (badblocks->count > listed(badblocks))
		text_addf(out, "%llu more bad blocks are counted only\n",
			(unsigned long long)(badblocks->count - listed(badblocks)));
	units_print_bytes_rounded((double)progress->done_bytes, bytes);
	if (sweep->error)
		text_addf(out, "the read-back ended after %s: %s\n", bytes, sweep->error);
	text_addf(out, "read back %s, %llu blocks; the ledger knows %.1f %% of them\n", bytes,
		(unsigned long long)progress->blocks, sweep->coverage * 100);
	for (int i = VERIFY_GOOD + 1; i < VERIFY_VERDICT_COUNT; i++)
		text_addf(out, "  %-12s %llu\n", verify_verdict_name((enum verify_verdict)i),
			(unsigned long long)progress->counts[i]);
}
