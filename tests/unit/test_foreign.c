/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The logs of other tools: what each line of each dialect says, exactly; and what is refused, with its line. */
#include "unit.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "archive/foreign.h"
#include "measure/sample_columns.h"
#include "tree_fixture.h"

#define ROWS_MAX 400
#define NONE	 SAMPLE_UNKNOWN
#define MIB	 1048576

struct kept {
	struct foreign_row rows[ROWS_MAX];
	size_t count;
};

static struct kept kept;

static int keep(const struct foreign_row *row, void *arg)
{
	struct kept *to = arg;

	assert_true(to->count < ROWS_MAX);
	to->rows[to->count++] = *row;
	return 0;
}

static struct foreign *open_log(const char *path, const struct foreign_options *options)
{
	struct foreign *foreign = NULL;
	char why[FOREIGN_WHY_MAX] = "";

	if (foreign_open(path, options, &foreign, why) < 0)
		fail_msg("%s", why);
	kept.count = 0;
	if (foreign_each(foreign, keep, &kept, why) != 0)
		fail_msg("%s", why);
	return foreign;
}

static void path_of(const char *root, const char *name, char *path)
{
	(void)snprintf(path, 600, "%s/%s", root, name);
}

static void check_u64(const char *what, size_t row, uint64_t value, uint64_t expected)
{
	if (value != expected)
		fail_msg("row %zu: %s is %lld, not %lld", row, what, (long long)value, (long long)expected);
}

struct expected {
	int64_t t_ms;
	uint64_t elapsed_ms, write_bytes, read_bytes;
	double p95_ns;
	enum sample_state state;
};

static void check_row(size_t at, const struct expected *expected)
{
	const struct foreign_row *row = &kept.rows[at];

	check_u64("t_ms", at, (uint64_t)row->sample.t_ms, (uint64_t)expected->t_ms);
	check_u64("elapsed", at, row->sample.elapsed_ns, expected->elapsed_ms * 1000000);
	check_u64("write_bytes", at, row->sample.write_bytes, expected->write_bytes);
	check_u64("read_bytes", at, row->sample.read_bytes, expected->read_bytes);
	check_u64("state", at, row->sample.state, expected->state);
	assert_int_equal(row->sample.phase, PHASE_SOAK);
	if (expected->p95_ns > 0)
		assert_true(fabs(row->lat_p95_ns - expected->p95_ns) < 0.01);
	else
		assert_true(isnan(row->lat_p95_ns));
}

static bool has_warning(const struct foreign_info *info, const char *part)
{
	for (size_t i = 0; i < info->warning_count; i++)
		if (strstr(info->warnings[i], part))
			return true;
	return false;
}

struct log_case {
	const char *name, *text, *format;
	uint32_t interval_s;
	struct expected rows[8];
	size_t count;
	const char *warning; /* NULL: there must be none */
	struct foreign_gap gap;
	struct foreign_options options;
};

#define SYSBENCH_HEAD                                                                                        \
	"sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\n\nRunning the test with following options:\n"    \
	"Number of threads: 8\nReport intermediate results every 1 second(s)\n\n"                            \
	"Using asynchronous I/O mode\nDoing random write test\nThreads started!\n\n"

#define IOSTAT_12                                                                                            \
	"Device            r/s     rMB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wMB/s   wrqm/s  "      \
	"%wrqm w_await wareq-sz     d/s     dMB/s   drqm/s  %drqm d_await dareq-sz     f/s f_await  "        \
	"aqu-sz  %util\n"
#define IOSTAT_12_ROW(device, reads, writes)                                                                 \
	device "  10.00  " reads "  0.00 0.00 2.00 64.00 30.00 " writes                                      \
	       " 0.00 0.00 4.00 64.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 1.50 50.00\n"
#define IOSTAT_CPU                                                                                           \
	"avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n"                                          \
	"           8.85    0.15   14.32    4.77    0.02   71.88\n\n"
#define IOSTAT_11                                                                                            \
	"Device:         rrqm/s   wrqm/s     r/s     w/s    rkB/s    wkB/s avgrq-sz avgqu-sz   await "       \
	"r_await w_await  svctm  %util\n"

