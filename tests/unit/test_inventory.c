/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The list of disks and the search in it, in trees as sysfs and udev have them. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target/inventory.h"
#include "target/inventory_json.h"
#include "tree_fixture.h"

#define SLOT  "sys/devices/pci0000:00/0000:00:1d.0"
#define AHCI  "sys/devices/pci0000:00/0000:00:1f.2"
#define STATE "/var/lib/drivesoak"

static void put(const char *root, const char *name, const char *file, const char *text)
{
	char path[512];

	(void)snprintf(path, sizeof(path), "sys/block/%s/%s", name, file);
	tree_file(root, path, text);
}

static void put_nvme(
	const char *root, const char *folder, const char *name, const char *serial, const char *wwid)
{
	tree_disk(root, folder, name, 2000409264);
	put(root, name, "device/serial", serial);
	put(root, name, "device/model", "Samsung SSD 970 EVO Plus 1TB\n");
	put(root, name, "wwid", wwid);
}

static void put_ata(const char *root, unsigned port, const char *name, const char *serial)
{
	char folder[200], path[200];
	uint8_t page[64] = { 0, 0x80, 0, 20 };

	(void)snprintf(folder, sizeof(folder), "%s/ata%u/host%u/target%u:0:0/%u:0:0:0", AHCI, port, port - 1,
		port - 1, port - 1);
	tree_disk(root, folder, name, 1953525168);
	(void)snprintf((char *)page + 4, 21, "%20s", serial);
	(void)snprintf(path, sizeof(path), "sys/block/%s/device/vpd_pg80", name);
	tree_bytes(root, path, page, 24);
}

static void put_loop(const char *root, const char *name, unsigned long sectors, const char *file)
{
	tree_disk(root, "sys/devices/virtual", name, sectors);
	if (file)
		put(root, name, "loop/backing_file", file);
}

static void put_machine(const char *root)
{
	static const char *const no_disks[] = { "dm-0", "md0", "md_home", "zram0", "ram0", "sr0", "fd0",
		"mmcblk0boot0" };

	put_nvme(root, SLOT "/0000:03:00.0/nvme/nvme0", "nvme0n1", "S4EWNX0\n", "eui.0025385b01020304\n");
	put_nvme(root, "sys/devices/pci0000:00/0000:00:1b.0/0000:04:00.0/nvme/nvme10", "nvme10n1",
		"S4EWNX1\n", "eui.0025385b01020305\n");
	put_nvme(root, "sys/devices/pci0000:00/0000:00:1b.1/0000:05:00.0/nvme/nvme2", "nvme2n1", "S4EWNX2\n",
		"eui.0025385b01020306\n");
	put_ata(root, 1, "sdaa", "AA");
	put_ata(root, 2, "sdb", "BB");
	put_loop(root, "loop0", 0, NULL);
	put_loop(root, "loop12", 2048, "/srv/twelve.img\n");
	put_loop(root, "loop3", 2048, "/srv/three.img\n");
	tree_disk(root, "sys/devices/pci0000:00/0000:00:02.0/virtio1", "vda", 2048);
	tree_disk(root, "sys/devices/pci0000:00/0000:00:14.0/usb1/1-1/host9/target9:0:0/9:0:0:0", "sdc", 0);
	put(root, "sdc", "removable", "1\n");
	tree_disk(root, SLOT "/0000:03:00.0/nvme/nvme0", "nvme0c0n1", 2048);
	put(root, "nvme0c0n1", "hidden", "1\n");
	for (size_t i = 0; i < sizeof(no_disks) / sizeof(no_disks[0]); i++)
		tree_disk(root, "sys/devices/virtual", no_disks[i], 2048);
	tree_file(root, "sys/class/block/nvme0n1p1/partition", "1\n");
	tree_symlink(root, "proc/1/ns/mnt", "mnt:[4026531840]");
	tree_file(root, "proc/1/mountinfo", "1 1 0:1 / / rw - tmpfs none rw\n");
}

