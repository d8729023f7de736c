/* SPDX-License-Identifier: GPL-2.0-or-later */
/* smartctl: what it prints of each kind of drive, and a child that hangs, floods, dies or is not there. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "probes/reading_smartctl_private.h"
#include "recorded_smartctl.h"

#define FILE_MAX (1 << 16)

/* A drive that answers: ATA, with more than a family's table tells. */
#define ATA_JSON                                                                                             \
	"{\"smartctl\":{\"version\":[7,3],\"exit_status\":%s},\"device\":{\"name\":\"/dev/sdz\","            \
	"\"type\":\"sat\",\"protocol\":\"ATA\"},\"model_name\":\"TESTED SSD 5\",\"serial_number\":\"T-55\"," \
	"\"firmware_version\":\"F5\",\"rotation_rate\":0,\"logical_block_size\":4096%s}"

static char *read_file(const char *name, size_t *length)
{
	static char bytes[FILE_MAX];

	*length = fixture_read_shared(name, bytes, sizeof(bytes));
	return bytes;
}

static void test_every_recorded_file_to_its_own_numbers(void **state)
{
	size_t length;

	(void)state;
	(void)read_file(recorded[0].file, &length);
	if (!length)
		skip();
	for (size_t i = 0; i < ARRAY_LEN(recorded); i++) {
		const struct recorded *row = &recorded[i];
		char *json = read_file(row->file, &length);
		struct reading reading;

		print_message("%s\n", row->file);
		reading_init(&reading);
		assert_int_equal(reading_decode_smartctl_json(&reading, json, length), 0);
		assert_string_equal(reading.source, row->source);
		assert_string_equal(reading.model, row->model);
		assert_string_equal(reading.serial, row->serial);
		assert_string_equal(reading.firmware, row->firmware);
		assert_string_equal(reading.family, row->family);
		assert_string_equal(reading.notes, row->notes);
		assert_int_equal(reading.attribute_count, row->attribute_count);
		fixture_check(&reading, row->values, row->count);
		reading_fini(&reading);
	}
}

