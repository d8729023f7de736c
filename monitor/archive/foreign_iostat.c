/* SPDX-License-Identifier: GPL-2.0-or-later */
/* iostat -x of sysstat 11 and 12, with -t for times; columns go by the names in its header lines. */
#include "archive/foreign_private.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DEVICES_MAX 1024
#define COLUMNS_MAX 40
#define MS_PER_S    1000
#define S_PER_DAY   86400

enum order { MONTH_FIRST, DAY_FIRST, ORDERS };

enum place {
	WRITE_IOS,
	READ_IOS,
	WRITE_BYTES,
	READ_BYTES,
	WRITE_WAIT_MS,
	READ_WAIT_MS,
	WAIT_MS,
	QUEUE,
	PLACE_COUNT
};

static const struct {
	const char *name;
	enum place place;
	double factor;
} known[] = {
	{ "w/s", WRITE_IOS, 1 },
	{ "r/s", READ_IOS, 1 },
	{ "wkB/s", WRITE_BYTES, 1024 },
	{ "rkB/s", READ_BYTES, 1024 },
	{ "wMB/s", WRITE_BYTES, FOREIGN_MIB },
	{ "rMB/s", READ_BYTES, FOREIGN_MIB },
	{ "wsec/s", WRITE_BYTES, 512 },
	{ "rsec/s", READ_BYTES, 512 },
	{ "w_await", WRITE_WAIT_MS, 1 },
	{ "r_await", READ_WAIT_MS, 1 },
	{ "await", WAIT_MS, 1 },
	{ "aqu-sz", QUEUE, 1 },
	{ "avgqu-sz", QUEUE, 1 },
};

struct device {
	char name[FOREIGN_NAME_MAX];
	double total; /* bytes a second, summed over the reports that count */
	double values[PLACE_COUNT];
	bool is_listed; /* in this report */
};

/* Which of two numbers below 13 is the day: by another date of the log, or by those of reports that follow each other, of
 * which midnight makes neighbours and no more. */
struct dates {
	bool is_day_first, is_month_first; /* by a number above 12, or points */
	bool is_open;			   /* a report's date may be of either order */
	bool is_dashed;			   /* nobody writes 12-31 */
	bool has_last;
	int64_t last_day[ORDERS], apart_days[ORDERS]; /* apart: summed over the log */
};

struct iostat {
	struct device *devices;
	size_t count;
	size_t columns[COLUMNS_MAX]; /* of known[]; SIZE_MAX: another */
	size_t column_count;
	bool in_devices; /* between a header line and the next blank one */
	bool has_report;
	unsigned reports; /* since the banner; the first is the average since boot, but with -y */
	bool has_time, had_time;
	int64_t t_ms, last_ms;
	struct dates dates;
	uint64_t turned_back, unlisted;
	size_t chosen;
};

static bool recognise(const char *line)
{
	char first[512];

	(void)snprintf(first, sizeof(first), "%.*s", (int)strcspn(line, "\r\n"), line);
	return (foreign_word(first, "Linux ") && strchr(first, '(') && strstr(first, "CPU)")) ||
	       (foreign_word(first, "Device") && strstr(first, "%util")) ||
	       foreign_word(first, "avg-cpu:") != NULL;
}

/* The numbers of a date, whatever stands between; how many. */
static size_t scan_numbers(const char *text, long *numbers, size_t max)
{
	size_t count = 0;

	while (*text && count < max) {
		char *end;

		if (*text < '0' || *text > '9') {
			text++;
			continue;
		}
		numbers[count++] = strtol(text, &end, 10);
		text = end;
	}
	return count;
}

static bool is_afternoon(const char *text, bool *has_half)
{
	bool pm = strstr(text, "PM") || strstr(text, "pm");

	*has_half = pm || strstr(text, "AM") || strstr(text, "am");
	return pm;
}

static bool set_date(const long *numbers, enum order order, struct tm *tm)
{
	const bool is_day_first = order == DAY_FIRST;
	long day = numbers[is_day_first ? 0 : 1], month = numbers[is_day_first ? 1 : 0], year = numbers[2];

	if (numbers[0] >= 1000)
		year = numbers[0], month = numbers[1], day = numbers[2];
	else if (year < 100)
		year += 2000;
	if (month < 1 || month > 12 || day < 1 || day > 31 || year < 1990 || year > 9999)
		return false;
	tm->tm_year = (int)year - 1900;
	tm->tm_mon = (int)month - 1;
	tm->tm_mday = (int)day;
	return true;
}

