/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pages as drives send them, trees as sysfs has them, and who is the same as whom. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/loop.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probes/identity_private.h"
#include "tree_fixture.h"

static void test_texts_are_cut_and_made_printable(void **state)
{
	static const struct {
		const char *bytes;
		size_t length;
		const char *text, *serial;
	} row[] = {
		{ "S1ATNSAD123456  \0\0\0\0", 20, "S1ATNSAD123456", "S1ATNSAD123456" },
		{ "            WD-12345", 20, "WD-12345", "WD-12345" },
		{ "AB  CD 1\0", 9, "AB  CD 1", "AB  CD 1" },
		{ "AB\0CD", 5, "AB?CD", "AB?CD" },
		{ "a\xe4\x7f\x1b[2J<b>", 10, "a???[2J<b>", "a???[2J<b>" },
		{ "\0\0\0\0\0\0\0\0", 8, "", "" },
		{ "        ", 8, "", "" },
		{ "00000000 000", 12, "00000000 000", "" },
		{ "\xff\xff\xff\xff", 4, "????", "" },
		{ "0000000A", 8, "0000000A", "0000000A" },
		{ "", 0, "", "" },
		{ "ABCDEFGHIJKLMNOPQRSTUVWXYZ", 26, "ABCDEFGHIJKLMNOPQRSTUVW", "ABCDEFGHIJKLMNOPQRSTUVW" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		char text[24], serial[24];

		identity_text(text, sizeof(text), row[i].bytes, row[i].length);
		assert_string_equal(text, row[i].text);
		identity_serial(serial, sizeof(serial), row[i].bytes, row[i].length);
		assert_string_equal(serial, row[i].serial);
	}
}

/* Put a text into words of an IDENTIFY page, the first of two letters in the high byte; padded with @pad. */
static void ata_put(uint8_t *page, unsigned first, unsigned last, const char *text, char pad)
{
	size_t length = strlen(text);

	for (size_t i = 0; i < 2 * (size_t)(last - first + 1); i++)
		page[2 * first + (i ^ 1)] = (uint8_t)(i < length ? text[i] : pad);
}

static void ata_put_word(uint8_t *page, unsigned index, unsigned value)
{
	page[2 * index] = (uint8_t)value;
	page[2 * index + 1] = (uint8_t)(value >> 8);
}

static void ata_page(uint8_t *page)
{
	memset(page, 0, IDENTITY_ATA_BYTES);
	ata_put(page, 10, 19, "      S1D5 NSBF12345", ' ');
	ata_put(page, 23, 26, "EXT0BB6Q", ' ');
	ata_put(page, 27, 46, "Samsung SSD 840 EVO 1TB", ' ');
	ata_put_word(page, 87, 0x4163);
	ata_put_word(page, 108, 0x5002);
	ata_put_word(page, 109, 0x5385);
	ata_put_word(page, 110, 0xa012);
	ata_put_word(page, 111, 0x3456);
}

static void test_an_ata_page_is_read_in_either_order(void **state)
{
	uint8_t page[IDENTITY_ATA_BYTES], straight[IDENTITY_ATA_BYTES];

	(void)state;
	ata_page(page);
	memcpy(straight, page, sizeof(page));
	for (size_t i = 20; i < 94; i += 2) {
		straight[i] = page[i + 1];
		straight[i + 1] = page[i];
	}
	for (int is_straight = 0; is_straight < 2; is_straight++) {
		struct identity_wwids wwids = { .count = 0 };
		struct identity got = { .capacity_bytes = 7 };

		assert_int_equal(
			identity_ata_decode(is_straight ? straight : page, is_straight, &got, &wwids), 0);
		assert_string_equal(got.serial, "S1D5 NSBF12345");
		assert_string_equal(got.firmware, "EXT0BB6Q");
		assert_string_equal(got.model, "Samsung SSD 840 EVO 1TB");
		assert_string_equal(got.source, "ata identify");
		assert_int_equal(got.capacity_bytes, 7);
		assert_int_equal(wwids.count, 2);
		assert_string_equal(wwids.text[0], "naa.50025385a0123456");
		assert_string_equal(wwids.text[1],
			"t10.ATA     Samsung SSD 840 EVO 1TB                       S1D5 NSBF12345");
	}
}

static void test_a_damaged_ata_page_is_no_answer(void **state)
{
	uint8_t page[IDENTITY_ATA_BYTES], sum = 0;
	struct identity_wwids wwids = { .count = 0 };
	struct identity got = { .serial = "before" };

	(void)state;
	ata_page(page);
	page[510] = 0xa5;
	for (size_t i = 0; i < 511; i++)
		sum = (uint8_t)(sum + page[i]);
	page[511] = (uint8_t)-sum;
	page[20]++;
	assert_int_equal(identity_ata_decode(page, false, &got, &wwids), -ENODATA);
	assert_string_equal(got.serial, "before");
	page[20]--;
	assert_int_equal(identity_ata_decode(page, false, &got, &wwids), 0);
	assert_string_equal(got.serial, "S1D5 NSBF12345");
}

static void test_an_ata_page_without_a_name_tells_none(void **state)
{
	uint8_t page[IDENTITY_ATA_BYTES];
	struct identity_wwids wwids = { .count = 0 };
	struct identity got = { .serial = "before" };

	(void)state;
	memset(page, 0, sizeof(page));
	assert_int_equal(identity_ata_decode(page, false, &got, &wwids), -ENODATA);
	assert_string_equal(got.serial, "before");
	assert_int_equal(wwids.count, 0);

	/* No world-wide name: the bit is not set, the word is not valid, or the name is all zeros. */
	for (int i = 0; i < 3; i++) {
		ata_page(page);
		ata_put_word(page, 87, i == 0 ? 0x4063 : i == 1 ? 0xc163 : 0x4163);
		for (unsigned word = 108; i == 2 && word < 112; word++)
			ata_put_word(page, word, word == 108 ? 0x5000 : 0);
		wwids.count = 0;
		assert_int_equal(identity_ata_decode(page, false, &got, &wwids), 0);
		assert_int_equal(wwids.count, 1);
		assert_memory_equal(wwids.text[0], "t10.ATA ", 8);
	}
	ata_put(page, 10, 19, "00000000000000000000", ' ');
	wwids.count = 0;
	assert_int_equal(identity_ata_decode(page, false, &got, &wwids), 0);
	assert_string_equal(got.serial, "");
	assert_int_equal(wwids.count, 0);
}

/* Pages of real drives: libatasmart's recordings, "IDFY" and a big-endian length before the page. */
static void test_recorded_pages_are_read(void **state)
{
	static const struct {
		const char *file, *serial, *firmware, *model, *wwid;
	} row[] = {
		{ "INTEL_SSDSA2CW120G3--4PC10302", "SN9D9481CAA4CA829F6B", "4PC10302", "INTEL SSDSA2CW120G3",
			"naa.5001f5c9b3e0edbc" },
		{ "MCCOE64GEMPP--2.9.09", "SN6528FBAACBA515FBA0", "2.9.09", "MCCOE64GEMPP",
			"t10.ATA     MCCOE64GEMPP                            SN6528FBAACBA515FBA0" },
		{ "SAMSUNG_HD501LJ--CR100-12", "SND673734EB3AB2244D7", "CR100-12", "SAMSUNG HD501LJ",
			"naa.500061d56ff36e15" },
		{ "ST9160821AS--3.CLH", "SNAF18C5CAC2EF04CCE4", "3.CLH", "ST9160821AS",
			"t10.ATA     ST9160821AS                             SNAF18C5CAC2EF04CCE4" },
	};
	const char *folder = getenv("DRIVESOAK_DATA") ? getenv("DRIVESOAK_DATA") : SHARED_DATA;
	size_t read_count = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct identity_wwids wwids = { .count = 0 };
		struct identity got = { 0 };
		uint8_t blob[8 + IDENTITY_ATA_BYTES];
		char path[600];
		FILE *file;

		(void)snprintf(path, sizeof(path), "%s/atasmart-blobs/%s.blob", folder, row[i].file);
		file = fopen(path, "re");
		if (!file)
			continue;
		assert_int_equal(fread(blob, 1, sizeof(blob), file), sizeof(blob));
		(void)fclose(file);
		assert_memory_equal(blob, "IDFY", 4);
		assert_int_equal(identity_ata_decode(blob + 8, false, &got, &wwids), 0);
		assert_string_equal(got.serial, row[i].serial);
		assert_string_equal(got.firmware, row[i].firmware);
		assert_string_equal(got.model, row[i].model);
		assert_string_equal(wwids.text[0], row[i].wwid);
		read_count++;
	}
	if (read_count == 0)
		skip();
	assert_int_equal(read_count, sizeof(row) / sizeof(row[0]));
}

