/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One message in the words of each receiver, read back by somebody else's parser; and hostile strings in all of them. */
#include "unit.h"

#include <json-c/json.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "alert/body.h"
#include "alert_fixture.h"
#include "base/units.h"

static const struct body_context context = { .host = "rig7", .page_url = "http://127.0.0.1:8734/alerts" };
static struct alert_message message;
static struct text out;

/* Quotes, a newline, a header of their own, a control character, what turns the text around, and a broken byte. */
#define EVIL "q\"'\\ \r\nBcc: x@example.org\x1b[2J\xe2\x80\xae \xc3\xa9 \xff end"

static int set_up(void **state)
{
	struct alert alert = alert_fixture("evo", ALERT_COLLAPSE);

	(void)state;
	alert_fixture_message(&message, ALERT_RAISED, &alert);
	(void)strcpy(message.id, "0123456789abcdef0123456789abcdef");
	text_fini(&out);
	return 0;
}

static void add(const char *drive, enum alert_rule rule, enum alert_note note, enum event_severity severity)
{
	struct alert_entry *entry = &message.entries[message.count++];

	entry->note = note;
	entry->alert = alert_fixture(drive, rule);
	entry->alert.severity = severity;
	if (note == ALERT_RESOLVED) {
		entry->alert.is_firing = false;
		entry->alert.until_ms = T0 + 61500;
	}
}

static struct json_object *parse(const char *bytes)
{
	struct json_tokener *tokener = json_tokener_new();
	struct json_object *object;

	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	object = json_tokener_parse_ex(tokener, bytes, (int)strlen(bytes) + 1);
	if (!object)
		fail_msg("%s: %s", json_tokener_error_desc(json_tokener_get_error(tokener)), bytes);
	json_tokener_free(tokener);
	return object;
}

static void check_json(const char *expected)
{
	struct json_object *a = parse(text_string(&out)), *b = parse(expected);

	if (!json_object_equal(a, b))
		fail_msg("got\n%s\nexpected\n%s", json_object_to_json_string(a),
			json_object_to_json_string(b));
	(void)json_object_put(a);
	(void)json_object_put(b);
}

/* The keys and forms of what Debian's Alertmanager 0.25 posts. */
static void test_alertmanager_webhook(void **state)
{
	(void)state;
	add("evo", ALERT_STALL, ALERT_RESOLVED, EVENT_CRITICAL);
	message.entries[1].alert.untold = 3;
	message.entries[1].alert.untold_since_ms = message.t_ms - 720000;
	message.entries[1].alert.value = NAN;
	message.entries[1].alert.cause[0] = message.entries[1].alert.evidence[0] = '\0';
	body_alertmanager(&message, "ops", &context, &out);
	check_json(
		"{\"receiver\":\"ops\",\"status\":\"firing\",\"alerts\":[{\"status\":\"firing\",\"labels\":{"
		"\"alertname\":\"DrivesoakThroughputCollapse\",\"drive\":\"evo\",\"instance\":\"rig7\","
		"\"severity\":\"critical\"},\"annotations\":{\"summary\":\"throughput is 41.5 MiB/s, less "
		"than half of "
		"200 MiB/s\",\"alert\":\"collapse\",\"cause\":\"thermal\",\"evidence\":\"70 "
		"C\",\"label\":\"Shelf 3\","
		"\"model\":\"EVO "
		"840\",\"serial\":\"S1234\",\"run\":\"evo-20251201T080000Z\",\"value\":\"41.5\","
		"\"threshold\":\"100\",\"note\":\"raised\",\"message_id\":"
		"\"0123456789abcdef0123456789abcdef\","
		"\"url\":\"http://127.0.0.1:8734/alerts\"},\"startsAt\":\"2025-12-01T09:00:00.000Z\","
		"\"endsAt\":\"0001-01-01T00:00:00Z\",\"generatorURL\":\"http://127.0.0.1:8734/alerts\","
		"\"fingerprint\":\"a35d056ffb1a7c87\"},{\"status\":\"resolved\",\"labels\":{\"alertname\":"
		"\"DrivesoakStall\",\"drive\":\"evo\",\"instance\":\"rig7\",\"severity\":\"critical\"},"
		"\"annotations\":{\"summary\":\"fired 3 times in 12 min; the last: throughput is 41.5 MiB/s, "
		"less than half of 200 MiB/s\",\"alert\":"
		"\"stall\",\"label\":\"Shelf 3\",\"model\":\"EVO 840\",\"serial\":\"S1234\",\"run\":"
		"\"evo-20251201T080000Z\",\"threshold\":\"100\",\"note\":\"resolved\",\"untold\":\"3\","
		"\"message_id\":"
		"\"0123456789abcdef0123456789abcdef\",\"url\":\"http://127.0.0.1:8734/alerts\"},\"startsAt\":"
		"\"2025-12-01T09:00:00.000Z\",\"endsAt\":\"2025-12-01T09:01:01.500Z\",\"generatorURL\":"
		"\"http://127.0.0.1:8734/"
		"alerts\",\"fingerprint\":\"eb543b2554e8c47e\"}],\"groupLabels\":{\"instance\":"
		"\"rig7\"},\"commonLabels\":{\"drive\":\"evo\",\"instance\":\"rig7\",\"severity\":"
		"\"critical\"},"
		"\"commonAnnotations\":{\"message_id\":\"0123456789abcdef0123456789abcdef\"},\"externalURL\":"
		"\"http://127.0.0.1:8734/"
		"alerts\",\"version\":\"4\",\"groupKey\":\"{}:{instance=\\\"rig7\\\"}\","
		"\"truncatedAlerts\":0}");
}

