/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The interval lines of sysbench fileio in three dialects; what it calls MB is MiB in all of them. */
#include "archive/foreign_private.h"

#include <math.h>
#include <string.h>

struct sysbench {
	bool is_swapped;
	double writes, reads; /* sums of the first pass */
};

/* What one interval line says. */
struct interval {
	double t_s, read_mib, write_mib, fsyncs, latency_ms, percent;
	const char *dialect;
};

/* "[  10s] reads:" as well as "[ 10s ] reads:". */
static const char *scan_time(const char *line, double *t_s)
{
	const char *at = foreign_number(foreign_word(line, "["), t_s, NULL);

	return foreign_word(foreign_word(at, "s"), "]");
}

static const char *scan_rate(const char *at, const char *name, double *out)
{
	const char *unit = foreign_number(foreign_word(at, name), out, NULL);

	at = foreign_word(unit, "MB/s");
	return at ? at : foreign_word(unit, "MiB/s");
}

/* "response time: 4.80ms (95%)": two decimals in 0.4, three in 0.5. */
static const char *scan_old_latency(const char *at, struct interval *interval)
{
	int decimals = 0;

	at = foreign_word(at, "response time:");
	at = foreign_word(foreign_number(at, &interval->latency_ms, &decimals), "ms");
	at = foreign_number(foreign_word(at, "("), &interval->percent, NULL);
	interval->dialect = decimals >= 3 ? "sysbench-0.5" : "sysbench-0.4";
	return foreign_word(at, "%)");
}

/* "latency (ms,95%): 0.049": less than three decimals are a line that was cut. */
static const char *scan_latency(const char *at, struct interval *interval)
{
	int decimals = 0;

	at = foreign_number(foreign_word(at, "latency (ms,"), &interval->percent, NULL);
	at = foreign_number(foreign_word(at, "%):"), &interval->latency_ms, &decimals);
	interval->dialect = "sysbench-1.0";
	return decimals == 3 ? at : NULL;
}

static bool scan_interval(const char *line, struct interval *interval)
{
	const char *at = scan_time(line, &interval->t_s), *end;

	at = scan_rate(at, "reads:", &interval->read_mib);
	at = scan_rate(at, "writes:", &interval->write_mib);
	at = foreign_word(foreign_number(foreign_word(at, "fsyncs:"), &interval->fsyncs, NULL), "/s");
	end = scan_old_latency(at, interval);
	if (!end)
		end = scan_latency(at, interval);
	return end && !*foreign_skip(end);
}

static bool is_interval(const char *line)
{
	double t_s;

	return scan_time(line, &t_s) != NULL;
}

static bool recognise(const char *line)
{
	double version;
	const char *at = foreign_word(line, "sysbench");

	return (at && foreign_number(foreign_word(at, "v") ? foreign_word(at, "v") : at, &version, NULL)) ||
	       foreign_word(scan_time(line, &version), "reads:");
}

/* The header names the test. */
static void take_header(struct foreign *foreign, const char *line)
{
	static const struct {
		const char *words, *workload;
	} tests[] = {
		{ "Doing random write test", "random-write" },
		{ "Doing random read test", "random-read" },
		{ "Doing random r/w test", "random-mixed" },
		{ "Doing sequential write", "sequential-write" },
		{ "Doing sequential rewrite", "sequential-rewrite" },
		{ "Doing sequential read", "sequential-read" },
	};
	double seconds;

	if (foreign_number(foreign_word(line, "Report intermediate results every"), &seconds, NULL) &&
		seconds > 0 && seconds < 86400)
		foreign->declared_ms = (int64_t)(seconds * 1000);
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		if (foreign_word(line, tests[i].words))
			(void)snprintf(foreign->info.workload, FOREIGN_NAME_MAX, "%s", tests[i].workload);
	if (foreign_word(line, "FATAL:") || foreign_word(line, "ALERT:"))
		foreign_warn(foreign, "line %llu says: %.200s", (unsigned long long)foreign->line, line);
}

