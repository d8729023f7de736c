/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "measure/hostload.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/sysfs.h"

/* The counters have whole milliseconds: with less between two looks the mean would be off by more than 2 %. */
#define DEVICE_MS_MIN 50

#define GROUP_LEVELS_MAX 12
#define GROUP_TEXT_MAX	 2048
#define GROUP_PATH_MAX	 1024

/* Our control group in one hierarchy: a quota of any level up to the mount point holds us back. */
struct hierarchy {
	char path[GROUP_PATH_MAX];	      /* "" when there is none */
	size_t mount_length;		      /* of path: not above it */
	uint64_t before_ns[GROUP_LEVELS_MAX]; /* throttled, by level from ours up */
};

struct thread {
	pid_t id;
	uint64_t delay_ns, turns; /* waited for a CPU, and got one */
};

struct hostload {
	const char *root;
	bool has_begun;
	struct thread threads[HOSTLOAD_THREADS_MAX], fresh[HOSTLOAD_THREADS_MAX];
	unsigned thread_count;
	uint64_t cpu_ticks, steal_ticks; /* of all CPUs; UINT64_MAX */
	char groups[GROUP_TEXT_MAX];	 /* what /proc/self/cgroup said: we may be moved */
	struct hierarchy v1, v2;
	char disk[32]; /* "" when there is none to compare with */
	bool has_counters;
	struct blockdev_counters counters;
};

int hostload_new(const char *root, struct hostload **out)
{
	struct hostload *load = calloc(1, sizeof(*load));

	if (!load)
		return -ENOMEM;
	load->root = root;
	load->cpu_ticks = load->steal_ticks = UINT64_MAX;
	*out = load;
	return 0;
}

void hostload_free(struct hostload *load)
{
	free(load);
}

static bool has_holders(const char *path)
{
	char holders[PATH_MAX];
	struct dirent *entry;
	bool found = false;
	DIR *folder;

	if (snprintf(holders, sizeof(holders), "%s/holders", path) >= (int)sizeof(holders))
		return true;
	folder = opendir(holders);
	while (folder && !found && (entry = readdir(folder)))
		found = entry->d_name[0] != '.';
	if (folder)
		(void)closedir(folder);
	return found;
}

/* Whether something is stacked on the disk or on one of its partitions. */
static bool is_stacked(const char *root, const char *disk)
{
	char path[PATH_MAX], part[PATH_MAX];
	struct dirent *entry;
	bool found;
	DIR *folder;

	if (snprintf(path, sizeof(path), "%s/sys/block/%s", root, disk) >= (int)sizeof(path))
		return true;
	found = has_holders(path);
	folder = opendir(path);
	while (folder && !found && (entry = readdir(folder))) {
		/* Partitions are called like their disk and then some. */
		if (strncmp(entry->d_name, disk, strlen(disk)) == 0 &&
			snprintf(part, sizeof(part), "%s/%s", path, entry->d_name) < (int)sizeof(part))
			found = has_holders(part);
	}
	if (folder)
		(void)closedir(folder);
	return found;
}

void hostload_set_disks(struct hostload *load, const struct blockdev *disks, unsigned count)
{
	load->disk[0] = '\0';
	load->has_counters = false;
	if (count == 1 && !is_stacked(load->root, disks[0].name))
		(void)snprintf(load->disk, sizeof(load->disk), "%s", disks[0].name);
}

/* A kernel that does not account answers zeros, which a thread that has run can't have. */
static bool read_thread(const struct hostload *load, pid_t id, struct thread *out)
{
	char line[128];
	uint64_t run_ns;

	*out = (struct thread){ .id = id };
	return sysfs_read_text(line, sizeof(line), load->root, "/proc/self/task/%d/schedstat", (int)id) ==
		       0 &&
	       sscanf(line, "%" SCNu64 " %" SCNu64 " %" SCNu64, &run_ns, &out->delay_ns, &out->turns) == 3 &&
	       run_ns > 0;
}

/* What the thread had at the last look; zeros for one that has begun since, whatever number it got. */
static struct thread thread_before(const struct hostload *load, const struct thread *thread)
{
	for (unsigned i = 0; i < load->thread_count; i++)
		if (load->threads[i].id == thread->id && load->threads[i].turns <= thread->turns &&
			load->threads[i].delay_ns <= thread->delay_ns)
			return load->threads[i];
	return (struct thread){ 0 };
}

static void take_run_delay(struct hostload *load, const pid_t *ids, unsigned count, uint64_t elapsed_ns,
	struct hostload_interval *out)
{
	uint64_t delay_ns = 0, turns = 0;
	unsigned known = 0;