static void nvme_pages(struct nvme_id_ctrl *ctrl, struct nvme_id_ns *ns)
{
	memset(ctrl, 0, sizeof(*ctrl));
	memset(ns, 0, sizeof(*ns));
	ctrl->vid = 0x144d;
	memcpy(ctrl->sn, "S4EWNX0 12345       ", 20);
	memcpy(ctrl->mn, "Samsung SSD 970 EVO Plus 1TB            ", 40);
	memcpy(ctrl->fr, "2B2QEXM7", 8);
	memcpy(ns->eui64, "\x00\x25\x38\x5b\x01\x02\x03\x04", 8);
}

static const char nvme_made_up[] = "nvme.144d-533445574e58302031323334"
				   "35-53616d73756e67205353442039373020"
				   "45564f20506c757320315442-00000001";

static void test_nvme_pages_tell_all_their_names(void **state)
{
	uint8_t list[4096] __attribute__((aligned(8))) = { 0 };
	struct identity_wwids wwids = { .count = 0 };
	struct identity got = { 0 };
	struct nvme_id_ctrl ctrl;
	struct nvme_id_ns ns;
	char wwid[IDENTITY_TEXT_MAX];

	(void)state;
	nvme_pages(&ctrl, &ns);
	assert_int_equal(identity_nvme_decode(&ctrl, &ns, NULL, 1, &got, &wwids), 0);
	assert_string_equal(got.serial, "S4EWNX0 12345");
	assert_string_equal(got.model, "Samsung SSD 970 EVO Plus 1TB");
	assert_string_equal(got.firmware, "2B2QEXM7");
	assert_string_equal(got.source, "nvme identify");
	assert_int_equal(wwids.count, 2);
	assert_string_equal(wwids.text[0], "eui.0025385b01020304");
	assert_string_equal(wwids.text[1], nvme_made_up);
	/* What the kernel shows is believed when the drive bears it out, and only then. */
	identity_wwids_pick(&wwids, nvme_made_up, wwid);
	assert_string_equal(wwid, nvme_made_up);
	identity_wwids_pick(&wwids, "eui.0025385b01020305", wwid);
	assert_string_equal(wwid, "eui.0025385b01020304");

	/* A descriptor of an unknown kind, then a UUID, then an NGUID. */
	memcpy(list, "\x04\x01\0\0\0", 5);
	memcpy(list + 5, "\x03\x10\0\0\x01\x23\x45\x67\x89\xab\xcd\xef\x01\x23\x45\x67\x89\xab\xcd\xef", 20);
	memcpy(list + 25, "\x02\x10\0\0\xf0\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10", 20);
	wwids.count = 0;
	assert_int_equal(identity_nvme_decode(&ctrl, &ns, list, 1, &got, &wwids), 0);
	assert_int_equal(wwids.count, 4);
	assert_string_equal(wwids.text[0], "uuid.01234567-89ab-cdef-0123-456789abcdef");
	assert_string_equal(wwids.text[1], "eui.f002030405060708090a0b0c0d0e0f10");
	assert_string_equal(wwids.text[2], "eui.0025385b01020304");
}

