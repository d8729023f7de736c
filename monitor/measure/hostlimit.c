/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "measure/hostlimit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"

#define CPU_WAIT_MAX	 0.05
#define WAIT_LATENCY	 0.05 /* one wait, of the mean latency */
#define THROTTLED_MIN	 0.01
#define STEAL_MAX	 0.01
#define CPU_FULL_MIN	 0.90
#define LATENCY_RATIO	 1.10
#define GAP_EXPLAINED	 0.5
#define IN_FLIGHT_MIN	 0.95
#define STANDSTILL_MIN	 0.5 /* share of the time that explains a drive that completes nothing */
#define STANDSTILL_TURNS 2   /* requests a place in the queue */

/* Foreign, merged or split requests that may hide among ours before the device's mean says nothing about ours. */
#define DEVICE_IOS_OFF_MAX 0.05

static double throttled_share(const struct hostlimit_input *in)
{
	return in->throttled_ns != HOSTLIMIT_UNKNOWN ? (double)in->throttled_ns / (double)in->elapsed_ns
						     : NAN;
}

static double cpu_each(const struct hostlimit_input *in)
{
	return in->threads ? in->cpu_share / in->threads : NAN;
}

/* Comparisons with NAN are false: what is unknown does not speak. */
static bool is_cpu_wait(const struct hostlimit_input *in)
{
	/* Nothing completed: no latency to compare with, but then the waiting must explain the standstill. */
	if (isnan(in->lat_mean_ns))
		return in->run_delay_share >= STANDSTILL_MIN;
	return in->run_delay_share > CPU_WAIT_MAX && in->wait_mean_ns > in->lat_mean_ns * WAIT_LATENCY;
}

static bool is_throttled(const struct hostlimit_input *in)
{
	return throttled_share(in) >= THROTTLED_MIN;
}

static bool is_steal(const struct hostlimit_input *in)
{
	return in->steal_share > STEAL_MAX;
}

static bool is_cpu_full(const struct hostlimit_input *in)
{
	return cpu_each(in) >= CPU_FULL_MIN;
}

static bool saw_ours(const struct hostlimit_input *in)
{
	double ours = (double)in->completions, device = (double)in->device_ios;

	return in->device_ios != HOSTLIMIT_UNKNOWN && fabs(device - ours) <= ours * DEVICE_IOS_OFF_MAX;
}

/* Of the time a request is ours, @gap is not the device's. In a closed loop it then waits for a thread of ours, which
 * runs or waits for a CPU meanwhile: no thread that sleeps can be what it waits for. */
static bool is_latency(const struct hostlimit_input *in)
{
	double gap = 1 - in->device_lat_mean_ns / in->lat_mean_ns;
	double delay = isnan(in->run_delay_share) ? 0 : in->run_delay_share;

	return in->lat_mean_ns > in->device_lat_mean_ns * LATENCY_RATIO && saw_ours(in) &&
	       in->nr_requests >= (int64_t)in->depth && cpu_each(in) + delay >= gap * GAP_EXPLAINED;
}

static bool is_in_flight(const struct hostlimit_input *in)
{
	return in->is_full_meant && in->inflight_mean < IN_FLIGHT_MIN * in->depth;
}

static double percent(double share)
{
	return share * 100;
}

static void print_cpu_wait(const struct hostlimit_input *in, char *text, size_t size)
{
	char wait[UNITS_TEXT_MAX] = "";

	if (!isnan(in->wait_mean_ns))
		units_print_duration_rounded(in->wait_mean_ns, wait);
	(void)snprintf(text, size, "threads waited %.1f %% of the time for a CPU%s%s%s",
		percent(in->run_delay_share), wait[0] ? ", " : "", wait, wait[0] ? " at a time" : "");
}

