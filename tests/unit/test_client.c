/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The exports, the report, and the client's offline subcommands run as a program. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "archive/export.h"
#include "archive/figures.h"
#include "archive/report.h"
#include "archive/settings.h"
#include "base/clock.h"
#include "archive_fixture.h"

#define OUTPUT_MAX (1 << 20)

static char *folder;
static struct journal *journal;
static struct run_record run;
static char output[OUTPUT_MAX];

static int set_up(void **state)
{
	char path[300];

	(void)state;
	folder = fixture_folder_new();
	(void)snprintf(path, sizeof(path), "%s/journal.db", folder);
	fixture_run(&run, "evo", 10);
	if (journal_open(path, false, &journal) < 0 || journal_put_run(journal, &run) < 0)
		return -1;
	for (unsigned i = 1; i <= 12; i++) {
		struct sample sample = fixture_sample(FIXTURE_START_MS + i * 10000LL, 10, 104857600ULL * i);
		struct sample down = fixture_down(FIXTURE_START_MS + i * 10000LL, 10000000000);

		if (journal_put_sample(journal, run.id, i == 9 ? &down : &sample) < 0)
			return -1;
	}
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	journal_close(journal);
	fixture_folder_remove(folder);
	return 0;
}

static void check_contains(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no %s in %s", part, text);
}

static void test_a_run_as_json_has_all_names(void **state)
{
	struct text text = TEXT_INIT;
	struct summary_figures figures;
	struct json json;

	(void)state;
	run.written_bytes = 9007199254740993ULL;
	(void)snprintf(run.model, sizeof(run.model), "BAD \xff\"\x01");
	assert_int_equal(figures_read(journal, &run, &figures), 0);
	assert_int_equal(figures.window.samples, 11);
	json_init(&json, &text);
	export_run_json(&run, &figures, &json);
	check_contains(text_string(&text),
		"{\"id\":\"evo-20261130T214900Z\",\"drive\":\"evo\",\"label\":\"slot 3\","
		"\"model\":\"BAD \xef\xbf\xbd\\\"\\u0001\",\"serial\":\"S1234567\",\"firmware\":\"FW01\","
		"\"state\":\"running\",\"phase\":\"soak\",\"source\":\"own\",\"started_s\":1796075340,"
		"\"soak_started_s\":1796075400,\"ended_s\":null,"
		"\"config\":{\"block_bytes\":16384,\"workload\":\"random-write\"},"
		"\"host\":{\"cpu\":\"CPU <X> & "
		"co\",\"memory_bytes\":17179869184},\"written_bytes\":9007199254740993,"
		"\"price\":{\"amount\":450.5,\"currency\":\"USD\"},\"summary\":{\"samples\":11,");
	check_contains(text_string(&text),
		",\"interval_s\":10,\"capacity_bytes\":480103981056,\"fill_done_bytes\":900,\"extent_bytes\":"
		"800,"
		"\"seed\":18364758544493064720,\"engine\":\"io_uring\",\"direct\":\"STATX_DIOALIGN\","
		"\"pre_state\":\"trimmed\",\"reason\":\"soaking\",\"probe_median_ios_per_s\":4321.5,"
		"\"probe\":[{\"kind\":\"depth-1\"},{\"kind\":\"open-loop\"}],\"verify\":{\"corrupt\":2}}");
	text_fini(&text);
	/* What is not known is null. */
	run.price_amount = NAN;
	run.model[0] = run.host_json[0] = run.engine[0] = '\0';
	run.started_ms = INT64_MIN;
	json_init(&json, &text);
	export_run_json(&run, &figures, &json);
	check_contains(text_string(&text), "\"model\":null,");
	check_contains(text_string(&text), "\"started_s\":null,");
	check_contains(
		text_string(&text), "\"host\":null,\"written_bytes\":9007199254740993,\"price\":null,");
	check_contains(text_string(&text), "\"engine\":null,");
	text_fini(&text);
}