	for (unsigned i = 0; i < count && i < HOSTLOAD_THREADS_MAX; i++) {
		struct thread *thread = &load->fresh[known], before;

		if (!read_thread(load, ids[i], thread))
			continue;
		before = thread_before(load, thread);
		delay_ns += thread->delay_ns - before.delay_ns;
		turns += thread->turns - before.turns;
		known++;
	}
	memcpy(load->threads, load->fresh, known * sizeof(load->threads[0]));
	load->thread_count = known;
	if (known && elapsed_ns)
		out->run_delay_share = (double)delay_ns / ((double)elapsed_ns * known);
	if (turns)
		out->wait_mean_ns = (double)delay_ns / (double)turns;
}

/* Guests' time is part of user and nice. */
static double take_steal(struct hostload *load)
{
	uint64_t field[8], ticks = 0, cpu_before = load->cpu_ticks, steal_before = load->steal_ticks;
	char line[512];

	load->cpu_ticks = load->steal_ticks = UINT64_MAX;
	if (sysfs_read_text(line, sizeof(line), load->root, "/proc/stat") < 0 ||
		sscanf(line,
			"cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
			" %" SCNu64,
			&field[0], &field[1], &field[2], &field[3], &field[4], &field[5], &field[6],
			&field[7]) != 8)
		return NAN;
	for (unsigned i = 0; i < 8; i++)
		ticks += field[i];
	load->cpu_ticks = ticks;
	load->steal_ticks = field[7];
	if (cpu_before == UINT64_MAX || ticks <= cpu_before || field[7] < steal_before)
		return NAN;
	return (double)(field[7] - steal_before) / (double)(ticks - cpu_before);
}

/* "a,cpu,b" has "cpu". */
static bool has_word(const char *list, const char *word)
{
	size_t length = strlen(word);

	for (; *list; list += list[strcspn(list, ",")] == ',' ? strcspn(list, ",") + 1 : strcspn(list, ","))
		if (strncmp(list, word, length) == 0 && (list[length] == ',' || list[length] == '\0'))
			return true;
	return false;
}

/* Our path in the hierarchy of the CPU controller (@is_v2: in the one of version 2), from lines "N:LIST:PATH". */
static bool find_group(const struct hostload *load, bool is_v2, char *out)
{
	char text[GROUP_TEXT_MAX], *rest = text, *line, *list;

	(void)snprintf(text, sizeof(text), "%s", load->groups);
	while ((line = strsep(&rest, "\n"))) {
		(void)strsep(&line, ":");
		list = strsep(&line, ":");
		if (line && (is_v2 ? list[0] == '\0' : has_word(list, "cpu"))) {
			(void)snprintf(out, GROUP_PATH_MAX, "%s", line);
			return true;
		}
	}
	return false;
}

/* A line of mountinfo: "ID PARENT DEV ROOT POINT OPTIONS ... - TYPE SOURCE OPTIONS". */
static bool parse_mount(char *line, bool is_v2, char **root, char **point)
{
	char *tail = strstr(line, " - "), *field[5], *type, *options;

	if (!tail)
		return false;
	*tail = '\0';
	tail += 3;
	for (unsigned i = 0; i < 5; i++)
		field[i] = strsep(&line, " ");
	type = strsep(&tail, " ");
	(void)strsep(&tail, " ");
	options = strsep(&tail, " \n");
	*root = field[3];
	*point = field[4];
	if (!*point || !options)
		return false;
	return is_v2 ? strcmp(type, "cgroup2") == 0 : strcmp(type, "cgroup") == 0 && has_word(options, "cpu");
}

/* A container sees its own part of the hierarchy: the mount's root is then a part of our path. */
static void join_group(struct hierarchy *hierarchy, const char *root, const char *point, const char *group)
{
	size_t root_length = strcmp(root, "/") == 0 ? 0 : strlen(root);

	if (strncmp(group, root, root_length) != 0 || (group[root_length] && group[root_length] != '/'))
		return;
	group += root_length;
	if (strcmp(group, "/") == 0)
		group = "";
	if (snprintf(hierarchy->path, sizeof(hierarchy->path), "%s%s", point, group) >=
		(int)sizeof(hierarchy->path))
		hierarchy->path[0] = '\0';
	else
		hierarchy->mount_length = strlen(point);
}

