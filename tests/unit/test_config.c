/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "config/config_keys.h"
#include "config/config_scan.h"
#include "config/config_value.h"
#include "config_fixture.h"

#define KIB	      1024ULL
#define MIB	      (1024 * KIB)
#define GIB	      (1024 * MIB)
#define CHECK_U(a, b) assert_true((uint64_t)(a) == (uint64_t)(b))
#define CHECK_D(a, b) assert_true(fabs((a) - (b)) < 1e-9)
#define CHECK_S(a, b) assert_string_equal(a, b)

/* Every key, each value another than its default and than every other of its type. */
static const char full[] =
	"state-directory = \"/var/tmp/state\"\n"
	"runtime-directory = \"/var/tmp/runtime\"\n"
	"sample-interval = \"7s\"\n"
	"web {\n"
	"    listen = { \"127.0.0.2:81\", \"[::1]:82\", \"0.0.0.0:83\" }\n"
	"    base-path = \"/soak/\"\n"
	"    token-file = \"/etc/drivesoak/token\"\n"
	"    allowed-hosts = { \"soak.example.org\", \"soak:8080\" }\n"
	"}\n"
	"drive \"dir-1\" {\n"
	"    directory = \"/srv/one\"\n"
	"    fill = \"62.5%\"\n"
	"    files = 33\n"
	"    workload = \"random-mixed\"\n"
	"    read-percent = 41\n"
	"    block-size = \"32KiB\"\n"
	"    threads = 5\n"
	"    queue-depth = 48\n"
	"    fsync-every = 17\n"
	"    rate = \"123MiB\"\n"
	"    discard = false\n"
	"    settle-time = \"21s\"\n"
	"    probe-phase = \"22s\"\n"
	"    engine = \"libaio\"\n"
	"    payload = \"zeros\"\n"
	"    duration = \"23min\"\n"
	"    write-budget = \"3TB\"\n"
	"    wear-limit = \"1.5%\"\n"
	"    spare-floor = \"2.25%\"\n"
	"    max-temperature = \"66C\"\n"
	"    rated-tbw = \"600TB\"\n"
	"    verify = \"end\"\n"
	"    settle-rule = \"off\"\n"
	"    ledger-memory = \"96MiB\"\n"
	"    max-errors = 777\n"
	"    probe = \"smartctl:megaraid,3\"\n"
	"    health-interval = \"24s\"\n"
	"    price = \"449.50 EUR\"\n"
	"    label = \"Shelf 3\"\n"
	"    group = \"hba0\"\n"
	"    start = \"manual\"\n"
	"    slo { min-rate = \"10MB\" p1-rate = \"20MB\" p99-latency = \"1.25ms\" }\n"
	"}\n"
	"drive \"dev_2\" {\n"
	"    device = \"/dev/disk/by-id/nvme-X_1\"\n"
	"    serial = \"S1234\"\n"
	"    wwid = \"eui.0025385\"\n"
	"    size = \"2GiB\"\n"
	"}\n"
	"alerts {\n"
	"    collapse-below = \"45%\" collapse-for = \"31s\"\n"
	"    recover-above = \"65%\" stall-after = \"32s\"\n"
	"    repeat = \"4h\" digest = \"33s\"\n"
	"}\n"
	"notify \"ops\" {\n"
	"    command = { \"/bin/page\", \"--from\", \"x\", \"x\" }\n"
	"    webhook = \"https://hook.example.org/a\"\n"
	"    format = \"ntfy\"\n"
	"    mail-to = \"ops@example.org\"\n"
	"    smtp = \"mail.example.org:25\"\n"
	"    ping = \"http://ping.example.org/1\"\n"
	"    ping-interval = \"34s\" smartd-compat = true mail-from = \"soak@example.org\"\n"
	"}\n";