static const struct log_case logs[] = {
	{ "sysbench 0.4",
		"sysbench 0.4.12:  multi-threaded system evaluation benchmark\n\n"
		"Doing random write test\nThreads started!\n"
		"[  10s] reads: 0.00 MB/s writes: 323.25 MB/s fsyncs: 0.00/s response time: 4.80ms (95%)\n"
		"[  20s] reads: 0.00 MB/s writes: 0.50 MB/s fsyncs: 0.00/s response time: 70.12ms (95%)\n"
		"Operations performed:  0 Read, 6000 Write, 0 Other = 6000 Total\n",
		"sysbench-0.4", 10,
		{ { 10000, 10000, 3389521920, 0, 4800000, SAMPLE_MEASURED },
			{ 20000, 10000, 5242880, 0, 70120000, SAMPLE_MEASURED } },
		2, NULL, { 0, 0 }, { NULL, 0 } },
	{ "sysbench 0.5, a gap and a zero",
		"[  10s] reads: 1.50 MB/s writes: 2.25 MB/s fsyncs: 0.00/s response time: 0.125ms (95%)\n"
		"[  20s] reads: 1.50 MB/s writes: 2.25 MB/s fsyncs: 0.00/s response time: 0.125ms (95%)\n"
		"[  40s] reads: 0.00 MB/s writes: 0.00 MB/s fsyncs: 0.00/s response time: 0.000ms (95%)\n",
		"sysbench-0.5", 10,
		{ { 10000, 10000, 23592960, 15728640, 125000, SAMPLE_MEASURED },
			{ 20000, 10000, 23592960, 15728640, 125000, SAMPLE_MEASURED },
			{ 40000, 10000, 0, 0, 0, SAMPLE_ZERO } },
		3, NULL, { 20000, 30000 }, { NULL, 0 } },
	{ "sysbench 1.0 of a second",
		SYSBENCH_HEAD
		"[ 1s ] reads: 0.00 MiB/s writes: 694.96 MiB/s fsyncs: 0.00/s latency (ms,95%): 0.049\n"
		"[ 2s ] reads: 0.00 MiB/s writes: 0.02 MiB/s fsyncs: 0.00/s latency (ms,95%): 3040.139\n"
		"\nFile operations:\n    writes/s:                     39854.33\n",
		"sysbench-1.0", 1,
		{ { 1000, 1000, 728718377, 0, 49000, SAMPLE_MEASURED },
			{ 2000, 1000, 20972, 0, 3040139000, SAMPLE_MEASURED } },
		2, NULL, { 0, 0 }, { NULL, 0 } },
	{ "sysbench that counts writes as reads",
		SYSBENCH_HEAD
		"[ 1s ] reads: 64.00 MiB/s writes: 0.00 MiB/s fsyncs: 0.00/s latency (ms,95%): 1.000\n",
		"sysbench-1.0", 1, { { 1000, 1000, 64 * MIB, 0, 1000000, SAMPLE_MEASURED } }, 1,
		"counted its writes as reads", { 0, 0 }, { NULL, 0 } },
	{ "sysbench that is still writing",
		"[ 10s ] reads: 0.00 MiB/s writes: 1.00 MiB/s fsyncs: 0.00/s latency (ms,95%): 1.000\n"
		"[ 20s ] reads: 0.00 MiB/s writes: 2.00 MiB/s fsyncs: 0.00/s latency (ms,95%): 1.0",
		"sysbench-1.0", 10, { { 10000, 10000, 10 * MIB, 0, 1000000, SAMPLE_MEASURED } }, 1,
		"line 2, the last, is cut and left out", { 0, 0 }, { NULL, 0 } },
	{ "CSV with an unknown value, a mark and CRLF",
		"\xef\xbb\xbft_s,write_bytes_per_s\r\n10,1000\r\n20,\r\n30,0\r\n40,2.5e3\r\n", "csv", 10,
		{ { 10000, 10000, 10000, NONE, 0, SAMPLE_MEASURED },
			{ 20000, 10000, NONE, NONE, 0, SAMPLE_DOWN },
			{ 30000, 10000, 0, NONE, 0, SAMPLE_ZERO },
			{ 40000, 10000, 25000, NONE, 0, SAMPLE_MEASURED } },
		4, NULL, { 10000, 20000 }, { NULL, 0 } },
	{ "CSV with more columns, and no newline at the end",
		"t_s,read_bytes_per_s,colour,write_bytes_per_s,lat_p95_ns\n1796075020,5,red,7,900\n"
		"1796075025,6,blue,8,",
		"csv", 5,
		{ { 1796075020000, 5000, 35, 25, 900, SAMPLE_MEASURED },
			{ 1796075025000, 5000, 40, 30, 0, SAMPLE_MEASURED } },
		2, "the column colour is not known", { 0, 0 }, { NULL, 0 } },
	{ "CSV of half seconds", "t_s,write_bytes_per_s\n0.5,100\n1.0,300\n1.5,400\n2.0,600\n2.5,9\n", "csv",
		1,
		{ { 1000, 1000, 200, NONE, 0, SAMPLE_MEASURED },
			{ 2000, 1000, 500, NONE, 0, SAMPLE_MEASURED } },
		2, "gathered to whole seconds", { 0, 0 }, { NULL, 0 } },
	{ "fio by windows with a hole: it stood still",
		"1000, 1024, 1, 0, 0\n2001, 2048, 1, 0, 0\n4999, 512, 1, 0, 0\n6000, 256, 1, 0, 0\n",
		"fio-bw", 1,
		{ { 1000, 1000, MIB, 0, 0, SAMPLE_MEASURED }, { 2000, 1000, 2 * MIB, 0, 0, SAMPLE_MEASURED },
			{ 3000, 1000, 0, 0, 0, SAMPLE_ZERO }, { 4000, 1000, 0, 0, 0, SAMPLE_ZERO },
			{ 5000, 1000, MIB / 2, 0, 0, SAMPLE_MEASURED },
			{ 6000, 1000, MIB / 4, 0, 0, SAMPLE_MEASURED } },
		6, NULL, { 0, 0 }, { NULL, 0 } },
	{ "fio that stands still more often than not",
		"1000, 1024, 1, 0, 0\n2000, 1024, 1, 0, 0\n4000, 1024, 1, 0, 0\n6000, 1024, 1, 0, 0\n"
		"7000, 1024, 1, 0, 0\n",
		"fio-bw", 1,
		{ { 1000, 1000, MIB, 0, 0, SAMPLE_MEASURED }, { 2000, 1000, MIB, 0, 0, SAMPLE_MEASURED },
			{ 3000, 1000, 0, 0, 0, SAMPLE_ZERO }, { 4000, 1000, MIB, 0, 0, SAMPLE_MEASURED },
			{ 5000, 1000, 0, 0, 0, SAMPLE_ZERO }, { 6000, 1000, MIB, 0, 0, SAMPLE_MEASURED },
			{ 7000, 1000, MIB, 0, 0, SAMPLE_MEASURED } },
		7, NULL, { 0, 0 }, { NULL, 0 } },
	{ "fio of two jobs in one file, reads and writes",
		"10000, 100, 0, 0, 0\n10000, 300, 1, 0, 0\n20000, 100, 0, 0, 0\n20000, 300, 1, 0, 0\n"
		"10001, 10, 0, 0, 0\n10001, 30, 1, 0, 0\n20001, 10, 0, 0, 0\n20001, 30, 1, 0, 0\n",
		"fio-bw", 10,
		{ { 10000, 10000, 3379200, 1126400, 0, SAMPLE_MEASURED },
			{ 20000, 10000, 3379200, 1126400, 0, SAMPLE_MEASURED } },
		2, "starts over 1 time", { 0, 0 }, { NULL, 0 } },
	{ "fio by windows of half a second",
		"500, 100, 1, 0\n1000, 300, 1, 0\n1500, 500, 1, 0\n2000, 700, 1, 0\n", "fio-bw", 1,
		{ { 1000, 1000, 204800, 0, 0, SAMPLE_MEASURED },
			{ 2000, 1000, 614400, 0, 0, SAMPLE_MEASURED } },
		2, NULL, { 0, 0 }, { NULL, 0 } },
	{ "fio by requests: their sizes count, not their own rates",
		"0, 175549, 1, 16384, 0\n24, 664, 1, 16384, 0\n999, 63617, 0, 4096, 0\n2500, 1, 1, 16384, 0\n"
		"3001, 1, 1, 16384, 0\n",
		"fio-bw", 1,
		{ { 1000, 1000, 32768, 4096, 0, SAMPLE_MEASURED }, { 2000, 1000, 0, 0, 0, SAMPLE_ZERO },
			{ 3000, 1000, 16384, 0, 0, SAMPLE_MEASURED } },
		3, NULL, { 0, 0 }, { NULL, 0 } },
	{ "fio with the mean and the most of each window",
		"1000, 1024, 9999, 1, 0, 0, 0, 0\n2000, 2048, 9999, 1, 0, 0, 0, 0\n", "fio-bw", 1,
		{ { 1000, 1000, MIB, 0, 0, SAMPLE_MEASURED },
			{ 2000, 1000, 2 * MIB, 0, 0, SAMPLE_MEASURED } },
		2, NULL, { 0, 0 }, { NULL, 0 } },
	{ "fio with the time of day, priorities and trims",
		"1796075021000, 1024, 1, 0, 0, 0x0000, 0\n1796075021000, 7, 2, 0, 0, 0x0000, 0\n"
		"1796075022000, 2048, 1, 0, 0, 0x0000, 0\n",
		"fio-bw", 1,
		{ { 1796075021000, 1000, MIB, 0, 0, SAMPLE_MEASURED },
			{ 1796075022000, 1000, 2 * MIB, 0, 0, SAMPLE_MEASURED } },
		2, NULL, { 0, 0 }, { NULL, 0 } },
	{ "fio without blanks: a comma is no point", "1000,81920,1,0,0\n2000,40960,1,0,0\n", "fio-bw", 1,
		{ { 1000, 1000, 80 * MIB, 0, 0, SAMPLE_MEASURED },
			{ 2000, 1000, 40 * MIB, 0, 0, SAMPLE_MEASURED } },
		2, NULL, { 0, 0 }, { NULL, 0 } },
	{ "fio without blanks, with priorities", "1000,1024,0,0,0,0x0000,0\n2000,2048,0,0,0,0x0000,0\n",
		"fio-bw", 1,
		{ { 1000, 1000, 0, MIB, 0, SAMPLE_MEASURED },
			{ 2000, 1000, 0, 2 * MIB, 0, SAMPLE_MEASURED } },
		2, NULL, { 0, 0 }, { NULL, 0 } },
	{ "iostat 12 in the C locale: the busiest of two",
		"Linux 6.1.0-13-amd64 (host) \t11/30/26 \t_x86_64_\t(2 CPU)\n\n11/30/26 21:43:41\n" IOSTAT_CPU
			IOSTAT_12 IOSTAT_12_ROW("vda", "1.00", "900.00") IOSTAT_12_ROW("nvme0n1", "1.00",
				"900.00") "\n\n11/30/26 21:43:51\n" IOSTAT_CPU IOSTAT_12 IOSTAT_12_ROW("vda",
				"0.25", "1.00") IOSTAT_12_ROW("nvme0n1", "0.50",
				"2.00") "\n\n11/30/26 21:44:01\n" IOSTAT_CPU IOSTAT_12 IOSTAT_12_ROW("vda",
				"0.00", "1.00") IOSTAT_12_ROW("nvme0n1", "0.00", "0.00") "\n\n",
		"iostat", 10,
		{ { 1796075031000, 10000, 20 * MIB, 5 * MIB, 0, SAMPLE_MEASURED },
			{ 1796075041000, 10000, 0, 0, 0, SAMPLE_ZERO } },
		2, "nvme0n1, the busiest, is taken", { 0, 0 }, { NULL, 0 } },
	{ "iostat 12: the device that was asked for",
		"11/30/26 21:43:41\n" IOSTAT_12 IOSTAT_12_ROW("vda", "1.00", "9.00")
			IOSTAT_12_ROW("vdb", "1.00", "9.00") "\n11/30/26 21:43:46\n" IOSTAT_12 IOSTAT_12_ROW(
				"vda", "0.25", "1.00") IOSTAT_12_ROW("vdb", "0.50", "2.00") "\n",
		"iostat", 1, { { 1796075026000, 1000, MIB, MIB / 4, 0, SAMPLE_MEASURED } }, 1,
		"left out, taken for the average since boot; not so with iostat -y", { 0, 0 }, { "vda", 0 } },
	{ "iostat 11 with a half of the day and kilobytes",
		"Linux 4.9.0 (host) \t12/01/2026 \t_x86_64_\t(8 CPU)\n\n12/01/2026 12:59:55 AM\n" IOSTAT_11
		"sda               0.00     1.00    1.00    2.00    1.00    8.00    16.00     0.50    3.00   "
		" 1.00    4.00   0.40   5.00\n"
		"\n12/01/2026 01:00:00 PM\n" IOSTAT_11
		"sda               0.00     1.00    1.00    2.00    1.00    8.00    16.00     0.50    3.00   "
		" 1.00    4.00   0.40   5.00\n"
		"\n12/01/2026 01:00:05 PM\n" IOSTAT_11
		"sda               0.00     1.00    1.00    2.00    1.50    16.25    16.00     0.50    3.00  "
		"  1.00    4.00   0.40   5.00\n\n",
		"iostat", 5,
		{ { 1796130000000, 5000, 40960, 5120, 0, SAMPLE_MEASURED },
			{ 1796130005000, 5000, 83200, 7680, 0, SAMPLE_MEASURED } },
		2, "left out, taken for the average since boot; not so with iostat -y", { 0, 0 },
		{ NULL, 0 } },
	{ "iostat with commas for points and the day first",
		"Linux 6.1.0 (host) \t30.11.2026 \t_x86_64_\t(2 CPU)\n\n30.11.2026 21:43:41\n" IOSTAT_12
		"vda 1,00 1,00 0,00 0,00 2,00 64,00 3,00 9,00 0,00 0,00 4,00 64,00 0,00 0,00 0,00 0,00 0,00 "
		"0,00 0,00 0,00 1,50 50,00\n"
		"\n01.12.2026 00:00:01\n" IOSTAT_12
		"vda 1,00 0,50 0,00 0,00 2,00 64,00 3,00 1,50 0,00 0,00 4,00 64,00 0,00 0,00 0,00 0,00 0,00 "
		"0,00 0,00 0,00 1,50 50,00\n"
		"\n01.12.2026 00:00:03\n" IOSTAT_12
		"vda 1,00 0,00 0,00 0,00 2,00 64,00 3,00 1,00 0,00 0,00 4,00 64,00 0,00 0,00 0,00 0,00 0,00 "
		"0,00 0,00 0,00 1,50 50,00\n\n",
		"iostat", 2,
		{ { 1796083201000, 2000, 3 * MIB, MIB, 0, SAMPLE_MEASURED },
			{ 1796083203000, 2000, 2 * MIB, 0, 0, SAMPLE_MEASURED } },
		2, "left out, taken for the average since boot; not so with iostat -y", { 0, 0 },
		{ NULL, 0 } },
	{ "iostat without times, of a known interval",
		"Linux 6.1.0 (host) \t11/30/26 \t_x86_64_\t(2 CPU)\n\n" IOSTAT_12 IOSTAT_12_ROW(
			"vda", "1.00", "9.00") "\n" IOSTAT_12 IOSTAT_12_ROW("vda", "0.00",
			"1.00") "\n" IOSTAT_12 IOSTAT_12_ROW("vda", "0.00", "2.00") "\n",
		"iostat", 10,
		{ { 20000, 10000, 10 * MIB, 0, 0, SAMPLE_MEASURED },
			{ 30000, 10000, 20 * MIB, 0, 0, SAMPLE_MEASURED } },
		2, "left out, taken for the average since boot; not so with iostat -y", { 0, 0 },
		{ NULL, 10000 } },
	{ "iostat with ISO times and a zone; the disk is left out while idle",
		"2026-11-30T21:43:41+0100\n" IOSTAT_12 IOSTAT_12_ROW(
			"vda", "1.00", "9.00") "\n2026-11-30T21:43:43+0100\n" IOSTAT_12 IOSTAT_12_ROW("vda",
			"0.00", "1.00") "\n2026-11-30T21:43:45+0100\n" IOSTAT_12
					"\n2026-11-30T21:43:47+0100\n" IOSTAT_12 IOSTAT_12_ROW(
						"vda", "0.00", "1.00") "\n",
		"iostat", 2,
		{ { 1796071423000, 2000, 2 * MIB, 0, 0, SAMPLE_MEASURED },
			{ 1796071425000, 2000, 0, 0, 0, SAMPLE_ZERO },
			{ 1796071427000, 2000, 2 * MIB, 0, 0, SAMPLE_MEASURED } },
		3, "missing in 1 reports", { 0, 0 }, { NULL, 0 } },
};

