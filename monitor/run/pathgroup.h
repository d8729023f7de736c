/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pathgroup.h - drives that share an adapter, an upstream port or whatever their config calls a group: each fills a
 * while alone, then they fill together, and what they lose by that tells whether the way to them is the limit. Who may
 * fill now, and what the figures say, as pure functions: no I/O, no clock, no logging. */
#ifndef DRIVESOAK_PATHGROUP_H
#define DRIVESOAK_PATHGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How long each fills alone, and how long all of them together are looked at; a fill that ends before is as good. */
#ifndef PATHGROUP_ALONE_S
#define PATHGROUP_ALONE_S 60
#endif

#define PATHGROUP_NONE SIZE_MAX

/* A drive together that writes less than this share of what it does alone, or a link that carries more than this share
 * of what it can, is worth a badge. */
#define PATHGROUP_ALONE_SHARE_MIN 0.95
#define PATHGROUP_LINK_SHARE_MAX  0.80

/* What a drive of the group does now. One that is absent, failed, paused or done is none of these. */
enum pathgroup_work {
	PATHGROUP_AWAY,	 /* no member now, holds nobody */
	PATHGROUP_FILLS, /* also when it has just been told to begin or to stop */
	PATHGROUP_WANTS, /* would fill if it were let */
	PATHGROUP_FINISHED, /* its fill ended in its own time alone: it would go on with the next phase if it were let */
	PATHGROUP_OTHER, /* its engine does anything else, or does not stop */
};

struct pathgroup_member {
	enum pathgroup_work work;
	bool is_measured; /* alone, or never will be */
	uint64_t alone_ns;
};

struct pathgroup_answer {
	size_t turn;	/* the member that fills alone; all others wait. PATHGROUP_NONE: all go on together */
	size_t blocker; /* the member whose work keeps those that are not measured from being so for good */
};

struct pathgroup_answer pathgroup_step(const struct pathgroup_member *members, size_t count);

/* What a member wrote while it was alone, and while all did. */
struct pathgroup_rate {
	uint64_t bytes, elapsed_ns;
};
double pathgroup_bytes_per_s(const struct pathgroup_rate *rate); /* NAN without time */
/* NAN unless both are known. */
double pathgroup_alone_share(const struct pathgroup_rate *alone, const struct pathgroup_rate *together);

struct pathgroup_figures {
	const char *path, *with; /* what is shared, and the others, for people */
	struct pathgroup_rate alone, together;
	double sum_bytes_per_s;	   /* of all together; NAN: unknown */
	uint64_t link_bytes_per_s; /* UINT64_MAX: unknown */
};

/* What is worth a badge in words; "" when nothing is. */
void pathgroup_badge(const struct pathgroup_figures *figures, char *text, size_t size);

#endif
