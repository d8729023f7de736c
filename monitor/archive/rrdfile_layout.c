/* SPDX-License-Identifier: GPL-2.0-or-later */
#define RRD_EXPORT_DEPRECATED /* the file format: librrd trusts headers that it reads */
#include "archive/rrdfile_private.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <rrd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define LEVELS	       2
#define CONSOLIDATIONS 3
#define ARCHIVES       (1 + LEVELS * CONSOLIDATIONS)
#define ROOM_SPARE     (1 << 20) /* bytes left to the filesystem beside a new file */
#define UNKNOWN_SHARE  "0.99999" /* a consolidated row is known when any of its samples is */
#define DEFINITION_MAX 64
#define ROW_BYTES      (RRDFILE_SOURCES * sizeof(rrd_value_t))

enum value_kind { VALUE_COUNT, VALUE_REAL };

static const struct {
	enum value_kind kind;
	size_t offset;
} values[RRDFILE_SOURCES] = {
	{ VALUE_COUNT, offsetof(struct sample, write_bytes) },
	{ VALUE_COUNT, offsetof(struct sample, write_ios) },
	{ VALUE_COUNT, offsetof(struct sample, read_bytes) },
	{ VALUE_COUNT, offsetof(struct sample, read_ios) },
	{ VALUE_COUNT, offsetof(struct sample, errors) },
	{ VALUE_COUNT, offsetof(struct sample, lat_p50_ns) },
	{ VALUE_COUNT, offsetof(struct sample, lat_p99_ns) },
	{ VALUE_COUNT, offsetof(struct sample, lat_p999_ns) },
	{ VALUE_COUNT, offsetof(struct sample, lat_max_ns) },
	{ VALUE_COUNT, offsetof(struct sample, stall_ns) },
	{ VALUE_REAL, offsetof(struct sample, temp_c) },
	{ VALUE_REAL, offsetof(struct sample, percent_used) },
	{ VALUE_REAL, offsetof(struct sample, spare_pct) },
	{ VALUE_COUNT, offsetof(struct sample, media_errors) },
};

const char *const rrdfile_sources[RRDFILE_SOURCES] = { "write_bytes", "write_ios", "read_bytes", "read_ios",
	"errors", "lat_p50_ns", "lat_p99_ns", "lat_p999_ns", "lat_max_ns", "stall_ns", "temp_c", "used_pct",
	"spare_pct", "media_errors" };

static const char *const consolidations[CONSOLIDATIONS] = { "AVERAGE", "MIN", "MAX" };

static const struct {
	uint32_t row_s;
	uint32_t span_s;
} levels[LEVELS] = {
	{ 600, 90 * 86400 },
	{ 7200, 730 * 86400 },
};

struct archive_layout {
	const char *cf;
	unsigned long steps, rows;
};

int rrdfile_fail(char *why, int rc, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(why, RRDFILE_WHY_MAX, format, args);
	va_end(args);
	return rc;
}

int rrdfile_fail_rrd(char *why, const char *what)
{
	static const struct {
		const char *part;
		int rc;
	} row[] = {
		{ "could not lock", -EBUSY },
		{ "illegal attempt", -EEXIST },
		{ "No such file", -ENOENT },
		{ "No space left", -ENOSPC },
		{ "Permission denied", -EACCES },
		{ "allocat", -ENOMEM },
	};
	const char *text = rrd_test_error() ? rrd_get_error() : "";
	int rc = -EIO;

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]) && rc == -EIO; i++)
		if (strstr(text, row[i].part))
			rc = row[i].rc;
	(void)rrdfile_fail(
		why, rc, "%s: %s", what, *text ? text : "failed without a reason (is the disk full?)");
	rrd_clear_error();
	return rc;
}

/* Whole numbers only: those come back from an RRD as they went in. */
double rrdfile_source_value(const struct sample *sample, size_t source)
{
	const char *field = (const char *)sample + values[source].offset;
	uint64_t count;

	if (values[source].kind == VALUE_REAL)
		return round(*(const double *)(const void *)field);
	count = *(const uint64_t *)(const void *)field;
	return count == SAMPLE_UNKNOWN ? NAN : (double)count;
}