static void check_log(const char *root, const struct log_case *log)
{
	char path[600];
	struct foreign *foreign;
	const struct foreign_info *info;

	print_message("%s\n", log->name);
	tree_file(root, "a.log", log->text);
	path_of(root, "a.log", path);
	foreign = open_log(path, &log->options);
	info = foreign_info(foreign);
	assert_string_equal(info->format, log->format);
	assert_int_equal(info->interval_s, log->interval_s);
	assert_int_equal(kept.count, log->count);
	for (size_t i = 0; i < log->count; i++)
		check_row(i, &log->rows[i]);
	assert_int_equal(info->gap_count, log->gap.to_ms ? 1 : 0);
	if (log->gap.to_ms) {
		assert_int_equal(info->gaps[0].from_ms, log->gap.from_ms);
		assert_int_equal(info->gaps[0].to_ms, log->gap.to_ms);
	}
	assert_int_equal(info->to_ms, log->rows[log->count - 1].t_ms);
	assert_int_equal(info->has_epoch, log->rows[0].t_ms > 1000000000000);
	if (!log->warning && info->warning_count)
		fail_msg("warns: %s", info->warnings[0]);
	if (log->warning && !has_warning(info, log->warning))
		fail_msg("no warning with %s", log->warning);
	foreign_close(foreign);
}

