/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "measure/verdict_health.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/units.h"

#define BIT_SPARE	(1u << 0)
#define BIT_TEMPERATURE (1u << 1)
#define BIT_UNRELIABLE	(1u << 2)
#define BIT_READ_ONLY	(1u << 3)
#define BIT_BACKUP	(1u << 4)
#define BIT_PMR		(1u << 5)

#define WORN_PERCENT  100
#define WEAR_RATIO    1.5
#define PERCENT_STEPS 1 /* two whole percents may be so much nearer to each other than they look */

struct counter {
	const char *name;
	size_t at;
	enum verdict_health_what what;
	enum verdict_health_weight grown;
	const char *meaning; /* of growth */
};

#define AT(field) offsetof(struct verdict_health_reading, field)

static const struct counter counters[] = {
	{ "media errors", AT(media_errors), VERDICT_HEALTH_MEDIA_ERRORS, VERDICT_HEALTH_FAIL, "" },
	{ "reallocated sectors", AT(reallocated), VERDICT_HEALTH_REALLOCATED, VERDICT_HEALTH_REMARK, "" },
	{ "CRC errors", AT(crc_errors), VERDICT_HEALTH_CRC, VERDICT_HEALTH_REMARK,
		": the cable or the backplane" },
	{ "unsafe shutdowns", AT(unsafe_shutdowns), VERDICT_HEALTH_UNSAFE_SHUTDOWNS, VERDICT_HEALTH_REMARK,
		": the power supply, or a reset" },
	{ "minutes above the warning temperature", AT(warning_temp_minutes), VERDICT_HEALTH_THROTTLED,
		VERDICT_HEALTH_REMARK, "" },
	{ "minutes above the critical temperature", AT(critical_temp_minutes), VERDICT_HEALTH_THROTTLED,
		VERDICT_HEALTH_REMARK, "" },
	{ "light thermal throttlings", AT(thermal1_count), VERDICT_HEALTH_THROTTLED, VERDICT_HEALTH_REMARK,
		"" },
	{ "heavy thermal throttlings", AT(thermal2_count), VERDICT_HEALTH_THROTTLED, VERDICT_HEALTH_REMARK,
		"" },
	{ "seconds of light thermal throttling", AT(thermal1_s), VERDICT_HEALTH_THROTTLED,
		VERDICT_HEALTH_REMARK, "" },
	{ "seconds of heavy thermal throttling", AT(thermal2_s), VERDICT_HEALTH_THROTTLED,
		VERDICT_HEALTH_REMARK, "" },
	{ "thermal throttling events", AT(throttle_events), VERDICT_HEALTH_THROTTLED, VERDICT_HEALTH_REMARK,
		"" },
};

static const struct {
	unsigned bit;
	enum verdict_health_what what;
	enum verdict_health_weight weight;
	const char *text;
} warnings[] = {
	{ BIT_UNRELIABLE, VERDICT_HEALTH_UNRELIABLE, VERDICT_HEALTH_FAIL,
		"the drive calls itself unreliable (critical warning, bit 2)" },
	{ BIT_READ_ONLY, VERDICT_HEALTH_READ_ONLY, VERDICT_HEALTH_FAIL,
		"the drive has become read-only (critical warning, bit 3)" },
	{ BIT_BACKUP, VERDICT_HEALTH_BACKUP_FAILED, VERDICT_HEALTH_FAIL,
		"the drive's protection against power loss has failed (critical warning, bit 4)" },
	{ BIT_PMR, VERDICT_HEALTH_PMR_READ_ONLY, VERDICT_HEALTH_REMARK,
		"the drive's persistent memory has become read-only (critical warning, bit 5)" },
	{ BIT_TEMPERATURE, VERDICT_HEALTH_TEMPERATURE, VERDICT_HEALTH_REMARK,
		"the drive's temperature left its limits (critical warning, bit 1)" },
};

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

void verdict_health_reading_init(struct verdict_health_reading *reading)
{
	*reading = (struct verdict_health_reading){
		.critical_warning = VERDICT_HEALTH_UNKNOWN,
		.smart_failed = VERDICT_HEALTH_UNKNOWN,
		.percent_used = NAN,
		.spare_pct = NAN,
		.spare_threshold_pct = NAN,
	};
	for (size_t i = 0; i < ARRAY_LEN(counters); i++)
		*(uint64_t *)((char *)reading + counters[i].at) = VERDICT_HEALTH_UNKNOWN;
}

static void __attribute__((format(printf, 4, 5))) add(struct verdict_health *out,
	enum verdict_health_what what, enum verdict_health_weight weight, const char *format, ...)
{
	struct verdict_health_finding *finding = &out->findings[out->count];
	va_list arguments;

	if (out->count == VERDICT_HEALTH_FINDINGS_MAX)
		return;
	out->count++;
	finding->what = what;
	finding->weight = weight;
	va_start(arguments, format);
	(void)vsnprintf(finding->text, sizeof(finding->text), format, arguments);
	va_end(arguments);
}

static void judge_counter(
	const struct counter *counter, const struct verdict_health_input *input, struct verdict_health *out)
{
	uint64_t first = *(const uint64_t *)((const char *)&input->first + counter->at);
	uint64_t last = *(const uint64_t *)((const char *)&input->last + counter->at);

	if (last == VERDICT_HEALTH_UNKNOWN)
		return;
	if (first == VERDICT_HEALTH_UNKNOWN || last == first) {
		if (last)
			add(out, counter->what, VERDICT_HEALTH_INFORMATION,
				"%s of the drive's life: %" PRIu64, counter->name, last);
	} else if (last < first) {
		add(out, counter->what, VERDICT_HEALTH_INFORMATION,
			"%s went back from %" PRIu64 " to %" PRIu64 ", growth is unknown", counter->name,
			first, last);
	} else {
		add(out, counter->what, counter->grown, "%s grew by %" PRIu64 " to %" PRIu64 "%s",
			counter->name, last - first, last, counter->meaning);
	}
}

