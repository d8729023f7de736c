/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The client's commands to a service, and its plan, run as a program: the service is a fixture that remembers what it was
 * asked. The folder is one of the build, since a target can't lie in memory. */
#include "unit.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "archive_fixture.h"
#include "config/config.h"
#include "control_fixture.h"

static char *folder;
static char output[65536];

static pthread_mutex_t seen_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct control_request seen;

static const char status_json[] =
	"{\"version\":\"0.1.0\",\"host\":\"h\",\"uptime_s\":5,\"now_s\":1,\"drives\":["
	"{\"name\":\"evo\",\"label\":null,\"state\":\"running\",\"phase\":\"soak\",\"reason\":"
	"\"soaking\\u001b[2J "
	"\\u009b2J\",\"run\":\"evo-20261130T214900Z\",\"progress\":0.125,\"eta_s\":7200,"
	"\"write_bytes_per_s\":104857600,\"read_bytes_per_s\":0,\"lat_p99_ns\":4200000,"
	"\"written_bytes\":1073741824,\"last_sample_s\":1.5,\"alerts\":[]},"
	"{\"name\":\"new\",\"state\":\"idle\",\"phase\":null,\"reason\":null,\"run\":null,\"progress\":null,"
	"\"eta_s\":null,\"write_bytes_per_s\":null,\"read_bytes_per_s\":null,\"lat_p99_ns\":null,"
	"\"written_bytes\":null,\"alerts\":[]}]}\n";

static void handle(void *arg, const struct control_request *request, struct control_answer *answer)
{
	(void)arg;
	(void)pthread_mutex_lock(&seen_mutex);
	seen = *request;
	(void)pthread_mutex_unlock(&seen_mutex);
	if (request->verb == CONTROL_STATUS) {
		text_add(&answer->text, status_json);
	} else if (request->verb == CONTROL_RESUME) {
		answer->code = EX_TEMPFAIL;
		text_addf(&answer->text, "%s: is still stopping; try again", request->drive);
	} else if (strcmp(request->drive, "nobody") == 0) {
		answer->code = EX_NOINPUT;
		text_add(&answer->text, "nobody: no such drive");
	} else {
		text_addf(&answer->text, "%s%s: done", request->drive, request->run);
	}
}

static struct control_request read_seen(void)
{
	struct control_request request;

	(void)pthread_mutex_lock(&seen_mutex);
	request = seen;
	(void)pthread_mutex_unlock(&seen_mutex);
	return request;
}