static void test_each_format_says_what_it_says(void **state)
{
	const char *root = *state;

	for (size_t i = 0; i < ARRAY_LEN(logs); i++)
		check_log(root, &logs[i]);
}

static void test_what_stands_beside_the_rates(void **state)
{
	const struct log_case *log = NULL;
	char path[600];

	for (size_t i = 0; i < ARRAY_LEN(logs); i++)
		if (strstr(logs[i].name, "that was asked for"))
			log = &logs[i];
	assert_non_null(log);
	tree_file(*state, "a.log", log->text);
	path_of(*state, "a.log", path);
	foreign_close(open_log(path, &log->options));
	/* 10 reads of 2 ms and 30 writes of 4 ms a second. */
	assert_int_equal(kept.rows[0].sample.read_ios, 10);
	assert_int_equal(kept.rows[0].sample.write_ios, 30);
	assert_int_equal(kept.rows[0].sample.lat_mean_ns, 3500000);
	assert_true(fabs(kept.rows[0].sample.inflight_mean - 1.5) < 1e-12);
	assert_int_equal(kept.rows[0].sample.stall_ns, NONE);
}

/* Reports without times come at some interval, which only their reader knows. */
static void test_an_interval_that_nothing_tells_is_not_known(void **state)
{
	static const char text[] =
		"Linux 6.1.0 (host) \t11/30/26 \t_x86_64_\t(2 CPU)\n\n" IOSTAT_12 IOSTAT_12_ROW(
			"vda", "1.00", "9.00") "\n" IOSTAT_12 IOSTAT_12_ROW("vda", "0.00",
			"1.00") "\n" IOSTAT_12 IOSTAT_12_ROW("vda", "0.00", "2.00") "\n";
	const struct foreign_options known = { .interval_ms = 5000 };
	struct foreign *foreign;
	char path[600];

	tree_file(*state, "a.log", text);
	path_of(*state, "a.log", path);
	foreign = open_log(path, NULL);
	assert_false(foreign_info(foreign)->is_interval_known);
	assert_int_equal(foreign_info(foreign)->interval_s, 1);
	foreign_close(foreign);
	foreign = open_log(path, &known);
	assert_true(foreign_info(foreign)->is_interval_known);
	assert_int_equal(foreign_info(foreign)->interval_s, 5);
	foreign_close(foreign);
}