static void learn_distance(struct dates *dates, const long *numbers)
{
	int64_t days[ORDERS];

	for (int i = 0; i < ORDERS; i++) {
		struct tm tm = { 0 };

		if (!set_date(numbers, (enum order)i, &tm))
			return;
		days[i] = timegm(&tm) / S_PER_DAY;
	}
	for (int i = 0; i < ORDERS; i++) {
		if (dates->has_last)
			dates->apart_days[i] += llabs(days[i] - dates->last_day[i]);
		dates->last_day[i] = days[i];
	}
	dates->has_last = true;
}

static void learn_order(struct dates *dates, const char *text, const long *numbers)
{
	const char separator = text[strspn(text, "0123456789")];

	if (numbers[0] >= 1000)
		return;
	dates->is_dashed |= separator == '-';
	if (separator == '.' || (numbers[0] > 12 && numbers[0] <= 31))
		dates->is_day_first = true;
	if (numbers[1] > 12 && numbers[1] <= 31)
		dates->is_month_first = true;
	learn_distance(dates, numbers);
}

/* Three numbers with the same between them, as in no name of a device. */
static bool is_date(const char *text)
{
	size_t day = strspn(text, "0123456789"), month;

	if (!day || !text[day] || !strchr("/.-", text[day]))
		return false;
	month = strspn(text + day + 1, "0123456789");
	return month && text[day + 1 + month] == text[day] &&
	       strspn(text + day + month + 2, "0123456789") > 0;
}

/* "Linux 6.1.0 (host) 	11/30/26 	_x86_64_	(2 CPU)" */
static void look_banner(struct dates *dates, const char *line)
{
	const char *at = strchr(line, ')');
	long numbers[3];

	dates->has_last = false; /* of another run, which may be a month ago */
	at = at ? foreign_skip(at + 1) : "";
	if (strcspn(at, "/") < strcspn(at, " \t") && scan_numbers(at, numbers, 3) == 3)
		learn_order(dates, at, numbers);
}

static int look(struct foreign *foreign, const char *text)
{
	struct dates *dates = &((struct iostat *)foreign->state)->dates;
	const char *at = foreign_skip(text);
	long numbers[6];

	if (foreign_word(at, "Linux ")) {
		look_banner(dates, at);
	} else if (at == text && is_date(at) && strchr(at, ':') && scan_numbers(at, numbers, 6) == 6) {
		learn_order(dates, at, numbers);
		dates->is_open |= numbers[0] != numbers[1] && numbers[0] < 1000;
	}
	if (dates->is_day_first && dates->is_month_first)
		return foreign_fail(foreign, "dates of both orders, day first and month first");
	return 0;
}

static bool is_order_known(const struct dates *dates)
{
	return dates->is_day_first || dates->is_month_first ||
	       dates->apart_days[DAY_FIRST] != dates->apart_days[MONTH_FIRST];
}

static enum order order_of(const struct dates *dates)
{
	if (dates->is_day_first || dates->is_month_first)
		return dates->is_day_first ? DAY_FIRST : MONTH_FIRST;
	if (is_order_known(dates))
		return dates->apart_days[DAY_FIRST] < dates->apart_days[MONTH_FIRST] ? DAY_FIRST
										     : MONTH_FIRST;
	return dates->is_dashed ? DAY_FIRST : MONTH_FIRST;
}

/* "+0100" after the time of an ISO date; false without. */
static bool scan_offset(const char *line, long *offset_s)
{
	const char *at = strrchr(line, ':');
	long number;

	at = at ? at + strcspn(at, "+-Z") : "";
	if (*at == 'Z') {
		*offset_s = 0;
		return true;
	}
	if (!*at || strspn(at + 1, "0123456789") < 4)
		return false;
	number = strtol(at + 1, NULL, 10);
	*offset_s = (number / 100 * 3600 + number % 100 * 60) * (*at == '-' ? -1 : 1);
	return true;
}