static void test_nvme_pages_of_a_controller_in_reset_are_no_drive(void **state)
{
	uint8_t list[4096] __attribute__((aligned(8)));
	struct identity_wwids wwids = { .count = 0 };
	struct identity got = { .serial = "before" };
	struct nvme_id_ctrl ctrl = { 0 };
	struct nvme_id_ns ns = { 0 };

	(void)state;
	assert_int_equal(identity_nvme_decode(&ctrl, &ns, NULL, 1, &got, &wwids), -ENODATA);
	assert_string_equal(got.serial, "before");
	/* Lists that claim more than there is, or nothing but rubbish, end without harm. */
	nvme_pages(&ctrl, &ns);
	memset(list, 0xff, sizeof(list));
	memset(ns.eui64, 0xff, sizeof(ns.eui64));
	assert_int_equal(identity_nvme_decode(&ctrl, &ns, list, 1, &got, &wwids), 0);
	assert_int_equal(wwids.count, 1);
	assert_string_equal(wwids.text[0], nvme_made_up);
}

static void test_scsi_pages_are_read_within_what_came(void **state)
{
	static const uint8_t serial[] = { 0, 0x80, 0, 20, ' ', ' ', 'Z', '1', 'Z', '0', 0, 0 };
	static const uint8_t wwids_page[] = { 0, 0x83, 0, 44,
		/* of the port, then t10, eui, naa of this unit */
		1, 0x13, 0, 8, 0x50, 0, 0xc5, 0, 1, 2, 3, 9,			  /* */
		2, 0x01, 0, 10, 'S', 'E', 'A', 'G', 'A', 'T', 'E', ' ', 'X', '1', /* */
		1, 0x03, 0, 8, 0x50, 0, 0xc5, 0, 1, 2, 3, 4,			  /* */
		1, 0x03, 0, 8, 0x50, 0 };
	uint8_t inquiry[36] = { 0 };
	struct identity_wwids wwids = { .count = 0 };
	struct identity got = { 0 };

	(void)state;
	memcpy(inquiry + 8, "SEAGATE ST4000NM0043    0004", 28);
	identity_scsi_decode_inquiry(inquiry, sizeof(inquiry), &got);
	assert_string_equal(got.model, "ST4000NM0043");
	assert_string_equal(got.firmware, "0004");
	assert_string_equal(got.source, "scsi inquiry");
	identity_scsi_decode_serial(serial, sizeof(serial), &got);
	assert_string_equal(got.serial, "Z1Z0");
	identity_scsi_decode_wwids(wwids_page, sizeof(wwids_page), &wwids);
	assert_int_equal(wwids.count, 2);
	assert_string_equal(wwids.text[0], "naa.5000c50001020304");
	assert_string_equal(wwids.text[1], "t10.SEAGATE X1");
	for (size_t length = 0; length < sizeof(wwids_page); length++) {
		uint8_t *exact = malloc(length + 1);

		memcpy(exact, wwids_page, length);
		identity_scsi_decode_wwids(exact, length, &wwids);
		identity_scsi_decode_serial(exact, length, &got);
		identity_scsi_decode_inquiry(exact, length < 36 ? length : 35, &got);
		free(exact);
	}
}