/* Late by 0.3 s and early by 0.2 s in turn: steps of 9.5 s and 10.5 s, and none of 10 s. */
static void test_times_that_jitter_are_those_of_the_interval(void **state)
{
	static const char *const first[] = { "9.8", "10.3" }, *const second[] = { "10.3", "9.8" };
	char text[8192] = "t_s,write_bytes_per_s\n", path[600];
	struct foreign *foreign;
	size_t used;

	path_of(*state, "a.csv", path);
	for (int turn = 0; turn < 2; turn++)
		for (int count = 20; count < 24; count++) {
			used = strlen("t_s,write_bytes_per_s\n");
			for (int i = 0; i < count; i++)
				used += (size_t)snprintf(text + used, sizeof(text) - used, "%.1f,1000\n",
					i * 10 + strtod((i % 2 ? second : first)[turn], NULL));
			tree_file(*state, "a.csv", text);
			foreign = open_log(path, NULL);
			assert_int_equal(foreign_info(foreign)->interval_s, 10);
			assert_int_equal(foreign_info(foreign)->gap_count, 0);
			assert_int_equal(kept.count, count);
			foreign_close(foreign);
		}
}

/* Reports of a disk at these times; banners between them stand as they are. */
static struct foreign *open_times(const char *root, const char *const *times)
{
	static const char table[] = IOSTAT_12 IOSTAT_12_ROW("vda", "0.00", "1.00");
	char text[8192] = "", path[600];
	size_t used = 0;

	for (; *times; times++)
		used += (size_t)snprintf(
			text + used, sizeof(text) - used, "%s\n%s\n", *times, **times == 'L' ? "" : table);
	tree_file(root, "a.log", text);
	path_of(root, "a.log", path);
	return open_log(path, NULL);
}

struct dates_case {
	const char *times[8];
	int64_t from_ms, to_ms;
	uint32_t gaps;
	const char *warning; /* NULL: none of the order */
};

static const struct dates_case dates[] = {
	/* A 13 is no month, wherever it stands. */
	{ { "12/06/26 23:40:00", "12/06/26 23:50:00", "13/06/26 00:00:00", "13/06/26 00:10:00" },
		1781307600000, 1781309400000, 0, NULL },
	{ { "11/12/26 23:40:00", "11/12/26 23:50:00", "12/12/26 00:00:00", "12/12/26 00:10:00",
		  "13/12/26 00:00:00" },
		1797032400000, 1797120000000, 1, NULL },
	{ { "06/12/26 23:40:00", "06/12/26 23:50:00", "06/13/26 00:00:00", "06/13/26 00:10:00" },
		1781307600000, 1781309400000, 0, NULL },
	{ { "Linux 6.1.0 (host) \t13/06/26 \t_x86_64_\t(2 CPU)", "12/06/26 12:00:00", "12/06/26 12:10:00",
		  "12/06/26 12:20:00" },
		1781265600000, 1781266800000, 0, NULL },
	/* Days that follow each other. */
	{ { "05/12/26 23:40:00", "05/12/26 23:50:00", "06/12/26 00:00:00", "06/12/26 00:10:00" },
		1796514000000, 1796515800000, 0, NULL },
	{ { "12/05/26 23:40:00", "12/05/26 23:50:00", "12/06/26 00:00:00", "12/06/26 00:10:00" },
		1796514000000, 1796515800000, 0, NULL },
	/* Nothing tells; two runs are no neighbours. */
	{ { "12/06/26 12:00:00", "12/06/26 12:10:00", "12/06/26 12:20:00" }, 1796558400000, 1796559600000, 0,
		"taken for the month" },
	{ { "Linux 6.1.0 (host) \t11/06/26 \t_x86_64_\t(2 CPU)", "11/06/26 12:00:00",
		  "Linux 6.1.0 (host) \t12/06/26 \t_x86_64_\t(2 CPU)", "12/06/26 12:00:00",
		  "12/06/26 12:10:00", "12/06/26 12:20:00" },
		1796558400000, 1796559600000, 0, "taken for the month" },
	{ { "12-06-26 12:00:00", "12-06-26 12:10:00", "12-06-26 12:20:00" }, 1781265600000, 1781266800000, 0,
		"taken for the day" },
	{ { "12/12/26 12:00:00", "12/12/26 12:10:00", "12/12/26 12:20:00" }, 1797076800000, 1797078000000, 0,
		NULL },
};

static void test_days_and_months_are_told_apart_by_all_dates(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(dates); i++) {
		struct foreign *foreign = open_times(*state, dates[i].times);
		const struct foreign_info *info = foreign_info(foreign);

		print_message("%s\n", dates[i].times[0]);
		check_u64("from", i, (uint64_t)info->from_ms, (uint64_t)dates[i].from_ms);
		check_u64("to", i, (uint64_t)info->to_ms, (uint64_t)dates[i].to_ms);
		assert_int_equal(info->interval_s, 600);
		assert_int_equal(info->gap_count, dates[i].gaps);
		assert_int_equal(has_warning(info, "the day or the month"), dates[i].warning != NULL);
		assert_true(!dates[i].warning || has_warning(info, dates[i].warning));
		foreign_close(foreign);
	}
}

