/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a saved file is taken for, and `drivesoak decode` as a program. */
#include "unit.h"

#include <errno.h>
#include <json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "reading_fixture.h"
#include "tree_fixture.h"

#define OUTPUT_MAX (1 << 16)

static char output[OUTPUT_MAX];

static int run(const char *root, const char *arguments)
{
	char command[1200];
	FILE *pipe;
	int status;

	(void)snprintf(command, sizeof(command), "exec 2>&1; D=%s; ./drivesoak decode %s", root, arguments);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	output[fread(output, 1, sizeof(output) - 1, pipe)] = '\0';
	status = pclose(pipe);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void check_contains(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no %s in %s", part, text);
}

static void check_recognised(const void *bytes, size_t length, enum reading_kind kind)
{
	enum reading_kind got = reading_recognise(bytes, length);

	if (got != kind)
		fail_msg("taken for %s, not %s",
			got == READING_KIND_COUNT ? "nothing" : reading_kind_name(got),
			kind == READING_KIND_COUNT ? "nothing" : reading_kind_name(kind));
}

static void test_names_of_kinds(void **state)
{
	(void)state;
	for (enum reading_kind kind = 0; kind < READING_KIND_COUNT; kind++)
		assert_int_equal(reading_kind_find(reading_kind_name(kind)), kind);
	assert_int_equal(reading_kind_find("nvme-02h"), READING_KIND_NVME_SMART);
	assert_int_equal(reading_kind_find("nvme"), READING_KIND_COUNT);
	assert_int_equal(reading_kind_find(""), READING_KIND_COUNT);
}

static void test_pages_are_told_by_their_content(void **state)
{
	uint8_t page[4096] = { 0 };

	(void)state;
	check_recognised(page, 512, READING_KIND_NVME_SMART);
	check_recognised(page, 4096, READING_KIND_COUNT);
	check_recognised(page, 511, READING_KIND_COUNT);
	check_recognised(page, 0, READING_KIND_COUNT);
	memset(page, 0xff, 512);
	check_recognised(page, 512, READING_KIND_NVME_SMART);
	fixture_nvme_smart(page);
	check_recognised(page, 512, READING_KIND_NVME_SMART);
	fixture_nvme_group(page); /* nothing tells it from page 02h */
	check_recognised(page, 512, READING_KIND_NVME_SMART);
	fixture_ocp(page);
	check_recognised(page, 512, READING_KIND_OCP_SMART);
	page[497] ^= 1;
	check_recognised(page, 512, READING_KIND_NVME_SMART);
	fixture_intel(page);
	check_recognised(page, 512, READING_KIND_INTEL_SMART);
	fixture_nvme_identify(page);
	check_recognised(page, 4096, READING_KIND_NVME_IDENTIFY);
	page[30] = 0x80; /* no text */
	check_recognised(page, 4096, READING_KIND_COUNT);
	fixture_ata_identify(page);
	check_recognised(page, 512, READING_KIND_ATA_IDENTIFY);
	page[1] = 0x80; /* no ATA device */
	check_recognised(page, 512, READING_KIND_NVME_SMART);
	fixture_ata_identify(page);
	page[300] = 1; /* against its checksum */
	check_recognised(page, 512, READING_KIND_NVME_SMART);
	page[510] = 0; /* which old drives have not */
	check_recognised(page, 512, READING_KIND_ATA_IDENTIFY);
}

static void test_attributes_are_told_by_their_table(void **state)
{
	uint8_t page[1024] = { 0 };

	(void)state;
	fixture_ata_smart(page, 30);
	check_recognised(page, 512, READING_KIND_ATA_SMART);
	check_recognised(page, 1024, READING_KIND_ATA_SMART);
	fixture_ata_smart(page, 3);
	check_recognised(page, 512, READING_KIND_ATA_SMART);
	page[400] ^= 1; /* few, and a wrong sum */
	check_recognised(page, 512, READING_KIND_NVME_SMART);
	fixture_ata_smart(page, 12);
	page[400] ^= 1;
	check_recognised(page, 512, READING_KIND_ATA_SMART);
	page[2 + 12] = page[2]; /* one twice */
	check_recognised(page, 512, READING_KIND_NVME_SMART);
	fixture_ata_smart(page, 12);
	page[2 + 12 * 20 + 6] = 1; /* something where nothing is */
	check_recognised(page, 512, READING_KIND_NVME_SMART);
}

static void test_statistics_are_told_by_their_flags(void **state)
{
	uint8_t page[512] = { 0 };

	(void)state;
	page[0] = 1;
	page[2] = 7;
	check_recognised(page, 512, READING_KIND_NVME_SMART);
	page[8] = 3;
	page[15] = 0xc0;
	check_recognised(page, 512, READING_KIND_ATA_STATISTICS);
	page[23] = 0x40; /* a value that is not supported */
	check_recognised(page, 512, READING_KIND_NVME_SMART);
}

static void test_texts_and_blobs(void **state)
{
	static const char *const json[] = { "{}", " \n\t{\"a\":1}", "\xef\xbb\xbf{\"smartctl\":{}}" };
	static const char blob[] = "SMST\0\0\0\4\0\0\0\1IDFY\0\0\0\2ab";
	uint8_t page[512];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(json); i++)
		check_recognised(json[i], strlen(json[i]), READING_KIND_SMARTCTL);
	check_recognised("[1]", 3, READING_KIND_COUNT);
	check_recognised("   ", 3, READING_KIND_COUNT);
	check_recognised(blob, sizeof(blob) - 1, READING_KIND_ATASMART);
	check_recognised(blob, sizeof(blob) - 2, READING_KIND_COUNT);
	check_recognised("XXXX\0\0\0\0", 8, READING_KIND_COUNT);
	/* All warnings that begin with a brace. */
	fixture_nvme_smart(page);
	page[0] = '{';
	check_recognised(page, 512, READING_KIND_NVME_SMART);
}