static void test_fingerprint_is_of_rule_drive_and_host(void **state)
{
	struct alert alert = alert_fixture("evo", ALERT_COLLAPSE);
	char first[17], again[17];
	const struct body_context elsewhere = { .host = "rig8", .page_url = "" };

	(void)state;
	body_fingerprint(&alert, &context, first);
	alert.since_ms += 1000;
	alert.severity = EVENT_WARNING;
	(void)strcpy(alert.run, "evo-other");
	body_fingerprint(&alert, &context, again);
	assert_string_equal(first, again);
	body_fingerprint(&alert, &elsewhere, again);
	assert_string_not_equal(first, again);
	alert.rule = ALERT_STALL;
	body_fingerprint(&alert, &context, again);
	assert_string_not_equal(first, again);
}

/* The stamps of the service may be ahead of the clock that the receiver goes by. */
static void test_alertmanager_interface_after_a_step_of_the_clock(void **state)
{
	(void)state;
	add("", ALERT_JOURNAL, ALERT_RESOLVED, EVENT_WARNING);
	body_alertmanager_api(
		&message, T0 - 7200000, T0 - 3600000, &(struct body_context){ "rig7", "" }, &out);
	assert_non_null(strstr(text_string(&out),
		"\"startsAt\":\"2025-12-01T08:00:00.000Z\",\"endsAt\":\"2025-12-01T08:00:00.000Z\""));
	assert_non_null(strstr(text_string(&out),
		"\"startsAt\":\"2025-12-01T07:00:00.000Z\",\"endsAt\":\"2025-12-01T07:00:00.000Z\""));
}

static void test_alertmanager_interface(void **state)
{
	(void)state;
	add("", ALERT_JOURNAL, ALERT_RESOLVED, EVENT_WARNING);
	body_alertmanager_api(&message, T0 + 100000, T0 + 300000, &(struct body_context){ "rig7", "" }, &out);
	check_json(
		"[{\"labels\":{\"alertname\":\"DrivesoakThroughputCollapse\",\"drive\":\"evo\",\"instance\":"
		"\"rig7\",\"severity\":\"critical\"},\"annotations\":{\"summary\":\"throughput is 41.5 "
		"MiB/s, less "
		"than half of 200 MiB/s\",\"alert\":\"collapse\",\"cause\":\"thermal\",\"evidence\":\"70 C\","
		"\"label\":\"Shelf 3\",\"model\":\"EVO 840\",\"serial\":\"S1234\",\"run\":"
		"\"evo-20251201T080000Z\",\"value\":\"41.5\",\"threshold\":\"100\",\"note\":\"raised\"},"
		"\"startsAt\":\"2025-12-01T09:00:00.000Z\",\"endsAt\":\"2025-12-01T09:05:00.000Z\"},"
		"{\"labels\":{\"alertname\":\"DrivesoakRecordsWaiting\",\"instance\":\"rig7\",\"severity\":"
		"\"warning\"},\"annotations\":{\"summary\":\"throughput is 41.5 MiB/s, less than half of 200 "
		"MiB/s\",\"alert\":\"journal\",\"cause\":\"thermal\",\"evidence\":\"70 C\",\"label\":\"Shelf "
		"3\","
		"\"model\":\"EVO "
		"840\",\"serial\":\"S1234\",\"run\":\"evo-20251201T080000Z\",\"value\":\"41.5\","
		"\"threshold\":\"100\",\"note\":\"resolved\"},\"startsAt\":\"2025-12-01T09:00:00.000Z\","
		"\"endsAt\":\"2025-12-01T09:01:01.500Z\"}]");
}

