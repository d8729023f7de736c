/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "drivesoak_plan.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "archive/figures.h"
#include "archive/journal.h"
#include "archive/report.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/units.h"
#include "drivesoak_output.h"
#include "run/run.h"
#include "run/wearplan.h"
#include "target/device.h"
#include "target/inventory.h"
#include "target/target.h"

#define FROM_MAX      160
#define RATE_TEXT_MAX (FROM_MAX + UNITS_TEXT_MAX + 4)

/* What is to be written on. */
struct subject {
	char target[600], model[64], serial[160], transport[16];
	bool is_rotational;
	uint64_t capacity_bytes, fill_bytes;
	unsigned files; /* 0: no files */
	bool needs_claim;
	const char *discard;
	bool is_stranger; /* the kernel does not tell who it is */
	char note[TARGET_WHY_MAX], refusal[TARGET_WHY_MAX];
};

/* A rate and where it is from. */
struct rate {
	double bytes_per_s; /* NAN */
	char from[FROM_MAX];
};

struct plan {
	const struct config_drive *drive;
	struct subject subject;
	struct rate fill, soak; /* soak: what it writes */
	struct wearplan_input input;
	struct wearplan wear;
};

/* Of the requests of the workload. */
static double write_share(const struct config_drive *drive)
{
	switch (drive->workload) {
	case WORKLOAD_RANDOM_READ:
		return 0;
	case WORKLOAD_RANDOM_MIXED:
		return (100 - (double)drive->read_percent) / 100;
	default:
		return 1;
	}
}

static int refusal_code(int rc)
{
	return rc == -ENOENT || rc == -ENOTDIR ? EX_NOINPUT : rc == -EACCES ? EX_NOPERM : EX_CONFIG;
}

static int subject_of_directory(
	const struct config *config, const struct config_drive *drive, struct subject *out)
{
	const struct target_request request = { .drive = drive, .state_directory = config->state_directory };
	static struct target_facts facts;
	struct target_plan plan;
	int rc = target_check(&request, &facts, &plan, out->refusal);

	if (rc < 0)
		return output_fail(refusal_code(rc), drive->name, out->refusal);
	(void)snprintf(
		out->target, sizeof(out->target), "directory %s on %s", drive->directory, facts.filesystem);
	out->capacity_bytes = facts.capacity_bytes;
	out->fill_bytes = plan.goal_bytes;
	out->files = plan.files;
	out->discard = !drive->discard ? "nothing"
		       : facts.is_on_root
			       ? "nothing: the root filesystem is left alone"
			       : "the free space of the filesystem is trimmed when the service is root";
	text_copy(out->note, sizeof(out->note), plan.note);
	/* Of several disks below none says how fast all of them are. */
	if (facts.disk_count == 1) {
		text_copy(out->model, sizeof(out->model), facts.disks[0].model);
		text_copy(out->serial, sizeof(out->serial), facts.disks[0].serial);
		text_copy(out->transport, sizeof(out->transport), facts.disks[0].transport);
		out->is_rotational = facts.disks[0].is_rotational;
	}
	return EX_OK;
}

/* Does the kernel tell what the configuration names the drive by? */
static bool is_known_as(const struct config_drive *drive, const struct identity *identity)
{
	return (drive->serial[0] && identity->serial[0]) || (drive->wwid[0] && identity->wwid[0]);
}

/* What is known without opening it. */
static int subject_of_disk(
	const struct config_drive *drive, const struct inventory_disk *disk, struct subject *out)
{
	struct target_plan plan = { 0 };
	char why[TARGET_WHY_MAX] = "";
	int rc = device_plan(drive, &disk->identity, &plan, why);

	if (rc < 0)
		return output_fail(EX_CONFIG, drive->name, why);
	(void)snprintf(out->target, sizeof(out->target), "device %s, now %s", drive->device, disk->node);
	out->capacity_bytes = disk->identity.capacity_bytes ? disk->identity.capacity_bytes
							    : WEARPLAN_UNKNOWN;
	out->fill_bytes = plan.goal_bytes;
	text_copy(out->note, sizeof(out->note), plan.note);
	text_copy(out->model, sizeof(out->model), disk->identity.model);
	text_copy(out->serial, sizeof(out->serial), disk->identity.serial);
	text_copy(out->transport, sizeof(out->transport), disk->block.transport);
	out->is_rotational = disk->block.is_rotational;
	out->discard = drive->discard ? "the whole drive, once it is armed and started" : "nothing";
	out->needs_claim = true;
	if (!is_known_as(drive, &disk->identity))
		out->is_stranger = true;
	else if (!inventory_matches(&disk->identity, drive->serial, drive->wwid))
		(void)snprintf(out->refusal, sizeof(out->refusal),
			"the drive there is not the one of the configuration: its serial is %s, its wwid %s",
			disk->identity.serial[0] ? disk->identity.serial : "unknown",
			disk->identity.wwid[0] ? disk->identity.wwid : "unknown");
	if (!disk->is_usable && !out->refusal[0])
		guard_report_text(&disk->report, GUARD_HARD, out->refusal, sizeof(out->refusal));
	return EX_OK;
}

