/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file of alerts: what is put in it and comes out. */
#include "unit.h"

#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alert/outbox.h"
#include "alert_fixture.h"

static const struct outbox_channel channels[] = { { "ops", "webhook" }, { "ops", "mail" } };
static struct alert_message message;

static struct outbox *open_outbox(void)
{
	char why[OUTBOX_WHY_MAX] = "";
	struct outbox *outbox = NULL;
	int rc = outbox_open(alert_path(OUTBOX_FILE), false, &outbox, why);

	if (rc < 0)
		fail_msg("%s", why);
	return outbox;
}

static void put(struct outbox *outbox, const char *drive, uint64_t done)
{
	struct alert alert = alert_fixture(drive, ALERT_COLLAPSE);

	alert.is_told = true;
	alert_fixture_message(&message, ALERT_RAISED, &alert);
	assert_int_equal(outbox_put(outbox, &alert, 1, &message, channels, ARRAY_LEN(channels), done), 0);
}

static int keep(const struct alert *alert, void *arg)
{
	*(struct alert *)arg = *alert;
	return 1;
}

static int count_untold(const struct alert *alert, void *arg)
{
	*(unsigned *)arg += !alert->is_told;
	return 0;
}

static void check_same(const struct alert *got, const struct alert *expected)
{
	assert_string_equal(got->drive, expected->drive);
	assert_int_equal(got->rule, expected->rule);
	assert_string_equal(got->run, expected->run);
	assert_string_equal(got->subject.label, expected->subject.label);
	assert_string_equal(got->subject.model, expected->subject.model);
	assert_string_equal(got->subject.serial, expected->subject.serial);
	assert_int_equal(got->is_firing, expected->is_firing);
	assert_int_equal(got->severity, expected->severity);
	assert_true(got->since_ms == expected->since_ms);
	assert_true(got->until_ms == expected->until_ms);
	assert_true(got->value == expected->value || (isnan(got->value) && isnan(expected->value)));
	assert_true(got->threshold == expected->threshold ||
		    (isnan(got->threshold) && isnan(expected->threshold)));
	assert_string_equal(got->text, expected->text);
	assert_string_equal(got->cause, expected->cause);
	assert_string_equal(got->evidence, expected->evidence);
	assert_true(got->muted_until_ms == expected->muted_until_ms);
	assert_int_equal(got->is_told, expected->is_told);
	assert_int_equal(got->owes_end, expected->owes_end);
	assert_int_equal(got->told_severity, expected->told_severity);
	assert_true(memcmp(got->begun_ms, expected->begun_ms, sizeof(got->begun_ms)) == 0);
	assert_true(got->told_ms == expected->told_ms);
	assert_int_equal(got->repeats, expected->repeats);
	assert_int_equal(got->untold, expected->untold);
	assert_true(got->untold_since_ms == expected->untold_since_ms);
	assert_true(got->held_until_ms == expected->held_until_ms);
}

static void test_what_was_put_comes_back(void **state)
{
	struct alert alert = alert_fixture("evo", ALERT_SAW_TOOTH), got;
	struct outbox *outbox = open_outbox();
	struct outbox_item item;

	(void)state;
	alert.told_severity = EVENT_WARNING;
	alert.owes_end = true;
	alert.begun_ms[0] = T0 + 1;
	alert.begun_ms[1] = T0 - 5;
	alert.begun_ms[2] = T0 - 6;
	alert.untold_since_ms = T0 - 7;
	alert.held_until_ms = T0 + 600000;
	alert.told_ms = T0 + 2;
	alert.muted_until_ms = T0 + 3;
	alert.repeats = 4;
	alert.untold = 5;
	alert_fixture_message(&message, ALERT_GRAVER, &alert);
	message.entries[1] = message.entries[0];
	message.entries[1].note = ALERT_RESOLVED;
	message.entries[1].alert.value = NAN;
	message.entries[1].alert.run[0] = '\0';
	message.entries[1].alert.until_ms = T0 + 9;
	message.count = 2;
	assert_int_equal(outbox_put(outbox, &alert, 1, &message, channels, 2, 0), 0);
	outbox_close(outbox);
	outbox = open_outbox();
	assert_int_equal(outbox_each_last(outbox, keep, &got), 1);
	check_same(&got, &alert);
	assert_int_equal(outbox_next(outbox, &channels[0], T0, &item), 0);
	assert_true(item.t_ms == message.t_ms);
	assert_int_equal(item.tries, 0);
	{
		static struct alert_message read;

		assert_int_equal(outbox_get_message(outbox, item.message, &read), 0);
		assert_string_equal(read.id, message.id);
		assert_int_equal(strlen(read.id), 32);
		assert_int_equal(read.count, 2);
		assert_int_equal(read.entries[0].note, ALERT_GRAVER);
		assert_int_equal(read.entries[1].note, ALERT_RESOLVED);
		check_same(&read.entries[0].alert, &message.entries[0].alert);
		check_same(&read.entries[1].alert, &message.entries[1].alert);
	}
	outbox_close(outbox);
}

