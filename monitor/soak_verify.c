/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The verification of a drive's run: what a sweep has read so far, and what it found. */
#include "soak_private.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"

/* Bad blocks told one by one as events; more are counted, and one event says so. */
#define TOLD_MAX 100

void sweep_begin(struct sweep_watch *watch, struct verify *verify)
{
	*watch = (struct sweep_watch){ .verify = verify, .moved_ns = clock_mono_ns() };
}

void sweep_look(struct sweep_watch *watch)
{
	struct verify_progress now;

	if (!watch->verify)
		return;
	verify_read(watch->verify, &now);
	if (now.done_bytes != watch->last.done_bytes || now.blocks != watch->last.blocks)
		watch->moved_ns = clock_mono_ns();
	watch->pending_bytes += now.done_bytes - watch->last.done_bytes;
	watch->pending_blocks += now.blocks - watch->last.blocks;
	watch->last = now;
}

void sweep_take(struct sweep_watch *watch, struct sample *sample)
{
	sweep_look(watch);
	sample->read_bytes += watch->pending_bytes;
	sample->read_ios += watch->pending_blocks;
	if (watch->verify)
		sample->stall_ns = clock_mono_ns() - watch->moved_ns;
	watch->pending_bytes = watch->pending_blocks = 0;
}

bool sweep_next_text(struct sweep_watch *watch, struct keeper *keeper, char *text, size_t size)
{
	struct verify_finding finding;

	do {
		if (!keeper_next_finding(keeper, &finding))
			return false;
	} while (watch->told > TOLD_MAX);
	if (watch->told++ == TOLD_MAX) {
		(void)snprintf(text, size, "more than %d bad blocks: the rest is counted only", TOLD_MAX);
		return true;
	}
	if (finding.verdict == VERIFY_UNREADABLE)
		(void)snprintf(text, size, "unreadable block at byte %llu of the target: %s",
			(unsigned long long)finding.offset_bytes, verify_error_text(finding.error));
	else
		(void)snprintf(text, size,
			"%s block at byte %llu of the target: write %llu was acknowledged, write %llu is "
			"there",
			verify_verdict_name(finding.verdict), (unsigned long long)finding.offset_bytes,
			(unsigned long long)finding.expected_sequence,
			(unsigned long long)finding.found_sequence);
	return true;
}

void sweep_conclude(
	struct sweep_watch *watch, double coverage, int64_t t_ms, struct text *out, char *words, size_t size)
{
	const struct verify_progress *progress = &watch->last;
	char read_text[UNITS_TEXT_MAX];
	struct json json;

	watch->verify = NULL;
	json_init(&json, out);
	json_object_open(&json);
	json_put_ms_as_s(&json, "t_s", t_ms);
	verify_put_json(&json, progress, coverage, progress->error ? strerror(-progress->error) : NULL);
	json_object_close(&json);
	units_print_bytes_rounded((double)progress->done_bytes, read_text);
	if (progress->error)
		(void)snprintf(words, size, "the verification ended after %s: %s", read_text,
			strerror(-progress->error));
	else
		(void)snprintf(words, size,
			"verified %s: %llu bad blocks of %llu; the ledger knows %.1f %% of them", read_text,
			(unsigned long long)verify_bad_blocks(progress), (unsigned long long)progress->blocks,
			coverage * 100);
}

bool sweep_is_clean(const struct sweep_watch *watch)
{
	return !watch->last.error && verify_bad_blocks(&watch->last) == 0;
}