static int subject_of_device(
	const struct config *config, const struct config_drive *drive, struct subject *out)
{
	char name[sizeof(((struct blockdev *)NULL)->name)], why[GUARD_TEXT_MAX] = "";
	struct inventory_disk *disks = NULL;
	size_t count = 0;
	int rc = inventory_find("", drive->device, drive->serial, drive->wwid, name, why), code;

	if (rc < 0)
		return output_fail(rc == -ENOENT ? EX_NOINPUT : EX_CONFIG, drive->name, why);
	rc = inventory_read("", config->state_directory, &disks, &count);
	if (rc < 0)
		return output_fail(EX_OSERR, drive->name, strerror(-rc));
	code = EX_NOINPUT;
	for (size_t i = 0; i < count && code == EX_NOINPUT; i++)
		if (strcmp(disks[i].block.name, name) == 0)
			code = subject_of_disk(drive, &disks[i], out);
	if (code == EX_NOINPUT)
		(void)output_fail(code, drive->name, "the drive has just gone");
	free(disks);
	return code;
}

static int subject_of(const struct config *config, const struct config_drive *drive, struct subject *out)
{
	*out = (struct subject){ .capacity_bytes = WEARPLAN_UNKNOWN, .fill_bytes = WEARPLAN_UNKNOWN };
	return drive->device[0] ? subject_of_device(config, drive, out)
				: subject_of_directory(config, drive, out);
}

/* The search for an earlier run of this drive, else of this model, that did the same. */
struct search {
	struct journal *journal;
	const struct config_drive *drive;
	const struct subject *subject;
	const char *frozen; /* as a run of today would have it */
	struct rate fill, soak;
	bool is_soak_own, is_fill_own;
};

/* The value of @key among "key=value" lines, to the end of its line; NULL when it is not there. */
static const char *line_value(const char *lines, const char *key, size_t *length)
{
	const size_t key_length = strlen(key);

	for (; *lines; lines += *lines == '\n') {
		*length = strcspn(lines, "\n");
		if (strncmp(lines, key, key_length) == 0 && lines[key_length] == '=') {
			*length -= key_length + 1;
			return lines + key_length + 1;
		}
		lines += *length;
	}
	return NULL;
}

/* Was @run, by its frozen keys, a load of the same kind? */
static bool is_same_load(const char *run, const char *today)
{
	static const char *const keys[] = { "workload", "read-percent", "block-size", "fsync-every", "rate",
		"payload" };

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		size_t a_length = 0, b_length = 0;
		const char *a = line_value(run, keys[i], &a_length),
			   *b = line_value(today, keys[i], &b_length);

		if (!a || !b || a_length != b_length || memcmp(a, b, a_length) != 0)
			return false;
	}
	return true;
}

static bool is_own(const struct search *search, const struct run_record *run)
{
	return strcmp(run->drive, search->drive->name) == 0 &&
	       (!run->serial[0] || !search->subject->serial[0] ||
		       strcmp(run->serial, search->subject->serial) == 0);
}

struct fill_sum {
	double bytes, ns;
};

static int fill_add(const struct sample *sample, void *arg)
{
	struct fill_sum *total = arg;

	if (sample->phase > PHASE_FILL)
		return 1;
	if (sample->state == SAMPLE_FILLING && !(sample->flags & SAMPLE_FLAG_PARTIAL)) {
		total->bytes += (double)sample->write_bytes;
		total->ns += (double)sample->elapsed_ns;
	}
	return 0;
}