static bool scan_time(const struct dates *dates, const char *line, int64_t *out_ms)
{
	long numbers[6], offset_s = 0, hour;
	struct tm tm = { .tm_isdst = -1 };
	bool has_half, is_pm = is_afternoon(line, &has_half);
	time_t t;

	if (scan_numbers(line, numbers, 6) != 6 || !set_date(numbers, order_of(dates), &tm))
		return false;
	hour = numbers[3];
	if (has_half)
		hour = hour % 12 + (is_pm ? 12 : 0);
	if (hour > 23 || numbers[4] > 59 || numbers[5] > 60)
		return false;
	tm.tm_hour = (int)hour;
	tm.tm_min = (int)numbers[4];
	tm.tm_sec = (int)numbers[5];
	/* Without a zone it is the time of the machine that wrote it: most likely of this one's zone. */
	if (numbers[0] >= 1000 && scan_offset(line, &offset_s))
		t = timegm(&tm) - offset_s;
	else
		t = mktime(&tm);
	if (t == (time_t)-1)
		return false;
	*out_ms = (int64_t)t * MS_PER_S;
	return true;
}

static size_t next_word(const char **at)
{
	*at = foreign_skip(*at);
	return strcspn(*at, " \t");
}

static int take_header(struct foreign *foreign, const char *line)
{
	struct iostat *iostat = foreign->state;
	bool has_bytes = false;
	const char *at = line;
	size_t length = next_word(&at);

	iostat->column_count = 0;
	for (at += length; (length = next_word(&at)) > 0; at += length) {
		size_t which = SIZE_MAX;

		if (length == 1 && *at == ':')
			continue;
		for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
			if (strlen(known[i].name) == length && strncmp(known[i].name, at, length) == 0)
				which = i;
		if (iostat->column_count == COLUMNS_MAX)
			return foreign_fail(foreign, "more than %d columns", COLUMNS_MAX);
		has_bytes |= which != SIZE_MAX && known[which].place == WRITE_BYTES;
		iostat->columns[iostat->column_count++] = which;
	}
	if (!has_bytes)
		return foreign_fail(foreign, "no column of bytes written: iostat is to be run with -x");
	return 0;
}

static struct device *find_device(struct iostat *iostat, const char *name, size_t length)
{
	struct device *device, *devices;

	for (size_t i = 0; i < iostat->count; i++)
		if (strncmp(iostat->devices[i].name, name, length) == 0 &&
			iostat->devices[i].name[length] == '\0')
			return &iostat->devices[i];
	if (iostat->count == DEVICES_MAX)
		return NULL;
	if (!iostat->devices) {
		devices = calloc(DEVICES_MAX, sizeof(*devices));
		if (!devices)
			return NULL;
		iostat->devices = devices;
	}
	device = &iostat->devices[iostat->count++];
	(void)snprintf(device->name, sizeof(device->name), "%.*s", (int)length, name);
	return device;
}

static int take_values(struct foreign *foreign, struct device *device, const char *at)
{
	struct iostat *iostat = foreign->state;
	int decimals = 0;
	size_t count = 0;

	for (size_t i = 0; i < PLACE_COUNT; i++)
		device->values[i] = NAN;
	for (; *foreign_skip(at); count++) {
		double value;
		const char *end = foreign_number(at, &value, &decimals);

		if (!end || count == iostat->column_count || (*end && *end != ' ' && *end != '\t'))
			return foreign_fail(foreign, "%s: no number, or one too many, at \"%.20s\"",
				device->name, foreign_skip(at));
		at = end;
		if (iostat->columns[count] == SIZE_MAX)
			continue;
		value *= known[iostat->columns[count]].factor;
		if (value > FOREIGN_BYTES_S_MAX ||
			(known[iostat->columns[count]].factor <= 1 && value > 1e12))
			return foreign_fail(foreign, "%s: a number that cannot be", device->name);
		device->values[known[iostat->columns[count]].place] = value;
	}
	if (count != iostat->column_count || (foreign->is_open_line && decimals < 2))
		return foreign_fail(foreign, "%s: %zu values where the header has %zu", device->name, count,
			iostat->column_count);
	device->is_listed = true;
	return 0;
}

