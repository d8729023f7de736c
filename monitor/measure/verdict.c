/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "measure/verdict.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include "base/units.h"

#define STALL_FAIL_S	     30
#define STALLED_FAIL_SHARE   0.001
#define P1_FAIL_SHARE	     0.10
#define HALF_MEDIAN_FAIL     0.95
#define LAST_QUARTER_FAIL    0.70
#define WINDOW_MIN_S	     (6 * 3600)
#define HOST_LIMITED_MAX_PCT 2
#define GAP_MAX_PCT	     1
#define CV_REMARK	     0.20
#define P1_REMARK_SHARE	     0.50
#define STALL_REMARK_S	     2

void verdict_input_init(struct verdict_input *input)
{
	*input = (struct verdict_input){
		.window_s = NAN,
		.median = NAN,
		.p1 = NAN,
		.min = NAN,
		.cv = NAN,
		.half_median_share = NAN,
		.first_quarter = NAN,
		.last_quarter = NAN,
		.lat_p99_ns = VERDICT_UNKNOWN,
		.longest_stall_s = NAN,
		.stalled_s = NAN,
		.host_limited_pct = NAN,
		.gap_pct = NAN,
		.verify = { .coverage_pct = NAN },
	};
}

const char *verdict_name(enum verdict verdict)
{
	static const char *const names[] = { "FAIL", "NO VERDICT", "REMARKS", "PASS" };

	return names[verdict];
}

__attribute__((format(printf, 3, 4))) static void tell(
	struct verdict_answer *out, enum verdict class, const char *format, ...)
{
	struct verdict_reason *reason = &out->reasons[out->count];
	va_list args;

	if (out->count == VERDICT_REASONS_MAX)
		return;
	out->count++;
	reason->class = class;
	va_start(args, format);
	(void)vsnprintf(reason->text, sizeof(reason->text), format, args);
	va_end(args);
}

/* --- counts: any but 0 is a reason --- */

static const struct {
	enum verdict class;
	size_t offset;
	const char *one, *many; /* after the number */
} counts[] = {
	{ VERDICT_FAIL, offsetof(struct verdict_input, verify.corrupt), "block read back corrupt",
		"blocks read back corrupt" },
	{ VERDICT_FAIL, offsetof(struct verdict_input, verify.misdirected),
		"block holds what belongs to another", "blocks hold what belongs to others" },
	{ VERDICT_FAIL, offsetof(struct verdict_input, verify.stale), "block is stale: a write was lost",
		"blocks are stale: writes were lost" },
	{ VERDICT_FAIL, offsetof(struct verdict_input, verify.unreadable), "block could not be read back",
		"blocks could not be read back" },
	{ VERDICT_REMARKS, offsetof(struct verdict_input, verify.torn), "block is torn: part old, part new",
		"blocks are torn: part old, part new" },
	{ VERDICT_REMARKS, offsetof(struct verdict_input, collapses), "collapse of throughput",
		"collapses of throughput" },
	{ VERDICT_REMARKS, offsetof(struct verdict_input, aer_errors_grown), "PCIe error (AER)",
		"PCIe errors (AER)" },
	{ VERDICT_REMARKS, offsetof(struct verdict_input, link_events), "event of the link",
		"events of the link" },
};

static uint64_t count_at(const struct verdict_input *in, size_t offset)
{
	return *(const uint64_t *)(const void *)((const char *)in + offset);
}

static void tell_counts(const struct verdict_input *in, enum verdict class, struct verdict_answer *out)
{
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		uint64_t count = count_at(in, counts[i].offset);

		if (counts[i].class == class && count && count != VERDICT_UNKNOWN)
			tell(out, class, "%" PRIu64 " %s", count,
				count == 1 ? counts[i].one : counts[i].many);
	}
}

static void tell_health(const struct verdict_input *in, enum verdict_health_weight weight, enum verdict class,
	struct verdict_answer *out)
{
	for (unsigned i = 0; in->health && i < in->health->count; i++)
		if (in->health->findings[i].weight == weight)
			tell(out, class, "%s", in->health->findings[i].text);
}

/* --- FAIL --- */

