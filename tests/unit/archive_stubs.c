/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stand-ins for functions whose modules are not in the tree yet; the real ones win as soon as they are linked. */
#include <errno.h>
#include <string.h>

#include "engine/hist.h"
#include "run/run.h"

#define WEAK __attribute__((weak))

static const char *const phases[] = { "prepare", "fill", "soak", "probe", "verify", "done" };
static const char *const statuses[] = { "idle", "armed", "running", "paused", "stalled", "done", "failed",
	"absent" };

WEAK const char *run_phase_name(enum run_phase phase)
{
	return phases[phase];
}

WEAK const char *run_status_name(enum run_status status)
{
	return statuses[status];
}

static int find(const char *const *names, int count, const char *name)
{
	for (int i = 0; i < count; i++)
		if (strcmp(names[i], name) == 0)
			return i;
	return -EINVAL;
}

WEAK int run_phase_parse(const char *name, enum run_phase *out)
{
	int found = find(phases, PHASE_COUNT, name);

	if (found < 0)
		return found;
	*out = (enum run_phase)found;
	return 0;
}

WEAK int run_status_parse(const char *name, enum run_status *out)
{
	int found = find(statuses, RUN_STATUS_COUNT, name);

	if (found < 0)
		return found;
	*out = (enum run_status)found;
	return 0;
}

WEAK uint64_t hist_value_ns(unsigned index)
{
	return index < 64 ? index * 16 + 8 : (129 + 2 * (uint64_t)(index % 64)) << (index / 64 + 2);
}

WEAK size_t hist_encode(const struct hist *hist, uint8_t *bytes)
{
	size_t used = 0;

	for (unsigned i = 0; i < HIST_BUCKETS && used + 6 <= HIST_ENCODED_MAX; i++) {
		uint16_t index = (uint16_t)i;
		uint32_t count = (uint32_t)hist->counts[i];

		if (!count)
			continue;
		memcpy(bytes + used, &index, 2);
		memcpy(bytes + used + 2, &count, 4);
		used += 6;
	}
	return used;
}

WEAK int hist_decode_add(const uint8_t *bytes, size_t length, struct hist *into)
{
	for (size_t i = 0; i + 6 <= length; i += 6) {
		uint16_t index;
		uint32_t count;

		memcpy(&index, bytes + i, 2);
		memcpy(&count, bytes + i + 2, 4);
		into->counts[index] += count;
	}
	return 0;
}

WEAK uint64_t hist_percentile_ns(const struct hist *hist, double pct)
{
	uint64_t total = 0, seen = 0;

	for (unsigned i = 0; i < HIST_BUCKETS; i++)
		total += hist->counts[i];
	for (unsigned i = 0; i < HIST_BUCKETS && total; i++) {
		seen += hist->counts[i];
		if ((double)seen * 100 >= pct * (double)total)
			return hist_value_ns(i);
	}
	return UINT64_MAX;
}