static void test_slack(void **state)
{
	(void)state;
	(void)strcpy(message.entries[0].alert.text, "<!channel> a & b");
	body_slack(&message, &context, &out);
	check_json(
		"{\"text\":\"[firing] evo: collapse: &lt;!channel&gt; a &amp; b\\ndrivesoak on "
		"rig7\\n\\nfiring: "
		"evo, collapse (critical)\\n  &lt;!channel&gt; a &amp; b\\n  since: "
		"2025-12-01T09:00:00.000Z\\n  value: 41.5 B/s\\n  threshold: 100 B/s\\n  cause: thermal\\n  "
		"evidence: "
		"70 C\\n  label: Shelf 3\\n  model: EVO 840\\n  serial: S1234\\n  run: "
		"evo-20251201T080000Z\\n\\nhttp://127.0.0.1:8734/alerts\\nmessage "
		"0123456789abcdef0123456789abcdef\\n\"}");
}

static void check_member(struct json_object *object, const char *key, const char *expected)
{
	assert_string_equal(json_object_get_string(json_object_object_get(object, key)), expected);
}

static void test_ntfy(void **state)
{
	struct json_object *object;

	(void)state;
	body_ntfy(&message, "shelf", &context, &out);
	object = parse(text_string(&out));
	check_member(object, "topic", "shelf");
	check_member(object, "title",
		"[firing] evo: collapse: throughput is 41.5 MiB/s, less than half of 200 MiB/s");
	check_member(object, "click", "http://127.0.0.1:8734/alerts");
	assert_int_equal(json_object_get_int(json_object_object_get(object, "priority")), 5);
	check_member(object, "tags", "[ \"rotating_light\" ]");
	(void)json_object_put(object);
	text_fini(&out);
	message.entries[0].note = ALERT_RESOLVED;
	body_ntfy(&message, "shelf", &context, &out);
	object = parse(text_string(&out));
	assert_int_equal(json_object_get_int(json_object_object_get(object, "priority")), 3);
	check_member(object, "tags", "[ \"white_check_mark\" ]");
	(void)json_object_put(object);
}

static void test_subject_of_several(void **state)
{
	(void)state;
	add("pro", ALERT_STALL, ALERT_RESOLVED, EVENT_CRITICAL);
	add("", ALERT_JOURNAL, ALERT_RAISED, EVENT_WARNING);
	body_subject(&message, &context, &out);
	assert_string_equal(
		text_string(&out), "[2 firing, 1 resolved] evo collapse, pro stall, rig7 journal");
	message.entries[0].note = ALERT_RESOLVED;
	assert_ptr_equal(body_gravest(&message), &message.entries[2]);
}

static void make_evil(void)
{
	struct alert *alert = &message.entries[0].alert;

	(void)strcpy(alert->subject.label, EVIL);
	(void)strcpy(alert->subject.model, EVIL);
	(void)strcpy(alert->subject.serial, EVIL);
	(void)strcpy(alert->text, EVIL);
	(void)strcpy(alert->evidence, EVIL);
	(void)strcpy(alert->cause, "\x7f\n\xc2\x9b");
}