/* Of these bits, those set now and not at the start. What the start was nobody knows without a reading. */
static unsigned new_bits(const struct verdict_health_input *input)
{
	uint64_t first = input->first.critical_warning, last = input->last.critical_warning;

	if (first == VERDICT_HEALTH_UNKNOWN || last == VERDICT_HEALTH_UNKNOWN)
		return 0;
	return (unsigned)(last & ~first);
}

static bool is_spare_low(const struct verdict_health_reading *reading)
{
	/* Comparisons with NAN are false; a threshold of 0 is "not reported". */
	return reading->spare_threshold_pct > 0 && reading->spare_pct < reading->spare_threshold_pct;
}

/* Drives set the bit "unreliable" for no more than their rated wear; the temperature bit says nothing about that. */
static bool is_worn_by_rating(const struct verdict_health_reading *reading)
{
	return (reading->critical_warning & ~(uint64_t)BIT_TEMPERATURE) == BIT_UNRELIABLE &&
	       reading->percent_used >= WORN_PERCENT && !is_spare_low(reading);
}

static void judge_warnings(const struct verdict_health_input *input, struct verdict_health *out)
{
	unsigned bits = new_bits(input);

	for (size_t i = 0; i < ARRAY_LEN(warnings); i++) {
		bool is_old = input->last.critical_warning != VERDICT_HEALTH_UNKNOWN &&
			      (input->last.critical_warning & warnings[i].bit) && !(bits & warnings[i].bit);

		if (is_old)
			add(out, warnings[i].what, VERDICT_HEALTH_INFORMATION, "%s, since before the run",
				warnings[i].text);
		if (!(bits & warnings[i].bit))
			continue;
		if (warnings[i].bit == BIT_UNRELIABLE && is_worn_by_rating(&input->last))
			add(out, VERDICT_HEALTH_WORN, VERDICT_HEALTH_REMARK,
				"worn by its rating: %g %% used (critical warning, bit 2)",
				input->last.percent_used);
		else
			add(out, warnings[i].what, warnings[i].weight, "%s", warnings[i].text);
	}
}

/* An NVMe drive's own verdict is its critical warning, temperature and all: that is judged by its bits. */
static void judge_smart(const struct verdict_health_input *input, struct verdict_health *out)
{
	if (input->last.critical_warning != VERDICT_HEALTH_UNKNOWN || input->last.smart_failed != 1)
		return;
	if (input->first.smart_failed == 0)
		add(out, VERDICT_HEALTH_SMART_FAILED, VERDICT_HEALTH_FAIL,
			"the drive says of itself that it is failing");
	else
		add(out, VERDICT_HEALTH_SMART_FAILED, VERDICT_HEALTH_INFORMATION,
			"the drive says of itself that it is failing, since before the run");
}

static void judge_spare(const struct verdict_health_input *input, struct verdict_health *out)
{
	const struct verdict_health_reading *last = &input->last;

	if (is_spare_low(last))
		add(out, VERDICT_HEALTH_SPARE, VERDICT_HEALTH_FAIL,
			"spare is %g %%, below the drive's threshold of %g %%%s", last->spare_pct,
			last->spare_threshold_pct,
			is_spare_low(&input->first) ? ", since before the run" : "");
	else if (new_bits(input) & BIT_SPARE)
		add(out, VERDICT_HEALTH_SPARE, VERDICT_HEALTH_FAIL,
			"spare has fallen below the drive's threshold (critical warning, bit 0)");
}

static void judge_wear(const struct verdict_health_input *input, struct verdict_health *out)
{
	double used = input->last.percent_used - input->first.percent_used, rated;
	char written[UNITS_TEXT_MAX], of[UNITS_TEXT_MAX];

	if (input->last.percent_used >= 0)
		add(out, VERDICT_HEALTH_WEAR, VERDICT_HEALTH_INFORMATION,
			"%g %% of the drive's life are used", input->last.percent_used);
	if (!input->rated_bytes || input->written_bytes == VERDICT_HEALTH_UNKNOWN)
		return;
	rated = (double)input->written_bytes / (double)input->rated_bytes * 100;
	if (!(used - PERCENT_STEPS > WEAR_RATIO * rated))
		return;
	units_print_bytes_decimal((double)input->written_bytes, written);
	units_print_bytes_decimal((double)input->rated_bytes, of);
	add(out, VERDICT_HEALTH_WEAR, VERDICT_HEALTH_REMARK,
		"%g %% of the drive's life for %s, which are %.2g %% of the rated %s", used, written, rated,
		of);
}

void verdict_health_decide(const struct verdict_health_input *input, struct verdict_health *out)
{
	struct verdict_health all = { .count = 0 };

	judge_warnings(input, &all);
	judge_smart(input, &all);
	judge_spare(input, &all);
	judge_wear(input, &all);
	for (size_t i = 0; i < ARRAY_LEN(counters); i++)
		judge_counter(&counters[i], input, &all);
	out->count = 0;
	for (int weight = VERDICT_HEALTH_FAIL; weight <= VERDICT_HEALTH_INFORMATION; weight++) {
		for (unsigned i = 0; i < all.count; i++) {
			if ((int)all.findings[i].weight == weight)
				out->findings[out->count++] = all.findings[i];
		}
	}
}