static void layout_make(uint32_t step_s, unsigned long full_rows, struct archive_layout *archives)
{
	*archives++ = (struct archive_layout){ "AVERAGE", 1, full_rows };
	for (size_t level = 0; level < LEVELS; level++) {
		unsigned long steps = levels[level].row_s / step_s;

		if (steps == 0)
			steps = 1;
		for (size_t i = 0; i < CONSOLIDATIONS; i++)
			*archives++ = (struct archive_layout){ consolidations[i], steps,
				levels[level].span_s / (steps * step_s) + 1 };
	}
}

/* The header as librrd maps it, for our numbers of sources and archives. */
struct header {
	stat_head_t stat;
	ds_def_t sources[RRDFILE_SOURCES];
	rra_def_t archives[ARCHIVES];
	live_head_t live;
	pdp_prep_t pdp[RRDFILE_SOURCES];
	cdp_prep_t cdp[RRDFILE_SOURCES * ARCHIVES];
	rra_ptr_t pointers[ARCHIVES];
};

static uint64_t file_bytes(const struct archive_layout *archives)
{
	uint64_t bytes = sizeof(struct header);

	for (size_t i = 0; i < ARCHIVES; i++)
		bytes += (uint64_t)archives[i].rows * ROW_BYTES;
	return bytes;
}

static bool stat_is_ours(const stat_head_t *stat, uint32_t step_s)
{
	return memcmp(stat->cookie, RRD_COOKIE, sizeof(stat->cookie)) == 0 &&
	       memchr(stat->version, '\0', sizeof(stat->version)) && atoi(stat->version) >= 1 &&
	       atoi(stat->version) <= 5 && stat->float_cookie <= FLOAT_COOKIE &&
	       stat->float_cookie >= FLOAT_COOKIE && stat->ds_cnt == RRDFILE_SOURCES &&
	       stat->rra_cnt == ARCHIVES && stat->pdp_step == step_s;
}

static bool sources_are_ours(const ds_def_t *sources, uint32_t step_s)
{
	for (size_t i = 0; i < RRDFILE_SOURCES; i++)
		if (strncmp(sources[i].ds_nam, rrdfile_sources[i], DS_NAM_SIZE) != 0 ||
			strncmp(sources[i].dst, "GAUGE", DST_SIZE) != 0 ||
			sources[i].par[DS_mrhb_cnt].u_cnt != step_s + 2 ||
			!isnan(sources[i].par[DS_min_val].u_val) || !isnan(sources[i].par[DS_max_val].u_val))
			return false;
	return true;
}

static bool archives_are_ours(const struct header *header, const struct archive_layout *layout)
{
	for (size_t i = 0; i < ARCHIVES; i++)
		if (strncmp(header->archives[i].cf_nam, layout[i].cf, CF_NAM_SIZE) != 0 ||
			header->archives[i].row_cnt != layout[i].rows ||
			header->archives[i].pdp_cnt != layout[i].steps ||
			header->pointers[i].cur_row >= layout[i].rows)
			return false;
	return true;
}

static int header_check(const struct header *header, uint32_t step_s, uint64_t bytes, char *why)
{
	struct archive_layout layout[ARCHIVES];
	unsigned long full_rows = header->archives[0].row_cnt;

	if (!stat_is_ours(&header->stat, step_s) || !sources_are_ours(header->sources, step_s) ||
		full_rows == 0 || full_rows > RRDFILE_FULL_ROWS_MAX)
		return rrdfile_fail(why, -EBADMSG, "the header is damaged or of another layout");
	layout_make(step_s, full_rows, layout);
	if (!archives_are_ours(header, layout))
		return rrdfile_fail(why, -EBADMSG, "the archives are damaged or of another layout");
	if (bytes != file_bytes(layout))
		return rrdfile_fail(why, -EBADMSG, "%llu bytes long instead of %llu",
			(unsigned long long)bytes, (unsigned long long)file_bytes(layout));
	if (header->live.last_up <= 0 || header->live.last_up % step_s || header->live.last_up_usec)
		return rrdfile_fail(why, -EBADMSG, "the time of the last update is damaged");
	return 0;
}

