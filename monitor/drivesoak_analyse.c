/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "drivesoak_analyse.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "archive/report.h"
#include "base/json.h"
#include "base/units.h"
#include "drivesoak_judge.h"
#include "measure/summary.h"

/* What is gathered of one file. */
struct analysis {
	const char *file;
	struct foreign *foreign;
	const struct foreign_info *info;
	struct summary *summary;
	struct summary_figures figures;
	struct judge *judge;
	double *p95_ns; /* one a sample that knows it */
	size_t p95_count, p95_capacity;
};

int drivesoak_analyse_fail(int rc, const char *why)
{
	static const struct {
		int rc, code;
	} row[] = {
		{ -EBADMSG, EX_DATAERR },
		{ -EISDIR, EX_DATAERR },
		{ -ENOENT, EX_NOINPUT },
		{ -ENOTDIR, EX_NOINPUT },
		{ -EACCES, EX_NOPERM },
		{ -EPERM, EX_NOPERM },
		{ -ENOMEM, EX_OSERR },
	};

	(void)fprintf(stderr, "drivesoak: %s\n", why);
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		if (row[i].rc == rc)
			return row[i].code;
	return EX_IOERR;
}

static int keep_p95(struct analysis *analysis, double ns)
{
	if (isnan(ns))
		return 0;
	if (analysis->p95_count == analysis->p95_capacity) {
		size_t capacity = analysis->p95_capacity ? analysis->p95_capacity * 2 : 1024;
		double *values = realloc(analysis->p95_ns, capacity * sizeof(*values));

		if (!values)
			return -ENOMEM;
		analysis->p95_ns = values;
		analysis->p95_capacity = capacity;
	}
	analysis->p95_ns[analysis->p95_count++] = ns;
	return 0;
}

