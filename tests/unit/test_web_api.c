/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "archive/rrdfile.h"
#include "base/clock.h"
#include "web/store.h"
#include "web_fixture.h"

#define T0     FIXTURE_START_MS
#define RUN_ID "evo-20261130T214900Z"
#define PRO_ID "pro-20261130T214900Z"
#define DOWN_S 120

static struct web_fixture fixture;

static void put_sample(const char *run, struct sample sample)
{
	assert_int_equal(journal_put_sample(fixture.journal, run, &sample), 0);
}

/* 10 s samples of 100, 0 (real) and 300 MiB, 120 s down, then 200 MiB in a sample that was short. */
static void fill(void)
{
	struct run_record run;
	struct sample sample;
	struct event_record event;

	web_fixture_journal(&fixture);
	fixture_run(&run, "evo", 10);
	assert_string_equal(run.id, RUN_ID);
	run.written_bytes = 600 * 1048576ULL;
	(void)snprintf(run.model, sizeof(run.model), "<script>alert(1)</script>");
	assert_int_equal(journal_put_run(fixture.journal, &run), 0);
	put_sample(run.id, fixture_sample(T0 + 10000, 10, 100 * 1048576));
	sample = fixture_sample(T0 + 20000, 10, 0);
	sample.state = SAMPLE_ZERO;
	sample.lat_p50_ns = sample.lat_p90_ns = sample.lat_p99_ns = sample.lat_p999_ns = sample.lat_max_ns =
		SAMPLE_UNKNOWN;
	sample.stall_ns = 10 * NS_PER_S;
	put_sample(run.id, sample);
	put_sample(run.id, fixture_sample(T0 + 30000, 10, 300 * 1048576));
	put_sample(run.id, fixture_down(T0 + 30000 + DOWN_S * 1000, DOWN_S * NS_PER_S));
	sample = fixture_sample(T0 + 160000, 10, 200 * 1048576);
	sample.elapsed_ns = 8 * NS_PER_S;
	sample.flags = SAMPLE_FLAG_HEALTH_POLL | SAMPLE_FLAG_CLOCK_STEP;
	put_sample(run.id, sample);
	event = fixture_event(T0 + 20000, run.id, "fell \"hard\" <b>");
	assert_int_equal(journal_put_event(fixture.journal, &event), 0);
	event = (struct event_record){
		.t_ms = T0 + 30500, .until_ms = T0 + 150000, .kind = "resumed", .text = "was down"
	};
	assert_int_equal(journal_put_event(fixture.journal, &event), 0);
	web_fixture_publish(&fixture, 0, run.id, T0 + 160000);
}

static int set_up(void **state)
{
	(void)state;
	web_fixture_start(&fixture, "/");
	return 0;
}

static int set_up_filled(void **state)
{
	(void)set_up(state);
	fill();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	web_fixture_stop(&fixture);
	return 0;
}

static void check_get(const char *path, int status, const char *body)
{
	struct http_reply reply = http_get(fixture.port, path, NULL);

	if (reply.status != status || strcmp(reply.body, body) != 0)
		fail_msg("%s gave %d:\n%s\nnot %d:\n%s", path, reply.status, reply.body, status, body);
	http_free(&reply);
}

static void check_contains(const char *path, int status, const char *part)
{
	struct http_reply reply = http_get(fixture.port, path, NULL);

	if (reply.status != status || !strstr(reply.body, part))
		fail_msg("%s gave %d:\n%s\nwithout:\n%s", path, reply.status, reply.body, part);
	http_free(&reply);
}