static void expect_printable(const char *text, size_t size)
{
	assert_true(strnlen(text, size) < size);
	for (; *text; text++)
		assert_in_range(*text, ' ', '~');
}

static void test_any_bytes_give_printable_texts(void **state)
{
	uint8_t page[4096] __attribute__((aligned(8)));
	struct nvme_id_ctrl ctrl;
	uint64_t random = 1;

	(void)state;
	for (unsigned round = 0; round < 3000; round++) {
		struct identity_wwids wwids = { .count = 0 };
		struct identity got = { .capacity_bytes = 0 };
		uint8_t *exact = malloc(1024);

		for (size_t i = 0; i < sizeof(page); i++) {
			random = random * 6364136223846793005ULL + 1442695040888963407ULL;
			page[i] = (uint8_t)(random >> 56);
		}
		/* Every other time short descriptors, of which many fit. */
		for (size_t i = 0; round % 2 && i < sizeof(page); i++)
			page[i] &= 0x13;
		memcpy(exact, page, 1024);
		exact[1] = 0x83;
		identity_scsi_decode_wwids(exact, 1024, &wwids);
		exact[1] = 0x80;
		identity_scsi_decode_serial(exact, 1024, &got);
		expect_printable(got.serial, sizeof(got.serial));
		(void)identity_ata_decode(exact + 512, round % 3 == 0, &got, &wwids);
		expect_printable(got.serial, sizeof(got.serial));
		memcpy(&ctrl, page, sizeof(ctrl));
		(void)identity_nvme_decode(&ctrl, NULL, page, 1, &got, &wwids);
		expect_printable(got.serial, sizeof(got.serial));
		expect_printable(got.model, sizeof(got.model));
		expect_printable(got.firmware, sizeof(got.firmware));
		assert_in_range(wwids.count, 0, IDENTITY_WWIDS_MAX);
		for (size_t i = 0; i < wwids.count; i++) {
			expect_printable(wwids.text[i], sizeof(wwids.text[i]));
			assert_true(i == 0 || wwids.rank[i - 1] >= wwids.rank[i]);
		}
		free(exact);
	}
}

