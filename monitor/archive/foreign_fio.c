/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fio's bandwidth logs: a row a window (log_avg_msec) with KiB/s, or a row a request with its size. Several jobs may
 * follow each other in one file, so the bytes of each stretch of time are added up before anything is handed over. */
#include "archive/foreign_private.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FIELDS_MAX 8
#define BINS_MAX   (1 << 23) /* 97 days of seconds */
#define MS_PER_S   1000
#define TRIM	   2
#define DIRECTIONS 2

struct fio {
	bool is_single;	  /* a row a request */
	bool has_maximum; /* log_window_value=both: two values a row */
	uint64_t restarts;
	struct foreign_deltas deltas;
	int64_t last_ms[DIRECTIONS], last_bin[DIRECTIONS];
	bool has_last[DIRECTIONS];
	int64_t min_ms, max_ms, row_ms;
	bool has_rows, is_decided;

	/* After the first pass. */
	int64_t window_ms, bin_ms, base_ms;
	size_t bin_count;
	double *bytes[DIRECTIONS]; /* 0: reads, 1: writes, as fio numbers them */
};

struct row {
	int64_t t_ms;
	double value, block_bytes;
	unsigned direction;
};

static size_t scan_fields(const char *line, double *fields)
{
	size_t count = 0;
	const char *at = line;

	while (count < FIELDS_MAX) {
		const char *end = foreign_number_listed(at, &fields[count]);

		if (!end)
			return 0;
		/* The priority is hexadecimal in some versions. */
		if (fields[count] <= 0 && *end == 'x')
			end += 1 + strspn(end + 1, "0123456789abcdefABCDEF");
		count++;
		end = foreign_skip(end);
		if (!*end)
			return count;
		if (*end != ',')
			return 0;
		at = end + 1;
	}
	return 0;
}

static bool recognise(const char *line)
{
	char first[256];
	double fields[FIELDS_MAX];
	size_t count;

	(void)snprintf(first, sizeof(first), "%.*s", (int)strcspn(line, "\r\n"), line);
	count = scan_fields(first, fields);
	return count >= 3 && (fields[2] <= TRIM || (count >= 6 && fields[3] <= TRIM));
}

/* The content of these is alike; only their names tell them apart. */
static int check_name(struct foreign *foreign)
{
	static const char *const others[] = { "_lat.", "_clat.", "_slat.", "_iops.", "_clat_hist." };
	const char *name = strrchr(foreign->path, '/');

	name = name ? name + 1 : foreign->path;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strstr(name, others[i]))
			return foreign_fail(foreign,
				"named as a fio log of latencies or IOPS: only bandwidth logs (_bw) say "
				"bytes");
	return 0;
}

static int scan_row(struct foreign *foreign, const char *line, struct row *row)
{
	struct fio *fio = foreign->state;
	double fields[FIELDS_MAX] = { 0 };
	size_t count = scan_fields(line, fields), shift;

	if (count < 3)
		return foreign_fail(foreign, "no row of a fio log: time_ms, value, direction, ...");
	if (!fio->is_decided)
		fio->has_maximum = count == FIELDS_MAX || (fields[2] > TRIM && count >= 6);
	fio->is_decided = true;
	shift = fio->has_maximum ? 1 : 0;
	if (fields[0] > FOREIGN_TIME_MAX * MS_PER_S || fields[1] * 1024 > FOREIGN_BYTES_S_MAX ||
		fields[3 + shift] > 1e12)
		return foreign_fail(foreign, "a number that cannot be");
	if (fields[2 + shift] > TRIM)
		return foreign_fail(foreign, "direction %.0f: there are 0 (read), 1 (write) and 2 (trim)",
			fields[2 + shift]);
	*row = (struct row){ (int64_t)fields[0], fields[1], count > 3 + shift ? fields[3 + shift] : 0,
		(unsigned)fields[2 + shift] };
	return 0;
}