static void put_links(const char *root)
{
	static const struct {
		const char *link, *to;
	} row[] = {
		{ "by-id/wwn-0x50025385a0123456", "../../sdb" },
		{ "by-id/scsi-SATA_Samsung_SSD_840_BB", "../../sdb" },
		{ "by-id/ata-Samsung_SSD_840_BB", "../../sdb" },
		{ "by-id/ata-Samsung_SSD_840_BB-part1", "../../sdb1" },
		{ "by-id/nvme-eui.0025385b01020304", "../../nvme0n1" },
		{ "by-id/nvme-Samsung_SSD_970_EVO_Plus_1TB_S4EWNX0_1", "../../nvme0n1" },
		{ "by-id/nvme-Samsung_SSD_970_EVO_Plus_1TB_S4EWNX0", "../../nvme0n1" },
		{ "by-id/nvme-Samsung_SSD_970_EVO_Plus_1TB_S4EWNX0-part1", "../../nvme0n1p1" },
		{ "by-id/nvme-eui.0025385b01020305", "../../nvme10n1" },
		{ "by-id/nvme-gone", "../../nvme7n1" },
		{ "by-path/pci-0000:00:1f.2-ata-2.0", "../../sdb" },
		{ "by-path/pci-0000:00:1f.2-ata-2", "../../sdb" },
		{ "by-path/pci-0000:00:1f.2-ata-2-part1", "../../sdb1" },
	};
	char path[200];

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		(void)snprintf(path, sizeof(path), "dev/disk/%s", row[i].link);
		tree_symlink(root, path, row[i].to);
	}
}

static struct inventory_disk *read_all(const char *root, size_t wanted)
{
	struct inventory_disk *disks = NULL;
	size_t count = 0;

	assert_int_equal(inventory_read(root, STATE, &disks, &count), 0);
	assert_int_equal(count, wanted);
	return disks;
}

static void test_whole_disks_are_listed_by_kind_and_number(void **state)
{
	static const char *const names[] = { "nvme0n1", "nvme2n1", "nvme10n1", "sdb", "sdaa", "vda", "loop3",
		"loop12" };
	const size_t count = sizeof(names) / sizeof(names[0]);
	struct inventory_disk *disks;
	const char *root = *state;

	put_machine(root);
	disks = read_all(root, count);
	for (size_t i = 0; i < count; i++) {
		char node[64];

		(void)snprintf(node, sizeof(node), "/dev/%s", names[i]);
		assert_string_equal(disks[i].block.name, names[i]);
		assert_string_equal(disks[i].node, node);
	}
	assert_string_equal(disks[0].identity.serial, "S4EWNX0");
	assert_string_equal(disks[0].block.transport, "nvme");
	assert_int_equal(disks[0].identity.capacity_bytes, 2000409264ULL * 512);
	assert_string_equal(disks[4].identity.serial, "AA");
	assert_string_equal(disks[7].identity.serial, "loop:/srv/twelve.img");
	free(disks);
}

static void test_the_most_telling_links_are_taken(void **state)
{
	struct inventory_disk *disks;
	const char *root = *state;

	put_machine(root);
	put_links(root);
	disks = read_all(root, 8);
	assert_string_equal(disks[0].by_id, "/dev/disk/by-id/nvme-Samsung_SSD_970_EVO_Plus_1TB_S4EWNX0");
	assert_string_equal(disks[0].by_path, "");
	assert_string_equal(disks[1].by_id, "");
	assert_string_equal(disks[2].by_id, "/dev/disk/by-id/nvme-eui.0025385b01020305");
	assert_string_equal(disks[3].by_id, "/dev/disk/by-id/ata-Samsung_SSD_840_BB");
	assert_string_equal(disks[3].by_path, "/dev/disk/by-path/pci-0000:00:1f.2-ata-2");
	free(disks);
}