static void test_wwids_are_matched_as_people_write_them(void **state)
{
	static const struct {
		const char *wanted, *wwid;
		bool matches;
	} row[] = {
		{ "naa.5000c50001020304", "naa.5000c50001020304", true },
		{ "NAA.5000C50001020304", "naa.5000c50001020304", true },
		{ "0x5000c50001020304", "naa.5000c50001020304", true },
		{ "5000C50001020304", "naa.5000c50001020304", true },
		{ "wwn-0x5000c50001020304", "naa.5000c50001020304", true },
		{ "0025385b01020304", "eui.0025385b01020304", true },
		{ "5000c50001020305", "naa.5000c50001020304", false },
		{ "5000c5000102030", "naa.5000c50001020304", false },
		{ "5000c500010203044", "naa.5000c50001020304", false },
		{ "eui.5000c50001020304", "naa.5000c50001020304", false },
		{ "0x", "naa.5000c50001020304", false },
		{ "wwn-0x", "naa.", false },
		{ "", "naa.5000c50001020304", false },
		{ "", "", false },
		{ "naa.5000c50001020304", "", false },
		{ "144d-41-42-00000001", "nvme.144d-41-42-00000001", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		if (identity_wwid_matches(row[i].wanted, row[i].wwid) != row[i].matches)
			fail_msg("%s against %s", row[i].wanted, row[i].wwid);
}

static void test_the_same_drive_is_told_from_others(void **state)
{
	static const struct identity drive = { .serial = "S1",
		.wwid = "naa.5000c50001020304",
		.model = "Samsung SSD 840 EVO 1TB",
		.firmware = "F1",
		.capacity_bytes = 1000,
		.source = "ata identify" };
	static const char wwid[] = "naa.5000c50001020304", evo[] = "Samsung SSD 840 EVO 1TB";
	static const struct {
		const char *what, *serial, *wwid, *model, *firmware;
		uint64_t capacity_bytes;
		const char *source;
		bool is_same;
	} row[] = {
		{ "all of it", "S1", wwid, evo, "F1", 1000, "ata identify", true },
		{ "other firmware", "S1", wwid, evo, "F2", 1000, "ata identify", true },
		{ "other serial", "S2", wwid, evo, "F1", 1000, "ata identify", false },
		{ "other wwid", "S1", "naa.5000c50001020305", evo, "F1", 1000, "ata identify", false },
		{ "other model", "S1", wwid, "Samsung SSD 850", "F1", 1000, "ata identify", false },
		{ "longer model", "S1", wwid, "Samsung SSD 840 EVO 1TB X", "F1", 1000, "ata identify",
			false },
		{ "other size", "S1", wwid, evo, "F1", 1001, "ata identify", false },
		{ "only a serial", "S1", "", "", "", 0, "ata identify", true },
		{ "only a wwid", "", "NAA.5000C50001020304", "", "", 0, "ata identify", true },
		{ "neither", "", "", evo, "F1", 1000, "ata identify", false },
		{ "the short model of sysfs", "S1", "", "Samsung SSD 840", "", 1000, "sysfs", true },
		{ "another short model", "S1", "", "Samsung SSD 850", "", 1000, "sysfs", false },
	};
	struct identity a = { .serial = "loop:/x", .backing_device = 1, .backing_inode = 2 }, b = a;

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct identity other = { .capacity_bytes = row[i].capacity_bytes };

		(void)snprintf(other.serial, sizeof(other.serial), "%s", row[i].serial);
		(void)snprintf(other.wwid, sizeof(other.wwid), "%s", row[i].wwid);
		(void)snprintf(other.model, sizeof(other.model), "%s", row[i].model);
		(void)snprintf(other.firmware, sizeof(other.firmware), "%s", row[i].firmware);
		(void)snprintf(other.source, sizeof(other.source), "%s", row[i].source);
		if (identity_is_same(&drive, &other) != row[i].is_same ||
			identity_is_same(&other, &drive) != row[i].is_same)
			fail_msg("%s", row[i].what);
	}
	assert_true(identity_is_same(&a, &b));
	b.backing_inode = 3;
	assert_false(identity_is_same(&a, &b));
	b = a;
	b.backing_device = 3;
	assert_false(identity_is_same(&a, &b));
	b = (struct identity){ 0 };
	assert_false(identity_is_same(&b, &b));
}

static void expect_sysfs(const char *root, const char *name, const char *serial, const char *wwid,
	const char *model, const char *firmware)
{
	struct identity got;

	identity_from_sysfs(root, name, &got);
	assert_string_equal(got.serial, serial);
	assert_string_equal(got.wwid, wwid);
	assert_string_equal(got.model, model);
	assert_string_equal(got.firmware, firmware);
	assert_string_equal(got.source, "sysfs");
}

static void test_sysfs_tells_what_the_kernel_knows(void **state)
{
	static const uint8_t page80[] = { 0, 0x80, 0, 8, ' ', ' ', 'V', 'P', 'D', '8', '0', ' ' };
	const char *root = *state;
	uint8_t page89[60 + IDENTITY_ATA_BYTES] = { 0, 0x89, 2, 0x38 };
	struct identity got;

	tree_disk(root, "sys/devices/pci0000:00/0000:00:1d.0/nvme/nvme0", "nvme0n1", 2000);
	tree_file(root, "sys/block/nvme0n1/device/serial", "S4EWNX0 12345       \n");
	tree_file(root, "sys/block/nvme0n1/device/model", "Samsung SSD 970 EVO Plus 1TB   \n");
	tree_file(root, "sys/block/nvme0n1/device/firmware_rev", "2B2QEXM7\n");
	tree_file(root, "sys/block/nvme0n1/wwid", "eui.0025385b01020304\n");
	tree_file(root, "sys/block/nvme0n1/queue/logical_block_size", "4096\n");
	tree_file(root, "sys/block/nvme0n1/queue/zoned", "host-managed\n");
	expect_sysfs(root, "nvme0n1", "S4EWNX0 12345", "eui.0025385b01020304", "Samsung SSD 970 EVO Plus 1TB",
		"2B2QEXM7");
	identity_from_sysfs(root, "nvme0n1", &got);
	assert_int_equal(got.capacity_bytes, 2000 * 512);
	assert_int_equal(got.logical_block_bytes, 4096);
	assert_true(got.is_zoned);
	assert_false(got.is_read_only);

	tree_disk(root, "sys/devices/pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0", "sda", 1000);
	tree_file(root, "sys/block/sda/device/model", "Samsung SSD 840 \n");
	tree_file(root, "sys/block/sda/device/rev", "BB6Q\n");
	tree_file(root, "sys/block/sda/device/wwid", "naa.50025385a0123456\n");
	tree_bytes(root, "sys/block/sda/device/vpd_pg80", page80, sizeof(page80));
	tree_file(root, "sys/block/sda/ro", "1\n");
	expect_sysfs(root, "sda", "VPD80", "naa.50025385a0123456", "Samsung SSD 840", "BB6Q");
	identity_from_sysfs(root, "sda", &got);
	assert_true(got.is_read_only);
	ata_page(page89 + 60);
	tree_bytes(root, "sys/block/sda/device/vpd_pg89", page89, sizeof(page89));
	expect_sysfs(
		root, "sda", "S1D5 NSBF12345", "naa.50025385a0123456", "Samsung SSD 840 EVO 1TB", "EXT0BB6Q");

	tree_disk(root, "sys/devices/pci0000:00/0000:00:14.0/usb2/2-1/2-1:1.0/host6/target6:0:0/6:0:0:0",
		"sdb", 1000);
	tree_file(root, "sys/block/sdb/device/model", "ASM1153 \n");
	tree_file(root, "sys/devices/pci0000:00/0000:00:14.0/usb2/2-1/serial", "BRIDGE77\n");
	expect_sysfs(root, "sdb", "BRIDGE77", "", "ASM1153", "");
	assert_true(identity_sysfs_is_usb(root, "sdb"));
	assert_false(identity_sysfs_is_usb(root, "sda"));

	tree_disk(root, "sys/devices/pci0000:00/0000:00:02.0/virtio1", "vda", 1000);
	tree_file(root, "sys/block/vda/serial", "0000000000");
	expect_sysfs(root, "vda", "", "", "", "");
	tree_file(root, "sys/block/vda/serial", "disk-7");
	expect_sysfs(root, "vda", "disk-7", "", "", "");
	expect_sysfs(root, "sdz", "", "", "", "");
}

static void test_a_loop_device_is_its_backing_file(void **state)
{
	const char *root = *state;
	char path[300], serial[300];

	(void)snprintf(path, sizeof(path), "/srv/%0154d\n", 1);
	tree_disk(root, "sys/devices/virtual", "loop3", 1000);
	tree_file(root, "sys/block/loop3/loop/backing_file", "/srv/images/a disk.img\n");
	expect_sysfs(root, "loop3", "loop:/srv/images/a disk.img", "", "", "");
	/* 159 with "loop:": does not fit any more, and a part of it would be another's name too. */
	tree_file(root, "sys/block/loop3/loop/backing_file", path);
	expect_sysfs(root, "loop3", "", "", "", "");
	(void)snprintf(path, sizeof(path), "/srv/%0149d\n", 1);
	(void)snprintf(serial, sizeof(serial), "loop:/srv/%0149d", 1);
	tree_file(root, "sys/block/loop3/loop/backing_file", path);
	expect_sysfs(root, "loop3", serial, "", "", "");
}

/* A loop device of this test over a file of 1 MiB; -1 where that is not allowed. */
static int loop_attach(const char *file, char *name, size_t size)
{
	int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC), backing, fd, number;
	char node[32];

	if (control < 0)
		return -1;
	for (int tries = 0; tries < 10; tries++) {
		number = ioctl(control, LOOP_CTL_GET_FREE);
		(void)snprintf(name, size, "loop%d", number);
		(void)snprintf(node, sizeof(node), "/dev/%.20s", name);
		fd = open(node, O_RDWR | O_CLOEXEC);
		backing = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		if (fd >= 0 && ftruncate(backing, 1 << 20) == 0 && ioctl(fd, LOOP_SET_FD, backing) == 0) {
			(void)close(backing);
			(void)close(control);
			return fd;
		}
		(void)close(backing);
		if (fd >= 0)
			(void)close(fd);
	}
	(void)close(control);
	return -1;
}