static void check_directory_drive(const struct config_drive *drive)
{
	CHECK_S(drive->name, "dir-1");
	CHECK_S(drive->directory, "/srv/one");
	CHECK_S(drive->device, "");
	CHECK_S(drive->serial, "");
	CHECK_S(drive->wwid, "");
	CHECK_D(drive->fill_pct, 62.5);
	CHECK_U(drive->size_bytes, 0);
	CHECK_U(drive->files, 33);
	CHECK_U(drive->workload, WORKLOAD_RANDOM_MIXED);
	CHECK_U(drive->read_percent, 41);
	CHECK_U(drive->block_bytes, 32 * KIB);
	CHECK_U(drive->threads, 5);
	CHECK_U(drive->queue_depth, 48);
	CHECK_U(drive->fsync_every, 17);
	CHECK_U(drive->rate_bytes_per_s, 123 * MIB);
	CHECK_U(drive->discard, false);
	CHECK_U(drive->settle_ns, 21 * NS_PER_S);
	CHECK_U(drive->probe_phase_ns, 22 * NS_PER_S);
	CHECK_U(drive->engine, ENGINE_LIBAIO);
	CHECK_U(drive->payload, PAYLOAD_ZEROS);
	CHECK_U(drive->duration_ns, 23 * 60 * NS_PER_S);
	CHECK_U(drive->write_budget_bytes, 3000000000000);
	CHECK_D(drive->wear_limit_pct, 1.5);
	CHECK_D(drive->spare_floor_pct, 2.25);
	CHECK_D(drive->max_temp_c, 66);
	CHECK_U(drive->rated_tbw_bytes, 600000000000000);
	CHECK_U(drive->verify, VERIFY_END);
	CHECK_U(drive->settle_rule, SETTLE_OFF);
	CHECK_U(drive->ledger_bytes, 96 * MIB);
	CHECK_U(drive->max_errors, 777);
	CHECK_S(drive->probe, "smartctl:megaraid,3");
	CHECK_U(drive->health_interval_ns, 24 * NS_PER_S);
	CHECK_D(drive->price_amount, 449.5);
	CHECK_S(drive->price_currency, "EUR");
	CHECK_S(drive->label, "Shelf 3");
	CHECK_S(drive->group, "hba0");
	CHECK_U(drive->start, START_MANUAL);
	CHECK_U(drive->slo_min_bytes_per_s, 10000000);
	CHECK_U(drive->slo_p1_bytes_per_s, 20000000);
	CHECK_U(drive->slo_p99_ns, 1250000);
}

static void check_defaults(const struct config_drive *drive)
{
	CHECK_S(drive->label, "");
	CHECK_S(drive->group, "");
	CHECK_D(drive->fill_pct, 75);
	CHECK_U(drive->files, 64);
	CHECK_U(drive->workload, WORKLOAD_RANDOM_WRITE);
	CHECK_U(drive->read_percent, 60);
	CHECK_U(drive->block_bytes, 16 * KIB);
	CHECK_U(drive->threads, 8);
	CHECK_U(drive->queue_depth, 0);
	CHECK_U(drive->fsync_every, 0);
	CHECK_U(drive->rate_bytes_per_s, 0);
	CHECK_U(drive->discard, true);
	CHECK_U(drive->settle_ns, 600 * NS_PER_S);
	CHECK_U(drive->engine, ENGINE_AUTO);
	CHECK_U(drive->payload, PAYLOAD_RANDOM);
	CHECK_U(drive->duration_ns, 180000 * NS_PER_S);
	CHECK_U(drive->write_budget_bytes, 0);
	CHECK_D(drive->wear_limit_pct, 5);
	CHECK_D(drive->spare_floor_pct, 10);
	assert_true(isnan(drive->max_temp_c));
	CHECK_U(drive->rated_tbw_bytes, 0);
	CHECK_U(drive->settle_rule, SETTLE_SNIA);
	CHECK_U(drive->ledger_bytes, 64 * MIB);
	CHECK_U(drive->max_errors, 1000);
	CHECK_S(drive->probe, "auto");
	CHECK_U(drive->health_interval_ns, 0);
	assert_true(isnan(drive->price_amount));
	CHECK_S(drive->price_currency, "");
	CHECK_U(drive->start, START_AUTO);
	CHECK_U(drive->slo_min_bytes_per_s, 0);
	CHECK_U(drive->slo_p1_bytes_per_s, 0);
	CHECK_U(drive->slo_p99_ns, 0);
	CHECK_U(drive->probe_phase_ns, 600 * NS_PER_S);
	CHECK_U(drive->verify, VERIFY_END);
}