static void look(struct fio *fio, const struct row *row)
{
	unsigned direction = row->direction;

	if (!fio->has_rows) {
		fio->min_ms = fio->max_ms = row->t_ms;
		fio->is_single = row->block_bytes > 0;
		fio->has_rows = true;
	}
	if (fio->has_last[direction] && row->t_ms > fio->last_ms[direction])
		foreign_deltas_add(&fio->deltas, row->t_ms - fio->last_ms[direction]);
	/* Threads that share a log may swap neighbours; the next job starts at the beginning. */
	if (row->t_ms + 2 * MS_PER_S < fio->row_ms)
		fio->restarts++;
	fio->row_ms = row->t_ms;
	fio->last_ms[direction] = row->t_ms;
	fio->has_last[direction] = true;
	fio->min_ms = row->t_ms < fio->min_ms ? row->t_ms : fio->min_ms;
	fio->max_ms = row->t_ms > fio->max_ms ? row->t_ms : fio->max_ms;
}

/* Which window a row closes: one that is early or late by less than half a window is the next all the same, so that
 * jitter makes no holes. */
static int64_t window_of(struct fio *fio, const struct row *row, int64_t *span_ms)
{
	int64_t t_ms = row->t_ms - fio->base_ms, window_ms = fio->window_ms;
	int64_t bin = (t_ms + window_ms / 20) / window_ms, delta_ms;
	unsigned direction = row->direction;

	*span_ms = window_ms;
	if (fio->has_last[direction]) {
		delta_ms = row->t_ms - fio->last_ms[direction];
		if (bin == fio->last_bin[direction] + 2 && delta_ms * 2 < window_ms * 3) {
			bin--;
		} else if (bin == fio->last_bin[direction] && delta_ms > 0) {
			bin++;
			/* What was left when the job ended. */
			if (delta_ms * 2 <= window_ms)
				*span_ms = delta_ms;
		}
	}
	fio->has_last[direction] = true;
	fio->last_ms[direction] = row->t_ms;
	fio->last_bin[direction] = bin;
	return bin < 1 ? 1 : bin;
}

static void add_bytes(struct fio *fio, unsigned direction, int64_t bin, double bytes)
{
	if (bin < 0)
		bin = 0;
	if ((size_t)bin >= fio->bin_count)
		bin = (int64_t)fio->bin_count - 1;
	fio->bytes[direction][bin] += bytes;
}

/* The window that a row closes, spread over the bins it covers. */
static void add_window(struct fio *fio, const struct row *row)
{
	int64_t span_ms, from_ms = (window_of(fio, row, &span_ms) - 1) * fio->window_ms,
			 to_ms = from_ms + span_ms;

	while (from_ms < to_ms) {
		int64_t bin = from_ms / fio->bin_ms, end_ms = (bin + 1) * fio->bin_ms;

		end_ms = end_ms < to_ms ? end_ms : to_ms;
		add_bytes(
			fio, row->direction, bin, row->value * 1024 * (double)(end_ms - from_ms) / MS_PER_S);
		from_ms = end_ms;
	}
}

static int line(struct foreign *foreign, const char *text)
{
	struct fio *fio = foreign->state;
	struct row row = { 0 };
	int rc;

	if (!*foreign_skip(text))
		return 0;
	rc = foreign->line == 1 ? check_name(foreign) : 0;
	if (rc == 0)
		rc = scan_row(foreign, text, &row);
	if (rc < 0 || row.direction == TRIM)
		return rc;
	if (foreign->is_survey)
		look(fio, &row);
	else if (fio->is_single)
		add_bytes(fio, row.direction, (row.t_ms - fio->base_ms) / fio->bin_ms, row.block_bytes);
	else
		add_window(fio, &row);
	return 0;
}

static void choose_bins(struct fio *fio)
{
	/* Holes may be more than half of a log; windows are the shortest distances but for jitter. */
	fio->window_ms = foreign_deltas_rank(&fio->deltas, 25);
	if (fio->window_ms == 0)
		fio->window_ms = fio->max_ms - fio->base_ms > 0 ? fio->max_ms - fio->base_ms : MS_PER_S;
	/* A second, or as many windows or seconds as come nearest to one window. */
	fio->bin_ms = MS_PER_S;
	if (!fio->is_single && fio->window_ms > MS_PER_S)
		fio->bin_ms = (fio->window_ms + 500) / MS_PER_S * MS_PER_S;
	/* Windows are never exactly as long as was asked for: 1001 ms are a second. */
	if (!fio->is_single && fio->window_ms * 20 > fio->bin_ms * 19 &&
		fio->window_ms * 20 < fio->bin_ms * 21)
		fio->window_ms = fio->bin_ms;
}