static void test_a_report_escapes_and_stands_alone(void **state)
{
	struct event_record event = fixture_event(FIXTURE_START_MS, run.id, "<script>alert(1)</script>");
	struct text text = TEXT_INIT;

	(void)state;
	assert_int_equal(journal_put_event(journal, &event), 0);
	(void)snprintf(run.config_json, sizeof(run.config_json),
		"{\"label\":\"a, \\\"b\\\" </td>\",\"fill_pct\":null,\"threads\":8}");
	assert_int_equal(report_html(journal, &run, 1, FIXTURE_START_MS, "h1{color:red}", &text), 0);
	assert_null(strstr(text_string(&text), "<script"));
	assert_null(strstr(text_string(&text), "http"));
	assert_null(strstr(text_string(&text), "nan"));
	check_contains(text_string(&text), "&lt;script&gt;alert(1)&lt;/script&gt;; cause: host");
	check_contains(text_string(&text), "MODEL &lt;7&gt;, serial S1234567, slot 3");
	check_contains(text_string(&text), "<style>\nh1{color:red}</style>");
	check_contains(
		text_string(&text), "<th scope=\"row\">label</th><td>a, &quot;b&quot; &lt;/td&gt;</td>");
	check_contains(text_string(&text), "<th scope=\"row\">threads</th><td>8</td>");
	assert_null(strstr(text_string(&text), "fill"
					       "</th>"));
	check_contains(text_string(&text), "<th scope=\"row\">cpu</th><td>CPU &lt;X&gt; &amp; co</td>");
	check_contains(text_string(&text), "<th scope=\"row\">memory</th><td>16 GiB</td>");
	check_contains(text_string(&text), "<td class=\"num\">60 MiB/s</td>"); /* the median */
	check_contains(text_string(&text), "<span class=\"verdict bad\">FAIL</span>");
	check_contains(text_string(&text), "<li>2 blocks read back corrupt</li>");
	check_contains(text_string(&text), "<li><span class=\"off\">NO VERDICT:</span> not settled: ");
	check_contains(text_string(&text), "<rect class=\"gap\"");
	text_fini(&text);
}

static unsigned count_of(const char *text, const char *part)
{
	unsigned count = 0;

	for (; (text = strstr(text, part)); text += strlen(part))
		count++;
	return count;
}

/* Behind the last sample. */
static void put_late(enum sample_state kind, uint64_t elapsed_ns)
{
	static int64_t t_ms = FIXTURE_START_MS + 120000;
	struct sample sample;

	t_ms += 10000;
	sample = fixture_sample(t_ms, 10, kind == SAMPLE_ZERO ? 0 : 1024);
	sample.state = kind;
	sample.elapsed_ns = elapsed_ns;
	if (kind == SAMPLE_ZERO)
		sample.read_bytes = 0;
	assert_int_equal(journal_put_sample(journal, run.id, &sample), 0);
}

static void collect_setting(const char *name, const char *value, void *arg)
{
	text_addf(arg, "%s=%s;", name, value);
}