static void test_every_key_has_its_value(void **state)
{
	struct config *config = fixture_load(full, true);

	(void)state;
	CHECK_S(config->path, fixture_path("t.conf"));
	CHECK_S(config->state_directory, "/var/tmp/state");
	CHECK_S(config->runtime_directory, "/var/tmp/runtime");
	CHECK_U(config->sample_interval_ns, 7 * NS_PER_S);
	CHECK_U(config->web.listen.count, 3);
	CHECK_S(config->web.listen.items[0], "127.0.0.2:81");
	CHECK_S(config->web.listen.items[1], "[::1]:82");
	CHECK_S(config->web.listen.items[2], "0.0.0.0:83");
	CHECK_S(config->web.base_path, "/soak/");
	CHECK_S(config->web.token_file, "/etc/drivesoak/token");
	CHECK_U(config->web.allowed_hosts.count, 2);
	CHECK_S(config->web.allowed_hosts.items[1], "soak:8080");
	CHECK_D(config->alerts.collapse_below_pct, 45);
	CHECK_D(config->alerts.recover_above_pct, 65);
	CHECK_U(config->alerts.collapse_for_ns, 31 * NS_PER_S);
	CHECK_U(config->alerts.stall_after_ns, 32 * NS_PER_S);
	CHECK_U(config->alerts.digest_ns, 33 * NS_PER_S);
	CHECK_S(config->alerts.repeat, "4h");
	CHECK_U(config->drive_count, 2);
	check_directory_drive(&config->drives[0]);
	CHECK_S(config->drives[1].name, "dev_2");
	CHECK_S(config->drives[1].directory, "");
	CHECK_S(config->drives[1].device, "/dev/disk/by-id/nvme-X_1");
	CHECK_S(config->drives[1].serial, "S1234");
	CHECK_S(config->drives[1].wwid, "eui.0025385");
	CHECK_U(config->drives[1].size_bytes, 2 * GIB);
	check_defaults(&config->drives[1]);
	CHECK_U(config->notify_count, 1);
	CHECK_S(config->notifies[0].name, "ops");
	CHECK_U(config->notifies[0].command.count, 4);
	CHECK_S(config->notifies[0].command.items[3], "x");
	CHECK_S(config->notifies[0].webhook, "https://hook.example.org/a");
	CHECK_U(config->notifies[0].format, FORMAT_NTFY);
	CHECK_S(config->notifies[0].mail_from, "soak@example.org");
	CHECK_U(config->notifies[0].smartd_compat, true);
	CHECK_U(config->notifies[0].ping_interval_ns, 34 * NS_PER_S);
	CHECK_S(config->notifies[0].mail_to, "ops@example.org");
	CHECK_S(config->notifies[0].smtp, "mail.example.org:25");
	CHECK_S(config->notifies[0].ping, "http://ping.example.org/1");
	config_free(config);
}

/* So that a new row of the table can't be left out of the file above. */
static void test_the_full_file_has_every_key(void **state)
{
	struct config *config = fixture_load(full, true);

	(void)state;
	for (size_t i = 0; i < config_keys_count; i++) {
		bool found = config_keys[i].width == 0; /* include: has tests of its own */

		for (size_t j = 0; j < config->origins->instance_count; j++)
			found = found || config->origins->instances[j].origins[i].line;
		if (!found)
			fail_msg("%s is not in the file", config_keys[i].name);
	}
	config_free(config);
}

static void test_defaults(void **state)
{
	struct config *config = fixture_load(DRIVE, false);

	(void)state;
	CHECK_S(config->state_directory, "/var/lib/drivesoak");
	CHECK_S(config->runtime_directory, "/run/drivesoak");
	CHECK_U(config->sample_interval_ns, 10 * NS_PER_S);
	CHECK_U(config->web.listen.count, 1);
	CHECK_S(config->web.listen.items[0], "127.0.0.1:8734");
	CHECK_S(config->web.base_path, "/");
	CHECK_S(config->web.token_file, "");
	CHECK_U(config->web.allowed_hosts.count, 0);
	CHECK_D(config->alerts.collapse_below_pct, 50);
	CHECK_D(config->alerts.recover_above_pct, 70);
	CHECK_U(config->alerts.collapse_for_ns, 30 * NS_PER_S);
	CHECK_U(config->alerts.stall_after_ns, 20 * NS_PER_S);
	CHECK_U(config->alerts.digest_ns, 30 * NS_PER_S);
	CHECK_S(config->alerts.repeat, "once");
	CHECK_U(config->drive_count, 1);
	CHECK_U(config->notify_count, 0);
	CHECK_S(config->drives[0].directory, "/d");
	CHECK_U(config->drives[0].size_bytes, 0);
	check_defaults(&config->drives[0]);
	config_free(config);
}

