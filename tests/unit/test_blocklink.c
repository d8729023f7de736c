/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The speed of links, from trees as sysfs has them. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "target/blockdev.h"
#include "tree_fixture.h"

static void put(const char *root, const char *folder, const char *file, const char *text)
{
	char path[512];

	(void)snprintf(path, sizeof(path), "%s/%s", folder, file);
	tree_file(root, path, text);
}

static void put_pcie(const char *root, const char *folder, const char *const *values)
{
	static const char *const files[] = { "current_link_speed", "current_link_width", "max_link_speed",
		"max_link_width" };

	for (int i = 0; i < 4; i++)
		put(root, folder, files[i], values[i]);
}

static void expect_link(const char *root, const char *name, const char *link, bool is_degraded)
{
	struct blockdev disk;

	assert_int_equal(blockdev_read(root, name, &disk), 0);
	assert_string_equal(disk.link, link);
	assert_int_equal(disk.is_link_degraded, is_degraded);
}

#define PORT  "sys/devices/pci0000:00/0000:00:1d.0"
#define DRIVE PORT "/0000:03:00.0"

static void test_nvme_is_degraded_only_below_what_both_ends_can(void **state)
{
	static const struct {
		const char *drive[4], *port[4], *link;
		bool is_degraded;
	} row[] = {
		{ { "16.0 GT/s PCIe", "4", "16.0 GT/s PCIe", "4" }, { "", "", "16.0 GT/s PCIe", "16" },
			"16.0 GT/s PCIe x4 of 16.0 GT/s PCIe x4", false },
		/* a slower port is no fault of the link */
		{ { "8.0 GT/s PCIe", "4", "16.0 GT/s PCIe", "4" }, { "", "", "8.0 GT/s PCIe", "4" },
			"8.0 GT/s PCIe x4 of 16.0 GT/s PCIe x4", false },
		{ { "8.0 GT/s PCIe", "4", "16.0 GT/s PCIe", "4" }, { "", "", "16.0 GT/s PCIe", "4" },
			"8.0 GT/s PCIe x4 of 16.0 GT/s PCIe x4", true },
		{ { "8.0 GT/s PCIe", "2", "8.0 GT/s PCIe", "4" }, { "", "", "8.0 GT/s PCIe", "4" },
			"8.0 GT/s PCIe x2 of 8.0 GT/s PCIe x4", true },
		{ { "8.0 GT/s PCIe", "2", "8.0 GT/s PCIe", "4" }, { "", "", "8.0 GT/s PCIe", "2" },
			"8.0 GT/s PCIe x2 of 8.0 GT/s PCIe x4", false },
		/* both: the width by the port, the speed by a fault */
		{ { "2.5 GT/s PCIe", "1", "8.0 GT/s PCIe", "4" }, { "", "", "5.0 GT/s PCIe", "1" },
			"2.5 GT/s PCIe x1 of 8.0 GT/s PCIe x4", true },
		/* older kernels' spelling; a port that tells nothing */
		{ { "5 GT/s", "4", "8 GT/s", "4" }, { "", "", "Unknown", "255" }, "5 GT/s x4 of 8 GT/s x4",
			true },
		{ { "Unknown", "0", "Unknown", "0" }, { "", "", "8.0 GT/s PCIe", "4" }, "", false },
		{ { "8.0 GT/s PCIe", "4", "", "" }, { "", "", "", "" }, "8.0 GT/s PCIe x4", false },
	};
	const char *root = *state;

	tree_disk(root, DRIVE "/nvme/nvme0", "nvme0n1", 1000);
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		put_pcie(root, DRIVE, row[i].drive);
		put_pcie(root, PORT, row[i].port);
		expect_link(root, "nvme0n1", row[i].link, row[i].is_degraded);
	}
}

static void test_nvme_below_a_subsystem_is_found_through_its_controller(void **state)
{
	static const char *const values[] = { "8.0 GT/s PCIe", "4", "8.0 GT/s PCIe", "4" };
	const char *root = *state;
	struct blockdev disk;

	tree_file(root, DRIVE "/nvme/nvme3/state", "live\n");
	tree_file(root, DRIVE "/vendor", "0x144d\n");
	tree_file(root, DRIVE "/device", "0xa808\n");
	put_pcie(root, DRIVE, values);
	tree_disk(root, "sys/devices/virtual/nvme-subsystem/nvme-subsys3", "nvme3n1", 1000);
	tree_link(root, "sys/devices/virtual/nvme-subsystem/nvme-subsys3/block/nvme3n1/device",
		"sys/devices/virtual/nvme-subsystem/nvme-subsys3");
	tree_link(root, "sys/devices/virtual/nvme-subsystem/nvme-subsys3/nvme3", DRIVE "/nvme/nvme3");
	tree_file(root, "sys/devices/virtual/nvme-subsystem/nvme-subsys3/nvme3n1/size", "1000\n");
	assert_int_equal(blockdev_read(root, "nvme3n1", &disk), 0);
	assert_string_equal(disk.transport, "nvme");
	assert_string_equal(disk.link, "8.0 GT/s PCIe x4 of 8.0 GT/s PCIe x4");
	assert_string_equal(disk.controller, "0000:03:00.0 144d:a808 no driver");
}

#define AHCI "sys/devices/pci0000:00/0000:00:1f.2"

static void put_ata(const char *root, const char *link, const char *now, const char *limit, const char *most)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "sys/class/ata_link/%s", link);
	put(root, path, "sata_spd", now);
	put(root, path, "sata_spd_limit", limit);
	put(root, path, "hw_sata_spd_limit", most);
}

