/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "measure/endurance_private.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

/* How far a neighbour may be that an outlier is told by. */
#define NEIGHBOUR_MAX 8
/* An outlier leaps so many times as far as its neighbours are apart. */
#define OUTLIER_LEAP 1000
/* Below this share of ours the disk's bytes are those of another count; half, as a filesystem may compress. */
#define DISK_OF_OURS_MIN   0.5
#define DISK_OF_OURS_SLACK (64.0 * (1 << 20))

size_t endurance_base(const struct endurance_point *points, size_t count, char why[ENDURANCE_WHY_MAX])
{
	static const char *const words[] = {
		[ENDURANCE_MARK_DRIVE] = "the health is another drive's",
		[ENDURANCE_MARK_FIRMWARE] = "the drive's firmware changed",
		[ENDURANCE_MARK_HOST_UNIT] = "the stated unit of the host-write counter changed",
		[ENDURANCE_MARK_MEDIA_UNIT] = "the stated unit of the flash-write counter changed",
		[ENDURANCE_MARK_HOST_SOURCE] = "the host-write counter is another one",
		[ENDURANCE_MARK_MEDIA_SOURCE] = "the flash-write counter is another one",
	};
	uint64_t known[ENDURANCE_MARK_COUNT] = { 0 };
	size_t base = 0;

	why[0] = '\0';
	for (size_t i = 0; i < count; i++) {
		for (int mark = ENDURANCE_MARK_COUNT - 1; mark >= 0; mark--) {
			uint64_t now = points[i].marks[mark];

			/* The first of the list says most. */
			if (now && known[mark] && now != known[mark]) {
				base = i;
				(void)snprintf(why, ENDURANCE_WHY_MAX, "%s", words[mark]);
			}
			known[mark] = now ? now : known[mark];
		}
	}
	return base;
}

uint64_t endurance_count(const struct endurance_set *set, size_t i, enum endurance_counter counter)
{
	const struct endurance_point *point = &set->points[i];

	if (set->by_pages)
		return counter == ENDURANCE_HOST ? point->host_pages : point->media_pages;
	return counter == ENDURANCE_HOST ? point->host_raw : point->media_raw;
}

/* NVMe reports 0 for "not reported", ATA drives all ones in the width of their field. */
static bool is_reported(uint64_t count)
{
	return count != 0 && count != 0xffff && count != 0xffffffff && count != 0xffffffffffff &&
	       count != UINT64_MAX;
}

static bool find_neighbour(const struct endurance_set *set, size_t i, enum endurance_counter counter,
	bool is_before, uint64_t *out)
{
	for (size_t step = 1; step <= NEIGHBOUR_MAX; step++) {
		uint64_t value;

		if (is_before ? step > i : step >= set->count - i)
			return false;
		value = endurance_count(set, is_before ? i - step : i + step, counter);
		if (is_reported(value)) {
			*out = value;
			return true;
		}
	}
	return false;
}

bool endurance_is_read(const struct endurance_set *set, size_t i, enum endurance_counter counter)
{
	uint64_t value = endurance_count(set, i, counter), before, after;

	if (!is_reported(value))
		return false;
	if (!find_neighbour(set, i, counter, true, &before) ||
		!find_neighbour(set, i, counter, false, &after) || after < before)
		return true;
	if (value < before)
		return false;
	return value <= after || (double)(value - after) <= OUTLIER_LEAP * ((double)(after - before) + 1);
}

static bool own_bytes(const struct endurance_point *from, const struct endurance_point *to, double *out_bytes)
{
	if (from->own_written_bytes == UINT64_MAX || to->own_written_bytes == UINT64_MAX ||
		to->own_written_bytes < from->own_written_bytes)
		return false;
	*out_bytes = (double)(to->own_written_bytes - from->own_written_bytes);
	return true;
}

bool endurance_disk_bytes(
	const struct endurance_point *from, const struct endurance_point *to, double *out_bytes)
{
	double own, disk;

	if (from->disk_written_bytes == UINT64_MAX || to->disk_written_bytes == UINT64_MAX ||
		to->disk_written_bytes < from->disk_written_bytes)
		return false;
	disk = (double)(to->disk_written_bytes - from->disk_written_bytes);
	/* Counted from 0 since a restart, and already past the old count. */
	if (own_bytes(from, to, &own) && disk < own * DISK_OF_OURS_MIN - DISK_OF_OURS_SLACK)
		return false;
	*out_bytes = disk;
	return true;
}

double endurance_bytes_between(
	const struct endurance_set *set, const struct endurance_point *from, const struct endurance_point *to)
{
	double bytes, own = 0, host = 0;

	if (endurance_disk_bytes(from, to, &bytes))
		return bytes;
	if (!own_bytes(from, to, &own))
		own = 0;
	if (is_reported(from->host_raw) && is_reported(to->host_raw) && to->host_raw > from->host_raw)
		host = (double)(to->host_raw - from->host_raw) * (double)set->host_unit_bytes;
	return fmax(own, host);
}

double endurance_skew_bytes(
	const struct endurance_point *from, const struct endurance_point *to, double bytes_between)
{
	double ms = (double)(to->t_ms - from->t_ms);

	if (!(to->read_ms > 0) || ms <= 0)
		return 0;
	return bytes_between * fmin(to->read_ms / ms, 1);
}

void endurance_say_unknown(struct endurance_interval *out, const char *format, ...)
{
	va_list arguments;

	out->value = out->low = out->high = NAN;
	va_start(arguments, format);
	(void)vsnprintf(out->how, sizeof(out->how), format, arguments);
	va_end(arguments);
}