static void test_recorded_files_that_are_no_reading(void **state)
{
	static const struct {
		const char *file;
		const char *note;
	} row[] = {
		{ "scrutiny/smart-fail.json", "Open failed, Error=5" },
		{ "scrutiny/smartctl_scan_megaraid.json", "a list of drives" },
		{ "scrutiny/smartctl_scan_nvme.json", "a list of drives" },
		{ "scrutiny/smartctl_scan_simple.json", "a list of drives" },
		{ "telegraf/scan-megaraid.json", "a list of drives" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		struct reading reading;
		size_t length;
		char *json = read_file(row[i].file, &length);

		if (!length)
			skip();
		reading_init(&reading);
		assert_int_equal(reading_decode_smartctl_json(&reading, json, length), -EINVAL);
		assert_non_null(strstr(reading.notes, row[i].note));
		fixture_check(&reading, NULL, 0);
		reading_fini(&reading);
	}
}

static void test_a_recorded_file_with_names_only(void **state)
{
	struct reading reading;
	size_t length;
	char *json = read_file("scrutiny/smartctl_info_sata_smart_support_object.json", &length);

	(void)state;
	if (!length)
		skip();
	reading_init(&reading);
	assert_int_equal(reading_decode_smartctl_json(&reading, json, length), 0);
	assert_string_equal(reading.model, "WD Red SA500 2.5 4TB");
	assert_string_equal(reading.family, "WD Blue, Green, Red");
	assert_string_equal(reading.firmware, "540400WD");
	assert_string_equal(reading.notes, "");
	fixture_check(&reading, NULL, 0);
	reading_fini(&reading);
}

static int decode(struct reading *reading, const char *json)
{
	reading_init(reading);
	return reading_decode_smartctl_json(reading, json, strlen(json));
}

static void test_what_printf_makes_of_no_number_is_null(void **state)
{
	static const struct fixture_value wanted[] = { { READING_PERCENT_USED, 7 },
		{ READING_POWER_CYCLES, 12 } };
	struct reading reading;

	(void)state;
	assert_int_equal(
		decode(&reading, "{\"device\":{\"type\":\"nvme\",\"protocol\":\"NVMe\"},"
				 "\"model_name\":\"nan \\\"-nan inf\",\"nvme_smart_health_information_log\":{"
				 "\"temperature\":nan,\"available_spare\":-nan,\"percentage_used\":7,"
				 "\"host_writes\":inf,\"power_cycles\":12,\"media_errors\":-Infinity,"
				 "\"temperature_sensors\":[nan,NaN]}}"),
		0);
	assert_string_equal(reading.model, "nan \"-nan inf");
	fixture_check(&reading, wanted, ARRAY_LEN(wanted));
}

static void test_numbers_beyond_a_double_are_in_their_texts(void **state)
{
	struct reading reading;
	uint64_t value;

	(void)state;
	assert_int_equal(
		decode(&reading,
			"{\"device\":{\"type\":\"nvme\",\"protocol\":\"NVMe\"},"
			"\"nvme_smart_health_information_log\":{"
			"\"host_reads\":340282366920938463463374607431768211455,"
			"\"host_reads_s\":\"340282366920938463463374607431768211455\","
			"\"host_writes\":18446744073709551614,\"media_errors\":99999999999999999999999,"
			"\"power_cycles\":-3,\"power_on_hours\":1.5,\"unsafe_shutdowns\":\"7\","
			"\"num_err_log_entries_s\":\"12x\",\"data_units_read\":36028797018963969,"
			"\"data_units_read_s\":\"36028797018963971\"}}"),
		0);
	assert_true(reading.value[READING_HOST_READ_COMMANDS] == (__int128)-1);
	assert_true(reading_get_u64(&reading, READING_HOST_WRITE_COMMANDS, &value));
	assert_int_equal(value, UINT64_C(18446744073709551614));
	assert_true(reading.value[READING_HOST_READ_BYTES] == (__int128)36028797018963971 * 512000);
	assert_false(reading.known[READING_MEDIA_ERRORS]); /* where the parser clamps */
	assert_false(reading.known[READING_POWER_CYCLES]);
	assert_false(reading.known[READING_POWER_ON_HOURS]);
	assert_false(reading.known[READING_UNSAFE_SHUTDOWNS]);
	assert_false(reading.known[READING_ERROR_LOG_ENTRIES]);
}

/* A normalised statistic, an invalid one, and one of a page that is none of ours. */
#define STATISTICS                                                                                           \
	",\"ata_device_statistics\":{\"pages\":[{\"number\":1,\"table\":["                                   \
	"{\"offset\":8,\"value\":31,\"flags\":{\"valid\":true}},"                                            \
	"{\"offset\":16,\"value\":3302,\"flags\":{\"valid\":true}},"                                         \
	"{\"offset\":24,\"value\":3000000003,\"flags\":{\"valid\":true}},"                                   \
	"{\"offset\":32,\"value\":3400000,\"flags\":{\"valid\":true}},"                                      \
	"{\"offset\":40,\"value\":3500000005,\"flags\":{\"valid\":true}},"                                   \
	"{\"offset\":48,\"value\":3600000,\"flags\":{\"valid\":true}}]},"                                    \
	"{\"number\":4,\"table\":[{\"offset\":8,\"value\":37,\"flags\":{\"valid\":true}}]},"                 \
	"{\"number\":5,\"table\":[{\"offset\":8,\"value\":-8,\"flags\":{\"valid\":true}},"                   \
	"{\"offset\":80,\"value\":39,\"flags\":{\"valid\":true}},"                                           \
	"{\"offset\":88,\"value\":70,\"flags\":{\"valid\":true}}]},"                                         \
	"{\"number\":6,\"table\":[{\"offset\":24,\"value\":41,\"flags\":{\"valid\":false}}]},"               \
	"{\"number\":7,\"table\":[{\"offset\":8,\"value\":42,\"flags\":{\"valid\":true}}]},"                 \
	"{\"number\":255,\"table\":[{\"offset\":8,\"value\":43,\"flags\":{\"valid\":true}}]}]}"

static void test_statistics_of_the_drive_go_before_attributes(void **state)
{
	static const struct fixture_value wanted[] = { { READING_POWER_CYCLES, 29 },
		{ READING_POWER_ON_HOURS, 3302 }, { READING_HOST_WRITTEN_RAW, 3000000003 },
		{ READING_HOST_WRITTEN_UNIT_BYTES, 4096 },
		{ READING_HOST_WRITTEN_BYTES, UINT64_C(3000000003) * 4096 },
		{ READING_HOST_WRITE_COMMANDS, 3400000 },
		{ READING_HOST_READ_BYTES, UINT64_C(3500000005) * 4096 },
		{ READING_HOST_READ_COMMANDS, 3600000 }, { READING_MEDIA_ERRORS, 37 },
		{ READING_WARNING_TEMP_MINUTES, 39 }, { READING_WARNING_TEMP_C, 70 },
		{ READING_CRC_ERRORS, 28 }, { READING_PERCENT_USED, 42 }, { READING_ROTATION_RPM, 0 },
		{ READING_LOGICAL_BLOCK_BYTES, 4096 }, { READING_FAILED_THRESHOLDS, 0 } };
	struct reading reading;
	char json[4096];

	(void)state;
	(void)snprintf(json, sizeof(json), ATA_JSON, "0",
		",\"ata_smart_attributes\":{\"table\":["
		"{\"id\":12,\"value\":99,\"worst\":98,\"thresh\":0,\"flags\":{\"value\":50},\"raw\":{"
		"\"value\":29}},"
		"{\"id\":194,\"value\":99,\"worst\":98,\"thresh\":0,\"flags\":{\"value\":50},\"raw\":{"
		"\"value\":27}},"
		"{\"id\":199,\"value\":99,\"worst\":98,\"thresh\":0,\"flags\":{\"value\":50},\"raw\":{"
		"\"value\":28}},"
		"{\"id\":241,\"value\":99,\"worst\":98,\"thresh\":0,\"flags\":{\"value\":50},"
		"\"raw\":{\"value\":26}}]}" STATISTICS);
	assert_int_equal(decode(&reading, json), 0);
	assert_int_equal(reading.attribute_count, 4);
	assert_int_equal(reading.attributes[0].current, 99);
	assert_int_equal(reading.attributes[0].worst, 98);
	assert_int_equal(reading.attributes[0].flags, 50);
	assert_true(reading.value[READING_TEMP_C] == -8);
	assert_true(reading.known[READING_TEMP_C]);
	reading.known[READING_TEMP_C] = false;
	fixture_check(&reading, wanted, ARRAY_LEN(wanted));
}

static void test_a_sas_drive_tells_its_wear(void **state)
{
	static const struct fixture_value wanted[] = { { READING_PERCENT_USED, 14 },
		{ READING_MEDIA_ERRORS, 5 + 70 + 900 }, { READING_HOST_READ_BYTES, UINT64_C(17250000000) },
		{ READING_HOST_WRITTEN_RAW, 3141000 }, { READING_HOST_WRITTEN_UNIT_BYTES, 1000000 },
		{ READING_HOST_WRITTEN_BYTES, UINT64_C(3141000000000) }, { READING_REALLOCATED, 3 },
		{ READING_TEMP_C, 33 }, { READING_CRITICAL_TEMP_C, 68 }, { READING_POWER_ON_HOURS, 201 },
		{ READING_SMART_FAILED, 1 } };
	struct reading reading;

	(void)state;
	assert_int_equal(
		decode(&reading,
			"{\"device\":{\"type\":\"scsi\",\"protocol\":\"SCSI\"},\"vendor\":\"ACME\","
			"\"product\":\"SAS SSD\",\"revision\":\"R1\",\"smart_status\":{\"passed\":false},"
			"\"temperature\":{\"current\":33,\"drive_trip\":68},\"scsi_grown_defect_list\":3,"
			"\"power_on_time\":{\"hours\":201,\"minutes\":59},"
			"\"scsi_percentage_used_endurance_indicator\":14,\"scsi_error_counter_log\":{"
			"\"read\":{\"total_uncorrected_errors\":5,\"gigabytes_processed\":\"17.25\"},"
			"\"write\":{\"total_uncorrected_errors\":70,\"gigabytes_processed\":\"3141\"},"
			"\"verify\":{\"total_uncorrected_errors\":900,"
			"\"gigabytes_processed\":\"1.2345\"}}}"),
		0);
	assert_string_equal(reading.model, "ACME SAS SSD");
	fixture_check(&reading, wanted, ARRAY_LEN(wanted));
}

/* Without its values an attribute says nothing: 0 would be wear of 100 %, or no errors. */
static void test_attributes_without_values_are_none(void **state)
{
	struct reading reading;

	(void)state;
	assert_int_equal(
		decode(&reading, "{\"device\":{\"type\":\"sat\",\"protocol\":\"ATA\"},\"model_name\":"
				 "\"INTEL SSDSC2BB240G4\",\"ata_smart_attributes\":{\"table\":["
				 "{\"id\":233,\"raw\":{\"value\":0}},{\"id\":187,\"value\":100},"
				 "{\"id\":199,\"value\":100,\"raw\":{}},"
				 "{\"id\":5,\"value\":100,\"raw\":{\"value\":2}}]}}"),
		0);
	assert_int_equal(reading.attribute_count, 1);
	assert_false(reading.known[READING_PERCENT_USED]);
	assert_false(reading.known[READING_MEDIA_ERRORS]);
	assert_false(reading.known[READING_CRC_ERRORS]);
	assert_true(reading.value[READING_REALLOCATED] == 2);
}

static void test_exit_status_is_a_field_of_bits(void **state)
{
	static const struct {
		const char *status;
		int rc;
		const char *notes;
	} row[] = {
		{ "0", 0, "" },
		{ "1", -EINVAL, "smartctl: the drive was not read" },
		{ "2", -EINVAL, "smartctl: the drive was not read" },
		{ "4", 0, "smartctl: some commands failed" },
		{ "8", 0, "" }, /* the drive fails: smart_status says so itself */
		{ "216", 0, "" },
		{ "220", 0, "smartctl: some commands failed" },
		{ "3", -EINVAL, "smartctl: the drive was not read" },
	};
	char json[1024];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		struct reading reading;

		(void)snprintf(json, sizeof(json), ATA_JSON, row[i].status, "");
		assert_int_equal(decode(&reading, json), row[i].rc);
		assert_string_equal(reading.notes, row[i].notes);
		assert_string_equal(reading.model, row[i].rc ? "" : "TESTED SSD 5");
	}
}