static int sql(const char *text)
{
	sqlite3 *db;
	int rc = sqlite3_open(alert_path(OUTBOX_FILE), &db);

	rc = rc == SQLITE_OK ? sqlite3_exec(db, text, NULL, NULL, NULL) : rc;
	(void)sqlite3_close(db);
	return rc;
}

#define DROP_COLUMNS(table)                                                                                  \
	"ALTER TABLE " table " DROP COLUMN untold_since_ms; ALTER TABLE " table                              \
	" DROP COLUMN held_until_ms; ALTER TABLE " table " DROP COLUMN begun2_ms; ALTER TABLE " table        \
	" DROP COLUMN begun3_ms;"

static void test_a_file_of_the_first_version_is_read_and_taken_over(void **state)
{
	struct alert alert = alert_fixture("evo", ALERT_COLLAPSE), got;
	struct outbox *outbox = open_outbox();
	char why[OUTBOX_WHY_MAX] = "";

	(void)state;
	alert.untold = 2;
	assert_int_equal(outbox_put(outbox, &alert, 1, NULL, channels, 2, 0), 0);
	put(outbox, "evo", 0);
	alert.is_told = true;
	alert.untold = 0;
	outbox_close(outbox);
	assert_int_equal(
		sql(DROP_COLUMNS("alerts") DROP_COLUMNS("entries") "PRAGMA user_version = 1;"), SQLITE_OK);
	assert_int_equal(outbox_open(alert_path(OUTBOX_FILE), true, &outbox, why), 0);
	assert_int_equal(outbox_each_last(outbox, keep, &got), 1);
	check_same(&got, &alert);
	outbox_close(outbox);
	for (int i = 0; i < 2; i++) {
		outbox = open_outbox();
		assert_int_equal(outbox_each_last(outbox, keep, &got), 1);
		check_same(&got, &alert);
		put(outbox, "evo", 0);
		outbox_close(outbox);
	}
}

/* What came and went while it was held back counts as told once the message is there that counts it. */
static void test_what_a_message_counts_is_told(void **state)
{
	struct alert alerts[3] = { alert_fixture("evo", ALERT_COLLAPSE), alert_fixture("evo", ALERT_COLLAPSE),
		alert_fixture("evo", ALERT_COLLAPSE) };
	struct outbox *outbox = open_outbox();
	unsigned untold = 0;

	(void)state;
	for (int i = 0; i < 3; i++) {
		alerts[i].since_ms = T0 + i;
		alerts[i].is_firing = false;
		alerts[i].until_ms = T0 + i;
	}
	alerts[2].untold = 2;
	alerts[2].untold_since_ms = T0 + 1;
	assert_int_equal(outbox_put(outbox, alerts, 3, NULL, channels, 2, 0), 0);
	alert_fixture_message(&message, ALERT_RESOLVED, &alerts[2]);
	alerts[2].is_told = true;
	alerts[2].untold = 0;
	assert_int_equal(outbox_put(outbox, &alerts[2], 1, &message, channels, 2, 0), 0);
	assert_int_equal(outbox_each_episode(outbox, 10, count_untold, &untold), 0);
	assert_int_equal(untold, 1); /* the one of before */
	outbox_close(outbox);
}

static void note(struct outbox *outbox, size_t channel, int64_t number, enum outbox_state to, bool is_refused,
	int64_t next_ms)
{
	const struct outbox_result result = { .state = to,
		.is_refused = is_refused,
		.tries = 1,
		.t_ms = T0,
		.next_ms = next_ms,
		.text = "HTTP 500" };

	assert_int_equal(outbox_note(outbox, &channels[channel], number, &result), 0);
}