static void find_hierarchy(const struct hostload *load, bool is_v2, struct hierarchy *out)
{
	char path[PATH_MAX], group[GROUP_PATH_MAX], *line = NULL, *root, *point;
	size_t room = 0;
	FILE *mounts;

	out->path[0] = '\0';
	for (unsigned i = 0; i < GROUP_LEVELS_MAX; i++)
		out->before_ns[i] = UINT64_MAX;
	(void)snprintf(path, sizeof(path), "%s/proc/self/mountinfo", load->root);
	mounts = find_group(load, is_v2, group) ? fopen(path, "re") : NULL;
	while (mounts && !out->path[0] && getline(&line, &room, mounts) > 0)
		if (parse_mount(line, is_v2, &root, &point))
			join_group(out, root, point, group);
	free(line);
	if (mounts)
		(void)fclose(mounts);
}

/* Version 1 says nanoseconds, version 2 microseconds; a group without the controller says neither. */
static uint64_t read_throttled(const struct hostload *load, const char *path, size_t length)
{
	static const struct {
		const char *key;
		uint64_t unit_ns;
	} keys[] = { { "\nthrottled_time ", 1 }, { "\nthrottled_usec ", NS_PER_US } };
	char text[1024] = "\n";

	if (sysfs_read_text(text + 1, sizeof(text) - 1, load->root, "%.*s/cpu.stat", (int)length, path) < 0)
		return UINT64_MAX;
	for (unsigned i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const char *at = strstr(text, keys[i].key);

		if (at)
			return strtoull(at + strlen(keys[i].key), NULL, 10) * keys[i].unit_ns;
	}
	return UINT64_MAX;
}

/* The largest growth of any level becomes *@out_ns when it is larger, or when that was unknown. */
static void take_levels(const struct hostload *load, struct hierarchy *hierarchy, uint64_t *out_ns)
{
	size_t length = strlen(hierarchy->path);

	for (unsigned i = 0; i < GROUP_LEVELS_MAX && length && length >= hierarchy->mount_length; i++) {
		uint64_t before_ns = hierarchy->before_ns[i];
		uint64_t now_ns = read_throttled(load, hierarchy->path, length);

		hierarchy->before_ns[i] = now_ns;
		if (now_ns != UINT64_MAX && before_ns != UINT64_MAX && now_ns >= before_ns &&
			(*out_ns == UINT64_MAX || now_ns - before_ns > *out_ns))
			*out_ns = now_ns - before_ns;
		while (length > 0 && hierarchy->path[--length] != '/')
			;
	}
}

static uint64_t take_throttled(struct hostload *load)
{
	char groups[GROUP_TEXT_MAX];
	uint64_t throttled_ns = HOSTLOAD_UNKNOWN;

	if (sysfs_read_text(groups, sizeof(groups), load->root, "/proc/self/cgroup") < 0)
		return HOSTLOAD_UNKNOWN;
	if (strcmp(groups, load->groups) != 0) {
		(void)snprintf(load->groups, sizeof(load->groups), "%s", groups);
		find_hierarchy(load, false, &load->v1);
		find_hierarchy(load, true, &load->v2);
	}
	take_levels(load, &load->v1, &throttled_ns);
	take_levels(load, &load->v2, &throttled_ns);
	return throttled_ns;
}

static void take_device(struct hostload *load, struct hostload_interval *out)
{
	struct blockdev_counters before = load->counters, *now = &load->counters;
	bool had_counters = load->has_counters;
	uint64_t ms, ios;

	load->has_counters = load->disk[0] && blockdev_read_counters(load->root, load->disk, now) == 0;
	if (!load->has_counters || !had_counters || now->read_ios < before.read_ios ||
		now->write_ios < before.write_ios || now->read_ms < before.read_ms ||
		now->write_ms < before.write_ms)
		return;
	ios = now->read_ios - before.read_ios + now->write_ios - before.write_ios;
	ms = now->read_ms - before.read_ms + now->write_ms - before.write_ms;
	out->device_ios = ios;
	if (ios && ms >= DEVICE_MS_MIN)
		out->device_lat_mean_ns = (double)ms * NS_PER_MS / (double)ios;
}

void hostload_take(struct hostload *load, const pid_t *ids, unsigned count, uint64_t elapsed_ns,
	struct hostload_interval *out)
{
	struct hostload_interval interval = {
		.run_delay_share = NAN,
		.wait_mean_ns = NAN,
		.device_ios = HOSTLOAD_UNKNOWN,
		.device_lat_mean_ns = NAN,
	};

	take_run_delay(load, ids, count, elapsed_ns, &interval);
	interval.steal_share = take_steal(load);
	interval.throttled_ns = take_throttled(load);
	take_device(load, &interval);
	if (!load->has_begun)
		interval.run_delay_share = interval.wait_mean_ns = NAN;
	load->has_begun = true;
	*out = interval;
}