static void test_ways_to_write(void **state)
{
	struct config *config = fixture_load(
		"\xef\xbb\xbf# comment { } \" '\r\n"
		"// another = {\r\n"
		"/* and\r\n \" one * / of lines */ sample-interval = 20s # behind\r\n"
		"drive \"b\" { directory = \"/x\" size = \"1GiB\" files = 1 }\r\n"
		"drive 'c' {\r\n"
		"\tdirectory='/a # b // \"c\" \\'d\\' ${HOME} \\\\ \\n'\r\n"
		"\tlabel = \"\\\"q\\\" \\\\ \\${HOME} $HOME $(id) \\'\" group = \"caf\xc3\xa9\"\r\n"
		"\tdiscard = no\r\n"
		"\tslo { } slo { min-rate = \"\" }\r\n"
		"}drive d{directory=/y/z fill=80% queue-depth=64}\r\n"
		"web { listen = { \"127.0.0.1:1\" , '127.0.0.1:2', } } web { base-path = '/' allowed-hosts = "
		"a.b:1 }\r\n",
		false);

	(void)state;
	CHECK_U(config->sample_interval_ns, 20 * NS_PER_S);
	CHECK_U(config->drive_count, 3);
	CHECK_S(config->drives[0].name, "b");
	CHECK_S(config->drives[0].directory, "/x");
	CHECK_U(config->drives[0].size_bytes, GIB);
	CHECK_U(config->drives[0].files, 1);
	CHECK_S(config->drives[1].name, "c");
	CHECK_S(config->drives[1].directory, "/a # b // \"c\" 'd' ${HOME} \\ \\n");
	CHECK_S(config->drives[1].label, "\"q\" \\ ${HOME} $HOME $(id) '");
	CHECK_S(config->drives[1].group, "caf\xc3\xa9");
	CHECK_U(config->drives[1].discard, false);
	CHECK_S(config->drives[2].directory, "/y/z");
	CHECK_D(config->drives[2].fill_pct, 80);
	CHECK_U(config->drives[2].queue_depth, 64);
	CHECK_U(config->web.listen.count, 2);
	CHECK_S(config->web.listen.items[1], "127.0.0.1:2");
	CHECK_U(config->web.allowed_hosts.count, 1);
	CHECK_S(config->web.allowed_hosts.items[0], "a.b:1");
	config_free(config);
}

static void test_lists_may_be_empty(void **state)
{
	struct config *config = fixture_load("web { listen = { } allowed-hosts = {} }\n" DRIVE, false);

	(void)state;
	CHECK_U(config->web.listen.count, 0);
	CHECK_U(config->web.allowed_hosts.count, 0);
	config_free(config);
}

static void test_neutral_values_are_accepted(void **state)
{
	struct config *config = fixture_load(
		"drive \"d\" { directory = \"/d\" device = \"\" serial = '' wwid = \"\"\n"
		"probe-phase = \"0s\" verify = \"never\" workload = \"random-write\"\n"
		"read-percent = 60 rate = \"\" probe = \"none\" settle-rule = \"off\"\n"
		"wear-limit = \"5.0 %\" ledger-memory = \"65536KiB\" start = \"auto\"\n"
		"slo { min-rate = \"\" } }\n"
		"alerts { collapse-for = \"0.5min\" }\n",
		false);

	(void)state;
	CHECK_S(config->drives[0].probe, "none");
	CHECK_U(config->drives[0].settle_rule, SETTLE_OFF);
	config_free(config);
}

/* What is printed is a file of its own, with every value, and says the same again. */
static void check_print_reads_back(const char *text)
{
	struct config *config = fixture_load(text, true);
	char *once = fixture_print(config), *twice;

	config_free(config);
	config = fixture_load(once, true);
	twice = fixture_print(config);
	assert_string_equal(twice, once);
	config_free(config);
	free(once);
	free(twice);
}