static void test_channels_are_apart_and_in_order(void **state)
{
	struct outbox *outbox = open_outbox();
	struct outbox_item first, item;
	struct outbox_queue queue;

	(void)state;
	put(outbox, "one", 0);
	put(outbox, "two", 1); /* the first channel has it already */
	put(outbox, "three", 0);
	assert_int_equal(outbox_next(outbox, &channels[0], T0, &first), 0);
	/* One that failed keeps its place. */
	note(outbox, 0, first.message, OUTBOX_WAITING, false, T0 + 5000);
	assert_int_equal(outbox_next(outbox, &channels[0], T0, &item), 0);
	assert_true(item.message == first.message);
	assert_int_equal(item.tries, 1);
	assert_true(item.next_ms == T0 + 5000);
	assert_false(item.is_refused);
	assert_int_equal(outbox_get_queue(outbox, &channels[0], &queue), 0);
	assert_int_equal(queue.tries, 1);
	/* One that is refused lets the others pass until its time has come. */
	note(outbox, 0, first.message, OUTBOX_WAITING, true, T0 + 5000);
	assert_int_equal(outbox_next(outbox, &channels[0], T0, &item), 0);
	assert_true(item.message == first.message + 2);
	assert_int_equal(outbox_next(outbox, &channels[0], T0 + 5000, &item), 0);
	assert_true(item.message == first.message);
	assert_true(item.is_refused);
	assert_int_equal(outbox_get_queue(outbox, &channels[0], &queue), 0);
	assert_int_equal(queue.queued, 2);
	assert_int_equal(queue.tries, 0); /* the channel itself works */
	assert_string_equal(queue.last_text, "HTTP 500");
	assert_int_equal(outbox_get_queue(outbox, &channels[1], &queue), 0);
	assert_int_equal(queue.queued, 3);
	assert_int_equal(queue.tries, 0);
	assert_true(queue.last_ms == INT64_MIN);
	note(outbox, 0, first.message, OUTBOX_DELIVERED, false, 0);
	note(outbox, 0, first.message + 2, OUTBOX_GIVEN_UP, false, 0);
	assert_int_equal(outbox_next(outbox, &channels[0], T0, &item), -ENOENT);
	assert_int_equal(outbox_next(outbox, &channels[1], T0, &item), 0);
	outbox_close(outbox);
}

static void test_a_start_tries_at_once_and_gives_up_strangers(void **state)
{
	struct outbox *outbox = open_outbox();
	struct outbox_item item;
	uint64_t lost = 7;

	(void)state;
	put(outbox, "one", 0);
	assert_int_equal(outbox_next(outbox, &channels[0], T0, &item), 0);
	note(outbox, 0, item.message, OUTBOX_WAITING, true, T0 + 900000);
	assert_int_equal(outbox_begin(outbox, channels, 1, T0, true, &lost), 0);
	assert_int_equal(lost, 1);
	assert_int_equal(outbox_next(outbox, &channels[0], T0, &item), 0);
	assert_true(item.next_ms == 0);
	assert_int_equal(outbox_next(outbox, &channels[1], T0, &item), -ENOENT);
	/* Only what is long done goes. */
	note(outbox, 0, item.message, OUTBOX_DELIVERED, false, 0);
	put(outbox, "two", 0);
	assert_int_equal(outbox_begin(outbox, channels, 2, T0 + 40 * 86400000LL, true, &lost), 0);
	assert_int_equal(outbox_get_message(outbox, item.message, &message), -ENOENT);
	assert_int_equal(outbox_next(outbox, &channels[1], T0, &item), 0);
	outbox_close(outbox);
}

static int count(const struct alert *alert, void *arg)
{
	(void)alert;
	++*(int *)arg;
	return 0;
}

static unsigned collected;

static int collect(const struct alert *alert, void *arg)
{
	((struct alert *)arg)[collected++] = *alert;
	return 0;
}