static void test_the_nearest_port_with_another_disk_is_shared(void **state)
{
	struct inventory_disk *disks;
	const char *root = *state;

	put_machine(root);
	disks = read_all(root, 8);
	assert_string_equal(disks[0].shared_port, ""); /* alone below its root port */
	assert_string_equal(disks[3].shared_port, "0000:00:1f.2");
	assert_string_equal(disks[4].shared_port, "0000:00:1f.2");
	assert_string_equal(disks[5].shared_port, "");
	assert_string_equal(disks[7].shared_port, "");
	free(disks);

	/* A second namespace shares the controller; a drive behind the same switch shares only its upstream port. */
	put_nvme(root, SLOT "/0000:03:00.0/nvme/nvme0", "nvme0n2", "S4EWNX0\n", "eui.0025385b01020309\n");
	put_nvme(root,
		"sys/devices/pci0000:00/0000:00:1c.0/0000:06:00.0/0000:07:00.0/0000:08:00.0/nvme/nvme20",
		"nvme20n1", "T1\n", "eui.01\n");
	put_nvme(root,
		"sys/devices/pci0000:00/0000:00:1c.0/0000:06:00.0/0000:07:01.0/0000:09:00.0/nvme/nvme21",
		"nvme21n1", "T2\n", "eui.02\n");
	disks = read_all(root, 11);
	assert_string_equal(disks[0].shared_port, "0000:03:00.0");
	assert_string_equal(disks[1].block.name, "nvme0n2");
	assert_string_equal(disks[1].shared_port, "0000:03:00.0");
	assert_string_equal(disks[4].block.name, "nvme20n1");
	assert_string_equal(disks[4].shared_port, "0000:06:00.0");
	assert_string_equal(disks[5].shared_port, "0000:06:00.0");
	assert_string_equal(disks[2].shared_port, "");
	free(disks);
}

static void test_the_shared_port_of_one_disk_has_the_speed_of_its_link(void **state)
{
	static const struct {
		const char *speed, *width;
		uint64_t bytes_per_s;
	} row[] = {
		{ "8.0 GT/s PCIe\n", "8\n", 7876923076 },
		{ "16.0 GT/s PCIe\n", "4\n", 7876923076 },
		{ "5.0 GT/s PCIe\n", "4\n", 2000000000 },
		{ "2.5 GT/s PCIe\n", "1\n", 250000000 },
		{ "8 GT/s\n", "2\n", 1969230769 },
		{ "Unknown\n", "4\n", UINT64_MAX },
		{ "8.0 GT/s PCIe\n", "0\n", UINT64_MAX },
		{ "8.0 GT/s PCIe\n", "255\n", UINT64_MAX },
	};
	const char *root = *state;
	char port[64] = "as it was";
	uint64_t link = 1;

	put_machine(root);
	assert_int_equal(inventory_shared_port(root, "sdq", port, sizeof(port), &link), -ENODEV);
	assert_string_equal(port, "as it was");
	assert_int_equal(link, 1);
	assert_int_equal(inventory_shared_port(root, "nvme0n1", port, sizeof(port), &link), 0);
	assert_string_equal(port, "");
	assert_int_equal(link, UINT64_MAX);
	/* A controller in the chipset has no link that it tells of. */
	link = 1;
	assert_int_equal(inventory_shared_port(root, "sdb", port, sizeof(port), &link), 0);
	assert_string_equal(port, "0000:00:1f.2");
	assert_int_equal(link, UINT64_MAX);
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		tree_file(root, AHCI "/current_link_speed", row[i].speed);
		tree_file(root, AHCI "/current_link_width", row[i].width);
		assert_int_equal(inventory_shared_port(root, "sdaa", port, sizeof(port), &link), 0);
		assert_string_equal(port, "0000:00:1f.2");
		assert_int_equal(link, row[i].bytes_per_s);
	}
}

static bool has_finding(const struct guard_report *report, const char *part)
{
	for (unsigned i = 0; i < report->count; i++)
		if (strstr(report->findings[i].text, part))
			return true;
	return false;
}

static void test_what_stands_against_a_disk_is_told(void **state)
{
	struct inventory_disk *disks;
	const char *root = *state;

	put_machine(root);
	put_ata(root, 3, "sdd", "DD");
	put(root, "sdd", "size", "0\n");
	disks = read_all(root, 9);
	for (unsigned i = 0; i < disks[0].report.count; i++)
		print_message("%s\n", disks[0].report.findings[i].text);
	assert_true(disks[0].is_usable);
	free(disks);
	tree_file(root, "sys/block/nvme0n1/holders/dm-0/name", "");
	disks = read_all(root, 9);
	assert_false(disks[0].is_usable);
	assert_true(disks[1].is_usable);
	assert_true(has_finding(&disks[0].report, "dm-0"));
	assert_string_equal(disks[4].block.name, "sdd");
	assert_false(disks[4].is_usable);
	assert_true(has_finding(&disks[4].report, "a capacity of 0"));
	assert_string_equal(disks[6].block.name, "vda");
	assert_false(disks[6].is_usable);
	assert_true(has_finding(&disks[6].report, "can't be told from others"));
	free(disks);
	/* The card is in: what its bridge lets through shows only when it is opened. */
	put(root, "sdc", "size", "2048\n");
	disks = read_all(root, 10);
	assert_string_equal(disks[4].block.name, "sdc");
	assert_true(disks[4].is_usable);
	assert_true(has_finding(&disks[4].report, "behind a USB bridge"));
	free(disks);
}