static int take_device(struct foreign *foreign, const char *line)
{
	struct iostat *iostat = foreign->state;
	const char *at = line;
	size_t length = next_word(&at);
	const size_t count = iostat->count;
	struct device *device;
	int rc;

	if (length >= FOREIGN_NAME_MAX)
		return foreign_fail(foreign, "a device with a name of %zu letters", length);
	device = find_device(iostat, at, length);
	if (!device)
		return foreign_fail(foreign, "more than %d devices", DEVICES_MAX);
	rc = take_values(foreign, device, at + length);
	if (rc < 0)
		iostat->count = count; /* of a line that was cut the name may be, too */
	return rc;
}

static void weigh(double ios, double wait_ms, double *sum, double *weight)
{
	if (isnan(ios) || isnan(wait_ms))
		return;
	*sum += ios * wait_ms;
	*weight += ios;
}

static void fill_point(const struct device *device, struct foreign_point *point)
{
	const double *values = device->values;
	double sum = 0, weight = 0;

	point->write_ios_per_s = values[WRITE_IOS];
	point->read_ios_per_s = values[READ_IOS];
	point->write_bytes_per_s = values[WRITE_BYTES];
	point->read_bytes_per_s = values[READ_BYTES];
	point->inflight = values[QUEUE];
	weigh(values[WRITE_IOS], values[WRITE_WAIT_MS], &sum, &weight);
	weigh(values[READ_IOS], values[READ_WAIT_MS], &sum, &weight);
	if (weight > 0)
		point->lat_mean_ns = sum / weight * 1e6;
	else if (values[WAIT_MS] > 0)
		point->lat_mean_ns = values[WAIT_MS] * 1e6;
}

/* Reports come by a clock of their own; one that was set back does not undo them. */
static int64_t time_of_report(struct foreign *foreign)
{
	struct iostat *iostat = foreign->state;
	int64_t step_ms = foreign->step_ms ? foreign->step_ms : MS_PER_S, t_ms = iostat->t_ms;

	if (foreign->options.interval_ms && !foreign->step_ms)
		step_ms = foreign->options.interval_ms;
	if (!iostat->has_time)
		t_ms = iostat->last_ms + step_ms;
	else if (iostat->last_ms && t_ms <= iostat->last_ms) {
		iostat->turned_back += !foreign->is_survey;
		t_ms = iostat->last_ms + step_ms;
	}
	iostat->last_ms = t_ms;
	return t_ms;
}

/* The report so far is whole when something follows it. */
static int close_report(struct foreign *foreign)
{
	struct iostat *iostat = foreign->state;
	struct foreign_point point;
	const struct device *chosen = foreign->is_survey ? NULL : &iostat->devices[iostat->chosen];
	int rc = 0;

	if (!iostat->has_report)
		return 0;
	iostat->has_report = false;
	foreign_point_init(&point);
	point.t_ms = time_of_report(foreign);
	if (iostat->reports++ > 0) {
		for (size_t i = 0; i < iostat->count; i++)
			if (iostat->devices[i].is_listed)
				iostat->devices[i].total += iostat->devices[i].values[WRITE_BYTES] +
							    iostat->devices[i].values[READ_BYTES];
		if (chosen && chosen->is_listed) {
			fill_point(chosen, &point);
		} else if (chosen) {
			/* -z leaves out what did nothing. */
			point.write_bytes_per_s = point.read_bytes_per_s = 0;
			iostat->unlisted++;
		}
		rc = foreign_take(foreign, &point);
	}
	for (size_t i = 0; i < iostat->count; i++)
		iostat->devices[i].is_listed = false;
	iostat->had_time = iostat->has_time;
	iostat->has_time = false;
	return rc;
}

