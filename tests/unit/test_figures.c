/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The figures of a run as the journal has it: the settled window, collapses, and the verdict with its reasons. */
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "archive/figures.h"
#include "archive_fixture.h"
#include "engine/hist.h"
#include "journal_fixture.h"
#include "measure/troubles.h"

#define INTERVAL_S 10
#define RATE	   1000000 /* bytes a second, of the plateau that stays */
#define HOURS(h)   ((h)*360)

struct rig {
	struct journal *journal;
	struct run_record run;
	struct figures *figures;
	struct summary_figures now;
	int64_t t_ms;
	unsigned count; /* samples */
};

/* A run for which nothing speaks against a PASS. */
static void rig_begin(struct rig *rig)
{
	*rig = (struct rig){ .journal = journal_fixture_open(false), .t_ms = FIXTURE_START_MS };
	fixture_run(&rig->run, "evo", INTERVAL_S);
	rig->run.progress.extent_bytes = (uint64_t)RATE * 1000; /* 1000 s at the plateau's rate */
	(void)snprintf(rig->run.verify_json, sizeof(rig->run.verify_json),
		"{\"read_bytes\":1,\"blocks\":1,\"ledger_coverage_pct\":100,\"coverage_pct\":100}");
	assert_int_equal(journal_put_run(rig->journal, &rig->run), 0);
	assert_int_equal(figures_new(INTERVAL_S, &rig->figures), 0);
}

static void rig_end(struct rig *rig)
{
	figures_free(rig->figures);
	journal_close(rig->journal);
}

static void put(struct rig *rig, struct sample *sample)
{
	rig->t_ms += INTERVAL_S * 1000;
	sample->t_ms = rig->t_ms;
	assert_int_equal(journal_put_sample(rig->journal, rig->run.id, sample), 0);
	rig->count++;
}

/* @rate_pct of RATE, with a seeded noise of 1 %. */
static struct sample sample_at(const struct rig *rig, unsigned rate_pct)
{
	uint64_t noise = (rig->count * 7919 + 13) % 2001; /* -1000..1000 */
	uint64_t bytes = (uint64_t)RATE * INTERVAL_S / 100 * rate_pct;
	struct sample sample = fixture_sample(0, INTERVAL_S, bytes / 100000 * (99000 + noise));
	static struct hist hist;

	sample.errors = 0;
	sample.read_bytes = 0;
	sample.stall_ns = 0;
	sample.flags = 0;
	hist.counts[hist_index(5000000)] = 640;
	sample.hist_bytes = (uint16_t)hist_encode(&hist, sample.hist);
	return sample;
}

static void put_many(struct rig *rig, unsigned count, unsigned rate_pct)
{
	assert_int_equal(journal_begin(rig->journal), 0);
	for (unsigned i = 0; i < count; i++) {
		struct sample sample = sample_at(rig, rate_pct);

		put(rig, &sample);
	}
	assert_int_equal(journal_commit(rig->journal), 0);
}

static void put_event_of(struct rig *rig, const char *kind, const char *cause, int64_t t_ms, uint32_t count)
{
	struct event_record event = fixture_event(t_ms, rig->run.id, "happened");

	(void)snprintf(event.kind, sizeof(event.kind), "%s", kind);
	(void)snprintf(event.cause, sizeof(event.cause), "%s", cause);
	event.count = count;
	assert_int_equal(journal_put_event(rig->journal, &event), 0);
}

static void put_event(struct rig *rig, const char *kind, int64_t t_ms, uint32_t count)
{
	put_event_of(rig, kind, "unknown", t_ms, count);
}

static void put_troubles(struct rig *rig, const struct troubles *sum)
{
	char sums[TROUBLES_TEXT_MAX];
	struct event_record event;

	troubles_print(sum, sums);
	event = fixture_event(rig->t_ms, rig->run.id, "");
	(void)snprintf(event.kind, sizeof(event.kind), "error");
	(void)snprintf(event.text, sizeof(event.text),
		"the kernel: nvme3: resetting controller; so far in the run: %s", sums);
	assert_int_equal(journal_put_event(rig->journal, &event), 0);
}

/* Kept up to date or at once: the same. */
static void look(struct rig *rig)
{
	static struct summary_figures at_once;
	const struct summary_figures *now;

	assert_int_equal(figures_update(rig->figures, rig->journal, &rig->run), 0);
	now = figures_get(rig->figures);
	assert_int_equal(figures_read(rig->journal, &rig->run, &at_once), 0);
	assert_int_equal(at_once.window.samples, now->window.samples);
	assert_int_equal(at_once.window.from_ms, now->window.from_ms);
	assert_int_equal(at_once.window.lat_p99_ns, now->window.lat_p99_ns);
	assert_int_equal(at_once.steady.reached, now->steady.reached);
	assert_int_equal(at_once.verdict.count, now->verdict.count);
	if (now->window.samples)
		assert_true(at_once.window.write.median == now->window.write.median);
	if (now->steady.reached)
		assert_true(at_once.stability.p1 == now->stability.p1 &&
			    at_once.stability.last_quarter == now->stability.last_quarter);
	rig->now = *now;
}

