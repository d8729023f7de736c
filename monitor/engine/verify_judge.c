/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What one block holds, against what it may hold. */
#include "engine/verify.h"

#include <errno.h>
#include <string.h>

#include "engine/payload.h"

/* Sectors of a block by what can be said of each. */
struct tally {
	unsigned corrupt;
	unsigned misplaced; /* good, but of another place or run */
	unsigned stray;	    /* of these: of this run */
	unsigned mixed;	    /* pieces of several writes */
	uint64_t oldest, newest;
};

static const char *const verdict_names[VERIFY_VERDICT_COUNT] = {
	[VERIFY_GOOD] = "good",
	[VERIFY_CORRUPT] = "corrupt",
	[VERIFY_TORN] = "torn",
	[VERIFY_MISDIRECTED] = "misdirected",
	[VERIFY_STALE] = "stale",
	[VERIFY_UNREADABLE] = "unreadable",
};

const char *verify_verdict_name(enum verify_verdict verdict)
{
	return verdict_names[verdict];
}

const char *verify_error_text(int error)
{
	switch (error) {
	case VERIFY_FILE_ENDS:
		return "the file ends before it";
	case ENODATA: /* what the kernel makes of an NVMe drive's unrecovered read error */
		return "the drive reports a media error (ENODATA)";
	default:
		return strerror(error);
	}
}

static void tally_add(struct tally *tally, const uint8_t *sector, uint64_t number, uint64_t run_tag)
{
	struct payload_stamp stamp;
	enum payload_verdict verdict = payload_check(sector, &stamp);

	if (verdict == PAYLOAD_CORRUPT) {
		tally->corrupt++;
		return;
	}
	if (stamp.run_tag != run_tag || stamp.sector != number) {
		tally->misplaced++;
		tally->stray += stamp.run_tag == run_tag;
	}
	tally->mixed += verdict == PAYLOAD_MIXED;
	/* Another run's sequences say nothing about this one's. */
	if (stamp.run_tag != run_tag)
		return;
	if (stamp.sequence > tally->newest)
		tally->newest = stamp.sequence;
	if (stamp.sequence < tally->oldest)
		tally->oldest = stamp.sequence;
}

/* Every sector is of this place and run, and its pieces hold. */
static enum verify_verdict age_judge(
	const struct tally *tally, uint32_t lba_bytes, const struct ledger_expectation *expect)
{
	bool is_whole = tally->oldest == tally->newest && !tally->mixed;

	switch (expect->rule) {
	case LEDGER_EXACT:
		/* The ledger lost the last write of this block: what is newer can't be held against the drive. */
		if (tally->oldest >= expect->sequence && tally->newest > expect->sequence)
			return VERIFY_GOOD;
		if (!is_whole)
			return VERIFY_TORN;
		return tally->newest < expect->sequence ? VERIFY_STALE : VERIFY_GOOD;
	case LEDGER_WHOLE:
		return is_whole ? VERIFY_GOOD : VERIFY_TORN;
	default:
		if (tally->mixed && lba_bytes >= PAYLOAD_SECTOR_BYTES)
			return VERIFY_TORN;
		return tally->oldest < expect->sequence ? VERIFY_STALE : VERIFY_GOOD;
	}
}

enum verify_verdict verify_judge(const uint8_t *data, const struct verify_place *place,
	const struct ledger_expectation *expect, uint64_t *found)
{
	struct tally tally = { .oldest = UINT64_MAX };

	for (uint32_t i = 0; i < place->block_bytes / PAYLOAD_SECTOR_BYTES; i++)
		tally_add(&tally, data + (uint64_t)i * PAYLOAD_SECTOR_BYTES, place->first_sector + i,
			place->run_tag);
	*found = tally.newest;
	/* What was there before the run is legal; nothing put a write of the run in the wrong place. */
	if (expect->rule == LEDGER_ANY)
		return tally.stray ? VERIFY_MISDIRECTED : VERIFY_GOOD;
	if (tally.misplaced)
		return VERIFY_MISDIRECTED;
	if (tally.corrupt)
		return VERIFY_CORRUPT;
	return age_judge(&tally, place->lba_bytes, expect);
}