static void expect_found(const char *root, const char *device, const char *serial, const char *wwid, int rc,
	const char *name, const char *reason)
{
	char got[32] = "before", why[GUARD_TEXT_MAX] = "";

	if (inventory_find(root, device, serial, wwid, got, why) != rc)
		fail_msg("%s %s %s: %s", device, serial, wwid, why);
	assert_string_equal(got, rc < 0 ? "before" : name);
	if (!strstr(why, reason))
		fail_msg("%s: %s", reason, why);
}

static void test_a_drive_is_found_by_its_link_or_by_what_it_is(void **state)
{
	static const char *const evo = "/dev/disk/by-id/nvme-Samsung_SSD_970_EVO_Plus_1TB_S4EWNX0";
	static const struct {
		const char *device, *serial, *wwid;
		int rc;
		const char *name, *reason;
	} row[] = {
		{ "/dev/disk/by-id/ata-Samsung_SSD_840_BB", "BB", "", 0, "sdb", "" },
		/* Without udev: by the serial, the wwid, or both. */
		{ "/dev/disk/by-id/ata-nothing", "AA", "", 0, "sdaa", "" },
		{ "/dev/disk/by-id/ata-nothing", "S4EWNX2", "", 0, "nvme2n1", "" },
		{ "/dev/disk/by-id/ata-nothing", "", "EUI.0025385B01020306", 0, "nvme2n1", "" },
		{ "/dev/disk/by-id/ata-nothing", "S4EWNX2", "eui.0025385b01020306", 0, "nvme2n1", "" },
		{ "/dev/disk/by-id/ata-nothing", "S4EWNX2", "eui.0025385b01020305", -ENOENT, "",
			"no disk has the serial S4EWNX2" },
		{ "/dev/disk/by-id/ata-nothing", "loop:/srv/twelve.img", "", 0, "loop12", "" },
		{ "/dev/disk/by-id/ata-nothing", "ZZ", "", -ENOENT, "", "no disk has the serial ZZ" },
		{ "/dev/disk/by-id/ata-nothing", "", "", -ENOENT, "", "ata-nothing is not there" },
		/* The link to a drive that is gone. */
		{ "/dev/disk/by-id/nvme-gone", "ZZ", "", -ENOENT, "", "nvme-gone is not there" },
		{ "/dev/disk/by-id/nvme-gone", "S4EWNX1", "", 0, "nvme10n1", "" },
		/* Another drive has the place: the drive that was meant, where it is now; else who is there will be asked. */
		{ "/dev/disk/by-path/pci-0000:00:1f.2-ata-2", "AA", "", 0, "sdaa", "" },
		{ "/dev/disk/by-path/pci-0000:00:1f.2-ata-2", "ZZ", "", 0, "sdb", "" },
		/* Never the disk around what was named. */
		{ "/dev/disk/by-id/nvme-Samsung_SSD_970_EVO_Plus_1TB_S4EWNX0-part1", "S4EWNX0", "", -ENOENT,
			"", "is the partition nvme0n1p1: give the whole disk" },
		{ "/dev/mapper/home", "S4EWNX0", "", -ENOENT, "", "no disk of its own" },
		{ "/dev/disk/by-id/unbound", "loop:/srv/none.img", "", -ENOENT, "", "no file attached" },
		{ "/dev/disk/by-id/unbound", "loop:/srv/three.img", "", 0, "loop3", "" },
	};
	const char *root = *state;

	put_machine(root);
	put_links(root);
	tree_symlink(root, "dev/mapper/home", "../dm-0");
	tree_symlink(root, "dev/disk/by-id/unbound", "../../loop0");
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		expect_found(root, row[i].device, row[i].serial, row[i].wwid, row[i].rc, row[i].name,
			row[i].reason);
	/* Two drives with one identity: neither is written, whatever the link says. */
	put_ata(root, 4, "sde", "S4EWNX0");
	expect_found(root, evo, "S4EWNX0", "", -EEXIST, "", "nvme0n1 and sde both have the serial S4EWNX0");
	expect_found(root, evo, "S4EWNX0", "eui.0025385b01020304", -EEXIST, "", "both");
}