static void file_write(const char *name, const char *content)
{
	char path[PATH_MAX];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(content, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static bool is_there(const char *name)
{
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	return access(path, F_OK) == 0;
}

static void config_write(const char *keys)
{
	char text[8192];

	(void)snprintf(text, sizeof(text),
		"state-directory = \"%s\"\nruntime-directory = \"%s/run\"\ndrive \"evo\" {\n"
		"directory = \"%s/target\"\nsize = \"64MiB\"\n%s\n}\n",
		folder, folder, folder, keys);
	file_write("d.conf", text);
}

static int set_up(void **state)
{
	static char here[PATH_MAX];
	char path[PATH_MAX];

	(void)state;
	if (!realpath(".", here) || setenv("TMPDIR", here, 1) < 0)
		return -1;
	folder = fixture_folder_new();
	(void)snprintf(path, sizeof(path), "%s/run", folder);
	if (mkdir(path, 0755) < 0)
		return -1;
	(void)snprintf(path, sizeof(path), "%s/target", folder);
	if (mkdir(path, 0755) < 0)
		return -1;
	config_write("");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	fixture_folder_remove(folder);
	return 0;
}

static void check_contains(const char *part)
{
	if (!strstr(output, part))
		fail_msg("no %s in %s", part, output);
}

/* Run the client in a shell with its folder as $S and -c; what it says, errors too, goes to output[]. */
static int client(const char *arguments)
{
	char command[PATH_MAX + 2000];
	size_t length;
	FILE *pipe;
	int status;

	(void)snprintf(
		command, sizeof(command), "S=%s; exec 2>&1; ./drivesoak %s -c $S/d.conf", folder, arguments);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	length = fread(output, 1, sizeof(output) - 1, pipe);
	output[length] = '\0';
	status = pclose(pipe);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

struct call {
	const char *arguments;
	int code;
	const char *says;
};

static void check_calls(const struct call *calls, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int code = client(calls[i].arguments);

		if (code != calls[i].code || !strstr(output, calls[i].says))
			fail_msg("drivesoak %s: exit %d, says %s", calls[i].arguments, code, output);
	}
}

static void test_without_a_service(void **state)
{
	static const struct call calls[] = {
		{ "status", 69,
			"/run/control.sock: no service listens there; start it with: systemctl start "
			"drivesoakd" },
		{ "status --json", 69, "/run/control.sock: no service listens" },
		{ "start evo", 69, "no service listens" },
		{ "note evo hello", 69, "no service listens" },
		{ "stop evo", 69, "no service listens" },
		{ "stop nobody --purge", 66, "nobody: no such drive in the configuration" },
		{ "pause", 64, "something is missing" },
		{ "pause evo more", 64, "too many arguments" },
		{ "note evo", 64, "something is missing" },
		{ "pause evo --purge", 64, "an option that this subcommand has not" },
		{ "status --state $S", 64, "an option that this subcommand has not" },
		{ "pause ../evo", 65, "drive: is no name" },
		{ "pause \"$(printf %0100d 0)\"", 65, "drive: is too long" },
		{ "note evo ''", 65, "text: is empty" },
		{ "note evo \"$(printf 'a\\033[2J')\"", 65, "text: holds a control character" },
		{ "note evo \"$(printf 'a\\377')\"", 65, "text: is not UTF-8" },
		{ "note evo \"$(printf %0512d 0)\"", 65, "text: is too long" },
	};

	(void)state;
	check_calls(calls, ARRAY_LEN(calls));
}

static void test_commands_reach_the_service(void **state)
{
	static const struct call calls[] = {
		{ "start evo", 0, "evo: done\n" },
		{ "start nobody", 66, "drivesoak: nobody: no such drive\n" },
		{ "resume evo", 75, "drivesoak: evo: is still stopping; try again\n" },
		{ "stop evo", 0, "evo: done\n" },
	};
	char path[PATH_MAX];

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/run", folder);
	control_fixture_start(path, handle, NULL);
	check_calls(calls, ARRAY_LEN(calls));
	assert_int_equal(read_seen().verb, CONTROL_STOP);
	assert_false(read_seen().purge);
	assert_int_equal(client("stop --purge evo"), 0);
	assert_true(read_seen().purge);
	assert_int_equal(client("note evo-1 \"$(printf 'fan \"2\"\\nis d\\303\\251j\\303\\240 off')\""), 0);
	assert_int_equal(read_seen().verb, CONTROL_NOTE);
	assert_string_equal(read_seen().run, "evo-1");
	assert_string_equal(read_seen().text, "fan \"2\" is d\xc3\xa9j\xc3\xa0 off");
	control_fixture_stop();
}

static void test_status_is_for_people_and_programs(void **state)
{
	char path[PATH_MAX];

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/run", folder);
	control_fixture_start(path, handle, NULL);
	assert_int_equal(client("status --json"), 0);
	assert_string_equal(output, status_json);
	assert_int_equal(client("status"), 0);
	assert_string_equal(output, "DRIVE            STATE    PHASE        DONE            ETA         RATE "
				    "       P99    WRITTEN  RUN\n"
				    "evo              running  soak       12.5 %            2 h    100 MiB/s "
				    "    4.2 ms      1 GiB  "
				    "evo-20261130T214900Z\n"
				    "  soaking?[2J ??2J\n"
				    "new              idle     -               -              -            - "
				    "         -          -  -\n");
	assert_int_equal(client("status >/dev/full"), 74);
	control_fixture_stop();
}

static void run_put(enum run_status status)
{
	struct journal *journal;
	struct run_record run;
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/journal.db", folder);
	fixture_run(&run, "evo", 10);
	run.progress.status = status;
	assert_int_equal(journal_open(path, false, &journal), 0);
	assert_int_equal(journal_put_run(journal, &run), 0);
	journal_close(journal);
}

static void test_purge_without_a_service(void **state)
{
	static const enum run_status going_on[] = { RUN_RUNNING, RUN_PAUSED, RUN_ABSENT, RUN_ARMED,
		RUN_STALLED };

	(void)state;
	file_write("target/.drivesoak", "drivesoak target: the files drivesoak-*.dat beside this belong to "
					"drivesoak\ndrive=evo\nrun=x\n");
	file_write("target/drivesoak-00.dat", "data");
	file_write("target/precious", "mine");
	for (size_t i = 0; i < ARRAY_LEN(going_on); i++) {
		run_put(going_on[i]);
		assert_int_equal(client("stop evo --purge"), 75);
		check_contains("evo-20261130T214900Z: is not over and goes on when the service starts");
		assert_true(is_there("target/drivesoak-00.dat"));
	}
	run_put(RUN_DONE);
	assert_int_equal(client("stop evo --purge"), 0);
	check_contains("no service runs; the files of evo in ");
	assert_false(is_there("target/drivesoak-00.dat"));
	assert_false(is_there("target/.drivesoak"));
	assert_true(is_there("target/precious"));
}

/* A run as the config would start it today: @fill_bytes in a filling interval of 10 s, then @soak_bytes in each. */
static void run_put_measured(uint64_t fill_bytes, uint64_t soak_bytes)
{
	struct config *config = NULL;
	struct text text = TEXT_INIT;
	struct journal *journal;
	struct run_record run;
	struct sample sample;
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/d.conf", folder);
	if (config_load(path, &config, &text) < 0)
		fail_msg("%s", text_string(&text));
	fixture_run(&run, "evo", 10);
	run.serial[0] = '\0';
	config_drive_frozen(&config->drives[0], config->sample_interval_ns, &text);
	text_keep(run.frozen, sizeof(run.frozen), &text);
	config_free(config);
	(void)snprintf(path, sizeof(path), "%s/journal.db", folder);
	assert_int_equal(journal_open(path, false, &journal), 0);
	assert_int_equal(journal_put_run(journal, &run), 0);
	sample = fixture_sample(FIXTURE_START_MS, 10, fill_bytes);
	sample.state = SAMPLE_FILLING;
	sample.phase = PHASE_FILL;
	assert_int_equal(journal_put_sample(journal, run.id, &sample), 0);
	for (int i = 1; i <= 3; i++) {
		sample = fixture_sample(FIXTURE_START_MS + i * 10000, 10, soak_bytes);
		assert_int_equal(journal_put_sample(journal, run.id, &sample), 0);
	}
	journal_close(journal);
}

static void test_a_plan_at_a_given_rate(void **state)
{
	(void)state;
	config_write("duration = \"100h\" probe-phase = \"0\" settle-time = \"0\"");
	assert_int_equal(client("plan evo --json --rate 100MB"), 0);
	check_contains("{\"drive\":\"evo\",\"target\":\"directory /");
	check_contains(",\"fill_bytes\":67108864,");
	check_contains(",\"soak_write_bytes_per_s\":100000000,\"soak_rate_from\":\"given by --rate\","
		       "\"write_bytes_per_day\":8640000000000,\"duration_s\":360000,"
		       "\"soak_write_bytes\":36000000000000,\"probe_write_bytes_most\":0,"
		       "\"total_write_bytes\":36000067108864,");
	check_contains(",\"rated_tbw_bytes\":null,\"rated_pct_per_day\":null,\"rated_pct\":null,"
		       "\"write_budget\":null,\"wear_limit_pct\":5,\"wear_limit\":null}");
	assert_int_equal(client("plan evo --rate 100MB"), 0);
	check_contains("  Fill            64 MiB, ");
	check_contains("writes 7.86 TiB a day at 95.4 MiB/s (given by --rate)\n");
	check_contains("  Written         32.7 TiB in all\n");
	check_contains("  Wear            unknown: rated-tbw, ");
	check_contains("  Write budget    none: write-budget is not set\n");
	check_contains("  Wear limit      5.00 % added by the run; when it is reached is unknown without "
		       "rated-tbw\n");
	/* Nothing was made. */
	assert_false(is_there("target/.drivesoak"));
	assert_false(is_there("journal.db"));
	assert_int_equal(client("plan evo --rate 0"), 64);
	assert_int_equal(client("plan evo --rate fast"), 64);
	check_contains("fast: no rate; give bytes a second as in 200MiB");
}

static void test_a_plan_takes_what_was_measured(void **state)
{
	(void)state;
	config_write("duration = \"100h\" probe-phase = \"0\" settle-time = \"0\" verify = \"never\"");
	run_put_measured(4194304, 10485760000);
	assert_int_equal(client("plan evo --json"), 0);
	check_contains(",\"fill_bytes_per_s\":419430.4,\"fill_rate_from\":\"measured by the fill of run "
		       "evo-20261130T214900Z of this drive\",\"fill_s\":160,");
	check_contains(",\"soak_write_bytes_per_s\":1048576000,\"soak_rate_from\":\"measured: mean of run "
		       "evo-20261130T214900Z of this drive\",\"write_bytes_per_day\":90596966400000,");
	check_contains(",\"total_s\":360160,");
	assert_int_equal(client("plan evo"), 0);
	check_contains(
		"takes 2 min 40 s at 410 KiB/s (measured by the fill of run evo-20261130T214900Z of this "
		"drive)\n");
	check_contains("  Time            4 d 4 h in all; started now, it would end at 20");
	/* Another kind of load says nothing about this one. */
	config_write("duration = \"100h\" block-size = \"64KiB\"");
	assert_int_equal(client("plan evo --json"), 0);
	assert_null(strstr(output, "mean of run"));
	check_contains("measured by the fill of run");
	config_write("duration = \"100h\" rate = \"10GiB\"");
	assert_int_equal(client("plan evo --json"), 0);
	assert_null(strstr(output, "mean of run"));
	/* The limit of the configuration holds where it is below. */
	config_write("duration = \"0\" rate = \"1MiB\"");
	assert_int_equal(client("plan evo --json"), 0);
	check_contains(
		",\"soak_write_bytes_per_s\":1048576,\"soak_rate_from\":\"at most, by the key rate\",");
	check_contains(",\"duration_s\":null,\"soak_write_bytes\":null,");
	assert_int_equal(client("plan evo"), 0);
	check_contains("  Written         unknown: the soak lasts until it is stopped\n");
	check_contains("  Time            until it is stopped\n");
	config_write("workload = \"random-read\"");
	assert_int_equal(client("plan evo"), 0);
	check_contains("writes nothing\n");
	check_contains("  Written         64 MiB in all\n");
}

static void test_a_plan_of_what_would_be_refused(void **state)
{
	static const struct call calls[] = {
		{ "plan nobody", 66, "nobody: no such drive in the configuration" },
		{ "plan evo", 78, "holds drivesoak-*.dat without the marker" },
	};

	(void)state;
	file_write("target/drivesoak-00.dat", "whose?");
	check_calls(calls, ARRAY_LEN(calls));
	assert_true(is_there("target/drivesoak-00.dat"));
}

/* A loop device over an image in the folder, with a configuration that calls it @serial and the folder's path. */
static void loop_attach(char *node, size_t size, const char *serial)
{
	char command[PATH_MAX + 200], text[8192];
	FILE *pipe;

	(void)snprintf(command, sizeof(command), "truncate -s 200M %s/image && losetup -f --show %s/image",
		folder, folder);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	node[0] = '\0';
	(void)!fgets(node, (int)size, pipe);
	(void)pclose(pipe);
	node[strcspn(node, "\n")] = '\0';
	if (!node[0])
		skip();
	(void)snprintf(text, sizeof(text),
		"state-directory = \"%s\"\nruntime-directory = \"%s/run\"\n"
		"drive \"evo\" { device = \"%s\" serial = \"loop:%s/%s\" duration = \"100h\" }\n",
		folder, folder, node, folder, serial);
	file_write("d.conf", text);
}

static void loop_detach(const char *node)
{
	char command[200];

	(void)snprintf(command, sizeof(command), "losetup -d %s", node);
	assert_int_equal(system(command), 0);
}

static void test_a_plan_of_a_device(void **state)
{
	char node[64], text[PATH_MAX + 100];
	int code, refused;

	(void)state;
	if (getuid() != 0)
		skip();
	loop_attach(node, sizeof(node), "image");
	code = client("plan evo --rate 100MB --json");
	(void)snprintf(text, sizeof(text),
		"{\"drive\":\"evo\",\"target\":\"device %s, now "
		"%s\",\"refused\":null,\"note\":null,\"model\":null,"
		"\"serial\":\"loop:%s/image\",\"transport\":\"loop\",\"capacity_bytes\":209715200,"
		"\"fill_bytes\":157286400,\"fill_pct\":75,\"fill_bytes_per_s\":null,",
		node, node, folder);
	loop_detach(node);
	assert_int_equal(code, 0);
	check_contains(text);
	check_contains("\"write_bytes_per_day\":8640000000000,");
	/* Another drive than the configuration means, and none at all. */
	loop_attach(node, sizeof(node), "other");
	refused = client("plan evo");
	loop_detach(node);
	assert_int_equal(refused, 78);
	check_contains("  REFUSED         the drive there is not the one of the configuration: its serial is "
		       "loop:/");
	assert_int_equal(client("plan evo"), 66);
	check_contains("drivesoak: evo: /dev/loop");
	/* No service: nothing to purge on a device. */
	assert_int_equal(client("stop evo --purge"), 69);
	check_contains("evo: is a device: there is nothing to purge");
}

int main(void)
{
#define CASE(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
	static const struct CMUnitTest tests[] = {
		CASE(test_without_a_service),
		CASE(test_commands_reach_the_service),
		CASE(test_status_is_for_people_and_programs),
		CASE(test_purge_without_a_service),
		CASE(test_a_plan_at_a_given_rate),
		CASE(test_a_plan_takes_what_was_measured),
		CASE(test_a_plan_of_what_would_be_refused),
		CASE(test_a_plan_of_a_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