static int survey_end(struct foreign *foreign)
{
	struct fio *fio = foreign->state;
	int64_t count;

	if (!fio->has_rows)
		return foreign_fail(foreign, "no row of reads or writes");
	foreign->is_absolute = fio->min_ms / MS_PER_S >= FOREIGN_EPOCH_S;
	fio->base_ms = foreign->is_absolute ? fio->min_ms / MS_PER_S * MS_PER_S : 0;
	choose_bins(fio);
	if (foreign->is_absolute && !fio->is_single)
		fio->base_ms -= fio->bin_ms;
	count = (fio->max_ms - fio->base_ms) / fio->bin_ms + 2;
	if (count > BINS_MAX)
		return foreign_fail(foreign, "%lld samples from %.3f s to %.3f s: more than %d",
			(long long)count, (double)fio->min_ms / MS_PER_S, (double)fio->max_ms / MS_PER_S,
			BINS_MAX);
	fio->bin_count = (size_t)count;
	for (int i = 0; i < DIRECTIONS; i++) {
		fio->bytes[i] = calloc(fio->bin_count, sizeof(double));
		if (!fio->bytes[i])
			return -ENOMEM;
		fio->has_last[i] = false;
	}
	if (fio->restarts)
		foreign_warn(foreign,
			"the log starts over %llu time%s: taken for %llu jobs at once, their "
			"rates added",
			(unsigned long long)fio->restarts, fio->restarts == 1 ? "" : "s",
			(unsigned long long)fio->restarts + 1);
	foreign->declared_ms = fio->bin_ms;
	return 0;
}

/* From the first bin that a row tells of to the last whole one. */
static void find_ends(const struct fio *fio, size_t *first, size_t *end)
{
	int64_t min_ms = fio->min_ms - fio->base_ms, max_ms = fio->max_ms - fio->base_ms;

	if (fio->is_single) {
		*first = 0;
		*end = (size_t)((max_ms + fio->bin_ms / 20) / fio->bin_ms);
	} else {
		int64_t from_ms = (min_ms + fio->window_ms / 20) / fio->window_ms * fio->window_ms -
				  fio->window_ms;

		*first = from_ms > 0 ? (size_t)(from_ms / fio->bin_ms) : 0;
		*end = (size_t)((max_ms + fio->window_ms / 20) / fio->bin_ms);
	}
	if (*end <= *first)
		*end = *first + 1;
}

static int hand_over(struct foreign *foreign)
{
	struct fio *fio = foreign->state;
	size_t first, end;
	int rc = 0;

	find_ends(fio, &first, &end);
	if (foreign->is_survey && first * (size_t)fio->bin_ms > 1500 && !foreign->is_absolute)
		foreign_warn(foreign, "nothing is logged before %.0f s: ramp time, or a stall",
			(double)first * (double)fio->bin_ms / MS_PER_S);
	for (size_t i = first; rc == 0 && i < end; i++) {
		struct foreign_point point;

		foreign_point_init(&point);
		point.t_ms = fio->base_ms + (int64_t)(i + 1) * fio->bin_ms;
		point.read_bytes_per_s = fio->bytes[0][i] * MS_PER_S / (double)fio->bin_ms;
		point.write_bytes_per_s = fio->bytes[1][i] * MS_PER_S / (double)fio->bin_ms;
		rc = foreign_take(foreign, &point);
	}
	return rc;
}

static int end_pass(struct foreign *foreign)
{
	int rc = foreign->is_survey ? survey_end(foreign) : 0;

	return rc == 0 ? hand_over(foreign) : rc;
}

static void fio_free(void *state)
{
	struct fio *fio = state;

	for (int i = 0; i < DIRECTIONS; i++)
		free(fio->bytes[i]);
}

const struct foreign_format foreign_fio = {
	.name = "fio-bw",
	.state_bytes = sizeof(struct fio),
	.recognise = recognise,
	.line = line,
	.end = end_pass,
	.free = fio_free,
};
