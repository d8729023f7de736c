/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What both kinds of targets have in common, and the way to the one that is meant. */
#include "target/target.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "target/inventory.h"
#include "target/target_private.h"

static const struct target_kind *kind_of(const struct target_request *request)
{
	return request->drive->device[0] ? &target_device : &target_directory;
}

int target_why(char *why, int rc, const char *name, const char *part, const char *what)
{
	(void)snprintf(why, TARGET_WHY_MAX, "%s%s%s: %s", name, part[0] ? "/" : "", part,
		what ? what : strerror(-rc));
	return rc;
}

int target_judge_budget(const struct config_drive *drive, uint64_t fill_bytes, char *why)
{
	if (!drive->write_budget_bytes || fill_bytes <= drive->write_budget_bytes)
		return 0;
	return target_why(why, -EINVAL, drive->device[0] ? drive->device : drive->directory, "",
		"write-budget is less than the fill alone writes; raise it, or take a smaller fill or size");
}

int target_check(
	const struct target_request *request, struct target_facts *facts, struct target_plan *plan, char *why)
{
	return kind_of(request)->check(request, facts, plan, why);
}

/* Loop devices have no way of their own, and those of virtio are the host's matter. */
static bool has_port(const struct target_facts *facts)
{
	const char *transport = facts->disks[0].transport;

	return facts->disk_count == 1 && strcmp(transport, "loop") != 0 && strcmp(transport, "virtio") != 0;
}

static void find_shared_port(struct target_facts *facts)
{
	facts->shared_port[0] = '\0';
	facts->shared_link_bytes_per_s = UINT64_MAX;
	if (has_port(facts))
		(void)inventory_shared_port("", facts->disks[0].name, facts->shared_port,
			sizeof(facts->shared_port), &facts->shared_link_bytes_per_s);
}

int target_open(const struct target_request *request, struct target **out, char *why)
{
	int rc = kind_of(request)->open(request, out, why);

	if (rc == 0)
		find_shared_port(&(*out)->facts);
	return rc;
}

int target_open_to_verify(const struct target_request *request, struct target **out, char *why)
{
	return kind_of(request)->open_to_verify(request, out, why);
}

void target_close(struct target *target)
{
	if (target)
		target->kind->close(target);
}

const struct target_facts *target_get_facts(const struct target *target)
{
	return &target->facts;
}

const struct target_plan *target_get_plan(const struct target *target)
{
	return &target->plan;
}

const int *target_get_fds(const struct target *target)
{
	return target->fds;
}

int target_discard(struct target *target, bool *done, char *why)
{
	*done = false;
	return target->kind->discard(target, done, why);
}

void target_reserve_file(void *arg, unsigned index)
{
	struct target *target = arg;

	if (target->kind->reserve_file)
		target->kind->reserve_file(target, index);
}

int target_look(const struct target *target, char *why)
{
	return target->kind->look(target, why);
}

int target_finish_fill(struct target *target, uint64_t done_bytes, char *why)
{
	return target->kind->finish_fill(target, done_bytes, why);
}

int target_flush(struct target *target, char *why)
{
	/* Below a directory it takes more than the drive's cache: that the blocks are written at all is in the
	 * filesystem's own journal. */
	bool is_volatile = !target->facts.is_device || target->facts.disk_count == 0;

	for (unsigned i = 0; i < target->facts.disk_count; i++)
		is_volatile |= strcmp(target->facts.disks[i].write_cache, "write through") != 0;
	for (unsigned i = 0; is_volatile && i < target->plan.files; i++)
		if (fdatasync(target->fds[i]) < 0)
			return target_why(why, -errno, target->name, "", NULL);
	return 0;
}

int target_purge(const struct target_request *request, char *why)
{
	return kind_of(request)->purge(request, why);
}
