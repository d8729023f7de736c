/* SPDX-License-Identifier: GPL-2.0-or-later */
/* target_private.h - the kinds of targets behind target.h. The functions are those of target.h for one kind. */
#ifndef DRIVESOAK_TARGET_PRIVATE_H
#define DRIVESOAK_TARGET_PRIVATE_H

#include "target/target.h"

struct target_kind {
	int (*check)(const struct target_request *request, struct target_facts *facts,
		struct target_plan *plan, char *why);
	int (*open)(const struct target_request *request, struct target **out, char *why);
	int (*open_to_verify)(const struct target_request *request, struct target **out, char *why);
	void (*close)(struct target *target);
	int (*discard)(struct target *target, bool *done, char *why);
	void (*reserve_file)(struct target *target, unsigned index);
	int (*look)(const struct target *target, char *why);
	int (*finish_fill)(struct target *target, uint64_t done_bytes, char *why);
	int (*purge)(const struct target_request *request, char *why);
};

/* Comes first in the struct of every kind. */
struct target {
	const struct target_kind *kind;
	struct target_facts facts;
	struct target_plan plan;
	int *fds;	  /* plan.files */
	const char *name; /* for messages: the directory or the device */
};

extern const struct target_kind target_directory, target_device;

/* "NAME/PART: WHAT" into @why, or the text of @rc where @what is NULL; returns @rc. */
int target_why(char *why, int rc, const char *name, const char *part, const char *what);

/* 0, or -EINVAL with @why when writing @fill_bytes alone would exceed the drive's write-budget. */
int target_judge_budget(const struct config_drive *drive, uint64_t fill_bytes, char *why);

#endif