static void test_print_reads_back(void **state)
{
	(void)state;
	check_print_reads_back(full);
	check_print_reads_back(DRIVE);
	check_print_reads_back(
		"drive d { directory = '/a \"b\" ${C} \\\\ \\'e\\' # f' label = \"\\${HOME}\" }\n"
		"drive e { directory = '/e' size = 1GiB price = \"0.05 EUR\" }\n");
}

static void test_print_keeps_secrets(void **state)
{
	static const char *const lines[] = {
		"webhook = \"https://***@hooks.example.org:8443/***\"\n",
		"smtp = \"smtps://***@mail.example.org:465\"\n",
		"ping = \"http://ping.example.org/***\"\n",
		"smtp = \"mail.example.org:25\"\n",
		"webhook = \"http://alertmanager:9093/\"\n",
	};
	struct config *config = fixture_load(DRIVE
		"notify a { webhook = \"https://me:s3cret@hooks.example.org:8443/T0/s3cret\" mail-to = "
		"\"a@b\"\n"
		"smtp = \"smtps://me:s3cret@mail.example.org:465\" ping = "
		"\"http://ping.example.org/?k=s3cret\" }\n"
		"notify b { webhook = \"http://alertmanager:9093/\" format = \"alertmanager-api\" mail-to = "
		"\"a@b\"\n"
		"smtp = \"mail.example.org:25\" }\n",
		false);
	char *printed = fixture_print(config);

	(void)state;
	assert_null(strstr(printed, "s3cret"));
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		if (!strstr(printed, lines[i]))
			fail_msg("\"%s\" is not in\n%s", lines[i], printed);
	config_free(config);
	/* It is a config all the same. */
	config_free(fixture_load(printed, false));
	free(printed);
}

static void test_print_shows_the_origin(void **state)
{
	static const char *const lines[] = {
		"sample-interval = \"7s\"                                  # PATH:3\n",
		"    listen = { \"127.0.0.2:81\", \"[::1]:82\", \"0.0.0.0:83\" } # PATH:5\n",
		"drive \"dir-1\" {                                         # PATH:10\n",
		"    block-size = \"32KiB\"                                # PATH:16\n",
		"        p1-rate = \"20MB\"                                # PATH:42\n",
		"    block-size = \"16KiB\"                                # default\n",
		"    collapse-for = \"31s\"                                # PATH:51\n",
	};
	struct config *config = fixture_load(full, true);
	struct text printed = TEXT_INIT;

	(void)state;
	config_print(config, &printed);
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		const char *mark = strstr(lines[i], "PATH");
		char line[512];

		if (mark)
			(void)snprintf(line, sizeof(line), "%.*s%s%s", (int)(mark - lines[i]), lines[i],
				fixture_path("t.conf"), mark + 4);
		else
			(void)snprintf(line, sizeof(line), "%s", lines[i]);
		if (!strstr(text_string(&printed), line))
			fail_msg("\"%s\" is not in\n%s", line, text_string(&printed));
	}
	text_fini(&printed);
	config_free(config);
}