static void search_fill(struct search *search, const struct run_record *run, const char *whose)
{
	struct fill_sum total = { 0 };

	if (journal_each_sample(search->journal, run->id, INT64_MIN, INT64_MAX, false, fill_add, &total) <
			0 ||
		total.ns <= 0 || total.bytes <= 0)
		return;
	search->fill.bytes_per_s = total.bytes / total.ns * (double)NS_PER_S;
	(void)snprintf(search->fill.from, FROM_MAX, "measured by the fill of run %s of %s", run->id, whose);
}

/* The mean: it is what bytes come of, with its stalls. */
static void search_soak(struct search *search, const struct run_record *run, const char *whose)
{
	struct summary_figures figures;
	const struct summary_part *part;

	if (figures_read(search->journal, run, &figures) < 0)
		return;
	part = summary_shown(&figures);
	if (!part->samples || !(part->write.mean > 0))
		return;
	search->soak.bytes_per_s = part->write.mean;
	(void)snprintf(search->soak.from, FROM_MAX, "measured: mean of run %s of %s%s", run->id, whose,
		summary_is_host_limited(&figures) ? ", where the host was the limit" : "");
}

static int search_run(const struct run_record *run, void *arg)
{
	struct search *search = arg;
	const bool own = is_own(search, run);
	const char *whose = own ? "this drive" : "this model";

	if (!own && (!run->model[0] || strcmp(run->model, search->subject->model) != 0))
		return 0;
	if (isnan(search->fill.bytes_per_s) || (own && !search->is_fill_own)) {
		search_fill(search, run, whose);
		search->is_fill_own = own && !isnan(search->fill.bytes_per_s);
	}
	if ((isnan(search->soak.bytes_per_s) || (own && !search->is_soak_own)) &&
		is_same_load(run->frozen, search->frozen)) {
		search_soak(search, run, whose);
		search->is_soak_own = own && !isnan(search->soak.bytes_per_s);
	}
	return search->is_fill_own && search->is_soak_own;
}

/* What earlier runs measured; without a journal, nothing. */
static void rates_measure(const struct config *config, struct plan *plan)
{
	struct text path = TEXT_INIT, frozen = TEXT_INIT;
	struct search search = {
		.drive = plan->drive, .subject = &plan->subject, .fill = { NAN, "" }, .soak = { NAN, "" }
	};

	text_addf(&path, "%s/journal.db", config->state_directory);
	config_drive_frozen(plan->drive, config->sample_interval_ns, &frozen);
	search.frozen = text_string(&frozen);
	if (journal_open(text_string(&path), true, &search.journal) == 0) {
		(void)journal_each_run(search.journal, search_run, &search);
		journal_close(search.journal);
	}
	plan->fill = search.fill;
	plan->soak = search.soak;
	text_fini(&path);
	text_fini(&frozen);
}

static void rate_set(struct rate *rate, double bytes_per_s, const char *how, const char *what)
{
	if (isnan(bytes_per_s))
		how = what = "";
	rate->bytes_per_s = bytes_per_s;
	(void)snprintf(rate->from, FROM_MAX, "%s%s", how, what);
}

static void rates_choose(const struct config *config, struct plan *plan, uint64_t bytes_per_s)
{
	const struct subject *subject = &plan->subject;
	const double share = write_share(plan->drive);
	const double limit = plan->drive->rate_bytes_per_s ? (double)plan->drive->rate_bytes_per_s * share
							   : NAN;

	rates_measure(config, plan);
	if (isnan(plan->fill.bytes_per_s))
		rate_set(&plan->fill, wearplan_assume_fill(subject->transport, subject->is_rotational),
			"assumed for ", subject->transport);
	if (bytes_per_s)
		rate_set(&plan->soak, (double)bytes_per_s, "given by ", "--rate");
	else if (isnan(plan->soak.bytes_per_s))
		rate_set(&plan->soak,
			wearplan_assume_soak(subject->transport, subject->is_rotational) * share,
			"assumed for ", subject->transport);
	if (!bytes_per_s && !isnan(limit) && !(plan->soak.bytes_per_s <= limit))
		rate_set(&plan->soak, limit, "at most, by the key ", "rate");
}