static void test_what_is_no_json_is_refused(void **state)
{
	static const char *const texts[] = { "", " ", "{", "{\"device\":", "[]", "7", "\"x\"", "null",
		"{\"device\":[]", "smartctl 7.3 2022-02-28", "{}" };
	struct reading reading;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		if (decode(&reading, texts[i]) != -EINVAL)
			fail_msg("%s", texts[i]);
		assert_string_not_equal(reading.notes, "");
		fixture_check(&reading, NULL, 0);
	}
	/* Members of other kinds than they should be are not there. */
	assert_int_equal(
		decode(&reading, "{\"device\":{\"protocol\":\"ATA\",\"type\":7},\"model_name\":{},"
				 "\"smart_status\":[],\"temperature\":5,\"power_on_time\":null,"
				 "\"ata_smart_attributes\":{\"table\":[1,null,{},{\"id\":\"5\"},"
				 "{\"id\":256},{\"id\":0}]},\"ata_device_statistics\":{\"pages\":[{}]}}"),
		0);
	fixture_check(&reading, NULL, 0);
	assert_int_equal(reading.attribute_count, 0);
	assert_string_equal(reading.source, "smartctl:");
}

static void test_texts_are_printable(void **state)
{
	struct reading reading;

	(void)state;
	assert_int_equal(
		decode(&reading, "{\"device\":{\"protocol\":\"ATA\",\"type\":\"s\\u0007t\\u00e4\"},"
				 "\"model_name\":\"  M\\u001b[2J \",\"serial_number\":\"\\n\","
				 "\"firmware_version\":\"F\\u0000G\",\"smartctl\":{\"exit_status\":4,"
				 "\"messages\":[{\"string\":\"a\\tb\"}]}}"),
		0);
	assert_string_equal(reading.source, "smartctl: s?t??");
	assert_string_equal(reading.model, "M?[2J");
	assert_string_equal(reading.serial, "");
	assert_string_equal(reading.firmware, "F");
	assert_string_equal(reading.notes, "smartctl: some commands failed: a?b");
}

