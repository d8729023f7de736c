/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the interface and the page say of alerts and channels. */
#include "unit.h"

#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "alert/alert_json.h"
#include "alert/outbox.h"
#include "alert_fixture.h"
#include "base/text.h"
#include "web_fixture.h"

static struct web_fixture fixture;

static int set_up(void **state)
{
	(void)state;
	web_fixture_start(&fixture, "/");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	web_fixture_stop(&fixture);
	return 0;
}

static void publish(void)
{
	struct alert collapse = alert_fixture("evo", ALERT_COLLAPSE),
		     heat = alert_fixture("evo", ALERT_TEMPERATURE),
		     journal = alert_fixture("", ALERT_JOURNAL);
	const struct channel_status channel = { .name = "ops",
		.kind = "webhook",
		.last_ms = T0 + 1500,
		.is_failing = true,
		.result = "HTTP 500: <oops>",
		.queued = 3 };

	text_copy(collapse.text, sizeof(collapse.text), "fell \"hard\" <b>");
	collapse.muted_until_ms = INT64_MAX / 2;
	alert_board_put(fixture.alert_board, 0, &collapse);
	heat.is_firing = false;
	heat.since_ms = INT64_MIN;
	heat.value = 63;
	heat.threshold = 70;
	heat.margin_pct = 10;
	heat.muted_until_ms = T0; /* long ago */
	alert_board_put(fixture.alert_board, 0, &heat);
	journal.is_firing = false;
	journal.value = journal.threshold = NAN;
	alert_board_put(fixture.alert_board, 2, &journal);
	alert_board_put_channel(fixture.alert_board, 0, &channel);
}

/* One episode that is over. */
static void store_one(void)
{
	struct alert past = alert_fixture("pro", ALERT_STALL);
	char path[512], why[OUTBOX_WHY_MAX];
	struct outbox *outbox;

	past.is_firing = false;
	past.until_ms = T0 + 61000;
	past.cause[0] = past.evidence[0] = '\0';
	(void)snprintf(path, sizeof(path), "%s/" OUTBOX_FILE, fixture.folder);
	assert_int_equal(outbox_open(path, false, &outbox, why), 0);
	assert_int_equal(outbox_put(outbox, &past, 1, NULL, NULL, 0, 0), 0);
	outbox_close(outbox);
}

static void check_json(const char *path, const char *expected)
{
	struct http_reply reply = http_get(fixture.port, path, NULL);
	struct json_object *got = json_tokener_parse(reply.body), *wanted = json_tokener_parse(expected);

	assert_int_equal(reply.status, 200);
	assert_non_null(wanted);
	if (!json_object_equal(got, wanted))
		fail_msg("%s gave\n%s\nnot\n%s", path, reply.body, expected);
	(void)json_object_put(got);
	(void)json_object_put(wanted);
	http_free(&reply);
}

#define NOTHING_SAID                                                                                         \
	"\"channels\":[{\"name\":\"\",\"kind\":\"\",\"last_s\":0,\"result\":null,\"failing\":false,"         \
	"\"queued\":0}]"

static void test_nothing_yet(void **state)
{
	(void)state;
	check_json("/api/v1/alerts", "{\"firing\":[],\"history\":[],\"rules\":[]," NOTHING_SAID "}");
}

static void test_interface(void **state)
{
	(void)state;
	publish();
	store_one();
	check_json("/api/v1/alerts",
		"{\"firing\":[{\"alert\":\"collapse\",\"drive\":\"evo\",\"run\":\"evo-20251201T080000Z\","
		"\"severity\":"
		"\"critical\",\"since_s\":1764579600,\"value\":41.5,\"threshold\":100,\"text\":\"fell "
		"\\\"hard\\\" "
		"<b>\",\"cause\":\"thermal\",\"evidence\":\"70 "
		"C\",\"told\":false,\"held_until_s\":null,\"muted_until_s\":"
		"4611686018427387.903}],\"history\":[{\"alert\":\"stall\",\"drive\":\"pro\",\"run\":"
		"\"evo-20251201T080000Z\",\"severity\":\"critical\",\"since_s\":1764579600,\"value\":41.5,"
		"\"threshold\":100,\"text\":\"throughput is 41.5 MiB/s, less than half of 200 "
		"MiB/s\",\"cause\":null,"
		"\"evidence\":null,\"until_s\":1764579661}],\"rules\":[{\"alert\":\"collapse\",\"drive\":"
		"\"evo\","
		"\"value\":41.5,\"threshold\":100,\"margin_pct\":null,\"firing\":true,\"muted_until_s\":"
		"4611686018427387.903},{\"alert\":\"temperature\",\"drive\":\"evo\",\"value\":63,"
		"\"threshold\":70,"
		"\"margin_pct\":10,\"firing\":false,\"muted_until_s\":null},{\"alert\":\"journal\",\"drive\":"
		"null,"
		"\"value\":null,\"threshold\":null,\"margin_pct\":null,\"firing\":false,\"muted_until_s\":"
		"null}],"
		"\"channels\":[{\"name\":\"ops\",\"kind\":\"webhook\",\"last_s\":1764579601.5,\"result\":"
		"\"HTTP 500: "
		"<oops>\",\"failing\":true,\"queued\":3}]}");
}