static double *percentile_of(struct foreign_point *point, double percent)
{
	const struct {
		double percent, *place;
	} row[] = { { 50, &point->lat_p50_ns }, { 90, &point->lat_p90_ns }, { 95, &point->lat_p95_ns },
		{ 99, &point->lat_p99_ns } };

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		if (fabs(row[i].percent - percent) < 1e-9)
			return row[i].place;
	return NULL;
}

static int take_interval(struct foreign *foreign, const struct interval *interval)
{
	struct sysbench *sysbench = foreign->state;
	double write_mib = sysbench->is_swapped ? interval->read_mib : interval->write_mib;
	double read_mib = sysbench->is_swapped ? interval->write_mib : interval->read_mib;
	struct foreign_point point;
	double *latency;

	if (interval->t_s > FOREIGN_TIME_MAX || interval->latency_ms > 1e12 ||
		(interval->write_mib + interval->read_mib) * FOREIGN_MIB > FOREIGN_BYTES_S_MAX)
		return foreign_fail(foreign, "a number that cannot be");
	foreign_point_init(&point);
	point.t_ms = (int64_t)(interval->t_s * 1000 + 0.5);
	point.write_bytes_per_s = write_mib * FOREIGN_MIB;
	point.read_bytes_per_s = read_mib * FOREIGN_MIB;
	latency = percentile_of(&point, interval->percent);
	/* Of no request there is no latency, though 0.000 is printed. */
	if (latency && (write_mib > 0 || read_mib > 0))
		*latency = interval->latency_ms * 1e6;
	if (foreign->is_survey) {
		if (foreign->points == 0)
			foreign->info.format = interval->dialect;
		else if (strcmp(foreign->info.format, interval->dialect) != 0)
			return foreign_fail(foreign, "a line of %s in a log of %s: two logs in one file?",
				interval->dialect, foreign->info.format);
		sysbench->writes += write_mib;
		sysbench->reads += read_mib;
	}
	return foreign_take(foreign, &point);
}

/* Words of sysbench that are not known are passed over; what another format begins with is not one of them. */
static bool is_of_another(const char *text)
{
	return foreign_fio.recognise(text) || foreign_csv.recognise(text) || foreign_iostat.recognise(text);
}

static int line(struct foreign *foreign, const char *text)
{
	struct interval interval;
	double t_s;

	if (!is_interval(text)) {
		if (is_of_another(text))
			return foreign_fail(
				foreign, "a line of another log in one of sysbench: two logs in one file?");
		if (foreign->is_survey)
			take_header(foreign, text);
		return foreign->is_open_line && foreign_word(text, "[")
			       ? foreign_fail(foreign, "a line that was cut")
			       : 0;
	}
	if (scan_interval(text, &interval))
		return take_interval(foreign, &interval);
	if (!foreign->is_open_line && !foreign_word(scan_time(text, &t_s), "reads:"))
		return foreign_fail(foreign, "an interval line, but not of fileio");
	return foreign_fail(foreign, "an interval line that cannot be read");
}

static int end(struct foreign *foreign)
{
	struct sysbench *sysbench = foreign->state;

	if (!foreign->is_survey)
		return 0;
	if (foreign->points == 0)
		return foreign_fail(
			foreign, "a sysbench log without interval lines: run it with --report-interval");
	if (strstr(foreign->info.workload, "write") && !(sysbench->writes > 0) && sysbench->reads > 0) {
		sysbench->is_swapped = true;
		foreign_warn(foreign,
			"a %s test with reads alone: this build of sysbench counted its writes "
			"as reads; they are taken for writes",
			foreign->info.workload);
	}
	return 0;
}

const struct foreign_format foreign_sysbench = {
	.name = "sysbench-1.0",
	.state_bytes = sizeof(struct sysbench),
	.recognise = recognise,
	.line = line,
	.end = end,
};