static void test_an_open_loop_device_tells_its_file(void **state)
{
	char name[32], file[600], wanted[700], why[IDENTITY_WHY_MAX] = "";
	struct identity got = { 0 };
	struct stat st;
	int fd, rc, wrong;

	(void)snprintf(file, sizeof(file), "%s/img", (const char *)*state);
	fd = loop_attach(file, name, sizeof(name));
	if (fd < 0)
		skip();
	rc = identity_read("", fd, name, &got, why);
	wrong = identity_read("", fd, "loop99999", &got, why);
	(void)ioctl(fd, LOOP_CLR_FD, 0);
	assert_int_equal(identity_read("", fd, name, &got, why), -ENXIO);
	(void)close(fd);
	assert_int_equal(rc, 0);
	(void)snprintf(wanted, sizeof(wanted), "loop:%s", file);
	assert_int_equal(stat(file, &st), 0);
	if (strlen(wanted) < IDENTITY_TEXT_MAX)
		assert_string_equal(got.serial, wanted);
	assert_int_equal(got.backing_inode, st.st_ino);
	assert_int_equal(got.backing_device, st.st_dev);
	assert_int_equal(got.capacity_bytes, 1 << 20);
	assert_int_equal(got.logical_block_bytes, 512);
	assert_string_equal(got.source, "loop");
	assert_int_equal(wrong, -ENODEV);
	assert_non_null(strstr(why, "LOOP_GET_STATUS64"));
}