static void check_contains(const char *path, int status, const char *part)
{
	struct http_reply reply = http_get(fixture.port, path, NULL);

	if (reply.status != status || !strstr(reply.body, part))
		fail_msg("%s gave %d:\n%s\nwithout:\n%s", path, reply.status, reply.body, part);
	http_free(&reply);
}

static void test_page_holds_hostile_text_as_text(void **state)
{
	(void)state;
	check_contains("/alerts", 200, "<h1>0 alerts fire</h1>");
	publish();
	store_one();
	check_contains("/alerts", 200, "<h1>1 alert fires</h1>");
	check_contains("/alerts", 200, "fell &quot;hard&quot; &lt;b&gt;");
	check_contains("/alerts", 200, "HTTP 500: &lt;oops&gt;");
	check_contains("/alerts", 200, "10 %");
	check_contains("/alerts", 200,
		"data-l=\"Threshold\">70 \xc2\xb0"
		"C</td>");
	check_contains("/alerts", 200, "data-l=\"Value\">41.5 B/s</td>");
	check_contains("/alerts", 200, "not known yet");
	check_contains("/alerts", 200, "<a href=\"drive/pro\">pro</a></th><td class=\"nw\">stall</td>");
	check_contains("/", 200, "href=\"alerts\"");
}

/* Without the file: the control socket's answer. */
static void test_the_board_has_the_last_of_the_history(void **state)
{
	struct alert past = alert_fixture("evo", ALERT_STALL), got;
	struct text out = TEXT_INIT;
	const char *last;

	(void)state;
	for (int i = 0; i < BOARD_PAST_MAX + 5; i++) {
		past.since_ms = T0 + i;
		alert_board_put_past(fixture.alert_board, &past);
	}
	past.since_ms = T0; /* older than all of them */
	alert_board_put_past(fixture.alert_board, &past);
	past.since_ms = INT64_MIN; /* a mute of what never fired */
	alert_board_put_past(fixture.alert_board, &past);
	past.since_ms = T0 + 20;
	past.until_ms = T0 + 99000;
	alert_board_put_past(fixture.alert_board, &past);
	for (size_t i = 0; i < BOARD_PAST_MAX; i++) {
		assert_true(alert_board_get_past(fixture.alert_board, i, &got));
		assert_true(got.since_ms == T0 + BOARD_PAST_MAX + 4 - (int64_t)i);
		assert_true((got.until_ms == T0 + 99000) == (got.since_ms == T0 + 20));
	}
	assert_false(alert_board_get_past(fixture.alert_board, BOARD_PAST_MAX, &got));
	alert_board_put_past_error(fixture.alert_board, "Input/output error");
	alert_json(fixture.alert_board, NULL, 0, T0, &out);
	assert_non_null(strstr(text_string(&out), "\"history\":[{\"alert\":\"stall\",\"drive\":\"evo\""));
	last = strstr(text_string(&out), "\"history_error\":\"Input/output error\"");
	assert_non_null(last);
	text_fini(&out);
}

static void test_a_bad_limit_and_a_damaged_file_are_told(void **state)
{
	char path[512];
	FILE *file;

	(void)state;
	check_contains("/api/v1/alerts?limit=0", 400, "limit");
	(void)snprintf(path, sizeof(path), "%s/" OUTBOX_FILE, fixture.folder);
	file = fopen(path, "w");
	assert_non_null(file);
	for (int i = 0; i < 1000; i++)
		(void)fputs("garbage ", file);
	assert_int_equal(fclose(file), 0);
	/* What fires is told all the same. */
	publish();
	check_contains("/api/v1/alerts", 200, "{\"firing\":[{\"alert\":\"collapse\",");
	check_contains("/api/v1/alerts", 200,
		"\"history\":null,\"history_error\":\"file is not a database\",\"rules\":[");
	check_contains("/alerts", 200, "They can't be read: file is not a database");
}

int main(void)
{
#define CASE(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
	static const struct CMUnitTest tests[] = {
		CASE(test_nothing_yet),
		CASE(test_interface),
		CASE(test_page_holds_hostile_text_as_text),
		CASE(test_the_board_has_the_last_of_the_history),
		CASE(test_a_bad_limit_and_a_damaged_file_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