static void test_a_stall_grows_over_its_windows(void **state)
{
	char path[600];

	tree_file(*state, "a.log",
		"1000, 1024, 1, 0, 0\n2000, 1024, 1, 0, 0\n5000, 512, 1, 0, 0\n6000, 1, 1, 0, 0\n");
	path_of(*state, "a.log", path);
	foreign_close(open_log(path, NULL));
	assert_int_equal(kept.rows[1].sample.stall_ns, NONE);
	assert_int_equal(kept.rows[2].sample.stall_ns, 1000000000);
	assert_int_equal(kept.rows[3].sample.stall_ns, 2000000000);
	assert_int_equal(kept.rows[4].sample.stall_ns, NONE);
}

struct broken_case {
	const char *text, *why;
	size_t length; /* 0: of the text */
};

static const struct broken_case broken[] = {
	{ "", ":1: the file is empty", 0 },
	{ "hello\nworld\n", ":1: no log that is known", 0 },
	{ "\x7f\x45\x4c\x46\0\0\0", ":1: a binary file", 7 },
	{ "\xff\xfet\0_\0s\0", ":1: UTF-16", 8 },
	{ "t_s,write_bytes_per_s\n", ":1: no sample in it", 0 },
	{ "t_s,colour\n1,2\n", ":1: no column write_bytes_per_s", 0 },
	{ "t_s,write_bytes_per_s,t_s\n1,2,1\n", ":1: two columns are called t_s", 0 },
	{ "t_s,write_bytes_per_s\n10,1\n20,x\n", ":3: write_bytes_per_s: no number that can be: \"x\"", 0 },
	{ "t_s,write_bytes_per_s\n10,1\n20,-5\n", ":3: write_bytes_per_s: no number", 0 },
	{ "t_s,write_bytes_per_s\n10,nan\n", ":2: write_bytes_per_s: no number", 0 },
	{ "t_s,write_bytes_per_s\n10,inf\n", ":2: write_bytes_per_s: no number", 0 },
	{ "t_s,write_bytes_per_s\n10,0x10\n", ":2: write_bytes_per_s: no number", 0 },
	{ "t_s,write_bytes_per_s\n10,1e300\n", ":2: write_bytes_per_s: too large", 0 },
	{ "t_s,write_bytes_per_s\n10,1,2\n", ":2: 3 values where the header has 2", 0 },
	{ "t_s,write_bytes_per_s\n10\n20,5\n", ":2: 1 value where the header has 2", 0 },
	{ "t_s,write_bytes_per_s\n,5\n", ":2: t_s: no number", 0 },
	{ "t_s,write_bytes_per_s\n10,5\n20,5\n15,5\n", ":4: time goes back, from 20.000 s to 15.000 s", 0 },
	{ "t_s,write_bytes_per_s\n10,5\n10,5\n", ":3: time goes back", 0 },
	{ "t_s,write_bytes_per_s\n10,\0005\n20,5\n", ":2: a NUL byte", 33 },
	{ "sysbench 1.0.20 (using bundled LuaJIT)\nThreads started!\n\nFile operations:\n",
		":4: a sysbench log without interval lines", 0 },
	{ "sysbench 1.0.20\n[ 10s ] thds: 8 tps: 5.00 qps: 100.00\n",
		":2: an interval line, but not of fileio", 0 },
	{ "[ 10s ] reads: 0.00 MiB/s writes: x MiB/s fsyncs: 0.00/s latency (ms,95%): 0.049\n",
		":1: an interval line that cannot be read", 0 },
	{ "[ 10s ] reads: 0.00 MiB/s writes: -1.00 MiB/s fsyncs: 0.00/s latency (ms,95%): 0.049\n",
		":1: an interval line that cannot be read", 0 },
	{ "[ 10s ] reads: 0.00 MiB/s writes: 999999999999.00 MiB/s fsyncs: 0.00/s latency (ms,95%): 0.049\n",
		":1: a number that cannot be", 0 },
	{ "[ 10s ] reads: 0.00 MiB/s writes: 1.00 MiB/s fsyncs: 0.00/s latency (ms,95%): 0.049\n"
	  "[ 20s ] reads: 0.00 MiB/s writes: 1.00 MiB/s fsyncs: 0.00/s latency (ms,95%): 0.049\n"
	  "[ 10s ] reads: 0.00 MiB/s writes: 1.00 MiB/s fsyncs: 0.00/s latency (ms,95%): 0.049\n",
		":3: time goes back, from 20.000 s to 10.000 s (a second run in one file?)", 0 },
	{ "1000, 1024, 1, 0, 0\n2000, abc, 1, 0, 0\n", ":2: no row of a fio log", 0 },
	{ "1000, 1024, 1, 0, 0\n2000, 1024, 7, 0, 0\n", ":2: direction 7", 0 },
	{ "1000, 1024, 1, 0, 0\n-2000, 1024, 1, 0, 0\n", ":2: no row of a fio log", 0 },
	{ "1000, 1024, 2, 0, 0\n", ":1: no row of reads or writes", 0 },
	{ "0, 1, 1, 0, 0\n99999999999, 1, 1, 0, 0\n100000000000, 1, 1, 0, 0\n1, 1, 1, 0, 0\n2, 1, 1, 0, 0\n"
	  "3, 1, 1, 0, 0\n",
		":6: ", 0 },
	{ "11/30/26 21:43:41\n" IOSTAT_12 IOSTAT_12_ROW("vda", "1.00", "x.00"), ":3: vda: no number", 0 },
	{ "11/30/26 21:43:41\n" IOSTAT_12 "vda 1.00 2.00\n", ":3: vda: 2 values where the header has 22", 0 },
	{ "11/30/26 21:43:41\n" IOSTAT_12 IOSTAT_12_ROW("vda", "1.00", "2.00") "\n",
		":4: one report alone, taken for the average since boot (not so with iostat -y)", 0 },
	{ "11/30/26 25:43:41\n" IOSTAT_12, ":1: a time in a form that is not known", 0 },
	{ "13/06/26 21:43:41\n" IOSTAT_12 IOSTAT_12_ROW("vda", "1.00", "2.00") "\n06/14/26 21:43:41\n",
		":5: dates of both orders", 0 },
	{ "avg-cpu:  %user   %nice\n  1.00 2.00\n\nDevice             tps    kB_read/s\n",
		":4: no column of bytes written", 0 },
	{ "[ 10s] reads: 0.00 MB/s writes: 100.00 MB/s fsyncs: 0.00/s response time: 4.80ms (95%)\n"
	  "[ 20s ] reads: 0.00 MiB/s writes: 1.00 MiB/s fsyncs: 0.00/s latency (ms,95%): 0.049\n",
		":2: a line of sysbench-1.0 in a log of sysbench-0.4: two logs in one file?", 0 },
	{ "[ 10s ] reads: 0.00 MiB/s writes: 1.00 MiB/s fsyncs: 0.00/s latency (ms,95%): 0.049\n"
	  "\n1000, 1024, 1, 0, 0\n",
		":3: a line of another log in one of sysbench", 0 },
	{ "[ 10s ] reads: 0.00 MiB/s writes: 1.00 MiB/s fsyncs: 0.00/s latency (ms,95%): 0.049\n"
	  "t_s,write_bytes_per_s\n20,5\n",
		":2: a line of another log in one of sysbench", 0 },
	{ "11/30/26 21:43:41\n" IOSTAT_12 IOSTAT_12_ROW(
		  "vda", "1.00", "2.00") "\n[ 10s ] reads: 0.00 MiB/s writes: 1.00 MiB/s fsyncs: 0.00/s "
					 "latency (ms,95%): 0.049\n",
		":5: a line of another log in one of iostat", 0 },
	{ "{\"a\":1}\n", ":2: no JSON of samples", 0 },
	{ "{\"columns\":[\"t_s\",\"state\"],\"rows\":[[1,\"zero\"],[2]]}",
		":1: a row of 1 values where there are 2", 0 },
	{ "{\"columns\":[\"t_s\",\"state\"],\n\"rows\":[[1,\"odd\"]]}",
		":2: state: no value that can be: \"odd\"", 0 },
	{ "{\"columns\":[\"t_s\",\"state\"],\"rows\":[[1,\"zero\"]", ":1: the JSON ends before its end", 0 },
	{ "{\"columns\":[\"t_s\",\"write_bytes\"],\"rows\":[[1,-5]]}", ":1: write_bytes: no value", 0 },
	{ "{\"columns\":[\"t_s\"],\"rows\":[1]}", ":1: no JSON of samples", 0 },
};