static void test_what_is_no_block_device_is_refused(void **state)
{
	char why[IDENTITY_WHY_MAX] = "";
	struct identity got = { .serial = "before" };
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(identity_read("", fd, "null", &got, why), -ENODEV);
	(void)close(fd);
	assert_string_equal(got.serial, "before");
	assert_non_null(strstr(why, "another device"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts_are_cut_and_made_printable),
		cmocka_unit_test(test_an_ata_page_is_read_in_either_order),
		cmocka_unit_test(test_a_damaged_ata_page_is_no_answer),
		cmocka_unit_test(test_an_ata_page_without_a_name_tells_none),
		cmocka_unit_test(test_recorded_pages_are_read),
		cmocka_unit_test(test_nvme_pages_tell_all_their_names),
		cmocka_unit_test(test_nvme_pages_of_a_controller_in_reset_are_no_drive),
		cmocka_unit_test(test_scsi_pages_are_read_within_what_came),
		cmocka_unit_test(test_any_bytes_give_printable_texts),
		cmocka_unit_test(test_wwids_are_matched_as_people_write_them),
		cmocka_unit_test(test_the_same_drive_is_told_from_others),
		cmocka_unit_test_setup_teardown(
			test_sysfs_tells_what_the_kernel_knows, tree_setup, tree_teardown),
		cmocka_unit_test_setup_teardown(
			test_a_loop_device_is_its_backing_file, tree_setup, tree_teardown),
		cmocka_unit_test_setup_teardown(
			test_an_open_loop_device_tells_its_file, tree_setup, tree_teardown),
		cmocka_unit_test(test_what_is_no_block_device_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