static void test_the_list_as_json_has_every_key(void **state)
{
	static char name[] = "evo", device[] = "/dev/disk/by-id/x", serial[] = "S4EWNX0", none[] = "";
	struct config_drive drives[] = {
		{ .name = none, .device = none, .serial = none, .wwid = none },
		{ .name = name, .device = device, .serial = serial, .wwid = none },
	};
	const struct config config = { .drives = drives, .drive_count = 2 };
	static struct inventory_disk disk = {
		.node = "/dev/nvme0n1",
		.by_id = "/dev/disk/by-id/nvme-\"<x>",
		.block = { .transport = "nvme", .link = "8.0 GT/s PCIe x2 of 8.0 GT/s PCIe x4" },
		.identity = { .serial = "S4EWNX0",
			.model = "M",
			.capacity_bytes = 1000204886016,
			.logical_block_bytes = 512 },
		.is_link_degraded = true,
		.shared_port = "0000:03:00.0",
	};
	struct text text = TEXT_INIT;

	(void)state;
	disk.report.count = 0;
	guard_report_add(&disk.report, GUARD_SOFT, "a partition table");
	guard_report_add(&disk.report, GUARD_HARD, "mounted on /home");
	disk.report.left_off = 2;
	inventory_json(&disk, 1, &config, NULL, &text);
	assert_string_equal(text_string(&text),
		"{\"drives\":[{\"path\":\"/dev/nvme0n1\",\"by_id\":\"/dev/disk/by-id/"
		"nvme-\\\"<x>\",\"by_path\":null,"
		"\"model\":\"M\",\"serial\":\"S4EWNX0\",\"wwid\":null,\"firmware\":null,"
		"\"capacity_bytes\":1000204886016,\"logical_block_bytes\":512,\"physical_block_bytes\":null,"
		"\"transport\":\"nvme\",\"link\":\"8.0 GT/s PCIe x2 of 8.0 GT/s PCIe "
		"x4\",\"link_degraded\":true,"
		"\"shared_port\":\"0000:03:00.0\",\"configured\":\"evo\",\"usable\":false,"
		"\"reasons\":[\"mounted on /home\",\"and 2 more\"],\"soft\":[\"a partition table\"]}]}\n");
	text_fini(&text);
	inventory_json(&disk, 1, &config, &(const struct inventory_health){ "{\"temp_c\":41}", NULL }, &text);
	assert_non_null(strstr(text_string(&text),
		"\"soft\":[\"a partition table\"],\"health\":{\"temp_c\":41},\"health_error\":null}]}\n"));
	text_fini(&text);
	inventory_json(&disk, 1, &config, &(const struct inventory_health){ NULL, "no \"answer\"" }, &text);
	assert_non_null(
		strstr(text_string(&text), "\"health\":null,\"health_error\":\"no \\\"answer\\\"\"}]}\n"));
	text_fini(&text);
	inventory_json(NULL, 0, NULL, NULL, &text);
	assert_string_equal(text_string(&text), "{\"drives\":[]}\n");
	text_fini(&text);
}

static void test_a_machine_without_sysfs_is_an_error(void **state)
{
	struct inventory_disk *disks = NULL;
	size_t count = 7;

	assert_int_equal(inventory_read(*state, STATE, &disks, &count), -ENOENT);
	assert_null(disks);
	assert_int_equal(count, 7);
	tree_file(*state, "sys/block/.keep", "");
	disks = read_all(*state, 0);
	free(disks);
}

#define TREE_TEST(function) cmocka_unit_test_setup_teardown(function, tree_setup, tree_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TREE_TEST(test_whole_disks_are_listed_by_kind_and_number),
		TREE_TEST(test_the_most_telling_links_are_taken),
		TREE_TEST(test_the_nearest_port_with_another_disk_is_shared),
		TREE_TEST(test_the_shared_port_of_one_disk_has_the_speed_of_its_link),
		TREE_TEST(test_what_stands_against_a_disk_is_told),
		TREE_TEST(test_a_drive_is_found_by_its_link_or_by_what_it_is),
		TREE_TEST(test_the_list_as_json_has_every_key),
		TREE_TEST(test_a_machine_without_sysfs_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
