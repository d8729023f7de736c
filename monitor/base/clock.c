/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/clock.h"

#include <stddef.h>
#include <time.h>

static uint64_t kernel_ns(clockid_t id)
{
	struct timespec now;

	(void)clock_gettime(id, &now); /* these ids cannot fail */
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static uint64_t kernel_mono_ns(void)
{
	return kernel_ns(CLOCK_MONOTONIC);
}

static uint64_t kernel_boot_ns(void)
{
	return kernel_ns(CLOCK_BOOTTIME);
}

static int64_t kernel_wall_ns(void)
{
	return (int64_t)kernel_ns(CLOCK_REALTIME);
}

static const struct clock_source kernel_clocks = { kernel_mono_ns, kernel_boot_ns, kernel_wall_ns };
static const struct clock_source *clocks = &kernel_clocks;

void clock_replace(const struct clock_source *source)
{
	clocks = source ? source : &kernel_clocks;
}

uint64_t clock_mono_ns(void)
{
	return clocks->mono_ns();
}

uint64_t clock_boot_ns(void)
{
	return clocks->boot_ns();
}

int64_t clock_wall_ns(void)
{
	return clocks->wall_ns();
}

int64_t clock_wall_ms(void)
{
	return clock_wall_ns() / (int64_t)NS_PER_MS;
}