int rrdfile_header_read(const char *path, uint32_t step_s, struct rrdfile_header *out, char *why)
{
	struct header header;
	struct stat status;
	ssize_t length;
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc;

	if (fd < 0) {
		rc = -errno;
		return rrdfile_fail(why, rc, "%s: %s", path, strerror(-rc));
	}
	length = pread(fd, &header, sizeof(header), 0);
	rc = length < 0 ? -errno : 0;
	if (fstat(fd, &status) < 0)
		rc = -errno;
	(void)close(fd);
	if (rc < 0)
		return rrdfile_fail(why, rc, "%s: %s", path, strerror(-rc));
	if (length != sizeof(header))
		return rrdfile_fail(why, -EBADMSG, "cut off in the header");
	rc = header_check(&header, step_s, (uint64_t)status.st_size, why);
	if (rc == 0)
		*out = (struct rrdfile_header){ header.archives[0].row_cnt, header.live.last_up };
	return rc;
}

static int check_room(const char *path, uint64_t bytes, char *why)
{
	struct text folder = TEXT_INIT;
	struct statvfs status;
	uint64_t room = 0;
	int rc = 0;

	text_add_bytes(&folder, path, (size_t)(strrchr(path, '/') - path));
	if (statvfs(text_string(&folder), &status) < 0)
		rc = -errno;
	else
		room = (uint64_t)status.f_bavail * status.f_frsize;
	if (rc < 0)
		(void)rrdfile_fail(why, rc, "%s: %s", text_string(&folder), strerror(-rc));
	else if (room < bytes + ROOM_SPARE)
		rc = rrdfile_fail(why, -ENOSPC, "%s has %llu bytes free, the view needs %llu",
			text_string(&folder), (unsigned long long)room,
			(unsigned long long)bytes + ROOM_SPARE);
	text_fini(&folder);
	return rc;
}

/* librrd may fail on a full disk without a word, so look at what is there. */
static int check_created(const char *path, uint64_t bytes, char *why)
{
	struct stat status;
	int rc;

	if (stat(path, &status) < 0) {
		rc = -errno;
		return rrdfile_fail(why, rc, "%s: %s", path, strerror(-rc));
	}
	if ((uint64_t)status.st_size != bytes)
		return rrdfile_fail(why, -EIO,
			"a new file has %llu bytes instead of %llu: this librrd lays files out otherwise",
			(unsigned long long)status.st_size, (unsigned long long)bytes);
	return rrdfile_allocate(path, why);
}

int rrdfile_allocate(const char *path, char *why)
{
	struct stat status;
	int fd = open(path, O_RDWR | O_CLOEXEC), rc = 0;

	if (fd < 0) {
		rc = -errno;
		return rrdfile_fail(why, rc, "%s: %s", path, strerror(-rc));
	}
	/* Not posix_fallocate(): where the filesystem can't, it would write into the file by itself. */
	if (fstat(fd, &status) == 0 && (uint64_t)status.st_blocks * 512 < (uint64_t)status.st_size &&
		fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, status.st_size) < 0 && errno != EOPNOTSUPP)
		rc = -errno;
	(void)close(fd);
	return rc < 0 ? rrdfile_fail(why, rc, "%s: room for its holes: %s", path, strerror(-rc)) : 0;
}

int rrdfile_create(const char *path, uint32_t step_s, unsigned long full_rows, time_t last_s, char *why)
{
	char definitions[RRDFILE_SOURCES + ARCHIVES][DEFINITION_MAX];
	const char *arguments[RRDFILE_SOURCES + ARCHIVES];
	struct archive_layout archives[ARCHIVES];
	int rc;

	layout_make(step_s, full_rows, archives);
	for (size_t i = 0; i < RRDFILE_SOURCES; i++)
		(void)snprintf(
			definitions[i], DEFINITION_MAX, "DS:%s:GAUGE:%u:U:U", rrdfile_sources[i], step_s + 2);
	for (size_t i = 0; i < ARCHIVES; i++)
		(void)snprintf(definitions[RRDFILE_SOURCES + i], DEFINITION_MAX, "RRA:%s:%s:%lu:%lu",
			archives[i].cf, UNKNOWN_SHARE, archives[i].steps, archives[i].rows);
	for (size_t i = 0; i < RRDFILE_SOURCES + ARCHIVES; i++)
		arguments[i] = definitions[i];
	rc = check_room(path, file_bytes(archives), why);
	if (rc < 0)
		return rc;
	rrd_clear_error();
	if (rrd_create_r(path, step_s, last_s, RRDFILE_SOURCES + ARCHIVES, arguments) != 0)
		return rrdfile_fail_rrd(why, "create");
	return check_created(path, file_bytes(archives), why);
}