static int refuse(const struct foreign_row *row, void *arg)
{
	(void)row, (void)arg;
	fail_msg("something was taken");
	return 0;
}

static void test_broken_files_are_refused_with_their_line(void **state)
{
	char path[600];

	path_of(*state, "a.log", path);
	for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
		struct foreign *foreign = NULL;
		char why[FOREIGN_WHY_MAX] = "";
		size_t length = broken[i].length ? broken[i].length : strlen(broken[i].text);
		int rc;

		tree_bytes(*state, "a.log", broken[i].text, length);
		rc = foreign_open(path, NULL, &foreign, why);
		if (rc != -EBADMSG || foreign || strncmp(why, path, strlen(path)) != 0 ||
			strncmp(why + strlen(path), broken[i].why, strlen(broken[i].why)) != 0)
			fail_msg("case %zu: rc %d, \"%s\", not \"%s\"", i, rc, why, broken[i].why);
		if (foreign)
			(void)foreign_each(foreign, refuse, NULL, why);
	}
}

static void test_files_that_cannot_be_opened(void **state)
{
	struct foreign *foreign = NULL;
	char path[600], why[FOREIGN_WHY_MAX];

	path_of(*state, "nothing", path);
	assert_int_equal(foreign_open(path, NULL, &foreign, why), -ENOENT);
	assert_non_null(strstr(why, "nothing: No such file"));
	assert_int_equal(foreign_open(*state, NULL, &foreign, why), -EISDIR);
	assert_null(foreign);
}

static void test_logs_of_latencies_are_told_by_their_name(void **state)
{
	struct foreign *foreign = NULL;
	char path[600], why[FOREIGN_WHY_MAX];

	tree_file(*state, "x_clat.1.log", "1000, 1024, 1, 0, 0\n");
	path_of(*state, "x_clat.1.log", path);
	assert_int_equal(foreign_open(path, NULL, &foreign, why), -EBADMSG);
	assert_non_null(strstr(why, "log of latencies or IOPS"));
}

/* A log that goes on while it is read ends where it ended at first. */
static void test_what_is_written_meanwhile_is_not_read(void **state)
{
	struct foreign *foreign = NULL;
	char path[600], why[FOREIGN_WHY_MAX] = "";
	FILE *file;

	tree_file(*state, "a.log", "t_s,write_bytes_per_s\n10,1\n20,2\n30,3");
	path_of(*state, "a.log", path);
	assert_int_equal(foreign_open(path, NULL, &foreign, why), 0);
	file = fopen(path, "ae");
	assert_non_null(file);
	(void)fputs("00\n40,broken\n", file);
	(void)fclose(file);
	kept.count = 0;
	assert_int_equal(foreign_each(foreign, keep, &kept, why), 0);
	assert_int_equal(kept.count, 3);
	assert_int_equal(kept.rows[2].sample.write_bytes, 30);
	assert_true(has_warning(foreign_info(foreign), "has no end: it may be cut"));
	foreign_close(foreign);
}