static void test_episodes(void **state)
{
	struct alert first = alert_fixture("evo", ALERT_COLLAPSE), second = first, muted, got;
	struct outbox *outbox = open_outbox();
	int episodes = 0, firing = 0;

	(void)state;
	first.is_firing = false;
	first.until_ms = T0 + 1000;
	second.since_ms = T0 + 5000;
	second.is_told = true;
	muted = alert_fixture("pro", ALERT_STALL);
	muted.is_firing = false;
	muted.since_ms = INT64_MIN;
	muted.muted_until_ms = T0 + 77;
	assert_int_equal(outbox_put(outbox, &first, 1, NULL, NULL, 0, 0), 0);
	assert_int_equal(outbox_put(outbox, &second, 1, NULL, NULL, 0, 0), 0);
	assert_int_equal(outbox_put(outbox, &second, 1, NULL, NULL, 0, 0), 0); /* the same episode */
	assert_int_equal(outbox_put(outbox, &muted, 1, NULL, NULL, 0, 0), 0);
	assert_int_equal(outbox_each_episode(outbox, 10, count, &episodes), 0);
	assert_int_equal(episodes, 2);
	assert_int_equal(outbox_each_episode(outbox, 10, keep, &got), 1);
	check_same(&got, &second);
	assert_int_equal(outbox_each_firing(outbox, count, &firing), 0);
	assert_int_equal(firing, 1);
	episodes = 0;
	assert_int_equal(outbox_each_last(outbox, count, &episodes), 0);
	assert_int_equal(episodes, 2);
	outbox_close(outbox);
}

/* A commit that failed may have been one: what comes again is there already. */
static void test_the_same_message_again_is_no_other(void **state)
{
	struct alert alert = alert_fixture("evo", ALERT_COLLAPSE);
	struct outbox *outbox = open_outbox();
	struct outbox_queue queue;
	struct outbox_item item;

	(void)state;
	alert_fixture_message(&message, ALERT_RAISED, &alert);
	for (int i = 0; i < 2; i++)
		assert_int_equal(outbox_put(outbox, &alert, 1, &message, channels, 2, 0), 0);
	assert_int_equal(outbox_get_queue(outbox, &channels[0], &queue), 0);
	assert_int_equal(queue.queued, 1);
	/* The first channel got it meanwhile. */
	assert_int_equal(outbox_put(outbox, &alert, 1, &message, channels, 2, 1), 0);
	assert_int_equal(outbox_next(outbox, &channels[0], T0, &item), -ENOENT);
	assert_int_equal(outbox_next(outbox, &channels[1], T0, &item), 0);
	assert_int_equal(outbox_get_message(outbox, item.message, &message), 0);
	assert_int_equal(message.count, 1);
	outbox_close(outbox);
}

static void test_only_the_last_episode_fires(void **state)
{
	struct alert first = alert_fixture("evo", ALERT_COLLAPSE), second = first, got[2];
	struct outbox *outbox = open_outbox();
	uint64_t lost;
	int firing = 0;

	(void)state;
	first.is_told = second.is_told = true;
	first.owes_end = true;
	second.since_ms = T0 + 5000;
	assert_int_equal(outbox_put(outbox, &first, 1, NULL, NULL, 0, 0), 0);
	assert_int_equal(outbox_put(outbox, &second, 1, NULL, NULL, 0, 0), 0);
	assert_int_equal(outbox_each_firing(outbox, count, &firing), 0);
	assert_int_equal(firing, 1);
	assert_int_equal(outbox_begin(outbox, channels, 2, T0, true, &lost), 0);
	collected = 0;
	assert_int_equal(outbox_each_episode(outbox, 2, collect, got), 0);
	assert_int_equal(collected, 2);
	check_same(&got[0], &second);
	first.is_firing = first.owes_end = false;
	first.until_ms = T0 + 5000;
	check_same(&got[1], &first);
	outbox_close(outbox);
}

