/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "measure/healthlimit.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#define NVME_MAX_C 85.0
#define SATA_MAX_C 70.0
#define DEGREES	   " \302\260C"

static void __attribute__((format(printf, 4, 5))) say(struct healthlimit_answer *out,
	enum healthlimit_action action, enum healthlimit_cause cause, const char *format, ...)
{
	va_list arguments;

	out->action = action;
	out->cause = cause;
	va_start(arguments, format);
	(void)vsnprintf(out->text, sizeof(out->text), format, arguments);
	va_end(arguments);
}

double healthlimit_max_temp_c(
	const struct healthlimit_config *config, const struct healthlimit_reading *reading)
{
	if (!isnan(config->max_temp_c))
		return config->max_temp_c;
	if (reading->critical_temp_c > 0)
		return reading->critical_temp_c;
	return config->is_sata ? SATA_MAX_C : NVME_MAX_C;
}

/* Comparisons with NAN are false: what is unknown stops nothing. */
static bool stops_by_wear(const struct healthlimit_config *config, const struct healthlimit_reading *reading,
	struct healthlimit_answer *out)
{
	double added = reading->percent_used - reading->first_percent_used;

	if (!(config->wear_limit_pct > 0 && added >= config->wear_limit_pct))
		return false;
	say(out, HEALTHLIMIT_STOP, HEALTHLIMIT_WEAR,
		"the run used %g %% of the drive's life (%g to %g %%), its wear-limit is %g %%", added,
		reading->first_percent_used, reading->percent_used, config->wear_limit_pct);
	return true;
}

/* A drive that reports neither spare nor threshold shows 0 for both. */
static bool stops_by_spare(const struct healthlimit_config *config, const struct healthlimit_reading *reading,
	struct healthlimit_answer *out)
{
	if (!(reading->spare_pct > 0) && !(reading->spare_threshold_pct > 0))
		return false;
	if (!(reading->spare_pct < config->spare_floor_pct))
		return false;
	say(out, HEALTHLIMIT_STOP, HEALTHLIMIT_SPARE, "the drive's spare is %g %%, below spare-floor, %g %%",
		reading->spare_pct, config->spare_floor_pct);
	return true;
}

static void decide_temperature(const struct healthlimit_config *config,
	const struct healthlimit_reading *reading, bool is_paused, struct healthlimit_answer *out)
{
	double max = healthlimit_max_temp_c(config, reading), temp = reading->temp_c;
	const char *whose = "max-temperature";

	if (isnan(config->max_temp_c))
		whose = reading->critical_temp_c > 0 ? "the drive's critical temperature"
						     : "as the drive names no critical temperature";
	if (isnan(temp) && is_paused)
		say(out, HEALTHLIMIT_PAUSE, HEALTHLIMIT_TEMPERATURE,
			"the drive's temperature is unknown since it was too hot");
	else if (temp >= max)
		say(out, HEALTHLIMIT_PAUSE, HEALTHLIMIT_TEMPERATURE,
			"the drive has %g" DEGREES ", the limit is %g" DEGREES " (%s)", temp, max, whose);
	else if (is_paused && temp > max - HEALTHLIMIT_COOLER_C)
		say(out, HEALTHLIMIT_PAUSE, HEALTHLIMIT_TEMPERATURE,
			"the drive has %g" DEGREES ", the run goes on at %g" DEGREES, temp,
			max - HEALTHLIMIT_COOLER_C);
	else if (is_paused)
		say(out, HEALTHLIMIT_GO_ON, HEALTHLIMIT_TEMPERATURE,
			"the drive has cooled down to %g" DEGREES, temp);
}

void healthlimit_decide(const struct healthlimit_config *config, const struct healthlimit_reading *reading,
	bool is_paused, struct healthlimit_answer *out)
{
	*out = (struct healthlimit_answer){ .action = HEALTHLIMIT_GO_ON };
	if (!stops_by_wear(config, reading, out) && !stops_by_spare(config, reading, out))
		decide_temperature(config, reading, is_paused, out);
}