static void plan_make(const struct config *config, struct plan *plan, uint64_t bytes_per_s)
{
	const struct config_drive *drive = plan->drive;

	rates_choose(config, plan, bytes_per_s);
	plan->input = (struct wearplan_input){
		.capacity_bytes = plan->subject.capacity_bytes,
		.fill_bytes = plan->subject.fill_bytes,
		.fill_bytes_per_s = plan->fill.bytes_per_s,
		.soak_bytes_per_s = plan->soak.bytes_per_s,
		.write_share = write_share(drive) > 0 ? 1 : 0,
		.settle_ns = drive->settle_ns,
		.soak_ns = drive->duration_ns,
		.probe_ns = drive->probe_phase_ns,
		.verifies = drive->verify == VERIFY_END && drive->payload == PAYLOAD_RANDOM,
		.rated_bytes = drive->rated_tbw_bytes,
		.budget_bytes = drive->write_budget_bytes,
		.wear_limit_pct = drive->wear_limit_pct,
	};
	wearplan_make(&plan->input, &plan->wear);
}

/* A row of the text: @name once, then lines below it. */
static void row(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void row(const char *name, const char *format, ...)
{
	va_list args;

	(void)printf("  %-14s  ", name);
	va_start(args, format);
	(void)vprintf(format, args);
	va_end(args);
	(void)putchar('\n');
}

static const char *bytes_text(uint64_t bytes, char *text)
{
	if (bytes == WEARPLAN_UNKNOWN)
		return "unknown";
	units_print_bytes_rounded((double)bytes, text);
	return text;
}

static const char *time_text(uint64_t ns, char *text)
{
	if (ns == WEARPLAN_UNKNOWN)
		return "unknown";
	units_print_duration_rounded((double)ns, text);
	return text;
}

/* With where it is from. */
static const char *rate_text(const struct rate *rate, char *text)
{
	char number[UNITS_TEXT_MAX];

	units_print_rate_rounded(rate->bytes_per_s, number);
	(void)snprintf(text, RATE_TEXT_MAX, "%s (%s)", number, rate->from);
	return text;
}

static const char *percent_text(double pct, char *text)
{
	if (isnan(pct))
		return "unknown";
	(void)snprintf(text, UNITS_TEXT_MAX, pct < 10 ? "%.2f %%" : "%.1f %%", pct);
	return text;
}

/* Whether @rate is known; says so when it is not. */
static bool is_known(const struct plan *plan, const struct rate *rate, const char *what)
{
	if (!isnan(rate->bytes_per_s))
		return true;
	row("", "%s is unknown: nothing was measured before, and nothing is assumed of %s", what,
		plan->subject.transport[0] ? plan->subject.transport : "this kind of drive");
	return false;
}

static void print_fill(const struct plan *plan)
{
	char bytes[UNITS_TEXT_MAX], pct[UNITS_TEXT_MAX], time[UNITS_TEXT_MAX], rate[RATE_TEXT_MAX];

	row("Discard", "%s", plan->subject.discard);
	row("Fill", "%s, %s of the capacity", bytes_text(plan->subject.fill_bytes, bytes),
		percent_text(plan->wear.fill_pct, pct));
	if (plan->subject.files)
		row("", "in %u files of its own", plan->subject.files);
	if (plan->subject.note[0])
		row("", "%s", plan->subject.note);
	if (is_known(plan, &plan->fill, "how long it takes"))
		row("", "takes %s at %s", time_text(plan->wear.fill_ns, time), rate_text(&plan->fill, rate));
}

static void print_soak(const struct plan *plan)
{
	const struct config_drive *drive = plan->drive;
	char block[UNITS_TEXT_MAX], bytes[UNITS_TEXT_MAX], time[UNITS_TEXT_MAX], rate[RATE_TEXT_MAX];

	units_print_bytes(drive->block_bytes, block);
	row("Soak", "%s in blocks of %s, %s", config_workload_name(drive->workload), block,
		drive->duration_ns ? time_text(drive->duration_ns, time) : "until it is stopped");
	if (plan->input.write_share <= 0)
		row("", "%s", "writes nothing");
	else if (is_known(plan, &plan->soak, "how much it writes"))
		row("", "writes %s a day at %s", bytes_text(plan->wear.bytes_per_day, bytes),
			rate_text(&plan->soak, rate));
	if (drive->probe_phase_ns && drive->duration_ns)
		row("Probe", "%s after the soak; writes at most: %s",
			time_text(drive->probe_phase_ns * RUN_PROBE_STEPS, time),
			bytes_text(plan->wear.probe_bytes, bytes));
	if (plan->input.verifies)
		row("Verification", "reads the fill back; takes about: %s",
			time_text(plan->wear.read_ns, time));
}

static void print_total(const struct plan *plan)
{
	char text[UNITS_TEXT_MAX], ends[REPORT_TIME_MAX];
	const struct wearplan *wear = &plan->wear;

	if (wear->total_bytes != WEARPLAN_UNKNOWN)
		row("Written", "%s in all", bytes_text(wear->total_bytes, text));
	else
		row("Written", "unknown: %s",
			plan->drive->duration_ns ? "the soak's rate is not known"
						 : "the soak lasts until it is stopped");
	if (wear->total_ns != WEARPLAN_UNKNOWN) {
		report_print_time(clock_wall_ms() + (int64_t)(wear->total_ns / NS_PER_MS), ends);
		row("Time", "%s in all; started now, it would end at %s", time_text(wear->total_ns, text),
			ends);
	} else if (plan->drive->duration_ns) {
		row("Time", "more than %s: how long the fill takes is unknown",
			time_text(wear->least_ns, text));
	} else {
		row("Time", "%s", "until it is stopped");
	}
}

static void print_limit(const char *name, const struct wearplan_limit *limit)
{
	char a[UNITS_TEXT_MAX], b[UNITS_TEXT_MAX];

	bytes_text(limit->bytes, a);
	switch (limit->when) {
	case WEARPLAN_NOT_GIVEN:
		break;
	case WEARPLAN_NEVER:
		row(name, "%s: not reached by this run", a);
		break;
	case WEARPLAN_CANT_TELL:
		row(name, "%s: when it is reached is unknown without a rate", a);
		break;
	case WEARPLAN_IN_FILL:
	case WEARPLAN_IN_SOAK:
		row(name, "%s: REACHED in the %s, after %s; the run ends there", a,
			limit->when == WEARPLAN_IN_FILL ? "fill" : "soak", time_text(limit->after_ns, b));
	}
}

static void print_wear(const struct plan *plan)
{
	const struct config_drive *drive = plan->drive;
	char a[UNITS_TEXT_MAX], b[UNITS_TEXT_MAX], c[UNITS_TEXT_MAX];

	if (drive->rated_tbw_bytes)
		row("Wear", "%s of the rated endurance (%s) a day of soak, %s by the whole run",
			percent_text(plan->wear.rated_pct_per_day, a), bytes_text(drive->rated_tbw_bytes, b),
			percent_text(plan->wear.rated_pct, c));
	else
		row("Wear", "%s", "unknown: rated-tbw, the endurance that the maker promises, is not set");
	if (drive->write_budget_bytes)
		print_limit("Write budget", &plan->wear.budget);
	else
		row("Write budget", "%s", "none: write-budget is not set");
	if (drive->wear_limit_pct <= 0)
		row("Wear limit", "%s", "none");
	else if (plan->wear.wear.when == WEARPLAN_NOT_GIVEN)
		row("Wear limit", "%s added by the run; when it is reached is unknown without rated-tbw",
			percent_text(drive->wear_limit_pct, a));
	else
		print_limit("Wear limit", &plan->wear.wear);
}

static void print_text(const struct plan *plan)
{
	const struct subject *subject = &plan->subject;
	char a[UNITS_TEXT_MAX];

	(void)printf("Plan of %s: %s\n", plan->drive->name, subject->target);
	if (subject->refusal[0])
		row("REFUSED", "%s", subject->refusal);
	row("Drive", "%s, serial %s, %s", subject->model[0] ? subject->model : "model unknown",
		subject->serial[0] ? subject->serial : "unknown", bytes_text(subject->capacity_bytes, a));
	if (subject->is_stranger)
		row("", "%s", "whether it is the drive of the configuration is only known once it is opened");
	if (subject->needs_claim && !subject->refusal[0])
		row("Consent", "all that it holds is lost; nothing is written before: drivesoak arm %s",
			plan->drive->name);
	print_fill(plan);
	print_soak(plan);
	print_total(plan);
	print_wear(plan);
}

static void put_seconds(struct json *json, const char *key, uint64_t ns)
{
	if (ns == WEARPLAN_UNKNOWN)
		json_put_null(json, key);
	else
		json_put_double(json, key, (double)(ns / NS_PER_MS) / 1000);
}

static void put_text(struct json *json, const char *key, const char *value)
{
	json_put_string(json, key, value[0] ? value : NULL);
}

static void put_rate(struct json *json, const char *key, const char *from_key, const struct rate *rate)
{
	json_put_double(json, key, rate->bytes_per_s);
	put_text(json, from_key, rate->from);
}

static void put_limit(struct json *json, const char *key, const struct wearplan_limit *limit)
{
	static const char *const when[] = { NULL, "never", "fill", "soak", "unknown" };

	json_key(json, key);
	if (limit->when == WEARPLAN_NOT_GIVEN) {
		json_null(json);
		return;
	}
	json_object_open(json);
	json_put_u64(json, "bytes", limit->bytes);
	json_put_string(json, "reached_in", when[limit->when]);
	put_seconds(json, "reached_after_s", limit->after_ns);
	json_object_close(json);
}

static void put_figures(struct json *json, const struct plan *plan)
{
	const struct wearplan *wear = &plan->wear;

	json_put_double(json, "fill_pct", wear->fill_pct);
	put_rate(json, "fill_bytes_per_s", "fill_rate_from", &plan->fill);
	put_seconds(json, "fill_s", wear->fill_ns);
	put_rate(json, "soak_write_bytes_per_s", "soak_rate_from", &plan->soak);
	json_put_u64(json, "write_bytes_per_day", wear->bytes_per_day);
	if (plan->drive->duration_ns)
		put_seconds(json, "duration_s", plan->drive->duration_ns);
	else
		json_put_null(json, "duration_s");
	json_put_u64(json, "soak_write_bytes", wear->soak_bytes);
	json_put_u64(json, "probe_write_bytes_most", wear->probe_bytes);
	json_put_u64(json, "total_write_bytes", wear->total_bytes);
	put_seconds(json, "total_s", wear->total_ns);
	put_seconds(json, "least_s", wear->least_ns);
	json_put_ms_as_s(json, "ends_s",
		wear->total_ns == WEARPLAN_UNKNOWN ? INT64_MIN
						   : clock_wall_ms() + (int64_t)(wear->total_ns / NS_PER_MS));
	json_put_u64(json, "rated_tbw_bytes",
		plan->drive->rated_tbw_bytes ? plan->drive->rated_tbw_bytes : JSON_UNKNOWN_U64);
	json_put_double(json, "rated_pct_per_day", wear->rated_pct_per_day);
	json_put_double(json, "rated_pct", wear->rated_pct);
	put_limit(json, "write_budget", &wear->budget);
	json_put_double(json, "wear_limit_pct", plan->drive->wear_limit_pct);
	put_limit(json, "wear_limit", &wear->wear);
}

static void print_json(const struct plan *plan)
{
	const struct subject *subject = &plan->subject;
	struct text text = TEXT_INIT;
	struct json json;

	json_init(&json, &text);
	json_object_open(&json);
	json_put_string(&json, "drive", plan->drive->name);
	json_put_string(&json, "target", subject->target);
	put_text(&json, "refused", subject->refusal);
	put_text(&json, "note", subject->note);
	put_text(&json, "model", subject->model);
	put_text(&json, "serial", subject->serial);
	put_text(&json, "transport", subject->transport);
	json_put_u64(&json, "capacity_bytes", subject->capacity_bytes);
	json_put_u64(&json, "fill_bytes", subject->fill_bytes);
	put_figures(&json, plan);
	json_object_close(&json);
	(void)puts(text_string(&text));
	text_fini(&text);
}

int drivesoak_plan(
	const struct config *config, const struct config_drive *drive, uint64_t bytes_per_s, bool is_json)
{
	static struct plan plan;
	int code;

	plan.drive = drive;
	code = subject_of(config, drive, &plan.subject);
	if (code != EX_OK)
		return code;
	plan_make(config, &plan, bytes_per_s);
	if (is_json)
		print_json(&plan);
	else
		print_text(&plan);
	if (fflush(stdout) != 0 || ferror(stdout))
		return output_fail(EX_IOERR, "standard output", strerror(errno));
	return plan.subject.refusal[0] ? EX_CONFIG : EX_OK;
}