/* The last is the one that was stored last: what came while the clock was a year ahead is not that for a year. */
static void test_a_clock_that_was_ahead_makes_no_last_episode(void **state)
{
	struct alert ahead = alert_fixture("evo", ALERT_COLLAPSE), now = ahead, got[2];
	struct outbox *outbox = open_outbox();
	uint64_t lost;

	(void)state;
	ahead.is_told = now.is_told = true;
	ahead.since_ms = T0 + 365 * 86400000LL;
	assert_int_equal(outbox_put(outbox, &ahead, 1, NULL, NULL, 0, 0), 0);
	assert_int_equal(outbox_put(outbox, &now, 1, NULL, NULL, 0, 0), 0);
	for (int i = 0; i < 2; i++) {
		collected = 0;
		assert_int_equal(outbox_each_firing(outbox, collect, got), 0);
		assert_int_equal(collected, 1);
		check_same(&got[0], &now);
		collected = 0;
		assert_int_equal(outbox_each_last(outbox, collect, got), 0);
		assert_int_equal(collected, 1);
		check_same(&got[0], &now);
		/* Also once it was put again, and at the next start, which closes the other. */
		now.told_ms = T0 + 7;
		assert_int_equal(outbox_put(outbox, &now, 1, NULL, NULL, 0, 0), 0);
		assert_int_equal(outbox_begin(outbox, channels, 2, T0, true, &lost), 0);
	}
	collected = 0;
	assert_int_equal(outbox_each_episode(outbox, 2, collect, got), 0);
	assert_int_equal(collected, 2);
	ahead.is_firing = false;
	ahead.until_ms = ahead.since_ms;
	check_same(&got[0], &ahead);
	outbox_close(outbox);
}

static void test_many_episodes_are_cut_but_no_last_one(void **state)
{
	struct alert last = alert_fixture("pro", ALERT_STALL), owing = alert_fixture("evo", ALERT_COLLAPSE);
	struct outbox *outbox = open_outbox();
	int episodes = 0;
	uint64_t lost;
	sqlite3 *db;

	(void)state;
	last.since_ms = 1000;
	last.is_firing = owing.is_firing = false;
	last.until_ms = owing.until_ms = 3000;
	owing.since_ms = 2000;
	owing.owes_end = true;
	assert_int_equal(outbox_put(outbox, &last, 1, NULL, NULL, 0, 0), 0);
	assert_int_equal(outbox_put(outbox, &owing, 1, NULL, NULL, 0, 0), 0);
	assert_int_equal(sqlite3_open(alert_path(OUTBOX_FILE), &db), SQLITE_OK);
	assert_int_equal(
		sqlite3_exec(db,
			"WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20500)"
			"INSERT INTO alerts (drive, alert, since_ms, until_ms, firing, severity, told, "
			"owes_end, told_severity, repeats, untold) SELECT 'evo', 'collapse', 10000 + i, "
			"10001 + i, 0, 'critical', 1, 0, 'critical', 0, 0 FROM n",
			NULL, NULL, NULL),
		SQLITE_OK);
	(void)sqlite3_close(db);
	assert_int_equal(outbox_begin(outbox, channels, 2, T0, false, &lost), 0);
	assert_int_equal(outbox_each_episode(outbox, 30000, count, &episodes), 0);
	assert_int_equal(episodes, 20001 + 2);
	outbox_close(outbox);
}

static void write_bytes(const char *path, const char *bytes)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, strlen(bytes), file), strlen(bytes));
	assert_int_equal(fclose(file), 0);
}

static void test_what_is_no_such_file_is_refused(void **state)
{
	char why[OUTBOX_WHY_MAX] = "";
	struct outbox *outbox = NULL;

	(void)state;
	assert_int_equal(outbox_open(alert_path(OUTBOX_FILE), true, &outbox, why), -EIO);
	write_bytes(alert_path(OUTBOX_FILE),
		"this is no database, whatever its name may say of it.......................");
	assert_int_equal(outbox_open(alert_path(OUTBOX_FILE), false, &outbox, why), -EBADMSG);
	assert_string_equal(why, "file is not a database");
	assert_null(outbox);
}

int main(void)
{
#define CASE(function) cmocka_unit_test_setup_teardown(function, alert_set_up, alert_tear_down)
	static const struct CMUnitTest tests[] = {
		CASE(test_what_was_put_comes_back),
		CASE(test_a_file_of_the_first_version_is_read_and_taken_over),
		CASE(test_what_a_message_counts_is_told),
		CASE(test_channels_are_apart_and_in_order),
		CASE(test_a_start_tries_at_once_and_gives_up_strangers),
		CASE(test_episodes),
		CASE(test_the_same_message_again_is_no_other),
		CASE(test_only_the_last_episode_fires),
		CASE(test_a_clock_that_was_ahead_makes_no_last_episode),
		CASE(test_many_episodes_are_cut_but_no_last_one),
		CASE(test_what_is_no_such_file_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