static void test_before_anything_is_stored(void **state)
{
	(void)state;
	check_get("/api/v1/runs", 200, "{\"runs\":[]}\n");
	check_get("/api/v1/events", 200, "{\"events\":[]}\n");
	check_get("/api/v1/runs/x", 404, "{\"error\":{\"status\":404,\"message\":\"no run is called x\"}}\n");
	check_contains("/readyz", 503, "drive evo has no state yet");
	check_contains("/healthz", 200, "\"status\":\"ok\"");
	/* Every drive of the config has its row, with nothing invented. */
	check_contains("/api/v1/status", 200,
		"{\"name\":\"pro\",\"label\":null,\"model\":null,\"serial\":null,\"state\":\"idle\","
		"\"phase\":null,\"reason\":null,"
		"\"run\":null,\"progress\":null,\"eta_s\":null,\"write_bytes_per_s\":null,\"read_bytes_per_"
		"s\":null,"
		"\"baseline_bytes_per_s\":null,\"percent_of_baseline\":null,\"lat_p99_ns\":null,\"temp_c\":"
		"null,"
		"\"percent_used\":null,\"written_bytes\":null,\"last_sample_s\":null,\"health_read_s\":null,"
		"\"settled_s\":null,\"why_not_settled\":null,\"finding\":null,\"alerts\":[]}]}\n");
	check_contains("/", 200, "no data");
	check_contains("/compare", 200, "Nothing has run yet");
	check_contains("/drive/pro", 200, "This drive has no run yet");
	check_contains("/graph/jitter.svg", 404, "there is no run to show");
}

static void test_the_journal_may_come_later(void **state)
{
	(void)state;
	check_get("/api/v1/runs", 200, "{\"runs\":[]}\n");
	fill();
	check_contains("/api/v1/runs", 200, "\"id\":\"" RUN_ID "\"");
	web_fixture_publish(&fixture, 1, "", INT64_MIN);
	check_get("/readyz", 200, "{\"status\":\"ready\"}\n");
}

static void test_status(void **state)
{
	(void)state;
	check_contains("/api/v1/status", 200, "{\"version\":\"" PACKAGE_VERSION "\",\"host\":\"");
	check_contains("/api/v1/status", 200,
		"\"drives\":[{\"name\":\"evo\",\"label\":null,\"model\":\"MODEL "
		"<script>alert(1)</script>\",\"serial\":"
		"\"S\\\"1&2'345678\",\"state\":\"running\",\"phase\":\"soak\",\"reason\":\"soaking "
		"<b>now</b>\",\"run\":\"" RUN_ID
		"\",\"progress\":0.25,\"eta_s\":3600,\"write_bytes_per_s\":1048576,\"read_bytes_per_s\":0,"
		"\"baseline_bytes_per_s\":null,\"percent_of_baseline\":null,\"lat_p99_ns\":99000,\"temp_c\":"
		"null,"
		"\"percent_used\":3,\"written_bytes\":123456789,\"last_sample_s\":1796075560,\"health_read_"
		"s\":null,"
		"\"settled_s\":null,\"why_not_settled\":null,\"finding\":null,\"alerts\":[]},");
}

#define HEAD                                                                                                 \
	"t_s,elapsed_s,state,flags,phase,write_bytes,write_ios,read_bytes,read_ios,errors,lat_p50_ns,lat_"   \
	"p90_ns,"                                                                                            \
	"lat_p99_ns,lat_p999_ns,lat_max_ns,stall_ns,inflight_mean,temp_c,lat_p9999_ns,host_cpu_share,steal_" \
	"share,run_delay_share,device_lat_mean_ns,lat_mean_ns,throttled_ns,commits,commit_p50_ns,commit_"    \
	"p99_ns\n"
#define TAIL  ",31.5,41,99990,0.25,0.125,0.0625,48000,52000,9000,11,71000,72000\n"
#define LINE1 "1796075410,10,measured,,soak,104857600,6400,3,2,1,50000,90000,99000,99900,123456789,7000" TAIL
#define LINE2 "1796075420,10,zero,,soak,0,0,3,2,1,,,,,,10000000000" TAIL
#define LINE3 "1796075430,10,measured,,soak,314572800,19200,3,2,1,50000,90000,99000,99900,123456789,7000" TAIL
#define LINE4 "1796075550,120,down,,soak,,,,,,,,,,,,,,,,,,,,,,,\n"
#define LINE5                                                                                                \
	"1796075560,8,measured,health-poll|clock-step,soak,209715200,12800,3,2,1,50000,90000,99000,99900,"   \
	"123456789,7000" TAIL

static void test_drives(void **state)
{
	struct http_reply reply = http_get(fixture.port, "/api/v1/drives", "");

	(void)state;
	assert_int_equal(reply.status, 200);
	assert_non_null(strstr(reply.bytes, "Content-Type: application/json"));
	assert_memory_equal(reply.body, "{\"drives\":[", 11);
	/* A machine without any disk has an empty list. */
	if (strchr(reply.body, 'p')) {
		assert_non_null(strstr(reply.body, "{\"path\":\"/dev/"));
		assert_non_null(strstr(reply.body, "\"usable\":"));
		assert_non_null(strstr(reply.body, "\"reasons\":["));
	}
	http_free(&reply);
}