static void tell_trouble(
	const char *one, const char *many, uint64_t all, uint64_t traced, struct verdict_answer *out)
{
	uint64_t untraced = all > traced && all != VERDICT_UNKNOWN ? all - traced : 0;

	if (untraced)
		tell(out, VERDICT_FAIL, "%" PRIu64 " %s not traced to the host or the link", untraced,
			untraced == 1 ? one : many);
}

static void tell_troubles(const struct verdict_input *in, struct verdict_answer *out)
{
	const struct verdict_troubles *t = &in->troubles;

	tell_trouble("I/O error", "I/O errors", t->io_errors, t->io_errors_traced, out);
	tell_trouble("reset", "resets", t->resets, t->resets_traced, out);
	tell_trouble("loss of the drive", "losses of the drive", t->losses, t->losses_traced, out);
}

static void tell_bad_stalls(const struct verdict_input *in, struct verdict_answer *out)
{
	char stall[UNITS_TEXT_MAX], window[UNITS_TEXT_MAX];

	if (in->longest_stall_s >= STALL_FAIL_S) {
		units_print_duration_rounded(in->longest_stall_s * 1e9, stall);
		tell(out, VERDICT_FAIL, "a stall of %s, %d s or more", stall, STALL_FAIL_S);
	}
	if (in->stalled_s > in->window_s * STALLED_FAIL_SHARE) {
		units_print_duration_rounded(in->stalled_s * 1e9, stall);
		units_print_duration_rounded(in->window_s * 1e9, window);
		tell(out, VERDICT_FAIL, "stalled for %s of %s, %.2f %%, over 0.1 %%", stall, window,
			in->stalled_s / in->window_s * 100);
	}
}

static void tell_bad_rates(const struct verdict_input *in, struct verdict_answer *out)
{
	char low[UNITS_TEXT_MAX], high[UNITS_TEXT_MAX];

	if (in->p1 < in->median * P1_FAIL_SHARE) {
		units_print_rate_rounded(in->p1, low);
		units_print_rate_rounded(in->median, high);
		tell(out, VERDICT_FAIL, "p1 of %s is %.1f %% of the median of %s, under 10 %%", low,
			in->p1 / in->median * 100, high);
	}
	if (in->half_median_share < HALF_MEDIAN_FAIL)
		tell(out, VERDICT_FAIL, "%.1f %% of the samples reach half the median, under 95 %%",
			in->half_median_share * 100);
	if (in->last_quarter < in->first_quarter * LAST_QUARTER_FAIL) {
		units_print_rate_rounded(in->last_quarter, low);
		units_print_rate_rounded(in->first_quarter, high);
		tell(out, VERDICT_FAIL,
			"the last quarter of the window ran at %s, %.1f %% of the first one's %s, under 70 "
			"%%",
			low, in->last_quarter / in->first_quarter * 100, high);
	}
}

static void tell_slo_rate(
	const char *key, const char *figure, double rate, double least, struct verdict_answer *out)
{
	char is[UNITS_TEXT_MAX], asked[UNITS_TEXT_MAX];

	if (!(least > 0) || !(rate < least))
		return;
	units_print_rate_rounded(rate, is);
	units_print_rate_rounded(least, asked);
	tell(out, VERDICT_FAIL, "slo %s is broken: %s of %s, asked for %s (%.1f %% of it)", key, figure, is,
		asked, rate / least * 100);
}

static void tell_slo(const struct verdict_input *in, struct verdict_answer *out)
{
	char is[UNITS_TEXT_MAX], asked[UNITS_TEXT_MAX];

	tell_slo_rate("min-rate", "lowest sample", in->min, in->slo.min_rate, out);
	tell_slo_rate("p1-rate", "p1", in->p1, in->slo.p1_rate, out);
	if (in->slo.p99_latency_ns == 0 || in->lat_p99_ns == VERDICT_UNKNOWN ||
		in->lat_p99_ns <= in->slo.p99_latency_ns)
		return;
	units_print_duration_rounded((double)in->lat_p99_ns, is);
	units_print_duration_rounded((double)in->slo.p99_latency_ns, asked);
	tell(out, VERDICT_FAIL, "slo p99-latency is broken: p99 of %s, asked for %s", is, asked);
}

