/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "measure/sample.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

static const char *const state_names[SAMPLE_STATE_COUNT] = {
	[SAMPLE_MEASURED] = "measured",
	[SAMPLE_ZERO] = "zero",
	[SAMPLE_PAUSED] = "paused",
	[SAMPLE_FILLING] = "filling",
	[SAMPLE_VERIFYING] = "verifying",
	[SAMPLE_DOWN] = "down",
	[SAMPLE_ABSENT] = "absent",
};

static const struct {
	uint32_t flag;
	const char *name;
} flag_names[] = {
	{ SAMPLE_FLAG_HEALTH_POLL, "health-poll" },
	{ SAMPLE_FLAG_PARTIAL, "partial" },
	{ SAMPLE_FLAG_CLOCK_STEP, "clock-step" },
	{ SAMPLE_FLAG_HOST_LIMIT, "host-limit" },
	{ SAMPLE_FLAG_FLUSH, "flush" },
};

void sample_init(struct sample *sample)
{
	*sample = (struct sample){
		.state = SAMPLE_DOWN,
		.write_bytes = SAMPLE_UNKNOWN,
		.write_ios = SAMPLE_UNKNOWN,
		.read_bytes = SAMPLE_UNKNOWN,
		.read_ios = SAMPLE_UNKNOWN,
		.errors = SAMPLE_UNKNOWN,
		.lat_p50_ns = SAMPLE_UNKNOWN,
		.lat_p90_ns = SAMPLE_UNKNOWN,
		.lat_p99_ns = SAMPLE_UNKNOWN,
		.lat_p999_ns = SAMPLE_UNKNOWN,
		.lat_p9999_ns = SAMPLE_UNKNOWN,
		.lat_max_ns = SAMPLE_UNKNOWN,
		.stall_ns = SAMPLE_UNKNOWN,
		.inflight_mean = NAN,
		.host_cpu_share = NAN,
		.steal_share = NAN,
		.temp_c = NAN,
		.percent_used = NAN,
		.spare_pct = NAN,
		.media_errors = SAMPLE_UNKNOWN,
		.run_delay_share = NAN,
		.device_lat_mean_ns = SAMPLE_UNKNOWN,
		.lat_mean_ns = SAMPLE_UNKNOWN,
		.throttled_ns = SAMPLE_UNKNOWN,
		.commits = SAMPLE_UNKNOWN,
		.commit_p50_ns = SAMPLE_UNKNOWN,
		.commit_p99_ns = SAMPLE_UNKNOWN,
	};
}

const char *sample_state_name(enum sample_state state)
{
	return (unsigned)state < SAMPLE_STATE_COUNT ? state_names[state] : "unknown";
}

int sample_state_parse(const char *name, enum sample_state *out)
{
	for (unsigned i = 0; i < SAMPLE_STATE_COUNT; i++) {
		if (strcmp(name, state_names[i]) == 0) {
			*out = (enum sample_state)i;
			return 0;
		}
	}
	return -EINVAL;
}

void sample_flags_print(uint32_t flags, char *text)
{
	char *end = text;

	*text = '\0';
	for (size_t i = 0; i < sizeof(flag_names) / sizeof(flag_names[0]); i++) {
		if (!(flags & flag_names[i].flag))
			continue;
		if (end != text)
			*end++ = '|';
		end = stpcpy(end, flag_names[i].name);
	}
}

static uint32_t flag_find(const char *name, size_t length)
{
	for (size_t i = 0; i < sizeof(flag_names) / sizeof(flag_names[0]); i++)
		if (strlen(flag_names[i].name) == length && strncmp(flag_names[i].name, name, length) == 0)
			return flag_names[i].flag;
	return 0;
}

int sample_flags_parse(const char *text, uint32_t *out)
{
	uint32_t flags = 0;

	while (*text) {
		size_t length = strcspn(text, "|");
		uint32_t flag = flag_find(text, length);

		if (!flag)
			return -EINVAL;
		flags |= flag;
		text += length + (text[length] == '|');
	}
	*out = flags;
	return 0;
}