static void test_drive_json(void **state)
{
	struct config *config = fixture_load(full, true);
	struct text json = TEXT_INIT;

	(void)state;
	config_drive_json(&config->drives[0], config->sample_interval_ns, &json);
	CHECK_S(text_string(&json),
		"{\"name\":\"dir-1\",\"target\":\"directory\",\"sample_interval_s\":7,\"directory\":\"/srv/"
		"one\","
		"\"device\":null,\"serial\":null,\"wwid\":null,\"fill_pct\":62.5,\"size_bytes\":null,"
		"\"files\":33,"
		"\"workload\":\"random-mixed\",\"read_percent\":41,\"block_bytes\":32768,\"threads\":5,"
		"\"queue_depth\":48,\"fsync_every\":17,\"rate_bytes_per_s\":128974848,\"discard\":false,"
		"\"settle_s\":21,\"probe_phase_s\":22,\"engine\":\"libaio\",\"payload\":\"zeros\","
		"\"duration_s\":1380,\"write_budget_bytes\":3000000000000,\"wear_limit_pct\":1.5,"
		"\"spare_floor_pct\":2.25,\"max_temp_c\":66,\"rated_tbw_bytes\":600000000000000,"
		"\"verify\":\"end\",\"settle_rule\":\"off\",\"ledger_bytes\":100663296,\"max_errors\":777,"
		"\"probe\":\"smartctl:megaraid,3\",\"health_interval_s\":24,"
		"\"price\":{\"amount\":449.5,\"currency\":\"EUR\"},\"label\":\"Shelf 3\",\"group\":\"hba0\","
		"\"start\":\"manual\",\"slo_min_bytes_per_s\":10000000,\"slo_p1_bytes_per_s\":20000000,"
		"\"slo_p99_ns\":1250000}");
	text_fini(&json);
	config_drive_json(&config->drives[1], 500 * NS_PER_MS, &json);
	assert_ptr_equal(
		strstr(text_string(&json), "{\"name\":\"dev_2\",\"target\":\"device\",\"sample_interval_s\":"
					   "0.5,\"directory\":null,"
					   "\"device\":\"/dev/disk/by-id/"
					   "nvme-X_1\",\"serial\":\"S1234\",\"wwid\":\"eui.0025385\","
					   "\"fill_pct\":null,\"size_bytes\":2147483648,"),
		text_string(&json));
	assert_non_null(strstr(text_string(&json), "\"queue_depth\":\"auto\",\"fsync_every\":0,"
						   "\"rate_bytes_per_s\":null,\"discard\":true,"));
	assert_non_null(strstr(text_string(&json), "\"write_budget_bytes\":null,"));
	assert_non_null(strstr(text_string(&json), "\"max_temp_c\":\"auto\","));
	assert_non_null(strstr(text_string(&json), "\"price\":null,\"label\":null,"));
	text_fini(&json);
	config_free(config);
}

static void test_frozen_lines(void **state)
{
	struct config *config = fixture_load(full, true);
	struct text lines = TEXT_INIT;

	(void)state;
	config_drive_frozen(&config->drives[0], config->sample_interval_ns, &lines);
	CHECK_S(text_string(&lines),
		"sample-interval=7s\ndirectory=/srv/"
		"one\ndevice=\nserial=\nwwid=\nfill=62.5%\nsize=\nfiles=33\n"
		"workload=random-mixed\nread-percent=41\nblock-size=32KiB\nthreads=5\nqueue-depth=48\n"
		"fsync-every=17\nrate=123MiB\nengine=libaio\npayload=zeros\n");
	text_fini(&lines);
	config_drive_frozen(&config->drives[1], 10 * NS_PER_S, &lines);
	CHECK_S(text_string(&lines),
		"sample-interval=10s\ndirectory=\ndevice=/dev/disk/by-id/nvme-X_1\nserial=S1234\n"
		"wwid=eui.0025385\nfill=\nsize=2GiB\nfiles=64\nworkload=random-write\nread-percent=60\n"
		"block-size=16KiB\nthreads=8\nqueue-depth=auto\nfsync-every=0\nrate=\nengine=auto\n"
		"payload=random\n");
	text_fini(&lines);
	config_free(config);
}

/* The same values written in other words are the same run. */
static void test_frozen_lines_are_canonical(void **state)
{
	struct config *a = fixture_load(
		"drive d { directory = /d size = 1GiB block-size = \"16 KiB\" }", false);
	struct config *b = fixture_load(
		"drive d { directory = '/d' size = 1024MiB\n threads = 8 label = x }", false);
	struct text lines_a = TEXT_INIT, lines_b = TEXT_INIT;

	(void)state;
	config_drive_frozen(&a->drives[0], a->sample_interval_ns, &lines_a);
	config_drive_frozen(&b->drives[0], b->sample_interval_ns, &lines_b);
	CHECK_S(text_string(&lines_a), text_string(&lines_b));
	text_fini(&lines_a);
	text_fini(&lines_b);
	config_free(a);
	config_free(b);
}