/* --- NO VERDICT --- */

static void tell_unjudged(const struct verdict_input *in, struct verdict_answer *out)
{
	char window[UNITS_TEXT_MAX];

	if (!in->is_settled)
		tell(out, VERDICT_NONE, "not settled%s%s",
			in->why_not_settled && in->why_not_settled[0] ? ": " : "",
			in->why_not_settled ? in->why_not_settled : "");
	else if (!(in->window_s >= WINDOW_MIN_S)) {
		units_print_duration_rounded(in->window_s * 1e9, window);
		tell(out, VERDICT_NONE, "the settled window is %s, under 6 h", window);
	}
	if (in->is_host_limited)
		tell(out, VERDICT_NONE,
			"the host was the limit in every sample of the soak: none tells about the drive "
			"alone");
	else if (in->host_limited_pct > HOST_LIMITED_MAX_PCT)
		tell(out, VERDICT_NONE, "the host was the limit in %.1f %% of the soak, over %d %%",
			in->host_limited_pct, HOST_LIMITED_MAX_PCT);
	if (in->gap_pct > GAP_MAX_PCT)
		tell(out, VERDICT_NONE, "%.1f %% of the soak is missing, over %d %%", in->gap_pct,
			GAP_MAX_PCT);
	if (!in->is_direct_proven)
		tell(out, VERDICT_NONE, "direct I/O is not proven: a cache of the host may have answered");
}

/* --- REMARKS --- */

static void tell_uneven(const struct verdict_input *in, struct verdict_answer *out)
{
	char low[UNITS_TEXT_MAX], high[UNITS_TEXT_MAX], stall[UNITS_TEXT_MAX];

	if (in->cv > CV_REMARK)
		tell(out, VERDICT_REMARKS, "coefficient of variation %.1f %%, over 20 %%", in->cv * 100);
	if (in->p1 < in->median * P1_REMARK_SHARE && !(in->p1 < in->median * P1_FAIL_SHARE)) {
		units_print_rate_rounded(in->p1, low);
		units_print_rate_rounded(in->median, high);
		tell(out, VERDICT_REMARKS, "p1 of %s is %.1f %% of the median of %s, under half", low,
			in->p1 / in->median * 100, high);
	}
	if (in->longest_stall_s >= STALL_REMARK_S && in->longest_stall_s < STALL_FAIL_S) {
		units_print_duration_rounded(in->longest_stall_s * 1e9, stall);
		tell(out, VERDICT_REMARKS, "a stall of %s, %d s or more", stall, STALL_REMARK_S);
	}
}

static void tell_circumstances(const struct verdict_input *in, struct verdict_answer *out)
{
	if (!in->is_pre_state_known)
		tell(out, VERDICT_REMARKS,
			"the state of the drive before the run is not known: neither purged nor trimmed");
	if (in->verify.is_impossible)
		tell(out, VERDICT_REMARKS,
			"nothing can be verified: the data is zeros, a lost write or a damaged block is not "
			"seen");
	/* Down: what is not the whole is never printed as 100 %. */
	if (in->verify.was_done && in->verify.coverage_pct < 100)
		tell(out, VERDICT_REMARKS,
			"the ledger covers %.1f %% of the extent: a lost write outside is not seen",
			floor(in->verify.coverage_pct * 10) / 10);
}

void verdict_decide(const struct verdict_input *in, struct verdict_answer *out)
{
	out->count = 0;
	tell_counts(in, VERDICT_FAIL, out);
	tell_health(in, VERDICT_HEALTH_FAIL, VERDICT_FAIL, out);
	tell_troubles(in, out);
	tell_bad_stalls(in, out);
	tell_bad_rates(in, out);
	tell_slo(in, out);
	tell_unjudged(in, out);
	tell_uneven(in, out);
	tell_counts(in, VERDICT_REMARKS, out);
	tell_health(in, VERDICT_HEALTH_REMARK, VERDICT_REMARKS, out);
	tell_circumstances(in, out);
	out->verdict = out->count ? out->reasons[0].class : VERDICT_PASS;
}
