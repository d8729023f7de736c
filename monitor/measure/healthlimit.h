/* SPDX-License-Identifier: GPL-2.0-or-later */
/* healthlimit.h - whether a run may go on after a health reading: wear-limit and spare-floor stop it, max-temperature
 * pauses it until the drive is 5 K cooler. Keeps nothing between readings, so that a restart decides the same. What is not
 * known stops nothing. */
#ifndef DRIVESOAK_HEALTHLIMIT_H
#define DRIVESOAK_HEALTHLIMIT_H

#include <stdbool.h>

#define HEALTHLIMIT_TEXT_MAX 160
#define HEALTHLIMIT_COOLER_C 5

struct healthlimit_config {
	double wear_limit_pct;	/* added by the run; 0: none */
	double spare_floor_pct; /* 0: none */
	double max_temp_c;	/* NAN: the drive's critical temperature, else 85 (NVMe) or 70 (SATA) */
	bool is_sata;
};

/* NAN: unknown. */
struct healthlimit_reading {
	double temp_c, critical_temp_c;		 /* critical: by the drive's Identify, 0 is none */
	double percent_used, first_percent_used; /* first: of the run, across restarts */
	double spare_pct, spare_threshold_pct;
};

enum healthlimit_action { HEALTHLIMIT_GO_ON, HEALTHLIMIT_PAUSE, HEALTHLIMIT_STOP };
enum healthlimit_cause { HEALTHLIMIT_NOTHING, HEALTHLIMIT_WEAR, HEALTHLIMIT_SPARE, HEALTHLIMIT_TEMPERATURE };

struct healthlimit_answer {
	enum healthlimit_action action;
	enum healthlimit_cause cause;
	char text[HEALTHLIMIT_TEXT_MAX]; /* why, with the numbers; "" when nothing is to be said */
};

/* The temperature at which the run pauses. */
double healthlimit_max_temp_c(
	const struct healthlimit_config *config, const struct healthlimit_reading *reading);
/* @is_paused: by the temperature, at the reading before. It then stays paused while the temperature is unknown. */
void healthlimit_decide(const struct healthlimit_config *config, const struct healthlimit_reading *reading,
	bool is_paused, struct healthlimit_answer *out);

#endif
