/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "measure/tick.h"

#include "base/clock.h"

#define MS ((int64_t)NS_PER_MS)

static int64_t floor_to(int64_t value, int64_t step)
{
	int64_t rest = value % step;

	return value - rest - (rest < 0 ? step : 0);
}

int64_t tick_now_ms(const struct tick *tick, uint64_t boot_ns)
{
	return floor_to((int64_t)boot_ns + tick->offset_ns, MS) / MS;
}

void tick_start(struct tick *tick, int64_t interval_ms, uint64_t boot_ns, int64_t wall_ns, int64_t last_ms)
{
	*tick = (struct tick){ .interval_ms = interval_ms, .offset_ns = wall_ns - (int64_t)boot_ns };
	if (last_ms != INT64_MIN && tick_now_ms(tick, boot_ns) <= last_ms) {
		/* The clock was set back while the service was down: go on from where the stamps ended. */
		tick->held_ns = wall_ns - (last_ms + 1) * MS;
		tick->offset_ns -= tick->held_ns;
	}
	tick->last_ms = tick->looked_ms = tick_now_ms(tick, boot_ns);
	tick->next_ms = floor_to(tick->last_ms, interval_ms) + interval_ms;
}

uint64_t tick_due_boot_ns(const struct tick *tick)
{
	int64_t due = tick->next_ms * MS - tick->offset_ns;

	return due > 0 ? (uint64_t)due : 0;
}

/* Follow the system's clock or keep the offset; milliseconds of a step that is news. */
static int64_t follow(struct tick *tick, uint64_t boot_ns, int64_t wall_ns)
{
	int64_t behind = wall_ns - (int64_t)boot_ns - tick->offset_ns, news = behind - tick->held_ns;

	if (behind >= -TICK_SLEW_NS) {
		tick->offset_ns += behind;
		tick->held_ns = 0;
	} else {
		tick->held_ns = behind;
	}
	return news > TICK_SLEW_NS || news < -TICK_SLEW_NS ? news / MS : 0;
}

struct tick_answer tick_advance(
	struct tick *tick, uint64_t boot_ns, int64_t wall_ns, uint64_t mono_elapsed_ns)
{
	struct tick_answer answer = { .gap_to_ms = INT64_MIN };
	int64_t elapsed_ms = (int64_t)(mono_elapsed_ns / NS_PER_MS), now_ms;

	answer.step_ms = follow(tick, boot_ns, wall_ns);
	now_ms = tick_now_ms(tick, boot_ns);
	if (now_ms < tick->next_ms)
		return answer;
	answer.is_due = true;
	answer.t_ms = floor_to(now_ms, tick->interval_ms);
	if (now_ms - tick->looked_ms - elapsed_ms > tick->interval_ms / 2) {
		answer.gap_to_ms = answer.t_ms - elapsed_ms;
		if (answer.gap_to_ms <= tick->last_ms)
			answer.gap_to_ms = tick->last_ms + 1;
		if (answer.gap_to_ms >= answer.t_ms)
			answer.gap_to_ms = answer.t_ms - 1;
	}
	tick->last_ms = answer.t_ms;
	tick->looked_ms = now_ms;
	tick->next_ms = answer.t_ms + tick->interval_ms;
	return answer;
}