static void test_recorded_files_are_told(void **state)
{
	static const struct {
		const char *name;
		enum reading_kind kind;
	} row[] = {
		{ "smartctl-exporter/INTEL_SSDPE2KX080T8_1.json", READING_KIND_SMARTCTL },
		{ "scrutiny/smart-fail.json", READING_KIND_SMARTCTL },
		{ "telegraf/smartctl-scsi.json", READING_KIND_SMARTCTL },
		{ "nvme-bin/edge-all-zero.smartlog.bin", READING_KIND_NVME_SMART },
		{ "nvme-bin/edge-all-ff.smartlog.bin", READING_KIND_NVME_SMART },
		{ "nvme-bin/edge-temp-0K.smartlog.bin", READING_KIND_NVME_SMART },
		{ "nvme-bin/smart-nvme2.smartlog.bin", READING_KIND_NVME_SMART },
		{ "atasmart-blobs/WDC_WD2500JB--00REA0-20.00K20.blob", READING_KIND_ATASMART },
		{ "atasmart-blobs/synthetic-sneg.blob", READING_KIND_ATASMART },
	};
	static const char *const blobs[] = { "INTEL_SSDSA2CW120G3--4PC10302",
		"INTEL_SSDSA2MH080G1GC--045C8820", "MCCOE64GEMPP--2.9.09", "Maxtor_96147H8--BAC51KJ0--2",
		"SAMSUNG_HD501LJ--CR100-12", "SAMSUNG_MMCQE28G8MUP--0VA_VAM08L1Q", "ST9160821AS--3.CLH",
		"TOSHIBA_MK1651GSY--38IGT0G5T" };
	static uint8_t bytes[1 << 18];
	char path[200];

	(void)state;
	if (!fixture_read_shared("INDEX.md", bytes, sizeof(bytes)))
		skip();
	for (size_t i = 0; i < ARRAY_LEN(row); i++)
		check_recognised(bytes, fixture_read_shared(row[i].name, bytes, sizeof(bytes)), row[i].kind);
	/* Pages as real drives sent them: IDFY, SMST with 4 bytes, SMDT. */
	for (size_t i = 0; i < ARRAY_LEN(blobs); i++) {
		(void)snprintf(path, sizeof(path), "atasmart-blobs/%s.blob", blobs[i]);
		assert_true(fixture_read_shared(path, bytes, sizeof(bytes)) > 8 + 512 + 12 + 8 + 512);
		check_recognised(bytes + 8, 512, READING_KIND_ATA_IDENTIFY);
		assert_memory_equal(bytes + 532, "SMDT", 4);
		check_recognised(bytes + 540, 512, READING_KIND_ATA_SMART);
	}
}