/* In JSON all of it arrives, but for the broken byte. */
static void test_hostile_strings_in_json(void **state)
{
	struct json_object *object, *alert, *annotations;

	(void)state;
	make_evil();
	body_alertmanager(&message, "ops", &context, &out);
	object = parse(text_string(&out));
	alert = json_object_array_get_idx(json_object_object_get(object, "alerts"), 0);
	annotations = json_object_object_get(alert, "annotations");
	check_member(annotations, "model",
		"q\"'\\ \r\nBcc: x@example.org\x1b[2J\xe2\x80\xae \xc3\xa9 \xef\xbf\xbd end");
	check_member(annotations, "cause", "\x7f\n\xc2\x9b");
	(void)json_object_put(object);
}

/* "NAME=" of the environment; its whole value. */
static const char *variable(const char *name)
{
	const size_t length = strlen(name);

	for (size_t at = 0; at < out.length; at += strlen(out.bytes + at) + 1)
		if (strncmp(out.bytes + at, name, length) == 0 && out.bytes[at + length] == '=')
			return out.bytes + at + length + 1;
	fail_msg("no %s", name);
	return "";
}

#define TAMED "q\"'\\   Bcc: x@example.org [2J  \xc3\xa9 \xef\xbf\xbd end"

static void test_hostile_strings_in_the_environment(void **state)
{
	(void)state;
	make_evil();
	body_environment(&message, &context, true, "/dev/disk/by-id/x", "root", &out);
	assert_string_equal(variable("DRIVESOAK_MODEL"), TAMED);
	assert_string_equal(variable("DRIVESOAK_LABEL"), TAMED);
	assert_string_equal(variable("DRIVESOAK_TEXT"), TAMED);
	assert_string_equal(variable("DRIVESOAK_CAUSE"), "   ");
	assert_string_equal(variable("SMARTD_DEVICEINFO"), TAMED ", S/N:" TAMED);
	assert_string_equal(variable("SMARTD_MESSAGE"), TAMED);
	/* Only the lines that are ours. */
	assert_null(strstr(variable("SMARTD_FULLMESSAGE"), "\nBcc"));
	assert_null(strchr(variable("SMARTD_FULLMESSAGE"), '\x1b'));
}

static void test_what_was_held_back_is_in_the_words(void **state)
{
	struct alert *alert = &message.entries[0].alert;

	(void)state;
	alert->untold = 6;
	alert->untold_since_ms = message.t_ms - 720000;
	(void)strcpy(alert->text, "it is bad");
	body_subject(&message, &context, &out);
	assert_string_equal(
		text_string(&out), "[firing] evo: collapse: fired 7 times in 12 min; now: it is bad");
	text_fini(&out);
	body_environment(&message, &context, true, "/dev/x", "root", &out);
	assert_string_equal(variable("DRIVESOAK_FIRED"), "7");
	assert_string_equal(variable("DRIVESOAK_TEXT"), "fired 7 times in 12 min; now: it is bad");
	assert_string_equal(variable("SMARTD_MESSAGE"), "fired 7 times in 12 min; now: it is bad");
	assert_non_null(
		strstr(variable("SMARTD_FULLMESSAGE"), "  fired 7 times in 12 min; now: it is bad\n"));
}