static int take_row(const struct foreign_row *row, void *arg)
{
	struct analysis *analysis = arg;
	int rc = keep_p95(analysis, row->lat_p95_ns);

	if (rc == 0)
		rc = summary_add(analysis->summary, &row->sample);
	return rc == 0 ? judge_add(analysis->judge, &row->sample) : rc;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void put_rates(const struct summary_rates *rates, struct json *json)
{
	json_put_double(json, "median_bytes_per_s", rates->median);
	json_put_double(json, "mean_bytes_per_s", rates->mean);
	json_put_double(json, "p1_bytes_per_s", rates->p1);
	json_put_double(json, "p5_bytes_per_s", rates->p5);
	json_put_double(json, "min_bytes_per_s", rates->min);
	json_put_double(json, "max_bytes_per_s", rates->max);
	json_put_double(json, "cv", rates->cv);
	json_put_double(json, "worst_minute_bytes_per_s", rates->worst_minute);
}

static void put_write(const struct analysis *analysis, struct json *json)
{
	const struct summary_part *part = summary_shown(&analysis->figures);

	json_key(json, "write");
	json_object_open(json);
	json_put_u64(json, "samples", part->samples);
	put_rates(&part->write, json);
	json_put_double(json, "stalled_s", part->stalled_s);
	json_put_double(json, "collapses_per_h", judge_collapses_per_h(analysis->judge));
	json_put_u64(json, "lat_p99_ns", part->lat_p99_ns);
	json_put_double(json, "host_limited_pct", analysis->figures.host_limited_pct);
	json_put_double(json, "gap_pct", analysis->figures.gap_pct);
	json_key(json, "window");
	json_object_open(json);
	json_put_ms_as_s(json, "from_s", part->from_ms);
	json_put_ms_as_s(json, "to_s", part->to_ms);
	json_put_bool(json, "settled", false);
	json_object_close(json);
	json_object_close(json);
	json_key(json, "read");
	if (isnan(part->read.max)) {
		json_null(json);
		return;
	}
	json_object_open(json);
	put_rates(&part->read, json);
	json_object_close(json);
}

static void put_p95(const struct analysis *analysis, struct json *json)
{
	size_t count = analysis->p95_count;

	json_key(json, "lat_p95_ns");
	if (count == 0) {
		json_null(json);
		return;
	}
	json_object_open(json);
	json_put_double(json, "median", analysis->p95_ns[(count - 1) / 2]);
	json_put_double(json, "max", analysis->p95_ns[count - 1]);
	json_object_close(json);
}

static void put_lists(const struct analysis *analysis, struct json *json)
{
	const struct foreign_info *info = analysis->info;

	judge_json(analysis->judge, json);
	json_key(json, "gaps");
	json_array_open(json);
	for (size_t i = 0; i < info->gap_count; i++) {
		json_object_open(json);
		json_put_ms_as_s(json, "from_s", info->gaps[i].from_ms);
		json_put_ms_as_s(json, "to_s", info->gaps[i].to_ms);
		json_object_close(json);
	}
	json_array_close(json);
	json_key(json, "warnings");
	json_array_open(json);
	for (size_t i = 0; i < info->warning_count; i++)
		json_string(json, info->warnings[i]);
	if (!info->is_interval_known)
		json_string(json, "the interval is not known and taken for 1 s");
	json_array_close(json);
}

static int print_json(const struct analysis *analysis)
{
	const struct foreign_info *info = analysis->info;
	struct text line = TEXT_INIT;
	struct json json;
	int rc;

	json_init(&json, &line);
	json_object_open(&json);
	json_put_string(&json, "file", analysis->file);
	json_put_string(&json, "format", info->format);
	json_put_string(&json, "device", info->device[0] ? info->device : NULL);
	json_put_string(&json, "workload", info->workload[0] ? info->workload : NULL);
	json_put_bool(&json, "has_epoch", info->has_epoch);
	json_put_ms_as_s(&json, "from_s", info->from_ms);
	json_put_ms_as_s(&json, "to_s", info->to_ms);
	json_put_u64(&json, "samples", info->samples);
	json_put_u64(&json, "interval_s", info->is_interval_known ? info->interval_s : JSON_UNKNOWN_U64);
	put_write(analysis, &json);
	put_p95(analysis, &json);
	put_lists(analysis, &json);
	json_object_close(&json);
	rc = text_error(&line);
	if (rc == 0)
		(void)puts(text_string(&line));
	text_fini(&line);
	return rc;
}

static void print_time(const struct foreign_info *info, int64_t ms, char *text)
{
	if (info->has_epoch)
		report_print_time(ms, text);
	else
		(void)snprintf(text, REPORT_TIME_MAX, "%.10g s", (double)ms / 1000);
}

static void print_rates(const char *title, const struct summary_rates *rates)
{
	const struct {
		const char *name;
		double value;
	} rows[] = {
		{ "median", rates->median },
		{ "mean", rates->mean },
		{ "worst 5 %", rates->p5 },
		{ "worst 1 %", rates->p1 },
		{ "worst minute", rates->worst_minute },
		{ "minimum", rates->min },
		{ "maximum", rates->max },
	};
	char value[UNITS_TEXT_MAX];

	if (!(rates->max >= 0))
		return;
	(void)printf("  %s\n", title);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (isnan(rows[i].value))
			continue;
		units_print_rate_rounded(rows[i].value, value);
		(void)printf("    %-14s%s\n", rows[i].name, value);
	}
	if (isfinite(rates->cv))
		(void)printf("    %-14s%.1f %%\n", "varies by", rates->cv * 100);
}

static void print_head(const struct analysis *analysis)
{
	const struct foreign_info *info = analysis->info;
	char from[REPORT_TIME_MAX], to[REPORT_TIME_MAX];

	print_time(info, info->from_ms, from);
	print_time(info, info->to_ms, to);
	(void)printf("%s: %s%s%s%s%s\n", analysis->file, info->format, info->device[0] ? ", device " : "",
		info->device, info->workload[0] ? ", " : "", info->workload);
	(void)printf("  %llu samples", (unsigned long long)info->samples);
	if (info->is_interval_known)
		(void)printf(" of %u s", info->interval_s);
	(void)printf(", %s to %s\n", from, to);
}

static void print_gaps(const struct foreign_info *info)
{
	char from[REPORT_TIME_MAX], to[REPORT_TIME_MAX];

	for (size_t i = 0; i < info->gap_count; i++) {
		print_time(info, info->gaps[i].from_ms, from);
		print_time(info, info->gaps[i].to_ms, to);
		(void)printf("  gap: nothing is known from %s to %s\n", from, to);
	}
}

struct printing {
	const struct foreign_info *info;
	bool has_falls;
};