/* A folder with a program in it. */
static char folder[64], script[96], output[96];

static int setup(void **state)
{
	(void)state;
	(void)snprintf(folder, sizeof(folder), "/tmp/test-smartctl-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	(void)snprintf(script, sizeof(script), "%s/smartctl", folder);
	(void)snprintf(output, sizeof(output), "%s/output", folder);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	reading_smartctl_replace(NULL);
	(void)unlink(script);
	(void)unlink(output);
	return rmdir(folder);
}

static void write_script(const char *body)
{
	FILE *file = fopen(script, "we");

	assert_non_null(file);
	(void)fprintf(file, "#!/bin/sh\n%s\n", body);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(script, 0700), 0);
	reading_smartctl_replace(script);
}

static double now_s(void)
{
	struct timespec now;

	assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &now), 0);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void read_output(char *text, size_t size)
{
	FILE *file = fopen(output, "re");
	size_t length;

	assert_non_null(file);
	length = fread(text, 1, size - 1, file);
	text[length] = '\0';
	(void)fclose(file);
}

#define MINIMAL                                                                                              \
	"{\"smartctl\":{\"exit_status\":4},\"device\":{\"type\":\"sat+megaraid,3\",\"protocol\":\"ATA\"},"   \
	"\"model_name\":\"BEHIND\",\"temperature\":{\"current\":31}}"