static uint64_t fake_now_ns, fake_step_ns;

static uint64_t fake_mono_ns(void)
{
	return fake_now_ns += fake_step_ns;
}

static uint64_t fake_boot_ns(void)
{
	return fake_now_ns;
}

static int64_t fake_wall_ns(void)
{
	return (int64_t)fake_now_ns;
}

/* Does an asker at @now_ms get what is kept? It is spoiled, so that it can be told from a new look. */
static void expect_kept(struct store *store, uint64_t now_ms, bool is_kept)
{
	const struct text *drives = NULL;

	fake_now_ns = now_ms * NS_PER_MS;
	assert_int_equal(store_drives(store, &fixture.config, fixture.folder, &drives), 0);
	assert_int_equal(drives->bytes[0], is_kept ? 'X' : '{');
	drives->bytes[0] = 'X';
}

static void test_many_askers_cost_one_look_at_the_disks(void **state)
{
	static const struct clock_source fake = { fake_mono_ns, fake_boot_ns, fake_wall_ns };
	struct store *store = NULL;

	(void)state;
	clock_replace(&fake);
	assert_int_equal(store_new(fixture.folder, &store), 0);
	expect_kept(store, 100000, false);
	expect_kept(store, 100000, true);
	expect_kept(store, 104999, true);
	expect_kept(store, 105000, false);
	/* A look of a second, which began a second after the clock was set, is kept for 20. */
	fake_step_ns = NS_PER_S;
	expect_kept(store, 200000, false);
	fake_step_ns = 0;
	expect_kept(store, 220999, true);
	expect_kept(store, 221000, false);
	clock_replace(NULL);
	store_free(store);
}

static void test_samples_csv(void **state)
{
	struct http_reply reply;
	char disposition[128] = "";

	(void)state;
	check_get("/api/v1/runs/" RUN_ID "/samples.csv", 200, HEAD LINE1 LINE2 LINE3 LINE4 LINE5);
	/* from is outside, to is inside: a sample is named by its end. */
	check_get("/api/v1/runs/" RUN_ID "/samples.csv?from=1796075410&to=1796075430", 200, HEAD LINE2 LINE3);
	check_get("/api/v1/runs/" RUN_ID "/samples.csv?from=1796075409.999&to=1796075410", 200, HEAD LINE1);
	check_get("/api/v1/runs/" RUN_ID "/samples.csv?to=1796075420", 200, HEAD LINE1 LINE2);
	reply = http_get(fixture.port, "/api/v1/runs/" RUN_ID "/samples.csv", NULL);
	(void)http_header(&reply, "Content-Disposition", disposition, sizeof(disposition));
	assert_string_equal(disposition, "attachment; filename=\"" RUN_ID ".csv\"");
	http_free(&reply);
}

static void test_samples_json(void **state)
{
	(void)state;
	check_get("/api/v1/runs/" RUN_ID "/samples.json?from=1796075410&to=1796075550", 200,
		"{\"interval_s\":10,\"columns\":[\"t_s\",\"elapsed_s\",\"state\",\"flags\",\"phase\",\"write_"
		"bytes\",\"write_ios\","
		"\"read_bytes\",\"read_ios\",\"errors\",\"lat_p50_ns\",\"lat_p90_ns\",\"lat_p99_ns\",\"lat_"
		"p999_ns\",\"lat_max_ns\","
		"\"stall_ns\",\"inflight_mean\",\"temp_c\",\"lat_p9999_ns\",\"host_cpu_share\",\"steal_"
		"share\",\"run_delay_share\",\"device_lat_mean_ns\",\"lat_mean_ns\",\"throttled_ns\","
		"\"commits\",\"commit_p50_ns\",\"commit_p99_ns\"],"
		"\"rows\":["
		"[1796075420,10,\"zero\",\"\",\"soak\",0,0,3,2,1,null,null,null,null,null,10000000000,31.5,"
		"41,99990,0.25,0.125,0.0625,48000,52000,9000,11,71000,72000],"
		"[1796075430,10,\"measured\",\"\",\"soak\",314572800,19200,3,2,1,50000,90000,99000,99900,"
		"123456789,7000,31.5,41,"
		"99990,0.25,0.125,0.0625,48000,52000,9000,11,71000,72000],"
		"[1796075550,120,\"down\",\"\",\"soak\",null,null,null,null,null,null,null,null,null,null,"
		"null,null,null,null,null,"
		"null,null,null,null,null,null,null,null]]}\n");
}