static bool has_reason(const struct rig *rig, enum verdict class, const char *words)
{
	for (unsigned i = 0; i < rig->now.verdict.count; i++)
		if (rig->now.verdict.reasons[i].class == class &&
			strstr(rig->now.verdict.reasons[i].text, words))
			return true;
	return false;
}

static void check_near(double value, double expected)
{
	if (!(fabs(value - expected) <= expected * 0.012))
		fail_msg("%f is not about %f", value, expected);
}

static void test_the_headline_is_over_the_settled_window(void **state)
{
	struct rig rig;

	(void)state;
	rig_begin(&rig);
	put_many(&rig, 100, 300); /* fresh: 1000 s, 3 extents */
	look(&rig);
	assert_false(rig.now.steady.reached);
	assert_int_equal(rig.now.window.samples, 100);
	check_near(rig.now.window.write.median, 3.0 * RATE);
	assert_true(isnan(rig.now.stability.median));
	put_many(&rig, 200, 100);
	look(&rig);
	/* 5 rounds of 300 s, none of them with a sample from before the cliff. */
	assert_true(rig.now.steady.reached);
	assert_true(rig.now.steady.window_from_ms >= FIXTURE_START_MS + 1000000);
	assert_true(rig.now.steady.window_from_ms <= FIXTURE_START_MS + 1300000);
	assert_int_equal(rig.now.window.from_ms, rig.now.steady.window_from_ms);
	assert_int_equal(rig.now.window.to_ms, rig.t_ms);
	assert_int_equal(
		rig.now.window.samples, (rig.t_ms - rig.now.steady.window_from_ms) / (INTERVAL_S * 1000));
	check_near(rig.now.window.write.max, 1.0 * RATE);
	assert_int_equal(rig.now.whole.samples, 300);
	check_near(rig.now.whole.write.max, 3.0 * RATE);
	check_near(rig.now.stability.median, RATE);
	check_near(rig.now.stability.first_quarter, RATE);
	assert_true(rig.now.stability.half_median_share == 1.0);
	/* What comes later is in it too; a new level is none of it. */
	put_many(&rig, 10, 100);
	look(&rig);
	assert_int_equal(rig.now.window.to_ms, rig.t_ms);
	put_many(&rig, 60, 40);
	look(&rig);
	assert_false(rig.now.steady.reached);
	assert_int_equal(rig.now.steady.losses, 1);
	assert_int_equal(rig.now.window.samples, 370);
	assert_true(has_reason(&rig, VERDICT_NONE, "not settled: "));
	put_many(&rig, 300, 40);
	look(&rig);
	assert_true(rig.now.steady.reached);
	check_near(rig.now.window.write.max, 0.4 * RATE);
	rig_end(&rig);
}

static void test_without_the_rule_the_window_is_the_soak(void **state)
{
	struct rig rig;

	(void)state;
	rig_begin(&rig);
	(void)snprintf(rig.run.config_json, sizeof(rig.run.config_json), "{\"settle_rule\":\"off\"}");
	put_many(&rig, 5, 100);
	look(&rig);
	assert_true(rig.now.steady.reached);
	assert_int_equal(rig.now.window.from_ms, FIXTURE_START_MS);
	assert_int_equal(rig.now.window.samples, 5);
	rig_end(&rig);
}

static void test_a_long_even_run_passes_and_a_short_one_has_no_verdict(void **state)
{
	struct rig rig;

	(void)state;
	rig_begin(&rig);
	put_many(&rig, HOURS(3), 100);
	look(&rig);
	assert_int_equal(rig.now.verdict.verdict, VERDICT_NONE);
	assert_true(has_reason(&rig, VERDICT_NONE, "under 6 h"));
	put_many(&rig, HOURS(5), 100);
	look(&rig);
	if (rig.now.verdict.count)
		fail_msg("%s", rig.now.verdict.reasons[0].text);
	assert_int_equal(rig.now.verdict.verdict, VERDICT_PASS);
	assert_true(rig.now.collapses == 0 && rig.now.collapses_per_h == 0);
	rig_end(&rig);
}

static void check_class(struct rig *rig, enum verdict class, const char *words)
{
	look(rig);
	if (!has_reason(rig, class, words))
		fail_msg("no reason \"%s\"; first: %s", words,
			rig->now.verdict.count ? rig->now.verdict.reasons[0].text : "none");
	assert_int_equal(rig->now.verdict.verdict, class);
}