static void test_a_child_is_asked_for_one_drive_and_read(void **state)
{
	struct reading reading;
	char text[4096], body[1024];

	(void)state;
	/* It complains, uses its arguments, and shows which descriptors, signals and variables it has. */
	(void)snprintf(body, sizeof(body),
		"echo noise >&2; { echo \"$*\"; ls /proc/$$/fd | tr '\\n' ' '; grep -h SigBlk "
		"/proc/self/status; "
		"grep -h SigIgn /proc/$$/status; echo $LC_ALL; } >%s\necho '%s'\nexit 68",
		output, MINIMAL);
	write_script(body);
	(void)signal(SIGPIPE, SIG_IGN);
	assert_int_equal(reading_read_smartctl("/dev/sda", "megaraid,3", &reading), 0);
	(void)signal(SIGPIPE, SIG_DFL);
	assert_string_equal(reading.source, "smartctl: megaraid,3");
	assert_string_equal(reading.model, "BEHIND");
	assert_string_equal(reading.notes, "smartctl: some commands failed");
	assert_true(reading.known[READING_TEMP_C] && reading.value[READING_TEMP_C] == 31);
	assert_true(reading.t_ms > 0);
	assert_non_null(reading_find_page(&reading, "smartctl"));
	assert_int_equal(reading_find_page(&reading, "smartctl")->length, strlen(MINIMAL) + 1);
	read_output(text, sizeof(text));
	assert_non_null(strstr(text, "--json --info --health --attributes --log=devstat --log=ssd "
				     "--device=megaraid,3 /dev/sda\n"));
	assert_non_null(strstr(text, "SigBlk:\t0000000000000000"));
	/* The C library itself has one or two. */
	assert_non_null(strstr(text, "SigIgn:\t"));
	assert_false(strtoull(strstr(text, "SigIgn:\t") + 8, NULL, 16) >> (SIGPIPE - 1) & 1);
	assert_non_null(strstr(text, "\nC\n"));
	reading_fini(&reading);
	assert_int_equal(reading_read_smartctl("/dev/sda", "", &reading), 0);
	assert_string_equal(reading.source, "smartctl: sat+megaraid,3");
	read_output(text, sizeof(text));
	assert_null(strstr(text, "--device"));
	assert_null(strstr(text, "--log=error"));
	reading_fini(&reading);
	assert_int_equal(reading_read_smartctl_known("/dev/sda", "sat", true, NULL, &reading), 0);
	read_output(text, sizeof(text));
	assert_non_null(strstr(text, "--log=ssd --log=error --device=sat /dev/sda\n"));
	reading_fini(&reading);
}