static void sample_make(struct sample *sample, int64_t i)
{
	sample_init(sample);
	sample->t_ms = 1796075030000 + i * 10000;
	sample->elapsed_ns = 10000000123;
	sample->state = i == 3 ? SAMPLE_ZERO : i == 4 ? SAMPLE_DOWN : SAMPLE_MEASURED;
	sample->flags = i == 2 ? SAMPLE_FLAG_HEALTH_POLL | SAMPLE_FLAG_HOST_LIMIT : 0;
	sample->phase = i == 0 ? PHASE_FILL : PHASE_SOAK;
	sample->temp_c = i == 1 ? -5.5 : NAN;
	if (i == 4)
		return;
	sample->write_bytes = i == 3 ? 0 : 9007199254740993u + (uint64_t)i;
	sample->read_bytes = 0;
	sample->lat_p99_ns = 123456789;
}

static void check_own(const struct sample *got, int64_t i)
{
	struct sample expected;

	sample_make(&expected, i);
	assert_int_equal(got->t_ms, expected.t_ms);
	assert_int_equal(got->elapsed_ns, expected.elapsed_ns);
	assert_int_equal(got->state, expected.state);
	assert_int_equal(got->flags, expected.flags);
	assert_int_equal(got->phase, expected.phase);
	assert_int_equal(got->write_bytes, expected.write_bytes);
	assert_int_equal(got->read_bytes, expected.read_bytes);
	assert_int_equal(got->lat_p99_ns, expected.lat_p99_ns);
	assert_int_equal(got->stall_ns, NONE);
	assert_int_equal(isnan(got->temp_c), isnan(expected.temp_c) || i == 4);
	if (i == 1)
		assert_true(fabs(got->temp_c + 5.5) < 1e-12);
}

static void print_own(bool is_json, struct text *text)
{
	struct sample sample;
	struct json json;

	if (!is_json) {
		sample_names_csv(text);
		for (int64_t i = 0; i < 5; i++) {
			sample_make(&sample, i);
			sample_row_csv(&sample, text);
		}
		return;
	}
	json_init(&json, text);
	json_object_open(&json);
	json_put_raw(&json, "run", "{\"id\":\"a\",\"rows\":[[\"]}\\\"\"]],\"columns\":7}");
	json_put_u64(&json, "interval_s", 10);
	json_key(&json, "columns");
	sample_names_json(&json);
	json_key(&json, "rows");
	json_array_open(&json);
	for (int64_t i = 0; i < 5; i++) {
		sample_make(&sample, i);
		sample_row_json(&sample, &json);
	}
	json_array_close(&json);
	json_object_close(&json);
}

static void test_own_exports_come_back(void **state)
{
	char path[600];

	path_of(*state, "a.log", path);
	for (int is_json = 0; is_json < 2; is_json++) {
		struct text text = TEXT_INIT;
		struct foreign *foreign;

		print_own(is_json, &text);
		tree_file(*state, "a.log", text_string(&text));
		text_fini(&text);
		foreign = open_log(path, NULL);
		assert_string_equal(foreign_info(foreign)->format, "drivesoak");
		assert_int_equal(foreign_info(foreign)->interval_s, 10);
		assert_int_equal(foreign_info(foreign)->samples, 4);
		assert_int_equal(foreign_info(foreign)->gap_count, 1);
		assert_int_equal(kept.count, 5);
		for (int64_t i = 0; i < 5; i++)
			check_own(&kept.rows[i].sample, i);
		foreign_close(foreign);
	}
}

/* Recorded logs of one drive that was throttled, by two tools. */
static void test_recorded_logs(void **state)
{
	struct foreign *foreign;
	uint64_t sum = 0;

	(void)state;
	if (access(SHARED_DATA "/recorded", R_OK) != 0)
		skip();
	foreign = open_log(SHARED_DATA "/recorded/sysbench-1.0-10s-throttled.txt", NULL);
	assert_string_equal(foreign_info(foreign)->format, "sysbench-1.0");
	assert_string_equal(foreign_info(foreign)->workload, "random-write");
	assert_int_equal(foreign_info(foreign)->warning_count, 0);
	assert_int_equal(kept.count, 90);
	for (size_t i = 0; i < kept.count; i++)
		sum += kept.rows[i].sample.write_bytes;
	/* The log's own total is 622.72 MiB a second over 900.0152 s. */
	assert_int_equal(sum, 587671063756);
	check_row(0, &(struct expected){ 10000, 10000, 7287183770, 0, 49000, SAMPLE_MEASURED });
	check_row(60, &(struct expected){ 610000, 10000, 1258291, 0, 2009233000, SAMPLE_MEASURED });
	check_row(75, &(struct expected){ 760000, 10000, 605133210, 0, 1272000, SAMPLE_MEASURED });
	foreign_close(foreign);
	foreign = open_log(SHARED_DATA "/recorded/iostat-xmt-10s-throttled.txt", NULL);
	assert_string_equal(foreign_info(foreign)->device, "vda");
	assert_int_equal(kept.count, 90);
	check_row(0, &(struct expected){ 1796075031000, 10000, 3691406950, 3040870, 0, SAMPLE_MEASURED });
	assert_int_equal(kept.rows[0].sample.write_ios, 1047);
	check_row(89, &(struct expected){ 1796075921000, 10000, 7480855757, 0, 0, SAMPLE_MEASURED });
	assert_int_equal(kept.rows[89].sample.write_ios, 456079);
	foreign_close(foreign);
}

#define CASE(function) cmocka_unit_test_setup_teardown(function, tree_setup, tree_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_each_format_says_what_it_says),
		CASE(test_what_stands_beside_the_rates),
		CASE(test_an_interval_that_nothing_tells_is_not_known),
		CASE(test_times_that_jitter_are_those_of_the_interval),
		CASE(test_days_and_months_are_told_apart_by_all_dates),
		CASE(test_a_stall_grows_over_its_windows),
		CASE(test_broken_files_are_refused_with_their_line),
		CASE(test_files_that_cannot_be_opened),
		CASE(test_logs_of_latencies_are_told_by_their_name),
		CASE(test_what_is_written_meanwhile_is_not_read),
		CASE(test_own_exports_come_back),
		CASE(test_recorded_logs),
	};

	/* Times without a zone are of the zone of the machine. */
	(void)setenv("TZ", "UTC", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