static void test_values_have_their_unit(void **state)
{
	static const struct {
		enum alert_rule rule;
		double value;
		const char *text;
	} rows[] = {
		{ ALERT_COLLAPSE, 4177570, "3.98 MiB/s" },
		{ ALERT_DEGRADED, 2297090, "2.19 MiB/s" },
		{ ALERT_STALL, 32.6388, "32.6 s" },
		{ ALERT_STALL, 86400, "86400 s" },
		{ ALERT_IO_ERRORS, 0, "0" },
		{ ALERT_MEDIA_ERRORS, 1234567, "1234567" },
		{ ALERT_CRITICAL_WARNING, 4, "0x04" },
		{ ALERT_SPARE, 9, "9 %" },
		{ ALERT_TEMPERATURE, 71,
			"71 \xc2\xb0"
			"C" },
		{ ALERT_JOURNAL, 10, "10 s" },
		{ ALERT_COLLAPSE, NAN, "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char text[UNITS_TEXT_MAX];

		alert_rule_print_value(rows[i].rule, rows[i].value, text);
		assert_string_equal(text, rows[i].text);
	}
	assert_string_equal(alert_rule_unknown(ALERT_DEGRADED), "not known yet");
	assert_string_equal(alert_rule_unknown(ALERT_SAW_TOOTH), "no figure");
}

static void test_environment(void **state)
{
	(void)state;
	add("pro", ALERT_TEMPERATURE, ALERT_RAISED, EVENT_WARNING);
	body_environment(&message, &context, false, "/dev/x", "root", &out);
	assert_string_equal(variable("DRIVESOAK_MESSAGE_ID"), message.id);
	assert_string_equal(variable("DRIVESOAK_STATUS"), "firing");
	assert_string_equal(variable("DRIVESOAK_ALERT"), "collapse");
	assert_string_equal(variable("DRIVESOAK_DRIVE"), "evo");
	assert_string_equal(variable("DRIVESOAK_COUNT"), "2");
	assert_string_equal(variable("DRIVESOAK_SINCE"), "1764579600");
	assert_string_equal(variable("DRIVESOAK_UNTIL"), "");
	assert_string_equal(variable("DRIVESOAK_VALUE"), "41.5");
	assert_null(memmem(out.bytes, out.length, "SMARTD_", 7));
	text_fini(&out);
	message.entries[0].alert.rule = ALERT_TEMPERATURE;
	assert_int_equal(setenv("TZ", "UTC", 1), 0);
	tzset();
	body_environment(&message, &context, true, "/dev/x", "ops@example.org", &out);
	assert_string_equal(variable("SMARTD_FAILTYPE"), "Temperature");
	assert_string_equal(variable("SMARTD_DEVICE"), "/dev/x");
	assert_string_equal(variable("SMARTD_ADDRESS"), "ops@example.org");
	assert_string_equal(variable("SMARTD_TFIRSTEPOCH"), "1764579600");
	assert_string_equal(variable("SMARTD_TFIRST"), "Mon Dec  1 09:00:00 2025 UTC");
	text_fini(&out);
	assert_int_equal(setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1), 0);
	tzset();
	body_environment(&message, &context, true, "/dev/x", "ops@example.org", &out);
	assert_string_equal(variable("SMARTD_TFIRST"), "Mon Dec  1 10:00:00 2025 CET");
	assert_string_equal(variable("SMARTD_TFIRSTEPOCH"), "1764579600");
	assert_int_equal(setenv("TZ", "UTC", 1), 0);
	tzset();
}

/* Lines of the header, each with CR LF, up to the empty one. */
static void test_mail_headers_cannot_be_broken(void **state)
{
	const char *at, *end;
	unsigned lines = 0;

	(void)state;
	make_evil();
	body_mail(&message, "drivesoak@rig7", "ops@example.org", &context, &out);
	at = text_string(&out);
	assert_null(strstr(at, "Bcc"));
	assert_non_null(strstr(at,
		"\r\nTo: <ops@example.org>\r\nMessage-ID: <0123456789abcdef0123456789abcdef@drivesoak>\r\n"));
	assert_ptr_equal(strstr(at, "Date: Mon, 01 Dec 2025 09:00:05 +0000\r\n"), at);
	while (strncmp(at, "\r\n", 2) != 0) {
		end = strstr(at, "\r\n");
		assert_non_null(end);
		assert_in_range(end - at, 1, 78);
		for (; at < end; at++)
			assert_in_range(*at, 0x20, 0x7e);
		at = end + 2;
		assert_in_range(lines++, 0, 20);
	}
	for (; *at; at = end + 2) {
		end = strstr(at, "\r\n");
		assert_non_null(end);
		assert_in_range(end - at, 0, 76);
	}
}

int main(void)
{
#define CASE(function) cmocka_unit_test_setup(function, set_up)
	static const struct CMUnitTest tests[] = {
		CASE(test_alertmanager_webhook),
		CASE(test_fingerprint_is_of_rule_drive_and_host),
		CASE(test_alertmanager_interface),
		CASE(test_alertmanager_interface_after_a_step_of_the_clock),
		CASE(test_slack),
		CASE(test_ntfy),
		CASE(test_subject_of_several),
		CASE(test_hostile_strings_in_json),
		CASE(test_what_was_held_back_is_in_the_words),
		CASE(test_values_have_their_unit),
		CASE(test_environment),
		CASE(test_hostile_strings_in_the_environment),
		CASE(test_mail_headers_cannot_be_broken),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	text_fini(&out);
	return failed;
}