static void test_no_descriptor_of_ours_reaches_the_child(void **state)
{
	struct reading reading;
	char text[256], body[512];
	int leaked = open("/dev/null", O_RDONLY); /* as librrd opens its files */

	(void)state;
	assert_true(leaked >= 0);
	(void)snprintf(body, sizeof(body),
		"for fd in /proc/self/fd/*; do case $(readlink $fd) in /dev/null|pipe*) echo ${fd##*/};; "
		"esac; "
		"done >%s; echo '%s'",
		output, MINIMAL);
	write_script(body);
	assert_int_equal(dup2(leaked, 77), 77);
	assert_int_equal(reading_read_smartctl("/dev/sda", "", &reading), 0);
	reading_fini(&reading);
	read_output(text, sizeof(text));
	assert_null(strstr(text, "77"));
	(void)close(leaked);
	(void)close(77);
}

static void test_a_child_that_hangs_ends_at_the_deadline(void **state)
{
	/* The second one ignores what is polite, and leaves a child that holds the pipe. */
	static const char *const bodies[] = { "exec sleep 30", "trap '' TERM INT HUP; sleep 30 & sleep 30" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
		struct reading_memory memory = { .child = 0 };
		struct reading reading;
		double start_s = now_s();

		write_script(bodies[i]);
		assert_int_equal(
			reading_smartctl_run("/dev/sda", "", false, 300, &memory, &reading), -ETIMEDOUT);
		assert_true(now_s() - start_s >= 0.3 && now_s() - start_s < 5);
		assert_string_equal(reading.notes, "smartctl: no answer within 300 ms");
		assert_int_equal(memory.child, 0);
		assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no zombie */
		assert_int_equal(errno, ECHILD);
		reading_fini(&reading);
	}
}

static void test_a_grandchild_that_holds_the_pipe_is_not_waited_for(void **state)
{
	struct reading reading;
	double start_s = now_s();

	(void)state;
	write_script("sleep 30 & echo '" MINIMAL "'");
	assert_int_equal(reading_read_smartctl("/dev/sda", "", &reading), 0);
	assert_string_equal(reading.model, "BEHIND");
	assert_true(now_s() - start_s < 5);
	reading_fini(&reading);
}

static void test_a_flood_is_cut(void **state)
{
	struct reading reading;
	double start_s = now_s();

	(void)state;
	write_script("exec yes '{\"a\":1,'");
	assert_int_equal(reading_read_smartctl("/dev/sda", "", &reading), -EMSGSIZE);
	assert_string_equal(reading.notes, "smartctl: it prints without end");
	assert_true(now_s() - start_s < 5);
	assert_int_equal(reading.page_count, 0);
	reading_fini(&reading);
}