static void test_series(void **state)
{
	(void)state;
	check_get("/api/v1/runs/" RUN_ID "/series?from=1796075400&to=1796075440", 200,
		"{\"from_s\":1796075400,\"to_s\":1796075440,\"bucket_s\":10,\"fields\":{\"write_bytes_per_"
		"s\":{\"t_s\":["
		"1796075410,1796075420,1796075430,1796075440],\"min\":[10485760,0,31457280,null],\"mean\":["
		"10485760,0,31457280,"
		"null],\"max\":[10485760,0,31457280,null]}}}\n");
	/* 160 s in at most 3: 60 s each, aligned; 400 MiB in 30 s, a gap, 200 MiB in 8 s. */
	check_get("/api/v1/runs/" RUN_ID
		  "/series?from=1796075400&to=1796075560&points=3&fields=write_bytes_per_s,temp_c",
		200,
		"{\"from_s\":1796075400,\"to_s\":1796075580,\"bucket_s\":60,\"fields\":{\"write_bytes_per_"
		"s\":{\"t_s\":[1796075460,"
		"1796075520,1796075580],\"min\":[0,null,26214400],\"mean\":[13981013.333333334,null,26214400]"
		","
		"\"max\":[31457280,null,"
		"26214400]},\"temp_c\":{\"t_s\":[1796075460,1796075520,1796075580],\"min\":[41,null,41],"
		"\"mean\":[41,null,41],"
		"\"max\":[41,null,41]}}}\n");
	check_contains("/api/v1/runs/" RUN_ID "/series?from=1796075400&points=1", 200, "\"bucket_s\":160,");
	/* The whole run: from its start, 60 s before the soak. */
	check_contains("/api/v1/runs/" RUN_ID "/series", 200,
		"{\"from_s\":1796075340,\"to_s\":1796075560,\"bucket_s\":10,");
}