static void test_settings_are_for_people(void **state)
{
	static const struct {
		const char *json, *shown;
		int rc;
	} rows[] = {
		{ "{\"block_bytes\":16384,\"fill_pct\":75,\"duration_s\":180000,\"settle_s\":0,\"slo_p99_"
		  "ns\":null}",
			"block=16 KiB;fill=75 %;duration=2 d 2 h;settle=0;", 0 },
		{ "{\"max_temp_c\":\"auto\",\"rate_bytes_per_s\":1048576,\"queue-depth\":\"auto\"}",
			"max temp=auto;rate=1 MiB/s;queue depth=auto;", 0 },
		{ "{\"disks\":[{\"name\":\"vda\",\"model\":null,\"capacity_bytes\":1073741824},{\"name\":"
		  "\"vdb\","
		  "\"nr_requests\":64}]}",
			"disks=vda, capacity 1 GiB;disks=vdb, nr requests 64;", 0 },
		{ "{\"disks\":[]}", "", 0 },
		{ "{\"shared_path\":{\"port\":\"0000:00:1f.2\",\"with\":[\"evo850\",\"mx500\"],"
		  "\"alone_bytes_per_s\":1048576,\"together_bytes_per_s\":null,\"badge\":\"shares it\"}}",
			"shared path=0000:00:1f.2, with evo850, mx500, alone 1 MiB/s, badge shares it;", 0 },
		{ "", "", -EINVAL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct text shown = TEXT_INIT;

		assert_int_equal(settings_each(rows[i].json, collect_setting, &shown), rows[i].rc);
		assert_string_equal(text_string(&shown), rows[i].shown);
		text_fini(&shown);
	}
}

static void test_the_timeline_keeps_gaps_and_extremes(void **state)
{
	struct text text = TEXT_INIT;

	(void)state;
	assert_int_equal(report_timeline_svg(journal, &run, &text), 0);
	assert_int_equal(count_of(text_string(&text), "class=\"ln\""), 2); /* the down row parts them */
	assert_int_equal(count_of(text_string(&text), "class=\"ln s3\""), 2);
	assert_int_equal(count_of(text_string(&text), "<rect"), 1);
	/* Of 12 samples the ninth. */
	check_contains(text_string(&text), "<rect class=\"gap\" x=\"66.67%\" y=\"20\" width=\"8.33%\"");
	check_contains(text_string(&text), ">120</text>"); /* of 12 x 10 MiB/s */
	/* Few samples are a dot each, of writes and of reads; none of them was zero. */
	assert_int_equal(count_of(text_string(&text), "h0"), 2 * 11);
	check_contains(text_string(&text), "<path class=\"zero\" d=\"\"/>");
	text_fini(&text);
	put_late(SAMPLE_ZERO, 10 * NS_PER_S);
	assert_int_equal(report_timeline_svg(journal, &run, &text), 0);
	check_contains(text_string(&text), "<path class=\"zero\" d=\"M");
	text_fini(&text);
	/* The service ended just behind a tick: what the last moment gave is no rate. */
	put_late(SAMPLE_MEASURED, NS_PER_S / 500);
	assert_int_equal(report_timeline_svg(journal, &run, &text), 0);
	assert_int_equal(count_of(text_string(&text), "h0"), 2 * 11 + 1);
	text_fini(&text);
	/* A run without samples has no picture. */
	fixture_run(&run, "none", 10);
	assert_int_equal(journal_put_run(journal, &run), 0);
	assert_int_equal(report_timeline_svg(journal, &run, &text), 0);
	assert_string_equal(text_string(&text), "<p>No samples yet.</p>\n");
	text_fini(&text);
}

static void test_the_summary_is_for_people(void **state)
{
	struct text text = TEXT_INIT;
	struct summary_figures figures;

	(void)state;
	assert_int_equal(figures_read(journal, &run, &figures), 0);
	report_summary_text(&run, &figures, &text);
	check_contains(text_string(&text), "Run evo-20261130T214900Z: MODEL <7>, serial S1234567, slot 3\n");
	check_contains(text_string(&text), "  State           running, phase soak: soaking\n");
	check_contains(text_string(&text), "  Started         2026-11-30 21:49:00 UTC\n");
	check_contains(text_string(&text), "    median        60 MiB/s\n");
	check_contains(text_string(&text), "    maximum       120 MiB/s\n");
	check_contains(text_string(&text), "    worst minute  35 MiB/s\n");
	check_contains(text_string(&text), "  Samples         11 of 10 s each\n");
	check_contains(text_string(&text), "  Stalled         never\n");
	check_contains(text_string(&text), "  Gaps            8.3 % of the soak\n");
	check_contains(text_string(&text), "\nFAIL\n  - 2 blocks read back corrupt\n");
	check_contains(text_string(&text), "\n  - NO VERDICT: not settled: 0 of 5 rounds measured");
	check_contains(text_string(&text), "  - NO VERDICT: 8.3 % of the soak is missing, over 1 %\n");
	check_contains(text_string(&text), "Not settled: ");
	text_fini(&text);
}

static void test_probe_verify_and_zeros_are_told(void **state)
{
	struct text text = TEXT_INIT;
	struct summary_figures figures;

	(void)state;
	(void)snprintf(run.config_json, sizeof(run.config_json), "{\"payload\":\"zeros\"}");
	(void)snprintf(run.probe_json, sizeof(run.probe_json),
		"{\"kind\":\"depth-1\",\"share_of_median\":null,\"intended_ios_per_s\":null,\"ios_per_s\":"
		"11904.4,"
		"\"lat_p50_ns\":80000,\"lat_p99_ns\":120000,\"lat_p999_ns\":250000,\"lat_max_ns\":4200000},"
		"{\"kind\":\"open-loop\",\"share_of_median\":0.5,\"intended_ios_per_s\":30000,"
		"\"ios_per_s\":29999.6,\"lat_p50_ns\":90000,\"lat_p99_ns\":null}");
	(void)snprintf(run.verify_json, sizeof(run.verify_json),
		"{\"read_bytes\":1073741824,\"blocks\":65536,\"ledger_coverage_pct\":99.5,\"corrupt\":2,"
		"\"torn\":0,\"misdirected\":0,\"stale\":1,\"unreadable\":0,\"error\":null}");
	assert_int_equal(figures_read(journal, &run, &figures), 0);
	report_summary_text(&run, &figures, &text);
	check_contains(text_string(&text), "payload = zeros: every block is zeros.");
	check_contains(text_string(&text),
		"Commits\n    median        1 a second\n    p50           71 \xc2\xb5s\n");
	check_contains(text_string(&text), "  Latency p99.99  ");
	check_contains(text_string(&text),
		"  depth 1                           -      11904     80 \xc2\xb5s    120 \xc2\xb5s");
	check_contains(text_string(&text), "  50 % of the soak's rate       30000      30000");
	check_contains(text_string(&text), "depth / IOPS and does not rank drives");
	check_contains(text_string(&text), "Verification\n  Read back 1 GiB in 65536 blocks; the ledger "
					   "knows the last write of 99.5 % of "
					   "them.\n"
					   "  BAD BLOCKS: 2 corrupt, 1 stale.\n");
	text_fini(&text);
	assert_int_equal(report_html(journal, &run, 1, FIXTURE_START_MS, "", &text), 0);
	check_contains(text_string(&text), "<b class=\"bad\">Bad blocks: 2 corrupt, 1 stale.</b>");
	check_contains(text_string(&text), "<tr><th scope=\"row\">depth 1</th><td class=\"num\"><span "
					   "class=\"mute\">none</span></td><td class=\"num\">11904</td>");
	check_contains(text_string(&text), "payload = zeros");
	check_contains(text_string(&text), "Commits a second, median");
	text_fini(&text);
	/* A verification that found nothing, and one that was cut short. */
	(void)snprintf(run.verify_json, sizeof(run.verify_json),
		"{\"read_bytes\":16384,\"blocks\":1,\"corrupt\":0,\"error\":null}");
	report_summary_text(&run, &figures, &text);
	check_contains(text_string(&text), "Read back 16 KiB in 1 blocks.\n  No bad block.\n");
	text_fini(&text);
	(void)snprintf(
		run.verify_json, sizeof(run.verify_json), "{\"blocks\":1,\"error\":\"No such <device>\"}");
	report_add_verify(&run, &text);
	check_contains(text_string(&text), "It ended early: No such &lt;device&gt;.");
	check_contains(text_string(&text), "<b class=\"warn\">No bad block so far.</b>");
	text_fini(&text);
}

static void test_host_limited_figures_are_marked(void **state)
{
	struct text text = TEXT_INIT;
	struct summary_figures figures;

	(void)state;
	assert_int_equal(figures_read(journal, &run, &figures), 0);
	figures.window = (struct summary_part){ .write = { .median = NAN }, .read = { .max = NAN } };
	report_summary_text(&run, &figures, &text);
	check_contains(text_string(&text),
		"All figures are host-limited: what this host and drive did together, "
		"not the drive alone.\n");
	check_contains(text_string(&text), "    median        60 MiB/s\n");
	text_fini(&text);
}

/* Run the client in a shell with @state_directory as $S; its output, errors too, goes to output[]. */
static int client(const char *arguments)
{
	char command[1000];
	size_t length;
	FILE *pipe;
	int status;

	(void)snprintf(command, sizeof(command), "S=%s; exec 2>&1; ./drivesoak %s", folder, arguments);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	length = fread(output, 1, sizeof(output) - 1, pipe);
	output[length] = '\0';
	status = pclose(pipe);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void test_exit_codes_and_words(void **state)
{
	static const struct {
		const char *arguments;
		int code;
		const char *says;
	} row[] = {
		{ "--version", 0, "drivesoak 0." },
		{ "--help", 0, "Usage:\n  drivesoak runs [--json] [-c FILE | --state DIR]\n" },
		{ "report --help", 0, "drivesoak report RUN... -o FILE [-c FILE | --state DIR]\n" },
		{ "", 64, "Usage:\n" },
		{ "nonsense", 64, "drivesoak: nonsense: no such subcommand" },
		{ "arm", 64, "something is missing" },
		{ "alert-test", 64, "drivesoak: alert-test: not in this version yet" },
		{ "runs --bogus", 64, "unrecognized option '--bogus'" },
		{ "runs extra --state $S", 64, "drivesoak runs: too many arguments\nUsage: drivesoak runs " },
		{ "runs -o x --state $S", 64, "an option that this subcommand has not" },
		{ "summary --state $S", 64, "something is missing" },
		{ "report evo --state $S", 64, "-o FILE is needed" },
		{ "export evo --state $S", 64, "--format csv or --format json is needed" },
		{ "export evo --format xml --state $S", 64, "xml: no such format" },
		{ "export evo --format openmetrics --state $S", 64, "not in this version yet" },
		{ "summary nobody --state $S", 66, "nobody: no such run" },
		{ "summary evo --state $S/none", 66, "/none/journal.db: No such file or directory" },
		{ "report evo --state $S -o /nonexistent/x.html", 73, "/nonexistent/x.html: No such file" },
		{ "export evo --format csv --state $S >/dev/full", 74, "" },
		{ "runs --state $S >/dev/full", 74, "" },
		{ "runs -c $S/none.conf", 78, "none.conf" },
		{ "runs --state $S", 0, "evo-20261130T214900Z" },
		{ "summary evo --state $S", 1, "/runs/evo-20261130T214900Z.rrd\n" },
		{ "summary evo-20261130T214900Z --state $S", 1, "    median        60 MiB/s\n" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		int code = client(row[i].arguments);

		if (code != row[i].code || !strstr(output, row[i].says))
			fail_msg("drivesoak %s: exit %d, says %s", row[i].arguments, code, output);
	}
}

static void test_damaged_records_are_65(void **state)
{
	(void)state;
	journal_close(journal);
	journal = NULL;
	assert_int_equal(
		client("runs --state $S; printf 123456789 | dd of=$S/journal.db conv=notrunc status=none"),
		0);
	assert_int_equal(client("runs --state $S"), 65);
	check_contains(output, "/journal.db: file is not a database");
}

static void test_the_config_names_the_state_directory(void **state)
{
	(void)state;
	assert_int_equal(client("--version; printf 'state-directory = \"%s\"\\ndrive \"evo\" { directory = "
				"\"/nonexistent\" size "
				"= \"1GiB\" }\\n' $S >$S/d.conf"),
		0);
	assert_int_equal(client("runs -c $S/d.conf --json"), 0);
	check_contains(output, "{\"runs\":[\n{\"id\":\"evo-20261130T214900Z\"");
}

static void test_exports_agree_digit_for_digit(void **state)
{
	(void)state;
	assert_int_equal(client("export evo --format csv --state $S"), 0);
	check_contains(output, "t_s,elapsed_s,state,flags,phase,write_bytes,");
	check_contains(output, "\n1796075410,10,measured,,soak,104857600,6400,3,2,1,50000,");
	check_contains(output, "\n1796075490,10,down,,soak,,,,,");
	assert_int_equal(count_of(output, "\n"), 13);
	assert_int_equal(client("export evo --format json --state $S"), 0);
	check_contains(output, "{\"run\":{\"id\":\"evo-20261130T214900Z\",");
	check_contains(output, ",\"interval_s\":10,\"columns\":[\"t_s\",\"elapsed_s\",");
	check_contains(output, "\"steal_share\",\"run_delay_share\",\"device_lat_mean_ns\",\"lat_mean_ns\","
			       "\"throttled_ns\",\"commits\",\"commit_p50_ns\",\"commit_p99_ns\"]"
			       ",\"rows\":[\n[1796075410,10,\"measured\",\"\",\"soak\",104857600,6400,");
	check_contains(output, ",\n[1796075490,10,\"down\",\"\",\"soak\",null,null,");
	check_contains(output, "]\n]}\n");
	if (system("python3 -c ''") == 0)
		assert_int_equal(
			client("export evo --format json --state $S | python3 -c '\n"
			       "import json,sys,csv,subprocess\n"
			       "j=json.load(sys.stdin)\n"
			       "c=list(csv.reader(subprocess.check_output([\"./"
			       "drivesoak\",\"export\",\"evo\",\"--format\","
			       "\"csv\",\"--state\",j[\"run\"] and sys.argv[1]],text=True).splitlines()))\n"
			       "assert c[0]==j[\"columns\"]\n"
			       "assert len(c)-1==len(j[\"rows\"])==12\n"
			       "for a,b in zip(c[1:],j[\"rows\"]):\n"
			       "  assert a==[\"\" if v is None else str(v) for v in b],(a,b)\n"
			       "' $S"),
			0);
}

static void test_a_file_appears_only_when_it_is_whole(void **state)
{
	struct stat status;
	char path[300];

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/out.html", folder);
	assert_int_equal(client("report evo evo --state $S -o $S/out.html"), 0);
	assert_string_equal(output, "");
	assert_int_equal(stat(path, &status), 0);
	assert_true(status.st_size > 3000);
	assert_int_equal(client("export nobody --format csv --state $S -o $S/out.html"), 66);
	assert_int_equal(stat(path, &status), 0);
	assert_true(status.st_size > 3000); /* the old one is still there */
	assert_int_equal(client("export evo --format csv --state $S -o $S/out.html; ls -A $S"), 0);
	assert_null(strstr(output, ".new"));
	assert_int_equal(client("export evo --format csv --state $S -o /dev/stdout"), 0);
	check_contains(output, "\n1796075490,10,down,");
}

int main(void)
{
#define CASE(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
	static const struct CMUnitTest tests[] = {
		CASE(test_a_run_as_json_has_all_names),
		CASE(test_a_report_escapes_and_stands_alone),
		CASE(test_settings_are_for_people),
		CASE(test_the_timeline_keeps_gaps_and_extremes),
		CASE(test_the_summary_is_for_people),
		CASE(test_probe_verify_and_zeros_are_told),
		CASE(test_host_limited_figures_are_marked),
		CASE(test_exit_codes_and_words),
		CASE(test_damaged_records_are_65),
		CASE(test_the_config_names_the_state_directory),
		CASE(test_exports_agree_digit_for_digit),
		CASE(test_a_file_appears_only_when_it_is_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