static void test_a_child_that_dies_says_how(void **state)
{
	static const struct {
		const char *body;
		int rc;
		const char *note;
	} row[] = {
		{ "echo '" MINIMAL "'; kill -SEGV $$", -EIO, "smartctl died of signal 11" },
		{ "kill -ABRT $$", -EIO, "smartctl died of signal 6" },
		{ "exit 127", -ENOENT, "smartctl can't be run" },
		{ "exit 1", -EIO, "not JSON" },
		{ "echo 'smartctl: command not understood'; exit 1", -EIO, "not JSON" },
		{ "echo '{\"smartctl\":{\"exit_status\":2,\"messages\":[{\"string\":\"no such drive\"}]}}'; "
		  "exit 2",
			-EIO, "smartctl: no such drive" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		struct reading reading;

		write_script(row[i].body);
		assert_int_equal(reading_read_smartctl("/dev/sda", "", &reading), row[i].rc);
		if (!strstr(reading.notes, row[i].note))
			fail_msg("row %zu: %s", i, reading.notes);
		reading_fini(&reading);
	}
}

static void test_a_missing_program_says_what_to_install(void **state)
{
	struct reading reading;

	(void)state;
	reading_smartctl_replace("/nonexistent/smartctl");
	assert_int_equal(reading_read_smartctl("/dev/sda", "", &reading), -ENOENT);
	assert_string_equal(reading.notes, "smartctl is not installed: apt install smartmontools");
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	reading_fini(&reading);
}

static void test_no_name_becomes_an_option(void **state)
{
	struct reading reading;
	char type[128];

	(void)state;
	write_script("echo '" MINIMAL "'");
	memset(type, 'x', sizeof(type) - 1);
	type[sizeof(type) - 1] = '\0';
	assert_int_equal(reading_read_smartctl("--all", "", &reading), -EINVAL);
	assert_int_equal(reading_read_smartctl("", "", &reading), -EINVAL);
	assert_int_equal(reading_read_smartctl("/dev/sda", type, &reading), -EINVAL);
	assert_string_equal(reading.notes, "");
}

static void test_a_child_that_does_not_die_keeps_the_drive_to_itself(void **state)
{
	struct reading_memory memory = { .child = 0 };
	struct reading reading;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		(void)pause();
		_exit(0);
	}
	assert_true(pid > 0);
	memory.child = pid; /* as a child in a hung system call would be left */
	write_script("echo '" MINIMAL "'");
	assert_int_equal(reading_smartctl_run("/dev/sda", "", false, 1000, &memory, &reading), -EBUSY);
	assert_non_null(strstr(reading.notes, "still waits for the drive"));
	assert_int_equal(kill(pid, SIGKILL), 0);
	for (int i = 0;
		i < 500 && reading_smartctl_run("/dev/sda", "", false, 1000, &memory, &reading) == -EBUSY;
		i++)
		(void)usleep(10000);
	assert_string_equal(reading.model, "BEHIND");
	assert_int_equal(memory.child, 0);
	reading_fini(&reading);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_recorded_file_to_its_own_numbers),
		cmocka_unit_test(test_recorded_files_that_are_no_reading),
		cmocka_unit_test(test_a_recorded_file_with_names_only),
		cmocka_unit_test(test_what_printf_makes_of_no_number_is_null),
		cmocka_unit_test(test_numbers_beyond_a_double_are_in_their_texts),
		cmocka_unit_test(test_statistics_of_the_drive_go_before_attributes),
		cmocka_unit_test(test_a_sas_drive_tells_its_wear),
		cmocka_unit_test(test_attributes_without_values_are_none),
		cmocka_unit_test(test_exit_status_is_a_field_of_bits),
		cmocka_unit_test(test_what_is_no_json_is_refused),
		cmocka_unit_test(test_texts_are_printable),
		cmocka_unit_test_setup_teardown(
			test_a_child_is_asked_for_one_drive_and_read, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_no_descriptor_of_ours_reaches_the_child, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_a_child_that_hangs_ends_at_the_deadline, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_a_grandchild_that_holds_the_pipe_is_not_waited_for, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_flood_is_cut, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_child_that_dies_says_how, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_missing_program_says_what_to_install, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_name_becomes_an_option, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_a_child_that_does_not_die_keeps_the_drive_to_itself, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