static void test_names_of_choices(void **state)
{
	(void)state;
	CHECK_S(config_workload_name(WORKLOAD_RANDOM_WRITE), "random-write");
	CHECK_S(config_workload_name(WORKLOAD_RANDOM_READ), "random-read");
	CHECK_S(config_workload_name(WORKLOAD_RANDOM_MIXED), "random-mixed");
	CHECK_S(config_workload_name(WORKLOAD_OBSERVE), "observe");
	CHECK_S(config_engine_name(ENGINE_AUTO), "auto");
	CHECK_S(config_engine_name(ENGINE_IO_URING), "io_uring");
	CHECK_S(config_engine_name(ENGINE_LIBAIO), "libaio");
	CHECK_S(config_engine_name(ENGINE_NULL), "null");
	CHECK_S(config_payload_name(PAYLOAD_RANDOM), "random");
	CHECK_S(config_payload_name(PAYLOAD_ZEROS), "zeros");
}

static void write_string(const char *name, const char *text)
{
	fixture_write(name, text, strlen(text));
}

static void remove_include(void)
{
	static const char *const names[] = { "conf.d/10-b.conf", "conf.d/9-a.conf", "conf.d/B.conf",
		"conf.d/.x.conf", "conf.d/x.conf~", "conf.d/x.txt", "conf.d/.conf" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		fixture_remove(names[i]);
	(void)rmdir(fixture_path("conf.d"));
}

static void test_include_reads_a_folder_in_order(void **state)
{
	struct text printed = TEXT_INIT;
	struct config *config;
	char line[512];

	(void)state;
	assert_int_equal(mkdir(fixture_path("conf.d"), 0700), 0);
	config = fixture_load("include = \"conf.d\"\n" DRIVE, false); /* empty is fine */
	CHECK_U(config->drive_count, 1);
	config_free(config);
	write_string("conf.d/9-a.conf", "drive nine { directory = /9 }");
	write_string("conf.d/10-b.conf", "sample-interval = 5s\n\ndrive ten { directory = /10 }");
	write_string("conf.d/B.conf", "drive bee { directory = /bee }\nweb { base-path = \"/b/\" }");
	write_string("conf.d/.x.conf", "broken {");
	write_string("conf.d/.conf", "broken {");
	write_string("conf.d/x.conf~", "broken {");
	write_string("conf.d/x.txt", "broken {");
	config = fixture_load("include = \"conf.d/\"\nweb { allowed-hosts = x }\n" DRIVE, false);
	CHECK_U(config->drive_count, 4);
	CHECK_S(config->drives[0].name, "d");
	CHECK_S(config->drives[1].name, "ten");
	CHECK_S(config->drives[2].name, "nine");
	CHECK_S(config->drives[3].name, "bee");
	CHECK_U(config->sample_interval_ns, 5 * NS_PER_S);
	CHECK_S(config->web.base_path, "/b/");
	CHECK_S(config->web.allowed_hosts.items[0], "x");
	config_print(config, &printed);
	(void)snprintf(line, sizeof(line), "# %s:3\n", fixture_path("conf.d/10-b.conf"));
	assert_non_null(strstr(text_string(&printed), line));
	text_fini(&printed);
	config_free(config);
	remove_include();
}

static void test_include_tells_the_mistakes_of_all_files(void **state)
{
	char text[512];

	(void)state;
	assert_int_equal(mkdir(fixture_path("conf.d"), 0700), 0);
	write_string("conf.d/9-a.conf",
		"sample-interval = 6s\ndrive d { directory = /d/. }\ninclude = x\nthreads = 1\n");
	write_string("conf.d/10-b.conf", "web { listen = 1 }\nalerts {\n");
	(void)snprintf(text, sizeof(text),
		"include = \"%s\"\nsample-interval = 5s\nfiles = 1\n" DRIVE
		"drive e { directory = /e files = 0 }",
		fixture_path("conf.d"));
	fixture_check_mistakes(text, false,
		"t.conf:3: files: is no key outside sections; it belongs into drive\n"
		"t.conf:5: files: \"0\" is not allowed; allowed is a number from 1 to 4096\n"
		"conf.d/10-b.conf:1: listen: \"1\" is not allowed; allowed is a list of numeric addresses "
		"with a port, "
		"such as \"127.0.0.1:8734\" or \"[::1]:8734\"\n"
		"conf.d/10-b.conf:2: alerts: the section that begins here is not closed; a } is missing at "
		"the end of "
		"the file\n"
		"conf.d/9-a.conf:1: sample-interval: is set twice; it stands in t.conf:2 too\n"
		"conf.d/9-a.conf:2: drive: \"d\" is there twice; the name is taken in t.conf:4\n"
		"conf.d/9-a.conf:2: directory: \"/d/.\" is that of drive \"d\" too (t.conf:4); each drive "
		"needs its own\n"
		"conf.d/9-a.conf:3: include: is allowed in the main file only\n"
		"conf.d/9-a.conf:4: threads: is no key outside sections; it belongs into drive\n");
	fixture_remove("conf.d/10-b.conf");
	write_string("conf.d/9-a.conf", "include = x");
	(void)mkdir(fixture_path("conf.d/B.conf"), 0700);
	fixture_check_mistakes("include = conf.d\n" DRIVE, false,
		"conf.d/9-a.conf:1: include: is allowed in the main file only\n"
		"conf.d/B.conf:1: file: is a folder, not a file\n");
	(void)rmdir(fixture_path("conf.d/B.conf"));
	fixture_check_mistakes("include = \"nope\"\n" DRIVE "x = 1", false,
		"t.conf:1: include: the folder nope cannot be read: No such file or directory\n"
		"t.conf:3: x: is no key outside sections; see drivesoak.conf(5)\n");
	fixture_check_mistakes("include = \"t.conf\"\n" DRIVE, false,
		"t.conf:1: include: the folder t.conf cannot be read: Not a directory\n");
	remove_include();
}

static void check_unreadable(const char *name, int rc, const char *expected)
{
	struct text mistakes = TEXT_INIT;
	struct config *config = NULL;
	char line[512];

	assert_int_equal(config_load(fixture_path(name), &config, &mistakes), rc);
	(void)snprintf(line, sizeof(line), "%s:%s\n", fixture_path(name), expected);
	CHECK_S(text_string(&mistakes), line);
	assert_null(config);
	text_fini(&mistakes);
}

static void test_files_that_are_none(void **state)
{
	static char big[1024 * 1024 + 2];

	(void)state;
	check_unreadable("absent.conf", -ENOENT, "1: file: cannot be read: No such file or directory");
	check_unreadable(".", -EINVAL, "1: file: is a folder, not a file");
	assert_int_equal(mkfifo(fixture_path("fifo"), 0600), 0);
	check_unreadable("fifo", -EINVAL, "1: file: is not a regular file");
	fixture_remove("fifo");
	fixture_write("t.conf", DRIVE "\n\0x", sizeof(DRIVE "\n\0x") - 1);
	check_unreadable("t.conf", -EINVAL, "3: file: has a NUL byte; that is no configuration file");
	memset(big, '\n', sizeof(big));
	fixture_write("t.conf", big, 1024 * 1024 + 1);
	check_unreadable("t.conf", -EINVAL, "1: file: is larger than 1 MiB; that is no configuration file");
	memcpy(big + 1024 * 1024 - strlen(DRIVE), DRIVE, strlen(DRIVE));
	fixture_write("t.conf", big, 1024 * 1024);
	big[1024 * 1024] = '\0';
	config_free(fixture_load(big, false)); /* just fits */
	if (geteuid() != 0) {
		assert_int_equal(chmod(fixture_path("t.conf"), 0), 0);
		check_unreadable("t.conf", -EACCES, "1: file: cannot be read: Permission denied");
		fixture_remove("t.conf");
	}
}

static void test_free_takes_null(void **state)
{
	(void)state;
	config_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_key_has_its_value),
		cmocka_unit_test(test_the_full_file_has_every_key),
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_ways_to_write),
		cmocka_unit_test(test_lists_may_be_empty),
		cmocka_unit_test(test_neutral_values_are_accepted),
		cmocka_unit_test(test_print_reads_back),
		cmocka_unit_test(test_print_keeps_secrets),
		cmocka_unit_test(test_print_shows_the_origin),
		cmocka_unit_test(test_drive_json),
		cmocka_unit_test(test_frozen_lines),
		cmocka_unit_test(test_frozen_lines_are_canonical),
		cmocka_unit_test(test_names_of_choices),
		cmocka_unit_test(test_include_reads_a_folder_in_order),
		cmocka_unit_test(test_include_tells_the_mistakes_of_all_files),
		cmocka_unit_test(test_files_that_are_none),
		cmocka_unit_test(test_free_takes_null),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
