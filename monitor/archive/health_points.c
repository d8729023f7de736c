/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "archive/health_points.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "archive/health.h"
#include "archive/journal_private.h"

#define WORKLOAD_PARTS 1024.0 /* of a percent */

enum column {
	COLUMN_PHASE,
	COLUMN_HOST_RAW,
	COLUMN_HOST_UNIT,
	COLUMN_HOST_FROM,
	COLUMN_MEDIA_RAW,
	COLUMN_MEDIA_UNIT,
	COLUMN_MEDIA_FROM,
	COLUMN_HOST_PAGES,
	COLUMN_MEDIA_PAGES,
	COLUMN_PERCENT_USED,
	COLUMN_WORKLOAD,
	COLUMN_DISK_WRITTEN,
	COLUMN_OWN_WRITTEN,
	COLUMN_READ_MS,
	COLUMN_LOGICAL_BLOCK,
	COLUMN_SERIAL,
	COLUMN_FIRMWARE,
	COLUMN_SOURCE,
	COLUMN_T_MS,
	COLUMN_COUNT = COLUMN_T_MS
};

static const char *const keys[COLUMN_COUNT] = {
	[COLUMN_PHASE] = HEALTH_PHASE,
	[COLUMN_HOST_RAW] = "host_written_raw",
	[COLUMN_HOST_UNIT] = "host_written_unit_bytes",
	[COLUMN_HOST_FROM] = "host_written_from",
	[COLUMN_MEDIA_RAW] = "media_written_raw",
	[COLUMN_MEDIA_UNIT] = "media_written_unit_bytes",
	[COLUMN_MEDIA_FROM] = "media_written_from",
	[COLUMN_HOST_PAGES] = "host_pages",
	[COLUMN_MEDIA_PAGES] = "media_pages",
	[COLUMN_PERCENT_USED] = "percent_used",
	[COLUMN_WORKLOAD] = "workload_wear_1024ths_pct",
	[COLUMN_DISK_WRITTEN] = HEALTH_DISK_WRITTEN,
	[COLUMN_OWN_WRITTEN] = HEALTH_OWN_WRITTEN,
	[COLUMN_READ_MS] = HEALTH_READ_MS,
	[COLUMN_LOGICAL_BLOCK] = HEALTH_LOGICAL_BLOCK,
	[COLUMN_SERIAL] = "serial",
	[COLUMN_FIRMWARE] = "firmware",
	[COLUMN_SOURCE] = "source",
};

static uint64_t column_count(sqlite3_stmt *statement, enum column column)
{
	int64_t value = sqlite3_column_int64(statement, (int)column);

	return sqlite3_column_type(statement, (int)column) == SQLITE_INTEGER && value >= 0 ? (uint64_t)value
											   : UINT64_MAX;
}

static double column_number(sqlite3_stmt *statement, enum column column)
{
	return sqlite3_column_type(statement, (int)column) == SQLITE_NULL
		       ? NAN
		       : sqlite3_column_double(statement, (int)column);
}

static const char *column_text(sqlite3_stmt *statement, enum column column)
{
	const char *text = (const char *)sqlite3_column_text(statement, (int)column);

	return text ? text : "";
}

/* Equal texts have equal marks, others hardly ever (FNV-1a); "" has none. */
static uint64_t mark_of(const char *text)
{
	uint64_t mark = 0xcbf29ce484222325;

	if (!text[0])
		return 0;
	for (; *text; text++)
		mark = (mark ^ (uint8_t)*text) * 0x100000001b3;
	return mark ? mark : 1;
}

static uint64_t mark_of_count(uint64_t count)
{
	return count == UINT64_MAX ? 0 : count;
}