static void test_bad_parameters_are_named(void **state)
{
	static const struct {
		const char *query, *says;
	} rows[] = {
		{ "series?from=yesterday", "from: allowed are epoch seconds" },
		{ "series?from", "from: allowed" },
		{ "series?to=", "to: allowed" },
		{ "series?from=-1", "from: allowed" },
		{ "series?from=1e9", "from: allowed" },
		{ "series?from=1.2345", "from: allowed" },
		{ "series?from=now-", "from: allowed" },
		{ "series?from=now-6x", "from: allowed" },
		{ "series?from=now+6h", "from: allowed" },
		{ "series?from=now-99999999d", "from: allowed" },
		{ "series?from=999999999999", "from: allowed" },
		{ "series?from=99999999999999999999", "from: allowed" },
		{ "series?from=2000000000&to=1999999999", "from: must be before to" },
		{ "series?from=1796075560&to=1796075560", "from: must be before to" },
		{ "series?points=0", "points: allowed are whole numbers from 1 to 4000" },
		{ "series?points=4001", "points: allowed" },
		{ "series?points=1.5", "points: allowed" },
		{ "series?points", "points: allowed" },
		{ "series?fields=", "fields: allowed, with commas between and each once, are "
				    "write_bytes_per_s, read_bytes_per_s" },
		{ "series?fields=nosuch", "temp_c" },
		{ "samples.json?from=x", "from: allowed" },
		{ "samples.csv?to=x", "to: allowed" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char path[256];

		(void)snprintf(path, sizeof(path), "/api/v1/runs/" RUN_ID "/%s", rows[i].query);
		check_contains(path, 400, rows[i].says);
		check_contains(path, 400, "{\"error\":{\"status\":400,\"message\":\"");
	}
	check_contains("/api/v1/runs/" RUN_ID "/series?from=now-6h&to=now", 200, "\"fields\"");
	check_contains("/compare?runs=nosuch", 404, "runs: no run is called nosuch");
	check_contains("/graph/jitter.svg?runs=" RUN_ID ",nosuch", 404, "{\"error\":{\"status\":404,");
	check_contains("/graph/nosuch/timeline.svg", 404, "no run is called nosuch");
}

static void test_events(void **state)
{
	static const char first[] =
		"{\"t_s\":1796075430.500,\"until_s\":1796075550,\"kind\":\"resumed\",\"severity\":\"info\","
		"\"drive\":null,\"run\":null,\"text\":\"was down\",\"cause\":null,\"evidence\":null}";
	static const char second[] =
		"{\"t_s\":1796075420,\"until_s\":null,\"kind\":\"phase\",\"severity\":\"warning\","
		"\"drive\":\"evo\",\"run\":\"" RUN_ID
		"\",\"text\":\"fell \\\"hard\\\" <b>\",\"cause\":\"host\","
		"\"evidence\":\"steal 4 %\"}";
	char body[2048];

	(void)state;
	(void)snprintf(body, sizeof(body), "{\"events\":[%s,%s]}\n", first, second);
	check_get("/api/v1/events", 200, body);
	(void)snprintf(body, sizeof(body), "{\"events\":[%s]}\n", first);
	check_get("/api/v1/events?limit=1", 200, body);
	(void)snprintf(body, sizeof(body), "{\"events\":[%s]}\n", second);
	check_get("/api/v1/runs/" RUN_ID "/events", 200, body);
}

static void test_run_summary_follows_new_samples(void **state)
{
	struct sample late = fixture_sample(T0 + 170000, 10, 50 * 1048576);

	(void)state;
	check_contains("/api/v1/runs/" RUN_ID, 200, "\"samples\":4,");
	check_contains("/api/v1/runs/" RUN_ID, 200, "\"min_write_bytes_per_s\":0,");
	check_contains("/api/v1/runs/" RUN_ID, 200, "\"model\":\"<script>alert(1)</script>\"");
	put_sample(RUN_ID, late);
	check_contains("/api/v1/runs/" RUN_ID, 200, "\"samples\":5,");
	check_contains("/api/v1/runs", 200, "\"samples\":5,");
	check_contains("/run/" RUN_ID, 200, "<b>5</b>");
}

/* From "summary" on to its end. */
static char *summary_of(const char *path)
{
	struct http_reply reply = http_get(fixture.port, path, NULL);
	char *from = strstr(reply.body, "\"summary\":"), *to, *summary;

	assert_int_equal(reply.status, 200);
	assert_non_null(from);
	to = strstr(from, "\"health_poll_cost_pct\"");
	assert_non_null(to);
	summary = strndup(from, (size_t)(to - from));
	assert_non_null(summary);
	http_free(&reply);
	return summary;
}

/* A day and more of a run that falls, beside a short one: the plot shows little of it, the figures are of all. */
static void test_compare_has_the_summary_of_the_run(void **state)
{
	char *alone, *compared, *with_other;
	struct event_record event;
	struct run_record run;

	(void)state;
	fixture_run(&run, "pro", 300);
	assert_int_equal(journal_put_run(fixture.journal, &run), 0);
	for (int i = 1; i <= 400; i++)
		put_sample(run.id, fixture_sample(T0 + i * 300000LL, 300, i < 100 ? 3000000000 : 300000000));
	event = fixture_event(T0 + 100 * 300000LL, run.id, "fell");
	assert_int_equal(journal_put_event(fixture.journal, &event), 0);
	alone = summary_of("/api/v1/runs/" PRO_ID);
	assert_non_null(strstr(alone, "\"settled\":true}"));
	compared = summary_of("/api/v1/compare?runs=" PRO_ID);
	with_other = summary_of("/api/v1/compare?runs=" PRO_ID "," RUN_ID);
	assert_string_equal(compared, alone);
	assert_string_equal(with_other, alone);
	check_contains("/api/v1/compare?runs=" PRO_ID "," RUN_ID, 200, "\"plotted_samples\":4,");
	check_contains("/compare?runs=" PRO_ID, 200, "<td class=\"num\">301</td>");
	check_contains("/compare?runs=" PRO_ID, 200, "nw bad\">FAIL</td>");
	free(alone);
	free(compared);
	free(with_other);
}

static void test_compare(void **state)
{
	(void)state;
	check_contains("/api/v1/compare?runs=" RUN_ID, 200,
		"{\"runs\":[{\"id\":\"" RUN_ID
		"\",\"drive\":\"evo\",\"label\":\"slot 3\",\"from_s\":1796075410,"
		"\"to_s\":1796075560,\"plotted_samples\":4,\"summary\":{\"samples\":4,");
	check_contains("/api/v1/compare", 200, "\"id\":\"" RUN_ID "\"");
	check_contains("/api/v1/compare?runs=none", 404, "no run is called none");
}

/* An import of @bytes a second that began @at seconds after the others. */
static void put_import(const char *name, int at, uint64_t bytes)
{
	struct run_record run;

	fixture_run(&run, name, 10);
	run.source = SOURCE_IMPORTED;
	run.progress.phase = PHASE_DONE;
	run.progress.status = RUN_DONE;
	run.label[0] = '\0';
	run.started_ms = T0 + at * 1000LL;
	run.ended_ms = run.started_ms + 20000;
	run_id_make(name, run.started_ms, run.id);
	assert_int_equal(journal_put_run(fixture.journal, &run), 0);
	put_sample(run.id, fixture_sample(run.started_ms + 10000, 10, bytes * 10));
	put_sample(run.id, fixture_sample(run.started_ms + 20000, 10, bytes * 10));
}

static void check_lacks(const char *path, const char *part)
{
	struct http_reply reply = http_get(fixture.port, path, NULL);

	assert_int_equal(reply.status, 200);
	if (strstr(reply.body, part))
		fail_msg("%s has %s:\n%s", path, part, reply.body);
	http_free(&reply);
}

static void test_imports_stand_beside_the_drives(void **state)
{
	char name[32];

	(void)state;
	check_lacks("/", "Imported");
	put_import("other", 0, 5242880);
	put_import("other", 100, 7340032);
	check_contains("/", 200, "<h2>Imported</h2>");
	check_contains("/", 200, "<th scope=\"row\" class=\"nw\">other</th>");
	check_contains("/", 200, "href=\"run/other-20261130T215140Z\"");
	check_contains("/", 200, "<td class=\"num\" data-l=\"\">7.00</td>");
	check_contains("/", 200, "href=\"run/other-20261130T215000Z\"");
	check_contains("/api/v1/compare", 200, "\"id\":\"" RUN_ID "\"");
	check_contains("/api/v1/compare", 200, "\"id\":\"other-20261130T215140Z\"");
	check_contains("/api/v1/compare", 200, "\"left_out\":0}");
	check_lacks("/api/v1/compare", "other-20261130T215000Z");
	check_contains("/compare", 200, "<h1>Compare 2 runs</h1>");
	check_lacks("/compare", "left out");
	/* More than there is room for: the oldest are left out, and that is said. */
	for (int i = 0; i < 20; i++) {
		(void)snprintf(name, sizeof(name), "log%02d", i);
		put_import(name, 200 + i, 1048576);
	}
	check_contains("/compare", 200, "<h1>Compare 12 runs</h1>");
	check_contains("/compare", 200, "10 more, the oldest, are left out");
	check_contains("/api/v1/compare", 200, "\"left_out\":10}");
	check_contains("/api/v1/compare", 200, "\"drive\":\"evo\"");
	check_contains("/api/v1/compare", 200, "\"drive\":\"log19\"");
	check_lacks("/api/v1/compare", "\"drive\":\"log08\"");
	check_contains("/", 200, "2 more imported ones");
	check_lacks("/", "href=\"run/other-20261130T215140Z\"");
}

static void test_pages_hold_hostile_names_as_text(void **state)
{
	static const char *const paths[] = { "/", "/runs", "/run/" RUN_ID, "/drive/evo", "/compare",
		"/events", "/compare?runs=" RUN_ID, "/graph/jitter.svg" };

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		struct http_reply reply = http_get(fixture.port, paths[i], NULL);

		assert_int_equal(reply.status, 200);
		assert_null(strstr(reply.body, "<script>"));
		assert_null(strstr(reply.body, "<b>now"));
		assert_null(strstr(reply.body, "hard\" <b>"));
		/* Neither works under the policy. */
		assert_null(strstr(reply.body, " style="));
		assert_null(strstr(reply.body, " onclick"));
		http_free(&reply);
	}
}