static void print_finding(const struct collapse_finding *finding, void *arg)
{
	char from[REPORT_TIME_MAX], to[REPORT_TIME_MAX] = "the end", text[COLLAPSE_TEXT_MAX];
	struct printing *printing = arg;

	print_time(printing->info, finding->from_ms, from);
	if (finding->to_ms != COLLAPSE_OPEN)
		print_time(printing->info, finding->to_ms, to);
	collapse_print(finding, text);
	(void)printf("  %s from %s to %s: %s\n", collapse_kind_name(finding->kind), from, to, text);
	printing->has_falls |= collapse_alerts(finding->kind);
}

static void print_judged(const struct analysis *analysis)
{
	struct printing printing = { analysis->info, false };
	struct steady_answer steady;

	judge_each(analysis->judge, print_finding, &printing);
	if (!printing.has_falls)
		(void)printf("  no collapse\n");
	judge_steady(analysis->judge, &steady);
	if (steady.why_not[0])
		(void)printf("  not settled: %s\n", steady.why_not);
}

static int print_text(const struct analysis *analysis)
{
	const struct summary_part *part = summary_shown(&analysis->figures);
	const struct foreign_info *info = analysis->info;
	char value[UNITS_TEXT_MAX];

	print_head(analysis);
	print_rates("Write", &part->write);
	/* What a host reads beside its writes is not worth a table. */
	if (part->read.mean > part->write.mean / 50 || (part->read.max > 0 && isnan(part->write.max)))
		print_rates("Read", &part->read);
	if (analysis->p95_count) {
		units_print_duration_rounded(analysis->p95_ns[(analysis->p95_count - 1) / 2], value);
		(void)printf("  Latency p95 of a sample, median: %s\n", value);
	}
	if (part->stalled_s > 0) {
		units_print_duration_rounded(part->stalled_s * 1e9, value);
		(void)printf("  Stalled for %s\n", value);
	}
	print_judged(analysis);
	print_gaps(info);
	for (size_t i = 0; i < info->warning_count; i++)
		(void)printf("  warning: %s\n", info->warnings[i]);
	if (!info->is_interval_known)
		(void)printf("  warning: the interval is not known and taken for 1 s\n");
	return 0;
}

static int gather(struct analysis *analysis, char *why)
{
	int rc = summary_new(analysis->info->interval_s, &analysis->summary);

	if (rc == 0)
		rc = judge_new(&analysis->judge);
	if (rc == 0)
		rc = foreign_each(analysis->foreign, take_row, analysis, why);
	if (rc == 0)
		rc = judge_end(analysis->judge);
	if (rc < 0 && !why[0])
		(void)snprintf(why, FOREIGN_WHY_MAX, "%.300s: %s", analysis->file, strerror(-rc));
	if (rc < 0)
		return rc;
	summary_read(analysis->summary, &analysis->figures);
	if (!analysis->info->knows_host_limit)
		analysis->figures.host_limited_pct = NAN;
	if (analysis->p95_count)
		qsort(analysis->p95_ns, analysis->p95_count, sizeof(double), compare_doubles);
	return 0;
}

static int analyse(const struct foreign_options *options, const char *file, bool is_json)
{
	struct analysis analysis = { .file = file };
	char why[FOREIGN_WHY_MAX] = "";
	int rc = foreign_open(file, options, &analysis.foreign, why), code = EX_OK;

	if (rc < 0)
		return drivesoak_analyse_fail(rc, why);
	analysis.info = foreign_info(analysis.foreign);
	rc = gather(&analysis, why);
	if (rc < 0)
		code = drivesoak_analyse_fail(rc, why);
	else if ((is_json ? print_json(&analysis) : print_text(&analysis)) < 0)
		code = drivesoak_analyse_fail(-ENOMEM, strerror(ENOMEM));
	free(analysis.p95_ns);
	summary_free(analysis.summary);
	judge_free(analysis.judge);
	foreign_close(analysis.foreign);
	return code;
}

int drivesoak_analyse(const struct foreign_options *options, char *const *files, int count, bool is_json)
{
	int code = EX_OK;

	for (int i = 0; i < count; i++) {
		int its = analyse(options, files[i], is_json);

		code = code == EX_OK ? its : code;
	}
	return code;
}