static void test_each_source_has_its_say_in_the_verdict(void **state)
{
	struct sample sample;
	struct rig rig;

	(void)state;
	rig_begin(&rig);
	put_many(&rig, HOURS(8), 100);
	put_event(&rig, "collapse", FIXTURE_START_MS + 1000, 1); /* before it settled */
	look(&rig);
	assert_int_equal(rig.now.verdict.verdict, VERDICT_PASS);
	assert_true(fabs(rig.now.collapses_per_h - 1.0 / 8) < 1e-9);
	put_event_of(&rig, "collapse", "host", rig.t_ms - 6000000, 1); /* nothing of the drive's */
	put_event(&rig, "periodic", rig.t_ms - 5000000, 7);
	check_class(&rig, VERDICT_REMARKS, "7 collapses of throughput");
	assert_true(fabs(rig.now.collapses_per_h - 1.0) < 1e-9);
	(void)snprintf(rig.run.config_json, sizeof(rig.run.config_json), "{\"payload\":\"zeros\"}");
	check_class(&rig, VERDICT_REMARKS, "nothing can be verified");
	(void)snprintf(rig.run.pre_state, sizeof(rig.run.pre_state), "unknown");
	check_class(&rig, VERDICT_REMARKS, "neither purged nor trimmed");
	(void)snprintf(rig.run.direct, sizeof(rig.run.direct), "unproven: no statx");
	check_class(&rig, VERDICT_NONE, "direct I/O is not proven");
	(void)snprintf(
		rig.run.config_json, sizeof(rig.run.config_json), "{\"slo_p1_bytes_per_s\":%d}", 2 * RATE);
	check_class(&rig, VERDICT_FAIL, "slo p1-rate is broken");
	(void)snprintf(rig.run.config_json, sizeof(rig.run.config_json), "{\"slo_p99_ns\":1}");
	check_class(&rig, VERDICT_FAIL, "slo p99-latency is broken");
	(void)snprintf(rig.run.config_json, sizeof(rig.run.config_json), "{}");
	(void)snprintf(
		rig.run.verify_json, sizeof(rig.run.verify_json), "{\"corrupt\":2,\"coverage_pct\":100}");
	check_class(&rig, VERDICT_FAIL, "2 blocks read back corrupt");
	rig.run.verify_json[0] = '\0';
	put_event(&rig, "absent", rig.t_ms - 2000, 0); /* not there when the service began */
	put_event(&rig, "absent", rig.t_ms - 1000, 1);
	check_class(&rig, VERDICT_FAIL, "1 loss of the drive not traced");
	put_troubles(&rig,
		&(struct troubles){ .resets = 3, .resets_traced = 1, .link_events = 2, .aer_errors = 9 });
	check_class(&rig, VERDICT_FAIL, "2 resets not traced to the host or the link");
	assert_true(has_reason(&rig, VERDICT_REMARKS, "2 events of the link"));
	assert_true(has_reason(&rig, VERDICT_REMARKS, "9 PCIe errors (AER)"));
	put_troubles(&rig,
		&(struct troubles){ .resets = 3, .resets_traced = 3, .link_events = 3, .aer_errors = 9 });
	look(&rig);
	assert_false(has_reason(&rig, VERDICT_FAIL, "resets not traced"));
	assert_true(has_reason(&rig, VERDICT_REMARKS, "3 events of the link"));
	sample = sample_at(&rig, 100);
	sample.errors = 3;
	put(&rig, &sample);
	check_class(&rig, VERDICT_FAIL, "3 I/O errors not traced");
	sample = sample_at(&rig, 0);
	sample.state = SAMPLE_ZERO;
	sample.stall_ns = 31000000000;
	put(&rig, &sample);
	check_class(&rig, VERDICT_FAIL, "a stall of 31 s");
	rig_end(&rig);
}

static void put_health(struct rig *rig, int64_t t_ms, unsigned media_errors)
{
	char fields[64];
	struct health_record record = { .t_ms = t_ms, .fields = fields };

	(void)snprintf(record.run, sizeof(record.run), "%s", rig->run.id);
	(void)snprintf(fields, sizeof(fields), "{\"media_errors\":%u,\"percent_used\":%u}", media_errors,
		media_errors);
	assert_int_equal(journal_put_health(rig->journal, &record), 0);
}