static void print_throttled(const struct hostlimit_input *in, char *text, size_t size)
{
	char held[UNITS_TEXT_MAX], of[UNITS_TEXT_MAX];

	units_print_duration_rounded((double)in->throttled_ns, held);
	units_print_duration_rounded((double)in->elapsed_ns, of);
	(void)snprintf(text, size, "a CPU quota held the service back for %s in %s", held, of);
}

static void print_steal(const struct hostlimit_input *in, char *text, size_t size)
{
	(void)snprintf(text, size, "the hypervisor took %.1f %% of the CPU time", percent(in->steal_share));
}

static void print_cpu_full(const struct hostlimit_input *in, char *text, size_t size)
{
	(void)snprintf(text, size, "threads were busy %.0f %% of the time", percent(cpu_each(in)));
}

static void print_latency(const struct hostlimit_input *in, char *text, size_t size)
{
	char ours[UNITS_TEXT_MAX], device[UNITS_TEXT_MAX];

	units_print_duration_rounded(in->lat_mean_ns, ours);
	units_print_duration_rounded(in->device_lat_mean_ns, device);
	(void)snprintf(text, size, "mean latency %s, of which %s in the device", ours, device);
}

static void print_in_flight(const struct hostlimit_input *in, char *text, size_t size)
{
	(void)snprintf(text, size, "%.1f of %u requests in flight", in->inflight_mean, in->depth);
}

/* In the order in which they are told: the cause before what it leads to. */
static const struct {
	enum hostlimit_measure measure;
	bool (*speaks)(const struct hostlimit_input *in);
	void (*print)(const struct hostlimit_input *in, char *text, size_t size);
} measures[] = {
	{ HOSTLIMIT_CPU_WAIT, is_cpu_wait, print_cpu_wait },
	{ HOSTLIMIT_THROTTLED, is_throttled, print_throttled },
	{ HOSTLIMIT_STEAL, is_steal, print_steal },
	{ HOSTLIMIT_CPU_FULL, is_cpu_full, print_cpu_full },
	{ HOSTLIMIT_LATENCY, is_latency, print_latency },
	{ HOSTLIMIT_IN_FLIGHT, is_in_flight, print_in_flight },
};

/* Throttled threads are ready and wait, so the quota, whose time is summed over CPUs, need not be asked too. */
static bool explains_standstill(const struct hostlimit_input *in)
{
	return in->run_delay_share >= STANDSTILL_MIN || in->steal_share >= STANDSTILL_MIN;
}

void hostlimit_decide(const struct hostlimit_input *in, struct hostlimit_answer *out)
{
	size_t used = 0;

	*out = (struct hostlimit_answer){ 0 };
	if (in->elapsed_ns == 0)
		return;
	if (in->completions < (uint64_t)STANDSTILL_TURNS * in->depth && !explains_standstill(in))
		return;
	for (size_t i = 0; i < sizeof(measures) / sizeof(measures[0]); i++) {
		char text[128];
		int added;

		if (!measures[i].speaks(in))
			continue;
		out->measures |= measures[i].measure;
		measures[i].print(in, text, sizeof(text));
		added = snprintf(out->text + used, sizeof(out->text) - used, "%s%s", used ? "; " : "", text);
		used = used + (size_t)added < sizeof(out->text) ? used + (size_t)added
								: sizeof(out->text) - 1;
	}
	out->is_limited = out->measures != 0;
}

enum hostlimit_turn hostlimit_watch_add(struct hostlimit_watch *watch, bool is_limited)
{
	const unsigned mask = (1u << HOSTLIMIT_WATCH_SAMPLES) - 1;

	watch->recent = (watch->recent << 1 | is_limited) & mask;
	if (!watch->is_limited && __builtin_popcount(watch->recent) >= HOSTLIMIT_WATCH_BEGIN) {
		watch->is_limited = true;
		return HOSTLIMIT_BEGINS;
	}
	if (watch->is_limited && watch->recent == 0) {
		watch->is_limited = false;
		return HOSTLIMIT_ENDS;
	}
	return HOSTLIMIT_STAYS;
}