static void test_timeline_from_the_view(void **state)
{
	static const unsigned char png[] = { 0x89, 'P', 'N', 'G' };
	char folder[512], why[RRDFILE_WHY_MAX];
	struct http_reply reply;
	struct rrdfile *file;
	bool rebuilt;

	(void)state;
	check_contains("/graph/" RUN_ID "/timeline.svg", 503, "the graph cannot be drawn: ");
	(void)snprintf(folder, sizeof(folder), "%s/runs", fixture.folder);
	(void)mkdir(folder, 0777);
	assert_int_equal(rrdfile_new(fixture.folder, RUN_ID, 10, &file), 0);
	assert_int_equal(rrdfile_sync(file, fixture.journal, 3600, &rebuilt, why), 0);
	rrdfile_free(file);
	check_contains("/graph/" RUN_ID "/timeline.svg", 200, "<svg");
	reply = http_get(
		fixture.port, "/graph/" RUN_ID "/timeline.png?width=400&from=1796075400&to=1796075560", NULL);
	assert_int_equal(reply.status, 200);
	assert_true(reply.body_length > 1000);
	assert_memory_equal(reply.body, png, sizeof(png));
	http_free(&reply);
}

static void test_what_a_long_run_costs(void **state)
{
	static const char *const paths[] = { "/api/v1/runs/" PRO_ID "/samples.json",
		"/api/v1/runs/" PRO_ID "/samples.csv",
		"/api/v1/runs/" PRO_ID "/series?fields=write_bytes_per_s,lat_p50_ns,lat_p99_ns,lat_max_ns",
		"/api/v1/runs/" PRO_ID, "/run/" PRO_ID, "/compare?runs=" PRO_ID };
	const char *count_text = getenv("DRIVESOAK_LONG_RUN");
	int count = count_text ? atoi(count_text) : 2000;
	struct run_record run;

	(void)state;
	fixture_run(&run, "pro", 10);
	assert_string_equal(run.id, PRO_ID);
	assert_int_equal(journal_put_run(fixture.journal, &run), 0);
	assert_int_equal(journal_begin(fixture.journal), 0);
	for (int i = 1; i <= count; i++) {
		struct sample sample = fixture_sample(T0 + i * 10000LL, 10, 1000000 + (uint64_t)i * 16384);

		sample.hist_bytes = 400;
		memset(sample.hist, 0, sizeof(sample.hist));
		put_sample(run.id, sample);
	}
	assert_int_equal(journal_commit(fixture.journal), 0);
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		uint64_t start_ns = clock_mono_ns();
		struct http_reply reply = http_get(fixture.port, paths[i], NULL);

		assert_int_equal(reply.status, 200);
		print_message("%d samples: %s %zu bytes, %llu ms\n", count, paths[i], reply.body_length,
			(unsigned long long)((clock_mono_ns() - start_ns) / NS_PER_MS));
		http_free(&reply);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_before_anything_is_stored, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_the_journal_may_come_later, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_status, set_up_filled, tear_down),
		cmocka_unit_test_setup_teardown(test_drives, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_many_askers_cost_one_look_at_the_disks, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_samples_csv, set_up_filled, tear_down),
		cmocka_unit_test_setup_teardown(test_samples_json, set_up_filled, tear_down),
		cmocka_unit_test_setup_teardown(test_series, set_up_filled, tear_down),
		cmocka_unit_test_setup_teardown(test_bad_parameters_are_named, set_up_filled, tear_down),
		cmocka_unit_test_setup_teardown(test_events, set_up_filled, tear_down),
		cmocka_unit_test_setup_teardown(
			test_run_summary_follows_new_samples, set_up_filled, tear_down),
		cmocka_unit_test_setup_teardown(test_compare, set_up_filled, tear_down),
		cmocka_unit_test_setup_teardown(
			test_compare_has_the_summary_of_the_run, set_up_filled, tear_down),
		cmocka_unit_test_setup_teardown(
			test_imports_stand_beside_the_drives, set_up_filled, tear_down),
		cmocka_unit_test_setup_teardown(
			test_pages_hold_hostile_names_as_text, set_up_filled, tear_down),
		cmocka_unit_test_setup_teardown(test_timeline_from_the_view, set_up_filled, tear_down),
		cmocka_unit_test_setup_teardown(test_what_a_long_run_costs, set_up_filled, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