static void test_an_object_a_line(void **state)
{
	uint8_t smart[512], ocp[512], identify[4096];
	struct json_object *line, *json, *member;
	const char *root = *state;
	char *second, *third;

	fixture_nvme_smart(smart);
	fixture_ocp(ocp);
	fixture_nvme_identify(identify);
	tree_bytes(root, "a.bin", smart, sizeof(smart));
	tree_bytes(root, "b \"2\".bin", ocp, sizeof(ocp));
	tree_bytes(root, "c", identify, sizeof(identify));
	assert_int_equal(run(root, "$D/a.bin \"$D/b \\\"2\\\".bin\" $D/c"), 0);
	second = strchr(output, '\n') + 1;
	third = strchr(second, '\n') + 1;
	assert_string_equal(strchr(third, '\n'), "\n");
	second[-1] = third[-1] = '\0';
	line = json_tokener_parse(output);
	assert_int_equal(json_object_object_length(line), 3);
	assert_true(json_object_object_get_ex(line, "file", &member));
	check_contains(json_object_get_string(member), "/a.bin");
	assert_true(json_object_object_get_ex(line, "source", &member));
	assert_string_equal(json_object_get_string(member), "nvme");
	assert_true(json_object_object_get_ex(line, "reading", &json));
	assert_true(json_object_object_get_ex(json, "percent_used", &member));
	assert_int_equal(json_object_get_int(member), 107);
	json_object_put(line);
	check_contains(second, "\"source\":\"nvme: OCP C0h\",");
	check_contains(second, "/b \\\"2\\\".bin\",");
	check_contains(second, "\"media_written_bytes\":3000000000001,");
	check_contains(third, "\"model\":\"TESTED DRIVE 7 GB\",");
}

static void test_as_overrides(void **state)
{
	const char *root = *state;
	uint8_t page[512];

	fixture_nvme_group(page);
	tree_bytes(root, "group", page, sizeof(page));
	assert_int_equal(run(root, "$D/group"), 0);
	check_contains(output, "\"source\":\"nvme\",");
	assert_int_equal(run(root, "--as nvme-09h $D/group"), 0);
	check_contains(output, "\"source\":\"nvme: endurance group\",");
	check_contains(output, "\"media_written_bytes\":1907000000000,");
	assert_int_equal(run(root, "--as ocp-c0h $D/group"), 65);
	check_contains(output, "group: this is no ocp-c0h of 512 bytes\n");
	assert_int_equal(run(root, "--as nvme-identify $D/group"), 65);
	assert_int_equal(run(root, "--as floppy $D/group"), 64);
	check_contains(
		output, "--as floppy: no such kind; there are nvme-02h nvme-identify nvme-09h ocp-c0h ");
	assert_int_equal(run(root, ""), 64);
}

static void test_what_cannot_be_read_says_why(void **state)
{
	const char *root = *state;
	uint8_t page[512];
	FILE *large;
	char path[600];

	fixture_nvme_smart(page);
	tree_bytes(root, "good", page, sizeof(page));
	tree_bytes(root, "short", page, 511);
	tree_bytes(root, "empty", "", 0);
	(void)snprintf(path, sizeof(path), "%s/large", root);
	large = fopen(path, "we");
	assert_non_null(large);
	assert_int_equal(fseek(large, 4 << 20, SEEK_SET), 0);
	assert_int_equal(fputc('x', large), 'x');
	assert_int_equal(fclose(large), 0);
	assert_int_equal(run(root, "$D/short $D/good"), 65);
	check_contains(
		output, "/short: 511 bytes that are no page of a drive, no libatasmart blob and no JSON");
	check_contains(output, "\"percent_used\":107,");
	assert_int_equal(run(root, "$D/empty"), 65);
	check_contains(output, "/empty: 0 bytes that are no page");
	assert_int_equal(run(root, "$D/large"), 65);
	check_contains(output, "/large: larger than 4 MiB: no page of a drive\n");
	assert_int_equal(run(root, "$D/absent"), 66);
	check_contains(output, "/absent: No such file or directory\n");
	assert_int_equal(run(root, "$D"), 65);
	assert_int_equal(run(root, "- <$D/good"), 0);
	check_contains(output, "{\"file\":\"-\",");
	assert_int_equal(run(root, "$D/good >/dev/full"), 74);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_of_kinds),
		cmocka_unit_test(test_pages_are_told_by_their_content),
		cmocka_unit_test(test_attributes_are_told_by_their_table),
		cmocka_unit_test(test_statistics_are_told_by_their_flags),
		cmocka_unit_test(test_texts_and_blobs),
		cmocka_unit_test(test_recorded_files_are_told),
		cmocka_unit_test_setup_teardown(test_an_object_a_line, tree_setup, tree_teardown),
		cmocka_unit_test_setup_teardown(test_as_overrides, tree_setup, tree_teardown),
		cmocka_unit_test_setup_teardown(test_what_cannot_be_read_says_why, tree_setup, tree_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