/* Nobody looks at the host of a drive that is only watched, and few logs tell of one: unknown is not 0. */
static void test_the_share_of_the_host_is_of_whom_knows_it(void **state)
{
	static const struct {
		enum run_source source;
		const char *config_json;
		bool is_known;
	} row[] = {
		{ SOURCE_OWN, "{}", true },
		{ SOURCE_OBSERVE, "{}", false },
		{ SOURCE_IMPORTED, "{\"format\":\"csv\",\"knows_host_limit\":false}", false },
		{ SOURCE_IMPORTED, "{\"format\":\"csv\"}", false },
		{ SOURCE_IMPORTED, "{\"format\":\"drivesoak\",\"knows_host_limit\":true}", true },
	};
	struct summary_figures now;
	struct rig rig;

	(void)state;
	rig_begin(&rig);
	put_many(&rig, HOURS(1), 100);
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		rig.run.source = row[i].source;
		(void)snprintf(rig.run.config_json, sizeof(rig.run.config_json), "%s", row[i].config_json);
		assert_int_equal(figures_read(rig.journal, &rig.run, &now), 0);
		assert_int_equal(!isnan(now.host_limited_pct), row[i].is_known);
		assert_true(now.gap_pct >= 0);
	}
	rig_end(&rig);
}

/* What came with trouble of the link is not held against the drive. */
static void test_errors_and_losses_are_traced_to_the_link(void **state)
{
	struct event_record event;
	struct sample sample;
	struct rig rig;

	(void)state;
	rig_begin(&rig);
	put_many(&rig, HOURS(8), 100);
	sample = sample_at(&rig, 100);
	sample.errors = 4;
	put(&rig, &sample);
	put_event(&rig, "absent", rig.t_ms + 2000, 1);
	check_class(&rig, VERDICT_FAIL, "4 I/O errors not traced");
	event = fixture_event(rig.t_ms + 9000, rig.run.id, "link: ata3: SATA link down; so far in the run: ");
	(void)snprintf(event.kind, sizeof(event.kind), "error");
	(void)snprintf(event.cause, sizeof(event.cause), "link");
	troubles_print(&(struct troubles){ .link_events = 1 }, event.text + strlen(event.text));
	assert_int_equal(journal_put_event(rig.journal, &event), 0);
	check_class(&rig, VERDICT_REMARKS, "1 event of the link");
	/* Hours later it is the drive's own. */
	put_many(&rig, HOURS(1), 100);
	sample = sample_at(&rig, 100);
	sample.errors = 1;
	put(&rig, &sample);
	check_class(&rig, VERDICT_FAIL, "1 I/O error not traced");
	put_event(&rig, "absent", rig.t_ms + 2000, 1);
	check_class(&rig, VERDICT_FAIL, "1 loss of the drive not traced");
	rig_end(&rig);
}

static void test_health_that_got_worse_fails_the_run(void **state)
{
	struct rig rig;

	(void)state;
	rig_begin(&rig);
	put_many(&rig, HOURS(8), 100);
	put_health(&rig, FIXTURE_START_MS, 4); /* from before the run: no reason */
	put_health(&rig, FIXTURE_START_MS + 60000, 4);
	look(&rig);
	assert_int_equal(rig.now.verdict.verdict, VERDICT_PASS);
	put_health(&rig, FIXTURE_START_MS + 120000, 6);
	check_class(&rig, VERDICT_FAIL, "media errors");
	assert_true(rig.now.percent_used_delta == 2);
	rig_end(&rig);
}

static void test_an_import_has_no_window_and_its_falls_count(void **state)
{
	struct rig rig;

	(void)state;
	rig_begin(&rig);
	rig.run.source = SOURCE_IMPORTED;
	put_many(&rig, HOURS(8), 100);
	put_event(&rig, "collapse", FIXTURE_START_MS + 5000, 1);
	put_event(&rig, "cliff", FIXTURE_START_MS + 6000, 0);
	look(&rig);
	assert_false(rig.now.steady.reached);
	assert_true(isnan(rig.now.steady.extents));
	assert_int_equal(rig.now.collapses, 1);
	assert_int_equal(rig.now.verdict.verdict, VERDICT_NONE);
	rig_end(&rig);
}

int main(void)
{
#define CASE(function)                                                                                       \
	cmocka_unit_test_setup_teardown(function, journal_fixture_set_up, journal_fixture_tear_down)
	static const struct CMUnitTest tests[] = {
		CASE(test_the_headline_is_over_the_settled_window),
		CASE(test_without_the_rule_the_window_is_the_soak),
		CASE(test_a_long_even_run_passes_and_a_short_one_has_no_verdict),
		CASE(test_each_source_has_its_say_in_the_verdict),
		CASE(test_the_share_of_the_host_is_of_whom_knows_it),
		CASE(test_errors_and_losses_are_traced_to_the_link),
		CASE(test_health_that_got_worse_fails_the_run),
		CASE(test_an_import_has_no_window_and_its_falls_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