static int line(struct foreign *foreign, const char *text)
{
	struct iostat *iostat = foreign->state;
	const char *at = foreign_skip(text);
	int rc;

	if (!*at) {
		iostat->in_devices = false;
		return 0;
	}
	if (foreign_word(at, "Linux ")) {
		rc = close_report(foreign);
		iostat->reports = 0;
		iostat->in_devices = false;
		return rc;
	}
	if (foreign_word(at, "Device")) {
		/* Without times nothing else ends a report. */
		rc = close_report(foreign);
		if (rc == 0)
			rc = take_header(foreign, at);
		iostat->in_devices = rc == 0;
		iostat->has_report = rc == 0;
		return rc;
	}
	if (iostat->in_devices)
		return take_device(foreign, at);
	if (foreign_sysbench.recognise(at) || foreign_csv.recognise(at))
		return foreign_fail(foreign, "a line of another log in one of iostat: two logs in one file?");
	if (at != text || *at < '0' || *at > '9')
		return 0; /* avg-cpu and its numbers */
	rc = close_report(foreign);
	if (rc != 0)
		return rc;
	if (!scan_time(&iostat->dates, at, &iostat->t_ms))
		return foreign_fail(foreign, "a time in a form that is not known: \"%.40s\"", at);
	iostat->has_time = true;
	return 0;
}

static int choose(struct foreign *foreign)
{
	struct iostat *iostat = foreign->state;
	const char *wanted = foreign->options.device;
	size_t best = SIZE_MAX;

	for (size_t i = 0; i < iostat->count; i++) {
		const struct device *device = &iostat->devices[i];

		if (wanted ? strcmp(device->name, wanted) == 0
			   : best == SIZE_MAX || device->total > iostat->devices[best].total)
			best = i;
	}
	if (best == SIZE_MAX && wanted)
		return foreign_fail(foreign, "no device %.60s in it", wanted);
	if (best == SIZE_MAX)
		return foreign_fail(foreign, "no device in it");
	iostat->chosen = best;
	(void)snprintf(foreign->info.device, FOREIGN_NAME_MAX, "%s", iostat->devices[best].name);
	if (!wanted && iostat->count > 1)
		foreign_warn(foreign, "%zu devices in it: %s, the busiest, is taken", iostat->count,
			foreign->info.device);
	return 0;
}

static int survey_end(struct foreign *foreign)
{
	struct iostat *iostat = foreign->state;
	int rc = choose(foreign);

	if (rc < 0)
		return rc;
	if (foreign->points == 0)
		return foreign_fail(foreign, "one report alone, taken for the average since boot (not so "
					     "with iostat -y): no sample");
	foreign_warn(foreign,
		"the first report is left out, taken for the average since boot; not so with iostat -y");
	foreign->is_absolute = iostat->had_time;
	if (iostat->had_time && iostat->dates.is_open && !is_order_known(&iostat->dates))
		foreign_warn(foreign,
			"no date tells whether the day or the month comes first: taken for the %s",
			order_of(&iostat->dates) == DAY_FIRST ? "day" : "month");
	foreign->is_timeless = !iostat->had_time;
	if (foreign->is_timeless)
		foreign->declared_ms = foreign->options.interval_ms;
	return 0;
}

static void warn_late(struct foreign *foreign)
{
	struct iostat *iostat = foreign->state;

	if (iostat->turned_back)
		foreign_warn(foreign, "the clock went back %llu time%s: the time goes on by the interval",
			(unsigned long long)iostat->turned_back, iostat->turned_back == 1 ? "" : "s");
	if (iostat->unlisted)
		foreign_warn(foreign, "%s is missing in %llu reports (iostat -z?): taken for idle",
			foreign->info.device, (unsigned long long)iostat->unlisted);
}

/* Each report ends with a blank line: one without it may lack devices. */
static bool is_cut(const struct iostat *iostat)
{
	return iostat->in_devices && iostat->count && !iostat->devices[iostat->chosen].is_listed;
}

static int end(struct foreign *foreign)
{
	struct iostat *iostat = foreign->state;
	int rc = is_cut(iostat) ? 0 : close_report(foreign);

	if (rc == 0 && foreign->is_survey)
		rc = survey_end(foreign);
	else if (rc == 0)
		warn_late(foreign);
	iostat->last_ms = 0;
	iostat->reports = 0;
	iostat->has_time = iostat->in_devices = iostat->has_report = false;
	return rc;
}

static void iostat_free(void *state)
{
	struct iostat *iostat = state;

	free(iostat->devices);
}

const struct foreign_format foreign_iostat = {
	.name = "iostat",
	.state_bytes = sizeof(struct iostat),
	.recognise = recognise,
	.look = look,
	.line = line,
	.end = end,
	.free = iostat_free,
};
