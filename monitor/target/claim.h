/* SPDX-License-Identifier: GPL-2.0-or-later */
/* claim.h - consent to overwrite a drive: STATE/claims/NAME.claim, written by `drivesoak arm`, with the saved first and
 * last MiB beside it (NAME.head, NAME.tail). It is for one drive (identity), for what was found on it (digest), and for
 * 24 h; the run that starts with it takes it over and may then go on for as long as it lasts. "key=value" lines, mode
 * 0600, replaced by rename. A damaged or foreign file is no claim. Blocks on the state disk. */
#ifndef DRIVESOAK_CLAIM_H
#define DRIVESOAK_CLAIM_H

#include <stdbool.h>
#include <stdint.h>

#include "probes/identity.h"

#define CLAIM_TTL_MS	 (24LL * 3600 * 1000)
#define CLAIM_EDGE_BYTES (1u << 20) /* what is saved of each end */
/* A service that is killed between taking a claim over and recording the run begins that run again, so soon after. */
#define CLAIM_RETAKE_MS (600LL * 1000)
#define CLAIM_WHY_MAX	512

/* So much more of the samples may be non-zero than at arming: a drive may give what it likes for blocks that hold
 * nothing. */
#define CLAIM_NEW_DATA_PPM 1000

/* What the drive held, as far as consent was given for it. */
struct claim_contents {
	uint64_t digest;      /* guard_contents.digest */
	uint64_t nonzero_ppm; /* guard_contents.nonzero_share */
};

struct claim {
	char drive[65];
	struct identity identity;
	int64_t armed_ms, expires_ms;
	int64_t taken_ms;		/* when the run took it over; 0 */
	struct claim_contents contents; /* at arming */
	char by[96];			/* "uid 0 (root)" */
	char run[64];			/* the run that took it over; "": none yet */
};

/* -ENOENT without one; -EBADMSG when damaged; @why says what to do. */
int claim_read(const char *state_directory, const char *drive, struct claim *out, char *why);
int claim_write(const char *state_directory, const struct claim *claim, char *why);
/* Save the edges, read through @fd, before anything is written; an existing pair is kept under a name with its time. */
int claim_save_edges(
	const char *state_directory, const char *drive, int fd, uint64_t capacity_bytes, char *why);
int claim_remove(const char *state_directory, const char *drive, char *why);

/* May @run_id start (@is_new) or go on with this claim on the drive @identity, at @now_ms? @contents: what is on it now;
 * NULL: that is known to be the run's own. 0, or -EPERM with @why: of another drive, expired, taken over by another run,
 * other contents than were shown at arming. */
int claim_judge(const struct claim *claim, const struct identity *identity,
	const struct claim_contents *contents, const char *run_id, bool is_new, int64_t now_ms, char *why);

#endif