static void point_read(sqlite3_stmt *statement, struct endurance_point *out)
{
	*out = (struct endurance_point){
		.t_ms = sqlite3_column_int64(statement, COLUMN_T_MS),
		.phase = PHASE_COUNT,
		.host_raw = column_count(statement, COLUMN_HOST_RAW),
		.media_raw = column_count(statement, COLUMN_MEDIA_RAW),
		.media_unit_bytes = column_number(statement, COLUMN_MEDIA_UNIT),
		.host_pages = column_count(statement, COLUMN_HOST_PAGES),
		.media_pages = column_count(statement, COLUMN_MEDIA_PAGES),
		.percent_used = column_number(statement, COLUMN_PERCENT_USED),
		.workload_pct = column_number(statement, COLUMN_WORKLOAD) / WORKLOAD_PARTS,
		.disk_written_bytes = column_count(statement, COLUMN_DISK_WRITTEN),
		.own_written_bytes = column_count(statement, COLUMN_OWN_WRITTEN),
		.read_ms = column_number(statement, COLUMN_READ_MS),
		.marks = {
			[ENDURANCE_MARK_DRIVE] = mark_of(column_text(statement, COLUMN_SERIAL)),
			[ENDURANCE_MARK_FIRMWARE] = mark_of(column_text(statement, COLUMN_FIRMWARE)),
			[ENDURANCE_MARK_HOST_UNIT] = mark_of_count(column_count(statement, COLUMN_HOST_UNIT)),
			[ENDURANCE_MARK_MEDIA_UNIT] = mark_of_count(column_count(statement, COLUMN_MEDIA_UNIT)),
			[ENDURANCE_MARK_HOST_SOURCE] = mark_of(column_text(statement, COLUMN_HOST_FROM)),
			[ENDURANCE_MARK_MEDIA_SOURCE] = mark_of(column_text(statement, COLUMN_MEDIA_FROM)),
		},
	};
	(void)run_phase_parse(column_text(statement, COLUMN_PHASE), &out->phase);
	/* A reading without the counter says nothing of its unit. */
	out->media_shares_unit = isnan(out->media_unit_bytes) && out->media_raw != UINT64_MAX;
}

static int point_add(struct health_points *points, const struct endurance_point *point)
{
	if (points->count == points->room) {
		size_t room = points->room ? points->room * 2 : 256;
		struct endurance_point *list = realloc(points->list, room * sizeof(*list));

		if (!list)
			return -ENOMEM;
		points->list = list;
		points->room = room;
	}
	points->list[points->count++] = *point;
	return 0;
}

static int row_add(struct health_points *points, sqlite3_stmt *statement)
{
	const uint64_t stated = column_count(statement, COLUMN_HOST_UNIT);
	const uint64_t block = column_count(statement, COLUMN_LOGICAL_BLOCK);
	const char *media_from = column_text(statement, COLUMN_MEDIA_FROM);
	struct endurance_point point;

	if (stated != UINT64_MAX)
		points->stated_unit_bytes = stated;
	if (block != UINT64_MAX)
		points->logical_block_bytes = (uint32_t)block;
	if (media_from[0])
		text_copy(points->media_from, sizeof(points->media_from), media_from);
	points->is_nvme |= strncmp(column_text(statement, COLUMN_SOURCE), "nvme", 4) == 0;
	point_read(statement, &point);
	return point_add(points, &point);
}

static int query_prepare(struct journal *journal, sqlite3_stmt **out)
{
	struct text sql = TEXT_INIT;
	int rc;

	text_add(&sql, "SELECT ");
	for (size_t i = 0; i < COLUMN_COUNT; i++)
		text_addf(&sql, "json_extract(fields, '$.%s'), ", keys[i]);
	text_add(&sql, "t_ms FROM health WHERE run = ?1 ORDER BY t_ms");
	rc = text_error(&sql) ? -ENOMEM : journal_prepare(journal, text_string(&sql), out);
	text_fini(&sql);
	return rc;
}

int health_points_read(struct journal *journal, const char *run, struct health_points *out)
{
	sqlite3_stmt *statement = NULL;
	int64_t number;
	int rc = journal_run_number(journal, run, &number), step;

	if (rc == 0)
		rc = query_prepare(journal, &statement);
	if (rc < 0)
		return rc;
	(void)sqlite3_bind_int64(statement, 1, number);
	while ((step = sqlite3_step(statement)) == SQLITE_ROW && rc == 0)
		rc = row_add(out, statement);
	if (rc == 0 && step != SQLITE_DONE)
		rc = journal_fail(journal, step);
	(void)sqlite3_finalize(statement);
	return rc;
}

void health_points_fini(struct health_points *points)
{
	free(points->list);
	*points = (struct health_points){ 0 };
}