static void put_page89(const char *root, const char *name, uint8_t speeds)
{
	uint8_t page[572] = { 0, 0x89, 2, 0x38 };
	char path[128];

	page[60 + 2 * 76] = speeds;
	(void)snprintf(path, sizeof(path), "sys/block/%s/device/vpd_pg89", name);
	tree_bytes(root, path, page, sizeof(page));
}

static void test_sata_is_degraded_only_below_what_both_ends_can(void **state)
{
	static const struct {
		const char *now, *limit, *most;
		uint8_t speeds; /* word 76: bits 1 to 3 for 1.5, 3 and 6 Gbps */
		const char *link;
		bool is_degraded;
	} row[] = {
		{ "6.0 Gbps\n", "6.0 Gbps\n", "6.0 Gbps\n", 0x0e, "6.0 Gbps", false },
		{ "3.0 Gbps\n", "3.0 Gbps\n", "6.0 Gbps\n", 0x0e, "3.0 Gbps of 6.0 Gbps", true },
		{ "3.0 Gbps\n", "6.0 Gbps\n", "6.0 Gbps\n", 0x06, "3.0 Gbps", false }, /* an old drive */
		{ "3.0 Gbps\n", "3.0 Gbps\n", "3.0 Gbps\n", 0x0e, "3.0 Gbps of 6.0 Gbps",
			false }, /* an old port */
		{ "1.5 Gbps\n", "1.5 Gbps\n", "3.0 Gbps\n", 0x0e, "1.5 Gbps of 6.0 Gbps", true },
		{ "<unknown>\n", "6.0 Gbps\n", "6.0 Gbps\n", 0x0e, "", false },
		{ "3.0 Gbps\n", "6.0 Gbps\n", "<unknown>\n", 0x0e, "3.0 Gbps of 6.0 Gbps", true },
	};
	const char *root = *state;

	tree_disk(root, AHCI "/ata3/host2/target2:0:0/2:0:0:0", "sda", 1000);
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		put_ata(root, "link3", row[i].now, row[i].limit, row[i].most);
		put_page89(root, "sda", row[i].speeds);
		expect_link(root, "sda", row[i].link, row[i].is_degraded);
	}
}

static void test_sata_without_the_drives_word_goes_by_the_kernels_limit(void **state)
{
	const char *root = *state;

	tree_disk(root, AHCI "/ata3/host2/target2:0:0/2:0:0:0", "sda", 1000);
	put_ata(root, "link3", "3.0 Gbps", "6.0 Gbps", "6.0 Gbps");
	expect_link(root, "sda", "3.0 Gbps", false);
	put_page89(root, "sda", 0xff);
	expect_link(root, "sda", "3.0 Gbps", false);
	put_ata(root, "link3", "1.5 Gbps", "3.0 Gbps", "6.0 Gbps");
	expect_link(root, "sda", "1.5 Gbps of 6.0 Gbps", true);
	/* Behind a port multiplier the second disk has a link of its own. */
	tree_disk(root, AHCI "/ata3/host2/target2:1:0/2:1:0:0", "sdb", 1000);
	put_ata(root, "link3.1", "6.0 Gbps", "6.0 Gbps", "6.0 Gbps");
	expect_link(root, "sdb", "6.0 Gbps", false);
}

static void test_sas_and_usb_tell_their_speed(void **state)
{
	const char *root = *state;
	struct blockdev disk;

	tree_disk(root,
		"sys/devices/pci0000:00/0000:02:00.0/host0/port-0:0/end_device-0:0/target0:0:0/0:0:0:0",
		"sdc", 1000);
	tree_file(root, "sys/devices/pci0000:00/0000:02:00.0/host0/port-0:0/phy-0:0/x", "");
	tree_file(root, "sys/class/sas_phy/phy-0:0/negotiated_linkrate", "12.0 Gbit\n");
	assert_int_equal(blockdev_read(root, "sdc", &disk), 0);
	assert_string_equal(disk.transport, "sas");
	assert_string_equal(disk.link, "12.0 Gbit");
	tree_file(root, "sys/class/sas_phy/phy-0:0/negotiated_linkrate", "Unknown\n");
	expect_link(root, "sdc", "", false);

	tree_disk(root, "sys/devices/pci0000:00/0000:00:14.0/usb2/2-1/2-1:1.0/host6/target6:0:0/6:0:0:0",
		"sdd", 1000);
	tree_file(root, "sys/devices/pci0000:00/0000:00:14.0/usb2/2-1/speed", "480\n");
	tree_file(root, "sys/devices/pci0000:00/0000:00:14.0/usb2/speed", "10000\n");
	expect_link(root, "sdd", "480 Mbps USB", false);
}

static void test_a_disk_that_is_gone_is_told(void **state)
{
	struct blockdev disk = { .name = "before" };

	assert_int_equal(blockdev_read(*state, "sdz", &disk), -ENODEV);
	assert_string_equal(disk.name, "before");
}

#define TREE_TEST(function) cmocka_unit_test_setup_teardown(function, tree_setup, tree_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TREE_TEST(test_nvme_is_degraded_only_below_what_both_ends_can),
		TREE_TEST(test_nvme_below_a_subsystem_is_found_through_its_controller),
		TREE_TEST(test_sata_is_degraded_only_below_what_both_ends_can),
		TREE_TEST(test_sata_without_the_drives_word_goes_by_the_kernels_limit),
		TREE_TEST(test_sas_and_usb_tell_their_speed),
		TREE_TEST(test_a_disk_that_is_gone_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
